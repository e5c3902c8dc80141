"""Rows that are streamed in each pass: files larger than memory, and tables on other machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..arrays import MatrixLike
from ..data import StreamedRows, is_collection, is_streamed
from ..errors import InputError

if TYPE_CHECKING:
    from .frames import Collection, RowValues


def streamed_rows(
    X: MatrixLike | StreamedRows | Collection,
    y: RowValues | None = None,
    sample_weight: RowValues | None = None,
    columns: Sequence[str] | None = None,
) -> StreamedRows | None:
    """``X`` as streamed rows if it is a dataset or a Dask or Spark collection, else None.

    ``columns`` are the features of a frame, by default all except labels and weights.
    """
    if is_collection(X):
        from .frames import rows_of_collection  # imported for such collections only

        return rows_of_collection(X, y, sample_weight, columns)
    if not is_streamed(X):
        return None
    if y is not None or sample_weight is not None:
        raise InputError("A dataset has its labels and weights in columns. Leave y and sample_weight out.")
    return X
