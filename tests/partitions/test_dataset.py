"""Rows in files: the models of rows in memory, bit for bit the same whoever reads them, in little memory."""

import errno
import gc
import os
import pickle
import subprocess
import sys
import tempfile
from itertools import pairwise
from textwrap import dedent

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from discriminant import (
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    MinimumDistance,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
    SupportVectorClassifier,
    evaluate,
    open_dataset,
)
from discriminant.errors import ColumnError, InputError, LabelError, WeightError
from helpers import normal_classes

#: Beyond this, solutions are as precise as sums over rows in another order allow.
POLISHED = 1e-18


def written(folder, X, labels, groups=4, files=2, **more):
    """Files with these rows, cut into row groups, and what they are read by."""
    folder.mkdir(exist_ok=True)
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": labels} | more)
    edges = np.linspace(0, len(X), files + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(edges)):
        rows = max((stop - start) // groups, 1)
        pq.write_table(table.slice(start, stop - start), folder / f"{number}.parquet", row_group_size=rows)
    return str(folder / "*.parquet")


def learned(model):
    """All numbers that a model has learned."""
    names = ("coef_", "intercept_", "means_", "variances_", "scalings_", "shrinkage_")
    return [np.asarray(getattr(model, name)) for name in names if hasattr(model, name)]


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def rows(request, tmp_path_factory):
    X, y = normal_classes(n=6_000, p=5, K=request.param, seed=1)
    return X, np.array(["b", "a", "c"])[y], written(tmp_path_factory.mktemp("rows") / "files", X, y_text(y))


def y_text(y):
    return pa.array(np.array(["b", "a", "c"])[y].tolist())


MODELS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(shrinkage="cv"),
    LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    QuadraticDiscriminantAnalysis(),
    RegularizedDiscriminantAnalysis(),
    GaussianNB(),
    MinimumDistance(),
    LeastSquaresClassifier(alpha=0.1),
    LogisticRegression(tol=POLISHED),
    LogisticRegression(alpha=0.01, tol=POLISHED),
    LogisticRegression(alpha=0.01, tol=POLISHED, class_weight="balanced"),
    LogisticRegression(alpha=0.01, solver="newton-cg", tol=POLISHED),
    LogisticRegression(alpha=0.01, l1_ratio=0.5, tol=1e-20),
    LogisticRegressionCV(n_alphas=5, cv=3),
    SupportVectorClassifier(C=0.1),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_are_those_of_rows_in_memory(model, rows):
    X, y, files = rows
    dataset = open_dataset(files, target="y")
    found, expected = clone(model).fit(dataset), clone(model).fit(X, y)
    assert dataset.shape == X.shape
    assert found.feature_names_in_.tolist() == [f"x{j}" for j in range(X.shape[1])]
    for mine, theirs in zip(learned(found), learned(expected), strict=True):
        assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    assert_array_equal(found.predict(dataset), expected.predict(X))


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression(alpha=0.01)], ids=str)
def test_threads_leave_no_trace(model, rows):
    dataset = open_dataset(rows[2], target="y")
    fits = [learned(clone(model).set_params(n_jobs=n_jobs).fit(dataset)) for n_jobs in (1, 2, 4)]
    for others in fits[1:]:
        assert all(map(np.array_equal, others, fits[0]))


@pytest.mark.parametrize("order", ["by class", "shuffled"])
def test_other_files_of_the_same_rows_give_the_same_model(order, rows, tmp_path):
    X, y, files = rows
    places = np.argsort(y, kind="stable") if order == "by class" else np.random.default_rng(0).permutation(len(y))
    other = written(tmp_path / "other", X[places], pa.array(y[places].tolist()), groups=3, files=5)
    model = LogisticRegression(alpha=0.01, tol=POLISHED)
    found, expected = (clone(model).fit(open_dataset(source, target="y")) for source in (other, files))
    assert_allclose(found.coef_, expected.coef_, rtol=1e-10, atol=1e-10)
    assert found.solution_.objective == pytest.approx(expected.solution_.objective, rel=1e-12)


def test_weights_offsets_and_clusters_are_columns(tmp_path):
    X, y = normal_classes(n=2_000, p=3, K=2, seed=2)
    rng = np.random.default_rng(0)
    weight, offset, site = rng.uniform(0, 3, len(y)), rng.normal(size=len(y)), rng.integers(0, 40, len(y))
    files = written(tmp_path / "files", X, y, w=weight, o=offset, site=site)
    dataset = open_dataset(files, target="y", weight="w", offset="o", cluster="site")
    found = LogisticRegression(tol=POLISHED).fit(dataset)
    expected = LogisticRegression(tol=POLISHED).fit(X, y, weight, offset)
    assert found.n_features_in_ == 3
    assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
    kinds = {None: None, "HC0": None, "HC1": None, "HC2": None, "HC3": None, "CR0": site, "CR1": site}
    for kind, clusters in kinds.items():
        mine, theirs = found.summary(covariance=kind), expected.summary(covariance=kind, clusters=clusters)
        errors = [[row.std_error for row in summary.rows] for summary in (mine, theirs)]
        assert_allclose(*errors, rtol=1e-10)
        assert mine.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-12)


def test_an_evaluation_reads_a_dataset_once(rows):
    X, y, files = rows
    dataset = open_dataset(files, target="y")
    model = LinearDiscriminantAnalysis().fit(dataset)
    found, expected = evaluate(model, dataset), evaluate(model, pd.DataFrame(X, columns=dataset.names), y)
    assert_array_equal(found.confusion.counts, expected.confusion.counts)
    for name in ("accuracy", "log_loss", "brier"):
        assert found[name].value == pytest.approx(expected[name].value, rel=1e-12)


def test_partitions_may_be_empty_uneven_and_lack_classes(tmp_path):
    X, y = normal_classes(n=1_000, p=3, K=3, seed=3)
    order = np.argsort(y)
    X, y = X[order], y[order]
    table = pa.table({f"x{j}": X[:, j] for j in range(3)} | {"y": y})
    for number, (start, stop) in enumerate([(0, 1), (1, 1), (1, 990), (990, 1000)]):
        pq.write_table(table.slice(start, stop - start), tmp_path / f"{number}.parquet")
    found = LinearDiscriminantAnalysis().fit(open_dataset(tmp_path, target="y"))
    assert_allclose(found.coef_, LinearDiscriminantAnalysis().fit(X, y).coef_, rtol=1e-10)


def test_texts_of_labels_are_told_apart_by_value_not_by_code(tmp_path):
    X, y = normal_classes(n=600, p=2, K=3, seed=4)
    names = np.array(["low", "middle", "high"])[y]
    for number, own in enumerate((slice(0, 200), slice(200, 600))):
        labels = pa.array(names[own].tolist())
        labels = labels.dictionary_encode() if number else labels
        pq.write_table(pa.table({"a": X[own, 0], "b": X[own, 1], "y": labels}), tmp_path / f"{number}.parquet")
    found = LinearDiscriminantAnalysis().fit(open_dataset(tmp_path, target="y"))
    assert found.classes_.tolist() == ["high", "low", "middle"]
    assert_allclose(found.coef_, LinearDiscriminantAnalysis().fit(X, names).coef_, rtol=1e-10)


def test_a_dataset_and_its_tasks_are_small_when_they_travel(rows):
    dataset = open_dataset(rows[2], target="y")
    model = LogisticRegression(alpha=0.01).fit(dataset)
    assert len(pickle.dumps(dataset)) < 2_000
    assert len(pickle.dumps(model._training.data.blocks)) < 1_000
    assert pickle.loads(pickle.dumps(dataset)).shape == dataset.shape


def broken_file(folder):
    content = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(content[: len(content) // 2])


def broken_page(folder):
    content = bytearray((folder / "1.parquet").read_bytes())
    content[200:1200] = bytes(1000)
    (folder / "1.parquet").write_bytes(bytes(content))


def rewritten(change):
    def damage(folder):
        pq.write_table(change(pq.read_table(folder / "1.parquet")), folder / "1.parquet")

    return damage


def with_value(name, value):
    def change(table):
        values = table[name].to_pylist()
        values[7] = value
        place = table.column_names.index(name)
        return table.set_column(place, name, pa.array(values, table[name].type))

    return rewritten(change)


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (broken_file, InputError, ["1.parquet'", "Parquet"]),
        (broken_page, InputError, ["1.parquet'", "Parquet"]),
        (rewritten(lambda table: table.drop_columns(["x1"])), ColumnError, ["1.parquet'", "'x1'"]),
        (
            rewritten(lambda table: table.set_column(1, "x1", table["x1"].cast(pa.string()))),
            ColumnError,
            ["'x1'", "string in", "1.parquet'", "double in"],
        ),
        (with_value("y", None), LabelError, ["'y'", "1.parquet' (row 507 of all)"]),
        (with_value("w", -1.0), WeightError, ["'w'", "-1", "(row 507 of all)"]),
        (with_value("x2", float("nan")), InputError, ["NaN", "column 'x2', row 507"]),
        (with_value("x2", None), InputError, ["NaN", "column 'x2', row 507"]),
    ],
)
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression()], ids=str)
def test_what_is_wrong_with_a_file_is_told_by_its_name(model, damage, error, words, tmp_path):
    X, y = normal_classes(n=1_000, p=3, K=2, seed=5)
    files = written(tmp_path / "files", X, y, w=np.ones(len(y)))
    damage(tmp_path / "files")
    with pytest.raises(error) as told:
        clone(model).fit(open_dataset(files, target="y", weight="w"))
    assert all(word in str(told.value) for word in words), str(told.value)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"target": "z"}, ColumnError, "'z'"),
        ({"target": "y", "columns": []}, ColumnError, "column"),
        ({"target": "x0"}, ColumnError, "'y' (string)"),
        ({}, LabelError, "target='column'"),
        ({"drop": ["y"]}, LabelError, "target='column'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(options, error, words, rows):
    with pytest.raises(error) as told:
        LinearDiscriminantAnalysis().fit(open_dataset(rows[2], **options))
    assert words in str(told.value)


def test_labels_stand_in_the_files_alone(rows):
    with pytest.raises(InputError, match="sample_weight"):
        LinearDiscriminantAnalysis().fit(open_dataset(rows[2], target="y"), rows[1])


def test_what_needs_all_rows_refuses_before_it_reads(rows, monkeypatch):
    monkeypatch.setattr("discriminant.partitions.training.MAX_GATHERED_BYTES", 1_000)
    monkeypatch.setattr("discriminant.partitions.reading.Surveying.__call__", lambda *_: pytest.fail("read"))
    with pytest.raises(InputError, match=r"SupportVectorClassifier .* LogisticRegression"):
        SupportVectorClassifier(margin="hard").fit(open_dataset(rows[2], target="y"))


def test_separated_classes_are_seen_in_the_sample(tmp_path):
    X, y = normal_classes(n=400, p=2, K=2, seed=6)
    files = written(tmp_path / "files", X + 100 * y[:, None], y)
    with pytest.warns(UserWarning, match="separated"):
        LogisticRegression().fit(open_dataset(files, target="y"))


LITTLE = """
    import resource, sys
    import discriminant as d
    from discriminant.partitions import training as module
    models = [d.LinearDiscriminantAnalysis(), d.LogisticRegression(alpha=0.01)]
    def fit(pattern):
        dataset = d.open_dataset(pattern, target="y")
        return [d.evaluate(model.fit(dataset), dataset)["accuracy"].value for model in models]
    fit(sys.argv[1] + "/few.parquet")  # loads libraries and kernels, starts threads
    held = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
    module.SAMPLE_BYTES = 4_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (held + 100_000_000, held + 100_000_000))
    print(fit(sys.argv[1] + "/many*.parquet"))
"""


def test_files_need_not_fit_into_memory(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(75_000, 20))  # 12 MB, twenty times
    y = (X[:, :3].sum(axis=1) + rng.logistic(size=len(X)) > 0).astype(int)
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y})
    pq.write_table(table.slice(0, 70_000), tmp_path / "few.parquet", row_group_size=17_000)
    pq.write_table(table, tmp_path / "many0.parquet", compression="none")
    for number in range(1, 20):
        os.link(tmp_path / "many0.parquet", tmp_path / f"many{number}.parquet")
    command, pool = [sys.executable, "-c", dedent(LITTLE), str(tmp_path)], {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | pool)
    assert done.returncode == 0, done.stderr[-2000:]
    assert all(0.7 < value < 0.9 for value in eval(done.stdout))


@pytest.mark.parametrize("name", ["rows.arrow", "rows.feather", "rows.csv", "rows.jsonl", "rows.csv.gz"])
def test_other_files_are_read_or_decoded(name, tmp_path):
    X, y = normal_classes(n=900, p=3, K=2, seed=7)
    X[0, 0] = 3.0
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.array(["no", "yes"])[y])
    path = tmp_path / name
    if ".csv" in name:
        frame.to_csv(path, index=False)
    elif name == "rows.jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        feather.write_feather(pa.Table.from_pandas(frame), path, chunksize=250)
    dataset = open_dataset(path, target="y")
    assert dataset.n_partitions == (4 if "csv" not in name and "json" not in name else 1)
    found = LinearDiscriminantAnalysis().fit(dataset)
    expected = LinearDiscriminantAnalysis().fit(frame[["a", "b", "c"]], frame["y"])
    assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
    assert found.classes_.tolist() == ["no", "yes"]


def test_what_was_decoded_vanishes_with_its_rows_and_with_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100) % 2}).to_csv(tmp_path / "rows.csv", index=False)
    dataset = open_dataset(tmp_path / "rows.csv", target="y")
    assert dataset.n_rows == 100
    assert list((tmp_path / "temporary").iterdir())
    del dataset
    gc.collect()
    assert not list((tmp_path / "temporary").iterdir())

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    for fault in (full, interrupted):
        monkeypatch.setattr(pq.ParquetWriter, "write_table", fault)
        with pytest.raises((InputError, KeyboardInterrupt)) as told:
            open_dataset(tmp_path / "rows.csv", target="y")
        assert isinstance(told.value, KeyboardInterrupt) or "TMPDIR" in str(told.value)
        del told
        assert not list((tmp_path / "temporary").iterdir())


def interrupted(*_, **__):
    raise KeyboardInterrupt
