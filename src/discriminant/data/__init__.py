"""What comes in: rows, labels and weights, checked once and handed on as row blocks."""

from .labels import Block, LabelledRows, check_weights, encode_labels, labelled_rows
from .rows import Rows, as_rows

__all__ = ["Block", "LabelledRows", "Rows", "as_rows", "check_weights", "encode_labels", "labelled_rows"]
