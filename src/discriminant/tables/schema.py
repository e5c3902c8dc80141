"""What was decided about each column of a table, so that new rows are treated as the first ones were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..arrays import Array
from ..data import Rows, as_frame, as_rows, check_choice, check_types, encode_labels, exact_array
from ..errors import ColumnError, InputError, LabelError, Setting
from ..results import quoted, several, shown, suggestion
from .delimited import MISSING_CODES
from .levels import BOOLEANS, MISSING_PLACE, REFERENCE_PLACE, UNSEEN_PLACE, LevelPlaces, ValueType
from .recognition import PLAIN, Notation, days_of_arrow, iso_day
from .sources import SparseBatch, as_arrow, empty_matrix, is_text, without_views

MISSING = "(missing)"
OTHER = "(other)"
#: Rows are coded in batches, and a batch is written in blocks whose rows stay in the cache until their last column.
_BATCH_ROWS = 65536
_BLOCK_VALUES = 1 << 17
_WRITERS = 2
#: Whole numbers as they are written without need, and which floats tell apart.
_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}")
#: A report keeps this many unseen levels of a column by name, and as many texts that could not be read.
_MOST_UNSEEN = 20

Kind = Literal["number", "date", "category", "boolean", "text", "empty"]
Policy = Literal["indicator", "drop", "refuse"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
Coding = Literal["reference", "full"]
CODINGS: tuple[Coding, ...] = get_args(Coding)

_VERSION = 3
#: Coded columns are a sparse matrix when there are more than this many,
_WIDE = 1000
#: and at most this share of the values can differ from 0.
_THIN = 0.1


@dataclass(frozen=True)
class Target:
    """The classes of the training rows: what the column is called, what its values are, and which there are.

    ``spellings`` are pairs of other spellings in the table, or of rare classes, and the class that they count as;
    ``left_out`` are classes whose rows are left out.
    """

    name: str | None
    kind: Literal["text", "integer", "boolean"]
    classes: tuple[Any, ...]
    spellings: tuple[tuple[str, str], ...] = ()
    left_out: tuple[Any, ...] = ()

    def describe(self) -> str:
        """One line in words."""
        return f"{self.name or 'labels'}: {len(self.classes)} classes, {quoted(self.classes, 10)}"


def raw_labels(values: Any, name: str | None, codes: Sequence[str], classes: Sequence[Any] = ()) -> tuple[Array, Array]:
    """The labels of the rows that have one, as text, whole numbers or booleans, and which rows those are."""
    kind = values.type
    if is_text(kind) or pa.types.is_null(kind):
        return _text_labels(values, codes, classes)
    if pa.types.is_floating(kind):  # whole numbers are integers, also where gaps made them floats
        numbers = np.asarray(values.cast(pa.float64()).to_numpy())
        present = ~np.isnan(numbers)
        return whole_labels(numbers[present]), present
    if pa.types.is_boolean(kind) or is_numeric(kind):
        given = values.drop_null()
        return np.asarray((_exact(given) if pa.types.is_decimal(kind) else given).to_numpy()), _present(values)
    raise ColumnError(f"Target {name!r} holds {kind}: classes are text, whole numbers or true and false.")


def _present(values: Any) -> Array:
    return np.asarray(values.is_valid().to_numpy())


def _exact(decimals: Any) -> Any:
    """Decimals as integers; as text where they are whole and no integer type holds them, else as floats."""
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return decimals.cast(kind)
    return decimals.cast(pa.string() if decimals.type.scale == 0 else pa.float64())


def whole_labels(labels: Array) -> Array:
    """Labels that are whole numbers as integers, others as they are."""
    exact = np.abs(labels) < 2**53
    return labels.astype(np.int64) if exact.all() and np.all(np.mod(labels, 1) == 0) else labels


def _text_labels(values: Any, codes: Sequence[str], classes: Sequence[Any]) -> tuple[Array, Array]:
    texts, index = distinct_texts(values)
    known = set(classes)
    trimmed = [text if text in known else text.strip() for text in texts]
    missing = missing_texts(trimmed, codes, known)
    present = np.array([text not in missing for text in trimmed] + [False])[index]
    return np.array([*trimmed, ""])[index[present]], present


def respelled(labels: Array, spellings: Mapping[str, str]) -> Array:
    """The labels with each class in one spelling."""
    if not spellings or not labels.size:
        return labels
    written, index = np.unique(labels, return_inverse=True)
    return np.array([spellings.get(label, label) for label in written.tolist()])[index]


_KINDS_OF_LABELS = {"U": "text", "b": "boolean"}


def _as_classes(labels: Array, target: Target) -> Array:
    """Labels that were read as another type than those of the training, as the classes that mean the same.

    Text may be taken for numbers or truth values where a table has no other classes, and the other way round.
    """
    if not labels.size or _KINDS_OF_LABELS.get(labels.dtype.kind, "integer") == target.kind:
        return labels
    known = (*target.classes, *target.left_out)
    texts = {str(label): place for place, label in enumerate(known)}
    places = LevelPlaces(texts | {written: texts[label] for written, label in target.spellings if label in texts})
    kind: ValueType = {"U": "text", "b": "truth"}.get(labels.dtype.kind, "number")  # type: ignore[assignment]
    written, index = np.unique(labels, return_inverse=True)
    meant = [(str(label), places.place(str(label), kind)) for label in written.tolist()]
    return exact_array([text if place in (None, UNSEEN_PLACE) else known[place] for text, place in meant])[index]


def missing_texts(texts: Sequence[str], codes: Sequence[str], levels: Any = ()) -> set[str]:
    """Those of the texts that stand for a missing value.

    A sign such as ``-`` or ``?`` is a level like the others beside another sign, such as ``+``.
    """
    found = {text for text in texts if text in codes and text not in levels}
    signs = {text for text in texts if text and not any(map(str.isalnum, text))}
    return found - signs if signs - set(codes) else found


@dataclass(frozen=True)
class Column:
    """One column of the training table and what was decided about it.

    Attributes
    ----------
    name, kind : str
    dropped : str or None
        Why the column is not used.
    missing : int
        Missing values in the training rows.
    mean : float or None
        The mean of a number, or the share of true values: it stands in for missing ones.
    levels : tuple of str
        The levels of a category, sorted.
    reference : str or None
        The most frequent level. ``(other)`` where no level is frequent enough to stand alone.
    pooled : int
        How many rarer levels count as ``(other)``.
    rare_levels : tuple of str
        Levels of the training rows that share a place: ``(other)``, or the reference level where ``pooled`` is 0. Of
        very many only the most frequent are kept.
    missing_column : bool
        Whether missing values have a coded column of their own.
    spellings : tuple of pairs of str
        Other spellings of levels, each with its level.
    notation : Notation
        How texts read as numbers or dates, and which numbers stand for missing values.
    shares : tuple of float
        The share of each level that has a coded column among the training rows that have a level, by their weights:
        the code of a level that training had not.
    coding : {"reference", "full"}
        Which levels have a coded column: all but the reference, or all.
    """

    name: str
    kind: Kind
    dropped: str | None = None
    missing: int = 0
    mean: float | None = None
    levels: tuple[str, ...] = ()
    reference: str | None = None
    pooled: int = 0
    missing_column: bool = False
    rare_levels: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()
    notation: Notation = PLAIN
    shares: tuple[float, ...] = ()
    coding: Coding = "reference"

    @property
    def told_apart(self) -> tuple[str, ...]:
        """The levels that are told apart, ``(other)`` among them."""
        return self.levels + ((OTHER,) if self.pooled and OTHER not in self.levels else ())

    @cached_property
    def coded_levels(self) -> tuple[str, ...]:
        """The levels that have a coded column each, in order."""
        return tuple(level for level in self.told_apart if self.coding == "full" or level != self.reference)

    @property
    def knows_levels(self) -> bool:
        """Whether all levels of the training rows are known by name; of very many the rarest are not."""
        return self.pooled <= len(self.rare_levels)

    def check_shares(self) -> None:
        """Raise an `InputError` where the shares are not those of the levels."""
        if len(self.shares) != len(self.coded_levels) or not all(
            isinstance(s, int | float) and 0 <= s <= 1 for s in self.shares
        ):
            raise InputError(f"The shares of column {self.name!r} are not one number from 0 to 1 for each coded level.")

    @property
    def with_unseen_as_reference(self) -> Column:
        """The column with levels that training had not coded as the most frequent level, not as the average."""
        return replace(self, shares=tuple(float(level == self.reference) for level in self.coded_levels))

    @property
    def unseen_as(self) -> str:
        """What a level that training had not is scored as, in words."""
        is_level = self.shares == self.with_unseen_as_reference.shares
        return f"the most frequent one, {self.reference!r}" if is_level else "the average of its levels"

    @cached_property
    def place_of_reference(self) -> int:
        """Which coded column the reference has, `REFERENCE_PLACE` for none."""
        return self.coded_levels.index(self.reference) if self.reference in self.coded_levels else REFERENCE_PLACE

    @property
    def place_of_other(self) -> int:
        """Which coded column levels without one of their own count for, `REFERENCE_PLACE` for none."""
        return self.coded_levels.index(OTHER) if OTHER in self.coded_levels else self.place_of_reference

    @cached_property
    def places(self) -> LevelPlaces:
        """Which coded column each level of the training rows has."""
        places = dict.fromkeys(self.rare_levels, self.place_of_other)
        places |= {level: place for place, level in enumerate(self.coded_levels)}
        if self.reference is not None:
            places[self.reference] = self.place_of_reference
        return LevelPlaces(places | {text: places[level] for text, level in self.spellings if level in places})

    @property
    def read_as(self) -> str:
        """What a reader of text should take the column for."""
        if self.kind == "number" and self.notation.as_text:
            return "category"
        levels = (*self.levels, *self.rare_levels)
        codes = self.kind == "category" and levels and all(map(_WHOLE.fullmatch, levels))
        return "number" if codes else self.kind

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the coded columns."""
        if self.dropped is not None:
            return ()
        own = tuple(f"{self.name}={level}" for level in self.coded_levels) if self.kind == "category" else (self.name,)
        return own + ((f"{self.name}={MISSING}",) if self.missing_column else ())

    def code(self, value: Any) -> Array:
        """The coded columns of a number, or of a level; None is a missing value.

        >>> Column("colour", "category", levels=("blue", "red"), reference="red").code("blue")
        array([1.])
        >>> Column("size", "number", mean=4.5, missing_column=True).code(None)
        array([4.5, 1. ])
        """
        missing = value is None
        if self.kind == "category":
            own = [float(level == value) for level in self.coded_levels]
        else:
            own = [float((self.mean or 0.0) if missing else value)]
        return np.array(own + [float(missing)] * self.missing_column)

    def value(self, coded: Array) -> Any:
        """The number or level that coded columns stand for; a level not told apart is the reference, None is missing.

        >>> Column("colour", "category", levels=("blue", "red"), reference="red").value([0.0])
        'red'
        >>> Column("size", "number", mean=4.5, missing_column=True).value([4.5, 1.0]) is None
        True
        """
        if self.missing_column and coded[-1] == 1:
            return None
        if self.kind != "category":
            return int(coded[0]) if self.kind == "boolean" else float(coded[0])
        marked = [level for level, mark in zip(self.coded_levels, coded, strict=False) if mark == 1]
        return marked[0] if marked else self.reference

    @property
    def marks(self) -> tuple[bool, ...]:
        """Of each coded column: whether it is 1 in the rows of a level, or of missing values, and else 0."""
        return tuple(self.kind == "category" or place > 0 for place in range(len(self.outputs)))

    @property
    def redundant(self) -> tuple[bool, ...]:
        """Of each coded column: whether it follows from the others, being 1 where all other levels are 0."""
        return tuple(place == self.place_of_reference for place in range(len(self.outputs)))

    def describe(self) -> str:
        """One line that says what was decided."""
        return f"{self.name}: {self.words}"

    @property
    def words(self) -> str:
        """What was decided, without the name."""
        if self.dropped is not None:
            return f"left out, {self.dropped}"
        kind = {"boolean": "0 or 1", "date": self.date_words}.get(self.kind, "number")
        if self.kind == "category" and not self.levels:
            kind = f"category, its {self.pooled:,} levels all rare and taken together as {OTHER}"
        elif self.kind == "category":
            levels = "1 level" if len(self.levels) == 1 else f"{len(self.levels)} levels"
            rarer = f", {self.pooled:,} rarer one{'s' if self.pooled > 1 else ''} as {OTHER}" if self.pooled else ""
            coded = "a column for each" if self.coding == "full" else f"compared with {self.reference!r}"
            kind = f"category with {levels}{rarer}, {coded}"
        return "; ".join(filter(None, (kind, self.missing_words)))

    @property
    def date_words(self) -> str:
        """What a date is counted in."""
        return "time of day in hours" if self.notation.date == "time" else "date, in days since 1970-01-01"

    def shown(self, value: float | None) -> str:
        """A number of this column as people read it: of dates the day."""
        if value is None:
            return "-"
        return iso_day(value) if self.kind == "date" and self.notation.date != "time" else f"{value:.6g}"

    @property
    def missing_words(self) -> str:
        """How many values are missing, and what stands for them; empty where none is."""
        if not self.missing:
            return ""
        if self.kind == "category":
            treated = "a level of their own" if self.missing_column else f"read as {self.reference!r}"
        else:
            treated = f"filled with the mean {self.shown(self.mean)}" + (" and marked" if self.missing_column else "")
        return f"{self.missing:,} missing values, {treated}"


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
    unread : dict
        Texts that are no numbers (dates, true or false) in columns of these, with their rows, by column; they count as
        missing.
    unsure : tuple of str
        Columns with so many levels in training that the schema does not know the rarest of them: what is unseen there
        may have been among these, and counts as ``(other)`` like them.
    extra : tuple of str
        Columns that training had not; they are ignored.
    absent : tuple of str
        Columns of the training that were not there.
    """

    n_rows: int = 0
    kept: Array | None = None
    filled: Counter[str] = field(default_factory=Counter)
    new_missing: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    unread: dict[str, Counter[str]] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    unseen_as: dict[str, str] = field(default_factory=dict)

    @property
    def n_dropped(self) -> int:
        return 0 if self.kept is None else int(np.count_nonzero(~self.kept))

    def note_missing(self, column: Column, count: int) -> None:
        if count:
            self.filled[column.name] += count
            if not column.missing:
                self.new_missing[column.name] += count

    def note_unseen(self, column: Column, level: str, count: int) -> None:
        levels = self.unseen.setdefault(column.name, Counter())
        levels[level if level in levels or len(levels) < _MOST_UNSEEN else "(further levels)"] += count
        self.unseen_as[column.name] = column.unseen_as
        if not column.knows_levels and column.name not in self.unsure:
            self.unsure += (column.name,)

    def note_unread(self, column: Column, texts: Mapping[str, int]) -> None:
        for text, count in texts.items():
            known = self.unread.setdefault(column.name, Counter())
            known[text if text in known or len(known) < _MOST_UNSEEN else "(further texts)"] += count

    def __add__(self, other: EncodingReport) -> EncodingReport:
        """The report of two batches together."""
        both = (self, other)
        kept = [np.ones(each.n_rows, bool) if each.kept is None else each.kept for each in both]
        return EncodingReport(
            self.n_rows + other.n_rows,
            None if self.kept is other.kept is None else np.concatenate(kept),
            self.filled + other.filled,
            self.new_missing + other.new_missing,
            _added(self.unseen, other.unseen),
            _added(self.unread, other.unread),
            extra=tuple(dict.fromkeys(self.extra + other.extra)),
            absent=tuple(dict.fromkeys(self.absent + other.absent)),
            unsure=tuple(dict.fromkeys(self.unsure + other.unsure)),
            unseen_as=self.unseen_as | other.unseen_as,
        )

    def describe(self) -> str:
        """One line in words."""
        return "; ".join([self.summary(), *self.unseen_notes()])

    def summary(self) -> str:
        """All but the unseen levels, in words."""
        parts = [f"{self.n_rows:,} rows"]
        if self.n_dropped:
            parts.append(f"{self.n_dropped:,} incomplete rows left out")
        if self.filled:
            parts.append("missing values filled: " + ", ".join(f"{n:,} in {name!r}" for name, n in self.filled.items()))
        if self.new_missing:
            parts.append(f"of these, columns complete in training: {quoted(self.new_missing)}")
        if self.unread:
            where = ", ".join(f"{quoted(texts, 3)} in {name!r}" for name, texts in self.unread.items())
            parts.append(f"values that cannot be read, taken as missing: {where}")
        if self.absent:
            parts.append(f"columns not there, taken as missing: {quoted(self.absent)}")
        if self.extra:
            parts.append(f"{len(self.extra)} columns ignored: {quoted(self.extra)}")
        return "; ".join(parts)

    def unreadable(self) -> dict[str, str]:
        """Columns of which no value could be read, for they are written in another way, and what to say of them."""
        return {
            name: f"Column {name!r}: no value can be read as in training, such as {quoted(texts, 2)}. All count as "
            "missing, and rows are answered without them: write them as in training."
            for name, texts in self.unread.items()
            if self.filled[name] == self.n_rows
        }

    def unseen_notes(self) -> list[str]:
        """Of each column with levels that training had not: in how many rows, which, and how they were scored."""
        notes = []
        for name, levels in self.unseen.items():
            rows = several(levels.total(), "row")
            which = "a level" if len(levels) == 1 else "levels"
            unsure = name in self.unsure
            seen, scored = (", or rare there", OTHER) if unsure else ("", self.unseen_as[name])
            notes.append(
                f"{name!r}: {rows} with {which} not seen in training{seen} ({quoted(levels, 3)}), scored as {scored}"
            )
        return notes


def _added(first: dict[str, Counter[str]], second: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    return {name: first.get(name, Counter()) + second.get(name, Counter()) for name in first | second}


@dataclass(frozen=True)
class Schema:
    """How the rows of a table become rows of numbers, the same way in training and in prediction.

    Parameters
    ----------
    columns : tuple of Column
        Every column but the target, weights and groups, used or not.
    target : Target, optional
        The column of classes and the classes of the training rows.
    missing : {"indicator", "drop", "refuse"}, default="indicator"
        What is done about missing values.
    missing_codes : tuple of str, default=MISSING_CODES
        Texts that count as missing unless they are levels.
    width : int, optional
        The number of columns of a sparse (SVMlight) table, which has no named columns.
    first : int, default=0
        The number of the first of them: 1 where no row has a column 0.

    See Also
    --------
    read_training : Learns the schema of a table.
    TableEncoder : The same as a transformer of scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant.tables import read_training
    >>> frame = pd.DataFrame({"age": [31, 40, None, 22], "sex": ["f", "m", "m", "m"], "ill": ["y", "n", "n", "y"]})
    >>> schema = read_training(frame, "ill").schema
    >>> schema.names
    ('age', 'age=(missing)', 'sex=f')
    >>> X, report = schema.encode_batch(pd.DataFrame({"age": [50.0, None], "sex": ["f", "x"]}))
    >>> X
    array([[50.  ,  0.  ,  1.  ],
           [31.  ,  1.  ,  0.25]])
    >>> print(*report.unseen_notes())
    'sex': 1 row with a level not seen in training ('x'), scored as the average of its levels
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    missing: Policy = "indicator"
    missing_codes: tuple[str, ...] = MISSING_CODES
    width: int | None = None
    first: int = 0

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns that are coded."""
        return tuple(column for column in self.columns if column.dropped is None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the coded columns; those of a sparse table are its column numbers."""
        if self.width is not None:
            return tuple(map(str, range(self.first, self.first + self.width)))
        return tuple(name for column in self.used for name in column.outputs)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The table's column that each coded column comes from."""
        if self.width is not None:
            return self.names
        return tuple(column.name for column in self.used for _ in column.outputs)

    @cached_property
    def sparse(self) -> bool:
        """Whether rows are coded as a CSR matrix."""
        return self.width is not None or (len(self.names) > _WIDE and len(self.used) <= _THIN * len(self.names))

    @property
    def types(self) -> dict[str, str]:
        """What the used columns are, as `open_table` takes it: a table of new rows is then read like the first.

        Numbers that are not written plainly are read as text, and codes as the numbers that they are: ``1.0`` is 1.
        """
        return {column.name: column.read_as for column in self.used}

    def encode_batch(self, batch: Any, *, absent: str = "refuse", first_row: int = 0) -> tuple[Any, EncodingReport]:
        """The coded rows of a batch, and a report of what had to be decided on the way.

        Parameters
        ----------
        batch : pyarrow table or record batch, pandas or polars frame, or SparseBatch
            Rows under the names of the training columns, in any order.
        absent : {"refuse", "missing"}, default="refuse"
            What to do about columns the batch has not got: an error, or take all their values as missing.
        first_row : int, default=0
            The number of the first row, for messages.

        Returns
        -------
        X : float64 array in C order, or CSR matrix, of shape (n_rows, len(names))
            The coded columns of a level not seen in training are the shares of the levels there, so that it scores as
            they do on average. It is counted in the report. With ``missing="drop"`` incomplete rows are left out, see
            ``report.kept``.
        report : EncodingReport
        """
        if self.width is not None:
            return self._fit_width(batch)
        data, report = self._prepared(batch, absent)
        if self.sparse:
            import scipy.sparse as sp  # slow to load

            parts = [_as_csr(coded, len(self.names)) for _, coded in _coded_batches(self, data, report, first_row)]
            return sp.vstack(parts, "csr") if parts else sp.csr_matrix((0, len(self.names))), report
        out = empty_matrix(data.num_rows, len(self.names))
        with ThreadPoolExecutor(_WRITERS) as writers:  # copying needs no GIL
            written = [
                writers.submit(_write, coded, out[where])
                for where, coded in _coded_batches(self, data, report, first_row)
            ]
        for each in written:
            each.result()
        return out, report

    def code_into(self, batch: Any, out: Array, first_row: int = 0) -> tuple[int, EncodingReport]:
        """Code a batch in this thread into the first rows of an array that is there already; a sparse schema cannot.

        Parameters
        ----------
        batch : pyarrow table
            As in `encode_batch`.
        out : array of shape (n_rows or more, len(names))
            What is written to.
        first_row : int, default=0
            The number of the first row, for messages.

        Returns
        -------
        n_rows : int
            How many rows were coded: with ``missing="drop"`` incomplete ones are left out.
        report : EncodingReport
        """
        data, report = self._prepared(batch, "refuse")
        for where, coded in _coded_batches(self, data, report, first_row):
            _write(coded, out[where])
        return data.num_rows, report

    def _prepared(self, batch: Any, absent: str) -> tuple[Any, EncodingReport]:
        """The used columns of a batch, without rows that are left out."""
        data, report = _wanted_columns(self, arrow_table(batch), absent)
        if self.missing != "indicator":
            report.kept = complete_rows(self.used, data, self.missing_codes, self.missing == "refuse")
            data = data if report.kept.all() else data.filter(report.kept)
        return data, report

    @property
    def with_unseen_as_reference(self) -> Schema:
        """The schema with levels that training had not coded as the most frequent level of their column.

        Where scores are not linear in the coded columns, the score of average columns is not an average of the scores
        of the levels, and need not lie between them.
        """
        coded = (each.with_unseen_as_reference if each.kind == "category" else each for each in self.columns)
        return replace(self, columns=tuple(coded))

    def rows(self, X: Any) -> Rows:
        """Coded rows with the names of their columns, and which of these are marks of levels or redundant.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, len(names))
            What `encode_batch` gave.

        Returns
        -------
        Rows
        """
        return as_rows(X, self.names, *((None, None) if self.width is not None else self.marked()))

    def marked(self) -> tuple[Array, Array]:
        """Which coded columns are marks of levels, and which are redundant.

        Returns
        -------
        marks : array of bool of shape (len(names),)
        redundant : array of bool of shape (len(names),)
        """
        coded = [(column.marks, column.redundant) for column in self.used]
        marks, redundant = (np.array([mark for own in each for mark in own]) for each in zip(*coded, strict=True))
        return marks, redundant

    def class_codes(self, values: Any) -> Array:
        """The place of each row's class among the classes, -1 in rows that have none.

        Parameters
        ----------
        values : pyarrow array
            The column of classes.

        Returns
        -------
        array of int32 of shape (n_rows,)
        """
        assert self.target is not None
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        n_different, name = len(coded.dictionary), self.target.name
        different: Any = SparseBatch(None, np.asarray(coded.dictionary))
        if name is not None:
            different = without_views(pa.table({name: coded.dictionary}))
        labels, present = self.labels(different)
        places = {label: place for place, label in enumerate(self.target.classes)}
        table = np.full(n_different + 1, -1, dtype=np.int32)
        table[np.flatnonzero(present)] = [places[label] for label in labels.tolist()]
        index = coded.indices.cast(pa.int64()).fill_null(n_different)
        return np.asarray(table[index.to_numpy(zero_copy_only=False)])

    def labels(self, batch: Any) -> tuple[Any, Any]:
        """The class of each row of a batch, and which rows have one; classes that the training lacked are an error.

        Rows of classes that were left out of the training have none.

        Parameters
        ----------
        batch : pyarrow table or record batch, frame, or SparseBatch
            Rows with the column of classes.

        Returns
        -------
        labels : array of shape (n_labelled,)
        present : array of bool of shape (n_rows,)
        """
        if self.target is None:
            raise InputError("The table this schema was learned from had no target.")
        target = self.target
        if target.name is None:
            labels, present = whole_labels(batch.y), np.ones(len(batch.y), dtype=bool)
        else:
            values = arrow_table(batch)[target.name]
            labels, present = raw_labels(values, target.name, self.missing_codes, target.classes)
        labels = respelled(_as_classes(labels, target), dict(target.spellings))
        if target.left_out:
            wanted = ~np.isin(labels, exact_array(target.left_out))
            present = present.copy()
            present[present], labels = wanted, labels[wanted]
        found = encode_labels(labels, len(labels))[0].tolist() if labels.size else []
        unknown = set(found).difference(target.classes)
        if unknown:
            raise LabelError(
                f"Target {target.name!r} has the class {shown(min(unknown))}, which training had not. "
                f"Classes: {quoted(target.classes, 10)}."
            )
        return labels, present

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        return {"version": _VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """The schema of which `to_dict` gave these values.

        Parameters
        ----------
        values : dict
            Lists may stand for tuples, as JSON has them.

        Returns
        -------
        Schema
        """
        try:
            if values["version"] != _VERSION:
                raise InputError(
                    f"This schema has version {values['version']!r}; expected {_VERSION}. Upgrade discriminant, or "
                    "learn it anew."
                )
            columns = tuple(Column(**_tuples(column)) for column in values["columns"])
            target = values["target"] and Target(**_tuples(values["target"]))
            codes = tuple(values["missing_codes"])
            schema = cls(columns, target, values["missing"], codes, values["width"], values["first"])
        except InputError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"These values are not those of a schema: {error!r}. Use Schema.to_dict().") from error
        for record in (
            schema,
            *columns,
            *(column.notation for column in columns),
            *([] if target is None else [target]),
        ):
            check_types(record)
        for column in columns:
            column.check_shares()
        again = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
        if again:
            raise InputError(f"The schema has several columns of one name: {quoted(again)}. Learn it anew.")
        return schema

    def describe(self) -> str:
        """One line for each column, and one for the target.

        Returns
        -------
        str
        """
        lines = [column.describe() for column in self.columns]
        if self.width is not None:
            lines.append(f"{self.width:,} numbered columns")
        return "\n".join(lines + ([] if self.target is None else [self.target.describe()]))

    def _fit_width(self, batch: Any) -> tuple[Any, EncodingReport]:
        """Sparse rows brought to the width of the training rows."""
        assert self.width is not None
        if not isinstance(batch, SparseBatch):
            raise InputError("The model was trained on SVMlight rows: give rows of that format.")
        X, stop = batch.X, self.first + self.width
        extra = tuple(map(str, np.unique(X.indices[(X.indices >= stop) | (X.indices < self.first)]).tolist()))
        if X.shape[1] != stop:
            X = X.copy()
            X.resize(X.shape[0], stop)
        X = X[:, self.first :] if self.first else X
        if not np.isfinite(X.data).all():
            raise InputError("The SVMlight rows hold NaN or infinity. Every value must be a finite number.")
        return X, EncodingReport(n_rows=batch.num_rows, extra=extra)


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a column or target as JSON has them, with tuples for lists."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    fields["spellings"] = tuple((str(written), str(level)) for written, level in values["spellings"])
    return fields | ({"notation": Notation.from_dict(values["notation"])} if "notation" in values else {})


def arrow_table(batch: Any) -> Any:
    """A frame, table or record batch as a pyarrow table."""
    batch = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    if isinstance(batch, pa.Table) and len(set(batch.column_names)) == batch.num_columns:
        return without_views(batch.replace_schema_metadata(None))
    frame = as_frame(batch)
    if frame is None:
        raise InputError(f"Expected a frame or a pyarrow table of rows, got {type(batch).__name__}.")
    return as_arrow(frame)


def _wanted_columns(schema: Schema, data: Any, absent: str) -> tuple[Any, EncodingReport]:
    """The used columns in the order of the schema; what else there is or is not goes into the report."""
    check_choice("absent", absent, ("refuse", "missing"))
    names = [column.name for column in schema.used]
    there = set(data.column_names)
    lacking = [name for name in names if name not in there]
    if lacking and absent == "refuse":
        raise ColumnError(
            f"Columns of the training table are not there: {quoted(lacking)}."
            f"{suggestion(lacking[0], there - set(names))} Add them, or take them as missing with ",
            Setting("absent", "missing"),
            ".",
        )
    known = {column.name for column in schema.columns} | ({schema.target.name} if schema.target else set())
    report = EncodingReport(
        n_rows=data.num_rows,
        extra=tuple(name for name in data.column_names if name not in known),
        absent=tuple(lacking),
    )
    if not lacking:
        return data.select(names), report
    nothing = pa.nulls(data.num_rows)
    return pa.table({name: data[name] if name in there else nothing for name in names}), report


def complete_rows(columns: Iterable[Column], data: Any, codes: Sequence[str], refuse: bool) -> Array:
    """Which rows miss nothing in these columns; an error if there are others and they are refused."""
    kept = np.ones(data.num_rows, dtype=bool)
    for column in columns:
        values = data[column.name]
        if column.kind == "category":
            missing = level_index(column.name, values, column.places, codes)[0] == MISSING_PLACE
        else:
            missing = np.isnan(as_floats(column, values, codes))
        if refuse and missing.any():
            raise InputError(
                f"Column {column.name!r} has {np.count_nonzero(missing):,} missing values, the first in row "
                f"{int(np.argmax(missing))}, and missing values are refused. Fill them in, leave the column out, or "
                "choose ",
                Setting("missing", "indicator"),
                ".",
            )
        kept &= ~missing
    return kept


class _Coded(NamedTuple):
    """A coded column: its place and its numbers. Or the first place of a category, and which of its places is 1."""

    first: int
    values: Array
    width: int | None = None
    shares: tuple[float, ...] = ()  #: of its first places in the rows of an unseen level


def _coded_batches(
    schema: Schema, data: Any, report: EncodingReport, first_row: int
) -> Iterator[tuple[slice, list[_Coded]]]:
    data = data.unify_dictionaries()
    for start in range(0, data.num_rows, _BATCH_ROWS):
        # What was read in small pieces is put together.
        for batch in data.slice(start, _BATCH_ROWS).combine_chunks().to_batches():
            coded: list[_Coded] = []
            first = 0
            for column, values in zip(schema.used, batch.columns, strict=True):
                if column.kind == "category":
                    position = _coded_category(column, values, schema.missing_codes, report)
                    coded.append(_Coded(first, position, len(column.outputs), column.shares))
                else:
                    numbers, missing = _coded_number(column, values, schema.missing_codes, report, first_row + start)
                    coded.append(_Coded(first, numbers))
                    if column.missing_column:
                        coded.append(_Coded(first + 1, missing.astype(np.int64) - 1, 1))
                first += len(column.outputs)
            yield slice(start, start + batch.num_rows), coded
            start += batch.num_rows


def _write(coded: list[_Coded], out: Array) -> None:
    step = max(_BLOCK_VALUES // max(out.shape[1], 1), 64)
    for start in range(0, len(out), step):
        block = out[start : start + step]
        for first, values, width, shares in coded:
            part = values[start : start + step]
            if width is None:
                block[:, first] = part
            else:
                block[:, first : first + width] = 0
                rows = np.flatnonzero(part >= 0)
                block[rows, first + part[rows]] = 1
                block[part == UNSEEN_PLACE, first : first + len(shares)] = shares


def _as_csr(coded: list[_Coded], n_columns: int) -> Any:
    entries = []
    for first, values, width, shares in coded:
        rows = np.flatnonzero(values if width is None else values >= 0)
        if width is None:
            entries.append((rows, np.full(rows.size, first), values[rows]))
            continue
        entries.append((rows, first + values[rows], np.ones(rows.size)))
        unseen = np.flatnonzero(values == UNSEEN_PLACE)
        places = first + np.arange(len(shares))
        entries.append((np.repeat(unseen, len(shares)), np.tile(places, unseen.size), np.tile(shares, unseen.size)))
    rows, places, numbers = map(np.concatenate, zip(*entries, strict=True))
    from scipy.sparse import csr_matrix

    return csr_matrix((numbers, (rows, places)), shape=(len(coded[0].values), n_columns))


def _coded_number(
    column: Column, values: Any, codes: Sequence[str], report: EncodingReport, first_row: int
) -> tuple[Array, Array]:
    """The numbers with the mean in place of missing ones, and which are missing."""
    numbers, unread = read_numbers(column, values, codes)
    report.note_unread(column, unread)
    if np.isfinite(total(numbers)):
        return numbers, np.zeros(numbers.size, dtype=bool)
    missing = np.isnan(numbers)
    refuse_infinite(column.name, numbers, first_row)
    report.note_missing(column, int(np.count_nonzero(missing)))
    return np.where(missing, column.mean, numbers), missing  # type: ignore[arg-type]


def total(numbers: Array) -> Any:
    """The sum of the last axis: finite only where every number is, if it does not overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.sum(axis=-1)


def refuse_infinite(name: str, numbers: Array, first_row: int = 0) -> None:
    """Raise an `InputError` that names the first infinite value, if there is one."""
    infinite = np.isinf(numbers)
    if infinite.any():
        raise InputError(
            f"Column {name!r} holds infinity in row {first_row + int(np.argmax(infinite))}. Every value must be a "
            "finite number: correct it, or leave it empty."
        )


def as_floats(column: Column, values: Any, codes: Sequence[str]) -> Array:
    """An arrow column as numbers, NaN where missing; a view where it can be one."""
    return read_numbers(column, values, codes)[0]


def read_numbers(column: Column, values: Any, codes: Sequence[str]) -> tuple[Array, Mapping[str, int]]:
    """An arrow column as numbers, NaN where missing, and the texts that could not be read, with their rows."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan), {}
    if is_text(kind):
        return _numbers_of_text(column, values, codes)
    if column.kind == "date" and pa.types.is_temporal(kind):
        return column.notation.without_sentinels(days_of_arrow(values)), {}
    if column.notation.date == "digits" and is_numeric(kind):
        whole = values.cast(pa.float64(), safe=False).cast(pa.int64(), safe=False)
        return _numbers_of_text(column, whole.cast(pa.large_string()), codes)
    if not (is_numeric(kind) or pa.types.is_boolean(kind)) or column.kind == "date":
        raise _other_type(column, str(kind), [])
    numbers = plain_floats(values)
    if column.kind == "boolean":
        wrong = ~((numbers == 0) | (numbers == 1) | np.isnan(numbers))
        if wrong.any():
            raise _other_type(column, "numbers other than 0 and 1", np.unique(numbers[wrong])[:3].tolist())
    return column.notation.without_sentinels(numbers), {}


def plain_floats(values: Any) -> Array:
    """Arrow numbers or truth values as floats, NaN where missing; a view where it can be one."""
    floats = values if pa.types.is_float64(values.type) else values.cast(pa.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False))


def is_numeric(kind: Any) -> bool:
    """Whether an arrow type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _numbers_of_text(column: Column, values: Any, codes: Sequence[str]) -> tuple[Array, Mapping[str, int]]:
    """Numbers that came as text; the texts are looked at once each."""
    texts, index = distinct_texts(values)
    if column.kind == "boolean":
        table = np.array([BOOLEANS.get(text.strip().casefold(), np.nan) for text in texts])
    else:
        table = column.notation.read(pa.array(texts, pa.large_string()))
    missing = np.array([text.strip() in codes for text in texts], dtype=bool)
    table[missing] = np.nan
    counts = np.bincount(index, minlength=len(texts))[: len(texts)]
    unread = {texts[i]: int(counts[i]) for i in np.flatnonzero(np.isnan(table) & ~missing & (counts > 0))}
    return np.append(column.notation.without_sentinels(table), np.nan)[index], unread


def _other_type(column: Column, found: str, examples: list[Any]) -> ColumnError:
    wanted = {"boolean": "true or false (0 or 1)", "date": "dates or times"}.get(column.kind, "numbers")
    shown = f", for example {quoted(examples, 3)}" if examples else ""
    return ColumnError(
        f"Column {column.name!r} should hold {wanted}, but holds {found}{shown}. Correct the values, or leave those "
        "empty that are not known."
    )


def distinct_texts(values: Any) -> tuple[list[str], Array]:
    """The different texts of an arrow column, and which one each row has; missing ones have the number after the last.

    Numbers are written as text without a needless ``.0``.
    """
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(whole, pa.ChunkedArray):  # dictionaries of their own in each chunk stay apart
        whole = whole.unify_dictionaries().combine_chunks()
    coded = whole if pa.types.is_dictionary(whole.type) else _plain_text(whole).dictionary_encode()
    texts = _plain_text(coded.dictionary)
    index = coded.indices.cast(pa.int64()).fill_null(len(texts)).to_numpy(zero_copy_only=False)
    if texts.null_count:  # a dictionary may hold nothing among its values
        index = np.where(np.append(texts.is_null(), False)[index], len(texts), index)
    return texts.fill_null("").to_pylist(), index


def _plain_text(values: Any) -> Any:
    if pa.types.is_floating(values.type):
        values = compute.if_else(compute.is_nan(values), None, values)
    try:
        return values.cast(pa.large_string())
    except pa.ArrowException as error:
        raise ColumnError(f"A column of type {values.type} cannot be read as text. Leave it out.") from error


def level_index(
    name: str, values: Any, places: LevelPlaces, codes: Sequence[str], kind: ValueType | None = None
) -> tuple[Array, Callable[[], dict[str, int]]]:
    """The place of each row's level, and a count of the levels that have none.

    What is no level but a code for missing is missing, like null. A kind that is given is taken instead of the type.
    """
    texts, index = distinct_texts(values)
    known_kind = kind or _value_type(values.type)

    def place(text: str) -> int:
        found = places.place(text, known_kind)
        if (found is None or found == UNSEEN_PLACE) and text.strip() in codes:
            return MISSING_PLACE
        if found is None:
            raise _other_levels(name, known_kind, text, places)
        return found

    table = np.array([*map(place, texts), MISSING_PLACE], dtype=np.int64)

    def unseen() -> dict[str, int]:
        counts = np.bincount(index, minlength=len(table))
        return {texts[i]: int(counts[i]) for i in np.flatnonzero(table == UNSEEN_PLACE) if counts[i]}

    return table[index], unseen


def _value_type(kind: Any) -> ValueType:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(kind):
        return "truth"
    if is_numeric(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else "text"


def _other_levels(name: str, kind: ValueType, text: str, places: LevelPlaces) -> ColumnError:
    """Values whose type is not that of the levels, or that several levels mean."""
    held = {"number": "numbers", "truth": "true and false", "time": "dates or times"}[kind]
    return ColumnError(
        f"Column {name!r} holds {held}, for example {text}, and which of the levels of training that is cannot be "
        f"told: {quoted(places.texts, 5)}. Give the column as text, written as it was in training."
    )


def _coded_category(column: Column, values: Any, codes: Sequence[str], report: EncodingReport) -> Array:
    """Which place of a category is 1 in each row, `REFERENCE_PLACE` for none, `UNSEEN_PLACE` for its shares."""
    index, unseen = level_index(column.name, values, column.places, codes)
    missing = index == MISSING_PLACE
    report.note_missing(column, int(np.count_nonzero(missing)))
    for level, count in unseen().items():
        report.note_unseen(column, level, count)
    if not column.knows_levels:
        index = np.where(index == UNSEEN_PLACE, column.place_of_other, index)
    return np.where(missing, len(column.outputs) - 1 if column.missing_column else column.place_of_reference, index)
