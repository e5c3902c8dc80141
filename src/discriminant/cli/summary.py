"""What a fitted model learned, as plain values and as a page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .console import Page, shortened

#: Standard errors of more parameters than this cost more than they tell.
_MOST_TESTED = 600
_UNNAMED = re.compile(r"x(\d+)")


def learned(model: Any, names: Sequence[str]) -> dict[str, Any]:
    """Priors, coefficients with odds ratios, class means and scalings, whatever the model has."""
    values: dict[str, Any] = {
        "model": type(model).__name__,
        "parameters": {name: value for name, value in model.get_params().items() if _plain(value)},
        "classes": model.classes_.tolist(),
    }
    if hasattr(model, "priors_"):
        values["priors"] = model.priors_.tolist()
    tested = _tested(model, names)
    if tested is not None:
        values |= tested
    elif hasattr(model, "coef_"):
        values["coefficients"] = _coefficients(model, names)
    if hasattr(model, "means_") and len(names):
        values["means"] = {name: column.tolist() for name, column in zip(names, model.means_.T, strict=True)}
    if hasattr(model, "scalings_"):
        values["scalings"] = {name: row.tolist() for name, row in zip(names, model.scalings_, strict=True)}
        values["explained_variance_ratio"] = model.explained_variance_ratio_.tolist()
    return values


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, list, dict))


def _tested(model: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """The coefficients of a logistic regression with standard errors, tests and intervals."""
    from ..errors import DiscriminantError
    from ..estimators.logistic import LogisticRegression

    if not isinstance(model, LogisticRegression) or model.coef_.size > _MOST_TESTED:
        return None
    try:
        summary = model.summary()
    except DiscriminantError:  # of a lasso, or of a model read from a file
        return None
    rows = [
        {
            "outcome": row.outcome,
            "term": _named(row.term, names),
            "coefficient": row.estimate,
            **({"infinite": "+" if row.estimate > 0 else "-"} if math.isinf(row.estimate) else {}),
            "std_error": row.std_error,
            "z": row.z,
            "p_value": row.p_value,
            "odds_ratio": row.odds_ratio,
            "odds_lower": _exp(row.low),
            "odds_upper": _exp(row.high),
        }
        for row in summary.rows
    ]
    fit = {name: getattr(summary, name) for name in ("log_likelihood", "deviance", "aic", "bic", "pseudo_r2")}
    return {"coefficients": rows, "likelihood": fit, "notes": summary.notes}


def _coefficients(model: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """The coefficients of a linear score; their exponentials are odds ratios where scores are log-probabilities."""
    from ..estimators.base import PosteriorClassifier

    labels = model.classes_.tolist()
    outcomes = labels[1:] if len(model.coef_) == 1 else labels
    odds = isinstance(model, PosteriorClassifier)
    rows = []
    for outcome, intercept, coef in zip(outcomes, model.intercept_.tolist(), model.coef_.tolist(), strict=True):
        for term, value in zip(("intercept", *names), (intercept, *coef), strict=True):
            row = {"outcome": outcome, "term": term, "coefficient": value}
            rows.append(row | ({"odds_ratio": _exp(value)} if odds else {}))
    return rows


def _named(term: str, names: Sequence[str]) -> str:
    found = _UNNAMED.fullmatch(term)
    return names[int(found[1])] if found else term


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def learned_page(values: dict[str, Any]) -> Page:
    """The same to read."""
    from ..results import number

    page: Page = []
    if "priors" in values:
        rows = [[label, number(prior)] for label, prior in zip(values["classes"], values["priors"], strict=True)]
        page += shortened("Priors", ["class", "prior"], rows)
    page += _coefficient_page(values)
    if "means" in values:
        rows = [[name, *map(number, means)] for name, means in values["means"].items()]
        page += shortened("Class means", ["column", *map(str, values["classes"])], rows)
    if "scalings" in values:
        ratios = [f"axis {i + 1} ({100 * r:.1f} %)" for i, r in enumerate(values["explained_variance_ratio"])]
        rows = [[name, *map(number, row)] for name, row in values["scalings"].items()]
        page += shortened("Discriminant axes (share of the variance between classes)", ["column", *ratios], rows)
    if values.get("notes"):
        page.append("\n".join(f"Note: {note}" for note in values["notes"]))
    return page


def _coefficient_page(values: dict[str, Any]) -> Page:
    page: Page = []
    rows = values.get("coefficients", [])
    for outcome in dict.fromkeys(row["outcome"] for row in rows):
        own = [row for row in rows if row["outcome"] == outcome]
        columns = [key for key in _COLUMNS if key in own[0]]
        head = ["term", *(_COLUMNS[key] for key in columns)]
        cells = [[row["term"], *(_cell(key, row) for key in columns)] for row in own]
        title = f"Coefficients: {'log-odds' if 'odds_ratio' in columns else 'score'} of {outcome}"
        page += shortened(title, head, cells)
    if "likelihood" in values:
        fit = values["likelihood"]
        page.append(
            f"Log-likelihood {fit['log_likelihood']:.4f}, AIC {fit['aic']:.2f}, BIC {fit['bic']:.2f}, pseudo R2 "
            f"{fit['pseudo_r2']:.4f}."
        )
    return page


_COLUMNS = {
    "coefficient": "coefficient",
    "std_error": "std. error",
    "z": "z",
    "p_value": "p",
    "odds_ratio": "odds ratio",
    "odds_lower": "from",
    "odds_upper": "to (95 %)",
}


def _cell(key: str, row: dict[str, Any]) -> str:
    from ..results import number

    value, direction = row[key], row.get("infinite")
    if direction is not None:  # which JSON cannot hold
        ends = {"coefficient": f"{direction}inf", "odds_ratio": "inf" if direction == "+" else "0"}
        return ends.get(key, "-")
    return "< 0.0001" if key == "p_value" and value is not None and value < 1e-4 else number(value)
