"""The schema of a training table: what each column is, whether it is of use, and what was found on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ColumnError, InputError
from .coding import MISSING_PLACE, as_floats, distinct_texts, is_numeric, level_index, refuse_infinite
from .dialect import is_number
from .findings import (
    Finding,
    Severity,
    by_first_appearance,
    looks_like_dates,
    numbers_are_identifier,
    same_values,
    tells_classes_apart,
)
from .schema import Column, Policy
from .sources import listed
from .table import is_text
from .targets import missing_texts

Array = np.ndarray[Any, Any]

#: A text column with more levels than this share of its values tells rows apart, not classes.
_DISTINCT = 0.9
_MOSTLY_MISSING = 0.5
#: Columns are compared on this many rows first, and on all rows only if these do not settle it.
_SAMPLE_ROWS = 2000
_LOOKED_AT_LEVELS = 1000
#: Columns of so many rows are looked through on several threads.
_LONG = 50_000
_THREADS = 2


@dataclass
class ColumnLearner:
    """Decides about the columns of one table, one after the other.

    ``codes`` are the texts that stand for missing values, ``classes`` the class code of each row, if known.
    """

    data: Any
    codes: Sequence[str]
    types: dict[str, str]
    missing: Policy
    max_levels: int
    classes: Array | None = None
    findings: list[Finding] = field(default_factory=list)

    def learn(self, names: Sequence[str], unwanted: Sequence[str]) -> tuple[Column, ...]:
        """The columns of these names with all that was decided about them."""
        kinds = {name: self._kind(name) for name in names if name not in unwanted}
        self._refuse_dates([name for name, kind in kinds.items() if kind == "date"])
        self._span = self._spans(kinds)
        columns = {name: self._column(name, kind) for name, kind in kinds.items()}
        self._drop_duplicates(columns)
        self._mark_missing(columns)
        self._look_for_leaks(columns)
        for name in unwanted:
            columns[name] = Column(name, "text", dropped="as asked")
        kept = tuple(columns[name] for name in names)
        self._refuse_nothing(kept)
        return kept

    def _say(self, severity: Severity, kind: str, name: str, message: str) -> None:
        self.findings.append(Finding(severity, kind, name, message))

    def _kind(self, name: str) -> str:
        """What the column is by declaration, else by its type, else by its values."""
        import pyarrow as pa

        kind = self.data[name].type
        if name in self.types:
            return self.types[name]
        if pa.types.is_null(kind):
            return "empty"
        if pa.types.is_boolean(kind):
            return "boolean"
        if is_numeric(kind):
            return "number"
        if pa.types.is_temporal(kind):
            return "date"
        if not is_text(kind):
            raise ColumnError(
                f"Column {name!r} holds {kind}: expected numbers, text or true and false. Leave it out with drop=."
            )
        return "date" if looks_like_dates(self._some_levels(name)) else "category"

    def _some_levels(self, name: str) -> list[str]:
        """Different texts of the first rows, without those that mean missing."""
        texts, _ = distinct_texts(self.data[name].slice(0, _SAMPLE_ROWS))
        trimmed = [text.strip() for text in texts]
        missing = missing_texts(trimmed, self.codes)
        return [text for text in trimmed if text not in missing]

    def _refuse_dates(self, names: list[str]) -> None:
        if names:
            raise ColumnError(
                f"Dates or times cannot be weighed as they are: {listed(names)}. Leave the columns out (drop=[...], on "
                "the command line --drop), turn them into numbers such as days since a fixed day, or declare them "
                "categories with types=."
            )

    def _column(self, name: str, kind: str) -> Column:
        if kind == "category":
            return self._category(name)
        column = Column(name, kind)  # type: ignore[arg-type]
        if kind == "empty":
            return self._dropped(column, "empty", "it holds no value at all")
        return self._number(column)

    def _dropped(self, column: Column, kind: str, reason: str) -> Column:
        self._say("note", kind, column.name, f"Column {column.name!r} is left out: {reason}.")
        return replace(column, dropped=reason)

    def _spans(self, kinds: dict[str, str]) -> dict[str, _Span]:
        """The spans of the columns of numbers; those of long columns are found side by side."""
        numbers = [
            Column(name, kind)  # type: ignore[arg-type]
            for name, kind in kinds.items()
            if kind in ("number", "boolean")
        ]
        with ThreadPoolExecutor(_THREADS if self.data.num_rows >= _LONG else 1) as threads:
            spans = threads.map(lambda column: _span(column.name, self._values(column)), numbers)
            return {column.name: span for column, span in zip(numbers, spans, strict=True)}

    def _number(self, column: Column) -> Column:
        name, span = column.name, self._span[column.name]
        column = replace(column, missing=span.missing)
        if span.missing == self.data.num_rows:
            return self._dropped(column, "empty", "it holds no value at all")
        if span.lowest == span.highest:
            beside = f" ({column.missing:,} are missing)" if column.missing else ""
            return self._dropped(column, "constant", f"its only value is {span.lowest:g}{beside}")
        if name not in self.types and self._whole(name) and numbers_are_identifier(name, self._values(column)):
            return self._dropped(column, "identifier", "it numbers the rows")
        self._say_mostly_missing(column)
        return replace(column, mean=span.mean)

    def _whole(self, name: str) -> bool:
        import pyarrow as pa

        return bool(pa.types.is_integer(self.data[name].type))

    def _values(self, column: Column) -> Array:
        return as_floats(column, self.data[column.name], self.codes)

    def _category(self, name: str) -> Column:
        texts, index = distinct_texts(self.data[name])
        column = Column(name, "category")
        counts, n_missing = self._level_counts(texts, index)
        column = replace(column, missing=n_missing)
        if not counts:
            return self._dropped(column, "empty", "it holds no value at all")
        if len(counts) == 1 and not n_missing:
            return self._dropped(column, "constant", f"its only value is {next(iter(counts))!r}")
        distinct = len(counts)
        if name not in self.types and distinct > 2 and distinct > _DISTINCT * counts.total():
            return self._row_names(column, list(counts))
        self._say_if_almost_numbers(name, counts)
        self._say_mostly_missing(column)
        return self._with_levels(column, counts)

    def _row_names(self, column: Column, texts: list[str]) -> Column:
        self._say_if_almost_numbers(column.name, Counter(texts[:_LOOKED_AT_LEVELS]))
        words = np.mean([text.count(" ") for text in texts[:_LOOKED_AT_LEVELS]])
        what = "free text" if words > 4 else "an identifier"
        reason = f"nearly every row has a value of its own ({what}: {listed(texts, 2)})"
        return self._dropped(replace(column, kind="text"), "identifier", reason)

    def _level_counts(self, texts: list[str], index: Array) -> tuple[Counter[str], int]:
        """How many rows each level has, and how many have none; spaces around levels of text files do not count."""
        if self.codes:
            texts = [text.strip() for text in texts]
        rows = np.bincount(index, minlength=len(texts) + 1)
        missing = missing_texts(texts, self.codes)
        counts: Counter[str] = Counter()
        n_missing = int(rows[-1])
        for text, count in zip(texts, rows[:-1].tolist(), strict=True):
            if text in missing:
                n_missing += count
            elif count:
                counts[text] += count
        return counts, n_missing

    def _with_levels(self, column: Column, counts: Counter[str]) -> Column:
        by_size = sorted(counts, key=lambda level: (-counts[level], level))
        kept, rest = by_size, []
        if len(by_size) > self.max_levels:
            kept, rest = by_size[: self.max_levels], by_size[self.max_levels :]
            rows = sum(counts[level] for level in rest)
            self._say(
                "warning",
                "many levels",
                column.name,
                f"Column {column.name!r} has {len(by_size):,} levels; the {len(rest):,} rarest ({rows:,} rows) "
                "count as (other). Raise max_levels to keep them apart, or group them by meaning.",
            )
        return replace(column, levels=tuple(sorted(kept)), reference=by_size[0], pooled=len(rest))

    def _say_if_almost_numbers(self, name: str, counts: Counter[str]) -> None:
        """Tell of a few words that make a column of numbers a column of text."""
        levels = list(counts)[:_LOOKED_AT_LEVELS]
        words = [level for level in levels if not is_number(level)]
        if name in self.types or not words or len(words) > 0.2 * len(levels) or len(levels) < 5:
            return
        thousands = all(is_number(word.replace(",", "").replace(".", "").replace(" ", "")) for word in words)
        remedy = (
            "They may have signs between thousands: write them without."
            if thousands
            else f"If these mean missing, read the table with missing={words[:3]!r}."
        )
        self._say(
            "warning",
            "almost numbers",
            name,
            f"Column {name!r} is read as text because some values are not numbers: {listed(words, 3)}. {remedy}",
        )

    def _say_mostly_missing(self, column: Column) -> None:
        share = column.missing / max(self.data.num_rows, 1)
        if share > _MOSTLY_MISSING:
            self._say(
                "warning",
                "mostly missing",
                column.name,
                f"Column {column.name!r} is missing in {share:.0%} of the rows: what it tells is mostly whether it was "
                "recorded.",
            )

    @cached_property
    def _sample(self) -> Array:
        n = self.data.num_rows
        return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE_ROWS)).astype(np.int64))

    def _comparable(self, column: Column, data: Any) -> Array:
        """The column as numbers that are equal where its values are; missing ones are NaN."""
        if column.kind != "category":
            return as_floats(column, data[column.name], self.codes)
        places = {level: place for place, level in enumerate(column.levels)}
        index, _ = level_index(data[column.name], places, self.codes)
        groups = by_first_appearance(index)
        groups[index == MISSING_PLACE] = np.nan
        return groups

    def _drop_duplicates(self, columns: dict[str, Column]) -> None:
        """Leave out columns that say in every row what one before them says."""
        sample = self.data.take(self._sample)
        first_of: dict[tuple[bool, bytes, int], list[str]] = {}
        for name, column in columns.items():
            if column.dropped is not None:
                continue
            coded = column.kind == "category"
            alike = first_of.setdefault((coded, self._comparable(column, sample).tobytes(), column.pooled), [])
            for other in alike:
                if same_values(self._comparable(columns[other], self.data), self._comparable(column, self.data)):
                    says = "groups the rows as" if coded else "has the same values as"
                    columns[name] = self._dropped(column, "duplicate", f"it {says} {other!r}")
                    break
            else:
                alike.append(name)

    def _mark_missing(self, columns: dict[str, Column]) -> None:
        """Give missing values a column of their own, unless one before them is missing in the same rows."""
        if self.missing != "indicator":
            return
        marked: dict[bytes, str] = {}
        for name, column in columns.items():
            if column.dropped is not None or not column.missing:
                continue
            where = np.packbits(np.isnan(self._comparable(column, self.data))).tobytes()
            if where in marked:
                said = f"Column {name!r} is missing in the same rows as {marked[where]!r}: one mark serves both."
                self._say("note", "missing together", name, said)
            columns[name] = replace(column, missing_column=where not in marked)
            marked.setdefault(where, name)

    def _look_for_leaks(self, columns: dict[str, Column]) -> None:
        if self.classes is None:
            return
        sample, sample_classes = self.data.take(self._sample), self.classes[self._sample]
        for name, column in columns.items():
            if (
                column.dropped is None
                and tells_classes_apart(self._comparable(column, sample), sample_classes, column.kind != "category")
                and tells_classes_apart(self._comparable(column, self.data), self.classes, column.kind != "category")
            ):
                self._say(
                    "warning",
                    "leak",
                    name,
                    f"Column {name!r} alone tells the classes apart without error. If it is known only after the "
                    "outcome, or made from it, leave it out with drop=.",
                )

    def _refuse_nothing(self, columns: Sequence[Column]) -> None:
        if all(column.dropped is not None for column in columns):
            reasons = "; ".join(f"{column.name!r}: {column.dropped}" for column in columns[:5])
            rows = "1 sample" if self.data.num_rows == 1 else f"{self.data.num_rows:,} rows"
            raise InputError(f"No column is left to learn from in {rows} ({reasons}).")
        names = Counter(name for column in columns for name in column.outputs)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise ColumnError(f"Two coded columns would be called {twice[0]!r}. Rename a column.")


@dataclass(frozen=True)
class _Span:
    """Where the values of a column of numbers lie; NaN where there is none."""

    missing: int
    lowest: float
    highest: float
    mean: float


def _span(name: str, values: Array) -> _Span:
    total = float(values.sum())
    if np.isfinite(total):
        return _Span(0, float(values.min()), float(values.max()), total / values.size)
    refuse_infinite(name, values)
    present = values[~np.isnan(values)]
    if not present.size:
        return _Span(values.size, np.nan, np.nan, np.nan)
    lowest, highest = float(present.min()), float(present.max())
    largest = max(highest, -lowest)  # the sum may overflow where the mean does not
    mean = largest * (present / largest).mean() if largest > 1e300 else present.mean()
    return _Span(values.size - present.size, lowest, highest, float(mean))
