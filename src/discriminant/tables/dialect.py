"""The dialect of delimited text: inferred from the first megabyte, or given."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from ..errors import InputError, ParameterError, Setting
from ..results import several
from .files import encoding_of_bytes
from .labels import missing_texts
from .readers import check_unique
from .recognition import PADDED_INTEGER, points_are_thousands

if TYPE_CHECKING:
    import _csv

#: Default missing-value codes of text files.
MISSING_CODES = (
    *("", "NA", "N/A", "n/a", "n.a.", "N.A.", "<NA>", "NaN", "nan", "NULL", "null", "None", "?", "-", "--", "---", "."),
    *("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),  # written by spreadsheets
)
DELIMITERS = (",", ";", "\t", "|", " ")
_DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
_ENCODING_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a byte-order mark", "cp1252": "Latin-1 (cp1252)"}

#: A text table with more columns has most likely another delimiter.
MAX_COLUMNS: Final = 100_000
#: The delimiter is inferred from this many characters, everything else from this many values.
DELIMITER_SAMPLE_CHARACTERS: Final = 1 << 16
SAMPLE_VALUES: Final = 200_000

_POINT_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_COMMA_NUMBER = re.compile(r"\s*[-+]?(\d+,\d+|,\d+)([eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*")
_SEPARATOR_LINE = re.compile(r"sep=([^\r\n])[ \t]*(?:\r\n?|\n)(?=.)", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$")

Records: TypeAlias = list[list[str]]


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Attributes
    ----------
    delimiter, encoding, quote, decimal : str
        ``quote`` is None if quotes have no meaning.
    header : bool
        Whether the first line has the column names.
    names : tuple of str
        The columns; without a header ``column_1``, ``column_2``, and so on.
    missing : tuple of str
        The missing-value codes.
    seen : tuple of str
        The missing-value codes that occur in the sample.
    codes : tuple of str
        Columns that stay text: digits with leading zeros, and numbers with points between thousands.

    Examples
    --------
    >>> from discriminant.tables.dialect import find_dialect
    >>> print(find_dialect(b"age;dose\\n31;0,5\\n?;1,25\\n").describe())
    2 columns separated by semicolons, UTF-8, header, no quotes, decimal comma, missing-value codes: '?'
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
    before: int = 0  #: lines before the header: empty lines, comments that begin with #, ``sep=;``
    runs: bool = False  #: whether several spaces count as one delimiter
    quotes_seen: bool = False

    def describe(self) -> str:
        """One line in words."""
        seen = ", ".join(repr(code) if code else "empty cells" for code in self.seen)
        return ", ".join(
            [
                f"{several(len(self.names), 'column')} separated by "
                f"{_DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))}",
                _ENCODING_NAMES.get(self.encoding, self.encoding.upper()),
                "header" if self.header else "no header",
                f"quotes {self.quote}" if self.quote and self.quotes_seen else "no quotes",
                f"decimal {'comma' if self.decimal == ',' else 'point'}",
                f"missing-value codes: {seen}" if seen else "no missing-value codes in the first rows",
            ]
        )


@dataclass(frozen=True)
class DialectOptions:
    """The given parts of a dialect; what is None is inferred."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    quote: str | None = None
    decimal: str | None = None
    missing_codes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        delimiter, quote, codes = self.delimiter, self.quote, self.missing_codes
        is_delimiter = delimiter is None or (_is_character(delimiter) and delimiter != '"')
        expected = {
            "delimiter": None if is_delimiter else "one ASCII character such as ',', ';' or '\\t'",
            "header": None if self.header in (None, True, False) else "True, False or None (inferred)",
            "quote": None if quote in (None, "") or _is_character(quote) else "one ASCII character, or '' for none",
            "decimal": None if self.decimal in (None, ".", ",") else "'.' or ','",
            "missing_codes": None if codes is None or all(isinstance(code, str) for code in codes) else "a list of str",
        }
        for name, text in expected.items():
            if text is not None:
                raise ParameterError(Setting(name), f" must be {text}, got {getattr(self, name)!r}.")
        if delimiter is not None and delimiter in (quote, self.decimal):
            raise ParameterError(
                Setting("delimiter"),
                f" {delimiter!r} is also the quote or decimal separator. Give different characters.",
            )

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [each.name for each in fields(self) if getattr(self, each.name) is not None]

    @property
    def codes(self) -> tuple[str, ...]:
        """The missing-value codes; an empty cell is always missing."""
        if self.missing_codes is None:
            return MISSING_CODES
        codes = [self.missing_codes] if isinstance(self.missing_codes, str) else self.missing_codes
        return tuple(dict.fromkeys(["", *codes]))

    @property
    def needs_text(self) -> bool:
        """Whether an option was given that applies to delimited text only."""
        return any(name not in ("missing_codes", "encoding") for name in self._restrictive)

    @property
    def _restrictive(self) -> list[str]:
        """The options that were given, without ``header=True``, which holds for all other formats."""
        return [name for name in self.given if name != "header" or not self.header]

    def refuse_for(self, kind: str, *applicable: str) -> None:
        """Raise a `ParameterError` if an option was given that is not ``applicable`` to this kind of source."""
        for name in self._restrictive:
            if name not in applicable:
                raise ParameterError(Setting(name), f" applies to delimited text, not to {kind}. Leave it out.")


def _is_character(value: str | None) -> bool:
    return isinstance(value, str) and len(value.encode()) == 1 and value not in "\r\n"


def find_dialect(
    sample: bytes,
    is_complete: bool = True,
    given: DialectOptions | None = None,
    *,
    known: Collection[str] = (),
    label: str = "The table",
) -> Dialect:
    """The dialect of a text table, inferred from its first bytes except for the options that are given.

    ``is_complete`` means that the sample is the whole text; ``known`` are names that a header would contain.
    """
    given = given or DialectOptions()
    codes, delimiter, decimal = given.codes, given.delimiter, given.decimal
    encoding, text = decoded(sample, is_complete, given.encoding, label)
    _check_text(text, label)
    separator, n_before, text = _without_comments(text)
    quote = _find_quote(text) if given.quote is None else (given.quote or None)
    if delimiter is None:
        delimiter = separator or _find_delimiter(text, is_complete, quote)
    runs = delimiter == " " and re.search(r"\S {2,}\S|^ +\S", text, re.MULTILINE) is not None
    records, n_blank = _records(text, is_complete, delimiter, quote, runs, label)
    first, *rows = _with_row_names(records, delimiter)
    columns = _distinct_values(rows, len(first))
    header = has_header(first, columns, codes, known) if given.header is None else given.header
    names = names_of(first, header, label)
    if not header:
        rows, columns = records, [own | {value.strip()} for own, value in zip(columns, first, strict=True)]
    seen = set().union(*(missing_texts(own, codes) for own in columns))
    values = dict(zip(names, (own.difference(codes) for own in columns), strict=True))
    return Dialect(
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        quote=quote,
        decimal=_find_decimal(rows, delimiter) if decimal is None else decimal,
        names=names,
        missing=codes,
        seen=tuple(code for code in codes if code in seen),
        codes=tuple(name for name, own in values.items() if _stays_text(own)),
        before=n_before + n_blank,
        runs=runs,
        quotes_seen=quote is not None and quote in text,
    )


def decoded(sample: bytes, is_complete: bool, encoding: str | None, label: str) -> tuple[str, str]:
    """The encoding and the text of the sample; the last character of an incomplete sample may be truncated."""
    candidates = [encoding] if encoding is not None else [encoding_of_bytes(sample), "utf-8", "cp1252", "latin-1"]
    for name in filter(None, candidates):
        try:
            return name, codecs.getincrementaldecoder(name)().decode(sample, is_complete)
        except LookupError as error:
            raise ParameterError(
                Setting("encoding"), f" {name!r} is unknown. Expected for example 'utf-8' or 'cp1252'."
            ) from error
        except (UnicodeError, TypeError, AttributeError, ValueError) as error:
            if encoding is not None:
                raise InputError(f"{label} is not encoded in {encoding}: {error}. Give another encoding.") from error
    raise InputError(f"{label} has an unknown encoding. Save it as UTF-8.")


def _check_text(text: str, label: str) -> None:
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{label} is binary or damaged: line {line} has a zero byte. Export the table again as CSV.")
    head = text[:4096]
    n_control = sum(1 for character in head if character < " " and character not in "\t\r\n\f\v")
    if n_control > 0.01 * len(head) + 1:
        raise InputError(f"{label} is not text: it begins with control characters. Save the table as CSV.")
    if not text.strip():
        raise InputError(f"{label} is empty: it has blank lines only. Give a table with a header and rows.")


def _without_comments(text: str) -> tuple[str | None, int, str]:
    """The delimiter given by a first line such as ``sep=;``, the number of lines before the table, and the table.

    Lines that begin with # are comments, except for the last one if it looks like a header.
    """
    separator = _SEPARATOR_LINE.match(text)
    start = 0 if separator is None else separator.end()
    comments = _COMMENTS.match(text, start)
    if comments is not None and "#" in comments[0] and comments.end() < len(text):
        *_, last = _LINE.finditer(text, start, comments.end())
        below = [line[0] for line in islice(_LINE.finditer(text, comments.end()), 2)]
        start = last.start() if _is_heading(last[0], below) else comments.end()
    return (None if separator is None else separator[1]), len(_LINE.findall(text, 0, start)), text[start:]


def _is_heading(line: str, below: list[str]) -> bool:
    """Whether a comment names the columns: it has as many values as the line below, which is no header itself."""
    has_equal_width = any(line.count(sign) == below[0].count(sign) > 0 for sign in DELIMITERS[:4])
    has_numbers = [any(map(is_number, re.split(r"[,;\t|]", row))) for row in below]
    return has_equal_width and has_numbers != [False, True]


def _distinct_values(rows: Records, width: int) -> list[set[str]]:
    """The distinct values of each column without surrounding spaces; rows may be too short or too long."""
    return [{row[j].strip() for row in rows if j < len(row)} for j in range(width)]


def _with_row_names(records: Records, delimiter: str) -> Records:
    """The records with a name for every value, if all rows have one value more than the header.

    The extra value is empty if lines end with a delimiter. If R wrote the table, it is the row name at the beginning:
    consecutive numbers, or distinct words in a file separated by tabs or spaces.
    """
    first, *rows = records
    if not rows or any(len(row) != len(first) + 1 for row in rows):
        return records
    if all(not row[-1].strip() for row in rows):
        return [[*first, ""], *rows]
    names = [row[0] for row in rows]
    is_numbered = names == [str(number) for number in range(1, len(names) + 1)]
    is_named = delimiter in " \t" and len(set(names)) == len(names) and not any(map(is_number, names))
    return [["", *first], *rows] if is_numbered or is_named else records


def _find_quote(text: str) -> str:
    """The double quote, unless values have single quotes only."""
    single = re.search(r"(?:^|[,;\t|])'[^'\r\n]*'(?:[,;\t|]|$)", text[:DELIMITER_SAMPLE_CHARACTERS], re.MULTILINE)
    return "'" if single and '"' not in text else '"'


def _first_lines(text: str) -> str:
    """The complete lines that the delimiter is inferred from, at least three."""
    ends = re.compile(r"\r\n?|\n")
    third = next(islice(ends.finditer(text), 2, None), None)
    if third is None:
        return text
    last = ends.search(text, max(third.start(), DELIMITER_SAMPLE_CHARACTERS))
    return text if last is None else text[: last.end()]


def _find_delimiter(text: str, is_complete: bool, quote: str | None) -> str:
    """The character that splits most lines into the same number of values without other delimiters in them."""
    head = _first_lines(text)
    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        try:
            records = [r for r in text_records(io.StringIO(head, newline=""), delimiter, quote, delimiter == " ") if r]
        except csv.Error:
            continue
        if len(records) > 1 and (not is_complete or len(head) < len(text)):
            del records[-1]
        score = _delimiter_score(records, delimiter)
        if score > best_score + 0.01:
            best, best_score = delimiter, score
    return best


def _delimiter_score(records: Records, delimiter: str) -> float:
    """The share of lines of the most frequent width, times the share of values without other delimiters."""
    width, lines = Counter(map(len, records)).most_common(1)[0] if records else (1, 0)
    if width == 1:
        return 0.0
    values = [value for record in records if len(record) == width for value in record]
    if delimiter == " ":
        number_share = sum(map(is_number, values)) / len(values)
        return 0.0 if number_share < 0.4 else lines / len(records) * (0.5 + 0.5 * number_share)
    other = re.compile(f"[{''.join(sign for sign in DELIMITERS[:4] if sign != delimiter)}]")
    clean = sum(other.search(value) is None or is_number(value) for value in values)
    return lines / len(records) * clean / len(values)


def is_number(value: str) -> bool:
    """Whether the text is a number, with a decimal point or comma."""
    return bool(_POINT_NUMBER.fullmatch(value) or _COMMA_NUMBER.fullmatch(value))


def text_records(lines: Iterable[str], delimiter: str, quote: str | None, runs: bool) -> _csv.Reader:
    """The records of some lines; with ``runs`` several spaces count as one delimiter."""
    lines = map(_single_spaced, lines) if runs else lines
    if quote is None:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote)


def _single_spaced(line: str) -> str:
    """The line with single spaces between values and none around them."""
    return re.sub(" +", " ", line.strip(" ")).replace(" \n", "\n").replace(" \r", "\r")


def _records(
    text: str, is_complete: bool, delimiter: str, quote: str | None, runs: bool, label: str
) -> tuple[Records, int]:
    """The records of the sample, and the number of blank lines before them."""
    records: Records = []
    n_blank, n_left = 0, SAMPLE_VALUES
    try:
        for record in text_records(io.StringIO(text, newline=""), delimiter, quote, runs):
            if not record:
                n_blank += not records
                continue
            records.append(record)
            n_left -= len(record)
            if n_left < 0 and len(records) > 1:
                return records[:-1], n_blank
    except csv.Error as error:
        if len(records) < 2:
            raise InputError(
                f"The first lines of {label} cannot be split into values: {error}. Close any open quote, or give ",
                Setting("quote", ""),
                " if quotes have no meaning.",
            ) from error
    if not is_complete and len(records) > 1:
        del records[-1]
    return records, n_blank


def has_header(record: list[str], below: list[set[str]], missing: Sequence[str], known: Collection[str]) -> bool:
    """Whether a record names the columns: it has no numbers and differs from the values below."""
    first = [value.strip() for value in record]
    if not set(known).isdisjoint(first):
        return True
    numbers = [str(j) for j in range(len(first) + 1)]
    if len(first) > 2 and first in (numbers[1:], numbers[:-1], ["", *numbers[:-2]]):
        return True
    if any(is_number(value) for value in first) or not any(first):
        return False
    if len(first) > 1 and sum(value in missing for value in first) > 1:
        return False
    if any(values and all(is_number(v) or v in missing for v in values) for values in below):
        return True
    n_repeated = sum(value in values for value, values in zip(first, below, strict=True))
    return n_repeated <= len(first) / 2


def names_of(first: list[str], header: bool, label: str) -> tuple[str, ...]:
    """The column names: the values of the header, or numbered names."""
    if len(first) > MAX_COLUMNS:
        raise InputError(
            f"{label} has {len(first):,} columns. Expected at most {MAX_COLUMNS:,} in a text table: check the "
            "delimiter, or write sparse data as SVMlight."
        )
    names = [(value.strip() if header else "") or f"column_{j + 1}" for j, value in enumerate(first)]
    check_unique(names, label)
    return tuple(names)


def _find_decimal(rows: Records, delimiter: str) -> str:
    """A comma if numbers contain commas that cannot separate thousands."""
    with_comma = [value for row in rows for value in row if "," in value]
    n_decimal, n_thousands = (
        sum(pattern.fullmatch(value) is not None for value in with_comma) for pattern in (_COMMA_NUMBER, _THOUSANDS)
    )
    if n_decimal <= n_thousands:
        return "."
    n_points = sum("." in value and _POINT_NUMBER.fullmatch(value) is not None for row in rows for value in row)
    return "," if (n_decimal > n_points if delimiter != "," else not n_points) else "."


def _stays_text(values: set[str]) -> bool:
    """Whether the values are digits with leading zeros, such as postcodes, or have points between thousands."""
    is_padded = all(map(str.isdecimal, values)) and any(map(PADDED_INTEGER.fullmatch, values))
    return is_padded or points_are_thousands(values)
