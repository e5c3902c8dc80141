"""Delimited text: how it is written, found out from its first megabyte and open to correction, and its reading.

It is read by pyarrow: large files in chunks, each parsed from beginning to end by one thread, because
Arrow's own reader parses all blocks before it converts the first, which takes memory several times the size of the
table, and its stream uses one core. A chunk goes from text to columns while it is in the cache, and its memory serves
the next one. What a reader of chunks cannot know, such as where a quotation across a border of chunks ends, is left to
Arrow's reader of the whole: see `CannotSplit`.

A block may contradict what the blocks before made of the file: a word in a column of numbers, a byte that is not
UTF-8, a line break inside quotes. Reading then starts again with `ReadSettings` that allow for it; only what none can
cure is an error.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import islice, pairwise
from pathlib import Path
from threading import Lock, get_native_id, local
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv

from ..data import check_choice
from ..errors import InputError, ParameterError, Part, Setting
from .recognition import points_group
from .sources import (
    PACKED_ENDINGS,
    ColumnOptions,
    InputFile,
    TableReader,
    is_text,
    marked_encoding,
    refuse_same_names,
    small_pages,
)

#: What stands for a missing value in a text file unless told otherwise.
MISSING_CODES = (
    *("", "NA", "N/A", "n/a", "n.a.", "N.A.", "<NA>", "NaN", "nan", "NULL", "null", "None", "?", "-", "--", "---", "."),
    *("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),  # as spreadsheets write them
)
DELIMITERS = (",", ";", "\t", "|", " ")
_DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
_ENCODING_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a byte-order mark", "cp1252": "Latin-1 (cp1252)"}

_MOST_COLUMNS = 100_000
#: The delimiter is judged on this many characters, everything else on this many values.
_JUDGED_CHARACTERS = 1 << 16
_JUDGED_VALUES = 200_000

_POINT_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_COMMA_NUMBER = re.compile(r"\s*[-+]?(\d+,\d+|,\d+)([eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*")
_PADDED = re.compile(r"0\d+")
#: Lines with a number each, written as Arrow reads it too.
_NUMBER_LINES = re.compile(r"(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\n)+")

Records = list[list[str]]


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Attributes
    ----------
    delimiter, encoding, quote, decimal : str
        ``quote`` is None where nothing is quoted.
    header : bool
        Whether the first line names the columns.
    names : tuple of str
        The columns; without a header ``column_1``, ``column_2``, and so on.
    missing : tuple of str
        What stands for a missing value.
    seen : tuple of str
        Those of them that occur in the part that was looked at.
    codes : tuple of str
        Columns that stay text: digits with leading zeros, which are codes, and numbers with points between thousands.
    decimals : tuple of str
        Columns of plain numbers with decimal points, as far as was looked.

    Examples
    --------
    >>> from discriminant.tables.delimited import find_dialect
    >>> print(find_dialect(b"age;dose\\n31;0,5\\n?;1,25\\n").describe())
    2 columns separated by semicolons, UTF-8, a header, no quotes, decimal commas, missing values written '?'
    """

    delimiter: str
    encoding: str
    header: bool
    quote: str | None
    decimal: str
    names: tuple[str, ...]
    missing: tuple[str, ...] = MISSING_CODES
    seen: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    decimals: tuple[str, ...] = ()
    before: int = 0  #: lines before the first one that counts: empty ones, remarks that begin with #, ``sep=;``
    runs: bool = False  #: whether several spaces count as one delimiter
    quotes_seen: bool = False
    line_breaks: bool = False  #: whether quoted values with line breaks were seen

    def describe(self) -> str:
        """One line that says all this in words."""
        width = f"{len(self.names)} column{'s' if len(self.names) > 1 else ''}"
        seen = ", ".join(repr(code) if code else "as nothing" for code in self.seen)
        return ", ".join(
            [
                f"{width} separated by {_DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))}",
                _ENCODING_NAMES.get(self.encoding, self.encoding.upper()),
                "a header" if self.header else "no header",
                f"quotes {self.quote}" if self.quote and self.quotes_seen else "no quotes",
                f"decimal {'commas' if self.decimal == ',' else 'points'}",
                f"missing values written {seen}" if seen else "no missing values in its first part",
            ]
        )


@dataclass(frozen=True)
class DialectOptions:
    """How a text table is said to be written; what is None is found out."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    quote: str | None = None
    decimal: str | None = None
    missing_codes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        delimiter, quote = self.delimiter, self.quote
        if delimiter is not None and not (_is_sign(delimiter) and delimiter != '"'):
            raise ParameterError(
                Setting("delimiter"), f" must be one plain character such as ',', ';' or '\\t', got {delimiter!r}."
            )
        if self.header not in (None, True, False):
            raise ParameterError(Setting("header"), f" must be True, False or None (find out), got {self.header!r}.")
        if quote is not None and quote != "" and not _is_sign(quote):
            raise ParameterError(Setting("quote"), f" must be one plain character, or '' for none, got {quote!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(Setting("decimal"), f" must be '.' or ',', got {self.decimal!r}.")
        if delimiter is not None and delimiter in (quote, self.decimal):
            raise ParameterError(f"{delimiter!r} cannot be the delimiter and the quote or decimal sign as well.")
        codes = self.missing_codes
        if codes is not None and not all(isinstance(code, str) for code in codes):
            raise ParameterError(
                Setting("missing_codes"), f" must list the texts that stand for a missing value, got {codes!r}."
            )

    @property
    def given(self) -> list[str]:
        """The names of those that are not to be found out."""
        return [each.name for each in fields(self) if getattr(self, each.name) is not None]

    @property
    def codes(self) -> tuple[str, ...]:
        """What stands for a missing value; nothing at all always does."""
        if self.missing_codes is None:
            return MISSING_CODES
        codes = [self.missing_codes] if isinstance(self.missing_codes, str) else self.missing_codes
        return tuple(dict.fromkeys(["", *codes]))

    @property
    def asks_for_text(self) -> bool:
        """Whether something is given that only delimited text has."""
        return any(name not in ("missing_codes", "encoding") for name in self._telling)

    @property
    def _telling(self) -> list[str]:
        """Those that are given, but for a header: other formats always name their columns."""
        return [name for name in self.given if name != "header" or not self.header]

    def refuse_for(self, what: str, *applying: str) -> None:
        """Raise a `ParameterError` if anything else is given than what applies to ``what``, which is no plain text."""
        for name in self._telling:
            if name not in applying:
                raise ParameterError(
                    Setting(name), f" tells how text is written; it does not apply to {what}. Leave it out."
                )


def _is_sign(value: Any) -> bool:
    return isinstance(value, str) and len(value.encode()) == 1 and value not in "\r\n"


def find_dialect(
    sample: bytes,
    whole: bool = True,
    asked: DialectOptions | None = None,
    *,
    known: Collection[str] = (),
    label: str = "The table",
) -> Dialect:
    """The dialect of a text table, from its first bytes; what is asked for is taken as given.

    ``whole`` says that the sample is the whole text; ``known`` are names that the header has, if there is one.
    """
    asked = asked or DialectOptions()
    codes, delimiter, decimal = asked.codes, asked.delimiter, asked.decimal
    encoding, text = decoded(sample, whole, asked.encoding, label)
    _refuse_binary(text, label)
    sign, remarks, text = _without_remarks(text)
    quote = _found_quote(text) if asked.quote is None else (asked.quote or None)
    if delimiter is None:
        delimiter = sign or _found_delimiter(text, whole, quote)
    runs = delimiter == " " and re.search(r"\S {2,}\S|^ +\S", text, re.MULTILINE) is not None
    records, blank_lines = _records(text, whole, delimiter, quote, runs, label)
    _refuse_orange(records, label)
    first, *rows = _even(records, delimiter)
    columns = _different(rows, len(first))
    header = _has_header(first, columns, codes, known) if asked.header is None else asked.header
    names = _names(first, header, label)
    if not header:
        rows, columns = records, [own | {value.strip()} for own, value in zip(columns, first, strict=True)]
    seen = set().union(*(own.intersection(codes) for own in columns))
    written = {name: own - seen for name, own in zip(names, columns, strict=True)}
    as_text = {name for name, own in written.items() if _stays_text(own)}
    quoted = quote is not None and quote in text
    return Dialect(
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        quote=quote,
        decimal=_found_decimal(rows, delimiter) if decimal is None else decimal,
        names=names,
        missing=codes,
        seen=tuple(code for code in codes if code in seen),
        codes=tuple(name for name in names if name in as_text),
        decimals=tuple(name for name, own in written.items() if name not in as_text and _are_decimals(own)),
        before=remarks + blank_lines,
        runs=runs,
        quotes_seen=quoted,
        line_breaks=quoted and any(re.search("[\n\r]", "".join(own)) for own in (first, *columns)),
    )


def decoded(sample: bytes, whole: bool, encoding: str | None, label: str) -> tuple[str, str]:
    """The encoding and the text of the sample; the last character may be cut if the sample is not whole."""
    tried = [encoding] if encoding is not None else [marked_encoding(sample), "utf-8", "cp1252", "latin-1"]
    for name in filter(None, tried):
        try:
            return name, codecs.getincrementaldecoder(name)().decode(sample, whole)
        except LookupError as error:
            raise ParameterError(
                Setting("encoding"), f" {name!r} is not known. Use for example 'utf-8' or 'cp1252'."
            ) from error
        except (UnicodeError, TypeError, AttributeError, ValueError) as error:
            if encoding is not None:
                raise InputError(f"{label} is not written in {encoding}: {error}. Give another encoding.") from error
    raise InputError(f"{label} has no encoding that is known here. Save it as UTF-8.")


def _refuse_binary(text: str, label: str) -> None:
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            f"{label} has a zero byte in line {line}: it is not a text table, or it is damaged. Export it again as CSV."
        )
    head = text[:4096]
    strange = sum(1 for character in head if character < " " and character not in "\t\r\n\f\v")
    if strange > 0.01 * len(head) + 1:
        raise InputError(f"{label} is not text: its first part is full of control characters. Save the table as CSV.")
    if not text.strip():
        raise InputError(f"{label} is empty: nothing but blank lines. Give a table with a header and rows.")


_SEPARATOR_LINE = re.compile(r"sep=([^\r\n])[ \t]*(?:\r\n?|\n)(?=.)", re.IGNORECASE)
_REMARKS = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$")


_ORANGE_TYPES = frozenset({"c", "d", "s", "t", "continuous", "discrete", "string", "time", "datetime", "basket"})
_ORANGE_FLAGS = ("class", "meta", "ignore", "i", "m", "weight")


def _refuse_orange(records: Records, label: str) -> None:
    """Refuse a table of Orange with three header lines: names, types and flags, which are no rows."""
    if len(records) < 3:
        return
    kinds, flags = ([value.strip() for value in record] for record in records[1:3])
    typed = all(kind.lower() in _ORANGE_TYPES or len(kind.split()) > 1 for kind in kinds)
    flagged = all(not flag or "=" in flag or flag.split()[0].lower() in _ORANGE_FLAGS for flag in flags)
    if typed and any(kind.lower() in _ORANGE_TYPES for kind in kinds) and flagged:
        raise InputError(
            f"{label} is a table of Orange (.tab) with three header lines: names, types and flags. Expected one line "
            "of names. Delete the second and third line, or save it as CSV."
        )


def _without_remarks(text: str) -> tuple[str | None, int, str]:
    """The delimiter that a first line such as ``sep=;`` tells, the lines before the table, and the text after them.

    Lines that begin with # are remarks, but for the last one if it looks like a header.
    """
    told = _SEPARATOR_LINE.match(text)
    start = 0 if told is None else told.end()
    remarks = _REMARKS.match(text, start)
    if remarks is not None and "#" in remarks[0] and remarks.end() < len(text):
        *_, last = _LINE.finditer(text, start, remarks.end())
        below = [line[0] for line in islice(_LINE.finditer(text, remarks.end()), 2)]
        start = last.start() if _is_heading(last[0], below) else remarks.end()
    return (None if told is None else told[1]), len(_LINE.findall(text, 0, start)), text[start:]


def _is_heading(line: str, below: list[str]) -> bool:
    """Whether a line has as many values as the first below it, which is no header itself: it has numbers, if any do."""
    even = any(line.count(sign) == below[0].count(sign) > 0 for sign in DELIMITERS[:4])
    numbers = [any(map(is_number, re.split(r"[,;\t|]", row))) for row in below]
    return even and numbers != [False, True]


def _different(rows: Records, width: int) -> list[set[str]]:
    """The different values of each column, without the spaces around them; rows may be too short or too long."""
    if all(len(row) == width for row in rows):
        return [set(map(str.strip, own)) for own in zip(*rows, strict=True)] if rows else [set() for _ in range(width)]
    return [{row[j].strip() for row in rows if j < len(row)} for j in range(width)]


def _even(records: Records, delimiter: str) -> Records:
    """The records, the first as wide as the others, where all others have one value more.

    It is nothing at their end where lines end with a delimiter. It is the name of the row where R wrote them, at the
    beginning: a number that counts, or one of words that are all different and hold no delimiter by mistake.
    """
    first, *rows = records
    if not rows or any(len(row) != len(first) + 1 for row in rows):
        return records
    if all(not row[-1].strip() for row in rows):
        return [[*first, ""], *rows]
    names = [row[0] for row in rows]
    counted = names == [str(number) for number in range(1, len(names) + 1)]
    named = delimiter in " \t" and len(set(names)) == len(names) and not any(map(is_number, names))
    return [["", *first], *rows] if counted or named else records


def _found_quote(text: str) -> str:
    """The double quote, unless only single ones stand around values."""
    single = re.search(r"(?:^|[,;\t|])'[^'\r\n]*'(?:[,;\t|]|$)", text[:_JUDGED_CHARACTERS], re.MULTILINE)
    return "'" if single and '"' not in text else '"'


def _first_lines(text: str) -> str:
    """As many whole lines as the delimiter is judged on, at least three."""
    ends = re.compile(r"\r\n?|\n")
    third = next(islice(ends.finditer(text), 2, None), None)
    if third is None:
        return text
    last = ends.search(text, max(third.start(), _JUDGED_CHARACTERS))
    return text if last is None else text[: last.end()]


def _found_delimiter(text: str, whole: bool, quote: str | None) -> str:
    """The character that cuts most lines into the same number of values, none of which holds another delimiter."""
    head = _first_lines(text)
    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        try:
            records = [r for r in text_records(io.StringIO(head, newline=""), delimiter, quote, delimiter == " ") if r]
        except csv.Error:
            continue
        if len(records) > 1 and (not whole or len(head) < len(text)):
            del records[-1]
        score = _evenness(records, delimiter)
        if score > best_score + 0.01:
            best, best_score = delimiter, score
    return best


def _evenness(records: Records, delimiter: str) -> float:
    width, lines = Counter(map(len, records)).most_common(1)[0] if records else (1, 0)
    if width == 1:
        return 0.0
    values = [value for record in records if len(record) == width for value in record]
    if delimiter == " ":
        fit = sum(map(is_number, values)) / len(values)
        return 0.0 if fit < 0.4 else lines / len(records) * (0.5 + 0.5 * fit)
    other = re.compile(f"[{''.join(sign for sign in DELIMITERS[:4] if sign != delimiter)}]")
    clean = sum(other.search(value) is None or is_number(value) for value in values)
    return lines / len(records) * clean / len(values)


def is_number(value: str) -> bool:
    """Whether the text is a number, with a decimal point or comma."""
    return bool(_POINT_NUMBER.fullmatch(value) or _COMMA_NUMBER.fullmatch(value))


def text_records(lines: Iterable[str], delimiter: str, quote: str | None, runs: bool) -> Any:
    """The records of some lines, as the standard library reads them; ``runs`` of spaces may be one delimiter."""
    quoting: Any = csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL
    return csv.reader(map(squeezed, lines) if runs else lines, delimiter=delimiter, quotechar=quote, quoting=quoting)


def squeezed(line: str) -> str:
    """The line with single spaces between values and none around them."""
    return re.sub(" +", " ", line.strip(" ")).replace(" \n", "\n").replace(" \r", "\r")


def _records(text: str, whole: bool, delimiter: str, quote: str | None, runs: bool, label: str) -> tuple[Records, int]:
    """The records of the sample, and how many blank lines come before them."""
    records: Records = []
    blank, left = 0, _JUDGED_VALUES
    try:
        for record in text_records(io.StringIO(text, newline=""), delimiter, quote, runs):
            if not record:
                blank += not records
                continue
            records.append(record)
            left -= len(record)
            if left < 0 and len(records) > 1:
                return records[:-1], blank
    except csv.Error as error:
        if len(records) < 2:
            raise InputError(
                f"The first lines of {label} cannot be cut into values: {error}. Is a quote left open? Give ",
                Setting("quote", ""),
                " if quotes mean nothing here.",
            ) from error
    if not whole and len(records) > 1:
        del records[-1]
    return records, blank


def _has_header(record: list[str], below: list[set[str]], missing: Sequence[str], known: Collection[str]) -> bool:
    """Whether a record names the columns: it holds no number, and does not look like what stands below."""
    first = [value.strip() for value in record]
    if not set(known).isdisjoint(first):
        return True
    counted = [str(j) for j in range(len(first) + 1)]
    if len(first) > 2 and first in (counted[1:], counted[:-1], ["", *counted[:-2]]):
        return True
    if any(is_number(value) for value in first) or not any(first):
        return False
    if len(first) > 1 and sum(value in missing for value in first) > 1:
        return False
    if any(values and all(is_number(v) or v in missing for v in values) for values in below):
        return True
    again = sum(value in values for value, values in zip(first, below, strict=True))
    return again <= len(first) / 2


def _names(first: list[str], header: bool, label: str) -> tuple[str, ...]:
    if len(first) > _MOST_COLUMNS:
        raise InputError(
            f"{label} has {len(first):,} columns; at most {_MOST_COLUMNS:,} are read from a text table. Check the "
            "delimiter, or write sparse data as SVMlight."
        )
    names = [value.strip() if header else "" for value in first]
    names = [name or f"column_{j + 1}" for j, name in enumerate(names)]
    refuse_same_names(names, label)
    return tuple(names)


def _found_decimal(rows: Records, delimiter: str) -> str:
    """A comma where numbers have one that cannot stand between thousands."""
    with_comma = [value for row in rows for value in row if "," in value]
    commas, thousands = (
        sum(pattern.fullmatch(value) is not None for value in with_comma) for pattern in (_COMMA_NUMBER, _THOUSANDS)
    )
    if commas <= thousands:
        return "."
    points = sum("." in value and _POINT_NUMBER.fullmatch(value) is not None for row in rows for value in row)
    return "," if (commas > points if delimiter != "," else not points) else "."


def _stays_text(values: set[str]) -> bool:
    """Whether texts are digits with leading zeros, such as postcodes, or have points between thousands."""
    padded = all(map(str.isdecimal, values)) and any(map(_PADDED.fullmatch, values))
    return padded or points_group(values)


def _are_decimals(values: set[str]) -> bool:
    """Whether texts are plain numbers, some with a decimal point."""
    lines = "\n".join([*values, ""])  # looking at each text would take three times as long
    return "." in lines and _NUMBER_LINES.fullmatch(lines) is not None


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
#: Arrow is told which columns are decimals, since it takes long to find out of very many; a file of more bytes would
#: take longer still to read again where the first part of it did not tell.
_MOST_TOLD_BYTES = 1 << 23
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
    decimals: tuple[str, ...] = ()  #: columns that seem to be decimals
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
        self.dialect: Dialect = dialect
        super().__init__(source.label, dialect.names, columns, source)
        self.on_ragged = on_ragged
        self._fixed_encoding = fixed
        told = dialect.decimal == "." and source.path.stat().st_size <= _MOST_TOLD_BYTES
        self._told_decimals = dialect.decimals if told else ()
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
        self._settings = replace(self._settings, decimals=self._told_decimals)
        while True:
            try:
                data = self._attempt(arrow_csv.read_csv)
            except InputError as error:
                if self._settings.decimals:
                    self._settings = replace(self._settings, decimals=())
                else:
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
                            if self._retyped_large(pa.Table.from_batches([batch])):
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
                    skip_rows=dialect.before if first else 0,
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
                    column_types=dict.fromkeys(settings.decimals, pa.float64()) | (types or {}) | settings.types,
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
        kinds = dict(zip(data.column_names, data.schema.types, strict=True))
        inferred = [name for name, kind in kinds.items() if kind == pa.float64() and name not in self._settings.types]
        floats = data.select(inferred).columns
        chunks = [chunk for column in floats for chunk in column.chunks]
        if not _has_large(pa.chunked_array(chunks, pa.float64())):  # one look at all columns is enough, as a rule
            return []
        return [name for name, column in zip(inferred, floats, strict=True) if _has_large(column)]

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
            f"{where} of {self.label} has {found} value{'s' if found != 1 else ''}, expected {expected}: "
            f"{text[:80]!r}. Check the delimiter ({dialect.delimiter!r}) and the quotes, or leave such lines out with ",
            Setting("on_ragged", "skip"),
            ".",
        )


def _has_large(floats: Any) -> bool:
    """Whether any number is too large for integers of 64 bits."""
    ends = compute.min_max(floats).as_py()
    return max(ends["max"] or 0, -(ends["min"] or 0)) >= 2**63


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
