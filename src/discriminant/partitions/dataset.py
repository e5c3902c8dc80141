"""Rows in files, read anew in every pass: what every fit by reductions takes in the place of rows in memory.

`PartitionedRows` are a list of pieces (`pieces`) and the parts that columns play; they hold no row. Consecutive pieces
make a *span*, as blocks in memory do: a worker reads a span, its statistic is small, and statistics are merged in the
order of the spans. Spans depend on the files alone, hence so does every bit of a result, whoever read which of them.

Labels become codes where they are read, so their classes have to be known first. A *survey* reads the columns of
labels, weights and clusters alone. What solvers want to see of the rows beforehand (their scale, a Hessian to start
from, signs of separation) comes from a *sample* of rows from all of them, at most 64 MB, read when it is
first asked for.

A pass costs decoding and turning columns to rows, about a microsecond for 50 numbers, whatever is computed of them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays import Array
from ..data import (
    Block,
    LabelledRows,
    Source,
    as_rows,
    consecutive_runs,
    dense_rows,
    drawn,
    fold_of_rows,
    has_fractions,
    is_collection,
    label_array,
    largest_of_columns,
    ordered,
    raise_nonfinite,
    rows_of_width,
)
from ..engine import Executor, Threads, reduce
from ..errors import ColumnError, InputError, LabelError, Model, ParameterError, Part, WeightError
from ..files import paths_of
from ..kernels import transpose
from ..results import quoted, suggestion
from .coding import Choosing, Learned, Learning, Written
from .executors import executor_of
from .pieces import LISTED, Opened, Piece, Slab, is_partitioned, kind_of, pieces_of, types_of
from .progress import Passes, Watched

if TYPE_CHECKING:
    from ..tables.schema import Column, Policy, Schema
    from ..tables.sources import SparseBatch
    from ..tables.training import LearningOptions

#: As many statistics are merged at most: a run of pieces has one, however many pieces there are.
_MOST_SPANS = 1024
#: and no more than so many bytes of second derivatives of all columns, unless few would be read side by side then.
_STATISTIC_BYTES, _LEAST_SPANS = 1 << 31, 64
#: Labels, weights and clusters are narrow: so many rows of them at a time.
_SURVEY_ROWS = 1 << 17
#: Rows of a block of sparse ones.
_SPARSE_ROWS = 8192
#: What a sample may hold. Of 50 columns it has 160,000 rows: their Hessian is within a hundredth or two of the whole's.
_SAMPLE_BYTES = 1 << 26
#: Rows that a model needs at hand are gathered up to this size.
_GATHERED_BYTES = 1 << 30


@dataclass(frozen=True)
class Roles:
    """The parts that columns play."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    offset: tuple[str, ...] = ()
    cluster: str | None = None
    #: Whether the features have names: columns of arrays have numbers.
    named: bool = True

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that the survey reads."""
        return tuple(name for name in (self.target, self.weight, self.cluster) if name is not None)


@dataclass(frozen=True)
class PartitionedRows(Source):
    """Rows in files that are read anew in every pass; `open_dataset` makes one, and estimators take it like an array.

    Attributes
    ----------
    names : tuple of str
        The columns that models learn from.
    n_rows, n_columns : int
    n_partitions : int
        How many parts are read side by side. Results depend on them, in their last digits, and not on who reads them.

    See Also
    --------
    open_dataset : Opens files.

    """

    roles: Roles
    pieces: tuple[Piece, ...]
    executor: Executor = field(default_factory=Threads)
    #: The types of all columns, and how their files are written.
    types: Mapping[str, Any] = field(default_factory=dict, repr=False)
    written: Written = field(default_factory=Written, repr=False)
    #: How columns are coded; None where they are numbers as they stand.
    schema: Schema | None = field(default=None, repr=False)
    #: Rows with gaps in these columns are left out.
    complete: tuple[Column, ...] = field(default=(), repr=False)
    #: What lives as long as the rows are read: files that were decoded for them.
    kept: Any = field(default=None, repr=False)
    #: What blocks are turned to before they are handed on, by their rows and the number of the first.
    view: Callable[[Array, int], Any] | None = None
    #: Which fold, of how many, is left out: its rows have no weight.
    held: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.roles.features:
            raise ColumnError("There is no column to learn from besides those that were named. Give at least one more.")

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The columns that models learn from, None where they have numbers alone."""
        if not self.roles.named:
            return None
        return self.roles.features if self.schema is None else self.schema.names

    @cached_property
    def marks(self) -> Array | None:  # type: ignore[override]
        """Which columns are marks of levels, where they are coded."""
        return None if self.schema is None or self.schema.width is not None else self.schema.marked()[0]

    @cached_property
    def redundant(self) -> Array | None:  # type: ignore[override]
        """Which columns follow from others, where they are coded."""
        return None if self.schema is None or self.schema.width is not None else self.schema.marked()[1]

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        """How many rows there are."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """How many columns models learn from."""
        return len(self.roles.features if self.schema is None else self.schema.names)

    @property
    def n_bytes(self) -> int:
        """What the rows would take in memory, about; of sparse rows only what is not 0."""
        sparse = self.schema is not None and self.schema.sparse
        of_row = self.written.row_bytes or 16 * len(self.roles.features)
        return self.n_rows * (of_row if sparse else 8 * self.n_columns)

    @property
    def n_partitions(self) -> int:
        """How many parts are read side by side."""
        return len(self.spans)

    @cached_property
    def spans(self) -> list[tuple[Piece, ...]]:  # type: ignore[override]
        """Runs of consecutive pieces."""
        if getattr(self.executor, "piece_by_piece", False):
            return [(piece,) for piece in self.pieces]
        runs = consecutive_runs(range(len(self.pieces)), most_spans(self.n_columns))
        return [self.pieces[run.start : run.stop] for run in runs]

    def on(self, executor: Any) -> PartitionedRows:
        """The same rows, read by others.

        Parameters
        ----------
        executor : Dask client, Spark session, address or name
            As in `open_dataset`.

        Returns
        -------
        PartitionedRows
        """
        return replace(self, executor=executor_of(executor))

    @cached_property
    def _passes(self) -> Passes:
        return Passes()

    @property
    def watched(self) -> Executor:
        """Who reads the rows; on a terminal it is told how far they are."""
        return Watched(self.executor, self._passes)

    def checkpointed(self, path: str | os.PathLike[str]) -> PartitionedRows:
        """The same rows, what each pass over them finds being kept in a file until you remove it.

        A fit that was broken off and is begun again finds there what it had found, and goes on: the result has the same
        bits as without. What does not match, because the files or the model are others, is computed anew.

        Parameters
        ----------
        path : str or path
            A file that is not there, or that of the fit that was broken off.

        Returns
        -------
        PartitionedRows
        """
        from .checkpoint import Checkpointed

        return replace(self, executor=Checkpointed(self.executor, path))

    def __getstate__(self) -> dict[str, Any]:
        """Without the cluster: that is a matter of the process."""
        return vars(self) | {"executor": Threads(), "kept": None}

    @property
    def blocks(self) -> Callable[[tuple[Piece, ...]], Iterator[tuple[Array, slice]]]:
        """From a span to its rows, without labels, and their numbers; may be sent anywhere."""
        self._refuse_text()
        schema = None if self.schema is None else replace(self.schema, target=None)
        if schema is not None and schema.missing == "drop":
            raise InputError("Rows with missing values would have no answer: code them with missing='indicator'.")
        roles = replace(self.roles, target=None, weight=None, offset=(), cluster=None)
        return _Reading(roles, schema, view=self.view).blocks

    def without_fold(self, number: int, n_folds: int) -> PartitionedRows:
        """The rows but those of a fold, by `fold_of_rows`.

        Parameters
        ----------
        number, n_folds : int
            Which fold, of how many.

        Returns
        -------
        PartitionedRows
        """
        return replace(self, held=(number, n_folds))

    def learned(self, options: LearningOptions, labels: bool = False) -> Learned:
        """How the columns are to be coded: what is decided of a table in memory, by a pass over the rows.

        Parameters
        ----------
        options : LearningOptions
            As `read_training` takes them.
        labels : bool, default=False
            Whether labels are learned, too: rows without one are then left out, as are classes that are too rare.

        Returns
        -------
        Learned
            With ``schema`` and ``findings``.
        """
        learning = Learning(self, options, _batches)
        return learning.table() if labels else learning.columns()

    def coded(self, schema: Schema, complete: Sequence[Column] | None = None) -> PartitionedRows:
        """The same rows as a schema codes them, with the names of the coded columns.

        Parameters
        ----------
        schema : Schema
            That of training, see `learned`.
        complete : sequence of Column, optional
            Rows with gaps in these are left out; by default in all that are used, if the schema leaves out such rows.

        Returns
        -------
        PartitionedRows
        """
        if schema.width is not None:
            return replace(self, schema=schema)
        columns = [column.name for column in schema.used]
        lacking = [name for name in columns if name not in self.types]
        if lacking:
            raise ColumnError(f"Columns of the training are not there: {quoted(lacking)}. Add them to all files.")
        target = self.roles.target if schema.target is None else schema.target.name
        if target is not None and target not in self.types:
            target = None
        roles = replace(self.roles, features=tuple(columns), target=target)
        if complete is None:
            complete = schema.used if schema.missing == "drop" else ()
        return replace(self, roles=roles, schema=schema, complete=tuple(complete))

    @property
    def choosing(self) -> Choosing | None:
        """Which rows have a class, and all values where gaps matter; None where labels are taken as they stand."""
        if self.schema is None or (self.schema.target is None and not self.complete):
            return None
        return Choosing(self.schema, self.complete, self.schema.missing_codes)

    def _refuse_text(self) -> None:
        roles = self.roles
        numbers = (
            *(roles.features if self.schema is None else ()),
            *roles.offset,
            *([roles.weight] if roles.weight else ()),
        )
        wrong = {name: self.types[name] for name in numbers if name in self.types}
        wrong = {name: kind for name, kind in wrong.items() if kind_of(kind) not in ("number", "boolean")}
        if wrong:
            found = [f"{name!r} ({kind})" for name, kind in wrong.items()]
            shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
            raise ColumnError(
                f"Expected columns of numbers, got {shown}. Code them, TableEncoder().fit(dataset).transform(dataset), "
                "or leave them out: open_dataset(..., drop=[...])."
            )

    def labelled(self, classes: Array | None = None) -> LabelledPartitions:
        """The rows with their labels.

        Parameters
        ----------
        classes : array, optional
            Those that may occur, where they are known.

        Returns
        -------
        LabelledPartitions
        """
        if self.roles.target is None:
            raise LabelError("This dataset has no column of labels. Name it: open_dataset(..., target='column').")
        self._refuse_text()
        survey = self._survey()
        found = label_array(ordered(list(survey.classes))) if classes is None else classes
        if len(found) < 2:
            raise LabelError(f"Column {self.roles.target!r} has only one class: {found.tolist()}. Two are needed.")
        unknown = [label for label in survey.classes if label not in found.tolist()]
        if unknown:
            raise LabelError(f"Label {unknown[0]!r} is not among the classes of this model, {found.tolist()[:8]}.")
        return LabelledPartitions(self, found, survey)

    def gathered(self, *who: Part) -> LabelledRows:
        """All rows with their labels in memory, for those who cannot do without.

        Parameters
        ----------
        *who : parts of a message
            Who wants them: what would not fit is refused before anything is read.

        Returns
        -------
        LabelledRows
        """
        refuse_gathering(self.n_bytes, *who)
        return self.labelled().at_hand(1)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        for _, found in self._extremes():
            if found is not None:
                raise_nonfinite(found[0], found[1], (label or self.column_label)(found[2]))

    def largest_values(self) -> Array:
        return np.max([largest for largest, _ in self._extremes()], axis=0)

    def _extremes(self) -> Iterator[tuple[Array, tuple[float, int, int] | None]]:
        return self.executor.in_order(_Extremes(replace(self, view=None).blocks), self.spans)

    def _survey(self) -> Survey:
        survey = Survey()
        for part in self.watched.in_order(_Surveying(self.roles, self.choosing, self.held), self.spans):
            survey.merge(part)
        if not survey.classes:
            raise InputError("The files have no rows: there is nothing to learn from.")
        return survey


def open_dataset(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    offset: str | Sequence[str] | None = None,
    cluster: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    executor: Any = "threads",
    reading: Mapping[str, Any] | None = None,
) -> PartitionedRows:
    """Open files as rows that are read anew in every pass, so that they need not fit into memory.

    Parquet and Arrow files and arrays of NumPy (``.npy``) are read where they stand. Other tables, as `open_table`
    reads them (CSV, JSON, databases, SVMlight, also packed), and streams of Arrow are decoded once, to a temporary
    folder that lives as long as the rows.

    Parameters
    ----------
    source : str, path, list of them, stream of Arrow, Dask frame or Spark frame
        A file, a pattern such as ``"data/*.parquet"``, a folder, or a list of files. Files are read in the order of
        their names. Or what gives its rows as Arrow: a relation of DuckDB, a cursor with ``fetch_record_batch``, a
        ``RecordBatchReader``. Columns of a NumPy array are called ``x0``, ``x1`` and so on; SVMlight has no names.
        Partitions of Dask and Spark frames are read where they lie, by those who hold them.
    target : str, optional
        The column of labels; the name of a ``.npy`` file of labels beside arrays, and so for the next three. SVMlight
        has its own.
    weight : str, optional
        The column of weights: weight 3 counts like three such rows.
    offset : str or list of str, optional
        The column of known parts of the scores; for more than two classes one for each, in their order.
    cluster : str, optional
        The column that says which rows belong together, for clustered standard errors.
    columns : list of str, optional
        The columns to learn from. Default: all others. Models take numbers; `TableEncoder` codes text and gaps.
    drop : list of str, default=()
        Columns to leave out.
    executor : str, Dask client or Spark session, default="threads"
        Who reads the files: "threads" of this process, "dask" (its embedded scheduler), a Dask client or the address
        of a scheduler (``tcp://...``), a Spark session or the address of a master (``spark://...``). Workers read the
        files themselves and send back statistics; results have the same bits whoever reads.
    reading : dict, optional
        Options of `open_table` for texts and databases, such as ``{"delimiter": ";"}`` or ``{"table": "SELECT ..."}``.

    Returns
    -------
    PartitionedRows
        Estimators take it in the place of ``X``, and their ``y`` is left out.

    See Also
    --------
    open_table : Opens a table that fits into memory, of any format.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from sklearn.datasets import load_iris
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pa.Table.from_pandas(load_iris(as_frame=True).frame)
    >>> pq.write_table(table, folder.name + "/iris.parquet", row_group_size=50)
    >>> dataset = open_dataset(folder.name + "/*.parquet", target="target")
    >>> dataset.shape, dataset.n_partitions
    ((150, 4), 3)
    >>> LinearDiscriminantAnalysis().fit(dataset).predict(dataset)[:3]
    array([0, 0, 0])
    >>> folder.cleanup()
    """
    if is_collection(source):
        from .frames import rows_of_frame  # which are rows of this module

        offsets = (offset,) if isinstance(offset, str) else tuple(offset or ())
        roles = Roles(() if columns is None else tuple(columns), target, weight, offsets, cluster)
        return rows_of_frame(source, roles, columns is None, drop, executor_of(executor))
    from .cache import check_reading  # with all that reads tables

    check_reading(reading)
    arrays: dict[str, str] = {}
    offsets = tuple(_beside(name, arrays) for name in ((offset,) if isinstance(offset, str) else offset or ()))
    target, weight, cluster = (None if name is None else _beside(name, arrays) for name in (target, weight, cluster))
    files, written, schema, kept = _opened(source, reading)
    if schema is not None:
        if target is not None:
            raise ColumnError(f"{written.label} is SVMlight, whose labels stand first in each line. Leave target out.")
        target = LISTED[0]
    types = types_of(files, drop) | {name: Opened.of(path).types["x0"] for name, path in arrays.items()}
    given = Roles(() if columns is None else tuple(columns), target, weight, offsets, cluster)
    roles, pieces = roles_of(types, given, columns is None, drop), pieces_of(files, arrays)
    return PartitionedRows(roles, pieces, executor_of(executor), types, written, schema, kept=kept)


def refuse_gathering(n_bytes: int, *who: Part) -> None:
    """Refuse rows that would not fit into the memory that somebody needs them in."""
    if n_bytes > _GATHERED_BYTES:
        needs = f" needs all rows in memory, where these would take {n_bytes / 1e9:.1f} GB. Use "
        by_passes = (Model("LogisticRegression"), ", ", Model("LinearDiscriminantAnalysis"), " or another model ")
        raise InputError(*(who or ("This",)), needs, *by_passes, "that is fitted by passes over the rows.")


def _beside(name: str, arrays: dict[str, str]) -> str:
    """The name of a column; of a file of an array its own, and the file is noted."""
    if not str(name).endswith(".npy"):
        return name
    stem = os.path.basename(name).removesuffix(".npy")
    arrays[stem] = str(name)
    return stem


def _opened(source: Any, reading: Mapping[str, Any] | None) -> tuple[list[Opened], Written, Schema | None, Any]:
    """The files of a source, decoded where they have to be, how they are written, and the schema of sparse rows."""
    from ..tables.schema import Schema
    from .cache import Decoded, is_stream

    sources: list[Any] = [source] if is_stream(source) else paths_of(source)
    label = "the stream" if is_stream(source) else _label(sources)
    standing = [not is_stream(one) and is_partitioned(one) for one in sources]
    if all(standing):
        return [Opened.of(path) for path in sources], Written(label), None, None
    kept = Decoded([Opened.of(one) if stands else one for one, stands in zip(sources, standing, strict=True)], reading)
    if not kept.files:
        raise InputError(f"{label} has no rows: there is nothing to learn from.")
    schema, (first, last) = None, kept.columns
    if kept.n_rows:
        first = int(first > 0)
        schema = Schema((), width=int(last) + 1 - first, first=first)
    return kept.files, kept.written(label), schema, kept


def _label(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def most_spans(n_columns: int) -> int:
    """How many statistics of so many columns are merged at most."""
    return min(_MOST_SPANS, max(_LEAST_SPANS, _STATISTIC_BYTES // (8 * (n_columns + 1) ** 2)))


def roles_of(types: Mapping[str, Any], given: Roles, others: bool, drop: Sequence[str]) -> Roles:
    """The parts of the columns of these types, and if so all others to learn from; refuses names that are not there."""
    beside = [name for name in (given.target, given.weight, *given.offset, given.cluster) if name is not None]
    for name in (*beside, *drop, *given.features):
        if name not in types:
            raise ColumnError(f"There is no column {name!r}.{suggestion(name, list(types))}")
    features = tuple(name for name in types if name not in {*beside, *drop}) if others else given.features
    return replace(given, features=features)


class Survey:
    """What is known of all rows before any pass over their columns: classes with their weights, and clusters.

    ``classes`` has, by label, the number of its rows, their weight, and the least and the largest weight of one.
    """

    def __init__(self) -> None:
        self.classes: dict[Any, tuple[int, float, float, float]] = {}
        self.clusters: dict[Any, None] = {}
        self.has_whole_weights = True

    def add(self, labels: list[Any], codes: Array, weight: Array) -> None:
        """Add rows with these ``labels``, numbered by ``codes``."""
        self.has_whole_weights &= not has_fractions(weight)
        for code, label in enumerate(labels):
            own = weight[codes == code]
            if own.size:
                positive = own[own > 0]
                least = float(positive.min()) if positive.size else math.inf
                self._put(label, (own.size, float(own.sum()), least, float(own.max())))

    def merge(self, other: Survey) -> None:
        """Add what another survey has seen; labels and clusters are told apart by their value."""
        for label, found in other.classes.items():
            self._put(label, found)
        self.clusters.update(other.clusters)
        self.has_whole_weights &= other.has_whole_weights

    def _put(self, label: Any, found: tuple[int, float, float, float]) -> None:
        rows, weight, least, most = self.classes.get(label, (0, 0.0, math.inf, 0.0))
        self.classes[label] = rows + found[0], weight + found[1], min(least, found[2]), max(most, found[3])


@dataclass(frozen=True)
class _Surveying:
    """From a span to its survey."""

    roles: Roles
    choosing: Choosing | None = None
    held: tuple[int, int] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, for who can leave others out."""
        return tuple(dict.fromkeys((*self.roles.beside, *(self.choosing.columns if self.choosing else ()))))

    def __call__(self, span: tuple[Piece, ...]) -> Survey:
        survey, roles = Survey(), self.roles
        for piece, start, batch in _batches(span, self.columns, _SURVEY_ROWS):
            batch, labels, codes = _labels(batch, roles, self.choosing, _row_of(piece, start))
            weight = _weights(batch, roles.weight, _row_of(piece, start)) * _seen(self.held, start, len(codes))
            survey.add(labels, codes, weight)
            if roles.cluster is not None:
                survey.clusters.update(dict.fromkeys(_encoded(batch, roles.cluster, _row_of(piece, start))[0]))
        return survey


@dataclass(frozen=True)
class _Extremes:
    """From a span to the largest absolute value of each column, and the first that is no number with its place."""

    blocks: Callable[[tuple[Piece, ...]], Iterator[tuple[Array, slice]]]

    def __call__(self, span: tuple[Piece, ...]) -> tuple[Array, tuple[float, int, int] | None]:
        largest, first = list[Array](), None
        for block, where in self.blocks(span):
            largest.append(largest_of_columns(block))
            if first is None and not np.isfinite(largest[-1]).all():
                values = dense_rows(block)
                i, j = np.argwhere(~np.isfinite(values))[0]
                first = float(values[i, j]), where.start + int(i), int(j)
        return np.max(largest, axis=0), first


def _batches(span: Sequence[Piece], columns: Sequence[str], rows: int) -> Iterator[tuple[Piece, int, Any]]:
    """The pieces of a span batch by batch, each with the number of its first row."""
    for piece in span:
        start = piece.start
        for batch in piece.batches(columns, rows):
            if batch.num_rows:
                yield piece, start, batch
            start += batch.num_rows


def _seen(held: tuple[int, int] | None, start: int, n_rows: int) -> Any:
    """1 for rows that are learned from, 0 for those of the fold that is left out."""
    return 1.0 if held is None else (fold_of_rows(start, n_rows, held[1]) != held[0]).astype(np.float64)


def _row_of(piece: Piece, start: int) -> Callable[[int], str]:
    """How messages call a row of a batch."""
    return lambda row: f"row {start + row - piece.start} of a part of {piece.called!r} (row {start + row} of all)"


def _labels(
    batch: Any, roles: Roles, choosing: Choosing | None, called: Callable[[int], str]
) -> tuple[Any, list[Any], Array]:
    """The rows that count, the labels that there are, and the number of each row's label among them."""
    if choosing is None or choosing.target is None or choosing.target.target is None:
        return batch, *_encoded(batch, roles.target or "", called)
    chosen, codes = choosing(batch)
    assert codes is not None
    kept = batch if chosen is None else batch.filter(chosen)
    return kept, list(choosing.target.target.classes), codes


def _encoded(batch: Any, name: str, called: Callable[[int], str]) -> tuple[list[Any], Array]:
    """The different values of a column, and the number of each row's value among them."""
    column = batch.column(name)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise LabelError(f"Column {name!r} has no value in {called(row)}. Leave such rows out.")
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    values, places = coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)
    missing = [place for place, value in enumerate(values) if value != value]
    if missing:
        raise LabelError(f"Column {name!r} is NaN in {called(int(np.argmax(places == missing[0])))}. Leave it out.")
    return values, places


def _numbers(column: Any) -> Array:
    """A column of numbers as an array, NaN where nothing stands."""
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _weights(batch: Any, name: str | None, called: Callable[[int], str]) -> Array:
    if name is None:
        return np.ones(batch.num_rows)
    weight = _numbers(batch.column(name)).astype(np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise WeightError(
            f"Column {name!r} of weights has {weight[row]:g} in {called(row)}. Weights are finite, 0 or above."
        )
    return weight


def _listed_rows(batch: Any) -> SparseBatch:
    """Rows of SVMlight as a CSR matrix."""
    from scipy.sparse import csr_matrix

    from ..tables.sources import SparseBatch

    columns, values = (batch.column(name) for name in LISTED[1:])
    offsets = columns.offsets.to_numpy()
    places, numbers = columns.flatten().to_numpy(), values.flatten().to_numpy()
    width = int(places.max()) + 1 if places.size else 1
    X = csr_matrix((numbers, places, offsets - offsets[0]), shape=(batch.num_rows, width))
    return SparseBatch(X, np.empty(0))


@dataclass(frozen=True)
class _Reading:
    """From a span to blocks of rows: small, and may be sent to whoever reads."""

    roles: Roles
    schema: Schema | None = None
    choosing: Choosing | None = None
    classes: tuple[Any, ...] = ()
    #: What the weights of each class are multiplied by.
    factors: Array | None = None
    #: Where two sets of classes are told apart: the side of each, -1 or 1; rows of side 0 have no weight.
    sides: Array | None = None
    clusters: Mapping[Any, int] = field(default_factory=dict)
    view: Callable[[Array, int], Any] | None = None
    held: tuple[int, int] | None = None

    def blocks(self, span: tuple[Piece, ...]) -> Iterator[tuple[Array, slice]]:
        """Rows, and their numbers; they stand in their place until the next are asked for."""
        turned = self._turning()
        for _, start, batch in _batches(span, self.roles.features, self._rows):
            yield turned(batch, start), slice(start, start + batch.num_rows)

    def labelled(self, span: tuple[Piece, ...]) -> Iterator[Block]:
        """The same with codes, weights, offsets and clusters."""
        roles, position = self.roles, {label: code for code, label in enumerate(self.classes)}
        turned, choosing = self._turning(), self.choosing
        chosen = () if choosing is None else choosing.columns
        columns = tuple(dict.fromkeys((*roles.features, *roles.offset, *roles.beside, *chosen)))
        for piece, start, batch in _batches(span, columns, self._rows):
            called = _row_of(piece, start)
            batch, labels, places = _labels(batch, roles, choosing, called)
            if not batch.num_rows:
                continue
            codes = np.array([position.get(label, -1) for label in labels], dtype=np.int32)[places]
            weight = _weights(batch, roles.weight, called) * _seen(self.held, start, len(codes))
            weight = weight if self.factors is None else weight * self.factors[codes]
            if self.sides is not None:
                side = self.sides[codes]
                codes, weight = (side > 0).astype(np.int32), weight * (side != 0)
            X = turned(batch, start)
            yield Block(X, codes, weight, start, self._offset(batch, called), self._cluster(batch, called))

    @property
    def _rows(self) -> int:
        """Rows of a block."""
        if self.schema is None:
            return rows_of_width(len(self.roles.features))
        if self.schema.width is not None:
            return _SPARSE_ROWS
        return rows_of_width(len(self.schema.used) if self.schema.sparse else len(self.schema.names))

    def _turning(self) -> Callable[[Any, int], Any]:
        """A function from a batch, and the number of its first row, to rows, which stand until it is called again."""
        turned, view = self._turning_to_rows(), self.view
        return turned if view is None else lambda batch, start: view(turned(batch, start), start)

    def _turning_to_rows(self) -> Callable[[Any, int], Any]:
        # Pages that are used again and again: new ones for every block took half as long as decoding.
        features, rows, schema = self.roles.features, self._rows, self.schema
        if schema is None:
            standing, lying = np.empty((rows, len(features))), np.empty((len(features), rows))

            def of_numbers(batch: Any, start: int) -> Array:  # noqa: ARG001
                if isinstance(batch, Slab):
                    return np.asarray(as_rows(batch.X).block(0, batch.num_rows))
                for place, name in enumerate(features):
                    lying[place, : batch.num_rows] = _numbers(batch.column(name))
                transpose.turn(lying, X := standing[: batch.num_rows])
                return X

            return of_numbers
        if schema.width is not None:
            return lambda batch, start: schema.encode_batch(_listed_rows(batch))[0]  # noqa: ARG005
        gaps: Policy = "indicator" if schema.missing == "drop" else schema.missing  # rows with gaps are left out by now
        coding = replace(schema, missing=gaps)
        if schema.sparse:
            return lambda batch, start: coding.encode_batch(batch, first_row=start)[0]
        coded = np.empty((rows, len(schema.names)))

        def of_levels(batch: Any, start: int) -> Array:
            coding.code_into(batch, coded, start)
            return coded[: batch.num_rows]

        return of_levels

    def _offset(self, batch: Any, called: Callable[[int], str]) -> Array | None:
        if not self.roles.offset:
            return None
        known = np.stack([_numbers(batch.column(name)) for name in self.roles.offset], axis=1).astype(np.float64)
        wrong = ~np.isfinite(known).all(axis=1)
        if wrong.any():
            raise InputError(f"The offset is NaN or infinity in {called(int(np.argmax(wrong)))}.")
        return known[:, 0] if known.shape[1] == 1 else known

    def _cluster(self, batch: Any, called: Callable[[int], str]) -> Array | None:
        if self.roles.cluster is None:
            return None
        labels, places = _encoded(batch, self.roles.cluster, called)
        return np.array([self.clusters[label] for label in labels], dtype=np.int64)[places]


@dataclass(frozen=True)
class _Sampling:
    """From a span to its rows among those `drawn`, one of every ``step``, with what stands beside them."""

    reading: _Reading
    n_rows: int
    step: int
    #: What else is wanted of all rows, while they are read.
    statistic: Any = None

    def __call__(self, span: tuple[Piece, ...]) -> tuple[list[tuple[Array, ...]], Any]:
        numbers, found = drawn(self.n_rows, self.step), list[tuple[Array, ...]]()
        partial = None if self.statistic is None else self.statistic.fresh()
        for block in self.reading.labelled(span):
            if partial is not None:
                partial.update(block)
            ends = np.searchsorted(numbers, (block.start, block.start + block.n_rows))
            chosen = numbers[slice(*ends)] - block.start
            beside = (own for own in (block.offset, block.cluster) if own is not None)
            found.append(tuple(own[chosen].copy() for own in (block.X, block.codes, block.weight, *beside)))
        return found, partial


@dataclass(frozen=True)
class _Coding:
    """From a span to the codes and weights of its rows."""

    reading: _Reading
    columns: tuple[str, ...]

    def __call__(self, span: tuple[Piece, ...]) -> tuple[Array, Array]:
        roles, codes, weight = self.reading.roles, list[Array](), list[Array]()
        position = {label: code for code, label in enumerate(self.reading.classes)}
        for piece, start, batch in _batches(span, self.columns, _SURVEY_ROWS):
            batch, labels, places = _labels(batch, roles, self.reading.choosing, _row_of(piece, start))
            codes.append(np.array([position.get(label, -1) for label in labels], dtype=np.int32)[places])
            weight.append(_weights(batch, roles.weight, _row_of(piece, start)))
        return np.concatenate(codes), np.concatenate(weight)


class _Ranges:
    """Sums and ends of columns, as a statistic of rows."""

    def __init__(self, n_columns: int) -> None:
        self.n_rows, self.total = 0, np.zeros(n_columns)
        self.lowest, self.highest = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)

    def fresh(self) -> _Ranges:
        return _Ranges(self.total.size)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for part in block.dense_parts():
            self._add(part.n_rows, part.X.sum(axis=0), part.X.min(axis=0), part.X.max(axis=0))

    def merge(self, other: _Ranges) -> None:
        """Add what another one has seen."""
        self._add(other.n_rows, other.total, other.lowest, other.highest)

    def _add(self, n_rows: int, total: Array, lowest: Array, highest: Array) -> None:
        self.n_rows, self.total = self.n_rows + n_rows, self.total + total
        self.lowest, self.highest = np.minimum(self.lowest, lowest), np.maximum(self.highest, highest)


@dataclass(frozen=True)
class LabelledPartitions:
    """The rows of a dataset with a class code and a weight each: `LabelledRows` that are read anew in every pass."""

    rows: PartitionedRows
    classes: Array
    survey: Survey
    factors: Array | None = None
    #: Where two sets of classes are told apart: the side of each class, and the rows with these.
    sides: Array | None = None
    of: LabelledPartitions | None = None
    #: Rows have codes where they are read, and nowhere else.
    codes: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """How many rows have a label that counts."""
        return sum(found[0] for found in self.survey.classes.values())

    @property
    def spans(self) -> list[tuple[Piece, ...]]:
        return self.rows.spans

    @property
    def executor(self) -> Executor:
        return self.rows.watched

    @property
    def blocks(self) -> Callable[[tuple[Piece, ...]], Iterator[Block]]:
        """From a span to its blocks; may be sent anywhere."""
        return self._reading.labelled

    @property
    def _reading(self) -> _Reading:
        clusters = {label: number for number, label in enumerate(self.survey.clusters)}
        rows = self.rows
        marked = (self.factors, self.sides, clusters, rows.view, rows.held)
        return _Reading(rows.roles, rows.schema, rows.choosing, self._labels, *marked)

    @property
    def _labels(self) -> tuple[Any, ...]:
        return tuple((self.classes if self.of is None else self.of.classes).tolist())

    @property
    def offset(self) -> tuple[str, ...] | None:
        """The columns of known parts of the scores, None where there are none."""
        return self.rows.roles.offset or None

    def _of_classes(self, place: int) -> Array:
        absent = (0, 0.0, math.inf, 0.0)
        found = np.array([self.survey.classes.get(label, absent)[place] for label in self._labels], dtype=np.float64)
        found = found if self.factors is None or place == 0 else found * self.factors
        if self.sides is None:
            return found
        both = (np.sum, np.sum, np.min, np.max)[place]
        return np.array([both(found[self.sides == side], initial=absent[place]) for side in (-1, 1)])

    @property
    def class_weights(self) -> Array:
        """Total weight of each class."""
        return self._of_classes(1)

    @property
    def total_weight(self) -> float:
        """That of all rows."""
        return float(self.class_weights.sum())

    @property
    def least_weight(self) -> float:
        """That of the lightest row which counts at all."""
        return float(self._of_classes(2).min())

    @property
    def largest_weight(self) -> float:
        """That of the heaviest row."""
        return float(self._of_classes(3).max())

    @property
    def has_whole_weights(self) -> bool:
        """Whether all weights are whole numbers, which count rows."""
        return self.survey.has_whole_weights

    def has_same_rows(self, other: Any) -> bool:
        """Whether the samples of two datasets have the same classes, labels, weights and offsets, row by row."""
        return self.n_rows == other.n_rows and self.every(1).has_same_rows(other)

    @property
    def n_clusters(self) -> int:
        """Into how many clusters the rows fall, 0 where none are known."""
        return len(self.survey.clusters)

    def in_clusters(self, labels: Any) -> LabelledPartitions:  # noqa: ARG002
        """Refused: clusters stand in a column."""
        raise ParameterError("The clusters of a dataset stand in a column: open_dataset(..., cluster='column').")

    def times(self, factors: Array) -> LabelledPartitions:
        """The rows with their weights multiplied by a factor of their class."""
        return replace(self, factors=factors if self.factors is None else self.factors * factors)

    def against(self, sides: Array) -> LabelledPartitions:
        """The rows as those of two classes, by the side of each class: -1 or 1, 0 for one that takes no part."""
        return replace(self, classes=np.arange(2), sides=sides, of=self)

    def every(self, step: int) -> LabelledRows:
        """About one row of every ``step``, at hand: no more of them than the sample has."""
        return self.sample.every(max(1, step // self._sample_step))

    @property
    def _sample_step(self) -> int:
        return max(1, -(-self.rows.n_bytes // _SAMPLE_BYTES))

    @cached_property
    def sample(self) -> LabelledRows:
        """Some rows of all parts."""
        if self.of is None or self.sides is None:
            return self.at_hand(self._sample_step)
        whole = self.of.sample
        side = self.sides[whole.codes]
        weight = whole.weight_of(slice(None)) * (side != 0)
        return replace(whole, classes=self.classes, codes=(side > 0).astype(np.int32), weight=weight)

    def seen(self) -> dict[str, list[float]]:
        """Means and ranges of the columns and shares of the classes, by one pass."""
        whole, shares = reduce(self, _Ranges(self.rows.n_columns)), self.class_weights  # type: ignore[arg-type]
        found = {"means": whole.total / whole.n_rows, "lowest": whole.lowest, "highest": whole.highest}
        return {name: own.tolist() for name, own in (found | {"shares": shares / shares.sum()}).items()}

    def at_hand(self, step: int) -> LabelledRows:
        """One row of every ``step`` in memory."""
        return self._sampled(step)[0]

    def reduced(self, statistic: Any, n_jobs: int | None = None) -> Any:
        """The statistic of all rows, read together with the sample unless that has been read before."""
        if "sample" in vars(self) or self.of is not None:
            return reduce(self, statistic, n_jobs)  # type: ignore[arg-type]
        vars(self)["sample"], total = self._sampled(self._sample_step, statistic)
        return total

    def _sampled(self, step: int, statistic: Any = None) -> tuple[LabelledRows, Any]:
        rows, total, place = self.rows, None, 0
        sparse = rows.schema is not None and rows.schema.sparse
        X: Any = [] if sparse else np.empty((-(-rows.n_rows // step), rows.n_columns))
        beside = list[Any]()
        task = _Sampling(self._reading, rows.n_rows, step, statistic)
        for found, partial in self.executor.in_order(task, self.spans):
            for part, *others in found:
                if sparse:
                    X.append(part)
                else:
                    X[place : place + len(part)] = part
                place += part.shape[0]
                beside.append(others)
            if total is None:
                total = partial
            elif partial is not None:
                total.merge(partial)
        codes, weight, *known = (np.concatenate(own) for own in zip(*beside, strict=True))
        X = _stacked(X) if sparse else X[:place]
        plain = rows.roles.weight is None and self.factors is None
        offset, cluster = known.pop(0) if rows.roles.offset else None, known.pop() if rows.roles.cluster else None
        whole = as_rows(X, rows.names, rows.marks, rows.redundant)
        sample = LabelledRows(whole, self.classes, codes, None if plain else weight, offset, cluster)
        return sample if rows.held is None else sample.take(np.flatnonzero(weight)), total

    def codes_and_weights(self) -> tuple[Array, Array]:
        """The code and the weight of each row, from a pass over their columns alone."""
        columns = _Surveying(self.rows.roles, self.rows.choosing).columns
        parts = list(self.executor.in_order(_Coding(self._reading, columns), self.spans))
        codes, weight = (np.concatenate(own) for own in zip(*parts, strict=True))
        return codes, weight


def _stacked(parts: list[Any]) -> Any:
    """CSR matrices one below the other."""
    from scipy.sparse import vstack  # slow to load

    return vstack(parts, "csr")
