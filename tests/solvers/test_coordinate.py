"""L1 and elastic-net solutions: their optimality conditions, independent solvers, and the laws of paths."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from discriminant.data import labelled_rows, with_offset
from discriminant.errors import ParameterError
from discriminant.losses import Logistic, Softmax, SquaredHinge
from discriminant.objective import ElasticNet, Objective
from discriminant.solvers import l1_penalty, proximal_newton
from discriminant.solvers.columns import Columns
from discriminant.solvers.coordinate import alpha_grid, alpha_max, minimise, regularisation_path
from discriminant.solvers.l1_penalty import symmetric

TIGHT = 1e-15


@pytest.fixture(params=["columns", "passes"])
def solver(request, monkeypatch):
    """Both solvers, for tables of any size."""
    if request.param == "passes":
        monkeypatch.setattr(Columns, "of", classmethod(lambda cls, objective: None))


def table(n=300, p=12, n_classes=2, seed=0):
    """Correlated columns, a few of which matter, and classes drawn from the logistic model."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    coef = np.zeros((n_classes, p))
    coef[:, :4] = random.standard_normal((n_classes, 4))
    scores = X @ coef.T + random.gumbel(size=(n, n_classes))
    return X, np.argmax(scores, axis=1)


def objective_of(X, y, alpha, l1_ratio=1.0, loss=None, weight=None, offset=None, **options):
    loss = loss or (Logistic() if len(np.unique(y)) == 2 else Softmax())
    data = with_offset(labelled_rows(X, y, weight), offset)
    return Objective(data, loss, ElasticNet(alpha, l1_ratio), **options)


def solve(objective, tol=TIGHT):
    objective = symmetric(objective)
    solution = minimise(objective, np.zeros(objective.shape), tol, 200)
    assert solution.converged, solution.reason
    return solution


def linear(objective, solution):
    """Coefficients and intercepts in the units of the data."""
    objective = symmetric(objective)
    coef, centred = objective.linear(solution.theta)
    return coef, centred - coef @ objective.standardised.centre


def fitted(objective, tol=TIGHT):
    return linear(objective, solve(objective, tol))


def kkt_violation(X, y, coef, intercept, alpha, l1_ratio):
    """The largest violation of the optimality conditions, from the textbook formulas."""
    scores = X @ coef.T + intercept
    if len(coef) == 1:
        residual = 1 / (1 + np.exp(-scores)) - y[:, None]
    else:
        probability = np.exp(scores - scores.max(axis=1, keepdims=True))
        residual = probability / probability.sum(axis=1, keepdims=True) - np.eye(len(coef))[y]
    slope = residual.T @ X / len(X) + alpha * (1 - l1_ratio) * coef
    at_zero = np.maximum(np.abs(slope) - alpha * l1_ratio, 0)
    elsewhere = np.abs(slope + alpha * l1_ratio * np.sign(coef))
    return max(np.where(coef == 0, at_zero, elsewhere).max(), np.abs(residual.mean(axis=0)).max())


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.05, 0.0])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("alpha", [0.1, 0.003])
@pytest.mark.usefixtures("solver")
def test_optimality_conditions_hold(alpha, n_classes, l1_ratio):
    X, y = table(n_classes=n_classes)
    coef, intercept = fitted(objective_of(X, y, alpha, l1_ratio))
    assert kkt_violation(X, y, coef, intercept, alpha, l1_ratio) < 1e-8


def test_no_penalty_is_maximum_likelihood():
    X, y = table()
    coef, intercept = fitted(objective_of(X, y, 0.0))
    assert kkt_violation(X, y, coef, intercept, 0.0, 0.0) < 1e-8


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_as_saga(n_classes, l1_ratio):
    X, y = table(200, 8, n_classes)
    alpha = 0.02
    saga = LogisticRegression(
        solver="saga", l1_ratio=l1_ratio, C=1 / (len(X) * alpha), tol=1e-13, max_iter=100_000, random_state=0
    ).fit(X, y)
    coef, intercept = fitted(objective_of(X, y, alpha, l1_ratio))
    np.testing.assert_allclose(coef, saga.coef_, atol=1e-6)
    np.testing.assert_allclose(intercept, saga.intercept_, atol=1e-6)


def test_zeros_are_exact():
    X, y = table(p=40)
    coef, _ = fitted(objective_of(X, y, 0.05))
    assert 0 < np.count_nonzero(coef) < 20


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.usefixtures("solver")
def test_sparse_rows_are_dense_rows(n_classes, l1_ratio):
    X, y = table(n_classes=n_classes)
    X[np.abs(X) < 0.8] = 0.0
    dense, sparse = (fitted(objective_of(rows, y, 0.01, l1_ratio)) for rows in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(sparse[0], dense[0], atol=1e-7)
    np.testing.assert_allclose(sparse[1], dense[1], atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
def test_weights_are_repeated_rows(rows, n_classes):
    X, y = table(150, n_classes=n_classes)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = fitted(objective_of(rows(X), y, 0.01, weight=weight))
    repeated = fitted(objective_of(rows(np.repeat(X, weight, axis=0)), np.repeat(y, weight), 0.01))
    np.testing.assert_allclose(weighted[0], repeated[0], atol=1e-7)
    np.testing.assert_allclose(weighted[1], repeated[1], atol=1e-7)


def test_single_precision_rows_are_read_exactly():
    X, y = table()
    X = X.astype(np.float32)
    np.testing.assert_allclose(
        fitted(objective_of(X, y, 0.01))[0], fitted(objective_of(X.astype(np.float64), y, 0.01))[0], atol=1e-7
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_offset_of_the_solution_leaves_nothing_to_add(n_classes):
    X, y = table(n_classes=n_classes)
    objective = objective_of(X, y, 0.01)
    coef, intercept = fitted(objective)
    scores = X @ coef.T + intercept
    offset = scores[:, 0] if n_classes == 2 else scores
    # Without a penalty on the change the optimum moves; with a large one only the intercept could, and it does not.
    again, shift = fitted(objective_of(X, y, 1.0, offset=offset))
    assert not again.any()
    np.testing.assert_allclose(shift, 0.0, atol=1e-7)


def test_offsets_shift_scores():
    X, y = table()
    shift = X @ np.linspace(-0.1, 0.1, X.shape[1])
    coef, intercept = fitted(objective_of(X, y, 0.01, offset=shift))
    scores = X @ coef.T + intercept + shift[:, None]
    residual = 1 / (1 + np.exp(-scores)) - y[:, None]
    slope = residual.T @ X / len(X)
    assert np.abs(slope + 0.01 * np.sign(coef))[coef != 0].max() < 1e-8
    assert np.abs(slope).max() < 0.01 + 1e-8


def test_without_intercept():
    X, y = table()
    objective = objective_of(X + 0.3, y, 0.01, fit_intercept=False)
    solution = solve(objective)
    coef, _ = objective.linear(solution.theta)
    centred = X + 0.3 - objective.standardised.centre
    residual = 1 / (1 + np.exp(-centred @ coef.T)) - y[:, None]
    slope = residual.T @ centred / len(X)
    assert np.abs(slope + 0.01 * np.sign(coef))[coef != 0].max() < 1e-8
    assert solution.duality_gap < 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_units_matter_for_the_penalty_only(n_classes):
    X, y = table(p=7, n_classes=n_classes)
    units = 10.0 ** np.arange(-6, 8, 2)
    coef, intercept = fitted(objective_of(X * units, y, 0.01))
    scores = (X * units) @ coef.T + intercept
    if n_classes == 2:
        residual = 1 / (1 + np.exp(-scores)) - y[:, None]
    else:
        probability = np.exp(scores - scores.max(axis=1, keepdims=True))
        residual = probability / probability.sum(axis=1, keepdims=True) - np.eye(n_classes)[y]
    slope, l1 = residual.T @ X / len(X), 0.01 / units
    assert np.where(coef == 0, 0, np.abs(slope + l1 * np.sign(coef))).max() < 1e-8
    assert (np.abs(slope) <= l1 + 1e-8).all()
    assert not coef[:, 0].any()
    assert coef[:, -1].any()


def test_large_centres_change_nothing():
    X, y = table()
    near, far = fitted(objective_of(X, y, 0.01)), fitted(objective_of(X + 1e5, y, 0.01))
    np.testing.assert_allclose(far[0], near[0], atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
def test_duplicate_zero_and_constant_columns(rows, n_classes):
    X, y = table(p=6, n_classes=n_classes)
    wide = np.column_stack((X, X, np.zeros(len(X)), np.full(len(X), 3.0), X[:, :3] + X[:, 3:]))
    coef, intercept = fitted(objective_of(rows(wide), y, 0.01), 1e-14)
    assert kkt_violation(wide, y, coef, intercept, 0.01, 1.0) < 1e-6
    assert not coef[:, 12].any()
    assert not coef[:, 13].any()
    plain = solve(objective_of(np.column_stack((X, X[:, :3] + X[:, 3:])), y, 0.01))
    twice = solve(objective_of(rows(wide), y, 0.01), 1e-14)
    assert twice.objective == pytest.approx(plain.objective, rel=1e-10)


def test_nearly_collinear_columns_converge_fast():
    random = np.random.default_rng(0)
    X, y = table(400, 10)
    X = np.column_stack((X, X + 1e-4 * random.standard_normal(X.shape)))
    solution = solve(objective_of(X, y, 1e-5), 1e-12)
    assert solution.iterations < 40


def test_more_columns_than_rows():
    X, y = table(60, 300)
    coef, intercept = fitted(objective_of(X, y, 0.02))
    assert kkt_violation(X, y, coef, intercept, 0.02, 1.0) < 1e-8


def test_working_sets_grow_where_all_columns_matter():
    X, y = table(1_000, 400)
    coef, intercept = fitted(objective_of(X, y, 1e-4))
    assert np.count_nonzero(coef) > proximal_newton.INITIAL_WORKING_SET_SIZE
    assert kkt_violation(X, y, coef, intercept, 1e-4, 1.0) < 1e-8


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_the_duality_gap_bounds_the_distance(n_classes, l1_ratio):
    X, y = table(n_classes=n_classes)
    objective = objective_of(X, y, 0.01, l1_ratio)
    best = solve(objective)
    assert best.duality_gap < 1e-5  # a bound of first order: the distance itself is below 1e-14
    for tol in (1e-1, 1e-2, 1e-4, 1e-6):
        rough = solve(objective, tol)
        distance = rough.objective - best.objective
        assert -1e-14 <= distance <= rough.duality_gap + 1e-14
        assert distance <= 3 * tol * best.objective


def test_the_suboptimality_is_an_estimate_of_the_distance():
    X, y = table(2_000, 30)
    objective = objective_of(X, y, 0.002)
    best, rough = solve(objective), solve(objective, 1e-3)
    distance = (rough.objective - best.objective) / best.objective
    assert rough.suboptimality / 3 <= distance <= 3 * rough.suboptimality


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_alpha_max_is_sharp(fit_intercept, l1_ratio, n_classes):
    X, y = table(n_classes=n_classes)
    objective = objective_of(X, y, 1.0, l1_ratio, fit_intercept=fit_intercept)
    top = alpha_max(objective)
    for factor, any_left in ((1 + 1e-9, False), (1 - 1e-4, True)):
        there = replace(objective, penalty=ElasticNet(factor * top, l1_ratio))
        coef, _ = fitted(there)
        assert coef.any() == any_left


def test_alpha_max_with_offsets_and_weights():
    X, y = table()
    random = np.random.default_rng(0)
    objective = objective_of(X, y, 1.0, weight=random.random(len(y)), offset=random.standard_normal(len(y)))
    top = alpha_max(objective)
    assert not fitted(replace(objective, penalty=ElasticNet(top * (1 + 1e-6), 1.0)))[0].any()
    assert fitted(replace(objective, penalty=ElasticNet(top * (1 - 1e-4), 1.0)))[0].any()


def test_ridge_has_no_alpha_max():
    X, y = table()
    with pytest.raises(ParameterError, match="alphas"):
        alpha_max(objective_of(X, y, 1.0, 0.0))


def test_strengths_must_decrease():
    X, y = table()
    with pytest.raises(ParameterError, match="decreasing"):
        regularisation_path(objective_of(X, y, 1.0), [0.1, 0.2])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.usefixtures("solver")
def test_a_path_is_made_of_cold_fits(l1_ratio, n_classes):
    X, y = table(p=20, n_classes=n_classes)
    objective = objective_of(X, y, 1.0, l1_ratio)
    alphas = alpha_grid(objective, 12, 1e-2)
    solutions = regularisation_path(objective, alphas, TIGHT)
    for alpha, solution in zip(alphas, solutions, strict=True):
        there = replace(objective, penalty=ElasticNet(alpha, l1_ratio))
        cold = fitted(there)
        np.testing.assert_allclose(linear(there, solution)[0], cold[0], atol=1e-6)
        np.testing.assert_allclose(linear(there, solution)[1], cold[1], atol=1e-6)


def test_a_path_reaches_its_tolerance_everywhere():
    X, y = table(2_000, 100)
    objective = objective_of(X, y, 1.0)
    alphas = alpha_grid(objective, 30)
    rough, exact = (regularisation_path(objective, alphas, tol) for tol in (1e-7, 1e-14))
    for a, b in zip(rough, exact, strict=True):
        assert a.converged
        assert a.objective - b.objective <= 2e-7 * b.objective


def test_streamed_paths_keep_the_hessian(monkeypatch):
    monkeypatch.setattr(Columns, "of", classmethod(lambda cls, objective: None))
    objective, renewed = objective_of(*table(2_000, 100), 1.0), []
    renew = proximal_newton.WorkingModel.renew
    monkeypatch.setattr(
        proximal_newton.WorkingModel, "renew", lambda model, *at: (renewed.append(model), renew(model, *at))[1]
    )
    solutions = regularisation_path(objective, alpha_grid(objective, 50), 1e-7)
    assert all(solution.converged for solution in solutions)
    assert len(renewed) <= 25
    assert solutions[-1].passes <= 170


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_nothing(n_classes):
    X, y = table(60_000, 30, n_classes)
    one, two = (
        regularisation_path(objective_of(X, y, 1.0, n_jobs=n_jobs), [0.1, 0.03, 0.01], 1e-9) for n_jobs in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.theta, b.theta)


def test_a_warm_start_is_recognised():
    X, y = table(n_classes=3)
    objective = objective_of(X, y, 0.01)
    solution = solve(objective)
    again = minimise(objective, solution.theta, 1e-10, 100)
    assert again.iterations == 0
    np.testing.assert_allclose(again.theta, solution.theta, atol=1e-12)


def test_contrasts_are_a_start_too():
    X, y = table(n_classes=3)
    objective = objective_of(X, y, 0.01)
    start = np.random.default_rng(0).standard_normal(objective.shape)
    solution = minimise(objective, start, TIGHT, 100)
    np.testing.assert_allclose(solution.theta, solve(objective).theta, atol=1e-6)


def test_softmax_intercepts_sum_to_zero():
    X, y = table(n_classes=3)
    assert abs(fitted(objective_of(X + 3.0, y, 0.01))[1].sum()) < 1e-12


def test_other_smooth_losses():
    X, y = table()
    objective = objective_of(X, y, 0.02, loss=SquaredHinge())
    solution = solve(objective, 1e-12)
    assert solution.gradient_norm < 1e-5
    assert solution.duality_gap is None


def test_every_step_descends():
    X, y = table()
    objective = objective_of(X, y, 0.01)
    solution = minimise(objective, np.zeros(objective.shape), 1e-10, 100, trace=True)
    values = [step.value for step in solution.trace]
    assert len(values) == solution.iterations + 1
    assert (np.diff(values) < 0).all()


def test_too_few_iterations_are_reported():
    X, y = table()
    objective = objective_of(X, y, 0.001)
    solution = minimise(objective, np.zeros(objective.shape), TIGHT, 1)
    assert not solution.converged
    assert solution.reason == "max_iter"


@pytest.mark.parametrize("right", [-2.0, 0.0, 0.5])
@pytest.mark.parametrize("sides", [[1.0, -2.0, 3.0], [-1.0, -1.5], [0.0, 0.25]])
def test_one_equation_is_solved_as_several_are(sides, right):
    from scipy.optimize import nnls

    found, left = l1_penalty._nonnegative_least_squares(np.array([sides]), np.array([right]))
    expected, distance = nnls(np.array([sides]), np.array([right]))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert left == pytest.approx(distance, abs=1e-15)
