"""Risk against coverage: how many errors are left if the least certain rows are not decided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data import check_weights
from ..data.parameters import check_number
from .coding import codes_among, label_column, same_length
from .frames import frame_of
from .probability import read_posterior
from .ranked import RankedScores, rank

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """The share of errors among the rows that are decided, for every share of rows that are.

    Rows are decided in order of their largest posterior. Made by `risk_coverage`.

    Attributes
    ----------
    thresholds : array
        The least probability at which a row is decided, from the largest down.
    coverage : array
        The share of rows decided at each threshold.
    risk : array
        The share of errors among them.
    """

    ranked: RankedScores  #: certainty, with the weight of right and of wrong rows

    @property
    def thresholds(self) -> Array:
        return self.ranked.values

    @cached_property
    def _decided(self) -> Array:
        return self.ranked.true_positives + self.ranked.false_positives

    @cached_property
    def coverage(self) -> Array:
        return self._decided / self._decided[-1]

    @cached_property
    def risk(self) -> Array:
        return np.divide(
            self.ranked.false_positives, self._decided, out=np.zeros(len(self._decided)), where=self._decided > 0
        )

    @property
    def area(self) -> float:
        """The mean risk over all coverages, rows of the same certainty decided together."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def risk_at(self, coverage: float) -> float:
        """The risk where at least this share of rows is decided."""
        check_number("coverage", coverage, 0, 1, open_below=True)
        return float(self.risk[np.searchsorted(self.coverage, coverage - 1e-12)])

    def coverage_at(self, risk: float) -> float:
        """The largest coverage whose risk is no more than this; 0 if there is none."""
        check_number("risk", risk, 0, 1)
        low_enough = np.flatnonzero(self.risk <= risk)
        return float(self.coverage[low_enough[-1]]) if low_enough.size else 0.0

    def to_frame(self) -> Any:
        """The curve as a pandas frame, or a dict of arrays without pandas."""
        return frame_of({"threshold": self.thresholds, "coverage": self.coverage, "risk": self.risk})

    def __repr__(self) -> str:
        at = ", ".join(f"{self.risk_at(share):.4f} at {share:.0%}" for share in (1.0, 0.9, 0.75, 0.5))
        return f"risk against coverage: {at}"


def risk_coverage(y: Any, posterior: Any, classes: Any = None, sample_weight: Any = None) -> RiskCoverage:
    """The risk-coverage curve of the most probable classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    posterior : Posterior, or array or frame of shape (n_rows, K)
        Class probabilities.
    classes : array-like, optional
        What the columns of an array stand for. Default: 0, ..., K - 1.
    sample_weight : array-like of shape (n_rows,), optional

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
    return certainty_curve(probabilities, codes, check_weights(sample_weight, len(codes)))


def certainty_curve(posterior: Array, codes: Array, weight: Array | None) -> RiskCoverage:
    """The curve of checked rows."""
    right, certainty = certainties(posterior, codes)
    return RiskCoverage(rank(right, certainty, weight))


def certainties(posterior: Array, codes: Array) -> tuple[Array, Array]:
    """Whether each row's most probable class is its own, and how probable it is."""
    return posterior.argmax(axis=1) == codes, posterior.max(axis=1)
