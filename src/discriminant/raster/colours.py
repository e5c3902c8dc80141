"""Colours of the classes of a map: those people expect of water, forest or snow, and different ones for all others.

Names are looked at word by word, in several languages, without accents. A word counts that begins or ends with a known
one ("Waterbodies", "Laubwald"), the last of several ("forest road"), and none that is denied ("non-forest").
"""

from __future__ import annotations

import colorsys
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..figures.theme import COLOURS

_KNOWN = {
    "#2166ac": "water lake river sea ocean pond reservoir stream lagoon canal wasser gewasser fluss meer teich bach "
    "eau lac riviere fleuve mer etang agua lago rio mar laguna embalse represa acqua fiume",
    "#1b7837": "forest tree wood woodland conifer coniferous deciduous broadleaf pine spruce fir oak beech eucalyptus "
    "jungle wald forst baum nadelholz laubholz foret bois arbre feuillus coniferes bosque arbol arboles pinar floresta "
    "mata arvore foresta bosco albero",
    "#a6d96a": "grass grassland meadow pasture lawn prairie savanna savannah steppe herbaceous rangeland wiese "
    "grunland gras weide rasen herbe pelouse pre paturage pasto pastizal pradera hierba pastagem gramado prato pascolo",
    "#8a9a3b": "shrub shrubland bush bushland scrub heath heathland thicket strauch gebusch busch heide arbuste lande "
    "matorral arbusto maquis fynbos macchia cerrado caatinga",
    "#f1c232": "crop cropland agriculture agricultural farm farmland field arable cultivated cultivation plantation "
    "orchard vineyard wheat maize corn rice soy soya soybean barley rapeseed canola cotton sugarcane potato acker feld "
    "landwirtschaft getreide weizen mais gerste raps obst weinberg agricole culture cultures champ verger vigne ble "
    "cultivo cultivos agricola agricultura campo trigo maiz arroz vinedo lavoura cultura coltivo coltivi seminativo",
    "#ef6548": "urban city town village built builtup buildup building settlement residential commercial industrial "
    "industry developed impervious artificial roof house housing siedlung stadt dorf gebaude bebaut bebauung haus dach "
    "versiegelt wohngebiet gewerbe urbain ville bati batiment maison toit urbano urbana urbanizado ciudad edificio "
    "construido casa cidade edificado construcao citta urbanizzato edifici",
    "#4d4d4d": "road street highway motorway asphalt pavement paved railway rail runway airport airfield parking "
    "strasse autobahn bahn parkplatz route rue chemin carretera camino calle estrada rua strada ferrovia",
    "#a6611a": "soil bare bareland barren earth fallow mud ground boden brache kahl erde sol nu suelo desnudo tierra "
    "barbecho solo exposto nudo terreno",
    "#ead7a1": "sand sandy beach dune desert strand dune wuste sable plage arena playa desierto areia praia sabbia "
    "spiaggia deserto",
    "#9c8f85": "rock rocky stone gravel quarry cliff scree mine mining fels gestein stein kies steinbruch roche rocher "
    "pierre carriere roca piedra cantera rocha pedra roccia",
    "#f0f8ff": "snow ice glacier firn schnee eis gletscher neige glace nieve hielo glaciar neve gelo ghiaccio",
    "#d9d9d9": "cloud cloudy haze fog wolke wolken nebel nuage nuages nube nubes nuvem nuvens nuvola nuvole",
    "#2f2f3a": "shadow shade schatten ombre sombra ombra",
    "#3fb3a0": "wetland marsh marshland swamp bog fen peat peatland mangrove floodplain sumpf moor feuchtgebiet aue "
    "marais tourbiere humide humedal pantano cienaga brejo palude",
    "#5b2c1a": "burn burned burnt fire wildfire verbrannt brandflache brule incendie quemado queimada incendio",
    "#4daf4a": "vegetation vegetated green plant plants pflanzen grun vegetacion vegetacao vegetazione vert verde",
}
_NOT = frozenset(
    ("non", "no", "not", "without", "nicht", "kein", "keine", "ohne", "sans", "sin", "sem", "nao", "senza")
)
_WORDS = re.compile(r"[^\W\d_]+")
#: Names such as "BareSoil" are two words.
_INSIDE_CAPITAL = re.compile(r"([a-z])([A-Z])")
#: Shorter words have to be the whole of a word: "ice" ends "rice", and "sol" begins "solar".
_LEAST_PART = 4
#: How far colours should lie apart in red, green and blue; where there is no room for that, less will do.
_DISTANCES = (60.0, 40.0, 24.0)
#: Beyond so many classes no reader can tell colours apart.
_MOST_DIFFERENT = 400
#: Turning the colour circle by this share again and again never comes back near a colour soon.
_GOLDEN = 0.6180339887498949
#: How light a line may be.
_LIGHTEST_LINE = 0.65
#: Further shades of a colour: how much lighter, and how far around the colour circle.
_SHADES = tuple((lighter, around) for around in (0.0, 0.06, -0.06) for lighter in (0.0, 0.14, -0.12, 0.26, 0.38, -0.2))


def class_colours(labels: Sequence[Any], chosen: Mapping[str, str] | None = None) -> list[str]:
    """A colour for each class, written #RRGGBB: the chosen one, else the one its name stands for, else a new one.

    >>> class_colours(["Water bodies", "Laubwald", "x"], {"x": "#ff00ff"})
    ['#2166ac', '#1b7837', '#ff00ff']
    """
    given, names = dict(chosen or {}), [str(label) for label in labels]
    if len(names) > _MOST_DIFFERENT:
        return [given.get(name, default_colour(k)) for k, name in enumerate(names)]
    found = {name: given[name] for name in names if name in given}
    free = _Free(found.values())
    known = {name: colour for name in names if name not in found and (colour := named_colour(name)) is not None}
    found |= {name: free.shade(colour) for name, colour in known.items()}
    return [found[name] if name in found else found.setdefault(name, free.default()) for name in names]


class _Free:
    """Colours that are still to be had, none near one that is in use."""

    def __init__(self, used: Iterable[str]) -> None:
        self._defaults = [default_colour(k) for k in range(2 * _MOST_DIFFERENT)]
        self._parts = np.array([rgb(colour) for colour in self._defaults], dtype=float)
        self._gaps = np.full(len(self._defaults), np.inf)  # of the defaults from what is in use
        self._used: list[str] = []
        for colour in used:
            self._use(colour)

    def shade(self, colour: str) -> str:
        """The colour, or the first of its shades that differs."""
        hue, light, strength = colorsys.rgb_to_hls(*(part / 255 for part in rgb(colour)))
        shades = [colour] + [
            _written(colorsys.hls_to_rgb((hue + around) % 1, min(max(light + lighter, 0.05), 0.95), strength))
            for lighter, around in _SHADES[1:]
        ]
        taken = np.array([rgb(one) for one in self._used]).reshape(-1, 3)
        gaps = [_gap(rgb(one), taken) for one in shades]
        enough = (i for least in _DISTANCES for i, gap in enumerate(gaps) if gap >= least)
        place = next(enough, None)
        return self.default() if place is None else self._use(shades[place])

    def default(self) -> str:
        """The first of the other colours that differs, or the one that differs most."""
        enough = (np.flatnonzero(self._gaps >= least) for least in _DISTANCES)
        place = next((int(places[0]) for places in enough if places.size), int(self._gaps.argmax()))
        return self._use(self._defaults[place])

    def _use(self, colour: str) -> str:
        self._used.append(colour)
        self._gaps = np.minimum(self._gaps, np.sqrt(np.square(self._parts - rgb(colour)).sum(axis=1)))
        return colour


def _gap(colour: Sequence[int], taken: Array) -> float:
    return float(np.sqrt(np.square(taken - colour).sum(axis=1)).min(initial=np.inf))


def named_colour(name: str) -> str | None:
    """The colour that the name of a class stands for, or None.

    >>> named_colour("Rivière"), named_colour("forest road"), named_colour("non-forest")
    ('#2166ac', '#4d4d4d', None)
    """
    words = _WORDS.findall(_plain(_INSIDE_CAPITAL.sub(r"\1 \2", name)).lower())
    if _NOT & {*words} or any(word.startswith("non") for word in words):
        return None
    return next((colour for word in reversed(words) if (colour := _of_word(word)) is not None), None)


def _of_word(word: str) -> str | None:
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _COLOUR_OF:
            return _COLOUR_OF[form]
    parts = [one for one in _COLOUR_OF if len(one) >= _LEAST_PART and (word.startswith(one) or word.endswith(one))]
    # What a compound ends with says what it is; of several the longest is meant.
    best = max(parts, key=lambda one: (word.endswith(one), len(one)), default=None)
    return None if best is None else _COLOUR_OF[best]


def _plain(text: str) -> str:
    """Without accents."""
    return unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore").decode()


_COLOUR_OF = {word: colour for colour, words in _KNOWN.items() for word in words.split()}


def default_colour(k: int) -> str:
    """The k-th colour of classes without one: those of all figures first, then new ones around the colour circle."""
    if k < len(COLOURS):
        return COLOURS[k]
    turn = k - len(COLOURS)
    return _written(colorsys.hsv_to_rgb((0.08 + turn * _GOLDEN) % 1, 0.65, (0.55, 0.9, 0.72)[turn % 3]))


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour written #RRGGBB."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def on_white(colour: str) -> str:
    """The colour, made darker where a line of it would not be seen on white paper.

    >>> on_white("#1b7837"), on_white("#f0f8ff")
    ('#1b7837', '#4dacff')
    """
    hue, light, strength = colorsys.rgb_to_hls(*(part / 255 for part in rgb(colour)))
    return colour if light <= _LIGHTEST_LINE else _written(colorsys.hls_to_rgb(hue, _LIGHTEST_LINE, strength))


def hex_colour(shade: Sequence[int]) -> str:
    """A colour of red, green and blue, written #RRGGBB."""
    return "#" + bytes(shade[:3]).hex()


def _written(parts: Sequence[float]) -> str:
    return hex_colour([round(255 * part) for part in parts])
