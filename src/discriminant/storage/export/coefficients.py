"""A model as plain numbers in JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from ... import __version__
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from .recipe import Part, Recipe

_KINDS: dict[type, str] = {
    LinearRule: "linear",
    DiagonalRule: "diagonal",
    QuadraticRule: "quadratic",
    LevelRule: "levels",
}


def json_text(recipe: Recipe, model: Any) -> str:
    """The text of the JSON object; `export` describes its keys."""
    described = {
        "model": recipe.name,
        "package": __version__,
        "classes": recipe.classes,
        "columns": recipe.columns,
        "inputs": [asdict(given) for given in recipe.inputs],
        "constants": recipe.constants,
        "intercept": _intercept(recipe),
        "parts": [_part(part) for part in recipe.parts],
        "answer": recipe.answer,
        "priors": getattr(model, "priors_", None),
        "means": getattr(model, "means_", None),
    }
    return json.dumps(_plain(described), allow_nan=False, indent=1) + "\n"


def _part(part: Part) -> dict[str, Any]:
    rule = part.rule
    numbers = {name: values for name, values in asdict(rule).items() if name != "constants"}
    if isinstance(rule, LevelRule):
        numbers["table"] = rule.table[:-1]
    return {"kind": _KINDS[type(rule)], "places": list(part.places), **numbers}


def _intercept(recipe: Recipe) -> Any:
    """The constants of a linear model for rows that are not centred."""
    rules = [part.rule for part in recipe.parts]
    return rules[0].intercept if len(rules) == 1 and isinstance(rules[0], LinearRule) else None


def _plain(value: Any) -> Any:
    """The value as JSON has it; null for what is not a finite number."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
