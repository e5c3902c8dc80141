"""Sandwich covariances of the estimates: robust to heteroscedasticity (HC) and to clusters of dependent rows (CR).

``B M B`` with B the inverse Hessian of the total loss and M the sum of outer products of the rows' score vectors, or of
their sums over clusters. Residuals underestimate errors, increasingly with the leverage h of a row; small-sample
versions correct for it. With n rows, k parameters and G clusters:

====  =====================================================  ===========================================
kind  M                                                      source
====  =====================================================  ===========================================
HC0   sum of u u', u the score vector of a row               White 1980, 1982
HC1   HC0 times n / (n - k)                                  MacKinnon & White 1985
HC2   with u / sqrt(1 - h)                                   MacKinnon & White 1985
HC3   with u / (1 - h)                                       MacKinnon & White 1985
CR0   sum of outer products of the clusters' sums of scores  Liang & Zeger 1986
CR1   CR0 times G / (G - 1)                                  as `sandwich::vcovCL(type = "HC0")`
CR2   residuals of a cluster times a matrix that makes       Bell & McCaffrey 2002, Pustejovsky & Tipton
      M unbiased where the model holds                       2018, as `clubSandwich::vcovCR`
====  =====================================================  ===========================================

With frequency weights a row of weight w counts as w rows; with importance weights as one row with its score multiplied
by w. Rows and clusters of weight 0 are ignored. Leverages are those of a generalised linear model: for two classes
h = w v x' B x with v = p (1 - p). For more classes, v is the covariance matrix of the row's class indicators, h is a
matrix, and residuals are multiplied by the root of (I - h)^-1 that is symmetric for standardised residuals (HC2), or by
(I - h)^-1 (HC3). For ordered classes, the residuals are the derivatives of a row's log-likelihood in its K - 1 scores,
v is their covariance matrix under the model, and x has the derivatives of the scores. CR2 is available for two classes.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from ..arrays import Array
from ..data import Block, TrainingData, dense_rows
from ..errors import ParameterError, Setting
from ..objective import Objective
from ..passes import Pass
from .estimable import EstimableObjective
from .likelihood import inverse

SandwichKind = Literal["HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"]
CLUSTERED_KINDS: Final = ("CR0", "CR1", "CR2")
#: Score vectors are multiplied by this power of 1 / (1 - h).
LEVERAGE_POWERS: Final = {"HC2": 0.5, "HC3": 1.0}
#: A lower bound of 1 - h: a row that alone determines a coefficient has leverage 1 and residual 0.
MIN_ONE_MINUS_LEVERAGE: Final = 1e-10
#: Rows of a cluster for CR2, which takes the eigenvectors of a matrix of this size (3,000: 10 s).
MAX_CLUSTER_ROWS: Final = 3_000
#: Eigenvalues below this share of the largest count as 0: the cluster alone determines a combination of coefficients.
RELATIVE_ZERO: Final = 1e-12


def sandwich_covariance(
    problem: EstimableObjective, theta: Array, kind: SandwichKind, importance: bool = False
) -> Array:
    """The covariance of the estimates ``theta.ravel()``.

    Parameters
    ----------
    problem : EstimableObjective
        Its rows have clusters for the CR kinds.
    theta : array
        The estimates.
    kind : {"HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"}
    importance : bool
        Whether weights are importances, not frequencies.

    Returns
    -------
    array of shape (n_parameters, n_parameters)
    """
    objective = problem.objective
    if kind == "CR2" and not objective.loss.has_one_residual:
        wrong = "covariance 'CR2' is for logistic regression of two classes. Use "
        raise ParameterError(wrong, Setting("covariance", "CR1"), ".")
    bread = inverse(objective.total_weight * problem.value_gradient_hessian(theta)[2])
    if kind == "CR2":
        meat, n_clusters = _adjusted_cluster_products(problem, theta, bread, importance)
        _refuse_one_cluster(n_clusters)
        return bread @ meat @ bread
    statistic = _ScoreProducts(problem, theta, bread, kind, importance)
    total, own = objective.data.reduce(statistic, objective.n_jobs), problem.places
    scale = objective.parameter_scale[own]
    if kind in CLUSTERED_KINDS:
        n_clusters, scaled = int(np.count_nonzero(total.cluster_weight > 0)), total.by_cluster[:, own] / scale
        _refuse_one_cluster(n_clusters)
        meat = scaled.T @ scaled * (n_clusters / (n_clusters - 1) if kind == "CR1" else 1.0)
    else:
        meat = total.outer[np.ix_(own, own)] / np.outer(scale, scale)
        n_rows, k = total.n_rows if importance else objective.total_weight, problem.n_parameters
        if kind == "HC1" and n_rows <= k:
            raise ParameterError(
                f"covariance 'HC1' requires more rows than parameters, got {n_rows:g} rows and {k} parameters. Use ",
                Setting("covariance", "HC0"), ".",
            )  # fmt: skip
        meat *= n_rows / (n_rows - k) if kind == "HC1" else 1.0
    return bread @ meat @ bread


def _refuse_one_cluster(n_clusters: int) -> None:
    if n_clusters < 2:
        raise ParameterError(
            Setting("clusters"), " has one cluster with positive weight. A clustered covariance requires at least two, "
            "and about 40 to be reliable.",
        )  # fmt: skip


class _ScoreProducts(Pass):
    """Outer products of the rows' score vectors, or their sums by cluster."""

    densify = True
    summed = ("outer", "by_cluster", "cluster_weight", "n_rows")

    def __init__(
        self, problem: EstimableObjective, theta: Array, bread: Array, kind: SandwichKind, importance: bool
    ) -> None:
        objective = problem.objective
        self.n_clusters = objective.data.n_clusters if kind in CLUSTERED_KINDS else 0
        self.n_parameters = objective.n_parameters
        self.importance, self.power = importance, LEVERAGE_POWERS.get(kind, 0.0)
        self.bread, self.columns = bread, np.array(problem.columns, dtype=int)
        self.scale = objective.parameter_scale[self.columns]
        self.point = objective.point(problem.whole(theta))
        super().__init__(objective, self.point.coef, self.point.intercept)

    def reset(self) -> None:
        size = self.n_parameters
        self.outer, self.by_cluster = np.zeros((size, size)), np.zeros((self.n_clusters, size))
        self.cluster_weight, self.n_rows = np.zeros(self.n_clusters), 0

    def add(self, part: Block) -> None:
        slopes = self.point.row_slopes(part)
        scores = self.point.row_gradients(part, self._adjusted(slopes, part) if self.power else slopes)
        self.n_rows += int(np.count_nonzero(part.weight > 0))
        if self.n_clusters and part.cluster is not None:
            np.add.at(self.by_cluster, part.cluster, part.weight[:, None] * scores)
            np.add.at(self.cluster_weight, part.cluster, part.weight)
        else:
            scores *= (part.weight if self.importance else np.sqrt(part.weight))[:, None]
            self.outer += scores.T @ scores

    def _adjusted(self, slopes: Array, part: Block) -> Array:
        """Slopes (rows, functions) times ``(I - h)^-power``, by the eigenvectors of ``V^(1/2) (x' B x) V^(1/2)``."""
        leverage = self.point.row_leverages(part, self.bread, self.columns, self.scale)
        leverage *= (part.weight if self.importance else np.ones(len(slopes)))[:, None, None]
        values, vectors = np.linalg.eigh(self.point.row_covariances(part))
        roots = np.sqrt(np.maximum(values, RELATIVE_ZERO * np.maximum(values[:, -1:], np.finfo(float).tiny)))
        transposed = np.swapaxes(vectors, 1, 2)
        root = (vectors * roots[:, None]) @ transposed
        leverages, axes = np.linalg.eigh(root @ leverage @ root)
        whitened = ((vectors / roots[:, None]) @ transposed @ slopes[:, :, None])[:, :, 0]
        along = (
            np.einsum("nji,nj->ni", axes, whitened) / np.maximum(1 - leverages, MIN_ONE_MINUS_LEVERAGE) ** self.power
        )
        return np.asarray(np.einsum("nij,njk,nk->ni", root, axes, along))


def _adjusted_cluster_products(
    problem: EstimableObjective, theta: Array, bread: Array, importance: bool
) -> tuple[Array, int]:
    """M of CR2, and the number of clusters with positive weight."""
    if problem.objective.data.is_streamed:
        raise ParameterError("covariance 'CR2' requires rows in memory. Use ", Setting("covariance", "CR1"), ".")
    data = problem.objective.data.gather()
    rows, residual, curvature = _standard_rows(problem.objective, problem.whole(theta))
    rows, weight = rows[:, list(problem.columns)], data.weight_of(slice(None))
    counted = np.flatnonzero(weight > 0)
    cluster: Any = data.cluster
    order = counted[np.argsort(cluster[counted], kind="stable")]
    ends = np.flatnonzero(np.diff(cluster[order])) + 1
    meat = np.zeros((problem.n_parameters, problem.n_parameters))
    groups = np.split(order, ends)
    for own in groups:
        if len(own) > MAX_CLUSTER_ROWS:
            more = f"A cluster has {len(own):,} rows; covariance 'CR2' allows up to {MAX_CLUSTER_ROWS:,}. Use "
            raise ParameterError(more, Setting("covariance", "CR1"), ".")
        score = _adjusted_score(rows[own], residual[own], curvature[own], weight[own], bread, importance)
        meat += np.outer(score, score)
    return meat, len(groups)


def _standard_rows(objective: Objective, theta: Array) -> tuple[Array, Array, Array]:
    """The rows in standardised columns with the intercept's, ``y - p`` and ``p (1 - p)``."""
    data, standard = objective.data.gather(), objective.standardised
    rows = (dense_rows(data.rows.block(0, data.n_rows)) - standard.centre) / standard.scale
    if objective.fit_intercept:
        rows = np.column_stack((rows, np.ones(len(rows))))
    scores = objective.scores(theta)
    slopes, curvatures = objective.loss.evaluate(scores, data.codes)[1], objective.loss.curvatures(scores, data.codes)
    return rows, -slopes[:, 0], curvatures[:, 0]


def _adjusted_score(x: Array, residual: Array, v: Array, w: Array, bread: Array, importance: bool) -> Array:
    """The score vector of a cluster with adjusted residuals ``A e``.

    ``A = D G^(-1/2) D`` with ``G = D (V - Z B Z') D``: V the working variances of the residuals, D their square roots,
    Z the derivatives of the means. A row of frequency w is w equal rows, which reduce to one row times the root of w.
    """
    if importance:
        variance, derivative, error, leading = v / w, v[:, None] * x, residual, w[:, None] * x
    else:
        root = np.sqrt(w)[:, None]
        variance, derivative, error, leading = v, v[:, None] * root * x, root[:, 0] * residual, root * x
    deviation = np.sqrt(variance)
    inner = np.diag(variance) - derivative @ bread @ derivative.T
    values, vectors = np.linalg.eigh(deviation[:, None] * inner * deviation)
    kept = values > RELATIVE_ZERO * max(values[-1], np.finfo(float).tiny)
    along = vectors[:, kept].T @ (deviation * error) / np.sqrt(values[kept])
    return np.asarray(leading.T @ (deviation * (vectors[:, kept] @ along)))


class _ClassWeights:
    """The number of rows with positive weight in each class, and the sums of weights and of squared weights."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes, self.sums = n_classes, np.zeros((3, n_classes))

    def fresh(self) -> _ClassWeights:
        return _ClassWeights(self.n_classes)

    def update(self, block: Block) -> None:
        powers = (block.weight > 0).astype(np.float64), block.weight, block.weight**2
        self.sums += [np.bincount(block.codes, power, self.n_classes) for power in powers]

    def merge(self, other: _ClassWeights) -> None:
        self.sums += other.sums


def n_counted(data: TrainingData) -> int:
    """The number of rows with positive weight."""
    return int(data.reduce(_ClassWeights(len(data.classes))).sums[0].sum())


def has_constant_weights(data: TrainingData) -> bool:
    """Whether all rows of a class have the same weight, as with ``class_weight`` alone."""
    count, total, squares = data.reduce(_ClassWeights(len(data.classes))).sums
    return bool(np.allclose(total**2, count * squares, rtol=1e-9))


def effective_class_rows(data: TrainingData) -> Array:
    """The effective sample size of each class, the squared sum of weights over the sum of squared weights (Kish)."""
    _, total, squares = data.reduce(_ClassWeights(len(data.classes))).sums
    return np.asarray(total**2 / np.maximum(squares, np.finfo(float).tiny))
