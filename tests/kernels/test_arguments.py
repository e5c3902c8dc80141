"""Kernels look at what they are given before they touch memory, and convert nothing: writes would go to a copy."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from discriminant.kernels import columns, losses, moments, perceptron, scores

CSR = np.ones(3), np.array([0, 2, 1], np.int32), np.array([0, 2, 3], np.int32)


def unaligned(array):
    """The same numbers, one byte off."""
    room = np.zeros(array.nbytes + 1, np.uint8)
    shifted = room[1:].view(array.dtype) if array.itemsize == 1 else np.frombuffer(room.data, array.dtype, -1, 1)
    shifted[...] = array
    return shifted


def test_what_is_read_may_be_read_only_and_what_is_written_may_not():
    values, out = np.array([[1.0, 2.0]]), np.empty((1, 2))
    values.flags.writeable = False
    assert scores.softmax(values, out)
    with pytest.raises(TypeError):
        scores.softmax(values, values)


@pytest.mark.parametrize(
    "kind", ["f8", "=f8", np.dtype(np.float64).newbyteorder("<" if sys.byteorder == "little" else ">")]
)
def test_a_dtype_that_names_the_byte_order_of_this_machine_is_read(kind):
    values, out = np.frombuffer(np.array([1.0, 2.0]).tobytes(), kind).reshape(1, 2), np.empty((1, 2))
    assert scores.softmax(values, out)
    assert_allclose(out.sum(), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 2))[::2],  # not contiguous
        np.zeros((2, 2), order="F"),
        np.zeros((2, 2), np.float32),
        np.zeros((2, 2), ">f8"),
        np.zeros(4),
        unaligned(np.zeros(4)).reshape(2, 2),
        [[0.0, 0.0], [0.0, 0.0]],
        None,
    ],
)
def test_arrays_of_another_kind_are_refused(wrong):
    with pytest.raises(TypeError):
        scores.softmax(wrong, np.empty((2, 2)))


@pytest.mark.parametrize(
    ("places", "starts"),
    [
        ([0, 3, 1], [0, 2, 3]),
        ([0, -1, 1], [0, 2, 3]),
        ([0, 2, 1], [0, 2, 4]),
        ([0, 2, 1], [2, 0, 3]),
        ([0, 2, 1], [-1, 2, 3]),
    ],
)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_places_outside_of_a_csr_matrix_are_refused(places, starts, kind):
    matrix = np.ones(3), np.array(places, kind), np.array(starts, kind)
    learned = np.zeros(4), np.zeros(0), np.zeros(2, np.int64), np.zeros(1)
    for call in (
        lambda: scores.csr_scores(matrix, np.ones((3, 2)), np.empty((2, 2))),
        lambda: scores.csr_add_products(matrix, np.ones((2, 1)), np.zeros((3, 1))),
        lambda: columns.add_products(matrix, np.ones((1, 3)), np.zeros((1, 2))),
        lambda: perceptron.walk(matrix, np.arange(2), np.ones(2), (1.0, True), learned, 0, 9),
    ):
        with pytest.raises(ValueError, match="CSR"):
            call()


def test_shapes_and_codes_that_do_not_fit_are_refused():
    X, codes, weight = np.ones((3, 2)), np.array([0, 1, 2]), np.ones(3)
    with pytest.raises(ValueError, match="class"):
        moments.class_means(X, codes, weight, np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="shapes"):
        moments.class_means(X, codes[:2], weight, np.zeros(3), np.zeros((3, 2)))
    rows = X, np.zeros(2), np.zeros((1, 3)), np.zeros(1), np.ones((3, 1)), weight
    with pytest.raises(ValueError, match="coefficient"):
        losses.add_hessian_product(losses.LOGISTIC, *rows, np.zeros((1, 3)), np.zeros(1))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the build is the same for all examples
@given(n=st.integers(0, 70), p=st.integers(0, 40), narrow=st.booleans())
def test_passes_over_rows_of_any_shape(n, p, narrow):
    rng = np.random.default_rng(n + 100 * p)
    X = rng.normal(size=(n, p)).astype(np.float32 if narrow else np.float64)
    centre, coef, codes = rng.normal(size=p), rng.normal(size=(1, p)), rng.integers(0, 2, n).astype(np.int32)
    product, sums, curvature, weight = np.zeros((1, p)), np.zeros(1), rng.random((n, 1)), rng.random(n)
    rows = X, centre, coef, np.array([0.5]), curvature, weight
    losses.add_hessian_product(losses.LOGISTIC, *rows, product, sums)
    expected = weight * curvature[:, 0] * ((X - centre) @ coef[0] + 0.5)
    assert_allclose(sums[0], expected.sum(), rtol=1e-9, atol=1e-9)
    assert_allclose(product[0], expected @ (X - centre), rtol=1e-9, atol=1e-9)
    totals, means = np.zeros(2), np.zeros((2, p))
    moments.class_means(X, codes, np.ones(n), totals, means)
    assert_allclose(totals, np.bincount(codes, minlength=2))
    for k in set(codes):
        assert_allclose(means[k], X[codes == k].mean(axis=0, dtype=float), rtol=1e-6, atol=1e-6)
