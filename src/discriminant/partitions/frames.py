"""Collections of Dask and Spark as rows: partitions are reduced where they lie, and answered as what they are.

The rows of a partition are handed to a task by whoever holds them: a Dask worker its part of an array or a frame, a
Spark executor the record batches of its part of a frame (``mapInArrow``). The task is the one that reads files, and
what comes back are statistics. Partitions have to be the same rows in the same order in every pass: what is read
from files, or persisted, is.

A fitted model's answers to such a collection are a collection of the same kind, which computes them when it is asked.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..data import is_dask, is_spark
from ..dependencies import optional_module
from ..engine import one_blas_thread
from ..errors import ColumnError, InputError, LabelError
from ..results import quoted
from .dataset import PartitionedRows, Roles, most_spans, open_dataset, roles_of
from .executors import Dask, Telling, Told, in_turn
from .pieces import Piece, Slab


@dataclass(frozen=True)
class Partition(Piece):
    """A partition of a collection; whoever holds its rows gives them to it before it is read."""

    #: From names of columns to batches of them.
    content: Callable[[Sequence[str]], Iterator[Any]] | None = field(default=None, repr=False)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        assert self.content is not None, "rows come with the task"
        n_rows = 0
        for batch in _regrouped(self.content(columns), rows):
            n_rows += batch.num_rows
            yield batch
        if n_rows != self.n_rows:
            raise InputError(
                f"{self.path.capitalize()} had {self.n_rows:,} rows in one pass and {n_rows:,} in another. Keep the "
                "rows as they are before you fit: frame.persist()."
            )


def _regrouped(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in batches of ``rows`` each but the last, so that it does not matter how they came."""
    import pyarrow as pa

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


def _pieces(counts: Sequence[int], called: str) -> tuple[Piece, ...]:
    starts = np.cumsum([0, *counts]).tolist()
    numbered = zip(counts, starts[:-1], strict=True)
    return tuple(
        Partition(f"partition {number} of a {called}", int(n_rows), start, number)
        for number, (n_rows, start) in enumerate(numbered)
        if n_rows
    )


@dataclass(frozen=True)
class _Held:
    """A task with its span, to be run where the partitions of the span are."""

    task: Callable[[Any], Any]
    span: tuple[Partition, ...]

    def __call__(self, *held: Any) -> Any:
        """``held`` are the parts of the first collection, then those of the others beside it."""
        n = len(self.span)
        with one_blas_thread():
            return self.task(
                tuple(replace(piece, content=partial(_batches, held[i::n])) for i, piece in enumerate(self.span))
            )


def _batches(held: Sequence[Any], columns: Sequence[str]) -> Iterator[Any]:
    """A partition's columns: of a frame, or of an array with columns beside it."""
    import pyarrow as pa

    first, *others = held
    beside = {name: values for other in others for name, values in other.items()}
    for name, values in beside.items():
        if len(values) != len(first):
            raise InputError(f"A partition has {len(first)} rows, and {len(values)} of {name!r}: partition them alike.")
    try:
        arrays = {name: pa.array(values, from_pandas=True) for name, values in beside.items() if name in columns}
        if isinstance(first, np.ndarray):
            yield Slab(first, arrays)
            return
        own = [name for name in columns if name not in arrays]
        batch = pa.RecordBatch.from_pandas(first[own], preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise ColumnError(f"A partition has values of several types in one column: {error}. Use one type.") from error
    yield pa.RecordBatch.from_pydict(dict(zip(own, batch.columns, strict=True)) | arrays).select(list(columns))


@dataclass(frozen=True)
class DaskPartitions:
    """Partitions of Dask collections that are cut alike: a frame or an array, and columns beside it by name."""

    whole: Any
    beside: Mapping[str, Any]
    client: Any = None

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:  # noqa: ARG002
        """The results of all parts, in their order."""
        dask = optional_module("dask", "Dask collections")
        whole, *others = self.partitions(getattr(task, "columns", None))
        tasks = []
        for span in parts:
            run = dask.delayed(_Held(task, span), pure=False, traverse=False)
            tasks.append(run(*(held[piece.number] for held in (whole, *others) for piece in span)))
        return in_turn(tasks, self.client)

    def partitions(self, columns: Sequence[str] | None = None) -> list[list[Any]]:
        """The delayed partitions of all collections; of a frame only these columns, where they are known."""
        named = optional_module("dask", "Dask collections").delayed(_named, pure=False)
        if not hasattr(self.whole, "columns"):
            first = self.whole.to_delayed()[:, 0].tolist()
        else:
            own = list(self.whole.columns)
            first = self.whole[own if columns is None else [name for name in own if name in columns]].to_delayed()
        return [first, *([named(name, part) for part in values.to_delayed()] for name, values in self.beside.items())]


def _named(name: str, values: Any) -> dict[str, Any]:
    return {name: values}


def dask_partitions(
    whole: Any, beside: Mapping[str, Any], executor: Any = None
) -> tuple[DaskPartitions, tuple[Piece, ...]]:
    """What reads a Dask frame or array with columns ``beside`` it, and its partitions."""
    reading = DaskPartitions(whole, beside, executor.client if isinstance(executor, Dask) else _current_client())
    if hasattr(whole, "columns"):
        parts = reading.partitions(list(whole.columns)[:1])[0]
        count = optional_module("dask", "Dask collections").delayed(len, pure=False)
        return reading, _pieces(list(in_turn([count(part) for part in parts], reading.client)), "Dask frame")
    return reading, _pieces(whole.chunks[0], "Dask array")


def _current_client() -> Any:
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:  # there is none
        return None


@dataclass(frozen=True)
class SparkPartitions:
    """Partitions of a Spark frame; executors hand their record batches to a task in Python."""

    frame: Any
    piece_by_piece: ClassVar[bool] = True

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:  # noqa: ARG002
        """The results of all parts, in their order."""
        columns = getattr(task, "columns", None)
        frame = self.frame if columns is None else self.frame.select(*map(_quoted, columns))
        work = _InArrow(Telling(task), {span[0].number: span[0] for span in parts})
        rows = frame.mapInArrow(work, "number int, result binary").collect()
        results = {row["number"]: row["result"] for row in rows}
        for (piece,) in parts:
            if piece.number not in results:
                raise InputError(f"{piece.path.capitalize()} is gone. Keep the rows as they are: frame.persist().")
            yield Told.unless(pickle.loads(results[piece.number]))


@dataclass(frozen=True)
class _InArrow:
    """From the record batches of a partition to what the task makes of them, as bytes."""

    task: Callable[[Any], Any]
    pieces: Mapping[int, Partition]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()  # type: ignore[union-attr]
        if number in self.pieces:
            piece = replace(self.pieces[number], content=lambda columns: (batch.select(columns) for batch in batches))
            result = pickle.dumps(self.task((piece,)))
            yield pa.RecordBatch.from_pydict({"number": pa.array([number], pa.int32()), "result": [result]})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def spark_partitions(frame: Any, most: int) -> tuple[SparkPartitions, tuple[Piece, ...]]:
    """What reads a Spark frame, and its partitions, ``most`` at most."""
    functions = optional_module("pyspark.sql.functions", "Spark frames")
    counted = frame.groupBy(functions.spark_partition_id().alias("number")).count().collect()
    if max((row["number"] for row in counted), default=0) >= most:
        return spark_partitions(frame.coalesce(most), most)
    counts = {row["number"]: row["count"] for row in counted}
    rows = [counts.get(number, 0) for number in range(max(counts, default=-1) + 1)]
    return SparkPartitions(frame), _pieces(rows, "Spark frame")


def column_types(frame: Any) -> dict[str, Any]:
    """The columns of a Dask or Spark frame, with their types as pyarrow calls them."""
    if is_spark(frame):
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(frame.schema)
    elif hasattr(frame, "columns"):
        import pyarrow as pa

        schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
    else:
        raise InputError("A Dask array has no names of columns. Give it to a model with its labels: fit(X, y).")
    return dict(zip(schema.names, schema.types, strict=True))


def rows_of_frame(frame: Any, given: Roles, others: bool, drop: Sequence[str], executor: Any) -> PartitionedRows:
    """A Dask or Spark frame as rows that are read in passes; ``others``: all other columns are learned from."""
    types = column_types(frame)
    roles = roles_of(types, given, others, drop)
    columns = list(dict.fromkeys((*roles.features, *roles.offset, *roles.beside)))
    if is_spark(frame):
        reading, pieces = spark_partitions(frame.select(*map(_quoted, columns)), most_spans(len(roles.features)))
        return PartitionedRows(roles, pieces, reading, types)
    held, pieces = dask_partitions(frame[columns], {}, executor)
    return PartitionedRows(roles, pieces, held, types)


def as_source(X: Any, y: Any, sample_weight: Any = None, columns: Sequence[str] | None = None) -> PartitionedRows:
    """A collection with its labels and weights, which may be names of its columns, as rows that are read in passes.

    ``columns`` are those to learn from, by default all others.
    """
    framed = is_spark(X) or hasattr(X, "columns")
    given = {"y": y, "sample_weight": sample_weight}
    apart = {name: own for name, own in given.items() if own is not None and not (framed and isinstance(own, str))}
    if is_spark(X) and apart:
        raise LabelError(
            f"{next(iter(apart))} of a Spark frame is the name of one of its columns: fit(frame, 'column')."
        )
    if framed and not apart:
        return open_dataset(X, target=y, weight=sample_weight, columns=columns)
    types = column_types(X) if framed else {str(j): None for j in range(X.shape[1])}
    parts = {name: own if name not in apart else _unlike(name, types) for name, own in given.items()}
    if framed:
        target, weight = (None if name in apart else own for name, own in parts.items())
        given_roles = Roles(() if columns is None else tuple(columns), target, weight)
        roles = roles_of(types, given_roles, columns is None, ())
        roles = replace(roles, target=parts["y"], weight=parts["sample_weight"])
    else:
        roles = Roles(tuple(types), parts["y"], parts["sample_weight"], named=False)
        if np.isnan(X.chunks[0]).any():
            raise InputError("The rows of this Dask array are not counted yet: X.compute_chunk_sizes() does that.")
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    beside = {str(parts[name]): _cut_like(X, name, own) for name, own in apart.items()}
    executor, pieces = dask_partitions(X, beside)
    return PartitionedRows(roles, pieces, executor, types if framed else {})


def _unlike(name: str, others: Iterable[str]) -> str:
    """The name, or another that none of the others has."""
    return _unlike(f"{name}_", others) if name in others else name


def _cut_like(X: Any, name: str, values: Any) -> Any:
    """Labels or weights as a Dask collection that is cut like ``X``."""
    chunks = X.chunks[0] if hasattr(X, "chunks") else None
    if not is_dask(values):
        if chunks is None:
            raise LabelError(f"{name} of a Dask frame is a Dask series, or the name of one of its columns.")
        return optional_module("dask.array", "Dask collections").from_array(np.asarray(values), chunks=(chunks,))
    if getattr(values, "ndim", 1) != 1:
        raise LabelError(f"{name} has {values.ndim} dimensions: give one value for each row.")
    if chunks is not None and hasattr(values, "chunks") and not np.isnan(values.chunks[0]).any():
        if sum(chunks) != sum(values.chunks[0]):
            raise InputError(
                f"X has {sum(chunks):,} rows, and {name} has {sum(values.chunks[0]):,}: give one for each."
            )
        return values.rechunk((chunks,))
    if values.npartitions != X.npartitions:
        raise InputError(f"X and {name} are cut into different partitions. Repartition one of them like the other.")
    return values


@dataclass(frozen=True)
class Asking:
    """From the rows of a partition to a model's answers: one column of them, or one for each name.

    ``columns`` are those that the model knows by name, None where it has numbers alone.
    """

    ask: Callable[[Any], Array]
    columns: tuple[str, ...] | None
    names: tuple[str, ...]
    dtype: Any

    def answers_to(self, collection: Any) -> Any:
        """The answers to a Dask or Spark collection, as one of its kind that computes them when it is asked."""
        if is_spark(collection):
            self._refuse_absent(collection.columns)
            return self._of_spark(collection)
        if hasattr(collection, "columns"):
            self._refuse_absent(collection.columns)
            return collection.map_partitions(self._of_frame, meta=self._of_frame(collection._meta))
        whole = collection if collection.numblocks[1] == 1 else collection.rechunk({1: -1})
        one = len(self.names) == 1
        shape = {"drop_axis": 1} if one else {"chunks": (whole.chunks[0], (len(self.names),))}
        return whole.map_blocks(self._of_rows, meta=self._empty, dtype=self.dtype, **shape)

    def _refuse_absent(self, found: Iterable[str]) -> None:
        absent = [name for name in self.columns or () if name not in list(found)]
        if absent:
            raise ColumnError(f"There is no column {quoted(absent, 5)}, which this model was fitted with.")

    @property
    def _empty(self) -> Array:
        return np.empty((0,) if len(self.names) == 1 else (0, len(self.names)), self.dtype)

    def _of_rows(self, rows: Any) -> Array:
        return np.asarray(self.ask(rows)) if len(rows) else self._empty

    def _of_frame(self, frame: Any) -> Any:
        """The answers to a pandas frame, with its index."""
        import pandas as pd

        answers = self._of_rows(frame if self.columns is None else frame[list(self.columns)])
        if len(self.names) == 1:
            return pd.Series(answers.tolist(), frame.index, self._dtype_of_frames, self.names[0])
        return pd.DataFrame(answers, frame.index, list(self.names))

    @property
    def _dtype_of_frames(self) -> Any:
        return "str" if self.dtype.kind == "U" else self.dtype

    def _of_spark(self, frame: Any) -> Any:
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        taken = [name for name in self.names if name in frame.columns]
        if taken:
            raise ColumnError(f"There is a column {taken[0]!r} already, where the answers are to stand. Rename it.")
        kind = from_arrow_type(self._arrow_type)
        made = [StructField(name, kind) for name in self.names]
        return frame.mapInArrow(self._of_batches, StructType([*frame.schema.fields, *made]))

    @property
    def _arrow_type(self) -> Any:
        import pyarrow as pa

        return pa.string() if self.dtype.kind in "UO" else pa.from_numpy_dtype(self.dtype)

    def _of_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Record batches with the answers beside their columns."""
        import pyarrow as pa

        for batch in batches:
            table = pa.Table.from_batches([batch])
            answers = self._of_rows(table if self.columns is None else table.select(list(self.columns)))
            each = answers.reshape(len(answers), len(self.names)).T
            made = [pa.array(own.tolist(), self._arrow_type) for own in each]
            yield pa.RecordBatch.from_arrays([*batch.columns, *made], [*batch.schema.names, *self.names])
