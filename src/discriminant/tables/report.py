"""What had to be decided while rows were coded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .sources import listed

if TYPE_CHECKING:
    from .schema import Column

Array = np.ndarray[Any, Any]

#: A report keeps this many unseen levels of a column by name.
_MOST_UNSEEN = 20


@dataclass
class EncodingReport:
    """What had to be decided while rows were coded; reports of batches can be added.

    Attributes
    ----------
    n_rows : int
        Rows that came in.
    kept : array of bool, or None
        Which of them were coded, where incomplete rows are left out.
    filled : dict
        Missing values that were filled in, by column.
    new_missing : dict
        Those of them in columns that had none in training.
    unseen : dict
        Levels that training had not, with their rows, by column.
    unsure : tuple of str
        Columns with so many levels in training that the schema does not know the rarest of them: what is unseen there
        may have been among these.
    extra : tuple of str
        Columns that training had not; they are ignored.
    absent : tuple of str
        Columns of the training that were not there.
    """

    n_rows: int = 0
    kept: Array | None = None
    filled: dict[str, int] = field(default_factory=dict)
    new_missing: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, dict[str, int]] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    @property
    def n_dropped(self) -> int:
        return 0 if self.kept is None else int(np.count_nonzero(~self.kept))

    def note_missing(self, column: Column, count: int) -> None:
        if count:
            self.filled[column.name] = self.filled.get(column.name, 0) + count
            if not column.missing:
                self.new_missing[column.name] = self.new_missing.get(column.name, 0) + count

    def note_unseen(self, column: Column, level: str, count: int) -> None:
        levels = self.unseen.setdefault(column.name, {})
        name = level if level in levels or len(levels) < _MOST_UNSEEN else "(further levels)"
        levels[name] = levels.get(name, 0) + count
        if len(column.rare_levels) < column.pooled and column.name not in self.unsure:
            self.unsure += (column.name,)

    def __add__(self, other: EncodingReport) -> EncodingReport:
        """The report of two batches together."""
        total = EncodingReport(
            self.n_rows + other.n_rows,
            _joined(self, other),
            _summed(self.filled, other.filled),
            _summed(self.new_missing, other.new_missing),
            {name: dict(levels) for name, levels in self.unseen.items()},
            tuple(dict.fromkeys(self.extra + other.extra)),
            tuple(dict.fromkeys(self.absent + other.absent)),
            tuple(dict.fromkeys(self.unsure + other.unsure)),
        )
        for name, levels in other.unseen.items():
            total.unseen[name] = _summed(total.unseen.get(name, {}), levels)
        return total

    def describe(self) -> str:
        """One line in words."""
        parts = [f"{self.n_rows:,} rows"]
        if self.n_dropped:
            parts.append(f"{self.n_dropped:,} incomplete rows left out")
        if self.filled:
            parts.append("missing values filled: " + ", ".join(f"{n:,} in {name!r}" for name, n in self.filled.items()))
        if self.new_missing:
            parts.append(f"of these, columns complete in training: {listed(self.new_missing)}")
        for said, unsure in (("not seen in training", False), ("not seen in training, or rare there", True)):
            found = {name: levels for name, levels in self.unseen.items() if (name in self.unsure) == unsure}
            where = ", ".join(f"{listed(levels, 3)} in {name!r}" for name, levels in found.items())
            parts += [f"levels {said}: {where}"] * bool(found)
        if self.absent:
            parts.append(f"columns not there, taken as missing: {listed(self.absent)}")
        if self.extra:
            parts.append(f"{len(self.extra)} columns ignored: {listed(self.extra)}")
        return "; ".join(parts)


def _joined(first: EncodingReport, second: EncodingReport) -> Array | None:
    if first.kept is None and second.kept is None:
        return None
    return np.concatenate([np.ones(r.n_rows, bool) if r.kept is None else r.kept for r in (first, second)])


def _summed(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in dict.fromkeys([*first, *second])}
