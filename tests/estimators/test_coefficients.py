"""The table of coefficients, contributions to a score, and points for a nomogram."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from discriminant import (
    AutoClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
    coefficient_table,
    column_effects,
    contributions,
    member_coefficients,
    nomogram,
)
from discriminant.errors import DegenerateDataError, ParameterError
from discriminant.estimators.registry import MODELS, new_model, short_name
from discriminant.tables import read_training


def rows(n_classes=2, n=300):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 3))
    codes = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n), np.linspace(-1, 1, n_classes + 1)[1:-1])
    return X, np.array(["ash", "birch", "cedar"])[codes]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_table_of_a_logistic_regression_is_its_summary_with_names(n_classes):
    X, y = rows(n_classes)
    model = LogisticRegression().fit(X, y)
    table = coefficient_table(model, ["a", "b", "c"], level=0.9)
    summary = model.summary(level=0.9)
    assert [row.term for row in table.rows] == ["intercept", "a", "b", "c"] * (n_classes - 1)
    assert [row.high for row in table.rows] == [row.high for row in summary.rows]
    assert table.reference == ("ash" if n_classes == 2 else "cedar")
    assert table.log_odds
    assert table.fit["aic"] == summary.aic
    assert list(table.to_frame().columns)[:3] == ["outcome", "term", "estimate"]


def test_a_lasso_has_estimates_and_says_why_nothing_else():
    X, y = rows()
    model = LogisticRegression(alpha=0.05, l1_ratio=1).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    table = coefficient_table(model)
    assert not table.has_errors
    assert "L1" in str(table.reason)
    assert_allclose([row.estimate for row in table.rows], [model.intercept_[0], *model.coef_[0]])
    assert_allclose([row.odds_ratio for row in table.rows], np.exp([row.estimate for row in table.rows]))
    assert all(np.isnan(row.std_error) for row in table.rows)
    assert "note: no standard errors" in str(table)


def test_scores_of_their_own_have_no_reference_and_no_odds():
    model = SupportVectorClassifier()
    table = coefficient_table(model.fit(*rows(3)))
    assert list(table.outcomes) == ["ash against the rest", "birch against the rest", "cedar against the rest"]
    assert table.reference is None
    assert np.isnan([row.odds_ratio for row in table.rows]).all()
    for coef, own in zip(model.coef_, table.outcomes.values(), strict=True):
        assert_allclose([row.estimate for row in own][1:], coef)


def test_lda_has_the_log_odds_of_its_classes_against_the_last():
    X, y = rows(3)
    model = LinearDiscriminantAnalysis().fit(X, y)
    table = coefficient_table(model)
    assert (list(table.outcomes), table.reference, table.log_odds) == (["ash", "birch"], "cedar", True)
    log = model.predict_log_proba(X)
    for k, own in enumerate(table.outcomes.values()):
        intercept, *coef = [row.estimate for row in own]
        assert_allclose(intercept + X @ coef, log[:, k] - log[:, 2], rtol=1e-8, atol=1e-8)
    assert_allclose([row.odds_ratio for row in table.rows], np.exp([row.estimate for row in table.rows]))
    assert "log-odds of ash against cedar" in str(table)


def test_what_is_not_linear_or_named_wrongly_is_refused():
    X, y = rows()
    with pytest.raises(ParameterError, match="coef_"):
        coefficient_table(QuadraticDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ParameterError, match=r"3.*2|2.*3"):
        coefficient_table(LogisticRegression().fit(X, y), ["a", "b"])


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression(), NaiveBayes()], ids=str)
def test_contributions_add_up_to_the_lead_over_an_average_row(model):
    X, y = rows(3)
    model.fit(X, y)
    found = contributions(model, X[0], X.mean(axis=0), columns=["a", "b", "b"])
    assert {row.column for row in found.rows} == {"a", "b"}
    assert sum(row.contribution for row in found.rows) == pytest.approx(found.lead - found.lead_at_means)
    scores = np.sort(model.decision_function(X[:1])[0])
    assert found.lead == pytest.approx(scores[-1] - scores[-2])
    assert found.label == model.predict(X[:1])[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_to_a_pool_are_differences_of_its_log_odds(n_classes):
    X, y = rows(n_classes)
    model, means = AutoClassifier(["ridge", "rda", "splines"]).fit(X, y), X.mean(axis=0)
    found = contributions(model, X[0], means, columns=["a", "b", "b"])
    best, rival = np.argsort(-model.predict_log_proba(X[:1])[0])[:2]

    def lead(row):
        logs = model.predict_log_proba(row[None])[0]
        return logs[best] - logs[rival]

    without = {"a": np.r_[means[:1], X[0, 1:]], "b": np.r_[X[0, :1], means[1:]]}
    assert_allclose(found.lead_at_means, lead(means), rtol=1e-9)
    for row in found.rows:
        assert row.contribution == pytest.approx(lead(X[0]) - lead(without[row.column]), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_effects_of_a_linear_model_are_its_coefficients(n_classes):
    X, y = rows(n_classes)
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = column_effects(model, X.mean(axis=0), X.min(axis=0), X.max(axis=0))
    slopes = np.diff(model.rule_.coef, axis=0) if n_classes == 2 else (model.rule_.coef - model.rule_.coef[0])[1:]
    for j in range(3):
        effect = found[f"x{j}"]
        values = np.array([point.value for point in effect.points])
        own = np.repeat(slopes[:, j], len(values) // (n_classes - 1))
        assert_allclose([point.estimate for point in effect.points], own * (values - X[:, j].mean()), atol=1e-9)
        assert (values.min(), values.max()) == (X[:, j].min(), X[:, j].max())
    assert next(iter(found.effects)) == "x0"
    assert list(found.to_frame().columns) == ["column", "outcome", "value", "estimate"]
    assert str(found).startswith("Effects on the log-odds")


@pytest.mark.parametrize("coding", ["reference", "full"])
def test_effects_of_raw_columns_are_those_of_their_levels(coding):
    rng, n = np.random.default_rng(4), 200
    y = rng.integers(2, size=n)
    frame = pd.DataFrame({
        "size": np.where(rng.random(n) < 0.2, np.nan, y + rng.normal(size=n)),
        "town": np.array(["A", "B", "C"])[(y + rng.integers(2, size=n)) % 3],
        "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(100, size=n) + 20 * y, unit="D"),
        "y": y,
    })  # fmt: skip
    table = read_training(frame, "y", coding=coding)
    model = LogisticRegression(alpha=0.1).fit(table.rows, table.y)
    low, means, high = table.X.min(axis=0), table.X.mean(axis=0), table.X.max(axis=0)
    found = column_effects(model, means, low, high, table.schema)
    assert set(found.effects) == {"size", "size=(missing)", "town", "day"}
    coef = dict(zip(table.schema.names, model.coef_[0], strict=True))
    by_level = {point.value: point.estimate for point in found["town"].points}
    assert set(by_level) == {"A", "B", "C"}
    for one, other in (("A", "B"), ("B", "C")):
        expected = coef.get(f"town={one}", 0.0) - coef.get(f"town={other}", 0.0)
        assert by_level[one] - by_level[other] == pytest.approx(expected, rel=1e-9)
    assert found["size=(missing)"].points[0].estimate == pytest.approx(coef["size=(missing)"])
    assert found["day"].points[0].value == str(frame["day"].min().date())
    with pytest.raises(ParameterError, match="columns"):
        column_effects(model, means[1:], low, high, table.schema)


def test_coefficients_of_members():
    X, y = rows(3)
    model = AutoClassifier(["ridge", "lasso", "splines"]).fit(X, y)
    found = member_coefficients(model, ["a", "b", "c"])
    assert list(found) == ["ridge", "lasso"]
    coef = model.rule_.rules[0].coef
    assert [row.term for row in found["ridge"].outcomes["birch"]] == ["intercept", "a", "b", "c"]
    assert_allclose([row.estimate for row in found["ridge"].outcomes["cedar"]][1:], coef[2] - coef[0])


def test_points_add_up_to_probabilities():
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    found = nomogram(model, low, high)
    points = {}
    for row in found.rows:
        points.setdefault(row.column, []).append(row.points)
    total = sum(np.interp(X[0, j], [low[j], high[j]], points[f"x{j}"]) for j in range(3))
    scale = (found.probabilities[0.75] - found.probabilities[0.5]) / np.log(3)
    assert (total - found.threshold) / scale == pytest.approx(model.decision_function(X[:1])[0])
    assert max(max(own) for own in points.values()) == pytest.approx(100)


def test_there_are_no_points_where_coefficients_are_infinite_or_classes_three():
    X, _ = rows()
    with pytest.warns(match="separated"):
        separated = LogisticRegression().fit(X, X[:, 0] > 0)
    with pytest.raises(DegenerateDataError, match="firth=True"):
        nomogram(separated, X.min(axis=0), X.max(axis=0))
    with pytest.raises(ParameterError, match="classes"):
        nomogram(LinearDiscriminantAnalysis().fit(*rows(3)), [0] * 3, [1] * 3)


def test_every_short_name_is_a_class():
    for name, class_name in MODELS.items():
        assert type(new_model(name)).__name__ == class_name
        assert MODELS[short_name(class_name)] == class_name
    assert short_name("OneVsRest") == "OneVsRest"
    with pytest.raises(ParameterError, match="'logistic'"):
        new_model("logit")
