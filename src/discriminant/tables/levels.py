"""Which level of a category a value is, whatever type it came in.

Readers and databases take texts for what they look like: ``Yes`` becomes true, ``01`` the number 1. How a value was
written is then lost, what it means is left: it is the level that means the same. Where levels in different places do,
or where no level means anything of that type, it cannot be told, and nobody may guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

_TRUE = ("true", "yes", "y", "t", "1", "ja", "j", "oui", "si", "sí", "sim", "vrai", "wahr", "on")
_FALSE = ("false", "no", "n", "f", "0", "nein", "non", "não", "faux", "falsch", "off")
#: What is read as true or false, in small letters.
BOOLEANS = dict.fromkeys(_TRUE, 1.0) | dict.fromkeys(_FALSE, 0.0)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,9})?")
_PROGRAMMED = re.compile(r"[-+]?(0[xX][0-9a-fA-F]{1,32}|[1-9][0-9]{0,30}(_[0-9]{1,30}){1,10})")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d.*|\d\d:\d\d.*")

#: In place of a level's position: of the reference level, of missing values, of levels that training had not.
REFERENCE_PLACE, MISSING_PLACE, UNSEEN_PLACE = -1, -2, -3

#: What a value is by its type.
ValueType = Literal["text", "number", "truth", "time"]


@dataclass(frozen=True)
class LevelPlaces:
    """The places of a category's levels, by what they are called and by what they mean.

    Attributes
    ----------
    texts : dict
        The place of each level.
    numbers, truths : dict
        The place of the levels that mean a number, or a truth value (1 or 0); None where they have different places.
    binary : bool
        Whether all levels are words for true and false, none of them a number: 1, 0 and other such words mean these.
    times : dict
        The place of each level that is a date or time as ISO 8601 writes it. A date that is none of them is a new one
        if it is as long as one of them; ``2020-01-05 00:00:00`` may be the level ``2020-01-05``.
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

    def _by_meaning(self, meaning: Callable[[str], Any]) -> dict[Any, int | None]:
        found: dict[Any, int | None] = {}
        for text, place in self.texts.items():
            meant = meaning(text)
            if meant is not None:
                found[meant] = place if found.get(meant, place) == place else None
        return found

    def place(self, text: str, kind: ValueType) -> int | None:
        """The place of a value, of which this is the text, `UNSEEN_PLACE` of a new one, None if it cannot be told."""
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
    """1 or 0 where a text is a word for true or false."""
    return BOOLEANS.get(text.strip().casefold())


def number_meant(text: str) -> Decimal | None:
    """The number that a text is, exactly."""
    return Decimal(text) if NUMBER.fullmatch(text.strip()) else None


def _number_of_level(text: str) -> Decimal | None:
    """The number that somebody may take a level for, who also reads 0x1F and 1_000."""
    if _PROGRAMMED.fullmatch(text.strip()):
        return Decimal(int(text, 0))
    return number_meant(text)
