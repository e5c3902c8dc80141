"""The coding of a table: how its rows become rows of numbers, in training and in prediction alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from ..arrays import Array, MatrixLike
from ..data import Rows, as_frame, as_rows, check_choice, check_types, encode_labels, exact_array, is_sparse
from ..errors import ColumnError, InputError, LabelError, Setting
from ..results import quoted, shown, suggestion
from .column import Column, Policy
from .dialect import MISSING_CODES
from .encoding_report import EncodingReport
from .labels import Target, as_classes, raw_labels, respelled, whole_labels
from .layouts import Values, as_arrow, empty_matrix, without_views
from .levels import MISSING_PLACE, UNSEEN_PLACE
from .notation import Notation
from .readers import Batch
from .svmlight import SparseBatch
from .values import complete_rows, level_index, read_numbers, refuse_infinite, stripped_texts, total
from .words import word_weights

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from scipy.sparse import csr_matrix

    #: Coded rows: a float64 array, or CSR if most values are 0.
    Coded: TypeAlias = "Array | csr_matrix"

#: Rows coded at a time.
BATCH_ROWS: Final = 65536
#: Values written at a time: their rows stay in the cache until the last column is written.
BLOCK_VALUES: Final = 1 << 17
#: Threads that write coded columns while the next batch is coded.
N_WRITERS: Final = 2
#: Coded columns are a CSR matrix if there are more than this many,
MIN_SPARSE_COLUMNS: Final = 1000
#: and if at most this share of the values can be nonzero.
MAX_SPARSE_DENSITY: Final = 0.1
_VERSION: Final = 3


@dataclass(frozen=True)
class Schema:
    """How the rows of a table become rows of numbers, in training and in prediction alike.

    Parameters
    ----------
    columns : tuple of Column
        Every column except the target, weights and groups, used or not.
    target : Target, optional
        The column of classes and the classes of the training rows.
    missing : {"indicator", "drop", "refuse"}, default="indicator"
        The treatment of missing values.
    missing_codes : tuple of str, default=MISSING_CODES
        Texts that stand for missing values unless they are levels.
    width : int, optional
        The number of columns of a sparse (SVMlight) table, which has no named columns.
    first : int, default=0
        The number of the first of them: 1 if no row has a column 0.

    See Also
    --------
    read_training : Learns the schema of a table.
    TableEncoder : The same as a scikit-learn transformer.

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
    array([[50.  ,  0.  ,  1.  ],
           [31.  ,  1.  ,  0.25]])
    >>> print(*report.unseen_notes())
    'sex': 1 row with an unseen level ('x'), coded as the average of the levels
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
        """The table column of each coded column."""
        if self.width is not None:
            return self.names
        return tuple(column.name for column in self.used for _ in column.outputs)

    @cached_property
    def sparse(self) -> bool:
        """Whether rows are coded as a CSR matrix."""
        is_thin = len(self.names) > MIN_SPARSE_COLUMNS and len(self.used) <= MAX_SPARSE_DENSITY * len(self.names)
        return self.width is not None or is_thin or any(column.is_sparse for column in self.used)

    @cached_property
    def words(self) -> frozenset[str]:
        """The coded columns that are words of text columns."""
        return frozenset(
            name for column in self.used if column.kind == "text" for name in column.outputs[: len(column.levels)]
        )

    @property
    def types(self) -> dict[str, str]:
        """The types of the used columns for `open_table`, so that new tables are read like the training table.

        Numbers in a special notation are read as text, and codes as numbers, for which ``1.0`` is 1.
        """
        return {column.name: column.read_as for column in self.used}

    def encode_batch(
        self, batch: Batch | IntoFrame, *, missing_columns: str = "refuse", first_row: int = 0
    ) -> tuple[Coded, EncodingReport]:
        """Code the rows of a batch.

        Parameters
        ----------
        batch : pyarrow table or record batch, pandas or polars frame, or SparseBatch
            Rows under the names of the training columns, in any order.
        missing_columns : {"refuse", "missing"}, default="refuse"
            The treatment of columns that are missing from the batch: an error, or missing values only.
        first_row : int, default=0
            The number of the first row, for messages.

        Returns
        -------
        X : float64 array in C order, or CSR matrix, of shape (n_rows, len(names))
            An unseen level is coded by the shares of the levels in training, so that its score is their average. It is
            counted in the report. With ``missing="drop"`` incomplete rows are left out, see ``report.kept``.
        report : EncodingReport
        """
        if self.width is not None:
            return self._fit_width(batch)
        data, report = self._prepared(batch, missing_columns)
        if self.sparse:
            import scipy.sparse as sp  # slow to load

            parts = [_as_csr(coded, len(self.names)) for _, coded in _coded_batches(self, data, report, first_row)]
            return sp.vstack(parts, "csr") if parts else sp.csr_matrix((0, len(self.names))), report
        out = empty_matrix(data.num_rows, len(self.names))
        with ThreadPoolExecutor(N_WRITERS) as writers:  # copying releases the GIL
            batches = _coded_batches(self, data, report, first_row)
            for each in [writers.submit(_write, coded, out[where]) for where, coded in batches]:
                each.result()
        return out, report

    def code_into(self, batch: pa.Table, out: Array, first_row: int = 0) -> tuple[int, EncodingReport]:
        """Code a batch into the first rows of an existing array; not for sparse schemas.

        Parameters
        ----------
        batch : pyarrow table
            As in `encode_batch`.
        out : array of shape (n_rows or more, len(names))
            The output.
        first_row : int, default=0
            The number of the first row, for messages.

        Returns
        -------
        n_rows : int
            The number of coded rows: with ``missing="drop"`` incomplete ones are left out.
        report : EncodingReport
        """
        data, report = self._prepared(batch, "refuse")
        for where, coded in _coded_batches(self, data, report, first_row):
            _write(coded, out[where])
        return data.num_rows, report

    def _prepared(self, batch: Batch | IntoFrame, missing_columns: str) -> tuple[pa.Table, EncodingReport]:
        """The used columns of a batch, without rows that are left out."""
        data, report = _used_columns(self, arrow_table(batch), missing_columns)
        if self.missing != "indicator":
            report.kept = complete_rows(self.used, data, self.missing_codes, self.missing == "refuse")
            data = data if report.kept.all() else data.filter(report.kept)
        return data, report

    @property
    def with_unseen_as_reference(self) -> Schema:
        """The schema with unseen levels coded as the most frequent level of their column.

        If scores are not linear in the coded columns, the score of average columns is not an average of the scores of
        the levels, and may be outside their range.
        """
        coded = (each.with_unseen_as_reference if each.kind == "category" else each for each in self.columns)
        return replace(self, columns=tuple(coded))

    def rows(self, X: MatrixLike) -> Rows:
        """Coded rows with the names of their columns, and which of these are indicators or redundant.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, len(names))
            The result of `encode_batch`.

        Returns
        -------
        Rows
        """
        return as_rows(X, self.names, *((None, None) if self.width is not None else self.marked()))

    def marked(self) -> tuple[Array, Array]:
        """Which coded columns are indicators of levels or missing values, and which are redundant.

        Returns
        -------
        indicators : array of bool of shape (len(names),)
        redundant : array of bool of shape (len(names),)
        """
        return self._marked

    @cached_property
    def _marked(self) -> tuple[Array, Array]:
        coded = [(column.is_indicator, column.redundant) for column in self.used]
        indicators, redundant = (np.array([one for own in each for one in own]) for each in zip(*coded, strict=True))
        return indicators, redundant

    def class_codes(self, values: Values) -> Array:
        """The code of each row's class, -1 for rows without a class.

        Parameters
        ----------
        values : pyarrow array
            The column of classes.

        Returns
        -------
        array of int32 of shape (n_rows,)
        """
        assert self.target is not None
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        n_distinct, name = len(coded.dictionary), self.target.name
        if name is None:
            labels, present = self.labels(SparseBatch(None, np.asarray(coded.dictionary)))
        else:
            labels, present = self.labels(without_views(pa.table({name: coded.dictionary})))
        places = {label: place for place, label in enumerate(self.target.classes)}
        table = np.full(n_distinct + 1, -1, dtype=np.int32)
        table[np.flatnonzero(present)] = [places[label] for label in labels.tolist()]
        index = coded.indices.cast(pa.int64()).fill_null(n_distinct)
        return np.asarray(table[index.to_numpy(zero_copy_only=False)])

    def labels(self, batch: Batch | IntoFrame) -> tuple[Array, Array]:
        """The class of each labelled row of a batch, and a mask of these rows; unseen classes raise an error.

        Rows of classes that were left out of the training have no label.

        Parameters
        ----------
        batch : pyarrow table or record batch, frame, or SparseBatch
            Rows with the column of classes.

        Returns
        -------
        labels : array of shape (n_labelled,)
        present : array of bool of shape (n_rows,)
        """
        target = self.target
        if target is None:
            raise InputError("The schema has no target. Create it from a table with a target column.")
        if target.name is None:
            assert isinstance(batch, SparseBatch)
            labels, present = whole_labels(batch.y), np.ones(len(batch.y), dtype=bool)
        else:
            values = arrow_table(batch)[target.name]
            labels, present = raw_labels(values, target.name, self.missing_codes, target.classes)
        labels = respelled(as_classes(labels, target), dict(target.spellings))
        if target.left_out:
            wanted = ~np.isin(labels, exact_array(target.left_out))
            present = present.copy()
            present[present], labels = wanted, labels[wanted]
        found = encode_labels(labels, len(labels))[0].tolist() if labels.size else []
        unknown = set(found).difference(target.classes)
        if unknown:
            raise LabelError(
                f"Target {target.name!r} has the unseen class {shown(min(unknown))}. Expected classes of the training "
                f"data: {quoted(target.classes, 10)}. Correct the labels, or fit again."
            )
        return labels, present

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        return {"version": _VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """The schema from the values of `to_dict`.

        Parameters
        ----------
        values : dict
            Tuples may be lists, as in JSON.

        Returns
        -------
        Schema
        """
        try:
            if values["version"] != _VERSION:
                raise InputError(
                    f"The schema has version {values['version']!r}. Expected {_VERSION}: upgrade discriminant, or "
                    "create the schema again."
                )
            columns = tuple(Column(**_with_tuples(column)) for column in values["columns"])
            target = values["target"] and Target(**_with_tuples(values["target"]))
            codes = tuple(values["missing_codes"])
            schema = cls(columns, target, values["missing"], codes, values["width"], values["first"])
        except InputError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"The values are not those of a schema: {error!r}. Use Schema.to_dict().") from error
        notations = [column.notation for column in columns]
        for record in (schema, *columns, *notations, *([] if target is None else [target])):
            check_types(record)
        for column in columns:
            column.check_shares()
        duplicates = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
        if duplicates:
            raise InputError(
                f"The schema has several columns with the same name: {quoted(duplicates)}. Create the schema again."
            )
        return schema

    def describe(self) -> str:
        """One line for each column, and one for the target.

        Returns
        -------
        str
        """
        lines = [column.describe() for column in self.columns]
        if self.width is not None:
            lines.append(f"{self.width:,} numbered columns")
        return "\n".join(lines + ([] if self.target is None else [self.target.describe()]))

    def _fit_width(self, batch: Batch | IntoFrame) -> tuple[csr_matrix, EncodingReport]:
        """Sparse rows with the number of columns of the training rows."""
        assert self.width is not None
        if not isinstance(batch, SparseBatch):
            raise InputError("The model was fitted to SVMlight rows. Give rows in this format.")
        X, stop = batch.X, self.first + self.width
        extra = tuple(map(str, np.unique(X.indices[(X.indices >= stop) | (X.indices < self.first)]).tolist()))
        if X.shape[1] != stop:
            X = X.copy()
            X.resize(X.shape[0], stop)
        X = X[:, self.first :] if self.first else X
        if not np.isfinite(X.data).all():
            raise InputError(
                "The SVMlight rows have NaN or infinite values. Expected finite numbers: correct the file."
            )
        return X, EncodingReport(n_rows=batch.num_rows, extra=extra)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a column or target from JSON, with tuples for lists."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    fields["spellings"] = tuple((str(spelling), str(level)) for spelling, level in values["spellings"])
    return fields | ({"notation": Notation.from_dict(values["notation"])} if "notation" in values else {})


def arrow_table(batch: Batch | IntoFrame) -> pa.Table:
    """A frame, table or record batch as a pyarrow table."""
    batch = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    if isinstance(batch, pa.Table) and len(set(batch.column_names)) == batch.num_columns:
        return without_views(batch.replace_schema_metadata(None))
    frame = as_frame(batch)
    if frame is None:
        raise InputError(f"Expected a data frame or a pyarrow table, got {type(batch).__name__}. Convert it.")
    return as_arrow(frame)


def _used_columns(schema: Schema, data: pa.Table, missing_columns: str) -> tuple[pa.Table, EncodingReport]:
    """The used columns in the order of the schema; extra and missing columns are in the report."""
    check_choice("missing_columns", missing_columns, ("refuse", "missing"))
    names = [column.name for column in schema.used]
    present = set(data.column_names)
    missing = [name for name in names if name not in present]
    if missing and missing_columns == "refuse":
        raise ColumnError(
            f"Columns required by the model are missing from the data: {quoted(missing)}."
            f"{suggestion(missing[0], present - set(names))} Add them, or treat them as missing values with ",
            Setting("missing_columns", "missing"),
            ".",
        )
    known = {column.name for column in schema.columns} | ({schema.target.name} if schema.target else set())
    extra = tuple(name for name in data.column_names if name not in known)
    report = EncodingReport(n_rows=data.num_rows, extra=extra, missing_columns=tuple(missing))
    if not missing:
        return data.select(names), report
    nulls = pa.nulls(data.num_rows)
    return pa.table({name: data[name] if name in present else nulls for name in names}), report


class _CodedColumn(NamedTuple):
    """A coded column of numbers, the words of a text, or the places of levels among the ``width`` of a category."""

    first: int
    values: Any
    width: int | None = None
    shares: tuple[float, ...] = ()  #: the first columns of an unseen level


def _coded_batches(
    schema: Schema, data: pa.Table, report: EncodingReport, first_row: int
) -> Iterator[tuple[slice, list[_CodedColumn]]]:
    data = data.unify_dictionaries()
    for start in range(0, data.num_rows, BATCH_ROWS):
        # Small chunks are combined.
        for batch in data.slice(start, BATCH_ROWS).combine_chunks().to_batches():
            coded: list[_CodedColumn] = []
            first = 0
            for column, values in zip(schema.used, batch.columns, strict=True):
                if column.kind == "category":
                    places = _coded_category(column, values, schema.missing_codes, report)
                    coded.append(_CodedColumn(first, places, len(column.outputs), column.shares))
                elif column.kind == "text":
                    coded.append(_CodedColumn(first, _coded_text(column, values, schema.missing_codes, report)))
                else:
                    numbers, missing = _coded_number(column, values, schema.missing_codes, report, first_row + start)
                    coded.append(_CodedColumn(first, numbers))
                    if column.missing_column:
                        coded.append(_CodedColumn(first + 1, missing.astype(np.float64)))
                first += len(column.outputs)
            yield slice(start, start + batch.num_rows), coded
            start += batch.num_rows


def _write(coded: list[_CodedColumn], out: Array) -> None:
    step = max(BLOCK_VALUES // max(out.shape[1], 1), 64)
    for start in range(0, len(out), step):
        block = out[start : start + step]
        for first, values, width, shares in coded:
            part = values[start : start + step]
            if width is None:
                block[:, first] = part
            else:
                block[:, first : first + width] = 0
                rows = np.flatnonzero(part >= 0)
                block[rows, first + part[rows]] = 1
                block[part == UNSEEN_PLACE, first : first + len(shares)] = shares


def _as_csr(coded: list[_CodedColumn], n_columns: int) -> csr_matrix:
    entries = []
    for first, values, width, shares in coded:
        if is_sparse(values):
            own = values.tocoo()
            entries.append((own.row, first + own.col, own.data))
            continue
        rows = np.flatnonzero(values if width is None else values >= 0)
        if width is None:
            entries.append((rows, np.full(rows.size, first), values[rows]))
            continue
        entries.append((rows, first + values[rows], np.ones(rows.size)))
        unseen = np.flatnonzero(values == UNSEEN_PLACE)
        places = first + np.arange(len(shares))
        entries.append((np.repeat(unseen, len(shares)), np.tile(places, unseen.size), np.tile(shares, unseen.size)))
    rows, places, numbers = map(np.concatenate, zip(*entries, strict=True))
    from scipy.sparse import csr_matrix

    return csr_matrix((numbers, (rows, places)), shape=(coded[0].values.shape[0], n_columns))


def _coded_number(
    column: Column, values: Values, codes: Sequence[str], report: EncodingReport, first_row: int
) -> tuple[Array, Array]:
    """The numbers with missing values imputed, and which are missing."""
    numbers, unread = read_numbers(column, values, codes)
    report.add_unread(column, unread)
    if np.isfinite(total(numbers)):
        return numbers, np.zeros(numbers.size, dtype=bool)
    missing = np.isnan(numbers)
    refuse_infinite(column.name, numbers, first_row)
    report.add_missing(column, int(np.count_nonzero(missing)))
    return np.where(missing, column.mean, numbers), missing  # type: ignore[arg-type]


def _coded_text(column: Column, values: Values, codes: Sequence[str], report: EncodingReport) -> csr_matrix:
    """The weights of the words of each row, with the missing-value indicator as the last column."""
    from scipy.sparse import csr_matrix, hstack

    texts, index = stripped_texts(values, codes)
    missing = index == len(texts)
    report.add_missing(column, int(np.count_nonzero(missing)))
    found = word_weights([*texts, ""], column)[index]
    return hstack([found, csr_matrix(missing[:, None], dtype=np.float64)], "csr") if column.missing_column else found


def _coded_category(column: Column, values: Values, codes: Sequence[str], report: EncodingReport) -> Array:
    """The coded column of each row's level, `REFERENCE_PLACE` for none, `UNSEEN_PLACE` for the shares."""
    index, unseen = level_index(column.name, values, column.places, codes)
    missing = index == MISSING_PLACE
    report.add_missing(column, int(np.count_nonzero(missing)))
    report.add_unseen(column, unseen())
    if not column.knows_levels:
        index = np.where(index == UNSEEN_PLACE, column.place_of_other, index)
    return np.where(missing, len(column.outputs) - 1 if column.missing_column else column.place_of_reference, index)
