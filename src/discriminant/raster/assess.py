"""A map held against reference areas or points: what it shows there, and how much of each class it has."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decision.posteriors import label_array
from ..engine import side_by_side
from ..errors import DegenerateDataError, InputError, LabelError
from ..results import plain, shown
from ..tables.learning import Finding
from .accuracy import MapAccuracy, map_accuracy
from .area_adjusted import AreaAdjusted, area_adjusted_accuracy
from .areas import open_areas
from .image import Image, Paths, opened
from .samples import marked_values

Array = np.ndarray[Any, Any]

_SQUARE_METRES_PER_HECTARE = 10_000
_WHOLE = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, eq=False)
class MapAssessment:
    """What a map shows where the truth is known.

    Attributes
    ----------
    accuracy : MapAccuracy
        All reference pixels counted alike.
    map_pixels : dict
        How many pixels of the whole map each class has.
    hectares : float or None
        The area of a pixel, where the map is in metres or a multiple of them.
    findings : tuple of Finding
    """

    accuracy: MapAccuracy
    map_pixels: dict[Any, int]
    hectares: float | None
    findings: tuple[Finding, ...]

    def area_adjusted(self, level: float = 0.95) -> AreaAdjusted:
        """Accuracies and areas that weight the map classes by their area: right for a sample drawn by map class.

        Areas are in hectares where the size of a pixel is known, else in pixels. Reference areas that were chosen by
        hand are no such sample: their estimates say nothing about the rest of the map.
        """
        unit = 1.0 if self.hectares is None else self.hectares
        areas = {label: unit * pixels for label, pixels in self.map_pixels.items()}
        return area_adjusted_accuracy(self.accuracy, areas, level=level)


def assess_map(
    class_map: Image | Paths,
    reference: Any,
    class_field: str | None = None,
    names: Mapping[int, Any] | None = None,
    others: tuple[Any, ...] = (),
    n_jobs: int | None = None,
) -> MapAssessment:
    """How far a class map agrees with reference areas, points or painted labels.

    Parameters
    ----------
    class_map : path or Image
        One band of class codes.
    reference : path, or what `open_areas` gives
    class_field : str, optional
        For a path: the field that holds the true class.
    names : dict, optional
        The class that each code of the map stands for; by default the codes are the classes. A reference whose
        classes are written alike, such as the text "3" for the number 3, means the same.
    others : tuple
        What the map shows that is no class, such as "rejected", as ``names`` calls it.
    n_jobs : int, optional
        Threads that read: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    MapAssessment

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> form = {"driver": "GTiff", "count": 1, "width": 8, "height": 4, "dtype": "uint8", "nodata": 0}
    >>> form |= {"crs": "EPSG:32632", "transform": rasterio.Affine(100, 0, 500_000, 0, -100, 200_000)}
    >>> truth = np.repeat(np.array([[[1, 2]]], dtype="uint8"), 4, axis=2).repeat(4, axis=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, values in (("truth", truth), ("map", np.roll(truth, 1, axis=2))):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", **form) as file:
    ...             file.write(values)
    ...     found = assess_map(f"{folder}/map.tif", f"{folder}/truth.tif")
    >>> found.accuracy.overall_accuracy, found.map_pixels, found.hectares
    (0.75, {1: 16, 2: 16}, 1.0)
    """
    if isinstance(reference, (str, os.PathLike)):
        reference = open_areas(reference, class_field)
    with opened(class_map) as image:
        _refuse_many_bands(image)
        values, marks = marked_values(image, reference.marks(image), n_jobs)
        if not marks.n_pixels:
            why = " ".join(finding.message for finding in marks.findings)
            raise DegenerateDataError(f"The map {image.label} has no class where {reference.source} lies. {why}")
        shown_classes = _labels(values[:, 0], names, image)
        known = {*shown_classes.tolist(), *(plain(label) for label in (names or {}).values())} - {*others}
        truth = _as_on_map(marks.labels, known)[marks.area]
        _refuse_no_common_class(truth, shown_classes, reference.source, image)
        seen = {*truth.tolist(), *shown_classes.tolist()}
        classes = sorted(seen - {*others}, key=lambda label: (isinstance(label, str), label))
        accuracy = map_accuracy(truth, shown_classes, classes, [label for label in others if label in seen])
        return MapAssessment(accuracy, class_pixels(image, names, n_jobs), pixel_hectares(image), marks.findings)


def class_pixels(
    class_map: Image | Paths, names: Mapping[int, Any] | None = None, n_jobs: int | None = None
) -> dict[Any, int]:
    """How many pixels of a map each class has, by class; pixels without a value are not counted."""
    with opened(class_map) as image:
        return named_pixels(pixels_by_window(image, n_jobs), names, image)


def pixels_by_window(image: Image, n_jobs: int | None = None) -> list[Counter[Any]]:
    """How many pixels of each code every window of a map has, in the order of `Image.windows`."""
    _refuse_many_bands(image)

    def counted(window: Any) -> Counter[Any]:
        values, valid = image.read(window)
        codes = values[0][valid]
        if codes.dtype in (np.uint8, np.uint16):
            counts = np.bincount(codes)
            different = np.flatnonzero(counts)
            counts = counts[different]
        else:
            different, counts = np.unique(codes, return_counts=True)
        return Counter(dict(zip(different.tolist(), counts.tolist(), strict=True)))

    return side_by_side(counted, list(image.windows()), n_jobs)


def named_pixels(counts: list[Counter[Any]], names: Mapping[int, Any] | None, image: Image) -> dict[Any, int]:
    """The pixels of all windows together, by class."""
    total: Counter[Any] = sum(counts, Counter())
    codes = sorted(total)
    labels = _labels(np.array(codes), names, image)
    return {plain(label): total[code] for label, code in zip(labels, codes, strict=True)}


def pixel_hectares(image: Image) -> float | None:
    """The area of a pixel in hectares, or None where the image is not in a projected system."""
    if image.crs is None or not image.crs.is_projected:
        return None
    metres = image.crs.linear_units_factor[1]
    return abs(image.transform.determinant) * metres**2 / _SQUARE_METRES_PER_HECTARE


def _labels(codes: Array, names: Mapping[int, Any] | None, image: Image) -> Array:
    """The classes that codes of the map stand for."""
    different, place = np.unique(codes, return_inverse=True)
    if (different != np.rint(different)).any():
        raise InputError(f"{image.label} has values that are not whole numbers: it is no class map.")
    whole = [int(code) for code in different]
    if names is None:
        return np.array(whole)[place]
    unknown = [code for code in whole if code not in names]
    if unknown:
        raise LabelError(f"The map {image.label} has the code {unknown[0]}, which names= does not know: {dict(names)}.")
    return label_array([names[code] for code in whole])[place]


def _as_on_map(labels: Array, classes: set[Any]) -> Array:
    """The labels of a reference as the map would have them: in a text field the class 3 is written "3"."""
    texts = [str(plain(label)) for label in labels]
    if all(isinstance(label, str) for label in classes):
        return np.array(texts)
    if all(isinstance(label, int) for label in classes) and all(_WHOLE.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts])
    return labels


def _refuse_many_bands(image: Image) -> None:
    if image.n_bands != 1:
        raise InputError(f"A class map has one band, {image.label} has {image.n_bands}: {', '.join(image.band_names)}.")


def _refuse_no_common_class(truth: Array, mapped: Array, source: str, image: Image) -> None:
    known, drawn = (sorted({plain(label) for label in labels}, key=str) for labels in (truth, mapped))
    if not set(known) & set(drawn):
        raise LabelError(
            f"{source} has the classes {', '.join(map(shown, known))}, and the map {image.label} shows "
            f"{', '.join(map(shown, drawn))}: none is in both. Use the same names, or "
            "say what the codes of the map stand for (names)."
        )
