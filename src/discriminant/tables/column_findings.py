"""Findings about the columns of a table, with the option that changes the treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..errors import Message, Part, Setting
from ..results import Finding, Severity, listed, percent, quoted, several
from .column import OTHER, Column
from .levels import spelling_words
from .notation import iso_day
from .recognition import Parsed

#: A column with a larger share of missing values is reported as a warning.
MAX_MISSING_SHARE: Final = 0.5
#: Columns and codes that a finding lists.
_MAX_LISTED_COLUMNS: Final = 8
_MAX_LISTED_CODES: Final = 6


def declared(name: str, kind: str) -> Setting:
    """The option that declares the type of a column."""
    return Setting("types", {name: kind})


def _finding(kind: str, name: str, *message: Part, severity: Severity = "note") -> Finding:
    return Finding(severity, kind, name, Message(*message) if len(message) > 1 else str(message[0]))


def missing_values(column: Column, n_rows: int, shared_with: str | None = None) -> Finding:
    """The number of missing values of a column, and their imputation."""
    name, share = column.name, column.missing / max(n_rows, 1)
    is_mostly_missing = share > MAX_MISSING_SHARE
    count = several(column.missing, "missing value") + (f" ({percent(share)})" if is_mostly_missing else "")
    where = "" if shared_with is None else f", in the same rows as {shared_with!r}"
    verb = "it is" if column.missing == 1 else "they are"
    message = f"Column {name!r} has {count}{where}; {verb} {column.imputation}."
    if not is_mostly_missing:
        return _finding("missing values", name, message)
    advice = (f"{message} Check why they are missing, or drop the column with ", Setting("drop", [name]), ".")
    return _finding("mostly missing", name, *advice, severity="warning")


def dropped(column: Column, kind: str, severity: Severity = "note", keep_as: str | None = None) -> Finding:
    """A dropped column; ``keep_as`` is the type with which it is kept."""
    message = f"Column {column.name!r} is dropped: {column.dropped}."
    advice = () if keep_as is None else (" To keep it, give ", declared(column.name, keep_as), ".")
    return _finding(kind, column.name, message, *advice, severity=severity)


def group_identifier(column: Column, keep_as: str) -> Finding:
    """A dropped column that identifies groups of rows."""
    name = column.name
    message = f"Column {name!r} is dropped: {column.dropped}. Rows of one group are not independent: give "
    advice = (Setting("groups", name), " in fit, evaluate and compare. To keep it, give ", declared(name, keep_as), ".")
    return _finding("group identifier", name, message, *advice, severity="warning")


def nominal_codes(name: str, codes: str) -> Finding:
    """A column of numbers that is used as a category."""
    message = f"Column {name!r} has {codes} and is used as a category. To use it as a number, give "
    return _finding("nominal codes", name, message, declared(name, "number"), ".")


def code_words(values: Sequence[float]) -> str:
    """A few numbers in words."""
    return f"the codes {listed([f'{value:.12g}' for value in values], _MAX_LISTED_CODES)}"


def possible_codes(names: Sequence[str]) -> Finding:
    """Columns of few distinct integers, which may be codes."""
    first = names[0]
    subject = f"Column {first!r} has" if len(names) == 1 else f"Columns {quoted(names, _MAX_LISTED_COLUMNS)} have"
    used, what = ("a number", "it has") if len(names) == 1 else ("numbers", f"{first!r} has")
    message = f"{subject} few distinct integers, used as {used}. If {what} codes of categories, give "
    return _finding("possible codes", first, message, declared(first, "category"), ".")


def number_format(column: Column, parsed: Parsed) -> Finding:
    """A column of text that is parsed as numbers."""
    name, (text, number) = column.name, parsed.example
    unit = " (in percent)" if column.notation.affix == "%" else ""
    message = f"Column {name!r} is parsed as numbers: {text!r} is {number:.12g}{unit}. "
    if parsed.is_ambiguous:
        sign = column.notation.grouping
        advice: tuple[Part, ...] = (f"If {sign!r} is the decimal separator, give ", Setting("decimal", sign), ".")
        return _finding("number format", name, message, *advice, severity="warning")
    return _finding(
        "number format", name, f"{message}To keep the text as levels, give ", declared(name, "category"), "."
    )


def unparsed_values(column: Column, parsed: Parsed) -> Finding:
    """Texts in a column of numbers, dates or booleans that are treated as missing."""
    name, count = column.name, sum(parsed.unparsed.values())
    kind = {"number": "number", "date": "date"}.get(column.kind, "boolean")
    what = f"value that is not a {kind}" if count == 1 else f"values that are not {kind}s"
    verb = "it is" if count == 1 else "they are"
    message = f"Column {name!r} has {count:,} {what} ({quoted(parsed.unparsed, 3)}); {verb} treated as missing. "
    message += "To keep the text as levels, give "
    return _finding("unparsed values", name, message, declared(name, "category"), ".", severity="warning")


def dates(column: Column, text: str | None = None, is_ambiguous: bool = False) -> Finding:
    """A column of dates or times; ``text`` is an example."""
    name, order = column.name, column.notation.date
    unit = "times, used as hours" if order == "time" else "dates, used as days since 1970-01-01"
    orders = {"dmy": "day", "mdy": "month"}
    example = f" ({text!r} with the {orders[order]} first)" if order in orders and text is not None else ""
    message = f"Column {name!r} has {unit}{example}. "
    if is_ambiguous:
        other, first = ("date-mdy", "month") if order == "dmy" else ("date-dmy", "day")
        advice: tuple[Part, ...] = (f"If the {first} is first, give ", declared(name, other), ".")
        return _finding("dates", name, message, *advice, severity="warning")
    return _finding("dates", name, f"{message}To drop it, give ", Setting("drop", [name]), ".")


def time_order(name: str) -> Finding:
    """A time by which the rows are ordered."""
    message = (
        f"The rows are in the order of the time column {name!r}: random folds train on later rows than they predict. "
    )
    return _finding(
        "time order", name, f"{message}Compare models with ", Setting("time", name), ".", severity="warning"
    )


def missing_codes(column: Column, found: Sequence[float], low: float, high: float, n_rows: int) -> Finding:
    """Numbers that look like missing-value codes; the other values are from ``low`` to ``high``."""
    codes = listed([iso_day(value) if column.kind == "date" else f"{value:.12g}" for value in found])
    look = "looks like a missing-value code" if len(found) == 1 else "look like missing-value codes"
    others = f"the other values are from {column.shown(low)} to {column.shown(high)}"
    count = several(n_rows, "value is", "values are")
    message = f"Column {column.name!r}: {codes} {look} ({others}); {count} treated as missing. "
    advice = ("To keep them as values, give ", declared(column.name, column.kind), ".")
    return _finding("missing-value codes", column.name, message, *advice, severity="warning")


def spellings(name: str, found: Mapping[str, str]) -> Finding:
    """Several spellings of one level."""
    message = f"Column {name!r} has several spellings of one level, merged: {spelling_words(found)}. To keep them "
    return _finding("spellings", name, f"{message}separate, give ", declared(name, "category"), ".")


def many_levels(column: Column, n_rare: int, n_rows: int, n_levels: int) -> Finding:
    """A category with more levels than are coded."""
    where = _pooled_as(column)
    rare = "the rarest is" if n_rare == 1 else f"the {n_rare:,} rarest are"
    message = (
        f"Column {column.name!r} has {n_levels:,} levels; {rare} {where} ({several(n_rows, 'row')}). To keep more "
    )
    advice = ("levels, increase ", Setting("max_levels"), ", or group the levels by meaning.")
    return _finding("many levels", column.name, message + advice[0], *advice[1:], severity="warning")


def rare_levels(column: Column, n_rare: int, n_levels: int, min_rows: int) -> Finding:
    """Levels with too few rows for a coded column."""
    subject = f"{n_rare:,} of {n_levels:,} levels {'has' if n_rare == 1 else 'have'}"
    if not column.levels:
        subject = f"all {n_levels:,} levels have"
    verb = "is" if n_rare == 1 else "are"
    message = f"Column {column.name!r}: {subject} fewer than {min_rows} rows and {verb} {_pooled_as(column)}."
    return _finding("rare levels", column.name, message)


def _pooled_as(column: Column) -> str:
    return f"pooled as {OTHER}" if column.pooled else f"coded as {column.reference!r}"


def possible_leakage(name: str) -> Finding:
    """A column that separates the classes."""
    message = f"Column {name!r} perfectly separates the classes (possible leakage). If it is known only after the "
    advice = ("outcome, or computed from it, drop it with ", Setting("drop", [name]), ".")
    return _finding("possible leakage", name, message + advice[0], *advice[1:], severity="warning")


def distinct_words(texts: Sequence[str], n_distinct: int, is_free_text: bool) -> str:
    """Why a column of nearly distinct texts is dropped."""
    what = "free text" if is_free_text else "an identifier"
    return f"it looks like {what} ({n_distinct:,} distinct values such as {quoted(texts, 2)})"
