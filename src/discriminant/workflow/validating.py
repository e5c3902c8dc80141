"""Validate a model on the rows it is fitted to: optimism bootstrap or cross-validation, and diagnostics of the fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from .fitting import FittedModel
from .tables import LabelledTable

if TYPE_CHECKING:
    from ..arrays import Array
    from ..tables import TableReader
    from ..validation.optimism import ValidationOptions
    from ..validation.validated import Validation


@dataclass(frozen=True)
class ListedRow:
    """A row of the table, by its number there, with some of its values."""

    row: int
    values: dict[str, float]


def column_of(labelled: LabelledTable, name: str) -> Array:
    """The values of a column of the table, a label for each training row."""
    return groups_of(labelled.table, name, labelled.training.row_numbers)


def groups_of(table: TableReader, name: str, rows: Array) -> Array:
    """The values of a column in some rows of a table, as labels of groups."""
    from ..tables.training import column_groups

    return column_groups(table.read()[table.known(name)], name, table.missing_codes)[rows]


def design_of(fitted: FittedModel) -> tuple[Any, Any]:
    """The columns of a fitted model, and the model without its formula, to fit to some of the rows again.

    The knots and levels of a formula are those of all rows, as in R's rms.
    """
    from sklearn.base import clone

    labelled = fitted.table
    if labelled.formula is None:
        return labelled.rows, fitted.model
    terms = fitted.model.formula_
    if terms.offsets:
        raise ParameterError("A formula with offset() cannot be validated by resampling. Leave the offset out.")
    rows = terms.expanded(fitted.model.basis_, labelled.training.rows, fitted.model.feature_names_in_.tolist())
    return rows, clone(fitted.model)


def validate_model(fitted: FittedModel, options: ValidationOptions, by: str | None = None) -> Validation:
    """The internal validation of a model on its training rows; by the values of a column as well, if one is named."""
    from ..validation.optimism import validate

    labelled, (rows, model) = fitted.table, design_of(fitted)
    asked = replace(options, sample_weight=labelled.training.weights, groups=labelled.training.groups)
    if by is not None:
        asked = replace(asked, by=column_of(labelled, by), by_name=by)
    return validate(model, rows, labelled.labels, asked)


def quick_validation(fitted: FittedModel, resamples: int) -> Validation:
    """The internal validation with few resamples, for a page that waits for it."""
    from ..validation.optimism import ValidationOptions

    is_binary = len(fitted.table.class_rows) == 2
    return validate_model(fitted, ValidationOptions(resamples=resamples, curve=is_binary))


def listed_rows(found: Iterable[Any], labelled: LabelledTable, names: Sequence[str]) -> list[ListedRow]:
    """Rows of a result with some of their values, by their numbers in the table."""
    numbers = labelled.training.row_numbers
    return [ListedRow(int(numbers[one.row]), {name: getattr(one, name) for name in names}) for one in found]
