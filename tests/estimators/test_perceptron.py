"""The perceptron makes the updates of the textbook, in both forms, and no more of them than the theorem allows."""

import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from discriminant.errors import (
    ColumnError,
    DegenerateDataError,
    DiscriminantError,
    InputError,
    LabelError,
    NotReadyError,
    ParameterError,
)
from discriminant.estimators.perceptron import Perceptron
from discriminant.margins import perceptron as solver
from helpers import fitted_state, normal_classes

FORMS, RULES = ["primal", "dual"], ["sign", "nonpositive"]
every_form = pytest.mark.parametrize("form", FORMS)
every_rule = pytest.mark.parametrize("rule", RULES)


def fit(X, y, **parameters):
    """A perceptron fitted to rows that it need not be able to separate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Perceptron(**parameters).fit(X, y)


def is_mistake(side, score, rule):
    if rule == "nonpositive":
        return side * score <= 0
    return side * (1 if score >= 0 else -1) < 0


class Textbook:
    """The algorithm as a lecture writes it: the rows that caused updates, and the weights after every visit."""

    def __init__(self, X, sides, rule, epochs, eta=1.0, fit_intercept=True):
        X, w, b = np.asarray(X, dtype=float), np.zeros(np.shape(X)[1]), 0.0
        self.updates, self.visits, self.ends = [], [], []
        for epoch in range(1, epochs + 1):
            before = len(self.updates)
            for i in range(len(X)):
                if is_mistake(sides[i], w @ X[i] + b, rule):
                    w = w + eta * sides[i] * X[i]
                    b = b + eta * sides[i] * fit_intercept
                    self.updates.append((epoch, i, w, b))
                self.visits.append(np.append(w, b))
            self.ends.append((w, b))
            if len(self.updates) == before:
                break

    @property
    def average(self):
        return np.mean(self.visits, axis=0)


def mistakes_of(X, sides, w, b, rule):
    return sum(is_mistake(side, w @ row + b, rule) for row, side in zip(np.asarray(X, dtype=float), sides, strict=True))


def overlapping(n=120, p=3, seed=0, K=2):
    """Classes that no plane separates, in mixed order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return rng.normal(size=(K, p))[y] + 1.5 * rng.normal(size=(n, p)), y


def separable(n=60, p=4, seed=0, gap=0.2):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=p)
    X = rng.normal(size=(3 * n, p))
    scores = X @ direction / np.linalg.norm(direction) - 0.3
    X, scores = X[np.abs(scores) > gap][:n], scores[np.abs(scores) > gap][:n]
    return X, (scores > 0).astype(int)


@st.composite
def small_integers(draw):
    """A few rows of small whole numbers, whose sums are exact, and sides of both kinds."""
    n, p = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(st.integers(-3, 3), min_size=p, max_size=p), min_size=n, max_size=n))
    sides = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    assume(len(set(sides)) == 2)
    return np.array(rows, dtype=float), np.array(sides)


# --- the updates ----------------------------------------------------------------------------------------------------

SIX = [[1, 1], [0, 1], [2, 0], [0, -1], [1, 2], [-1, 0]]
SIDES = ["+", "-", "+", "-", "+", "-"]
LABELS = [{"-": 0, "+": 1}[side] for side in SIDES]

# By hand, from w = (0, 0), b = 0; s is the score w'x + b on arrival.
#
# y sign(s) < 0, sign(0) = 1             y s <= 0
# pass 1                                 pass 1
# 0  +  s = 0   right                    0  +  s = 0   w = (1, 1)   b = 1
# 1  -  s = 0   w = (0, -1)  b = -1      1  -  s = 2   w = (1, 0)   b = 0
# 2  +  s = -1  w = (2, -1)  b = 0       2  +  s = 2   right
# 3  -  s = 1   w = (2, 0)   b = -1      3  -  s = 0   w = (1, 1)   b = -1
# 4  +  s = 1   right                    4  +  s = 2   right
# 5  -  s = -3  right                    5  -  s = -2  right
# pass 2                                 pass 2
# s = 1, -1, 3, -1, 1, -3: all right     0  +  s = 1   right
#                                        1  -  s = 0   w = (1, 0)   b = -2
#                                        2  +  s = 0   w = (3, 0)   b = -1
#                                        3  -  s = -1, 4 + s = 2, 5 - s = -4: right
#                                        pass 3
#                                        s = 2, -1, 5, -1, 2, -4: all right
BY_HAND = {
    "sign": (2, [(1, 1, (0, -1), -1), (1, 2, (2, -1), 0), (1, 3, (2, 0), -1)]),
    "nonpositive": (
        3,
        [(1, 0, (1, 1), 1), (1, 1, (1, 0), 0), (1, 3, (1, 1), -1), (2, 1, (1, 0), -2), (2, 2, (3, 0), -1)],
    ),
}


@every_form
@every_rule
def test_six_points_by_hand(form, rule):
    epochs, updates = BY_HAND[rule]
    model = Perceptron(form=form, rule=rule, trace=True).fit(SIX, LABELS)
    assert [(step.epoch, step.row, tuple(step.coef), step.intercept) for step in model.trace_] == updates
    assert [step.updates for step in model.trace_] == list(range(1, len(updates) + 1))
    assert (model.n_iter_, model.updates_, model.mistakes_, model.converged_) == (epochs, len(updates), 0, True)
    assert_array_equal(model.coef_, [updates[-1][2]])
    assert_array_equal(model.intercept_, [updates[-1][3]])
    assert_array_equal(model.predict(SIX), LABELS)


@given(small_integers(), st.sampled_from(RULES), st.booleans(), st.sampled_from([0.25, 1.0, 2.0]))
def test_both_forms_make_the_updates_of_the_textbook(data, rule, fit_intercept, eta):
    X, sides = data
    book = Textbook(X, sides, rule, 8, eta, fit_intercept)
    settings = {"rule": rule, "eta": eta, "fit_intercept": fit_intercept, "max_iter": 8, "trace": True}
    for form in FORMS:
        model = fit(X, sides, form=form, **settings)
        expected = [update for update in book.updates if update[0] <= model.n_iter_]
        assert [(step.epoch, step.row) for step in model.trace_] == [update[:2] for update in expected]
        for step, (_, _, w, b) in zip(model.trace_, expected, strict=True):
            assert_array_equal(step.coef, w)
            assert step.intercept == b


@given(small_integers(), st.sampled_from(RULES), st.integers(0, 5), st.booleans())
def test_both_forms_are_the_same_model_in_any_order(data, rule, seed, average):
    X, sides = data
    settings = {"rule": rule, "shuffle": True, "random_state": seed, "max_iter": 6, "average": average, "trace": True}
    primal, dual = (fit(X, sides, form=form, **settings) for form in FORMS)
    assert [(step.epoch, step.row) for step in primal.trace_] == [(step.epoch, step.row) for step in dual.trace_]
    assert_allclose(primal.coef_, dual.coef_, rtol=1e-12, atol=1e-12)
    assert_allclose(primal.intercept_, dual.intercept_, rtol=1e-12, atol=1e-12)
    assert (primal.updates_, primal.n_iter_, primal.converged_) == (dual.updates_, dual.n_iter_, dual.converged_)


@every_rule
def test_both_forms_agree_on_real_numbers(rule):
    X, y = overlapping()
    primal, dual = (fit(X, y, form=form, rule=rule, max_iter=20, trace=True) for form in FORMS)
    assert [(step.epoch, step.row) for step in primal.trace_] == [(step.epoch, step.row) for step in dual.trace_]
    assert_allclose(dual.coef_, primal.coef_, rtol=1e-10)
    assert primal.mistakes_ == dual.mistakes_


@every_rule
@pytest.mark.parametrize("data", [separable(), overlapping()], ids=["separable", "overlapping"])
def test_the_weights_are_the_sum_over_the_updates_of_each_row(rule, data):
    X, y = data
    model = fit(X, y, form="dual", rule=rule, eta=0.3, max_iter=30, trace=True)
    sides = 2 * y - 1
    assert model.alpha_.dtype.kind == "i"
    assert_allclose(model.coef_[0], 0.3 * (model.alpha_ * sides) @ X, rtol=1e-10)
    assert_allclose(model.intercept_[0], 0.3 * (model.alpha_ * sides).sum(), rtol=1e-10)
    if model.converged_:
        counts = np.bincount([step.row for step in model.trace_], minlength=len(y))
        assert_array_equal(model.alpha_, counts)
        assert model.alpha_.sum() == model.updates_


@every_form
@pytest.mark.parametrize("eta", [0.1, 0.3, 7.0, 1e-3])
def test_the_step_scales_the_weights_and_nothing_else(form, eta):
    X, y = overlapping()
    one, other = (fit(X, y, form=form, eta=step, max_iter=15, trace=True) for step in (1.0, eta))
    assert [(step.epoch, step.row) for step in one.trace_] == [(step.epoch, step.row) for step in other.trace_]
    assert_array_equal(eta * one.coef_, other.coef_)
    assert_array_equal(eta * one.intercept_, other.intercept_)


@given(small_integers())
def test_swapping_the_classes_turns_the_weights_around(data):
    X, sides = data
    model, turned = (fit(X, side, rule="nonpositive", max_iter=5) for side in (sides, -sides))
    assert_array_equal(model.coef_, -turned.coef_)
    assert_array_equal(model.intercept_, -turned.intercept_)


@given(small_integers(), st.randoms(use_true_random=False))
def test_permuting_columns_permutes_weights(data, random):
    X, sides = data
    order = list(range(X.shape[1]))
    random.shuffle(order)
    assert_array_equal(fit(X, sides, max_iter=5).coef_[:, order], fit(X[:, order], sides, max_iter=5).coef_)


def test_a_score_of_zero_is_the_second_class():
    """By sign(0) = 1 the row at 0 is right from the start, and so it is predicted."""
    model = Perceptron(rule="sign", fit_intercept=False).fit([[0.0], [-1.0]], ["yes", "no"])
    assert_array_equal(model.decision_function([[0.0], [-1.0]]), [0.0, -1.0])
    assert_array_equal(model.predict([[0.0], [-1.0]]), ["yes", "no"])
    assert model.converged_


# --- against scikit-learn -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [1, 2, 7])
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_same_weights_as_scikit_learn(epochs, K, fit_intercept):
    X, y = normal_classes(n=200, p=5, K=K)
    model = Perceptron(rule="nonpositive", fit_intercept=fit_intercept)
    for _ in range(epochs):
        model.partial_fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = linear_model.Perceptron(
            shuffle=False, tol=None, penalty=None, max_iter=epochs, fit_intercept=fit_intercept
        ).fit(X, y)
    assert_allclose(model.coef_, other.coef_, rtol=1e-10, atol=1e-10)
    assert_allclose(model.intercept_, other.intercept_, rtol=1e-10, atol=1e-10)
    assert_array_equal(model.predict(X), other.predict(X))
    assert model.n_iter_ == epochs


def test_the_same_average_as_scikit_learn():
    X, y = overlapping()
    model = Perceptron(rule="nonpositive", average=True, max_iter=4, eta=0.5).fit(X, y)
    other = linear_model.SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=0.5, average=True, shuffle=False, tol=None,
        max_iter=4,
    ).fit(X, y)  # fmt: skip
    assert_allclose(model.coef_, other.coef_, rtol=1e-10)
    assert_allclose(model.intercept_, other.intercept_, rtol=1e-10)


# --- classes that cannot be separated -------------------------------------------------------------------------------

EXCLUSIVE_OR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


@every_form
@every_rule
@pytest.mark.parametrize("seed", range(4))
def test_the_best_weights_at_the_end_of_a_pass_are_kept(form, rule, seed):
    X, y = overlapping(seed=seed)
    sides = 2 * y - 1
    book = Textbook(X, sides, rule, 25)
    counts = [mistakes_of(X, sides, w, b, rule) for w, b in book.ends]
    best_w, best_b = book.ends[int(np.argmin(counts))]
    model = fit(X, y, form=form, rule=rule, max_iter=25)
    assert model.mistakes_ == min(counts) == np.sum(model.predict(X) != y)
    assert_allclose(model.coef_[0], best_w, rtol=1e-10)
    assert_allclose(model.intercept_[0], best_b, rtol=1e-10)
    assert (model.n_iter_, model.updates_) == (25, len(book.updates))
    assert not model.converged_


@given(small_integers(), st.sampled_from(RULES), st.sampled_from(FORMS))
def test_the_mistakes_told_are_those_of_the_weights_kept(data, rule, form):
    X, sides = data
    model = fit(X, sides, rule=rule, form=form, max_iter=6)
    assert model.mistakes_ == mistakes_of(X, sides, model.coef_[0], model.intercept_[0], rule)
    assert model.converged_ == (model.mistakes_ == 0)


def test_weights_without_mistakes_are_found_on_the_last_pass():
    """One pass corrects everything; that nothing is left to correct is counted, not learned in a second pass."""
    model = Perceptron(max_iter=1).fit(SIX, LABELS)
    assert (model.n_iter_, model.mistakes_, model.converged_) == (1, 0, True)


def test_what_remains_wrong_is_told():
    X, y = overlapping()
    names = np.array(["ham", "spam"])[y]
    words = "12.* {}.*'spam'.*'ham'.*separability.*average=True"
    mistakes = fit(X, names, max_iter=12).mistakes_
    with pytest.warns(ConvergenceWarning, match=words.format(mistakes)) as caught:
        Perceptron(max_iter=12).fit(X, names)
    assert [warning.filename for warning in caught] == [__file__]


@every_form
@every_rule
def test_running_in_a_circle_is_noticed(form, rule):
    with pytest.warns(ConvergenceWarning, match=r"\d+.*\d+") as caught:
        model = Perceptron(form=form, rule=rule, eta=0.1).fit(*EXCLUSIVE_OR)
    since, again = map(int, re.findall(r"(\d+) and (\d+)", str(caught[0].message))[0])
    ends = Textbook(EXCLUSIVE_OR[0], 2 * EXCLUSIVE_OR[1] - 1, rule, again).ends
    assert_array_equal(ends[since - 1][0], ends[again - 1][0])
    assert ends[since - 1][1] == ends[again - 1][1]
    assert model.n_iter_ == again < 20


def test_rows_in_random_order_are_never_called_a_circle():
    model = fit(*EXCLUSIVE_OR, shuffle=True, random_state=0, max_iter=50)
    assert model.n_iter_ == 50


@every_form
@every_rule
@pytest.mark.parametrize("data", [separable(), overlapping(), EXCLUSIVE_OR], ids=["separable", "overlapping", "xor"])
def test_the_average_is_that_of_the_weights_after_every_visit(form, rule, data):
    X, y = data
    sides = 2 * y - 1
    book = Textbook(X, sides, rule, 12)
    model = Perceptron(form=form, rule=rule, average=True, max_iter=12).fit(X, y)
    assert_allclose(np.append(model.coef_, model.intercept_), book.average, rtol=1e-9, atol=1e-12)
    assert model.updates_ == len(book.updates)
    assert model.mistakes_ == mistakes_of(X, sides, model.coef_[0], model.intercept_[0], rule)
    if form == "dual":
        assert model.alpha_.sum() == model.updates_


def test_the_average_of_sparse_rows_is_that_of_dense_ones():
    X, y = overlapping(p=6)
    X[np.abs(X) < 0.8] = 0
    dense, sparse = (Perceptron(average=True, max_iter=5).fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert_allclose(dense.coef_, sparse.coef_, rtol=1e-12)


# --- the bound ------------------------------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize(("rule", "alignment"), [("sign", 1.0), ("nonpositive", 7 / np.sqrt(50))])
def test_the_certificate_of_six_points_by_hand(form, rule, alignment):
    """The widest margin of these points is 1 / sqrt(5), along (2, 0, -1); the longest of them is (1, 2, 1)."""
    found = Perceptron(form=form, rule=rule, eta=0.5).fit(SIX, LABELS).certificate()
    assert_allclose([found.R, found.gamma, found.bound], [np.sqrt(6), 1 / np.sqrt(5), 30], rtol=1e-9)
    assert found.updates == len(BY_HAND[rule][1])
    assert_allclose(found.alignment, alignment, rtol=1e-9)
    assert_allclose(found.least_alignment, np.sqrt(found.updates / 30), rtol=1e-9)
    assert re.search(rf"^Updates: {found.updates} .*: 30, ", str(found))


@given(st.integers(0, 10_000), st.sampled_from(RULES), st.booleans(), st.booleans(), st.integers(1, 6))
def test_updates_stay_within_the_bound(seed, rule, shuffle, fit_intercept, p):
    X, y = separable(n=40, p=p, seed=seed, gap=0.05)
    if not fit_intercept:
        y = (X @ np.arange(1, p + 1) > 0).astype(int)
    assume(0 < y.sum() < len(y))
    model = fit(X, y, rule=rule, shuffle=shuffle, random_state=seed, fit_intercept=fit_intercept, max_iter=300)
    found = model.certificate()
    assert model.updates_ <= found.bound * (1 + 1e-9)
    assert found.least_alignment - 1e-9 <= found.alignment <= 1 + 1e-9
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    assert_allclose(found.R, np.linalg.norm(rows, axis=1).max(), rtol=1e-12)
    weights = np.append(model.coef_, model.intercept_)[: rows.shape[1]]
    if model.converged_:  # no separating direction has a wider margin
        assert np.min((2 * y - 1) * (rows @ weights)) / np.linalg.norm(weights) <= found.gamma * (1 + 1e-9)


def test_sparse_rows_have_the_certificate_of_dense_ones():
    X, y = separable()
    dense, sparse = (Perceptron().fit(rows, y).certificate() for rows in (X, sp.csr_array(X)))
    for name in ("R", "gamma", "updates", "alignment"):
        assert_allclose(getattr(dense, name), getattr(sparse, name), rtol=1e-8)


@pytest.mark.parametrize("multiclass", ["one-vs-rest", "one-vs-one"])
def test_many_classes_have_a_certificate_each(multiclass):
    corners = np.array([[4.0, 0.0], [-4.0, 4.0], [-4.0, -4.0]])
    y = np.arange(60) % 3
    X = corners[y] + np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    model = Perceptron(multiclass=multiclass).fit(X, y)
    found = model.certificate()
    assert [one.updates for one in found] == model.updates_.tolist()
    assert all(one.updates <= one.bound for one in found)


def test_without_separation_there_is_no_certificate():
    X, y = overlapping()
    names = np.array(["ham", "spam"])[y]
    with pytest.raises(DegenerateDataError, match=r"'spam'.*'ham'"):
        fit(X, names, max_iter=2).certificate()


def test_a_certificate_needs_the_rows_of_fit():
    X, y = separable()
    model = Perceptron().fit(X, y)
    model.certificate()
    for other in (pickle.loads(pickle.dumps(model)), clone(model).partial_fit(X, y), model.partial_fit(X, y)):
        with pytest.raises(NotReadyError, match="rows"):
            other.certificate()
    with pytest.raises(NotFittedError):
        Perceptron().certificate()


# --- however the rows come ------------------------------------------------------------------------------------------


def containers(X):
    names = [f"x{j}" for j in range(X.shape[1])]
    return {
        "Fortran order": np.asfortranarray(X),
        "every second": np.repeat(X, 2, axis=0)[::2],
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names),
        "CSR": sp.csr_array(X),
        "CSC": sp.csc_matrix(X),
        "wide indices": sp.csr_array((sp.csr_array(X).data, *(a.astype(np.int64) for a in _indices(X))), shape=X.shape),
        "read-only": _frozen(X),
    }


def _indices(X):
    whole = sp.csr_array(X)
    return whole.indices, whole.indptr


def _frozen(X):
    copy = X.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("name", containers(np.eye(2)))
@pytest.mark.parametrize("settings", [{}, {"shuffle": True, "random_state": 3}, {"average": True}], ids=str)
def test_it_does_not_matter_how_rows_come(name, settings):
    """Whole numbers, whose sums are exact, in more than one block."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, size=(20_000, 3)).astype(float)
    y = (X @ [1, 2, -1] + rng.normal(size=20_000) > 1).astype(int)
    expected, model = (fit(rows, y, max_iter=3, **settings) for rows in (X, containers(X)[name]))
    assert_array_equal(model.coef_, expected.coef_)
    assert_array_equal(model.intercept_, expected.intercept_)
    assert_array_equal(model.updates_, expected.updates_)
    assert model.mistakes_ == expected.mistakes_


@every_form
@pytest.mark.parametrize("kind", [np.float32, np.int8, bool, list])
def test_numbers_of_any_kind_are_read(form, kind):
    X = np.random.default_rng(0).integers(0, 2, size=(80, 5))
    y = (X.sum(axis=1) > 2).astype(int)
    rows = X.tolist() if kind is list else X.astype(kind)
    assert_array_equal(fit(rows, y, form=form).coef_, fit(X.astype(float), y, form=form).coef_)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_single_precision_is_summed_in_double(container):
    X, y = overlapping(n=2000)
    X = X.astype(np.float32)
    single, double = (fit(container(rows), y, max_iter=4) for rows in (X, X.astype(float)))
    assert_allclose(single.coef_, double.coef_, rtol=1e-12)
    assert single.coef_.dtype == np.float64


def test_the_dual_form_reads_sparse_rows():
    X, y = overlapping(p=6)
    X[np.abs(X) < 0.8] = 0
    dense, sparse = (fit(rows, y, form="dual", max_iter=9) for rows in (X, sp.csr_array(X)))
    assert_array_equal(dense.alpha_, sparse.alpha_)
    assert_allclose(dense.coef_, sparse.coef_, rtol=1e-12)


def test_rows_in_blocks_have_the_products_of_the_whole():
    """Wide rows come in blocks of some hundred."""
    X = np.random.default_rng(0).normal(size=(700, 4000)).astype(np.float32)
    table = solver.RowBlocks(solver.DenseRows(np.asfortranarray(X)))
    assert table.rows.block_rows < 700
    whole = X.astype(float)
    assert_allclose(solver.gram_matrix(table, True), whole @ whole.T + 1, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", ["C", "F"])
def test_rows_are_not_copied_whole(layout):
    X, y = normal_classes(n=300_000, p=8, K=2)
    X = np.asarray(X, dtype=np.float32, order=layout)
    fit(X[:1000], y[:1000], max_iter=1)
    tracemalloc.start()
    try:
        fit(X, y, max_iter=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    labels = 8 * 3 * len(y)
    assert peak < labels + X.nbytes / 3


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"average": True}, {"shuffle": True, "random_state": 2}], ids=str)
@pytest.mark.parametrize("K", [2, 3])
def test_a_pass_of_a_stream_is_an_epoch(settings, K):
    X, y = overlapping(n=90, K=K)
    stream = Perceptron(**settings)
    for _ in range(4):
        stream.partial_fit(X, y)
    whole = fit(X, y, max_iter=4, **settings)
    for one, other in zip(stream.walks_, whole.walks_, strict=True):
        assert_array_equal(one.weights, other.weights)
        assert_array_equal(one.lag, other.lag)
    assert_array_equal(stream.updates_, whole.updates_)
    if "average" in settings:
        assert_array_equal(stream.coef_, whole.coef_)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("multiclass", ["one-vs-rest", "one-vs-one"])
def test_chunks_in_a_row_are_one_pass(average, multiclass):
    X, y = normal_classes(n=90, p=3, K=4)
    settings = {"average": average, "multiclass": multiclass}
    whole = Perceptron(**settings).partial_fit(X, y)
    stream = Perceptron(**settings)
    for start in range(0, 90, 7):
        stream.partial_fit(X[start : start + 7], y[start : start + 7], classes=range(4))
    assert_array_equal(stream.coef_, whole.coef_)
    assert_array_equal(stream.intercept_, whole.intercept_)
    assert_array_equal(stream.predict(X), whole.predict(X))


def test_a_stream_goes_on_from_where_training_stopped():
    X, y = overlapping()
    model = fit(X, y, max_iter=3)
    stored = pickle.loads(pickle.dumps(model))
    for other in (model, stored):
        other.partial_fit(X, y)
        w, b = Textbook(X, 2 * y - 1, "sign", 4).ends[-1]
        assert_allclose(other.coef_[0], w, rtol=1e-10)
        assert_allclose(other.intercept_[0], b, rtol=1e-10)
        assert not {"mistakes_", "converged_", "_training"} & set(vars(other))


def test_a_stream_may_change_its_step():
    X, y = overlapping()
    model = Perceptron(eta=1.0).partial_fit(X, y)
    start = np.append(model.coef_, model.intercept_)
    model.set_params(eta=0.25, trace=True).partial_fit(X, y)
    first = model.trace_[0]
    side = 2 * y[first.row] - 1
    assert_allclose(
        np.append(first.coef, first.intercept) - start, 0.25 * side * np.append(X[first.row], 1), atol=1e-12
    )


def test_a_stream_that_has_seen_one_class_claims_nothing_else():
    model = Perceptron().partial_fit(SIX, np.zeros(6), classes=[0, 1])
    assert_array_equal(model.classes_, [0, 1])
    assert set(model.predict(SIX)) == {0}


def test_the_dual_form_has_no_stream():
    assert not hasattr(Perceptron(form="dual"), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        Perceptron(form="dual").partial_fit(SIX, LABELS)
    assert "Use form='primal'" in str(caught.value.__cause__)


# --- many classes ---------------------------------------------------------------------------------------------------


@every_form
def test_one_against_the_rest_is_a_perceptron_for_each_class(form):
    X, y = normal_classes(n=90, p=3, K=4)
    labels = np.array(list("abcd"))
    names = labels[y]
    model = fit(X, names, form=form, max_iter=15)
    for k, name in enumerate("abcd"):
        one = fit(X, names == name, form=form, max_iter=15)
        assert_array_equal(model.coef_[k], one.coef_[0])
        assert (model.intercept_[k], model.updates_[k], model.mistakes_[k]) == (
            one.intercept_[0],
            one.updates_,
            one.mistakes_,
        )
        if form == "dual":
            assert_array_equal(model.alpha_[k], one.alpha_)
    assert_array_equal(
        model.predict(X), np.array(list("abcd"))[np.argmax(X @ model.coef_.T + model.intercept_, axis=1)]
    )


@every_form
def test_one_against_one_is_a_perceptron_for_each_pair(form):
    X, y = normal_classes(n=90, p=3, K=4)
    model = fit(X, y, form=form, multiclass="one-vs-one", max_iter=15)
    votes = np.zeros((90, 4))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for m, (a, b) in enumerate(pairs):
        chosen = (y == a) | (y == b)
        one = fit(X[chosen], y[chosen], form=form, max_iter=15)
        assert_allclose(model.coef_[m], one.coef_[0], rtol=1e-10)
        assert (model.updates_[m], model.mistakes_[m]) == (one.updates_, one.mistakes_)
        if form == "dual":
            assert_array_equal(model.alpha_[m][chosen], one.alpha_)
            assert not model.alpha_[m][~chosen].any()
        votes[np.arange(90), np.where(one.predict(X) == a, a, b)] += 1
    clear = np.sort(votes, axis=1)[:, -1] > np.sort(votes, axis=1)[:, -2]
    assert clear.sum() > 60
    assert_array_equal(model.predict(X)[clear], np.argmax(votes, axis=1)[clear])


def whole_numbers_that_can_be_separated_in_pairs(seeds=4000, wanted=8):
    """Three classes of small whole numbers, on which scores of exactly 0 are common."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, size=(9, 2))
        y = np.argmax(X @ rng.integers(-2, 3, size=(2, 3)), axis=1)
        if len(set(y)) == 3 and fit(X, y, multiclass="one-vs-one", max_iter=100).converged_:
            found.append((X, y))
        if len(found) == wanted:
            return found
    raise AssertionError("too few problems")


@every_form
def test_pairs_learned_without_mistakes_classify_without_mistakes(form):
    """A score of 0 is the second class's for three classes as it is for two, else these rows lose their votes."""
    zeros = 0
    for X, y in whole_numbers_that_can_be_separated_in_pairs():
        model = fit(X, y, form=form, multiclass="one-vs-one")
        assert model.converged_
        assert_array_equal(model.predict(X), y)
        zeros += np.count_nonzero(X @ model.coef_.T + model.intercept_ == 0)
        stream = Perceptron(multiclass="one-vs-one")
        for _ in range(model.n_iter_):
            stream.partial_fit(X, y)
        assert_array_equal(stream.predict(X), y)
    assert zeros


@pytest.mark.parametrize("multiclass", ["one-vs-rest", "one-vs-one"])
def test_threads_leave_no_trace_in_the_result(multiclass):
    X, y = normal_classes(n=200, p=3, K=5)
    settings = {"multiclass": multiclass, "max_iter": 6, "shuffle": True, "random_state": 0}
    alone, together = (fit(X, y, n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
    assert_array_equal(alone.coef_, together.coef_)
    assert_array_equal(alone.decision_function(X), together.decision_function(X))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_mistakes_among_many_rows_are_counted_in_parts(container, n_jobs):
    X, y = normal_classes(n=40_000, p=3, K=2)
    model = fit(container(X), y, n_jobs=n_jobs, max_iter=2)
    assert model.mistakes_ == np.count_nonzero(model.predict(X) != y) > 0


def test_the_worst_of_many_problems_is_told():
    X, y = normal_classes(n=90, p=3, K=3)
    mistakes = fit(X, y, max_iter=5).mistakes_
    worst = int(np.argmax(mistakes))
    words = rf"{mistakes[worst]}.*class {worst}.*separability\(X, y == {worst}\)"
    with pytest.warns(ConvergenceWarning, match=words):
        Perceptron(max_iter=5).fit(X, y)


def test_traces_of_many_classes_are_one_for_each():
    X, y = normal_classes(n=60, p=3, K=3)
    model = fit(X, y, max_iter=3, trace=True)
    assert [len(steps) for steps in model.trace_] == model.updates_.tolist()


# --- what cannot be used --------------------------------------------------------------------------------------------

X_GOOD, Y_GOOD = separable()


def refused(model, error, words, call):
    before = fitted_state(model)
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, DiscriminantError)
    for word in words:
        assert re.search(word, str(caught.value)), f"{word!r} is not in: {caught.value}"
    assert fitted_state(model) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("form", v) for v in ("both", None)],
        *[("rule", v) for v in ("negative", 1)],
        *[("eta", v) for v in (0, -1.0, np.nan, np.inf, "small", None)],
        *[("max_iter", v) for v in (0, -1, 1.5, "many")],
        *[("multiclass", v) for v in ("ovr", None)],
        *[("n_jobs", v) for v in (0, 1.5, "2", True)],
        *[("random_state", v) for v in (-1, "seed", 1.5)],
    ],
)
def test_parameters_that_cannot_be_are_refused(name, value):
    model = Perceptron(shuffle=True).fit(X_GOOD, Y_GOOD).set_params(**{name: value})
    refused(model, ParameterError, [name, re.escape(repr(value))], lambda: model.fit(X_GOOD, Y_GOOD))


@every_form
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame], ids=["dense", "sparse", "frame"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_missing_and_infinite_values_are_named_by_place(form, container, value, word):
    bad = X_GOOD.copy()
    bad[7, 2] = value
    model = Perceptron(form=form).fit(container(X_GOOD), Y_GOOD)
    words = [word, "column '?2", "row 7"]
    refused(model, InputError, words, lambda: model.fit(container(bad), Y_GOOD))
    if form == "primal":
        refused(model, InputError, words, lambda: model.partial_fit(container(bad), Y_GOOD))


def test_a_bad_value_in_a_later_block_is_named_by_its_row():
    X, y = normal_classes(n=40_000, p=3, K=2)
    X[39_000, 1] = np.nan
    for rows in (X, np.asfortranarray(X)):
        refused(Perceptron(), InputError, ["NaN", "column 1", "row 39000"], lambda rows=rows: Perceptron().fit(rows, y))


@every_form
def test_values_too_large_to_multiply_are_named_by_column(form):
    bad = X_GOOD.copy()
    bad[:, 2] *= 1e200
    model = Perceptron(form=form)
    refused(model, InputError, ["column 2", "too large"], lambda: model.fit(bad, Y_GOOD))


def test_weights_that_overflow_on_the_last_row_of_a_stream_are_refused():
    model = Perceptron().partial_fit([[1e308], [1.0]], [0, 1])
    refused(model, InputError, ["too large"], lambda: model.partial_fit([[1e308]], [0]))


def test_the_dual_form_refuses_more_rows_than_it_can_pair():
    X, y = normal_classes(n=10_001, p=2, K=2)
    words = ["10,000", "10,001", "form='primal'"]
    refused(Perceptron(form="dual"), InputError, words, lambda: Perceptron(form="dual").fit(X, y))


@pytest.mark.parametrize(
    ("rows", "labels", "error", "words"),
    [
        (X_GOOD[:0], Y_GOOD[:0], InputError, ["0 sample"]),
        (X_GOOD[:, :0], Y_GOOD, InputError, ["0 feature"]),
        (X_GOOD, Y_GOOD[:-1], InputError, ["one label per row"]),
        (X_GOOD.ravel(), Y_GOOD, InputError, ["[Rr]eshape"]),
        (X_GOOD, np.zeros(len(Y_GOOD)), LabelError, ["one class"]),
        (X_GOOD, X_GOOD[:, 0], LabelError, ["continuous"]),
        (X_GOOD, None, LabelError, ["label per row"]),
        ([["a"]] * len(Y_GOOD), Y_GOOD, InputError, ["not numbers"]),
        (X_GOOD + 1j, Y_GOOD, InputError, ["[Cc]omplex"]),
    ],
)
def test_rows_and_labels_that_cannot_be_used_are_refused(rows, labels, error, words):
    model = Perceptron().fit(X_GOOD, Y_GOOD)
    refused(model, error, words, lambda: model.fit(rows, labels))


def test_other_columns_and_labels_in_a_stream_leave_no_trace():
    model = Perceptron().partial_fit(X_GOOD, Y_GOOD)
    refused(model, ColumnError, ["3 features"], lambda: model.partial_fit(X_GOOD[:, :3], Y_GOOD))
    refused(model, LabelError, ["7"], lambda: model.partial_fit(X_GOOD, np.full(len(Y_GOOD), 7)))
    refused(model, LabelError, ["changed"], lambda: model.partial_fit(X_GOOD, Y_GOOD, classes=[0, 2]))


def test_another_form_of_many_classes_does_not_disturb_a_stream():
    X, y = normal_classes(n=90, p=3, K=4)
    model, same = (Perceptron().partial_fit(X, y) for _ in range(2))
    model.set_params(multiclass="one-vs-one").partial_fit(X, y)
    assert_array_equal(model.coef_, same.partial_fit(X, y).coef_)


def test_unfitted_models_do_not_predict():
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(Perceptron(), method)(SIX)
