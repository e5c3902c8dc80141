"""Options that several commands share, and the way from them to a labelled table.

A command is a function with typer's annotations and the decorator `command`. A parameter of it whose type is a class
of options, such as `TableOptions`, stands for all of them: each field is an option of the command.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_type_hints

import typer
from typer.core import TyperGroup

from ..errors import ParameterError
from ..results import visible
from .console import running, say, told

if TYPE_CHECKING:
    from ..formula import Formula
    from ..results import Finding
    from ..tables import TableReader, TrainingTable
    from ..tables.schema import Coding

#: Arguments that a command does not take, or takes otherwise.
_UsageError: Any = typer.BadParameter.__base__
#: Large blocks: between two of them a thread has to wait for its turn.
_HASHED_BYTES = 1 << 24


def option(metavar: str, help: str, *names: str) -> Any:  # noqa: A002
    """An option with a value: what stands for it in the help, what it means, and its names if not the parameter's."""
    return typer.Option(*names, metavar=metavar, help=help)


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The table: CSV and other delimited text, JSON, Excel, Parquet, Arrow, SQLite, DuckDB or SVMlight (also "
        "gzip, bzip2, zstd); - is standard input.",
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="The table, or several files that are one table, a folder of them or a pattern in quotes: CSV and other "
        "delimited text, JSON, Excel, Parquet, Arrow, SQLite, DuckDB or SVMlight (also gzip, bzip2, zstd); - is "
        "standard input.",
    ),
]
DaskAddress = Annotated[str | None, option("ADDRESS", "Read the files by passes on a Dask cluster: tcp://host:8786.")]
SparkAddress = Annotated[str | None, option("URL", "Read the files by passes on Spark: spark://host:7077 or local[4].")]
Memory = Annotated[
    str | None,
    option(
        "SIZE",
        "Tables that would take more than a third of this, such as 500MB or 4GB, are read anew in every pass.  "
        "[default: the memory that is there]",
    ),
]
Checkpoint = Annotated[
    str | None,
    option("FILE", "With passes: keep what each has found, and go on from there when the command is given again."),
]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by discriminant fit.")]
Target = Annotated[
    str | None, option("COLUMN", "The column of classes (SVMlight has none: leave it out).", "--target", "-t")
]
Weights = Annotated[str | None, option("COLUMN", "Column of row weights; fractions are importances (survey weights).")]
Groups = Annotated[
    str | None, option("COLUMN", "A column of groups (patients, sites): their rows are held out together.")
]
Time = Annotated[
    str | None,
    option("COLUMN", "A date or number that orders the rows: each part is held out by fits to earlier rows."),
]
Drop = Annotated[list[str] | None, option("COLUMN", "Leave a column out; may be repeated.")]
Types = Annotated[
    list[str] | None,
    option(
        "COLUMN=KIND",
        "What a column is, taken as written: number, category, boolean, date, date-dmy (the day first) or "
        "date-mdy; may be repeated.",
    ),
]
Missing = Annotated[
    str | None,
    option(
        "POLICY",
        "Missing values: 'indicator' (the mean, and a column that marks them), 'drop' (leave the rows out) or "
        "'refuse'.  [default: indicator; drop with a formula]",
    ),
]
MissingCodes = Annotated[
    list[str] | None, option("TEXT", "What stands for a missing value, instead of NA, ? and the like; may be repeated.")
]
Rare = Annotated[
    int | None,
    option(
        "ROWS",
        "Levels with fewer rows count as (other), and columns that differ in fewer rows are left out; at most a "
        "twentieth of the rows. 1 keeps all.  [default: 5; 1 with a formula]",
    ),
]
DropClassesBelow = Annotated[
    int, option("ROWS", "Leave out classes with fewer rows, here and in evaluations. 1 keeps all.")
]
MergeClassesBelow = Annotated[
    int, option("ROWS", "Make classes with fewer rows one class, (other). 1 keeps all apart.")
]
MaxLevels = Annotated[
    int | None,
    option(
        "N", "A category keeps its N most frequent levels; others count as (other).  [default: 50; all with a formula]"
    ),
]
FormulaText = Annotated[
    str | None,
    option(
        "FORMULA",
        "The target and the terms of the model, such as 'ill ~ age + sex * dose + ns(bmi, df=4)'; needs the "
        "package formulaic.",
    ),
]
Table = Annotated[
    str | None, option("NAME", "The sheet of a workbook, or the table (or query) of a database.", "--table", "--sheet")
]
Delimiter = Annotated[str | None, option("CHAR", "What separates values, if not found out rightly.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns.", show_default=False),
]
Encoding = Annotated[str | None, option("NAME", "How the text is encoded, for example latin-1.")]
Decimal = Annotated[str | None, option("CHAR", "The decimal sign, point or comma.")]
Ragged = Annotated[str, option("POLICY", "Lines with another number of values: 'refuse', or 'skip' and count them.")]
Absent = Annotated[str, option("POLICY", "Columns of the training that are not there: 'refuse', or take as 'missing'.")]
Costs = Annotated[
    str | None,
    option(
        "FILE", "A table of costs: true classes in the first column, what is decided in the header, costs in the cells."
    ),
]
Positive = Annotated[
    str | None,
    option(
        "CLASS",
        "The positive class; one of more than two stands against the rest.  [default: the rarer of two; the second, if "
        "they are equally frequent]",
    ),
]
Output = Annotated[
    str | None,
    option(
        "FILE",
        "Where to, by its ending: .csv, .parquet, .feather or .arrow. CSV on standard output if not given, or -.",
        "--output",
        "-o",
    ),
]
Report = Annotated[str | None, option("FILE", "Also write a report to read in a browser (.html).")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


class _Commands(TyperGroup):
    """Commands whose complaints about arguments are safe to show."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _visible_complaints():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _visible_complaints():
            return super().invoke(ctx)


@contextmanager
def _visible_complaints() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = visible(error.message)
        raise


def application(name: str, help: str, epilog: str) -> typer.Typer:  # noqa: A002
    """A group of commands."""
    return typer.Typer(
        name=name,
        cls=_Commands,
        help=help,
        epilog=epilog,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function as a command: with its classes of options spread out, and ``--debug``; errors become messages."""
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
    hints = get_type_hints(function, include_extras=True)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}


def _options(function: Callable[..., None]) -> Iterator[inspect.Parameter]:
    """The parameters of a command, those of a class of options one by one: first its own, then inherited ones."""
    hints, groups = get_type_hints(function, include_extras=True), _groups(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in groups:
            yield parameter.replace(annotation=hints[parameter.name])
            continue
        kind = groups[parameter.name]
        declared = get_type_hints(kind, include_extras=True)
        own = [name for base in kind.__mro__ for name in inspect.get_annotations(base)]
        for name in own:
            yield parameter.replace(name=name, annotation=declared[name], default=getattr(kind, name))


@dataclass(frozen=True)
class TableOptions:
    """How a table is read."""

    table: Table = None
    delimiter: Delimiter = None
    header: Header = None
    encoding: Encoding = None
    decimal: Decimal = None
    ragged: Ragged = "refuse"

    def opened(
        self,
        data: Any,
        types: dict[str, str] | None = None,
        missing_codes: list[str] | None = None,
        target: str | None = None,
    ) -> TableReader:
        """The table itself, or several files as one; ``types`` say what its columns are."""
        from ..tables import open_table

        settings = self.reading(missing_codes)
        if isinstance(data, list):
            from ..tables.several import SeveralTables

            return SeveralTables(
                data, lambda path, more: open_table(path, target, types={**(types or {}), **more} or None, **settings)
            )
        return open_table(data, target, types=types or None, **settings)

    def reading(self, missing_codes: list[str] | None = None) -> dict[str, Any]:
        """How texts and databases are read, as `open_table` takes it."""
        return {
            "table": self.table,
            "delimiter": self.delimiter,
            "header": self.header,
            "encoding": self.encoding,
            "decimal": self.decimal,
            "missing_codes": missing_codes or None,
            "on_ragged": self.ragged,
        }


@dataclass(frozen=True)
class TrainingOptions(TableOptions):
    """How a labelled table is read, and its columns made numbers."""

    drop: Drop = None
    types: Types = None
    missing: Missing = None
    missing_codes: MissingCodes = None
    rare: Rare = None
    max_levels: MaxLevels = None
    drop_classes_below: DropClassesBelow = 1
    merge_classes_below: MergeClassesBelow = 1

    def training(
        self,
        data: str | list[str],
        target: str | None,
        weights: str | None = None,
        groups: str | None = None,
        model: str | None = None,
        coding: Coding = "reference",
        formula: str | None = None,
        time: str | None = None,
    ) -> Labelled:
        """The table with its rows coded and labelled; a model that will be fitted to it has to be known."""
        if model is not None:
            from ..estimators.registry import known_name

            known_name(model)
        with _Beside() as beside:
            # While this thread loads libraries and reads the file, it is hashed.
            hashed = beside.begin(_file_hash, data)
            from ..tables import read_training

            table = self.opened(data, pairs("--types", self.types or ()), self.missing_codes, target)
            drop, shared = list(self.drop or ()), self.treatment(formula is not None)
            roles: dict[str, Any] = {"target": target, "weights": weights, "groups": groups}
            read = None
            if formula is None:
                training = read_training(table, drop=drop, coding=coding, time=time, **roles, **shared)
            else:
                from ..formula import Formula

                read = Formula.parse(formula, table.columns, [weights, groups, *drop])
                if target not in (None, read.target):
                    raise ParameterError(f"--formula is of {read.target!r}, and --target of {target!r}. Leave one out.")
                roles["target"] = read.target
                training = read.training(table, weights=weights, groups=groups, **shared)
            columns = {role: name for role, name in roles.items() if name is not None}
            return Labelled(data, columns, self, table, training, hashed.result() or table.fingerprint, read)

    def treatment(self, by_formula: bool) -> dict[str, Any]:
        """What is done about gaps, rare levels and rare classes: a formula leaves out and pools less, as R does."""
        plain = ("drop", 1, 2**31 - 1) if by_formula else ("indicator", 5, 50)
        given = (self.missing, self.rare, self.max_levels)
        chosen = [default if own is None else own for own, default in zip(given, plain, strict=True)]
        return {
            **dict(zip(("missing", "rare", "max_levels"), chosen, strict=True)),
            "drop_classes_below": self.drop_classes_below,
            "merge_classes_below": self.merge_classes_below,
        }

    def words(self) -> list[str]:
        """The options that ask for the same, where they differ from what is taken without them."""
        words: list[str] = []
        for given in fields(self):
            value, option = getattr(self, given.name), f"--{given.name.replace('_', '-')}"
            if value == given.default:
                continue
            if isinstance(value, bool):
                words.append(option if value else f"--no-{given.name}")
                continue
            for one in value if isinstance(value, (list, tuple)) else [str(value)]:
                words += [option, one]
        return words


class _Beside:
    """Work on other threads that an error of this one does not wait for: it is told to stop, and left alone."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)
        self._unwanted = Event()

    def begin(self, work: Callable[..., Any], *about: Any) -> Future[Any]:
        return self._threads.submit(work, *about, self._unwanted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._unwanted.set()
        self._threads.shutdown(wait=error is None, cancel_futures=error is not None)


@dataclass(frozen=True)
class Labelled:
    """A table and what was read from it."""

    data: str | list[str]
    columns: dict[str, str]  #: the target, weights and groups, where there are any
    options: TrainingOptions
    table: TableReader
    training: TrainingTable
    sha256: str
    by_passes: ClassVar[bool] = False
    formula: Formula | None = None

    @property
    def rows(self) -> Any:
        """The coded rows, with the names of their columns where the table has names."""
        return self.training.X if self.training.schema.width is not None else self.training.rows

    @property
    def weights(self) -> dict[str, Any]:
        """The row weights as `fit` takes them."""
        return {} if self.training.weights is None else {"sample_weight": self.training.weights}

    @property
    def groups(self) -> dict[str, Any]:
        """The groups of the rows as `fit` takes them."""
        return {} if self.training.groups is None else {"groups": self.training.groups}

    def words(self) -> list[str]:
        """The arguments that ask for this table again, to fit a model to it."""
        words = list(self.data) if isinstance(self.data, list) else [self.data]
        for role, name in self.columns.items():
            words += [f"--{role}", name]
        return words + self.options.words()

    @property
    def n_rows(self) -> int:
        """How many rows are learned from."""
        return len(self.training.y)

    @property
    def read_as(self) -> str:
        """How the table is written, in words."""
        return self.table.read_as

    @property
    def labels(self) -> Any:
        """The class of each row."""
        return self.training.y

    def seen(self) -> dict[str, list[float]]:
        """What explanations of new rows compare with."""
        return self.training.seen()

    def confusion(self, model: Any) -> Any:
        """What a fitted model says of these rows beside their classes."""
        from ..evaluation import ConfusionMatrix

        found = model.predict(self.rows)
        return ConfusionMatrix.of(self.training.y, found, model.classes_, self.training.weights)

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows of each class."""
        import numpy as np

        target, codes = self.training.schema.target, self.training.codes
        assert target is not None
        return dict(zip(target.classes, np.bincount(codes, minlength=len(target.classes)).tolist(), strict=True))

    @property
    def source(self) -> dict[str, Any]:
        """What table it was: values that go with results and into model files."""
        target = self.training.schema.target
        return {
            "data": self.table.label,
            "sha256": self.sha256,
            "rows": len(self.training.y),
            "rows_left_out": self.training.n_dropped,
            "lines_skipped": self.table.skipped,
            "target": None if target is None else target.name,
            "columns": self.training.X.shape[1],
        }

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What is worth knowing about the table, the grave things first."""
        return told_findings(self.training.findings)


def files_of(data: list[str]) -> str | list[str]:
    """What is to be read: one file, standard input, or a list of files."""
    from ..files import is_pattern, paths_of

    if len(data) == 1 and not is_pattern(data[0]):
        return data[0]
    if "-" in data:
        raise ParameterError("- is standard input, which is one table. Give it alone.")
    found = paths_of(data)
    return found[0] if len(found) == 1 else found


def told_findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings as plain values in the words of this command, the grave ones first."""
    ordered = sorted(findings, key=lambda finding: finding.severity != "warning")
    return [{**finding.to_dict(), "message": told(finding.message)} for finding in ordered]


def _file_hash(data: str | list[str], unwanted: Event) -> str | None:
    """The SHA-256 of a file; None for what is no file, or cannot be read, and when nobody wants it any more."""
    digest, block = hashlib.sha256(), bytearray(_HASHED_BYTES)
    try:
        if isinstance(data, list) or not os.path.isfile(data):  # a pipe can be read once only
            return None
        with open(data, "rb", buffering=0) as file:
            while size := file.readinto(block):
                if unwanted.is_set():
                    return None
                digest.update(memoryview(block)[:size])
    except OSError:
        return None
    return digest.hexdigest()


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Options of the form ``NAME=VALUE`` as a dict; the value is what follows the last ``=``."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise ParameterError(f"{option} takes NAME=VALUE, got {text!r}.")
        found[name] = value
    return found


def read_costs(path: str | None, classes: Sequence[Any]) -> dict[Any, dict[Any, float]] | None:
    """The costs of a file; how they were read is told, so that a table written the other way round is noticed."""
    if path is None:
        return None
    from ..decision.costs import costs_in_words, read_cost_file

    costs = read_cost_file(path, classes)
    say(costs_in_words(costs))
    return costs


def read_positive(text: str | None, classes: Sequence[Any]) -> Any:
    """The class that is written like this; what is none of them is refused where it is used."""
    from ..decision.costs import class_written

    return None if text is None else class_written(text, classes)


def read_priors(text: str | None, classes: Sequence[Any]) -> dict[Any, float] | None:
    """Priors written ``a=0.3,b=0.7``."""
    if text is None:
        return None
    from ..decision.costs import class_written

    found = {}
    for name, value in pairs("--priors", text.split(",")).items():
        try:
            found[class_written(name.strip(), classes)] = float(value)
        except ValueError:
            raise ParameterError(f"--priors: the prior of {name!r} must be a number, got {value!r}.") from None
    return found
