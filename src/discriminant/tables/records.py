"""Tables of Python records: workbooks, JSON and SQLite have a type per value, not per column.

A column has the type of its values, or is text if they have several types. Only one batch of records is held as Python
objects at a time.

JSON tables: an array of objects, one object per line, or one object of columns.

Objects are decoded one by one with the standard library. Arrow's reader supports lines only, refuses columns of mixed
types, converts some text to dates, and loses digits of integers above 2**63.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import chain, islice
from typing import Any, Final, TypeAlias

import pyarrow as pa

from ..errors import InputError, Setting
from ..results import quoted
from .dialect import MAX_COLUMNS
from .files import InputFile, encoding_of_bytes
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


_SPACE: Final = re.compile(r"[\s\x1e]*")
_EXPECTED: Final = 'Expected an array of objects such as [{"a": 1}, {"a": 2}], or one object per line.'


def open_json(file: InputFile, encoding: str | None, codes: tuple[str, ...], columns: ColumnOptions) -> RecordReader:
    """The table of a JSON file; every name in any of its objects is a column."""
    names: dict[str, None] = {}
    for record in _records(file, encoding):
        names.update(dict.fromkeys(record))
        if len(names) > MAX_COLUMNS:
            raise InputError(
                f"The objects of {file.label} have more than {MAX_COLUMNS:,} different names. Expected records with "
                "the same names: check the structure of the file."
            )
    if not names:
        raise InputError(f"{file.label} is JSON without records. {_EXPECTED}")

    def rows() -> Iterator[list[Any]]:
        return ([*map(record.get, names)] for record in _records(file, encoding))

    return RecordReader(file, list(names), columns, codes, "JSON records", rows)


def _records(file: InputFile, encoding: str | None) -> Iterator[dict[str, Any]]:
    """The records of a file; other values are refused by number."""
    with file.input_errors("read as JSON"), file.open() as stream:
        content = stream.read()
        used = encoding or encoding_of_bytes(content) or "utf-8"
        try:
            text = content.decode(used)
        except UnicodeDecodeError as error:
            message = f"{file.label} is not encoded in {used}: {error}. Save it as UTF-8, or give its "
            raise InputError(message, Setting("encoding"), ".") from error
        values = _values(text, file.label)
        first = list(islice(values, 2))
        if len(first) == 1 and isinstance(first[0], dict) and not text.lstrip().startswith("["):
            first = _records_of_object(first[0], file.label)
        for number, value in enumerate(chain(first, values)):
            if not isinstance(value, dict):
                kinds = {list: "an array", str: "text", type(None): "null", bool: "a Boolean"}
                kind = kinds.get(type(value), "a number")
                raise InputError(f"Record {number} of {file.label} is {kind}, not an object. {_EXPECTED}")
            yield value


def _records_of_object(found: dict[str, Any], label: str) -> list[Any]:
    """The records of a file that is one object: a record, columns, or an object with one array of records."""
    arrays = [value for value in found.values() if isinstance(value, list) and value]
    records = [value for value in arrays if all(isinstance(each, dict) for each in value)]
    if len(records) == 1:
        return records[0]
    columns = [value for value in found.values() if isinstance(value, (list, dict))]
    if not columns:
        return [found]
    index = {len(value) if isinstance(value, list) else tuple(value) for value in columns}
    if len(columns) < len(found) or len(index) > 1:
        raise InputError(
            f"{label} is one JSON object with {quoted(found, 4)}, which is neither a record nor columns of equal "
            f"length. {_EXPECTED}"
        )
    values = [value if isinstance(value, list) else [*value.values()] for value in columns]
    return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]


def _values(text: str, label: str) -> Iterator[Any]:
    """The elements of a JSON array, or the values of a text with one value after the other."""
    decoder = json.JSONDecoder(object_pairs_hook=_as_dict)

    def skip_space(place: int) -> int:
        found = _SPACE.match(text, place)
        return place if found is None else found.end()

    def syntax_error(reason: str, place: int) -> InputError:
        line, excerpt = 1 + text.count("\n", 0, place), text[place : place + 40]
        return InputError(f"{label} is not valid JSON: {reason} in line {line:,}, at {excerpt!r}. {_EXPECTED}")

    place = skip_space(0)
    is_array = text.startswith("[", place)
    place = skip_space(place + is_array)
    while place < len(text) and not (is_array and text[place] == "]"):
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            reason = "values are nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise syntax_error(getattr(error, "msg", reason), getattr(error, "pos", place)) from error
        yield value
        place = skip_space(end)
        if is_array and not text.startswith((",", "]"), place):
            raise syntax_error("expected a comma or the end of the array", place)
        place = skip_space(place + 1) if is_array and text[place] == "," else place
    if is_array and not (text.startswith("]", place) and skip_space(place + 1) == len(text)):
        raise syntax_error("expected the end of the array and of the text", place)


def _as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"an object has a duplicate name among {quoted(found, 4)}")
    return found
