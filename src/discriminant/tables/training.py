"""One call from a labelled table to rows, labels and the schema that codes further rows alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import Rows, check_choice, check_integer, check_weights, encode_labels, exact_array
from ..errors import ColumnError, InputError, LabelError, Message, ParameterError, Part, Setting, WeightError
from ..results import Finding, Severity, listed, percent, quoted, several, shown
from .delimited import MISSING_CODES
from .facts import Copies, Facts, Levels, Range, TableFacts
from .identifiers import MAX_NAMED_CODES, MIN_ROWS, Role, is_named_group, is_named_time
from .levels import BOOLEANS
from .recognition import (
    DAY_NUMBERS,
    MOST_CODES,
    PLAIN,
    Notation,
    Reading,
    best_reading,
    is_nominal,
    is_postcode,
    iso_day,
    misspellings,
    read_texts,
    reading_of,
    same_spellings,
    with_other_cases,
)
from .schema import (
    CODINGS,
    OTHER,
    POLICIES,
    Coding,
    Column,
    Policy,
    Schema,
    Target,
    as_floats,
    complete_rows,
    is_numeric,
    missing_texts,
    raw_labels,
    respelled,
    whole_labels,
)
from .sources import SvmlightReader, TableReader, check_types, is_text, open_table

#: A text column with more levels than this share of its values tells rows apart, not classes.
_DISTINCT = 0.9
_MOSTLY_MISSING = 0.5
_LOOKED_AT_LEVELS = 1000
#: Codes are whole numbers below this, which are written with their digits alone.
_LARGEST_CODE = 1_000_000
#: Dates by the kind that they can be declared to be.
_DATE_KINDS = {"date-dmy": "dmy", "date-mdy": "mdy"}
#: A level is not rare if it has one row in so many.
_FREQUENT = 20
#: So many rare levels of a column are kept by name.
_MOST_RARE = 10_000
#: Columns of so many rows are looked through on several threads.
_LONG = 50_000
_THREADS = 2
#: More classes than this, with few rows each, are not classes.
_MOST_CLASSES = 20
_FEWEST_ROWS_PER_CLASS = 5
#: A class is rare if it has less than this part of an equal share of the rows.
_RARE = 0.2


@dataclass(frozen=True)
class LearningOptions:
    """How columns are to be treated, see `read_training`.

    What fewer than ``rare`` rows have is not learned from: a level of one row tells that row, not its class; maximum
    likelihood gives it an infinite coefficient, and where cross-validation holds the row out its column does not vary.
    """

    missing: Policy = "indicator"
    drop: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    max_levels: int = 50
    rare: int = 1
    drop_classes_below: int = 1
    merge_classes_below: int = 1
    coding: Coding = "reference"
    by_type: bool = False

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, POLICIES)
        check_choice("coding", self.coding, CODINGS)
        if isinstance(self.drop, str) or not isinstance(self.drop, Sequence):
            raise ParameterError(Setting("drop"), f" must be a list of column names, got {self.drop!r}.")
        check_types(self.types)
        check_integer("max_levels", self.max_levels, 2)
        for name in ("rare", "drop_classes_below", "merge_classes_below"):
            check_integer(name, getattr(self, name), 1)


@dataclass
class ColumnLearner:
    """Decides about the columns of one table, one after the other, by what it is told of them.

    ``codes`` are the texts that stand for missing values, empty for a frame, ``decimal`` the decimal sign of the table.
    """

    facts: Facts
    codes: Sequence[str]
    options: LearningOptions
    decimal: str = "."
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.types = dict(self.options.types)
        if self.options.by_type:
            self.types = self._types_of_columns() | self.types
        self._least = fewest_rows(self.options, self.facts.n_rows)
        #: By column: how many levels have no coded column of their own, their rows, and of how many levels.
        self._rare_levels: dict[str, tuple[int, int, int]] = {}
        self._missing_numbers = missing_numbers(self.codes)
        self._plainly = Notation(sentinels=self._missing_numbers)
        self._few_numbers: list[str] = []
        self._names: Sequence[str] = ()

    def _types_of_columns(self) -> dict[str, str]:
        """What columns are by their types; text of a file may be anything still."""
        kinds = {name: self.facts.type_of(name) for name in self.facts.names}
        text = [name for name, kind in kinds.items() if is_text(kind) and not self.codes]
        truth = [name for name, kind in kinds.items() if pa.types.is_boolean(kind)]
        numbers = [name for name, kind in kinds.items() if is_numeric(kind)]
        return dict.fromkeys((*text, *truth), "category") | dict.fromkeys(numbers, "number")

    def learn(self, names: Sequence[str]) -> tuple[Column, ...]:
        """The columns of these names with all that was decided about them."""
        columns = self._learned(names)
        if self._least > 1 and not any(column.outputs for column in columns):
            self._least, self.findings = 1, []  # rare things are better than nothing
            columns = self._learned(names)
        if all(column.dropped is not None for column in columns):
            wanted = [column for column in columns if column.name not in self.options.drop] or columns
            reasons = "; ".join(f"{column.name!r}: {column.dropped}" for column in wanted[:5])
            rows = "1 sample" if self.facts.n_rows == 1 else f"{self.facts.n_rows:,} rows"
            said = f" ({reasons})" if columns else ": the table has no other column than that of the classes"
            raise InputError(f"No column is left to learn from in {rows}{said}.")
        outputs = Counter(name for column in columns for name in column.outputs)
        name, count = outputs.most_common(1)[0]
        if count > 1:
            raise ColumnError(f"Two coded columns would be called {name!r}. Rename a column.")
        return columns

    def _learned(self, names: Sequence[str]) -> tuple[Column, ...]:
        unwanted = [name for name in names if name in self.options.drop]
        self._few_numbers, self._names = [], names
        found = self._with_ranges({name: self.recognised(name) for name in names if name not in unwanted})
        self._rare_levels = {}
        columns: dict[str, Column] = {}
        for name, bare in found.items():
            columns[name] = column = self._category(bare) if bare.kind == "category" else self._number(bare)
            share = column.missing / max(self.facts.n_rows, 1)
            if column.dropped is None and share > _MOSTLY_MISSING:
                said = f"Column {name!r} is missing in {share:.0%} of the rows: what it tells is mostly whether it was "
                self._say("warning", "mostly missing", name, f"{said}recorded.")
        self._tell_few_numbers(columns)
        self._drop_duplicates(columns)
        self._mark_missing(columns)
        self._treat_rare_levels(columns)
        self._look_for_leaks(columns)
        for name in unwanted:
            columns[name] = Column(name, "text", dropped="as asked")
        return tuple(columns[name] for name in names)

    def _say(self, severity: Severity, kind: str, name: str, *message: Part) -> None:
        self.findings.append(Finding(severity, kind, name, Message(*message) if len(message) > 1 else str(message[0])))

    def recognised(self, name: str) -> Column:
        """The column with what it is and how it reads: by declaration, else by its type, else by its values."""
        kind = self.facts.type_of(name)
        if name in self.types:
            return self._declared(name, self.types[name])
        if pa.types.is_null(kind):
            return Column(name, "empty")
        if pa.types.is_boolean(kind):
            return Column(name, "boolean")
        if pa.types.is_integer(kind) and is_postcode(name):
            self._say_typed("codes", name, "holds postal codes and is taken as a category", "number")
            return Column(name, "category")
        if is_numeric(kind):
            return self._day_numbers(name) or self._few_or_many(name)
        if pa.types.is_temporal(kind):
            return self._date(name, kind)
        if not is_text(kind):
            raise ColumnError(
                f"Column {name!r} holds {kind}: expected numbers, text or true and false. Leave it out with ",
                Setting("drop", [name]),
                ".",
            )
        if pa.types.is_dictionary(kind) and not self.codes:
            return Column(name, "category")  # a frame's own categories
        return self._text(name)

    def _declared(self, name: str, declared: str) -> Column:
        """A column as it is said to be; numbers and dates may still be written in many ways."""
        kind = "date" if declared in _DATE_KINDS else declared
        column = Column(name, kind, notation=self._plainly)  # type: ignore[arg-type]
        stored = self.facts.type_of(name)
        if kind == "date" and not is_text(stored):
            return replace(column, notation=native_dates(stored))
        if kind == "category" or not is_text(stored):
            return column
        texts, rows = self._written(name)
        if kind == "boolean":
            truth = np.array([BOOLEANS.get(text.strip().casefold(), np.nan) for text in texts])
            reading = reading_of(kind, PLAIN, truth, texts, rows)
        elif declared in _DATE_KINDS:
            notation = Notation(date=_DATE_KINDS[declared])  # type: ignore[arg-type]
            reading = reading_of(kind, notation, notation.read(pa.array(texts, pa.large_string())), texts, rows)
        else:
            reading = best_reading(texts, rows, self.decimal, (kind,))
        if reading is None and declared == "date":
            days = DAY_NUMBERS.read(pa.array(texts, pa.large_string()))
            reading = reading_of(kind, DAY_NUMBERS, days, texts, rows)
        if reading is None and texts:
            wanted = {"boolean": "true and false", "date": "dates or times"}.get(kind, "numbers")
            raise ColumnError(f"Column {name!r} should hold {wanted}, but holds {quoted(texts, 3)}. Correct its type.")
        return column if reading is None else self._as_read(column, reading)

    def _day_numbers(self, name: str) -> Column | None:
        """A column of days written as whole numbers, such as 20201231."""
        column = Column(name, "date", notation=DAY_NUMBERS)
        # Numbers of 16 bits do not hold eight digits.
        if pa.types.is_float16(self.facts.type_of(name)) or not self.facts.are_days(column):
            return None
        self._say_dates(column)
        return column

    def _few_or_many(self, name: str) -> Column:
        """A column of numbers, or of the codes of a category."""
        column = Column(name, "number", notation=self._plainly)
        values = self.facts.few_values(column)
        if values is None:
            return column
        if np.any(np.floor(values) != values):
            return column
        if is_nominal(name, values.size) and np.abs(values).max() < _LARGEST_CODE:
            self._say_typed("codes", name, f"holds the codes {_numbers(values)} and is taken as a category", "number")
            return Column(name, "category")
        if 2 < values.size <= min(MOST_CODES, self.facts.n_rows / 5):
            self._few_numbers.append(name)
        return column

    def _date(self, name: str, kind: Any) -> Column:
        column = Column(name, "date", notation=native_dates(kind))
        self._say_dates(column)
        return column

    def _text(self, name: str) -> Column:
        """A column of text: numbers, dates, true and false in some notation, or the levels of a category."""
        texts, rows = self._written(name)
        reading = read_texts(texts, rows, self.decimal, bool(self.codes))
        if reading is not None and not (self.options.by_type and reading.kind == "boolean"):
            column = Column(name, reading.kind, notation=self._plainly)  # type: ignore[arg-type]
            return self._as_read(column, reading)
        return Column(name, "category")

    def _written(self, name: str) -> tuple[list[str], list[int]]:
        """The different texts of a column that do not stand for missing values, and how many rows have each."""
        levels = self.facts.levels(name)
        trimmed = [text.strip() for text in levels.texts]
        missing = missing_texts(trimmed, self.codes or MISSING_CODES)
        kept = [i for i, text in enumerate(trimmed) if text not in missing and levels.rows[i]]
        return [levels.texts[i] for i in kept], [levels.rows[i] for i in kept]

    def _as_read(self, column: Column, reading: Reading) -> Column:
        """The column with its notation, and a word on what was made of its texts."""
        column = replace(column, notation=replace(reading.notation, sentinels=column.notation.sentinels))
        text, number = reading.example
        if column.kind == "date":
            self._say_dates(column, text, reading.unsure)
        elif column.kind == "number" and (column.notation.as_text or not (self.codes or reading.unread)):
            said = f"is read as numbers: {text!r} is {number:.12g}"
            said += ", in percent" if column.notation.affix == "%" else ""
            if reading.unsure:
                other: tuple[Part, ...] = ("It may be a decimal: ", Setting("decimal", column.notation.grouping), ".")
                self._say("warning", "notation", column.name, f"Column {column.name!r} {said}. ", *other)
            else:
                self._say_typed("notation", column.name, said)
        if reading.unread:
            what, count = {"number": "number", "date": "date"}.get(column.kind, "truth value"), reading.unread.values()
            which = quoted(reading.unread, 3)
            said = f"one value that is no {what} ({which}) counts"
            if sum(count) > 1:
                said = f"{sum(count):,} values that are no {what}s ({which}) count"
            said = f"Column {column.name!r}: {said} as missing. Keep the texts as levels with "
            self._say("warning", "stray words", column.name, said, _typed(column.name, "category"), ".")
        return column

    def _say_dates(self, column: Column, text: str | None = None, unsure: bool = False) -> None:
        name, order = column.name, column.notation.date
        counted = (
            "times and is counted in hours" if order == "time" else "dates and is counted in days since 1970-01-01"
        )
        written = {"dmy": f", {text!r} with the day first", "mdy": f", {text!r} with the month first"}.get(
            str(order), ""
        )
        said = f"Column {name!r} holds {counted}{written}. "
        if unsure:
            other = "date-mdy" if order == "dmy" else "date-dmy"
            self._say("warning", "dates", name, f"{said}It may be the other way round: ", _typed(name, other), ".")
        else:
            self._say("note", "dates", name, f"{said}Leave it out with ", Setting("drop", [name]), ".")

    def _say_typed(self, kind: str, name: str, said: str, other: str = "category") -> None:
        """Tell what was made of a column, and how to declare it to be something else."""
        self._say("note", kind, name, f"Column {name!r} {said}. Otherwise give ", _typed(name, other), ".")

    def _tell_few_numbers(self, columns: dict[str, Column]) -> None:
        """One line about all columns of a few whole numbers, which may be codes."""
        names = [name for name in self._few_numbers if columns[name].dropped is None]
        if names:
            said = f"Few different whole numbers, taken as numbers: {quoted(names, 8)}. If "
            said += f"{names[0]!r} holds codes" if len(names) > 1 else "they are codes"
            self._say("note", "few numbers", names[0], f"{said}, give ", _typed(names[0], "category"), ".")

    def _dropped(self, column: Column, kind: str, reason: str, severity: Severity = "note") -> Column:
        self._say(severity, kind, column.name, f"Column {column.name!r} is left out: {reason}.")
        return replace(column, dropped=reason)

    def _with_ranges(self, columns: dict[str, Column]) -> dict[str, Column]:
        """The columns with the sentinels of their numbers; keeps the ranges, those of long columns side by side."""
        names = [name for name, column in columns.items() if column.kind != "category"]
        bare = [columns[name] for name in names]
        if self.facts.n_rows < _LONG:
            ranged = [self._ranged(column) for column in bare]
        else:
            with ThreadPoolExecutor(_THREADS) as threads:
                ranged = list(threads.map(self._ranged, bare))
        self._ranges = {column.name: own for column, own in ranged}
        return columns | {column.name: column for column, _ in ranged}

    def _ranged(self, column: Column) -> tuple[Column, Range]:
        look = column.name not in self.types and column.kind in ("number", "date")
        found, own = self.facts.range_of(column, look)
        if not found:
            return column, own
        notation = replace(column.notation, sentinels=column.notation.sentinels + found)
        return replace(column, notation=notation), own

    def _number(self, column: Column) -> Column:
        name = column.name
        missing, lowest, highest, mean = self._ranges[name]
        column = replace(column, missing=missing) if missing else column
        beside = f" ({missing:,} are missing)" if missing else ""
        if missing == self.facts.n_rows:
            return self._dropped(column, "empty", "it holds no value at all")
        if lowest == highest:
            return self._dropped(column, "constant", f"its only value is {column.shown(lowest)}{beside}")
        self._say_sentinels(column, lowest, highest)
        self._say_order(column)
        if column.kind == "number" and name not in self.types:
            numbering = self.facts.numbering(column)
            role = None if numbering is None else numbering.role(name, self._names)
            if numbering is not None and role is not None:
                return self._identifier(column, role, numbering.n_distinct)
        if (differing := self.facts.differing(column, self._least)) < self._least:
            rows = "one row" if differing == 1 else f"{differing} rows"
            reason = f"it is the same in all but {rows}{beside}"
            return self._dropped(column, "hardly varies", reason, "warning")
        return replace(column, mean=mean)

    def _identifier(self, column: Column, role: Role, n_distinct: int, kind: str = "number") -> Column:
        """The column, left out, that identifies rows or groups of rows."""
        name, reason = column.name, "it looks like an identifier"
        if role == "groups":
            reason = f"it looks like an identifier of groups ({n_distinct:,} values)"
            said = f"Column {name!r} is left out: {reason}. Rows of one group are not independent: name it in fit, "
            advice: tuple[Part, ...] = ("evaluate and compare with ", Setting("groups", name))
            self._say("warning", "groups", name, said, *advice, ". Otherwise give ", _typed(name, kind), ".")
        else:
            self._say_typed("identifier", name, f"is left out: {reason}", kind)
        return replace(column, dropped=reason)

    def _say_order(self, column: Column) -> None:
        """Warn of a time by which the rows are ordered."""
        name = column.name
        is_time = column.kind == "date" or (column.kind == "number" and is_named_time(name))
        if not is_time or self.facts.n_rows - column.missing < MIN_ROWS or not self.facts.order(column).is_ordered:
            return
        said = f"The rows are in the order of the time {name!r}. Random folds train on later rows than those held out: "
        self._say("warning", "row order", name, f"{said}compare models by ", Setting("time", name), ".")

    def _say_sentinels(self, column: Column, lowest: float, highest: float) -> None:
        found = [value for value in column.notation.sentinels if value not in self._missing_numbers]
        if not found:
            return
        rows = self.facts.rows_with(replace(column, notation=replace(column.notation, sentinels=())), found)
        others = f"the other values, {column.shown(lowest)} to {column.shown(highest)}"
        which = listed([iso_day(value) if column.kind == "date" else f"{value:.12g}" for value in found])
        said = f"Column {column.name!r}: {which} stands apart from {others}, and counts as missing in "
        rows_said = f"{rows:,} rows" if rows > 1 else "one row"
        self._say(
            "warning",
            "sentinel",
            column.name,
            f"{said}{rows_said}. Keep it with ",
            _typed(column.name, column.kind),
            ".",
        )

    def _category(self, column: Column) -> Column:
        name = column.name
        levels = self.facts.levels(name)
        # Spaces around levels of text files do not count.
        texts = [text.strip() for text in levels.texts] if self.codes else levels.texts
        missing = missing_texts(texts, self.codes)
        counts, weights = (_level_weights(texts, each, missing) for each in (levels.rows, levels.weights))
        n_missing = levels.empty + sum(levels.rows) - counts.total()
        column = replace(column, missing=n_missing)
        if not counts:
            return self._dropped(column, "empty", "it holds no value at all")
        if name not in self.types:
            column, counts = self._respelled(column, counts)
        if len(counts) == 1 and not n_missing:
            return self._dropped(column, "constant", f"its only value is {next(iter(counts))!r}")
        different, present = len(counts) + levels.unlisted, counts.total() + levels.unlisted_rows
        if name not in self.types and different > max(2, _DISTINCT * present):
            words = np.mean([text.count(" ") for text in islice(counts, _LOOKED_AT_LEVELS)])
            what = "free text" if words > 4 else "an identifier"
            reason = f"nearly every row has a value of its own ({what}: {quoted(list(islice(counts, 2)), 2)})"
            return self._dropped(replace(column, kind="text"), "identifier", reason)
        if name not in self.types and is_named_group(name) and different > MAX_NAMED_CODES and present >= MIN_ROWS:
            return self._identifier(replace(column, kind="text"), "groups", different, "category")
        column = self._with_levels(column, counts, levels)
        by_place: Counter[int] = Counter()
        if levels.unlisted:
            by_place[column.place_of_other] += levels.unlisted_weight if weights else levels.unlisted_rows  # type: ignore[assignment]
        for level, weight in (weights or counts).items():  # all weights may be 0
            by_place[column.places.texts.get(level, column.place_of_other)] += weight
        return replace(
            column, shares=tuple(by_place[place] / by_place.total() for place in range(len(column.coded_levels)))
        )

    def _respelled(self, column: Column, counts: Counter[str]) -> tuple[Column, Counter[str]]:
        """The column and its counts with one spelling of each level; what may be misspelled is only told."""
        spellings = same_spellings(counts, BOOLEANS)
        if spellings:
            said = f"has levels in several spellings, taken as one: {_pairs(spellings)}"
            self._say_typed("spellings", column.name, said)
            column = replace(column, spellings=with_other_cases(spellings, counts))
            counts = merged(counts, spellings)
        if slips := misspellings(counts):
            said = (
                f"Column {column.name!r} has levels that may be misspelled: {_pairs(slips)}. Correct them in the table."
            )
            self._say("note", "misspelled", column.name, said)
        return column, counts

    def _with_levels(self, column: Column, counts: Counter[str], levels: Levels) -> Column:
        """The column with its frequent levels; the others count as ``(other)``, or as the reference if they are few.

        A few rows more change the largest group least. Where no level is frequent, all of them together are the
        reference that missing values are compared with.
        """
        by_size = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in by_size[: self.options.max_levels] if counts[level] >= self._least]
        reference, rest = (kept[0] if kept else OTHER), by_size[len(kept) :]
        n_rest, n_rows = len(rest) + levels.unlisted, sum(counts[level] for level in rest) + levels.unlisted_rows
        self._rare_levels[column.name] = (n_rest, n_rows, len(by_size) + levels.unlisted)
        pooled = n_rest if n_rows >= self._least else 0
        if pooled and OTHER in kept[1:]:  # somebody has pooled levels before
            kept, rest = [level for level in kept if level != OTHER], [OTHER, *rest]
        rare = tuple(rest[:_MOST_RARE])
        return replace(
            column,
            levels=tuple(sorted(kept)),
            reference=reference,
            pooled=pooled,
            rare_levels=rare,
            coding=self.options.coding,
        )

    def _treat_rare_levels(self, columns: dict[str, Column]) -> None:
        """Tell of levels without a column of their own, and leave out columns to which none is left."""
        for name, (n_rare, n_rows, n_levels) in self._rare_levels.items():
            column = columns[name]
            if column.dropped is not None:
                continue
            many = f"none of its {n_levels:,} levels has {self._least} rows"
            all_rare = many if n_levels > 1 else "nearly all are missing"
            where = OTHER if column.pooled else repr(column.reference)
            if len(column.told_apart) + column.missing_column < 2:
                same = f"nearly all rows have {column.reference!r}" if column.levels else all_rare
                columns[name] = self._dropped(column, "hardly varies", same)
            elif n_rare and len(column.levels) == self.options.max_levels:
                said = f"Column {name!r} has {n_levels:,} levels; the {n_rare:,} rarest ({n_rows:,} rows) count as "
                advice = (Setting("max_levels"), " to keep them apart, or group them by meaning.")
                self._say("warning", "many levels", name, f"{said}{where}. Raise ", *advice)
            elif n_rare:
                said = f"{n_rare:,} of its {n_levels:,} levels have fewer than {self._least} rows each and count as "
                said = f"{said}{where}"
                if not column.levels:
                    said = f"{all_rare}; they count as one, {where}"
                elif n_rare == 1:
                    said = f"one of its {n_levels:,} levels has fewer than {self._least} rows and counts as {where}"
                self._say("note", "rare levels", name, f"Column {name!r}: {said}.")

    def _drop_duplicates(self, columns: dict[str, Column]) -> None:
        """Leave out columns that say in every row what one before them says."""
        for name, other in self.facts.duplicates(each for each in columns.values() if each.dropped is None).items():
            says = "groups the rows as" if columns[name].kind == "category" else "has the same values as"
            columns[name] = self._dropped(columns[name], "duplicate", f"it {says} {other!r}")

    def _mark_missing(self, columns: dict[str, Column]) -> None:
        """Give missing values a column of their own, unless one before them is missing in the same rows."""
        if self.options.missing != "indicator":
            return
        marked: dict[Hashable, str] = {}
        for name, column in columns.items():
            if column.dropped is not None or not column.missing:
                continue
            if min(column.missing, self.facts.n_rows - column.missing) < self._least:
                values = "One value is" if column.missing == 1 else f"{column.missing} values are"
                treated = f"read as {column.reference!r}" if column.kind == "category" else "filled with the mean"
                said = f"{values} missing in column {name!r}: too few for a mark, so {treated}."
                self._say("note", "missing", name, said)
                continue
            where = self.facts.missing_rows(column)
            if where in marked:
                said = f"Column {name!r} is missing in the same rows as {marked[where]!r}: one mark serves both."
                self._say("note", "missing together", name, said)
            columns[name] = replace(column, missing_column=where not in marked)
            marked.setdefault(where, name)

    def _look_for_leaks(self, columns: dict[str, Column]) -> None:
        for name, column in columns.items():
            if column.dropped is None and self.facts.tells_classes_apart(column):
                said = f"Column {name!r} alone tells the classes apart without error. If it is known only after the "
                advice = (f"{said}outcome, or made from it, leave it out with ", Setting("drop"), ".")
                self._say("warning", "leak", name, *advice)


def fewest_rows(options: LearningOptions, n_rows: int) -> int:
    """How many rows something has to have so that it is learned from."""
    return max(min(options.rare, n_rows // _FREQUENT), 1)


def missing_numbers(codes: Sequence[str]) -> tuple[float, ...]:
    """Numbers that were said to stand for missing values."""
    return tuple(sorted({float(code) for code in codes if is_plain_number(code)}))


def incomplete_left_out(n_left_out: int, n_rows: int, label: str) -> Finding:
    """What is told of rows with missing values that are left out; refuses if none is left."""
    if not n_rows:
        raise InputError(f"Every row of {label} misses some value. Choose ", Setting("missing", "indicator"), ".")
    said = several(n_left_out, "row with missing values was", "rows with missing values were")
    return Finding("warning", "rows missing", None, f"{said} left out.")


def first_reading(name: str, kind: Any, codes: Sequence[str], options: LearningOptions) -> Column | None:
    """How a column of this type is read before anything is known of its values; None for texts and levels."""
    declared = options.types.get(name)
    postcodes = declared is None and not options.by_type and pa.types.is_integer(kind) and is_postcode(name)
    if is_text(kind) or declared == "category" or postcodes or (options.by_type and pa.types.is_boolean(kind)):
        return None
    if pa.types.is_temporal(kind) or declared in ("date", *_DATE_KINDS):
        return Column(name, "date", notation=native_dates(kind))
    sentinels = Notation(sentinels=missing_numbers(codes))
    if declared == "boolean" or (pa.types.is_boolean(kind) and declared is None):
        return Column(name, "boolean", notation=sentinels if declared else PLAIN)
    if pa.types.is_null(kind) and declared is None:
        return Column(name, "empty")
    return Column(name, "number", notation=sentinels)


def is_plain_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def native_dates(kind: Any) -> Notation:
    """How further values of a column of dates, times or numbers such as 20201231 are written where they are text."""
    if is_numeric(kind):
        return DAY_NUMBERS
    return Notation(date="time" if pa.types.is_time(kind) or pa.types.is_duration(kind) else "ymd")


def _typed(name: str, kind: str) -> Setting:
    return Setting("types", {name: kind})


def _numbers(values: Any) -> str:
    return listed([f"{value:.12g}" for value in values], 6)


def merged(counts: Mapping[str, int], spellings: Mapping[str, str]) -> Counter[str]:
    """The counts of levels, other spellings with their level."""
    together: Counter[str] = Counter()
    for level, count in counts.items():
        together[spellings.get(level, level)] += count
    return together


def _pairs(spellings: Mapping[str, str]) -> str:
    return listed([f"{written!r} as {level!r}" for written, level in spellings.items()], 4)


def _level_weights(texts: list[str], weights: Sequence[float] | None, missing: set[str]) -> Counter[str]:
    """The weight, or the number, of the rows of each level that has any."""
    counts: Counter[str] = Counter()
    for text, count in zip(texts, weights or (), strict=False):
        if count and text not in missing:
            counts[text] += count  # type: ignore[assignment]
    return counts


def learn_target(
    labels: Array, name: str | None, label: str, options: LearningOptions, n_missing: int = 0, as_written: bool = False,
    each: Array | None = None,
) -> tuple[Target, Array, list[Finding]]:  # fmt: skip
    """The target, the class code of each label, and what was found; labels may be classes just as they are written.

    The code of a class that is left out is -1. ``each`` is how many rows have a label, one if it is not given.
    """
    if not labels.size:
        raise InputError(f"Target {name!r} of {label} is missing in every row. Name another column.")
    findings = []
    if n_missing:
        were = "was" if n_missing == 1 else "were"
        said = f"{several(n_missing, 'row has', 'rows have')} no {name!r} and {were} left out."
        findings.append(Finding("warning", "target missing", name, said))
    if labels.dtype.kind == "f":
        if not as_written:
            _refuse_floats(labels, name, labels.size if each is None else int(each.sum()))
        labels = np.array(list(map(str, labels.tolist())))
    written, codes = encode_labels(labels, labels.size)
    rows = np.bincount(codes, each, len(written)).astype(np.int64)
    n_rows = int(rows.sum())
    spellings, found = ({}, []) if as_written else _class_spellings(written, rows, name)
    names, merged_classes, left_out, rare = _rare_classes(respelled(written, spellings), rows, name, options)
    findings += found + rare
    kept = ~np.isin(names, exact_array(left_out))
    classes, place = encode_labels(names[kept], int(np.count_nonzero(kept)))
    class_of = np.full(len(names), -1, dtype=np.int32)
    class_of[kept] = place
    codes, counts = class_of[codes], np.bincount(place, rows[kept], len(classes)).astype(np.int64)
    if classes.size > _MOST_CLASSES and n_rows < _FEWEST_ROWS_PER_CLASS * classes.size:
        raise _not_classes(classes, labels, name, n_rows)
    if len(classes) < 2:
        raise LabelError(
            f"Target {name!r} has only one class, {shown(classes[0])}: nothing can be told apart. Check the column, "
            "and whether rows of the other classes were filtered out."
        )
    findings += _single_rows(classes[counts == 1], name)
    findings += imbalance_findings(classes.tolist(), counts)
    kind = {"b": "boolean", "i": "integer", "u": "integer"}.get(classes.dtype.kind, "text")
    one_class = {
        written: merged_classes.get(str(known), known) for written, known in spellings.items()
    } | merged_classes
    target = Target(name, kind, tuple(classes.tolist()), tuple(one_class.items()), left_out)  # type: ignore[arg-type]
    return target, codes, findings


_DROP, _MERGE = Setting("drop_classes_below"), Setting("merge_classes_below")


def _refuse_floats(labels: Array, name: str | None, n_rows: int) -> NoReturn:
    """Why floats are no classes: they are measurements, or whole numbers whose last digits are lost."""
    if not (np.isfinite(labels) & (labels == np.rint(labels))).all():
        raise _not_classes(np.unique(labels), labels, name, n_rows)
    largest = labels[np.abs(labels).argmax()]
    raise InputError(
        f"Target {name!r} holds whole numbers such as {largest:.0f} as floats, which do not keep all digits of numbers "
        "above 2**53. Store them as integers or as text."
    )


def _single_rows(classes: Array, name: str | None) -> list[Finding]:
    """What is to be said of classes that have one row each."""
    if not classes.size:
        return []
    of = _of(name)
    those = f"Class {shown(classes[0])}{of} has" if classes.size == 1 else f"Classes{of} have"
    which = "it" if classes.size == 1 else f"{quoted(classes.tolist())}"
    said = f"{those} a single row: nothing can be learned or checked from {which}. Leave such classes out with "
    advice = Message(said, Setting("drop_classes_below", 2), ", or merge rare ones with ", _MERGE, ".")
    return [Finding("warning", "single row", name, advice)]


def _of(name: str | None) -> str:
    """The column that classes are of, where it has a name."""
    return "" if name is None else f" of {name!r}"


def _rare_classes(
    names: Array, counts: Array, name: str | None, options: LearningOptions
) -> tuple[Array, dict[str, str], tuple[Any, ...], list[Finding]]:
    """The names, rare classes merged; which were, which are to be left out, and what is to be told of both."""
    least, fewest = options.drop_classes_below, options.merge_classes_below
    written, place = np.unique(names, return_inverse=True)
    rows = np.bincount(place, counts)
    left_out = written[rows < least]
    merged_classes = written[(rows >= least) & (rows < fewest)]
    findings, of = [], _of(name)
    if left_out.size:
        said = f"Classes{of} with fewer than {least} rows were left out: {quoted(left_out.tolist())}."
        findings.append(Finding("warning", "class left out", name, said))
        if len(left_out) > len(written) - 2:
            raise LabelError(f"Fewer than two classes{of} have {least} rows. Choose less for ", _DROP, ".")
    if merged_classes.size == 1:
        said = f"Class {shown(merged_classes[0])}{of} has fewer than {fewest} rows, but there is no other such "
        advice = Message(f"{said}class to merge it with. Leave it out with ", Setting(_DROP.parameter, fewest), ".")
        return names, {}, tuple(left_out.tolist()), [*findings, Finding("warning", "class kept", name, advice)]
    if merged_classes.size:
        said = f"Classes{of} with fewer than {fewest} rows are one class, {OTHER!r}: "
        findings.append(Finding("warning", "classes merged", name, f"{said}{quoted(merged_classes.tolist())}."))
        names, left_out = names.astype(str), left_out.astype(str)
    other = dict.fromkeys(map(str, merged_classes.tolist()), OTHER)
    return respelled(names, other), other, tuple(left_out.tolist()), findings


def _class_spellings(written: Array, rows: Array, name: str | None) -> tuple[dict[str, str], list[Finding]]:
    """Other spellings of classes, and what is to be told of them and of classes that may be misspelled."""
    if written.dtype.kind != "U":
        return {}, []
    counts = dict(zip(written.tolist(), rows.tolist(), strict=True))
    spellings, findings = same_spellings(counts, BOOLEANS), []
    if len(counts) - len(spellings) < 2:
        spellings = {}  # they are all that tells the classes apart
    if spellings:
        said = f"Target {name!r} has classes in several spellings, taken as one: {_pairs(spellings)}. Keep them "
        said = f"{said}apart with "
        findings.append(Finding("warning", "spellings", name, Message(said, _typed(str(name), "category"), ".")))
    if slips := misspellings(merged(counts, spellings)):
        said = f"Target {name!r} has classes that may be misspelled: {_pairs(slips)}. Correct them in the table."
        findings.append(Finding("warning", "misspelled", name, said))
    return dict(with_other_cases(spellings, counts)), findings


def imbalance_findings(classes: Sequence[Any], counts: Any) -> list[Finding]:
    """A warning where a class has less than a fifth of the rows that it would have if all had equally many."""
    shares = np.asarray(counts, dtype=np.float64) / np.sum(counts)
    k, most = int(np.argmin(shares)), int(np.argmax(shares))
    if shares[k] >= _RARE / len(shares):
        return []
    said = (
        f"Classes are of very unequal size: {shown(classes[k])} has {percent(shares[k])} of the rows, "
        f"{shown(classes[most])} {percent(shares[most])}. Accuracy hardly sees a rare class: look at its recall, or "
        "give costs that say what missing it costs."
    )
    return [Finding("warning", "imbalance", None, said)]


def _not_classes(values: Array, labels: Array, name: str | None, n_rows: int) -> InputError:
    examples = quoted(values[:3].tolist())
    few = values.size <= min(_MOST_CLASSES, labels.size / _FEWEST_ROWS_PER_CLASS)
    if few and np.isfinite(values.astype(np.float64)).all():
        said = f"Target {name!r} holds {values.size:,} different numbers that are not whole, such as {examples}: they "
        said = f"{said}are measured, as a rule, and not classes. If they are classes, declare them with "
        return InputError(said, _typed(str(name), "category"), ".")
    what = "continuous" if labels.dtype.kind in "fiu" else "like free text or an identifier"
    return InputError(
        f"Target {name!r} looks {what}: {values.size:,} different values in {n_rows:,} rows, such as "
        f"{examples}. A classifier needs a few classes: cut it into ranges first, or name another column."
    )


@dataclass(frozen=True)
class TrainingTable:
    """Rows, labels and what was decided and found on the way.

    Attributes
    ----------
    X : float64 array in C order, or CSR matrix, of shape (n_rows, n_coded)
    y : array of shape (n_rows,)
        The labels.
    codes : array of int32 of shape (n_rows,)
        The places of the labels among ``schema.target.classes``.
    schema : Schema
        Codes further rows in the same way.
    findings : tuple of Finding
        What is worth knowing about the table.
    weights, groups : array of shape (n_rows,), or None
    row_numbers : array of int
        The rows of the table that X holds; the others had no label, or missing values under ``missing="drop"``.
    n_dropped : int
        How many others there were.
    times : array of shape (n_rows,), or None
        The column that orders the rows in time, as numbers.
    """

    X: Any
    y: Array
    codes: Array
    schema: Schema
    findings: tuple[Finding, ...]
    weights: Array | None
    groups: Array | None
    row_numbers: Array
    n_dropped: int
    times: Array | None = None

    @property
    def rows(self) -> Rows:
        """X with the names of its columns: a model fitted to these rows knows them, and calls columns by name."""
        return self.schema.rows(self.X)

    def seen(self) -> dict[str, list[float]]:
        """What explanations of new rows compare with: means and ranges of the coded columns, shares of the classes."""
        means, lowest, highest = _column_ranges(self.X)
        counts = np.bincount(self.codes, weights=self.weights)
        found = {"means": means, "lowest": lowest, "highest": highest, "shares": counts / counts.sum()}
        return {name: values.tolist() for name, values in found.items()}


#: Blocks of so many values stay in the cache while their sums and ends are looked for.
_BLOCK_VALUES = 1 << 16


def _column_ranges(X: Any) -> tuple[Array, Array, Array]:
    """Mean, lowest and highest value of each column."""
    if not isinstance(X, np.ndarray):  # sparse
        return np.ravel(X.mean(axis=0)), X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    step = max(_BLOCK_VALUES // X.shape[1], 1)
    blocks = [X[start : start + step] for start in range(0, len(X), step)]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda block: (block.sum(axis=0), block.min(axis=0), block.max(axis=0)), blocks))
    sums, lowest, highest = zip(*found, strict=True)
    return np.sum(sums, axis=0) / len(X), np.min(lowest, axis=0), np.max(highest, axis=0)


def read_training(
    table: Any,
    target: str | None = None,
    *,
    missing: Policy = "indicator",
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    time: str | None = None,
    max_levels: int = 50,
    rare: int = 5,
    drop_classes_below: int = 1,
    merge_classes_below: int = 1,
    coding: Coding = "reference",
    by_type: bool = False,
) -> TrainingTable:
    """The rows and labels of a table, coded as numbers, with the schema that codes further rows alike.

    Parameters
    ----------
    table : TableReader, or what `open_table` opens
        A table opened before, with its dialect put right, or a file or frame.
    target : str, optional
        The column of classes; not needed if the table was opened with it.
    missing : {"indicator", "drop", "refuse"}, default="indicator"
        Missing numbers become the mean, and a column more marks them; missing categories are a level of their own. Or
        leave out incomplete rows, or refuse them.
    drop : list of str, default=()
        Columns to leave out.
    types : dict, optional
        What columns are, where it should not be found out: ``"number"``, ``"category"``, ``"boolean"``, ``"date"``, or
        ``"date-dmy"`` and ``"date-mdy"`` for dates with the day or the month first. A declared column is taken as it
        is: no number in it is a sentinel, and no level another spelling.
    weights, groups : str, optional
        Columns of row weights, and of groups that belong together in validation.
    time : str, optional
        A column of numbers or dates by which rows are ordered in validation (`forward_chaining`). It is learned from as
        other columns are, unless it is dropped.
    max_levels : int, default=50
        A category keeps this many levels, the most frequent ones; the others count as ``(other)``.
    rare : int, default=5
        Levels of fewer rows than this count as ``(other)``, or as the reference level where all of them together have
        fewer; numbers that differ from their most frequent value in fewer rows are left out, and so are marks of fewer
        missing values. A twentieth of the rows is never rare; 1 keeps everything.
    drop_classes_below, merge_classes_below : int, default=1
        Rows of classes with fewer rows than the first are left out, here and in evaluations; classes with fewer than
        the second become one, ``(other)``. 1 keeps all.
    coding : {"reference", "full"}, default="reference"
        Which levels of a category have a coded column. All but the most frequent, so that a coefficient compares a
        level with it: for maximum likelihood and inference. Or all, so that a penalty treats them alike: which level is
        the most frequent does not matter then.
    by_type : bool, default=False
        Whether columns are what their type says, as if each had been declared: numbers are numbers (not codes), text of
        a frame and truth values are categories.

    Returns
    -------
    TrainingTable
        With rows ``X``, labels ``y``, ``schema`` and ``findings``.

    See Also
    --------
    open_table : Opens a table with its dialect put right.
    TableEncoder : Codes frames as a step of a scikit-learn pipeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant.tables import read_training
    >>> frame = pd.DataFrame({"age": [31, 40, 35, 22], "sex": ["f", "m", "m", "m"], "ill": ["y", "n", "n", "y"]})
    >>> training = read_training(frame, "ill")
    >>> training.X
    array([[31.,  1.],
           [40.,  0.],
           [35.,  0.],
           [22.,  0.]])
    >>> training.y
    array(['y', 'n', 'n', 'y'], dtype='<U1')
    """
    kinds = {} if types is None else types
    options = LearningOptions(
        missing, drop, kinds, max_levels, rare, drop_classes_below, merge_classes_below, coding, by_type
    )
    if not isinstance(table, TableReader):
        table = open_table(table, target, types=types)
    if isinstance(table, SvmlightReader):
        return _sparse_training(table, (target, weights, groups, time), options)
    target = table.target if target is None else target
    if target is None:
        columns = f". Columns: {quoted(table.columns, 20)}."
        raise ColumnError("Name the target, the column of classes, with ", Setting("target"), columns)
    roles = [name for name in (target, weights, groups) if name is not None]
    for name in (*roles, *([] if time is None else [time]), *options.drop, *options.types):
        table.known(name, "target" if name == target else "column")
    if len(set(roles)) < len(roles) or target in options.drop:
        raise ParameterError(f"Target, weights and groups must be different columns that are not dropped, got {roles}.")
    options = replace(options, types={**table.types, **options.types})
    return _training(table, (target, weights, groups), time, options)


def _training(
    table: TableReader, roles: tuple[str, str | None, str | None], time: str | None, options: LearningOptions
) -> TrainingTable:
    """The coded rows of a table with named columns; what is learned of rows that are then left out is learned anew."""
    codes = () if table.dialect is None else table.dialect.missing
    target, weights, groups = roles
    _refuse_unusable(table, options)
    data = table.read()
    n_rows = data.num_rows
    labels, present = raw_labels(data[target], target, codes)
    rows = np.flatnonzero(present)
    data = data if rows.size == n_rows else data.filter(present)
    findings, left_out, n_missing = list[Finding](), tuple[Any, ...](), n_rows - rows.size
    while True:
        as_written = target in options.types
        learned, classes, found = learn_target(labels, target, table.label, options, n_missing, as_written)
        if learned.left_out:
            findings += [finding for finding in found if finding.kind in ("class left out", "target missing")]
            left_out, n_missing, wanted = (*left_out, *learned.left_out), 0, classes >= 0
            data, rows, labels = data.filter(wanted), rows[wanted], labels[wanted]
            continue
        decimal = "." if table.dialect is None else table.dialect.decimal
        row_weights = None if weights is None else column_weights(data[weights], weights)
        learner = ColumnLearner(TableFacts(data, codes, classes, row_weights), codes, options, decimal)
        columns = learner.learn([name for name in data.column_names if name not in roles])
        matters = options.missing != "indicator"
        gaps = [column for column in columns if matters and column.dropped is None and column.missing]
        kept = complete_rows(gaps, data, codes, options.missing == "refuse")
        left = incomplete_left_out(int(np.count_nonzero(~kept)), int(np.count_nonzero(kept)), table.label)
        findings += found if kept.all() else [*found, left]
        if kept.all():
            break
        data, rows, labels, n_missing = data.filter(kept), rows[kept], labels[kept], 0
    schema = Schema(columns, replace(learned, left_out=left_out), options.missing, codes or MISSING_CODES)
    X = schema.encode_batch(data)[0]
    # copies that are in one group are held out together
    copies = Copies.of(X, classes) if groups is None else None
    found = [finding for finding in learner.findings if (finding.kind, finding.column) != ("row order", time)]
    findings += found if copies is None else _without_copies(found, copies, schema)
    return TrainingTable(
        X=X,
        y=exact_array(learned.classes)[classes],
        codes=classes,
        schema=schema,
        findings=(*table.findings, *_numbers_as_text(table, data), *findings),
        weights=row_weights,
        groups=None if groups is None else column_groups(data[groups], groups, codes),
        row_numbers=rows,
        n_dropped=n_rows - rows.size,
        times=None if time is None else _times(learner.recognised(time), data[time], codes),
    )


def _without_copies(findings: Sequence[Finding], copies: Copies, schema: Schema) -> list[Finding]:
    """What is told of columns, after a word on copies: numbers that repeat as often as their rows do tell no class."""
    numbers = {output: j for j, output in enumerate(schema.names)}

    def holds(finding: Finding) -> bool:
        return finding.kind != "leak" or finding.column not in numbers or copies.tell_apart(numbers[finding.column])

    return [copies.finding(), *filter(holds, findings)]


def _refuse_unusable(table: TableReader, options: LearningOptions) -> None:
    for name, what in table.unusable.items():
        if name in table.columns and name not in options.drop:
            raise ColumnError(
                f"Column {name!r} of {table.label} holds {what}: expected numbers, text or true and false. Leave it "
                "out with ",
                Setting("drop"),
                ".",
            )


def _numbers_as_text(table: TableReader, data: Any) -> list[Finding]:
    """What is told of columns whose numbers are stored as text."""
    names = [name for name in data.column_names if name in table.stored_as_text and is_numeric(data[name].type)]
    if not names:
        return []
    said = (
        f"Numbers are stored as text in {quoted(names, 5)}, and read as numbers. If they are codes, declare them with "
    )
    return [Finding("note", "stored as text", None, Message(said, Setting("types"), "."))]


def column_weights(values: Any, name: str) -> Array | None:
    try:
        numbers = values.cast(pa.float64()) if pa.types.is_decimal(values.type) else values
        return check_weights(np.asarray(numbers.to_numpy()), len(values))
    except WeightError as error:
        raise WeightError(f"Weights in column {name!r}: {error}") from error


def column_groups(values: Any, name: str, codes: Sequence[str]) -> Array:
    labels, present = raw_labels(values, name, codes)
    if not present.all():
        gaps = several(int(np.count_nonzero(~present)), "row")
        raise ColumnError(
            f"Groups in column {name!r} are missing in {gaps}, the first row {int(np.argmin(present))}. Every row "
            "needs a group."
        )
    return labels


def _times(column: Column, values: Any, codes: Sequence[str]) -> Array:
    """A column that orders the rows in time, as numbers."""
    if column.kind not in ("number", "date"):
        raise ColumnError(f"Time column {column.name!r} holds text. Expected numbers or dates. Name another column.")
    numbers = as_floats(column, values, codes)
    if (missing := np.isnan(numbers)).any():
        gaps = several(int(np.count_nonzero(missing)), "row")
        raise ColumnError(f"Time column {column.name!r} is missing in {gaps}. Every row needs a time.")
    return numbers


def _sparse_training(table: SvmlightReader, roles: Sequence[str | None], options: LearningOptions) -> TrainingTable:
    if any(name is not None for name in roles):
        raise ColumnError(f"{table.label} is SVMlight text: it has labels but no named columns. Leave the names out.")
    rows = table.read()
    n_rows = rows.num_rows
    found, classes, findings = learn_target(whole_labels(rows.y), None, table.label, options)
    numbers = np.flatnonzero(classes >= 0)
    rows, classes = rows.filter(numbers) if numbers.size < n_rows else rows, classes[numbers]
    first = int(not (rows.X.indices == 0).any())
    if rows.X.shape[1] == first:
        raise InputError(f"No column is left to learn from in {table.label}: its rows have labels only.")
    schema = Schema((), found, width=rows.X.shape[1] - first, first=first)
    X, y = schema.encode_batch(rows)[0], exact_array(found.classes)[classes]
    return TrainingTable(X, y, classes, schema, tuple(findings), None, None, numbers, n_rows - numbers.size)
