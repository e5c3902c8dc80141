"""Labelled tables in: reading files, and a schema that codes rows as numbers the same way every time."""

from typing import TYPE_CHECKING, Any

from ..results import Finding
from .delimited import MISSING_CODES, Dialect
from .schema import Column, EncodingReport, Schema, Target
from .sources import SparseBatch, TableReader, open_table
from .training import TrainingTable, read_training

if TYPE_CHECKING:
    from .encoder import TableEncoder

__all__ = [
    "MISSING_CODES",
    "Column",
    "Dialect",
    "EncodingReport",
    "Finding",
    "Schema",
    "SparseBatch",
    "TableEncoder",
    "TableReader",
    "Target",
    "TrainingTable",
    "open_table",
    "read_training",
]


def __getattr__(name: str) -> Any:
    if name == "TableEncoder":  # brings scikit-learn along, which takes as long to load as a large table to read
        from .encoder import TableEncoder

        return TableEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
