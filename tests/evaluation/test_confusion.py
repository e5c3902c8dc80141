"""The confusion matrix and its rates: against scikit-learn, against definitions, and where they are undefined."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from discriminant.errors import InputError, LabelError, ParameterError, WeightError
from discriminant.evaluation import ConfusionMatrix

LABELS = {
    "integers": np.array([0, 1, 2, 3]),
    "small range": np.array([-7, -3, 12, 13]),
    "far apart": np.array([-5, 0, 1 << 40, 1 << 41]),
    "text": np.array(["bird", "cat", "dog", "eel"]),
    "objects": np.array(["bird", "cat", "dog", "eel"], dtype=object),
    "unsigned": np.array([0, 3, 200, 255], dtype=np.uint8),
}


def labelled(n=300, K=4, seed=0, names=None):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    predicted = np.where(rng.random(n) < 0.6, y, rng.integers(0, K, n))
    names = np.arange(K) if names is None else names
    return names[y], names[predicted], rng.integers(0, 5, n).astype(float) + rng.integers(0, 2, n) / 4


def quietly(function, *arguments, **options):
    """scikit-learn's answer without its warnings of undefined measures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_scikit_learns(kind, weighted):
    y, predicted, weight = labelled(names=LABELS[kind])
    weight = weight if weighted else None
    found = ConfusionMatrix.of(y, predicted, sample_weight=weight)
    np.testing.assert_array_equal(found.counts, metrics.confusion_matrix(y, predicted, sample_weight=weight))
    assert found.classes.tolist() == np.unique(y).tolist()
    assert found.counts.dtype == (np.float64 if weighted else np.int64)


def test_booleans_stay_booleans():
    found = ConfusionMatrix.of(np.array([True, False, True]), np.array([True, True, True]))
    assert found.classes.tolist() == [False, True]
    assert found.counts.tolist() == [[0, 1], [0, 2]]


def test_many_rows_are_counted_on_threads_alike():
    y, predicted, _ = labelled(n=1_000_003, K=7)
    np.testing.assert_array_equal(
        ConfusionMatrix.of(y, predicted).counts, np.bincount(y * 7 + predicted, minlength=49).reshape(7, 7)
    )


@pytest.mark.parametrize("column", [list, pd.Series, pl.Series, lambda v: np.asarray(v)[:, None]])
def test_labels_may_come_in_any_column(column):
    y, predicted, _ = labelled(names=LABELS["text"])
    assert ConfusionMatrix.of(column(y.tolist()), column(predicted.tolist())) == ConfusionMatrix.of(y, predicted)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_are_scikit_learns(seed, weighted):
    y, predicted, weight = labelled(K=2 + seed, seed=seed)
    weight = weight if weighted else None
    found = ConfusionMatrix.of(y, predicted, sample_weight=weight)
    own = {"sample_weight": weight}
    for average in (None, "macro", "micro", "weighted"):
        for metric, score in (
            ("recall", metrics.recall_score),
            ("precision", metrics.precision_score),
            ("f1", metrics.f1_score),
            ("jaccard", metrics.jaccard_score),
        ):
            expected = score(y, predicted, average=average, **own)
            actual = found.rate(metric) if average is None else found.average(metric, average)
            np.testing.assert_allclose(actual, expected, rtol=1e-12)
    for m in (0.0, 0.25, 4.0):
        expected = metrics.fbeta_score(y, predicted, beta=np.sqrt(m), average=None, **own)
        np.testing.assert_allclose(found.f(m), expected, rtol=1e-12)
    for actual, score in (
        (found.accuracy, metrics.accuracy_score),
        (1 - found.error_rate, metrics.accuracy_score),
        (found.balanced_accuracy(), metrics.balanced_accuracy_score),
        (found.kappa, metrics.cohen_kappa_score),
        (found.mcc, metrics.matthews_corrcoef),
    ):
        np.testing.assert_allclose(actual, score(y, predicted, **own), rtol=1e-12)


def test_rates_of_a_class_against_the_rest():
    y, predicted, weight = labelled()
    found = ConfusionMatrix.of(y, predicted, sample_weight=weight)
    for k in range(4):
        (tn, fp), (fn, tp) = metrics.confusion_matrix(y == k, predicted == k, sample_weight=weight)
        np.testing.assert_allclose([found.tp[k], found.fn[k], found.fp[k], found.tn[k]], [tp, fn, fp, tn])
        expected = [tn / (tn + fp), fn / (fn + tp), fp / (fp + tn), tn / (tn + fn)]
        actual = [found.specificity[k], found.fnr[k], found.fpr[k], found.npv[k]]
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
    np.testing.assert_array_equal(found.recall, found.sensitivity)
    np.testing.assert_array_equal(found.recall, found.producers_accuracy)
    np.testing.assert_array_equal(found.precision, found.users_accuracy)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_degenerate_tables_agree_with_scikit_learn_where_defined(pairs):
    y, predicted = map(np.array, zip(*pairs, strict=True))
    found = ConfusionMatrix.of(y, predicted, classes=range(4))
    for metric, score in (("recall", metrics.recall_score), ("precision", metrics.precision_score)):
        expected = quietly(score, y, predicted, labels=range(4), average=None, zero_division=np.nan)
        np.testing.assert_allclose(found.rate(metric), expected, rtol=1e-12)
        assert list(found.undefined(metric)) == np.flatnonzero(np.isnan(expected)).tolist()
        macro = quietly(score, y, predicted, labels=range(4), average="macro", zero_division=np.nan)
        np.testing.assert_allclose(found.average(metric, "macro", undefined="skip"), macro, rtol=1e-12)
        support = np.bincount(y, minlength=4) * ~np.isnan(expected)
        weighted = np.nansum(support * expected) / support.sum() if support.any() else np.nan
        np.testing.assert_allclose(found.average(metric, "weighted", undefined="skip"), weighted, rtol=1e-12)
    assert np.isnan(found.average("recall", "macro")) == bool(found.undefined("recall"))
    alone = len(set(y)) == 1 or len(set(predicted)) == 1
    assert np.isnan(found.mcc) == alone
    if not alone:
        np.testing.assert_allclose(found.mcc, metrics.matthews_corrcoef(y, predicted), rtol=1e-12, atol=1e-15)
    assert np.isnan(found.kappa) == (len(set(y) | set(predicted)) == 1)


@pytest.mark.parametrize("weight", [0.1, 0.3, 1 / 3])
def test_undefined_is_undefined_whatever_the_weights(weight):
    y, predicted = ["a"] * 7, ["a", "a", "b", "a", "b", "a", "a"]
    found = ConfusionMatrix.of(y, predicted, sample_weight=np.full(7, weight))
    assert np.isnan(found.specificity[0])
    assert np.isnan(found.fpr[0])
    assert np.isnan(found.mcc)
    assert found.kappa == pytest.approx(0, abs=1e-12)


def test_reasons_are_given():
    found = ConfusionMatrix.of(["a", "b"], ["a", "a"], classes=["a", "b", "c"])
    assert found.undefined("precision") == {
        "b": "precision of class 'b': no row was predicted 'b'",
        "c": "precision of class 'c': no row was predicted 'c'",
    }
    assert found.undefined("recall") == {"c": "recall of class 'c': no row is of class 'c'"}
    assert found.undefined("f1") == {"c": "F1 of class 'c': no row is of class 'c' or was predicted so"}
    assert "recall of class 'c'" in found.undefined("balanced_accuracy")["overall"]
    assert "same for every row" in found.undefined("mcc")["overall"]
    assert found.undefined("accuracy") == {}
    assert "no row has been counted" in ConfusionMatrix(["a", "b"]).undefined("accuracy")["overall"]


def test_abstaining_lowers_recall_and_not_precision():
    found = ConfusionMatrix.of([0, 0, 1, 1, 1], [0, "abstain", 1, "abstain", 0])
    assert found.predictions.tolist() == [0, 1, "abstain"]
    assert found.counts.tolist() == [[1, 0, 1], [1, 1, 1]]
    np.testing.assert_allclose(found.recall, [1 / 2, 1 / 3])
    np.testing.assert_allclose(found.precision, [1 / 2, 1])
    assert found.accuracy == pytest.approx(2 / 5)
    assert found.coverage == pytest.approx(3 / 5)
    assert found.selective_accuracy == pytest.approx(2 / 3)
    everything = ["0", "1", "abstain"]
    truth, chosen = ["0", "0", "1", "1", "1"], ["0", "abstain", "1", "abstain", "0"]
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(truth, chosen, labels=everything), abs=1e-12)
    assert found.mcc == pytest.approx(metrics.matthews_corrcoef(truth, chosen), abs=1e-12)


def test_other_actions_are_declared():
    found = ConfusionMatrix.of(["ill", "well"], ["treat", "wait"], classes=["ill", "well"], actions=["treat", "wait"])
    assert found.to_dict()["counts"] == [[0, 0, 1, 0], [0, 0, 0, 1]]
    with pytest.raises(LabelError, match=r"'treat'.*'ill', 'well'"):
        ConfusionMatrix.of(["ill"], ["treat"], classes=["ill", "well"])


def test_a_class_may_be_called_abstain():
    found = ConfusionMatrix.of(["abstain", "vote"], ["abstain", "abstain"])
    assert found.counts.tolist() == [[1, 0], [1, 0]]
    assert len(found.predictions) == 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("declared", [False, True])
def test_parts_merge_to_the_whole(weighted, declared):
    y, predicted, weight = labelled(names=LABELS["text"])
    weight = weight + 1 if weighted else None
    classes = LABELS["text"] if declared else None
    whole = ConfusionMatrix.of(y, predicted, classes, weight)
    updated, merged = ConfusionMatrix(classes), ConfusionMatrix(classes)
    for part in np.array_split(np.arange(300), [2, 3, 50, 299]):
        own = None if weight is None else weight[part]
        updated.update(y[part], predicted[part], own)
        merged = merged + ConfusionMatrix.of(y[part], predicted[part], classes, own)
    assert updated == merged == whole


def test_adding_leaves_the_parts_as_they_are():
    first, second = ConfusionMatrix.of(["a"], ["a"]), ConfusionMatrix.of(["b"], ["abstain"])
    total = first + second
    assert total.counts.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert first.counts.tolist() == [[1]]
    assert second.counts.tolist() == [[0, 1]]


def test_weights_are_repeated_rows():
    y, predicted, weight = labelled()
    times = weight.astype(int)
    weighted = ConfusionMatrix.of(y, predicted, sample_weight=times)
    repeated = ConfusionMatrix.of(np.repeat(y, times), np.repeat(predicted, times))
    np.testing.assert_array_equal(weighted.counts, repeated.counts)
    for metric, of in (("kappa", None), ("recall", 0), ("f1", "macro")):
        assert weighted.interval(metric, of) == repeated.interval(metric, of)


def test_a_refused_update_changes_nothing():
    found = ConfusionMatrix.of(["a", "b"], ["a", "b"], classes=["a", "b"])
    before = found.to_dict()
    with pytest.raises(LabelError, match=r"'c'.*'a', 'b'"):
        found.update(["a", "c"], ["a", "a"])
    assert found.to_dict() == before


@pytest.mark.parametrize(
    ("y", "predicted", "options", "error", "words"),
    [
        ([0, 1], [0], {}, InputError, "y has 2, predicted has 1"),
        (None, [0], {}, LabelError, "y is None"),
        ([], [], {}, LabelError, "y is empty"),
        ([[0, 1]], [0], {}, LabelError, r"y must be one column.*\(1, 2\)"),
        ([0, 1], ["a", "b"], {}, LabelError, "cannot be sorted"),
        ([0.5, 1.0], [0, 1], {}, LabelError, "classes"),
        (["a", None], ["a", "a"], {}, LabelError, "row 1"),
        ([0, 1], [0, 7], {"classes": [0, 1]}, LabelError, "predicted has the label 7"),
        ([0, 1], [0, 1], {"sample_weight": [1, -1]}, WeightError, "row 1"),
        ([0, 1], [0, 1], {"sample_weight": [1]}, WeightError, "expected"),
    ],
)
def test_bad_input_is_named(y, predicted, options, error, words):
    with pytest.raises(error, match=words):
        ConfusionMatrix.of(y, predicted, **options)


def test_bad_requests_are_named():
    found = ConfusionMatrix.of([0, 1, 1], [0, 1, 0])
    with pytest.raises(ParameterError, match="'sharpness'"):
        found.rate("sharpness")
    with pytest.raises(ParameterError, match="'median'"):
        found.average("recall", "median")
    with pytest.raises(ParameterError, match="'zero'"):
        found.average("recall", undefined="zero")
    with pytest.raises(ParameterError, match="m "):
        found.f(-1)
    with pytest.raises(ParameterError, match="of must be"):
        found.interval("recall")
    with pytest.raises(LabelError, match="5"):
        found.interval("recall", of=5)
    with pytest.raises(ParameterError, match="2 rows"):
        ConfusionMatrix.from_counts([[1, 2, 3]], [0, 1])
    with pytest.raises(ParameterError, match="counts"):
        ConfusionMatrix.from_counts([[1, -2], [3, 4]], [0, 1])


def test_counts_made_elsewhere_keep_the_order_of_their_names():
    found = ConfusionMatrix.from_counts([[5, 1, 2], [0, 7, 3]], ["b", "a"], actions=["wait"])
    assert found.classes.tolist() == ["a", "b"]
    assert found.counts.tolist() == [[7, 0, 3], [1, 5, 2]]


def test_shares_of_rows_columns_and_all():
    found = ConfusionMatrix.from_counts([[3, 1], [0, 0]], ["a", "b"])
    np.testing.assert_array_equal(found.normalised(), [[0.75, 0.25], [np.nan, np.nan]])
    np.testing.assert_array_equal(found.normalised("prediction"), [[1, 1], [0, 0]])
    np.testing.assert_array_equal(found.normalised("all"), [[0.75, 0.25], [0, 0]])
    with pytest.raises(ParameterError, match="'rows'"):
        found.normalised("rows")


def test_axes_are_named_in_every_output():
    found = ConfusionMatrix.of(["a", "b"], ["b", "abstain"])
    assert str(found).splitlines()[0] == "confusion matrix: rows = truth, columns = prediction"
    assert repr(found) == str(found)
    frame = found.to_frame()
    assert frame.index.name == "truth"
    assert frame.columns.name == "prediction"
    assert frame.loc["b", "abstain"] == 1
    assert found.to_dict()["rows"] == "truth"
    assert found.to_dict()["columns"] == "prediction"


def test_a_wide_table_shows_its_largest_confusions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, 3000)
    predicted = np.where(y == 7, 9, y)
    lines = str(ConfusionMatrix.of(y, predicted)).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[3].split() == ["7", "9", str(np.count_nonzero(y == 7))]


def test_a_missing_label_of_a_nullable_column_is_named():
    labels = pd.Series(["a", "b", None, "a"], dtype="string")
    with pytest.raises(LabelError, match="row 2"):
        ConfusionMatrix.of(labels, ["a", "b", "a", "a"])


@pytest.mark.parametrize(
    ("metric", "of"), [("recall", "macro"), ("precision", "weighted"), ("f1", "macro"), ("fpr", "macro")]
)
def test_averages_at_the_end_of_their_range_have_the_mean_of_the_classes_limits(metric, of):
    found = ConfusionMatrix.of(np.repeat([0, 1, 2], [50, 30, 20]), np.repeat([0, 1, 2], [50, 30, 20]))
    ends = np.array([tuple(found.interval(metric, of=label)) for label in range(3)])
    shares = [50, 30, 20] if of == "weighted" else None
    interval = found.interval(metric, of=of)
    np.testing.assert_allclose(tuple(interval), np.average(ends, axis=0, weights=shares), rtol=1e-12)
    assert "Wilson limits" in interval.method


def test_a_table_without_errors_has_intervals_as_wide_as_wilsons():
    found = ConfusionMatrix.of(np.repeat([0, 1, 2], [50, 30, 20]), np.repeat([0, 1, 2], [50, 30, 20]))
    accuracy = found.interval("accuracy")
    for metric in ("recall", "precision", "f1"):
        np.testing.assert_allclose(tuple(found.interval(metric, of="micro")), tuple(accuracy), rtol=1e-12)
    # With the margins as they are, kappa = 1 - errors / (1 - sum of squared shares), and so is Matthews's correlation.
    worst = 1 - (1 - accuracy.low) / (1 - (0.5**2 + 0.3**2 + 0.2**2))
    for metric in ("kappa", "mcc"):
        np.testing.assert_allclose(tuple(found.interval(metric)), (worst, 1), rtol=1e-12)
    np.testing.assert_allclose(found.interval("fnr", of="micro").high, 1 - accuracy.low, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_limit_of_a_perfect_mean_recall_is_one(seed):
    """Where the true mean lies below the limit, tables without errors are rarer than the level allows."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 60, 3)
    y = np.repeat([0, 1, 2], sizes)
    low = ConfusionMatrix.of(y, y).interval("recall", of="macro").low
    for _ in range(200):
        true = rng.uniform(0.5, 1, 3)
        if true.mean() < low:
            assert np.prod(true**sizes) < 0.045  # Wilson's limit itself is one-sided 2.5 % only approximately


@pytest.mark.parametrize("counts", [[[50, 3], [4, 1]], [[95, 0], [5, 0]], [[20, 0], [0, 20]], [[30, 2, 1], [1, 9, 3]]])
def test_measures_of_two_classes_have_intervals_that_hold_them(counts):
    """Few rows of a cell made resamples undefined; of a table without errors every resample was the same."""
    found = ConfusionMatrix.from_counts(counts, [0, 1], ["abstain"] * (len(counts[0]) - 2))
    for metric in ("balanced_accuracy", "kappa", "mcc"):
        value = found.balanced_accuracy() if metric == "balanced_accuracy" else getattr(found, metric)
        interval = found.interval(metric)
        assert np.isnan(value) == np.isnan(interval.low)
        if not np.isnan(value):
            assert interval.low <= value <= interval.high
            assert interval.low < interval.high


@pytest.mark.parametrize("counts", [[[50, 3], [4, 10]], [[30, 2, 1], [1, 9, 3], [0, 2, 20]]])
def test_micro_averages_that_are_proportions_have_their_intervals(counts):
    found = ConfusionMatrix.from_counts(counts, range(len(counts)))
    for micro, whole in {"recall": "accuracy", "precision": "accuracy", "fnr": "error_rate"}.items():
        assert tuple(found.interval(micro, "micro")) == pytest.approx(tuple(found.interval(whole)))
