"""``discriminant explain``: show a model, or explain its prediction for one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ..results import NOTHING, decimal, exponential, number, p_value, visible
from ..workflow.explaining import explain_model, explain_row, row_of_table, row_of_values
from ..workflow.stored import StoredModel, checked_metadata, open_model
from . import options
from .console import print_findings, print_message
from .options import TableOptions, command, option, read_decision
from .output import Page, Values, facts, shortened, shortened_lines, show

if TYPE_CHECKING:
    import pyarrow as pa

#: Titles of the tests of terms, by their type.
_TERM_TESTS = {
    "II": "Likelihood-ratio tests of terms, type II",
    "III": "Likelihood-ratio tests of terms, type III",
    "drop1": "Likelihood-ratio tests of single-term deletions",
}


@command
def explain(
    model: options.ModelPath,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="Table of the row, if --row is a number.")] = None,
    row: Annotated[
        str | None, option("NUMBER|VALUES", "Row of DATA by its number (from 0), or values: 'a=1,b=2'.")
    ] = None,
    costs: options.Costs = None,
    reject_cost: options.RejectCost = None,
    priors: options.Priors = None,
    reading: TableOptions = TableOptions(),
    json: options.Json = False,
) -> None:
    """Show the coefficients of a model, or explain a prediction.

    Without --row: coefficients, odds ratios and a nomogram. With --row: the contribution of each column to the score.

    Examples:
      discriminant explain model.dsc
      discriminant explain model.dsc new.csv --row 17 --costs costs.csv
      discriminant explain model.dsc --row "age=41,sex=female"
    """
    stored = open_model(model)
    if row is None:
        with checked_metadata(model):
            values = explain_model(stored)
            show(values, lambda found: _model_page(found, values), json)
        return
    decision = read_decision(stored, costs, reject_cost, priors)
    batch, missing_columns = _row(stored, reading, data, row)
    with checked_metadata(model):
        found = explain_row(stored, decision, batch, missing_columns)
    if stored.report.missing_columns:
        print_message(f"Missing columns, treated as missing values: {', '.join(stored.report.missing_columns)}.")
    print_findings(stored.unseen_findings)
    show(found, lambda _: _row_page(found), json)


def _row(stored: StoredModel, reading: TableOptions, data: str | None, row: str) -> tuple[pa.Table, str]:
    """A table of one row, and the policy for columns that are missing from it."""
    if row.strip().lstrip("-").isdigit():
        if data is None:
            raise ParameterError(f"--row {row} is a row number. Also give the table: discriminant explain MODEL DATA.")
        table = stored.table(reading, data)
        print_findings(table.findings)
        return row_of_table(table, int(row)), "refuse"
    if data is not None:
        raise ParameterError(f"--row {row!r} gives values, so {data!r} is not needed. Leave one of them out.")
    return row_of_values(stored, row), "missing"


def _model_page(found: Values, values: Values) -> Page:
    training = found["training"]
    known = training["rows"] is not None
    head = {
        "Model": found["model"],
        "Training data": f"{training['data']} ({training['rows']:,} rows)" if known else None,
        "Saved": found["saved"],
    }
    parts = [str(values[name]) for name in ("effects", "pairs", "words", "nomogram") if values[name]]
    return [facts(head), *learned_page(found), *map(shortened_lines, parts), *filter(None, [found["no_nomogram"]])]


def learned_page(values: Values, coefficients: bool = True) -> Page:
    """The learned values of a model; coefficients, means and axes if ``coefficients``."""
    page: Page = [facts({"Formula": values["formula"]})] if "formula" in values else []
    if "families" in values:
        page += _families_page(values["families"], values["member_coefficients"] if coefficients else {})
    if "found" in values:
        tuned = ", ".join(f"{name} {number(value)}" for name, value in values["found"].items())
        page.append(facts({"Tuned settings": tuned}))
    if "priors" in values:
        rows = [[label, number(prior)] for label, prior in zip(values["classes"], values["priors"], strict=True)]
        page += shortened("Priors", ["class", "prior"], rows)
    if "coefficients" in values and coefficients:
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
    if "means" in values and coefficients:
        rows = [[name, *map(number, means)] for name, means in values["means"].items()]
        page += shortened("Class means", ["column", *map(str, values["classes"])], rows)
    if "scalings" in values and coefficients:
        ratios = [f"axis {i + 1} ({100 * r:.1f} %)" for i, r in enumerate(values["explained_variance_ratio"])]
        rows = [[name, *map(number, row)] for name, row in values["scalings"].items()]
        page += shortened("Discriminant axes (share of between-class variance)", ["column", *ratios], rows)
    return page


def _hypotheses_page(found: Values) -> Page:
    """The Wald tests of linear hypotheses, each and all together."""
    rows = [
        [row["hypothesis"], *map(number, (row["estimate"], row["std_error"], row["z"])), p_value(row["p_value"])]
        for row in found["rows"]
    ]
    table = shortened("Linear hypotheses (Wald)", ["hypothesis", "difference", "std. error", "z", "p"], rows)
    together = f"chi-square {number(found['statistic'])}, df {found['df']}, p {p_value(found['p_value'])}"
    return [*table, f"All hypotheses: {together}"]


def _families_page(found: Values, tables: dict[str, Any]) -> Page:
    """The families of an averaged model, and the coefficients of those that have some, side by side."""
    families = sorted(found["rows"], key=lambda member: -member["weight"])
    best = min((member for member in families if member["name"] != "baseline"), key=lambda member: member["loss"])
    rows = [
        [
            member["name"],
            ", ".join(f"{name} {number(value)}" for name, value in member["settings"].items()),
            f"{member['weight']:.3f}",
            decimal(member["loss"]),
        ]
        for member in families
    ]
    title = "Model families (cross-validated log-loss, used for tuning: optimistic)"
    page = shortened(title, ["family", "settings", "weight", "log-loss"], rows, names=2)
    pooled = None if found["choose"] == "best" else f"{decimal(found['loss'])} (tuning; optimistic)"
    left_out = {f"Excluded ({name})": reason for name, reason in found["left_out"].items()}
    page.append(facts({"Log-loss of the average": pooled, "Best family": best["name"], **left_out}))
    by_term: dict[tuple[str, str], list[str]] = {}
    for table in tables.values():
        for row in table["rows"]:
            by_term.setdefault((str(row["outcome"]), row["term"]), []).append(number(row["estimate"]))
    for outcome in dict.fromkeys(outcome for outcome, _ in by_term):
        cells = [[term, *values] for (own, term), values in by_term.items() if own == outcome]
        contrast = f"{outcome} vs {next(iter(tables.values()))['reference']}"
        page += shortened(f"Coefficients of families (log-odds of {contrast})", ["term", *tables], cells)
    return page


def _coefficient_page(table: Values) -> Page:
    fit, kind = table["fit"], "log-odds" if table["log_odds"] else "score"
    is_credible = table.get("interval") == "credible"
    error = ["posterior s.d."] if is_credible else ["std. error", "z", "p"]
    tested, odds = error if fit else [], ["odds ratio"] if table["log_odds"] else []
    by_deviation = any(row.get("odds_ratio_per_sd") is not None for row in table["rows"])
    per_sd = ["per std. dev."] if odds and by_deviation else []
    ends = ["low", f"high (95 %{' credible' * is_credible})"] if fit else []
    columns = ["coefficient", *tested, *odds, *ends, *per_sd]
    page: Page = []
    reference = "" if table["reference"] is None else f" vs {table['reference']}"
    for outcome in dict.fromkeys(row["outcome"] for row in table["rows"]):
        own = [row for row in table["rows"] if row["outcome"] == outcome]
        if table["reference"] is None and outcome == "thresholds":
            page += shortened("Thresholds", ["term", "coefficient", *tested], [_threshold(row, tested) for row in own])
            continue
        title = f"{kind} of {'higher classes' if outcome == 'slopes' and not reference else outcome}{reference}"
        page += shortened(
            f"Coefficients ({title})", ["term", *columns], [[r["term"], *_cells(r, columns)] for r in own]
        )
    if fit:
        page.append(_fit_line(fit))
    notes = [*table["notes"], *([f"No standard errors: {table['reason']}"] if table["reason"] else [])]
    return page + (["\n".join(f"Note: {note}" for note in notes)] if notes else [])


def _fit_line(fit: dict[str, float | None]) -> str:
    """The measures of fit that are defined: Firth's likelihood and importance weights do not have all."""
    measures = {
        "log_likelihood": ("Log-likelihood", 4),
        "aic": ("AIC", 2),
        "bic": ("BIC", 2),
        "pseudo_r2": ("Pseudo R2", 4),
    }
    known = ((title, digits, fit.get(name)) for name, (title, digits) in measures.items())
    return ", ".join(f"{title}: {decimal(value, digits)}" for title, digits, value in known if value is not None)


def _threshold(row: Values, tested: list[str]) -> list[str]:
    return [row["term"], *_cells(row, ["coefficient", *tested])]


def _cells(row: Values, columns: list[str]) -> list[str]:
    found = {
        "coefficient": number(row["estimate"]),
        "std. error": number(row["std_error"]),
        "z": number(row["z"]),
        "posterior s.d.": number(row["std_error"]),
        "p": p_value(row["p_value"]),
        "odds ratio": exponential(row["estimate"]),
        "low": exponential(row["low"]),
        "high (95 %)": exponential(row["high"]),
        "high (95 % credible)": exponential(row["high"]),
        "per std. dev.": number(row.get("odds_ratio_per_sd")),
    }
    if row.get("infinite"):  # JSON has no infinite numbers
        ends = {"coefficient": f"{row['infinite']}inf", "odds ratio": "inf" if row["infinite"] == "+" else "0"}
        found = dict.fromkeys(found, NOTHING) | ends
    return [found[column] for column in columns]


def _row_page(found: Values) -> Page:
    own, added = found["own_answer"], found["contributions"]
    head = {
        "Prediction": visible(found["prediction"]),
        "Most probable class": visible(own) if own != found["prediction"] else None,
        "Contributions": "not available (too many columns, or a model file without column means)"
        if added is None
        else None,
    }
    parts = [] if added is None else [shortened_lines(str(added))]
    return [facts(head), *parts, *([found["why"]] if "why" in found else [])]
