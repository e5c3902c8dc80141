"""Inference from the likelihood: covariance of the estimates, constrained maxima, and the table of coefficients.

All work in the parameters of an `Objective` (standardised columns), where every quantity one may want to report is a
linear function of ``theta``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.stats import norm

from ..data import Block
from ..engine import reduce
from ..moments.covariance import Covariance, factorised
from ..objective import Objective, Pass

Array = np.ndarray[Any, Any]


def information(objective: Objective, theta: Array) -> Array:
    """Fisher information of all rows: total weight times the Hessian of the mean loss, without the penalty."""
    hessian = objective.value_gradient_hessian(theta)[2]
    hessian[np.diag_indices(len(hessian))] -= objective.ridge.ravel()
    return objective.total_weight * hessian


def inverse(matrix: Array) -> tuple[Array, Covariance]:
    """The (pseudo-)inverse of a symmetric matrix, and the factorisation it came from."""
    factor = factorised(matrix)
    root = factor.from_sphere(np.eye(factor.rank))
    return root @ root.T, factor


def penalised_covariance(objective: Objective, theta: Array) -> Array:
    """``(I + R)^-1 I (I + R)^-1``: the spread of a ridge estimate, whose bias it does not know (I information)."""
    unpenalised = information(objective, theta)
    bread = inverse(unpenalised + objective.total_weight * np.diag(objective.ridge.ravel()))[0]
    return bread @ unpenalised @ bread


def sandwich_covariance(
    objective: Objective, theta: Array, clusters: Array | None = None, importance: bool = False
) -> Array:
    """``H^-1 M H^-1`` with M the sum of outer products of the rows' (or clusters') score vectors.

    With frequency weights a row of weight w counts as w rows; with importance weights as one row whose score is w
    times as large.
    """
    hessian = objective.total_weight * objective.value_gradient_hessian(theta)[2]
    bread = inverse(hessian)[0]
    groups = None if clusters is None else np.unique(clusters, return_inverse=True)
    count = 0 if groups is None else len(groups[0])
    statistic = _ScoreProducts(
        objective, *objective.linear(theta), None if groups is None else groups[1], count, importance
    )
    total = reduce(objective.data, statistic, objective.n_jobs)
    scale = np.append(objective.standardised.scale, 1.0)[: objective.shape[1]]
    scale = np.tile(scale, objective.n_functions)
    if groups is None:
        meat = total.outer / np.outer(scale, scale)
    else:
        scaled = total.by_group / scale
        meat = scaled.T @ scaled * count / max(count - 1, 1)
    return bread @ meat @ bread


class _ScoreProducts(Pass):
    """Outer products of the rows' score vectors, or their sums by cluster."""

    densify = True

    def __init__(
        self, objective: Objective, coef: Array, intercept: Array, groups: Array | None, count: int, importance: bool
    ) -> None:
        super().__init__(objective, coef, intercept)
        self.groups, self.count, self.importance = groups, count, importance
        size = objective.n_parameters
        self.outer, self.by_group = np.zeros((size, size)), np.zeros((count, size))
        self.start = 0

    def fresh(self) -> Self:
        return type(self)(self.objective, self.coef, self.intercept, self.groups, self.count, self.importance)

    def merge(self, other: Self) -> None:
        self.outer += other.outer
        self.by_group += other.by_group

    def update(self, block: Block) -> None:
        self.start = block.start
        super().update(block)

    def add(self, part: Any, codes: Array, weight: Array, offset: Array | None) -> None:
        slopes = self.loss.evaluate(self.scores(part, self.coef, self.intercept, offset), codes)[1]
        slopes = slopes @ self.objective.contrasts.T
        rows = part if self.standard.far else part - self.standard.centre
        if self.objective.fit_intercept:
            rows = np.concatenate((rows, np.ones((len(rows), 1))), axis=1)
        scores = (slopes[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        if self.groups is not None:
            np.add.at(self.by_group, self.groups[self.start : self.start + len(rows)], weight[:, None] * scores)
            self.start += len(rows)
        else:
            scores *= (weight if self.importance else np.sqrt(weight))[:, None]
            self.outer += scores.T @ scores


def constrained_minimum(
    objective: Objective, theta: Array, constraints: Array, values: Array, tol: float = 1e-12, max_iter: int = 100
) -> tuple[Array, float]:
    """The point and the value of the least objective with ``constraints @ theta.ravel() == values``.

    Newton's method within the constraints, from the point that meets them nearest to ``theta``.
    """
    flat = theta.ravel().copy()
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    for _ in range(max_iter):
        factor = factorised(hessian)
        across = factor.solve(constraints)
        inner = constraints @ across.T
        newton = factor.solve(gradient.ravel()[None])[0]
        pull = np.linalg.solve(inner, values - constraints @ flat + constraints @ newton)
        step = across.T @ pull - newton
        missing = float(np.abs(values - constraints @ flat).max(initial=0.0))
        gain = -float(gradient.ravel() @ step)
        if missing < 1e-10 * (1 + np.abs(values).max(initial=0.0)) and gain <= tol * max(abs(value), 1e-300):
            break
        flat, value, gradient, hessian = _damped(
            objective, flat, step, value, gain if missing < 1e-10 else np.inf, theta.shape
        )
    return flat.reshape(theta.shape), value


def _damped(
    objective: Objective, flat: Array, step: Array, value: float, gain: float, shape: tuple[int, ...]
) -> tuple[Array, float, Array, Array]:
    """The next point: the whole step until the constraints hold, then as far as the objective falls."""
    length = 1.0
    while True:
        new = flat + length * step
        new_value, gradient, hessian = objective.value_gradient_hessian(new.reshape(shape))
        if not np.isfinite(gain) or new_value <= value - 1e-4 * length * gain + 1e-14 * abs(value) or length < 1e-6:
            return new, new_value, gradient, hessian
        length *= 0.5


@dataclass(frozen=True)
class Coefficient:
    """One row of the table: a term's effect on the log-odds of an outcome."""

    outcome: Any
    term: str
    estimate: float
    std_error: float
    z: float
    p_value: float
    low: float
    high: float
    odds_ratio: float

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def coefficient(outcome: Any, term: str, estimate: float, std_error: float, level: float) -> Coefficient:
    """The Wald test and interval of one estimate."""
    finite = bool(np.isfinite(estimate))
    z = estimate / std_error if finite and std_error > 0 else np.nan
    reach = float(norm.ppf(0.5 + level / 2)) * std_error
    lower, upper = (estimate - reach, estimate + reach) if finite else (-np.inf, np.inf)
    with np.errstate(over="ignore"):
        odds = float(np.exp(estimate))
    return Coefficient(outcome, term, estimate, std_error, z, float(2 * norm.sf(abs(z))), lower, upper, odds)


@dataclass(frozen=True)
class Summary:
    """Coefficients and fit of a logistic regression.

    Attributes
    ----------
    rows : list of Coefficient
    log_likelihood, deviance, null_deviance, aic, bic, pseudo_r2 : float
        ``pseudo_r2`` is McFadden's, 1 - log L / log L of the intercept alone.
    notes : list of str
        What to know when reading the table: kind of covariance, aliased columns, separation.
    """

    rows: list[Coefficient]
    n_rows: float
    n_parameters: int
    log_likelihood: float
    null_log_likelihood: float
    level: float
    title: str
    notes: list[str]

    @property
    def deviance(self) -> float:
        return -2 * self.log_likelihood

    @property
    def null_deviance(self) -> float:
        return -2 * self.null_log_likelihood

    @property
    def aic(self) -> float:
        return self.deviance + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        return self.deviance + float(np.log(self.n_rows)) * self.n_parameters

    @property
    def pseudo_r2(self) -> float:
        return 1 - self.log_likelihood / self.null_log_likelihood

    def to_frame(self, backend: Any = None) -> Any:
        """The rows as a pandas or polars frame, whichever is there (pandas first), or as ``backend`` says."""
        columns = {name: [getattr(row, name) for row in self.rows] for name in Coefficient.__dataclass_fields__}
        return nw.from_dict(columns, backend=backend if backend is not None else _frame_backend()).to_native()

    def __str__(self) -> str:
        lines = [self.title, "=" * max(len(self.title), 78), *self._fit_lines(), ""]
        outcomes = list(dict.fromkeys(row.outcome for row in self.rows))
        width = max([len(row.term) for row in self.rows] + [9])
        for outcome in outcomes:
            lines.append(f"log-odds of {outcome!r}")
            lines.append(_head(width, self.level))
            lines += [_line(row, width) for row in self.rows if row.outcome == outcome]
            lines.append("")
        return "\n".join(lines + [f"note: {note}" for note in self.notes]).rstrip()

    __repr__ = __str__

    def _fit_lines(self) -> list[str]:
        return [
            f"rows {self.n_rows:<12g} parameters {self.n_parameters:<8d} log-likelihood {self.log_likelihood:.4f}",
            f"deviance {self.deviance:.4f}   null deviance {self.null_deviance:.4f}   "
            f"AIC {self.aic:.4f}   BIC {self.bic:.4f}   pseudo R2 {self.pseudo_r2:.4f}",
        ]


def _head(width: int, level: float) -> str:
    percent = f"{100 * level:g} %"
    return (
        f"  {'term':<{width}} {'estimate':>11} {'std. error':>11} {'z':>8} {'p':>9} "
        f"{'[' + percent:>11} {'interval]':>11} {'odds ratio':>11}"
    )


def _line(row: Coefficient, width: int) -> str:
    p_value = "< 0.0001" if row.p_value < 1e-4 else f"{row.p_value:.4f}"
    return (
        f"  {row.term:<{width}} {row.estimate:>11.5g} {row.std_error:>11.5g} {row.z:>8.3f} {p_value:>9} "
        f"{row.low:>11.5g} {row.high:>11.5g} {row.odds_ratio:>11.5g}"
    )


def _frame_backend() -> Any:
    for name in ("pandas", "polars", "pyarrow"):
        try:
            __import__(name)
        except ImportError:
            continue
        return name
    raise ImportError("to_frame needs pandas, polars or pyarrow; .rows has the same records without them")
