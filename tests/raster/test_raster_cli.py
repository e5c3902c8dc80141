"""The commands on images: what they take, what they refuse, and in which words."""

import json
from dataclasses import replace

import numpy as np
import pyogrio
import pytest
import rasterio
import shapely
from landsat import write_shapes
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, rows_of, scene, write_image
from shapely.geometry import Point, box
from typer.testing import CliRunner

from discriminant import Decision, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, save
from discriminant.cli.raster import app
from discriminant.data import as_rows
from discriminant.raster import draw_samples, fit_image_model, image_model
from discriminant.raster.class_map import read_class_map
from discriminant.raster.coordinates import apply_affine

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
        assert f"Examples:\n  discriminant raster {name} " in run(name, "--help").stdout


def test_samples_are_told_and_kept(tmp_path, image, areas):
    result = run("samples", image, areas, "-c", "cover", "-o", tmp_path / "s.parquet", "--report", tmp_path / "s.html")
    assert "Pixels: 600\nClasses: 3\nBands: 3\n" in result.stdout
    assert "0 = identical, 2 = no overlap" in result.stdout
    assert "infrared" in result.stdout
    assert "Spectral signatures" in (tmp_path / "s.html").read_text(encoding="utf-8")
    maps = [tmp_path / "a.tif", tmp_path / "b.tif"]
    run("classify", image, "--areas", areas, "-c", "cover", "-o", maps[0])
    run("classify", image, "--samples", tmp_path / "s.parquet", "-o", maps[1])
    assert maps[0].read_bytes() == maps[1].read_bytes()


def test_the_default_is_chosen_by_held_out_areas(tmp_path, bands, image, areas):
    result = run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    samples = draw_samples(image, areas, "cover")
    model = fit_image_model(image_model("auto", samples.classes), replace(samples, X=samples.X.astype(float)))
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    expected = model.predict(as_rows(rows_of(bands), samples.band_names))
    assert_array_equal(model.classes_[codes.ravel() - 1], expected)
    assert "Accuracy on held-out training areas" in result.stdout
    assert "hectares" in result.stdout
    assert [entry.name for entry in legend.classes] == ["forest", "sand", "water"]
    assert (tmp_path / "map.qml").exists()


def test_a_kept_default_model_rejects_as_before(tmp_path, image, areas):
    shared, reject = ("-o", tmp_path / "map.tif", "--overwrite"), ("--reject", "0.9")
    run("classify", image, "--areas", areas, "-c", "cover", *reject, "--save-model", tmp_path / "m.dsc", *shared)
    before = read_raster(tmp_path / "map.tif")
    run("classify", image, "--model-file", tmp_path / "m.dsc", *reject, *shared)
    assert_array_equal(read_raster(tmp_path / "map.tif"), before)
    assert (before == 4).any()


def test_maximum_likelihood_has_equal_priors(tmp_path, bands, image, areas):
    options = ["--model", "maximum-likelihood", "-o", tmp_path / "map.tif"]
    result = run("classify", image, "--areas", areas, "-c", "cover", *options)
    X, y = training(bands)
    model = QuadraticDiscriminantAnalysis(priors=[1 / 3] * 3).fit(X, y)
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    assert_array_equal(model.classes_[codes.ravel() - 1], model.predict(rows_of(bands)))
    assert "Accuracy on held-out training areas" in result.stdout
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
    assert len(told["files"]) == 5
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
        ([], "give exactly one of --areas, --samples, --model-file; got 0"),
        (["--areas", "areas.gpkg", "--model-file", "m.dsc"], "got 2"),
        (["--areas", "areas.gpkg", "-c", "kind"], "kind"),
        (["--areas", "nothing.gpkg", "-c", "cover"], "nothing.gpkg"),
        (["--samples", "nothing.parquet"], "nothing.parquet"),
        (["--samples", "nothing.parquet", "-c", "cover"], "--name apply to --areas"),
        (["--model-file", "nothing.dsc"], "nothing.dsc' cannot be loaded"),
        (["--model-file", "nothing.dsc", "--priors", "a=1"], "--priors"),
        (["--areas", "areas.gpkg", "-c", "cover", "--model", "max"], "'max'"),
        (["--areas", "areas.gpkg", "-c", "cover", "--reject", "1.5"], "reject must be"),
        (["--areas", "areas.gpkg", "-c", "cover", "--colour", "water"], "NAME=VALUE"),
        (["--areas", "areas.gpkg", "-c", "cover", "--colour", "lava=#ff0000"], "not a class"),
        (["--areas", "areas.gpkg", "-c", "cover", "--priors", "water=1"], "no value for class 'forest'"),
        (
            ["--areas", "areas.gpkg", "-c", "cover", "--model", "minimum-distance", "--probability", "p.tif"],
            "MinimumDistance",
        ),
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
    assert "it has no bands" in words


def test_a_kept_model_refuses_another_image(tmp_path, bands, image, areas):
    run(
        "classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "a.tif", "--save-model", tmp_path / "m.dsc"
    )
    short = write_image(tmp_path / "short.tif", bands[:2], names=["green", "red"])
    words = refused("classify", short, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")
    assert "green, red and infrared" in words
    other = write_image(tmp_path / "other.tif", bands, names=["green", "infrared", "blue"])
    words = refused("classify", other, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")
    assert "Band 2 of the image must be 'red'" in words
    scaled = write_image(tmp_path / "scaled.tif", bands / np.float32(255), names=["green", "red", "infrared"])
    assert "float32" in refused("classify", scaled, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")


def test_the_coordinate_system_of_an_image_is_given(tmp_path, bands, areas):
    silent = write_image(tmp_path / "silent.tif", bands, crs=None)
    training = ["--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--no-validate"]
    assert "--crs" in refused("classify", silent, *training)
    run("classify", silent, *training, "--crs", "EPSG:32633")
    with rasterio.open(tmp_path / "map.tif") as file:
        assert file.crs == "EPSG:32633"
    wrong = write_image(tmp_path / "wrong.tif", bands, crs="EPSG:32632")
    assert "No area of" in refused("samples", wrong, areas, "-c", "cover")
    found = run("samples", wrong, areas, "-c", "cover", "--crs", "EPSG:32633")
    assert "read as EPSG:32633 instead of EPSG:32632" in found.stderr
    codes = write_image(tmp_path / "codes.tif", np.ones((1, 50, 60), "uint8"), crs=None)
    names = ["--name", "1=forest", "--crs", "EPSG:32633"]
    assert "forest" in run("accuracy", codes, areas, "-c", "cover", *names).stdout
    run("sample-design", codes, "-o", tmp_path / "check.gpkg", "--total", 60, *names)
    assert pyogrio.read_info(tmp_path / "check.gpkg")["crs"] == "EPSG:32633"


def test_a_band_that_tells_nothing_is_named_with_what_to_do(tmp_path, bands, areas):
    flat = write_image(tmp_path / "flat.tif", np.concatenate((bands, np.full_like(bands[:1], 7))))
    training = [flat, "--areas", areas, "-c", "cover", "--model", "maximum-likelihood", "-o", tmp_path / "map.tif"]
    words = refused("classify", *training)
    assert "column 'band 4'" in words
    assert "--set shrinkage=cv" in words
    assert "--bands" in words
    run("classify", *training, "--bands", "1-3")
    run("classify", *training, "--set", "shrinkage=cv", "--overwrite")


def test_a_kept_model_finds_its_bands_by_name(tmp_path, bands, image, areas):
    keep = ["--save-model", tmp_path / "m.dsc", "--no-validate"]
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "a.tif", *keep)
    other = write_image(tmp_path / "other.tif", bands[[2, 0, 0, 1]], names=["infrared", "green", "blue", "red"])
    found = run("classify", other, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "b.tif")
    assert "'other.tif': bands 2, 4 and 1 " in found.stderr
    assert_array_equal(read_raster(tmp_path / "a.tif"), read_raster(tmp_path / "b.tif"))


def test_a_class_of_one_area_is_not_judged_and_that_is_said(tmp_path, image):
    areas = write_shapes(tmp_path / "few.gpkg", [square(0, 0), square(0, 20)], np.array(["a", "b"], dtype=object))
    result = run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    assert "held-out areas" in result.stderr
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
    likelihood = ("--model", "maximum-likelihood", "-o", tmp_path / "map.tif")
    words = refused("classify", image, "--areas", areas, "-c", "cover", *likelihood)
    assert "column 'red'" in words


def test_areas_far_away_sample_nothing(tmp_path, image):
    areas = write_shapes(tmp_path / "far.gpkg", [square(5000, 0), square(5000, 20)], np.array(["a", "b"], dtype=object))
    words = refused("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    assert "No area of 'far.gpkg' is in the image 'image.tif'" in words
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
    shared = ("accuracy", tmp_path / "map.tif", areas, "-c", "cover")
    assert "training areas" in refused(*shared, "--stratified")
    result = run(*shared, "--json")
    assert "training areas" in result.stderr
    found = json.loads(result.stdout)
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


def test_a_wrong_ending_leaves_the_file_alone(tmp_path, image, areas):
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif")
    notes = tmp_path / "notes.txt"
    notes.write_text("important")
    assert ".gpkg or .geojson" in refused("sample-design", tmp_path / "map.tif", "-o", notes, "--overwrite")
    assert notes.read_text() == "important"


def test_the_points_of_a_design_are_filled_in_as_text(tmp_path, image):
    """Classes that are numbers: from the map to points, to what is typed in, and back to the map."""
    numbers = {"forest": 11, "sand": 21, "water": 31}
    shapes = [square(row, column) for _, row, column in PLACES]
    areas = write_shapes(tmp_path / "areas.gpkg", shapes, np.array([numbers[place[0]] for place in PLACES]))
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--reject", "0.99")
    points = tmp_path / "check.gpkg"
    told = run("sample-design", tmp_path / "map.tif", "-o", points, "--total", 200, "--at-least", 10).stdout
    assert f"accuracy {tmp_path / 'map.tif'} {points}" in told
    meta, _, wkb, (numbered, empty) = pyogrio.raw.read(points)
    assert {*empty} == {None}
    shown = read_raster(tmp_path / "map.tif")[0]
    columns, rows = apply_affine(~GRID["transform"], *shapely.get_coordinates(shapely.from_wkb(wkb)).T).astype(int).T
    mapped = shown[rows, columns]
    typed = np.array([str(code) if code != 32 else "11" for code in mapped], dtype=object)
    checked = tmp_path / "checked.gpkg"
    form = {"crs": meta["crs"], "geometry_type": "Point", "driver": "GPKG"}
    pyogrio.raw.write(checked, wkb, [numbered, typed], ["id", "reference"], **form)
    arguments = ("accuracy", tmp_path / "map.tif", checked, "-c", "reference", "--stratified", "--json")
    found = json.loads(run(*arguments).stdout)
    assert found["map_classes"] == [11, 21, 31, "rejected"]
    assert found["area_adjusted"]["users_accuracy"] == {"11": 1.0, "21": 1.0, "31": 1.0}
    rejected = found["area_adjusted"]["map_areas"]["rejected"] / sum(found["area_adjusted"]["map_areas"].values())
    assert found["area_adjusted"]["overall_accuracy"] == pytest.approx(1 - rejected)


def test_one_map_held_against_another_is_compared_by_class(tmp_path, image, areas):
    """The codes of the two maps differ: the second has no sand."""
    first, second = tmp_path / "first.tif", tmp_path / "second.tif"
    run("classify", image, "--areas", areas, "-c", "cover", "-o", first)
    two = [place for place in PLACES if place[0] != "sand"]
    fewer = write_shapes(
        tmp_path / "fewer.gpkg",
        [square(row, column) for _, row, column in two],
        np.array([label for label, _, _ in two], dtype=object),
    )
    run("classify", image, "--areas", fewer, "-c", "cover", "-o", second)
    found = json.loads(run("accuracy", first, second, "--json").stdout)
    mapped = np.array(["forest", "sand", "water"])[read_raster(first)[0] - 1]
    truth = np.array(["forest", "water"])[read_raster(second)[0] - 1]
    names = ["forest", "sand", "water"]
    expected = [[int(np.sum((truth == row) & (mapped == column))) for column in names] for row in names]
    assert found["reference_classes"] == found["map_classes"] == names
    assert found["counts"] == expected


def test_the_report_of_another_programs_map(tmp_path):
    codes = np.repeat(np.array([[-4, -4, 9, 9]], dtype="int16"), 4, axis=0)[None]
    foreign = write_image(tmp_path / "foreign.tif", codes, nodata=0)
    points = [Point(GRID["transform"].c + 10 * column + 5, GRID["transform"].f - 5) for column in range(4)]
    truth = write_shapes(tmp_path / "truth.gpkg", points, np.array(["wood", "lake", "lake", "lake"], dtype=object))
    arguments = ("accuracy", foreign, truth, "-c", "cover", "--name", "-4=wood", "--name", "9=lake", "--stratified")
    page = tmp_path / "page.html"
    found = json.loads(run(*arguments, "--report", page, "--json").stdout)
    assert found["reference_classes"] == ["lake", "wood"]
    assert found["counts"] == [[2, 1], [0, 1]]
    text = page.read_text(encoding="utf-8")
    assert "Area (hectares)" in text
    assert "Accuracy of foreign.tif" in text
    assert "got wood" in refused(*arguments[:5], "--name", "wood=1")


def test_layers_and_systems_of_areas_are_said_by_options(tmp_path, image):
    labels = np.array([place[0] for place in PLACES], dtype=object)
    shapes = [square(row, column) for _, row, column in PLACES]
    layered = tmp_path / "layered.gpkg"
    for layer, field in (("old", "kind"), ("new", "cover")):
        write_shapes(layered, shapes, labels, field=field, layer=layer)
    assert "--layer" in refused("samples", image, layered, "-c", "cover")
    found = run("samples", image, layered, "-c", "cover", "--layer", "new", "--json")
    with pytest.warns(UserWarning, match="crs"):
        silent = write_shapes(tmp_path / "silent.shp", shapes, labels, crs=None)
    assert "--areas-crs" in refused("samples", image, silent, "-c", "cover")
    again = run("samples", image, silent, "-c", "cover", "--areas-crs", "EPSG:32633", "--json")
    first, second = (json.loads(result.stdout)["classes"] for result in (found, again))
    assert first == second
    run("classify", image, "--areas", layered, "-c", "cover", "--layer", "new", "-o", tmp_path / "map.tif")


def test_painted_colours_get_names_by_options(tmp_path, bands):
    colours = {"forest": (0, 255, 0), "sand": (255, 0, 0), "water": (0, 0, 255)}
    painted = np.zeros((3, 50, 60), dtype="uint8")
    for label, row, column in PLACES:
        painted[:, row : row + 10, column : column + 10] = np.array(colours[label])[:, None, None]
    image = write_image(tmp_path / "photo.tif", bands.astype("uint8"))
    labels = write_image(tmp_path / "painted.tif", painted, photometric="RGB")
    names = [f"--name=#{bytes(colour).hex()}={label}" for label, colour in colours.items()]
    found = json.loads(run("samples", image, labels, *names, "--json").stdout)
    assert [one["class"] for one in found["classes"]] == ["forest", "sand", "water"]


def test_held_out_areas_are_rejected_like_pixels_of_the_map(tmp_path, image, areas):
    shared = ("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--overwrite", "--json")
    plain = json.loads(run(*shared).stdout)["held_out_areas"]
    strict = json.loads(run(*shared, "--reject", "0.5").stdout)["held_out_areas"]
    wary = json.loads(run(*shared, "--reject-cost", "0.01").stdout)["held_out_areas"]
    assert plain["map_classes"] == ["forest", "sand", "water"]
    for judged in (strict, wary):
        assert judged["map_classes"] == ["forest", "sand", "water", "rejected"]
        assert np.sum(judged["counts"], axis=0)[3] > 0
        assert judged["overall_accuracy"] < plain["overall_accuracy"]
    assert np.sum(strict["counts"], axis=0)[3] == pytest.approx(300, abs=90)


def test_names_override_those_of_the_map(tmp_path, image, areas):
    run("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--no-validate")
    design = ("sample-design", tmp_path / "map.tif", "--total", "30", "--at-least", "5", "--json")
    found = json.loads(run(*design, "-o", tmp_path / "a.gpkg", "--name", "1=trees").stdout)
    assert [one["class"] for one in found["strata"]] == ["trees", "sand", "water"]


def test_nodata_that_the_file_does_not_declare(tmp_path, bands, areas):
    empty = bands.copy()
    empty[:, 45:] = 0
    image = write_image(tmp_path / "empty.tif", empty)
    shared = ("classify", image, "--areas", areas, "-c", "cover", "-o", tmp_path / "map.tif", "--overwrite")
    result = run(*shared, "--json")
    assert result.stderr.count("--nodata 0") == 1
    assert json.loads(result.stdout)["nodata"]["pixels"] == 0
    result = run(*shared, "--nodata", "0", "--json")
    assert "--nodata" not in result.stderr
    assert json.loads(result.stdout)["nodata"]["pixels"] == 5 * 60


def test_geojson_in_metres_is_told_what_it_lacks(tmp_path, image):
    shapes = [square(row, column) for _, row, column in PLACES]
    areas = write_shapes(tmp_path / "areas.geojson", shapes, [place[0] for place in PLACES])
    collection = json.loads(areas.read_text(encoding="utf-8"))
    del collection["crs"]
    areas.write_text(json.dumps(collection), encoding="utf-8")
    assert "--areas-crs" in refused("samples", image, areas, "-c", "cover")
    run("samples", image, areas, "-c", "cover", "--areas-crs", "EPSG:32633")


def test_class_names_that_differ_by_case_or_spaces_are_one(tmp_path, image):
    shapes = [square(row, column) for _, row, column in PLACES]
    names = ["forest", "Forest ", "sand", "sand", "water", "WATER"]
    areas = write_shapes(tmp_path / "areas.gpkg", shapes, names)
    result = run("samples", image, areas, "-c", "cover", "--json")
    assert sorted(one["class"].casefold() for one in json.loads(result.stdout)["classes"]) == [
        "forest",
        "sand",
        "water",
    ]
    assert "case or spaces" in result.stderr
