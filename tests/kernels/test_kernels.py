"""Kernels are the NumPy formulas of their docstrings."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp, softmax

from discriminant.kernels import columns, coordinate, losses, moments, scores

RNG = np.random.default_rng(0)
N, P, K = 60, 5, 3
X = RNG.normal(size=(N, P)) + 10
CODES = RNG.integers(0, K, N)
WEIGHT = RNG.uniform(0, 2, N)
CSR = sp.csr_matrix(X * (RNG.random((N, P)) < 0.4))
MEANS = np.stack([np.average(X[k == CODES], axis=0, weights=WEIGHT[k == CODES]) for k in range(K)])
CSR_PARTS = CSR.data, CSR.indices, CSR.indptr


class TestMoments:
    def test_class_means(self):
        totals, means = np.zeros(K + 1), np.full((K + 1, P), 7.0)
        moments.class_means(X, CODES, WEIGHT, totals, means)
        assert_allclose(means[:K], MEANS, rtol=1e-13)
        assert_allclose(totals, np.bincount(CODES, WEIGHT, K + 1), rtol=1e-13)
        assert_array_equal(means[K], 7.0)  # a class without rows is left alone

    def test_centred_rows(self):
        out, expected = np.empty_like(X), np.sqrt(WEIGHT)[:, None] * (X - MEANS[CODES])
        moments.centred_rows(X, CODES, WEIGHT, MEANS, out)
        assert_allclose(out, expected, rtol=1e-14, atol=1e-14)
        starts = np.concatenate(([0], np.cumsum(np.bincount(CODES))[:-1]))
        moments.centred_rows_by_group(X, CODES, WEIGHT, MEANS, 1, starts, out)
        assert_allclose(out, expected[np.argsort(CODES, kind="stable")], rtol=1e-14, atol=1e-14)

    def test_class_squares(self):
        squares = np.zeros((K, P))
        moments.class_squares(X, CODES, WEIGHT, MEANS, squares)
        expected = [WEIGHT[k == CODES] @ (X[k == CODES] - MEANS[k]) ** 2 for k in range(K)]
        assert_allclose(squares, expected, rtol=1e-12)

    def test_csr_sums_and_squares_leave_out_the_zeros(self):
        totals, sums, stored = np.zeros(K), np.zeros((K, P)), np.zeros((K, P))
        moments.csr_class_sums(CSR_PARTS, CODES, WEIGHT, totals, sums, stored)
        squares, left = np.zeros((K, P)), np.zeros((K, P))
        moments.csr_class_squares(CSR_PARTS, CODES, WEIGHT, MEANS, squares, left)
        dense, there = CSR.toarray(), CSR.toarray() != 0
        for k in range(K):
            own, w = k == CODES, WEIGHT[k == CODES]
            assert_allclose(totals[k], w.sum())
            assert_allclose(sums[k], w @ dense[own])
            assert_allclose(stored[k], w @ there[own])
            assert_allclose(squares[k], w @ (there[own] * (dense[own] - MEANS[k]) ** 2))
            assert_allclose(left[k], w @ (there[own] * (dense[own] - MEANS[k])))

    def test_mean_and_std_of_columns_with_a_large_mean(self):
        centre, std = np.empty(P), np.empty(P)
        moments.mean_and_std(X + 1e8, centre, std)
        assert_allclose(centre, (X + 1e8).mean(axis=0), rtol=1e-15)
        assert_allclose(std, (X + 1e8 - 1e8).std(axis=0), rtol=1e-9)

    def test_standardise(self):
        out, sign = np.empty((N, P + 1)), RNG.choice([-1.0, 1.0], N)
        moments.standardise(X, MEANS[0], MEANS[1], sign, out)
        assert_allclose(out, sign[:, None] * np.column_stack([(X - MEANS[0]) / MEANS[1], np.ones(N)]), rtol=1e-14)


class TestScores:
    def test_piecewise_polynomials(self):
        u, breaks = np.append(RNG.normal(size=40) * 3, [-1.0, 2.0, np.inf, np.nan]), np.array([-1.0, 0.5, 2.0])
        origins, coefficients = RNG.normal(size=4), RNG.normal(size=(4, 3, 2))
        out = np.full((44, 4), 7.0)
        scores.piecewise_polynomials(u, breaks, origins, coefficients, 1, out)
        assert_array_equal(out[:, [0, 3]], 7.0)
        for i in range(42):  # a break belongs to the piece on its right
            piece = np.sum(breaks <= u[i])
            expected = sum(coefficients[piece, d] * (u[i] - origins[piece]) ** d for d in range(3))
            assert_allclose(out[i, 1:3], expected, rtol=1e-12, atol=1e-12)
        assert np.isnan(out[43, 1:3]).all()

    def test_products_of_columns(self):
        chosen = np.array([[0, 1, 4], [2, 2, 2], [4, 4, 3]])
        out = np.empty((N, 3))
        scores.column_products(X, chosen, out)
        assert_array_equal(out, np.stack([X[:, a] * X[:, b] * X[:, c] for a, b, c in chosen], axis=1))

    @pytest.mark.parametrize("n_scores", [1, 3])
    def test_products_of_csr_rows(self, n_scores):
        coef, factor = RNG.normal(size=(P, n_scores)), RNG.normal(size=(N, n_scores))
        out, products, squares = np.empty((N, n_scores)), np.ones((P, n_scores)), np.ones((P, n_scores))
        scores.csr_scores(CSR_PARTS, coef, out)
        scores.csr_add_products(CSR_PARTS, factor, products)
        scores.csr_add_squares(CSR_PARTS, factor, squares)
        assert_allclose(out, CSR @ coef, rtol=1e-12, atol=1e-12)
        assert_allclose(products, 1 + CSR.T @ factor, rtol=1e-12, atol=1e-12)
        assert_allclose(squares, 1 + CSR.multiply(CSR).T @ factor, rtol=1e-12, atol=1e-12)

    def test_gaussian_scores(self):
        out, precisions, constants = np.empty((N, K)), RNG.uniform(0.1, 1, (K, P)), RNG.normal(size=K)
        scores.diagonal_scores(X, MEANS, precisions, constants, out)
        assert_allclose(out, constants - ((X[:, None] - MEANS) ** 2 * precisions).sum(axis=2), rtol=1e-12)
        whitened, before = RNG.normal(size=(N, K * P)), out.copy()
        scores.subtract_squared_lengths(whitened, MEANS, out)
        assert_allclose(out, before - 0.5 * ((whitened.reshape(N, K, P) - MEANS) ** 2).sum(axis=2), rtol=1e-12)

    @pytest.mark.parametrize(("spoilt", "sound"), [(0.0, True), (np.nan, False), (np.inf, False)])
    def test_best_classes_and_softmax(self, spoilt, sound):
        values = RNG.normal(size=(N, K))
        values[7, 1] = spoilt
        best, (shares, logs) = np.empty(N, dtype=np.int64), np.empty((2, N, K))
        assert scores.best_classes(values, best) == sound
        assert scores.softmax(values, shares) == sound
        assert scores.log_softmax(values, logs) == sound
        if sound:
            assert_array_equal(best, values.argmax(axis=1))
            assert_allclose(shares, softmax(values, axis=1), rtol=1e-14)
            assert_allclose(logs, log_softmax(values, axis=1), rtol=1e-13)
            assert scores.softmax(values, values)  # in place
            assert_array_equal(values, shares)

    def test_a_class_that_cannot_be_has_no_probability(self):
        values, logs = np.array([[-np.inf, 3.0], [0.0, 800.0]]), np.empty((2, 2))
        assert scores.log_softmax(values, logs)
        assert_array_equal(logs, [[-np.inf, 0.0], [-800.0, 0.0]])
        assert scores.softmax(values, values)
        assert_array_equal(values, [[0.0, 1.0], [0.0, 1.0]])


class TestLosses:
    def test_the_softmax_loss(self):
        values, found = 30 * RNG.normal(size=(N, K)), np.empty(N)
        slopes, share = values.copy(), values.copy()
        losses.evaluate(losses.SOFTMAX, 0.0, slopes, CODES, found, slopes)
        assert_allclose(found, logsumexp(values, axis=1) - values[np.arange(N), CODES], rtol=1e-12, atol=1e-13)
        assert_allclose(slopes, softmax(values, axis=1) - np.eye(K)[CODES], rtol=1e-13, atol=1e-15)
        losses.curvatures(losses.SOFTMAX, 0.0, share, CODES)
        assert_allclose(share, softmax(values, axis=1), rtol=1e-13)
        change = RNG.normal(size=(N, K))
        expected = WEIGHT[:, None] * share * (change - (share * change).sum(axis=1, keepdims=True))
        losses.multiply_by_curvatures(losses.SOFTMAX, share, WEIGHT, change)
        assert_allclose(change, expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("loss", [losses.LOGISTIC, losses.SQUARED_HINGE, losses.SMOOTHED_HINGE])
    @pytest.mark.parametrize("flat", [0.0, 0.1])
    def test_a_pass_sums_what_the_rows_have(self, loss, flat):
        centre, coef, offset, codes = MEANS[0], RNG.normal(size=(1, P)), RNG.normal(size=(N, 1)), CODES % 2
        centred = X - centre
        scores = centred @ coef.T + 0.3 + offset
        value, slope, curvature = np.empty(N), np.empty((N, 1)), scores.copy()
        losses.evaluate(loss, 0.5, scores, codes, value, slope)
        losses.curvatures(loss, 0.5, curvature, codes)
        inputs = loss, 0.5, X, centre, coef, np.array([0.3]), offset, codes
        gradient, sums, scaled, out = np.zeros((1, P)), np.zeros(1), np.empty((N, P + 1)), np.empty((N, 1))
        total = losses.add_gradient(*inputs, WEIGHT, gradient, sums)
        kept = losses.write_scaled_rows(*inputs, WEIGHT, flat, scaled)
        assert_allclose([total, *sums], [WEIGHT @ value, WEIGHT @ slope[:, 0]], rtol=1e-12)
        assert_allclose(gradient[0], (WEIGHT * slope[:, 0]) @ centred, rtol=1e-12)
        curved = curvature[:, 0] > flat
        rows = np.column_stack([centred, np.ones(N)])[curved] * np.sqrt(WEIGHT * curvature[:, 0])[curved, None]
        assert kept == curved.sum()
        assert_allclose(scaled[:kept], rows, rtol=1e-12, atol=1e-14)
        losses.write_curvatures(*inputs, out)
        assert_allclose(out, curvature, rtol=1e-12)

    def test_nothing_overflows(self):
        margins, ones = np.array([[-1e3], [-40.0], [40.0], [1e3]]), np.ones(4, dtype=np.int32)
        values, slopes = np.empty(4), np.empty((4, 1))
        losses.evaluate(losses.LOGISTIC, 0.0, margins, ones, values, slopes)
        assert_allclose(values, [1e3, 40.0, np.exp(-40), 0.0], rtol=1e-15)
        assert_allclose(slopes[:, 0], [-1.0, -1.0, -np.exp(-40), 0.0], rtol=1e-15)
        losses.evaluate(losses.SMOOTHED_HINGE, 1e-3, 1e6 * margins, ones, values, slopes)
        assert np.isfinite(values).all()

    @pytest.mark.parametrize(
        ("loss", "value", "slope"),
        [
            (losses.HINGE, [2.0, 1.0, 0.0, 0.0], [-1.0, -1.0, 0.0, 0.0]),
            (losses.PERCEPTRON, [1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]),
        ],
    )
    def test_losses_without_second_derivatives(self, loss, value, slope):
        margins, found, slopes = np.array([[-1.0], [0.0], [1.0], [2.0]]), np.empty(4), np.empty((4, 1))
        losses.evaluate(loss, 0.0, margins, np.ones(4, int), found, slopes)
        assert_array_equal(found, value)
        assert_array_equal(slopes[:, 0], slope)

    def test_the_logistic_loss_to_all_digits(self):
        margins = np.concatenate((-np.geomspace(1e-20, 1e9, 500), [0.0], np.geomspace(1e-20, 1e3, 500)))
        codes, values, slopes = np.arange(1001) % 2, np.empty(1001), np.empty((1001, 1))
        sign = 2.0 * codes - 1
        scores = (sign * margins)[:, None].copy()
        losses.evaluate(losses.LOGISTIC, 0.0, scores, codes, values, slopes)
        losses.curvatures(losses.LOGISTIC, 0.0, scores, codes)
        decay = np.exp(-np.abs(margins))
        assert_allclose(values, np.logaddexp(0, -margins), rtol=1e-14, atol=1e-300)
        assert_allclose(slopes[:, 0], -sign / (1 + np.exp(np.minimum(margins, 700))), rtol=1e-15, atol=1e-300)
        assert_allclose(scores[:, 0], decay / (1 + decay) ** 2, rtol=1e-14, atol=1e-300)
        for wrong in (np.nan, -np.inf):
            losses.evaluate(losses.LOGISTIC, 0.0, np.full((1, 1), wrong), codes[1:2], values[:1], slopes[:1])
            assert not np.isfinite(values[0])

    def test_several_scores_of_each_row(self):
        points, codes = RNG.normal(size=(N, 4)), CODES % 2
        values, slopes, sign = np.empty(4 * N), np.empty((4 * N, 1)), 2.0 * codes - 1
        losses.evaluate(losses.LOGISTIC, 0.0, points.reshape(-1, 1), codes, values, slopes)
        margin = sign[:, None] * points
        assert_allclose(values.reshape(N, 4), np.log1p(np.exp(-margin)), rtol=1e-12)
        assert_allclose(slopes.reshape(N, 4), -sign[:, None] / (1 + np.exp(margin)), rtol=1e-12)


class TestCoordinate:
    @pytest.mark.parametrize("n_scores", [1, 3])
    @pytest.mark.parametrize("kind", [np.int32, np.int64])
    def test_sparse_columns_give_what_dense_ones_give(self, n_scores, kind):
        table, n = np.ascontiguousarray(CSR.toarray().T), CSR.shape[0]
        stored = CSR.tocsc()
        sparse = stored.data, stored.indices.astype(kind), stored.indptr.astype(kind)
        codes, weight, p = np.arange(n) % max(n_scores, 2), np.full(n, 1 / n), len(table)
        strengths, units = np.array([0.1, 0.1, 0.05, 0.01]), (np.ones(p), np.full(p, 0.1))
        found = []
        for columns_ in (table, sparse):
            state, out = tuple(np.zeros((3, n_scores, p))), np.empty((2, 2, n_scores, p))
            slopes, products = np.arange(n_scores * n, dtype=float).reshape(n_scores, n), np.empty((n_scores, p))
            columns.add_products(columns_, slopes, products)
            rows = codes, weight, np.zeros((n_scores, n)), units
            columns.minimise_path(columns_, *rows, strengths, 1e-9, 50, state, *out, np.empty((2, 6)))
            found.append((products, out))
            assert_allclose(products, slopes @ table.T)
            assert np.count_nonzero(out[0])
        assert_allclose(found[1][0], found[0][0], rtol=1e-12)
        assert_allclose(found[1][1], found[0][1], rtol=1e-6, atol=1e-8)

    def test_the_softmax_loss_by_columns(self):
        rng = np.random.default_rng(0)
        scores, codes, weight = 30 * rng.normal(size=(4, 301)), rng.integers(0, 4, 301), rng.random(301)
        curves, shares, slopes = np.empty((3, 4, 301))
        value = columns.weighted_losses(scores, codes, (weight, curves, shares), slopes)
        expected = softmax(scores, axis=0)
        assert_allclose(value, weight @ (logsumexp(scores, axis=0) - scores[codes, np.arange(301)]), rtol=1e-14)
        assert_allclose(shares, expected, rtol=1e-13)
        assert_allclose(slopes, weight * (expected - (codes == np.arange(4)[:, None])), rtol=1e-13, atol=1e-16)
        assert_allclose(curves, weight * expected * (1 - expected), rtol=1e-13, atol=1e-16)

    @pytest.mark.parametrize("n", [1, 31, 32, 60])
    @pytest.mark.parametrize("classes", [K, 7, 12, 17])
    def test_softmax_over_dense_rows(self, n, classes):
        x, centre, coef, intercept = X[:n], X.mean(axis=0), RNG.normal(size=(classes, P)), RNG.normal(size=classes)
        known, codes, weight = RNG.normal(size=(n, classes)), CODES[:n], WEIGHT[:n]
        found = (x - centre) @ coef.T + intercept + known
        share, out = softmax(found, axis=1), np.empty((n, classes))
        products, sums = np.ones((classes, P)), np.ones(classes)
        rows = losses.SOFTMAX, 0.0, x, centre, coef, intercept, known, codes
        value = losses.add_gradient(*rows, weight, products, sums)
        slopes = weight[:, None] * (share - np.eye(classes)[codes])
        assert_allclose(value, weight @ (logsumexp(found, axis=1) - found[np.arange(n), codes]), rtol=1e-13)
        assert_allclose(products - 1, slopes.T @ (x - centre), rtol=1e-10, atol=1e-13)
        assert_allclose(sums - 1, slopes.sum(axis=0), rtol=1e-10, atol=1e-13)
        losses.write_curvatures(*rows, out)
        assert_allclose(out, share, rtol=1e-13)
        change = (x - centre) @ coef.T + intercept
        losses.add_hessian_product(losses.SOFTMAX, x, centre, coef, intercept, share, weight, products, sums)
        slopes += weight[:, None] * share * (change - (share * change).sum(axis=1, keepdims=True))
        assert_allclose(products - 1, slopes.T @ (x - centre), rtol=1e-10, atol=1e-13)
        assert_allclose(sums - 1, slopes.sum(axis=0), rtol=1e-10, atol=1e-13)

    @pytest.mark.parametrize("wrong", [np.nan, np.inf])
    def test_what_is_not_finite_is_seen_in_the_softmax_loss(self, wrong):
        x = X.copy()
        x[7, 2] = wrong
        inputs = x, X.mean(axis=0), RNG.normal(size=(K, P)), np.zeros(K), np.empty((N, 0)), CODES, WEIGHT
        assert np.isnan(losses.add_gradient(losses.SOFTMAX, 0.0, *inputs, np.zeros((K, P)), np.zeros(K)))

    @pytest.mark.parametrize("strength", [0.0, 0.3, 100.0])
    def test_the_quadratic_ends_where_the_subgradient_vanishes(self, strength):
        root = RNG.normal(size=(20, 8))
        matrix, ridge, l1 = root.T @ root / 20, RNG.uniform(0, 0.1, 8), np.full(8, strength)
        origin, slope = RNG.normal(size=8), RNG.normal(size=8)
        x, gradient = RNG.normal(size=8), slope.copy()
        coordinate.minimise_quadratic(matrix, ridge, l1, origin, gradient, x, 1e-16, 0.0, 10_000)
        assert_allclose(gradient, slope + (matrix + np.diag(ridge)) @ (x - origin), rtol=1e-8, atol=1e-8)
        assert (np.abs(gradient[x == 0]) <= l1[x == 0] + 1e-7).all()
        assert_allclose(gradient[x != 0], -(l1 * np.sign(x))[x != 0], atol=1e-6)


def test_exponentials_and_logarithms_are_those_of_the_library():
    x = np.append(-np.geomspace(1e-20, 708, 2_000), [0.0, np.log(0.5), -0.5])
    assert_allclose([scores.exponential(value) for value in x], np.exp(x), rtol=5e-16)
    assert scores.exponential(-np.inf) == scores.exponential(-1e9) == 0.0
    y = np.append(np.geomspace(1e-300, 1e300, 2_000), [1.0, 1 + 1e-15, 1 - 1e-15, np.sqrt(2), np.sqrt(0.5), 0.0])
    with np.errstate(divide="ignore"):
        assert_allclose([scores.logarithm(value) for value in y], np.log(y), rtol=1e-15)
    tiny = np.append(np.geomspace(1e-300, 1.0, 2_000), 0.0)
    assert_allclose([scores.log_one_plus(value) for value in tiny], np.log1p(tiny), rtol=5e-16)
    assert np.isnan([scores.exponential(np.nan), scores.logarithm(np.nan), scores.logarithm(-1.0)]).all()
