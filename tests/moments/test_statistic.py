"""Class moments keep their digits, whatever the offset of the values and the order of the blocks.

Exact sums with fractions are the judge.
"""

import copy
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.data import Block
from discriminant.moments.folds import MomentsSpec, combined_spec
from discriminant.moments.levels import TableMoments, count_levels, level_log_probabilities
from discriminant.moments.statistic import ClassMoments, RowMoments
from helpers import class_moments, normal_classes

OFFSETS = [0.0, 1e4, 1e8, -1e8]


def exact_moments(X, y, K):
    """Class means and scatter per class as exact rationals, rounded once at the end."""
    means, scatters = [], []
    for k in range(K):
        rows = [[Fraction(float(v)) for v in row] for row in X[y == k]]
        mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        centred = [[v - m for v, m in zip(row, mean, strict=True)] for row in rows]
        columns = list(zip(*centred, strict=True))
        scatters.append([[float(sum(map(mul, one, other))) for other in columns] for one in columns])
        means.append(mean)
    return means, np.array(scatters)


def assert_exact(moments, means, scatters, offset, rtol):
    for k, mean in enumerate(means):
        error = [abs(float(Fraction(float(v)) - m)) for v, m in zip(moments.mean[k], mean, strict=True)]
        assert max(error) <= 4 * np.spacing(max(abs(offset), 1.0))
    assert_allclose(moments.scatter, scatters, rtol=rtol, atol=rtol * np.abs(scatters).max())


@pytest.mark.parametrize("offset", OFFSETS)
def test_one_block_loses_no_digits_to_an_offset(offset):
    X, y = normal_classes(n=60, p=3)
    X = X + offset
    assert_exact(class_moments(X, y, structure="class"), *exact_moments(X, y, 3), offset, rtol=1e-13)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("size", [1, 7, 30])
def test_merged_blocks_lose_no_more_than_the_rounding_of_their_means(offset, size):
    X, y = normal_classes(n=60, p=3)
    X = X + offset
    moments = ClassMoments(3, 3, "class")
    for start in range(0, 60, size):
        part = slice(start, start + size)
        moments.update(Block(X[part], y[part], np.ones(len(y[part])), start))
    rounding = max(1e-13, 10 * np.spacing(abs(offset)))
    assert_exact(moments, *exact_moments(X, y, 3), offset, rtol=rounding)


def test_float32_values_are_summed_in_float64():
    values = np.full((100_000, 1), 0.1, dtype=np.float32)
    values[::2] = 0.3
    moments = class_moments(values, [0] * 99_999 + [1])
    exact = (50_000 * float(np.float32(0.3)) + 49_999 * float(np.float32(0.1))) / 99_999
    assert_allclose(moments.mean[0, 0], exact, rtol=1e-13)


def test_a_constant_column_has_no_scatter_at_all():
    X, y = normal_classes(n=60_000, p=2)
    X[:, 1] = 0.1
    moments = class_moments(X, y, structure="diagonal")
    assert_array_equal(moments.scatter[:, 1], 0)
    assert_array_equal(moments.mean[:, 1], 0.1)


@pytest.mark.parametrize("structure", ["diagonal", "pooled", "class"])
def test_sparse_blocks_have_the_moments_of_dense_ones(structure):
    X, y = normal_classes(n=200)
    X[np.abs(X) < 0.7] = 0
    weight = np.random.default_rng(0).integers(0, 3, 200)
    dense, sparse = (class_moments(rows, y, weight, structure=structure) for rows in (X, sp.csr_array(X)))
    assert_allclose(sparse.mean, dense.mean, rtol=1e-12, atol=1e-14)
    assert_allclose(sparse.scatter, dense.scatter, rtol=1e-11, atol=1e-11)


def test_finer_moments_hold_the_coarser_ones():
    X, y = normal_classes()
    fine = class_moments(X, y, structure="class")
    for structure in ("diagonal", "pooled"):
        assert_allclose(
            fine.with_structure(structure).scatter,
            class_moments(X, y, structure=structure).scatter,
            rtol=1e-11,
            atol=1e-11,
        )
    for structure in ("diagonal", "class"):
        with pytest.raises(ValueError, match="pooled"):
            class_moments(X, y, structure="pooled").with_structure(structure)


def test_fourth_powers_are_those_of_the_centred_rows():
    X, y = normal_classes(n=90, p=3)
    weight = np.random.default_rng(0).uniform(0.5, 2, 90)
    means = np.stack([np.average(X[y == k], axis=0, weights=weight[y == k]) for k in range(3)])
    powers = ((X - means[y]) ** 2).sum(axis=1) ** 2
    expected = weight @ powers / weight.sum()
    whole = class_moments(X, y, weight, structure="class", fourth=True)
    parts = ClassMoments(3, 3, "class", fourth=True)
    for start in range(0, 90, 13):
        part = slice(start, start + 13)
        parts.update(Block(X[part], y[part], weight[part], start))
    thin = RowMoments(3, 3)
    thin.update(Block(X, y, weight))
    for moments in (whole, parts, thin):
        assert_allclose(moments.mean_fourth_power(), expected, rtol=1e-11)


def test_fourth_powers_need_scatter_per_class():
    with pytest.raises(ValueError, match="class"):
        ClassMoments(2, 2, "pooled", fourth=True)


def test_classes_without_rows_are_left_out():
    X, y = normal_classes(K=2)
    for kind in (ClassMoments, RowMoments):
        moments = kind(4, 4, "class")
        moments.update(Block(X, 2 * y + 1, np.ones(len(y))))
        assert moments.present.tolist() == [False, True, False, True]
        some = moments.only_present()
        assert some.n_classes == 2
        assert_allclose(some.mean, class_moments(X, y).mean, rtol=1e-12)
        assert_allclose(some.within().matrix, class_moments(X, y).within().matrix, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [ClassMoments, RowMoments])
def test_merging_leaves_the_other_statistic_as_it_was(kind):
    X, y = normal_classes()
    first, second = kind(3, 4), kind(3, 4)
    first.update(Block(X[:50], y[:50], np.ones(50)))
    second.update(Block(X[50:], y[50:], np.ones(100)))
    before = copy.deepcopy(second)
    first.merge(second)
    first.update(Block(X[:50], y[:50], np.ones(50)))
    assert_array_equal(second.mean, before.mean)
    assert_array_equal(second.within().matrix, before.within().matrix)
    assert second.n_rows == 100


def test_rows_are_kept_only_while_they_are_fewer_than_the_columns():
    assert isinstance(MomentsSpec("pooled").statistic(9, 2, 10), RowMoments)
    assert isinstance(MomentsSpec("pooled").statistic(10, 2, 10), ClassMoments)
    assert isinstance(MomentsSpec("diagonal").statistic(9, 2, 10), ClassMoments)


def test_needs_of_several_models_are_met_by_the_smallest_that_holds_them():
    assert combined_spec([MomentsSpec("pooled"), MomentsSpec("pooled")]) == MomentsSpec("pooled")
    assert combined_spec([MomentsSpec("pooled"), MomentsSpec("diagonal")]) == MomentsSpec("class")
    assert combined_spec([MomentsSpec("diagonal"), MomentsSpec("pooled", folds=5)]) == MomentsSpec("class", folds=5)
    assert combined_spec([MomentsSpec("pooled", fourth=True), MomentsSpec("class")]) == MomentsSpec(
        "class", fourth=True
    )


# --- level counts ---------------------------------------------------------------------------------------------------


def test_levels_are_counted_by_class_and_weight():
    counts = count_levels(["u", "v", "u"], np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5]), 2)
    assert {level: count.tolist() for level, count in counts.items()} == {"u": [1.0, 0.5], "v": [0.0, 2.0]}


def test_merged_tables_have_the_levels_of_both():
    def table(levels, codes):
        moments = TableMoments(2, 0, 1)
        block = type("Mixed", (), {"numbers": np.empty((len(codes), 0)), "levels": [levels]})
        moments.update(Block(block, np.array(codes), np.ones(len(codes))))
        return moments

    total = table(["u", "v"], [0, 1])
    total.merge(table(["w", "v", "v"], [0, 1, 0]))
    assert {k: v.tolist() for k, v in total.tables[0].items()} == {"u": [1, 0], "v": [1, 2], "w": [1, 0]}


def test_smoothed_level_probabilities():
    table = {"v": np.array([3.0, 0.0]), "u": np.array([1.0, 2.0])}
    levels, logs = level_log_probabilities(table, np.array([4.0, 2.0]), alpha=1.0)
    assert levels == ["u", "v"]
    assert_allclose(np.exp(logs), [[2 / 6, 3 / 4], [4 / 6, 1 / 4], [1, 1]])
