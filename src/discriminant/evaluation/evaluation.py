"""One call that says how good a classifier is, with an interval for every number."""

from __future__ import annotations

import math
import operator
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import (
    Source,
    codes_among,
    encoded,
    is_collection,
    label_array,
    label_column,
    ordered,
    same_length,
    sorted_classes,
)
from ..decision import Decision
from ..decision.costs import read_costs
from ..decision.posteriors import Posterior, costs_decide
from ..errors import InputError, ParameterError, Setting
from ..results import (
    WIDTH,
    Result,
    aligned,
    columns_of,
    decimal,
    jsonable,
    listed,
    metric_name,
    percent,
    plain,
    several,
    shortened,
    shown,
)
from .confusion import AVERAGES, OVERALL, ConfusionMatrix, class_intervals, other_intervals, share_interval
from .curves import (
    PrecisionRecall,
    PrecisionRecalls,
    Roc,
    Rocs,
    ScoredRows,
    binary_roc,
    class_curves,
    class_scores,
    positive_code,
    rank,
)
from .intervals import Estimate, Interval, Mean, SamplingDesign, TableSample, check_level, mean_interval
from .probabilities import (
    LEAST,
    CalibrationBins,
    CalibrationLine,
    RiskCoverage,
    bins_by_class,
    calibration_line_of,
    certainties,
    expected_moments,
    mean_calibration_error,
    posterior_bins,
    read_posterior,
    row_losses,
)

Means = dict[str, tuple[float, Interval]]
#: Relative difference of widths up to which an interval is not called narrower.
_NARROWER: Final = 1e-6

NO_SCORES = "AUC and average precision are not available: there are no scores."
NO_PROBABILITIES = (
    "Log-loss, Brier score, calibration and risk against coverage are not available: margins are not probabilities."
)
_CLASS_RATES = ("recall", "precision", "f1", "specificity", "fnr", "fpr", "npv")
#: What a row of the table of measures has.
_COLUMNS = ("metric", "of", "value", "low", "high", "method", "note")
#: Rates of a class that the printed table shows; all of them are in `to_frame`.
_SHOWN = ("recall", "precision", "f1", "auc")
_MOST_CLASSES = 30


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """How good predictions are. Made by `evaluate`, `evaluation_of` and `Evaluator.result`.

    Attributes
    ----------
    classes : array of shape (K,)
        In sorted order.
    n_rows, total_weight : int, float
        Rows, and the sum of their weights.
    level : float
        Of all intervals.
    estimates : list of Estimate
        Every measure with its interval. ``evaluation["kappa"]`` and ``evaluation["recall", "setosa"]`` find one; a
        measure named by itself is that of the whole, else of the positive class, else the macro average.
    positive : label or None
        The positive class: what curves, average precision, calibration error and thresholds are of. None for more than
        two classes of which none was named: each of them then stands against the rest.
    confusion : ConfusionMatrix or None
        None where only scores were given.
    roc, precision_recall : curves, or None
        One curve, where there is a positive class; else one for each class, found by its label.
    calibration : dict of CalibrationBins
        For each class; empty without probabilities.
    calibration_line : CalibrationLine or None
        Intercept and slope of observed on predicted log-odds of the positive class.
    risk_coverage : RiskCoverage or None
        None without probabilities.
    cheapest : pair of an action and a float, or None
        With costs, the answer that costs least if it is always given, and what a row then costs.
    is_decided_by_costs : bool
        Whether the predictions are decisions of least expected cost, made from probabilities.
    notes : list of str
        What to know when reading the numbers, such as measures that are not available and why.

    See Also
    --------
    evaluate : Makes it.
    """

    classes: Array
    n_rows: int
    total_weight: float
    level: float
    estimates: list[Estimate]
    positive: Any = None
    confusion: ConfusionMatrix | None = None
    roc: Roc | Rocs | None = None
    precision_recall: PrecisionRecall | PrecisionRecalls | None = None
    calibration: dict[Any, CalibrationBins] = field(default_factory=dict)
    calibration_line: CalibrationLine | None = None
    risk_coverage: RiskCoverage | None = None
    cheapest: tuple[Any, float] | None = None
    is_decided_by_costs: bool = False
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of_parts(
        cls,
        classes: Array,
        n_rows: int,
        total_weight: float,
        level: float,
        *,
        positive: Any = None,
        random_state: Any = 0,
        sample: TableSample | None = None,
        means: Means | None = None,
        clustered: tuple[float, float, str] = (1.0, math.inf, ""),
        notes: Sequence[str] = (),
        **parts: Any,
    ) -> Evaluation:
        """All measures with their intervals, from what was counted and summed, of rows in memory or of a stream.

        Parameters
        ----------
        classes, n_rows, total_weight, level : array, int, float, float
            As the attributes.
        positive : label, optional
            The positive class, where there is one.
        random_state : int or Generator, default=0
            Of the bootstrap.
        sample : TableSample, optional
            The counts as a sample. Default: those of ``confusion``, of independent rows.
        means : dict of pairs, optional
            Means over rows, such as the log-loss, with their intervals.
        clustered : tuple, default=(1.0, inf, "")
            Independent rows that a row is worth, the degrees of freedom of that, and how to say it.
        notes : list of str
            What is known already to be worth saying.
        **parts : dict
            Attributes of the evaluation: ``confusion``, curves, calibration.

        Returns
        -------
        Evaluation
            With everything that the parts allow.
        """
        estimates: list[Estimate] = []
        confusion = parts.get("confusion")
        if confusion is not None:
            estimates += _table_estimates(confusion, sample or TableSample(confusion.counts), level, random_state)
        for metric, (value, interval) in (means or {}).items():
            # Cut off where the measure ends; costs may be gains.
            if metric in ("log_loss", "brier"):
                interval = interval.within(0.0, math.inf if metric == "log_loss" else 1.0 if len(classes) == 2 else 2.0)
            estimates.append(Estimate.by_interval(metric, "overall", value, interval))
        for curve in (parts.get("roc"), parts.get("precision_recall")):
            estimates += [] if curve is None else curve.estimates(level)
        if parts.get("calibration"):
            estimates += _calibration_estimates(parts["calibration"], positive, level, *clustered)
        told = [f"{row.note}." for row in estimates if row.note and row.of in ("macro", "overall")]
        unique = list(dict.fromkeys([*notes, *told]))
        return cls(classes, n_rows, total_weight, level, estimates, positive, notes=unique, **parts)

    def _found(self, key: Any) -> Estimate | None:
        metric, of = key if isinstance(key, tuple) else (key, None)
        found = {row.of: row for row in self.estimates if row.metric == metric}
        if of is None and found:
            of = next((scope for scope in ("overall", self.positive, "macro") if scope in found), next(iter(found)))
        return found.get(plain(of))

    def __contains__(self, key: Any) -> bool:
        return self._found(key) is not None

    def __getitem__(self, key: Any) -> Estimate:
        found = self._found(key)
        if found is not None:
            return found
        metric, of = key if isinstance(key, tuple) else (key, None)
        there = [row.of for row in self.estimates if row.metric == metric]
        if there:
            raise ParameterError(f"{metric} is not reported of {of!r}, only of {there[:10]}.")
        known = list(dict.fromkeys(row.metric for row in self.estimates))
        raise ParameterError(f"{metric!r} is not reported here. Reported: {', '.join(known)}. {' '.join(self.notes)}")

    def of(self, of: Any) -> list[Estimate]:
        """All measures of one class, or of "overall", "macro", "micro" or "weighted".

        Parameters
        ----------
        of : label or str
            Which.

        Returns
        -------
        list of Estimate
            Empty where there is none.
        """
        return [found for found in self.estimates if found.of == plain(of)]

    @property
    def headline(self) -> str:
        """Accuracy beside that of always naming the most frequent class, the class that it hides, and costs."""
        if self.confusion is None:
            return ""
        label, share = self.confusion.most_frequent
        accuracy, hidden = self["accuracy"], self.confusion.hidden_class
        told = [
            f"{_in_percent(accuracy)} of the rows got their own class; always saying {shown(label)} would be right in"
        ]
        told.append(f"{percent(share)}{', as often or more often' if accuracy.value <= share else ''}.")
        if hidden is not None:
            found = f"Of the rows of {shown(hidden)} only {_in_percent(self['recall', hidden])} were found"
            told.append(f"{found}; balanced accuracy is {percent(self['balanced_accuracy'].value)}.")
        if self.cheapest is not None and "cost" in self:
            answer, cost = self.cheapest
            told.append(
                f"A row costs {self['cost'].value:.4g} on average; always {shown(answer)} would cost {cost:.4g}."
            )
        return " ".join(told)

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.estimates, _COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Measures, confusion matrix, calibration and notes as plain values for JSON; NaN as None.

        Returns
        -------
        dict
            Calibration in ten bins of equally many rows.
        """
        return {
            "classes": self.classes.tolist(),
            "positive": jsonable(self.positive),
            "rows": self.n_rows,
            "total_weight": self.total_weight,
            "level": self.level,
            "headline": self.headline,
            "estimates": [{name: jsonable(getattr(row, name)) for name in _COLUMNS} for row in self.estimates],
            "confusion": None if self.confusion is None else self.confusion.to_dict(),
            "calibration": {str(label): bins.rebinned(10).to_dict() for label, bins in self.calibration.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        weight = "" if self.total_weight == self.n_rows else f" of total weight {self.total_weight:,.6g}"
        rows = f"{self.n_rows:,} rows{weight}, {len(self.classes)} classes"
        head = f"evaluation on {rows}; {100 * self.level:g} % intervals"
        summary = [line.replace("\xa0", " ") for line in textwrap.wrap(self.headline.replace(" %", "\xa0%"), WIDTH)]
        of_classes = self._grid("class", self.classes.tolist()[:_MOST_CLASSES], shown)
        if len(self.classes) > _MOST_CLASSES:
            of_classes.append(f"... and {len(self.classes) - _MOST_CLASSES} more classes, see to_frame()")
        named = [] if self.positive is None else [f"positive class: {shown(self.positive)}"]
        blocks = [[head, "=" * len(head), *named], summary, self._overall_lines(), of_classes]
        blocks.append(self._grid("average", list(AVERAGES), str))
        blocks += [[str(part)] for part in (self.confusion, self.risk_coverage) if part is not None]
        wrapped = [textwrap.wrap(f"note: {note}", WIDTH, subsequent_indent="      ") for note in self.notes]
        blocks.append([line for lines in wrapped for line in lines])
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def _overall_lines(self) -> list[str]:
        rows, methods = [["measure", "value", "low", "high"]], ["interval by"]
        areas = [self[metric] for metric in ("auc", "average_precision", "ece") if metric in self]
        for found in [*self.of("overall"), *areas]:
            name = metric_name(found.metric)
            name += "" if found.of == "overall" else f" ({shortened(found.of, 14)})"
            rows.append([name, *map(decimal, (found.value, found.low, found.high))])
            methods.append(found.method)
        return [shortened(f"{line}  {method}", WIDTH) for line, method in zip(aligned(rows), methods, strict=True)]

    def _grid(self, title: str, scopes: list[Any], called: Callable[[Any], str]) -> list[str]:
        """A line for each scope, a column for each shown measure, with its interval in brackets."""
        by_key = {(found.metric, found.of): found for found in self.estimates}
        metrics = [metric for metric in _SHOWN if any((metric, scope) in by_key for scope in scopes)]
        if not metrics:
            return []
        rows = [[title, *map(metric_name, metrics)]]
        for scope in scopes:
            rows.append([shortened(called(scope), 14)])
            for found in (by_key.get((metric, scope)) for metric in metrics):
                interval = "" if found is None or math.isnan(found.low) else f" [{found.low:.3f}, {found.high:.3f}]"
                rows[-1].append(decimal(None if found is None else found.value, 3) + interval)
        return aligned(rows)


def _in_percent(found: Estimate) -> str:
    ends = "" if math.isnan(found.low) else f" ({100 * found.low:.1f} to {percent(found.high)})"
    return f"{percent(found.value)}{ends}"


def _calibration_estimates(
    calibration: dict[Any, CalibrationBins], positive: Any, level: float, *clustered: Any
) -> list[Estimate]:
    """The calibration error, in ten bins of equally many rows: of the positive class, else of each and all."""
    bins = {label: own.rebinned(10) for label, own in calibration.items() if positive is None or label == positive}
    wanted: dict[Any, list[CalibrationBins]] = {"macro": list(bins.values())} if len(bins) > 2 else {}
    wanted |= {label: [own] for label, own in bins.items()}
    return [
        Estimate.by_interval("ece", of, *mean_calibration_error(own, level, *clustered)) for of, own in wanted.items()
    ]


def _table_estimates(confusion: ConfusionMatrix, table: TableSample, level: float, random_state: Any) -> list[Estimate]:
    """The measures of the whole matrix, then those of each class and their averages."""
    abstains = len(confusion.predictions) > len(confusion.classes)
    # Coverage is of interest only where something else than a class can be predicted.
    overall = [name for name in OVERALL if abstains or name not in ("coverage", "selective_accuracy")]
    wanted = [(metric, "overall") for metric in overall if OVERALL[metric].base is None]
    wanted += [(metric, how) for metric in _CLASS_RATES for how in AVERAGES]
    intervals = dict(zip(wanted, other_intervals(table, wanted, level, random_state), strict=True))
    found = []
    for metric in overall:
        interval = intervals.get((metric, "overall")) or share_interval(table, metric, level)
        reason = confusion.undefined(metric).get("overall", "")
        found.append(Estimate.by_interval(metric, "overall", confusion.overall(metric), interval, reason))
    for metric in _CLASS_RATES:
        reasons, own = confusion.undefined(metric), class_intervals(table, metric, level)
        for label, value, interval in zip(confusion.classes.tolist(), confusion.rate(metric), own, strict=True):
            found.append(Estimate.by_interval(metric, label, float(value), interval, reasons.get(label, "")))
        for how in AVERAGES:
            value, note = confusion.average(metric, how), ""
            if np.isnan(value):
                more = f" and {len(reasons) - 3} more" if len(reasons) > 3 else ""
                note = f"{how} {metric_name(metric)} is undefined: {'; '.join(list(reasons.values())[:3])}{more}"
            found.append(Estimate.by_interval(metric, how, value, intervals[metric, how], note))
    return found


def evaluate(
    model: Any, X: Any, y: Any = None, *, costs: Any = None, actions: Any = None, sample_weight: Any = None,
    groups: Any = None, positive: Any = None, level: float = 0.95, random_state: Any = 0,
) -> Evaluation:  # fmt: skip
    """How good a fitted classifier is on these rows, which it should not have been fitted to.

    Parameters
    ----------
    model : fitted classifier
        One of this package, or any of scikit-learn's. Probabilities are used where it has ``predict_proba``; with only
        ``decision_function`` the curves are made of its margins.
    X : array-like or frame of shape (n_rows, n_columns), or rows of `open_dataset`
        Rows as the model takes them. Those of a dataset are evaluated in one pass, as by `Evaluator`.
    y : array-like of shape (n_rows,), optional
        True labels; a dataset has its own, and its weights.
    costs : array, dict or frame, optional
        Rows true classes, columns actions, as for `Decision`. A model with probabilities then decides by least
        expected cost, and it is these decisions that are evaluated; any other, and one that decides itself such as
        `DecisionClassifier`, is taken at its word. Adds their mean cost.
    actions : list, optional
        What may be predicted besides the classes; "abstain", named columns of ``costs`` and a model's ``actions_`` need
        no mention. They name the columns of a cost array that has others than the classes: all columns in order, or
        those after the classes.
    sample_weight : array-like of shape (n_rows,), optional
        Whole numbers are frequencies: weight 3 means three independent rows. Others are importances, as those of
        surveys: intervals are then those of the weighted rows.
    groups : array-like of shape (n_rows,), optional
        Rows of one group (patient, site, day) are not independent; intervals are then those between groups.
    positive : label, optional
        The positive class: what curves, average precision, calibration error and thresholds are of; one of more than
        two stands against the rest. Default: the rarer of two among these rows (the second, if both are equally
        frequent); each of more.
    level : float, default=0.95
        Of the intervals.
    random_state : int or Generator, default=0
        For the intervals that are bootstrapped.

    Returns
    -------
    Evaluation
        Confusion matrix, measures with intervals, curves and calibration.

    See Also
    --------
    evaluation_of : Of predictions made elsewhere.
    cross_validate : Without a set of test rows.
    Evaluator : For rows that do not fit into memory.

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
    if is_collection(X):
        from ..partitions.frames import as_source

        known = getattr(model, "feature_names_in_", None)
        X, y, sample_weight = as_source(X, y, sample_weight, known), None, None
    if isinstance(X, Source):
        from .streaming import evaluated  # which needs this module

        more = {"y": y, "costs": costs, "actions": actions, "sample_weight": sample_weight, "groups": groups}
        for name, value in more.items():
            if value is not None:
                raise ParameterError(Setting(name), " is for rows in memory: leave it out, or read the rows.")
        return evaluated(model, X, level, random_state, positive)
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    with_margins = probabilities is None and hasattr(model, "decision_function")
    return evaluation_of(
        y,
        predicted=None if costs is not None and costs_decide(model) else model.predict(X),
        posterior=probabilities,
        scores=model.decision_function(X) if with_margins else None,
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
    y: Any, predicted: Any = None, posterior: Any = None, scores: Any = None, *, classes: Any = None, costs: Any = None,
    actions: Any = None, sample_weight: Any = None, groups: Any = None, positive: Any = None, level: float = 0.95,
    random_state: Any = 0,
) -> Evaluation:  # fmt: skip
    """How good predictions are, however they were made.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    predicted : array-like of shape (n_rows,), optional
        Predicted labels, or actions such as "abstain". Default: what ``posterior`` makes most probable, or with
        ``costs`` the action of least expected cost.
    posterior : Posterior, or array or frame of shape (n_rows, K), optional
        Class probabilities; for two classes also those of the second alone.
    scores : array-like of shape (n_rows,) or (n_rows, K), optional
        Numbers for the curves where there are no probabilities.
    classes : array-like, optional
        All classes, in the order of the columns of ``posterior`` and ``scores``. Default: the sorted labels.
    costs : array, dict or frame, optional
        Of each action under each true class, as for `Decision`. Adds the mean cost of what was predicted or decided.
    actions : list, optional
        Predictions that are no classes, or the columns of ``costs``.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies, or importances where they are not whole numbers.
    groups : array-like of shape (n_rows,), optional
        Clusters of rows that are not independent.
    positive : label, optional
        The positive class, as for `evaluate`. A single score for each row is large for the second of two classes,
        whichever of them is positive; of more classes for this one.
    level : float, default=0.95
        Confidence of all intervals.
    random_state : int or Generator, default=0
        Of the bootstrap.

    Returns
    -------
    Evaluation
        As that of a model; without ``posterior`` and ``scores`` it has no curves.

    See Also
    --------
    evaluate : Of a fitted model.

    Examples
    --------
    >>> found = evaluation_of(["b", "a", "b", "b"], posterior=[0.8, 0.3, 0.6, 0.4])
    >>> found["accuracy"].value, found["auc"].value, round(found["brier"].value, 4)
    (0.75, 1.0, 0.1625)
    """
    check_level(level)
    if predicted is None and posterior is None and scores is None:
        raise ParameterError("There is nothing to evaluate: give predicted, posterior or scores.")
    # What was said to be an action, by itself or as a column of costs.
    named = [] if actions is None else [plain(action) for action in actions]
    named += [] if costs is None else read_costs(costs).actions or []
    rows = _rows(y, predicted, posterior, scores, classes, list(dict.fromkeys(named)), sample_weight, groups)
    k = positive_code(positive, rows.classes, np.bincount(rows.codes, rows.design.weight, len(rows.classes)))
    means: Means = {}
    notes: list[str] = []
    cheapest = None
    if costs is not None:
        values, actions = _cost_table(costs, actions, rows.classes)
        rows = _decided(rows, values, actions, notes)
        if rows.predicted is not None:
            means["cost"] = _mean_cost(rows, values, actions, level)
        cheapest = _cheapest(rows, values, actions)
    elif rows.predicted is None and rows.posterior is not None:
        rows = replace(rows, predicted=rows.likeliest)
    parts = _table(rows) | _probabilities(rows, k, level, means, notes) | _curves(rows, k, notes)
    parts |= {"positive": None if k is None else plain(rows.classes[k]), "cheapest": cheapest}
    parts["is_decided_by_costs"] = costs is not None and predicted is None and posterior is not None
    notes += _weight_notes(rows.design)
    counted = rows.classes, len(rows.codes), rows.design.total_weight, level
    clustered = _clustered(rows)
    found = Evaluation.of_parts(
        *counted, random_state=random_state, means=means, clustered=clustered, notes=notes, **parts
    )
    if groups is None:
        return found
    by_rows = evaluation_of(
        y, predicted, posterior, scores, classes=classes, costs=costs, actions=actions, sample_weight=sample_weight,
        positive=positive, level=level, random_state=random_state,
    )  # fmt: skip
    return replace(found, notes=[*found.notes, *_narrower_by_groups(found, by_rows)])


def _weight_notes(design: SamplingDesign) -> list[str]:
    """How weights were read."""
    if design.is_weighted_by_importance:
        return [
            f"Weights are not whole numbers and are read as importances: {design.n_clusters:,} rows, effective sample "
            f"size {design.effective_rows:,.6g} (Kish)."
        ]
    if design.weight is not None and design.clusters is None:
        return [f"weights are read as frequencies: {design.total_weight:,.6g} independent rows."]
    return []


def _narrower_by_groups(by_groups: Evaluation, by_rows: Evaluation) -> list[str]:
    """A note on measures whose intervals are narrower by groups than they would be by rows."""
    pairs = zip(by_groups.estimates, by_rows.estimates, strict=True)
    found = [one.metric for one, other in pairs if one.high - one.low < (1 - _NARROWER) * (other.high - other.low)]
    if not found:
        return []
    names = listed([metric_name(metric) for metric in dict.fromkeys(found)])
    return [
        f"Intervals by groups are narrower than by rows for {len(found):,} of {len(by_groups.estimates):,} estimates "
        f"({names}): rows of one group differ more there than rows of different groups, or groups are few. The "
        "wider interval is the cautious one."
    ]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The checked input: classes sorted, columns of posterior and scores in their order."""

    classes: Array
    codes: Array
    actions: list[Any]  #: what may be predicted besides the classes
    predicted: Array | None
    posterior: Array | None
    scores: Array | None
    design: SamplingDesign

    @property
    def likeliest(self) -> Array:
        """The most probable class of each row."""
        assert self.posterior is not None
        return self.classes[self.posterior.argmax(axis=1)]


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
    columns = None if scores is None else class_scores("scores", scores, names)
    guess = None if predicted is None else label_column("predicted", predicted)
    same_length(y=labels, predicted=guess, posterior=probabilities, scores=columns)
    codes = codes_among("y", labels, names[order])
    if probabilities is not None and order != list(range(len(order))):
        probabilities = np.ascontiguousarray(probabilities[:, order])
    if columns is not None and columns.ndim == 2:
        columns = np.ascontiguousarray(columns[:, order])
    extra = [action for action in actions if action not in names.tolist()]
    design = SamplingDesign.read(sample_weight, groups, len(labels))
    return _Rows(names[order], codes, extra, guess, probabilities, columns, design)


def _class_names(labels: Array, predicted: Any, posterior: Any, scores: Any, classes: Any, actions: list[Any]) -> Array:
    """The classes in the order of the columns: those given, those the columns are named by, or the sorted labels."""
    if classes is not None:
        sorted_classes(classes)  # refuses what cannot be a list of classes
        return label_array(list(classes))
    if isinstance(posterior, Posterior):
        return posterior.classes
    found = [encoded(labels)[0]]
    if hasattr(posterior, "columns") and set(found[0]) <= set(posterior.columns):
        return label_array(list(posterior.columns))
    if posterior is None and scores is None:
        found.append(ConfusionMatrix.of(labels, predicted, actions=set(actions) - set(found[0])).classes.tolist())
    return label_array(ordered(*found))


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


def _table(rows: _Rows) -> dict[str, Any]:
    """The confusion matrix, and how its counts vary where rows are in clusters."""
    if rows.predicted is None:
        return {}
    truth = rows.classes[rows.codes]
    confusion = ConfusionMatrix.of(truth, rows.predicted, rows.classes, rows.design.weight, actions=rows.actions)
    if rows.design.clusters is None:
        return {"confusion": confusion}
    guess = codes_among("predicted", rows.predicted, confusion.predictions)
    cells = rows.codes.astype(np.int64) * len(confusion.predictions) + guess
    by_cluster = rows.design.by_cluster(cells, confusion.counts.size)
    return {"confusion": confusion, "sample": TableSample(confusion.counts, by_cluster)}


def _probabilities(rows: _Rows, k: int | None, level: float, means: Means, notes: list[str]) -> dict[str, Any]:
    """Log-loss and Brier score go to the means; returns calibration and risk against coverage."""
    if rows.posterior is None:
        notes += [NO_PROBABILITIES] if rows.scores is not None else []
        return {}
    for metric, losses in row_losses(rows.posterior, rows.codes, rows.design).items():
        means[metric] = mean_interval(losses.values, rows.design, level, losses.expected)
    zero = int(np.count_nonzero(rows.posterior[np.arange(len(rows.codes)), rows.codes] <= 0))
    if zero:
        notes.append(
            f"{several(zero, 'row')} gave the true class the probability 0, counted as {LEAST:.1e} in the log-loss."
        )
    line = None
    if k is not None:
        line = calibration_line_of(rows.codes == k, rows.posterior[:, k], rows.design)
    return {
        "calibration": bins_by_class(rows.classes, posterior_bins(rows.posterior, rows.codes, rows.design.weight)),
        "calibration_line": line,
        "risk_coverage": RiskCoverage(rank(*certainties(rows.posterior, rows.codes), rows.design.weight)),
    }


def _clustered(rows: _Rows) -> tuple[float, float, str]:
    """Independent rows that a row is worth by the errors of its probability; see `Evaluation.of_parts`."""
    if rows.posterior is None or rows.design.clusters is None:
        return 1.0, math.inf, ""
    miss = 1.0 - rows.posterior[np.arange(len(rows.codes)), rows.codes]
    found = Mean.of(miss, rows.design.weight)
    worth = rows.design.worth(miss - found.mean, found.squares) / rows.design.total_weight
    return worth, rows.design.degrees, rows.design.words


def _curves(rows: _Rows, k: int | None, notes: list[str]) -> dict[str, Any]:
    scores, n_classes = rows.posterior if rows.posterior is not None else rows.scores, len(rows.classes)
    if scores is None:
        notes.append(NO_SCORES)
    elif n_classes < 2:
        notes.append(f"AUC is not available: {shown(rows.classes[0])} is the only class.")
    elif k is not None:
        is_turned = scores.ndim == 1 and n_classes == 2 and k == 0  # a single score is large for the second of two
        column = np.ascontiguousarray(scores[:, k]) if scores.ndim == 2 else -scores if is_turned else scores
        roc = binary_roc(rows.codes == k, column, rows.design, plain(rows.classes[k]))
        return {"roc": roc, "precision_recall": roc.precision_recall}
    elif scores.ndim == 1:
        notes.append(f"AUC is not available: one score for each row, but {n_classes} classes.")
    else:
        rocs, precisions = class_curves(ScoredRows(rows.codes, scores, rows.design), rows.classes)
        return {"roc": rocs, "precision_recall": precisions}
    return {}


def _decided(rows: _Rows, values: Array, actions: list[Any], notes: list[str]) -> _Rows:
    """The rows with what the costs decide, where there are probabilities and nothing was predicted."""
    if rows.predicted is not None or rows.posterior is None:
        unknown = ", which without probabilities are not decided by cost" if rows.posterior is None else ""
        notes.append(f"cost is the mean cost of the predictions{unknown}.")
        return rows
    chosen = Decision(costs=values, actions=actions).decide(Posterior(rows.posterior, rows.classes))
    others = sum(map(operator.ne, chosen.tolist(), rows.likeliest.tolist()))
    notes.append(
        f"classes were decided by least expected cost: {others:,} of {len(chosen):,} rows got another answer than the "
        "likeliest class. cost is the mean cost of these decisions."
    )
    return replace(rows, predicted=chosen)


def _cheapest(rows: _Rows, values: Array, actions: list[Any]) -> tuple[Any, float]:
    """The answer that costs least if it is always given, and what a row then costs."""
    of_rows = values[rows.codes] if values.ndim == 2 else values[np.arange(len(rows.codes)), rows.codes]
    means = np.average(of_rows, axis=0, weights=rows.design.weight)
    return actions[int(np.argmin(means))], float(means.min())


def _mean_cost(rows: _Rows, values: Array, actions: list[Any], level: float) -> tuple[float, Interval]:
    """The mean cost of the predictions, with its interval."""
    wanted = " must have a column for everything that is predicted"
    column = codes_among("predicted", rows.predicted, label_array(actions), Setting("costs"), wanted)
    n = np.arange(len(column))
    by_class = values.T[column] if values.ndim == 2 else values[n, :, column]
    expected = None
    if not rows.design.is_large:
        shares = np.bincount(rows.codes, rows.design.weight, len(rows.classes))  # where nothing tells rows apart
        posterior = np.tile(shares, (len(n), 1)) if rows.posterior is None else rows.posterior
        expected = expected_moments(by_class, posterior, rows.design.weight)
    return mean_interval(by_class[n, rows.codes], rows.design, level, expected)
