"""Bands that are computed from others: spectral indices by name, and expressions over the names of bands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from ..arrays import Array
from ..data import check_choice
from ..errors import ColumnError, ParameterError, Setting
from ..formula.arithmetic import Arithmetic
from ..results import Finding, listed, shortened, suggestion
from .bands import MAX_NAMED_BANDS, Band

if TYPE_CHECKING:
    from .image import Image

#: Spectral indices over the roles of bands.
INDICES: Final = {
    "NDVI": "(nir - red) / (nir + red)",
    "GNDVI": "(nir - green) / (nir + green)",
    "NDRE": "(nir - rededge) / (nir + rededge)",
    "EVI": "2.5 * (nir - red) / (nir + 6 * red - 7.5 * blue + 1)",
    "EVI2": "2.5 * (nir - red) / (nir + 2.4 * red + 1)",
    "SAVI": "1.5 * (nir - red) / (nir + red + 0.5)",
    "MSAVI": "(2 * nir + 1 - sqrt((2 * nir + 1) ** 2 - 8 * (nir - red))) / 2",
    "NDWI": "(green - nir) / (green + nir)",
    "MNDWI": "(green - swir1) / (green + swir1)",
    "NDMI": "(nir - swir1) / (nir + swir1)",
    "NBR": "(nir - swir2) / (nir + swir2)",
    "NBR2": "(swir1 - swir2) / (swir1 + swir2)",
    "NDBI": "(swir1 - nir) / (swir1 + nir)",
    "NDSI": "(green - swir1) / (green + swir1)",
    "BSI": "(swir1 + red - nir - blue) / (swir1 + red + nir + blue)",
}
#: Indices with constants in units of reflectance; the others are ratios without a unit.
REFLECTANCE_INDICES: Final = ("EVI", "EVI2", "SAVI", "MSAVI")
#: The roles of bands, and names of bands with these roles in lower case without spaces and punctuation.
ROLES: Final = {
    "blue": ("blue",),
    "green": ("green",),
    "red": ("red",),
    "rededge": ("rededge", "rededge1", "rededge071"),
    "nir": ("nir", "nearinfrared", "nir1", "infrared"),
    "swir1": ("swir1", "swir16", "shortwaveinfrared1"),
    "swir2": ("swir2", "swir22", "shortwaveinfrared2"),
}
_NUMBERED: Final = re.compile("b([0-9]+)")


@dataclass(frozen=True)
class ComputedBands:
    """Bands computed from others, by expressions; ``sources`` are the bands of the files by their reference.

    ``read`` are the bands that an image reads from its files, of which it keeps the first ``n_kept``.
    """

    bands: tuple[Band, ...]
    expressions: tuple[Arithmetic, ...]
    sources: Mapping[str, Band]
    read: tuple[Band, ...] = ()
    n_kept: int = 0

    def added(self, values: Array, valid: Array) -> tuple[Array, Array]:
        """The bands of an image for those read from its files, and where all are finite."""
        places, n_kept = {band.number: place for place, band in enumerate(self.read)}, self.n_kept
        dtype = np.result_type(*(band.dtype for band in (*self.read[:n_kept], *self.bands)))
        physical = {}
        for reference, band in self.sources.items():
            own = values[places[band.number]].astype(np.float64)  # differences lose digits in float32
            physical[reference] = own if (band.scale, band.offset) == (1, 0) else band.scale * own + band.offset
        found = np.empty((n_kept + len(self.bands), *values.shape[1:]), dtype)
        found[:n_kept] = values[:n_kept]
        with np.errstate(over="ignore"):
            for out, expression in zip(found[n_kept:], self.expressions, strict=True):
                out[:] = expression.evaluate(physical)
        return found, valid & np.isfinite(found[n_kept:]).all(axis=0)


def add_indices(image: Image, indices: str | Sequence[str], roles: Mapping[str, int | str] | None = None) -> Image:
    """Add spectral indices and other computed bands to an image.

    They are computed for each window that is read, from physical values (scale and offset of the file applied). Pixels
    whose result is not finite, such as 0 / 0, have no value. Models store the expressions, and maps of other images use
    them.

    Parameters
    ----------
    image : Image
        The image.
    indices : str or list of str
        Names of indices, such as ``"NDVI"`` (see `INDICES`), and expressions with a name, such as ``"ratio = nir /
        red"``, with ``+ - * / **`` and the functions abs, exp, log, log10, log1p, log2, max, min and sqrt. Bands are
        written by name (in backticks if it has spaces), by role or by number (``b4``).
    roles : dict, optional
        The number or name of the band with a role: blue, green, red, rededge, nir, swir1 or swir2. Default: from the
        names of the bands.

    Returns
    -------
    Image
        The computed bands come last. It is closed together with ``image``.

    See Also
    --------
    open_image : Opens an image.

    References
    ----------
    Montero, D. et al. (2023). A standardized catalogue of spectral indices to advance the use of remote sensing in
    Earth system research. Scientific Data 10, 197.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import add_indices, open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"transform": rasterio.Affine.scale(10), "count": 2, "dtype": "uint8"}
    ...     with rasterio.open(f"{folder}/new.tif", "w", driver="GTiff", width=2, height=1, **form) as file:
    ...         file.write(np.array([[[10, 0]], [[30, 0]]], dtype="uint8"))
    ...     with open_image(f"{folder}/new.tif") as image:
    ...         found = add_indices(image, ["NDVI", "ratio = b2 / b1"], {"red": 1, "nir": 2})
    ...         found.band_names, found.read()[0][2:, 0, 0].tolist(), found.read()[1].tolist()
    (('band 1', 'band 2', 'NDVI', 'ratio'), [0.5, 3.0], [[True, False]])
    """
    if any(band.expression for band in image.bands):
        raise ParameterError(
            f"{image.label} has computed bands already. Add all of them in one call, to the opened image."
        )
    given = [indices] if isinstance(indices, str) else list(indices)
    sources: dict[str, Band] = {}
    named = _Names(image, {role.lower(): band for role, band in (roles or {}).items()})
    parsed = {}
    for text in given:
        name, expression = _definition(text)
        if name in parsed or any(band.name == name for band in image.bands):
            raise ParameterError(
                Setting("index"), f" must have a new name for each band, got {name!r} twice. Rename it."
            )
        parsed[name] = _parsed(expression, sources, named.band_for(name))
    of = len(image.all_bands)
    made = tuple(Band(name, "float32", True, 0, of, expression=str(one)) for name, one in parsed.items())
    found = image.computing(ComputedBands(made, tuple(parsed.values()), sources))
    scaled = {name: one for name, one in parsed.items() if name in REFLECTANCE_INDICES}
    found.findings = (*found.findings, *_unscaled(scaled, sources, image))
    return found


def computed_like(trained: Sequence[Band], image: Image, numbers: Mapping[int, int]) -> Image:
    """The image with computed bands of a model, from bands with the same name or number as in the training image.

    ``numbers`` are the numbers of bands in this image by those in the training image.
    """
    sources: dict[str, Band] = {}
    parsed = []
    for band in trained:

        def find(name: str, is_quoted: bool, band: Band = band) -> Band:
            of_name = [one for one in image.all_bands if one.named and one.name == name]
            if is_quoted and of_name:
                return of_name[0]
            number = None if is_quoted or len(image.all_bands) != band.of else numbers.get(int(name[1:]))
            if number is not None:
                return image.all_bands[number - 1]
            raise ColumnError(
                f"Band {band.name!r} of the model is computed as {band.expression}, but {image.label} has no band "
                f"{name!r}, or another number of bands. Give an image with the bands of the training image."
            )

        parsed.append(_parsed(band.expression, sources, find))
    return image.computing(ComputedBands(tuple(trained), tuple(parsed), sources))


def _parsed(text: str, sources: dict[str, Band], find: Callable[[str, bool], Band]) -> Arithmetic:
    """An expression over references to bands: quoted names, or numbers of bands without a name; adds to ``sources``."""

    def reference(name: str, is_quoted: bool) -> str:
        band = find(name, is_quoted)
        found = f"`{band.name}`" if band.named and "`" not in band.name else f"b{band.number}"
        sources[found] = band
        return found

    parsed = Arithmetic.parse(text, reference)
    if not parsed.columns:
        raise ColumnError(
            f"The expression {shortened(text, 80)!r} has no band. Expected names of bands, such as nir / red."
        )
    return parsed


def _definition(text: str) -> tuple[str, str]:
    """The name and expression of an index, or of a text NAME=EXPRESSION."""
    name, sign, expression = (part.strip() for part in text.partition("="))
    if sign and name:
        return name, expression
    if name.upper() not in INDICES:
        hint = suggestion(name.upper(), INDICES)
        raise ParameterError(
            Setting("index"), f" must be {', '.join(INDICES)} or NAME=EXPRESSION, got {shortened(text, 80)!r}.{hint}"
        )
    return name.upper(), INDICES[name.upper()]


@dataclass(frozen=True)
class _Names:
    """The bands of an image by name, role and number."""

    image: Image
    roles: Mapping[str, int | str]

    def __post_init__(self) -> None:
        for role in self.roles:
            check_choice("roles", role, tuple(ROLES))

    def band_for(self, index: str) -> Callable[[str, bool], Band]:
        """Finds the band of a name in the expression of an index."""

        def find(name: str, is_quoted: bool) -> Band:
            if not is_quoted and name.lower() in self.roles:
                return self._only(self.image.numbers_of(str(self.roles[name.lower()])), name)
            bands = self.image.all_bands
            numbers = [band.number for band in bands if band.name == name]
            if not (numbers or is_quoted):
                numbers = [band.number for band in bands if _plain(band.name) in ROLES.get(name.lower(), ())]
            numbered = None if numbers or is_quoted else _NUMBERED.fullmatch(name)
            if numbered and 1 <= int(numbered[1]) <= len(bands):
                numbers = [int(numbered[1])]
            if not numbers and name in ROLES:
                words = f"{index} requires the band {name!r}, which {self.image.label} does not name. "
                raise ColumnError(f"{words}Give its number, such as ", Setting("roles", {name: 1}), ".")
            if not numbers:
                names = [band.name for band in bands]
                hint = suggestion(name, names)
                words = f"Unknown band {shortened(name, 80)!r} in {index}.{hint} Bands of {self.image.label}: "
                raise ColumnError(f"{words}{listed(names, MAX_NAMED_BANDS)}; by number: b1 to b{len(bands)}.")
            return self._only(numbers, name)

        return find

    def _only(self, numbers: Sequence[int], name: str) -> Band:
        if len(numbers) > 1:
            words = f"{name!r} may be any of the bands {listed(numbers, MAX_NAMED_BANDS)} of {self.image.label}. "
            raise ColumnError(f"{words}Choose one, such as ", Setting("roles", {name: numbers[0]}), ".")
        return self.image.all_bands[numbers[0] - 1]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _unscaled(indices: Mapping[str, Arithmetic], sources: Mapping[str, Band], image: Image) -> list[Finding]:
    """A warning if indices of reflectance are computed from integers without a scale factor."""
    bands = [sources[reference] for one in indices.values() for reference in one.columns.values()]
    if not any(np.dtype(band.dtype).kind in "iu" and band.scale == 1 for band in bands):
        return []
    words = (
        f"{', '.join(indices)}: expected reflectance from 0 to 1, got integers without a scale factor. If the file has "
        f"a fixed scale, write it into the file, such as gdal_edit.py -scale 0.0001 {Path(image.paths[0]).name}."
    )
    return [Finding("warning", "reflectance", None, words)]
