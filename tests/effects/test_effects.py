"""Predictions, comparisons and slopes: against R (`tests/reference/effects.R`), statsmodels, and laws."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

from discriminant import (
    LinearDiscriminantAnalysis,
    LogisticRegression,
    OrdinalLogisticRegression,
    Perceptron,
    effects,
    load,
    save,
)
from discriminant.effects import EffectOptions
from discriminant.errors import (
    ColumnError,
    DegenerateDataError,
    InputError,
    LabelError,
    ParameterError,
    SeparationWarning,
)
from helpers import REFERENCE

R = json.loads((REFERENCE / "effects.json").read_text())


@pytest.fixture(scope="module")
def births():
    frame = pd.read_csv(REFERENCE / "lbw.csv")
    return frame.assign(weight=pd.cut(frame.bwt, [0, 2500, 3200, 6000], labels=list("abc")).astype(str))


def fitted(formula, frame, **parameters):
    return LogisticRegression.from_formula(formula, frame, tol=1e-14, **parameters)


@pytest.fixture(scope="module")
def plain(births):
    return fitted("low ~ age + lwt + C(race) + smoke", births)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3)) * [1, 5, 0.2] + [0, 3, 1]
    scores = np.c_[np.zeros(400), X[:, 0], X[:, 1] / 5] + rng.gumbel(size=(400, 3))
    return X, np.argmax(scores, axis=1)


def agrees(row, expected, rtol=1e-6):
    assert_allclose([row.estimate, row.std_error], expected, rtol=rtol)


class TestAgainstR:
    def test_slopes(self, births, plain):
        (row,) = effects.slopes(plain, births, "age").rows
        agrees(row, R["slope_age"])
        (row,) = effects.slopes(plain, births, "lwt", options=EffectOptions(covariance="HC1")).rows
        agrees(row, R["slope_lwt_HC1"])

    def test_slopes_of_splines_and_products(self, births):
        model = fitted("low ~ ns(age, df=3) * smoke + lwt + C(race)", births)
        (row,) = effects.slopes(model, births, "age").rows
        agrees(row, R["slope_age_curved"])

    def test_comparisons(self, births, plain):
        found = effects.comparisons(plain, births, "race", values=["white", "black"]).rows
        agrees(found[0], R["difference_race"])
        ratio = effects.comparisons(plain, births, "race", "ratio", values=["white", "black"]).rows[0]
        agrees(ratio, [np.exp(R["log_ratio_race"][0]), R["log_ratio_race"][1]])
        odds = effects.comparisons(plain, births, "smoke", "odds_ratio").rows[0]  # + 1 goes beyond smokers
        assert odds.estimate != pytest.approx(np.exp(R["log_odds_ratio_smoke"][0]))
        odds = effects.comparisons(plain, births, "smoke", "odds_ratio", values=(0, 1)).rows[0]
        agrees(odds, [np.exp(R["log_odds_ratio_smoke"][0]), R["log_odds_ratio_smoke"][1]])
        half_width = 1.959963984540054 * R["log_odds_ratio_smoke"][1]
        assert_allclose([odds.low, odds.high], np.exp(R["log_odds_ratio_smoke"][0] + np.array([-1, 1]) * half_width))

    def test_predictions(self, births, plain):
        (row,) = effects.predictions(plain, births, at={"smoke": 1}).rows
        agrees(row, R["prediction_smoke_1"])

    def test_marginal_means_at_a_typical_row(self, births, plain):
        typical = effects.typical_row(births)
        row = pd.concat([typical.assign(smoke=0), typical.assign(smoke=1)])  # emmeans gives both the same weight
        found = effects.predictions(plain, row, at={"race": ["black", "other", "white"]}).rows
        expected = [list(own.values()) for own in R["emmeans"]]
        assert_allclose([[one.estimate, one.std_error] for one in found], expected, rtol=1e-6)
        for own, (low, high) in zip(
            R["pairs"], [("other", "black"), ("white", "black"), ("white", "other")], strict=True
        ):
            (pair,) = effects.comparisons(plain, row, "race", values=[low, high]).rows
            agrees(pair, [own["estimate"], own["SE"]])

    def test_pairs_of_levels(self, births, plain):
        for way, expected in (
            ("reference", ["other - black", "white - black"]),
            ("sequential", ["other - black", "white - other"]),
            ("pairwise", ["other - black", "white - black", "white - other"]),
        ):
            assert [row.contrast for row in effects.comparisons(plain, births, "race", values=way).rows] == expected

    def test_three_classes(self, births):
        model = fitted("weight ~ lwt + smoke", births)
        found = effects.comparisons(model, births, "smoke", values=(0, 1)).rows
        assert [row.outcome for row in found] == ["a", "b", "c"]
        expected = [[own["estimate"], own["se"]] for own in R["several"]]
        assert_allclose([[row.estimate, row.std_error] for row in found], expected, rtol=1e-5)


class TestAgainstStatsmodels:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_average_marginal_effects(self, numbers, classes):
        X, y = numbers
        y = np.minimum(y, classes - 1)
        model = LogisticRegression(tol=1e-14).fit(X, y)
        kind = sm.Logit if classes == 2 else sm.MNLogit
        theirs = kind(y, sm.add_constant(X)).fit(disp=0, maxiter=100, tol=1e-14).get_margeff()
        found = effects.slopes(model, X).rows
        ours = np.array([[row.estimate, row.std_error] for row in found])
        assert_allclose(ours[:, 0], np.ravel(theirs.margeff), rtol=1e-6, atol=1e-9)
        assert_allclose(ours[:, 1], np.ravel(theirs.margeff_se), rtol=1e-6)


class TestLaws:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_the_closed_form_is_the_limit_of_differences(self, numbers, classes):
        X, y = numbers
        model = LogisticRegression(tol=1e-14).fit(X, np.minimum(y, classes - 1))
        by = np.arange(len(X)) % 2
        closed = effects.slopes(model, X, by=by).rows
        differences = [
            row for name in ("x0", "x1", "x2") for row in effects.comparisons(model, X, name, values=1e-5, by=by).rows
        ]
        for one, other in zip(closed, differences, strict=True):
            assert (one.term, one.group, one.outcome) == (other.term, other.group, other.outcome)
            assert_allclose(other.estimate / 1e-5, one.estimate, rtol=1e-3, atol=1e-6)
            assert_allclose(other.std_error / 1e-5, one.std_error, rtol=1e-3)

    def test_effects_of_all_classes_add_up_to_nothing(self, numbers):
        X, y = numbers
        model = LogisticRegression().fit(X, y)
        for found in (effects.slopes(model, X, "x1"), effects.comparisons(model, X, "x1")):
            assert sum(row.estimate for row in found.rows) == pytest.approx(0, abs=1e-12)
        assert sum(row.estimate for row in effects.predictions(model, X).rows) == pytest.approx(1)

    def test_maximum_likelihood_predicts_the_shares_of_the_classes(self, numbers):
        X, y = numbers
        found = effects.predictions(LogisticRegression(tol=1e-14).fit(X, y), X).rows
        assert_allclose([row.estimate for row in found], np.bincount(y) / len(y), rtol=1e-8)

    def test_weights_are_repeated_rows(self, numbers):
        X, y = numbers
        model, weights = LogisticRegression().fit(X, y), np.arange(len(X)) % 3
        once = effects.slopes(model, X, options=EffectOptions(weights=weights)).rows
        repeated = effects.slopes(model, np.repeat(X, weights, axis=0)).rows
        assert_allclose([row.estimate for row in once], [row.estimate for row in repeated], rtol=1e-10)
        assert_allclose([row.std_error for row in once], [row.std_error for row in repeated], rtol=1e-10)

    def test_groups_are_the_rows_of_each_alone(self, births, plain):
        grouped = effects.slopes(plain, births, "lwt", by="race").rows
        for row in grouped:
            alone = effects.slopes(plain, births[births.race == row.group], "lwt").rows[0]
            assert_allclose([row.estimate, row.std_error], [alone.estimate, alone.std_error], rtol=1e-7)

    def test_several_columns_make_groups(self, births, plain):
        found = effects.predictions(plain, births, by=["race", "smoke"]).rows
        assert [row.group for row in found][:2] == ["black, 0", "black, 1"]
        assert len(found) == 6

    def test_frames_of_all_libraries_agree(self, births, plain):
        expected = effects.comparisons(plain, births, "race", at={"age": 30}).rows
        for frame in (pl.from_pandas(births), pa.Table.from_pandas(births)):
            found = effects.comparisons(plain, frame, "race", at={"age": 30}).rows
            assert_allclose([row.estimate for row in found], [row.estimate for row in expected])

    def test_blocks_are_the_whole(self, numbers, monkeypatch):
        X, y = numbers
        model, by = LogisticRegression().fit(X, y), np.arange(len(X)) % 7
        whole = effects.slopes(model, X, by=by).rows
        monkeypatch.setattr("discriminant.effects.rows.BLOCK_ROWS", 11)
        assert_allclose([row.std_error for row in effects.slopes(model, X, by=by).rows], [r.std_error for r in whole])

    def test_offsets_of_a_formula_are_part_of_the_score(self, births):
        frame = births.assign(known=births.lwt / 100)
        model = fitted("low ~ age + offset(known)", frame)
        (row,) = effects.predictions(model, frame).rows
        assert row.estimate == pytest.approx(frame.low.mean(), rel=1e-8)

    def test_firth_and_ridge_have_errors_of_their_own(self, numbers):
        X, y = numbers
        for parameters, note in (({"firth": True}, "Firth"), ({"alpha": 0.1}, "credible")):
            found = effects.slopes(LogisticRegression(**parameters).fit(X, y == 1), X)
            assert np.isfinite([row.std_error for row in found.rows]).all()
            assert any(note in text for text in found.notes)


class TestResamples:
    def test_they_agree_with_the_delta_method(self, numbers):
        X, y = numbers
        model = LogisticRegression().fit(X, y == 1)
        options = EffectOptions(resamples=300, y=y == 1)
        for own, drawn in zip(
            effects.slopes(model, X).rows, effects.slopes(model, X, options=options).rows, strict=True
        ):
            assert drawn.estimate == pytest.approx(own.estimate)
            assert drawn.std_error == pytest.approx(own.std_error, rel=0.2)
            assert drawn.low < drawn.estimate < drawn.high

    def test_models_without_a_covariance_have_errors_from_resamples_alone(self, numbers):
        X, y = numbers
        model = LinearDiscriminantAnalysis().fit(X, y)
        assert np.isnan([row.std_error for row in effects.comparisons(model, X, "x0").rows]).all()
        found = effects.comparisons(model, X, "x0", options=EffectOptions(resamples=20, y=y))
        assert (np.array([row.std_error for row in found.rows]) > 0).all()
        assert "20 bootstrap resamples" in str(found)

    def test_models_of_formulas_are_fitted_to_the_table(self, births, plain):
        found = effects.slopes(plain, births, "age", options=EffectOptions(resamples=5))
        assert found.rows[0].std_error > 0

    def test_resamples_without_a_class_are_counted(self, numbers):
        X, _ = numbers
        y = np.zeros(len(X), dtype=int)
        y[:2] = 1
        found = effects.predictions(LinearDiscriminantAnalysis().fit(X, y), X, options=EffectOptions(resamples=40, y=y))
        assert any("left out" in note for note in found.notes)

    def test_clusters_are_drawn_as_a_whole(self, numbers):
        X, y = numbers
        X, y, clusters = np.repeat(X, 4, axis=0), np.repeat(y == 1, 4), np.repeat(np.arange(len(X)), 4)
        model = LinearDiscriminantAnalysis().fit(X, y)
        rows = effects.slopes(model, X, "x0", options=EffectOptions(resamples=60, y=y)).rows
        whole = effects.slopes(model, X, "x0", options=EffectOptions(resamples=60, y=y, clusters=clusters)).rows
        assert whole[0].std_error > 1.5 * rows[0].std_error


class TestRefusals:
    @pytest.mark.parametrize(
        ("call", "error", "name"),
        [
            (lambda m, f: effects.slopes(m, f, "height"), ColumnError, "height"),
            (lambda m, f: effects.slopes(m, f, "race"), ColumnError, "race"),
            (lambda m, f: effects.comparisons(m, f, "height"), ColumnError, "height"),
            (lambda m, f: effects.comparisons(m, f, "race", values=["white", "green"]), ColumnError, "green"),
            (lambda m, f: effects.comparisons(m, f, "age", values=[1, 2, 3]), ParameterError, "values"),
            (lambda m, f: effects.comparisons(m, f, "age", "percent"), ParameterError, "percent"),
            (lambda m, f: effects.comparisons(m, f, "age", at={"age": 3}), ParameterError, "age"),
            (lambda m, f: effects.predictions(m, f, by="height"), ColumnError, "height"),
            (lambda m, f: effects.predictions(m, f, at={"height": 3}), ColumnError, "height"),
            (lambda m, f: effects.predictions(m, f, at={"race": "green"}), ColumnError, "green"),
            (lambda m, f: effects.comparisons(m, f[f.race == "white"], "race"), ColumnError, "white"),
            (lambda m, f: effects.predictions(m, f, by=[1, 2]), InputError, "by"),
            (lambda m, f: effects.predictions(m, f.iloc[:0]), InputError, "rows"),
            (lambda m, f: effects.predictions(m, f, options=EffectOptions(outcome="x")), LabelError, "x"),
            (lambda m, f: EffectOptions(level=1.5), ParameterError, "level"),
            (lambda m, f: EffectOptions(resamples=-1), ParameterError, "resamples"),
        ],
    )
    def test_what_is_wrong_is_named(self, births, plain, call, error, name):
        with pytest.raises(error, match=name):
            call(plain, births)

    def test_a_model_without_probabilities(self, numbers):
        X, y = numbers
        with pytest.raises(ParameterError, match="Perceptron"):
            effects.predictions(Perceptron(average=True).fit(X, y == 1), X)

    def test_separated_classes(self):
        X, y = np.arange(20.0)[:, None], np.arange(20) > 9
        with pytest.warns(SeparationWarning):
            model = LogisticRegression().fit(X, y)
        with pytest.raises(DegenerateDataError, match="firth"):
            effects.slopes(model, X)

    def test_resamples_of_a_matrix_need_its_classes(self, numbers):
        X, y = numbers
        with pytest.raises(ParameterError, match="y"):
            effects.slopes(LinearDiscriminantAnalysis().fit(X, y), X, options=EffectOptions(resamples=5))


class TestStoredModels:
    def test_a_given_covariance_is_that_of_the_fit(self, births, plain, tmp_path):
        save(plain, tmp_path / "model.dsc")
        stored = load(tmp_path / "model.dsc")
        (expected,) = effects.slopes(plain, births, "age").rows
        options = EffectOptions(covariance=plain.coefficient_covariance())
        (row,) = effects.slopes(stored, births, "age", options=options).rows
        assert_allclose([row.estimate, row.std_error], [expected.estimate, expected.std_error], rtol=1e-10)

    def test_several_classes(self, births, tmp_path):
        model = fitted("weight ~ age + lwt", births)
        save(model, tmp_path / "model.dsc")
        options = EffectOptions(covariance=model.coefficient_covariance())
        own = effects.slopes(load(tmp_path / "model.dsc"), births, "lwt", options=options)
        for row, expected in zip(own.rows, effects.slopes(model, births, "lwt").rows, strict=True):
            assert_allclose([row.estimate, row.std_error], [expected.estimate, expected.std_error], rtol=1e-10)

    def test_without_it_there_are_no_standard_errors(self, births, plain, tmp_path):
        save(plain, tmp_path / "model.dsc")
        found = effects.slopes(load(tmp_path / "model.dsc"), births, "age")
        assert np.isnan(found.rows[0].std_error)
        assert "no training rows" in found.notes[0]

    def test_a_covariance_of_another_shape_is_refused(self, births, plain):
        with pytest.raises(ParameterError, match="shape"):
            effects.slopes(plain, births, "age", options=EffectOptions(covariance=np.eye(3)))
        with pytest.raises(ParameterError, match="ordinal regression"):
            effects.slopes(
                LinearDiscriminantAnalysis().fit(births[["age"]], births.low), births[["age"]],
                options=EffectOptions(covariance=np.eye(2)),
            )  # fmt: skip


def test_values_that_columns_are_set_to_are_kept(births, plain):
    rows = effects.predictions(plain, births, at={"age": [20, 30], "smoke": 1}).rows
    assert [dict(row.at) for row in rows] == [{"age": 20, "smoke": 1}, {"age": 30, "smoke": 1}]
    assert "at" not in effects.predictions(plain, births).to_frame().columns


class TestValues:
    def test_a_covariance_is_not_used_with_resamples(self):
        with pytest.raises(ParameterError, match="covariance"):
            EffectOptions(covariance="HC1", resamples=10)

    def test_groups_by_many_numbers_are_ranges(self, births, plain):
        found = effects.predictions(plain, births, by="lwt")
        ends = np.quantile(births.lwt, np.linspace(0, 1, 6))
        codes = np.searchsorted(ends[1:-1], births.lwt)
        expected = effects.predictions(plain, births, by=codes)
        assert_allclose([row.estimate for row in found.rows], [row.estimate for row in expected.rows])
        assert found.rows[0].group == f"[{ends[0]:g}, {ends[1]:g}]"
        assert found.rows[1].group == f"({ends[1]:g}, {ends[2]:g}]"
        assert "lwt: ranges" in found.notes[0]

    def test_groups_by_an_identifier_are_refused(self, births, plain):
        with pytest.raises(ColumnError, match="189 values"):
            effects.predictions(plain, births.assign(name=[f"row {i}" for i in range(189)]), by="name")

    def test_rows_without_a_value_are_a_group(self, births, plain):
        frame = births.assign(clinic=np.where(births.lwt > 200, np.nan, births.smoke))
        found = effects.predictions(plain, frame, by="clinic")
        assert [row.group for row in found.rows] == [0.0, 1.0, "missing"]

    @pytest.mark.parametrize("verb", [effects.predictions, effects.slopes])
    def test_text_for_a_numeric_column_is_refused(self, births, plain, verb):
        with pytest.raises(ColumnError, match="age"):
            verb(plain, births, at={"age": "old"})

    def test_text_is_no_value_of_a_numeric_column(self, births, plain):
        with pytest.raises(ColumnError, match="age"):
            effects.comparisons(plain, births, "age", values=["young", "old"])

    @pytest.mark.parametrize("parameters", [{}, {"nonparallel": ["lwt"], "link": "probit"}])
    def test_stored_ordinal_models_have_standard_errors_with_a_given_covariance(self, births, tmp_path, parameters):
        X = births[["age", "lwt"]]
        y = np.digitize(births.bwt, [2500, 3200]) if "bwt" in births else births.race
        model = OrdinalLogisticRegression(**parameters).fit(X, y)
        save(model, tmp_path / "model.dsc")
        stored, expected = load(tmp_path / "model.dsc"), effects.slopes(model, X)
        without = effects.slopes(stored, X)
        assert_allclose([row.estimate for row in without.rows], [row.estimate for row in expected.rows], rtol=1e-6)
        assert all(np.isnan(row.std_error) for row in without.rows)
        assert "no training rows" in without.notes[0]
        covariance = model.coefficient_covariance()
        assert_allclose(np.sqrt(np.diagonal(covariance)), [row.std_error for row in model.summary().rows], rtol=1e-12)
        found = effects.slopes(stored, X, options=effects.EffectOptions(covariance=covariance))
        assert_allclose([row.std_error for row in found.rows], [row.std_error for row in expected.rows], rtol=1e-6)
        with pytest.raises(ParameterError, match="covariance"):
            effects.slopes(stored, X, options=effects.EffectOptions(covariance=covariance[:2, :2]))
