"""Infers the types of the columns of a labelled table, and their coding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

import numpy as np
import pyarrow as pa

from ..data import check_choice, check_integer
from ..errors import ColumnError, InputError, ParameterError, Setting
from ..results import Finding, Severity, quoted, several
from . import column_findings as report
from .column import CODINGS, OTHER, POLICIES, Coding, Column, Kind, Policy
from .dialect import MISSING_CODES
from .facts import Levels, Range, TableFacts
from .identifiers import MAX_NAMED_CODES, MIN_ROWS, is_named_group, is_named_time
from .labels import missing_texts
from .layouts import is_numeric, is_text
from .levels import BOOLEANS, same_spellings, with_other_cases
from .notation import DAY_NUMBERS, PLAIN, DateOrder, Notation
from .readers import check_column_types
from .recognition import (
    MAX_FEW_INTEGERS,
    Parsed,
    is_free_text,
    is_nominal,
    is_postcode,
    parse_text,
    parsed_as,
    recognise_text,
)
from .words import vocabulary

#: A text column with a larger share of distinct values identifies rows.
MAX_DISTINCT_SHARE: Final = 0.9
#: Texts from which free text is distinguished from identifiers.
_N_EXAMINED_TEXTS: Final = 1000
#: Codes are integers below this, whose digits are written alike by every format.
MAX_CODE: Final = 1_000_000
#: Integers are possible codes if each occurs in this many rows on average.
MIN_ROWS_PER_CODE: Final = 5
#: Levels with at least one row in this many are never rare.
MAX_ROWS_PER_FREQUENT: Final = 20
#: If there are more than ``max_levels``: how many levels have sparse columns, the most frequent ones, and their least
#: number of rows. The effect of a level of one row does not help to predict another.
MAX_SPARSE_LEVELS: Final = 10_000
MIN_SPARSE_ROWS: Final = 2
#: Rare levels of a column that are stored by name.
MAX_RARE_LEVELS: Final = 10_000
#: Orders of dates by declared type.
_DATE_ORDERS: dict[str, DateOrder] = {"date-dmy": "dmy", "date-mdy": "mdy"}


@dataclass(frozen=True)
class LearningOptions:
    """The treatment of columns, see `read_training`.

    What occurs in fewer than ``rare`` rows is not coded: maximum likelihood gives a level of one row an infinite
    coefficient, and its column is constant if cross-validation holds the row out.
    """

    missing: Policy = "indicator"
    drop: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    max_levels: int = 50
    rare: int = 1
    drop_classes_below: int = 1
    coding: Coding = "reference"
    by_type: bool = False

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, POLICIES)
        check_choice("coding", self.coding, CODINGS)
        if isinstance(self.drop, str) or not isinstance(self.drop, Sequence):
            raise ParameterError(Setting("drop"), f" must be a list of column names, got {self.drop!r}.")
        check_column_types(self.types)
        check_integer("max_levels", self.max_levels, 2)
        for name in ("rare", "drop_classes_below"):
            check_integer(name, getattr(self, name), 1)


@dataclass
class ColumnLearner:
    """Infers the coding of the columns of one table from facts about them.

    ``codes`` are the missing-value codes, empty for a frame, ``decimal`` the decimal separator of the table.
    """

    facts: TableFacts
    codes: Sequence[str]
    options: LearningOptions
    decimal: str = "."
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.types = dict(self.options.types)
        if self.options.by_type:
            self.types = self._types_by_storage() | self.types
        self._min_rows = max(min(self.options.rare, self.facts.n_rows // MAX_ROWS_PER_FREQUENT), 1)
        #: For each category: levels without a coded column, their rows, and the number of all levels.
        self._rare_levels: dict[str, tuple[int, int, int]] = {}
        self._plain = Notation(sentinels=numeric_codes(self.codes))
        self._possible_codes: list[str] = []
        self._names: Sequence[str] = ()

    def _types_by_storage(self) -> dict[str, str]:
        """The types implied by the Arrow types; text of a file may be of any type."""
        kinds = self.facts.types
        categories = [
            name for name, kind in kinds.items() if pa.types.is_boolean(kind) or (is_text(kind) and not self.codes)
        ]
        numbers = [name for name, kind in kinds.items() if is_numeric(kind)]
        return dict.fromkeys(categories, "category") | dict.fromkeys(numbers, "number")

    def learn(self, names: Sequence[str]) -> tuple[Column, ...]:
        """The columns of these names with their types and coding."""
        columns = self._learned(names)
        if self._min_rows > 1 and not any(column.outputs for column in columns):
            self._min_rows, self.findings = 1, []  # every column is rare: code them all the same
            columns = self._learned(names)
        if all(column.dropped is not None for column in columns):
            candidates = [column for column in columns if column.name not in self.options.drop] or columns
            reasons = ", ".join(f"{column.name!r} ({column.dropped})" for column in candidates[:5])
            rows = several(self.facts.n_rows, "sample" if self.facts.n_rows == 1 else "row")
            why = f". Dropped: {reasons}" if columns else ": the class column is the only one"
            raise InputError(f"No feature column is left in {rows}{why}. Add columns, or declare their types.")
        outputs = Counter(name for column in columns for name in column.outputs)
        name, count = outputs.most_common(1)[0]
        if count > 1:
            raise ColumnError(f"Two coded columns would have the name {name!r}. Rename a column.")
        return columns

    def _learned(self, names: Sequence[str]) -> tuple[Column, ...]:
        self._possible_codes, self._names, self._rare_levels = [], names, {}
        recognised = [self.recognised(name) for name in names if name not in self.options.drop]
        ranges = {column.name: (column, own) for column, own in self.facts.with_ranges(recognised, self.types)}
        columns: dict[str, Column] = {}
        for column in recognised:
            name = column.name
            learned = {"category": self._category, "text": self._text}.get(column.kind)
            columns[name] = self._number(*ranges[name]) if learned is None else learned(column)
        if possible := [name for name in self._possible_codes if columns[name].dropped is None]:
            self.findings.append(report.possible_codes(possible))
        self._drop_duplicates(columns)
        self._code_missing(columns)
        self._drop_or_report_rare_levels(columns)
        for name, column in columns.items():
            if column.dropped is None and column.kind != "text" and self.facts.separates_classes(column):
                self.findings.append(report.possible_leakage(name))
        return tuple(columns.get(name) or Column(name, "text", dropped="as requested") for name in names)

    def recognised(self, name: str) -> Column:
        """The column with its type and notation: declared, else by its Arrow type, else by its values."""
        kind = self.facts.types[name]
        if name in self.types:
            return self._declared(name, self.types[name])
        if pa.types.is_null(kind):
            return Column(name, "empty")
        if pa.types.is_boolean(kind):
            return Column(name, "boolean")
        if pa.types.is_integer(kind) and is_postcode(name):
            self.findings.append(report.nominal_codes(name, "postal codes"))
            return Column(name, "category")
        if is_numeric(kind):
            return self._numeric(name, kind)
        if pa.types.is_temporal(kind):
            column = Column(name, "date", notation=Notation.of_dates(kind))
            self.findings.append(report.dates(column))
            return column
        if not is_text(kind):
            raise unsupported_type(name, kind)
        if pa.types.is_dictionary(kind) and not self.codes:
            return Column(name, "category")  # a categorical column of a frame
        texts, rows = self._texts(name)
        parsed = recognise_text(texts, rows, self.decimal, bool(self.codes))
        if parsed is None or (self.options.by_type and parsed.kind == "boolean"):
            return Column(name, "category")
        return self._parsed(Column(name, cast("Kind", parsed.kind), notation=self._plain), parsed)

    def _declared(self, name: str, declared: str) -> Column:
        """A column of a declared type; the notation of its texts is inferred."""
        kind = "date" if declared in _DATE_ORDERS else declared
        column = Column(name, cast("Kind", kind), notation=self._plain)
        stored = self.facts.types[name]
        if kind == "date" and not is_text(stored):
            return replace(column, notation=Notation.of_dates(stored))
        if kind in ("category", "text") or not is_text(stored):
            return column
        texts, rows = self._texts(name)
        values = pa.array(texts, pa.large_string())
        if kind == "boolean":
            truth = np.array([BOOLEANS.get(text.strip().casefold(), np.nan) for text in texts])
            parsed = parsed_as(kind, PLAIN, truth, texts, rows)
        elif declared in _DATE_ORDERS:
            notation = Notation(date=_DATE_ORDERS[declared])
            parsed = parsed_as(kind, notation, notation.read(values), texts, rows)
        else:
            parsed = parse_text(texts, rows, self.decimal, (kind,))
        if parsed is None and declared == "date":
            parsed = parsed_as(kind, DAY_NUMBERS, DAY_NUMBERS.read(values), texts, rows)
        if parsed is None and texts:
            expected = {"boolean": "true and false", "date": "dates or times"}.get(kind, "numbers")
            raise ColumnError(
                f"Column {name!r} has values such as {quoted(texts, 3)}. Expected {expected}, as declared: correct ",
                Setting("types"),
                ".",
            )
        return column if parsed is None else self._parsed(column, parsed)

    def _numeric(self, name: str, kind: pa.DataType) -> Column:
        """A column of numbers: quantities, days such as 20201231, or the codes of a category."""
        days = Column(name, "date", notation=DAY_NUMBERS)
        # Floats of 16 bits do not hold eight digits.
        if not pa.types.is_float16(kind) and self.facts.are_days(days):
            self.findings.append(report.dates(days))
            return days
        column = Column(name, "number", notation=self._plain)
        values = self.facts.few_values(column)
        if values is None or np.any(np.floor(values) != values):
            return column
        if is_nominal(name, values.size) and np.abs(values).max() < MAX_CODE:
            self.findings.append(report.nominal_codes(name, report.code_words(values.tolist())))
            return Column(name, "category")
        if 2 < values.size <= min(MAX_FEW_INTEGERS, self.facts.n_rows / MIN_ROWS_PER_CODE):
            self._possible_codes.append(name)
        return column

    def _texts(self, name: str) -> tuple[list[str], list[int]]:
        """The distinct texts of a column that are not missing-value codes, and the rows of each."""
        levels = self.facts.levels(name)
        trimmed = [text.strip() for text in levels.texts]
        missing = missing_texts(trimmed, self.codes or MISSING_CODES)
        kept = [i for i, text in enumerate(trimmed) if text not in missing and levels.rows[i]]
        return [levels.texts[i] for i in kept], [levels.rows[i] for i in kept]

    def _parsed(self, column: Column, parsed: Parsed) -> Column:
        """The column with the notation of its texts, and the findings about them."""
        column = replace(column, notation=replace(parsed.notation, sentinels=column.notation.sentinels))
        if column.kind == "date":
            self.findings.append(report.dates(column, parsed.example[0], parsed.is_ambiguous))
        elif column.kind == "number" and (column.notation.as_text or not parsed.unparsed):
            self.findings.append(report.number_format(column, parsed))
        if parsed.unparsed:
            self.findings.append(report.unparsed_values(column, parsed))
        return column

    def _dropped(
        self, column: Column, kind: str, reason: str, severity: Severity = "note", keep_as: str | None = None
    ) -> Column:
        column = replace(column, dropped=reason)
        self.findings.append(report.dropped(column, kind, severity, keep_as))
        return column

    def _number(self, column: Column, own: Range) -> Column:
        """A column of numbers, dates or truth values with its mean, or dropped."""
        name = column.name
        column = replace(column, missing=own.missing)
        n_missing = f" ({own.missing:,} are missing)" if own.missing else ""
        if own.missing == self.facts.n_rows:
            return self._dropped(column, "empty", "all values are missing")
        if own.low == own.high:
            return self._dropped(column, "constant", f"its only value is {column.shown(own.low)}{n_missing}")
        self._report_numbers(column, own)
        if column.kind == "number" and name not in self.types:
            numbering = self.facts.numbering(column)
            role = None if numbering is None else numbering.role(name, self._names)
            if role == "rows":
                return self._dropped(column, "identifier", "it looks like an identifier", keep_as="number")
            if numbering is not None and role == "groups":
                return self._group_identifier(column, numbering.values.size, "number")
        if (n_differing := self.facts.n_differing(column, self._min_rows)) < self._min_rows:
            rows = "1 row differs" if n_differing == 1 else f"{n_differing} rows differ"
            reason = f"only {rows} from its most frequent value{n_missing}"
            return self._dropped(column, "near-constant", reason, "warning")
        return replace(column, mean=own.mean)

    def _report_numbers(self, column: Column, own: Range) -> None:
        """Report sentinels, and a time by which the rows are ordered."""
        found = [value for value in column.notation.sentinels if value not in self._plain.sentinels]
        if found:
            n_rows = self.facts.rows_with(replace(column, notation=replace(column.notation, sentinels=())), found)
            self.findings.append(report.missing_codes(column, found, own.low, own.high, n_rows))
        is_time = column.kind == "date" or (column.kind == "number" and is_named_time(column.name))
        if is_time and self.facts.n_rows - own.missing >= MIN_ROWS and self.facts.is_ordered(column):
            self.findings.append(report.time_order(column.name))

    def _group_identifier(self, column: Column, n_distinct: int, kind: str) -> Column:
        column = replace(column, dropped=f"it looks like a group identifier ({n_distinct:,} values)")
        self.findings.append(report.group_identifier(column, kind))
        return column

    def _category(self, column: Column) -> Column:
        """A category with its levels and their shares, or dropped."""
        name, is_declared = column.name, column.name in self.types
        levels = self.facts.levels(name)
        # Spaces around levels of text files are ignored.
        texts = [text.strip() for text in levels.texts] if self.codes else levels.texts
        missing = missing_texts(texts, self.codes)
        counts, weights = (_level_weights(texts, each, missing) for each in (levels.rows, levels.weights))
        column = replace(column, missing=levels.empty + sum(levels.rows) - int(counts.total()))
        if not counts:
            return self._dropped(column, "empty", "all values are missing")
        if not is_declared and (found := same_spellings(counts)):
            self.findings.append(report.spellings(name, found))
            column = replace(column, spellings=with_other_cases(found, counts))
            counts = _merged(counts, found)
        if len(counts) == 1 and not column.missing:
            return self._dropped(column, "constant", f"its only value is {next(iter(counts))!r}")
        n_distinct, n_present = len(counts) + levels.unlisted, counts.total() + levels.unlisted_rows
        if not is_declared and n_distinct > max(2, MAX_DISTINCT_SHARE * n_present):
            keep_as = "text" if (is_free := is_free_text(list(counts)[:_N_EXAMINED_TEXTS])) else None
            reason = report.distinct_words(list(counts)[:2], n_distinct, is_free)
            return self._dropped(replace(column, kind="text"), "identifier", reason, keep_as=keep_as)
        is_group = is_named_group(name) and n_distinct > MAX_NAMED_CODES and n_present >= MIN_ROWS
        if not is_declared and is_group:
            return self._group_identifier(replace(column, kind="text"), n_distinct, "category")
        column = self._with_levels(column, counts, levels)
        if column.coding == "sparse":
            return replace(column, shares=(0.0,) * len(column.coded_levels))
        by_place: Counter[int] = Counter()
        if levels.unlisted:
            unlisted = levels.unlisted_weight if weights else levels.unlisted_rows
            by_place[column.place_of_other] += unlisted  # type: ignore[assignment]
        for level, weight in (weights or counts).items():  # all weights may be 0
            by_place[column.places.texts.get(level, column.place_of_other)] += weight
        shares = tuple(by_place[place] / by_place.total() for place in range(len(column.coded_levels)))
        return replace(column, shares=shares)

    def _text(self, column: Column) -> Column:
        """A text with its words and their weights, or dropped."""
        levels = self.facts.levels(column.name)
        texts = [text.strip() for text in levels.texts]
        missing = missing_texts(texts, self.codes) | {""}
        known = [(text, count) for text, count in zip(texts, levels.rows, strict=True) if count and text not in missing]
        column = replace(column, missing=levels.empty + sum(levels.rows) - sum(count for _, count in known))
        if not known:
            return self._dropped(column, "empty", "all values are missing")
        words, weights = vocabulary([text for text, _ in known], [count for _, count in known])
        if not words:
            return self._dropped(column, "identifier", "no word occurs in two rows")
        return replace(column, levels=words, word_weights=weights, coding="full")

    def _with_levels(self, column: Column, counts: Counter[str], levels: Levels) -> Column:
        """The column with its frequent levels; the others are pooled, or coded as the reference if they are few.

        A few more rows change the largest group least. If no level is frequent, all of them together are the reference
        that missing values are compared with.
        """
        by_size = sorted(counts, key=lambda level: (-counts[level], level))
        if self.options.coding == "sparse" and len(by_size) > self.options.max_levels:
            kept = [level for level in by_size[:MAX_SPARSE_LEVELS] if counts[level] >= MIN_SPARSE_ROWS]
            if len(kept) > self.options.max_levels:
                rare = tuple(by_size[len(kept) : MAX_RARE_LEVELS])
                return replace(column, levels=tuple(sorted(kept)), reference=OTHER, rare_levels=rare, coding="sparse")
        kept = [level for level in by_size[: self.options.max_levels] if counts[level] >= self._min_rows]
        reference, rest = (kept[0] if kept else OTHER), by_size[len(kept) :]
        n_rest, n_rows = len(rest) + levels.unlisted, sum(counts[level] for level in rest) + levels.unlisted_rows
        self._rare_levels[column.name] = (n_rest, n_rows, len(by_size) + levels.unlisted)
        pooled = n_rest if n_rows >= self._min_rows else 0
        if pooled and OTHER in kept[1:]:  # levels were already pooled in the table
            kept, rest = [level for level in kept if level != OTHER], [OTHER, *rest]
        return replace(
            column,
            levels=tuple(sorted(kept)),
            reference=reference,
            pooled=pooled,
            rare_levels=tuple(rest[:MAX_RARE_LEVELS]),
            coding="reference" if self.options.coding == "reference" else "full",
        )

    def _drop_or_report_rare_levels(self, columns: dict[str, Column]) -> None:
        """Drop categories without two frequent levels, and report pooled levels of the others."""
        for name, (n_rare, n_rows, n_levels) in self._rare_levels.items():
            column = columns[name]
            if column.dropped is not None:
                continue
            if len(column.distinct_levels) + column.missing_column < 2:
                reason = "nearly all values are missing"
                if column.levels:
                    reason = f"nearly all values are {column.reference!r}"
                elif n_levels > 1:
                    reason = f"all {n_levels:,} levels have fewer than {self._min_rows} rows"
                columns[name] = self._dropped(column, "near-constant", reason)
            elif n_rare and len(column.levels) == self.options.max_levels:
                self.findings.append(report.many_levels(column, n_rare, n_rows, n_levels))
            elif n_rare:
                self.findings.append(report.rare_levels(column, n_rare, n_levels, self._min_rows))

    def _drop_duplicates(self, columns: dict[str, Column]) -> None:
        """Drop columns that are equal to an earlier one in every row."""
        for name, other in self.facts.duplicates(each for each in columns.values() if each.dropped is None).items():
            verb = "groups the rows as" if columns[name].kind == "category" else "has the same values as"
            columns[name] = self._dropped(columns[name], "duplicate column", f"it {verb} {other!r}")

    def _code_missing(self, columns: dict[str, Column]) -> None:
        """Add missing-value indicators, unless an earlier column is missing in the same rows, and report the values."""
        if self.options.missing != "indicator":
            return
        indicators: dict[Hashable, str] = {}
        for name, column in columns.items():
            if column.dropped is not None or not column.missing:
                continue
            shared_with = None
            if min(column.missing, self.facts.n_rows - column.missing) >= self._min_rows:
                shared_with = indicators.setdefault(self.facts.missing_rows(column), name)
                shared_with = None if shared_with == name else shared_with
                columns[name] = column = replace(column, missing_column=shared_with is None)
            self.findings.append(report.missing_values(column, self.facts.n_rows, shared_with))


def unsupported_type(name: str, kind: pa.DataType) -> ColumnError:
    """The error for a column that holds neither numbers, dates, text nor Booleans."""
    message = f"Column {name!r} has values of type {kind}. Expected numbers, dates, text or booleans: drop it with "
    return ColumnError(message, Setting("drop", [name]), ".")


def numeric_codes(codes: Sequence[str]) -> tuple[float, ...]:
    """The missing-value codes that are numbers."""
    return tuple(sorted({float(code) for code in codes if _is_finite_number(code)}))


def _is_finite_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def incomplete_rows(n_dropped: int, n_rows: int, label: str) -> Finding:
    """The finding about dropped rows with missing values; an error if no row is left."""
    if not n_rows:
        message = f"Every row of {label} has a missing value, and such rows are dropped. Choose "
        raise InputError(message, Setting("missing", "indicator"), ".")
    message = several(n_dropped, "row with missing values is dropped.", "rows with missing values are dropped.")
    return Finding("warning", "incomplete rows", None, message)


def _merged(counts: Mapping[str, int], spellings: Mapping[str, str]) -> Counter[str]:
    """The counts of levels, with other spellings added to their level."""
    merged: Counter[str] = Counter()
    for level, count in counts.items():
        merged[spellings.get(level, level)] += count
    return merged


def _level_weights(texts: list[str], weights: Sequence[float] | None, missing: set[str]) -> Counter[str]:
    """The weight, or the number, of the rows of each level that has any."""
    counts: Counter[str] = Counter()
    for text, count in zip(texts, weights or (), strict=False):
        if count and text not in missing:
            counts[text] += count  # type: ignore[assignment]
    return counts
