"""Kernels are the NumPy formulas of their docstrings."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp, softmax

from discriminant.kernels import columns, coordinate, counting, lbfgs, losses, moments, scores

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

    def test_centre_and_spread_of_columns_far_from_zero(self):
        centre, spread = np.empty(P), np.empty(P)
        moments.centre_and_spread(X + 1e8, centre, spread)
        assert_allclose(centre, (X + 1e8).mean(axis=0), rtol=1e-15)
        assert_allclose(spread, (X + 1e8 - 1e8).std(axis=0), rtol=1e-9)

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
        sphered, before = RNG.normal(size=(N, K * P)), out.copy()
        scores.subtract_squared_lengths(sphered, MEANS, out)
        assert_allclose(out, before - 0.5 * ((sphered.reshape(N, K, P) - MEANS) ** 2).sum(axis=2), rtol=1e-12)

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

    def test_the_softmax_loss(self):
        values, found = 30 * RNG.normal(size=(N, K)), np.empty(N)
        slopes = values.copy()
        scores.softmax_losses(slopes, CODES, found)
        assert_allclose(found, logsumexp(values, axis=1) - values[np.arange(N), CODES], rtol=1e-12, atol=1e-13)
        assert_allclose(slopes, softmax(values, axis=1) - np.eye(K)[CODES], rtol=1e-13, atol=1e-15)


class TestLosses:
    @pytest.mark.parametrize("loss", [losses.LOGISTIC, losses.SQUARED_HINGE, losses.SMOOTHED_HINGE])
    @pytest.mark.parametrize("flat", [0.0, 0.1])
    def test_a_pass_sums_what_the_rows_have(self, loss, flat):
        centre, coef, offset, codes = MEANS[0], RNG.normal(size=P), RNG.normal(size=N), CODES % 2
        sign, centred = 2.0 * codes - 1, X - centre
        margin = sign * (centred @ coef + 0.3 + offset)
        value, slope, curvature = np.empty((3, N))
        losses.values_and_slopes(loss, 0.5, margin, value, slope)
        losses.curvatures(loss, 0.5, margin, curvature)
        inputs = loss, 0.5, X, centre, coef, 0.3, codes, WEIGHT, offset
        gradient, again, scaled = np.zeros(P), np.zeros(P), np.empty((N, P + 1))
        total, slopes = losses.add_gradient(*inputs, gradient)
        *same, kept = losses.add_newton(*inputs, again, flat, scaled)
        assert_allclose([total, slopes], [WEIGHT @ value, WEIGHT @ (sign * slope)], rtol=1e-12)
        assert_allclose(gradient, (WEIGHT * sign * slope) @ centred, rtol=1e-12)
        assert_allclose([*same, *again], [total, slopes, *gradient], rtol=1e-12)
        bent = curvature > flat
        rows = np.column_stack([centred, np.ones(N)])[bent] * np.sqrt(WEIGHT * curvature)[bent, None]
        assert kept == bent.sum()
        assert_allclose(scaled[:kept], rows, rtol=1e-12, atol=1e-14)

    def test_nothing_overflows(self):
        values, slopes = np.empty((2, 4))
        losses.values_and_slopes(losses.LOGISTIC, 0.0, np.array([-1e3, -40.0, 40.0, 1e3]), values, slopes)
        assert_allclose(values, [1e3, 40.0, np.exp(-40), 0.0], rtol=1e-15)
        assert_allclose(slopes, [-1.0, -1.0, -np.exp(-40), 0.0], rtol=1e-15)
        losses.values_and_slopes(losses.SMOOTHED_HINGE, 1e-3, np.array([-1e9, 1.0, 1e9]), *np.empty((2, 3)))


class TestCoordinate:
    def test_gather(self):
        columns, factor, out = np.array([3, 0, P]), RNG.normal(size=N), np.empty((N, 3))
        coordinate.gather(X, columns, MEANS[0], MEANS[1], factor, out)
        standard = np.column_stack([(X - MEANS[0]) / MEANS[1], np.ones(N)])
        assert_allclose(out, factor[:, None] * standard[:, columns], rtol=1e-13, atol=1e-14)

    def test_csr_gram(self):
        row_of, column_of = np.array([-1, 0, -1, 1, -1, 2]), np.array([0, 1, -1, 2, 3, 4])
        out = np.zeros((3, 5))
        coordinate.csr_add_gram(CSR_PARTS, WEIGHT, row_of, column_of, out)
        design = np.column_stack([CSR.toarray(), np.ones(N)])
        gram = design.T @ (WEIGHT[:, None] * design)
        assert_allclose(out, gram[np.ix_(row_of >= 0, column_of >= 0)], rtol=1e-12)

    def test_the_mean_logistic_loss(self):
        margins = np.concatenate((-np.geomspace(1e-20, 1e9, 500), [0.0], np.geomspace(1e-20, 1e3, 500)))
        codes, weight = np.arange(1001) % 2, np.linspace(0.0, 1.0, 1001)
        sign, (slopes, curves) = 2.0 * codes - 1, np.empty((2, 1001))
        value = losses.mean_logistic_loss(sign * margins, codes, weight, slopes, curves)
        decay = np.exp(-np.abs(margins))
        assert_allclose(value, weight @ np.logaddexp(0, -margins), rtol=1e-14)
        assert_allclose(slopes, -sign * weight / (1 + np.exp(np.minimum(margins, 700))), rtol=1e-15, atol=1e-300)
        assert_allclose(curves, weight * decay / (1 + decay) ** 2, rtol=1e-14, atol=1e-300)
        far = np.array([700.0])
        assert_allclose(losses.mean_logistic_loss(far, codes[1:2], np.ones(1), *np.empty((2, 1))), np.exp(-700.0))
        for wrong in (np.nan, -np.inf):
            assert not np.isfinite(losses.mean_logistic_loss(far + wrong, codes[1:2], np.ones(1), *np.empty((2, 1))))

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
    def test_softmax_over_dense_rows(self, n):
        x, centre, coef, intercept = X[:n], X.mean(axis=0), RNG.normal(size=(K, P)), RNG.normal(size=K)
        known, codes, weight = RNG.normal(size=(n, K)), CODES[:n], WEIGHT[:n]
        found = (x - centre) @ coef.T + intercept + known
        share, out = softmax(found, axis=1), np.empty((n, K))
        products, sums = np.ones((K, P)), np.ones(K)
        value = losses.add_softmax_gradient(x, centre, coef, intercept, known, codes, weight, products, sums)
        slopes = weight[:, None] * (share - np.eye(K)[codes])
        assert_allclose(value, weight @ (logsumexp(found, axis=1) - found[np.arange(n), codes]), rtol=1e-13)
        assert_allclose(products - 1, slopes.T @ (x - centre), rtol=1e-10, atol=1e-13)
        assert_allclose(sums - 1, slopes.sum(axis=0), rtol=1e-10, atol=1e-13)
        losses.softmax_probabilities(x, centre, coef, intercept, known, out)
        assert_allclose(out, share, rtol=1e-13)
        change = (x - centre) @ coef.T + intercept
        losses.add_softmax_hessian_product(x, centre, coef, intercept, share, weight, products, sums)
        slopes += weight[:, None] * share * (change - (share * change).sum(axis=1, keepdims=True))
        assert_allclose(products - 1, slopes.T @ (x - centre), rtol=1e-10, atol=1e-13)
        assert_allclose(sums - 1, slopes.sum(axis=0), rtol=1e-10, atol=1e-13)

    @pytest.mark.parametrize("wrong", [np.nan, np.inf])
    def test_what_is_not_finite_is_seen_in_the_softmax_loss(self, wrong):
        x = X.copy()
        x[7, 2] = wrong
        inputs = x, X.mean(axis=0), RNG.normal(size=(K, P)), np.zeros(K), np.empty((N, 0)), CODES, WEIGHT
        assert np.isnan(losses.add_softmax_gradient(*inputs, np.zeros((K, P)), np.zeros(K)))

    def test_logistic_losses_of_several_points(self):
        points, codes = RNG.normal(size=(N, 4)), CODES % 2
        values, slopes, sign = np.zeros(4), np.empty((N, 4)), 2.0 * codes - 1
        weight = WEIGHT[:, None] * [1.0, 0.0, 2.0, 1.0]
        losses.losses_of_scores(losses.LOGISTIC, 0.0, points, codes, weight, values, slopes)
        margin = sign[:, None] * points
        assert_allclose(values, (weight * np.log1p(np.exp(-margin))).sum(axis=0), rtol=1e-12)
        assert_allclose(slopes, -weight * sign[:, None] / (1 + np.exp(margin)), rtol=1e-12)

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


class TestCounting:
    def test_pairs(self):
        first, second, out = RNG.integers(-1, 3, 103), RNG.integers(-1, 3, 103), np.zeros((4, 4, 4), dtype=np.int64)
        counting.count_pairs(first, second, -1, out)
        expected = np.zeros((4, 4), dtype=np.int64)
        np.add.at(expected, (first + 1, second + 1), 1)
        assert_array_equal(out.sum(axis=0), expected)

    def test_merged_scores_and_placements(self):
        positives, negatives = np.sort(RNG.integers(0, 9, 30) / 2.0), np.sort(RNG.integers(0, 8, 40) / 2.0)
        values, positive, negative = np.empty((3, 70))
        count = counting.merge_scores(positives, negatives, values, positive, negative)
        distinct = np.unique(np.concatenate((positives, negatives)))[::-1]
        assert_array_equal(values[:count], distinct)
        assert_array_equal(positive[:count], [(positives == v).sum() for v in distinct])
        assert_array_equal(negative[:count], [(negatives == v).sum() for v in distinct])
        of_positive, of_negative = np.empty((2, count))
        counting.placements(positive[:count], negative[:count], of_positive, of_negative)
        below = [(negatives < v).mean() + (negatives == v).mean() / 2 for v in distinct]
        above = [(positives > v).mean() + (positives == v).mean() / 2 for v in distinct]
        assert_allclose(of_positive, below, atol=1e-14)
        assert_allclose(of_negative, above, atol=1e-14)

    def test_bins(self):
        posterior, out = RNG.dirichlet(np.ones(K), N), np.zeros((K, 4, 5))
        counting.bin_posterior(posterior, CODES, WEIGHT, out)
        for k in range(K):
            p, y = posterior[:, k], (k == CODES).astype(float)
            for b in range(4):
                w = WEIGHT * ((p * 4).astype(int) == b)
                assert_allclose(out[k, b], [w.sum(), w @ p, w @ y, w @ p**2, w @ (p * y)], atol=1e-13)


@pytest.mark.parametrize("count", [0, 5, lbfgs.MEMORY + 3])
def test_the_loops_of_lbfgs_go_over_the_last_pairs(count):
    """From the newest to the oldest and back, where the newest have taken the places of the first."""
    (steps, changes), q = RNG.normal(size=(2, lbfgs.MEMORY, 6)), RNG.normal(size=6)
    inverses, shares = RNG.uniform(0.1, 1, lbfgs.MEMORY), np.empty(lbfgs.MEMORY)
    found, expected, taken = q.copy(), q.copy(), {}
    lbfgs.first_loop(steps, changes, inverses, shares, count, found)
    lbfgs.second_loop(steps, changes, inverses, shares, count, found)
    order = [t % lbfgs.MEMORY for t in range(max(count - lbfgs.MEMORY, 0), count)]
    for j in order[::-1]:
        taken[j] = inverses[j] * steps[j] @ expected
        expected -= taken[j] * changes[j]
    for j in order:
        expected += (taken[j] - inverses[j] * changes[j] @ expected) * steps[j]
    assert_allclose(found, expected, rtol=1e-11)


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
