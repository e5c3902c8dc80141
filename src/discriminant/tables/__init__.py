"""Labelled tables in: reading files, and a schema that codes rows as numbers the same way every time."""

from .dialect import MISSING_CODES, Dialect
from .encoder import TableEncoder
from .findings import Finding
from .reading import open_table
from .report import EncodingReport
from .schema import Column, Schema
from .svmlight import SparseRows
from .table import Table
from .targets import Target
from .training import TrainingTable, read_training

__all__ = [
    "MISSING_CODES",
    "Column",
    "Dialect",
    "EncodingReport",
    "Finding",
    "Schema",
    "SparseRows",
    "Table",
    "TableEncoder",
    "Target",
    "TrainingTable",
    "open_table",
    "read_training",
]
