"""Classifiers by their loss: least mean squares, the squared error of a sigmoid, with solvers as they are taught."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from discriminant import (
    LeastSquaresClassifier,
    LinearClassifier,
    LogisticRegression,
    LossClassifier,
    OneVsRest,
    load,
    save,
)
from discriminant.datasets import six_rows
from discriminant.errors import LabelError, ParameterError
from discriminant.solvers import IRLS, GradientDescent, StochasticGradient
from helpers import normal_classes

LOSSES = ("squared", "squared_sigmoid", "logistic", "squared_hinge")


def fitted(loss="squared", **settings):
    data = six_rows()
    return LossClassifier(loss, **settings).fit(data.X, data.y)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_descent_comes_to_a_minimum_of_the_loss(loss):
    X, y = normal_classes(80, 2, 2, 3)

    def total(w):
        return LinearClassifier(w[:2], w[2]).losses(X, y, loss).mean()

    model = LossClassifier(loss, tol=1e-10, max_iter=50_000).fit(X, y)
    reached = np.append(model.coef_, model.intercept_)
    assert_allclose(reached, minimize(total, reached, tol=1e-12).x, rtol=1e-3)
    assert model.solution_.objective == pytest.approx(total(reached))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", LOSSES)
def test_the_default_rate_always_descends(loss):
    for seed in range(5):
        X, y = normal_classes(40, 3, 2, seed)
        trace = LossClassifier(loss, trace=True, max_iter=200).fit(3 * X + 1, y).trace_
        assert (np.diff(trace.objective) < 0).all()


def test_lms_steps_are_widrow_and_hoffs():
    data, eta, w = six_rows(), 0.05, np.zeros(2)
    signs = 2 * np.asarray(data.y) - 1
    for i in np.random.default_rng(4).permutation(6):
        x = np.append(1.0, data.X[i])
        w = w + eta * (signs[i] - w @ x) * x
    with pytest.warns(ConvergenceWarning, match="6"):
        model = fitted(solver=StochasticGradient(eta / 6), max_iter=6, trace=True, random_state=4)
    assert_allclose([model.trace_.intercept[-1, 0], model.trace_.coef[-1, 0, 0]], w, rtol=1e-12)
    assert model.trace_.n_iterations == 6


def test_newtons_first_step_is_least_squares():
    data = six_rows()
    model = fitted(solver=IRLS())
    assert model.solution_.iterations == 1
    squares = LeastSquaresClassifier().fit(data.X, data.y)  # of 0 and 1: half of the slope of -1 and +1
    assert_allclose(model.coef_, squares.coef_, rtol=1e-12)
    assert_array_equal(model.predict(data.X), squares.predict(data.X))


def test_the_logistic_loss_is_logistic_regression():
    data = six_rows()
    ours = fitted("logistic", solver=IRLS(), tol=1e-14)
    known = LogisticRegression().fit(data.X, data.y)
    assert_allclose(ours.coef_, known.coef_, rtol=1e-8)
    assert_allclose(ours.predict_proba(data.X), known.predict_proba(data.X), rtol=1e-8)


def test_the_squared_error_of_a_sigmoid_is_stuck_in_a_minimum_that_is_not_the_least():
    X = np.array([-2.0, -1.5, -1.0, 1.0, 1.5, 2.0, 8.0])[:, None]
    y = [0, 0, 0, 1, 1, 1, 0]
    model = LossClassifier("squared_sigmoid", tol=1e-12).fit(X, y)
    w, b = model.coef_[0, 0], model.intercept_[0]

    def total(w, b):
        return LinearClassifier([w], b).losses(X, y, "squared_sigmoid").sum()

    around = [total(w + 0.02 * np.cos(a), b + 0.02 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 24)]
    assert min(around) > total(w, b)  # a minimum
    assert total(w, b) > 1.6
    assert total(20.0, 0.0) == pytest.approx(1, rel=1e-6)  # one row wrong, the others right, is better


def test_probabilities_are_those_of_losses_about_them():
    data = six_rows()
    model = fitted("squared_sigmoid")
    assert_allclose(model.predict_proba(data.X)[:, 1], expit(model.decision_function(data.X)))
    assert not hasattr(fitted("squared"), "predict_proba")


def test_weights_are_repeated_rows():
    data = six_rows()
    counts = [1, 2, 1, 3, 1, 2]
    weighted = LossClassifier().fit(data.X, data.y, counts)
    repeated = LossClassifier().fit(np.repeat(data.X, counts, axis=0), np.repeat(data.y, counts))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)


def test_it_is_stored_with_its_solver_and_its_way(tmp_path):
    data = six_rows()
    model = fitted("squared_sigmoid", solver=GradientDescent(schedule="line-search"), trace=True)
    save(model, tmp_path / "model.dsc")
    found = load(tmp_path / "model.dsc")
    assert found.solver == model.solver
    assert_array_equal(found.trace_.coef, model.trace_.coef)
    assert_array_equal(found.predict_proba(data.X), model.predict_proba(data.X))


def test_more_classes_take_one_classifier_each():
    X, y = normal_classes(120, 2, 3, 0)
    assert len(OneVsRest(LossClassifier()).fit(X, y).estimators_) == 3
    with pytest.raises(LabelError, match="OneVsRest"):
        LossClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "cubic"}, "loss"),
        ({"loss": "hinge"}, "loss"),
        ({"solver": "irls"}, "solvers.IRLS"),
        ({"loss": "squared_sigmoid", "solver": IRLS()}, "squared_sigmoid|convex"),
        ({"solver": GradientDescent(10.0)}, "rate"),
        ({"solver": GradientDescent(10.0), "trace": True}, "rate"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": 0}, "tol"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        fitted(**settings)


def test_rows_without_a_number_are_blamed_before_the_rate():
    with pytest.raises(ValueError, match="NaN"):
        LossClassifier().fit([[1.0], [np.nan], [2.0], [3.0]], [0, 1, 0, 1])


def test_a_perfect_fit_ends_without_a_warning():
    model = LossClassifier(tol=1e-12).fit([[-1.0], [1.0]], [0, 1])
    assert_allclose(model.coef_, 1, rtol=1e-3)
