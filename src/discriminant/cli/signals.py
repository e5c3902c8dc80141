"""Signals that end a command: SIGINT, SIGTERM and SIGHUP clean up first and set the exit code.

A signal raises an exception in the main thread, as an interruption does in any Python program. A library call in the
main thread can delay this; a second thread sees the signal at once and ends the process after a grace period.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..files import abandon, is_moving

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS: Final = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Seconds a command has to end by itself: long enough to remove temporary files, short for somebody who waits.
GRACE_SECONDS: Final = 3.0


class Ended(BaseException):
    """A signal requested the end of the command."""


# The signals received; only the first one is acted upon.
_received: list[int] = []


def signal_received() -> bool:
    """Whether a signal ends the command."""
    return bool(_received)


def signal_exit_code() -> int:
    """The exit code of a command that was interrupted: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def exit_after_signal() -> None:
    """End the process if a signal was received; threads that run library code would break the interpreter's exit."""
    if _received:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the terminal may be closed
                stream.flush()
        os._exit(signal_exit_code())


def handle_signals() -> None:
    """Clean up before ending on a signal; signals that are ignored (``nohup``) stay ignored."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    sys.unraisablehook = _show_unraisable
    threading.Thread(target=_end_after_grace, args=(read_end,), daemon=True).start()


def ignore_signals() -> None:
    """Ignore further signals: nothing is left to interrupt."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int, _: FrameType | None) -> None:
    ignore_signals()  # cleaning up is not interrupted
    if not is_moving():
        _received.append(number)
        raise Ended


def _show_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Show errors that nobody can catch, except `Ended` in a finaliser: the second thread then ends the process."""
    if not isinstance(unraisable.exc_value, Ended):
        sys.__unraisablehook__(unraisable)


def _end_after_grace(read_end: int) -> None:
    number = os.read(read_end, 1)[0]
    while number not in _SIGNALS:
        number = os.read(read_end, 1)[0]
    time.sleep(GRACE_SECONDS)
    abandon()
    os._exit(128 + number)
