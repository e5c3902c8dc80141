"""What every command does around its work: messages, warnings told once, exit codes, signals, results, files.

A signal becomes an exception in the main thread, as an interruption does in any Python program. That takes as long as
the main thread is in a library's code or waits for its workers; a thread that does nothing else sees the signal at
once, and ends the process when it is still there a little later.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from ..dependencies import explained
from ..errors import DiscriminantError, Message, Model, ParameterError, Setting
from ..files import abandon, check_target, is_moving, whole_file
from ..results import Finding, jsonable, notes, several, visible

REFUSED, OWN_ERROR = 1, 3
#: Lines of warnings. With those of findings (`results.MOST_NOTES`) a command has at most ten lines of notes.
_MOST_WARNINGS = 3

#: Options that have another name than the parameter of the package they stand for.
_RENAMED = {"on_ragged": "ragged", "cv": "folds", "names": "name", "colours": "colour"}
#: Options that a message may advise although the running command does not take them: it names those that do.
_OF_OTHERS = frozenset({"groups", "time"})
#: Parameters that no command has an option for, and what to do instead.
_INSTEAD = {"quote": "another --delimiter"}
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


def signal_exit_code() -> int:
    """The exit code of a command that was interrupted: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + (_came[0] if _came else signal.SIGINT)


def leave_at_once() -> None:
    """End the process after a signal: threads may still be in libraries, which would not survive the interpreter."""
    if _came:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the terminal may be gone
                stream.flush()
        os._exit(signal_exit_code())


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


@dataclass
class Run:
    """A command on its way: what its options are, and the warnings so far by the line of code they came from."""

    options: frozenset[str] = frozenset()
    debug: bool = False
    warned: dict[Any, list[Warning]] = field(default_factory=dict)

    def spelled(self, part: Setting | Model) -> str:
        """A setting or model of a message as this command takes it: an option, or a parameter for ``fit --set``."""
        if isinstance(part, Model):
            from ..estimators.registry import short_name

            return short_name(part.name)
        if part.parameter in _INSTEAD:
            return _INSTEAD[part.parameter]
        name = _RENAMED.get(part.parameter, part.parameter)
        option = name.replace("_", "-")
        if name not in self.options and name not in _OF_OTHERS:
            return f"--set {part.parameter}" + (f"={_written(part.value)}" if part.has_value else "")
        if not part.has_value:
            return f"--{option}"
        if isinstance(part.value, bool):
            return f"--{option}" if part.value else f"--no-{option}"
        return " ".join(f"--{option} {shlex.quote(value)}" for value in _repeated(part.value))

    def told(self, message: Any) -> str:
        """An error, a warning or another message of the package as this command tells it."""
        return message.told(self.spelled) if isinstance(message, Message) else str(message)

    def warn(
        self, message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        """Keep a warning, with others from the same line of code; not one of a thread that is `unheard`."""
        if getattr(_thread, "unheard", False):
            return
        kept = message if isinstance(message, Warning) else category(message)
        self.warned.setdefault(getattr(kept, "origin", (category, filename, lineno)), []).append(kept)

    def tell_warnings(self) -> None:
        """Tell the first warning of some lines of code, and how many more there were."""
        kinds = list(self.warned.values())
        kept = len(kinds) if len(kinds) <= _MOST_WARNINGS else _MOST_WARNINGS - 1
        for first, *others in kinds[:kept]:
            more = f" (and {len(others)} more like this)" if others else ""
            say(f"Warning: {self.told(getattr(first, 'message', first))}{more}")
        if kinds[kept:]:
            say(f"And {several(sum(map(len, kinds[kept:])), 'warning')} of other kinds.")
        self.warned.clear()


#: Commands that are running, each started by the one before.
_RUNNING: list[Run] = [Run()]


def told(message: Any) -> str:
    """A message of the package, with settings and models as the running command takes them."""
    return _RUNNING[-1].told(message)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _repeated(value: Any) -> list[str]:
    """The values of an option, which is given once for each of several."""
    if isinstance(value, dict):
        return [f"{name}={own}" for name, own in value.items()]
    return list(map(_written, value)) if isinstance(value, (list, tuple)) else [_written(value)]


def say(message: str) -> None:
    """A paragraph on standard error."""
    typer.echo(visible_lines(message), err=True)


def tell_findings(findings: Iterable[Finding]) -> None:
    """What was found on standard error, many findings by their kinds."""
    known = list(findings)
    lines = notes(known, told)
    grouped = " (--json has all.)" if len(lines) < len({told(finding.message) for finding in known}) else ""
    for number, (severity, text) in enumerate(lines, start=1):
        say(f"{severity.capitalize()}: {text}{grouped if number == len(lines) else ''}")


def command_line() -> str:
    """The command as it was written, for those who want to repeat it."""
    return shlex.join(["discriminant", *sys.argv[1:]])


@contextmanager
def running(debug: bool, options: frozenset[str] = frozenset()) -> Iterator[None]:
    """Whatever goes wrong inside becomes a paragraph on standard error and an exit code."""
    run = Run(options, debug or _RUNNING[-1].debug)
    _RUNNING.append(run)
    try:
        with _kept_warnings(run):
            yield
        run.tell_warnings()
    except (typer.Exit, typer.Abort, typer.BadParameter):
        run.tell_warnings()
        raise
    except (KeyboardInterrupt, Ended):
        raise _interrupted() from None
    except BrokenPipeError:
        _give_up_output()
        raise typer.Exit(0) from None
    except Exception as error:
        if signal_came():  # what a library says that was cut off in the middle is of no use
            raise _interrupted() from None
        run.tell_warnings()
        if run.debug:
            say(traceback.format_exc())
        raise typer.Exit(_exit_code(error, run)) from None
    finally:
        _RUNNING.pop()


def _interrupted() -> typer.Exit:
    with suppress(OSError):  # the terminal may be gone
        say("Interrupted. No file was left half written.")
    return typer.Exit(signal_exit_code())


_thread = threading.local()


@contextmanager
def unheard() -> Iterator[None]:
    """Warnings of this thread are not told meanwhile: they are about no table of the user's."""
    _thread.unheard = True
    try:
        yield
    finally:
        _thread.unheard = False


@contextmanager
def _kept_warnings(run: Run) -> Iterator[None]:
    """Collect what the package and scikit-learn warn of; other libraries' advice to programmers is not for users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = run.warn
        yield


def _exit_code(error: Exception, run: Run) -> int:
    """Say what went wrong; gives the exit code."""
    if not isinstance(error, (DiscriminantError, OSError, MemoryError)):
        error = explained(error) or error
    if isinstance(error, DiscriminantError):
        say("Error: " + " ".join([run.told(error), *getattr(error, "__notes__", ())]))
        return REFUSED
    if isinstance(error, (OSError, MemoryError)):
        say(f"Error: {_reason(error)}.")
        return REFUSED
    say(
        f"Error: discriminant failed with {type(error).__name__}: {error}. This should not happen; --debug shows where "
        "it comes from. Please report it with the command."
    )
    return OWN_ERROR


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this table. Use fewer columns or rows"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _give_up_output() -> None:
    """Nobody reads standard output any more: what is left in its buffer goes nowhere, quietly."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a real stream
        return


#: Wide enough for any table where no terminal cuts lines.
_WIDE = 1000
#: Tables on a page show this many rows; JSON has all.
MOST_ROWS = 40

Page = list[Any]  #: paragraphs and rich tables


def show(values: dict[str, Any], page: Callable[[dict[str, Any]], Page], as_json: bool) -> None:
    """Write a result to standard output."""
    plain = jsonable(values)
    if as_json:
        text = json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False)
        put("\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n")) + "\n")
    else:
        put(_rendered(page(plain)))


def _escaped(line: str) -> str:
    """A line of JSON that says the same in printable letters."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1].replace("\x7f", "\\u007f") for one in line)


def put(text: str) -> None:
    """Write to standard output at once, so that a closed pipe shows here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def grid(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], names: int = 1) -> Any:
    """A table; the first columns hold names and stand to the left, numbers to the right."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for j, name in enumerate(head):
        table.add_column(Text(visible(name), style="dim"), justify="left" if j < names else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return Group(Text(visible(title), style="bold"), table)


def shortened(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], names: int = 1) -> Page:
    """The first rows of a table, and a word on the others."""
    left = len(rows) - MOST_ROWS
    more = [f"... and {left:,} more; --json has all."] if left > 0 else []
    return [grid(title, head, rows[:MOST_ROWS], names), *more]


def _rendered(page: Page) -> str:
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(
        file=io.StringIO(),
        width=None if terminal else _WIDE,
        force_terminal=terminal,
        markup=False,
        emoji=False,
        highlight=False,
    )
    for part in page:
        console.print(visible_lines(part) if isinstance(part, str) else part)
        console.print()
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.rstrip().splitlines()) + "\n"


def visible_lines(text: str) -> str:
    """Text of several lines as a terminal may show it."""
    return "\n".join(map(visible, text.split("\n")))


Write = Callable[[Any], None]  #: takes one pyarrow table after the other


def file_or_none(output: str | None) -> str | None:
    """The file that a command's rows or text go to; None for standard output, also where that was named."""
    return None if output in ("-", "/dev/stdout") else output


def check_output(path: str | None, overwrite: bool, *inputs: str | None) -> None:
    """Refuse a file that cannot be written, may not be replaced, or is one of those to be read, before any work."""
    if path == "-":
        raise ParameterError("- is standard output, where this file cannot go. Give the name of a file.")
    if path is None:
        return
    target = check_target(path, overwrite)
    for given in inputs:
        if given is not None and target.exists() and os.path.exists(given) and os.path.samefile(target, given):
            raise ParameterError(f"{path!r} is also to be read: it would be lost. Give the output another name.")


class _Shown(io.RawIOBase):
    """Standard output where it is a terminal: bytes of text, shown as what they cannot do to it."""

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        put(visible_lines(bytes(content).decode("utf-8", "replace")))
        return len(content)


@contextmanager
def table_writer(output: str | None, formulas: str) -> Iterator[Write]:
    """What writes tables one after the other: to standard output, or to a file that appears when it is whole.

    ``formulas`` says what is done in CSV about text that a spreadsheet would take for a formula.
    """
    from ..data import check_choice
    from ..tables.csv_injection import CHOICES, without_formulas

    check_choice("formulas", formulas, CHOICES)
    kinds, ending = _writers(), ".csv" if output is None else Path(output).suffix.lower()
    if ending not in kinds:
        raise ParameterError(f"The ending of {output!r} must say its format: {', '.join(kinds)}.")
    opened: list[Any] = []  # one writer, made for the form of the first table
    standard: Any = _Shown() if sys.stdout.isatty() else sys.stdout.buffer

    with nullcontext(standard) if output is None else whole_file(output) as sink:

        def write(part: Any) -> None:
            if ending == ".csv":
                part = without_formulas(part, formulas)
            if not opened:
                opened.append(kinds[ending](sink if output is None else str(sink), part.schema))
            opened[0].write_table(part)

        try:
            yield write
        finally:
            for writer in opened:
                writer.close()
    sys.stdout.flush()


def _writers() -> dict[str, Callable[[Any, Any], Any]]:
    """By the ending of a file what opens it for tables of a form."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    quoting = arrow_csv.WriteOptions(quoting_style="needed")
    arrow = pa.ipc.new_file
    return {
        ".csv": lambda sink, schema: arrow_csv.CSVWriter(sink, schema, write_options=quoting),
        ".parquet": _parquet_writer,
        ".pq": _parquet_writer,
        ".feather": arrow,
        ".arrow": arrow,
    }


def _parquet_writer(sink: Any, schema: Any) -> Any:
    from pyarrow.parquet import ParquetWriter  # slow to load

    return ParquetWriter(sink, schema)


def write_columns(columns: Any, output: str | None) -> None:
    """Write columns by name, or a frame, to a file, if one was given."""
    if output is None:
        return
    import pyarrow as pa

    named = {str(name): list(columns[name]) for name in columns}
    with table_writer(output, "refuse") as write:
        write(pa.table(named))
