"""Results as people and programs read them: numbers and tables as text, frames, JSON, and one mixin for all of them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import Any, Final, Literal

from .errors import Message

WIDTH = 100  #: the longest line of a printed result
NOTHING = "-"  #: what stands where there is no number
#: A notebook shows this many rows of a table; `to_frame` has all.
_SHOWN_ROWS = 60


def plain(label: Any) -> Any:
    """A class label as its owner wrote it, without NumPy's wrapping."""
    return label.item() if getattr(label, "shape", None) == () else label


#: Letters to which free text is cut in messages.
MAX_QUOTED_LETTERS: Final = 60


def shown(label: Any) -> str:
    """The same as messages print it."""
    return repr(plain(label))


def visible(value: Any) -> str:
    """A value as text that cannot move the cursor, colour the terminal or turn the direction of writing.

    >>> print(visible("a" + chr(27) + "[31m"))
    a\\x1b[31m
    """
    text = str(value)
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def shortened(text: Any, most: int = 20) -> str:
    """A name cut to what fits."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(names: Iterable[Any], most: int | None = None) -> str:
    """``a, b and c``; of more than ``most`` names the first, and how many more there are.

    >>> listed(["a", "b", "c"]), listed("abcdef", most=2)
    ('a, b and c', 'a, b and 4 more')
    """
    texts = [visible(plain(name)) for name in names]
    if most is not None and len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]])) if texts else ""


def quoted(names: Iterable[Any], most: int = 5) -> str:
    """Names as messages print them, in quotes where they are text, long ones cut; of many the first."""
    cut = (shortened(name, MAX_QUOTED_LETTERS) if isinstance(name, str) else name for name in names)
    return listed(map(shown, cut), most)


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """A hint at the names that are near the wanted one, or nothing."""
    names = list(names)
    by_fold = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), by_fold, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_fold[name]) for name in near)}?" if near else ""


def several(n: int, what: str, many: str | None = None) -> str:
    """``1 row``, ``3 rows``."""
    return f"{n:,} {what if n == 1 else many or what + 's'}"


#: Measures whose name is not their key with spaces.
_METRIC_NAMES = {
    "auc": "AUC",
    "brier": "Brier score",
    "ece": "calibration error",
    "f1": "F1",
    "log_loss": "log-loss",
    "mcc": "MCC",
}


def metric_name(metric: str) -> str:
    """A measure as text calls it.

    >>> metric_name("error_rate"), metric_name("log_loss")
    ('error rate', 'log-loss')
    """
    return _METRIC_NAMES.get(metric, metric.replace("_", " "))


def count(value: float) -> str:
    """A number of rows, or a sum of weights, with thousands set apart."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def number(value: float | None, digits: int = 4) -> str:
    """A number to so many significant digits; a dash where there is none, and 0 without a sign."""
    return NOTHING if value is None or math.isnan(value) else f"{value + 0.0:.{digits}g}"


def exponential(log: float | None, digits: int = 4) -> str:
    """``exp(log)`` to ``digits`` significant digits of its distance from 1, or of itself if that is far from 1.

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


def decimal(value: float | None, places: int = 4) -> str:
    """A number with so many decimals; a dash where there is none."""
    return NOTHING if value is None or math.isnan(value) else f"{value:z.{places}f}"


#: Shares closer to 0 or 1 than the second are told with more digits, unless they differ by rounding alone.
_ROUNDING, _NEARLY = 1e-9, 0.00095


def percent(value: float | None, places: int = 1) -> str:
    """A share in percent; a dash where there is none.

    A share near 0 or 1 has the digits that tell it from them: one fraud in 2,000 rows is not 0.1 % beside 100.0 %.

    >>> percent(0.5), percent(0.0005), percent(0.9995), percent(1.0)
    ('50.0 %', '0.05 %', '99.95 %', '100.0 %')
    """
    if value is None or math.isnan(value):
        return NOTHING
    rest = min(value, 1 - value)
    if _ROUNDING < rest < _NEARLY:
        places = max(places, -math.floor(math.log10(100 * rest)))
    return f"{100 * value:.{places}f} %"


def p_value(p: float | None, places: int = 4, name: str = "") -> str:
    """A p-value, or with ``name`` a statement of it; a very small one as what it is below.

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
    """Lines of a table: the first ``left`` columns, which hold names, flush left, the others flush right."""
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
    """Columns as lines of text with a head, numbers to four digits; of a long table the first rows."""
    rows = [[shortened(_cell(cell), 24) for cell in row] for row in zip(*columns.values(), strict=True)]
    left_out = [f"... and {len(rows) - most:,} more, see to_frame()"] if len(rows) > most else []
    return [*aligned([[name.replace("_", " ") for name in columns], *rows[:most]], names), *left_out]


def columns_of(records: Sequence[Any], names: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Records (dataclasses or dicts) as columns; ``names`` chooses among their fields."""
    if names is None:
        names = [] if not records else list(records[0]) if isinstance(records[0], Mapping) else _field_names(records[0])
    return {
        name: [row.get(name) if isinstance(row, Mapping) else getattr(row, name) for row in records] for name in names
    }


def records_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Columns as records, one for each row.

    >>> records_of({"class": ["a", "b"], "rows": [3, 4]})
    [{'class': 'a', 'rows': 3}, {'class': 'b', 'rows': 4}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def frame_of(columns: Mapping[str, Any], backend: Any = None) -> Any:
    """Columns as a frame: of ``backend``, else of pandas, polars or pyarrow, whichever is there first."""
    import narwhals.stable.v2 as nw

    chosen: Any = nw.Implementation.from_backend(backend if backend is not None else _frame_backend())
    values = dict(columns) if chosen.is_pandas() else {name: _of_one_type(column) for name, column in columns.items()}
    return nw.from_dict(values, backend=chosen).to_native()


def _of_one_type(column: Any) -> Any:
    """A column as frames other than pandas take it: labels of classes beside the word "macro" become text."""
    is_text = {isinstance(value, str) for value in column if value is not None} if isinstance(column, list) else ()
    if len(is_text) < 2:
        return column
    return [None if value is None else str(value) for value in column]


def _frame_backend() -> Any:
    return next(name for name in ("pandas", "polars", "pyarrow") if _installed(name))


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # something keeps it from being found
        return False


def matrix_frame(values: Any, rows: Sequence[Any], columns: Sequence[Any], row_axis: str, column_axis: str) -> Any:
    """A table with named axes: a pandas frame, or ``{row: {column: value}}`` where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return {row: dict(zip(columns, line, strict=True)) for row, line in zip(rows, values.tolist(), strict=True)}
    index, header = pandas.Index(rows, name=row_axis), pandas.Index(columns, name=column_axis)
    return pandas.DataFrame(values, index=index, columns=header)


def jsonable(value: Any) -> Any:
    """The same in types that JSON has; what is not a finite number becomes None."""
    if hasattr(value, "to_dict"):
        return jsonable(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {name: jsonable(getattr(value, name)) for name in _field_names(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(entry) for entry in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return jsonable(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _field_names(record: Any) -> list[str]:
    return [field.name for field in fields(record) if not field.name.startswith("_")]


class Result:
    """What every result has: text for a terminal, a table for a notebook, a frame, and plain values for JSON.

    A result is a dataclass with ``repr=False``. It writes ``__str__``, and overrides `_columns` (its main table, by
    column) and `to_dict` where the fields themselves will not do.
    """

    def _columns(self) -> Mapping[str, Any]:
        """The main table; by default the records of a list ``rows``, else one row of the fields with a single value.

        An ``interval`` is two of them, its ends.
        """
        if isinstance(records := getattr(self, "rows", None), list):
            return columns_of(records)
        values = {name: getattr(self, name) for name in _field_names(self)}
        if hasattr(values.get("interval"), "low"):
            values |= {"low": values["interval"].low, "high": values["interval"].high}
        return {name: [plain(value)] for name, value in values.items() if _is_single(value)}

    def to_frame(self, backend: Any = None) -> Any:
        """The main table as a frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow". Default: the first of these that is installed.

        Returns
        -------
        frame
            Of that library.
        """
        return frame_of(self._columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text, as JSON has them; NaN as None.

        Returns
        -------
        dict
            By name of the field.
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
    """Columns as an HTML table, numbers to four digits; of a long one the first rows."""
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(v))}</td>' for v in row)}</tr>" for row in rows[:_SHOWN_ROWS])
    more = f"<p>and {len(rows) - _SHOWN_ROWS:,} more rows, see to_frame()</p>" if len(rows) > _SHOWN_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    value = plain(value)
    return "" if value is None else number(value) if isinstance(value, float) else str(value)


Severity = Literal["note", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing found in data: how grave, of what kind, in which column, and in words, with advice as a `Message`."""

    severity: Severity
    kind: str
    column: str | None
    message: str | Message

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values."""
        return {"severity": self.severity, "kind": self.kind, "column": self.column, "message": str(self.message)}


#: More findings than this are told together, those of a kind in one line.
MOST_NOTES = 6


def notes(findings: Iterable[Finding], told: Callable[[Any], str] = str) -> list[tuple[Severity, str]]:
    """At most `MOST_NOTES` lines on what was found, the grave things first, each with its severity.

    Where there are more findings, the first of a kind speaks for all of them, and names the columns of the others.

    >>> found = [Finding("note", "constant", name, f"Column {name!r} is constant.") for name in "abcdefghi"]
    >>> notes(found)
    [('note', "Column 'a' is constant. (and 8 more like this: 'b', 'c', 'd', 'e', 'f' and 3 more)")]
    """
    ordered = sorted(findings, key=lambda finding: finding.severity != "warning")
    unlike = {told(finding.message): finding for finding in ordered}
    if len(unlike) <= MOST_NOTES:
        return [(finding.severity, text) for text, finding in unlike.items()]
    kinds: dict[tuple[Severity, str], list[str]] = {}
    for text, finding in unlike.items():
        kinds.setdefault((finding.severity, finding.kind), []).append(text)
    lines = [(severity, _with_others(own, unlike)) for (severity, _), own in kinds.items()]
    if len(lines) <= MOST_NOTES:
        return lines
    kept = MOST_NOTES - 1
    more = sum(map(len, list(kinds.values())[kept:]))
    others = list(dict.fromkeys(kind for _, kind in list(kinds)[kept:]))
    return [*lines[:kept], ("note", f"And {several(more, 'note')} of other kinds: {listed(others)}.")]


def _with_others(texts: list[str], findings: dict[str, Finding]) -> str:
    """The first of several texts of a kind, how many more there are, and their columns."""
    first, *others = texts
    if not others:
        return first
    columns = list(dict.fromkeys(column for text in others if (column := findings[text].column) is not None))
    return f"{first} (and {len(others)} more like this{': ' if columns else ''}{quoted(columns)})"


def told_findings(findings: Iterable[Finding]) -> list[str]:
    """Findings as printed results have them."""
    return [f"{severity}: {text}" for severity, text in notes(findings)]
