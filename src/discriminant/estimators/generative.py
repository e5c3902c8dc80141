"""Drawing synthetic rows from a model of how each class generates them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.parameters import check_integer
from ..errors import LabelError, NotReadyError
from ..results import shown

Array = np.ndarray[Any, Any]


class GenerativeMixin:
    """`sample` for a model with ``classes_``, ``priors_`` and a way to draw rows of one class."""

    classes_: Array
    priors_: Array
    n_features_in_: int
    _ready: Callable[[], None]
    _seen_codes: Callable[[], Array]

    def sample(self, n_samples: int = 1, random_state: Any = None, label: Any = None) -> tuple[Any, Array]:
        """Draw rows and their labels from the fitted distribution.

        Parameters
        ----------
        n_samples : int
        random_state : int, numpy Generator or None
        label : a class, optional
            Draw from this class only; otherwise classes are drawn by their priors.

        Returns
        -------
        X : array of shape (n_samples, n_columns)
        y : array of shape (n_samples,)
        """
        self._ready()
        check_integer("n_samples", n_samples, 1)
        rng = np.random.default_rng(random_state)
        codes = self._drawn_codes(n_samples, label, rng)
        return self._drawn_rows(codes, rng), self.classes_[codes]

    def _drawn_codes(self, n: int, label: Any, rng: np.random.Generator) -> Array:
        seen = np.isin(np.arange(len(self.classes_)), self._seen_codes())
        if label is None:
            priors = np.where(seen, self.priors_, 0.0)
            return rng.choice(len(self.classes_), size=n, p=priors / priors.sum())
        found = np.flatnonzero(self.classes_ == label)
        if found.size == 0:
            raise LabelError(f"{label!r} is not a class of this model: {self.classes_.tolist()}.")
        if not seen[found[0]]:
            raise NotReadyError(f"Class {shown(label)} has not been seen yet: no row of it can be drawn.")
        return np.full(n, found[0])

    def _drawn_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        rows = np.empty((len(codes), self.n_features_in_))
        for k in np.unique(codes):
            own = np.flatnonzero(codes == k)
            rows[own] = self._draw(int(k), len(own), rng)
        return rows

    @abstractmethod
    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows of class ``k``."""
