"""``discriminant compare``: compare models by cross-validation, with tests of the differences."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

from ..errors import Message, ParameterError
from ..results import listed, metric_name, number, percent, visible
from ..workflow.comparing import ComparisonOptions, common_coding, default_n_folds, known_metric, models_for
from ..workflow.comparing import compare as compare_models
from ..workflow.models import read_settings
from ..workflow.tables import LabelledTable, Roles, read_labelled, severest_first
from . import options
from .console import command_line, print_findings, print_message, rendered
from .options import TrainingOptions, command, files_of, option
from .output import Page, Values, check_output, facts, grid, show

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..validation.comparison import Comparison

_VALIDATION = "Validation"


@command
def compare(
    data: options.Files,
    target: options.Target = None,
    models: Annotated[
        str | None, option("A,B,C", "Models, as for fit --model.  [default: those that suit the table]")
    ] = None,
    settings: options.Settings = None,
    metric: Annotated[
        str | None,
        option(
            "NAME", "log-loss, accuracy, balanced-accuracy, auc, f1, cost, error-rate or brier.  [default: see below]"
        ),
    ] = None,
    costs: options.Costs = None,
    positive: options.Positive = None,
    ordered: options.Ordered = None,
    report: options.Report = None,
    by: Annotated[
        str | None, option("COLUMN", "Column of groups; the report compares each group with the rest.")
    ] = None,
    weights: options.Weights = None,
    folds: Annotated[
        int | None, option("N", "Number of folds.  [default: 10; 5 from 5,000 rows]", panel=_VALIDATION)
    ] = None,
    repeats: Annotated[int, option("N", "Repeats of the k-fold split.", panel=_VALIDATION)] = 1,
    groups: Annotated[
        str | None, option("COLUMN", "Column of groups (e.g. patients) that are held out together.", panel=_VALIDATION)
    ] = None,
    time: Annotated[
        str | None, option("COLUMN", "Column that orders the rows in time: forward chaining.", panel=_VALIDATION)
    ] = None,
    margin: Annotated[
        float | None,
        option("X", "Equivalence margin, in units of the metric.  [default: no equivalence test]", panel=_VALIDATION),
    ] = None,
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Compare models by cross-validation, with tests.

    All models are tuned, fitted and evaluated on the same folds, together with a baseline that predicts the class
    proportions. Default metric: cost with --costs; otherwise log-loss. If a model does not predict probabilities:
    accuracy, or AUC when one class exceeds 80 % of the rows. With --costs, models with probabilities minimise expected
    cost.

    Examples:
      discriminant compare data.csv -t y
      discriminant compare data.csv -t y --report report.html --by sex
      discriminant compare data.csv -t y --models lda,rda,ridge --folds 5 --repeats 4 --metric balanced-accuracy
      discriminant compare visits.csv -t ill --groups patient --costs costs.csv
      discriminant compare email.csv -t spam --time sent
      discriminant compare survey.csv -t satisfaction --ordered low,medium,high
      discriminant compare "data/*.parquet" -t y --models lda,qda --set shrinkage=oas
    """
    check_output(report, overwrite, *data, costs)
    names = None if models is None else list(map(str.strip, models.split(",")))
    if time is not None and (groups is not None or repeats > 1 or report is not None):
        raise ParameterError("--time cannot be combined with --groups, --repeats or --report.")
    if by is not None and report is None:
        raise ParameterError("--by COLUMN is for the report. Add --report FILE.")
    labelled = read_labelled(files_of(data), Roles(target, weights, groups, time), reading, common_coding(names))
    print_findings(labelled.training.findings, quiet=json)
    classes = list(labelled.class_rows)
    order = options.read_order(ordered, classes)
    made, unsuited = models_for(labelled, names, read_settings(settings), order)
    n_folds = _n_folds(labelled) if folds is None else folds
    asked = ComparisonOptions(
        n_folds,
        repeats,
        known_metric(metric),
        margin,
        options.read_costs(costs, classes, order),
        options.read_positive(positive, classes),
    )
    compared = compare_models(
        labelled,
        made,
        asked,
        progress=None if json or sys.stderr.isatty() else time_announcer(n_folds * repeats),
        keep="predictions" if report is None else "posteriors",
        on_failure="leave_out" if models is None else "raise",
    )
    found = compared.comparison
    found = replace(found, left_out={n: Message(rendered(why)) for n, why in (unsuited | found.left_out).items()})
    if report is not None:
        findings = [replace(one, message=rendered(one.message)) for one in severest_first(labelled.training.findings)]
        compared = replace(compared, comparison=found, by=by)
        compared.write_report(found.best_model, report, command_line(), labelled.source["data"], findings)
    values = {
        **labelled.source,
        **found.to_dict(),
        "class_rows": labelled.class_rows,
        "all_models": ",".join([*made, *unsuited]) if unsuited else None,
        "folds": n_folds,
        "repeats": repeats,
        "time": time,
        "findings": severest_first(labelled.training.findings),
        "report": report,
        "fit_command": _fit_command(found, labelled, made, reading),
    }
    show(values, comparison_page, json)


# The estimated time left is reported if it is longer than this.
MIN_ANNOUNCED_SECONDS: Final = 10.0


def time_announcer(n_splits: int, clock: Callable[[], float] = time.monotonic) -> Callable[[int, int], None]:
    """A progress function that reports the estimated time left once, after the fits of the first fold."""
    started, reported = clock(), False

    def report(done: int, total: int) -> None:
        nonlocal reported
        if reported or done * n_splits < total:
            return
        reported, left = True, (clock() - started) * (total / done - 1)
        if left > MIN_ANNOUNCED_SECONDS:
            print_message(f"Estimated time left: {f'{left:.0f} s' if left < 100 else f'{left / 60:.0f} min'}.")

    return report


def _fit_command(
    found: Comparison, labelled: LabelledTable, made: dict[str, BaseEstimator], reading: TrainingOptions
) -> str | None:
    """The command that fits the recommended model to all rows; None if no model is recommended."""
    if found.recommended is None:
        return None
    words = [*reading.words(labelled), "--model", found.recommended, "-o", "model.dsc"]
    order = getattr(made[found.recommended], "classes_order", None)
    words += [] if order is None else ["--ordered", ",".join(map(str, order))]
    return shlex.join(["discriminant", "fit", *words])


def _n_folds(labelled: LabelledTable) -> int:
    found, usual = default_n_folds(labelled)
    smallest = min(labelled.class_rows.values())
    if found == smallest < usual:
        print_message(f"Folds: {found} instead of {usual}, because the smallest class has {smallest} rows.")
    return found


def comparison_page(found: Values) -> Page:
    """The comparison as a page."""
    metric, validation = found["metric"], found["cross_validation"]
    models = validation["models"]
    others = [name for name in models[found["best"]] if name != metric]
    head = ["model", metric_name(metric), "low", "high (95 %)", *map(metric_name, others)]
    rows = [
        [name, *(number(models[name][metric][part]) for part in ("mean", "low", "high"))]
        + [number(models[name][other]["mean"]) for other in others]
        for name in found["ranking"]
    ]
    left_out: dict[str, list[str]] = {}
    for name, reason in found["left_out"].items():
        left_out.setdefault(reason, []).append(name)
    return [
        facts(
            {
                "Data": f"{found['data']} ({found['rows']:,} rows, {found['columns']:,} columns)",
                "Classes": _class_shares(found),
                "Positive class": validation["positive"],
                "Validation": _validation(found),
            }
        ),
        grid("Models, best first", head, rows),
        found["sentence"],
        facts(
            {
                "Corrected for selection": _corrected(found["chosen"]),
                "Warning": found["rarely_found"],
                **{f"Excluded ({listed(names)})": reason for reason, names in left_out.items()},
                "To include all models": found["all_models"] and f"--models {found['all_models']}",
                "Report": found["report"],
                f"To fit {found['recommended']}": found["fit_command"],
            }
        ),
    ]


def _corrected(chosen: Values | None) -> str | None:
    """The metric of the best model on new rows, corrected for the selection of the model."""
    if chosen is None:
        return None
    interval = "" if chosen["low"] is None else f" (range {number(chosen['low'])} to {number(chosen['high'])})"
    return f"{metric_name(chosen['metric'])} {number(chosen['value'])}{interval}, best of {chosen['n_models']}"


def _validation(found: Values) -> str:
    if found.get("time"):
        return f"forward chaining by {visible(found['time'])!r}, {found['folds']} parts"
    repeats = f", {found['repeats']} repeats" if found["repeats"] > 1 else ""
    return f"{found['folds']}-fold cross-validation{repeats}"


# Tables with more classes show their number only.
MAX_LISTED_CLASSES: Final = 5


def _class_shares(found: Values) -> str:
    rows, total = found["class_rows"], found["rows"]
    if len(rows) > MAX_LISTED_CLASSES:
        return str(len(rows))
    return ", ".join(f"{name} {percent(n / total)}" for name, n in sorted(rows.items(), key=lambda pair: -pair[1]))
