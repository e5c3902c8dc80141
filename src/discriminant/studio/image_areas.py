"""Training areas drawn on an image, their classes and macro-classes, with undo and the file that keeps them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely

from ..arrays import Array
from ..errors import InputError
from ..files import write_whole
from ..raster.areas import Areas
from ..raster.colours import class_colours
from ..raster.coordinates import apply_affine
from ..raster.image import Image
from ..results import visible

#: Exceptions of reading a file that another program has changed.
UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError, shapely.errors.ShapelyError)


#: A column and a row of the image, as numbers with fractions.
Place = tuple[float, float]


@dataclass(frozen=True)
class Area:
    """An area: its class, and a polygon, line or point in columns and rows.

    The key identifies the area on the page, also after it is moved or its class is renamed.
    """

    label: str
    shape: Any
    key: int = field(default_factory=partial(next, itertools.count(1)), compare=False)

    @property
    def rings(self) -> list[list[Place]]:
        """The corners of the outline, and those of the holes; the corners of a line; a point."""
        if self.shape.geom_type != "Polygon":
            return [list(self.shape.coords)]
        return [list(ring.coords)[:-1] for ring in (self.shape.exterior, *self.shape.interiors)]

    def moved(self, rings: Sequence[Sequence[Place]]) -> Area:
        """The area with other corners."""
        is_line = self.shape.geom_type == "LineString"
        return replace(self, shape=shapely.LineString(rings[0]) if is_line else shape_of(*rings))


def stroke(path: Sequence[Place], radius: float, shape: tuple[int, int]) -> Any:
    """The outline of a brush stroke within an image of this height and width."""
    line = shapely.LineString(path) if len(path) > 1 else shapely.Point(path[0])
    outline = line.buffer(radius, quad_segs=4).simplify(radius / 10)
    return shapely.intersection(outline, shapely.box(0, 0, shape[1], shape[0]))


def shape_of(corners: Sequence[Place], *holes: Sequence[Place]) -> Any:
    """A point, or a polygon with these corners and holes."""
    return shapely.Point(corners[0]) if len(corners) < 3 else shapely.Polygon(corners, holes)


@dataclass(frozen=True)
class Drawn:
    """Areas, the colours of all classes in the order in which they were added, and the macro-classes of some."""

    areas: list[Area] = field(default_factory=list)
    colours: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class DrawnAreas:
    """The areas of an image, which are saved after every change."""

    image: Image
    store: Path  #: the file of the areas
    drawn: Drawn = field(default_factory=Drawn)
    _past: list[Drawn] = field(default_factory=list)
    _future: list[Drawn] = field(default_factory=list)
    _written: bytes | None = None  #: the content of the file of areas when it was last read or written

    @property
    def areas(self) -> list[Area]:
        """The areas in the order in which they were drawn."""
        return self.drawn.areas

    @property
    def colours(self) -> dict[str, str]:
        """The colours of the classes, in the order in which they were added."""
        return self.drawn.colours

    @property
    def macros(self) -> dict[str, str]:
        """The macro-classes of the classes that are merged in the map."""
        return self.drawn.macros

    def draw(self, label: str, shape: Any) -> None:
        """Add an area and save it."""
        if label not in self.colours:
            raise InputError("There is no class yet. Add a class before drawing areas.")
        self._change(areas=[*self.areas, Area(label, shape)])

    def add(self, areas: Areas) -> None:
        """Add areas of a file, which are in columns and rows, with their classes."""
        labels = [str(label) for label in areas.labels.tolist()]
        names = list(dict.fromkeys([*self.colours, *labels]))
        colours = dict(zip(names, class_colours(names, self.colours), strict=True))
        shapes = areas.geometries.tolist()
        self._change(areas=[*self.areas, *map(Area, labels, shapes)], colours=colours)

    def place_of(self, key: int | None) -> int | None:
        """The place of an area in the list; None if it does not exist."""
        return next((place for place, area in enumerate(self.areas) if area.key == key), None)

    def move(self, key: int, rings: Sequence[Sequence[Place]]) -> None:
        """Change the corners of an area; one that was deleted meanwhile stays deleted."""
        place = self.place_of(key)
        if place is None:
            return
        moved = self.areas[place].moved(rings)
        if not moved.shape.is_valid:
            raise InputError("The sides of this area cross. Move its corners apart.")
        self._change(areas=[*self.areas[:place], moved, *self.areas[place + 1 :]])

    def delete(self, key: int) -> None:
        """Delete an area, unless it is deleted already."""
        if self.place_of(key) is not None:
            self._change(areas=[area for area in self.areas if area.key != key])

    def name_class(self, name: str) -> None:
        """Add a class."""
        name = _class_name(name)
        if name in self.colours:
            raise InputError(f"Class {visible(name)} already exists. Choose another name.")
        self._change(colours={**self.colours, name: class_colours([*self.colours, name], self.colours)[-1]})

    def rename_class(self, old: str, new: str) -> None:
        """Rename a class and its areas."""
        new = _class_name(new)
        if new in self.colours and new != old:
            raise InputError(f"Class {visible(new)} already exists. Choose another name.")
        colours = {new if name == old else name: colour for name, colour in self.colours.items()}
        areas = [replace(area, label=new) if area.label == old else area for area in self.areas]
        macros = {new if name == old else name: macro for name, macro in self.macros.items()}
        self._change(areas=areas, colours=colours, macros=macros)

    def merge_class(self, name: str, macro: str) -> None:
        """Set the macro-class of a class; an empty name removes it."""
        macros = {own: kept for own, kept in self.macros.items() if own != name}
        if macro.strip() and macro.strip() != name:
            macros[name] = macro.strip()
        if macros != self.macros:
            self._change(macros=macros)

    def colour_class(self, name: str, colour: str) -> None:
        """Change the colour of a class."""
        self._change(colours={**self.colours, name: as_colour(colour)})

    def delete_class(self, name: str) -> None:
        """Delete a class with its areas."""
        kept = {known: colour for known, colour in self.colours.items() if known != name}
        macros = {own: macro for own, macro in self.macros.items() if own != name}
        self._change(areas=[area for area in self.areas if area.label != name], colours=kept, macros=macros)

    def undo(self) -> None:
        """Undo the last change."""
        self._step(self._past, self._future)

    def redo(self) -> None:
        """Redo the change that was undone last."""
        self._step(self._future, self._past)

    def _step(self, source: list[Drawn], target: list[Drawn]) -> None:
        if source:
            now = self.drawn
            self._keep(source[-1])
            source.pop()
            target.append(now)

    def _change(self, **changes: Any) -> None:
        """Make a change that can be undone, after it is saved."""
        now = self.drawn
        self._keep(replace(now, **changes))
        self._past.append(now)
        self._future.clear()

    def collection(self, shapes: Sequence[tuple[Any, dict[str, Any]]], **more: Any) -> bytes:
        """Shapes in pixels, with their properties, as GeoJSON in the coordinates of the image."""
        features = [
            {"type": "Feature", "properties": properties, "geometry": json.loads(shapely.to_geojson(moved))}
            for moved, properties in ((shapely.transform(shape, self.outwards), own) for shape, own in shapes)
        ]
        epsg = None if self.image.crs is None else self.image.crs.to_epsg()
        named = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{epsg}"}}
        known = {"crs": named} if epsg else {}
        return json.dumps({"type": "FeatureCollection", **more, **known, "features": features}, indent=1).encode()

    def shapes(self, feature: dict[str, Any]) -> list[Any]:
        """The parts of a GeoJSON feature in columns and rows."""
        shape = shapely.from_geojson(json.dumps(feature["geometry"]))
        return list(shapely.get_parts(shapely.transform(shape, self._inwards)))

    def outwards(self, places: Array) -> Array:
        """Coordinates of columns and rows."""
        return apply_affine(self.image.transform, places[:, 0], places[:, 1])

    def _inwards(self, places: Array) -> Array:
        return apply_affine(~self.image.transform, places[:, 0], places[:, 1])

    def _keep(self, drawn: Drawn) -> None:
        """Save areas atomically, unless another tab has changed the file."""
        if (self.store.read_bytes() if self.store.exists() else None) != self._written:
            raise InputError(f"{self.store.name} was changed by another tab or program. Reload the page to continue.")
        shapes = [(area.shape, {"class": area.label}) for area in drawn.areas]
        content = self.collection(shapes, classes=drawn.colours, macro_classes=drawn.macros)
        write_whole(self.store, content)
        self.drawn, self._written = drawn, content

    def refresh(self) -> None:
        """Read the areas again if their file has changed."""
        content = self.store.read_bytes() if self.store.exists() else None
        if content == self._written:
            return
        try:
            kept = {"classes": {}, "features": []} if content is None else json.loads(content)
            colours = {str(name): as_colour(str(colour)) for name, colour in kept["classes"].items()}
            areas = [
                Area(str(one["properties"]["class"]), shape) for one in kept["features"] for shape in self.shapes(one)
            ]
            macros = {str(name): str(macro) for name, macro in kept.get("macro_classes", {}).items()}
            unnamed = {area.label: shade for area, shade in zip(areas, _shades_of(areas), strict=True)}
        except UNREADABLE as error:
            raise InputError(
                f"The file of areas {self.store.name} cannot be read ({error}). Move or delete it."
            ) from None
        self.drawn, self._written = Drawn(areas, {**unnamed, **colours}, macros), content
        self._past.clear()
        self._future.clear()

    def drawn_areas(self) -> Areas:
        """The areas as an object of the library."""
        shapes = np.array([shapely.transform(area.shape, self.outwards) for area in self.areas], dtype=object)
        labels = np.array([area.label for area in self.areas])
        numbers = np.arange(1, len(shapes) + 1)
        return Areas(shapes, labels, numbers, self.image.crs, "the drawn areas", str(self.store))

    def save_areas(self, path: Path) -> Path:
        """Write the areas; the format (GeoJSON or GeoPackage) follows from the extension."""
        if not self.areas:
            raise InputError("There are no areas. Draw some first.")
        self.drawn_areas().save(path)
        return path


def as_colour(colour: str) -> str:
    """A validated colour; it becomes part of the style of a page."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        raise InputError(f"A colour must have the form #RRGGBB, got {visible(colour)}.")
    return colour


def _class_name(name: str) -> str:
    if not name.strip():
        raise InputError("The name of the class is empty. Enter a name.")
    return name.strip()


def _shades_of(areas: Sequence[Area]) -> list[str]:
    labels = list(dict.fromkeys(area.label for area in areas))
    shades = dict(zip(labels, class_colours(labels, {}), strict=True))
    return [shades[area.label] for area in areas]
