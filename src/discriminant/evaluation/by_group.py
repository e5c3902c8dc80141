"""Measures by group: of each value of a column, against the rest of the rows.

The interval of a difference combines the intervals of the group and of the rest, which share no row (MOVER, Zou &
Donner 2008): with estimates a and b and their ends, the lower end is ``a - b - sqrt((a - low_a)^2 + (high_b - b)^2)``.
P-values follow from the end on the side of 0, and are adjusted for the number of groups, by measure (Holm 1979).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from ..arrays import Array, MatrixLike
from ..data import Rows, as_table, label_column, same_length
from ..errors import DiscriminantError, InputError, ParameterError
from ..results import Result, aligned, decimal, metric_name, p_value, plain, quoted, shown, visible
from .evaluation import Evaluation
from .intervals import RANGE_MARK, RANGE_NOTE, Estimate, holm
from .model_evaluation import evaluate, evaluation_of
from .predictions import EvaluationOptions, LabelledPredictions

#: Groups beyond this number are not compared: a column with more values is an identifier.
MAX_GROUPS: Final = 100
#: Measures of the printed table; all are in `to_frame`.
PRINTED: Final = (
    "accuracy", "balanced_accuracy", "recall", "specificity", "auc", "brier", "log_loss", "r2", "calibration_intercept",
    "calibration_slope", "ece", "rps", "mean_absolute_error", "somers_d", "kappa_linear", "kappa_quadratic", "cost",
)  # fmt: skip


@dataclass(frozen=True)
class GroupMeasure:
    """A measure in one group, in the rest of the rows, and the difference with its interval and test.

    Attributes
    ----------
    group : label
        The value of the column.
    n_rows : int
        Rows of the group.
    measure, of : str, label
        What was measured, of which class or average.
    value, low, high : float
        In the group; NaN if it is undefined, with the reason in ``note``.
    rest : float
        In all other rows.
    difference, difference_low, difference_high : float
        Group minus rest.
    p_value, p_adjusted : float
        Of the test of no difference, unadjusted and adjusted for the number of groups (Holm 1979).
    is_range : bool
        Whether the ends are those of a range, whose coverage is not known, and not of a confidence interval.
    note : str
    """

    group: Any
    n_rows: int
    measure: str
    of: Any
    value: float
    low: float
    high: float
    rest: float
    difference: float
    difference_low: float
    difference_high: float
    p_value: float
    p_adjusted: float = math.nan
    is_range: bool = False
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class GroupMeasures(Result):
    """Measures of each group, with differences to the rest.

    Attributes
    ----------
    rows : list of GroupMeasure
        Measure by measure.
    by : str
        The name of the column.
    level : float
        Of the intervals.
    notes : list of str
        Measures that a group does not have, and why.

    See Also
    --------
    evaluate_by_group : Of a fitted model on test rows.
    validate : Of a model on its training rows, with ``by`` of `ValidationOptions`.
    """

    rows: list[GroupMeasure]
    by: str
    level: float
    notes: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[Any]:
        """The groups, in order."""
        return list(dict.fromkeys(row.group for row in self.rows))

    @property
    def measures(self) -> list[tuple[str, Any]]:
        """Measures with the class or average they are of."""
        return list(dict.fromkeys((row.measure, row.of) for row in self.rows))

    def of(self, measure: str, of: Any = None) -> list[GroupMeasure]:
        """One measure in all groups.

        Parameters
        ----------
        measure : str
            Its name.
        of : label, optional
            Of which class or average. Default: the first that is reported.

        Returns
        -------
        list of GroupMeasure
        """
        scopes = [scope for name, scope in self.measures if name == measure]
        if not scopes or of not in (None, *scopes):
            known = quoted(dict.fromkeys(name for name, _ in self.measures), 30)
            scoped = "" if of is None else f" of {of!r}"
            raise ParameterError(f"Unknown measure {measure!r}{scoped} by group. Expected one of: {known}.")
        scope = scopes[0] if of is None else of
        return [row for row in self.rows if (row.measure, row.of) == (measure, scope)]

    def __str__(self) -> str:
        ends = [f"[{100 * self.level:g} %", "interval]"]
        head = ["measure", self.by, "rows", "value", *ends, "rest", "difference", *ends, "p (Holm)"]
        chosen = [name for name in PRINTED if any(name == row.measure for row in self.rows)]
        table = [head]
        for row in [row for name in chosen for row in self.of(name)]:
            mark = RANGE_MARK if row.is_range else ""
            numbers = [decimal(row.value), decimal(row.low), decimal(row.high) + mark, decimal(row.rest)]
            numbers += [decimal(row.difference), decimal(row.difference_low), decimal(row.difference_high) + mark]
            group, name = visible(row.group), visible(metric_name(row.measure))
            table.append([name, group, f"{row.n_rows:,}", *numbers, p_value(row.p_adjusted) + mark])
        lines = aligned(table, left=2)
        lines += [RANGE_NOTE] if any(row.is_range for row in self.rows) else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def evaluate_by_group(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    by: ArrayLike,
    options: EvaluationOptions | None = None,
    *,
    name: str = "group",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> GroupMeasures:
    """Every measure of `evaluate` in each group of rows, with differences to the rest.

    Parameters
    ----------
    model : fitted classifier
        As in `evaluate`.
    X : array-like or frame of shape (n_rows, n_columns)
        Test rows.
    y : array-like of shape (n_rows,)
        Their classes.
    by : array-like of shape (n_rows,)
        The group of each row, such as a column of ``X``.
    options : EvaluationOptions, optional
        Costs, the positive class, and the level of the intervals. The positive class is that of all rows.
    name : str, default="group"
        What ``by`` is called in the table.
    sample_weight, groups : array-like of shape (n_rows,), optional
        Weights of the rows, and clusters of rows that are not independent. Clusters that have rows in several groups
        are taken as independent between these.

    Returns
    -------
    GroupMeasures

    See Also
    --------
    evaluate : All rows together.

    References
    ----------
    Zou, G. Y. & Donner, A. (2008). Construction of confidence limits about effect measures: a general approach.
    Statistics in Medicine 27.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, evaluate_by_group
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X[::2, :2], y[::2])
    >>> size = ["small" if radius < 14 else "large" for radius in X[1::2, 0]]
    >>> found = evaluate_by_group(model, X[1::2, :2], y[1::2], size, name="size")
    >>> [(row.group, round(row.value, 3), round(row.difference, 3)) for row in found.of("auc")]
    [('large', 0.949, 0.181), ('small', 0.768, -0.181)]
    """
    asked = options or EvaluationOptions()
    labels, truth = label_column("by", by), label_column("y", y)
    same_length(by=labels, y=truth)
    whole = evaluate(model, X, y, sample_weight, groups, asked)
    asked = replace(asked, positive=whole.positive)
    table = X if isinstance(X, Rows) else as_table(X)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    clusters = None if groups is None else np.asarray(groups)

    def evaluated(rows: Array) -> Evaluation:
        own = None if weight is None else weight[rows]
        part = None if clusters is None else clusters[rows]
        return evaluate(model, _taken(table, rows), truth[rows], own, part, asked)

    return _compared(evaluated, truth, labels, clusters, whole, name)


def predictions_by_group(
    predictions: LabelledPredictions, by: ArrayLike, options: EvaluationOptions | None = None, name: str = "group"
) -> GroupMeasures:
    """`evaluate_by_group` of given predictions, such as those out of fold; their fields are arrays."""
    asked = options or EvaluationOptions()
    labels, truth = label_column("by", by), label_column("y", predictions.y)
    same_length(by=labels, y=truth)
    whole = evaluation_of(predictions, asked)
    asked = replace(asked, positive=whole.positive)
    by_row = ("y", "predicted", "posterior", "scores", "sample_weight", "groups")

    def evaluated(rows: Array) -> Evaluation:
        fields = {one: getattr(predictions, one) for one in by_row}
        own = {one: None if values is None else values[rows] for one, values in fields.items()}
        return evaluation_of(replace(predictions, **own), asked)

    return _compared(evaluated, truth, labels, predictions.groups, whole, name)


def _compared(
    evaluated: Callable[[Array], Evaluation],
    truth: Array,
    labels: Array,
    clusters: Array | None,
    whole: Evaluation,
    name: str,
) -> GroupMeasures:
    """Measures of each group of rows, evaluated alone, with differences to the rest."""
    found, notes = list[GroupMeasure](), _spanning(labels, clusters)
    for group, own in group_masks(labels):
        pair = []
        for what, rows in ((f"Group {shown(group)}", own), (f"The rest of group {shown(group)}", ~own)):
            present = np.unique(truth[rows])
            if len(present) < 2:
                notes.append(f"{what} has rows of class {shown(plain(present[0]))} only: it has no AUC and no slope")
            try:
                pair.append(evaluated(np.flatnonzero(rows)))
            except DiscriminantError as error:
                notes.append(f"{what} cannot be evaluated: {error}")
        if len(pair) == 2:
            scopes = [(one.metric, one.of) for one in whole.estimates]
            found += _differences(group, int(own.sum()), scopes, *pair)
    return GroupMeasures(adjusted(found), name, whole.level, notes)


def group_masks(labels: Array) -> list[tuple[Any, Array]]:
    """The groups in order, each with the mask of its rows."""
    missing = [row for row, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise InputError(f"by has a missing value in row {missing[0]}. Give every row a group, or leave the row out.")
    found = sorted(set(map(plain, labels.tolist())), key=lambda label: (isinstance(label, str), label))
    if not 2 <= len(found) <= MAX_GROUPS:
        raise InputError(f"by has {len(found)} values, expected 2 to {MAX_GROUPS}. Give a column of categories.")
    return [(label, labels == label) for label in found]


def adjusted(rows: Sequence[GroupMeasure]) -> list[GroupMeasure]:
    """The rows measure by measure, with p-values adjusted for the number of groups.

    The two differences of two groups are one comparison.
    """
    found = []
    for scope in dict.fromkeys((row.measure, row.of) for row in rows):
        own = [row for row in rows if (row.measure, row.of) == scope]
        tested = [row for row in own if not math.isnan(row.p_value)]
        p_values = np.array([row.p_value for row in tested])
        holms = p_values if len(own) == 2 else holm(p_values)
        by_group = {row.group: float(p) for row, p in zip(tested, holms, strict=True)}
        found += [replace(row, p_adjusted=by_group.get(row.group, math.nan)) for row in own]
    return found


def tested_difference(difference: float, low: float, high: float, level: float) -> float:
    """The p-value of no difference, by the end of the interval on the side of 0."""
    width = difference - low if difference > 0 else high - difference
    if not width > 0:
        return math.nan
    return float(2 * ndtr(-abs(difference) / width * ndtri(0.5 + level / 2)))


def _differences(
    group: Any, n_rows: int, scopes: Sequence[tuple[str, Any]], own: Evaluation, rest: Evaluation
) -> list[GroupMeasure]:
    pairs = [(own[scope], rest[scope]) for scope in scopes if scope in own and scope in rest]
    pairs += zip(_line_estimates(own), _line_estimates(rest), strict=True)
    return [_difference(group, n_rows, *pair, own.level) for pair in pairs]


def _line_estimates(evaluation: Evaluation) -> list[Estimate]:
    """Calibration in the large and calibration slope of the positive class, if there is one."""
    line = evaluation.calibration_line
    if line is None:
        return []
    found = {
        "calibration_intercept": (line.in_the_large, line.in_the_large_error),
        "calibration_slope": (line.slope, line.slope_error),
    }
    made = {name: Estimate.by_standard_error(*pair, math.inf, evaluation.level) for name, pair in found.items()}
    return [replace(one, metric=name, of=evaluation.positive, method="Wald") for name, one in made.items()]


def _difference(group: Any, n_rows: int, own: Estimate, rest: Estimate, level: float) -> GroupMeasure:
    difference = own.value - rest.value
    low = difference - math.hypot(own.value - own.low, rest.high - rest.value)
    high = difference + math.hypot(own.high - own.value, rest.value - rest.low)
    p = tested_difference(difference, low, high, level)
    ends = (own.value, own.low, own.high, rest.value, difference, low, high, p)
    is_range = own.is_range or rest.is_range
    return GroupMeasure(group, n_rows, own.metric, own.of, *ends, is_range=is_range, note=own.note or rest.note)


def _spanning(labels: Array, clusters: Array | None) -> list[str]:
    """A note on clusters with rows in several groups."""
    if clusters is None:
        return []
    pairs = len({(plain(a), plain(b)) for a, b in zip(clusters, labels, strict=True)})
    if pairs == len(np.unique(clusters)):
        return []
    return ["clusters with rows in several groups: differences are taken as of independent rows"]


def _taken(table: Any, rows: Array) -> Any:
    return table[rows.tolist(), :].to_native() if hasattr(table, "to_native") else _safe_indexing(table, rows)
