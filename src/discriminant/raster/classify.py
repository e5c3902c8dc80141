"""The class of every pixel of an image, window by window on all cores, into a GeoTIFF."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..decision.rules import Decision
from ..engine.threads import in_order
from ..errors import ColumnError, DiscriminantWarning, InputError, ParameterError, warn
from ..results import shown
from ..validation.progress import progress_bar
from .assess import pixel_hectares
from .extra import extra
from .image import Band, Image, Paths, open_image, opened, refuse_other_bands, refuse_palette
from .legend import Legend, legend_of_file
from .output import Grid, Plan, check_new, check_target, new_rasters, tile_of
from .scoring import Coder, ProbabilityBands, coder, probability_values
from .style import qgis_style, style_path

Array = np.ndarray[Any, Any]
ProbabilityType = Literal["percent", "float32"]

#: Windows that are read, scored and written at a time are at least so many pixels high and wide; files without tiles
#: have windows as wide as the image. The tiles that are written are no higher, so that each is written once.
_BLOCKS = (512, 256, 128, 64, 32, 16)
#: The largest of those is taken at which a window, with all that is made of it, takes no more than this.
_WINDOW_BYTES = 16_000_000
#: What GDAL may keep of tiles it has read, in bytes. Every tile is read once: keeping more would only fill memory.
_TILE_CACHE = 64_000_000


@dataclass(frozen=True)
class ClassMap:
    """A class map on the disk.

    Attributes
    ----------
    path : Path
    legend : Legend
        Codes, names and colours.
    pixels : dict
        How many pixels were given each class, by name; rejected ones last.
    n_nodata : int
        Pixels without a value.
    hectares : float or None
        The area of a pixel, where the coordinate system has lengths.
    files : tuple of Path
        All files that were written.
    """

    path: Path
    legend: Legend
    pixels: dict[Any, int]
    n_nodata: int
    hectares: float | None
    files: tuple[Path, ...]

    @property
    def areas(self) -> dict[Any, float] | None:
        """The area of each class on the map, in hectares."""
        return None if self.hectares is None else {label: n * self.hectares for label, n in self.pixels.items()}

    def to_dict(self) -> dict[str, Any]:
        """The map as plain values."""
        return {
            "map": str(self.path),
            "classes": [
                {"code": entry.code, "class": entry.label, "colour": entry.colour, "pixels": self.pixels[entry.label]}
                for entry in self.legend.entries
            ],
            "nodata": {"code": self.legend.nodata, "pixels": self.n_nodata},
            "hectares": None if self.areas is None else {str(label): area for label, area in self.areas.items()},
            "files": [str(path) for path in self.files],
        }


def classify_image(
    model: Any,
    image: Image | Paths,
    output: str | os.PathLike[str],
    *,
    trained_on: Sequence[Band] | None = None,
    decision: Decision | None = None,
    reject: float | None = None,
    probability: str | os.PathLike[str] | None = None,
    probabilities: str | os.PathLike[str] | None = None,
    probability_type: ProbabilityType = "percent",
    colours: Mapping[Any, str] | None = None,
    overviews: bool = False,
    overwrite: bool = False,
    n_jobs: int | None = -1,
    progress: bool | None = False,
) -> ClassMap:
    """Write the class of every pixel of an image as a GeoTIFF, and return what is in it.

    A pixel without a value in any band (nodata, NaN, alpha 0) is never given a class. Codes, names and colours of the
    classes are in the file's metadata and in a style file for QGIS (``.qml``) beside it. Files appear whole or not at
    all.

    Parameters
    ----------
    model : fitted classifier of this package or scikit-learn
        Its columns are the bands of the image, in their order.
    image : Image, path or list of paths
    output : path
        The class map (``.tif``): uint8, or uint16 and without a colour table where there are more than 255 codes.
    trained_on : sequence of Band, optional
        The bands of the image that the model was trained on: an image with others is refused. Default: the model's
        ``feature_names_in_``, or only their number.
    decision : Decision, optional
        Decides by costs instead of the model's own answer; where it abstains, the pixel is rejected.
    reject : float, optional
        For models with normal classes: reject pixels whose squared Mahalanobis distance from their class is above this
        quantile of the chi-square distribution, such as 0.99.
    probability, probabilities : path, optional
        Also write the probability of the most probable class, or of every class (a band each).
    probability_type : {"percent", "float32"}
        Whole percent (uint8, no value 255), or shares (float32, no value NaN).
    colours : dict, optional
        Colours by class, written ``#RRGGBB``.
    overviews : bool
        Add smaller copies of the rasters to the files, which makes large maps quick to look at.
    overwrite : bool
        Replace files that exist.
    n_jobs : int, optional
        Threads: -1 all cores, None as many as BLAS uses. The map does not depend on it.
    progress : bool or None
        Whether to show a bar; None: on a terminal, if it takes long.

    Returns
    -------
    ClassMap

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.raster.classify import classify_image
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(20, 2, (50, 2)), rng.normal(90, 2, (50, 2))])
    >>> model = LinearDiscriminantAnalysis().fit(X, ["water"] * 50 + ["sand"] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"driver": "GTiff", "count": 2, "width": 5, "height": 4, "dtype": "uint8", "nodata": 0}
    ...     form["transform"] = rasterio.Affine(30, 0, 500_000, 0, -30, 200_000)
    ...     with rasterio.open(f"{folder}/image.tif", "w", **form) as file:
    ...         file.write(np.full((2, 4, 5), 21, dtype="uint8"))
    ...     found = classify_image(model, f"{folder}/image.tif", f"{folder}/map.tif")
    >>> found.pixels, found.n_nodata
    ({'sand': 0, 'water': 20}, 0)
    """
    check_is_fitted(model)
    if probability_type not in get_args(ProbabilityType):
        raise ParameterError(f"probability_type must be 'percent' or 'float32', got {probability_type!r}.")
    target = check_target(output, overwrite)
    style = check_new(style_path(target), overwrite)
    percent = probability_type == "percent"
    probable = [
        (check_target(path, overwrite), ProbabilityBands(every, percent))
        for path, every in ((probability, False), (probabilities, True))
        if path is not None
    ]
    with opened(image) as source, _small_tile_cache():
        _refuse_same([target, *(path for path, _ in probable)], source)
        refuse_palette(source)
        _refuse_other_bands(model, trained_on, source)
        if probable:
            _refuse_without_probabilities(model)
        job = _Job(source, coder(model, decision, reject, colours), model, [bands for _, bands in probable])
        _warn_without_colours(job.legend)
        plans = _plans(job, target, probable, overviews)
        counts = _written(job, plans, {style: qgis_style(job.legend)}, n_jobs, progress)
        return _class_map(job.legend, counts, source, (*(plan.path for plan in plans), style))


def read_class_map(path: str | os.PathLike[str]) -> tuple[Array, Legend, Any]:
    """The codes of a class map that `classify_image` wrote, its legend, and its affine transform."""
    legend = legend_of_file(path)
    with open_image(path) as source:
        return source.read()[0][0], legend, source.transform


@dataclass
class _Job:
    """What a worker does with a window."""

    image: Image
    coder: Coder
    model: Any
    probable: Sequence[ProbabilityBands]

    @property
    def legend(self) -> Legend:
        return self.coder.legend

    @property
    def block(self) -> int:
        """How large windows are: as large as what is read and written of them may be."""
        fitting = (block for block in _BLOCKS if self._bytes(block) <= _WINDOW_BYTES)
        return next(fitting, _BLOCKS[-1])

    def _bytes(self, block: int) -> int:
        """What the values of a window take, and what is made of them."""
        made = sum(bands.bytes_of(len(self.model.classes_)) for bands in self.probable)
        a_pixel = self.image.n_bands * self.image.dtype.itemsize + np.dtype(self.legend.dtype).itemsize + made
        return a_pixel * math.prod(self.image.block_shape(block))

    def of_window(self, window: Any) -> tuple[Any, Array, list[Array]]:
        """The window, how often each code is in it, and what is written to each file."""
        values, valid = self.image.read(window)
        pixels, flat = np.ascontiguousarray(values.reshape(len(values), -1)), valid.ravel()
        codes = self.coder.codes(pixels, flat)
        found = [codes[None], *probability_values(self.model, pixels, flat, self.probable)]
        counts = np.bincount(codes, minlength=1 + int(np.iinfo(codes.dtype).max))
        return window, counts, [part.reshape(-1, *valid.shape) for part in found]


def _written(
    job: _Job, plans: list[Plan], texts: Mapping[Path, str], n_jobs: int | None, progress: bool | None
) -> Array:
    """Score and write all windows; gives how often each code is in the map."""
    windows = list(job.image.windows(job.block))
    total = np.zeros(1 + int(np.iinfo(job.legend.dtype).max), dtype=np.int64)
    with (
        new_rasters(plans, texts) as files,
        _no_warning_of_names(),
        progress_bar("Classifying", len(windows), progress) as advance,
    ):
        for window, counts, parts in in_order(job.of_window, windows, n_jobs):
            total += counts
            for file, part in zip(files, parts, strict=True):
                file.write(part, window=window)
            advance()
    return total


def _plans(job: _Job, target: Path, probable: Sequence[tuple[Path, ProbabilityBands]], overviews: bool) -> list[Plan]:
    """The files to be written, the map first."""
    image, legend = job.image, job.legend
    grid = Grid(*image.shape, image.crs, image.transform if image.georeferenced else None)
    about = {"MODEL": type(job.model).__name__, "IMAGE": ", ".join(Path(path).name for path in image.paths)}
    about["TIFFTAG_SOFTWARE"] = f"discriminant {__version__}"
    tags, tile = {**about, **legend.tags()}, tile_of(image.block_shape(job.block)[0])
    plans = [
        Plan(target, grid, legend.dtype, legend.nodata, ("class",), tags, legend.colour_table, overviews, tile=tile)
    ]
    for path, bands in probable:
        names = [f"probability of {label}" for label in job.model.classes_.tolist()]
        names = names if bands.every else ["highest probability"]
        form = (path, grid, bands.dtype, bands.nodata, tuple(names), about)
        plans.append(Plan(*form, overviews=overviews, smooth=True, tile=tile))
    return plans


def _class_map(legend: Legend, counts: Array, image: Image, files: tuple[Path, ...]) -> ClassMap:
    pixels = {entry.label: int(counts[entry.code]) for entry in legend.entries}
    return ClassMap(files[0], legend, pixels, int(counts[legend.nodata]), pixel_hectares(image), files)


@contextmanager
def _small_tile_cache() -> Iterator[None]:
    with extra("rasterio").Env(GDAL_CACHEMAX=_TILE_CACHE):
        yield


@contextmanager
def _no_warning_of_names() -> Iterator[None]:
    """Bands are compared by name before; a model that was fitted to a frame need not miss their names again."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _refuse_same(targets: Sequence[Path], image: Image) -> None:
    for path in targets:
        if targets.count(path) > 1:
            raise InputError(f"{str(path)!r} is given for two files. Give each a name of its own.")
        if str(path) in map(os.path.realpath, image.paths):
            raise InputError(f"{str(path)!r} is the image itself. Give the map a name of its own.")


def _refuse_other_bands(model: Any, trained_on: Sequence[Band] | None, image: Image) -> None:
    names = getattr(model, "feature_names_in_", None)
    if trained_on is None and names is not None and len(names) == image.n_bands:
        trained_on = [Band(str(name), dtype, named=True) for name, dtype in zip(names, image.dtypes, strict=True)]
    if trained_on is not None:
        refuse_other_bands(trained_on, image)
    expected = getattr(model, "n_features_in_", image.n_bands)
    if expected != image.n_bands:
        raise ColumnError(
            f"The model was trained on {expected} bands, and {image.label} has {image.n_bands}: "
            f"{', '.join(image.band_names)}. Give the bands it was trained on, in their order."
        )


def _refuse_without_probabilities(model: Any) -> None:
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{type(model).__name__} gives no probabilities: leave probability maps out, or use a model that does, "
            "such as maximum likelihood or logistic regression."
        )


def _warn_without_colours(legend: Legend) -> None:
    if legend.colour_table is None:
        last = legend.entries[-1]
        warn(
            f"The map has codes up to {last.code} ({shown(last.label)}): it is written as uint16, without a colour "
            "table, which has room for 256 codes. The QGIS style beside it has the colours.",
            DiscriminantWarning,
        )
