"""JSON: an array of objects, objects one after the other (JSON lines), or one object of columns.

Objects are taken from the text one by one, so that only one of them is in memory; an object of columns is one whole.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from ..errors import InputError, Setting
from ..results import quoted
from .records import Records
from .sources import InputFile, marked_encoding

_CHUNK = 1 << 20
_MOST_COLUMNS = 100_000
#: A word or number that is cut is an error as near to the end of the text as this.
_LONGEST_WORD = 16
_SPACE = re.compile(r"[\s\x1e]*")
_EXPECTED = 'Expected an array of objects such as [{"a": 1}, {"a": 2}], or one object in each line.'


def json_records(file: InputFile, encoding: str | None) -> Records:
    """The records of a file: every name that some object has is a column."""
    objects = partial(_objects, file, encoding)
    names: dict[str, None] = {}
    for record in objects():
        names.update(dict.fromkeys(record))
        if len(names) > _MOST_COLUMNS:
            raise InputError(
                f"The objects of {file.label} have more than {_MOST_COLUMNS:,} different names. Records should have "
                "the same ones: is it JSON of another kind?"
            )
    if not names:
        raise InputError(f"{file.label} is JSON without any record. {_EXPECTED}")
    return Records(chain([list(names)], ([*map(record.get, names)] for record in objects())), "JSON records")


def _objects(file: InputFile, encoding: str | None) -> Iterator[dict[str, Any]]:
    with file.plainly("read as JSON"), file.open() as stream:
        known = encoding or marked_encoding(stream.read(2048)) or "utf-8"
    with file.plainly("read as JSON"), file.open() as stream:
        try:
            values = _Text(io.TextIOWrapper(stream, known), file.label).records()
            for number, value in enumerate(values):
                if not isinstance(value, dict):
                    raise InputError(f"Record {number} of {file.label} is {_kind(value)}, not an object. {_EXPECTED}")
                yield value
        except UnicodeDecodeError as error:
            raise InputError(
                f"{file.label} is not written in {known}: {error}. Save it as UTF-8, or give its ",
                Setting("encoding"),
                ".",
            ) from error


def _kind(value: Any) -> str:
    kinds = {list: "an array", str: "text", type(None): "null", bool: "true or false"}
    return kinds.get(type(value), "a number")


class _Text:
    """Text of which as much is in memory as the value that is read next takes."""

    def __init__(self, stream: io.TextIOWrapper, label: str) -> None:
        self._stream = stream
        self._label = label
        self._text, self._place, self._line = "", 0, 1
        self._decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
            object_pairs_hook=self._object
        ).raw_decode

    def records(self) -> Iterator[Any]:
        """What should be objects: the elements of an array, values one after the other, or the rows of columns."""
        if self._next() == "[":
            yield from self._elements()
        else:
            first = self._value()
            if not self._next() and isinstance(first, dict):
                yield from self._of_one(first)
                return
            yield first
        while self._next():
            yield self._value()

    def _elements(self) -> Iterator[Any]:
        self._place += 1
        sign = self._next()
        while sign != "]":
            yield self._value()
            sign = self._next()
            if sign not in (",", "]"):
                raise self._error("expected a comma or the end of the array")
            self._place += sign == ","
        self._place += 1

    def _of_one(self, found: dict[str, Any]) -> Iterator[Any]:
        """The only object of a file: a record, columns, or something with an array of records in it."""
        inside = [name for name, value in found.items() if isinstance(value, list) and value]
        records = [name for name in inside if all(isinstance(each, dict) for each in found[name])]
        columns = [value if isinstance(value, list) else [*value.values()] for value in found.values() if _many(value)]
        rows = {len(value) if isinstance(value, list) else tuple(value) for value in found.values() if _many(value)}
        if len(records) == 1:
            yield from found[records[0]]
        elif not columns:
            yield found
        elif len(columns) < len(found) or len(rows) > 1:
            raise InputError(
                f"{self._label} is one JSON object of {quoted(found, 4)}, but neither a record nor columns of the "
                f"same rows. {_EXPECTED}"
            )
        else:
            yield from (dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True))

    def _next(self) -> str:
        """The next sign that is no space, or nothing at the end."""
        while True:
            self._place = _SPACE.match(self._text, self._place).end()  # type: ignore[union-attr]
            if self._place < len(self._text) or not self._more():
                return self._text[self._place : self._place + 1]

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                found, self._place = self._decode(self._text, self._place)
                return found
            except json.JSONDecodeError as error:
                cut = error.pos > len(self._text) - _LONGEST_WORD or error.msg.startswith("Unterminated string")
                beyond = error.pos - self._place
                if not cut or not self._more():
                    self._place += beyond
                    raise self._error(error.msg) from error
            except RecursionError as error:
                raise self._error("values are nested too deeply") from error

    def _more(self) -> bool:
        """Read on: as much as there is already, so that a long value is not looked at again and again."""
        self._line += self._text.count("\n", 0, self._place)
        rest = self._text[self._place :]
        more = self._stream.read(max(_CHUNK, len(rest)))
        self._text, self._place = rest + more, 0
        return bool(more)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise self._error("an object has the same name twice")
        return found

    def _error(self, reason: str) -> InputError:
        line = self._line + self._text.count("\n", 0, self._place)
        near = self._text[self._place : self._place + 40]
        return InputError(f"{self._label} is not whole JSON: {reason} in line {line:,}, at {near!r}. {_EXPECTED}")


def _many(value: Any) -> bool:
    return isinstance(value, (list, dict))
