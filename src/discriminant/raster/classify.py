"""The class of every pixel of an image, window by window on all cores, into GeoTIFFs that appear whole or not."""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..data import check_choice
from ..decision.posteriors import Posterior
from ..decision.rules import Decision
from ..engine import ProgressOption, in_order, progress_bar
from ..errors import ColumnError, InputError, ParameterError, Setting
from ..files import check_target, whole_files
from ..results import jsonable, listed
from .class_map import ClassMap, Legend, gdal_tables, qgis_style
from .ground import PixelAreas, pixel_areas
from .image import (
    Array,
    Band,
    Image,
    Paths,
    bands_like,
    extra,
    no_georeference_warning,
    opened,
    refuse_other_bands,
    refuse_palette,
)
from .models import Scorer, pixel_classifier, valued_rows

ProbabilityType = Literal["percent", "float32"]

#: Windows that are read, scored and written at a time are at least so many pixels high and wide; files without tiles
#: have windows as wide as the image. The tiles that are written are no higher, so that each is written once.
_BLOCKS = (512, 256, 128, 64, 32, 16)
#: The largest of those is taken at which a window, with all that is made of it, takes no more than this.
_WINDOW_BYTES = 16_000_000
#: What GDAL may keep of tiles it has read, in bytes. Every tile is read once: keeping more would only fill memory.
_TILE_CACHE = 64_000_000
#: Side of the tiles that are written, in pixels. Lower ones are as much wider.
_TILE = 256
#: What GeoTIFF asks the sides of tiles to be multiples of.
_TILE_STEP = 16
#: What stands behind the name of a raster in the names of the files that tell more about it.
_COMPANIONS = (".aux.xml", ".ovr", ".msk")
#: Overviews halve the image until its longer side is at most this.
_SMALLEST_OVERVIEW = 256


def classify_image(
    model: Any,
    image: Image | Paths,
    output: str | os.PathLike[str],
    *,
    trained_on: Sequence[Band] | None = None,
    training: Mapping[str, Any] | None = None,
    decision: Decision | None = None,
    reject: float | None = None,
    probability: str | os.PathLike[str] | None = None,
    probabilities: str | os.PathLike[str] | None = None,
    probability_type: ProbabilityType = "percent",
    colours: Mapping[Any, str] | None = None,
    overviews: bool = False,
    overwrite: bool = False,
    n_jobs: int | None = -1,
    progress: ProgressOption = False,
) -> ClassMap:
    """Write the class of every pixel of an image as a GeoTIFF, and return what is in it.

    A pixel without a value in any band (nodata, NaN, alpha 0) is never given a class. Codes, names and colours of the
    classes are in the file's metadata, in GDAL's tables of categories and attributes (``.tif.aux.xml``) and in a style
    file for QGIS (``.qml``) beside it; the metadata also say by which model and rule the map was made. Files appear
    whole or not at all.

    Parameters
    ----------
    model : fitted classifier of this package or scikit-learn
        Its columns are the bands of the image, in their order.
    image : Image, path or list of paths
        With the bands the model has learned from.
    output : path
        The class map (``.tif``): uint8, or uint16 where there are more than 255 codes.
    trained_on : sequence of Band, optional
        The bands of the image that the model was trained on. They are found by name or number, see `bands_like`; an
        image with others is refused. None compares with the model's ``feature_names_in_``, or only their number.
    training : dict, optional
        What the model learned from, for the metadata of the map.
    decision : Decision, optional
        Decides by costs instead of the model's own answer; where it abstains, the pixel is rejected.
    reject : float, optional
        For models with normal classes: reject pixels outside the region that holds this share of the pixels of their
        class, such as 0.99: those with a Mahalanobis distance above `discriminant.theory.distance_limits`.
    probability, probabilities : path, optional
        Also write the probability of the most probable class, or of every class (a band each).
    probability_type : {"percent", "float32"}, default="percent"
        Whole percent (uint8, no value 255), or shares (float32, no value NaN).
    colours : dict, optional
        Colours by class, written ``#RRGGBB``.
    overviews : bool, default=False
        Add smaller copies of the rasters to the files, which makes large maps quick to look at.
    overwrite : bool, default=False
        Replace files that exist.
    n_jobs : int, default=-1
        Threads: -1 all cores, None as many as BLAS uses. The map does not depend on it.
    progress : bool, callable or None, default=False
        Whether to show a bar; None: on a terminal, if it takes long. A function is told the windows done and their
        number; what it raises ends the work.

    Returns
    -------
    ClassMap

    See Also
    --------
    read_class_map : Reads it again.
    held_out_accuracy : How right such a map is on areas the model has not seen.

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
    check_choice("probability_type", probability_type, get_args(ProbabilityType))
    target = check_raster_target(output, overwrite)
    style = check_target(target.with_suffix(".qml"), overwrite)
    asked = [(path, every) for path, every in ((probability, False), (probabilities, True)) if path is not None]
    paths = [target, *(check_raster_target(path, overwrite) for path, _ in asked)]
    with opened(image) as given, extra("rasterio").Env(GDAL_CACHEMAX=_TILE_CACHE):
        _refuse_same(paths, given)
        refuse_palette(given)
        source = _with_bands_of(model, trained_on, given)
        if asked and not hasattr(model, "predict_proba"):
            raise ParameterError(
                f"{type(model).__name__} gives no probabilities: leave probability maps out, or use a model that does, "
                "such as maximum likelihood or logistic regression."
            )
        legend, score = pixel_classifier(model, decision, reject, colours)
        kinds = [(every, probability_type == "percent") for _, every in asked]
        about = {**_map_tags(source, model, decision, reject), **({} if training is None else {"TRAINING": training})}
        tags = {name: told if isinstance(told, str) else _json(told) for name, told in about.items()}
        made = _rasters(source, model, legend, paths, kinds, tags)
        rasters = [replace(raster, overviews=overviews) for raster in made]
        texts = {style: qgis_style(legend), _beside(target, ".aux.xml"): gdal_tables(legend)}
        areas = pixel_areas(source)
        counts, extents = _written(source, model, score, rasters, texts, areas, n_jobs, progress)
        pixels = {entry.label: int(counts[entry.code]) for entry in legend.entries}
        hectares = None if areas is None else {entry.label: float(extents[entry.code]) for entry in legend.entries}
        files, findings = (*paths, *texts), (*source.findings, *source.fill_findings())
        return ClassMap(target, legend, pixels, int(counts[legend.nodata]), hectares, files, findings)


def _json(value: Any) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False)


def _map_tags(image: Image, model: Any, decision: Decision | None, reject: float | None) -> dict[str, Any]:
    """How a map was made, as its metadata say it: what is no text goes there as JSON."""
    classes = model.classes_.tolist()
    tags: dict[str, Any] = {
        "TIFFTAG_SOFTWARE": f"discriminant {__version__}",
        "IMAGE": ", ".join(Path(path).name for path in image.paths),
        "BANDS": {band.number: band.name for band in image.bands},
        "MODEL": type(model).__name__,
        "MODEL_SETTINGS": " ".join(repr(model).split()),
    }
    rule = "highest score" if not hasattr(model, "predict_proba") else "most probable class"
    if decision is not None:
        rule = {"prior": "highest prior", "ml": "highest likelihood"}.get(str(decision.rule), rule)
        costs = None if decision.costs is None else decision.risk(Posterior(np.eye(len(classes)), model.classes_))
        if costs is not None:
            rule, actions = "least expected cost", decision.actions_for(model.classes_).tolist()
            tags["COSTS"] = {
                true: dict(zip(actions, row, strict=False)) for true, row in zip(classes, costs.tolist(), strict=True)
            }
        if decision.reject_cost is not None:
            rule += f", no class where that is expected to cost more than {decision.reject_cost:g}"
            tags["REJECT_COST"] = f"{decision.reject_cost:g}"
    if reject is not None:
        rule += f", no class outside the region (of Mahalanobis distances) that holds {reject:g} of the class"
        tags["REJECT"] = f"{reject:g}"
    if getattr(model, "priors_", None) is not None:
        tags["PRIORS"] = dict(zip(classes, model.priors_.tolist(), strict=True))
    return {**tags, "RULE": rule}


def _rasters(
    image: Image,
    model: Any,
    legend: Legend,
    paths: Sequence[Path],
    kinds: Sequence[tuple[bool, bool]],
    about: Mapping[str, str],
) -> list[RasterFile]:
    """The files to be written: the map, then those of probabilities.

    ``kinds`` says of each of those whether it holds every class or only the most probable, and whether in percent.
    """
    height, width = image.shape
    place: dict[str, Any] = {"crs": image.crs, "transform": image.transform if image.georeferenced else None}
    if image.control_points:
        place = {"crs": image.control_points_crs, "gcps": image.control_points}
    grid = {"height": height, "width": width, **place}
    tags, colours = {**about, **legend.tags()}, legend.colour_table
    rasters = [RasterFile(paths[0], grid, legend.dtype, legend.nodata, ("class",), tags, colours)]
    names = tuple(f"probability of {label}" for label in model.classes_.tolist())
    for path, (every, percent) in zip(paths[1:], kinds, strict=True):
        bands = names if every else ("highest probability",)
        dtype, nodata = ("uint8", 255) if percent else ("float32", float("nan"))
        rasters.append(RasterFile(path, grid, dtype, nodata, bands, about, smooth=True))
    return rasters


def _written(
    image: Image,
    model: Any,
    score: Scorer,
    rasters: list[RasterFile],
    texts: Mapping[Path, str],
    areas: PixelAreas | None,
    n_jobs: int | None,
    progress: ProgressOption,
) -> tuple[Array, Array]:
    """Score and write all windows; gives how often each code is in the map, and how many hectares it has."""
    # Windows are as large as what is read and written of them may be.
    pixel = image.n_bands * image.dtype.itemsize + sum(raster.pixel_bytes for raster in rasters)
    fitting = (side for side in _BLOCKS if pixel * math.prod(image.block_shape(side)) <= _WINDOW_BYTES)
    side = next(fitting, _BLOCKS[-1])
    windows, n_codes = list(image.windows(side)), 1 + int(np.iinfo(rasters[0].dtype).max)
    total, extents = np.zeros(n_codes, dtype=np.int64), np.zeros(n_codes)

    def of_window(window: Any) -> tuple[Any, Array, Array, list[Array]]:
        values, valid = image.read(window)
        pixels, flat = np.ascontiguousarray(values.reshape(len(values), -1)), valid.ravel()
        codes = score(pixels, flat)
        found = [codes[None], *_probabilities(model, pixels, flat, rasters[1:])]
        weight = np.zeros(0) if areas is None else areas.of_window(window).ravel()
        own = np.zeros(n_codes) if areas is None else np.bincount(codes, weight, n_codes)
        return window, np.bincount(codes, minlength=n_codes), own, [part.reshape(-1, *valid.shape) for part in found]

    tile = tile_of(image.block_shape(side)[0])
    with new_rasters(rasters, texts, tile) as files, progress_bar("Classifying", len(windows), progress) as advance:
        # Bands were compared by name before; a model that was fitted to a frame need not miss their names again.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        # Closed before the files are: GDAL would not survive that a thread reads from one.
        with closing(in_order(of_window, windows, n_jobs)) as found:
            for window, counts, own, parts in found:
                total += counts
                extents += own
                for file, part in zip(files, parts, strict=True):
                    file.write(part, window=window)
                advance()
    return total, extents


def _probabilities(model: Any, pixels: Array, valid: Array, rasters: Sequence[RasterFile]) -> list[Array]:
    """What is written to files of probabilities, shape (bands, n) each: of every class or the highest."""
    out = [np.full((len(raster.bands), len(valid)), raster.nodata, dtype=raster.dtype) for raster in rasters]
    for rows, where in valued_rows(pixels, valid) if rasters else ():
        posteriors = np.asarray(model.predict_proba(rows))
        for bands in out:
            found = posteriors.T if len(bands) > 1 else posteriors.max(axis=1)[None]
            bands[:, where] = np.rint(100 * found.astype(np.float32)) if bands.dtype == np.uint8 else found
    return out


def _refuse_same(targets: Sequence[Path], image: Image) -> None:
    for path in targets:
        if targets.count(path) > 1:
            raise InputError(f"{str(path)!r} is given for two files. Give each a name of its own.")
        if str(path) in map(os.path.realpath, image.paths):
            raise InputError(f"{str(path)!r} is the image itself. Give the map a name of its own.")


def _with_bands_of(model: Any, trained_on: Sequence[Band] | None, image: Image) -> Image:
    """The image with the bands of the model; an error where it has others."""
    names = getattr(model, "feature_names_in_", None)
    if trained_on is not None:
        image = bands_like(trained_on, image)
        refuse_other_bands(trained_on, image)
    elif names is not None:
        wanted = [Band(str(name), "", named=True) for name in names]
        image = bands_like(wanted, image)
        if len(wanted) == image.n_bands:  # the names are all that is known of them
            refuse_other_bands(
                [replace(new, name=old.name, named=True) for old, new in zip(wanted, image.bands, strict=True)], image
            )
    expected = getattr(model, "n_features_in_", image.n_bands)
    if expected != image.n_bands:
        raise ColumnError(
            f"The model was trained on {expected} bands, and {image.label} has {image.n_bands}: "
            f"{listed(image.band_names, 20)}. Give the bands it was trained on, in their order (",
            Setting("bands"),
            ").",
        )
    return image


@dataclass(frozen=True)
class RasterFile:
    """A GeoTIFF that is going to be written.

    ``grid`` has its height, width, crs and transform. ``smooth`` says that values may be averaged in overviews; codes
    of classes may not.
    """

    path: Path
    grid: Mapping[str, Any]
    dtype: str
    nodata: float
    bands: tuple[str, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[int, tuple[int, int, int, int]] | None = None
    overviews: bool = False
    smooth: bool = False

    @property
    def pixel_bytes(self) -> int:
        """What a pixel takes before it is compressed."""
        return len(self.bands) * np.dtype(self.dtype).itemsize

    @property
    def most_bytes(self) -> int:
        """What the file takes if its values cannot be compressed at all."""
        plain = self.grid["height"] * self.grid["width"] * self.pixel_bytes
        return plain * 4 // 3 if self.overviews else plain

    @property
    def reductions(self) -> list[int]:
        """By how much each overview is smaller."""
        longest = max(self.grid["height"], self.grid["width"]) if self.overviews else 0
        return [2**k for k in range(1, 32) if 2 * longest > 2**k * _SMALLEST_OVERVIEW]


def tile_of(height: int) -> tuple[int, int]:
    """Height and width of tiles for rasters that are written in windows of this height.

    A tile that lies in two windows is compressed twice, and takes its room in the file twice.

    >>> tile_of(512), tile_of(32), tile_of(100)
    ((256, 256), (32, 2048), (256, 256))
    """
    down = math.gcd(height, _TILE)
    return (_TILE, _TILE) if down < _TILE_STEP else (down, _TILE * _TILE // down)


def check_raster_target(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """The path of a GeoTIFF that can be written; refuses another kind of file, and one that exists."""
    if Path(path).suffix.lower() not in (".tif", ".tiff"):
        raise InputError(f"Maps are written as GeoTIFF: give a name that ends in .tif, got {str(path)!r}.")
    return check_target(path, overwrite)


def check_space(rasters: Sequence[RasterFile]) -> None:
    """Refuse to begin where the disk might not hold all files to the end."""
    needed: dict[int, int] = {}
    for raster in rasters:
        folder = raster.path.parent
        disk = os.stat(folder).st_dev
        needed[disk] = needed.get(disk, 0) + raster.most_bytes
        free = shutil.disk_usage(folder).free
        if needed[disk] > free:
            need, room = (f"{n / 1e9:,.1f} GB" if n >= 1e9 else f"{n / 1e6:,.1f} MB" for n in (needed[disk], free))
            raise InputError(
                f"Not enough room in {str(folder)!r}: the files may need {need}, and {room} are free. Make room, or "
                "write to another disk."
            )


@contextmanager
def new_rasters(
    rasters: Sequence[RasterFile], texts: Mapping[Path, str], tile: tuple[int, int] = (_TILE, _TILE)
) -> Iterator[list[Any]]:
    """Open files to write windows to, as rasterio datasets in their order.

    When all went well and every tile is on the disk, the files take their names, and so do the ``texts`` that go with
    them. When not, none does, and nothing of them is left.
    """
    check_space(rasters)
    try:
        with whole_files([*(raster.path for raster in rasters), *texts]) as parts, no_georeference_warning():
            with ExitStack() as stack:
                yield [stack.enter_context(_opened(*pair, tile)) for pair in zip(rasters, parts, strict=False)]
            for raster, part in zip(rasters, parts, strict=False):
                _finish(raster, part)
            for part, text in zip(parts[len(rasters) :], texts.values(), strict=True):
                part.write_text(text, encoding="utf-8")
    except (OSError, extra("rasterio.errors").RasterioError) as error:
        raise InputError(
            f"{str(rasters[0].path)!r} could not be written to its end: {error.__cause__ or error}. Is the disk full? "
            "Nothing was left behind; files that were there are as before."
        ) from error
    # What GDAL and QGIS keep beside a raster: overviews, masks and statistics of the file that was there.
    for path in (_beside(raster.path, ending) for raster in rasters for ending in _COMPANIONS):
        if path not in texts:
            path.unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    """The file that tells more about a raster."""
    return path.with_name(path.name + ending)


def _opened(raster: RasterFile, part: Path, tile: tuple[int, int]) -> Any:
    dataset = extra("rasterio").open(
        part, "w", driver="GTiff", **raster.grid, count=len(raster.bands), dtype=raster.dtype, nodata=raster.nodata,
        tiled=True, blockxsize=tile[1], blockysize=tile[0], bigtiff="if_safer", interleave="band",
        # Level 6 makes maps a sixth smaller and takes seven times as long.
        compress="deflate", zlevel=1,
    )  # fmt: skip
    dataset.update_tags(**raster.tags)
    dataset.descriptions = raster.bands
    if raster.colours is not None:
        dataset.write_colormap(1, dict(raster.colours))
    return dataset


def _finish(raster: RasterFile, part: Path) -> None:
    """Add overviews, and make sure that all of the file has reached the disk."""
    rasterio, resampling = extra("rasterio"), extra("rasterio.enums").Resampling
    if raster.reductions:
        with rasterio.open(part, "r+") as dataset:
            dataset.build_overviews(raster.reductions, resampling.average if raster.smooth else resampling.nearest)
    # GDAL may write its last tiles when a file is closed, and then tells nobody that the disk was full.
    n_bytes = part.stat().st_size
    with rasterio.open(part) as dataset:
        for band in dataset.indexes:
            for (row, column), _ in dataset.block_windows(band):
                tags = [f"BLOCK_{what}_{column}_{row}" for what in ("OFFSET", "SIZE")]
                where = [dataset.get_tag_item(tag, "TIFF", bidx=band) for tag in tags]
                if None in where or sum(map(int, where)) > n_bytes:
                    raise OSError(f"tile {column}_{row} of band {band} is missing in {raster.path.name!r}")
    for level in range(len(raster.reductions)):
        with rasterio.open(part, overview_level=level) as dataset:
            for _, window in dataset.block_windows(1):
                dataset.read(window=window)
