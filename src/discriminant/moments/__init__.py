"""Class moments in one pass, and the models that are read from them."""

from .folds import FoldMoments
from .needs import Needs, merged, narrowed, together
from .regression import LinearFit, linear_regression
from .statistic import ClassMoments, Moments, ThinMoments

__all__ = [
    "ClassMoments",
    "FoldMoments",
    "LinearFit",
    "Moments",
    "Needs",
    "ThinMoments",
    "linear_regression",
    "merged",
    "narrowed",
    "together",
]
