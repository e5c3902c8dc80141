"""The family of pairs: bins and levels, the selection of interactions, and the rules that follow."""

import numpy as np
import pandas as pd
import pytest

from discriminant import AutoClassifier
from discriminant.data import as_rows, labelled_rows
from discriminant.errors import DegenerateDataError
from discriminant.estimators.pairs import N_BINS, N_SMOOTH, SMOOTHNESS, Candidate, Terms, bins, pairs_rule
from discriminant.estimators.tuning import Training
from discriminant.folds import HeldOut
from discriminant.rules import log_softmax


def training_of(X, y, is_indicator=None, weight=None):
    data = labelled_rows(as_rows(np.asarray(X, dtype=float), is_indicator=is_indicator), y, weight)
    return Training(data, HeldOut.repeated(data.codes), data, 1)


def attributes(n=400, n_levels=3, p=4, seed=0):
    return np.random.default_rng(seed).integers(1, n_levels + 1, (n, p))


class TestBins:
    def test_few_distinct_values_have_a_bin_each(self):
        x = np.repeat([1.0, 2.0, 5.0], [10, 20, 30])
        found = bins(3, x)
        assert found.column == 3
        assert found.breaks.tolist() == [1.5, 3.5]
        assert found.n_outputs == 2

    def test_functions_are_centred_steps_with_the_prior_of_second_differences(self):
        x = np.arange(160.0) // 20
        values = bins(0, x).evaluate(x)
        assert values.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert (values**2).sum(axis=1).mean() == pytest.approx(1)
        # the covariance of an effect with independent unit coefficients, against its definition
        D = np.diff(np.eye(8), 2, axis=0)
        H = np.eye(8) - 1 / 8
        prior = H @ np.linalg.inv(np.eye(8) + SMOOTHNESS * D.T @ D) @ H
        own = values[::20] @ values[::20].T
        np.testing.assert_allclose(own, prior / (np.trace(prior) / 8), atol=1e-12)

    def test_many_values_are_cut_at_quantiles(self):
        x = np.random.default_rng(0).lognormal(size=800)
        found = bins(0, x)
        counts = np.bincount(np.searchsorted(found.breaks, x, side="right"))
        assert counts.tolist() == [800 // N_BINS] * N_BINS
        assert found.n_outputs == N_SMOOTH

    @pytest.mark.parametrize("x", [[3.0] * 9, [np.nextafter(1.0, 2)] * 4 + [1.0] * 5])
    def test_constants_and_neighbouring_numbers(self, x):
        found = bins(0, np.array(x))
        if len(set(x)) == 1:
            assert found is None
        else:
            assert len(np.unique(found.evaluate(np.array(x)))) == 2


def test_levels_of_a_category_are_one_factor():
    levels = np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 2]]
    other = np.eye(2)[[0, 1, 0, 0, 1, 1, 1, 0]]
    number = np.arange(8.0)[:, None]
    X = np.hstack((levels, other, number, np.ones((8, 1))))
    rows = as_rows(X, is_indicator=np.array([True] * 5 + [False] * 2))
    terms = Terms.of(rows, X)
    assert terms.factor.tolist() == [0, 0, 0, 1, 1, *[2] * 7]
    assert terms.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert terms.n_products.tolist() == [6, 21, 14]
    with pytest.raises(DegenerateDataError, match="constant"):
        Terms.of(as_rows(np.ones((5, 2))), np.ones((5, 2)))


def test_the_score_of_a_pair_is_that_of_its_products():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    terms = Terms.of(as_rows(X), X)
    columns = terms.basis(np.zeros(0, int))[0].expand(X)
    residuals, variances = rng.normal(size=(60, 2)), rng.random((60, 2))
    found = terms.scores(columns, residuals, variances)
    for place, score in enumerate(found):
        basis, of_pair = terms.basis(np.array([place]))
        products = basis.expand(X)[:, of_pair >= 0]
        length = ((products.T @ residuals) ** 2).sum()
        expected = (products**2).T @ variances
        assert score == pytest.approx((length - expected.sum()) / np.sqrt(2 * (expected**2).sum()))


@pytest.mark.parametrize("coded", [False, True])
def test_classes_by_equal_levels_are_found(coded):
    X = attributes()
    y = (X[:, 0] == X[:, 1]) | (X[:, 3] == 1)
    indicators = np.hstack([(X[:, [j]] == np.arange(1, 4)) for j in range(4)])
    new = attributes(seed=1)
    rows = indicators if coded else X
    found = pairs_rule(training_of(rows, y, np.ones(12, bool) if coded else None))
    assert found.loss < 0.05
    scores = found.rule.scores(
        np.hstack([(new[:, [j]] == np.arange(1, 4)) for j in range(4)]).astype(float) if coded else new.astype(float)
    )
    truth = (new[:, 0] == new[:, 1]) | (new[:, 3] == 1)
    assert np.mean(scores.argmax(axis=1) == truth) == 1.0


def test_rules_of_many_weak_pairs_are_found():
    X = attributes(p=6)
    assert pairs_rule(training_of(X, (X == 1).sum(axis=1) == 2)).loss < 0.1


def test_pairs_are_selected_by_training_rows_only():
    """Held-out losses of noise are those of the class proportions, although some of many pairs fit it by chance."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (150, 25)), np.repeat([0, 1], 75)
    assert pairs_rule(training_of(X, y)).loss > 0.68


def test_held_out_posteriors_and_rule_agree_with_the_candidate():
    X = attributes(200)
    y = np.where(X[:, 0] == X[:, 2], "a", np.where(X[:, 1] == 2, "b", "c"))
    training = training_of(X, y)
    found = pairs_rule(training)
    assert found.loss == pytest.approx(training.loss(found.log_posteriors))
    assert found.settings["pairs"] in range(1, 7)
    terms = Terms.of(training.data.rows, training.values)
    chosen = np.zeros((training.held.seen.shape[1], 6), dtype=bool)
    chosen[:, [0, 4]] = True
    own = Candidate.of(training, terms, np.array([0.1, 0.01, 0.001]), chosen)
    rule = own.tuned(training).rule
    theta = own.choice.best.theta[-1]
    np.testing.assert_allclose(
        log_softmax(rule.scores(X.astype(float))), log_softmax(own.objective.scores(theta)), atol=1e-10
    )


def test_many_rows_are_fitted_beyond_the_subsample(monkeypatch):
    monkeypatch.setattr("discriminant.estimators.auto.MAX_TUNING_ROWS", 300)
    X = attributes(3000)
    y = X[:, 0] == X[:, 1]
    model = AutoClassifier(["pairs"]).fit(X, y)
    assert model.score(attributes(seed=2), attributes(seed=2)[:, 0] == attributes(seed=2)[:, 1]) == 1.0


def test_a_frame_with_levels_and_missing_values():
    X = attributes(500)
    frame = pd.DataFrame({"a": np.array(list("xyz"))[X[:, 0] - 1], "b": np.array(list("xyz"))[X[:, 1] - 1]})
    frame["c"] = np.where(np.arange(500) % 7 == 0, np.nan, X[:, 2])
    y = np.where(X[:, 0] == X[:, 1], "equal", "not")
    model = AutoClassifier(["pairs", "ridge"]).fit(frame, y)
    weights = {member.name: member.weight for member in model.members_}
    assert weights["pairs"] > 0.95
    assert model.score(frame, y) == 1.0


def test_the_first_repeat_of_splits():
    codes = np.repeat([0, 1], 60)
    held = HeldOut.repeated(codes)
    first = held.first_repeat
    assert (held.n_splits, first.n_splits) == (25, 5)
    assert first.is_partition
    assert first.seen[:, -1].all()
    np.testing.assert_array_equal(first.seen[:, :5], held.seen[:, :5])
    assert first.first_repeat is first
    grouped = HeldOut.repeated(codes, groups=np.arange(120) // 6)
    assert grouped.first_repeat.n_splits == 5


def test_a_lasso_that_cannot_win_is_stopped_early():
    X = attributes(300)
    y = X[:, 0] == X[:, 1]
    model = AutoClassifier(["ridge", "pairs", "lasso"]).fit(X, y)
    assert list(model.left_out_) == ["lasso"]
    assert [member.name for member in model.members_] == ["ridge", "pairs", "baseline"]
    assert not AutoClassifier(["lasso", "ridge"]).fit(X, y).left_out_
