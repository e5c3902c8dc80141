"""Where a model's error comes from: too few rows, too simple a model, or a solver that stopped early."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..data.parameters import check_number
from ..estimators.base import MomentClassifier
from .curves import LearningCurve, learning_curve
from .models import named_models
from .resampled import Estimate
from .table import Table, labelled_table
from .text import aligned, jsonable

Array = np.ndarray[Any, Any]

#: The solver's answer is compared with one that is this much closer to the optimum.
_TIGHTER, _TIGHTEST = 1e-3, 1e-14


@dataclass(frozen=True)
class Optimisation:
    """How far the solver stayed from the optimum, and what that changes.

    Attributes
    ----------
    excess : float or None
        Estimated distance of the objective from its minimum, relative to the objective. None: unknown.
    duality_gap : float or None
        A proven bound on the distance, where the problem has a dual.
    changed : float or None
        Share of training rows (of their weight) whose predicted class changes if the solver goes on.
    error : float or None
        Error on the training rows minus that after the solver has gone on.
    words : str
    """

    excess: float | None
    duality_gap: float | None
    changed: float | None
    error: float | None
    words: str


@dataclass(frozen=True, eq=False)
class ErrorSources:
    """The error of a model on new rows, taken apart.

    ``total = bayes_error + approximation + estimation``; what the solver adds is part of the latter two and stands
    beside them.

    Attributes
    ----------
    model : str
    total : Estimate
        Error on held-out rows at the largest size of the learning curve.
    estimation : Estimate
        What more rows could remove: the total minus the learning curve's limit.
    approximation : Estimate or None
        What a model of this kind cannot learn from any number of rows: the limit minus the Bayes error. None where the
        Bayes error is not known.
    bayes_error : float or None
        The error of the best rule there is.
    optimisation : Optimisation
    curve : LearningCurve
    """

    model: str
    total: Estimate
    estimation: Estimate
    approximation: Estimate | None
    bayes_error: float | None
    optimisation: Optimisation
    curve: LearningCurve

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text."""
        return jsonable(
            {
                "model": self.model,
                "rows": int(self.curve.sizes[-1]),
                "total": _plain(self.total),
                "estimation": _plain(self.estimation),
                "approximation": None if self.approximation is None else _plain(self.approximation),
                "bayes_error": self.bayes_error,
                "optimisation": vars(self.optimisation),
                "learning_curve": self.curve.to_dict(),
            }
        )

    def __str__(self) -> str:
        n = int(self.curve.sizes[-1])
        limits = "no rule of this kind can avoid it: the limit minus the Bayes error"
        if self.approximation is None:
            limits = "the Bayes error is not known (give bayes_error)"
        rows = [
            [f"error of {self.model}", "size", "what it is"],
            ["total", str(self.total), f"on held-out rows, learned from {n} rows"],
            ["estimation", str(self.estimation), "more rows could remove it: distance from the curve's limit"],
            ["approximation", _optional(self.approximation), limits],
            ["Bayes error", _optional(self.bayes_error), "no rule at all can avoid it"],
            ["optimisation", _optional(self.optimisation.error), self.optimisation.words],
        ]
        return "\n".join(aligned(rows, names=3))

    __repr__ = __str__


def error_sources(
    model: Any,
    X: Any,
    y: Any,
    bayes_error: Any = None,
    sizes: Any = None,
    folds: Any = 5,
    repeats: int = 1,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> ErrorSources:
    """The error of a model split into estimation, approximation and optimisation, side by side.

    Estimation is the distance of the error on held-out rows from the limit of the learning curve, approximation the
    distance of that limit from the Bayes error, optimisation what the solver left undone on the training rows.

    Parameters
    ----------
    model : classifier
    X, y, sizes, folds, repeats, groups, sample_weight, random_state, progress, n_jobs
        As in `learning_curve`.
    bayes_error : float or an object with an ``error``, optional
        The error of the best possible rule, where it is known: that of `discriminant.theory.bayes_error`, say.

    Returns
    -------
    ErrorSources

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)
    >>> X = rng.normal(size=(1000, 3)) + 1.0 * y[:, None]
    >>> found = error_sources(LinearDiscriminantAnalysis(), X, y, bayes_error=0.1932)
    >>> found.optimisation.words
    'closed form: nothing is left to the solver'
    """
    named = named_models(model)
    known = _checked_bayes_error(bayes_error)
    curve = learning_curve(
        named, X, y, sizes, folds, repeats, groups, sample_weight,
        random_state=random_state, progress=progress, n_jobs=n_jobs,
    )  # fmt: skip
    approximation = None if known is None else replace(curve.limit, value=curve.limit.value - known)
    (name, estimator), table = next(iter(named.items())), labelled_table(X, y, sample_weight)
    return ErrorSources(
        name, curve.validation(), curve.estimation, approximation, known, _optimisation(estimator, table), curve
    )


def _checked_bayes_error(given: Any) -> float | None:
    if given is None:
        return None
    value = getattr(given, "error", given)
    check_number("bayes_error", value, 0, 1)
    return float(value)


def _optimisation(model: Any, table: Table) -> Optimisation:
    if isinstance(model, MomentClassifier):
        return Optimisation(0.0, 0.0, 0.0, 0.0, "closed form: nothing is left to the solver")
    fitted = _fitted(model, table)
    solution = getattr(fitted, "solution_", None)
    if solution is None:
        return Optimisation(None, None, None, None, "unknown: the model does not say how far its solver came")
    gap = getattr(solution, "duality_gap", None)
    words = f"objective {solution.excess:.1e} above its minimum (relative)"
    words += "" if gap is None else f", by {gap:.1e} at most"
    if "tol" not in model.get_params():
        return Optimisation(float(solution.excess), gap, None, None, words)
    changed, error = _left_undone(model, fitted, table)
    words += f"; going on changes the class of {100 * changed:.2g} % of the training rows"
    return Optimisation(float(solution.excess), gap, changed, error, words)


def _fitted(model: Any, table: Table) -> Any:
    everything = np.arange(table.n_rows)
    return clone(model).fit(table.X, table.labels(everything), **table.fitting(everything))


def _left_undone(model: Any, fitted: Any, table: Table) -> tuple[float, float]:
    """Share of the training rows whose class changes if the solver goes on, and the error this takes away."""
    given = model.get_params()
    closer = {"tol": max(_TIGHTER * given["tol"], _TIGHTEST)}
    if "max_iter" in given:
        closer["max_iter"] = 10 * given["max_iter"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = _fitted(clone(model).set_params(**closer), table)
    everything = np.arange(table.n_rows)
    truth, weight = table.labels(everything), table.weights_of(everything)
    before, after = fitted.predict(table.X), best.predict(table.X)
    changed, error = before != after, (before != truth) * 1.0 - (after != truth)
    return float(np.average(changed, weights=weight)), float(np.average(error, weights=weight))


def _plain(estimate: Estimate) -> dict[str, float]:
    low, high = estimate.interval()
    return {"value": estimate.value, "low": low, "high": high}


def _optional(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
