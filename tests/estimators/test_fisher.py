"""Fisher's threshold where it is awkward: no crossing, priors of 0, spreads of 0, and equal ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from discriminant import FisherDiscriminant
from discriminant.estimators.linear import least_error_cut
from helpers import normal_classes


def error_at(cut, means, sds, priors):
    with np.errstate(over="ignore"):  # a cut beyond everything
        return priors[0] * norm.sf(cut, means[0], sds[0]) + priors[1] * norm.cdf(cut, means[1], sds[1])


@pytest.mark.parametrize("sds", [(1, 1), (1, 1 + 1e-9), (1, 3), (3, 1), (0.01, 5)], ids=str)
@pytest.mark.parametrize("priors", [(0.5, 0.5), (0.9, 0.1), (0.1, 0.9), (0.999, 0.001)], ids=str)
@pytest.mark.parametrize("distance", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_no_other_cut_has_less_expected_error(sds, priors, distance, unit):
    means, sds, priors = unit * np.array([0.0, distance]), unit * np.array(sds, dtype=float), np.array(priors)
    cut = least_error_cut(means, sds, priors)
    others = unit * np.linspace(-60, 60, 20_001)
    assert error_at(cut, means, sds, priors) <= error_at(others, means, sds, priors).min() * (1 + 1e-9) + 1e-12


def test_equal_spreads_and_priors_cut_in_the_middle():
    assert_allclose(least_error_cut(np.array([1.0, 4.0]), np.ones(2), np.array([0.5, 0.5])), 2.5)


@pytest.mark.parametrize(("priors", "winner"), [([1.0, 0.0], 0), ([0.0, 1.0], 1)])
def test_a_prior_of_zero_leaves_one_class(priors, winner):
    X, y = normal_classes(K=2)
    model = FisherDiscriminant(threshold="bayes", priors=priors).fit(X, y)
    assert_array_equal(model.predict(X), winner)
    assert np.isfinite(model.threshold_)


def test_a_class_without_spread_gets_no_more_than_its_place():
    """The expected error is least with the cut at the one value of the first class."""
    X = np.array([[0.0], [0.0], [0.0], [2.0], [4.0], [6.0]])
    model = FisherDiscriminant(threshold="bayes").fit(X, [0, 0, 0, 1, 1, 1])
    assert_array_equal(model.predict([[-0.5], [0.5], [2.0], [4.0]]), [0, 1, 1, 1])


@pytest.mark.parametrize("threshold", ["midpoint", "prior-weighted", "bayes", "cv"])
def test_rows_above_the_threshold_are_of_the_second_class(threshold):
    X, y = normal_classes(K=2)
    labels = np.array(["no", "yes"])[y]
    model = FisherDiscriminant(threshold=threshold).fit(X, labels)
    along = X @ model.coef_[0]
    assert_array_equal(model.predict(X), np.where(along > model.threshold_, "yes", "no"))
    assert_allclose(model.decision_function(X), along - model.threshold_, rtol=1e-8, atol=1e-9)
    assert_allclose(model.intercept_, [-model.threshold_])
    assert model.projected_means_[0] < model.projected_means_[1]


def test_the_searched_threshold_does_not_depend_on_weights_given_in_another_unit():
    X, y = normal_classes(K=2)
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    cuts = [FisherDiscriminant(threshold="cv").fit(X, y, scale * weight).threshold_ for scale in (1, 16)]
    assert_allclose(*cuts, rtol=0.05)
