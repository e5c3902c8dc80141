"""Tables of databases, opened read-only: SQLite with the standard library, DuckDB with its own package."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from ..dependencies import optional_module
from ..errors import InputError, Setting
from ..results import quoted, suggestion
from .files import InputFile
from .readers import BATCH_ROWS, ColumnOptions, TableReader
from .records import RecordReader, Rows

if TYPE_CHECKING:
    import duckdb

_QUERY = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
_CHECK = "Check that the file is complete."
#: Position in the header of an SQLite file of the byte that is 2 if the database has a write-ahead log.
_WAL_BYTE: Final = 18


def open_sqlite(file: InputFile, table: str | None, codes: tuple[str, ...], columns: ColumnOptions) -> RecordReader:
    """The rows of a table, a view or a query of an SQLite database."""
    with file.input_errors("read as SQLite", sqlite3.Error), _sqlite(file) as database:
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY name"
        )
        query = _query_of(file.label, table, [[name] for (name,) in names], "an SQLite database")
    header = list(next(_sqlite_rows(file, query)))
    rows = lambda: islice(_sqlite_rows(file, query), 1, None)  # noqa: E731
    return RecordReader(file, header, columns, codes, query.description, rows)


@contextmanager
def _sqlite(file: InputFile) -> Iterator[sqlite3.Connection]:
    path = file.path.resolve()
    with open(path, "rb") as content:
        has_log = content.read(_WAL_BYTE + 1)[_WAL_BYTE:] == b"\2"
    # Opening a database with a write-ahead log read-only creates the log file; without one the file is immutable.
    is_closed = has_log and not Path(f"{path}-wal").exists()
    mode = "immutable=1" if is_closed else "mode=ro"
    with closing(sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True)) as database:
        database.text_factory = _decoded
        yield database


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _sqlite_rows(file: InputFile, query: _Query) -> Rows:
    """The names of the columns, then the rows."""
    failures = (sqlite3.Error, sqlite3.Warning)
    with file.input_errors("read as SQLite", *failures, advice=query.advice), _sqlite(file) as database:
        rows = database.execute(query.sql)
        yield [name for name, *_ in rows.description]
        yield from rows


class _Query(NamedTuple):
    """An SQL query, what it reads in words, and the advice if it fails."""

    sql: str
    description: str
    advice: str = _CHECK


def _query_of(label: str, table: str | None, names: list[list[str]], database: str) -> _Query:
    """The query of a table, a view or an SQL text; ``names`` are those of the tables, with their schemas."""
    tables = {".".join(name): name for name in names}
    if table is not None and table not in tables and _QUERY.match(table):
        return _Query(table, f"a query of {database}", "Correct the query.")
    if table is None and len(tables) != 1:
        if not tables:
            raise InputError(f"{label} is {database} without tables. Give a database with a table of rows.")
        raise InputError(
            f"{label} is {database} with {len(tables)} tables: {quoted(tables, 20)}. Choose one with ",
            Setting("table"),
            ".",
        )
    (chosen,) = tables if table is None else [table]
    if chosen not in tables:
        raise InputError(
            f"{label} has no table {chosen!r}.{suggestion(chosen, tables)} Tables: {quoted(tables, 20)}. Give one of "
            "them, or a query that begins with SELECT or WITH."
        )
    quoted_name = ".".join('"' + part.replace('"', '""') + '"' for part in tables[chosen])
    return _Query(f"SELECT * FROM {quoted_name}", f"table {chosen!r} of {database}")


class DuckDBReader(TableReader):
    """A table, a view or a query of a DuckDB database."""

    source: InputFile

    def __init__(self, source: InputFile, columns: ColumnOptions, table: str | None) -> None:
        self._duckdb = optional_module("duckdb", "DuckDB databases")
        with self._connection(source) as database:
            tables = database.execute(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_catalog = current_database() ORDER BY ALL"
            ).fetchall()
            names = [[name] if schema == "main" else [schema, name] for schema, name in tables]
            self._query = _query_of(source.label, table, names, "a DuckDB database")
        with self._connection(source, self._query.advice) as database:
            header = database.sql(self._query.sql).columns
        super().__init__(source.label, header, columns, source)

    @property
    def read_as(self) -> str:
        return self._query.description

    @contextmanager
    def _connection(self, source: InputFile, advice: str = _CHECK) -> Iterator[duckdb.DuckDBPyConnection]:
        # A view may refer to other files or to addresses: only what is in the database is read.
        config = {"enable_external_access": "false"}
        with (
            source.input_errors("read as DuckDB", self._duckdb.Error, advice=advice),
            closing(self._duckdb.connect(str(source.path), read_only=True, config=config)) as database,
        ):
            yield database

    def _read(self) -> pa.Table:
        with self._connection(self.source, self._query.advice) as database:
            reader = database.sql(self._query.sql).to_arrow_reader(BATCH_ROWS)
            return reader.read_all().select(list(self.columns))

    def _stream(self) -> Iterator[pa.RecordBatch]:
        with self._connection(self.source, self._query.advice) as database:
            for batch in database.sql(self._query.sql).to_arrow_reader(BATCH_ROWS):
                yield batch.select(list(self.columns))
