"""Evaluation of rows that come in parts: what is kept does not grow with them, and parts can be merged."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit, logit

from ..arrays import Array
from ..data import (
    Block,
    Source,
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
from ..engine import reduce
from ..errors import InputError, ParameterError, WeightError
from ..results import plain
from .confusion import ConfusionMatrix, Mergeable
from .curves import (
    PrecisionRecall,
    PrecisionRecalls,
    RankedScores,
    Roc,
    Rocs,
    macro_curves,
    number_column,
    positive_code,
)
from .evaluation import Evaluation
from .intervals import Mean, SamplingDesign, check_level
from .probabilities import (
    FINE_BINS,
    LOSSES,
    RiskCoverage,
    bins_by_class,
    certainties,
    outcome_column,
    posterior_bins,
    read_posterior,
    row_losses,
)


class Evaluator(Mergeable):
    """Collects predictions part by part; `result` is then the `Evaluation` of all of them.

    Counts, and all that is made of them, are exactly those of all rows at once; means agree to rounding. Curves come
    from histograms of the probabilities, fine in log-odds; the result says by how much an AUC may differ for that.

    Parameters
    ----------
    classes : array-like
        All classes that may come.
    actions : list, optional
        What may be predicted besides the classes; "abstain" needs no mention.
    n_bins : int, default=16_384
        Bins of the histograms.

    See Also
    --------
    evaluate : For rows in memory.
    ScoreHistogram : Where its curves come from.

    Examples
    --------
    >>> stream = Evaluator(["a", "b"])
    >>> _ = stream.update(["a", "b"], [[0.9, 0.1], [0.4, 0.6]])
    >>> _ = stream.update(["b"], [[0.7, 0.3]])
    >>> round(stream.result()["accuracy"].value, 4)
    0.6667
    """

    def __init__(self, classes: Any, actions: Any = None, n_bins: int = 16_384) -> None:
        self.classes = sorted_classes(classes)
        if len(self.classes) < 2:
            raise ParameterError(f"classes must be all classes that may come, at least two, got {classes!r}.")
        self.n_rows, self.total_weight = 0, 0.0
        self.confusion = ConfusionMatrix(self.classes, actions)
        self.with_posterior: bool | None = None
        self.means = {name: Mean() for name in LOSSES}
        self.bins = np.zeros((len(self.classes), FINE_BINS, 5))
        self.certainty = ScoreHistogram(n_bins=n_bins)
        #: Of the probability of each class.
        self.histograms = [ScoreHistogram(n_bins=n_bins) for _ in self.classes]

    def update(self, y: Any, posterior: Any = None, predicted: Any = None, sample_weight: Any = None) -> Evaluator:
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
            With these rows added.
        """
        labels = label_column("y", y)
        weight = check_weights(sample_weight, len(labels))
        _refuse_importances(weight)
        codes = codes_among("y", labels, self.classes)
        probabilities = None if posterior is None else read_posterior(posterior, self.classes)[1]
        self._refuse_mixture(probabilities is not None)
        if probabilities is None and predicted is None:
            raise ParameterError("There is nothing to evaluate: give posterior or predicted.")
        same_length(y=labels, posterior=probabilities)
        if predicted is None and probabilities is not None:
            predicted = self.classes[probabilities.argmax(axis=1)]
        self.confusion.update(labels, predicted, weight)
        if probabilities is not None:
            self._add_posterior(probabilities, codes, weight)
        self.with_posterior = probabilities is not None
        self.n_rows += len(codes)
        self.total_weight += float(len(codes) if weight is None else weight.sum())
        return self

    def merge(self, other: Self) -> Self:
        """Add what another evaluator of the same classes has seen; returns the evaluator itself.

        Parameters
        ----------
        other : Evaluator
            Of the same classes, perhaps from another process.

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
        if other.with_posterior is not None:
            self._refuse_mixture(other.with_posterior)
        # What can be refused comes first: a merge that fails changes nothing.
        certainty = self.certainty + other.certainty
        histograms = [mine + theirs for mine, theirs in zip(self.histograms, other.histograms, strict=True)]
        self.confusion.merge(other.confusion)
        self.certainty, self.histograms = certainty, histograms
        self.with_posterior = self.with_posterior if other.with_posterior is None else other.with_posterior
        self.n_rows, self.total_weight = self.n_rows + other.n_rows, self.total_weight + other.total_weight
        self.means = {name: mean.merged(other.means[name]) for name, mean in self.means.items()}
        self.bins = self.bins + other.bins
        return self

    def result(self, level: float = 0.95, random_state: Any = 0, positive: Any = None) -> Evaluation:
        """The evaluation of all rows so far; measures as in `evaluate`, for independent rows.

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
            As of now; more rows may follow.
        """
        check_level(level)
        if self.n_rows == 0:
            raise InputError("No rows have come yet: there is nothing to evaluate.")
        notes = ["AUC, log-loss and calibration are not available: there are no probabilities."]
        k = positive_code(positive, self.classes, self.confusion.counts.sum(axis=1))
        parts: dict[str, Any] = self._of_probabilities(level, k) if self.with_posterior else {"notes": notes}
        parts["positive"] = None if k is None else plain(self.classes[k])
        counted = self.classes, self.n_rows, self.total_weight, level
        return Evaluation.of_parts(*counted, random_state=random_state, confusion=self.confusion.copy(), **parts)

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

    def _of_probabilities(self, level: float, k: int | None) -> dict[str, Any]:
        """What the evaluation has of probabilities, with the curves of one class, or of each."""
        labels, chosen = self.classes.tolist(), range(len(self.classes)) if k is None else (k,)
        roc, precision_recall = _one_or_many({labels[j]: Roc(self.histograms[j].ranked, labels[j]) for j in chosen})
        errors = [self.histograms[j].auc_error for j in chosen]
        error = max((error for error in errors if not math.isnan(error)), default=0.0)
        note = (
            f"AUC and average precision are those of histograms of {self.certainty.n_bins:,} bins: rows of a bin count "
            f"as ties, and the AUC of the rows differs by {error:.1e} at most."
        )
        return {
            "means": {name: (found.mean, found.interval(level)) for name, found in self.means.items()},
            "calibration": bins_by_class(self.classes, self.bins.copy()),
            "risk_coverage": RiskCoverage(self.certainty.ranked),
            "roc": roc,
            "precision_recall": precision_recall,
            "notes": [note],
        }


def _refuse_importances(weight: Array | None) -> None:
    """Counts of weights do not tell how many rows they are of, on which the intervals of importances rest."""
    if has_fractions(weight):
        raise WeightError(
            f"Weights such as {weight[weight != np.rint(weight)][0]:g} are not whole numbers: they are importances, "
            "whose intervals need all rows in memory. Evaluate the rows in memory, or a random sample of them, or "
            "round the weights if they are frequencies."
        )


def evaluated(
    model: Any, source: Source, level: float = 0.95, random_state: Any = 0, positive: Any = None
) -> Evaluation:
    """The evaluation of a fitted classifier on the rows of a dataset, in one pass over them."""
    data = source.labelled(model.classes_)
    return reduce(data, _Answers(model, data.classes, source.names)).evaluator.result(level, random_state, positive)


class _Answers:
    """What a classifier says of rows, as a statistic of them."""

    def __init__(self, model: Any, classes: Array, names: Any) -> None:
        self.model, self.classes, self.names, self.evaluator = model, classes, names, Evaluator(classes)

    def fresh(self) -> Self:
        return type(self)(self.model, self.classes, self.names)

    def update(self, block: Block) -> None:
        rows, posterior = as_rows(block.X, self.names), None
        if hasattr(self.model, "predict_proba"):
            posterior = self.model.predict_proba(rows)
        self.evaluator.update(self.classes[block.codes], posterior, self.model.predict(rows), block.weight)

    def merge(self, other: Self) -> None:
        self.evaluator.merge(other.evaluator)

    def __getstate__(self) -> dict[str, Any]:
        """Without the model, once rows have been seen: it has been where the answers come from."""
        return vars(self) | ({"model": None} if self.evaluator.n_rows else {})


def _one_or_many(curves: dict[Any, Roc]) -> tuple[Roc | Rocs, PrecisionRecall | PrecisionRecalls]:
    if len(curves) == 1:
        (curve,) = curves.values()
        return curve, curve.precision_recall
    of_auc = [curve.auc_variance for curve in curves.values()]
    of_precision = [curve.precision_recall.average_precision_variance for curve in curves.values()]
    # How the classes vary together is not known: the most that it can be is assumed.
    variances = [float(np.mean(np.sqrt(values)) ** 2) for values in (of_auc, of_precision)]
    return macro_curves(curves, variances, ", classes taken to vary together")


class ScoreHistogram(Mergeable):
    """Counts of positive and negative rows by score, which can be added to and merged.

    The ROC curve of it is exact at the ends of the bins; between them rows of a bin count as ties, so that the AUC is
    known up to `auc_error`.

    Parameters
    ----------
    low, high : float, default=-20.0 and 20.0
        Where bins of equal width begin and end, on the scale. What lies beyond is counted in the outer bins.
    n_bins : int, default=16_384
        Between the two.
    scale : {"logit", "linear"}, default="logit"
        "logit" is for probabilities: bins of equal width in log-odds are as fine near 0 and 1 as in the middle.

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

    def update(self, outcome: Any, score: Any, sample_weight: Any = None) -> ScoreHistogram:
        """Add rows: whether each is positive, and its score; returns the histogram itself.

        Parameters
        ----------
        outcome : array-like of shape (n_rows,)
            True or 1 for positive rows.
        score : array-like of shape (n_rows,)
            For the logit scale a probability.
        sample_weight : array-like of shape (n_rows,), optional
            What each row adds to its bin.

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
            With bins that are the same.

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
        """The lower ends of the bins, as scores; the first one takes all that lies below the second."""
        ends = self.low + (self.high - self.low) * np.arange(self.n_bins) / self.n_bins
        lower = expit(ends) if self.scale == "logit" else ends
        lower[0] = 0.0 if self.scale == "logit" else -math.inf
        return lower

    @property
    def ranked(self) -> RankedScores:
        """The filled bins as distinct scores: their lower ends, largest first."""
        filled = np.flatnonzero(self.counts.any(axis=0))[::-1]
        return RankedScores(self.edges[filled], self.counts[1, filled], self.counts[0, filled])

    @property
    def roc(self) -> Roc:
        """The ROC curve at the lower ends of the bins."""
        return Roc(self.ranked)

    @property
    def auc(self) -> float:
        """The AUC with the rows of a bin as ties."""
        return self.roc.auc

    @property
    def auc_error(self) -> float:
        """The most by which the AUC of the rows themselves may differ: half the share of pairs within one bin."""
        negative, positive = self.counts
        pairs = positive.sum() * negative.sum()
        return float(positive @ negative / (2 * pairs)) if pairs > 0 else math.nan

    def __repr__(self) -> str:
        return (
            f"histogram of scores: {self.counts[1].sum():,.6g} positive, {self.counts[0].sum():,.6g} negative rows in "
            f"{self.n_bins:,} bins ({self.scale} scale), AUC {self.auc:.4f} within {self.auc_error:.1g}"
        )
