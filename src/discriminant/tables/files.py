"""Tables opened by one function, whatever they are written in; among them the sparse SVMlight (LIBSVM) format."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import as_frame
from ..errors import ColumnError, InputError, ParameterError, Part
from .delimited import DelimitedReader
from .dialect import DialectOptions, find_dialect
from .sources import (
    ArrowReader,
    ColumnOptions,
    FrameReader,
    InputFile,
    ParquetReader,
    TableReader,
    as_arrow,
    open_source,
)

Array = np.ndarray[Any, Any]

_LINE = re.compile(rb"\s*[-+\w.,]+(\s+qid:\d+)?(\s+\d+:[-+\w.]+)+\s*(#.*)?")
_PART_BYTES = 1 << 24
#: A column number above this is a mistake, and would ask for as many coefficients.
_MOST_COLUMNS = 100_000_000


@dataclass(frozen=True)
class SparseBatch:
    """Rows of numbers in a CSR matrix, and their labels."""

    X: Any
    y: Array

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def slice(self, start: int, rows: int) -> SparseBatch:
        return SparseBatch(self.X[start : start + rows], self.y[start : start + rows])


def looks_like_svmlight(sample: bytes) -> bool:
    """Whether the first lines are labels with ``column:value`` pairs."""
    lines = [line for line in sample[: 1 << 16].splitlines()[:6] if line.strip() and not line.startswith(b"#")]
    if len(lines) > 1:
        del lines[-1]  # it may be cut
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


class SvmlightReader(TableReader):
    """An SVMlight file; its columns are numbered, and its labels are the target."""

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        if columns.columns is not None or columns.types:
            raise ParameterError("SVMlight columns have numbers, not names: columns= and types= do not apply.")
        if columns.target is not None:
            raise ColumnError(
                f"{source.label} is SVMlight text, whose labels stand first in each line: leave the target out, got "
                f"{columns.target!r}."
            )
        super().__init__(source.label, (), columns, source)
        self._file = source

    def _read(self) -> SparseBatch:
        """All rows as a CSR matrix with labels; the width is that of the highest column number."""
        parts = list(self._stream()) or [SparseBatch(sp.csr_matrix((0, 0)), np.empty(0))]
        width = max(part.X.shape[1] for part in parts)
        for part in parts:
            part.X.resize(part.num_rows, width)
        return SparseBatch(sp.vstack([part.X for part in parts], "csr"), np.concatenate([part.y for part in parts]))

    def _cut(self, parts: Iterator[SparseBatch], rows: int) -> Iterator[SparseBatch]:
        """At most ``rows`` rows at a time, each part as wide as its highest column number."""
        for part in parts:
            yield from (part.slice(start, rows) for start in range(0, part.num_rows, rows))

    def _stream(self) -> Iterator[SparseBatch]:
        with self._file.plainly("read as SVMlight"), self._file.open() as stream:
            rest, line = b"", 1
            while part := stream.read(_PART_BYTES):
                whole, rest = _cut_at_last_line(rest + part)
                if whole.strip():
                    yield _parsed(whole, line, self.label)
                line += whole.count(b"\n")
            if rest.strip():
                yield _parsed(rest, line, self.label)

    def _why_empty(self) -> tuple[Part, ...]:
        return (f"{self.label} has no rows. Give at least one line with a label and column:value pairs.",)


def _cut_at_last_line(text: bytes) -> tuple[bytes, bytes]:
    end = text.rfind(b"\n") + 1
    return text[:end], text[end:]


def _parsed(text: bytes, line: int, label: str) -> SparseBatch:
    """The rows of some lines; a column's place is its number, whether the file counts from 0 or from 1."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        number, culprit = _first_bad_line(text)
        raise InputError(
            f"Line {line + number:,} of {label} is not SVMlight: {culprit!r}. Expected a label and then column:value "
            f"pairs with rising column numbers, such as '1 3:0.5 7:2' ({error})."
        ) from error
    if X.shape[1] > _MOST_COLUMNS:
        raise InputError(f"{label} has column number {X.shape[1] - 1:,}; at most {_MOST_COLUMNS:,} are read.")
    return SparseBatch(X, y)


def _first_bad_line(text: bytes) -> tuple[int, str]:
    from sklearn.datasets import load_svmlight_file

    lines = text.splitlines()
    low, high = 0, len(lines)  # the first `low` lines are good, the first `high` are not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            load_svmlight_file(io.BytesIO(b"\n".join(lines[:middle]) + b"\n"), zero_based=True)
            low = middle
        except (ValueError, OverflowError, TypeError, IndexError):
            high = middle
    return low, lines[low][:60].decode("latin-1")


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
) -> TableReader:
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
    TableReader
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
    dialect = DialectOptions(delimiter, encoding, header, quote, decimal, missing)
    wanted = ColumnOptions(target, columns, {} if types is None else types)
    frame = None if isinstance(source, (str, bytes, os.PathLike)) else as_frame(source)
    if frame is not None:
        dialect.refuse_for("a frame")
        return FrameReader(as_arrow(frame), wanted)
    if not isinstance(source, (str, os.PathLike)) and not hasattr(source, "read"):
        raise InputError(
            f"A table is read from a file, standard input ('-') or a frame, got {type(source).__name__}. Make it a "
            "pandas, polars or pyarrow frame first."
        )
    return _open_file(open_source(source), wanted, dialect, on_ragged)


def _open_file(file: InputFile, columns: ColumnOptions, dialect: DialectOptions, on_ragged: str) -> TableReader:
    if file.format in ("parquet", "arrow"):
        dialect.refuse_for(file.format)
        return ParquetReader(file, columns) if file.format == "parquet" else ArrowReader(file, columns)
    sample, whole = file.sample()
    known_ending = file.path.suffix.lower() in (".csv", ".tsv", ".tab")
    if file.format == "svmlight" or (not (known_ending or dialect.given) and looks_like_svmlight(sample)):
        dialect.refuse_for("SVMlight")
        return SvmlightReader(file, columns)
    found = find_dialect(sample, whole, dialect, known={*columns.wanted, *columns.types}, label=file.label)
    return DelimitedReader(file, found, columns, on_ragged, fixed=dialect.encoding is not None)
