"""Several files that are one table: their rows one after the other, under the columns of the first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from ..errors import ColumnError
from ..results import Finding, quoted
from .sources import ColumnOptions, TableReader, is_text

#: Opens one of the files; types say what columns are to be read as.
Opening = Callable[[str, Mapping[str, str]], TableReader]


class SeveralTables(TableReader):
    """The tables of several files as one; a column that is text in one of them is read as text in all."""

    def __init__(self, paths: Sequence[str], opening: Opening) -> None:
        self._paths, self._opening = list(paths), opening
        self._tables = [opening(path, {}) for path in paths]
        first = self._tables[0]
        for table in self._tables:
            absent = [name for name in first.columns if name not in table.columns]
            absent_first = [name for name in table.columns if name not in first.columns]
            if absent or absent_first:
                lacks, has, names = (table, first, absent) if absent else (first, table, absent_first)
                raise ColumnError(
                    f"{lacks.label} has no column {quoted(names, 5)}, which {has.label} has. Give files of the same "
                    "columns."
                )
        label = f"{first.label} and {len(paths) - 1} more"
        super().__init__(label, first.columns, ColumnOptions(first.target, None, first.types))
        self.dialect, self.unusable = first.dialect, first.unusable
        self.stored_as_text = frozenset.intersection(*(table.stored_as_text for table in self._tables))
        counts = [table.n_rows for table in self._tables]
        self.n_rows = None if None in counts else sum(counts)  # type: ignore[arg-type]

    @property
    def skipped(self) -> int:
        return sum(table.skipped for table in self._tables)

    @property
    def read_as(self) -> str:
        return f"{len(self._tables)} files, each {self._tables[0].read_as}"

    @property
    def findings(self) -> list[Finding]:
        return list(dict.fromkeys(chain.from_iterable(table.findings for table in self._tables)))

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of those of the files."""
        return hashlib.sha256("\n".join(table.fingerprint for table in self._tables).encode()).hexdigest()

    def _read(self) -> Any:
        parts = [table.read().select(list(self.columns)) for table in self._tables]
        kinds = {name: [part.schema.field(name).type for part in parts] for name in self.columns}
        mixed = [
            name
            for name, own in kinds.items()
            if len({is_text(kind) for kind in own if not pa.types.is_null(kind)}) > 1
        ]
        for number, part in enumerate(parts):
            again = [name for name in mixed if not is_text(part.schema.field(name).type)]
            if again:
                self._tables[number] = self._opening(self._paths[number], dict.fromkeys(again, "category"))
                parts[number] = self._tables[number].read().select(list(self.columns))
        try:
            return pa.concat_tables([_plain(part, kinds) for part in parts], promote_options="permissive")
        except pa.ArrowException as error:
            raise ColumnError(
                f"The files of {self.label} have columns of other types: {error}. Use one type."
            ) from error

    def _stream(self) -> Iterator[Any]:
        for table in self._tables:
            yield from (batch.select(list(self.columns)) for batch in table.batches())


def _plain(part: Any, kinds: Mapping[str, Sequence[Any]]) -> Any:
    """A table with texts instead of codes of texts, where files have different types."""
    for place, name in enumerate(part.column_names):
        if len(set(map(str, kinds[name]))) > 1 and pa.types.is_dictionary(part.schema.field(name).type):
            part = part.set_column(place, name, part[name].cast(pa.string()))
    return part
