"""Averages of predicted probabilities and of their slopes, with derivatives in the parameters of the model.

A logistic regression has the probabilities ``P_k = exp(z'theta_k) / sum_l exp(z'theta_l)``, with z the coded columns
and an intercept, and theta_r = 0 for the reference class. The delta method needs the derivative of an average, which is
the average of derivatives: ``dP_k / dtheta_l = P_k (1[k = l] - P_l) z``. Rows are read in blocks, so memory does not
grow with their number.

Those of an ordinal regression have derivatives in its slopes and thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import as_rows, dense_rows
from ..errors import ParameterError, Setting
from ..estimators.base import PosteriorClassifier
from ..estimators.logistic_inference import LogisticInference
from ..estimators.ordinal_inference import OrdinalInference
from ..ordinal import OrderedClasses
from ..ordinal_objective import OrdinalParameters
from .rows import Changes, Population


@dataclass(frozen=True)
class Averages:
    """Averages of each group and class, and their derivatives in the parameters.

    ``values`` are (groups, classes) and ``jacobian`` (groups, classes, parameters), without parameters where the model
    has no covariance.
    """

    values: Array
    jacobian: Array

    def __sub__(self, other: Averages) -> Averages:
        return Averages(self.values - other.values, self.jacobian - other.jacobian)

    def __truediv__(self, divisor: float) -> Averages:
        return Averages(self.values / divisor, self.jacobian / divisor)

    def logarithm(self) -> Averages:
        """The logarithms of the averages."""
        return Averages(np.log(self.values), self.jacobian / self.values[:, :, None])

    def log_odds(self) -> Averages:
        """The log-odds of the averages."""
        slope = 1 / (self.values * (1 - self.values))
        return Averages(np.log(self.values) - np.log1p(-self.values), self.jacobian * slope[:, :, None])


class ProbabilityModel:
    """The probabilities of a fitted model, without derivatives in its parameters."""

    def __init__(self, model: PosteriorClassifier) -> None:
        self.model = model
        self.n_classes = len(model.classes_)
        self.covariance = np.zeros((0, 0))

    def predictions(self, population: Population, changes: Changes) -> Averages:
        """The average predictions of the rows with some columns changed."""
        totals = np.zeros((len(population.labels), self.n_classes))
        for part, rows in population.blocks(changes):
            weighted = np.asarray(self.model.predict_proba(rows)) * population.weights[part, None]
            np.add.at(totals, population.groups[part], weighted)
        values = totals / population.group_weights[:, None]
        return Averages(values, np.zeros((*values.shape, 0)))


class ParametricModel(ProbabilityModel):
    """The probabilities of a model with a covariance of its parameters; averages have derivatives in these."""

    notes: list[str]
    untestable: str  #: why there are no tests; empty if there are

    def _give(self, covariance: Array, size: int) -> None:
        """Take a given covariance of the parameters, as of a model from a file."""
        if covariance.shape != (size, size) or not np.isfinite(covariance).all():
            expected = f" must be a finite matrix of shape ({size}, {size}), a row for each "
            found = f"coefficient of summary(); got shape {covariance.shape}."
            raise ParameterError(Setting("covariance"), expected + found)
        self.covariance, self.notes, self.untestable = covariance, ["covariance: as given"], ""


class LogisticModel(ParametricModel):
    """A logistic regression: ``theta`` (outcomes, terms) against a reference class, with the covariance of theta."""

    def __init__(self, model: LogisticInference, covariance: Any, clusters: Any) -> None:
        super().__init__(model)
        self.has_intercept = bool(model.fit_intercept)
        self.n_estimated = len(model._column_names())
        self._slopes: list[Averages] | None = None
        if is_matrix(covariance):
            self._take(model, np.asarray(covariance, dtype=np.float64))
            return
        choice = model._covariance_choice(covariance, clusters, None)
        reported = model._reported(None)
        found = model._estimates(reported, choice)
        self.outcomes = reported.outcomes
        self.theta = found.values.reshape(len(self.outcomes), -1)
        self.covariance, self.notes = found.covariance, found.notes
        self.untestable = model._untestable(choice)

    def _take(self, model: LogisticInference, covariance: Array) -> None:
        """The coefficients of the model with a given covariance, as of a model from a file."""
        labels, coef, intercept = model.log_odds()
        self.outcomes = [model.classes_.tolist().index(label) for label in labels.tolist()]
        own = coef[:, : self.n_estimated]
        self.theta = np.column_stack((intercept, own)) if self.has_intercept else own
        self._give(covariance, self.theta.size)

    def predictions(self, population: Population, changes: Changes) -> Averages:
        found = _Sums(self, population)
        for part, Z, P in self._blocks(population, changes):
            slopes = P[:, :, None] * (np.eye(self.n_classes)[:, self.outcomes] - P[:, None, self.outcomes])
            found.add(part, P, slopes, Z)
        return found.averages()

    def slope(self, population: Population, column: int) -> Averages:
        """The average slope of a column that enters the log-odds as it is."""
        if self._slopes is None:
            self._slopes = self._all_slopes(population)
        return self._slopes[column]

    def _all_slopes(self, population: Population) -> list[Averages]:
        """``sum_l M_kl theta_lj`` for every column j: one pass for all.

        ``M_kl`` is the average of ``P_k (1[k = l] - P_l)``, whose derivative in score m is that of
        ``P_k ((1[k = m] - P_m) (1[k = l] - P_l) - P_l (1[l = m] - P_m))``.
        """
        K, own = self.n_classes, self.outcomes
        unit = np.eye(K)[:, own]
        found = _Sums(self, population, K * len(own))
        for part, Z, P in self._blocks(population, {}):
            M = P[:, :, None] * (unit - P[:, None, own])
            outer = (unit - P[:, None, own])[:, :, None, :] * M[:, :, :, None]
            inner = P[:, :, None, None] * M[:, own, :][:, None, :, :]
            found.add(part, M.reshape(len(P), -1), (outer - inner).reshape(len(P), K * len(own), -1), Z)
        averages = found.averages()
        G, n_terms = len(population.labels), self.theta.shape[1]
        M = averages.values.reshape(G, K, len(own))
        derivative = averages.jacobian.reshape(G, K, len(own), -1)
        slopes = []
        for j in range(int(self.has_intercept), n_terms):
            jacobian = np.einsum("gklq,l->gkq", derivative, self.theta[:, j])
            jacobian.reshape(G, K, len(own), n_terms)[..., j] += M
            slopes.append(Averages(M @ self.theta[:, j], jacobian))
        return slopes

    def _blocks(self, population: Population, changes: Changes) -> Iterator[tuple[slice, Array, Array]]:
        """Coded columns without the intercept, and probabilities, block by block."""
        first = int(self.has_intercept)
        for part, rows in population.blocks(changes):
            coded = as_rows(self.model._rows(rows))
            whole = dense_rows(coded.block(0, coded.n_rows)).astype(np.float64, copy=False)
            Z = whole[:, : self.n_estimated]
            scores = np.zeros((len(Z), self.n_classes))
            scores[:, self.outcomes] = Z @ self.theta[:, first:].T
            if first:
                scores[:, self.outcomes] += self.theta[:, 0]
            if whole.shape[1] > self.n_estimated:  # offsets of a formula, for two classes
                scores[:, -1] += whole[:, self.n_estimated :].sum(axis=1)
            yield part, Z, softmax(scores)


def softmax(scores: Array) -> Array:
    """Probabilities of rows of scores. Reductions over columns take a quarter of the time of those over short rows."""
    powers = np.exp(scores - reduce(np.maximum, scores.T)[:, None])
    return np.asarray(powers / reduce(np.add, powers.T)[:, None])


class _Sums:
    """Weighted sums over rows by group: of values, and of the products of their slopes with the coded columns."""

    def __init__(self, model: LogisticModel, population: Population, n_values: int | None = None) -> None:
        self.population, self.n_groups = population, len(population.labels)
        count = model.n_classes if n_values is None else n_values
        self.values = np.zeros((self.n_groups, count))
        self.products = np.zeros((self.n_groups, count * len(model.outcomes), model.theta.shape[1]))
        self.first = int(model.has_intercept)

    def add(self, part: slice, values: Array, slopes: Array, Z: Array) -> None:
        """Add a block of rows: values (n, V), their slopes in the scores of the outcomes (n, V, L), columns (n, p)."""
        weight, groups = self.population.weights[part], self.population.groups[part]
        weighted = (weight[:, None, None] * slopes).reshape(len(Z), -1)
        if self.n_groups == 1:
            self._add_group(0, weight @ values, weighted, Z)
            return
        order = np.argsort(groups, kind="stable")
        present, starts = np.unique(groups[order], return_index=True)
        for g, own in zip(present, np.split(order, starts[1:]), strict=True):
            self._add_group(g, weight[own] @ values[own], weighted[own], Z[own])

    def _add_group(self, g: int, values: Array, weighted: Array, Z: Array) -> None:
        self.values[g] += values
        if self.first:
            self.products[g, :, 0] += weighted.sum(axis=0)
        self.products[g, :, self.first :] += weighted.T @ Z

    def averages(self) -> Averages:
        total = self.population.group_weights
        values = self.values / total[:, None]
        jacobian = self.products.reshape(self.n_groups, values.shape[1], -1) / total[:, None, None]
        return Averages(values, jacobian)


def probability_model(model: PosteriorClassifier, covariance: Any, clusters: Any) -> ProbabilityModel:
    """The model with the covariance of its parameters, if it has one.

    A model from a file has no training rows, and thus only a covariance that is given.
    """
    is_given = is_matrix(covariance)
    can_compute = covariance is not None or clusters is not None or getattr(model, "_has_training_rows", False)
    if isinstance(model, OrdinalInference):
        is_smooth = model.alpha * model.l1_ratio == 0
        return OrdinalModel(model, covariance, clusters) if can_compute and is_smooth else ProbabilityModel(model)
    if isinstance(model, LogisticInference) and not model.alpha * model.l1_ratio > 0:
        if can_compute:
            return LogisticModel(model, covariance, clusters)
    elif is_given:
        wrong = f" is for logistic and ordinal regression, got {type(model).__name__}."
        raise ParameterError(Setting("covariance"), wrong)
    return ProbabilityModel(model)


def is_matrix(covariance: Any) -> bool:
    """Whether a covariance is given, and not the name of one."""
    return covariance is not None and not isinstance(covariance, str)


class OrdinalModel(ParametricModel):
    """An ordinal regression with the covariance of its slopes and thresholds, in the units of the columns."""

    def __init__(self, model: OrdinalInference, covariance: Any, clusters: Any) -> None:
        super().__init__(model)
        places = len(model._column_names()), len(model.thresholds_), tuple(model.nonparallel_.tolist())
        self.parameters, self.ordered = OrdinalParameters(*places), OrderedClasses(model.rule_.form, model.rule_.link)
        if is_matrix(covariance):
            self._give(np.asarray(covariance, dtype=np.float64), self.parameters.n_parameters)
            return
        choice = model._covariance_choice(covariance, clusters, None)
        found = model._estimates(model._reported(), choice)
        self.covariance, self.notes = found.covariance, found.notes
        self.untestable = model._untestable(choice)

    def predictions(self, population: Population, changes: Changes) -> Averages:
        n_groups, n_parameters = len(population.labels), self.parameters.n_parameters
        totals = np.zeros((n_groups, self.n_classes))
        slopes = np.zeros((n_groups, self.n_classes, n_parameters))
        for part, rows in population.blocks(changes):
            coded = as_rows(self.model._rows(rows))
            X = dense_rows(coded.block(0, coded.n_rows)).astype(np.float64, copy=False)
            weight, groups = population.weights[part], population.groups[part]
            scores, posterior = self.model.rule_.ordered_scores(X), np.asarray(self.model.predict_proba(coded))
            np.add.at(totals, groups, posterior * weight[:, None])
            for rank, k in enumerate(self.model.rule_.order.tolist()):
                own = self._gradients(X, scores, posterior[:, k], rank)
                for g in np.unique(groups):
                    slopes[g, k] += weight[groups == g] @ own[groups == g]
        divisor = population.group_weights
        return Averages(totals / divisor[:, None], slopes / divisor[:, None, None])

    def _gradients(self, X: Array, scores: Array, probability: Array, rank: int) -> Array:
        """The derivatives of the probability of a class of each row in slopes and thresholds."""
        found = self.ordered.derivatives(scores, np.full(len(X), rank), second=False)
        with np.errstate(invalid="ignore"):
            by_score = np.where(probability[:, None] > 0, -probability[:, None] * found.slopes, 0.0)
        by_function = -by_score if self.parameters.nonparallel else -by_score.sum(axis=1, keepdims=True)
        own = X[:, : self.parameters.n_columns]
        return np.hstack((self.parameters.collected(by_function[:, :, None] * own[:, None, :]), by_score))
