"""Average probabilities of an ordinal regression, with derivatives in its slopes and thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..data import as_rows, dense_rows
from ..estimators.ordinal_inference import OrdinalInference
from ..ordinal import OrderedClasses
from ..ordinal_objective import OrdinalParameters
from .averages import Averages, ParametricModel, is_matrix
from .rows import Changes, Population


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
