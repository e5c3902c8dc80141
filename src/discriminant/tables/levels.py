"""Levels of a category: the level that a value stands for, and spellings of one level."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal

from ..results import listed

_TRUE = ("true", "yes", "y", "t", "1", "ja", "j", "oui", "si", "sí", "sim", "vrai", "wahr", "on")
_FALSE = ("false", "no", "n", "f", "0", "nein", "non", "não", "faux", "falsch", "off")
#: Words read as true or false, in lower case.
BOOLEANS = dict.fromkeys(_TRUE, 1.0) | dict.fromkeys(_FALSE, 0.0)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,9})?")
_LITERAL = re.compile(r"[-+]?(0[xX][0-9a-fA-F]{1,32}|[1-9][0-9]{0,30}(_[0-9]{1,30}){1,10})")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d.*|\d\d:\d\d.*")

#: Places of the reference level, of missing values and of unseen levels; other levels have places from 0.
REFERENCE_PLACE: Final = -1
MISSING_PLACE: Final = -2
UNSEEN_PLACE: Final = -3

#: The type of a value that is matched to a level.
ValueType = Literal["text", "number", "truth", "time"]


@dataclass(frozen=True)
class LevelPlaces:
    """The places of the levels of a category, by text and by meaning.

    Attributes
    ----------
    texts : dict
        The place of each level.
    numbers, truths : dict
        The place of the levels that mean a number, or a truth value (1 or 0); None if they have different places.
    binary : bool
        Whether all levels are words for true and false and none is a number: 1, 0 and other such words mean these.
    times : dict
        The place of each level that is a date or time in ISO 8601. Another date of the same length as one of them is an
        unseen level; other lengths are ambiguous: ``2020-01-05 00:00:00`` may be the level ``2020-01-05``.
    """

    texts: Mapping[str, int]

    @cached_property
    def numbers(self) -> dict[Any, int | None]:
        return self._by_meaning(_number_of_level)

    @cached_property
    def truths(self) -> dict[Any, int | None]:
        return self._by_meaning(truth_meant)

    @cached_property
    def binary(self) -> bool:
        return not self.numbers and None not in map(truth_meant, self.texts)

    @cached_property
    def times(self) -> dict[str, int]:
        return {text: place for text, place in self.texts.items() if _ISO_TIME.fullmatch(text)}

    def _by_meaning(self, meaning: Callable[[str], float | Decimal | None]) -> dict[Any, int | None]:
        found: dict[Any, int | None] = {}
        for text, place in self.texts.items():
            meant = meaning(text)
            if meant is not None:
                found[meant] = place if found.get(meant, place) == place else None
        return found

    def place(self, text: str, kind: ValueType) -> int | None:
        """The place of a value given as text, `UNSEEN_PLACE` for an unseen level, None if it is ambiguous."""
        if kind == "text":
            found = self.texts.get(text, self.texts.get(text.strip()))
            if found is None:
                found = self.truths.get(truth_meant(text)) if self.binary else self.numbers.get(number_meant(text))
            return UNSEEN_PLACE if found is None else found
        if kind == "time":
            return self.times.get(text, UNSEEN_PLACE if len(text) in map(len, self.times) else None)
        if kind == "truth":
            return self.truths.get(truth_meant(text), UNSEEN_PLACE) if self.truths else None
        if self.binary:
            return self.truths.get(number_meant(text))
        return self.numbers.get(number_meant(text), UNSEEN_PLACE) if self.numbers else None


def truth_meant(text: str) -> float | None:
    """1 or 0 if the text is a word for true or false."""
    return BOOLEANS.get(text.strip().casefold())


def number_meant(text: str) -> Decimal | None:
    """The exact number that the text represents, if it is one."""
    return Decimal(text) if NUMBER.fullmatch(text.strip()) else None


def _number_of_level(text: str) -> Decimal | None:
    """The number that a reader may take a level for; some readers also parse 0x1F and 1_000."""
    return Decimal(int(text, 0)) if _LITERAL.fullmatch(text.strip()) else number_meant(text)


#: A spelling is a slip if it has at most this share of the rows of the most frequent one.
MAX_SLIP_SHARE: Final = 0.1


def same_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """The levels that are another spelling of a level, each with that level: case and spaces differ.

    Letters that change case within a word may have a meaning (``hId`` and ``hid``, genotypes ``AA``, ``Aa`` and
    ``aa``): such spellings are one level only if one of them is rare. If all levels are words for true and false, the
    words with the same meaning are one level.
    """
    keys = {level: " ".join(level.split()).casefold() for level in counts}
    is_boolean = set(keys.values()) <= set(BOOLEANS) and len(set(keys.values())) > 2
    groups: dict[str | float, list[str]] = {}
    for level, key in keys.items():
        groups.setdefault(BOOLEANS[key] if is_boolean else key, []).append(level)
    found = {}
    for levels in groups.values():
        usual = max(levels, key=lambda level: (counts[level], level == level.strip(), len(level), level))
        for level in levels:
            if level != usual and (keys[level] in BOOLEANS or _is_same(level, usual, counts)):
                found[level] = usual
    return found


def _is_same(level: str, usual: str, counts: Mapping[str, int]) -> bool:
    bare, other = " ".join(level.split()), " ".join(usual.split())
    if bare == other:
        return True
    has_plain_case = all(
        text in (text.lower(), text.upper(), text.capitalize(), text.title()) for text in (bare, other)
    )
    is_genotype = len(bare) == 2 and any(text == text.capitalize() != text.upper() for text in (bare, other))
    is_slip = counts[level] <= MAX_SLIP_SHARE * counts[usual]
    return (has_plain_case and len(bare) > 2) or (is_slip and not is_genotype)


def with_other_cases(spellings: Mapping[str, str], counts: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """The spellings of a column with further ones: if case is ignored in training, it is ignored in prediction."""
    if not spellings:
        return ()
    forms = (str.lower, str.upper, str.capitalize, str.title)
    cases = {form(text): spellings.get(text, text) for text in counts for form in forms}
    return tuple(({case: level for case, level in cases.items() if case not in counts} | dict(spellings)).items())


def spelling_words(spellings: Mapping[str, str]) -> str:
    """The spellings in words."""
    return listed([f"{spelling!r} into {level!r}" for spelling, level in spellings.items()], 4)
