"""predict, evaluate, explain, export and the demo: a model file answers rows as its model does."""

import io
import json
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from commands import run_command, write_rows

import discriminant
from discriminant import Decision, load, read_training
from discriminant.decision import Posterior
from discriminant.evaluation import EvaluationOptions, evaluate
from discriminant.report.page import significant
from discriminant.storage.model_file import read_model_file
from discriminant.tables import Schema

#: The module; the package has the command of that name.
PREDICT = import_module("discriminant.workflow.stored")


def coded(model_path, data):
    """The rows of a table as the model of a file takes them, without the command line."""
    file = read_model_file(model_path)
    schema = Schema.from_dict(file.schema)
    table = discriminant.open_table(data, types=schema.types).read()
    return file.model, schema.rows(schema.encode_batch(table)[0]), schema.labels(table)[0]


def frame(ran):
    return pd.read_csv(io.StringIO(ran.out))


def test_predictions_are_those_of_the_model(run, titanic_model, new_passengers):
    model, X, _ = coded(titanic_model, new_passengers)
    found = frame(run("predict", titanic_model, new_passengers, "--proba"))
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    np.testing.assert_allclose(found[["probability_0", "probability_1"]], model.predict_proba(X), rtol=1e-14)


def test_predictions_do_not_depend_on_batches(run, titanic_model, new_passengers, monkeypatch):
    whole = run("predict", titanic_model, new_passengers, "--proba", "--keep-all").out
    monkeypatch.setattr(PREDICT, "BATCH_ROWS", 7)
    parts = run("predict", titanic_model, new_passengers, "--proba", "--keep-all").out
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(parts)), pd.read_csv(io.StringIO(whole)), rtol=1e-13)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "arrow"])
def test_every_format_holds_the_same_rows(run, titanic_model, new_passengers, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(PREDICT, "BATCH_ROWS", 64)
    path = tmp_path / f"out.{ending}"
    said = run("predict", titanic_model, new_passengers, "--proba", "--keep", "id,sex", "-o", path)
    expected = frame(run("predict", titanic_model, new_passengers, "--proba", "--keep", "id,sex"))
    written = discriminant.open_table(path).read().to_pandas()
    assert list(written) == ["id", "sex", "prediction", "probability_0", "probability_1"]
    pd.testing.assert_frame_equal(written.astype({"sex": str}), expected.astype({"sex": str}), check_dtype=False)
    assert f"Output: {path} (150 rows)" in said.out
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_costs_and_rejection_decide(run, titanic_model, new_passengers, costs):
    model, X, _ = coded(titanic_model, new_passengers)
    table = {0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}}
    posterior = Posterior(model.predict_proba(X), model.classes_)
    by_cost = frame(run("predict", titanic_model, new_passengers, "--costs", costs))
    np.testing.assert_array_equal(by_cost["prediction"], Decision(table).decide(posterior))
    arguments = ("--costs", costs, "--reject-cost", 0.5)
    with_rejection = frame(run("predict", titanic_model, new_passengers, *arguments))
    expected = Decision(table, reject_cost=0.5).decide(posterior)
    assert with_rejection["prediction"].tolist() == [str(label) for label in expected]
    assert {"abstain", "1"} <= set(with_rejection["prediction"])


@pytest.mark.parametrize("model", ["logistic", "lda"])
def test_priors_shift_the_probabilities(run, titanic, new_passengers, tmp_path, model):
    path = tmp_path / "model.dsc"
    run("fit", titanic, "-t", "survived", "--model", model, "-o", path)
    fitted, X, _ = coded(path, new_passengers)
    y = read_training(titanic, "survived").y
    shares = [np.mean(y == 0), np.mean(y == 1)]
    shifted = Posterior(fitted.predict_proba(X), [0, 1], shares).with_priors([0.9, 0.1])
    found = frame(run("predict", path, new_passengers, "--proba", "--priors", "0=0.9,1=0.1"))
    np.testing.assert_allclose(found[["probability_0", "probability_1"]], shifted.probabilities, rtol=1e-9)
    np.testing.assert_array_equal(found["prediction"], shifted.labels())


def test_what_had_to_be_decided_is_counted(run, titanic_model, new_passengers, tmp_path):
    rows = pd.read_csv(new_passengers).astype({"sex": object})
    rows.loc[:4, "sex"] = "unknown"
    rows["extra"] = 1
    path, out = tmp_path / "odd.csv", tmp_path / "out.csv"
    rows.to_csv(path, index=False)
    found = run("predict", titanic_model, path, "-o", out, "--json")
    assert found.json["unseen_levels"]["sex"] == {"unknown": 5}
    assert found.json["columns_ignored"] == ["extra"]
    assert found.json["rows"] == 150
    assert sum(found.json["predictions"].values()) == 150
    sentence = "'sex': 5 rows with an unseen level ('unknown'), coded as the average of the levels.\n"
    for words in (sentence, "'extra'", "missing values"):
        assert words in found.err


def test_absent_columns_are_refused_or_taken_as_missing(run, titanic_model, new_passengers, tmp_path):
    path = tmp_path / "narrow.csv"
    pd.read_csv(new_passengers).drop(columns="fare").to_csv(path, index=False)
    found = run("predict", titanic_model, path, "--missing-columns", "missing")
    assert len(found.out.split()) == 151
    assert "missing columns, treated as missing values: 'fare'" in found.err


def test_incomplete_rows_keep_their_place_without_an_answer(run, titanic, new_passengers, tmp_path):
    path = tmp_path / "model.dsc"
    run("fit", titanic, "-t", "survived", "--model", "logistic", "--missing", "drop", "--drop", "deck", "-o", path)
    found = run("predict", path, new_passengers, "--keep", "age,port")
    rows = frame(found)
    complete = rows["age"].notna() & (rows["port"] != "?")
    assert len(rows) == 150
    np.testing.assert_array_equal(rows["prediction"].notna(), complete)
    assert f"(missing values): {(~complete).sum()}." in found.err


def test_a_table_whose_first_rows_have_no_answer(run, titanic, new_passengers, tmp_path, monkeypatch):
    monkeypatch.setattr(PREDICT, "BATCH_ROWS", 10)
    path, out = tmp_path / "model.dsc", tmp_path / "out.parquet"
    run("fit", titanic, "-t", "survived", "--model", "logistic", "--missing", "drop", "--drop", "deck", "-o", path)
    rows = pd.read_csv(new_passengers)
    rows.loc[:24, "fare"] = None
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    run("predict", path, tmp_path / "gaps.csv", "--proba", "-o", out)
    written = pd.read_parquet(out)
    assert written["prediction"][:25].isna().all()
    assert written["probability_1"][25:].notna().any()


def test_evaluate_measures_what_the_package_measures(run, titanic_model, new_passengers, costs):
    model, X, y = coded(titanic_model, new_passengers)
    expected = evaluate(model, X, y, options=EvaluationOptions(costs={0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}}))
    found = run("evaluate", titanic_model, new_passengers, "--costs", costs, "--json").json
    assert found["estimates"] == json.loads(json.dumps(expected.to_dict()["estimates"]))
    assert found["baseline"] == {"class": 0, "accuracy": np.mean(y == 0)}
    assert str(expected) in run("evaluate", titanic_model, new_passengers, "--costs", costs).out


def test_evaluate_and_predict_decide_alike_by_costs(run, titanic_model, new_passengers, costs, tmp_path):
    run("predict", titanic_model, new_passengers, "--costs", costs, "-o", tmp_path / "decided.csv")
    decided = pd.read_csv(tmp_path / "decided.csv")["prediction"]
    found = run("evaluate", titanic_model, new_passengers, "--costs", costs, "--json").json
    counts = np.array(found["confusion"]["counts"])
    np.testing.assert_array_equal(counts.sum(axis=0), [np.sum(decided == 0), np.sum(decided == 1)])
    truth = pd.read_csv(new_passengers)["survived"]
    cost = {row["metric"]: row for row in found["estimates"] if row["of"] == "overall"}["cost"]
    assert cost["value"] == pytest.approx(np.mean(np.where(truth == decided, 0, np.where(truth == 1, 5, 1))))
    assert cost["low"] < cost["value"] < cost["high"]
    assert any("minimum expected cost" in note for note in found["notes"])


def test_a_model_without_probabilities_is_evaluated_as_it_answers(run, titanic, new_passengers, costs, tmp_path):
    run("fit", titanic, "-t", "survived", "--model", "least-squares", "-o", tmp_path / "model.dsc")
    found = run("evaluate", tmp_path / "model.dsc", new_passengers, "--costs", costs, "--json").json
    plain = run("evaluate", tmp_path / "model.dsc", new_passengers, "--json").json
    assert found["confusion"] == plain["confusion"]
    assert any("cost" in note for note in found["notes"])


def test_unseen_levels_are_told_wherever_rows_are_answered(run, titanic_model, new_passengers, tmp_path):
    rows = pd.read_csv(new_passengers).astype({"sex": object})
    rows.loc[3:4, "sex"] = ["unknown", "x"]
    path = tmp_path / "odd.csv"
    rows.to_csv(path, index=False)
    two = "'sex': 2 rows with unseen levels ('unknown' and 'x')"
    one = "'sex': 1 row with an unseen level ('unknown')"
    assert two in run("predict", titanic_model, path).err
    found = run("evaluate", titanic_model, path, "--json")
    assert two in found.err
    assert found.json["unseen_levels"] == {"sex": {"unknown": 1, "x": 1}}
    found = run("explain", titanic_model, path, "--row", 3, "--json")
    assert one in found.err
    assert found.json["unseen_levels"] == {"sex": {"unknown": 1}}
    added = {row["column"]: row["contribution"] for row in found.json["contributions"]["rows"]}
    assert added["sex"] == pytest.approx(0, abs=1e-12)
    assert one in run("explain", titanic_model, "--row", "sex=unknown").err


def test_evaluate_warns_of_rows_the_model_has_seen(run, titanic_model, titanic, new_passengers):
    assert "fitted to these data" in run("evaluate", titanic_model, titanic).err
    assert "fitted to these data" not in run("evaluate", titanic_model, new_passengers).err


def test_evaluate_writes_a_report(run, iris_model, iris, tmp_path):
    path = tmp_path / "report.html"
    run("evaluate", iris_model, iris, "--report", path)
    assert "versicolor" in path.read_text(encoding="utf-8")


def test_the_report_of_an_evaluation_has_the_intervals_of_the_file(run, titanic_model, new_passengers, tmp_path):
    path = tmp_path / "report.html"
    run("evaluate", titanic_model, new_passengers, "--report", path)
    text = path.read_text(encoding="utf-8")
    sex = next(
        row for row in run("explain", titanic_model, "--json").json["coefficients"]["rows"] if "sex" in row["term"]
    )
    assert f"{significant(sex['low'])} to {significant(sex['high'])}" in text
    assert "There are no intervals" not in text
    for words in ("winner", "models compared", "training rows"):
        assert words not in text.partition("<body>")[2].partition("<script")[0]


def test_the_headline_of_an_evaluation_tells_what_accuracy_hides(run, tmp_path):
    X = np.random.default_rng(4).normal(size=(600, 2)).round(4)
    X[:30, 0] += 2.2
    table = write_rows(
        tmp_path / "t.csv", [["a", "b", "y"], *([*x, "no" if i >= 30 else "yes"] for i, x in enumerate(X))]
    )
    run("fit", table, "-t", "y", "--model", "logistic", "-o", tmp_path / "m.dsc")
    found = run("evaluate", tmp_path / "m.dsc", table)
    rows = {
        (row["metric"], row["of"]): row["value"]
        for row in run("evaluate", tmp_path / "m.dsc", table, "--json").json["estimates"]
    }
    told = " ".join(found.out.split())
    assert "majority class 'no': 95.0 %" in told
    assert f"Recall of 'yes': {100 * rows['recall', 'yes']:.1f} % (" in told
    assert f"balanced accuracy: {100 * rows['balanced_accuracy', 'overall']:.1f} %." in told


def test_rows_without_a_class_are_left_out_of_an_evaluation(run, iris_model, iris, tmp_path):
    rows = pd.read_csv(iris)
    rows.loc[::5, "species"] = None
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    found = run("evaluate", iris_model, tmp_path / "gaps.csv", "--json")
    assert found.json["rows"] == 120
    assert "Rows excluded (without a class): 30." in found.err


@pytest.mark.parametrize("model", ["logistic", "lda", "svm", "naive-bayes"])
def test_contributions_add_up_to_the_score(run, titanic, new_passengers, tmp_path, model):
    path = tmp_path / "model.dsc"
    run("fit", titanic, "-t", "survived", "--model", model, "-o", path)
    fitted, X, _ = coded(path, new_passengers)
    means = np.array(read_model_file(path).metadata["training"]["means"])
    for row in (0, 7, 31):
        found = run("explain", path, new_passengers, "--row", row, "--json").json["contributions"]
        total = sum(part["contribution"] for part in found["rows"]) + found["lead_at_means"]
        sign = 1 if found["label"] == 1 else -1
        assert found["lead"] == pytest.approx(sign * fitted.decision_function(X[row : row + 1])[0], rel=1e-9)
        assert total == pytest.approx(found["lead"], rel=1e-9)
        if model == "naive-bayes":
            continue
        own = {part["column"]: part["contribution"] for part in found["rows"]}
        j = Schema.from_dict(read_model_file(path).schema).names.index("fare")
        assert own["fare"] == pytest.approx(
            sign * fitted.coef_[0, j] * (X.values[row, j] - means[j]), rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize("model", ["auto", "qda"])
def test_models_without_coefficients_are_explained_by_what_columns_do(run, titanic, new_passengers, tmp_path, model):
    path = tmp_path / "model.dsc"
    settings = ["--set", "shrinkage=0.1"] if model == "qda" else []
    run("fit", titanic, "-t", "survived", "--model", model, *settings, "-o", path)
    found = run("explain", path, "--json").json
    fitted, X, _ = coded(path, new_passengers)
    schema, means = Schema.from_dict(read_model_file(path).schema), read_model_file(path).metadata["training"]["means"]
    point = found["effects"]["effects"]["fare"]["points"][-1]
    row, at = (np.array(means, dtype=float) for _ in range(2))
    row[schema.names.index("fare")] = point["value"]
    own = fitted.decision_function(schema.rows(np.vstack((row, at))))
    assert point["estimate"] == pytest.approx(own[0] - own[1], rel=1e-9)
    told = run("explain", path).out
    assert "Effects on the log-odds" in told
    if model == "auto":
        assert {row["name"] for row in found["families"]["rows"]} > {"ridge", "lasso", "splines"}
        assert f"Log-loss of the average: {found['families']['loss']:.4f}" in told
        assert "Coefficients of families (log-odds of 1" in told
    one = run("explain", path, new_passengers, "--row", 7, "--json").json
    sign = 1 if one["contributions"]["label"] == 1 else -1
    assert one["contributions"]["lead"] == pytest.approx(sign * fitted.decision_function(X[7:8])[0], rel=1e-9)


def test_a_row_by_its_values_is_the_row_by_its_number(run, iris_model, iris):
    values = pd.read_csv(iris).iloc[77].drop("species")
    written = ",".join(f"{name}={value}" for name, value in values.items())
    by_number = run("explain", iris_model, iris, "--row", 77, "--json").json
    by_values = run("explain", iris_model, "--row", written, "--json").json
    assert by_values["probabilities"] == by_number["probabilities"]
    assert by_values["prediction"] == by_number["prediction"]
    assert by_number["why"] in run("explain", iris_model, iris, "--row", 77).out


def test_costs_change_the_decision_that_is_explained(run, titanic_model, new_passengers, costs):
    model, X, _ = coded(titanic_model, new_passengers)
    torn = int(np.argmin(np.abs(model.predict_proba(X)[:, 1] - 0.3)))
    plain = run("explain", titanic_model, new_passengers, "--row", torn, "--json").json
    costly = run("explain", titanic_model, new_passengers, "--row", torn, "--costs", costs, "--json").json
    assert (plain["prediction"], plain["own_answer"]) == (0, 0)
    assert (costly["prediction"], costly["own_answer"]) == (1, 0)
    told = run("explain", titanic_model, new_passengers, "--row", torn, "--costs", costs).out
    assert told.startswith("Prediction: 1\nMost probable class: 0\n")


def test_points_of_the_nomogram_add_up_to_probabilities(run, titanic_model, new_passengers):
    found = run("explain", titanic_model, "--json").json["nomogram"]
    model, X, _ = coded(titanic_model, new_passengers)
    raw = pd.read_csv(new_passengers, na_values=["?"], keep_default_na=True)
    points = {}
    for entry in found["rows"]:
        points.setdefault(entry["column"], {})[entry["value"]] = entry["points"]
    totals = {float(p): total for p, total in found["probabilities"].items()}
    slope = (totals[0.5] - totals[0.25]) / np.log(3)
    checked = 0
    for i, row in raw.iterrows():
        if row[["age", "fare", "deck", "port"]].isna().any() or row["deck"] not in points["deck"]:
            continue
        total = 0.0
        for name, own in points.items():
            if name in ("sex", "deck", "port"):
                total += own[row[name]]
                continue
            (low, first), (high, second) = [(float(v), p) for v, p in own.items() if v != "(missing)"]
            total += first + (row[name] - low) / (high - low) * (second - first)
        log_odds = (total - totals[0.5]) / slope
        assert log_odds == pytest.approx(model.decision_function(X[i : i + 1])[0], abs=2e-3)  # ends have six digits
        checked += 1
    assert checked > 10


def test_explain_shows_the_table_of_the_fit(run, titanic, titanic_model, tmp_path):
    fitted = run("fit", titanic, "-t", "survived", "--model", "logistic", "--json").json
    found = run("explain", titanic_model, "--json").json
    assert found["coefficients"] == fitted["coefficients"]
    assert found["training_metrics"] == fitted["training_metrics"]


def test_exports_answer_like_the_model(run, titanic_model, new_passengers, tmp_path):
    module = {}
    exec(run("export", titanic_model, "--to", "python").out, module)
    row = {"class": 1.0, "sex": "female", "age": 30.0, "fare": 25.0, "deck": "A", "port": "S"}
    written = ",".join(f"{name}={value}" for name, value in row.items())
    expected = run("explain", titanic_model, "--row", written, "--json").json["probabilities"]
    assert module["predict_proba"](row) == pytest.approx([expected["0"], expected["1"]], rel=1e-9)
    assert json.loads(run("export", titanic_model, "--to", "json").out)["classes"] == [0, 1]
    query = run(
        "export", titanic_model, "--to", "sql", "--dialect", "duckdb", "--sql-table", "people", "--keep", "id"
    ).out
    assert '"people"' in query
    path = tmp_path / "model.onnx"
    assert run("export", titanic_model, "--to", "onnx", "-o", path, "--json").json["file"] == str(path)
    assert path.stat().st_size > 100


def test_a_model_of_numbered_sparse_rows(run, tmp_path):
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.6)
    dump_svmlight_file(X, (X[:, 0] > X[:, 3]).astype(int), str(tmp_path / "rows.svm"), zero_based=False)
    path = tmp_path / "model.dsc"
    run("describe", tmp_path / "rows.svm")
    run("compare", tmp_path / "rows.svm", "--models", "logistic,svm")
    run("fit", tmp_path / "rows.svm", "--model", "logistic", "--set", "alpha=0.01", "-o", path)
    found = frame(run("predict", path, tmp_path / "rows.svm"))
    np.testing.assert_array_equal(found["prediction"], load(path).predict(X))
    assert run("explain", path, tmp_path / "rows.svm", "--row", 2).out


def test_the_demo_goes_the_whole_way(run, tmp_path):
    ran = run("demo", tmp_path / "demo", "--json")
    found = ran.json
    assert "Warning" not in ran.err
    names = {"train", "test", "costs", "report", "model", "predictions"}
    assert set(found["files"]) == names
    assert all((tmp_path / "demo" / path).exists() for path in found["files"].values())
    assert len(pd.read_csv(found["files"]["predictions"])) == 190


def test_a_cost_file_the_wrong_way_round_is_recognised_by_its_actions(run, titanic_model, new_passengers, tmp_path):
    path = write_rows(tmp_path / "costs.csv", [["", "0", "1"], ["save", 0, 1], ["leave", 5, 0]])
    refused = run_command("predict", titanic_model, new_passengers, "--costs", path)
    assert refused.code == 1
    assert "costs.T" in refused.err


def test_a_class_of_a_cost_file_that_the_model_does_not_know_is_named(run, titanic_model, new_passengers, tmp_path):
    path = write_rows(tmp_path / "costs.csv", [["", "0", "1"], ["0", 0, 1], ["one", 5, 0]])
    for command in ("predict", "evaluate"):
        refused = run_command(command, titanic_model, new_passengers, "--costs", path)
        assert refused.code == 1
        assert "costs has the rows" in refused.err
        assert "transposed" not in refused.err
    path = write_rows(tmp_path / "costs.csv", [["", "0", "1", "call"], ["0", 0, 1, 1], ["1", 5, 0, 1]])
    assert "Actions that are not classes: 'call'." in run("predict", titanic_model, new_passengers, "--costs", path).err


def test_a_column_of_which_nothing_can_be_read_is_warned_of(run, tmp_path):
    days = pd.date_range("2021-01-01", periods=60)
    rows = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "x": np.arange(60) * 7 % 60 / 4, "y": np.arange(60) % 2})
    rows.to_csv(tmp_path / "training.csv", index=False)
    run("fit", tmp_path / "training.csv", "-t", "y", "--model", "lda", "-o", tmp_path / "model.dsc")
    rows.assign(day=days.strftime("%Y-%m-%d")).to_csv(tmp_path / "iso.csv", index=False)
    told = run("predict", tmp_path / "model.dsc", tmp_path / "iso.csv").err
    assert "'2021-01-01'" in told
    rows.assign(day=lambda own: own.day.where(own.index > 0, "?!")).to_csv(tmp_path / "one.csv", index=False)
    assert "Expected the format" not in run("predict", tmp_path / "model.dsc", tmp_path / "one.csv").err
