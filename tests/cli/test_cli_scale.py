"""Folders, patterns and several files: the same results in memory and by passes, and what passes cannot do."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import run_command

from discriminant.errors import ParameterError
from discriminant.workflow.tables import Streaming
from helpers import normal_classes


@pytest.fixture
def folder(tmp_path):
    """Files of one table, with text, gaps and weights, and the table itself."""
    X, y = normal_classes(n=1_200, p=2, K=2, seed=1)
    rng = np.random.default_rng(0)
    towns = rng.choice(["Bonn", "Cork", "Dover"], len(y)).tolist()
    table = pa.table(
        {
            "age": pa.array(np.where(rng.random(len(y)) < 0.1, np.nan, X[:, 0]), from_pandas=True),
            "dose": X[:, 1],
            "town": [None if missing else town for town, missing in zip(towns, rng.random(len(y)) < 0.05, strict=True)],
            "w": rng.integers(1, 4, len(y)),
            "ill": np.array(["no", "yes"])[y].tolist(),
        }
    )
    (tmp_path / "files").mkdir()
    for number in range(3):
        part = table.slice(400 * number, 400)
        pq.write_table(part, tmp_path / "files" / f"{number}.parquet", row_group_size=100)
        pa.csv.write_csv(part, tmp_path / f"{number}.csv")
    pq.write_table(table, tmp_path / "all.parquet")
    return tmp_path


def fitted(run, *arguments):
    return json.loads(run("fit", *arguments, "-t", "ill", "--json").out)


@pytest.mark.parametrize("model", ["lda", "logistic"])
def test_a_fit_is_the_same_in_memory_and_by_passes(model, run, folder):
    options = ("--model", model, "--weights", "w")
    whole = fitted(run, str(folder / "all.parquet"), *options)
    pattern, passes = str(folder / "files" / "*.parquet"), ("--memory", "1kB")
    texts = [str(folder / f"{number}.csv") for number in range(3)]
    for given in ([pattern], [str(folder / "files")], [pattern, *passes], [*texts], [*texts, *passes]):
        found = fitted(run, *given, *options)
        assert found["rows"] == 1_200
        assert found["training_metrics"] == pytest.approx(whole["training_metrics"], rel=1e-12)
        assert str(found["coefficients"].keys()) == str(whole["coefficients"].keys())
        numbers = [np.array(_numbers(each["coefficients"])) for each in (found, whole)]
        np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-8)


def _numbers(values):
    if isinstance(values, dict):
        return [number for value in values.values() for number in _numbers(value)]
    if isinstance(values, list):
        return [number for value in values for number in _numbers(value)]
    return [values] if isinstance(values, float) else []


def test_a_model_of_passes_predicts_evaluates_and_describes_files(run, folder):
    model, pattern = str(folder / "model.dsc"), str(folder / "files" / "*.parquet")
    state = str(folder / "state")
    run("fit", pattern, "-t", "ill", "--model", "lda", "--drop", "w", "--checkpoint", state, "-o", model)
    assert not os.path.exists(state)  # the fit has come to its end
    answers = [run("predict", model, data).out for data in (pattern, str(folder / "all.parquet"))]
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == 1_201
    found = [json.loads(run("evaluate", model, pattern, *more, "--json").out) for more in ([], ["--memory", "1kB"])]
    for name in ("accuracy", "log_loss", "brier"):
        mine, theirs = (_measure(each, name) for each in found)
        assert mine == pytest.approx(theirs, rel=1e-9)
    described = [json.loads(run("describe", pattern, "-t", "ill", *more, "--json").out)
                 for more in ([], ["--memory", "1kB"])]  # fmt: skip
    assert described[0]["classes"] == described[1]["classes"]
    kinds = [[(row["name"], row["kind"], row["missing"]) for row in each["table_columns"]] for each in described]
    assert kinds[0] == kinds[1]


def _measure(found, name):
    return next(row["value"] for row in found["estimates"] if row["metric"] == name)


def test_other_executors_give_the_same_bits(run, folder):
    pattern = str(folder / "files" / "*.parquet")
    found = [fitted(run, pattern, "--model", "lda", *by) for by in (["--memory", "1kB"], ["--dask", "dask"])]
    assert _numbers(found[0]["coefficients"]) == _numbers(found[1]["coefficients"])


@pytest.mark.xdist_group("clusters")
@pytest.mark.slow
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_spark_is_started_by_its_address_and_ends_with_the_command(run, folder, master):
    pattern, by = str(folder / "files" / "*.parquet"), ["--spark", master]
    words = ["fit", pattern, "-t", "ill", "--model", "lda", "--json", *by]
    here = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder), "SPARK_LOCAL_DIRS": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "discriminant", *words], capture_output=True, text=True, check=True,
        env={**os.environ, **here},
    )  # fmt: skip
    assert "ERROR" not in done.stderr  # executors that lost their driver
    threads = fitted(run, pattern, "--model", "lda", "--memory", "1kB")
    assert _numbers(json.loads(done.stdout)["coefficients"]) == _numbers(threads["coefficients"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--formula", "ill ~ dose"], "--formula and --groups need all rows in memory"),
        (["--dask", "dask", "--spark", "local"], "--dask and --spark"),
        (["--memory", "much"], "a size such as 500MB or 4GB"),
    ],
)
def test_what_passes_cannot_do_is_refused(more, words, folder):
    target = [] if "--formula" in more else ["-t", "ill"]
    done = run_command("fit", str(folder / "files"), "--memory", "1kB", *target, *more)
    assert done.code == 1
    assert words in done.err


def test_a_model_that_needs_all_rows_is_refused_before_reading(folder, monkeypatch):
    monkeypatch.setattr("discriminant.partitions.training.MAX_GATHERED_BYTES", 1_000)
    monkeypatch.setattr("discriminant.partitions.coding.CodingLearner.table", lambda _: pytest.fail("read"))
    done = run_command("fit", str(folder / "files"), "-t", "ill", "--model", "perceptron", "--memory", "1kB")
    assert done.code == 1
    assert "needs all rows in memory" in done.err


def test_files_that_differ_are_told_by_name(folder):
    other = pq.read_table(folder / "files" / "1.parquet").drop_columns(["dose"])
    pq.write_table(other, folder / "files" / "1.parquet")
    for more in ([], ["--memory", "1kB"]):
        done = run_command("fit", str(folder / "files"), "-t", "ill", "--model", "lda", *more)
        assert done.code == 1
        assert "1.parquet" in done.err
        assert "no column 'dose'" in done.err


@pytest.mark.parametrize(("text", "size"), [("500MB", 500e6), ("4 GB", 4e9), ("1.5gib", 1.5e9), ("100", 100)])
def test_sizes_are_read(text, size):
    assert Streaming(memory=text).n_bytes() == size
    with pytest.raises(ParameterError, match="--memory"):
        Streaming(memory="big").n_bytes()
