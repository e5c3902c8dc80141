"""Samples: the pixels under training areas, with their classes, and what they tell before anything is classified."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..data.labels import encode_labels
from ..engine import side_by_side
from ..errors import DegenerateDataError, InputError
from ..results import plain, shown
from ..tables.learning import Finding
from .areas import open_areas
from .extra import extra
from .grid import moved
from .image import Band, Image, Paths, opened, refuse_palette
from .marks import Marks, MarksPixels, found
from .statistics import ClassStatistics, class_statistics

Array = np.ndarray[Any, Any]

#: Pixels are read in windows of at least so many rows and columns: only those that hold marked pixels.
_BLOCK = 256
#: The usual advice: a class needs so many pixels for each band.
_PIXELS_PER_BAND = 10


class Training(NamedTuple):
    """What a model is fitted to and validated with: ``groups`` are the areas, which stay together."""

    X: Array
    y: Array
    groups: Array


@dataclass(frozen=True)
class Origin:
    """Where samples come from: files, size and place of the image.

    ``crs`` is written as WKT; ``transform`` has the six numbers of the affine map from (column, row) to coordinates.
    """

    paths: tuple[str, ...] = ()
    shape: tuple[int, int] = (0, 0)
    crs: str | None = None
    transform: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class Samples:
    """Pixels with a class each.

    Attributes
    ----------
    X : array of shape (n_pixels, n_bands)
        In the type of the image.
    y : array of shape (n_pixels,)
        Classes.
    areas : array of shape (n_pixels,)
        The id of each pixel's area. Pixels of one area are alike: splits keep them together.
    rows, columns : arrays of shape (n_pixels,)
        Places in the image.
    bands : tuple of Band
        A model that learns from the samples is for images with these bands.
    origin : Origin
    findings : tuple of Finding
        What is worth knowing: areas that overlap, lie outside, have no pixel; classes with few pixels.
    """

    X: Array
    y: Array
    areas: Array
    rows: Array
    columns: Array
    bands: tuple[Band, ...]
    origin: Origin = Origin()
    findings: tuple[Finding, ...] = ()

    @property
    def n_pixels(self) -> int:
        return len(self.y)

    @property
    def band_names(self) -> tuple[str, ...]:
        return tuple(band.name for band in self.bands)

    @cached_property
    def classes(self) -> Array:
        return encode_labels(self.y, len(self.y))[0]

    @property
    def coordinates(self) -> Array:
        """The centre of each pixel, shape (n_pixels, 2), in the coordinate system of the image."""
        return moved(self.origin.transform, self.columns + 0.5, self.rows + 0.5)

    @cached_property
    def statistics(self) -> ClassStatistics:
        """Counts, means, spread and covariances of each class."""
        return class_statistics(self.X, self.y, self.areas, self.band_names)

    def to_training(self) -> Training:
        """Rows, labels and groups for `fit` and for cross-validation that holds out whole areas."""
        return Training(self.X, self.y, self.areas)

    def take(self, chosen: Any) -> Samples:
        """Some of the pixels: a mask, or their numbers."""
        part = {key: getattr(self, key)[chosen] for key in ("X", "y", "areas", "rows", "columns")}
        return replace(self, **part)

    def of_classes(self, classes: Any) -> Samples:
        """The pixels of some classes only."""
        wanted = [plain(label) for label in classes]
        unknown = [label for label in wanted if label not in self.classes.tolist()]
        if unknown:
            raise InputError(f"No pixel has class {shown(unknown[0])}. Classes: {', '.join(map(str, self.classes))}.")
        return self.take(np.isin(self.y, wanted))

    def __str__(self) -> str:
        notes = [f"{finding.severity}: {finding.message}" for finding in self.findings]
        head = f"{self.n_pixels:,} pixels, {len(self.classes)} classes, {len(self.bands)} bands"
        return "\n".join([head, str(self.statistics), *notes])

    __repr__ = __str__


def draw_samples(
    image: Image | Paths, areas: Any, class_field: str | None = None, n_jobs: int | None = None
) -> Samples:
    """The pixels of an image whose centres lie in training areas, with the classes of the areas.

    Only the parts of the image that hold areas are read. Pixels without a value are left out, and so are those that
    areas of different classes claim; `Samples.findings` says so.

    Parameters
    ----------
    image : path, list of paths, or Image
    areas : path, or what `open_areas` gives
    class_field : str, optional
        For a path: the field that holds the class.
    n_jobs : int, optional
        Threads that read: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    Samples

    Examples
    --------
    >>> import json, pathlib, tempfile, rasterio, numpy as np
    >>> from discriminant.raster import draw_samples
    >>> def square(left, name):
    ...     ring = [[left, 1], [left + 3, 1], [left + 3, 4], [left, 4], [left, 1]]
    ...     shape = {"type": "Polygon", "coordinates": [ring]}
    ...     return {"type": "Feature", "geometry": shape, "properties": {"cover": name}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"driver": "GTiff", "count": 3, "width": 8, "height": 4, "dtype": "uint8"}
    ...     form |= {"crs": "EPSG:4326", "transform": rasterio.Affine(1, 0, 0, 0, -1, 4)}
    ...     with rasterio.open(f"{folder}/photo.tif", "w", **form) as file:
    ...         file.write(np.arange(96, dtype="uint8").reshape(3, 4, 8))
    ...     shapes = {"type": "FeatureCollection", "features": [square(0, "water"), square(5, "sand")]}
    ...     _ = pathlib.Path(folder, "areas.geojson").write_text(json.dumps(shapes))
    ...     samples = draw_samples(f"{folder}/photo.tif", f"{folder}/areas.geojson", "cover")
    >>> print(samples.statistics)
    class  pixels  areas        red      green       blue
    sand        9      1  14 ± 6.98  46 ± 6.98  78 ± 6.98
    water       9      1   9 ± 6.98  41 ± 6.98  73 ± 6.98
    mean ± standard deviation in each band
    """
    if isinstance(areas, (str, os.PathLike)):
        areas = open_areas(areas, class_field)
    elif class_field is not None:
        raise InputError("class_field= is for the path of areas; these are open already. Give it to open_areas.")
    with opened(image) as source:
        refuse_palette(source)
        marks = areas.marks(source)
        values, marks = marked_values(source, marks, n_jobs)
        _refuse_nothing(marks, areas, source)
        return _samples(source, values, marks)


def marked_values(image: Image, marks: Marks, n_jobs: int | None = None) -> tuple[Array, Marks]:
    """The values of the marked pixels, shape (n_pixels, n_bands), and the marks of those that hold values."""
    height, width = image.shape
    down, across = image.block_shape(_BLOCK)
    block = (marks.rows // down) * (-(-width // across)) + marks.columns // across
    order = np.argsort(block, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(block[order])) + 1) if len(order) else []
    values = np.empty((marks.n_pixels, image.n_bands), dtype=image.dtype)
    valid = np.zeros(marks.n_pixels, dtype=bool)
    window = extra("rasterio.windows").Window

    def read(part: Array) -> None:
        top, left = (marks.rows[part[0]] // down) * down, (marks.columns[part[0]] // across) * across
        where = window(int(left), int(top), int(min(across, width - left)), int(min(down, height - top)))
        array, seen = image.read(where)
        rows, columns = marks.rows[part] - top, marks.columns[part] - left
        values[part], valid[part] = array[:, rows, columns].T, seen[rows, columns]

    if parts:
        side_by_side(read, parts, n_jobs)
    return values[valid], marks.take(valid).noting(*_without_value(marks, valid))


def _without_value(marks: Marks, valid: Array) -> list[Finding]:
    if valid.all():
        return []
    gone = np.setdiff1d(np.unique(marks.area), marks.area[valid])
    lost = f" Nothing is left of {marks.named(gone)}." if gone.size else ""
    message = f"{np.count_nonzero(~valid):,} of {len(valid):,} marked pixels hold no value (nodata) and are left out."
    return [found("warning" if gone.size else "note", "nodata", message + lost)]


def _refuse_nothing(marks: Marks, areas: MarksPixels, image: Image) -> None:
    if not marks.n_pixels:
        why = " ".join(finding.message for finding in marks.findings)
        raise DegenerateDataError(f"No pixel of {image.label} could be sampled with {areas.source}. {why}".strip())


def _samples(image: Image, values: Array, marks: Marks) -> Samples:
    transform = tuple(float(number) for number in image.transform[:6])
    crs = None if image.crs is None else image.crs.to_wkt()
    samples = Samples(
        X=np.ascontiguousarray(values),
        y=marks.labels[marks.area],
        areas=marks.ids[marks.area],
        rows=marks.rows,
        columns=marks.columns,
        bands=image.bands,
        origin=Origin(image.paths, image.shape, crs, transform),
        findings=(*_transparency(image), *marks.findings),
    )
    return replace(samples, findings=(*samples.findings, *_thin_classes(samples, marks.labels)))


def _transparency(image: Image) -> list[Finding]:
    words = "is marked as transparency (alpha), so it hides pixels and is no band to learn from. If it holds values, "
    words += "give it a name (a band description)."
    return [found("note", "alpha", f"{band[0].upper()}{band[1:]} {words}") for band in image.alpha_bands]


def _thin_classes(samples: Samples, labels: Array) -> list[Finding]:
    """Classes that are lost, that have too few pixels for the bands, or that come from one area."""
    p, counts = len(samples.bands), dict(zip(samples.classes.tolist(), samples.statistics.counts.tolist(), strict=True))
    areas = dict(zip(samples.classes.tolist(), samples.statistics.areas.tolist(), strict=True))
    findings = [
        found("warning", "no-pixels", f"Class {shown(label)} has no pixel left: it cannot be learned.")
        for label in sorted(set(labels.tolist()) - set(counts))
    ]
    for label, n in counts.items():
        if n <= p:
            words = f"Class {shown(label)} has {n} pixels in {p} bands: its covariance cannot be estimated. Mark more."
            findings.append(found("warning", "few-pixels", words))
        elif n < _PIXELS_PER_BAND * p:
            words = f"Class {shown(label)} has {n} pixels; {_PIXELS_PER_BAND} for each of the {p} bands are advisable."
            findings.append(found("note", "few-pixels", words))
        if areas[label] == 1:
            words = f"Class {shown(label)} comes from one area: how well it is found elsewhere cannot be judged."
            findings.append(found("note", "one-area", words))
    return findings
