"""How a delimited text file is written: found out from its first megabyte, and open to correction."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from ..errors import InputError, ParameterError, Setting
from .input_file import marked_encoding
from .notation import points_group
from .sources import refuse_same_names

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

    Examples
    --------
    >>> from discriminant.tables.dialect import find_dialect
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
    blank_lines: int = 0  #: empty lines before the first one
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
    quote = _found_quote(text) if asked.quote is None else (asked.quote or None)
    if delimiter is None:
        delimiter = _found_delimiter(text, whole, quote)
    runs = delimiter == " " and re.search(r"\S {2,}\S|^ +\S", text, re.MULTILINE) is not None
    records, blank_lines = _records(text, whole, delimiter, quote, runs, label)
    first, *rows = records
    columns = [{row[j].strip() for row in rows if j < len(row)} for j in range(len(first))]
    header = _has_header(first, columns, codes, known) if asked.header is None else asked.header
    names = _names(first, header, label)
    if not header:
        rows, columns = records, [own | {value.strip()} for own, value in zip(columns, first, strict=True)]
    values = set().union(*columns)
    return Dialect(
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        quote=quote,
        decimal=_found_decimal(rows, delimiter) if decimal is None else decimal,
        names=names,
        missing=codes,
        seen=tuple(code for code in codes if code in values),
        codes=tuple(name for name, own in zip(names, columns, strict=True) if _stays_text(own.difference(codes))),
        blank_lines=blank_lines,
        runs=runs,
        quotes_seen=quote is not None and quote in text,
        line_breaks=any("\n" in value or "\r" in value for value in values.union(first)),
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
    others = [other for other in DELIMITERS[:4] if other != delimiter]
    clean = sum(not any(other in value for other in others) or is_number(value) for value in values)
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
