"""Validation, effects, diagnostics, sample size and updates of models on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import run_command, write_rows
from numpy.testing import assert_allclose

from discriminant import LogisticRegression, ValidationOptions, diagnostics, effects, sample_size, validate
from helpers import REFERENCE

BIRTHS = REFERENCE / "lbw.csv"
FORMULA = "low ~ age + lwt + C(race) + smoke"


@pytest.fixture(scope="module")
def births():
    return pd.read_csv(BIRTHS)


@pytest.fixture(scope="module")
def fitted(births):
    return LogisticRegression.from_formula(FORMULA, births)


class TestValidate:
    def test_the_measures_are_those_of_the_library(self, run, births, fitted):
        found = run("validate", BIRTHS, "--formula", FORMULA, "--resamples", 20, "--json").json
        X = fitted._as_fitted(births)
        own = validate(LogisticRegression(), X, births.low, ValidationOptions(resamples=20, curve=True))
        for row, expected in zip(found["rows"], own.to_dict()["rows"], strict=True):
            assert row["measure"] == expected["measure"]
            assert_allclose(row["corrected"], expected["corrected"], rtol=1e-6)
        assert found["n_resamples"] == 20
        assert len(found["least_stable"]) == 5
        assert_allclose(found["curve"]["integrated_index"], own.curve.integrated_index, rtol=1e-6)

    def test_groups_and_report(self, run, tmp_path):
        page = tmp_path / "report.html"
        ran = run("validate", BIRTHS, "--formula", FORMULA, "--resamples", 20, "--by", "race", "--report", page)
        assert "Corrected measures by group" in ran.out
        text = page.read_text(encoding="utf-8")
        for heading in (
            "Sample size",
            "Calibration",
            "Decision curve",
            "TRIPOD+AI checklist",
            "Diagnostics",
            "Effects",
        ):
            assert heading in text

    def test_cross_validation_of_another_model(self, run, iris):
        arguments = ("--method", "cv", "--folds", 3, "--repeats", 2)
        found = run("validate", iris, "-t", "species", "--model", "lda", *arguments, "--json").json
        assert found["method"] == "cv"
        assert found["rows"][0]["measure"] == "auc"

    def test_row_numbers_are_those_of_the_table(self, run, folder):
        rows = [["x", "y"]] + [["", ""]] * 3 + [[i % 7, int(i * 7 % 10 < 5)] for i in range(60)]
        path = write_rows(folder / "gaps.csv", rows)
        found = run("validate", path, "--formula", "y ~ x", "--resamples", 10, "--json").json
        assert min(one["row"] for one in found["least_stable"]) >= 3

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--method", "nix"), "--method must be"),
            (("--by", "nix"), "nix"),
            (("--model", "svm"), "does not predict probabilities"),
            (("--resamples", "1"), "resamples"),
        ],
    )
    def test_refusals(self, arguments, message):
        ran = run_command("validate", BIRTHS, "-t", "low", "--drop", "bwt", *arguments)
        assert ran.code == 1
        assert message in ran.err


class TestEffects:
    def test_slopes_of_a_formula(self, run, births, fitted):
        found = run("effects", "slopes", BIRTHS, "--formula", FORMULA, "--json").json["effects"][0]["rows"]
        expected = effects.slopes(fitted, births).rows
        assert [row["term"] for row in found] == [row.term for row in expected]
        assert_allclose([row["std_error"] for row in found], [row.std_error for row in expected], rtol=1e-5)

    def test_comparisons_of_levels_in_a_table_with_categories(self, run):
        arguments = ("-t", "low", "--drop", "bwt", "--drop", "id", "--column", "race", "--values", "white,black")
        (row,) = run("effects", "comparisons", BIRTHS, *arguments, "--json").json["effects"][0]["rows"]
        assert row["contrast"] == "black - white"
        assert row["std_error"] > 0

    def test_a_model_file_has_its_covariance(self, run, folder, births, fitted):
        model = folder / "births.dsc"
        run("fit", BIRTHS, "--formula", FORMULA, "-o", model)
        arguments = ("--rows", BIRTHS, "--column", "smoke", "--values", "0,1", "--contrast", "ratio")
        (row,) = run("effects", "comparisons", model, *arguments, "--json").json["effects"][0]["rows"]
        (expected,) = effects.comparisons(fitted, births, "smoke", "ratio", [0, 1]).rows
        assert_allclose([row["estimate"], row["std_error"]], [expected.estimate, expected.std_error], rtol=1e-5)

    def test_clusters_groups_and_files(self, run, tmp_path):
        table, page = tmp_path / "effects.csv", tmp_path / "effects.html"
        arguments = ("--formula", FORMULA, "--at", "age=20,25,30", "--by", "smoke", "--clusters", "race")
        ran = run("effects", "predictions", BIRTHS, *arguments, "-o", table, "--figure", page)
        assert "by cluster" in ran.out
        assert len(table.read_text().splitlines()) == 7
        assert "Prediction by age" in page.read_text(encoding="utf-8")

    def test_resamples_of_a_model_without_covariance(self, run):
        arguments = ("-t", "low", "--drop", "bwt", "--model", "lda", "--column", "age", "--resamples", 10)
        (row,) = run("effects", "slopes", BIRTHS, *arguments, "--json").json["effects"][0]["rows"]
        assert row["std_error"] > 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("nix", BIRTHS, "-t", "low"), "Unknown kind"),
            (("slopes", BIRTHS, "--formula", FORMULA, "--column", "ftv"), "has no column 'ftv'"),
            (("comparisons", BIRTHS, "--formula", FORMULA), "--column NAME"),
            (("comparisons", BIRTHS, "--formula", FORMULA, "--column", "race", "--values", "red,white"), "no level"),
            (("comparisons", BIRTHS, "--formula", FORMULA, "--column", "age", "--contrast", "nix"), "Unknown contrast"),
            (("slopes", BIRTHS, "--formula", FORMULA, "--rows", BIRTHS), "--rows applies to model files"),
            (("slopes", BIRTHS, "--formula", FORMULA, "--typical", "--by", "smoke"), "--by"),
        ],
    )
    def test_refusals(self, arguments, message):
        ran = run_command("effects", *arguments)
        assert ran.code == 1
        assert message in ran.err

    def test_a_model_file_needs_rows(self, titanic_model):
        ran = run_command("effects", "slopes", titanic_model)
        assert ran.code == 1
        assert "--rows DATA" in ran.err


def test_diagnostics_are_those_of_the_library(run, fitted, tmp_path):
    table = tmp_path / "residuals.csv"
    found = run("diagnostics", BIRTHS, "--formula", FORMULA, "-o", table, "--json").json
    expected = diagnostics(fitted)
    assert [row["row"] for row in found["most_influential"]] == [row.row for row in expected.most_influential()]
    assert_allclose(found["tests"][0]["statistic"], expected.tests[0].statistic, rtol=1e-6)
    assert len(table.read_text().splitlines()) == 190


def test_sample_size_is_that_of_the_library(run):
    found = run("sample-size", "--parameters", 24, "--share", 0.174, "--r2", 0.288, "--json").json
    assert found["n_rows"] == sample_size(24, 0.174, r2=0.288).n_rows == 662
    several = run("sample-size", "--parameters", 10, "--share", "0.5,0.3,0.2", "--auc", "0.8,0.75,0.7", "--json").json
    assert several["n_rows"] == 1443
    assert run_command("sample-size", "--parameters", 10, "--share", "x").code == 1


class TestPublishedModels:
    @pytest.fixture
    def published(self, run, tmp_path):
        rows = [["intercept", 0.4], ["age", -0.02], ["lwt", -0.012], ["race=black", 1.2], ["race=other", 0.9],
                ["race=white", 0], ["smoke", 1.0]]  # fmt: skip
        table, model = write_rows(tmp_path / "coefficients.csv", [["term", "estimate"], *rows]), tmp_path / "model.dsc"
        run("import", table, "-t", "low", "-o", model)
        return model

    def test_it_is_evaluated_by_group(self, run, published):
        found = run("evaluate", published, BIRTHS, "--by", "race", "--json").json
        assert {row["group"] for row in found["by_group"]["rows"]} == {"black", "other", "white"}
        assert found["rows"] == 189

    def test_it_is_recalibrated_and_written(self, run, published, births, fitted, tmp_path):
        target = tmp_path / "updated.dsc"
        found = run("recalibrate", published, BIRTHS, "--update", "refit", "-o", target, "--json").json
        assert found["recalibration"]["recommended"] == "no update"
        assert [row["df"] for row in found["recalibration"]["rows"]] == [6, 5, 4, 0]
        again = run("recalibrate", target, BIRTHS, "--no-refit", "--json").json
        assert_allclose([again["line"]["intercept"], again["line"]["slope"]], [0, 1], atol=1e-6)
        predicted = run("predict", target, BIRTHS, "--proba").out.splitlines()[1:]
        p = [float(line.split(",")[-1]) for line in predicted]
        assert_allclose(p, fitted.predict_proba(births)[:, 1], rtol=1e-5)

    def test_a_level_that_no_row_has_keeps_its_coefficient(self, run, published, births, tmp_path):
        target, other = tmp_path / "updated.dsc", tmp_path / "other.csv"
        births[births.race != "black"].to_csv(other, index=False)
        ran = run("recalibrate", published, other, "--update", "refit", "-o", target, "--json")
        assert ran.json["constant_columns"] == ["race=black"]
        assert "race=black" in ran.err
        rows = run("explain", target, "--json").json["coefficients"]["rows"]
        assert {row["term"]: row["estimate"] for row in rows}["race=black"] == 1.2
        again = run("recalibrate", target, other, "--no-refit", "--json").json
        assert_allclose([again["line"]["intercept"], again["line"]["slope"]], [0, 1], atol=1e-6)

    def test_a_model_of_this_package_is_recalibrated_in_the_large(self, run, folder, births, tmp_path):
        model, target = folder / "own.dsc", tmp_path / "own-updated.dsc"
        run("fit", BIRTHS, "--formula", "low ~ ns(age, df=2) + smoke", "-o", model)
        other = tmp_path / "other.csv"
        births[births.race != "white"].to_csv(other, index=False)
        run("recalibrate", model, other, "--update", "in-the-large", "-o", target)
        found = run("recalibrate", target, other, "--json").json
        assert_allclose(found["line"]["in_the_large"], 0, atol=1e-6)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([["term"], ["age"]], "one column"),
            ([["term", "b"], ["age", "x"], ["sex", "y"]], "must be a number"),
            ([["term", "b"], ["age", 1], ["age", 2]], "two coefficients"),
            ([["term", "b"], ["age", 1]], "no intercept"),
        ],
    )
    def test_tables_that_are_no_coefficients_are_refused(self, tmp_path, rows, message):
        table = write_rows(tmp_path / "wrong.csv", rows)
        ran = run_command("import", table, "-o", tmp_path / "model.dsc")
        assert ran.code == 1
        assert message in ran.err

    def test_several_classes_and_unknown_updates_are_refused(self, iris_model, iris, titanic_model, titanic):
        assert "two classes" in run_command("recalibrate", iris_model, iris).err
        assert "--no-refit" in run_command("recalibrate", titanic_model, titanic, "--update", "refit", "--no-refit").err
        assert "Unknown update" in run_command("recalibrate", titanic_model, titanic, "--update", "nix").err


def test_a_comparison_has_groups_in_its_report(run, tmp_path):
    page = tmp_path / "page.html"
    arguments = (BIRTHS, "-t", "low", "--drop", "bwt", "--models", "logistic", "--folds", 3)
    run("compare", *arguments, "--by", "race", "--report", page)
    assert 'id="plot-groups"' in page.read_text("utf-8")
    assert "--report" in run_command("compare", *arguments, "--by", "race").err


@pytest.mark.parametrize(
    "kind",
    [
        "smooth-calibration",
        "decision-curve",
        "instability",
        "group-measures",
        "effects",
        "binned-residuals",
        "influence",
    ],
)
def test_figures(run, tmp_path, kind):
    path, column = tmp_path / "figure.html", ("--column", "race") if kind == "group-measures" else ()
    found = run(
        "figure", kind, BIRTHS, "-t", "low", "--drop", "bwt", "--drop", "id", *column, "-o", path, "--json"
    ).json
    assert found["shows"]
    assert json.loads(json.dumps(found))["figure"] == kind


def test_errors_about_sample_sizes_name_the_options():
    assert "--parameters" in run_command("sample-size", "--parameters", 0, "--share", 0.2).err
    assert "--share" in run_command("sample-size", "--parameters", 10, "--share", "0.2,0.3").err


def test_a_refit_without_finite_estimate_can_be_left_out(run, tmp_path):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 200))
    ill = rng.random(200) < 1 / (1 + np.exp(-2 * x))
    old = pd.DataFrame({"x": x, "z": z, "ill": np.where(ill, "yes", "no")})
    data, new, model = tmp_path / "data.csv", tmp_path / "new.csv", tmp_path / "model.dsc"
    old.to_csv(data, index=False)
    old.assign(z=np.where(ill, 1.0, -1.0) + 0.1 * z).to_csv(new, index=False)
    run("fit", data, "-t", "ill", "--model", "logistic", "-o", model)
    refused = run_command("recalibrate", model, new)
    assert refused.code == 1
    assert "--no-refit" in refused.err
    run("recalibrate", model, new, "--no-refit")


@pytest.fixture(scope="module")
def gaps():
    rng = np.random.default_rng(2)
    x, group = rng.normal(size=300), rng.choice(["a", "b", "c"], 300)
    ill = rng.random(300) < 1 / (1 + np.exp(-x - (group == "b")))
    return pd.DataFrame({"x": np.where(rng.random(300) < 0.2, np.nan, x), "group": group, "ill": ill.astype(int)})


@pytest.fixture(scope="module")
def model_of_gaps(gaps, folder):
    data, path = folder / "rows_with_gaps.csv", folder / "rows_with_gaps.dsc"
    gaps.to_csv(data, index=False)
    assert run_command("fit", data, "-t", "ill", "--model", "logistic", "-o", path).code == 0
    return path


class TestEffectsOfOtherRows:
    @pytest.mark.parametrize("question", [("slopes",), ("comparisons", "--values", "2")])
    def test_rows_without_a_value_are_left_out(self, run, gaps, model_of_gaps, question, tmp_path):
        whole, observed = tmp_path / "whole.csv", tmp_path / "observed.csv"
        gaps.to_csv(whole, index=False)
        gaps.dropna().to_csv(observed, index=False)
        kind, *values = question
        found, expected = (
            run("effects", kind, model_of_gaps, "--rows", rows, "--column", "x", *values, "--json").json["effects"][0]
            for rows in (whole, observed)
        )
        keys = ("estimate", "std_error", "low", "high")
        for own, other in zip(found["rows"], expected["rows"], strict=True):
            assert_allclose([own[key] for key in keys], [other[key] for key in keys], rtol=1e-5)
        assert "'x'" in found["notes"][0]

    def test_unseen_levels_are_not_compared(self, run, gaps, model_of_gaps, tmp_path):
        rows = tmp_path / "rows.csv"
        pd.concat([gaps, gaps[:1].assign(group="_new")]).to_csv(rows, index=False)
        found = run("effects", "comparisons", model_of_gaps, "--rows", rows, "--column", "group", "--json").json[
            "effects"
        ][0]
        assert [row["contrast"] for row in found["rows"]] == ["b - a", "c - a"]
