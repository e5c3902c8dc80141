"""``discriminant predict``: answers to the rows of a table of any length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, ParameterError
from ..results import several
from . import options
from .console import Page, check_output, file_or_none, shortened, show, table_writer
from .modelfile import StoredModel, batches, opened
from .options import TableOptions, command, files_of, option

if TYPE_CHECKING:
    from ..decision import Decision

_BATCH_ROWS = 8192


@command
def predict(
    model: options.ModelPath,
    data: options.Files,
    output: options.Output = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of each class.")] = False,
    ambiguous: Annotated[
        bool,
        typer.Option("--ambiguous", help="Also whether classes made of binary models claim a row: one, none, several."),
    ] = False,
    costs: options.Costs = None,
    reject_cost: Annotated[
        float | None, option("COST", "What it costs to abstain; then rows may get 'abstain'.")
    ] = None,
    priors: Annotated[str | None, option("A=0.3,B=0.7", "Shares of the classes where the rows come from.")] = None,
    keep: Annotated[list[str] | None, option("COLUMNS", "Columns to pass on, separated by commas.")] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Pass on all columns.")] = False,
    formulas: Annotated[
        str,
        option(
            "CHOICE",
            "In CSV, text that a spreadsheet would run (it begins with = + - @): 'refuse', 'keep' it as it is for "
            "other programs, or 'quote' it with an apostrophe for spreadsheets.",
        ),
    ] = "refuse",
    absent: options.Absent = "refuse",
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
    json: Annotated[bool, typer.Option("--json", help="With -o, what was counted on the way as JSON.")] = False,
) -> None:
    """Predict the rows of a table, however long it is.

    Every row of the table has a row in the result, in the same order. Levels that training had not, missing values
    that were filled and columns that were ignored are counted on standard error.

    \b
    Examples:
      discriminant predict model.dsc new.csv > predictions.csv
      discriminant predict model.dsc new.parquet -o out.parquet --proba --keep id
      discriminant predict model.dsc "new/*.parquet" -o out.parquet
      discriminant predict model.dsc new.csv --costs costs.csv --reject-cost 0.5 -o out.csv
      discriminant predict model.dsc new.csv --priors ill=0.01,healthy=0.99 | head
    """
    output = file_or_none(output)
    check_output(output, overwrite, model, *data, costs)
    if json and output is None:
        raise ParameterError("--json tells what was counted; standard output is taken by the rows. Give -o FILE.")
    stored = opened(model, to_predict=True)
    decision = stored.decision(costs, reject_cost, priors)
    table = stored.table(reading, files_of(data), absent)
    kept = _kept_columns(table, keep or [], keep_all)
    answers = _Answers(stored, decision, proba, kept, absent, ambiguous)
    with table_writer(output, formulas) as write:
        for part in answers.of(table):
            write(part)
    stored.tell_report()
    if output is not None:
        show(_counted(stored, answers, output), _page, json)


def _kept_columns(table: Any, keep: Sequence[str], everything: bool) -> list[str]:
    """The columns to pass on; a name with commas in it is taken whole."""
    if everything:
        return list(table.columns)
    names = [name for text in keep for name in ([text] if text in table.columns else map(str.strip, text.split(",")))]
    return [table.known(name) for name in dict.fromkeys(names)]


class _Answers:
    """Answers to a table, part by part, as pyarrow tables of one form."""

    def __init__(
        self, stored: StoredModel, decision: Decision | None, proba: bool, kept: list[str], absent: str,
        ambiguous: bool = False,
    ) -> None:  # fmt: skip
        import pyarrow as pa

        from ..decision.posteriors import refuse_margins

        if proba:
            refuse_margins(stored.model)
        self.stored, self.decision, self.proba, self.kept, self.absent = stored, decision, proba, kept, absent
        if ambiguous and not hasattr(stored.model, "ambiguous"):
            raise ParameterError(f"--ambiguous is of classes made of binary models, which {stored.name} is not.")
        self.ambiguous = ambiguous
        self.counts: Counter[Any] = Counter()
        made = ["prediction", *(["claimed"] if ambiguous else []), *(self._probability_names() if proba else [])]
        taken = [name for name in kept if name in made]
        if taken:
            raise ParameterError(f"Column {taken[0]!r} cannot be passed on: the result has a column of that name.")
        self.schema: Any = None
        # One type for all answers: text, where actions such as 'abstain' stand beside classes that are numbers.
        classes = stored.model.classes_
        actions = classes if decision is None else decision.actions_for(classes)
        self.as_text = actions.dtype == object
        self.label_type = pa.string() if self.as_text else pa.array(actions).type

    def _probability_names(self) -> list[str]:
        return [f"probability_{label}" for label in self.stored.classes]

    def of(self, table: Any) -> Iterator[Any]:
        """The answers to the rows of a table."""
        import pyarrow as pa

        from ..engine import progress_bar

        pa.set_io_thread_count(1)  # one block ahead is enough, and every further one is memory
        total = None if table.n_rows is None else -(-table.n_rows // _BATCH_ROWS)
        with progress_bar("predicting", total, None) as advance:  # type: ignore[arg-type]
            for first, batch in batches(table, _BATCH_ROWS):
                yield self._answered(batch, first)
                pa.default_memory_pool().release_unused()
                advance()

    def _answered(self, batch: Any, first: int) -> Any:
        import pyarrow as pa

        X, kept_rows = self.stored.coded(batch, self.absent, first)
        labels, probabilities = self._decided(X)
        self.counts.update(labels)
        columns: dict[str, Any] = {}
        for name in self.kept:  # texts are written out: codes of texts differ from part to part
            is_coded = pa.types.is_dictionary(batch[name].type)
            columns[name] = batch[name].cast(pa.string()) if is_coded else batch[name]
        columns["prediction"] = _spread(pa.array(labels, self.label_type), kept_rows)
        if self.ambiguous:
            found = self.stored.model.ambiguous(X)
            claimed = ["none" if none else "several" if more else "one"
                       for none, more in zip(found.none, found.several, strict=True)]  # fmt: skip
            columns["claimed"] = _spread(pa.array(claimed, pa.string()), kept_rows)
        if probabilities is not None:
            for name, values in zip(self._probability_names(), probabilities.T, strict=True):
                columns[name] = _spread(pa.array(values), kept_rows)
        return self._in_form(pa.table(columns))

    def _decided(self, X: Any) -> tuple[list[Any], Any]:
        """The answer to each coded row, and its probabilities where they are wanted."""
        import numpy as np

        if not X.shape[0]:
            return [], np.empty((0, len(self.stored.classes))) if self.proba else None
        if self.decision is None:
            found = self.stored.model.predict_proba(X) if self.proba else None
            return self._uniform(self.stored.model.predict(X)), found
        posterior = self.stored.posterior(X)
        found = self.decision.posterior_used(posterior).probabilities if self.proba else None
        return self._uniform(self.decision.decide(posterior)), found

    def _uniform(self, labels: Any) -> list[Any]:
        return [str(label) for label in labels.tolist()] if self.as_text else labels.tolist()

    def _in_form(self, part: Any) -> Any:
        """The part with the types of the first one."""
        import pyarrow as pa

        if self.schema is None:
            self.schema = part.schema
        if part.schema == self.schema:
            return part
        try:
            return part.cast(self.schema)
        except pa.ArrowException as error:
            name = next(name for name in part.column_names if part.schema.field(name) != self.schema.field(name))
            was, now = self.schema.field(name).type, part.schema.field(name).type
            raise InputError(
                f"Column {name!r} is passed on, but changes its type on the way: {was} first, then {now}. Leave it out "
                "of --keep."
            ) from error


def _spread(values: Any, kept: Any) -> Any:
    """The values of the rows that were kept, with nothing in the others."""
    import numpy as np
    import pyarrow as pa

    if kept is None or kept.all():
        return values
    places = np.where(kept, np.cumsum(kept) - 1, -1)
    return values.take(pa.array(places, mask=~kept))


def _counted(stored: StoredModel, answers: _Answers, output: str) -> dict[str, Any]:
    report = stored.report
    return {
        "model": stored.path,
        "rows": report.n_rows,
        "rows_without_answer": stored.left_out,
        "predictions": {str(label): count for label, count in answers.counts.items()},
        "filled": report.filled,
        "unseen_levels": report.unseen,
        "columns_ignored": list(report.extra),
        "columns_taken_as_missing": list(report.absent),
        "file": output,
    }


def _page(found: dict[str, Any]) -> Page:
    rows = [[label, f"{count:,}"] for label, count in found["predictions"].items()]
    return [
        *shortened("Predictions", ["prediction", "rows"], rows),
        f"{several(found['rows'], 'row')} written to {found['file']}.",
    ]
