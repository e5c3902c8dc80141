"""What the values of a column are: numbers and dates written as text, sentinels, codes, spellings of one level.

Each rule errs on the side of what is written: it acts where a reader of the whole column would not hesitate, and what
it does is told with the option that undoes it. Rules see the different values of a column and how many rows have each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .notation import Notation, date_notation, is_currency, number_notation

Array = np.ndarray[Any, Any]

#: Texts are looked at on so many of them first.
_LOOKED_AT = 1000
#: Words among numbers are strays where they are at most this share of the different values and of the rows,
_STRAY = 0.2
#: and there are at least so many different numbers.
_FEWEST_NUMBERS = 5
#: Whole numbers that are at most so many may be codes.
MOST_CODES = 10
_MOST_NOMINAL = 20
_DIGIT = re.compile("[0-9]")
_PADDED = re.compile(r"0\d+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOMINAL = frozenset(
    _WORD.findall(
        "area blood branch brand category center centre channel clinic cluster code colour color country county "
        "department dept district ethnic ethnicity gender hospital id industry language make marital nationality "
        "occupation party product profession race region religion sector sex shop site species state status store "
        "supplier team treatment type vendor ward zone"
    )
)
#: Beside one of these words a number is counted or measured.
_MEASURED = frozenset(
    _WORD.findall("age amount count days grade level n num number rate rank score size stage total year years")
)
#: Missing values of programs and formats: 16 and 32 bit integers, netCDF, rasters of float32, the largest numbers.
_FILL_VALUES = frozenset(
    sign * value
    for sign in (-1, 1)
    for value in (
        32768.0,
        2147483647.0,
        2147483648.0,
        1e20,
        1e30,
        9.969209968386869e36,
        3.4028234663852886e38,
        sys.float_info.max,
    )
)


_FILL_DAYS = tuple(
    float(np.datetime64(day).astype(int))
    for day in ("0001-01-01", "1753-01-01", "1899-12-30", "1900-01-01", "1970-01-01", "2999-12-31", "9999-12-31")
)


@dataclass(frozen=True)
class Reading:
    """How the texts of a column read: as numbers or dates, and which of them cannot be read, with their rows."""

    kind: str
    notation: Notation
    unread: dict[str, int]
    example: tuple[str, float]  #: a text and the number that it is
    unsure: bool = False  #: whether day and month, or thousands and decimals, cannot be told apart


def read_texts(texts: Sequence[str], rows: Sequence[int], decimal: str, written: bool) -> Reading | None:
    """How the different texts of a column read as numbers or dates, or None where they are words or codes.

    ``rows`` says how many rows have each; ``written`` whether the text comes from a file, where everything is text.
    """
    first = texts[:_LOOKED_AT]
    if 2 * sum(_DIGIT.search(text) is not None for text in first) < len(first) or not texts:
        return None
    if len(texts) > len(first) and not _promising(pa.array(first, pa.large_string()), decimal):
        return None
    reading = best_reading(texts, rows, decimal)
    if reading is None or not _strays_only(texts, rows, reading):
        return None
    plain = reading.kind == "number" and not reading.notation.as_text
    padded = sum(_PADDED.fullmatch(text.strip()) is not None for text in texts)
    if reading.kind == "number" and not reading.notation.affix and padded > 0.05 * len(texts):
        return None
    whole = plain and not reading.unread and all(text.strip().lstrip("+-").isdigit() for text in texts)
    return None if whole and not written and len(texts) <= MOST_CODES else reading


def _promising(values: Any, decimal: str) -> bool:
    """Whether half of the first texts read as numbers or as dates."""
    found = [reading[1] for reading in (number_notation(values, decimal), date_notation(values)) if reading]
    return any(np.count_nonzero(~np.isnan(numbers)) >= 0.5 * len(values) for numbers in found)


def best_reading(
    texts: Sequence[str], rows: Sequence[int], decimal: str, kinds: Iterable[str] = ("number", "date")
) -> Reading | None:
    """The reading of most of the texts; numbers rather than dates where they read as many."""
    values = pa.array(texts, pa.large_string())
    number = number_notation(values, decimal) if "number" in kinds else None
    date = date_notation(values) if "date" in kinds else None
    counts = [0 if each is None else np.count_nonzero(~np.isnan(each[1])) for each in (number, date)]
    if max(counts) == 0:
        return None
    kind = "date" if counts[1] > counts[0] else "number"
    notation, numbers, unsure = date if kind == "date" else number  # type: ignore[misc]
    return reading_of(kind, notation, numbers, texts, rows, unsure)


def reading_of(
    kind: str, notation: Notation, numbers: Array, texts: Sequence[str], rows: Sequence[int], unsure: bool = False
) -> Reading | None:
    """What a notation made of the texts; None if nothing."""
    missed = np.isnan(numbers)
    if missed.all():
        return None
    unread = {text: count for text, count, unreadable in zip(texts, rows, missed, strict=True) if unreadable}
    readable = np.flatnonzero(~missed).tolist()
    first = next((i for i in readable if not texts[i].strip().replace(".", "", 1).isdigit()), readable[0])
    return Reading(kind, notation, unread, (texts[first], float(numbers[first])), unsure)


def _strays_only(texts: Sequence[str], rows: Sequence[int], reading: Reading) -> bool:
    """Whether what cannot be read is little enough to be a slip, or is one word that says there is no value."""
    words, numbers = len(reading.unread), len(texts) - len(reading.unread)
    affix = reading.notation.affix
    known = not affix or affix in "%‰°" or is_currency(affix)
    if not words:
        return known or numbers >= _FEWEST_NUMBERS
    share = sum(reading.unread.values()) / max(sum(rows), 1)
    return numbers >= _FEWEST_NUMBERS and words <= _STRAY * len(texts) and (share <= _STRAY or words == 1)


def date_sentinels(values: Array) -> tuple[float, ...]:
    """Days that stand for missing dates, such as 9999-12-31: further from the others than these from each other."""
    others = values[~np.isnan(values) & ~np.isin(values, _FILL_DAYS)]
    if not others.size:
        return ()
    low, high = others.min(), others.max()
    there = set(_FILL_DAYS).intersection(np.unique(values).tolist())
    return tuple(sorted(day for day in there if max(low - day, day - high) > max(high - low, 365)))


def sentinels(values: Array, lowest: float, highest: float) -> tuple[float, ...]:
    """Numbers that stand for missing values: -999, 9999, 99.9 and the like, apart from all other values.

    A sentinel is further from the others than these are from each other, or negative (-99 or less) among numbers none
    of which is. 98, 97, 88 and 77 are sentinels beside 99.
    """
    if not (_is_sentinel(lowest) or _is_sentinel(highest)):
        return ()
    different = np.unique(values[np.isfinite(values)])
    ends = {float(value) for value in (*different[:8], *different[-8:])}
    main = {value for value in ends if _is_sentinel(value)}
    beside = {value: _beside(value) & ends for value in main}
    others = different[~np.isin(different, [*main, *set().union(*beside.values())])]
    if others.size < 2:
        return ()
    low, high = float(others[0]), float(others[-1])

    def apart(value: float) -> bool:
        with np.errstate(over="ignore"):
            far = max(low - value, value - high) > np.float64(high) - low
        return bool(far or (value <= -99 and low >= 0))

    found = {value for value in main if apart(value)}
    found |= {value for each in found for value in beside[each] if apart(value)}
    return tuple(sorted(found))


def _is_sentinel(value: float) -> bool:
    if value in _FILL_VALUES:
        return True
    digits = np.format_float_positional(abs(value), trim="-").replace(".", "")
    return set(digits) == {"9"} and (abs(value) >= 99 or value == -9)


def _beside(value: float) -> set[float]:
    """The sentinels that are used beside one of nines: 98, 97, 88 and 77 beside 99."""
    if value in _FILL_VALUES or value != int(value):
        return set()
    sign, digits = (-1.0 if value < 0 else 1.0), len(str(abs(int(value))))
    each = (abs(value) - 1, abs(value) - 2, float("8" * digits), float("7" * digits))
    return {sign * other for other in each}


def words_of(name: str) -> list[str]:
    """The words of a column's name, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def is_nominal(name: str, n_values: int) -> bool:
    """Whether a few whole numbers are the codes of something that has no order, by the column's name."""
    words = set(words_of(name))
    return 2 < n_values <= _MOST_NOMINAL and bool(words & _NOMINAL) and not words & _MEASURED


def spelling_key(text: str) -> str:
    """What spellings of one level have in common: case and spaces do not count."""
    return " ".join(text.split()).casefold()


#: A spelling is a slip where it has at most this share of the rows of the usual one.
_SLIP = 0.1


def same_spellings(counts: Mapping[str, int], known: Mapping[str, Any]) -> dict[str, str]:
    """Which levels are another spelling of a level, and of which: case and spaces differ.

    Letters that change their case within a word may mean something (``hId`` and ``hid``, genotypes ``AA``, ``Aa`` and
    ``aa``): such spellings are one level only where one of them is rare. ``known`` are words that mean one thing in any
    case; where all levels are among them, those that mean the same are one level.
    """
    keys = {level: spelling_key(level) for level in counts}
    alike = set(keys.values()) <= set(known) and len(set(keys.values())) > 2
    groups: dict[str, list[str]] = {}
    for level, key in keys.items():
        groups.setdefault(known[key] if alike else key, []).append(level)
    found = {}
    for levels in groups.values():
        usual = max(levels, key=lambda level: (counts[level], level == level.strip(), len(level), level))
        for level in levels:
            if level != usual and (keys[level] in known or _is_same(level, usual, counts)):
                found[level] = usual
    return found


def with_other_cases(spellings: Mapping[str, str], counts: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """The spellings of a column, and those that may come: where case did not count in training, it never does."""
    if not spellings:
        return ()
    forms = (str.lower, str.upper, str.capitalize, str.title)
    cases = {form(text): spellings.get(text, text) for text in counts for form in forms}
    return tuple(({case: level for case, level in cases.items() if case not in counts} | dict(spellings)).items())


def _is_same(level: str, usual: str, counts: Mapping[str, int]) -> bool:
    bare, other = " ".join(level.split()), " ".join(usual.split())
    if bare == other:
        return True
    plain = all(text in (text.lower(), text.upper(), text.capitalize(), text.title()) for text in (bare, other))
    genotype = len(bare) == 2 and any(text == text.capitalize() != text.upper() for text in (bare, other))
    slip = counts[level] <= _SLIP * counts[usual]
    return (plain and len(bare) > 2) or (slip and not genotype)


#: Misspelled words are looked for among so many levels.
_MOST_LEVELS = 200


def misspellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Rare words that are one slip (a letter more, less, another, or two exchanged) from a frequent one."""
    words = {level: spelling_key(level) for level in counts if len(level) > 2 and not any(map(str.isdigit, level))}
    if len(words) > _MOST_LEVELS:
        return {}
    found = {}
    for rare, key in words.items():
        near = [level for level, other in words.items() if counts[level] >= 10 * counts[rare] and _one_slip(key, other)]
        if near:
            found[rare] = max(near, key=lambda level: counts[level])
    return found


def _one_slip(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1 or short == long:
        return False
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest, other = short[start:], long[start:]
    if len(short) < len(long):
        return rest == other[1:]
    return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
