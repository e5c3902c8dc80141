"""Class moments in one pass, and the models that are read from them."""

from .folds import FoldMoments, Needs, combined_needs, merged, narrowed
from .statistic import ClassMoments, Moments, TableMoments, ThinMoments

__all__ = [
    "ClassMoments",
    "FoldMoments",
    "Moments",
    "Needs",
    "TableMoments",
    "ThinMoments",
    "combined_needs",
    "merged",
    "narrowed",
]
