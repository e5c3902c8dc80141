"""Dates as groups of bands: found in names of bands and files, matched between images in chronological order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .bands import Band

#: A year from 1900 to 2099 with month and day, with or without separators: 2024-05-01, 2024_05_01, 20240501.
_DATE: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")


def band_date(name: str) -> tuple[date, str] | None:
    """The first date in the name of a band, and the name without it; None without a date.

    >>> band_date("T32UQD_20240501T102031_B04"), band_date("red")
    ((datetime.date(2024, 5, 1), 'T32UQD_T102031_B04'), None)
    """
    for found in _DATE.finditer(name):
        try:
            day = date(int(found[1]), int(found[3]), int(found[4]))
        except ValueError:  # such as 31 April
            continue
        return day, name[: found.start()] + name[found.end() :]
    return None


def band_dates(bands: Sequence[Band]) -> list[tuple[date, str]]:
    """The date and the rest of the name of each band, if all have one and there are two dates or more, else empty."""
    found = [known for known in (band_date(band.name) for band in bands) if known is not None]
    return found if len(found) == len(bands) and len({day for day, _ in found}) > 1 else []


def _names_by_rank(bands: Sequence[Band]) -> list[str]:
    """The names of bands with dates replaced by their rank in time; empty without dates."""
    return [f"{rank} {rest}" for rank, (_, rest) in zip(ranks(bands), band_dates(bands), strict=True)]


def comparable_names(first: Sequence[Band], second: Sequence[Band]) -> tuple[list[str], list[str]]:
    """The names of the bands of two images; with dates replaced by their rank in time if both have dates."""
    by_rank = _names_by_rank(first), _names_by_rank(second)
    return by_rank if all(by_rank) else ([band.name for band in first], [band.name for band in second])


def ranks(bands: Sequence[Band]) -> list[int]:
    """The rank in time of the date of each band, from 1; empty without dates."""
    dated = band_dates(bands)
    days = sorted({day for day, _ in dated})
    return [days.index(day) + 1 for day, _ in dated]


def order_by_date(trained: Sequence[Band], bands: Sequence[Band]) -> list[int] | None:
    """The place of the band with the date and name of each training band; None if dates do not identify them.

    Dates are compared by their rank in time. If the rest of the names differs, as that of other tiles does, the bands
    of a date are taken in their order.
    """
    wanted, known = _names_by_rank(trained), _names_by_rank(bands)
    if not (wanted and known) or max(ranks(trained)) != max(ranks(bands)):
        return None
    if set(wanted) <= set(known) and len(set(known)) == len(known):
        return [known.index(name) for name in wanted]
    if sorted(ranks(trained)) != sorted(ranks(bands)):
        return None
    waiting = {rank: [place for place, own in enumerate(ranks(bands)) if own == rank] for rank in ranks(trained)}
    return [waiting[rank].pop(0) for rank in ranks(trained)]


def matched_days(trained: Sequence[Band], bands: Sequence[Band]) -> list[str]:
    """The dates of bands beside those of training, where they differ."""
    pairs = zip(band_dates(trained), band_dates(bands), strict=False)
    return list(dict.fromkeys(f"{new} for {old}" for (old, _), (new, _) in pairs if old != new))
