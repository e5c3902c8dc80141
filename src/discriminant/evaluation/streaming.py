"""Evaluation of streamed rows with bounded memory; evaluators can be merged."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit, logit

from ..arrays import Array, ArrayLike, Classifier, MatrixLike, RandomState
from ..data import (
    Block,
    StreamedRows,
    as_rows,
    check_integer,
    check_number,
    check_weights,
    codes_among,
    has_fractions,
    label_column,
    same_length,
    sorted_classes,
)
from ..decision.posteriors import Posterior
from ..errors import InputError, ParameterError, WeightError
from ..results import plain
from .calibration import FINE_BINS, bins_by_class, posterior_bins
from .class_curves import ClassCurves, Curves
from .confusion import ConfusionMatrix
from .curves import DependentVariance, ThresholdCurve
from .evaluation import Evaluation
from .inputs import number_column, outcome_column, positive_code, read_posterior
from .intervals import check_level
from .ordinal import OrdinalSums
from .predictions import EvaluationOptions
from .probabilities import LOSSES, RiskCoverage, certainties, row_losses
from .ranking import RankedScores
from .sampling import Mean, SamplingDesign
from .table_sample import Mergeable


class Evaluator(Mergeable):
    """Evaluates predictions that arrive in chunks; `result` returns the `Evaluation` of all of them.

    Counts and measures computed from counts are exact, means agree up to rounding. Curves are computed from histograms
    of the probabilities on the log-odds scale; the result reports the resulting bound on the error of an AUC.

    Parameters
    ----------
    classes : array-like
        All classes that can occur.
    actions : list, optional
        Actions other than the classes that can be predicted; "abstain" is always allowed.
    n_bins : int, default=16_384
        Bins of the histograms.
    classes_order : sequence of labels, optional
        The classes from the lowest to the highest, for the measures of ordered classes.

    See Also
    --------
    evaluate : For rows in memory.
    ScoreHistogram : The histogram from which the curves are computed.

    Examples
    --------
    >>> stream = Evaluator(["a", "b"])
    >>> _ = stream.update(["a", "b"], [[0.9, 0.1], [0.4, 0.6]])
    >>> _ = stream.update(["b"], [[0.7, 0.3]])
    >>> round(stream.result()["accuracy"].value, 4)
    0.6667
    """

    def __init__(
        self,
        classes: ArrayLike,
        actions: Iterable[Hashable] | None = None,
        n_bins: int = 16_384,
        classes_order: Sequence[Any] | None = None,
    ) -> None:
        self.classes = sorted_classes(classes)
        if len(self.classes) < 2:
            raise ParameterError(f"classes must list all classes that may occur, at least two, got {classes!r}.")
        self.n_rows, self.total_weight = 0, 0.0
        self.confusion = ConfusionMatrix(self.classes, actions)
        self.with_posterior: bool | None = None
        self.means = {name: Mean() for name in LOSSES}
        self.bins = np.zeros((len(self.classes), FINE_BINS, 5))
        self.certainty = ScoreHistogram(n_bins=n_bins)
        #: Histograms of the probability of each class.
        self.histograms = [ScoreHistogram(n_bins=n_bins) for _ in self.classes]
        self.ordinal = None if classes_order is None else OrdinalSums(classes_order, self.classes, n_bins)

    def update(
        self,
        y: ArrayLike,
        posterior: Posterior | MatrixLike | None = None,
        predicted: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Evaluator:
        """Add rows; returns the evaluator itself.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            True labels.
        posterior : Posterior, or array or frame of shape (n_rows, K), optional
            Class probabilities, columns in sorted order of the classes. Give it in every call or in none.
        predicted : array-like of shape (n_rows,), optional
            Default: the most probable class.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies: whole numbers. Others are importances, whose intervals need every row (see `evaluate`).

        Returns
        -------
        Evaluator
            The evaluator.
        """
        labels = label_column("y", y)
        weight = check_weights(sample_weight, len(labels))
        _refuse_importances(weight)
        codes = codes_among("y", labels, self.classes)
        probabilities = None if posterior is None else read_posterior(posterior, self.classes)[1]
        self._refuse_mixture(probabilities is not None)
        if probabilities is None and predicted is None:
            raise ParameterError("Predictions are missing. Give posterior or predicted.")
        same_length(y=labels, posterior=probabilities)
        if predicted is None and probabilities is not None:
            predicted = self.classes[probabilities.argmax(axis=1)]
        assert predicted is not None
        self.confusion.update(labels, predicted, weight)
        if probabilities is not None:
            self._add_posterior(probabilities, codes, weight)
        if self.ordinal is not None:
            self.ordinal.update(codes, probabilities, label_column("predicted", predicted), weight)
        self.with_posterior = probabilities is not None
        self.n_rows += len(codes)
        self.total_weight += float(len(codes) if weight is None else weight.sum())
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows of another evaluator of the same classes; returns the evaluator itself.

        Parameters
        ----------
        other : Evaluator
            An evaluator of the same classes, for example from another process.

        Returns
        -------
        Evaluator
            With the rows of both.
        """
        if not np.array_equal(self.classes, other.classes):
            raise ParameterError(
                f"Evaluators of different classes cannot be merged: {self.classes.tolist()} and "
                f"{other.classes.tolist()}."
            )
        if not np.array_equal(_ranks(self), _ranks(other)):
            raise ParameterError("Evaluators with different orders of the classes cannot be merged.")
        if other.with_posterior is not None:
            self._refuse_mixture(other.with_posterior)
        # Validation comes first, so that a failed merge changes nothing.
        certainty = self.certainty + other.certainty
        histograms = [mine + theirs for mine, theirs in zip(self.histograms, other.histograms, strict=True)]
        self.confusion.merge(other.confusion)
        self.certainty, self.histograms = certainty, histograms
        self.with_posterior = self.with_posterior if other.with_posterior is None else other.with_posterior
        self.n_rows, self.total_weight = self.n_rows + other.n_rows, self.total_weight + other.total_weight
        self.means = {name: mean.merged(other.means[name]) for name, mean in self.means.items()}
        self.bins = self.bins + other.bins
        if self.ordinal is not None and other.ordinal is not None:
            self.ordinal.merge(other.ordinal)
        return self

    def result(
        self, level: float = 0.95, random_state: RandomState = 0, positive: Hashable | None = None
    ) -> Evaluation:
        """The evaluation of all rows added; measures as in `evaluate`, for independent rows.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.
        random_state : int or Generator, default=0
            Of the bootstrap.
        positive : label, optional
            The positive class, as for `evaluate`.

        Returns
        -------
        Evaluation
            The evaluation of the rows so far.
        """
        check_level(level)
        if self.n_rows == 0:
            raise InputError("There are no rows yet. Call update first.")
        notes = ["AUC, log-loss and calibration are not available: they require probabilities."]
        k = positive_code(positive, self.classes, self.confusion.counts.sum(axis=1))
        label, counts = None if k is None else plain(self.classes[k]), self.confusion.copy()
        found = Evaluation(
            self.classes, self.n_rows, self.total_weight, level, positive=label, confusion=counts, notes=notes
        )
        ordinal = {} if self.ordinal is None else self.ordinal.measures(level)
        if not self.with_posterior:
            return found.with_estimates(ordinal, random_state=random_state)
        means = {name: (mean.mean, mean.interval(level)) for name, mean in self.means.items()} | ordinal
        return self._with_probabilities(found, k).with_estimates(means, random_state=random_state)

    def _refuse_mixture(self, with_posterior: bool) -> None:
        if self.with_posterior not in (None, with_posterior):
            had, has = ("had", "none") if self.with_posterior else ("had none", "some")
            raise InputError(f"Earlier rows {had} probabilities, these have {has}. Give them in every call or in none.")

    def _add_posterior(self, posterior: Array, codes: Array, weight: Array | None) -> None:
        for name, losses in row_losses(posterior, codes, SamplingDesign(len(codes), weight)).items():
            self.means[name] = self.means[name].merged(Mean.of(losses.values, weight, losses.expected))
        self.bins += posterior_bins(posterior, codes, weight)
        self.certainty.update(*certainties(posterior, codes), weight)
        for k, histogram in enumerate(self.histograms):
            histogram.update(codes == k, posterior[:, k], weight)

    def _with_probabilities(self, found: Evaluation, k: int | None) -> Evaluation:
        """Calibration, and the curves of one class, or of each."""
        labels, chosen = self.classes.tolist(), range(len(self.classes)) if k is None else (k,)
        curves = {labels[j]: ThresholdCurve(self.histograms[j].ranked, labels[j]) for j in chosen}
        errors = [self.histograms[j].auc_error for j in chosen]
        error = max((error for error in errors if not math.isnan(error)), default=0.0)
        note = (
            f"AUC and average precision are those of histograms of {self.certainty.n_bins:,} bins: rows of a bin count "
            f"as ties, and the AUC of the rows differs by {error:.1e} at most."
        )
        return replace(
            found,
            calibration=bins_by_class(self.classes, self.bins.copy()),
            risk_coverage=RiskCoverage(self.certainty.ranked),
            roc=_one_or_many(curves),
            notes=[note, *self._rank_notes()],
        )

    def _rank_notes(self) -> list[str]:
        """The error of a measure of ordered classes."""
        if self.ordinal is None:
            return []
        histogram = "Somers' D is that of a histogram of the expected ranks; that of the rows differs by"
        return [f"{histogram} {self.ordinal.somers_d_error:.1e} at most."]


def _ranks(evaluator: Evaluator) -> Array:
    return np.empty(0) if evaluator.ordinal is None else evaluator.ordinal.rank


def _refuse_importances(weight: Array | None) -> None:
    """Refuse importance weights: their intervals depend on the number of rows, which sums of weights do not have."""
    if has_fractions(weight):
        raise WeightError(
            f"Weights such as {weight[weight != np.rint(weight)][0]:g} are not integers, so they are importance "
            "weights, whose intervals need all rows in memory. Evaluate the rows in memory, or a random sample of "
            "them, or round the weights if they are frequencies."
        )


def evaluated(model: Classifier, source: StreamedRows, asked: EvaluationOptions) -> Evaluation:
    """The evaluation of a fitted classifier on the rows of a dataset, in one pass over them."""
    data = source.labelled(model.classes_)
    answers = data.reduce(_Answers(model, data.classes, data.rows.names, asked.classes_order))
    return answers.evaluator.result(asked.level, asked.random_state, asked.positive)


class _Answers:
    """The predictions of a classifier, as a statistic of rows."""

    def __init__(
        self, model: Classifier, classes: Array, names: Sequence[str] | None, order: Sequence[Any] | None
    ) -> None:
        self.model, self.classes, self.names, self.order = model, classes, names, order
        self.evaluator = Evaluator(classes, classes_order=order)

    def fresh(self) -> Self:
        return type(self)(self.model, self.classes, self.names, self.order)

    def update(self, block: Block) -> None:
        rows, posterior = as_rows(block.X, self.names), None
        if hasattr(self.model, "predict_proba"):
            posterior = self.model.predict_proba(rows)
        self.evaluator.update(self.classes[block.codes], posterior, self.model.predict(rows), block.weight)

    def merge(self, other: Self) -> None:
        self.evaluator.merge(other.evaluator)

    def __getstate__(self) -> dict[str, Any]:
        """State without the model once rows were evaluated, because it is then no longer needed."""
        return vars(self) | ({"model": None} if self.evaluator.n_rows else {})


def _one_or_many(curves: dict[Hashable, ThresholdCurve]) -> Curves:
    if len(curves) == 1:
        return next(iter(curves.values()))
    each = np.array([(curve.auc_variance, curve.average_precision_variance) for curve in curves.values()])
    # The covariances between classes are unknown: their upper bound is used.
    of_auc, of_precision = np.square(np.sqrt(each).mean(axis=0)).tolist()
    rows = min(curve.effective_rows for curve in curves.values())
    together = DependentVariance(of_auc, of_precision, ", classes taken to vary together", auc_rows=rows)
    return ClassCurves(curves, together)


class ScoreHistogram(Mergeable):
    """Histograms of the scores of positive and negative rows that can be updated and merged.

    The ROC curve is exact at the limits of the bins; rows of a bin count as ties. The error of the AUC is at most
    `auc_error`.

    Parameters
    ----------
    low, high : float, default=-20.0 and 20.0
        Range of the bins of equal width, on the scale. Values beyond are counted in the outer bins.
    n_bins : int, default=16_384
        Number of bins.
    scale : {"logit", "linear"}, default="logit"
        "logit" is for probabilities: bins of equal width in log-odds are as fine near 0 and 1 as elsewhere.

    See Also
    --------
    Evaluator : Keeps one for each class.
    roc : The exact curve of rows in memory.

    Examples
    --------
    >>> found = ScoreHistogram().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> found.auc, found.auc_error
    (0.75, 0.0)
    """

    def __init__(
        self, low: float = -20.0, high: float = 20.0, n_bins: int = 16_384, scale: Literal["logit", "linear"] = "logit"
    ) -> None:
        check_number("low", low)
        check_number("high", high, low, open_below=True)
        check_integer("n_bins", n_bins, 1)
        if scale not in ("logit", "linear"):
            raise ParameterError(f"scale must be 'logit' or 'linear', got {scale!r}.")
        self.low, self.high, self.n_bins, self.scale = low, high, n_bins, scale
        #: Weights of negative rows, then of positive rows, in each bin.
        self.counts = np.zeros((2, n_bins))

    def update(self, outcome: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None) -> ScoreHistogram:
        """Add rows with outcomes and scores; returns the histogram itself.

        Parameters
        ----------
        outcome : array-like of shape (n_rows,)
            True or 1 for positive rows.
        score : array-like of shape (n_rows,)
            For the logit scale a probability.
        sample_weight : array-like of shape (n_rows,), optional
            Frequency weights.

        Returns
        -------
        ScoreHistogram
            With the new rows.
        """
        positive, scores = outcome_column(outcome), number_column("score", score)
        same_length(outcome=positive, score=scores)
        place = self._bins(scores) + self.n_bins * positive
        weight = check_weights(sample_weight, len(scores))
        self.counts += np.bincount(place, weight, minlength=2 * self.n_bins).reshape(2, -1)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows of another histogram; returns the histogram itself.

        Parameters
        ----------
        other : ScoreHistogram
            A histogram with the same bins.

        Returns
        -------
        ScoreHistogram
            With the counts of both.
        """
        if self._kind != other._kind:
            raise ParameterError(f"Histograms with different bins cannot be merged: {self._kind} and {other._kind}.")
        self.counts = self.counts + other.counts
        return self

    @property
    def _kind(self) -> tuple[float, float, int, Literal["logit", "linear"]]:
        return self.low, self.high, self.n_bins, self.scale

    def _bins(self, scores: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = logit(scores) if self.scale == "logit" else scores
        if np.isnan(moved).any():
            row = int(np.argmax(np.isnan(moved)))
            wanted = "a probability" if self.scale == "logit" else "a number"
            raise InputError(f"score must be {wanted}: row {row} has {scores[row]:g}.")
        position = (moved - self.low) * (self.n_bins / (self.high - self.low))
        return np.clip(position, 0, self.n_bins - 1).astype(np.intp)

    @property
    def edges(self) -> Array:
        """The lower limits of the bins, as scores; the first bin also has all lower values."""
        ends = self.low + (self.high - self.low) * np.arange(self.n_bins) / self.n_bins
        lower = expit(ends) if self.scale == "logit" else ends
        lower[0] = 0.0 if self.scale == "logit" else -math.inf
        return lower

    @property
    def ranked(self) -> RankedScores:
        """The non-empty bins as distinct scores: their lower limits in decreasing order."""
        filled = np.flatnonzero(self.counts.any(axis=0))[::-1]
        return RankedScores(self.edges[filled], self.counts[1, filled], self.counts[0, filled])

    @property
    def roc(self) -> ThresholdCurve:
        """The curve at the lower limits of the bins."""
        return ThresholdCurve(self.ranked)

    @property
    def auc(self) -> float:
        """The AUC with the rows of a bin as ties."""
        return self.roc.auc

    @property
    def auc_error(self) -> float:
        """Upper bound of the difference from the exact AUC: half the share of pairs within one bin."""
        negative, positive = self.counts
        pairs = positive.sum() * negative.sum()
        return float(positive @ negative / (2 * pairs)) if pairs > 0 else math.nan

    def __repr__(self) -> str:
        return (
            f"histogram of scores: {self.counts[1].sum():,.6g} positive, {self.counts[0].sum():,.6g} negative rows in "
            f"{self.n_bins:,} bins ({self.scale} scale), AUC {self.auc:.4f} within {self.auc_error:.1g}"
        )
