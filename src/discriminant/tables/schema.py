"""What was decided about each column of a table, so that new rows are treated as the first ones were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ..data.labels import encode_labels
from ..data.rows import Rows, as_rows
from ..errors import ColumnError, InputError, LabelError
from ..results import quoted, shown
from .coding import MISSING, OTHER, EncodingReport, arrow_table, distinct_texts, encode, is_numeric
from .dialect import MISSING_CODES
from .files import SparseBatch
from .sources import is_text

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Target:
    """The classes of the training rows: what the column is called, what its values are, and which there are."""

    name: str | None
    kind: Literal["text", "integer", "boolean"]
    classes: tuple[Any, ...]

    def describe(self) -> str:
        """One line in words."""
        return f"{self.name or 'labels'}: {len(self.classes)} classes, {quoted(self.classes, 10)}"

    def labels(self, batch: Any, codes: Sequence[str]) -> tuple[Array, Array]:
        """The labels of the rows that have one, and which rows those are."""
        if self.name is None:
            labels, present = whole_labels(batch.y), np.ones(len(batch.y), dtype=bool)
        else:
            labels, present = raw_labels(arrow_table(batch)[self.name], self.name, codes, self.classes)
        if self.kind == "text" and labels.dtype.kind != "U":
            labels = np.array([str(v) for v in labels.tolist()])
        known = set(self.classes)
        unknown = (
            [label for label in encode_labels(labels, len(labels))[0].tolist() if label not in known]
            if labels.size
            else []
        )
        if unknown:
            raise LabelError(
                f"Target {self.name!r} has the class {shown(unknown[0])}, which training had not. "
                f"Classes: {quoted(self.classes, 10)}."
            )
        return labels, present


def raw_labels(values: Any, name: str | None, codes: Sequence[str], classes: Sequence[Any] = ()) -> tuple[Array, Array]:
    """The labels of the rows that have one, as text, whole numbers or booleans, and which rows those are."""
    kind = values.type
    if is_text(kind) or pa.types.is_null(kind):
        return _text_labels(values, codes, classes)
    if pa.types.is_boolean(kind) or is_numeric(kind):
        numbers = np.asarray(values.cast(pa.float64()).to_numpy())
        present = ~np.isnan(numbers)
        return _typed(values, numbers, present), present
    raise ColumnError(f"Target {name!r} holds {kind}: classes are text, whole numbers or true and false.")


def _typed(values: Any, numbers: Array, present: Array) -> Array:
    """Numbers as their owner meant them: whole ones are integers, also where gaps made them floats."""
    if pa.types.is_boolean(values.type):
        return numbers[present].astype(bool)
    if pa.types.is_integer(values.type):
        return np.asarray(values.drop_null().to_numpy())
    return whole_labels(numbers[present])


def whole_labels(labels: Array) -> Array:
    """Labels that are whole numbers as integers, others as they are."""
    exact = np.abs(labels) < 2**53
    return labels.astype(np.int64) if exact.all() and np.all(np.mod(labels, 1) == 0) else labels


def _text_labels(values: Any, codes: Sequence[str], classes: Sequence[Any]) -> tuple[Array, Array]:
    texts, index = distinct_texts(values)
    known = set(classes)
    trimmed = [text if text in known else text.strip() for text in texts]
    missing = missing_texts(trimmed, codes, known)
    present = np.array([text not in missing for text in trimmed] + [False])[index]
    return np.array([*trimmed, ""])[index[present]], present


def missing_texts(texts: Sequence[str], codes: Sequence[str], levels: Any = ()) -> set[str]:
    """Those of the texts that stand for a missing value.

    A sign such as ``-`` or ``?`` is a level like the others beside another sign, such as ``+``.
    """
    found = {text for text in texts if text in codes and text not in levels}
    signs = {text for text in texts if text and not any(map(str.isalnum, text))}
    return found - signs if signs - set(codes) else found


Kind = Literal["number", "category", "boolean", "text", "empty"]
Policy = Literal["indicator", "drop", "refuse"]
POLICIES: tuple[Policy, ...] = ("indicator", "drop", "refuse")

_VERSION = 2
#: Coded columns are a sparse matrix when there are more than this many,
_WIDE = 1000
#: and at most this share of the values can differ from 0.
_THIN = 0.1


@dataclass(frozen=True)
class Column:
    """One column of the training table and what was decided about it.

    Attributes
    ----------
    name, kind : str
    dropped : str or None
        Why the column is not used.
    missing : int
        Missing values in the training rows.
    mean : float or None
        The mean of a number, or the share of true values: it stands in for missing ones.
    levels : tuple of str
        The levels of a category, sorted.
    reference : str or None
        The most frequent level; it has no coded column. ``(other)`` where no level is frequent enough to stand alone.
    pooled : int
        How many rarer levels count as ``(other)``.
    rare_levels : tuple of str
        Levels of the training rows that share a place: ``(other)``, or the reference level where ``pooled`` is 0. Of
        very many only the most frequent are kept.
    missing_column : bool
        Whether missing values have a coded column of their own.
    """

    name: str
    kind: Kind
    dropped: str | None = None
    missing: int = 0
    mean: float | None = None
    levels: tuple[str, ...] = ()
    reference: str | None = None
    pooled: int = 0
    missing_column: bool = False
    rare_levels: tuple[str, ...] = ()

    @cached_property
    def coded_levels(self) -> tuple[str, ...]:
        """The levels that have a coded column each, in order."""
        own = tuple(level for level in self.levels if level != self.reference)
        return own + ((OTHER,) if self.other_column else ())

    @property
    def other_column(self) -> bool:
        """Whether ``(other)`` has a coded column: it has none where it is the reference."""
        return self.pooled > 0 and self.reference != OTHER

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the coded columns."""
        if self.dropped is not None:
            return ()
        own = tuple(f"{self.name}={level}" for level in self.coded_levels) if self.kind == "category" else (self.name,)
        return own + ((f"{self.name}={MISSING}",) if self.missing_column else ())

    def describe(self) -> str:
        """One line that says what was decided."""
        return f"{self.name}: {self.words}"

    @property
    def words(self) -> str:
        """What was decided, without the name."""
        if self.dropped is not None:
            return f"left out, {self.dropped}"
        number = "0 or 1" if self.kind == "boolean" else "number"
        kind = self._describe_levels() if self.kind == "category" else number
        return "; ".join(filter(None, (kind, self.missing_words)))

    def _describe_levels(self) -> str:
        if not self.levels:
            return f"category, its {self.pooled:,} levels all rare and taken together as {OTHER}"
        levels = "1 level" if len(self.levels) == 1 else f"{len(self.levels)} levels"
        rarer = f"{self.pooled:,} rarer one{'s' if self.pooled > 1 else ''}"
        return f"category with {levels}{f', {rarer} as {OTHER}' * bool(self.pooled)}, compared with {self.reference!r}"

    @property
    def missing_words(self) -> str:
        """How many values are missing, and what stands for them; empty where none is."""
        if not self.missing:
            return ""
        if self.kind == "category":
            treated = "a level of their own" if self.missing_column else f"read as {self.reference!r}"
        else:
            treated = f"filled with the mean {self.mean:.6g}" + (" and marked" if self.missing_column else "")
        return f"{self.missing:,} missing values, {treated}"


@dataclass(frozen=True)
class Schema:
    """How the rows of a table become rows of numbers, the same way in training and in prediction.

    Attributes
    ----------
    columns : tuple of Column
        Every column but the target, weights and groups, used or not.
    target : Target or None
    missing : {"indicator", "drop", "refuse"}
        What is done about missing values.
    missing_codes : tuple of str
        Texts that count as missing unless they are levels.
    width : int or None
        The number of columns of a sparse (SVMlight) table, which has no named columns.
    first : int
        The number of the first of them: 1 where no row has a column 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant.tables import read_training
    >>> frame = pd.DataFrame({"age": [31, 40, None, 22], "sex": ["f", "m", "m", "m"], "ill": ["y", "n", "n", "y"]})
    >>> schema = read_training(frame, "ill").schema
    >>> schema.names
    ('age', 'age=(missing)', 'sex=f')
    >>> X, report = schema.encode_batch(pd.DataFrame({"age": [50.0, None], "sex": ["f", "x"]}))
    >>> X
    array([[50.,  0.,  1.],
           [31.,  1.,  0.]])
    >>> print(report.describe())
    2 rows; missing values filled: 1 in 'age'; levels not seen in training: 'x' in 'sex'
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    missing: Policy = "indicator"
    missing_codes: tuple[str, ...] = MISSING_CODES
    width: int | None = None
    first: int = 0

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns that are coded."""
        return tuple(column for column in self.columns if column.dropped is None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the coded columns; those of a sparse table are its column numbers."""
        if self.width is not None:
            return tuple(map(str, range(self.first, self.first + self.width)))
        return tuple(name for column in self.used for name in column.outputs)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The table's column that each coded column comes from."""
        if self.width is not None:
            return self.names
        return tuple(column.name for column in self.used for _ in column.outputs)

    @cached_property
    def sparse(self) -> bool:
        """Whether rows are coded as a CSR matrix."""
        if self.width is not None:
            return True
        return len(self.names) > _WIDE and len(self.used) <= _THIN * len(self.names)

    @property
    def types(self) -> dict[str, str]:
        """What the used columns are, as `open_table` takes it: a table of new rows is then read like the first."""
        return {column.name: column.kind for column in self.used}

    def encode_batch(self, batch: Any, *, absent: str = "refuse", first_row: int = 0) -> tuple[Any, EncodingReport]:
        """The coded rows of a batch, and a report of what had to be decided on the way.

        Parameters
        ----------
        batch : pyarrow table or record batch, pandas or polars frame, or SparseBatch
        absent : {"refuse", "missing"}
            What to do about columns the batch has not got: an error, or take all their values as missing.
        first_row : int
            The number of the first row, for messages.

        Returns
        -------
        X : float64 array in C order, or CSR matrix, of shape (n_rows, len(names))
            A level not seen in training counts as ``(other)`` where the column has that, else as missing where missing
            values have a column of their own, else as the reference level. It is counted in the report. With
            ``missing="drop"`` incomplete rows are left out, see ``report.kept``.
        report : EncodingReport
        """
        if self.width is not None:
            return self._fit_width(batch)
        return encode(self, batch, absent, first_row)

    def rows(self, X: Any) -> Rows:
        """Coded rows with the names of their columns, for a model that knows its columns by name."""
        return as_rows(X, self.names)

    def labels(self, batch: Any) -> tuple[Any, Any]:
        """The class of each row of a batch, and which rows have one; classes that the training lacked are an error."""
        if self.target is None:
            raise InputError("The table this schema was learned from had no target.")
        return self.target.labels(batch, self.missing_codes)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values that JSON can hold."""
        return {"version": _VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """The schema of which `to_dict` gave these values."""
        try:
            if values["version"] != _VERSION:
                raise InputError(
                    f"This schema has version {values['version']!r}; expected {_VERSION}. Upgrade discriminant, or "
                    "learn it anew."
                )
            columns = tuple(_column(column) for column in values["columns"])
            target = values["target"] and Target(**{**values["target"], "classes": tuple(values["target"]["classes"])})
            codes = tuple(values["missing_codes"])
            return cls(columns, target, values["missing"], codes, values["width"], values["first"])
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"These values are not those of a schema: {error!r}. Use Schema.to_dict().") from error

    def describe(self) -> str:
        """One line for each column, and one for the target."""
        lines = [column.describe() for column in self.columns]
        if self.width is not None:
            lines.append(f"{self.width:,} numbered columns")
        return "\n".join(lines + ([] if self.target is None else [self.target.describe()]))

    def _fit_width(self, batch: Any) -> tuple[Any, EncodingReport]:
        """Sparse rows brought to the width of the training rows."""
        assert self.width is not None
        if not isinstance(batch, SparseBatch):
            raise InputError("The model was trained on SVMlight rows: give rows of that format.")
        X, stop = batch.X, self.first + self.width
        extra = tuple(map(str, np.unique(X.indices[(X.indices >= stop) | (X.indices < self.first)]).tolist()))
        if X.shape[1] != stop:
            X = X.copy()
            X.resize(X.shape[0], stop)
        X = X[:, self.first :] if self.first else X
        if not np.isfinite(X.data).all():
            raise InputError("The SVMlight rows hold NaN or infinity. Every value must be a finite number.")
        return X, EncodingReport(n_rows=batch.num_rows, extra=extra)


def _column(values: Mapping[str, Any]) -> Column:
    """The column of these values, in which lists stand for tuples."""
    read: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Column(**read)
