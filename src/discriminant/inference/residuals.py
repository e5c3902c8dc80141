"""Residuals, leverage and influence of the rows of a logistic regression, and tests of its fit.

With the coded columns z of a row, the residuals ``e = y - p`` of the K - 1 outcomes, their covariance V and the inverse
information C, the row has ``A = z'Cz`` (one block for each pair of outcomes) and the leverage ``tr(VA)``. Leaving the
row out changes the coefficients by ``C z (I - VA)^-1 e``, in one Newton step (Pregibon 1981; Lesaffre & Albert 1989 for
several outcomes).

References
----------
Pregibon, D. (1981). Logistic regression diagnostics. Annals of Statistics 9.
Lesaffre, E. & Albert, A. (1989). Multiple-group logistic regression diagnostics. Applied Statistics 38.
Dunn, P. K. & Smyth, G. K. (1996). Randomized quantile residuals. J. Computational and Graphical Statistics 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri, softmax

from ..arrays import Array

#: Rows whose matrices are inverted at a time.
BLOCK_ROWS: Final = 4096
#: Probabilities closer to 0 or 1 than this have normal quantiles beyond 8.
MIN_TAIL: Final = 1e-16


@dataclass(frozen=True)
class FittedRows:
    """Training rows with what a model made of them.

    ``Z`` (n, q) are coded columns with the intercept, ``scores`` (n, K) linear predictors, 0 for the reference class,
    ``codes`` (n,) classes, ``weight`` (n,) frequencies, ``outcomes`` the classes other than the reference,
    ``covariance`` that of the coefficients, outcome by outcome, and ``n_parameters`` how many of these were estimated.
    """

    Z: Array
    scores: Array
    codes: Array
    weight: Array
    outcomes: list[int]
    covariance: Array
    n_parameters: int

    @cached_property
    def P(self) -> Array:
        """The probabilities of the classes (n, K)."""
        return softmax(self.scores, axis=1)

    @property
    def observed(self) -> Array:
        """The probability of the class that was observed."""
        return self.P[np.arange(len(self.P)), self.codes]

    @property
    def residuals(self) -> Array:
        """``y - p`` of each outcome (n, K - 1)."""
        return (self.codes[:, None] == self.outcomes) - self.P[:, self.outcomes]


def deviance_residuals(rows: FittedRows) -> Array:
    """``sqrt(-2 log p)`` of the observed class; of two classes with the sign of ``y - p``."""
    size = np.sqrt(-2 * np.log(rows.observed))
    return size * np.sign(rows.residuals[:, 0]) if len(rows.outcomes) == 1 else size


def pearson_residuals(rows: FittedRows) -> Array:
    """``(y - p) / sqrt(p (1 - p))``; of several classes the root of a row's part of Pearson's chi-square."""
    size = np.sqrt((1 - rows.observed) / rows.observed)
    return size * np.sign(rows.residuals[:, 0]) if len(rows.outcomes) == 1 else size


def quantile_residuals(rows: FittedRows, generator: np.random.Generator) -> Array:
    """Randomised quantile residuals, standard normal if the model holds; classes are ordered as they are numbered."""
    upper = np.cumsum(rows.P, axis=1)[np.arange(len(rows.P)), rows.codes]
    drawn = upper - rows.observed * generator.random(len(rows.P))
    return ndtri(np.clip(drawn, MIN_TAIL, 1 - MIN_TAIL))


@dataclass(frozen=True)
class Influence:
    """Leverage and Cook's distance (n,), and dfbetas (n, parameters): changes of coefficients in standard errors."""

    leverage: Array
    cooks: Array
    dfbetas: Array


def influence(rows: FittedRows) -> Influence:
    """The influence of each row: of one of its copies, where it has a frequency.

    Dfbetas of two classes are those of R's `influence.measures`: from deviance residuals, with the dispersion of the
    other rows. Those of several classes are one-step changes in standard errors.
    """
    blocks = [_influence(rows, slice(start, start + BLOCK_ROWS)) for start in range(0, len(rows.P), BLOCK_ROWS)]
    leverage, cooks, change = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    errors = np.sqrt(np.diagonal(rows.covariance))
    errors = np.where(errors > 0, errors, np.nan)
    if len(rows.outcomes) > 1:
        return Influence(leverage, cooks, change / errors)
    deviance = deviance_residuals(rows)
    total = float(rows.weight @ deviance**2)
    free = rows.weight.sum() - rows.n_parameters - 1
    dispersion = np.sqrt(np.maximum(total - deviance**2 / (1 - leverage), 0.0) / free)
    pearson = pearson_residuals(rows)
    ratio = np.divide(
        deviance, pearson, where=pearson != 0, out=np.full_like(pearson, np.sqrt(2))
    )  # its limit at p = 1
    scale = ratio / dispersion
    return Influence(leverage, cooks, change * scale[:, None] / errors)


def _influence(rows: FittedRows, part: slice) -> tuple[Array, Array, Array]:
    """Leverage, Cook's distance and one-step changes of a block of rows."""
    Z, p, e, L = rows.Z[part], rows.P[part][:, rows.outcomes], rows.residuals[part], len(rows.outcomes)
    q = Z.shape[1]
    blocks = rows.covariance.reshape(L, q, L, q)
    A = np.einsum("ij,ljmk,ik->ilm", Z, blocks, Z, optimize=True)
    V = p[:, :, None] * (np.eye(L) - p[:, None, :])
    VA = V @ A
    moved = np.linalg.solve(np.eye(L) - VA, e[:, :, None])[:, :, 0]
    change = np.einsum("ljmk,ik,im->ilj", blocks, Z, moved, optimize=True).reshape(len(Z), L * q)
    cooks = np.einsum("il,ilm,im->i", moved, A, moved) / rows.n_parameters
    return np.trace(VA, axis1=1, axis2=2), cooks, change


@dataclass(frozen=True)
class FitTest:
    """A goodness-of-fit test: its name, statistic, degrees of freedom (None: a normal deviate) and p-value."""

    name: str
    statistic: float
    df: int | None
    p_value: float


def hosmer_lemeshow(rows: FittedRows, groups: int = 10) -> FitTest:
    """Observed and expected counts in groups of rows by their risk (of several classes: 1 - p of the reference).

    References
    ----------
    Fagerland, M. W., Hosmer, D. W. & Bofin, A. M. (2008). Multinomial goodness-of-fit tests for logistic regression
    models. Statistics in Medicine 27.
    """
    counts = rows.weight.astype(np.int64)
    P, codes = np.repeat(rows.P, counts, axis=0), np.repeat(rows.codes, counts)
    risk = P[:, rows.outcomes].sum(axis=1)
    edges = np.unique(np.quantile(risk, np.linspace(0, 1, groups + 1)))
    place = np.searchsorted(edges[1:-1], risk, side="left")
    n_groups = len(edges) - 1
    statistic = 0.0
    for k in range(P.shape[1]):
        expected = np.bincount(place, P[:, k], n_groups)
        observed = np.bincount(place, codes == k, n_groups)
        statistic += float(((observed - expected) ** 2 / np.maximum(expected, np.finfo(float).tiny)).sum())
    df = (n_groups - 2) * len(rows.outcomes)
    return FitTest("Hosmer-Lemeshow", statistic, df, float(chdtrc(df, statistic)) if df > 0 else np.nan)


def le_cessie(rows: FittedRows) -> FitTest:
    """The unweighted sum of squared residuals of two classes, against its expectation under the model.

    References
    ----------
    le Cessie, S. & van Houwelingen, J. C. (1991). A goodness-of-fit test for binary regression models, based on
    smoothing methods. Biometrics 47. In the form of Hosmer, D. W. et al. (1997), Statistics in Medicine 16.
    """
    p = rows.P[:, rows.outcomes[0]]
    variance, slope = p * (1 - p), 1 - 2 * p
    excess = float(rows.weight @ (rows.residuals[:, 0] ** 2 - variance))
    root = np.sqrt(rows.weight * variance)
    fitted, *_ = np.linalg.lstsq(root[:, None] * rows.Z, root * slope, rcond=None)
    deviation = float(np.linalg.norm(root * (slope - rows.Z @ fitted)))
    z = excess / deviation if deviation > 0 else np.nan
    return FitTest("le Cessie-van Houwelingen", z, None, float(2 * ndtr(-abs(z))))


@dataclass(frozen=True)
class VarianceInflation:
    """The generalised variance inflation factor of a term, and its root by degrees of freedom (Fox & Monette 1992)."""

    term: str
    gvif: float
    df: int
    scaled: float


def variance_inflation(covariance: Array, terms: list[str]) -> list[VarianceInflation]:
    """How much the variance of each term's coefficients is raised by its correlation with the others.

    ``covariance`` is that of all slopes, and ``terms`` the term that each belongs to; aliased ones have variance 0.
    """
    kept = np.diagonal(covariance) > 0
    errors = np.sqrt(np.diagonal(covariance)[kept])
    correlation = covariance[np.ix_(kept, kept)] / np.outer(errors, errors)
    owners = np.array(terms, dtype=object)[kept]
    whole, found = np.linalg.slogdet(correlation)[1], []
    for term in dict.fromkeys(owners):
        own = owners == term
        parts = sum(np.linalg.slogdet(correlation[np.ix_(side, side)])[1] for side in (own, ~own))
        df, gvif = int(own.sum()), float(np.exp(parts - whole))
        found.append(VarianceInflation(term, gvif, df, gvif ** (1 / (2 * df))))
    return found
