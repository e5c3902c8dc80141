"""Messages of a command on standard error, warnings, and how errors become messages and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

import typer

from ..dependencies import dependency_error
from ..errors import DiscriminantError, Message, Model, Setting
from ..results import Finding, finding_lines, several, visible
from .signals import Ended, signal_exit_code, signal_received

INVALID_INPUT, INTERNAL_ERROR = 1, 3
# With the lines of findings (`results.MAX_NOTES`) a command writes at most ten lines of notes and warnings.
MAX_WARNINGS: Final = 3

#: Parameters of the package whose option has another name.
_RENAMED: Final = {
    "cv": "folds",
    "names": "name",
    "colours": "colour",
    "formulas": "csv_formulas",
    "n_parameters": "parameters",
    "shares": "share",
    "classes_order": "ordered",
}
#: Options of other commands that a message may name.
_OPTIONS_ELSEWHERE: Final = frozenset({"groups", "time"})
#: Parameters without an option, and what to use instead.
_INSTEAD: Final = {"quote": "another --delimiter", "columns": "the refit (--no-refit)"}


@dataclass
class Run:
    """A running command: its options, and its warnings by the line of code that raised them."""

    options: frozenset[str] = frozenset()
    debug: bool = False
    warned: dict[Any, list[Warning]] = field(default_factory=dict)

    def spelled(self, part: Setting | Model) -> str:
        """A setting or model in a message, as an option of this command or a parameter for ``--set``."""
        if isinstance(part, Model):
            from ..estimators.registry import short_name

            return short_name(part.name)
        if part.parameter in _INSTEAD:
            return _INSTEAD[part.parameter]
        name = _RENAMED.get(part.parameter, part.parameter)
        option = name.replace("_", "-")
        if name not in self.options and name not in _OPTIONS_ELSEWHERE:
            return f"--set {part.parameter}" + (f"={_text(part.value)}" if part.has_value else "")
        if not part.has_value:
            return f"--{option}"
        if isinstance(part.value, bool):
            return f"--{option}" if part.value else f"--no-{option}"
        return " ".join(f"--{option} {shlex.quote(value)}" for value in _values(part.value))

    def rendered(self, message: Message | BaseException | str) -> str:
        """A message with its settings and models spelled as options."""
        return message.render(self.spelled) if isinstance(message, Message) else str(message)

    def collect(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        *_: TextIO | str | None,
        **__: TextIO | str | None,
    ) -> None:
        """Keep a warning, grouped with others from the same line of code."""
        warning = message if isinstance(message, Warning) else category(message)
        self.warned.setdefault(getattr(warning, "origin", (category, filename, lineno)), []).append(warning)

    def print_warnings(self) -> None:
        """Print the first warning of each line of code, and the number of the others."""
        kinds = list(self.warned.values())
        n_shown = len(kinds) if len(kinds) <= MAX_WARNINGS else MAX_WARNINGS - 1
        for first, *others in kinds[:n_shown]:
            more = f" (and {len(others)} more like this)" if others else ""
            print_message(f"Warning: {self.rendered(getattr(first, 'message', first))}{more}")
        if kinds[n_shown:]:
            print_message(f"And {several(sum(map(len, kinds[n_shown:])), 'warning')} of other kinds.")
        self.warned.clear()


#: The running commands, each started by the previous one.
_RUNNING: list[Run] = [Run()]


def rendered(message: Message | BaseException | str) -> str:
    """A message with settings and models spelled as options of the running command."""
    return _RUNNING[-1].rendered(message)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _values(value: Any) -> list[str]:
    """The values of an option that is repeated for each of several values."""
    if isinstance(value, dict):
        return [f"{name}={one}" for name, one in value.items()]
    return [_text(one) for one in value] if isinstance(value, (list, tuple)) else [_text(value)]


def visible_lines(text: str) -> str:
    """Lines of text with control characters escaped."""
    return "\n".join(map(visible, text.split("\n")))


def print_message(message: str) -> None:
    """Write a message to standard error."""
    typer.echo(visible_lines(message), err=True)


def print_findings(findings: Iterable[Finding], quiet: bool = False) -> None:
    """Write findings to standard error, grouped by kind if there are many."""
    found = [] if quiet else list(findings)
    lines = finding_lines(found, rendered)
    grouped = " (--json lists all.)" if len(lines) < len({rendered(finding.message) for finding in found}) else ""
    for number, (severity, text) in enumerate(lines, start=1):
        print_message(f"{severity.capitalize()}: {text}{grouped if number == len(lines) else ''}")


def command_line() -> str:
    """The command as the user wrote it."""
    return shlex.join(["discriminant", *sys.argv[1:]])


@contextmanager
def running(debug: bool, options: frozenset[str] = frozenset()) -> Iterator[None]:
    """Run a command: warnings and errors become messages on standard error, errors also an exit code."""
    run = Run(options, debug or _RUNNING[-1].debug)
    _RUNNING.append(run)
    try:
        with warnings.catch_warnings():
            # Other libraries' deprecation warnings and the like are for programmers.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = run.collect
            yield
        run.print_warnings()
    except (typer.Exit, typer.Abort, typer.BadParameter):
        run.print_warnings()
        raise
    except (KeyboardInterrupt, Ended):
        raise _interrupted() from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(0) from None
    except Exception as error:
        if signal_received():  # errors of a library that was interrupted are of no use
            raise _interrupted() from None
        run.print_warnings()
        if run.debug:
            print_message(traceback.format_exc())
        raise typer.Exit(_print_error(error, run)) from None
    finally:
        _RUNNING.pop()


def _interrupted() -> typer.Exit:
    with suppress(OSError):  # the terminal may be closed
        print_message("Interrupted. No partial output file was left.")
    return typer.Exit(signal_exit_code())


def _print_error(error: Exception, run: Run) -> int:
    """Write the message of an error and return its exit code."""
    if not isinstance(error, (DiscriminantError, OSError, MemoryError)):
        error = dependency_error(error) or error
    if isinstance(error, DiscriminantError):
        print_message("Error: " + " ".join([run.rendered(error), *getattr(error, "__notes__", ())]))
    elif isinstance(error, MemoryError):
        print_message("Error: Not enough memory for this table. Use fewer columns or rows, or --memory to stream it.")
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        print_message(f"Error: {where}{error.strerror or error}.")
    else:
        print_message(
            f"Error: Internal error, {type(error).__name__}: {error}. Run the command with --debug and report it with "
            "the traceback."
        )
        return INTERNAL_ERROR
    return INVALID_INPUT


def _discard_output() -> None:
    """Discard the buffer of standard output, whose reader has closed the pipe."""
    with suppress(OSError, ValueError):  # not a real stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
