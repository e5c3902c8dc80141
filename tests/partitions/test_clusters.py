"""Dask and Spark: the bits of threads, from statistics that are small, also when a worker dies."""

import os
import pickle
import signal
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, dependencies, evaluate, open_dataset
from discriminant.engine import Threads
from discriminant.errors import DependencyError, InputError, ParameterError
from discriminant.partitions.executors import Dask, Spark
from helpers import normal_classes

# One process of tests starts Spark, and warnings of other packages about each other are theirs.
pytestmark = [pytest.mark.xdist_group("clusters"), pytest.mark.filterwarnings("ignore")]

P = 6
MODELS = [LinearDiscriminantAnalysis(), LogisticRegression(), LogisticRegression(alpha=0.01)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    X, y = normal_classes(n=8_000, p=P, K=3, seed=1)
    table = pa.table({f"x{j}": X[:, j] for j in range(P)} | {"y": [f"class {code}" for code in y]})
    for number in range(2):
        pq.write_table(table.slice(4_000 * number, 4_000), folder / f"{number}.parquet", row_group_size=1_000)
    return str(folder / "*.parquet")


@pytest.fixture(scope="module")
def dataset(files):
    return open_dataset(files, target="y")


@pytest.fixture(scope="module")
def expected(dataset):
    return [found(model, dataset) for model in MODELS]


def found(model, dataset):
    """All that a fit says, standard errors included."""
    fitted = clone(model).fit(dataset)
    errors = [row.std_error for row in fitted.summary().rows] if hasattr(fitted, "summary") else []
    return [fitted.coef_, fitted.intercept_, np.array(errors)]


def assert_same_bits(dataset, expected):
    for model, theirs in zip(MODELS, expected, strict=True):
        assert all(map(np.array_equal, found(model, dataset), theirs))


class Counting:
    """Threads that send every task and every statistic as if to another machine, and note how long they are."""

    def __init__(self):
        self.tasks, self.statistics = [], []

    def in_order(self, task, parts, n_jobs=None):
        self.tasks.append(len(pickle.dumps(task)))
        for part in parts:
            sent = pickle.dumps(pickle.loads(pickle.dumps(task))(part))
            self.statistics.append(len(sent))
            yield pickle.loads(sent)


def test_statistics_and_tasks_are_small_and_hold_no_rows(dataset, expected):
    counting = Counting()
    assert_same_bits(dataset.on(counting), expected)
    parameters = 2 * (P + 1)
    # Second derivatives of all parameters, and a few vectors; the sample is what it is allowed to be.
    limit = 8 * (parameters**2 + 8 * parameters) + 3_000
    sample = 8 * 1_000 * (P + 2)
    assert max(counting.tasks) < limit
    assert max(counting.statistics) < sample + 3_000
    assert sum(size > limit for size in counting.statistics) == 2 * dataset.n_partitions  # samples of two fits


def test_answers_come_from_where_rows_are_read(dataset):
    model, counting = LinearDiscriminantAnalysis().fit(dataset), Counting()
    for answer in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        found, expected = (getattr(model, answer)(rows) for rows in (dataset.on(counting), dataset))
        assert np.array_equal(found, expected)
    assert max(counting.tasks) < 3_000
    assert len(counting.statistics) == 4 * dataset.n_partitions


def test_the_scheduler_embedded_in_dask_gives_the_bits_of_threads(dataset, expected):
    assert_same_bits(dataset.on("dask"), expected)


@pytest.mark.parametrize("workers", [1, 4])
def test_dask_gives_the_bits_of_threads_however_many_work(workers, dataset, expected):
    import distributed  # slow to load

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert_same_bits(dataset.on(client), expected)


def test_processes_of_dask_give_the_bits_of_threads(dataset, expected, client):
    by_address = dataset.on(client.scheduler.address)
    assert_same_bits(by_address, expected)
    by_address.executor.client.close()
    model = LinearDiscriminantAnalysis().fit(dataset)
    mine, theirs = (evaluate(model, rows) for rows in (dataset.on(client), dataset))
    assert mine["log_loss"].value == theirs["log_loss"].value


def test_executors_of_spark_give_the_bits_of_threads(dataset, expected, session):
    assert all(map(np.array_equal, found(MODELS[1], dataset.on(session)), expected[1]))


def killing(executor, flag, victim):
    """The executor, one of whose workers dies with the first task that comes after the survey."""

    class Killing:
        calls = 0

        def in_order(self, task, parts, n_jobs=None):
            self.calls += 1
            last = self.calls == 3

            def deadly(part):
                if last and not os.path.exists(flag):
                    with open(flag, "w"):
                        os.kill(victim(), signal.SIGKILL)
                return task(part)

            return executor.in_order(deadly, parts)

    return Killing()


def test_a_worker_of_dask_that_dies_leaves_no_trace(dataset, expected, client, tmp_path):
    mortal = killing(Dask(client), str(tmp_path / "killed"), os.getpid)
    assert all(map(np.array_equal, found(MODELS[2], dataset.on(mortal)), expected[2]))
    assert (tmp_path / "killed").exists()


def test_an_executor_of_spark_that_dies_leaves_no_trace(dataset, expected, session, tmp_path):
    def virtual_machine():
        """That of the Python process: its daemon's parent."""
        with open(f"/proc/{os.getppid()}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])

    mortal = killing(Spark(session), str(tmp_path / "killed"), virtual_machine)
    assert all(map(np.array_equal, found(MODELS[2], dataset.on(mortal)), expected[2]))
    assert (tmp_path / "killed").exists()


def test_an_error_in_a_worker_is_told_as_ours(client, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": ["a", None, "b"]}), tmp_path / "gaps.parquet")
    with pytest.raises(InputError, match=r"'y' .* row 1 .*gaps.parquet"):
        LinearDiscriminantAnalysis().fit(open_dataset(tmp_path / "gaps.parquet", target="y", executor=client))


def test_what_is_no_executor_is_refused(dataset):
    assert isinstance(dataset.on("threads").executor, Threads)
    with pytest.raises(ParameterError, match="'cluster'"):
        dataset.on("cluster")


@pytest.mark.parametrize(("where", "extra"), [("tcp://127.0.0.1:1", "dask"), ("spark://127.0.0.1:1", "spark")])
def test_an_extra_that_is_missing_is_named(where, extra, dataset, monkeypatch):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    listed = [(*text.split(">="), name) for name, own in project["optional-dependencies"].items() for text in own]
    monkeypatch.setattr(dependencies, "requirements", lambda: [dependencies.Requirement(*one) for one in listed])
    dependencies._requirement_of.cache_clear()
    for name in ("distributed", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DependencyError, match=rf"discriminant\[{extra}\]"):
        dataset.on(where)
    dependencies._requirement_of.cache_clear()
