"""What the winner has learned: coefficients and odds, with intervals where the model has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DiscriminantError
from .data_part import column_moments
from .drawing import Drawing, drawing
from .material import Material
from .numbers import decimal, quoted, significance

Array = np.ndarray[Any, Any]

#: Terms that are listed, the largest effects first.
SHOWN_TERMS = 30
_INTERCEPTS = {"intercept", "(intercept)", "Intercept"}


@dataclass(frozen=True)
class Term:
    """The effect of a column on the score of a class."""

    outcome: str
    name: str
    estimate: float
    size: float  #: what terms are sorted by
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan
    standardised: float = math.nan

    @property
    def cells(self) -> dict[str, str]:
        """The numbers as they are printed."""
        known = not math.isnan(self.low)
        return {
            "estimate": decimal(self.estimate),
            "interval": f"{decimal(self.low)} to {decimal(self.high)}" if known else "",
            "odds": decimal(_exp(self.estimate)),
            "odds_interval": f"{decimal(_exp(self.low))} to {decimal(_exp(self.high))}" if known else "",
            "p_value": significance(self.p_value),
            "standardised": decimal(self.standardised),
        }


def coefficients_part(material: Material) -> dict[str, Any]:
    """What the part on the coefficients shows."""
    if material.model is None:
        return {"terms": [], "reason": "No fitted model was given to the report."}
    model = _linear(material.model)
    if model is None:
        return {"terms": [], "reason": _without_coefficients(material.winner)}
    terms, reason = _inferred(model, material)
    inferred = bool(terms)
    terms = terms or _plain(model, material)
    ranked = sorted(terms, key=lambda term: -term.size)
    return {
        "terms": ranked[:SHOWN_TERMS],
        "left_out": max(len(ranked) - SHOWN_TERMS, 0),
        "inferred": inferred,
        "with_odds": inferred or _scores_are_log_odds(model),
        "with_outcomes": len({term.outcome for term in terms}) > 1,
        "with_standardised": any(not math.isnan(term.standardised) for term in terms),
        "about": quoted(terms[0].outcome) if terms else "",
        "reason": reason,
        "drawing": _drawing(model, material),
    }


def _linear(model: Any) -> Any:
    """The model, or the one within it that decides, if it has coefficients; else None."""
    inner = (model, getattr(model, "estimator_", None))
    return next((one for one in inner if hasattr(one, "coef_")), None)


def _without_coefficients(name: str) -> str:
    return (
        f"{name} has no coefficients: its boundaries are not linear in the columns, or it combines other models. What "
        "it does shows in the confusion matrix and in the decision regions."
    )


def _scores_are_log_odds(model: Any) -> bool:
    """Whether the exponential of a coefficient multiplies the odds of the second of two classes."""
    return hasattr(model, "predict_proba") and len(np.atleast_2d(model.coef_)) == 1


def _inferred(model: Any, material: Material) -> tuple[list[Term], str]:
    """The terms with standard errors, or why there are none."""
    if not hasattr(model, "summary"):
        return [], "This kind of model estimates its coefficients without standard errors."
    try:
        rows = model.summary(level=material.evaluation.level).rows
    except DiscriminantError as error:
        return [], f"There are no intervals: {error}"
    names = _display_names(model, material)
    terms = [
        Term(
            str(row.outcome),
            names.get(row.term, row.term),
            row.estimate,
            _size(row),
            row.ci_lower,
            row.ci_upper,
            row.p_value,
        )
        for row in rows
        if row.term not in _INTERCEPTS
    ]
    return terms, ""


def _size(row: Any) -> float:
    """An estimate in standard errors; infinite ones have none, and come first."""
    if math.isinf(row.estimate):
        return math.inf
    return abs(row.z) if math.isfinite(row.z) else 0.0


def _display_names(model: Any, material: Material) -> dict[str, str]:
    """The columns' own names, for a model that was fitted to numbers without names."""
    if material.rows is None or hasattr(model, "feature_names_in_"):
        return {}
    return {f"x{j}": name for j, name in enumerate(material.rows.names)}


def _plain(model: Any, material: Material) -> list[Term]:
    values = np.atleast_2d(model.coef_)
    names = _names(model, material, values.shape[1])
    deviations = _deviations(material, values.shape[1])
    classes = [str(label) for label in material.classes]
    outcomes = classes[1:] if len(values) == 1 else classes
    terms = []
    for outcome, row in zip(outcomes, values, strict=False):
        for name, value, deviation in zip(names, row.tolist(), deviations.tolist(), strict=True):
            size = abs(value) if math.isnan(deviation) else abs(value * deviation)
            terms.append(Term(outcome, name, value, size, standardised=value * deviation))
    return terms


def _names(model: Any, material: Material, n_columns: int) -> list[str]:
    if material.rows is not None and len(material.rows.names) == n_columns:
        return list(material.rows.names)
    return [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(n_columns)])]


def _deviations(material: Material, n_columns: int) -> Array:
    if material.rows is None or len(material.rows.names) != n_columns:
        return np.full(n_columns, np.nan)
    return column_moments(material.rows)[1]


def _drawing(model: Any, material: Material) -> Drawing:
    from ..figures import coefficients

    return drawing("plot-coefficients", coefficients, _named(model, material), level=material.evaluation.level)


def _named(model: Any, material: Material) -> Any:
    """The model as one that was fitted to named columns.

    Its attributes are shared, not copied as `copy` would: what a stored model leaves out, its rows, is needed here.
    """
    if hasattr(model, "feature_names_in_"):
        return model
    named = object.__new__(type(model))
    vars(named).update(vars(model))
    names = _names(model, material, np.atleast_2d(model.coef_).shape[1])
    named.feature_names_in_ = np.array(names, dtype=object)
    return named


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
