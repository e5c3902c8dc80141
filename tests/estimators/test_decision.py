"""A classifier with its decision in one estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from discriminant import GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.decision import Decision, posterior
from discriminant.errors import InputError, LabelError, ParameterError, WeightError
from discriminant.estimators.decision import DecisionClassifier
from helpers import normal_classes

COSTS = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [5.0, 3.0, 0.0]])


@pytest.mark.filterwarnings("ignore::discriminant.errors.DiscriminantWarning")
def test_scikit_learn_contract():
    results = check_estimator(DecisionClassifier(LinearDiscriminantAnalysis()), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert len(results) > 40


MODELS = [
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    GaussianNB(),
    SklearnLDA(),
    SklearnLogisticRegression(),
    KNeighborsClassifier(),
    RandomForestClassifier(10, random_state=0),
    make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
    GridSearchCV(SklearnLDA(solver="lsqr"), {"shrinkage": [0.1, 0.2]}, cv=2),
]


@pytest.mark.parametrize("inner", MODELS, ids=lambda model: type(model).__name__)
def test_it_is_the_model_followed_by_the_decision(inner):
    X, y = normal_classes()
    fitted = clone(inner).fit(X, y)
    model = DecisionClassifier(inner, Decision(COSTS, reject_cost=0.8)).fit(X, y)
    p = fitted.predict_proba(X)
    risk = np.column_stack((p @ COSTS, np.full(len(X), 0.8)))
    assert_allclose(model.predict_proba(X), p, rtol=1e-12)
    assert_allclose(model.risk(X), risk, rtol=1e-12)
    clear = np.abs(np.diff(np.sort(risk, axis=1)[:, :2], axis=1)[:, 0]) > 1e-9
    expected = np.array([0, 1, 2, "abstain"], dtype=object)[risk.argmin(axis=1)]
    assert_array_equal(model.predict(X)[clear], expected[clear])
    assert_array_equal(model.actions_, np.array([0, 1, 2, "abstain"], dtype=object))
    plain = DecisionClassifier(inner).fit(X, y)
    assert_array_equal(plain.predict(X), fitted.classes_[p.argmax(axis=1)])
    assert_allclose(plain.score(X, y), (plain.predict(X) == y).mean())


def test_costs_alone_will_do_and_the_score_is_minus_the_mean_cost():
    X, y = normal_classes()
    model = DecisionClassifier(LinearDiscriminantAnalysis(), COSTS).fit(X, y)
    assert_allclose(model.score(X, y), -COSTS[y, model.predict(X)].mean())
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    assert_allclose(model.score(X, y, weight), model.score(np.repeat(X, weight, axis=0), np.repeat(y, weight)))


def test_least_risk_costs_least():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.where(y == 0, "malignant", "benign")
    costs = {"malignant": {"benign": 20}, "benign": {"malignant": 1}}
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    careful = DecisionClassifier(LinearDiscriminantAnalysis(), costs).fit(X[train], y[train])
    usual = DecisionClassifier(LinearDiscriminantAnalysis()).fit(X[train], y[train])
    missed = [((m.predict(X[test]) == "benign") & (y[test] == "malignant")).sum() for m in (careful, usual)]
    assert missed[0] < missed[1]
    cheap, dear = (Decision(costs).total_risk(m.posterior(X[test]), y[test]) for m in (careful, usual))
    assert cheap == dear  # the same posterior and the same decision: what differs is what was predicted
    paid = np.where(usual.predict(X[test]) == y[test], 0, np.where(y[test] == "malignant", 20, 1)).mean()
    assert -careful.score(X[test], y[test]) < paid


def test_priors_of_the_field_equal_a_model_fitted_with_them():
    X, y = normal_classes()
    field = {0: 0.1, 1: 0.6, 2: 0.3}
    shifted = DecisionClassifier(LinearDiscriminantAnalysis(), priors=field).fit(X, y)
    refitted = LinearDiscriminantAnalysis(priors=field).fit(X, y)
    assert_allclose(shifted.predict_proba(X), refitted.predict_proba(X), rtol=1e-9, atol=1e-13)
    assert_array_equal(shifted.predict(X), refitted.predict(X))
    assert_allclose(shifted.training_priors_, np.bincount(y) / len(y))
    assert_allclose(shifted.priors_, [0.1, 0.6, 0.3])
    assert_allclose(posterior(shifted, X).priors, shifted.priors_)
    in_decision = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(priors=field)).fit(X, y)
    assert_array_equal(in_decision.predict_proba(X), shifted.predict_proba(X))


def test_maximum_likelihood_undoes_the_priors_a_model_was_given():
    X, y = normal_classes()
    one = DecisionClassifier(LinearDiscriminantAnalysis(priors=[0.8, 0.1, 0.1]), Decision(rule="ml")).fit(X, y)
    other = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(rule="ml")).fit(X, y)
    assert_allclose(one.training_priors_, [0.8, 0.1, 0.1])
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9, atol=1e-13)
    prior = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(rule="prior")).fit(X, y)
    assert set(prior.predict(X)) == {np.bincount(y).argmax()}


def test_class_weights_are_priors():
    X, y = normal_classes()
    shares = np.bincount(y) / len(y)
    weights = {0: 3.0, 2: 0.5}
    by_weight = DecisionClassifier(SklearnLogisticRegression(class_weight=weights)).fit(X, y).training_priors_
    expected = shares * [3.0, 1.0, 0.5]
    assert_allclose(by_weight, expected / expected.sum())
    balanced = make_pipeline(StandardScaler(), SklearnLogisticRegression(class_weight="balanced"))
    assert_allclose(DecisionClassifier(balanced).fit(X, y).training_priors_, 1 / 3)
    rows = np.random.default_rng(0).integers(1, 5, len(y))
    weighted = DecisionClassifier(SklearnLogisticRegression()).fit(X, y, sample_weight=rows)
    assert_allclose(weighted.training_priors_, np.bincount(y, rows) / rows.sum())


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_margins_are_calibrated_when_asked(method):
    X, y = normal_classes(K=2)
    model = DecisionClassifier(RidgeClassifier(), [[0, 1], [5, 0]], calibration=method, cv=3).fit(X, y)
    expected = CalibratedClassifierCV(RidgeClassifier(), method=method, cv=3).fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    assert_array_equal(model.predict(X) == 1, expected[:, 1] > 1 / 6)
    assert_allclose(model.training_priors_, np.bincount(y) / len(y))


def test_what_another_package_cannot_answer_is_our_error():
    X, y = normal_classes(K=2)
    model = DecisionClassifier(RidgeClassifier(), calibration="isotonic", cv=3).fit(X, y)
    with pytest.raises(InputError, match="NaN"):
        model.predict(np.where(X > 0, X, np.nan))


def test_margins_are_refused_and_a_fitted_model_stays_as_it_was():
    X, y = normal_classes()
    model = DecisionClassifier(LinearDiscriminantAnalysis()).fit(X, y)
    before = model.predict(X)
    model.set_params(estimator=LinearSVC())
    with pytest.raises(ParameterError, match="LinearSVC"):
        model.fit(X, y)
    assert_array_equal(model.predict(X), before)


def test_one_row_is_explained():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(reject_cost=0.1)).fit(X, y)
    whole = model.explain(X, row=70)
    single = model.explain(X.iloc[[70]])
    assert (single.action, single.runner_up) == (whole.action, whole.runner_up)
    assert_allclose(single.holds, whole.holds)
    assert whole.action == model.predict(X)[70]
    bare = DecisionClassifier(LinearDiscriminantAnalysis()).fit(X.to_numpy(), y)
    assert bare.explain(X.to_numpy()[70]) == bare.explain(X.to_numpy()[70:71])


def test_frames_sparse_rows_and_names():
    X, y = normal_classes()
    names = np.array(["u", "v", "w"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = DecisionClassifier(LinearDiscriminantAnalysis()).fit(frame, names)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    assert model.n_features_in_ == 4
    sparse = DecisionClassifier(LinearDiscriminantAnalysis()).fit(sp.csr_matrix(X), names)
    assert_array_equal(sparse.predict(sp.csr_matrix(X)), model.predict(frame))
    assert not hasattr(sparse, "feature_names_in_")


def test_clones_pickles_and_searches():
    X, y = normal_classes()
    model = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(COSTS, reject_cost=0.5)).fit(X, y)
    assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    grid = {"estimator__shrinkage": [None, 0.5], "decision": [None, Decision(reject_cost=0.4)]}
    search = GridSearchCV(DecisionClassifier(LinearDiscriminantAnalysis()), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_costs_of_each_row():
    X, y = normal_classes()
    costs = np.random.default_rng(0).uniform(0, 3, (len(X), 3, 2))
    model = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(costs, ["x", "y"])).fit(X, y)
    risk = np.einsum("nk,nka->na", model.predict_proba(X), costs)
    assert_array_equal(model.predict(X), np.array(["x", "y"])[risk.argmin(axis=1)])


def test_bad_input():
    X, y = normal_classes()
    lda = LinearDiscriminantAnalysis()
    with pytest.raises(NotFittedError):
        DecisionClassifier(lda).predict(X)
    with pytest.raises(NotFittedError):
        DecisionClassifier(lda).risk(X)
    with pytest.raises(ParameterError, match="costs"):
        DecisionClassifier(lda, {0: {1: 1}, 1: {0: 1}}).fit(X, y)
    with pytest.raises(ParameterError, match="calibration"):
        DecisionClassifier(lda, calibration="beta").fit(X, y)
    with pytest.raises(WeightError, match=r"KNeighborsClassifier.*sample_weight"):
        DecisionClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ParameterError, match="priors"):
        DecisionClassifier(lda, Decision(priors=[0.2, 0.3, 0.5]), priors=[0.2, 0.3, 0.5]).fit(X, y)
    with pytest.raises(ParameterError, match="priors"):
        DecisionClassifier(lda, priors=[0.2, 0.3, 0.6]).fit(X, y)
    with pytest.raises(LabelError, match=r"9.*row 0"):
        DecisionClassifier(lda).fit(X, y).score(X, np.full(len(y), 9))
    with pytest.raises(ParameterError, match=r"\[0, 1, 2\]"):
        DecisionClassifier(lda, Decision(thresholds={"a": 0.2})).fit(X, y)
