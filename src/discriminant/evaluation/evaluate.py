"""One call that says how good a classifier is, with an interval for every number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import check_weights
from ..data.labels import sorted_classes
from ..decision import Decision
from ..decision.costs import read_costs
from ..decision.posteriors import Posterior
from ..errors import InputError, ParameterError
from ..results import plain, shown
from .calibration import CalibrationBins, calibration_line, posterior_bins
from .coding import as_labels, coded, codes_among, label_column, ordered, same_length
from .counts import ConfusionMatrix
from .curves import binary_roc
from .evidence import Evidence
from .intervals import Interval, check_level
from .many import ScoredRows, check_scores, class_curves, positive_code
from .probability import LEAST, impossible_rows, read_posterior, row_losses
from .report import Evaluation
from .sampling import Clusters, Mean, TableSample, clustered_mean_interval, read_clusters
from .selective import certainty_curve

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
