"""Weights of classes are weights of their rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from discriminant import (
    DecisionClassifier,
    LeastSquaresClassifier,
    LogisticRegression,
    LogisticRegressionCV,
    LogisticRegressionPath,
    OneVsOne,
    SupportVectorClassifier,
    fit_all,
)
from discriminant.errors import ParameterError
from discriminant.storage.model_file import load, save
from helpers import normal_classes

X, numbers = normal_classes(n=150)
y = np.array(["a", "b", "c"])[numbers]
MODELS = {
    "logistic": LogisticRegression(),
    "ridge": LogisticRegression(0.1, solver="lbfgs"),
    "lasso": LogisticRegression(0.02, l1_ratio=1.0),
    "path": LogisticRegressionPath(n_alphas=4),
    "cv": LogisticRegressionCV(cv=3, n_alphas=4, random_state=0),
    "svm": SupportVectorClassifier(C=0.3),
    "svm, calibrated": SupportVectorClassifier(C=0.3, calibration="sigmoid"),
    "svm, standardised": SupportVectorClassifier(C=0.3, standardize=True, multiclass="one-vs-one"),
    "least squares": LeastSquaresClassifier(),
    "least squares, ridge": LeastSquaresClassifier(2.0, calibration="sigmoid"),
}
WEIGHTS = {"balanced": "balanced", "by class": {"a": 3.0, "c": 0.5}}


def answer(model):
    if hasattr(model, "coefs_"):
        return model.coefs_
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("given", WEIGHTS)
def test_a_class_weight_is_the_weight_of_its_rows(name, given, tmp_path):
    model = clone(MODELS[name]).set_params(class_weight=WEIGHTS[given]).fit(X, y)
    weighted = clone(MODELS[name]).fit(X, y, compute_sample_weight(WEIGHTS[given], y))
    assert_allclose(answer(model), answer(weighted), rtol=1e-9, atol=1e-11)
    assert np.abs(answer(model) - answer(clone(MODELS[name]).fit(X, y))).max() > 1e-3
    save(model, tmp_path / "model.dsc")
    assert load(tmp_path / "model.dsc").get_params()["class_weight"] == WEIGHTS[given]


@pytest.mark.parametrize("given", WEIGHTS.values(), ids=WEIGHTS)
def test_class_weights_mean_what_scikit_learn_means(given):
    total = compute_sample_weight(given, y).sum()
    ours = LogisticRegression(1 / total, standardize=False, class_weight=given).fit(X, y)
    theirs = SklearnLogisticRegression(C=1.0, class_weight=given, tol=1e-10, max_iter=2_000).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    least = LeastSquaresClassifier(2.0, standardize=False, class_weight=given).fit(X, y)
    assert_array_equal(least.predict(X), RidgeClassifier(2.0, class_weight=given).fit(X, y).predict(X))


def test_balanced_weights_count_weighted_rows():
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    model = LogisticRegression(0.1, class_weight="balanced")
    weighted = model.fit(X, y, weight).coef_
    assert_allclose(weighted, model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).coef_, rtol=1e-6)


def test_streams_take_weights_by_class_and_cannot_balance():
    parts = [(X[:80], y[:80]), (X[80:], y[80:])]
    model = LeastSquaresClassifier(1.0, class_weight={"a": 3.0})
    whole = model.fit(X, y).coef_
    stream = LeastSquaresClassifier(1.0, class_weight={"a": 3.0})
    for rows, labels in parts:
        stream.partial_fit(rows, labels)
    assert_allclose(stream.coef_, whole, rtol=1e-9)
    for balanced in (LeastSquaresClassifier(class_weight="balanced"), LogisticRegression(class_weight="balanced")):
        with pytest.raises(ParameterError, match="class_weight='balanced'"):
            balanced.partial_fit(X, y)


def test_pairs_of_classes_are_balanced_each():
    pairs = OneVsOne(SupportVectorClassifier(C=0.3, class_weight="balanced")).fit(X, y)
    own = np.isin(y, ["a", "b"])
    alone = SupportVectorClassifier(C=0.3, class_weight="balanced").fit(X[own], y[own])
    assert_allclose(pairs.estimators_[0].coef_, alone.coef_, rtol=1e-9)


def test_decisions_know_the_priors_that_weights_of_classes_make():
    model = DecisionClassifier(LogisticRegression(class_weight="balanced")).fit(X, y)
    assert_allclose(model.training_priors_, np.full(3, 1 / 3))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("even", "class_weight"),
        ([1, 2, 3], "class_weight"),
        ({"d": 2.0}, "'d'"),
        ({"a": 0.0}, r"class_weight.* 0 .*'a'"),
        ({"a": float("nan")}, r"class_weight.*nan.*'a'"),
    ],
)
def test_what_is_no_weight_of_a_class_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        LogisticRegression(class_weight=given).fit(X, y)


def test_a_pass_is_not_shared_with_rows_of_other_weights():
    with pytest.raises(ParameterError, match="LeastSquaresClassifier"):
        fit_all([LeastSquaresClassifier(), LeastSquaresClassifier(class_weight="balanced")], X, y)


def test_standard_errors_take_weights_of_classes_for_importance():
    """They are those of the sandwich: weighting a class does not add rows to it."""
    model = LogisticRegression(class_weight={"a": 4.0}).fit(X, y)
    weighted = LogisticRegression().fit(X, y, compute_sample_weight({"a": 4.0}, y))
    errors = [
        [row["std_error"] for row in table.to_dict()["rows"]]
        for table in (model.summary(), weighted.summary(weights="importance"), weighted.summary())
    ]
    assert_allclose(errors[0], errors[1], rtol=1e-9)
    assert not np.allclose(errors[0], errors[2], rtol=0.02)
