"""Sandwich covariances of the estimates: robust to heteroscedasticity (HC) and to clusters of dependent rows (CR).

``B M B`` with B the inverse of the Hessian of the total loss and M the sum of outer products of the rows' score
vectors, or of their sums over clusters. Residuals are smaller than errors, the more so the higher the leverage h of a
row; small-sample versions correct for it. With n rows, k parameters and G clusters:

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

With frequency weights a row of weight w counts as w rows; with importance weights as one row whose score is w times as
large. Rows and clusters of weight 0 do not count. Leverages are those of a generalised linear model: for two classes
h = w v x' B x with v = p (1 - p). For more, v is the covariance matrix of the row's indicators, h a matrix, and the
residuals are multiplied by the root of (I - h)^-1 that is symmetric in residuals of unit variance (HC2), or by
(I - h)^-1 (HC3). CR2 is for two classes.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, dense_rows
from ..engine import reduce
from ..errors import ParameterError, Setting
from ..objective import Objective, Pass, Softmax
from .estimable import EstimableObjective
from .likelihood import inverse

SandwichKind = Literal["HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"]
CLUSTERED_KINDS: Final = ("CR0", "CR1", "CR2")
#: The power of 1 / (1 - h) that the score vector of a row is multiplied by.
LEVERAGE_POWERS: Final = {"HC2": 0.5, "HC3": 1.0}
#: A row that determines a coefficient alone has leverage 1 and no residual: 1 - h is kept from 0.
MIN_ONE_MINUS_LEVERAGE: Final = 1e-10
#: Rows of a cluster for CR2, which needs the eigenvectors of a matrix over them (3,000: 10 s).
MAX_CLUSTER_ROWS: Final = 3_000
#: Eigenvalues below this share of the largest are 0: the cluster determines a combination of coefficients alone.
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
    if kind == "CR2" and isinstance(objective.loss, Softmax):
        raise ParameterError("covariance 'CR2' is for two classes. Use ", Setting("covariance", "CR1"), ".")
    bread = inverse(objective.total_weight * problem.value_gradient_hessian(theta)[2])
    if kind == "CR2":
        meat, n_clusters = _adjusted_cluster_products(problem, theta, bread, importance)
        _refuse_one_cluster(n_clusters)
        return bread @ meat @ bread
    statistic = _ScoreProducts(problem, theta, bread, kind, importance)
    total, own = reduce(objective.data, statistic, objective.n_jobs), problem.places
    scale = objective.parameter_scale[own]
    if kind in CLUSTERED_KINDS:
        n_clusters, scaled = int(np.count_nonzero(total.cluster_weight > 0)), total.by_cluster[:, own] / scale
        _refuse_one_cluster(n_clusters)
        meat = scaled.T @ scaled * (n_clusters / (n_clusters - 1) if kind == "CR1" else 1.0)
    else:
        meat = total.outer[np.ix_(own, own)] / np.outer(scale, scale)
        n_rows, k = total.n_rows if importance else objective.total_weight, problem.n_parameters
        if kind == "HC1" and n_rows <= k:
            raise ParameterError(f"covariance 'HC1' needs more rows than parameters: {n_rows:g} rows, {k} parameters.")
        meat *= n_rows / (n_rows - k) if kind == "HC1" else 1.0
    return bread @ meat @ bread


def _refuse_one_cluster(n_clusters: int) -> None:
    if n_clusters < 2:
        raise ParameterError(
            Setting("clusters"), " has one cluster with positive weight. A clustered covariance needs at least two, "
            "and is reliable from some 40 on.",
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
        self.importance, self.power = importance, LEVERAGE_POWERS.get(kind, 0.0)
        self.bread, self.columns = bread, np.array(problem.columns, dtype=int)
        self.scale = objective.parameter_scale[self.columns]
        super().__init__(objective, *objective.linear(problem.whole(theta)))

    def reset(self) -> None:
        size = self.form.n_parameters
        self.outer, self.by_cluster = np.zeros((size, size)), np.zeros((self.n_clusters, size))
        self.cluster_weight, self.n_rows = np.zeros(self.n_clusters), 0

    def add(self, part: Block) -> None:
        slopes = self.loss.evaluate(self.scores(part), part.codes)[1] @ self.form.contrasts.T
        rows = part.X if self.standard.far else part.X - self.standard.centre
        if self.form.fit_intercept:
            rows = np.concatenate((rows, np.ones((len(rows), 1))), axis=1)
        if self.power:
            slopes = self._adjusted(slopes, part, rows[:, self.columns] / self.scale)
        scores = (slopes[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        self.n_rows += int(np.count_nonzero(part.weight > 0))
        if self.n_clusters and part.cluster is not None:
            np.add.at(self.by_cluster, part.cluster, part.weight[:, None] * scores)
            np.add.at(self.cluster_weight, part.cluster, part.weight)
        else:
            scores *= (part.weight if self.importance else np.sqrt(part.weight))[:, None]
            self.outer += scores.T @ scores

    def _adjusted(self, slopes: Array, part: Block, x: Array) -> Array:
        """Slopes (rows, functions) times ``(I - h)^-power``, by the eigenvectors of ``V^(1/2) (x' B x) V^(1/2)``."""
        n_functions, size = slopes.shape[1], x.shape[1]
        bread = self.bread.reshape(n_functions, size, n_functions, size)
        products = np.stack([x @ bread[a, :, b] for a in range(n_functions) for b in range(n_functions)], axis=1)
        spread = np.einsum("nki,ni->nk", products, x).reshape(-1, n_functions, n_functions)
        spread *= (part.weight if self.importance else np.ones(len(x)))[:, None, None]
        values, vectors = np.linalg.eigh(self._working_covariances(part))
        roots = np.sqrt(np.maximum(values, RELATIVE_ZERO * np.maximum(values[:, -1:], np.finfo(float).tiny)))
        turned = np.swapaxes(vectors, 1, 2)
        root = (vectors * roots[:, None]) @ turned
        leverages, axes = np.linalg.eigh(root @ spread @ root)
        whitened = ((vectors / roots[:, None]) @ turned @ slopes[:, :, None])[:, :, 0]
        along = (
            np.einsum("nji,nj->ni", axes, whitened) / np.maximum(1 - leverages, MIN_ONE_MINUS_LEVERAGE) ** self.power
        )
        return np.asarray(np.einsum("nij,njk,nk->ni", root, axes, along))

    def _working_covariances(self, part: Block) -> Array:
        """The covariance V of each row's indicators in the functions, (rows, functions, functions)."""
        scores = self.scores(part)
        if not isinstance(self.loss, Softmax):
            return np.asarray(self.loss.curvature(scores, part.codes))[:, None, None]
        contrasts, p = self.form.contrasts, self.loss.probabilities(scores)
        mean = p @ contrasts.T
        return np.einsum("ak,nk,bk->nab", contrasts, p, contrasts) - mean[:, :, None] * mean[:, None, :]


def _adjusted_cluster_products(
    problem: EstimableObjective, theta: Array, bread: Array, importance: bool
) -> tuple[Array, int]:
    """M of CR2, and the number of clusters with positive weight."""
    data = problem.objective.data
    if not isinstance(data, LabelledRows):
        raise ParameterError("covariance 'CR2' needs the rows in memory. Use ", Setting("covariance", "CR1"), ".")
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
            more = f"A cluster has {len(own):,} rows; covariance 'CR2' takes up to {MAX_CLUSTER_ROWS:,}. Use "
            raise ParameterError(more, Setting("covariance", "CR1"), ".")
        score = _adjusted_score(rows[own], residual[own], curvature[own], weight[own], bread, importance)
        meat += np.outer(score, score)
    return meat, len(groups)


def _standard_rows(objective: Objective, theta: Array) -> tuple[Array, Array, Array]:
    """The rows in standardised columns with the intercept's, ``y - p`` and ``p (1 - p)``."""
    data, standard = objective.data, objective.standardised
    rows = (dense_rows(data.rows.block(0, data.n_rows)) - standard.centre) / standard.scale
    if objective.fit_intercept:
        rows = np.column_stack((rows, np.ones(len(rows))))
    scores = objective.scores(theta)
    return rows, -objective.loss.evaluate(scores, data.codes)[1][:, 0], objective.loss.curvature(scores, data.codes)


def _adjusted_score(x: Array, residual: Array, v: Array, w: Array, bread: Array, importance: bool) -> Array:
    """The score vector of a cluster with adjusted residuals ``A e``.

    ``A = D G^(-1/2) D`` with ``G = D (V - Z B Z') D``: V the working variances of the residuals, D their square roots,
    Z the derivatives of the means. A row of frequency w is w equal rows; what is the same for all of them is one row
    times the square root of w.
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
    """The number of rows that count in each class, the sums of their weights, and of their squares."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes, self.sums = n_classes, np.zeros((3, n_classes))

    def fresh(self) -> _ClassWeights:
        return _ClassWeights(self.n_classes)

    def update(self, block: Block) -> None:
        powers = (block.weight > 0).astype(np.float64), block.weight, block.weight**2
        self.sums += [np.bincount(block.codes, power, self.n_classes) for power in powers]

    def merge(self, other: _ClassWeights) -> None:
        self.sums += other.sums


def n_counted(data: LabelledRows) -> int:
    """The number of rows with positive weight."""
    return int(reduce(data, _ClassWeights(len(data.classes))).sums[0].sum())


def effective_class_rows(data: LabelledRows) -> Array:
    """The rows of equal weight that each class is worth, the squared sum of weights over the sum of squares (Kish)."""
    _, total, squares = reduce(data, _ClassWeights(len(data.classes))).sums
    return np.asarray(total**2 / np.maximum(squares, np.finfo(float).tiny))
