"""Tests of parallel lines: whether columns have the same slope at all thresholds of an ordinal regression.

The larger model has a slope for each threshold of the tested columns. The score test evaluates its gradient and Hessian
at the estimates of the smaller one; the likelihood-ratio test fits it. Brant's test fits a binary logistic regression
at each threshold and compares their slopes by their joint covariance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from scipy.special import chdtrc, expit

from ..arrays import Array
from ..data import Block
from ..errors import DegenerateDataError, Setting
from ..losses import log_loss
from ..moments.covariance import factorised
from ..objective import Objective, Standardisation
from ..ordinal_objective import OrdinalObjective
from ..passes import Pass
from ..results import Result, aligned, number, p_value
from ..solvers.newton import minimise_newton
from ..solvers.ordinal import minimise_ordinal

ParallelLinesMethod = Literal["score", "likelihood-ratio", "brant"]
PARALLEL_LINES_METHODS: Final = ("score", "likelihood-ratio", "brant")


@dataclass(frozen=True)
class ParallelLinesRow:
    """The test of one term, or of all.

    Attributes
    ----------
    term : str
        The column or term of a formula, or "all".
    statistic : float
        Chi-square.
    df : int
        Number of columns of the term times the number of thresholds minus one.
    p_value : float
    """

    term: str
    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class ParallelLinesTest(Result):
    """Tests that terms have the same slope at all thresholds.

    Parameters
    ----------
    rows : list of ParallelLinesRow
        The test of all terms together, then that of each.
    method : {"score", "likelihood-ratio", "brant"}
        The kind of test.
    slopes : dict of str to list of float
        With "brant": by column, its slope in the binary logistic regression at each threshold.
    cuts : sequence of str
        The thresholds, such as ``"low|medium"``.

    See Also
    --------
    OrdinalLogisticRegression : Its `parallel_lines_test` computes one.
    """

    rows: list[ParallelLinesRow]
    method: ParallelLinesMethod
    slopes: Mapping[str, list[float]]
    cuts: Sequence[str]

    def __getitem__(self, term: str) -> ParallelLinesRow:
        return next(row for row in self.rows if row.term == term)

    def __str__(self) -> str:
        table = [["term", "chi-square", "df", "p"]]
        table += [[row.term, number(row.statistic), str(row.df), p_value(row.p_value)] for row in self.rows]
        lines = [f"Tests of parallel lines ({self.method})", *aligned(table)]
        if self.slopes:
            listed = [[name, *(number(value, 4) for value in own)] for name, own in self.slopes.items()]
            lines += ["", "Slopes of binary logistic regressions", *aligned([["column", *self.cuts], *listed])]
        return "\n".join(lines)


def parallel_lines_test(
    objective: OrdinalObjective,
    theta: Array,
    columns: Mapping[str, Sequence[int]],
    cuts: Sequence[str],
    method: ParallelLinesMethod,
) -> ParallelLinesTest:
    """The tests of terms with these columns, at the estimates ``theta``."""
    m, slopes = objective.parameters.n_scores, dict[str, list[float]]()
    groups = {"all": sorted(j for own in columns.values() for j in own), **columns}
    if method == "brant":
        statistics, slopes = _brant(objective, theta, groups)
    elif method == "score":
        statistics = _score_statistics(objective, theta, groups)
    else:
        statistics = {name: _likelihood_ratio(objective, theta, own) for name, own in groups.items()}
    rows = []
    for name, own in groups.items():
        statistic, df = statistics[name], (m - 1) * len(own)
        rows.append(ParallelLinesRow(name, statistic, df, float(chdtrc(df, statistic))))
    return ParallelLinesTest(rows, method, slopes, list(cuts))


def _enlarged(objective: OrdinalObjective, theta: Array, columns: Sequence[int]) -> tuple[OrdinalObjective, Array]:
    """The objective with more nonparallel columns, and the same point in its parameters."""
    nonparallel = tuple(sorted({*objective.nonparallel, *columns}))
    larger = replace(objective, nonparallel=nonparallel, standard=objective.standardised)
    own, places = objective.parameters, larger.parameters
    point = np.zeros(larger.shape)
    slopes = np.broadcast_to(theta[0][own.slopes], (places.n_linear_predictors, places.n_columns))
    point[0, places.slopes] = slopes
    point[0, places.n_slopes :] = theta[0, own.n_slopes :]
    return larger, point


def _likelihood_ratio(objective: OrdinalObjective, theta: Array, columns: Sequence[int]) -> float:
    larger, point = _enlarged(objective, theta, columns)
    found = minimise_ordinal(larger, point, 1e-14, 500)
    if not found.converged:
        return math.nan
    return max(2 * objective.total_weight * (objective.mean_loss(theta) - found.objective), 0.0)


def _score_statistics(
    objective: OrdinalObjective, theta: Array, groups: Mapping[str, Sequence[int]]
) -> dict[str, float]:
    """Score statistics ``g' I^-1 g`` of the larger models, with the observed information, from one pass."""
    larger, point = _enlarged(objective, theta, groups["all"])
    _, gradient, hessian = larger.value_gradient_hessian(point)
    places, found = larger.parameters, {}
    for name, own in groups.items():
        smaller = replace(larger, nonparallel=tuple(sorted({*objective.nonparallel, *own})))
        shared = np.zeros((places.n_parameters, smaller.n_parameters))
        few = smaller.parameters
        for k in range(places.n_linear_predictors):
            shared[places.slopes[k], few.slopes[k]] = 1.0
        shared[places.n_slopes :, few.n_slopes :] = np.eye(places.n_scores)
        g, information = gradient[0] @ shared, shared.T @ hessian @ shared
        found[name] = float(objective.total_weight * (g @ factorised(information).solve(g[None])[0]))
    return found


class _BinaryInformation(Pass):
    """The weighted products of the rows for each pair of thresholds a <= b, with weights (1 - p_a) p_b.

    ``p_k`` is the fitted probability of a class above threshold k; the covariance of two indicators.
    """

    densify = True
    summed = ("products",)

    def __init__(self, objective: Objective, coef: Array, intercept: Array) -> None:
        super().__init__(objective, coef, intercept)

    def reset(self) -> None:
        m, width = len(self.coef), self.coef.shape[1] + 1
        self.products = np.zeros((m, m, width, width))

    def add(self, part: Block) -> None:
        p = expit(self.linear_scores(part.X) + (0.0 if part.offset is None else part.offset.reshape(-1, 1)))
        rows = np.empty((part.n_rows, part.X.shape[1] + 1))
        rows[:, :-1] = part.X if self.standard.needs_centering else part.X - self.standard.centre
        rows[:, -1] = 1.0
        for a in range(len(self.coef)):
            for b in range(a, len(self.coef)):
                product = (rows * (part.weight * (1 - p[:, a]) * p[:, b])[:, None]).T @ rows
                self.products[a, b] = self.products[a, b] + product
                self.products[b, a] = self.products[a, b]


def _brant(
    objective: OrdinalObjective, theta: Array, groups: Mapping[str, Sequence[int]]
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Wald statistics of the differences of the slopes of binary regressions, and the slopes by term."""
    del theta
    standard: Standardisation = objective.standardised
    m, p, estimates = objective.parameters.n_scores, objective.parameters.n_columns, []
    for k in range(m):
        sides = np.where(objective.loss.rank > k, 1, -1)
        binary = Objective(objective.data.against(sides), log_loss(2), standard=standard, n_jobs=objective.n_jobs)
        found = minimise_newton(binary, np.zeros(binary.shape), 1e-14, 500)
        if not found.converged:
            text = f"The binary logistic regression at threshold {k + 1} did not converge: its classes are separated. "
            raise DegenerateDataError(text, "Use ", Setting("method", "score"), ".")
        estimates.append(found.theta[0])
    slopes = np.array(estimates)
    total = objective.reduce(_BinaryInformation(objective, slopes[:, :-1] / standard.scale, slopes[:, -1]))
    scale = np.append(standard.scale, 1.0)
    products = total.products / np.outer(scale, scale)
    inverses = [np.linalg.pinv(products[k, k], hermitian=True) for k in range(m)]
    covariance = np.block([[inverses[a] @ products[a, b] @ inverses[b] for b in range(m)] for a in range(m)])
    statistics = {}
    for name, own in groups.items():
        contrast = np.zeros(((m - 1) * len(own), m * (p + 1)))
        for k in range(1, m):
            for i, j in enumerate(own):
                row = (k - 1) * len(own) + i
                contrast[row, j], contrast[row, k * (p + 1) + j] = 1.0, -1.0
        difference = contrast @ slopes.ravel()
        statistics[name] = float(difference @ np.linalg.solve(contrast @ covariance @ contrast.T, difference))
    by_term: dict[str, list[float]] = {}
    for name, own in list(groups.items())[1:]:
        for i, j in enumerate(own):
            label = name if len(own) == 1 else f"{name}[{i + 1}]"
            by_term[label] = (slopes[:, j] / standard.scale[j]).tolist()
    return statistics, by_term
