"""Priors estimated from unlabelled rows: against a brute-force maximum, by simulation, and at the edges."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import chdtri
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from discriminant import LinearDiscriminantAnalysis, LogisticRegression
from discriminant.decision import Posterior, estimate_priors, posterior, prior_shift
from discriminant.decision.prior_shift import UNINFORMATIVE
from discriminant.errors import DegenerateDataError, InputError, LabelError, ParameterError
from discriminant.evaluation.intervals import wilson_interval
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
    estimates = [estimate_priors(unlabelled(new, 1000, seed), exact=True) for seed in range(120)]
    priors = np.array([estimate.priors for estimate in estimates])
    errors = np.array([estimate.standard_errors for estimate in estimates])
    assert np.all(np.abs(priors.mean(axis=0) - new) < 4 * priors.std(axis=0) / np.sqrt(len(priors)))
    assert_allclose(errors.mean(axis=0), priors.std(axis=0, ddof=1), rtol=0.2)
    covered = [(estimate.low <= new) & (new <= estimate.high) for estimate in estimates]
    assert 0.9 < np.mean(covered) < 0.99


def test_the_test_of_no_change_is_uniform_without_change():
    values = [estimate_priors(unlabelled([0.5, 0.5], 300, seed), exact=True).p_value for seed in range(120)]
    assert 0.01 < np.mean(np.array(values) < 0.05) < 0.1
    assert estimate_priors(unlabelled([0.9, 0.1], 300, 0), exact=True).p_value < 1e-6


def test_weights_are_repeated_rows():
    found = unlabelled([0.6, 0.3, 0.1], 200, 1)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    repeated = Posterior(np.repeat(found.probabilities, weight, axis=0), found.classes, found.priors)
    one, other = estimate_priors(found, sample_weight=weight, exact=True), estimate_priors(repeated, exact=True)
    assert_allclose([one.low, one.high], [other.low, other.high], atol=1e-7)
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
    certain = estimate_priors(Posterior([[1.0, 0.0]] * 80, priors=[0.5, 0.5]), exact=True)
    assert_array_equal(certain.priors, [1.0, 0.0])
    # The largest prior under which 80 rows without the class are not too improbable.
    assert_allclose(certain.high, [1.0, -np.expm1(-chdtri(1, 0.05) / 160)])
    assert_allclose(certain.low, 1 - certain.high[::-1])
    assert np.isnan(certain.standard_errors).all()
    assert "s.e." not in str(certain)


def test_certain_posteriors_give_the_shares_with_their_binomial_error():
    found = Posterior([[1, 0]] * 30 + [[0, 1]] * 70, priors=[0.5, 0.5])
    estimate = estimate_priors(found, exact=True)
    assert_allclose(estimate.priors, [0.3, 0.7])
    assert_allclose(estimate.standard_errors, np.sqrt(0.3 * 0.7 / 100))
    deviance = [2 * (30 * np.log(0.3 / v) + 70 * np.log(0.7 / (1 - v))) for v in (estimate.low[0], estimate.high[0])]
    assert_allclose(deviance, chdtri(1, 0.05), rtol=1e-6)


def test_posteriors_that_tell_nothing_leave_the_priors_and_say_so():
    estimate = estimate_priors(Posterior([[0.3, 0.7]] * 5, priors=[0.3, 0.7]), exact=True)
    assert_allclose(estimate.priors, [0.3, 0.7])
    assert np.isnan(estimate.standard_errors).all()
    assert estimate.p_value == 1.0
    assert_array_equal([estimate.low, estimate.high], [[0, 0], [1, 1]])


def test_bad_input():
    with pytest.raises(ParameterError, match="Posterior"):
        estimate_priors(Posterior([[0.5, 0.5]]))
    with pytest.raises(ParameterError, match="Posterior"):
        estimate_priors(np.array([[0.5, 0.5]]))
    with pytest.raises(InputError, match="Row 1 has probability 0 for every class with a positive training prior"):
        estimate_priors(Posterior([[0.5, 0.5], [0.0, 1.0]], priors=[1.0, 0.0]))


def test_an_iteration_that_does_not_arrive_warns(monkeypatch):
    monkeypatch.setattr(prior_shift, "MAX_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning):
        estimate_priors(unlabelled([0.6, 0.3, 0.1], 100, 0))


def test_a_class_that_only_em_keeps_alive_is_absent():
    """Where it stops, EM leaves classes that no row speaks for a prior such as 1e-60, and never 0."""
    model = BayesClassifier([norm(0, 1), norm(3, 1), norm(1, 1)])
    found = estimate_priors(posterior(model, np.array([[-50.0], [-60.0], [-55.0]])))
    assert_array_equal(found.priors, [1, 0, 0])
    assert np.isnan(found.standard_errors).all()


def rows(rng, priors, n, p=10, distance=1.5):
    y = rng.choice(len(priors), size=n, p=priors)
    X = rng.normal(size=(n, p))
    X[:, : len(priors)] += distance * np.eye(len(priors))[y]
    return X, y


class TestFittedModels:
    def test_posteriors_of_unknown_error_have_no_intervals_and_no_test(self):
        found = estimate_priors(unlabelled([0.6, 0.4], 100, 0))
        assert np.isnan([found.low, found.high]).all()
        assert np.isnan(found.covariance).all()
        assert np.isnan(found.p_value)
        assert "Test of no prior shift" not in str(found)

    def test_the_training_rows_own_error_is_in_the_test_of_no_change(self):
        """Where the model was treated as known, more than half of the p-values were below 0.05."""
        p = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            training, (new, _) = rows(rng, [0.5, 0.5], 100, p=20), rows(rng, [0.5, 0.5], 1_000, p=20)
            model = LogisticRegression(alpha=1e-3).fit(*training)
            p.append(estimate_priors(model, new, training=training).p_value)
        assert np.mean(np.array(p) < 0.05) < 0.15

    @pytest.mark.parametrize("priors", [[0.5, 0.5], [0.5, 0.3, 0.2]])
    def test_perfectly_separated_classes_have_wilson_intervals(self, priors):
        """Every class is known, so that priors are proportions of the new rows."""
        rng, K = np.random.default_rng(0), len(priors)
        training, (new, _) = rows(rng, priors, 300, distance=60), rows(rng, np.eye(K)[0], 80, distance=60)
        model = LinearDiscriminantAnalysis().fit(*training)
        found = estimate_priors(model, new, training=training)
        assert_allclose(found.priors, np.eye(K)[0], atol=1e-9)
        high = wilson_interval(0.0, 80).high
        assert_allclose(found.high[1:], high, rtol=1e-6)
        assert found.low[0] == pytest.approx(1 - high)
        assert np.isnan(found.standard_errors).all()
        assert found.p_value < 1e-6

    def test_labels_and_their_order_and_units_do_not_matter(self):
        rng = np.random.default_rng(1)
        (X, y), (new, _) = rows(rng, [0.5, 0.3, 0.2], 300), rows(rng, [0.2, 0.3, 0.5], 200)
        model = LinearDiscriminantAnalysis()
        found = estimate_priors(model.fit(X, y), new, training=(X, y))
        again = estimate_priors(model.fit(10 * X + 3, y), 10 * new + 3, training=(10 * X + 3, y))
        named = np.array(["c", "b", "a"])[y]
        mirrored = estimate_priors(model.fit(X, named), new, training=(X, named))
        assert_allclose(again.priors, found.priors, atol=1e-8)
        assert_allclose(again.high, found.high, atol=1e-8)
        # Folds are dealt by the classes' rows, whose order is another.
        assert_allclose(mirrored.priors[::-1], found.priors, atol=0.05)
        assert_allclose(found.priors.sum(), 1)

    def test_classes_without_signal_have_no_informative_interval(self):
        rng = np.random.default_rng(2)
        training, (new, _) = rows(rng, [0.5, 0.5], 100, distance=0), rows(rng, [0.5, 0.5], 100, distance=0)
        model = LinearDiscriminantAnalysis().fit(*training)
        found = estimate_priors(model, new, training=training)
        assert np.isnan([found.low, found.high]).all()
        assert found.note == UNINFORMATIVE

    def test_any_classifier_frames_and_weights(self):
        rng = np.random.default_rng(3)
        (X, y), (new, _) = rows(rng, [0.5, 0.5], 200), rows(rng, [0.8, 0.2], 200)
        frame = pd.DataFrame(X).add_prefix("x")
        model = GaussianNB().fit(frame, y)
        found = estimate_priors(model, pd.DataFrame(new).add_prefix("x"), training=(frame, y, np.ones(200)))
        assert found.low[0] < 0.8 < found.high[0]
        assert list(found.to_frame().columns) == ["class", "prior", "standard_error", "low", "high"]

    def test_what_cannot_be_done_is_refused(self):
        rng = np.random.default_rng(4)
        X, y = rows(rng, [0.5, 0.5], 60)
        model = LinearDiscriminantAnalysis().fit(X, y)
        few = np.arange(60)[np.argsort(y)][:35]
        with pytest.raises(ParameterError, match="training="):
            estimate_priors(posterior(model, X), training=(X, y))
        with pytest.raises(ParameterError, match="training must be"):
            estimate_priors(model, X, training=X)
        with pytest.raises(DegenerateDataError, match="training rows"):
            estimate_priors(model, X, training=(X[few], y[few]))
        with pytest.raises(LabelError):
            estimate_priors(model, X, training=(X, y + 1))
