"""Opening files, streams and frames as a dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..data import is_collection
from ..errors import ColumnError, InputError
from ..files import paths_of
from .coding import SourceFormat
from .dataset import PartitionedRows, roles_of
from .executors import ExecutorLike, executor_of
from .fragments import SPARSE_COLUMNS, DataFile, fragments_of, has_fragments, types_of
from .reading import Roles

if TYPE_CHECKING:
    from ..tables.schema import Schema
    from .cache import ArrowStream, Decoded

    #: Files, patterns or folders, or Arrow data.
    DataSource: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | ArrowStream"


def open_dataset(
    source: DataSource,
    *,
    target: str | None = None,
    weight: str | None = None,
    offset: str | Sequence[str] | None = None,
    cluster: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    executor: ExecutorLike = "threads",
    reading: Mapping[str, Any] | None = None,
) -> PartitionedRows:
    """Open files as rows that are streamed from disk in each pass, so that they need not fit into memory.

    Parquet and Arrow files and NumPy arrays (``.npy``) are read directly. Other tables that `open_table` reads (CSV,
    JSON, databases, SVMlight, also compressed) and Arrow streams are decoded once, to a temporary folder that is
    deleted with the rows.

    Parameters
    ----------
    source : str, path, list of them, stream of Arrow, Dask frame or Spark frame
        A file, a pattern such as ``"data/*.parquet"``, a folder, or a list of files. Files are read in the order of
        their names. Or an object with Arrow data: a DuckDB relation, a cursor with ``fetch_record_batch``, a
        ``RecordBatchReader``. Columns of a NumPy array have the names ``x0``, ``x1`` and so on; SVMlight has no names.
        Partitions of Dask and Spark frames are read by the workers that hold them.
    target : str, optional
        The column of labels; for NumPy arrays a ``.npy`` file of labels, as for the next three parameters. SVMlight has
        its own labels.
    weight : str, optional
        The column of weights: a row of weight 3 counts as three rows.
    offset : str or list of str, optional
        The column of known parts of the scores; for more than two classes one column for each, in their order.
    cluster : str, optional
        The column of clusters of dependent rows, for clustered standard errors.
    columns : list of str, optional
        The features. Default: all other columns. Models need numbers; `TableEncoder` codes text and missing values.
    drop : list of str, default=()
        Columns to drop.
    executor : str, Dask client or Spark session, default="threads"
        What reads the files: "threads" of this process, "dask" (its embedded scheduler), a Dask client or the address
        of a scheduler (``tcp://...``), a Spark session or the address of a master (``spark://...``). Workers read the
        files and send back statistics; results are bit-identical for all executors.
    reading : dict, optional
        Options of `open_table` for text and databases, such as ``{"delimiter": ";"}`` or ``{"table": "SELECT ..."}``.

    Returns
    -------
    PartitionedRows
        Accepted by estimators as ``X``, without ``y``.

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
        from .frames import rows_of_frame  # which imports this module

        offsets = (offset,) if isinstance(offset, str) else tuple(offset or ())
        roles = Roles(() if columns is None else tuple(columns), target, weight, offsets, cluster)
        return rows_of_frame(source, roles, columns is None, drop, executor_of(executor))
    from .cache import check_reading  # imports all readers of tables

    check_reading(reading)
    arrays: dict[str, str] = {}
    offsets = tuple(_beside(name, arrays) for name in ((offset,) if isinstance(offset, str) else offset or ()))
    target, weight, cluster = (None if name is None else _beside(name, arrays) for name in (target, weight, cluster))
    files, source_format, schema, kept = _opened(source, reading)
    if schema is not None:
        if target is not None:
            raise ColumnError(
                f"{source_format.label} is in SVMlight format, with the label first in each line. Leave target out."
            )
        target = SPARSE_COLUMNS[0]
    types = types_of(files, drop) | {name: DataFile.open(path).types["x0"] for name, path in arrays.items()}
    given = Roles(() if columns is None else tuple(columns), target, weight, offsets, cluster)
    roles, fragments = roles_of(types, given, columns is None, drop), fragments_of(files, arrays)
    return PartitionedRows(roles, fragments, executor_of(executor), types, source_format, schema, decoded=kept)


def _beside(name: str, arrays: dict[str, str]) -> str:
    """The name of a column; a file of an array is added to ``arrays`` under its own name."""
    if not str(name).endswith(".npy"):
        return name
    stem = os.path.basename(name).removesuffix(".npy")
    arrays[stem] = str(name)
    return stem


def _opened(
    source: DataSource, reading: Mapping[str, Any] | None
) -> tuple[list[DataFile], SourceFormat, Schema | None, Decoded | None]:
    """The files of a source, decoded if necessary, their format, and the schema of sparse rows."""
    from ..tables.schema import Schema
    from .cache import Decoded, is_stream

    if is_stream(source):
        sources: list[Any] = [source]
        label = "the stream"
    else:
        sources = paths_of(source)  # type: ignore[arg-type]
        label = sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"
        sources = [DataFile.open(path) if has_fragments(path) else path for path in sources]
        if all(isinstance(one, DataFile) for one in sources):
            return sources, SourceFormat(label), None, None
    decoded = Decoded(sources, reading)
    if not decoded.files:
        raise InputError(f"{label} has no rows. Give at least one row.")
    schema, (first, last) = None, decoded.columns
    if decoded.n_rows:
        first = int(first > 0)
        schema = Schema((), width=int(last) + 1 - first, first=first)
    return decoded.files, decoded.format(label), schema, decoded
