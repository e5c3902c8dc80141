"""Models by the names they have on the command line, and their parameters from text."""

from __future__ import annotations

import json
import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ParameterError
from .options import Labelled

_TRUE, _FALSE, _NONE = ("true", "yes", "on"), ("false", "no", "off"), ("none", "null")


def made_model(name: str, labelled: Labelled, settings: dict[str, str] | None = None) -> Any:
    """A model by its name on the command line, with parameters as they were written there."""
    from ..estimators.registry import known_name, new_model

    model = new_model(name, labelled.training.schema)
    classes, parameters = list(labelled.class_rows), list(model.get_params(deep=False))
    for parameter, text in (settings or {}).items():
        known_name(parameter, parameters, f"parameter of {name}")
        model.set_params(**{parameter: _typed(type(model), parameter, text, classes)})
    return model


def compared_models(asked: str | None, labelled: Labelled, metric: str) -> dict[str, Any]:
    """The models of a comparison: those asked for, or those that suit the size of the table."""
    import numpy as np

    from ..estimators.registry import weak_penalty
    from ..validation.comparison import default_models

    training = labelled.training
    if asked is None:
        counts = np.array(list(labelled.class_rows.values()))
        return default_models(training.X, counts, metric, training.schema)
    models = {name: made_model(name, labelled) for name in map(str.strip, asked.split(","))}
    if "logistic" in models:
        models["logistic"].set_params(alpha=weak_penalty(len(training.y)))
    return models


def _typed(kind: type, name: str, text: str, classes: Sequence[Any]) -> Any:
    """The value that the text stands for, by the parameter's type."""
    hint = get_type_hints(kind.__init__)[name]  # type: ignore[misc]
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        found, value = _as_option(option, text, classes)
        if found:
            return value
    raise ParameterError(f"--set {name}={text}: expected {' or '.join(map(_in_words, options))}.")


def _as_option(option: Any, text: str, classes: Sequence[Any]) -> tuple[bool, Any]:
    """Whether the text can be read as this type, and its value."""
    word = text.strip().lower()
    if option is Any:
        return True, _guessed(text, classes)
    if get_origin(option) is Literal:
        return text in get_args(option) or (word in _NONE and None in get_args(option)), None if word in _NONE else text
    if option is type(None):
        return word in _NONE, None
    if option is bool:
        return word in (*_TRUE, *_FALSE), word in _TRUE
    try:
        return True, option(text)
    except (TypeError, ValueError):
        return False, None


def _guessed(text: str, classes: Sequence[Any]) -> Any:
    """JSON where it is JSON, else text; class names in it stand for the classes."""
    from ..decision.costs import class_written

    word = text.strip().lower()
    if word in _NONE:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict):
        return {class_written(key, classes): entry for key, entry in value.items()}
    return value if isinstance(value, list) else class_written(value, classes)


def _in_words(option: Any) -> str:
    if get_origin(option) is Literal:
        return ", ".join(map(repr, get_args(option)))
    return {bool: "true or false", int: "a whole number", float: "a number", type(None): "none"}.get(option, "a value")
