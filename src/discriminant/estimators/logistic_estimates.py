"""What inference about a fitted logistic regression rests on: its estimates and their covariance, read again from the
training rows, in the parameters that these identify (`inference.estimable`), and what it is refused for."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import LabelledRows, check_choice, dense_rows
from ..errors import DegenerateDataError, LabelError, NotReadyError, ParameterError, Setting
from ..inference.estimable import EstimableObjective
from ..inference.likelihood import information, inverse, posterior_covariance
from ..inference.sandwich import CLUSTERED_KINDS, SandwichKind, effective_class_rows, sandwich_covariance
from ..moments.covariance import collinearity
from ..objective import Objective
from ..results import number, plain, several
from ..solvers.smooth import named_solver
from .base import PosteriorClassifier, n_offset_columns
from .coefficients import column_names

#: Aliased columns that are listed with their equations: of 500 columns of 40 rows, 461 are aliased.
MAX_ALIAS_EQUATIONS: Final = 5
#: With fewer rows of the rarest class for each column, estimates are biased away from 0.
MIN_EVENTS_PER_COLUMN: Final = 10
#: With fewer effective rows of the rarest class, and with fewer for each column, tests with importance weights do not
#: hold their level: with 19 rows and 3 columns HC3 has a type I error of 7 %, with 11 rows of 9 %.
MIN_EFFECTIVE_ROWS: Final = 25
MIN_EFFECTIVE_ROWS_PER_COLUMN: Final = 3
#: The objective of rows that have not changed is the same within this share.
UNCHANGED_TOLERANCE: Final = 1e-6
#: A log-likelihood so near to its maximum is that of estimates within a tenth of a standard error of the optimum.
OPTIMUM_TOLERANCE: Final = 0.005
#: With more parameters a fit that shows no sign of aliased columns or separation is not checked for them: the
#: Hessian costs too much.
MAX_CHECKED_PARAMETERS: Final = 600

# What a table of ridge coefficients reports about its intervals.
CREDIBLE_NOTE: Final = (
    "ridge estimates are shrunk towards 0. Intervals are credible intervals under the normal prior that the penalty "
    "implies, its strength taken as known; they cover a large effect less often than their level. Confidence intervals "
    "and tests need maximum likelihood or Firth's penalty"
)

CovarianceKind = Literal["model", "robust", "clustered"] | SandwichKind
WeightKind = Literal["frequency", "importance"]
#: The sandwich that each name stands for.
SANDWICHES: Final[dict[str, SandwichKind]] = {
    "robust": "HC0",
    "clustered": "CR1",
    **{kind: kind for kind in get_args(SandwichKind)},
}


class Estimates(NamedTuple):
    """The reported terms: their estimates, the covariance of these, and what to know about them."""

    values: Array
    covariance: Array
    notes: list[str]


class CovarianceChoice(NamedTuple):
    """A covariance as it was asked for, or by default."""

    kind: str
    #: Labels of the clusters of the rows, where they were given.
    clusters: Any
    has_importance: bool


@dataclass(frozen=True)
class Reported:
    """The terms one reports, as linear functions of the parameters: log-odds of outcomes against a reference."""

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


class LogisticEstimates(PosteriorClassifier):
    """The estimates of a logistic regression and their covariance.

    They come from the training rows, which a model keeps a reference to until it is pickled.
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
    tol: float
    reference: Any
    _training: Objective

    @cached_property
    def _estimated(self) -> tuple[EstimableObjective, Array]:
        """The objective in the parameters that the training rows identify, and the estimates of these."""
        objective, theta = self._rows_again(), self.solution_.theta
        if self.alpha == 0 and objective.n_parameters > MAX_CHECKED_PARAMETERS:  # the fit did not look for aliases
            problem = EstimableObjective.of(objective)
        else:
            kept = (j for j in range(objective.shape[1]) if j not in self.aliased_)
            problem = EstimableObjective(objective, tuple(kept))
        return problem, problem.nearest(theta)

    def _rows_again(self) -> Objective:
        check_is_fitted(self, "rule_")
        if not hasattr(self, "_training"):
            raise NotReadyError("This needs the training rows, which a stored model does not carry. Fit it again.")
        objective = self._training
        if not (self.firth or self.early_stopping or objective.penalty.l1):
            reached = self.solution_
            differs = abs(objective.value_and_gradient(reached.theta)[0] - reached.objective)
            allowed = max(UNCHANGED_TOLERANCE, 10 * reached.excess)
            if not differs <= allowed * max(abs(reached.objective), UNCHANGED_TOLERANCE):
                raise NotReadyError("The training rows were changed after the fit: fit again, or fit a copy of them.")
        return objective

    def _unfinished(self) -> str:
        """How far the fit stopped short of its optimum; nothing where it did not, or where there is no optimum.

        The rows have been looked at (`_rows_again`): each look reads all of them.
        """
        if self.firth or self.separation_ is not None:
            return ""
        reached, objective = self.solution_, self._training
        total = objective.total_weight
        if reached.converged and total * abs(reached.objective) * reached.excess <= OPTIMUM_TOLERANCE:
            return ""
        best = named_solver("auto", objective)(objective, reached.theta, min(self.tol, 1e-10), 500)
        short = total * (objective.value_and_gradient(reached.theta)[0] - best.objective)
        if short <= OPTIMUM_TOLERANCE:
            return ""
        penalised = " less the penalty" if self.alpha else ""
        return (
            f"The fit stopped ({reached.reason}) before its optimum: the log-likelihood{penalised} is {number(short)} "
            "below its maximum."
        )

    def _refuse_unfinished(self, what: str) -> None:
        self._rows_again()
        shortfall = self._unfinished()
        if shortfall:
            more = (Setting("max_iter"), ", or use ", Setting("solver", "auto"), ".")
            raise NotReadyError(f"{shortfall} {what} are those of the optimum. Raise ", *more)

    def _refuse_l1(self) -> None:
        if self.alpha * self.l1_ratio > 0:
            reason = "Standard errors and p-values are not defined after selection by an L1 penalty: "
            advice = ("Refit the chosen columns with ", Setting("alpha", 0), " on other rows, or use ")
            raise ParameterError(reason, "the same rows chose the terms. ", *advice, Setting("l1_ratio", 0), ".")

    def _refuse_ridge(self, what: str) -> None:
        if self.alpha > 0:
            raise ParameterError(f"{what} are not defined for penalised estimates. Use ", Setting("alpha", 0), ".")

    def _refuse_penalty(self, what: str) -> None:
        self._refuse_ridge(what)
        if self.firth:
            raise ParameterError(f"{what} need maximum likelihood. Use ", Setting("firth", False), ".")

    @property
    def _n_estimated(self) -> int:
        """The number of columns that have an estimated coefficient: not those of offsets in a formula."""
        return self.n_features_in_ - n_offset_columns(self)

    def _column_names(self) -> list[str]:
        return column_names(self)[: self._n_estimated]

    def _reported(self, reference: Any) -> Reported:
        r = self._reference_code(reference)
        outcomes = [k for k in range(len(self.classes_)) if k != r]
        names = ["intercept"] * bool(self.fit_intercept) + self._column_names()
        return Reported(self._rows_again(), outcomes, r, names)

    def _reference_code(self, reference: Any) -> int:
        wanted = self.reference if reference is None else reference
        if wanted is None:
            return 0 if len(self.classes_) == 2 else len(self.classes_) - 1
        found = np.flatnonzero(self.classes_ == wanted)
        if found.size == 0:
            raise LabelError(f"The reference {wanted!r} is not a class. Classes: {self.classes_.tolist()}.")
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
        return -objective.total_weight * (self.solution_.objective - penalty)  # without reading the rows once more

    def _covariance_choice(self, kind: Any, clusters: Any, weights: Any) -> CovarianceChoice:
        """What is meant, checked: clusters ask for CR1, importance weights for HC3."""
        check_choice("covariance", kind, (None, "model", *SANDWICHES))
        important = self._has_importance_weights(weights)
        if self.firth:
            if kind not in (None, "model") or clusters is not None or important:
                self._refuse_firth(important)
            return CovarianceChoice("model", None, False)
        if self.alpha > 0 and (kind not in (None, "model") or clusters is not None or important):
            raise ParameterError(
                "A ridge estimate is biased, which a sandwich covariance ignores. Confidence intervals need ",
                Setting("alpha", 0),
                "; credible intervals of a ridge need ",
                Setting("covariance", "model"),
                " and weights that count rows (no class_weight).",
            )
        if kind is None:
            kind = "CR1" if clusters is not None else "HC3" if important else "model"
        clustered = SANDWICHES.get(kind) in CLUSTERED_KINDS
        if clustered and clusters is None and not self._training.data.n_clusters:
            raise ParameterError(f"covariance={kind!r} needs ", Setting("clusters"), ": the cluster of each row.")
        if clusters is not None and not clustered:
            instead = Setting("covariance", "CR1")
            raise ParameterError(f"clusters are given, but covariance={kind!r} ignores them. Use ", instead, ".")
        if kind == "model" and important:
            raise ParameterError(
                "covariance='model' needs weights that count rows, but these are importances. Use ",
                Setting("covariance", "HC3"), ".",
            )  # fmt: skip
        return CovarianceChoice(SANDWICHES.get(kind, "model"), clusters, important)

    def _has_importance_weights(self, weights: WeightKind | None = None) -> bool:
        """Whether weights are importances: by request, or where they are not whole numbers, or those of classes."""
        check_choice("weights", weights, (None, "frequency", "importance"))
        if self.class_weight is not None:
            if weights == "frequency":
                refused = "weights='frequency' counts rows, but class_weight multiplies their weights. Leave out "
                raise ParameterError(refused, Setting("class_weight"), " or ", Setting("weights"), ".")
            return True
        return not self._training.data.has_whole_weights if weights is None else weights == "importance"

    def _refuse_firth(self, important: bool) -> None:
        instead = (" For robust covariances use ", Setting("firth", False), ".")
        if important:
            raise ParameterError(
                "Firth's likelihood needs weights that count rows, but these are importances.", *instead
            )
        raise ParameterError("Firth's estimates have the covariance 'model' only.", *instead)

    def _refuse_importance(self, what: str, *remedy: Any) -> None:
        """Refuse what is a matter of the likelihood where weights do not count rows."""
        if self._has_importance_weights():
            reason = "class_weight is set" if self.class_weight is not None else "weights are not whole numbers"
            raise ParameterError(
                f"{what} need weights that count rows, but {reason}, so they are importances. Use the Wald tests of "
                "summary(), whose covariance is a sandwich", *remedy, ".",
            )  # fmt: skip

    def _untestable(self, choice: CovarianceChoice) -> str:
        """Why tests and intervals with importance weights would not hold their level; empty where they do."""
        if not choice.has_importance:
            return ""
        n_columns = len(self._estimated[0].columns) - bool(self.fit_intercept)
        needed = max(MIN_EFFECTIVE_ROWS, MIN_EFFECTIVE_ROWS_PER_COLUMN * n_columns)
        fewest = float(effective_class_rows(self._training.data).min())
        if fewest >= needed:
            return ""
        return (
            f"{number(fewest, 3)} effective rows of the rarest class for {several(n_columns, 'column')}: no tests and "
            f"intervals, which need {needed} to hold their level with importance weights"
        )

    def _refuse_untestable(self, choice: CovarianceChoice) -> None:
        if untestable := self._untestable(choice):
            raise DegenerateDataError(f"{untestable}. Fit without ", Setting("class_weight"), " or with fewer columns.")

    def _estimates(self, reported: Reported, choice: CovarianceChoice) -> Estimates:
        """Estimates and covariance of the reported terms, and what to know about them."""
        if self.firth:
            return self._firth_estimates(reported)
        problem, theta = self._estimated
        data, matrix = reported.objective.data, reported.matrix[:, problem.places]
        whole, note = self._covariance(choice)
        notes = [note]
        if choice.has_importance:
            reason = "class_weight is set" if self.class_weight is not None else "not whole numbers"
            reason = reason if self.class_weight is not None or not data.has_whole_weights else "by request"
            notes.append(f"weights are importances ({reason}): no AIC, BIC and likelihood-ratio tests")
        if n_offset_columns(self):
            notes.append(f"known part of the log-odds: {' + '.join(self.formula_.offsets)}")
        if problem.aliased:
            notes.append(self._alias_note(data, problem.aliased))
        if self.separation_ is not None:
            notes.append(f"{self.separation_.kind} separation: infinite estimates; the others are their limits")
        fewest = float(reported.objective.class_weights.min())
        n_columns, is_plain = problem.objective.n_columns, self.alpha == 0 and not choice.has_importance
        if is_plain and fewest < MIN_EVENTS_PER_COLUMN * n_columns:
            notes.append(
                f"{several(round(fewest), 'row')} of the rarest class for {several(n_columns, 'column')}: estimates "
                "may be biased away from 0; Firth's likelihood reduces the bias, and AutoClassifier predicts better"
            )
        if self._remaining is not None:
            values, covariance = self._remaining_estimates(reported, choice)
            return Estimates(values, covariance, notes)
        with np.errstate(over="ignore", invalid="ignore"):
            return Estimates(matrix @ theta.ravel(), matrix @ whole @ matrix.T, notes)

    def _covariance(self, choice: CovarianceChoice) -> tuple[Array, str]:
        """The covariance of the estimable parameters, and its name."""
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
        """Estimates and covariance under separation: those of the rows that are not separated."""
        remaining, left = self._remaining, ~self.separation_.rows
        clusters, data = choice.clusters, self._training.data
        if choice.kind in CLUSTERED_KINDS:
            labels: Any = data.cluster if clusters is None else np.asarray(clusters)
            clusters = labels[left]
        own = remaining._reported(self.classes_[reported.reference])
        values, covariance, _ = remaining._estimates(own, choice._replace(clusters=clusters))
        order = np.append(np.arange(self.fit_intercept), self.fit_intercept + np.argsort(remaining._order))
        return values[order], covariance[np.ix_(order, order)]

    def _alias_note(self, data: LabelledRows, aliased: tuple[int, ...]) -> str:
        some = data.every(1)  # of a dataset its sample
        found = collinearity(some.rows, self._column_names(), some.weight)
        equations = [found.equations.get(j, self._columns([j])) for j in aliased[:MAX_ALIAS_EQUATIONS]]
        more = len(aliased) - len(equations)
        return f"aliased, left out: {'; '.join(equations)}{f'; and {more:,} more' if more else ''}"

    def _model_covariance(self) -> Array:
        """The inverse information of the estimable parameters."""
        with np.errstate(over="ignore", invalid="ignore"):  # separated classes have next to no information left
            return inverse(information(*self._estimated))

    @property
    def _intercept_first(self) -> list[int]:
        """Where the reported terms stand among coefficients whose intercept comes last."""
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
        """For two classes under separation: the fit to the rows that are not separated, which has the finite limits."""
        found = self.separation_
        if found is None or len(self.classes_) > 2:
            return None
        data, left = self._rows_again().data, ~found.rows
        if len(np.unique(data.codes[left])) < 2:
            return None
        X = dense_rows(data.rows.block(0, data.n_rows))[left]
        columns = np.argsort(found.infinite[0][: X.shape[1]] != 0, kind="stable")
        weight, offset = (None if own is None else own[left] for own in (data.weight, data.offset))
        model: Any = clone(self).set_params(class_weight=None)  # its weights have it already
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:, columns], data.classes[data.codes[left]], weight, offset)
        model._order = columns  # the infinite ones last
        return model

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
