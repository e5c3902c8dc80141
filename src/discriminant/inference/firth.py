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
from scipy.special import chdtrc, logsumexp, ndtri

from ..arrays import Array
from ..data import dense_rows
from ..errors import DegenerateDataError
from ..objective import Objective
from ..solvers.smooth import LBFGSMemory, line_search
from .ml_existence import standard_design

#: An iteration ends when the next step is shorter than this, squared, in standard errors.
_SHORT_STEP = 1e-22
#: The same to be called converged where rounding allows no better.
_SHORT_ENOUGH = 1e-12
#: Steps remembered by the quasi-Newton iteration.
_MEMORY = 8
#: Gains below this, relative to the value, are lost in its rounding: such steps are taken without looking.
_UNSEEN = 1e-13


@dataclass(frozen=True)
class FirthFit:
    """Firth's estimate.

    It is finite also where the classes are separated.

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


def firth_data(objective: Objective) -> dict[str, Any]:
    """The rows of an objective as the functions here take them."""
    data, offset = objective.data, objective.data.offset
    if offset is not None and len(data.classes) > 2:
        offset = offset[:, :-1] - offset[:, -1:]
    X = dense_rows(data.rows.block(0, data.n_rows)).astype(np.float64)
    return {"X": X, "codes": data.codes, "weight": data.weight, "offset": offset}


def firth_binary(
    X: Array, codes: Array, weight: Array | None = None, offset: Array | None = None, fit_intercept: bool = True,
    max_iter: int = 200,
) -> FirthFit:  # fmt: skip
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
    return _fitted(_problem(X, codes, None, weight, offset, fit_intercept), (-1,), max_iter, fit_intercept)


def firth_multinomial(
    X: Array, codes: Array, n_classes: int, weight: Array | None = None, offset: Array | None = None,
    fit_intercept: bool = True, max_iter: int = 200,
) -> FirthFit:  # fmt: skip
    """Firth's estimate for K classes: the log-odds of each but the last against the last.

    For two classes these are the log-odds of code 0, so minus the coefficients of `firth_binary`, which describes the
    parameters. Here codes go from 0 to ``n_classes - 1``, and an offset has a column for each class but the last.

    Examples
    --------
    >>> import numpy as np
    >>> fit = firth_multinomial(np.empty((9, 0)), np.repeat([0, 1, 2], [5, 3, 1]), n_classes=3)
    >>> fit.coef.ravel().round(6)
    array([1.299283, 0.847298])
    >>> np.log([5.5 / 1.5, 3.5 / 1.5]).round(6)
    array([1.299283, 0.847298])
    """
    problem = _problem(X, codes, n_classes, weight, offset, fit_intercept)
    return _fitted(problem, (n_classes - 1, -1), max_iter, fit_intercept)


def firth_profile_intervals(
    X: Array, codes: Array, fit: FirthFit, level: float = 0.95, weight: Array | None = None,
    offset: Array | None = None, terms: Array | None = None,
) -> Array:  # fmt: skip
    """Profile penalised-likelihood intervals of all coefficients, an array ``fit.coef.shape + (2,)``.

    An interval holds the values that the penalised likelihood-ratio test does not reject at ``1 - level``.

    Parameters
    ----------
    X, codes, weight, offset
        As given to `firth_binary` or `firth_multinomial`.
    fit : FirthFit
        What they returned.
    level : float
    terms : array of shape (m, number of coefficients), optional
        Linear functions of ``fit.coef.ravel()`` whose intervals are wanted instead, in an array (m, 2).

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
    array([[  0.134,   5.746],
           [-20.41 ,  -0.123]])
    """
    problem, best = _maximum_of(fit, X, codes, weight, offset)
    threshold = float(ndtri(0.5 + level / 2)) ** 2
    rows = problem.to_coef if terms is None else terms @ problem.to_coef
    ends = np.array([[_profile_end(problem, best, row, side, threshold) for side in (-1, 1)] for row in rows])
    return ends.reshape(*fit.coef.shape, 2) if terms is None else ends


def firth_profile_p_values(
    X: Array, codes: Array, fit: FirthFit, weight: Array | None = None, offset: Array | None = None,
    terms: Array | None = None,
) -> Array:  # fmt: skip
    """P-values of the penalised likelihood-ratio test that a coefficient is 0, for each of them.

    The penalty keeps the information of all coefficients also where one is held at 0, as in the R package logistf.
    Parameters are those of `firth_profile_intervals`; an intercept that was not fitted has NaN.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> firth_profile_p_values(X, codes, firth_binary(X, codes)).round(4)
    array([0.0166, 0.0399])
    """
    problem, best = _maximum_of(fit, X, codes, weight, offset)
    rows = problem.to_coef if terms is None else terms @ problem.to_coef
    p_values = np.full(len(rows), np.nan)
    for j, functional in enumerate(rows):
        if functional.any():
            p_values[j] = chdtrc(1, _restricted_deviance(problem, best, _complement(functional)))
    return p_values.reshape(fit.coef.shape) if terms is None else p_values


def firth_nested_deviance(
    X: Array, codes: Array, fit: FirthFit, smaller: Array, smaller_intercept: bool, weight: Array | None = None,
    offset: Array | None = None,
) -> float:  # fmt: skip
    """Twice the penalised log-likelihood that is lost where the scores are linear in other, fewer columns.

    The penalty keeps the information of all coefficients of the larger model, as in `firth_profile_p_values`:
    penalties of models with different numbers of coefficients cannot be compared.

    Parameters
    ----------
    X, codes, fit, weight, offset
        As for `firth_profile_intervals`.
    smaller : array of shape (n, q)
        Columns of the smaller model, linear functions of ``X`` and its intercept.
    smaller_intercept : bool

    Returns
    -------
    float
    """
    problem, best = _maximum_of(fit, X, codes, weight, offset)
    counted = slice(None) if weight is None else np.asarray(weight) > 0
    columns = standard_design(np.asarray(smaller, dtype=np.float64)[counted], smaller_intercept).columns
    basis = np.linalg.qr(np.linalg.lstsq(problem.columns, columns, rcond=None)[0])[0]
    return _restricted_deviance(problem, best, np.kron(np.eye(problem.shape[0]), basis))


def _restricted_deviance(problem: _FirthLikelihood, best: _FirthPoint, basis: Array) -> float:
    """Twice the penalised log-likelihood that is lost within the span of ``basis``."""
    held = _maximum(problem, np.zeros(problem.n_parameters), basis)[0]
    return 2 * max(best.value - held.value, 0.0)


@dataclass(frozen=True)
class _FirthPoint:
    """The penalised log-likelihood at a point, with its score and the information."""

    theta: Array
    value: float
    log_likelihood: float
    score: Array
    information: Array


class _FirthLikelihood:
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

    def at(self, theta: Array) -> _FirthPoint:
        """Everything at a point; the value is -inf where the information is singular to working precision."""
        scores = self.columns @ theta.reshape(self.shape).T + self.offset
        every = np.column_stack((scores, np.zeros(len(scores))))
        norm = logsumexp(every, axis=1)
        log_likelihood = float(self.weight @ ((self.target * scores).sum(axis=1) - norm))
        every = np.exp(every - norm[:, None])
        p = every[:, :-1]
        # 1 - p as a sum of the others: the difference would lose all digits where p is near 1
        rest = np.column_stack([np.delete(every, k, axis=1).sum(axis=1) for k in range(p.shape[1])])
        information = self._information(p, rest)
        try:
            factor = np.linalg.cholesky(information)
        except np.linalg.LinAlgError:
            return _FirthPoint(theta, -np.inf, log_likelihood, np.zeros_like(theta), information)
        log_det = 2 * float(np.log(np.diagonal(factor)).sum()) + self.log_det_units
        residual = np.where(self.target == 1, rest, -p) + self._penalty_slope(p, rest, factor)
        score = (self.columns.T @ (self.weight[:, None] * residual)).T.ravel()
        return _FirthPoint(theta, log_likelihood + log_det / 2, log_likelihood, score, information)

    def _information(self, p: Array, rest: Array) -> Array:
        c, q = self.shape
        blocks = np.empty((c, q, c, q))
        for k in range(c):
            for m in range(k + 1):
                weight = self.weight * p[:, k] * (rest[:, k] if k == m else -p[:, m])
                blocks[k, :, m] = self.columns.T @ (weight[:, None] * self.columns)
                blocks[m, :, k] = blocks[k, :, m].T
        return blocks.reshape(c * q, c * q)

    def _penalty_slope(self, p: Array, rest: Array, factor: Array) -> Array:
        """``V (diag(G) - 2 G p) / 2`` of each row."""
        c, q = self.shape
        inverse = cho_solve((factor, True), np.eye(c * q)).reshape(c, q, c, q)
        inner = np.zeros_like(p)
        for k in range(c):
            for m in range(k + 1):
                g = np.einsum("ij,ij->i", self.columns @ inverse[k, :, m], self.columns)
                if k == m:
                    inner[:, k] += g * (rest[:, k] - p[:, k])
                else:
                    inner[:, k] -= 2 * g * p[:, m]
                    inner[:, m] -= 2 * g * p[:, k]
        of_others = (p * inner).sum(axis=1, keepdims=True) - p * inner
        return 0.5 * p * (rest * inner - of_others)


def _problem(
    X: Array, codes: Array, n_classes: int | None, weight: Array | None, offset: Array | None, fit_intercept: bool
) -> _FirthLikelihood:
    """The problem of rows that count, in columns that are orthonormal but for a factor; None: log-odds of code 1."""
    X, codes = np.asarray(X, dtype=np.float64), np.asarray(codes)
    if n_classes is None:
        codes, n_classes = 1 - codes, 2
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    offset = np.zeros((len(X), n_classes - 1)) if offset is None else np.asarray(offset, dtype=np.float64)
    counts = weight > 0
    design = standard_design(X[counts], fit_intercept)
    if design.aliased:
        raise DegenerateDataError(
            f"Firth's estimate needs linearly independent columns, but columns {list(design.aliased)} (counted from 0) "
            "are linear functions of the intercept and the columns before them. Drop them"
        )
    n = len(design.columns)
    basis, triangle = np.linalg.qr(design.columns)
    to_coef = solve_triangular(triangle, design.to_coef.T, trans="T").T * np.sqrt(n)
    free = np.append(np.ones(X.shape[1], bool), fit_intercept)
    offset = offset.reshape(len(X), n_classes - 1)[counts]
    return _FirthLikelihood(basis * np.sqrt(n), to_coef, free, codes[counts], weight[counts], offset)


def _fitted(problem: _FirthLikelihood, shape: tuple[int, ...], max_iter: int, fit_intercept: bool) -> FirthFit:
    """The unrestricted maximum, in original columns."""
    found, iterations, converged = _maximum(
        problem, np.zeros(problem.n_parameters), np.eye(problem.n_parameters), max_iter
    )
    to_coef, factor = problem.to_coef, np.linalg.cholesky(found.information)
    root = solve_triangular(factor, to_coef.T, lower=True)
    return FirthFit(
        coef=(to_coef @ found.theta).reshape(shape),
        covariance=root.T @ root,
        penalised_log_likelihood=found.value,
        log_likelihood=found.log_likelihood,
        iterations=iterations,
        converged=converged,
        fit_intercept=fit_intercept,
    )


def _maximum(
    problem: _FirthLikelihood, theta: Array, basis: Array, max_iter: int = 200
) -> tuple[_FirthPoint, int, bool]:
    """The maximum over ``theta`` plus the span of ``basis``, the iterations it took, and whether it was reached.

    The information is the Hessian of the likelihood but not of the penalty. Fisher's scoring therefore converges only
    linearly; the last few steps teach it the difference (L-BFGS with the information as the first metric).
    """
    point = problem.at(theta)
    if not basis.shape[1] or not np.isfinite(point.value):
        return point, 0, bool(np.isfinite(point.value))
    memory, taken = LBFGSMemory(_MEMORY), 0
    for iteration in range(max_iter):
        score = basis.T @ point.score
        solve = _solver(basis.T @ point.information @ basis)
        decrement = float(score @ solve(score))
        if decrement <= _SHORT_STEP:
            return point, iteration, True
        new = _uphill(problem, point, score, basis, memory.direction(score, solve))
        if new is None and memory.pairs:
            memory = LBFGSMemory(_MEMORY)
            new = _uphill(problem, point, score, basis, solve(score))
        if new is None:
            break
        memory.learn(basis.T @ (new.theta - point.theta), score - basis.T @ new.score)
        point, taken = new, iteration + 1
    return point, taken, decrement <= _SHORT_ENOUGH


def _solver(matrix: Array) -> Callable[[Array], Array]:
    factor = np.linalg.cholesky(matrix)
    return lambda right: cho_solve((factor, True), right)


def _uphill(
    problem: _FirthLikelihood, point: _FirthPoint, score: Array, basis: Array, step: Array
) -> _FirthPoint | None:
    """The first of ever shorter steps that raises the penalised likelihood enough; None if none does."""
    slope = float(score @ step)
    if not slope > 0:
        return None
    if slope < _UNSEEN * max(1.0, abs(point.value)):
        return problem.at(point.theta + basis @ step)

    def evaluate(theta: Array) -> tuple[float, _FirthPoint]:
        new = problem.at(theta)
        return -new.value, new

    moved = line_search(evaluate, point.theta, -point.value, -basis @ step, slope)
    return None if moved is None else moved[1][1]


def _maximum_of(
    fit: FirthFit, X: Array, codes: Array, weight: Array | None, offset: Array | None
) -> tuple[_FirthLikelihood, _FirthPoint]:
    """The problem whose solution is ``fit``, and its unrestricted maximum again, from what is known of it."""
    n_classes = None if fit.coef.ndim == 1 else len(fit.coef) + 1
    problem = _problem(X, codes, n_classes, weight, offset, fit.fit_intercept)
    theta = np.linalg.lstsq(problem.to_coef, fit.coef.ravel(), rcond=None)[0]
    if not np.isfinite(problem.at(theta).value):  # far origins of columns: too few digits in the intercept
        theta = np.zeros(problem.n_parameters)
    return problem, _maximum(problem, theta, np.eye(problem.n_parameters))[0]


def _complement(functional: Array) -> Array:
    """An orthonormal basis of the directions that do not change a coefficient."""
    return np.linalg.qr((functional / np.linalg.norm(functional))[:, None], mode="complete")[0][:, 1:]


def _profile_end(problem: _FirthLikelihood, best: _FirthPoint, functional: Array, side: int, threshold: float) -> float:
    """The value of a coefficient, below (side -1) or above (1) its estimate, where twice the loss is ``threshold``.

    The square root of the loss is nearly linear in the coefficient, and its slope is known from the multiplier of the
    restricted maximum: Newton's method, kept within the bracket known so far.
    """
    if not functional.any():
        return 0.0
    basis, root = _complement(functional), np.sqrt(threshold)
    estimate, unit = float(functional @ best.theta), side * np.sqrt(_influence(best, functional)[1])
    point, inside, outside, distance = best, 0.0, np.inf, float(root)  # distances from the estimate, in standard errors
    for _ in range(200):
        along, variance = _influence(point, functional)
        start = point.theta + along * ((estimate + unit * distance - functional @ point.theta) / variance)
        held = _maximum(problem, start, basis)[0]
        if not np.isfinite(held.value):  # too far at once for a start
            distance = (inside + distance) / 2
            continue
        point = held
        loss = np.sqrt(2 * max(best.value - point.value, 0.0))
        slope = -unit * float(functional @ point.score) / float(functional @ functional) / max(loss, 1e-300)
        inside, outside = (distance, outside) if loss < root else (inside, distance)
        following = distance + (root - loss) / slope if slope > 0 else np.inf
        if not inside < following < min(outside, 4 * distance):
            following = min(3 * distance, (inside + outside) / 2)
        if abs(following - distance) <= 1e-10 * max(1.0, distance):
            return estimate + unit * following
        distance = following
    return side * np.inf if np.isinf(outside) else estimate + unit * distance


def _influence(point: _FirthPoint, functional: Array) -> tuple[Array, float]:
    """How the other coefficients follow a coefficient, to first order, and the variance of the latter."""
    along = _solver(point.information)(functional)
    return along, float(functional @ along)
