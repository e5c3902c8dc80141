"""Records of values: workbooks, JSON and SQLite have no types by column, just as text has none.

So they are written as delimited text of one dialect to a temporary file, and read as that is: what a column is, what
stands for a missing value and what is done about a contradiction far down is then the same whatever a table came in.
Numbers are written with all their digits. Only one record is in memory at a time, but for workbooks.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from .delimited import DelimitedReader, Dialect, DialectOptions, find_dialect
from .sources import FORMATS, ColumnOptions, InputFile, TableReader, spooled

_DAY = timedelta(days=1)
_NESTED, _BYTES = "lists or objects", "binary data"


@dataclass(frozen=True)
class Records:
    """The records of a table, the first of them its names, if it has any; and what was read, in words."""

    rows: Iterable[Sequence[Any]]
    words: str
    header: bool | None = True


def open_records(file: InputFile, table: str | None, dialect: DialectOptions, columns: ColumnOptions) -> TableReader:
    """The table of a file whose content is records."""
    if file.format == "workbook":
        from .workbooks import sheet_records

        dialect.refuse_for(FORMATS[file.format][0], "header", "missing_codes")
        found = sheet_records(file, table, dialect.header)
    elif file.format == "json":
        from .json_records import json_records

        dialect.refuse_for("JSON", "encoding", "missing_codes")
        found = json_records(file, dialect.encoding)
    else:
        from .databases import sqlite_records

        dialect.refuse_for(FORMATS[file.format][0], "missing_codes")
        found = sqlite_records(file, table)
    return _reader(file, found, dialect, columns)


def _reader(file: InputFile, records: Records, dialect: DialectOptions, columns: ColumnOptions) -> RecordReader:
    writer = _Writer()
    text = spooled(lambda out: writer.write(records.rows, out), file.label, file, "text")
    asked = replace(dialect, delimiter=",", encoding="utf-8", quote='"', decimal=".", header=records.header)
    sample, whole = text.sample()
    found = find_dialect(sample, whole, asked, known={*columns.wanted, *columns.types}, label=file.label)
    return RecordReader(text, found, columns, records.words, writer.kinds)


class _Writer:
    """Writes records as delimited text, and keeps which types of values each column has below the first record."""

    def __init__(self) -> None:
        self.kinds: list[set[type]] = []

    def write(self, rows: Iterable[Sequence[Any]], out: Any) -> None:
        text = io.TextIOWrapper(out, "utf-8", newline="", write_through=False)
        writer = csv.writer(text, lineterminator="\n")
        for row in rows:
            if not self.kinds:
                self.kinds = [set() for _ in row]
            else:
                for kinds, value in zip(self.kinds, row, strict=True):
                    kinds.add(type(value))
            writer.writerow(map(_written, row))
        text.detach()


def _written(value: Any) -> Any:
    """A value as text; numbers keep all their digits, dates are written by ISO 8601."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return value.hex()
    return value / _DAY if isinstance(value, timedelta) else value


class RecordReader(DelimitedReader):
    """Records that were written as text."""

    def __init__(
        self, text: InputFile, dialect: Dialect, columns: ColumnOptions, words: str, kinds: Sequence[set[type]]
    ) -> None:
        super().__init__(text, dialect, columns, "refuse", fixed=True)
        self._words = words
        named = dict(zip(dialect.names, kinds, strict=True))
        self.stored_as_text = frozenset(name for name, own in named.items() if own - {type(None)} == {str})
        self.unusable = {
            name: _BYTES if bytes in own else _NESTED for name, own in named.items() if own & {list, dict, bytes}
        }

    @property
    def read_as(self) -> str:
        codes = [code for code in self.dialect.seen if code]
        missing = f", missing values also written {', '.join(map(repr, codes))}" if codes else ""
        header = "" if self.dialect.header else ", no header"
        return f"{self._words}, {len(self.dialect.names)} columns{header}{missing}"
