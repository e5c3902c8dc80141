"""Rows with class codes, weights and groups, from which training and test parts are taken for any classifier."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import (
    LabelledRows,
    Rows,
    TrainingData,
    as_rows,
    as_table,
    check_weights,
    declared_order,
    encode_labels,
    encoded,
    position_of,
)
from ..errors import InputError, LabelError, ParameterError, Setting, WeightError
from ..estimators.base import fit_in_groups, in_declared_order
from ..evaluation.inputs import positive_code
from ..partitions import streamed_rows
from ..partitions.training import LabelledPartitions
from ..results import shown


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """``X`` as given and in an indexable form, with class codes and optional weights and group numbers."""

    X: Any
    indexable: Any
    classes: Array
    codes: Array
    weight: Array | None = None
    groups: Array | None = None
    #: Streamed rows of a dataset; their codes and weights are in memory.
    streamed: LabelledPartitions | None = None
    #: The order of the classes that their column declares, for models of ordered classes.
    order: list[Any] | None = None

    @cached_property
    def labelled(self) -> TrainingData:
        """The same as rows of numbers, read in blocks."""
        return self.streamed or self.in_memory

    @cached_property
    def in_memory(self) -> LabelledRows:
        """The same as rows of numbers in memory."""
        return LabelledRows(as_rows(self.X), self.classes, self.codes, self.weight)

    @property
    def n_rows(self) -> int:
        return int(self.indexable.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns; texts have one."""
        return int((*self.indexable.shape, 1)[1])

    def rows(self, index: Array) -> Any:
        """Some rows, of the type of ``X``."""
        if isinstance(self.indexable, nw.DataFrame):
            return self.indexable[index.tolist(), :].to_native()
        return _safe_indexing(self.indexable, index)

    def labels(self, index: Array) -> Array:
        return self.classes[self.codes[index]]

    def weights_of(self, index: Array) -> Array | None:
        """The weights of some rows, or None where every row counts once."""
        return None if self.weight is None else self.weight[index]

    def fitting(self, index: Array) -> dict[str, Any]:
        """The weights of some rows as an argument of ``fit``."""
        return {} if self.weight is None else {"sample_weight": self.weight[index]}

    def fitted(self, model: BaseEstimator, index: Array | None = None) -> Any:
        """A copy of a model, fitted to some rows, by default to all; its own cross-validation respects groups."""
        chosen = np.arange(self.n_rows) if index is None else index
        X, y = self.X if index is None else self.rows(index), self.labels(chosen)
        own = in_declared_order(model, self.order, y, self.classes)
        if self.groups is None:
            return own.fit(X, y, **self.fitting(chosen))
        return fit_in_groups(own, X, y, self.groups[chosen], **self.fitting(chosen))

    def class_weights(self, index: Array) -> Array:
        """The weight of each class among some rows."""
        return np.bincount(self.codes[index], weights=self.weights_of(index), minlength=len(self.classes))

    @cached_property
    def all_class_weights(self) -> Array:
        return self.class_weights(np.arange(self.n_rows))

    def positive_code(self, positive: Hashable | None) -> int | None:
        """The code of the positive class, as `evaluation.inputs` chooses it."""
        return positive_code(positive, self.classes, self.all_class_weights)

    def positions(self, labels: Array, model: str) -> Array:
        """The codes of labels a model predicted."""
        found, codes = encoded(labels)
        position = position_of(self.classes.tolist())
        unknown = [label for label in found if label not in position]
        if unknown:
            raise LabelError(
                f"Model {model!r} predicted {shown(unknown[0])}, which is not a class of y "
                f"({self.classes[:8].tolist()}). Only models that predict classes can be cross-validated."
            )
        return np.array([position[label] for label in found], dtype=np.int32)[codes]

    def take(self, index: Array) -> LabelledTable:
        """Some rows with their labels and weights, the classes unchanged."""
        X = self.rows(index)
        groups = None if self.groups is None else self.groups[index]
        parts = (self.codes[index], self.weights_of(index), groups)
        return LabelledTable(X, _indexable(X), self.classes, *parts, order=self.order)

    @cached_property
    def class_counts(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))


def labelled_table(
    X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
) -> LabelledTable:
    """``X``, ``y``, ``sample_weight`` and ``groups`` after validation; ``X`` is not copied."""
    rows = streamed_rows(X, y, sample_weight)
    if rows is not None:
        from .passes import table_of  # which needs this module

        if groups is not None:
            raise ParameterError(
                Setting("groups"), " requires rows in memory. Leave it out, or read the rows into memory."
            )
        return table_of(rows)
    indexable = _indexable(X)
    n_rows = int(indexable.shape[0])
    classes, codes = encode_labels(y, n_rows)
    if classes.size < 2:
        raise LabelError(f"y has only one class, {shown(classes[0])}: a classifier needs at least two classes.")
    members = None if groups is None else group_codes(groups, n_rows)
    weight, order = check_weights(sample_weight, n_rows), declared_order(y)
    table = LabelledTable(X, indexable, classes, codes, weight, members, order=order)
    weightless = np.flatnonzero(table.all_class_weights == 0)
    if weightless.size:
        raise WeightError(f"All rows of class {shown(classes[weightless[0]])} have weight zero. Leave them out.")
    return table


def _indexable(X: MatrixLike) -> Any:
    """``X`` as a narwhals frame, CSR matrix, array or rows with names; texts, one a row, stay a list of texts."""
    if isinstance(X, (list, tuple, np.ndarray)) and len(X) and isinstance(X[0], str):
        return np.asarray(X, dtype=object)
    return X if isinstance(X, Rows) else as_table(X)


def group_codes(groups: ArrayLike | None, n_rows: int) -> Array:
    """The groups of the rows as numbers from 0."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise InputError(f"groups must have one entry for each of the {n_rows} rows, got shape {values.shape}.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError(f"groups contains NaN: row {int(np.argmax(np.isnan(values)))}. Give every row a group.")
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError as error:
        raise InputError(f"groups mixes types that cannot be sorted: {error}. Use one type.") from error
