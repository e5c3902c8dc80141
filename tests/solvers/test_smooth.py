"""Solvers of smooth objectives find the same optimum, and report the values of the point they return."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import discriminant
from discriminant.data import labelled_rows
from discriminant.errors import ParameterError
from discriminant.losses import Logistic, Softmax, SquaredHinge
from discriminant.objective import ElasticNet, Objective
from discriminant.solvers import Solution
from discriminant.solvers.choice import minimise_in_row_span, named_solver
from discriminant.solvers.gradient import Epochs, minimise_sgd, split_rows
from discriminant.solvers.lbfgs import LBFGSMemory
from discriminant.solvers.line_search import line_search
from discriminant.solvers.newton_cg import CGLimits, conjugate_gradients
from discriminant.solvers.preconditioners import diagonal_preconditioner, moment_preconditioner
from discriminant.solvers.row_span import is_wide

SMOOTH = ["newton", "lbfgs", "newton-cg", "gradient", "sgd"]


def objective_of(n=400, p=5, K=2, alpha=0.01, l1_ratio=0.0, loss=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 5
    scores = X @ rng.normal(size=(p, K)) / p
    y = np.argmax(scores - scores.mean(axis=0) + rng.gumbel(size=scores.shape), axis=1)
    loss = loss or (Logistic() if K == 2 else Softmax())
    return Objective(labelled_rows(X, y), loss, ElasticNet(alpha, l1_ratio))


def solve(objective, solver, tol=1e-9, max_iter=500, **more):
    return named_solver(solver, objective)(objective, np.zeros(objective.shape), tol, max_iter, **more)


@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("K", [2, 3])
def test_all_reach_one_optimum(solver, K):
    objective = objective_of(K=K)
    found, best = solve(objective, solver, max_iter=2_000), solve(objective, "newton", 1e-14)
    assert found.converged
    assert_allclose(found.theta, best.theta, atol=1e-3)
    assert 0 <= found.objective - best.objective + 1e-15 <= 1e-8 * best.objective


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "newton-cg"])
def test_a_loss_with_discontinuous_second_derivatives_is_minimised_too(solver):
    objective = objective_of(loss=SquaredHinge())
    assert solve(objective, solver).gradient_norm < 1e-4


@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("max_iter", [1, 500])
@pytest.mark.parametrize("trace", [False, True])
def test_a_solution_describes_the_point_it_returns(solver, max_iter, trace):
    objective = objective_of()
    found = solve(objective, solver, max_iter=max_iter, trace=trace)
    value, gradient = objective.value_and_gradient(found.theta)
    assert found.objective == value
    assert found.gradient_norm == np.abs(gradient).max()
    assert 1 <= found.iterations <= max_iter
    assert found.converged == (found.reason == "optimal")
    if trace:
        assert_array_equal(found.trace[-1].theta, found.theta)
        assert len(found.trace) == found.iterations + 1


@pytest.mark.parametrize("K", [2, 3])
def test_large_data_take_few_passes(K):
    objective = objective_of(210_000, 10, K)
    found = solve(objective, "newton", 1e-8)
    assert found.converged
    assert found.passes < 5
    value, gradient = objective.value_and_gradient(found.theta)
    assert found.objective == value
    assert found.gradient_norm == np.abs(gradient).max()


def test_samples_count_as_iterations():
    objective = objective_of(70_000, 4)
    found = solve(objective, "newton")
    assert found.iterations > 3
    assert found.passes < found.iterations


def test_steps_on_samples_and_on_all_rows_have_one_budget():
    found = solve(objective_of(70_000, 4), "newton", max_iter=2)
    assert found.iterations == 2
    assert found.reason == "max_iter"


def test_separated_classes_have_no_minimum():
    X = np.linspace(-1, 1, 20)[:, None]
    objective = Objective(labelled_rows(X, X[:, 0] > 0), Logistic())
    for solver in ("newton", "lbfgs", "newton-cg"):
        assert solve(objective, solver).reason == "vanishing loss"


def test_stopping_early_returns_the_best_point_and_its_values():
    learn, held = split_rows(objective_of(60, 12, alpha=0.0), 0.3, 0)
    found = minimise_sgd(learn, np.zeros(learn.shape), 1e-12, 200, trace=True, epochs=Epochs(0, held))
    assert found.reason == "early stopping"
    assert found.objective == learn.value_and_gradient(found.theta)[0]
    losses = [held.value_and_gradient(point.theta)[0] for point in found.trace]
    assert losses.index(min(losses)) == found.iterations - 5
    assert_array_equal(found.theta, found.trace[found.iterations - 5].theta)


class TestLineSearch:
    @staticmethod
    def search(function, start, slope, direction):
        return line_search(lambda x: (float(function(x)),), start, float(function(start)), direction, slope * direction)

    def test_a_full_step_is_taken_where_it_descends(self):
        assert self.search(np.square, 3.0, 6.0, 3.0) == (0.0, (0.0,))

    def test_a_step_too_long_is_shortened(self):
        new, (value,) = self.search(np.square, 3.0, 6.0, 300.0)
        assert value < 9
        assert abs(new) < 3

    def test_infinity_and_undefined_values_are_not_accepted(self):
        with np.errstate(invalid="ignore", divide="ignore"):
            new, (value,) = self.search(lambda x: -np.log(x) + x, 3.0, 2 / 3, 100.0)
        assert 0 < new < 3
        assert np.isfinite(value)

    def test_at_a_minimum_there_is_nothing_to_gain(self):
        assert self.search(lambda x: 1 + (x - 1e-9) ** 2, 1e-9, 1e-30, 5.0) is None


def test_the_memory_fulfils_the_secant_equation():
    rng, memory = np.random.default_rng(0), LBFGSMemory()
    root = rng.normal(size=(6, 6))
    hessian = root @ root.T
    for _ in range(20):
        step = rng.normal(size=6)
        memory.add(step, hessian @ step)
    assert_allclose(memory.direction(hessian @ step, np.copy), step, rtol=1e-8)
    memory.add(step, -step)  # no curvature: not remembered
    assert_allclose(memory.direction(hessian @ step, np.copy), step, rtol=1e-8)
    assert len(memory.pairs) == 12


def test_conjugate_gradients_solve_newtons_system():
    objective = objective_of(K=3)
    theta = np.random.default_rng(0).normal(size=objective.shape)
    _, gradient, hessian = objective.value_gradient_hessian(theta)
    precondition, exact = moment_preconditioner(objective, theta), np.linalg.solve(hessian, gradient.ravel())
    found = conjugate_gradients(objective.hessian_product(theta), gradient, precondition, CGLimits(1e-20))
    assert_allclose(found.direction.ravel(), exact, rtol=1e-6, atol=1e-9)
    rough = conjugate_gradients(objective.hessian_product(theta), gradient, precondition, CGLimits(0.1))
    left = gradient.ravel() @ exact - rough.decrement
    assert 0 < left < 0.1 * rough.decrement
    assert left / 3 < rough.remaining < 30 * left


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_eliminating_intercepts_makes_sparse_columns_independent(fit_intercept):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((3_000, 8)) < 0.5) * 1.0)
    objective = Objective(labelled_rows(X, rng.integers(0, 2, 3_000)), Logistic(), fit_intercept=fit_intercept)
    theta = np.zeros(objective.shape)
    hessian = objective.value_gradient_hessian(theta)[2]
    precondition = diagonal_preconditioner(objective, theta)
    both = np.array([precondition(column[None])[0] for column in hessian])
    values = np.linalg.eigvals(both).real
    assert (values.max() / values.min() < 1.4) == fit_intercept  # columns that are not centred share their mean


def test_the_preconditioner_is_the_inverse_hessian_of_the_model_without_coefficients():
    objective = objective_of(alpha=0.1)
    hessian = objective.value_gradient_hessian(np.zeros(objective.shape))[2]
    share = np.bincount(objective.data.codes) / objective.data.n_rows
    gradient = np.random.default_rng(0).normal(size=objective.shape)
    ridge = np.diag(objective.ridge.ravel())
    scaled = (hessian - ridge) * (share[0] * share[1] / 0.25) + ridge  # at 0 all probabilities are 1/2
    found = moment_preconditioner(objective, np.zeros(objective.shape))(gradient)
    assert_allclose(scaled @ found.ravel(), gradient.ravel(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("make", [moment_preconditioner, diagonal_preconditioner])
def test_gradients_are_preconditioned_together_as_each_by_itself(make):
    objective = objective_of(K=3, alpha=0.1)
    precondition = make(objective, np.zeros(objective.shape))
    gradients = np.random.default_rng(0).normal(size=(4, *objective.shape))
    kept = gradients.copy()
    assert_allclose(precondition(gradients), [precondition(gradient) for gradient in gradients], rtol=1e-12)
    assert_allclose(gradients, kept, rtol=0)


class TestChoice:
    @pytest.mark.parametrize(
        ("given", "chosen"),
        [
            ({}, "newton"),
            ({"l1_ratio": 0.5}, "coordinate"),
            ({"n": 2_100, "p": 610}, "newton-cg"),
            ({"n": 2_100, "p": 2_101}, "newton-cg"),
            ({"n": 300, "p": 5, "K": 12}, "newton"),
            ({"n": 3_000, "p": 10, "K": 50}, "newton-cg"),
        ],
    )
    def test_auto(self, given, chosen):
        objective = objective_of(**given)
        assert named_solver("auto", objective) is named_solver(chosen, objective)

    def test_more_columns_than_rows_are_solved_in_the_span_of_the_rows(self):
        objective = objective_of(n=30, p=610)
        start = np.zeros(objective.shape)
        found = named_solver("auto", objective)(objective, start, 1e-14, 500)
        peer = named_solver("lbfgs", objective)(objective, start, 1e-14, 5000)
        assert_allclose(found.objective, peer.objective, rtol=1e-10)
        value, gradient = objective.value_and_gradient(found.theta)
        assert_allclose(value, found.objective, rtol=1e-12)
        assert np.abs(gradient).max() < 1e-8

    def test_names_and_penalties_that_do_not_fit_are_refused(self):
        with pytest.raises(ParameterError, match="'sag'"):
            named_solver("sag", objective_of())
        with pytest.raises(ParameterError, match="'elastic net'"):
            named_solver("newton", objective_of(l1_ratio=0.5))

    def test_solver_objects_are_public(self):
        model = discriminant.LogisticRegression(solver=discriminant.solvers.IRLS(), alpha=0.1)
        rng = np.random.default_rng(0)
        model.fit(rng.normal(size=(60, 2)), np.arange(60) % 2)
        assert isinstance(model.solution_, Solution)
        assert model.solution_.solver == "IRLS"


def test_a_solution_prints_and_goes_to_frames():
    found = solve(objective_of(), "newton")
    assert str(found).startswith("Solver newton: optimal after ")
    assert found.to_frame().shape[0] == 1
    assert found.to_dict()["reason"] == "optimal"


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_few_rows_of_many_columns_are_solved_on_their_gram_matrix_as_in_their_span(fit_intercept):
    """Weights, rare classes and weak penalties; a ridge that leaves too few digits is left to the rotation."""
    rng = np.random.default_rng(3)
    for alpha in (10.0, 1e-2, 1e-5, 1e-11):
        X, y = rng.standard_t(3, size=(40, 300)), (rng.random(40) < 0.2).astype(int)
        y[:2], weight = (0, 1), rng.integers(0, 3, 40).astype(float)
        weight[:2] = 1.0
        objective = Objective(labelled_rows(X, y, weight), Logistic(), ElasticNet(alpha), fit_intercept)
        start = np.zeros(objective.shape)
        found = minimise_in_row_span(objective, start, 1e-10, 500)
        stepped = minimise_in_row_span(objective, start, 1e-10, 500, trace=True)  # in the span of the rows
        assert found.converged
        assert found.suboptimality <= 1e-10
        assert_allclose(found.objective, stepped.objective, rtol=1e-10)
        value, gradient = objective.value_and_gradient(found.theta)
        assert_allclose(found.objective, value, rtol=1e-9)
        assert np.abs(gradient).max() <= 1e-6 * max(np.abs(objective.value_and_gradient(start)[1]).max(), 1e-9)


@pytest.mark.parametrize("K", [2, 4])
def test_more_columns_than_rows_are_turned_to_their_span_without_a_penalty_too(K):
    """Equal rows of every class keep the maximum finite; its value is that of steps in all columns."""
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(12, 300)), K + 1, axis=0)
    y = np.column_stack((np.tile(np.arange(K), (12, 1)), rng.integers(0, K, 12))).ravel()
    objective = Objective(labelled_rows(X, y), Logistic() if K == 2 else Softmax(), ElasticNet(0.0))
    assert is_wide(objective)
    found, slower = solve(objective, "auto", 1e-12), solve(objective, "newton-cg", 1e-12)
    assert_allclose(found.objective, slower.objective, rtol=1e-9)


def test_sparse_rows_of_very_many_columns_stay_sparse():
    X = sp.random_array((100, 600_000), density=1e-5, format="csr", rng=np.random.default_rng(0))
    for rows, turned in ((X, False), (X[:, :1000], True)):
        assert is_wide(Objective(labelled_rows(rows, np.arange(100) % 2), Logistic(), ElasticNet(0.1))) == turned
