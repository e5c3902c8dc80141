"""The risk of every action and the choice among them: one decision problem, its names already matched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.labels import encode_labels
from ..data.naming import plain, shown
from ..data.rows import as_rows
from ..engine import map_rows
from ..errors import LabelError, ParameterError
from .posteriors import Posterior, label_array

Array = np.ndarray[Any, Any]

ABSTAIN = "abstain"


@dataclass(frozen=True)
class Problem:
    """A posterior and what each action costs under each class.

    With ``costs`` None they are 0 for the right class and 1 for the others, and the risk of a class is ``1 - p``: the
    choice is then the largest p itself, not the smallest of some rounded sums. The number of an action beyond the
    costed ones stands for abstaining.
    """

    posterior: Posterior
    costs: Array | None
    costed: list[Any]
    reject_cost: float | None
    thresholds: Array | None  #: the least probability of the class that an action names; 0 where it names none

    @property
    def actions(self) -> Array:
        """All actions that can be chosen; abstaining comes last."""
        if self.reject_cost is not None or self.thresholds is not None:
            return label_array([*self.costed, ABSTAIN])
        return self.posterior.classes if self.costs is None else label_array(self.costed)

    def risks(self) -> Array:
        """The expected cost of every action that has costs, for each row."""
        n_costed = len(self.costed)
        out = np.empty((len(self.posterior), n_costed + (self.reject_cost is not None)))
        out[:, n_costed:] = self.reject_cost or 0.0

        def write(block: Array, where: slice) -> None:
            out[where, :n_costed] = self._relative(block, where) + self._base

        map_rows(as_rows(self.posterior.probabilities), write)
        return out

    def chosen(self) -> Array:
        """The number of the chosen action of each row."""
        out = np.empty(len(self.posterior), dtype=np.intp)

        def write(block: Array, where: slice) -> None:
            out[where] = self._best(block, where)

        map_rows(as_rows(self.posterior.probabilities), write)
        return out

    def row(self, i: int) -> Problem:
        """The problem of one row."""
        costs = self.costs[i] if self.costs is not None and self.costs.ndim == 3 else self.costs
        return Problem(self.posterior[i], costs, self.costed, self.reject_cost, self.thresholds)

    def realised(self, codes: Array) -> Array:
        """What the chosen action of each row costs, given the codes of the true classes."""
        chosen = self.chosen()
        abstained = chosen == len(self.costed)
        if self.reject_cost is None and abstained.any():
            raise _no_cost_of_abstaining(int(np.argmax(abstained)))
        cost = self._cost(codes, np.where(abstained, 0, chosen))
        return np.where(abstained, self.reject_cost or 0.0, cost)

    def expected(self) -> Array:
        """The risk of the chosen action of each row."""
        chosen, risks = self.chosen(), self.risks()
        if risks.shape[1] <= chosen.max():
            raise _no_cost_of_abstaining(int(np.argmax(chosen)))
        return np.take_along_axis(risks, chosen[:, None], axis=1)[:, 0]

    @property
    def named(self) -> Array:
        """The code of the class that each costed action names, -1 for an action that is not a class."""
        codes = {plain(label): k for k, label in enumerate(self.posterior.classes)}
        return np.array([codes.get(action, -1) for action in self.costed])

    def reached(self, p: Array) -> Array:
        """Which costed actions the thresholds allow."""
        if self.thresholds is None:
            return np.ones((len(p), len(self.costed)), dtype=bool)
        # The last column is for actions that name no class.
        certain = np.column_stack((p, np.ones(len(p))))
        return certain[:, self.named] >= self.thresholds

    def _cost(self, codes: Array, column: Array) -> Array:
        """What a costed action costs under the true class of each row."""
        if self.costs is None:
            return (column != codes).astype(np.float64)
        row = () if self.costs.ndim == 2 else (np.arange(len(codes)),)
        return self.costs[(*row, codes, column)]

    @property
    def _base(self) -> float:
        return 1.0 if self.costs is None else 0.0

    def _relative(self, p: Array, where: slice) -> Array:
        """The risk of each costed action, less `_base`."""
        if self.costs is None:
            return -p
        return p @ self.costs if self.costs.ndim == 2 else np.einsum("nk,nka->na", p, self.costs[where])

    def _best(self, p: Array, where: slice) -> Array:
        risk = self._relative(p, where)
        if self.thresholds is not None:
            risk = np.where(self.reached(p), risk, np.inf)
        best = risk.argmin(axis=1)
        # Abstaining wins ties; without a cost it is left for rows where nothing else is allowed.
        limit = np.inf if self.reject_cost is None else self.reject_cost - self._base
        best[limit <= risk[np.arange(len(p)), best]] = len(self.costed)
        return best


def codes_of(y: Any, posterior: Posterior) -> Array:
    """The code of each true label among the classes of the posterior."""
    found, codes = encode_labels(y, len(posterior))
    position = {plain(label): k for k, label in enumerate(posterior.classes)}
    places = np.array([position.get(plain(label), -1) for label in found])
    if places.min() < 0:
        unseen = int(np.argmin(places))
        row = int(np.argmax(codes == unseen))
        raise LabelError(f"Label {shown(found[unseen])} of row {row} is not among the classes {list(position)}.")
    return places[codes]


def _no_cost_of_abstaining(row: int) -> ParameterError:
    return ParameterError(
        f"Row {row} reaches no threshold, so the decision abstains, and abstaining has no cost: give reject_cost=."
    )
