"""Which training areas are held out together: pixels that resemble each other because they are neighbours.

An accuracy of held-out pixels is that of the map only if the pixels held out are as far from those learned from as the
rest of the map is (Roberts et al. 2017). Polygons are held out whole. Points are linked to groups: those closer than
the distance over which pixels of a class are correlated, which is estimated from the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import Array
from ..data import check_integer, check_number, encode_labels
from ..errors import LabelError, ParameterError, Setting
from .areas import named_classes
from .ground import ground_plane

if TYPE_CHECKING:
    from .samples import Samples

#: Pairs in the bins of distance in which pairs of a class are counted.
FIRST_BIN_PAIRS: Final = 30
BIN_GROWTH: Final = 1.5
#: Pixels are correlated at a distance where the mean correlation of pairs is above this and above two standard errors.
LEAST_CORRELATION: Final = 0.1
#: Points of a class that the correlation is estimated from: 1,000 make half a million pairs.
MOST_POINTS: Final = 1_000
#: Side of the squares that group points which are too dense to be linked, in correlated distances. Simulated fields of
#: one class in 20 bands, true accuracy 66 %: squares of 1, 2 and 3 distances gave 84, 73 and 71 %, single points 96 %.
SQUARE_SIDE: Final = 3
#: Distances are compared with this relative tolerance: those of a grid are equal but for rounding.
ROUNDING: Final = 1e-9


@dataclass(frozen=True, eq=False)
class AreaGroups:
    """The group of each pixel, and how the groups were made.

    Parameters
    ----------
    groups : array of shape (n_pixels,)
        Numbers from 0.
    distance : float, optional
        Points closer than this are in one group; None where there are no points and no distance was given.
    unit : str, default="m"
        Of the distance: metres on the ground, or pixels where the image has no coordinate system.
    squares : bool, default=False
        Whether points are grouped by squares with this side, because linking them would leave a class in one group.

    See Also
    --------
    area_groups : Finds the groups of samples.

    Examples
    --------
    >>> from discriminant.raster import AreaGroups
    >>> AreaGroups(np.array([0, 0, 1]), 30.0).sentence
    '2 groups by distance: points closer than 30 m are held out together.'
    """

    groups: Array
    distance: float | None = None
    unit: str = "m"
    squares: bool = False

    @property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    @property
    def sentence(self) -> str:
        """How areas were grouped; empty where each is a group of its own."""
        if not self.distance:
            return ""
        reach = f"{self.distance:,.4g} {self.unit}"
        if self.squares:
            how = f"squares of {reach}: linking points by distance would leave a class in one group"
        else:
            how = f"distance: points closer than {reach} are held out together"
        return f"{self.n_groups:,} groups by {how}."


def area_groups(samples: Samples, block: int | None = None, group_distance: float | None = None) -> AreaGroups:
    """The groups of pixels that are held out together.

    Parameters
    ----------
    samples : Samples
        With their areas.
    block : int, optional
        Areas with their centres in one square of this side, in pixels, are a group.
    group_distance : float, optional
        Areas closer than this are a group: metres on the ground, or pixels of an image without a coordinate system; 0
        for every area by itself. None groups areas of one pixel (points) by the distance over which pixels of a class
        are correlated, and leaves polygons alone.

    Returns
    -------
    AreaGroups
        Whole areas are never divided.

    See Also
    --------
    held_out_accuracy : Holds groups out in turn.

    References
    ----------
    Roberts, D. R. et al. (2017). Cross-validation strategies for data with temporal, spatial, hierarchical, or
    phylogenetic structure. Ecography 40, 913-929.

    Examples
    --------
    >>> from discriminant.raster import Band, Samples, area_groups
    >>> row = np.array([0, 1, 50, 51])
    >>> values, labels = np.zeros((4, 1)), np.array(["sand", "sand", "water", "water"])
    >>> samples = Samples(values, labels, row, row, row, (Band("red", "float64"),))
    >>> area_groups(samples, group_distance=5).groups.tolist()
    [0, 0, 1, 1]
    """
    _, area = np.unique(samples.areas, return_inverse=True)
    if block is not None:
        if group_distance is not None:
            raise ParameterError("Give one of block and group_distance: both say which areas are held out together.")
        check_integer("block", block, 1)
        return AreaGroups(_squares(np.column_stack((samples.rows, samples.columns)), area, block))
    if group_distance is not None:
        check_number("group_distance", group_distance, 0)
    n_pixels = np.bincount(area)
    linked = n_pixels == 1 if group_distance is None else np.ones(len(n_pixels), dtype=bool)
    if group_distance == 0 or not linked.any():
        return AreaGroups(area)
    places, unit = ground_plane(samples)
    own = linked[area]
    distance = correlated_distance(samples.X[own], samples.y[own], places[own]) if group_distance is None else None
    reach = float(group_distance or distance or 0.0)
    groups = _linked(places, area, linked, reach)
    if group_distance is None and _lone_class(samples.y, groups) and not _lone_class(samples.y, area):
        side = SQUARE_SIDE * reach
        return AreaGroups(_squares(places, area, side), side, unit, squares=True)
    return AreaGroups(groups, reach, unit)


def groups_and_counts(samples: Samples, block: int | None, group_distance: float | None) -> tuple[AreaGroups, Array]:
    """The groups of pixels, and the pixels of each class in each group; refuses a class of one group."""
    found = area_groups(samples, block, group_distance)
    counts = np.zeros((len(samples.classes), found.n_groups), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(samples.classes, samples.y), found.groups), 1)
    single = np.flatnonzero(np.count_nonzero(counts, axis=1) < 2)
    if single.size:
        comes = "comes" if single.size == 1 else "come"
        words = f"{named_classes(samples.classes[single])} {comes} from one "
        cannot = " only, and cannot be both learned and tested. Mark more areas"
        if block is not None:
            raise LabelError(f"{words}block of {block} x {block} pixels{cannot}, or use smaller blocks.")
        if found.distance:
            where = f"group of areas closer than {found.distance:,.4g} {found.unit}"
            shorter = Setting("group_distance", float(f"{found.distance / 2:.3g}"))
            raise LabelError(f"{words}{where}{cannot} elsewhere, or give a shorter distance (", shorter, ").")
        raise LabelError(f"{words}area{cannot}.")
    return found, counts


def correlated_distance(X: Array, y: Array, places: Array) -> float:
    """The distance up to which pixels of one class are correlated; 0 where neighbours are not.

    Pairs of pixels of a class are sorted by distance and put into bins. Their correlation is the mean product of
    their standardised deviations from the class mean, over bands. The distance is the end of the last bin before the
    first without a correlation.
    """
    classes, codes = encode_labels(y, len(y))
    rng, distances, products = np.random.default_rng(0), [], []
    for k in range(len(classes)):
        own = np.flatnonzero(codes == k)
        own = own if len(own) <= MOST_POINTS else rng.choice(own, MOST_POINTS, replace=False)
        deviations = X[own].astype(np.float64) - X[own].mean(axis=0, dtype=np.float64)
        spread = deviations.std(axis=0)
        varied = deviations[:, spread > 0] / spread[spread > 0]
        if len(own) < 2 or not varied.shape[1]:
            continue
        first, second = np.triu_indices(len(own), 1)
        # Deviations from their own mean have the correlation -1 / (n - 1) where pixels are independent.
        products.append((varied @ varied.T / varied.shape[1])[first, second] + 1 / (len(own) - 1))
        distances.append(np.hypot(*(places[own[first]] - places[own[second]]).T))
    if not products:
        return 0.0
    distance, product = np.concatenate(distances), np.concatenate(products)
    order = np.argsort(distance, kind="stable")
    distance, product = distance[order], product[order]
    reach, start, size = 0.0, 0, float(FIRST_BIN_PAIRS)
    while start < len(distance):
        stop = min(start + int(size), len(distance))
        if product[start:stop].mean() <= max(LEAST_CORRELATION, 2 / np.sqrt(stop - start)):
            break
        reach, start, size = float(distance[stop - 1]), stop, size * BIN_GROWTH
    return reach


def _linked(places: Array, area: Array, linked: Array, reach: float) -> Array:
    """The groups of areas that are connected by steps of at most this length from or to an area that is linked.

    The shortest connections of points are among the edges of their Delaunay triangulation.
    """
    one, other = _neighbours(places).T
    near = np.hypot(*(places[one] - places[other]).T) <= reach * (1 + ROUNDING)
    one, other = area[one[near]], area[other[near]]
    kept = linked[one] | linked[other]
    n_areas = len(linked)
    graph = coo_array((np.ones(kept.sum(), dtype=bool), (one[kept], other[kept])), shape=(n_areas, n_areas))
    return connected_components(graph, directed=False)[1][area]


def _neighbours(places: Array) -> Array:
    """Pairs of points between which the shortest connections are, shape (n_pairs, 2)."""
    if len(places) < 4:
        return np.array(list(combinations(range(len(places)), 2)), dtype=np.int64).reshape(-1, 2)
    from scipy.spatial import Delaunay  # slow to load

    # "QJ" moves points by rounding errors: those on a line or a grid have a triangulation, too.
    triangles = Delaunay(places - places.mean(axis=0), qhull_options="QJ").simplices
    sides = np.concatenate([triangles[:, pair] for pair in ([0, 1], [1, 2], [2, 0])])
    return np.unique(np.sort(sides), axis=0)


def _squares(places: Array, area: Array, side: float) -> Array:
    """The square that holds the centre of each area, by number, for each pixel."""
    n = np.bincount(area)
    centres = np.column_stack([np.bincount(area, weights=one) / n for one in places.T])
    _, square = np.unique(np.floor(centres / side), axis=0, return_inverse=True)
    return np.asarray(square).ravel()[area]


def _lone_class(y: Array, groups: Array) -> Any:
    """Whether a class is in one group only."""
    _, codes = np.unique(y, return_inverse=True)
    pairs = np.unique(np.column_stack((codes, groups)), axis=0)
    return (np.bincount(pairs[:, 0]) < 2).any()
