"""ROC and precision-recall curves: against scikit-learn, brute force over all pairs, and laws."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from discriminant.errors import DegenerateDataError, DtypeError, InputError, LabelError, ParameterError
from discriminant.evaluation import ClassCurves, compare_auc, precision_recall, roc


def scored(n=200, seed=0, digits=1, share=0.4):
    """Rows with many tied scores, and weights that are small whole numbers."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y[:4] = [0, 0, 1, 1]
    return y, np.round(y + rng.normal(size=n), digits), rng.integers(0, 4, n).astype(float)


def pairs(y, score):
    """For every positive row (first axis) and negative row, whether they are in order; ties half."""
    positive, negative = score[y == 1][:, None], score[y == 0][None]
    return (positive > negative) + 0.5 * (positive == negative)


def delong_covariance(y, scores):
    """DeLong's covariance of AUCs from all pairs."""
    tables = [pairs(y, score) for score in scores]
    of_positive = np.cov([table.mean(axis=1) for table in tables])
    of_negative = np.cov([table.mean(axis=0) for table in tables])
    return of_positive / (y == 1).sum() + of_negative / (y == 0).sum()


def joint_score(n=300, K=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    scores = np.round(rng.normal(size=(n, K)) + 1.2 * (y[:, None] == np.arange(K)), 1)
    return y, scores, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_roc_curve_is_scikit_learns_to_the_last_bit(digits, dtype):
    y, score, _ = scored(digits=digits)
    score = score.astype(dtype)
    curve = roc(y, score)
    fpr, tpr, thresholds = metrics.roc_curve(y, score, drop_intermediate=False)
    np.testing.assert_array_equal(curve.fpr, fpr)
    np.testing.assert_array_equal(curve.tpr, tpr)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    assert curve.ranked.values.dtype == dtype


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_the_precision_recall_curve_is_scikit_learns(digits):
    y, score, _ = scored(digits=digits)
    curve = precision_recall(y, score)
    precision, recall, thresholds = (values[::-1] for values in metrics.precision_recall_curve(y, score))
    np.testing.assert_array_equal(curve.precision, precision)
    np.testing.assert_array_equal(curve.recall, recall)
    np.testing.assert_array_equal(curve.thresholds, [np.inf, *thresholds])
    np.testing.assert_allclose(curve.average_precision, metrics.average_precision_score(y, score), rtol=1e-12)


def test_weighted_curves_are_scikit_learns():
    y, score, weight = scored(seed=3)
    weight = weight + 0.3
    curve = roc(y, score, sample_weight=weight)
    fpr, tpr, _ = metrics.roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_allclose(curve.fpr, fpr, atol=1e-12)
    np.testing.assert_allclose(curve.tpr, tpr, atol=1e-12)
    np.testing.assert_allclose(curve.auc, metrics.roc_auc_score(y, score, sample_weight=weight), rtol=1e-12)
    expected = metrics.average_precision_score(y, score, sample_weight=weight)
    np.testing.assert_allclose(precision_recall(y, score, sample_weight=weight).average_precision, expected, rtol=1e-12)


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_auc_and_its_variance_are_those_of_all_pairs(digits):
    y, score, _ = scored(digits=digits, seed=1)
    curve = roc(y, score)
    np.testing.assert_allclose(curve.auc, pairs(y, score).mean(), rtol=1e-12)
    np.testing.assert_allclose(curve.auc, metrics.roc_auc_score(y, score), rtol=1e-12)
    np.testing.assert_allclose(curve.auc_variance, delong_covariance(y, [score]), rtol=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.integers(-2, 2)), min_size=2, max_size=10))
def test_auc_counts_pairs(rows):
    y, score = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    curve = roc(y, score, positive=1.0, classes=[0.0, 1.0])
    if y.any() and not y.all():
        np.testing.assert_allclose(curve.auc, pairs(y, score).mean(), rtol=1e-12)
        assert curve.undefined == ""
    else:
        assert np.isnan(curve.auc)
        assert "class 1.0" in curve.undefined
        assert "class 1.0" in curve.auc_interval().method
        assert np.isnan(curve.best_threshold().threshold)


def test_weights_are_repeated_rows():
    y, score, weight = scored()
    times = weight.astype(int)
    weighted = roc(y, score, sample_weight=weight)
    repeated = roc(np.repeat(y, times), np.repeat(score, times))
    np.testing.assert_allclose(weighted.auc_variance, repeated.auc_variance, rtol=1e-12)
    np.testing.assert_allclose([*weighted.auc_interval()], [*repeated.auc_interval()], rtol=1e-12)
    variances = [curve.average_precision_variance for curve in (weighted, repeated)]
    np.testing.assert_allclose(variances[0], variances[1], rtol=1e-12)
    y, scores, weight = joint_score()
    times = weight.astype(int)
    weighted, repeated = (
        roc(y, scores, sample_weight=weight),
        roc(np.repeat(y, times), np.repeat(scores, times, axis=0)),
    )
    np.testing.assert_allclose([*weighted.auc_interval()], [*repeated.auc_interval()], rtol=1e-12)
    np.testing.assert_allclose([*weighted.micro.auc_interval()], [*repeated.micro.auc_interval()], rtol=1e-9)
    a = compare_auc(y == 1, scores[:, 1], -scores[:, 2], sample_weight=weight)
    b = compare_auc(np.repeat(y == 1, times), np.repeat(scores[:, 1], times), -np.repeat(scores[:, 2], times))
    np.testing.assert_allclose([*a.interval()], [*b.interval()], rtol=1e-12)


def test_auc_depends_on_the_order_of_scores_alone():
    y, score, _ = scored()
    curve = roc(y, score)
    moved, turned = roc(y, np.exp(score)), roc(y, -score)
    assert moved.auc == curve.auc
    assert moved.auc_variance == curve.auc_variance
    np.testing.assert_allclose(turned.auc, 1 - curve.auc, rtol=1e-12)
    np.testing.assert_allclose(roc(y, -score, positive=0).auc, curve.auc, rtol=1e-12)
    order = np.random.default_rng(0).permutation(len(y))
    assert roc(y[order], score[order]).auc_variance == curve.auc_variance


def test_two_columns_are_read_like_one():
    y, score, _ = scored()
    both = np.column_stack((-score, score))
    assert roc(y, both).auc == roc(y, score).auc
    assert roc(y, both, positive=0).auc == roc(y, -score, positive=0).auc


@pytest.mark.parametrize("max_fpr", [0.05, 0.2, 0.77, 1.0])
def test_partial_areas_are_scikit_learns(max_fpr):
    y, score, _ = scored(seed=5)
    expected = metrics.roc_auc_score(y, score, max_fpr=max_fpr)
    found = roc(y, score).partial_auc(max_fpr, standardised=True)
    # scikit-learn does not standardise the whole area.
    np.testing.assert_allclose(found if max_fpr < 1 else roc(y, score).partial_auc(1.0), expected, rtol=1e-12)


def test_partial_areas_add_up():
    y, score, _ = scored(seed=6)
    curve = roc(y, score)
    ends = sorted([0, 0.1, float(curve.fpr[30]), 0.5, 0.731, 1])
    parts = [curve.partial_auc(fpr_range=(a, b)) for a, b in pairwise(ends)]
    np.testing.assert_allclose(sum(parts), curve.auc, rtol=1e-12)
    with pytest.raises(ParameterError, match="max_fpr and fpr_range"):
        curve.partial_auc()
    with pytest.raises(ParameterError, match="max_fpr"):
        curve.partial_auc(1.5)


def test_the_interval_of_a_perfect_auc_has_a_width():
    found = roc([0] * 20 + [1] * 10, np.arange(30.0)).auc_interval()
    assert found.high == 1.0
    assert 0.75 < found.low < 0.95
    assert "Newcombe" in found.method
    lower = roc([0] * 20 + [1] * 10, -np.arange(30.0)).auc_interval()
    np.testing.assert_allclose([lower.low, lower.high], [0, 1 - found.low], atol=1e-9)


def test_the_linear_interval_is_delongs():
    y, score, _ = scored()
    curve = roc(y, score)
    reach = 1.959963984540054 * np.sqrt(delong_covariance(y, [score]))
    expected = [curve.auc - reach, curve.auc + reach]
    np.testing.assert_allclose([*curve.auc_interval(scale="linear")], expected, rtol=1e-12)
    low, high = curve.auc_interval()
    assert 0 < low < curve.auc < high < 1


def test_the_variance_of_average_precision_is_that_of_its_derivatives():
    y, score, _ = scored(n=60, seed=2)
    n, step = len(y), 1e-5
    moved = [
        [metrics.average_precision_score(y, score, sample_weight=1 + sign * step * np.eye(n)[i]) for sign in (1, -1)]
        for i in range(n)
    ]
    derivatives = np.subtract(*np.transpose(moved)) / (2 * step)
    expected = n / (n - 1) * np.square(derivatives).sum()
    np.testing.assert_allclose(precision_recall(y, score).average_precision_variance, expected, rtol=1e-6)


def test_comparison_is_delongs_test():
    y, first, _ = scored(seed=7)
    second = np.round(first + np.random.default_rng(1).normal(size=len(y)), 1)
    found = compare_auc(y, first, second)
    covariance = delong_covariance(y, [first, second])
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    np.testing.assert_allclose(found.standard_error**2, variance, rtol=1e-12)
    np.testing.assert_allclose(found.difference, roc(y, first).auc - roc(y, second).auc, rtol=1e-12)
    np.testing.assert_allclose(found.z, found.difference / np.sqrt(variance), rtol=1e-12)
    reverse = compare_auc(y, second, first)
    np.testing.assert_allclose([reverse.difference, reverse.p_value], [-found.difference, found.p_value], rtol=1e-12)
    assert compare_auc(y, first, 2 * first).p_value == 1.0


def test_curves_of_classes_are_those_against_the_rest():
    y, scores, weight = joint_score()
    names = np.array(["x", "y", "z"])
    curves = roc(names[y], scores, sample_weight=weight)
    assert isinstance(curves, ClassCurves)
    assert list(curves) == ["x", "y", "z"]
    for k, label in enumerate(names):
        np.testing.assert_allclose(curves[label].auc, roc(y == k, scores[:, k], sample_weight=weight).auc, rtol=1e-12)
    np.testing.assert_allclose(curves.auc, np.mean([curve.auc for curve in curves.values()]), rtol=1e-12)
    flat = (y[:, None] == np.arange(3)).ravel()
    expected = metrics.roc_auc_score(flat, scores.ravel(), sample_weight=np.repeat(weight, 3))
    np.testing.assert_allclose(curves.micro.auc, expected, rtol=1e-12)
    with pytest.raises(LabelError, match="'w'"):
        curves["w"]


def test_the_mean_auc_is_scikit_learns():
    y, scores, _ = joint_score()
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(roc(y, p).auc, metrics.roc_auc_score(y, p, multi_class="ovr"), rtol=1e-12)
    found = precision_recall(y, p)
    assert isinstance(found, ClassCurves)
    one_hot = y[:, None] == np.arange(3)
    np.testing.assert_allclose(found.average_precision, metrics.average_precision_score(one_hot, p), rtol=1e-12)
    expected = metrics.average_precision_score(one_hot, p, average="micro")
    np.testing.assert_allclose(found.micro.average_precision, expected, rtol=1e-12)


def test_the_mean_auc_of_two_opposite_columns_varies_like_one_of_them():
    y, score, _ = scored()
    columns = np.column_stack((-score, score, np.where(y == 2, 1.0, 0.0)))
    rows = np.append(y, [2, 2, 2])
    scores = np.vstack((columns, [[-9, -9, 9]] * 3))
    curves = roc(rows, scores)
    expected = (np.sqrt(curves[0].auc_variance) + np.sqrt(curves[1].auc_variance)) / 3
    np.testing.assert_allclose(np.sqrt(curves.variances.auc), expected, rtol=0.05)


def test_clusters_of_one_row_are_rows():
    y, score, _ = scored()
    own = roc(y, score, groups=np.arange(len(y)))
    np.testing.assert_allclose(own.auc_variance, roc(y, score).auc_variance, rtol=1e-12)
    n = len(y)
    expected = precision_recall(y, score).average_precision_variance
    np.testing.assert_allclose(own.average_precision_variance, expected, rtol=1e-9)
    assert f"{n} clusters" in own.auc_interval().method


def test_copies_of_rows_in_a_cluster_add_nothing():
    y, score, _ = scored()
    groups = np.arange(len(y))
    single = roc(y, score, groups=groups)
    tripled = roc(np.tile(y, 3), np.tile(score, 3), groups=np.tile(groups, 3))
    weighted = roc(y, score, sample_weight=np.full(len(y), 3.0), groups=groups)
    np.testing.assert_allclose(tripled.auc_variance, single.auc_variance, rtol=1e-12)
    np.testing.assert_allclose(weighted.auc_variance, single.auc_variance, rtol=1e-12)
    compared = [
        compare_auc(np.tile(y, times), np.tile(score, times), -np.tile(score, times), groups=np.tile(groups, times))
        for times in (1, 3)
    ]
    np.testing.assert_allclose(compared[0].standard_error, compared[1].standard_error, rtol=1e-12)


@pytest.mark.parametrize(("cost_fp", "cost_fn", "prior"), [(1, 1, None), (5, 1, None), (1, 3, 0.1)])
def test_the_best_threshold_is_found_by_trying_all(cost_fp, cost_fn, prior):
    y, score, _ = scored(seed=8)
    found = roc(y, score).best_threshold(cost_fp, cost_fn, prior)
    share = y.mean() if prior is None else prior
    tried = {}
    for threshold in np.append(np.inf, np.unique(score)):
        called = score >= threshold
        miss, alarm = 1 - called[y == 1].mean(), called[y == 0].mean()
        tried[threshold] = share * cost_fn * miss + (1 - share) * cost_fp * alarm
    np.testing.assert_allclose(found.cost, min(tried.values()), rtol=1e-12)
    np.testing.assert_allclose(tried[found.threshold], found.cost, rtol=1e-12)
    np.testing.assert_allclose(found.tpr, (score >= found.threshold)[y == 1].mean(), rtol=1e-12)
    assert found.interval.low <= found.threshold <= found.interval.high
    table = [[0, cost_fp], [cost_fn, 0]]
    assert roc(y, score).best_threshold(costs=table, prior=prior) == found


def test_false_alarms_that_cost_too_much_call_nothing_positive():
    y, score, _ = scored()
    score[np.argmin(y)] = 9
    found = roc(y, score).best_threshold(cost_fp=1e6, cost_fn=1e-6)
    assert found.threshold == np.inf
    assert found.fpr == 0


def test_the_interval_of_a_threshold_is_that_of_many_rows_too():
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 2
    found = roc(y, y + rng.normal(size=len(y))).best_threshold()
    assert found.interval.low < 0.5 < found.interval.high
    assert found.interval.high - found.interval.low < 0.3


@pytest.mark.parametrize(
    ("y", "score", "options", "error", "words"),
    [
        ([0, 1], [0.1, np.nan], {}, InputError, "score contains NaN: row 1"),
        ([0, 1, 2], [[0, 1, 2], [0, np.inf, 2], [0, 1, 2]], {}, InputError, "infinity: row 1, column 1"),
        ([0, 1], [0.1], {}, InputError, "y has 2, score has 1"),
        ([0, 1], ["a", "b"], {}, DtypeError, "must be numbers"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, LabelError, "3 class"),
        ([1, 1], [0.1, 0.2], {}, LabelError, "1 class"),
        ([0, 1], [0.1, 0.2], {"positive": 2}, LabelError, "positive=2"),
        ([0, 1, 2], [[0, 1], [0, 1], [0, 1]], {}, InputError, "2 columns, expected 3"),
        ([0, 1], [0.1, 0.2], {"groups": [1]}, InputError, "groups has 1 values, expected 2"),
        ([0, 1], [0.1, 0.2], {"groups": ["x", "x"]}, DegenerateDataError, "one group, 'x'"),
        ([0, 3], [0.1, 0.2], {"classes": [0, 1]}, LabelError, "y has the label 3"),
    ],
)
def test_bad_input_is_named(y, score, options, error, words):
    with pytest.raises(error, match=words):
        roc(y, score, **options)


def test_bad_costs_and_levels_are_named():
    curve = roc([0, 1, 0, 1], [1, 2, 3, 4])
    with pytest.raises(ParameterError, match="costs"):
        curve.best_threshold(costs=[1, 2])
    with pytest.raises(ParameterError, match="prior"):
        curve.best_threshold(prior=2)
    for level in (0, 1, 95):
        with pytest.raises(ParameterError, match="level"):
            curve.auc_interval(level)
    with pytest.raises(ParameterError, match="scale"):
        curve.auc_interval(scale="probit")


def test_curves_become_frames():
    curve = roc([0, 1, 0, 1], [1, 2, 3, 4])
    assert list(curve.to_frame().columns) == ["threshold", "fpr", "tpr", "precision"]
    assert "AUC 0.7500" in repr(curve)
    assert "average precision" in repr(curve)


@pytest.mark.parametrize("seed", range(20))
def test_weights_do_not_round_a_perfect_order(seed):
    """Sums of weights are rounded, and a perfect AUC of 0.9999999999999998 would have an interval of no width."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    y, weight = np.repeat([0, 1], n), rng.uniform(0.1, 3, 2 * n)
    score = rng.uniform(size=2 * n) + 2 * y
    for sign, perfect in ((1, 1.0), (-1, 0.0)):
        curve = roc(y, sign * score, sample_weight=weight)
        assert curve.auc == perfect
        low, high = curve.auc_interval()
        assert 0.01 < high - low < 0.95
        assert perfect in curve.auc_interval()


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_of_weight_zero_are_not_there(grouped):
    y, score, _ = scored()
    rng = np.random.default_rng(5)
    score = np.where(rng.random(len(y)) < 0.2, score + 10, score)  # some of the highest scores have no weight at all
    weight = np.where(score > 5, 0.0, rng.uniform(0.5, 2, len(y)))
    groups, there = np.arange(len(y)) // 4, weight > 0
    both = [
        roc(y[rows], score[rows], sample_weight=weight[rows], groups=groups[rows] if grouped else None)
        for rows in (slice(None), there)
    ]
    for name in ("thresholds", "fpr", "tpr", "precision", "recall"):
        np.testing.assert_allclose(*(getattr(curve, name) for curve in both), rtol=1e-12)
    np.testing.assert_allclose(both[0].auc_variance, both[1].auc_variance, rtol=0.1 if grouped else 1e-12)
    precision, recall, _ = metrics.precision_recall_curve(y, score, sample_weight=weight)
    np.testing.assert_allclose(both[0].precision, precision[::-1], rtol=1e-12)
    np.testing.assert_allclose(both[0].recall, recall[::-1], rtol=1e-12)


def test_the_test_of_two_aucs_has_the_degrees_of_freedom_of_its_interval():
    """With few clusters the normal distribution would call a difference real that the interval does not."""
    rng = np.random.default_rng(3)
    for seed in range(10):
        y, a, _ = scored(60, seed=seed, digits=3)
        b, groups = a + rng.normal(size=60), np.arange(60) % 4
        found = compare_auc(y, a, b, groups=groups)
        at_p = found.interval(1 - found.p_value)
        assert min(abs(at_p.low), abs(at_p.high)) < 1e-10


def test_the_mean_auc_of_classes_that_do_not_overlap_has_an_interval():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    found = roc(y, np.eye(3)[y])
    assert found.auc == 1.0
    ends = np.array([tuple(curve.auc_interval()) for curve in found.values()])
    np.testing.assert_allclose(tuple(found.auc_interval()), ends.mean(axis=0), rtol=1e-12)
    assert "Newcombe" in found.auc_interval().method
    assert 0.9 < found.auc_interval().low < found.auc_interval(0.8).low < 1


def test_the_interval_of_a_threshold_draws_clusters_where_there_are_any():
    """Fifty copies of each row in its cluster do not add information: the interval must not shrink."""
    y, score, _ = scored(80, digits=3)
    alone = roc(y, score, groups=np.arange(80)).best_threshold(cost_fn=2).interval
    copies = roc(np.repeat(y, 50), np.repeat(score, 50), groups=np.repeat(np.arange(80), 50))
    found = copies.best_threshold(cost_fn=2).interval
    assert "80 clusters" in found.method
    assert tuple(found) == tuple(alone)
    as_rows = roc(np.repeat(y, 50), np.repeat(score, 50)).best_threshold(cost_fn=2).interval
    assert as_rows.high - as_rows.low < found.high - found.low


def test_the_clusters_of_a_threshold_are_those_of_every_class_and_weight():
    rng = np.random.default_rng(0)
    y, groups = np.arange(90) % 3, np.arange(90) // 3
    score, times = np.eye(3)[y] + rng.normal(size=(90, 3)), rng.integers(1, 4, 90)
    weighted = roc(y, score, groups=groups, sample_weight=times)
    repeated = roc(np.repeat(y, times), np.repeat(score, times, axis=0), groups=np.repeat(groups, times))
    for label in range(3):
        one, other = (curve[label].best_threshold(cost_fp=3) for curve in (weighted, repeated))
        np.testing.assert_allclose(tuple(one.interval), tuple(other.interval), rtol=1e-12)
        assert "30 clusters" in one.interval.method


@pytest.mark.parametrize(
    "costs",
    [
        {"ill": {"well": 20}, "well": {"ill": 1}},
        {("well", "ill"): 1, ("ill", "well"): 20},
        pd.DataFrame([[0, 20], [1, 0]], index=["ill", "well"], columns=["ill", "well"]),
        pl.DataFrame({"truth": ["well", "ill"], "ill": [1, 0], "well": [0, 20]}),
    ],
    ids=["dict", "pairs", "pandas", "polars"],
)
def test_costs_of_a_threshold_may_be_named(costs):
    y, score, _ = scored()
    names = np.where(y == 1, "ill", "well")
    curve = roc(names, score, positive="ill")
    assert curve.best_threshold(costs=costs) == curve.best_threshold(cost_fp=1, cost_fn=20)
    turned = roc(names, -score, positive="well")
    assert turned.best_threshold(costs=costs) == turned.best_threshold(cost_fp=20, cost_fn=1)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({"a": {"b": 1}, "b": {"a": 1}}, "the curve is of class 1"),
        ({0: {1: 1}, 1: {0: 1}, 2: {0: 1, 1: 1}}, "four numbers"),
        ({1: {"treat": 0, "wait": 5}, 0: {"treat": 1, "wait": 0}}, "decides between the classes"),
        ({0: 1}, "four numbers"),
        ([[0, 1], ["x", 0]], "must be numbers"),
    ],
    ids=["classes", "three", "actions", "form", "text"],
)
def test_named_costs_that_do_not_fit_a_threshold_are_refused(costs, words):
    with pytest.raises(ParameterError, match=words):
        roc([0, 1, 0, 1], [1, 2, 3, 4]).best_threshold(costs=costs)


def test_the_rating_data_of_hanley_and_mcneil():
    """Radiology 143 (1982), table I: 58 normal and 51 abnormal images rated 1 to 5; area 0.893, standard error 0.032.

    Theirs is the variance of U itself; DeLong's estimate is the sample variance of placements, and a little smaller.
    """
    y = np.repeat([0, 1], [58, 51])
    rating = np.concatenate(
        (np.repeat(np.arange(1, 6), [33, 6, 6, 11, 2]), np.repeat(np.arange(1, 6), [3, 2, 2, 11, 33]))
    )
    found = roc(y, rating)
    assert round(found.auc, 3) == 0.893
    assert 0.030 < np.sqrt(found.auc_variance) < 0.032
    np.testing.assert_allclose(found.auc_variance, delong_covariance(y, [rating]), rtol=1e-12)
