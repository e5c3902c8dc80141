"""Proximal Newton by coordinate descent on a working set, for L1 and elastic-net penalties.

A round goes over the rows once, for loss and gradient at the next point. In between, a quadratic model with the Hessian
of few columns, the *working set*, is minimised with the penalty as it is, by coordinate descent. Columns whose gradient
exceeds the penalty join the set. The Hessian is costly and changes slowly: it is kept until the rounds it wastes, by
gaining less than a fresh one would, have cost as much as a fresh one. Gradients are always exact, so an old Hessian
costs speed, never precision.

Several strengths of the penalty can be under way at the same time (`advance`): a pass is bound by memory, and evaluates
a few points in the time of one.

The penalty is that of all K coefficient vectors, which for L1 depends on the basis of the scores: softmax is solved
here in its K scores (`symmetric`), not in contrasts.

On a path of decreasing strengths (`regularisation_path`) each starts from its stronger neighbour's solution, as far as
that has come: a few of them are under way at the same time and share every pass. Columns are screened by the sequential
strong rule (Tibshirani et al. 2012): a column joins when its slope at the neighbour's point says it could matter. The
rule may err; whether it did is seen in the next exact gradient, and columns left out wrongly join then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ..engine import one_blas_thread
from ..errors import ParameterError
from ..kernels import coordinate as kernels
from ..losses import Logistic, Softmax
from ..objective import Objective, Pass
from .descent import descends_enough
from .solution import Solution, Trace
from .working_set import WorkingHessian

Array = np.ndarray[Any, Any]

#: A working set starts with at most this many columns and then at most doubles, if it is not known better.
_FIRST_MEMBERS = 256
#: On a path it grows by at least one in this many.
_GROWTH = 4
#: The model's estimate of the excess may be too low by about this factor.
_CAUTION = 2.0
#: What a fresh Hessian gains: the excess shrinks to this share in a round.
_USUAL_GAIN = 0.01
#: Strengths under way at the same time.
_WINDOW = 5


class SymmetricObjective(Objective):
    """An objective whose parameters are those of the scores themselves."""

    @cached_property
    def contrasts(self) -> Array:
        return np.eye(len(self.data.classes))


def symmetric(objective: Objective) -> Objective:
    """The objective in a basis in which an L1 penalty is that of the coefficients; the same object if it is already."""
    if not isinstance(objective.loss, Softmax) or isinstance(objective, SymmetricObjective):
        return objective
    return SymmetricObjective(**{field.name: getattr(objective, field.name) for field in fields(objective)})


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise loss plus penalty; with softmax the solution's ``theta`` has K rows, those of `symmetric`."""
    # Vectors and small matrices between passes gain nothing from BLAS's threads, which would then be in our way.
    with one_blas_thread():
        return _minimise(symmetric(objective), _in_scores(objective, theta), tol, max_iter, trace)


def _minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool) -> Solution:
    """The same, with everything in K scores."""
    if not theta.any() and objective.fit_intercept and objective.offset is None:
        theta[:, -1] = null_intercepts(objective)
    start, *anchors = evaluate(objective, [theta, *anchor_points(objective)])
    descent = ProximalNewton(objective, start, tol, max_iter, anchors, Trace(trace))
    hessian = WorkingHessian(objective)
    while descent.solution is None:
        advance([descent], hessian)
    return descent.solution


def _in_scores(objective: Objective, theta: Array) -> Array:
    """Start values in K rows, whichever form they came in."""
    return objective.contrasts.T @ theta if len(theta) < len(objective.contrasts.T) else np.array(theta, dtype=float)


@dataclass(frozen=True)
class LossPoint:
    """Parameters with the mean loss and its gradient there, penalties left out."""

    theta: Array
    loss: float
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

    def __init__(self, objective: Objective, coef: Array, intercept: Array) -> None:
        super().__init__(objective, coef, intercept)
        self.n_scores = objective.contrasts.shape[1]
        self.value: Any = np.zeros(len(coef) // self.n_scores)

    def add(self, part: Any, codes: Array, weight: Array, offset: Array | None) -> None:
        if offset is not None and offset.ndim == 2:
            offset = np.tile(offset, len(self.value))
        scores = self.scores(part, self.coef, self.intercept, offset)
        slopes = np.empty_like(scores)
        if type(self.loss) is Logistic:
            kernels.logistic(scores, codes, weight, self.value, slopes)
        else:
            for k in range(len(self.value)):
                here = slice(k * self.n_scores, (k + 1) * self.n_scores)
                values, slope = self.loss.evaluate(np.ascontiguousarray(scores[:, here]), codes)
                self.value[k] += weight @ values
                slopes[:, here] = slope * weight[:, None]
        self.add_products(part, slopes)


class ProximalNewton:
    """The way to the minimum for one penalty: where it is, where it wants to go next."""

    def __init__(
        self,
        objective: Objective,
        start: LossPoint,
        tol: float,
        max_iter: int,
        anchors: list[LossPoint],
        trace: Trace,
        bend: float = 1.0,
    ) -> None:
        self.objective, self.tol, self.max_iter = objective, tol, max_iter
        self.ridge = objective.ridge
        self.l1 = np.zeros(objective.shape)
        self.l1[:, : objective.n_columns] = objective.penalty.l1 / objective.standardised.scale
        self.anchors, self.trace = anchors, trace
        self.bend, self.curvature = bend, 0.0
        self.solution: Solution | None = None
        self.iterations, self.length, self.gain, self.before = 0, 1.0, np.inf, np.inf
        self.aim = start.theta
        self._stand_at(start)

    def _stand_at(self, point: LossPoint) -> None:
        self.point, self.value = point, self._value(point)
        self.trace.note(point.theta, self.value, self.subgradient)

    def _value(self, point: LossPoint) -> float:
        penalty = 0.5 * (self.ridge * point.theta**2).sum() + (self.l1 * np.abs(point.theta)).sum()
        return point.loss + float(penalty)

    @property
    def gradient(self) -> Array:
        """That of the smooth part."""
        return self.point.slope + self.ridge * self.point.theta

    @property
    def subgradient(self) -> Array:
        """The smallest one of the whole; 0 at the minimum."""
        gradient, theta = self.gradient, self.point.theta
        inside = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where(theta != 0, gradient + np.sign(theta) * self.l1, inside)

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
            return np.where(self.l1 > 0, np.abs(self.gradient) / self.l1, np.inf).ravel()

    def propose(self, hessian: WorkingHessian, complete: bool) -> None:
        """Set the next aim; finish if it promises too little and the working set is ``complete``."""
        self.aim, self.gain, self.curvature = hessian.step(self)
        scale = max(abs(self.value), 1e-300)
        if not self.point.finite or not np.isfinite(self.gain):
            self._finish("not finite")
        elif self.gain <= self.tol * scale / _CAUTION and complete:
            self._finish("optimal")
        elif self.iterations >= self.max_iter:
            self._finish("max_iter")
        elif self.length * self.gain <= 1e-16 * scale and self.length < 1e-3:
            self._finish("optimal" if self.gain <= 1e-7 * scale and complete else "no further descent")

    @property
    def next_theta(self) -> Array:
        return self.aim if self.length == 1 else self.point.theta + self.length * (self.aim - self.point.theta)

    def arrive(self, point: LossPoint) -> bool:
        """Move to an evaluated point if it descends enough; otherwise shorten the step."""
        self.iterations += 1
        if point.finite and descends_enough(self._value(point), self.value, self.length * self.gain):
            self._learn(point)
            self.length, self.before = 1.0, self.gain
            self._stand_at(point)
            return True
        self.length *= 0.25
        return False

    def _learn(self, point: LossPoint) -> None:
        """Take the model's curvature from what the step has shown: an old Hessian is mostly too large or too small."""
        shown = float(np.vdot(point.theta - self.point.theta, point.slope - self.point.slope))
        if self.curvature > 0 and shown > 0:
            self.bend = float(np.clip(shown / (self.length**2 * self.curvature), 0.1, 10.0))

    def _finish(self, reason: str) -> None:
        self.solution = Solution(
            theta=_balanced(self.objective, self.point.theta),
            objective=self.value,
            gradient_norm=float(np.abs(self.subgradient).max()),
            excess=max(self.gain, 0.0) / max(abs(self.value), 1e-300),
            passes=self.objective.passes[0],
            iterations=self.iterations,
            converged=reason == "optimal",
            reason=reason,
            solver="coordinate",
            duality_gap=duality_gap(self),
            trace=self.trace.points,
        )


def _balanced(objective: Objective, theta: Array) -> Array:
    """The same softmax model with intercepts, of the columns as they are, that sum to 0; any other as it is."""
    if not isinstance(objective.loss, Softmax) or not objective.fit_intercept:
        return theta
    coef, intercept = objective.linear(theta)
    shared = (intercept - coef @ objective.standardised.centre).mean()
    return np.concatenate((theta[:, :-1], theta[:, -1:] - shared), axis=1)


def advance(descents: list[ProximalNewton], hessian: WorkingHessian, strong: Array | None = None) -> None:
    """Bring descents under way one round further, with one pass for all of them.

    ``strong`` is a mask of parameters that had better join the working set when it is extended.
    """
    under_way = [descent for descent in descents if descent.solution is None]
    complete = _complete(hessian, under_way, strong)
    for descent in under_way:
        descent.propose(hessian, complete)
    _account(hessian, under_way)
    going = [descent for descent in under_way if descent.solution is None]
    if not going:
        return
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
        wanted |= (strong | _next_best(newest, hessian.is_member | wanted)) & ~hessian.is_member
    if hessian.waste >= hessian.cost and not np.array_equal(newest.point.theta, hessian.theta):
        hessian.renew(newest.point.theta, hessian.is_member | wanted)
        for descent in descents:
            descent.bend = 1.0
    elif wanted.any():
        hessian.extend(wanted)
    return not any(descent.wanted(hessian.is_member).any() for descent in descents)


def _next_best(descent: ProximalNewton, is_member: Array) -> Array:
    """A mask of the parameters likely to be wanted next: a growing set costs a pass, however little it grows."""
    ratio = np.where(is_member, 0.0, descent.ratio)
    count = min(int(is_member.sum()) // _GROWTH + 8, ratio.size)
    return np.asarray((ratio >= np.partition(ratio, -count)[-count]) & (ratio > 0))


def _account(hessian: WorkingHessian, descents: list[ProximalNewton]) -> None:
    """Book how many passes an old Hessian has wasted: how far the gains are from shrinking as usual."""
    shares = [d.gain / d.before for d in descents if d.solution is None and 0 < d.gain < np.inf and d.before < np.inf]
    if shares:
        slow = 1 - np.log(np.maximum(shares, 1e-300)) / np.log(_USUAL_GAIN)
        hessian.waste += float(np.clip(slow, 0.0, 1.0).mean())


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


def duality_gap(descent: ProximalNewton) -> float | None:
    """A proven bound on the objective's distance from its minimum, None where there is none to be had.

    The losses' slopes at a point are a dual point; its value is ``loss - slope'theta``, no row need be read. It must be
    mixed with the anchors so that the slopes in the intercepts vanish, and shrunk until no slope exceeds the penalty;
    the dual is concave and 0 at 0, which bounds its value from below each time.
    """
    point = descent.point
    if not isinstance(descent.objective.loss, Logistic | Softmax) or not point.finite:
        return None
    level, slope = _without_intercept_slopes(descent)
    if slope is None:
        return None
    l1, ridge = descent.l1[:, : slope.shape[1]], descent.ridge[:, : slope.shape[1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = float(np.min(np.where(np.abs(slope) > l1, l1 / np.abs(slope), 1.0), initial=1.0))
        over = np.maximum(np.abs(slope) - l1, 0.0)
        conjugate = float(np.where(over > 0, over**2 / (2 * ridge), 0.0).sum())
    return max(descent.value - max(level - conjugate, shrink * level), 0.0)


def _without_intercept_slopes(descent: ProximalNewton) -> tuple[float, Array | None]:
    """Dual value and slopes in the coefficients of a dual point whose slopes in the intercepts vanish."""
    points = [descent.point, *descent.anchors]
    p = descent.objective.n_columns
    share = np.ones(1)
    if descent.objective.fit_intercept:
        if not descent.anchors:
            return 0.0, None
        sides = np.array([anchor.slope[:, -1] for anchor in descent.anchors]).T
        share, left = nnls(sides, -descent.point.slope[:, -1])
        if left > 1e-14:
            return 0.0, None
        share = np.append(1.0, share) / (1.0 + share.sum())
    levels = [point.loss - float(np.vdot(point.slope, point.theta)) for point in points]
    slopes = [point.slope[:, :p] for point in points]
    return float(share @ levels), np.tensordot(share, slopes, axes=1)


def alpha_max(objective: Objective) -> float:
    """The smallest strength at which all coefficients are 0."""
    _refuse_ridge(objective)
    return _strength(objective, null_point(symmetric(objective)))


def alpha_grid(objective: Objective, n: int = 50, ratio: float = 1e-3) -> Array:
    """``n`` strengths in equal proportions, from `alpha_max` down to ``ratio`` times it."""
    return np.geomspace(1.0, ratio, n) * alpha_max(objective)


def regularisation_path(
    objective: Objective | Callable[[float], Objective],
    alphas: Sequence[float] | Array,
    tol: float = 1e-7,
    max_iter: int = 100,
    window: int = _WINDOW,
) -> list[Solution]:
    """The solutions for ``alphas`` in decreasing order.

    Parameters
    ----------
    objective : Objective or function from a strength to one
        What is minimised; of its penalty only ``l1_ratio`` matters.
    alphas : sequence of float
        Decreasing strengths.
    tol : float
        Each solution's estimated relative excess.
    max_iter : int
        Rounds for each strength.
    window : int
        Strengths under way at the same time.

    Returns
    -------
    list of Solution
        ``passes`` counts from the start of the path. With softmax ``theta`` has K rows (see `coordinate.symmetric`).
    """
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.size == 0 or (np.diff(alphas) > 0).any():
        raise ParameterError("alphas must be a decreasing sequence of at least one strength.")
    base = symmetric(objective(alphas[0]) if callable(objective) else objective)
    with one_blas_thread():
        return _Path(base, alphas, tol, max_iter, window).run()


class _Path:
    """The descents of a path, those under way and those that are done."""

    def __init__(self, objective: Objective, alphas: Array, tol: float, max_iter: int, window: int) -> None:
        self.alphas, self.tol, self.max_iter, self.window = alphas, tol, max_iter, window
        self.objective = replace(objective, standard=objective.standardised)
        anchors = anchor_points(self.objective)
        self.start = null_point(self.objective)
        self.anchors = evaluate(self.objective, anchors) if anchors else []
        self.hessian = WorkingHessian(self.objective)
        self.descents: list[ProximalNewton] = []

    def run(self) -> list[Solution]:
        while True:
            self._admit()
            going = [descent for descent in self.descents if descent.solution is None]
            if not going:
                break
            advance(going, self.hessian, self._strong())
        return [descent.solution for descent in self.descents if descent.solution is not None]

    def _admit(self) -> None:
        """Let the next strength start, if there is room and its neighbour has a point of its own."""
        n, going = len(self.descents), sum(descent.solution is None for descent in self.descents)
        if n == len(self.alphas) or going >= self.window:
            return
        if n and self.descents[-1].solution is None and self.descents[-1].iterations == 0:
            return
        start = self.descents[-1].point if n else self.start
        penalty = replace(self.objective.penalty, alpha=float(self.alphas[n]))
        objective = replace(self.objective, penalty=penalty)
        self.descents.append(
            ProximalNewton(
                objective,
                start,
                self.tol,
                self.max_iter,
                self.anchors,
                Trace(False),
                self.descents[-1].bend if n else 1.0,
            )
        )

    def _strong(self) -> Array:
        """A mask of the parameters that the strong rule would not discard for the strength to come."""
        newest, n = self.descents[-1], len(self.descents)
        here, ahead = self.alphas[n - 1], self.alphas[min(n, len(self.alphas) - 1)]
        bound = max(2 * ahead - here, 0.0) / max(here, 1e-300)
        return np.asarray(np.abs(newest.gradient) > bound * newest.l1).ravel()


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


def _strength(objective: Objective, null: LossPoint) -> float:
    p = objective.n_columns
    slopes = np.abs(null.slope[:, :p]) * objective.standardised.scale
    return float(slopes.max() / objective.penalty.l1_ratio)


def _refuse_ridge(objective: Objective) -> None:
    if objective.penalty.l1_ratio == 0:
        raise ParameterError("With l1_ratio=0 no strength makes coefficients 0: give the strengths (alphas) yourself.")
