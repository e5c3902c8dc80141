"""One call that says how good a classifier is, with an interval for every number."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import check_weights
from ..data.labels import sorted_classes
from ..decision import Decision
from ..decision.costs import read_costs
from ..decision.posteriors import Posterior
from ..errors import InputError, ParameterError
from ..results import WIDTH, aligned, frame_of, plain, shortened, shown
from .confusion import ConfusionMatrix
from .curves import PrecisionRecall, PrecisionRecalls, Roc, Rocs, ScoredRows, binary_roc, class_curves
from .inputs import (
    Clusters,
    as_labels,
    check_scores,
    coded,
    codes_among,
    label_column,
    ordered,
    positive_code,
    read_clusters,
    read_posterior,
    same_length,
)
from .intervals import Estimate, Interval, Mean, check_level, clustered_mean_interval, estimate
from .probabilities import (
    LEAST,
    CalibrationBins,
    CalibrationLine,
    RiskCoverage,
    calibration_line,
    certainty_curve,
    impossible_rows,
    posterior_bins,
    row_losses,
)
from .rates import AVERAGES, SHARES, TableSample, class_intervals, other_intervals, share_interval

Array = np.ndarray[Any, Any]


NO_PROBABILITIES = (
    "Log-loss, Brier score, calibration and risk against coverage are not available: margins are not probabilities."
)


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    costs: Any = None,
    actions: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    positive: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> Evaluation:
    """How good a fitted classifier is on these rows, which it should not have been fitted to.

    Parameters
    ----------
    model : fitted classifier
        One of this package, or any of scikit-learn's. Probabilities are used where it has ``predict_proba``; with only
        ``decision_function`` the curves are made of its margins.
    X : rows as the model takes them
    y : array-like of shape (n_rows,)
        True labels.
    costs : array, dict or frame, optional
        Rows true classes, columns actions, as for `Decision`. Adds the mean cost of the predictions, and with
        probabilities that of the decisions of least expected cost.
    actions : list, optional
        What may be predicted besides the classes; "abstain", named columns of ``costs`` and a model's ``actions_`` need
        no mention. They name the columns of a cost array that has others than the classes: all columns in order, or
        those after the classes.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies: weight 3 means three independent rows. For importances give every row its own group.
    groups : array-like of shape (n_rows,), optional
        Rows of one group (patient, site, day) are not independent; intervals are then those between groups.
    positive : label, optional
        For two classes, which one the curves are of. Default: the second.
    level : float
        Of the intervals.
    random_state : int or Generator
        For the intervals that are bootstrapped.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> found = evaluate(LinearDiscriminantAnalysis().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> print(found["accuracy"])
    accuracy: 0.9600 (0.8889 to 0.9863, Wilson)
    >>> found.confusion.counts
    array([[25,  0,  0],
           [ 0, 24,  1],
           [ 0,  2, 23]])
    """
    check_is_fitted(model)
    if not hasattr(model, "predict"):
        raise ParameterError(f"{type(model).__name__} cannot predict. Give a fitted classifier, or use evaluation_of.")
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    margins = None
    if probabilities is None and hasattr(model, "decision_function"):
        margins = model.decision_function(X)
    return evaluation_of(
        y,
        predicted=model.predict(X),
        posterior=probabilities,
        scores=margins,
        classes=getattr(model, "classes_", None),
        costs=costs,
        actions=getattr(model, "actions_", None) if actions is None else actions,
        sample_weight=sample_weight,
        groups=groups,
        positive=positive,
        level=level,
        random_state=random_state,
    )


def evaluation_of(
    y: Any,
    predicted: Any = None,
    posterior: Any = None,
    scores: Any = None,
    *,
    classes: Any = None,
    costs: Any = None,
    actions: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    positive: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> Evaluation:
    """How good predictions are, however they were made.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    predicted : array-like of shape (n_rows,), optional
        Predicted labels, or actions such as "abstain". Default: the most probable class of ``posterior``.
    posterior : Posterior, or array or frame of shape (n_rows, K), optional
        Class probabilities; for two classes also those of the second alone.
    scores : array-like of shape (n_rows,) or (n_rows, K), optional
        Numbers for the curves where there are no probabilities.
    classes : array-like, optional
        All classes, in the order of the columns of ``posterior`` and ``scores``. Default: the sorted labels.
    costs, actions, sample_weight, groups, positive, level, random_state
        As for `evaluate`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> found = evaluation_of(["b", "a", "b", "b"], posterior=[0.8, 0.3, 0.6, 0.4])
    >>> found["accuracy"].value, found["auc"].value, round(found["brier"].value, 4)
    (0.75, 1.0, 0.1625)
    """
    check_level(level)
    if predicted is None and posterior is None and scores is None:
        raise ParameterError("There is nothing to evaluate: give predicted, posterior or scores.")
    rows = _rows(y, predicted, posterior, scores, classes, _named_actions(actions, costs), sample_weight, groups)
    evidence = Evidence(rows.classes, len(rows.codes), rows.total_weight)
    if rows.predicted is not None:
        _add_table(evidence, rows)
    if rows.posterior is not None:
        _add_probabilities(evidence, rows, positive, level)
    elif scores is not None:
        evidence.notes.append(NO_PROBABILITIES)
    _add_curves(evidence, rows, positive)
    if costs is not None:
        _add_costs(evidence, rows, _cost_table(costs, actions, rows.classes), level)
    if rows.weight is not None and rows.clusters is None:
        evidence.notes.append(f"weights are read as frequencies: {rows.total_weight:,.6g} independent rows.")
    return evidence.evaluation(level, random_state)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The checked input: classes sorted, columns of posterior and scores in their order."""

    classes: Array
    codes: Array
    actions: list[Any]  #: what may be predicted besides the classes
    predicted: Array | None
    posterior: Array | None
    scores: Array | None
    weight: Array | None
    clusters: Clusters | None

    @property
    def total_weight(self) -> float:
        return float(len(self.codes) if self.weight is None else self.weight.sum())

    def mean(self, values: Array, level: float) -> tuple[float, Interval]:
        """The weighted mean of values of the rows with its interval."""
        found = Mean.of(values, self.weight)
        if self.clusters is None:
            return found.mean, found.interval(level)
        return found.mean, clustered_mean_interval(values, self.weight, self.clusters, level)


def _cost_table(costs: Any, actions: Any, classes: Array) -> tuple[Array, list[Any]]:
    """The costs with true classes in this order, and what their columns stand for."""
    table = read_costs(costs)
    if table.actions is not None or actions is None:
        return table.aligned(classes)
    named, known = [plain(action) for action in actions], classes.tolist()
    others = [action for action in named if action not in known]
    columns = named if len(named) == table.values.shape[-1] else [*known, *others]
    # Without other actions the columns are the classes, in their order.
    fits = others and len(columns) == table.values.shape[-1]
    return read_costs(costs, columns if fits else None).aligned(classes)


def _named_actions(actions: Any, costs: Any) -> list[Any]:
    """What was said to be an action, by itself or as a column of costs."""
    named = [] if actions is None else [plain(action) for action in actions]
    costed = None if costs is None else read_costs(costs).actions
    return list(dict.fromkeys([*named, *(costed or [])]))


def _rows(
    y: Any,
    predicted: Any,
    posterior: Any,
    scores: Any,
    classes: Any,
    actions: list[Any],
    sample_weight: Any,
    groups: Any,
) -> _Rows:
    labels = label_column("y", y)
    given = _class_names(labels, predicted, posterior, scores, classes, actions)
    names, probabilities = (given, None) if posterior is None else _posterior(posterior, given)
    order = [names.tolist().index(label) for label in ordered(names.tolist())]
    columns = None if scores is None else _score_columns(scores, names)
    guess = None if predicted is None else label_column("predicted", predicted)
    same_length(y=labels, predicted=guess, posterior=probabilities, scores=columns)
    codes = codes_among("y", labels, names[order])
    if probabilities is not None and order != list(range(len(order))):
        probabilities = np.ascontiguousarray(probabilities[:, order])
    if columns is not None and columns.ndim == 2:
        columns = np.ascontiguousarray(columns[:, order])
    if guess is None and probabilities is not None:
        guess = names[order][probabilities.argmax(axis=1)]
    weight, clusters = check_weights(sample_weight, len(labels)), read_clusters(groups, len(labels))
    extra = [action for action in actions if action not in names.tolist()]
    return _Rows(names[order], codes, extra, guess, probabilities, columns, weight, clusters)


def _class_names(labels: Array, predicted: Any, posterior: Any, scores: Any, classes: Any, actions: list[Any]) -> Array:
    """The classes in the order of the columns: those given, those the columns are named by, or the sorted labels."""
    if classes is not None:
        sorted_classes(classes)  # refuses what cannot be a list of classes
        return as_labels(list(classes))
    if isinstance(posterior, Posterior):
        return posterior.classes
    found = [coded(labels)[0]]
    if hasattr(posterior, "columns") and set(found[0]) <= set(posterior.columns):
        return as_labels(list(posterior.columns))
    if posterior is None and scores is None:
        found.append(ConfusionMatrix.of(labels, predicted, actions=set(actions) - set(found[0])).classes.tolist())
    return as_labels(ordered(*found))


def _posterior(posterior: Any, classes: Array) -> tuple[Array, Array]:
    """The classes in the order of the columns, and the probabilities."""
    named = isinstance(posterior, Posterior) or hasattr(posterior, "columns")
    values = posterior if named else np.asarray(posterior)
    if getattr(values, "ndim", 2) == 1:
        if len(classes) != 2:
            raise InputError(
                f"posterior has one number for each row, which is enough for two classes; there are {len(classes)}, "
                f"{classes.tolist()}. Give a column for each."
            )
        values = np.column_stack((1 - values, values))
    return read_posterior(values, classes)


def _score_columns(scores: Any, classes: Array) -> Array:
    columns = check_scores(scores, "scores")
    if columns.ndim == 2 and columns.shape[1] != len(classes):
        raise InputError(
            f"scores has {columns.shape[1]} columns, expected {len(classes)}: one for each of the classes "
            f"{classes.tolist()}, in this order."
        )
    return columns


def _add_table(evidence: Evidence, rows: _Rows) -> None:
    confusion = ConfusionMatrix.of(
        rows.classes[rows.codes], rows.predicted, rows.classes, rows.weight, actions=rows.actions
    )
    evidence.confusion, evidence.table = confusion, TableSample(confusion.counts)
    if rows.clusters is not None:
        guess = codes_among("predicted", rows.predicted, confusion.predictions)
        cells = rows.codes.astype(np.int64) * len(confusion.predictions) + guess
        evidence.table = TableSample.of_rows(confusion.counts, cells, rows.weight, rows.clusters)


def _add_probabilities(evidence: Evidence, rows: _Rows, positive: Any, level: float) -> None:
    assert rows.posterior is not None
    log_loss, brier = row_losses(rows.posterior, rows.codes)
    evidence.means["log-loss"] = rows.mean(log_loss, level)
    evidence.means["brier"] = rows.mean(brier, level)
    zero = impossible_rows(rows.posterior, rows.codes)
    if zero:
        evidence.notes.append(
            f"{zero:,} rows gave their own class the probability 0; in the log-loss it is counted as {LEAST:.1e}."
        )
    sums = posterior_bins(rows.posterior, rows.codes, rows.weight)
    edges = CalibrationBins().edges
    evidence.calibration = {
        plain(label): CalibrationBins.from_sums(edges, of_class)
        for label, of_class in zip(rows.classes, sums, strict=True)
    }
    evidence.risk_coverage = certainty_curve(rows.posterior, rows.codes, rows.weight)
    if len(rows.classes) == 2:
        k = positive_code(positive, rows.classes)
        evidence.calibration_line = calibration_line(rows.codes == k, rows.posterior[:, k], rows.weight)


def _add_curves(evidence: Evidence, rows: _Rows, positive: Any) -> None:
    scores = rows.posterior if rows.posterior is not None else rows.scores
    if scores is None:
        evidence.notes.append("AUC and average precision are not available: there are no scores.")
    elif len(rows.classes) < 2:
        evidence.notes.append(f"AUC is not available: {shown(rows.classes[0])} is the only class.")
    elif len(rows.classes) == 2:
        k = positive_code(positive, rows.classes)
        column = np.ascontiguousarray(scores[:, k]) if scores.ndim == 2 else scores if k == 1 else -scores
        evidence.roc = binary_roc(rows.codes == k, column, rows.weight, rows.clusters, plain(rows.classes[k]))
        evidence.precision_recall = evidence.roc.precision_recall
    elif scores.ndim == 1:
        evidence.notes.append(f"AUC is not available: one score for each row, but {len(rows.classes)} classes.")
    else:
        scored = ScoredRows(rows.codes, scores, rows.weight, rows.clusters)
        evidence.roc, evidence.precision_recall = class_curves(scored, rows.classes)


def _add_costs(evidence: Evidence, rows: _Rows, costs: tuple[Array, list[Any]], level: float) -> None:
    values, actions = costs
    if rows.predicted is not None:
        evidence.means["cost"] = rows.mean(_row_costs(values, actions, rows.codes, rows.predicted), level)
    if rows.posterior is not None:
        decided = Decision(costs=values, actions=actions).decide(Posterior(rows.posterior, rows.classes))
        evidence.means["cost, least risk"] = rows.mean(_row_costs(values, actions, rows.codes, decided), level)
    evidence.notes.append(
        "cost is the mean cost of the predictions"
        + (", least risk that of the actions of least expected cost." if rows.posterior is not None else ".")
    )


def _row_costs(values: Array, actions: list[Any], codes: Array, chosen: Array) -> Array:
    """What the chosen action cost in each row."""
    remedy = "costs= must have a column for everything that is predicted"
    column = codes_among("predicted", chosen, as_labels(actions), remedy)
    return values[codes, column] if values.ndim == 2 else values[np.arange(len(codes)), codes, column]


#: Rates of a class that the printed table shows; all of them are in `to_frame`.
_SHOWN = ("recall", "precision", "f1", "auc")


_MOST_CLASSES = 30


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How good predictions are. Made by `evaluate`, `evaluation_of` and `Evaluator.result`.

    Attributes
    ----------
    estimates : list of Estimate
        Every measure with its interval. ``evaluation["kappa"]`` and ``evaluation["recall", "setosa"]`` find one; a
        measure named by itself is that of the whole, or the macro average.
    confusion : ConfusionMatrix or None
    roc, precision_recall : curves, or None
        One curve for two classes; one for each class, found by its label, for more.
    calibration : dict of CalibrationBins
        For each class; empty without probabilities.
    calibration_line : CalibrationLine or None
        For two classes: intercept and slope of observed on predicted log-odds.
    risk_coverage : RiskCoverage or None
    notes : list of str
        What to know when reading the numbers, such as measures that are not available and why.
    """

    classes: Array
    n_rows: int
    total_weight: float
    level: float
    estimates: list[Estimate]
    confusion: ConfusionMatrix | None = None
    roc: Roc | Rocs | None = None
    precision_recall: PrecisionRecall | PrecisionRecalls | None = None
    calibration: dict[Any, CalibrationBins] = field(default_factory=dict)
    calibration_line: CalibrationLine | None = None
    risk_coverage: RiskCoverage | None = None
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, key: Any) -> Estimate:
        metric, of = key if isinstance(key, tuple) else (key, None)
        found = {row.of: row for row in self.estimates if row.metric == metric}
        there = list(found)
        if of is None and there:
            # A measure named by itself is that of the whole; a curve of two classes is of one of them.
            of = next((scope for scope in ("overall", "macro") if scope in found), there[0])
        if plain(of) in found:
            return found[plain(of)]
        if there:
            raise ParameterError(f"{metric} is not reported of {of!r}, only of {there[:10]}.")
        known = list(dict.fromkeys(found.metric for found in self.estimates))
        raise ParameterError(f"{metric!r} is not reported here. Reported: {', '.join(known)}. {' '.join(self.notes)}")

    def __contains__(self, key: Any) -> bool:
        try:
            self[key]
        except ParameterError:
            return False
        return True

    def of(self, of: Any) -> list[Estimate]:
        """All measures of one class, or of "overall", "macro", "micro" or "weighted"."""
        return [found for found in self.estimates if found.of == plain(of)]

    def to_frame(self) -> Any:
        """The measures as a pandas frame, one row for each, or a dict of columns without pandas."""
        names = list(Estimate.__dataclass_fields__)
        return frame_of({column: [getattr(row, column) for row in self.estimates] for column in names})

    def to_dict(self) -> dict[str, Any]:
        """Measures, confusion matrix, calibration and notes as plain values for JSON; NaN as None."""
        coarse = {str(label): bins.rebinned(10).to_dict() for label, bins in self.calibration.items()}
        return {
            "classes": self.classes.tolist(),
            "rows": self.n_rows,
            "total_weight": self.total_weight,
            "level": self.level,
            "estimates": [_plain_values(row) for row in self.estimates],
            "confusion": None if self.confusion is None else self.confusion.to_dict(),
            "calibration": coarse,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        weight = "" if self.total_weight == self.n_rows else f" of total weight {self.total_weight:,.6g}"
        rows = f"{self.n_rows:,} rows{weight}, {len(self.classes)} classes"
        head = f"evaluation on {rows}; {100 * self.level:g} % intervals"
        blocks = [[head, "=" * len(head)], self._overall_lines(), self._class_lines(), self._average_lines()]
        if self.confusion is not None:
            blocks.append(str(self.confusion).splitlines())
        if self.risk_coverage is not None:
            blocks.append([repr(self.risk_coverage)])
        blocks.append(_wrapped([f"note: {note}" for note in self.notes]))
        return "\n\n".join("\n".join(block) for block in blocks if block)

    __repr__ = __str__

    def _overall_lines(self) -> list[str]:
        rows = [["measure", "value", "low", "high", "interval by"]]
        for found in [*self.of("overall"), *self._areas()]:
            words = found.metric if found.of == "overall" else f"{found.metric} ({shortened(found.of, 14)})"
            rows.append([words, *map(_decimal, (found.value, found.low, found.high)), found.method])
        lines = aligned([row[:4] for row in rows])
        return [_cut(f"{line}  {row[4]}") for line, row in zip(lines, rows, strict=True)]

    def _areas(self) -> list[Estimate]:
        return [self[metric] for metric in ("auc", "average precision") if metric in self]

    def _class_lines(self) -> list[str]:
        return self._grid("class", self.classes.tolist()[:_MOST_CLASSES], shown) + self._left_out()

    def _left_out(self) -> list[str]:
        more = len(self.classes) - _MOST_CLASSES
        return [f"... and {more} more classes, see to_frame()"] if more > 0 else []

    def _average_lines(self) -> list[str]:
        return self._grid("average", ["macro", "micro", "weighted"], str)

    def _grid(self, title: str, scopes: list[Any], called: Callable[[Any], str]) -> list[str]:
        """A line for each scope, a column for each shown measure, with its interval in brackets."""
        by_key = {(found.metric, found.of): found for found in self.estimates}
        metrics = [metric for metric in _SHOWN if any((metric, scope) in by_key for scope in scopes)]
        if not metrics:
            return []
        rows = [[title, *metrics]]
        for scope in scopes:
            cells = [_bracketed(by_key.get((metric, scope))) for metric in metrics]
            rows.append([shortened(called(scope), 14), *cells])
        return aligned(rows)


def _decimal(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _bracketed(found: Estimate | None) -> str:
    if found is None or math.isnan(found.value):
        return "-"
    if math.isnan(found.low):
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _plain_values(row: Estimate) -> dict[str, Any]:
    values = {column: getattr(row, column) for column in Estimate.__dataclass_fields__}
    return {column: None if isinstance(v, float) and not math.isfinite(v) else v for column, v in values.items()}


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def _wrapped(lines: list[str]) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="      ")]


_CLASS_RATES = ("recall", "precision", "f1", "specificity", "fnr", "fpr", "npv")


_OTHERS = ("balanced accuracy", "kappa", "mcc")


@dataclass
class Evidence:
    """What is known about some predictions."""

    classes: Array
    n_rows: int
    total_weight: float
    confusion: ConfusionMatrix | None = None
    table: TableSample | None = None
    means: dict[str, tuple[float, Interval]] = field(default_factory=dict)
    roc: Roc | Rocs | None = None
    precision_recall: PrecisionRecall | PrecisionRecalls | None = None
    calibration: dict[Any, CalibrationBins] = field(default_factory=dict)
    calibration_line: CalibrationLine | None = None
    risk_coverage: RiskCoverage | None = None
    notes: list[str] = field(default_factory=list)

    def evaluation(self, level: float, random_state: Any) -> Evaluation:
        """All measures with their intervals."""
        estimates: list[Estimate] = []
        if self.confusion is not None and self.table is not None:
            estimates += _table_estimates(self.confusion, self.table, level, random_state)
        estimates += [estimate(name, "overall", *self._bounded(name)) for name in self.means]
        estimates += _curve_estimates(self.roc, self.precision_recall, level)
        notes = self.notes + [f"{row.note}." for row in estimates if row.note and row.of in ("macro", "overall")]
        return Evaluation(
            self.classes,
            self.n_rows,
            self.total_weight,
            level,
            estimates,
            self.confusion,
            self.roc,
            self.precision_recall,
            self.calibration,
            self.calibration_line,
            self.risk_coverage,
            list(dict.fromkeys(notes)),
        )

    def _bounded(self, name: str) -> tuple[float, Interval]:
        """A mean over rows with its interval, cut off where the measure ends; costs may be gains."""
        value, interval = self.means[name]
        most = {"log-loss": math.inf, "brier": 1.0 if len(self.classes) == 2 else 2.0}.get(name)
        return (value, interval) if most is None else (value, interval.within(0.0, most))


def _table_estimates(confusion: ConfusionMatrix, table: TableSample, level: float, random_state: Any) -> list[Estimate]:
    wanted = [(metric, "overall") for metric in _OTHERS]
    wanted += [(metric, how) for metric in _CLASS_RATES for how in AVERAGES]
    intervals = dict(zip(wanted, other_intervals(table, wanted, level, random_state), strict=True))
    found = [_share_estimate(confusion, table, metric, level) for metric in _reported_shares(confusion)]
    for metric in _OTHERS:
        value = confusion.overall(metric)
        reason = confusion.undefined(metric).get("overall", "")
        found.append(estimate(metric, "overall", value, intervals[metric, "overall"], reason))
    for metric in _CLASS_RATES:
        found += _class_estimates(confusion, table, metric, level)
        found += [_average_estimate(confusion, metric, how, intervals[metric, how]) for how in AVERAGES]
    return found


def _reported_shares(confusion: ConfusionMatrix) -> list[str]:
    """Coverage is of interest only where something else than a class can be predicted."""
    abstains = len(confusion.predictions) > len(confusion.classes)
    return [metric for metric in SHARES if abstains or metric in ("accuracy", "error rate")]


def _share_estimate(confusion: ConfusionMatrix, table: TableSample, metric: str, level: float) -> Estimate:
    reason = confusion.undefined(metric).get("overall", "")
    return estimate(metric, "overall", confusion.overall(metric), share_interval(table, metric, level), reason)


def _class_estimates(confusion: ConfusionMatrix, table: TableSample, metric: str, level: float) -> list[Estimate]:
    reasons = confusion.undefined(metric)
    intervals = class_intervals(table, metric, level)
    return [
        estimate(metric, label, float(value), interval, reasons.get(label, ""))
        for label, value, interval in zip(confusion.classes.tolist(), confusion.rate(metric), intervals, strict=True)
    ]


def _average_estimate(confusion: ConfusionMatrix, metric: str, how: Any, interval: Interval) -> Estimate:
    value = confusion.average(metric, how)
    reasons = list(confusion.undefined(metric).values())
    note = "; ".join(reasons[:3]) + (f" and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    return estimate(metric, how, value, interval, f"{how} {metric} is undefined: {note}" if np.isnan(value) else "")


def _curve_estimates(
    roc: Roc | Rocs | None, precision_recall: PrecisionRecall | PrecisionRecalls | None, level: float
) -> list[Estimate]:
    found = [] if roc is None else [estimate("auc", *row) for row in roc.measured(level)]
    if precision_recall is not None:
        found += [estimate("average precision", *row) for row in precision_recall.measured(level)]
    return found
