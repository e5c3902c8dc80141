"""Tables opened by one function, whatever they are written in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..data.rows import as_frame
from ..errors import ColumnError, InputError, ParameterError
from .delimited import DelimitedTable
from .dialect import find_dialect
from .sources import Source, open_source
from .svmlight import SvmlightTable, looks_like_svmlight
from .table import ArrowTable, FrameTable, ParquetTable, Table


def open_table(
    source: Any,
    target: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    on_ragged: str = "refuse",
) -> Table:
    """The table of a file, of standard input or of a frame, ready to be read whole or in batches.

    Parameters
    ----------
    source : path, "-", binary stream or frame
        A file: delimited text (also compressed by gzip, bzip2 or zstd), Parquet, Arrow or Feather, SVMlight. ``"-"`` is
        standard input. A pandas, polars or pyarrow frame is taken as it is.
    target : str, optional
        The column of classes.
    delimiter, encoding, header, quote, decimal, missing : optional
        How the text is written. What is not given is found out from its first megabyte, see ``table.dialect``.
        ``missing`` lists what stands for a missing value. They apply to text only.
    columns : list of str, optional
        Read only these, and the target.
    types : dict, optional
        What columns are, where it should not be found out: ``"number"``, ``"category"`` or ``"boolean"``.
    on_ragged : {"refuse", "skip"}
        What to do with lines that have another number of values: an error, or leave them out and count them.

    Returns
    -------
    Table
        With ``read()``, ``batches(rows)``, ``columns``, ``dialect`` and ``fingerprint``.

    Examples
    --------
    >>> import io
    >>> from discriminant.tables import open_table
    >>> table = open_table(io.BytesIO(b"dose;group\\n0,5;a\\n1,25;b\\n"))
    >>> table.columns
    ('dose', 'group')
    >>> table.read()["dose"].to_pylist()
    [0.5, 1.25]
    """
    written = {
        "delimiter": delimiter,
        "encoding": encoding,
        "header": header,
        "quote": quote,
        "decimal": decimal,
        "missing": missing,
    }
    frame = None if isinstance(source, (str, bytes, os.PathLike)) else as_frame(source)
    if frame is not None:
        _refuse_writing(written, "a frame")
        return FrameTable(as_arrow(frame), target, columns, types)
    if not isinstance(source, (str, os.PathLike)) and not hasattr(source, "read"):
        raise InputError(
            f"A table is read from a file, standard input ('-') or a frame, got {type(source).__name__}. Make it a "
            "pandas, polars or pyarrow frame first."
        )
    place = open_source(source)
    if place.format in ("parquet", "arrow"):
        _refuse_writing(written, place.format)
        kind = ParquetTable if place.format == "parquet" else ArrowTable
        return kind(place, target, columns, types)
    return _open_text(place, target, columns, types, on_ragged, written)


def _open_text(place: Source, target: Any, columns: Any, types: Any, on_ragged: str, written: dict[str, Any]) -> Table:
    sample, whole = place.sample()
    told = any(value is not None for value in written.values())
    unknown_ending = place.path.suffix.lower() not in (".csv", ".tsv", ".tab")
    if place.format == "svmlight" or (unknown_ending and not told and looks_like_svmlight(sample)):
        _refuse_writing(written, "SVMlight")
        return SvmlightTable(place, target, columns, types)
    known = {str(name) for name in (target, *(columns or ()), *(types or ())) if name is not None}
    dialect = find_dialect(sample, whole, **written, known=known, label=place.label)
    return DelimitedTable(place, dialect, target, columns, types, on_ragged, written["encoding"] is not None)


def _refuse_writing(written: dict[str, Any], what: str) -> None:
    given = [name for name, value in written.items() if value is not None]
    if given:
        raise ParameterError(f"{given[0]}= tells how text is written; it does not apply to {what}. Leave it out.")


def as_arrow(frame: Any) -> Any:
    """A narwhals frame as a pyarrow table, column by column where nothing has to be copied."""
    import pyarrow as pa

    try:
        data = frame.to_arrow()
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise ColumnError(
            f"A column of the frame mixes types: {error.args[-1] if error.args else error}. Make it one type: numbers, "
            "text, or true and false."
        ) from error
    names = [str(name) for name in frame.columns]  # pandas appends its index
    return data.select(list(range(len(names)))).rename_columns(names).replace_schema_metadata(None)
