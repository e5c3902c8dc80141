"""The Image page in a real browser: areas by mouse and by numbers, kept as they are drawn, and their map."""

import json
import zipfile

import numpy as np
import pytest
import rasterio

from discriminant.errors import InputError
from discriminant.raster import draw_samples, read_class_map
from discriminant.studio.image_work import ImageWork

HOSTILE = "<b>sand</b>"
BOXES = {"water": ["10,10,60,60", "20,200,70,280"], HOSTILE: ["200,10,280,60", "210,200,280,280"]}


@pytest.fixture(scope="module")
def scene(studio):
    """An image of two halves, dark and bright."""
    rng = np.random.default_rng(0)
    bright = np.arange(300) >= 150
    bands = [40 + 100 * bright + rng.normal(0, 8, (300, 300)) for _ in range(4)]
    path = studio.folder / "scene.tif"
    form = {"driver": "GTiff", "count": 4, "width": 300, "height": 300, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(path, "w", **form, transform=rasterio.Affine(30, 0, 500_000, 0, -30, 5_000_000)) as file:
        file.write(np.stack(bands).clip(0, 255).astype("uint8"))
    return path


@pytest.fixture(scope="module")
def drawn(visit, scene):
    """The page with two classes of two areas each."""
    with visit("/image") as page:
        page.get_by_label("or type a path on this machine").fill(str(scene))
        page.keyboard.press("Enter")
        page.locator(".leaflet-tile-loaded").first.wait_for()
        for name, boxes in BOXES.items():
            page.get_by_label("New class").fill(name)
            page.keyboard.press("Enter")
            page.get_by_role("radio", name=name).wait_for()
            for number, box in enumerate(boxes, 1):
                page.get_by_label("Area by numbers").fill(box)
                page.keyboard.press("Enter")
                page.get_by_role("radio", name=f"{name} {number} area").wait_for()
        page.get_by_role("tab", name="Signatures").wait_for()
        yield page


def kept(scene):
    return json.loads(scene.with_name("scene.areas.geojson").read_text())


def test_areas_are_kept_beside_the_image_and_read_by_the_library(drawn, scene):
    assert [feature["properties"]["class"] for feature in kept(scene)["features"]] == ["water"] * 2 + [HOSTILE] * 2
    samples = draw_samples(scene, scene.with_name("scene.areas.geojson"), "class")
    assert dict(zip(samples.statistics.classes, samples.statistics.counts, strict=True)) == {
        "water": 50 * 50 + 50 * 80, HOSTILE: 80 * 50 + 70 * 80,
    }  # fmt: skip


def test_what_is_drawn_by_mouse_is_where_it_was_drawn(drawn, scene):
    before = len(kept(scene)["features"])
    drawn.locator(".leaflet-draw-draw-rectangle").click()
    box = drawn.locator(".plane").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2  # the middle of the image
    drawn.mouse.move(x, y)
    drawn.mouse.down()
    drawn.mouse.move(x + 20, y + 20, steps=4)
    drawn.mouse.up()
    drawn.get_by_role("radio", name=f"{HOSTILE} 3 areas").wait_for()
    added = np.array(kept(scene)["features"][before]["geometry"]["coordinates"][0])
    columns, rows = (added[:, 0] - 500_000) / 30, (5_000_000 - added[:, 1]) / 30
    assert abs(columns.min() - 150) < 3
    assert abs(rows.min() - 150) < 3
    assert columns.max() > columns.min() + 5
    drawn.get_by_role("button", name="Undo").click()
    drawn.get_by_role("radio", name=f"{HOSTILE} 2 areas").wait_for()
    assert len(kept(scene)["features"]) == before


def test_the_map_of_what_is_visible_follows(drawn):
    drawn.wait_for_function("document.querySelectorAll('img.leaflet-tile-loaded[src*=\"/map/\"]').length > 0")
    assert drawn.locator("b", has_text="sand").count() == 0  # a name is text


def test_the_whole_map_is_that_of_the_areas(drawn, tmp_path):
    with drawn.expect_download() as written:
        drawn.get_by_role("button", name="Download Map").click()
    with zipfile.ZipFile(written.value.path()) as packed:
        packed.extractall(tmp_path)
    codes, legend, _ = read_class_map(next(tmp_path.glob("*.tif")))
    names = np.array([legend.names.get(code, "") for code in range(codes.max() + 1)], dtype=object)[codes]
    assert np.mean(names[:, :150] == "water") > 0.99
    assert np.mean(names[:, 150:] == HOSTILE) > 0.99


def test_a_reload_loses_nothing(drawn):
    drawn.reload()
    drawn.get_by_role("radio", name="water 2 areas").wait_for()
    drawn.locator(".leaflet-tile-loaded").first.wait_for()


def test_tiles_are_shown_to_their_visitor_alone(drawn, browser):
    source = drawn.locator("img.leaflet-tile-loaded").first.get_attribute("src")
    base = drawn.url.removesuffix("/image")
    assert drawn.request.get(base + source).status == 200
    other = browser.new_context()
    assert other.request.get(base + source).status == 404
    other.close()


@pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")  # of rasterio itself
def test_places_and_pixels_are_one_plane(scene):
    work = ImageWork.opened(scene, "scene.tif", beside=True)
    assert work.side == 512
    for place in ((0, 0), (12.5, 250), (300, 300)):
        assert work.pixel(*work.place(*place)) == pytest.approx(place)
    assert work.tile("image", 1, 0, 0).startswith(b"\x89PNG")
    assert work.tile("image", 9, 400, 400) is None


def test_files_that_name_other_files_are_not_opened(tmp_path):
    path = tmp_path / "other.tif"
    path.write_text("<VRTDataset rasterXSize='1' rasterYSize='1'></VRTDataset>")
    with pytest.raises(InputError, match="no TIFF, PNG or JPEG"):
        ImageWork.opened(path, "other.tif", beside=True)
