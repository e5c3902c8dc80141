"""Signals that end a command: it cleans up behind itself, whatever it is doing when one comes.

The signal becomes an exception in the main thread, as an interruption does in any Python program. That takes as long
as the main thread is in a library's code or waits for its workers; a thread that does nothing else sees the signal at
once, and ends the process when it is still there a little later.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from ..files import abandon, is_moving

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
#: Seconds in which a command has to end by itself.
_GRACE = 3.0


class Ended(BaseException):
    """A signal asked for the end of the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


#: The signals that came; at most one is acted upon.
_came: list[int] = []


def signal_came() -> bool:
    """Whether a signal ends the command."""
    return bool(_came)


def exit_code() -> int:
    """The exit code of a command that was interrupted: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + (_came[0] if _came else signal.SIGINT)


def leave_at_once() -> None:
    """End the process after a signal: threads may still be in libraries, which would not survive the interpreter."""
    if _came:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the terminal may be gone
                stream.flush()
        os._exit(exit_code())


def end_on_signals() -> None:
    """From here on signals that end the process clean up first; those that are ignored (``nohup``) stay so."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    sys.unraisablehook = _told
    threading.Thread(target=_end_later, args=(reading,), daemon=True).start()


def ignore_signals() -> None:
    """From here on nothing is left to interrupt."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int, _: Any) -> None:
    ignore_signals()  # one is enough: cleaning up is not interrupted
    if not is_moving():
        _came.append(number)
        raise Ended(number)


def _told(unraisable: Any) -> None:
    """Tell of errors that nobody can catch; but where the end came, in a finaliser, the other thread sees to it."""
    if not isinstance(unraisable.exc_value, Ended):
        sys.__unraisablehook__(unraisable)


def _end_later(reading: int) -> None:
    number = os.read(reading, 1)[0]
    while number not in _ENDING:
        number = os.read(reading, 1)[0]
    time.sleep(_GRACE)
    abandon()
    os._exit(128 + number)
