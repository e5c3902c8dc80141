"""describe, fit and compare: what they show is what the package says, in text and in JSON alike."""

import html
import json
import shlex
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from commands import run_command, write_rows
from scipy.stats import norm

import discriminant
from discriminant import LogisticRegression, QuadraticDiscriminantAnalysis, load, read_training
from discriminant.cli.compare import comparison_page, time_announcer
from discriminant.estimators.registry import new_model
from discriminant.results import exponential, metric_name, number
from discriminant.storage.model_file import read_model_file


def pooled_covariance(X, y):
    centred = np.concatenate([X[y == label] - X[y == label].mean(axis=0) for label in np.unique(y)])
    return centred.T @ centred / (len(y) - len(np.unique(y)))


def test_describe_counts_the_classes_and_measures_their_distances(run, iris):
    found = run("describe", iris, "-t", "species", "--json").json
    assert [(row["class"], row["rows"]) for row in found["classes"]] == [
        ("setosa", 50),
        ("versicolor", 50),
        ("virginica", 50),
    ]
    training = read_training(iris, "species")
    inverse = np.linalg.inv(pooled_covariance(training.X, training.y))
    for pair in found["distances"]["pairs"]:
        first, second = (training.X[training.y == label].mean(axis=0) for label in pair["classes"])
        squared = (first - second) @ inverse @ (first - second)
        assert pair["mahalanobis"] ** 2 == pytest.approx(squared, rel=1e-10)
        assert pair["bhattacharyya"] == pytest.approx(squared / 8, rel=1e-10)
    assert [pair["separable"] for pair in found["separability"]["pairs"]] == [True, True, False]


def test_describe_tells_the_same_in_words(run, iris):
    found, text = run("describe", iris, "-t", "species", "--json").json, run("describe", iris, "-t", "species").out
    closest = found["distances"]["pairs"][0]
    assert number(closest["mahalanobis"]) in text
    assert f"{100 * closest['error']:.1f} %" in text
    lines = {line.partition("  ")[0]: line.split() for line in text.splitlines()}
    assert "yes" in lines["setosa vs versicolor"]
    assert lines["versicolor vs virginica"][-1] == "no"
    assert "separated by commas" in text


def two_normal_classes(path, n_rare, distance, p=3, n=2000):
    """A table of ``n`` rows, of which ``n_rare`` are of class "yes", with means so far apart."""
    X = np.random.default_rng(0).normal(size=(n, p))
    X[:n_rare, 0] += distance
    rows = [[*values, "yes" if i < n_rare else "no"] for i, values in enumerate(X.round(6).tolist())]
    return write_rows(path, [[*(f"x{j}" for j in range(p)), "y"], *rows])


def test_describes_error_rate_is_that_of_the_class_shares(run, tmp_path):
    table = two_normal_classes(tmp_path / "t.csv", n_rare=200, distance=2)
    (pair,) = run("describe", table, "-t", "y", "--json").json["distances"]["pairs"]
    assert pair["shares"] == pytest.approx([0.9, 0.1])
    cut = np.log(9) / pair["unbiased"]
    by_hand = 0.9 * norm.sf(pair["unbiased"] / 2 + cut) + 0.1 * norm.cdf(cut - pair["unbiased"] / 2)
    assert pair["error"] == pytest.approx(by_hand, rel=1e-9)
    assert pair["error"] < pair["always_one"] == pytest.approx(0.1)
    text = run("describe", table, "-t", "y").out
    assert f" {100 * by_hand:.1f} %" in text
    assert " 10.0 % " in text


@pytest.mark.parametrize(("n_rare", "distance", "p", "n"), [(66, 0.3, 3, 2000), (20, 0, 40, 60)])
def test_describe_promises_no_rate_worse_than_that_of_always_saying_one_class(run, tmp_path, n_rare, distance, p, n):
    table = two_normal_classes(tmp_path / "t.csv", n_rare, distance, p, n)
    (pair,) = run("describe", table, "-t", "y", "--json").json["distances"]["pairs"]
    assert pair["error"] <= pair["always_one"] == pytest.approx(n_rare / n)
    text = run("describe", table, "-t", "y").out
    rate = f"{100 * n_rare / n:.1f} %"
    line = next(line for line in text.splitlines() if line.startswith(" vs ".join(pair["classes"])))
    assert line.count(rate) == 2


def test_describe_warns_of_what_is_wrong_with_a_table(run, titanic):
    found = run("describe", titanic, "-t", "survived")
    for words in ("'id' is dropped", "'name' is dropped", "'deck' has ", "'port' has 1 missing value;"):
        assert words in found.out


def test_describe_and_the_report_warn_of_collinear_columns_and_rare_classes(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 3)).round(3)
    rows = [[a, b, round(a + b, 3), round(c, 3), "no" if i % 20 else "yes"] for i, (a, b, c) in enumerate(X.tolist())]
    table = write_rows(tmp_path / "t.csv", [["a", "b", "total", "c", "y"], *rows])
    told = ("Collinear columns: 'total' = 'a' + 'b'.", "'yes' has 5.0 % of the rows")
    found = run("describe", table, "-t", "y").out
    run("compare", table, "-t", "y", "--models", "logistic", "--folds", 2, "--report", tmp_path / "r.html")
    page = html.unescape((tmp_path / "r.html").read_text(encoding="utf-8"))
    for words in told:
        assert words in found.partition("Data issues")[2]
        assert words in page
    run("fit", table, "-t", "y", "--model", "logistic", "-o", tmp_path / "m.dsc")
    explained = run("explain", tmp_path / "m.dsc")
    assert next(line.split() for line in explained.out.splitlines() if line.startswith("total")) == [
        "total",
        *"--------",
    ]
    assert "aliased columns: 'total' = 'a' + 'b'" in explained.out
    run("evaluate", tmp_path / "m.dsc", table, "--report", tmp_path / "e.html")
    report = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert "\N{MINUS SIGN}∞" not in report.partition("<body>")[2].partition("<script")[0]


def test_describe_skips_with_a_word_what_would_take_long(run, iris, monkeypatch):
    describe = import_module("discriminant.workflow.describing")
    monkeypatch.setattr(describe, "MAX_SEPARABILITY_VALUES", 10)
    monkeypatch.setattr(describe, "MAX_DISTANCE_COLUMNS", 1)
    text = run("describe", iris, "-t", "species").out
    assert "Linear separability skipped: " in text
    assert "rows: 150" in text
    assert "Class distances skipped: " in text


def test_describe_measures_sparse_rows_like_others(run, tmp_path):
    path, rng = tmp_path / "rows.svm", np.random.default_rng(0)
    path.write_text("".join(f"{i % 2} 1:{rng.normal() + i % 2} 2:{i % 5 + 1}\n" for i in range(60)))
    (pair,) = run("describe", path, "--json").json["distances"]["pairs"]
    assert pair["mahalanobis"] > 0
    path.write_text("".join(f"{i % 2} 1:{rng.normal()} 2:{i}\n" for i in range(4)))
    assert "rows: 4, columns: 2, classes: 2" in run("describe", path).out


def test_fit_shows_the_coefficients_of_the_model_with_odds(run, titanic):
    arguments = ("fit", titanic, "-t", "survived", "--model", "logistic", "--set", "alpha=0.01")
    found, text = run(*arguments, "--json").json, run(*arguments).out
    training = read_training(titanic, "survived", coding="full")
    model = LogisticRegression(alpha=0.01).fit(training.rows, training.y)
    rows = found["coefficients"]["rows"]
    assert [row["term"] for row in rows] == ["intercept", *training.schema.names]
    expected = [*model.intercept_, *model.coef_[0]]
    np.testing.assert_allclose([row["estimate"] for row in rows], expected, rtol=1e-9)
    np.testing.assert_allclose([row["odds_ratio"] for row in rows], np.exp(expected), rtol=1e-9)
    low, high = model.summary().rows[1].low, model.summary().rows[1].high
    assert (rows[1]["low"], rows[1]["high"]) == pytest.approx((low, high))
    assert found["training_metrics"]["accuracy"] == model.score(training.rows, training.y)
    for row in rows:
        line = next(line for line in text.splitlines() if line.startswith(row["term"] + " "))
        assert [number(row["estimate"]), exponential(row["estimate"]), exponential(row["low"])] == [
            line.removeprefix(row["term"]).split()[j] for j in (0, -4, -3)
        ]


@pytest.mark.parametrize(
    "model", ["lda", "qda", "logistic", "svm", "naive-bayes", "gaussian-nb", "perceptron", "least-squares", "fisher"]
)
def test_every_model_is_fitted_stored_used_and_explained(run, titanic, new_passengers, tmp_path, model):
    drop = [word for name in ("deck", "port", "name", "id") for word in ("--drop", name)]
    path = tmp_path / "model.dsc"
    assert "Training accuracy" in run("fit", titanic, "-t", "survived", "--model", model, *drop, "-o", path).out
    coding = "full" if model in ("svm", "naive-bayes") else "reference"
    training = read_training(titanic, "survived", drop=["deck", "port", "name", "id"], coding=coding)
    predicted = [int(line) for line in run("predict", path, titanic).out.split()[1:]]
    np.testing.assert_array_equal(predicted, load(path).predict(training.rows))
    assert run("explain", path).out
    assert run("explain", path, new_passengers, "--row", 3).out.startswith("Prediction: ")
    assert "majority class 0" in run("evaluate", path, new_passengers).out


def test_fit_keeps_what_the_model_was_fitted_to(titanic_model, titanic):
    file = read_model_file(titanic_model)
    noted, training = file.metadata["training"], read_training(titanic, "survived")
    assert noted["rows"] == 400
    assert noted["sha256"] == discriminant.open_table(titanic).fingerprint
    assert noted["shares"] == [np.mean(training.y == 0), np.mean(training.y == 1)]
    assert file.metadata["metrics"]["accuracy"] > 0.6


@pytest.mark.parametrize(
    ("model", "setting", "expected"),
    [
        ("logistic", "alpha=0.5", 0.5),
        ("logistic", "firth=true", True),
        ("logistic", "reference=1", 1),
        ("lda", "shrinkage=oas", "oas"),
        ("lda", "shrinkage=0.25", 0.25),
        ("lda", "shrinkage=none", None),
        ("lda", 'priors={"0": 0.25, "1": 0.75}', {"0": 0.25, "1": 0.75}),
        ("lda", "priors=[0.25, 0.75]", [0.25, 0.75]),
        ("qda", "shrinkage=0.5", 0.5),
        ("svm", "C=2", 2.0),
        ("svm", "loss=squared_hinge", "squared_hinge"),
        ("perceptron", "max_iter=7", 7),
    ],
)
def test_parameters_have_the_type_that_the_model_expects(run, titanic, model, setting, expected):
    drop = ("--drop", "deck", "--drop", "name")
    found = run("fit", titanic, "-t", "survived", "--model", model, "--set", setting, *drop, "--json").json
    value = found["parameters"][setting.partition("=")[0]]
    assert value == expected
    assert type(value) is type(expected)


def test_weights_count_like_repeated_rows(run, folder, tmp_path):
    rng = np.random.default_rng(3)
    rows = [[*rng.normal(size=2).round(3), rng.choice(["a", "b"]), int(rng.integers(1, 4))] for _ in range(60)]
    weighted = write_rows(tmp_path / "weighted.csv", [["u", "v", "y", "w"], *rows])
    repeated = write_rows(tmp_path / "repeated.csv", [["u", "v", "y"], *(r[:3] for r in rows for _ in range(r[3]))])
    once = run("fit", weighted, "-t", "y", "--model", "logistic", "--weights", "w", "--json").json
    each = run("fit", repeated, "-t", "y", "--model", "logistic", "--json").json
    for first, second in zip(once["coefficients"]["rows"], each["coefficients"]["rows"], strict=True):
        assert first["term"] == second["term"]
        assert first["estimate"] == pytest.approx(second["estimate"], rel=1e-8, abs=1e-10)
    assert once["training_metrics"] == pytest.approx(each["training_metrics"])


def test_compare_says_what_the_package_says(run, iris):
    arguments = ("compare", iris, "-t", "species", "--models", "lda,qda", "--folds", 5)
    found, text = run(*arguments, "--json").json, run(*arguments).out
    training = read_training(iris, "species")
    models = {"lda": discriminant.LinearDiscriminantAnalysis(), "qda": QuadraticDiscriminantAnalysis()}
    expected = discriminant.compare(models, training.X, training.y, cv=5)
    assert found["sentence"] == expected.sentence
    assert found["ranking"] == list(expected.ranking)
    assert found["sentence"] in text
    for name in ("lda", "qda", "baseline"):
        summary = found["cross_validation"]["models"][name]["log_loss"]
        assert summary["mean"] == pytest.approx(expected.cross_validation.mean(name, "log_loss"))
        line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
        assert line.split()[1:4] == [number(summary[key]) for key in ("mean", "low", "high")]


def test_models_of_a_comparison_are_those_that_fit_makes(run, iris, tmp_path):
    found = run("compare", iris, "-t", "species", "--models", "lasso,ridge", "--folds", 3).out
    command = shlex.split(found.rpartition("To fit ")[2].partition(": ")[2])
    run(*command[1:-1], tmp_path / "m.dsc")
    assert repr(load(tmp_path / "m.dsc")) == repr(new_model(command[command.index("--model") + 1]))


def test_compare_takes_models_that_suit_a_table_of_mixed_types(run, titanic):
    found = run("compare", titanic, "-t", "survived", "--json").json
    calibrated = {"svm-calibrated", "least-squares-calibrated", "naive-bayes-calibrated"}
    assert {"auto", "ridge", "lasso", "lda", "rda", "baseline"} | calibrated == set(found["ranking"])
    assert found["ranking"][-1] == "baseline"
    assert found["metric"] == "log_loss"
    assert list(found["cross_validation"]["models"]["lda"]) == ["log_loss", "accuracy", "balanced_accuracy", "auc"]
    assert found["class_rows"].keys() == {"0", "1"}
    assert found["chosen"]["n_models"] == 8
    assert found["all_models"] is None
    assert found["fit_command"].startswith("discriminant fit")
    assert f"--model {found['ranking'][0]}" in found["fit_command"]


def test_models_that_take_long_are_left_out_with_the_option_that_includes_them(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(520) % 26
    rows = [[*x, f"c{k}"] for x, k in zip((rng.normal(size=(520, 40)) + y[:, None] % 5).round(2), y, strict=True)]
    table = write_rows(tmp_path / "classes.csv", [[*(f"x{j}" for j in range(40)), "y"], *rows])
    found = run("compare", table, "-t", "y", "--folds", "2", "--json").json
    assert {"lasso", "auto"} <= set(found["left_out"])
    assert set(found["all_models"].split(",")) == {*found["ranking"], *found["left_out"]} - {"baseline"}
    assert f"--models {found['all_models']}" in str(comparison_page(found))


def test_the_estimated_time_is_reported_once_after_the_first_fold_of_long_work(capsys):
    seconds = iter([0.0, 6.0])
    report = time_announcer(5, lambda: next(seconds))
    for done in range(1, 16):
        report(done, 15)
    assert capsys.readouterr().err == "Estimated time left: 24 s.\n"
    quick = iter([0.0, 0.6])
    report = time_announcer(5, lambda: next(quick))
    for done in range(1, 16):
        report(done, 15)
    assert not capsys.readouterr().err


def test_models_that_cannot_be_fitted_are_left_out_with_the_reason(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*(rng.normal(size=2) + i % 2).round(3), "ab"[i % 2]] for i in range(60)] + [[3, 3, "rare"], [3, 4, "rare"]]
    table, report = write_rows(tmp_path / "rare.csv", [["u", "v", "y"], *rows]), tmp_path / "r.html"
    found = run("compare", table, "-t", "y", "--report", report)
    excluded = next(line for line in found.out.splitlines() if line.startswith("Excluded "))
    assert excluded.startswith("Excluded (svm-calibrated and least-squares-calibrated): ")
    assert "'rare'" in excluded
    assert all(f"\n{name} " in found.out for name in ("ridge", "lasso", "lda", "rda", "naive-bayes-calibrated"))
    assert "Excluded: svm-calibrated (" in report.read_text("utf-8")


def test_compare_by_costs_lets_models_decide_by_least_expected_cost(run, titanic, costs):
    models = ("--models", "lda,least-squares", "--drop", "deck", "--drop", "port", "--folds", 5)
    found = run("compare", titanic, "-t", "survived", "--costs", costs, *models, "--json")
    training = read_training(titanic, "survived", drop=["deck", "port"])
    table = {0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}}
    lda = discriminant.DecisionClassifier(discriminant.LinearDiscriminantAnalysis(), table)
    expected = discriminant.cross_validate(lda, training.X, training.y, cv=5, costs=table, metrics="cost")
    summary = found.json["cross_validation"]["models"]
    assert found.json["metric"] == "cost"
    assert summary["lda"]["cost"]["mean"] == pytest.approx(expected.mean(expected.models[0], "cost"), rel=1e-9)
    assert summary["lda"]["cost"]["mean"] < summary["least-squares"]["cost"]["mean"]
    assert "5 for 0 if the true class is 1" in found.err


def test_compare_holds_groups_out_together_and_repeats(run, tmp_path):
    rng = np.random.default_rng(5)
    rows = [[*rng.normal(size=2).round(3), f"g{i // 6}", "ab"[int(rng.integers(2))]] for i in range(90)]
    path = write_rows(tmp_path / "groups.csv", [["u", "v", "g", "y"], *rows])
    found = run("compare", path, "-t", "y", "--groups", "g", "--folds", 3, "--repeats", 2, "--models", "lda", "--json")
    assert found.json["cross_validation"]["splits"] == 6
    assert found.json["columns"] == 2  # the groups are no column to learn from


def test_compare_takes_fewer_folds_where_a_class_is_small(run, tmp_path):
    rng = np.random.default_rng(5)
    rows = [[*rng.normal(size=2).round(3), "rare" if i % 10 == 0 else "common"] for i in range(60)]
    path = write_rows(tmp_path / "small.csv", [["u", "v", "y"], *rows])
    found = run("compare", path, "-t", "y", "--models", "lda", "--json")
    assert found.json["folds"] == 6
    assert "Folds: 6 instead of 10" in found.err


def test_a_class_of_one_row_can_be_left_out_everywhere(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(61, 2)).round(3)
    rows = [[u + 2 * (i % 2), v, "rare" if i == 60 else "ab"[i % 2]] for i, (u, v) in enumerate(X.tolist())]
    table, model = write_rows(tmp_path / "t.csv", [["u", "v", "y"], *rows]), tmp_path / "m.dsc"
    option = ("--drop-classes-below", "2")
    assert "--drop-classes-below 2" in run("describe", table, "-t", "y").out
    found = run("compare", table, "-t", "y", "--models", "lda", *option)
    assert "Classes of 'y' with fewer than 2 rows are dropped: 'rare'." in found.err
    assert " ".join(option) in found.out.rpartition("To fit")[2]
    run("fit", table, "-t", "y", "--model", "lda", *option, "-o", model)
    evaluated = run("evaluate", model, table, "--json")
    assert evaluated.json["rows"] == 60
    assert "Rows excluded" in evaluated.err
    assert evaluated.err.strip().endswith(": 1.")
    assert len(run("predict", model, table).out.split()) == 62


@pytest.mark.parametrize("metric", ["balanced-accuracy", "f1", "auc", "brier", "error-rate"])
def test_compare_by_other_measures(run, iris, metric):
    found = run("compare", iris, "-t", "species", "--models", "lda,gaussian-nb", "--folds", 5, "--metric", metric)
    head, *lines = found.out.partition("Models, best first\n")[2].splitlines()[:4]
    assert head.split()[0] == "model"
    assert head.index(metric_name(metric.replace("-", "_"))) < head.index("low")
    values = [float(line.split()[1]) for line in lines]
    assert values == sorted(values, reverse=metric not in ("brier", "error-rate"))
    assert "Corrected for selection: " in found.out
    assert "best of 2" in found.out
    assert "setosa 33.3 %" in found.out


def test_the_positive_class_is_named_and_followed(run, titanic, tmp_path):
    model, report = tmp_path / "m.dsc", tmp_path / "r.html"
    run("fit", titanic, "-t", "survived", "--model", "ridge", "-o", model)
    found = {label: run("evaluate", model, titanic, "--positive", label, "--json").json for label in (0, 1)}
    precisions = []
    for label, own in found.items():
        assert own["positive"] == label
        (row,) = (row for row in own["estimates"] if row["metric"] == "average_precision")
        assert row["of"] == label
        precisions.append(row["value"])
    assert abs(precisions[0] - precisions[1]) > 0.05
    assert "positive class: 0\n" in run("evaluate", model, titanic, "--positive", 0).out
    settings = ["compare", titanic, "-t", "survived", "--models", "lda,ridge", "--metric", "f1", "--folds", 5]
    for label in (0, 1):
        asked = run(*settings, "--positive", label, "--report", report, "--overwrite")
        assert f"Positive class: {label}" in asked.out
        assert f"positive class “{label}”" in report.read_text("utf-8")
    by_default = run(*settings, "--json").json
    rows = by_default["class_rows"]
    assert by_default["cross_validation"]["positive"] == int(min(rows, key=rows.get))


@pytest.mark.parametrize("words", ["compare {table} -t survived --models lda", "figure roc-curve {table} -t survived"])
def test_an_unknown_positive_class_is_refused(titanic, words):
    found = run_command(*words.format(table=titanic).split(), "--positive", "maybe")
    assert found.code == 1
    assert "--positive maybe is not among the classes [0, 1]." in found.err


def test_levels_that_each_have_a_column_are_no_collinearity_to_tell_of(run, titanic, tmp_path):
    found = run("compare", titanic, "-t", "survived", "--models", "lda,ridge,qda", "--report", tmp_path / "r.html")
    assert "can be computed" not in found.err
    assert "ollinear columns" not in (tmp_path / "r.html").read_text("utf-8")


def test_compare_writes_a_report(run, iris, tmp_path):
    path = tmp_path / "report.html"
    found = run("compare", iris, "-t", "species", "--models", "lda,gaussian-nb", "--report", path)
    text = path.read_text(encoding="utf-8")
    assert f"Report: {path}" in found.out.splitlines()
    assert "versicolor" in text
    assert "petal length" in text


def test_notes_go_to_standard_error_only(run, titanic):
    found = run("fit", titanic, "-t", "survived", "--model", "logistic", "--json")
    json.loads(found.out)
    plain = run("fit", titanic, "-t", "survived", "--model", "logistic")
    assert "Note:" in plain.err
    assert "is dropped" not in plain.out


def test_infinite_coefficients_are_shown_as_such(run, tmp_path):
    """Of a level that tells the class for certain the odds have no bound, and a nomogram would add up nonsense."""
    rng = np.random.default_rng(0)
    rows = [
        [*rng.normal(size=1).round(3), "abc"[i % 3], "u" if i % 3 == 2 or rng.random() < 0.5 else "v"]
        for i in range(90)
    ]
    table = write_rows(tmp_path / "t.csv", [["x", "level", "y"], *rows])
    found = run("fit", table, "-t", "y", "--model", "logistic", "--json", "-o", tmp_path / "m.dsc").json
    (infinite,) = [row for row in found["coefficients"]["rows"] if row.get("infinite")]
    assert (infinite["term"], infinite["infinite"], infinite["estimate"]) == ("level=c", "-", None)
    text = run("explain", tmp_path / "m.dsc").out
    assert next(line.split() for line in text.splitlines() if line.startswith("level=c")) == [
        *("level=c", "-inf", "-", "-", "-", "0", "-", "-", "-")
    ]
    assert "--set firth=true" in text
    run("fit", table, "-t", "y", "--model", "logistic", "--set", "firth=true", "--overwrite", "-o", tmp_path / "m.dsc")
    assert "Points for v" in run("explain", tmp_path / "m.dsc").out


def test_calibrated_machines_are_kept_and_give_probabilities(run, tmp_path, iris):
    model, out = tmp_path / "m.dsc", tmp_path / "out.csv"
    run("fit", iris, "-t", "species", "--model", "svm", "--set", "calibration=sigmoid", "-o", model)
    run("predict", model, iris, "--proba", "-o", out)
    values = np.loadtxt(out, delimiter=",", skiprows=1, usecols=(1, 2, 3))
    training = read_training(iris, "species")
    np.testing.assert_array_equal(values, load(model).predict_proba(training.rows))


def test_the_report_advises_in_the_words_of_the_command_line(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[f"{x:.3f}", f"l{i % 60}", "uv"[int(x + rng.normal() > 0)]] for i, x in enumerate(rng.normal(size=420))]
    table, report = write_rows(tmp_path / "t.csv", [["x", "level", "y"], *rows]), tmp_path / "r.html"
    run("compare", table, "-t", "y", "--models", "lda", "--folds", 2, "--report", report)
    text = report.read_text(encoding="utf-8")
    assert "--max-levels" in text
    assert "max_levels" not in text


def test_without_a_name_families_are_tuned_and_pooled(run, titanic, tmp_path):
    path = tmp_path / "auto.dsc"
    told = run("fit", titanic, "-t", "survived", "-o", path).out
    assert "Model: auto (AutoClassifier)" in told
    assert "Model families" in told
    assert "Coefficients of families" not in told
    with_coefficients = run("fit", titanic, "-t", "survived", "--coefficients").out
    assert "Coefficients of families" in with_coefficients
    found = run("explain", path, "--json").json
    assert {family["name"] for family in found["families"]["rows"]} >= {
        "ridge",
        "lasso",
        "rda",
        "naive-bayes",
        "baseline",
    }
    assert sum(family["weight"] for family in found["families"]["rows"]) == pytest.approx(1)
    answered = run("explain", path, titanic, "--row", "0").out
    assert "Contributions to" in answered
    assert run("predict", path, titanic, "--proba").code == 0


def test_only_families_with_coefficients_can_be_asked_for(run, titanic):
    words = ("--set", "families=linear", "--set", "choose=best", "--coefficients")
    told = run("fit", titanic, "-t", "survived", *words).out
    assert "Best family: " in told
    assert "Coefficients (log-odds of" in told


def test_maximum_likelihood_with_few_rows_says_what_predicts_better(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    table = tmp_path / "few.csv"
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header=",".join([*"abcdefghijkl", "y"]), comments="")
    assert "36 for 12 columns" in run("fit", table, "-t", "y", "--model", "logistic").out


def test_fractional_weights_do_not_count_rows(run, tmp_path):
    """Their unit does not matter, and the table says what the standard errors are."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=200), np.exp(rng.normal(size=200))
    y = (x + rng.logistic(size=200) > 0).astype(int)
    table, found = tmp_path / "survey.csv", []
    for unit in (1.0, 460.7):
        np.savetxt(table, np.column_stack([x, unit * weight, y]), delimiter=",", header="x,w,y", comments="")
        found.append(
            run("fit", table, "-t", "y", "--weights", "w", "--model", "logistic", "--json").json["coefficients"]
        )
    z = [[row["z"] for row in one["rows"]] for one in found]
    assert z[0] == pytest.approx(z[1], rel=1e-6)
    assert found[0]["fit"]["aic"] is None
    assert sum("importances" in note for note in found[0]["notes"]) == 1


def test_fit_tells_the_settings_it_found(run, iris, tmp_path):
    found = run("fit", iris, "-t", "species", "--model", "rda", "-o", tmp_path / "model.dsc", "--json").json["found"]
    assert list(found) == ["pooling", "shrinkage", "temperature", "tuning log-loss"]
    text = run("explain", tmp_path / "model.dsc").out
    assert f": pooling {number(found['pooling'])}, shrinkage {number(found['shrinkage'])}, temperature" in text
    assert "Tuned" not in run("fit", iris, "-t", "species", "--model", "lda", "-o", tmp_path / "other.dsc").out


def test_an_accuracy_that_the_most_frequent_class_has_too_is_not_said_to_flatter(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "y": np.arange(200) % 10 == 0})
    rows.to_csv(tmp_path / "noise.csv", index=False)
    said = run("fit", tmp_path / "noise.csv", "-t", "y", "--model", "lda").out
    assert "no better than the majority class" in said
    rows.assign(a=rows.a + 9 * rows.y).to_csv(tmp_path / "apart.csv", index=False)
    said = run("fit", tmp_path / "apart.csv", "-t", "y", "--model", "lda").out
    assert "no better than the majority class" not in said


def test_a_table_with_values_too_large_to_square_is_described_all_the_same(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=60), "h": rng.normal(size=60) * 1e300, "y": np.arange(60) % 3})
    rows.to_csv(tmp_path / "huge.csv", index=False)
    said = run("describe", tmp_path / "huge.csv", "-t", "y").out
    assert "Class distances skipped: Values of column 'h'" in said
    assert "Linear separability skipped: Squares of values of column 'h'" in said


def test_several_files_are_compared_as_one_table_with_settings_for_the_models_that_have_them(run, iris, tmp_path):
    head, *rows = iris.read_text().splitlines()
    for name, own in (("first", rows[::2]), ("second", rows[1::2])):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *own]) + "\n")
    words = ["-t", "species", "--models", "lda,gaussian-nb", "--folds", 3, "--json"]
    plain = run("compare", tmp_path / "first.csv", tmp_path / "second.csv", *words).json
    assert plain["rows"] == 150
    shrunk = run("compare", tmp_path, *words, "--set", "shrinkage=0.9").json
    of = [{name: found["cross_validation"]["models"][name]["log_loss"] for name in ("lda", "gaussian-nb")}
          for found in (plain, shrunk)]  # fmt: skip
    assert of[0]["lda"] != of[1]["lda"]
    assert of[0]["gaussian-nb"] == of[1]["gaussian-nb"]
    assert "--set C" in run_command("compare", tmp_path, *words, "--set", "C=1").err
