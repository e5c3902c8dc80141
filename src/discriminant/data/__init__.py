"""What comes in: rows, labels and weights, checked once and handed on as row blocks."""

from .checks import check_weights, encode_labels
from .rows import Block, LabelledRows, Rows, as_rows, labelled_rows

__all__ = ["Block", "LabelledRows", "Rows", "as_rows", "check_weights", "encode_labels", "labelled_rows"]
