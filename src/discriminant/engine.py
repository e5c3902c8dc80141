"""Reductions over row blocks on threads: the same answer, bit for bit, on any number of them.

Rows are cut into spans by their shape alone. A worker reduces whole spans, and the spans' statistics are merged in
order: which worker did which span, and how many there were, leaves no trace in the result.

BLAS is held to one thread in all that is computed: how it cuts its sums depends on how many threads it has. OpenBLAS
and MKL have one thread count for the whole process, and several callers may hold it at the same time: each lowers it,
the last one restores it. OpenBLAS on OpenMP has one for each calling thread.
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
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from .data import Block, LabelledRows, Rows
from .errors import ParameterError, Setting

#: Many small tasks are handed out in about so many runs.
_MOST_TURNS = 64
#: Without being asked, a progress bar appears after this many seconds, and only on a terminal.
_PATIENCE = 1.0


class Statistic(Protocol):
    """A small summary of rows that can be fed blocks and merged with others of its kind."""

    def fresh(self) -> Self:
        """An empty statistic of the same kind."""

    def update(self, block: Block) -> None:
        """Add the rows of a block."""

    def merge(self, other: Self) -> None:
        """Add what another one has seen."""


class Executor(Protocol):
    """Who runs a task over parts of the rows: threads, or other processes, which the task is sent to."""

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:
        """The results of all parts, in their order, computed side by side."""


S = TypeVar("S", bound=Statistic)
T = TypeVar("T")
R = TypeVar("R")
#: How work that takes long is told: see `progress_bar`.
ProgressOption = bool | Callable[[int, int], None] | None


def reduce(data: LabelledRows, statistic: S, n_jobs: int | None = None) -> S:
    """The statistic of all rows. ``statistic`` says what kind; it is not changed."""
    parts = (data.executor or Threads()).in_order(Reduction(data.blocks, statistic), data.spans, n_jobs)
    total = next(parts)
    with quiet_numbers():
        for part in parts:
            total.merge(part)
    return total


@dataclass(frozen=True)
class Reduction:
    """From a span to its statistic, by what reads its blocks."""

    blocks: Callable[[Any], Iterator[Block]]
    statistic: Any

    def __call__(self, span: Any) -> Any:
        partial = self.statistic.fresh()
        with quiet_numbers():
            for block in self.blocks(span):
                partial.update(block)
        return partial


def map_rows(rows: Rows, write: Callable[[Any, slice], None], n_jobs: int | None = None) -> None:
    """Call ``write(block, where)`` for every block of rows; each call owns its own slice of the result."""

    def over_span(span: Any) -> None:
        with quiet_numbers():
            for block, where in rows.blocks(span):
                write(block, where)

    for _ in in_order(over_span, rows.spans, n_jobs):
        pass


def quiet_numbers() -> Any:
    """No warnings of overflow and NaN: results show them, and callers look. The setting is each thread's own."""
    return np.errstate(over="ignore", invalid="ignore", under="ignore")


def side_by_side(function: Callable[[T], R], tasks: list[T], n_jobs: int | None = None) -> list[R]:
    """The results of independent tasks, on threads; what runs inside should use one thread of its own."""
    run = max(1, len(tasks) // _MOST_TURNS)
    runs = [tasks[start : start + run] for start in range(0, len(tasks), run)]
    return [result for part in in_order(lambda run: [function(task) for task in run], runs, n_jobs) for result in part]


def worker_count(n_jobs: int | None) -> int:
    """Threads to use: None as many as BLAS would, -1 all cores, -2 all but one, and so on."""
    if n_jobs is None:
        return blas_threads()
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        wanted = " must be None, a positive number or a negative one (-1 = all cores)"
        raise ParameterError(Setting("n_jobs"), f"{wanted}, got {n_jobs!r}.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def in_order(function: Callable[[T], R], tasks: list[T], n_jobs: int | None) -> Generator[R]:
    """The results of all tasks in their order, computed side by side where there is more than one."""
    workers = worker_count(n_jobs) if n_jobs is not None or len(tasks) > 1 else 1
    # A worker that needs results itself computes them alone: waiting for other workers, all might wait.
    alone = len(tasks) == 1 or workers == 1 or getattr(_in_worker, "value", False)
    with one_blas_thread():
        yield from map(function, tasks) if alone else _pooled(function, tasks, workers)


class Threads:
    """Threads of this process."""

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:
        """The results of all parts, in their order, computed side by side."""
        return in_order(task, list(parts), n_jobs)


def _pooled(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """Like `map` on threads, but never more than a few results ahead of the one awaited, to bound memory.

    However it ends, no task is under way after it: what tasks work with may be closed then.
    """
    pool = _pool(workers)
    under_way: deque[Future[R]] = deque()

    def awaited() -> R:
        result = under_way[0].result()
        under_way.popleft()  # not before: a signal may end the wait
        return result

    try:
        for task in tasks:
            under_way.append(pool.submit(function, task))
            if len(under_way) > workers + 1:
                yield awaited()
        while under_way:
            yield awaited()
    finally:
        for future in under_way:
            future.cancel()
        wait(under_way)


_in_worker = threading.local()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that stay for the next reduction: starting them costs as much as a pass over a few thousand rows."""
    return ThreadPoolExecutor(workers, thread_name_prefix="discriminant", initializer=_begin_worker)


def _begin_worker() -> None:
    _in_worker.value = True
    _hold_of_thread.take()  # for good


class _Hold:
    """Who holds BLAS libraries to one thread, and the numbers of threads that others have set for them."""

    def __init__(self, shared: bool) -> None:
        self.shared, self.holders, self.before = shared, 0, dict[str, int]()

    def libraries(self) -> list[Any]:
        """Those whose number of threads is shared by all callers, or each caller's own."""
        found = _blas_libraries("scipy.linalg" in sys.modules)
        return [library for library in found if (library.threading_layer != "openmp") == self.shared]

    def take(self) -> None:
        """Lower the numbers, also those that somebody else has raised since they were lowered."""
        for library in self.libraries():
            count = library.get_num_threads()
            if count != 1:
                self.before[library.filepath] = count
                _set_threads(library, 1)
        self.holders += 1

    def give_back(self) -> None:
        """Set the numbers back, unless there are other holders; what somebody else has set meanwhile stays."""
        self.holders -= 1
        if self.holders == 0:
            for library in self.libraries():
                if library.filepath in self.before and library.get_num_threads() == 1:
                    _set_threads(library, self.before[library.filepath])
            self.before.clear()

    def configured(self) -> int:
        """The largest number of threads while nobody holds it; 1 where there is no library."""
        counts = (self.before.get(library.filepath, library.get_num_threads()) for library in self.libraries())
        return max(counts, default=1)


class _HoldOfThread(threading.local, _Hold):
    pass


_lock = threading.Lock()
_hold_of_all, _hold_of_thread = _Hold(shared=True), _HoldOfThread(shared=False)


@cache
def _blas_libraries(_with_scipy: bool) -> list[Any]:
    """The BLAS libraries of this process; that of SciPy is loaded with its linear algebra."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, count: int) -> None:
    # Newer versions of threadpoolctl let only one Python thread set the number, until it gives that up; all others do
    # nothing, silently.
    give_up = getattr(library, "clear_controlling_thread", lambda **_: None)
    give_up(force=True)
    library.set_num_threads(count)
    give_up(force=True)


def blas_threads() -> int:
    """How many threads BLAS would use now if nobody held it; 1 where there is none to ask."""
    with _lock:
        return max(_hold_of_all.configured(), _hold_of_thread.configured())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread."""
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
    """A forked process inherits the pool but not its threads, and what other threads held."""
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
    """A float64 array of this shape with arbitrary content, the thread's own until its next call.

    Used again and again instead of asking the system for fresh pages for every block.
    """
    size = math.prod(shape)
    held = getattr(_held_by_thread, "array", None)
    if held is None or held.size < size:
        held = _held_by_thread.array = np.empty(size)
    return held[:size].reshape(shape)


@contextmanager
def progress_bar(title: str, total: int, wanted: ProgressOption) -> Iterator[Callable[[], None]]:
    """A bar on stderr for work that takes long: call what this gives after each of ``total`` steps; any thread may.

    ``wanted``: True a bar from the start, False none, None one on a terminal if it takes longer than a second; or a
    function that is told the steps done and their number. What that raises ends the work.
    """
    told = wanted if callable(wanted) else None
    possible = not told and (wanted or (wanted is None and sys.stderr is not None and sys.stderr.isatty()))
    due = time.monotonic() + (0.0 if wanted else _PATIENCE)
    lock, done = threading.Lock(), 0
    bar: Any = None

    def advance(steps: int = 1) -> None:
        nonlocal done, bar
        with lock:
            done += steps
            if told is not None:
                told(done, total)
            if possible and bar is None and time.monotonic() >= due:
                from rich.console import Console
                from rich.progress import Progress

                bar = Progress(console=Console(file=sys.stderr), transient=not wanted)
                bar.add_task(title, total=total)
                bar.start()
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)

    try:
        advance(0)
        yield advance
    finally:
        if bar is not None:
            bar.stop()
