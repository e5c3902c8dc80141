"""Class moments in one pass, and the models that are read from them."""

from .folds import FoldMoments, Needs, combined_needs, merged, narrowed
from .regression import LinearFit, linear_regression
from .statistic import ClassMoments, Moments, TableMoments, ThinMoments

__all__ = [
    "ClassMoments",
    "FoldMoments",
    "LinearFit",
    "Moments",
    "Needs",
    "TableMoments",
    "ThinMoments",
    "combined_needs",
    "linear_regression",
    "merged",
    "narrowed",
]
