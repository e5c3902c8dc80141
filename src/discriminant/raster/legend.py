"""What the codes of a class map stand for: classes with names and colours, rejected pixels, and no value."""

from __future__ import annotations

import colorsys
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError
from ..figures.theme import COLOURS
from ..results import plain
from .extra import extra
from .image import open_image

REJECTED = "rejected"
#: The tag of a GeoTIFF that holds the classes, and the one that holds the code of rejected pixels.
CLASSES_TAG, REJECTED_TAG = "CLASSES", "REJECTED"

_REJECT_COLOUR = "#767676"
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
#: Turning the colour circle by this share again and again never comes back near a colour soon.
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Entry:
    """A code of a map, the class it stands for, and the colour it is drawn in."""

    code: int
    label: Any
    colour: str

    @property
    def name(self) -> str:
        return str(self.label)


@dataclass(frozen=True)
class Legend:
    """The codes of a class map.

    Attributes
    ----------
    classes : tuple of Entry
    nodata : int
        The code of pixels without a value; no class has it.
    rejected : Entry or None
        The code of pixels that were not given any class.
    """

    classes: tuple[Entry, ...]
    nodata: int
    rejected: Entry | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The classes, and the rejected pixels last."""
        return self.classes if self.rejected is None else (*self.classes, self.rejected)

    @property
    def names(self) -> dict[int, Any]:
        """What each code stands for."""
        return {entry.code: entry.label for entry in self.entries}

    @property
    def dtype(self) -> str:
        """The smallest type that holds all codes."""
        return "uint8" if max(self.nodata, *(entry.code for entry in self.entries)) <= 255 else "uint16"

    @property
    def codes(self) -> np.ndarray[Any, Any]:
        """The code of each class."""
        return np.array([entry.code for entry in self.classes], dtype=self.dtype)

    @property
    def colour_table(self) -> dict[int, tuple[int, int, int, int]] | None:
        """Red, green, blue and opacity by code; None where codes go beyond the 256 entries of a colour table."""
        if self.dtype != "uint8":
            return None
        table = {entry.code: (*rgb(entry.colour), 255) for entry in self.entries}
        return {self.nodata: (0, 0, 0, 0), **table}

    def tags(self) -> dict[str, str]:
        """The legend as the map's own metadata."""
        found = {CLASSES_TAG: json.dumps({str(entry.code): entry.label for entry in self.classes}, ensure_ascii=False)}
        return found if self.rejected is None else {**found, REJECTED_TAG: str(self.rejected.code)}


def make_legend(classes: Sequence[Any], reject: bool = False, colours: Mapping[Any, str] | None = None) -> Legend:
    """The codes and colours of a map of these classes.

    Classes that are whole numbers from 0 to 65,000 are their own codes; others are numbered from 1. No value is 0, or
    the first free code above the classes where 0 is a class.

    >>> [(entry.code, entry.name) for entry in make_legend(["forest", "water"], reject=True).entries]
    [(1, 'forest'), (2, 'water'), (3, 'rejected')]
    >>> make_legend([0, 7]).nodata
    8
    """
    labels = [plain(label) for label in classes]
    codes = labels if _are_codes(labels) else list(range(1, len(labels) + 1))
    if max(codes) > 65_000:
        raise InputError(f"A class map holds at most 65,000 classes, got {len(labels)}. Merge classes first.")
    chosen = _checked_colours(colours or {}, labels)
    entries = tuple(
        Entry(code, label, chosen.get(str(label), default_colour(k)))
        for k, (code, label) in enumerate(zip(codes, labels, strict=True))
    )
    free = max(codes) + 1
    nodata = free if 0 in codes else 0
    rejected = _rejected(free + (nodata == free), labels) if reject else None
    return Legend(entries, nodata, rejected)


def _rejected(code: int, labels: Sequence[Any]) -> Entry:
    """The entry of pixels without a class, by a name that no class has."""
    return Entry(code, REJECTED if REJECTED not in map(str, labels) else f"{REJECTED} (no class)", _REJECT_COLOUR)


def _are_codes(labels: list[Any]) -> bool:
    return all(isinstance(label, int) and not isinstance(label, bool) and 0 <= label <= 65_000 for label in labels)


def _checked_colours(colours: Mapping[Any, str], labels: list[Any]) -> dict[str, str]:
    known = [str(label) for label in labels]
    for label, colour in colours.items():
        if str(label) not in known:
            raise ParameterError(f"A colour is given for {str(label)!r}, which is not a class. Classes: {known}.")
        if not isinstance(colour, str) or not _COLOUR.fullmatch(colour):
            raise ParameterError(f"The colour of {str(label)!r} must be written #RRGGBB, got {colour!r}.")
    return {str(label): colour.lower() for label, colour in colours.items()}


def default_colour(k: int) -> str:
    """The colour of the k-th class: those of all figures first, then new ones around the colour circle."""
    if k < len(COLOURS):
        return COLOURS[k]
    turn = k - len(COLOURS)
    value = (0.55, 0.9, 0.72)[turn % 3]
    parts = colorsys.hsv_to_rgb((0.08 + turn * _GOLDEN) % 1, 0.65, value)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour written #RRGGBB."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def written_rgb(shade: Sequence[int] | None) -> str | None:
    """A colour of red, green and blue, written #RRGGBB.

    >>> written_rgb((255, 128, 0, 255))
    '#ff8000'
    """
    return None if shade is None else "#{:02x}{:02x}{:02x}".format(*shade[:3])


def legend_of(dataset: Any) -> Legend:
    """The legend of a class map that this package wrote, from its metadata; ``dataset`` is open in rasterio."""
    tags = dataset.tags()
    if CLASSES_TAG not in tags:
        raise InputError(
            f"{dataset.name!r} does not say which classes its codes stand for: it is no class map of this package."
        )
    labels = {int(code): label for code, label in json.loads(tags[CLASSES_TAG]).items()}
    table = _colours_of(dataset)
    classes = tuple(Entry(c, label, table.get(c, default_colour(k))) for k, (c, label) in enumerate(labels.items()))
    code = tags.get(REJECTED_TAG)
    rejected = None if code is None else _rejected(int(code), list(labels.values()))
    return Legend(classes, int(dataset.nodata), rejected)


def legend_of_file(path: str | os.PathLike[str]) -> Legend:
    """What the codes of a class map stand for."""
    with _dataset(path) as dataset:
        return legend_of(dataset)


def has_legend(path: str | os.PathLike[str]) -> bool:
    """Whether a raster says itself what its codes stand for."""
    with _dataset(path) as dataset:
        return CLASSES_TAG in dataset.tags()


@contextmanager
def _dataset(path: str | os.PathLike[str]) -> Iterator[Any]:
    with open_image(path), warnings.catch_warnings():  # it refuses in words what is no image
        warnings.simplefilter("ignore", extra("rasterio.errors").NotGeoreferencedWarning)
        with extra("rasterio").open(path) as dataset:
            yield dataset


def _colours_of(dataset: Any) -> dict[int, str]:
    try:
        table = dataset.colormap(1)
    except ValueError:  # it has none
        return {}
    return {code: written_rgb(shade) or "" for code, shade in table.items()}
