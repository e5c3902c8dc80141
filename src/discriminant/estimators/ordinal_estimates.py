"""Estimates of an ordinal regression and their covariance, in the terms that are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from ..arrays import Array, Label
from ..data import dense_rows
from ..inference.likelihood import ORDINAL_HEADINGS
from ..inference.ml_existence import LogisticSeparation, detect_separation
from ..objective import Objective
from ..ordinal_objective import OrdinalObjective, OrdinalParameters
from ..results import plain
from ..solvers.choice import Minimise
from ..solvers.ordinal import minimise_ordinal
from .formula_fit import n_offset_columns
from .likelihood_inference import LikelihoodInference
from .logistic_estimates import CovarianceChoice, Estimates, Reported

# The groups of reported terms.
SLOPES, THRESHOLDS = ORDINAL_HEADINGS
# A coefficient of a recession direction below this share of the largest is rounding.
DIRECTION_ROUNDING: Final = 1e-7


@dataclass(frozen=True)
class OrdinalTerms(Reported):
    """Slopes and thresholds as linear functions of the parameters, plus constants."""

    objective: OrdinalObjective
    #: Names of the thresholds, such as "low|medium".
    cuts: tuple[str, ...]

    @cached_property
    def groups(self) -> list[str]:
        """The group of each term."""
        return [SLOPES] * self.objective.n_columns + [THRESHOLDS] * len(self.cuts)

    @cached_property
    def labels(self) -> list[str]:
        """The name of each term."""
        return term_labels(self.objective.parameters, self.names, self.cuts)

    @cached_property
    def matrix(self) -> Array:
        objective, places = self.objective, self.objective.parameters
        found, standard = np.diag(1 / objective.parameter_scale), objective.standardised
        slopes = places.slopes if len(places.slopes) > 1 else np.tile(places.slopes, (places.n_scores, 1))
        for k, own in enumerate(slopes):
            found[places.n_slopes + k, own] = standard.centre / standard.scale
        return found

    @property
    def constants(self) -> Array:
        """What is added to the linear functions."""
        return np.concatenate((np.zeros(self.objective.n_columns), self.objective.null_thresholds))


def term_labels(parameters: OrdinalParameters, names: Sequence[str], cuts: Sequence[str]) -> list[str]:
    """The names of slopes and thresholds; slopes of nonparallel columns are named after their threshold, too."""
    found = np.empty(parameters.n_slopes, dtype=object)
    for cut, places in zip(cuts, parameters.slopes, strict=False):
        found[places] = [f"{cut}:{own}" if j in parameters.nonparallel else own for j, own in enumerate(names)]
    return [*found.tolist(), *cuts]


class OrdinalEstimates(LikelihoodInference):
    """The estimates of an ordinal regression and their covariance."""

    classes_order_: Array
    coef_: Array
    thresholds_: Array
    nonparallel_: Array
    n_crossed_: int
    link: str
    form: str
    early_stopping = False
    fit_intercept = True
    reference = None
    _training: OrdinalObjective
    _remaining = None

    @property
    def _cuts(self) -> tuple[str, ...]:
        """The names of the thresholds."""
        labels = [str(plain(label)) for label in self.classes_order_]
        return tuple(f"{low}|{high}" for low, high in pairwise(labels))

    def parameters_of_rule(self, names: Sequence[str]) -> list[tuple[str, str, float]]:
        """The group, name and value of each slope and threshold, without training rows.

        Parameters
        ----------
        names : sequence of str
            Names of the columns.

        Returns
        -------
        list of (str, str, float)
            First the slopes, then the thresholds.
        """
        places = OrdinalParameters(len(names), len(self.thresholds_), tuple(self.nonparallel_.tolist()))
        slopes = np.empty(places.n_slopes)
        slopes[places.slopes] = self.coef_[:, : len(names)]
        values = [*slopes.tolist(), *self.thresholds_.tolist()]
        groups = [SLOPES] * places.n_slopes + [THRESHOLDS] * places.n_scores
        return list(zip(groups, term_labels(places, names, self._cuts), values, strict=True))

    def _reported(self, reference: Label | None = None) -> OrdinalTerms:  # noqa: ARG002
        objective = self._rows_again()
        return OrdinalTerms(objective, [], 0, self._column_names(), self._cuts)  # type: ignore[arg-type]

    def _terms(self, reported: Reported) -> list[tuple[str, str]]:
        assert isinstance(reported, OrdinalTerms)
        return list(zip(reported.groups, reported.labels, strict=True))

    def _minimiser(self, objective: Objective) -> Minimise:  # noqa: ARG002
        return minimise_ordinal

    def _estimates(self, reported: Reported, choice: CovarianceChoice) -> Estimates:
        assert isinstance(reported, OrdinalTerms)
        problem, theta = self._estimated
        matrix = reported.matrix[:, problem.places]
        whole, note = self._covariance(choice)
        notes = [note]
        if choice.has_importance:
            notes.append("weights: importances, without AIC, BIC and likelihood-ratio tests")
        if n_offset_columns(self):
            notes.append(f"offset: {' + '.join(self.formula_.offsets)}")
        if problem.aliased:
            notes.append(self._alias_note(reported.objective.data, self.aliased_))
        if self.separation_ is not None:
            notes.append(f"separation: {self.separation_.kind}; some estimates are infinite, the others are limits")
        with np.errstate(over="ignore", invalid="ignore"):
            values = matrix @ theta.ravel() + reported.constants
            return Estimates(values, matrix @ whole @ matrix.T, notes)

    def _infinite(self, reported: Reported) -> Array:
        if self.separation_ is None or self.separation_.direction is None:
            return np.zeros(len(reported.matrix))
        steps = reported.matrix @ self.separation_.direction.ravel()
        terms = np.abs(reported.matrix) @ np.abs(self.separation_.direction.ravel())
        return np.asarray(np.sign(steps) * (np.abs(steps) > DIRECTION_ROUNDING * np.maximum(terms, 1e-300)))

    def _aliased(self, reported: Reported) -> Array:
        aliased = np.zeros(len(reported.matrix), dtype=bool)
        aliased[list(self._estimated[0].aliased)] = True
        return aliased


def ordinal_separation(objective: OrdinalObjective, theta: Array) -> LogisticSeparation | None:
    """The separation of ordered classes in a sample of the rows: no margin of a row decreases, and some increase.

    Margins are those of `OrderedClasses.margins`; they make it the separation of two classes without intercept.
    ``direction`` and ``infinite`` have the standardised slopes and thresholds. ``theta`` is where the solver stopped.
    """
    data = objective.data.sample()
    counted = slice(None) if data.weight is None else data.weight > 0
    X, codes = dense_rows(data.rows.block(0, data.n_rows))[counted], data.codes[counted]
    designs, rows = objective.designs(X, codes)
    sides = np.arange(len(designs)) % 2
    reached = np.concatenate((theta[0, : objective.n_columns], objective.coefficients(theta)[1], [0.0]))
    start = np.vstack((np.zeros_like(reached), reached))
    designs_by_side = np.where(sides[:, None] == 1, designs, -designs)
    found = detect_separation(designs_by_side, sides, 2, fit_intercept=False, start=start)
    if found.kind == "none" or found.direction is None:
        return None
    n_slopes, direction, infinite = objective.n_columns, found.direction[:, :-1], found.infinite[:, :-1]
    columns = np.unique(objective.parameters.slope_columns[infinite[0, :n_slopes] != 0])
    is_open = np.bincount(rows, designs @ direction[0] <= DIRECTION_ROUNDING, len(codes)) == 0
    return LogisticSeparation(found.kind, direction, columns, infinite, is_open)
