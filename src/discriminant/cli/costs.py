"""Costs and priors as they are written for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError, ParameterError
from .options import class_named, pairs

Costs = dict[Any, dict[Any, float]]

_MOST_TOLD = 4


def read_cost_file(path: str | None, classes: Sequence[Any]) -> Costs | None:
    """The costs of a file, as ``{true class: {action: cost}}``; classes are recognised by how they are written."""
    from ..tables import open_table

    if path is None:
        return None
    table = open_table(path, header=True)
    names = list(table.columns)
    columns = [values.to_pylist() for values in table.read().columns]
    costs: Costs = {}
    for true, *row in zip(*columns, strict=True):
        label = class_named(true, classes)
        if label in costs:
            raise InputError(f"{path} has two rows for the true class {label!r}. Give each class one row.")
        costs[label] = {
            class_named(name, classes): _cost(path, label, name, cost)
            for name, cost in zip(names[1:], row, strict=True)
        }
    _check(path, costs, classes)
    return costs


def _cost(path: str, true: Any, action: str, cost: Any) -> float:
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        raise InputError(
            f"{path}: the cost of {action!r} when the truth is {true!r} must be a number, got {cost!r}. True classes "
            "stand in the first column, what is decided in the header."
        )
    return float(cost)


def _check(path: str, costs: Costs, classes: Sequence[Any]) -> None:
    """Refuse costs that do not fit the classes, with the file's name."""
    from ..decision.costs import read_costs
    from ..decision.posteriors import label_array

    if not costs or not next(iter(costs.values())):
        raise InputError(f"{path} holds no costs: true classes stand in the first column, what is decided in others.")
    try:
        read_costs(costs).aligned(label_array(list(classes)))
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from error


def costs_in_words(costs: Costs) -> str:
    """How the costs were read, so that a table written the other way round is noticed."""
    told = [
        f"{action!r} when the truth is {true!r} costs {cost:g}"
        for true, row in costs.items()
        for action, cost in row.items()
        if cost
    ]
    more = f", and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    return f"Costs: {'; '.join(told[:_MOST_TOLD])}{more}."


def read_priors(text: str | None, classes: Sequence[Any]) -> dict[Any, float] | None:
    """Priors written ``a=0.3,b=0.7``."""
    if text is None:
        return None
    found = {}
    for name, value in pairs("--priors", text.split(",")).items():
        try:
            found[class_named(name.strip(), classes)] = float(value)
        except ValueError:
            raise ParameterError(f"--priors: the prior of {name!r} must be a number, got {value!r}.") from None
    return found
