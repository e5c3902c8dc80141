"""The type and coding of one column of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..results import several
from .levels import REFERENCE_PLACE, LevelPlaces
from .notation import PLAIN, Notation, iso_day
from .words import word_weights

MISSING = "(missing)"
OTHER = "(other)"
#: Integers without redundant characters that floats represent exactly.
_INTEGER = re.compile(r"0|-?[1-9]\d{0,14}")
Kind = Literal["number", "date", "category", "boolean", "text", "empty"]
Policy = Literal["indicator", "drop", "refuse"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
#: Which levels of a category have a coded column: all but the reference; all frequent ones; or every level, as sparse
#: columns if there are many.
Coding = Literal["reference", "full", "sparse"]
CODINGS: tuple[Coding, ...] = get_args(Coding)


@dataclass(frozen=True)
class Column:
    """One column of the training table and its coding.

    Attributes
    ----------
    name, kind : str
    dropped : str or None
        Why the column is not used.
    missing : int
        Missing values in the training rows.
    mean : float or None
        The mean of a number, or the share of true values; missing values are imputed with it.
    levels : tuple of str
        The levels of a category, or the words and word pairs of a text, sorted.
    reference : str or None
        The most frequent level; ``(other)`` if no level is frequent enough.
    pooled : int
        The number of rare levels that are pooled as ``(other)``.
    rare_levels : tuple of str
        Levels of the training rows that are coded as ``(other)``, or as the reference if ``pooled`` is 0. If there are
        very many, only the most frequent are stored.
    missing_column : bool
        Whether missing values have a coded column of their own, the missing-value indicator.
    spellings : tuple of pairs of str
        Other spellings of levels, each with its level.
    notation : Notation
        How texts are parsed as numbers or dates, and which numbers stand for missing values.
    shares : tuple of float
        The weighted share of each level with a coded column among the training rows with a level: the code of an unseen
        level.
    coding : {"reference", "full", "sparse"}
        Which levels have a coded column: all but the reference, all, or all of very many.
    word_weights : tuple of float
        The inverse document frequencies of the words of a text.
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
    word_weights: tuple[float, ...] = ()

    @property
    def has_numbers(self) -> bool:
        """Whether its values are numbers: neither levels nor words."""
        return self.kind not in ("category", "text")

    @property
    def is_sparse(self) -> bool:
        """Whether nearly all of its coded columns are 0 in every row: words, or the levels of a category with many."""
        return self.dropped is None and (self.kind == "text" or self.coding == "sparse")

    @property
    def distinct_levels(self) -> tuple[str, ...]:
        """The levels that are distinguished, with ``(other)``."""
        return self.levels + ((OTHER,) if self.pooled and OTHER not in self.levels else ())

    @cached_property
    def coded_levels(self) -> tuple[str, ...]:
        """The levels with a coded column, in order."""
        return tuple(level for level in self.distinct_levels if self.coding != "reference" or level != self.reference)

    @property
    def knows_levels(self) -> bool:
        """Whether all levels of the training rows are stored; of very many the rarest are not."""
        return self.pooled <= len(self.rare_levels)

    def check_shares(self) -> None:
        """Raise an `InputError` unless there is one share per coded level."""
        is_valid = all(isinstance(share, int | float) and 0 <= share <= 1 for share in self.shares)
        if not is_valid or len(self.shares) != len(self.coded_levels) * (self.kind != "text"):
            raise InputError(
                f"The level proportions of column {self.name!r} are invalid. Expected a number from 0 to 1 for each "
                "coded level: create the schema again."
            )
        are_weights = all(0 <= weight < np.inf for weight in self.word_weights)
        if not are_weights or len(self.word_weights) != len(self.levels) * (self.kind == "text"):
            raise InputError(
                f"The weights of the words of column {self.name!r} are invalid. Expected a number of at least 0 for "
                "each word: create the schema again."
            )

    @property
    def with_unseen_as_reference(self) -> Column:
        """The column with unseen levels coded as the most frequent level, not as the average."""
        if self.is_sparse:
            return self
        return replace(self, shares=tuple(float(level == self.reference) for level in self.coded_levels))

    @property
    def unseen_as(self) -> str:
        """How an unseen level is coded, in words."""
        if self.is_sparse:
            return "the mean of the levels"
        is_level = self.shares == self.with_unseen_as_reference.shares
        level = "the reference level" if self.reference is None else f"the most frequent level, {self.reference!r}"
        return level if is_level else "the average of the levels"

    @cached_property
    def place_of_reference(self) -> int:
        """The place of the reference among the coded levels, `REFERENCE_PLACE` if it has none."""
        return self.coded_levels.index(self.reference) if self.reference in self.coded_levels else REFERENCE_PLACE

    @property
    def place_of_other(self) -> int:
        """The place of levels without a coded column, `REFERENCE_PLACE` for none."""
        return self.coded_levels.index(OTHER) if OTHER in self.coded_levels else self.place_of_reference

    @cached_property
    def places(self) -> LevelPlaces:
        """The place of each level of the training rows among the coded levels."""
        places = dict.fromkeys(self.rare_levels, self.place_of_other)
        places |= {level: place for place, level in enumerate(self.coded_levels)}
        if self.reference is not None:
            places[self.reference] = self.place_of_reference
        return LevelPlaces(places | {text: places[level] for text, level in self.spellings if level in places})

    @property
    def read_as(self) -> str:
        """The type as which a reader of text should read the column."""
        if self.kind == "number" and self.notation.as_text:
            return "category"
        levels = (*self.levels, *self.rare_levels)
        is_coded = self.kind == "category" and levels and all(map(_INTEGER.fullmatch, levels))
        return "number" if is_coded else self.kind

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the coded columns."""
        if self.dropped is not None:
            return ()
        own: tuple[str, ...] = (self.name,)
        if not self.has_numbers:
            sign = "=" if self.kind == "category" else ": "
            own = tuple(f"{self.name}{sign}{level}" for level in self.coded_levels)
        return own + ((f"{self.name}={MISSING}",) if self.missing_column else ())

    def code(self, value: float | str | None) -> Array:
        """The coded columns of a number, of a level or of a text; None is a missing value.

        >>> Column("colour", "category", levels=("blue", "red"), reference="red").code("blue")
        array([1.])
        >>> Column("size", "number", mean=4.5, missing_column=True).code(None)
        array([4.5, 1. ])
        """
        is_missing = value is None
        if self.kind == "category":
            own = [float(level == value) for level in self.coded_levels]
        elif self.kind == "text":
            own = word_weights(["" if value is None else str(value)], self).toarray()[0].tolist()
        else:
            own = [float((self.mean or 0.0) if value is None else value)]
        return np.array(own + [float(is_missing)] * self.missing_column)

    def value(self, coded: Array) -> float | str | None:
        """The number or level of coded columns; a pooled level gives the reference, a missing value None.

        Of a text, its words, those with the largest weights first.

        >>> Column("colour", "category", levels=("blue", "red"), reference="red").value([0.0])
        'red'
        >>> Column("size", "number", mean=4.5, missing_column=True).value([4.5, 1.0]) is None
        True
        """
        if self.missing_column and coded[-1] == 1:
            return None
        if self.kind == "text":
            words = [(-weight, word) for word, weight in zip(self.levels, coded, strict=False) if weight]
            return " ".join(word for _, word in sorted(words) if " " not in word)
        if self.kind != "category":
            return int(coded[0]) if self.kind == "boolean" else float(coded[0])
        return next((level for level, code in zip(self.coded_levels, coded, strict=False) if code == 1), self.reference)

    @property
    def is_indicator(self) -> tuple[bool, ...]:
        """For each coded column, whether it is an indicator of a level or of missing values."""
        return tuple(not self.has_numbers or place > 0 for place in range(len(self.outputs)))

    @property
    def redundant(self) -> tuple[bool, ...]:
        """For each coded column, whether it follows from the others, being 1 if all other levels are 0."""
        return tuple(place == self.place_of_reference for place in range(len(self.outputs)))

    def describe(self) -> str:
        """One line with the name and the treatment."""
        return f"{self.name}: {self.treatment}"

    @property
    def treatment(self) -> str:
        """The type and coding in words."""
        if self.dropped is not None:
            return f"dropped ({self.dropped})"
        date = "time of day, in hours" if self.notation.date == "time" else "date, in days since 1970-01-01"
        kind = {"boolean": "Boolean (0 or 1)", "date": date}.get(self.kind, "number")
        if self.kind == "text":
            kind = f"text with {several(len(self.levels), 'word or word pair', 'words and word pairs')}"
        elif self.kind == "category" and not self.levels:
            kind = f"category with {self.pooled:,} rare levels, pooled as {OTHER}"
        elif self.kind == "category":
            levels = several(len(self.levels), "level")
            rare = f" and {several(self.pooled, 'rare level')}, pooled as {OTHER}" if self.pooled else ""
            coded = "one column per level"
            if self.coding == "reference":
                coded = f"reference level {self.reference!r}"
            kind = f"category with {levels}{rare}, {coded}"
        return "; ".join(filter(None, (kind, self.missing_treatment)))

    def shown(self, value: float | None) -> str:
        """A number of this column in text: of dates the day."""
        if value is None:
            return "-"
        return iso_day(value) if self.kind == "date" and self.notation.date != "time" else f"{value:.6g}"

    @property
    def missing_treatment(self) -> str:
        """The number of missing values and how they are coded; empty if there are none."""
        if not self.missing:
            return ""
        return f"{several(self.missing, 'missing value')}, {self.imputation}"

    @property
    def imputation(self) -> str:
        """How missing values are coded, in words."""
        if self.kind == "category":
            coded = "the mean of the levels" if self.is_sparse else repr(self.reference)
            return "a level of their own" if self.missing_column else f"coded as {coded}"
        imputed = "coded without words" if self.kind == "text" else f"imputed with the mean {self.shown(self.mean)}"
        return imputed + " and marked by an indicator" * self.missing_column
