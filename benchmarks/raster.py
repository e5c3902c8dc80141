"""Class maps of a large image, compared with scikit-learn's ``predict`` in the same windows of the same files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import discriminant as ours
from discriminant.raster import MapOptions, open_image
from discriminant.raster.classify import classify_image

from .measure import Case, Contender, in_fresh_process

Array = np.ndarray[Any, Any]

#: A Sentinel-2 tile at 10 m: 4 bands of uint16.
SIDE, BANDS, CLASSES = 10_980, 4, 6
_BLOCK = 512


def cases() -> Iterator[Case]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    X, y = training_pixels()
    pairs: list[tuple[str, Any, Any, float]] = [
        ("LDA", ours.LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis(), 3.0),
        ("maximum likelihood", ours.QuadraticDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), 5.0),
    ]
    for name, mine, theirs, bar in pairs:
        yield _case(name, mine.fit(X, y), theirs.fit(X, y), bar)


def _case(name: str, mine: Any, theirs: Any, bar: float) -> Case:
    folder = _folder()

    def contenders() -> list[Contender]:
        image = image_file()  # made before anybody is timed

        def our_map() -> Path:
            return classify_image(mine, image, folder / "ours.tif", options=MapOptions(overwrite=True)).path

        def their_map(threads: int) -> Path:
            return windows_by_predict(theirs, image, folder / "theirs.tif", threads)

        return [
            Contender("discriminant", our_map, agreement, ours=True),
            Contender("scikit-learn", partial(their_map, 1), agreement),
            Contender("scikit-learn, windows on two threads", partial(their_map, 2), agreement),
        ]

    title = f"{name} map, {SIDE:,} x {SIDE:,} x {BANDS} uint16, {CLASSES} classes"
    bars = {"scikit-learn": bar, "scikit-learn, windows on two threads": bar}
    return Case(title, contenders, bars, "share of true classes", tolerance=1e-6, rounds=1)


def windows_by_predict(model: Any, image: Path, target: Path, threads: int = 1) -> Path:
    """A map by rasterio and scikit-learn: windows are read, predicted and written."""
    import rasterio

    def predicted(values: Array) -> Array:
        return model.predict(values.reshape(BANDS, -1).T)

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


def agreement(path: Path) -> float:
    """The share of the map's first rows that have their true class."""
    import rasterio

    with rasterio.open(path) as file:
        found = file.read(1, window=((0, _BLOCK), (0, SIDE)))
    return float(np.mean(found == truth(0)[:_BLOCK]))


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


_PEAK = """
import sys
from benchmarks.raster import training_pixels
import discriminant as ours
from discriminant.raster import MapOptions, classify_image
model = getattr(ours, sys.argv[1])().fit(*training_pixels())
classify_image(model, sys.argv[2], sys.argv[3], options=MapOptions(overwrite=True))
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def facts() -> tuple[list[str], list[str]]:
    """Peak resident memory of a new process that creates a map, in MB."""
    lines = ["Peak resident memory of a process that creates the whole map:", ""]
    for name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
        arguments = [name, str(image_file()), str(_folder() / "memory.tif")]
        code = f"import sys; sys.argv[1:] = {arguments!r}\n{_PEAK}"
        lines.append(f"- {name}: {int(in_fresh_process(code)) / 1024:.0f} MB")
    return lines, []
