"""``discriminant evaluate``: evaluate a model on held-out data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ParameterError
from ..results import decimal
from ..workflow.evaluating import (
    EvaluatedModel,
    evaluate_groups,
    evaluate_rows,
    evaluate_streamed,
    is_training_table,
    labelled_rows,
)
from ..workflow.stored import open_model
from ..workflow.tables import Roles
from . import options
from .console import command_line, print_findings, print_message
from .options import ScaleOptions, TableOptions, command, files_of, option, print_encoding
from .output import Page, Values, check_output, facts, grid, show

if TYPE_CHECKING:
    from ..estimators.class_sets import SetEvaluation
    from ..evaluation import ConfusionMatrix
    from ..tables import TrainingTable


@command
def evaluate(
    model: options.ModelPath,
    data: options.Files,
    costs: options.Costs = None,
    positive: options.Positive = None,
    report: options.Report = None,
    coverage: options.Coverage = None,
    calibration: options.CalibrationRows = None,
    weights: options.Weights = None,
    groups: options.Clusters = None,
    by: options.By = None,
    f_measure: Annotated[
        float | None, option("M", "Print rates by class, with F = (M + 1) P R / (R + M P); M = beta squared.")
    ] = None,
    missing_columns: options.MissingColumns = "refuse",
    scale: ScaleOptions = ScaleOptions(),
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Evaluate a model on held-out data.

    DATA must contain the target column. With --costs, a model with probabilities minimises expected cost, as in
    predict. ROC curve, average precision, calibration and thresholds are those of the positive class.

    Examples:
      discriminant evaluate model.dsc test.csv
      discriminant evaluate model.dsc test.csv --positive ill
      discriminant evaluate model.dsc test.csv --costs costs.csv --report test.html
      discriminant evaluate model.dsc test.csv --coverage 0.9 --calibration held-out.csv
      discriminant evaluate model.dsc survey.csv --weights weight --groups household
      discriminant evaluate model.dsc test.csv --by sex
    """
    check_output(report, overwrite, model, *data, costs)
    files, stored = files_of(data), open_model(model)
    label = options.read_positive(positive, stored.classes)
    if scale.is_needed(files):
        if any((report, costs, groups, by, calibration, missing_columns != "refuse")):
            raise ParameterError(
                "--report, --costs, --groups, --by, --calibration and --missing-columns need all rows in memory, but "
                "this table is streamed. Leave them out, or use a sample of the rows."
            )
        _show(
            evaluate_streamed(stored, scale.coded(files, reading, stored.schema, weights), label), None, f_measure, json
        )
        scale.finish()
        return
    cost_table = options.read_costs(costs, stored.classes, stored.order)
    table = stored.table(reading, files, missing_columns)
    sets = options.read_sets(stored, coverage, calibration, reading, table)
    print_findings(table.findings)
    is_training = is_training_table(stored, table)
    if is_training:
        print_message("Warning: The model was fitted to these data: the measures are optimistic. Use held-out data.")
    rows = labelled_rows(stored, table, Roles(None, weights, groups), missing_columns)
    print_unlabelled(rows)
    evaluation = evaluate_rows(stored, rows, cost_table, label)
    print_encoding(stored)
    of_groups = None if by is None else evaluate_groups(stored, table, rows, by, (cost_table, label))
    evaluated = EvaluatedModel(stored, table.label, evaluation, rows, cost_table, is_training, of_groups)
    if report is not None:
        evaluated.write_report(report, command_line())
    evaluated_sets = None if sets is None else sets.evaluate(rows.X, rows.y, rows.weights, rows.groups)
    _show(evaluated, report, f_measure, json, evaluated_sets)


def print_unlabelled(rows: TrainingTable) -> None:
    """Write the number of rows without a class to standard error."""
    target = rows.schema.target
    if rows.n_dropped:
        also = " or with a class excluded from training" if target is not None and target.left_out else ""
        print_message(f"Rows excluded (without a class{also}): {rows.n_dropped:,}.")


def _show(
    evaluated: EvaluatedModel,
    report: str | None,
    f_measure: float | None,
    json: bool,
    sets: SetEvaluation | None = None,
) -> None:
    """Show the measures."""
    stored, evaluation = evaluated.stored, evaluated.evaluation
    assert evaluation.confusion is not None
    label, share = evaluation.confusion.most_frequent
    values: dict[str, Any] = {"model": stored.path, "data": evaluated.label, "report": report}
    values["baseline"] = {"class": label, "accuracy": share}
    values["by_group"] = evaluated.by_group
    values["unseen_levels"] = stored.report.unseen
    values["rates"] = None if f_measure is None else _rates(evaluation.confusion, f_measure)
    values["sets"] = None if sets is None else sets.to_dict()
    show({**values, **evaluation.to_dict()}, lambda found: _page(found, evaluated, sets), json)


def _rates(confusion: ConfusionMatrix, m: float) -> dict[str, Any]:
    """The rates of each class against all others, by name."""
    names = ("recall", "fnr", "fpr", "specificity", "precision")
    found = {name: confusion.rate(name).tolist() for name in names}
    return {"class": [str(label) for label in confusion.classes], **found, f"F, m = {m:g}": confusion.f(m).tolist()}


def _page(found: Values, evaluated: EvaluatedModel, sets: SetEvaluation | None) -> Page:
    page: Page = [facts({"Model": found["model"], "Data": found["data"]}), str(evaluated.evaluation)]
    page += [] if evaluated.by_group is None else [f"Measures by group\n{evaluated.by_group}"]
    page += [] if sets is None else [str(sets)]
    if found["rates"]:
        cells = [
            [label, *(decimal(value) for value in own)] for label, *own in zip(*found["rates"].values(), strict=True)
        ]
        page.append(grid("Rates of each class against all others", list(found["rates"]), cells))
    return [*page, *([facts({"Report": found["report"]})] if found["report"] else [])]
