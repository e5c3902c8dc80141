"""Reader of delimited text, which parses blocks of some megabytes in parallel.

The text is cut between lines, outside quotes. Arrow infers the types of the columns from the first part; the others
are read with these types. A part that contradicts them is inferred by itself, and its columns get the narrowest common
type: integers, decimals of 38 digits, floats, or else text. A table that is read whole has one type per column: if text
occurs after numbers, the file is read once more with these columns as text.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv

from ..errors import InputError, Part, Setting
from ..results import several
from .dialect import Dialect, text_records
from .files import InputFile
from .layouts import (
    LARGE_INTEGER,
    TEXT,
    cast,
    common_type,
    common_types,
    concatenated,
    is_text,
    small_pages,
    value_type,
)
from .readers import ColumnOptions, TableReader

#: Bytes parsed at a time, in about 10 ms. Twice as many took 40 MB more memory, half as many 20 MB less, equal time.
PART_BYTES: Final = 1 << 21
#: Least rows per part of a wide table: Arrow takes 1 to 2 us for each column of a part.
MIN_PART_ROWS: Final = 512
#: A longer row is an unclosed quote: it would have to be in memory as a whole.
MAX_ROW_BYTES: Final = 1 << 26
#: Text columns with more distinct values than this in the first part are not dictionary-encoded.
MAX_DICTIONARY_VALUES: Final = 1000
#: Digits that a decimal of 128 bits holds.
MAX_INTEGER_DIGITS: Final = 38

_UTF8: Final = ("utf-8", "utf-8-sig")
_INTEGER: Final = r"^\s*[-+]?\d+\s*$"

Types: TypeAlias = Mapping[str, pa.DataType]


class DelimitedReader(TableReader):
    """A text table with a known dialect; ``fixed`` means that its encoding was given."""

    source: InputFile

    def __init__(self, source: InputFile, dialect: Dialect, columns: ColumnOptions, fixed: bool) -> None:
        self.dialect: Dialect = dialect
        super().__init__(source.label, dialect.names, columns, source)
        self.missing_codes, self.decimal = dialect.missing, dialect.decimal
        self._fixed_encoding = fixed
        self._declared = {name: TEXT for name in dialect.codes if name not in self.types}
        self._declared |= {name: pa.float64() if kind == "number" else TEXT for name, kind in self.types.items()}
        self._part_bytes = min(max(PART_BYTES, 8 * MIN_PART_ROWS * len(dialect.names)), MAX_ROW_BYTES)

    @property
    def read_as(self) -> str:
        return self.dialect.describe()

    def _read(self) -> pa.Table:
        parts = list(self._stream())
        types = common_types(parts)
        texts = [name for name, kind in types.items() if is_text(kind)]
        if any(not is_text(part.schema.field(name).type) for part in parts for name in texts):
            parts = list(self._parts(types))
        return concatenated(parts)

    def _stream(self) -> Iterator[pa.Table]:
        return self._parts(None)

    def _parts(self, types: Types | None) -> Iterator[pa.Table]:
        """The parts of the table; without ``types`` those of the first part are used as far as possible."""
        n_threads, waiting = pa.cpu_count(), deque[Future[pa.Table]]()
        with closing(self._texts()) as texts, ThreadPoolExecutor(n_threads) as pool:
            first = self._parsed(next(texts), types, True)
            yield first
            if types is None:
                types = self._declared | dict(zip(first.column_names, first.schema.types, strict=True))
            for text in texts:
                waiting.append(pool.submit(self._parsed, text, types, False))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _texts(self) -> Generator[bytes, None, None]:
        """The text as UTF-8, cut at line ends."""
        decode, rest = self._decoder(), b""
        row_ends = _RowEnds(self.dialect)
        with self.source.input_errors("read as a text table"), self.source.open() as stream:
            # The first part is yielded even without rows, so that the columns have types.
            n_yielded = 0
            while block := stream.read(self._part_bytes):
                rest += decode(block, False)
                end = row_ends.last(rest)
                if end:
                    yield rest[:end]
                    rest, n_yielded = rest[end:], n_yielded + 1
                elif len(rest) > MAX_ROW_BYTES:
                    raise InputError(
                        f"{self.label} has a row of more than {MAX_ROW_BYTES >> 20} megabytes. Close any open quote, "
                        "or give ",
                        Setting("quote", ""),
                        " if quotes have no meaning.",
                    )
            rest += decode(b"", True)
            if not n_yielded or rest.strip():
                yield rest

    def _decoder(self) -> Callable[[bytes, bool], bytes]:
        """A function from the next bytes of the file, and whether they are the last, to UTF-8."""
        encoding = self.dialect.encoding
        if encoding in _UTF8:
            return lambda block, final: block  # noqa: ARG005
        decoder = codecs.getincrementaldecoder(encoding)()

        def decode(block: bytes, final: bool) -> bytes:
            try:
                return decoder.decode(block, final).encode()
            except UnicodeError as error:
                if self._fixed_encoding or encoding != "cp1252":
                    raise self._encoding_error() from error
                return block.decode("latin-1").encode()

        return decode

    def _parsed(self, text: bytes, types: Types | None, is_first: bool) -> pa.Table:
        """A part with these types, or with wider types if they do not hold its values."""
        if types is not None:
            with suppress(pa.ArrowInvalid):
                return self._attempt(text, types, is_first)
        declared = {name: kind for name, kind in self._declared.items() if kind == TEXT}
        with self.source.input_errors("read as a text table"):
            found = self._attempt(text, declared, is_first)
        if any(pa.types.is_binary(value_type(kind)) for kind in found.schema.types):
            return self._parsed(self._as_utf8(text), types, is_first)
        inferred = dict(zip(found.column_names, found.schema.types, strict=True))
        large = {name: self._type_of_large(text, name, is_first) for name in _large_columns(found)}
        known = self._declared if types is None else types
        wanted = {
            name: common_type(known[name], kind) if name in known else kind for name, kind in (inferred | large).items()
        }
        if wanted == inferred:
            return found
        exact = {name: kind for name, kind in wanted.items() if is_text(kind) or kind == LARGE_INTEGER}
        return cast(self._attempt(text, exact, is_first), wanted)

    def _attempt(self, text: bytes, types: Types, is_first: bool) -> pa.Table:
        """A part read by Arrow, which infers the types of the other columns."""
        dialect, ragged = self.dialect, list[arrow_csv.InvalidRow]()

        def refuse(row: arrow_csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        if dialect.runs:
            text = re.sub(rb"(?m)^ +| +(?=\r?$)| +(?= )", b"", text)
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=len(text) + 1,
                    column_names=list(dialect.names),
                    skip_rows=dialect.before if is_first else 0,
                    skip_rows_after_names=int(dialect.header and is_first),
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote or False,
                    newlines_in_values=dialect.quote is not None,
                    invalid_row_handler=refuse,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    null_values=self._null_values,
                    column_types=types,
                    include_columns=list(self.columns),
                    decimal_point=dialect.decimal,
                    auto_dict_encode=True,
                    auto_dict_max_cardinality=MAX_DICTIONARY_VALUES,
                ),
                memory_pool=small_pages,
            )
        except pa.ArrowInvalid as error:
            if ragged:
                raise self._ragged_error(ragged[0]) from error
            raise

    @property
    def _null_values(self) -> list[str]:
        return [*self.missing_codes, *(f" {code}" for code in self.missing_codes)]

    def _type_of_large(self, text: bytes, name: str, is_first: bool) -> pa.DataType:
        """The type of a column that Arrow reads as floats because its numbers are too large for 64-bit integers."""
        texts = self._attempt(text, self._declared | {name: TEXT}, is_first)[name]
        texts = texts.filter(compute.invert(compute.is_in(texts, pa.array(self._null_values))))
        if not compute.all(compute.match_substring_regex(texts, _INTEGER)).as_py():
            return pa.float64()
        longest = compute.max(compute.utf8_length(compute.utf8_trim(texts, "+- "))).as_py()
        return LARGE_INTEGER if longest <= MAX_INTEGER_DIGITS else TEXT

    def _as_utf8(self, text: bytes) -> bytes:
        """A part that is not UTF-8: most likely it is cp1252; Latin-1 decodes any byte."""
        if self._fixed_encoding:
            raise self._encoding_error()
        self.dialect = replace(self.dialect, encoding="cp1252")
        try:
            return text.decode("cp1252").encode()
        except UnicodeDecodeError:
            return text.decode("latin-1").encode()

    def _encoding_error(self) -> InputError:
        return InputError(
            f"{self.label} is not entirely encoded in {self.dialect.encoding}. Give another encoding, or save it as "
            "UTF-8."
        )

    def _no_rows(self) -> tuple[Part, ...]:
        message = f"{self.label} has a header but no rows. Give at least one row, or "
        return message, Setting("header", False), " if the first line is a row."

    def _ragged_error(self, invalid: arrow_csv.InvalidRow) -> InputError:
        """The error for a line with another number of values, with its line number if it can be found."""
        dialect, expected = self.dialect, len(self.dialect.names)
        where, found, text = "A line", invalid.actual_columns, invalid.text
        with self.source.open() as stream, suppress(csv.Error):
            lines = io.TextIOWrapper(stream, dialect.encoding, errors="replace", newline="")
            records = text_records(islice(lines, dialect.before, None), dialect.delimiter, dialect.quote, dialect.runs)
            if dialect.header:  # it may be shorter
                next(records)
            before = records.line_num
            for record in records:
                if record and len(record) != expected:
                    line = dialect.before + before + 1
                    where, found, text = f"Line {line:,}", len(record), dialect.delimiter.join(record)
                    break
                before = records.line_num
        return InputError(
            f"{where} of {self.label} has {several(found, 'value')}, expected {expected}: "
            f"{text[:80]!r}. Check the delimiter ({dialect.delimiter!r}) and the quotes, or correct the line."
        )


class _RowEnds:
    """Finds the ends of rows, outside quotes."""

    def __init__(self, dialect: Dialect) -> None:
        self._quote = None if dialect.quote is None else dialect.quote.encode()
        quote = re.escape(self._quote or b'"')
        start = rb"(?:\A|(?<=[\r\n%b]))" % re.escape(dialect.delimiter.encode())
        #: A quoted value; the first group is empty if it is not closed.
        self._quoted = re.compile(rb"%b%b(?:[^%b]+|%b%b)*+(%b?)" % (start, *[quote] * 5))
        self._has_unpaired_quotes = False

    def last(self, text: bytes) -> int:
        """The end of the last complete row of a text, 0 if there is none."""
        line_end = b"\n" if b"\n" in text else b"\r"
        place = text.rfind(line_end) + 1
        if self._quote is None or (not self._has_unpaired_quotes and text.count(self._quote, 0, place) % 2 == 0):
            return place
        open_quote = next((found.start() for found in self._quoted.finditer(text, 0, place) if not found[1]), None)
        if open_quote is None:
            self._has_unpaired_quotes = True  # counting quotes is no use from here on
            return place
        return text.rfind(line_end, 0, open_quote) + 1


def _large_columns(data: pa.Table) -> list[str]:
    """Float columns with numbers that are too large for 64-bit integers."""
    found = []
    for name, column in zip(data.column_names, data.columns, strict=True):
        if pa.types.is_float64(column.type):
            ends = compute.min_max(column).as_py()
            if max(ends["max"] or 0, -(ends["min"] or 0)) >= 2**63:
                found.append(name)
    return found
