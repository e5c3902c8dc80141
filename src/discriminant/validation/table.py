"""Rows as their owner holds them, with labels and weights: what any classifier, ours or another's, can be fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import _safe_indexing

from ..data import LabelledRows, as_rows, check_weights, encode_labels
from ..data.rows import as_table
from ..errors import LabelError, WeightError
from ..evaluation.inputs import coded, position_of
from ..results import shown

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Table:
    """``X`` as it came and in a form that rows can be taken from, with a class code and perhaps a weight for each."""

    X: Any
    indexable: Any
    classes: Array
    codes: Array
    weight: Array | None

    @cached_property
    def labelled(self) -> LabelledRows:
        """The same as rows of numbers, read in blocks."""
        return LabelledRows(as_rows(self.X), self.classes, self.codes, self.weight)

    @property
    def n_rows(self) -> int:
        return int(self.indexable.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns; texts have one."""
        return int((*self.indexable.shape, 1)[1])

    def rows(self, index: Array) -> Any:
        """Some rows in the form they came in."""
        if isinstance(self.indexable, nw.DataFrame):
            return self.indexable[index.tolist(), :].to_native()
        return _safe_indexing(self.indexable, index)

    def labels(self, index: Array) -> Array:
        return self.classes[self.codes[index]]

    def weights_of(self, index: Array) -> Array | None:
        """The weights of some rows, or None where every row counts once."""
        return None if self.weight is None else self.weight[index]

    def fitting(self, index: Array) -> dict[str, Any]:
        """The weights of some rows as ``fit`` takes them."""
        return {} if self.weight is None else {"sample_weight": self.weight[index]}

    def class_weights(self, index: Array) -> Array:
        """The weight of each class among some rows."""
        return np.bincount(self.codes[index], weights=self.weights_of(index), minlength=len(self.classes))

    @cached_property
    def all_class_weights(self) -> Array:
        return self.class_weights(np.arange(self.n_rows))

    def positions(self, labels: Array, model: str) -> Array:
        """The codes of labels a model predicted."""
        found, codes = coded(labels)
        position = position_of(self.classes.tolist())
        unknown = [label for label in found if label not in position]
        if unknown:
            raise LabelError(
                f"Model {model!r} predicted {shown(unknown[0])}, which is not a class of y "
                f"({self.classes[:8].tolist()}). Only models that answer with a class can be cross-validated."
            )
        return np.array([position[label] for label in found], dtype=np.int32)[codes]

    def take(self, index: Array) -> Table:
        """Some rows with their labels and weights, the classes unchanged."""
        X = self.rows(index)
        return Table(X, _indexable(X), self.classes, self.codes[index], self.weights_of(index))


def labelled_table(X: Any, y: Any, sample_weight: Any = None) -> Table:
    """``X``, ``y`` and ``sample_weight`` checked and brought together, without copying ``X``."""
    indexable = _indexable(X)
    n_rows = int(indexable.shape[0])
    classes, codes = encode_labels(y, n_rows)
    if classes.size < 2:
        raise LabelError(f"y has only one class, {shown(classes[0])}: a classifier needs at least two classes.")
    table = Table(X, indexable, classes, codes, check_weights(sample_weight, n_rows))
    weightless = np.flatnonzero(table.all_class_weights == 0)
    if weightless.size:
        raise WeightError(f"All rows of class {shown(classes[weightless[0]])} have weight zero. Leave them out.")
    return table


def _indexable(X: Any) -> Any:
    """``X`` as a narwhals frame, CSR matrix or array; texts, one a row, stay a list of texts."""
    if isinstance(X, (list, tuple, np.ndarray)) and len(X) and isinstance(X[0], str):
        return np.asarray(X, dtype=object)
    return as_table(X)
