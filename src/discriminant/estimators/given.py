"""A linear classifier with given weights: hyperplane geometry, losses and likelihood at given parameters.

``g(x) = w'x + b`` is 0 on a hyperplane with normal vector w. The signed distance of a row is ``g(x) / |w|``, that of
the origin ``|b| / |w|`` (Duda, Hart & Stork 2001, section 5.2).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, MatrixLike
from ..data import AnyRows, LabelledRows, as_rows, check_choice, labelled_rows
from ..errors import ColumnError, LabelError, ParameterError, Setting
from ..losses import MARGIN_LOSSES
from ..rules import LinearRule
from .base import PosteriorClassifier

ZERO_ONE: Final = "zero-one"
#: The loss of misclassification, and those of `MARGIN_LOSSES`.
MarginLossName: TypeAlias = Literal[
    "zero-one", "perceptron", "hinge", "squared_hinge", "squared", "logistic", "squared_sigmoid"
]


@dataclass(eq=False, repr=False)
class LinearClassifier(PosteriorClassifier):
    """The classifier with given weights w and intercept b: ``g(x) = w'x + b``, positive for the second class.

    It needs no `fit`. Probabilities are those of a logistic regression with these weights. With weights for each of K
    classes the highest score wins.

    Parameters
    ----------
    coef : array-like of shape (p,) or (K, p)
        Weights w; for more than two classes one row for each class.
    intercept : float or array-like of shape (K,), default=0.0
        Intercept b.
    classes : sequence of labels, default=None
        Labels in the order of the scores; the second of two has positive scores. Default: 0, 1, ...
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (1, p) and (1,) for two classes; (K, p) and (K,) for more

    See Also
    --------
    Perceptron : Weights learned from mistakes.
    solvers.Trace : Weights of each iteration.

    References
    ----------
    Duda, R. O., Hart, P. E. & Stork, D. G. (2001). Pattern Classification, section 5.2.

    Examples
    --------
    >>> line = LinearClassifier([3, 4], -10, classes=["below", "above"])
    >>> line.predict([[0, 0], [3, 4]])
    array(['below', 'above'], dtype='<U5')
    >>> line.distance([[0, 0], [3, 4]]), line.origin_distance
    (array([-2.,  3.]), 2.0)
    >>> line.losses([[0, 0], [3, 4]], ["above", "above"], "hinge")
    array([11.,  0.])
    """

    coef: Any
    intercept: Any = 0.0
    _: KW_ONLY
    classes: Any = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, model: BaseEstimator) -> Self:
        """The weights of a fitted linear classifier.

        Parameters
        ----------
        model : classifier
            Fitted, with ``coef_`` and ``intercept_`` of one score, or one for each class.

        Returns
        -------
        LinearClassifier
        """
        check_is_fitted(model)
        coef = getattr(model, "coef_", None)
        if coef is None or len(np.atleast_2d(coef)) not in (1, len(model.classes_)):
            raise ParameterError(f"{type(model).__name__} has no linear scores. Use a linear classifier.")
        coef, intercept = np.atleast_2d(coef), np.ravel(model.intercept_)
        one = len(coef) == 1
        return cls(coef[0] if one else coef, float(intercept[0]) if one else intercept, classes=model.classes_)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def coef_(self) -> Array:
        """The weights, a row for each score."""
        coef = np.atleast_2d(np.asarray(self.coef, dtype=np.float64))
        if coef.ndim != 2 or not coef.size or not np.isfinite(coef).all():
            raise ParameterError(Setting("coef"), " must be finite numbers of shape (p,) or (K, p).")
        return coef

    @property
    def intercept_(self) -> Array:
        """The constants."""
        intercept = np.ravel(np.asarray(self.intercept, dtype=np.float64))
        n = len(self.coef_)
        if len(intercept) not in (1, n) or not np.isfinite(intercept).all():
            raise ParameterError(Setting("intercept"), f" must be {n} finite number(s), one for each row of coef.")
        return np.broadcast_to(intercept, (n,)).copy()

    @property
    def classes_(self) -> Array:  # type: ignore[override]
        """The labels, in the order of the scores."""
        n = max(len(self.coef_), 2)
        labels = np.arange(n) if self.classes is None else np.asarray(self.classes)
        if labels.shape != (n,) or len(np.unique(labels)) != n:
            raise ParameterError(Setting("classes"), f" must be {n} different labels, got {labels.tolist()!r}.")
        return labels

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return int(self.coef_.shape[1])

    @property
    def rule_(self) -> LinearRule:
        """The scores of the classes: 0 for the first of two."""
        return LinearRule.of_scores(np.zeros(self.n_features_in_), self.coef_, self.intercept_)

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Check that rows have the columns and labels of this classifier; nothing is fitted.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows.
        y : array-like of shape (n_rows,), default=None
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Ignored.

        Returns
        -------
        self
        """
        self._given(X, y, sample_weight)
        return self

    def distance(self, X: MatrixLike) -> Array:
        """The signed distance of each row from the hyperplane, positive for the second class.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        array of shape (n_rows,)
            ``(w'x + b) / |w|``.
        """
        return np.asarray(self.decision_function(X)) / self._length

    def project(self, X: MatrixLike) -> Array:
        """The projection of each row onto the hyperplane.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        array of shape (n_rows, n_columns)
            ``x - r w / |w|``, r the distance.
        """
        rows = as_rows(X)
        values = np.asarray(rows.block(0, rows.n_rows), dtype=np.float64)
        return values - np.outer(self.distance(X), self.coef_[0] / self._length)

    @property
    def origin_distance(self) -> float:
        """The distance of the origin from the hyperplane, ``|b| / |w|``."""
        return float(abs(self.intercept_[0]) / self._length)

    def losses(self, X: MatrixLike, y: ArrayLike, loss: MarginLossName = "logistic") -> Array:
        """The loss of each row at these weights.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels: y is +1 for the second class, -1 for the first.
        loss : str, default="logistic"
            Of the margin ``m = y g(x)``: "zero-one" (1 for misclassified rows), "perceptron"
            ``max(-m, 0)``, "hinge" ``max(1 - m, 0)``, "squared_hinge", "squared" ``(1 - m)^2 / 2``, "logistic"
            ``log(1 + e^-m)``, "squared_sigmoid" ``(1 - 1 / (1 + e^-m))^2``. More than two classes: "zero-one"
            and "logistic", the negative log-probability.

        Returns
        -------
        array of shape (n_rows,)
        """
        check_choice("loss", loss, (ZERO_ONE, *MARGIN_LOSSES))
        data = self._given(X, y)
        if loss == ZERO_ONE:
            return (self.predict(X) != data.classes[data.codes]).astype(np.float64)
        if loss == "logistic":
            return -self.predict_log_proba(X)[np.arange(data.n_rows), data.codes]
        self._refuse_many(f"The {loss} loss")
        margins = (2.0 * data.codes - 1.0) * self.decision_function(X)
        return np.asarray(MARGIN_LOSSES[loss].value_and_slope(margins)[0])

    def log_likelihood(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The log-likelihood of the labels in a logistic regression with these weights.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies of the rows.

        Returns
        -------
        float
            ``sum_i log P(y_i | x_i)``.
        """
        weight = self._given(X, y, sample_weight).weight
        return -float(self.losses(X, y).sum() if weight is None else self.losses(X, y) @ weight)

    @property
    def _length(self) -> float:
        """|w|."""
        self._refuse_many("A distance from the hyperplane")
        length = float(np.linalg.norm(self.coef_))
        if length == 0:
            raise ParameterError(Setting("coef"), " is 0, which defines no hyperplane. Use other weights.")
        return length

    def _refuse_many(self, what: str) -> None:
        if len(self.classes_) > 2:
            raise LabelError(f"{what} requires two classes, got {len(self.classes_)}. Use a binary problem.")

    def _given(self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None) -> LabelledRows:
        """The rows with labels coded in the order of the scores."""
        rows = as_rows(X)
        self._check_columns(X, reset=False)
        data = labelled_rows(rows, y, sample_weight, np.sort(self.classes_))
        order = np.argsort(self.classes_)
        return LabelledRows(rows, self.classes_, order[data.codes], data.weight)

    def _ready(self) -> None:
        """Nothing: given weights need no fit."""

    def _check_columns(self, X: MatrixLike | AnyRows, reset: bool) -> None:  # noqa: ARG002
        found = as_rows(X).n_columns
        if found != self.n_features_in_:
            raise ColumnError(f"X has {found} columns; expected {self.n_features_in_}, one for each weight.")
