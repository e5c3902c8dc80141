"""Opens the table of a file, of standard input or of a frame, in any format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..data import as_frame
from ..errors import InputError, ParameterError, Setting
from .files import FORMATS, FileSource, InputFile, open_source
from .layouts import as_arrow
from .readers import ArrowReader, ColumnOptions, FrameReader, ParquetReader, TableReader
from .svmlight import SvmlightReader, looks_like_svmlight

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from .dialect import DialectOptions

#: What a table can be opened from.
TableSource: TypeAlias = "FileSource | IntoFrame"


def open_table(
    source: TableSource,
    target: str | None = None,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    missing_codes: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
) -> TableReader:
    """Open the table of a file, of standard input or of a frame, to be read whole or in batches.

    Parameters
    ----------
    source : path, "-", binary stream or frame
        A file: delimited text, JSON, a workbook (Excel or OpenDocument), Parquet, Arrow or Feather, an SQLite or DuckDB
        database, SVMlight; also compressed with gzip, bzip2 or zstd. The format is recognised by the content. ``"-"``
        is standard input; a pipe is read to its end first. Or a pandas, polars or pyarrow frame.
    target : str, optional
        The column of classes.
    table : str, optional
        Which table of a file with several: the sheet of a workbook (default: the first that is not empty), the table or
        view of a database (default: the only one), or an SQL query that begins with SELECT or WITH.
    delimiter, encoding, header, quote, decimal, missing_codes : optional
        The dialect of the text. Default: inferred from its first megabyte, see ``table.dialect``. ``missing_codes``
        lists the texts that stand for a missing value, instead of NA, ``?`` and the like. These options apply to text;
        ``header`` also to workbooks, ``encoding`` also to JSON, ``missing_codes`` to workbooks, JSON and SQLite.
    columns : list of str, optional
        Read only these, and the target.
    types : dict, optional
        Types of columns that should not be inferred, see `read_training`.

    Returns
    -------
    TableReader
        With ``read()``, ``batches(rows)``, ``columns``, ``dialect`` and ``fingerprint``.

    See Also
    --------
    read_training : Opens a table and codes its rows as numbers.

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
    from .dialect import DialectOptions

    dialect = DialectOptions(delimiter, encoding, header, quote, decimal, missing_codes)
    options = ColumnOptions(target, columns, {} if types is None else types)
    frame = None if isinstance(source, (str, bytes, os.PathLike, InputFile)) else as_frame(source)
    if frame is not None:
        dialect.refuse_for("a frame")
        _refuse_table(table, "a frame")
        return FrameReader(as_arrow(frame), options)
    if not isinstance(source, (str, os.PathLike, InputFile)) and not hasattr(source, "read"):
        raise InputError(
            f"Expected a file, standard input ('-') or a data frame, got {type(source).__name__}. Convert it to a "
            "pandas or polars data frame or a pyarrow table."
        )
    return _file_table(open_source(source), table, dialect, options)  # type: ignore[arg-type]


#: Options of the dialect that apply to formats other than delimited text.
_APPLICABLE = {
    "parquet": (), "arrow": (), "duckdb": (), "sqlite": ("missing_codes",), "workbook": ("header", "missing_codes"),
    "json": ("encoding", "missing_codes"),
}  # fmt: skip


def _file_table(file: InputFile, table: str | None, dialect: DialectOptions, columns: ColumnOptions) -> TableReader:
    """The table of a file, by its format."""
    kind = file.format
    if kind not in ("workbook", "sqlite", "duckdb"):
        _refuse_table(table, FORMATS[kind][0])
    if kind in _APPLICABLE and not (kind == "json" and dialect.needs_text):
        dialect.refuse_for(FORMATS[kind][0], *_APPLICABLE[kind])
    elif kind == "svmlight":
        dialect.refuse_for("SVMlight")
        return SvmlightReader(file, columns)
    else:
        return _text_table(file, dialect, columns)
    if kind == "parquet":
        return ParquetReader(file, columns)
    if kind == "arrow":
        return ArrowReader(file, columns)
    if kind == "duckdb":
        from .databases import DuckDBReader

        return DuckDBReader(file, columns, table)
    if kind == "sqlite":
        from .databases import open_sqlite

        return open_sqlite(file, table, dialect.codes, columns)
    if kind == "workbook":
        from .workbooks import open_workbook

        return open_workbook(file, table, dialect, columns)
    from .records import open_json

    return open_json(file, dialect.encoding, dialect.codes, columns)


def _text_table(file: InputFile, dialect: DialectOptions, columns: ColumnOptions) -> TableReader:
    """Delimited text, or SVMlight unless the extension or an option implies delimited text."""
    from .delimited import DelimitedReader
    from .dialect import find_dialect

    sample, is_complete = file.sample()
    is_delimited = file.path.suffix.lower() in FORMATS["text"][1] or dialect.given
    if not is_delimited and looks_like_svmlight(sample):
        return SvmlightReader(file, columns)
    found = find_dialect(sample, is_complete, dialect, known={*columns.wanted, *columns.types}, label=file.label)
    return DelimitedReader(file, found, columns, fixed=dialect.encoding is not None)


def _refuse_table(table: str | None, kind: str) -> None:
    if table is not None:
        raise ParameterError(
            Setting("table"), f" applies to sheets of workbooks and tables of databases, not to {kind}. Leave it out."
        )
