"""Mean loss plus penalty, evaluated by reductions over row blocks.

``f(theta) = sum_i w_i loss(scores_i) / sum_i w_i + penalty(coef)``

``theta`` is an array (C, p + 1): a row for each linear predictor, with its intercept in the last column (absent without
intercepts). It refers to standardised columns ``(x - centre) / scale``, so that solvers see columns of similar size in
any units. The penalty applies to the coefficients in the units of the data, or to these times ``penalty_scale``,
usually the columns' standard deviations. Two-class losses have C = 1. Softmax has C = K - 1: scores are ``theta`` times
an orthonormal basis of the contrasts between K classes. The model is not restricted, because a score common to all
classes cancels, and the optimum is unique; the L2 penalty equals that of all K coefficient vectors.

The losses are in `losses`, the sums over the rows in `passes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from .arrays import Array
from .data import Block, SparseRows, TrainingData, check_number, check_shapes
from .engine import S
from .kernels import moments
from .losses import Loss
from .moments.covariance import standard_deviations
from .moments.statistic import ClassMoments
from .passes import (
    ClassHessiansPass,
    DiagonalPass,
    Form,
    GradientPass,
    HessianPass,
    HessianProductPass,
    LargestScorePass,
    LossesPass,
    MemberHessianPass,
    Pass,
)

# Columns whose centre is more standard deviations from 0 are centred before products, to keep digits.
MAX_UNCENTERED_DISTANCE: Final = 1e3
# With fewer classes, passes in float64 are as fast as float32 products (512 columns, 10 classes: 2.1 and 1.7 ms; 100
# classes: 16 and 9 ms); with a mean of more standard deviations, float32 scores lose more than one digit.
MIN_SINGLE_SCORES: Final = 10
MAX_SINGLE_DISTANCE: Final = 10.0
# A variance below this share of the mean square is rounding: the column is constant.
CONSTANT_VARIANCE: Final = 1e-12
# Rows of the sample that determines the standardisation; the optimum does not depend on it.
STANDARDISATION_ROWS: Final = 5_000


@dataclass(frozen=True)
class ElasticNet:
    """``alpha * ((1 - l1_ratio) / 2 * |w|^2 + l1_ratio * |w|_1)`` of the coefficients w, intercepts excepted."""

    alpha: float = 0.0
    l1_ratio: float = 0.0

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0)
        check_number("l1_ratio", self.l1_ratio, 0, 1)

    @property
    def l2(self) -> float:
        """Factor of ``|w|^2 / 2``."""
        return self.alpha * (1 - self.l1_ratio)

    @property
    def l1(self) -> float:
        """Factor of ``|w|_1``."""
        return self.alpha * self.l1_ratio

    @property
    def name(self) -> str:
        """Its usual name."""
        if self.alpha == 0:
            return "none"
        return {0.0: "l2", 1.0: "l1"}.get(self.l1_ratio, "elastic net")


NO_PENALTY = ElasticNet()


@dataclass(frozen=True)
class Standardisation:
    """``(x - centre) / scale``; sparse rows are not centred."""

    centre: Array
    scale: Array

    def _check_parts(self) -> None:
        check_shapes(self, centre="p", scale="p")

    @classmethod
    def none(cls, n_columns: int) -> Standardisation:
        """No standardisation."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    @cached_property
    def needs_centering(self) -> bool:
        """Whether rows must be centred before products, to keep digits."""
        return bool((np.abs(self.centre) > MAX_UNCENTERED_DISTANCE * self.scale).any())


def _sample(data: TrainingData) -> Any:
    rows = data.sample(max(1, data.n_rows // STANDARDISATION_ROWS)).rows
    return rows.block(0, rows.n_rows)


def standardisation(data: TrainingData) -> Standardisation:
    """Centre and scale of the columns, from a sample of the rows: the optimum does not depend on them."""
    sample = _sample(data)
    if sp.issparse(sample):
        mean_square = np.asarray(sample.multiply(sample).mean(axis=0), dtype=np.float64).ravel()
        centre, std = np.zeros(sample.shape[1]), np.sqrt(mean_square)
    else:
        found = np.empty((2, sample.shape[1]))
        moments.mean_and_std(sample, *found)
        centre, std = np.where(np.isfinite(found), found, 0.0)
    return Standardisation(centre, np.where(std > 0, std, 1.0))


def column_std(data: TrainingData, n_jobs: int | None = None) -> Array:
    """The standard deviation of each column over all rows, weighted; 1 where it does not vary. Sparse zeros count."""
    wanted = ClassMoments(len(data.classes), data.rows.n_columns, "diagonal")
    moments = data.reduce_and_sample(wanted, n_jobs)
    return standard_deviations(moments.column_variances())


def penalty_scale(
    data: TrainingData, penalty: ElasticNet, n_jobs: int | None = None, std: Array | None = None
) -> Array:
    """The factors of coefficients in a penalty: standard deviations of columns, and 1 for indicators under a ridge.

    A ridge then shrinks all levels of a category equally, also rare ones; an L1 penalty selects columns by their effect
    on the scores. The standard deviations take a pass over the rows, unless they are known (``std``).
    """
    std, is_indicator = column_std(data, n_jobs) if std is None else std, data.rows.is_indicator
    return std if is_indicator is None or penalty.l1_ratio > 0 else np.where(is_indicator, 1.0, std)


def column_units(data: TrainingData, penalty: ElasticNet, n_jobs: int | None) -> Array | None:
    """The factors of coefficients in the penalty; None for sparse columns of unknown kind, such as words."""
    unknown = isinstance(data.rows, SparseRows) and data.rows.is_indicator is None
    return None if unknown else penalty_scale(data, penalty, n_jobs)


@dataclass
class PassCounter:
    """The passes over the data that a solver has made; one over an eighth of the rows counts 1/8."""

    count: float = 0.0

    def add(self, passes: float) -> None:
        self.count += passes


@dataclass(frozen=True)
class Objective:
    """Mean loss plus penalty; see the docstring of the module for its parameters."""

    data: TrainingData
    loss: Loss
    penalty: ElasticNet = NO_PENALTY
    fit_intercept: bool = True
    standard: Standardisation | None = None
    #: Factors of the coefficients in the penalty, such as standard deviations; None: 1, the units of the data.
    penalty_scale: Array | None = None
    n_jobs: int | None = None
    #: Whether softmax has a linear predictor for each of the K scores: an L1 penalty depends on the basis.
    symmetric: bool = False
    #: Counts the passes of the solver that minimises it.
    counter: PassCounter = field(default_factory=PassCounter)
    #: The share of all rows in ``data``.
    share: float = 1.0
    #: Whether products with rows are computed in float32.
    single: bool = False
    #: The covariance of the standardised columns in a sample, if it is known: several strengths share it.
    covariance: Array | None = None

    @cached_property
    def standardised(self) -> Standardisation:
        if self.standard is not None:
            return self.standard
        found = standardisation(self.data)
        if self.fit_intercept:
            return found
        # Without an intercept, centring would change the model.
        return Standardisation(np.zeros_like(found.centre), np.hypot(found.centre, found.scale))

    @cached_property
    def scaled_std(self) -> Array:
        """The columns' standard deviations in a sample divided by ``penalty_scale``, equal for sparse and dense rows.

        The standardisation of sparse rows is not centred.
        """
        deviations = self.standardised.scale
        sample: Any = _sample(self.data) if self.fit_intercept else None
        if sp.issparse(sample):
            variances = deviations**2 - np.asarray(sample.mean(axis=0), dtype=np.float64).ravel() ** 2
            varies = variances > CONSTANT_VARIANCE * deviations**2
            deviations = np.sqrt(np.where(varies, variances, 1.0))
        return deviations / (1.0 if self.penalty_scale is None else self.penalty_scale)

    @cached_property
    def form(self) -> Form:
        """The shape of its parameters."""
        contrasts = self.loss.contrasts(len(self.data.classes), self.symmetric)
        return Form(contrasts, self.data.rows.n_columns, bool(self.fit_intercept))

    @property
    def contrasts(self) -> Array:
        """The matrix (C, scores) from linear predictors to scores."""
        return self.form.contrasts

    @property
    def n_linear_predictors(self) -> int:
        return self.form.n_linear_predictors

    @property
    def n_columns(self) -> int:
        return self.form.n_columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.form.shape

    @property
    def n_parameters(self) -> int:
        return self.form.n_parameters

    @property
    def n_intercepts(self) -> int:
        """The number of intercepts at the end of each linear predictor's parameters."""
        return int(self.fit_intercept)

    @cached_property
    def total_weight(self) -> float:
        return self.data.total_weight

    @cached_property
    def class_weights(self) -> Array:
        """Total weight of each class."""
        return self.data.class_weights

    @cached_property
    def penalty_factor(self) -> Array:
        """The factor of each parameter in the penalty, 0 for intercepts; in the shape of ``theta``."""
        factor = np.zeros(self.shape)
        factor[:, : self.n_columns] = (
            1.0 if self.penalty_scale is None else self.penalty_scale
        ) / self.standardised.scale
        return factor

    @cached_property
    def ridge(self) -> Array:
        """The second derivative of the L2 penalty in each parameter, in the shape of ``theta``."""
        return self.penalty.l2 * self.penalty_factor**2

    @cached_property
    def lasso(self) -> Array:
        """The L1 penalty of each parameter, in the shape of ``theta``."""
        return self.penalty.l1 * self.penalty_factor

    @cached_property
    def parameter_scale(self) -> Array:
        """Scale of the column of each parameter in ``theta.ravel()``; 1 for intercepts."""
        return np.tile(np.append(self.standardised.scale, 1.0)[: self.shape[1]], self.n_linear_predictors)

    def sample(self, step: int) -> Objective:
        """The objective of a sample of one in ``step`` rows, with the same standardisation."""
        some = self.data.sample(step)
        return replace(self, data=some, standard=self.standardised, share=self.share * some.n_rows / self.data.n_rows)

    def in_single_precision(self) -> Objective:
        """The same with products in float32, if these are faster and lose few digits; else itself."""
        standard = self.standardised
        close = (np.abs(standard.centre) <= MAX_SINGLE_DISTANCE * standard.scale).all()
        single = self.form.n_scores >= MIN_SINGLE_SCORES and close and not isinstance(self.data.rows, SparseRows)
        return replace(self, standard=standard, single=True) if single else self

    def part(self, rows: Array) -> Objective:
        """The objective of the chosen rows, with weight 0 for the others; on one thread, for parallel folds."""
        data = self.data.gather()
        weight = np.zeros(data.n_rows)
        weight[rows] = data.weight_of(rows)
        return replace(self, data=replace(data, weight=weight), counter=PassCounter(), n_jobs=1)

    def linear(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients (..., scores, p) and intercepts (..., scores) of the original columns, centred."""
        # As many linear predictors as scores are the scores themselves.
        full = theta if theta.shape[-2] == self.contrasts.shape[1] else self.contrasts.T @ theta
        intercept = full[..., self.n_columns] if self.fit_intercept else np.zeros(full.shape[:-1])
        return full[..., : self.n_columns] / self.standardised.scale, intercept

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """The value and the gradient, without an L1 penalty."""
        return self._with_penalty(self.reduce(GradientPass(self, *self.linear(theta))), theta)

    def gradient_of(self, block: Block, theta: Array) -> Array:
        """The gradient of the mean loss of one block plus the penalty."""
        total = GradientPass(self, *self.linear(theta))
        total.update(block)
        share = self.total_weight / max(float(block.weight.sum()), 1e-300)
        gradient: Array = self.to_parameters(share * total.products, share * total.sums) + self.ridge * theta
        return gradient

    def value_gradient_hessian(self, theta: Array) -> tuple[float, Array, Array]:
        """The value, the gradient and the Hessian, a square matrix over ``theta.ravel()``."""
        total = self.reduce(HessianPass(self, *self.linear(theta)))
        hessian = total.hessian / self.total_weight / self.parameter_scale
        hessian /= self.parameter_scale[:, None]
        hessian[np.diag_indices(len(hessian))] += self.ridge.ravel()
        return *self._with_penalty(total, theta), hessian

    def hessian_product(self, theta: Array) -> Callable[[Array], Array]:
        """The function from a direction to Hessian times direction, at ``theta``.

        For rows in memory, the first product computes the curvature of each row's loss and keeps it, if these take no
        more memory than the rows.
        """
        in_memory, known = not self.data.is_streamed and self.form.n_scores <= self.n_columns, False
        kept = np.empty((self.data.n_rows, self.form.n_scores)) if in_memory else None

        def product(direction: Array) -> Array:
            nonlocal known
            point = None if known else Pass(self, *self.linear(theta))
            total = self.reduce(HessianProductPass(self, *self.linear(direction), kept, point))
            known = in_memory
            curved: Array = self.to_parameters(total.products, total.sums) + self.ridge * direction
            return curved

        return product

    def member_hessian(self, theta: Array, members: Array) -> Array:
        """The second derivatives of the mean loss in the members (a mask of parameters), without the penalty."""
        total = self.reduce(MemberHessianPass(self, *self.linear(theta), members))
        scale = self.parameter_scale[members.ravel()]
        return np.asarray(total.matrix / self.total_weight / np.outer(scale, scale))

    def class_hessians(self, theta: Array) -> Array:
        """The diagonal blocks of the Hessian in the scores, (scores, p + 1, p + 1), without the penalty."""
        total = self.reduce(ClassHessiansPass(self, *self.linear(theta)))
        scale = self.parameter_scale[: self.shape[1]]
        return np.asarray(total.hessians / self.total_weight / np.outer(scale, scale))

    def column_curvatures(self, theta: Array) -> tuple[Array, Array]:
        """The diagonal of the Hessian and its columns of the intercepts, each in the shape of ``theta``.

        Cheap for sparse rows. Without intercepts the second are 0.
        """
        total = self.reduce(DiagonalPass(self, *self.linear(theta)))
        squares, crossed = total.squares.T / self.standardised.scale**2, total.crossed.T / self.standardised.scale
        found = [np.concatenate((part, total.sums[:, None]), axis=1)[:, : self.shape[1]] for part in (squares, crossed)]
        return found[0] / self.total_weight + self.ridge, self.fit_intercept * found[1] / self.total_weight

    def mean_loss(self, theta: Array) -> float:
        """The loss alone, without the penalty."""
        return float(self.reduce(GradientPass(self, *self.linear(theta))).value) / self.total_weight

    def losses_and_gradients(self, thetas: list[Array]) -> list[tuple[float, Array]]:
        """The mean loss and its gradient, without the penalty, at several points, in one pass."""
        coefs, intercepts = zip(*(self.linear(theta) for theta in thetas), strict=True)
        total = self.reduce(LossesPass(self, np.concatenate(coefs), np.concatenate(intercepts)))
        products, sums = np.split(total.products, len(thetas)), np.split(total.sums, len(thetas))
        gradients = (self.to_parameters(*own) for own in zip(products, sums, strict=True))
        return list(zip((total.value / self.total_weight).tolist(), gradients, strict=True))

    def scores(self, theta: Array) -> Array:
        """The scores of every row, (n, scores)."""
        out = np.empty((self.data.n_rows, self.contrasts.shape[1]))

        def write(total: Pass, part: Block) -> None:
            out[part.start : part.start + part.n_rows] = total.scores(part)

        self.reduce(Pass(self, *self.linear(theta), write))
        return out

    def point(self, theta: Array) -> Pass:
        """A statistic of the rows' scores and gradients at a point, which can be sent to workers."""
        return Pass(self, *self.linear(theta))

    def largest_score(self, theta: Array) -> float:
        """The largest difference between the scores of a row, or the largest absolute score."""
        return float(self.reduce(LargestScorePass(self, *self.linear(theta))).value)

    def products(self, slopes: Array) -> Array:
        """The gradient in ``theta`` of a mean loss with these (weighted) derivatives in the scores, (n, scores)."""

        def add(total: Pass, part: Block) -> None:
            total.add_products(part.X, slopes[part.start : part.start + part.n_rows])

        total = self.reduce(Pass(self, np.zeros((slopes.shape[1], self.n_columns)), np.zeros(slopes.shape[1]), add))
        return self.to_parameters(total.products, total.sums)

    def _with_penalty(self, total: Pass, theta: Array) -> tuple[float, Array]:
        """The value and the gradient from the sums over the rows."""
        value = total.value / self.total_weight + 0.5 * float((self.ridge * theta**2).sum())
        return value, self.to_parameters(total.products, total.sums) + self.ridge * theta

    def to_parameters(self, products: Array, sums: Array) -> Array:
        """Sums of (derivative in the scores) x (columns), (..., scores, p), as a gradient in ``theta``."""
        scaled = products / self.standardised.scale
        whole = np.concatenate((scaled, sums[..., None]), axis=-1) if self.fit_intercept else scaled
        gradient: Array = self.contrasts @ whole / self.total_weight
        return gradient

    def reduce(self, statistic: S) -> S:
        """The statistic of all rows; counts a pass."""
        self.counter.add(self.share)
        return self.data.reduce(statistic, self.n_jobs)
