"""Dask arrays and frames, Spark frames: the bits of files with the same partitions, and answers of their own kind."""

import os
import pickle
import signal
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discriminant import (
    DecisionClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    SupportVectorClassifier,
    evaluate,
    open_dataset,
)
from discriminant.dependencies import Deferred
from discriminant.errors import ColumnError, InputError, LabelError
from discriminant.partitions import frames
from helpers import normal_classes

pytestmark = [pytest.mark.xdist_group("clusters"), pytest.mark.filterwarnings("ignore")]

dask, da, dd = map(Deferred, ("dask", "dask.array", "dask.dataframe"))  # slow to load
NAMES = list("abcd")
SIZES = [700, 0, 1500, 1, 799]  # uneven, one empty, and one lacks classes
LOGISTIC = LogisticRegression(alpha=0.01)


@pytest.fixture(scope="module")
def parts():
    X, y = normal_classes(n=sum(SIZES), p=len(NAMES), K=3, seed=11)
    frame = pd.DataFrame(X, columns=NAMES).assign(
        y=np.array(["low", "high", "middle"])[y], w=np.arange(len(y)) % 3 + 1.0
    )
    return cut(frame, SIZES)


def cut(frame, sizes):
    edges = np.cumsum([0, *sizes])
    return [frame.iloc[a:b] for a, b in pairwise(edges)]


@pytest.fixture(scope="module")
def whole(parts):
    return pd.concat(parts)


def files_of(parts, folder):
    for number, part in enumerate(parts):
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"{number}.parquet")
    return str(folder / "*.parquet")


@pytest.fixture(scope="module")
def files(parts, tmp_path_factory):
    return files_of(parts, tmp_path_factory.mktemp("parts"))


def dask_frame(parts):
    return dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0])


def dask_array(columns, parts):
    return da.concatenate([da.from_array(part[columns].to_numpy(), chunks=-1) for part in parts if len(part)])


def learned(model):
    return [model.coef_, model.intercept_, np.array([row.std_error for row in model.summary().rows])]


@pytest.fixture(scope="module")
def expected(files):
    return learned(LogisticRegression().fit(open_dataset(files, target="y", weight="w")))


FITS = {
    "names of columns": lambda frame, X, y, w: (frame, "y", "w"),
    "series": lambda frame, X, y, w: (frame[NAMES], frame["y"], frame["w"]),
    "a name and a series": lambda frame, X, y, w: (frame.drop(columns="w"), "y", frame["w"]),
    "arrays": lambda frame, X, y, w: (X, y, w),
    "arrays cut otherwise": lambda frame, X, y, w: (X.rechunk({1: 3}), y.rechunk(1111), w.rechunk(77)),
    "labels in memory": lambda frame, X, y, w: (X, y.compute(), w.compute()),
}


@pytest.mark.parametrize("given", FITS.values(), ids=FITS)
def test_dask_collections_give_the_bits_of_files_with_the_same_partitions(given, parts, expected):
    arrays = (dask_array(columns, parts) for columns in (NAMES, "y", "w"))
    found = learned(LogisticRegression().fit(*given(dask_frame(parts), *arrays)))
    assert all(map(np.array_equal, found, expected))


def test_partitions_are_reduced_where_a_cluster_holds_them(parts, expected, client):
    held = client.persist(dask_frame(parts))
    dataset = open_dataset(held, target="y", weight="w", executor=client)
    assert all(map(np.array_equal, learned(LogisticRegression().fit(dataset)), expected))
    model = LogisticRegression().fit(dataset)
    assert evaluate(model, dataset)["log_loss"].value == pytest.approx(0.4, abs=0.4)


def test_a_client_of_this_process_is_found(parts, expected, client):
    with client.as_current():
        held = dask_frame(parts).persist()
        assert all(map(np.array_equal, learned(LogisticRegression().fit(held, "y", "w")), expected))


def test_a_worker_that_holds_partitions_and_dies_leaves_no_trace(parts, expected, client, tmp_path, monkeypatch):
    flag, call = str(tmp_path / "killed"), frames.HeldTask.__call__

    class Deadly(frames.HeldTask):
        def __call__(self, *held):
            if not os.path.exists(flag):
                with open(flag, "w"):
                    os.kill(os.getpid(), signal.SIGKILL)
            return call(self, *held)

    dataset = open_dataset(client.persist(dask_frame(parts)), target="y", weight="w", executor=client)
    monkeypatch.setattr(frames, "HeldTask", Deadly)
    assert all(map(np.array_equal, learned(LogisticRegression().fit(dataset)), expected))
    assert os.path.exists(flag)


def test_statistics_alone_leave_a_partition(parts, monkeypatch):
    sizes, call = [], frames.HeldTask.__call__

    def noted(self, *held):
        sizes.append((len(pickle.dumps(self)), len(pickle.dumps(result := call(self, *held)))))
        return result

    monkeypatch.setattr(frames.HeldTask, "__call__", noted)
    monkeypatch.setattr(frames, "_current_client", lambda: None)
    frame = dask_frame(parts).persist(scheduler="threads")
    LinearDiscriminantAnalysis().fit(frame, "y", "w")
    assert max(map(max, sizes)) < 3_000
    sizes.clear()
    monkeypatch.setattr("discriminant.partitions.training.SAMPLE_BYTES", 8 * len(NAMES) * 30)
    LOGISTIC.fit(frame, "y", "w")
    assert max(map(max, sizes)) < 5_000  # a hundredth of the rows of the largest partition


def no_work(*_, **__):
    raise AssertionError("computed too early")


ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


@pytest.mark.parametrize("answer", ANSWERS)
def test_dask_collections_are_answered_by_their_own_kind_when_asked(answer, parts, whole):
    model = LOGISTIC.fit(whole[NAMES], whole["y"])
    expected = getattr(model, answer)(whole[NAMES])
    with dask.config.set(scheduler=no_work):
        found = getattr(model, answer)(dask_frame(parts))
        rows = getattr(LogisticRegression(alpha=0.01).fit(whole[NAMES].to_numpy(), whole["y"]), answer)(
            dask_array(NAMES, parts).rechunk({1: 2})
        )
    assert isinstance(found, dd.Series if answer == "predict" else dd.DataFrame)
    assert isinstance(rows, da.Array)
    computed = found.compute()
    for values in (rows.compute(), computed.to_numpy()):
        if answer == "predict":
            assert_array_equal(values, expected)
        else:
            assert_allclose(values, expected, rtol=1e-12)
    assert rows.shape == expected.shape
    assert_array_equal(computed.index, whole.index)
    names = {"predict": "prediction", "predict_proba": "probability_low", "decision_function": "score_low"}
    assert names.get(answer, "log_probability_low") in ([found.name] if answer == "predict" else found.columns)


def test_two_classes_have_one_score_and_decisions_have_actions(parts, whole):
    y = np.where(whole["y"] == "low", "low", "other")
    model = DecisionClassifier(LinearDiscriminantAnalysis(), {("low", "other"): 5, ("other", "low"): 1})
    model.fit(whole[NAMES], y)
    found = model.predict(dask_frame(parts))
    assert_array_equal(found.compute(), model.predict(whole[NAMES]))
    machine = SupportVectorClassifier().fit(whole[NAMES], y)
    scores = machine.decision_function(dask_frame(parts))
    assert scores.name == "score"
    assert_allclose(scores.compute(), machine.decision_function(whole[NAMES]), rtol=1e-12)


def test_a_model_is_evaluated_where_partitions_lie(parts, whole):
    model = LOGISTIC.fit(whole[NAMES], whole["y"])
    found, expected = evaluate(model, dask_frame(parts), "y"), evaluate(model, whole[NAMES], whole["y"])
    assert found["accuracy"].value == pytest.approx(expected["accuracy"].value, rel=1e-12)


def test_rows_that_a_model_needs_at_hand_are_gathered(parts, whole):
    found = SupportVectorClassifier(C=0.1).fit(dask_frame(parts).drop(columns="w"), "y")
    assert_allclose(found.coef_, SupportVectorClassifier(C=0.1).fit(whole[NAMES], whole["y"]).coef_, rtol=1e-8)


def unknown_sizes(parts):
    X = dask_array(NAMES, parts)
    return X[X[:, 0] > 0], dask_array("y", parts)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda parts: (dask_frame(parts), "z"), ColumnError, "'z'"),
        (lambda parts: (dask_frame(parts)[NAMES],), LabelError, "target='column'"),
        (lambda parts: (dask_frame(parts)[NAMES], parts[0]["y"]), LabelError, "Dask series"),
        (
            lambda parts: (dask_frame(parts)[NAMES], dask_frame(parts[:3])["y"]),
            InputError,
            "y have different partitions",
        ),
        (lambda parts: (dask_frame(parts)[NAMES], dask_frame(parts[::-1])["y"]), InputError, "A partition has "),
        (lambda parts: (dask_array(NAMES, parts), dask_array("y", parts)[:9]), InputError, "X has 3,000 rows"),
        (unknown_sizes, InputError, "compute_chunk_sizes"),
        (lambda parts: (dask_array(NAMES, parts), None), LabelError, "target='column'"),
    ],
)
def test_what_does_not_fit_is_told(given, error, words, parts):
    with pytest.raises(error) as told:
        LOGISTIC.fit(*given(parts))
    assert words in str(told.value)


def test_a_column_that_is_missing_is_told_before_anything_is_computed(parts, whole):
    model = LOGISTIC.fit(whole[NAMES], whole["y"])
    with pytest.raises(ColumnError, match="'b'"):
        model.predict(dask_frame(parts)[["a", "c", "d"]])


def test_rows_that_change_between_passes_are_refused(parts, monkeypatch):
    monkeypatch.setattr(frames, "_current_client", lambda: None)
    calls = []

    def shrinking(number):
        calls.append(number)
        return parts[number].iloc[: len(parts[number]) - (len(calls) > 12)]

    frame = dd.from_map(shrinking, range(len(parts)), meta=parts[0].iloc[:0])
    with dask.config.set(scheduler="sync"), pytest.raises(InputError, match=r"Partition \d"):
        LOGISTIC.fit(frame, "y", "w")


@pytest.fixture(scope="module")
def spark_frame(files, session):
    return session.read.parquet(os.path.dirname(files))


def spark_parts(frame):
    """The partitions of a Spark frame, in memory."""
    from pyspark.sql.functions import spark_partition_id

    rows = frame.select("*", spark_partition_id().alias("part")).toPandas()
    return [own.drop(columns="part") for _, own in rows.groupby("part")]


@pytest.mark.slow
def test_an_executor_that_dies_leaves_no_trace_in_the_bits_of_a_spark_frame(spark_frame, tmp_path, monkeypatch):
    flag, call = str(tmp_path / "killed"), frames.ArrowTask.__call__
    expected = learned(LOGISTIC.fit(dask_frame(spark_parts(spark_frame)), "y", "w"))

    class Deadly(frames.ArrowTask):
        def __call__(self, batches):
            if not os.path.exists(flag):
                with open(flag, "w"), open(f"/proc/{os.getppid()}/stat") as daemon:
                    os.kill(int(daemon.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
            return call(self, batches)

    monkeypatch.setattr(frames, "ArrowTask", Deadly)
    assert all(map(np.array_equal, learned(LOGISTIC.fit(spark_frame, "y", "w")), expected))
    assert os.path.exists(flag)


def test_spark_frames_are_answered_by_frames(spark_frame, whole):
    model = LOGISTIC.fit(whole[NAMES], whole["y"])
    found = model.predict(spark_frame)
    assert found.columns == [*NAMES, "y", "w", "prediction"]
    rows = found.toPandas()
    assert_array_equal(rows["prediction"], model.predict(rows[NAMES]))
    shares = model.predict_proba(spark_frame).toPandas()
    names = [f"probability_{label}" for label in model.classes_]
    assert_allclose(shares[names].to_numpy(), model.predict_proba(shares[NAMES]), rtol=1e-12)
    with pytest.raises(ColumnError, match="'prediction'"):
        model.predict(found)


@pytest.mark.slow
def test_an_error_in_an_executor_is_told_as_ours(spark_frame):
    gaps = spark_frame.selectExpr("a", "b", "case when a > 1 then null else y end as y")
    with pytest.raises(LabelError, match=r"'y' .* row .* of a Spark frame"):
        LOGISTIC.fit(gaps, "y")
    with pytest.raises(LabelError):
        LOGISTIC.fit(spark_frame, ["low"])
