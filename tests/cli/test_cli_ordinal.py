"""Ordered classes on the command line: fit, predict, evaluate, compare and describe."""

import numpy as np
import pandas as pd
import pytest
from commands import run_command

from discriminant import Decision, OrdinalLogisticRegression, load

ORDER = ["low", "medium", "high"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(300, 2)), rng.choice(["f", "m"], 300)
    eta = X[:, 0] - 0.5 * X[:, 1] + 0.7 * (sex == "m") + rng.logistic(size=300)
    frame = pd.DataFrame(
        {"age": X[:, 0], "dose": X[:, 1], "sex": sex, "grade": np.array(ORDER)[np.digitize(eta, [-0.5, 1])]}
    )
    path = tmp_path_factory.mktemp("ordinal") / "grades.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(run, table, tmp_path):
    run("fit", table, "-t", "grade", "--ordered", "low, medium,high", "-o", tmp_path / "model.dsc")
    return tmp_path / "model.dsc"


def test_fit_with_an_order_is_an_ordinal_model(run, table, model):
    found = run("fit", table, "-t", "grade", "--ordered", "low,medium,high", "--json").json
    assert found["model"] == "OrdinalLogisticRegression"
    assert [row["term"] for row in found["coefficients"]["rows"]] == [
        "age",
        "dose",
        "sex=f",
        "low|medium",
        "medium|high",
    ]
    frame = pd.read_csv(table)
    X = np.column_stack((frame.age, frame.dose, frame.sex == "f"))
    expected = OrdinalLogisticRegression(classes_order=ORDER).fit(X, frame.grade)
    stored = load(model)
    assert stored.coef_ == pytest.approx(expected.coef_, rel=1e-9)
    assert stored.classes_order_.tolist() == ORDER


def test_coefficients_and_thresholds_are_shown(run, table, model):
    shown = run("explain", model).out
    assert "Coefficients (log-odds of higher classes)" in shown
    assert "Thresholds" in shown
    assert "slopes" not in shown
    assert "sex" in run("explain", model, table, "--row", "3").out


def test_formula_with_an_order(run, table):
    found = run("fit", table, "--formula", "grade ~ age * sex", "--ordered", "low,medium,high", "--json").json
    assert found["model"] == "OrdinalLogisticRegression"
    assert list(found["terms"]["tests"]) == ["age", "sex", "age:sex"]


def test_partial_proportional_odds_by_the_name_of_a_category(run, table):
    arguments = ("--ordered", "low,medium,high", "--set", 'nonparallel=["sex"]', "--json")
    rows = run("fit", table, "-t", "grade", *arguments).json["coefficients"]["rows"]
    assert "low|medium:sex=f" in [row["term"] for row in rows]


def test_several_nonparallel_columns(run, table):
    arguments = ("--ordered", "low,medium,high", "--set", "nonparallel=sex, age", "--json")
    rows = run("fit", table, "-t", "grade", *arguments).json["coefficients"]["rows"]
    terms = [row["term"] for row in rows]
    assert {"low|medium:sex=f", "medium|high:age", "dose"} <= set(terms)


def test_effects_of_a_stored_model_have_its_standard_errors(run, table, model):
    stored = run("effects", "slopes", model, "--rows", table, "--json").json["effects"][0]["rows"]
    fitted = run("effects", "slopes", table, "-t", "grade", "--ordered", "low,medium,high", "--json").json
    for own, expected in zip(stored, fitted["effects"][0]["rows"], strict=True):
        assert own["std_error"] == pytest.approx(expected["std_error"], rel=1e-6)


def test_evaluation_has_measures_of_ordered_classes(run, table, model):
    found = run("evaluate", model, table, "--costs", "absolute", "--json").json
    values = {row["metric"]: row["value"] for row in found["estimates"] if row["of"] == "overall"}
    assert {"rps", "somers_d", "kappa_linear", "kappa_quadratic"} <= set(values)
    assert values["cost"] == pytest.approx(values["mean_absolute_error"])


def test_predictions_by_distance(run, table, model, tmp_path):
    run("predict", model, table, "--costs", "squared", "-o", tmp_path / "decided.csv")
    stored, frame = load(model), pd.read_csv(table)
    posterior = stored.predict_proba(frame[["age", "dose", "sex"]])
    expected = Decision("squared", classes=ORDER).decide(posterior[:, [1, 2, 0]])
    assert pd.read_csv(tmp_path / "decided.csv").prediction.tolist() == expected.tolist()


def test_comparison_with_an_order(run, table):
    found = run(
        "compare", table, "-t", "grade", "--models", "ordinal,lda", "--ordered", "low,medium,high", "--json"
    ).json
    assert set(found["ranking"]) >= {"ordinal", "lda"}
    if found["fit_command"] and "ordinal" in found["fit_command"]:
        assert "--ordered low,medium,high" in found["fit_command"]


def test_an_order_is_proposed_and_not_applied(run, table):
    found = run("describe", table, "-t", "grade")
    assert "--ordered low,medium,high" in found.out
    assert [row["class"] for row in run("describe", table, "-t", "grade", "--json").json["classes"]] == sorted(ORDER)


@pytest.mark.parametrize("order", ["low,medium", "low,medium,high,other", "low,low,medium,high", ""])
def test_wrong_orders_are_refused(table, order):
    ran = run_command("fit", table, "-t", "grade", "--ordered", order)
    assert ran.code == 1
    assert "--ordered" in ran.err


def test_distances_need_an_order(run, table, tmp_path):
    run("fit", table, "-t", "grade", "--model", "lda", "-o", tmp_path / "lda.dsc")
    ran = run_command("evaluate", tmp_path / "lda.dsc", table, "--costs", "absolute")
    assert ran.code == 1
    assert "--ordered" in ran.err


@pytest.mark.parametrize("language", ["onnx"])
def test_export_names_the_form_that_can_be_exported(model, language):
    ran = run_command("export", model, "--to", language)
    assert ran.code == 1
    assert "form=adjacent" in ran.err


def test_reports_of_ordinal_models(run, table, model, tmp_path):
    run("evaluate", model, table, "--report", tmp_path / "test.html")
    page = (tmp_path / "test.html").read_text(encoding="utf-8")
    assert "ranked probability score" in page.lower()
    arguments = ("--models", "ordinal,lda", "--ordered", "low,medium,high", "--report", tmp_path / "compare.html")
    run("compare", table, "-t", "grade", *arguments)
    assert "OrdinalLogisticRegression" in (tmp_path / "compare.html").read_text(encoding="utf-8")


class TestPredictionSets:
    @pytest.fixture
    def parts(self, table, tmp_path):
        frame = pd.read_csv(table)
        for name, part in {"train": frame[:100], "calibration": frame[100:200], "test": frame[200:]}.items():
            part.to_csv(tmp_path / f"{name}.csv", index=False)
        return tmp_path

    def test_sets_are_a_column_of_labels(self, run, parts):
        run("fit", parts / "train.csv", "-t", "grade", "--model", "lda", "-o", parts / "m.dsc")
        options = ("--coverage", "0.9", "--calibration", parts / "calibration.csv")
        run("predict", parts / "m.dsc", parts / "test.csv", *options, "--keep", "grade", "-o", parts / "sets.csv")
        found = pd.read_csv(parts / "sets.csv")
        covered = [truth in own.split("|") for truth, own in zip(found.grade, found.set, strict=True)]
        shown = run("evaluate", parts / "m.dsc", parts / "test.csv", *options, "--json").json["sets"]
        assert shown["rows"][0]["coverage"] == pytest.approx(np.mean(covered))
        assert (
            "Prediction sets, nominal coverage 90 %"
            in run("evaluate", parts / "m.dsc", parts / "test.csv", *options).out
        )

    def test_their_risk_coverage_curve_is_drawn(self, run, parts):
        run("fit", parts / "train.csv", "-t", "grade", "--model", "lda", "-o", parts / "m.dsc")
        options = ("--rows", parts / "test.csv", "--calibration", parts / "calibration.csv", "-o", parts / "f.html")
        shown = run("figure", "risk-coverage", parts / "m.dsc", *options, "--json").json["shows"]
        assert "prediction sets" in shown
        assert "conformal confidence" in (parts / "f.html").read_text(encoding="utf-8")
        for words in (("roc-curve", parts / "m.dsc", *options), ("risk-coverage", parts / "train.csv", *options[2:])):
            ran = run_command("figure", *words, "--overwrite")
            assert ran.code == 1
            assert "--calibration" in ran.err

    def test_training_rows_do_not_calibrate(self, run, parts):
        run("fit", parts / "train.csv", "-t", "grade", "--model", "lda", "-o", parts / "m.dsc")
        for more in (["--calibration", parts / "train.csv", "--coverage", "0.9"], ["--coverage", "0.9"]):
            ran = run_command("predict", parts / "m.dsc", parts / "test.csv", *more)
            assert ran.code == 1
            assert "--calibration" in ran.err

    def test_evaluated_rows_do_not_calibrate(self, run, parts):
        run("fit", parts / "train.csv", "-t", "grade", "--model", "lda", "-o", parts / "m.dsc")
        ran = run_command(
            "evaluate", parts / "m.dsc", parts / "test.csv", "--coverage", 0.9, "--calibration", parts / "test.csv"
        )
        assert ran.code == 1
        assert "--calibration" in ran.err

    def test_sets_have_no_other_priors(self, run, parts):
        run("fit", parts / "train.csv", "-t", "grade", "--model", "lda", "-o", parts / "m.dsc")
        options = ("--coverage", 0.9, "--calibration", parts / "calibration.csv")
        priors = "low=0.2,medium=0.2,high=0.6"
        ran = run_command("predict", parts / "m.dsc", parts / "test.csv", *options, "--priors", priors)
        assert ran.code == 1
        assert "--priors" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("validate", "-t", "grade", "--method", "cv", "--folds", "3", "--repeats", "1"),
        ("validate", "-t", "grade", "--resamples", "3", "--model", "ordinal"),
        ("effects", "-t", "grade"),
    ],
)
def test_commands_that_fit_a_model_take_an_order(run, table, command):
    """Without the order the sorted order of the classes would be used, with a warning."""
    name, *arguments = command
    kind = ["slopes"] if name == "effects" else []
    found = run(name, *kind, table, *arguments, "--ordered", "low,medium,high", "--json")
    assert found.err == ""
    if name == "validate":
        assert found.json["name"] == "ordinal"
        assert next(row["apparent"] for row in found.json["rows"] if row["measure"] == "auc") > 0.6
    else:
        signs = {(row["outcome"], row["term"]): np.sign(row["estimate"]) for row in found.json["effects"][0]["rows"]}
        assert signs["high", "age"] == 1
        assert signs["low", "age"] == -1


def test_category_curves_take_an_order(run, table, tmp_path):
    figure = tmp_path / "curves.html"
    found = run(
        "figure", "category-curves", table, "-t", "grade", "--column", "age", "--ordered", ",".join(ORDER), "-o", figure
    )
    assert "sorted" not in found.err
    assert figure.exists()


@pytest.mark.parametrize("model", ["lda", "logistic"])
def test_models_without_an_order_refuse_one(table, model):
    refused = run_command("fit", table, "-t", "grade", "--ordered", "low,medium,high", "--model", model)
    assert refused.code != 0
    assert "--model ordinal" in refused.err


def test_classes_in_one_text_name_the_option(table):
    refused = run_command("fit", table, "-t", "grade", "--model", "ordinal", "--set", "classes_order=low,medium,high")
    assert refused.code != 0
    assert "--ordered" in refused.err


def test_groups_have_measures_of_ordered_classes(run, table, model):
    shown = run("evaluate", model, table, "--by", "sex").out
    for name in ("ranked probability score", "Somers' D", "kappa (linear weights)", "kappa (quadratic weights)"):
        assert name in shown
    rows = run("evaluate", model, table, "--by", "sex", "--json").json["by_group"]["rows"]
    own = next(row for row in rows if (row["measure"], row["group"]) == ("rps", "f"))
    frame = pd.read_csv(table)
    frame = frame[frame.sex == "f"]
    below = np.cumsum(load(model).predict_proba(frame[["age", "dose", "sex"]])[:, [1, 2, 0]], axis=1)[:, :2]
    assert list(load(model).classes_) == ["high", "low", "medium"]
    truth = np.cumsum(frame.grade.to_numpy()[:, None] == ORDER, axis=1)[:, :2]
    assert own["value"] == pytest.approx(np.mean((below - truth) ** 2), rel=1e-9)


def test_the_pool_takes_an_order(run, table, tmp_path):
    command = ("fit", table, "-t", "grade", "--ordered", "low,medium,high", "--model", "auto")
    found = run(*command, "-o", tmp_path / "auto.dsc", "--json").json
    assert "ordinal" in [row["name"] for row in found["families"]["rows"]]
    evaluated = run("evaluate", tmp_path / "auto.dsc", table, "--json").json
    assert "rps" in [row["metric"] for row in evaluated["estimates"]]
    run("export", tmp_path / "auto.dsc", "--to", "sql", "--dialect", "sqlite", "-o", tmp_path / "auto.sql")
    assert (tmp_path / "auto.sql").stat().st_size > 0
