"""Ordinal regression with a ridge penalty, whose strength minimises the log-loss of held-out rows.

The form is that of adjacent categories: its class scores are linear in the columns, so that pools, exports and
coefficients treat it as any linear model. Its probabilities hardly differ from those of proportional odds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from ..arrays import Array
from ..data import LabelledRows
from ..engine import parallel_map
from ..errors import DegenerateDataError, Setting
from ..folds import TunedRule
from ..losses import OrdinalLoss
from ..objective import ElasticNet, column_units
from ..ordinal import OrderedClasses
from ..ordinal_objective import OrdinalObjective
from ..rules import OrdinalRule
from ..solvers.ordinal import minimise_ordinal
from .logistic_cv import strengths

if TYPE_CHECKING:
    from .tuning import Training

# Strengths of the path; the held-out loss is flat near its minimum.
N_STRENGTHS: Final = 10


def ordinal_ridge_rule(training: Training, tol: float) -> TunedRule:
    """Ordinal regression with the strength of the smallest held-out log-loss, to a relative suboptimality."""
    if training.order is None:
        raise DegenerateDataError("the classes have no order. Set ", Setting("classes_order"), ".")
    data, held, order = training.data, training.held, training.order
    objective = _objective(data, order, training.n_jobs)
    alphas = strengths(objective, N_STRENGTHS, None)

    def posteriors_of(split: int) -> Array:
        part = objective.part(np.flatnonzero(held.seen[:, split]))
        if not (part.class_weights > 0).all():
            raise DegenerateDataError("a class has no weight in a training fold.")
        block, theta, found = data.rows.take(held.rows[held.fits == split]), np.zeros(objective.shape), []
        for alpha in alphas:
            penalised = cast(OrdinalObjective, replace(part, penalty=ElasticNet(alpha)))
            theta = minimise_ordinal(penalised, theta, tol, 200).theta
            found.append(_rule(penalised, theta, order).scores(block))
        return np.stack(found)

    posteriors = held.gathered(parallel_map(posteriors_of, list(range(held.n_splits)), training.n_jobs))
    losses = [training.loss(own) for own in posteriors]
    best = int(np.argmin(losses))
    final = objective if training.whole is data else _objective(training.whole, order, training.n_jobs)
    final = replace(final, penalty=ElasticNet(alphas[best]))
    rule = _rule(final, minimise_ordinal(final, np.zeros(final.shape), tol, 200).theta, order)
    return TunedRule(rule.of_classes(), {"alpha": float(alphas[best])}, losses[best], posteriors[best])


def _objective(data: LabelledRows, order: Array, n_jobs: int | None) -> OrdinalObjective:
    penalty, loss = ElasticNet(1.0), OrdinalLoss(OrderedClasses("adjacent"), np.argsort(order))
    found = OrdinalObjective(data, loss, penalty, penalty_scale=column_units(data, penalty, n_jobs), n_jobs=n_jobs)
    return replace(found, standard=found.standardised)


def _rule(objective: OrdinalObjective, theta: Array, order: Array) -> OrdinalRule:
    centre = objective.standardised.centre
    return OrdinalRule(centre, *objective.coefficients(theta), order, len(order), "adjacent", "logit")
