"""Options that several commands share, the layout of the help, and the decorator that makes a function a command.

A command is a function with typer's annotations and the decorator `command`. A parameter whose type is a dataclass of
options, such as `TableOptions`, is expanded: each field is an option of the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from ..errors import ParameterError
from ..results import visible
from ..workflow.models import ModelSpec
from ..workflow.stored import StoredModel
from ..workflow.tables import LabelledTable, Preparation, Reading, Streaming, name_value_pairs
from .console import print_findings, print_message, running

if TYPE_CHECKING:
    from ..decision import Decision
    from ..estimators.prediction_sets import PredictionSets
    from ..tables import TableReader

CostTable = dict[Any, dict[Any, float]]  #: costs by true class, then by action
#: The base of the errors about arguments that typer raises.
_UsageError: Any = typer.BadParameter.__base__


def option(metavar: str, help: str, *names: str, panel: str | None = None) -> Any:  # noqa: A002
    """An option with a value: placeholder, help, names if not the parameter's, and panel of the help."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel)


def flag(help: str, *names: str, panel: str | None = None) -> Any:  # noqa: A002
    """An option without a value."""
    return typer.Option(*names, help=help, show_default=False, rich_help_panel=panel)


#: Panels of the help; options without a panel are the main ones and come first.
READING, PREPROCESSING, STREAMING, OUTPUT = "Input format", "Preprocessing", "Larger than memory", "Output"
_FORMATS = "CSV, JSON, Excel, Parquet, Arrow, SQLite, DuckDB, SVMlight; - for standard input"

Data = Annotated[str, typer.Argument(metavar="DATA", help=f"Table: {_FORMATS}.")]
Files = Annotated[list[str], typer.Argument(metavar="DATA", help=f"Tables: {_FORMATS}.")]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by discriminant fit.")]
Target = Annotated[str | None, option("COLUMN", "Column of classes (not for SVMlight).", "--target", "-t")]
Weights = Annotated[str | None, option("COLUMN", "Column of row weights; non-integer weights are importance weights.")]
Groups = Annotated[str | None, option("COLUMN", "Column of groups (e.g. patients) that are held out together.")]
Clusters = Annotated[
    str | None, option("COLUMN", "Column of groups (e.g. patients) for cluster-robust intervals.", "--groups")
]
By = Annotated[str | None, option("COLUMN", "Column of groups; each group is compared with the rest.")]
Time = Annotated[str | None, option("COLUMN", "Column that orders the rows in time: forward-chaining validation.")]
Settings = Annotated[list[str] | None, option("NAME=VALUE", "Parameter of the model; repeatable.", "--set")]
FormulaText = Annotated[str | None, option("FORMULA", "Target and terms: 'y ~ age + sex * dose + ns(bmi, df=4)'.")]
Costs = Annotated[
    str | None,
    option(
        "FILE", "Cost table (true classes in rows, decisions in columns), or absolute or squared for ordered classes."
    ),
]
RejectCost = Annotated[
    float | None,
    option(
        "COST", "Cost of rejecting a row, in units of --costs; rejected rows get 'abstain'.  [default: no rejection]"
    ),
]
Priors = Annotated[str | None, option("A=0.3,B=0.7", "Class priors in the target population.")]
Ordered = Annotated[str | None, option("LOW,...,HIGH", "All classes in order, for ordinal models and their measures.")]
Positive = Annotated[str | None, option("CLASS", "Positive class.  [default: rarer of two classes]")]
Coverage = Annotated[
    float | None, option("SHARE", "Coverage of prediction sets, e.g. 0.9; requires --calibration.", "--coverage")
]
CalibrationRows = Annotated[
    str | None, option("FILE", "Held-out labelled rows that calibrate the prediction sets.", "--calibration")
]
Report = Annotated[str | None, option("FILE", "Write an HTML report.")]
TableFile = Annotated[str | None, option("FILE", "Output file; format from extension.", "--output", "-o")]

Table = Annotated[str | None, option("NAME", "Sheet of a workbook; table or query of a database.", panel=READING)]
Delimiter = Annotated[str | None, option("CHAR", "Field separator.  [default: auto-detected]", panel=READING)]
Header = Annotated[
    bool | None, flag("First line has column names.  [default: auto-detected]", "--header/--no-header", panel=READING)
]
Encoding = Annotated[
    str | None, option("NAME", "Text encoding, e.g. latin-1.  [default: auto-detected]", panel=READING)
]
Decimal = Annotated[str | None, option("CHAR", "Decimal separator.  [default: auto-detected]", panel=READING)]
Drop = Annotated[list[str] | None, option("COLUMN", "Column to exclude; repeatable.", panel=PREPROCESSING)]
Types = Annotated[
    list[str] | None,
    option(
        "COLUMN=TYPE", "number, category, boolean, date, date-dmy, date-mdy or text; repeatable.", panel=PREPROCESSING
    ),
]
Missing = Annotated[
    str | None,
    option("POLICY", "indicator (impute the mean), drop or refuse.  [default: indicator; drop with a formula]",
           panel=PREPROCESSING),
]  # fmt: skip
MissingCodes = Annotated[
    list[str] | None,
    option("TEXT", "Missing-value code; replaces the defaults (NA, ? etc.); repeatable.", panel=PREPROCESSING),
]
Rare = Annotated[
    int | None,
    option("ROWS", "Pool levels with fewer rows as (other).  [default: 5; 1 with a formula]", panel=PREPROCESSING),
]
MaxLevels = Annotated[
    int | None,
    option("N", "Maximum number of levels per categorical column.  [default: 50; all with a formula]",
           panel=PREPROCESSING),
]  # fmt: skip
DropClassesBelow = Annotated[int, option("ROWS", "Exclude classes with fewer rows.", panel=PREPROCESSING)]
MissingColumns = Annotated[
    str,
    option(
        "POLICY",
        "Columns required by the model but missing from the data: refuse, or missing (treat as missing values).",
        panel=READING,
    ),
]
DaskAddress = Annotated[str | None, option("ADDRESS", "Dask scheduler, e.g. tcp://host:8786.", panel=STREAMING)]
SparkAddress = Annotated[
    str | None, option("URL", "Spark master, e.g. spark://host:7077 or local[4].", panel=STREAMING)
]
Memory = Annotated[
    str | None,
    option("SIZE", "Memory budget, e.g. 4GB; larger tables are streamed.  [default: available memory]",
           panel=STREAMING),
]  # fmt: skip
Checkpoint = Annotated[
    str | None, option("FILE", "File to resume an interrupted run on streamed files.", panel=STREAMING)
]
Overwrite = Annotated[bool, flag("Replace existing output files.", "--overwrite", panel=OUTPUT)]
Json = Annotated[bool, flag("Print the result as JSON.", "--json", panel=OUTPUT)]
Debug = Annotated[bool, flag("Show the traceback of an error.", "--debug", panel=OUTPUT)]


def _paragraphs(text: str) -> str:
    """Paragraphs of a help text; those with indented lines, such as examples, keep their line breaks."""
    return "\n\n".join("\b\n" + one if "\n  " in one else one for one in text.strip().split("\n\n"))


class Command(TyperCommand):
    """A command whose help shows summary, arguments and main options first; then the other panels and examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; the paragraphs of the docstring after its summary come last."""
        summary, _, details = inspect.cleandoc(self.help or "").partition("\n\n")
        arguments: list[Any] = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        formatter.write_usage(ctx.command_path, " ".join([*map(_usage, arguments), "[OPTIONS]"]))
        formatter.write_paragraph()
        formatter.write_text(summary)
        panels = {"Arguments": [(one.metavar, one.help) for one in arguments], **self._option_panels(ctx)}
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if details:
            formatter.write_paragraph()
            formatter.write_text(_paragraphs(details))

    def _option_panels(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Names and helps of the options by panel: the main ones first, the panel of outputs last."""
        panels: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "option" and (record := parameter.get_help_record(ctx)):
                panels.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(record)
        return dict(sorted(panels.items(), key=lambda panel: panel[0] == OUTPUT))


def _usage(argument: TyperArgument) -> str:
    """An argument in the line of usage."""
    name = argument.metavar or ""
    name += "..." if argument.nargs == -1 and not name.endswith("...") else ""
    return name if argument.required else f"[{name}]"


class _Group(TyperGroup):
    """A group of commands whose usage errors show control characters escaped."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _escaped_usage_errors():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _escaped_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _escaped_usage_errors() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = visible(error.message)
        raise


def application(name: str, help: str, epilog: str) -> typer.Typer:  # noqa: A002
    """A group of commands."""
    return typer.Typer(
        name=name,
        cls=_Group,
        help=help,
        epilog=_paragraphs(epilog),
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function as a command: its dataclasses of options expanded, with ``--debug``; errors become messages."""
    parameters = list(_options(function))

    @wraps(function)
    def run(*arguments: Any, debug: bool = False, **given: Any) -> None:
        bound = signature.bind(*arguments, **given)
        bound.apply_defaults()
        values = {**bound.arguments}
        values.pop("debug")
        for name, kind in _groups(function).items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        with running(debug, frozenset(signature.parameters)):
            function(**values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    debugging = inspect.Parameter("debug", keyword, default=False, annotation=Debug)
    signature = inspect.Signature([*parameters, debugging])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return run


def _groups(function: Callable[..., None]) -> dict[str, Any]:
    """The parameters of a command that are dataclasses of options."""
    hints = get_type_hints(function, include_extras=True)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}


def _options(function: Callable[..., None]) -> Iterator[inspect.Parameter]:
    """The parameters of a command, with the fields of dataclasses of options: their own first, then inherited ones."""
    hints, groups = get_type_hints(function, include_extras=True), _groups(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in groups:
            yield parameter.replace(annotation=hints[parameter.name])
            continue
        kind = groups[parameter.name]
        declared = get_type_hints(kind, include_extras=True)
        own = dict.fromkeys(name for base in kind.__mro__ for name in inspect.get_annotations(base))
        for name in own:
            yield parameter.replace(name=name, annotation=declared[name], default=getattr(kind, name))


@dataclass(frozen=True)
class TableOptions(Reading):
    """How a table is read."""

    table: Table = None
    delimiter: Delimiter = None
    header: Header = None
    encoding: Encoding = None
    decimal: Decimal = None


@dataclass(frozen=True)
class TrainingOptions(Preparation, TableOptions):
    """How a labelled table is read and its columns are coded."""

    drop: Drop = None
    types: Types = None
    missing: Missing = None
    missing_codes: MissingCodes = None
    rare: Rare = None
    max_levels: MaxLevels = None
    drop_classes_below: DropClassesBelow = 1

    def words(self, labelled: LabelledTable) -> list[str]:
        """The arguments of a command that reads the same table in the same way."""
        words = list(map(str, labelled.files if isinstance(labelled.files, list) else [labelled.files]))
        for role in ("target", "weights", "groups"):
            if (name := getattr(labelled.roles, role)) is not None:
                words += [f"--{role}", name]
        for one in fields(self):
            value, option = getattr(self, one.name), f"--{one.name.replace('_', '-')}"
            if value == one.default:
                continue
            if isinstance(value, bool):
                words.append(option if value else f"--no-{one.name}")
            else:
                words += [
                    word for each in (value if isinstance(value, list) else [value]) for word in (option, str(each))
                ]
        return words


@dataclass(frozen=True)
class ScaleOptions(Streaming):
    """Whether files are streamed, and on which executor."""

    dask: DaskAddress = None
    spark: SparkAddress = None
    memory: Memory = None
    checkpoint: Checkpoint = None


def files_of(data: list[str]) -> str | list[str]:
    """The input: one file, standard input, or a list of files."""
    from ..files import is_pattern, paths_of

    if len(data) == 1 and not is_pattern(data[0]):
        return data[0]
    if "-" in data:
        raise ParameterError("Standard input (-) cannot be combined with other files. Use one or the other.")
    found = paths_of(data)
    return found[0] if len(found) == 1 else found


def read_costs(
    path: str | None, classes: Sequence[Hashable], order: Sequence[Hashable] | None = None
) -> CostTable | None:
    """The costs of a file; they are printed, so that a transposed table is noticed.

    With an ``order`` of the classes also "absolute" and "squared", their distances.
    """
    if path is None:
        return None
    from ..decision.costs import DISTANCE_POWERS, costs_in_words, distance_costs, read_cost_file

    if path in DISTANCE_POWERS:
        if order is None:
            raise ParameterError(f"--costs {path} needs ordered classes: an ordinal model, or compare --ordered.")
        values = distance_costs(path, list(order)).values.tolist()
        return {true: dict(zip(order, row, strict=True)) for true, row in zip(order, values, strict=True)}
    costs = read_cost_file(path, classes)
    print_message(costs_in_words(costs))
    return costs


def read_positive(text: str | None, classes: Sequence[Hashable]) -> Hashable | None:
    """The class with this name; an unknown name is refused where the class is used."""
    from ..decision.costs import class_written

    return None if text is None else class_written(text, classes)


def read_order(text: str | None, classes: Sequence[Hashable]) -> list[Hashable] | None:
    """The classes in the order of ``low,medium,high``; each class must be named once."""
    if text is None:
        return None
    from ..decision.costs import class_written

    found = [class_written(name.strip(), classes) for name in text.split(",")]
    if len(set(found)) < len(found) or set(found) != set(classes):
        listed = ",".join(map(str, classes))
        raise ParameterError(f"--ordered must name each class once, got {text!r}. Put these in order: {listed}.")
    return found


def with_order(spec: ModelSpec, text: str | None, classes: Sequence[Hashable]) -> ModelSpec:
    """The model with the order of the classes; models that have none refuse it."""
    order = read_order(text, classes)
    if order is not None and "classes_order" not in spec.new().get_params():
        raise ParameterError(
            f"--ordered is for models of ordered classes, not for {spec.name}. Use --model ordinal or auto, or leave "
            "it out."
        )
    return replace(spec, order=order)


def read_sets(
    stored: StoredModel,
    coverage: float | None,
    calibration: str | None,
    reading: Reading,
    evaluated: TableReader | None = None,
) -> PredictionSets | None:
    """The prediction sets of a stored model, calibrated by a table that is not evaluated; None without them."""
    from ..workflow.evaluating import calibrated_sets

    if (coverage is None) != (calibration is None):
        raise ParameterError("--coverage and --calibration must be given together. Give both or neither.")
    if coverage is None or calibration is None:
        return None
    rows = stored.table(reading, files_of([calibration]))
    if evaluated is not None and rows.fingerprint == evaluated.fingerprint:
        raise ParameterError(
            "--calibration is the same table as DATA, so the coverage would be optimistic. Use separate calibration "
            "rows."
        )
    return calibrated_sets(stored, rows, coverage)


def read_priors(text: str | None, classes: Sequence[Hashable]) -> dict[Hashable, float] | None:
    """Priors of the form ``a=0.3,b=0.7``."""
    if text is None:
        return None
    from ..decision.costs import class_written

    found = {}
    for name, value in name_value_pairs("--priors", text.split(",")).items():
        try:
            found[class_written(name.strip(), classes)] = float(value)
        except ValueError:
            raise ParameterError(f"--priors: the prior of {name!r} must be a number, got {value!r}.") from None
    return found


def read_decision(
    stored: StoredModel, costs: str | None, reject_cost: float | None, priors: str | None
) -> Decision | None:
    """The decision rule for a stored model; None without costs and priors."""
    table = read_costs(costs, stored.classes, stored.order)
    return stored.decision(table, reject_cost, read_priors(priors, stored.classes))


def print_encoding(stored: StoredModel) -> None:
    """Write to standard error how the rows differed from the training data."""
    report = stored.report
    if any((report.filled, report.new_missing, report.extra, report.missing_columns)):
        print_message(f"{report.summary()}.")
    print_findings(stored.findings)
    if stored.n_incomplete:
        print_message(f"Rows without a prediction (missing values): {stored.n_incomplete:,}.")
