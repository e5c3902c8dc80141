"""What comes in: rows, labels and weights, checked once and handed on as row blocks."""

from .blocks import Block, LabelledRows, labelled_rows
from .labels import encode_labels
from .rows import Rows, as_rows
from .weights import check_weights

__all__ = ["Block", "LabelledRows", "Rows", "as_rows", "check_weights", "encode_labels", "labelled_rows"]
