"""Evaluation of rows that come in parts: what is kept does not grow with them, and parts can be merged."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..data import check_weights
from ..data.labels import sorted_classes
from ..errors import InputError, ParameterError
from ..results import plain
from .calibration import FINE_BINS, CalibrationBins, posterior_bins
from .coding import codes_among, label_column, same_length
from .counts import ConfusionMatrix
from .curves import PrecisionRecall, Roc
from .evidence import Evidence
from .histogram import ScoreHistogram
from .intervals import check_level
from .many import Averaged, PrecisionRecalls, Rocs
from .probability import read_posterior, row_losses
from .report import Evaluation
from .sampling import Mean, TableSample
from .selective import RiskCoverage, certainties

Array = np.ndarray[Any, Any]


class Evaluator:
    """Collects predictions part by part; `result` is then the `Evaluation` of all of them.

    Counts, and all that is made of them, are exactly those of all rows at once; means agree to rounding. Curves come
    from histograms of the probabilities, fine in log-odds; the result says by how much an AUC may differ for that.

    Parameters
    ----------
    classes : array-like
        All classes that may come.
    actions : list, optional
        What may be predicted besides the classes; "abstain" needs no mention.
    n_bins : int
        Bins of the histograms.

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
        self.log_loss, self.brier = Mean(), Mean()
        self.bins = np.zeros((len(self.classes), FINE_BINS, 5))
        self.certainty = ScoreHistogram(n_bins=n_bins)
        #: Of each class, the first of two excepted: it tells nothing that the second does not.
        self.scored = list(range(1, 2) if len(self.classes) == 2 else range(len(self.classes)))
        self.histograms = [ScoreHistogram(n_bins=n_bins) for _ in self.scored]

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
            Frequencies.
        """
        labels = label_column("y", y)
        weight = check_weights(sample_weight, len(labels))
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

    def merge(self, other: Evaluator) -> Evaluator:
        """Add what another evaluator of the same classes has seen; returns the evaluator itself."""
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
        self.log_loss, self.brier = self.log_loss.merged(other.log_loss), self.brier.merged(other.brier)
        self.bins = self.bins + other.bins
        return self

    def __add__(self, other: Evaluator) -> Evaluator:
        if not isinstance(other, Evaluator):
            return NotImplemented
        return copy.deepcopy(self).merge(other)

    def result(self, level: float = 0.95, random_state: Any = 0) -> Evaluation:
        """The evaluation of all rows so far; measures as in `evaluate`, for independent rows."""
        check_level(level)
        if self.n_rows == 0:
            raise InputError("No rows have come yet: there is nothing to evaluate.")
        evidence = Evidence(self.classes, self.n_rows, self.total_weight, self.confusion.copy())
        evidence.table = TableSample(self.confusion.counts)
        if self.with_posterior:
            self._add_probabilities(evidence, level)
        else:
            evidence.notes.append("AUC, log-loss and calibration are not available: there are no probabilities.")
        return evidence.evaluation(level, random_state)

    def _refuse_mixture(self, with_posterior: bool) -> None:
        if self.with_posterior not in (None, with_posterior):
            had, has = ("had", "none") if self.with_posterior else ("had none", "some")
            raise InputError(f"Earlier rows {had} probabilities, these have {has}. Give them in every call or in none.")

    def _add_posterior(self, posterior: Array, codes: Array, weight: Array | None) -> None:
        log_loss, brier = row_losses(posterior, codes)
        self.log_loss = self.log_loss.merged(Mean.of(log_loss, weight))
        self.brier = self.brier.merged(Mean.of(brier, weight))
        self.bins += posterior_bins(posterior, codes, weight)
        self.certainty.update(*certainties(posterior, codes), weight)
        for k, histogram in zip(self.scored, self.histograms, strict=True):
            histogram.update(codes == k, posterior[:, k], weight)

    def _add_probabilities(self, evidence: Evidence, level: float) -> None:
        evidence.means["log-loss"] = (self.log_loss.mean, self.log_loss.interval(level))
        evidence.means["brier"] = (self.brier.mean, self.brier.interval(level))
        edges = CalibrationBins().edges
        evidence.calibration = {
            plain(label): CalibrationBins.from_sums(edges, sums.copy())
            for label, sums in zip(self.classes, self.bins, strict=True)
        }
        evidence.risk_coverage = RiskCoverage(self.certainty.ranked)
        labels = [plain(self.classes[k]) for k in self.scored]
        curves = {label: Roc(h.ranked, label) for label, h in zip(labels, self.histograms, strict=True)}
        evidence.roc, evidence.precision_recall = _one_or_many(curves)
        error = max((h.auc_error for h in self.histograms if h.auc_error == h.auc_error), default=0.0)
        evidence.notes.append(
            f"AUC and average precision are those of histograms of {self.certainty.n_bins:,} bins: rows of a bin count "
            f"as ties, and the AUC of the rows differs by {error:.1e} at most."
        )


def _one_or_many(curves: dict[Any, Roc]) -> tuple[Roc | Rocs, PrecisionRecall | PrecisionRecalls]:
    if len(curves) == 1:
        (curve,) = curves.values()
        return curve, curve.precision_recall
    precisions = {label: curve.precision_recall for label, curve in curves.items()}
    undefined = "; ".join(filter(None, (curve.undefined for curve in curves.values())))
    of_auc = _bounded([c.auc for c in curves.values()], [c.auc_variance for c in curves.values()], undefined)
    of_precision = _bounded(
        [c.average_precision for c in precisions.values()],
        [c.average_precision_variance for c in precisions.values()],
        undefined,
    )
    return Rocs(curves, of_auc), PrecisionRecalls(precisions, of_precision)


def _bounded(values: list[float], variances: list[float], undefined: str) -> Averaged:
    """The mean over classes; how they vary together is not known, so the most that it can be is assumed."""
    words = ", classes taken to vary together"
    return Averaged(float(np.mean(values)), float(np.mean(np.sqrt(variances)) ** 2), None, undefined, words)
