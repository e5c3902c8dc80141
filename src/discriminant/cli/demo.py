"""``discriminant demo``: all steps on a table that comes with scikit-learn."""

from __future__ import annotations

import contextlib
import csv
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .console import print_message
from .options import command
from .output import facts, show

_TARGET = "diagnosis"
_COSTS: list[list[Any]] = [[_TARGET, "malignant", "benign"], ["malignant", 0, 10], ["benign", 1, 0]]


@command
def demo(
    folder: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="Output folder.  [default: a new temporary folder]")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run all steps on an example table, in a few seconds.

    The steps: describe, compare, fit, predict, evaluate and explain.

    Examples:
      discriminant demo
      discriminant demo my-folder
    """
    place = Path(tempfile.mkdtemp(prefix="discriminant-demo-") if folder is None else folder)
    place.mkdir(parents=True, exist_ok=True)
    files = {name: str(place / file) for name, file in _FILES.items()}
    _write_tables(files)
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        _run_steps(files)
    links = {"Folder": str(place), "Report": files["report"], "In the browser": "discriminant studio"}
    show({"folder": str(place), "files": files}, lambda _: ["", facts(links)], json)


_FILES = {
    "train": "tumours.csv",
    "test": "new-tumours.csv",
    "costs": "costs.csv",
    "report": "report.html",
    "model": "model.dsc",
    "predictions": "predictions.csv",
}


def _write_tables(files: dict[str, str]) -> None:
    """Write two thirds of the rows as training data, the others as test data, and a cost table."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = [*data.feature_names.tolist(), _TARGET]
    labels = data.target_names[data.target].tolist()
    rows: list[list[Any]] = [[*values, label] for values, label in zip(data.data.tolist(), labels, strict=True)]
    _write(files["train"], [names, *(row for i, row in enumerate(rows) if i % 3)])
    _write(files["test"], [names, *rows[::3]])
    _write(files["costs"], _COSTS)


def _write(path: str, rows: Iterable[Sequence[str | float]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def _run_steps(files: dict[str, str]) -> None:
    from . import app

    train, test, model, costs = files["train"], files["test"], files["model"], files["costs"]
    for words in (
        ("describe", train, "--target", _TARGET),
        ("compare", train, "--target", _TARGET, "--report", files["report"], "--overwrite"),
        ("fit", train, "--target", _TARGET, "-o", model, "--overwrite"),
        ("predict", model, test, "--costs", costs, "--proba", "-o", files["predictions"], "--overwrite"),
        ("evaluate", model, test, "--costs", costs),
        ("explain", model, test, "--row", "0", "--costs", costs),
    ):
        print_message(f"\n$ discriminant {' '.join(words)}\n")
        if code := app(words, prog_name="discriminant", standalone_mode=False):
            raise typer.Exit(code)
