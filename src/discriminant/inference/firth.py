"""Firth's logistic regression: maximum likelihood with Jeffreys' prior as penalty (Firth 1993; Heinze & Schemper 2002).

The estimate maximises ``log L(b) + log det I(b) / 2``, with I the Fisher information of all coefficients. It is finite
also for separated classes, and otherwise less biased than maximum likelihood.

All computations are for K classes, with scores of all but a reference class linear in the columns z. With p the
probabilities of a row's K - 1 classes, V = diag(p) - p p' and w its weight,

- the likelihood's score is ``sum w (y - p) z'``,
- the information has blocks ``I_kl = sum w V_kl z z'``,
- the penalty's score is ``tr(I^-1 dI) / 2 = sum w V (diag(G) - 2 G p) z' / 2`` with ``G_kl = z' (I^-1)_kl z``.

For two classes w V G is the diagonal h of the hat matrix, and the score is ``sum (w (y - p) + h (1/2 - p)) z``.

Columns are orthonormalised first, so that units and near collinearity cost no precision, and coefficients are mapped
back. Penalties and log-likelihoods are those of the original columns. Weights are frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import chdtrc, logsumexp, ndtri

from ..arrays import Array
from ..data import dense_rows
from ..errors import DegenerateDataError
from ..objective import Objective
from ..solvers.lbfgs import LBFGSMemory
from ..solvers.line_search import line_search
from .ml_existence import standard_design

#: The iteration stops when the squared length of the next step, in standard errors, is below this,
SQUARED_STEP_TOLERANCE: Final = 1e-22
#: and counts as converged below this if rounding prevents further progress.
MAX_CONVERGED_STEP: Final = 1e-12
#: Memory of L-BFGS.
LBFGS_MEMORY: Final = 8
#: Relative gains below this are rounding: such steps are taken without a line search.
GAIN_ROUNDING: Final = 1e-13


@dataclass(frozen=True)
class FirthFit:
    """Firth's estimate, which is finite also for separated classes.

    Attributes
    ----------
    coef : array of shape (p + 1,), or (K - 1, p + 1) for the multinomial model
        With the intercept last, 0 if none was fitted.
    covariance : array
        The inverse of the Fisher information at the estimate, for ``coef.ravel()``.
    penalised_log_likelihood : float
        ``log L + log det I / 2`` with the information of the original columns, which depends on their units.
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


@dataclass(frozen=True, eq=False)
class FirthData:
    """Rows of a logistic regression.

    Parameters
    ----------
    X : array of shape (n, p)
        Rows, without a column for the intercept.
    codes : array of shape (n,)
        Class indices.
    weight : array of shape (n,), optional
        Frequencies of the rows, not necessarily integers.
    offset : array of shape (n,) or (n, K - 1), optional
        Known parts of the log-odds.
    """

    X: Array
    codes: Array
    weight: Array | None = None
    offset: Array | None = None

    @classmethod
    def of(cls, objective: Objective) -> FirthData:
        """The rows of an objective."""
        data = objective.data.gather()
        offset = data.offset
        if offset is not None and len(data.classes) > 2:
            offset = offset[:, :-1] - offset[:, -1:]
        X = dense_rows(data.rows.block(0, data.n_rows)).astype(np.float64)
        return cls(X, data.codes, data.weight, offset)


def firth_fit(
    data: FirthData, n_classes: int | None = None, fit_intercept: bool = True, max_iter: int = 200
) -> FirthFit:
    """Firth's estimate of a binary or multinomial logistic regression.

    Parameters
    ----------
    data : FirthData
    n_classes : int, optional
        For the multinomial model, the log-odds of each class but the last against the last. Default: two classes, the
        log-odds of class 1 against class 0.
    fit_intercept : bool
    max_iter : int

    Returns
    -------
    FirthFit

    Examples
    --------
    In a table of two binary variables it is equivalent to adding 1/2 to each cell, here 0, 5, 4 and 1:

    >>> import numpy as np
    >>> table = FirthData(np.array([[0], [0], [1], [1]]), np.array([1, 0, 1, 0]), weight=np.array([0, 5, 4, 1]))
    >>> firth_fit(table).coef.round(6)
    array([ 3.496508, -2.397895])
    >>> np.log([4.5 / 1.5 * 5.5 / 0.5, 0.5 / 5.5]).round(6)
    array([ 3.496508, -2.397895])
    >>> firth_fit(FirthData(np.empty((9, 0)), np.repeat([0, 1, 2], [5, 3, 1])), n_classes=3).coef.ravel().round(6)
    array([1.299283, 0.847298])
    >>> np.log([5.5 / 1.5, 3.5 / 1.5]).round(6)
    array([1.299283, 0.847298])
    """
    problem = _problem(data, n_classes, fit_intercept)
    start = np.zeros(problem.n_parameters)
    found, iterations, converged = _maximum(problem, start, np.eye(problem.n_parameters), max_iter)
    root = solve_triangular(np.linalg.cholesky(found.information), problem.to_coef.T, lower=True)
    coef = problem.to_coef @ found.theta
    return FirthFit(
        coef=coef if n_classes is None else coef.reshape(n_classes - 1, -1),
        covariance=root.T @ root,
        penalised_log_likelihood=found.value,
        log_likelihood=found.log_likelihood,
        iterations=iterations,
        converged=converged,
        fit_intercept=fit_intercept,
    )


def firth_profile_intervals(data: FirthData, fit: FirthFit, level: float = 0.95, terms: Array | None = None) -> Array:
    """Profile penalised-likelihood intervals of all coefficients, an array ``fit.coef.shape + (2,)``.

    An interval contains the values that the penalised likelihood-ratio test does not reject at ``1 - level``.

    Parameters
    ----------
    data : FirthData
    fit : FirthFit
        The estimate of `firth_fit`.
    level : float
    terms : array of shape (m, number of coefficients), optional
        Linear functions of ``fit.coef.ravel()`` instead of individual coefficients; the result has shape (m, 2).

    Returns
    -------
    array
        Lower and upper limits; 0 for an intercept that was not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> data = FirthData(np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    >>> firth_profile_intervals(data, firth_fit(data)).round(3)
    array([[  0.134,   5.746],
           [-20.41 ,  -0.123]])
    """
    problem, best = _maximum_of(data, fit)
    threshold = float(ndtri(0.5 + level / 2)) ** 2
    rows = problem.to_coef if terms is None else terms @ problem.to_coef
    limits = np.array([[_profile_limit(problem, best, row, side, threshold) for side in (-1, 1)] for row in rows])
    return limits.reshape(*fit.coef.shape, 2) if terms is None else limits


def firth_profile_p_values(data: FirthData, fit: FirthFit, terms: Array | None = None) -> Array:
    """P-values of the penalised likelihood-ratio test that a coefficient is 0, for each coefficient.

    The penalty uses the information of all coefficients also under the restriction, as in the R package logistf.
    Parameters are those of `firth_profile_intervals`. An intercept that was not fitted has NaN.

    Examples
    --------
    >>> import numpy as np
    >>> data = FirthData(np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    >>> firth_profile_p_values(data, firth_fit(data)).round(4)
    array([0.0166, 0.0399])
    """
    problem, best = _maximum_of(data, fit)
    rows = problem.to_coef if terms is None else terms @ problem.to_coef
    p_values = np.full(len(rows), np.nan)
    for j, functional in enumerate(rows):
        if functional.any():
            p_values[j] = chdtrc(1, _restricted_deviance(problem, best, _complement(functional)))
    return p_values.reshape(fit.coef.shape) if terms is None else p_values


def firth_nested_deviance(data: FirthData, fit: FirthFit, smaller: Array, smaller_intercept: bool) -> float:
    """Twice the loss of penalised log-likelihood of a model with fewer columns.

    The penalty uses the information of all coefficients of the larger model, as in `firth_profile_p_values`: penalties
    of models with different numbers of coefficients are not comparable.

    Parameters
    ----------
    data, fit
        As for `firth_profile_intervals`.
    smaller : array of shape (n, q)
        Columns of the smaller model, linear functions of ``data.X`` and its intercept.
    smaller_intercept : bool

    Returns
    -------
    float
    """
    problem, best = _maximum_of(data, fit)
    counted = slice(None) if data.weight is None else np.asarray(data.weight) > 0
    columns = standard_design(np.asarray(smaller, dtype=np.float64)[counted], smaller_intercept).columns
    basis = np.linalg.qr(np.linalg.lstsq(problem.columns, columns, rcond=None)[0])[0]
    return _restricted_deviance(problem, best, np.kron(np.eye(problem.shape[0]), basis))


def _restricted_deviance(problem: _FirthLikelihood, best: _FirthPoint, basis: Array) -> float:
    """Twice the loss of penalised log-likelihood if ``theta`` is restricted to the span of ``basis``."""
    held = _maximum(problem, np.zeros(problem.n_parameters), basis)[0]
    return 2 * max(best.value - held.value, 0.0)


@dataclass(frozen=True)
class _FirthPoint:
    """The penalised log-likelihood at a point, its score and the information."""

    theta: Array
    value: float
    log_likelihood: float
    score: Array
    information: Array


class _FirthLikelihood:
    """The penalised log-likelihood as a function of ``theta``, the coefficients of orthonormal columns.

    ``to_coef`` maps theta to the coefficients of the original columns, class by class.
    """

    def __init__(self, columns: Array, to_coef: Array, free: Array, codes: Array, weight: Array, offset: Array) -> None:
        self.columns, self.weight, self.offset = columns, weight, offset
        n_scores = offset.shape[1]
        self.target = (codes[:, None] == np.arange(n_scores)).astype(np.float64)
        self.shape = (n_scores, columns.shape[1])
        self.n_parameters = n_scores * columns.shape[1]
        self.to_coef = np.kron(np.eye(n_scores), to_coef)
        # log det of the information in the original columns minus that in the orthonormal columns
        self.log_det_units = -2 * n_scores * float(np.linalg.slogdet(to_coef[free])[1])

    def at(self, theta: Array) -> _FirthPoint:
        """Value and derivatives at a point; the value is -inf if the information is numerically singular."""
        scores = self.columns @ theta.reshape(self.shape).T + self.offset
        every = np.column_stack((scores, np.zeros(len(scores))))
        norm = logsumexp(every, axis=1)
        log_likelihood = float(self.weight @ ((self.target * scores).sum(axis=1) - norm))
        every = np.exp(every - norm[:, None])
        p = every[:, :-1]
        # 1 - p as a sum of the other probabilities, which is precise for p near 1
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
        """``V (diag(G) - 2 G p) / 2`` for each row."""
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


def _problem(data: FirthData, n_classes: int | None, fit_intercept: bool) -> _FirthLikelihood:
    """The problem of the rows with positive weight, in scaled orthonormal columns; None: log-odds of class 1."""
    X, codes = np.asarray(data.X, dtype=np.float64), np.asarray(data.codes)
    if n_classes is None:
        codes, n_classes = 1 - codes, 2
    weight = np.ones(len(X)) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
    offset = np.zeros((len(X), n_classes - 1)) if data.offset is None else np.asarray(data.offset, dtype=np.float64)
    counts = weight > 0
    design = standard_design(X[counts], fit_intercept)
    if design.aliased:
        raise DegenerateDataError(
            f"Firth's estimate requires linearly independent columns, but columns {list(design.aliased)} (counted from "
            "0) are linear functions of the intercept and earlier columns. Drop them."
        )
    n = len(design.columns)
    basis, triangle = np.linalg.qr(design.columns)
    to_coef = solve_triangular(triangle, design.to_coef.T, trans="T").T * np.sqrt(n)
    free = np.append(np.ones(X.shape[1], bool), fit_intercept)
    offset = offset.reshape(len(X), n_classes - 1)[counts]
    return _FirthLikelihood(basis * np.sqrt(n), to_coef, free, codes[counts], weight[counts], offset)


def _maximum(
    problem: _FirthLikelihood, theta: Array, basis: Array, max_iter: int = 200
) -> tuple[_FirthPoint, int, bool]:
    """The maximum over ``theta`` plus the span of ``basis``, the number of iterations, and whether they converged.

    Fisher scoring converges only linearly, because the information is not the Hessian of the penalty; L-BFGS with the
    information as preconditioner corrects for it.
    """
    point = problem.at(theta)
    if not basis.shape[1] or not np.isfinite(point.value):
        return point, 0, bool(np.isfinite(point.value))
    memory, taken = LBFGSMemory(size=LBFGS_MEMORY), 0
    for iteration in range(max_iter):
        score = basis.T @ point.score
        solve = _solver(basis.T @ point.information @ basis)
        decrement = float(score @ solve(score))
        if decrement <= SQUARED_STEP_TOLERANCE:
            return point, iteration, True
        new = _line_search_step(problem, point, score, basis, memory.direction(score, solve))
        if new is None and memory.pairs:
            memory = LBFGSMemory(size=LBFGS_MEMORY)
            new = _line_search_step(problem, point, score, basis, solve(score))
        if new is None:
            break
        memory.add(basis.T @ (new.theta - point.theta), score - basis.T @ new.score)
        point, taken = new, iteration + 1
    return point, taken, decrement <= MAX_CONVERGED_STEP


def _solver(matrix: Array) -> Callable[[Array], Array]:
    factor = np.linalg.cholesky(matrix)
    return lambda right: cho_solve((factor, True), right)


def _line_search_step(
    problem: _FirthLikelihood, point: _FirthPoint, score: Array, basis: Array, step: Array
) -> _FirthPoint | None:
    """The next point by a line search that increases the penalised likelihood; None if it fails."""
    slope = float(score @ step)
    if not slope > 0:
        return None
    if slope < GAIN_ROUNDING * max(1.0, abs(point.value)):
        return problem.at(point.theta + basis @ step)

    def evaluate(theta: Array) -> tuple[float, _FirthPoint]:
        new = problem.at(theta)
        return -new.value, new

    moved = line_search(evaluate, point.theta, -point.value, -basis @ step, slope)
    return None if moved is None else moved[1][1]


def _maximum_of(data: FirthData, fit: FirthFit) -> tuple[_FirthLikelihood, _FirthPoint]:
    """The problem of a fit and its unrestricted maximum, recomputed from the estimate."""
    problem = _problem(data, None if fit.coef.ndim == 1 else len(fit.coef) + 1, fit.fit_intercept)
    theta = np.linalg.lstsq(problem.to_coef, fit.coef.ravel(), rcond=None)[0]
    if not np.isfinite(problem.at(theta).value):  # distant origins of columns: the intercept is imprecise
        theta = np.zeros(problem.n_parameters)
    return problem, _maximum(problem, theta, np.eye(problem.n_parameters))[0]


def _complement(functional: Array) -> Array:
    """An orthonormal basis of the directions that leave a linear function unchanged."""
    return np.linalg.qr((functional / np.linalg.norm(functional))[:, None], mode="complete")[0][:, 1:]


def _profile_limit(
    problem: _FirthLikelihood, best: _FirthPoint, functional: Array, side: int, threshold: float
) -> float:
    """The value of a coefficient below (side -1) or above (1) its estimate where twice the loss is ``threshold``.

    The square root of the loss is nearly linear in the coefficient, and its slope follows from the multiplier of the
    restricted maximum: a bracketed Newton method.
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
        if not np.isfinite(held.value):  # too far from the last point
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
    """The first-order change of all coefficients with a linear function, and the variance of the latter."""
    along = _solver(point.information)(functional)
    return along, float(functional @ along)
