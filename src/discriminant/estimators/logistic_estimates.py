"""Estimates of a logistic regression and their covariance, in the parameters that the training rows identify."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Label
from ..data import TrainingData, check_choice, check_integer, check_number, dense_rows
from ..errors import DegenerateDataError, LabelError, NotReadyError, ParameterError, Setting
from ..evaluation.intervals import check_level
from ..inference.estimable import EstimableObjective
from ..inference.likelihood import (
    Coefficient,
    IntervalKind,
    Summary,
    coefficient,
    effective_parameters,
    information,
    inverse,
    null_log_likelihood,
    posterior_covariance,
)
from ..inference.sandwich import (
    CLUSTERED_KINDS,
    SandwichKind,
    effective_class_rows,
    has_constant_weights,
    n_counted,
    sandwich_covariance,
)
from ..moments.collinearity import collinearity
from ..objective import ElasticNet, Objective, penalty_scale
from ..results import capitalised, number, plain, several
from ..solvers.choice import EXACT_TOLERANCE, Minimise, named_solver
from .base import PosteriorClassifier
from .coefficients import column_names, reference_levels, reference_notes
from .formula_fit import n_offset_columns

# Aliased columns listed with their equations: of 500 columns of 40 rows, 461 are aliased.
MAX_ALIAS_EQUATIONS: Final = 5
# With fewer rows of the rarest class for each column, estimates are biased away from 0.
MIN_EVENTS_PER_COLUMN: Final = 10
# With fewer effective rows of the rarest class (in all, for each column), tests with importance weights exceed their
# level: HC3 with 3 columns has a type I error of 7 % with 19 rows, and of 9 % with 11 rows.
MIN_EFFECTIVE_ROWS: Final = 25
MIN_EFFECTIVE_ROWS_PER_COLUMN: Final = 3
# Relative difference of the objective that shows that the training rows were changed.
UNCHANGED_TOLERANCE: Final = 1e-6
# Within this distance of the maximum log-likelihood, estimates are within a tenth of a standard error of the optimum.
OPTIMUM_TOLERANCE: Final = 0.005
# With more parameters a fit is checked for aliased columns and separation only if it did not converge: the Hessian
# is too expensive.
MAX_CHECKED_PARAMETERS: Final = 600

# The note on the intervals of ridge coefficients.
CREDIBLE_NOTE: Final = (
    "intervals: credible intervals under the normal prior implied by the ridge penalty. "
    "Confidence intervals and tests require maximum likelihood or Firth's penalty"
)

CovarianceKind = Literal["model", "robust", "clustered"] | SandwichKind
WeightKind = Literal["frequency", "importance"]
# The kind of sandwich estimator of each name.
SANDWICHES: Final[dict[str, SandwichKind]] = {
    "robust": "HC0",
    "clustered": "CR1",
    **{kind: kind for kind in get_args(SandwichKind)},
}


class Estimates(NamedTuple):
    """Estimates of the reported terms, their covariance, and notes."""

    values: Array
    covariance: Array
    notes: list[str]


class CovarianceChoice(NamedTuple):
    """The kind of covariance, given or by default."""

    kind: str
    clusters: Any  #: labels of the clusters of the rows
    has_importance: bool


@dataclass(frozen=True)
class Reported:
    """The reported terms, as linear functions of the parameters: log-odds of outcomes against a reference."""

    objective: Objective
    outcomes: list[int]
    reference: int
    names: list[str]

    @cached_property
    def matrix(self) -> Array:
        """(outcomes x terms, parameters): the intercept first, then the columns."""
        standard, contrasts = self.objective.standardised, self.objective.contrasts
        terms = np.diag(1 / standard.scale)
        if self.objective.fit_intercept:
            first = np.append(-standard.centre / standard.scale, 1.0)
            terms = np.vstack((first, np.pad(terms, ((0, 0), (0, 1)))))
        if contrasts.shape == (1, 1):
            return terms if self.reference == 0 else -terms
        return np.concatenate([np.kron(contrasts[:, k] - contrasts[:, self.reference], terms) for k in self.outcomes])

    @property
    def constants(self) -> Array:
        """What is added to the linear functions."""
        return np.zeros(len(self.matrix))


class LogisticEstimates(PosteriorClassifier):
    """The estimates of a logistic regression and their covariance.

    They need the training rows, which the model references until it is pickled.
    """

    solution_: Any
    separation_: Any
    firth_: Any
    aliased_: tuple[int, ...]
    classes_: Array
    class_weight: Any
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    firth: bool = False
    early_stopping: bool
    standardize: bool
    tol: float | None
    max_iter: int
    reference: Any
    _training: Objective
    _summary_type: type[Summary] = Summary

    def _check_parameters(self) -> None:
        self._penalty()
        if self.tol is not None:
            check_number("tol", self.tol, 0, 1, open_below=True)
        check_integer("max_iter", self.max_iter, 1)

    def _penalty(self) -> ElasticNet:
        return ElasticNet(self.alpha, self.l1_ratio)

    def _units(self, data: TrainingData, penalty: ElasticNet, std: Array | None = None) -> Array | None:
        """The factors of coefficients in the penalty; ``std`` are the columns' standard deviations, if known."""
        return penalty_scale(data, penalty, self.n_jobs, std) if self.standardize else None

    @cached_property
    def _estimated(self) -> tuple[EstimableObjective, Array]:
        """The objective in the identified parameters, and their estimates."""
        objective, theta = self._rows_again(), self.solution_.theta
        if self.alpha == 0 and objective.n_parameters > MAX_CHECKED_PARAMETERS:  # not checked by the fit
            problem = EstimableObjective.of(objective)
        else:
            kept = (j for j in range(objective.shape[1]) if j not in self.aliased_)
            problem = EstimableObjective(objective, tuple(kept))
        return problem, problem.nearest(theta)

    @property
    def _has_training_rows(self) -> bool:
        """Whether the model was fitted in this process and not read from a file."""
        return hasattr(self, "_training")

    def _rows_again(self) -> Objective:
        check_is_fitted(self, "rule_")
        if not self._has_training_rows:
            raise NotReadyError("This needs the training rows, which model files do not contain. Fit the model again.")
        objective = self._training
        if not (self.firth or self.early_stopping or objective.penalty.l1):
            reached = self.solution_
            differs = abs(objective.value_and_gradient(reached.theta)[0] - reached.objective)
            allowed = max(UNCHANGED_TOLERANCE, 10 * reached.suboptimality)
            if not differs <= allowed * max(abs(reached.objective), UNCHANGED_TOLERANCE):
                raise NotReadyError("The training rows were changed after the fit. Fit again, or fit a copy of them.")
            self._complete(objective)
        return objective

    def _unfinished(self) -> str:
        """A note on the suboptimality of the fit; empty if it converged, or if there is no optimum.

        Needs a call of `_rows_again` before, which reads all rows.
        """
        if self.firth or self.separation_ is not None:
            return ""
        reached, objective = self.solution_, self._training
        total = objective.total_weight
        if reached.converged and total * abs(reached.objective) * reached.suboptimality <= OPTIMUM_TOLERANCE:
            return ""
        tol = min(self.tol or EXACT_TOLERANCE, EXACT_TOLERANCE)
        best = self._minimiser(objective)(objective, reached.theta, tol, 500)
        short = total * (objective.value_and_gradient(reached.theta)[0] - best.objective)
        if short <= OPTIMUM_TOLERANCE:
            return ""
        return f"Not converged ({reached.reason}): the log-likelihood is {number(short)} below its maximum."

    def _complete(self, objective: Objective) -> None:
        """Continue a fit to the precision that inference needs."""

    def _minimiser(self, objective: Objective) -> Minimise:
        """The solver that continues a fit."""
        return named_solver("auto", objective)

    def _refuse_unfinished(self, what: str) -> None:
        self._rows_again()
        if shortfall := self._unfinished():
            raise NotReadyError(f"{shortfall} {what} need convergence. Raise ", Setting("max_iter"), ".")

    def _refuse_l1(self) -> None:
        if self.alpha * self.l1_ratio > 0:
            reason = "Standard errors and p-values are not defined after selection by an L1 penalty. Use "
            raise ParameterError(reason, Setting("alpha", 0), " or ", Setting("l1_ratio", 0), ".")

    def _refuse_penalty(self, what: str) -> None:
        self._refuse_l1()
        if self.alpha > 0:
            reason = f"{what} are not defined with a ridge penalty. Use the credible intervals of summary(), or "
            raise ParameterError(reason, Setting("alpha", 0), ".")

    def _require_likelihood(self, what: str, with_firth: bool = False) -> None:
        """Raise an error unless the estimates maximise a likelihood."""
        check_is_fitted(self, "rule_")
        self._refuse_penalty(what)
        if self.firth and not with_firth:
            raise ParameterError(f"{what} need maximum likelihood. Use ", Setting("firth", False), ".")
        if self._has_importance_weights():
            reason = "class_weight is set" if self.class_weight is not None else "the weights are not integers"
            raise ParameterError(f"{what} need frequency weights, but {reason}. Use the Wald tests of summary().")
        self._refuse_unfinished(what)

    @property
    def _n_estimated(self) -> int:
        """The number of columns with an estimated coefficient, without the offsets of a formula."""
        return self.n_features_in_ - n_offset_columns(self)

    def _column_names(self) -> list[str]:
        return column_names(self)[: self._n_estimated]

    def _reported(self, reference: Label | None) -> Reported:
        r = self._reference_code(reference)
        outcomes = [k for k in range(len(self.classes_)) if k != r]
        names = ["intercept"] * bool(self.fit_intercept) + self._column_names()
        return Reported(self._rows_again(), outcomes, r, names)

    def _reference_code(self, reference: Label | None) -> int:
        wanted = self.reference if reference is None else reference
        if wanted is None:
            return 0 if len(self.classes_) == 2 else len(self.classes_) - 1
        found = np.flatnonzero(self.classes_ == wanted)
        if found.size == 0:
            raise LabelError(f"Unknown reference class {wanted!r}. Classes: {self.classes_.tolist()}.")
        return int(found[0])

    def _terms(self, reported: Reported) -> list[tuple[Any, str]]:
        """Outcome and name of each reported term."""
        return [(plain(self.classes_[k]), name) for k in reported.outcomes for name in reported.names]

    def _log_likelihood(self) -> float:
        if self.firth:
            return float(self.firth_.log_likelihood)
        if self._remaining is not None:
            return self._remaining._log_likelihood()
        objective, theta = self._training, self.solution_.theta
        if self.early_stopping or objective.penalty.l1:
            return -objective.total_weight * objective.mean_loss(theta)
        penalty = 0.5 * float((objective.ridge * theta**2).sum())
        return -objective.total_weight * (self.solution_.objective - penalty)  # without another pass

    def _covariance_choice(self, kind: Any, clusters: ArrayLike | None, weights: Any) -> CovarianceChoice:
        """The checked choice; default: CR1 with clusters, HC3 with importance weights, HC2 with class weights alone.

        HC3 is conservative with class weights: a binary column of 400 rows, 40 of the rarer class, had a type I error
        of 3.2 %. With survey weights HC2 had up to 7 %.
        """
        check_choice("covariance", kind, (None, "model", *SANDWICHES))
        important = self._has_importance_weights(weights)
        if self.firth:
            if kind not in (None, "model") or clusters is not None or important:
                reason = "Firth's method supports covariance 'model' and frequency weights only. Use "
                raise ParameterError(reason, Setting("firth", False), ".")
            return CovarianceChoice("model", None, False)
        if self.alpha > 0 and (kind not in (None, "model") or clusters is not None or important):
            reason = "Credible intervals with a ridge penalty need frequency weights and no sandwich covariance. Use "
            raise ParameterError(reason, Setting("covariance", "model"), ", or ", Setting("alpha", 0), ".")
        if kind is None:
            kind = "CR1" if clusters is not None else "model"
            if important and clusters is None:
                kind = self._importance_kind()
        clustered = SANDWICHES.get(kind) in CLUSTERED_KINDS
        if clustered and clusters is None and not self._training.data.n_clusters:
            raise ParameterError(Setting("covariance", kind), " needs clusters. Set ", Setting("clusters"), ".")
        if clusters is not None and not clustered:
            conflict = (Setting("clusters"), " have no effect with ", Setting("covariance", kind), ". Use ")
            raise ParameterError(*conflict, Setting("covariance", "CR1"), ".")
        if kind == "model" and important:
            need = (Setting("covariance", "model"), " needs frequency weights. Use ")
            raise ParameterError(*need, Setting("covariance", self._importance_kind()), " for importance weights.")
        return CovarianceChoice(SANDWICHES.get(kind, "model"), clusters, important)

    def _importance_kind(self) -> SandwichKind:
        """The default covariance with importance weights."""
        return "HC2" if has_constant_weights(self._training.data) else "HC3"

    def _has_importance_weights(self, weights: WeightKind | None = None) -> bool:
        """Whether weights are importances: as given; default: with class weights or fractions."""
        check_choice("weights", weights, (None, "frequency", "importance"))
        if self.class_weight is not None:
            if weights == "frequency":
                conflict = (Setting("weights", weights), " contradicts ", Setting("class_weight"))
                raise ParameterError(*conflict, ". Leave out one of them.")
            return True
        return not self._training.data.has_whole_weights if weights is None else weights == "importance"

    def _untestable(self, choice: CovarianceChoice) -> str:
        """Why tests with importance weights would exceed their level; empty if they do not."""
        if not choice.has_importance:
            return ""
        n_columns = len(self._estimated[0].columns) - bool(self.fit_intercept)
        needed = max(MIN_EFFECTIVE_ROWS, MIN_EFFECTIVE_ROWS_PER_COLUMN * n_columns)
        fewest = float(effective_class_rows(self._training.data).min())
        if fewest >= needed:
            return ""
        return (
            "no tests or intervals with importance weights. Effective sample size of the rarest class: "
            f"{number(fewest, 3)}, needed for {several(n_columns, 'column')}: {needed}"
        )

    def _refuse_untestable(self, choice: CovarianceChoice) -> None:
        if untestable := self._untestable(choice):
            reason = f"{capitalised(untestable)}. Leave out "
            raise DegenerateDataError(reason, Setting("class_weight"), " or columns.")

    def _estimates(self, reported: Reported, choice: CovarianceChoice) -> Estimates:
        """Estimates of the reported terms, their covariance, and notes."""
        if self.firth:
            return self._firth_estimates(reported)
        problem, theta = self._estimated
        data, matrix = reported.objective.data, reported.matrix[:, problem.places]
        whole, note = self._covariance(choice)
        notes = [note]
        if choice.has_importance:
            notes.append("weights: importances, without AIC, BIC and likelihood-ratio tests")
        if n_offset_columns(self):
            notes.append(f"offset: {' + '.join(self.formula_.offsets)}")
        if problem.aliased:
            notes.append(self._alias_note(data, problem.aliased))
        if self.separation_ is not None:
            notes.append(f"separation: {self.separation_.kind}; some estimates are infinite, the others are limits")
        fewest = float(reported.objective.class_weights.min())
        n_columns, is_plain = problem.objective.n_columns, self.alpha == 0 and not choice.has_importance
        if is_plain and fewest < MIN_EVENTS_PER_COLUMN * n_columns:
            notes.append(
                f"rows of the rarest class: {round(fewest):,} for {several(n_columns, 'column')}; estimates may be "
                "biased away from 0. Firth's penalty reduces the bias"
            )
        if self._remaining is not None:
            values, covariance = self._remaining_estimates(reported, choice)
            return Estimates(values, covariance, notes)
        with np.errstate(over="ignore", invalid="ignore"):
            return Estimates(matrix @ theta.ravel(), matrix @ whole @ matrix.T, notes)

    def _covariance(self, choice: CovarianceChoice) -> tuple[Array, str]:
        """The covariance of the estimable parameters, and a note of its kind."""
        problem, theta = self._estimated
        if choice.kind != "model":
            data = problem.objective.data
            data = data if choice.clusters is None else data.in_clusters(choice.clusters)
            grouped = replace(problem, objective=replace(problem.objective, data=data))
            kind: Any = choice.kind
            whole = sandwich_covariance(grouped, theta, kind, choice.has_importance)
            return whole, f"covariance: sandwich {kind}{', by cluster' if kind in CLUSTERED_KINDS else ''}"
        if self.alpha > 0:
            return posterior_covariance(problem, theta), CREDIBLE_NOTE
        return self._model_covariance(), "covariance: inverse of the information matrix"

    def _remaining_estimates(self, reported: Reported, choice: CovarianceChoice) -> tuple[Array, Array]:
        """Estimates and covariance under separation, from the rows that are not separated."""
        remaining, left = self._remaining, ~self.separation_.rows
        clusters, data = choice.clusters, self._training.data.gather()
        if choice.kind in CLUSTERED_KINDS:
            labels: Any = data.cluster if clusters is None else np.asarray(clusters)
            clusters = labels[left]
        own = remaining._reported(self.classes_[reported.reference])
        values, covariance, _ = remaining._estimates(own, choice._replace(clusters=clusters))
        order = np.append(np.arange(self.fit_intercept), self.fit_intercept + np.argsort(remaining._order))
        return values[order], covariance[np.ix_(order, order)]

    def _alias_note(self, data: TrainingData, aliased: tuple[int, ...]) -> str:
        some = data.sample()  # of a dataset its sample
        found = collinearity(some.rows, self._column_names(), some.weight)
        equations = [found.equations.get(j, self._columns([j])) for j in aliased[:MAX_ALIAS_EQUATIONS]]
        more = len(aliased) - len(equations)
        return f"aliased columns: {'; '.join(equations)}{f'; and {more:,} more' if more else ''}"

    def _model_covariance(self) -> Array:
        """The inverse information of the estimable parameters."""
        with np.errstate(over="ignore", invalid="ignore"):  # separated classes have hardly any information
            return inverse(information(*self._estimated))

    @property
    def _intercept_first(self) -> list[int]:
        """Positions of the reported terms among coefficients with the intercept last."""
        p = self._n_estimated
        return [p] * bool(self.fit_intercept) + list(range(p))

    def _infinite(self, reported: Reported) -> Array:
        """The sign of each reported term that diverges, 0 for the others."""
        if self.separation_ is None:
            return np.zeros(len(reported.outcomes) * len(reported.names))
        if len(self.classes_) == 2:
            return (1 if reported.reference == 0 else -1) * self.separation_.infinite[0, self._intercept_first]
        direction = self.separation_.direction
        steps = [direction[k] - direction[reported.reference] for k in reported.outcomes]
        signs = [np.sign(step) * (np.abs(step) > 1e-7 * np.abs(step).max(initial=1e-300)) for step in steps]
        return np.concatenate([sign[self._intercept_first] for sign in signs])

    def _aliased(self, reported: Reported) -> Array:
        """Which of the reported terms are not estimable."""
        aliased = np.zeros((len(reported.outcomes), len(reported.names)), dtype=bool)
        if not self.firth:
            aliased[:, self.fit_intercept + np.array(self._estimated[0].aliased, dtype=int)] = True
        return aliased.ravel()

    @cached_property
    def _remaining(self) -> Any:
        """For two separated classes: the fit to the rows that are not separated, with the finite limits."""
        found = self.separation_
        if found is None or len(self.classes_) > 2:
            return None
        data, left = self._rows_again().data.gather(), ~found.rows
        if len(np.unique(data.codes[left])) < 2:
            return None
        X = dense_rows(data.rows.block(0, data.n_rows))[left]
        columns = np.argsort(found.infinite[0][: X.shape[1]] != 0, kind="stable")
        weight, offset = (None if own is None else own[left] for own in (data.weight, data.offset))
        model: Any = clone(self).set_params(class_weight=None)  # included in the weights
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:, columns], data.classes[data.codes[left]], weight, offset)
        model._order = columns  # the infinite ones last
        return model

    @property
    def _interval(self) -> IntervalKind:
        return "credible" if self.alpha else "confidence"

    def _deviations(self) -> list[float]:
        """The standard deviations of the columns of the reported terms, which they repeat."""
        raise NotImplementedError

    def _free_parameters(self, reported: Reported) -> float:
        """The number of estimated parameters; with a ridge the effective number."""
        if self.firth or not self.alpha:
            return int((~self._aliased(reported)).sum())
        return effective_parameters(*self._estimated)

    def _wald_summary(self, reported: Reported, choice: CovarianceChoice, level: float) -> Summary:
        """The summary with Wald tests; the title has the kind of estimates."""
        check_level(level)
        found, unfinished = self._estimates(reported, choice), self._unfinished()
        rows, notes = self._wald_rows(reported, found, level, bool(unfinished)), found.notes[bool(unfinished) :]
        if untestable := self._untestable(choice):
            rows = [replace(row, z=math.nan, p_value=math.nan, low=math.nan, high=math.nan) for row in rows]
            notes.append(untestable)
        kind = "Firth's penalised" if self.firth else "ridge" if self.alpha else "maximum-likelihood"
        objective = reported.objective
        return self._summary_type(
            rows=rows,
            n_rows=n_counted(objective.data) if choice.has_importance else objective.total_weight,
            n_parameters=self._free_parameters(reported),
            log_likelihood=self._log_likelihood(),
            null_log_likelihood=null_log_likelihood(objective),
            level=level,
            title="not converged" if unfinished else kind,
            notes=[*notes, *reference_notes(reference_levels(self))],
            unfinished=unfinished,
            likelihood="penalised" if self.firth else "weighted" if choice.has_importance else "maximum",
            interval=self._interval,
        )

    def _wald_rows(
        self, reported: Reported, found: Estimates, level: float, unfinished: bool = False
    ) -> list[Coefficient]:
        """The reported terms with Wald tests and intervals."""
        errors = np.sqrt(np.maximum(np.diagonal(found.covariance), 0.0))
        estimates = found.values.copy()
        if unfinished:
            errors = np.full_like(errors, np.nan)
        infinite, aliased = self._infinite(reported), self._aliased(reported)
        estimates[infinite != 0], errors[infinite != 0] = infinite[infinite != 0] * np.inf, np.inf
        estimates[aliased] = errors[aliased] = np.nan
        terms = zip(self._terms(reported), estimates.tolist(), errors.tolist(), cycle(self._deviations()), strict=False)
        return [coefficient(term, estimate, error, level, own, self._interval) for term, estimate, error, own in terms]

    def _firth_terms(self, reported: Reported) -> Array:
        """The reported terms as linear functions of Firth's coefficients."""
        K = len(self.classes_)
        # Row k of `to_class`: the log-odds of class k against the class the fit refers to.
        to_class = np.delete(np.eye(K), 0 if K == 2 else K - 1, axis=1)
        terms = np.eye(self._n_estimated + 1)[self._intercept_first]
        return np.concatenate([np.kron(to_class[k] - to_class[reported.reference], terms) for k in reported.outcomes])

    def _firth_estimates(self, reported: Reported) -> Estimates:
        fit, matrix = self.firth_, self._firth_terms(reported)
        note = "covariance: inverse of the information matrix, of Firth's penalised likelihood"
        return Estimates(matrix @ fit.coef.ravel(), matrix @ fit.covariance @ matrix.T, [note])
