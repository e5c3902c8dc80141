"""One call from a labelled table to rows, labels and the schema that codes further rows alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.checks import check_choice, check_integer, check_weights, encode_labels
from ..data.rows import Rows
from ..errors import ColumnError, InputError, LabelError, Message, ParameterError, Part, Setting, WeightError
from ..results import Finding, Severity, quoted, shown
from .dialect import MISSING_CODES, is_number
from .schema import (
    MISSING_PLACE,
    OTHER,
    POLICIES,
    Column,
    Policy,
    Schema,
    Target,
    as_floats,
    complete_rows,
    distinct_texts,
    is_numeric,
    level_index,
    missing_texts,
    raw_labels,
    refuse_infinite,
    total,
    whole_labels,
)
from .sources import SvmlightReader, TableReader, check_types, is_text, open_table

Array = np.ndarray[Any, Any]


#: Below this many rows a column may tell the classes apart by chance.
_FEWEST_ROWS = 20
_ID_NAME = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|index|rownum)$", re.IGNORECASE)
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4})"
    r"([T ]\d{1,2}:\d{2}.*)?"
)


def numbers_are_identifier(name: str, values: Array) -> bool:
    """Whether whole numbers number the rows: all different, and consecutive or called an id."""
    n = values.size
    if n < _FEWEST_ROWS or not np.isfinite(values).all():
        return False
    consecutive = values.max() - values.min() == n - 1
    named = _ID_NAME.search(name) is not None or name.endswith(("Id", "ID"))
    return bool((consecutive or named) and np.unique(values).size == n)


def tells_classes_apart(values: Array, codes: Array, ordered: bool) -> bool:
    """Whether one column alone gives every row its class.

    Either each value goes with one class only, and values repeat; or, where their order means something, each class has
    an interval of its own. Missing values (NaN) count as one value more.
    """
    if codes.size < _FEWEST_ROWS:
        return False
    order = np.lexsort((codes, values))
    values, codes = values[order], codes[order]
    other_class = codes[1:] != codes[:-1]
    other_value = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    if (other_class & ~other_value).any():
        return False
    runs, groups = 1 + np.count_nonzero(other_class), 1 + np.count_nonzero(other_value)
    return bool((ordered and runs == np.unique(codes).size) or groups <= codes.size / 5)


#: A text column with more levels than this share of its values tells rows apart, not classes.
_DISTINCT = 0.9
_MOSTLY_MISSING = 0.5
#: Columns are compared on this many rows first, and on all rows only if these do not decide it.
_SAMPLE_ROWS = 2000
_LOOKED_AT_LEVELS = 1000
#: A level is not rare if it has one row in so many.
_FREQUENT = 20
#: So many rare levels of a column are kept by name.
_MOST_RARE = 10_000
#: Whether a column of numbers varies enough shows in so many rows, as a rule.
_VARYING_ROWS = 5000
#: Columns of so many rows are looked through on several threads.
_LONG = 50_000
_THREADS = 2
#: More classes than this, with few rows each, are not classes.
_MOST_CLASSES = 20
_FEWEST_ROWS_PER_CLASS = 5


@dataclass(frozen=True)
class LearningOptions:
    """How columns are to be treated, see `read_training`.

    What fewer than ``rare`` rows have is not learned from: a level of one row tells that row, not its class; maximum
    likelihood gives it an infinite coefficient, and where cross-validation holds the row out its column does not vary.
    """

    missing: Policy = "indicator"
    drop: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    max_levels: int = 50
    rare: int = 1

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, POLICIES)
        if isinstance(self.drop, str) or not isinstance(self.drop, Sequence):
            raise ParameterError(Setting("drop"), f" must be a list of column names, got {self.drop!r}.")
        check_types(self.types)
        check_integer("max_levels", self.max_levels, 2)
        check_integer("rare", self.rare, 1)


@dataclass
class ColumnLearner:
    """Decides about the columns of one table, one after the other.

    ``codes`` are the texts that stand for missing values, ``classes`` the class code of each row, if known.
    """

    data: Any
    codes: Sequence[str]
    options: LearningOptions
    classes: Array | None = None
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.types = self.options.types
        self._least = max(min(self.options.rare, self.data.num_rows // _FREQUENT), 1)
        #: By column: how many levels have no coded column of their own, their rows, and of how many levels.
        self._rare_levels: dict[str, tuple[int, int, int]] = {}

    def learn(self, names: Sequence[str]) -> tuple[Column, ...]:
        """The columns of these names with all that was decided about them."""
        columns = self._learned(names)
        if self._least > 1 and not any(column.outputs for column in columns):
            self._least, self.findings = 1, []  # rare things are better than nothing
            columns = self._learned(names)
        if all(column.dropped is not None for column in columns):
            reasons = "; ".join(f"{column.name!r}: {column.dropped}" for column in columns[:5])
            rows = "1 sample" if self.data.num_rows == 1 else f"{self.data.num_rows:,} rows"
            raise InputError(f"No column is left to learn from in {rows} ({reasons}).")
        outputs = Counter(name for column in columns for name in column.outputs)
        name, count = outputs.most_common(1)[0]
        if count > 1:
            raise ColumnError(f"Two coded columns would be called {name!r}. Rename a column.")
        return columns

    def _learned(self, names: Sequence[str]) -> tuple[Column, ...]:
        unwanted = [name for name in names if name in self.options.drop]
        kinds = {name: self._kind(name) for name in names if name not in unwanted}
        dates = [name for name, kind in kinds.items() if kind == "date"]
        if dates:
            raise ColumnError(
                f"Dates or times cannot be weighed as they are: {quoted(dates)}. Leave the columns out with ",
                Setting("drop"),
                ", turn them into numbers such as days since a fixed day, or declare them categories with ",
                Setting("types"),
                ".",
            )
        self._ranges, self._rare_levels = self._number_ranges(kinds), {}
        columns: dict[str, Column] = {}
        for name, kind in kinds.items():
            columns[name] = column = self._category(name) if kind == "category" else self._number(name, kind)
            share = column.missing / max(self.data.num_rows, 1)
            if column.dropped is None and share > _MOSTLY_MISSING:
                said = f"Column {name!r} is missing in {share:.0%} of the rows: what it tells is mostly whether it was "
                self._say("warning", "mostly missing", name, f"{said}recorded.")
        self._drop_duplicates(columns)
        self._mark_missing(columns)
        self._treat_rare_levels(columns)
        self._look_for_leaks(columns)
        for name in unwanted:
            columns[name] = Column(name, "text", dropped="as asked")
        return tuple(columns[name] for name in names)

    def _say(self, severity: Severity, kind: str, name: str, *message: Part) -> None:
        self.findings.append(Finding(severity, kind, name, Message(*message) if len(message) > 1 else str(message[0])))

    def _kind(self, name: str) -> str:
        """What the column is by declaration, else by its type, else by its values."""
        kind = self.data[name].type
        if name in self.types:
            return self.types[name]
        if pa.types.is_null(kind):
            return "empty"
        if pa.types.is_boolean(kind):
            return "boolean"
        if is_numeric(kind):
            return "number"
        if pa.types.is_temporal(kind):
            return "date"
        if not is_text(kind):
            raise ColumnError(
                f"Column {name!r} holds {kind}: expected numbers, text or true and false. Leave it out with ",
                Setting("drop"),
                ".",
            )
        texts, _ = distinct_texts(self.data[name].slice(0, _SAMPLE_ROWS))
        trimmed = [text.strip() for text in texts]
        levels = set(trimmed) - missing_texts(trimmed, self.codes)
        return "date" if levels and all(map(_DATE.fullmatch, levels)) else "category"

    def _dropped(self, column: Column, kind: str, reason: str, severity: Severity = "note") -> Column:
        self._say(severity, kind, column.name, f"Column {column.name!r} is left out: {reason}.")
        return replace(column, dropped=reason)

    def _number_ranges(self, kinds: dict[str, Any]) -> dict[str, _Range]:
        """The ranges of the columns of numbers; those of long columns are found side by side."""
        names = [name for name, kind in kinds.items() if kind != "category"]
        with ThreadPoolExecutor(_THREADS if self.data.num_rows >= _LONG else 1) as threads:
            ranges = threads.map(lambda name: _range(name, self._values(Column(name, kinds[name]))), names)
            return dict(zip(names, ranges, strict=True))

    def _number(self, name: str, kind: Any) -> Column:
        missing, lowest, highest, mean = self._ranges[name]
        column = Column(name, kind, missing=missing)
        beside = f" ({missing:,} are missing)" if missing else ""
        if missing == self.data.num_rows:
            return self._dropped(column, "empty", "it holds no value at all")
        if lowest == highest:
            return self._dropped(column, "constant", f"its only value is {lowest:g}{beside}")
        whole = pa.types.is_integer(self.data[name].type)
        if name not in self.types and whole and numbers_are_identifier(name, self._values(column)):
            return self._dropped(column, "identifier", "it numbers the rows")
        if (differing := self._differing(column)) < self._least:
            rows = "one row" if differing == 1 else f"{differing} rows"
            reason = f"it is the same in all but {rows}{beside}"
            return self._dropped(column, "hardly varies", reason, "warning")
        return replace(column, mean=mean)

    def _differing(self, column: Column) -> int:
        """In how many rows a column of numbers differs from its most frequent value, or in how many at least."""
        for n_rows in (_VARYING_ROWS, self.data.num_rows):
            values = as_floats(column, self.data[column.name].slice(0, n_rows), self.codes)
            counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
            differing = int(counts.sum() - counts.max(initial=0))
            if differing >= self._least:
                break
        return differing

    def _values(self, column: Column) -> Array:
        return as_floats(column, self.data[column.name], self.codes)

    def _category(self, name: str) -> Column:
        texts, index = distinct_texts(self.data[name])
        if self.codes:  # spaces around levels of text files do not count
            texts = [text.strip() for text in texts]
        counts: Counter[str] = Counter()
        for text, count in zip(texts, np.bincount(index, minlength=len(texts)).tolist(), strict=False):
            counts[text] += count
        for text in missing_texts(texts, self.codes):
            del counts[text]
        counts = +counts  # without levels that no row has
        n_missing = len(index) - counts.total()
        column = Column(name, "category", missing=n_missing)
        if not counts:
            return self._dropped(column, "empty", "it holds no value at all")
        if len(counts) == 1 and not n_missing:
            return self._dropped(column, "constant", f"its only value is {next(iter(counts))!r}")
        levels = list(counts)
        self._say_if_almost_numbers(name, levels)
        if name not in self.types and len(levels) > max(2, _DISTINCT * counts.total()):
            words = np.mean([text.count(" ") for text in levels[:_LOOKED_AT_LEVELS]])
            what = "free text" if words > 4 else "an identifier"
            reason = f"nearly every row has a value of its own ({what}: {quoted(levels, 2)})"
            return self._dropped(replace(column, kind="text"), "identifier", reason)
        return self._with_levels(column, counts)

    def _with_levels(self, column: Column, counts: Counter[str]) -> Column:
        """The column with its frequent levels; the others count as ``(other)``, or as the reference if they are few.

        A few rows more change the largest group least. Where no level is frequent, all of them together are the
        reference that missing values are compared with.
        """
        by_size = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in by_size[: self.options.max_levels] if counts[level] >= self._least]
        reference, rest = (kept[0] if kept else OTHER), by_size[len(kept) :]
        n_rows = sum(counts[level] for level in rest)
        self._rare_levels[column.name] = (len(rest), n_rows, len(by_size))
        pooled = len(rest) if n_rows >= self._least else 0
        if pooled and OTHER in kept[1:]:  # somebody has pooled levels before
            kept, rest = [level for level in kept if level != OTHER], [OTHER, *rest]
        rare = tuple(rest[:_MOST_RARE])
        return replace(column, levels=tuple(sorted(kept)), reference=reference, pooled=pooled, rare_levels=rare)

    def _treat_rare_levels(self, columns: dict[str, Column]) -> None:
        """Tell of levels without a column of their own, and leave out columns to which none is left."""
        for name, (n_rare, n_rows, n_levels) in self._rare_levels.items():
            column = columns[name]
            if column.dropped is not None:
                continue
            many = f"none of its {n_levels:,} levels has {self._least} rows"
            all_rare = many if n_levels > 1 else "nearly all are missing"
            where = OTHER if column.pooled else repr(column.reference)
            if not column.outputs:
                same = f"nearly all rows have {column.reference!r}" if column.levels else all_rare
                columns[name] = self._dropped(column, "hardly varies", same)
            elif n_rare and len(column.levels) == self.options.max_levels:
                said = f"Column {name!r} has {n_levels:,} levels; the {n_rare:,} rarest ({n_rows:,} rows) count as "
                advice = (Setting("max_levels"), " to keep them apart, or group them by meaning.")
                self._say("warning", "many levels", name, f"{said}{where}. Raise ", *advice)
            elif n_rare:
                said = f"{n_rare:,} of its {n_levels:,} levels have fewer than {self._least} rows each and count as "
                said = f"{said}{where}"
                if not column.levels:
                    said = f"{all_rare}; they count as one, {where}"
                elif n_rare == 1:
                    said = f"one of its {n_levels:,} levels has fewer than {self._least} rows and counts as {where}"
                self._say("note", "rare levels", name, f"Column {name!r}: {said}.")

    def _say_if_almost_numbers(self, name: str, levels: list[str]) -> None:
        """Tell of a few words that make a column of numbers a column of text."""
        levels = levels[:_LOOKED_AT_LEVELS]
        words = [level for level in levels if not is_number(level)]
        if name in self.types or not words or len(words) > 0.2 * len(levels) or len(levels) < 5:
            return
        thousands = all(is_number(word.replace(",", "").replace(".", "").replace(" ", "")) for word in words)
        said = f"Column {name!r} is read as text because some values are not numbers: {quoted(words, 3)}. "
        remedy: tuple[Part, ...] = ("If these mean missing, read the table with ", Setting("missing", words[:3]), ".")
        if thousands:
            remedy = ("They may have signs between thousands: write them without.",)
        self._say("warning", "almost numbers", name, said, *remedy)

    @cached_property
    def _sample(self) -> Array:
        n = self.data.num_rows
        return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE_ROWS)).astype(np.int64))

    def _comparable(self, column: Column, data: Any) -> Array:
        """The column as numbers that are equal where its values are; missing ones are NaN."""
        if column.kind != "category":
            return as_floats(column, data[column.name], self.codes)
        places = {level: place for place, level in enumerate(column.levels)}
        index, _ = level_index(data[column.name], places, self.codes)
        # Numbered in the order in which they appear: equal for columns that group the rows alike.
        groups = pa.array(index).dictionary_encode().indices.to_numpy().astype(np.float64)
        groups[index == MISSING_PLACE] = np.nan
        return groups

    def _drop_duplicates(self, columns: dict[str, Column]) -> None:
        """Leave out columns that say in every row what one before them says."""
        sample = self.data.take(self._sample)
        first_of: dict[tuple[bool, bytes, int], list[str]] = {}
        for name, column in columns.items():
            if column.dropped is not None:
                continue
            coded = column.kind == "category"
            alike = first_of.setdefault((coded, self._comparable(column, sample).tobytes(), column.pooled), [])
            for other in alike:
                before, own = (self._comparable(each, self.data) for each in (columns[other], column))
                if np.array_equal(before, own, equal_nan=True):
                    says = "groups the rows as" if coded else "has the same values as"
                    columns[name] = self._dropped(column, "duplicate", f"it {says} {other!r}")
                    break
            else:
                alike.append(name)

    def _mark_missing(self, columns: dict[str, Column]) -> None:
        """Give missing values a column of their own, unless one before them is missing in the same rows."""
        if self.options.missing != "indicator":
            return
        marked: dict[bytes, str] = {}
        for name, column in columns.items():
            if column.dropped is not None or not column.missing:
                continue
            if min(column.missing, self.data.num_rows - column.missing) < self._least:
                values = "One value is" if column.missing == 1 else f"{column.missing} values are"
                treated = f"read as {column.reference!r}" if column.kind == "category" else "filled with the mean"
                said = f"{values} missing in column {name!r}: too few for a mark, so {treated}."
                self._say("note", "missing", name, said)
                continue
            where = np.packbits(np.isnan(self._comparable(column, self.data))).tobytes()
            if where in marked:
                said = f"Column {name!r} is missing in the same rows as {marked[where]!r}: one mark serves both."
                self._say("note", "missing together", name, said)
            columns[name] = replace(column, missing_column=where not in marked)
            marked.setdefault(where, name)

    def _look_for_leaks(self, columns: dict[str, Column]) -> None:
        if self.classes is None:
            return
        sample, sample_classes = self.data.take(self._sample), self.classes[self._sample]
        for name, column in columns.items():
            if column.dropped is None and all(
                tells_classes_apart(self._comparable(column, data), classes, column.kind != "category")
                for data, classes in ((sample, sample_classes), (self.data, self.classes))
            ):
                said = f"Column {name!r} alone tells the classes apart without error. If it is known only after the "
                advice = (f"{said}outcome, or made from it, leave it out with ", Setting("drop"), ".")
                self._say("warning", "leak", name, *advice)


#: Missing values, the lowest and the highest value, and the mean of a column of numbers; NaN where there is none.
_Range = tuple[int, float, float, float]


def _range(name: str, values: Array) -> _Range:
    whole = total(values)
    if np.isfinite(whole):
        return (0, float(values.min()), float(values.max()), whole / values.size)
    refuse_infinite(name, values)
    present = values[~np.isnan(values)]
    if not present.size:
        return (values.size, np.nan, np.nan, np.nan)
    lowest, highest = float(present.min()), float(present.max())
    largest = max(highest, -lowest)  # the sum may overflow where the mean does not
    mean = largest * (present / largest).mean() if largest > 1e300 else present.mean()
    return (values.size - present.size, lowest, highest, float(mean))


def learn_target(
    labels: Array, name: str | None, label: str, n_missing: int = 0
) -> tuple[Target, Array, list[Finding]]:
    """The target, the class code of each label, and what was found."""
    if not labels.size:
        raise InputError(f"Target {name!r} of {label} is missing in every row. Name another column.")
    findings = []
    if n_missing:
        said = f"{n_missing:,} rows have no {name!r} and were left out."
        findings.append(Finding("warning", "target missing", name, said))
    if labels.dtype.kind == "f":
        raise _not_classes(np.unique(labels), labels, name)
    classes, codes = encode_labels(labels, len(labels))
    if classes.size > _MOST_CLASSES and labels.size < _FEWEST_ROWS_PER_CLASS * classes.size:
        raise _not_classes(classes, labels, name)
    counts = np.bincount(codes, minlength=len(classes))
    if len(classes) < 2:
        raise LabelError(
            f"Target {name!r} has only one class, {shown(classes[0])}: nothing can be told apart. Check the column, "
            "and whether rows of the other classes were filtered out."
        )
    for single in classes[counts == 1]:
        said = f"Class {shown(single)} of {name!r} has a single row: nothing can be learned or checked from it."
        findings.append(Finding("warning", "single row", name, said))
    kind = {"b": "boolean", "i": "integer", "u": "integer"}.get(classes.dtype.kind, "text")
    return Target(name, kind, tuple(classes.tolist())), codes, findings  # type: ignore[arg-type]


def _not_classes(values: Array, labels: Array, name: str | None) -> InputError:
    examples = quoted(values[:3].tolist())
    what = "continuous" if labels.dtype.kind in "fiu" else "like free text or an identifier"
    return InputError(
        f"Target {name!r} looks {what}: {values.size:,} different values in {labels.size:,} rows, such as "
        f"{examples}. A classifier needs a few classes: cut it into ranges first, or name another column."
    )


@dataclass(frozen=True)
class TrainingTable:
    """Rows, labels and what was decided and found on the way.

    Attributes
    ----------
    X : float64 array in C order, or CSR matrix, of shape (n_rows, n_coded)
    y : array of shape (n_rows,)
        The labels.
    codes : array of int32 of shape (n_rows,)
        The places of the labels among ``schema.target.classes``.
    schema : Schema
        Codes further rows in the same way.
    findings : tuple of Finding
        What is worth knowing about the table.
    weights, groups : array of shape (n_rows,), or None
    row_numbers : array of int
        The rows of the table that X holds; the others had no label, or missing values under ``missing="drop"``.
    n_dropped : int
        How many others there were.
    """

    X: Any
    y: Array
    codes: Array
    schema: Schema
    findings: tuple[Finding, ...]
    weights: Array | None
    groups: Array | None
    row_numbers: Array
    n_dropped: int

    @property
    def rows(self) -> Rows:
        """X with the names of its columns: a model fitted to these rows knows them, and calls columns by name."""
        return self.schema.rows(self.X)


def read_training(
    table: Any,
    target: str | None = None,
    *,
    missing: Policy = "indicator",
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    max_levels: int = 50,
    rare: int = 5,
) -> TrainingTable:
    """The rows and labels of a table, coded as numbers, with the schema that codes further rows alike.

    Parameters
    ----------
    table : TableReader, or what `open_table` opens
        A table opened before, with its dialect put right, or a file or frame.
    target : str, optional
        The column of classes; not needed if the table was opened with it.
    missing : {"indicator", "drop", "refuse"}, default="indicator"
        Missing numbers become the mean, and a column more marks them; missing categories are a level of their own. Or
        leave out incomplete rows, or refuse them.
    drop : list of str, default=()
        Columns to leave out.
    types : dict, optional
        What columns are: ``"number"``, ``"category"`` or ``"boolean"``.
    weights, groups : str, optional
        Columns of row weights, and of groups that belong together in validation.
    max_levels : int, default=50
        A category keeps this many levels, the most frequent ones; the others count as ``(other)``.
    rare : int, default=5
        Levels of fewer rows than this count as ``(other)``, or as the reference level where all of them together have
        fewer; numbers that differ from their most frequent value in fewer rows are left out, and so are marks of fewer
        missing values. A twentieth of the rows is never rare; 1 keeps everything.

    Returns
    -------
    TrainingTable
        With rows ``X``, labels ``y``, ``schema`` and ``findings``.

    See Also
    --------
    open_table : Opens a table with its dialect put right.
    TableEncoder : Codes frames as a step of a scikit-learn pipeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant.tables import read_training
    >>> frame = pd.DataFrame({"age": [31, 40, 35, 22], "sex": ["f", "m", "m", "m"], "ill": ["y", "n", "n", "y"]})
    >>> training = read_training(frame, "ill")
    >>> training.X
    array([[31.,  1.],
           [40.,  0.],
           [35.,  0.],
           [22.,  0.]])
    >>> training.y
    array(['y', 'n', 'n', 'y'], dtype='<U1')
    """
    options = LearningOptions(missing, drop, {} if types is None else types, max_levels, rare)
    if not isinstance(table, TableReader):
        table = open_table(table, target, types=types)
    if isinstance(table, SvmlightReader):
        return _sparse_training(table, target, weights, groups)
    target = table.target if target is None else target
    if target is None:
        columns = f". Columns: {quoted(table.columns, 20)}."
        raise ColumnError("Name the target, the column of classes, with ", Setting("target"), columns)
    roles = [name for name in (target, weights, groups) if name is not None]
    for name in (*roles, *options.drop, *options.types):
        table.known(name, "target" if name == target else "column")
    if len(set(roles)) < len(roles) or target in options.drop:
        raise ParameterError(f"Target, weights and groups must be different columns that are not dropped, got {roles}.")
    options = replace(options, types={**table.types, **options.types})
    return _training(table, target, weights, groups, options)


def _training(table: TableReader, target: str, weights: Any, groups: Any, options: LearningOptions) -> TrainingTable:
    """The coded rows of a table with named columns; what is learned of rows that are then left out is learned anew."""
    codes = () if table.dialect is None else table.dialect.missing
    roles = (target, weights, groups)
    _refuse_unusable(table, options)
    data = table.read()
    n_rows = data.num_rows
    labels, present = raw_labels(data[target], target, codes)
    rows = np.flatnonzero(present)
    data = data if rows.size == n_rows else data.filter(present)
    findings: list[Finding] = []
    n_missing = n_rows - rows.size
    while True:
        learned, classes, found = learn_target(labels, target, table.label, n_missing)
        learner = ColumnLearner(data, codes, options, classes)
        columns = learner.learn([name for name in data.column_names if name not in roles])
        matters = options.missing != "indicator"
        gaps = [column for column in columns if matters and column.dropped is None and column.missing]
        kept = complete_rows(gaps, data, codes, options.missing == "refuse")
        if not kept.any():
            misses = f"Every row of {table.label} misses some value. Choose "
            raise InputError(misses, Setting("missing", "indicator"), ".")
        findings += found
        if kept.all():
            break
        said = f"{np.count_nonzero(~kept):,} rows with missing values were left out."
        findings.append(Finding("warning", "rows missing", None, said))
        data, rows, labels, n_missing = data.filter(kept), rows[kept], labels[kept], 0
    schema = Schema(columns, learned, options.missing, codes or MISSING_CODES)
    return TrainingTable(
        X=schema.encode_batch(data)[0],
        y=np.array(learned.classes)[classes],
        codes=classes,
        schema=schema,
        findings=(*table.findings, *_numbers_as_text(table, data), *findings, *learner.findings),
        weights=None if weights is None else _weights(data[weights], weights),
        groups=None if groups is None else _groups(data[groups], groups, codes),
        row_numbers=rows,
        n_dropped=n_rows - rows.size,
    )


def _refuse_unusable(table: TableReader, options: LearningOptions) -> None:
    for name, what in table.unusable.items():
        if name in table.columns and name not in options.drop:
            raise ColumnError(
                f"Column {name!r} of {table.label} holds {what}: expected numbers, text or true and false. Leave it "
                "out with ",
                Setting("drop"),
                ".",
            )


def _numbers_as_text(table: TableReader, data: Any) -> list[Finding]:
    """What is told of columns whose numbers are stored as text."""
    names = [name for name in data.column_names if name in table.stored_as_text and is_numeric(data[name].type)]
    if not names:
        return []
    said = (
        f"Numbers are stored as text in {quoted(names, 5)}, and read as numbers. If they are codes, declare them with "
    )
    return [Finding("note", "stored as text", None, Message(said, Setting("types"), "."))]


def _weights(values: Any, name: str) -> Array | None:
    try:
        return check_weights(np.asarray(values.to_numpy()), len(values))
    except WeightError as error:
        raise WeightError(f"Weights in column {name!r}: {error}") from error


def _groups(values: Any, name: str, codes: Sequence[str]) -> Array:
    labels, present = raw_labels(values, name, codes)
    if not present.all():
        raise ColumnError(
            f"Groups in column {name!r} are missing in {np.count_nonzero(~present):,} rows, the first row "
            f"{int(np.argmin(present))}. Every row needs a group."
        )
    return labels


def _sparse_training(table: SvmlightReader, target: Any, weights: Any, groups: Any) -> TrainingTable:
    if any(name is not None for name in (target, weights, groups)):
        raise ColumnError(f"{table.label} is SVMlight text: it has labels but no named columns. Leave the names out.")
    rows = table.read()
    found, classes, findings = learn_target(whole_labels(rows.y), None, table.label)
    first = int(not (rows.X.indices == 0).any())
    if rows.X.shape[1] == first:
        raise InputError(f"No column is left to learn from in {table.label}: its rows have labels only.")
    schema = Schema((), found, width=rows.X.shape[1] - first, first=first)
    X, y = schema.encode_batch(rows)[0], np.array(found.classes)[classes]
    return TrainingTable(X, y, classes, schema, tuple(findings), None, None, np.arange(rows.num_rows), 0)
