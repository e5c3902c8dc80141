"""A reference sample for checking a map: how many pixels, how many of each class, and which.

The pixels are drawn at random within each map class, as the estimators of `accuracy` ask for (Olofsson et al. 2014). A
map is read twice, window by window: to count its classes, and where pixels were drawn to find them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import check_integer, check_number, label_array
from ..engine import side_by_side
from ..errors import InputError, ParameterError, Setting
from ..results import Result, aligned, percent, plain, records_of, shortened, shown
from .areas import write_shapes
from .class_map import labels_of_codes, pixels_by_window
from .image import Array, Image, Paths, apply_affine, extra, opened


@dataclass(frozen=True, eq=False, repr=False)
class SampleDesign(Result):
    """Pixels to look at, drawn at random within each class of a map.

    They come in random order, and their file does not say what the map shows: who decides on the true class should not
    know.

    Attributes
    ----------
    strata : list
        The classes of the map.
    pixels : array of shape (strata,)
        How many pixels of the map each has.
    allocation : array of shape (strata,)
        How many of them are drawn.
    rows, columns : arrays of shape (n,)
    mapped : array of shape (n,)
        What the map shows there.
    coordinates : array of shape (n, 2)
        The centres of the pixels, in the coordinate system of the map.
    crs : str or None
        That system as WKT.

    See Also
    --------
    draw_design : Draws the pixels.
    """

    strata: list[Any]
    pixels: Array
    allocation: Array
    rows: Array
    columns: Array
    mapped: Array
    coordinates: Array
    crs: str | None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the points to a GeoPackage or GeoJSON file, with an empty field ``reference`` to fill in.

        The file appears whole or not at all, and takes the place of one of its name.

        Parameters
        ----------
        path : path
            Its name ends in ``.gpkg`` or ``.geojson``.
        """
        points = extra("shapely").points(self.coordinates)
        fields = {"id": np.arange(1, len(points) + 1), "reference": np.full(len(points), None, dtype=object)}
        write_shapes(path, points, fields, self.crs, "Point")

    def _columns(self) -> dict[str, Any]:
        return {"class": self.strata, "pixels": self.pixels.tolist(), "to_check": self.allocation.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text.

        Returns
        -------
        dict
            ``strata`` has the table of `to_frame`.
        """
        return {**super().to_dict(), "strata": records_of(self._columns())}

    def __str__(self) -> str:
        rows = [["map class", "pixels", "share", "to check"]]
        for label, pixels, n in zip(self.strata, self.pixels, self.allocation, strict=True):
            rows.append([shortened(label), f"{pixels:,}", percent(pixels / self.pixels.sum()), f"{n:,}"])
        rows.append(["total", f"{self.pixels.sum():,}", "", f"{self.allocation.sum():,}"])
        return "\n".join(aligned(rows))


def sample_size(shares: Any, users_accuracy: Any, standard_error: float = 0.01) -> int:
    """How many pixels have to be checked for an overall accuracy with this standard error.

    ``(sum of W_i sqrt(U_i (1 - U_i)) / standard_error)^2``, for a large map (Cochran 1977; Olofsson et al. 2014).

    Parameters
    ----------
    shares : array-like
        The share of each class in the map.
    users_accuracy : number or array-like
        The user's accuracy that is expected of each.
    standard_error : float, default=0.01
        Of the overall accuracy, as a share.

    Returns
    -------
    int
        Over all classes of the map.

    See Also
    --------
    allocate : How they are spread.

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
        raise ParameterError(Setting("shares"), f" must be the share of each class in the map, got {shares!r}.")
    if not ((expected > 0) & (expected < 1)).all():
        raise ParameterError(Setting("users_accuracy"), f" must lie between 0 and 1, got {users_accuracy!r}.")
    spread = (weight / weight.sum() * np.sqrt(expected * (1 - expected))).sum()
    return int(np.ceil((spread / standard_error) ** 2 - 1e-9))


def allocate(total: int, pixels: Any, at_least: int = 50) -> Array:
    """How many of ``total`` pixels to check in each class: in proportion to its area, but ``at_least`` so many.

    Rare classes get ``at_least`` pixels, so that their user's accuracy can be judged, and the others share the rest; a
    class never gets more pixels than it has.

    Parameters
    ----------
    total : int
        Of all classes.
    pixels : array-like of int
        How many pixels of the map each class has.
    at_least : int, default=50
        What rare classes get.

    Returns
    -------
    array of int

    See Also
    --------
    sample_size : How many are needed in all.
    draw_design : Draws them.

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
            f"{at_least} pixels in each of {len(size)} classes are {floor.sum()}, more than the {total} in all. "
            "Check more pixels, or fewer in each class."
        )
    given = floor.copy()
    free = np.ones(len(size), bool)
    while True:
        rest = min(total, int(size.sum())) - given[~free].sum()
        share = rest * size[free] / max(size[free].sum(), 1)
        low = share < floor[free]
        if not low.any():
            break
        free[np.flatnonzero(free)[low]] = False
    # Whole numbers of the same sum: those with the largest remainders are rounded up.
    whole = np.floor(share + 1e-9).astype(np.int64)
    whole[np.argsort(whole - share, kind="stable")[: int(rest) - whole.sum()]] += 1
    given[free] = whole
    return given


def draw_design(
    class_map: Image | Paths, total: int | None = None, at_least: int = 50, users_accuracy: Any = 0.8,
    standard_error: float = 0.01, names: Mapping[int, Any] | None = None, random_state: Any = 0,
    n_jobs: int | None = None,
) -> SampleDesign:  # fmt: skip
    """Pixels of a map to be checked, drawn at random within each of its classes.

    Parameters
    ----------
    class_map : path or Image
        One band of class codes.
    total : int, optional
        How many; None for what `sample_size` gives for ``users_accuracy`` and ``standard_error``, but at least
        ``at_least`` in each class.
    at_least : int, default=50
        The fewest in a class, see `allocate`.
    users_accuracy : number or dict by class, default=0.8
        What is expected of the map.
    standard_error : float, default=0.01
        Wanted for the overall accuracy.
    names : dict, optional
        The class that each code of the map stands for; by default the codes are the classes.
    random_state : int or Generator, default=0
        Another one draws other pixels.
    n_jobs : int, optional
        Threads that read.

    Returns
    -------
    SampleDesign

    See Also
    --------
    area_adjusted_accuracy : Estimates from it, once labelled.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> form = {"driver": "GTiff", "count": 1, "width": 8, "height": 4, "dtype": "uint8", "nodata": 0}
    >>> form |= {"crs": "EPSG:32632", "transform": rasterio.Affine(100, 0, 500_000, 0, -100, 200_000)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with rasterio.open(f"{folder}/map.tif", "w", **form) as file:
    ...         file.write(np.repeat(np.arange(1, 5, dtype="uint8"), 8).reshape(1, 4, 8))
    ...     print(draw_design(f"{folder}/map.tif", total=12, at_least=2, names={1: "a", 2: "b", 3: "c", 4: "d"}))
    map class  pixels   share  to check
    a               8  25.0 %         3
    b               8  25.0 %         3
    c               8  25.0 %         3
    d               8  25.0 %         3
    total          32                12
    """
    with opened(class_map) as image:
        by_window = pixels_by_window(image, n_jobs)
        codes = sorted(set().union(*by_window))
        if not codes:
            raise InputError(f"The map {image.label} has no pixel with a class.")
        codes_of: dict[Any, list[int]] = {}
        for label, code in zip(labels_of_codes(np.array(codes), names, image), codes, strict=True):
            codes_of.setdefault(plain(label), []).append(code)
        counts = np.array([[sum(own[code] for code in group) for group in codes_of.values()] for own in by_window])
        strata, pixels = list(codes_of), counts.sum(axis=0)
        if total is None:
            total = _needed(strata, pixels, at_least, users_accuracy, standard_error)
        allocation = allocate(total, pixels, at_least)
        rng = np.random.default_rng(random_state)
        ordinals = [np.sort(rng.choice(size, n, replace=False)) for size, n in zip(pixels, allocation, strict=True)]
        places = _located(image, counts, list(codes_of.values()), ordinals, n_jobs)
        rows, columns, stratum = places[:, rng.permutation(places.shape[1])]
        centres = apply_affine(image.transform, columns + 0.5, rows + 0.5)
        crs = None if image.crs is None else image.crs.to_wkt()
    return SampleDesign(strata, pixels, allocation, rows, columns, label_array(strata)[stratum], centres, crs)


def _needed(strata: list[Any], pixels: Array, at_least: int, users_accuracy: Any, standard_error: float) -> int:
    if isinstance(users_accuracy, Mapping):
        missing = [label for label in strata if label not in users_accuracy]
        if missing:
            words = f" says nothing of the class {shown(missing[0])}. Classes: {strata}."
            raise ParameterError(Setting("users_accuracy"), words)
        users_accuracy = [users_accuracy[label] for label in strata]
    wanted = sample_size(pixels / pixels.sum(), users_accuracy, standard_error)
    return max(wanted, int(np.minimum(pixels, at_least).sum()))


def _located(
    image: Image, counts: Array, codes: Sequence[list[int]], ordinals: Sequence[Array], n_jobs: int | None
) -> Array:
    """Rows, columns and stratum, shape (3, n), of the pixels that have these numbers among those of their stratum.

    ``counts`` says how many pixels of each stratum every window has: only windows with chosen ones are read.
    """
    ends = np.cumsum(counts, axis=0)

    def chosen(task: tuple[Any, Array, Array]) -> list[tuple[Array, Array, Array]]:
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
            rows, columns = np.nonzero(valid & np.isin(values[0], own)) if part.size else (part, part)
            found.append((rows[part] + window.row_off, columns[part] + window.col_off, np.full(len(part), i)))
        return found

    tasks = list(zip(image.windows(), ends - counts, ends, strict=True))
    parts = [part for group in side_by_side(chosen, tasks, n_jobs) for part in group]
    return np.concatenate([np.stack(part) for part in parts], axis=1)
