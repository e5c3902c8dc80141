"""The coding of tables as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays import Array, MatrixLike
from ..data import Rows, as_table, check_choice, encode_labels, is_sparse, is_streamed
from ..errors import ColumnError, DiscriminantWarning, DtypeError, warn
from ..results import Finding, suggestion
from .column import Coding, Policy
from .dialect import MISSING_CODES
from .facts import TableFacts
from .layouts import as_arrow
from .learning import ColumnLearner, LearningOptions
from .schema import Schema
from .training import TrainingTable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import csr_matrix

    from ..data import StreamedRows

    #: A table in memory, or a dataset.
    TableLike: TypeAlias = "MatrixLike | StreamedRows"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Code mixed tables as numbers: one column per level of a category, indicators of missing values.

    Parameters
    ----------
    missing : {"indicator", "refuse"}, default="indicator"
        Impute missing numbers with the mean and add an indicator column, with missing categories as a level of their
        own. Or refuse missing values.
    drop : list of str, optional
        Columns to drop.
    types : dict, optional
        Types of columns: ``"number"``, ``"category"``, ``"boolean"`` or ``"text"``.
    max_levels : int, default=50
        Levels of a category that are coded, the most frequent ones; the others are pooled as ``(other)``.
    rare : int, default=5
        Least number of rows of what is coded, see `read_training`; 1 codes everything.
    coding : {"reference", "full", "sparse"}, default="reference"
        Which levels have a coded column: all but the most frequent, for models without a penalty; all, for models with
        a penalty; or also those beyond ``max_levels``, as a sparse matrix (`read_training`).

    Attributes
    ----------
    schema_ : Schema
        The type and coding of each column.
    findings_ : tuple of Finding
        Dropped columns and other data issues.
    n_features_in_, feature_names_in_
        The columns of the table.

    See Also
    --------
    read_training : Reads and codes a labelled table in one call.
    Schema : The learned coding, with a method that codes rows in batches.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant.tables import TableEncoder
    >>> frame = pd.DataFrame({"dose": [1.0, None, 3.0], "arm": ["a", "b", "a"]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.transform(frame)
    array([[1., 0., 0.],
           [2., 1., 1.],
           [3., 0., 0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['dose', 'dose=(missing)', 'arm=b']
    """

    schema_: Schema
    findings_: tuple[Finding, ...]

    def __init__(
        self,
        missing: Policy = "indicator",
        drop: Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
        max_levels: int = 50,
        rare: int = 5,
        coding: Coding = "reference",
    ) -> None:
        self.missing = missing
        self.drop = drop
        self.types = types
        self.max_levels = max_levels
        self.rare = rare
        self.coding = coding

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Learn the types and coding of the columns.

        Parameters
        ----------
        X : frame or array-like of shape (n_rows, n_columns), or dataset
            The training table. A dataset (`open_dataset`) is read once, and its columns are not checked for leakage.
        y : array-like of shape (n_rows,), optional
            Class labels, to check the columns for leakage.

        Returns
        -------
        self
        """
        check_choice("missing", self.missing, ("indicator", "refuse"))
        options = LearningOptions(
            self.missing, self.drop or (), self.types or {}, self.max_levels, self.rare, coding=self.coding
        )
        if is_streamed(X):
            learned = X.learned(options)
            self.schema_, self.findings_ = learned.schema, learned.findings
            self.feature_names_in_ = np.array([column.name for column in learned.schema.columns], dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
            return self
        data = _as_arrow_table(X)
        labels = np.asarray(y)
        is_continuous = labels.dtype.kind == "f" and bool(np.any(np.mod(labels, 1) != 0))
        classes = None if y is None or is_continuous else encode_labels(y, data.num_rows)[1]
        learner = ColumnLearner(TableFacts(data, (), classes, None), (), options)
        for name in (*options.drop, *options.types):
            if name not in data.column_names:
                raise ColumnError(f"X has no column {name!r}.{suggestion(str(name), data.column_names)}")
        schema = Schema(learner.learn(data.column_names), None, self.missing, MISSING_CODES)
        if self.missing == "refuse":
            schema.encode_batch(data)
        self._check_columns(X, reset=True)
        self.schema_, self.findings_ = schema, tuple(learner.findings)
        return self

    @classmethod
    def of_training(cls, training: TrainingTable) -> Self:
        """The encoder with the coding of a training table; incomplete rows, which were dropped there, are refused.

        Parameters
        ----------
        training : TrainingTable
            The result of `read_training`.

        Returns
        -------
        TableEncoder
            Fitted to the used columns.
        """
        return cls.of_schema(training.schema, training.findings)

    @classmethod
    def of_schema(cls, schema: Schema, findings: tuple[Finding, ...] = ()) -> Self:
        """The encoder with the coding of a schema; incomplete rows, which were dropped in training, are refused.

        Parameters
        ----------
        schema : Schema
            Of a training table, or of a model file.
        findings : tuple of Finding, default=()
            The findings about that table.

        Returns
        -------
        TableEncoder
            Fitted to the used columns.
        """
        used = schema.used
        policy: Policy = "indicator" if schema.missing == "indicator" else "refuse"
        made = cls(policy)
        made.schema_ = replace(schema, columns=used, target=None, missing=policy)
        made.findings_, made.n_features_in_ = findings, len(used)
        made.feature_names_in_ = np.array([column.name for column in used], dtype=object)
        return made

    def transform(self, X: TableLike) -> Array | csr_matrix | StreamedRows:
        """The coded rows; unseen levels and new missing values are coded by the schema, with a warning.

        Parameters
        ----------
        X : frame or array-like of shape (n_rows, n_columns), or dataset
            Rows with the columns of the training table.

        Returns
        -------
        array or CSR matrix of shape (n_rows, n_coded), or dataset
            A dataset is coded while it is read, without warnings.
        """
        rows = self.rows(X)
        return rows if is_streamed(rows) else rows.values  # type: ignore[union-attr]

    def rows(self, X: TableLike) -> Rows | StreamedRows:
        """The coded rows as `Rows`, with the names of the coded columns, and which are indicators or redundant.

        Parameters
        ----------
        X : frame or array-like
            As in `transform`.

        Returns
        -------
        Rows
        """
        check_is_fitted(self)
        if is_streamed(X):
            return X.coded(self.schema_)
        data = _as_arrow_table(X)
        self._check_columns(X, reset=False)
        coded, report = self.schema_.encode_batch(data)
        if report.unseen or report.unread or report.new_missing:
            warn(report.describe(), DiscriminantWarning)
        return self.schema_.rows(coded)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """The names of the coded columns.

        Parameters
        ----------
        input_features : list of str, optional
            If given, it must be the training columns in their order.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        if input_features is not None:
            known = [column.name for column in self.schema_.columns]
            if list(input_features) != known:
                raise ColumnError(f"input_features must be the columns of the training table, {known[:10]}.")
        return np.array(self.schema_.names, dtype=object)

    def _check_columns(self, X: TableLike, reset: bool) -> None:
        try:
            validate_data(self, X, "no_validation", reset=reset, skip_check_array=True)
        except TypeError as error:
            raise DtypeError(str(error)) from error
        except ValueError as error:
            raise ColumnError(f"{error}\nGive the columns of the training table.") from error


def _as_arrow_table(X: TableLike) -> pa.Table:
    """A frame, array or list of rows as a pyarrow table."""
    if is_sparse(X):
        raise DtypeError("X is sparse. Expected a table of columns: use X.toarray().")
    table = as_table(X)
    if not isinstance(table, np.ndarray):
        return as_arrow(table)
    try:
        columns = {f"x{j}": pa.array(table[:, j], from_pandas=True) for j in range(table.shape[1])}
    except (pa.ArrowException, TypeError) as error:
        # scikit-learn's estimator checks require the words of the last part.
        raise DtypeError(f"A column of X mixes types: {error}. argument must be a string or a number") from error
    return pa.table(columns)
