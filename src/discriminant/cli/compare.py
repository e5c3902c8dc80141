"""``discriminant compare``: which model is best, and whether the difference is real."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .console import Page, check_output, command_line, grid, say, show, told
from .options import Labelled, TrainingOptions, command

if TYPE_CHECKING:
    from ..validation.comparison import Comparison

_METRICS = {name.replace("_", "-"): name for name in ("accuracy", "error_rate", "log_loss", "brier", "auc", "cost")}
_MOST_FOLDS = 10
_BASELINE = "baseline"


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
    found = compared(labelled, models, folds, repeats, metric, costs, report)
    show(found, comparison_page, json)


def compared(
    labelled: Labelled,
    models: str | None = None,
    folds: int | None = None,
    repeats: int = 1,
    metric: str | None = None,
    costs: str | None = None,
    report: str | None = None,
) -> dict[str, Any]:
    """Compare, write the report if one is wanted, and give what is shown."""
    table = options.read_costs(costs, list(labelled.class_rows))
    contest = Contest(labelled, _folds(labelled, folds), repeats, _metric(metric, table is not None), table)
    comparison, left_out = contest.held(models)
    if report is not None:
        contest.report(comparison, report)
    name = _best_model(comparison)
    return {
        **labelled.source,
        **comparison.to_dict(),
        "folds": contest.folds,
        "repeats": repeats,
        "ranking": list(comparison.ranking),
        "left_out": {name: told(reason) for name, reason in left_out.items()},
        "findings": labelled.findings,
        "report": report,
        "fit_command": _fit_command(labelled, contest.models[name], name),
    }


def _metric(asked: str | None, with_costs: bool) -> str:
    from ..errors import ParameterError

    name = asked if asked is not None else "cost" if with_costs else "accuracy"
    if name.replace("_", "-") not in _METRICS:
        raise ParameterError(f"--metric must be one of {', '.join(_METRICS)}; got {name!r}.")
    return _METRICS[name.replace("_", "-")]


def _folds(labelled: Labelled, asked: int | None) -> int:
    """As many folds as asked for, else ten, or as many as the smallest class has rows and as there are groups."""
    if asked is not None:
        return asked
    smallest = min(labelled.class_rows.values())
    groups = labelled.training.groups
    found = max(2, min(_MOST_FOLDS, smallest, _MOST_FOLDS if groups is None else len(set(groups.tolist()))))
    if found < _MOST_FOLDS and smallest > 1:
        say(f"{found} folds instead of {_MOST_FOLDS}: the smallest class has {smallest} rows.")
    return found


class Contest:
    """Models on one table, all on the same folds."""

    def __init__(self, labelled: Labelled, folds: int, repeats: int, metric: str, costs: Any) -> None:
        self.labelled, self.folds, self.repeats, self.metric, self.costs = labelled, folds, repeats, metric, costs
        self.models: dict[str, Any] = {}

    def held(self, asked: str | None) -> tuple[Comparison, dict[str, Any]]:
        """The comparison, and why models were left out: those not asked for by name that cannot be fitted."""
        from .models import compared_models

        self.models = compared_models(asked, self.labelled, self.metric)
        left_out = {} if asked is not None else self._unfit()
        for name in left_out:
            del self.models[name]
        return self._compare(), left_out

    def _unfit(self) -> dict[str, Any]:
        """Models that need more variation than some training part has: they cost little to try."""
        from ..errors import DegenerateDataError
        from ..validation.cross_validation import cross_validate

        reasons: dict[str, Any] = {}
        for name in [name for name in ("lda", "qda", "naive-bayes", "least-squares") if name in self.models]:
            try:
                cross_validate(self.models[name], metrics="accuracy", progress=False, **self._splits())
            except DegenerateDataError as error:
                reasons[name] = error
        return reasons

    def _compare(self) -> Comparison:
        from ..validation.comparison import compare

        models = {name: self._deciding(model) for name, model in self.models.items()}
        return compare(models, metric=self.metric, costs=self.costs, **self._splits())

    def _splits(self) -> dict[str, Any]:
        training = self.labelled.training
        return {
            "X": self.labelled.rows,
            "y": training.y,
            "folds": self.folds,
            "repeats": self.repeats,
            "groups": training.groups,
            "sample_weight": training.weights,
        }

    def _deciding(self, model: Any) -> Any:
        """The model deciding by least expected cost, where there are costs and it has probabilities."""
        from ..estimators.decision import DecisionClassifier

        if self.costs is None or not hasattr(model, "predict_proba"):
            return model
        return DecisionClassifier(model, self.costs)

    def report(self, comparison: Comparison, path: str) -> None:
        """Write the report of the comparison and of the best model."""
        from ..report import write_report
        from ..tables import Finding

        name, training = _best_model(comparison), self.labelled.training
        write_report(
            path,
            comparison,
            replace(training, findings=tuple(Finding(**finding) for finding in self.labelled.findings)),
            model=self.models[name].fit(self.labelled.rows, training.y, **self.labelled.weights),
            model_name=name,
            costs=self.costs,
            command=command_line(),
        )


def _best_model(comparison: Comparison) -> str:
    """The best one that is a model."""
    return next(name for name in comparison.ranking if name != _BASELINE)


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

    return [number(summary["mean"]), number(summary["lower"]), number(summary["upper"])]
