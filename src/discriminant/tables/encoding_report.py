"""Report of the values that were imputed or ignored when rows were coded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ..arrays import Array
from ..results import capitalised, quoted, several
from .column import OTHER, Column

#: Unseen levels of a column, and texts that cannot be parsed, that a report stores.
MAX_STORED_TEXTS: Final = 20


@dataclass
class EncodingReport:
    """Values that were imputed or ignored when rows were coded; reports of batches can be added.

    Attributes
    ----------
    n_rows : int
        Rows of the input.
    kept : array of bool, or None
        Which of them were coded, if incomplete rows are left out.
    filled : dict
        Imputed missing values, by column.
    new_missing : dict
        Those of them in columns without missing values in training.
    unseen : dict
        Unseen levels with their rows, by column.
    unread : dict
        Texts in columns of numbers, dates or Booleans that cannot be parsed, with their rows, by column; they are
        treated as missing.
    unsure : tuple of str
        Columns whose rarest training levels are not stored, because they have too many: an unseen level may be one of
        these, and is coded as ``(other)``.
    extra : tuple of str
        Columns without a role in training; they are ignored.
    missing_columns : tuple of str
        Columns required by the model but missing from the data.
    """

    n_rows: int = 0
    kept: Array | None = None
    filled: Counter[str] = field(default_factory=Counter)
    new_missing: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    unread: dict[str, Counter[str]] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    missing_columns: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    unseen_as: dict[str, str] = field(default_factory=dict)

    @property
    def n_dropped(self) -> int:
        """The number of incomplete rows that were left out."""
        return 0 if self.kept is None else int(np.count_nonzero(~self.kept))

    def add_missing(self, column: Column, count: int) -> None:
        """Add imputed values of a column."""
        if count:
            self.filled[column.name] += count
            if not column.missing:
                self.new_missing[column.name] += count

    def add_unseen(self, column: Column, levels: Mapping[str, int]) -> None:
        """Add unseen levels of a column with their rows."""
        if levels:
            _add(self.unseen.setdefault(column.name, Counter()), levels, "(further levels)")
            self.unseen_as[column.name] = column.unseen_as
            if not column.knows_levels and column.name not in self.unsure:
                self.unsure += (column.name,)

    def add_unread(self, column: Column, texts: Mapping[str, int]) -> None:
        """Add texts of a column that cannot be parsed, with their rows."""
        if texts:
            _add(self.unread.setdefault(column.name, Counter()), texts, "(further texts)")

    def __add__(self, other: EncodingReport) -> EncodingReport:
        """The report of two batches together."""
        both = (self, other)
        kept = [np.ones(each.n_rows, bool) if each.kept is None else each.kept for each in both]
        return EncodingReport(
            self.n_rows + other.n_rows,
            None if self.kept is other.kept is None else np.concatenate(kept),
            self.filled + other.filled,
            self.new_missing + other.new_missing,
            _sum(self.unseen, other.unseen),
            _sum(self.unread, other.unread),
            tuple(dict.fromkeys(self.extra + other.extra)),
            tuple(dict.fromkeys(self.missing_columns + other.missing_columns)),
            tuple(dict.fromkeys(self.unsure + other.unsure)),
            self.unseen_as | other.unseen_as,
        )

    def summary(self) -> str:
        """All but the unseen levels, in words."""
        return "; ".join([several(self.n_rows, "row"), *self._differences()])

    def describe(self) -> str:
        """How the rows differ from the training data, in sentences."""
        parts = [capitalised(part) for part in (*self._differences(), *self.unseen_notes())]
        head = f"The data ({several(self.n_rows, 'row')}) differ from the training data."
        return " ".join([head, *(f"{part}." for part in parts)])

    def _differences(self) -> list[str]:
        """All differences but the unseen levels."""
        parts = []
        if self.n_dropped:
            parts.append(f"{several(self.n_dropped, 'incomplete row')} dropped")
        if self.filled:
            parts.append("missing values: " + ", ".join(f"{n:,} in {name!r}" for name, n in self.filled.items()))
        if self.new_missing:
            parts.append(f"new missing values (none in training): {quoted(self.new_missing)}")
        if self.unread:
            where = ", ".join(f"{quoted(texts, 3)} in {name!r}" for name, texts in self.unread.items())
            parts.append(f"values that cannot be parsed, treated as missing: {where}")
        if self.missing_columns:
            parts.append(f"missing columns, treated as missing values: {quoted(self.missing_columns)}")
        if self.extra:
            parts.append(f"{several(len(self.extra), 'unknown column')} ignored: {quoted(self.extra)}")
        return parts

    def unreadable(self) -> dict[str, str]:
        """The columns without any value that can be parsed, with a message about each."""
        return {
            name: f"Column {name!r}: no value can be parsed, such as {quoted(texts, 2)}. All values are treated as "
            "missing. Expected the format of the training data: convert the column."
            for name, texts in self.unread.items()
            if self.filled[name] == self.n_rows
        }

    def unseen_notes(self) -> list[str]:
        """For each column with unseen levels: their rows, the levels, and how they are coded."""
        notes = []
        for name, levels in self.unseen.items():
            is_unsure = name in self.unsure
            what = "an unseen level" if len(levels) == 1 else "unseen levels"
            what = what.replace("unseen", "unseen or rare") if is_unsure else what
            coded = OTHER if is_unsure else self.unseen_as[name]
            notes.append(
                f"{name!r}: {several(levels.total(), 'row')} with {what} ({quoted(levels, 3)}), coded as {coded}"
            )
        return notes


def _add(known: Counter[str], texts: Mapping[str, int], further: str) -> None:
    """Add counts of texts; those beyond the number that is stored are counted together."""
    for text, count in texts.items():
        known[text if text in known or len(known) < MAX_STORED_TEXTS else further] += count


def _sum(first: dict[str, Counter[str]], second: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    return {name: first.get(name, Counter()) + second.get(name, Counter()) for name in first | second}
