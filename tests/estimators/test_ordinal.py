"""Ordinal regression: laws, the order of classes, separation, and bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from discriminant import (
    AutoClassifier,
    LogisticRegression,
    OrdinalLogisticRegression,
    compare,
    cross_validate,
    open_dataset,
)
from discriminant.errors import (
    AliasWarning,
    ColumnError,
    DegenerateDataError,
    DiscriminantWarning,
    LabelError,
    ParameterError,
    SeparationWarning,
    Setting,
)

FORMS = ["cumulative", "continuation", "adjacent"]
SETTINGS = [
    (form, link) for form in FORMS for link in ("logit", "probit", "cloglog") if form != "adjacent" or link == "logit"
]
LABELS = np.array(["none", "mild", "severe", "fatal"])


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 10, 0.1] + [0, 50, 3]
    eta = X[:, 0] - 0.05 * X[:, 1] + 5 * X[:, 2] - 12.5
    return X, np.digitize(eta + rng.logistic(size=n), [-1.5, 0, 1.5])


@pytest.mark.parametrize(("form", "link"), SETTINGS)
def test_gradient_and_hessian_are_derivatives(form, link):
    X, y = rows(80)
    model = OrdinalLogisticRegression(form=form, link=link, nonparallel=[1], alpha=0.01).fit(X, y)
    objective, rng = model._training, np.random.default_rng(1)
    theta = model.solution_.theta + 0.02 * rng.normal(size=model.solution_.theta.shape)
    _, gradient, hessian = objective.value_gradient_hessian(theta)
    steps = 1e-5 * np.eye(theta.size)
    value = [np.subtract(*(objective.value_and_gradient(theta + s * step)[0] for s in (1, -1))) for step in steps]
    slope = [np.subtract(*(objective.value_and_gradient(theta + s * step)[1][0] for s in (1, -1))) for step in steps]
    assert np.array(value) / 2e-5 == pytest.approx(gradient[0], abs=1e-8)
    assert np.array(slope) / 2e-5 == pytest.approx(hessian, abs=1e-6)


@pytest.mark.parametrize(("form", "link"), SETTINGS)
def test_probabilities_follow_the_model(form, link):
    X, y = rows()
    model = OrdinalLogisticRegression(form=form, link=link).fit(X, y)
    from scipy import stats

    below = {"logit": stats.logistic.cdf, "probit": stats.norm.cdf, "cloglog": lambda s: 1 - np.exp(-np.exp(s))}[link]
    p, scores = model.predict_proba(X), model.thresholds_ - X @ model.coef_.T
    if form == "cumulative":
        assert np.cumsum(p, axis=1)[:, :-1] == pytest.approx(below(scores))
    elif form == "continuation":
        left = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]
        assert p[:, :-1] / left[:, :-1] == pytest.approx(below(scores))
    else:
        assert np.log(p[:, :-1] / p[:, 1:]) == pytest.approx(scores)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_two_classes_are_binary_logistic_regression(form, alpha):
    X, y = rows()
    expected = LogisticRegression(alpha).fit(X, y > 1)
    model = OrdinalLogisticRegression(form=form, alpha=alpha).fit(X, y > 1)
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-9)
    assert -model.thresholds_ == pytest.approx(expected.intercept_, rel=1e-9)
    assert model.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=1e-12)
    assert model.decision_function(X) == pytest.approx(expected.decision_function(X), abs=1e-9)
    *slopes, _ = model.summary().rows
    assert [row.std_error for row in slopes] == pytest.approx([row.std_error for row in expected.summary().rows[1:]])


def test_continuation_is_binary_logistic_regression_of_expanded_rows():
    X, y = rows()
    model = OrdinalLogisticRegression(form="continuation").fit(X, y)
    reached = [(x, k, label == k) for x, label in zip(X, y, strict=True) for k in range(min(label, 2) + 1)]
    design = np.array([[*-x, *(np.arange(3) == k)] for x, k, _ in reached])
    stops = np.array([stop for *_, stop in reached])
    expected = LogisticRegression(fit_intercept=False).fit(design, stops).summary()
    found = model.summary().rows
    assert [row.estimate for row in found] == pytest.approx([row.estimate for row in expected.rows], rel=1e-6)
    assert [row.std_error for row in found] == pytest.approx([row.std_error for row in expected.rows], rel=1e-6)


@pytest.mark.parametrize("nonparallel", [(), [0]])
def test_weights_are_repeated_rows(nonparallel):
    X, y = rows(200)
    weight = np.arange(200) % 4
    repeated = np.repeat(np.arange(200), weight)
    weighted = OrdinalLogisticRegression(nonparallel=nonparallel).fit(X, y, sample_weight=weight)
    expected = OrdinalLogisticRegression(nonparallel=nonparallel).fit(X[repeated], y[repeated])
    assert weighted.coef_ == pytest.approx(expected.coef_, rel=1e-8)
    for covariance in (None, "HC0", "HC1", "HC2", "HC3"):
        found, other = (model.summary(covariance=covariance) for model in (weighted, expected))
        assert [row.std_error for row in found.rows] == pytest.approx([row.std_error for row in other.rows], rel=1e-7)
    for method in ("score", "likelihood-ratio", "brant"):
        if not nonparallel:
            pair = [model.parallel_lines_test(method)["all"].statistic for model in (weighted, expected)]
            assert pair[0] == pytest.approx(pair[1], rel=1e-6)


def test_units_and_order_of_rows_do_not_matter():
    X, y = rows()
    model = OrdinalLogisticRegression(nonparallel=[2], alpha=0.01).fit(X, y)
    chosen = np.random.default_rng(0).permutation(len(y))
    moved = OrdinalLogisticRegression(nonparallel=[2], alpha=0.01).fit(1000 * X[chosen] - 7, y[chosen])
    assert 1000 * moved.coef_ == pytest.approx(model.coef_, rel=1e-7)
    assert moved.predict_proba(1000 * X - 7) == pytest.approx(model.predict_proba(X), abs=1e-8)


def test_reversed_order_changes_signs():
    X, y = rows()
    up = OrdinalLogisticRegression(classes_order=[0, 1, 2, 3]).fit(X, y)
    down = OrdinalLogisticRegression(classes_order=[3, 2, 1, 0]).fit(X, y)
    assert down.coef_ == pytest.approx(-up.coef_, rel=1e-8)
    assert down.thresholds_ == pytest.approx(-up.thresholds_[::-1], rel=1e-8)
    assert down.predict_proba(X) == pytest.approx(up.predict_proba(X), abs=1e-9)


@pytest.mark.parametrize("nonparallel", [(), [1]])
def test_sparse_rows_are_dense_rows(nonparallel):
    X, y = rows()
    X = np.where(np.abs(X) < 1, 0, X)
    dense = OrdinalLogisticRegression(nonparallel=nonparallel).fit(X, y)
    sparse = OrdinalLogisticRegression(nonparallel=nonparallel).fit(sp.csr_matrix(X), y)
    assert sparse.coef_ == pytest.approx(dense.coef_, rel=1e-6)
    assert sparse.predict_proba(sp.csr_matrix(X)) == pytest.approx(dense.predict_proba(X), abs=1e-7)


def test_streamed_rows_are_rows_in_memory(tmp_path):
    X, y = rows(5_000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=LABELS[y])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    model = OrdinalLogisticRegression(classes_order=LABELS, nonparallel=["b"])
    expected = model.fit(frame[list("abc")], frame["y"])
    found = OrdinalLogisticRegression(classes_order=LABELS, nonparallel=["b"]).fit(
        open_dataset(tmp_path / "rows.parquet", target="y")
    )
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-8)
    pairs = zip(found.summary(covariance="HC0").rows, expected.summary(covariance="HC0").rows, strict=True)
    assert all(a.std_error == pytest.approx(b.std_error, rel=1e-7) for a, b in pairs)


def test_offset_is_a_column_with_slope_one():
    X, y = rows()
    found = OrdinalLogisticRegression().fit(X, y, offset=0.5 * X[:, 0])
    expected = OrdinalLogisticRegression().fit(X, y)
    assert found.coef_[0] + [0.5, 0, 0] == pytest.approx(expected.coef_[0], rel=1e-7)


def test_formula_with_offset_predicts_with_it():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=LABELS[y], half=X[:, 0] / 2)
    model = OrdinalLogisticRegression.from_formula("y ~ a + b + c + offset(half)", frame, classes_order=LABELS)
    plain = OrdinalLogisticRegression(classes_order=LABELS).fit(X, LABELS[y])
    assert model.predict_proba(frame) == pytest.approx(plain.predict_proba(X), abs=1e-7)
    assert [row.term for row in model.summary().rows] == ["a", "b", "c", "none|mild", "mild|severe", "severe|fatal"]


@pytest.mark.parametrize("kind", ["pandas", "series", "arrow", "chunked", "polars"])
def test_order_of_ordered_categories(kind):
    import polars as pl
    import pyarrow as pa

    X, y = rows()
    categories = pd.Categorical(LABELS[y], categories=[*LABELS, "unused"], ordered=True)
    arrow = pa.DictionaryArray.from_arrays(pa.array(y.astype("int8")), pa.array(LABELS), ordered=True)
    labels = {
        "pandas": categories,
        "series": pd.Series(categories),
        "arrow": arrow,
        "chunked": pa.chunked_array([arrow]),
        "polars": pl.Series(LABELS[y], dtype=pl.Enum(LABELS)),
    }[kind]
    model = OrdinalLogisticRegression().fit(X, labels)
    assert model.classes_order_.tolist() == LABELS.tolist()
    assert model.classes_.tolist() == sorted(LABELS)
    assert model.coef_ == pytest.approx(OrdinalLogisticRegression().fit(X, y).coef_)


def test_text_without_order_warns():
    X, y = rows()
    with pytest.warns(DiscriminantWarning, match="classes_order"):
        model = OrdinalLogisticRegression().fit(X, LABELS[y])
    assert model.classes_order_.tolist() == sorted(LABELS)


@pytest.mark.parametrize(
    ("order", "error"),
    [
        (["none", "mild", "severe"], LabelError),
        ([*LABELS, "other"], LabelError),
        ([*LABELS, "none"], ParameterError),
        ("none", ParameterError),
        (3, ParameterError),
        ([["none", "mild"], ["severe", "fatal"]], ParameterError),
    ],
)
def test_wrong_orders(order, error):
    X, y = rows()
    with pytest.raises(error):
        OrdinalLogisticRegression(classes_order=order).fit(X, LABELS[y])


def test_labels_that_scikit_learn_has_encoded_are_refused_with_the_remedy():
    X, y = rows()
    model = OrdinalLogisticRegression(classes_order=LABELS)
    with pytest.raises(LabelError) as refused:
        cross_val_predict(model, X, LABELS[y], cv=2, method="predict_proba")
    assert "cross_val_predict" in str(refused.value)
    assert [part.parameter for part in refused.value.parts if isinstance(part, Setting)] == ["classes_order"]
    encoded = cross_val_predict(OrdinalLogisticRegression(), X, y, cv=2, method="predict_proba")
    own = cross_validate(model, X, LABELS[y], cv=[*StratifiedKFold(2).split(X, y)], keep="posteriors")
    order = np.argsort(LABELS)
    assert_allclose(own.posteriors("OrdinalLogisticRegression"), encoded[:, order], atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"form": "adjacent", "link": "probit"}, ParameterError),
        ({"form": "other"}, ParameterError),
        ({"link": "log"}, ParameterError),
        ({"nonparallel": ["z"]}, ColumnError),
        ({"nonparallel": [7]}, ColumnError),
        ({"nonparallel": "x"}, ColumnError),
        ({"nonparallel": None}, ColumnError),
        ({"nonparallel": 0.5}, ColumnError),
        ({"nonparallel": True}, ColumnError),
        ({"alpha": -1}, ParameterError),
    ],
)
def test_wrong_parameters(parameters, error):
    X, y = rows()
    with pytest.raises(error):
        OrdinalLogisticRegression(**parameters).fit(X, y)


def test_one_class_is_refused():
    X, _ = rows()
    with pytest.raises(LabelError):
        OrdinalLogisticRegression().fit(X, np.ones(len(X)))


@pytest.mark.parametrize("form", FORMS)
def test_separation_is_named(form):
    X, y = rows()
    perfect = np.column_stack((X[:, 0], y + 0.1 * np.tanh(X[:, 1] - 50)))
    with pytest.warns(SeparationWarning):
        model = OrdinalLogisticRegression(form=form).fit(perfect, y)
    assert 1 in model.separation_.columns
    assert np.isinf(next(row.estimate for row in model.summary().rows if row.term == "x1"))
    with pytest.raises(DegenerateDataError):
        model.parallel_lines_test()
    assert OrdinalLogisticRegression(form=form, alpha=0.1).fit(perfect, y).separation_ is None


def test_quasi_complete_separation_names_the_column():
    X, y = rows()
    indicator = ((y == 3) & (X[:, 0] > 0)).astype(float)
    with pytest.warns(SeparationWarning):
        model = OrdinalLogisticRegression().fit(np.column_stack((X, indicator)), y)
    assert model.separation_.kind == "quasi-complete"
    assert model.separation_.columns.tolist() == [3]
    estimates = {row.term: row.estimate for row in model.summary().rows}
    assert estimates["x3"] == np.inf
    assert np.isfinite([estimates[name] for name in ("x0", "x1", "x2", "0|1")]).all()
    low = {term: low for _, term, low, _ in model.conf_int(method="profile")}
    assert np.isfinite(low["x3"])


def test_aliased_columns_have_no_estimate():
    X, y = rows()
    with pytest.warns(AliasWarning):
        model = OrdinalLogisticRegression(nonparallel=[0]).fit(np.column_stack((X, X[:, 0] + 2 * X[:, 1])), y)
    expected = OrdinalLogisticRegression(nonparallel=[0]).fit(X, y)
    found = {row.term: row for row in model.summary().rows}
    for row in expected.summary().rows:
        assert found[row.term].estimate == pytest.approx(row.estimate, rel=1e-6)
        assert found[row.term].std_error == pytest.approx(row.std_error, rel=1e-6)
    assert np.isnan(found["x3"].estimate)


def test_crossing_lines_have_probabilities_between_0_and_1():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 1))
    y = np.where(X[:, 0] > 0, rng.choice([0, 2], 400), 1 + (rng.random(400) < 0.1))
    y[:40] = rng.integers(0, 3, 40)
    with pytest.warns(DiscriminantWarning, match="cross"):
        model = OrdinalLogisticRegression(nonparallel=[0]).fit(X, y)
    assert f"cross in {model.n_crossed_} training rows" in str(model.summary())
    far = np.linspace(-50, 50, 101)[:, None]
    p = model.predict_proba(far)
    assert (p >= 0).all()
    assert p.sum(axis=1) == pytest.approx(1)
    cumulative = 1 / (1 + np.exp(-np.sort(model.thresholds_ - far @ model.coef_.T, axis=1)))
    assert np.cumsum(p, axis=1)[:, :-1] == pytest.approx(cumulative)


def test_likelihood_ratio_of_nested_models_is_that_of_terms():
    X, y = rows()
    whole, part = OrdinalLogisticRegression().fit(X, y), OrdinalLogisticRegression().fit(X[:, :2], y)
    found, other = whole.likelihood_ratio_test(part), whole.term_tests()["x2"]
    assert (found.df, found.statistic) == (1, pytest.approx(other.statistic))
    free = OrdinalLogisticRegression(nonparallel=[0]).fit(X, y)
    assert free.likelihood_ratio_test(whole).df == 2
    with pytest.raises(ParameterError):
        part.likelihood_ratio_test(whole)
    with pytest.raises(ParameterError):
        whole.likelihood_ratio_test(OrdinalLogisticRegression(form="adjacent").fit(X[:, :2], y))


def test_hypotheses_are_wald_tests_of_slopes_and_thresholds():
    X, y = rows()
    model = OrdinalLogisticRegression(nonparallel=[0]).fit(X, y)
    row = next(row for row in model.summary().rows if row.term == "x1")
    found = model.hypothesis("x1 = 0")
    assert (found.df, found.statistic) == (1, pytest.approx(row.z**2))
    equal = model.hypothesis("`0|1:x0` = `1|2:x0`, `1|2:x0` = `2|3:x0`")
    assert equal.df == 2
    infinite = np.column_stack((X, (y == 3) & (X[:, 0] > 0)))
    with pytest.warns(SeparationWarning):
        separated = OrdinalLogisticRegression().fit(infinite, y)
    with pytest.raises(DegenerateDataError):
        separated.hypothesis("x3 = 0")


def test_score_test_is_near_likelihood_ratio_and_wald_tests():
    X, y = rows(3_000)
    model = OrdinalLogisticRegression().fit(X, y)
    found = [model.parallel_lines_test(method)["all"] for method in ("score", "likelihood-ratio", "brant")]
    assert [row.df for row in found] == [6, 6, 6]
    assert found[0].statistic == pytest.approx(found[1].statistic, rel=0.1)
    assert found[2].statistic == pytest.approx(found[1].statistic, rel=0.2)


def test_parallel_lines_are_rejected_where_they_are_not_parallel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    y = (rng.logistic(size=3_000) + X[:, 0] > 0).astype(int)
    y += (y == 1) & (rng.logistic(size=3_000) - X[:, 0] + X[:, 1] > 0)
    found = OrdinalLogisticRegression().fit(X, y).parallel_lines_test("brant")
    assert found["x0"].p_value < 1e-10
    assert len(found.slopes["x0"]) == 2
    with pytest.raises(ParameterError):
        OrdinalLogisticRegression(link="probit").fit(X, y).parallel_lines_test("brant")


def test_importance_weights_have_sandwich_errors():
    X, y = rows(2_000)
    model = OrdinalLogisticRegression(class_weight="balanced").fit(X, y)
    found = model.summary()
    assert found.likelihood == "weighted"
    assert "HC2" in found.notes[0]


def test_wide_rows_with_a_ridge():
    X, y = rows(120)
    wide = np.random.default_rng(0).normal(size=(120, 1_200))
    wide[:, :3] = X
    model = OrdinalLogisticRegression(alpha=0.1, tol=1e-8).fit(wide, y)
    assert model.solution_.converged
    assert np.abs(model._training.value_and_gradient(model.solution_.theta)[1]).max() < 1e-4


def test_pickled_model_predicts():
    X, y = rows()
    model = OrdinalLogisticRegression(nonparallel=[1]).fit(X, y)
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()


def test_columns_of_numpy_integers_are_nonparallel():
    X, y = rows()
    expected = OrdinalLogisticRegression(nonparallel=1).fit(X, y)
    assert (OrdinalLogisticRegression(nonparallel=np.int64(1)).fit(X, y).coef_ == expected.coef_).all()


def test_category_curves_of_an_unknown_column_are_refused():
    X, y = rows()
    with pytest.raises(ColumnError):
        OrdinalLogisticRegression().fit(X, y).category_curves(0)


@pytest.mark.parametrize("nonparallel", [(), [1]])
@pytest.mark.parametrize(("form", "link"), SETTINGS)
def test_elastic_net_fulfils_the_optimality_conditions(form, link, nonparallel):
    X, y = rows()
    options = {"form": form, "link": link, "nonparallel": nonparallel, "tol": 1e-14}
    model = OrdinalLogisticRegression(alpha=0.05, l1_ratio=0.7, **options).fit(X, y)
    objective, theta = model._training, model.solution_.theta[0]
    # value_and_gradient has the ridge and not the L1 penalty, which applies to standardised slopes only.
    gradient = objective.value_and_gradient(model.solution_.theta)[1][0]
    slopes, n_slopes = theta[:-3], len(theta) - 3
    bound = 0.05 * 0.7 * objective.penalty_factor[0, :n_slopes]
    assert gradient[n_slopes:] == pytest.approx(0, abs=1e-6)
    assert gradient[:n_slopes][slopes != 0] == pytest.approx(-(np.sign(slopes) * bound)[slopes != 0], abs=1e-6)
    assert (np.abs(gradient[:n_slopes]) <= bound + 1e-6).all()
    assert model.solution_.objective == pytest.approx(
        objective.value_and_gradient(model.solution_.theta)[0] + bound @ np.abs(slopes), abs=1e-12
    )


def test_elastic_net_selects_columns_and_approaches_maximum_likelihood():
    X, y = rows()
    noise = np.random.default_rng(2).normal(size=(len(y), 20))
    wide = np.column_stack((X, noise))
    path = [OrdinalLogisticRegression(alpha=alpha, l1_ratio=1.0).fit(wide, y) for alpha in (10.0, 0.1, 1e-9)]
    assert (path[0].coef_ == 0).all()
    shares = np.cumsum(np.bincount(y))[:-1] / len(y)
    assert path[0].thresholds_ == pytest.approx(np.log(shares / (1 - shares)), abs=1e-6)
    assert 0 < (path[1].coef_ != 0).sum() < 23
    assert path[2].coef_ == pytest.approx(OrdinalLogisticRegression().fit(wide, y).coef_, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_elastic_net_of_two_classes_is_that_of_logistic_regression(form, l1_ratio):
    X, y = rows()
    expected = LogisticRegression(0.05, l1_ratio=l1_ratio, tol=1e-13).fit(X, y > 1)
    model = OrdinalLogisticRegression(form=form, alpha=0.05, l1_ratio=l1_ratio, tol=1e-13).fit(X, y > 1)
    assert model.solution_.objective == pytest.approx(expected.solution_.objective, rel=1e-11)
    assert model.coef_ == pytest.approx(expected.coef_, abs=1e-5)
    assert -model.thresholds_ == pytest.approx(expected.intercept_, abs=1e-4)


def test_elastic_net_of_streamed_and_sparse_rows(tmp_path):
    X, y = rows(2_000)
    X = np.where(np.abs(X) < 1, 0, X)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    model = OrdinalLogisticRegression(alpha=0.02, l1_ratio=0.5, nonparallel=[0], tol=1e-13)
    expected = model.fit(X, y).coef_
    assert model.fit(sp.csr_matrix(X), y).coef_ == pytest.approx(expected, abs=1e-5)
    assert model.fit(open_dataset(tmp_path / "rows.parquet", target="y")).coef_ == pytest.approx(expected, abs=1e-6)


def test_elastic_net_of_wide_rows_and_without_inference():
    X, y = rows(120)
    wide = np.random.default_rng(0).normal(size=(120, 1_200))
    wide[:, :3] = X
    model = OrdinalLogisticRegression(alpha=0.1, l1_ratio=1.0, nonparallel=[1]).fit(wide, y)
    assert model.solution_.converged
    assert 0 < (model.coef_[0] != 0).sum() < 60
    for refused in (model.summary, model.conf_int, model.term_tests, model.parallel_lines_test):
        with pytest.raises(ParameterError):
            refused()


@pytest.mark.parametrize("kind", ["HC2", "HC3"])
@pytest.mark.parametrize("form", FORMS)
def test_leverages_of_two_classes_are_those_of_logistic_regression(form, kind):
    X, y = rows(60)
    weight = np.arange(60) % 3 + 0.5
    for given in (None, weight):
        expected = LogisticRegression().fit(X, y > 1, sample_weight=given).coefficient_covariance(covariance=kind)
        found = OrdinalLogisticRegression(form=form).fit(X, y > 1, sample_weight=given)
        errors = [row.std_error for row in found.summary(covariance=kind).rows]
        assert errors == pytest.approx(np.sqrt(np.diagonal(expected))[[1, 2, 3, 0]], rel=1e-6)


@pytest.mark.parametrize("nonparallel", [(), [0]])
@pytest.mark.parametrize(("form", "link"), SETTINGS)
def test_hc3_is_near_the_jackknife(form, link, nonparallel):
    X, y = rows(60, seed=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = OrdinalLogisticRegression(form=form, link=link, nonparallel=nonparallel, tol=1e-8)
    left_out = []
    for k in range(60):
        fit = model.fit(np.delete(X, k, axis=0), np.delete(y, k))
        left_out.append([row.estimate for row in fit.summary().rows])
    jackknife = np.sqrt(59 / 60 * ((left_out - np.mean(left_out, axis=0)) ** 2).sum(axis=0))
    model.fit(X, y)
    ratio = {
        kind: np.mean([row.std_error for row in model.summary(covariance=kind).rows] / jackknife)
        for kind in ("HC0", "HC2", "HC3")
    }
    assert ratio["HC0"] < ratio["HC2"] < ratio["HC3"]
    assert ratio["HC3"] == pytest.approx(1, abs=0.08)
    assert abs(ratio["HC3"] - 1) < abs(ratio["HC0"] - 1) / 1.5


def test_cr2_of_ordered_classes_is_refused_with_its_alternative():
    X, y = rows()
    clusters = np.arange(len(y)) // 5
    with pytest.raises(ParameterError, match="CR1"):
        OrdinalLogisticRegression().fit(X, y).summary(covariance="CR2", clusters=clusters)


def test_a_comparison_of_classes_with_an_order_has_the_ordinal_model():
    X, y = rows(90)
    labels = pd.Categorical(LABELS[y], categories=LABELS, ordered=True)
    assert "ordinal" in compare(None, X, labels, cv=3).ranking
    assert "ordinal" not in compare(None, X, y, cv=3).ranking


def test_models_of_a_comparison_get_the_declared_order():
    X, y = rows()
    labels = pd.Categorical(LABELS[y], categories=LABELS, ordered=True)
    models = {"auto": AutoClassifier(["ordinal"]), "ordinal": OrdinalLogisticRegression(alpha=0.01)}
    found = compare(models, X, labels, cv=3)
    given = compare({"auto": AutoClassifier(["ordinal"], classes_order=LABELS)}, X, LABELS[y], cv=3)
    assert found.cross_validation.posteriors("auto") == pytest.approx(given.cross_validation.posteriors("auto"))
