"""The coding of tables as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays import Array
from ..data import Source, as_table, check_choice, encode_labels
from ..errors import ColumnError, DiscriminantWarning, DtypeError, warn
from ..results import Finding, suggestion
from .delimited import MISSING_CODES
from .facts import TableFacts
from .schema import Coding, Policy, Schema
from .sources import as_arrow
from .training import ColumnLearner, LearningOptions, TrainingTable


class TableEncoder(TransformerMixin, BaseEstimator):
    """Codes mixed tables as numbers: a column for each level of a category, missing values marked.

    Parameters
    ----------
    missing : {"indicator", "refuse"}, default="indicator"
        Missing numbers become the mean, and a column more marks them; missing categories are a level of their own. Or
        refuse them.
    drop : list of str, optional
        Columns to leave out.
    types : dict, optional
        What columns are: ``"number"``, ``"category"`` or ``"boolean"``.
    max_levels : int, default=50
        A category keeps this many levels, the most frequent ones; the others count as ``(other)``.
    rare : int, default=5
        What fewer rows than this have is not learned from, see `read_training`; 1 keeps everything.
    coding : {"reference", "full"}, default="reference"
        Which levels have a column: all but the most frequent, for models without a penalty; all for models with one.

    Attributes
    ----------
    schema_ : Schema
        What was decided about each column.
    findings_ : tuple of Finding
        Columns that were left out, and what else is worth knowing.
    n_features_in_, feature_names_in_
        The columns of the table.

    See Also
    --------
    read_training : Reads and codes a labelled table in one call.
    Schema : What was learned, with a method that codes rows in batches.

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
        missing: str = "indicator",
        drop: Any = None,
        types: Any = None,
        max_levels: int = 50,
        rare: int = 5,
        coding: str = "reference",
    ) -> None:
        self.missing = missing
        self.drop = drop
        self.types = types
        self.max_levels = max_levels
        self.rare = rare
        self.coding = coding

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns are.

        Parameters
        ----------
        X : frame or array-like of shape (n_rows, n_columns), or dataset
            The training table. A dataset (`open_dataset`) is read once; which columns give its labels away is not
            looked for.
        y : array-like of shape (n_rows,), optional
            Class labels; with them, columns that give the label away are found.

        Returns
        -------
        self
        """
        check_choice("missing", self.missing, ("indicator", "refuse"))
        policy, coding = cast("Policy", self.missing), cast("Coding", self.coding)
        options = LearningOptions(policy, self.drop or (), self.types or {}, self.max_levels, self.rare, coding=coding)
        if isinstance(X, Source):
            learned = X.learned(options)
            self.schema_, self.findings_ = learned.schema, learned.findings
            self.feature_names_in_ = np.array([column.name for column in learned.schema.columns], dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
            return self
        data = _arrow_of(X)
        labels = np.asarray(y)
        continuous = labels.dtype.kind == "f" and bool(np.any(np.mod(labels, 1) != 0))
        classes = None if y is None or continuous else encode_labels(y, data.num_rows)[1]
        learner = ColumnLearner(TableFacts(data, (), classes, None), (), options)
        for name in (*options.drop, *options.types):
            if name not in data.column_names:
                raise ColumnError(f"There is no column {name!r}.{suggestion(str(name), data.column_names)}")
        columns = learner.learn(data.column_names)
        schema = Schema(columns, None, policy, MISSING_CODES)
        if self.missing == "refuse":
            schema.encode_batch(data)
        self._check_columns(X, reset=True)
        self.schema_, self.findings_ = schema, tuple(learner.findings)
        return self

    @classmethod
    def of_training(cls, training: TrainingTable) -> Self:
        """The encoder that codes rows as a training table was; rows with gaps that were left out there are refused.

        Parameters
        ----------
        training : TrainingTable
            What `read_training` gave.

        Returns
        -------
        TableEncoder
            Fitted, to the columns that are used.
        """
        return cls.of_schema(training.schema, training.findings)

    @classmethod
    def of_schema(cls, schema: Schema, findings: tuple[Finding, ...] = ()) -> Self:
        """The encoder that codes rows as a schema says; rows with gaps that were left out in training are refused.

        Parameters
        ----------
        schema : Schema
            Of a training table, or of a model file.
        findings : tuple of Finding, default=()
            What was found in that table.

        Returns
        -------
        TableEncoder
            Fitted, to the columns that are used.
        """
        used = schema.used
        policy: Policy = "indicator" if schema.missing == "indicator" else "refuse"
        made = cls(policy)
        made.schema_ = replace(schema, columns=used, target=None, missing=policy)
        made.findings_, made.n_features_in_ = findings, len(used)
        made.feature_names_in_ = np.array([column.name for column in used], dtype=object)
        return made

    def transform(self, X: Any) -> Any:
        """The rows as numbers; levels and gaps that training had not are treated as the schema says, with a warning.

        Parameters
        ----------
        X : frame or array-like of shape (n_rows, n_columns), or dataset
            Rows with the columns of the training table.

        Returns
        -------
        array or CSR matrix of shape (n_rows, n_coded), or dataset
            Of a dataset one that codes its rows when they are read; what differs from training there is not told.
        """
        rows = self.rows(X)
        return rows if isinstance(rows, Source) else rows.values

    def rows(self, X: Any) -> Any:
        """The same as `Rows`, which know the names of the coded columns, and which are marks of levels or redundant.

        Parameters
        ----------
        X : frame or array-like
            As in `transform`.

        Returns
        -------
        Rows
        """
        check_is_fitted(self)
        if isinstance(X, Source):
            return X.coded(self.schema_)
        data = _arrow_of(X)
        self._check_columns(X, reset=False)
        coded, report = self.schema_.encode_batch(data)
        if report.unseen or report.unread or report.new_missing:
            warn(f"Not as in training: {report.describe()}.", DiscriminantWarning)
        return self.schema_.rows(coded)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the coded columns.

        Parameters
        ----------
        input_features : list of str, optional
            If given, the names of the training columns in their order.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        if input_features is not None:
            known = [column.name for column in self.schema_.columns]
            if list(input_features) != known:
                raise ColumnError(f"input_features is not equal to the columns of the training table, {known[:10]}.")
        return np.array(self.schema_.names, dtype=object)

    def _check_columns(self, X: Any, reset: bool) -> None:
        try:
            validate_data(self, X, "no_validation", reset=reset, skip_check_array=True)
        except TypeError as error:
            raise DtypeError(str(error)) from error
        except ValueError as error:
            raise ColumnError(f"{error}\nGive the columns of the training table.") from error


def _arrow_of(X: Any) -> Any:
    """A frame, array or list of rows as a pyarrow table."""
    if sp.issparse(X):
        raise DtypeError("Sparse data was passed, and a table of columns is needed. Use X.toarray().")
    table = as_table(X)
    if not isinstance(table, np.ndarray):
        return as_arrow(table)
    try:
        columns = {f"x{j}": pa.array(table[:, j], from_pandas=True) for j in range(table.shape[1])}
    except (pa.ArrowException, TypeError) as error:
        raise DtypeError(f"A column of X mixes types: argument must be a string or a number. {error}") from error
    return pa.table(columns)
