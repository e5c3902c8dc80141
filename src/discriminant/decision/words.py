"""Why a decision was taken, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.naming import plain
from .posteriors import Posterior
from .risks import Problem

Array = np.ndarray[Any, Any]

#: Classes and actions named in the text; there may be many more.
_NAMED = 5


@dataclass(frozen=True)
class Explanation:
    """Why an action won, and how far the probabilities may move before another one does.

    The probabilities move along a line: what one class loses another gains, the others stay. The two are the class
    that speaks most for the action and the one that speaks most for its runner-up; with two classes there is no other
    line.

    Attributes
    ----------
    action : the action chosen
    probabilities : dict of the class probabilities
    risks : dict of the expected cost of every action that has costs
    runner_up : the next best action that is allowed, or None
    refused : actions of lower risk whose class does not reach its threshold
    losing, gaining : the two classes of the line
    holds : (low, high), the probabilities of ``gaining`` between which the action stays the same
    below, above : the actions that follow beyond them; None where the line ends first
    basis : what the probabilities rest on, where that is not the posterior as it was given
    """

    action: Any
    probabilities: dict[Any, float]
    risks: dict[Any, float]
    runner_up: Any
    refused: tuple[Any, ...]
    losing: Any
    gaining: Any
    holds: tuple[float, float]
    below: Any
    above: Any
    basis: str = ""

    @property
    def threshold(self) -> float | None:
        """The probability of ``gaining`` at which the decision changes against ``losing``; None if it never does."""
        return None if self.above is None else self.holds[1]

    def __str__(self) -> str:
        return "\n".join((self._choice(), self._evidence(), self._limits()))

    def _choice(self) -> str:
        risk = self.risks.get(self.action)
        text = f"Decision: {self.action}, " + (
            "because no class reaches its threshold" if risk is None else f"with expected cost {risk:.4g}"
        )
        if self.runner_up is not None:
            text += f"; next best: {self.runner_up}, {self.risks[self.runner_up]:.4g}"
        if self.refused:
            listed = ", ".join(f"{action} ({self.risks[action]:.4g})" for action in self.refused)
            text += f". Below the threshold: {listed}"
        return text + "."

    def _evidence(self) -> str:
        ranked = sorted(self.probabilities.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{label} {p:.4g}" for label, p in ranked[:_NAMED])
        rest = sum(p for _, p in ranked[_NAMED:])
        return f"Probabilities{self.basis and ' ' + self.basis}: {listed}" + (
            f", others {rest:.4g}." if len(ranked) > _NAMED else "."
        )

    def _limits(self) -> str:
        name, (low, high) = f"P({self.gaining})", self.holds
        now = f" (now {self.probabilities[self.gaining]:.4g})"
        if self.below is None and self.above is None:
            text = f"whatever {name} is{now}"
        elif self.below is None:
            text = f"for {name} up to {high:.4g}{now}; above: {self.above}"
        elif self.above is None:
            text = f"for {name} from {low:.4g}{now}; below: {self.below}"
        else:
            text = f"for {name} from {low:.4g} to {high:.4g}{now}; below: {self.below}, above: {self.above}"
        if len(self.probabilities) == 2:
            return f"It holds {text}."
        return f"With probability moving between {self.losing} and {self.gaining} alone, it holds {text}."


def explanation(problem: Problem, basis: str = "") -> Explanation:
    """Why the action of a problem of one row won; ``basis`` says what its probabilities rest on."""
    actions = [plain(action) for action in problem.actions]
    p, chosen, risks = problem.posterior.probabilities[0], int(problem.chosen()[0]), problem.risks()[0]
    ranked = [int(j) for j in np.argsort(risks, kind="stable") if j != chosen]
    allowed = _allowed(problem, p)
    runner_up = next((j for j in ranked if allowed[j]), None)
    rival = next(iter([runner_up] if runner_up is not None else ranked), chosen)
    losing, gaining = _line(problem, p, chosen, rival)
    low, below = _change(problem, p, gaining, losing)
    high, above = _change(problem, p, losing, gaining)
    classes = [plain(label) for label in problem.posterior.classes]
    cheaper = [j for j in ranked if not allowed[j] and (chosen >= len(risks) or risks[j] < risks[chosen])]
    return Explanation(
        action=actions[chosen],
        probabilities=dict(zip(classes, p.tolist(), strict=True)),
        risks=dict(zip(actions, risks.tolist(), strict=False)),
        runner_up=None if runner_up is None else actions[runner_up],
        refused=tuple(actions[j] for j in cheaper),
        losing=classes[losing],
        gaining=classes[gaining],
        holds=(float(p[gaining] - low), float(p[gaining] + high)),
        below=None if below is None else actions[below],
        above=None if above is None else actions[above],
        basis=basis,
    )


def _allowed(problem: Problem, p: Array) -> Array:
    """Which actions the thresholds allow; abstaining always is."""
    return np.append(problem.reached(p[None])[0], True)


def _cost_matrix(problem: Problem) -> Array:
    """The costs of all actions, abstaining among them; 0 where it has no cost."""
    n_classes = len(problem.posterior.classes)
    costs = 1.0 - np.eye(n_classes) if problem.costs is None else problem.costs
    return np.column_stack((costs, np.full(n_classes, problem.reject_cost or 0.0)))


def _line(problem: Problem, p: Array, winner: int, rival: int) -> tuple[int, int]:
    """The class that speaks most for the winner against its rival, and the one that speaks most for the rival."""
    costs = _cost_matrix(problem)
    favour = costs[:, rival] - costs[:, winner]
    gaining = int(np.argmin(favour))
    weight = p * favour
    weight[gaining] = -np.inf
    return int(np.argmax(weight)), gaining


def _change(problem: Problem, p: Array, source: int, target: int) -> tuple[float, int | None]:
    """How much probability has to move from one class to another until another action is chosen, and which.

    The decision can only change where the risks of two actions meet, or where a class crosses its threshold; between
    such points it is constant.
    """
    stops = _possible_changes(problem, p, source, target)
    if len(stops) == 1:  # the source has nothing to give
        return 0.0, None
    middles = (stops[1:] + stops[:-1]) / 2
    moved = np.tile(p, (len(middles), 1))
    moved[:, source] -= middles
    moved[:, target] += middles
    there = Posterior(moved, problem.posterior.classes)
    actions = Problem(there, problem.costs, problem.costed, problem.reject_cost, problem.thresholds).chosen()
    other = np.flatnonzero(actions != problem.chosen()[0])
    if other.size == 0:
        return float(p[source]), None
    return float(stops[other[0]]), int(actions[other[0]])


def _possible_changes(problem: Problem, p: Array, source: int, target: int) -> Array:
    """Amounts, from nothing to all that the source has, at which the decision may change."""
    costs = _cost_matrix(problem)
    first, second = np.triu_indices(costs.shape[1], 1)
    difference = costs[:, first] - costs[:, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        amounts = [p @ difference / (difference[source] - difference[target])]
    if problem.thresholds is not None:
        amounts += [p[source] - problem.thresholds, problem.thresholds - p[target]]
    inside = np.concatenate(amounts)
    inside = inside[(inside > 0) & (inside < p[source])]
    return np.unique(np.concatenate(([0.0], inside, [p[source]])))
