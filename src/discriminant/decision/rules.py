"""Decisions from posteriors: a priori, most probable, most likely, least expected cost; abstaining and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from ..data.naming import plain
from ..data.parameters import check_integer, check_number
from ..data.weights import check_weights
from ..errors import InputError, ParameterError
from .costs import CostTable, read_costs
from .posteriors import Posterior, as_posterior, class_array
from .priors import check_priors, equal_priors, one_for_each_class
from .risks import ABSTAIN, Problem, codes_of
from .words import Explanation, explanation

Array = np.ndarray[Any, Any]

Rule = Literal["prior", "map", "ml", "risk"]


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule that turns posterior probabilities into actions.

    The risk of action j is its expected cost ``R(j) = sum_k costs[k, j] p(k)``; the action of least risk is chosen, the
    first of several that tie. Without costs a wrong class costs 1 and the right one 0, which makes it the most
    probable class.

    Parameters
    ----------
    costs : array (K, A) or (n_rows, K, A), dict or frame, optional
        Rows are true classes, columns are actions: ``costs[k, j]`` is what action j costs when the truth is k. Named as
        ``{true: {action: cost}}``, ``{(true, action): cost}`` (being right costs 0 unless said), or a frame
        whose index (in polars: first column) holds the true classes. Three dimensions: each row has its own costs.
    actions : list, optional
        Names of the columns of an array; needed where there are not as many actions as classes.
    rule : "prior", "map", "ml" or "risk", optional
        Which decision: the class of highest prior whatever the row, of highest posterior, of highest likelihood
        (posterior divided by prior), or of least expected cost. Default: "risk" with costs, else "map".
    priors : array-like or dict, optional
        Shares of the classes where decisions are made, if they are not those of the training rows.
    reject_cost : float, optional
        Makes "abstain" an action that costs this much whatever the truth. It wins ties.
    thresholds : float, array-like or dict, optional
        A class is chosen only if its probability reaches its threshold; otherwise the next best that does, and if none
        does, "abstain". A dict may leave classes out.
    classes : array-like, optional
        What the rows of a cost array and the columns of an array of probabilities stand for. Default: the classes of
        the posterior, or 0, ..., K - 1.

    Examples
    --------
    An avocado is organic with probability 0.5532; calling an ordinary one organic costs 2, the reverse 1:

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
            raise ParameterError(f"actions={self.actions!r} needs costs that say what each action costs.")
        table = None if self.costs is None else read_costs(self.costs, self.actions, self.classes)
        object.__setattr__(self, "_table", table)
        if self.classes is not None:
            self._checked_for(self.classes)

    def decide(self, posterior: Any) -> Array:
        """The action for each row.

        Parameters
        ----------
        posterior : Posterior, or array or frame of shape (n_rows, K)
        """
        problem = self._problem(posterior)
        return problem.actions[problem.chosen()]

    def risk(self, posterior: Any) -> Array:
        """The expected cost of every action for each row, columns in the order of `actions_for`.

        Thresholds do not change risks, only which actions are allowed. Abstaining has a column if it has a cost.
        """
        return self._problem(posterior).risks()

    def actions_for(self, classes: Any) -> Array:
        """All actions this decision can take when the classes are these; "abstain" comes last."""
        known = class_array(classes)
        costs, costed, thresholds = self._checked_for(known)
        nowhere = Posterior(equal_priors(known)[None], known)
        return Problem(nowhere, costs, costed, self.reject_cost, thresholds).actions

    def total_risk(self, posterior: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean cost of the decisions: expected by the posterior, or realised where the true labels are given.

        Parameters
        ----------
        posterior : Posterior, or array or frame of shape (n_rows, K)
        y : array-like of shape (n_rows,), optional
            True classes.
        sample_weight : array-like of shape (n_rows,), optional
        """
        problem = self._problem(posterior)
        cost = problem.expected() if y is None else problem.realised(codes_of(y, problem.posterior))
        return float(np.average(cost, weights=check_weights(sample_weight, len(cost))))

    def explain(self, posterior: Any, row: int = 0) -> Explanation:
        """Why the action of one row won, and at which probability it would change; prints in words.

        Parameters
        ----------
        posterior : Posterior, array or frame; or the K probabilities of a single row
        row : int
            Which row of them.
        """
        single = not isinstance(posterior, Posterior) and np.ndim(posterior) == 1
        problem = self._problem(np.atleast_2d(posterior) if single else posterior)
        check_integer("row", row, 0)
        if row >= len(problem.posterior):
            raise InputError(f"row={row}, but the posterior has {len(problem.posterior)} rows (the first is 0).")
        return explanation(problem.row(row), self._basis)

    @property
    def _basis(self) -> str:
        """What the probabilities of the decision rest on, in words, where that is not the posterior as it was given."""
        if self.rule == "prior":
            return "before looking at the row"
        if self.rule == "ml":
            return "at equal priors"
        return "" if self.priors is None else "at the priors of the decision"

    def posterior_used(self, posterior: Any) -> Posterior:
        """The probabilities the decision rests on: those given, moved to its priors."""
        found = as_posterior(posterior, self.classes)
        if self.rule == "prior":
            return self._priors_everywhere(found)
        if self.rule == "ml":
            return found.with_priors(equal_priors(found.classes))
        return found if self.priors is None else found.with_priors(self._by_class("priors", self.priors))

    def _priors_everywhere(self, found: Posterior) -> Posterior:
        given = found.priors if self.priors is None else self._by_class("priors", self.priors)
        if given is None:
            raise ParameterError("rule='prior' needs class priors: give Decision(rule='prior', priors=...).")
        priors = check_priors(given, found.classes)
        return Posterior(np.tile(priors, (len(found), 1)), found.classes, priors)

    def _problem(self, posterior: Any) -> Problem:
        """The decision for this posterior, all names matched."""
        used = self.posterior_used(posterior)
        costs, costed, thresholds = self._checked_for(used.classes)
        if costs is not None and costs.ndim == 3 and len(costs) != len(used):
            raise InputError(f"costs has its own values for {len(costs)} rows, but the posterior has {len(used)} rows.")
        return Problem(used, costs, costed, self.reject_cost, thresholds)

    def _checked_for(self, classes: Array) -> tuple[Array | None, list[Any], Array | None]:
        """Costs, costed actions and the actions' thresholds for these classes."""
        table: CostTable | None = self._table  # type: ignore[attr-defined]
        costs, costed = (None, [plain(label) for label in classes]) if table is None else table.aligned(classes)
        if ABSTAIN in costed and (self.reject_cost is not None or self.thresholds is not None):
            raise ParameterError(
                f"{ABSTAIN!r} is among the actions {costed} already. Rename it, or omit reject_cost and thresholds."
            )
        if self.priors is not None:
            check_priors(self._by_class("priors", self.priors), classes)
        return costs, costed, self._thresholds_of(costed, classes)

    def _by_class(self, name: str, given: Any) -> Any:
        """Numbers by class name, where this decision has an order of classes of its own."""
        if self.classes is None or isinstance(given, Mapping):
            return given
        values = one_for_each_class(name, given, self.classes)
        return dict(zip([plain(label) for label in self.classes], values.tolist(), strict=True))

    def _thresholds_of(self, costed: list[Any], classes: Array) -> Array | None:
        """The threshold of each costed action: that of the class it names, 0 for others."""
        if self.thresholds is None:
            return None
        alike = isinstance(self.thresholds, Real)
        given = np.full(len(classes), self.thresholds) if alike else self._by_class("thresholds", self.thresholds)
        values = one_for_each_class("thresholds", given, classes, default=0.0)
        named = dict(zip([plain(label) for label in classes], values.tolist(), strict=True))
        for label, value in named.items():
            if not 0 <= value <= 1:
                raise ParameterError(f"thresholds must be from 0 to 1: class {label!r} has {value:g}.")
        return np.array([named.get(action, 0.0) for action in costed])

    def _check_rule(self) -> None:
        if self.rule is None:
            object.__setattr__(self, "rule", "map" if self.costs is None else "risk")
        if self.rule not in get_args(Rule):
            raise ParameterError(f"rule must be one of {list(get_args(Rule))}, got {self.rule!r}.")
        if (self.rule == "risk") != (self.costs is not None):
            wrong = (
                "needs costs" if self.rule == "risk" else "does not look at costs: leave them out, or use rule='risk'"
            )
            raise ParameterError(f"rule={self.rule!r} {wrong}.")
        if self.rule == "ml" and self.priors is not None:
            raise ParameterError("rule='ml' does not look at priors: leave them out, or use rule='map'.")
