"""Delimited text, read by pyarrow: large files in chunks, each parsed from beginning to end by one thread.

Arrow's own reader parses all blocks before it converts the first, which takes memory several times the size of the
table, and its stream uses one core. A chunk goes from text to columns while it is in the cache, and its memory serves
the next one. What a reader of chunks cannot know, such as where a quotation across a border of chunks ends, is left to
Arrow's reader of the whole: see `CannotSplit`.

A block may contradict what the blocks before made of the file: a word in a column of numbers, a byte that is not
UTF-8, a line break inside quotes. Reading then starts again with `ReadSettings` that allow for it; only what none can
cure is an error.
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from threading import Lock, get_native_id, local
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv

from ..data.checks import check_choice
from ..errors import InputError, Part, Setting
from .dialect import Dialect, is_number, squeezed, text_records
from .input_file import PACKED_ENDINGS, InputFile
from .sources import ColumnOptions, TableReader, is_text, small_pages

_CHUNK_BYTES = 1 << 22
_LOOK_BYTES = 1 << 16
#: A line that goes on for longer than this would make a piece that is no piece; its end may be written otherwise.
_LINE_BYTES = 1 << 24
_LOWER_PRIORITY = 10

#: The column types that numbers are written in, narrow to wide.
_NUMBERS = [pa.null(), pa.int64(), pa.float64()]


class CannotSplit(Exception):
    """The file has to be read as a whole."""


class FileChunks:
    """The lines of a file in pieces of some megabytes."""

    def __init__(self, path: Path, quote: str | None) -> None:
        self.path = path
        self.quote = quote
        self._size = path.stat().st_size if path.exists() else 0
        self._buffers = local()

    @property
    def worthwhile(self) -> bool:
        """Whether files can be read by pieces here, and there is more than one piece for each thread."""
        return hasattr(os, "preadv") and self._size > pa.cpu_count() * _CHUNK_BYTES

    def parsed(self, parse: Callable[[Any, bool], Any]) -> Iterator[Any]:
        """What ``parse`` makes of each piece, in order; it is given the bytes and whether they are the first piece.

        The first piece is parsed alone: it may tell how to read the others.
        """
        threads = pa.cpu_count()
        try:
            with (
                open(self.path, "rb", buffering=0) as opened,
                ThreadPoolExecutor(threads, initializer=_lower_priority) as pool,
            ):
                file = opened.fileno()
                (first, *others) = pairwise(self._borders(file))
                yield self._one(file, *first, parse)
                waiting: deque[Future[Any]] = deque()
                for start, stop in others:
                    waiting.append(pool.submit(self._one, file, start, stop, parse))
                    if len(waiting) > threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
        except OSError as error:  # which Arrow will meet too, and it has words for it
            raise CannotSplit(str(error)) from error

    def _borders(self, file: int) -> list[int]:
        """Where pieces begin and end: at the first line that begins after so many bytes."""
        borders = [0]
        while borders[-1] < self._size:
            borders.append(self._after_line_end(file, borders[-1] + _CHUNK_BYTES))
        return borders

    def _after_line_end(self, file: int, start: int) -> int:
        for place in range(start, self._size, _LOOK_BYTES):
            found = os.pread(file, _LOOK_BYTES, place).find(b"\n")
            if found >= 0:
                return place + found + 1
            if place - start > _LINE_BYTES:
                raise CannotSplit("The file has no line ends, or none that are known here.")
        return self._size

    def _one(self, file: int, start: int, stop: int, parse: Callable[[Any, bool], Any]) -> Any:
        size = stop - start
        buffer: bytearray = getattr(self._buffers, "held", bytearray())  # a thread uses it for each of its pieces
        if len(buffer) < size:
            buffer = self._buffers.held = bytearray(max(size, _CHUNK_BYTES + _LOOK_BYTES))
        text = memoryview(buffer)[:size]
        if os.preadv(file, [text], start) != size:
            raise CannotSplit("The file has become shorter.")
        if self.quote is not None and buffer.count(self.quote.encode(), 0, size) % 2:
            raise CannotSplit("A quotation may go on in the next piece.")
        return parse(pa.BufferReader(pa.py_buffer(text)), start == 0)


def _lower_priority() -> None:
    """Let this thread give way: Python code that runs meanwhile, such as loading a library, has one core at most."""
    if sys.platform == "linux":  # where priorities are those of threads
        thread = get_native_id()
        with suppress(OSError):  # where that is not allowed, nothing is lost but a little time
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _LOWER_PRIORITY)


def joined(parts: list[Any]) -> Any:
    """The pieces as one table.

    A column may be empty in one piece, of whole numbers in the next and of decimals in the third. Where one piece has
    text and another none, what is written there is lost, though it may mean something beside the text.
    """
    fields = []
    for column, name in enumerate(parts[0].schema.names):
        kinds = {part.schema.types[column] for part in parts}
        if len(kinds) == 1:
            (kind,) = kinds
        elif kinds.issubset(_NUMBERS):
            kind = max(kinds, key=_NUMBERS.index)
        elif all(map(is_text, kinds)):
            kind = pa.string()
        else:
            raise CannotSplit(f"A column is read as {' and as '.join(sorted(map(str, kinds)))}.")
        fields.append(pa.field(name, kind))
    schema = pa.schema(fields)
    return pa.concat_tables([part if part.schema.equals(schema) else _cast(part, schema) for part in parts])


def _cast(part: Any, schema: Any) -> Any:
    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(part.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


_BLOCK_BYTES = 1 << 20
_MOST_BLOCK_BYTES = 1 << 26
#: Blocks of wide tables hold about this many rows, or a block would be many columns of next to nothing.
_BLOCK_ROWS = 512
#: After so many contradictions every column that is not declared is read as text.
_MOST_CONTRADICTIONS = 8
#: Text columns with at most this many levels are kept as codes.
_MOST_CODED_LEVELS = 1000

#: Types that a second reading would infer from the same values; text may be kept as codes or not.
_PLAIN_TYPES = (pa.int64(), pa.float64(), pa.bool_(), pa.null())
_UNICODE = ("utf-8", "utf-8-sig")
_OTHER_ENCODING = {"utf-8": "cp1252", "utf-8-sig": "cp1252", "cp1252": "latin-1"}
#: Whole numbers that are too large for integers of 64 bits keep their digits in this type.
_LARGE_WHOLE = pa.decimal128(38, 0)
_NOT_WHOLE = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?(?:[^':]*'(\d+)')?.*[Dd]ecimal", re.S)
_WHOLE_NUMBER = re.compile(r"\s*[-+]?\d+\s*")
_CONTRADICTION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to ([^:]+): (?:invalid value '(.*?)')?", re.S
)


@dataclass(frozen=True)
class ReadSettings:
    """How pyarrow is told to read a text table."""

    encoding: str
    block_bytes: int
    line_breaks: bool  #: whether quoted values may hold line breaks
    types: dict[str, Any] = field(default_factory=dict)  #: by column; the others are inferred
    contradictions: int = 0


class RaggedRows:
    """Rows with another number of values than the others: how many one reading met, and the first of them.

    Arrow may hold on to it for a while after reading, and must not hold on to the table with it.
    """

    def __init__(self, treated: str) -> None:
        self.treated = "error" if treated == "refuse" else treated
        self.count = 0
        self.first: Any = None
        self._counting = Lock()

    def __call__(self, row: Any) -> str:
        with self._counting:
            self.count += 1
            self.first = self.first or row
        return self.treated


class DelimitedReader(TableReader):
    """A text table whose dialect is known."""

    source: InputFile

    def __init__(
        self, source: InputFile, dialect: Dialect, columns: ColumnOptions, on_ragged: str, fixed: bool
    ) -> None:
        check_choice("on_ragged", on_ragged, ("refuse", "skip"))
        super().__init__(source.label, dialect.names, columns, source)
        self.dialect: Dialect = dialect
        self.on_ragged = on_ragged
        self._fixed_encoding = fixed
        self._begin()

    def _begin(self) -> None:
        """What is set when a reading begins: no row has been left out yet."""
        dialect = self.dialect
        self._ragged = RaggedRows(self.on_ragged)
        self._settings = ReadSettings(
            encoding=dialect.encoding,
            block_bytes=min(max(_BLOCK_BYTES, 8 * _BLOCK_ROWS * len(dialect.names)), _MOST_BLOCK_BYTES),
            line_breaks=dialect.line_breaks or (self.on_ragged == "skip" and dialect.quote is not None),
            types={name: pa.string() for name in dialect.codes if name not in self.types}
            | {name: pa.float64() if kind == "number" else pa.string() for name, kind in self.types.items()},
        )

    def _read(self) -> Any:
        self._begin()
        with suppress(CannotSplit):  # else it is read as a whole
            return joined(list(self._parsed_chunks()))
        while True:
            try:
                data = self._attempt(arrow_csv.read_csv)
            except InputError as error:
                self._correct_settings(error)
                continue
            if self._holds_bytes(data.schema):
                self._change_encoding()
            elif self._blocks_were_cut(data):
                self._settings = replace(self._settings, line_breaks=True)
            elif not self._retyped_large(data):
                return data

    def _stream(self) -> Iterator[Any]:
        """Batches; after a contradiction the file is read anew and the rows that are out already are left out."""
        self._begin()
        out = 0
        with suppress(CannotSplit):  # else the rest is read as Arrow reads it
            for piece in self._parsed_chunks(alike=True):
                out += piece.num_rows
                yield piece
            return
        self._settings = replace(self._settings, line_breaks=self.dialect.quote is not None)
        while True:
            skip = out
            try:
                with self.source.plainly("read as a text table"):
                    reader = self._attempt(arrow_csv.open_csv)
                    if self._holds_bytes(reader.schema):
                        self._change_encoding()
                        continue
                    types = self._settings.types
                    first = {field.name: field.type for field in reader.schema if field.type in _PLAIN_TYPES}
                    for batch in reader:
                        if self._settings.types is types:  # of the first batch
                            if self._retyped_large(batch):
                                break
                            self._settings = replace(self._settings, types=types | first)
                        fresh = batch.slice(min(skip, batch.num_rows))
                        skip -= batch.num_rows - fresh.num_rows
                        out += fresh.num_rows
                        yield fresh
                    else:
                        return
            except InputError as error:
                self._correct_settings(error)

    def _parsed_chunks(self, alike: bool = False) -> Iterator[Any]:
        """The table in pieces, all with the types of the first if ``alike``; `CannotSplit` if that cannot be."""
        pieces = FileChunks(self.source.path, self.dialect.quote)
        plain = self._settings.encoding in _UNICODE and not (self.source.compression or self.dialect.runs)
        if not plain or self._settings.line_breaks or not pieces.worthwhile:
            raise CannotSplit("The file cannot be cut, or is small.")
        types: dict[str, Any] = {}

        def parse(text: Any, first: bool) -> Any:
            try:
                piece = self._attempt(arrow_csv.read_csv, text, first, types)
            except InputError as error:
                raise CannotSplit(str(error)) from error
            if self._holds_bytes(piece.schema) or self._blocks_were_cut(piece):
                raise CannotSplit("The text is of another encoding, or has quotes or line breaks within values.")
            if self._large_columns(piece):
                raise CannotSplit("Whole numbers may be too large for integers.")
            if first and alike:
                types.update({field.name: field.type for field in piece.schema if field.type != pa.null()})
            return piece

        yield from pieces.parsed(parse)

    def _why_empty(self) -> tuple[Part, ...]:
        if self.skipped:
            said = f"{self.label} has no row left: all {self.skipped:,} are ragged. Check the delimiter and the quotes."
            return (said,)
        said = f"{self.label} has a header but no rows. Give at least one row, or "
        return said, Setting("header", False), " if the first line is one."

    def _attempt(self, read: Any, text: Any = None, first: bool = True, types: Any = None) -> Any:
        """What ``read`` makes of the file, or of a piece of its text; ``types`` are more types of columns."""
        dialect, settings, codes = self.dialect, self._settings, self.dialect.missing
        if text is None:
            self._ragged = RaggedRows(self.on_ragged)
        with self.source.plainly("read as a text table"):
            return read(
                self._bytes() if text is None else text,
                read_options=arrow_csv.ReadOptions(
                    use_threads=text is None,
                    block_size=settings.block_bytes,
                    column_names=list(dialect.names),
                    skip_rows=dialect.blank_lines if first else 0,
                    skip_rows_after_names=int(dialect.header and first),
                    encoding="utf8" if dialect.runs or settings.encoding in _UNICODE else settings.encoding,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote or False,
                    newlines_in_values=settings.line_breaks,
                    invalid_row_handler=self._ragged,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    null_values=[*codes, *(f" {code}" for code in codes)],
                    column_types={**(types or {}), **settings.types},
                    include_columns=list(self.columns),
                    decimal_point=dialect.decimal,
                    auto_dict_encode=True,
                    auto_dict_max_cardinality=_MOST_CODED_LEVELS,
                ),
                memory_pool=None if read is arrow_csv.open_csv else small_pages,
            )

    @property
    def skipped(self) -> int:
        return self._ragged.count

    @property
    def read_as(self) -> str:
        return self.dialect.describe()

    def _bytes(self) -> Any:
        if self.dialect.runs:
            text = io.TextIOWrapper(self.source.open(), self._settings.encoding, newline="")
            return pa.PythonFile(_Squeezed(text), "r")
        # Of a name that says it is packed Arrow believes it.
        plain = self.source.compression is None and self.source.path.suffix.lower() not in PACKED_ENDINGS
        return str(self.source.path) if plain else self.source.open()

    def _holds_bytes(self, schema: Any) -> bool:
        """Whether a column is left as bytes because they are not of the encoding."""
        types = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
        return any(pa.types.is_binary(kind) for kind in types)

    def _large_columns(self, data: Any) -> list[str]:
        """Columns that are read as floats, though they may be whole numbers that are too large for integers."""
        floats = [
            field.name for field in data.schema if field.type == pa.float64() and field.name not in self._settings.types
        ]
        ranges = {name: compute.min_max(data.column(name)).as_py() for name in floats}
        return [name for name, ends in ranges.items() if max(ends["max"] or 0, -(ends["min"] or 0)) >= 2**63]

    def _retyped_large(self, data: Any) -> bool:
        """Whether the table has to be read again, to keep the digits of large whole numbers."""
        large = self._large_columns(data)
        types = self._settings.types | dict.fromkeys(large, _LARGE_WHOLE)
        self._settings = replace(self._settings, types=types if large else self._settings.types)
        return bool(large)

    @property
    def _blocks_may_be_cut(self) -> bool:
        return self.dialect.quote is not None and not self._settings.line_breaks

    def _blocks_were_cut(self, data: Any) -> bool:
        """Whether a block may have ended within quotes: then a line break or a quote is left in some text.

        Looking for it afterwards is cheaper than having blocks cut with an eye on quotes.
        """
        if not self._blocks_may_be_cut:
            return False
        signs = f"[\n\r{re.escape(str(self.dialect.quote))}]"
        for column in data.columns:
            if is_text(column.type):
                coded = pa.types.is_dictionary(column.type)
                texts = pa.chunked_array([chunk.dictionary if coded else chunk for chunk in column.chunks])
                if compute.any(compute.match_substring_regex(texts, signs)).as_py():
                    return True
        return False

    def _correct_settings(self, error: InputError) -> None:
        """Change the settings so that this error does not come again, or raise the error that it means."""
        reason = str(error.__cause__ or error)
        if "invalid UTF8" in reason or isinstance(error.__cause__, UnicodeError):
            self._change_encoding()
        elif "straddling" in reason:
            self._enlarge_blocks(error)
        elif (self._ragged.count or "newlines_in_values" in reason) and self._blocks_may_be_cut:
            self._settings = replace(self._settings, line_breaks=True)
        elif self._ragged.count and self.on_ragged == "refuse":
            raise self._ragged_error() from error
        elif (found := _CONTRADICTION.search(reason)) is not None:
            self._widen(self.dialect.names[int(found[1])], found[2], found[3] or "", error)
        elif (found := _NOT_WHOLE.search(reason)) is not None:
            self._widen(self.dialect.names[int(found[1])], "decimal", found[2] or "", error)
        else:
            raise error

    def _enlarge_blocks(self, error: InputError) -> None:
        """A block has to hold a whole row."""
        if self._settings.block_bytes == _MOST_BLOCK_BYTES:
            raise InputError(
                f"{self.label} has a row of more than {_MOST_BLOCK_BYTES >> 20} megabytes. Is a quote left open? Give ",
                Setting("quote", ""),
                " if quotes mean nothing here.",
            ) from error
        larger = min(8 * self._settings.block_bytes, _MOST_BLOCK_BYTES)
        self._settings = replace(self._settings, block_bytes=larger, line_breaks=self.dialect.quote is not None)

    def _change_encoding(self) -> None:
        """Tables that are not Unicode are mostly cp1252; Latin-1 reads any byte."""
        other = _OTHER_ENCODING.get(self._settings.encoding)
        if self._fixed_encoding or other is None:
            raise InputError(
                f"{self.label} is not written in {self._settings.encoding} throughout. Give another encoding, or save "
                "it as UTF-8."
            )
        self._settings = replace(self._settings, encoding=other)
        self.dialect = replace(self.dialect, encoding=other)

    def _widen(self, name: str, kind: str, value: str, error: InputError) -> None:
        if kind == "string":
            raise error
        types = self._settings.types | {name: _wider(kind, value)}
        if self._settings.contradictions >= _MOST_CONTRADICTIONS:
            types |= {column: pa.string() for column in self.columns if column not in self.types}
        self._settings = replace(self._settings, types=types, contradictions=self._settings.contradictions + 1)

    def _ragged_error(self) -> InputError:
        """The error that names the first line with another number of values, by its number if it is found again."""
        dialect, expected, first = self.dialect, len(self.dialect.names), self._ragged.first
        where, found, text = "A line", first.actual_columns, first.text
        with self.source.open() as stream, suppress(csv.Error):
            lines = io.TextIOWrapper(stream, self._settings.encoding, errors="replace", newline="")
            records = text_records(lines, dialect.delimiter, dialect.quote, dialect.runs)
            before = 0
            for record in records:
                if record and len(record) != expected:
                    where, found, text = f"Line {before + 1:,}", len(record), dialect.delimiter.join(record)
                    break
                before = records.line_num
        return InputError(
            f"{where} of {self.label} has {found} value{'s' if found != 1 else ''}, expected {expected}: "
            f"{text[:80]!r}. Check the delimiter ({dialect.delimiter!r}) and the quotes, or leave such lines out with ",
            Setting("on_ragged", "skip"),
            ".",
        )


def _wider(kind: str, value: str) -> Any:
    """The type of a column that was read as ``kind`` and holds this value, too."""
    whole = _WHOLE_NUMBER.fullmatch(value) is not None
    if kind == "decimal":
        return pa.string() if whole else pa.float64()
    if kind in ("null", "int64") and is_number(value):
        larger = pa.int64() if kind == "null" else _LARGE_WHOLE
        return larger if whole else pa.float64()
    return pa.string()


class _Squeezed(io.RawIOBase):
    """The text of another stream as UTF-8, with one space between values and none at the ends of lines."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = _MOST_BLOCK_BYTES) -> bytes:
        while len(self._rest) < size and (lines := self._text.readlines(size - len(self._rest))):
            self._rest += "".join(map(squeezed, lines)).encode()
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
