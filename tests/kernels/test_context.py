"""Smoothing, patches and areas of codes: shapes of every kind, and sums that do not depend on the cut of an image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.kernels import context, pixels

SIZES = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(size=SIZES, classes=st.integers(1, 5), radius=st.integers(0, 12), noise=st.sampled_from([0.1, np.inf]))
def test_means_of_any_shape_are_shares_of_one(size, classes, radius, noise):
    rng = np.random.default_rng(0)
    shares = np.rint(65535 * rng.dirichlet(np.ones(classes), size).transpose(2, 0, 1)).astype(np.uint16)
    shares, valid = np.ascontiguousarray(shares), rng.random(size) > 0.3
    out = np.empty_like(shares)
    context.neighbourhood_means(shares, valid, radius, noise, out)
    assert (np.abs(out.sum(axis=0, dtype=int)[valid] - 65535) <= classes).all()
    context.potts_modes(shares, valid, 0.7, 3, 1, 1, out)
    assert (np.abs(out.sum(axis=0, dtype=int)[valid] - 65535) <= classes).all()
    assert (out[:, ~valid] == 0).all()


@given(size=SIZES, least=st.integers(1, 20), dtype=st.sampled_from([np.uint8, np.uint16]))
def test_a_sieve_of_any_shape(size, least, dtype):
    codes = np.random.default_rng(least).integers(0, 3, size).astype(dtype)
    out = np.empty_like(codes)
    context.sieve(codes, dtype(0), least, out)
    assert_array_equal(out == 0, codes == 0)
    if least == 1:
        assert_array_equal(out, codes)


@given(size=SIZES, nodes=st.integers(2, 6), start=st.integers(-5, 5), dtype=st.sampled_from([np.uint8, np.uint16]))
def test_areas_are_sums_of_interpolated_values(size, nodes, start, dtype):
    rng = np.random.default_rng(nodes)
    codes = rng.integers(0, 4, size).astype(dtype)
    places = start + np.cumsum(rng.uniform(0.5, 4, nodes))
    values = rng.random((size[0], nodes))
    counts, areas = np.zeros(4, np.int64), np.zeros(4)
    pixels.code_areas(codes, places, values, counts, areas)
    piece = np.clip(np.searchsorted(places, np.arange(size[1]), side="right") - 1, 0, nodes - 2)
    share = (np.arange(size[1]) - places[piece]) / (places[piece + 1] - places[piece])
    of_pixels = (1 - share) * values[:, piece] + share * values[:, piece + 1]
    assert_array_equal(counts, np.bincount(codes.ravel(), minlength=4))
    assert_allclose(areas, np.bincount(codes.ravel(), of_pixels.ravel(), 4), rtol=1e-12, atol=1e-12)


def test_arrays_that_do_not_fit_are_refused():
    shares, valid = np.zeros((2, 3, 4), np.uint16), np.ones((3, 4), bool)
    codes, counts, areas = np.full((3, 4), 2, np.uint8), np.zeros(2, np.int64), np.zeros(2)
    with pytest.raises(ValueError, match="Shapes"):
        context.neighbourhood_means(shares, valid[:2], 1, 0.1, shares.copy())
    with pytest.raises(ValueError, match="Invalid"):
        context.neighbourhood_means(shares, valid, -1, 0.1, shares.copy())
    with pytest.raises(ValueError, match="Shapes"):
        context.potts_modes(shares, valid, 1.0, 1, 0, 0, shares[:1].copy())
    with pytest.raises(ValueError, match="Shapes"):
        context.sieve(codes, np.uint8(0), 2, codes[:2].copy())
    with pytest.raises(ValueError, match="Unknown code"):
        pixels.code_areas(codes, np.array([0.0, 1.0]), np.zeros((3, 2)), counts, areas)
