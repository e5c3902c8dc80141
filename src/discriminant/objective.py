"""Mean loss plus penalty, evaluated by reductions over row blocks.

``f(theta) = sum_i w_i loss(scores_i) / sum_i w_i + penalty(coef)``

``theta`` is an array (C, p + 1): one row per free score function, the last column its intercept (absent without
one). It lives in standardised columns ``(x - centre) / scale``, so solvers see columns of like size whatever their
units; the penalty is that of the original coefficients all the same, or of these times ``spread``, the columns'
standard deviations. Two-class losses have C = 1. Softmax has
C = K - 1: scores are ``theta`` times an orthonormal basis of the contrasts between K classes, which loses nothing
(scores that all classes share cancel) and makes the optimum unique; the L2 penalty is that of all K coefficient
vectors.

Two-class losses of a row are functions of the margin ``m = y * score``, y = -1 or +1. With their derivatives in m:

==============  ==================  ==========================  =======================
loss            f(m)                f'(m)                       f''(m)
==============  ==================  ==========================  =======================
logistic        log(1 + e^-m)       -1 / (1 + e^m)              e^m / (1 + e^m)^2
hinge           max(1 - m, 0)       -1 where m < 1              0
squared hinge   max(1 - m, 0)^2     -2 max(1 - m, 0)            2 where m < 1
smoothed hinge  (u + r) / 2         -(1 + u / r) / 2            2 width^2 / r^3
perceptron      max(-m, 0)          -1 where m < 0              0
squared         u^2 / 2             -u                          1
squared sigm.   (1 - s)^2           -2 s (1 - s)^2              2 s (1 - s)^2 (3 s - 1)
==============  ==================  ==========================  =======================

with u = 1 - m, r = sqrt(u^2 + 4 width^2) and s = 1 / (1 + e^-m): the smoothed hinge lies above the hinge by at most
``width``. The squared loss is ``(y - score)^2 / 2``; the squared error of a sigmoid is not convex.

Softmax is a function of K scores s: ``log(sum_k e^s_k) - s_y``, with gradient ``p - e_y`` and Hessian
``diag(p) - p p'``, p the probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import helmert

from .arrays import Array
from .data import Block, LabelledRows, SparseRows, check_number, check_shapes
from .engine import reduce as reduce_rows
from .engine import workspace
from .kernels import csr_parts, moments
from .kernels import losses as loss_kernels
from .kernels import scores as kernels
from .moments.covariance import standard_deviations
from .moments.statistic import ClassMoments

#: Rows are passed over in parts of this many bytes, which are read several times and stay in a core's cache.
_PART_BYTES = 1_000_000
#: Up to so many multiplications BLAS has kernels for small products, which need no copies of what they multiply
#: (OpenBLAS; 60,000 x 200, 10 classes: 16 ms instead of 28).
_SMALL_PRODUCT = 1_000_000
#: Products with so many rows are worth their copies where scores are many.
_SEVERAL_ROWS = 256
#: From so many contrasts of classes on, second derivatives are made in few large products (26 classes: a third of the
#: time).
_MANY_CLASSES = 8
#: A centre this many standard deviations away costs digits unless it is subtracted before multiplying.
_FAR = 1e3


class MarginLoss:
    """A loss of one margin, its formulas in the kernels, which then pass over dense rows with it."""

    code: int
    width = 0.0
    #: Curvature that may be left out of second derivatives: less than this adds nothing worth its time.
    flat = 0.0
    convex = True
    #: The largest curvature that a margin can have, over that at 0.
    steepest = 1.0

    def usual_curvature(self, shares: Array) -> float:
        """The second derivative to expect of a row, where all rows have the probabilities of the class shares."""
        return float(shares.prod())

    def evaluate(self, scores: Array, codes: Array) -> tuple[Array, Array]:
        """The loss of each row, and its derivative in the score (rows, 1)."""
        sign = 2.0 * codes - 1.0
        value, slope = self.value_and_slope(sign * scores[:, 0])
        return value, (sign * slope)[:, None]

    def curvature(self, scores: Array, codes: Array) -> Array:
        """Second derivative of each row's loss in its score."""
        margin = (2.0 * codes - 1.0) * scores[:, 0]
        out = np.empty_like(margin)
        loss_kernels.curvatures(self.code, self.width, margin, out)
        return out

    def value_and_slope(self, margin: Array) -> tuple[Array, Array]:
        """f and f' of each margin."""
        value, slope = np.empty_like(margin), np.empty_like(margin)
        loss_kernels.values_and_slopes(self.code, self.width, margin, value, slope)
        return value, slope


class Logistic(MarginLoss):
    """``log(1 + e^-m)``."""

    code = loss_kernels.LOGISTIC


class SquaredHinge(MarginLoss):
    """``max(1 - m, 0)^2``."""

    code = loss_kernels.SQUARED_HINGE


class SmoothedHinge(MarginLoss):
    """``(u + sqrt(u^2 + 4 width^2)) / 2`` with u = 1 - m."""

    code = loss_kernels.SMOOTHED_HINGE

    def __init__(self, width: float) -> None:
        self.width = width
        # At 20 widths from the kink, where all rows together bend the sum by less than a hundredth.
        self.flat = 2.5e-4 / width


class Squared(MarginLoss):
    """``(1 - m)^2 / 2``, which is ``(y - score)^2 / 2`` (least mean squares, Widrow & Hoff 1960)."""

    code = loss_kernels.SQUARED

    def usual_curvature(self, shares: Array) -> float:  # noqa: ARG002
        return 1.0


class SquaredSigmoid(MarginLoss):
    """``(1 - s)^2``, s = 1 / (1 + e^-m): the squared error of a sigmoid whose target is 0 or 1."""

    code = loss_kernels.SQUARED_SIGMOID
    convex = False
    #: At s = (9 + sqrt(33)) / 24, where ``2 s (1 - s)^2 (3 s - 1)`` is largest; at s = 1/2 it is 1/8.
    steepest = 1.2325

    def usual_curvature(self, shares: Array) -> float:
        return 0.5 * float(shares.prod())


class PerceptronLoss:
    """``max(-m, 0)``."""

    def value_and_slope(self, margin: Array) -> tuple[Array, Array]:
        """f and f' of each margin."""
        return np.maximum(-margin, 0.0), np.where(margin < 0.0, -1.0, 0.0)


class Hinge:
    """``max(1 - m, 0)``, without a second derivative to minimise it by."""

    def value_and_slope(self, margin: Array) -> tuple[Array, Array]:
        """f and f' of each margin."""
        return np.maximum(1.0 - margin, 0.0), np.where(margin < 1.0, -1.0, 0.0)


#: Losses of one margin by their names.
MARGIN_LOSSES: dict[str, Any] = {
    "perceptron": PerceptronLoss(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "squared": Squared(),
    "logistic": Logistic(),
    "squared_sigmoid": SquaredSigmoid(),
}


class Softmax:
    """``log(sum_k e^s_k) - s_y``."""

    convex, steepest = True, 1.0

    def evaluate(self, scores: Array, codes: Array) -> tuple[Array, Array]:
        """The loss of each row, and its gradient in the scores (rows, K); overwrites ``scores``."""
        value = np.empty(len(codes))
        kernels.softmax_losses(scores, codes, value)
        return value, scores

    def probabilities(self, scores: Array) -> Array:
        """p of each row; overwrites ``scores``."""
        kernels.softmax(scores, scores)
        return scores


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
        """What users call it."""
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
        """Columns as they are."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    @cached_property
    def far(self) -> bool:
        return bool((np.abs(self.centre) > _FAR * self.scale).any())


#: A variance that is this share of the mean square is rounding: the column does not vary.
_ROUNDING = 1e-12
#: Rows of a sample that columns are standardised by.
_STANDARD_ROWS = 5_000


def _sample(data: LabelledRows) -> Any:
    rows = data.every(max(1, data.n_rows // _STANDARD_ROWS)).rows
    return rows.block(0, rows.n_rows)


def standardisation(data: LabelledRows) -> Standardisation:
    """Centre and scale of the columns, from a sample of the rows: the optimum does not depend on them."""
    sample = _sample(data)
    if sp.issparse(sample):
        mean_square = np.asarray(sample.multiply(sample).mean(axis=0), dtype=np.float64).ravel()
        centre, spread = np.zeros(sample.shape[1]), np.sqrt(mean_square)
    else:
        found = np.empty((2, sample.shape[1]))
        moments.centre_and_spread(sample, *found)
        centre, spread = np.where(np.isfinite(found), found, 0.0)
    return Standardisation(centre, np.where(spread > 0, spread, 1.0))


def column_spread(data: LabelledRows, n_jobs: int | None = None) -> Array:
    """The standard deviation of each column over all rows, weighted; 1 where it does not vary. Sparse zeros count."""
    wanted = ClassMoments(len(data.classes), data.rows.n_columns, "diagonal")
    together: Any = getattr(data, "reduced", partial(reduce_rows, data))  # a dataset is sampled in the same pass
    moments = together(wanted, n_jobs)
    return standard_deviations(moments.column_variances())


def penalty_units(
    data: LabelledRows, penalty: ElasticNet, n_jobs: int | None = None, spread: Array | None = None
) -> Array:
    """What a penalty measures columns by: their standard deviation; under a ridge marks of levels as they are.

    A ridge then shrinks all levels of a category alike, however rare; an L1 penalty chooses columns by what they tell.
    The standard deviations take a pass over the rows, unless they are known (``spread``).
    """
    spread, marks = column_spread(data, n_jobs) if spread is None else spread, data.rows.marks
    return spread if marks is None or penalty.l1_ratio > 0 else np.where(marks, 1.0, spread)


@dataclass(frozen=True)
class Objective:
    """The function to be minimised; see the module's docstring for its parameters."""

    data: LabelledRows
    loss: Any
    penalty: ElasticNet = NO_PENALTY
    fit_intercept: bool = True
    standard: Standardisation | None = None
    #: Standard deviation of each column, by which the penalty measures its coefficients; None: in the columns' units.
    spread: Array | None = None
    n_jobs: int | None = None
    #: Softmax in its K scores themselves, not in contrasts: an L1 penalty depends on the basis.
    symmetric: bool = False
    passes: list[float] = field(default_factory=lambda: [0.0])
    share: float = 1.0

    @cached_property
    def standardised(self) -> Standardisation:
        if self.standard is not None:
            return self.standard
        found = standardisation(self.data)
        if self.fit_intercept:
            return found
        # Without an intercept the origin has a meaning: it must not be moved.
        return Standardisation(np.zeros_like(found.centre), np.hypot(found.centre, found.scale))

    @cached_property
    def penalised_deviations(self) -> Array:
        """Standard deviations of the columns, from a sample, in the units that the penalty measures them by.

        Sparse rows are scaled by their distance from 0; what is read off here must not depend on how rows are stored.
        """
        deviations = self.standardised.scale
        sample: Any = _sample(self.data) if self.fit_intercept else None
        if sp.issparse(sample):
            variances = deviations**2 - np.asarray(sample.mean(axis=0), dtype=np.float64).ravel() ** 2
            varies = variances > _ROUNDING * deviations**2
            deviations = np.sqrt(np.where(varies, variances, 1.0))
        return deviations / (1.0 if self.spread is None else self.spread)

    @cached_property
    def form(self) -> Form:
        """The form of its parameters."""
        n_classes, contrasts = len(self.data.classes), np.ones((1, 1))
        if isinstance(self.loss, Softmax):
            contrasts = np.eye(n_classes) if self.symmetric else np.asarray(helmert(n_classes))
        return Form(contrasts, self.data.rows.n_columns, bool(self.fit_intercept))

    @property
    def contrasts(self) -> Array:
        """(C, number of scores): what each free function adds to each score."""
        return self.form.contrasts

    @property
    def n_functions(self) -> int:
        return self.form.n_functions

    @property
    def n_columns(self) -> int:
        return self.form.n_columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.form.shape

    @property
    def n_parameters(self) -> int:
        return self.form.n_parameters

    @cached_property
    def total_weight(self) -> float:
        return self.data.total_weight

    @cached_property
    def class_weights(self) -> Array:
        """Total weight of each class."""
        return self.data.class_weights

    @cached_property
    def penalised(self) -> Array:
        """What the penalty multiplies each parameter by before it measures it; 0 for intercepts. Shape of ``theta``."""
        factor = np.zeros(self.shape)
        factor[:, : self.n_columns] = (1.0 if self.spread is None else self.spread) / self.standardised.scale
        return factor

    @cached_property
    def ridge(self) -> Array:
        """Second derivative of the L2 penalty in each parameter, shape of ``theta``."""
        return self.penalty.l2 * self.penalised**2

    @cached_property
    def lasso(self) -> Array:
        """What the L1 penalty multiplies each parameter's absolute value by, shape of ``theta``."""
        return self.penalty.l1 * self.penalised

    @cached_property
    def parameter_scale(self) -> Array:
        """Scale of the column of each parameter in ``theta.ravel()``; 1 for intercepts."""
        return np.tile(np.append(self.standardised.scale, 1.0)[: self.shape[1]], self.n_functions)

    def every(self, step: int) -> Objective:
        """The objective of one row of every ``step``, on the same scale."""
        some = self.data.every(step)
        return replace(self, data=some, standard=self.standardised, share=self.share * some.n_rows / self.data.n_rows)

    def part(self, rows: Array) -> Objective:
        """The objective of the chosen rows: the others have weight 0. One thread of its own, to run beside others."""
        weight = np.zeros(self.data.n_rows)
        weight[rows] = 1.0 if self.data.weight is None else self.data.weight[rows]
        return replace(self, data=replace(self.data, weight=weight), passes=[0.0], n_jobs=1)

    def linear(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients (..., scores, p) and intercepts (..., scores) of the original columns, centred."""
        # As many functions as scores (an L1 penalty needs them all) are the scores themselves.
        full = theta if theta.shape[-2] == self.contrasts.shape[1] else self.contrasts.T @ theta
        intercept = full[..., self.n_columns] if self.fit_intercept else np.zeros(full.shape[:-1])
        return full[..., : self.n_columns] / self.standardised.scale, intercept

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """f and its gradient (of the smooth part: an L1 penalty is left to the solver)."""
        return self._penalised(self.reduce(_Gradient(self, *self.linear(theta))), theta)

    def gradient_of(self, block: Block, theta: Array) -> Array:
        """The gradient estimated from the rows of one block (their mean loss; the penalty in full)."""
        total = _Gradient(self, *self.linear(theta))
        Pass.update(total, block)
        share = self.total_weight / max(float(block.weight.sum()), 1e-300)
        return self.to_parameters(share * total.products, share * total.sums) + self.ridge * theta

    def value_gradient_hessian(self, theta: Array) -> tuple[float, Array, Array]:
        """f, gradient and Hessian, a square matrix over ``theta.ravel()``."""
        total = self.reduce(_Hessian(self, *self.linear(theta)))
        hessian = total.hessian / self.total_weight / self.parameter_scale
        hessian /= self.parameter_scale[:, None]
        hessian[np.diag_indices(len(hessian))] += self.ridge.ravel()
        return *self._penalised(total, theta), hessian

    def hessian_product(self, theta: Array) -> Callable[[Array], Array]:
        """The map from a direction to Hessian times direction, at ``theta``.

        Where rows are at hand, the first product finds what the loss of each one bends there, and keeps it.
        """
        at_hand, known = isinstance(self.data, LabelledRows), False
        bend = np.empty((self.data.n_rows, self.contrasts.shape[1])) if at_hand else None

        def product(direction: Array) -> Array:
            nonlocal known
            here = None if known else Pass(self, *self.linear(theta))
            total = self.reduce(_Product(self, *self.linear(direction), bend, here))
            known = bend is not None
            return self.to_parameters(total.products, total.sums) + self.ridge * direction

        return product

    def class_hessians(self, theta: Array) -> Array:
        """The blocks on the Hessian's diagonal in the scores themselves, (scores, p + 1, p + 1), without penalty."""
        total = self.reduce(_ClassHessians(self, *self.linear(theta)))
        scale = self.parameter_scale[: self.shape[1]]
        return np.asarray(total.hessians / self.total_weight / np.outer(scale, scale))

    def column_curvatures(self, theta: Array) -> tuple[Array, Array]:
        """The diagonal of the Hessian and its columns of the intercepts, each in the shape of ``theta``.

        Cheap for sparse rows. Without intercepts the second are 0.
        """
        total = self.reduce(_Curvature(self, *self.linear(theta)))
        squares, crossed = total.squares.T / self.standardised.scale**2, total.crossed.T / self.standardised.scale
        found = [np.concatenate((part, total.sums[:, None]), axis=1)[:, : self.shape[1]] for part in (squares, crossed)]
        return found[0] / self.total_weight + self.ridge, self.fit_intercept * found[1] / self.total_weight

    def mean_loss(self, theta: Array) -> float:
        """The loss alone, without the penalty."""
        return float(self.reduce(_Gradient(self, *self.linear(theta))).value) / self.total_weight

    def scores(self, theta: Array) -> Array:
        """The scores of every row, (n, scores)."""
        out = np.empty((self.data.n_rows, self.contrasts.shape[1]))

        def write(total: Pass, part: Block) -> None:
            out[part.start : part.start + part.n_rows] = total.scores(part)

        self.reduce(Pass(self, *self.linear(theta), write))
        return out

    def largest_score(self, theta: Array) -> float:
        """The largest distance of a row's scores from each other (from 0, if it has one)."""
        return float(self.reduce(_LargestScore(self, *self.linear(theta))).value)

    def products(self, slopes: Array) -> Array:
        """The gradient in ``theta`` of a mean loss with these (weighted) derivatives in the scores, (n, scores)."""

        def add(total: Pass, part: Block) -> None:
            total.add_products(part.X, slopes[part.start : part.start + part.n_rows])

        total = self.reduce(Pass(self, np.zeros((slopes.shape[1], self.n_columns)), np.zeros(slopes.shape[1]), add))
        return self.to_parameters(total.products, total.sums)

    def _penalised(self, total: Pass, theta: Array) -> tuple[float, Array]:
        """f and its gradient from the sums over the rows."""
        value = total.value / self.total_weight + 0.5 * float((self.ridge * theta**2).sum())
        return value, self.to_parameters(total.products, total.sums) + self.ridge * theta

    def to_parameters(self, products: Array, sums: Array) -> Array:
        """Sums of (derivative in the scores) x (columns), (..., scores, p), as a gradient in ``theta``."""
        scaled = products / self.standardised.scale
        whole = np.concatenate((scaled, sums[..., None]), axis=-1) if self.fit_intercept else scaled
        return self.contrasts @ whole / self.total_weight

    def reduce(self, statistic: Any) -> Any:
        self.passes[0] += self.share
        return reduce_rows(self.data, statistic, self.n_jobs)


@dataclass(frozen=True)
class Form:
    """What statistics of rows know of an objective: they are sent to the rows, and take none along."""

    contrasts: Array
    n_columns: int
    fit_intercept: bool

    @property
    def n_functions(self) -> int:
        return int(self.contrasts.shape[0])

    @cached_property
    def shape(self) -> tuple[int, int]:
        return self.n_functions, self.n_columns + self.fit_intercept

    @property
    def n_parameters(self) -> int:
        return self.shape[0] * self.shape[1]


class Pass:
    """A statistic of the rows at given coefficients, fed with parts of blocks that stay in a core's cache.

    A subclass sets what it sums up to 0 in `reset`, names it in ``summed``, and adds rows in `add`; where the sums are
    those named here, a function ``each(total, part)`` that adds rows does without a subclass.
    """

    densify = False
    summed: tuple[str, ...] = ("value", "products", "sums")

    def __init__(
        self, objective: Objective, coef: Array, intercept: Array, each: Callable[[Any, Block], None] | None = None
    ) -> None:
        self.form, self.coef, self.intercept, self.each = objective.form, coef, intercept, each
        self.by_column = np.ascontiguousarray(coef.T)
        #: What the scores of dense rows have besides: rows are centred before, if the centre is far.
        self.shift = intercept if objective.standardised.far else intercept - coef @ objective.standardised.centre
        #: Products of sparse rows are added up column by column.
        self.order: Any = "F" if isinstance(objective.data.rows, SparseRows) else "C"
        self.loss, self.standard = objective.loss, objective.standardised
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self.value: Any = 0.0
        self.products, self.sums = np.zeros(self.coef.shape, order=self.order), np.zeros(len(self.coef))

    def fresh(self) -> Self:
        empty = object.__new__(type(self))
        vars(empty).update(vars(self))
        empty.reset()
        return empty

    def merge(self, other: Self) -> None:
        for name in self.summed:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def update(self, block: Block) -> None:
        for part in self._parts(block):
            self.add(part)

    def add(self, part: Block) -> None:
        """Add some rows: float64 array, centred if the centre is far, or CSR matrix."""
        if self.each is not None:
            self.each(self, part)

    def _parts(self, block: Block) -> Iterator[Block]:
        if block.sparse and not self.densify:
            yield block
            return
        width = block.X.shape[1]
        small = max(_SMALL_PRODUCT // (len(self.coef) * width), _SEVERAL_ROWS)
        step = max(64, min(_PART_BYTES // (8 * width), small))
        for start in range(0, block.n_rows, step):
            where = slice(start, start + step)
            X = block.X[where].toarray() if block.sparse else block.X[where]
            if self.standard.far:
                X = X - self.standard.centre
            X = X if X.dtype == np.float64 else X.astype(np.float64)
            yield block.part(where, X)

    def scores(self, part: Block) -> Array:
        """The scores of some rows, known offsets included."""
        return self.plus_offset(self.linear_scores(part.X), part)

    def linear_scores(self, X: Any) -> Array:
        if sp.issparse(X):
            scores = np.empty((X.shape[0], len(self.coef)))
            kernels.csr_scores(csr_parts(X), self.by_column, scores)
            scores += self.intercept
        else:
            # A single score is a matrix-vector product, which BLAS does faster than a matrix with one column.
            scores = (X @ self.coef[0])[:, None] if len(self.coef) == 1 else X @ self.by_column
            scores += self.shift
        return scores

    def plus_offset(self, scores: Array, part: Block) -> Array:
        """The scores with known offsets added in place; those of several points stand side by side."""
        offset = part.offset
        if offset is not None:
            scores += offset[:, None] if offset.ndim == 1 else np.tile(offset, scores.shape[1] // offset.shape[1])
        return scores

    def reads_whole(self, block: Block) -> bool:
        """Whether a kernel reads the rows of a whole block once for softmax; few of them are as fast in NumPy."""
        is_large = not block.sparse and block.X.size * len(self.coef) > _SMALL_PRODUCT
        return is_large and isinstance(self.loss, Softmax)

    def inputs(self, block: Block) -> tuple[Array, ...]:
        """What those kernels take of a block and of the coefficients."""
        n_known = 0 if block.offset is None else len(self.coef)
        known = self.plus_offset(np.zeros((block.n_rows, n_known)), block)
        return (
            block.X,
            self.standard.centre,
            np.ascontiguousarray(self.coef),
            np.ascontiguousarray(self.intercept),
            known,
        )

    def add_products(self, X: Any, slopes: Array) -> None:
        """Add ``slopes' (x - centre)`` and the sums of the slopes."""
        sums = slopes.sum(axis=0)
        self.sums += sums
        if sp.issparse(X):
            self.products = np.asfortranarray(self.products)
            kernels.csr_add_products(csr_parts(X), slopes, self.products.T)
            return
        self.products += slopes[:, 0] @ X if slopes.shape[1] == 1 else slopes.T @ X
        if not self.standard.far:
            self.products -= np.outer(sums, self.standard.centre)


class _Gradient(Pass):
    """The loss and its derivatives in the coefficients."""

    def update(self, block: Block) -> None:
        if self.reads_whole(block) and not self.densify:
            inputs = *self.inputs(block), block.codes, block.weight
            self.value += loss_kernels.add_softmax_gradient(*inputs, self.products, self.sums)
            return
        if block.sparse or not isinstance(self.loss, MarginLoss):
            super().update(block)
            return
        known = self.plus_offset(np.zeros((block.n_rows, 1)), block)[:, 0]
        centre, coef = self.standard.centre, np.ascontiguousarray(self.coef[0])
        intercept, loss = float(self.intercept[0]), (self.loss.code, self.loss.width)
        value, slopes = self.read_once(*loss, block.X, centre, coef, intercept, block.codes, block.weight, known)
        self.value += value
        self.sums += slopes

    def read_once(self, *inputs: Any) -> tuple[float, float]:
        """Add whole blocks of dense rows by a kernel that reads every row once; the sums of losses and slopes."""
        return loss_kernels.add_gradient(*inputs, self.products[0])

    def add(self, part: Block) -> None:
        values, slopes = self.loss.evaluate(self.scores(part), part.codes)
        self.value += float(part.weight @ values)
        slopes *= part.weight[:, None]
        self.add_products(part.X, slopes)


class _Hessian(_Gradient):
    """The same, and the second derivatives."""

    densify = True
    summed = (*_Gradient.summed, "hessian")

    def reset(self) -> None:
        super().reset()
        self.hessian = np.zeros((self.form.n_parameters, self.form.n_parameters))

    def read_once(self, *inputs: Any) -> tuple[float, float]:
        scaled = workspace((len(inputs[2]), self.form.shape[1]))
        value, slopes, kept = loss_kernels.add_newton(*inputs, self.products[0], self.loss.flat, scaled)
        self.hessian += scaled[:kept].T @ scaled[:kept]
        return value, slopes

    def add(self, part: Block) -> None:
        super().add(part)
        scores, (p, width) = self.scores(part), (part.X.shape[1], self.form.shape[1])
        rows, scaled = workspace((2, part.n_rows, width))
        np.subtract(part.X, 0.0 if self.standard.far else self.standard.centre, out=rows[:, :p])
        rows[:, p:] = 1.0
        if not isinstance(self.loss, Softmax):
            np.multiply(rows, np.sqrt(part.weight * self.loss.curvature(scores, part.codes))[:, None], out=scaled)
            self.hessian += scaled.T @ scaled
            return
        # Blocks (a, b): columns weighted by ``q_a' (diag(p) - p p') q_b``, q the contrasts.
        contrasts, probability = self.form.contrasts, self.loss.probabilities(scores)
        if len(contrasts) >= _MANY_CLASSES:
            self._add_many_classes(rows, probability, part.weight)
            return
        expected = probability @ contrasts.T
        for a in range(len(contrasts)):
            for b in range(a + 1):
                factor = probability @ (contrasts[a] * contrasts[b]) - expected[:, a] * expected[:, b]
                np.multiply(rows, (factor * part.weight)[:, None], out=scaled)
                cell = scaled.T @ rows
                here, there = slice(a * width, (a + 1) * width), slice(b * width, (b + 1) * width)
                self.hessian[here, there] += cell
                if a != b:
                    self.hessian[there, here] += cell.T

    def _add_many_classes(self, rows: Array, probability: Array, weight: Array) -> None:
        """The same in few large products: of each class's columns, mixed afterwards, less the square of a matrix."""
        contrasts, (n, width), n_classes = self.form.contrasts, rows.shape, probability.shape[1]
        of_class = np.zeros((width, n_classes * width))
        step = max(64, _PART_BYTES // (8 * n_classes * width))
        for start in range(0, n, step):
            x, p, w = (values[start : start + step] for values in (rows, probability, weight))
            of_class += x.T @ ((p * w[:, None])[:, :, None] * x[:, None, :]).reshape(len(x), -1)
            expected = (p @ contrasts.T) * np.sqrt(w)[:, None]
            square = (expected[:, :, None] * x[:, None, :]).reshape(len(x), -1)
            self.hessian -= square.T @ square
        pairs = (contrasts[:, None, :] * contrasts).reshape(-1, n_classes)
        mixed = pairs @ of_class.reshape(width, n_classes, width).transpose(1, 0, 2).reshape(n_classes, -1)
        shape = len(contrasts), len(contrasts), width, width
        self.hessian += mixed.reshape(shape).transpose(0, 2, 1, 3).reshape(self.hessian.shape)


class _LargestScore(Pass):
    """The largest distance of a row's scores from each other (from 0, if it has one)."""

    def add(self, part: Block) -> None:
        scores = self.scores(part)
        widths = np.abs(scores) if scores.shape[1] == 1 else np.ptp(scores, axis=1)
        self.value = max(self.value, float(widths.max()))

    def merge(self, other: Self) -> None:
        self.value = max(self.value, other.value)


class _Product(Pass):
    """The Hessian of the mean loss times a direction, whose scores are how the scores change along it."""

    def __init__(
        self, objective: Objective, coef: Array, intercept: Array, bend: Array | None, here: Pass | None
    ) -> None:
        super().__init__(objective, coef, intercept)
        #: What the loss of each row bends, kept in ``bend``; where ``here`` is given, it is found (again).
        self.bend, self.here = bend, here

    def update(self, block: Block) -> None:
        if self.reads_whole(block) and self.bend is not None:
            bend = self.bend[block.start : block.start + block.n_rows]
            if self.here is not None:
                loss_kernels.softmax_probabilities(*self.here.inputs(block), bend)
            loss_kernels.add_softmax_hessian_product(
                *self.inputs(block)[:-1], bend, block.weight, self.products, self.sums
            )
            return
        if block.sparse or self.bend is None or self.here is not None or not isinstance(self.loss, MarginLoss):
            super().update(block)
            return
        bend, coef = self.bend[block.start : block.start + block.n_rows, 0], np.ascontiguousarray(self.coef[0])
        inputs = block.X, self.standard.centre, coef, float(self.intercept[0]), bend
        self.sums += loss_kernels.add_hessian_product(*inputs, self.products[0])

    def add(self, part: Block) -> None:
        change, bend = self.linear_scores(part.X), self._bend_of(part)
        if isinstance(self.loss, Softmax):
            kernels.softmax_curvature_products(bend, part.weight, change)
        else:
            change *= bend
        self.add_products(part.X, change)

    def _bend_of(self, part: Block) -> Array:
        """Probabilities (rows, K) for softmax, else weighted second derivatives (rows, 1)."""
        where = slice(part.start, part.start + part.n_rows)
        if self.here is None:
            return self.bend[where]  # type: ignore[index]
        bend = self.here.scores(part)
        if isinstance(self.loss, Softmax):
            self.loss.probabilities(bend)
        else:
            bend = (part.weight * self.loss.curvature(bend, part.codes))[:, None]
        if self.bend is not None:
            self.bend[where] = bend
        return bend


class _ClassHessians(Pass):
    """The blocks on the Hessian's diagonal, one for each score."""

    densify = True
    summed = ("hessians",)

    def reset(self) -> None:
        self.hessians = np.zeros((len(self.coef), self.form.shape[1], self.form.shape[1]))

    def add(self, part: Block) -> None:
        scores, (p, width) = self.scores(part), (part.X.shape[1], self.form.shape[1])
        rows, scaled = workspace((2, part.n_rows, width))
        np.subtract(part.X, 0.0 if self.standard.far else self.standard.centre, out=rows[:, :p])
        rows[:, p:] = 1.0
        if isinstance(self.loss, Softmax):
            factors = self.loss.probabilities(scores)
            factors *= 1.0 - factors
        else:
            factors = self.loss.curvature(scores, part.codes)[:, None]
        for hessian, factor in zip(self.hessians, factors.T, strict=True):
            np.multiply(rows, np.sqrt(part.weight * factor)[:, None], out=scaled)
            hessian += scaled.T @ scaled


class _Curvature(Pass):
    """The diagonal of the Hessian, and what couples the columns with the intercepts."""

    summed = ("squares", "crossed", "sums")

    def reset(self) -> None:
        self.squares, self.crossed = np.zeros((2, self.form.n_columns, self.form.n_functions))
        self.sums = np.zeros(self.form.n_functions)

    def add(self, part: Block) -> None:
        X, scores, contrasts = part.X, self.scores(part), self.form.contrasts
        if isinstance(self.loss, Softmax):
            probability = self.loss.probabilities(scores)
            factor = probability @ (contrasts**2).T - (probability @ contrasts.T) ** 2
        else:
            factor = self.loss.curvature(scores, part.codes)[:, None]
        factor = factor * part.weight[:, None]
        self.sums += factor.sum(axis=0)
        if part.sparse:
            kernels.csr_add_squares(csr_parts(X), factor, self.squares)
            kernels.csr_add_products(csr_parts(X), factor, self.crossed)
        else:
            centred = X if self.standard.far else X - self.standard.centre
            self.squares += (centred**2).T @ factor
            self.crossed += centred.T @ factor
