"""The command line: from a labelled table to a model, its comparison with others, and decisions on new rows.

A command reads its arguments, calls the package and shows what came back. Only typer is imported here, so that help
answers at once; everything else is imported by the command that needs it.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Annotated, Any, cast

import typer

from .. import __version__, kernels
from ..dependencies import Absent
from ..files import abandon
from .compare import compare
from .console import Ended, end_on_signals, ignore_signals, leave_at_once, signal_exit_code
from .course import learning_curve, path, trace
from .dataset import dataset
from .demo import demo
from .describe import describe
from .evaluate import evaluate
from .explain import explain
from .figure import figure
from .fit import fit
from .generate import sample, transform
from .modelfile import export
from .options import application
from .predict import predict
from .raster import app as raster
from .studio import studio
from .theory import separability, theory

_EPILOG = """
A first look, the best model, a model file, and decisions on new rows:

\b
  discriminant describe data.csv --target y
  discriminant compare data.csv --target y --report report.html
  discriminant fit data.csv --target y --model lda -o model.dsc
  discriminant predict model.dsc new.csv -o predictions.csv

Without data at hand: discriminant demo. In the browser: discriminant studio

Exit codes: 0 done; 1 the data, a parameter or a file cannot be used, and the message says why; 2 the command was
written wrongly; 3 an error of discriminant itself; 130 interrupted, 143 terminated. Results go to standard
output, everything else to standard error.
"""

app = application(
    "discriminant",
    "Linear classification of labelled tables: describe, compare, fit, predict, evaluate, explain, export.",
    _EPILOG,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discriminant {__version__} (kernels: {kernels.BUILD})")
        raise typer.Exit


@app.callback(epilog=_EPILOG)
def _all_commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Linear classification of labelled tables: describe, compare, fit, predict, evaluate, explain, export."""


_LECTURE = (trace, path, learning_curve, separability, theory, sample, transform)
for command in (describe, compare, fit, predict, evaluate, explain, export, figure, dataset, demo, studio, *_LECTURE):
    app.command()(command)
app.add_typer(raster, name="raster")


#: Commands that make no frames. Formulas do, and so may what runs for longer. Arrow and scikit-learn load pandas only
#: to know its types if they see them, which takes a quarter of the time of a small fit, and as long as all else that a
#: prediction takes.
_WITHOUT_FRAMES = ("compare", "describe", "evaluate", "explain", "export", "fit", "predict")


class _LaterStats(ModuleType):
    """In the place of scipy.stats until something of it is used.

    Scikit-learn names it on loading for a function that commands do not call, and it takes half of that loading.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        with _LOADING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(import_module(self.__name__), name)


_LOADING = RLock()


def _makes_frames(arguments: list[str]) -> bool:
    return not set(arguments[:1]) & set(_WITHOUT_FRAMES) or any(text.startswith("--formula") for text in arguments)


def main() -> None:
    """Run the command that the arguments of this process ask for."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter shows a substitute
            stream.reconfigure(errors="replace")
    # A command makes much and throws little away: looking for garbage would take a quarter of the time of loading
    # the libraries, and most of the time of ending.
    gc.set_threshold(100_000, 20, 100)
    sys.setswitchinterval(0.0005)  # what is loaded beside the reading of a table must not hold it up
    end_on_signals()
    if not _makes_frames(sys.argv[1:]):
        sys.meta_path.insert(0, cast("Any", Absent("pandas")))
        sys.modules.setdefault("scipy.stats", _LaterStats("scipy.stats"))
    try:
        app(prog_name="discriminant")
    except Ended:  # before the command began
        sys.exit(signal_exit_code())
    finally:
        ignore_signals()
        abandon()
        leave_at_once()
        if "duckdb" not in sys.modules:  # it would complain on standard error that its objects were not collected
            gc.freeze()


__all__ = ["app", "main"]
