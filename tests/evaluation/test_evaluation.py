"""The whole evaluation: numbers against scikit-learn, intervals, streams, output, and input that cannot be read."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as OtherLogistic
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from statsmodels.stats.proportion import proportion_confint

from discriminant import LinearDiscriminantAnalysis
from discriminant.decision import Decision, Posterior
from discriminant.errors import InputError, LabelError, ParameterError
from discriminant.estimators.decision import DecisionClassifier
from discriminant.evaluation import (
    ConfusionMatrix,
    EvaluationOptions,
    Evaluator,
    LabelledPredictions,
    compare_auc,
    evaluate,
    evaluation_of,
    roc,
    wilson_interval,
)


def predictions(n=400, K=3, seed=0):
    """Labels, sharp but fallible probabilities, whole weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    scores = 1.5 * rng.normal(size=(n, K)) + 1.5 * (y[:, None] == np.arange(K))
    P = np.exp(scores)
    return y, P / P.sum(axis=1, keepdims=True), rng.integers(1, 4, n).astype(float)


def iris_model():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return LinearDiscriminantAnalysis().fit(X[::2, :2], names[::2]), X[1::2, :2], names[1::2]


def values(evaluation):
    return {(row.metric, row.of): row.value for row in evaluation.estimates}


def intervals(evaluation):
    return np.array([(row.low, row.high) for row in evaluation.estimates])


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_scikit_learns(K, weighted):
    y, P, weight = predictions(K=K)
    weight = weight if weighted else None
    found = evaluation_of(
        LabelledPredictions(y, posterior=P, sample_weight=weight), EvaluationOptions(positive=1 if K == 2 else None)
    )
    guess, own = P.argmax(axis=1), {"sample_weight": weight}
    one_hot = y[:, None] == np.arange(K)
    expected = {
        "accuracy": metrics.accuracy_score(y, guess, **own),
        "error_rate": metrics.zero_one_loss(y, guess, **own),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, guess, **own),
        "kappa": metrics.cohen_kappa_score(y, guess, **own),
        "mcc": metrics.matthews_corrcoef(y, guess, **own),
        "log_loss": metrics.log_loss(y, P, **own),
        "brier": metrics.brier_score_loss(y, P[:, 1] if K == 2 else P, **own),
    }
    if K == 2:
        expected["auc"] = metrics.roc_auc_score(y, P[:, 1], **own)
        expected["average_precision"] = metrics.average_precision_score(y, P[:, 1], **own)
    else:
        expected["auc"] = metrics.roc_auc_score(y, P, multi_class="ovr", **own)
        expected["average_precision"] = metrics.average_precision_score(one_hot, P, **own)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].value, value, rtol=1e-12, err_msg=name)
    for k in range(K):
        np.testing.assert_allclose(found["recall", k].value, found.confusion.recall[k], rtol=1e-12)
    for how in ("macro", "micro", "weighted"):
        np.testing.assert_allclose(found["f1", how].value, metrics.f1_score(y, guess, average=how, **own), rtol=1e-12)


def test_every_measure_has_an_interval_that_holds_it_and_says_how_it_was_made():
    y, P, _ = predictions()
    found = evaluation_of(LabelledPredictions(y, posterior=P), EvaluationOptions(costs=1 - np.eye(3)))
    assert len(found.estimates) > 40
    for row in found.estimates:
        assert row.low <= row.value <= row.high, row
        assert row.method
        assert "not available" not in row.method
    methods = {row.metric: row.method for row in found.estimates}
    assert methods["accuracy"] == "Wilson"
    assert "Jaccard" in found["f1", 0].method
    assert "bootstrap" in methods["kappa"]
    assert "DeLong" in methods["auc"]


def test_intervals_of_shares_are_wilsons():
    y, P, _ = predictions()
    found = evaluation_of(LabelledPredictions(y, posterior=P))
    expected = wilson_interval(found["accuracy"].value, 400)
    assert (found["accuracy"].low, found["accuracy"].high) == (expected.low, expected.high)
    right = round(found["accuracy"].value * 400)
    np.testing.assert_allclose([*expected], proportion_confint(right, 400, method="wilson"), rtol=1e-12)
    np.testing.assert_allclose([found["error_rate"].low, found["error_rate"].high], 1 - np.array([*expected])[::-1])
    assert wilson_interval(0, 10).low == 0
    assert wilson_interval(1, 10).high == 1


def test_a_wider_level_gives_wider_intervals():
    y, P, _ = predictions()
    narrow, wide = (
        intervals(evaluation_of(LabelledPredictions(y, posterior=P), EvaluationOptions(level=level)))
        for level in (0.5, 0.99)
    )
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()


def test_weights_are_repeated_rows():
    y, P, weight = predictions()
    times = weight.astype(int)
    weighted = evaluation_of(
        LabelledPredictions(y, posterior=P, sample_weight=weight), EvaluationOptions(costs=1 - np.eye(3))
    )
    repeated = evaluation_of(
        LabelledPredictions(np.repeat(y, times), posterior=np.repeat(P, times, axis=0)),
        EvaluationOptions(costs=1 - np.eye(3)),
    )
    np.testing.assert_allclose([*values(weighted).values()], [*values(repeated).values()], rtol=1e-12)
    np.testing.assert_allclose(intervals(weighted), intervals(repeated), rtol=1e-9)
    assert any("frequency weights" in note for note in weighted.notes)


def test_the_order_of_rows_and_of_columns_does_not_matter():
    y, P, _ = predictions()
    names = np.array(["x", "y", "z"])
    found = evaluation_of(LabelledPredictions(names[y], posterior=P, classes=names))
    order, columns = np.random.default_rng(1).permutation(len(y)), [2, 0, 1]
    again = evaluation_of(LabelledPredictions(names[y][order], posterior=P[order][:, columns], classes=names[columns]))
    assert list(values(found)) == list(values(again))
    np.testing.assert_allclose([*values(again).values()], [*values(found).values()], rtol=1e-12)
    np.testing.assert_allclose(intervals(again), intervals(found), rtol=1e-9)


def test_copies_of_rows_in_clusters_add_nothing():
    y, P, _ = predictions()
    groups = np.arange(len(y)) // 2
    once = evaluation_of(LabelledPredictions(y, posterior=P, groups=groups))
    thrice = evaluation_of(LabelledPredictions(np.tile(y, 3), posterior=np.tile(P, (3, 1)), groups=np.tile(groups, 3)))
    heavy = evaluation_of(LabelledPredictions(y, posterior=P, groups=groups, sample_weight=np.full(len(y), 3.0)))
    np.testing.assert_allclose(intervals(thrice), intervals(once), rtol=1e-6)
    np.testing.assert_allclose(intervals(heavy), intervals(once), rtol=1e-6)
    assert all("clusters" in row.method for row in once.estimates)


def test_clusters_of_one_row_are_nearly_independent_rows():
    y, P, _ = predictions(n=3000)
    rows, clusters = (
        intervals(evaluation_of(LabelledPredictions(y, posterior=P, groups=g))) for g in (None, np.arange(3000))
    )
    np.testing.assert_allclose(clusters[:, 1] - clusters[:, 0], rows[:, 1] - rows[:, 0], rtol=0.1)


def test_weights_that_are_no_frequencies_are_importances_of_rows():
    y, P, _ = predictions()
    shares, rows = np.full(len(y), 1 / len(y)), np.arange(len(y))
    plain = intervals(evaluation_of(LabelledPredictions(y, posterior=P, groups=rows)))
    for groups in (rows, None):
        weighted = intervals(evaluation_of(LabelledPredictions(y, posterior=P, sample_weight=shares, groups=groups)))
        np.testing.assert_allclose(plain, weighted, rtol=1e-6)


def test_a_cluster_without_errors_has_an_interval_too():
    y = np.arange(40) % 2
    found = evaluation_of(LabelledPredictions(y, predicted=y, groups=np.arange(40) // 4))
    expected = wilson_interval(1.0, 10)
    assert found["accuracy"].value == found["accuracy"].high == 1.0
    assert found["accuracy"].low < expected.low


def test_perfect_predictions_have_intervals_where_that_is_possible():
    y = np.arange(30) % 2
    found = evaluation_of(LabelledPredictions(y, posterior=np.where(y == 1, 0.9, 0.2)))
    assert found["auc"].value == 1.0
    assert 0.7 < found["auc"].low < 1
    assert 0.7 < found["f1", 1].low < 1
    assert 0.7 < found["kappa"].low < found["kappa"].high == 1
    assert 0.7 < found["average_precision"].low < found["average_precision"].high == 1
    assert not [row.metric for row in found.estimates if np.isnan(row.low)]


@pytest.mark.parametrize(
    "model",
    [LinearDiscriminantAnalysis(), GaussianNB(), make_pipeline(StandardScaler(), OtherLogistic())],
    ids=["ours", "naive Bayes", "pipeline"],
)
def test_models_with_probabilities(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X[::2], y[::2])
    found = evaluate(model, X[1::2], y[1::2])
    np.testing.assert_allclose(found["accuracy"].value, model.score(X[1::2], y[1::2]), rtol=1e-12)
    np.testing.assert_allclose(
        found["log_loss"].value, metrics.log_loss(y[1::2], model.predict_proba(X[1::2])), rtol=1e-12
    )
    assert list(found.calibration) == [0, 1, 2]
    assert found.roc[1].auc == found["auc", 1].value


@pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier()])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_margins_are_not_probabilities(model, load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model.fit(X[::2], y[::2])
    found = evaluate(model, X[1::2], y[1::2])
    assert any("margins are not probabilities" in note for note in found.notes)
    np.testing.assert_allclose(found["auc"].value, roc(y[1::2], model.decision_function(X[1::2])).auc, rtol=1e-12)
    with pytest.raises(ParameterError):
        found["log_loss"]
    assert found.risk_coverage is None
    assert found.calibration == {}


def test_predictions_alone_are_enough_for_the_table():
    found = evaluation_of(LabelledPredictions(["a", "b", "b"], ["a", "b", "abstain"]))
    assert found["coverage"].value == pytest.approx(2 / 3)
    assert found["selective_accuracy"].value == 1.0
    assert found.roc is None
    assert "auc" not in found


def test_undefined_measures_have_a_reason():
    found = evaluation_of(LabelledPredictions(["a", "b", "b"], ["a", "a", "a"], classes=["a", "b", "c"]))
    assert np.isnan(found["precision", "b"].value)
    assert "no row was predicted 'b'" in found["precision", "b"].note
    assert "no row is of class 'c'" in found["recall", "macro"].note
    assert any("balanced accuracy" in note for note in found.notes)
    assert "undefined" in str(found["precision", "b"])


def test_a_class_without_rows_leaves_the_others_their_curves():
    y, P, _ = predictions()
    kept = y != 2
    found = evaluation_of(LabelledPredictions(y[kept], posterior=P[kept], classes=[0, 1, 2]))
    assert np.isfinite(found["auc", 0].value)
    assert np.isnan(found["auc", 2].value)
    assert np.isnan(found["auc"].value)
    assert "no row is of class 2" in found["auc"].note


def test_costs_decide_where_there_are_probabilities():
    y, P, weight = predictions()
    costs = np.array([[0, 1, 5], [2, 0, 1], [1, 4, 0.5]])
    found = evaluation_of(LabelledPredictions(y, posterior=P, sample_weight=weight), EvaluationOptions(costs=costs))
    decided = Decision(costs=costs).decide(P)
    assert np.any(decided != P.argmax(axis=1))
    np.testing.assert_array_equal(
        found.confusion.counts, evaluation_of(LabelledPredictions(y, decided, sample_weight=weight)).confusion.counts
    )
    made = costs[y, decided]
    np.testing.assert_allclose(found["cost"].value, np.average(made, weights=weight), rtol=1e-12)
    assert any(f"{np.sum(decided != P.argmax(axis=1))} of {len(y)} rows" in n for n in found.notes)
    spread = np.average((made - found["cost"].value) ** 2, weights=weight) / (weight.sum() - 1)
    assert found["cost"].half_width == pytest.approx(1.963 * np.sqrt(spread), rel=0.02)


def test_given_predictions_are_not_replaced_by_decisions():
    y, P, _ = predictions()
    costs = np.array([[0, 1, 5], [2, 0, 1], [1, 4, 0.5]])
    found = evaluation_of(LabelledPredictions(y, P.argmax(axis=1), P), EvaluationOptions(costs=costs))
    np.testing.assert_allclose(found["cost"].value, costs[y, P.argmax(axis=1)].mean(), rtol=1e-12)


def test_a_model_with_probabilities_decides_by_costs_and_one_that_decides_itself_does_not():
    X, y = load_iris(return_X_y=True)
    X, costs = X[:, :2], 1 - np.eye(3)
    costs[2, 1] = 20
    plain = LinearDiscriminantAnalysis().fit(X, y)
    deciding = DecisionClassifier(LinearDiscriminantAnalysis(), costs).fit(X, y)
    found = evaluate(plain, X, y, options=EvaluationOptions(costs=costs))
    np.testing.assert_array_equal(found.confusion.counts, evaluate(deciding, X, y).confusion.counts)
    assert (
        found["cost"].value
        < evaluation_of(LabelledPredictions(y, plain.predict(X)), EvaluationOptions(costs=costs))["cost"].value
    )
    likeliest = DecisionClassifier(LinearDiscriminantAnalysis()).fit(X, y)
    for model in (likeliest, make_pipeline(likeliest)):
        taken = evaluate(model, X, y, options=EvaluationOptions(costs=costs))
        np.testing.assert_array_equal(taken.confusion.counts, evaluate(plain, X, y).confusion.counts)


def test_costs_of_abstaining():
    costs = {"ill": {"ill": 0, "well": 10, "abstain": 1}, "well": {"ill": 2, "well": 0, "abstain": 1}}
    found = evaluation_of(
        LabelledPredictions(["ill", "well", "well"], ["abstain", "well", "ill"]), EvaluationOptions(costs=costs)
    )
    assert found["cost"].value == 1.0
    with pytest.raises(LabelError, match=r"'abstain'.*costs"):
        evaluation_of(
            LabelledPredictions(["ill", "well"], ["abstain", "well"], classes=["ill", "well"]),
            EvaluationOptions(costs=[[0, 1], [1, 0]]),
        )


def test_posteriors_may_come_in_any_form():
    y, P, _ = predictions(K=2)
    names = np.array(["no", "yes"])
    expected = values(evaluation_of(LabelledPredictions(names[y], posterior=P, classes=names)))
    frame = pd.DataFrame(P[:, ::-1], columns=["yes", "no"])
    for posterior in (P[:, 1], frame, pl.DataFrame(frame), Posterior(P, names), P.tolist()):
        found = values(evaluation_of(LabelledPredictions(pd.Series(names[y]), posterior=posterior)))
        assert list(found) == list(expected)
        np.testing.assert_allclose([*found.values()], [*expected.values()], rtol=1e-12)


def test_the_columns_of_a_frame_are_classes_even_without_rows():
    frame = pd.DataFrame({"b": [0.2, 0.5], "a": [0.7, 0.3], "c": [0.1, 0.2]})
    found = evaluation_of(LabelledPredictions(["a", "b"], posterior=frame))
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found["accuracy"].value == 1.0
    assert found["log_loss"].value == pytest.approx(-np.log([0.7, 0.5]).mean())


def test_ties_of_probabilities_stay_ties():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    P = rng.multinomial(10, np.ones(3) / 3, 300) / 10  # rows sum to 1 up to rounding, each in its own way
    found, flowing = evaluation_of(LabelledPredictions(y, posterior=P)), stream(y, P, None, 3).result()
    for k in range(3):
        np.testing.assert_allclose(found["auc", k].value, metrics.roc_auc_score(y == k, P[:, k]), rtol=1e-12)
        np.testing.assert_allclose(flowing["auc", k].value, metrics.roc_auc_score(y == k, P[:, k]), rtol=1e-12)


def test_the_positive_class_can_be_chosen():
    y, P, _ = predictions(K=2)
    found = evaluation_of(LabelledPredictions(y, posterior=P), EvaluationOptions(positive=0))
    np.testing.assert_allclose(found["auc", 0].value, metrics.roc_auc_score(y == 0, P[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(
        found["average_precision"].value, metrics.average_precision_score(y == 0, P[:, 0]), rtol=1e-12
    )
    margins = evaluation_of(LabelledPredictions(y, scores=P[:, 1] - P[:, 0]), EvaluationOptions(positive=0))
    np.testing.assert_allclose(margins["auc"].value, found["auc"].value, rtol=1e-12)


def test_a_probability_of_zero_for_the_truth_is_mentioned():
    found = evaluation_of(LabelledPredictions([0, 1, 1], posterior=[[1.0, 0.0], [1.0, 0.0], [0.2, 0.8]]))
    np.testing.assert_allclose(found["log_loss"].value, metrics.log_loss([0, 1, 1], [0.0, 0.0, 0.8]), rtol=1e-12)
    assert any("probability 0" in note for note in found.notes)


def test_the_table_prints_within_a_hundred_columns():
    model, X, y = iris_model()
    weight, groups = np.full(len(y), 2.0), np.arange(len(y)) // 3
    found = evaluate(model, X, y, sample_weight=weight, groups=groups, options=EvaluationOptions(costs=1 - np.eye(3)))
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 100
    assert "confusion matrix: rows = truth, columns = prediction" in lines
    assert any(line.startswith("kappa") for line in lines)
    many = evaluation_of(LabelledPredictions(*predictions(n=2000, K=40)[:1], posterior=predictions(n=2000, K=40)[1]))
    assert max(map(len, str(many).splitlines())) <= 100
    assert "and 10 more classes" in str(many)


def test_output_is_plain():
    model, X, y = iris_model()
    found = evaluate(model, X, y)
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read["classes"] == ["setosa", "versicolor", "virginica"]
    assert read["confusion"]["rows"] == "truth"
    assert len(read["estimates"]) == len(found.estimates) == len(found.to_frame())
    undefined = evaluation_of(LabelledPredictions(["a", "b"], ["a", "a"]))
    json.dumps(undefined.to_dict(), allow_nan=False)


def test_requests_that_cannot_be_met_are_named():
    y, P, _ = predictions()
    found = evaluation_of(LabelledPredictions(y, posterior=P))
    with pytest.raises(ParameterError, match="'gini'"):
        found["gini"]
    with pytest.raises(ParameterError, match=r"recall.*7"):
        found["recall", 7]
    assert ("recall", 1) in found
    assert [row.metric for row in found.of("micro")][:2] == ["recall", "precision"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ParameterError, "Predictions are missing"),
        ({"posterior": [[0.5, 0.4], [0.5, 0.5]]}, InputError, "row 0 sum to 0.9"),
        ({"posterior": [[0.5, 0.5], [np.nan, 0.5]]}, InputError, "Row 1"),
        ({"posterior": [[1.5, -0.5], [0.5, 0.5]]}, InputError, "Row 0"),
        ({"posterior": Posterior([[0.5, 0.5]] * 2, ["a", "x"])}, LabelError, "y has the label 'b'"),
        ({"posterior": Posterior([[0.5, 0.5]] * 2, ["a", "x"]), "classes": ["a", "b"]}, LabelError, "class 'b'"),
        ({"posterior": [[0.5, 0.5]]}, InputError, "y has 2, posterior has 1"),
        ({"posterior": np.full((2, 4), 0.25)}, InputError, "4 columns, expected 2"),
        ({"predicted": ["a"]}, InputError, "y has 2, predicted has 1"),
        ({"predicted": ["a", "x"], "classes": ["a", "b"]}, LabelError, "predicted has the label 'x'"),
        ({"predicted": ["a", "b"], "classes": ["a", "c"]}, LabelError, "y has the label 'b'.*row 1"),
        ({"predicted": ["a", "b"], "classes": "ab"}, LabelError, "classes must be"),
        ({"scores": [np.nan, 1.0]}, InputError, "scores contains NaN: row 0"),
        ({"scores": np.zeros((2, 3))}, InputError, "3 columns, expected 2"),
        ({"scores": [1.0, 2.0, 3.0]}, InputError, "scores has 3"),
        ({"predicted": ["a", "b"], "level": 95}, ParameterError, "level"),
        ({"predicted": ["a", "b"], "sample_weight": [1, np.nan]}, InputError, "row 1"),
        ({"predicted": ["a", "b"], "groups": [1, 2, 3]}, InputError, "3 values, expected 2"),
        ({"posterior": [0.5, 0.5], "positive": "z"}, LabelError, "positive='z'"),
        ({"predicted": ["a", "b"], "costs": [[0, 1, 2]]}, ParameterError, r"costs has shape \(1, 3\)"),
    ],
)
def test_bad_input_is_named(options, error, words):
    asked = {name: value for name, value in options.items() if name in ("level", "positive", "costs")}
    given = LabelledPredictions(["a", "b"], **{name: options[name] for name in options if name not in asked})
    with pytest.raises(error, match=words):
        evaluation_of(given, EvaluationOptions(**asked))


def test_labels_the_model_has_never_seen_are_named():
    model, X, y = iris_model()
    with pytest.raises(LabelError, match=r"'rosa'.*row 0"):
        evaluate(model, X, np.where(np.arange(len(y)) == 0, "rosa", y))


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        evaluate(LinearDiscriminantAnalysis(), [[0.0]], [0])


def stream(y, P, weight, parts, **options):
    found = Evaluator(range(P.shape[1]), **options)
    for part in np.array_split(np.arange(len(y)), parts):
        found.update(y[part], P[part], sample_weight=None if weight is None else weight[part])
    return found


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_streams_agree_with_the_whole(K, weighted):
    y, P, weight = predictions(K=K, n=1000)
    weight = weight if weighted else None
    whole = evaluation_of(LabelledPredictions(y, posterior=P, sample_weight=weight))
    found = stream(y, P, weight, 7).result()
    assert found.confusion == whole.confusion
    assert list(values(found)) == list(values(whole))
    for row in whole.estimates:
        again = found[row.metric, row.of]
        if row.metric in ("auc", "average_precision"):
            assert again.value == pytest.approx(row.value, abs=1e-3)
            assert again.high - again.low > 0.99 * (row.high - row.low)
        else:
            np.testing.assert_allclose([again.value, again.low, again.high], [row.value, row.low, row.high], rtol=1e-12)
    for label, bins in whole.calibration.items():
        np.testing.assert_allclose(found.calibration[label].sums, bins.sums, rtol=1e-12)
    assert found.risk_coverage.risk_at(0.5) == pytest.approx(whole.risk_coverage.risk_at(0.5), abs=0.01)
    assert any("histograms of 16,384 bins" in note for note in found.notes)
    assert found["accuracy"].method == "Wilson"


def test_evaluators_merge():
    y, P, weight = predictions()
    whole = stream(y, P, weight, 1)
    first, second = stream(y[:150], P[:150], weight[:150], 2), stream(y[150:], P[150:], weight[150:], 3)
    merged = first + second
    assert (first.n_rows, second.n_rows, merged.n_rows) == (150, 250, 400)
    np.testing.assert_allclose([*values(merged.result()).values()], [*values(whole.result()).values()], rtol=1e-12)
    np.testing.assert_array_equal(merged.histograms[0].counts, whole.histograms[0].counts)


def test_streams_without_probabilities():
    found = Evaluator(["a", "b"]).update(["a", "b"], predicted=["a", "abstain"]).result()
    assert found.confusion == ConfusionMatrix.of(["a", "b"], ["a", "abstain"])
    assert any("require probabilities" in note for note in found.notes)


def test_streams_refuse_what_does_not_fit():
    y, P, _ = predictions()
    found = Evaluator([0, 1, 2]).update(y, P)
    before = found.result().to_dict()
    with pytest.raises(InputError):
        found.update(y, predicted=y)
    with pytest.raises(LabelError, match="9"):
        found.update([9], P[:1])
    with pytest.raises(ParameterError):
        found.merge(Evaluator([0, 1]))
    with pytest.raises(InputError):
        found.update([0], [[0.5, 0.4, 0.2]])
    with pytest.raises(LabelError, match=r"predicted.*5"):
        found.update([0], P[:1], predicted=[5])
    assert found.result().to_dict() == before
    with pytest.raises(InputError):
        Evaluator([0, 1]).result()
    with pytest.raises(ParameterError):
        Evaluator([0, 1]).update([0])
    with pytest.raises(ParameterError):
        Evaluator([0])
    with pytest.raises(ParameterError):
        _ = found.result().roc.micro


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("K", [2, 3])
def test_perfect_predictions_of_any_kind_have_intervals(K, grouped):
    y = np.arange(60) % K
    found = evaluation_of(
        LabelledPredictions(y, posterior=np.eye(K)[y] * 0.9 + 0.1 / K, groups=np.arange(60) // 6 if grouped else None)
    )
    assert all(row.low - 1e-12 <= row.value <= row.high + 1e-12 for row in found.estimates)
    assert all(row.low < row.high for row in found.estimates)


def test_intervals_of_losses_end_where_losses_do():
    rng = np.random.default_rng(3)
    for seed in range(20):
        y, p = np.arange(8) % 2, rng.beta(0.2, 0.2, 8).clip(1e-6, 1 - 1e-6)
        found = evaluation_of(LabelledPredictions(y, posterior=p), EvaluationOptions(random_state=seed))
        assert 0 <= found["log_loss"].low <= found["log_loss"].value
        assert 0 <= found["brier"].low <= found["brier"].value <= found["brier"].high <= 1


def test_actions_name_the_columns_of_a_cost_array():
    X, y = load_iris(return_X_y=True)
    values = np.array([[0, 1, 2, 0.5], [1, 0, 3, 0.5], [4, 5, 0, 0.5]])
    decision = Decision(values, actions=[0, 1, 2, "ask"])
    model = DecisionClassifier(LinearDiscriminantAnalysis(), decision).fit(X[:, :2], y)
    expected = decision.total_risk(model.posterior(X[:, :2]), y)
    by_model = evaluate(model, X[:, :2], y, options=EvaluationOptions(costs=values))
    assert by_model["cost"].value == pytest.approx(expected, rel=1e-12)
    plain = LinearDiscriminantAnalysis().fit(X[:, :2], y)
    for actions in ([0, 1, 2, "ask"], ["ask"]):
        found = evaluate(plain, X[:, :2], y, options=EvaluationOptions(costs=values, actions=actions))
        assert found["cost"].value == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ParameterError, match="actions"):
        evaluate(plain, X[:, :2], y, options=EvaluationOptions(costs=values))


def test_actions_that_are_no_classes_name_as_many_columns():
    costs = np.array([[0, 20], [6, 0]])
    asked, posterior = EvaluationOptions(costs=costs, actions=["treat", "wait"]), [[0.9, 0.1], [0.2, 0.8]]
    assert evaluation_of(LabelledPredictions(["ill", "well"], ["treat", "treat"], posterior), asked)["cost"].value == 3
    decided = evaluation_of(LabelledPredictions(["ill", "well"], posterior=posterior), asked)
    assert decided["cost"].value == 0  # waiting costs 0.2 * 20 = 4 in the second row, treating 0.8 * 6 = 4.8
    assert decided.confusion.predictions.tolist() == ["ill", "well", "treat", "wait"]


def test_a_refused_merge_changes_nothing():
    one, other = Evaluator([0, 1]), Evaluator([0, 1], n_bins=64)
    for stream in (one, other):
        stream.update([0, 1], [[0.6, 0.4], [0.3, 0.7]])
    with pytest.raises(ParameterError):
        one.merge(other)
    assert one.n_rows == one.confusion.total == 2


def test_results_print_and_go_to_frames_json_and_notebooks():
    rng = np.random.default_rng(0)
    y, P = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    found = evaluation_of(LabelledPredictions(y, posterior=P))
    two = evaluation_of(LabelledPredictions(y > 0, posterior=P[:, 1] + P[:, 2]))
    results = [
        found, found.confusion, found.roc, found.precision_recall, found.roc[1], found.roc.micro, found.risk_coverage,
        found.calibration[0], found.calibration[0].brier(), two.calibration_line, two["accuracy"],
        two.roc.best_threshold(), compare_auc(y > 0, P[:, 1], P[:, 2]),
    ]  # fmt: skip
    for result in results:
        json.dumps(result.to_dict(), allow_nan=False)
        assert repr(result) == str(result) != ""
        assert len(result.to_frame(backend="polars")) > 0
        assert len(result.to_frame()) > 0
        assert "<table>" in result._repr_html_()


def test_losses_of_zero_have_an_interval_that_says_how_many_rows_there_were():
    """Probabilities of 0 and 1 that are all right: the Brier score is an error rate, and its limit is Wilson's."""
    y = np.arange(189) % 2
    found = evaluation_of(LabelledPredictions(y, posterior=y.astype(float)), EvaluationOptions(costs=[[0, 1], [5, 0]]))
    wilson = found["error_rate"].high
    assert found["brier"].value == found["brier"].low == 0.0
    assert found["brier"].high == pytest.approx(wilson, rel=0.05)
    assert wilson < found["cost"].high < 6 * wilson
    assert 30 * wilson < found["log_loss"].high < 40 * wilson


def test_a_loss_that_no_class_can_change_is_certain():
    found = evaluation_of(LabelledPredictions(np.arange(40) % 2, posterior=np.full(40, 0.5)))["log_loss"]
    assert found.low == found.value == found.high == pytest.approx(np.log(2))


def test_intervals_of_a_stream_are_those_of_its_rows():
    y, P, weight = predictions()
    stream = Evaluator([0, 1, 2])
    for part in np.array_split(np.arange(len(y)), 7):
        stream.update(y[part], P[part], sample_weight=weight[part])
    found, whole = stream.result(), evaluation_of(LabelledPredictions(y, posterior=P, sample_weight=weight))
    for metric in ("log_loss", "brier", "ece"):
        one, other = found[metric], whole[metric]
        np.testing.assert_allclose((one.value, one.low, one.high), (other.value, other.low, other.high), rtol=1e-10)


def test_the_calibration_error_is_not_that_of_chance():
    """Of 30 rows the ECE of right probabilities is large; the error it estimates is 0."""
    rng = np.random.default_rng(5)
    found, plain = [], []
    for _ in range(60):
        p = rng.random(30)
        evaluation = evaluation_of(LabelledPredictions((rng.random(30) < p).astype(int), posterior=p))
        found.append(evaluation["ece"])
        plain.append(evaluation.calibration[1].ece())
        assert found[-1].low <= found[-1].value <= found[-1].high
    assert np.mean([one.low == 0 for one in found]) > 0.9
    assert np.mean([one.value for one in found]) < 0.5 * np.mean(plain)


def test_the_headline_has_a_yardstick_for_costs():
    y, P, weight = predictions()
    costs = np.array([[0, 1, 5], [2, 0, 1], [1, 4, 0.5]])
    found = evaluation_of(LabelledPredictions(y, posterior=P, sample_weight=weight), EvaluationOptions(costs=costs))
    always = [np.average(costs[y, j], weights=weight) for j in range(3)]
    assert found.cheapest == (int(np.argmin(always)), pytest.approx(min(always), rel=1e-12))
    assert f"always predicting {np.argmin(always)}: {min(always):.4g}" in found.headline
    each = np.tile(costs, (len(y), 1, 1))
    assert evaluation_of(
        LabelledPredictions(y, posterior=P, sample_weight=weight), EvaluationOptions(costs=each)
    ).cheapest == pytest.approx(found.cheapest)
    assert evaluation_of(LabelledPredictions(y, posterior=P)).cheapest is None
