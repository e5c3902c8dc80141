"""The classifier without choices: what its families are, how they are weighed, and rows it has to put up with."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_predict

from discriminant import AutoClassifier, LogisticRegression, OrdinalLogisticRegression
from discriminant.data import as_rows, labelled_rows
from discriminant.errors import DegenerateDataError, LabelError, ParameterError
from discriminant.estimators.auto import baseline, pool_weights
from discriminant.estimators.families import FAMILIES, lasso_rule, ridge_rule, spline_basis
from discriminant.estimators.tuning import Training
from discriminant.folds import HeldOut, TunedRule


def ring(n=200, seed=0):
    """Two classes that no line tells apart, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where((X[:, 0] ** 2 + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)) > 1.4, "out", "in")
    return X, y


def training_of(X, y, n_folds=5):
    data = labelled_rows(as_rows(X), y)
    return Training(data, HeldOut.repeated(data.codes, n_folds), data, 1)


def test_ridges_of_folds_are_those_of_single_fits():
    X, y = load_iris(return_X_y=True)
    training = training_of(X, y)
    found = ridge_rule(training)
    split = 3
    seen, pairs = training.held.seen[:, split], training.held.fits == split
    # the penalty measures columns by their standard deviation over all rows
    unit = X.std(axis=0)
    alone = LogisticRegression(found.settings["alpha"], standardize=False).fit(X[seen] / unit, y[seen])
    expected = alone.predict_proba(X[training.held.rows[pairs]] / unit)
    np.testing.assert_allclose(np.exp(found.log_posteriors[pairs]), expected, atol=5e-3)
    whole = LogisticRegression(found.settings["alpha"], standardize=False).fit(X / unit, y)
    np.testing.assert_allclose(softmax(found.rule.scores(X), axis=1), whole.predict_proba(X / unit), atol=5e-3)


def test_the_lasso_leaves_columns_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    found = lasso_rule(training_of(X, y))
    assert found.rule.coef[1, 0] > 0
    assert np.count_nonzero(found.rule.coef[1]) < 20


def test_weights_are_those_under_which_held_out_rows_are_likeliest():
    rng = np.random.default_rng(0)
    X, y = ring(400)
    training = training_of(X, y)
    n = len(training.codes)
    members = [
        TunedRule(
            None, {}, 0.0, np.log(softmax(rng.normal(size=(n, 2)) + 2 * np.eye(2)[training.codes] * strength, axis=1))
        )
        for strength in (0.2, 0.5, 0.45)
    ]
    members.append(baseline(training))
    own = np.exp(np.stack([m.log_posteriors[np.arange(n), training.codes] for m in members], axis=1))
    repeats = n / len(X)

    def unlikely(z):
        share = softmax(z)
        return -(np.log(own @ share).sum() / repeats + np.log(share).sum() / len(share))

    expected = softmax(minimize(unlikely, np.zeros(4), tol=1e-12).x)
    np.testing.assert_allclose(pool_weights(training, members), expected, atol=2e-3)


def test_shapes_are_found_that_lines_miss():
    X, y = ring(400)
    new, truth = ring(2000, seed=1)
    line = AutoClassifier("linear").fit(X, y)
    auto = AutoClassifier().fit(X, y)
    assert auto.score(new, truth) > 0.85 > line.score(new, truth)
    weights = {member.name: member.weight for member in auto.members_}
    assert weights["ridge"] < 0.1
    assert list(weights) == [*(name for name in FAMILIES if name not in ("ordinal", "lasso")), "baseline"]
    assert list(auto.left_out_) == ["lasso"]
    assert "Pool: " in str(auto.describe())
    held_out = -np.mean(np.log(auto.predict_proba(new)[np.arange(2000), (truth == "out").astype(int)]))
    assert auto.loss_ == pytest.approx(held_out, rel=0.25)


def test_one_family_can_be_asked_for():
    X, y = ring()
    best = AutoClassifier(choose="best").fit(X, y)
    chosen = max(best.members_, key=lambda member: member.weight)
    assert chosen.weight == pytest.approx(1 - 1e-4)
    assert chosen.loss == min(member.loss for member in best.members_)
    assert best.describe().words().startswith(f"Selected: {chosen.name}.")
    assert [m.name for m in AutoClassifier(["rda"]).fit(X, y).members_] == ["rda", "baseline"]


@pytest.mark.parametrize("families", [[], ["forest"], "forest", [3]], ids=["none", "unknown", "text", "number"])
def test_families_that_there_are_not_are_refused(families):
    with pytest.raises(ParameterError, match="ridge, ordinal"):
        AutoClassifier(families).fit(*ring())


def test_units_and_the_order_of_rows_columns_and_classes_do_not_matter():
    X, y = load_wine(return_X_y=True)
    X = X[:, :5]
    model = AutoClassifier(["ridge", "rda", "naive-bayes", "splines", "products"]).fit(X, y)
    units = np.array([1e-6, 1e3, 1.0, 17.0, 1e6])
    other = AutoClassifier(model.families).fit(X * units + 3 * units, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X * units + 3 * units), atol=1e-4)
    turned = AutoClassifier(model.families).fit(X[:, ::-1], 2 - y)
    np.testing.assert_allclose(model.predict_proba(X), turned.predict_proba(X[:, ::-1])[:, ::-1], atol=1e-3)


def test_threads_do_not_matter():
    X, y = ring(1500)
    one, two = (AutoClassifier(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def frame_of_patients(n=160, seed=0):
    rng = np.random.default_rng(seed)
    sex, day = rng.choice(["f", "m"], n), rng.integers(0, 700, n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(60, 10, n).round())
    frame = pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D"),
            "smokes": rng.choice([True, False], n),
        }
    )
    ill = (sex == "f") + (np.nan_to_num(age, nan=60.0) - 60) / 10 + rng.normal(size=n) > 0.5
    return frame, np.where(ill, "ill", "well")


def test_frames_are_taken_as_they_are():
    frame, y = frame_of_patients()
    model = AutoClassifier().fit(frame, y)
    assert "age=(missing)" in model.encoder_.schema_.names
    again, truth = frame_of_patients(400, seed=1)
    assert model.score(again, truth) > 0.7
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(frame.iloc[:, ::-1]))
    coded = AutoClassifier().fit(model.encoder_.rows(frame), y)
    np.testing.assert_array_equal(model.predict_proba(frame), coded.predict_proba(model.encoder_.rows(frame)))


def test_plain_numbers_are_not_coded():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = AutoClassifier(["ridge"]).fit(X, y)
    assert not hasattr(model, "encoder_")
    assert model.feature_names_in_.tolist() == X.columns.tolist()


def test_sparse_rows_have_the_families_that_suit_them():
    rng = np.random.default_rng(0)
    X = sp.random(200, 400, 0.05, format="csr", random_state=rng)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() > 0.5
    model = AutoClassifier().fit(X, y)
    assert [member.name for member in model.members_][:1] == ["ridge"]
    assert "sparse" in model.left_out_["rda"]
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (np.column_stack([X, np.ones(len(X))]), y),
        lambda X, y: (np.column_stack([X, X[:, 0]]), y),
        lambda X, y: (np.column_stack([X, np.random.default_rng(1).normal(size=(len(X), 300))]), y),
        lambda X, y: (X, np.r_[["rare"], y[1:]]),
        lambda X, y: (X[:12], np.array(["a", "b", "c"] * 4)),
        lambda X, y: (X[:4], np.array(["a", "b", "a", "b"])),
        lambda X, y: ((X > 0).astype(float), y),
        lambda X, y: (X * 1e150, y),
        lambda X, y: (X[:, :1], X[:, 0] > 0),
    ],
    ids=["constant", "twice", "wide", "one row", "few rows", "four rows", "marks", "huge", "separable"],
)
def test_odd_rows_have_an_answer(change):
    X, y = change(*ring(100))
    model = AutoClassifier().fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found.min() > 1e-7


def test_classes_of_one_row_each_are_refused():
    with pytest.raises(DegenerateDataError, match="row"):
        AutoClassifier().fit(np.eye(3), [0, 1, 2])


def test_one_class_is_refused():
    with pytest.raises(LabelError):
        AutoClassifier().fit(np.ones((5, 2)), np.zeros(5))


def test_settings_are_found_on_a_sample_of_many_rows_and_the_models_on_all():
    X, y = ring(30_000)
    model = AutoClassifier(["ridge", "splines", "rda"]).fit(X, y)
    new, truth = ring(5000, seed=2)
    assert model.score(new, truth) > 0.9
    sample = AutoClassifier(["ridge", "splines", "rda"]).fit(X[:19_000], y[:19_000])
    assert abs(model.predict_proba(new) - sample.predict_proba(new)).max() < 0.1
    np.testing.assert_allclose(model.xbar_, X.mean(axis=0), atol=1e-12)


def test_rare_classes_are_in_the_sample():
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(45_000), np.ones(30)]
    X = rng.normal(size=(len(y), 2)) + 3 * y[:, None]
    model = AutoClassifier(["ridge"]).fit(X, y)
    assert model.predict_proba([[3.0, 3.0]])[0, 1] > 0.2
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(30 / len(y), rel=0.1)


@pytest.mark.parametrize("family", ["naive-bayes", "svm", "rda"])
def test_a_class_that_is_rarer_than_the_sample_has_rows_keeps_its_share(family):
    """20 of its 24 rows are among the sample's 20,000: one in 1,000, where it is one in 2,500 of all."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(59_976), np.ones(24)]
    X = rng.normal(size=(len(y), 2)) + y[:, None]
    model = AutoClassifier([family]).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.3)
    said = model.predict_proba(X)[np.arange(len(y)), y.astype(int)]
    assert model.loss_ == pytest.approx(-np.log(said).mean(), rel=0.15)


def test_the_baseline_is_judged_by_the_shares_of_the_classes():
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(490), np.ones(10)]
    [*_, last] = AutoClassifier(["ridge"]).fit(rng.normal(size=(500, 2)), y).members_
    assert last.name == "baseline"
    assert last.loss == pytest.approx(-0.98 * np.log(0.98) - 0.02 * np.log(0.02), rel=1e-12)


def test_no_class_is_ruled_out_however_rare():
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(1990), np.ones(10)]
    X = rng.normal(size=(2000, 1)) + 20 * y[:, None]
    assert AutoClassifier(["ridge"]).fit(X, y).predict_proba([[-1e6], [1e6]]).min() > 4e-6


def test_weights_count_like_repeated_rows_in_the_models():
    X, y = ring(120)
    doubled = AutoClassifier(["ridge"]).fit(X, y, np.full(120, 2.0))
    np.testing.assert_allclose(
        doubled.predict_proba(X), AutoClassifier(["ridge"]).fit(X, y).predict_proba(X), atol=0.02
    )


def test_the_best_family_shows_its_coefficients():
    X, y = load_iris(return_X_y=True)
    best = AutoClassifier(["ridge", "lasso"], choose="best").fit(X, y)
    assert best.coef_.shape == (3, 4)
    assert not hasattr(AutoClassifier(["ridge", "lasso"]).fit(X, y), "coef_")


def test_splines_need_values():
    X, _ = ring()
    with pytest.raises(DegenerateDataError, match="values"):
        spline_basis((X > 0).astype(float), 6)
    basis = spline_basis(X, 6)
    made = basis.expand(X)
    assert made.shape[1] == 3 + 3 * (8 - 1)
    assert np.linalg.matrix_rank(np.column_stack([made, np.ones(len(X))])) == 3 * 7 + 1


def grades(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.logistic(size=n), [-1, 1])
    return X, np.array(["low", "medium", "high"])[y]


def test_an_order_adds_the_ordinal_family():
    X, y = grades()
    order = ["low", "medium", "high"]
    given = AutoClassifier("linear", classes_order=order).fit(X, y)
    declared = AutoClassifier("linear").fit(X, pd.Categorical(y, order, ordered=True))
    without = AutoClassifier("linear").fit(X, y)
    for model in (given, declared):
        assert "ordinal" in [member.name for member in model.members_]
        assert model.classes_order_.tolist() == order
        assert given.predict_proba(X) == pytest.approx(model.predict_proba(X))
    assert "ordinal" not in [member.name for member in without.members_]
    assert not hasattr(without, "classes_order_")
    assert given.loss_ < without.loss_ + 0.005


def test_the_ordinal_family_is_an_adjacent_categories_ridge():
    X, y = grades()
    y = np.array([{"low": 0, "medium": 2, "high": 1}[label] for label in y])
    model = AutoClassifier(["ordinal"], choose="best", classes_order=[0, 2, 1]).fit(X, y)
    alpha = model.members_[0].settings["alpha"]
    expected = OrdinalLogisticRegression(form="adjacent", alpha=alpha, classes_order=[0, 2, 1]).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=2e-3)
    # scores of neighbouring classes differ by the same coefficients
    low, high, medium = model.coef_
    assert high - medium == pytest.approx(medium - low)
    held = cross_val_predict(expected, X, y, cv=5, method="predict_proba")
    losses = -np.log(held[np.arange(len(y)), y])
    assert model.members_[0].loss == pytest.approx(losses.mean(), abs=0.02)


def test_wrong_orders_and_two_classes():
    X, y = grades()
    with pytest.raises(LabelError):
        AutoClassifier(classes_order=["low", "medium"]).fit(X, y)
    with pytest.raises(ParameterError):
        AutoClassifier(classes_order="low").fit(X, y)
    with pytest.raises(DegenerateDataError, match="classes_order"):
        AutoClassifier(["ordinal"]).fit(X, y)
    two = AutoClassifier("linear", classes_order=[False, True]).fit(X, y == "high")
    assert "ordinal" not in [member.name for member in two.members_]


def test_the_ordinal_family_of_sparse_and_weighted_rows():
    X, y = grades()
    X = np.where(np.abs(X) < 0.3, 0, X)
    model = AutoClassifier(["ordinal"], classes_order=["low", "medium", "high"])
    weight = np.arange(len(y)) % 3 + 1
    dense = model.fit(X, y, sample_weight=weight).predict_proba(X)
    sparse = model.fit(sp.csr_matrix(X), y, sample_weight=weight).predict_proba(sp.csr_matrix(X))
    assert sparse == pytest.approx(dense, abs=0.01)
