"""What datasets are made of: arrays, sparse text, relations, queries, and texts whose types differ."""

import gzip
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from textwrap import dedent

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import random as random_sparse
from sklearn.datasets import dump_svmlight_file

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, open_dataset
from discriminant.errors import ColumnError, InputError, ParameterError
from discriminant.tables import read_training
from discriminant.tables.learning import LearningOptions
from helpers import normal_classes


def coef_of(dataset):
    return LinearDiscriminantAnalysis().fit(dataset).coef_


@pytest.fixture
def table():
    X, y = normal_classes(n=900, p=3, K=2, seed=1)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.array(["no", "yes"])[y])


@pytest.fixture
def expected(table):
    return LinearDiscriminantAnalysis().fit(table[["a", "b", "c"]], table["y"]).coef_


def test_arrays_are_read_where_they_stand(table, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("discriminant.partitions.fragments.ARRAY_ROWS", 250)
    X = table[["a", "b", "c"]].to_numpy()
    np.save(tmp_path / "1.npy", X[:400])
    np.save(tmp_path / "2.npy", np.asfortranarray(X[400:]))
    np.save(tmp_path / "labels.npy", table["y"].to_numpy().astype("U3"))
    files = [tmp_path / "1.npy", tmp_path / "2.npy"]
    dataset = open_dataset(files, target=str(tmp_path / "labels.npy"))
    assert (dataset.names, dataset.n_partitions, dataset.shape) == (("x0", "x1", "x2"), 4, (900, 3))
    assert_allclose(coef_of(dataset), expected, rtol=1e-10)
    assert not dataset.decoded


def test_a_column_of_an_array_or_a_field_is_the_target(table, expected, tmp_path):
    table["y"] = (table["y"] == "yes") * 1.0
    np.save(tmp_path / "all.npy", table.to_numpy())
    assert_allclose(coef_of(open_dataset(tmp_path / "all.npy", target="x3")), expected, rtol=1e-10)
    np.save(tmp_path / "fields.npy", table.to_records(index=False))
    assert_allclose(coef_of(open_dataset(tmp_path / "fields.npy", target="y")), expected, rtol=1e-10)


@pytest.mark.parametrize("damage", ["short", "cube", "objects"])
def test_arrays_that_cannot_be_read_are_named(damage, tmp_path):
    path = tmp_path / "rows.npy"
    values = {"cube": np.zeros((2, 2, 2)), "objects": np.array([[1, "a"]], dtype=object)}.get(damage, np.ones((50, 4)))
    np.save(path, values, allow_pickle=True)
    if damage == "short":
        path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(InputError, match=r"rows\.npy' .* NumPy"):
        open_dataset(path, target="x3")


@pytest.mark.parametrize("zero_based", [True, False])
def test_sparse_rows_are_read_as_such(zero_based, tmp_path):
    X = random_sparse(800, 300, density=0.05, format="csr", random_state=0)
    sums = np.asarray(X[:, :40].sum(axis=1)).ravel()
    y = np.where(sums > np.median(sums), 1, -1)
    for number, own in enumerate((slice(0, 300), slice(300, 800))):
        dump_svmlight_file(X[own], y[own], str(tmp_path / f"{number}.svm"), zero_based=zero_based)
    dataset = open_dataset(tmp_path / "*.svm")
    assert dataset.shape == (800, 300)
    assert dataset.names[0] == ("0" if zero_based else "1")
    model = LogisticRegression(alpha=0.01, tol=1e-14)
    found = model.fit(dataset)
    coef, predicted = found.coef_, found.predict(dataset)
    found = model.fit(X.tocsr(), y)
    assert_allclose(coef, found.coef_, rtol=1e-6, atol=1e-9)
    assert_array_equal(predicted, found.predict(X.tocsr()))
    learned = dataset.learned(LearningOptions(), labels=True)
    assert learned.schema.target.classes == (-1, 1)
    assert_allclose(model.fit(dataset.coded(learned.schema)).coef_, coef)
    with pytest.raises(ColumnError, match="target"):
        open_dataset(tmp_path / "*.svm", target="y")


def test_relations_and_queries_are_read_through_arrow(table, expected, tmp_path):
    own = duckdb.connect()
    own.register("rows", table)
    relation = own.sql("SELECT a, b, c, y FROM rows ORDER BY a")
    assert_allclose(coef_of(open_dataset(relation, target="y")), expected, rtol=1e-10)
    reader = pa.RecordBatchReader.from_stream(own.sql("SELECT * FROM rows"))
    assert_allclose(coef_of(open_dataset(reader, target="y")), expected, rtol=1e-10)
    path = tmp_path / "rows.sqlite"
    with sqlite3.connect(path) as database:
        table.to_sql("rows", database, index=False)
        table.to_sql("others", database, index=False)
    database.close()
    query = open_dataset(path, target="y", reading={"table": "SELECT a, b, c, y FROM rows"})
    assert_allclose(coef_of(query), expected, rtol=1e-10)
    with pytest.raises(ParameterError, match="'sheet'"):
        open_dataset(path, target="y", reading={"sheet": "rows"})


def in_parts(folder, frame, edges, ending=".csv"):
    for number, (start, stop) in enumerate(pairwise(edges)):
        text = frame[start:stop].to_csv(index=False)
        path = folder / f"{number}{ending}"
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    return str(folder / f"*{ending}")


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_texts_are_coded_as_one_text_in_memory_would_be(ending, tmp_path):
    rng = np.random.default_rng(0)
    n = 3_000
    frame = pd.DataFrame(
        {
            "whole then decimal": np.where(np.arange(n) < 2_000, rng.integers(0, 90, n), rng.uniform(0, 90, n)),
            "number then word": [f"{k % 7}" if k < 2_500 else f"w{k % 5}" for k in range(n)],
            "empty first": [None if k < 1_000 else rng.normal() for k in range(n)],
            "level": rng.choice(["a", "b", "NA", "d "], n),
            "label": [f"{k % 2}" if k < 1_500 else f"{'x' if k % 3 else k % 2}" for k in range(n)],
        }
    )
    frame["whole then decimal"] = frame["whole then decimal"].map(lambda value: f"{value:.6g}")
    pattern = in_parts(tmp_path, frame, (0, 700, 1_500, n), ending)
    (tmp_path / "whole").mkdir()
    whole = tmp_path / "whole" / "all.csv"
    whole.write_text(frame.to_csv(index=False))
    expected = read_training(whole, "label")
    dataset = open_dataset(pattern, target="label")
    learned = dataset.learned(LearningOptions(rare=5), labels=True)
    assert learned.schema.target == expected.schema.target
    assert learned.schema.names == expected.schema.names
    rows = dataset.coded(learned.schema).gathered()
    assert_allclose(rows.rows.values, expected.X, rtol=1e-12)


def test_files_that_differ_are_told_by_name_and_column(table, tmp_path):
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "0.parquet")
    pq.write_table(pa.Table.from_pandas(table.assign(y=1)), tmp_path / "1.parquet")
    with pytest.raises(ColumnError, match=r"'y' .* int64 in .*1.parquet', .*string in .*0.parquet'"):
        open_dataset(tmp_path, target="y")
    pq.write_table(pa.Table.from_pandas(table.drop(columns="b")), tmp_path / "0.parquet")
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "1.parquet")
    with pytest.raises(ColumnError, match=r"0.parquet' .* 'b', .*1.parquet'"):
        open_dataset(tmp_path, target="y")
    assert open_dataset(tmp_path, target="y", drop=["b"]).names == ("a", "c")
    pq.write_table(pa.table({**dict(table), "b": pa.nulls(len(table))}), tmp_path / "0.parquet")
    assert open_dataset(tmp_path, target="y").names == ("a", "b", "c")
    in_parts(tmp_path, table.drop(columns="c"), (0, 100))
    with pytest.raises(ColumnError, match=r"0.csv' .* 'c'"):
        open_dataset([tmp_path / "0.csv", tmp_path / "1.parquet"], target="y")


def test_marks_of_others_in_a_folder_are_no_files(table, tmp_path):
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "part-0.parquet")
    for name in ("_SUCCESS", ".part-0.parquet.crc"):
        (tmp_path / name).write_bytes(b"")
    assert open_dataset(tmp_path, target="y").n_rows == 900


ENDED = """
    import resource, signal, sys, tempfile
    from discriminant import open_dataset
    tempfile.tempdir = sys.argv[2]
    if sys.argv[3] == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    dataset = open_dataset(sys.argv[1], target="y")
    print("open", flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("end", ["full", "interrupted", "killed"])
def test_however_it_ends_nothing_stays_on_disk(end, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "temporary").mkdir()
    frame = pd.DataFrame(rng.normal(size=(60_000, 5)), columns=list("abcde")).assign(y=rng.integers(0, 2, 60_000))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = [sys.executable, "-c", dedent(ENDED), str(tmp_path / "rows.csv"), str(tmp_path / "temporary"), end]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if end == "full":
        _, told = process.communicate(timeout=60)
        assert "rows.csv" in told
        assert "TMPDIR" in told
    else:
        assert process.stdout.readline() == "open\n"
        assert list((tmp_path / "temporary").iterdir())
        process.send_signal(signal.SIGINT if end == "interrupted" else signal.SIGKILL)
        process.communicate(timeout=60)
    if end == "killed":  # the next that decodes something removes it
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
            del (dataset := [open_dataset(tmp_path / "rows.csv", target="y")])[0]
            assert not dataset
    deadline = time.monotonic() + 10
    while os.listdir(tmp_path / "temporary") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.listdir(tmp_path / "temporary")
