"""Samples: the values under areas, their statistics, files, honest splits and pictures."""

import json

import numpy as np
import pytest
import rasterio
import shapely
from hypothesis import given
from hypothesis import strategies as st
from landsat import BANDS, NORTH, POINTS, POLYGONS, square, write_shapes
from numpy.testing import assert_allclose, assert_array_equal
from painted import scene, write_image
from scipy.stats import f
from sklearn.model_selection import StratifiedGroupKFold

from discriminant import Decision, GaussianNB, LinearDiscriminantAnalysis, Posterior, QuadraticDiscriminantAnalysis
from discriminant.errors import ColumnError, DegenerateDataError, InputError, LabelError, ParameterError
from discriminant.raster import (
    Band,
    Image,
    MapRule,
    Samples,
    area_groups,
    class_separability,
    cross_validate_areas,
    draw_samples,
    held_out_accuracy,
    load_samples,
    open_areas,
    open_image,
    save_samples,
    split_by_area,
)
from discriminant.raster.figures import band_scatter, discriminant_scatter, histograms, signatures


@pytest.fixture(scope="module")
def landsat():
    return draw_samples(BANDS, POLYGONS, "label")


def kinds(samples):
    return [finding.kind for finding in samples.findings]


def made_samples(n_areas=12, per_area=8, K=3, seed=0, p=3):
    """Areas of K classes, with pixels in a row each."""
    rng = np.random.default_rng(seed)
    area = np.repeat(np.arange(n_areas), per_area)
    labels = np.array(["forest", "sand", "water", "roof"])[area % K]
    X = rng.normal(size=(len(area), p)) + (area % K)[:, None]
    bands = tuple(Band(f"b{j}", "float64") for j in range(p))
    return Samples(X, labels, area, 10 * area, np.tile(np.arange(per_area), n_areas), bands)


def test_samples_are_the_pixels_of_the_image(landsat):
    with open_image(BANDS) as image:
        values, valid = image.read()
        marks = open_areas(POLYGONS, "label").pixels(image)
    held = valid[marks.rows, marks.columns]
    assert_array_equal(landsat.X, values[:, marks.rows[held], marks.columns[held]].T)
    assert_array_equal(landsat.y, marks.labels[marks.area[held]])
    assert_array_equal(landsat.areas, marks.ids[marks.area[held]])
    assert landsat.X.flags.c_contiguous
    assert landsat.band_names == tuple(path.stem for path in BANDS)


def test_coordinates_are_pixel_centres(landsat):
    with rasterio.open(BANDS[0]) as file:
        x, y = rasterio.transform.xy(file.transform, landsat.rows, landsat.columns)
    assert_allclose(landsat.coordinates, np.column_stack((x, y)), rtol=1e-14)


def test_what_was_found_is_named(landsat):
    told = {finding.kind: finding.message for finding in landsat.findings}
    assert "areas 3 (class 'agriculture')" in told["nodata"]
    assert told["no-pixels"].startswith("Class 'agriculture'")
    assert told["few-pixels"].startswith("Class 'sediment'")
    assert all(message in str(landsat) for message in told.values())


def test_threads_and_open_images_do_not_matter(landsat):
    with open_image(BANDS) as image:
        other = draw_samples(image, open_areas(POLYGONS, "label"), n_jobs=3)
        image.read()
    assert_array_equal(other.X, landsat.X)
    assert_array_equal(other.areas, landsat.areas)
    assert other.findings == landsat.findings


def test_only_the_windows_that_hold_areas_are_read(tmp_path, monkeypatch):
    values = (np.arange(2 * 1024 * 1024) % 60_000).reshape(2, 1024, 1024).astype("uint16")
    path = write_image(tmp_path / "image.tif", values, tiled=True, blockxsize=256, blockysize=256)
    shapes = [square(10, 10, 20), square(700, 300, 5)]
    areas = open_areas(write_shapes(tmp_path / "areas.gpkg", shapes, ["a", "b"]))
    read, windows = Image.read, []
    monkeypatch.setattr(Image, "read", lambda self, window=None: (windows.append(window), read(self, window))[1])
    samples = draw_samples(path, areas)
    assert sorted((w.row_off, w.col_off, w.height, w.width) for w in windows if w.height > 1) == [
        (0, 0, 256, 256),
        (256, 512, 256, 256),
    ]
    assert_array_equal(samples.X, values[:, samples.rows, samples.columns].T)
    assert samples.X.dtype == np.uint16


def test_statistics_are_those_of_each_class(landsat):
    found = landsat.statistics
    assert_array_equal(found.classes, np.unique(landsat.y))
    for k, label in enumerate(found.classes):
        own = landsat.X[landsat.y == label].astype(np.float64)
        assert found.counts[k] == len(own)
        assert found.areas[k] == len(set(landsat.areas[landsat.y == label]))
        assert_allclose(found.means[k], own.mean(axis=0), rtol=1e-12)
        assert_allclose(found.sds[k], own.std(axis=0, ddof=1), rtol=1e-12)
        assert_allclose(found.covariances[k], np.cov(own.T), rtol=1e-10)
        assert_array_equal(found.minima[k], own.min(axis=0))
        assert_array_equal(found.maxima[k], own.max(axis=0))
    frame = found.to_frame()
    assert list(frame.columns) == ["class", "band", "pixels", "areas", "mean", "sd", "min", "max"]
    assert_array_equal(frame["sd"], found.sds.ravel())
    assert json.loads(json.dumps(found.to_dict()))["classes"][0]["class"] == "developed"


def test_a_class_of_one_pixel_has_no_spread(tmp_path):
    path = write_image(tmp_path / "image.tif", scene(20, 30)[0])
    shapes = [square(2, 2, 1), square(10, 3, 8)]
    samples = draw_samples(path, write_shapes(tmp_path / "areas.gpkg", shapes, ["dot", "field"]))
    assert np.isnan(samples.statistics.sds[0]).all()
    assert samples.statistics.to_dict()["classes"][0]["sd"] == [None] * 4
    assert "dot" in str(samples)
    assert [finding.kind for finding in samples.findings if "'dot'" in finding.message] == ["few-pixels", "one-area"]


def test_many_classes_make_few_notes(tmp_path):
    """Hundreds of classes of one pixel each are one note of each kind, and a page that can be read."""
    path = write_image(tmp_path / "image.tif", scene(20, 30)[0])
    shapes = [square(column, row, 1) for row in range(10) for column in range(30)]
    samples = draw_samples(path, write_shapes(tmp_path / "areas.gpkg", shapes, [f"c{k:03d}" for k in range(300)]))
    assert [finding.kind for finding in samples.findings] == ["few-pixels", "one-area"]
    assert samples.findings[0].message.startswith("Classes 'c000', 'c001'")
    assert "and 295 more" in samples.findings[0].message
    assert len(str(samples).splitlines()) < 60
    with pytest.raises(DegenerateDataError) as error:
        class_separability(samples)
    assert len(str(error.value)) < 400


def test_one_band_and_nan_are_welcome(tmp_path):
    values = np.arange(600, dtype="float32").reshape(1, 20, 30)
    values[0, 3, 3] = np.nan
    path = write_image(tmp_path / "image.tif", values)
    samples = draw_samples(path, write_shapes(tmp_path / "areas.gpkg", [square(2, 2, 4)], ["a"]))
    assert samples.X.shape == (15, 1)
    assert np.isfinite(samples.X).all()
    with pytest.raises(ColumnError, match="band"):
        band_scatter(samples)


def test_nothing_sampled_says_why(tmp_path):
    path = write_image(tmp_path / "image.tif", np.zeros((2, 20, 30), "uint8"), nodata=0)
    areas = write_shapes(tmp_path / "areas.gpkg", [square(2, 2, 4)], ["a"])
    with pytest.raises(DegenerateDataError, match=r"'image.tif'.*16 of 16"):
        draw_samples(path, areas)


def test_numbers_of_colours_are_no_measurements(tmp_path):
    path = write_image(tmp_path / "map.tif", np.ones((1, 20, 30), "uint8"))
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, {1: (255, 0, 0, 255)})
    with pytest.raises(InputError, match=r"'map.tif'"):
        draw_samples(path, write_shapes(tmp_path / "areas.gpkg", [square(2, 2, 4)], ["a"]))


def test_a_band_read_as_transparency_is_mentioned(tmp_path):
    path = write_image(tmp_path / "image.tif", np.full((4, 20, 30), 9, "uint8"), photometric="RGB", alpha="YES")
    samples = draw_samples(path, write_shapes(tmp_path / "areas.gpkg", [square(2, 2, 4)], ["a"]))
    assert samples.band_names == ("red", "green", "blue")
    (note,) = [finding.message for finding in samples.findings if finding.kind == "alpha"]
    assert "Band 4 of 'image.tif'" in str(note)


def test_a_class_field_is_for_paths():
    with pytest.raises(InputError, match="class_field"):
        draw_samples(BANDS, open_areas(POLYGONS, "label"), "label")


@pytest.mark.parametrize("field", ["label", "id"])
def test_files_hold_samples_whole(tmp_path, field):
    samples = draw_samples(BANDS, POINTS, field)
    save_samples(samples, tmp_path / "samples.parquet")
    again = load_samples(tmp_path / "samples.parquet")
    for name in ("X", "y", "areas", "rows", "columns", "coordinates"):
        assert_array_equal(getattr(again, name), getattr(samples, name))
        assert getattr(again, name).dtype == getattr(samples, name).dtype
    assert (again.bands, again.origin, again.findings) == (samples.bands, samples.origin, samples.findings)


def test_what_is_no_file_of_samples_is_refused(tmp_path, landsat):
    with pytest.raises(InputError, match=r"\.parquet"):
        save_samples(landsat, tmp_path / "samples.csv")
    with pytest.raises(InputError, match=r"absent\.parquet"):
        load_samples(tmp_path / "absent.parquet")
    landsat.statistics.to_frame().to_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match="parquet"):
        load_samples(tmp_path / "table.parquet")
    save_samples(landsat, tmp_path / "samples.parquet")
    content = (tmp_path / "samples.parquet").read_bytes()
    (tmp_path / "half.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="parquet"):
        load_samples(tmp_path / "half.parquet")


def test_classes_can_be_left_out(landsat):
    part = landsat.of_classes(["forest", "water"])
    assert_array_equal(part.classes, ["forest", "water"])
    assert part.n_pixels == np.isin(landsat.y, ["forest", "water"]).sum()
    with pytest.raises(InputError, match=r"'snow'.*developed"):
        landsat.of_classes(["snow"])


@given(seed=st.integers(0, 1000), share=st.floats(0.05, 0.95), n_areas=st.integers(6, 20))
def test_splits_keep_areas_together_and_every_class_on_both_sides(seed, share, n_areas):
    samples = made_samples(n_areas)
    training, test = split_by_area(samples, share, random_state=seed)
    assert not set(training.areas) & set(test.areas)
    assert training.n_pixels + test.n_pixels == samples.n_pixels
    assert set(training.y) == set(test.y) == set(samples.y)
    for label in samples.classes:
        areas = len(set(samples.areas[samples.y == label]))
        held = len(set(test.areas[test.y == label]))
        assert abs(held - np.clip(share * areas, 1, areas - 1)) <= 0.5 + 1e-9


def test_blocks_hold_neighbouring_areas():
    samples = made_samples(12)
    groups = area_groups(samples, 30).groups
    assert_array_equal(groups, samples.areas // 3)
    training, test = split_by_area(samples, 0.3, groups=area_groups(samples, block=30))
    assert not set(training.areas // 3) & set(test.areas // 3)


def test_splits_that_cannot_be_are_refused():
    samples = made_samples(12)
    with pytest.raises(LabelError, match=r"'forest', 'sand' and 'water'.*group_distance"):
        split_by_area(samples, groups=area_groups(samples, block=500))
    with pytest.raises(LabelError, match="'roof'"):
        cross_validate_areas(GaussianNB(), made_samples(7, K=4))
    with pytest.raises(ParameterError, match="test_share"):
        split_by_area(samples, 1.0)
    rings = made_samples(6, 4)
    paired = Samples(rings.X, rings.y, rings.areas, rings.rows // 20 * 20, rings.columns, rings.bands)
    with pytest.raises(LabelError, match="random_state"):
        split_by_area(paired, 0.3, groups=area_groups(paired, block=20))


def test_cross_validation_holds_out_whole_areas(landsat):
    found = cross_validate_areas(
        {"lda": LinearDiscriminantAnalysis()}, landsat, folds=4, random_state=3, keep="predictions", progress=False
    )
    seed = int(np.random.default_rng(3).integers(1 << 31))
    splitter, expected = StratifiedGroupKFold(4, shuffle=True, random_state=seed), np.empty_like(landsat.y)
    for train, test in splitter.split(landsat.X, landsat.y, landsat.areas):
        assert not set(landsat.areas[train]) & set(landsat.areas[test])
        expected[test] = LinearDiscriminantAnalysis().fit(landsat.X[train], landsat.y[train]).predict(landsat.X[test])
    assert_array_equal(found.predictions("lda"), expected)
    assert 0.5 < found.mean("lda") < 1


def test_training_goes_into_models(landsat):
    X, y, groups = landsat.to_training()
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert_array_equal(model.classes_, landsat.classes)
    assert len(groups) == len(y)


def test_signatures_show_means_and_spread(landsat):
    made = signatures(landsat)
    assert [trace.name for trace in made.data] == landsat.classes.tolist()
    for k, trace in enumerate(made.data):
        assert_allclose(trace.y, landsat.statistics.means[k])
        assert_allclose(trace.error_y.array, landsat.statistics.sds[k])


def test_figures_have_the_colours_of_the_map(landsat):
    wanted = {"water": "#123456", "forest": "#fefefe"}
    for made in (signatures(landsat, wanted), band_scatter(landsat, colours=wanted)):
        colours = {trace.name: trace.marker.color for trace in made.data}
        assert colours["water"] == "#123456"
        assert colours["forest"] not in ("#fefefe", "#ffffff")  # white on white would not be seen


def test_histograms_hold_all_pixels_of_each_class(landsat):
    made = histograms(landsat)
    assert len(made.data) == len(landsat.classes) * len(landsat.bands)
    for trace in made.data:
        assert_allclose(np.sum(trace.y), 1)


def test_whole_numbers_of_small_range_have_a_bin_each():
    samples = made_samples()
    counted = Samples(
        (np.abs(samples.X) * 5).astype("uint8"), samples.y, samples.areas, samples.rows, samples.columns, samples.bands
    )
    trace = histograms(counted).data[0]
    red, own = counted.X[:, 0], counted.X[counted.y == trace.name, 0]
    assert_allclose(trace.y, np.bincount(own, minlength=red.max() + 1)[red.min() :] / len(own))
    assert_allclose(trace.x, np.arange(red.min(), red.max() + 1))


def test_scatters_show_the_pixels_of_each_class(landsat):
    first, second = landsat.band_names[3], landsat.band_names[0]
    for made in (band_scatter(landsat, first, second), discriminant_scatter(landsat)):
        assert [trace.name for trace in made.data] == landsat.classes.tolist()
        assert sum(len(trace.x) for trace in made.data) == landsat.n_pixels
    made = band_scatter(landsat, first, second)
    assert_allclose(made.data[0].x, landsat.X[landsat.y == "developed", 3])
    assert (made.layout.xaxis.title.text, made.layout.yaxis.title.text) == (first, second)
    with pytest.raises(ColumnError, match=r"'b9'.*lsat7_2000_10"):
        band_scatter(landsat, "b9")
    with pytest.raises(DegenerateDataError, match="Classes: 2, bands: 6"):
        discriminant_scatter(landsat.of_classes(["forest", "water"]))


def test_points_may_be_samples_too(tmp_path):
    values = scene(20, 30)[0]
    path = write_image(tmp_path / "image.tif", values)
    places = [shapely.Point(500_005 + 10 * i, NORTH - 5 - 10 * i) for i in range(6)]
    samples = draw_samples(path, write_shapes(tmp_path / "points.gpkg", places, [1, 2, 1, 2, 1, 2]))
    assert_array_equal(samples.X, [values[:, i, i] for i in range(6)])
    assert_array_equal(samples.y, [1, 2] * 3)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), GaussianNB()])
def test_held_out_areas_are_mapped_as_cross_validation_predicts_them(landsat, model):
    found = held_out_accuracy(model, landsat, groups=area_groups(landsat, block=40))
    crossed = cross_validate_areas(
        {"model": model}, landsat, metrics="accuracy", groups=area_groups(landsat, block=40)
    ).confusion("model")
    assert_array_equal(found.confusion.counts, crossed.counts)


def test_held_out_areas_know_costs_and_rejection(landsat):
    """By hand: the models of the same folds, their answers at least expected cost, and their distances."""
    model, groups = QuadraticDiscriminantAnalysis(), area_groups(landsat).groups
    X, y, names = landsat.X.astype(float), landsat.y, landsat.classes.tolist()
    costs = 1 - np.eye(len(names))
    costs[names.index("water"), names.index("forest")] = 20
    decision = Decision(costs, reject_cost=0.4, classes=names)
    seed = int(np.random.default_rng(0).integers(1 << 31))
    dealt = StratifiedGroupKFold(5, shuffle=True, random_state=seed).split(X, y, groups)
    expected = np.empty(len(y), dtype=object)
    for train, test in dealt:
        own = model.fit(X[train], y[train])
        chosen = decision.decide(Posterior(own.predict_proba(X[test]), own.classes_))
        for row, label in zip(test, chosen, strict=True):
            part = X[train][y[train] == label] if label in names else None
            far = part is not None and _squared_distance(X[row], part) > _hotelling(0.95, *part.shape)
            expected[row] = "rejected" if label == "abstain" or far else label
    found = held_out_accuracy(model, landsat, rule=MapRule(decision=decision, reject=0.95))
    columns = [*names, "rejected"]
    assert found.confusion.predictions.tolist() == columns
    table = [[np.sum((y == truth) & (expected == label)) for label in columns] for truth in names]
    assert_array_equal(found.confusion.counts, table)
    assert np.sum(table, axis=0)[-1] > 100


def _hotelling(share, n, p):
    return (1 + 1 / n) * p * (n - 1) / (n - p) * f.ppf(share, p, n - p)


def _squared_distance(row, pixels):
    d = row - pixels.mean(axis=0)
    return d @ np.linalg.solve(np.cov(pixels.T), d)


def test_few_areas_are_held_out_one_by_one():
    y, area = np.repeat(["sand", "water"], 60), np.repeat(np.arange(4), 30)
    X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 2))
    samples = Samples(X, y, area, area, area, (Band("red", "float64"), Band("blue", "float64")))
    found = held_out_accuracy(LinearDiscriminantAnalysis(), samples)
    assert found.overall_accuracy == held_out_accuracy(LinearDiscriminantAnalysis(), samples, 4).overall_accuracy > 0.9
