"""``discriminant describe``: describe a labelled table."""

from __future__ import annotations

from typing import Final

from ..results import Finding, finding_lines, number, percent, visible
from ..workflow.describing import describe as describe_table
from ..workflow.tables import Roles, read_or_stream
from . import options
from .options import ScaleOptions, TrainingOptions, command, files_of
from .output import Page, Values, facts, shortened, show

# Levels of a category that are listed: about a line with the usual names.
MAX_LISTED_LEVELS: Final = 4


@command
def describe(
    data: options.Files,
    target: options.Target = None,
    scale: ScaleOptions = ScaleOptions(),
    reading: TrainingOptions = TrainingOptions(),
    json: options.Json = False,
) -> None:
    """Describe a labelled table: classes, columns, data issues.

    Examples:
      discriminant describe titanic.csv -t Survived
      discriminant describe data.csv -t species --drop id --types zip=category
      zcat data.csv.gz | discriminant describe - -t y --json
    """
    labelled = read_or_stream(files_of(data), Roles(target), reading, scale)
    show(describe_table(labelled), _page, json)
    scale.finish()


def _page(found: Values) -> Page:
    classes = [[row["class"], f"{row['rows']:,}", percent(row["share"])] for row in found["classes"]]
    columns = []
    for row in found["table_columns"]:
        kind = "excluded" if row["dropped"] else row["kind"]
        columns.append([row["name"], kind, _values(row), f"{row['missing']:,}" if row["missing"] else ""])
    issues = [text for _, text in finding_lines(Finding(**finding) for finding in found["findings"])]
    return [
        facts(
            {
                "Data": f"{found['data']} ({found['rows']:,} rows)",
                "Rows excluded": f"{found['rows_left_out']:,}" if found["rows_left_out"] else None,
                "Columns after coding": f"{found['columns']:,}",
                "Format": found["read_as"],
            }
        ),
        *shortened(f"Classes of {found['target'] or 'the labels'}", ["class", "rows", "share"], classes),
        *(shortened("Columns", ["column", "type", "mean or levels", "missing"], columns, 3) if columns else []),
        "\n".join(["Data issues", *(f"- {issue}" for issue in issues or ["None."])]),
        *_separation_page(found["distances"], found["separability"]),
    ]


def _values(row: Values) -> str:
    if row["dropped"]:
        return row["dropped"]
    if row["kind"] != "category":
        return row["shown_mean"]
    levels = row["levels"][:MAX_LISTED_LEVELS]
    more = len(row["levels"]) - len(levels)
    rest = [f"{more} more"] * (more > 0) + [f"{row['pooled']} rare levels pooled as (other)"] * (row["pooled"] > 0)
    return ", ".join(map(str, levels + rest))


def _separation_page(distances: Values, separability: Values) -> Page:
    """Distances between classes, the errors they imply, and linear separability, by pair of classes."""
    skipped = {
        "Class distances skipped": distances.get("skipped"),
        "Linear separability skipped": separability.get("skipped"),
    }
    separable = {_pair(pair): pair for pair in separability.get("pairs", ())}
    page: Page = []
    if "pairs" in distances:
        rows = [
            [
                _pair(pair),
                number(pair["mahalanobis"]),
                number(pair["bhattacharyya"]),
                percent(pair["error"]),
                percent(pair["always_one"]),
                _verdict(separable.get(_pair(pair))),
            ]
            for pair in distances["pairs"]
        ]
        head = ["classes", "Mahalanobis", "Bhattacharyya", "Bayes error (LDA)", "majority-class error", "separable"]
        page += shortened("Class separation, closest classes first", head, rows)
        page.append(
            "Bayes error: estimated for normal classes with a common covariance; priors are the class proportions."
        )
    elif separable:
        rows = [[pair, _verdict(found)] for pair, found in separable.items()]
        page += shortened("Linear separability", ["classes", "separable"], rows)
    return [*page, *([facts(skipped)] if any(skipped.values()) else [])]


def _pair(pair: Values) -> str:
    return " vs ".join(map(visible, pair["classes"]))


def _verdict(pair: Values | None) -> str:
    """Whether a hyperplane separates two classes, and its margin."""
    if pair is None:
        return ""
    return f"yes (margin {number(pair['margin'])})" if pair["separable"] else "no"
