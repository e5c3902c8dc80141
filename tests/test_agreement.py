"""Every model against an independent computation: textbook formulas in NumPy, SciPy's distributions, scikit-learn.

Fisher's direction, LDA's and that of least squares are one; thresholds and shrinkage chosen by search are those that
brute force finds; what a model says it is can be seen in the rows it draws.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.covariance import oas as sklearn_oas
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB

from discriminant import (
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from discriminant.data import fold_of_rows
from discriminant.decision.posteriors import TEMPERATURES
from discriminant.folds import HeldOut
from discriminant.moments.covariance import SHRINKAGE_GRID
from helpers import class_moments, normal_classes

PRIORS = [0.2, 0.5, 0.3]


def textbook(X, y):
    """Class shares, means, class covariances (N_k - 1) and the pooled one (N - K)."""
    classes = np.unique(y)
    means = np.stack([X[y == k].mean(axis=0) for k in classes])
    covariances = np.stack([np.cov(X[y == k].T) for k in classes])
    counts = np.array([np.sum(y == k) for k in classes])
    pooled = np.tensordot(counts - 1, covariances, axes=1) / (len(y) - len(classes))
    return counts / len(y), means, covariances, pooled


def posterior(scores):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def normal_scores(X, priors, means, covariances):
    """log prior + log density of SciPy's normal distributions."""
    columns = [
        np.log(prior) + stats.multivariate_normal(mean, covariance).logpdf(X)
        for prior, mean, covariance in zip(priors, means, covariances, strict=True)
    ]
    return np.column_stack(columns)


def shrunk(covariance, amount):
    return (1 - amount) * covariance + amount * np.trace(covariance) / len(covariance) * np.eye(len(covariance))


def class_centred(X, y):
    return X - np.stack([X[y == k].mean(axis=0) for k in np.unique(y)])[y]


# --- Gaussian discriminants -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "priors", [None, PRIORS, dict(zip(range(3), PRIORS, strict=True))], ids=["shares", "list", "dict"]
)
def test_lda_posterior_is_that_of_normals_with_one_covariance(priors):
    X, y = normal_classes()
    shares, means, _, pooled = textbook(X, y)
    expected = normal_scores(X, shares if priors is None else PRIORS, means, [pooled] * 3)
    model = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    assert_allclose(model.predict_proba(X), posterior(expected), rtol=1e-9, atol=1e-12)
    assert_allclose(model.covariance_, pooled, rtol=1e-10, atol=1e-12)
    assert_array_equal(model.predict(X), expected.argmax(axis=1))


@pytest.mark.parametrize("priors", [None, PRIORS], ids=["shares", "list"])
def test_qda_posterior_is_that_of_normals_with_their_own_covariances(priors):
    X, y = normal_classes()
    shares, means, covariances, _ = textbook(X, y)
    expected = normal_scores(X, shares if priors is None else PRIORS, means, covariances)
    model = QuadraticDiscriminantAnalysis(priors=priors).fit(X, y)
    assert_allclose(model.predict_proba(X), posterior(expected), rtol=1e-9, atol=1e-12)
    assert_allclose(model.covariances_, covariances, rtol=1e-10, atol=1e-12)


def test_lda_scores_differ_by_the_textbook_discriminant_functions():
    X, y = normal_classes()
    shares, means, _, pooled = textbook(X, y)
    precision = np.linalg.inv(pooled)
    expected = X @ precision @ means.T - 0.5 * np.einsum("kj,ji,ki->k", means, precision, means) + np.log(shares)
    scores = LinearDiscriminantAnalysis().fit(X, y).decision_function(X)
    assert_allclose(scores - scores[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-10)


def test_qda_scores_differ_by_the_textbook_discriminant_functions():
    X, y = normal_classes()
    shares, means, covariances, _ = textbook(X, y)
    expected = normal_scores(X, shares, means, covariances)
    scores = QuadraticDiscriminantAnalysis().fit(X, y).decision_function(X)
    assert_allclose(scores - scores[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("K", [2, 3])
def test_lda_coefficients_give_the_scores(K):
    X, y = normal_classes(K=K)
    model = LinearDiscriminantAnalysis().fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), scores[:, 0] if K == 2 else scores, rtol=1e-9, atol=1e-10)


def test_two_class_score_is_the_log_odds():
    X, y = normal_classes(K=2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    chances = model.predict_proba(X)
    assert_allclose(model.decision_function(X), np.log(chances[:, 1] / chances[:, 0]), rtol=1e-7, atol=1e-8)


def test_log_posterior_is_exact_where_the_posterior_rounds_to_zero():
    X, y = normal_classes()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    far = 60 * X[:5]
    shares, means, covariances, _ = textbook(X, y)
    scores = normal_scores(far, shares, means, covariances)
    expected = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    assert (model.predict_proba(far) == 0).any()
    assert_allclose(model.predict_log_proba(far), expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("amount", [0.05, 0.6, 1.0])
def test_fixed_shrinkage_moves_the_covariance_towards_its_mean_variance(amount):
    X, y = normal_classes()
    shares, means, covariances, pooled = textbook(X, y)
    linear = normal_scores(X, shares, means, [shrunk(pooled, amount)] * 3)
    quadratic = normal_scores(X, shares, means, [shrunk(c, amount) for c in covariances])
    lda = LinearDiscriminantAnalysis(shrinkage=amount).fit(X, y)
    qda = QuadraticDiscriminantAnalysis(shrinkage=amount).fit(X, y)
    assert_allclose(lda.predict_proba(X), posterior(linear), rtol=1e-9, atol=1e-12)
    assert_allclose(qda.predict_proba(X), posterior(quadratic), rtol=1e-9, atol=1e-12)
    assert_allclose(qda.covariances_, [shrunk(c, amount) for c in covariances], rtol=1e-10, atol=1e-12)


wide_or_long = pytest.mark.parametrize(("n", "p"), [(200, 5), (40, 60)], ids=["long", "wide"])


@wide_or_long
def test_oas_is_scikit_learns_on_the_class_centred_rows(n, p):
    X, y = normal_classes(n, p)
    expected = sklearn_oas(class_centred(X, y), assume_centered=True)[1]
    assert 0 < expected < 1
    assert_allclose(LinearDiscriminantAnalysis(shrinkage="oas").fit(X, y).shrinkage_, expected, rtol=1e-9)


@wide_or_long
def test_ledoit_wolf_is_scikit_learns_on_the_class_centred_rows(n, p):
    X, y = normal_classes(n, p)
    expected = ledoit_wolf_shrinkage(class_centred(X, y), assume_centered=True)
    assert 0 < expected < 1
    assert_allclose(LinearDiscriminantAnalysis(shrinkage="ledoit-wolf").fit(X, y).shrinkage_, expected, rtol=1e-9)


@wide_or_long
def test_oas_of_each_class_is_scikit_learns_on_its_rows(n, p):
    X, y = normal_classes(n, p)
    expected = [sklearn_oas(X[y == k])[1] for k in range(3)]
    assert_allclose(QuadraticDiscriminantAnalysis(shrinkage="oas").fit(X, y).shrinkage_, expected, rtol=1e-9)


def held_out_losses(X, y, folds):
    """Minus the mean held-out log-density of SciPy's normals, refitted for every fold and shrinkage."""
    fold = fold_of_rows(0, len(y), folds)
    losses = np.zeros(len(SHRINKAGE_GRID))
    for f in range(folds):
        train, held = fold != f, fold == f
        _, means, _, pooled = textbook(X[train], y[train])
        for i, amount in enumerate(SHRINKAGE_GRID):
            for k in range(3):
                losses[i] -= log_likelihood(X[held & (y == k)], means[k], shrunk(pooled, amount))
    return losses / len(y)


def log_likelihood(X, mean, covariance):
    """That of rows outside a flat distribution is minus infinity."""
    if np.linalg.matrix_rank(covariance, hermitian=True) < len(mean):
        return -np.inf
    return stats.multivariate_normal(mean, covariance).logpdf(X).sum()


@pytest.mark.parametrize("n", [60, 300])
def test_cross_validated_shrinkage_is_what_refitting_every_fold_finds(n):
    X, y = normal_classes(n, p=8, seed=4)
    model = LinearDiscriminantAnalysis(shrinkage="cv", folds=5).fit(X, y)
    losses = held_out_losses(X, y, 5)
    assert np.unique(model.shrinkage_) == SHRINKAGE_GRID[np.argmin(losses)]
    constant = 0.5 * X.shape[1] * np.log(2 * np.pi)
    assert_allclose(model.shrinkage_losses_ + constant, losses, rtol=1e-9)


@pytest.mark.parametrize(("n", "p"), [(60, 3), (45, 50)], ids=["more rows", "more columns"])
def test_shrinkage_of_class_covariances_has_the_least_log_loss_of_rows_held_out(n, p):
    X, y = normal_classes(n, p, seed=4)
    y[::4] = (y[::4] + 1) % 3  # not to be told apart without errors
    model, held = QuadraticDiscriminantAnalysis(shrinkage="cv", folds=3).fit(X, y), HeldOut.repeated(y, 3)
    losses, logs = [], np.empty((len(held.rows), 3))
    for amount in SHRINKAGE_GRID[[8, 14, 19]]:
        for split in range(held.n_splits):
            own, train = np.flatnonzero(held.fits == split), held.seen[:, split]
            _, means, covariances, _ = textbook(X[train], y[train])
            for k in range(3):
                density = stats.multivariate_normal(means[k], shrunk(covariances[k], amount))
                logs[own, k] = density.logpdf(X[held.rows[own]])

        def loss(temperature, logs=logs):
            posterior = log_softmax(temperature * logs + np.log(np.bincount(y)), axis=1)
            return -posterior[np.arange(len(logs)), y[held.rows]].mean()

        losses.append(min(map(loss, TEMPERATURES)))
        if amount == model.shrinkage_[0]:
            assert loss(model.temperature_) <= losses[-1]
            assert abs(loss(model.temperature_) - min(loss(model.temperature_ * (1 + s)) for s in (-1e-3, 1e-3))) < 1e-6
    assert_allclose(model.shrinkage_losses_[[8, 14, 19]], losses, rtol=1e-7)
    assert model.shrinkage_[0] == SHRINKAGE_GRID[np.nanargmin(model.shrinkage_losses_)]


def test_cross_validated_shrinkage_with_more_columns_than_rows_is_what_refitting_finds():
    X, y = normal_classes(n=45, p=50, seed=4)
    model = LinearDiscriminantAnalysis(shrinkage="cv", folds=3).fit(X, y)
    losses = held_out_losses(X, y, 3)
    assert_allclose(model.shrinkage_losses_ + 25 * np.log(2 * np.pi), losses, rtol=1e-7)
    assert model.shrinkage_ == SHRINKAGE_GRID[np.argmin(losses)]


# --- more columns than rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_wide_lda_predicts_as_scikit_learns_svd_solver(offset):
    X, y = normal_classes(n=260, p=100, seed=1)
    X = X + offset
    ours, theirs = (kind().fit(X[:60], y[:60]) for kind in (LinearDiscriminantAnalysis, SklearnLDA))
    assert_array_equal(ours.predict(X[60:]), theirs.predict(X[60:]))


@pytest.mark.parametrize("amount", [0.01, 0.5])
def test_wide_lda_with_shrinkage_is_the_dense_formula(amount):
    X, y = normal_classes(n=60, p=100, seed=1)
    shares, means, _, pooled = textbook(X, y)
    expected = normal_scores(X, shares, means, [shrunk(pooled, amount)] * 3)
    model = LinearDiscriminantAnalysis(shrinkage=amount).fit(X, y)
    assert_allclose(
        model.predict_log_proba(X), expected - np.logaddexp.reduce(expected, axis=1)[:, None], rtol=1e-7, atol=1e-9
    )
    assert_allclose(model.covariance_, shrunk(pooled, amount), rtol=1e-9, atol=1e-11)


def test_wide_lda_uses_the_pseudo_inverse_of_the_standardised_columns():
    X, y = normal_classes(n=40, p=70, seed=1)
    shares, means, _, pooled = textbook(X, y)
    sd = np.sqrt(np.diag(pooled))
    inverse = np.linalg.pinv(pooled / np.outer(sd, sd), rcond=1e-10, hermitian=True) / np.outer(sd, sd)
    expected = X @ inverse @ means.T - 0.5 * np.einsum("kj,ji,ki->k", means, inverse, means) + np.log(shares)
    scores = LinearDiscriminantAnalysis().fit(X, y).decision_function(X)
    assert_allclose(scores - scores[:, :1], expected - expected[:, :1], rtol=1e-7, atol=1e-7)


# --- Fisher's criteria and the decomposition of scatter -------------------------------------------------------------


def scatters(X, y):
    """Within, between and total scatter, summed row by row."""
    means = np.stack([X[y == k].mean(axis=0) for k in np.unique(y)])
    inner, outer, whole = X - means[y], means[y] - X.mean(axis=0), X - X.mean(axis=0)
    return inner.T @ inner, outer.T @ outer, whole.T @ whole


@pytest.mark.parametrize("K", [2, 3, 4])
def test_fisher_criteria_are_sums_and_products_of_generalised_eigenvalues(K):
    X, y = normal_classes(n=200, p=5, K=K)
    within, between, _ = scatters(X, y)
    values = eigh(between, within, eigvals_only=True)[::-1][: K - 1]
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.trace_criterion_, values.sum(), rtol=1e-9)
    assert_allclose(model.determinant_criterion_, values.prod(), rtol=1e-8)
    assert_allclose(model.explained_variance_ratio_, values / values.sum(), rtol=1e-8)


def test_criteria_do_not_depend_on_classes_that_are_yet_to_come():
    X, y = normal_classes(K=2)
    waiting = LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1, 2])
    assert_allclose(waiting.trace_criterion_, LinearDiscriminantAnalysis().fit(X, y).trace_criterion_, rtol=1e-12)


def test_total_scatter_is_within_plus_between():
    X, y = normal_classes()
    within, between, total = scatters(X, y)
    moments = class_moments(X, y)
    assert_allclose(moments.total().matrix, total, rtol=1e-10, atol=1e-10)
    assert_allclose(moments.within().matrix, within, rtol=1e-10, atol=1e-10)
    assert_allclose(within + between, total, rtol=1e-10, atol=1e-10)


def test_discriminant_coordinates_have_unit_covariance_within_classes():
    X, y = normal_classes(p=5)
    Z = class_centred(LinearDiscriminantAnalysis().fit_transform(X, y), y)
    assert_allclose(Z.T @ Z / (len(y) - 3), np.eye(2), atol=1e-10)


@pytest.mark.parametrize("wide", [False, True], ids=["long", "wide"])
@pytest.mark.parametrize("amount", [None, 0.3])
def test_distances_of_sphered_rows_are_mahalanobis_distances(amount, wide):
    X, y = normal_classes(n=30 if wide else 150, p=50 if wide else 5)
    if wide and amount is None:
        X = X[:, :20]  # a singular covariance has no inverse
    model = LinearDiscriminantAnalysis(shrinkage=amount).fit(X, y)
    steps = X - X[0]
    expected = np.einsum("ij,ij->i", steps, np.linalg.solve(model.covariance_, steps.T).T)
    sphered = model.sphere(X)
    assert_allclose(((sphered - sphered[0]) ** 2).sum(axis=1), expected, rtol=1e-7)


def test_sphered_rows_have_unit_covariance_within_classes():
    X, y = normal_classes(p=5)
    Z = class_centred(LinearDiscriminantAnalysis().fit(X, y).sphere(X), y)
    assert_allclose(Z.T @ Z / (len(y) - 3), np.eye(5), atol=1e-10)


def test_nearest_mean_in_sphered_space_is_lda():
    X, y = normal_classes(p=5)
    model = LinearDiscriminantAnalysis().fit(X, y)
    rows, means = model.sphere(X), model.sphere(model.means_)
    distance = ((rows[:, None] - means) ** 2).sum(axis=2) - 2 * np.log(model.priors_)
    assert_array_equal(distance.argmin(axis=1), model.predict(X))


@pytest.mark.parametrize("amount", [0.0, 0.4])
@wide_or_long
def test_log_determinant_is_numpys(n, p, amount):
    if p > n and amount == 0:
        n = 200  # a singular covariance has none
    X, y = normal_classes(n, p)
    scatter = class_moments(X, y).within()
    sign, expected = np.linalg.slogdet(scatter.shrunk(n - 3, amount))
    assert sign == 1
    assert_allclose(scatter.covariance(n - 3, amount).log_determinant, expected, rtol=1e-9)


# --- Fisher's discriminant ------------------------------------------------------------------------------------------


def proportion(first, second):
    """The factor between two vectors, which have to be proportional."""
    factor = (first @ second) / (second @ second)
    assert_allclose(first, factor * second, rtol=1e-8, atol=1e-10 * np.abs(first).max())
    return factor


def test_fisher_lda_and_least_squares_share_one_direction():
    X, y = normal_classes(K=2)
    _, means, _, pooled = textbook(X, y)
    fisher = FisherDiscriminant().fit(X, y)
    assert_allclose(fisher.coef_[0], np.linalg.solve(pooled, means[1] - means[0]), rtol=1e-9)
    assert_allclose(LinearDiscriminantAnalysis().fit(X, y).coef_, fisher.coef_, rtol=1e-9)
    least_squares = LeastSquaresClassifier(coding="fisher").fit(X, y)
    assert proportion(least_squares.coef_[0], fisher.coef_[0]) > 0
    assert_allclose(least_squares.intercept_[0], -least_squares.coef_[0] @ X.mean(axis=0), rtol=1e-9)


def test_fisher_coding_is_least_squares_on_its_responses():
    X, y = normal_classes(K=2)
    response = np.where(y == 1, len(y) / np.sum(y == 1), -len(y) / np.sum(y == 0))
    solution = np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), response)[0]
    model = LeastSquaresClassifier(coding="fisher").fit(X, y)
    assert_allclose(np.append(model.intercept_, model.coef_[0]), solution, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("wide", [False, True], ids=["long", "wide"])
def test_projected_means_and_spreads_are_those_of_the_projections(wide):
    X, y = normal_classes(n=40, p=60 if wide else 4, K=2, seed=3)
    for threshold in ("bayes", "midpoint"):
        model = FisherDiscriminant(threshold=threshold).fit(X, y)
        along = X @ model.coef_[0]
        assert_allclose(model.projected_means_, [along[y == k].mean() for k in (0, 1)], rtol=1e-9, atol=1e-9)
        spreads = np.array([along[y == k].std(ddof=1) for k in (0, 1)])
        if threshold == "midpoint":
            spreads[:] = np.sqrt(np.sum(class_centred(along[:, None], y) ** 2) / (len(y) - 2))
        assert_allclose(model.projected_sds_, spreads, rtol=1e-7)


def test_simple_thresholds_lie_between_the_projected_means():
    X, y = normal_classes(K=2)
    low, high = (X[y == k].mean(axis=0) @ FisherDiscriminant().fit(X, y).coef_[0] for k in (0, 1))
    assert_allclose(FisherDiscriminant().fit(X, y).threshold_, (low + high) / 2, rtol=1e-9)
    weighted = FisherDiscriminant(threshold="prior-weighted", priors=[0.9, 0.1]).fit(X, y)
    assert_allclose(weighted.threshold_, 0.9 * low + 0.1 * high, rtol=1e-9)
    assert_array_equal(weighted.predict(X), (X @ weighted.coef_[0] > weighted.threshold_).astype(int))


def expected_error(cut, model):
    (low, high), (left, right) = model.projected_means_, model.projected_sds_
    return model.priors_[0] * stats.norm.sf(cut, low, left) + model.priors_[1] * stats.norm.cdf(cut, high, right)


@pytest.mark.parametrize("priors", [None, [0.5, 0.5], [0.97, 0.03], [0.2, 0.8]], ids=str)
@pytest.mark.parametrize("spread", [0.3, 1.0, 4.0])
def test_bayes_threshold_has_the_least_expected_error(priors, spread):
    X, y = normal_classes(n=400, K=2, seed=2)
    X[y == 1] = X[y == 1].mean(axis=0) + spread * (X[y == 1] - X[y == 1].mean(axis=0))
    model = FisherDiscriminant(threshold="bayes", priors=priors).fit(X, y)
    width = np.ptp(model.projected_means_) + model.projected_sds_.max()
    grid = np.linspace(model.projected_means_.min() - 20 * width, model.projected_means_.max() + 20 * width, 20_001)
    start = grid[expected_error(grid, model).argmin()]
    best = minimize_scalar(expected_error, bracket=(start - 0.01 * width, start + 0.01 * width), args=(model,))
    assert expected_error(model.threshold_, model) <= best.fun * (1 + 1e-9)


def test_bayes_threshold_on_breast_cancer_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = FisherDiscriminant(threshold="bayes").fit(X, y)
    best = minimize_scalar(expected_error, bracket=tuple(model.projected_means_), args=(model,))
    assert_allclose(expected_error(model.threshold_, model), best.fun, rtol=1e-9)


def held_out_positions(X, y, folds):
    """Each row's place on the direction fitted without its fold; the training means lie at -1 and +1."""
    fold, positions = fold_of_rows(0, len(y), folds), np.empty(len(y))
    for f in range(folds):
        train = fold != f
        _, means, _, pooled = textbook(X[train], y[train])
        w = np.linalg.solve(pooled, means[1] - means[0])
        low, high = means @ w
        positions[~train] = (2 * X[~train] @ w - low - high) / (high - low)
    return positions


def weighted_error(cut, positions, y, priors):
    return priors[0] * np.mean(positions[y == 0] > cut) + priors[1] * np.mean(positions[y == 1] <= cut)


@pytest.mark.parametrize("priors", [None, [0.8, 0.2]], ids=["shares", "given"])
@pytest.mark.parametrize("seed", range(4))
def test_cross_validated_threshold_has_the_fewest_held_out_errors(priors, seed):
    X, y = normal_classes(n=120, K=2, seed=seed)
    X[y == 1] *= 1.5
    model = FisherDiscriminant(threshold="cv", priors=priors, folds=5).fit(X, y)
    positions = held_out_positions(X, y, 5)
    low, high = model.projected_means_
    chosen = (2 * model.threshold_ - low - high) / (high - low)
    ends = [positions.min() - 1, positions.max() + 1]
    cuts = np.concatenate([(np.sort(positions)[1:] + np.sort(positions)[:-1]) / 2, ends])
    errors = [weighted_error(cut, positions, y, model.priors_) for cut in cuts]
    own = weighted_error(chosen, positions, y, model.priors_)
    assert own <= min(errors) + 1e-12
    assert own <= weighted_error(0.0, positions, y, model.priors_) + 1e-12  # the midpoint is one of them
    best = cuts[np.array(errors) <= min(errors) + 1e-12]
    assert_allclose(abs(chosen), np.abs(best).min(), rtol=1e-6)


# --- least squares --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("alpha", [0.5, 30.0])
def test_ridge_scores_are_scikit_learns_up_to_scale(K, alpha):
    X, y = normal_classes(K=K)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = LeastSquaresClassifier(alpha=alpha, standardize=False).fit(X, y, weight)
    theirs = RidgeClassifier(alpha=alpha).fit(X, y, weight)
    # labels -1 and +1 there, 0 and 1 here
    expected = theirs.decision_function(X) if K == 2 else (theirs.decision_function(X) + 1) / 2
    assert_allclose(ours.decision_function(X), expected, rtol=1e-8, atol=1e-10)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_ordinary_least_squares_scores_are_numpys():
    X, y = normal_classes()
    design = np.column_stack([np.ones(len(y)), X])
    fitted = design @ np.linalg.lstsq(design, np.eye(3)[y])[0]
    scores = LeastSquaresClassifier().fit(X, y).decision_function(X)
    assert_allclose(scores, fitted, rtol=1e-9, atol=1e-11)
    assert_allclose(scores.sum(axis=1), 1, rtol=1e-10)


def test_wide_ridge_scores_are_scikit_learns():
    X, y = normal_classes(n=30, p=80)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for rows, ours in ((X, LeastSquaresClassifier(2.0, standardize=False)), (Z, LeastSquaresClassifier(2.0))):
        expected = (RidgeClassifier(alpha=2.0).fit(rows, y).decision_function(rows) + 1) / 2
        assert_allclose(ours.fit(X, y).decision_function(X), expected, rtol=1e-8, atol=1e-9)


# --- naive Bayes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GaussianNB, NaiveBayes])
@pytest.mark.parametrize("priors", [None, PRIORS], ids=["shares", "given"])
def test_gaussian_naive_bayes_is_scikit_learns(kind, priors):
    X, y = normal_classes()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = kind(priors=priors, var_smoothing=1e-15).fit(X, y, weight)
    theirs = SklearnGaussianNB(priors=priors, var_smoothing=1e-15).fit(X, y, weight)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_variance_smoothing_adds_a_share_of_each_columns_own_variance():
    X, y = normal_classes()
    variances = np.stack([X[y == k].var(axis=0) for k in range(3)]) + 0.5 * X.var(axis=0)
    assert_allclose(GaussianNB(var_smoothing=0.5).fit(X, y).variances_, variances, rtol=1e-10)


def small_counts(n=200, p=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    y[:3] = range(3)
    return rng.poisson(rng.uniform(0.2, 3, (3, p))[y]).astype(float), y


@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("distribution", "rival"),
    [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB), ("categorical", CategoricalNB)],
)
def test_counted_naive_bayes_is_scikit_learns(distribution, rival, alpha, weighted):
    X, y = small_counts()
    X = np.minimum(X, 1 if distribution == "bernoulli" else 3)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    ours = NaiveBayes(distributions=distribution, alpha=alpha).fit(X, y, weight)
    theirs = rival(alpha=alpha).fit(X, y, weight)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-9, 2.0])
def test_count_columns_are_poisson(alpha):
    X, y = small_counts()
    weight = np.bincount(y)
    rates = np.stack([X[y == k].sum(axis=0) for k in range(3)])
    rates = (rates + alpha * X.mean(axis=0)) / (weight[:, None] + alpha)
    scores = np.log(weight / len(y)) + stats.poisson.logpmf(X[:, None], rates).sum(axis=2)
    model = NaiveBayes(distributions="counts", alpha=alpha).fit(X, y)
    assert_allclose(model.predict_proba(X), posterior(scores), rtol=1e-9, atol=1e-12)


def test_mixed_columns_add_up_their_log_probabilities():
    counts, y = small_counts(p=6)
    rng = np.random.default_rng(2)
    normal = rng.normal(size=(len(y), 2)) + y[:, None]
    parts = {
        "gaussian": normal,
        "bernoulli": np.minimum(counts[:, :2], 1),
        "counts": counts[:, 2:4],
        "multinomial": counts[:, 4:],
        "categorical": np.minimum(counts[:, 2:4], 2),
    }
    kinds = [kind for kind, part in parts.items() for _ in range(part.shape[1])]
    log_priors = np.log(np.bincount(y) / len(y))
    scores = log_priors + sum(
        NaiveBayes(distributions=kind).fit(part, y).predict_log_proba(part) - log_priors for kind, part in parts.items()
    )
    X = np.column_stack(list(parts.values()))
    shuffled = rng.permutation(X.shape[1])
    model = NaiveBayes(distributions=[kinds[j] for j in shuffled]).fit(X[:, shuffled], y)
    assert_allclose(model.predict_proba(X[:, shuffled]), posterior(scores), rtol=1e-8, atol=1e-12)


# --- drawing rows ---------------------------------------------------------------------------------------------------

DRAWN = 200_000


def assert_drawn_moments(model, X, y, means, covariances):
    """Moments of the drawn rows within five standard errors of the model's."""
    for k, label in enumerate(model.classes_):
        own = X[y == label]
        n, sd = len(own), np.sqrt(np.diag(covariances[k]))
        assert_allclose(n / len(y), model.priors_[k], atol=5 * np.sqrt(0.25 / len(y)))
        assert (np.abs(own.mean(axis=0) - means[k]) < 5 * sd / np.sqrt(n)).all()
        assert (np.abs(np.cov(own.T) - covariances[k]) < 5 * np.sqrt(2 / n) * np.outer(sd, sd)).all()


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(priors=PRIORS),
        LinearDiscriminantAnalysis(shrinkage=0.5),
        QuadraticDiscriminantAnalysis(priors=PRIORS),
        QuadraticDiscriminantAnalysis(shrinkage=0.5),
        GaussianNB(priors=PRIORS),
    ],
    ids=repr,
)
def test_drawn_rows_have_the_moments_of_the_model(model):
    X, y = normal_classes(p=3)
    model = model.__class__(**model.get_params()).fit(X, np.array(["a", "b", "c"])[y])
    covariances = {
        "LinearDiscriminantAnalysis": lambda: [model.covariance_] * 3,
        "QuadraticDiscriminantAnalysis": lambda: model.covariances_,
        "GaussianNB": lambda: [np.diag(v) for v in model.variances_],
    }[type(model).__name__]()
    assert_drawn_moments(model, *model.sample(DRAWN, random_state=0), model.means_, covariances)


def test_drawn_wide_rows_have_the_covariance_of_the_model():
    X, y = normal_classes(n=12, p=15)
    model = LinearDiscriminantAnalysis(shrinkage=0.3).fit(X, y)
    rows, labels = model.sample(DRAWN, random_state=0)
    assert_drawn_moments(model, rows, labels, model.means_, [model.covariance_] * 3)


@pytest.mark.parametrize(
    "model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB(), NaiveBayes()], ids=repr
)
def test_a_label_draws_one_class_only(model):
    X, y = normal_classes(p=3)
    model = model.__class__().fit(X, np.array(["a", "b", "c"])[y])
    rows, labels = model.sample(4000, random_state=1, label="b")
    assert rows.shape == (4000, 3)
    assert set(labels) == {"b"}
    assert (np.abs(rows.mean(axis=0) - model.means_[1]) < 5 * rows.std(axis=0) / np.sqrt(4000)).all()


@pytest.mark.parametrize(
    "model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB(), NaiveBayes()], ids=repr
)
def test_the_same_seed_draws_the_same_rows(model):
    X, y = normal_classes()
    model = model.__class__().fit(X, y)
    (one, labels), (same, same_labels) = model.sample(50, random_state=7), model.sample(50, random_state=7)
    other, _ = model.sample(50, random_state=8)
    assert_array_equal(one, same)
    assert_array_equal(labels, same_labels)
    assert not np.array_equal(one, other)


def mixed_columns(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return {
        "colour": [["red", "blue"][int(r < 0.2 + 0.5 * k)] for r, k in zip(rng.random(n), y, strict=True)],
        "size": rng.normal(y, 1 + y),
        "visits": rng.poisson(1 + 3 * y).astype(float),
        "smokes": (rng.random(n) < 0.3 + 0.4 * y).astype(float),
        "word": rng.poisson(2 + y).astype(float),
        "other": rng.poisson(4 - y).astype(float),
    }, y


PLAN = {"visits": "counts", "smokes": "bernoulli", "word": "multinomial", "other": "multinomial"}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_mixed_rows_come_in_the_frame_the_model_was_fitted_with(frame):
    columns, y = mixed_columns()
    table = frame(columns)
    model = NaiveBayes(distributions=PLAN).fit(table, y)
    drawn, labels = model.sample(300, random_state=0)
    assert type(drawn) is type(table)
    assert drawn.shape == (300, 6)
    assert list(getattr(drawn, "column_names", getattr(drawn, "columns", None))) == list(columns)
    assert model.predict(drawn).shape == labels.shape


def test_mixed_rows_are_distributed_as_the_model_says():
    columns, y = mixed_columns()
    table = pd.DataFrame(columns)
    model = NaiveBayes(distributions=PLAN, priors=[0.25, 0.75]).fit(table, y)
    drawn, labels = model.sample(DRAWN, random_state=0)
    assert_allclose(np.mean(labels == 1), 0.75, atol=0.006)
    for k in (0, 1):
        own, fitted = drawn[labels == k], table[y == k]
        assert_allclose(np.mean(own["colour"] == "red"), np.mean(fitted["colour"] == "red"), atol=0.02)
        for name in ("size", "visits", "smokes", "word", "other"):
            assert_allclose(own[name].mean(), fitted[name].mean(), atol=0.05, err_msg=name)
        assert_allclose(own["size"].std(), fitted["size"].std(), rtol=0.02)
        assert_allclose(own["visits"].var(), own["visits"].mean(), rtol=0.05)  # Poisson
        assert set(own["smokes"]) == {0.0, 1.0}


def test_mixed_rows_of_an_array_come_as_an_array():
    columns, y = mixed_columns(200)
    table = np.array(list(columns.values()), dtype=object).T
    drawn, _ = NaiveBayes().fit(table, y).sample(20, random_state=0)
    assert isinstance(drawn, np.ndarray)
    assert drawn.shape == (20, 6)
    assert set(drawn[:, 0]) <= {"red", "blue"}
    assert all(isinstance(value, float) for value in drawn[:, 1])


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB, NaiveBayes])
def test_a_class_not_seen_yet_is_never_drawn(model):
    X, y = normal_classes(K=2)
    waiting = model(priors=PRIORS).partial_fit(X, y, classes=[0, 1, 2])
    rows, labels = waiting.sample(200, random_state=0)
    assert set(labels) == {0, 1}
    assert np.isfinite(rows).all()
