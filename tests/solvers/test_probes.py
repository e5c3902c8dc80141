"""Fits with many columns and classes: passes, precision and the default tolerance."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discriminant import LogisticRegression, LogisticRegressionCV
from discriminant.data import labelled_rows
from discriminant.errors import ParameterError
from discriminant.folds import repeated_folds
from discriminant.losses import log_loss
from discriminant.objective import ElasticNet, Objective
from discriminant.solvers.choice import EXACT_TOLERANCE, default_tolerance
from discriminant.solvers.held_out import held_out_path
from discriminant.solvers.newton_cg import extrapolated_decrease, minimise_newton_cg


def embeddings(n=4_000, p=128, K=40, seed=0):
    """Rows of unit length, float32: class means plus correlated noise, around a mean that is not 0."""
    rng = np.random.default_rng(seed)
    spectrum, y = (1 + np.arange(p)) ** -0.5, rng.integers(0, K, n)
    rows = (0.6 * rng.standard_normal((K, p))[y] + rng.standard_normal((n, p)) + 0.5) * spectrum
    rows = rows @ np.linalg.qr(rng.standard_normal((p, p)))[0]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), y


def objective_of(X, y, alpha):
    return Objective(labelled_rows(X, y), log_loss(len(np.unique(y))), ElasticNet(alpha))


@pytest.fixture(scope="module")
def table():
    return embeddings()


@pytest.fixture(scope="module")
def minimum(table):
    """The objective of the table, and its minimum in float64."""
    objective = objective_of(table[0].astype(np.float64), table[1], 1 / len(table[1]))
    found = minimise_newton_cg(objective, np.zeros(objective.shape), 1e-13, 500)
    return objective, found


@pytest.mark.parametrize(("tol", "passes"), [(1e-4, 16), (1e-6, 24), (1e-10, 50)])
def test_few_passes_reach_a_tolerance_and_report_what_is_left(table, minimum, tol, passes):
    objective, best = minimum
    fit = LogisticRegression(1 / len(table[1]), standardize=False, tol=tol).fit(*table)
    left = objective.value_and_gradient(fit.solution_.theta)[0] / best.objective - 1
    assert fit.solution_.passes <= passes
    assert fit.solution_.suboptimality <= tol
    assert left <= 3 * tol
    if tol < 1e-8:
        assert_allclose(fit.solution_.theta, best.theta, atol=1e-3 * np.abs(best.theta).max())


@pytest.mark.parametrize("share", [1, 0.01], ids=["balanced", "a rare class"])
def test_weak_penalties_and_rare_classes_take_bounded_passes(share):
    X, y = embeddings(seed=1)
    keep = (y > 0) | (np.random.default_rng(2).random(len(y)) < max(share, 0.1))
    fit = LogisticRegression(0.01 / len(y), standardize=False).fit(X[keep], y[keep])
    assert fit.solution_.converged
    assert fit.solution_.passes <= 60


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_float32_products_keep_the_digits_of_float32(dtype, weighted):
    X, y = embeddings(700, 60, 12)
    weight = np.random.default_rng(0).integers(0, 4, len(y)) if weighted else None
    data = labelled_rows(X.astype(dtype), y, weight)
    objective = Objective(data, log_loss(12), ElasticNet(1e-3))
    single = objective.in_single_precision()
    theta, direction = np.random.default_rng(3).standard_normal((2, *objective.shape))
    value, gradient = single.value_and_gradient(theta)
    exact = objective.value_and_gradient(theta)
    assert single.single
    assert value == pytest.approx(exact[0], rel=1e-6)
    assert_allclose(gradient, exact[1], atol=1e-5 * np.abs(exact[1]).max())
    products = [own.hessian_product(theta)(direction) for own in (single, objective)]
    assert_allclose(*products, atol=1e-5 * np.abs(products[1]).max())


def test_columns_far_from_0_and_few_classes_stay_in_float64():
    X, y = embeddings(700, 60, 12)
    assert not objective_of(X + 1, y, 1e-3).in_single_precision().single
    assert not objective_of(X, y % 3, 1e-3).in_single_precision().single


def test_the_default_tolerance_is_exact_except_for_ridges_of_many_parameters(table):
    X, y = table
    assert default_tolerance(objective_of(X, y, 1e-3)) == pytest.approx(0.01 / np.sqrt(len(y)))
    assert default_tolerance(objective_of(X, y, 0.0)) == EXACT_TOLERANCE
    assert default_tolerance(objective_of(X[:, :20], y, 1e-3)) == EXACT_TOLERANCE
    assert default_tolerance(objective_of(X[:100], y[:100], 1e-3)) == EXACT_TOLERANCE  # in the span of the rows
    lasso = Objective(labelled_rows(X, y), log_loss(40), ElasticNet(1e-3, 1.0), symmetric=True)
    assert default_tolerance(lasso) == EXACT_TOLERANCE


def test_inference_continues_a_fit_that_ended_at_the_sampling_error():
    X, y = embeddings(6_000, 200, 12)
    fit = LogisticRegression(1e-3).fit(X, y)
    assert 1e-7 < fit.solution_.suboptimality <= 0.01 / np.sqrt(len(y))
    fit._rows_again()
    exact = LogisticRegression(1e-3, tol=1e-10).fit(X, y)
    assert fit.solution_.suboptimality <= 1e-10
    assert_allclose(fit.coef_, exact.coef_, atol=1e-4 * np.abs(exact.coef_).max())


def test_a_geometric_sequence_is_extrapolated_to_its_limit():
    values = [1 + 0.7**k for k in range(8)]
    assert extrapolated_decrease(values) == pytest.approx(values[-1] - 1)
    assert extrapolated_decrease(values[:2]) == np.inf


def test_a_fit_takes_less_memory_than_its_rows_and_its_memory_of_steps():
    X, y = embeddings(20_000, 128, 12)
    tracemalloc.start()
    LogisticRegression(1 / len(y), standardize=False, n_jobs=1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= X.nbytes + 40 * 8 * 12 * 129 + 2 * 12_000_000


class TestHoldout:
    """Strengths compared on one held-out part."""

    alphas = np.geomspace(1e-3, 1e-7, 10)

    def test_ten_strengths_take_at_most_four_times_the_passes_of_one(self, table):
        objective = objective_of(*table, 1.0)
        split = repeated_folds(table[1], 5, 0, 1)[0]
        found = held_out_path(objective, split, self.alphas, None, 500, None)
        path, objective.counter.count = objective.counter.count, 0.0
        best = replace(objective, penalty=ElasticNet(self.alphas[np.argmin(found.losses)]))
        minimise_newton_cg(best, np.zeros(best.shape), default_tolerance(best), 500)
        assert 0.8 * path <= 4 * objective.counter.count

    @pytest.mark.parametrize("rows", [4_000, 90], ids=["tall", "in the span of the rows"])
    def test_losses_are_those_of_single_fits_to_the_same_part(self, table, rows):
        X, y = table[0][:rows], table[1][:rows] % 12
        train, held = repeated_folds(y, 5, 0, 1)[0]
        objective = replace(objective_of(X, y, 1.0), penalty_scale=None)
        found = held_out_path(objective, (train, held), self.alphas[:4], 1e-10, 500, None)
        for alpha, loss, error in zip(self.alphas, found.losses, found.errors, strict=False):
            model = LogisticRegression(alpha, standardize=False, tol=1e-10).fit(X[train], y[train])
            losses = -model.predict_log_proba(X[held])[np.arange(len(held)), y[held]]
            assert loss == pytest.approx(losses.mean(), rel=1e-5)
            assert error == pytest.approx(losses.std(ddof=1) / np.sqrt(len(held)), rel=1e-3)

    def test_the_model_is_that_of_the_best_strength_on_all_rows(self, table):
        X, y = table
        model = LogisticRegressionCV(cv="holdout", standardize=False, tol=1e-9).fit(X, y)
        single = LogisticRegression(model.alpha_, standardize=False, tol=1e-9).fit(X, y)
        assert model.n_splits_ == 1
        assert len(model.losses_) == len(model.loss_std_errors_) == len(model.alphas_)
        assert_allclose(model.coef_, single.coef_, atol=1e-3 * np.abs(single.coef_).max())
        simpler = LogisticRegressionCV(cv="holdout", standardize=False, rule="one-se").fit(X, y)
        assert simpler.alpha_ >= model.alpha_

    def test_groups_are_held_out_together(self, table):
        groups = np.arange(len(table[1])) // 10
        train, held = LogisticRegressionCV(cv="holdout")._splits(labelled_rows(*table).in_clusters(groups))[0]
        assert not set(groups[train]) & set(groups[held])
        assert 0.15 < len(held) / len(groups) < 0.25

    def test_an_l1_penalty_needs_folds(self, table):
        with pytest.raises(ParameterError):
            LogisticRegressionCV(cv="holdout", l1_ratio=1.0).fit(*table)

    def test_memory_is_bounded_by_two_times_the_rows(self):
        X, y = embeddings(20_000, 128, 12)
        tracemalloc.start()
        LogisticRegressionCV(alphas=[1e-3, 1e-4], cv="holdout", standardize=False, n_jobs=1).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        coefficients = 40 * 8 * 12 * 129  # the memory of L-BFGS has 24
        assert peak <= X.nbytes + coefficients + 24_000_000
