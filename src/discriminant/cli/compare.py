"""``discriminant compare``: which model is best, and whether the difference is real."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ..results import number
from . import options
from .console import Page, check_output, command_line, grid, say, show, tell_findings, told
from .fit import made_model
from .options import Labelled, TrainingOptions, command

if TYPE_CHECKING:
    from ..validation.comparison import Comparison


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
        typer.Option(
            metavar="NAME",
            help="accuracy, error-rate, log-loss, brier, auc or cost. By default cost with --costs, else accuracy, or "
            "auc where one class has more than 80 % of the rows.",
        ),
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
    frequent class takes part, and a model that is not better than it by its test is not recommended. With --costs
    models with probabilities decide by least expected cost.

    \b
    Examples:
      discriminant compare data.csv --target y
      discriminant compare data.csv -t y --report report.html
      discriminant compare data.csv -t y --models lda,qda,logistic --folds 5 --repeats 4 --metric log-loss
      discriminant compare visits.csv -t ill --groups patient --costs costs.csv
    """
    from ..validation import comparison
    from ..validation.cross_validation import METRICS

    check_output(report, overwrite, data, costs)
    labelled = reading.training(data, target, weights, groups)
    if not json:
        tell_findings(labelled.training.findings)
    table, training = options.read_costs(costs, list(labelled.class_rows)), labelled.training
    measure = None if metric is None else metric.replace("-", "_")
    if measure not in (None, *METRICS):
        known = ", ".join(METRICS).replace("_", "-")
        raise ParameterError(f"--metric must be one of {known}; got {metric!r}.")
    made = _models(models, labelled, measure)
    parts = _folds(labelled) if folds is None else folds
    found = comparison.compare(
        made,
        labelled.rows,
        training.y,
        parts,
        repeats,
        measure,
        groups=training.groups,
        costs=table,
        sample_weight=training.weights,
        keep="predictions" if report is None else "posteriors",
        on_failure="leave_out" if models is None else "raise",
    )
    if report is not None:
        _write_report(report, found, made[found.best_model], labelled, table)
    values = {
        **labelled.source,
        **found.to_dict(),
        "folds": parts,
        "repeats": repeats,
        "left_out": {name: told(reason) for name, reason in found.left_out.items()},
        "findings": labelled.findings,
        "report": report,
        "fit_command": _fit_command(found, labelled),
    }
    show(values, comparison_page, json)


def _fit_command(found: Comparison, labelled: Labelled) -> str | None:
    """The command that fits the recommended model to all rows; None where none is recommended."""
    name = found.recommended
    if name is None:
        return None
    words = [*labelled.words(), "--model", name, *_set(found.settings.get(name, {})), "-o", "model.dsc"]
    return shlex.join(["discriminant", "fit", *words])


def _set(settings: dict[str, Any]) -> list[str]:
    """Parameters as ``fit`` takes them."""
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def _models(asked: str | None, labelled: Labelled, metric: str | None) -> dict[str, Any]:
    """The models of a comparison: those asked for, or those that suit the size of the table."""
    from ..estimators.registry import weak_penalty
    from ..validation.comparison import default_models

    training = labelled.training
    if asked is None:
        return default_models(training.X, min(labelled.class_rows.values()), metric, training.schema)
    models = {name: made_model(name, labelled) for name in map(str.strip, asked.split(","))}
    if "logistic" in models:
        models["logistic"].set_params(alpha=weak_penalty(len(training.y)))
    return models


def _folds(labelled: Labelled) -> int:
    from ..validation.held_out import DEFAULT_FOLDS, default_folds

    smallest = min(labelled.class_rows.values())
    found = default_folds(smallest, labelled.training.groups)
    if found < DEFAULT_FOLDS and smallest > 1:
        say(f"{found} folds instead of {DEFAULT_FOLDS}: the smallest class has {smallest} rows.")
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


def comparison_page(found: dict[str, Any]) -> Page:
    """The comparison to read."""
    metric, models = found["metric"], found["cross_validation"]["models"]
    metrics = list(dict.fromkeys((metric, "accuracy")))
    head = ["model", *(part for name in metrics for part in (name.replace("_", "-"), "from", "to (95 %)"))]
    shown = [(metric, part) for metric in metrics for part in ("mean", "low", "high")]
    rows = [[name, *(number(models[name][metric][part]) for metric, part in shown)] for name in found["ranking"]]
    left_out = [f"{name} was left out: {reason}" for name, reason in found["left_out"].items()]
    set_otherwise = [
        f"{name} was fitted with {shlex.join(_set(own))}, as discriminant fit does only when told."
        for name, own in found["settings"].items()
    ]
    told = [*filter(None, [found["rarely_found"]]), *set_otherwise, *left_out]
    repeats = f", {found['repeats']} times" if found["repeats"] > 1 else ""
    return [
        grid(f"{found['rows']:,} rows held out in {found['folds']} parts{repeats}", head, rows),
        found["sentence"],
        *(["\n".join(told)] if told else []),
        *([f"Report: {found['report']}"] if found["report"] else []),
        *([f"To keep the best model: {found['fit_command']}"] if found["fit_command"] else []),
    ]
