"""How objects are taken apart for a file, and put together again without running anything the file says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from ..data import LabelledRows, as_rows
from ..errors import ModelFileError, NotReadyError
from ..objective import Objective

Array = np.ndarray[Any, Any]
Parts = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """A class by its name, with the two ways between its objects and their parts."""

    module: str
    class_name: str
    apart: Callable[[Any], Parts]
    together: Callable[[Any, Parts], Any]

    @property
    def kind(self) -> Any:
        """The class itself; modules are named in this package, never in a file."""
        return getattr(import_module(self.module), self.class_name)


def record(module: str, name: str) -> Form:
    """A dataclass: its fields, and its own constructor, which checks them."""
    return Form(module, name, _fields, lambda kind, parts: kind(**parts))


def _fields(value: Any) -> Parts:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}


def plain(module: str, name: str, *names: str) -> Form:
    """A class whose objects are these attributes; an object may lack some."""

    def apart(value: Any) -> Parts:
        unknown = set(vars(value)) - set(names)
        if unknown:
            raise ModelFileError(f"{type(value).__name__} has the attribute {min(unknown)!r}, which is not stored.")
        return {name: value.__dict__[name] for name in names if name in vars(value)}

    def together(kind: type, parts: Parts) -> Any:
        if not set(parts) <= set(names):
            raise ModelFileError(f"{kind.__name__} has no part {min(set(parts) - set(names))!r}.")
        return _with_attributes(kind, parts)

    return Form(module, name, apart, together)


def _with_attributes(kind: type, parts: Parts) -> Any:
    made: Any = object.__new__(kind)
    vars(made).update(parts)
    return made


def estimator(module: str, name: str) -> Form:
    """An estimator: its parameters and what it learned, without references to training rows."""
    return Form(module, name, _learned, _fitted)


def _learned(model: Any) -> Parts:
    state = dict(vars(model))
    for name in getattr(model, "_own_state", ()):
        state.pop(name, None)
    return {**model.get_params(deep=False), **state}


def _fitted(kind: Any, parts: Parts) -> Any:
    names = kind._get_param_names()
    model = kind(**{name: parts[name] for name in names if name in parts})
    learned = {name: value for name, value in parts.items() if name not in names}
    for name in learned:
        _refuse_strange_attribute(kind, name)
    vars(model).update(learned)
    return model


def _refuse_strange_attribute(kind: type, name: str) -> None:
    """Fitted attributes end or begin with an underscore, and hide no method."""
    hides = hasattr(inspect.getattr_static(kind, name, None), "__get__")
    if name.startswith("__") or not (name.endswith("_") or name.startswith("_")) or hides:
        raise ModelFileError(f"{kind.__name__} cannot have learned an attribute {name!r}.")


class RowsLeftOut:
    """Stands where a model keeps training rows as its statistic, which a file does not carry.

    The model predicts as before; whatever needs the rows says that they are not there.
    """

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotReadyError(
            "This model was fitted to fewer rows than columns: its statistic is the rows themselves, which a stored "
            "model does not carry. It predicts; for anything else fit it again."
        )


def table_moments(module: str, name: str) -> Form:
    """Counts of levels go into one array for each column instead of one for each level."""
    names = ("grain", "fourth", "pools", "counts", "weight", "mean", "scatter")

    def apart(value: Any) -> Parts:
        kept: Parts = {name: vars(value)[name] for name in names}
        shape = (-1, len(value.weight))
        kept["levels"] = [list(table) for table in value.tables]
        kept["level_counts"] = [np.array(list(table.values())).reshape(shape) for table in value.tables]
        return kept

    def together(kind: type, parts: Parts) -> Any:
        made = _with_attributes(kind, {name: parts[name] for name in names})
        pairs = zip(parts["levels"], parts["level_counts"], strict=True)
        made.tables = [dict(zip(levels, counts.copy(), strict=True)) for levels, counts in pairs]
        return made

    return Form(module, name, apart, together)


def stream(module: str, name: str) -> Form:
    """A stream's objective refers to a row of its last chunk for its shape alone: a row of zeros does as well."""
    own = ("theta", "average", "steps", "batch", "rate")
    of_objective = ("loss", "penalty", "fit_intercept", "standard", "n_jobs", "share")

    def apart(value: Any) -> Parts:
        kept = {name: getattr(value, name) for name in own}
        kept["classes"] = value.objective.data.classes
        return {**kept, **{name: getattr(value.objective, name) for name in of_objective}}

    def together(kind: Any, parts: Parts) -> Any:
        rows = as_rows(np.zeros((1, len(parts["standard"].centre))))
        data = LabelledRows(rows, parts["classes"], np.zeros(1, dtype=np.int32))
        objective = Objective(data, **{name: parts[name] for name in of_objective})
        return kind(objective, **{name: parts[name] for name in own})

    return Form(module, name, apart, together)


def frame_backend(module: str, name: str) -> Form:
    """The kind of frame a model was fitted with, by its name."""
    return Form(module, name, lambda value: {"name": value.value}, lambda kind, parts: kind(parts["name"]))
