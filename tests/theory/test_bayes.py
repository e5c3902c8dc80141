"""The Bayes classifier and its error: closed forms, quadrature, sums and draws against each other."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.decision import Decision, posterior
from discriminant.errors import InputError, LabelError, ParameterError
from discriminant.theory import BayesClassifier, Gaussian, bayes_error, class_gaussians

seeds = st.integers(0, 10_000)


def random_normals(seed, K=None):
    rng = np.random.default_rng(seed)
    K = K or int(rng.integers(2, 5))
    return [stats.norm(*pair) for pair in zip(rng.normal(0, 2, K), rng.uniform(0.2, 3, K), strict=True)], rng.dirichlet(
        np.ones(K)
    )


@given(seeds)
def test_posteriors_are_bayes_rule(seed):
    normals, priors = random_normals(seed)
    x = np.random.default_rng(seed).normal(0, 3, 12)
    joint = np.column_stack([d.pdf(x) * p for d, p in zip(normals, priors, strict=True)])
    model = BayesClassifier(normals, priors)
    assert_allclose(model.predict_proba(x[:, None]), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)
    assert_allclose(np.exp(model.log_joint(x)), joint, rtol=1e-9, atol=1e-300)
    assert_array_equal(model.predict(x), joint.argmax(axis=1))


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_the_gaussians_of_a_model_make_the_model(model):
    X, y = load_iris(return_X_y=True)
    fitted = model().fit(X, y)
    known = BayesClassifier(class_gaussians(fitted), fitted.priors_)
    assert_allclose(known.predict_proba(X), fitted.predict_proba(X), rtol=1e-7, atol=1e-12)
    moments = [stats.multivariate_normal(g.mean, g.covariance) for g in class_gaussians(fitted).values()]
    assert_allclose(BayesClassifier(moments).log_joint(X), known.log_joint(X), rtol=1e-9)


def test_classes_come_sorted_and_priors_follow_their_distributions():
    high, low = stats.norm(5, 1), stats.norm(0, 1)
    by_dict = BayesClassifier({"low": low, "high": high}, priors={"low": 0.9, "high": 0.1})
    by_list = BayesClassifier([low, high], priors=[0.9, 0.1], classes=["low", "high"])
    for model in (by_dict, by_list):
        assert_array_equal(model.classes_, ["high", "low"])
        assert_allclose(model.priors_, [0.1, 0.9])
        assert_array_equal(model.predict([0.0, 5.0]), ["low", "high"])
        assert_allclose(posterior(model, [[2.5]]).priors, model.priors_)


def test_tables_and_values():
    table = {"organic": {1.4: 0.65, 2.0: 0.35}, "ordinary": {1.4: 0.35, 2.0: 0.65}}
    model = BayesClassifier(table, priors={"organic": 0.4, "ordinary": 0.6})
    assert_allclose(model.predict_proba([1.4])[0, 0], 0.47**-1 * 0.21)
    assert_allclose(bayes_error(table, [0.4, 0.6]).error, 0.35 * 0.6 + 0.35 * 0.4)
    words = BayesClassifier([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], classes=["a", "b"])
    assert_array_equal(words.predict([0, 2]), ["a", "b"])
    colours = BayesClassifier({"a": {"red": 0.9, "blue": 0.1}, "b": {"blue": 1.0}})
    assert_allclose(colours.predict_proba(["red", "blue"]), [[1, 0], [1 / 11, 10 / 11]])


def test_it_lives_among_estimators():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(2.0 * y)[:, None]
    model = BayesClassifier([stats.norm(0, 1), stats.norm(2, 1)])
    assert cross_val_score(model, X, y, cv=4).mean() > 0.7
    assert_array_equal(clone(model).predict(X), model.predict(X))
    assert 0.7 < model.score(X, y) < 0.95
    assert set(Decision(reject_cost=0.2).decide(posterior(model, X))) == {0, 1, "abstain"}
    with pytest.raises(LabelError, match="Label 7 has no distribution"):
        model.fit(X, np.where(y == 1, 7, 0))


@given(seeds)
def test_exact_quadrature_and_draws_agree_on_normals(seed):
    normals, priors = random_normals(seed)
    exact = bayes_error(normals, priors)
    assert exact.method == "exact"
    quadrature = bayes_error(normals, priors, method="quadrature")
    assert_allclose(quadrature.error, exact.error, atol=1e-10)
    assert quadrature.numerical_error < 1e-9
    assume(exact.error > 1e-3)  # rarer errors need more draws than a test has time for
    drawn = bayes_error(normals, priors, method="monte-carlo", n=4000, random_state=seed)
    assert abs(drawn.error - exact.error) < 5 * drawn.standard_error + 1e-12


@given(seeds)
def test_the_error_of_two_normals_of_one_covariance(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 5))
    mixing = rng.normal(size=(p, p))
    covariance = mixing @ mixing.T + 0.1 * np.eye(p)
    first, second = (stats.multivariate_normal(rng.normal(size=p), covariance) for _ in range(2))
    share = rng.uniform(0.1, 0.9)
    found = bayes_error([first, second], [share, 1 - share])
    assert found.method == "exact"
    distance = np.sqrt((first.mean - second.mean) @ np.linalg.solve(covariance, first.mean - second.mean))
    on_a_line = bayes_error([stats.norm(0, 1), stats.norm(distance, 1)], [share, 1 - share])
    assert_allclose(found.error, on_a_line.error, rtol=1e-8)
    assume(found.error > 1e-3)
    drawn = bayes_error([first, second], [share, 1 - share], method="monte-carlo", n=4000, random_state=seed)
    assert abs(drawn.error - found.error) < 5 * drawn.standard_error + 1e-12


def test_small_errors_keep_their_digits():
    assert_allclose(bayes_error([stats.norm(0, 1), stats.norm(20, 1)]).error, stats.norm.sf(10), rtol=1e-10)
    assert_allclose(
        bayes_error([stats.norm(0, 1), stats.norm(20, 1)], method="quadrature").error, stats.norm.sf(10), rtol=1e-8
    )


@pytest.mark.parametrize(
    ("distributions", "priors"),
    [
        ([stats.gamma(2), stats.expon()], None),
        ([stats.beta(0.5, 0.5), stats.uniform()], [0.3, 0.7]),
        ([stats.uniform(0, 1), stats.uniform(0.5, 1), stats.uniform(0.9, 3)], None),
        ([stats.cauchy(0), stats.cauchy(3)], [0.2, 0.8]),
        ([stats.t(3), stats.norm(0, 1), stats.laplace(2)], None),
        ([stats.norm(0, 1), stats.norm(0.5, 1e-4)], None),
    ],
    ids=["gamma", "beta", "uniform", "cauchy", "mixed", "needle"],
)
def test_quadrature_agrees_with_draws(distributions, priors):
    found = bayes_error(distributions, priors, method="quadrature")
    drawn = bayes_error(distributions, priors, method="monte-carlo", n=40_000)
    assert abs(found.error - drawn.error) < 5 * drawn.standard_error
    assert found.numerical_error < 1e-9


def test_counts_are_summed():
    found = bayes_error([stats.poisson(3), stats.poisson(5)], [0.3, 0.7])
    k = np.arange(200)
    joint = np.array([0.3 * stats.poisson(3).pmf(k), 0.7 * stats.poisson(5).pmf(k)])
    assert found.method == "exact"
    assert_allclose(found.error, joint.min(axis=0).sum(), rtol=1e-12)


def test_degenerate_problems():
    same = [stats.norm(1, 2)] * 3
    assert_allclose(bayes_error(same, [0.2, 0.5, 0.3]).error, 0.5)
    assert_allclose(bayes_error(same, [0.2, 0.5, 0.3], method="quadrature").error, 0.5, rtol=1e-9)
    assert bayes_error([stats.norm(0, 1), stats.norm(0, 2)], [1.0, 0.0]).error == 0
    assert_allclose(bayes_error([Gaussian([0, 0], np.eye(2)), Gaussian([0, 0], np.eye(2))], [0.1, 0.9]).error, 0.1)
    assert bayes_error([[1.0, 0.0], [0.0, 1.0]]).error == 0
    nearly = [stats.norm(0, 1), stats.norm(1, 1 + 1e-13)]
    assert_allclose(bayes_error(nearly).error, stats.norm.sf(0.5), rtol=1e-10)


def test_units_and_offsets_do_not_matter():
    for offset, unit in ((0, 1e-9), (1e6, 1.0), (-1e5, 1e-3)):
        moved = [stats.norm(offset + unit * m, unit * s) for m, s in ((0, 1), (1, 2), (3, 1))]
        expected = bayes_error([stats.norm(0, 1), stats.norm(1, 2), stats.norm(3, 1)], [0.3, 0.3, 0.4]).error
        assert_allclose(bayes_error(moved, [0.3, 0.3, 0.4]).error, expected, rtol=1e-6)
    alike = [stats.norm(1e7, 1)] * 2
    assert_allclose(bayes_error(alike, [0.5 - 1e-9, 0.5 + 1e-9]).error, 0.5 - 1e-9, rtol=1e-15)


def test_a_singular_covariance_is_left_to_the_draws():
    flat = [stats.multivariate_normal([m, m], np.ones((2, 2)), allow_singular=True) for m in (0.0, 2.0)]
    found = bayes_error(flat)
    assert found.method == "monte-carlo"
    assert abs(found.error - bayes_error([stats.norm(0, 1), stats.norm(2, 1)]).error) < 5 * found.standard_error


def test_draws_are_reproducible_and_work_in_any_dimension():
    heavy = [stats.multivariate_t([0, 0], df=3), stats.multivariate_t([2, 0], df=3)]
    first, second = bayes_error(heavy), bayes_error(heavy)
    assert first == second
    assert first.method == "monte-carlo"
    assert 0 < first.standard_error < 1e-3
    assert "standard error" in str(first)
    three = bayes_error([Gaussian([k, 0], np.eye(2)) for k in range(3)])
    line = bayes_error([stats.norm(k, 1) for k in range(3)])
    assert abs(three.error - line.error) < 5 * three.standard_error


@pytest.mark.parametrize(
    ("distributions", "words"),
    [
        ([stats.norm(0, 1)], "at least two classes"),
        ([stats.norm(0, 1), "normal"], "Class 1 has 'normal', expected a frozen"),
        ([stats.norm(0, 1), stats.poisson(2)], "Classes 0 and 1"),
        ([stats.norm(0, 1), Gaussian([0, 0], np.eye(2))], "Class 0 has 1 columns, class 1 has 2"),
        ([[0.5, 0.5], [0.5, 0.6]], "probabilities of class 1 must sum to 1"),
        ([[0.5, 0.5], [1.0]], "class 1 has 1 values, expected 2"),
        ([[0.5, 0.5], ["a", "b"]], "class 1 must be probabilities"),
        ([[0.5, 0.5], {"a": 0.5, "b": 0.5}], "a dict for every class, or for none"),
        ([[0.5, 0.5], stats.norm()], "Class 0 is a table, class 1 is not"),
        ([stats.dirichlet([1, 2, 3])] * 2, "dirichlet_frozen"),
        ({"a": {"x": 1.0}}, "at least two classes"),
    ],
)
def test_what_are_not_distributions_is_refused(distributions, words):
    with pytest.raises(ParameterError, match=words):
        bayes_error(distributions)
    with pytest.raises(ParameterError, match=words):
        BayesClassifier(distributions).predict([[0.0]])


def test_other_bad_input():
    normals = [stats.norm(0, 1), stats.norm(1, 2)]
    with pytest.raises(ParameterError, match="method"):
        bayes_error(normals, method="guess")
    with pytest.raises(ParameterError, match="method='exact'"):
        bayes_error([stats.t(3), stats.norm()], method="exact")
    with pytest.raises(ParameterError, match="method='quadrature'"):
        bayes_error([Gaussian([0, 0], np.eye(2)), Gaussian([1, 0], 2 * np.eye(2))], method="quadrature")
    with pytest.raises(ParameterError, match="priors must sum to 1"):
        bayes_error(normals, priors=[0.5, 0.6])
    with pytest.raises(ParameterError, match="classes"):
        BayesClassifier({"a": normals[0], "b": normals[1]}, classes=["a", "b"]).predict([0.0])
    with pytest.raises(InputError, match="2 columns"):
        BayesClassifier(normals).predict([[0.0, 1.0]])
    with pytest.raises(InputError, match="column 0, row 1"):
        BayesClassifier(normals).predict([[0.0], [np.nan]])
    with pytest.raises(InputError, match="Row 1 "):
        BayesClassifier([stats.uniform(0, 1), stats.uniform(0.5, 1)]).predict([0.3, 7.0])
    with pytest.raises(InputError, match=r"Row 0 .*'green'"):
        BayesClassifier({"a": {"red": 1.0}, "b": {"blue": 1.0}}).predict(["green"])


def test_several_distributions_in_one_are_refused():
    with pytest.raises(ParameterError, match=r"Class 1 .*2 distributions"):
        bayes_error([stats.norm(0, 1), stats.norm([0, 1], 1)])
