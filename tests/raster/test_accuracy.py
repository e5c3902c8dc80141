"""The accuracy of maps: published figures, orientation in every output, strata that are missing."""

import hashlib
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import rasterio
import shapely
from hypothesis import given
from hypothesis import strategies as st
from landsat import NORTH, square, write_shapes
from numpy.testing import assert_allclose, assert_array_equal
from painted import write_image
from rasterio.windows import Window
from sklearn.metrics import cohen_kappa_score

from discriminant.errors import DegenerateDataError, InputError, LabelError, ParameterError
from discriminant.evaluation.confusion import ConfusionMatrix
from discriminant.evaluation.intervals import wilson_interval
from discriminant.raster import area_adjusted_accuracy, assess_map, class_pixels, map_accuracy, open_areas, open_image
from discriminant.raster.class_map import class_extents, map_legend
from discriminant.raster.coordinates import pixel_areas
from discriminant.raster.figures import area_estimates
from helpers import REFERENCE, assert_reference, reference

HECTARES = 0.09
#: Standard errors that a published 95 % interval reaches to either side.
Z = 1.959964
#: Rows reference, columns map: nothing in it is symmetric.
REFERENCE_BY_MAP = np.array([[50, 9, 1], [4, 30, 6], [0, 2, 20]])
NAMES = ["forest", "sand", "water"]


@pytest.fixture
def olofsson():
    table = pd.read_csv(REFERENCE / "olofsson2014.csv", index_col="map_class")
    return reference("olofsson2014"), table.filter(like="ref").to_numpy(), HECTARES * table["map_pixels"].to_numpy()


def labels_of(reference_by_map, names=NAMES):
    """Reference and map labels, pixel by pixel."""
    pairs = [(i, j) for (i, j), n in np.ndenumerate(reference_by_map) for _ in range(n)]
    truth, mapped = np.array(pairs).T
    return np.array(names)[truth], np.array(names)[mapped]


def test_the_published_example_to_the_printed_digits(olofsson):
    figures, counts, areas = olofsson
    found = area_adjusted_accuracy(counts, areas)
    assert_reference(found.overall_accuracy, figures, "overall_accuracy")
    assert_reference(Z * found.overall_accuracy_se, figures, "overall_halfwidth")
    assert_reference(found.users_accuracy, figures, "users_accuracy")
    assert_reference(Z * found.users_accuracy_se, figures, "users_halfwidth")
    assert_reference(found.producers_accuracy, figures, "producers_accuracy")
    assert_reference(Z * found.producers_accuracy_se, figures, "producers_halfwidth")
    assert_reference(found.area, figures, "area_ha")
    assert_reference(Z * found.area_se, figures, "area_halfwidth_ha")
    assert_reference(found.to_frame()["area_wald"], figures, "area_halfwidth_ha")
    assert_reference(found.to_dict()["overall_accuracy_wald"], figures, "overall_halfwidth")
    assert " 21.3 %\n" in str(found)
    assert found.notes == ()
    assert_allclose(found.proportions.sum(), 1)
    assert_allclose(found.area.sum(), areas.sum())


def by_simulation(counts, areas, n=40_000, seed=0):
    """Standard deviations of overall accuracy and areas over samples drawn again from the strata as they were found."""
    rng, weights = np.random.default_rng(seed), areas / areas.sum()
    shares = counts / counts.sum(axis=1, keepdims=True)
    drawn = np.stack(
        [rng.multinomial(int(total), share, size=n) / total for total, share in zip(counts.sum(1), shares, strict=True)]
    )
    proportions = weights[:, None, None] * drawn
    overall = np.einsum("ini->n", proportions)
    producers = np.einsum("ini->ni", proportions) / proportions.sum(axis=0)
    return overall.std(), proportions.sum(axis=0).std(axis=0) * areas.sum(), producers.std(axis=0)


def test_standard_errors_are_the_spread_over_samples():
    counts, areas = np.array([[180, 15, 5], [30, 160, 10], [8, 12, 380]]), np.array([20.0, 30, 50])
    found = area_adjusted_accuracy(counts, areas)
    overall, area, producers = by_simulation(counts, areas)
    assert_allclose(found.overall_accuracy_se, overall, rtol=0.02)
    assert_allclose(found.area_se, area, rtol=0.02)
    assert_allclose(found.producers_accuracy_se, producers, rtol=0.03)


def test_a_class_missing_from_the_map_has_an_area_and_no_users_accuracy(olofsson):
    _, counts, areas = olofsson
    kept = [0, 2, 3]
    frame = pd.DataFrame(counts[kept], index=[1, 3, 4], columns=[1, 2, 3, 4])
    found = area_adjusted_accuracy(frame, dict(zip([1, 3, 4], areas[kept], strict=True)))
    assert found.classes == [1, 2, 3, 4]
    weights = areas[kept] / areas[kept].sum()
    share = counts[kept] / counts[kept].sum(axis=1, keepdims=True)
    assert_allclose(found.area, areas[kept].sum() * weights @ share)
    spread = share * (1 - share) / (counts[kept].sum(axis=1, keepdims=True) - 1)
    assert_allclose(found.area_se, areas[kept].sum() * np.sqrt(weights**2 @ spread))
    assert np.isnan(found.users_accuracy[1])
    assert np.isnan(found.users_accuracy_se[1])
    assert found.producers_accuracy[1] == 0
    assert_allclose(found.overall_accuracy, (weights * share[[0, 1, 2], [0, 2, 3]]).sum())
    assert [note.partition(":")[0] for note in found.notes] == ["2"]
    assert found.to_dict()["users_accuracy"]["2"] is None


def test_a_class_missing_from_the_reference_has_no_producers_accuracy(olofsson):
    _, counts, areas = olofsson
    frame = pd.DataFrame(counts[:, [0, 2, 3]], index=[1, 2, 3, 4], columns=[1, 3, 4])
    found = area_adjusted_accuracy(frame, dict(zip([1, 2, 3, 4], areas, strict=True)))
    missing = found.classes.index(2)
    assert np.isnan(found.producers_accuracy[missing])
    assert found.users_accuracy[missing] == 0
    assert found.area[missing] == 0
    assert_allclose(found.area.sum(), areas.sum())
    assert [note.partition(":")[0] for note in found.notes] == ["2"]
    first, second = (line.split() for line in str(found).splitlines() if line.startswith("2 "))
    assert first[:7] == ["2", "0.0", "%", "(0.0", "to", "16.1)", "-"]
    assert (second[1], *second[-4:]) == ("0.0", "13,500.0", "-", "-", "-")


def test_orientation_of_counts_as_they_are():
    found = map_accuracy(*labels_of(REFERENCE_BY_MAP))
    producers = np.diag(REFERENCE_BY_MAP) / REFERENCE_BY_MAP.sum(axis=1)
    users = np.diag(REFERENCE_BY_MAP) / REFERENCE_BY_MAP.sum(axis=0)
    assert_allclose(found.producers_accuracy, producers)
    assert_allclose(found.users_accuracy, users)
    frame = found.to_frame()
    assert (frame.index.name, frame.columns.name) == ("reference", "map")
    assert frame.loc["forest", "sand"] == 9
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["rows"], told["columns"], told["counts"]) == ("reference", "map", REFERENCE_BY_MAP.tolist())
    assert_allclose(told["producers_accuracy"]["forest"], 50 / 60)
    assert_allclose(told["users_accuracy"]["forest"], 50 / 54)
    lines = str(found).splitlines()
    assert lines[0].startswith("Rows: reference; columns: map.")
    negatives = REFERENCE_BY_MAP[1:].sum()
    assert_allclose(found.specificity[0], 1 - REFERENCE_BY_MAP[1:, 0].sum() / negatives)
    assert_allclose(told["specificity"]["forest"], found.specificity[0])
    assert_allclose(found.to_frame("pandas")["specificity"], found.specificity)
    assert lines[2].split() == ["forest", "50", "9", "1", "60", "83.3", "%", "93.5", "%"]
    assert lines[-2].split()[1] == "92.6"


def test_orientation_of_area_adjusted_estimates():
    """The same sample as an array (rows map), a frame, a matrix and an accuracy: the estimates are the same."""
    by_map, areas = REFERENCE_BY_MAP.T, {"forest": 100.0, "sand": 50.0, "water": 850.0}
    matrix = ConfusionMatrix.of(*labels_of(REFERENCE_BY_MAP))
    forms = {
        "array": area_adjusted_accuracy(by_map, areas, NAMES),
        "frame": area_adjusted_accuracy(pd.DataFrame(by_map, index=NAMES, columns=NAMES), areas),
        "matrix": area_adjusted_accuracy(matrix, areas),
        "accuracy": area_adjusted_accuracy(map_accuracy(*labels_of(REFERENCE_BY_MAP)), areas),
    }
    weights = np.array([0.1, 0.05, 0.85])
    proportions = weights[:, None] * by_map / by_map.sum(axis=1, keepdims=True)
    for found in forms.values():
        assert_allclose(found.users_accuracy, np.diag(by_map) / by_map.sum(axis=1))
        assert_allclose(found.producers_accuracy, np.diag(proportions) / proportions.sum(axis=0))
        assert_allclose(found.proportions, proportions)
        told = json.loads(json.dumps(found.to_dict()))
        assert (told["rows"], told["columns"]) == ("map", "reference")
        assert_allclose(told["counts"], by_map)
        assert_allclose(found.to_frame()["users_accuracy"], found.users_accuracy)
        assert_allclose(found.to_frame()["producers_accuracy"], found.producers_accuracy)
        forest = next(line for line in str(found).splitlines() if line.startswith("forest"))
        assert forest.split()[1] == f"{100 * found.users_accuracy[0]:.1f}"
        assert forest.split()[6] == f"{100 * found.producers_accuracy[0]:.1f}"
        assert_allclose(found.to_frame()["specificity"], found.specificity)
        outside = np.delete(proportions, 0, axis=1)
        assert_allclose(found.specificity[0], 1 - outside[0].sum() / outside.sum())
        assert_allclose(told["specificity"]["forest"], found.specificity[0])


counts_of_pixels = st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=3, max_size=3).filter(
    lambda rows: sum(map(sum, rows)) > 0
)


@given(counts_of_pixels)
def test_disagreement_is_quantity_and_allocation(counts):
    found = map_accuracy(*labels_of(np.array(counts)))
    total = found.quantity_disagreement + found.allocation_disagreement
    assert_allclose(total, 1 - found.overall_accuracy, atol=1e-12)
    shares = np.array(counts) / np.sum(counts)
    assert_allclose(found.quantity_disagreement, np.abs(shares.sum(0) - shares.sum(1)).sum() / 2, atol=1e-12)
    assert found.allocation_disagreement >= 0


def test_disagreement_of_pure_kinds():
    swapped = map_accuracy(["a", "b"], ["b", "a"])
    assert (swapped.quantity_disagreement, swapped.allocation_disagreement) == (0, 1)
    too_much = map_accuracy(["a", "b"], ["a", "a"])
    assert (too_much.quantity_disagreement, too_much.allocation_disagreement) == (0.5, 0)


def test_kappa_is_that_of_scikit_learn():
    truth, mapped = labels_of(REFERENCE_BY_MAP)
    assert_allclose(map_accuracy(truth, mapped).kappa, cohen_kappa_score(truth, mapped))


def test_weights_in_proportion_to_the_sample_change_nothing():
    by_map = REFERENCE_BY_MAP.T
    found = area_adjusted_accuracy(by_map, by_map.sum(axis=1), NAMES)
    plain = map_accuracy(*labels_of(REFERENCE_BY_MAP))
    assert_allclose(found.overall_accuracy, plain.overall_accuracy)
    assert_allclose(found.producers_accuracy, plain.producers_accuracy)
    assert_allclose(found.area, REFERENCE_BY_MAP.sum(axis=1))


def test_rejected_pixels_are_a_stratum_and_no_class():
    truth = np.array(["a"] * 6 + ["b"] * 6)
    mapped = np.array(["a"] * 4 + ["rejected"] * 2 + ["b"] * 3 + ["rejected"] * 2 + ["a"])
    accuracy = map_accuracy(truth, mapped, actions=["rejected"])
    assert_allclose(accuracy.overall_accuracy, 7 / 12)
    assert_allclose(accuracy.quantity_disagreement + accuracy.allocation_disagreement, 5 / 12)
    found = area_adjusted_accuracy(accuracy, {"a": 50, "b": 30, "rejected": 20})
    assert found.classes == ["a", "b"]
    assert found.strata == ["a", "b", "rejected"]
    assert_allclose(found.area, [0.5 * 100 * 4 / 5 + 20 * 0.5, 50 / 5 + 30 + 20 * 0.5])
    assert_allclose(found.overall_accuracy, 0.5 * 0.8 + 0.3)
    assert "rejected" in str(accuracy)


MEASURES = ("users_accuracy", "producers_accuracy", "specificity", "area")


def test_intervals_end_where_the_measure_does(olofsson):
    _, counts, areas = olofsson
    found = area_adjusted_accuracy(counts, areas, level=0.9)
    low, high = found.interval("overall_accuracy")
    assert low < found.overall_accuracy < high < 1
    assert high - low == pytest.approx(2 * 1.645 * found.overall_accuracy_se, rel=0.05)
    assert found.interval("producers_accuracy", 2).high < 1
    assert 0 < found.interval("area", 1).low < found.area[0]
    with pytest.raises(ParameterError, match="'users'"):
        found.interval("users")
    with pytest.raises(ParameterError, match="1, 2, 3, 4"):
        found.interval("area", 9)


def test_users_accuracy_has_the_interval_of_its_stratum(olofsson):
    _, counts, areas = olofsson
    found = area_adjusted_accuracy(counts, areas)
    for k, n in enumerate(counts.sum(axis=1)):
        expected = wilson_interval(counts[k, k] / n, n)
        assert_allclose([*found.interval("users_accuracy", k + 1)], [*expected], rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_estimates_at_the_end_of_their_range_have_intervals(n):
    """A sample without an error says how few there may be, not that there is none."""
    found = area_adjusted_accuracy(np.diag([n, n, n]), [50, 30, 20], ["a", "b", "c"])
    reach = 1 - wilson_interval(1.0, n).low
    low, high = found.interval("overall_accuracy")
    assert (found.overall_accuracy, high) == (1, 1)
    assert_allclose(1 - low, reach * np.sqrt(0.5**2 + 0.3**2 + 0.2**2), rtol=1e-12)
    for measure in MEASURES[:3]:
        for label in found.classes:
            low, high = found.interval(measure, label)
            assert 0 < low < 1 == high
    assert "± 0.0" not in str(found)
    assert f"100.0 % ({100 * found.interval('users_accuracy', 'a').low:.1f} to 100.0)" in str(found)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["overall_accuracy_low"] < 1
    assert told["producers_accuracy_low"]["b"] < 1
    frame = found.to_frame()
    assert (frame["specificity_low"] < 1).all()
    assert (frame["area_low"] < frame["area"]).all()
    assert (frame["area"] < frame["area_high"]).all()


def coverage(shares, weights, sizes, replications, seed=0):
    """How often intervals hold the truth: the overall accuracy, and each measure averaged over the classes."""
    rng, K = np.random.default_rng(seed), len(shares)
    areas = 100 * np.asarray(weights)
    truth = area_adjusted_accuracy(1e9 * shares, areas)
    held, defined = dict.fromkeys(("overall_accuracy", *MEASURES), 0), dict.fromkeys(MEASURES, 0)
    for _ in range(replications):
        counts = np.stack([rng.multinomial(size, row) for size, row in zip(sizes, shares, strict=True)])
        found = area_adjusted_accuracy(counts, areas)
        held["overall_accuracy"] += truth.overall_accuracy in found.interval("overall_accuracy")
        for measure in MEASURES:
            for k in range(K):
                interval = found.interval(measure, k + 1)
                defined[measure] += not np.isnan(interval.low)
                held[measure] += getattr(truth, measure)[k] in interval
    return {name: n / defined.get(name, replications) for name, n in held.items()}


OLOFSSON = np.array([[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shares", "weights", "sizes"),
    [
        (OLOFSSON / OLOFSSON.sum(axis=1, keepdims=True), [0.02, 0.015, 0.32, 0.645], [75, 75, 165, 325]),
        (OLOFSSON / OLOFSSON.sum(axis=1, keepdims=True), [0.02, 0.015, 0.32, 0.645], [25, 25, 55, 108]),
        (np.full((3, 3), 0.05) + 0.85 * np.eye(3), [0.1, 0.2, 0.7], [50, 50, 50]),
        (np.full((3, 3), 0.1) + 0.7 * np.eye(3), [0.1, 0.2, 0.7], [30, 30, 30]),
        (np.full((4, 4), 0.005) + 0.98 * np.eye(4), [0.02, 0.015, 0.32, 0.645], [100] * 4),
    ],
    ids=["Olofsson", "a third of the sample", "nine of ten", "eight of ten", "nearly all"],
)
def test_intervals_hold_the_truth_as_often_as_they_say(shares, weights, sizes):
    found = coverage(np.asarray(shares), weights, sizes, 1000)
    assert all(share > 0.92 for share in found.values()), found
    assert 0.93 < np.mean(list(found.values())) < 0.985, found


def test_one_sampled_pixel_has_no_standard_error_but_an_interval():
    found = area_adjusted_accuracy([[1, 0], [3, 20]], [10, 90])
    assert np.isnan(found.overall_accuracy_se)
    assert_allclose(found.overall_accuracy, 0.1 + 0.9 * 20 / 23)
    assert [note.partition(":")[0] for note in found.notes] == ["1"]
    low, high = found.interval("overall_accuracy")
    assert 0.5 < low < found.overall_accuracy < high < 1
    assert found.to_dict()["overall_accuracy_se"] is None


def test_many_classes_are_told_in_few_lines():
    labels = np.arange(300)
    accuracy = map_accuracy(labels[:200].repeat(2), labels[:200].repeat(2), classes=labels)
    assert len(str(accuracy).splitlines()) < 60
    found = area_adjusted_accuracy(accuracy, dict(enumerate([5.0] * 200)))
    assert len(found.notes) == 2
    assert found.notes[0].startswith("200, 201, 202, 203, 204 and 95 more:")
    assert len(str(found).splitlines()) < 100


@pytest.mark.parametrize(
    ("counts", "areas", "words"),
    [
        ([[1, 2]], [1], r"got shape \(1, 2\)"),
        ([[1, 2], [3, -4]], [1, 2], "confusion|map_areas"),
        ([["a", 2], [3, 4]], [1, 2], "confusion"),
        ([[1, 2], [3, 4]], [1, 2, 3], r"map_areas.*2 map classes \(1, 2\)"),
        ([[1, 2], [3, 4]], [0, 0], "map_areas"),
        ([[1, 2], [3, 4]], [1, np.nan], "confusion|map_areas"),
        ([[0, 0], [3, 4]], [5, 5], "class 1 has area 5, but 0"),
        ([[1, 2], [3, 4]], [0, 5], "class 1 has area 0, but 3"),
        ([[1, 2], [3, 4]], {1: 5, 2: 5, 9: 5}, "map_areas has the class 9"),
    ],
)
def test_tables_that_cannot_be_are_refused(counts, areas, words):
    with pytest.raises(InputError, match=words):
        area_adjusted_accuracy(counts, areas)


def test_areas_are_drawn_with_their_intervals(olofsson):
    _, counts, areas = olofsson
    found = area_adjusted_accuracy(counts, areas)
    on_map, estimated = area_estimates(found, "ha").data
    assert_allclose(on_map.x, areas)
    assert_allclose(estimated.x, found.area)
    ends = np.array([[*found.interval("area", label)] for label in found.classes])
    assert_allclose(found.area - estimated.error_x.arrayminus, ends[:, 0])
    assert_allclose(found.area + estimated.error_x.array, ends[:, 1])


CODES = {1: "forest", 2: "water", 3: "rejected"}


@pytest.fixture
def class_map(tmp_path):
    codes = np.ones((1, 20, 30), "uint8")
    codes[0, :, 15:], codes[0, 0], codes[0, 19] = 2, 0, 3
    path = write_image(tmp_path / "map.tif", codes, nodata=0)
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, {1: (0, 128, 0, 255), 2: (0, 0, 255, 255)})
    return path, codes[0]


def test_a_map_is_held_against_reference_areas(tmp_path, class_map):
    path, codes = class_map
    shapes = [square(0, 0, 10), square(12, 5, 6), square(16, 16, 4)]
    areas = write_shapes(tmp_path / "truth.gpkg", shapes, ["forest", "water", "water"])
    found = assess_map(path, areas, names=CODES, others=("rejected",))
    forest, water, late = codes[1:10, :10], codes[5:11, 12:18], codes[16:20, 16:20]
    expected = [
        [(forest == 1).sum(), 0, 0],
        [(water == 1).sum(), (water == 2).sum() + (late == 2).sum(), (late == 3).sum()],
    ]
    assert_array_equal(found.accuracy.confusion.counts, expected)
    assert found.accuracy.confusion.predictions.tolist() == ["forest", "water", "rejected"]
    assert found.map_pixels == {"forest": 18 * 15, "water": 18 * 15, "rejected": 30}
    assert_allclose(list(found.hectares.values()), [2.7, 2.7, 0.3], rtol=2e-3)  # the scale of UTM is 0.9996 there
    assert [finding.kind for finding in found.findings] == ["nodata"]
    with pytest.raises(InputError, match="draw_design"):
        found.area_adjusted()


def test_maps_of_other_programs_have_their_codes_as_classes(tmp_path):
    codes = np.array([[[1, 2], [np.nan, 2]]], dtype="float32")
    path = write_image(tmp_path / "map.tif", codes, nodata=np.nan)
    for text in ("forest, water", "[1, 2]", '{"a": "forest"}', "{}"):
        with rasterio.open(path, "r+") as file:
            file.update_tags(CLASSES=text, REJECTED="none")
        assert map_legend(path).names == {1: 1, 2: 2}


def test_class_pixels_are_counted_window_by_window(tmp_path):
    codes = np.random.default_rng(0).integers(0, 5, (1, 600, 700)).astype("uint8")
    path = write_image(tmp_path / "map.tif", codes, nodata=0, tiled=True, blockxsize=64, blockysize=64)
    assert class_pixels(path, n_jobs=2) == {code: (codes == code).sum() for code in range(1, 5)}


def test_points_are_a_sample_and_training_areas_are_none(tmp_path, class_map):
    path, _ = class_map
    places = [shapely.Point(500_005 + 100 * i, NORTH - 105) for i in range(3)]
    points = write_shapes(tmp_path / "points.gpkg", places, ["forest", "forest", "water"])
    found = assess_map(path, points, names=CODES, others=("rejected",))
    assert found.not_a_sample == ""
    digest = hashlib.sha256(points.read_bytes()).hexdigest()
    other = write_shapes(tmp_path / "other.gpkg", places, ["forest", "forest", "water"], layer="others")
    for training, refused, allowed in (
        ({"areas": "elsewhere.gpkg", "areas_sha256": digest}, points, other),
        ({"areas": "points.gpkg"}, points, other),
    ):
        with rasterio.open(path, "r+") as file:
            file.update_tags(TRAINING=json.dumps(training))
        told = assess_map(path, refused, names=CODES)
        assert [finding.kind for finding in told.findings] == ["training-areas"]
        with pytest.raises(InputError, match="training areas"):
            told.area_adjusted()
        assert assess_map(path, allowed, names=CODES).findings == ()


def test_a_truth_that_covers_the_map_is_counted(tmp_path, class_map):
    """Window by window, it gives what the pixels give one by one; a part of it is no sample."""
    path, codes = class_map
    rng, named = np.random.default_rng(0), {1: "forest", 2: "water"}
    truth = np.where(codes > 0, rng.integers(1, 3, codes.shape), 0).astype("uint8")
    whole = write_image(tmp_path / "truth.tif", truth[None], nodata=0, tiled=True, blockxsize=16, blockysize=16)
    found = assess_map(path, open_areas(whole, names=named), names=CODES, others=("rejected",))
    rows = [[np.sum((truth == t) & (codes == c)) for c in (1, 2, 3)] for t in (1, 2)]
    assert_array_equal(found.accuracy.confusion.counts, rows)
    assert found.accuracy.confusion.counts.dtype == np.int64
    shares = np.array([np.mean(truth[truth > 0] == k) for k in (1, 2)])
    assert_allclose(found.area_adjusted().area, sum(found.hectares.values()) * shares, rtol=2e-3)
    part = truth.copy()
    part[:, 20:] = 0
    some = write_image(tmp_path / "part.tif", part[None], nodata=0)
    assert assess_map(path, open_areas(some, names=named), names=CODES).not_a_sample
    spots = np.zeros_like(truth)
    spots[2::4, ::4] = truth[2::4, ::4]
    lone = write_image(tmp_path / "spots.tif", spots[None], nodata=0)
    assert assess_map(path, open_areas(lone, names=named), names=CODES).not_a_sample == ""


def test_reference_classes_may_differ_in_case_and_spaces(tmp_path, class_map):
    path, _ = class_map
    shapes = [square(0, 1, 5), square(20, 1, 5)]
    found = assess_map(path, write_shapes(tmp_path / "truth.gpkg", shapes, ["Forest", "WATER "]), names=CODES)
    assert found.accuracy.classes.tolist() == ["forest", "water"]


def grid_of(crs, x, y, size, shape=(40, 50)):
    """An image in a coordinate system, whose upper left corner lies at a place."""
    return {"crs": crs, "transform": rasterio.Affine(size, 0, x, 0, -size, y)}, np.ones((1, *shape), "uint8")


@pytest.mark.parametrize(
    ("crs", "x", "y", "expected"),
    [
        ("EPSG:6933", 500_000, 6_000_000, 1.0),  # equal-area systems by PROJ, of WGS 84 and of GRS 80
        ("EPSG:6933", -17_300_000, -100_000, 1.0),
        ("EPSG:3035", 4_000_000, 3_000_000, 1.0),
        ("EPSG:5070", 0, 1_500_000, 1.0),
        ("EPSG:32633", 500_000, 5_000_000, 0.9996**-2),
        ("EPSG:3857", 0, 8_399_737.9, 0.25 * 1.005),  # 60 degrees north: a quarter, and the ellipsoid
    ],
)
def test_pixels_have_their_area_on_the_ellipsoid(tmp_path, crs, x, y, expected):
    form, values = grid_of(crs, x, y, 100.0)
    with open_image(write_image(tmp_path / "image.tif", values, **form)) as image:
        areas = pixel_areas(image).of_window(next(image.windows()))
    assert areas.shape == image.shape
    assert_allclose(areas, expected, rtol=2e-3 if crs == "EPSG:3857" else 1e-5)


def test_pixels_in_degrees_cover_the_earth(tmp_path):
    """The area of WGS 84 is 510,065,622 km2; what a map in degrees shows at 60 N is half as large as at the equator."""
    form, values = grid_of("EPSG:4326", -180, 90, 0.25, (720, 1440))
    path = write_image(tmp_path / "earth.tif", np.where(np.arange(720)[:, None] < 360, 1, 2) * values, **form)
    with open_image(path) as image:
        areas = pixel_areas(image)
        assert_allclose(sum(areas.of_window(window).sum() for window in image.windows()) / 100, 510_065_622, rtol=1e-5)
        by_row = areas.of_window(Window(700, 0, 1, 720))[:, 0]
        pixels, hectares = class_extents(image)
    assert_allclose(by_row[120] / by_row[359], 0.5, rtol=0.02)
    assert pixels == {1: 360 * 1440, 2: 360 * 1440}
    assert_allclose([hectares[1], hectares[2]], 255_032_811 * 100, rtol=1e-5)


def test_strata_of_a_map_in_degrees_weigh_by_area(tmp_path):
    """Two classes with as many pixels, one near the equator, one at 80 degrees north."""
    codes = np.repeat([2, 1], 20)[:, None] * np.ones((1, 40, 30), "uint8")
    form = {"crs": "EPSG:4326", "transform": rasterio.Affine(1, 0, 0, 0, -2, 80)}
    path = write_image(tmp_path / "map.tif", codes.astype("uint8"), **form)
    places = [shapely.Point(i + 0.5, y) for i in range(20) for y in (79, 1)]
    labels = [2 if i % 2 == 0 and i < 20 else 1 for i in range(40)]
    found = assess_map(path, write_shapes(tmp_path / "points.gpkg", places, labels, "EPSG:4326")).area_adjusted()
    weight = found.map_areas / found.map_areas.sum()
    assert weight[0] > 0.6
    assert_allclose(found.overall_accuracy, weight[0] + 0.5 * weight[1])


def test_hectares_without_a_place_on_the_earth(tmp_path):
    local = 'LOCAL_CS["mine",UNIT["metre",1]]'
    for crs in (None, local):
        path = write_image(tmp_path / "image.tif", np.ones((1, 2, 2), "uint8"), crs=crs)
        with open_image(path) as image:
            assert pixel_areas(image) is None
    with open_image(write_image(tmp_path / "feet.tif", np.ones((1, 2, 2), "uint8"), crs="EPSG:2264")) as image:
        own = pixel_areas(image).of_window(next(image.windows()))
    assert own.shape == (2, 2)


def test_maps_and_references_that_do_not_meet_are_refused(tmp_path, class_map):
    path, _ = class_map
    other = write_shapes(tmp_path / "other.gpkg", [square(2, 2)], ["Trees"])
    with pytest.raises(LabelError, match=r"'Trees'.*'forest'"):
        assess_map(path, other, names=CODES)
    with pytest.raises(LabelError, match=r"names.* 2 "):
        assess_map(path, write_shapes(tmp_path / "water.gpkg", [square(20, 2)], ["water"]), names={1: "forest"})
    top = write_shapes(tmp_path / "top.gpkg", [shapely.Point(500_015, NORTH - 5)], ["forest"])
    with pytest.raises(DegenerateDataError, match=r"'top.gpkg'"):
        assess_map(path, top, names=CODES)
    with pytest.raises(InputError, match=r"'two.tif' has 2"):
        assess_map(write_image(tmp_path / "two.tif", np.ones((2, 20, 30), "uint8")), other)
    with pytest.raises(InputError, match=r"heights.tif.*0\.5"):
        class_pixels(write_image(tmp_path / "heights.tif", np.full((1, 20, 30), 0.5, "float32")))


def test_another_published_layout_by_its_formulas():
    """Three classes with map areas in pixels (the design of Olofsson et al. 2013), the formulas written out."""
    counts, areas = np.array([[97, 0, 3], [3, 279, 18], [2, 1, 97]]), np.array([22_353, 1_122_543, 610_228])
    n, weights = counts.sum(axis=1), areas / areas.sum()
    shares = weights[:, None] * counts / n[:, None]
    found = area_adjusted_accuracy(counts, areas)
    assert_allclose(found.area, areas.sum() * shares.sum(axis=0), rtol=1e-12)
    variance = ((weights[:, None] * shares - shares**2) / (n[:, None] - 1)).sum(axis=0)
    assert_allclose(found.area_se, areas.sum() * np.sqrt(variance), rtol=1e-12)
    users = np.diagonal(counts) / n
    assert_allclose(found.users_accuracy_se, np.sqrt(users * (1 - users) / (n - 1)), rtol=1e-12)
    producers = np.diagonal(shares) / shares.sum(axis=0)
    within = counts / n[:, None] * (1 - counts / n[:, None]) / (n[:, None] - 1) * areas[:, None] ** 2
    squares = [
        (1 - producers[j]) ** 2 * within[j, j] + producers[j] ** 2 * (within[:, j].sum() - within[j, j])
        for j in range(3)
    ]
    assert_allclose(found.producers_accuracy_se, np.sqrt(squares) / (areas.sum() * shares.sum(axis=0)), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6])
def test_areas_of_any_unit_are_written_with_digits_that_tell(unit):
    found = area_adjusted_accuracy([[40, 10], [5, 45]], [300 * unit, 700 * unit], ["forest", "water"])
    plain = area_adjusted_accuracy([[40, 10], [5, 45]], [300, 700], ["forest", "water"])
    assert_allclose(found.area_se, unit * plain.area_se, rtol=1e-12)
    assert_allclose(found.producers_accuracy_se, plain.producers_accuracy_se, rtol=1e-12)
    area, low, _, high = found.written[0][3].replace(",", "").replace("(", "").replace(")", "").split()
    assert float(area) == pytest.approx(310 * unit, rel=1e-3)
    assert [float(low), float(high)] == pytest.approx([*found.interval("area", "forest")], rel=2e-3)


@pytest.mark.parametrize(
    ("confusion", "areas", "classes", "words"),
    [
        ([[5, 1], [1, 5]], [1, 2], ["a", "a"], "classes, got 'a'"),
        (pd.DataFrame([[5, 1], [1, 5]], index=["a", "a"], columns=["a", "b"]), {"a": 1}, None, "index.*'a'"),
        (pd.DataFrame([[5, 1], [1, 5]], index=["a", "b"], columns=["b", "b"]), {"a": 1}, None, "columns, got 'b'"),
        (pd.DataFrame([[5, 1], [1, 5]], index=["a", "b"], columns=["a", "b"]), [1, 2], ["x", "y"], "pandas DataFrame"),
        (pl.DataFrame({"a": [5, 1], "b": [1, 5]}), [1, 2], None, "pandas DataFrame"),
        ([[5, 1], [1, 5]], ["much", "more"], None, "map_areas"),
        ([[5, 1], [1, 5]], {1: "much", 2: 3}, None, "map_areas"),
    ],
    ids=["twice", "twice in rows", "twice in columns", "named twice over", "no rows", "words", "words by class"],
)
def test_tables_that_do_not_say_what_is_what_are_refused(confusion, areas, classes, words):
    with pytest.raises(InputError, match=words):
        area_adjusted_accuracy(confusion, areas, classes)


@pytest.mark.parametrize("mapped_as_text", [False, True])
def test_numbers_and_their_text_mean_one_class(tmp_path, mapped_as_text):
    """A field that is filled in by hand holds text, whatever the classes of the map are."""
    codes = np.repeat(np.array([[1, 1, 2, 2]], dtype="uint8"), 4, axis=0)[None]
    names = {1: "10", 2: "20"} if mapped_as_text else {1: 10, 2: 20}
    truth = np.array([10, 20, 20, 20, 30])
    reference = write_shapes(
        tmp_path / "truth.gpkg",
        [square(*place, 1) for place in ((0, 1), (1, 1), (2, 1), (3, 2), (3, 3))],
        truth if mapped_as_text else [str(label) for label in truth],
    )
    class_map = write_image(tmp_path / "map.tif", codes)
    found = assess_map(class_map, open_areas(reference), names=names).accuracy
    assert found.confusion.counts[:2, :2].tolist() == [[1, 0], [1, 2]]
    assert [str(label) for label in found.classes][:2] == ["10", "20"]
    assert_allclose(found.users_accuracy[:2], [1 / 2, 2 / 3])
