"""What the three verbs share: which outcome is reported, and what its standard errors rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ..arrays import RandomState
from ..data import check_integer
from ..errors import ParameterError, Setting
from ..evaluation.intervals import check_level


@dataclass(frozen=True)
class EffectOptions:
    """Options of `predictions`, `comparisons` and `slopes`.

    Parameters
    ----------
    outcome : label, optional
        The class whose probability is reported. Default: the second of two classes, else every class.
    weights : array-like of shape (n_rows,), optional
        Weights of the rows in the averages, and in the fits of resamples.
    covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"} or array, optional
        Covariance of the coefficients, as in `LogisticRegression.summary`; or the matrix itself, such as
        `coefficient_covariance` of the fit whose model was stored.
    clusters : array-like of shape (n_training_rows,), optional
        The cluster of each training row, for clustered covariances. Resamples draw whole clusters.
    resamples : int, default=0
        Bootstrap resamples for standard errors and percentile intervals, for models without a covariance. The rows are
        then the training rows, to which the model is fitted again.
    y : array-like of shape (n_rows,), optional
        The classes of the training rows, for ``resamples``; a model of a formula reads them from the rows.
    level : float, default=0.95
        Confidence of the intervals.
    random_state : int or Generator, default=0
        Of the resamples.

    See Also
    --------
    predictions : Takes these options, like the other two verbs.

    Examples
    --------
    >>> from discriminant.effects import EffectOptions
    >>> EffectOptions(covariance="HC1", level=0.9).level
    0.9
    """

    outcome: Any = None
    weights: ArrayLike | None = None
    covariance: str | ArrayLike | None = None
    clusters: ArrayLike | None = None
    resamples: int = 0
    y: ArrayLike | None = None
    level: float = 0.95
    random_state: RandomState = 0

    def __post_init__(self) -> None:
        check_integer("resamples", self.resamples, 0)
        if self.resamples and self.covariance is not None:
            raise ParameterError(
                Setting("covariance"), " is not used with ", Setting("resamples"), ". Leave one of them out."
            )
        check_level(self.level)
