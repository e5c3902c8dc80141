"""SVMlight text: lines of a label and ``column:value`` pairs, read as sparse rows."""

from __future__ import annotations

import io
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from ..arrays import Array
from ..errors import ColumnError, InputError, ParameterError, Part
from .files import InputFile
from .readers import Batch, ColumnOptions, TableReader

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_LINE = re.compile(rb"\s*[-+\w.,]+(\s+qid:\d+)?(\s+\d+:[-+\w.]+)+\s*(#.*)?")
#: Bytes that are parsed at a time.
PART_BYTES: Final = 1 << 24
#: A larger column number is a mistake, and would need as many coefficients.
MAX_COLUMNS: Final = 100_000_000


@dataclass(frozen=True)
class SparseBatch:
    """Rows of a CSR matrix with their labels."""

    X: csr_matrix
    y: Array

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def slice(self, start: int, rows: int) -> SparseBatch:
        return SparseBatch(self.X[start : start + rows], self.y[start : start + rows])

    def filter(self, wanted: Array) -> SparseBatch:
        return SparseBatch(self.X[wanted], self.y[wanted])


def looks_like_svmlight(sample: bytes) -> bool:
    """Whether the first lines are labels with ``column:value`` pairs."""
    lines = [line for line in sample[: 1 << 16].splitlines()[:6] if line.strip() and not line.startswith(b"#")]
    if len(lines) > 1:
        del lines[-1]  # it may be truncated
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


class SvmlightReader(TableReader):
    """An SVMlight file; its columns are numbered, and its labels are the target."""

    source: InputFile

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        if columns.columns is not None or columns.types:
            raise ParameterError("SVMlight columns have numbers, not names: leave columns and types out.")
        if columns.target is not None:
            raise ColumnError(
                f"{source.label} is in SVMlight format, with the label first in each line: leave the target out, got "
                f"{columns.target!r}."
            )
        super().__init__(source.label, (), columns, source)

    def _read(self) -> SparseBatch:
        """All rows as a CSR matrix with labels; its width is the highest column number plus one."""
        import scipy.sparse as sp  # slow to load

        parts = list(self._stream()) or [SparseBatch(sp.csr_matrix((0, 0)), np.empty(0))]
        width = max(part.X.shape[1] for part in parts)
        for part in parts:
            part.X.resize(part.num_rows, width)
        return SparseBatch(sp.vstack([part.X for part in parts], "csr"), np.concatenate([part.y for part in parts]))

    def _regrouped(self, parts: Iterator[Batch], rows: int) -> Iterator[Batch]:
        """At most ``rows`` rows at a time; the width of a part is its highest column number plus one."""
        for part in parts:
            yield from (part.slice(start, rows) for start in range(0, part.num_rows, rows))

    def _stream(self) -> Iterator[SparseBatch]:
        with self.source.input_errors("read as SVMlight"), self.source.open() as stream:
            rest, line = b"", 1
            # The last line may have no line end.
            for part in chain(iter(lambda: stream.read(PART_BYTES), b""), [b"\n"]):
                whole, end, rest = (rest + part).rpartition(b"\n")
                if whole.strip():
                    yield _parsed(whole + end, line, self.label)
                line += whole.count(b"\n") + len(end)

    def _no_rows(self) -> tuple[Part, ...]:
        return (f"{self.label} has no rows. Give at least one line with a label and column:value pairs.",)


def _parsed(text: bytes, line: int, label: str) -> SparseBatch:
    """The rows of some lines; the position of a column is its number, whether the file counts from 0 or from 1."""
    from sklearn.datasets import load_svmlight_file

    def load(text: bytes) -> tuple[csr_matrix, Array] | Exception:
        try:
            return load_svmlight_file(io.BytesIO(text), zero_based=True)
        except (ValueError, OverflowError, TypeError, IndexError) as error:
            return error

    loaded = load(text)
    if isinstance(loaded, Exception):
        lines = text.splitlines()
        bad = bisect_left(range(1, len(lines)), True, key=lambda n: isinstance(load(b"\n".join(lines[:n])), Exception))
        raise InputError(
            f"Line {line + bad:,} of {label} is not SVMlight: {lines[bad][:60].decode('latin-1')!r} ({loaded}). "
            "Expected a label and column:value pairs with increasing column numbers, such as '1 3:0.5 7:2'."
        ) from loaded
    X, y = loaded
    if X.shape[1] > MAX_COLUMNS:
        raise InputError(
            f"{label} has column number {X.shape[1] - 1:,}. Expected at most {MAX_COLUMNS:,}: correct the file."
        )
    return SparseBatch(X, y)
