"""A progress bar on stderr for work that takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Without being asked, a bar appears after this many seconds, and only on a terminal.
_PATIENCE = 1.0


@contextmanager
def progress_bar(title: str, total: int, wanted: bool | None) -> Iterator[Callable[[], None]]:
    """Call what this gives after each of ``total`` steps; any thread may.

    ``wanted``: True a bar from the start, False none, None one on a terminal if it takes longer than a second.
    """
    bar = _Bar(title, total, wanted)
    try:
        bar.show_if_due()
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    def __init__(self, title: str, total: int, wanted: bool | None) -> None:
        self.title, self.total, self.done, self.stays = title, total, 0, bool(wanted)
        self.possible = wanted or (wanted is None and sys.stderr is not None and sys.stderr.isatty())
        self.due = time.monotonic() + (0.0 if wanted else _PATIENCE)
        self.shown: Any = None
        self.lock = threading.Lock()

    def advance(self) -> None:
        with self.lock:
            self.done += 1
            self.show_if_due()
            if self.shown is not None:
                self.shown.update(self.task, completed=self.done)

    def show_if_due(self) -> None:
        if self.possible and self.shown is None and time.monotonic() >= self.due:
            from rich.console import Console
            from rich.progress import Progress

            self.shown = Progress(console=Console(file=sys.stderr), transient=not self.stays)
            self.task = self.shown.add_task(self.title, total=self.total, completed=self.done)
            self.shown.start()

    def close(self) -> None:
        if self.shown is not None:
            self.shown.stop()
