"""Regularised discriminant analysis against its definition written out, and against those it lies between."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine

from discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, RegularizedDiscriminantAnalysis
from discriminant.data import labelled_rows
from discriminant.decision.posteriors import TEMPERATURES, TemperedLosses
from discriminant.errors import DegenerateDataError, DiscriminantWarning, ParameterError
from discriminant.estimators import regularised
from discriminant.estimators.naive_bayes import naive_bayes_rule
from discriminant.estimators.regularised import ALL, Grid, regularised_rule
from discriminant.estimators.svm import support_vector_rule
from discriminant.folds import HeldOut
from discriminant.rules import LinearRule, QuadraticRule
from helpers import normal_classes


def units_of(X):
    """Standard deviations; the step between the values where there are two."""
    return np.array([np.ptp(x) if len(np.unique(x)) == 2 else x.std() for x in X.T])


def written_out(X, y, rows, pooling, shrinkage, temperature, units, weight=None):
    """Log-posteriors of the rows, from densities of SciPy."""
    weight, K, p = np.ones(len(y)) if weight is None else weight, y.max() + 1, X.shape[1]
    X, rows, joint = X / units, rows / units, []
    means = [np.average(X[y == k], axis=0, weights=weight[y == k]) for k in range(K)]
    scatter = [(weight[y == k, None] * (X[y == k] - means[k])).T @ (X[y == k] - means[k]) for k in range(K)]
    for k in range(K):
        mixed = (1 - pooling) * scatter[k] + pooling * sum(scatter)
        mixed /= (1 - pooling) * weight[y == k].sum() + pooling * weight.sum()
        covariance = (1 - shrinkage) * mixed + shrinkage * np.trace(mixed) / p * np.eye(p)
        density = multivariate_normal(means[k], covariance).logpdf(rows)
        joint.append(np.log(weight[y == k].sum() / weight.sum()) + temperature * density)
    return log_softmax(np.stack(joint, axis=1), axis=1)


@pytest.mark.parametrize("pooling", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_posteriors_are_those_of_the_definition(pooling, shrinkage, temperature):
    X, y = normal_classes()
    X[:, 1] = X[:, 1] > 0
    model = RegularizedDiscriminantAnalysis(pooling=pooling, shrinkage=shrinkage, temperature=temperature).fit(X, y)
    expected = written_out(X, y, X, pooling, shrinkage, temperature, units_of(X))
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-9, atol=1e-11)
    assert isinstance(model.rule_, LinearRule if pooling == 1 else QuadraticRule)
    assert hasattr(model, "coef_") == (pooling == 1)


def test_held_out_losses_are_those_of_the_fits_they_stand_for():
    X, y = normal_classes(n=90)
    weight = np.random.default_rng(3).integers(1, 4, 90).astype(float)
    data, held = labelled_rows(X, y, weight), HeldOut.repeated(y, 3)
    units = np.sqrt(np.average((X - np.average(X, axis=0, weights=weight)) ** 2, axis=0, weights=weight))
    shares, losses = np.bincount(y, weight), dict[tuple[float, float, float], float]()
    for pooling, shrinkage in product(ALL.poolings, ALL.shrinkages):
        total = np.zeros(len(TEMPERATURES))
        for split in range(held.n_splits):
            train, out = held.seen[:, split], held.rows[held.fits == split]
            found = written_out(X[train], y[train], X[out], pooling, shrinkage, 1.0, units, weight[train])
            density = found - np.log(np.bincount(y[train], weight[train]))  # the priors are those of all rows
            for t, temperature in enumerate(TEMPERATURES):
                logs = log_softmax(temperature * density + np.log(shares), axis=1)
                total[t] -= weight[out] @ logs[np.arange(len(out)), y[out]]
        total /= weight[held.rows].sum()
        losses |= {(pooling, shrinkage, t): loss for t, loss in zip(TEMPERATURES, total, strict=True)}
    for (pooling, shrinkage, temperature), expected in list(losses.items())[::41]:
        grid = Grid(np.array([pooling]), np.array([shrinkage]), temperature)
        tuned = regularised_rule(data, held, grid)
        assert_allclose(tuned.loss, expected, rtol=1e-10)
        own = tuned.log_posteriors[np.arange(len(held.rows)), y[held.rows]]
        assert_allclose(-(weight[held.rows] @ own) / weight[held.rows].sum(), expected, rtol=1e-10)
    tuned = regularised_rule(data, held)
    best = min(losses, key=losses.get)
    assert tuned.loss <= losses[best] + 1e-12
    assert (tuned.settings["pooling"], tuned.settings["shrinkage"]) == best[:2]


@pytest.mark.parametrize("temperature", [None, 0.5])
@pytest.mark.parametrize("shape", [(60, 4), (40, 90)])
def test_rows_whose_class_a_split_has_not_seen_do_not_count(shape, temperature, monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.append(rng.integers(0, 3, shape[0] - 2), [3, 3])
    data = labelled_rows(rng.normal(size=shape) + codes[:, None], codes, rng.uniform(0, 2, shape[0]))
    parts = np.arange(shape[0]) % 3
    parts[-2:] = 0
    held = HeldOut.by_splits([(np.flatnonzero(parts != f), np.flatnonzero(parts == f)) for f in range(3)], shape[0])
    whole = regularised_rule(data, held, replace(ALL, temperature=temperature))
    assert np.isneginf(whole.log_posteriors[parts[held.rows] == 0, 3]).all()
    monkeypatch.setattr(regularised, "CACHED_DENSITIES", 500)
    in_parts = regularised_rule(data, held, replace(ALL, temperature=temperature))
    assert whole.settings == pytest.approx(in_parts.settings, rel=1e-8)
    assert whole.loss == pytest.approx(in_parts.loss, rel=1e-10)
    assert_allclose(whole.log_posteriors, in_parts.log_posteriors, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("settings", [(), (3,), (2, 300)])
def test_losses_at_all_temperatures_are_those_of_the_formula(settings):
    rng = np.random.default_rng(0)
    logs, codes = -100 * rng.exponential(size=(50, *settings, 4)), rng.integers(0, 3, 50)
    logs[:20, ..., 3] = -np.inf  # a class that a split has not seen
    if settings:
        logs[7, ..., 1, :] = np.nan  # a covariance that is singular
    priors, weight = np.log([0.1, 0.2, 0.3, 0.4]), rng.uniform(0, 2, 50)
    found = TemperedLosses(logs, priors, codes, weight).of_grid()
    shares = log_softmax(logs[..., None, :] * np.array(TEMPERATURES)[:, None] + priors, axis=-1)
    expected = -np.tensordot(weight, shares[np.arange(50), ..., codes], axes=(0, 0))
    assert_allclose(found, expected, rtol=1e-12)
    assert np.isnan(found).any() == bool(settings)


def test_the_temperature_is_the_best_of_all():
    rng = np.random.default_rng(0)
    densities, codes = 30 * rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    densities[np.arange(200), codes] += 12
    tempered = TemperedLosses(densities, np.log([0.2, 0.3, 0.5]), codes, rng.uniform(0, 2, 200))
    assert_allclose(tempered.of_grid(), [tempered.at(t)[0] for t in TEMPERATURES], rtol=1e-11)
    best = tempered.best()
    assert tempered.at(best)[0] <= min(tempered.at(best * (1 + step))[0] for step in (-1e-4, 1e-4))
    sure = TemperedLosses(np.eye(3)[codes] * 5, np.log([0.2, 0.3, 0.5]), codes, np.ones(200))
    assert sure.best() == 1.0


def test_it_is_lda_and_qda_at_its_ends():
    X, y = load_iris(return_X_y=True)
    linear = RegularizedDiscriminantAnalysis(pooling=1, shrinkage=0, temperature=1).fit(X, y)
    own = RegularizedDiscriminantAnalysis(pooling=0, shrinkage=0, temperature=1).fit(X, y)
    # the divisors differ: N and N_k against N - K and N_k - 1
    same = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(linear.coef_ - linear.coef_[0], (same.coef_ - same.coef_[0]) * 150 / 147, rtol=1e-9)
    assert np.mean(own.predict(X) == QuadraticDiscriminantAnalysis().fit(X, y).predict(X)) > 0.99


def test_more_columns_than_rows_are_the_same_model_in_fewer_dimensions():
    X, y = normal_classes(n=40, p=60)
    held, grid = HeldOut.repeated(y), Grid(np.ones(1), np.array([0.3]), 0.5)
    expected = written_out(X, y, X + 0.1, 1.0, 0.3, 0.5, X.std(axis=0))
    model = RegularizedDiscriminantAnalysis(pooling=1, shrinkage=0.3, temperature=0.5).fit(X, y)
    assert_allclose(model.predict_log_proba(X + 0.1), expected, rtol=1e-8, atol=1e-10)
    tuned = regularised_rule(labelled_rows(X, y), held, grid)
    train, out = held.seen[:, 0], held.rows[held.fits == 0]
    found = written_out(X[train], y[train], X[out], 1.0, 0.3, 1.0, X.std(axis=0))
    seen, shares = np.bincount(y[train]), np.bincount(y)
    expected = log_softmax(0.5 * (found - np.log(seen)) + np.log(shares), axis=1)
    assert_allclose(tuned.log_posteriors[held.fits == 0], expected, rtol=1e-8)
    whole = RegularizedDiscriminantAnalysis().fit(X, y)
    assert whole.pooling_ == 1


def test_priors_shift_the_answer_and_not_the_choice():
    X, y = load_wine(return_X_y=True)
    plain, shifted = (RegularizedDiscriminantAnalysis(priors).fit(X, y) for priors in (None, [0.1, 0.2, 0.7]))
    assert plain.temperature_ == shifted.temperature_
    odds = shifted.predict_log_proba(X) - plain.predict_log_proba(X)
    expected = np.log(np.array([0.1, 0.2, 0.7]) / np.bincount(y) * len(y))
    assert_allclose(odds - odds[:, :1], np.tile(expected - expected[0], (len(y), 1)), atol=1e-8)


def test_columns_that_do_not_vary_and_columns_that_repeat_others_are_borne():
    X, y = normal_classes()
    plain = RegularizedDiscriminantAnalysis().fit(X, y)
    constant = RegularizedDiscriminantAnalysis().fit(np.column_stack((X[:, 0], np.full(len(y), 7.1), X[:, 1:])), y)
    assert_allclose(
        constant.predict_proba(np.column_stack((X[:, 0], np.full(len(y), -3.0), X[:, 1:]))), plain.predict_proba(X)
    )
    levels = np.eye(3)[np.arange(len(y)) % 3]
    model = RegularizedDiscriminantAnalysis().fit(np.column_stack((X, levels)), y)
    assert model.shrinkage_ > 0
    assert model.loss_ < plain.loss_ + 0.05


def test_small_classes_and_a_class_of_one_row_are_learned():
    X, y = normal_classes(n=120, K=2)
    y[:2], y[2:5] = 2, 3
    y[5] = 4
    model = RegularizedDiscriminantAnalysis().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isfinite(model.loss_)
    tuned = regularised_rule(labelled_rows(X, y), held := HeldOut.repeated(y))
    unseen = tuned.log_posteriors[y[held.rows] == 4]
    assert_array_equal(np.isneginf(unseen), np.tile(np.arange(5) == 4, (len(unseen), 1)))


def test_many_columns_alike_and_many_classes_do_not_overflow():
    rng = np.random.default_rng(1)
    y = np.arange(520) % 26
    X = rng.normal(size=(520, 6)) * 1e-30 + 1e-29 * (y[:, None] % 7)
    model = RegularizedDiscriminantAnalysis().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X * 1e6).max(axis=1)).all()
    assert model.score(X, y) > 0.15


def test_fewer_rows_choose_for_very_many():
    X, y = normal_classes(n=45_000, p=3)
    model = RegularizedDiscriminantAnalysis().fit(X, y)
    fixed = RegularizedDiscriminantAnalysis(
        pooling=model.pooling_, shrinkage=model.shrinkage_, temperature=model.temperature_
    ).fit(X, y)
    assert_allclose(fixed.predict_proba(X[:100]), model.predict_proba(X[:100]), rtol=1e-9)


def test_containers_and_weights_change_nothing():
    X, y = normal_classes()
    X[X < 0.3] = 0
    settings = {"pooling": 0.5, "shrinkage": 0.1, "temperature": 0.6}
    model = RegularizedDiscriminantAnalysis(**settings).fit(X, y)
    for other in (sp.csr_array(X), X.astype(np.float32)):
        again = RegularizedDiscriminantAnalysis(**settings).fit(other, y)
        assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-4)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = RegularizedDiscriminantAnalysis(**settings).fit(X, y, weight)
    repeated = RegularizedDiscriminantAnalysis(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


def test_what_cannot_be_is_refused():
    X, y = normal_classes()
    for wrong in ({"pooling": 2}, {"shrinkage": "oas"}, {"temperature": 0}, {"folds": 1}):
        with pytest.raises(ParameterError):
            RegularizedDiscriminantAnalysis(**wrong).fit(X, y)
    with pytest.raises(DegenerateDataError, match="column"):
        RegularizedDiscriminantAnalysis().fit(y[:, None].astype(float), y)
    with pytest.raises(DegenerateDataError, match="shrinkage"):
        RegularizedDiscriminantAnalysis(shrinkage=0).fit(np.column_stack((X, X[:, 0])), y)


ODD = {
    "few rows": normal_classes(n=7, p=2, K=3)[0],
    "wide": normal_classes(n=7, p=60, K=3)[0],
    "two values": (normal_classes(n=7, p=5, K=3)[0] > 1).astype(float),
    "long tails": np.sinh(8 * normal_classes(n=7, p=5, K=3)[0]),
    "an offset": normal_classes(n=7, p=3, K=3)[0] + 1e9,
    "hardly varying within classes": np.arange(7)[:, None] % 3 + 1e-9 * normal_classes(n=7, p=2, K=3)[0],
}


@pytest.mark.parametrize("family", [regularised_rule, naive_bayes_rule, support_vector_rule])
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("weight", [None, np.array([1, 1, 1, 0, 0.5, 2, 0])], ids=["plain", "weighted"])
def test_families_bear_odd_tables(family, name, weight):
    y = np.arange(7) % 3
    for X in (ODD[name], sp.csr_array(ODD[name])):
        data = labelled_rows(X, y, weight)
        tuned = family(data, HeldOut.repeated(y))
        assert np.isfinite(tuned.loss)
        assert np.isfinite(tuned.rule.scores(np.ascontiguousarray(ODD[name]))).all()
        assert_allclose(np.exp(tuned.log_posteriors).sum(axis=1), 1)
        if family is regularised_rule:
            model = QuadraticDiscriminantAnalysis(shrinkage="cv")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DiscriminantWarning)
                model.fit(X, y, weight)
            assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("poolings", [[1.0], [0.0, 0.5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_folds_are_merged_to_those_of_parts(poolings, weighted, monkeypatch):
    X, y = normal_classes(1_200, K=3)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    data, grid = labelled_rows(X, y, weight), replace(ALL, poolings=np.array(poolings))
    held = HeldOut.repeated(data.codes)
    assert held.is_partition
    merged = regularised_rule(data, held, grid)
    monkeypatch.setattr(regularised, "MAX_FOLD_MOMENT_NUMBERS", 0)
    alone = regularised_rule(data, held, grid)
    assert merged.settings == pytest.approx(alone.settings, rel=1e-8)
    assert_allclose(merged.log_posteriors, alone.log_posteriors, rtol=1e-8, atol=1e-10)


def test_folds_that_are_dealt_again_or_leave_rows_out_are_no_partition():
    y = np.arange(60) % 3
    assert not HeldOut.repeated(y).is_partition  # dealt five times
    rows = np.arange(60)
    assert HeldOut.by_splits([(rows[30:], rows[:30]), (rows[:30], rows[30:])], 60).is_partition
    assert not HeldOut.by_splits([(rows[40:], rows[:30]), (rows[:30], rows[30:])], 60).is_partition
    assert not HeldOut.by_splits([(rows[30:], rows[:30])], 60).is_partition
