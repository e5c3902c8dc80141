"""The objective of ordinal models: mean negative log-likelihood plus penalty, summed over row blocks.

``theta`` is an array (1, P), so that inference treats it as one linear predictor with P - m columns and m = K - 1
intercepts: first the slopes of standardised columns, then the thresholds minus those of the null model. A column has
one slope, or m slopes if its effect is *nonparallel*, one for each score. At ``theta = 0`` the objective is that of the
null model. The penalty applies to the slopes.

A pass multiplies the rows by one vector, or by one for each score if any column is nonparallel. The Hessian is a
weighted product of the rows with themselves for each pair of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from .arrays import Array
from .data import Block
from .losses import OrdinalLoss, log_loss
from .objective import Objective
from .passes import Form, Pass


@dataclass(frozen=True)
class OrdinalParameters:
    """The places of slopes and thresholds among the parameters."""

    n_columns: int
    n_scores: int
    nonparallel: tuple[int, ...] = ()

    @property
    def n_linear_predictors(self) -> int:
        """Vectors that rows are multiplied by: one, or one for each score."""
        return self.n_scores if self.nonparallel else 1

    @cached_property
    def slope_columns(self) -> Array:
        """The column of each slope."""
        counts = np.ones(self.n_columns, dtype=int)
        counts[list(self.nonparallel)] = self.n_scores
        return np.repeat(np.arange(self.n_columns), counts)

    @cached_property
    def slopes(self) -> Array:
        """The slope of each function and column, (functions, columns), as its index among the parameters."""
        first = np.searchsorted(self.slope_columns, np.arange(self.n_columns))
        places = np.tile(first, (self.n_linear_predictors, 1))
        places[:, list(self.nonparallel)] += np.arange(self.n_linear_predictors)[:, None]
        return places

    @property
    def n_slopes(self) -> int:
        return len(self.slope_columns)

    @property
    def n_parameters(self) -> int:
        return self.n_slopes + self.n_scores

    def collected(self, by_function: Array) -> Array:
        """Sums over the functions (..., functions, columns) that share a slope, (..., slopes)."""
        found = np.zeros((*by_function.shape[:-2], self.n_slopes))
        for k, own in enumerate(self.slopes):
            found[..., own] += by_function[..., k, :]
        return found


class OrdinalPass(Pass):
    """Sums over the rows of an ordinal objective at given parameters."""

    loss: OrdinalLoss
    summed: tuple[str, ...] = ("value", "products", "sums", "thresholds")

    def __init__(
        self, objective: OrdinalObjective, theta: Array, each: Callable[[Any, Block], None] | None = None
    ) -> None:
        self.places = objective.parameters
        coef, self.cut_points = objective.coefficients(theta)
        super().__init__(objective, coef, np.zeros(len(coef)), each)

    def reset(self) -> None:
        super().reset()
        self.thresholds = np.zeros(self.places.n_scores)

    def scores(self, part: Block) -> Array:
        """Thresholds minus linear predictors, (rows, K - 1)."""
        predictors = self.linear_scores(part.X)
        if part.offset is not None:
            predictors += np.reshape(part.offset, (len(predictors), 1))
        return self.cut_points - predictors

    def row_slopes(self, part: Block) -> Array:
        return self.loss.evaluate(self.scores(part), part.codes)[1]

    def row_covariances(self, part: Block) -> Array:
        scores, m = self.scores(part), self.places.n_scores
        found = np.zeros((part.n_rows, m, m))
        for code in range(m + 1):
            values, slopes = self.loss.evaluate(scores, np.full(part.n_rows, code))
            slopes = np.where(np.isfinite(values)[:, None], slopes, 0.0)  # impossible classes have no weight
            found += np.exp(-values)[:, None, None] * slopes[:, :, None] * slopes[:, None, :]
        return found

    def row_leverages(self, part: Block, bread: Array, columns: Array, scale: Array) -> Array:
        m, rows = self.places.n_scores, self.with_ones(part)
        signs = -np.eye(m) if self.places.nonparallel else -np.ones((m, 1))
        slopes = self.places.collected(signs[:, :, None] * rows[:, None, None, :])
        derivatives = np.concatenate((slopes, np.broadcast_to(np.eye(m), (len(rows), m, m))), axis=2)
        derivatives = derivatives[:, :, columns] / scale
        return np.einsum("nap,pq,nbq->nab", derivatives, bread, derivatives, optimize=True)

    def row_gradients(self, part: Block, slopes: Array) -> Array:
        rows = self.with_ones(part)[:, : self.form.n_columns]
        products = self.of_functions(slopes)[:, :, None] * rows[:, None, :]
        return np.hstack((self.places.collected(products), slopes))

    def of_functions(self, slopes: Array) -> Array:
        """Derivatives in the functions from those in the scores."""
        return -slopes if self.places.nonparallel else -slopes.sum(axis=1, keepdims=True)


class OrdinalGradientPass(OrdinalPass):
    """The loss and its derivatives."""

    def update(self, block: Block) -> None:
        for part in self.parts(block, densify=False):
            self.add_first(part, *self.loss.evaluate(self.scores(part), part.codes))

    def add_first(self, part: Block, values: Array, slopes: Array) -> None:
        """Add the losses and the first derivatives."""
        counted = part.weight > 0
        self.value += float(part.weight[counted] @ values[counted])
        slopes = slopes * part.weight[:, None]
        self.thresholds += slopes.sum(axis=0)
        self.add_products(part.X, self.of_functions(slopes))


class OrdinalHessianPass(OrdinalGradientPass):
    """The loss and its first derivatives, and the second derivatives in the slopes of some columns and thresholds."""

    summed = (*OrdinalGradientPass.summed, "squares", "crossed", "corner")

    def __init__(self, objective: OrdinalObjective, theta: Array, columns: Array) -> None:
        self.columns = columns
        super().__init__(objective, theta)

    def reset(self) -> None:
        super().reset()
        L, m, p = self.places.n_linear_predictors, self.places.n_scores, len(self.columns)
        self.squares, self.crossed = np.zeros((L, L, p, p)), np.zeros((L, m, p))
        self.corner = np.zeros((m, m))

    def update(self, block: Block) -> None:
        for part in self.parts(block, densify=True):
            found = self.loss.derivatives(self.scores(part), part.codes)
            self.add_first(part, found.values, found.slopes)
            self._add_second(part, found.curvatures * part.weight[:, None, None])

    def _add_second(self, part: Block, curvatures: Array) -> None:
        rows = self.with_ones(part)
        rows = rows if len(self.columns) == rows.shape[1] else rows[:, self.columns]
        self.corner += curvatures.sum(axis=0)
        by_function = curvatures if self.places.nonparallel else curvatures.sum(axis=1, keepdims=True)
        for a, own in enumerate(by_function.transpose(1, 0, 2)):
            self.crossed[a] -= own.T @ rows
            between = own if self.places.nonparallel else own.sum(axis=1, keepdims=True)
            for b in range(a, between.shape[1]):
                if between[:, b].any():
                    product = (rows * between[:, b, None]).T @ rows
                    self.squares[a, b] += product
                    if b > a:
                        self.squares[b, a] += product


class CrossedRowsPass(OrdinalPass):
    """The number of rows whose scores do not increase."""

    def add(self, part: Block) -> None:
        self.value += int((np.diff(self.scores(part), axis=1) <= 0).any(axis=1).sum())


@dataclass(frozen=True)
class OrdinalObjective(Objective):
    """Mean loss of ordered classes plus penalty; see the docstring of the module for its parameters."""

    loss: OrdinalLoss
    #: Columns with a slope for each score.
    nonparallel: tuple[int, ...] = ()
    #: The thresholds of the null model of all rows; None: of these rows.
    origin: Array | None = None

    @cached_property
    def parameters(self) -> OrdinalParameters:
        return OrdinalParameters(self.data.rows.n_columns, len(self.loss.rank) - 1, self.nonparallel)

    @cached_property
    def form(self) -> Form:
        """The shape of the products with rows."""
        return Form(np.eye(self.parameters.n_linear_predictors), self.data.rows.n_columns, fit_intercept=False)

    @cached_property
    def null_thresholds(self) -> Array:
        """The thresholds at ``theta = 0``."""
        return self.loss.null_scores(self.class_weights) if self.origin is None else self.origin

    @property
    def n_intercepts(self) -> int:
        return self.parameters.n_scores

    @property
    def n_linear_predictors(self) -> int:
        return 1

    @property
    def n_columns(self) -> int:
        """The number of slopes."""
        return self.parameters.n_slopes

    @property
    def shape(self) -> tuple[int, int]:
        return 1, self.parameters.n_parameters

    @property
    def n_parameters(self) -> int:
        return self.parameters.n_parameters

    @cached_property
    def penalty_factor(self) -> Array:
        scale = np.ones(self.parameters.n_columns) if self.penalty_scale is None else self.penalty_scale
        slopes = (scale / self.standardised.scale)[self.parameters.slope_columns]
        return np.concatenate((slopes, np.zeros(self.n_intercepts)))[None]

    @cached_property
    def parameter_scale(self) -> Array:
        slopes = self.standardised.scale[self.parameters.slope_columns]
        return np.concatenate((slopes, np.ones(self.n_intercepts)))

    def sample(self, step: int) -> OrdinalObjective:
        whole = replace(self, origin=self.null_thresholds)
        return cast(OrdinalObjective, super(OrdinalObjective, whole).sample(step))

    def coefficients(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients (functions, p) of the original columns, centred, and thresholds (K - 1,)."""
        values = theta.ravel() / self.parameter_scale
        n_slopes = self.parameters.n_slopes
        return values[self.parameters.slopes], self.null_thresholds + values[n_slopes:]

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        return self._with_penalty(self.reduce(OrdinalGradientPass(self, theta)), theta)

    def losses_and_gradients(self, thetas: list[Array]) -> list[tuple[float, Array]]:
        return [self._means(self.reduce(OrdinalGradientPass(self, theta))) for theta in thetas]

    def value_gradient_hessian(self, theta: Array) -> tuple[float, Array, Array]:
        total = self.reduce(OrdinalHessianPass(self, theta, np.arange(self.parameters.n_columns)))
        hessian = self._hessian(total, self.parameters) / np.outer(self.parameter_scale, self.parameter_scale)
        hessian[np.diag_indices(len(hessian))] += self.ridge.ravel()
        return *self._with_penalty(total, theta), hessian

    def member_hessian(self, theta: Array, members: Array) -> Array:
        places = self.parameters
        columns = np.union1d(places.slope_columns[members[0, : places.n_slopes]], places.nonparallel).astype(int)
        total = self.reduce(OrdinalHessianPass(self, theta, columns))
        nonparallel = tuple(np.searchsorted(columns, places.nonparallel).tolist())
        read = np.append(np.isin(places.slope_columns, columns), np.ones(places.n_scores, dtype=bool))
        found = self._hessian(total, OrdinalParameters(len(columns), places.n_scores, nonparallel))
        wanted, scale = np.flatnonzero(members[0, read]), self.parameter_scale[members[0]]
        return np.asarray(found[np.ix_(wanted, wanted)] / np.outer(scale, scale))

    def _hessian(self, total: OrdinalHessianPass, places: OrdinalParameters) -> Array:
        """The second derivatives of the mean loss in the slopes of the columns of a pass and in the thresholds."""
        n_slopes, n_parameters = places.n_slopes, places.n_parameters
        hessian = np.zeros((n_parameters, n_parameters))
        inner = places.collected(total.squares.transpose(0, 2, 1, 3))  # (functions, columns, slopes)
        hessian[:n_slopes, :n_slopes] = places.collected(inner.transpose(2, 0, 1))
        hessian[n_slopes:, :n_slopes] = places.collected(total.crossed.transpose(1, 0, 2))
        hessian[:n_slopes, n_slopes:] = hessian[n_slopes:, :n_slopes].T
        hessian[n_slopes:, n_slopes:] = total.corner
        return hessian / self.total_weight

    def mean_loss(self, theta: Array) -> float:
        return float(self.reduce(OrdinalGradientPass(self, theta)).value) / self.total_weight

    def scores(self, theta: Array) -> Array:
        out = np.empty((self.data.n_rows, self.parameters.n_scores))

        def write(total: OrdinalPass, part: Block) -> None:
            out[part.start : part.start + part.n_rows] = total.scores(part)

        self.reduce(OrdinalPass(self, theta, write))
        return out

    def as_parallel(self) -> Objective:
        """The same columns with an intercept, as the objective of a plain loss (to compare their spaces)."""
        return Objective(self.data, log_loss(2), standard=self.standardised, n_jobs=self.n_jobs)

    def point(self, theta: Array) -> OrdinalPass:
        return OrdinalPass(self, theta)

    def designs(self, X: Array, codes: Array) -> tuple[Array, Array]:
        """The gradients of all margins (`OrderedClasses.margins`) of dense rows, (margins, P), and their rows."""
        standard, places, rank = self.standardised, self.parameters, self.loss.rank[codes]
        rows = (X - standard.centre) / standard.scale
        found, owners = [], []
        for k in range(places.n_scores + 1):
            members = np.flatnonzero(rank == k)
            own = rows[members]
            for margin in self.loss.ordered.margins(k, places.n_scores):
                by_function = -margin if places.nonparallel else -margin.sum(keepdims=True)
                slopes = places.collected(by_function[None, :, None] * own[:, None, :])
                found.append(np.hstack((slopes, np.tile(margin, (len(own), 1)))))
                owners.append(members)
        return np.concatenate(found), np.concatenate(owners)

    def _with_penalty(self, total: Any, theta: Array) -> tuple[float, Array]:
        value, gradient = self._means(total)
        return value + 0.5 * float((self.ridge * theta**2).sum()), gradient + self.ridge * theta

    def _means(self, total: Any) -> tuple[float, Array]:
        """The mean loss and its gradient, without the penalty."""
        slopes = self.parameters.collected(total.products)
        gradient = np.concatenate((slopes, total.thresholds)) / self.parameter_scale / self.total_weight
        return float(total.value) / self.total_weight, gradient[None]

    def largest_score(self, theta: Array) -> float:
        return float(np.abs(self.scores(theta)).max())
