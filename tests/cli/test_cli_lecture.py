"""Commands for a lecture: steps of training, paths, learning curves, separability, densities, synthetic rows."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from commands import run_command, write_rows
from numpy.testing import assert_allclose

from discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, load
from discriminant.datasets import load as dataset
from discriminant.evaluation.confusion import ConfusionMatrix

OR = [["a", "b", "y"], [0, 0, "no"], [0, 1, "yes"], [1, 0, "yes"], [1, 1, "yes"]]
XOR = [*OR[:4], [1, 1, "no"]]
SIX = [["x", "y"], *zip(range(1, 7), "001011", strict=True)]


@pytest.fixture
def tables(tmp_path):
    """Small tables of lecture notes, by name."""
    data = dataset("triangle")
    triangle = [["a", "b", "kind"], *[[*row, label] for row, label in zip(data.X.tolist(), data.y, strict=True)]]
    named = {"or": OR, "xor": XOR, "six": SIX, "triangle": triangle}
    return {name: write_rows(tmp_path / f"{name}.csv", rows) for name, rows in named.items()}


def triangle_rows():
    return pd.DataFrame(dataset("triangle").X, columns=["a", "b"])


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


class TestTrace:
    def test_of_a_perceptron_has_updates_alphas_and_the_bound(self, run, tables, tmp_path):
        out = run("learn", "trace", tables["or"], "-t", "y", "--rare", 1, "-o", tmp_path / "steps.csv").out
        assert "Updates: 5\nUpdates by row (alpha): row 0: 3, row 1: 1, row 2: 1\n" in out
        assert "R^2/gamma^2 = 27 " in out
        steps = read_csv((tmp_path / "steps.csv").read_text())
        assert [(s["pass"], s["row"]) for s in steps] == [("1", "0"), ("1", "1"), ("2", "0"), ("2", "2"), ("3", "0")]
        assert [float(steps[-1][name]) for name in ("w of a", "w of b", "b")] == [1, 1, -1]

    def test_without_a_margin_there_is_no_bound(self, run, tables):
        ran = run("learn", "trace", tables["xor"], "-t", "y", "--rare", 1, "--set", "max_iter=5", "--json")
        assert ran.json["certificates"] == []
        assert "'yes'" in ran.json["no_certificate"]

    def test_of_logistic_regression_has_iterates_in_the_units_of_the_data(self, run, tables):
        found = run("learn", "trace", tables["six"], "-t", "y", "--model", "logistic", "--rare", 1, "--json").json
        assert_allclose([found["steps"][name][2] for name in ("intercept", "x")], [-3.884, 1.110], atol=5e-4)
        words = ("--model", "logistic", "--solver", "gradient-descent", "--rate", 0.1, "--set", "max_iter=3")
        found = run("learn", "trace", tables["six"], "-t", "y", "--rare", 1, *words, "--json").json
        assert found["steps"]["x"][1] == pytest.approx(0.35)

    def test_of_least_mean_squares_has_the_sum_of_losses(self, run, tables):
        found = run(
            "learn", "trace", tables["six"], "-t", "y", "--model", "lms", "--solver", "irls", "--rare", 1, "--json"
        ).json
        steps = found["steps"]
        assert_allclose([steps[name][-1] for name in ("intercept", "x", "sum_of_losses")], [-1.4, 0.4, 1.6])
        words = ("--model", "lms", "--set", "loss=squared_sigmoid", "--rate", 0.1, "--set", "max_iter=1")
        found = run("learn", "trace", tables["six"], "-t", "y", "--rare", 1, *words, "--json").json
        assert found["steps"]["x"][1] == pytest.approx(0.1 * 2 * 0.125 * 7)  # 2 s (1 - s)^2 = 1/4 of each row's sign x

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--model", "lda"), "perceptron, logistic, lms"),
            (("--model", "lms", "--solver", "newton"), "must be one of"),
            (("--model", "lms", "--solver", "irls", "--set", "loss=squared_sigmoid"), "convex loss"),
            (("--rate", 0.1), "--set eta"),
            (("--model", "logistic", "--solver", "irls", "--rate", 1), "irls does not use --rate"),
            (("--model", "logistic", "--solver", "lbfgs", "--batch", 3), "--solver lbfgs"),
            (("--model", "logistic", "--solver", "gradient-descent", "--schedule", "fast"), "fast"),
        ],
    )
    def test_what_cannot_be_is_refused(self, tables, words, message):
        ran = run_command("learn", "trace", tables["six"], "-t", "y", "--rare", 1, *words)
        assert ran.code == 1
        assert message in ran.err


def test_a_path_goes_from_no_column_to_many(run, tables, tmp_path):
    ran = run("learn", "path", tables["triangle"], "-t", "kind", "--n-alphas", 8, "-o", tmp_path / "path.csv")
    assert "(scores of the classes)" in ran.out
    rows = read_csv((tmp_path / "path.csv").read_text())
    assert len(rows) == 8
    assert [int(rows[i]["columns"]) for i in (0, -1)] == [0, 2]


def test_a_learning_curve_has_the_three_sources_of_error(run, tables):
    ran = run("learn", "learning-curve", tables["triangle"], "-t", "kind", "--bayes-error", 0.01)
    for word in ("estimation", "approximation", "optimisation"):
        assert word in ran.out


class TestSeparability:
    def test_of_separable_classes_has_the_margin_and_support_vectors(self, run, tables):
        found = run("learn", "separability", tables["or"], "-t", "y", "--rare", 1, "--json").json
        assert found["separable"]
        parts = dict(zip(found["witness"]["name"], found["witness"]["value"], strict=True))
        assert parts["width"] == pytest.approx(0.5**0.5)
        assert {name for name in parts if name.startswith("row")} == {"row 0", "row 1", "row 2"}

    def test_of_others_has_a_common_point_also_as_a_file(self, run, tables, tmp_path):
        out = run("learn", "separability", tables["xor"], "-t", "y", "--rare", 1, "-o", tmp_path / "witness.csv").out
        assert "not separable, the point (0.5, 0.5) lies in both hulls" in out
        rows = read_csv((tmp_path / "witness.csv").read_text())
        assert [float(row["value"]) for row in rows] == [0.5] * 6


class TestTheory:
    def test_of_two_normal_densities(self, run):
        found = run("learn", "theory", "norm(0, 1)", "norm(2, 1)", "--json").json
        assert found["bayes_error"]["error"] == pytest.approx(0.158655, abs=1e-6)
        assert found["pairs"][0]["KL"] == pytest.approx(2)

    def test_of_tables_with_priors(self, run):
        assert "Bayes error 0.35" in run("learn", "theory", "0.65,0.35", "0.35,0.65", "--priors", "0.4,0.6").out

    def test_of_a_model(self, run, tables, tmp_path):
        run("fit", tables["triangle"], "-t", "kind", "--model", "qda", "-o", tmp_path / "qda.dsc")
        assert "Monte Carlo" in run("learn", "theory", tmp_path / "qda.dsc").out

    @pytest.mark.parametrize("text", ["import(1)", "norm(a)", "x,y", "norm(1,2,3,4,5)"])
    def test_other_text_is_refused(self, text):
        assert run_command("learn", "theory", text, "norm(0, 1)").code == 1


def test_rows_are_drawn_and_turned_to_coordinates(run, tables, tmp_path):
    for name, kind in (("lda", LinearDiscriminantAnalysis), ("qda", QuadraticDiscriminantAnalysis)):
        run("fit", tables["triangle"], "-t", "kind", "--model", name, "-o", tmp_path / f"{name}.dsc")
        model = load(tmp_path / f"{name}.dsc")
        assert isinstance(model, kind)
        drawn = read_csv(run("learn", "sample", tmp_path / f"{name}.dsc", "-n", 5, "--class", "north").out)
        X, _ = model.sample(5, random_state=0, label="north")
        assert_allclose([[float(row["a"]), float(row["b"])] for row in drawn], X)
        assert {row["kind"] for row in drawn} == {"north"}
    rows = triangle_rows()
    projected = read_csv(run("learn", "transform", tmp_path / "lda.dsc", tables["triangle"]).out)
    assert_allclose([[float(row["axis 1"]), float(row["axis 2"])] for row in projected],
                    load(tmp_path / "lda.dsc").transform(rows), atol=1e-9)  # fmt: skip
    sphered = read_csv(run("learn", "transform", tmp_path / "qda.dsc", tables["triangle"], "--sphere", "north").out)
    assert_allclose([float(row["sphered 1"]) for row in sphered],
                    load(tmp_path / "qda.dsc").sphere(rows, "north")[:, 0], atol=1e-9)  # fmt: skip
    assert run_command("learn", "transform", tmp_path / "qda.dsc", tables["triangle"]).code == 1


def test_classes_made_of_binary_models_tell_what_is_ambiguous(run, tables, tmp_path):
    path = tmp_path / "rest.dsc"
    words = ("--model", "least-squares", "--multiclass", "one-vs-rest")
    out = run("fit", tables["triangle"], "-t", "kind", *words, "-o", path).out
    found = load(path).ambiguous(triangle_rows())
    assert f"no class: {found.none.sum()}, several classes: {found.several.sum()})" in out
    rows = read_csv(run("predict", path, tables["triangle"], "--ambiguous").out)
    claimed = np.array([row["claimed"] for row in rows])
    assert_allclose([np.sum(claimed == "none"), np.sum(claimed == "several")], [found.none.sum(), found.several.sum()])
    run("fit", tables["triangle"], "-t", "kind", "--model", "lda", "-o", tmp_path / "lda.dsc")
    assert "--ambiguous" in run_command(
        "predict", tmp_path / "lda.dsc", tables["triangle"], "--ambiguous").err  # fmt: skip


def test_a_hidden_class_is_named(run, tmp_path):
    data = dataset("three_in_a_row")
    rows = [["a", "b", "kind"], *[[*row, label] for row, label in zip(data.X.tolist(), data.y, strict=True)]]
    path = write_rows(tmp_path / "row.csv", rows)
    assert "Masked" in run("fit", path, "-t", "kind", "--model", "least-squares").out


def test_distributions_go_by_column(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[int(rng.poisson(3 + 4 * k)), round(float(rng.normal()), 3), "ab"[k]] for k in (0, 1) for _ in range(40)]
    path = write_rows(tmp_path / "counts.csv", [["cnt", "x", "y"], *rows])
    given = json.dumps({"cnt": "counts", "x": "gaussian"})
    ran = run("fit", path, "-t", "y", "--model", "naive-bayes", "--set", f"distributions={given}", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["parameters"]["distributions"] == {"cnt": "counts", "x": "gaussian"}


def test_rates_by_class_and_f_with_any_m(run, tables, tmp_path):
    run("fit", tables["triangle"], "-t", "kind", "--model", "lda", "-o", tmp_path / "lda.dsc")
    ran = run("evaluate", tmp_path / "lda.dsc", tables["triangle"], "--f-measure", 4)
    data = dataset("triangle")
    confusion = ConfusionMatrix.of(data.y, load(tmp_path / "lda.dsc").predict(triangle_rows()))
    line = next(line.split() for line in ran.out.split("Rates of each class")[1].splitlines() if "north" in line)
    wanted = [confusion.rate(name)[0] for name in ("recall", "fnr", "fpr", "specificity", "precision")]
    assert_allclose([float(cell) for cell in line[1:]], [*wanted, confusion.f(4)[0]], atol=5e-5)
