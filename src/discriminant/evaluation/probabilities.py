"""Losses of probabilities by row (log-loss, Brier score), and the risk-coverage curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import as_rows, check_number, check_weights, codes_among, label_column, same_length
from ..decision.posteriors import Posterior
from ..engine import map_rows
from ..results import Result, jsonable
from .inputs import read_posterior
from .ranking import RankedScores, rank
from .sampling import SamplingDesign

#: Lower bound of probabilities in the log-loss, which would be infinite at 0.
MIN_PROBABILITY: Final = float(np.finfo(np.float64).eps)


def log_losses(posterior: Array, codes: Array | None = None) -> Array:
    """Minus the logarithm of the probability of the true class, bounded at 0; without codes, of every class."""
    own = posterior if codes is None else posterior[np.arange(len(codes)), codes]
    return -np.log(np.maximum(own, MIN_PROBABILITY))


def brier_scores(posterior: Array, codes: Array | None = None) -> Array:
    """The sum over classes of ``(p - y)^2``, halved for two classes; without codes, for every possible true class."""
    total = np.einsum("ij,ij->i", posterior, posterior)
    own = posterior if codes is None else posterior[np.arange(len(codes)), codes]
    scores = np.square(1.0 - own) + np.maximum((total[:, None] if codes is None else total) - np.square(own), 0.0)
    return 0.5 * scores if posterior.shape[1] == 2 else scores


#: Measures of probabilities that are means over rows.
LOSSES: dict[str, Callable[..., Array]] = {"log_loss": log_losses, "brier": brier_scores}


def expected_moments(values: Array, posterior: Array, weight: Array | None = None) -> Array:
    """The sums over rows of the value, its square and its cube that a model expects, for `Mean`.

    ``values`` has a column for each possible true class. The first row uses the probabilities of the model, the second
    probabilities of half the log-odds, for a model that is overconfident by a factor of 2.
    """
    sure = np.maximum(posterior, MIN_PROBABILITY)
    found = np.empty((2, 3))
    for i, odds in enumerate((sure, np.sqrt(sure))):
        powers = odds * ((1.0 if weight is None else weight) / odds.sum(axis=1))[:, None]
        for j in range(3):
            powers *= values
            found[i, j] = powers.sum()
    return found


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The loss of each row, and the sums of `expected_moments`, or None if they are not needed."""

    values: Array
    expected: Array | None


def row_losses(posterior: Array, codes: Array, design: SamplingDesign) -> dict[str, RowLosses]:
    """The log-loss and the Brier score of each row, computed on threads."""
    values = {name: np.empty(len(codes)) for name in LOSSES}

    def write(block: Array, where: slice) -> None:
        for name, losses in LOSSES.items():
            values[name][where] = losses(block, codes[where])

    map_rows(as_rows(posterior), write)
    expected = {
        name: None if design.is_large else expected_moments(losses(posterior), posterior, design.weight)
        for name, losses in LOSSES.items()
    }
    return {name: RowLosses(own, expected[name]) for name, own in values.items()}


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Result):
    """The error rate of the accepted rows by the share of accepted rows (coverage). Rows are accepted in order of their
    largest posterior. Returned by `risk_coverage`.

    Attributes
    ----------
    thresholds : array
        Minimum probability of an accepted row, in decreasing order.
    coverage : array
        The share of accepted rows at each threshold.
    risk : array
        The error rate of the accepted rows.

    See Also
    --------
    risk_coverage : Makes it.
    """

    ranked: RankedScores  #: largest posteriors, with the weights of correct and incorrect rows
    certainty: str = "largest posterior"  #: by what rows are accepted

    @property
    def thresholds(self) -> Array:
        return self.ranked.values

    @cached_property
    def coverage(self) -> Array:
        return self.ranked.predicted / self.ranked.predicted[-1]

    @cached_property
    def risk(self) -> Array:
        return self.ranked.false_positives / self.ranked.predicted

    @property
    def area(self) -> float:
        """The mean risk over all coverages; rows with equal posteriors are accepted together."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def risk_at(self, coverage: float) -> float:
        """The risk at the smallest coverage of at least this share of rows.

        Parameters
        ----------
        coverage : float
            Above 0, at most 1.

        Returns
        -------
        float
            Share of errors.
        """
        check_number("coverage", coverage, 0, 1, open_below=True)
        return float(self.risk[np.searchsorted(self.coverage, coverage - 1e-12)])

    def coverage_at(self, risk: float) -> float:
        """The largest coverage with at most this risk; 0 if there is none.

        Parameters
        ----------
        risk : float
            From 0 to 1.

        Returns
        -------
        float
            Share of rows.
        """
        check_number("risk", risk, 0, 1)
        low_enough = np.flatnonzero(self.risk <= risk)
        return float(self.coverage[low_enough[-1]]) if low_enough.size else 0.0

    def _columns(self) -> dict[str, Array]:
        return {"threshold": self.thresholds, "coverage": self.coverage, "risk": self.risk}

    def to_dict(self) -> dict[str, Any]:
        """The area below the curve, and the curve, as plain values for JSON.

        Returns
        -------
        dict
            Lists, and the area as a number.
        """
        return {name: jsonable(values) for name, values in {"area": self.area, **self._columns()}.items()}

    def __str__(self) -> str:
        at = ", ".join(f"{self.risk_at(share):.4f} at {100 * share:.0f} %" for share in (1.0, 0.9, 0.75, 0.5))
        return f"risk at coverage: {at}"


def risk_coverage(
    y: ArrayLike,
    posterior: Posterior | MatrixLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RiskCoverage:
    """The risk-coverage curve of the most probable classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    posterior : Posterior, or array or frame of shape (n_rows, K)
        Class probabilities.
    classes : array-like, optional
        Classes of the columns of an array. Default: 0, ..., K - 1.
    sample_weight : array-like of shape (n_rows,), optional
        Frequency weights.

    Returns
    -------
    RiskCoverage
        The curve at every distinct probability.

    See Also
    --------
    Decision : Abstains where a class is not probable enough.

    References
    ----------
    El-Yaniv, R. & Wiener, Y. (2010). On the foundations of noise-free selective classification. JMLR 11.

    Examples
    --------
    >>> curve = risk_coverage([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> curve.coverage, curve.risk
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.  , 0.25]))
    """
    names, probabilities = read_posterior(posterior, classes)
    labels = label_column("y", y)
    same_length(y=labels, posterior=probabilities)
    codes = codes_among("y", labels, names)
    return RiskCoverage(rank(*certainties(probabilities, codes), check_weights(sample_weight, len(codes))))


def certainties(posterior: Array, codes: Array) -> tuple[Array, Array]:
    """Whether the most probable class of each row is correct, and its probability."""
    return posterior.argmax(axis=1) == codes, posterior.max(axis=1)
