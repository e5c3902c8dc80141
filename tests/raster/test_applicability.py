"""The area of applicability, against plain loops over the published definition."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster, rows_of, scene, write_image
from patches import Fields
from test_raster_cli import PLACES, run, square, write_shapes

from discriminant.errors import DegenerateDataError, InputError, ParameterError
from discriminant.raster import area_groups, area_of_applicability, draw_samples, map_applicability
from discriminant.validation.labelled_table import labelled_table
from discriminant.validation.splits import plan_rounds


def published(samples, weights):
    """Mean distance, index of each training pixel and threshold of Meyer & Pebesma (2021), pixel by pixel."""
    groups = area_groups(samples).groups
    [plan] = plan_rounds(labelled_table(samples.X, samples.y, groups=groups), 5, 1, True, 0)
    X = (samples.X - samples.X.mean(axis=0)) / samples.X.std(axis=0, ddof=1) * weights
    n = len(X)
    distance = [[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X]
    mean = sum(distance[i][j] for i in range(n) for j in range(i)) / (n * (n - 1) / 2)
    index = np.empty(n)
    for split in plan.splits:
        for i in split.test:
            index[i] = min(distance[i][j] for j in split.train) / mean
    low, high = np.percentile(index, [25, 75])
    return mean, index, max(value for value in index if value <= high + 1.5 * (high - low))


@pytest.mark.parametrize("weights", [(1, 1, 1), (2.0, 0.5, 0)])
def test_index_and_threshold_are_those_of_the_definition(weights):
    samples = Fields(15, n_bands=3).samples(8, points=False)
    found = area_of_applicability(samples, weights=weights)
    mean, index, threshold = published(samples, np.array(weights))
    assert found.mean_distance == pytest.approx(mean)
    assert_allclose(found.training_index, index)
    assert found.threshold == pytest.approx(threshold)
    new = np.random.default_rng(0).normal(0, 4, (40, 3))
    scaled = [(X - samples.X.mean(axis=0)) / samples.X.std(axis=0, ddof=1) * weights for X in (new, samples.X)]
    nearest = np.array([min(np.sqrt(((a - b) ** 2).sum()) for b in scaled[1]) for a in scaled[0]])
    assert_allclose(found.dissimilarity(new), nearest / mean)
    assert_allclose(found.dissimilarity(samples.X), 0, atol=1e-12)


@pytest.fixture
def image(tmp_path):
    values, _, _ = scene(50, 60, n_bands=3, seed=4)
    values[:, 40:, 50:], values[:, :3] = 250, 0
    shapes = [square(row, column) for _, row, column in PLACES]
    areas = write_shapes(tmp_path / "areas.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    return write_image(tmp_path / "image.tif", values, nodata=0), areas, values


def test_the_map_has_the_index_of_every_pixel(tmp_path, image):
    path, areas, values = image
    found = area_of_applicability(draw_samples(path, areas, "cover"))
    made = map_applicability(found, path, tmp_path / "di.tif")
    index, inside = read_raster(made.path)
    valid = (values != 0).all(axis=0)
    assert_array_equal(np.isfinite(index), valid)
    assert_allclose(index[valid], found.dissimilarity(rows_of(values)[valid.ravel()]), rtol=1e-5)
    assert_array_equal(inside[valid] == 1, index[valid] <= np.float32(found.threshold))
    assert (inside[40:, 50:] == 0).all()
    assert made.share == pytest.approx(inside[valid].mean())
    with pytest.raises(InputError):
        map_applicability(found, path, tmp_path / "di.tif")


def test_what_cannot_be_compared_is_refused():
    samples = Fields(9, n_bands=3).samples(5, points=False)
    with pytest.raises(ParameterError):
        area_of_applicability(samples, weights=[1, 1])
    with pytest.raises(InputError):
        area_of_applicability(samples).dissimilarity([[1.0, 2.0]])
    samples.X[:] = 1.0
    with pytest.raises(DegenerateDataError):
        area_of_applicability(samples)


def test_the_command_writes_it(tmp_path, image):
    path, areas, _ = image
    page, target = tmp_path / "page.html", tmp_path / "di.tif"
    command = ["classify", path, "--areas", areas, "-c", "cover", "--model", "lda", "-o", tmp_path / "m.tif"]
    found = json.loads(run(*command, "--applicability", target, "--report", page, "--json").stdout)["applicability"]
    assert found["n_inside"] == (read_raster(target)[1] == 1).sum()
    assert "Area of applicability" in page.read_text(encoding="utf-8")
