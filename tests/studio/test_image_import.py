"""Areas of files on the Image page: formats, refused contents, and the journey from the example image to hectares."""

import json
import re
import zipfile

import numpy as np
import pyogrio
import pytest
import shapely
from playwright.sync_api import expect
from rasterio.warp import transform_geom
from studios import PATIENCE

from discriminant.datasets import scene
from discriminant.errors import InputError
from discriminant.raster import open_areas
from discriminant.studio.image_import import checked_fields, usual_field
from discriminant.studio.image_work import ImageWork

# One server and browser for all tests; each test has an image and a page of its own.
pytestmark = pytest.mark.xdist_group("image_import")
#: Columns and rows in the example scene: one area with a hole, one of two parts.
SHAPES = [
    shapely.Polygon(shapely.box(60, 8, 74, 18).exterior, [shapely.box(64, 10, 68, 14).exterior]),
    shapely.box(28, 28, 40, 40),
    shapely.MultiPolygon([shapely.box(100, 20, 109, 29), shapely.box(108, 32, 115, 39)]),
]
CLASSES = ["field", "lake", "village"]


@pytest.fixture
def image(tmp_path):
    return scene().write(tmp_path / "scene")["image"]


def on_the_ground(shape, crs):
    there = shapely.transform(shape, lambda xy: np.column_stack([500_000 + 10 * xy[:, 0], 5_000_000 - 10 * xy[:, 1]]))
    return shapely.geometry.shape(transform_geom("EPSG:32633", crs, there.__geo_interface__))


def write_areas(path, field="cover", shapes=SHAPES, more=None, crs="EPSG:4326", driver=None):
    fields = {**(more or {}), field: np.array(CLASSES, object)}
    wkb = shapely.to_wkb(np.array([on_the_ground(shape, crs) for shape in shapes], object))
    pyogrio.raw.write(
        str(path), wkb, list(fields.values()), list(fields), driver=driver, crs=crs, geometry_type="Unknown"
    )
    return path


def zipped(folder):
    """A Shapefile, which has polygons only."""
    write_areas(folder / "areas.shp")
    with zipfile.ZipFile(folder / "areas.zip", "w") as packed:
        for ending in ("shp", "shx", "dbf", "prj", "cpg"):
            packed.write(folder / f"areas.{ending}", f"areas.{ending}")
    return folder / "areas.zip"


@pytest.mark.parametrize("ending", ["geojson", "gpkg", "kml", "zip"])
def test_areas_of_every_format_are_added_and_kept(tmp_path, image, ending):
    field = "Name" if ending == "kml" else "cover"
    driver = "LIBKML" if ending == "kml" else None
    path = zipped(tmp_path) if ending == "zip" else write_areas(tmp_path / f"areas.{ending}", field, driver=driver)
    layers = checked_fields(path)
    assert len(layers) == 1
    assert field in next(iter(layers.values()))
    work = ImageWork.opened(image, "scene.tif")
    work.add(open_areas(path, field).in_image(work.image))
    again = ImageWork.opened(image, "scene.tif")
    for found in (work, again):
        assert [area.label for area in found.areas] == ["field", "lake", "village", "village"]
        assert list(found.colours) == CLASSES
        expected = [*SHAPES[:2], *SHAPES[2].geoms]
        for area, shape in zip(found.areas, expected, strict=True):
            # A Shapefile and KML may start a ring at another corner, and edges have more points.
            assert area.shape.symmetric_difference(shape).area < 0.01
    work.undo()
    assert work.areas == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("areas.kml", b"<OGRVRTDataSource><OGRVRTLayer name='x'><SrcDataSource>/etc/passwd</SrcDataSource>"),
        ("areas.geojson", b"<OGRVRTDataSource/>"),
        ("areas.geojson", b"class,x,y"),
        ("areas.gpkg", b"{}"),
        ("areas.zip", b"PK\x03\x04 damaged"),
        ("areas.csv", b"{}"),
        ("areas.geojson", b"{}"),
    ],
)
def test_what_is_not_what_its_name_says_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(name)):
        checked_fields(tmp_path / name)


@pytest.mark.parametrize("names", [["areas.geojson"], ["areas.shp", "areas.vrt"], ["notes.txt"]])
def test_archives_of_other_files_are_refused(tmp_path, names):
    with zipfile.ZipFile(tmp_path / "areas.zip", "w") as packed:
        for name in names:
            packed.writestr(name, "{}")
    with pytest.raises(InputError, match=r"areas\.zip"):
        checked_fields(tmp_path / "areas.zip")


def test_the_field_of_the_class_is_found_by_its_name():
    assert usual_field(["fid", "Landcover", "name"]) == "Landcover"
    assert usual_field(["fid", "area"]) == "fid"
    assert usual_field([]) is None


@pytest.fixture
def page(visit):
    with visit("/image") as opened:
        opened.get_by_role("button", name="Open the example image").click()
        opened.locator(".plane[data-image]").wait_for()
        yield opened


def import_file(page, path):
    page.get_by_role("button", name="Import areas").click()
    page.get_by_role("dialog").get_by_label("Choose a file of areas").set_input_files(path)


def test_a_file_with_one_field_is_imported_at_once_and_undone_in_one_step(page, tmp_path):
    import_file(page, write_areas(tmp_path / "areas.geojson"))
    for name, count in (("field", "1 area"), ("lake", "1 area"), ("village", "2 areas")):
        page.get_by_role("radio", name=f"{name} {count}").wait_for()
    page.get_by_text("Imported 4 areas of 3 classes").wait_for()
    page.locator(".plane[data-classes]").wait_for()
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    expect(page.locator("path.leaflet-interactive")).to_have_count(4, timeout=PATIENCE)
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("radio", name="field").wait_for(state="detached")
    expect(page.locator("path.leaflet-interactive")).to_have_count(0, timeout=PATIENCE)


def test_the_field_is_chosen_where_there_are_several_and_errors_stay_in_the_dialog(page, tmp_path):
    bad = tmp_path / "bad.geojson"
    bad.write_text("nothing")
    import_file(page, bad)
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("alert").filter(has_text="bad.geojson").wait_for()
    more = {"owner": np.array(["a", "b", "c"], object), "size": np.array([1.5, 2.5, 3.5])}
    path = write_areas(tmp_path / "areas.gpkg", "landcover", more=more)
    dialog.get_by_label("Choose a file of areas").set_input_files(path)
    dialog.get_by_text("3 areas of 3 classes: field (1), lake (1), village (1).").wait_for()
    dialog.get_by_label("Field with the class").click()
    page.get_by_role("option", name="size").click()
    dialog.get_by_role("alert").filter(has_text="integers").wait_for()
    expect(page.get_by_role("listbox")).to_have_count(0, timeout=PATIENCE)
    dialog.get_by_label("Field with the class").click()
    page.get_by_role("option", name="owner").click()
    dialog.get_by_text("3 areas of 3 classes: a (1), b (1), c (1).").wait_for()
    expect(dialog.get_by_role("alert")).to_have_count(0, timeout=PATIENCE)
    dialog.get_by_role("button", name="Import").click()
    page.get_by_role("radio", name="c 2 areas").wait_for()


def test_an_imported_outline_with_a_hole_keeps_it_when_a_corner_is_moved(page, tmp_path, studio):
    import_file(page, write_areas(tmp_path / "areas.gpkg", crs="EPSG:32633"))
    page.get_by_role("button", name=re.compile(r"^1\. field")).click()
    given = page.get_by_label("Corners of area 1")
    given.wait_for()
    given.fill("60 8  75 8  75 19  60 19")
    given.press("Enter")
    page.get_by_role("button", name=re.compile(r"^1\. field.*8 corners")).wait_for()
    file = max(studio.state.rglob("scene.areas.geojson"), key=lambda path: path.stat().st_mtime)
    kept = shapely.from_geojson(json.dumps(json.loads(file.read_text())["features"][0]["geometry"]))
    assert kept.area == pytest.approx(100 * (15 * 11 - 4 * 4))
