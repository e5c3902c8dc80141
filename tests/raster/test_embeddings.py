"""Embedding rasters: many bands of unit length, in float32 or quantised to int8."""

import numpy as np
import pytest
from landsat import write_shapes
from numpy.testing import assert_array_equal
from painted import read_raster, rows_of, write_image
from test_raster_cli import run, square

from discriminant import LinearDiscriminantAnalysis, LogisticRegression
from discriminant.raster import MapOptions, classify, classify_image, draw_samples, open_image

PLACES = [("forest", 0, 0), ("forest", 24, 30), ("water", 0, 30), ("water", 24, 0)]


def embedding(kind, n_bands=64):
    """Unit vectors around one direction for each class, and where they have no value."""
    rng = np.random.default_rng(0)
    classes = np.kron(rng.integers(0, 2, (4, 5)), np.ones((10, 10), dtype=int))
    for label, row, column in PLACES:
        classes[row : row + 10, column : column + 10] = label == "water"
    values = rng.normal(size=(2, n_bands))[classes].transpose(2, 0, 1) + rng.normal(size=(n_bands, 40, 50))
    values /= np.sqrt((values**2).sum(axis=0))
    missing = rng.random((40, 50)) < 0.05
    if kind == "float32":
        return np.where(missing, np.nan, values).astype("float32"), missing, np.nan
    scaled = 127.5 * (np.sign(values) * np.sqrt(np.abs(values)) if kind == "root" else values)
    return np.where(missing, -128, np.rint(scaled)).astype("int8"), missing, -128


@pytest.mark.parametrize("kind", ["float32", "int8", "root"])
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(shrinkage=0.1), LogisticRegression(alpha=0.01)], ids=repr)
def test_maps_of_embeddings_are_the_predictions(tmp_path, monkeypatch, kind, model):
    monkeypatch.setattr(classify, "WINDOW_SIDES", (16,))
    values, missing, nodata = embedding(kind)
    tiled = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    image = write_image(tmp_path / "image.tif", values, nodata=nodata, **tiled)
    shapes = [square(row, column) for _, row, column in PLACES]
    areas = write_shapes(tmp_path / "a.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    samples = draw_samples(image, areas, "cover")
    assert samples.X.dtype == values.dtype
    assert [finding.kind for finding in samples.findings].count("embedding") == 1
    model.fit(samples.X.astype(float), samples.y)
    made = classify_image(model, image, tmp_path / "m.tif", options=MapOptions(probability=tmp_path / "p.tif"))
    predicted = model.predict(rows_of(values)[~missing.ravel()])
    expected = 1 + np.searchsorted(model.classes_, predicted)
    codes = read_raster(made.path)[0]
    assert_array_equal(codes[~missing], expected)
    assert (codes[missing] == 0).all()
    assert (read_raster(tmp_path / "p.tif")[0][missing] == 255).all()


def test_other_images_are_no_embeddings(tmp_path):
    rng = np.random.default_rng(0)
    image = write_image(tmp_path / "image.tif", rng.uniform(10, 200, (64, 40, 50)).astype("uint8"))
    labels = write_image(tmp_path / "labels.tif", rng.integers(1, 3, (1, 40, 50)).astype("uint8"))
    assert all(finding.kind != "embedding" for finding in draw_samples(image, labels).findings)
    few = embedding("float32", 8)[0]
    write_image(tmp_path / "few.tif", few, nodata=np.nan)
    assert all(finding.kind != "embedding" for finding in draw_samples(tmp_path / "few.tif", labels).findings)


def test_the_command_recommends_logistic_regression(tmp_path):
    values, _, nodata = embedding("int8")
    image = write_image(tmp_path / "image.tif", values, nodata=nodata)
    shapes = [square(row, column) for _, row, column in PLACES]
    areas = write_shapes(tmp_path / "a.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    command = ["classify", image, "--areas", areas, "-c", "cover", "--overwrite", "-o", tmp_path / "m.tif"]
    assert "--model logistic" in run(*command, "--model", "lda").stderr
    assert "embedding" not in run(*command, "--model", "logistic").stderr
    with open_image(image) as source:
        assert source.dtype == np.int8
