"""Cost matrices: rows are true classes, columns are actions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Frame, MatrixLike
from ..data import as_frame, label_array
from ..errors import InputError, ParameterError
from ..results import plain, quoted

#: The power of the distance between ordered classes in costs of this name.
DISTANCE_POWERS: Final = {"absolute": 1, "squared": 2}
#: Costs as users have them: an array, a frame, ``{true: {predicted: cost}}`` or ``{(true, predicted): cost}``.
CostsLike: TypeAlias = (
    "MatrixLike | Mapping[Hashable, Mapping[Hashable, float]] | Mapping[tuple[Hashable, Hashable], float]"
)

_ORIENTATION = "Rows are true classes, columns are actions"


@dataclass(frozen=True)
class CostTable:
    """Costs of shape (K, A), or (n_rows, K, A) if every row has its own, with optional names."""

    values: Array
    classes: Sequence[Hashable] | None
    actions: Sequence[Hashable] | None

    def aligned(self, classes: Array) -> tuple[Array, list[Any]]:
        """The costs with true classes in this order, and the actions."""
        wanted = [plain(label) for label in classes]
        n_classes, n_actions = self.values.shape[-2:]
        if self.classes is not None:
            self._refuse_other_classes(wanted)
        elif n_classes != len(wanted):
            message = f"costs has shape ({n_classes}, {n_actions}); expected a row for each of the classes {wanted}. "
            remedy = " Use costs.T." if n_actions == len(wanted) else ""
            raise ParameterError(f"{message}{_ORIENTATION}.{remedy}")
        given = self.classes or wanted
        if self.actions is None and n_actions != n_classes:
            raise ParameterError(
                f"costs has {n_actions} columns for {n_classes} classes {given}. {_ORIENTATION}. Name the actions with "
                "actions=[...]."
            )
        # Actions without names are the classes, in the order of the columns.
        order = [given.index(label) for label in wanted]
        return (self.values if given == wanted else self.values[..., order, :]), list(self.actions or given)

    def _refuse_other_classes(self, wanted: list[Hashable]) -> None:
        assert self.classes is not None
        if set(wanted) == set(self.classes):
            return
        is_transposed = self.actions is not None and set(wanted) <= set(self.actions)
        remedy = " Its columns are the classes: use costs.T." if is_transposed else ""
        raise ParameterError(
            f"costs has the rows {quoted(self.classes, 10)}; the classes are {quoted(wanted, 10)}. {_ORIENTATION}."
            f"{remedy}"
        )


def read_costs(costs: CostsLike, actions: ArrayLike | None = None, classes: ArrayLike | None = None) -> CostTable:
    """The costs as a table, with names from the data or the parameters.

    >>> read_costs({"ill": {"treat": 0, "wait": 10}, "healthy": {"treat": 1, "wait": 0}}).values
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    named_actions = None if actions is None else _names("actions", actions)
    if isinstance(costs, str):
        if classes is None or named_actions is not None:
            raise ParameterError(
                f"costs={costs!r} requires ordered classes and does not accept actions. Set classes=[...] and leave "
                "out actions."
            )
        return distance_costs(costs, [*_names("classes", classes)])
    if isinstance(costs, Mapping):
        table = _from_mapping(costs)
    elif (frame := as_frame(costs)) is not None:
        table = _from_frame(frame)
    else:
        return _from_array(costs, named_actions, None if classes is None else _names("classes", classes))
    if named_actions is None or table.actions is None:
        return table
    if set(named_actions) != set(table.actions):
        raise ParameterError(
            f"costs has the actions {table.actions}, but actions={named_actions}. {_ORIENTATION}. Omit actions."
        )
    places = [table.actions.index(action) for action in named_actions]
    return CostTable(table.values[..., places], table.classes, named_actions)


def distance_costs(kind: str, order: list[Any]) -> CostTable:
    """Costs that grow with the distance, in classes, between the true and the predicted one: "absolute" or "squared".

    >>> distance_costs("squared", ["low", "medium", "high"]).values
    array([[0., 1., 4.],
           [1., 0., 1.],
           [4., 1., 0.]])
    """
    if kind not in DISTANCE_POWERS:
        raise ParameterError(f"costs must be a table, 'absolute' or 'squared', got {kind!r}.")
    place = np.arange(len(order), dtype=np.float64)
    return CostTable(np.abs(np.subtract.outer(place, place)) ** DISTANCE_POWERS[kind], order, order)


def _names(what: str, given: ArrayLike) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ParameterError(f"{what} must be a list of names, got {given!r}.")
    listed = [plain(label) for label in given]
    repeated = [label for i, label in enumerate(listed) if label in listed[:i]]
    if repeated:
        raise ParameterError(f"{what} contains {repeated[0]!r} more than once: {listed}. Name each once.")
    return listed


def _from_array(costs: CostsLike, actions: list[Hashable] | None, classes: list[Hashable] | None) -> CostTable:
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
            remedy = " Use costs.T." if fits else ""
            raise ParameterError(f"costs has shape {values.shape[-2:]}, but {name}={names}. {_ORIENTATION}.{remedy}")
    if not np.isfinite(values).all():
        place = np.argwhere(~np.isfinite(values))[0]
        k, j = int(place[-2]), int(place[-1])
        true, action = (classes[k] if classes else k), (actions[j] if actions else j)
        raise ParameterError(
            f"costs must be finite numbers: true class {true!r}, action {action!r} has {values[tuple(place)]:g}. For a "
            "forbidden action use a cost far above the others."
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
            raise ParameterError(
                f"costs has no entry for the action {action!r} and the true class {true!r}. Give a cost for each pair; "
                "only correct decisions may be omitted."
            )
    return _from_array([[pairs.get((true, action), 0.0) for action in actions] for true in classes], actions, classes)


def _from_frame(frame: Frame) -> CostTable:
    index = nw.maybe_get_index(frame)
    if index is None:
        classes, frame = frame[:, 0].to_list(), frame[:, 1:]
    else:
        classes = list(index)
    named, actions = _names("classes", classes), _names("actions", frame.columns)
    by_text = {str(label): label for label in named}
    # Frames with text column names call class 1 '1'.
    if not set(named) & set(actions) and set(by_text) <= set(actions):
        actions = [by_text.get(action, action) for action in actions]
    return _from_array(frame.to_numpy(), actions, named)


def class_written(text: Hashable, classes: Sequence[Hashable]) -> Any:
    """The class with this text, or the only one that differs in case only; the text itself if there is none."""
    written = str(text)
    exact = [label for label in classes if str(label) == written]
    folded = [label for label in classes if str(label).casefold() == written.strip().casefold()]
    return exact[0] if exact else folded[0] if len(folded) == 1 else text


def read_cost_file(path: str, classes: Sequence[Hashable]) -> dict[Any, dict[Any, float]]:
    """The costs in a file as ``{true class: {action: cost}}``, with classes matched by their text.

    The first column of the file contains the true classes, its header the actions.
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
                    f"{path}: the cost of action {action!r} for true class {label!r} must be a number, got {cost!r}. "
                    "Expected true classes in the first column and actions in the header."
                )
            costs[label][class_written(action, classes)] = float(cost)
    if not costs or not actions:
        raise InputError(f"{path} contains no costs. Expected true classes in the first column, actions in the header.")
    try:
        read_costs(costs).aligned(label_array(list(classes)))
    except ParameterError as error:
        raise ParameterError(f"{path}: ", *error.parts) from error
    return costs


def costs_in_words(costs: Mapping[Any, Mapping[Any, float]], most: int = 4) -> str:
    """The costs as a sentence, which makes a transposed table visible."""
    texts = [
        f"{cost:g} for {action!r} if the true class is {true!r}"
        for true, row in costs.items()
        for action, cost in row.items()
        if cost
    ]
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    others = list(dict.fromkeys(action for row in costs.values() for action in row if action not in costs))
    extra = f" Actions that are not classes: {quoted(others)}." if others else ""
    return f"Costs: {'; '.join(texts[:most])}{more}.{extra}"
