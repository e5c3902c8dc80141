"""Textbook solvers make the steps of their formulas, in the units of the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning

from discriminant import LogisticRegression
from discriminant.errors import ParameterError
from discriminant.solvers import IRLS, GradientDescent, StochasticGradient, Trace

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ROWS, LABELS = np.arange(1.0, 7.0)[:, None], np.array([0, 0, 1, 0, 1, 1])


def overlapping(n=60, p=2, K=2, seed=0):
    """Columns with large means and different scales, of classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return (rng.normal(size=(n, p)) + 0.6 * y[:, None]) * [1.0, 3.0][:p] + 5, y


def traced(solver, X=ROWS, y=LABELS, **settings):
    return LogisticRegression(solver=solver, trace=True, **{"max_iter": 20, **settings}).fit(X, y)


def augmented(X):
    return np.hstack((np.ones((len(X), 1)), X))


def path(trace):
    """Intercept and coefficients of two classes at each iteration."""
    return np.column_stack((trace.intercept[:, 0], trace.coef[:, 0]))


def test_gradient_ascent_makes_the_steps_of_the_listing():
    X, y = overlapping()
    rate, w, Z = 1e-3, np.zeros(3), augmented(X)
    wanted = [w]
    for _ in range(20):
        w = w + rate * Z.T @ (y - expit(Z @ w))
        wanted.append(w)
    trace = traced(GradientDescent(rate), X, y).trace_
    assert_allclose(path(trace), wanted, rtol=1e-9, atol=1e-13)
    assert_allclose(trace.log_likelihood, [np.sum(y * (Z @ w) - np.logaddexp(0, Z @ w)) for w in wanted], rtol=1e-12)
    assert_allclose(trace.gradient_norm, [np.linalg.norm(Z.T @ (y - expit(Z @ w))) for w in wanted], rtol=1e-9)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("decaying", lambda t: 1e-3 / (1 + t / 10)),
        ("square-root", lambda t: 1e-3 / np.sqrt(1 + t / 10)),
        (lambda t: 0.01 / (t + 3), lambda t: 0.01 / (t + 3)),
    ],
)
def test_schedules_by_name_or_function(schedule, rates):
    X, y = overlapping()
    w, Z = np.zeros(3), augmented(X)
    for t in range(20):
        w = w + rates(t) * Z.T @ (y - expit(Z @ w))
    solver = GradientDescent(schedule=schedule) if callable(schedule) else GradientDescent(1e-3, schedule)
    assert_allclose(path(traced(solver, X, y).trace_)[-1], w, rtol=1e-9)


@pytest.mark.parametrize("K", [2, 4])
def test_the_default_rate_always_ascends(K):
    X, y = overlapping(K=K)
    trace = traced(GradientDescent(), X, y, max_iter=300).trace_
    assert (np.diff(trace.log_likelihood) > 0).all()


def test_a_line_search_climbs_faster_than_the_safe_rate():
    X, y = overlapping()
    safe, searched = (traced(GradientDescent(schedule=s), X, y).trace_ for s in ("constant", "line-search"))
    assert (np.diff(searched.log_likelihood) > 0).all()
    assert searched.log_likelihood[-1] > safe.log_likelihood[-1]


def test_softmax_makes_the_steps_of_its_gradient():
    X, y = overlapping(K=3)
    Z, W, rate = augmented(X), np.zeros((3, 3)), 1e-3
    for _ in range(20):
        W = W - rate * (softmax(Z @ W.T, axis=1) - np.eye(3)[y]).T @ Z
    trace = traced(GradientDescent(rate), X, y).trace_
    assert_allclose(np.column_stack((trace.intercept[-1], trace.coef[-1])), W, rtol=1e-8, atol=1e-12)


def test_newton_raphson_is_weighted_least_squares_of_the_working_response():
    X, y = overlapping()
    Z, w, wanted = augmented(X), np.zeros(3), [np.zeros(3)]
    for _ in range(3):
        p = expit(Z @ w)
        D = p * (1 - p)
        response = Z @ w + (y - p) / D
        w = np.linalg.lstsq(np.sqrt(D)[:, None] * Z, np.sqrt(D) * response, rcond=None)[0]
        wanted.append(w)
    model = traced(IRLS(), X, y)
    assert_allclose(path(model.trace_), wanted, rtol=1e-7, atol=1e-10)
    assert model.solution_.converged
    assert_allclose(model.coef_, LogisticRegression().fit(X, y).coef_, rtol=1e-4)


def test_the_second_iterate_of_irls_on_six_points():
    assert_allclose(path(traced(IRLS()).trace_)[2], [-3.884, 1.110], atol=5e-4)


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_mini_batches_make_steps_scaled_by_n_over_b(batch):
    X, y = overlapping(20)
    Z, rate, rng = augmented(X), 1e-3, np.random.default_rng(5)
    w, wanted = np.zeros(3), [np.zeros(3)]
    while len(wanted) < 21:
        order = rng.permutation(20)
        for start in range(0, 20, batch):
            some = order[start : start + batch]
            w = w + rate * len(y) / len(some) * Z[some].T @ (y[some] - expit(Z[some] @ w))
            wanted.append(w)
    model = traced(StochasticGradient(rate, batch=batch), X, y, random_state=5)
    assert_allclose(path(model.trace_), wanted[:21], rtol=1e-8, atol=1e-12)
    untraced = LogisticRegression(solver=StochasticGradient(rate, batch=batch), max_iter=20, random_state=5).fit(X, y)
    assert_allclose(untraced.coef_, model.coef_, rtol=1e-12)
    assert untraced.solution_.iterations == model.solution_.iterations == 20


def test_the_mean_of_the_estimates_of_an_epoch_is_the_gradient():
    X, y = overlapping(12)
    rate = 1e-9  # so small that the point does not move
    trace = traced(StochasticGradient(rate, batch=3), X, y, max_iter=4, random_state=0).trace_
    estimates = np.diff(path(trace), axis=0) / rate
    assert_allclose(estimates.mean(axis=0), augmented(X).T @ (y - 0.5), rtol=1e-6, atol=1e-6)
    assert trace.n_iterations == 4


@pytest.mark.parametrize("schedule", ["constant", "decaying", "square-root"])
def test_stochastic_gradients_end_near_the_optimum(schedule):
    X, y = overlapping(300)
    X = X - X.mean(axis=0)
    model = LogisticRegression(solver=StochasticGradient(schedule=schedule, batch=10), max_iter=3_000, random_state=0)
    best, cloud = LogisticRegression().fit(X, y), 0.1 if schedule == "constant" else 0.01
    assert model.fit(X, y).solution_.objective <= best.solution_.objective * (1 + cloud)


def test_every_solver_has_a_trace_in_the_units_of_the_data():
    X, y = overlapping(K=3)
    for solver in ("newton", "lbfgs", "newton-cg", "gradient", "sgd", "coordinate", IRLS()):
        model = LogisticRegression(0.1, solver=solver, trace=True, max_iter=200).fit(X, y)
        trace = model.trace_
        assert isinstance(trace, Trace)
        assert_allclose(trace.coef[-1], model.coef_, rtol=1e-6, atol=1e-8)
        assert_allclose(trace.intercept[-1], model.intercept_, rtol=1e-6, atol=1e-8)
        log_probability = model.predict_log_proba(X)[np.arange(len(y)), y]
        assert trace.log_likelihood[-1] == pytest.approx(log_probability.sum(), rel=1e-9)
        assert trace.gradient_norm[-1] < 1e-3 * trace.gradient_norm[0]
        assert list(trace.to_frame().columns[:2]) == ["iteration", "intercept (0)"]


def test_a_long_trace_is_printed_short():
    text = str(traced(GradientDescent(0.01), max_iter=100).trace_)
    assert len(text.splitlines()) == 18
    assert "..." in text


def test_slow_convergence_is_reported():
    with pytest.warns(ConvergenceWarning, match=r"gradient descent.*max_iter.*solver='auto'"):
        LogisticRegression(solver=GradientDescent(), max_iter=5).fit(ROWS, LABELS)


def test_a_rate_too_large_diverges_and_says_so():
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LogisticRegression(solver=GradientDescent(10.0), max_iter=50).fit(X, y)
    assert not model.solution_.converged


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GradientDescent(schedule="fast"), "schedule.*'fast'"),
        (lambda: StochasticGradient(schedule="line-search"), "schedule.*'line-search'"),
        (lambda: GradientDescent(0.0), "rate"),
        (lambda: GradientDescent(0.1, lambda t: 0.1), "schedule is a function"),
        (lambda: StochasticGradient(batch=0), "batch"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_very_many_parameters_need_a_rate():
    X, y = np.random.default_rng(0).normal(size=(10, 2_100)), np.arange(10) % 2
    with pytest.raises(ParameterError, match="rate"):
        LogisticRegression(0.1, solver=GradientDescent()).fit(X, y)
    assert traced(GradientDescent(1e-4), X, y, alpha=0.1, max_iter=2).trace_.n_iterations == 2
