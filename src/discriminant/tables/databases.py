"""Tables of databases, opened for reading only: SQLite by the standard library, DuckDB by its own."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..dependencies import optional_module
from ..errors import InputError, Setting
from ..results import quoted, suggestion
from .records import Records
from .sources import ColumnOptions, InputFile, TableReader

_QUERY = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
_ROWS = 65536
_WHOLE = "Check that the file is whole."
#: Where the header of an SQLite file says whether changes go to a log beside it.
_LOG_PLACE = 18


def sqlite_records(file: InputFile, table: str | None) -> Records:
    """The rows of a table, a view or a query of an SQLite database."""
    with file.plainly("read as SQLite", sqlite3.Error), _sqlite(file) as database:
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY name"
        )
        asked = _asked(file.label, table, [[name] for (name,) in names], "an SQLite database")
    rows = _sqlite_rows(file, asked)
    return Records(chain([next(rows)], rows), asked.words)


@contextmanager
def _sqlite(file: InputFile) -> Iterator[Any]:
    path = file.path.resolve()
    with open(path, "rb") as content:
        logged = content.read(_LOG_PLACE + 1)[_LOG_PLACE:] == b"\2"
    # A database with a log of its own is closed if there is no log: reading it as others are would leave one behind.
    closed = logged and not Path(f"{path}-wal").exists()
    mode = "immutable=1" if closed else "mode=ro"
    with closing(sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True)) as database:
        database.text_factory = _text
        yield database


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _sqlite_rows(file: InputFile, asked: _Asked) -> Iterator[Sequence[Any]]:
    """The names of the columns, and then the rows."""
    failures = (sqlite3.Error, sqlite3.Warning)
    with file.plainly("read as SQLite", *failures, advice=asked.advice), _sqlite(file) as database:
        rows = database.execute(asked.query)
        yield [name for name, *_ in rows.description]
        yield from rows


class _Asked(NamedTuple):
    """The query that gives what was asked for, what that is, in words, and what to do if it fails."""

    query: str
    words: str
    advice: str = _WHOLE


def _asked(label: str, table: str | None, names: list[list[str]], what: str) -> _Asked:
    shown = {".".join(name): name for name in names}
    if table is not None and table not in shown and _QUERY.match(table):
        return _Asked(table, f"a query of {what}", "Correct the query.")
    if table is None and len(shown) != 1:
        if not shown:
            raise InputError(f"{label} is {what} without any table. Give one that holds rows.")
        raise InputError(
            f"{label} is {what} of {len(shown)} tables: {quoted(shown, 20)}. Say which with ", Setting("table"), "."
        )
    (chosen,) = shown if table is None else [table]
    if chosen not in shown:
        raise InputError(
            f"{label} has no table {chosen!r}.{suggestion(chosen, shown)} Tables: {quoted(shown, 20)}. A query has to "
            "begin with SELECT or WITH."
        )
    quoted_name = ".".join('"' + part.replace('"', '""') + '"' for part in shown[chosen])
    return _Asked(f"SELECT * FROM {quoted_name}", f"table {chosen!r} of {what}")


class DuckDBReader(TableReader):
    """A table, a view or a query of a DuckDB database."""

    source: InputFile

    def __init__(self, source: InputFile, columns: ColumnOptions, table: str | None) -> None:
        self._duckdb = optional_module("duckdb", "DuckDB databases")
        with self._opened(source) as database:
            tables = database.execute(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_catalog = current_database() ORDER BY ALL"
            ).fetchall()
            names = [[name] if schema == "main" else [schema, name] for schema, name in tables]
            self._asked = _asked(source.label, table, names, "a DuckDB database")
        with self._opened(source, self._asked.advice) as database:
            names = database.sql(self._asked.query).columns
        super().__init__(source.label, names, columns, source)

    @property
    def read_as(self) -> str:
        return self._asked.words

    @contextmanager
    def _opened(self, source: InputFile, advice: str = _WHOLE) -> Iterator[Any]:
        # A view may ask for other files, or for addresses: what is in the database is all that is read.
        inside = {"enable_external_access": "false"}
        with (
            source.plainly("read as DuckDB", self._duckdb.Error, advice=advice),
            closing(self._duckdb.connect(str(source.path), read_only=True, config=inside)) as database,
        ):
            yield database

    def _read(self) -> Any:
        with self._opened(self.source, self._asked.advice) as database:
            return _arrow_reader(database.sql(self._asked.query)).read_all().select(list(self.columns))

    def _stream(self) -> Iterator[Any]:
        with self._opened(self.source, self._asked.advice) as database:
            for batch in _arrow_reader(database.sql(self._asked.query)):
                yield batch.select(list(self.columns))


def _arrow_reader(relation: Any) -> Any:
    """The rows in batches, by the name that this version of DuckDB has for it."""
    newer = getattr(relation, "to_arrow_reader", None)
    return newer(_ROWS) if newer is not None else relation.fetch_arrow_reader(_ROWS)
