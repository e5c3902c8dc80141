"""``discriminant compare``: which model is best, and whether the difference is real."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from . import options
from .console import Page, check_output, command_line, grid, say, show, told
from .fit import made_model
from .options import Labelled, TrainingOptions, command

if TYPE_CHECKING:
    from ..validation.comparison import Comparison

_METRICS = {name.replace("_", "-"): name for name in ("accuracy", "error_rate", "log_loss", "brier", "auc", "cost")}


@command
def compare(
    data: options.Data,
    target: options.Target = None,
    models: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Names as for fit --model. By default those that suit the table."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Parts that are held out in turn; 10 where classes are large enough."),
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", help="How often rows are dealt anew.")] = 1,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="accuracy, error-rate, log-loss, brier, auc or cost (with --costs)."),
    ] = None,
    costs: options.Costs = None,
    report: options.Report = None,
    groups: options.Groups = None,
    weights: options.Weights = None,
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Find the best model, and whether it is really better.

    All models are fitted and measured on the same folds of the table. A baseline that always predicts the most
    frequent class takes part. Intervals and tests allow for the rows that the folds share. With --costs models with
    probabilities decide by least expected cost.

    \b
    Examples:
      discriminant compare data.csv --target y
      discriminant compare data.csv -t y --report report.html
      discriminant compare data.csv -t y --models lda,qda,logistic --folds 5 --repeats 4 --metric log-loss
      discriminant compare visits.csv -t ill --groups patient --costs costs.csv
    """
    check_output(report, overwrite)
    labelled = reading.training(data, target, weights, groups)
    if not json:
        labelled.tell_findings()
    show(compared(labelled, models, folds, repeats, metric, costs, report), comparison_page, json)


def compared(
    labelled: Labelled,
    names: str | None = None,
    folds: int | None = None,
    repeats: int = 1,
    metric: str | None = None,
    costs: str | None = None,
    report: str | None = None,
) -> dict[str, Any]:
    """Compare, write the report if one is wanted, and give what is shown."""
    from ..validation.comparison import compare, deciding_by_costs, default_metric

    table, training = options.read_costs(costs, list(labelled.class_rows)), labelled.training
    measure = default_metric(table) if metric is None else _metric(metric)
    models = compared_models(names, labelled, measure)
    parts = _folds(labelled) if folds is None else folds
    found = compare(
        deciding_by_costs(models, table),
        labelled.rows,
        training.y,
        parts,
        repeats,
        measure,
        groups=training.groups,
        costs=table,
        sample_weight=training.weights,
        keep="predictions" if report is None else "posteriors",
        on_failure="leave_out" if names is None else "raise",
    )
    if report is not None:
        _write_report(report, found, models[found.best_model], labelled, table)
    return {
        **labelled.source,
        **found.to_dict(),
        "folds": parts,
        "repeats": repeats,
        "left_out": {name: told(reason) for name, reason in found.left_out.items()},
        "findings": labelled.findings,
        "report": report,
        "fit_command": _fit_command(labelled, models[found.best_model], found.best_model),
    }


def compared_models(asked: str | None, labelled: Labelled, metric: str) -> dict[str, Any]:
    """The models of a comparison: those asked for, or those that suit the size of the table."""
    import numpy as np

    from ..estimators.registry import weak_penalty
    from ..validation.comparison import default_models

    training = labelled.training
    if asked is None:
        counts = np.array(list(labelled.class_rows.values()))
        return default_models(training.X, counts, metric, training.schema)
    models = {name: made_model(name, labelled) for name in map(str.strip, asked.split(","))}
    if "logistic" in models:
        models["logistic"].set_params(alpha=weak_penalty(len(training.y)))
    return models


def _metric(name: str) -> str:
    if name.replace("_", "-") not in _METRICS:
        raise ParameterError(f"--metric must be one of {', '.join(_METRICS)}; got {name!r}.")
    return _METRICS[name.replace("_", "-")]


def _folds(labelled: Labelled) -> int:
    import numpy as np

    from ..validation.splits import DEFAULT_FOLDS, default_folds

    counts = np.array(list(labelled.class_rows.values()))
    found = default_folds(counts, labelled.training.groups)
    if found < DEFAULT_FOLDS and counts.min() > 1:
        say(f"{found} folds instead of {DEFAULT_FOLDS}: the smallest class has {counts.min()} rows.")
    return found


def _write_report(path: str, found: Comparison, model: Any, labelled: Labelled, costs: Any) -> None:
    """Write the report of the comparison and of the best model, fitted to all rows."""
    from ..report import write_report
    from ..tables import Finding

    training = labelled.training
    write_report(
        path,
        found,
        replace(training, findings=tuple(Finding(**finding) for finding in labelled.findings)),
        model=model.fit(labelled.rows, training.y, **labelled.weights),
        model_name=found.best_model,
        costs=costs,
        command=command_line(),
    )


def _fit_command(labelled: Labelled, model: Any, name: str) -> str:
    settings = ["--set", f"alpha={model.alpha:g}"] if name == "logistic" else []
    return shlex.join(["discriminant", "fit", *labelled.words(), "--model", name, *settings, "-o", "model.dsc"])


def comparison_page(found: dict[str, Any]) -> Page:
    """The comparison to read."""
    metric, models = found["metric"], found["cross_validation"]["models"]
    metrics = list(dict.fromkeys((metric, "accuracy")))
    head = ["model", *(part for name in metrics for part in (name.replace("_", "-"), "from", "to (95 %)"))]
    rows = [[name, *(cell for m in metrics for cell in _cells(models[name][m]))] for name in found["ranking"]]
    left_out = [f"{name} was left out: {reason}" for name, reason in found["left_out"].items()]
    repeats = f", {found['repeats']} times" if found["repeats"] > 1 else ""
    return [
        grid(f"{found['rows']:,} rows held out in {found['folds']} parts{repeats}", head, rows),
        found["sentence"],
        *(["\n".join(left_out)] if left_out else []),
        *([f"Report: {found['report']}"] if found["report"] else []),
        f"To keep the best model: {found['fit_command']}",
    ]


def _cells(summary: dict[str, Any]) -> list[str]:
    from ..results import number

    return [number(summary["mean"]), number(summary["low"]), number(summary["high"])]
