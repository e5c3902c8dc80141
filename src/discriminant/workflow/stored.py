"""Model files: opened, and their predictions for the rows of a table of any length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DiscriminantError, InputError, ModelFileError, ParameterError
from ..results import Finding
from ..results import shortened as short
from .tables import Reading, TableSource

if TYPE_CHECKING:
    import pyarrow as pa

    from ..arrays import Array, MatrixLike
    from ..decision import Decision, Posterior
    from ..estimators.coefficients import CoefficientTable
    from ..estimators.prediction_sets import PredictionSets
    from ..tables import EncodingReport, Schema, TableReader
    from .comparing import CostTable

# Rows predicted at a time: enough to keep two threads busy, few enough to stay below 100 MB.
BATCH_ROWS: Final = 8192
# Rows of a batch where a table is only scanned.
SCAN_ROWS: Final = 65536


@dataclass
class StoredModel:
    """A fitted model with the schema of its rows and the metadata of its fit."""

    path: str
    model: Any
    schema: Schema
    metadata: dict[str, Any]
    report: EncodingReport = field(init=False)  #: how the rows so far differed from training
    n_incomplete: int = 0  #: incomplete rows, if the schema excludes them

    def __post_init__(self) -> None:
        from ..tables import EncodingReport

        self.report = EncodingReport()

    @property
    def classes(self) -> list[Any]:
        """The classes in their order."""
        found: list[Any] = self.model.classes_.tolist()
        return found

    @property
    def order(self) -> list[Any] | None:
        """The classes from the lowest to the highest, of a model of ordered classes."""
        own = getattr(self.model, "estimator_", self.model)
        return own.classes_order_.tolist() if hasattr(own, "classes_order_") else None

    @property
    def training(self) -> dict[str, Any]:
        """The metadata of the training data."""
        with checked_metadata(str(self.path)):
            return dict(self.metadata.get("training") or {})

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.metadata.get("name") or self.metadata["class"])

    @property
    def coefficients(self) -> CoefficientTable | None:
        """The table of coefficients in the file."""
        from ..estimators.coefficients import CoefficientTable

        found = (self.metadata.get("learned") or {}).get("coefficients")
        return None if found is None else CoefficientTable.from_dict(found)

    def table(self, reading: Reading, data: TableSource, missing_columns: str = "refuse") -> TableReader:
        """Open a table, with the column types of the training data."""
        from ..tables.files import open_source

        file, types = open_source(data) if isinstance(data, str) else data, self.schema.types
        if missing_columns == "missing":
            present = reading.open(file).columns
            types = {name: kind for name, kind in types.items() if name in present}
        return reading.open(file, types if self.schema.width is None else None)

    def coded(self, batch: pa.Table, missing_columns: str = "refuse", first_row: int = 0) -> tuple[Any, Array | None]:
        """The coded rows of a batch, and a mask of the rows that were kept (None: all)."""
        X, report = self.schema.encode_batch(batch, missing_columns=missing_columns, first_row=first_row)
        self.n_incomplete += report.n_dropped
        self.report = self.report + replace(report, kept=None)
        named = self.schema.width is None and X.shape[0] > 0
        return (self.schema.rows(X) if named else X), report.kept

    def posterior(self, X: MatrixLike) -> Posterior:
        """The posterior of coded rows, with the priors of the model."""
        from ..decision import posterior
        from ..decision.posteriors import kept_priors

        shares = self.training.get("shares")
        return posterior(self.model, X, None if kept_priors(self.model) is not None else shares)

    def decision(
        self, costs: CostTable | None, reject_cost: float | None, priors: Mapping[Hashable, float] | None
    ) -> Decision | None:
        """The decision rule; None to predict the most probable class."""
        if costs is None and reject_cost is None and priors is None:
            return None
        from ..decision import Decision
        from ..decision.posteriors import refuse_margins

        refuse_margins(self.model)
        return Decision(costs, reject_cost=reject_cost, priors=priors)

    @property
    def unseen_findings(self) -> list[Finding]:
        """The unseen levels."""
        counted = zip(self.report.unseen, self.report.unseen_notes(), strict=True)
        return [Finding("note", "unseen levels", name, f"{note}.") for name, note in counted]

    @property
    def findings(self) -> list[Finding]:
        """The findings in the rows so far."""
        unread = self.report.unreadable().items()
        return [*(Finding("warning", "unread", name, text) for name, text in unread), *self.unseen_findings]


def open_model(path: str | Path, to_predict: bool = False) -> StoredModel:
    """Open a model file with its schema; with ``to_predict`` the model only predicts, which loads faster."""
    from ..storage.model_file import StoredRule, read_model_file, read_to_predict
    from ..tables.schema import Schema

    file = read_to_predict(path) if to_predict else read_model_file(path)
    if file.schema is None:
        raise InputError(
            f"{path} has no schema, so its columns are unknown. Write it with discriminant fit, or with save(..., "
            "schema=...)."
        )
    schema = Schema.from_dict(file.schema)
    if isinstance(file.model, StoredRule) and schema.names != tuple(file.model.feature_names_in_):
        return open_model(path)  # only the whole model checks columns that differ from its own
    return StoredModel(str(path), file.model, schema, file.metadata)


def export_model(
    path: str | Path, to: str, output: str | None, dialect: str | None, sql_table: str, keep: Sequence[str]
) -> str | bytes:
    """The model of a file in another language; the last three parameters are for SQL."""
    from ..storage.export import export
    from ..storage.model_file import read_model_file

    file = read_model_file(path)
    return export(file.model, to, output, file.schema, dialect, sql_table, keep)  # type: ignore[arg-type]


@contextmanager
def checked_metadata(path: str) -> Iterator[None]:
    """Refuse metadata of a model file, which can be any JSON, if it does not have the form that `fit` writes."""
    try:
        yield
    except DiscriminantError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path}: metadata not as written by discriminant fit ({type(error).__name__}: {short(error, 200)}). Fit "
            "the model again; --debug shows the traceback."
        ) from error


def numbered_batches(table: TableReader, rows: int = SCAN_ROWS) -> Iterator[tuple[int, Any]]:
    """The batches of a table with the number of their first row."""
    first = 0
    for batch in table.batches(rows):
        yield first, batch
        first += batch.num_rows


def kept_columns(table: TableReader, keep: Sequence[str], everything: bool) -> list[str]:
    """The columns to copy to the output; a text with commas is a list, unless it is the name of a column."""
    if everything:
        return list(table.columns)
    names = [name for text in keep for name in ([text] if text in table.columns else map(str.strip, text.split(",")))]
    return [table.known(name) for name in dict.fromkeys(names)]


@dataclass(frozen=True)
class PredictionColumns:
    """What is written beside the prediction of each row."""

    proba: bool = False  #: the probability of each class
    keep: Sequence[str] = ()  #: columns copied from the table
    ambiguous: bool = False  #: how many of the binary models claim the row
    sets: PredictionSets | None = None  #: the prediction set


class Predictions:
    """Predictions for a table, batch by batch, as pyarrow tables of one schema, with counts by class."""

    def __init__(
        self,
        stored: StoredModel,
        decision: Decision | None = None,
        columns: PredictionColumns = PredictionColumns(),
        missing_columns: str = "refuse",
    ) -> None:
        import pyarrow as pa

        from ..decision.posteriors import refuse_margins

        if columns.proba:
            refuse_margins(stored.model)
        if columns.ambiguous and not hasattr(stored.model, "ambiguous"):
            raise ParameterError(f"--ambiguous needs a multiclass scheme of binary models; {stored.name} is not one.")
        self.stored, self.decision, self.columns, self.missing_columns = stored, decision, columns, missing_columns
        self.counts: Counter[Any] = Counter()
        self._probabilities = [f"probability_{label}" for label in stored.classes] if columns.proba else []
        marks = (["claimed"] if columns.ambiguous else []) + (["set"] if columns.sets else [])
        made = ["prediction", *marks, *self._probabilities]
        if taken := [name for name in columns.keep if name in made]:
            raise ParameterError(
                f"Column {taken[0]!r} cannot be copied: the output has a column of that name. Rename it."
            )
        self._schema: Any = None
        # One type for all predictions: text if there are actions such as 'abstain' and classes that are numbers.
        classes = stored.model.classes_
        actions = classes if decision is None else decision.actions_for(classes)
        self._as_text = actions.dtype == object
        self._label_type = pa.string() if self._as_text else pa.array(actions).type

    def of(self, table: TableReader) -> Iterator[pa.Table]:
        """The predictions for the rows of a table."""
        import pyarrow as pa

        from ..engine import progress_bar

        pa.set_io_thread_count(1)  # one block ahead is enough; more need memory
        total = None if table.n_rows is None else -(-table.n_rows // BATCH_ROWS)
        with progress_bar("predicting", total, None) as advance:  # type: ignore[arg-type]
            for first, batch in numbered_batches(table, BATCH_ROWS):
                yield self.predicted(batch, first)
                pa.default_memory_pool().release_unused()
                advance()

    def predicted(self, batch: pa.Table, first: int = 0) -> pa.Table:
        """The predictions for a batch."""
        import pyarrow as pa

        X, kept_rows = self.stored.coded(batch, self.missing_columns, first)
        labels, probabilities = self._decided(X)
        self.counts.update(labels)
        columns: dict[str, Any] = {}
        for name in self.columns.keep:  # dictionary codes differ from batch to batch
            is_coded = pa.types.is_dictionary(batch[name].type)
            columns[name] = batch[name].cast(pa.string()) if is_coded else batch[name]
        columns["prediction"] = _expanded(pa.array(labels, self._label_type), kept_rows)
        if self.columns.ambiguous:
            found = self.stored.model.ambiguous(X)
            claimed = ["none" if none else "several" if more else "one"
                       for none, more in zip(found.none, found.several, strict=True)]  # fmt: skip
            columns["claimed"] = _expanded(pa.array(claimed, pa.string()), kept_rows)
        if self.columns.sets is not None:
            found = ["|".join(map(str, own)) for own in self.columns.sets.predict(X)] if X.shape[0] else []
            columns["set"] = _expanded(pa.array(found, pa.string()), kept_rows)
        if probabilities is not None:
            for name, values in zip(self._probabilities, probabilities.T, strict=True):
                columns[name] = _expanded(pa.array(values), kept_rows)
        return self._uniform(pa.table(columns))

    def _decided(self, X: Array) -> tuple[list[Any], Array | None]:
        """The prediction for each coded row, and its probabilities if requested."""
        import numpy as np

        probabilities: Array | None = None
        if not X.shape[0]:
            return [], np.empty((0, len(self.stored.classes))) if self.columns.proba else None
        if self.decision is None:
            labels = self.stored.model.predict(X)
            probabilities = self.stored.model.predict_proba(X) if self.columns.proba else None
        else:
            posterior = self.stored.posterior(X)
            labels = self.decision.decide(posterior)
            probabilities = self.decision.posterior_used(posterior).probabilities if self.columns.proba else None
        return [str(label) for label in labels.tolist()] if self._as_text else labels.tolist(), probabilities

    def _uniform(self, part: pa.Table) -> pa.Table:
        """The part with the column types of the first part."""
        import pyarrow as pa

        if self._schema is None:
            self._schema = part.schema
        if part.schema == self._schema:
            return part
        try:
            return part.cast(self._schema)
        except pa.ArrowException as error:
            name = next(name for name in part.column_names if part.schema.field(name) != self._schema.field(name))
            was, now = self._schema.field(name).type, part.schema.field(name).type
            raise InputError(
                f"Column {name!r} changes its type from {was} to {now} between batches and cannot be copied. Leave it "
                "out of --keep."
            ) from error


def _expanded(values: pa.Array, kept: Array | None) -> pa.Array:
    """The values of the rows that were kept, with nulls for the others."""
    import numpy as np
    import pyarrow as pa

    if kept is None or kept.all():
        return values
    places = np.where(kept, np.cumsum(kept) - 1, -1)
    return values.take(pa.array(places, mask=~kept))


def write_csv(parts: Iterable[pa.Table], path: Path) -> None:
    """Write predictions as a CSV that spreadsheets can open."""
    from pyarrow.csv import CSVWriter

    from ..files import whole_file
    from ..tables.csv_injection import without_formulas

    with whole_file(path) as sink:
        writer: Any = None
        for part in parts:
            writer = writer or CSVWriter(str(sink), part.schema)
            writer.write_table(without_formulas(part, "quote"))
        if writer is not None:
            writer.close()
