"""The perceptron makes the updates that are made on paper: by hand, and in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from discriminant import Perceptron

every_form = pytest.mark.parametrize("form", ["primal", "dual"])
every_rule = pytest.mark.parametrize("rule", ["sign", "nonpositive"])
CORNERS = [[0, 0], [0, 1], [1, 0], [1, 1]]
AND, OR = [-1, -1, -1, 1], [-1, 1, 1, 1]

#: Traced by hand: (pass, row, w, b) after each update.
BY_HAND = {
    ("and", "sign"): [
        (1, 0, (0, 0), -1), (1, 3, (1, 1), 0),
        (2, 0, (1, 1), -1), (2, 1, (1, 0), -2), (2, 3, (2, 1), -1),
        (3, 1, (2, 0), -2), (3, 2, (1, 0), -3), (3, 3, (2, 1), -2),
        (4, 2, (1, 1), -3), (4, 3, (2, 2), -2),
        (5, 1, (2, 1), -3),
    ],
    ("and", "nonpositive"): [
        (1, 0, (0, 0), -1), (1, 3, (1, 1), 0),
        (2, 0, (1, 1), -1), (2, 1, (1, 0), -2), (2, 3, (2, 1), -1),
        (3, 1, (2, 0), -2), (3, 2, (1, 0), -3), (3, 3, (2, 1), -2),
        (4, 2, (1, 1), -3), (4, 3, (2, 2), -2),
        (5, 1, (2, 1), -3), (5, 3, (3, 2), -2),
        (6, 1, (3, 1), -3), (6, 2, (2, 1), -4), (6, 3, (3, 2), -3),
        (7, 2, (2, 2), -4), (7, 3, (3, 3), -3),
        (8, 1, (3, 2), -4),
    ],
    ("or", "sign"): [
        (1, 0, (0, 0), -1), (1, 1, (0, 1), 0),
        (2, 0, (0, 1), -1), (2, 2, (1, 1), 0),
        (3, 0, (1, 1), -1),
    ],
    ("or", "nonpositive"): [
        (1, 0, (0, 0), -1), (1, 1, (0, 1), 0), (1, 2, (1, 1), 1),
        (2, 0, (1, 1), 0),
        (3, 0, (1, 1), -1), (3, 1, (1, 2), 0),
        (4, 0, (1, 2), -1), (4, 2, (2, 2), 0),
        (5, 0, (2, 2), -1),
    ],
}  # fmt: skip


def on_paper(X, sides, rule, passes):
    """The updates (pass, row) of decimals as they are written, in fractions; and the last weights."""
    rows = [[*(Fraction(str(value)) for value in row), Fraction(1)] for row in np.asarray(X).tolist()]
    weights, updates = [Fraction(0)] * len(rows[0]), []
    for epoch in range(1, passes + 1):
        before = len(updates)
        for i, (row, side) in enumerate(zip(rows, sides, strict=True)):
            score = sum(w * x for w, x in zip(weights, row, strict=True))
            if side * score <= 0 if rule == "nonpositive" else side * (1 if score >= 0 else -1) < 0:
                weights = [w + int(side) * x for w, x in zip(weights, row, strict=True)]
                updates.append((epoch, i))
        if len(updates) == before:
            break
    return updates, [float(w) for w in weights]


def setosa_and_versicolor():
    """The sepals of two kinds of iris, and their sides."""
    return load_iris().data[:100, :2], np.repeat([-1, 1], 50)


def updates_of(model):
    return [(step.epoch, step.row) for step in model.trace_]


@every_form
@pytest.mark.parametrize(("gate", "rule"), list(BY_HAND))
def test_and_and_or_are_as_traced_by_hand(form, gate, rule):
    y = AND if gate == "and" else OR
    model = Perceptron(form, rule=rule, trace=True).fit(CORNERS, y)
    traced = [(step.epoch, step.row, tuple(step.coef.tolist()), step.intercept) for step in model.trace_]
    assert traced == BY_HAND[gate, rule]
    assert model.converged_
    assert model.n_iter_ == traced[-1][0] + 1
    assert updates_of(model) == on_paper(CORNERS, y, rule, 20)[0]


@every_rule
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_primal_dual_and_fractions_agree_on_200_small_integer_problems(rule):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, p = rng.integers(2, 9), rng.integers(1, 4)
        X, sides = rng.integers(-3, 4, (n, p)), rng.choice([-1, 1], n)
        sides[:2] = -1, 1
        wanted, weights = on_paper(X, sides, rule, 12)
        for form in ("primal", "dual"):
            model = Perceptron(form, rule=rule, trace=True, max_iter=12).fit(X, sides)
            made = updates_of(model)
            # It stops as soon as it runs in a circle; paper goes on.
            assert made == wanted[: len(made)]
            assert model.n_iter_ < 12 or len(made) == len(wanted)
            if model.converged_ and made and made == wanted and model.n_iter_ > wanted[-1][0]:
                assert [*model.coef_[0], model.intercept_[0]] == weights


@pytest.mark.parametrize(("rule", "count"), [("sign", 1_562), ("nonpositive", 1_518)])
def test_ties_between_decimals_are_those_on_paper(rule, count):
    X, sides = setosa_and_versicolor()
    wanted = on_paper(X, sides, rule, 2_000)[0]
    assert len(wanted) == count
    for form, rows in (("primal", X), ("dual", X), ("primal", sp.csr_array(X)), ("primal", X[:, ::-1][:, ::-1])):
        assert updates_of(Perceptron(form, rule=rule, trace=True, max_iter=2_000).fit(rows, sides)) == wanted


def test_the_tie_is_also_one_for_partial_fit():
    X, sides = setosa_and_versicolor()
    stream, passes = Perceptron(rule="nonpositive", eta=0.3), 300
    for _ in range(passes):
        stream.partial_fit(X, sides)
    assert stream.updates_ == len(on_paper(X, sides, "nonpositive", passes)[0])


def test_small_rows_beside_a_large_one_are_no_ties():
    X, sides = [[1e9, 0.0], [0.0, 1e-3], [0.0, -1e-3]], [1, 1, -1]
    for form in ("primal", "dual"):
        model = Perceptron(form, fit_intercept=False).fit(X, sides)
        assert model.converged_
        assert model.score(X, sides) == 1
