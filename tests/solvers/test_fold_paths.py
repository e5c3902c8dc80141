"""Paths of all folds at once are those of each fold by itself."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit

from discriminant.data import as_rows, labelled_rows
from discriminant.folds import HeldOut, repeated_folds
from discriminant.losses import Logistic, Softmax, SquaredHinge
from discriminant.objective import ElasticNet, Objective, column_std
from discriminant.solvers import ridge_cv
from discriminant.solvers.choice import named_solver
from discriminant.solvers.ridge_cv import ridge_paths

ALPHAS = [1.0, 0.1, 0.01]


def problem(n_classes, kind=np.asarray, weighted=False, n=150, p=6):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, p)) * np.geomspace(0.1, 10, p) + 1.0
    X[np.abs(X) < 0.3] = 0.0
    signal = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (signal[:, :n_classes] + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    data = labelled_rows(kind(X), y, rng.integers(1, 4, n) if weighted else None)
    loss = Logistic() if n_classes == 2 else Softmax()
    return Objective(data, loss, ElasticNet(1.0), penalty_scale=column_std(data))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_fit_is_that_of_its_own_rows(n_classes, kind, weighted):
    objective = problem(n_classes, kind, weighted)
    n, codes = objective.data.n_rows, objective.data.codes
    splits = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(codes, codes))
    held = HeldOut.by_splits(splits, n)
    trains = [*(train for train, _ in splits), np.arange(n)]
    objective = replace(objective, standard=objective.standardised)
    for alpha, fits in zip(ALPHAS, ridge_paths(objective, held, ALPHAS, 1e-12, 200), strict=True):
        losses = fits.losses(objective, held)
        for k, train in enumerate(trains):
            own = replace(objective.part(train), penalty=ElasticNet(alpha))
            peer = named_solver("newton", own)(own, np.zeros(own.shape), 1e-14, 200)
            assert_allclose(own.value_and_gradient(fits.theta[k])[0], peer.objective, rtol=1e-10)
            assert_allclose(fits.theta[k], peer.theta, atol=1e-4)
            if k < len(splits):
                assert_allclose(losses[k], objective.part(splits[k][1]).mean_loss(fits.theta[k]), rtol=1e-10)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_known_parts_of_the_scores_and_other_losses(loss, fit_intercept):
    objective = replace(problem(2, weighted=True), loss=loss, fit_intercept=fit_intercept)
    objective = replace(objective, data=replace(objective.data, offset=np.linspace(-1, 1, objective.data.n_rows)))
    for fits in ridge_paths(objective, HeldOut.repeated(objective.data.codes), ALPHAS, 1e-12, 100):
        own = replace(objective, penalty=ElasticNet(fits.alpha))
        peer = named_solver("newton", own)(own, np.zeros(own.shape), 1e-14, 200)
        assert_allclose(own.value_and_gradient(fits.theta[-1])[0], peer.objective, rtol=1e-10)


def test_small_blocks_of_many_fits_change_no_more_than_rounding_and_threads_nothing(monkeypatch):
    objective = problem(4, n=900)
    held = HeldOut.repeated(objective.data.codes)
    whole = list(ridge_paths(objective, held, ALPHAS, 1e-10, 100))
    monkeypatch.setattr(ridge_cv, "BLOCK_OPERATIONS", 0)
    apart, alone = (list(ridge_paths(replace(objective, n_jobs=n), held, ALPHAS, 1e-10, 100)) for n in (3, 1))
    for fits, same, others in zip(apart, alone, whole, strict=True):
        assert_array_equal(fits.theta, same.theta)
        assert_array_equal(fits.scores, same.scores)
        assert not np.array_equal(fits.theta, others.theta)  # there were several blocks
        assert_allclose(fits.theta, others.theta, atol=1e-5)


def test_weights_are_repeated_rows():
    objective = problem(2, weighted=True)
    data, times = objective.data, objective.data.weight.astype(int)
    splits = repeated_folds(data.codes)
    rows = np.repeat(np.arange(data.n_rows), times)
    repeated = replace(objective, data=replace(data.take(rows), weight=None), standard=objective.standardised)
    apart = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    own = ridge_paths(objective, HeldOut.by_splits(splits, data.n_rows), ALPHAS, 1e-12, 100)
    others = ridge_paths(repeated, HeldOut.by_splits(apart, len(rows)), ALPHAS, 1e-12, 100)
    for fits, other in zip(own, others, strict=True):
        assert_allclose(fits.theta, other.theta, atol=1e-5)


def test_rows_may_be_held_out_more_than_once_or_never():
    objective = problem(2)
    splits = list(ShuffleSplit(3, test_size=0.2, random_state=0).split(objective.data.codes))
    held = HeldOut.by_splits(splits, objective.data.n_rows)
    assert np.array_equal(np.bincount(held.fits), [30, 30, 30])
    (fits,) = ridge_paths(objective, held, [0.1], 1e-10, 100)
    scores = objective.scores(fits.theta[1])
    assert_allclose(fits.scores[held.fits == 1], scores[np.sort(splits[1][1])], rtol=1e-12)


@pytest.mark.parametrize("codes", [[0, 0, 1, 1], [0] * 30 + [1] * 3 + [2], [0, 1] * 40, [0, 0, 0, 1]])
def test_folds_are_never_empty_and_every_fit_knows_every_class(codes):
    """However few rows a class has: the only row of one is never held out."""
    codes = np.array(codes)
    splits = repeated_folds(codes)
    for train, held in splits:
        assert held.size > 0
        assert set(codes[train]) == set(codes)
        assert np.intersect1d(train, held).size == 0
    often = np.bincount(np.concatenate([held for _, held in splits]), minlength=len(codes))
    single = np.bincount(codes)[codes] == 1
    assert set(often[~single]) == {min(2000 // len(codes), 5)}
    assert not often[single].any()
    assert not repeated_folds(np.arange(3))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_fits_of_some_columns_are_those_without_the_others(n_classes):
    objective = problem(n_classes)
    data = objective.data
    held = HeldOut.repeated(data.codes)
    free = np.ones((held.seen.shape[1], data.rows.n_columns), dtype=bool)
    free[0, [0, 2]] = free[-1, 1] = False
    (fits,) = ridge_paths(objective, replace(held, columns=free), [0.05], 1e-12, 200)
    for k in (0, -1):
        own = replace(
            objective,
            data=replace(data, rows=as_rows(data.rows.values[:, free[k]])),
            penalty=ElasticNet(0.05),
            penalty_scale=objective.penalty_scale[free[k]],
        ).part(np.flatnonzero(held.seen[:, k]))
        peer = named_solver("newton", own)(own, np.zeros(own.shape), 1e-14, 200)
        value = own.value_and_gradient(_units(fits.theta[k], objective, own, free[k]))[0]
        assert_allclose(value, peer.objective, rtol=1e-9)
        assert not fits.theta[k][:, :-1][:, ~free[k]].any()


def _units(theta, objective, own, free):
    """Parameters in the standardised columns of the smaller objective, with their centres."""
    coef, intercept = theta[:, :-1][:, free] / objective.standardised.scale[free], theta[:, -1:]
    change = own.standardised.centre - objective.standardised.centre[free]
    return np.hstack((coef * own.standardised.scale, intercept + (coef @ change)[:, None]))
