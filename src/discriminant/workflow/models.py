"""Models by name, with parameters given as text: ``NAME=VALUE`` as users write them."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ParameterError
from ..estimators.registry import MODELS, coding_for, known_name, new_model

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..tables.column import Coding
    from .tables import AnyLabelled

MODEL_NAMES: Final = tuple(MODELS)
#: Parameters whose dictionaries have names of columns as keys, not classes.
_BY_COLUMN: Final = ("distributions",)
#: Parameters that are one or more names of columns.
_COLUMN_LISTS: Final = ("nonparallel",)
_TRUE: Final = ("true", "yes", "on")
_FALSE: Final = ("false", "no", "off")
_NONE: Final = ("none", "null")
_TYPE_NAMES: Final = {bool: "true or false", int: "an integer", float: "a number", type(None): "none"}
_NOT_OF_TYPE: Final = object()


def read_settings(given: Sequence[str] | None) -> dict[str, str]:
    """Parameters of a model, given as ``NAME=VALUE``."""
    for text in given or ():
        if "=" not in text:
            raise ParameterError(f"--set takes NAME=VALUE, such as alpha=0.1; got {text!r}.")
    return {text.partition("=")[0].strip(): text.partition("=")[2] for text in given or ()}


@dataclass(frozen=True)
class ModelSpec:
    """A model by its name, with parameters given as text and a multiclass scheme around it."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    multiclass: str | None = None
    #: All classes from the lowest to the highest, for models of ordered classes.
    order: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        known_name(self.name)

    @property
    def coding(self) -> Coding:
        """How the model needs the levels of categories coded."""
        return coding_for(self.name, self.settings)

    def new(self, labelled: AnyLabelled | None = None) -> BaseEstimator:
        """The model, not yet fitted; a table gives classes for its parameters, and types for naive Bayes."""
        # With a formula the model has other columns than the schema.
        schema = None if labelled is None or labelled.formula is not None else labelled.schema
        model, classes = new_model(self.name, schema), [] if labelled is None else list(labelled.class_rows)
        if self.order is not None and "classes_order" in model.get_params(deep=False):
            model.set_params(classes_order=list(self.order))
        return _in_scheme(with_settings(model, self.name, self.settings, classes), self.multiclass)


def with_settings(
    model: BaseEstimator, name: str, settings: Mapping[str, str], classes: Sequence[Hashable]
) -> BaseEstimator:
    """The model with parameters given as text."""
    parameters = list(model.get_params(deep=False))
    for parameter, text in settings.items():
        known_name(parameter, parameters, f"parameter of {name}")
        keys = () if parameter in (*_BY_COLUMN, *_COLUMN_LISTS) else classes
        model.set_params(**{parameter: _typed(type(model), parameter, text, keys)})
    return model


def _in_scheme(model: BaseEstimator, scheme: str | None) -> BaseEstimator:
    """The model, or a multiclass scheme of binary copies of it."""
    from ..data import check_choice
    from ..estimators.multiclass import OneVsOne, OneVsRest, OutputCode

    schemes: dict[str | None, Callable[..., BaseEstimator]] = {
        "one-vs-rest": OneVsRest,
        "one-vs-one": OneVsOne,
        "output-code": OutputCode,
    }
    check_choice("multiclass", scheme, (None, *schemes))
    return model if scheme is None else schemes[scheme](model)


def _typed(kind: type, name: str, text: str, classes: Sequence[Hashable]) -> Any:
    """The text as a value of the parameter's type."""
    hint = get_type_hints(kind.__init__)[name]  # type: ignore[misc]
    choices = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for choice in choices:
        if (value := _converted(choice, text, classes)) is not _NOT_OF_TYPE:
            return _split(value) if name in _COLUMN_LISTS else value
    raise ParameterError(f"--set {name}={text}: expected {' or '.join(map(_type_name, choices))}.")


def _split(value: Any) -> Any:
    """Names of columns between commas as a list."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _converted(choice: type, text: str, classes: Sequence[Hashable]) -> Any:
    """The text converted to one of the types of a parameter, or ``_NOT_OF_TYPE``."""
    word = text.strip().lower()
    if choice is Any:
        return _parsed(text, classes)
    if get_origin(choice) is Literal:
        value = None if word in _NONE else text
        return value if value in get_args(choice) else _NOT_OF_TYPE
    if choice is type(None):
        return None if word in _NONE else _NOT_OF_TYPE
    if choice is bool:
        return word in _TRUE if word in (*_TRUE, *_FALSE) else _NOT_OF_TYPE
    try:
        return choice(text)
    except (TypeError, ValueError):
        return _NOT_OF_TYPE


def _parsed(text: str, classes: Sequence[Hashable]) -> Any:
    """The text as JSON if possible; names of classes become classes."""
    from ..decision.costs import class_written

    if text.strip().lower() in _NONE:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict) and classes:
        return {class_written(key, classes): entry for key, entry in value.items()}
    return value if isinstance(value, (list, dict)) or not classes else class_written(value, classes)


def _type_name(choice: type) -> str:
    if get_origin(choice) is Literal:
        return ", ".join(map(repr, get_args(choice)))
    return _TYPE_NAMES.get(choice, "a value")
