"""How the columns of a model come from raw columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ...tables.schema import Column, Schema


@dataclass(frozen=True)
class Input:
    """One column of the model.

    ==========  ==============================================================
    kind        value
    ==========  ==============================================================
    number      the raw value
    truth       1 for a true raw value, 0 for a false one
    level       1 where the raw value, as text, is one of ``levels``, else 0
    other       0 where the raw value, as text, is one of ``levels``, else 1
    category    the raw value itself, for rules with a table of levels
    ==========  ==============================================================

    A missing raw value gives ``fill`` instead, and is refused where that is None. Missing are None, NaN, NULL and the
    texts in ``missing``.
    """

    column: str
    kind: Literal["number", "truth", "level", "other", "category"]
    levels: tuple[str, ...] = ()
    fill: float | None = None
    missing: tuple[str, ...] = ()


def inputs_of_schema(schema: Any) -> tuple[Input, ...]:
    """The inputs that a `Schema`, or the dict that it can be written as, makes of raw columns."""
    known = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    if known.width is not None:
        return tuple(Input(name, "number") for name in known.names)
    return tuple(made for column in known.used for made in _inputs(column, known))


def _inputs(column: Column, schema: Schema) -> Iterator[Input]:
    """The coded columns of one raw column, in the order of ``column.outputs``."""
    complete = schema.missing != "indicator"
    levels = column.levels + column.rare_levels
    codes = tuple(code for code in schema.missing_codes if code not in levels)
    none, marked = (None, None) if complete else (0.0, 1.0)
    if column.kind == "category":
        for level in column.levels:
            if level != column.reference:
                yield Input(column.name, "level", (level,), none, codes)
        if column.other_column:
            yield Input(column.name, "other", column.levels, none, codes)
    else:
        kind: Any = "truth" if column.kind == "boolean" else "number"
        yield Input(column.name, kind, (), None if complete else column.mean, codes)
    if column.missing_column:
        # What was never seen counts as missing, unless there is a column for other levels.
        unseen = column.kind == "category" and not column.pooled
        yield Input(column.name, "other" if unseen else "level", levels if unseen else (), marked, codes)
