"""Recognition of text columns: numbers, dates, codes and postcodes, in the notation that parses most texts.

A rule applies only if the whole column leaves no reasonable doubt, and its finding names the option that undoes it.
Rules use the distinct texts of a column and the number of rows of each.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..arrays import Array
from .layouts import Values
from .notation import ALIKE, SPACES, DateOrder, Notation

#: Texts from which the affix is inferred, and which have to look like numbers or dates before all are parsed.
N_FIRST_TEXTS: Final = 1000
#: Words among numbers are ignored if they are at most this share of the distinct values and of the rows,
MAX_WORD_SHARE: Final = 0.2
#: and if there are at least this many distinct numbers.
MIN_DISTINCT_NUMBERS: Final = 5
#: Share of texts with leading zeros from which a column holds codes, not numbers.
MAX_PADDED_SHARE: Final = 0.05
#: Few distinct integers may be codes; under a nominal name more may be.
MAX_FEW_INTEGERS: Final = 10
MAX_NOMINAL_CODES: Final = 20

#: Texts with more spaces on average are free text, not identifiers.
MAX_IDENTIFIER_SPACES: Final = 4

_CURRENCIES = frozenset(
    re.findall(
        r"\S+",
        "USD EUR GBP JPY CNY RMB CHF CAD AUD NZD SEK NOK DKK ISK CZK HUF RON BGN RUB UAH TRY ILS AED SAR EGP "
        "PLN ZAR NGN KES INR PKR BDT LKR THB VND IDR MYR SGD PHP HKD TWD KRW MXN BRL ARS CLP COP PEN US$ A$ C$ R$ HK$ "
        "FR. KR ZŁ KČ FT RS",
    )
)
_POINTED, _UNPOINTED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+"), re.compile(r"[-+]?(0|[1-9]\d{0,2})")
_AFFIXED = re.compile(
    r"\(?\s*[-+]?\s*(?P<before>[^\d\s.,()+-]{0,4}\.?)\s*[-+]?[.,]?\d[\d.,' ]*?(?:[eE][-+]?\d+)?\s*"
    r"(?P<after>[^\d\s()+-][^\d()+]{0,11})?-?\s*\)?"
)
_DIGIT = re.compile("[0-9]")
#: An integer with leading zeros.
PADDED_INTEGER = re.compile(r"0\d+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOMINAL = frozenset(
    _WORD.findall(
        "area blood branch brand category center centre channel clinic cluster code colour color country county "
        "department dept district ethnic ethnicity gender hospital id industry language make marital nationality "
        "occupation party product profession race region religion sector sex shop site species state status store "
        "supplier team treatment type vendor ward zone"
    )
)
#: A number under a name with one of these words is a count or a measurement.
_MEASURED = frozenset(
    _WORD.findall("age amount count days grade level n num number rank rate score size stage total year years")
)
_POSTCODE = re.compile(
    r"(?:^|[_\W])(?:zip|plz|(?:zip|post|postal)[ ._-]?codes?)(?:$|[_\W\d])|Zip$|[zZ]ipCode|[pP]ost(?:al)?Code",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Parsed:
    """The texts of a column parsed as numbers or dates, and the rows of each text that could not be parsed."""

    kind: str
    notation: Notation
    numbers: Array
    unparsed: dict[str, int]
    example: tuple[str, float]  #: a text and its number
    is_ambiguous: bool = False  #: whether day and month, or thousands and decimals, cannot be distinguished


def is_free_text(texts: Sequence[str]) -> bool:
    """Whether nearly distinct texts are sentences rather than identifiers."""
    return bool(np.mean([text.count(" ") for text in texts]) > MAX_IDENTIFIER_SPACES)


def recognise_text(texts: Sequence[str], rows: Sequence[int], decimal: str, is_file: bool) -> Parsed | None:
    """The distinct texts of a column parsed as numbers or dates, or None for words and codes.

    ``rows`` are the numbers of rows of each; ``is_file`` means that the text comes from a file without types.
    """
    first = texts[:N_FIRST_TEXTS]
    if 2 * sum(_DIGIT.search(text) is not None for text in first) < len(first) or not texts:
        return None
    if len(texts) > len(first):
        trial = parse_text(first, [1] * len(first), decimal)
        if trial is None or 2 * len(trial.unparsed) > len(first):
            return None
    parsed = parse_text(texts, rows, decimal)
    if parsed is None or not _is_plausible(texts, rows, parsed):
        return None
    is_number, notation = parsed.kind == "number", parsed.notation
    n_padded = sum(PADDED_INTEGER.fullmatch(text.strip()) is not None for text in texts)
    if is_number and not notation.affix and n_padded > MAX_PADDED_SHARE * len(texts):
        return None
    is_whole = is_number and not notation.as_text and all(text.strip().lstrip("+-").isdigit() for text in texts)
    return None if is_whole and not is_file and len(texts) <= MAX_FEW_INTEGERS else parsed


def parse_text(
    texts: Sequence[str], rows: Sequence[int], decimal: str, kinds: Sequence[str] = ("number", "date")
) -> Parsed | None:
    """The texts parsed in the notation that parses most of them; None if no notation parses any."""
    values = pa.array(texts, pa.large_string())
    candidates = []
    if "number" in kinds:
        candidates.append(("number", *_number_notation(values, decimal)))
    if "date" in kinds:
        candidates.append(("date", *_date_notation(values)))
    kind, notation, numbers, is_ambiguous = max(candidates, key=lambda each: np.count_nonzero(~np.isnan(each[2])))
    return parsed_as(kind, notation, numbers, texts, rows, is_ambiguous)


def parsed_as(
    kind: str, notation: Notation, numbers: Array, texts: Sequence[str], rows: Sequence[int], is_ambiguous: bool = False
) -> Parsed | None:
    """The texts with the numbers that a notation gives; None if it parses none."""
    is_unparsed = np.isnan(numbers)
    if is_unparsed.all():
        return None
    unparsed = {text: count for text, count, missed in zip(texts, rows, is_unparsed, strict=True) if missed}
    places = np.flatnonzero(~is_unparsed).tolist()
    # An example that shows the notation: not digits alone.
    first = next((i for i in places if not texts[i].strip().replace(".", "", 1).isdigit()), places[0])
    return Parsed(kind, notation, numbers, unparsed, (texts[first], float(numbers[first])), is_ambiguous)


def _is_plausible(texts: Sequence[str], rows: Sequence[int], parsed: Parsed) -> bool:
    """Whether few enough texts are unparsed to be errors, or one word stands for missing values."""
    n_words, n_numbers = len(parsed.unparsed), len(texts) - len(parsed.unparsed)
    affix = parsed.notation.affix
    if not n_words:
        return not affix or affix in "%‰°" or is_currency(affix) or n_numbers >= MIN_DISTINCT_NUMBERS
    share = sum(parsed.unparsed.values()) / max(sum(rows), 1)
    is_few = n_words <= MAX_WORD_SHARE * len(texts) and (share <= MAX_WORD_SHARE or n_words == 1)
    return n_numbers >= MIN_DISTINCT_NUMBERS and is_few


def _n_read(numbers: Array) -> int:
    return int(np.count_nonzero(~np.isnan(numbers)))


def _date_notation(texts: Values) -> tuple[Notation, Array, bool]:
    """The notation that parses most texts as dates or times, the result, and whether another parses as many.

    Day and month cannot be distinguished if neither is ever above 12: the day is first between points and hyphens, the
    month between slashes.
    """
    has_slashes = compute.any(compute.match_substring(texts, "/")).as_py()
    orders: list[DateOrder] = ["ymd", "mdy", "dmy", "time"] if has_slashes else ["ymd", "dmy", "mdy", "time"]
    read = {each: Notation(date=each).read(texts) for each in orders}
    counts = {each: _n_read(numbers) for each, numbers in read.items()}
    best = max(orders, key=lambda each: counts[each])
    rival: DateOrder = "mdy" if best == "dmy" else "dmy"
    is_tied = best in ("dmy", "mdy") and counts[rival] == counts[best]
    return Notation(date=best), read[best], is_tied and bool((read[rival] != read[best]).any())


def _number_notation(texts: Values, decimal: str) -> tuple[Notation, Array, bool]:
    """The notation that parses most texts as numbers, the result, and whether thousands may be decimals.

    ``1,234`` is a thousand unless the decimal separator is a comma or some text is a number only with a decimal comma.
    ``1.234`` is a thousand if the numbers below 1,000 have no point.
    """
    if decimal == "." and points_are_thousands(texts.to_pylist()):
        decimal = ","
    other = "," if decimal == "." else "."
    affix = _affix(texts.slice(0, N_FIRST_TEXTS).to_pylist())
    signs = [sign for sign in (other, " ", "'") if _contains(texts, sign)]
    pairs = [(decimal, group) for group in ("", *signs)]
    pairs += [(other, group) for group in ("", decimal, *signs) if other in signs and group != other]
    read = {notation: notation.read(texts) for notation in (Notation(point, group, affix) for point, group in pairs)}
    best = max(read, key=lambda notation: _n_read(read[notation]))
    is_ambiguous = False
    if best.grouping in (".", ","):
        rival = read.get(replace(best, decimal=best.grouping, grouping=""))
        is_ambiguous = rival is not None and _n_read(rival) == _n_read(read[best])
    return best, read[best], is_ambiguous


def _contains(texts: Values, sign: str) -> bool:
    """Whether a separator, in any of its variants, occurs in the texts."""
    pattern = {" ": SPACES[0], "'": f"'|{ALIKE[1][0]}"}.get(sign, re.escape(sign))
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())


def points_are_thousands(texts: Iterable[str]) -> bool:
    """Whether points separate thousands: three digits follow each, and integers without a point are below 1,000."""
    n_pointed, n_unpointed = 0, 0
    for text in texts:
        if _POINTED.fullmatch(text.strip()):
            n_pointed += 1
        elif _UNPOINTED.fullmatch(text.strip()):
            n_unpointed += 1
        else:
            return False
    return n_pointed > 1 and n_unpointed > 1


def _affix(texts: list[str]) -> str:
    """The most frequent currency or unit of the texts."""
    found: Counter[str] = Counter()
    for text in texts:
        parts = _AFFIXED.fullmatch(text.strip())
        if parts:
            before, after = parts["before"], (parts["after"] or "").strip()
            found.update(filter(None, [before if is_currency(before) else "", after]))
    return found.most_common(1)[0][0] if found else ""


def is_currency(text: str) -> bool:
    """Whether a text is the sign or code of a currency."""
    is_sign = len(text) == 1 and unicodedata.category(text) == "Sc"
    return is_sign or text.upper() in _CURRENCIES


def is_nominal(name: str, n_values: int) -> bool:
    """Whether a few integers are codes without an order, by the name of the column."""
    words = {word.lower() for word in _WORD.findall(name)}
    return 2 < n_values <= MAX_NOMINAL_CODES and bool(words & _NOMINAL) and not words & _MEASURED


def is_postcode(name: str) -> bool:
    """Whether the name of a column is that of a postal code, whose integers are not quantities.

    >>> is_postcode("ZIP code"), is_postcode("zipcode"), is_postcode("zipper")
    (True, True, False)
    """
    return _POSTCODE.search(name) is not None
