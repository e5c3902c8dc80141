"""Classification by least squares on coded labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..data.parameters import check_number
from ..errors import LabelError, ParameterError
from ..moments import Moments, Needs
from ..moments.closed_form import indicator_products, least_squares_coefficients
from ..rules import LinearRule
from .base import MomentClassifier, Reading, constant_columns

Array = np.ndarray[Any, Any]


class LeastSquaresClassifier(MomentClassifier):
    """Linear regression of coded labels on the columns; the class of the highest fitted value.

    Minimises ``sum of w_i |y_i - B'x_i - b|^2 + alpha |B|^2`` with an unpenalised intercept. The fitted values are
    scores, not probabilities: they sum to 1 but may be negative. With three or more classes a class in the middle of
    the others can be *masked*: it never has the highest value. ``masked_classes_`` names such classes.

    Parameters
    ----------
    alpha : float
        Ridge penalty, 0 for ordinary least squares.
    coding : {"one-hot", "fisher"}
        Responses: 1 for the own class and 0 else; or, for two classes, ``N/N_2`` for the second and ``-N/N_1`` for
        the first, which makes the coefficients proportional to Fisher's direction and the intercept ``-w'mean``.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
    masked_classes_ : array
        Classes whose own mean is given to another class.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> LeastSquaresClassifier().fit(X, ["a", "a", "b", "b", "c", "c"]).masked_classes_
    array(['b'], dtype='<U1')
    """

    def __init__(
        self, alpha: float = 0.0, coding: Literal["one-hot", "fisher"] = "one-hot", n_jobs: int | None = None
    ) -> None:
        self.alpha = alpha
        self.coding = coding
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, 0)
        if self.coding not in ("one-hot", "fisher"):
            raise ParameterError(f"coding must be 'one-hot' or 'fisher', got {self.coding!r}.")

    def _check_classes(self, classes: Array) -> None:
        super()._check_classes(classes)
        if self.coding == "fisher" and len(classes) > 2:
            raise LabelError(f"coding='fisher' is for two classes, got {len(classes)}. Use coding='one-hot'.")

    def _needs(self) -> Needs:
        return Needs("pooled")

    def _read(self, reading: Reading) -> None:
        moments = reading.moments
        total, n = moments.total(), moments.total_weight
        if self.alpha == 0:
            constant = constant_columns(total.diagonal() / n, moments.mean)
            self._refuse_constant(constant, "over all rows", "The intercept already stands for it: remove it.")
        coef, factor = least_squares_coefficients(total, self._products(moments), self.alpha)
        self._warn_if_aliased(factor.aliased)
        heights = moments.weight / n if self.coding == "one-hot" else np.zeros(2)
        self.rule_ = LinearRule(moments.overall_mean(), coef, heights)
        self.masked_classes_ = reading.classes[_beaten_at_home(self.rule_.scores(moments.mean))]

    def _products(self, moments: Moments) -> Array:
        """The centred products of responses and columns, one row per response."""
        if self.coding == "one-hot":
            return indicator_products(moments)
        step = moments.total_weight * np.diff(moments.mean, axis=0)
        return np.concatenate((np.zeros_like(step), step))


def _beaten_at_home(scores: Array) -> Array:
    """Which classes do not have the highest score at their own mean; ``scores[k, l]`` is class l's at mean k."""
    own = np.diagonal(scores)
    rivals = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores).max(axis=1)
    return own <= rivals + 1e-9
