"""The sample size for developing a risk model (Riley et al. 2020; several classes Pate et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from scipy.special import log_expit, ndtri

from ..arrays import Array
from ..data import check_integer, check_number
from ..errors import ParameterError, Setting
from ..results import Result, aligned, count, number, several

#: Nagelkerke's R2 that is assumed without information on the performance (Riley et al. 2020).
ASSUMED_NAGELKERKE: Final = 0.15
#: The largest difference between apparent and adjusted Nagelkerke R2.
MAX_R2_DIFFERENCE: Final = 0.05
CONFIDENCE: Final = 0.95
QUADRATURE_POINTS: Final = 80


@dataclass(frozen=True)
class SampleSizeCriterion:
    """A criterion and its required number of rows."""

    criterion: str
    n_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class SampleSize(Result):
    """The required sample size for developing a model.

    Attributes
    ----------
    rows : list of SampleSizeCriterion
        The criteria with their required rows.
    n_rows : int
        The maximum over the criteria.
    n_parameters : int
        Parameters of each linear predictor, without the intercept.
    events_per_parameter : float
        Rows of the rarest class per parameter at this sample size.
    r2 : float
        The assumed Cox-Snell R2.

    See Also
    --------
    sample_size : Computes it.
    """

    rows: list[SampleSizeCriterion]
    n_rows: int
    n_parameters: int
    events_per_parameter: float
    r2: float

    def __str__(self) -> str:
        table = aligned([["criterion", "rows"], *([one.criterion, count(one.n_rows)] for one in self.rows)])
        return "\n".join(
            [
                f"Sample size for {several(self.n_parameters, 'parameter')}: {count(self.n_rows)} rows "
                f"({number(self.events_per_parameter, 3)} rows of the rarest class per parameter)",
                *table,
                f"assumed Cox-Snell R2: {number(self.r2)}",
            ]
        )


def sample_size(
    n_parameters: int,
    shares: float | Sequence[float],
    r2: float | None = None,
    auc: float | Sequence[float] | None = None,
    shrinkage: float = 0.9,
    margin: float = 0.05,
) -> SampleSize:
    """The required sample size for developing a logistic or multinomial model.

    It is the maximum of three criteria: the coefficients need little shrinkage (``shrinkage``), apparent and adjusted
    Nagelkerke R2 differ by at most 0.05, and the class proportions are estimated with a margin of error of at most
    ``margin``.

    Parameters
    ----------
    n_parameters : int
        Candidate parameters of each linear predictor, without the intercept: each column of a spline or category
        counts.
    shares : float, or list of float
        The share of the outcome, or the proportions of all classes.
    r2 : float, optional
        The expected Cox-Snell R2. Default: from ``auc``, else that of a Nagelkerke R2 of 0.15.
    auc : float, or list of float, optional
        The expected AUC; for several classes the AUC of each pair, in the order of ``itertools.combinations``.
    shrinkage : float, default=0.9
        The smallest acceptable shrinkage factor (calibration slope).
    margin : float, default=0.05
        Half the width of the 95 % confidence interval of each share.

    Returns
    -------
    SampleSize

    See Also
    --------
    validate : How a fitted model would do on new rows.

    References
    ----------
    Riley, R. D. et al. (2020). Calculating the sample size required for developing a clinical prediction model. BMJ
    368.
    Riley, R. D., Van Calster, B. & Collins, G. S. (2021). A note on estimating the Cox-Snell R2 from a reported C
    statistic. Statistics in Medicine 40.
    Pate, A. et al. (2023). Minimum sample size for developing a multivariable prediction model using multinomial
    logistic regression. Statistical Methods in Medical Research 32.

    Examples
    --------
    >>> from discriminant import sample_size
    >>> print(sample_size(24, 0.174, r2=0.288))
    Sample size for 24 parameters: 662 rows (4.8 rows of the rarest class per parameter)
    criterion                         rows
    shrinkage of at least 0.9          623
    difference of R2 of at most 0.05   662
    class proportions to within 0.05   221
    assumed Cox-Snell R2: 0.288
    """
    check_integer("n_parameters", n_parameters, 1)
    check_number("shrinkage", shrinkage, 0.01, 0.999)
    check_number("margin", margin, 0.0, 0.5, open_below=True)
    own = _shares(shares)
    aucs = _pair_aucs(auc, len(own))
    if aucs is not None and len(own) == 2 and r2 is None:
        r2 = cox_snell(aucs[0], float(own[1]))
    most = max_cox_snell(own)
    expected = ASSUMED_NAGELKERKE * most if r2 is None else r2
    check_number("r2", expected, 0.0, most, open_below=True)
    if expected >= min(shrinkage, most):
        raise ParameterError(Setting("r2"), f" must be below {number(min(shrinkage, most))}, got {number(expected)}.")
    K = len(own)
    pairs = []
    for place, (k, other) in enumerate(combinations(range(K), 2)):
        both = float(own[k] + own[other])
        pair = own[[k, other]] / both
        fit = expected if K == 2 else _pair_r2(pair, None if aucs is None else aucs[place])
        pairs.append(_rows_for(n_parameters, fit, shrinkage) / both)
    adjusted = expected / (expected + MAX_R2_DIFFERENCE * most)
    z = float(ndtri(1 - (1 - CONFIDENCE) / (2 * (1 if K == 2 else K))))
    needed = {
        f"shrinkage of at least {number(shrinkage)}": max(pairs),
        "difference of R2 of at most 0.05": _rows_for(n_parameters * (K - 1), expected, adjusted),
        f"class proportions to within {number(margin)}": float((z**2 * own * (1 - own)).max()) / margin**2,
    }
    rows = [SampleSizeCriterion(name, math.ceil(value - 1e-9)) for name, value in needed.items()]
    largest = max(one.n_rows for one in rows)
    return SampleSize(rows, largest, n_parameters, largest * float(own.min()) / n_parameters, float(expected))


def _rows_for(n_parameters: int, r2: float, shrinkage: float) -> float:
    return n_parameters / ((shrinkage - 1) * math.log1p(-r2 / shrinkage))


def _pair_r2(pair: Array, auc: float | None) -> float:
    return ASSUMED_NAGELKERKE * max_cox_snell(pair) if auc is None else cox_snell(auc, float(pair[1]))


def _shares(shares: float | Sequence[float]) -> Array:
    given = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    own = np.array([1 - given[0], given[0]]) if given.size == 1 else given
    if not ((own > 0) & (own < 1)).all() or abs(own.sum() - 1) > 1e-6:
        raise ParameterError(Setting("shares"), f" must be between 0 and 1 and add up to 1, got {shares!r}.")
    return own


def _pair_aucs(auc: Any, n_classes: int) -> list[float] | None:
    if auc is None:
        return None
    found = np.atleast_1d(np.asarray(auc, dtype=np.float64)).tolist()
    n_pairs = n_classes * (n_classes - 1) // 2
    if len(found) != n_pairs or not all(0.5 < one < 1 for one in found):
        raise ParameterError(Setting("auc"), f" must be {several(n_pairs, 'number')} between 0.5 and 1, got {auc!r}.")
    return found


def max_cox_snell(shares: Array) -> float:
    """The largest Cox-Snell R2 that classes of these shares allow."""
    return float(-np.expm1(2 * (shares * np.log(shares)).sum()))


def cox_snell(auc: float, share: float) -> float:
    """The Cox-Snell R2 of a logistic model with this AUC, whose linear predictor is normal in both classes."""
    distance = math.sqrt(2) * float(ndtri(auc))
    points, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_POINTS)
    weights = weights / weights.sum()
    intercept = math.log(share / (1 - share)) - distance**2 / 2
    gain = share * weights @ log_expit(intercept + distance * (points + distance))
    gain += (1 - share) * weights @ log_expit(-(intercept + distance * points))
    null = share * math.log(share) + (1 - share) * math.log1p(-share)
    return float(-math.expm1(-2 * (gain - null)))
