"""``discriminant effects``: effects of columns on the probabilities of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import figures
from ..errors import ParameterError
from ..workflow.effects import VERBS, EffectQuestion, EffectRows, of_fitted, of_stored
from ..workflow.stored import open_model
from ..workflow.tables import LabelledTable, Roles, name_value_pairs
from ..workflow.validating import column_of
from . import options
from .console import print_findings
from .options import TrainingOptions, command, option
from .output import Page, check_output, facts, file_or_none, show, write_columns, write_figure
from .validate import ModelOptions

if TYPE_CHECKING:
    from ..effects import EffectOptions, Effects

_EFFECT, _ERRORS = "Effect", "Standard errors"


@dataclass(frozen=True)
class QuestionOptions:
    """Which effects, at which values and in which groups."""

    column: Annotated[
        list[str] | None,
        option("COLUMN", "Column whose effect is estimated; repeatable.  [default: all numeric, for slopes]",
               panel=_EFFECT),
    ] = None  # fmt: skip
    contrast: Annotated[
        str, option("NAME", "Measure for comparisons: difference, ratio or odds-ratio.", panel=_EFFECT)
    ] = "difference"
    values: Annotated[
        str | None,
        option("A,B", "Values to compare: an increase, two numbers, levels, reference, pairwise or sequential.  "
               "[default: increase of 1; levels vs the first]",
               panel=_EFFECT),
    ] = None  # fmt: skip
    at: Annotated[
        list[str] | None, option("NAME=VALUE,...", "Set a column to values in all rows; repeatable.", panel=_EFFECT)
    ] = None
    by: Annotated[str | None, option("COLUMN", "Column of groups, or of numbers cut at quintiles.", panel=_EFFECT)] = (
        None
    )
    typical: Annotated[
        bool, options.flag("Effects at one row of means and most frequent levels.", "--typical", panel=_EFFECT)
    ] = False

    def question(self, kind: str) -> EffectQuestion:
        """What is asked for, with numbers where texts are numbers."""
        fixed = {name: _texts(text) for name, text in name_value_pairs("--at", self.at or ()).items()}
        columns = tuple(self.column or ())
        values = None if self.values is None else _values(self.values)
        return EffectQuestion(kind, columns, self.contrast, values, fixed or None, self.by, self.typical)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ErrorOptions:
    """What standard errors rest on."""

    covariance: Annotated[
        str | None,
        option(
            "KIND",
            "model, HC0 to HC3, or CR0 to CR2 with --clusters.  [default: model; HC3 with importance weights; CR1 with "
            "--clusters]",
            panel=_ERRORS,
        ),
    ] = None
    clusters: Annotated[str | None, option("COLUMN", "Column of clusters of rows.", panel=_ERRORS)] = None
    resamples: Annotated[int, option("N", "Bootstrap resamples, for models without a covariance.", panel=_ERRORS)] = 0
    level: Annotated[float, option("X", "Confidence level.", panel=_ERRORS)] = 0.95

    def chosen(self, outcome: Any, labelled: LabelledTable | None) -> EffectOptions:
        """The options of the estimates."""
        from ..effects import EffectOptions

        clusters = None if self.clusters is None or labelled is None else column_of(labelled, self.clusters)
        return EffectOptions(
            outcome=outcome,
            covariance=self.covariance,
            clusters=self.clusters if labelled is None else clusters,
            resamples=self.resamples,
            level=self.level,
        )


@command
def effects(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(VERBS[:-1])} or {VERBS[-1]}.")],
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Labelled table, to which a model is fitted, or model file.")
    ],
    target: options.Target = None,
    rows: Annotated[str | None, option("DATA", "Rows to average over, if SOURCE is a model file.")] = None,
    fitting: ModelOptions = ModelOptions(),
    outcome: Annotated[
        str | None,
        option("CLASS", "Class whose probability is reported.  [default: the second of two classes, else every class]"),
    ] = None,
    weights: options.Weights = None,
    output: options.TableFile = None,
    figure: Annotated[str | None, option("FILE", "Draw the estimates: page (.html) or image (.svg, .png).")] = None,
    question: QuestionOptions = QuestionOptions(),
    errors: ErrorOptions = ErrorOptions(),
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Show average effects of columns on the probability scale.

    predictions: average probabilities. comparisons: differences or ratios between values of a column. slopes: average
    derivatives (average marginal effects). Model files of logistic and ordinal regression contain the covariance
    of the coefficients; for other models, use --resamples for standard errors.

    Examples:
      discriminant effects slopes data.csv --formula "y ~ age + sex"
      discriminant effects comparisons data.csv -t y --column sex --contrast ratio
      discriminant effects predictions data.csv -t y --at dose=low,high --by sex
      discriminant effects comparisons model.dsc --rows new.csv --column age --values 10
      discriminant effects slopes data.csv -t y --model lda --resamples 500
    """
    check_output(file_or_none(output), overwrite, source, rows)
    check_output(figure, overwrite, source, rows)
    asked = question.question(kind)
    roles = Roles(target, weights)
    if source.lower().endswith(".dsc"):
        population = _of_model_file(source, rows, roles, errors, reading, outcome)
    elif rows is not None:
        raise ParameterError(
            "--rows applies to model files; effects of a table are averaged over its own rows. Leave it out."
        )
    else:
        fitted = fitting.fitted([source], roles, reading)
        print_findings(fitted.table.training.findings, quiet=json)
        label = options.read_positive(outcome, list(fitted.table.class_rows))
        population = of_fitted(fitted, errors.chosen(label, fitted.table))
    found = population.effects(asked)
    columns = {name: [v for one in found for v in one._columns()[name]] for name in found[0]._columns()}
    write_columns(columns, output)
    if figure is not None:
        _draw(found, figure)
    values = {"kind": kind, "source": source, "effects": found, "file": output, "figure": figure}
    page: Page = [*map(str, found), *([facts({"Output": output, "Figure": figure})] if output or figure else [])]
    show(values, lambda _: page, json)


def _draw(found: Sequence[Effects], path: str) -> None:
    """Draw the estimates of all columns in one figure."""
    together = replace(found[0], rows=[row for one in found for row in one.rows])
    write_figure(figures.effects(together), path)


def _of_model_file(
    path: str, rows: str | None, roles: Roles, errors: ErrorOptions, reading: TrainingOptions, outcome: str | None
) -> EffectRows:
    """A stored model and the rows of another table."""
    stored = open_model(path)
    if rows is None:
        raise ParameterError(f"{path} is a model file, which contains no rows. Add --rows DATA.")
    label = options.read_positive(outcome, stored.classes)
    return of_stored(stored, reading, rows, roles, errors.chosen(label, None))


def _number(text: str) -> Any:
    """A text as a number, if it is one."""
    try:
        found = float(text)
    except ValueError:
        return text.strip()
    return int(found) if found.is_integer() and "." not in text else found


def _texts(text: str) -> Any:
    """One value, or a list of values with commas between them."""
    found = [_number(part) for part in text.split(",")]
    return found if len(found) > 1 else found[0]


def _values(text: str) -> Any:
    found = _texts(text)
    is_way = isinstance(found, str) and found in ("reference", "pairwise", "sequential")
    return found if is_way or not isinstance(found, str) else [found]
