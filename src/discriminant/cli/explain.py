"""``discriminant explain``: what a model has learned, and why it decided a row as it did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .console import Page, name_columns, say, shortened, show
from .modelfile import Answering, batches, opened
from .options import TableOptions, command

if TYPE_CHECKING:
    from ..decision import Decision

#: A row is explained column by column up to this many scored values.
_MOST_VALUES = 50_000_000
_NEXT_PAIR = re.compile(r",(?=[^,=]+=)")


@command
def explain(
    model: options.ModelPath,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The table of the row, where --row is a number.")
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|VALUES", help="A row of DATA by its number (the first is 0), or 'a=1,b=2'."),
    ] = None,
    costs: options.Costs = None,
    reject_cost: Annotated[float | None, typer.Option(metavar="COST", help="What it costs to abstain.")] = None,
    priors: Annotated[
        str | None, typer.Option(metavar="A=0.3,B=0.7", help="Shares of the classes where the row comes from.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain a model, or its decision on one row.

    Coefficients, odds and points to add up by hand; of a row, what each column adds to the score.

    \b
    Examples:
      discriminant explain model.dsc
      discriminant explain model.dsc new.csv --row 17 --costs costs.csv
      discriminant explain model.dsc --row "age=41,sex=female"
    """
    from .costs import read_cost_file

    answering = opened(model)
    name_columns(answering.schema.names)
    if row is None:
        show(_explained_model(answering), _model_page, json)
        return
    decision = answering.decision(read_cost_file(costs, answering.classes), reject_cost, priors)
    X, shown = _coded_row(answering, data, row)
    show(_explained_row(answering, decision, X, shown), _row_page, json)


def _explained_model(answering: Answering) -> dict[str, Any]:
    from .nomogram import nomogram
    from .summary import learned

    values = answering.metadata.get("learned") or learned(answering.model, answering.schema.names)
    noted = {name: answering.training.get(name) for name in ("data", "rows", "sha256")}
    return {
        "file": answering.path,
        "saved": answering.metadata["saved"],
        "training": noted,
        "training_metrics": answering.metadata["metrics"],
        **values,
        "nomogram": nomogram(answering),
    }


def _model_page(found: dict[str, Any]) -> Page:
    from .nomogram import nomogram_page
    from .summary import learned_page

    noted = found["training"]
    of = f", fitted to {noted['rows']:,} rows of {noted['data']}" if noted["rows"] is not None else ""
    points = nomogram_page(found["nomogram"]) if found["nomogram"] else []
    if any(row.get("infinite") for row in found.get("coefficients", ())):
        points = [
            "There are no points to add up: some coefficients are infinite. A fit with --set firth=true has them."
        ]
    return [f"{found['model']}{of}, saved {found['saved']}", *learned_page(found), *points]


def _coded_row(answering: Answering, data: str | None, row: str) -> tuple[Any, dict[str, Any]]:
    """One row, coded, and its values as they were given."""
    from ..errors import ParameterError

    if row.strip().lstrip("-").isdigit():
        if data is None:
            raise ParameterError(f"--row {row} is the number of a row: name its table, too.")
        batch = _row_of_table(answering, data, int(row))
        absent = "refuse"
    else:
        if data is not None:
            raise ParameterError(f"--row {row!r} gives values, so {data!r} is not needed. Leave one of them out.")
        batch, absent = _row_of_values(answering, row), "missing"
    X, kept = answering.coded(batch, absent)
    if kept is not None and not kept.all():
        raise ParameterError("This row misses a value, and the model was told to leave such rows out.")
    if answering.report.absent:
        say(f"Columns not given, taken as missing: {', '.join(answering.report.absent)}.")
    if answering.schema.width is not None:
        return X, {}
    return X, {name: column[0].as_py() for name, column in zip(batch.column_names, batch.columns, strict=True)}


def _row_of_table(answering: Answering, data: str, wanted: int) -> Any:
    from ..errors import InputError

    table = answering.table(TableOptions(), data, "refuse")
    rows = 0
    for first, batch in batches(table):
        rows = first + batch.num_rows
        if 0 <= wanted - first < batch.num_rows:
            return batch.slice(wanted - first, 1)
    raise InputError(f"{data} has no row {wanted}: its {rows:,} rows are numbered from 0.")


def _row_of_values(answering: Answering, text: str) -> Any:
    """A table of one row from ``a=1,b=2``."""
    import pyarrow as pa

    from ..errors import ColumnError, ParameterError
    from ..results import quoted, suggestion

    names = [column.name for column in answering.schema.used]
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


def _explained_row(answering: Answering, decision: Decision | None, X: Any, shown: dict[str, Any]) -> dict[str, Any]:
    """Why the model answers as it does: what each column adds to the score, and what the decision rests on."""
    from ..decision import Decision

    model = answering.model
    label = model.predict(X).tolist()[0]
    values: dict[str, Any] = {"file": answering.path, "prediction": label, **_contributions(answering, X, shown)}
    if hasattr(model, "predict_proba"):
        why = (decision or Decision()).explain(answering.posterior(X))
        values |= {
            "decision": why.action,
            "probabilities": {str(name): p for name, p in why.probabilities.items()},
            "expected_costs": {str(name): cost for name, cost in why.risks.items()},
            "why": str(why),
        }
    return values


def _contributions(answering: Answering, X: Any, shown: dict[str, Any]) -> dict[str, Any]:
    """How much the lead of the best class over the next would change if a column had its mean instead.

    For linear and naive Bayes models these add up, with the lead at the means, to the lead of the row.
    """
    import numpy as np

    from ..estimators.base import PosteriorClassifier

    model, schema = answering.model, answering.schema
    means = answering.training.get("means")
    sources = list(dict.fromkeys(schema.sources))
    if means is None or (len(sources) + 2) * X.shape[1] > _MOST_VALUES:
        return {"contributions": None}
    row = X.toarray()[0] if hasattr(X, "toarray") else X[0]
    place = {name: j for j, name in enumerate(sources)}
    own = np.asarray([place[name] for name in schema.sources])
    changed = np.where(own == np.arange(len(sources))[:, None], means, row)
    scores = _scores(model, np.vstack((row, means, changed)))
    best = answering.classes.index(model.predict(X).tolist()[0])
    rival = int(np.argmax(np.where(np.arange(scores.shape[1]) == best, -np.inf, scores[0])))
    lead = scores[:, best] - scores[:, rival]
    order = np.argsort(-np.abs(lead[0] - lead[2:]), kind="stable")
    return {
        "for": answering.classes[best],
        "against": answering.classes[rival],
        "unit": "log-odds" if isinstance(model, PosteriorClassifier) else "score",
        "lead": lead[0],
        "lead_at_means": lead[1],
        "contributions": [
            {"column": sources[j], "value": shown.get(sources[j]), "contribution": lead[0] - lead[2 + j]} for j in order
        ],
    }


def _scores(model: Any, X: Any) -> Any:
    """The score of every class."""
    import numpy as np

    from ..data.rows import MixedBlock
    from ..rules import MixedRule

    if isinstance(getattr(model, "rule_", None), MixedRule):  # predicting would refuse shares for what is 0 or 1
        return model.rule_.scores(MixedBlock(X, []))
    found = model.decision_function(X)
    return np.column_stack((np.zeros(len(found)), found)) if found.ndim == 1 else found


def _value(given: Any) -> str:
    return "" if given is None else f"{given:g}" if isinstance(given, float) else str(given)


def _row_page(found: dict[str, Any]) -> Page:
    from ..results import number

    page: Page = [f"Prediction: {found['prediction']}"]
    if found["contributions"] is None:
        page.append("What each column adds is not shown: there are too many, or the file does not hold their means.")
    else:
        rows = [[row["column"], _value(row["value"]), f"{row['contribution']:+.4g}"] for row in found["contributions"]]
        title = f"What speaks for {found['for']} against {found['against']}, compared with an average row"
        page += shortened(title, ["column", "value", found["unit"]], rows, names=2)
        page.append(
            f"{found['unit'].capitalize()} of this row: {number(found['lead'])}; of an average row: "
            f"{number(found['lead_at_means'])}."
        )
    return page + ([found["why"]] if "why" in found else [])
