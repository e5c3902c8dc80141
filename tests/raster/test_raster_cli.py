"""The commands on images: what they take, what they refuse, and in which words."""

import json

import numpy as np
import pytest
import rasterio
from landsat import write_shapes
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, rows_of, scene, write_image
from shapely.geometry import Point, box
from typer.testing import CliRunner

from discriminant import Decision, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, save
from discriminant.cli.raster import app
from discriminant.raster.classify import read_class_map

#: Where the areas of the scene below lie: class, first row, first column; 10 x 10 pixels each.
PLACES = [("forest", 0, 0), ("forest", 30, 40), ("sand", 0, 20), ("sand", 30, 0), ("water", 0, 40), ("water", 30, 20)]


def command(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run(*arguments):
    result = command(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def refused(*arguments):
    result = command(*arguments)
    assert result.exit_code == 1, (result.exit_code, result.stderr)
    return result.stderr


def square(row, column, size=10):
    """The outline of some pixels in the coordinates of the image."""
    left, top = GRID["transform"].c + 10 * column, GRID["transform"].f - 10 * row
    return box(left, top - 10 * size, left + 10 * size, top)


@pytest.fixture(scope="module")
def bands():
    """An image of fields, 50 x 60 pixels, whose areas are of one class each."""
    values, _, _ = scene(50, 60, n_bands=3, seed=4)
    rng, means = np.random.default_rng(1), {"forest": (60, 90, 70), "sand": (120, 110, 60), "water": (70, 60, 110)}
    for label, row, column in PLACES:
        noise = rng.normal(0, 12, (3, 10, 10))
        values[:, row : row + 10, column : column + 10] = np.array(means[label])[:, None, None] + noise
    return values


@pytest.fixture
def image(tmp_path, bands):
    return write_image(tmp_path / "image.tif", bands, names=["green", "red", "infrared"])


@pytest.fixture
def areas(tmp_path):
    shapes = [square(row, column) for _, row, column in PLACES]
    return write_shapes(tmp_path / "areas.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))


def training(bands):
    X = np.concatenate([rows_of(bands[:, row : row + 10, column : column + 10]) for _, row, column in PLACES])
    return X, np.repeat([place[0] for place in PLACES], 100)


def test_help_names_every_command():
    words = run("--help").stdout
    for name in ("samples", "classify", "accuracy", "sample-design"):
        assert name in words
        assert "Examples:" in run(name, "--help").stdout


def test_samples_are_told_and_kept(tmp_path, image, areas):
    result = run("samples", image, areas, "-c", "cover", "-o", tmp_path / "s.npz", "--report", tmp_path / "s.html")
    assert "600 pixels of 3 classes in 3 bands" in result.stdout
    assert "0 = the same, 2 = no overlap" in result.stdout
    assert "infrared" in result.stdout
    assert "Spectral signatures" in (tmp_path / "s.html").read_text(encoding="utf-8")
    maps = [tmp_path / "a.tif", tmp_path / "b.tif"]
    run("classify", image, "--areas", areas, "-c", "cover", "-o", maps[0])
    run("classify", image, "--samples", tmp_path / "s.npz", "-o", maps[1])
    assert maps[0].read_bytes() == maps[1].read_bytes()


def test_the_default_is_maximum_likelihood(tmp_path, bands, image, areas):
    result = run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    X, y = training(bands)
    model = QuadraticDiscriminantAnalysis(priors=[1 / 3] * 3).fit(X, y)
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    assert_array_equal(model.classes_[codes.ravel() - 1], model.predict(rows_of(bands)))
    assert "On training areas held out in turn" in result.stdout
    assert "hectares" in result.stdout
    assert [entry.name for entry in legend.classes] == ["forest", "sand", "water"]
    assert (tmp_path / "map.qml").exists()


def test_priors_costs_and_colours(tmp_path, bands, image, areas):
    (tmp_path / "costs.csv").write_text("true,forest,sand,water\nforest,0,1,1\nsand,1,0,1\nwater,7,7,0\n")
    options = ["--model", "lda", "--priors", "forest=0.6,sand=0.3,water=0.1", "--costs", tmp_path / "costs.csv"]
    options += ["--reject-cost", "0.4", "--colour", "water=#0000ff", "--overviews"]
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", *options)
    model = LinearDiscriminantAnalysis(priors=[0.6, 0.3, 0.1]).fit(*training(bands))
    costs = {"forest": {"sand": 1, "water": 1}, "sand": {"forest": 1, "water": 1}, "water": {"forest": 7, "sand": 7}}
    costs = {truth: {truth: 0, **row} for truth, row in costs.items()}
    decided = Decision(costs, reject_cost=0.4, classes=model.classes_).decide(model.predict_proba(rows_of(bands)))
    expected = [["forest", "sand", "water", "abstain"].index(action) + 1 for action in decided]
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    assert_array_equal(codes.ravel(), expected)
    assert len(set(expected)) == 4
    assert legend.classes[2].colour == "#0000ff"


def test_probabilities_and_json(tmp_path, image, areas):
    names = ["--probability", tmp_path / "p.tif", "--probabilities", tmp_path / "q.tif"]
    more = ["--probability-type", "float32", "--reject", "0.9", "--json"]
    result = run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", *names, *more)
    told = json.loads(result.stdout)
    assert [one["class"] for one in told["classes"]] == ["forest", "sand", "water", "rejected"]
    assert sum(one["pixels"] for one in told["classes"]) == 50 * 60
    assert len(told["files"]) == 4
    every = read_raster(tmp_path / "q.tif")
    assert every.shape == (3, 50, 60)
    np.testing.assert_allclose(every.sum(axis=0), 1, atol=1e-6)
    assert_array_equal(read_raster(tmp_path / "p.tif")[0], every.max(axis=0))


def test_files_that_exist_are_kept_unless_said(tmp_path, image, areas):
    for name in ("map.tif", "model.dsc", "page.html", "p.tif"):
        (tmp_path / name).write_text("old")
    base = ["classify", image, "--areas", areas, "-c", "cover", "--model", "lda"]
    for options in (
        ["-o", "map.tif"],
        ["-o", "x.tif", "--save-model", "model.dsc"],
        ["-o", "x.tif", "--report", "page.html"],
        ["-o", "x.tif", "--probability", "p.tif"],
    ):
        given = [tmp_path / part if "." in part else part for part in options]
        assert "exists" in refused(*base, *given)
    assert (tmp_path / "map.tif").read_text() == "old"
    assert not (tmp_path / "x.tif").exists()
    given = ["-o", tmp_path / "map.tif", "--save-model", tmp_path / "model.dsc", "--report", tmp_path / "page.html"]
    run(*base, *given, "--overwrite")
    assert read_raster(tmp_path / "map.tif").shape == (1, 50, 60)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Give one of --areas, --samples and --model-file"),
        (["--areas", "areas.gpkg", "--model-file", "m.dsc"], "2 were given"),
        (["--areas", "areas.gpkg", "-c", "kind"], "kind"),
        (["--areas", "nothing.gpkg", "-c", "cover"], "nothing.gpkg"),
        (["--samples", "nothing.parquet"], "nothing.parquet"),
        (["--samples", "nothing.parquet", "-c", "cover"], "--class-field is for --areas"),
        (["--model-file", "nothing.dsc"], "no such file"),
        (["--model-file", "nothing.dsc", "--priors", "a=1"], "learned already"),
        (["--areas", "areas.gpkg", "-c", "cover", "--model", "max"], "There is no model 'max'"),
        (["--areas", "areas.gpkg", "-c", "cover", "--reject", "1.5"], "reject must be"),
        (["--areas", "areas.gpkg", "-c", "cover", "--colour", "water"], "NAME=VALUE"),
        (["--areas", "areas.gpkg", "-c", "cover", "--colour", "lava=#ff0000"], "not a class"),
        (["--areas", "areas.gpkg", "-c", "cover", "--priors", "water=1"], "priors misses class 'forest'"),
        (["--areas", "areas.gpkg", "-c", "cover", "--model", "minimum-distance", "--probability", "p.tif"], "no prob"),
        (["--areas", "areas.gpkg", "-c", "cover", "--model", "minimum-distance", "--reject", "0.9"], "class means"),
    ],
)
def test_what_is_asked_wrongly(tmp_path, image, areas, options, words):
    files = ("areas.gpkg", "nothing.gpkg", "nothing.parquet", "nothing.dsc", "m.dsc", "p.tif")
    given = [tmp_path / part if part in files else part for part in options]
    before = sorted(tmp_path.iterdir())
    assert words in refused("classify", image, *given, "-o", tmp_path / "map.tif")
    assert sorted(tmp_path.iterdir()) == before


def test_a_model_of_a_table_is_no_model_for_images(tmp_path, bands, image):
    save(LinearDiscriminantAnalysis().fit(*training(bands)), tmp_path / "table.dsc")
    words = refused("classify", image, "--model-file", tmp_path / "table.dsc", "-o", tmp_path / "map.tif")
    assert "does not say which bands" in words


def test_a_kept_model_refuses_another_image(tmp_path, bands, image, areas):
    run(
        "classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "a.tif", "--save-model", tmp_path / "m.dsc"
    )
    short = write_image(tmp_path / "short.tif", bands[:2], names=["green", "red"])
    words = refused("classify", short, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")
    assert "green, red, infrared" in words
    other = write_image(tmp_path / "other.tif", bands, names=["green", "infrared", "red"])
    assert "'red'" in refused("classify", other, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")
    scaled = write_image(tmp_path / "scaled.tif", bands / np.float32(255), names=["green", "red", "infrared"])
    assert "float32" in refused("classify", scaled, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")


def test_a_class_of_one_area_is_not_judged_and_that_is_said(tmp_path, image):
    areas = write_shapes(tmp_path / "few.gpkg", [square(0, 0), square(0, 20)], np.array(["a", "b"], dtype=object))
    result = run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    assert "not judged on areas it has not seen" in result.stderr
    assert "held out" not in result.stdout


def test_broken_images_leave_no_map(tmp_path, bands, image, areas):
    whole = image.read_bytes()
    for name, content in {"cut.tif": whole[: len(whole) // 2], "text.tif": b"not an image", "empty.tif": b""}.items():
        (tmp_path / name).write_bytes(content)
        words = refused("classify", tmp_path / name, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
        assert name in words
        assert not (tmp_path / "map.tif").exists()
        assert not list(tmp_path.glob(".*part*"))


def test_a_band_without_variation_is_named(tmp_path, bands, areas):
    flat = bands.copy()
    flat[1] = 7
    image = write_image(tmp_path / "flat.tif", flat, names=["green", "red", "infrared"])
    words = refused("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    assert "column 'red'" in words


def test_areas_far_away_sample_nothing(tmp_path, image):
    areas = write_shapes(tmp_path / "far.gpkg", [square(5000, 0), square(5000, 20)], np.array(["a", "b"], dtype=object))
    words = refused("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    assert "All 2 areas of 'far.gpkg' lie outside the image 'image.tif'" in words
    assert not (tmp_path / "map.tif").exists()


def test_an_image_of_one_band_with_holes(tmp_path, bands, areas):
    values = bands[1:2].astype("float32")
    values[0, 20:25, 5:9] = np.nan
    image = write_image(tmp_path / "one.tif", values)
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--report", tmp_path / "r.html")
    assert_array_equal(read_raster(tmp_path / "map.tif")[0] == 0, np.isnan(values[0]))


def test_a_photograph_and_painted_labels(tmp_path, bands):
    """A student's first map: two PNG files."""
    labels = np.zeros((1, 50, 60), dtype="uint8")
    for label, row, column in PLACES:
        labels[0, row : row + 10, column : column + 10] = {"forest": 1, "sand": 2, "water": 3}[label]
    for name, content in {"photo.png": bands.astype("uint8"), "painted.png": labels}.items():
        count = len(content)
        with (
            pytest.warns(rasterio.errors.NotGeoreferencedWarning),
            rasterio.open(tmp_path / name, "w", driver="PNG", count=count, height=50, width=60, dtype="uint8") as file,
        ):
            file.write(content)
    run("classify", tmp_path / "photo.png", "--areas", tmp_path / "painted.png", "-o", tmp_path / "map.tif")
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    assert [entry.label for entry in legend.classes] == [1, 2, 3]
    assert np.mean(codes[labels[0] > 0] == labels[0][labels[0] > 0]) > 0.8
    found = run("accuracy", tmp_path / "map.tif", tmp_path / "painted.png", "--json")
    assert json.loads(found.stdout)["overall_accuracy"] == pytest.approx(
        np.mean(codes[labels[0] > 0] == labels[0][labels[0] > 0])
    )


def test_rejected_pixels_of_classes_that_are_numbers(tmp_path, image):
    numbers = {"forest": 11, "sand": 21, "water": 31}
    shapes = [square(row, column) for _, row, column in PLACES]
    areas = write_shapes(tmp_path / "areas.gpkg", shapes, np.array([numbers[place[0]] for place in PLACES]))
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--reject", "0.8")
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    assert legend.rejected.code == 32
    found = json.loads(run("accuracy", tmp_path / "map.tif", areas, "-c", "cover", "--stratified", "--json").stdout)
    assert found["reference_classes"] == [11, 21, 31]
    assert found["map_classes"] == [11, 21, 31, "rejected"]
    inside = np.concatenate([codes[row : row + 10, column : column + 10].ravel() for _, row, column in PLACES])
    assert np.sum(found["counts"], axis=0)[3] == np.sum(inside == 32)


def test_the_map_of_another_program(tmp_path):
    codes = np.repeat(np.array([[4, 4, 9, 9]], dtype="uint8"), 4, axis=0)[None]
    foreign = write_image(tmp_path / "foreign.tif", codes, nodata=0)
    left, top = GRID["transform"].c, GRID["transform"].f
    points = [Point(left + 10 * column + 5, top - 5) for column in range(4)]
    truth = write_shapes(tmp_path / "truth.gpkg", points, np.array([4, 9, 9, 9]))
    found = json.loads(run("accuracy", foreign, truth, "-c", "cover", "--json").stdout)
    assert found["counts"] == [[1, 0], [1, 2]]
    design = run("sample-design", foreign, "-o", tmp_path / "c.geojson", "--total", 6, "--at-least", 2, "--json")
    assert [one["to_check"] for one in json.loads(design.stdout)["strata"]] == [3, 3]


def test_a_design_is_replaced_only_if_said(tmp_path, image, areas):
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    points = tmp_path / "check.gpkg"
    run("sample-design", tmp_path / "map.tif", "-o", points, "--total", 200)
    assert "exists" in refused("sample-design", tmp_path / "map.tif", "-o", points)
    told = run("sample-design", tmp_path / "map.tif", "-o", points, "--total", 250, "--overwrite").stdout
    assert "250" in told
    assert "--class-field reference --stratified" in told


def test_errors_of_the_command_itself():
    assert command("classify").exit_code == 2
    assert command("colour").exit_code == 2
