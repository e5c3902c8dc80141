"""Colours of the classes of a map: the usual ones for English names such as water or forest, distinct ones for others.

Names are read word by word. A word matches if it begins or ends with a known one ("Waterbodies"); the last matching
word of a name decides ("forest road"); names with a negation ("non-forest") do not match.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import numpy as np

from ..figures.theme import COLOURS

_KNOWN: Final = {
    "#2166ac": "water lake river sea ocean pond reservoir stream lagoon canal",
    "#1b7837": "forest tree wood conifer deciduous broadleaf pine spruce fir oak beech eucalyptus",
    "#a6d96a": "grass meadow pasture lawn prairie savanna steppe herbaceous rangeland",
    "#8a9a3b": "shrub bush scrub heath thicket",
    "#f1c232": "crop agricultur farm field arable cultivated plantation orchard vineyard wheat maize corn rice soybean "
    "barley rapeseed cotton sugarcane potato",
    "#ef6548": "urban city town village built build settlement residential commercial industrial developed impervious "
    "artificial roof house",
    "#4d4d4d": "road street highway motorway asphalt pavement paved rail runway airport parking",
    "#a6611a": "soil bare barren earth fallow mud ground",
    "#ead7a1": "sand beach dune desert",
    "#9c8f85": "rock stone gravel quarry cliff scree mine",
    "#f0f8ff": "snow ice glacier firn",
    "#d9d9d9": "cloud haze fog",
    "#2f2f3a": "shadow shade",
    "#3fb3a0": "wetland marsh swamp bog fen peat mangrove floodplain",
    "#5b2c1a": "burn fire wildfire",
    "#4daf4a": "vegetat green plant",
}
_COLOUR_OF: Final = {word: colour for colour, words in _KNOWN.items() for word in words.split()}
_NEGATIONS: Final = frozenset(("no", "not", "without"))
#: Words of a name; "BareSoil" has two.
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Shorter words must match a whole word: "rice" ends with "ice".
MIN_PART_LENGTH: Final = 4
#: Minimum distance of two colours in red, green and blue.
MIN_COLOUR_DISTANCE: Final = 40.0
#: With more classes, colours cannot be distinguished and are assigned by number.
MAX_DISTINCT: Final = 100
#: Step around the colour circle: multiples of it stay far from each other.
GOLDEN_RATIO: Final = 0.6180339887498949
#: Maximum lightness of a line on white paper.
MAX_LINE_LIGHTNESS: Final = 0.65
#: Further shades of a colour: difference in hue and in lightness.
_SHADES: Final = [(hue, light) for hue in (0.0, 0.06, -0.06) for light in (0.0, 0.14, -0.12, 0.26, 0.38, -0.2)][1:]


def class_colours(labels: Sequence[Hashable], chosen: Mapping[str, str] | None = None) -> list[str]:
    """A colour for each class, written #RRGGBB: the chosen one, else the usual one for its name, else a distinct one.

    >>> class_colours(["Water bodies", "mixed forest", "x"], {"x": "#ff00ff"})
    ['#2166ac', '#1b7837', '#ff00ff']
    """
    given, names = dict(chosen or {}), [str(label) for label in labels]
    if len(names) > MAX_DISTINCT:
        return [given.get(name, default_colour(k)) for k, name in enumerate(names)]
    found = {name: given[name] for name in names if name in given}
    known = {name: colour for name in names if name not in found and (colour := named_colour(name)) is not None}
    others = [default_colour(k) for k in range(2 * MAX_DISTINCT)]
    for name in [*known, *names]:
        if name not in found:
            candidates = [*_shades(known[name]), *others] if name in known else others
            found[name] = _first_distinct(candidates, [*found.values()])
    return [found[name] for name in names]


def _first_distinct(colours: Sequence[str], used: Sequence[str]) -> str:
    """The first colour far enough from those in use, or the farthest."""
    one, other = (np.array([rgb(colour) for colour in some], dtype=float).reshape(-1, 3) for some in (colours, used))
    gaps = np.linalg.norm(one[:, None] - other[None], axis=2).min(axis=1, initial=np.inf)
    distinct = gaps >= MIN_COLOUR_DISTANCE
    return colours[int(distinct.argmax() if distinct.any() else gaps.argmax())]


def _shades(colour: str) -> list[str]:
    """The colour and similar ones."""
    hue, light, strength = _hls(colour)
    return [colour] + [
        _from_hls((hue + around) % 1, min(max(light + lighter, 0.05), 0.95), strength) for around, lighter in _SHADES
    ]


def named_colour(name: str) -> str | None:
    """The usual colour of a class with this English name, or None.

    >>> named_colour("Rivers"), named_colour("forest road"), named_colour("non-forest")
    ('#2166ac', '#4d4d4d', None)
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if any(word in _NEGATIONS or word.startswith("non") for word in words):
        return None
    return next((_COLOUR_OF[known] for word in reversed(words) if (known := _known_part(word)) is not None), None)


def _known_part(word: str) -> str | None:
    """The known word that a word ends with, or else begins with; the longest of several."""
    parts = [
        known
        for known in _COLOUR_OF
        if word in (known, f"{known}s")
        or (len(known) >= MIN_PART_LENGTH and (word.startswith(known) or word.endswith(known)))
    ]
    return max(parts, key=lambda known: (word.endswith(known), len(known)), default=None)


def default_colour(k: int) -> str:
    """The k-th colour of classes without a known name: those of all figures, then others around the colour circle."""
    if k < len(COLOURS):
        return COLOURS[k]
    turn = k - len(COLOURS)
    return _written(colorsys.hsv_to_rgb((0.08 + turn * GOLDEN_RATIO) % 1, 0.65, (0.55, 0.9, 0.72)[turn % 3]))


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour written #RRGGBB."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def on_white(colour: str) -> str:
    """The colour, darkened if a line of it would not be visible on white paper.

    >>> on_white("#1b7837"), on_white("#f0f8ff")
    ('#1b7837', '#4dacff')
    """
    hue, light, strength = _hls(colour)
    return colour if light <= MAX_LINE_LIGHTNESS else _from_hls(hue, MAX_LINE_LIGHTNESS, strength)


def hex_colour(parts: Sequence[int]) -> str:
    """A colour given by red, green and blue, written #RRGGBB."""
    return "#" + bytes(parts[:3]).hex()


def _hls(colour: str) -> tuple[float, float, float]:
    return colorsys.rgb_to_hls(*(part / 255 for part in rgb(colour)))


def _from_hls(hue: float, light: float, strength: float) -> str:
    return _written(colorsys.hls_to_rgb(hue, light, strength))


def _written(parts: Sequence[float]) -> str:
    return hex_colour([round(255 * part) for part in parts])
