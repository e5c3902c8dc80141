"""Bayesian linear discriminant analysis: predictive densities against SciPy's, against integrals, and against LDA."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import dblquad

from discriminant import BayesianLinearDiscriminantAnalysis, LinearDiscriminantAnalysis
from discriminant.errors import DegenerateDataError, ParameterError
from helpers import normal_classes

COVARIANCE = 0.1 + 0.5 * np.eye(3)
PRIORS = {
    "flat": {},
    "mean": {"kappa": 2.0},
    "covariance": {"nu": 4.5},
    "given": {"kappa": 1.0, "nu": 3.0, "location": [1.0, 0.0, -1.0], "covariance": COVARIANCE},
}


def densities_by_hand(X, y, kappa=0.0, nu=0.0, location=None, covariance=None):
    """The textbook's update of a normal-inverse-Wishart prior, and SciPy's multivariate t."""
    counts, (n, p), K = np.bincount(y), X.shape, len(np.unique(y))
    means = np.stack([X[y == k].mean(axis=0) for k in range(K)])
    within = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in range(K))
    location = X.mean(axis=0) if location is None else np.asarray(location)
    guess = np.diag(np.diag(within) / (n - K)) if covariance is None else np.asarray(covariance)
    scale = within + nu * guess
    for k in range(K):
        step = means[k] - location
        scale = scale + kappa * counts[k] / (kappa + counts[k]) * np.outer(step, step)
    degrees = nu + n - (K if kappa == 0 else 0) - p + 1
    kappas = kappa + counts
    return [
        stats.multivariate_t(
            (kappa * location + counts[k] * means[k]) / kappas[k], scale * (1 + 1 / kappas[k]) / degrees, degrees
        )
        for k in range(K)
    ]


@pytest.mark.parametrize("prior", PRIORS)
def test_densities_are_multivariate_t(prior):
    X, y = normal_classes(25, 3, 3, 0)
    model = BayesianLinearDiscriminantAnalysis(**PRIORS[prior]).fit(X, y)
    new = X + 0.5
    densities = densities_by_hand(X, y, **PRIORS[prior])
    for k, density in enumerate(densities):
        assert_allclose(model.log_density(new, k), density.logpdf(new), rtol=1e-10)
    joint = model.priors_ * np.column_stack([density.pdf(new) for density in densities])
    assert_allclose(model.predict_proba(new), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    assert_allclose(model.log_density(new), np.log(joint.sum(axis=1)), rtol=1e-10)
    assert model.degrees_ == pytest.approx(densities[0].df)


def test_densities_integrate_the_parameters_out():
    # p(x | k, rows) is the integral of N(x; mu_k, s^2) over the posterior of mu_k and s, here by quadrature.
    X, y = np.array([0.0, 1.0, 2.5, 4.0, 5.0, 5.5, 7.0]), np.array([0, 0, 0, 1, 1, 1, 1])
    model = BayesianLinearDiscriminantAnalysis().fit(X[:, None], y)
    own, means, n = X[y == 1], [X[y == k].mean() for k in (0, 1)], len(X)
    within = sum(((X[y == k] - means[k]) ** 2).sum() for k in (0, 1))

    def weight(mu, variance):
        """Posterior of mu_1 and the variance under 1 / variance, the other mean integrated out, up to a constant."""
        squares = within + len(own) * (own.mean() - mu) ** 2
        return variance ** (-(n - 1) / 2 - 1) * np.exp(-squares / (2 * variance))

    def integral(times):
        return dblquad(lambda mu, v: weight(mu, v) * times(mu, v), 1e-2, 200.0, -30.0, 40.0, epsabs=1e-11)[0]

    whole = integral(lambda mu, v: 1.0)
    for x in (3.0, 5.0, 9.0):
        expected = integral(lambda mu, v, x=x: np.exp(-((x - mu) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v)) / whole
        assert np.exp(model.log_density([[x]], 1))[0] == pytest.approx(expected, rel=1e-4)


def test_with_few_rows_it_is_less_sure_than_lda_and_with_many_the_same():
    rng = np.random.default_rng(0)
    truth = np.array([[0.0] * 4, [1.2] * 4])

    def drawn(n):
        y = np.arange(n) % 2
        return rng.normal(size=(n, 4)) + truth[y], y

    held, kinds = drawn(4_000), (LinearDiscriminantAnalysis, BayesianLinearDiscriminantAnalysis)
    codes = held[1][:, None]
    losses = {n: np.zeros(2) for n in (8, 12, 24)}
    for n, total in losses.items():
        for _ in range(30):
            models = [kind().fit(*drawn(n)) for kind in kinds]
            total += [-np.take_along_axis(model.predict_log_proba(held[0]), codes, 1).mean() / 30 for model in models]
    assert all(bayesian < plug_in for plug_in, bayesian in losses.values())
    assert losses[8][1] < 0.3 * losses[8][0]
    many = drawn(20_000)
    plug_in, bayesian = (kind().fit(*many).predict_proba(held[0]) for kind in kinds)
    assert_allclose(plug_in, bayesian, atol=1e-3)


def test_classes_of_fewer_rows_are_wider_and_bend_the_boundary():
    X, y = np.array([-1.0, 1.0, *np.linspace(2.5, 5.5, 41)])[:, None], np.array([0, 0, *[1] * 41])
    priors = [0.5, 0.5]
    plug_in = LinearDiscriminantAnalysis(priors).fit(X, y)
    bayesian = BayesianLinearDiscriminantAnalysis(priors).fit(X, y)
    assert plug_in.predict_proba([[2.0]])[0, 0] == pytest.approx(0.5)  # halfway between the means
    assert bayesian.predict_proba([[2.0]])[0, 0] > 0.6
    assert_array_equal(plug_in.predict([[1.0], [4.0], [60.0]]), [0, 1, 1])
    assert_array_equal(bayesian.predict([[1.0], [4.0], [60.0]]), [0, 1, 0])


def test_two_classes_of_as_many_rows_are_decided_as_lda_decides():
    X, y = normal_classes(60, 3, 2, 1)
    X, y = np.concatenate([X[y == k][:12] for k in (0, 1)]), np.repeat([0, 1], 12)
    new = np.random.default_rng(0).normal(size=(500, 3), scale=3)
    kinds = (LinearDiscriminantAnalysis, BayesianLinearDiscriminantAnalysis)
    assert_array_equal(*(kind().fit(X, y).predict(new) for kind in kinds))


def test_drawn_rows_have_the_predictive_distribution():
    X, y = normal_classes(30, 2, 2, 0)
    model = BayesianLinearDiscriminantAnalysis(kappa=1.0, nu=2.0).fit(X, y)
    density = densities_by_hand(X, y, kappa=1.0, nu=2.0)[1]
    rows, labels = model.sample(40_000, random_state=0, label=1)
    assert set(labels) == {1}
    assert_allclose(rows.mean(axis=0), density.loc, atol=0.05)
    assert_allclose(np.cov(rows.T), density.shape * density.df / (density.df - 2), rtol=0.1, atol=0.05)


def test_more_columns_than_rows_need_a_prior():
    X, y = normal_classes(20, 40, 2, 0)
    with pytest.raises(DegenerateDataError, match=r"40.*18.*nu=40"):
        BayesianLinearDiscriminantAnalysis().fit(X, y)
    model = BayesianLinearDiscriminantAnalysis(nu=40).fit(X, y)
    assert model.score(X, y) > 0.9
    density = densities_by_hand(X, y, nu=40)[0]
    assert_allclose(model.log_density(X, 0), density.logpdf(X), rtol=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kappa": -1}, "kappa"),
        ({"nu": "many"}, "nu"),
        ({"location": [0.0, 0.0, 0.0]}, r"location.*kappa"),
        ({"covariance": COVARIANCE}, r"covariance.*nu"),
        ({"kappa": 1, "location": [0.0]}, r"location.*3"),
        ({"nu": 1, "covariance": np.eye(2)}, r"covariance.*3 x 3"),
        ({"nu": 1, "covariance": [[1, 2, 3], [0, 1, 0], [0, 0, 1]]}, "covariance"),
        ({"nu": 1, "covariance": "unit"}, "covariance"),
    ],
)
def test_priors_that_cannot_be_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        BayesianLinearDiscriminantAnalysis(**given).fit(*normal_classes(30, 3, 2, 0))


def test_a_singular_covariance_has_no_density():
    X, y = normal_classes(40, 3, 2, 0)
    X[:, 2] = X[:, 0] + X[:, 1]
    with pytest.warns(match="column 2"):
        model = BayesianLinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(
        model.predict_proba(X), BayesianLinearDiscriminantAnalysis().fit(X[:, :2], y).predict_proba(X[:, :2]), atol=0.05
    )
    with pytest.raises(DegenerateDataError, match="rank 2 of 3"):
        model.log_density(X)
    with pytest.raises(DegenerateDataError, match="nu"):
        BayesianLinearDiscriminantAnalysis(kappa=1e-9).fit(X * [1, 1, 0] + [0, 0, 1.0], y)
