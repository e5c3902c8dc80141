"""Several files read as one table: their rows concatenated under the columns of the first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import pyarrow as pa

from ..errors import ColumnError
from ..results import Finding, quoted
from .layouts import common_types, concatenated, is_text
from .readers import ColumnOptions, TableReader

#: Opens one of the files with declared types of columns.
Opening: TypeAlias = Callable[[str, Mapping[str, str]], TableReader]


class SeveralTables(TableReader):
    """The tables of several files as one; a column that is text in one of them is read as text in all."""

    def __init__(self, paths: Sequence[str], opening: Opening) -> None:
        self._paths, self._opening = list(paths), opening
        self._tables = [opening(path, {}) for path in paths]
        first = self._tables[0]
        for table in self._tables:
            for one, other in ((table, first), (first, table)):
                missing = [name for name in other.columns if name not in one.columns]
                if missing:
                    raise ColumnError(
                        f"{one.label} has no column {quoted(missing, 5)}, but {other.label} has. Give files with the "
                        "same columns."
                    )
        label = f"{first.label} and {len(paths) - 1} more"
        super().__init__(label, first.columns, ColumnOptions(first.target, None, first.types))
        self.dialect = first.dialect
        self.missing_codes, self.decimal = first.missing_codes, first.decimal
        counts = [table.n_rows for table in self._tables]
        self.n_rows = None if None in counts else sum(counts)  # type: ignore[arg-type]

    @property
    def read_as(self) -> str:
        return f"{len(self._tables)} files, each {self._tables[0].read_as}"

    @property
    def findings(self) -> list[Finding]:
        return list(dict.fromkeys(chain.from_iterable(table.findings for table in self._tables)))

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the fingerprints of the files."""
        return hashlib.sha256("\n".join(table.fingerprint for table in self._tables).encode()).hexdigest()

    def _read(self) -> pa.Table:
        parts = [table.read().select(list(self.columns)) for table in self._tables]
        text = [name for name, kind in common_types(parts).items() if is_text(kind)]
        for number, part in enumerate(parts):
            if typed := _typed_columns(part, text):
                self._tables[number] = self._opening(self._paths[number], dict.fromkeys(typed, "category"))
                parts[number] = self._tables[number].read().select(list(self.columns))
                if typed := _typed_columns(parts[number], text):
                    raise ColumnError(
                        f"Column {typed[0]!r} of {self.label} has different types: "
                        f"{parts[number].schema.field(typed[0]).type} in {self._tables[number].label}. Give it one "
                        "type in all files."
                    )
        return concatenated(parts)

    def _stream(self) -> Iterator[pa.Table]:
        for table in self._tables:
            yield from (batch.select(list(self.columns)) for batch in table.batches())


def _typed_columns(part: pa.Table, names: Sequence[str]) -> list[str]:
    """Those of the columns that are neither text nor empty."""
    kinds = {name: part.schema.field(name).type for name in names}
    return [name for name, kind in kinds.items() if not (is_text(kind) or pa.types.is_null(kind))]
