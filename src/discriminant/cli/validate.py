"""``discriminant validate``: internal validation of a model; ``diagnostics``: rows and terms of a logistic fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ParameterError
from ..results import number
from ..workflow.fitting import FittedModel
from ..workflow.fitting import fit as fit_model
from ..workflow.models import ModelSpec, read_settings
from ..workflow.tables import Roles, read_labelled, severest_first
from ..workflow.validating import ListedRow, listed_rows, validate_model
from . import options
from .console import command_line, print_findings
from .options import TrainingOptions, command, files_of, option
from .output import Page, check_output, facts, file_or_none, grid, show, write_columns

if TYPE_CHECKING:
    from ..validation.optimism import ValidationOptions

_VALIDATION = "Validation"


@dataclass(frozen=True)
class ModelOptions:
    """The model that is fitted to a table."""

    model: Annotated[
        str | None, option("NAME", "Model, as for fit --model.  [default: logistic, ordinal with --ordered]")
    ] = None
    settings: options.Settings = None
    formula: options.FormulaText = None
    ordered: options.Ordered = None

    def fitted(self, data: list[str], roles: Roles, reading: TrainingOptions) -> FittedModel:
        """The model, fitted to the table."""
        name = self.model or ("logistic" if self.ordered is None else "ordinal")
        spec = ModelSpec(name, read_settings(self.settings))
        labelled = read_labelled(files_of(data), roles, reading, spec.coding, self.formula)
        spec = options.with_order(spec, self.ordered, list(labelled.class_rows))
        return fit_model(spec.new(labelled), name, labelled)


@dataclass(frozen=True)
class ResamplingOptions:
    """How a model is validated."""

    method: Annotated[
        str, option("METHOD", "bootstrap (optimism) or cv (repeated cross-validation).", panel=_VALIDATION)
    ] = "bootstrap"
    resamples: Annotated[int | None, option("N", "Bootstrap resamples.  [default: 500]", panel=_VALIDATION)] = None
    inner_resamples: Annotated[
        int | None,
        option("N", "Inner resamples of the double bootstrap.  [default: 12 for logistic, 0 for others]",
               panel=_VALIDATION),
    ] = None  # fmt: skip
    folds: Annotated[
        int | None, option("N", "Number of folds, with --method cv.  [default: 10]", panel=_VALIDATION)
    ] = None
    repeats: Annotated[
        int | None, option("N", "Repeats of the k-fold split, with --method cv.  [default: 20]", panel=_VALIDATION)
    ] = None
    level: Annotated[float, option("X", "Confidence level.", panel=_VALIDATION)] = 0.95

    def chosen(self, n_classes: int) -> ValidationOptions:
        """The options of the validation; the calibration curve of two classes is corrected, too."""
        from ..validation.optimism import ValidationOptions

        if self.method not in ("bootstrap", "cv"):
            raise ParameterError(f"--method must be bootstrap or cv, got {self.method!r}.")
        return ValidationOptions(
            self.method,  # type: ignore[arg-type]
            self.resamples,
            self.folds,
            self.repeats,
            level=self.level,
            inner_resamples=self.inner_resamples,
            curve=self.method == "bootstrap" and n_classes == 2,
        )


@command
def validate(
    data: options.Files,
    target: options.Target = None,
    fitting: ModelOptions = ModelOptions(),
    weights: options.Weights = None,
    groups: options.Groups = None,
    by: options.By = None,
    report: options.Report = None,
    resampling: ResamplingOptions = ResamplingOptions(),
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Validate a model by resampling its training data.

    The model is refitted to every resample, including all tuning. Measures have confidence intervals, or ranges
    (marked *) if their coverage is unknown. The least stable predictions are listed with their row numbers.

    Examples:
      discriminant validate data.csv -t y
      discriminant validate data.csv --formula "y ~ ns(age, df=3) + sex" --by sex --report validation.html
      discriminant validate visits.csv -t ill --model ridge --groups patient --resamples 200
      discriminant validate data.csv -t y --model lda --method cv --folds 5
    """
    check_output(report, overwrite, *data)
    fitted = fitting.fitted(data, Roles(target, weights, groups), reading)
    labelled = fitted.table
    print_findings(labelled.training.findings, quiet=json)
    found = validate_model(fitted, resampling.chosen(len(labelled.class_rows)), by)
    unstable = [] if found.instability is None else found.instability.least_stable()
    listed = listed_rows(unstable, labelled, ("probability", "low", "high", "changed"))
    if report is not None:
        from ..workflow.reporting import write_validation_report

        write_validation_report(fitted, found, report, command_line())
    values = {
        **labelled.source,
        "name": fitted.name,
        **found.to_dict(),
        "least_stable": listed,
        "findings": severest_first(labelled.training.findings),
        "report": report,
    }
    head = {"Model": fitted.name, "Data": f"{labelled.source['data']} ({labelled.n_rows:,} rows)"}
    page: Page = [facts(head), str(found), *_listed("Least stable predictions", listed)]
    show(values, lambda _: [*page, *([facts({"Report": report})] if report else [])], json)


@command
def diagnostics(
    data: options.Files,
    target: options.Target = None,
    settings: options.Settings = None,
    formula: options.FormulaText = None,
    weights: options.Weights = None,
    output: options.TableFile = None,
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Show residuals, influence and goodness-of-fit tests.

    The most influential rows are listed with their row numbers; --output writes the residuals of all rows.

    Examples:
      discriminant diagnostics data.csv -t y
      discriminant diagnostics data.csv --formula "y ~ age + C(race)" -o residuals.csv
      discriminant diagnostics data.csv -t y --set firth=true
    """
    from ..estimators.diagnostics import diagnostics as diagnose

    check_output(file_or_none(output), overwrite, *data)
    fitted = ModelOptions("logistic", settings, formula).fitted(data, Roles(target, weights), reading)
    labelled = fitted.table
    print_findings(labelled.training.findings, quiet=json)
    found = diagnose(fitted.model)
    shown = ("probability", "pearson", "deviance", "leverage", "cooks")
    influential = listed_rows(found.most_influential(), labelled, shown)
    write_columns({"row": labelled.training.row_numbers.tolist(), **found._columns()}, output)
    values = {
        **labelled.source,
        "tests": found.tests,
        "inflation": found.inflation,
        "most_influential": influential,
        "findings": severest_first(labelled.training.findings),
        "file": output,
    }
    head = {"Model": fitted.name, "Data": f"{labelled.source['data']} ({labelled.n_rows:,} rows)"}
    page: Page = [facts(head), found.tables(), *_listed("Most influential rows", influential)]
    show(values, lambda _: [*page, *([facts({"Output": output})] if output else [])], json)


def _listed(title: str, rows: Sequence[ListedRow]) -> Page:
    """Rows of the table with their values."""
    if not rows:
        return []
    cells: list[list[Any]] = [[str(one.row), *map(number, one.values.values())] for one in rows]
    return [grid(title, ["row", *(name.replace("_", " ") for name in rows[0].values)], cells)]
