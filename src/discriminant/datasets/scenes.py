"""A small synthetic image with training areas: four classes, four bands, and the true class of every pixel.

Regions have simple shapes (a lake, a wood, a village, fields), spectra are normal with a covariance per class, and
pixels at edges are mixed, so that classification is not trivial.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from ..dependencies import optional_module
from ..results import Result, listed
from .tables import Array, RandomSeed

_BANDS = ("blue", "green", "red", "near infrared")
_CLASSES = ("field", "lake", "village", "wood")
#: Mean and standard deviation of the digital numbers of each class in each band.
_MEANS = np.array([[62, 88, 84, 150], [58, 52, 38, 22], [105, 108, 116, 128], [40, 58, 42, 120]], dtype=float)
_STDS = np.array([[12, 15, 18, 24], [8, 8, 7, 8], [22, 23, 24, 22], [9, 12, 11, 22]], dtype=float)
#: The share of the standard deviation that is brightness, common to all bands.
BRIGHTNESS: Final = 0.7
#: Corner, pixel size in metres and coordinate system of an arbitrary place.
_CORNER, _PIXEL, _CRS = (500_000.0, 5_000_000.0), 10.0, "EPSG:32633"
#: Training areas in pixels of a scene of 96 rows and 128 columns: class, first row and column, rows and columns.
_AREAS = (
    ("field", 8, 60, 10, 14), ("field", 72, 84, 12, 12), ("field", 6, 8, 8, 10),
    ("lake", 28, 28, 12, 12), ("lake", 42, 38, 6, 8),
    ("village", 20, 100, 9, 9), ("village", 32, 108, 7, 7),
    ("wood", 66, 18, 12, 16), ("wood", 78, 44, 9, 9),
)  # fmt: skip
_HEIGHT, _WIDTH = 96, 128


@dataclass(frozen=True, repr=False, eq=False)
class Scene(Result):
    """An image with known classes and training areas.

    Attributes
    ----------
    bands : array of shape (n_bands, height, width)
        Digital numbers.
    truth : array of shape (height, width)
        The class code of every pixel.
    classes : tuple of str
        Names of the classes by code.
    band_names : tuple of str
        Names of the bands.
    areas : tuple of (str, array)
        Training areas: a class, and the corners of a polygon as (column, row) in pixels.
    description : str
        The contents of the image.

    See Also
    --------
    scene : Creates a scene.
    """

    bands: Array
    truth: Array
    classes: tuple[str, ...]
    band_names: tuple[str, ...]
    areas: tuple[tuple[str, Array], ...]
    description: str

    def __str__(self) -> str:
        _, height, width = self.bands.shape
        return (
            f"Scene of {height} x {width} pixels, bands {listed(self.band_names)}; {listed(self.classes)}; "
            f"{len(self.areas)} training areas.\n{self.description}"
        )

    def samples(self) -> tuple[Array, Array]:
        """The pixels in the training areas, and their classes.

        Returns
        -------
        X : array of shape (n_pixels, n_bands)
            Digital numbers.
        y : array of shape (n_pixels,)
            The class of the area of each.
        """
        cuts = [_inside(corners) for _, corners in self.areas]
        X = np.concatenate([self.bands[:, rows, columns].reshape(len(self.bands), -1).T for rows, columns in cuts])
        sizes = [self.truth[rows, columns].size for rows, columns in cuts]
        return X.astype(float), np.repeat([label for label, _ in self.areas], sizes)

    def write(self, folder: str | PathLike[str]) -> dict[str, Path]:
        """Write the image, the areas and the truth as GeoTIFF and GeoJSON.

        Parameters
        ----------
        folder : path
            The folder of ``scene.tif``, ``areas.geojson`` and ``truth.tif``.

        Returns
        -------
        dict of paths
            ``image``, ``areas`` and ``truth``.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        paths = {"image": place / "scene.tif", "areas": place / "areas.geojson", "truth": place / "truth.tif"}
        _write_raster(paths["image"], self.bands, self.band_names)
        _write_raster(paths["truth"], (self.truth[None] + 1).astype(np.uint8), ("class",))
        features = [
            {
                "type": "Feature",
                "properties": {"class": label},
                "geometry": {"type": "Polygon", "coordinates": [_map_coordinates(corners)]},
            }
            for label, corners in self.areas
        ]
        crs = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:{_CRS.replace(':', '::')}"}}
        text = json.dumps({"type": "FeatureCollection", "crs": crs, "features": features})
        paths["areas"].write_text(text, encoding="utf-8")
        return paths


def scene(random_state: RandomSeed = 0) -> Scene:
    """Create a small image of a lake, a wood, a village and fields, with training areas and the true classes.

    Parameters
    ----------
    random_state : int or numpy Generator, default=0
        Draws the pixels.

    Returns
    -------
    Scene
        96 x 128 pixels in four bands.

    See Also
    --------
    discriminant.raster.classify_image : Classifies an image.

    Examples
    --------
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> from discriminant.datasets import scene
    >>> made = scene()
    >>> X, y = made.samples()
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> pixels = made.bands.reshape(4, -1).T.astype(float)
    >>> truth = [made.classes[code] for code in made.truth.ravel()]
    >>> round(model.score(pixels, truth), 2)
    0.94
    """
    rng = np.random.default_rng(random_state)
    truth = _true_classes()
    noise = rng.normal(size=(_HEIGHT, _WIDTH, len(_BANDS)))
    shared = rng.normal(size=(_HEIGHT, _WIDTH, 1))
    deviation = BRIGHTNESS * shared + np.sqrt(1 - BRIGHTNESS**2) * noise
    values = _mixed(_MEANS[truth]) + _STDS[truth] * deviation
    bands = np.clip(values.round(), 1, 255).astype(np.uint8).transpose(2, 0, 1)
    areas = tuple((label, _corners(*place)) for label, *place in _AREAS)
    return Scene(
        bands,
        truth,
        _CLASSES,
        _BANDS,
        areas,
        "A lake, a wood and a village among fields. Pixels at the edges of regions are mixed.",
    )


def _true_classes() -> Array:
    """The class code of every pixel: fields, covered by the other regions."""
    row, column = np.mgrid[:_HEIGHT, :_WIDTH]
    truth = np.zeros((_HEIGHT, _WIDTH), dtype=np.intp)
    truth[((row - 76) / 22) ** 2 + ((column - 34) / 34) ** 2 < 1] = _CLASSES.index("wood")
    truth[((row - 36) / 20) ** 2 + ((column - 36) / 24 + 0.01 * (row - 36)) ** 2 < 1] = _CLASSES.index("lake")
    truth[(np.abs(row - 28) < 16) & (np.abs(column - 108) < 14)] = _CLASSES.index("village")
    return truth


def _mixed(means: Array) -> Array:
    """The means with 40 % of those of the four neighbours: pixels at edges are mixed."""
    padded = np.pad(means, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
    return 0.6 * means + 0.4 * around


def _corners(row: int, column: int, height: int, width: int) -> Array:
    right, bottom = column + width, row + height
    return np.array([[column, row], [right, row], [right, bottom], [column, bottom]], dtype=float)


def _inside(corners: Array) -> tuple[slice, slice]:
    """The rows and columns of pixels in a rectangle."""
    (left, top), (right, bottom) = corners.min(axis=0).astype(int), corners.max(axis=0).astype(int)
    return slice(top, bottom), slice(left, right)


def _map_coordinates(corners: Array) -> list[list[float]]:
    """The closed ring of a polygon in metres."""
    ring = np.concatenate((corners, corners[:1]))
    return np.column_stack((_CORNER[0] + _PIXEL * ring[:, 0], _CORNER[1] - _PIXEL * ring[:, 1])).tolist()


def _write_raster(path: Path, values: Array, names: tuple[str, ...]) -> None:
    rasterio = optional_module("rasterio", "Images")
    transform = rasterio.Affine(_PIXEL, 0, _CORNER[0], 0, -_PIXEL, _CORNER[1])
    count, height, width = values.shape
    with rasterio.open(
        path, "w", driver="GTiff", count=count, height=height, width=width, dtype=values.dtype, crs=_CRS,
        transform=transform, photometric="MINISBLACK",
    ) as file:  # fmt: skip
        file.write(values)
        for number, name in enumerate(names, start=1):
            file.set_band_description(number, name)
