"""What would turn a decision: the changed row is decided otherwise, and nothing nearer is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from discriminant import (
    Decision,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    nearest_changes,
    posterior,
    read_training,
)
from discriminant.errors import ParameterError

seeds = st.integers(0, 10_000)


def problem(seed, K=3, p=3, n=60):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=(K, p))[y]
    return X, y


def around(X):
    return X.std(axis=0), X.min(axis=0), X.max(axis=0)


def changed(x, change):
    row = x.copy()
    row[[int(name.removeprefix("x")) for name in change.columns]] = change.after
    return row[None]


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB])
@given(seeds, st.integers(2, 4))
def test_a_single_change_turns_the_decision_and_a_little_less_does_not(kind, seed, K):
    X, y = problem(seed, K)
    model, x = kind().fit(X, y), X[0]
    found = nearest_changes(model, x, *around(X))
    assert found.label == model.predict(x[None])[0]
    for change in found.single:
        assert model.predict(changed(x, change))[0] == change.label != found.label
        almost = changed(x, change)
        j = int(change.columns[0].removeprefix("x"))
        almost[0, j] = x[j] + (change.after[0] - x[j]) * (1 - 1e-9)
        assert model.predict(almost)[0] == found.label
        assert X[:, j].min() <= change.after[0] <= X[:, j].max()
    distances = [change.distance for change in found.single]
    assert distances == sorted(distances)


@given(seeds, st.integers(2, 4))
def test_the_joint_change_of_a_linear_model_is_the_nearest_of_all(seed, K):
    X, y = problem(seed, K)
    model, x = LinearDiscriminantAnalysis().fit(X, y), X[0]
    spread, low, high = around(X)
    found = nearest_changes(model, x, spread, low, high)
    if found.joint is None:
        assert not found.single
        return
    assert model.predict(changed(x, found.joint))[0] == found.joint.label != found.label
    assert all(found.joint.distance <= change.distance * (1 + 1e-6) for change in found.single)
    rng = np.random.default_rng(seed)
    step = rng.normal(size=(500, len(x)))
    step *= 0.999 * found.joint.distance / np.linalg.norm(step, axis=1, keepdims=True)
    nearer = np.clip(x + spread * step, low, high)
    assert set(model.predict(nearer)) == {found.label}


@given(seeds)
def test_two_classes_without_limits_are_a_projection(seed):
    X, y = problem(seed, K=2)
    model, x = LogisticRegression(alpha=0.1).fit(X, y), X[0]
    spread = X.std(axis=0)
    found = nearest_changes(model, x, spread, X.min(axis=0) - 1e3, X.max(axis=0) + 1e3)
    score = abs(model.decision_function(x[None])[0])
    assert_allclose(found.joint.distance, score / np.linalg.norm(spread * model.coef_[0]), rtol=1e-6)


@given(seeds)
def test_units_change_nothing(seed):
    X, y = problem(seed)
    scale = np.array([1e-3, 1.0, 1e4])
    first = nearest_changes(LinearDiscriminantAnalysis().fit(X, y), X[0], *around(X))
    second = nearest_changes(LinearDiscriminantAnalysis().fit(X * scale, y), X[0] * scale, *around(X * scale))
    assert [one.columns for one in first.single] == [one.columns for one in second.single]
    assert_allclose([one.distance for one in first.single], [one.distance for one in second.single], rtol=1e-6)


def test_columns_that_may_not_change_do_not():
    X, y = problem(1)
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = nearest_changes(model, X[0], *around(X), fixed=["x0", "x2"])
    assert {name for one in (*found.single, found.joint) for name in one.columns} == {"x1"}
    with pytest.raises(ParameterError, match="fixed"):
        nearest_changes(model, X[0], *around(X), fixed=["x9"])
    assert "no change" in str(nearest_changes(model, X[0], *around(X), fixed=["x0", "x1", "x2"]))
    with pytest.raises(ParameterError, match="3"):
        nearest_changes(model, X[0, :2], *around(X))


def test_costs_decide_where_they_are_given():
    X, y = problem(3, K=2)
    model, decision = LinearDiscriminantAnalysis().fit(X, y), Decision([[0, 9], [1, 0]])

    def decide(rows):
        return decision.decide(posterior(model, rows))

    found = nearest_changes(model, X[0], *around(X), decide=decide)
    assert found.joint is None
    assert found.label == decide(X[:1])[0]
    assert all(decide(changed(X[0], change))[0] == change.label != found.label for change in found.single)


def test_levels_change_to_levels():
    import pandas as pd

    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 120)
    y = np.where((colour == "red") ^ (rng.uniform(size=120) < 0.1), "yes", "no")
    training = read_training(pd.DataFrame({"colour": colour, "size": rng.normal(size=120), "y": y}), "y")
    model = LogisticRegression(alpha=0.01).fit(training.rows, training.y)
    row = int(np.flatnonzero((colour == "red") & (training.y == "yes"))[0])
    X = training.X
    found = nearest_changes(model, X[row], *around(X), schema=training.schema)
    change = next(one for one in found.single if one.columns == ("colour",))
    assert (change.before, change.distance, change.label) == (("red",), 1.0, "no")
    assert change.after[0] in ("green", "blue")
    assert "decision yes" in str(found)
    assert list(found.to_frame("pandas")["column"]) == [one.columns[0] for one in found.single]
