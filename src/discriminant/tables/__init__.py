"""Labelled tables in: reading files, and a schema that codes rows as numbers the same way every time."""

from typing import TYPE_CHECKING, Any

from ..results import Finding
from .coding import EncodingReport
from .dialect import MISSING_CODES, Dialect
from .files import SparseBatch, open_table
from .schema import Column, Schema, Target
from .sources import TableReader
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
