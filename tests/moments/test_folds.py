"""Folds: every F consecutive rows hold each fold once, chunks of any size give the same folds, and the moments of
all rows but a fold's are those of a direct pass, even where another fold holds an outlier."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.data import Block, fold_of_rows, labelled_rows
from discriminant.moments.folds import FoldMoments
from discriminant.moments.statistic import ClassMoments, RowMoments
from helpers import class_moments, normal_classes


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10, 17])
def test_every_run_of_rows_holds_each_fold_once(n_folds):
    folds = fold_of_rows(0, 100 * n_folds, n_folds).reshape(100, n_folds)
    assert_array_equal(np.sort(folds, axis=1), np.tile(np.arange(n_folds), (100, 1)))


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_the_order_of_the_folds_changes_from_run_to_run(n_folds):
    """Rows in a rhythm, such as classes by turns, must not fall into folds in the same rhythm."""
    folds = fold_of_rows(0, 1000 * n_folds, n_folds).reshape(1000, n_folds)
    first = np.bincount(folds[:, 0], minlength=n_folds) / 1000
    assert_allclose(first, 1 / n_folds, atol=0.06)


@given(first=st.integers(0, 10**12), count=st.integers(1, 200), cut=st.integers(0, 200), n_folds=st.integers(2, 20))
def test_a_rows_fold_depends_on_its_number_alone(first, count, cut, n_folds):
    cut = min(cut, count)
    parts = fold_of_rows(first, cut, n_folds), fold_of_rows(first + cut, count - cut, n_folds)
    whole = fold_of_rows(first, count, n_folds)
    assert_array_equal(np.concatenate(parts), whole)
    assert whole.min() >= 0
    assert whole.max() < n_folds


KINDS = [(ClassMoments, "pooled"), (ClassMoments, "class"), (RowMoments, "pooled"), (RowMoments, "class")]
every_kind = pytest.mark.parametrize(("kind", "structure"), KINDS, ids=lambda v: getattr(v, "__name__", v))


def fold_moments(kind, structure, X, y, n_folds):
    data = labelled_rows(X, y)
    return data.reduce(FoldMoments(kind(3 * n_folds, X.shape[1], structure, pools=n_folds), n_folds))


def assert_moments_of(moments, X, y, structure, rtol=1e-11):
    direct = class_moments(X, y, structure=structure)
    assert_array_equal(moments.counts, direct.counts)
    assert_allclose(moments.mean, direct.mean, rtol=rtol, atol=rtol)
    assert_allclose(moments.within().matrix, direct.within().matrix, rtol=rtol, atol=rtol)
    if structure == "class":
        scatter = [moments.with_structure("class").of_class(k).matrix for k in range(3)]
        assert_allclose(scatter, direct.scatter, rtol=rtol, atol=rtol * np.abs(direct.scatter).max())


@every_kind
def test_parts_and_whole_are_direct_moments(kind, structure):
    X, y = normal_classes(n=120)
    folds = fold_moments(kind, structure, X, y, 4)
    where = fold_of_rows(0, 120, 4)
    assert_moments_of(folds.whole(), X, y, structure)
    for f, part in enumerate(folds.folds()):
        assert_moments_of(part, X[where == f], y[where == f], structure)


@every_kind
def test_splits_are_direct_moments_of_the_other_rows(kind, structure):
    X, y = normal_classes(n=120)
    where = fold_of_rows(0, 120, 4)
    for f, (train, held) in enumerate(fold_moments(kind, structure, X, y, 4).splits()):
        assert_moments_of(train, X[where != f], y[where != f], structure)
        assert_moments_of(held, X[where == f], y[where == f], structure)


@every_kind
def test_an_outlier_in_one_fold_costs_the_others_no_digits(kind, structure):
    X, y = normal_classes(n=120)
    X[17] = 1e9
    where = fold_of_rows(0, 120, 4)
    splits = list(fold_moments(kind, structure, X, y, 4).splits())
    f = int(where[17])
    train, _ = splits[f]
    assert_moments_of(train, X[where != f], y[where != f], structure)


def test_rows_seen_before_shift_the_folds():
    X, y = normal_classes(n=60)
    late = FoldMoments(ClassMoments(9, 4, pools=3), 3, first_row=20)
    late.update(Block(X[20:], y[20:], np.ones(40)))
    early = FoldMoments(ClassMoments(9, 4, pools=3), 3)
    early.update(Block(X[:20], y[:20], np.ones(20)))
    early.merge(late)
    assert_moments_of(early.whole(), X, y, "pooled")
    for f, part in enumerate(early.folds()):
        where = fold_of_rows(0, 60, 3) == f
        assert_moments_of(part, X[where], y[where], "pooled")


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("folds", [30, 50], ids=["each row a fold", "more folds than rows"])
def test_as_many_folds_as_rows(kind, folds):
    X, y = normal_classes(n=30, p=2)
    model = kind(shrinkage="cv", folds=folds).fit(X, y)
    assert np.isfinite(model.shrinkage_losses_).all()
    assert 0 <= np.min(model.shrinkage_) <= np.max(model.shrinkage_) <= 1
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_class_in_one_fold_only():
    X, y = normal_classes(n=60)
    y[y == 2] = 1
    y[5] = 2
    model = LinearDiscriminantAnalysis(shrinkage="cv", folds=4).fit(X, y)
    assert np.isfinite(model.shrinkage_losses_).all()
