"""``discriminant recalibrate``: update a model on new rows; ``import``: a published model as a model file."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import ParameterError
from ..results import quoted, suggestion
from ..workflow.evaluating import is_training_table, labelled_rows
from ..workflow.stored import open_model
from ..workflow.tables import Roles
from ..workflow.updating import UPDATES, coefficients_of_file, save_published, updated
from . import options
from .console import print_findings, print_message
from .evaluate import print_unlabelled
from .options import TableOptions, command, flag, option, print_encoding
from .output import Page, check_output, facts, grid, show


@command
def recalibrate(
    model: options.ModelPath,
    data: options.Data,
    weights: options.Weights = None,
    groups: options.Clusters = None,
    refit: Annotated[bool, flag("Include a refit of all coefficients.", "--refit/--no-refit")] = True,
    update: Annotated[
        str | None, option("NAME", "Update to write: in-the-large, logistic or refit.  [default: recommended]")
    ] = None,
    output: Annotated[str | None, option("FILE", "Updated model file (.dsc).", "--output", "-o")] = None,
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Recalibrate a model on new labelled data.

    Updates are a new intercept, a new intercept and slope, or a refit; likelihood-ratio tests recommend the simplest
    update that is not significantly worse than the largest. The model must have two classes and probabilities.

    Examples:
      discriminant recalibrate model.dsc hospital.csv
      discriminant recalibrate published.dsc hospital.csv --no-refit -o updated.dsc
    """
    check_output(output, overwrite, model, data)
    if update is not None and update not in UPDATES:
        raise ParameterError(
            f"Unknown update {update!r}.{suggestion(update, UPDATES)} Expected one of: {', '.join(UPDATES)}."
        )
    if update == UPDATES[-1] and not refit:
        raise ParameterError("--update refit cannot be combined with --no-refit. Leave one of them out.")
    stored = open_model(model)
    table = stored.table(reading, data)
    print_findings(table.findings)
    if is_training_table(stored, table):
        print_message("Warning: The model was fitted to these data: its calibration is optimistic. Use new data.")
    rows = labelled_rows(stored, table, Roles(None, weights, groups))
    print_unlabelled(rows)
    found = updated(stored, rows, refit)
    print_encoding(stored)
    if found.constant_columns:
        kept = quoted(found.constant_columns, 20)
        print_message(f"Note: Constant in these data, so that a refit keeps their coefficients: columns {kept}.")
    if output is not None:
        found.save(output, update)
    values = {
        "model": model,
        "data": table.label,
        "outcome": str(stored.classes[1]),
        "line": found.line,
        "curve": found.curve,
        "recalibration": found.recalibration,
        "constant_columns": found.constant_columns,
        "file": output,
    }
    head = {"Model": model, "Data": f"{table.label} ({len(rows.y):,} rows)", "Outcome": str(stored.classes[1])}
    page: Page = [facts(head), str(found.line), str(found.curve), str(found.recalibration)]
    show(values, lambda _: [*page, *([facts({"Output": output})] if output else [])], json)


@command
def import_model(
    coefficients: Annotated[
        str,
        typer.Argument(metavar="COEFFICIENTS", help="Table: terms in the first column, coefficients in the second."),
    ],
    output: Annotated[str, option("FILE", "Model file (.dsc).", "--output", "-o")],
    target: Annotated[str | None, option("COLUMN", "Name of the target column.", "--target", "-t")] = None,
    classes: Annotated[str, option("A,B", "Classes without and with the outcome.")] = "0,1",
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write a published logistic model as a model file.

    Terms are columns, levels (sex=male), functions (log(bmi), I(age**2)) and products (age:sex=male); the constant is
    called intercept, and is required. Levels without a coefficient are reference levels.

    Examples:
      discriminant import coefficients.csv -t ill --classes no,yes -o published.dsc
      discriminant evaluate published.dsc hospital.csv
      discriminant recalibrate published.dsc hospital.csv
    """
    check_output(output, overwrite, coefficients)
    found = coefficients_of_file(coefficients, reading)
    labels = [int(label) if label.lstrip("-").isdigit() else label for label in map(str.strip, classes.split(","))]
    model = save_published(found, labels, target, output)
    values = {"terms": found, "classes": labels, "target": target, "file": output}
    rows = [[name, f"{value:.6g}"] for name, value in found.items()]
    page: Page = [grid(f"Coefficients (log-odds of {model.classes_[1]})", ["term", "coefficient"], rows)]
    show(values, lambda shown: [*page, facts({"Target": target, "Model file": shown["file"]})], json)
