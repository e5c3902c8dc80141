"""Class maps of images: every pixel is classified, window by window on all cores, and written to GeoTIFF files."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..arrays import Array, Classifier
from ..data import check_choice
from ..decision.posteriors import Posterior
from ..engine import ProgressOption, in_order, progress_bar
from ..errors import ColumnError, InputError, ParameterError, Setting
from ..files import check_target
from ..results import jsonable, listed
from .accuracy import TRAINING_TAG
from .bands import MAX_NAMED_BANDS, Band, bands_like, refuse_other_bands
from .class_map import ClassMap, gdal_tables, qgis_style
from .coordinates import code_areas, pixel_areas
from .files import extra
from .image import Image, Paths, opened, refuse_palette
from .models import MapRule, valued_rows
from .output import RasterFile, beside, check_raster_target, new_rasters, tile_of
from .rendering import PixelMap, WindowCodes
from .smoothing import WHOLE

if TYPE_CHECKING:
    from rasterio.windows import Window

#: Minimum height and width of the windows that are read, classified and written: the largest for which a window and its
#: results fit into `WINDOW_BYTES`. Windows of files without tiles are as wide as the image.
WINDOW_SIDES: Final = (512, 256, 128, 64, 32, 16)
WINDOW_BYTES: Final = 16_000_000
#: The same for maps whose pixels depend on their neighbourhood: windows are larger, because their margins are read and
#: computed twice. Bytes of a pixel: shares before and after smoothing for each class, patches and their sizes.
WIDE_WINDOW_SIDES: Final = (2048, 1024)
WIDE_WINDOW_BYTES: Final = 100_000_000
SHARE_BYTES: Final = 4
PATCH_BYTES: Final = 12
#: Size of GDAL's cache of tiles. Every tile is read once, so a larger cache would only use memory.
TILE_CACHE_BYTES: Final = 64_000_000


@dataclass(frozen=True)
class MapOptions:
    """Options of a class map.

    Parameters
    ----------
    probability, probabilities : path, optional
        Also write the probability of the most probable class, or of every class (one band each).
    probability_type : {"percent", "float32"}, default="percent"
        Integer percent (uint8, nodata 255), or shares (float32, nodata NaN).
    colours : dict, optional
        Colours by class, written ``#RRGGBB``.
    overviews : bool, default=False
        Add overviews to the files, for fast display of large maps.
    cog : bool, default=False
        Write cloud-optimised GeoTIFF files (COG), which have overviews.
    overwrite : bool, default=False
        Replace existing files.
    training : dict, optional
        A description of the training data for the metadata of the map.
    subclass_map : path, optional
        With macro-classes: also write the map of the classes of the model, before small patches are replaced.
    n_jobs : int, default=-1
        Number of threads: -1 all cores, None as many as BLAS uses. The map does not depend on it.
    progress : bool, callable or None, default=False
        Whether to show a progress bar; None: on a terminal, if it takes long. A function is called with the number of
        finished windows and their total; its exceptions stop the work.

    See Also
    --------
    classify_image : Writes a map.
    MapRule : The decision rule of a map.

    Examples
    --------
    >>> from discriminant.raster import MapOptions
    >>> MapOptions(overwrite=True).probability_type
    'percent'
    """

    probability: str | os.PathLike[str] | None = None
    probabilities: str | os.PathLike[str] | None = None
    probability_type: str = "percent"
    colours: Mapping[Any, str] | None = None
    overviews: bool = False
    cog: bool = False
    overwrite: bool = False
    training: Mapping[str, Any] | None = None
    subclass_map: str | os.PathLike[str] | None = None
    n_jobs: int | None = -1
    progress: ProgressOption = False


def classify_image(
    model: Classifier,
    image: Image | Paths,
    output: str | os.PathLike[str],
    rule: MapRule | None = None,
    options: MapOptions | None = None,
    trained_on: Sequence[Band] | None = None,
) -> ClassMap:
    """Classify every pixel of an image and write the map as a GeoTIFF.

    Pixels without a value in any band (nodata, NaN, alpha 0) get no class. Codes, names and colours of the classes are
    stored in the metadata of the map, in GDAL's categories and attribute table (``.tif.aux.xml``) and in a QGIS style
    (``.qml``); the metadata also describe the model and the decision rule. After an error no file is left, and existing
    files are unchanged.

    Parameters
    ----------
    model : fitted classifier of this package or scikit-learn
        Its columns are the bands of the image, in their order.
    image : Image, path or list of paths
        The image, with the bands of the training image.
    output : path
        The class map (``.tif``): uint8, or uint16 with more than 255 codes.
    rule : MapRule, optional
        Costs and rejection. Default: the predictions of the model.
    options : MapOptions, optional
        Further files, colours, and whether files are replaced.
    trained_on : sequence of Band, optional
        The bands of the training image. They are matched by name or number, see `bands_like`, and other bands raise an
        error. Default: the model's ``feature_names_in_``, or only the number of bands.

    Returns
    -------
    ClassMap

    See Also
    --------
    read_class_map : Reads the map.
    held_out_accuracy : The accuracy of such a map on held-out areas.

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
    rule, options = rule or MapRule(), options or MapOptions()
    check_choice("probability_type", options.probability_type, ("percent", "float32"))
    target = check_raster_target(output, options.overwrite)
    style = check_target(target.with_suffix(".qml"), options.overwrite)
    subclasses = [] if options.subclass_map is None else [check_raster_target(options.subclass_map, options.overwrite)]
    if subclasses and rule.macro is None:
        raise ParameterError(Setting("subclass_map"), " requires macro-classes (", Setting("macro"), "). Omit it.")
    probabilities = [path for path in (options.probability, options.probabilities) if path]
    paths = [target, *subclasses, *(check_raster_target(path, options.overwrite) for path in probabilities)]
    with opened(image) as given, extra("rasterio").Env(GDAL_CACHEMAX=TILE_CACHE_BYTES):
        _refuse_same(paths, given)
        refuse_palette(given)
        source = _with_bands_of(model, trained_on, given)
        if probabilities and not hasattr(model, "predict_proba"):
            raise ParameterError(f"{type(model).__name__} does not predict probabilities. Omit the probability maps.")
        rendered = PixelMap.of(model, rule, options.colours)
        legend = rendered.legend
        rasters = _rasters(paths, rendered, source, _map_tags(source, model, rule, options.training), options)
        texts = {style: qgis_style(legend), beside(target, ".aux.xml"): gdal_tables(legend)}
        texts |= {beside(path, ".aux.xml"): gdal_tables(rendered.subclass_legend) for path in subclasses}
        counts = _write(source, rendered, rasters, texts, options)
        by_class = {entry.label: int(counts.pixels[entry.code]) for entry in legend.entries}
        on_ground = None
        if counts.hectares is not None:
            on_ground = {entry.label: float(counts.hectares[entry.code]) for entry in legend.entries}
        files, findings = (*paths, *texts), (*source.findings, *source.fill_findings())
        n_nodata = int(counts.pixels[legend.nodata])
        return ClassMap(target, legend, by_class, n_nodata, on_ground, files, findings, counts.n_masked)


def _rasters(
    paths: Sequence[Path], rendered: PixelMap, image: Image, tags: Mapping[str, str], options: MapOptions
) -> list[RasterFile]:
    """The files of the class map, of subclasses and of the probabilities."""
    grid, legends = grid_of(image), [rendered.legend, *[rendered.subclass_legend] * (options.subclass_map is not None)]
    rasters = [
        RasterFile(
            path, grid, legend.dtype, legend.nodata, ("class",), {**tags, **legend.tags()}, legend.colour_table,
            options.overviews, cog=options.cog,
        )
        for path, legend in zip(paths, legends, strict=False)
    ]  # fmt: skip
    dtype, nodata = ("uint8", 255.0) if options.probability_type == "percent" else ("float32", float("nan"))
    by_class = tuple(f"probability of {label}" for label in rendered.model.classes_.tolist())
    bands = [("highest probability",)] * bool(options.probability) + [by_class] * bool(options.probabilities)
    for path, names in zip(paths[len(legends) :], bands, strict=True):
        rasters.append(
            RasterFile(
                path, grid, dtype, nodata, names, tags, overviews=options.overviews, smooth=True, cog=options.cog
            )
        )
    return rasters


def grid_of(image: Image) -> dict[str, Any]:
    """Size and georeference of an image, as arguments of rasterio."""
    height, width = image.shape
    if image.control_points:
        return {"height": height, "width": width, "crs": image.control_points_crs, "gcps": image.control_points}
    transform = image.transform if image.georeferenced else None
    return {"height": height, "width": width, "crs": image.crs, "transform": transform}


def _json(value: Any) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False)


def _map_tags(image: Image, model: Classifier, made_by: MapRule, training: Mapping[str, Any] | None) -> dict[str, str]:
    """The metadata of a map: image, model and decision rule; values other than text are stored as JSON."""
    classes, decision = model.classes_.tolist(), made_by.decision
    tags: dict[str, Any] = {
        "TIFFTAG_SOFTWARE": f"discriminant {__version__}",
        "IMAGE": ", ".join(Path(path).name for path in image.paths),
        "BANDS": {band.expression or band.number: band.name for band in image.bands},
        "MODEL": type(model).__name__,
        "MODEL_SETTINGS": " ".join(repr(model).split()),
    }
    rule = "most probable class" if hasattr(model, "predict_proba") else "highest score"
    if decision is not None:
        rule = {"prior": "highest prior", "ml": "highest likelihood"}.get(str(decision.rule), rule)
        if decision.costs is not None:
            costs = decision.risk(Posterior(np.eye(len(classes)), model.classes_)).tolist()
            rule, actions = "least expected cost", decision.actions_for(model.classes_).tolist()
            tags["COSTS"] = {
                true: dict(zip(actions, row, strict=False)) for true, row in zip(classes, costs, strict=True)
            }
        if decision.reject_cost is not None:
            rule += f", rejected if the expected cost exceeds {decision.reject_cost:g}"
            tags["REJECT_COST"] = f"{decision.reject_cost:g}"
    if made_by.reject is not None:
        rule += (
            f", rejected if the Mahalanobis distance exceeds the limit that contains {made_by.reject:g} of the class"
        )
        tags["REJECT"] = f"{made_by.reject:g}"
    priors = getattr(model, "priors_", None)
    if priors is not None:
        tags["PRIORS"] = dict(zip(classes, priors.tolist(), strict=True))
    if made_by.smoothing is not None:
        rule += f"; {made_by.smoothing}"
    if made_by.min_pixels > 1:
        rule += f"; minimum mapping unit {made_by.min_pixels} pixels"
    if made_by.macro is not None:
        tags["MACRO_CLASSES"] = dict(zip(classes, made_by.macro.labels(classes).tolist(), strict=True))
    tags["RULE"] = rule
    if training is not None:
        tags[TRAINING_TAG] = training
    return {
        name: value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)
        for name, value in tags.items()
    }


@dataclass
class _Counts:
    """Pixels and hectares of each code of a map (hectares None if unknown), and the pixels that a mask left out."""

    pixels: Array
    hectares: Array | None
    n_masked: int = 0


def _write(
    image: Image, rendered: PixelMap, rasters: list[RasterFile], texts: Mapping[Path, str], options: MapOptions
) -> _Counts:
    """Classify and write all windows; return the pixels and hectares of each code."""
    areas, n_codes, n_maps = pixel_areas(image), rendered.legend.n_codes, 1 + (options.subclass_map is not None)
    side = _window_side(image, rendered, rasters)

    def classified(window: Window) -> tuple[Window, Array, Array, int, list[Array]]:
        found = rendered.of_window(image, window)
        layers = [found.codes[None], found.subclass_codes[None]][:n_maps]
        layers += _probabilities(rendered.model, found, rasters[n_maps:])
        return window, *code_areas(found.codes, window, n_codes, areas), found.n_masked, layers

    windows, tile = list(image.windows(side)), tile_of(image.block_shape(side)[0])
    counts = _Counts(np.zeros(n_codes, dtype=np.int64), None if areas is None else np.zeros(n_codes))
    bar = progress_bar("Classifying", len(windows), options.progress)
    with new_rasters(rasters, texts, tile) as files, bar as advance:
        # Bands have been compared by name; predictions from arrays need no warning about missing names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        # The threads must end before the files are closed: GDAL crashes if a closed file is read.
        with closing(in_order(classified, windows, options.n_jobs)) as results:
            for window, pixels, hectares, n_masked, layers in results:
                counts.pixels += pixels
                counts.n_masked += n_masked
                if counts.hectares is not None:
                    counts.hectares += hectares
                for file, layer in zip(files, layers, strict=True):
                    file.write(layer, window=window)
                advance()
    return counts


def _window_side(image: Image, rendered: PixelMap, rasters: Sequence[RasterFile]) -> int:
    """The minimum side of windows: small for the cache, but large compared with the margin that is read twice."""
    pixel_bytes = image.n_bands * image.dtype.itemsize + sum(raster.pixel_bytes for raster in rasters)
    sides: tuple[int, ...] = WINDOW_SIDES
    limit = WINDOW_BYTES
    if rendered.margin:
        sides, limit = WIDE_WINDOW_SIDES + WINDOW_SIDES, WIDE_WINDOW_BYTES
        pixel_bytes += PATCH_BYTES * (rendered.rule.min_pixels > 1)
        pixel_bytes += SHARE_BYTES * len(rendered.model.classes_) * (rendered.rule.smoothing is not None)
    fitting = (side for side in sides if pixel_bytes * math.prod(image.block_shape(side)) <= limit)
    return next(fitting, WINDOW_SIDES[-1])


def _probabilities(model: Classifier, found: WindowCodes, rasters: Sequence[RasterFile]) -> list[Array]:
    """Probabilities of all classes or the highest, shape (bands, height, width), for each raster."""
    shape, valid = found.valid.shape, found.valid.ravel()
    out = [np.full((len(raster.bands), len(valid)), raster.nodata, dtype=raster.dtype) for raster in rasters]

    def write(posteriors: Array, where: Array) -> None:
        for bands in out:
            layer = posteriors.T if len(bands) > 1 else posteriors.max(axis=1)[None]
            bands[:, where] = np.rint(100 * layer.astype(np.float32)) if bands.dtype == np.uint8 else layer

    if rasters and found.shares is not None:
        write(found.shares.reshape(len(found.shares), -1)[:, valid].T / WHOLE, np.flatnonzero(valid))
    elif rasters:
        pixels = np.ascontiguousarray(found.values.reshape(len(found.values), -1))
        for rows, where in valued_rows(pixels, valid):
            write(np.asarray(model.predict_proba(rows)), where)  # type: ignore[attr-defined]
    return [layer.reshape(-1, *shape) for layer in out]


def _refuse_same(targets: Sequence[Path], image: Image) -> None:
    for path in targets:
        if targets.count(path) > 1:
            raise InputError(f"{str(path)!r} is given for two output files. Give them different names.")
        if str(path) in map(os.path.realpath, image.paths):
            raise InputError(f"{str(path)!r} is the input image. Give the map another name.")


def _with_bands_of(model: Classifier, trained_on: Sequence[Band] | None, image: Image) -> Image:
    """The image with the bands of the model; an error if it has others."""
    names = getattr(model, "feature_names_in_", None)
    if trained_on is not None:
        image = bands_like(trained_on, image)
        refuse_other_bands(trained_on, image)
    elif names is not None:
        wanted = [Band(str(name), "", named=True) for name in names]
        image = bands_like(wanted, image)
        if len(wanted) == image.n_bands:  # only the names are known
            refuse_other_bands(
                [replace(new, name=old.name, named=True) for old, new in zip(wanted, image.bands, strict=True)], image
            )
    expected = getattr(model, "n_features_in_", image.n_bands)
    if expected != image.n_bands:
        found = f"{image.label} has {image.n_bands}: {listed(image.band_names, MAX_NAMED_BANDS)}. "
        words = f"The model was trained on {expected} bands, but {found}Select the bands of the training image ("
        raise ColumnError(words, Setting("bands"), ").")
    return image
