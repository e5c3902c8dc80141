"""Which areas are held out together: points that are correlated, and what a wrong grouping would promise."""

import json
from dataclasses import replace

import numpy as np
import pytest
import shapely
from landsat import NORTH, write_shapes
from numpy.testing import assert_allclose, assert_array_equal
from painted import scene, write_image
from patches import Fields
from scipy.cluster.hierarchy import fcluster, linkage
from test_raster_cli import run

from discriminant import (
    AutoClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
)
from discriminant.errors import LabelError, ParameterError
from discriminant.estimators.base import fit_in_groups
from discriminant.folds import HeldOut
from discriminant.raster import (
    area_groups,
    draw_samples,
    fit_image_model,
    held_out_accuracy,
    image_model,
    split_by_area,
)
from discriminant.raster.samples import Samples


def partition(groups):
    """Which pairs are in one group."""
    return groups[:, None] == groups


@pytest.mark.parametrize("seed", range(3))
def test_points_of_a_field_are_held_out_together(seed):
    """36 fields of 3 classes in 20 bands, 8 points each: accuracy on new fields, by points and by whole fields."""
    fields = Fields(36, n_bands=20, seed=seed)
    samples, model = fields.samples(8), LinearDiscriminantAnalysis()
    found = held_out_accuracy(model, samples)
    own = (samples.columns // 50).astype(int)
    assert_array_equal(partition(found.groups.groups), partition(own))
    assert 100 < found.groups.distance < 300  # fields of 200 m, 300 m from each other
    new = Fields(300, n_bands=20, seed=100 + seed).samples(5)
    true = model.fit(samples.X, samples.y).score(new.X, new.y)
    alone = held_out_accuracy(model, samples, groups=area_groups(samples, group_distance=0)).overall_accuracy
    assert abs(found.overall_accuracy - true) < 0.13
    assert alone > true + 0.15
    polygons = held_out_accuracy(model, fields.samples(8, points=False))
    assert_array_equal(polygons.confusion.counts, found.confusion.counts)
    assert polygons.groups.sentence == ""


@pytest.mark.parametrize("seed", range(3))
def test_points_without_correlation_are_held_out_one_by_one(seed):
    samples = Fields(24, between=0.0, seed=seed).samples(6)
    found = area_groups(samples)
    assert found.n_groups == samples.n_pixels
    assert found.distance == 0


def test_dense_points_are_grouped_by_squares():
    samples = Fields(36, n_bands=20, gap=0).samples(8)
    found = held_out_accuracy(LinearDiscriminantAnalysis(), samples)
    assert found.groups.squares
    alone = held_out_accuracy(LinearDiscriminantAnalysis(), samples, groups=area_groups(samples, group_distance=0))
    assert found.overall_accuracy < alone.overall_accuracy - 0.1


@pytest.mark.parametrize("reach", [1.0, 3.0, 7.5, 40.0])
def test_a_given_distance_links_areas_as_single_linkage_does(reach):
    """Areas of one to five pixels without coordinates; SciPy's linkage of all pixels, areas being at distance 0."""
    rng = np.random.default_rng(4)
    area = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    start = rng.integers(0, 120, (30, 2))
    rows, columns = start[area, 0] + np.arange(len(area)) - np.searchsorted(area, area), start[area, 1]
    labels = np.array(["a", "b"])[area % 2]
    samples = Samples(rng.normal(size=(len(area), 2)), labels, area, rows, columns, Fields(1).samples(1).bands[:2])
    found = area_groups(samples, group_distance=reach)
    steps = np.hypot(rows[:, None] - rows, columns[:, None] - columns)
    steps[area[:, None] == area] = 0
    expected = fcluster(linkage(steps[np.triu_indices(len(area), 1)], "single"), reach, "distance")
    assert_array_equal(partition(found.groups), partition(expected))
    assert found.unit == "pixels"


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857", "EPSG:32633"])
def test_distances_are_metres_on_the_ground(crs):
    """Two points 100 m apart at 60 degrees north, whatever the coordinate system of the image."""
    rasterio = pytest.importorskip("rasterio.warp")
    x, y = rasterio.transform("EPSG:32633", crs, [500_000.0, 500_100.0], [6_651_411.0] * 2)
    base = Fields(2, n_classes=2).samples(1)
    scale = (x[1] - x[0]) / 10
    place = (scale, 0.0, x[0], (y[1] - y[0]) / 10, -scale, y[0])
    origin = replace(base.origin, crs=crs, transform=place)
    points = replace(base, origin=origin, rows=np.array([0, 0]), columns=np.array([0, 10]))
    assert area_groups(points, group_distance=99).n_groups == 2
    assert area_groups(points, group_distance=101).n_groups == 1


def test_groups_that_leave_a_class_in_one_are_refused():
    samples = Fields(6).samples(4)
    with pytest.raises(LabelError, match="group_distance"):
        held_out_accuracy(LinearDiscriminantAnalysis(), samples, groups=area_groups(samples, group_distance=10_000))
    with pytest.raises(ParameterError, match="block and group_distance"):
        split_by_area(samples, groups=area_groups(samples, block=3, group_distance=4))
    with pytest.raises(ParameterError, match="group_distance"):
        area_groups(samples, group_distance=-1)


def test_parts_of_a_multipolygon_are_areas(tmp_path):
    path = write_image(tmp_path / "image.tif", scene(40, 40)[0])
    boxes = [shapely.box(500_000 + 100 * i, NORTH - 60, 500_050 + 100 * i, NORTH - 10) for i in range(4)]
    shapes = [shapely.MultiPolygon(boxes[:2]), shapely.MultiPolygon(boxes[2:])]
    samples = draw_samples(path, write_shapes(tmp_path / "areas.gpkg", shapes, ["a", "b"]))
    assert samples.statistics.areas.tolist() == [2, 2]
    assert set(samples.areas.tolist()) == {"1.1", "1.2", "2.1", "2.2"}
    assert held_out_accuracy(LinearDiscriminantAnalysis(), samples).groups.n_groups == 4


@pytest.mark.parametrize(
    "model",
    [
        QuadraticDiscriminantAnalysis(shrinkage="cv", folds=3),
        RegularizedDiscriminantAnalysis(folds=3),
        AutoClassifier(["rda"], folds=3),
    ],
    ids=repr,
)
def test_tuning_holds_out_whole_groups(model, monkeypatch):
    samples = Fields(18).samples(10)
    groups, seen = area_groups(samples).groups, []
    by_splits = HeldOut.by_splits.__func__

    def noted(cls, splits, n_rows):
        seen.extend(splits)
        return by_splits(cls, splits, n_rows)

    monkeypatch.setattr(HeldOut, "by_splits", classmethod(noted))
    fit_in_groups(model, samples.X, samples.y, groups)
    assert seen
    for train, held in seen:
        assert len(train) + len(held) == samples.n_pixels
        assert not set(groups[train]) & set(groups[held])
        assert set(samples.y[train]) == set(samples.y)


def test_lda_shrinks_by_held_out_groups():
    """Groups of one row each are the rows; copies of rows in a group do not make the covariance surer."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    X = rng.normal(size=(60, 15)) + 2.0 * (y == "a")[:, None]
    copies = np.repeat(np.arange(60), 10)
    model = LinearDiscriminantAnalysis(shrinkage="cv", folds=5)
    surer = model.fit(X[copies], y[copies]).shrinkage_
    grouped = fit_in_groups(model, X[copies], y[copies], copies).shrinkage_
    assert grouped > surer
    again = fit_in_groups(LinearDiscriminantAnalysis(shrinkage="cv", folds=5), X, y, np.arange(60))
    assert_allclose(grouped, again.shrinkage_)


def test_the_command_line_groups_points(tmp_path):
    image = write_image(tmp_path / "image.tif", scene(60, 70)[0])
    rng = np.random.default_rng(1)
    centres = [(100 * i + 50, 100 * j + 50) for i in range(6) for j in range(5)]
    places = [
        shapely.Point(500_000 + x + a, NORTH - y - b) for x, y in centres for a, b in rng.uniform(-20, 20, (4, 2))
    ]
    labels = [["a", "b"][i % 2] for i in range(len(centres)) for _ in range(4)]
    areas = write_shapes(tmp_path / "points.gpkg", places, labels)
    shared = ("classify", image, "--areas", areas, "-c", "cover", "--overwrite", "-o", tmp_path / "map.tif", "--json")
    told = json.loads(run(*shared, "--group-distance", "60").stdout)["held_out_areas"]["groups"]
    assert told == {"n_groups": 30, "group_distance": 60.0, "unit": "m", "squares": False}


def hyperspectral(n_per_class=90, n_bands=64, seed=0):
    """Three classes of one covariance in many bands, in 6 areas each, and as many pixels again to test with."""
    rng = np.random.default_rng(seed)
    root = np.eye(n_bands) + 0.3 * rng.normal(size=(n_bands, n_bands))
    means = 0.4 * rng.normal(size=(3, n_bands)) @ root
    n = 3 * n_per_class
    code = np.arange(n) % 3
    X, new = (means[code] + rng.normal(size=(n, n_bands)) @ root for _ in range(2))
    area, bands = 3 * (np.arange(n) // 3 * 6 // n_per_class) + code, Fields(1, n_bands=n_bands).samples(1).bands
    y = np.array(["crop", "grass", "wood"])[code]
    return Samples(X, y, area, np.arange(n), area, bands), new, y


def test_the_default_model_does_not_fail_on_many_bands():
    samples, new, y = hyperspectral()
    names = ("auto", "maximum-likelihood")
    found = {name: image_model(name, samples.classes) for name in names}
    for model in found.values():
        fit_in_groups(model, samples.X, samples.y, area_groups(samples).groups)
    right = {name: np.mean(model.predict(new) == y) for name, model in found.items()}
    stated = {name: model.predict_proba(new).max(axis=1).mean() for name, model in found.items()}
    assert stated["maximum-likelihood"] > right["maximum-likelihood"] + 0.1
    assert right["auto"] > right["maximum-likelihood"] + 0.1
    assert right["auto"] > 0.9
    assert abs(stated["auto"] - right["auto"]) < 0.05
    assert found["auto"].pooling_ > 0


def test_the_default_model_has_class_covariances_where_they_help():
    """Two classes of one mean that differ in their covariances only."""
    rng = np.random.default_rng(0)
    n, p = 600, 4
    y = np.array(["calm", "rough"])[np.arange(n) % 2]
    X = rng.normal(size=(n, p)) * np.where(y == "rough", 3.0, 1.0)[:, None]
    samples = Samples(X, y, np.arange(n) % 20, np.arange(n), np.arange(n), Fields(1, n_bands=p).samples(1).bands)
    model = fit_image_model(image_model("auto", ["calm", "rough"]), samples)
    assert model.pooling_ < 0.5
    assert model.priors_.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("n", "pooling", "shrinkage"), [(200, 0.0, 0.0), (30, 1.0, 0.0), (10, 1.0, 0.1)])
def test_without_areas_to_hold_out_pixels_decide(n, pooling, shrinkage):
    """Six bands: ten pixels for each band are wanted of every class, or of all."""
    fields = Fields(2, n_classes=2)
    samples = fields.samples(n, points=False)
    model = fit_image_model(image_model("auto", samples.classes), samples)
    assert (model.pooling_, model.shrinkage_, model.temperature_) == (pooling, shrinkage, 1.0)
