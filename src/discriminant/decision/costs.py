"""Costs of actions: rows are true classes, columns are actions, whatever form they come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..arrays import Array
from ..data import as_frame, label_array
from ..errors import InputError, ParameterError
from ..results import plain, quoted, suggestion

_ORIENTATION = "Rows are true classes, columns are actions"


@dataclass(frozen=True)
class CostTable:
    """Costs of shape (K, A), or (n_rows, K, A) where every row has its own; names where they were given."""

    values: Array
    classes: list[Any] | None
    actions: list[Any] | None

    def aligned(self, classes: Array) -> tuple[Array, list[Any]]:
        """The costs with their true classes in this order, and the actions."""
        wanted = [plain(label) for label in classes]
        n_classes, n_actions = self.values.shape[-2:]
        if self.classes is not None:
            self._refuse_other_classes(wanted)
        elif n_classes != len(wanted):
            message = f"costs has {n_classes} rows and {n_actions} columns for the {len(wanted)} classes {wanted}. "
            remedy = " It fits transposed: give costs.T." if n_actions == len(wanted) else ""
            raise ParameterError(f"{message}{_ORIENTATION}.{remedy}")
        given = self.classes or wanted
        if self.actions is None and n_actions != n_classes:
            raise ParameterError(
                f"costs has {n_actions} columns for {n_classes} classes {given}, so the actions are not the "
                f"classes: name them with actions=[...]. {_ORIENTATION}."
            )
        # Where actions have no names they are the classes, in the order of the columns.
        order = [given.index(label) for label in wanted]
        return (self.values if given == wanted else self.values[..., order, :]), self.actions or given

    def _refuse_other_classes(self, wanted: list[Any]) -> None:
        assert self.classes is not None
        missing = [label for label in wanted if label not in self.classes]
        unknown = [label for label in self.classes if label not in wanted]
        if not missing and not unknown:
            return
        # Where no row is a class and every class is a column, the two sides were exchanged.
        if len(unknown) == len(self.classes) and self.actions is not None and set(wanted) <= set(self.actions):
            raise ParameterError(
                f"costs looks transposed: its columns {self.actions} are the classes, its rows {self.classes} are not. "
                f"{_ORIENTATION}: the entry [k, j] is the cost of action j when the truth is k. Transpose it, or give "
                "its rows the names of the classes."
            )
        are = "a row {}, which is not a class" if len(unknown) == 1 else "rows {}, which are not classes"
        wrong = [f"has {are.format(quoted(unknown))}"] if unknown else []
        wrong += [f"misses the true class {quoted(missing)}"] if missing else []
        near = suggestion(str(unknown[0]), map(str, missing)) if unknown else ""
        raise ParameterError(
            f"costs {' and '.join(wrong)}.{near} Its rows: {quoted(self.classes, 10)}; classes: {quoted(wanted, 10)}. "
            f"{_ORIENTATION}."
        )


def read_costs(costs: Any, actions: Any = None, classes: Any = None) -> CostTable:
    """The costs as a table, with the names that come with them or are given.

    >>> read_costs({"ill": {"treat": 0, "wait": 10}, "healthy": {"treat": 1, "wait": 0}}).values
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    named_actions = None if actions is None else _names("actions", actions)
    if isinstance(costs, Mapping):
        table = _from_mapping(costs)
    elif (frame := as_frame(costs)) is not None:
        table = _from_frame(frame)
    else:
        return _from_array(costs, named_actions, None if classes is None else _names("classes", classes))
    if named_actions is None or table.actions is None:
        return table
    if set(named_actions) != set(table.actions):
        raise ParameterError(f"costs has the actions {table.actions}, but actions={named_actions}. {_ORIENTATION}.")
    places = [table.actions.index(action) for action in named_actions]
    return CostTable(table.values[..., places], table.classes, named_actions)


def _names(what: str, given: Any) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ParameterError(f"{what} must be a list of names, got {given!r}.")
    listed = [plain(label) for label in given]
    repeated = [label for i, label in enumerate(listed) if label in listed[:i]]
    if repeated:
        raise ParameterError(f"{what} names {repeated[0]!r} more than once: {listed}.")
    return listed


def _from_array(costs: Any, actions: list[Any] | None, classes: list[Any] | None) -> CostTable:
    try:
        values = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"costs must be numbers: {error}. {_ORIENTATION}.") from error
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ParameterError(
            f"costs must have shape (n_classes, n_actions), or (n_rows, n_classes, n_actions) if each row has its own; "
            f"got {values.shape}. {_ORIENTATION}."
        )
    for name, axis, names in (("classes", -2, classes), ("actions", -1, actions)):
        if names is not None and values.shape[axis] != len(names):
            fits = classes is not None and actions is not None and values.shape[-2:] == (len(actions), len(classes))
            remedy = " It fits transposed: give costs.T." if fits else ""
            raise ParameterError(
                f"costs has {values.shape[-2]} rows and {values.shape[-1]} columns, but {name}={names}. "
                f"{_ORIENTATION}.{remedy}"
            )
    if not np.isfinite(values).all():
        place = np.argwhere(~np.isfinite(values))[0]
        k, j = int(place[-2]), int(place[-1])
        true, action = (classes[k] if classes else k), (actions[j] if actions else j)
        raise ParameterError(
            f"costs must be finite numbers: true class {true!r}, action {action!r} has {values[tuple(place)]:g}. For "
            "what must never be done give a cost far above the others."
        )
    return CostTable(values, classes, actions)


def _from_mapping(costs: Mapping[Any, Any]) -> CostTable:
    nested = [isinstance(inner, Mapping) for inner in costs.values()]
    if nested and all(nested):
        pairs = {(true, action): cost for true, row in costs.items() for action, cost in row.items()}
    elif not any(nested) and all(isinstance(key, tuple) and len(key) == 2 for key in costs):
        pairs = dict(costs)
    else:
        pairs = {}
    if not pairs:
        raise ParameterError(
            "costs must be {true class: {action: cost}} or {(true class, action): cost}, got a dict with keys "
            f"{list(costs)[:4]}."
        )
    classes = list(dict.fromkeys(plain(true) for true, _ in pairs))
    actions = list(dict.fromkeys(plain(action) for _, action in pairs))
    for true, action in product(classes, actions):
        if (true, action) not in pairs and true != action:
            raise ParameterError(f"costs does not say what the action {action!r} costs when the truth is {true!r}.")
    # Being right costs nothing unless it is said.
    return _from_array([[pairs.get((true, action), 0.0) for action in actions] for true in classes], actions, classes)


def _from_frame(frame: Any) -> CostTable:
    index = nw.maybe_get_index(frame)
    if index is None:
        classes, frame = frame[:, 0].to_list(), frame[:, 1:]
    else:
        classes = list(index)
    named, actions = _names("classes", classes), _names("actions", frame.columns)
    by_text = {str(label): label for label in named}
    # Frames that only know text call class 1 '1'.
    if not set(named) & set(actions) and set(by_text) <= set(actions):
        actions = [by_text.get(action, action) for action in actions]
    return _from_array(frame.to_numpy(), actions, named)


def class_written(text: Any, classes: Sequence[Any]) -> Any:
    """The class that is written like this, or the only one that is but for capitals; the text itself where none is."""
    written = str(text)
    exact = [label for label in classes if str(label) == written]
    folded = [label for label in classes if str(label).casefold() == written.strip().casefold()]
    return exact[0] if exact else folded[0] if len(folded) == 1 else text


def read_cost_file(path: str, classes: Sequence[Any]) -> dict[Any, dict[Any, float]]:
    """The costs of a file as ``{true class: {action: cost}}``; classes are recognised by how they are written.

    True classes stand in the first column of the file, actions in its header, costs in the cells.
    """
    from ..tables import open_table

    table = open_table(path, header=True)
    _, *actions = table.columns
    costs: dict[Any, dict[Any, float]] = {}
    for true, *row in zip(*(values.to_pylist() for values in table.read().columns), strict=True):
        label = class_written(true, classes)
        if label in costs:
            raise InputError(f"{path} has two rows for the true class {label!r}. Give each class one row.")
        costs[label] = {}
        for action, cost in zip(actions, row, strict=True):
            if isinstance(cost, bool) or not isinstance(cost, (int, float)):
                raise InputError(
                    f"{path}: the cost of {action!r} when the truth is {label!r} must be a number, got {cost!r}. True "
                    "classes stand in the first column, what is decided in the header."
                )
            costs[label][class_written(action, classes)] = float(cost)
    if not costs or not actions:
        raise InputError(f"{path} holds no costs: true classes stand in the first column, what is decided in others.")
    try:
        read_costs(costs).aligned(label_array(list(classes)))
    except ParameterError as error:
        raise ParameterError(f"{path}: ", *error.parts) from error
    return costs


def costs_in_words(costs: Mapping[Any, Mapping[Any, float]], most: int = 4) -> str:
    """How costs were read, so that a table written the other way round is noticed."""
    told = [
        f"{action!r} when the truth is {true!r} costs {cost:g}"
        for true, row in costs.items()
        for action, cost in row.items()
        if cost
    ]
    more = f", and {len(told) - most} more" if len(told) > most else ""
    others = list(dict.fromkeys(action for row in costs.values() for action in row if action not in costs))
    beside = f" Decided beside the classes: {quoted(others)}." if others else ""
    return f"Costs: {'; '.join(told[:most])}{more}.{beside}"
