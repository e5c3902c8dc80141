"""Under- and overfitting: the error of a model in training and on held-out rows against the degree of a polynomial.

All products of columns up to the degree are formed (Cover 1965: with enough products, classes become linearly
separable), standardised, and passed to the model; all degrees are evaluated on the same folds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from ..arrays import Array, ArrayLike, MatrixLike, RandomState
from ..data import as_rows, check_integer
from ..errors import ParameterError
from ..evaluation.intervals import Estimate
from ..results import Result, aligned
from .cross_validation import cross_validate
from .fold_fits import named_models
from .splits import SplitsLike

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@dataclass(frozen=True, repr=False, eq=False)
class DegreeCurve(Result):
    """Errors of a model by the degree of a polynomial in its columns.

    Attributes
    ----------
    model : str
        Class of the model.
    degrees : array of shape (D,)
        The degrees, in increasing order.
    n_columns : array of shape (D,)
        Products of columns up to each degree.
    train_errors : array of shape (D,)
        Mean error on the training rows.
    held_out : tuple of Estimate
        Error on held-out rows with its interval, for each degree.

    See Also
    --------
    degree_curve : Makes it.
    """

    model: str
    degrees: Array
    n_columns: Array
    train_errors: Array
    held_out: tuple[Estimate, ...]

    @property
    def best(self) -> int:
        """The degree with the lowest held-out error; for ties, the lowest degree."""
        return int(self.degrees[int(np.argmin([one.value for one in self.held_out]))])

    def _columns(self) -> Mapping[str, Any]:
        return {
            "degree": self.degrees,
            "columns": self.n_columns,
            "train_error": self.train_errors,
            "error": [one.value for one in self.held_out],
            "low": [one.low for one in self.held_out],
            "high": [one.high for one in self.held_out],
        }

    def __str__(self) -> str:
        head = ["degree", "columns", "training error", "held-out error"]
        rows = [
            [str(degree), str(columns), f"{train:.4f}", f"{held.value:.4f} ({held.low:.4f} to {held.high:.4f})"]
            for degree, columns, train, held in zip(
                self.degrees, self.n_columns, self.train_errors, self.held_out, strict=True
            )
        ]
        return "\n".join([*aligned([head, *rows]), f"{self.model}: least on held-out rows at degree {self.best}"])


def degree_curve(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    degrees: Sequence[int] = (1, 2, 3, 4, 5, 6),
    cv: SplitsLike = None,
    random_state: RandomState = 0,
) -> DegreeCurve:
    """Training and held-out error of a model with all products of the columns up to a degree.

    Parameters
    ----------
    model : classifier
        Copies of it are fitted to standardised products.
    X : array-like or frame of shape (n_rows, n_columns)
        The columns whose products are formed; a few.
    y : array-like of shape (n_rows,)
        Their labels.
    degrees : sequence of int, default=(1, 2, 3, 4, 5, 6)
        Degrees to try, in increasing order.
    cv : int, splitter or None, default=None
        Folds, as for `cross_validate`.
    random_state : int or numpy Generator, default=0
        For the folds.

    Returns
    -------
    DegreeCurve
        Errors at each degree. The model overfits where the training error decreases and the held-out error increases.

    See Also
    --------
    learning_curve : The error against the number of rows.
    discriminant.figures.degree_curve : Draws it.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.datasets import curved
    >>> data = curved(80)
    >>> print(degree_curve(LogisticRegression(alpha=1e-8), data.X, data.y, degrees=[1, 2, 6]))
    degree  columns  training error     held-out error
    1             2             0.3306  0.3375 (0.2435 to 0.4464)
    2             5             0.1319  0.1625 (0.0975 to 0.2584)
    6            27             0.0000  0.2375 (0.1576 to 0.3414)
    LogisticRegression: least on held-out rows at degree 2
    """
    wanted = [int(degree) for degree in degrees]
    if not wanted or wanted != sorted(set(wanted)):
        raise ParameterError(f"degrees must be increasing integers of at least 1, got {list(degrees)}.")
    check_integer("degrees", wanted[0], 1)
    ((name, classifier),) = named_models(model).items()
    made = {
        str(degree): make_pipeline(PolynomialFeatures(degree, include_bias=False), StandardScaler(), clone(classifier))
        for degree in wanted
    }
    found = cross_validate(made, X, y, cv=cv, metrics=["error_rate"], train_scores=True, random_state=random_state)
    p = as_rows(X).n_columns
    return DegreeCurve(
        name,
        np.array(wanted),
        np.array([math.comb(p + degree, degree) - 1 for degree in wanted]),
        np.array([found.train_scores(degree, "error_rate").mean() for degree in made]),
        tuple(found.estimate(degree, "error_rate") for degree in made),
    )
