"""Areas of files on the Image page: formats, refused contents, and the journey from the example image to hectares."""

import json
import re
import zipfile

import numpy as np
import pyogrio
import pytest
import rasterio
import shapely
from playwright.sync_api import expect
from rasterio.warp import transform_geom
from studios import PATIENCE

from discriminant.datasets import scene
from discriminant.errors import InputError
from discriminant.raster import MapRule, open_areas, read_class_map
from discriminant.results import percent
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
    page.get_by_role("button", name="Import training areas").click()
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
    stored = [path for path in studio.state.rglob("scene.areas.geojson") if not path.parent.name.startswith(".")]
    file = max(stored, key=lambda path: path.stat().st_mtime)  # folders with a dot are of files being written
    kept = shapely.from_geojson(json.dumps(json.loads(file.read_text())["features"][0]["geometry"]))
    assert kept.area == pytest.approx(100 * (15 * 11 - 4 * 4))


def middle(page, across=0.5, down=0.5):
    box = page.locator(".plane").bounding_box()
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def use(page, key, tool):
    page.keyboard.press(key)
    page.locator(f".plane[data-tool={tool}]").wait_for()


def test_four_covers_are_mapped_from_imported_areas_and_their_hectares_reported(page):
    truth, names = scene().truth, scene().classes
    page.get_by_role("button", name="Import training areas").click()
    page.get_by_role("dialog").get_by_label("or choose a file beside the image").click()
    page.get_by_role("option", name="areas.geojson").click()
    page.locator(".plane[data-classes]").wait_for()
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    shown = page.locator(".map-legend span")
    expect(shown).to_have_count(4, timeout=PATIENCE)
    areas = [float(re.search(r"([\d.]+) ha", words)[1]) for words in shown.all_inner_texts()]
    assert sum(areas) == pytest.approx(96 * 128 * 0.01, rel=1e-3)
    page.get_by_role("tab", name="Map accuracy").click()
    page.get_by_role("tab", name="Map accuracy", selected=True).wait_for()
    page.get_by_label("Number of points").fill("16")
    page.get_by_label("Minimum per class").fill("4")
    page.get_by_role("button", name="Sample points").click()
    for number in range(1, 17):
        page.get_by_role("heading", name=f"Point {number} of 16").wait_for()
        column, row = map(
            int, re.search(r"Column (\d+), row (\d+)", page.locator(".q-tab-panel").inner_text()).groups()
        )
        page.keyboard.press(str(truth[row, column] + 1))
    page.get_by_role("heading", name="Estimated accuracy and hectares of the classes").wait_for()
    report = page.locator(".q-tab-panel").inner_text()
    assert "Overall accuracy" in report
    assert all(name in report for name in names)
    shown = page.locator(".leaflet-classes-pane > div")
    expect(shown).to_have_css("opacity", "0.6", timeout=PATIENCE)  # it was hidden while points were labelled
    with page.expect_download() as written:
        page.get_by_role("button", name="Download Report").click()
    content = written.value.path().read_text(encoding="utf-8")
    assert "Area (hectares)" in content
    assert re.search(r"Overall accuracy: [\d.]+ % \([\d.]+ to [\d.]+\)", report)[0] in content


def test_a_pixel_is_inspected_a_stroke_painted_and_an_uncertain_place_found(page, tmp_path):
    import_file(page, write_areas(tmp_path / "areas.geojson"))
    page.locator(".plane[data-classes]").wait_for()
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    use(page, "i", "inspect")
    page.mouse.click(*middle(page))
    popup = page.locator(".pixel-values")
    popup.get_by_text(re.compile(r"^Column 6[345], row 4[789]$")).wait_for()
    assert popup.get_by_role("row", name=re.compile("near infrared")).count() == 1
    use(page, "b", "brush")
    expect(popup).to_have_count(0, timeout=PATIENCE)
    page.get_by_role("radio", name="lake").click()
    page.get_by_role("radio", name="lake", checked=True).wait_for()
    page.mouse.move(*middle(page))
    page.mouse.down()
    page.mouse.move(*middle(page, 0.55, 0.55), steps=5)
    page.mouse.up()
    page.get_by_role("radio", name="lake 2 areas").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.get_by_text(re.compile("^Uncertain pixel at column")).wait_for()
    page.locator(".target").wait_for()
    page.keyboard.press("3")  # a class is chosen while the place is marked
    page.get_by_role("radio", name="village", checked=True).wait_for()
    page.get_by_label("Layer").click()
    page.get_by_role("option", name="Probability of the most probable class").click()
    page.get_by_text("Probability of the most probable class: 33 %").wait_for()


def test_a_smoothed_map_has_its_extents_on_the_page_and_in_the_file(page, tmp_path):
    import_file(page, write_areas(tmp_path / "areas.geojson"))
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    page.locator(".plane[data-classes]").wait_for()
    before = page.locator(".map-legend").inner_text()
    page.get_by_label("Smoothing").click()
    page.get_by_role("option", name="Majority filter, 5 x 5 pixels").click()
    page.wait_for_function("words => document.querySelector('.map-legend').innerText !== words", arg=before)
    after = re.findall(r"([\d.]+ %)", page.locator(".map-legend").inner_text())
    with page.expect_download() as written:
        page.get_by_role("button", name="Download Map").click()
    with zipfile.ZipFile(written.value.path()) as packed:
        packed.extractall(tmp_path / "map")
    codes, legend, _ = read_class_map(next((tmp_path / "map").glob("*.tif")))
    assert after == [percent((codes == entry.code).mean()) for entry in legend.entries]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:Dataset has no geotransform")
@pytest.mark.parametrize(("smoothing", "min_pixels"), [("", 1), ("majority-5", 1), ("auto", 1), ("", 20)])
def test_tiles_show_the_map_that_is_written(image, tmp_path, smoothing, min_pixels):
    work = ImageWork.opened(image, "scene.tif")
    work.add(open_areas(image.with_name("areas.geojson"), "class").in_image(work.image))
    trained = work.train("maximum-likelihood", smoothing, MapRule(min_pixels=min_pixels))
    made = work.write_map(tmp_path / "map.tif", trained.rule)
    codes, legend, _ = read_class_map(made.path)
    assert trained.extents[0] == made.pixels
    with rasterio.io.MemoryFile(work.tile("map", 0, 0, 0)) as file, file.open() as opened:
        shown = opened.read()[:3, :96, :128]
    colours = np.zeros((legend.n_codes, 3), dtype=np.uint8)
    for entry in legend.entries:
        colours[entry.code] = [int(entry.colour[i : i + 2], 16) for i in (1, 3, 5)]
    np.testing.assert_array_equal(shown, colours[codes].transpose(2, 0, 1))
    assert (f"--min-pixels {min_pixels}" in work.code()[1]) == (min_pixels > 1)
    assert ("--smoothing" in work.code()[1]) == (trained.rule.smoothing is not None)
    assert trained.rule.smoothing is not None or smoothing == ""
