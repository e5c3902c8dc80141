"""Entropies, divergences and distances: against integrals, textbook formulas and each other."""

from itertools import pairwise

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB

from discriminant import GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.errors import DegenerateDataError, InputError, ParameterError
from discriminant.theory import (
    Gaussian,
    bayes_error,
    bhattacharyya,
    chernoff,
    class_distances,
    class_gaussians,
    cross_entropy,
    entropy,
    error_bounds,
    js_divergence,
    kl_divergence,
)

SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
seeds = st.integers(0, 10_000)


def random_gaussian(rng, p):
    mixing = rng.normal(size=(p, p))
    return Gaussian(rng.normal(size=p), mixing @ mixing.T + 0.2 * np.eye(p))


@given(seeds)
def test_tables_against_scipy(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(5), 2)
    assert_allclose(entropy(p), stats.entropy(p))
    assert_allclose(kl_divergence(p, q), stats.entropy(p, q))
    assert_allclose(js_divergence(p, q), jensenshannon(p, q) ** 2)
    assert_allclose(cross_entropy(p, q), -(p @ np.log(q)))
    assert_allclose(kl_divergence(p, q, base=2), stats.entropy(p, q, base=2))
    assert_allclose(js_divergence(q, p), js_divergence(p, q))
    assert 0 <= js_divergence(p, q) <= np.log(2)


def test_zeros_and_many_rows():
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == np.log(2)
    assert cross_entropy([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert entropy([1.0, 0.0]) == 0
    assert js_divergence([1.0, 0.0], [0.0, 1.0], base=2) == 1
    p, q = np.random.default_rng(0).dirichlet(np.ones(4), (2, 6))
    assert_allclose(kl_divergence(p, q), [kl_divergence(a, b) for a, b in zip(p, q, strict=True)])
    assert_allclose(js_divergence(p, q[0]), [js_divergence(a, q[0]) for a in p])
    assert_allclose(
        kl_divergence({"a": 0.5, "b": 0.5}, {"b": 0.25, "a": 0.75}), kl_divergence([0.5, 0.5], [0.75, 0.25])
    )
    assert kl_divergence({"a": 0.5, "c": 0.5}, {"a": 1.0}) == np.inf
    assert_allclose(cross_entropy({"a": 1.0}, {"a": 0.5, "b": 0.5}), np.log(2))


def test_maximum_likelihood_is_the_least_divergence():
    counts = np.array([12, 30, 8])
    shares = counts / counts.sum()
    models = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    likelihood = np.log(models) @ counts
    assert_array_equal(np.argsort(-likelihood), np.argsort(kl_divergence(shares, models)))
    assert_allclose(likelihood, -counts.sum() * cross_entropy(shares, models))


@given(seeds)
def test_gaussians_of_one_column_against_integrals(seed):
    rng = np.random.default_rng(seed)
    (m1, m2), (s1, s2) = rng.normal(size=2), rng.uniform(0.5, 2, 2)
    p, q = stats.norm(m1, s1), stats.norm(m2, s2)
    first, second = Gaussian(m1, s1**2), Gaussian(m2, s2**2)

    x = np.linspace(-40, 40, 20_001)

    def integral(values):
        """The trapezoidal rule, which for smooth functions that end in zeros is exact to rounding."""
        return values.sum() * (x[1] - x[0])

    assert_allclose(entropy(first), p.entropy())
    assert_allclose(kl_divergence(first, second), integral(p.pdf(x) * (p.logpdf(x) - q.logpdf(x))), rtol=1e-10)
    assert_allclose(cross_entropy(first, second), -integral(p.pdf(x) * q.logpdf(x)), rtol=1e-10)
    assert_allclose(bhattacharyya(first, second), -np.log(integral(np.sqrt(p.pdf(x) * q.pdf(x)))), atol=1e-12)
    at = chernoff(first, second, s=0.3)
    assert_allclose(at.distance, -np.log(integral(p.pdf(x) ** 0.3 * q.pdf(x) ** 0.7)), atol=1e-12)


@given(seeds, st.integers(1, 6))
def test_gaussians_of_many_columns_against_textbook_formulas(seed, p):
    rng = np.random.default_rng(seed)
    first, second = random_gaussian(rng, p), random_gaussian(rng, p)
    S1, S2, d = first.covariance, second.covariance, second.mean - first.mean
    mean = (S1 + S2) / 2

    def logdet(matrix):
        return np.linalg.slogdet(matrix)[1]

    expected = d @ np.linalg.solve(mean, d) / 8 + (logdet(mean) - (logdet(S1) + logdet(S2)) / 2) / 2
    assert_allclose(bhattacharyya(first, second), expected, rtol=1e-8)
    kl = (np.trace(np.linalg.solve(S2, S1)) + d @ np.linalg.solve(S2, d) - p + logdet(S2) - logdet(S1)) / 2
    assert_allclose(kl_divergence(first, second), kl, rtol=1e-7)
    assert_allclose(entropy(first), stats.multivariate_normal(first.mean, S1).entropy())
    X = rng.normal(size=(4, p))
    assert_allclose(first.log_density(X), np.atleast_1d(stats.multivariate_normal(first.mean, S1).logpdf(X)), rtol=1e-8)


@given(seeds)
def test_the_best_chernoff_exponent(seed):
    rng = np.random.default_rng(seed)
    first, second = random_gaussian(rng, 3), random_gaussian(rng, 3)
    best = chernoff(first, second)
    grid = [chernoff(first, second, s).distance for s in np.linspace(0, 1, 201)]
    assert best.distance >= max(grid) - 1e-12
    assert best.distance <= max(grid) + 1e-3
    assert_allclose([grid[0], grid[-1]], 0, atol=1e-12)
    back = chernoff(second, first)
    assert_allclose([back.s, back.distance], [1 - best.s, best.distance], rtol=1e-7)
    assert_allclose(chernoff(first, second, 0.5).distance, bhattacharyya(first, second))


@given(seeds)
def test_distances_do_not_depend_on_units_or_axes(seed):
    rng = np.random.default_rng(seed)
    gaussians = [random_gaussian(rng, 3) for _ in range(4)]
    mixing = np.array([[1e-6], [1.0], [1e5]]) * np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moved = [Gaussian(mixing @ g.mean, mixing @ g.covariance @ mixing.T) for g in gaussians]
    one, other = class_distances(gaussians), class_distances(moved)
    assert_allclose(other.bhattacharyya, one.bhattacharyya, rtol=1e-9)
    assert_allclose(other.kl, one.kl, rtol=1e-9)


@given(seeds)
def test_all_pairs_are_the_single_pairs(seed):
    rng = np.random.default_rng(seed)
    gaussians = {name: random_gaussian(rng, 2) for name in "abcd"}
    found = class_distances(gaussians)
    names = list(gaussians)
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            pair = gaussians[first], gaussians[second]
            assert_allclose(found.bhattacharyya[i, j], bhattacharyya(*pair), rtol=1e-9, atol=1e-14)
            assert_allclose(found.kl[i, j], kl_divergence(*pair), rtol=1e-9, atol=1e-14)
    assert_allclose(found.divergence, found.kl + found.kl.T)
    assert_allclose(found.jeffries_matusita, 2 * (1 - np.exp(-found.bhattacharyya)))
    assert_allclose(found.transformed_divergence, 2 * (1 - np.exp(-found.divergence / 8)))
    off = found.bhattacharyya + 1e9 * np.eye(4)
    i, j = np.unravel_index(off.argmin(), off.shape)
    assert set(found.nearest) == {names[i], names[j]}


def test_nearly_equal_and_extremely_different_gaussians_keep_their_digits():
    assert bhattacharyya(Gaussian(0, 1), Gaussian(0, 1)) == 0
    step = 1e-7
    assert_allclose(bhattacharyya(Gaussian(0, 1), Gaussian(step, 1)), step**2 / 8, rtol=1e-12)
    assert_allclose(bhattacharyya(Gaussian(0, 1), Gaussian(0, (1 + 1e-4) ** 2)), 0.25e-8 * (1 - 1e-4), rtol=1e-6)
    assert_allclose(bhattacharyya(Gaussian(0, 1), Gaussian(0, 1e40)), 0.5 * np.log(5e39) - 0.25 * np.log(1e40))
    assert_allclose(kl_divergence(Gaussian(0, 1), Gaussian(0, 1e40)), 0.5 * (np.log(1e40) - 1))


@given(seeds)
def test_the_bayes_error_lies_between_its_bounds(seed):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    gaussians = [Gaussian(m, v) for m, v in zip(rng.normal(0, 2, K), rng.uniform(0.2, 4, K), strict=True)]
    priors = rng.dirichlet(np.full(K, 2.0))
    bounds = error_bounds(gaussians, priors)
    low, high = bounds.interval
    error = bayes_error(gaussians, priors).error
    assert low - 1e-12 <= error <= high + 1e-12
    for i in range(K):
        for j in range(i):
            pair = priors[[i, j]] / priors[[i, j]].sum()
            exact = bayes_error([gaussians[i], gaussians[j]], pair).error
            assert bounds.lower[i, j] - 1e-12 <= exact <= bounds.chernoff[i, j] + 1e-12
            assert bounds.chernoff[i, j] <= min(bounds.bhattacharyya[i, j], pair.min()) + 1e-12
            assert_allclose(bounds.exponents[i, j], 1 - bounds.exponents[j, i])


def test_bounds_of_a_known_pair():
    found = error_bounds([Gaussian(0, 1), Gaussian(2, 1)], [0.3, 0.7])
    affinity = np.sqrt(0.21) * np.exp(-0.5)
    assert_allclose(found.bhattacharyya[0, 1], affinity)
    assert_allclose(found.lower[0, 1], (1 - np.sqrt(1 - 4 * affinity**2)) / 2)
    far = error_bounds([Gaussian(0, 1), Gaussian(60, 1)])
    assert_allclose(far.lower[0, 1], 0.25 * np.exp(-900), rtol=1e-9)
    lopsided = error_bounds([Gaussian(0, 1), Gaussian(0.1, 1)], [0.001, 0.999])
    assert_allclose(lopsided.chernoff[0, 1], 0.001, rtol=1e-9)
    assert error_bounds([Gaussian(0, 1), Gaussian(2, 1)], [1.0, 0.0]).interval == (0.0, 0.0)


@pytest.mark.parametrize(
    ("models", "ratio"),
    [
        ((LinearDiscriminantAnalysis(), SklearnLDA(solver="lsqr")), 147 / 150),
        ((QuadraticDiscriminantAnalysis(), SklearnQDA(store_covariance=True)), 49 / 50 if SKLEARN >= (1, 9) else 1.0),
        ((GaussianNB(var_smoothing=0), SklearnGaussianNB(var_smoothing=0)), 1.0),
    ],
    ids=["lda", "qda", "naive bayes"],
)
def test_gaussians_of_models_here_and_in_scikit_learn(models, ratio):
    """Which divides by the number of rows (QDA since 1.9), where ours divide by the degrees of freedom."""
    X, y = load_iris(return_X_y=True)
    ours, theirs = (class_gaussians(model.fit(X, np.array(["s", "c", "v"])[y])) for model in models)
    assert list(ours) == list(theirs) == ["c", "s", "v"]
    for label, gaussian in ours.items():
        assert_allclose(gaussian.mean, theirs[label].mean)
        assert_allclose(gaussian.covariance * ratio, theirs[label].covariance, rtol=1e-9)
    assert_allclose(error_bounds(models[0]).priors, models[0].priors_)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: kl_divergence([0.5, 0.5], [0.2, 0.3, 0.5]), InputError, "p has 2 values, q has 3"),
        (lambda: kl_divergence([0.5, 0.6], [0.5, 0.5]), InputError, r"p must sum to 1, got 1\.1"),
        (
            lambda: kl_divergence([0.5, 0.5], [1.5, -0.5]),
            InputError,
            r"q must be probabilities: the entry \(1,\) is -0.5",
        ),
        (lambda: entropy([np.nan, 1.0]), InputError, r"the entry \(0,\) is nan"),
        (lambda: entropy(0.5), InputError, "p must be an array"),
        (lambda: entropy(["a"]), InputError, "p must be probabilities"),
        (lambda: entropy([1.0], base=1), ParameterError, "base must be a number above 1"),
        (lambda: kl_divergence(Gaussian(0, 1), [0.5, 0.5]), ParameterError, "of one kind"),
        (lambda: kl_divergence({"a": 1.0}, [1.0]), ParameterError, "of one kind"),
        (
            lambda: kl_divergence(Gaussian(0, 1), Gaussian([0, 0], np.eye(2))),
            ParameterError,
            "p has 1 columns, q has 2",
        ),
        (lambda: js_divergence(Gaussian(0, 1), Gaussian([1, 1], np.eye(2))), ParameterError, "p has 1 columns"),
        (lambda: Gaussian([0, 0], [[1, 2], [0, 1]]), InputError, "symmetric"),
        (lambda: Gaussian([0, 0], np.ones((2, 2))), DegenerateDataError, "rank 1 for 2 columns"),
        (lambda: Gaussian(0, 0), DegenerateDataError, "variance of column 0 is 0"),
        (lambda: Gaussian([0, 0], np.eye(3)), InputError, r"got \(2,\) and \(3, 3\)"),
        (lambda: Gaussian(np.nan, 1), InputError, "finite"),
        (lambda: Gaussian("a", 1), InputError, "'a'"),
        (lambda: chernoff(Gaussian(0, 1), Gaussian(1, 1), s=2), ParameterError, "s must be a number from 0 to 1"),
        (lambda: bhattacharyya(Gaussian(0, 1), stats.norm(0, 1)), ParameterError, "Class 1 must be a Gaussian"),
        (lambda: class_distances([Gaussian(0, 1)]), ParameterError, "at least two classes"),
        (lambda: class_distances([Gaussian(0, 1), Gaussian([0, 0], np.eye(2))]), ParameterError, "class 1 has 2"),
        (lambda: class_distances(SklearnLogisticRegression()), ParameterError, "LogisticRegression has no class means"),
        (lambda: error_bounds([Gaussian(0, 1)] * 3, [1, 0, 0]), ParameterError, "both have prior 0"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("model", [SklearnGaussianNB(), GaussianNB()], ids=["scikit-learn", "ours"])
def test_bounds_use_the_priors_of_the_model_whatever_it_calls_them(model):
    rng = np.random.default_rng(0)
    X = np.concatenate((rng.normal(0, 1, (900, 1)), rng.normal(2, 1, (100, 1))))
    found = error_bounds(model.fit(X, np.repeat([0, 1], [900, 100])))
    assert_allclose(found.priors, [0.9, 0.1])
    assert found.interval[1] <= 0.1


def js_by_quadrature(mean, deviation):
    """Of two normals of one column: each expectation in its own standard units, piece by piece."""

    steps = np.linspace(-8, 8, 33)

    def half(own, other):
        def integrand(z):
            x = mean[own] + deviation[own] * z
            other_log = -0.5 * ((x - mean[other]) / deviation[other]) ** 2 - np.log(deviation[other])
            ratio = other_log + 0.5 * z * z + np.log(deviation[own])
            return np.exp(-0.5 * z * z) * (np.log(2) - np.logaddexp(0, ratio)) / np.sqrt(2 * np.pi)

        there = (mean[other] - mean[own] + deviation[other] * steps) / deviation[own]
        edges = np.unique(np.clip([*np.linspace(-12, 12, 49), *there], -12, 12))
        return sum(quad(integrand, a, b, epsabs=1e-14, epsrel=1e-12)[0] for a, b in pairwise(edges))

    return 0.5 * (half(0, 1) + half(1, 0))


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [
        ((0, 1), (1, 1)),
        ((0, 3), (1, 1)),
        ((0, 0), (1, 2)),
        ((0, 0.01), (1, 1)),
        ((5, 2), (0.1, 3)),
        ((0, 1), (1, 100)),
        ((0, 9), (1, 1.5)),
    ],
)
def test_js_of_normals_is_the_quadrature(mean, deviation):
    p, q = (Gaussian(m, s**2) for m, s in zip(mean, deviation, strict=True))
    assert_allclose(js_divergence(p, q), js_by_quadrature(mean, deviation), rtol=1e-9, atol=1e-13)
    assert_allclose(js_divergence(p, q, base=2) * np.log(2), js_divergence(q, p), rtol=1e-12)


def test_js_of_gaussians_of_several_columns_is_what_drawing_says():
    rng = np.random.default_rng(3)
    roots = rng.normal(size=(2, 3, 3)) + 2 * np.eye(3)
    p, q = Gaussian([0, 0, 0], roots[0] @ roots[0].T), Gaussian([1, 0, 2], roots[1] @ roots[1].T)
    halves = []
    for own, other in ((p, q), (q, p)):
        X = own.draw(400_000, rng)
        halves.append(np.log(2) - np.logaddexp(0, other.log_density(X) - own.log_density(X)))
    drawn, error = np.mean(halves), np.hypot(*(half.std() / 2 for half in halves)) / np.sqrt(400_000)
    assert abs(js_divergence(p, q) - drawn) < 4 * error


def test_js_of_gaussians_at_its_ends():
    p = Gaussian([1, 2], [[2, 1], [1, 3]])
    assert js_divergence(p, p) < 1e-30
    assert_allclose(js_divergence(p, Gaussian([1e4, 2], [[2, 1], [1, 3]])), np.log(2), rtol=1e-14)
    near = [js_divergence(Gaussian(0, 1), Gaussian(d, 1)) / d**2 for d in (1e-2, 1e-4, 1e-6)]
    assert_allclose(near, 1 / 8, rtol=1e-4)  # half the Fisher information, halved and halved
    lifted = Gaussian([1, 2, 0], np.block([[p.covariance, np.zeros((2, 1))], [np.zeros((1, 2)), np.eye(1)]]))
    other = Gaussian([0, 0, 0], np.diag([1.0, 4.0, 1.0]))
    assert_allclose(js_divergence(lifted, other), js_divergence(p, Gaussian([0, 0], np.diag([1.0, 4.0]))), rtol=1e-12)
