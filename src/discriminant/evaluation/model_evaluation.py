"""Evaluation of a classifier in one call, with an interval for every measure."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, MatrixLike
from ..data import codes_among, label_array
from ..decision import Decision
from ..decision.posteriors import Posterior, costs_decide
from ..errors import ParameterError, Setting
from ..partitions import streamed_rows
from ..results import listed, metric_name, plain, several, shown
from .calibration import bins_by_class, posterior_bins
from .class_curves import Curves, ScoredRows, class_curves
from .confusion import ConfusionMatrix
from .curves import binary_curve
from .evaluation import Evaluation, Means
from .intervals import Interval, check_level
from .predictions import CheckedPredictions, EvaluationOptions, LabelledPredictions
from .probabilities import MIN_PROBABILITY, RiskCoverage, certainties, expected_moments, row_losses
from .ranking import rank
from .recalibration import calibration_line_of
from .sampling import Mean, SamplingDesign, mean_interval
from .streaming import evaluated
from .table_sample import TableSample

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Relative difference of widths up to which an interval does not count as narrower.
_NARROWER: Final = 1e-6

NO_SCORES = "AUC and average precision are not available: there are no scores."
NO_PROBABILITIES = (
    "Log-loss, Brier score, calibration and risk-coverage curve are not available: margins are not probabilities."
)


def evaluate(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    options: EvaluationOptions | None = None,
) -> Evaluation:
    """Evaluate a fitted classifier on held-out rows.

    Parameters
    ----------
    model : fitted classifier
        A classifier of this package or of scikit-learn. Probabilities are used if it has ``predict_proba``; with
        ``decision_function`` only, curves are computed from its margins.
    X : array-like or frame of shape (n_rows, n_columns), or rows of `open_dataset`
        Rows in the format of the model. A dataset is evaluated in one pass, as by `Evaluator`.
    y : array-like of shape (n_rows,), optional
        True labels; a dataset has its own, and its weights.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies, or importances if they are not whole numbers, as in `LabelledPredictions`.
    groups : array-like of shape (n_rows,), optional
        Rows of one group (patient, site, day) are not independent; intervals are then based on the variation between
        groups.
    options : EvaluationOptions, optional
        Costs and actions, the positive class, and the level of the intervals.

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
    accuracy: 0.9600 (0.8889 to 0.9918, Wilson)
    >>> found.confusion.counts
    array([[25,  0,  0],
           [ 0, 24,  1],
           [ 0,  2, 23]])
    """
    check_is_fitted(model)
    asked = options or EvaluationOptions()
    if not hasattr(model, "predict"):
        raise ParameterError(f"{type(model).__name__} cannot predict. Give a fitted classifier, or use evaluation_of.")
    if asked.classes_order is None:
        asked = replace(asked, classes_order=getattr(model, "classes_order_", None))
    rows = streamed_rows(X, y, sample_weight, getattr(model, "feature_names_in_", None))
    if rows is not None:
        for name, value in {"costs": asked.costs, "actions": asked.actions, "groups": groups}.items():
            if value is not None:
                raise ParameterError(
                    Setting(name), " requires rows in memory. Leave it out, or read the rows into memory."
                )
        return evaluated(model, rows, asked)
    posterior = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    predicted = None if asked.costs is not None and costs_decide(model) else model.predict(X)
    scores = model.decision_function(X) if posterior is None and hasattr(model, "decision_function") else None
    if asked.actions is None:
        asked = replace(asked, actions=getattr(model, "actions_", None))
    return evaluation_of(
        LabelledPredictions(y, predicted, posterior, scores, getattr(model, "classes_", None), sample_weight, groups),
        asked,
    )


def evaluation_of(predictions: LabelledPredictions, options: EvaluationOptions | None = None) -> Evaluation:
    """Evaluate given predictions.

    Parameters
    ----------
    predictions : LabelledPredictions
        Rows with their true classes, and predicted labels, probabilities or scores.
    options : EvaluationOptions, optional
        Costs and actions, the positive class, and the level of the intervals.

    Returns
    -------
    Evaluation
        As for a model; without probabilities and scores it has no curves.

    See Also
    --------
    evaluate : Of a fitted model.

    Examples
    --------
    >>> found = evaluation_of(LabelledPredictions(["b", "a", "b", "b"], posterior=[0.8, 0.3, 0.6, 0.4]))
    >>> found["accuracy"].value, found["auc"].value, round(found["brier"].value, 4)
    (0.75, 1.0, 0.1625)
    """
    asked = options or EvaluationOptions()
    check_level(asked.level)
    rows = predictions.checked(asked.named_actions)
    k = rows.positive_code(asked.positive)
    means: Means = {}
    notes: list[str] = []
    cheapest = None
    if asked.costs is not None:
        values, actions = asked.cost_table(rows.classes)
        rows = _decided(rows, values, actions, notes)
        if rows.predicted is not None:
            means["cost"] = _mean_cost(rows, values, actions, asked.level)
        cheapest = _cheapest(rows, values, actions)
    elif rows.predicted is None:
        rows = replace(rows, predicted=rows.likeliest)
    confusion, sample = _table(rows)
    found = Evaluation(
        rows.classes,
        len(rows.codes),
        rows.design.total_weight,
        asked.level,
        positive=None if k is None else plain(rows.classes[k]),
        confusion=confusion,
        cheapest=cheapest,
        is_decided_by_costs=asked.costs is not None and predictions.predicted is None and rows.posterior is not None,
    )
    found = _with_probabilities(found, rows, k, means, notes)
    if asked.classes_order is not None:
        from .ordinal import ordinal_measures  # not needed for other classes

        means |= ordinal_measures(rows, asked.classes_order, asked.level)
    found = replace(found, roc=_curves(rows, k, notes), notes=[*notes, *_weight_notes(rows.design)])
    found = found.with_estimates(means, sample, _clustered(rows), asked.random_state)
    if predictions.groups is None:
        return found
    by_rows = evaluation_of(replace(predictions, groups=None), asked)
    return replace(found, notes=[*found.notes, *_narrower_by_groups(found, by_rows)])


def _weight_notes(design: SamplingDesign) -> list[str]:
    """A note on the kind of the weights."""
    if design.is_weighted_by_importance:
        return [
            f"Weights are not integers, so they are importance weights: {design.n_clusters:,} rows, effective "
            f"sample size {design.effective_rows:,.6g} (Kish)."
        ]
    if design.weight is not None and design.clusters is None:
        return [f"Weights are frequency weights: {design.total_weight:,.6g} independent rows."]
    return []


def _narrower_by_groups(by_groups: Evaluation, by_rows: Evaluation) -> list[str]:
    """A note on measures whose intervals by groups are narrower than by rows."""
    pairs = zip(by_groups.estimates, by_rows.estimates, strict=True)
    found = [one.metric for one, other in pairs if one.high - one.low < (1 - _NARROWER) * (other.high - other.low)]
    if not found:
        return []
    names = listed([metric_name(metric) for metric in dict.fromkeys(found)])
    return [
        f"Intervals by groups are narrower than by rows for {len(found):,} of {len(by_groups.estimates):,} estimates "
        f"({names}): rows of one group differ more than rows of different groups, or groups are few. The wider "
        "interval is conservative."
    ]


def _table(rows: CheckedPredictions) -> tuple[ConfusionMatrix | None, TableSample | None]:
    """The confusion matrix, and the variation of its counts for rows in clusters."""
    if rows.predicted is None:
        return None, None
    truth = rows.classes[rows.codes]
    confusion = ConfusionMatrix.of(truth, rows.predicted, rows.classes, rows.design.weight, actions=rows.actions)
    if rows.design.clusters is None:
        return confusion, None
    guess = codes_among("predicted", rows.predicted, confusion.predictions)
    cells = rows.codes.astype(np.int64) * len(confusion.predictions) + guess
    return confusion, TableSample(confusion.counts, rows.design.by_cluster(cells, confusion.counts.size))


def _with_probabilities(
    found: Evaluation, rows: CheckedPredictions, k: int | None, means: Means, notes: list[str]
) -> Evaluation:
    """Add log-loss and Brier score to the means, and calibration and risk-coverage curve to the evaluation."""
    if rows.posterior is None or rows.own_probability is None:
        notes += [NO_PROBABILITIES] if rows.scores is not None else []
        return found
    for metric, losses in row_losses(rows.posterior, rows.codes, rows.design).items():
        means[metric] = mean_interval(losses.values, rows.design, found.level, losses.expected)
    zero = int(np.count_nonzero(rows.own_probability <= 0))
    if zero:
        notes.append(f"{several(zero, 'row')} with probability 0 of the true class (log-loss: {MIN_PROBABILITY:.1e}).")
    weight = rows.design.weight
    return replace(
        found,
        calibration=bins_by_class(rows.classes, posterior_bins(rows.posterior, rows.codes, weight)),
        calibration_line=None if k is None else calibration_line_of(rows.codes == k, rows.posterior[:, k], rows.design),
        risk_coverage=RiskCoverage(rank(*certainties(rows.posterior, rows.codes), weight)),
    )


def _clustered(rows: CheckedPredictions) -> tuple[float, float, str]:
    """The number of independent rows per row, estimated from calibration residuals; see `Evaluation.with_estimates`."""
    if rows.own_probability is None or rows.design.clusters is None:
        return 1.0, math.inf, ""
    miss = 1.0 - rows.own_probability
    found = Mean.of(miss, rows.design.weight)
    worth = rows.design.worth(miss - found.mean, found.squares) / rows.design.total_weight
    return worth, rows.design.degrees, rows.design.words


def _curves(rows: CheckedPredictions, k: int | None, notes: list[str]) -> Curves | None:
    scores, n_classes = rows.posterior if rows.posterior is not None else rows.scores, len(rows.classes)
    if scores is None:
        notes.append(NO_SCORES)
    elif n_classes < 2:
        notes.append(f"AUC is not available: {shown(rows.classes[0])} is the only class.")
    elif k is not None:
        is_turned = scores.ndim == 1 and n_classes == 2 and k == 0  # a single score is larger for the second class
        column = np.ascontiguousarray(scores[:, k]) if scores.ndim == 2 else -scores if is_turned else scores
        return binary_curve(rows.codes == k, column, rows.design, plain(rows.classes[k]))
    elif scores.ndim == 1:
        notes.append(f"AUC is not available: one score for each row, but {n_classes} classes.")
    else:
        return class_curves(ScoredRows(rows.codes, scores, rows.design), rows.classes)
    return None


def _decided(
    rows: CheckedPredictions, values: Array, actions: Sequence[Hashable], notes: list[str]
) -> CheckedPredictions:
    """The predictions with the actions of minimum expected cost, if there are probabilities but no predictions."""
    if rows.predicted is not None or rows.posterior is None or rows.likeliest is None:
        unknown = "; decisions by cost need probabilities" if rows.posterior is None else ""
        notes.append(f"The cost is the mean cost of the predictions{unknown}.")
        return rows
    chosen = Decision(costs=values, actions=actions).decide(Posterior(rows.posterior, rows.classes))
    others = sum(map(operator.ne, chosen.tolist(), rows.likeliest.tolist()))
    notes.append(
        f"Predictions are the actions of minimum expected cost; {others:,} of {len(chosen):,} rows differ from the "
        "most probable class. The cost is the mean cost of these decisions."
    )
    return replace(rows, predicted=chosen)


def _cheapest(rows: CheckedPredictions, values: Array, actions: Sequence[Hashable]) -> tuple[Any, float]:
    """The action with the lowest mean cost if it is used for all rows, and that cost."""
    of_rows = values[rows.codes] if values.ndim == 2 else values[np.arange(len(rows.codes)), rows.codes]
    means = np.average(of_rows, axis=0, weights=rows.design.weight)
    return actions[int(np.argmin(means))], float(means.min())


def _mean_cost(
    rows: CheckedPredictions, values: Array, actions: Sequence[Hashable], level: float
) -> tuple[float, Interval]:
    """The mean cost of the predictions, with its interval."""
    wanted = " must have a column for everything that is predicted"
    column = codes_among("predicted", rows.predicted, label_array(actions), Setting("costs"), wanted)
    n = np.arange(len(column))
    by_class = values.T[column] if values.ndim == 2 else values[n, :, column]
    expected = None
    if not rows.design.is_large:
        shares = np.bincount(rows.codes, rows.design.weight, len(rows.classes))  # without probabilities
        posterior = np.tile(shares, (len(n), 1)) if rows.posterior is None else rows.posterior
        expected = expected_moments(by_class, posterior, rows.design.weight)
    return mean_interval(by_class[n, rows.codes], rows.design, level, expected)
