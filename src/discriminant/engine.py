"""Reductions over row blocks on threads, with bit-identical results on any number of threads.

Rows are divided into partitions by their shape only. A worker reduces whole partitions, and their statistics are
merged in order, so the result does not depend on the number of workers or on their assignment.

BLAS uses one thread in all computations, because the order of its sums depends on the number of threads. OpenBLAS and
MKL have one thread count for the process, and several callers may hold it at the same time: each lowers it, the last
one restores it. OpenBLAS on OpenMP has a count for each calling thread.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar

import numpy as np
from threadpoolctl import LibController, ThreadpoolController

from .errors import ParameterError, Setting

if TYPE_CHECKING:
    from .data import Block, Rows

# Many small tasks are grouped into about this many.
MAX_TASK_GROUPS: Final = 64
# By default a progress bar appears after this many seconds, on a terminal.
PROGRESS_DELAY: Final = 1.0


class Statistic(Protocol):
    """A small summary of rows that is updated with blocks and merged with others of its kind."""

    def fresh(self) -> Self:
        """An empty statistic of the same kind."""

    def update(self, block: Block) -> None:
        """Add the rows of a block."""

    def merge(self, other: Self) -> None:
        """Add the rows of another one."""


T = TypeVar("T")
R = TypeVar("R")


class Executor(Protocol):
    """Runs a task over parts of the rows: on threads, or in other processes, to which the task is sent."""

    def in_order(self, task: Callable[[Any], R], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[R]:
        """The results of all parts in their order, computed in parallel."""


S = TypeVar("S", bound=Statistic)
#: How progress is reported: see `progress_bar`.
ProgressOption = bool | Callable[[int, int], None] | None


def merged_in_order(statistics: Iterator[S]) -> S:
    """The first statistic, with all others added to it."""
    total = next(statistics)
    with quiet_numbers():
        for other in statistics:
            total.merge(other)
    return total


@dataclass(frozen=True)
class Reduction(Generic[S]):
    """The function from a partition to its statistic; ``blocks`` reads the blocks of a partition."""

    blocks: Callable[[Any], Iterator[Block]]
    statistic: S

    def __call__(self, partition: Any) -> S:
        partial = self.statistic.fresh()
        with quiet_numbers():
            for block in self.blocks(partition):
                partial.update(block)
        return partial


@dataclass(frozen=True)
class OverBlocks:
    """The function from a partition to the results of a function of its blocks; ``blocks`` reads them."""

    blocks: Callable[[Any], Iterator[tuple[Any, slice]]]
    function: Callable[[Any, slice], Any]

    def __call__(self, partition: Any) -> list[Any]:
        with quiet_numbers():
            return [self.function(block, where) for block, where in self.blocks(partition)]


def map_rows(rows: Rows, write: Callable[[Any, slice], None], n_jobs: int | None = None) -> None:
    """Call ``write(block, where)`` for every block of rows; each call owns its own slice of the result."""
    for _ in in_order(OverBlocks(rows.blocks, write), rows.partitions, n_jobs):
        pass


def quiet_numbers() -> Any:
    """A context without NumPy warnings of overflow and NaN, which callers check in results; for the present thread."""
    return np.errstate(over="ignore", invalid="ignore", under="ignore")


def parallel_map(function: Callable[[T], R], tasks: list[T], n_jobs: int | None = None) -> list[R]:
    """The results of independent tasks on threads; tasks should use one thread each."""
    size = max(1, len(tasks) // MAX_TASK_GROUPS)
    groups = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    results = in_order(lambda group: [function(task) for task in group], groups, n_jobs)
    return [result for group in results for result in group]


def worker_count(n_jobs: int | None) -> int:
    """The number of threads: for None that of BLAS, for -1 all cores, for -2 all but one, and so on."""
    if n_jobs is None:
        return blas_threads()
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        problem = " must be None, a positive integer or a negative one (-1: all cores)"
        raise ParameterError(Setting("n_jobs"), f"{problem}, got {n_jobs!r}.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def in_order(function: Callable[[T], R], tasks: list[T], n_jobs: int | None) -> Generator[R]:
    """The results of all tasks in their order, computed in parallel if there are several."""
    workers = worker_count(n_jobs) if n_jobs is not None or len(tasks) > 1 else 1
    # A worker that needs results itself computes them alone: if all workers waited, none would proceed.
    alone = len(tasks) == 1 or workers == 1 or getattr(_in_worker, "value", False)
    with one_blas_thread():
        yield from map(function, tasks) if alone else _pooled(function, tasks, workers)


class Threads:
    """The executor of the threads of this process."""

    def in_order(self, task: Callable[[T], R], parts: Sequence[T], n_jobs: int | None = None) -> Iterator[R]:
        """The results of all parts in their order, computed in parallel."""
        return in_order(task, list(parts), n_jobs)


def _pooled(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """Like `map` on threads, but at most a few results ahead of the one awaited, to bound memory.

    No task is running when it ends, even by an exception: files of tasks may be closed then.
    """
    pool = _pool(workers)
    pending: deque[Future[R]] = deque()

    def awaited() -> R:
        result = pending[0].result()
        pending.popleft()  # not before: a signal may end the wait
        return result

    try:
        for task in tasks:
            pending.append(pool.submit(function, task))
            if len(pending) > workers + 1:
                yield awaited()
        while pending:
            yield awaited()
    finally:
        for future in pending:
            future.cancel()
        wait(pending)


_in_worker = threading.local()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """A thread pool that is reused: starting one costs as much as a pass over a few thousand rows."""
    return ThreadPoolExecutor(workers, thread_name_prefix="discriminant", initializer=_begin_worker)


def _begin_worker() -> None:
    _in_worker.value = True
    _hold_of_thread.take()  # for good


class _Hold:
    """A counted lock of BLAS libraries to one thread, with the thread counts to restore."""

    def __init__(self, shared: bool) -> None:
        self.shared, self.holders, self.before = shared, 0, dict[str, int]()

    def libraries(self) -> list[Any]:
        """The libraries whose thread count is shared by all callers, or is each caller's own."""
        found = _blas_libraries("scipy.linalg" in sys.modules)
        return [library for library in found if (library.threading_layer != "openmp") == self.shared]

    def take(self) -> None:
        """Lower the counts, also those that other code has raised since they were lowered."""
        for library in self.libraries():
            count = library.get_num_threads()
            if count != 1:
                self.before[library.filepath] = count
                _set_threads(library, 1)
        self.holders += 1

    def give_back(self) -> None:
        """Restore the counts, unless there are other holders; counts that other code has set since are kept."""
        self.holders -= 1
        if self.holders == 0:
            for library in self.libraries():
                if library.filepath in self.before and library.get_num_threads() == 1:
                    _set_threads(library, self.before[library.filepath])
            self.before.clear()

    def configured(self) -> int:
        """The largest thread count without holders; 1 without a library."""
        counts = (self.before.get(library.filepath, library.get_num_threads()) for library in self.libraries())
        return max(counts, default=1)


class _HoldOfThread(threading.local, _Hold):
    pass


_lock = threading.Lock()
_hold_of_all, _hold_of_thread = _Hold(shared=True), _HoldOfThread(shared=False)


@cache
def _blas_libraries(_with_scipy: bool) -> list[Any]:
    """The BLAS libraries of this process; SciPy's is loaded with its linear algebra."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: LibController, count: int) -> None:
    # In newer versions of threadpoolctl only one Python thread can set the count, until it gives up control; calls of
    # others are ignored silently.
    give_up = getattr(library, "clear_controlling_thread", lambda **_: None)
    give_up(force=True)
    library.set_num_threads(count)
    give_up(force=True)


def blas_threads() -> int:
    """The number of threads that BLAS would use without holders; 1 without BLAS."""
    with _lock:
        return max(_hold_of_all.configured(), _hold_of_thread.configured())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread."""
    with _lock:
        _hold_of_all.take()
        _hold_of_thread.take()
    try:
        yield
    finally:
        with _lock:
            _hold_of_all.give_back()
            _hold_of_thread.give_back()


def _begin_process() -> None:
    """Reset a forked process, which inherits the pool without its threads and the locks of other threads."""
    global _lock
    _pool.cache_clear()
    _lock = threading.Lock()
    if _hold_of_all.holders:
        _hold_of_all.holders = 1
        _hold_of_all.give_back()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_process)


_held_by_thread = threading.local()


def workspace(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A float64 array of this shape with arbitrary content, for the thread until its next call.

    It is reused: new memory pages for each block would cost more than the computation.
    """
    size = math.prod(shape)
    held = getattr(_held_by_thread, "array", None)
    if held is None or held.size < size:
        held = _held_by_thread.array = np.empty(size)
    return held[:size].reshape(shape)


@contextmanager
def progress_bar(title: str, total: int, wanted: ProgressOption, unit: str = "steps") -> Iterator[Callable[..., None]]:
    """A progress bar on stderr: call the function it yields after each of ``total`` steps, on any thread.

    ``wanted``: True for a bar from the start, False for none, None for one on a terminal after a second; or a function
    of the steps done and their number, whose exceptions end the work.
    """
    report = wanted if callable(wanted) else None
    possible = not report and (wanted or (wanted is None and sys.stderr is not None and sys.stderr.isatty()))
    start = time.monotonic()
    lock, done = threading.Lock(), 0
    bar: Any = None

    def advance(steps: int = 1) -> None:
        nonlocal done, bar
        with lock:
            done += steps
            if report is not None:
                report(done, total)
            seconds = time.monotonic() - start
            if possible and bar is None and (wanted or seconds >= PROGRESS_DELAY):
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

                counted = "{task.completed:,.0f} of {task.total:,.0f} {task.fields[unit]}"
                columns = TextColumn("{task.description}"), BarColumn(), TextColumn(counted), TimeRemainingColumn()
                bar = Progress(*columns, console=Console(file=sys.stderr), transient=not wanted)
                bar.add_task(title, total=total, unit=unit)
                bar.start()
            if bar is not None:
                speed = f"{unit}, {done / max(seconds, 1e-9):,.0f} {unit}/s"
                bar.update(bar.task_ids[0], completed=done, unit=speed)

    try:
        advance(0)
        yield advance
    finally:
        if bar is not None:
            bar.stop()
