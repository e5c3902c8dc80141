"""Computed bands: equal to NumPy, missing where undefined, stored with models and found in other images."""

import json

import numpy as np
import pytest
import rasterio
from landsat import write_shapes
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster, scene, write_image
from test_raster_cli import PLACES, refused, run, square

from discriminant import LinearDiscriminantAnalysis
from discriminant.errors import ColumnError, ParameterError
from discriminant.raster import add_indices, bands_like, classify_image, open_image, refuse_other_bands
from discriminant.raster.band_math import INDICES, ROLES
from discriminant.storage.model_file import read_model_file

NAMES = ("blue", "green", "red", "near infrared", "swir 1", "swir2", "red edge")


@pytest.fixture
def image(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.integers(1, 3000, (7, 20, 30)).astype("uint16")
    values[:, 0, 0] = 0
    return write_image(tmp_path / "image.tif", values, names=NAMES)


@pytest.mark.parametrize("name", INDICES)
def test_indices_are_their_formulas(image, name):
    with open_image(image) as opened:
        bands = dict(zip(ROLES, opened.read()[0][[0, 1, 2, 6, 3, 4, 5]].astype(np.float64), strict=True))
        found, valid = add_indices(opened, name.lower()).read()
    with np.errstate(invalid="ignore"):
        expected = eval(INDICES[name], {"sqrt": np.sqrt}, bands)
    assert found.dtype == np.float32
    assert_allclose(found[-1][valid], expected[valid], rtol=1e-6)
    assert valid[0, 0] == np.isfinite(expected[0, 0])
    assert valid.sum() == np.isfinite(expected).sum()


def test_expressions_use_names_numbers_and_functions(image):
    with open_image(image, bands="red,1") as opened:
        every = read_raster(image).astype(np.float64)
        given = ["a = log(1 + `near infrared`) ^ 2 / b1", "b = max(red, blue, -b2) - abs(red - 2e2)"]
        found = add_indices(opened, given)
        values, _ = found.read()
        assert found.band_names == ("red", "blue", "a", "b")
        assert [band.expression for band in found.bands][2] == "log(1 + `near infrared`) ** 2 / `blue`"
        assert_array_equal(values[:2], every[[2, 0]])
        assert_allclose(values[2, 1:], np.log1p(every[3, 1:]) ** 2 / every[0, 1:], rtol=1e-5)
        largest = np.maximum(np.maximum(every[2], every[0]), -every[1])
        assert_allclose(values[3, 1:], (largest - np.abs(every[2] - 200))[1:], rtol=1e-5)


def test_physical_values_are_used(tmp_path):
    values = np.array([[[1400]], [[3800]]], dtype="uint16")
    path = write_image(tmp_path / "image.tif", values)
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = (1e-4, 1e-4), (-0.1, -0.1)
    with open_image(path) as opened:
        found = add_indices(opened, ["NDVI", "EVI2"], {"red": 1, "nir": 2})
        computed, _ = found.read()
        assert not found.findings
    red, nir = 0.04, 0.28
    assert_allclose(computed[2:, 0, 0], [0.24 / 0.32, 2.5 * 0.24 / (nir + 2.4 * red + 1)], rtol=1e-5)


def test_reflectance_is_required_by_some_indices(image):
    with open_image(image) as opened:
        kinds = [[one.kind for one in add_indices(opened, name).findings] for name in ("NDVI", "SAVI")]
    assert kinds == [[], ["reflectance"]]


@pytest.mark.parametrize(
    ("index", "roles", "error"),
    [
        ("NDVX", None, ParameterError),
        ("red", None, ParameterError),
        ("a = 3", None, ColumnError),
        ("a = nir / pink", None, ColumnError),
        ("a = b9 / b1", None, ColumnError),
        ("a = red.__class__", None, ColumnError),
        ("a = __import__('os')", None, ParameterError),
        ("a = red if red else blue", None, ColumnError),
        ("a = [red for red in blue]", None, ColumnError),
        ("a = red ** 'x'", None, ParameterError),
        ("a = red +", None, ParameterError),
        ("a = " + "(" * 600 + "red" + ")" * 600, None, ParameterError),
        ("a =", None, ParameterError),
        ("red = nir / 2", None, ParameterError),
        (["NDVI", "NDVI"], None, ParameterError),
        ("NDVI", {"nir": 9}, ColumnError),
        ("NDVI", {"infra": 1}, ParameterError),
        ("NDVI", {"nir": "1-2"}, ColumnError),
    ],
)
def test_wrong_expressions_are_refused(image, index, roles, error):
    with open_image(image) as opened, pytest.raises(error):
        add_indices(opened, index, roles)


def test_indices_without_named_bands_require_roles(tmp_path, image):
    path = write_image(tmp_path / "plain.tif", read_raster(image)[:2])
    with open_image(path) as opened, pytest.raises(ColumnError):
        add_indices(opened, "NDVI")
    with open_image([image, write_image(tmp_path / "more.tif", read_raster(image)[:1], names=["NIR"])]) as opened:
        with pytest.raises(ColumnError):
            add_indices(opened, "NDVI")
        assert add_indices(opened, "NDVI", {"nir": 4}).n_bands == 9
        with pytest.raises(ParameterError):
            add_indices(add_indices(opened, "NDWI", {"nir": 4}), "NBR")


@pytest.mark.parametrize("names", [NAMES, None])
def test_models_compute_their_bands_in_other_images(tmp_path, image, names):
    every = read_raster(image)
    first = write_image(tmp_path / "first.tif", every, names=names)
    order = [3, 0, 1, 2, 4, 5, 6] if names else range(7)
    other = write_image(tmp_path / "other.tif", every[order], names=names and [names[j] for j in order])
    with open_image(first, bands="1-2") as opened, open_image(other) as new:
        trained = add_indices(opened, "NDVI", {"nir": 4, "red": 3})
        found = bands_like(trained.bands, new)
        refuse_other_bands(trained.bands, found)
        for one, two in zip(trained.read(), found.read(), strict=True):
            assert_array_equal(one, two)
        X = trained.read()[0].reshape(3, -1).T
        model = LinearDiscriminantAnalysis().fit(X[1:], X[1:, 0] > X[1:, 1])
        maps = [
            classify_image(model, one, tmp_path / f"{one.paths[0][-7:]}", trained_on=trained.bands).path
            for one in (trained, new)
        ]
    assert_array_equal(*map(read_raster, maps))
    with open_image(write_image(tmp_path / "less.tif", every[:2], names=names and NAMES[:2])) as less:
        with pytest.raises(ColumnError):
            bands_like(trained.bands, less)
        other_formula = add_indices(less, "NDVI = b1 - b2")
        with pytest.raises(ColumnError):
            refuse_other_bands(trained.bands, other_formula)


@pytest.fixture
def train(tmp_path):
    values, _, _ = scene(60, 60, n_bands=3)
    write_image(tmp_path / "image.tif", values)
    shapes = [square(row, column) for _, row, column in PLACES]
    write_shapes(tmp_path / "areas.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    return ["classify", tmp_path / "image.tif", "--areas", tmp_path / "areas.gpkg", "-c", "cover", "--model", "lda"]


def test_the_command_stores_indices_in_the_model_file(tmp_path, train):
    index = ["--index", "NDVI", "--roles", "nir=3,red=1", "--index", "ratio = b1 / b2"]
    files = ["--save-model", tmp_path / "m.dsc", "--report", tmp_path / "page.html"]
    run(*train, *index, *files, "-o", tmp_path / "map.tif")
    bands = read_model_file(tmp_path / "m.dsc").metadata["bands"]
    assert [band["expression"] for band in bands] == ["", "", "", "(b3 - b1) / (b3 + b1)", "b1 / b2"]
    assert "NDVI = (b3 - b1) / (b3 + b1)" in (tmp_path / "page.html").read_text(encoding="utf-8")
    run("classify", tmp_path / "image.tif", "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "again.tif")
    assert_array_equal(read_raster(tmp_path / "map.tif"), read_raster(tmp_path / "again.tif"))
    samples = ["samples", tmp_path / "image.tif", tmp_path / "areas.gpkg", "-c", "cover", *index]
    found = json.loads(run(*samples, "-o", tmp_path / "s.parquet", "--json").stdout)
    assert found["bands"][3:] == ["NDVI", "ratio"]
    run(*train[:2], "--samples", tmp_path / "s.parquet", "--model", "lda", "-o", tmp_path / "third.tif")
    assert_array_equal(read_raster(tmp_path / "map.tif"), read_raster(tmp_path / "third.tif"))
    given = ["--model-file", tmp_path / "m.dsc", *index]
    refused(*train[:2], *given, "-o", tmp_path / "no.tif")
    assert not (tmp_path / "no.tif").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--index", "NDVI"],
        ["--index", "NDXI"],
        ["--index", "x = pink / b1"],
        ["--roles", "nir=1"],
        ["--index", "x = 2"],
    ],
)
def test_wrong_indices_leave_no_file(tmp_path, train, arguments):
    refused(*train, *arguments, "-o", tmp_path / "map.tif", "--save-model", tmp_path / "m.dsc")
    assert not (tmp_path / "map.tif").exists()
    assert not (tmp_path / "m.dsc").exists()
