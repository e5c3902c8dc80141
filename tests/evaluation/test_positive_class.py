"""The positive class: which one it is, that everything follows it, and what exchanging it does to each measure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.dummy import DummyClassifier

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, compare, cross_validate
from discriminant.errors import LabelError
from discriminant.evaluation import (
    ClassCurves,
    EvaluationOptions,
    Evaluator,
    LabelledPredictions,
    ThresholdCurve,
    evaluate,
    evaluation_of,
    precision_recall,
    roc,
)


def rare(n=300, share=0.2, seed=0, rare_label="absent", other="present"):
    """Rows of two classes of which the first by name is rarer."""
    rng = np.random.default_rng(seed)
    is_rare = rng.random(n) < share
    X = rng.normal(size=(n, 3)) + is_rare[:, None] * [1.0, 0.5, 0.0]
    return X, np.where(is_rare, rare_label, other)


def both(y, posterior, weight=None, **settings):
    """The evaluation with either class as the positive one."""
    return [
        evaluation_of(
            LabelledPredictions(y, posterior=posterior, sample_weight=weight, **settings), EvaluationOptions(positive=k)
        )
        for k in (0, 1)
    ]


answers = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(1, 4)), min_size=2, max_size=25).filter(
    lambda rows: len({row[0] for row in rows}) == 2
)


@settings(max_examples=40)
@given(answers)
def test_exchanging_the_positive_class_exchanges_the_measures_of_the_two_sides(rows):
    y, eighths, weight = (np.array(column) for column in zip(*rows, strict=True))
    posterior = np.column_stack((1 - eighths / 8, eighths / 8))
    first, second = both(y, posterior, weight.astype(float))
    assert (first.positive, second.positive) == (0, 1)
    assert first["auc"].value == pytest.approx(second["auc"].value, abs=1e-12)
    assert (first["auc"].low, first["auc"].high) == pytest.approx((second["auc"].low, second["auc"].high), nan_ok=True)
    for own, others in (("precision", "npv"), ("recall", "specificity"), ("fnr", "fpr")):
        assert first[own].value == pytest.approx(second[others].value, nan_ok=True)
        assert second[own].value == pytest.approx(first[others].value, nan_ok=True)
    for measure in ("accuracy", "balanced_accuracy", "kappa", "mcc", "log_loss", "brier"):
        assert first[measure].value == pytest.approx(second[measure].value, nan_ok=True)
    for k, found in enumerate((first, second)):
        expected = metrics.average_precision_score(y == k, posterior[:, k], sample_weight=weight)
        assert found["average_precision"].value == pytest.approx(expected)
        assert set(found.roc.to_dict()) >= {"positive", "auc"}
        assert found.roc.positive == found.precision_recall.positive == k


def test_calibration_and_thresholds_follow_the_positive_class():
    X, y = rare()
    model = LogisticRegression(alpha=0.01).fit(X, y)
    first, second = (
        evaluate(model, X, y, options=EvaluationOptions(positive=label)) for label in ("absent", "present")
    )
    assert first.calibration_line.slope == pytest.approx(second.calibration_line.slope, rel=1e-8)
    assert first.calibration_line.intercept == pytest.approx(-second.calibration_line.intercept, rel=1e-6)
    for found in (first, second):
        (one,) = (row for row in found.estimates if row.metric == "ece")
        assert one.of == found.positive
    one, other = first.roc.best_threshold(cost_fp=1, cost_fn=3), second.roc.best_threshold(cost_fp=3, cost_fn=1)
    assert one.cost == pytest.approx(other.cost)
    assert one.tpr == pytest.approx(1 - other.fpr)


def test_the_rarer_class_is_positive_unless_another_is_named():
    X, y = rare()
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert evaluate(model, X, y).positive == "absent"
    assert evaluate(model, X, y, options=EvaluationOptions(positive="present")).positive == "present"
    equal = np.array(["a", "b"] * 5)
    assert evaluation_of(LabelledPredictions(equal, predicted=equal)).positive == "b"
    assert (
        evaluation_of(LabelledPredictions(equal, predicted=equal, sample_weight=np.tile([0.1, 0.3], 5))).positive == "a"
    )
    # Sums that differ by rounding alone are equal.
    assert (
        evaluation_of(LabelledPredictions(equal, predicted=equal, sample_weight=np.r_[[0.1] * 9, 0.1 + 1e-17])).positive
        == "b"
    )


def test_a_measure_named_by_itself_is_that_of_the_positive_class():
    X, y = rare()
    model = LinearDiscriminantAnalysis().fit(X, y)
    guess = model.predict(X)
    for label in ("absent", "present"):
        found = evaluate(model, X, y, options=EvaluationOptions(positive=label))
        assert found["f1"].value == pytest.approx(metrics.f1_score(y, guess, pos_label=label))
        assert found["precision"].value == pytest.approx(metrics.precision_score(y, guess, pos_label=label))
        assert found["recall"].of == found["auc"].of == label
        assert found.to_dict()["positive"] == label
        assert f"positive class: '{label}'" in str(found)


def test_one_score_is_that_of_the_second_class_whichever_is_positive():
    X, y = rare()
    scores = LinearDiscriminantAnalysis().fit(X, y).decision_function(X)
    area = metrics.roc_auc_score(y == "present", scores)
    assert roc(y, scores).auc == pytest.approx(area)
    assert roc(y, scores).positive == "present"
    assert evaluation_of(LabelledPredictions(y, scores=scores))["auc"].value == pytest.approx(area)
    assert evaluation_of(LabelledPredictions(y, scores=scores)).positive == "absent"
    assert roc(y, np.column_stack((-scores, scores))).positive == "absent"


def test_one_of_several_classes_stands_against_the_rest():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    P = rng.dirichlet(np.ones(3), 200) + 0.5 * (y[:, None] == np.arange(3))
    P /= P.sum(axis=1, keepdims=True)
    every, one = (
        evaluation_of(LabelledPredictions(y, posterior=P)),
        evaluation_of(LabelledPredictions(y, posterior=P), EvaluationOptions(positive=2)),
    )
    assert every.positive is None
    assert isinstance(every.roc, ClassCurves)
    assert isinstance(one.roc, ThresholdCurve)
    assert one["auc"].value == pytest.approx(metrics.roc_auc_score(y == 2, P[:, 2])) == every["auc", 2].value
    assert one["ece"].of == 2
    assert one.calibration_line is not None
    assert precision_recall(y, P, positive=1).average_precision == pytest.approx(every["average_precision", 1].value)
    assert roc(y, P[:, 0], positive=0).auc == pytest.approx(every["auc", 0].value)
    assert ("auc", 0) not in one
    assert ("recall", 0) in one


def test_a_stream_has_the_same_positive_class():
    X, y = rare()
    P = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    stream = Evaluator(["absent", "present"]).update(y[:100], P[:100])
    stream.update(y[100:], P[100:])
    for label in (None, "absent", "present"):
        found, whole = (
            stream.result(positive=label),
            evaluation_of(LabelledPredictions(y, posterior=P), EvaluationOptions(positive=label)),
        )
        assert found.positive == whole.positive == (label or "absent")
        assert found["auc"].value == pytest.approx(whole["auc"].value, abs=1e-4)
        assert found["average_precision"].value == pytest.approx(whole["average_precision"].value, abs=1e-3)
        assert found["ece"].of == whole["ece"].of
        assert found["ece"].value == pytest.approx(whole["ece"].value)


def test_f1_of_a_comparison_is_that_of_the_positive_class():
    X, y = rare()
    models = {"LDA": LinearDiscriminantAnalysis(), "prior": DummyClassifier()}
    for label in (None, "absent", "present"):
        found = compare(models, X, y, cv=5, metric="f1", positive=label).cross_validation
        assert found.positive == found.to_dict()["positive"] == (label or "absent")
        expected = metrics.f1_score(y, found.predictions("LDA"), pos_label=found.positive)
        assert found.mean("LDA", "f1") == pytest.approx(expected)
        evaluated = found.evaluation("LDA")
        assert evaluated.positive == found.positive
        assert tuple(found.interval("LDA", "f1")) == pytest.approx((evaluated["f1"].low, evaluated["f1"].high))
        assert found.evaluation("LDA", positive="present").positive == "present"


def test_one_of_several_classes_in_a_comparison():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 2)) + y[:, None]
    model = {"LDA": LinearDiscriminantAnalysis()}
    every = cross_validate(model, X, y, cv=3, metrics=("f1", "auc"), keep="posteriors")
    one = cross_validate(model, X, y, cv=3, metrics=("f1", "auc"), keep="posteriors", positive=2)
    assert every.positive is None
    guess = one.predictions("LDA")
    assert every.mean("LDA", "f1") == pytest.approx(metrics.f1_score(y, guess, average="macro"))
    assert one.mean("LDA", "f1") == pytest.approx(metrics.f1_score(y == 2, guess == 2))
    areas = [metrics.roc_auc_score(y == 2, one.posteriors("LDA")[:, 2])]
    assert one.mean("LDA", "auc") == pytest.approx(areas[0], abs=0.02)  # of pairs within folds
    assert one.evaluation("LDA")["auc"].value == pytest.approx(areas[0])


@pytest.mark.parametrize("use", [
    lambda X, y: evaluation_of(LabelledPredictions(y, predicted=y), EvaluationOptions(positive="maybe")),
    lambda X, y: evaluate(LinearDiscriminantAnalysis().fit(X, y), X, y, options=EvaluationOptions(positive="maybe")),
    lambda X, y: compare({"LDA": LinearDiscriminantAnalysis()}, X, y, positive="maybe"),
    lambda X, y: cross_validate(LinearDiscriminantAnalysis(), X, y, positive="maybe"),
    lambda X, y: roc(y, np.arange(len(y)), positive="maybe"),
    lambda X, y: Evaluator(["absent", "present"]).update(y, predicted=y).result(positive="maybe"),
])  # fmt: skip
def test_an_unknown_class_is_refused(use):
    with pytest.raises(LabelError, match="positive='maybe'"):
        use(*rare())


def test_coefficients_do_not_depend_on_it():
    """What log-odds are of is a matter of the order of the names, and of nothing that is measured."""
    X, y = rare()
    model = LogisticRegression(alpha=0.01).fit(X, y)
    before = model.coef_.copy()
    evaluate(model, X, y, options=EvaluationOptions(positive="absent"))
    np.testing.assert_array_equal(model.coef_, before)
