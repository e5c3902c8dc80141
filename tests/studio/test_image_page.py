"""The Image page in a real browser: areas by mouse and keyboard, their storage, and the results."""

import json
import re
import uuid
import zipfile

import numpy as np
import pytest
import rasterio
from playwright.sync_api import expect
from studios import PATIENCE, choose, delayed, running

from discriminant.raster import draw_samples, open_areas, read_class_map
from discriminant.studio.image_areas import shape_of
from discriminant.studio.image_panels import corners_of
from discriminant.studio.image_work import ImageWork

# One server and browser for all tests; each test has an image and a page of its own.
pytestmark = pytest.mark.xdist_group("image_page")
HOSTILE = "<b>sand</b>"
BOXES = {"water": ["10,10,60,60", "20,200,70,280"], HOSTILE: ["200,10,280,60", "210,200,280,280"]}


def write_scene(path, side=300):
    """An image of two halves, dark and bright."""
    rng = np.random.default_rng(0)
    bright = np.arange(side) >= side / 2
    bands = [40 + 100 * bright + rng.normal(0, 8, (side, side)) for _ in range(3)]
    form = {"driver": "GTiff", "count": 3, "width": side, "height": side, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(path, "w", **form, transform=rasterio.Affine(30, 0, 500_000, 0, -30, 5_000_000)) as file:
        file.write(np.stack(bands).clip(0, 255).astype("uint8"))
    return path


@pytest.fixture
def scene(studio):
    """A new image without areas."""
    folder = studio.folder / uuid.uuid4().hex
    folder.mkdir()
    return write_scene(folder / "scene.tif")


def open_path(page, path):
    page.get_by_label("or type a path on this machine").fill(str(path))
    page.keyboard.press("Enter")
    page.locator(".plane[data-image]").wait_for()


def name_class(page, name):
    page.get_by_label("New class").fill(name)
    page.keyboard.press("Enter")
    page.get_by_role("radio", name=name, checked=True).wait_for()
    page.wait_for_function("name => window.plane.active === name", arg=name)


def draw_by_numbers(page, name, numbers, count):
    page.get_by_label("Add a training area by coordinates").fill(numbers)
    page.keyboard.press("Enter")
    page.get_by_role("radio", name=f"{name} {count} area").wait_for()


def use(page, tool):
    page.get_by_role("button", name=tool).click()
    page.locator(f".plane[data-tool={tool.lower()}]").wait_for()


def put_down(page):
    page.keyboard.press("Escape")
    page.locator(".plane[data-tool='']").wait_for()


@pytest.fixture
def drawn(visit, scene):
    """A page with an image of two classes, of two areas each."""
    work = ImageWork.opened(scene, str(scene))
    for name, boxes in BOXES.items():
        work.name_class(name)
        for box in boxes:
            work.draw(name, shape_of(corners_of(box)))
    with visit("/image") as page:
        open_path(page, scene)
        page.locator(".plane[data-classes]").wait_for()
        yield page


def kept(scene):
    return json.loads(scene.with_name("scene.areas.geojson").read_text())


def pixels_of(feature):
    """The columns and rows of an area's corners."""
    places = np.array(feature["geometry"]["coordinates"])
    return (places.reshape(-1, 2) - [500_000, 5_000_000]) / [30, -30]


def until(page, holds):
    """Wait for what is written to disk."""
    for _ in range(PATIENCE // 100):
        if holds():
            return
        page.wait_for_timeout(100)
    assert holds()


def middle(page):
    box = page.locator(".plane").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def scale(page):
    """Pixels of the screen for one of the image, from the zoom of the plane."""
    return page.evaluate("() => plane.getZoomScale(plane.getZoom(), 1)")  # two pixels for one at zoom 2


def drag(page, start, right, down):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + right, start[1] + down, steps=4)
    page.mouse.up()


def first_corner(page):
    """Where the first corner of the selected area is on the screen."""
    handle = page.locator(".leaflet-editing-icon").first
    handle.wait_for()
    assert handle.get_attribute("aria-label")
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_areas_are_kept_beside_the_image_and_read_by_the_library(visit, scene):
    with visit("/image") as page:
        open_path(page, scene)
        for name, boxes in BOXES.items():
            name_class(page, name)
            for number, box in enumerate(boxes, 1):
                draw_by_numbers(page, name, box, number)
        page.locator(".plane[data-classes]").wait_for()
        assert page.locator("b", has_text="sand").count() == 0  # a name is text
    assert [feature["properties"]["class"] for feature in kept(scene)["features"]] == ["water"] * 2 + [HOSTILE] * 2
    samples = draw_samples(scene, scene.with_name("scene.areas.geojson"), "class")
    assert dict(zip(samples.statistics.classes, samples.statistics.counts, strict=True)) == {
        "water": 50 * 50 + 50 * 80, HOSTILE: 80 * 50 + 70 * 80,
    }  # fmt: skip


def test_tiles_that_overlap_are_not_added_up(drawn):
    tile = drawn.locator("img.leaflet-tile").first
    tile.wait_for()
    assert tile.evaluate("e => getComputedStyle(e).mixBlendMode") == "normal"


def test_the_map_of_what_is_visible_has_the_classes_of_the_areas(drawn):
    drawn.locator(".plane[data-classes]").wait_for()
    colours = [swatch.input_value() for swatch in drawn.locator("input[type=color]").all()]
    shown = drawn.evaluate(
        """async () => {
          const found = {left: {}, right: {}};
          const tiles = document.querySelectorAll('img.leaflet-tile-loaded[src*="/map/"]');
          for (const source of Array.from(tiles, tile => tile.src)) {
            const [, , zoom, x] = source.match(/map[/](\\d+)[/](\\d+)[/](\\d+)[/](\\d+)[.]png/);
            const canvas = new OffscreenCanvas(256, 256), paper = canvas.getContext('2d');
            paper.drawImage(await createImageBitmap(await (await fetch(source)).blob()), 0, 0);
            const data = paper.getImageData(0, 0, 256, 256).data;
            for (let i = 0; i < data.length; i += 4) {
              if (!data[i + 3]) continue;
              const column = (x * 256 + (i / 4) % 256) * 2 ** (1 - zoom);
              const hex = '#' + [0, 1, 2].map(j => data[i + j].toString(16).padStart(2, '0')).join('');
              const side = found[column < 150 ? 'left' : 'right'];
              side[hex] = (side[hex] || 0) + 1;
            }
          }
          return found;
        }"""
    )
    for side, colour in zip(("left", "right"), colours, strict=True):
        assert shown[side][colour] > 0.98 * sum(shown[side].values())


def test_what_is_drawn_by_mouse_is_where_it_was_drawn_and_can_be_undone(drawn, scene):
    drawn.get_by_role("radio", name=HOSTILE).click()
    use(drawn, "Rectangle")
    drag(drawn, middle(drawn), 30, 30)  # the middle of the image, too
    drawn.get_by_role("radio", name=f"{HOSTILE} 3 areas").wait_for()
    added = pixels_of(kept(scene)["features"][4])
    assert np.abs(added.min(axis=0) - 150).max() < 3
    assert np.abs(np.ptp(added, axis=0) - 30 / scale(drawn)).max() < 3
    put_down(drawn)
    drawn.keyboard.press("Control+z")
    drawn.get_by_role("radio", name=f"{HOSTILE} 2 areas").wait_for()
    assert len(kept(scene)["features"]) == 4
    drawn.get_by_role("button", name="Redo").click()
    drawn.get_by_role("radio", name=f"{HOSTILE} 3 areas").wait_for()
    drawn.get_by_role("button", name="Undo").click()
    drawn.get_by_role("radio", name=f"{HOSTILE} 2 areas").wait_for()


@pytest.mark.parametrize("count", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_no_area_is_lost_at_a_slow_server(count, browser, studio, scene):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    names = ("dark", "bright", "other")
    with delayed(studio.address, 0.5) as address:
        page = context.new_page()
        page.goto(f"{address}/image")
        open_path(page, scene)
        for name in names:
            name_class(page, name)
        use(page, "Rectangle")
        x, y = middle(page)
        page.mouse.move(x, y)
        for number in range(count):
            column, row = number % 20 - 10, number // 20 - 5
            page.mouse.move(x + 12 * column, y + 12 * row)
            page.mouse.down()
            page.keyboard.press(str(number % 3 + 1))  # while the area is drawn
            page.mouse.move(x + 12 * column + 8, y + 12 * row + 8, steps=2)
            page.mouse.up()
        until(page, lambda: len(kept(scene)["features"]) == count)
        drawn = [feature["properties"]["class"] for feature in kept(scene)["features"]]
        assert drawn == [names[number % 3] for number in range(count)]
        context.close()


def test_polygons_and_points_stand_beside_rectangles(drawn, scene):
    drawn.get_by_role("radio", name=HOSTILE).click()
    drawn.keyboard.press("1")
    drawn.get_by_role("radio", name="water", checked=True).wait_for()
    drawn.keyboard.press("o")
    drawn.locator(".plane[data-tool=point]").wait_for()
    x, y = middle(drawn)
    drawn.mouse.click(x - 40 * scale(drawn), y)
    drawn.get_by_role("radio", name="water 3 areas").wait_for()
    drawn.keyboard.press("p")
    drawn.locator(".plane[data-tool=polygon]").wait_for()
    drawn.locator(".tools [aria-pressed=true]", has_text="Polygon").wait_for()
    for dx, dy in ((-90, -20), (-60, -20), (-60, 20), (-90, -20)):
        drawn.wait_for_function("() => !plane.tool._disableMarkers")  # a click just after another one is ignored
        drawn.mouse.click(x + dx * scale(drawn), y + dy * scale(drawn))
    drawn.get_by_role("radio", name="water 4 areas").wait_for()
    put_down(drawn)
    point, polygon = kept(scene)["features"][4:]
    assert point["geometry"]["type"] == "Point"
    assert np.abs(pixels_of(point)[0] - [110, 150]).max() < 3
    assert polygon["geometry"]["type"] == "Polygon"
    assert len(pixels_of(polygon)) == 4  # of three corners, closed


def test_corners_are_moved_by_mouse_and_by_numbers(drawn, scene):
    drawn.get_by_role("button", name=re.compile(r"^1\. water")).click()
    given, before = drawn.get_by_label("Corners of area 1"), pixels_of(kept(scene)["features"][0])
    expect(given).to_have_value(re.compile(r"^10\.0, 10\.0  60\.0, 10\.0  60\.0, 60"), timeout=PATIENCE)
    drag(drawn, first_corner(drawn), 6 * scale(drawn), 6 * scale(drawn))
    expect(given).not_to_have_value(re.compile(r"^10\.0, 10\.0  60\.0, 10\.0  60\.0, 60"), timeout=PATIENCE)
    moved = pixels_of(kept(scene)["features"][0])
    assert 1 <= (np.abs(moved - before).max(axis=1) > 3).sum() <= 2  # one corner, which may close the ring
    given.fill("10 10  60 10  60 60  10 60")
    given.press("Enter")
    expect(given).to_have_value(re.compile(r"^10\.0, 10\.0  60\.0, 10\.0  60\.0, 60"), timeout=PATIENCE)
    np.testing.assert_allclose(pixels_of(kept(scene)["features"][0])[:2], [[10, 10], [60, 10]], atol=1e-6)


def test_a_change_of_one_area_keeps_what_the_user_does_with_another(drawn, scene):
    draw_by_numbers(drawn, "water", "80,80,90,90", 3)
    row = drawn.get_by_role("button", name=re.compile(r"^1\. water"))
    row.click()
    before, start, held = kept(scene)["features"], first_corner(drawn), row.element_handle()
    drawn.mouse.move(*start)
    drawn.mouse.down()
    drawn.mouse.move(start[0] + 10, start[1] + 10, steps=3)
    drawn.get_by_role("button", name="Undo").dispatch_event("click")  # of another area, in mid-drag
    drawn.get_by_role("radio", name="water 2 areas").wait_for()
    expect(drawn.locator("path.leaflet-interactive")).to_have_count(4, timeout=PATIENCE)
    drawn.mouse.move(start[0] + 20, start[1] + 20, steps=3)
    drawn.mouse.up()
    until(drawn, lambda: kept(scene)["features"][0] != before[0])
    assert np.abs(pixels_of(kept(scene)["features"][0])[0] - 10 - 20 / scale(drawn)).max() < 3
    assert held.evaluate("e => e.isConnected")
    corners = drawn.get_by_label("Corners of area 1")
    expect(corners).not_to_have_value(re.compile(r"^10\.0, 10\.0"), timeout=PATIENCE)  # the move is shown
    corners.fill("1 1 2 2")
    draw_by_numbers(drawn, "water", "80,80,90,90", 3)
    drawn.get_by_role("button", name=re.compile(r"^5\. water")).wait_for()
    assert corners.input_value() == "1 1 2 2"


def test_a_move_that_is_refused_is_taken_back(drawn, scene):
    drawn.get_by_role("button", name=re.compile(r"^1\. water")).click()
    start, side = first_corner(drawn), 10 * scale(drawn)
    before, outline = kept(scene), drawn.locator("path.leaflet-interactive").first.get_attribute("d")
    drag(drawn, start, 7 * side, 3 * side)  # beyond the right side
    drawn.get_by_role("alert").filter(has_text="sides of this area cross").wait_for()
    drawn.wait_for_function(
        "d => Array.from(document.querySelectorAll('path.leaflet-interactive')).some(e => e.getAttribute('d') === d)",
        arg=outline,
    )
    assert kept(scene) == before


def test_a_chosen_area_is_deleted_by_key_and_comes_back(drawn, scene):
    drawn.get_by_role("button", name=re.compile(r"^2\. water")).click()
    drawn.locator(".plain[aria-pressed=true]", has_text="2. water").wait_for()
    drawn.keyboard.press("Delete")
    drawn.get_by_role("radio", name="water 1 area").wait_for()
    assert len(kept(scene)["features"]) == 3
    drawn.keyboard.press("Control+z")
    drawn.get_by_role("radio", name="water 2 areas").wait_for()


def test_what_changes_meanwhile_loses_neither_a_name_nor_a_colour(drawn, scene):
    before, swatch = kept(scene)["classes"]["water"], drawn.get_by_label("Colour of water").element_handle()
    swatch.evaluate("e => { e.value = '#0a0b0c'; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    draw_by_numbers(drawn, "water", "80,80,90,90", 3)
    assert swatch.evaluate("e => [e.isConnected, e.value]") == [True, "#0a0b0c"]
    swatch.evaluate("e => e.dispatchEvent(new Event('change', {bubbles: true}))")
    until(drawn, lambda: kept(scene)["classes"]["water"] == "#0a0b0c")
    drawn.get_by_role("button", name="Rename, merge or delete water").click()
    given = drawn.get_by_label("Name of the class")
    given.fill("lake")
    for _ in range(2):  # the colour and the area, beside the open dialog
        drawn.locator(".tools button", has_text="Undo").dispatch_event("click")
    drawn.locator(".class-row", has_text="water").filter(has_text="2 areas").wait_for()
    expect(drawn.locator("input[type=color]").first).to_have_value(before, timeout=PATIENCE)
    assert given.input_value() == "lake"
    given.press("Enter")
    drawn.get_by_role("radio", name="lake 2 areas", checked=True).wait_for()
    assert list(kept(scene)["classes"]) == ["lake", HOSTILE]  # in its place
    drawn.get_by_role("button", name="Undo").click()
    drawn.get_by_role("radio", name="water 2 areas").wait_for()


def test_classes_are_named_coloured_and_deleted(drawn, scene):
    name_class(drawn, "ice")
    drawn.get_by_label("Colour of ice").evaluate("e => { e.value = '#123456'; e.dispatchEvent(new Event('change')); }")
    until(drawn, lambda: kept(scene)["classes"]["ice"] == "#123456")
    drawn.get_by_role("button", name="Rename, merge or delete ice").click()
    drawn.get_by_label("Name of the class").fill("snow")
    drawn.keyboard.press("Enter")
    drawn.get_by_role("radio", name="snow").wait_for()
    expect(drawn.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    assert kept(scene)["classes"]["snow"] == "#123456"
    drawn.get_by_label("New class").fill("snow")
    drawn.keyboard.press("Enter")
    drawn.locator(".step", has_text="Classes").get_by_role("alert").filter(has_text="already").wait_for()
    drawn.get_by_role("button", name="Rename, merge or delete snow").click()
    drawn.get_by_role("button", name="Delete with its training areas").click()
    drawn.get_by_role("radio", name="snow").wait_for(state="detached")
    assert list(kept(scene)["classes"]) == ["water", HOSTILE]


def test_scatter_and_image_show_what_is_chosen_on_the_other(drawn):
    drawn.get_by_role("tab", name="Signatures").click()
    plot = drawn.locator(".js-plotly-plot").nth(1)
    plot.locator(".scatterlayer .points path").first.wait_for()
    ringed = (
        "() => document.querySelectorAll('.js-plotly-plot')[1]?.data?.at(-1).x.length"  # it may be replaced just now
    )
    drawn.keyboard.press("Escape")
    drawn.wait_for_function(f"() => ({ringed})() === 0")
    plot.evaluate("e => e.emit('plotly_click', {points: [{customdata: e.data[0].customdata[0]}]})")
    drawn.wait_for_function(f"() => ({ringed})() > 0")
    drawn.locator(".target").wait_for()
    assert drawn.locator(".leaflet-editing-icon").count() > 0  # the area is chosen on the image
    drawn.keyboard.press("Escape")
    drawn.wait_for_function(f"() => ({ringed})() === 0")


def test_separability_and_accuracy_of_held_out_areas(drawn):
    drawn.get_by_role("tab", name="Separability").click()
    drawn.get_by_role("region", name="Table of distances").wait_for()
    drawn.get_by_role("tab", name="Validation").click()
    drawn.get_by_role("region", name="Confusion matrix").wait_for()
    assert "100.0 %" in drawn.locator(".lead").inner_text()


def test_the_map_is_shown_on_one_side_of_the_line(drawn):
    drawn.locator(".plane[data-classes]").wait_for()
    clip = "() => getComputedStyle(document.querySelector('.leaflet-classes-pane')).clip"
    before = drawn.evaluate(clip)
    box, line = drawn.locator(".plane").bounding_box(), drawn.locator(".divider").bounding_box()
    drawn.mouse.move(line["x"] + 11, line["y"] + line["height"] / 2)
    drawn.mouse.down()
    drawn.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    drawn.mouse.up()
    slider = drawn.get_by_role("slider", name="Swipe position")
    drawn.wait_for_function("() => document.querySelector('[aria-label=\"Swipe position\"]').value === '50'")
    assert drawn.evaluate(clip) != before
    slider.focus()
    drawn.keyboard.press("End")
    drawn.wait_for_function(f"before => ({clip})() === before", arg=before)


def test_layers_and_opacity(drawn):
    layers = {
        "Probability of the most probable class": "probability",
        "Pixels unlike any class": "unlike",
        "Classes": "map",
    }
    for name, part in layers.items():
        choose(drawn, "Layer", name)
        expect(drawn.locator(".leaflet-classes-pane > div")).to_have_count(1, timeout=PATIENCE)
        drawn.locator(f'img.leaflet-tile-loaded[src*="/{part}/"]').first.wait_for(state="attached")
    slider, shown = drawn.get_by_role("slider", name="Opacity of the map"), drawn.locator(".leaflet-classes-pane > div")
    for key, opacity in (("Home", "0"), ("End", "1")):
        slider.press(key)
        expect(shown).to_have_css("opacity", opacity, timeout=PATIENCE)


@pytest.mark.slow
def test_nothing_is_closed_to_assistive_technology(drawn, violations):
    shown = {"Training areas": ".areas", "Signatures": "table", "Separability": "table"}
    shown |= {"Validation": "table", "Map accuracy": "button"}
    for name, part in shown.items():
        drawn.get_by_role("tab", name=name).click()
        drawn.locator(f".q-tab-panel {part}").first.wait_for()
        assert violations(drawn) == [], name


def test_areas_map_and_report_can_be_downloaded(drawn, tmp_path):
    for name, ending in (("GeoJSON", "geojson"), ("GeoPackage", "gpkg")):
        with drawn.expect_download() as written:
            drawn.get_by_role("button", name=f"Download {name}").click()
        written.value.save_as(tmp_path / f"areas.{ending}")
        assert open_areas(tmp_path / f"areas.{ending}", "class").labels.tolist() == ["water"] * 2 + [HOSTILE] * 2
    with drawn.expect_download() as written:
        drawn.get_by_role("button", name="Download Map").click()
    with zipfile.ZipFile(written.value.path()) as packed:
        packed.extractall(tmp_path)
    assert {".tif", ".qml"} <= {path.suffix for path in tmp_path.iterdir()}
    codes, legend, _ = read_class_map(next(tmp_path.glob("*.tif")))
    names = np.array([legend.names.get(code, "") for code in range(codes.max() + 1)], dtype=object)[codes]
    assert np.mean(names[:, :150] == "water") > 0.99
    assert np.mean(names[:, 150:] == HOSTILE) > 0.99
    with drawn.expect_download() as written:
        drawn.get_by_role("button", name="Download Report").click()
    page = written.value.path().read_text(encoding="utf-8")
    assert "Classification of scene.tif" in page
    assert "Recommendation." in page


def test_points_are_labelled_one_by_one_and_survive_a_reload(drawn, scene):
    drawn.get_by_role("tab", name="Map accuracy").click()
    drawn.get_by_label("Number of points").fill("8")
    drawn.get_by_label("Minimum per class").fill("4")
    drawn.get_by_role("button", name="Sample points").click()
    file = scene.with_name("scene.points.geojson")
    for number in range(1, 9):
        if number == 5:
            drawn.reload()
            drawn.get_by_role("tab", name="Map accuracy").click()
        drawn.get_by_role("heading", name=f"Point {number} of 8").wait_for()
        column = float(re.search(r"Column (\d+)", drawn.locator(".q-tab-panel").inner_text())[1])
        if number % 2:
            drawn.keyboard.press("1" if column < 150 else "2")
        else:
            answers = drawn.get_by_role("group", name="Class of the point")
            answers.get_by_role("button", name="water" if column < 150 else "sand").click()
    drawn.get_by_role("heading", name="Estimated accuracy and hectares of the classes").wait_for()
    labels = [feature["properties"]["reference"] for feature in json.loads(file.read_text())["features"]]
    assert sorted(labels) == [HOSTILE] * 4 + ["water"] * 4
    assert "Overall accuracy: 100.0 %" in drawn.locator(".q-tab-panel").inner_text()


def test_a_reload_loses_nothing_and_tabs_do_not_overwrite_each_other(drawn, scene):
    drawn.reload()
    drawn.get_by_role("radio", name="water 2 areas").wait_for()
    other = drawn.context.new_page()
    other.goto(drawn.url)
    open_path(other, scene)
    other.get_by_role("radio", name="water 2 areas").wait_for()
    draw_by_numbers(other, "water", "80,80,90,90", 3)
    drawn.get_by_label("Add a training area by coordinates").fill("100,100,110,110")
    drawn.keyboard.press("Enter")
    drawn.get_by_role("alert").filter(has_text="Reload the page").wait_for()
    assert len(kept(scene)["features"]) == 5
    drawn.reload()
    drawn.get_by_role("radio", name="water 3 areas").wait_for()
    other.close()


def test_tiles_are_shown_to_their_visitor_alone(drawn, browser):
    drawn.locator(".plane[data-image]").wait_for()
    source = drawn.locator("img.leaflet-tile-loaded").first.get_attribute("src")
    base = drawn.url.removesuffix("/image")
    assert drawn.request.get(base + source).status == 200
    other = browser.new_context()
    assert other.request.get(base + source).status == 404
    other.close()


def test_an_upload_and_its_areas_are_there_after_a_crash(tmp_path, browser):
    image, context = write_scene(tmp_path / "up.tif", 64), browser.new_context()
    context.set_default_timeout(PATIENCE)
    with running(tmp_path, survives=False) as found:
        page = context.new_page()
        page.goto(f"{found.address}image")
        page.set_input_files("input[type=file]", image)
        page.locator(".plane[data-image]").wait_for()
        name_class(page, "mine")
        draw_by_numbers(page, "mine", "1,1,9,9", 1)
        found.process.kill()
        found.process.wait()
        page.close()
    with running(tmp_path) as found:
        page = context.new_page()
        page.goto(f"{found.address}image")
        page.get_by_label("or choose an earlier upload").click()
        page.get_by_role("option", name="up.tif").click()
        page.get_by_role("radio", name="mine 1 area").wait_for()
        context.close()


def test_a_class_without_an_image_is_refused(visit):
    with visit("/image") as page:
        page.get_by_label("New class").fill("water")
        page.keyboard.press("Enter")
        page.locator(".step", has_text="Classes").get_by_role("alert").filter(has_text="Open an image").wait_for()


def test_a_bad_image_is_refused_and_the_server_goes_on(visit, studio):
    (studio.folder / "bad.tif").write_bytes(b"II*\0" + b"\xff" * 200)
    (studio.folder / "list.tif").write_text("<VRTDataset/>")
    with visit("/image") as page:
        error = page.locator(".step", has_text="Image").get_by_role("alert")
        for name in ("bad.tif", "list.tif"):
            page.get_by_label("or type a path on this machine").fill(str(studio.folder / name))
            page.keyboard.press("Enter")
            error.filter(has_text=name).wait_for()
