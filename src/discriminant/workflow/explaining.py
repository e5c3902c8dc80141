"""Explain a stored model, and its prediction for one row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ..errors import ColumnError, DegenerateDataError, InputError, ParameterError
from ..results import quoted, suggestion
from .fitting import learned_values
from .stored import StoredModel, numbered_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from sklearn.base import BaseEstimator

    from ..decision import Decision
    from ..tables import TableReader

# A row is explained column by column up to this many scored values: about a second.
MAX_SCORED_VALUES: Final = 50_000_000
_NEXT_PAIR = re.compile(r",(?=[^,=]+=)")


def explain_model(stored: StoredModel) -> dict[str, Any]:
    """The learned values of a model, with column effects or a nomogram, and its training data."""
    from ..estimators.explanations import column_effects, nomogram, word_effects
    from ..estimators.pair_effects import pair_effects

    points, note, effects, pairs, words = None, None, None, None, None
    if "lowest" in stored.training:
        lowest, highest, means = (stored.training[name] for name in ("lowest", "highest", "means"))
        if _needs_effects(stored.model) and 50 * len(lowest) ** 2 <= MAX_SCORED_VALUES:
            effects = column_effects(stored.model, means, lowest, highest, stored.schema)
            pairs = pair_effects(stored.model, means, lowest, highest, stored.schema)
        if hasattr(stored.model, "decision_function"):
            words = word_effects(stored.model, means, stored.schema)
        try:
            points = nomogram(stored.model, lowest, highest, stored.schema)
        except DegenerateDataError as error:
            note = error
        except ParameterError:
            pass  # this model has no nomogram
    return {
        "file": stored.path,
        "saved": stored.metadata["saved"],
        "training": {name: stored.training.get(name) for name in ("data", "rows", "sha256")},
        "training_metrics": stored.metadata["metrics"],
        **(stored.metadata.get("learned") or learned_values(stored.model, stored.schema)),
        "effects": effects,
        "pairs": pairs if pairs is not None and pairs.rows else None,
        "words": words,
        "nomogram": points,
        "no_nomogram": note,
    }


def _needs_effects(model: BaseEstimator) -> bool:
    """Whether the model has no coefficients, or coefficients that do not show the effect of a column."""
    return hasattr(model, "decision_function") and (hasattr(model, "basis_") or not hasattr(model, "coef_"))


def row_of_table(table: TableReader, wanted: int) -> pa.Table:
    """The row of a table with this number, as a table of one row."""
    rows = 0
    for first, batch in numbered_batches(table):
        rows = first + batch.num_rows
        if 0 <= wanted - first < batch.num_rows:
            return batch.slice(wanted - first, 1)
    raise InputError(f"{table.label} has no row {wanted}. Row numbers: 0 to {rows - 1:,}.")


def row_of_values(stored: StoredModel, text: str) -> pa.Table:
    """A table of one row from ``a=1,b=2``."""
    import pyarrow as pa

    names = [column.name for column in stored.schema.used]
    values = {}
    for part in _NEXT_PAIR.split(text):
        name, sign, value = part.partition("=")
        if not sign:
            raise ParameterError(f"--row takes a row number or values such as 'a=1,b=2', got {text!r}.")
        if name.strip() not in names:
            near = suggestion(name.strip(), names)
            raise ColumnError(f"The model has no column {name.strip()!r}.{near} Columns: {quoted(names, 20)}.")
        values[name.strip()] = [value.strip()]
    return pa.table(values)


def explain_row(
    stored: StoredModel, decision: Decision | None, batch: pa.Table, missing_columns: str
) -> dict[str, Any]:
    """The prediction for one row, with the contribution of each column and the reasons of the decision."""
    from ..decision import Decision
    from ..estimators.explanations import contributions

    X, kept = stored.coded(batch, missing_columns)
    if kept is not None and not kept.all():
        raise ParameterError(
            "This row has a missing value; the model was fitted without such rows (--missing drop). Give the value."
        )
    means, sources = stored.training.get("means"), stored.schema.sources
    is_small = (len(set(sources)) + 2) * len(sources) <= MAX_SCORED_VALUES
    own, added = stored.model.predict(X).tolist()[0], None
    if is_small and means is not None:
        raw = (
            None if stored.schema.width is not None else {name: values[0] for name, values in batch.to_pydict().items()}
        )
        added = contributions(stored.model, X, means, stored.schema, raw)
    values = {"file": stored.path, "prediction": own, "own_answer": own, "unseen_levels": stored.report.unseen}
    values["contributions"] = added
    if hasattr(stored.model, "predict_proba"):
        why = (decision or Decision()).explain(stored.posterior(X))
        values |= {
            "prediction": own if decision is None else why.action,
            "probabilities": {str(name): p for name, p in why.probabilities.items()},
            "expected_costs": {str(name): cost for name, cost in why.risks.items()},
            "why": str(why),
        }
    return values
