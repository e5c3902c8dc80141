"""Tables of Python records: workbooks, JSON and SQLite have a type per value, not per column.

A column has the type of its values, or is text if they have several types. Only one batch of records is held as Python
objects at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from .files import InputFile
from .layouts import LARGE_INTEGER, concatenated
from .readers import BATCH_ROWS, ColumnOptions, TableReader

Rows: TypeAlias = Iterator[Sequence[Any]]


class RecordReader(TableReader):
    """The table of the records that each call of ``rows`` yields; ``description`` is the format in words."""

    def __init__(
        self, source: InputFile, names: Sequence[str], columns: ColumnOptions, codes: tuple[str, ...],
        description: str, rows: Callable[[], Rows],
    ) -> None:  # fmt: skip
        super().__init__(source.label, names, columns, source)
        self.missing_codes = codes
        self._names, self._description, self._rows = tuple(names), description, rows

    @property
    def read_as(self) -> str:
        return f"{self._description}, {len(self._names)} columns"

    def _stream(self) -> Iterator[pa.Table]:
        rows = self._rows()
        while batch := list(islice(rows, BATCH_ROWS)):
            values = zip(self._names, zip(*batch, strict=True), strict=True)
            yield pa.table({name: as_array(own) for name, own in values if name in self.columns})

    def _read(self) -> pa.Table:
        parts = list(self._stream())
        return concatenated(parts) if parts else pa.table({name: pa.nulls(0) for name in self.columns})


def as_array(values: Sequence[Any]) -> pa.Array:
    """The values as an Arrow array of their type, or of text if they have several types.

    >>> as_array([1, None, 2.5]).type, as_array([1, "x", 2.0]).to_pylist()
    (DataType(double), ['1', 'x', '2'])
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {date, datetime}:
        values = [datetime(v.year, v.month, v.day) if type(v) is date else v for v in values]
        kinds = {datetime}
    elif kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
        kinds = {float}
    for arrow_type in (None, LARGE_INTEGER) if kinds == {int} else (None,) if len(kinds) < 2 else ():
        with suppress(OverflowError, pa.ArrowException):
            return pa.array(values, arrow_type, from_pandas=True)
    return pa.array([None if value is None else _as_text(value) for value in values])


def _as_text(value: object) -> str:
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
