"""Which bands of an image count: near-infrared marked as alpha, transparency, chosen bands, bands of other images."""

import json

import numpy as np
import pytest
import rasterio
from landsat import square, write_shapes
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, rows_of, scene, write_image
from rasterio.enums import ColorInterp
from typer.testing import CliRunner

from discriminant import LinearDiscriminantAnalysis
from discriminant.cli.raster import app
from discriminant.errors import ColumnError, InputError
from discriminant.raster import Band, bands_like, classify_image, draw_samples, open_image, refuse_other_bands
from discriminant.raster.class_map import read_class_map
from discriminant.raster.files import no_georeference_warning

RNG = np.random.default_rng(5)


def photo(path, fourth, dtype="uint8", driver="GTiff", **more):
    """A file as rasterio writes it by default: the fourth band of bytes is marked as alpha."""
    fourth = np.asarray(fourth, dtype=dtype)
    colours = RNG.integers(1, 200, (3, *fourth.shape)).astype(dtype)
    place = GRID if driver == "GTiff" else {}
    form = {"driver": driver, "count": 4, "height": fourth.shape[0], "width": fourth.shape[1], "dtype": dtype}
    hidden = more.pop("blank", None)
    if hidden is not None:
        colours[:, hidden] = 0
    with no_georeference_warning(), rasterio.open(path, "w", **form, **place, **more) as file:
        file.write(np.concatenate((colours, fourth[None])))
    return path


def soft_edges(side=60, width=10):
    """Opaque in the middle, transparent at the border, and something between on the way."""
    place = np.arange(side)
    inwards = np.minimum(place, side - 1 - place)
    return np.clip((np.minimum.outer(inwards, inwards) - 3) * 255 // width, 0, 255)


NOISE = RNG.integers(0, 256, (40, 50))


@pytest.mark.parametrize(
    "values",
    [
        np.clip(RNG.normal(120, 40, (40, 50)), 0, 255),  # near-infrared, some of it 0
        np.where(NOISE < 110, 255, NOISE),  # nearly half is saturated
        np.where(NOISE < 110, 255, np.where(NOISE < 150, 0, NOISE)),  # and water is 0
        np.where(NOISE < 200, 0, NOISE),  # most is water or a border without values
        np.where(NOISE < 128, 0, 200),  # two classes without noise
    ],
    ids=["near-infrared", "saturated", "saturated and 0", "mostly 0", "two values"],
)
def test_near_infrared_marked_as_alpha_is_a_band(tmp_path, values):
    path = photo(tmp_path / "naip.tif", values)
    with rasterio.open(path) as file:
        assert file.colorinterp[3] == ColorInterp.alpha
    with open_image(path) as image:
        assert image.band_names == ("red", "green", "blue", "band 4")
        read, valid = image.read()
        (note,) = image.findings
    assert_array_equal(read[3], values.astype("uint8"))
    assert valid.all()
    assert note.kind == "alpha"
    assert str(note.message).endswith("bands='1-3'.")


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.where(NOISE < 60, 0, 255), "uint8"),
        (np.full((40, 50), 255), "uint8"),
        (np.where(NOISE < 60, 0, 65_535), "uint16"),
        (np.where(NOISE < 60, 0, 255), "uint16"),
        (soft_edges(200, 6), "uint8"),
    ],
    ids=["hard edges", "all opaque", "16 bits", "8 of 16 bits", "soft edges"],
)
def test_transparency_is_no_band(tmp_path, values, dtype):
    more = {"photometric": "RGB", "alpha": "YES"} if dtype == "uint16" else {}
    with open_image(photo(tmp_path / "image.tif", values, dtype, **more)) as image:
        assert image.band_names == ("red", "green", "blue")
        assert_array_equal(image.read()[1], values > 0)
        assert "bands='1-4'." in str(image.findings[0].message)


@pytest.mark.parametrize("behind", [False, True])
def test_wide_soft_edges_are_read_as_values_unless_they_are_called_alpha(tmp_path, behind):
    edges = soft_edges()
    path = photo(tmp_path / "image.tif", edges, blank=None if behind else edges == 0)
    with open_image(path) as image:
        assert image.n_bands == 4
    with open_image(path, "1-3") as image:
        assert image.n_bands == 3


def test_a_border_without_values_is_no_transparency(tmp_path):
    """Saturated near-infrared, 0 in all bands around the scene: it is no alpha band for that."""
    values = np.where(NOISE < 128, 255, NOISE)
    border = np.zeros(NOISE.shape, bool)
    border[:10] = True
    with open_image(photo(tmp_path / "image.tif", np.where(border, 0, values), blank=border, nodata=0)) as image:
        assert image.n_bands == 4
        assert_array_equal(image.read()[1], ~border)


def test_a_picture_file_with_near_infrared_in_its_alpha(tmp_path):
    with open_image(photo(tmp_path / "tile.png", NOISE, driver="PNG")) as image:
        assert image.n_bands == 4
        assert image.read()[1].all()


def test_grey_with_alpha_and_an_alpha_band_that_is_called_so(tmp_path):
    shown = np.where(NOISE < 60, 0, 255)
    for name, second, bands in (("a", shown, 1), ("b", NOISE, 2)):
        path = write_image(tmp_path / f"{name}.tif", np.stack([NOISE, second]).astype("uint8"), alpha="YES")
        with open_image(path) as image:
            assert image.n_bands == bands
    path = photo(tmp_path / "c.tif", shown)
    with rasterio.open(path, "r+") as file:
        file.descriptions = ("Red", "Green", "Blue", "Alpha")
    with open_image(path) as image:
        assert image.band_names == ("Red", "Green", "Blue")


def test_a_mask_and_near_infrared_marked_as_alpha_do_not_hide_each_other(tmp_path):
    path = photo(tmp_path / "naip.tif", NOISE)
    mask = np.where(NOISE[::-1] < 50, 0, 255).astype("uint8")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "r+") as file:
        file.write_mask(mask)
    with open_image(path) as image:
        assert image.n_bands == 4
        assert_array_equal(image.read()[1], mask > 0)


def test_a_tile_beyond_the_edge_of_a_mosaic_is_transparent(tmp_path):
    nothing = np.zeros((20, 30), bool)
    with open_image(photo(tmp_path / "image.tif", nothing, blank=~nothing)) as image:
        assert image.n_bands == 3
        assert not image.read()[1].any()


def test_bands_found_by_number_have_to_have_the_names_of_the_training(tmp_path):
    trained = [Band("red", "uint16", True, 1, 3), Band("infrared", "uint16", True, 3, 3)]
    path = write_image(tmp_path / "image.tif", scene(20, 30, n_bands=3)[0], names=["red", "green", "swir"])
    with open_image(path) as image, pytest.raises(ColumnError, match=r"'infrared'.*'swir'"):
        refuse_other_bands(trained, bands_like(trained, image))


def test_chosen_bands(tmp_path):
    values = scene(20, 30, n_bands=4)[0]
    path = write_image(tmp_path / "image.tif", values, names=["blue", "green", "red", "near infrared"])
    for bands, order in (
        ("4,1", [3, 0]), ([4, "blue"], [3, 0]), ("2-4", [1, 2, 3]), ("near infrared, 2", [3, 1]), ([3], [2]),
    ):  # fmt: skip
        with open_image(path, bands) as image:
            assert_array_equal(image.read()[0], values[order])
            assert [band.number for band in image.bands] == [k + 1 for k in order]
            assert image.findings == ()
    for bands, words in (
        ("5", "'5'.*1 blue, 2 green, 3 red and 4 near infrared"),
        ("gren", "'gren'.*'green'"),
        ("1,blue", "bands.*'blue'"),
        ([], "bands"),
        ("4-2", "got '4-2'"),
        ("0", "got '0'"),
    ):
        with pytest.raises(ColumnError, match=words):
            open_image(path, bands)


def test_bands_of_several_files_in_any_order(tmp_path):
    values = scene(20, 30, n_bands=4)[0]
    paths = [write_image(tmp_path / "a.tif", values[:2]), write_image(tmp_path / "b.tif", values[2:])]
    with open_image(paths, "3,1,4,2") as image:
        assert_array_equal(image.read()[0], values[[2, 0, 3, 1]])
        assert image.band_names == ("b band 1", "a band 1", "b band 2", "a band 2")


def test_near_infrared_that_was_left_out_hides_nothing_and_transparency_still_does(tmp_path):
    shown = np.where(NOISE < 60, 0, 255)
    with open_image(photo(tmp_path / "naip.tif", NOISE), "1-3") as image:
        assert image.read()[1].all()
    with open_image(photo(tmp_path / "clear.tif", shown), "1-3") as image:
        assert_array_equal(image.read()[1], shown > 0)
    with open_image(photo(tmp_path / "all.tif", shown), "1-4") as image:
        assert image.n_bands == 4
        assert image.read()[1].all()


def test_bands_are_found_by_name_or_number_in_another_image(tmp_path):
    values = scene(20, 30, n_bands=4, dtype="uint8")[0]
    trained = [Band(name, "uint8", True) for name in ("red", "infrared")]
    named = write_image(tmp_path / "named.tif", values, names=["infrared", "swir", "green", "red"])
    with open_image(named) as image:
        found = bands_like(trained, image)
        refuse_other_bands(trained, found)
        assert_array_equal(found.read()[0], values[[3, 0]])
    numbered = [Band(f"band {k}", "uint8", False, k, 4) for k in (4, 2)]
    with open_image(write_image(tmp_path / "plain.tif", values)) as image:
        assert_array_equal(bands_like(numbered, image).read()[0], values[[3, 1]])
        with pytest.raises(ColumnError, match=r" 2 .* got 4"):
            refuse_other_bands(trained, bands_like(trained, image))
        chosen = image.take("2,1")
        assert bands_like(numbered, chosen) is chosen
        refuse_other_bands(numbered, chosen)  # who chooses bands without names knows which they are
    with open_image(photo(tmp_path / "tile.tif", np.full((4, 5), 7))) as image:  # a tile in which a band has one value
        assert image.n_bands == 3
        assert bands_like([Band(f"band {k}", "uint8", False, k, 4) for k in (1, 2, 3, 4)], image).n_bands == 4


def test_values_on_another_scale_are_refused(tmp_path):
    path = write_image(tmp_path / "image.tif", scene(20, 30, n_bands=2)[0])
    with open_image(path) as image:
        trained = image.bands
    with rasterio.open(path, "r+") as file:
        file.offsets = (-1000.0, 0.0)
    with open_image(path) as image, pytest.raises(ColumnError, match=r"1 x value \+ -1000.*1 x value \+ 0"):
        refuse_other_bands(trained, image)


def test_a_closed_image_closes_what_was_taken_of_it(tmp_path):
    with open_image(write_image(tmp_path / "image.tif", scene(20, 30)[0])) as image:
        taken = image.take("1")
    with pytest.raises(InputError, match="closed"):
        taken.read()


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def naip(tmp_path):
    """Classes that only the fourth band of a file of bytes tells apart, and areas of them."""
    values, truth = scene(30, 40, n_bands=4, labels=("forest", "water"), dtype="uint8")[:2]
    values[3] = np.clip(np.where(truth == "water", 20, 190) + RNG.normal(0, 9, truth.shape), 0, 255)
    form = {**GRID, "driver": "GTiff", "count": 4, "height": 30, "width": 40, "dtype": "uint8"}
    with rasterio.open(tmp_path / "naip.tif", "w", **form) as file:
        file.write(values)
    places = {label: np.argwhere(truth == label)[::4] for label in ("forest", "water")}
    shapes = [square(column, row, 1) for found in places.values() for row, column in found]
    labels = [label for label, found in places.items() for _ in found]
    return tmp_path / "naip.tif", write_shapes(tmp_path / "areas.gpkg", shapes, labels), values, truth


def test_the_fourth_band_of_bytes_is_learned_from(tmp_path, naip):
    image, areas, values, truth = naip
    options = ["--areas", areas, "-c", "cover", "--model", "lda", "--save-model", tmp_path / "m.dsc", "--no-validate"]
    found = command("classify", image, *options, "-o", tmp_path / "map.tif")
    assert found.exit_code == 0
    (line,) = [line for line in found.stderr.splitlines() if "alpha" in line]
    assert line.endswith("read as a measurement. To leave it out: --bands 1-3.")
    samples = draw_samples(image, areas)
    model = LinearDiscriminantAnalysis().fit(samples.X, samples.y)
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    mapped = np.array([legend.names[code] for code in codes.ravel()])
    assert_array_equal(mapped, model.predict(rows_of(values)))
    assert np.mean(mapped == truth.ravel()) > 0.99
    # the same bands of an image in which the fourth looks like transparency
    tile = write_image(tmp_path / "tile.tif", values[:, :4, :4], photometric="RGB", alpha="YES")
    with rasterio.open(tile, "r+") as file:
        file.write(np.full((4, 4), 255, "uint8"), 4)
    assert command("classify", tile, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "t.tif").exit_code == 0
    assert set(np.unique(read_raster(tmp_path / "t.tif"))) == {1}


def test_bands_are_chosen_on_the_command_line(tmp_path, naip):
    image, areas, _, _ = naip
    told = json.loads(command("samples", image, areas, "-c", "cover", "--bands", "4,1", "--json").stdout)
    assert told["bands"] == ["band 4", "red"]
    keep = ["--save-model", tmp_path / "m.dsc", "--no-validate", "--overwrite"]
    training = ["--areas", areas, "-c", "cover", "--bands", "4,1", *keep]
    assert command("classify", image, *training, "-o", tmp_path / "a.tif").exit_code == 0
    assert command("classify", image, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif").exit_code == 0
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()
    three = ["--model-file", tmp_path / "m.dsc", "--bands", "1-3", "-o", tmp_path / "c.tif"]
    refused = command("classify", image, *three)
    assert refused.exit_code == 1
    assert "(--bands)" in refused.stderr


def test_what_was_decided_about_the_image_goes_with_the_map(tmp_path, naip):
    image, areas, _, _ = naip
    samples = draw_samples(image, areas)
    made = classify_image(LinearDiscriminantAnalysis().fit(samples.X, samples.y), image, tmp_path / "map.tif")
    assert "read as a measurement" in str(made)
    assert made.to_dict()["findings"][0]["kind"] == "alpha"
