"""Class maps of a large image, compared with scikit-learn's ``predict`` in the same windows of the same files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import discriminant as ours
from discriminant.raster import MapOptions, MapRule, Smoothing, open_image
from discriminant.raster.classify import classify_image

from .measure import Case, Contender, in_fresh_process

Array = np.ndarray[Any, Any]

#: A Sentinel-2 tile at 10 m: 4 bands of uint16.
SIDE, BANDS, CLASSES = 10_980, 4, 6
_BLOCK = 512
#: Smoothed maps are made of a part of this side.
PART = 5_000
#: Side and columns of an image of embeddings.
EMBEDDING_SIDE, EMBEDDING_COLUMNS = 2_048, 64


def cases() -> Iterator[Case]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    X, y = training_pixels()
    pairs: list[tuple[str, Any, Any, float]] = [
        ("LDA", ours.LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis(), 3.0),
        ("maximum likelihood", ours.QuadraticDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), 5.0),
    ]
    title = f"map, {SIDE:,} x {SIDE:,} x {BANDS} uint16, {CLASSES} classes"
    for name, mine, theirs, bar in pairs:
        yield _case(f"{name} {title}", mine.fit(X, y), theirs.fit(X, y), image_file, bar)
    yield _embedding_case()
    mine, theirs = ours.LinearDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    for strength in (1.0, 0.5):
        yield _smoothing_case(mine, theirs, Smoothing("bayes", 7, strength))


def _embedding_case() -> Case:
    from sklearn.linear_model import LogisticRegression

    y = np.arange(1, CLASSES + 1, dtype=np.uint8).repeat(500)
    X = embedding_pixels(y, np.random.default_rng(1)).T.astype(np.float32)
    mine, theirs = ours.LogisticRegression(1e-3, standardize=False), LogisticRegression(C=1000 / len(y))
    title = f"logistic map of embeddings, {EMBEDDING_SIDE:,} x {EMBEDDING_SIDE:,} x {EMBEDDING_COLUMNS} int8"
    return _case(f"{title}, {CLASSES} classes", mine.fit(X, y), theirs.fit(X, y), embedding_file, 3.0)


def _case(title: str, mine: Any, theirs: Any, made: Callable[[], Path], bar: float) -> Case:
    folder = _folder()

    def contenders() -> list[Contender]:
        image = made()  # before anybody is timed

        def our_map() -> Path:
            return classify_image(mine, image, folder / "ours.tif", options=MapOptions(overwrite=True)).path

        def their_map(threads: int) -> Path:
            return windows_by_predict(theirs, image, folder / "theirs.tif", threads)

        return [
            Contender("discriminant", our_map, agreement, ours=True),
            Contender("scikit-learn", partial(their_map, 1), agreement),
            Contender("scikit-learn, windows on two threads", partial(their_map, 2), agreement),
        ]

    bars = {"scikit-learn": bar, "scikit-learn, windows on two threads": bar}
    return Case(title, contenders, bars, "share of true classes", tolerance=1e-6, rounds=1)


def windows_by_predict(model: Any, image: Path, target: Path, threads: int = 1) -> Path:
    """A map by rasterio and scikit-learn: windows are read, predicted and written."""
    import rasterio

    def predicted(values: Array) -> Array:
        return model.predict(values.reshape(len(values), -1).T)

    with rasterio.open(image) as source, open_image(image) as grid:
        form = {**source.profile, "count": 1, "dtype": "uint8", "nodata": 0, "compress": "deflate", "zlevel": 1}
        with rasterio.open(target, "w", **form) as file, ThreadPoolExecutor(threads) as pool:
            windows = list(grid.windows(_BLOCK))
            for start in range(0, len(windows), threads):
                some = windows[start : start + threads]
                read = [source.read(window=window) for window in some]
                for window, values, codes in zip(some, read, pool.map(predicted, read), strict=True):
                    file.write(codes.reshape(1, *values.shape[1:]).astype(np.uint8), window=window)
    return target


def _smoothing_case(mine: Any, theirs: Any, smoothing: Smoothing) -> Case:
    """A smoothed map on one thread each, so that times are CPU times."""
    folder = _folder()

    def contenders() -> list[Contender]:
        image = part_of_image()

        def our_map() -> Path:
            options = MapOptions(overwrite=True, n_jobs=1)
            return classify_image(mine, image, folder / "smooth.tif", MapRule(smoothing=smoothing), options).path

        return [
            Contender("discriminant", our_map, agreement, ours=True),
            Contender(
                "rasterio + scikit-learn + scipy.ndimage",
                lambda: smoothed_by_scipy(theirs, image, folder / "scipy.tif", smoothing),
                agreement,
            ),
        ]

    title = f"LDA map, {smoothing}, {PART:,} x {PART:,} x {BANDS} uint16, {CLASSES} classes, one thread"
    bars = {"rasterio + scikit-learn + scipy.ndimage": 3.0}
    return Case(title, contenders, bars, "share of true classes", tolerance=1e-6, rounds=1)


def smoothed_by_scipy(model: Any, image: Path, target: Path, smoothing: Smoothing) -> Path:
    """A smoothed map: windows of 1,024 pixels are read with a margin, predicted, filtered and written."""
    import rasterio
    from scipy.ndimage import uniform_filter
    from threadpoolctl import threadpool_limits

    side, margin = smoothing.window, smoothing.margin
    noise = np.inf if smoothing.strength == 1 else smoothing.strength / (4 * (1 - smoothing.strength))
    with rasterio.open(image) as source, threadpool_limits(1):
        form = {**source.profile, "count": 1, "dtype": "uint8", "nodata": 0, "compress": "deflate", "zlevel": 1}
        height, width = source.shape
        with rasterio.open(target, "w", **form) as file:
            for top, left in np.ndindex(-(-height // 1024), -(-width // 1024)):
                rows, columns = (
                    (1024 * start, min(1024 * (start + 1), stop)) for start, stop in ((top, height), (left, width))
                )
                outer = [
                    (max(start - margin, 0), min(stop + margin, most))
                    for (start, stop), most in ((rows, height), (columns, width))
                ]
                values = source.read(window=tuple(outer))
                found = model.predict_proba(values.reshape(len(values), -1).T).T.astype(np.float32)
                shares = found.reshape(-1, *values.shape[1:])
                counts = uniform_filter(np.ones(values.shape[1:], np.float32), side, mode="constant")
                for k, own in enumerate(shares):
                    mean = uniform_filter(own, side, mode="constant") / counts
                    if np.isfinite(noise):
                        variance = uniform_filter(own * own, side, mode="constant") / counts - mean**2
                        mean = (variance * own + noise * mean) / (variance + noise)
                    shares[k] = mean
                codes = model.classes_[shares.argmax(axis=0)]
                (above, _), (beside, _) = outer
                own_part = codes[rows[0] - above : rows[1] - above, columns[0] - beside : columns[1] - beside]
                file.write(own_part[None], window=(rows, columns))
    return target


def agreement(path: Path) -> float:
    """The share of the map's first rows that have their true class."""
    import rasterio

    with rasterio.open(path) as file:
        found = file.read(1, window=((0, _BLOCK), (0, file.width)))
    return float(np.mean(found == truth(0)[:, : found.shape[1]]))


def training_pixels(n: int = 20_000) -> tuple[Array, Array]:
    """Pixels whose classes are known."""
    rng = np.random.default_rng(1)
    y = rng.integers(1, CLASSES + 1, n).astype(np.uint8)
    return pixels(y, rng).T.astype(np.float64), y


def pixels(codes: Array, rng: np.random.Generator) -> Array:
    """Normal pixels of these classes, bands first, with a mean and a covariance for each class."""
    fixed = np.random.default_rng(0)
    means = fixed.uniform(1200, 2400, (CLASSES, BANDS))
    roots = 120 * (np.eye(BANDS) + 0.5 * fixed.normal(size=(CLASSES, BANDS, BANDS)))
    noise = rng.standard_normal((codes.size, BANDS), dtype=np.float32)
    values = np.empty((BANDS, codes.size), dtype=np.uint16)
    for k in range(CLASSES):
        own = codes.ravel() == k + 1
        values[:, own] = np.clip(means[k] + noise[own] @ roots[k], 1, 10_000).T
    return values.reshape(BANDS, *codes.shape)


def embedding_pixels(codes: Array, rng: np.random.Generator) -> Array:
    """Vectors of unit length times 127, bands first, with a mean direction for each class."""
    means = np.random.default_rng(0).normal(size=(CLASSES, EMBEDDING_COLUMNS)) / np.sqrt(EMBEDDING_COLUMNS)
    values = means[codes - 1] + 0.12 * rng.standard_normal((*codes.shape, EMBEDDING_COLUMNS), dtype=np.float32)
    values *= 127 / np.linalg.norm(values, axis=-1, keepdims=True)
    return np.moveaxis(np.round(values), -1, 0).astype(np.int8)


def truth(strip: int) -> Array:
    """The classes of one strip of rows: fields of 40 x 60 pixels."""
    rows = np.arange(strip * _BLOCK, min((strip + 1) * _BLOCK, SIDE)) // 40
    fields = np.add.outer(7 * rows, 3 * (np.arange(SIDE) // 60))
    return (fields % CLASSES + 1).astype(np.uint8)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="discriminant-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def image_file() -> Path:
    """The image, made once for all cases."""
    import rasterio

    path, rng = _folder() / "image.tif", np.random.default_rng(2)
    form = {
        "driver": "GTiff", "width": SIDE, "height": SIDE, "count": BANDS, "dtype": "uint16", "nodata": 0,
        "tiled": True, "blockxsize": _BLOCK, "blockysize": _BLOCK, "crs": "EPSG:32633",
        "transform": rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000),
    }  # fmt: skip
    with rasterio.open(path, "w", **form) as file:
        for strip in range(-(-SIDE // _BLOCK)):
            values = pixels(truth(strip), rng)
            file.write(values, window=((strip * _BLOCK, strip * _BLOCK + values.shape[1]), (0, SIDE)))
    return path


@cache
def embedding_file() -> Path:
    """An image of embeddings, made once."""
    import rasterio

    path, rng = _folder() / "embeddings.tif", np.random.default_rng(3)
    form = {
        "driver": "GTiff", "width": EMBEDDING_SIDE, "height": EMBEDDING_SIDE, "count": EMBEDDING_COLUMNS,
        "dtype": "int8", "nodata": -128, "tiled": True, "blockxsize": _BLOCK, "blockysize": _BLOCK,
        "interleave": "band", "crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000),
    }  # fmt: skip
    with rasterio.open(path, "w", **form) as file:
        for strip in range(EMBEDDING_SIDE // _BLOCK):
            values = embedding_pixels(truth(strip)[:, :EMBEDDING_SIDE], rng)
            file.write(values, window=((strip * _BLOCK, (strip + 1) * _BLOCK), (0, EMBEDDING_SIDE)))
    return path


@cache
def part_of_image() -> Path:
    """The upper left part of the image, for smoothed maps."""
    import rasterio

    path = _folder() / "part.tif"
    with rasterio.open(image_file()) as source:
        form = {**source.profile, "height": PART, "width": PART}
        with rasterio.open(path, "w", **form) as file:
            for top in range(0, PART, _BLOCK):
                window = ((top, min(top + _BLOCK, PART)), (0, PART))
                file.write(source.read(window=window), window=window)
    return path


_PEAK = """
import sys
from benchmarks.raster import training_pixels
import discriminant as ours
from discriminant.raster import MapOptions, MapRule, Smoothing, classify_image
model = getattr(ours, sys.argv[1])().fit(*training_pixels())
rule = MapRule(smoothing=Smoothing("bayes", 7, 0.5) if sys.argv[4] else None)
classify_image(model, sys.argv[2], sys.argv[3], rule, MapOptions(overwrite=True))
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def facts() -> tuple[list[str], list[str]]:
    """Peak resident memory of a new process that creates a map, in MB."""
    lines = ["Peak resident memory of a process that creates the whole map:", ""]
    models = ("LinearDiscriminantAnalysis", ""), ("QuadraticDiscriminantAnalysis", "")
    for name, smoothing in (*models, ("LinearDiscriminantAnalysis", "with Bayesian smoothing")):
        arguments = [name, str(image_file()), str(_folder() / "memory.tif"), smoothing]
        code = f"import sys; sys.argv[1:] = {arguments!r}\n{_PEAK}"
        lines.append(f"- {name}{smoothing and ' ' + smoothing}: {int(in_fresh_process(code)) / 1024:.0f} MB")
    return lines, []
