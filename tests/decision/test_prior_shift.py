"""Priors estimated from unlabelled rows: against a brute-force maximum, by simulation, and at the edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from discriminant.decision import Posterior, estimate_priors, posterior
from discriminant.errors import InputError, ParameterError
from discriminant.theory import BayesClassifier


def unlabelled(new, n, seed, distance=1.5):
    """Posteriors, under equal priors, of rows of normal classes that are drawn with other priors."""
    rng = np.random.default_rng(seed)
    model = BayesClassifier([norm(distance * k, 1) for k in range(len(new))])
    X = rng.normal(distance * rng.choice(len(new), size=n, p=new), 1.0)
    return posterior(model, X[:, None])


def brute_force(found):
    """The most likely priors by a general-purpose optimiser on the logits."""
    ratio = found.probabilities / found.priors

    def loss(logits):
        share = np.exp(logits - logits.max())
        return -np.log(ratio @ (share / share.sum())).mean()

    start = np.log(found.priors)
    best = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 20_000})
    share = np.exp(best.x - best.x.max())
    return share / share.sum()


@given(st.integers(0, 10_000))
def test_the_estimate_is_the_brute_force_maximum(seed):
    new = np.random.default_rng(seed).dirichlet(np.full(3, 4.0))
    found = unlabelled(new, 400, seed)
    estimate = estimate_priors(found)
    assert estimate.gap <= 1e-10
    assert_allclose(estimate.priors, brute_force(found), atol=2e-6)


def test_the_fixed_point_of_em_is_met():
    found = unlabelled([0.7, 0.2, 0.1], 1000, 0)
    estimate = estimate_priors(found)
    assert_allclose(found.with_priors(estimate.priors).probabilities.mean(axis=0), estimate.priors, rtol=1e-8)


def test_a_known_shift_is_recovered_within_its_standard_error():
    new = np.array([0.7, 0.2, 0.1])
    estimates = [estimate_priors(unlabelled(new, 1000, seed)) for seed in range(120)]
    priors = np.array([estimate.priors for estimate in estimates])
    errors = np.array([estimate.standard_errors for estimate in estimates])
    assert np.all(np.abs(priors.mean(axis=0) - new) < 4 * priors.std(axis=0) / np.sqrt(len(priors)))
    assert_allclose(errors.mean(axis=0), priors.std(axis=0, ddof=1), rtol=0.2)
    covered = np.abs(priors - new) < 1.96 * errors
    assert 0.9 < covered.mean() < 0.99


def test_the_test_of_no_change_is_uniform_without_change():
    values = [estimate_priors(unlabelled([0.5, 0.5], 300, seed)).p_value for seed in range(120)]
    assert 0.01 < np.mean(np.array(values) < 0.05) < 0.1
    assert estimate_priors(unlabelled([0.9, 0.1], 300, 0)).p_value < 1e-6


def test_weights_are_repeated_rows():
    found = unlabelled([0.6, 0.3, 0.1], 200, 1)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    repeated = Posterior(np.repeat(found.probabilities, weight, axis=0), found.classes, found.priors)
    one, other = estimate_priors(found, sample_weight=weight), estimate_priors(repeated)
    assert_allclose(one.priors, other.priors, atol=1e-9)
    assert_allclose(one.covariance, other.covariance, rtol=1e-6, atol=1e-10)
    assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-8)


def test_the_order_of_classes_and_the_priors_one_starts_from_do_not_matter():
    found = unlabelled([0.6, 0.3, 0.1], 300, 2)
    expected = estimate_priors(found).priors
    order = [2, 0, 1]
    mixed = Posterior(found.probabilities[:, order], found.classes[order], found.priors[order])
    assert_allclose(estimate_priors(mixed).priors, expected[order], atol=1e-8)
    assert_allclose(estimate_priors(found.with_priors([0.2, 0.2, 0.6])).priors, expected, atol=1e-8)


def test_an_absent_class_gets_nothing():
    found = unlabelled([0.6, 0.4, 0.0], 500, 3, distance=4)
    estimate = estimate_priors(found)
    assert estimate.priors[2] < 0.01
    certain = Posterior([[1.0, 0.0], [1.0, 0.0]], priors=[0.5, 0.5])
    assert_array_equal(estimate_priors(certain).priors, [1.0, 0.0])
    assert_array_equal(estimate_priors(certain).standard_errors, [0.0, 0.0])


def test_certain_posteriors_give_the_shares_with_their_binomial_error():
    found = Posterior([[1, 0]] * 30 + [[0, 1]] * 70, priors=[0.5, 0.5])
    estimate = estimate_priors(found)
    assert_allclose(estimate.priors, [0.3, 0.7])
    assert_allclose(estimate.standard_errors, np.sqrt(0.3 * 0.7 / 100))
    assert "0 0.3000 (s.e. 0.0458)" in str(estimate)


def test_posteriors_that_tell_nothing_leave_the_priors_and_say_so():
    estimate = estimate_priors(Posterior([[0.3, 0.7]] * 5, priors=[0.3, 0.7]))
    assert_allclose(estimate.priors, [0.3, 0.7])
    assert np.isnan(estimate.standard_errors).all()
    assert estimate.p_value == 1.0


def test_bad_input():
    with pytest.raises(ParameterError, match="Posterior with the priors of the training rows"):
        estimate_priors(Posterior([[0.5, 0.5]]))
    with pytest.raises(ParameterError, match="Posterior with the priors of the training rows"):
        estimate_priors(np.array([[0.5, 0.5]]))
    with pytest.raises(InputError, match="Row 1 has probability 0 for every class with a positive training prior"):
        estimate_priors(Posterior([[0.5, 0.5], [0.0, 1.0]], priors=[1.0, 0.0]))
    found = unlabelled([0.6, 0.3, 0.1], 100, 0)
    with pytest.raises(ParameterError, match="tol must be a positive number"):
        estimate_priors(found, tol=0)
    with pytest.raises(ParameterError, match="max_iter"):
        estimate_priors(found, max_iter=0)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations with a gap"):
        estimate_priors(found, max_iter=1)


def test_a_class_that_only_em_keeps_alive_is_absent():
    """Where it stops, EM leaves classes that no row speaks for a prior such as 1e-60, and never 0."""
    model = BayesClassifier([norm(0, 1), norm(3, 1), norm(1, 1)])
    found = estimate_priors(posterior(model, np.array([[-50.0], [-60.0], [-55.0]])))
    assert_array_equal(found.priors, [1, 0, 0])
    assert_array_equal(found.standard_errors, 0)
