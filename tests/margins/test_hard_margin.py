"""The maximum margin: the conditions that prove it, independent solvers, and what must not matter."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import ortho_group
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from discriminant.errors import DegenerateDataError, InputError, LabelError, NotSeparableError
from discriminant.margins import convex_hulls, hard_margin
from discriminant.margins.hard_margin import maximum_margin


def separable(n=120, p=4, gap=0.3, seed=0, fit_intercept=True):
    """Rows on both sides of a hyperplane, moved away from it by ``gap``."""
    random = np.random.default_rng(seed)
    X, normal = random.standard_normal((n, p)), random.standard_normal(p)
    normal /= np.linalg.norm(normal)
    X[1] = -X[0]
    score = X @ normal
    sign = np.where(score > (np.sort(score)[n // 3 : n // 3 + 2].mean() if fit_intercept else 0), 1, -1)
    return X + np.outer(gap * sign, normal), sign


def assert_optimal(found, X, sign, fit_intercept=True, tolerance=1e-9):
    """The Karush-Kuhn-Tucker conditions, which together prove that no margin is wider."""
    margins = sign * (X @ found.coef + found.intercept)
    assert margins.min() >= 1 - tolerance
    assert (found.alpha >= 0).all()
    np.testing.assert_allclose(
        X.T @ (found.alpha * sign), found.coef, rtol=0, atol=tolerance * np.abs(found.coef).max()
    )
    if fit_intercept:
        assert abs(found.alpha @ sign) <= tolerance * found.alpha.sum()
    else:
        assert found.intercept == 0
    np.testing.assert_array_equal(found.support, np.flatnonzero(found.alpha))
    np.testing.assert_allclose(margins[found.support], 1, rtol=0, atol=tolerance)
    assert found.margin == pytest.approx(2 / np.linalg.norm(found.coef), rel=1e-14)
    assert 0 <= found.duality_gap < tolerance
    assert 0 <= found.gradient_norm <= tolerance * max(np.abs(found.coef).max(), found.alpha.sum())


def by_sequential_programming(X, sign, fit_intercept=True):
    """Coefficients and intercept by SciPy's general-purpose solver."""
    rows = np.column_stack((X, np.full(len(X), float(fit_intercept)))) * sign[:, None]
    start = np.linalg.lstsq(rows, np.ones(len(X)), rcond=None)[0]
    objective = {"fun": lambda v: v[:-1] @ v[:-1] / 2, "jac": lambda v: np.append(v[:-1], 0.0)}
    constraint = {"type": "ineq", "fun": lambda v: rows @ v - 1, "jac": lambda _: rows}
    found = minimize(
        objective["fun"], start, jac=objective["jac"], constraints=[constraint], method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert found.success, found.message
    return found.x[:-1], found.x[-1]


def test_the_gradient_norm_is_that_of_the_lagrangian():
    X, sign = separable(200, 5, gap=0.05)
    X -= np.sort(X, axis=0)[100]
    found = maximum_margin(X, sign)
    residual = np.append(found.coef - X.T @ (found.alpha * sign), found.alpha @ sign)
    assert found.gradient_norm == pytest.approx(np.abs(residual).max(), abs=1e-13 * found.alpha.sum())
    assert found.gradient_norm > 0


class TestByHand:
    def test_two_rows(self):
        found = maximum_margin([[0.0, 0.0], [3.0, 4.0]], np.array([-1, 1]))
        np.testing.assert_allclose(found.coef, [6 / 25, 8 / 25], rtol=1e-14)
        assert found.intercept == pytest.approx(-1, rel=1e-14)
        assert found.margin == pytest.approx(5, rel=1e-14)
        np.testing.assert_allclose(found.alpha, [2 / 25, 2 / 25], rtol=1e-14)

    def test_point_and_edge(self):
        X = np.array([[0.0, 0.0], [-5.0, 1.0], [2.0, -3.0], [2.0, 1.0], [9.0, 0.0]])
        found = maximum_margin(X, np.array([-1, -1, 1, 1, 1]))
        np.testing.assert_allclose(found.coef, [1, 0], atol=1e-14)
        assert found.intercept == pytest.approx(-1, rel=1e-14)
        np.testing.assert_allclose(found.alpha, [0.5, 0, 0.125, 0.375, 0], atol=1e-14)
        np.testing.assert_array_equal(found.support, [0, 2, 3])

    def test_through_the_origin(self):
        found = maximum_margin([[2.0, 1.0], [2.0, -1.0], [-3.0, 0.0]], np.array([1, 1, -1]), fit_intercept=False)
        np.testing.assert_allclose(found.coef, [0.5, 0], atol=1e-15)
        assert found.intercept == 0

    def test_corners_of_a_cube_each_of_which_is_a_support_vector_or_could_be(self):
        corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
        sign = np.where(corners[:, 0] == 1, 1, -1)
        found = maximum_margin(corners, sign)
        np.testing.assert_allclose(found.coef, [2, 0, 0], atol=1e-14)
        assert_optimal(found, corners, sign)


class TestAgainstOtherSolvers:
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize(("n", "p"), [(6, 1), (10, 2), (25, 3), (40, 6), (8, 12)])
    def test_sequential_quadratic_programming(self, n, p, fit_intercept):
        X, sign = separable(n, p, seed=n, fit_intercept=fit_intercept)
        found = maximum_margin(X, sign, fit_intercept)
        coef, intercept = by_sequential_programming(X, sign, fit_intercept)
        np.testing.assert_allclose(found.coef, coef, rtol=0, atol=1e-6 * np.abs(coef).max())
        assert found.intercept == pytest.approx(intercept, abs=1e-6 * np.abs(coef).max())

    def test_support_vector_machine_without_slack(self):
        X, y = load_iris(return_X_y=True)
        sign = np.where(y == 0, -1, 1)
        machine = SVC(kernel="linear", C=1e10, tol=1e-9).fit(X, sign)
        found = maximum_margin(X, sign)
        assert_optimal(found, X, sign)
        np.testing.assert_allclose(found.coef, machine.coef_[0], rtol=3e-6)
        assert found.intercept == pytest.approx(machine.intercept_[0], rel=3e-6)
        np.testing.assert_array_equal(found.support, np.sort(machine.support_))


class TestOptimality:
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize(
        ("n", "p", "gap"),
        [
            (2, 1, 0.1),
            (30, 2, 0.5),
            (400, 15, 1e-3),
            (5_000, 10, 1e-6),
            (5_000, 40, 0.1),
            (60, 400, 0.1),
            (300, 250, 0),
        ],
    )
    def test_shapes(self, n, p, gap, fit_intercept):
        X, sign = separable(n, p, gap, seed=1, fit_intercept=fit_intercept)
        assert_optimal(maximum_margin(X, sign, fit_intercept), X, sign, fit_intercept)

    @given(st.data())
    def test_small_whole_numbers(self, data):
        n, p = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 5))
        cell = st.integers(-3, 3)
        X = np.array(data.draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=n, max_size=n)))
        normal = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=p, max_size=p)))
        fit_intercept = data.draw(st.booleans())
        score = X @ normal - (0.5 if fit_intercept else 0)
        X, sign = X[score != 0], np.sign(score[score != 0])
        assume(len(set(sign)) == 2)
        assert_optimal(maximum_margin(X, sign, fit_intercept), X, sign, fit_intercept)

    def test_a_margin_much_smaller_than_the_data(self):
        X, sign = separable(300, 3, gap=0.5)
        flat = X * [1.0, 1e-4, 1e-9] @ ortho_group.rvs(3, random_state=0)
        squeezed = np.column_stack((flat, 1e-7 * sign))
        found = maximum_margin(squeezed, sign)
        assert_optimal(found, squeezed, sign, tolerance=1e-7)
        assert found.margin == pytest.approx(2e-7, rel=0.2)

    def test_leaps_change_nothing(self, monkeypatch):
        X, sign = separable(150, 200)
        in_blocks = maximum_margin(X, sign)
        monkeypatch.setattr(hard_margin, "MIN_BLOCK_ROWS", 10**6)
        stepping = maximum_margin(X, sign)
        assert stepping.iterations > 100 > in_blocks.iterations
        np.testing.assert_allclose(stepping.coef, in_blocks.coef, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("at_once", [2, 30])
    def test_the_first_sample_of_rows_does_not_matter(self, monkeypatch, at_once):
        X, sign = separable(800, 6)
        whole = maximum_margin(X, sign)
        for name in ("MAX_DIRECT_ROWS", "MIN_SAMPLE_ROWS", "MAX_SAMPLE_ROWS"):
            monkeypatch.setattr(convex_hulls, name, at_once)
        in_parts = maximum_margin(X, sign)
        np.testing.assert_allclose(in_parts.coef, whole.coef, rtol=1e-10)
        np.testing.assert_array_equal(in_parts.support, whole.support)


class TestEstimatedSupport:
    """With many columns the support vectors are estimated first; the solution is exact with any estimate."""

    @pytest.fixture(autouse=True)
    def estimating(self, monkeypatch):
        monkeypatch.setattr(hard_margin, "MIN_ESTIMATED_SIZE", 1)

    @staticmethod
    def without(monkeypatch, X, sign, fit_intercept=True):
        with monkeypatch.context() as direct:
            direct.setattr(hard_margin, "MIN_ESTIMATED_SIZE", 10**9)
            return maximum_margin(X, sign, fit_intercept)

    @pytest.mark.parametrize("form", ["dense", "sparse", "far", "small"])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_it_is_good(self, monkeypatch, fit_intercept, form):
        X, sign = separable(300, 200, gap=0.05, fit_intercept=fit_intercept)
        X = {"dense": X, "sparse": sp.csr_matrix(np.where(X > 0.5, X, 0.0)), "far": X + 100, "small": X * 1e-12}[form]
        found, stepwise = maximum_margin(X, sign, fit_intercept), self.without(monkeypatch, X, sign, fit_intercept)
        assert found.iterations < stepwise.iterations
        assert len(found.support) > 80
        np.testing.assert_array_equal(found.support, stepwise.support)
        np.testing.assert_allclose(found.coef, stepwise.coef, rtol=0, atol=1e-9 * np.abs(found.coef).max())
        assert 0 <= found.duality_gap < 1e-9

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_repeated_rows_do_not_spoil_it(self, fit_intercept):
        X, sign = separable(200, 150, gap=0.05, fit_intercept=fit_intercept)
        again = np.r_[np.arange(200), np.arange(0, 200, 2)]
        found = maximum_margin(X[again], sign[again], fit_intercept)
        assert_optimal(found, X[again], sign[again], fit_intercept)
        assert found.iterations < 10

    @pytest.mark.parametrize(
        "guess", [[0, 1], range(80), range(0, 120, 3), []], ids=["two", "80", "each third", "none"]
    )
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_a_bad_one_does_not_matter(self, monkeypatch, fit_intercept, guess):
        X, sign = separable(120, 90, fit_intercept=fit_intercept)
        right = self.without(monkeypatch, X, sign, fit_intercept)
        monkeypatch.setattr(hard_margin, "estimated_support", lambda _: np.array(guess, dtype=int))
        found = maximum_margin(X, sign, fit_intercept)
        assert_optimal(found, X, sign, fit_intercept)
        np.testing.assert_allclose(found.coef, right.coef, rtol=1e-8, atol=1e-12)

    def test_one_side_alone_is_no_start(self, monkeypatch):
        X, sign = separable(120, 90)
        monkeypatch.setattr(hard_margin, "estimated_support", lambda _: np.flatnonzero(sign > 0)[:5])
        assert_optimal(maximum_margin(X, sign), X, sign)

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_where_there_is_no_margin_it_does_no_harm(self, fit_intercept):
        random = np.random.default_rng(0)
        X, sign = random.standard_normal((150, 20)), random.choice([-1, 1], 150)
        with pytest.raises(NotSeparableError) as caught:
            maximum_margin(X, sign, fit_intercept)
        assert caught.value.witness.check(X, sign) < 1e-12

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
    def test_the_origin_is_on_no_side(self, form):
        X, sign = separable(60, 80, fit_intercept=False)
        X[7] = 0.0
        with pytest.raises(NotSeparableError) as caught:
            maximum_margin(form(X), sign, fit_intercept=False)
        assert caught.value.witness.check(X, sign) == 0


class TestWhatMustNotMatter:
    X, sign = separable(250, 5, gap=0.2, seed=4)
    found = maximum_margin(X, sign)

    def test_order_of_rows(self):
        order = np.random.default_rng(0).permutation(len(self.X))
        shuffled = maximum_margin(self.X[order], self.sign[order])
        np.testing.assert_allclose(shuffled.coef, self.found.coef, rtol=1e-11)
        np.testing.assert_allclose(shuffled.alpha, self.found.alpha[order], rtol=1e-9)

    def test_exchange_of_the_signs(self):
        other = maximum_margin(self.X, -self.sign)
        np.testing.assert_allclose(other.coef, -self.found.coef, rtol=1e-12)
        assert other.intercept == pytest.approx(-self.found.intercept, rel=1e-12)

    @pytest.mark.parametrize("shift", [-1e6, 1e3, 1e6])
    def test_origin(self, shift):
        there = self.X + shift  # the shift rounds the rows at 1e-10
        moved = maximum_margin(there, self.sign)
        back = maximum_margin(there - shift, self.sign)
        np.testing.assert_allclose(moved.coef, back.coef, rtol=1e-12)
        np.testing.assert_allclose(moved.coef, self.found.coef, rtol=1e-8)
        assert (
            self.sign * ((there - shift) @ moved.coef + (moved.intercept + shift * moved.coef.sum()))
        ).min() > 1 - 1e-8

    @pytest.mark.parametrize("factor", [1e-100, 1e-6, 3.0, 1e6, 1e100])
    def test_unit(self, factor):
        scaled = maximum_margin(self.X * factor, self.sign)
        np.testing.assert_allclose(scaled.coef * factor, self.found.coef, rtol=1e-11)
        np.testing.assert_allclose(scaled.alpha * factor**2, self.found.alpha, rtol=1e-9)
        assert scaled.margin == pytest.approx(self.found.margin * factor, rel=1e-12)
        assert scaled.intercept == pytest.approx(self.found.intercept, rel=1e-10)

    def test_rotation(self):
        rotation = ortho_group.rvs(5, random_state=0)
        turned = maximum_margin(self.X @ rotation, self.sign)
        np.testing.assert_allclose(turned.coef, self.found.coef @ rotation, rtol=1e-10)
        assert turned.margin == pytest.approx(self.found.margin, rel=1e-12)

    def test_repeated_rows_and_rows_behind_others(self):
        means = [self.X[self.sign == side].mean(axis=0) for side in (-1, 1)]
        X = np.vstack((self.X, self.X, means))
        sign = np.concatenate((self.sign, self.sign, [-1, 1]))
        more = maximum_margin(X, sign)
        assert_optimal(more, X, sign)
        np.testing.assert_allclose(more.coef, self.found.coef, rtol=1e-11)

    def test_columns_that_are_constant_or_repeated(self):
        more = maximum_margin(np.column_stack((self.X, self.X[:, 0], np.full(len(self.X), 7.0))), self.sign)
        half = more.coef[[0, 5]]
        np.testing.assert_allclose(half[0], half[1], rtol=1e-9)
        assert more.coef[6] == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, pd.DataFrame, np.asfortranarray, np.ndarray.tolist])
    def test_container(self, form):
        other = maximum_margin(form(self.X), self.sign)
        np.testing.assert_allclose(other.coef, self.found.coef, rtol=1e-11)
        np.testing.assert_allclose(other.alpha, self.found.alpha, rtol=1e-9)

    def test_single_precision_is_read_as_it_is(self):
        single = self.X.astype(np.float32)
        np.testing.assert_allclose(
            maximum_margin(single, self.sign).coef, maximum_margin(single.astype(float), self.sign).coef, rtol=1e-12
        )


class TestSparseRows:
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize(("n", "p"), [(80, 5_000), (300, 20_000)])
    def test_wide(self, n, p, fit_intercept):
        X = sp.random(n, p, density=0.005, format="csr", random_state=0)
        sign = np.random.default_rng(0).choice([-1, 1], n)
        found = maximum_margin(X, sign, fit_intercept)
        assert_optimal(found, X, sign, fit_intercept)
        np.testing.assert_allclose(found.coef, maximum_margin(X.toarray(), sign, fit_intercept).coef, atol=1e-9)

    def test_wide_with_repeated_and_empty_rows(self):
        X = sp.random(60, 6_000, density=0.01, format="csr", random_state=1)
        X = sp.vstack((X, X[:20], sp.csr_matrix((3, 6_000))), format="csr")
        sign = np.concatenate((np.tile([1, -1], 30), np.tile([1, -1], 10), [1, 1, 1]))
        assert_optimal(maximum_margin(X, sign), X, sign)

    def test_full_sparse_rows_far_from_the_origin(self):
        X, sign = separable(200, 4)
        far = X + 1e6
        np.testing.assert_allclose(
            maximum_margin(sp.csr_matrix(far), sign).coef, maximum_margin(far, sign).coef, rtol=1e-12
        )


class TestNotSeparable:
    @pytest.mark.parametrize(
        ("X", "sign"),
        [
            ([[1.0], [2.0], [2.0], [3.0]], [-1, -1, 1, 1]),  # a row in common
            ([[0, 0], [2, 2], [1, 1], [5, 0]], [-1, -1, 1, 1]),  # a row on an edge
            ([[0, 0], [2, 2], [0, 2], [2, 0]], [-1, -1, 1, 1]),  # edges that cross
            ([[0, 0], [4, 0], [0, 4], [1, 1]], [-1, -1, -1, 1]),  # a row inside
            ([[3, 3], [3, 3]], [-1, 1]),
        ],
    )
    def test_witness(self, X, sign):
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin(X, np.array(sign))
        assert raised.value.witness.check(X, sign) < 1e-14
        assert isinstance(raised.value, DegenerateDataError)

    def test_a_row_that_both_have_is_the_witness(self):
        X, sign = separable(2_000, 5)
        X[1_500] = X[3]
        sign[[3, 1_500]] = -1, 1
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin(X, sign)
        witness = raised.value.witness
        assert (witness.rows_first.tolist(), witness.rows_second.tolist()) == ([3], [1_500])
        np.testing.assert_array_equal(witness.point, X[3])
        assert witness.distance == 0

    def test_one_row_on_the_wrong_side(self):
        X, sign = separable(3_000, 8, gap=0.01)
        sign[np.argmin(np.linalg.norm(X - X[sign == 1].mean(axis=0), axis=1))] = -1
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin(X, sign)
        assert raised.value.witness.check(X, sign) < 1e-13

    def test_through_the_origin(self):
        X, sign = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 5.0]]), np.array([-1, 1, 1])
        assert maximum_margin(X, sign).margin > 0.1
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin(X, sign, fit_intercept=False)
        assert raised.value.witness.cones
        assert raised.value.witness.check(X, sign) < 1e-14

    def test_origin_itself_is_on_no_side(self):
        X, sign = np.array([[0.0, 0.0], [2.0, 2.0]]), np.array([-1, 1])
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin(X, sign, fit_intercept=False)
        np.testing.assert_array_equal(raised.value.witness.rows_first, [0])
        assert raised.value.witness.check(X, sign) == 0

    def test_error_survives_pickling(self):
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin([[0.0], [0.0]], np.array([-1, 1]))
        copy = pickle.loads(pickle.dumps(raised.value))
        assert str(copy) == str(raised.value)
        np.testing.assert_array_equal(copy.witness.point, [0])

    def test_where_the_search_gives_up_the_linear_programme_decides(self, monkeypatch):
        monkeypatch.setattr(hard_margin, "MAX_STEPS_PER_DIMENSION", 0)
        X, sign = separable()
        with pytest.raises(DegenerateDataError) as raised:
            maximum_margin(X, sign)
        assert not isinstance(raised.value, NotSeparableError)
        sign[sign == 1] = np.where(np.arange((sign == 1).sum()) < 5, -1, 1)
        with pytest.raises(NotSeparableError) as raised:
            maximum_margin(X, sign)
        assert raised.value.witness.check(X, sign) < 1e-13

    def test_separable_by_less_than_can_be_measured(self):
        overlapping, sign = np.random.default_rng(0).normal(size=(100, 2)), np.tile([-1, 1], 50)
        with pytest.raises(DegenerateDataError) as raised:
            maximum_margin(np.column_stack((overlapping, 1e-13 * sign)), sign)
        assert not isinstance(raised.value, NotSeparableError)


class TestBadInput:
    @pytest.mark.parametrize("sign", [[1, 1], [0, 1], [-1, 1, 1], [[-1, 1]]])
    def test_signs(self, sign):
        with pytest.raises(LabelError, match="sign"):
            maximum_margin([[0.0], [1.0]], np.array(sign))

    def test_missing_value_is_named(self):
        frame = pd.DataFrame({"width": [1.0, 2.0, 3.0], "height": [1.0, np.nan, 2.0]})
        with pytest.raises(InputError, match="'height'"):
            maximum_margin(frame, np.array([-1, 1, 1]))

    @pytest.mark.parametrize("value", [1e200, 1e-200])
    def test_values_beyond_squaring(self, value):
        with pytest.raises(InputError, match="column"):
            maximum_margin([[value], [-value]], np.array([-1, 1]))
