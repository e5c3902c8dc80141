"""Replays "Clasificadores Discriminativos Básicos" (R. Ñanculef, INF-398, 2021), in the order of the notes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm
from sklearn.datasets import load_iris

import discriminant as d
from discriminant import theory
from discriminant.datasets import six_rows, titanic, worked_example
from discriminant.decision import Decision
from discriminant.multiclass import exhaustive_code
from discriminant.solvers import IRLS, GradientDescent, StochasticGradient

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
AVOCADO = d.BayesClassifier({1: [0.65, 0.35], 0: [0.35, 0.65]}, {1: 0.4, 0: 0.6})
IRIS = load_iris()


# 1. Teoría de Decisión: clasificación como aprendizaje supervisado, (1) to (4)


def test_the_risk_of_the_misclassification_loss_is_the_share_of_errors():
    X, y = IRIS.data, IRIS.target
    predicted = d.LinearDiscriminantAnalysis().fit(X, y).predict(X)
    loss = (predicted != y).mean()  # (4)
    confusion = d.ConfusionMatrix.of(y, predicted)
    assert confusion.overall("error_rate") == pytest.approx(loss)
    assert confusion.overall("accuracy") == pytest.approx(1 - loss)


# Tipos de errores


def test_three_sources_of_error_stand_side_by_side():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 1)) + 2 * y[:, None]
    found = d.error_sources(d.LinearDiscriminantAnalysis(), X, y, norm.cdf(-1), sizes=[40, 120, 300], cv=4)
    assert found.total.value == pytest.approx(norm.cdf(-1) + found.approximation.value + found.estimation.value)
    assert found.optimisation is not None


# Error & clasificador de Bayes, (5) to (7)


def test_the_bayes_error_is_a_lower_bound_and_argmax_attains_it():
    best = d.BayesClassifier([norm(0, 1), norm(2, 1)])
    error = d.bayes_error([norm(0, 1), norm(2, 1)]).error
    assert error == pytest.approx(norm.cdf(-1), abs=1e-9)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    x = rng.normal(size=20_000) + 2 * y
    assert np.mean(best.predict(x[:, None]) != y) == pytest.approx(error, abs=0.01)
    for threshold in (0.0, 0.5, 1.5, 3.0):
        assert 0.5 * norm.sf(threshold) + 0.5 * norm.cdf(threshold - 2) > error


# Decisión a-priori vs. decisión a-posteriori, (8)


def test_an_avocado_that_weighs_1_4():
    organic = AVOCADO.predict_proba([0])[0][list(AVOCADO.classes_).index(1)]
    assert organic == pytest.approx(0.26 / 0.47)
    assert organic == pytest.approx(0.553, abs=5e-4)
    assert 1 - organic == pytest.approx(0.4468, abs=5e-5)  # the notes cut it off: 0.446
    assert AVOCADO.predict([0])[0] == 1  # a posteriori; a priori it would be 0, the more frequent kind


# Divergencias clásicas, (10) and (11)


def test_divergences_are_what_their_formulas_say():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    m = (p + q) / 2
    kl = float(np.sum(p * np.log(p / q)))
    assert theory.kl_divergence(p, q) == pytest.approx(kl)
    js = (theory.kl_divergence(p, m) + theory.kl_divergence(q, m)) / 2
    assert theory.js_divergence(p, q) == pytest.approx(js)
    assert theory.js_divergence(p, q) == pytest.approx(theory.js_divergence(q, p))


# Clasificadores discriminativos vs. generativos


def test_generative_classifiers_draw_synthetic_rows():
    model = d.QuadraticDiscriminantAnalysis().fit(IRIS.data, IRIS.target)
    X, y = model.sample(3_000, random_state=0)
    assert_allclose(X[y == 1].mean(axis=0), model.means_[1], atol=0.1)
    joint = np.exp(model.log_density(IRIS.data, 2)) * model.priors_[2]
    assert_allclose(model.predict_proba(IRIS.data)[:, 2], joint / np.exp(model.log_density(IRIS.data)), rtol=1e-8)


# Otras funciones de costo: cost-sensitive classification


def test_costs_turn_the_decision_of_the_avocado():
    said = d.posterior(AVOCADO, [0])
    rule = Decision({0: {1: 2.0}, 1: {0: 1.0}})  # C[k, j]: cost of predicting j when the truth is k
    risks = dict(zip(rule.actions_for(said.classes), rule.risk(said)[0], strict=True))
    assert risks[1] == pytest.approx(0.8936, abs=5e-5)  # the notes: 0.892, from 0.446
    assert risks[0] == pytest.approx(0.5532, abs=5e-5)
    assert rule.decide(said)[0] == 0


# 2. El Perceptrón: log-odds y decisiones, (12) to (14)


def test_the_sign_of_the_log_odds_decides():
    x = np.linspace(-3, 5, 41)[:, None] + 0.013
    proba = d.BayesClassifier([norm(0, 1), norm(2, 1)]).predict_proba(x)
    odds = np.log(proba[:, 1] / (1 - proba[:, 1]))
    assert_array_equal(odds > 0, proba[:, 1] > proba[:, 0])
    assert_allclose(odds, 2 * x[:, 0] - 2)  # linear in x


# Algoritmo de entrenamiento de Rosenblatt (Algorithm 1)


def perceptron(X, y, eta=1.0):
    """Algorithm 1, line by line; sign(0) = 1."""
    w, b, updates, mistakes = np.zeros(X.shape[1]), 0.0, 0, True
    while mistakes:
        mistakes = False
        for x, side in zip(X, y, strict=True):
            if side * (1 if w @ x + b >= 0 else -1) < 0:
                w, b, updates, mistakes = w + eta * side * x, b + eta * side, updates + 1, True
    return w, b, updates


@pytest.mark.parametrize("gate", ["and", "or"])
def test_algorithm_1(gate):
    example = worked_example(f"{gate}-perceptron")
    X, y = example.given["data"].X, np.where(example.given["data"].y == example.given["data"].y[-1], 1, -1)
    w, b, updates = perceptron(X, y)
    model = d.Perceptron().fit(X, y)
    assert_array_equal(model.coef_[0], w)
    assert (model.intercept_[0], model.updates_) == (b, updates)
    assert updates == example.numbers["sign: updates"]
    assert_array_equal(w, example.numbers["sign: w"])


def test_an_update_makes_its_row_less_wrong():
    X, y = np.array([[2.0, 1], [1, 3], [-1, 0], [0, -2]]), np.array([-1, -1, 1, 1])
    before = np.zeros(3)
    for step in d.Perceptron(eta=0.5, trace=True).fit(X, y).trace_:
        after, row = np.append(step.coef, step.intercept), np.append(X[step.row], 1)
        gain = y[step.row] * (after - before) @ row
        assert gain == pytest.approx(0.5 * row @ row)
        before = after


# Análisis de convergencia


def test_the_bounds_of_the_proof_hold_at_every_update():
    X, y = IRIS.data[:100, :2], np.repeat([-1, 1], 50)
    model = d.Perceptron(trace=True, max_iter=2_000).fit(X, y)
    certificate = model.certificate()
    R = np.sqrt((np.hstack((X, np.ones((100, 1)))) ** 2).sum(axis=1).max())
    assert pytest.approx(R) == certificate.R
    for t, step in enumerate(model.trace_, 1):
        length = np.linalg.norm(np.append(step.coef, step.intercept))
        assert t * certificate.gamma <= length * (1 + 1e-9)
        assert length <= np.sqrt(t) * R * (1 + 1e-9)
    assert model.updates_ <= certificate.bound
    # Errata: the alignment grows like sqrt(t) gamma / R, it is not O(1 / sqrt t).
    assert certificate.least_alignment == pytest.approx(np.sqrt(model.updates_) * certificate.gamma / R)
    assert certificate.least_alignment <= certificate.alignment <= 1


# Extensiones multi-clases


def test_schemes_train_as_many_classifiers_as_the_notes_count():
    X, y = IRIS.data, IRIS.target
    K = 3
    assert len(d.OneVsOne(d.LogisticRegression(0.01)).fit(X, y).estimators_) == K * (K - 1) // 2
    assert len(d.OneVsRest(d.LogisticRegression(0.01)).fit(X, y).estimators_) == K
    code = worked_example("output-code")
    book = exhaustive_code(code.given["n_classes"])
    assert book.n_columns == code.numbers["columns"]
    apart = (book.matrix[:, None] != book.matrix).sum(axis=2)
    assert apart[~np.eye(4, dtype=bool)].min() == code.numbers["row distance"]


def test_ambiguous_regions_are_found_and_confidence_resolves_them():
    example = worked_example("ambiguous-centre")
    data = example.given["data"]
    model = d.OneVsRest(d.LeastSquaresClassifier()).fit(data.X, data.y)
    found = model.ambiguous(example.given["points"])
    said = np.where(found.none, "none", np.where(found.several, "several", "one"))
    assert said.tolist() == example.numbers["one-versus-rest"]
    scores = model.decision_function(example.given["points"])
    assert_array_equal(model.predict(example.given["points"]), model.classes_[scores.argmax(axis=1)])  # (16)


# 3. El Regresor Logístico, (17) to (19)


def test_probabilities_are_the_sigmoid_of_the_log_odds():
    line = d.LinearClassifier([2.0], -1.0)
    x = np.linspace(-2, 2, 9)[:, None]
    assert_allclose(line.predict_proba(x)[:, 1], 1 / (1 + np.exp(-(2 * x[:, 0] - 1))))


def test_odds_of_survival():
    example = worked_example("titanic")
    data = titanic()
    assert example.numbers["odds ratio"] == pytest.approx(344 * 1364 / (126 * 367))
    assert len(data.y) == 2201


# Entrenamiento del clasificador, (20) to (27)


def test_the_log_likelihood_at_given_parameters_in_both_of_its_forms():
    X, y = six_rows().X, six_rows().y
    w, b = 0.7, -2.0
    score = w * X[:, 0] + b
    product = np.prod(expit(score) ** y * (1 - expit(score)) ** (1 - y))  # (21): a product of powers
    found = d.LinearClassifier([w], b).log_likelihood(X, y)
    assert found == pytest.approx(np.log(product))
    assert found == pytest.approx(np.sum(y * score - np.log(1 + np.exp(score))))  # (27)


def test_maximum_likelihood_is_minimum_cross_entropy():
    X, y = six_rows().X, six_rows().y
    best = d.LogisticRegression().fit(X, y)
    labels = np.column_stack((1 - y, y)).astype(float)
    entropies = [theory.cross_entropy(p, q) for p, q in zip(labels, best.predict_proba(X), strict=True)]
    assert -np.sum(entropies) == pytest.approx(best.summary().log_likelihood)


# Derivadas, (28) to (32)


def test_the_maximum_has_the_gradient_0_and_the_hessian_of_the_notes():
    X, y = six_rows().X, six_rows().y
    model = d.LogisticRegression().fit(X, y)
    Z = np.hstack((np.ones((6, 1)), X))
    p = model.predict_proba(X)[:, 1]
    assert_allclose(Z.T @ (y - p), 0, atol=1e-8)
    D = np.diag(p * (1 - p))
    errors = np.sqrt(np.diag(np.linalg.inv(Z.T @ D @ Z)))  # (41)
    assert_allclose([row.std_error for row in model.summary().rows], errors, rtol=1e-6)


# Entrenamiento vía gradiente (Algorithm 2), (33) and (34)


def test_algorithm_2():
    X, y = six_rows().X, six_rows().y
    Z, w, eta, wanted = np.hstack((X, np.ones((6, 1)))), np.zeros(2), 0.05, [np.zeros(2)]
    for _ in range(30):
        predicted = 1 / (1 + np.exp(-Z @ w))
        w = w + eta * Z.T @ (y - predicted)
        wanted.append(w)
    trace = d.LogisticRegression(solver=GradientDescent(eta), max_iter=30, trace=True).fit(X, y).trace_
    assert_allclose(np.column_stack((trace.coef[:, 0, 0], trace.intercept[:, 0])), wanted, rtol=1e-10, atol=1e-14)


def test_newton_raphson_step_by_step():
    example = worked_example("newton-steps")
    data = example.given["data"]
    trace = d.LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y).trace_
    path = np.column_stack((trace.intercept[:, 0], trace.coef[:, 0, 0]))
    assert_allclose(path[1], example.numbers["first iterate"], rtol=1e-9)
    assert_allclose(path[2], example.numbers["second iterate"], rtol=1e-9)
    assert_allclose(path[-1], example.numbers["maximum"], rtol=1e-6)
    assert trace.log_likelihood[-1] == pytest.approx(example.numbers["log-likelihood"])


# Gradiente estocástico, (35) to (39)


def test_the_mini_batch_estimate_scaled_n_over_b_has_the_gradient_as_its_mean():
    X, y = six_rows().X, six_rows().y
    rate = 1e-9  # so small that all steps of an epoch start from the same point
    solver = StochasticGradient(rate, batch=2)
    trace = d.LogisticRegression(solver=solver, max_iter=3, trace=True, random_state=0).fit(X, y).trace_
    steps = np.diff(np.column_stack((trace.coef[:, 0, 0], trace.intercept[:, 0])), axis=0) / rate
    gradient = np.hstack((X, np.ones((6, 1)))).T @ (y - 0.5)
    assert_allclose(steps.mean(axis=0), gradient, rtol=1e-5, atol=1e-6)


# Múltiples clases, (42) to (48)


def test_log_odds_against_a_reference_and_softmax_are_one_model():
    odds = np.array([1.0, 0.0])
    wanted = worked_example("softmax").numbers["posterior"]
    assert_allclose(np.append(np.exp(odds), 1) / (1 + np.exp(odds).sum()), wanted)
    given = d.LinearClassifier(np.zeros((3, 1)), np.append(odds, 0))
    assert_allclose(given.predict_proba([[0.0]])[0], wanted)
    model = d.LogisticRegression(0.01).fit(IRIS.data, IRIS.target)
    for reference in range(3):
        others, coef, intercept = model.log_odds(reference)
        scores = np.zeros((150, 3))
        scores[:, others] = IRIS.data @ coef.T + intercept
        exps = np.exp(scores)
        assert_allclose(exps / exps.sum(axis=1, keepdims=True), model.predict_proba(IRIS.data), rtol=1e-6, atol=1e-12)
