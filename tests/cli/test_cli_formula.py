"""``--formula``: a model of named terms on the command line, used and told by all commands."""

import csv

import duckdb
import numpy as np
import pandas as pd
import pytest
from commands import run_command

from discriminant import LogisticRegression, load
from discriminant.storage.model_file import read_model_file

FORMULA = "survived ~ sex * fare + ns(age, df=3) + C(class, Treatment(3))"
TERMS = ["sex", "fare", "ns(age, df=3)", "C(class, Treatment(3))", "sex:fare"]


@pytest.fixture(scope="session")
def formula_model(folder, titanic):
    path = folder / "formula.dsc"
    ran = run_command("fit", titanic, "--formula", FORMULA, "-o", path)
    assert ran.code == 0, ran.err
    assert "rows with missing values are dropped" in ran.err
    return path


def test_fit_by_formula_shows_its_terms(run, titanic):
    told = run("fit", titanic, "--formula", FORMULA).out
    assert f"Formula: {FORMULA}" in told
    for name in ["sex=male:fare", "ns(age, df=3)[2]", "class=1", *TERMS]:
        assert name in told
    found = run("fit", titanic, "--formula", FORMULA, "--json").json
    assert found["formula"] == FORMULA
    assert [found["terms"]["tests"][term]["df"] for term in TERMS] == [1, 1, 3, 2, 1]
    assert found["target"] == "survived"


def test_the_command_and_python_fit_the_same_model(titanic, formula_model):
    frame = pd.read_csv(titanic)
    with pytest.warns(UserWarning, match="missing"):
        model = LogisticRegression.from_formula(FORMULA, frame)
    stored = load(formula_model)
    np.testing.assert_allclose(stored.coef_, model.coef_, rtol=1e-10)
    assert stored.feature_names_in_.tolist() == model.feature_names_in_.tolist()


def test_rows_are_answered_as_python_answers_them(run, titanic, formula_model, tmp_path):
    run("predict", formula_model, titanic, "--proba", "--keep", "age", "-o", tmp_path / "answers.csv")
    answers = pd.read_csv(tmp_path / "answers.csv")
    frame = pd.read_csv(titanic)
    there = frame.age.notna()
    assert answers.prediction[~there].isna().all()  # incomplete rows have no answer
    with pytest.warns(UserWarning, match="missing"):
        model = LogisticRegression.from_formula(FORMULA, frame)
    np.testing.assert_allclose(answers.probability_1[there], model.predict_proba(frame[there])[:, 1], rtol=1e-9)


def test_gaps_can_be_marked_instead(run, titanic, tmp_path):
    found = run("fit", titanic, "--formula", FORMULA, "--missing", "indicator", "--json", "-o", tmp_path / "m.dsc").json
    assert found["rows_left_out"] == 0
    assert found["coefficients"]["rows"][-1]["term"] == "age=(missing)"
    with open(run_and_read(run, tmp_path / "m.dsc", titanic, tmp_path), newline="") as file:
        assert all(row["prediction"] in ("0", "1") for row in csv.DictReader(file))


def run_and_read(run, model, data, tmp_path):
    run("predict", model, data, "-o", tmp_path / "out.csv")
    return tmp_path / "out.csv"


def test_evaluate_explain_and_report_speak_of_the_terms(run, formula_model, new_passengers, tmp_path):
    found = run("evaluate", formula_model, new_passengers, "--report", tmp_path / "page.html", "--json").json
    assert found["report"] == str(tmp_path / "page.html")
    assert "ns(age, df=3)[1]" in (tmp_path / "page.html").read_text()
    told = run("explain", formula_model).out
    assert "ns(age, df=3)[3]" in told
    assert "Likelihood-ratio tests of terms, type II" in told
    why = run("explain", formula_model, "--row", "age=30,sex=female,fare=20,class=1", "--json").json
    assert {row["column"] for row in why["contributions"]["rows"]} == {"age", "sex", "fare", "class"}


def test_exports_answer_alike(run, titanic, formula_model, tmp_path):
    frame = pd.read_csv(titanic).dropna(subset=["age"]).reset_index(drop=True)
    frame.to_csv(tmp_path / "whole.csv", index=False)
    run("predict", formula_model, tmp_path / "whole.csv", "--proba", "-o", tmp_path / "answers.csv")
    expected = pd.read_csv(tmp_path / "answers.csv").probability_1
    query = run("export", formula_model, "--to", "sql", "--dialect", "duckdb", "--sql-table", "frame").out
    np.testing.assert_allclose(duckdb.sql(query).df().probability_1, expected, rtol=1e-9)


@pytest.mark.parametrize("model", ["lda", "svm", "naive-bayes", "least-squares", "qda"])
def test_other_models_take_formulas(run, titanic, new_passengers, tmp_path, model):
    path = tmp_path / "model.dsc"
    run("fit", titanic, "--formula", "survived ~ ns(fare, 3) + sex", "--model", model, "-o", path)
    assert run("predict", path, new_passengers).out.count("\n") == 151
    assert read_model_file(path).model.formula_.terms == ["ns(fare, 3)"] * 3 + ["sex"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--formula", "survived ~ agee"], "'agee'"),
        (["--formula", "survived ~ age", "-t", "sex"], "--target 'sex'"),
        (["--formula", '__import__("os") ~ age'], "--formula: "),
        (["--formula", "survived ~ port - 1", "--model", "lda"], "always has an intercept"),
        (["--formula", "survived ~ bs(class, 4)"], "class"),
        (["--formula", "survived ~ log(fare - 5)"], "row "),
    ],
)
def test_formulas_that_cannot_be_are_refused_in_words(titanic, arguments, said):
    ran = run_command("fit", titanic, *arguments)
    assert ran.code == 1
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_terms_and_hypotheses_are_tested_as_asked(run, titanic):
    options = ["--formula", "survived ~ sex * fare + C(class, Sum)", "--json"]
    plain = run("fit", titanic, *options).json
    assert (plain["terms"]["kind"], "hypotheses" in plain) == ("II", False)
    tests = ["--term-tests", "III", "--hypothesis", "class[S.1] = class[S.2]", "--hypothesis", "fare = 0"]
    found = run("fit", titanic, *options, *tests).json
    model = LogisticRegression.from_formula("survived ~ sex * fare + C(class, Sum)", pd.read_csv(titanic))
    expected, terms = model.hypothesis("class[S.1] = class[S.2], fare = 0"), model.term_tests("III")
    np.testing.assert_allclose(found["hypotheses"]["statistic"], expected.statistic, rtol=1e-6)
    assert found["terms"]["kind"] == "III"
    np.testing.assert_allclose(found["terms"]["tests"]["sex"]["statistic"], terms["sex"].statistic, rtol=1e-6)
    assert "class[S.1] = class[S.2]" in run("fit", titanic, *options[:-1], *tests).out


@pytest.mark.parametrize(
    "arguments",
    [
        ["-t", "survived", "--model", "lda", "--hypothesis", "fare = 0"],
        ["--formula", "survived ~ fare", "--term-tests", "IV"],
        ["--formula", "survived ~ fare", "--hypothesis", "fair = 0"],
        ["--formula", "survived ~ fare + offset(age)", "--model", "lda"],
    ],
)
def test_tests_that_cannot_be_are_refused(titanic, arguments):
    ran = run_command("fit", titanic, *arguments)
    assert ran.code == 1
    assert "Traceback" not in ran.err


def test_tables_name_the_reference_levels(run, titanic, tmp_path):
    path = tmp_path / "m.dsc"
    by_table = run("fit", titanic, "-t", "survived", "--model", "logistic", "--drop", "name", "-o", path, "--json").json
    assert by_table["coefficients"]["reference_levels"]["sex"] in ("female", "male")
    by_formula = run("fit", titanic, "--formula", "survived ~ sex + C(class, Treatment(3)) + fare", "--json").json
    assert by_formula["coefficients"]["reference_levels"] == {"sex": "female", "class": "3"}
    assert "reference levels: sex = " in run("explain", path).out
    rows = {row["term"]: row for row in by_formula["coefficients"]["rows"]}
    assert rows["sex=male"]["odds_ratio_per_sd"] is None
    deviation = np.std(pd.read_csv(titanic).fare)
    np.testing.assert_allclose(
        rows["fare"]["odds_ratio_per_sd"], np.exp(rows["fare"]["estimate"] * deviation), rtol=1e-3
    )


def test_odds_ratios_of_a_model_file_have_its_intervals(run, titanic, tmp_path):
    run("fit", titanic, "--formula", "survived ~ sex + fare", "-o", tmp_path / "m.dsc")
    found = run("figure", "odds-ratios", tmp_path / "m.dsc", "-o", tmp_path / "o.html", "--json").json
    assert "95 % confidence intervals" in found["shows"]
    assert "sex = female" in found["shows"]
