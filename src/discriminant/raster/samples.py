"""Samples: the pixels under training areas, with their classes; their statistics, and their files (Parquet)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..data import LabelledRows, as_rows, encode_labels
from ..engine import reduce, side_by_side
from ..errors import DegenerateDataError, InputError
from ..files import whole_file
from ..moments.statistic import ClassMoments
from ..results import (
    Finding,
    Result,
    Severity,
    aligned,
    jsonable,
    number,
    plain,
    records_of,
    several,
    shortened,
    shown,
    told_findings,
)
from .areas import AreaPixels, area_finding, as_areas, file_digest, named_classes
from .image import Array, Band, Image, Paths, apply_affine, check_file, extra, opened, refuse_palette, stored_bands

#: Pixels are read in windows of at least so many rows and columns: only those that hold marked pixels.
_BLOCK = 256
_FORMAT, _VERSION = "discriminant samples", 1
_KEY = b"discriminant"
_PLACES = ("class", "area", "row", "column")
#: So many classes and bands are printed; the others are counted.
_MOST_CLASSES, _MOST_BANDS = 40, 12
#: The usual advice: a class needs so many pixels for each band.
_PIXELS_PER_BAND = 10


@dataclass(frozen=True)
class SampleOrigin:
    """Where samples come from: files, size and place of the image.

    The affine map leads from (column, row) to coordinates.

    Parameters
    ----------
    paths : tuple of str, default=()
        The files of the image.
    shape : tuple of int, default=(0, 0)
        Its height and width.
    crs : str, optional
        Its coordinate system as WKT.
    transform : tuple of float, default=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        Six numbers, as `affine.Affine` takes them.
    areas : str, default=""
        The file of the training areas.
    areas_sha256 : str, default=""
        The digest of that file: a map says by it which areas its model has seen.

    See Also
    --------
    Samples : Have an origin.
    draw_samples : Writes it down.

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
    origin : SampleOrigin
    findings : tuple of Finding
        What is worth knowing: areas that overlap, lie outside, have no pixel; classes with few pixels.

    See Also
    --------
    draw_samples : Takes them from an image.
    load_samples : Reads them from a file.
    split_by_area : Some to learn from, others to test with.
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
        """What a model that learns from these samples has seen, as maps and model files say it."""
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
        """Counts, means, spread and covariances of each class."""
        return class_statistics(self.X, self.y, self.areas, self.band_names)

    def to_training(self) -> tuple[Array, Array, Array]:
        """Rows, labels and groups for `fit` and for cross-validation that holds out whole groups of areas.

        Returns
        -------
        X : array of shape (n_pixels, n_bands)
            The values.
        y, groups : arrays of shape (n_pixels,)
            Class of each pixel, and the group of its area, see `area_groups`: points that are close to each other are
            in one group.
        """
        from .groups import area_groups

        return self.X, self.y, area_groups(self).groups

    def take(self, chosen: Any) -> Samples:
        """Some of the pixels: a mask, or their numbers.

        Parameters
        ----------
        chosen : array-like
            Of bool or int.

        Returns
        -------
        Samples
            With the same bands, origin and findings.
        """
        return replace(self, **{key: getattr(self, key)[chosen] for key in ("X", "y", "areas", "rows", "columns")})

    def of_classes(self, classes: Any) -> Samples:
        """The pixels of some classes only.

        Parameters
        ----------
        classes : list
            Those to keep.

        Returns
        -------
        Samples
            Without the others.
        """
        wanted = [plain(label) for label in classes]
        unknown = [label for label in wanted if label not in self.classes.tolist()]
        if unknown:
            raise InputError(f"No pixel has class {shown(unknown[0])}. Classes: {', '.join(map(str, self.classes))}.")
        return self.take(np.isin(self.y, wanted))

    def _places(self) -> dict[str, Array]:
        return dict(zip(_PLACES, (self.y, self.areas, self.rows, self.columns), strict=True))

    def _columns(self) -> dict[str, Any]:
        """A row for each pixel; bands have their numbers in their names, so that none is called like another column."""
        bands = {f"{j + 1}: {name}": self.X[:, j] for j, name in enumerate(self.band_names)}
        return {**self._places(), **dict(zip("xy", self.coordinates.T, strict=True)), **bands}

    def to_dict(self) -> dict[str, Any]:
        """What is known of the classes and of the image, as plain values.

        Returns
        -------
        dict
            The statistics, ``origin`` and ``findings``; not the pixels.
        """
        return {**self.statistics.to_dict(), "origin": jsonable(self.origin), "findings": jsonable(self.findings)}

    def __str__(self) -> str:
        head = f"{self.n_pixels:,} pixels, {len(self.classes)} classes, {len(self.bands)} bands"
        return "\n".join([head, str(self.statistics), *told_findings(self.findings)])

    def _repr_html_(self) -> str:
        return self.statistics._repr_html_()


def draw_samples(
    image: Image | Paths, areas: Any, class_field: str | None = None, n_jobs: int | None = None
) -> Samples:
    """The pixels of an image whose centres lie in training areas, with the classes of the areas.

    Only the parts of the image that hold areas are read. Pixels without a value are left out, and so are those that
    areas of different classes claim; `Samples.findings` says so.

    Parameters
    ----------
    image : path, list of paths, or Image
        The bands.
    areas : path, Areas or LabelImage
        Where classes are known, see `open_areas`.
    class_field : str, optional
        For a path: the field that holds the class.
    n_jobs : int, optional
        Threads that read: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    Samples

    See Also
    --------
    class_separability : Whether these classes can be told apart, and by which bands.
    split_by_area : Samples to learn from and to test with.

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
        nothing = f"No pixel of {source.label} could be sampled with {areas.source}."
        values, pixels = pixel_values(source, areas.pixels(source), nothing, n_jobs)
        crs = None if source.crs is None else source.crs.to_wkt()
        place = tuple(map(float, source.transform[:6]))
        known = Path(areas.path).name, file_digest(areas.path)
        origin = SampleOrigin(source.paths, source.shape, crs, place, *known)
        y, ids = pixels.labels[pixels.area], pixels.ids[pixels.area]
        samples = Samples(np.ascontiguousarray(values), y, ids, pixels.rows, pixels.columns, source.bands, origin)
        findings = (*source.findings, *source.fill_findings(), *pixels.findings, *_thin_classes(samples, pixels.labels))
        return replace(samples, findings=findings)


def pixel_values(image: Image, pixels: AreaPixels, nothing: str, n_jobs: int | None) -> tuple[Array, AreaPixels]:
    """The values of the marked pixels, shape (n_pixels, n_bands), and the pixels of those that hold values.

    Where none does, ``nothing`` is the error, with what is known of the areas.
    """
    height, width = image.shape
    down, across = image.block_shape(_BLOCK)
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

    if parts:
        side_by_side(read, parts, n_jobs)
    gone = np.setdiff1d(pixels.area, pixels.area[valid])
    lost = f" Nothing is left of {pixels.named(gone)}." if gone.size else ""
    words = f"{np.count_nonzero(~valid):,} of {len(valid):,} marked pixels hold no value (nodata, or hidden by "
    words += "transparency) and are left out."
    kept = pixels.take(valid).noting("warning" if gone.size else "note", "nodata", "" if valid.all() else words + lost)
    if not valid.any():
        raise DegenerateDataError(" ".join([nothing, *(str(finding.message) for finding in kept.findings)]))
    return values[valid], kept


def _thin_classes(samples: Samples, labels: Array) -> list[Finding]:
    """Classes that are lost, that have too few pixels for the bands, or that come from one area: a finding each."""
    p, found = len(samples.bands), samples.statistics
    few, thin = found.counts <= p, (found.counts > p) & (found.counts < _PIXELS_PER_BAND * p)
    lost = sorted(set(labels.tolist()) - set(found.classes.tolist()))
    advisable = f"{_PIXELS_PER_BAND} for each of the {p} bands are advisable."
    kinds: list[tuple[Severity, str, Any, Any, str, str]] = [
        ("warning", "no-pixels", lost, [], "has no pixel left: it cannot be learned.",
         "have no pixel left: they cannot be learned."),
        ("warning", "few-pixels", found.classes[few], found.counts[few],
         f"has {{}} in {several(p, 'band')}: its covariance cannot be estimated. Mark more.",
         f"have as few pixels in {several(p, 'band')}: their covariances cannot be estimated. Mark more."),
        ("note", "few-pixels", found.classes[thin], found.counts[thin],
         f"has {{}}; {advisable}", f"have as few pixels; {advisable}"),
        ("note", "one-area", found.classes[found.areas == 1], [],
         "comes from one area: how well it is found elsewhere cannot be judged.",
         "come from one area each: how well they are found elsewhere cannot be judged."),
    ]  # fmt: skip
    return [
        area_finding(severity, kind, f"{named_classes(of, n)} {one.format(*pixels) if len(of) == 1 else many}")
        for severity, kind, of, n, one, many in kinds
        if (pixels := [several(count, "pixel") for count in n]) or len(of)
    ]


def save_samples(samples: Samples, path: str | os.PathLike[str]) -> None:
    """Write samples to a file, whole or not at all: ``.parquet``, a column for each band.

    Parameters
    ----------
    samples : Samples
        What to keep.
    path : path
        A file of this name is replaced.

    See Also
    --------
    load_samples : Reads the file.
    draw_samples : Makes samples.

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
    """The samples that `save_samples` wrote to a file.

    Parameters
    ----------
    path : path
        ``.parquet``.

    Returns
    -------
    Samples

    See Also
    --------
    save_samples : Writes the file.
    image_model : Models that learn from them.

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
    except Exception as error:
        # Whatever a damaged or foreign file runs into while it is read.
        raise InputError(
            f"{name!r} cannot be read as samples ({type(error).__name__}: {error}). Give a file written by "
            "save_samples or by the command 'raster samples'."
        ) from error


def _check_ending(path: str | os.PathLike[str]) -> None:
    if Path(path).suffix.lower() != ".parquet":
        raise InputError(f"Samples are kept in files that end in .parquet, got {os.fspath(path)!r}.")


def _described(text: str | bytes, arrays: dict[str, Array], X: Array) -> Samples:
    told = json.loads(text)
    if told.get("format") != _FORMAT or told.get("version") != _VERSION:
        raise InputError(f"Expected {_FORMAT} of version {_VERSION}, got {told.get('format')} {told.get('version')}.")
    origin: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in told["origin"].items()}
    bands = stored_bands(told["bands"], "The file")
    findings = tuple(Finding(**finding) for finding in told["findings"])
    y, areas, rows, columns = (arrays[key] for key in _PLACES)
    samples = Samples(X, y, areas, rows, columns, bands, SampleOrigin(**origin), findings)
    if X.shape != (samples.n_pixels, len(samples.bands)):
        raise InputError(f"The file promises {len(samples.bands)} bands and holds values of shape {X.shape}.")
    return samples


def _from_parquet(path: str) -> Samples:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise InputError(f"{path!r} is a table, but no samples of an image. Give a file written by save_samples.")
    columns = {key: table[key].to_numpy() for key in _PLACES}
    # Text comes as objects.
    places = {key: column.astype(str) if column.dtype == object else column for key, column in columns.items()}
    bands = [table[j].to_numpy() for j in range(len(_PLACES) + 2, table.num_columns)]
    return _described(text, places, np.ascontiguousarray(np.stack(bands, axis=1)))


@dataclass(frozen=True, eq=False, repr=False)
class ClassStatistics(Result):
    """Counts, means, spread and covariances of K classes in p bands.

    Attributes
    ----------
    classes : array of shape (K,)
    band_names : tuple of str
    counts, areas : arrays of shape (K,)
        Pixels, and areas they come from.
    means, sds, minima, maxima : arrays of shape (K, p)
    covariances : array of shape (K, p, p)
        Divided by the count less 1; NaN for a class of one pixel, like its standard deviations.

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
        """The statistics as plain values; what is not known is None.

        Returns
        -------
        dict
            The bands, and a record for each class with its covariance.
        """
        values: dict[str, Any] = {**self._by_class(), "covariance": self.covariances}
        return {"bands": list(self.band_names), "classes": jsonable(records_of(values))}

    def __str__(self) -> str:
        shown_bands, sds = self.band_names[:_MOST_BANDS], self.sds
        rows = [["class", "pixels", "areas", *(shortened(band) for band in shown_bands)]]
        for k, label in enumerate(self.classes[:_MOST_CLASSES]):
            values = zip(self.means[k], sds[k], shown_bands, strict=False)
            spread = [f"{mean:.4g} ± {number(sd, 3)}" for mean, sd, _ in values]
            rows.append([shortened(label), f"{self.counts[k]:,}", f"{self.areas[k]:,}", *spread])
        left_out = [
            several(n, name, many)
            for n, name, many in (
                (len(self.classes) - _MOST_CLASSES, "class", "classes"),
                (len(self.band_names) - _MOST_BANDS, "band", "bands"),
            )
            if n > 0
        ]
        more = " and ".join(left_out)
        words = "mean ± standard deviation in each band" + (f"; {more} more are not shown" if more else "")
        return "\n".join([*aligned(rows), words])


def class_statistics(X: Array, y: Array, areas: Array, band_names: tuple[str, ...]) -> ClassStatistics:
    """The statistics of pixels by class."""
    rows = as_rows(X)
    classes, codes = encode_labels(y, rows.n_rows)
    moments = reduce(LabelledRows(rows, classes, codes), ClassMoments(len(classes), rows.n_columns, "class"))
    divisor = np.where(moments.counts > 1, moments.counts - 1.0, np.nan)
    counts, covariances = moments.counts.astype(np.int64), moments.scatter / divisor[:, None, None]
    parts = [(X[own], areas[own]) for own in (codes == k for k in range(len(classes)))]
    n_areas = np.array([len(np.unique(ids)) for _, ids in parts])
    minima, maxima = (np.array([extreme(part, axis=0) for part, _ in parts]) for extreme in (np.min, np.max))
    return ClassStatistics(classes, band_names, counts, n_areas, moments.mean, covariances, minima, maxima)
