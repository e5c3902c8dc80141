"""Labelled tables: readers of all formats, and the schema that codes rows as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import Finding
from .column import Column
from .dialect import MISSING_CODES, Dialect
from .encoding_report import EncodingReport
from .labels import Target
from .readers import TableReader
from .schema import Schema
from .sources import open_table
from .svmlight import SparseBatch
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


def __getattr__(name: str) -> type[TableEncoder]:
    if name == "TableEncoder":  # imports scikit-learn, which takes as long as reading a large table
        from .encoder import TableEncoder

        return TableEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
