"""Dask and Spark collections as rows: partitions are reduced where they are stored, and predictions are collections.

The rows of a partition are passed to a task by the worker that holds them: a Dask worker has its part of an array or a
frame, a Spark executor the record batches of its part of a frame (``mapInArrow``). The task is the one that reads
files, and its result is a statistic. Partitions need the same rows in the same order in each pass, as those have that
are read from files or persisted.

The predictions of a fitted model for such a collection are a lazy collection of the same kind.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from ..arrays import Array, MatrixLike
from ..data import is_dask, is_spark
from ..dependencies import optional_module
from ..engine import one_blas_thread
from ..errors import ColumnError, InputError, LabelError
from ..results import capitalised, quoted
from .dataset import PartitionedRows, max_partitions, roles_of
from .executors import Dask, Executor, RemoteTask, raised, results_in_order
from .fragments import Batch, DenseBatch, Fragment
from .opening import open_dataset
from .reading import Roles

if TYPE_CHECKING:
    import pandas as pd
    from dask.delayed import Delayed
    from distributed import Client
    from pyspark.sql import DataFrame as SparkFrame

#: A Dask array or frame, whose methods have no type annotations.
DaskCollection: TypeAlias = Any
#: A Dask array or frame, or a Spark frame.
Collection: TypeAlias = Any
#: One value per row: an array, a Dask collection, or the name of a column.
RowValues: TypeAlias = Any
R = TypeVar("R")


@dataclass(frozen=True)
class HeldFragment(Fragment):
    """A partition of a collection; the worker that holds its rows sets ``content`` before it is read."""

    #: From names of columns to batches of them.
    content: Callable[[Sequence[str]], Iterator[Batch]] | None = field(default=None, repr=False)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        assert self.content is not None, "the worker sets the content"
        n_rows = 0
        for batch in _regrouped(self.content(columns), rows):
            n_rows += batch.num_rows
            yield batch
        if n_rows != self.n_rows:
            raise InputError(
                f"{capitalised(self.path)} had {self.n_rows:,} rows in one pass and {n_rows:,} in another. Expected "
                "the same rows in each pass: call frame.persist() before you fit."
            )


def _regrouped(batches: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """The same rows in batches of ``rows`` each except the last, whatever the size of the given batches."""
    waiting, n_waiting = list[Any](), 0
    for batch in batches:
        start = 0
        while n_waiting + batch.num_rows - start >= rows:
            stop = start + rows - n_waiting
            part = batch.slice(start, stop - start)
            yield pa.concat_batches([*waiting, part]) if waiting else part
            waiting, n_waiting, start = [], 0, stop
        if start < batch.num_rows:
            waiting.append(batch.slice(start))
            n_waiting += batch.num_rows - start
    if waiting:
        yield pa.concat_batches(waiting) if len(waiting) > 1 else waiting[0]


def _fragments(counts: Sequence[int], kind: str) -> tuple[Fragment, ...]:
    starts = np.cumsum([0, *counts]).tolist()
    return tuple(
        HeldFragment(f"partition {number} of a {kind}", int(n_rows), start, number)
        for number, (n_rows, start) in enumerate(zip(counts, starts[:-1], strict=True))
        if n_rows
    )


@dataclass(frozen=True)
class HeldTask:
    """A task with its partition, to be run by the worker that holds the rows."""

    task: Callable[[Any], Any]
    partition: tuple[HeldFragment, ...]

    def __call__(self, *held: Any) -> Any:
        """The result; ``held`` are the parts of the first collection, then those of the collections beside it."""
        n = len(self.partition)
        with one_blas_thread():
            return self.task(
                tuple(replace(each, content=partial(_batches, held[i::n])) for i, each in enumerate(self.partition))
            )


def _batches(held: Sequence[Any], columns: Sequence[str]) -> Iterator[Batch]:
    """The columns of a partition: of a frame, or of an array with columns beside it."""
    first, *others = held
    beside = {name: values for other in others for name, values in other.items()}
    for name, values in beside.items():
        if len(values) != len(first):
            raise InputError(
                f"A partition has {len(first)} rows, but {len(values)} values of {name!r}. Expected equal partitions: "
                "repartition them identically."
            )
    try:
        arrays = {name: pa.array(values, from_pandas=True) for name, values in beside.items() if name in columns}
        if isinstance(first, np.ndarray):
            yield DenseBatch(first, arrays)
            return
        own = [name for name in columns if name not in arrays]
        batch = pa.RecordBatch.from_pandas(first[own], preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise ColumnError(f"A column mixes types within a partition: {error}. Convert it to one type.") from error
    yield pa.RecordBatch.from_pydict(dict(zip(own, batch.columns, strict=True)) | arrays).select(list(columns))


@dataclass(frozen=True)
class DaskPartitions:
    """The partitions of Dask collections of equal chunks: a frame or an array, and columns beside it by name."""

    whole: DaskCollection
    beside: Mapping[str, DaskCollection]
    client: Client | None = None

    def in_order(
        self,
        task: Callable[[tuple[HeldFragment, ...]], R],
        parts: Sequence[tuple[HeldFragment, ...]],
        n_jobs: int | None = None,  # noqa: ARG002
    ) -> Iterator[R]:  # fmt: skip
        """The results of all parts, in their order."""
        dask = optional_module("dask", "Dask collections")
        delayed = self.delayed(getattr(task, "columns", None))
        tasks = []
        for part in parts:
            run = dask.delayed(HeldTask(task, part), pure=False, traverse=False)
            tasks.append(run(*(held[fragment.number] for held in delayed for fragment in part)))
        return results_in_order(tasks, self.client)

    def delayed(self, columns: Sequence[str] | None = None) -> list[list[Delayed]]:
        """The delayed partitions of all collections; of a frame only these columns, if they are known."""
        named = optional_module("dask", "Dask collections").delayed(_named, pure=False)
        if not hasattr(self.whole, "columns"):
            first = self.whole.to_delayed()[:, 0].tolist()
        else:
            own = list(self.whole.columns)
            first = self.whole[own if columns is None else [name for name in own if name in columns]].to_delayed()
        return [first, *([named(name, part) for part in values.to_delayed()] for name, values in self.beside.items())]


def _named(name: str, values: Array) -> dict[str, Array]:
    return {name: values}


def dask_partitions(
    whole: DaskCollection, beside: Mapping[str, DaskCollection], executor: Executor | None = None
) -> tuple[DaskPartitions, tuple[Fragment, ...]]:
    """The executor of a Dask frame or array with columns ``beside`` it, and its fragments."""
    found = DaskPartitions(whole, beside, executor.client if isinstance(executor, Dask) else _current_client())
    if not hasattr(whole, "columns"):
        return found, _fragments(whole.chunks[0], "Dask array")
    parts = found.delayed(list(whole.columns)[:1])[0]
    count = optional_module("dask", "Dask collections").delayed(len, pure=False)
    return found, _fragments(list(results_in_order([count(part) for part in parts], found.client)), "Dask frame")


def _current_client() -> Client | None:
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:  # there is none
        return None


@dataclass(frozen=True)
class SparkPartitions:
    """The partitions of a Spark frame; executors pass their record batches to a Python task."""

    frame: SparkFrame
    one_fragment_per_task: ClassVar[bool] = True

    def in_order(
        self, task: Callable[[tuple[HeldFragment]], R], parts: Sequence[tuple[HeldFragment]], n_jobs: int | None = None  # noqa: ARG002
    ) -> Iterator[R]:  # fmt: skip
        """The results of all parts, in their order."""
        columns = getattr(task, "columns", None)
        frame = self.frame if columns is None else self.frame.select(*map(_escaped, columns))
        work = ArrowTask(RemoteTask(task), {part[0].number: part[0] for part in parts})
        rows = frame.mapInArrow(work, "number int, result binary").collect()
        results = {row["number"]: row["result"] for row in rows}
        for (fragment,) in parts:
            if fragment.number not in results:
                raise InputError(
                    f"{capitalised(fragment.path)} is missing in this pass. Expected the same rows in each pass: call "
                    "frame.persist() before you fit."
                )
            yield raised(pickle.loads(results[fragment.number]))


@dataclass(frozen=True)
class ArrowTask:
    """From the record batches of a partition to the result of a task, as bytes."""

    task: Callable[[Any], Any]
    fragments: Mapping[int, HeldFragment]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()  # type: ignore[union-attr]
        if number in self.fragments:
            content = lambda columns: (batch.select(columns) for batch in batches)  # noqa: E731
            result = pickle.dumps(self.task((replace(self.fragments[number], content=content),)))
            yield pa.RecordBatch.from_pydict({"number": pa.array([number], pa.int32()), "result": [result]})


def _escaped(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def spark_partitions(frame: SparkFrame, most: int) -> tuple[SparkPartitions, tuple[Fragment, ...]]:
    """The executor of a Spark frame, and its fragments, at most ``most``."""
    functions = optional_module("pyspark.sql.functions", "Spark frames")
    counted = frame.groupBy(functions.spark_partition_id().alias("number")).count().collect()
    counts = {row["number"]: row["count"] for row in counted}
    if max(counts, default=0) >= most:
        return spark_partitions(frame.coalesce(most), most)
    rows = [counts.get(number, 0) for number in range(max(counts, default=-1) + 1)]
    return SparkPartitions(frame), _fragments(rows, "Spark frame")


def column_types(frame: Collection) -> dict[str, pa.DataType]:
    """The columns of a Dask or Spark frame with their Arrow types."""
    if is_spark(frame):
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(frame.schema)
    elif hasattr(frame, "columns"):
        schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
    else:
        raise InputError("A Dask array has no column names. Give it to a model with its labels: fit(X, y).")
    return dict(zip(schema.names, schema.types, strict=True))


def rows_of_frame(
    frame: Collection, given: Roles, others: bool, drop: Sequence[str], executor: Executor
) -> PartitionedRows:
    """A Dask or Spark frame as streamed rows; with ``others`` all other columns are features."""
    types = column_types(frame)
    roles = roles_of(types, given, others, drop)
    columns = list(dict.fromkeys((*roles.features, *roles.offset, *roles.beside)))
    own: Executor
    if is_spark(frame):
        selected = frame.select(*map(_escaped, columns))
        own, fragments = spark_partitions(selected, max_partitions(len(roles.features)))
    else:
        own, fragments = dask_partitions(frame[columns], {}, executor)
    return PartitionedRows(roles, fragments, own, types)


def rows_of_collection(
    X: Collection, y: RowValues | None, sample_weight: RowValues | None = None, columns: Sequence[str] | None = None
) -> PartitionedRows:
    """A collection with its labels and weights, which may be names of its columns, as streamed rows.

    ``columns`` are the features, by default all other columns.
    """
    is_frame = is_spark(X) or hasattr(X, "columns")
    given = {"y": y, "sample_weight": sample_weight}
    apart = {name: own for name, own in given.items() if own is not None and not (is_frame and isinstance(own, str))}
    if is_spark(X) and apart:
        raise LabelError(f"{next(iter(apart))} of a Spark frame must be the name of a column: fit(frame, 'column').")
    if is_frame and not apart:
        return open_dataset(X, target=y, weight=sample_weight, columns=columns)
    types = column_types(X) if is_frame else {str(j): None for j in range(X.shape[1])}
    names: Any = {name: own if name not in apart else _unused(name, types) for name, own in given.items()}
    if is_frame:
        target, weight = (None if name in apart else own for name, own in names.items())
        own_roles = Roles(() if columns is None else tuple(columns), target, weight)
        roles = roles_of(types, own_roles, columns is None, ())
        roles = replace(roles, target=names["y"], weight=names["sample_weight"])
    else:
        roles = Roles(tuple(types), names["y"], names["sample_weight"], named=False)
        if np.isnan(X.chunks[0]).any():
            raise InputError("The Dask array X has chunks of unknown size. Call X.compute_chunk_sizes() first.")
        X = _with_whole_rows(X)
    beside = {str(names[name]): _with_chunks_of(X, name, own) for name, own in apart.items()}
    executor, fragments = dask_partitions(X, beside)
    return PartitionedRows(roles, fragments, executor, types if is_frame else {})


def _with_whole_rows(X: DaskCollection) -> DaskCollection:
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _unused(name: str, others: Iterable[str]) -> str:
    """The name, or another that none of the others has."""
    return _unused(f"{name}_", others) if name in others else name


def _with_chunks_of(X: DaskCollection, name: str, values: RowValues) -> DaskCollection:
    """Labels or weights as a Dask collection with the chunks of ``X``."""
    chunks = X.chunks[0] if hasattr(X, "chunks") else None
    if not is_dask(values):
        if chunks is None:
            raise LabelError(f"{name} of a Dask frame must be a Dask series or the name of a column, got another type.")
        return optional_module("dask.array", "Dask collections").from_array(np.asarray(values), chunks=(chunks,))
    if getattr(values, "ndim", 1) != 1:
        raise LabelError(f"{name} has {values.ndim} dimensions. Expected one value per row.")
    if chunks is not None and hasattr(values, "chunks") and not np.isnan(values.chunks[0]).any():
        if sum(chunks) != sum(values.chunks[0]):
            raise InputError(
                f"X has {sum(chunks):,} rows, but {name} has {sum(values.chunks[0]):,}. Expected one value per row."
            )
        return values.rechunk((chunks,))
    if values.npartitions != X.npartitions:
        raise InputError(f"X and {name} have different partitions. Repartition one of them like the other.")
    return values


@dataclass(frozen=True)
class CollectionPredictor:
    """The predictions of a model for a Dask or Spark collection: one column, or one for each of ``names``.

    ``columns`` are the features of the model by name, None if it has numbers only.
    """

    predict: Callable[[MatrixLike], Array]
    columns: tuple[str, ...] | None
    names: tuple[str, ...]
    dtype: np.dtype[Any]

    def predictions(self, collection: Collection) -> Collection:
        """The predictions for a collection, as a lazy collection of the same kind."""
        if is_spark(collection):
            self._check_columns(collection.columns)
            return self._of_spark(collection)
        if hasattr(collection, "columns"):
            self._check_columns(collection.columns)
            return collection.map_partitions(self._of_frame, meta=self._of_frame(collection._meta))
        whole = _with_whole_rows(collection)
        shape = {"drop_axis": 1} if len(self.names) == 1 else {"chunks": (whole.chunks[0], (len(self.names),))}
        return whole.map_blocks(self._of_rows, meta=self._empty, dtype=self.dtype, **shape)

    def _check_columns(self, found: Iterable[str]) -> None:
        missing = [name for name in self.columns or () if name not in list(found)]
        if missing:
            raise ColumnError(
                f"Columns required by the model are missing: {quoted(missing, 5)}. Add them to the frame."
            )

    @property
    def _empty(self) -> Array:
        return np.empty((0,) if len(self.names) == 1 else (0, len(self.names)), self.dtype)

    def _of_rows(self, rows: pa.Table | pd.DataFrame | Array) -> Array:
        return np.asarray(self.predict(rows)) if len(rows) else self._empty

    def _of_frame(self, frame: pd.DataFrame) -> pd.Series | pd.DataFrame:
        """The predictions for a pandas frame, with its index."""
        import pandas as pd

        found = self._of_rows(frame if self.columns is None else frame[list(self.columns)])
        if len(self.names) == 1:
            dtype: Any = "str" if self.dtype.kind == "U" else self.dtype
            return pd.Series(found.tolist(), frame.index, dtype, self.names[0])
        return pd.DataFrame(found, frame.index, list(self.names))

    def _of_spark(self, frame: SparkFrame) -> SparkFrame:
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        taken = [name for name in self.names if name in frame.columns]
        if taken:
            raise ColumnError(f"The frame has a column {taken[0]!r}, the name of a prediction. Rename the column.")
        kind = from_arrow_type(self._arrow_type)
        added = [StructField(name, kind) for name in self.names]
        return frame.mapInArrow(self._of_batches, StructType([*frame.schema.fields, *added]))

    @property
    def _arrow_type(self) -> pa.DataType:
        return pa.string() if self.dtype.kind in "UO" else pa.from_numpy_dtype(self.dtype)

    def _of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Record batches with the predictions as further columns."""
        for batch in batches:
            table = pa.Table.from_batches([batch])
            found = self._of_rows(table if self.columns is None else table.select(list(self.columns)))
            columns = found.reshape(len(found), len(self.names)).T
            added = [pa.array(own.tolist(), self._arrow_type) for own in columns]
            yield pa.RecordBatch.from_arrays([*batch.columns, *added], [*batch.schema.names, *self.names])
