"""Presentation of results: numbers and tables as text, frames and JSON, and the mixin that all results share."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal

from .errors import Message

if TYPE_CHECKING:
    from narwhals.stable.v2 import Implementation
    from numpy.typing import ArrayLike

    from .arrays import Array

WIDTH: Final = 100  #: maximum line length of printed results
NOTHING: Final = "-"  #: printed for missing numbers
MAX_HTML_ROWS: Final = 60  #: rows of a table shown in a notebook; `to_frame` has all


def plain(label: Hashable | ArrayLike) -> Any:
    """A class label as a Python object instead of a NumPy scalar."""
    item = getattr(label, "item", None)
    return item() if item is not None and getattr(label, "shape", None) == () else label


MAX_QUOTED_LETTERS: Final = 60  #: length of quoted text in messages


def shown(label: Hashable) -> str:
    """A class label as messages print it."""
    return repr(plain(label))


def visible(value: Hashable) -> str:
    """A value as text with control characters escaped, so that it cannot manipulate a terminal.

    >>> print(visible("a" + chr(27) + "[31m"))
    a\\x1b[31m
    """
    text = str(value)
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def shortened(text: Any, most: int = 20) -> str:
    """Text truncated to at most ``most`` characters."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(names: Iterable[Hashable], most: int | None = None) -> str:
    """Names joined as ``a, b and c``; beyond ``most`` names, their number instead.

    >>> listed(["a", "b", "c"]), listed("abcdef", most=2)
    ('a, b and c', 'a, b and 4 more')
    """
    texts = [visible(plain(name)) for name in names]
    if most is not None and len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]])) if texts else ""


def quoted(names: Iterable[Hashable], most: int = 5) -> str:
    """Names as messages print them: text in quotes and truncated; beyond ``most`` names, their number instead."""
    cut = (shortened(name, MAX_QUOTED_LETTERS) if isinstance(name, str) else name for name in names)
    return listed(map(shown, cut), most)


def capitalised(text: str) -> str:
    """The text with its first letter in upper case; the others, such as those of names, do not change.

    >>> capitalised("standard errors: HC3")
    'Standard errors: HC3'
    """
    return text[:1].upper() + text[1:]


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """A hint with the most similar names, or empty text."""
    names = list(names)
    by_fold = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), by_fold, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_fold[name]) for name in near)}?" if near else ""


def several(n: int, what: str, many: str | None = None) -> str:
    """A count with its noun: ``1 row``, ``3 rows``."""
    return f"{n:,} {what if n == 1 else many or what + 's'}"


#: Measures whose printed name is not their key with spaces.
_METRIC_NAMES = {
    "auc": "AUC",
    "brier": "Brier score",
    "ece": "calibration error",
    "f1": "F1",
    "kappa_linear": "kappa (linear weights)",
    "kappa_quadratic": "kappa (quadratic weights)",
    "log_loss": "log-loss",
    "mcc": "MCC",
    "rps": "ranked probability score",
    "somers_d": "Somers' D",
}


def metric_name(metric: str) -> str:
    """The printed name of a measure.

    >>> metric_name("error_rate"), metric_name("log_loss")
    ('error rate', 'log-loss')
    """
    return _METRIC_NAMES.get(metric, metric.replace("_", " "))


def count(value: float) -> str:
    """A number of rows or sum of weights, with thousands separators."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def number(value: float | None, digits: int = 4) -> str:
    """A number with ``digits`` significant digits; a dash if missing; 0 without a sign."""
    return NOTHING if value is None or math.isnan(value) else f"{value + 0.0:.{digits}g}"


def exponential(log: float | None, digits: int = 4) -> str:
    """``exp(log)`` with ``digits`` significant digits, near 1 of its difference from 1.

    >>> exponential(0.00011), exponential(0.0), exponential(0.693147), exponential(9471.0)
    ('1.00011', '1', '2', '1.596e+4113')
    """
    if log is None or math.isnan(log) or math.isinf(log):
        return NOTHING if log is None or math.isnan(log) else "inf" if log > 0 else "0"
    if abs(log) > 700:  # beyond the range of floats
        power = math.floor(log / math.log(10))
        return f"{math.exp(log - power * math.log(10)):.{digits}g}e{power:+d}"
    if not 1e-12 < abs(log) < 0.01:
        return number(math.exp(log), digits)
    places = digits - 1 - math.floor(math.log10(abs(log)))
    return f"{1 + math.expm1(log):.{places}f}".rstrip("0").rstrip(".")


#: Numbers from this size on are printed with an exponent: measures of diverging probabilities have dozens of digits.
LARGE_NUMBER: Final = 1e9


def decimal(value: float | None, places: int = 4) -> str:
    """A number with ``places`` decimals; a dash if missing. Large numbers have significant digits instead.

    >>> decimal(0.5), decimal(-2055295911400.5), decimal(None)
    ('0.5000', '-2.055e+12', '-')
    """
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:z.{places}f}" if abs(value) < LARGE_NUMBER else f"{value:.{places}g}"


#: Shares within the second distance of 0 or 1, but not within the first (rounding), are printed with more digits.
SHARE_ROUNDING: Final = 1e-9
EXTREME_SHARE: Final = 0.00095


def percent(value: float | None, places: int = 1) -> str:
    """A share in percent; a dash if missing. Shares near 0 or 1 get enough digits to differ from 0 % and 100 %.

    >>> percent(0.5), percent(0.0005), percent(0.9995), percent(1.0)
    ('50.0 %', '0.05 %', '99.95 %', '100.0 %')
    """
    if value is None or math.isnan(value):
        return NOTHING
    rest = min(value, 1 - value)
    if SHARE_ROUNDING < rest < EXTREME_SHARE:
        places = max(places, -math.floor(math.log10(100 * rest)))
    return f"{100 * value:.{places}f} %"


def unbroken(text: str) -> str:
    """The text with no-break spaces before its percent signs, for figures and generated pages."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def p_value(p: float | None, places: int = 4, name: str = "") -> str:
    """A p-value, with ``name`` as an equation; very small values as an upper bound.

    >>> p_value(0.0312), p_value(1e-9), p_value(1e-9, places=3)
    ('0.0312', '< 0.0001', '< 0.001')
    >>> p_value(0.0312, name="p"), p_value(1e-9, name="p")
    ('p = 0.0312', 'p < 0.0001')
    """
    least = 10.0**-places
    if p is not None and p < least:
        return f"{name} < {least:.{places}f}".lstrip()
    return f"{name} = {decimal(p, places)}" if name else decimal(p, places)


def aligned(rows: Sequence[Sequence[str]], left: int = 1, gap: int = 2) -> list[str]:
    """The lines of a table: the first ``left`` columns aligned left, the others right."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(w) if j < left else cell.rjust(w) for j, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


def printed_columns(columns: Mapping[str, Sequence[Any]], names: int = 1, most: int = 30) -> list[str]:
    """Columns as lines of text with a header, numbers with four digits; at most ``most`` rows."""
    rows = [[shortened(_cell(cell), 24) for cell in row] for row in zip(*columns.values(), strict=True)]
    left_out = [f"... and {len(rows) - most:,} more, see to_frame()"] if len(rows) > most else []
    return [*aligned([[name.replace("_", " ") for name in columns], *rows[:most]], names), *left_out]


def columns_of(records: Sequence[Any], names: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Records (dataclasses or dicts) as columns; ``names`` selects fields."""
    if names is None:
        names = [] if not records else list(records[0]) if isinstance(records[0], Mapping) else _field_names(records[0])
    return {
        name: [row.get(name) if isinstance(row, Mapping) else getattr(row, name) for row in records] for name in names
    }


def records_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Columns as records, one per row.

    >>> records_of({"class": ["a", "b"], "rows": [3, 4]})
    [{'class': 'a', 'rows': 3}, {'class': 'b', 'rows': 4}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def frame_of(columns: Mapping[str, Any], backend: str | Implementation | None = None) -> Any:
    """Columns as a frame of ``backend``; by default the first installed of pandas, polars and pyarrow."""
    import narwhals.stable.v2 as nw

    wanted: Any = _frame_backend() if backend is None else backend
    chosen: Any = nw.Implementation.from_backend(wanted)
    values = dict(columns) if chosen.is_pandas() else {name: _of_one_type(column) for name, column in columns.items()}
    return nw.from_dict(values, backend=chosen).to_native()


def _of_one_type(column: Any) -> Any:
    """A column of one type, as frames other than pandas require: text and other labels together become text."""
    is_text = {isinstance(value, str) for value in column if value is not None} if isinstance(column, list) else ()
    if len(is_text) < 2:
        return column
    return [None if value is None else str(value) for value in column]


def _frame_backend() -> str:
    return next(name for name in ("pandas", "polars", "pyarrow") if _installed(name))


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a parent package is missing or blocked
        return False


def matrix_frame(
    values: Array, rows: Sequence[Hashable], columns: Sequence[Hashable], row_axis: str, column_axis: str
) -> Any:
    """A table with named axes: a pandas frame, or ``{row: {column: value}}`` if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return {row: dict(zip(columns, line, strict=True)) for row, line in zip(rows, values.tolist(), strict=True)}
    index, header = pandas.Index(rows, name=row_axis), pandas.Index(columns, name=column_axis)
    return pandas.DataFrame(values, index=index, columns=header)


def jsonable(value: Any, render: Callable[[str | Message], str] = str) -> Any:
    """A value in JSON types; numbers that are not finite become None, messages are rendered by ``render``."""
    if isinstance(value, Message):
        return render(value)
    if isinstance(value, Finding):
        return {**value.to_dict(), "message": render(value.message)}
    if hasattr(value, "to_dict"):
        return jsonable(value.to_dict(), render)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: jsonable(getattr(value, name), render) for name in _field_names(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): jsonable(entry, render) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(entry, render) for entry in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return jsonable(value.tolist(), render)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _field_names(record: Any) -> list[str]:
    return [field.name for field in fields(record) if not field.name.startswith("_")]


class Result:
    """Mixin of results: text for a terminal, a table for a notebook, a frame, and plain values for JSON.

    A result is a dataclass with ``repr=False``. It defines ``__str__`` and overrides `_columns` (its main table, by
    column) and `to_dict` if the fields themselves are not suitable.
    """

    def _columns(self) -> Mapping[str, Any]:
        """The main table; by default the records in ``rows``, else one row of the scalar fields and interval limits."""
        if isinstance(records := getattr(self, "rows", None), list):
            return columns_of(records)
        values = {name: getattr(self, name) for name in _field_names(self)}
        if hasattr(values.get("interval"), "low"):
            values |= {"low": values["interval"].low, "high": values["interval"].high}
        return {name: [plain(value)] for name, value in values.items() if _is_single(value)}

    def to_frame(self, backend: str | None = None) -> Any:
        """The main table as a frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow". Default: the first that is installed.

        Returns
        -------
        frame
            Of that library.
        """
        return frame_of(self._columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-compatible values; NaN as None.

        Returns
        -------
        dict
            By field name.
        """
        return {name: jsonable(getattr(self, name)) for name in _field_names(self)}

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        headline = str(self).partition("\n")[0]
        return f"<p>{escape(headline)}</p>{html_table(self._columns())}"


def _is_single(value: Any) -> bool:
    return value is None or isinstance(plain(value), (str, bool, int, float))


def html_table(columns: Mapping[str, Any]) -> str:
    """Columns as an HTML table, numbers with four digits; at most `MAX_HTML_ROWS` rows."""
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(v))}</td>' for v in row)}</tr>" for row in rows[:MAX_HTML_ROWS])
    more = f"<p>and {len(rows) - MAX_HTML_ROWS:,} more rows, see to_frame()</p>" if len(rows) > MAX_HTML_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    value = plain(value)
    return "" if value is None else number(value) if isinstance(value, float) else str(value)


Severity = Literal["note", "warning"]


@dataclass(frozen=True)
class Finding:
    """A data issue: its severity, kind, column and message."""

    severity: Severity
    kind: str
    column: str | None
    message: str | Message

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values."""
        return {"severity": self.severity, "kind": self.kind, "column": self.column, "message": str(self.message)}


#: Lines of a list of findings; more findings are grouped by kind.
MAX_NOTES: Final = 6


def finding_lines(
    findings: Iterable[Finding], render: Callable[[str | Message], str] = str
) -> list[tuple[Severity, str]]:
    """Findings as at most `MAX_NOTES` lines with their severity, warnings first.

    If there are more findings, one line per kind gives the first finding and the columns of the others.

    >>> found = [Finding("note", "constant", name, f"Column {name!r} is constant.") for name in "abcdefghi"]
    >>> finding_lines(found)
    [('note', "Column 'a' is constant. (and 8 more like this: 'b', 'c', 'd', 'e', 'f' and 3 more)")]
    """
    ordered = sorted(findings, key=lambda finding: finding.severity != "warning")
    unlike = {render(finding.message): finding for finding in ordered}
    if len(unlike) <= MAX_NOTES:
        return [(finding.severity, text) for text, finding in unlike.items()]
    kinds: dict[tuple[Severity, str], list[str]] = {}
    for text, finding in unlike.items():
        kinds.setdefault((finding.severity, finding.kind), []).append(text)
    lines = [(severity, _with_others(own, unlike)) for (severity, _), own in kinds.items()]
    if len(lines) <= MAX_NOTES:
        return lines
    kept = MAX_NOTES - 1
    more = sum(map(len, list(kinds.values())[kept:]))
    others = list(dict.fromkeys(kind for _, kind in list(kinds)[kept:]))
    return [*lines[:kept], ("note", f"And {several(more, 'note')} of other kinds: {listed(others)}.")]


def _with_others(texts: list[str], findings: dict[str, Finding]) -> str:
    """The first of several texts of a kind, with the number and columns of the others."""
    first, *others = texts
    if not others:
        return first
    columns = list(dict.fromkeys(column for text in others if (column := findings[text].column) is not None))
    return f"{first} (and {len(others)} more like this{': ' if columns else ''}{quoted(columns)})"


def printed_findings(findings: Iterable[Finding]) -> list[str]:
    """Findings as lines of a printed result."""
    return [f"{severity}: {text}" for severity, text in finding_lines(findings)]
