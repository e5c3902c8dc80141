"""Samples: the pixels of training areas with their classes; their statistics, and their files (Parquet)."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..arrays import Array, ArrayLike
from ..data import LabelledRows, as_rows, encode_labels
from ..engine import parallel_map
from ..errors import DegenerateDataError, InputError
from ..files import whole_file
from ..moments.statistic import ClassMoments
from ..results import (
    Finding,
    Result,
    Severity,
    aligned,
    jsonable,
    listed,
    number,
    plain,
    printed_findings,
    records_of,
    several,
    shortened,
    shown,
)
from .area_pixels import AreaPixels, area_finding, named_classes
from .areas import Areas, as_areas, file_digest
from .bands import Band, embedding_findings, stored_bands
from .coordinates import apply_affine
from .files import check_file, extra
from .image import Image, Paths, opened, refuse_palette
from .label_image import LabelImage

#: Pixels are read in windows of at least this many rows and columns: only those with labelled pixels.
MIN_WINDOW_SIDE: Final = 256
_FORMAT, _VERSION = "discriminant samples", 1
_KEY = b"discriminant"
_PLACES = ("class", "area", "row", "column")
#: Number of classes and bands printed in a table.
MAX_PRINTED_CLASSES: Final = 40
MAX_PRINTED_BANDS: Final = 12
#: The usual recommendation for training a covariance: at least this many pixels of each class for each band.
PIXELS_PER_BAND: Final = 10


@dataclass(frozen=True)
class SampleOrigin:
    """The origin of samples: files, size and georeference of the image.

    Parameters
    ----------
    paths : tuple of str, default=()
        The files of the image.
    shape : tuple of int, default=(0, 0)
        Its height and width.
    crs : str, optional
        Its coordinate system as WKT.
    transform : tuple of float, default=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        The affine transform from (column, row) to coordinates, six numbers as for `affine.Affine`.
    areas : str, default=""
        The file of the training areas.
    areas_sha256 : str, default=""
        The digest of that file, by which a map identifies its training areas.

    See Also
    --------
    Samples : Have an origin.
    draw_samples : Records it.

    Examples
    --------
    >>> from discriminant.raster import SampleOrigin
    >>> SampleOrigin(("photo.png",), (600, 800)).crs is None
    True
    """

    paths: tuple[str, ...] = ()
    shape: tuple[int, int] = (0, 0)
    crs: str | None = None
    transform: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    areas: str = ""
    areas_sha256: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Result):
    """Pixels with their classes.

    Attributes
    ----------
    X : array of shape (n_pixels, n_bands)
        Values, in the type of the image.
    y : array of shape (n_pixels,)
        Classes.
    areas : array of shape (n_pixels,)
        The id of each pixel's area. Pixels of one area resemble each other, so splits keep them together.
    rows, columns : arrays of shape (n_pixels,)
        Positions in the image.
    bands : tuple of Band
        The bands of the image.
    origin : SampleOrigin
    findings : tuple of Finding
        Notes and warnings: overlapping areas, areas outside the image or without pixels, classes with few pixels.

    See Also
    --------
    draw_samples : Samples the pixels of an image.
    load_samples : Reads samples from a file.
    split_by_area : Splits samples into training and test data.
    """

    X: Array
    y: Array
    areas: Array
    rows: Array
    columns: Array
    bands: tuple[Band, ...]
    origin: SampleOrigin = SampleOrigin()
    findings: tuple[Finding, ...] = ()

    @property
    def n_pixels(self) -> int:
        return len(self.y)

    @property
    def band_names(self) -> tuple[str, ...]:
        """The names of the columns of ``X``."""
        return tuple(band.name for band in self.bands)

    @cached_property
    def classes(self) -> Array:
        """The classes of the pixels, sorted."""
        return encode_labels(self.y, len(self.y))[0]

    @property
    def training(self) -> dict[str, Any]:
        """A description of the samples for the metadata of maps and model files."""
        image = ", ".join(Path(path).name for path in self.origin.paths)
        n_areas = len(np.unique(self.areas))
        known = {"areas_sha256": self.origin.areas_sha256} if self.origin.areas_sha256 else {}
        return {"areas": self.origin.areas, **known, "n_areas": n_areas, "pixels": self.n_pixels, "image": image}

    @property
    def coordinates(self) -> Array:
        """The centre of each pixel, shape (n_pixels, 2), in the coordinate system of the image."""
        return apply_affine(self.origin.transform, self.columns + 0.5, self.rows + 0.5)

    @cached_property
    def statistics(self) -> ClassStatistics:
        """Counts, means, standard deviations and covariances of each class."""
        return class_statistics(self.X, self.y, self.areas, self.band_names)

    def to_training(self) -> tuple[Array, Array, Array]:
        """Values, labels and groups, for `fit` and for cross-validation that holds out whole groups of areas.

        Returns
        -------
        X : array of shape (n_pixels, n_bands)
            Values.
        y, groups : arrays of shape (n_pixels,)
            The class of each pixel, and the group of its area, see `area_groups`: points close to each other are in one
            group.
        """
        from .groups import area_groups

        return self.X, self.y, area_groups(self).groups

    def take(self, chosen: ArrayLike) -> Samples:
        """Select pixels by a mask or by their indexes.

        Parameters
        ----------
        chosen : array-like
            Bool or int.

        Returns
        -------
        Samples
            With the same bands, origin and findings.
        """
        where = np.asarray(chosen)
        return replace(self, **{key: getattr(self, key)[where] for key in ("X", "y", "areas", "rows", "columns")})

    def of_classes(self, classes: Iterable[Hashable]) -> Samples:
        """Select the pixels of some classes.

        Parameters
        ----------
        classes : list
            Classes to keep.

        Returns
        -------
        Samples
        """
        wanted = [plain(label) for label in classes]
        unknown = [label for label in wanted if label not in self.classes.tolist()]
        if unknown:
            raise InputError(f"No pixel has class {shown(unknown[0])}. Classes: {', '.join(map(str, self.classes))}.")
        return self.take(np.isin(self.y, wanted))

    def _places(self) -> dict[str, Array]:
        return dict(zip(_PLACES, (self.y, self.areas, self.rows, self.columns), strict=True))

    def _columns(self) -> dict[str, Any]:
        """A row for each pixel; numbers before the names of bands keep them different from other columns."""
        bands = {f"{j + 1}: {name}": self.X[:, j] for j, name in enumerate(self.band_names)}
        return {**self._places(), **dict(zip("xy", self.coordinates.T, strict=True)), **bands}

    def to_dict(self) -> dict[str, Any]:
        """The statistics of the classes and the origin, without the pixels, as plain values.

        Returns
        -------
        dict
            The statistics, ``origin`` and ``findings``.
        """
        return {**self.statistics.to_dict(), "origin": jsonable(self.origin), "findings": jsonable(self.findings)}

    def __str__(self) -> str:
        head = f"{self.n_pixels:,} pixels, {len(self.classes)} classes, {len(self.bands)} bands"
        return "\n".join([head, str(self.statistics), *printed_findings(self.findings)])

    def _repr_html_(self) -> str:
        return self.statistics._repr_html_()


def draw_samples(
    image: Image | Paths,
    areas: str | os.PathLike[str] | Areas | LabelImage,
    class_field: str | None = None,
    n_jobs: int | None = None,
) -> Samples:
    """Sample the pixels of an image whose centres are in training areas, with the classes of the areas.

    Only the parts of the image with areas are read. Pixels without a value and pixels in areas of different classes are
    left out, with a finding.

    Parameters
    ----------
    image : path, list of paths, or Image
        The image.
    areas : path, Areas or LabelImage
        The training areas, see `open_areas`.
    class_field : str, optional
        For a path: the field with the class.
    n_jobs : int, optional
        Number of threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    Samples

    See Also
    --------
    class_separability : Separability of the classes, and the bands that contribute to it.
    split_by_area : Splits samples into training and test data.

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
    areas = as_areas(areas, class_field)
    with opened(image) as source:
        refuse_palette(source)
        nothing = f"No valid pixel of {source.label} is in the areas of {areas.source}."
        values, pixels = pixel_values(source, areas.pixels(source), nothing, n_jobs)
        crs = None if source.crs is None else source.crs.to_wkt()
        place = tuple(map(float, source.transform[:6]))
        known = Path(areas.path).name, file_digest(areas.path)
        origin = SampleOrigin(source.paths, source.shape, crs, place, *known)
        y, ids = pixels.labels[pixels.area], pixels.ids[pixels.area]
        samples = Samples(np.ascontiguousarray(values), y, ids, pixels.rows, pixels.columns, source.bands, origin)
        small = _small_classes(samples, pixels.labels)
        findings = (*source.findings, *source.fill_findings(), *pixels.findings, *small, *embedding_findings(samples.X))
        return replace(samples, findings=findings)


def pixel_values(image: Image, pixels: AreaPixels, nothing: str, n_jobs: int | None) -> tuple[Array, AreaPixels]:
    """The values of the labelled pixels, shape (n_pixels, n_bands), and the pixels, without invalid ones.

    If all are invalid, the error begins with ``nothing`` and contains the findings about the areas.
    """
    height, width = image.shape
    down, across = image.block_shape(MIN_WINDOW_SIDE)
    block = (pixels.rows // down) * (-(-width // across)) + pixels.columns // across
    order = np.argsort(block, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(block[order])) + 1) if len(order) else []
    values = np.empty((len(block), image.n_bands), dtype=image.dtype)
    valid = np.zeros(len(block), dtype=bool)
    window = extra("rasterio.windows").Window

    def read(part: Array) -> None:
        top, left = (pixels.rows[part[0]] // down) * down, (pixels.columns[part[0]] // across) * across
        where = window(int(left), int(top), int(min(across, width - left)), int(min(down, height - top)))
        array, seen = image.read(where)
        rows, columns = pixels.rows[part] - top, pixels.columns[part] - left
        values[part], valid[part] = array[:, rows, columns].T, seen[rows, columns]

    parallel_map(read, parts, n_jobs)
    lost = np.setdiff1d(pixels.area, pixels.area[valid])
    more = f" No valid pixel is in {pixels.named(lost)}." if lost.size else ""
    findings = (*pixels.findings, *invalid_pixels(int(np.count_nonzero(~valid)), len(valid), more))
    if not valid.any():
        raise DegenerateDataError(" ".join([nothing, *(str(finding.message) for finding in findings)]))
    return values[valid], replace(pixels.take(valid), findings=findings)


def invalid_pixels(n_invalid: int, n_marked: int, more: str = "") -> list[Finding]:
    """A finding about labelled pixels without a value, if there are any; a warning if there is ``more`` to report."""
    if not n_invalid:
        return []
    words = (
        f"{n_invalid:,} of {n_marked:,} labelled pixels have no value (nodata, transparent or masked) and are left out."
    )
    return [area_finding("warning" if more else "note", "nodata", f"{words}{more}")]


def _small_classes(samples: Samples, labels: Array) -> list[Finding]:
    """Findings about classes without pixels, with few pixels for the number of bands, or from a single area."""
    p, found = len(samples.bands), samples.statistics
    wanted = PIXELS_PER_BAND * p
    few, small = found.counts <= p, (found.counts > p) & (found.counts < wanted)
    lost = sorted(set(labels.tolist()) - set(found.classes.tolist()))
    cases: list[tuple[Severity, str, Any, str]] = [
        ("warning", "no-pixels", lost, "no valid pixel, so left out."),
        ("warning", "few-pixels", found.classes[few], f"too few pixels for a covariance in {several(p, 'band')}."),
        ("note", "few-pixels", found.classes[small], f"fewer than {wanted} pixels ({PIXELS_PER_BAND} per band)."),
        ("note", "one-area", found.classes[found.areas == 1], "all pixels are in one area, so none can be held out."),
    ]
    return [
        area_finding(severity, kind, f"{named_classes(classes)}: {words}")
        for severity, kind, classes, words in cases
        if len(classes)
    ]


def save_samples(samples: Samples, path: str | os.PathLike[str]) -> None:
    """Write samples to a Parquet file, with a column for each band.

    Parameters
    ----------
    samples : Samples
        The samples.
    path : path
        Output file (``.parquet``); an existing file is replaced.

    See Also
    --------
    load_samples : Reads the file.
    draw_samples : Samples the pixels of an image.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from discriminant.raster import Band, Samples, load_samples, save_samples
    >>> values, place = np.array([[7], [9]], dtype="uint8"), np.array([0, 1])
    >>> samples = Samples(values, np.array(["sand", "water"]), place, place, place, (Band("red", "uint8"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_samples(samples, f"{folder}/samples.parquet")
    ...     load_samples(f"{folder}/samples.parquet").y
    array(['sand', 'water'], dtype='<U5')
    """
    _check_ending(path)
    parts = {"bands": samples.bands, "origin": samples.origin, "findings": samples.findings}
    description = json.dumps(jsonable({"format": _FORMAT, "version": _VERSION, **parts}))
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(samples._columns(), metadata={_KEY: description})
    with whole_file(path) as part:
        pyarrow.parquet.write_table(table, part)


def load_samples(path: str | os.PathLike[str]) -> Samples:
    """Read samples written by `save_samples`.

    Parameters
    ----------
    path : path
        Input file (``.parquet``).

    Returns
    -------
    Samples

    See Also
    --------
    save_samples : Writes the file.
    image_model : Models to fit to the samples.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from discriminant.raster import Band, Samples, load_samples, save_samples
    >>> n = np.arange(3)
    >>> kept = Samples(n[:, None], np.array(["a", "b", "b"]), n, n, n, (Band("grey", "int64"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_samples(kept, f"{folder}/kept.parquet")
    ...     load_samples(f"{folder}/kept.parquet").n_pixels
    3
    """
    _check_ending(path)
    name = os.fspath(path)
    check_file(name)
    try:
        return _from_parquet(name)
    except InputError:
        raise
    except Exception as error:  # a damaged or foreign file can cause any error
        raise InputError(
            f"Cannot read samples from {name!r} ({type(error).__name__}: {error}). Give a file written by save_samples "
            "or by the command 'raster samples'."
        ) from error


def _check_ending(path: str | os.PathLike[str]) -> None:
    if Path(path).suffix.lower() != ".parquet":
        raise InputError(f"Samples are stored as Parquet, got {os.fspath(path)!r}. Give a name that ends in .parquet.")


def _from_parquet(path: str) -> Samples:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise InputError(f"{path!r} contains no image samples. Give a file written by save_samples.")
    described = json.loads(text)
    if (described.get("format"), described.get("version")) != (_FORMAT, _VERSION):
        got = f"{described.get('format')} {described.get('version')}"
        raise InputError(f"{path!r}: expected {_FORMAT} of version {_VERSION}, got {got}. Write the samples again.")
    places = [table[key].to_numpy() for key in _PLACES]
    # Text is read as object.
    y, areas, rows, columns = (one.astype(str) if one.dtype == object else one for one in places)
    X = np.stack([table[j].to_numpy() for j in range(len(_PLACES) + 2, table.num_columns)], axis=1)
    bands = stored_bands(described["bands"], repr(path))
    if X.shape[1] != len(bands):
        raise InputError(
            f"{path!r} describes {len(bands)} bands, but has {X.shape[1]}. It may be damaged: extract the samples "
            "again."
        )
    origin: Any = {
        key: tuple(value) if isinstance(value, list) else value for key, value in described["origin"].items()
    }
    findings = tuple(Finding(**finding) for finding in described["findings"])
    return Samples(np.ascontiguousarray(X), y, areas, rows, columns, bands, SampleOrigin(**origin), findings)


@dataclass(frozen=True, eq=False, repr=False)
class ClassStatistics(Result):
    """Counts, means, standard deviations and covariances of K classes in p bands.

    Attributes
    ----------
    classes : array of shape (K,)
    band_names : tuple of str
    counts, areas : arrays of shape (K,)
        The number of pixels, and of their areas.
    means, sds, minima, maxima : arrays of shape (K, p)
    covariances : array of shape (K, p, p)
        With divisor n - 1; NaN for a class of one pixel, like its standard deviations.

    See Also
    --------
    Samples : Have them as ``statistics``.
    """

    classes: Array
    band_names: tuple[str, ...]
    counts: Array
    areas: Array
    means: Array
    covariances: Array
    minima: Array
    maxima: Array

    @property
    def sds(self) -> Array:
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))

    def _by_class(self) -> dict[str, Any]:
        counted: dict[str, Any] = {"class": self.classes, "pixels": self.counts, "areas": self.areas}
        return {**counted, "mean": self.means, "sd": self.sds, "min": self.minima, "max": self.maxima}

    def _columns(self) -> dict[str, Any]:
        """A row for each class and band."""
        K, p = self.means.shape
        flat = {key: np.repeat(v, p) if v.ndim == 1 else v.ravel() for key, v in self._by_class().items()}
        return {"class": flat.pop("class").tolist(), "band": list(self.band_names) * K, **flat}

    def to_dict(self) -> dict[str, Any]:
        """The statistics as plain values; undefined ones are None.

        Returns
        -------
        dict
            The bands, and a record for each class with its covariance.
        """
        values: dict[str, Any] = {**self._by_class(), "covariance": self.covariances}
        return {"bands": list(self.band_names), "classes": jsonable(records_of(values))}

    def __str__(self) -> str:
        bands = self.band_names[:MAX_PRINTED_BANDS]
        rows = [["class", "pixels", "areas", *map(shortened, bands)]]
        for k, label in enumerate(self.classes[:MAX_PRINTED_CLASSES]):
            values = zip(self.means[k], self.sds[k], bands, strict=False)
            cells = [f"{mean:.4g} ± {number(sd, 3)}" for mean, sd, _ in values]
            rows.append([shortened(label), f"{self.counts[k]:,}", f"{self.areas[k]:,}", *cells])
        n_classes, n_bands = len(self.classes) - MAX_PRINTED_CLASSES, len(self.band_names) - MAX_PRINTED_BANDS
        hidden = [several(n_classes, "class", "classes") if n_classes > 0 else "", several(n_bands, "band")]
        more = listed(filter(None, hidden[: 1 + (n_bands > 0)]))
        words = "mean ± standard deviation in each band" + (f"; {more} more are not shown" if more else "")
        return "\n".join([*aligned(rows), words])


def class_statistics(X: Array, y: Array, areas: Array, band_names: tuple[str, ...]) -> ClassStatistics:
    """Compute the statistics of pixels by class."""
    rows = as_rows(X)
    classes, codes = encode_labels(y, rows.n_rows)
    moments = LabelledRows(rows, classes, codes).reduce(ClassMoments(len(classes), rows.n_columns, "class"))
    divisor = np.where(moments.counts > 1, moments.counts - 1.0, np.nan)
    counts, covariances = moments.counts.astype(np.int64), moments.scatter / divisor[:, None, None]
    parts = [(X[own], areas[own]) for own in (codes == k for k in range(len(classes)))]
    n_areas = np.array([len(np.unique(ids)) for _, ids in parts])
    minima, maxima = (np.array([extreme(part, axis=0) for part, _ in parts]) for extreme in (np.min, np.max))
    return ClassStatistics(classes, band_names, counts, n_areas, moments.mean, covariances, minima, maxima)
