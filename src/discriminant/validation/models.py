"""The models to be compared: classifiers with a name each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..errors import ParameterError


def named_models(models: Any) -> dict[str, Any]:
    """The models by name: as a dict or (name, model) pairs give it, else by class, numbered where it repeats."""
    if hasattr(models, "fit"):
        models = [models]
    if isinstance(models, Mapping):
        pairs = list(models.items())
    elif isinstance(models, Iterable) and not isinstance(models, (str, bytes)):
        pairs = _with_names(list(models))
    else:
        raise ParameterError(f"models must be a classifier, a list of them or a dict by name, got {models!r}.")
    _refuse_unusable(pairs)
    return dict(pairs)


def refuse_weightless_models(models: dict[str, Any]) -> None:
    """Refuse models that cannot be told of weights."""
    for name, model in models.items():
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(
                f"sample_weight is given, but the fit of model {name!r} ({type(model).__name__}) takes none. Leave the "
                "weights or the model out."
            )


def _with_names(models: list[Any]) -> list[tuple[Any, Any]]:
    if models and all(isinstance(item, tuple) and len(item) == 2 for item in models):
        return models
    kinds = [type(model).__name__ for model in models]
    total, seen, pairs = Counter(kinds), Counter[str](), []
    for kind, model in zip(kinds, models, strict=True):
        seen[kind] += 1
        pairs.append((kind if total[kind] == 1 else f"{kind} {seen[kind]}", model))
    return pairs


def _refuse_unusable(pairs: list[tuple[Any, Any]]) -> None:
    if not pairs:
        raise ParameterError("models is empty: give at least one classifier.")
    for name, model in pairs:
        if isinstance(model, type):
            raise ParameterError(f"Model {name!r} is a class, not a model: write {model.__name__}() with brackets.")
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise ParameterError(f"Model {name!r} cannot be fitted: expected a classifier, got {model!r}.")
        if not is_classifier(model):
            raise ParameterError(f"Model {name!r} is not a classifier: {type(model).__name__}.")
        if not isinstance(name, str):
            raise ParameterError(f"Names of models must be text, got {name!r}.")
    name, count = Counter(name for name, _ in pairs).most_common(1)[0]
    if count > 1:
        raise ParameterError(f"{count} models have the name {name!r}. Give each a name of its own.")
