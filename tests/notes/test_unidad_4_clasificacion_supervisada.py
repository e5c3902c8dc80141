"""Replays "Unidad 4 Clasificación Supervisada" (2021), in the order of the notes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import discriminant as d
from discriminant import raster
from discriminant.datasets import scene, six_rows
from discriminant.solvers import GradientDescent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = six_rows().X, np.asarray(six_rows().y)


# Cálculo de parámetros estadísticos: interpretación geométrica de wx + w0 = 0 con valores dados


def test_a_classifier_with_given_parameters():
    line = d.LinearClassifier([3.0, 4.0], -10.0)
    assert line.origin_distance == 2
    assert_allclose(line.distance([[5.0, 5.0]]), [5])


# p(y = 1 | x) = sigm(z), and the complement


def test_probabilities_of_a_row_and_its_complement():
    proba = d.LinearClassifier([1.2], -4.0).predict_proba(X)
    assert_allclose(proba[:, 1], expit(1.2 * X[:, 0] - 4))
    assert_allclose(proba.sum(axis=1), 1)


def test_logistic_regression_does_not_need_separable_rows():
    # Erratum: separable rows are where maximum likelihood has no finite solution.
    assert d.LogisticRegression().fit(X, Y).separation_ is None
    with pytest.warns(d.errors.SeparationWarning):
        d.LogisticRegression().fit(X, X[:, 0] > 3)


# Bernoulli: one expression for both labels


def test_the_probability_of_a_bernoulli_variable():
    p = expit(1.2 * X[:, 0] - 4)
    one = p**Y * (1 - p) ** (1 - Y)
    assert_allclose(np.exp(-d.LinearClassifier([1.2], -4.0).losses(X, Y)), one)


# Verosimilitud y log-verosimilitud


def test_the_log_likelihood_is_the_logarithm_of_the_product():
    p = expit(1.2 * X[:, 0] - 4)
    likelihood = np.prod(p**Y * (1 - p) ** (1 - Y))
    assert d.LinearClassifier([1.2], -4.0).log_likelihood(X, Y) == pytest.approx(np.log(likelihood))


# arg max LL(theta): by brute force, and by its structure


def test_brute_force_comes_to_the_same_maximum():
    best = d.LogisticRegression().fit(X, Y)
    grid = [(w, b) for w in np.linspace(0, 3, 61) for b in np.linspace(-8, 0, 81)]
    tried = max(grid, key=lambda at: d.LinearClassifier([at[0]], at[1]).log_likelihood(X, Y))
    assert_allclose(tried, [best.coef_[0, 0], best.intercept_[0]], atol=0.06)


def test_the_log_likelihood_is_concave():
    # Erratum: the notes call it monotone.
    rng = np.random.default_rng(0)
    for _ in range(50):
        (w0, b0), (w1, b1) = rng.normal(size=(2, 2)) * 3
        one, other, middle = (
            d.LinearClassifier([w], b).log_likelihood(X, Y)
            for w, b in ((w0, b0), (w1, b1), ((w0 + w1) / 2, (b0 + b1) / 2))
        )
        assert middle >= (one + other) / 2 - 1e-9


# Algoritmo en pseudo código: gradiente ascendente, 100 iteraciones


def test_the_algorithm_in_pseudocode():
    theta, rate = np.zeros(2), 0.05  # theta_0 has the constant input bias = 1
    for _ in range(100):
        grad = np.zeros(2)
        for x, y in zip(X[:, 0], Y, strict=True):
            row = np.array([1.0, x])
            for j in range(2):
                grad[j] += (y - expit(theta @ row)) * row[j]  # erratum: accumulated, not assigned
        theta = theta + rate * grad
    model = d.LogisticRegression(solver=GradientDescent(rate), max_iter=100, trace=True).fit(X, Y)
    assert_allclose([model.intercept_[0], model.coef_[0, 0]], theta, rtol=1e-9)
    assert model.trace_.n_iterations == 100
    assert (np.diff(model.trace_.log_likelihood) > 0).all()


def test_steps_that_are_too_long_do_not_converge():
    model = d.LogisticRegression(solver=GradientDescent(5.0), max_iter=100).fit(X, Y)
    assert not model.solution_.converged


# 4.1 Selección de áreas de entrenamiento, 4.3 Análisis de las muestras, 4.4 Clasificación


def test_areas_of_an_image_become_samples_a_map_and_an_assessment(tmp_path):
    made = scene()
    paths = made.write(tmp_path)
    with raster.open_image(paths["image"]) as image:
        samples = raster.draw_samples(image, raster.open_areas(paths["areas"], "class"))
    means = np.array([samples.X[samples.y == label].mean(axis=0) for label in made.classes])
    model = d.QuadraticDiscriminantAnalysis().fit(samples.X, samples.y)
    assert_allclose(model.means_, means, rtol=1e-9)
    held_out = d.cross_validate(d.LinearDiscriminantAnalysis(), samples.X, samples.y, cv=5)
    assert held_out is not None
    pixels = made.bands.reshape(4, -1).T.astype(float)
    truth = np.array(made.classes)[made.truth.ravel()]
    found = d.ConfusionMatrix.of(truth, model.predict(pixels))
    assert found.overall("accuracy") > 0.9
    assert (found.recall > 0.8).all()
