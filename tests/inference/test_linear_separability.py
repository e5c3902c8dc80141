"""Separability: an exact decision in fractions, witnesses that are checked by themselves, and what must not matter."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from discriminant import SupportVectorClassifier
from discriminant.data import as_rows
from discriminant.errors import InputError, LabelError
from discriminant.inference.linear_separability import linear_separability
from discriminant.inference.ml_existence import detect_separation
from discriminant.margins import convex_hulls
from discriminant.margins.convex_hulls import CommonPoint, Hyperplane, centred, separator


def dependency(points):
    """The coefficients of the affine dependency of some points, in fractions; None unless there is exactly one."""
    rows = [[Fraction(value) for value in line] for line in zip(*points, strict=True)] + [[Fraction(1)] * len(points)]
    pivots = []
    for column in range(len(points)):
        done = len(pivots)
        pivot = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [value / rows[done][column] for value in rows[done]]
        for i in range(len(rows)):
            if i != done:
                rows[i] = [a - rows[i][column] * b for a, b in zip(rows[i], rows[done], strict=True)]
        pivots.append(column)
    free = [column for column in range(len(points)) if column not in pivots]
    if len(free) != 1:
        return None
    return [-rows[pivots.index(j)][free[0]] if j in pivots else Fraction(1) for j in range(len(points))]


def hulls_meet(X, sign):
    """Whether two hulls meet, exactly: then some affine dependency has positive coefficients on one side only."""
    rows = X.tolist()
    for size in range(2, X.shape[1] + 3):
        for chosen in combinations(range(len(rows)), size):
            found = dependency([rows[i] for i in chosen])
            if found is not None:
                sides = [value * int(sign[i]) for value, i in zip(found, chosen, strict=True)]
                if all(value >= 0 for value in sides) or all(value <= 0 for value in sides):
                    return True
    return False


def assert_witnessed(found, X, y, size=1.0):
    """Every pair's witness proves what it says, by formulas of its own."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    for (first, second), witness in found.pairs.items():
        if isinstance(witness, Hyperplane):
            score = X @ witness.coef + witness.intercept
            margin = 2 * min(score[y == second].min(), -score[y == first].max()) / np.linalg.norm(witness.coef)
            assert margin > 0
            assert witness.margin == pytest.approx(margin, rel=1e-6)
            assert witness.check(X, y) == pytest.approx(margin, rel=1e-6)
            continue
        assert set(y[witness.rows_first].tolist()) == {first}
        assert set(y[witness.rows_second].tolist()) == {second}
        for weights in (witness.weights_first, witness.weights_second):
            assert (weights > 0).all()
            assert weights.sum() == pytest.approx(1, abs=1e-12)
        means = X[witness.rows_first].T @ witness.weights_first, X[witness.rows_second].T @ witness.weights_second
        np.testing.assert_allclose(means[0], means[1], rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(witness.point, means[0], rtol=0, atol=1e-12 * size)
        assert witness.check(X, y) < 1e-12 * size
        assert len(witness.rows_first) + len(witness.rows_second) <= X.shape[1] + 2


def two_sides(n, p, gap, seed=0):
    """Rows on both sides of a hyperplane: ``gap`` away from it, or, if negative, that far on the wrong side."""
    random = np.random.default_rng(seed)
    X, normal = random.standard_normal((n, p)), random.standard_normal(p)
    normal /= np.linalg.norm(normal)
    y = np.where(X @ normal > 0.2, 1, 0)
    return X + np.outer(gap * (2 * y - 1), normal), y, normal


@st.composite
def whole_numbers(draw):
    n, p = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    cell = st.integers(-3, 3)
    X = np.array(draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=n, max_size=n)))
    cut = draw(st.lists(cell, min_size=p, max_size=p))
    y = np.where(X @ cut > draw(cell), 1, 0)
    if draw(st.booleans()):
        flipped = draw(st.integers(0, n - 1))
        y[flipped] = 1 - y[flipped]
    assume(len(set(y.tolist())) == 2)
    return X, y


class TestExactly:
    @settings(max_examples=100)
    @given(whole_numbers())
    def test_small_whole_numbers(self, table):
        X, y = table
        found = linear_separability(X, y)
        assert found.separable is not hulls_meet(X, 2 * y - 1)
        assert_witnessed(found, X, y, size=3)

    @settings(max_examples=100)
    @given(whole_numbers())
    def test_the_linear_programme_by_itself(self, table):
        X, y = table
        found = separator(centred(as_rows(X), movable=True), 2.0 * y - 1)
        assert isinstance(found, CommonPoint) == hulls_meet(X, 2 * y - 1)
        assert found.check(X, 2 * y - 1) < 1e-12 or isinstance(found, Hyperplane)

    @settings(max_examples=100)
    @given(whole_numbers())
    def test_separable_is_completely_separated(self, table):
        X, y = table
        assert linear_separability(X, y).separable == (detect_separation(X, y, 2).kind == "complete")

    @settings(max_examples=40)
    @given(whole_numbers(), st.lists(st.integers(-9, 9), min_size=4, max_size=4))
    def test_units_of_the_columns_do_not_matter(self, table, powers):
        X, y = table
        scaled = X * 10.0 ** np.array(powers[: X.shape[1]])
        found = linear_separability(scaled, y)
        assert found.separable == linear_separability(X, y).separable
        assert_witnessed(found, scaled, y, size=np.abs(scaled).max() + 1e-300)


class TestCases:
    @pytest.mark.parametrize(
        ("X", "y", "expected"),
        [
            ([[0], [1]], [0, 1], True),
            ([[1], [1]], [0, 1], False),
            ([[1], [2], [2], [3]], [0, 0, 1, 1], False),  # touching
            ([[0, 0], [1, 1], [2, 2], [5, 5]], [0, 1, 0, 1], False),  # all on a line
            ([[0, 0], [1, 1], [2, 2], [5, 5]], [0, 0, 1, 1], True),
            ([[0, 0], [2, 2], [1, 1], [5, 0]], [0, 0, 1, 1], False),  # a row on the other's edge
            ([[0, 7], [1, 7], [2, 7], [3, 7]], [0, 0, 1, 1], True),  # a constant column
            ([[7, 7], [7, 7], [7, 7]], [0, 0, 1], False),  # nothing but constants
            ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], False),  # exclusive or
            ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 1, 1, 1], True),  # or
            ([[0.1, 0.2], [0.3, 0.6], [0.2, 0.4], [0.9, 0.1]], [0, 0, 1, 1], False),  # touching but for rounding
        ],
    )
    def test_by_hand(self, X, y, expected):
        found = linear_separability(X, y)
        assert found.separable is expected
        assert_witnessed(found, X, y, size=10)

    def test_a_row_that_both_classes_have_is_the_witness(self):
        X, y, _ = two_sides(2_000, 6, gap=0.5)
        X[700] = X[y == 0][5]
        y[700] = 1
        witness = linear_separability(X, y).witness
        assert witness.weights_first.tolist() == witness.weights_second.tolist() == [1.0]
        assert witness.rows_second.tolist() == [700]
        np.testing.assert_array_equal(witness.point, X[700])
        assert witness.distance == 0

    def test_more_columns_than_rows(self):
        random = np.random.default_rng(0)
        X, y = random.standard_normal((40, 200)), random.choice(["a", "b"], 40)
        found = linear_separability(X, y)
        assert found.separable
        assert_witnessed(found, X, y)

    def test_more_columns_than_rows_and_yet_not_separable(self):
        random = np.random.default_rng(0)
        X = random.standard_normal((40, 200))
        X[39] = X[:10].mean(axis=0)
        y = np.repeat([0, 1], [30, 10])
        found = linear_separability(X, y)
        assert not found.separable
        assert_witnessed(found, X, y)

    def test_wide_sparse_rows(self):
        X = sp.random(100, 8_000, density=0.01, format="csr", random_state=0)
        y = np.random.default_rng(0).choice([0, 1], 100)
        assert linear_separability(X, y).separable
        touching = sp.vstack((X, X[np.flatnonzero(y == 0)[:3]].mean(axis=0)), format="csr")
        found = linear_separability(touching, np.append(y, 1))
        assert not found.separable
        assert found.witness.check(touching, np.append(y, 1)) < 1e-12

    @pytest.mark.parametrize("gap", [0.5, 1e-3, 1e-7])
    def test_barely_separable(self, gap):
        X, y, _ = two_sides(5_000, 8, gap)
        found = linear_separability(X, y)
        assert found.separable
        assert found.witness.margin >= 2 * gap
        assert_witnessed(found, X, y)

    @pytest.mark.parametrize("depth", [1e-6, 1e-2, 1.0])
    def test_one_row_inside_the_other_hull(self, depth):
        X, y, normal = two_sides(5_000, 8, gap=0.1)
        edge = X[y == 0][np.argsort(X[y == 0] @ normal)[-9:]].mean(axis=0)  # a mean is inside, so is what lies deeper
        X[0], y[0] = edge + depth * (X[y == 0].mean(axis=0) - edge), 1
        found = linear_separability(X, y)
        assert not found.separable
        assert_witnessed(found, X, y, size=5)

    def test_overlapping(self):
        X, y, _ = two_sides(5_000, 20, gap=-1.0)
        found = linear_separability(X, y)
        assert not found.separable
        assert_witnessed(found, X, y, size=5)

    @pytest.mark.parametrize("power", [-20, -13, -10, -5, 5, 10, 13, 20])
    def test_a_column_of_another_size_that_alone_separates(self, power):
        random = np.random.default_rng(0)
        y = np.tile([0, 1], 100)
        X = np.column_stack((random.standard_normal((200, 3)), (y + 0.8 * random.random(200)) * 10.0**power))
        found = linear_separability(X, y)
        assert found.separable
        assert_witnessed(found, X, y)

    @pytest.mark.parametrize("at_once", [4, 40])
    @pytest.mark.parametrize("gap", [0.2, 1e-4, -0.05])
    def test_rows_looked_at_first_do_not_matter(self, monkeypatch, gap, at_once):
        X, y, _ = two_sides(600, 5, gap)
        expected = linear_separability(X, y).separable
        for name in ("MAX_DIRECT_ROWS", "MIN_SAMPLE_ROWS", "MAX_SAMPLE_ROWS"):
            monkeypatch.setattr(convex_hulls, name, at_once)
        by_programme = separator(centred(as_rows(X), movable=True), 2.0 * y - 1)
        assert linear_separability(X, y).separable == isinstance(by_programme, Hyperplane) == expected

    @pytest.mark.parametrize("shift", [-1e6, 1e6])
    def test_far_from_the_origin(self, shift):
        for gap, expected in ((0.1, True), (-0.5, False)):
            X, y, _ = two_sides(300, 4, gap)
            found = linear_separability(X + shift, y)
            assert found.separable is expected
            assert_witnessed(found, X + shift, y, size=1e4)


class TestManyClasses:
    def test_iris(self):
        iris = load_iris()
        y = iris.target_names[iris.target]
        found = linear_separability(iris.data, y)
        assert not found.separable
        assert [isinstance(witness, Hyperplane) for witness in found.pairs.values()] == [True, True, False]
        assert found.witness is found.pairs["versicolor", "virginica"]
        assert_witnessed(found, iris.data, y, size=10)
        lines = repr(found).splitlines()
        assert lines[0] == "setosa and versicolor: separable, margin 1.635"
        assert lines[2].startswith("versicolor and virginica: not separable, the point (")
        assert lines[2].endswith(") lies in both hulls")

    def test_one_class_against_the_rest(self):
        iris = load_iris()
        assert linear_separability(iris.data, iris.target == 0).separable
        assert not linear_separability(iris.data, iris.target == 1).separable

    def test_pairs_are_those_of_two_classes_alone(self):
        random = np.random.default_rng(0)
        y = random.choice(list("abc"), 90)
        X = random.standard_normal((90, 2)) + 4.0 * (y == "b")[:, None] - 1.0 * (y == "c")[:, None]
        found = linear_separability(X, y)
        for pair, witness in found.pairs.items():
            alone = linear_separability(X[np.isin(y, pair)], y[np.isin(y, pair)]).witness
            assert type(alone) is type(witness)
            assert alone.classes == witness.classes == pair
        assert_witnessed(found, X, y, size=10)

    def test_witness_of_separable_classes_is_that_of_the_narrowest_gap(self):
        found = linear_separability([[0.0], [10.0], [12.0]], ["low", "middle", "high"])
        assert found.separable
        assert found.witness.classes == ("high", "middle")
        assert found.witness.margin == pytest.approx(2)

    def test_the_margin_is_that_of_a_support_vector_machine(self):
        X, y, _ = two_sides(40, 3, gap=0.2)
        machine = SupportVectorClassifier("hard").fit(X, y)
        assert linear_separability(X, y).witness.margin == pytest.approx(machine.margin_, rel=1e-9)

    def test_many_coordinates_are_not_all_printed(self):
        assert "(0, 0, 0, 0, 0, ...)" in repr(linear_separability(np.zeros((2, 7)), [0, 1]))


class TestContainers:
    X, y, _ = two_sides(60, 3, gap=0.2)

    @pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, sp.csr_matrix, np.ndarray.tolist, np.float32])
    def test_table(self, form):
        table = form(self.X)
        found = linear_separability(table, self.y)
        assert found.separable
        assert found.witness.check(table, self.y) == pytest.approx(found.witness.margin, rel=1e-6)
        np.testing.assert_allclose(found.witness.coef, linear_separability(self.X, self.y).witness.coef, rtol=1e-4)

    @pytest.mark.parametrize("labels", [["b", "a"], [True, False], [7, -2]])
    def test_labels(self, labels):
        y = np.array(labels)[self.y]
        found = linear_separability(pd.DataFrame(self.X), pd.Series(y))
        assert found.witness.classes == tuple(sorted(labels))
        assert found.witness.check(self.X, y) > 0


class TestCheck:
    X, y = [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [3.0, 0.0]], ["a", "a", "b", "b"]

    def test_hyperplane_that_does_not_separate_other_rows(self):
        plane = linear_separability(self.X[1:], ["a", "b", "b"]).witness
        assert plane.check(self.X[1:], ["a", "b", "b"]) > 0
        assert plane.check(self.X, self.y) < 0

    def test_point_of_other_rows(self):
        point = linear_separability(self.X, self.y).witness
        moved = np.array(self.X) + np.array([[0.0], [0.0], [1.0], [0.0]])
        assert point.check(moved, self.y) == pytest.approx(np.sqrt(2))

    def test_row_of_another_class(self):
        point = linear_separability(self.X, self.y).witness
        with pytest.raises(InputError, match=r"Row 1 .*class 'a'"):
            point.check(self.X, ["a", "b", "b", "b"])

    def test_row_that_is_not_there(self):
        point = linear_separability(self.X[::-1], self.y[::-1]).witness
        with pytest.raises(InputError, match=r"Row 3 .*class 'a'"):
            point.check(self.X[::-1][:3], self.y[::-1][:3])

    def test_class_that_is_not_there(self):
        with pytest.raises(InputError, match="y has no class 'a'"):
            linear_separability(self.X, self.y).witness.check(self.X, ["c", "c", "b", "b"])

    def test_weights_that_are_not_those_of_a_mean(self):
        point = replace(linear_separability(self.X, self.y).witness, weights_first=np.array([2.0, 0.5]))
        with pytest.raises(InputError, match=r"sum 1, got \[2.0, 0.5\]"):
            point.check(self.X, self.y)


class TestBadInput:
    def test_one_class(self):
        with pytest.raises(LabelError, match="only one class, 'a'"):
            linear_separability([[1.0], [2.0]], ["a", "a"])

    def test_missing_value_is_named(self):
        frame = pd.DataFrame({"width": [1.0, 2.0, 3.0], "height": [1.0, 0.0, np.nan]})
        with pytest.raises(InputError, match="NaN: column 'height', row 2"):
            linear_separability(frame, ["a", "b", "c"])

    def test_lengths(self):
        with pytest.raises(InputError, match=r"\[3, 2\]"):
            linear_separability([[1.0], [2.0], [3.0]], ["a", "b"])
