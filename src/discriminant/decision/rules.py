"""Decision rules for posteriors: MAP, maximum likelihood and minimum risk, with rejection, and their explanation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike, PerClass
from ..data import (
    as_rows,
    check_choice,
    check_integer,
    check_number,
    check_weights,
    codes_among,
    label_array,
    same_length,
)
from ..engine import map_rows
from ..errors import InputError, ParameterError
from ..results import Result, plain, visible
from .costs import CostTable, read_costs
from .posteriors import Posterior, as_posterior, check_priors, class_array, equal_priors, one_for_each_class

ABSTAIN = "abstain"


@dataclass(frozen=True)
class DecisionProblem:
    """A posterior with the costs of each action under each class.

    If ``costs`` is None, costs are 0 for the true class and 1 for the others; the risk of a class is ``1 - p``, and the
    largest p is chosen, without rounding. The action index after the last costed one means abstaining.
    """

    posterior: Posterior
    costs: Array | None
    costed: list[Any]
    reject_cost: float | None
    thresholds: Array | None  #: minimum probability of the class of each action; 0 for actions that are not classes

    @property
    def actions(self) -> Array:
        """All possible actions, with abstaining last."""
        if self.reject_cost is not None or self.thresholds is not None:
            return label_array([*self.costed, ABSTAIN])
        return self.posterior.classes if self.costs is None else label_array(self.costed)

    def risks(self) -> Array:
        """The expected cost of every action with costs, for each row."""
        n_costed = len(self.costed)
        out = np.empty((len(self.posterior), n_costed + (self.reject_cost is not None)))
        out[:, n_costed:] = self.reject_cost or 0.0

        def write(block: Array, where: slice) -> None:
            out[where, :n_costed] = self._relative(block, where) + self._base

        map_rows(as_rows(self.posterior.probabilities), write)
        return out

    def chosen(self) -> Array:
        """The index of the chosen action of each row."""
        out = np.empty(len(self.posterior), dtype=np.intp)

        def write(block: Array, where: slice) -> None:
            out[where] = self._best(block, where)

        map_rows(as_rows(self.posterior.probabilities), write)
        return out

    def row(self, i: int) -> DecisionProblem:
        """The problem of one row."""
        costs = self.costs[i] if self.costs is not None and self.costs.ndim == 3 else self.costs
        return replace(self, posterior=self.posterior[i], costs=costs)

    def realised(self, codes: Array) -> Array:
        """The realised cost of the chosen action of each row, given the codes of the true classes."""
        chosen = self.chosen()
        abstained = chosen == len(self.costed)
        if self.reject_cost is None and abstained.any():
            raise _no_cost_of_abstaining(int(np.argmax(abstained)))
        column = np.where(abstained, 0, chosen)
        if self.costs is None:
            cost = (column != codes).astype(np.float64)
        else:
            cost = self.costs[(*(() if self.costs.ndim == 2 else (np.arange(len(codes)),)), codes, column)]
        return np.where(abstained, self.reject_cost or 0.0, cost)

    def expected(self) -> Array:
        """The risk of the chosen action of each row."""
        chosen, risks = self.chosen(), self.risks()
        if risks.shape[1] <= chosen.max():
            raise _no_cost_of_abstaining(int(np.argmax(chosen)))
        return np.take_along_axis(risks, chosen[:, None], axis=1)[:, 0]

    @property
    def named(self) -> Array:
        """The class code of each costed action, -1 for actions that are not classes."""
        codes = {plain(label): k for k, label in enumerate(self.posterior.classes)}
        return np.array([codes.get(action, -1) for action in self.costed])

    def reached(self, p: Array) -> Array:
        """Which costed actions reach their thresholds."""
        if self.thresholds is None:
            return np.ones((len(p), len(self.costed)), dtype=bool)
        # The last column is for actions that are not classes.
        certain = np.column_stack((p, np.ones(len(p))))
        return certain[:, self.named] >= self.thresholds

    @property
    def _base(self) -> float:
        return 1.0 if self.costs is None else 0.0

    def _relative(self, p: Array, where: slice) -> Array:
        """The risk of each costed action minus `_base`."""
        if self.costs is None:
            return -p
        return p @ self.costs if self.costs.ndim == 2 else np.einsum("nk,nka->na", p, self.costs[where])

    def _best(self, p: Array, where: slice) -> Array:
        risk = self._relative(p, where)
        if self.thresholds is not None:
            risk = np.where(self.reached(p), risk, np.inf)
        best = risk.argmin(axis=1)
        # Abstaining wins ties; without a cost it is used only if no other action is allowed.
        limit = np.inf if self.reject_cost is None else self.reject_cost - self._base
        best[limit <= risk[np.arange(len(p)), best]] = len(self.costed)
        return best


def _no_cost_of_abstaining(row: int) -> ParameterError:
    return ParameterError(
        f"Row {row} reaches no threshold and is rejected, but the cost of rejection is unknown. Give reject_cost."
    )


#: Classes listed in the text of an explanation.
MAX_LISTED_CLASSES: Final = 5


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """The chosen action for one row, its alternatives, and the probabilities at which the decision changes.

    Sensitivity is computed along a line on which probability moves from one class to another: from the class with the
    largest contribution in favour of the action to the one most in favour of the runner-up.

    Attributes
    ----------
    action : the chosen action
    probabilities : dict of class probabilities
    risks : dict of the expected costs of all actions with costs
    runner_up : the next best allowed action, or None
    refused : actions with lower risk whose class does not reach its threshold
    losing, gaining : the two classes of the line
    holds : (low, high), the range of the probability of ``gaining`` with the same decision
    below, above : the actions outside this range; None if the line ends first
    basis : the basis of the probabilities, if they are not the given posterior
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
        """The probability of ``gaining`` above which the decision changes; None if it does not."""
        return None if self.above is None else self.holds[1]

    def _columns(self) -> dict[str, list[Any]]:
        return {"action": list(self.risks), "expected_cost": list(self.risks.values())}

    def __str__(self) -> str:
        return "\n".join(map(visible, (self._choice(), self._evidence(), self._limits())))

    def _choice(self) -> str:
        risk = self.risks.get(self.action)
        text = f"Decision: {self.action}, " + (
            "no class reaches its threshold" if risk is None else f"expected cost {risk:.4g}"
        )
        if self.runner_up is not None:
            text += f"; next best: {self.runner_up}, {self.risks[self.runner_up]:.4g}"
        if self.refused:
            listed = ", ".join(f"{action} ({self.risks[action]:.4g})" for action in self.refused)
            text += f". Rejected because of thresholds: {listed}"
        return text + "."

    def _evidence(self) -> str:
        ranked = sorted(self.probabilities.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{label} {p:.4g}" for label, p in ranked[:MAX_LISTED_CLASSES])
        rest = sum(p for _, p in ranked[MAX_LISTED_CLASSES:])
        others = f", others {rest:.4g}" if len(ranked) > MAX_LISTED_CLASSES else ""
        return f"Probabilities{self.basis and ' ' + self.basis}: {listed}{others}."

    def _limits(self) -> str:
        name, (low, high) = f"P({self.gaining})", self.holds
        now = f" (current: {self.probabilities[self.gaining]:.4g})"
        start = "" if self.below is None else f" from {low:.4g}"
        end = "" if self.above is None else f" {'to' if start else 'up to'} {high:.4g}"
        sides = ("below", self.below), ("above", self.above)
        beyond = ", ".join(f"{side}: {action}" for side, action in sides if action is not None)
        text = f"for {name}{start}{end}{now}; {beyond}" if beyond else f"for every {name}{now}"
        if len(self.probabilities) == 2:
            return f"Same decision {text}."
        return f"Same decision if only {self.losing} and {self.gaining} change: {text}."


def explanation(problem: DecisionProblem, basis: str = "") -> Explanation:
    """The explanation of the decision for a single row; ``basis`` describes its probabilities."""
    actions = [plain(action) for action in problem.actions]
    p, chosen, risks = problem.posterior.probabilities[0], int(problem.chosen()[0]), problem.risks()[0]
    ranked = [int(j) for j in np.argsort(risks, kind="stable") if j != chosen]
    allowed = np.append(problem.reached(p[None])[0], True)  # abstaining always is
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


def _cost_matrix(problem: DecisionProblem) -> Array:
    """The costs of all actions including abstaining, which costs 0 if no cost is given."""
    n_classes = len(problem.posterior.classes)
    costs = 1.0 - np.eye(n_classes) if problem.costs is None else problem.costs
    return np.column_stack((costs, np.full(n_classes, problem.reject_cost or 0.0)))


def _line(problem: DecisionProblem, p: Array, winner: int, rival: int) -> tuple[int, int]:
    """The class with the largest contribution in favour of the winner, and the class most in favour of the rival."""
    costs = _cost_matrix(problem)
    favour = costs[:, rival] - costs[:, winner]
    gaining = int(np.argmin(favour))
    weight = p * favour
    weight[gaining] = -np.inf
    return int(np.argmax(weight)), gaining


def _change(problem: DecisionProblem, p: Array, source: int, target: int) -> tuple[float, int | None]:
    """The probability that has to move from one class to another to change the decision, and the new action.

    The decision can only change where two risks are equal or a class crosses its threshold.
    """
    stops = _possible_changes(problem, p, source, target)
    if len(stops) == 1:  # the source has probability 0
        return 0.0, None
    middles = (stops[1:] + stops[:-1]) / 2
    moved = np.tile(p, (len(middles), 1))
    moved[:, source] -= middles
    moved[:, target] += middles
    actions = replace(problem, posterior=Posterior(moved, problem.posterior.classes)).chosen()
    other = np.flatnonzero(actions != problem.chosen()[0])
    if other.size == 0:
        return float(p[source]), None
    return float(stops[other[0]]), int(actions[other[0]])


def _possible_changes(problem: DecisionProblem, p: Array, source: int, target: int) -> Array:
    """Amounts, from 0 to the probability of the source, at which the decision may change."""
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


Rule = Literal["prior", "map", "ml", "risk"]


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule that turns posterior probabilities into actions.

    The risk of action j is its expected cost ``R(j) = sum_k costs[k, j] p(k)``. The action of minimum risk is chosen,
    the first in case of ties. Without costs, misclassification costs 1, and the most probable class is chosen.

    Parameters
    ----------
    costs : array (K, A) or (n_rows, K, A), dict, frame, "absolute" or "squared", optional
        ``costs[k, j]`` is the cost of action j if the true class is k. With names: ``{true: {action: cost}}``,
        ``{(true, action): cost}`` (correct decisions cost 0 by default), or a frame with the true classes as index
        (polars: first column). Three dimensions: costs for each row. By name: the distance between ordered classes, or
        its square; ``classes`` then has them in order.
    actions : list, optional
        Names of the columns of an array; required if there are not as many actions as classes.
    rule : "prior", "map", "ml" or "risk", optional
        The class of highest prior, of highest posterior, of highest likelihood (posterior divided by prior), or the
        action of minimum expected cost. Default: "risk" with costs, else "map".
    priors : array-like or dict, optional
        Class priors in the target population, if they differ from those of the training data.
    reject_cost : float, optional
        Adds the action "abstain" with this cost for every true class. It wins ties.
    thresholds : float, array-like or dict, optional
        Minimum probability of a class to be chosen. If no class reaches its threshold, the decision is "abstain". A
        dict may omit classes.
    classes : array-like, optional
        Class labels of the rows of a cost array and of the columns of an array of probabilities. Default: the classes
        of the posterior, or 0, ..., K - 1.

    See Also
    --------
    DecisionClassifier : Applies a decision rule to a model.
    Posterior : The input of a decision rule.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff.

    Examples
    --------
    An avocado is organic with probability 0.5532; deciding 'organic' for an ordinary one costs 2, the reverse 1:

    >>> posterior = Posterior([[0.5532, 0.4468]], classes=["organic", "ordinary"])
    >>> decision = Decision({("ordinary", "organic"): 2, ("organic", "ordinary"): 1})
    >>> decision.decide(posterior)
    array(['ordinary'], dtype='<U8')
    >>> decision.risk(posterior)
    array([[0.8936, 0.5532]])
    >>> Decision().decide(posterior)
    array(['organic'], dtype='<U8')
    """

    costs: Any = None
    actions: Any = None
    rule: Rule | None = None
    priors: Any = None
    reject_cost: float | None = None
    thresholds: Any = None
    classes: Any = None

    def __post_init__(self) -> None:
        self._check_rule()
        if self.reject_cost is not None:
            check_number("reject_cost", self.reject_cost, least=0)
        if self.classes is not None:
            object.__setattr__(self, "classes", class_array(self.classes))
        if self.costs is None and self.actions is not None:
            raise ParameterError(f"actions={self.actions!r} requires costs. Give the cost of each action.")
        table = None if self.costs is None else read_costs(self.costs, self.actions, self.classes)
        object.__setattr__(self, "_table", table)
        if self.classes is not None:
            self._checked_for(self.classes)

    def decide(self, posterior: Posterior | MatrixLike) -> Array:
        """The action for each row.

        Parameters
        ----------
        posterior : Posterior, or array or frame of shape (n_rows, K)
            Class probabilities of the rows.

        Returns
        -------
        array of shape (n_rows,)
            Classes, other actions or "abstain".
        """
        problem = self._problem(posterior)
        return problem.actions[problem.chosen()]

    def risk(self, posterior: Posterior | MatrixLike) -> Array:
        """The expected cost of every action for each row, columns in the order of `actions_for`.

        Thresholds restrict actions but do not change risks. Abstaining has a column if it has a cost.

        Parameters
        ----------
        posterior : Posterior, or array or frame of shape (n_rows, K)
            Class probabilities of the rows, before changing priors.

        Returns
        -------
        array of shape (n_rows, n_actions)
            Expected costs.
        """
        return self._problem(posterior).risks()

    def actions_for(self, classes: ArrayLike) -> Array:
        """All possible actions for these classes, with "abstain" last.

        Parameters
        ----------
        classes : array-like of shape (K,)
            Class labels.

        Returns
        -------
        array
            Actions in the order of the columns of `risk`.
        """
        known = class_array(classes)
        costs, costed, thresholds = self._checked_for(known)
        nowhere = Posterior(equal_priors(known)[None], known)
        return DecisionProblem(nowhere, costs, costed, self.reject_cost, thresholds).actions

    def total_risk(
        self, posterior: Posterior | MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """The mean cost of the decisions: expected under the posterior, or realised if true labels are given.

        Parameters
        ----------
        posterior : Posterior, or array or frame of shape (n_rows, K)
            Class probabilities of the rows.
        y : array-like of shape (n_rows,), optional
            True classes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            The (weighted) mean over the rows.
        """
        problem = self._problem(posterior)
        if y is None:
            cost = problem.expected()
        else:
            codes = codes_among("y", y, problem.posterior.classes)
            same_length(y=codes, posterior=problem.posterior)
            cost = problem.realised(codes)
        return float(np.average(cost, weights=check_weights(sample_weight, len(cost))))

    def explain(self, posterior: Posterior | MatrixLike, row: int = 0) -> Explanation:
        """Explain the decision for one row: alternatives, and probabilities at which it changes.

        Parameters
        ----------
        posterior : Posterior, array or frame
            Class probabilities, or the K probabilities of a single row.
        row : int, default=0
            Index of the row.

        Returns
        -------
        Explanation
            Prints as text.
        """
        single = not isinstance(posterior, Posterior) and np.asarray(posterior).ndim == 1
        problem = self._problem(np.atleast_2d(np.asarray(posterior)) if single else posterior)
        check_integer("row", row, 0)
        if row >= len(problem.posterior):
            n_rows = len(problem.posterior)
            raise InputError(f"row={row} is out of range: the posterior has {n_rows} rows, numbered from 0.")
        moved = "" if self.priors is None else "under the target priors"
        basis = {"prior": "(priors only)", "ml": "under equal priors"}.get(str(self.rule), moved)
        return explanation(problem.row(row), basis)

    def posterior_used(self, posterior: Posterior | MatrixLike) -> Posterior:
        """The probabilities used for the decision: the posterior under the target priors.

        Parameters
        ----------
        posterior : Posterior, or array or frame of shape (n_rows, K)
            Class probabilities of a model.

        Returns
        -------
        Posterior
            Under the target priors.
        """
        found = as_posterior(posterior, self.classes)
        if self.rule == "prior":
            given = found.priors if self.priors is None else self._by_class("priors", self.priors)
            if given is None:
                raise ParameterError("rule='prior' requires class priors. Use Decision(rule='prior', priors=...).")
            priors = check_priors(given, found.classes)
            return Posterior(np.tile(priors, (len(found), 1)), found.classes, priors)
        if self.rule == "ml":
            return found.with_priors(equal_priors(found.classes))
        return found if self.priors is None else found.with_priors(self._by_class("priors", self.priors))

    def _problem(self, posterior: Posterior | MatrixLike) -> DecisionProblem:
        """The decision problem of this posterior, with names matched."""
        used = self.posterior_used(posterior)
        costs, costed, thresholds = self._checked_for(used.classes)
        if costs is not None and costs.ndim == 3 and len(costs) != len(used):
            raise InputError(f"costs has values for {len(costs)} rows, but the posterior has {len(used)} rows.")
        return DecisionProblem(used, costs, costed, self.reject_cost, thresholds)

    def _checked_for(self, classes: Array) -> tuple[Array | None, list[Any], Array | None]:
        """Costs, costed actions and the actions' thresholds for these classes."""
        table: CostTable | None = self._table  # type: ignore[attr-defined]
        costs, costed = (None, [plain(label) for label in classes]) if table is None else table.aligned(classes)
        if ABSTAIN in costed and (self.reject_cost is not None or self.thresholds is not None):
            raise ParameterError(
                f"{ABSTAIN!r} is already one of the actions {costed}. Rename it, or omit reject_cost and thresholds."
            )
        if self.priors is not None:
            check_priors(self._by_class("priors", self.priors), classes)
        return costs, costed, self._thresholds_of(costed, classes)

    def _by_class(self, name: str, given: PerClass) -> Any:
        """Numbers by class name, if this decision has its own order of classes."""
        if self.classes is None or isinstance(given, Mapping):
            return given
        values = one_for_each_class(name, given, self.classes)
        return dict(zip([plain(label) for label in self.classes], values.tolist(), strict=True))

    def _thresholds_of(self, costed: list[Hashable], classes: Array) -> Array | None:
        """The threshold of each costed action: that of its class, 0 for actions that are not classes."""
        if self.thresholds is None:
            return None
        common = isinstance(self.thresholds, Real)
        given = np.full(len(classes), self.thresholds) if common else self._by_class("thresholds", self.thresholds)
        values = one_for_each_class("thresholds", given, classes, default=0.0)
        named = dict(zip([plain(label) for label in classes], values.tolist(), strict=True))
        for label, value in named.items():
            if not 0 <= value <= 1:
                raise ParameterError(f"thresholds must be from 0 to 1: class {label!r} has {value:g}.")
        return np.array([named.get(action, 0.0) for action in costed])

    def _check_rule(self) -> None:
        if self.rule is None:
            object.__setattr__(self, "rule", "map" if self.costs is None else "risk")
        check_choice("rule", self.rule, get_args(Rule))
        if (self.rule == "risk") != (self.costs is not None):
            unused = "ignores costs. Omit them, or use rule='risk'"
            raise ParameterError(f"rule={self.rule!r} {'requires costs' if self.rule == 'risk' else unused}.")
        if self.rule == "ml" and self.priors is not None:
            raise ParameterError("rule='ml' ignores priors. Omit them, or use rule='map'.")
