"""Proximal Newton by coordinate descent on a working set, for L1 and elastic-net penalties.

A round goes over the rows once, for loss and gradient at the next point. In between, a quadratic model with the Hessian
of few columns, the *working set*, is minimised with the penalty as it is, by coordinate descent. Columns whose gradient
exceeds the penalty join the set. The Hessian is costly and changes slowly: it is kept until the rounds it wastes, by
gaining less than a fresh one would, have cost as much as a fresh one. Gradients are always exact, so an old Hessian
costs speed, never precision. Its rows and columns join as parameters become members; intercepts are eliminated (Schur
complement), and the model is minimised by coordinate descent with jumps over the support (`kernels.coordinate`).

Several strengths of the penalty can be under way at the same time (`advance`): a pass is bound by memory, and evaluates
a few points in the time of one.

A small table is kept by columns (`Columns`) and needs no passes: one compiled loop goes along the path, by proximal
Newton steps over the columns that may matter, with exact losses, and looks at all columns after each strength
(`kernels.columns`).

The penalty is that of all K coefficient vectors, which for L1 depends on the basis of the scores: softmax is solved
here in its K scores (`symmetric`), not in contrasts.

On a path of decreasing strengths (`regularisation_path`) each starts from its stronger neighbour's solution, as far as
that has come: a few of them are under way at the same time and share every pass. Columns are screened by the sequential
strong rule (Tibshirani et al. 2012): a column joins when its slope at the neighbour's point says it could matter. The
rule may err; whether it did is seen in the next exact gradient, and columns left out wrongly join then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..arrays import Array
from ..data import Block, LabelledRows, dense_rows
from ..engine import workspace
from ..errors import ParameterError, Setting
from ..kernels import columns as column_kernels
from ..kernels import coordinate as kernels
from ..kernels import csr_parts
from ..kernels import losses as loss_kernels
from ..objective import Logistic, Objective, Pass, Softmax
from .smooth import Run, Solution, descends_enough

#: A working set starts with at most this many columns and then at most doubles, if it is not known better.
_FIRST_MEMBERS = 256
#: On a path it grows by at least one in this many.
_GROWTH = 4
#: The model's estimate of the excess may be too low by about this factor.
_CAUTION = 2.0
#: What a fresh Hessian gains: the excess shrinks to this share in a round.
_USUAL_GAIN = 0.01
#: Gradients of sums in another order differ by rounding; at the largest strength all of them leave coefficients at 0.
_ABOVE_ROUNDING = 1.0 + 1e-12
#: Strengths under way at the same time: fewer where folds ask for little precision.
_WINDOW, _FEW = 5, 2
#: A table of up to so many values is kept by columns, 32 MB.
_SMALL = 4_000_000
#: Solutions with so many coefficients together are read at once.
_AT_ONCE = 1 << 20
#: The reasons of the kernel that minimises there.
_REASONS = ("optimal", "max_iter", "no further descent", "not finite")
#: After this many sweeps of coordinate descent, a jump to the minimum over the support; and so on.
_MOST_SWEEPS, _MOST_JUMPS = 50, 40
#: A Gram matrix costs this many passes for a column's worth of columns (dense), from a measurement on 20,000 x 500.
_GRAM_COST = 0.009


def symmetric(objective: Objective) -> Objective:
    """The objective in a basis in which an L1 penalty is that of the coefficients; the same object if it is already."""
    if not isinstance(objective.loss, Softmax) or objective.symmetric:
        return objective
    return replace(objective, symmetric=True)


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise loss plus penalty; with softmax the solution's ``theta`` has K rows, those of `symmetric`."""
    n_scores = objective.contrasts.shape[1]
    theta = objective.contrasts.T @ theta if len(theta) < n_scores else np.array(theta, dtype=float)
    objective = symmetric(objective)
    if not theta.any() and objective.fit_intercept and objective.data.offset is None:
        theta[:, -1] = null_intercepts(objective)
    places = [theta, *anchor_points(objective)]
    if columns := Columns.of(objective):
        start, *anchors = columns.points(objective, places)
        return columns.minimise(PenalisedRun(objective, start, anchors, tol, max_iter, trace))
    start, *anchors = evaluate(objective, places)
    descent = ProximalNewton(objective, start, anchors, tol, max_iter, trace)
    hessian = WorkingHessian(objective)
    while descent.found is None:
        advance([descent], hessian)
    return descent.found


@dataclass(frozen=True)
class LossPoint:
    """Parameters with the mean loss and its gradient there, penalties left out; of one point, or stacked."""

    theta: Array
    loss: Any
    slope: Array

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.loss) and np.isfinite(self.slope).all())


def evaluate(objective: Objective, thetas: list[Array]) -> list[LossPoint]:
    """The points at these parameters, all in one pass."""
    coefs, intercepts = zip(*(objective.linear(theta) for theta in thetas), strict=True)
    total = objective.reduce(_Points(objective, np.concatenate(coefs), np.concatenate(intercepts)))
    products, sums = np.split(total.products, len(thetas)), np.split(total.sums, len(thetas))
    return [
        LossPoint(theta, float(value) / objective.total_weight, objective.to_parameters(product, total_slope))
        for theta, value, product, total_slope in zip(thetas, total.value, products, sums, strict=True)
    ]


class _Points(Pass):
    """Losses and their derivatives at several points, whose coefficients are stacked."""

    def reset(self) -> None:
        super().reset()
        self.n_scores = self.form.contrasts.shape[1]
        self.value = np.zeros(len(self.coef) // self.n_scores)

    def add(self, part: Block) -> None:
        scores = self.scores(part)
        slopes = np.empty_like(scores)
        if type(self.loss) is Logistic:
            args = scores, part.codes, part.weight[:, None], self.value, slopes
            loss_kernels.losses_of_scores(self.loss.code, self.loss.width, *args)
        else:
            for k in range(len(self.value)):
                here = slice(k * self.n_scores, (k + 1) * self.n_scores)
                values, slope = self.loss.evaluate(np.ascontiguousarray(scores[:, here]), part.codes)
                self.value[k] += part.weight @ values
                slopes[:, here] = slope * part.weight[:, None]
        self.add_products(part.X, slopes)


class PenalisedRun(Run):
    """The way to the minimum for one penalty, and where it is; ``anchors`` are for `duality_gap`."""

    def __init__(
        self, objective: Objective, start: LossPoint, anchors: list[LossPoint], tol: float, max_iter: int,
        trace: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(objective, tol, max_iter, trace, "coordinate")
        self.anchors, self.l1, self.gain = anchors, objective.lasso, np.inf
        self.found: Solution | None = None
        self.move_to(start)

    def move_to(self, point: LossPoint) -> None:
        self.point = point
        self.stand_at(point.theta, self.value_at(point), least_subgradients(point, self.l1, self.objective.ridge))

    def value_at(self, point: LossPoint) -> float:
        return float(penalised_values(point, self.l1, self.objective.ridge))

    @property
    def smooth_gradient(self) -> Array:
        """That of the loss and the L2 penalty."""
        return self.point.slope + self.objective.ridge * self.point.theta

    def finish(self, reason: str) -> Solution:
        """End here, where the next step would bring ``gain``."""
        self.reason = reason
        self.excess = max(self.gain, 0.0) / max(abs(self.value), 1e-300)
        self.theta = with_centred_intercepts(self.objective, self.theta)
        point = LossPoint(self.point.theta[None], np.array([self.point.loss]), self.point.slope[None])
        (gap,) = duality_gaps(
            self.objective, point, np.array([self.value]), self.l1, self.objective.ridge, self.anchors
        )
        self.found = self.solution(None if np.isnan(gap) else float(gap))
        return self.found


def penalised_values(points: LossPoint, l1: Array, ridge: Array) -> Array:
    """The objective at points."""
    size = np.abs(points.theta)
    return np.asarray(points.loss + (size * (l1 + 0.5 * ridge * size)).sum(axis=(-2, -1)))


def least_subgradients(points: LossPoint, l1: Array, ridge: Array) -> Array:
    """The smallest subgradient of the objective at points: 0 at the minimum."""
    slope = points.slope + ridge * points.theta
    inside = slope - np.clip(slope, -l1, l1)
    return np.where(points.theta != 0, slope + np.sign(points.theta) * l1, inside)


def with_centred_intercepts(objective: Objective, theta: Array) -> Array:
    """The same softmax model with intercepts, of the columns as they are, that sum to 0."""
    if not isinstance(objective.loss, Softmax) or not objective.fit_intercept:
        return theta
    coef, intercept = objective.linear(theta)
    shared = (intercept - coef @ objective.standardised.centre).mean(axis=-1)
    return np.concatenate((theta[..., :-1], theta[..., -1:] - shared[..., None, None]), axis=-1)


@dataclass(frozen=True)
class Columns:
    """A small table by columns, standardised: fits to parts of its rows may share it."""

    values: Array

    @classmethod
    def of(cls, objective: Objective) -> Columns | None:
        """The columns (and a column of ones for the intercept) of a problem that is small enough, else None."""
        data, standard, known = objective.data, objective.standardised, isinstance(objective.loss, Logistic | Softmax)
        if not known or not isinstance(data, LabelledRows) or data.n_rows * data.rows.n_columns > _SMALL:
            return None
        values, units = np.empty((objective.shape[1], data.n_rows)), (standard.centre, standard.scale)
        values[objective.n_columns :] = 1.0
        for block in (block for span in data.spans for block in data.blocks(span)):
            column_kernels.standardised_columns(dense_rows(block.X), *units, block.start, values)
        if not np.isfinite(values.sum()):  # columns that no step looks at would stay unseen
            data.rows.refuse_nonfinite()
        return cls(values)

    def mean_loss(self, objective: Objective, theta: Array) -> float:
        """The loss of the objective's rows alone, without the penalty."""
        return self._losses(objective, theta)[0]

    def points(self, objective: Objective, thetas: list[Array]) -> list[LossPoint]:
        """The points at these parameters."""
        found = []
        for theta in thetas:
            loss, slopes = self._losses(objective, theta)
            gradient = np.empty_like(theta)
            column_kernels.add_products(self.values, slopes, gradient)
            objective.passes[0] += 1.0
            found.append(LossPoint(theta, loss, gradient))
        return found

    def _losses(self, objective: Objective, theta: Array) -> tuple[float, Array]:
        """The mean loss, and its slopes in the scores."""
        codes, weight, scores = _of_rows(objective)
        rows, slopes = (weight, np.empty_like(scores), np.empty_like(scores)), np.empty_like(scores)
        carrying = np.flatnonzero(theta.any(axis=0))
        column_kernels.add_scores(self.values, carrying, np.zeros_like(theta), theta, scores)
        return float(column_kernels.weighted_losses(scores, codes, rows, slopes)), slopes

    def minimise(self, run: PenalisedRun) -> Solution:
        """Go to the minimum, step by step where the steps are traced."""
        path = ColumnPath(self, run.objective, run.point)
        alphas, most, reason = np.array([run.objective.penalty.alpha]), 1 if run.traced else run.max_iter, "max_iter"
        if not run.point.finite:
            return run.finish("not finite")
        while reason == "max_iter" and run.iterations < run.max_iter:
            points, ways = path.to(alphas, run.tol, most)
            run.gain, run.iterations = float(ways.left[0]), run.iterations + int(ways.steps[0])
            reason = ways.reasons[0]
            if ways.steps[0] == 0 and run.traced:
                run.trace.pop()  # a last step that is not counted
            run.move_to(LossPoint(points.theta[0], float(points.loss[0]), points.slope[0]))
        return run.finish(reason)


@dataclass(frozen=True)
class _Ways:
    """How minima at some strengths were reached: what is left to gain, and the effort."""

    left: Array
    steps: Array
    passes: Array
    reasons: list[str]


class ColumnPath:
    """The minima at decreasing strengths over a table kept by columns, each from where those before it point to."""

    def __init__(self, columns: Columns, objective: Objective, start: LossPoint | None = None) -> None:
        self.columns, self.objective, self.rows = columns, objective, _of_rows(objective)
        if start is None:
            theta = np.zeros(objective.shape)
            if objective.fit_intercept:
                theta[:, -1] = null_intercepts(objective)
            (start,) = columns.points(objective, [theta])
        self.state = start.theta.copy(), start.theta.copy(), start.slope.copy()
        self.strengths = np.empty(0)

    def to(self, alphas: Array, tol: float, most: int) -> tuple[LossPoint, _Ways]:
        """The minima at further strengths, stacked; ``most`` steps for each."""
        # The first strength has nobody before it.
        before = self.strengths[-2:] if self.strengths.size else alphas[[0, 0]]
        (codes, weight, offset), factor = self.rows, self.objective.penalised[0]
        ratio, shape = self.objective.penalty.l1_ratio, (len(alphas), *self.state[0].shape)
        thetas, slopes, facts = np.empty(shape), np.empty(shape), np.empty((len(alphas), 6))
        self.strengths = np.concatenate((before, alphas))
        column_kernels.minimise_path(
            self.columns.values, codes, weight, offset, (ratio * factor, (1 - ratio) * factor**2), self.strengths,
            tol / _CAUTION, most, self.state, thetas, slopes, facts,
        )  # fmt: skip
        loss, left, steps, visits, passes, reasons = facts.T
        effort = self.objective.passes[0] + np.cumsum(passes + visits / len(self.columns.values))
        self.objective.passes[0] = float(effort[-1])
        thetas = with_centred_intercepts(self.objective, thetas)
        ways = _Ways(left, steps, effort, [_REASONS[int(reason)] for reason in reasons])
        return LossPoint(thetas, loss, slopes), ways

    def solutions(self, alphas: Array, tol: float, most: int) -> Iterator[Solution]:
        """The same as solutions, with the bounds that duality gives."""
        anchors = self.columns.points(self.objective, anchor_points(self.objective))
        run = max(_AT_ONCE // self.state[0].size, 1)
        for first in range(0, len(alphas), run):
            yield from self._read(alphas[first : first + run], tol, most, anchors)

    def _read(self, alphas: Array, tol: float, most: int, anchors: list[LossPoint]) -> Iterator[Solution]:
        points, ways = self.to(alphas, tol, most)
        ratio, factor = self.objective.penalty.l1_ratio, self.objective.penalised
        l1, ridge = (alphas[:, None, None] * unit for unit in (ratio * factor, (1 - ratio) * factor**2))
        values, gradients = penalised_values(points, l1, ridge), least_subgradients(points, l1, ridge)
        gaps = duality_gaps(self.objective, points, values, l1, ridge, anchors)
        norms = np.abs(gradients).max(axis=(1, 2))
        for k in range(len(alphas)):
            yield Solution(
                theta=points.theta[k],
                objective=float(values[k]),
                gradient_norm=float(norms[k]),
                excess=max(float(ways.left[k]), 0.0) / max(abs(float(values[k])), 1e-300),
                passes=float(ways.passes[k]),
                iterations=int(ways.steps[k]),
                converged=ways.reasons[k] == "optimal",
                reason=ways.reasons[k],
                solver="coordinate",
                duality_gap=None if np.isnan(gaps[k]) else float(gaps[k]),
            )


def _of_rows(objective: Objective) -> tuple[Array, Array, Array]:
    """Class codes, weights that sum to 1, and what the scores of the rows begin with, (C, n)."""
    data = objective.data
    scores = np.zeros((objective.shape[0], data.n_rows))
    if data.offset is not None:
        scores += np.atleast_2d(data.offset.T)
    return data.codes, data.weight_of(slice(None)) / objective.total_weight, scores


class ProximalNewton(PenalisedRun):
    """The same on a table too large to be kept by columns: quadratic models, and passes to see where they lead."""

    def __init__(self, *start: Any, curvature_factor: float = 1.0) -> None:
        #: What the model's Hessian is multiplied by: an old one is mostly too large or too small.
        self.curvature_factor, self.curvature = curvature_factor, 0.0
        self.length, self.gain_before = 1.0, np.inf
        super().__init__(*start)

    def wanted(self, is_member: Array) -> Array:
        """A mask of parameters that are not members and should be, the worst first if there are very many."""
        theta = self.point.theta.ravel()
        wanted = ((self.ratio > 1.0) | (theta != 0)) & ~is_member
        most = max(_FIRST_MEMBERS, int(is_member.sum()))
        if wanted.sum() > most and self.objective.penalty.l1 > 0:
            rank = np.where(wanted, np.where(theta != 0, np.inf, self.ratio), 0.0)
            wanted &= rank >= np.partition(rank, -most)[-most]
        return wanted

    @property
    def ratio(self) -> Array:
        """Gradient over penalty of each parameter, flat; above 1 it cannot stay 0."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(self.l1 > 0, np.abs(self.smooth_gradient) / self.l1, np.inf).ravel()

    def propose(self, hessian: WorkingHessian, complete: bool) -> None:
        """Set the next aim; finish if it promises too little and the working set is ``complete``."""
        aim, self.gain, self.curvature = hessian.step(self)
        theta = self.point.theta
        self.next_theta = aim if self.length == 1 else theta + self.length * (aim - theta)
        scale = max(abs(self.value), 1e-300)
        if not self.point.finite or not np.isfinite(self.gain):
            self.finish("not finite")
        elif self.gain <= self.tol * scale / _CAUTION and complete:
            self.finish("optimal")
        elif self.iterations >= self.max_iter:
            self.finish("max_iter")
        elif self.length * self.gain <= 1e-16 * scale and self.length < 1e-3:
            self.finish("optimal" if self.gain <= 1e-7 * scale and complete else "no further descent")

    def arrive(self, point: LossPoint) -> bool:
        """Move to an evaluated point if it descends enough; otherwise shorten the step."""
        self.iterations += 1
        if not point.finite or not descends_enough(self.value_at(point), self.value, self.length * self.gain):
            self.length *= 0.25
            return False
        # The model's curvature is taken from what the step has shown.
        shown = float(np.vdot(point.theta - self.point.theta, point.slope - self.point.slope))
        if self.curvature > 0 and shown > 0:
            self.curvature_factor = float(np.clip(shown / (self.length**2 * self.curvature), 0.1, 10.0))
        self.length, self.gain_before = 1.0, self.gain
        self.move_to(point)
        return True


def advance(descents: list[ProximalNewton], hessian: WorkingHessian, strong: Array | None = None) -> None:
    """Bring descents under way one round further, with one pass for all of them.

    ``strong`` is a mask of parameters that had better join the working set when it is extended.
    """
    complete = _complete(hessian, descents, strong)
    for descent in descents:
        descent.propose(hessian, complete)
    going = [descent for descent in descents if descent.found is None]
    if not going:
        return
    # How many passes an old Hessian has wasted: how far the gains are from shrinking as usual.
    shares = [d.gain / d.gain_before for d in going if 0 < d.gain < np.inf and d.gain_before < np.inf]
    if shares:
        slow = 1 - np.log(np.maximum(shares, 1e-300)) / np.log(_USUAL_GAIN)
        hessian.waste += float(np.clip(slow, 0.0, 1.0).mean())
    points = evaluate(going[0].objective, [descent.next_theta for descent in going])
    for descent, point in zip(going, points, strict=True):
        # A refused step has an old Hessian to blame, or was too long: the next one is both fresh and shorter.
        if not descent.arrive(point):
            hessian.waste = np.inf


def _complete(hessian: WorkingHessian, descents: list[ProximalNewton], strong: Array | None) -> bool:
    """Let the working set grow by what descents want, renew what is worn out; whether nothing is wanted any more."""
    wanted = np.zeros_like(hessian.is_member)
    for descent in descents:
        wanted |= descent.wanted(hessian.is_member)
    newest = descents[-1]
    if strong is not None and wanted.any():
        # Also those likely to be wanted next: a growing set costs a pass, however little it grows.
        taken = hessian.is_member | wanted
        ratio = np.where(taken, 0.0, newest.ratio)
        count = min(int(taken.sum()) // _GROWTH + 8, ratio.size)
        likely = (ratio >= np.partition(ratio, -count)[-count]) & (ratio > 0)
        wanted |= (strong | likely) & ~hessian.is_member
    if hessian.waste >= hessian.cost and not np.array_equal(newest.point.theta, hessian.theta):
        hessian.renew(newest.point.theta, hessian.is_member | wanted)
        for descent in descents:
            descent.curvature_factor = 1.0
    elif wanted.any():
        hessian.extend(wanted)
    return not any(descent.wanted(hessian.is_member).any() for descent in descents)


def anchor_points(objective: Objective) -> list[Array]:
    """Parameters without coefficients whose intercepts lie around the class shares, for `duality_gap`."""
    if not objective.fit_intercept or not isinstance(objective.loss, Logistic | Softmax):
        return []
    level = null_intercepts(objective)
    moves = np.eye(len(level)) if len(level) > 1 else np.array([[-1.0], [1.0]])
    anchors = np.zeros((len(moves), *objective.shape))
    anchors[:, :, -1] = level + moves
    return list(anchors)


def null_intercepts(objective: Objective) -> Array:
    """The intercepts of the model without coefficients, if there are no offsets."""
    logs = np.log(np.maximum(objective.class_weights, 1e-300))
    return logs - logs.mean() if isinstance(objective.loss, Softmax) else np.array([logs[1] - logs[0]])


def duality_gaps(
    objective: Objective, points: LossPoint, values: Array, l1: Array, ridge: Array, anchors: list[LossPoint]
) -> Array:
    """Proven bounds on the distance of the objective from its minimum at stacked points, NaN where there is none.

    The losses' slopes at a point are a dual point; its value is ``loss - slope'theta``, no row need be read. It must be
    mixed with the anchors so that the slopes in the intercepts vanish, and shrunk until no slope exceeds the penalty;
    the dual is concave and 0 at 0, which bounds its value from below each time.
    """
    p, none = objective.n_columns, np.full(len(values), np.nan)
    if not isinstance(objective.loss, Logistic | Softmax) or not np.isfinite(points.slope).all():
        return none
    shares, known = _dual_shares(objective, points, anchors)
    levels, slopes = points.loss - (points.slope * points.theta).sum(axis=(1, 2)), points.slope[..., :p]
    levels, slopes = shares[:, 0] * levels, shares[:, 0, None, None] * slopes
    for share, anchor in zip(shares[:, 1:].T, anchors, strict=True):
        levels += share * (anchor.loss - float(np.vdot(anchor.slope, anchor.theta)))
        slopes += share[:, None, None] * anchor.slope[:, :p]
    size, l1, ridge = np.abs(slopes), l1[..., :p], ridge[..., :p]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shrink = np.where(size > l1, l1 / size, 1.0).min(axis=(1, 2), initial=1.0)
        over = np.maximum(size - l1, 0.0)
        conjugate = np.where(over > 0, over**2 / (2 * ridge), 0.0).sum(axis=(1, 2))
    return np.where(known, np.maximum(values - np.maximum(levels - conjugate, shrink * levels), 0.0), none)


def _dual_shares(objective: Objective, points: LossPoint, anchors: list[LossPoint]) -> tuple[Array, Array]:
    """Shares of each point and the anchors in a mixture without slopes in the intercepts, and whether there is one."""
    shares, known = np.zeros((len(points.theta), 1 + len(anchors))), np.ones(len(points.theta), dtype=bool)
    shares[:, 0] = 1.0
    if not objective.fit_intercept:
        return shares, known
    if not anchors:
        return shares, ~known
    sides = np.array([anchor.slope[:, -1] for anchor in anchors]).T
    for k, slope in enumerate(points.slope[:, :, -1]):
        shares[k, 1:], left = _nonnegative_least_squares(sides, -slope)
        known[k] = left <= 1e-14
    return shares / shares.sum(axis=1, keepdims=True), known


def _nonnegative_least_squares(sides: Array, right: Array) -> tuple[Array, float]:
    """The x >= 0 of least ``|sides @ x - right|``, and that distance; of one equation as an active set finds it."""
    if len(right) > 1:
        from scipy.optimize import nnls  # slow to load

        return nnls(sides, right)
    found, best = np.zeros(sides.shape[1]), int(np.argmax(sides[0] * right[0]))
    if sides[0, best] * right[0] <= 0:
        return found, abs(float(right[0]))
    found[best] = right[0] / sides[0, best]
    return found, 0.0


def alpha_max(objective: Objective) -> float:
    """The smallest strength at which all coefficients are 0."""
    if objective.penalty.l1_ratio == 0:
        raise ParameterError(
            "With ", Setting("l1_ratio", 0), " no strength makes coefficients 0: give the strengths (",
            Setting("alphas"), ") yourself.",
        )  # fmt: skip
    symmetrical, p = symmetric(objective), objective.n_columns
    slopes = np.abs(null_point(symmetrical).slope[:, :p]) / symmetrical.penalised[:, :p]
    return float(slopes.max() / objective.penalty.l1_ratio) * _ABOVE_ROUNDING


def alpha_grid(objective: Objective, n: int = 50, ratio: float = 1e-3) -> Array:
    """``n`` strengths in equal proportions, from `alpha_max` down to ``ratio`` times it."""
    return np.geomspace(1.0, ratio, n) * alpha_max(objective)


def regularisation_path(
    objective: Objective, alphas: Sequence[float] | Array, tol: float = 1e-7, max_iter: int = 100,
    window: int = _WINDOW, columns: Columns | None = None,
) -> list[Solution]:  # fmt: skip
    """The solutions for ``alphas`` in decreasing order.

    Parameters
    ----------
    objective : Objective
        What is minimised; of its penalty only ``l1_ratio`` matters.
    alphas : sequence of float
        Decreasing strengths.
    tol : float
        Each solution's estimated relative excess.
    max_iter : int
        Rounds for each strength.
    window : int
        Strengths under way at the same time, on a large table.
    columns : Columns, optional
        Of a small table, where they are known already.

    Returns
    -------
    list of Solution
        ``passes`` counts from the start of the path. With softmax ``theta`` has K rows (see `coordinate.symmetric`).
    """
    return list(path_solutions(objective, alphas, tol, max_iter, window, columns))


def path_solutions(
    objective: Objective, alphas: Sequence[float] | Array, tol: float, max_iter: int, window: int = _WINDOW,
    columns: Columns | None = None,
) -> Iterator[Solution]:  # fmt: skip
    """The same one after the other, no further than they are asked for; ``columns`` are made where none are given."""
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.size == 0 or (np.diff(alphas) > 0).any():
        raise ParameterError(Setting("alphas"), " must be a decreasing sequence of at least one strength.")
    objective = replace(symmetric(objective), standard=objective.standardised)
    if columns := columns or Columns.of(objective):
        yield from ColumnPath(columns, objective).solutions(alphas, tol, max_iter)
        return
    start, places = null_point(objective), anchor_points(objective)
    anchors = evaluate(objective, places) if places else []

    def run(alpha: float, start: LossPoint, **options: float) -> ProximalNewton:
        penalised = replace(objective, penalty=replace(objective.penalty, alpha=float(alpha)))
        return ProximalNewton(penalised, start, anchors, tol, max_iter, False, **options)

    hessian, descents, given = WorkingHessian(objective), [run(alphas[0], start)], 0
    while going := [descent for descent in descents if descent.found is None]:
        advance(going, hessian, _strong(descents[-1], alphas[len(descents) - 1 : len(descents) + 1]))
        # The next strength starts when there is room and its neighbour has a point of its own.
        newest, n_going = descents[-1], sum(descent.found is None for descent in descents)
        if len(descents) < len(alphas) and n_going < window and (newest.found or newest.iterations):
            factor = newest.curvature_factor
            descents.append(run(alphas[len(descents)], newest.point, curvature_factor=factor))
        while given < len(descents) and (found := descents[given].found) is not None:
            yield found
            given += 1


def held_out_losses(
    train: Objective, held: Objective, alphas: Array, tol: float, max_iter: int, at_once: int, columns: Columns | None
) -> Iterator[float]:
    """The mean loss on other rows of the minima along a path, ``at_once`` strengths after the other as asked for."""
    if columns is None:
        for solution in path_solutions(train, alphas, tol, max_iter, _FEW):
            yield held.mean_loss(solution.theta)
        return
    path, held = ColumnPath(columns, symmetric(train)), symmetric(held)
    for first in range(0, len(alphas), at_once):
        points, _ = path.to(alphas[first : first + at_once], tol, max_iter)
        yield from (columns.mean_loss(held, theta) for theta in points.theta)


def _strong(newest: ProximalNewton, alphas: Array) -> Array:
    """A mask of the parameters that the strong rule would not discard for the strength to come, the last of two."""
    bound = max(2 * alphas[-1] - alphas[0], 0.0) / max(alphas[0], 1e-300)
    return np.asarray(np.abs(newest.smooth_gradient) > bound * newest.l1).ravel()


def null_point(objective: Objective) -> LossPoint:
    """The best point without coefficients."""
    theta = np.zeros(objective.shape)
    if not objective.fit_intercept:
        return evaluate(objective, [theta])[0]
    theta[:, -1] = null_intercepts(objective)
    (point,) = evaluate(objective, [theta])
    hessian = WorkingHessian(objective)
    nobody = np.zeros_like(hessian.is_member)
    for _ in range(100):
        steepest = np.abs(point.slope[:, -1]).max()
        if steepest <= 1e-14:
            break
        hessian.renew(point.theta, nobody)
        theta = point.theta.copy()
        theta[:, -1] -= hessian.inverse @ point.slope[:, -1]
        (new,) = evaluate(objective, [theta])
        if not new.loss <= point.loss * (1 + 1e-15) or not np.abs(new.slope[:, -1]).max() < steepest:
            break
        point = new
    return point


class WorkingHessian:
    """The Hessian of the mean loss in the parameters of the working set, at a point not too long ago.

    Parameters are numbered as in ``theta.ravel()``; intercepts are always members.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.waste = np.inf
        self.theta = np.full(objective.shape, np.nan)
        is_intercept = np.zeros(objective.shape, dtype=bool)
        is_intercept[:, objective.n_columns :] = True
        self.is_intercept = is_intercept.ravel()
        self._set_members(self.is_intercept)

    @property
    def cost(self) -> float:
        """What a fresh one costs, in passes."""
        share, entries = len(self.members) / self.objective.shape[1], _stored_entries(self.objective)
        if entries is None:
            return 1 + share + _GRAM_COST * len(self.members) * share
        return 1 + share**2 * max(entries / self.objective.data.n_rows, 1.0)

    def renew(self, theta: Array, members: Array) -> None:
        """Compute it afresh at ``theta`` for these members (a mask) and the intercepts."""
        self.theta, self.waste = theta.copy(), 0.0
        self._set_members(members | self.is_intercept)
        self._keep(self._gram(self.is_member))

    def extend(self, members: Array) -> None:
        """Add members, with the curvature they had at the point of the last renewal."""
        before, old = self.members, self.matrix
        new = members & ~self.is_member
        self._set_members(self.is_member | new)
        place_old, place_new = np.searchsorted(self.members, before), np.flatnonzero(new[self.members])
        matrix = np.empty((len(self.members), len(self.members)))
        matrix[np.ix_(place_old, place_old)] = old
        cross = self._gram(new)
        matrix[place_new] = cross
        matrix[:, place_new] = cross.T
        self._keep(matrix)

    def _set_members(self, members: Array) -> None:
        self.is_member, self.members = members, np.flatnonzero(members)

    def _gram(self, rows: Array) -> Array:
        """Rows of the Hessian: second derivatives in these parameters (a mask) and all members."""
        objective = self.objective
        total: _Gram = objective.reduce(_Gram(objective, *objective.linear(self.theta), rows, self.is_member))
        matrix = total.matrix
        if _stored_entries(objective) is not None:  # sparse columns are not standardised yet
            matrix /= objective.parameter_scale[rows][:, None]
            matrix /= objective.parameter_scale[self.is_member]
        matrix /= objective.total_weight
        return matrix

    def _keep(self, matrix: Array) -> None:
        """Keep the matrix, and what is left of it once intercepts follow their optimum (the Schur complement)."""
        self.matrix = matrix
        self.free = self.is_intercept[self.members]
        self.inverse = np.linalg.pinv(matrix[np.ix_(self.free, self.free)], rcond=1e-10, hermitian=True)
        border = matrix[np.ix_(~self.free, self.free)]
        self.follow = border @ self.inverse
        self.reduced = matrix[np.ix_(~self.free, ~self.free)] - self.follow @ border.T
        # A column that the intercepts explain has no curvature of its own, only rounding.
        own = matrix.diagonal()[~self.free]
        flat = self.reduced.diagonal() <= 1e-12 * own
        self.reduced[flat] = 0.0
        self.reduced[:, flat] = 0.0

    def step(self, descent: ProximalNewton) -> tuple[Array, float, float]:
        """Where the penalised model at the descent's point is least, how much is gained there, and its curvature.

        The curvature is that along the step, of the matrix as it is; the model's is the descent's factor times it.
        """
        columns, free, factor = self.members[~self.free], self.members[self.free], descent.curvature_factor
        theta, slope = descent.point.theta.ravel(), descent.point.slope.ravel()
        ridge, l1 = descent.objective.ridge.ravel()[columns] / factor, descent.l1.ravel()[columns] / factor
        origin = theta[columns]
        slope, rise = slope[columns] / factor, slope[free] / factor
        before = slope + ridge * origin - self.follow @ rise
        x, after = self._least(before, origin, ridge, l1, 1e-3 * descent.tol * abs(descent.value) / factor)
        change = x - origin
        own = float(rise @ self.inverse @ rise)
        gain = 0.5 * own - 0.5 * float(change @ (before + after)) - float(l1 @ (np.abs(x) - np.abs(origin)))
        curvature = own + float(change @ (after - before - ridge * change))
        new = theta.copy()
        new[columns] = x
        new[free] -= self.inverse @ rise + self.follow.T @ change
        return new.reshape(descent.point.theta.shape), gain * factor, curvature

    def _least(self, before: Array, origin: Array, ridge: Array, l1: Array, enough: float) -> tuple[Array, Array]:
        """Coefficients that minimise the model, and its gradient there."""
        x = origin.copy()
        for _ in range(_MOST_JUMPS):
            after = before.copy()
            sweeps = kernels.minimise_quadratic(self.reduced, ridge, l1, origin, after, x, enough, 1e-4, _MOST_SWEEPS)
            if sweeps < _MOST_SWEEPS:
                break
            x = self._jump(after, ridge, l1, x)
        return x, after

    def _jump(self, gradient: Array, ridge: Array, l1: Array, x: Array) -> Array:
        """The minimum over the coefficients that are not 0, or the first point on the way there where one becomes 0.

        Sweeps creep where columns are nearly collinear; once they have settled the signs, this is what is left to do.
        """
        support = np.flatnonzero(x)
        matrix = self.reduced[np.ix_(support, support)] + np.diag(ridge[support])
        slope = gradient[support] + l1[support] * np.sign(x[support])
        try:
            change = -cho_solve(cho_factor(matrix), slope)
        except np.linalg.LinAlgError:
            return x
        part = np.where(change * x[support] < 0, -x[support] / np.where(change == 0, 1.0, change), np.inf)
        length = min(1.0, part.min(initial=np.inf))
        new = x.copy()
        new[support] = np.where(part <= length, 0.0, x[support] + length * change)
        return new


class _Gram(Pass):
    """Second derivatives of the loss in some parameters and the members, in standardised columns."""

    summed = ("matrix",)

    def __init__(self, objective: Objective, coef: Array, intercept: Array, rows: Array, members: Array) -> None:
        self.rows, self.members, shape = rows, members, objective.shape
        absent = ((0, 0), (0, objective.n_columns + 1 - shape[1]))
        #: Place of each parameter in the matrix, -1 where it has none; with a column for intercepts in any case.
        self.row_of, self.column_of = (
            np.pad(np.where(mask, np.cumsum(mask) - 1, -1).reshape(shape), absent, constant_values=-1)
            for mask in (rows, members)
        )
        self.columns = np.flatnonzero(members.reshape(shape).any(axis=0))
        super().__init__(objective, coef, intercept)

    def reset(self) -> None:
        self.matrix = np.zeros((self.rows.sum(), self.members.sum()))

    def update(self, block: Block) -> None:
        """Products are taken of whole blocks, which matrix products like better than parts."""
        self.factors: list[Array] = []
        super().update(block)
        factor = np.concatenate(self.factors)
        if block.sparse:
            self._add_sparse(block.X, factor)
        elif self.form.n_functions == 1:
            gathered = self._gathered(block.X, np.sqrt(factor[:, 0, 0]))
            square = len(self.matrix) == len(self.columns)
            self.matrix += (gathered if square else gathered[:, self.rows[self.columns]]).T @ gathered
        else:
            self._add_pairs(block.X, factor)

    def add(self, part: Block) -> None:
        """Note the weighted second derivatives of each row's loss in its scores, (rows, C, C)."""
        scores = self.scores(part)
        if isinstance(self.loss, Softmax):
            probability = self.loss.probabilities(scores)
            factor = np.eye(probability.shape[1]) - probability[:, None, :]
            factor = factor * (probability * part.weight[:, None])[:, :, None]
        else:
            factor = (part.weight * self.loss.curvature(scores, part.codes))[:, None, None]
        self.factors.append(factor)

    def _gathered(self, X: Array, factor: Array) -> Array:
        out = workspace((len(X), len(self.columns)))
        kernels.gather(X, self.columns, self.standard.centre, self.standard.scale, factor, out)
        return out

    def _add_pairs(self, X: Array, factor: Array) -> None:
        gathered = self._gathered(X, np.ones(len(X)))
        for a, row_of in enumerate(self.row_of[:, self.columns]):
            mine = gathered[:, row_of >= 0]
            for b, column_of in enumerate(self.column_of[:, self.columns]):
                others = gathered[:, column_of >= 0]
                here = np.ix_(row_of[row_of >= 0], column_of[column_of >= 0])
                self.matrix[here] += (mine * factor[:, a, b, None]).T @ others

    def _add_sparse(self, X: Any, factor: Array) -> None:
        for a, row_of in enumerate(self.row_of):
            for b, column_of in enumerate(self.column_of):
                weight = np.ascontiguousarray(factor[:, a, b])
                kernels.csr_add_gram(csr_parts(X), weight, row_of, column_of, self.matrix)


def _stored_entries(objective: Objective) -> int | None:
    """Entries that sparse rows store; None for dense rows."""
    return getattr(getattr(objective.data.rows, "values", None), "nnz", None)
