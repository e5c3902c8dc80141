"""Separation: hand-made cases, an independent brute force, and what must not matter."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from discriminant.inference import ml_existence as module
from discriminant.inference.ml_existence import detect_separation

REFERENCE = Path(__file__).parent.parent / "reference"


def endometrial():
    table = np.genfromtxt(REFERENCE / "endometrial.csv", delimiter=",", names=True)
    return np.column_stack([table[name] for name in ("NV", "PI", "EH")]), table["HG"].astype(int)


def margin_matrix(X, codes, n_classes, fit_intercept):
    """All margins written out, one a row: rows of classes, coefficients of all classes but the last."""
    rows = np.column_stack((X, np.ones(len(X)))) if fit_intercept else X
    lines = []
    for row, own in zip(rows, codes, strict=True):
        for other in range(n_classes):
            if other != own:
                line = np.zeros((n_classes, rows.shape[1]))
                line[own] += row
                line[other] -= row
                lines.append(line[:-1].ravel())
    return np.array(lines)


def largest(objective, matrix):
    """max objective'd over directions of which no margin is negative, with objective'd <= 1: 1 or 0."""
    limits = np.vstack((-matrix, objective))
    right = np.append(np.zeros(len(matrix)), 1.0)
    return -linprog(-objective, A_ub=limits, b_ub=right, bounds=(None, None), method="highs").fun


def brute_force(X, codes, n_classes, fit_intercept=True):
    """Kind, possible signs of each coefficient {-1, 0, 1} and strictly separated rows, by a programme for each."""
    matrix = margin_matrix(X, codes, n_classes, fit_intercept)
    opened = np.array([largest(line, matrix) > 0.5 for line in matrix])
    kind = "complete" if opened.all() else "quasi-complete" if opened.any() else "none"
    units = np.eye(matrix.shape[1])
    up = np.array([largest(unit, matrix) > 0.5 for unit in units])
    down = np.array([largest(-unit, matrix) > 0.5 for unit in units])
    return kind, up, down, opened.reshape(len(X), -1).all(axis=1)


def margins_along(found, X, codes):
    """All margins of the reported direction, own classes' left out."""
    scores = np.column_stack((X, np.ones(len(X)))) @ found.direction.T
    if scores.shape[1] == 1:
        scores = np.column_stack((np.zeros(len(X)), scores))
    margins = scores[np.arange(len(X)), codes][:, None] - scores
    others = np.arange(scores.shape[1]) != np.asarray(codes)[:, None]
    return margins[others].reshape(len(X), -1)


def assert_is_recession_direction(found, X, codes):
    margins = margins_along(found, X, codes)
    assert margins.max() == pytest.approx(1.0)
    assert margins.min() > -1e-12
    np.testing.assert_array_equal((margins > 1e-9).all(axis=1), found.rows)


def assert_agrees(found, X, codes, n_classes, fit_intercept=True):
    kind, up, down, rows = brute_force(X, codes, n_classes, fit_intercept)
    assert found.kind == kind
    np.testing.assert_array_equal(found.rows, rows)
    infinite = -found.infinite if n_classes == 2 else found.infinite[:-1]
    if not fit_intercept:
        assert not infinite[:, -1].any()
        infinite = infinite[:, :-1]
    np.testing.assert_array_equal(infinite.ravel() != 0, up | down)
    assert up[infinite.ravel() > 0].all()
    assert down[infinite.ravel() < 0].all()
    in_columns = infinite[:, : X.shape[1]].any(axis=0)
    np.testing.assert_array_equal(found.columns, np.flatnonzero(in_columns))
    if kind != "none":
        assert_is_recession_direction(found, X, codes)


class TestTwoClasses:
    def test_complete(self):
        X, codes = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
        found = detect_separation(X, codes, 2)
        assert found.kind == "complete"
        np.testing.assert_array_equal(found.infinite, [[1, -1]])
        assert found.rows.all()
        assert_is_recession_direction(found, X, codes)

    def test_touching_in_one_point_is_quasi_complete(self):
        X, codes = np.array([[1.0], [2.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
        found = detect_separation(X, codes, 2)
        assert found.kind == "quasi-complete"
        np.testing.assert_array_equal(found.rows, [True, False, False, True])
        np.testing.assert_array_equal(found.infinite, [[1, -1]])

    def test_overlap_of_one_point_is_none(self):
        found = detect_separation(np.array([[1.0], [3.0], [2.0], [4.0]]), np.array([0, 0, 1, 1]), 2)
        assert found.kind == "none"
        assert found.direction is None
        assert len(found.columns) == 0
        assert not found.infinite.any()
        assert not found.rows.any()
        assert found.infinite.shape == (1, 2)

    def test_equal_rows_of_both_classes_are_none(self):
        X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 5.0], [2.0, 5.0], [3.0, 1.0], [3.0, 1.0]])
        assert detect_separation(X, np.array([0, 1] * 3), 2).kind == "none"

    def test_endometrial(self):
        expected = json.loads((REFERENCE / "endometrial.json").read_text())["expected"]
        X, codes = endometrial()
        found = detect_separation(X, codes, 2)
        assert expected["ml_separated"]
        assert expected["ml_infinite"] == {"NV": "+Inf"}
        assert found.kind == "quasi-complete"
        np.testing.assert_array_equal(found.infinite, [[1, 0, 0, 0]])
        np.testing.assert_array_equal(found.columns, [0])
        np.testing.assert_array_equal(found.rows, X[:, 0] == 1)
        np.testing.assert_array_equal(found.direction, [[1, 0, 0, 0]])

    def test_recoded_dummy_takes_the_intercept_along(self):
        X, codes = endometrial()
        found = detect_separation(X + np.array([1, 0, 0]), codes, 2)
        np.testing.assert_array_equal(found.infinite, [[1, 0, 0, -1]])
        np.testing.assert_array_equal(found.columns, [0])

    def test_a_class_without_rows(self):
        found = detect_separation(np.array([[1.0], [2.0]]), np.array([1, 1]), 2)
        assert found.kind == "complete"

    def test_no_columns(self):
        assert detect_separation(np.empty((4, 0)), np.array([0, 0, 0, 1]), 2).kind == "none"
        only_one = detect_separation(np.empty((4, 0)), np.zeros(4, int), 2)
        assert only_one.kind == "complete"
        np.testing.assert_array_equal(only_one.infinite, [[-1]])
        assert len(only_one.columns) == 0

    def test_no_columns_and_no_intercept(self):
        assert detect_separation(np.empty((4, 0)), np.array([0, 0, 0, 1]), 2, fit_intercept=False).kind == "none"

    def test_without_intercept_origin_matters(self):
        X, codes = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
        assert detect_separation(X, codes, 2, fit_intercept=False).kind == "none"
        found = detect_separation(X - 2.5, codes, 2, fit_intercept=False)
        assert found.kind == "complete"
        np.testing.assert_array_equal(found.infinite, [[1, 0]])

    def test_fewer_rows_than_columns(self):
        X = np.random.default_rng(0).normal(size=(6, 20))
        found = detect_separation(X, np.array([0, 1, 0, 1, 1, 0]), 2)
        assert found.kind == "complete"
        assert_is_recession_direction(found, X, np.array([0, 1, 0, 1, 1, 0]))


class TestCollinearColumns:
    def test_null_directions_are_not_separation(self):
        x = np.array([1.0, 3.0, 2.0, 4.0, 0.3, 0.7])
        X = np.column_stack((x, 1.8 * x + 32, np.full(6, 7.0), x))
        assert detect_separation(X, np.array([0, 0, 1, 1, 0, 1]), 2).kind == "none"

    def test_later_copies_are_left_out(self):
        X, codes = endometrial()
        twice = np.column_stack((X, X @ [1, 2, 3], np.full(len(X), 5.0), X[:, 0] * 1e5))
        found = detect_separation(twice, codes, 2)
        np.testing.assert_array_equal(found.infinite, [[1, 0, 0, 0, 0, 0, 0]])

    def test_constant_column_stands_for_a_missing_intercept(self):
        X, codes = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
        found = detect_separation(np.column_stack((X, np.ones(4))), codes, 2, fit_intercept=False)
        np.testing.assert_array_equal(found.infinite, [[1, -1, 0]])


class TestManyClasses:
    rng = np.random.default_rng(1)

    def test_one_class_apart(self):
        x = np.array([0.0, 1, 2, 3, 0, 1, 2, 3, 10, 11, 12])
        codes = np.array([1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0])
        found = detect_separation(x[:, None], codes, 3)
        assert found.kind == "quasi-complete"
        np.testing.assert_array_equal(found.infinite, [[1, -1], [0, 0], [0, 0]])
        np.testing.assert_array_equal(found.rows, codes == 0)
        assert_agrees(found, x[:, None], codes, 3)

    def test_ordered_classes_are_complete(self):
        codes = np.repeat([0, 1, 2], 3)
        found = detect_separation(np.arange(9.0)[:, None], codes, 3)
        assert found.kind == "complete"
        assert_is_recession_direction(found, np.arange(9.0)[:, None], codes)

    def test_none(self):
        X = self.rng.normal(size=(60, 2))
        codes = self.rng.integers(0, 3, 60)
        found = detect_separation(X, codes, 3)
        assert found.kind == "none"
        assert found.infinite.shape == (3, 3)

    def test_no_infinite_coefficient_is_zero_by_chance(self):
        """The widest margins are those of a direction with zeros; others have none there."""
        X = np.array([[0, -2], [0, -1], [0, 2], [0, 0], [1, -2]], dtype=float)
        codes = np.array([1, 1, 0, 0, 1])
        found = detect_separation(X, codes, 4)
        assert_agrees(found, X, codes, 4)

    def test_two_of_three_classes_apart_from_each_other_only(self):
        x = np.array([0.0, 1, 2, 5, 6, 7, 0, 1, 5, 6, 3])
        codes = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2])
        assert_agrees(detect_separation(x[:, None], codes, 3), x[:, None], codes, 3)

    def test_class_without_rows(self):
        X = self.rng.normal(size=(40, 2))
        found = detect_separation(X, self.rng.integers(0, 2, 40), 3)
        assert found.kind == "quasi-complete"
        np.testing.assert_array_equal(found.infinite[:2, -1], [1, 1])

    def test_two_classes_among_many_agree_with_two(self):
        X, codes = endometrial()
        found = detect_separation(X, np.where(codes == 1, 0, 2), 3)
        assert 0 in found.columns
        assert_is_recession_direction(found, X, np.where(codes == 1, 0, 2))


@st.composite
def small_tables(draw, most_classes=2):
    """Few values, so that ties and touching classes are common."""
    n_classes = draw(st.integers(2, most_classes))
    n, p = draw(st.integers(3, 14)), draw(st.integers(1, 3))
    values = st.integers(-2, 2)
    X = np.array(draw(st.lists(st.lists(values, min_size=p, max_size=p), min_size=n, max_size=n)), dtype=float)
    codes = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    return X, codes, n_classes


def full_rank(X, fit_intercept=True):
    rows = np.column_stack((X, np.ones(len(X)))) if fit_intercept else X
    return np.linalg.matrix_rank(rows) == rows.shape[1]


class TestAgainstBruteForce:
    @given(small_tables(), st.booleans())
    def test_two_classes(self, table, fit_intercept):
        X, codes, _ = table
        assume(full_rank(X, fit_intercept))
        assert_agrees(detect_separation(X, codes, 2, fit_intercept), X, codes, 2, fit_intercept)

    @given(small_tables(most_classes=4))
    def test_many_classes(self, table):
        X, codes, n_classes = table
        assume(full_rank(X))
        assert_agrees(detect_separation(X, codes, n_classes), X, codes, n_classes)

    @pytest.mark.parametrize("seed", range(40))
    def test_random_tables(self, seed):
        """More rows than hypothesis likes to draw, half of them nearly separated, some classes pure in a dummy."""
        rng = np.random.default_rng(seed)
        n_classes, n, p = int(rng.integers(2, 4)), int(rng.integers(8, 30)), int(rng.integers(1, 4))
        X = np.column_stack((rng.integers(-3, 4, (n, p)), rng.random(n) < 0.3)).astype(float)
        scores = X @ rng.normal(size=(p + 1, n_classes)) * 3 + rng.gumbel(size=(n, n_classes)) * (seed % 3)
        codes = scores.argmax(axis=1)
        codes[X[:, -1] == 1] = codes[0]
        if full_rank(X):
            assert_agrees(detect_separation(X, codes, n_classes), X, codes, n_classes)


class TestSamples:
    """Enough rows for the programmes to run on samples of the margins."""

    def table(self, n=3000, p=4):
        rng = np.random.default_rng(5)
        X = np.column_stack((rng.normal(size=(n, p)), rng.random(n) < 0.01))
        return X, (X[:, :p] @ np.arange(1, p + 1) + rng.logistic(size=n) > 0).astype(int), rng

    def test_pure_level_of_a_dummy(self):
        X, codes, _ = self.table()
        codes[X[:, -1] == 1] = 0
        found = detect_separation(X, codes, 2)
        np.testing.assert_array_equal(found.infinite, [[0, 0, 0, 0, -1, 0]])
        np.testing.assert_array_equal(found.rows, X[:, -1] == 1)

    def test_one_exception_undoes_it(self):
        X, codes, _ = self.table()
        dummy = np.flatnonzero(X[:, -1])
        codes[dummy] = 0
        codes[dummy[3]] = 1
        assert detect_separation(X, codes, 2).kind == "none"

    def test_complete_and_one_exception(self):
        X, _, _ = self.table()
        score = X @ [1.0, 2, 3, 4, 5]
        codes = (score > 0).astype(int)
        found = detect_separation(X, codes, 2)
        assert found.kind == "complete"
        assert_is_recession_direction(found, X, codes)
        codes[score.argmax()] = 0
        assert detect_separation(X, codes, 2).kind == "none"

    def test_touching_hyperplane(self):
        """Rows of integers on the hyperplane itself, of both classes, between two classes that it separates."""
        rng = np.random.default_rng(2)
        X = rng.integers(-9, 10, (4000, 3)).astype(float)
        score = X @ [1.0, -2.0, 1.0]
        codes = np.where(score == 0, rng.integers(0, 2, 4000), score > 0).astype(int)
        found = detect_separation(X, codes, 2)
        assert found.kind == "quasi-complete"
        np.testing.assert_array_equal(found.rows, score != 0)
        np.testing.assert_array_equal(found.infinite, [[1, -1, 1, 0]])
        np.testing.assert_allclose(found.direction / found.direction[0, 0], [[1, -2, 1, 0]], atol=1e-12)

    def test_class_apart_among_many(self):
        X, codes, _ = self.table(n=1500)
        codes[X[:, 0] > 1.2] = 2
        found = detect_separation(X, codes, 4)  # and class 3 has no rows
        np.testing.assert_array_equal(found.rows, codes == 2)
        assert_is_recession_direction(found, X, codes)

    @pytest.mark.parametrize("least", [5, 20, 10_000])
    def test_size_of_the_sample_does_not_matter(self, monkeypatch, least):
        X, codes, _ = self.table(n=400)
        codes[X[:, -1] == 1] = 0
        monkeypatch.setattr(module, "MIN_SAMPLE_MARGINS", least)
        monkeypatch.setattr(module, "MARGINS_PER_COEFFICIENT", 1)
        found = detect_separation(X, codes, 2)
        np.testing.assert_array_equal(found.infinite, [[0, 0, 0, 0, -1, 0]])
        np.testing.assert_array_equal(found.rows, X[:, -1] == 1)


class TestUnits:
    @pytest.mark.parametrize("factor", [1e-8, 1e-3, 3.7, 1e8])
    def test_of_all_columns(self, factor):
        X, codes = endometrial()
        np.testing.assert_array_equal(detect_separation(X * factor, codes, 2).infinite, [[1, 0, 0, 0]])

    @pytest.mark.parametrize("factors", [(1e-8, 1e8, 1.0), (1e8, 1e-8, 1e3), (-1e8, 1.0, -1e-8)])
    def test_of_single_columns(self, factors):
        X, codes = endometrial()
        found = detect_separation(X * factors, codes, 2)
        np.testing.assert_array_equal(found.infinite, [[np.sign(factors[0]), 0, 0, 0]])
        np.testing.assert_allclose(found.direction, [[1 / factors[0], 0, 0, 0]], rtol=1e-12)

    @pytest.mark.parametrize("shift", [(-3.0, 1e6, 1e4), (1e8, -1e3, 7.0), (1e5, 1e5, 1e5)])
    def test_origins(self, shift):
        X, codes = endometrial()
        found = detect_separation(X + shift, codes, 2)
        np.testing.assert_array_equal(found.infinite, [[1, 0, 0, -np.sign(shift[0])]])
        np.testing.assert_array_equal(found.rows, X[:, 0] == 1)

    @given(small_tables(most_classes=3), st.integers(-8, 8), st.integers(-8, 8), st.integers(-1000, 1000))
    def test_verdict(self, table, first, last, shift):
        X, codes, n_classes = table
        before = detect_separation(X, codes, n_classes)
        factor = np.ones(X.shape[1])
        factor[0], factor[-1] = 10.0**first, 10.0**last
        after = detect_separation((X + shift) * factor, codes, n_classes)
        assert after.kind == before.kind
        np.testing.assert_array_equal(after.columns, before.columns)
        np.testing.assert_array_equal(after.rows, before.rows)

    def test_outlier_does_not_hide_an_overlap(self):
        x = np.array([1.0, 3.0, 2.0, 4.0, 1e9])
        assert detect_separation(x[:, None], np.array([0, 0, 1, 1, 1]), 2).kind == "none"
        assert detect_separation(x[:, None], np.array([0, 0, 1, 1, 0]), 2).kind == "none"
        assert detect_separation(x[:, None], np.array([0, 1, 0, 1, 1]), 2).kind == "complete"

    def test_order_of_rows(self):
        X, codes = endometrial()
        order = np.random.default_rng(0).permutation(len(X))
        found = detect_separation(X[order], codes[order], 2)
        np.testing.assert_array_equal(found.infinite, [[1, 0, 0, 0]])
        np.testing.assert_array_equal(found.rows, X[order, 0] == 1)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("gap", [1e-7, 1e-8, 1e-9])
def test_small_gaps_separate(n_columns, gap):
    """The nearest rows of both classes are ``gap`` apart, on both sides of a plane in general position."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, normal = rng.normal(size=(150, n_columns)), rng.normal(size=n_columns)
        normal /= np.linalg.norm(normal)
        codes = (X @ normal > 0).astype(int)
        nearest = np.argsort(np.abs(X @ normal))[: 2 * n_columns + 2]
        X[nearest] += (np.where(codes[nearest] == 1, gap, -gap) / 2 - X[nearest] @ normal)[:, None] * normal
        assert detect_separation(X, codes, 2).kind == "complete"
