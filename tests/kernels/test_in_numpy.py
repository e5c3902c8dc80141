"""What stands in for kernels on small tables: the same bits, or the same but for rounding where sums are regrouped."""

import subprocess
import sys

import numpy as np
import pytest

from discriminant.kernels import counting, moments, scores


def tables(dtype=np.float64, n=203, p=7, n_classes=4):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, p)) * 10.0 ** rng.integers(-4, 5, p) + 1e3).astype(dtype)
    return X, rng.integers(0, n_classes, n).astype(np.int32), rng.integers(0, 4, n) / 2, rng.normal(size=(n_classes, p))


def of_moments(dtype):
    X, codes, weight, _ = tables(dtype)
    codes[codes == 2] = 1  # a class without rows
    totals, means = np.zeros(4), np.zeros((4, X.shape[1]))
    yield moments.class_means, (X, codes, weight, totals, means)
    moments.class_means(X, codes, weight, totals := np.zeros(4), means := np.zeros((4, X.shape[1])))
    yield moments.centred_rows, (X, codes, weight, means, np.empty(X.shape))


def of_scores():
    values = np.random.default_rng(1).normal(size=(203, 5)) * 30
    values[3, 1] = -np.inf
    for found in (values, np.where(values > 70, np.inf, values), np.where(values > 70, np.nan, values)):
        yield scores.best_classes, (found, np.zeros(len(found), dtype=np.int32))
        yield scores.subtract_row_maximum, (found.copy(),)
    yield scores.divide_rows_by_sum, (np.exp(values),)


def of_counts():
    rng = np.random.default_rng(2)
    first, second = rng.integers(-1, 3, (2, 1001)).astype(np.int32)
    yield counting.count_pairs, (first, second, -1, np.zeros((4, 4, 4), dtype=np.int64))


EXACT = [*of_moments(np.float64), *of_moments(np.float32), *of_scores(), *of_counts()]


@pytest.mark.parametrize(("kernel", "arguments"), EXACT)
def test_numpy_gives_the_bits_of_the_kernel(kernel, arguments):
    mine, theirs = ([np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments] for _ in range(2))
    with np.errstate(invalid="ignore"):
        sound, compiled = kernel.in_numpy(*mine), kernel.compiled(*theirs)
    assert sound == compiled
    if sound in (True, None):  # of rows that are not sound nothing is used
        for own, other in zip(mine, theirs, strict=True):
            own, other = (one.sum(axis=0) if kernel is counting.count_pairs and np.ndim(one) == 3 else one
                          for one in (own, other))  # fmt: skip
            np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_regrouped_sums_differ_by_rounding_alone(dtype):
    X, _, _, means = tables(dtype)
    first, second = np.ones((2, len(X), 4))
    for kernel, arguments in (
        (scores.diagonal_scores, (X, means, 1 / (1 + means**2), np.arange(4.0))),
        (scores.subtract_squared_lengths, (np.tile(X.astype(float), 4), means)),
    ):
        kernel.in_numpy(*arguments, first)
        kernel.compiled(*arguments, second)
        np.testing.assert_allclose(first, second, rtol=1e-13)


FIT = """
import sys
import numpy as np
import discriminant
if sys.argv[1] == "compiled":
    import numba
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
model = discriminant.LinearDiscriminantAnalysis().fit(X, X[:, 0] + rng.normal(size=300) > 0, rng.integers(0, 3, 300))
print("numba" in sys.modules, model.coef_.tobytes().hex(), model.predict_proba(X).tobytes().hex())
"""


def test_a_small_fit_needs_no_compiler_and_has_the_same_bits():
    found = [subprocess.check_output([sys.executable, "-c", FIT, how], text=True).split() for how in ("", "compiled")]
    assert [one[0] for one in found] == ["False", "True"]
    assert found[0][1:] == found[1][1:]
