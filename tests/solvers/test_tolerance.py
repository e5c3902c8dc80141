"""Solutions are within ``tol`` without warnings, and passes are few for any order of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from discriminant import LogisticRegression
from discriminant.data import labelled_rows
from discriminant.losses import Logistic, Softmax
from discriminant.objective import ElasticNet, Objective
from discriminant.solvers.choice import default_tolerance, named_solver
from discriminant.solvers.columns import Columns
from discriminant.solvers.coordinate import alpha_grid, regularisation_path


def gumbel_rows(n, p, K, sharpness=1.0, tail=None, seed=0):
    """Classes whose log-odds are linear in normal columns, or in heavy-tailed ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) if tail is None else rng.standard_t(tail, size=(n, p))
    return X, (X @ (sharpness * rng.normal(size=(p, K))) + rng.gumbel(size=(n, K))).argmax(axis=1)


def rare_class(n, p, share):
    X = np.random.default_rng(0).normal(size=(n, p))
    return X, (np.argsort(np.argsort(X[:, 0] + 2 * X[:, -1] ** 2)) >= n - max(3, round(n * share))).astype(int)


def in_units(X, y):
    return X * np.geomspace(1e-8, 1e8, X.shape[1]), y


def words(n, p, K):
    """Sparse counts by Zipf's law: all columns have to do with the intercept."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1.0, p + 1)
    columns = rng.choice(p, size=(n, 30), p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * 30), columns.ravel(), np.arange(0, n * 30 + 1, 30)), shape=(n, p))
    return X, (X @ rng.normal(size=(p, K)) / 3 + rng.gumbel(size=(n, K))).argmax(axis=1)


#: Rows, classes and the strength of the penalty. Without one, no warning of separation may come either.
PROBLEMS = {
    "flat, many classes": (lambda: gumbel_rows(700, 70, 9), 1e-6),
    "flat, three classes": (lambda: gumbel_rows(400, 210, 3), 1e-6),
    "flat, wide": (lambda: gumbel_rows(150, 620, 2), 1e-6),
    "nearly separated": (lambda: gumbel_rows(1_500, 30, 2, 8.0), 0.0),
    "badly scaled": (lambda: in_units(*gumbel_rows(800, 120, 6, 0.3)), 1e-5),
    "heavy tails": (lambda: gumbel_rows(900, 80, 8, 0.1, 1.5), 1e-5),
    "heavy tails, two classes": (lambda: gumbel_rows(900, 30, 2, 0.1, 1.5), 1e-5),
    "one of 20,000": (lambda: rare_class(60_000, 8, 5e-5), 1e-6),
    "50 classes": (lambda: gumbel_rows(1_500, 10, 50, 0.5), 0.0),
    "words": (lambda: words(400, 2_100, 3), 1e-3),
}


def least_near(objective, theta):
    """The objective's minimum to machine precision, by Newton's method with all second derivatives."""
    best, _ = objective.value_and_gradient(theta)
    for _ in range(5):
        _, gradient, hessian = objective.value_gradient_hessian(theta)
        theta = theta - np.linalg.lstsq(hessian, gradient.ravel(), rcond=1e-15)[0].reshape(theta.shape)
        best = min(best, objective.value_and_gradient(theta)[0])
    return best


@pytest.mark.parametrize("name", PROBLEMS)
def test_defaults_reach_their_tolerance_without_a_warning(name):
    make, alpha = PROBLEMS[name]
    model = LogisticRegression(alpha=alpha).fit(*make())
    found, objective = model.solution_, model._training
    value = objective.value_and_gradient(found.theta)[0]
    assert found.converged
    if objective.n_parameters < 3_000:
        assert value - least_near(objective, found.theta) <= default_tolerance(objective) * value


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("solver", ["newton", "newton-cg", "lbfgs"])
@pytest.mark.parametrize("seed", range(3))
def test_the_suboptimality_is_within_the_tolerance(solver, tol, seed):
    rng = np.random.default_rng(seed)
    K, p, alpha = int(rng.integers(2, 6)), int(rng.integers(5, 40)), 10.0 ** rng.integers(-6, -1)
    X, y = gumbel_rows(int(rng.integers(8, 20)) * p, p, K, rng.choice([0.3, 2.0]), seed=seed)
    X = X @ rng.normal(size=(p, p)) + 3
    objective = Objective(labelled_rows(X, y), Logistic() if K == 2 else Softmax(), ElasticNet(alpha))
    found = named_solver(solver, objective)(objective, np.zeros(objective.shape), tol, 2_000)
    best = named_solver("newton", objective)(objective, found.theta, 1e-14, 100).theta
    assert found.converged
    assert found.objective - least_near(objective, best) <= tol * found.objective


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
@pytest.mark.parametrize("order", ["period", "class", "column"])
def test_rows_in_any_order_take_as_many_passes_as_shuffled_ones(solver, order):
    X, y = gumbel_rows(120_000, 4, 2)
    rows = {"class": np.argsort(y, kind="stable"), "column": np.argsort(X[:, 0])}.get(order)
    if rows is None:  # every eighth row is one of the second class, all others are of the first
        first, second = np.flatnonzero(y == 0)[: 7 * 8_000].reshape(-1, 7), np.flatnonzero(y == 1)[:8_000]
        rows = np.column_stack((second, first)).ravel()
    shuffled = np.random.default_rng(0).permutation(rows)

    def passes(rows):
        objective = Objective(labelled_rows(X[rows], y[rows]), Logistic())
        found = named_solver(solver, objective)(objective, np.zeros(objective.shape), 1e-8, 500)
        assert found.converged
        return found.passes

    assert passes(rows) <= 1.5 * passes(shuffled)


@pytest.mark.parametrize("make", [lambda: gumbel_rows(30_000, 60, 12, 0.1), lambda: words(30_000, 2_100, 3)])
def test_threads_leave_no_trace_in_what_newton_cg_finds(make):
    X, y = make()
    one, two = (LogisticRegression(alpha=1e-3, n_jobs=n_jobs, tol=1e-6).fit(X, y) for n_jobs in (1, 2))
    assert one.solution_.solver == "newton-cg"
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)


def zipf_text(n, p, n_classes):
    """Log word counts with Zipf's frequencies, as the benchmark has them."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, p + 1) ** 0.9
    columns = rng.choice(p, size=(n, 60), p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * 60), columns.ravel(), np.arange(0, n * 60 + 1, 60)), shape=(n, p))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    scores = X @ (rng.normal(size=(p, n_classes)) * (rng.random((p, 1)) < 0.3))
    return X, (2 * (scores - scores.mean(axis=0)) / scores.std() + rng.gumbel(size=scores.shape)).argmax(axis=1)


def correlated_rows(n, p, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) @ (rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p))
    return X, (X @ rng.normal(size=(p, n_classes)) * 2 / np.sqrt(p) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


@pytest.mark.parametrize(
    ("make", "alpha", "passes"),
    [
        (lambda: zipf_text(5_000, 8_000, 10), 1 / 5_000, 36),
        (lambda: zipf_text(20_000, 10_000, 2), 1e-5, 56),
        (lambda: correlated_rows(15_000, 100, 10), 0.0, 13),
        (lambda: correlated_rows(15_000, 100, 3), 0.0, 14),
        (lambda: correlated_rows(40_000, 50, 2), 0.0, 12),
    ],
    ids=["text, 10 classes", "text, 2 classes", "dense, 10 classes", "dense, 3 classes", "dense, 2 classes"],
)
def test_fits_of_the_benchmark_take_few_passes(make, alpha, passes):
    model = LogisticRegression(alpha=alpha, standardize=False, tol=1e-7).fit(*make())
    assert model.solution_.converged
    assert model.solution_.passes <= passes


@pytest.mark.parametrize(
    ("make", "n_classes", "streamed", "passes"),
    [
        (lambda: zipf_text(2_000, 3_000, 2), 2, False, 5_000),
        (lambda: correlated_rows(4_000, 60, 2), 2, False, 1_700),
        (lambda: correlated_rows(4_000, 60, 3), 3, False, 3_500),
        (lambda: correlated_rows(4_000, 60, 2), 2, True, 220),
    ],
    ids=["text", "dense", "3 classes", "by passes"],
)
def test_lasso_paths_of_the_benchmark_take_few_passes(monkeypatch, make, n_classes, streamed, passes):
    """Visits of a column in coordinate descent count as a share of a pass."""
    if streamed:
        monkeypatch.setattr(Columns, "of", classmethod(lambda cls, objective: None))
    X, y = make()
    objective = Objective(labelled_rows(X, y), Logistic() if n_classes == 2 else Softmax(), ElasticNet(1.0, 1.0))
    path = regularisation_path(objective, alpha_grid(objective, 50), 1e-7)
    assert all(solution.converged for solution in path)
    assert path[-1].passes <= passes
