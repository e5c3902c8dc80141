"""The accuracy of the map: a stratified sample of points, their reference classes, and area-adjusted estimates.

A map of the whole image is written beside its areas, and points are drawn at random within each of its classes
(Olofsson et al. 2014). The user labels them without seeing the map; every label is written to a file at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from ..engine import ProgressOption
from ..errors import InputError
from ..files import write_whole
from ..raster.accuracy import MapAssessment, assess_map
from ..raster.areas import Areas
from ..raster.class_map import ClassMap, class_pixels, legend_of_file
from ..raster.design import DesignSize, draw_design
from ..raster.macro import MacroClasses
from .image_areas import UNREADABLE
from .image_work import PLAIN, ImageWork


@dataclass(frozen=True)
class Check:
    """A map, the columns and rows of points on it, and their reference classes; None for a point without label."""

    map: Path
    places: tuple[tuple[float, float], ...]
    labels: tuple[str | None, ...]

    @property
    def n_labelled(self) -> int:
        """The number of labelled points."""
        return sum(label is not None for label in self.labels)

    @property
    def next(self) -> int | None:
        """The first point without label; None if all are labelled."""
        return next((i for i, label in enumerate(self.labels) if label is None), None)

    def labelled(self, place: int, label: str | None) -> Check:
        """A copy with another label for a point."""
        return replace(self, labels=tuple(label if i == place else own for i, own in enumerate(self.labels)))


def check_file(work: ImageWork) -> Path:
    """The file of the points."""
    return work.store.with_name(f"{work.path.stem}.points.geojson")


def drawn_check(work: ImageWork, total: int, at_least: int, progress: ProgressOption = None) -> Check:
    """Points on a map made from the current areas; every pixel of that map has a class."""
    rule = PLAIN if work.trained is None else replace(work.trained.rule, reject=None)
    made = work.write_map(work.store.with_name(f"{work.path.stem}.check-map.tif"), rule, progress)
    design = draw_design(str(made.path), DesignSize(total, at_least), made.legend.names)
    centres = np.column_stack([design.columns, design.rows]) + 0.5
    check = Check(made.path, tuple((x, y) for x, y in centres.tolist()), (None,) * len(centres))
    keep_check(work, check)
    return check


def keep_check(work: ImageWork, check: Check) -> None:
    """Write the points with their labels, atomically."""
    points = [
        (shapely.Point(place), {"id": i, "reference": label})
        for i, (place, label) in enumerate(zip(check.places, check.labels, strict=True), 1)
    ]
    write_whole(check_file(work), work.collection(points, map=check.map.name))


def kept_check(work: ImageWork) -> Check | None:
    """The points that were drawn before, with their labels."""
    path = check_file(work)
    if not path.exists():
        return None
    try:
        kept = json.loads(path.read_bytes())
        found = path.with_name(Path(kept["map"]).name)
        places = tuple(shape.coords[0] for one in kept["features"] for shape in work.shapes(one))
        labels = [one["properties"]["reference"] for one in kept["features"]]
    except (*UNREADABLE, IndexError) as error:
        raise InputError(f"The file of points {path.name} cannot be read ({error}). Move or delete it.") from None
    return Check(found, places, tuple(None if label is None else str(label) for label in labels))


def assessment(work: ImageWork, check: Check) -> MapAssessment:
    """The assessment of the map with the labelled points."""
    chosen = [i for i, label in enumerate(check.labels) if label is not None]
    if not chosen:
        raise InputError("No point is labelled yet. Label at least one point.")
    shapes = shapely.points(work.outwards(np.array([check.places[i] for i in chosen])))
    labels = np.array([check.labels[i] for i in chosen])
    source = check_file(work)
    points = Areas(shapes, labels, np.array(chosen) + 1, work.image.crs, "the points", str(source))
    merged = MacroClasses(work.macros)
    return assess_map(str(check.map), merged.reference(points), names=merged.names(legend_of_file(check.map).names))


def report_parts(work: ImageWork, check: Check | None, made: ClassMap) -> dict[str, Any]:
    """The area-adjusted estimates for the report of a map, if its points are labelled and it is still the same map."""
    if check is None or not check.n_labelled or not check.map.exists():
        return {}
    found = assessment(work, check)
    if class_pixels(str(check.map), legend_of_file(check.map).names) != {k: n for k, n in made.pixels.items() if n}:
        return {}
    return {"adjusted": found.area_adjusted(), "area_unit": "pixels" if found.hectares is None else "hectares"}


def command(work: ImageWork, check: Check) -> Sequence[str]:
    """The command of the same assessment."""
    files = [check.map.name, check_file(work).name]
    merged = [word for label, macro in work.macros.items() for word in ("--macro", f"{label}={macro}")]
    return ["discriminant", "raster", "accuracy", *files, "--class-field", "reference", "--stratified", *merged]
