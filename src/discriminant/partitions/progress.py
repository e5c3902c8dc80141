"""What is told of passes that take long, on a terminal: which pass, rows read, rows a second and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine import Executor

#: A bar appears when a pass has taken so many seconds.
_PATIENCE = 1.0


@dataclass
class Passes:
    """How many passes there were."""

    number: int = 0


@dataclass(frozen=True)
class Watched:
    """An executor whose passes are told on standard error, where that is a terminal."""

    executor: Executor
    passes: Passes = field(default_factory=Passes)

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:
        """The results of all parts, in their order."""
        self.passes.number += 1
        found = iter(self.executor.in_order(task, parts, n_jobs))
        rows = [sum(piece.n_rows for piece in part) for part in parts]
        if sys.stderr is None or not sys.stderr.isatty():
            return found
        return self._told(found, rows)

    def _told(self, found: Iterator[Any], rows: Sequence[int]) -> Iterator[Any]:
        began, done, bar = time.monotonic(), 0, None
        try:
            for place, result in enumerate(found):
                yield result
                done += rows[place] if place < len(rows) else 0
                spent = time.monotonic() - began
                if bar is None and spent > _PATIENCE:
                    bar = _bar(f"pass {self.passes.number}", sum(rows))
                if bar is not None:
                    bar.update(bar.task_ids[0], completed=done, speed=f"{done / spent:,.0f} rows/s")
        finally:
            if bar is not None:
                bar.stop()


def _bar(title: str, rows: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    counted, speed = TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"), TextColumn("{task.fields[speed]}")
    columns = (TextColumn("{task.description}"), BarColumn(), counted, speed, TimeRemainingColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
    bar.add_task(title, total=rows, speed="")
    bar.start()
    return bar
