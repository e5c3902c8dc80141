"""The command line: from a labelled table to a model, its comparison with others, and decisions on new rows.

A command parses its arguments, calls `workflow` and shows the result. Only typer is imported here, so that help is
fast; each command imports the rest.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__, kernels
from ..files import abandon
from .compare import compare
from .course import learning_curve, path, trace
from .dataset import dataset
from .demo import demo
from .describe import describe
from .effects import effects
from .evaluate import evaluate
from .explain import explain
from .export import export
from .figure import figure
from .fit import fit
from .generate import sample, transform
from .options import Command, application
from .predict import predict
from .raster import app as raster
from .recalibrate import import_model, recalibrate
from .sample_size import sample_size
from .signals import Ended, exit_after_signal, handle_signals, ignore_signals, signal_exit_code
from .studio import studio
from .theory import separability, theory
from .validate import diagnostics, validate

_EPILOG = """
Examples:
  discriminant describe data.csv --target y
  discriminant compare data.csv --target y --report report.html
  discriminant fit data.csv --target y --model lda -o model.dsc
  discriminant predict model.dsc new.csv -o predictions.csv

Results go to standard output, messages to standard error. Exit codes: 0 success, 1 invalid data, parameter or file,
2 usage error, 3 internal error, 130 interrupted, 143 terminated.
"""
_LEARN_EPILOG = """
Examples:
  discriminant learn trace data.csv -t y --model logistic
  discriminant learn separability data.csv -t y
  discriminant learn theory "norm(0, 1)" "norm(2, 1)"
"""
_SUMMARY = "Linear classification of labelled tables and images."

app = application("discriminant", _SUMMARY, _EPILOG)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discriminant {__version__} (kernels: {kernels.BUILD})")
        raise typer.Exit


@app.callback(help=_SUMMARY)
def _all_commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The options of the program itself."""


_COMMANDS = (
    describe, compare, fit, predict, evaluate, validate, recalibrate, explain, effects, diagnostics, sample_size,
    export, figure, dataset, demo, studio,
)  # fmt: skip
for command in _COMMANDS:
    app.command(cls=Command)(command)
app.command("import", cls=Command)(import_model)
learn = application("learn", "Commands for teaching: algorithms step by step, and theory.", _LEARN_EPILOG)
for command in (trace, path, learning_curve, separability, theory, sample, transform):
    learn.command(cls=Command)(command)
app.add_typer(raster, name="raster")
app.add_typer(learn, name="learn")


def main() -> None:
    """Run the command given by the arguments of this process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # characters that the terminal cannot show are replaced
            stream.reconfigure(errors="replace")
    handle_signals()
    try:
        app(prog_name="discriminant")
    except Ended:  # before the command began
        sys.exit(signal_exit_code())
    finally:
        ignore_signals()
        abandon()
        exit_after_signal()


__all__ = ["app", "main"]
