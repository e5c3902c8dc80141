"""Who runs a task over the partitions of a dataset: threads of this process, Dask or Spark.

An executor is handed a small task and a list of partitions, and hands back what the task makes of each, in their order:
statistics, never rows. Tasks are pure functions of their partition, so that a worker that dies costs time and nothing
else: its partitions are read again by others, to the last bit alike.

Dask runs on a cluster (a client, or the address of its scheduler) or on the scheduler that is embedded in it; Spark in
a session, or one that is started on the master that is named. Both are loaded when they are asked for.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..dependencies import optional_module
from ..engine import Executor, Threads, one_blas_thread
from ..errors import DiscriminantError, ParameterError, Setting

#: Cores of a Spark application take so many turns at a pass, so that none waits long for the last.
_TURNS = 3
#: Results of so many tasks are held at a time by the scheduler that is embedded in Dask.
_AT_A_TIME = 64
_DASK, _SPARK = ("tcp://", "tls://", "ucx://", "ws://", "inproc://"), ("spark://", "local", "yarn", "k8s://")


@dataclass(frozen=True)
class _Alone:
    """A task as it runs in a worker of others: BLAS has one thread, as it has in ours."""

    task: Callable[[Any], Any]

    def __call__(self, part: Any) -> Any:
        with one_blas_thread():
            return self.task(part)


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster; without a client the scheduler embedded in Dask, on threads of this process."""

    client: Any = None

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:  # noqa: ARG002
        """The results of all parts, in their order."""
        dask = optional_module("dask", "Dask clusters")
        run = dask.delayed(_Alone(task), pure=False, traverse=False)
        return in_turn([run(part) for part in parts], self.client, "threads")


def in_turn(tasks: list[Any], client: Any, scheduler: str | None = None) -> Iterator[Any]:
    """The results of delayed tasks in their order, by a client's cluster or a scheduler, by default Dask's choice."""
    if client is not None:
        waiting = client.compute(tasks)[::-1]
        while waiting:
            yield waiting.pop().result()
        return
    dask = optional_module("dask", "Dask clusters")
    for start in range(0, len(tasks), _AT_A_TIME):
        yield from dask.compute(*tasks[start : start + _AT_A_TIME], scheduler=scheduler)


@dataclass(frozen=True)
class Telling:
    """A task whose errors come back as results: Spark would tell them as text among its own."""

    task: Callable[[Any], Any]

    def __call__(self, part: Any) -> Any:
        try:
            with one_blas_thread():
                return self.task(part)
        except DiscriminantError as error:
            return Told(error)


@dataclass(frozen=True)
class Each:
    """A task for each of several parts."""

    task: Callable[[Any], Any]

    def __call__(self, parts: Iterable[Any]) -> Iterator[Any]:
        return map(self.task, parts)


@dataclass(frozen=True)
class Told:
    """An error that a worker came upon."""

    error: DiscriminantError

    @staticmethod
    def unless(found: Any) -> Any:
        """What a `Telling` task has found; raises the error, if it was one."""
        if isinstance(found, Told):
            raise found.error
        return found


@dataclass(frozen=True)
class Spark:
    """Executors of a Spark application."""

    session: Any

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:  # noqa: ARG002
        """The results of all parts, in their order."""
        context = self.session.sparkContext
        # A task of Spark costs about as much as reading 10,000 rows: each has a run of parts.
        slices = min(len(parts), _TURNS * context.defaultParallelism)
        return map(Told.unless, context.parallelize(list(parts), slices).mapPartitions(Each(Telling(task))).collect())


def executor_of(where: Any) -> Executor:
    """The executor that a client, a session, an address or a name stands for."""
    if hasattr(where, "in_order"):
        return where
    home = type(where).__module__.partition(".")[0]
    if home == "distributed":
        return Dask(where)
    if home == "pyspark":
        return Spark(where)
    if where == "threads":
        return Threads()
    if where == "dask":
        return Dask()
    if isinstance(where, str) and where.startswith(_DASK):
        # Other collections of this process stay with the client that it has.
        return Dask(optional_module("distributed", "Dask clusters").Client(where, set_as_default=False))
    if isinstance(where, str) and where.startswith(_SPARK):
        return Spark(_spark_session(where))
    raise ParameterError(
        Setting("executor"), " must be 'threads', 'dask', a Dask client or the address of its scheduler (tcp://...), a "
        f"Spark session or the address of its master (spark://...), got {where!r}.",
    )  # fmt: skip


def _spark_session(master: str) -> Any:
    """The session of this process, or else one that ends with it."""
    spark = optional_module("pyspark.sql", "Spark clusters").SparkSession
    if (running := spark.getActiveSession()) is not None:
        return running
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else what is called python3
    builder = spark.builder.master(master).appName("discriminant").config("spark.ui.showConsoleProgress", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(session.stop)  # executors that are left alone fill the terminal with their complaints
    return session
