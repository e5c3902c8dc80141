"""Training areas: which pixels they mark, in whatever form they come, and what is said about them."""

import json
import warnings

import numpy as np
import pyogrio
import pytest
import rasterio
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st
from landsat import BANDS, LABELLED_PIXELS, NORTH, POINTS, POLYGONS, square, write_shapes
from numpy.testing import assert_array_equal
from painted import GRID, write_image
from rasterio.features import rasterize
from rasterio.warp import transform, transform_geom
from scipy import ndimage

from discriminant.errors import ColumnError, InputError, LabelError, ParameterError
from discriminant.raster import make_legend, open_areas, open_image
from discriminant.raster.coordinates import apply_affine, transform_shapes


def blank(path, height=20, width=30, **more):
    return write_image(path, np.ones((1, height, width), "uint8"), **more)


def write_png(path, values, colormap=None):
    count, height, width = values.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        form = {"driver": "PNG", "count": count, "height": height, "width": width, "dtype": "uint8"}
        with rasterio.open(path, "w", **form) as file:
            file.write(values)
            if colormap:
                file.write_colormap(1, colormap)
    return path


def marks_of(image_path, areas):
    with open_image(image_path) as image:
        return areas.pixels(image)


def painted_classes(marks, shape, none=None):
    """The class of every pixel, as an array."""
    out = np.full(shape, none, dtype=object)
    out[marks.rows, marks.columns] = marks.labels[marks.area]
    return out


def kinds(marks):
    return [finding.kind for finding in marks.findings]


def message(marks, kind):
    (found,) = [finding.message for finding in marks.findings if finding.kind == kind]
    return found


@given(
    corners=st.lists(st.tuples(st.floats(-4, 36), st.floats(-4, 24)), min_size=3, max_size=8, unique=True),
    turn=st.floats(-1, 1),
)
def test_pixel_centres_decide(tmp_path_factory, corners, turn):
    folder = tmp_path_factory.mktemp("areas")
    polygon = shapely.MultiPoint(corners).convex_hull
    assume(polygon.geom_type == "Polygon" and polygon.area > 1e-3)
    assume(polygon.intersection(shapely.box(0, 0, 30, 20)).area > 0)
    grid = rasterio.Affine(8, 3 * turn, 500_000, 2 * turn, -9, NORTH)
    a, b, c, d, e, f = grid[:6]
    ground = shapely.transform(
        polygon, lambda xy: np.column_stack((a * xy[:, 0] + b * xy[:, 1] + c, d * xy[:, 0] + e * xy[:, 1] + f))
    )
    path = blank(folder / "image.tif", transform=grid)
    marks = marks_of(path, open_areas(write_shapes(folder / "areas.gpkg", [ground], ["x"])))
    row, column = np.mgrid[:20, :30]
    centres = shapely.points(column + 0.5, row + 0.5)
    near = shapely.distance(polygon.exterior, centres) < 1e-6
    expected = shapely.contains(polygon, centres)
    found = np.zeros((20, 30), bool)
    found[marks.rows, marks.columns] = True
    assert_array_equal(found[~near], expected[~near])


@pytest.mark.parametrize("ending", ["gpkg", "geojson", "shp"])
@pytest.mark.parametrize("classes", [np.array(["water", "sand"], object), np.array([7, -2])])
def test_every_format_and_kind_of_class_marks_the_same_pixels(tmp_path, ending, classes):
    path = blank(tmp_path / "image.tif")
    shapes = [square(2, 3), shapely.Polygon(square(10, 3, 6).exterior, [square(12, 5, 2).exterior.coords])]
    crs = "EPSG:32633"
    areas = open_areas(write_shapes(tmp_path / f"areas.{ending}", shapes, classes, crs), "cover")
    expected = np.full((20, 30), None, object)
    expected[3:6, 2:5], expected[3:9, 10:16] = classes
    expected[5:7, 12:14] = None
    marks = marks_of(path, areas)
    assert_array_equal(painted_classes(marks, (20, 30)), expected)
    assert areas.labels.tolist() == classes.tolist()
    assert marks.findings == ()


def test_areas_in_another_system_are_reprojected_and_it_is_said(tmp_path):
    path = blank(tmp_path / "image.tif")
    ground = [square(4.2, 3.1, 8.7)]
    there = [
        shapely.geometry.shape(transform_geom("EPSG:32633", "EPSG:4326", shape.__geo_interface__)) for shape in ground
    ]
    own = marks_of(path, open_areas(write_shapes(tmp_path / "own.gpkg", ground, ["x"])))
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "there.gpkg", there, ["x"], "EPSG:4326")))
    assert_array_equal(marks.rows, own.rows)
    assert_array_equal(marks.columns, own.columns)
    words = message(marks, "reprojected")
    assert all(name in words for name in ("'there.gpkg'", "EPSG:4326", "EPSG:32633"))


def test_the_landsat_polygons_as_rasterio_draws_them():
    with open_image(BANDS) as image:
        marks = open_areas(POLYGONS, "label").pixels(image)
        crs, shape, grid = image.crs, image.shape, image.transform
    meta, wkb, values = (pyogrio.raw.read(POLYGONS)[i] for i in (0, 2, 3))
    names, numbers = np.unique(values[0], return_inverse=True)
    shapes = [transform_geom(meta["crs"], crs, polygon.__geo_interface__) for polygon in shapely.from_wkb(wkb)]
    drawn = rasterize(zip(shapes, (numbers + 1).tolist(), strict=True), shape, transform=grid, dtype="uint8")
    expected = np.append(None, names.astype(object))[drawn]
    assert_array_equal(painted_classes(marks, shape), expected)
    assert "reprojected" in kinds(marks)
    assert message(marks, "outside") == "Outside the image and left out: area 26 (class 'water')."


def test_the_landsat_points_lie_in_their_pixels():
    with open_image(BANDS[0]) as image:
        areas = open_areas(POINTS, "label")
        marks, inverse, crs = areas.pixels(image), ~image.transform, image.crs
        height, width = image.shape
    x, y = transform(areas.crs, crs, *shapely.get_coordinates(areas.geometries).T)
    columns, rows = (
        np.floor(part) for part in (inverse.a * np.array(x) + inverse.c, inverse.e * np.array(y) + inverse.f)
    )
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    assert set(zip(marks.rows, marks.columns, strict=True)) == set(zip(rows[inside], columns[inside], strict=True))
    assert_array_equal(columns[marks.area], marks.columns)


def test_points_and_many_points_in_one_area(tmp_path):
    path = blank(tmp_path / "image.tif")
    shapes = [shapely.Point(500_015, NORTH - 25), shapely.MultiPoint([(500_101, NORTH - 1), (500_299, NORTH - 199)])]
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "points.gpkg", shapes, ["a", "b"])))
    assert sorted(zip(marks.rows, marks.columns, marks.area, strict=True)) == [(0, 10, 1), (2, 1, 0), (19, 29, 2)]
    assert marks.ids.tolist() == ["1", "2.1", "2.2"]


def test_a_photograph_has_areas_in_columns_and_rows(tmp_path):
    path = write_png(tmp_path / "photo.png", np.ones((3, 20, 30), "uint8"))
    shape = shapely.box(2, 3, 5, 7)
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "areas.geojson", [shape], ["x"], "EPSG:4326")))
    assert set(marks.rows) == {3, 4, 5, 6}
    assert set(marks.columns) == {2, 3, 4}
    assert "columns and rows" in message(marks, "pixel-coordinates")


def test_areas_that_qgis_drew_over_a_photograph_are_turned_downwards(tmp_path):
    path = write_png(tmp_path / "photo.png", np.ones((3, 20, 30), "uint8"))
    areas = open_areas(write_shapes(tmp_path / "areas.geojson", [shapely.box(2, -7, 5, -3)], ["x"], "EPSG:4326"))
    marks = marks_of(path, areas)
    assert set(marks.rows) == {3, 4, 5, 6}
    assert "QGIS" in message(marks, "pixel-coordinates")


def test_areas_of_different_classes_that_overlap_are_named_and_lose_the_pixels(tmp_path):
    path = blank(tmp_path / "image.tif")
    shapes = [square(2, 2, 4), square(4, 4, 4), square(20, 10, 2)]
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "areas.gpkg", shapes, ["water", "sand", "sand"])))
    assert "4 pixels" in message(marks, "overlap")
    assert "areas 1 (class 'water') and 2 (class 'sand')" in message(marks, "overlap")
    found = painted_classes(marks, (20, 30))
    assert (found[4:6, 4:6] == None).all()  # noqa: E711
    assert [(found == label).sum() for label in ("water", "sand")] == [12, 12 + 4]


def test_areas_of_one_class_may_overlap_and_count_each_pixel_once(tmp_path):
    path = blank(tmp_path / "image.tif")
    shapes = [square(2, 2, 4), square(4, 4, 4), square(3, 3, 2)]
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "areas.gpkg", shapes, ["x", "x", "x"])))
    assert len(marks.rows) == 16 + 16 - 4
    assert kinds(marks) == ["same-pixels"]
    assert "area 3 (class 'x')" in message(marks, "same-pixels")


def test_neighbours_that_share_an_edge_share_no_pixel(tmp_path):
    path = blank(tmp_path / "image.tif")
    shapes = [square(2.5, 3.5, 4), square(6.5, 3.5, 4), square(2.5, 7.5, 8)]
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "areas.gpkg", shapes, ["a", "b", "c"])))
    assert kinds(marks) == []
    assert np.bincount(marks.area).tolist() == [16, 16, 64]


def test_areas_outside_and_areas_without_a_pixel_centre_are_named(tmp_path):
    path = blank(tmp_path / "image.tif")
    corner = shapely.Polygon([(500_290, NORTH + 30), (500_400, NORTH + 30), (500_400, NORTH - 30)])
    shapes = [square(2, 2), square(40, 2), square(8.6, 8.6, 0.3), square(28, 18, 6), square(-3, 0), corner]
    marks = marks_of(path, open_areas(write_shapes(tmp_path / "areas.gpkg", shapes, list("abcdef"))))
    outside = message(marks, "outside")
    assert outside == "Outside the image and left out: areas 2 (class 'b'), 5 (class 'e') and 6 (class 'f')."
    assert message(marks, "too-small").endswith("area 3 (class 'c').")
    assert np.bincount(marks.area).tolist() == [9, 0, 0, 4]


def test_areas_that_all_lie_outside_are_an_error(tmp_path):
    path = blank(tmp_path / "image.tif")
    areas = open_areas(write_shapes(tmp_path / "areas.gpkg", [square(100, 2)], ["a"]))
    with pytest.raises(InputError, match=r"'areas.gpkg'.*'image.tif'.* 100 "):
        marks_of(path, areas)


def test_a_huge_polygon_is_drawn_in_strips(tmp_path, monkeypatch):
    path = blank(tmp_path / "image.tif")
    areas = open_areas(write_shapes(tmp_path / "areas.gpkg", [shapely.Point(500_150, NORTH - 100).buffer(90)], ["x"]))
    whole = marks_of(path, areas)
    monkeypatch.setattr("discriminant.raster.areas.MAX_STRIP_PIXELS", 40)
    strips = marks_of(path, areas)
    assert_array_equal(strips.rows, whole.rows)
    assert_array_equal(strips.columns, whole.columns)


def test_layers_are_chosen_by_name(tmp_path):
    path = tmp_path / "areas.gpkg"
    write_shapes(path, [square(2, 2)], ["a"], layer="summer")
    write_shapes(path, [square(4, 4), square(8, 8)], ["b", "c"], layer="winter")
    assert len(open_areas(path, layer="winter").ids) == 2
    with pytest.raises(InputError, match="'summer' and 'winter'"):
        open_areas(path)
    with pytest.raises(InputError, match=r"'sumer'.*'summer'"):
        open_areas(path, layer="sumer")


def test_class_fields_are_found_or_named():
    with pytest.raises(ColumnError, match="'label' and 'id'"):
        open_areas(POLYGONS)
    with pytest.raises(ColumnError, match=r"'labl'.*'label'"):
        open_areas(POLYGONS, "labl")


def feature(shape, **properties):
    return {"type": "Feature", "geometry": None if shape is None else shape.__geo_interface__, "properties": properties}


def write_features(path, *features):
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


BOX, BOW = shapely.box(1, 1, 4, 4), shapely.Polygon([(0, 0), (4, 4), (4, 0), (0, 4)])


@pytest.mark.parametrize(
    ("features", "error", "words"),
    [
        ([feature(BOX)], ColumnError, "no fields"),
        ([feature(BOX, c="a"), feature(BOX, c=None)], LabelError, r"'c'.* 1 of 2 areas: 1"),
        ([feature(BOX, c="a"), feature(BOX, c="")], LabelError, "1 of 2 areas"),
        ([feature(BOX, c=1.5), feature(BOX, c=2)], LabelError, "1.5"),
        ([feature(BOW, c="bow")], InputError, r"area 0 \(class 'bow'\).*Self-inter"),
        ([feature(BOX, c="a"), feature(None, c="b")], InputError, r"area 1 \(class 'b'\)"),
        ([], InputError, "areas.geojson"),
    ],
)  # fmt: skip
def test_broken_areas_are_named(tmp_path, features, error, words):
    with pytest.raises(error, match=words):
        open_areas(write_features(tmp_path / "areas.geojson", *features))


def test_lines_mark_the_pixels_they_touch(tmp_path):
    """A road as a line, given in another system than that of the image; every pixel it runs through counts."""
    image = blank(tmp_path / "image.tif")
    line = shapely.LineString([(500_012, NORTH - 25), (500_178, NORTH - 141)])
    path = write_shapes(tmp_path / "areas.gpkg", [line, square(20, 2)], ["road", "field"])
    marks = marks_of(image, open_areas(path))
    found = {*zip(marks.rows[marks.area == 0].tolist(), marks.columns[marks.area == 0].tolist(), strict=True)}
    cells = [(r, c) for r in range(20) for c in range(30) if line.intersects(square(c, r, 1).buffer(-1e-6))]
    assert found == set(cells)
    assert np.count_nonzero(marks.area == 1) == 9
    (note,) = [finding.message for finding in marks.findings if finding.kind == "lines"]
    assert "area 1 (class 'road')" in note
    moved = shapely.transform(line, lambda xy: np.column_stack(transform("EPSG:32633", "EPSG:4326", *xy.T)))
    other = write_shapes(tmp_path / "degrees.gpkg", [moved], ["road"], "EPSG:4326")
    marks = marks_of(image, open_areas(other))
    assert {*zip(marks.rows.tolist(), marks.columns.tolist(), strict=True)} == set(cells)


def test_collections_and_heights_are_drawn_as_their_parts(tmp_path):
    image = blank(tmp_path / "image.tif")
    x, y = 500_000, NORTH
    line = shapely.LineString([(x + 105, y - 105, 7), (x + 145, y - 105, 9)])
    mixed = shapely.GeometryCollection(
        [square(1, 1, 2), shapely.GeometryCollection([shapely.Point(x + 255, y - 155), line]), shapely.Polygon()]
    )
    path = write_shapes(tmp_path / "areas.gpkg", [mixed, square(1, 10, 2)], ["mixed", "field"])
    marks = marks_of(image, open_areas(path))
    own = marks.labels[marks.area] == "mixed"
    assert marks.ids.tolist() == ["1.1", "1.2", "1.3", "2"]
    found = [*zip(marks.rows[own].tolist(), marks.columns[own].tolist(), strict=True)]
    assert found == [(1, 1), (1, 2), (2, 1), (2, 2), (10, 10), (10, 11), (10, 12), (10, 13), (10, 14), (15, 25)]
    assert [finding.kind for finding in marks.findings] == ["lines"]


def test_areas_in_columns_and_rows_of_an_image_mark_the_same_pixels(tmp_path):
    image = blank(tmp_path / "image.tif")
    plain = write_png(tmp_path / "plain.png", np.ones((1, 20, 30), "uint8"))
    shapes = [shapely.GeometryCollection([square(1, 1, 2), square(3, 10, 4)]), square(20, 5, 3), square(100, 2)]
    path = write_shapes(tmp_path / "areas.gpkg", shapes, ["mixed", "field", "far"])
    with open_image(image) as opened:
        found = open_areas(path).in_image(opened)
        expected = open_areas(path).pixels(opened)
    assert found.labels.tolist() == ["mixed", "mixed", "field"]
    assert [finding.kind for finding in found.findings] == ["outside"]
    marks = marks_of(plain, found)
    assert_array_equal(painted_classes(marks, (20, 30)), painted_classes(expected, (20, 30)))


def test_whole_numbers_written_as_floats_are_classes(tmp_path):
    path = write_features(tmp_path / "areas.geojson", feature(BOX, c=1.0), feature(BOX, c=2.0))
    assert open_areas(path).labels.tolist() == [1, 2]
    assert open_areas(path).labels.dtype.kind == "i"


def test_systems_that_only_one_side_knows_are_refused(tmp_path):
    shapes, known = [square(2, 2)], blank(tmp_path / "known.tif")
    unknown = blank(tmp_path / "unknown.tif", crs=None)
    with pytest.warns(UserWarning, match="crs"):
        write_shapes(tmp_path / "silent.gpkg", shapes, ["a"], None)
    write_shapes(tmp_path / "telling.gpkg", shapes, ["a"])
    silent, telling = (open_areas(tmp_path / f"{name}.gpkg") for name in ("silent", "telling"))
    with pytest.raises(InputError, match=r"'silent.gpkg'.*'known.tif'.*areas_crs"):
        marks_of(known, silent)
    with pytest.raises(InputError, match=r"'unknown.tif'.*'telling.gpkg'"):
        marks_of(unknown, telling)
    assert len(marks_of(unknown, silent).rows) == 9
    assert len(marks_of(known, open_areas(tmp_path / "silent.gpkg", areas_crs="EPSG:32633")).rows) == 9
    with pytest.raises(InputError, match="'EPSG:0'"):
        open_areas(tmp_path / "silent.gpkg", areas_crs="EPSG:0")


def test_what_is_no_file_of_areas_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match=r"'notes.txt'"):
        open_areas(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="absent"):
        open_areas(tmp_path / "absent.gpkg")


def test_options_of_shapes_and_of_painted_images_do_not_mix():
    with pytest.raises(InputError, match="class_field='label'"):
        open_areas(LABELLED_PIXELS, "label")
    with pytest.raises(InputError, match="names"):
        open_areas(POLYGONS, "label", names={1: "a"})


def test_a_raster_of_class_numbers_marks_its_pixels():
    with open_image(BANDS[0]) as image:
        marks = open_areas(LABELLED_PIXELS).pixels(image)
    with rasterio.open(LABELLED_PIXELS) as file:
        labels, none = file.read(1), file.nodata
    found = painted_classes(marks, labels.shape, none)
    assert_array_equal(found.astype(float), labels)
    assert kinds(marks) == ["reprojected"]


def test_a_raster_on_another_grid_gives_each_pixel_the_label_at_its_centre(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (9, 11)).astype("uint8")
    coarse = rasterio.Affine(23, 0, 500_030, 0, -27, NORTH - 15)
    write_image(tmp_path / "labels.tif", labels[None], transform=coarse)
    marks = marks_of(blank(tmp_path / "image.tif"), open_areas(tmp_path / "labels.tif"))
    row, column = np.mgrid[:20, :30]
    x, y = 10 * (column + 0.5), 10 * (row + 0.5)
    i, j = np.floor((y - 15) / 27).astype(int), np.floor((x - 30) / 23).astype(int)
    inside = (i >= 0) & (i < 9) & (j >= 0) & (j < 11)
    expected = np.where(inside, labels[np.clip(i, 0, 8), np.clip(j, 0, 10)], 0)
    assert_array_equal(painted_classes(marks, (20, 30), 0).astype(int), expected)


def test_nodata_says_what_is_unlabelled_and_0_is_a_class_then(tmp_path):
    labels = np.zeros((1, 20, 30), "uint8")
    labels[0, 5:] = 9
    write_image(tmp_path / "labels.tif", labels, nodata=9)
    marks = marks_of(blank(tmp_path / "image.tif"), open_areas(tmp_path / "labels.tif", names={0: "water"}))
    assert len(marks.rows) == 150
    assert marks.labels.tolist() == ["water"]


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12))
def test_touching_pixels_of_one_class_are_one_area(tmp_path_factory, seed, height, width):
    folder = tmp_path_factory.mktemp("labels")
    labels = np.random.default_rng(seed).integers(0, 3, (height, width)).astype("uint8")
    labels[0, 0] = 1
    write_image(folder / "labels.tif", labels[None])
    marks = marks_of(blank(folder / "image.tif", height, width), open_areas(folder / "labels.tif"))
    assert_array_equal(painted_classes(marks, labels.shape, 0).astype(int), labels)
    for value in (1, 2):
        parts, n = ndimage.label(labels == value, np.ones((3, 3)))
        own = marks.labels[marks.area] == value
        pairs = set(zip(parts[marks.rows[own], marks.columns[own]], marks.area[own], strict=True))
        assert len(pairs) == n == (marks.labels == value).sum()


def painting(height=20, width=30):
    colours = np.zeros((3, height, width), "uint8")
    colours[:, 2:6, 3:9] = np.array([255, 0, 0])[:, None, None]
    colours[:, 10:12, 20:25] = np.array([0, 0, 255])[:, None, None]
    return colours


def test_colours_of_a_painted_image_are_classes(tmp_path):
    photo = write_png(tmp_path / "photo.png", np.ones((3, 20, 30), "uint8"))
    path = write_png(tmp_path / "labels.png", painting())
    marks = marks_of(photo, open_areas(path))
    assert sorted(set(marks.labels)) == ["#0000ff", "#ff0000"]
    found = painted_classes(marks, (20, 30))
    assert (found[2:6, 3:9] == "#ff0000").all()
    assert len(marks.rows) == 24 + 10
    named = marks_of(photo, open_areas(path, names={"#FF0000": "roof"}))
    assert sorted(set(named.labels)) == ["#0000ff", "roof"]
    all_but_red = marks_of(photo, open_areas(path, unlabelled="#ff0000"))
    assert len(all_but_red.rows) == 600 - 24


def test_a_table_of_colours_means_its_colours_in_a_painted_image(tmp_path):
    photo = write_png(tmp_path / "photo.png", np.ones((3, 20, 30), "uint8"))
    codes = np.where(painting()[0] > 0, 3, 1)[None].astype("uint8")
    path = write_png(tmp_path / "labels.png", codes, {1: (0, 0, 0, 255), 3: (250, 128, 0, 255)})
    marks = marks_of(photo, open_areas(path))
    assert marks.labels.tolist() == ["#fa8000"]
    assert len(marks.rows) == 24


def test_transparency_says_what_is_unlabelled_and_black_is_a_class_then(tmp_path):
    photo = write_png(tmp_path / "photo.png", np.ones((3, 20, 30), "uint8"))
    alpha = np.zeros((1, 20, 30), "uint8")
    alpha[0, 2:6, 3:20] = 255
    path = write_png(tmp_path / "labels.png", np.concatenate((painting(), alpha)))
    marks = marks_of(photo, open_areas(path))
    found = painted_classes(marks, (20, 30))
    assert (found == "#ff0000").sum() == 24
    assert (found == "#000000").sum() == 4 * 11


@pytest.mark.parametrize(
    ("values", "options", "error", "words"),
    [
        (np.ones((3, 19, 30)), {}, InputError, "30 x 19.*30 x 20"),
        (np.zeros((3, 20, 30)), {}, InputError, "labels.png.*photo.png"),
        (np.random.default_rng(0).integers(0, 256, (3, 20, 30)), {}, LabelError, "colours"),
        (painting(), {"names": {"#00ff00": "grass"}}, LabelError, r"'#00ff00'.*'grass'.*#0000ff and #ff0000"),
        (painting(), {"names": {3: "grass"}}, ParameterError, '"#ff0000", got 3'),
        (painting()[:1], {"unlabelled": "black"}, ParameterError, "got 'black'"),
    ],
)
def test_paintings_that_cannot_be_read_are_refused(tmp_path, values, options, error, words):
    photo = write_png(tmp_path / "photo.png", np.ones((3, 20, 30), "uint8"))
    path = write_png(tmp_path / "labels.png", values.astype("uint8"))
    with pytest.raises(error, match=words):
        marks_of(photo, open_areas(path, **options))


def test_rasters_that_are_no_classes_are_refused(tmp_path):
    image = blank(tmp_path / "image.tif")
    write_image(tmp_path / "heights.tif", np.full((1, 20, 30), 1.5, "float32"))
    with pytest.raises(LabelError, match=r"1\.5"):
        marks_of(image, open_areas(tmp_path / "heights.tif"))
    write_image(tmp_path / "two.tif", np.ones((2, 20, 30), "uint8"))
    with pytest.raises(InputError, match=r"'two.tif' has 2"):
        open_areas(tmp_path / "two.tif")
    write_image(tmp_path / "deep.tif", np.ones((3, 20, 30), "uint16"))
    with pytest.raises(InputError, match="uint16"):
        open_areas(tmp_path / "deep.tif")
    elsewhere = {**GRID, "transform": rasterio.Affine(10, 0, 600_000, 0, -10, NORTH)}
    write_image(tmp_path / "moved.tif", painting(), **elsewhere)
    with pytest.raises(InputError, match=r"moved\.tif"):
        marks_of(image, open_areas(tmp_path / "moved.tif"))


def test_long_edges_are_curved_in_the_other_system(tmp_path):
    """A parallel is no straight line in metres: pixel centres are asked in degrees, where the edges are straight."""
    size, grid = (400, 1000), rasterio.Affine(100, 0, 450_000, 0, -100, 5_050_000)
    field = shapely.box(14.5, 45.4, 15.4, 45.45) - shapely.box(14.7, 45.41, 15.3, 45.42)
    areas = write_shapes(tmp_path / "degrees.geojson", [field, shapely.Point(15, 45.3)], ["field", "well"], "EPSG:4326")
    found = marks_of(blank(tmp_path / "image.tif", *size, transform=grid), open_areas(areas, "cover"))
    rows, columns = np.indices(size).reshape(2, -1) + 0.5
    degrees = transform("EPSG:32633", "EPSG:4326", *apply_affine(grid, columns, rows).T)
    inside = shapely.contains_xy(field, *map(np.array, degrees)).reshape(size)
    assert_array_equal(painted_classes(found, size) == "field", inside)
    corners = rasterize([transform_geom("EPSG:4326", "EPSG:32633", field)], size, transform=grid).astype(bool)
    assert np.count_nonzero(corners != inside) > 500


def test_curved_edges_are_followed():
    """In the middle such an edge lies on its chord."""
    strip = np.array([shapely.box(-9, 0, 9, 1)])
    [found] = transform_shapes(strip, lambda xy: np.column_stack((xy[:, 0], xy[:, 1] + xy[:, 0] ** 3 / 81 - xy[:, 0])))
    x = np.linspace(-9, 9, 500)[1:-1]
    for share in (0.01, 0.99):
        assert shapely.contains_xy(found, x, x**3 / 81 - x + share).all()


@pytest.mark.parametrize("hidden", ["mask", "alpha", "nodata"])
def test_labels_of_another_grid_are_hidden_like_those_of_the_same(tmp_path, hidden):
    """Each pixel has the label at its centre; where a mask hides the labels there is none, whatever their value."""
    labels = np.zeros((30, 35), "uint8")
    labels[5:10, 5:10], labels[15:20, 15:20] = 1, 2
    shown, grid = labels > 0, rasterio.Affine(7, 0, 500_003, 0, -7, 4_999_996)
    more = {"alpha": {"alpha": "YES"}, "nodata": {"nodata": 0}, "mask": {}}[hidden]
    values = np.stack([labels, 255 * shown]).astype("uint8") if hidden == "alpha" else labels[None]
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        nodata = more.pop("nodata", None)
        painted = write_image(tmp_path / "labels.tif", values, nodata=nodata, transform=grid, **more)
        if hidden == "mask":
            with rasterio.open(painted, "r+") as file:
                file.write_mask(shown)
    found = marks_of(blank(tmp_path / "image.tif"), open_areas(painted))
    rows, columns = np.indices((20, 30)).reshape(2, -1) + 0.5
    across, down = apply_affine(~grid, *apply_affine(GRID["transform"], columns, rows).T).T
    place = np.floor(np.array([down, across])).astype(int)
    inside = ((place >= 0) & (place < [[30], [35]])).all(axis=0)
    expected = np.where(inside, labels[tuple(np.where(inside, place, 0))], 0).reshape(20, 30)
    assert_array_equal(painted_classes(found, (20, 30), none=0), expected)
    assert set(found.labels) == {1, 2}


def test_labels_that_lie_elsewhere_mark_nothing(tmp_path):
    far = blank(tmp_path / "far.tif", transform=rasterio.Affine(10, 0, 900_000, 0, -10, 5_000_000))
    with pytest.raises(InputError, match=r"'far.tif'.*'image.tif'"):
        marks_of(blank(tmp_path / "image.tif"), open_areas(far))


def test_a_class_map_marks_its_classes_by_name(tmp_path):
    """The map of one scene as the areas of the next: codes mean their classes, and rejected pixels none."""
    codes = np.zeros((1, 20, 30), "uint8")
    codes[0, 2:5, 2:5], codes[0, 10:14, 3:9], codes[0, 10:14, 20:25] = 1, 2, 3
    path = write_image(tmp_path / "map.tif", codes, nodata=0)
    with rasterio.open(path, "r+") as file:
        file.update_tags(**make_legend(["forest", "sand", "water"][:2], reject=True).tags())
    found = painted_classes(marks_of(blank(tmp_path / "image.tif"), open_areas(path)), (20, 30))
    assert_array_equal(found == "forest", codes[0] == 1)
    assert_array_equal(found == "sand", codes[0] == 2)
    assert set(found[codes[0] % 3 == 0]) == {None}
    named = open_areas(path, names={1: "wood", 2: "beach"})
    assert set(marks_of(blank(tmp_path / "image.tif"), named).labels) == {"wood", "beach"}
