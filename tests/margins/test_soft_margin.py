"""Soft margins are minima: by proofs with more digits, by other people's programs, and by brute force."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from discriminant.data import labelled_rows
from discriminant.estimators.svm import SupportVectorClassifier
from discriminant.margins import active_set, dual_coordinate, interior_point, soft_margin
from discriminant.margins.problem import MarginProblem, Stop, inner_products
from margin_problems import KINDS, assert_optimal, problem

COSTS = (1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6)
every_solver = pytest.mark.parametrize("solver", ["newton", "dual", "active-set"])
every_loss = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
both_losses = pytest.mark.parametrize("squared", [False, True], ids=["hinge", "squared_hinge"])


def margin_problem(X, y, C=1.0, squared=False, fit_intercept=True, weight=None):
    return MarginProblem(labelled_rows(X, y, weight), C, squared, fit_intercept)


def value(X, y, coef, intercept, C, squared=False, weight=None):
    """The objective by its definition."""
    slacks = np.maximum(1 - np.where(y > 0, 1, -1) * (X @ coef + intercept), 0)
    return 0.5 * coef @ coef + C * np.sum((1 if weight is None else weight) * (slacks**2 if squared else slacks))


# --- proofs -----------------------------------------------------------------------------------------------------------


@every_solver
@every_loss
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", COSTS)
def test_every_condition_of_a_minimum_holds(kind, C, loss, solver):
    seed = COSTS.index(C)
    X, y, weight = problem(kind, seed, weighted=seed % 2 == 1)
    fit_intercept = kind == "far from 0" or seed % 3 != 2
    model = SupportVectorClassifier(C=C, loss=loss, solver=solver, fit_intercept=fit_intercept).fit(X, y, weight)
    assert_optimal(model, X, y, weight)


@every_loss
@pytest.mark.parametrize("seed", range(10))
def test_problems_lost_in_rounding_are_reported(seed, loss):
    """Rows 1e6 from an origin that the hyperplane has to go through are all but parallel."""
    X, y, _ = problem("far from 0", seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SupportVectorClassifier(C=1e4, loss=loss, fit_intercept=False).fit(X, y)
    assert [warning.category for warning in caught] == [ConvergenceWarning] * (not model.solution_.converged)
    assert_optimal(model, X, y, tol=max(model.solution_.suboptimality, 1e-6))


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@every_loss
def test_many_rows_are_solved_like_few(C, loss, monkeypatch):
    """From samples and from the rows near the hinge point, as large tables are."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20_000, 4)), 1)  # many rows are equal
    y = (X @ [1.0, -1.0, 0.5, 0.0] + 2 * rng.normal(size=20_000) > 1).astype(int)
    monkeypatch.setattr(soft_margin, "MAX_DIRECT_ROWS", len(X))
    whole = SupportVectorClassifier(C=C, loss=loss).fit(X, y)
    monkeypatch.undo()
    model = SupportVectorClassifier(C=C, loss=loss).fit(X, y)
    assert_optimal(model, X, y)
    assert_allclose(model.solution_.objective, whole.solution_.objective, rtol=1e-6)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-5, atol=1e-7)


def test_rows_that_violate_their_condition_join_the_working_set():
    X, y, _ = problem("plain", 3)
    given = margin_problem(X, y, C=10.0)
    expected = soft_margin.minimise(given, 1e-6, 100).solution.objective
    near = np.zeros(len(y), dtype=bool)
    near[:6] = True
    begun = interior_point.WorkingSet(np.zeros(given.objective.shape), near, ~near)
    fit = interior_point.solve_working_sets(given, begun, Stop("newton", 1e-6), 100)
    assert fit.solution.iterations > 1
    assert_allclose(fit.solution.objective, expected, rtol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@every_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e6])
@every_solver
def test_wide_tables(C, loss, container, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)) * (rng.random((60, 300)) < 0.2)
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    model = SupportVectorClassifier(C=C, loss=loss, solver=solver).fit(container(X), y)
    assert_optimal(model, X, y)


@every_loss
@pytest.mark.parametrize("multiclass", ["one-vs-rest", "one-vs-one"])
def test_machines_of_wide_rows_share_their_inner_products(multiclass, loss, monkeypatch):
    """They are computed once, and every machine is optimal for the rows themselves."""
    rng = np.random.default_rng(1)
    X, y, weight = 5 + rng.normal(size=(50, 3_000)), np.arange(50) % 3, rng.choice([0.0, 1.0, 2.0], 50)
    calls = []
    monkeypatch.setattr(active_set, "inner_products", lambda given: calls.append(given) or inner_products(given))
    models = [
        SupportVectorClassifier(loss=loss, multiclass=multiclass, n_jobs=jobs).fit(X, y, weight) for jobs in (1, 2)
    ]
    assert len(calls) == 2
    assert_array_equal(models[0].coef_, models[1].coef_)
    for column in range(3):
        assert models[0].solution_[column].solver == "active-set"
        assert_optimal(models[0], X, y, weight, column, tol=1e-9)


def test_equal_rows_and_balanced_classes_leave_the_intercept_between_bounds():
    """All multipliers at their bounds leave no face to solve; rows that are equal, one that is singular."""
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(20, 90)), 2, axis=0)
    y = np.arange(40) // 2 % 2
    for C in (1e-6, 1e-2, 1e3):
        model = SupportVectorClassifier(C=C).fit(X, y)
        assert model.solution_.solver == "active-set"
        assert_optimal(model, X, y, tol=1e-9)


@every_loss
def test_the_ascent_alone_reports_a_bound(loss, monkeypatch):
    """Without working sets the reported suboptimality is an upper bound."""
    monkeypatch.setattr(interior_point, "MAX_STEP_OPERATIONS", 0)
    for kind in KINDS:
        for C in (0.1, 1e3):
            X, y, _ = problem(kind, 7)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = SupportVectorClassifier(C=C, loss=loss, solver="dual", max_iter=300).fit(X, y)
            assert_optimal(model, X, y, tol=max(model.solution_.suboptimality, 1e-6))
            assert model.solution_.converged == (model.solution_.suboptimality <= 1e-6)


@both_losses
def test_the_coefficients_of_the_ascent_stay_those_of_its_multipliers(squared):
    """However many subspace steps it makes, also when it has long arrived."""
    for kind in ("two rows", "plain", "integers"):
        X, y, _ = problem(kind, 1)
        given = margin_problem(X, y, 10.0, squared)
        ascent = dual_coordinate.DualAscent(given, 0)
        for sweep in range(1, 401):
            ascent.sweep()
            if sweep % 4 == 0:
                ascent.subspace_step()
            assert ascent.alpha.min() >= 0
            assert (ascent.alpha <= ascent.upper).all()
        implied = (ascent.alpha * given.sign) @ ascent.rows
        assert_allclose(ascent.coef, implied, atol=1e-8 * (ascent.alpha @ np.abs(ascent.rows)).max())


@every_loss
def test_sparse_rows_and_dense_ones_take_the_same_turns(loss):
    X, y, weight = problem("integers", 2, weighted=True)
    models = [
        SupportVectorClassifier(C=0.5, loss=loss, solver="dual").fit(values, y, weight)
        for values in (X, sp.csr_array(X), sp.csc_array(X), X.astype(np.float32))
    ]
    for model in models:
        assert_optimal(model, X, y, weight)
        assert_allclose(model.coef_, models[0].coef_, rtol=1e-6, atol=1e-9)


def test_the_order_of_the_rows_is_drawn_from_the_random_state(monkeypatch):
    monkeypatch.setattr(interior_point, "MAX_STEP_OPERATIONS", 0)
    X, y, _ = problem("plain", 0)
    first, again, other = (
        SupportVectorClassifier(solver="dual", tol=1e-3, random_state=seed).fit(X, y) for seed in (0, 0, 1)
    )
    assert_array_equal(first.coef_, again.coef_)
    assert (first.coef_ != other.coef_).any()
    for model in (first, other):
        assert_optimal(model, X, y, tol=1e-3)


def test_rows_of_zeros_have_their_full_multiplier_without_an_intercept():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, 0.5], [0.0, 0.0]])
    for solver in ("newton", "dual"):
        model = SupportVectorClassifier(C=0.3, solver=solver, fit_intercept=False).fit(X, [0, 1, 0, 1])
        assert_optimal(model, X, np.array([0, 1, 0, 1]))
        assert_allclose(model.slacks_[[0, 3]], 1.0)


@pytest.mark.parametrize(
    ("shape", "container", "expected"),
    [
        ((30, 2), np.asarray, "newton"),
        ((30, 2), sp.csr_array, "newton"),
        ((30, 62), np.asarray, "newton"),
        ((30, 64), np.asarray, "active-set"),
        ((30, 201), sp.csr_array, "active-set"),
        ((7_000, 60), np.asarray, "newton"),
        ((900, 500), np.asarray, "dual"),
        ((200, 2_001), np.asarray, "active-set"),
        ((200, 2_001), sp.csr_array, "dual"),
    ],
)
def test_auto_chooses_by_shape(shape, container, expected):
    rng = np.random.default_rng(0)
    X, y = container(rng.normal(size=shape)), np.arange(shape[0]) % 2
    fit = soft_margin.soft_margin(margin_problem(X, y, C=1e-3), "auto", 1e-3, 5_000)
    assert fit.solution.solver == expected
    assert fit.solution.converged


# --- other people's programs ------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("units", "far from 0", "one to a thousand")])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_the_objective_is_that_of_libsvm(kind, C, solver):
    X, y, weight = problem(kind, 20, weighted=C == 0.1)
    model = SupportVectorClassifier(C=C, solver=solver).fit(X, y, weight)
    counted = slice(None) if weight is None else weight > 0
    other = SVC(kernel="linear", C=C, tol=1e-10)
    other.fit(X[counted], y[counted], None if weight is None else weight[counted])
    # Its inner products have single precision, to which its dual value is the least sensitive.
    theirs = np.abs(other.dual_coef_).sum() - 0.5 * np.sum((other.dual_coef_ @ other.support_vectors_) ** 2)
    mine = value(X, y, model.coef_[0], model.intercept_[0], C, weight=weight)
    assert_allclose(mine, theirs, rtol=1e-6)
    assert_allclose(mine, model.solution_.objective, rtol=1e-9)


def quadratic_programme(X, y, C, fit_intercept):
    """The soft margin as a quadratic programme in w, b and the slacks, by SciPy's sequential least squares."""
    n, p = X.shape
    sign = np.where(y > 0, 1.0, -1.0)
    margins = np.column_stack((X * sign[:, None], sign * fit_intercept, np.eye(n)))
    at_least_one = {"type": "ineq", "fun": lambda z: margins @ z - 1, "jac": lambda z: margins}
    found = minimize(
        lambda z: 0.5 * z[:p] @ z[:p] + C * z[p + 1 :].sum(),
        np.append(np.zeros(p + 1), np.ones(n)),
        jac=lambda z: np.concatenate((z[:p], [0.0], np.full(n, C))),
        bounds=[(None, None)] * (p + 1) + [(0, None)] * n,
        constraints=[at_least_one],
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 1_000},
    )
    assert found.success, found.message
    return found.fun


@every_solver
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_objective_is_that_of_a_quadratic_programme(seed, fit_intercept, solver):
    rng = np.random.default_rng(seed)
    X, C = rng.normal(size=(14, 3)), 10.0 ** rng.uniform(-1, 1)
    y = (X[:, 0] + rng.normal(size=14) > 0).astype(int)
    y[:2] = 0, 1
    model = SupportVectorClassifier(C=C, solver=solver, fit_intercept=fit_intercept).fit(X, y)
    assert_allclose(model.solution_.objective, quadratic_programme(X, y, C, fit_intercept), rtol=1e-6)


@every_solver
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_squared_hinge_is_minimised_as_by_a_general_method(C, fit_intercept, solver):
    X, y, weight = problem("plain", 5, weighted=True)
    sign, p = np.where(y > 0, 1.0, -1.0), X.shape[1]

    def value_and_gradient(z):
        slacks = np.maximum(1 - sign * (X @ z[:p] + z[p] * fit_intercept), 0)
        slope = -2 * C * weight * slacks * sign
        return value(X, y, z[:p], z[p] * fit_intercept, C, True, weight), np.append(
            z[:p] + slope @ X, slope.sum() * fit_intercept
        )

    found = minimize(value_and_gradient, np.zeros(p + 1), jac=True, method="BFGS", options={"gtol": 1e-9 * (1 + C)})
    model = SupportVectorClassifier(C=C, loss="squared_hinge", solver=solver, fit_intercept=fit_intercept)
    assert_allclose(model.fit(X, y, weight).solution_.objective, found.fun, rtol=1e-6)


# --- parts ------------------------------------------------------------------------------------------------------------


scores_of_rows = hnp.arrays(float, st.integers(2, 12), elements=st.floats(-4, 4))


@both_losses
@given(scores_of_rows, st.randoms(use_true_random=False))
def test_no_other_intercept_costs_less(squared, scores, random):
    n = len(scores)
    y = np.array([0, 1] + [random.randrange(2) for _ in range(n - 2)])
    weight = np.array([random.choice([0.5, 1.0, 3.0]) for _ in range(n)])
    given = margin_problem(np.arange(n)[:, None], y, 2.0, squared, weight=weight)

    def cost(intercept):
        slacks = given.slacks(scores + intercept)
        return given.cost @ (slacks**2 if squared else slacks)

    best = given.best_intercept(scores)
    others = np.concatenate((given.sign - scores, np.linspace(-10, 10, 201), best + np.array([-1e-4, 1e-4])))
    assert cost(best) <= min(map(cost, others)) * (1 + 1e-12) + 1e-12


@given(hnp.arrays(float, 7, elements=st.floats(0, 5)), st.permutations([1, 1, 1, -1, -1, -1, 1]))
def test_balanced_multipliers_balance_and_never_grow(alpha, sign):
    sign = np.array(sign, dtype=float)
    result = margin_problem(np.zeros((7, 1)), sign).balanced(alpha)
    assert (result <= alpha).all()
    assert (result >= 0).all()
    assert abs(result @ sign) <= 1e-14 * (1 + alpha.sum())


def programme_value(programme, theta):
    slack = np.maximum(1 - programme.rows @ theta, 0)
    losses = slack**2 if programme.squared else slack
    return programme.linear @ theta + 0.5 * programme.ridge @ theta**2 + programme.share @ losses


@both_losses
@pytest.mark.parametrize("seed", range(5))
def test_the_solution_of_a_working_set_is_a_minimum_in_every_direction(seed, squared):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 4))[rng.integers(0, 25, 40)]
    rows[:, -1] = np.where(rng.random(40) < 0.5, 1, -1)
    programme = interior_point.HingeProgramme(
        rows=rows,
        share=rng.uniform(0.1, 1, 40) / 40,
        linear=np.append(0.01 * rng.normal(size=3), 0.0),
        ridge=np.append(rng.uniform(1e-4, 1, 3), 0.0),
        constant=1.0,
        squared=squared,
    )
    theta, used = programme.minimise(np.zeros(4), 1.0, [0])
    least = programme_value(programme, theta)
    for length in (1e-6, 1e-3, 1.0):
        for direction in rng.normal(size=(200, 4)):
            assert programme_value(programme, theta + length * direction) >= least - 1e-14
    gradient = programme.linear + programme.ridge * theta - (programme.share * used) @ programme.rows
    assert_allclose(gradient, 0, atol=1e-10)


def test_a_bad_start_does_not_matter():
    rng = np.random.default_rng(0)
    rows = np.column_stack((rng.normal(size=(50, 3)), np.where(rng.random(50) < 0.5, 1, -1)))
    programme = interior_point.HingeProgramme(rows, np.full(50, 0.02), np.zeros(4), np.array([1e-6] * 3 + [0.0]))
    expected = programme_value(programme, programme.minimise(np.zeros(4), 1.0, [0])[0])
    for far in (1e3, -1e6):
        reached = programme_value(programme, programme.minimise(np.full(4, far), 1e-6, [0])[0])
        assert_allclose(reached, expected, rtol=1e-10)


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9])
def test_a_large_C_has_the_hard_margin_to_all_digits(C):
    X = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [4, 2], [2, 4]])  # two rows with margin 1 have no multiplier
    fit = soft_margin.soft_margin(margin_problem(X, np.repeat([0, 1], 3), C=C), "newton", 1e-6, 100)
    assert_allclose(fit.coef, [0.5, 0.5], rtol=1e-12)
    assert fit.solution.suboptimality < 1e-14
