"""Estimators among others: cloned, pickled, in pipelines and searches, with names of columns in and out."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discriminant import (
    FisherDiscriminant,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from discriminant.errors import ColumnError, InputError, NotReadyError
from discriminant.rules import MixedRule
from helpers import MODELS, data_for, make_model, normal_classes, output

every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_a_pickled_model_predicts_the_same_bits_and_goes_on_learning(name):
    X, y = data_for(name)
    model = make_model(name).fit(X, y)
    expected = output(model, X)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(output(loaded, X), expected)
    if hasattr(loaded, "partial_fit"):
        assert_array_equal(output(loaded.partial_fit(X, y), X), output(model.partial_fit(X, y), X))


@pytest.mark.parametrize("n", [20], ids=["fewer rows than columns"])
@pytest.mark.parametrize("name", ["lda", "lda-oas", "lda-cv", "fisher", "least-squares"])
def test_a_pickled_wide_model_predicts_the_same_bits(name, n):
    X, y = data_for(name, n=n, p=30)
    model = make_model(name).fit(X, y)
    assert_array_equal(output(pickle.loads(pickle.dumps(model)), X), output(model, X))


@every_model
def test_a_clone_has_the_parameters_and_no_past(name):
    X, y = data_for(name)
    model = make_model(name).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "rule_")
    assert_array_equal(output(copy.fit(X, y), X), output(model, X))


@every_model
def test_fit_returns_the_model_itself(name):
    X, y = data_for(name)
    model = make_model(name)
    assert model.fit(X, y) is model


@every_model
def test_a_pipeline_scales_first(name):
    X, y = data_for(name)
    pipeline = make_pipeline(StandardScaler(), make_model(name)).fit(X, y)
    by_hand = make_model(name).fit(StandardScaler().fit_transform(X), y)
    assert_array_equal(pipeline.predict(X), by_hand.predict(StandardScaler().fit_transform(X)))


def test_discriminant_coordinates_feed_another_model():
    X, y = normal_classes(p=6)
    pipeline = make_pipeline(LinearDiscriminantAnalysis(n_components=2), QuadraticDiscriminantAnalysis()).fit(X, y)
    assert pipeline[-1].n_features_in_ == 2
    assert pipeline.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (LinearDiscriminantAnalysis(), {"shrinkage": [None, 0.1, "oas", "cv"], "rank": [1, None]}),
        (QuadraticDiscriminantAnalysis(), {"shrinkage": [None, 0.1, "oas"]}),
        (LeastSquaresClassifier(), {"alpha": [0.0, 1.0]}),
        (NaiveBayes(), {"var_smoothing": [1e-9, 0.1]}),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_search_finds_parameters(model, grid):
    X, y = normal_classes()
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert set(search.best_params_) == set(grid)


def test_a_search_over_thresholds():
    X, y = normal_classes(K=2)
    grid = {"threshold": ["midpoint", "prior-weighted", "bayes", "cv"]}
    search = GridSearchCV(FisherDiscriminant(), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.5


def test_scores_can_be_calibrated():
    X, y = normal_classes(K=2)
    calibrated = CalibratedClassifierCV(LeastSquaresClassifier(), cv=3).fit(X, y)
    assert cross_val_score(calibrated, X, y, cv=3).mean() > 0.5


def test_coordinates_have_names():
    X, y = normal_classes()
    model = LinearDiscriminantAnalysis().fit(X, y)
    names = ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]
    assert_array_equal(model.get_feature_names_out(), names)
    assert_array_equal(LinearDiscriminantAnalysis(n_components=1).fit(X, y).get_feature_names_out(), names[:1])


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_coordinates_come_in_the_frame_asked_for(container, kind):
    X, y = normal_classes()
    frame = LinearDiscriminantAnalysis().set_output(transform=container).fit(X, y).transform(X)
    assert isinstance(frame, kind)
    assert list(frame.columns) == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]


def test_names_of_columns_are_remembered():
    X, y = normal_classes()
    model = LinearDiscriminantAnalysis().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert model.n_features_in_ == 4
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("name", ["lda", "gaussian-nb", "naive-bayes"])
def test_labels_come_back_in_their_own_type(name):
    X, y = data_for(name)
    for labels in (
        y.astype(np.int8),
        y.astype(float),
        np.array(["u", "v", "w"])[y],
        np.array(["u", "v", "w"], dtype=object)[y],
    ):
        predicted = make_model(name).fit(X, labels).predict(X)
        assert predicted.dtype == labels.dtype
        assert set(predicted) <= set(labels)


def test_fitting_does_not_touch_the_data():
    X, y = normal_classes()
    weight = np.ones(len(y))
    for values in (X, y, weight):
        values.flags.writeable = False
    for name in MODELS:
        if not name.startswith("fisher"):
            make_model(name).fit(X, y, weight).predict(X)


@every_model
def test_a_scorer_predicts_as_its_model(name):
    X, y = data_for(name)
    model = make_model(name).fit(X, y)
    if isinstance(model.rule_, MixedRule):  # reads columns of several kinds
        with pytest.raises(NotReadyError):
            model.scorer()
        return
    rows, scorer = np.ascontiguousarray(X, dtype=np.float64), model.scorer()
    for part in (rows, rows[:1]):
        assert_array_equal(scorer.predict(part), model.predict(part))
        assert_allclose(scorer.decision_function(part), model.decision_function(part), rtol=1e-12)
        if hasattr(scorer, "predict_proba"):
            assert_allclose(scorer.predict_proba(part), model.predict_proba(part), rtol=1e-12)


def test_models_of_table_columns_have_no_scorer():
    frame = pd.DataFrame({"x": np.arange(20.0), "kind": list("ab") * 10, "y": list("aabb") * 5})
    model = LogisticRegression.from_formula("y ~ x + kind", frame)
    with pytest.raises(NotReadyError):
        model.scorer()


@pytest.mark.parametrize("kind", ["predict", "predict_proba", "decision_function"])
def test_a_row_alone_has_the_scores_that_it_has_in_a_table(kind):
    X, y = normal_classes(n=400, p=5)
    model = LinearDiscriminantAnalysis().fit(X, y)
    of_all = getattr(model, kind)(np.repeat(X, 50, axis=0))[::50]
    alone = np.concatenate([getattr(model, kind)(row[None]) for row in X])
    if kind == "predict":
        assert_array_equal(alone, of_all)
    else:
        assert_allclose(alone, of_all, rtol=1e-12, atol=1e-13)


def test_a_row_alone_is_checked():
    X, y = normal_classes(n=400, p=5)
    model = LinearDiscriminantAnalysis().fit(X, y)
    for wrong in (np.full((1, 5), np.nan), np.full((1, 5), np.inf), np.zeros((1, 4)), np.zeros((1, 6)), np.zeros(5)):
        with pytest.raises((InputError, ColumnError)):
            model.predict_proba(wrong)
    assert_array_equal(model.predict_proba(X[:1].astype(int)), model.predict_proba(X[:1].astype(int).astype(float)))
