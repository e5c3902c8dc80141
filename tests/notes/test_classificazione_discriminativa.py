"""Replays "Classificazione discriminativa" (V. Bonifaci, IN550 Machine Learning), in the order of the notes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.datasets import load_iris

import discriminant as d
from discriminant.datasets import logic_gate, worked_example
from discriminant.solvers import StochasticGradient

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def overlapping(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + y[:, None], y


# La funzione sigmoide; alcune proprietà


def test_properties_of_the_sigmoid():
    z = np.linspace(-6, 6, 25)
    sigmoid = d.LinearClassifier([1.0]).predict_proba(z[:, None])[:, 1]
    assert_allclose(sigmoid, 1 / (1 + np.exp(-z)))
    assert_allclose(1 - sigmoid, sigmoid[::-1])  # 1 - sigma(z) = sigma(-z)
    h = 1e-6
    slope = (expit(z + h) - expit(z - h)) / (2 * h)
    assert_allclose(slope, sigmoid * (1 - sigmoid), rtol=1e-6, atol=1e-9)
    assert d.LinearClassifier([1.0]).predict_proba([[0.0]])[0, 1] == 0.5


# MLE e ERM nella regressione logistica (etichette 0/1)


def test_maximum_likelihood_is_minimum_cross_entropy():
    X, y = overlapping()
    model = d.LogisticRegression().fit(X, y)
    h = model.predict_proba(X)[:, 1]
    cost = np.sum(-y * np.log(h) - (1 - y) * np.log(1 - h))
    assert model.summary().log_likelihood == pytest.approx(-cost)
    for step in np.random.default_rng(1).normal(size=(20, 3)):
        other = d.LinearClassifier(model.coef_[0] + step[:2], model.intercept_[0] + step[2])
        assert -other.log_likelihood(X, y) > cost


def test_the_cross_entropy_is_convex_in_w():
    X, y = overlapping()
    rng = np.random.default_rng(0)
    for _ in range(50):
        ends, share = rng.normal(size=(2, 3)), rng.random()
        values = [
            -d.LinearClassifier(w[:2], w[2]).log_likelihood(X, y)
            for w in (*ends, share * ends[0] + (1 - share) * ends[1])
        ]
        assert values[2] <= share * values[0] + (1 - share) * values[1] + 1e-9


# SGD per la regressione logistica (etichette 0/1): w <- w - eta (h(x) - y) x


def test_sgd_makes_the_step_of_the_rule():
    X, y = overlapping(12)
    eta, w, rng = 0.1, np.zeros(3), np.random.default_rng(3)
    for i in rng.permutation(12):
        x = np.append(X[i], 1)
        w = w - eta * (expit(w @ x) - y[i]) * x
    solver = StochasticGradient(eta / 12)  # the estimate of one row is scaled n/B = 12
    model = d.LogisticRegression(solver=solver, max_iter=12, trace=True, random_state=3).fit(X, y)
    assert_allclose(np.append(model.trace_.coef[-1], model.trace_.intercept[-1]), w, rtol=1e-9)


def test_lms_makes_the_step_with_another_h():
    X, codes = overlapping(12)
    eta, w, y = 0.1, np.zeros(3), 2 * codes - 1
    for i in np.random.default_rng(3).permutation(12):
        x = np.append(X[i], 1)
        w = w - eta * (w @ x - y[i]) * x  # h(x) = w'x
    solver = StochasticGradient(eta / 12)
    model = d.LossClassifier("squared", solver=solver, max_iter=12, trace=True, random_state=3).fit(X, codes)
    assert_allclose(np.append(model.trace_.coef[-1], model.trace_.intercept[-1]), w, rtol=1e-9)


def test_lms_has_the_same_form_with_another_h():
    # The gradient of (h - y)^2 / 2 with h = w'x is (h - y) x, y being -1 or +1.
    X, codes = overlapping(12)
    w, b, h = np.array([0.3, -0.2]), 0.1, 1e-6
    y = 2 * codes - 1
    gradient = ((X @ w + b - y)[:, None] * X).sum(axis=0)
    for j in range(2):
        up, down = (d.LinearClassifier(w + s * h * np.eye(2)[j], b).losses(X, codes, "squared").sum() for s in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(gradient[j], rel=1e-5)


# Regressione logistica binaria (etichette +-1)


def test_both_codings_are_one_model():
    X, y = overlapping()
    zero_one, plus_minus = d.LogisticRegression().fit(X, y), d.LogisticRegression().fit(X, 2 * y - 1)
    assert_allclose(zero_one.coef_, plus_minus.coef_, rtol=1e-12)
    margin = (2 * y - 1) * zero_one.decision_function(X)
    own = zero_one.predict_proba(X)[np.arange(len(y)), y]
    assert_allclose(own, expit(margin))  # Pr(y | x) = sigma(y w'x)
    assert_allclose(d.LinearClassifier.of(zero_one).losses(X, y), np.log1p(np.exp(-margin)), rtol=1e-9)


def test_the_gradient_is_minus_the_probability_of_the_other_label_times_y_x():
    X, y = overlapping()
    sides, w, b, h = 2 * y - 1, np.array([0.4, -0.7]), 0.2, 1e-6
    other = expit(-sides * (X @ w + b))
    gradient = -(other * sides) @ X
    for j in range(2):
        up, down = (d.LinearClassifier(w + s * h * np.eye(2)[j], b).log_likelihood(X, y) for s in (1, -1))
        assert -(up - down) / (2 * h) == pytest.approx(gradient[j], rel=1e-5)


# Regressione logistica multiclasse


def test_one_versus_rest_and_softmax():
    X, y = load_iris(return_X_y=True)
    rest = d.OneVsRest(d.LogisticRegression(0.01)).fit(X, y)
    assert_array_equal(rest.predict(X), rest.classes_[rest.decision_function(X).argmax(axis=1)])
    model = d.LogisticRegression(0.01).fit(X, y)
    _, coef, intercept = model.log_odds(2)  # without loss of generality w_K = 0
    scores = np.column_stack((X @ coef.T + intercept, np.zeros(150)))
    assert_allclose(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), model.predict_proba(X), rtol=1e-6)


# Classificazione binaria e separabilità lineare


@pytest.mark.parametrize(("gate", "separable"), [("and", True), ("or", True), ("xor", False)])
def test_separability_is_decided_with_a_witness(gate, separable):
    data = logic_gate(gate)
    found = d.linear_separability(data.X, data.y)
    assert found.separable == separable
    assert (found.witness.check(data.X, data.y) > 0) == separable
    if not separable:
        assert_allclose(found.witness.point, worked_example("xor").numbers["common point"])


# Una funzione di costo per il Percettrone


def test_the_perceptron_loss_is_not_the_hinge():
    # Erratum: max(-y w'x, 0) is the perceptron loss; the hinge is max(1 - y w'x, 0).
    X, y = overlapping()
    line = d.LinearClassifier([1.0, 0.5], -0.7)
    margin = (2 * y - 1) * line.decision_function(X)
    assert_allclose(line.losses(X, y, "perceptron"), np.maximum(-margin, 0))
    assert_allclose(line.losses(X, y, "hinge"), np.maximum(1 - margin, 0))
    assert (line.losses(X, y, "hinge") >= line.losses(X, y, "zero-one")).all()


# Algoritmo del Percettrone, forma primale e forma duale


def rosenblatt(X, y, passes):
    """The algorithm of the notes: x = (1, x_1, ..., x_d), update where y w'x <= 0; alpha counts updates by row."""
    Z, w, alpha = np.hstack((np.ones((len(X), 1)), X)), np.zeros(X.shape[1] + 1), np.zeros(len(X), dtype=int)
    for _ in range(passes):
        for i in range(len(Z)):
            if y[i] * (w @ Z[i]) <= 0:
                w, alpha[i] = w + y[i] * Z[i], alpha[i] + 1
    return w, alpha


@pytest.mark.parametrize("gate", ["and", "or"])
def test_primal_and_dual_form(gate):
    data, numbers = logic_gate(gate), worked_example(f"{gate}-perceptron").numbers
    y = np.where(data.y == data.y[-1], 1, -1)
    w, alpha = rosenblatt(data.X, y, 20)
    primal = d.Perceptron(rule="nonpositive").fit(data.X, y)
    dual = d.Perceptron("dual", rule="nonpositive").fit(data.X, y)
    for model in (primal, dual):
        assert_array_equal([model.intercept_[0], *model.coef_[0]], w)
        assert model.updates_ == alpha.sum() == numbers["nonpositive: updates"]
    assert_array_equal(dual.alpha_, alpha)
    assert_array_equal(dual.coef_[0], (alpha * y) @ data.X)  # w = eta sum alpha_i y_i x_i
    assert primal.score(data.X, y) == 1  # empirical risk 0 after finitely many steps
    assert primal.certificate().bound == pytest.approx(numbers["bound"])


# Margine di un separatore lineare; hard-margin SVM; vettori di supporto


@pytest.mark.parametrize("gate", ["and", "or"])
def test_the_widest_margin(gate):
    data, numbers = logic_gate(gate), worked_example(f"{gate}-perceptron").numbers
    y = np.where(data.y == data.y[-1], 1, -1)
    model = d.SupportVectorClassifier("hard").fit(data.X, y)
    w, margins = model.coef_[0], y * model.decision_function(data.X)
    assert margins.min() == pytest.approx(1)
    assert 2 / np.linalg.norm(w) == pytest.approx(numbers["widest margin"])
    assert_allclose(model.dual_coef_ @ data.X[model.support_], model.coef_, atol=1e-9)
    assert_allclose(margins[model.support_], 1, atol=1e-9)


def test_a_hard_margin_exists_for_separable_rows_only():
    data = logic_gate("xor")
    with pytest.raises(d.errors.NotSeparableError) as raised:
        d.SupportVectorClassifier("hard").fit(data.X, data.y)
    assert_allclose(raised.value.witness.point, [0.5, 0.5])


# Il caso non separabile: soft margin e il ruolo di C


def test_slack_and_the_part_of_c():
    X, y = overlapping(60)
    none = d.SupportVectorClassifier(C=1e-6).fit(X, y)
    assert np.linalg.norm(none.coef_) < 1e-3  # C = 0 gives w = 0
    data = logic_gate("and")
    hard, large = (
        d.SupportVectorClassifier("hard").fit(data.X, data.y),
        d.SupportVectorClassifier(C=1e6).fit(data.X, data.y),
    )
    assert_allclose(large.coef_, hard.coef_, rtol=1e-4)
    # The notes minimise |w|^2 + C sum of slacks, we |w|^2 / 2 + C sum of slacks: their C is twice ours.
    C = 0.8
    model = d.SupportVectorClassifier(C=C / 2).fit(X, y)

    def cost(w, b):
        return w @ w + C * np.maximum(1 - (2 * y - 1) * (X @ w + b), 0).sum()

    best = cost(model.coef_[0], model.intercept_[0])
    for step in np.random.default_rng(0).normal(size=(30, 3)) * 0.05:
        assert cost(model.coef_[0] + step[:2], model.intercept_[0] + step[2]) >= best - 1e-6
