"""A model file and how its model answers rows of a table; ``discriminant export``: the model in another language."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DiscriminantError, InputError, ModelFileError
from ..results import Finding, several
from ..results import shortened as short
from . import options
from .console import check_output, file_or_none, put, say, show, tell_findings, visible_lines
from .options import TableOptions, command, option, read_priors

if TYPE_CHECKING:
    from ..decision import Decision, Posterior
    from ..tables import EncodingReport, Schema, TableReader


@dataclass
class StoredModel:
    """A fitted model with the schema of its rows and what was noted when it was fitted."""

    path: str
    model: Any
    schema: Schema
    metadata: dict[str, Any]
    report: EncodingReport = field(init=False)  #: what was decided about the rows so far
    left_out: int = 0  #: incomplete rows, where the schema leaves them out

    def __post_init__(self) -> None:
        from ..tables import EncodingReport

        self.report = EncodingReport()

    @property
    def classes(self) -> list[Any]:
        found: list[Any] = self.model.classes_.tolist()
        return found

    @property
    def training(self) -> dict[str, Any]:
        """What was noted of the training rows."""
        return self.metadata.get("training") or {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or self.metadata["class"])

    def table(self, reading: TableOptions, data: str | list[str], absent: str) -> TableReader:
        """A table of rows, its columns read as those of the training were."""
        from ..tables.sources import open_source

        file, types = data if isinstance(data, list) else open_source(data), self.schema.types
        if absent == "missing":
            there = reading.opened(file).columns
            types = {name: kind for name, kind in types.items() if name in there}
        table = reading.opened(file, types if self.schema.width is None else None)
        tell_findings(table.findings)
        return table

    def coded(self, batch: Any, absent: str, first_row: int = 0) -> tuple[Any, Any]:
        """The coded rows of a batch, and which of its rows they are (None: all)."""
        X, report = self.schema.encode_batch(batch, absent=absent, first_row=first_row)
        self.left_out += report.n_dropped
        self.report = self.report + replace(report, kept=None)
        named = self.schema.width is None and X.shape[0] > 0
        return (self.schema.rows(X) if named else X), report.kept

    def posterior(self, X: Any) -> Posterior:
        """The probabilities of coded rows, with the priors they rest on."""
        from ..decision import posterior
        from ..decision.posteriors import kept_priors

        shares = self.training.get("shares")
        return posterior(self.model, X, None if kept_priors(self.model) is not None else shares)

    def decision(self, costs: str | None, reject_cost: float | None, priors: str | None) -> Decision | None:
        """The rule that decides, or None where the model's own answer is taken."""
        if costs is None and reject_cost is None and priors is None:
            return None
        from ..decision import Decision
        from ..decision.posteriors import refuse_margins

        refuse_margins(self.model)
        read = options.read_costs(costs, self.classes)
        return Decision(read, reject_cost=reject_cost, priors=read_priors(priors, self.classes))

    def tell_unseen(self) -> None:
        """The levels that training had not, on standard error."""
        told_of = zip(self.report.unseen, self.report.unseen_notes(), strict=True)
        tell_findings(Finding("note", "unseen levels", name, f"{note}.") for name, note in told_of)

    def tell_report(self) -> None:
        """What had to be decided on the way, on standard error."""
        report = self.report
        if any((report.filled, report.new_missing, report.extra, report.absent)):
            say(f"{report.summary()}.")
        tell_findings(Finding("warning", "unread", name, told) for name, told in report.unreadable().items())
        self.tell_unseen()
        if self.left_out:
            say(several(self.left_out, "incomplete row has", "incomplete rows have") + " no answer.")


def opened(path: str, to_predict: bool = False) -> StoredModel:
    """A model file with all a command needs to answer rows; ``to_predict``: and to do nothing else with its model."""
    from ..storage.model_file import read_model_file, read_to_predict
    from ..storage.stored_rule import StoredRule
    from ..tables.schema import Schema

    file = read_to_predict(path) if to_predict else read_model_file(path)
    if file.schema is None:
        raise InputError(
            f"{path} was saved without a schema, so it is not known which columns it takes. Write it with discriminant "
            "fit, or give save(..., schema=...)."
        )
    schema = Schema.from_dict(file.schema)
    if isinstance(file.model, StoredRule) and schema.names != tuple(file.model.feature_names_in_):
        return opened(path)  # the model itself looks at columns that are not its own
    return StoredModel(path, file.model, schema, file.metadata)


@contextmanager
def kept_values(path: str) -> Iterator[None]:
    """What a file keeps beside its model is JSON of any form: where it is not what `fit` wrote, that is the reason."""
    try:
        yield
    except DiscriminantError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"What {path} keeps beside its model is not what discriminant fit writes ({type(error).__name__}: "
            f"{short(error, 200)}). Fit the model again; --debug shows where this comes from."
        ) from error


def batches(table: TableReader, rows: int = 65536) -> Iterator[tuple[int, Any]]:
    """The batches of a table with the number of their first row."""
    first = 0
    for batch in table.batches(rows):
        yield first, batch
        first += batch.num_rows


@command
def export(
    model: options.ModelPath,
    to: Annotated[str, option("LANGUAGE", "python, sql, json or onnx.", "--to")],
    output: Annotated[
        str | None, option("FILE", "Where to; standard output if not given, or -.", "--output", "-o")
    ] = None,
    dialect: Annotated[
        str | None, option("DATABASE", "For SQL, and needed there: duckdb, postgresql or sqlite.")
    ] = None,
    table: Annotated[str, option("NAME", "For SQL, the table of the rows.")] = "data",
    keep: Annotated[list[str] | None, option("COLUMN", "For SQL, a column to pass on; may be repeated.")] = None,
    overwrite: options.Overwrite = False,
    json: Annotated[bool, typer.Option("--json", help="With -o, what was written as JSON.")] = False,
) -> None:
    """Write a model as Python, SQL, JSON or ONNX.

    What is written gives the same answers to raw values without this package.

    \b
    Examples:
      discriminant export model.dsc --to sql --dialect duckdb --table patients --keep id > score.sql
      discriminant export model.dsc --to python -o model.py
      discriminant export model.dsc --to onnx -o model.onnx
    """
    from ..storage.export import export as exported
    from ..storage.model_file import read_model_file

    output = file_or_none(output)
    check_output(output, overwrite, model)
    file = read_model_file(model)
    written = exported(file.model, to, output, file.schema, dialect, table, keep or ())  # type: ignore[arg-type]
    if output is not None:
        show({"model": model, "to": to, "file": output}, lambda found: [f"Written to {found['file']}."], json)
    elif isinstance(written, bytes):
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
    else:
        text = written if written.endswith("\n") else written + "\n"
        put(visible_lines(text) if sys.stdout.isatty() else text)
