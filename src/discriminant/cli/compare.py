"""``discriminant compare``: which model is best, and whether the difference is real."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from ..errors import AliasWarning, Message, ParameterError
from ..results import listed, number, percent, visible
from . import options
from .console import Page, check_output, command_line, grid, say, show, tell_findings, told
from .fit import made_model
from .options import Labelled, TrainingOptions, command, option

if TYPE_CHECKING:
    from ..validation.comparison import Comparison


@command
def compare(
    data: options.Data,
    target: options.Target = None,
    models: Annotated[
        str | None, option("A,B,C", "Names as for fit --model. By default those that suit the table.")
    ] = None,
    folds: Annotated[
        int | None,
        option("N", "Folds of the cross-validation: 10, of 5,000 rows or more 5, where classes are large enough."),
    ] = None,
    repeats: Annotated[int, option("N", "How often rows are dealt anew.")] = 1,
    metric: Annotated[
        str | None,
        option(
            "NAME",
            "log-loss, accuracy, balanced-accuracy, auc, f1, cost, error-rate or brier. By default cost with "
            "--costs, else log-loss; where a model has no probabilities accuracy, or auc if one class has more than "
            "80 % of the rows.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        option("X", "Equivalence margin of the metric: models whose whole interval of the difference lies within it."),
    ] = None,
    costs: options.Costs = None,
    positive: options.Positive = None,
    report: options.Report = None,
    groups: options.Groups = None,
    time: options.Time = None,
    weights: options.Weights = None,
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Find the best model, and whether it is really better.

    All models are tuned, fitted and measured on the same folds of the table. A baseline that knows the shares of the
    classes alone takes part, and a model that is not better than it by its test is not recommended. With --costs
    models with probabilities decide by least expected cost. F1, and the curves and thresholds of the report, are those
    of the positive class.

    \b
    Examples:
      discriminant compare data.csv --target y
      discriminant compare data.csv -t y --report report.html
      discriminant compare data.csv -t y --models lda,rda,ridge --folds 5 --repeats 4 --metric balanced-accuracy
      discriminant compare visits.csv -t ill --groups patient --costs costs.csv
      discriminant compare email.csv -t spam --time sent
    """
    from ..estimators.registry import common_coding
    from ..folds import forward_chaining
    from ..validation import comparison

    check_output(report, overwrite, data, costs)
    names = None if models is None else list(map(str.strip, models.split(",")))
    if time is not None and (groups is not None or repeats > 1 or report is not None):
        raise ParameterError("--time holds out every part once, in order: leave out --groups, --repeats and --report.")
    labelled = reading.training(data, target, weights, groups, coding=common_coding(names), time=time)
    if not json:
        tell_findings(labelled.training.findings)
    table, training = options.read_costs(costs, list(labelled.class_rows)), labelled.training
    measure = _read_metric(metric)
    made, unsuited = _models(names, labelled)
    parts = _folds(labelled) if folds is None else folds
    splits = parts if training.times is None else forward_chaining(training.times, training.y, parts)
    found = comparison.compare(
        made,
        labelled.rows,
        training.y,
        splits,
        repeats,
        measure,
        groups=training.groups,
        costs=table,
        sample_weight=training.weights,
        margin=margin,
        progress=None if json or sys.stderr.isatty() else time_announcer(parts * repeats),
        keep="predictions" if report is None else "posteriors",
        on_failure="leave_out" if models is None else "raise",
        positive=options.read_positive(positive, list(labelled.class_rows)),
    )
    found = replace(found, left_out={n: Message(told(why)) for n, why in (unsuited | found.left_out).items()})
    if report is not None:
        _write_report(report, found, made[found.best_model], labelled, table)
    values = {
        **labelled.source,
        **found.to_dict(),
        "class_rows": labelled.class_rows,
        "all_models": ",".join([*made, *unsuited]) if unsuited else None,
        "folds": parts,
        "repeats": repeats,
        "time": time,
        "findings": labelled.findings,
        "report": report,
        "fit_command": _fit_command(found, labelled),
    }
    show(values, comparison_page, json)


#: The estimated time left is reported if it is longer than this, in seconds.
MIN_ANNOUNCED_SECONDS: Final = 10.0


def time_announcer(n_splits: int, clock: Callable[[], float] = time.monotonic) -> Callable[[int, int], None]:
    """Returns a progress function that reports the estimated time left once, after the fits of the first fold."""
    started, reported = clock(), False

    def report(done: int, total: int) -> None:
        nonlocal reported
        if reported or done * n_splits < total:
            return
        reported, left = True, (clock() - started) * (total / done - 1)
        if left > MIN_ANNOUNCED_SECONDS:
            say(f"Estimated time left: {f'{left:.0f} s' if left < 100 else f'{left / 60:.0f} min'}.")

    return report


def _read_metric(metric: str | None) -> str | None:
    """The name of a metric as the library has it."""
    from ..validation.cross_validation import METRICS

    measure = None if metric is None else metric.replace("-", "_")
    if measure not in (None, *METRICS):
        known = ", ".join(METRICS).replace("_", "-")
        raise ParameterError(f"--metric must be one of {known}; got {metric!r}.")
    return measure


def _fit_command(found: Comparison, labelled: Labelled) -> str | None:
    """The command that fits the recommended model to all rows; None where none is recommended."""
    name = found.recommended
    if name is None:
        return None
    words = [*labelled.words(), "--model", name, "-o", "model.dsc"]
    return shlex.join(["discriminant", "fit", *words])


def _models(asked: list[str] | None, labelled: Labelled) -> tuple[dict[str, Any], dict[str, Any]]:
    """The models of a comparison, those asked for or those that suit the size of the table, and why others do not."""
    from ..validation.comparison import default_models

    if asked is None:
        return default_models(labelled.training.X, len(labelled.class_rows))
    return {name: made_model(name, labelled) for name in asked}, {}


def _folds(labelled: Labelled) -> int:
    from ..validation.held_out import default_folds, usual_folds

    n_rows, smallest = len(labelled.training.y), min(labelled.class_rows.values())
    found = default_folds(n_rows, smallest, labelled.training.groups)
    if found == smallest < usual_folds(n_rows):
        say(f"{found} folds instead of {usual_folds(n_rows)}: the smallest class has {smallest} rows.")
    return found


def _write_report(path: str, found: Comparison, model: Any, labelled: Labelled, costs: Any) -> None:
    """Write the report of the comparison and of the best model, fitted to all rows."""
    from ..report import write_report
    from ..tables import Finding

    training = labelled.training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AliasWarning)  # every level has a column, for models with a penalty
        model.fit(labelled.rows, training.y, **labelled.weights)
    write_report(
        path,
        found,
        replace(training, findings=tuple(Finding(**finding) for finding in labelled.findings)),
        model=model,
        model_name=found.best_model,
        costs=costs,
        command=command_line(),
        source=labelled.source["data"],
    )


def comparison_page(found: dict[str, Any]) -> Page:
    """The comparison to read."""
    metric, models = found["metric"], found["cross_validation"]["models"]
    beside = [name for name in models[found["best"]] if name != metric]
    head = ["model", metric.replace("_", "-"), "from", "to (95 %)", *(name.replace("_", "-") for name in beside)]
    rows = [
        [name, *(number(models[name][metric][part]) for part in ("mean", "low", "high"))]
        + [number(models[name][other]["mean"]) for other in beside]
        for name in found["ranking"]
    ]
    left_out: dict[str, list[str]] = {}
    for name, reason in found["left_out"].items():
        left_out.setdefault(reason, []).append(name)
    told = [*filter(None, [found["chosen"] and found["chosen"]["sentence"], found["rarely_found"]])]
    told += [f"{listed(own)} {'was' if len(own) == 1 else 'were'} left out: {why}" for why, own in left_out.items()]
    told += [f"To compare all of them: --models {found['all_models']}"] if found["all_models"] else []
    repeats = f", repeated {found['repeats']} times" if found["repeats"] > 1 else ""
    positive = found["cross_validation"]["positive"]
    named = "" if positive is None else f"; positive class: {positive}"
    validation = f"{found['folds']}-fold cross-validation{repeats}"
    if found.get("time"):
        validation = f"forward chaining by {visible(found['time'])!r} ({found['folds']} parts)"
    return [
        grid(f"{found['rows']:,} rows, {validation}{_shares(found)}{named}", head, rows),
        found["sentence"],
        *(["\n".join(told)] if told else []),
        *([f"Report: {found['report']}"] if found["report"] else []),
        *([f"To keep {_which(found)}: {found['fit_command']}"] if found["fit_command"] else []),
    ]


def _which(found: dict[str, Any]) -> str:
    name = found["recommended"]
    return "the best model" if name == found["best"] else f"{name}, which is significantly better than the baseline"


#: The shares of so many classes are named above the table.
_SHOWN_CLASSES = 5


def _shares(found: dict[str, Any]) -> str:
    rows, total = found["class_rows"], found["rows"]
    if len(rows) > _SHOWN_CLASSES:
        return f"; {len(rows)} classes"
    ordered = sorted(rows.items(), key=lambda pair: -pair[1])
    return "; " + ", ".join(f"{name} {percent(n / total)}" for name, n in ordered)
