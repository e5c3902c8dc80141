"""Executors, which run a task over the partitions of a dataset: threads of this process, Dask or Spark.

An executor takes a small task and a list of partitions, and yields the result of each, in order: statistics, never
rows. Tasks are pure functions of their partition, so that a failed worker costs time and nothing else: other workers
read its partitions again, with bit-identical results.

Dask runs on a cluster (a client, or the address of its scheduler) or on its embedded scheduler; Spark in a session, or
in one that is started on the given master. Both are imported when they are needed.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from ..dependencies import optional_module
from ..engine import Executor, Threads, one_blas_thread, progress_bar
from ..errors import DiscriminantError, ParameterError, Setting
from .fragments import Partition

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client
    from pyspark.sql import SparkSession

#: What an executor can be given as.
ExecutorLike: TypeAlias = "Executor | Client | SparkSession | str"
P = TypeVar("P")
R = TypeVar("R")

#: Spark tasks per core of an application, so that none waits long for the last.
TASKS_PER_CORE: Final = 3
#: Results that Dask's embedded scheduler holds at a time.
MAX_HELD_RESULTS: Final = 64
_DASK, _SPARK = ("tcp://", "tls://", "ucx://", "ws://", "inproc://"), ("spark://", "local", "yarn", "k8s://")


@dataclass(frozen=True)
class RemoteTask(Generic[P, R]):
    """A task for a worker of a cluster: BLAS has one thread there, too, and our errors are returned as results.

    Spark would otherwise report an error as text among its own.
    """

    task: Callable[[P], R]

    def __call__(self, part: P) -> R | DiscriminantError:
        try:
            with one_blas_thread():
                return self.task(part)
        except DiscriminantError as error:
            return error

    def over(self, parts: Iterable[P]) -> Iterator[R | DiscriminantError]:
        """The results of several parts."""
        return map(self, parts)


def raised(found: R | DiscriminantError) -> R:
    """The result of a `RemoteTask`; an error is raised."""
    if isinstance(found, DiscriminantError):
        raise found
    return found


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster; without a client Dask's embedded scheduler, with threads of this process."""

    client: Client | None = None

    def in_order(self, task: Callable[[P], R], parts: Sequence[P], n_jobs: int | None = None) -> Iterator[R]:  # noqa: ARG002
        """The results of all parts, in their order."""
        run = optional_module("dask", "Dask clusters").delayed(RemoteTask(task), pure=False, traverse=False)
        return map(raised, results_in_order([run(part) for part in parts], self.client, "threads"))


def results_in_order(tasks: list[Delayed], client: Client | None, scheduler: str | None = None) -> Iterator[Any]:
    """The results of delayed tasks in order, from a client's cluster or a scheduler, by default Dask's choice."""
    if client is not None:
        waiting = client.compute(tasks)[::-1]
        while waiting:
            yield waiting.pop().result()
        return
    dask = optional_module("dask", "Dask clusters")
    for start in range(0, len(tasks), MAX_HELD_RESULTS):
        yield from dask.compute(*tasks[start : start + MAX_HELD_RESULTS], scheduler=scheduler)


@dataclass(frozen=True)
class Spark:
    """Executors of a Spark application."""

    session: SparkSession

    def in_order(self, task: Callable[[P], R], parts: Sequence[P], n_jobs: int | None = None) -> Iterator[R]:  # noqa: ARG002
        """The results of all parts, in their order."""
        context = self.session.sparkContext
        # A Spark task costs about as much as reading 10,000 rows: each has several parts.
        n_slices = min(len(parts), TASKS_PER_CORE * context.defaultParallelism)
        return map(raised, context.parallelize(list(parts), n_slices).mapPartitions(RemoteTask(task).over).collect())


@dataclass(frozen=True)
class Watched:
    """An executor that shows progress on standard error, if that is a terminal; ``numbers`` are those of its passes."""

    executor: Executor
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def in_order(
        self, task: Callable[[Partition], R], parts: Sequence[Partition], n_jobs: int | None = None
    ) -> Iterator[R]:
        """The results of all parts, in their order."""
        rows = [sum(fragment.n_rows for fragment in part) for part in parts]
        with progress_bar(f"pass {next(self.numbers)}", sum(rows), None, "rows") as advance:
            for place, result in enumerate(self.executor.in_order(task, parts, n_jobs)):
                yield result
                advance(rows[place] if place < len(rows) else 0)


def executor_of(where: ExecutorLike) -> Executor:
    """The executor for a client, a session, an address or a name."""
    if hasattr(where, "in_order"):
        return where
    package = type(where).__module__.partition(".")[0]
    if package == "distributed":
        return Dask(where)  # type: ignore[arg-type]
    if package == "pyspark":
        return Spark(where)  # type: ignore[arg-type]
    if where == "threads":
        return Threads()
    if where == "dask":
        return Dask()
    if isinstance(where, str) and where.startswith(_DASK):
        # Other collections of this process keep their client.
        return Dask(optional_module("distributed", "Dask clusters").Client(where, set_as_default=False))
    if isinstance(where, str) and where.startswith(_SPARK):
        return Spark(_spark_session(where))
    raise ParameterError(
        Setting("executor"), " must be 'threads', 'dask', a Dask client or the address of its scheduler (tcp://...), a "
        f"Spark session or the address of its master (spark://...), got {where!r}.",
    )  # fmt: skip


def _spark_session(master: str) -> SparkSession:
    """The session of this process, or a new one that is stopped at its exit."""
    spark = optional_module("pyspark.sql", "Spark clusters").SparkSession
    if (running := spark.getActiveSession()) is not None:
        return running
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the default is any python3
    builder = spark.builder.master(master).appName("discriminant").config("spark.ui.showConsoleProgress", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(session.stop)  # executors without a driver print errors on the terminal
    return session
