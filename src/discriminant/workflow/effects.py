"""Effects of columns on the probabilities of a model: of a model fitted to a table, or of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import ParameterError
from ..results import suggestion
from .fitting import FittedModel
from .stored import StoredModel
from .tables import Reading, Roles, TableSource

if TYPE_CHECKING:
    import pyarrow as pa

    from ..arrays import Array
    from ..effects import EffectOptions, Effects
    from ..tables import TableReader
    from ..tables.schema import Schema

Verb = Literal["predictions", "comparisons", "slopes"]
VERBS: Final[tuple[Verb, ...]] = ("predictions", "comparisons", "slopes")
#: Whole numbers up to this are integers, so that results show 1 and not 1.0.
MAX_WHOLE: Final = 2.0**53
CONTRASTS: Final = ("difference", "ratio", "odds-ratio")


@dataclass(frozen=True)
class EffectQuestion:
    """Which effects are asked for; see the functions of `discriminant.effects`."""

    verb: Verb
    columns: Sequence[str] = ()
    contrast: str = "difference"
    values: Any = None
    at: Mapping[str, Any] | None = None
    by: str | None = None
    is_typical: bool = False  #: whether the rows are replaced by one of means and most frequent levels

    def __post_init__(self) -> None:
        for given, known, what in ((self.verb, VERBS, "kind of effects"), (self.contrast, CONTRASTS, "contrast")):
            if given not in known:
                listed = ", ".join(known)
                raise ParameterError(f"Unknown {what} {given!r}.{suggestion(given, known)} Expected one of: {listed}.")
        if self.verb == "comparisons" and len(self.columns) == 0:
            raise ParameterError("comparisons need a column to change. Give --column NAME.")
        if self.is_typical and self.by is not None:
            raise ParameterError("--typical is one row, which has no groups. Leave out --by.")


@dataclass(frozen=True, eq=False)
class EffectRows:
    """A model that takes raw columns, and the rows that effects are averaged over."""

    model: Any
    frame: pa.Table
    options: EffectOptions

    def effects(self, question: EffectQuestion) -> list[Effects]:
        """The table of effects; of comparisons one for each column."""
        from .. import effects

        data = effects.typical_row(self.frame) if question.is_typical else self.frame
        options = replace(self.options, weights=None) if question.is_typical else self.options
        shared: dict[str, Any] = {"at": question.at, "by": question.by, "options": options}
        if question.verb == "predictions":
            return [effects.predictions(self.model, data, **shared)]
        if question.verb == "slopes":
            return [effects.slopes(self.model, data, list(question.columns) or None, **shared)]
        kind: Any = question.contrast.replace("-", "_")
        return [
            effects.comparisons(self.model, data, column, kind, question.values, **shared)
            for column in question.columns
        ]


def of_fitted(fitted: FittedModel, options: EffectOptions) -> EffectRows:
    """The rows that a model was fitted to; ``options`` get their weights and labels."""
    training = fitted.table.training
    frame = raw_columns(fitted.table.table, training.schema, training.row_numbers)
    needs_labels = bool(options.resamples)
    own = replace(options, weights=training.weights, y=training.y if needs_labels else None)
    return EffectRows(with_encoder(fitted.model, training.schema), frame, own)


def of_stored(
    stored: StoredModel, reading: Reading, data: TableSource, roles: Roles, options: EffectOptions
) -> EffectRows:
    """The rows of a table for a model file, whose covariance was stored with it."""
    import numpy as np

    from ..tables.training import column_weights

    if options.resamples:
        raise ParameterError("A model file cannot be fitted to resamples. Give the table instead of the model file.")
    if options.clusters is not None or options.covariance is not None:
        raise ParameterError("--covariance and --clusters need the training data. Give the table, not the model file.")
    table = stored.table(reading, data)
    rows = _complete_rows(table, stored.schema)
    weights = None
    if roles.weights is not None:
        of_table = column_weights(table.read()[table.known(roles.weights)], roles.weights)
        weights = None if of_table is None else of_table[rows]
    covariance = stored.training.get("covariance")
    own = replace(options, weights=weights, covariance=None if covariance is None else np.array(covariance))
    return EffectRows(with_encoder(stored.model, stored.schema), raw_columns(table, stored.schema, rows), own)


def with_encoder(model: Any, schema: Schema) -> Any:
    """The model with the coding of raw columns."""
    from ..tables import TableEncoder

    if schema.width is not None:
        raise ParameterError("Effects need named columns, which SVMlight tables do not have. Use another format.")
    own = copy(model)
    vars(own).update(vars(model))  # copies have no training rows, which the covariance needs
    own.encoder_ = TableEncoder.of_schema(schema)
    return own


def _complete_rows(table: TableReader, schema: Schema) -> Array:
    """The numbers of the rows that the schema codes."""
    import numpy as np

    data = table.read()
    _, report = schema.encode_batch(data)
    return np.arange(data.num_rows) if report.kept is None else np.flatnonzero(report.kept)


def raw_columns(table: TableReader, schema: Schema, rows: Array) -> pa.Table:
    """Some rows of a table: numeric columns of the schema as numbers, all others as they are."""
    import numpy as np
    import pyarrow as pa

    from ..tables.values import as_floats

    data = table.read()
    for column in schema.used:
        if column.kind == "number":
            numbers = as_floats(column, data[column.name], table.missing_codes)
            is_whole = bool((np.abs(numbers) < MAX_WHOLE).all() and (numbers == np.rint(numbers)).all())
            values = pa.array(numbers.astype(np.int64) if is_whole else numbers, from_pandas=True)
            data = data.set_column(data.column_names.index(column.name), column.name, values)
    return data.take(pa.array(rows))
