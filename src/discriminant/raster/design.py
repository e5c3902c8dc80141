"""Stratified random samples of map pixels for accuracy assessment: sample size, allocation and drawing.

Pixels are drawn at random within each map class, as the estimators of `stratified` require (Olofsson et al. 2014). A
map is read twice, window by window: to count its classes, and to locate the drawn pixels.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, ArrayLike, RandomState
from ..data import check_integer, check_number, label_array
from ..engine import parallel_map
from ..errors import ParameterError, Setting
from ..results import Result, aligned, percent, plain, records_of, shortened, shown
from .areas import write_shapes
from .class_map import counts_by_window, labels_of_codes, no_classes_error
from .coordinates import apply_affine, as_crs
from .files import extra
from .image import Image, Paths, opened

if TYPE_CHECKING:
    from rasterio.windows import Window


@dataclass(frozen=True, eq=False, repr=False)
class SampleDesign(Result):
    """A stratified random sample of map pixels whose reference class is to be determined.

    Pixels are in random order, and their file does not contain the map class: whoever determines the reference class
    should not know it.

    Attributes
    ----------
    strata : list
        The classes of the map.
    pixels : array of shape (strata,)
        The number of pixels of each class on the map.
    allocation : array of shape (strata,)
        The number of drawn pixels of each class.
    rows, columns : arrays of shape (n,)
    mapped : array of shape (n,)
        The map class of each drawn pixel.
    coordinates : array of shape (n, 2)
        The centres of the drawn pixels, in the coordinate system of the map.
    crs : str or None
        The coordinate system as WKT.

    See Also
    --------
    draw_design : Draws the sample.
    """

    strata: list[Any]
    pixels: Array
    allocation: Array
    rows: Array
    columns: Array
    mapped: Array
    coordinates: Array
    crs: str | None

    @property
    def crs_code(self) -> str | None:
        """The coordinate system as a code, such as "EPSG:32632", or as WKT."""
        crs = as_crs(self.crs, "The map")
        return None if crs is None else crs.to_string()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the points to a file with an empty field ``reference`` for their class.

        An existing file is replaced; after an error it is left unchanged.

        Parameters
        ----------
        path : path
            Output file: GeoPackage (``.gpkg``), GeoJSON, Shapefile (``.shp``), KML (longitudes and latitudes) or CSV
            (columns x and y in the coordinate system of the map).
        """
        points = extra("shapely").points(self.coordinates)
        fields = {"id": np.arange(1, len(points) + 1), "reference": np.full(len(points), None, dtype=object)}
        write_shapes(path, points, fields, self.crs, "Point")

    def _columns(self) -> dict[str, Any]:
        return {"class": self.strata, "pixels": self.pixels.tolist(), "to_check": self.allocation.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """The sample as plain values.

        Returns
        -------
        dict
            ``strata`` is the table of `to_frame`.
        """
        return {**super().to_dict(), "strata": records_of(self._columns())}

    def __str__(self) -> str:
        rows = [["map class", "pixels", "share", "to check"]]
        for label, pixels, n in zip(self.strata, self.pixels, self.allocation, strict=True):
            rows.append([shortened(label), f"{pixels:,}", percent(pixels / self.pixels.sum()), f"{n:,}"])
        rows.append(["total", f"{self.pixels.sum():,}", "", f"{self.allocation.sum():,}"])
        return "\n".join(aligned(rows))


def sample_size(shares: ArrayLike, users_accuracy: ArrayLike, standard_error: float = 0.01) -> int:
    """The sample size for an overall accuracy with a given standard error.

    ``(sum of W_i sqrt(U_i (1 - U_i)) / standard_error)^2``, for a large map (Cochran 1977; Olofsson et al. 2014).

    Parameters
    ----------
    shares : array-like
        The share of each class in the map, ``W_i``.
    users_accuracy : number or array-like
        The expected user's accuracy of each class, ``U_i``.
    standard_error : float, default=0.01
        The target standard error of the overall accuracy, as a share.

    Returns
    -------
    int
        The number of pixels in all classes together.

    See Also
    --------
    allocate : Distributes the sample over the classes.

    References
    ----------
    Cochran, W. G. (1977). Sampling Techniques, 3rd ed. Wiley. Equation 5.25.

    Examples
    --------
    >>> sample_size([0.02, 0.015, 0.32, 0.645], [0.7, 0.6, 0.9, 0.95], 0.01)
    641
    """
    check_number("standard_error", standard_error, 0, open_below=True)
    weight = np.asarray(shares, dtype=np.float64)
    expected = np.broadcast_to(np.asarray(users_accuracy, dtype=np.float64), weight.shape)
    if weight.ndim != 1 or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        wrong = f" must be class proportions: numbers of at least 0, not all 0; got {shares!r}."
        raise ParameterError(Setting("shares"), wrong)
    if not ((expected > 0) & (expected < 1)).all():
        raise ParameterError(Setting("users_accuracy"), f" must be between 0 and 1, got {users_accuracy!r}.")
    sd = (weight / weight.sum() * np.sqrt(expected * (1 - expected))).sum()
    return int(np.ceil((sd / standard_error) ** 2 - 1e-9))  # rounding must not add a pixel


def allocate(total: int, pixels: ArrayLike, at_least: int = 50) -> Array:
    """Allocate a sample to classes in proportion to their area, with a minimum number for each class.

    Rare classes get ``at_least`` pixels, so that their user's accuracy can be estimated; the others share the rest. No
    class gets more pixels than it has.

    Parameters
    ----------
    total : int
        The sample size of all classes together.
    pixels : array-like of int
        The number of pixels of each class on the map.
    at_least : int, default=50
        The minimum sample size of a class.

    Returns
    -------
    array of int
        The sample size of each class.

    See Also
    --------
    sample_size : The total sample size.
    draw_design : Draws the sample.

    Examples
    --------
    >>> allocate(640, [200_000, 150_000, 3_200_000, 6_450_000], at_least=75)
    array([ 75,  75, 162, 328])
    """
    check_integer("total", total, 1)
    check_integer("at_least", at_least, 0)
    size = np.asarray(pixels, dtype=np.int64)
    floor = np.minimum(size, at_least)
    if floor.sum() > total:
        raise ParameterError(
            f"{at_least} pixels in each of {len(size)} classes exceed the total: {floor.sum()} > {total}. Increase ",
            Setting("total"), " or decrease ", Setting("at_least"), ".",
        )  # fmt: skip
    given = floor.copy()
    free = np.ones(len(size), bool)
    while True:
        rest = min(total, int(size.sum())) - given[~free].sum()
        share = rest * size[free] / max(size[free].sum(), 1)
        low = share < floor[free]
        if not low.any():
            break
        free[np.flatnonzero(free)[low]] = False
    # Round to integers of the same sum: the largest remainders are rounded up.
    whole = np.floor(share + 1e-9).astype(np.int64)
    whole[np.argsort(whole - share, kind="stable")[: int(rest) - whole.sum()]] += 1
    given[free] = whole
    return given


@dataclass(frozen=True)
class DesignSize:
    """The size of a stratified random sample.

    Parameters
    ----------
    total : int, optional
        The number of pixels. Default: `sample_size` of ``users_accuracy`` and ``standard_error``, and at least
        ``at_least`` in each class.
    at_least : int, default=50
        The minimum number in each class, see `allocate`.
    users_accuracy : number or dict by class, default=0.8
        The expected user's accuracy.
    standard_error : float, default=0.01
        The target standard error of the overall accuracy.

    See Also
    --------
    draw_design : Draws the sample.

    Examples
    --------
    >>> from discriminant.raster import DesignSize
    >>> DesignSize(600).at_least
    50
    """

    total: int | None = None
    at_least: int = 50
    users_accuracy: float | Mapping[Any, float] = 0.8
    standard_error: float = 0.01


def draw_design(
    class_map: Image | Paths,
    size: DesignSize | None = None,
    names: Mapping[int, Hashable] | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> SampleDesign:
    """Draw a stratified random sample of the pixels of a map.

    Parameters
    ----------
    class_map : path or Image
        One band of class codes.
    size : DesignSize, optional
        The sample size. Default: standard error 0.01 of the overall accuracy.
    names : dict, optional
        The class of each code. Default: the codes are the classes.
    random_state : int or Generator, default=0
        Seed of the random sample.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    SampleDesign

    See Also
    --------
    area_adjusted_accuracy : Estimates accuracies and areas from the labelled sample.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> form = {"driver": "GTiff", "count": 1, "width": 8, "height": 4, "dtype": "uint8", "nodata": 0}
    >>> form |= {"crs": "EPSG:32632", "transform": rasterio.Affine(100, 0, 500_000, 0, -100, 200_000)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with rasterio.open(f"{folder}/map.tif", "w", **form) as file:
    ...         file.write(np.repeat(np.arange(1, 5, dtype="uint8"), 8).reshape(1, 4, 8))
    ...     print(draw_design(f"{folder}/map.tif", DesignSize(12, at_least=2), {1: "a", 2: "b", 3: "c", 4: "d"}))
    map class  pixels   share  to check
    a               8  25.0 %         3
    b               8  25.0 %         3
    c               8  25.0 %         3
    d               8  25.0 %         3
    total          32                12
    """
    with opened(class_map) as image:
        by_window = [pixels for pixels, _ in counts_by_window(image, n_jobs=n_jobs)]
        codes = sorted(set().union(*by_window))
        if not codes:
            raise no_classes_error(image)
        codes_of: dict[Any, list[int]] = {}
        for label, code in zip(labels_of_codes(np.array(codes), names, image), codes, strict=True):
            codes_of.setdefault(plain(label), []).append(code)
        counts = np.array([[sum(own[code] for code in group) for group in codes_of.values()] for own in by_window])
        strata, pixels = list(codes_of), counts.sum(axis=0)
        size = size or DesignSize()
        total = _total_size(strata, pixels, size) if size.total is None else size.total
        allocation = allocate(total, pixels, size.at_least)
        rng = np.random.default_rng(random_state)
        ordinals = [np.sort(rng.choice(own, n, replace=False)) for own, n in zip(pixels, allocation, strict=True)]
        places = _located(image, counts, list(codes_of.values()), ordinals, n_jobs)
        rows, columns, stratum = places[:, rng.permutation(places.shape[1])]
        centres = apply_affine(image.transform, columns + 0.5, rows + 0.5)
        crs = None if image.crs is None else image.crs.to_wkt()
    return SampleDesign(strata, pixels, allocation, rows, columns, label_array(strata)[stratum], centres, crs)


def _total_size(strata: Sequence[Hashable], pixels: Array, size: DesignSize) -> int:
    """The sample size for the target standard error, and at least the minimum of each class."""
    expected: Any = size.users_accuracy
    if isinstance(expected, Mapping):
        missing = [label for label in strata if label not in expected]
        if missing:
            raise ParameterError(Setting("users_accuracy"), f" has no value for class {shown(missing[0])}. Add it.")
        expected = [expected[label] for label in strata]
    wanted = sample_size(pixels / pixels.sum(), expected, size.standard_error)
    return max(wanted, int(np.minimum(pixels, size.at_least).sum()))


def _located(
    image: Image, counts: Array, codes: Sequence[list[int]], ordinals: Sequence[Array], n_jobs: int | None
) -> Array:
    """Rows, columns and stratum, shape (3, n), of pixels given by their ordinal numbers within each stratum.

    ``counts`` has the number of pixels of each stratum in every window: only windows with drawn pixels are read.
    """
    ends = np.cumsum(counts, axis=0)

    def located(task: tuple[Window, Array, Array]) -> list[Array]:
        window, starts, stops = task
        wanted = [
            numbers[slice(*np.searchsorted(numbers, (start, stop)))] - start
            for numbers, start, stop in zip(ordinals, starts, stops, strict=True)
        ]
        if not any(part.size for part in wanted):
            return []
        values, valid = image.read(window)
        found = []
        for i, (own, part) in enumerate(zip(codes, wanted, strict=True)):
            rows, columns = np.nonzero(valid & np.isin(values[0], own))
            found.append(np.stack((rows[part] + window.row_off, columns[part] + window.col_off, np.full(len(part), i))))
        return found

    tasks = list(zip(image.windows(), ends - counts, ends, strict=True))
    return np.concatenate([part for group in parallel_map(located, tasks, n_jobs) for part in group], axis=1)
