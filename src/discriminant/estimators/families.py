"""The families of models of `AutoClassifier`: each is tuned on the splits of `Training`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..basis import Basis, b_splines, clipped
from ..data import as_rows
from ..engine import parallel_map
from ..errors import DegenerateDataError
from ..folds import TunedRule
from ..objective import ElasticNet, Objective
from ..rules import ExpandedRule, log_softmax
from ..solvers.choice import named_solver
from ..solvers.columns import Columns
from ..solvers.coordinate import alpha_grid, regularisation_path
from ..solvers.ridge_cv import RidgeChoice
from .logistic_cv import strengths
from .naive_bayes import naive_bayes_rule
from .pairs import pairs_rule
from .regularised import ALL, fitted_to, regularised_rule
from .svm import support_vector_rule
from .tuning import FOLD_TOL, ExpandedRows, Training, indicators, linear_rule, logistic_objective

# Columns with fewer distinct values get no spline; the others have knots at this many quantiles.
MIN_SPLINE_VALUES: Final = 9
N_KNOTS: Final = 6
# Products use columns clipped at this many standard deviations from the mean, if there are no more columns than this.
MAX_DEVIATION: Final = 4.0
MAX_PRODUCT_COLUMNS: Final = 40
# Maximum number of spline values, and of columns whose covariance is decomposed in every split.
MAX_SPLINE_VALUES: Final = 5e7
MAX_COVARIANCE_COLUMNS: Final = 1_500
LASSO_TOL: Final = 1e-3
N_LASSO_STRENGTHS: Final = 15
# With more parameters x rows x fits, every second strength is skipped.
MAX_DENSE_PATH_WORK: Final = 5e7
# The lasso is left out if its loss on the first split exceeds that of the best family by this factor: it would have no
# weight, and takes longer than all others.
MAX_LOSS_RATIO: Final = 1.25
# Weaker penalties than the best of the first split that the other splits try: they take longest.
MAX_WEAKER_LASSOS: Final = 2


def ridge_choice(training: Training) -> tuple[Objective, RidgeChoice]:
    """The objective of a ridge on the columns, and its fits at the best strength."""
    objective = logistic_objective(training.data, 0.0, training.n_jobs)
    alphas = strengths(objective, None, None)
    if objective.n_parameters * training.data.n_rows * training.held.n_splits > MAX_DENSE_PATH_WORK:
        alphas = alphas[::2]
    return objective, RidgeChoice.among(objective, training.held, alphas, FOLD_TOL, 2)


def ridge_rule(training: Training, basis: Basis | None = None) -> TunedRule:
    """Ridge logistic regression, of the functions of a basis if it is given."""
    data = training.data
    if basis is not None:
        data = replace(data, rows=as_rows(basis.expand(training.values), is_indicator=indicators(data.rows, basis)))
    known = training.ridge if basis is None else None
    objective, found = known or ridge_choice(replace(training, data=data))
    alpha, theta = found.best.alpha, found.best.theta[-1]
    if training.whole is not training.data:
        rows = training.whole.rows
        whole = replace(training.whole, rows=rows if basis is None else ExpandedRows(rows, basis))
        objective = replace(logistic_objective(whole, 0.0, training.n_jobs), penalty=ElasticNet(alpha))
        theta = named_solver("auto", objective)(objective, np.zeros(objective.shape), FOLD_TOL, 200).theta
    rule: Any = linear_rule(objective, theta)
    if basis is not None:
        rule = ExpandedRule(basis, rule)
    scores = found.best.scores if len(data.classes) > 2 else found.best.scores * [0.0, 1.0]
    posteriors = log_softmax(scores)
    return TunedRule(rule, {"alpha": alpha}, training.loss(posteriors), posteriors)


def lasso_rule(training: Training) -> TunedRule:
    """Logistic regression with an L1 penalty."""
    data, held = training.data, training.held
    objective = logistic_objective(data, 1.0, training.n_jobs)
    alphas = alpha_grid(objective, N_LASSO_STRENGTHS, 1e-3 if data.n_rows > data.rows.n_columns else 1e-2)
    columns = Columns.of(objective)

    def posteriors_of(split: int) -> Array:
        part = objective.part(np.flatnonzero(held.seen[:, split]))
        block = data.rows.take(held.rows[held.fits == split])
        path = regularisation_path(part, alphas, LASSO_TOL, 100, columns=columns)
        return np.stack([log_softmax(linear_rule(part, solution.theta).scores(block)) for solution in path])

    first = posteriors_of(0)
    reached = [training.loss_of_split(0, own) for own in first]
    if training.best is not None:
        best_loss = training.loss_of_split(0, training.best.log_posteriors[held.fits == 0])
        if min(reached) > MAX_LOSS_RATIO * best_loss:
            raise DegenerateDataError(
                f"stopped early: its log-loss is {min(reached):.3g} on the first split, that of the best family "
                f"{best_loss:.3g}."
            )
    alphas, first = (part[: int(np.argmin(reached)) + MAX_WEAKER_LASSOS + 1] for part in (alphas, first))
    others = parallel_map(posteriors_of, list(range(1, held.n_splits)), training.n_jobs)
    posteriors = held.gathered([first, *others])
    losses = [training.loss(own) for own in posteriors]
    best = int(np.argmin(losses))
    whole = objective if training.whole is data else logistic_objective(training.whole, 1.0, training.n_jobs)
    theta = regularisation_path(whole, alphas[: best + 1], LASSO_TOL, 100)[-1].theta
    return TunedRule(linear_rule(whole, theta), {"alpha": float(alphas[best])}, losses[best], posteriors[best])


def ordinal_rule(training: Training) -> TunedRule:
    """Ordinal regression of classes with an order."""
    from .ordinal_ridge import ordinal_ridge_rule  # most classes have no order

    return ordinal_ridge_rule(training, FOLD_TOL)


def rda_rule(training: Training) -> TunedRule:
    """Regularised discriminant analysis."""
    if min(training.data.rows.shape) > MAX_COVARIANCE_COLUMNS:
        raise DegenerateDataError("too many columns.")
    found = regularised_rule(training.data, training.held, n_jobs=training.n_jobs)
    return found if training.whole is training.data else fitted_to(training.whole, found, ALL, training.n_jobs)


def spline_basis(values: Array, n_knots: int) -> Basis:
    """All columns, and B-splines of those with many values."""
    if values.size * (n_knots + 2) > MAX_SPLINE_VALUES:
        raise DegenerateDataError("too many columns.")
    functions = []
    for j, column in enumerate(values.T):
        if len(np.unique(column)) >= MIN_SPLINE_VALUES:
            knots = np.unique(np.quantile(column, np.linspace(0, 1, n_knots)))
            functions += [b_splines(j, knots)] * (len(knots) > 2)
    if not functions:
        raise DegenerateDataError("too few distinct values in every column.")
    p = values.shape[1]
    ends = p + np.cumsum([function.n_outputs for function in functions])
    # The splines of a column sum to 1: one is redundant.
    outputs = np.delete(np.arange(ends[-1]), ends - 1)
    return Basis(p, np.arange(p), functions, outputs[:, None])


def product_basis(values: Array) -> Basis:
    """All columns, their squares and products."""
    p = values.shape[1]
    if p > MAX_PRODUCT_COLUMNS:
        raise DegenerateDataError(f"more than {MAX_PRODUCT_COLUMNS} columns.")
    centre, scale = values.mean(axis=0), values.std(axis=0)
    functions = [clipped(j, centre[j], scale[j] or 1.0, MAX_DEVIATION) for j in range(p)]
    outputs = np.concatenate(([[j, -1] for j in range(p)], p + np.column_stack(np.triu_indices(p))))
    basis = Basis(p, np.arange(p), functions, outputs)
    distinct = np.unique(basis.expand(values), axis=1, return_index=True)[1]
    return replace(basis, outputs=outputs[np.sort(distinct)])


# The fit of each family.
FAMILIES: dict[str, Callable[[Training], TunedRule]] = {
    "ridge": ridge_rule,
    "ordinal": ordinal_rule,
    "rda": rda_rule,
    "naive-bayes": lambda training: naive_bayes_rule(training.data, training.held, training.n_jobs),
    "svm": lambda training: support_vector_rule(training.data, training.held, training.n_jobs),
    "splines": lambda training: ridge_rule(training, spline_basis(training.values, N_KNOTS)),
    "products": lambda training: ridge_rule(training, product_basis(training.values)),
    "pairs": pairs_rule,
    "lasso": lasso_rule,  # last, because it is left out if others are much better
}
# Families with linear scores.
LINEAR = ("ridge", "ordinal", "svm", "lasso")
# Families that use all columns of sparse rows.
FOR_SPARSE = ("ridge", "ordinal", "svm")
