"""``discriminant evaluate``: how good a model is on rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError, ParameterError
from ..results import decimal, several
from . import options
from .console import Page, check_output, command_line, grid, say, show
from .modelfile import StoredModel, kept_values, opened
from .options import TableOptions, command, files_of, option
from .passes import ScaleOptions, coded_dataset

if TYPE_CHECKING:
    from ..evaluation import Evaluation


@command
def evaluate(
    model: options.ModelPath,
    data: options.Files,
    costs: options.Costs = None,
    positive: options.Positive = None,
    report: options.Report = None,
    weights: options.Weights = None,
    groups: options.Groups = None,
    f_measure: Annotated[
        float | None,
        option(
            "M", "Also all rates by class: recall, FNR, FPR, specificity, precision and F = (M + 1) P R / (R + M P)."
        ),
    ] = None,
    absent: options.Absent = "refuse",
    scale: ScaleOptions = ScaleOptions(),
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Measure a model on rows it was not fitted to.

    Every number has an interval; the table needs the column of classes. With --costs a model with probabilities decides
    by least expected cost, as in predict. Curves, average precision, calibration error and the thresholds of the
    report are those of the positive class.

    \b
    Examples:
      discriminant evaluate model.dsc test.csv
      discriminant evaluate model.dsc test.csv --positive ill
      discriminant evaluate model.dsc test.csv --costs costs.csv --report test.html
      discriminant evaluate model.dsc survey.csv --weights weight --groups household
    """
    check_output(report, overwrite, model, *data, costs)
    files = files_of(data)
    from ..evaluation import evaluate as evaluate_rows

    stored = opened(model)
    label = options.read_positive(positive, stored.classes)
    if scale.by_passes(files):
        if report is not None or costs is not None or absent != "refuse" or groups is not None:
            raise ParameterError(
                "--report, --costs, --groups and --absent need all rows in memory, and these files are read by passes. "
                "Leave them out, or give a sample of the rows."
            )
        rows = coded_dataset(scale, files, reading, stored.schema, weights)
        _tell(stored, rows.written.label, evaluate_rows(stored.model, rows, positive=label), None, f_measure, json)
        scale.done()
        return
    costed = options.read_costs(costs, stored.classes)
    table = stored.table(reading, files, absent)
    is_training = stored.training.get("sha256") == table.fingerprint
    if is_training:
        say("Warning: these are the rows the model was fitted to: the numbers flatter it.")
    rows = evaluated_rows(stored, table, absent, weights, groups)
    X, y = rows.X, rows.y
    evaluation = _measured(stored, rows, costed, label)
    stored.tell_report()
    if report is not None:
        with kept_values(model):
            _write_report(report, stored, evaluation, X, y, costed, table.label, is_training)
    _tell(stored, table.label, evaluation, report, f_measure, json)


def _tell(
    stored: StoredModel, data: str, evaluation: Evaluation, report: str | None, f_measure: float | None, json: bool
) -> None:
    """Show what was measured."""
    assert evaluation.confusion is not None
    label, share = evaluation.confusion.most_frequent
    values: dict[str, Any] = {"model": stored.path, "data": data, "report": report}
    values["baseline"] = {"class": label, "accuracy": share}
    values["unseen_levels"] = stored.report.unseen
    values["rates"] = None if f_measure is None else _rates(evaluation.confusion, f_measure)
    show({**values, **evaluation.to_dict()}, lambda found: _page(found, evaluation), json)


def _rates(confusion: Any, m: float) -> dict[str, Any]:
    """The rates of each class against all others, by name."""
    names = ("recall", "fnr", "fpr", "specificity", "precision")
    found = {name: confusion.rate(name).tolist() for name in names}
    return {"class": [str(label) for label in confusion.classes], **found, f"F, m = {m:g}": confusion.f(m).tolist()}


@dataclass(frozen=True)
class EvaluatedRows:
    """The coded rows of a table that have a class, with their classes, weights and groups."""

    X: Any
    y: Any
    weights: Any = None
    groups: Any = None

    @property
    def design(self) -> dict[str, Any]:
        """How the rows were sampled, as `evaluate` takes it."""
        return {"sample_weight": self.weights, "groups": self.groups}


def labelled_rows(stored: StoredModel, table: Any, absent: str) -> tuple[Any, Any]:
    """The coded rows of a table that have a class, and their classes."""
    rows = evaluated_rows(stored, table, absent)
    return rows.X, rows.y


def evaluated_rows(
    stored: StoredModel, table: Any, absent: str, weights: str | None = None, groups: str | None = None
) -> EvaluatedRows:
    """The rows of a table that have a class, coded as the model takes them."""
    import numpy as np

    from ..tables.training import column_groups, column_weights

    roles = [name for name in (weights, groups) if name is not None]
    for name in roles:
        table.known(name, "column")
    target = stored.schema.target
    if target is not None and target.name is not None:
        table.known(target.name, "target")
    data = table.read()
    y, present = stored.schema.labels(data)
    if not present.any():
        raise InputError(f"No row of {table.label} has a class: there is nothing to evaluate.")
    if not present.all():
        also = ", or one that the training left out" if target is not None and target.left_out else ""
        rows = several(int(np.count_nonzero(~present)), "row has no class", "rows have no class")
        say(f"{rows}{also}: left out.")
        data = data.filter(present)
    codes = () if table.dialect is None else table.dialect.missing
    own = {
        "weights": None if weights is None else column_weights(data[weights], weights),
        "groups": None if groups is None else column_groups(data[groups], groups, codes),
    }
    used = {column.name for column in stored.schema.used}
    X, kept = stored.coded(data.drop_columns([name for name in roles if name not in used]) if roles else data, absent)
    if kept is not None:
        y, own = y[kept], {role: None if values is None else values[kept] for role, values in own.items()}
    return EvaluatedRows(X, y, **own)


def _measured(stored: StoredModel, rows: EvaluatedRows, costs: Any, positive: Any) -> Evaluation:
    """The evaluation of what ``predict`` answers, with the same costs."""
    from ..evaluation import evaluate, evaluation_of

    if costs is None or not hasattr(stored.model, "predict_proba"):
        return evaluate(stored.model, rows.X, rows.y, costs=costs, positive=positive, **rows.design)
    posterior = stored.model.predict_proba(rows.X)
    asked: dict[str, Any] = {"classes": stored.classes, "costs": costs, "positive": positive}
    return evaluation_of(rows.y, posterior=posterior, **asked, **rows.design)


def _write_report(
    path: str, stored: StoredModel, evaluation: Evaluation, X: Any, y: Any, costs: Any, source: str, is_training: bool
) -> None:
    from ..estimators.coefficients import CoefficientTable
    from ..report import write_report

    learned = (stored.metadata.get("learned") or {}).get("coefficients")
    write_report(
        path,
        None,
        (getattr(X, "values", X), y, stored.schema.names),
        evaluation=evaluation,
        model=stored.model,
        model_name=stored.name,
        coefficients=None if learned is None else CoefficientTable.from_dict(learned),
        costs=costs,
        command=command_line(),
        source=source,
        title=f"{stored.name} on {'its training rows' if is_training else 'new rows'}",
    )


def _page(found: dict[str, Any], evaluation: Evaluation) -> Page:
    page: Page = [str(evaluation)]
    if found["rates"]:
        cells = [
            [label, *(decimal(value) for value in own)] for label, *own in zip(*found["rates"].values(), strict=True)
        ]
        page.append(grid("Rates of each class against all others", list(found["rates"]), cells))
    return [*page, *([f"Report: {found['report']}"] if found["report"] else [])]
