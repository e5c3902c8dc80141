"""Masks and macro-classes on the Image page: the map, its hectares and accuracy, and the written files."""

import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import rasterio
from playwright.sync_api import expect
from studios import PATIENCE

from discriminant.datasets import scene
from discriminant.errors import InputError
from discriminant.raster import Mask, open_areas, read_class_map
from discriminant.studio.image_check import Check, assessment
from discriminant.studio.image_work import ImageWork

pytestmark = [
    pytest.mark.xdist_group("image_masks"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:Dataset has no geotransform"),
]
#: Columns of the example scene (128 x 96 pixels) that the mask marks as cloud, in blocks of two pixels.
CLOUD = slice(80, 112)


@pytest.fixture
def image(tmp_path):
    return scene().write(tmp_path / "scene")["image"]


@pytest.fixture
def work(image):
    found = ImageWork.opened(image, image.name)
    found.add(open_areas(image.with_name("areas.geojson"), "class").in_image(found.image))
    return found


def write_mask(path, step=2, value=8):
    """A raster of half the resolution, whose value 8 (bit 3) is cloud."""
    codes = np.full((96 // step, 128 // step), 4, dtype="uint8")
    codes[:, CLOUD.start // step : CLOUD.stop // step] = value
    form = {"driver": "GTiff", "count": 1, "width": codes.shape[1], "height": codes.shape[0], "dtype": "uint8"}
    place = rasterio.Affine(10 * step, 0, 500_000, 0, -10 * step, 5_000_000)
    with rasterio.open(path, "w", crs="EPSG:32633", transform=place, **form) as file:
        file.write(codes, 1)
    return path


def pixels(work, layer="map"):
    with rasterio.io.MemoryFile(work.tile(layer, 0, 0, 0)) as file, file.open() as opened:
        return opened.read()[:, :96, :128]


@pytest.mark.parametrize("masked", ["sentinel2-scl", "8", "bits 3"])
def test_masked_pixels_have_no_class_no_hectares_and_no_samples(work, tmp_path, masked):
    whole = work.train("maximum-likelihood")
    share = work.use_mask(Mask(write_mask(tmp_path / "SCL.tif"), masked))
    trained = work.train("maximum-likelihood")
    assert share == pytest.approx(32 / 128, abs=0.01)
    assert len(trained.samples.y) < len(whole.samples.y)
    assert sum(trained.extents[1].values()) == pytest.approx(0.75 * sum(whole.extents[1].values()), rel=1e-3)
    alpha = pixels(work)[3] > 0
    assert not alpha[:, CLOUD].any()
    assert (pixels(work, "image")[3] > 0).all()  # the image itself stays visible
    assert np.delete(alpha, np.arange(128)[CLOUD], axis=1).all()
    made = work.write_map(tmp_path / "map.tif", trained.rule)
    assert (made.n_masked, made.n_nodata) == (32 * 96, 32 * 96)
    work.use_mask(None)
    assert work.train("maximum-likelihood").extents[1] == whole.extents[1]


@pytest.mark.parametrize("masked", ["bits 9", "300"])
def test_a_mask_that_cannot_be_read_changes_nothing(work, tmp_path, masked):
    trained, image = work.train("lda"), work.image
    path = write_mask(tmp_path / "SCL.tif")
    with pytest.raises(InputError):
        work.use_mask(Mask(path, masked))
    (tmp_path / "virtual.tif").write_text("<VRTDataset/>")
    with pytest.raises(InputError, match=r"virtual\.tif"):
        work.use_mask(Mask(tmp_path / "virtual.tif"))
    assert (work.trained, work.image, work.mask) == (trained, image, None)


def test_merged_classes_are_those_of_map_hectares_accuracy_and_file(work, tmp_path):
    first, second, *_ = names = list(work.colours)
    whole = work.train("maximum-likelihood")
    work.merge_class(first, "land")
    work.merge_class(second, "land")
    trained = work.train("maximum-likelihood")
    assert sorted(trained.extents[1]) == sorted({*names[2:], "land"})
    assert trained.extents[1]["land"] == pytest.approx(whole.extents[1][first] + whole.extents[1][second])
    assert list(work.map_colours) == ["land", *names[2:]]
    assert sorted(map(str, work.accuracy().confusion.classes)) == sorted({*names[2:], "land"})
    assert sorted(map(str, work.class_accuracy().confusion.classes)) == sorted(names)
    made = work.write_map(tmp_path / "map.tif", trained.rule)
    codes, legend, _ = read_class_map(made.path)
    assert sorted(map(str, legend.names.values())) == sorted(trained.extents[1])
    colours = np.zeros((legend.n_codes, 3), dtype=np.uint8)
    for entry in legend.entries:
        colours[entry.code] = [int(entry.colour[i : i + 2], 16) for i in (1, 3, 5)]
    np.testing.assert_array_equal(pixels(work)[:3], colours[codes].transpose(2, 0, 1))
    _, sublegend, _ = read_class_map(tmp_path / "map-subclasses.tif")
    assert sorted(map(str, sublegend.names.values())) == sorted(names)
    again = ImageWork.opened(work.path, work.label)
    assert again.macros == {first: "land", second: "land"}
    work.rename_class(first, "soil")
    work.delete_class(second)
    assert work.macros == {"soil": "land"}
    for _ in range(3):
        work.undo()
    assert work.macros == {first: "land"}
    truth = scene().truth
    points = [(x + 0.5, y + 0.5) for x in range(4, 128, 12) for y in range(4, 96, 12)]
    check = Check(made.path, tuple(points), tuple(names[truth[int(y), int(x)]] for x, y in points))
    work.merge_class(second, "land")
    found = assessment(work, check)  # labels of classes are those of their macro-class
    assert sorted(map(str, found.accuracy.classes)) == sorted({*names[2:], "land"})


def test_the_copied_command_writes_the_same_map(work, tmp_path):
    write_mask(work.path.with_name("SCL.tif"))
    work.use_mask(Mask(work.path.with_name("SCL.tif"), "sentinel2-scl"))
    names = list(work.colours)
    work.merge_class(names[0], names[1])
    made = work.write_map(tmp_path / "own.tif", work.train("maximum-likelihood").rule)
    python, command = work.code()
    folder, run = work.path.parent, {"capture_output": True, "check": True}
    words = command.replace("discriminant ", f"{sys.executable} -m discriminant ", 1)
    for content in (["bash", "-ec", words], [sys.executable, "-c", python.replace("map.tif", "python.tif")]):
        subprocess.run(content, cwd=folder, **run)
    codes = read_class_map(made.path)[0]
    for name in ("map.tif", "python.tif"):
        np.testing.assert_array_equal(read_class_map(folder / name)[0], codes)


@pytest.fixture
def page(visit):
    """The example image with its areas."""
    with visit("/image") as opened:
        opened.get_by_role("button", name="Open the example image").click()
        opened.locator(".plane[data-image]").wait_for()
        opened.get_by_role("button", name="Import training areas").click()
        choose_file(opened, "areas.geojson")
        opened.locator(".plane[data-classes]").wait_for()
        expect(opened.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
        yield opened


def choose_file(page, name):
    page.get_by_role("dialog").get_by_label("or choose a file beside the image").click()
    page.get_by_role("option", name=name).click()


def hectares(page):
    words = page.locator(".map-legend > span").all_inner_texts()
    found = [re.match(r"\s*(.*?)\s+([\d.]+) ha", one) for one in words]
    return {one[1]: float(one[2]) for one in found}


def test_a_mask_is_used_and_removed_on_the_page(page, tmp_path):
    legend = page.locator(".map-legend > span")
    expect(legend).to_have_count(4, timeout=PATIENCE)
    whole = sum(hectares(page).values())
    page.get_by_role("button", name="Mask clouds").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Use the mask")).to_be_disabled(timeout=PATIENCE)
    dialog.get_by_label("Choose a raster").set_input_files(write_mask(tmp_path / "SCL.tif"))
    dialog.get_by_text("Mask: SCL.tif").wait_for()
    dialog.get_by_label("Pixels that are left out").click()  # Escape of `choose` would close the dialog
    page.get_by_role("option", name="These values or bits").click()
    expect(page.get_by_role("listbox")).to_have_count(0, timeout=PATIENCE)
    values = dialog.get_by_label("Values, such as")
    values.fill("bits 9")
    dialog.get_by_role("button", name="Use the mask").click()
    dialog.get_by_role("alert").filter(has_text="bit 9").wait_for()
    values.fill("bits 3")
    dialog.get_by_role("button", name="Use the mask").click()
    page.get_by_text(re.compile(r"^Mask SCL.tif: 25.0 % of the pixels are left out")).wait_for()
    page.wait_for_function("document.querySelectorAll('.map-legend > span').length === 4")
    assert sum(hectares(page).values()) == pytest.approx(0.75 * whole, rel=0.01)
    page.get_by_role("button", name="Mask clouds").click()
    page.get_by_role("button", name="Remove the mask").click()
    page.get_by_text("pixels are left out").wait_for(state="detached")
    expect(legend).to_have_count(4, timeout=PATIENCE)
    assert sum(hectares(page).values()) == pytest.approx(whole)


def test_classes_are_merged_on_the_page(page, tmp_path):
    expect(page.locator(".map-legend > span")).to_have_count(4, timeout=PATIENCE)
    before = hectares(page)
    first, second = list(before)[:2]
    for name in (first, second):
        page.get_by_role("button", name=f"Rename, merge or delete {name}").click()
        page.get_by_label("Macro-class in the map").fill("land")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("radio", name=f"{name} → land").wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE)
    land = page.locator(".map-legend > span", has_text="land").filter(has_text=first).filter(has_text=second)
    land.wait_for()
    assert hectares(page)["land"] == pytest.approx(before[first] + before[second], abs=0.02)
    page.get_by_role("tab", name="Validation").click()
    for heading in ("Macro-classes", "Classes before merging"):
        page.get_by_role("heading", name=heading).wait_for()
    page.locator(".q-tab-panel table").nth(1).wait_for()
    with page.expect_download() as written:
        page.get_by_role("button", name="Download Map").click()
    with zipfile.ZipFile(written.value.path()) as packed:
        assert {"scene-map.tif", "scene-map-subclasses.tif"} <= set(packed.namelist())
    page.get_by_role("tab", name="Map accuracy").click()
    page.get_by_label("Number of points").fill("8")
    page.get_by_label("Minimum per class").fill("2")
    page.get_by_role("button", name="Sample points").click()
    page.get_by_role("heading", name="Point 1 of 8").wait_for()
    answers = page.get_by_role("group", name="Class of the point").get_by_role("button")
    assert answers.first.inner_text().split() == ["land", "1"]
    assert answers.count() == 3
