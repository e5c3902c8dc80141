"""Tables in a database, with the types they are declared to have, and what a query gives."""

import sqlite3

import duckdb
import psycopg
import pyarrow as pa


def name(text):
    return '"' + text.replace('"', '""') + '"'


def plain_rows(frame):
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()


def declared(frame, types):
    """The columns with their types: those given, else by the frame."""
    by_kind = {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN"}
    found = {column: by_kind.get(frame[column].dtype.kind, "VARCHAR") for column in frame.columns} | (types or {})
    return ", ".join(f"{name(column)} {kind}" for column, kind in found.items())


class SQLite:
    dialect = "sqlite"
    errors = sqlite3.Error

    def answers(self, query, frame, table="data", types=None):
        connection = sqlite3.connect(":memory:")
        connection.execute(f"CREATE TABLE {name(table)} ({declared(frame, types)})")
        marks = ", ".join("?" * frame.shape[1])
        connection.executemany(f"INSERT INTO {name(table)} VALUES ({marks})", plain_rows(frame))
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


class DuckDB:
    dialect = "duckdb"
    errors = duckdb.Error

    def answers(self, query, frame, table="data", types=None):
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE {name(table)} ({declared(frame, types)})")
            connection.register("given", pa.Table.from_pandas(frame, preserve_index=False))
            connection.execute(f"INSERT INTO {name(table)} SELECT * FROM given")
            return connection.execute(query).fetchall()


class PostgreSQL:
    dialect = "postgresql"
    errors = psycopg.Error

    def __init__(self, connection):
        self.connection = connection

    def answers(self, query, frame, table="data", types=None):
        self.connection.execute(f"CREATE TEMPORARY TABLE {name(table)} ({declared(frame, types)})")
        try:
            with self.connection.cursor().copy(f"COPY {name(table)} FROM STDIN") as copy:
                for row in plain_rows(frame):
                    copy.write_row([None if value is None else str(value) for value in row])
            return self.connection.execute(query).fetchall()
        finally:
            self.connection.execute(f"DROP TABLE {name(table)}")
