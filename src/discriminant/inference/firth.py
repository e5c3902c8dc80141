"""Firth's logistic regression: maximum likelihood with Jeffreys' prior as penalty (Firth 1993; Heinze & Schemper 2002).

What is maximised is ``log L(b) + log det I(b) / 2``, with I the Fisher information of all coefficients. The maximum is
finite also where classes are separated, and has less bias than maximum likelihood where they are not.

All of it is one model for K classes, the scores of all but a reference class being linear in the columns z; two classes
are K = 2. With p the probabilities of a row's K - 1 classes, V = diag(p) - p p' and w its weight,

- the likelihood's score is ``sum w (y - p) z'``,
- the information has blocks ``I_kl = sum w V_kl z z'``,
- the penalty's score is ``tr(I^-1 dI) / 2 = sum w V (diag(G) - 2 G p) z' / 2`` with ``G_kl = z' (I^-1)_kl z``.

For two classes w V G is the diagonal h of the hat matrix, and the whole score ``sum (w (y - p) + h (1/2 - p)) z``.

Columns are made orthonormal first, so units and near collinearity cost no digits, and coefficients are mapped back.
Penalties and log-likelihoods are those of the original columns. Weights are frequencies: weight 3 means three rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import logsumexp
from scipy.stats import chi2

from ..errors import DegenerateDataError
from .separation import standard_design

Array = np.ndarray[Any, Any]

#: An iteration ends when the next step is shorter than this, squared, in standard errors.
_SHORT_STEP = 1e-18
#: The same to be called converged where rounding allows no better.
_SHORT_ENOUGH = 1e-12
#: Steps remembered by the quasi-Newton iteration.
_MEMORY = 8


@dataclass(frozen=True)
class FirthFit:
    """Firth's estimate.

    Attributes
    ----------
    coef : array of shape (p + 1,), or (K - 1, p + 1) for the multinomial model
        The intercept comes last; it is 0 if none was fitted.
    covariance : array
        The inverse of the Fisher information at the estimate, of ``coef.ravel()``.
    penalised_log_likelihood : float
        ``log L + log det I / 2`` with the information of the original columns, so it depends on their units.
    log_likelihood : float
    iterations : int
    converged : bool
    fit_intercept : bool
    """

    coef: Array
    covariance: Array
    penalised_log_likelihood: float
    log_likelihood: float
    iterations: int
    converged: bool
    fit_intercept: bool


def firth_binary(
    X: Array,
    codes: Array,
    weight: Array | None = None,
    offset: Array | None = None,
    fit_intercept: bool = True,
    max_iter: int = 200,
) -> FirthFit:
    """Firth's estimate for two classes: the log-odds of code 1 against code 0.

    Parameters
    ----------
    X : array of shape (n, p)
        Rows, without a column for the intercept.
    codes : array of shape (n,)
        0 or 1.
    weight : array of shape (n,), optional
        Frequencies of the rows; need not be integers.
    offset : array of shape (n,), optional
        A known part of each row's log-odds.
    fit_intercept : bool
    max_iter : int

    Returns
    -------
    FirthFit

    Examples
    --------
    In a table of two binary variables it amounts to adding 1/2 to each cell, here 0, 5, 4 and 1:

    >>> import numpy as np
    >>> fit = firth_binary(np.array([[0], [0], [1], [1]]), np.array([1, 0, 1, 0]), weight=np.array([0, 5, 4, 1]))
    >>> fit.coef.round(6)
    array([ 3.496508, -2.397895])
    >>> np.log([4.5 / 1.5 * 5.5 / 0.5, 0.5 / 5.5]).round(6)
    array([ 3.496508, -2.397895])
    """
    problem = _problem(X, 1 - np.asarray(codes), 2, weight, offset, fit_intercept)
    return _fitted(problem, (-1,), max_iter)


def firth_multinomial(
    X: Array,
    codes: Array,
    n_classes: int,
    weight: Array | None = None,
    offset: Array | None = None,
    fit_intercept: bool = True,
    max_iter: int = 200,
) -> FirthFit:
    """Firth's estimate for K classes: the log-odds of each but the last against the last.

    For two classes these are the log-odds of code 0, so minus the coefficients of `firth_binary`.

    Parameters
    ----------
    X : array of shape (n, p)
        Rows, without a column for the intercept.
    codes : array of shape (n,)
        0 to n_classes - 1; each must occur.
    n_classes : int
    weight : array of shape (n,), optional
        Frequencies of the rows; need not be integers.
    offset : array of shape (n, K - 1), optional
        A known part of each row's log-odds.
    fit_intercept : bool
    max_iter : int

    Returns
    -------
    FirthFit

    Examples
    --------
    >>> import numpy as np
    >>> fit = firth_multinomial(np.empty((9, 0)), np.repeat([0, 1, 2], [5, 3, 1]), n_classes=3)
    >>> fit.coef.ravel().round(6)
    array([1.299283, 0.847298])
    >>> np.log([5.5 / 1.5, 3.5 / 1.5]).round(6)
    array([1.299283, 0.847298])
    """
    problem = _problem(X, np.asarray(codes), n_classes, weight, offset, fit_intercept)
    return _fitted(problem, (n_classes - 1, -1), max_iter)


def firth_profile_intervals(
    X: Array,
    codes: Array,
    fit: FirthFit,
    level: float = 0.95,
    weight: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """Profile penalised-likelihood intervals of all coefficients, an array ``fit.coef.shape + (2,)``.

    An interval holds the values that the penalised likelihood-ratio test does not reject at ``1 - level``.

    Parameters
    ----------
    X, codes, weight, offset
        As given to `firth_binary` or `firth_multinomial`.
    fit : FirthFit
        What they returned.
    level : float

    Returns
    -------
    array
        Lower and upper ends; 0 for an intercept that was not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> fit = firth_binary(X, codes)
    >>> firth_profile_intervals(X, codes, fit).round(3)
    array([[  0.245,   3.978],
           [-13.936,  -0.65 ]])
    """
    problem = _problem_of(fit, X, codes, weight, offset)
    threshold = float(chi2.ppf(level, 1))
    start = _start(problem, fit)
    ends = [
        [_profile_end(problem, start, fit, problem.to_coef[j], side, threshold) for side in (-1, 1)]
        for j in range(len(problem.to_coef))
    ]
    # Two classes are fitted as the odds of code 0: the negative of what is reported.
    ends = np.array(ends) if fit.coef.ndim == 2 else -np.array(ends)[:, ::-1]
    return ends.reshape(*fit.coef.shape, 2) + 0.0


def firth_profile_p_values(
    X: Array, codes: Array, fit: FirthFit, weight: Array | None = None, offset: Array | None = None
) -> Array:
    """P-values of the penalised likelihood-ratio test that a coefficient is 0, for each of them.

    The penalty keeps the information of all coefficients also where one is held at 0, as in the R package logistf.

    Parameters
    ----------
    X, codes, weight, offset
        As given to `firth_binary` or `firth_multinomial`.
    fit : FirthFit
        What they returned.

    Returns
    -------
    array, shape of ``fit.coef``
        NaN for an intercept that was not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> firth_profile_p_values(X, codes, firth_binary(X, codes)).round(4)
    array([0.0065, 0.0125])
    """
    problem = _problem_of(fit, X, codes, weight, offset)
    best = problem.at(_start(problem, fit)).value
    p_values = np.full(len(problem.to_coef), np.nan)
    for j, functional in enumerate(problem.to_coef):
        if functional.any():
            held = _maximum(problem, np.zeros(problem.n_parameters), _complement(functional))
            p_values[j] = chi2.sf(2 * max(best - held.point.value, 0.0), 1)
    return p_values.reshape(fit.coef.shape)


@dataclass(frozen=True)
class _Point:
    """The penalised log-likelihood at a point, with its score and the factor of the information."""

    theta: Array
    value: float
    log_likelihood: float
    score: Array
    information: Array


class _Problem:
    """The penalised log-likelihood of K - 1 scores in orthonormal columns, as a function of a vector ``theta``.

    ``to_coef`` maps theta to the coefficients of the original columns, class by class.
    """

    def __init__(self, columns: Array, to_coef: Array, free: Array, codes: Array, weight: Array, offset: Array) -> None:
        self.columns, self.weight, self.offset = columns, weight, offset
        n_scores = offset.shape[1]
        self.target = (codes[:, None] == np.arange(n_scores)).astype(np.float64)
        self.shape = (n_scores, columns.shape[1])
        self.n_parameters = n_scores * columns.shape[1]
        self.to_coef = np.kron(np.eye(n_scores), to_coef)
        # log det of the information of the original columns, minus that of the orthonormal ones
        self.log_det_units = -2 * n_scores * float(np.linalg.slogdet(to_coef[free])[1])

    def at(self, theta: Array) -> _Point:
        """Everything at a point; the value is -inf where the information is singular to working precision."""
        scores = self.columns @ theta.reshape(self.shape).T + self.offset
        norm = logsumexp(np.column_stack((scores, np.zeros(len(scores)))), axis=1)
        log_likelihood = float(self.weight @ ((self.target * scores).sum(axis=1) - norm))
        p = np.exp(scores - norm[:, None])
        information = self._information(p)
        try:
            factor = np.linalg.cholesky(information)
        except np.linalg.LinAlgError:
            return _Point(theta, -np.inf, log_likelihood, np.zeros_like(theta), information)
        log_det = 2 * float(np.log(np.diagonal(factor)).sum()) + self.log_det_units
        residual = (self.target - p) + self._penalty_slope(p, factor)
        score = (self.columns.T @ (self.weight[:, None] * residual)).T.ravel()
        return _Point(theta, log_likelihood + log_det / 2, log_likelihood, score, information)

    def _information(self, p: Array) -> Array:
        c, q = self.shape
        blocks = np.empty((c, q, c, q))
        for k in range(c):
            for m in range(k + 1):
                # 1 - p as such: subtracting would lose all digits where p is near 1
                weight = p[:, k] * (self._rest(p, k) if k == m else -p[:, m]) * self.weight
                blocks[k, :, m] = self.columns.T @ (weight[:, None] * self.columns)
                blocks[m, :, k] = blocks[k, :, m].T
        return blocks.reshape(c * q, c * q)

    def _rest(self, p: Array, k: int) -> Array:
        return 1 - p[:, k]

    def _penalty_slope(self, p: Array, factor: Array) -> Array:
        """``V (diag(G) - 2 G p) / 2`` of each row."""
        c, q = self.shape
        inverse = cho_solve((factor, True), np.eye(c * q)).reshape(c, q, c, q)
        diagonal, product = np.empty_like(p), np.zeros_like(p)
        for k in range(c):
            for m in range(c):
                g = np.einsum("ij,ij->i", self.columns @ inverse[k, :, m], self.columns)
                product[:, k] += g * p[:, m]
                if k == m:
                    diagonal[:, k] = g
        inner = diagonal - 2 * product
        return 0.5 * p * (inner - (p * inner).sum(axis=1, keepdims=True))
