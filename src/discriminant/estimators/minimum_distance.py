"""The nearest class mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..moments import Needs
from ..rules import LinearRule
from .base import MomentClassifier, Reading

Array = np.ndarray[Any, Any]


class MinimumDistance(MomentClassifier):
    """The class whose mean is nearest, in plain (Euclidean) distance.

    The score of class k is ``(x - m) . (mu_k - m) - |mu_k - m|^2 / 2``, with m the mean of all rows: half of what the
    squared distance to ``mu_k`` falls short of that to m. It is no log-density, so there are no probabilities.
    Distances depend on the units of the columns: standardise columns that differ in size, or use
    `LinearDiscriminantAnalysis`, which measures distances in standard deviations.

    Parameters
    ----------
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    means_ : array of shape (K, p)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes

    Examples
    --------
    >>> model = MinimumDistance().fit([[0.0, 0.0], [0.0, 2.0], [8.0, 1.0]], ["water", "water", "forest"])
    >>> model.predict([[3.9, 1.0], [4.1, 1.0]])
    array(['water', 'forest'], dtype='<U6')
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def _needs(self) -> Needs:
        return Needs("diagonal")

    def _read(self, reading: Reading) -> None:
        centre = reading.moments.overall_mean()
        steps = reading.moments.mean - centre
        self.rule_ = LinearRule(centre, steps, -0.5 * np.einsum("kj,kj->k", steps, steps))
