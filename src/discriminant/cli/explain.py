"""``discriminant explain``: what a model has learned, and why it decided a row as it did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ColumnError, DegenerateDataError, DiscriminantError, InputError, ParameterError
from ..results import NOTHING, decimal, exponential, number, p_value, quoted, suggestion, visible
from . import options
from .console import Page, grid, say, shortened, show, told
from .modelfile import StoredModel, batches, kept_values, opened
from .options import TableOptions, command, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..decision import Decision
    from ..tables.schema import Schema

#: A row is explained column by column up to this many scored values.
_MOST_VALUES = 50_000_000
_NEXT_PAIR = re.compile(r",(?=[^,=]+=)")
#: How tests of terms are headed, by their kind.
_TERM_TESTS = {
    "II": "Likelihood-ratio tests of terms, type II",
    "III": "Likelihood-ratio tests of terms, type III",
    "drop1": "Likelihood-ratio tests of single-term deletions",
}
_PLAIN = (type(None), str, int, float, list, dict)


@command
def explain(
    model: options.ModelPath,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The table of the row, where --row is a number.")
    ] = None,
    row: Annotated[
        str | None, option("NUMBER|VALUES", "A row of DATA by its number (the first is 0), or 'a=1,b=2'.")
    ] = None,
    costs: options.Costs = None,
    reject_cost: Annotated[float | None, option("COST", "What it costs to abstain.")] = None,
    priors: Annotated[str | None, option("A=0.3,B=0.7", "Shares of the classes where the row comes from.")] = None,
    reading: TableOptions = TableOptions(),
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
    stored = opened(model)
    if row is None:
        with kept_values(model):
            show(_explained_model(stored), _model_page, json)
        return
    decision = stored.decision(costs, reject_cost, priors)
    X, raw = _coded_row(stored, reading, data, row)
    with kept_values(model):
        show(_explained_row(stored, decision, X, raw), _row_page, json)


def learned(model: Any, schema: Schema) -> dict[str, Any]:
    """Settings found, priors, coefficients, means, scalings and families, whatever the model has, by column names."""
    from ..estimators.base import found_settings
    from ..estimators.coefficients import coefficient_table, column_names, member_coefficients

    names: Sequence[str] = schema.names
    values: dict[str, Any] = {
        "model": type(model).__name__,
        "parameters": {name: value for name, value in model.get_params().items() if isinstance(value, _PLAIN)},
        "classes": model.classes_.tolist(),
    }
    if found := found_settings(model):
        values["found"] = found
    if hasattr(model, "formula_"):
        names = column_names(model)
        values |= {"formula": model.formula_.formula, "terms": _term_tests(model)}
    if hasattr(model, "priors_"):
        values["priors"] = model.priors_.tolist()
    if hasattr(model, "coef_"):
        table = coefficient_table(model, names, schema=schema)
        values["coefficients"] = {**table.to_dict(), "reason": None if table.reason is None else told(table.reason)}
    if hasattr(model, "means_") and len(names):
        values["means"] = {name: column.tolist() for name, column in zip(names, model.means_.T, strict=True)}
    if hasattr(model, "scalings_"):
        values["scalings"] = {name: row.tolist() for name, row in zip(names, model.scalings_, strict=True)}
        values["explained_variance_ratio"] = model.explained_variance_ratio_.tolist()
    if hasattr(model, "members_"):
        values["families"] = model.describe().to_dict()
        values["member_coefficients"] = member_coefficients(model, names)
    return values


def _term_tests(model: Any) -> Any:
    """The tests of whole terms, where the model has any."""
    try:
        return model.term_tests()
    except (AttributeError, DiscriminantError):
        return None


def _explained_model(stored: StoredModel) -> dict[str, Any]:
    from ..estimators.explanations import column_effects, nomogram

    points, note, effects = None, None, None
    if "lowest" in stored.training:
        lowest, highest, means = (stored.training[name] for name in ("lowest", "highest", "means"))
        if _has_shapes(stored.model) and 50 * len(lowest) ** 2 <= _MOST_VALUES:
            effects = column_effects(stored.model, means, lowest, highest, stored.schema)
        try:
            points = nomogram(stored.model, lowest, highest, stored.schema)
        except DegenerateDataError as error:
            note = told(error)
        except ParameterError:
            pass  # of a model that has no points
    return {
        "file": stored.path,
        "saved": stored.metadata["saved"],
        "training": {name: stored.training.get(name) for name in ("data", "rows", "sha256")},
        "training_metrics": stored.metadata["metrics"],
        **(stored.metadata.get("learned") or learned(stored.model, stored.schema)),
        "effects": effects,
        "nomogram": points,
        "no_nomogram": note,
    }


def _has_shapes(model: Any) -> bool:
    """Whether coefficients do not tell what a column does, or there are none."""
    return hasattr(model, "decision_function") and (hasattr(model, "basis_") or not hasattr(model, "coef_"))


def _coded_row(
    stored: StoredModel, reading: TableOptions, data: str | None, row: str
) -> tuple[Any, dict[str, Any] | None]:
    """One row, coded, and its values as they were given."""
    if row.strip().lstrip("-").isdigit():
        if data is None:
            raise ParameterError(f"--row {row} is the number of a row: name its table, too.")
        batch, absent = _row_of_table(stored, reading, data, int(row)), "refuse"
    else:
        if data is not None:
            raise ParameterError(f"--row {row!r} gives values, so {data!r} is not needed. Leave one of them out.")
        batch, absent = _row_of_values(stored, row), "missing"
    X, kept = stored.coded(batch, absent)
    if kept is not None and not kept.all():
        raise ParameterError("This row misses a value, and the model was told to leave such rows out.")
    if stored.report.absent:
        say(f"Columns not given, taken as missing: {', '.join(stored.report.absent)}.")
    stored.tell_unseen()
    if stored.schema.width is not None:
        return X, None
    return X, {name: column[0].as_py() for name, column in zip(batch.column_names, batch.columns, strict=True)}


def _row_of_table(stored: StoredModel, reading: TableOptions, data: str, wanted: int) -> Any:
    table = stored.table(reading, data, "refuse")
    rows = 0
    for first, batch in batches(table):
        rows = first + batch.num_rows
        if 0 <= wanted - first < batch.num_rows:
            return batch.slice(wanted - first, 1)
    raise InputError(f"{data} has no row {wanted}: its {rows:,} rows are numbered from 0.")


def _row_of_values(stored: StoredModel, text: str) -> Any:
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


def _explained_row(
    stored: StoredModel, decision: Decision | None, X: Any, raw: dict[str, Any] | None
) -> dict[str, Any]:
    """Why the model answers as it does: what each column adds to the score, and what the decision rests on."""
    from ..decision import Decision
    from ..estimators.explanations import contributions

    means, sources = stored.training.get("means"), stored.schema.sources
    few = (len(set(sources)) + 2) * len(sources) <= _MOST_VALUES
    own = stored.model.predict(X).tolist()[0]
    values = {
        "file": stored.path,
        "prediction": own,
        "own_answer": own,
        "unseen_levels": stored.report.unseen,
        "contributions": contributions(stored.model, X, means, stored.schema, raw)
        if few and means is not None
        else None,
    }
    if hasattr(stored.model, "predict_proba"):
        why = (decision or Decision()).explain(stored.posterior(X))
        values |= {
            "prediction": own if decision is None else why.action,
            "probabilities": {str(name): p for name, p in why.probabilities.items()},
            "expected_costs": {str(name): cost for name, cost in why.risks.items()},
            "why": str(why),
        }
    return values


def _model_page(found: dict[str, Any]) -> Page:
    noted = found["training"]
    of = f", fitted to {noted['rows']:,} rows of {noted['data']}" if noted["rows"] is not None else ""
    points = _nomogram_page(found["nomogram"]) if found["nomogram"] else []
    effects = _effects_page(found["effects"]) if found["effects"] else []
    note = filter(None, [found["no_nomogram"]])
    return [f"{found['model']}{of}, saved {found['saved']}", *learned_page(found), *effects, *points, *note]


def _effects_page(found: dict[str, Any]) -> Page:
    """What each column does, at some of its values; those that do most come first."""
    rows, outcomes = [], []
    for effect in found["effects"].values():
        by_outcome: dict[str, list[dict[str, Any]]] = {}
        for point in effect["points"]:
            by_outcome.setdefault(str(point["outcome"]), []).append(point)
        outcomes = [f"{outcome} against {effect['reference']}" for outcome in by_outcome]
        for points in list(zip(*by_outcome.values(), strict=True))[:: _step(effect)]:
            value, changes = points[0]["value"], (number(point["estimate"]) for point in points)
            rows.append([effect["column"], value if isinstance(value, str) else number(value), *changes])
    title = f"Change of the {found['unit']} with each column, compared with its average, all others at theirs"
    return shortened(title, ["column", "value", *outcomes], rows, names=2)


def _step(effect: dict[str, Any]) -> int:
    """Of numbers five are shown, of levels all."""
    n_points = len({point["value"] for point in effect["points"]})
    return 1 if isinstance(effect["at"], str) else max((n_points - 1) // 4, 1)


def learned_page(values: dict[str, Any]) -> Page:
    """What `learned` gives, to read."""
    page: Page = [f"Formula: {values['formula']}"] if "formula" in values else []
    if "families" in values:
        page += _families_page(values["families"], values["member_coefficients"])
    if "found" in values:
        page.append(f"Found: {', '.join(f'{name} {number(value)}' for name, value in values['found'].items())}")
    if "priors" in values:
        rows = [[label, number(prior)] for label, prior in zip(values["classes"], values["priors"], strict=True)]
        page += shortened("Priors", ["class", "prior"], rows)
    if "coefficients" in values:
        page += _coefficient_page(values["coefficients"])
    if values.get("terms"):
        rows = [
            [name, number(test["statistic"]), str(test["df"]), p_value(test["p_value"])]
            for name, test in values["terms"]["tests"].items()
        ]
        kind = values["terms"].get("kind", "drop1")  # files of earlier versions have single-term deletions
        page += shortened(_TERM_TESTS[kind], ["term", "chi-square", "df", "p"], rows)
    if values.get("hypotheses"):
        page += _hypotheses_page(values["hypotheses"])
    if "means" in values:
        rows = [[name, *map(number, means)] for name, means in values["means"].items()]
        page += shortened("Class means", ["column", *map(str, values["classes"])], rows)
    if "scalings" in values:
        ratios = [f"axis {i + 1} ({100 * r:.1f} %)" for i, r in enumerate(values["explained_variance_ratio"])]
        rows = [[name, *map(number, row)] for name, row in values["scalings"].items()]
        page += shortened("Discriminant axes (share of the variance between classes)", ["column", *ratios], rows)
    return page


def _hypotheses_page(found: dict[str, Any]) -> Page:
    """The Wald tests of linear hypotheses, each and all together."""
    rows = [
        [row["hypothesis"], *map(number, (row["estimate"], row["std_error"], row["z"])), p_value(row["p_value"])]
        for row in found["rows"]
    ]
    table = shortened("Linear hypotheses (Wald)", ["hypothesis", "difference", "std. error", "z", "p"], rows)
    together = f"chi-square {number(found['statistic'])}, df {found['df']}, p {p_value(found['p_value'])}"
    return [*table, f"All hypotheses: {together}."]


def _families_page(found: dict[str, Any], tables: dict[str, Any]) -> Page:
    """The families of a pool, and the coefficients of those that have some, side by side."""
    rows = []
    for member in found["rows"]:
        chosen = ", ".join(f"{name} {number(value)}" for name, value in member["settings"].items())
        rows.append([member["name"], chosen, f"{member['weight']:.3f}", number(member["loss"])])
    rows += [[name, f"left out: {reason}", "", ""] for name, reason in found["left_out"].items()]
    page = [found["words"], *shortened("Families", ["family", "settings", "weight", "tuning log-loss"], rows, names=2)]
    by_term: dict[tuple[str, str], list[str]] = {}
    for table in tables.values():
        for row in table["rows"]:
            by_term.setdefault((str(row["outcome"]), row["term"]), []).append(number(row["estimate"]))
    for outcome in dict.fromkeys(outcome for outcome, _ in by_term):
        cells = [[term, *values] for (own, term), values in by_term.items() if own == outcome]
        contrast = f"{outcome} against {next(iter(tables.values()))['reference']}"
        page += shortened(f"Coefficients of families: log-odds of {contrast}", ["term", *tables], cells)
    return page


def _coefficient_page(table: dict[str, Any]) -> Page:
    fit, kind = table["fit"], "log-odds" if table["log_odds"] else "score"
    is_credible = table.get("interval") == "credible"
    error = ["posterior s.d."] if is_credible else ["std. error", "z", "p"]
    tested, odds = error if fit else [], ["odds ratio"] if table["log_odds"] else []
    by_deviation = any(row.get("odds_ratio_per_sd") is not None for row in table["rows"])
    per_sd = ["per std. dev."] if odds and by_deviation else []
    ends = ["from", f"to (95 %{' credible' * is_credible})"] if fit else []
    columns = ["coefficient", *tested, *odds, *ends, *per_sd]
    page: Page = []
    against = "" if table["reference"] is None else f" against {table['reference']}"
    for outcome in dict.fromkeys(row["outcome"] for row in table["rows"]):
        cells = [[row["term"], *_cells(row, columns)] for row in table["rows"] if row["outcome"] == outcome]
        page += shortened(f"Coefficients: {kind} of {outcome}{against}", ["term", *columns], cells)
    if fit:
        page.append(_fit_line(fit))
    notes = [*table["notes"], *([f"no standard errors: {table['reason']}"] if table["reason"] else [])]
    return page + (["\n".join(f"Note: {note}" for note in notes)] if notes else [])


def _fit_line(fit: dict[str, float | None]) -> str:
    """The measures of fit that are defined: Firth's likelihood and importance weights do not have all."""
    measures = {
        "log_likelihood": ("Log-likelihood", 4),
        "aic": ("AIC", 2),
        "bic": ("BIC", 2),
        "pseudo_r2": ("pseudo R2", 4),
    }
    known = {name: fit.get(name) for name in measures}
    return f"{', '.join(f'{measures[k][0]} {decimal(v, measures[k][1])}' for k, v in known.items() if v is not None)}."


def _cells(row: dict[str, Any], columns: list[str]) -> list[str]:
    found = {
        "coefficient": number(row["estimate"]),
        "std. error": number(row["std_error"]),
        "z": number(row["z"]),
        "posterior s.d.": number(row["std_error"]),
        "p": p_value(row["p_value"]),
        "odds ratio": exponential(row["estimate"]),
        "from": exponential(row["low"]),
        "to (95 %)": exponential(row["high"]),
        "to (95 % credible)": exponential(row["high"]),
        "per std. dev.": number(row.get("odds_ratio_per_sd")),
    }
    if row.get("infinite"):  # which JSON cannot hold
        ends = {"coefficient": f"{row['infinite']}inf", "odds ratio": "inf" if row["infinite"] == "+" else "0"}
        found = dict.fromkeys(found, NOTHING) | ends
    return [found[column] for column in columns]


def _nomogram_page(found: dict[str, Any]) -> Page:
    label = found["label"]
    rows = [[row["column"], row["value"], f"{row['points']:.1f}"] for row in found["rows"]]
    title = f"Points for {label}; numbers between the ends of a range get points in proportion"
    points = shortened(title, ["column", "value", "points"], rows, names=2)
    if not found["probabilities"]:
        return [*points, f"Above {found['threshold']:.1f} points in total: {label}."]
    totals = [[f"{total:.1f}", number(float(p))] for p, total in found["probabilities"].items()]
    return [*points, grid(f"Total points and the probability of {label}", ["points", "probability"], totals, 0)]


def _row_page(found: dict[str, Any]) -> Page:
    own, added = found["own_answer"], found["contributions"]
    instead = f"; the model's own answer is {own}" if own != found["prediction"] else ""
    page = [f"Prediction: {visible(found['prediction'])}{instead}"]
    if added is None:
        page.append("What each column adds is not shown: there are too many, or the file does not hold their means.")
    else:
        rows = [[row["column"], _value(row["value"]), f"{row['contribution']:+.4g}"] for row in added["rows"]]
        title = f"What speaks for {added['label']} against {added['against']}, compared with an average row"
        page += shortened(title, ["column", "value", added["unit"]], rows, names=2)
        page.append(
            f"{added['unit'].capitalize()} of this row: {number(added['lead'])}; of an average row: "
            f"{number(added['lead_at_means'])}."
        )
    return page + ([found["why"]] if "why" in found else [])


def _value(given: Any) -> str:
    return "" if given is None else f"{given:g}" if isinstance(given, float) else str(given)
