"""What every command does around its work: plain messages, warnings told once, exit codes."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import typer

REFUSED, OWN_ERROR, INTERRUPTED = 1, 3, 130

#: What the package advises in Python, as it is written on the command line.
_ADVICE = {
    "Calibrate it: DecisionClassifier(model, calibration='sigmoid'), or sklearn.calibration.CalibratedClassifierCV": (
        "Take a model with probabilities, such as lda or logistic"
    ),
    "on_ragged='skip'": "--ragged skip",
    "absent='missing'": "--absent missing",
    "missing='indicator'": "--missing indicator",
    "header=False": "--no-header",
    "quote=''": "another --delimiter",
    "firth=True": "--set firth=true",
    "average=True": "--set average=true",
    "shrinkage='oas'": "--set shrinkage=oas",
    "calibration='sigmoid'": "--set calibration=sigmoid",
    "Raise max_levels": "Raise --max-levels",
    ", or set stratify=False": "",
    "(drop=[...], on the command line --drop)": "(--drop)",
    "or LinearDiscriminantAnalysis": "or lda",
    "use LinearDiscriminantAnalysis": "use lda",
    "Name the target,": "Name the target with --target,",
    "with types=": "with --types",
    "with drop=": "with --drop",
}
#: Parameters that are options under another name, or their own, where a message begins with them.
_PARAMETER = re.compile(r"^(rare|max_levels|missing|on_ragged|absent|delimiter|encoding|decimal|drop) must be")
_OPTION = {"on_ragged": "ragged", "max_levels": "max-levels"}
_COLUMN = re.compile(r"\b([Cc])olumn (\d+)\b")
_NUMBER = re.compile(r"\d[\d.,e+-]*")


@dataclass
class Run:
    """One command on its way; ``names`` are the coded columns, which models know by their numbers."""

    names: Sequence[str] = ()
    warned: list[str] = field(default_factory=list)

    def named(self, message: str) -> str:
        """The message with columns called by name and advice as options."""

        def name(found: re.Match[str]) -> str:
            j = int(found[2])
            return f"{found[1]}olumn {self.names[j]!r}" if j < len(self.names) else found[0]

        return _COLUMN.sub(name, in_options(message))

    def tell_warnings(self) -> None:
        """Warnings that differ in numbers only are told once."""
        alike: dict[str, list[str]] = {}
        for message in self.warned:
            alike.setdefault(_NUMBER.sub("#", message), []).append(message)
        for messages in alike.values():
            more = f" (and {len(messages) - 1} more like this)" if len(messages) > 1 else ""
            say(f"Warning: {self.named(messages[0])}{more}")
        self.warned.clear()


def in_options(message: str) -> str:
    """The message with advice as it is written on the command line."""
    for advice, option in _ADVICE.items():
        message = message.replace(advice, option)
    return _PARAMETER.sub(lambda found: f"--{_OPTION.get(found[1], found[1])} must be", message)


def say(message: str) -> None:
    """A paragraph on standard error."""
    typer.echo(message, err=True)


def command_line() -> str:
    """The command as it was written, for those who want to repeat it."""
    return shlex.join(["discriminant", *sys.argv[1:]])


@contextmanager
def running(debug: bool) -> Iterator[Run]:
    """Whatever goes wrong inside becomes a paragraph on standard error and an exit code."""
    run = Run()
    try:
        with _kept_warnings(run.warned):
            yield run
        run.tell_warnings()
    except (typer.Exit, typer.Abort, typer.BadParameter):
        run.tell_warnings()
        raise
    except KeyboardInterrupt:
        say("Interrupted. Files are as they were before.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _give_up_output()
        raise typer.Exit(0) from None
    except Exception as error:
        run.tell_warnings()
        if debug:
            traceback.print_exc()
        raise typer.Exit(_told(error, run)) from None


@contextmanager
def _kept_warnings(kept: list[str]) -> Iterator[None]:
    """Collect what the package and scikit-learn warn of; other libraries' advice to programmers is not for users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: kept.append(str(message))
        yield


def _told(error: Exception, run: Run) -> int:
    """Say what went wrong; gives the exit code."""
    from ..errors import DiscriminantError

    if isinstance(error, DiscriminantError):
        notes = " ".join(getattr(error, "__notes__", ()))
        say(f"Error: {run.named(_first_line_break_removed(str(error)))}" + (f" {notes}" if notes else ""))
        return REFUSED
    if isinstance(error, (OSError, MemoryError)):
        say(f"Error: {_reason(error)}.")
        return REFUSED
    say(
        f"Error: discriminant failed with {type(error).__name__}: {error}. This should not happen; --debug shows where "
        "it comes from. Please report it with the command."
    )
    return OWN_ERROR


def _first_line_break_removed(message: str) -> str:
    return " ".join(message.split("\n"))


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
