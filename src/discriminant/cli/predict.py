"""``discriminant predict``: predict the classes of the rows of a table."""

from __future__ import annotations

from typing import Annotated

from ..errors import ParameterError
from ..workflow.stored import PredictionColumns, Predictions, StoredModel, kept_columns, open_model
from . import options
from .console import print_findings
from .options import TableOptions, command, files_of, flag, option, print_encoding, read_decision
from .output import Page, Values, check_output, facts, file_or_none, shortened, show, table_writer


@command
def predict(
    model: options.ModelPath,
    data: options.Files,
    output: options.TableFile = None,
    proba: Annotated[bool, flag("Add the probability of each class.", "--proba")] = False,
    costs: options.Costs = None,
    reject_cost: options.RejectCost = None,
    priors: options.Priors = None,
    coverage: options.Coverage = None,
    calibration: options.CalibrationRows = None,
    keep: Annotated[list[str] | None, option("COLUMNS", "Columns to copy to the output, comma-separated.")] = None,
    keep_all: Annotated[bool, flag("Copy all columns to the output.", "--keep-all")] = False,
    ambiguous: Annotated[
        bool, flag("Add a column that flags ambiguous rows (multiclass schemes).", "--ambiguous")
    ] = False,
    csv_formulas: Annotated[
        str,
        option(
            "POLICY", "CSV text that a spreadsheet would run as a formula: refuse, keep or quote.", panel=options.OUTPUT
        ),
    ] = "refuse",
    missing_columns: options.MissingColumns = "refuse",
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Predict the classes of the rows of a table.

    The output has one row for each input row, in the same order: CSV on standard output, or a .csv, .parquet, .feather
    or .arrow file with -o. Unseen levels, imputed values and ignored columns are counted on standard error; --json
    prints these counts and needs -o.

    Examples:
      discriminant predict model.dsc new.csv > predictions.csv
      discriminant predict model.dsc new.parquet -o out.parquet --proba --keep id
      discriminant predict model.dsc "new/*.parquet" -o out.parquet
      discriminant predict model.dsc new.csv --costs costs.csv --reject-cost 0.5 -o out.csv
      discriminant predict model.dsc new.csv --coverage 0.9 --calibration held-out.csv
      discriminant predict model.dsc new.csv --priors ill=0.01,healthy=0.99 | head
    """
    output = file_or_none(output)
    check_output(output, overwrite, model, *data, costs, calibration)
    if json and output is None:
        raise ParameterError("--json and the predictions would both be written to standard output. Add -o FILE.")
    stored = open_model(model, to_predict=calibration is None)
    decision = read_decision(stored, costs, reject_cost, priors)
    if priors is not None and coverage is not None:
        raise ParameterError(
            "--coverage is valid only for the class proportions of the calibration rows. Leave out --priors."
        )
    sets = options.read_sets(stored, coverage, calibration, reading)
    table = stored.table(reading, files_of(data), missing_columns)
    print_findings(table.findings)
    kept = kept_columns(table, keep or [], keep_all)
    predictions = Predictions(stored, decision, PredictionColumns(proba, kept, ambiguous, sets), missing_columns)
    with table_writer(output, csv_formulas) as write:
        for part in predictions.of(table):
            write(part)
    print_encoding(stored)
    if output is not None:
        show(_counts(stored, predictions, output), _page, json)


def _counts(stored: StoredModel, predictions: Predictions, output: str) -> Values:
    report = stored.report
    return {
        "model": stored.path,
        "rows": report.n_rows,
        "rows_without_answer": stored.n_incomplete,
        "predictions": {str(label): count for label, count in predictions.counts.items()},
        "filled": report.filled,
        "unseen_levels": report.unseen,
        "columns_ignored": list(report.extra),
        "columns_taken_as_missing": list(report.missing_columns),
        "file": output,
    }


def _page(found: Values) -> Page:
    rows = [[label, f"{count:,}"] for label, count in found["predictions"].items()]
    return [
        *shortened("Predictions", ["class", "rows"], rows),
        facts({"Output": f"{found['file']} ({found['rows']:,} rows)"}),
    ]
