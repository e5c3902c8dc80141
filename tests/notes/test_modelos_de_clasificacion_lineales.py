"""Replays "Modelos de clasificación lineales" (M. Onetto), in the order of the notes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.datasets import load_iris

import discriminant as d
from discriminant.datasets import far_rows, worked_example

IRIS = load_iris()
X, Y = IRIS.data, IRIS.target


# I. Modelos de clasificación: logit and boundary


def test_the_logit_of_the_model_is_linear_and_0_on_the_boundary():
    line = d.LinearClassifier([1.5, -0.5], 0.3)
    points = np.random.default_rng(0).normal(size=(20, 2))
    p = line.predict_proba(points)[:, 1]
    assert_allclose(np.log(p / (1 - p)), points @ [1.5, -0.5] + 0.3, rtol=1e-9)
    assert_allclose(line.predict_proba(line.project(points)), 0.5)


# Clasificador de regresión lineal, (1) and (2)


def test_least_squares_on_indicators():
    Z, indicators = np.hstack((np.ones((150, 1)), X)), np.eye(3)[Y]
    B = np.linalg.solve(Z.T @ Z, Z.T @ indicators)  # (X'X)^-1 X'Y
    model = d.LeastSquaresClassifier().fit(X, Y)
    assert_allclose(model.decision_function(X), Z @ B, atol=1e-9)
    assert_array_equal(model.predict(X), (Z @ B).argmax(axis=1))
    nearest = ((Z @ B)[:, None, :] - np.eye(3)) ** 2
    assert_array_equal(nearest.sum(axis=2).argmin(axis=1), (Z @ B).argmax(axis=1))  # the nearest target is the same


def test_a_class_in_the_middle_is_masked():
    example = worked_example("masking")
    data = example.given["data"]
    model = d.LeastSquaresClassifier().fit(data.X, data.y)
    assert "middle" in model.masked_classes_
    assert np.sum(model.predict(data.X) == "middle") == example.numbers["least squares"]
    assert (
        np.sum(d.LinearDiscriminantAnalysis().fit(data.X, data.y).predict(data.X) == "middle") == example.numbers["LDA"]
    )


# Método de discriminación lineal (LDA)


def lda_by_hand(X, y):
    """Estimates of the notes. Erratum: the mean of a class is over its own rows, divided by N_k."""
    labels = np.unique(y)
    priors = np.array([np.mean(y == k) for k in labels])
    means = np.array([X[y == k].mean(axis=0) for k in labels])
    scatter = sum((X[y == k] - means[i]).T @ (X[y == k] - means[i]) for i, k in enumerate(labels))
    return priors, means, scatter / (len(X) - len(labels))


def test_estimates_discriminant_functions_and_posteriors():
    priors, means, covariance = lda_by_hand(X, Y)
    model = d.LinearDiscriminantAnalysis().fit(X, Y)
    assert_allclose(model.priors_, priors)
    assert_allclose(model.means_, means)
    assert_allclose(model.covariance_, covariance, rtol=1e-9)
    inverse = np.linalg.inv(covariance)
    delta = np.log(priors) - 0.5 * np.sum(means @ inverse * means, axis=1) + X @ inverse @ means.T
    assert_allclose(model.delta(X), delta, rtol=1e-8)
    assert_array_equal(model.predict(X), delta.argmax(axis=1))
    densities = np.column_stack([multivariate_normal(mean, covariance).pdf(X) for mean in means])
    assert_allclose(model.predict_proba(X), densities * priors / (densities @ priors)[:, None], rtol=1e-7, atol=1e-15)


def test_the_log_ratio_of_two_classes_is_linear():
    priors, means, covariance = lda_by_hand(X, Y)
    k, other = 1, 2
    pull = np.linalg.solve(covariance, means[k] - means[other])
    ratio = np.log(priors[k] / priors[other]) - 0.5 * (means[k] + means[other]) @ pull + X @ pull
    log = d.LinearDiscriminantAnalysis().fit(X, Y).predict_log_proba(X)
    assert_allclose(log[:, k] - log[:, other], ratio, rtol=1e-7, atol=1e-8)


# Obs: two classes of as many rows


def test_two_classes_of_equal_size_have_one_boundary():
    two = Y > 0
    lda, squares = (kind().fit(X[two], Y[two]) for kind in (d.LinearDiscriminantAnalysis, d.LeastSquaresClassifier))
    shape = [np.append(model.coef_[0], model.intercept_[0]) for model in (lda, squares)]
    assert_allclose(shape[0] / np.linalg.norm(shape[0]), shape[1] / np.linalg.norm(shape[1]), rtol=1e-7)
    some = np.r_[50:100, 100:110]
    lda, squares = (kind().fit(X[some], Y[some]) for kind in (d.LinearDiscriminantAnalysis, d.LeastSquaresClassifier))
    shape = [np.append(model.coef_[0], model.intercept_[0]) for model in (lda, squares)]
    assert not np.allclose(shape[0] / np.linalg.norm(shape[0]), shape[1] / np.linalg.norm(shape[1]), rtol=1e-3)


# Discusión: ¿cómo se podría bayesianizar este método? ¿qué cambiaría? ¿cómo afectaría el número de datos de cada clase?


def test_a_bayesian_lda_is_wider_where_a_class_has_few_rows():
    some = np.r_[50:100, 100:104]
    plug_in = d.LinearDiscriminantAnalysis([0.5, 0.5]).fit(X[some], Y[some])
    bayesian = d.BayesianLinearDiscriminantAnalysis([0.5, 0.5]).fit(X[some], Y[some])
    scatter = sum(np.cov(X[some][k == Y[some]].T) * (np.sum(k == Y[some]) - 1) for k in (1, 2))
    degrees = 54 - 2 - 4 + 1
    for k, n in ((1, 50), (2, 4)):
        density = multivariate_t(plug_in.means_[k - 1], scatter * (1 + 1 / n) / degrees, degrees)
        assert_allclose(bayesian.log_density(X, k), density.logpdf(X), rtol=1e-9)
    middle = plug_in.means_.mean(axis=0)[None]
    assert plug_in.predict_proba(middle)[0, 1] == pytest.approx(0.5)
    assert abs(bayesian.predict_proba(middle)[0, 1] - 0.5) > 0.005


# A. QDA, (3), and B. Estimación de parámetros, (4) to (6)


def test_qda():
    model = d.QuadraticDiscriminantAnalysis().fit(X, Y)
    for k in range(3):
        own = X[k == Y]
        mean, covariance = own.mean(axis=0), np.cov(own.T)  # erratum: divided by N_k - 1, not by N - K
        assert_allclose(model.covariances_[k], covariance, rtol=1e-9)
        steps = X - mean
        delta = np.log(1 / 3) - 0.5 * np.linalg.slogdet(covariance)[1]
        delta = delta - 0.5 * np.sum(steps @ np.linalg.inv(covariance) * steps, axis=1)
        assert_allclose(model.delta(X)[:, k], delta, rtol=1e-8, atol=1e-8)


# C. and D. Implementación, (7) to (10)


def test_sphering():
    example = worked_example("sphering")
    values, axes = np.linalg.eigh(example.given["covariance"])
    assert_allclose(values[::-1], example.numbers["eigenvalues"])
    assert np.log(values).sum() == pytest.approx(example.numbers["log determinant"])
    model = d.LinearDiscriminantAnalysis().fit(X, Y)
    sphered = model.sphere(X)
    within = sum(np.cov(sphered[k == Y].T) * 49 for k in range(3)) / 147
    assert_allclose(within, np.eye(4), atol=1e-9)
    centroids = model.sphere(model.means_)
    nearest = -0.5 * ((sphered[:, None] - centroids) ** 2).sum(axis=2) + np.log(model.priors_)  # (10)
    assert_array_equal(nearest.argmax(axis=1), model.predict(X))
    assert axes.shape == (2, 2)


# E. Reduced rank LDA, (11) to (14)


def test_fisher_directions():
    model = d.LinearDiscriminantAnalysis().fit(X, Y)
    assert model.scalings_.shape == (4, 2)  # at most K - 1
    W = model.covariance_
    steps = model.means_ - model.priors_ @ model.means_
    B = (model.priors_[:, None] * steps).T @ steps
    first = model.scalings_[:, 0]
    best = (first @ B @ first) / (first @ W @ first)
    for a in np.random.default_rng(0).normal(size=(200, 4)):
        assert (a @ B @ a) / (a @ W @ a) <= best + 1e-9
    # Erratum: b = W^1/2 a, so that b'b = a'Wa.
    values, axes = np.linalg.eigh(W)
    root = np.diag(np.sqrt(values)) @ axes.T
    inverse = np.linalg.inv(root)
    eigenvalues, vectors = np.linalg.eigh(inverse.T @ B @ inverse)
    a = inverse @ vectors[:, -1]
    assert abs(a @ W @ first) / np.sqrt((a @ W @ a) * (first @ W @ first)) == pytest.approx(1)
    assert eigenvalues[-1] == pytest.approx(best)
    assert_array_equal(d.LinearDiscriminantAnalysis(rank=2).fit(X, Y).predict(X), model.predict(X))


# II. Logistic regression, (15) to (19)


def test_probabilities_of_k_classes_from_k_minus_1_log_odds():
    model = d.LogisticRegression(0.01).fit(X, Y)
    _, coef, intercept = model.log_odds(2)
    exps = np.exp(X @ coef.T + intercept)
    total = 1 + exps.sum(axis=1, keepdims=True)  # erratum: the sum of the exponentials
    assert_allclose(model.predict_proba(X), np.hstack((exps, np.ones((150, 1)))) / total, rtol=1e-6, atol=1e-12)


# A. Ejemplo, (20): two classes


def test_at_the_maximum_as_many_ones_are_expected_as_there_are():
    y = (Y == 1).astype(int)
    model = d.LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert p.sum() == pytest.approx(y.sum())
    assert_allclose(X.T @ (y - p), 0, atol=1e-6)


# Diferencias entre LDA y logistic regression, (21) to (26)


def test_the_marginal_density_is_a_mixture_that_depends_on_the_parameters():
    model = d.LinearDiscriminantAnalysis().fit(X, Y)
    mixture = sum(
        prior * multivariate_normal(mean, model.covariance_).pdf(X)
        for prior, mean in zip(model.priors_, model.means_, strict=True)
    )
    assert_allclose(np.exp(model.log_density(X)), mixture, rtol=1e-8)  # (26)


def test_separated_classes_and_outliers():
    two, y = X[Y < 2], Y[Y < 2]
    with pytest.warns(d.errors.SeparationWarning):
        d.LogisticRegression().fit(two, y)
    assert np.isfinite(d.LinearDiscriminantAnalysis().fit(two, y).coef_).all()
    data, numbers = far_rows(), worked_example("far-rows").numbers
    models = {"least squares": d.LeastSquaresClassifier(), "logistic regression": d.LogisticRegression(1e-3)}
    for name, model in models.items():
        assert np.sum(model.fit(data.X, data.y).predict(data.X) != data.y) == numbers[name]
