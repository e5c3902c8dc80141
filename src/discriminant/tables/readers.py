"""Readers of tables: their common interface, and the readers of Parquet, Arrow and frames.

Several files read as one table: their rows concatenated under the columns of the first.
"""

from __future__ import annotations

import hashlib
import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from ..data import check_integer
from ..errors import ColumnError, InputError, ParameterError, Part, Setting
from ..results import Finding, quoted, suggestion
from .files import FORMATS, InputFile
from .layouts import common_types, concatenated, is_text, without_views

if TYPE_CHECKING:
    from .dialect import Dialect
    from .svmlight import SparseBatch


#: Types that a column can be declared to have.
DECLARED_KINDS = ("number", "category", "boolean", "date", "date-dmy", "date-mdy", "text")
#: Rows of a batch if the format leaves the choice to the reader: 1 ms of work for ten columns.
BATCH_ROWS: Final = 65536

#: A whole table or some of its rows.
Batch: TypeAlias = "pa.Table | pa.RecordBatch | SparseBatch"


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of a table to read, the class column, and the declared types of columns."""

    target: str | None = None
    columns: Sequence[str] | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.columns is not None and (isinstance(self.columns, str) or not isinstance(self.columns, Iterable)):
            raise ParameterError(Setting("columns"), f" must be a list of column names, got {self.columns!r}.")
        check_column_types(self.types)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns given by name, with the target."""
        return (*(self.columns or ()), *([] if self.target is None else [self.target]))


def check_column_types(types: Mapping[str, str]) -> None:
    """Raise a `ParameterError` unless ``types`` maps names of columns to types."""
    if not isinstance(types, Mapping):
        raise ParameterError(
            Setting("types"), f" must map columns to types, such as {{'zip': 'category'}}, got {types!r}."
        )
    for name, kind in types.items():
        if kind not in DECLARED_KINDS:
            expected = ", ".join(DECLARED_KINDS)
            raise ParameterError(Setting("types"), f" of column {name!r} must be one of {expected}, got {kind!r}.")


class TableReader(ABC):
    """Rows under named columns.

    Attributes
    ----------
    label : str
        The name of the table in messages.
    columns : tuple of str
        The columns to read.
    target : str or None
        The column of classes, if one was given.
    types : dict
        The declared types of columns.
    dialect : Dialect or None
        How a text table is written.
    missing_codes : tuple of str
        Texts that stand for missing values; empty if the format has types and missing values of its own.
    decimal : str
        The decimal separator of numbers stored as text.
    n_rows : int or None
        The number of rows, if it is known: for a text table, after it has been read.
    """

    dialect: Dialect | None = None
    missing_codes: tuple[str, ...] = ()
    decimal: str = "."
    n_rows: int | None = None

    def __init__(
        self, label: str, names: Sequence[str], columns: ColumnOptions, source: InputFile | None = None
    ) -> None:
        self.label = label
        self.source = source
        self.columns = tuple(names)
        check_unique(names, label)
        for name in (*columns.wanted, *columns.types):
            self.known(name, "target" if name == columns.target else "column")
        self.target = columns.target
        self.types = dict(columns.types)
        if columns.columns is not None:
            self.columns = tuple(name for name in names if name in columns.wanted)

    @property
    def read_as(self) -> str:
        """The format of the table, in words."""
        return "a frame" if self.source is None else FORMATS[self.source.format][0]

    @property
    def findings(self) -> list[Finding]:
        """Notes about the file."""
        return [] if self.source is None else self.source.findings

    def known(self, name: str, role: str = "column") -> str:
        """The name itself, or a `ColumnError` with similar names."""
        if name not in self.columns:
            message = f"{self.label} has no {role} {name!r}.{suggestion(str(name), self.columns)} "
            message += f"Columns: {quoted(self.columns, 20)}."
            advice: tuple[Part, ...] = ()
            if self.dialect is not None and not self.dialect.header:
                advice = (" The first line was read as data. If it has column names, give ", Setting("header", True))
            raise ColumnError(message, *advice, *(["."] if advice else []))
        return name

    def read(self) -> pa.Table:
        """All rows as a pyarrow table; missing-value codes of text are left as they are written."""
        data = self._read()
        self._set_rows(data.num_rows)
        return data

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        """The rows as pyarrow tables of ``rows`` rows each, the last one shorter, in constant memory."""
        check_integer("rows", rows, 1)
        count = 0
        for batch in self._regrouped(self._stream(), rows):
            count += batch.num_rows
            yield batch
        self._set_rows(count)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the file, or of the columns of a frame."""
        assert self.source is not None
        return self.source.sha256()

    @abstractmethod
    def _read(self) -> Batch:
        """All rows as a pyarrow table."""

    def _stream(self) -> Iterator[Batch]:
        """The rows as pyarrow tables or record batches of any size."""
        yield self._read()

    def _regrouped(self, parts: Iterator[Batch], rows: int) -> Iterator[Batch]:
        """The same rows in tables of ``rows`` rows; if the types change, a shorter table ends before."""
        rest: pa.Table | None = None
        for part in parts:
            table: pa.Table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
            if rest is not None and rest.schema != table.schema:
                yield rest
                rest = None
            whole = table if rest is None else pa.concat_tables([rest, table])
            full = whole.num_rows - whole.num_rows % rows
            yield from (whole.slice(start, rows) for start in range(0, full, rows))
            rest = whole.slice(full) if full < whole.num_rows else None
        if rest is not None:
            yield rest

    def _set_rows(self, n_rows: int) -> None:
        """Set the number of rows, once all are read; a table without rows is refused."""
        self.n_rows = n_rows
        if not n_rows:
            raise InputError(*self._no_rows())

    def _no_rows(self) -> tuple[Part, ...]:
        return (f"{self.label} has columns but no rows. Give at least one row.",)


class ParquetReader(TableReader):
    """A Parquet file."""

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        import pyarrow.parquet as parquet

        self._input_errors = partial(source.input_errors, "read as Parquet")
        with self._input_errors():
            self._file = parquet.ParquetFile(str(source.path), memory_map=True)
            names = self._file.schema_arrow.names
        super().__init__(source.label, names, columns, source)
        self.n_rows = self._file.metadata.num_rows

    def _read(self) -> pa.Table:
        with self._input_errors():
            return without_views(self._file.read(columns=list(self.columns)))

    def _stream(self) -> Iterator[Batch]:
        with self._input_errors():
            yield from map(without_views, self._file.iter_batches(batch_size=BATCH_ROWS, columns=list(self.columns)))


class ArrowReader(TableReader):
    """An Arrow (IPC) or Feather file, or an Arrow stream."""

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        self._input_errors = partial(source.input_errors, "read as Arrow")
        self._path = str(source.path)
        with self._input_errors():
            names = self._open().schema.names
        super().__init__(source.label, names, columns, source)

    def _open(self) -> pa.RecordBatchStreamReader | pa.RecordBatchFileReader:
        file = pa.memory_map(self._path)
        is_stream = file.read(4) == b"\xff\xff\xff\xff"
        file.seek(0)
        return pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)

    def _read(self) -> pa.Table:
        with self._input_errors():
            data = self._open().read_all().select(list(self.columns))
            data.validate()
            return without_views(data)

    def _stream(self) -> Iterator[Batch]:
        with self._input_errors():
            reader = self._open()
            count = getattr(reader, "num_record_batches", None)
            for batch in reader if count is None else map(reader.get_batch, range(count)):
                batch.validate()
                yield without_views(batch.select(list(self.columns)))


class FrameReader(TableReader):
    """A frame in memory."""

    def __init__(self, data: pa.Table, columns: ColumnOptions) -> None:
        super().__init__("<frame>", data.column_names, columns)
        self._data = data.select(list(self.columns))
        self.n_rows = data.num_rows

    def _read(self) -> pa.Table:
        return self._data

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the columns as an Arrow stream."""
        sink = _HashSink()
        with pa.PythonFile(sink, "w") as file, pa.ipc.new_stream(file, self._data.schema) as writer:
            writer.write_table(self._data)
        return sink.digest.hexdigest()


class _HashSink(io.RawIOBase):
    """A file that stores only the hash of what is written to it."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.digest.update(data)
        return len(data)


def check_unique(names: Sequence[str], label: str) -> None:
    """Raise a `ColumnError` if two columns have the same name."""
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise ColumnError(f"{label} has several columns with the same name: {quoted(duplicates)}. Rename them.")


#: Opens one of the files with declared types of columns.
Opening: TypeAlias = Callable[[str, Mapping[str, str]], TableReader]


class SeveralTables(TableReader):
    """The tables of several files as one; a column that is text in one of them is read as text in all."""

    def __init__(self, paths: Sequence[str], opening: Opening) -> None:
        self._paths, self._opening = list(paths), opening
        self._tables = [opening(path, {}) for path in paths]
        first = self._tables[0]
        for table in self._tables:
            for one, other in ((table, first), (first, table)):
                missing = [name for name in other.columns if name not in one.columns]
                if missing:
                    raise ColumnError(
                        f"{one.label} has no column {quoted(missing, 5)}, but {other.label} has. Give files with the "
                        "same columns."
                    )
        label = f"{first.label} and {len(paths) - 1} more"
        super().__init__(label, first.columns, ColumnOptions(first.target, None, first.types))
        self.dialect = first.dialect
        self.missing_codes, self.decimal = first.missing_codes, first.decimal
        counts = [table.n_rows for table in self._tables]
        self.n_rows = None if None in counts else sum(counts)  # type: ignore[arg-type]

    @property
    def read_as(self) -> str:
        return f"{len(self._tables)} files, each {self._tables[0].read_as}"

    @property
    def findings(self) -> list[Finding]:
        return list(dict.fromkeys(chain.from_iterable(table.findings for table in self._tables)))

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the fingerprints of the files."""
        return hashlib.sha256("\n".join(table.fingerprint for table in self._tables).encode()).hexdigest()

    def _read(self) -> pa.Table:
        parts = [table.read().select(list(self.columns)) for table in self._tables]
        text = [name for name, kind in common_types(parts).items() if is_text(kind)]
        for number, part in enumerate(parts):
            if typed := _typed_columns(part, text):
                self._tables[number] = self._opening(self._paths[number], dict.fromkeys(typed, "category"))
                parts[number] = self._tables[number].read().select(list(self.columns))
                if typed := _typed_columns(parts[number], text):
                    raise ColumnError(
                        f"Column {typed[0]!r} of {self.label} has different types: "
                        f"{parts[number].schema.field(typed[0]).type} in {self._tables[number].label}. Give it one "
                        "type in all files."
                    )
        return concatenated(parts)

    def _stream(self) -> Iterator[pa.Table]:
        for table in self._tables:
            yield from (batch.select(list(self.columns)) for batch in table.batches())


def _typed_columns(part: pa.Table, names: Sequence[str]) -> list[str]:
    """Those of the columns that are neither text nor empty."""
    kinds = {name: part.schema.field(name).type for name in names}
    return [name for name, kind in kinds.items() if not (is_text(kind) or pa.types.is_null(kind))]
