"""``discriminant describe``: what a labelled table holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..errors import DiscriminantError
from ..results import Finding, notes, number, percent, visible
from . import options
from .console import Page, shortened, show, told
from .options import Labelled, TrainingOptions, command, files_of, told_findings
from .passes import ScaleOptions

#: Separability is decided pair by pair up to this many values and pairs.
_MOST_VALUES, _MOST_PAIRS = 5_000_000, 45
_MOST_COLUMNS = 1000
#: Mahalanobis distances below this leave more than one row in ten on the wrong side, even with the best line.
_CLOSE = 2.56
_SHOWN_LEVELS = 4


@command
def describe(
    data: options.Files,
    target: options.Target = None,
    scale: ScaleOptions = ScaleOptions(),
    reading: TrainingOptions = TrainingOptions(),
    json: options.Json = False,
) -> None:
    """Show what is in a table, and what to beware of.

    Classes and columns, what was found wrong with them, and how far apart the classes are.

    \b
    Examples:
      discriminant describe titanic.csv --target Survived
      discriminant describe data.csv -t species --drop id --types zip=category
      zcat data.csv.gz | discriminant describe - -t y --json
    """
    files = files_of(data)
    labelled: Any = (
        scale.training(files, reading, target, None, "reference")
        if scale.by_passes(files)
        else reading.training(files, target)
    )
    show(described(labelled), _page, json)
    scale.done()


def described(labelled: Labelled) -> dict[str, Any]:
    """What is to know about a table, as plain values."""
    training, rows = labelled.training, labelled.n_rows
    return {
        **labelled.source,
        "read_as": labelled.read_as,
        "classes": [
            {"class": label, "rows": count, "share": count / rows} for label, count in labelled.class_rows.items()
        ],
        "table_columns": [
            {**asdict(column), "shown_mean": column.shown(column.mean)} for column in training.schema.columns
        ],
        "findings": told_findings([*training.findings, *_collinearity(labelled)]),
        "distances": _distances(labelled),
        "separability": _separability(labelled),
    }


def _collinearity(labelled: Labelled) -> list[Any]:
    from ..moments.covariance import collinearity_findings

    training = labelled.training
    return (
        []
        if training.schema.sparse or labelled.by_passes
        else collinearity_findings(training.X, training.schema.names, training.weights)
    )


def _distances(labelled: Labelled) -> dict[str, Any]:
    """Mahalanobis and Bhattacharyya distances between class means, with the covariance the classes have in common."""
    import numpy as np

    from ..estimators.discriminant import LinearDiscriminantAnalysis

    n, p = labelled.rows.shape
    n_classes = len(labelled.class_rows)
    if p > _MOST_COLUMNS or n <= p + n_classes:
        needed = f"that takes more rows than columns and classes together, and no more than {_MOST_COLUMNS:,} columns"
        return {"skipped": f"{needed}; there are {n:,} rows, {p:,} columns and {n_classes:,} classes"}
    try:
        model = LinearDiscriminantAnalysis().fit(labelled.rows, labelled.labels)
        mahalanobis, unbiased = model.mean_distances(), model.mean_distances(unbiased=True)
    except DiscriminantError as error:
        return {"skipped": told(error).removesuffix(".")}
    first, second = np.triu_indices(n_classes, 1)
    labels = model.classes_.tolist()
    found = [
        {
            "classes": [labels[i], labels[j]],
            "mahalanobis": mahalanobis[i, j],
            "bhattacharyya": mahalanobis[i, j] ** 2 / 8,
            "unbiased": unbiased[i, j],
            **_errors(unbiased[i, j], *(labelled.class_rows[labels[k]] for k in (i, j))),
        }
        for i, j in zip(first, second, strict=True)
    ]
    return {"pairs": sorted(found, key=lambda pair: pair["mahalanobis"])}


def _errors(distance: float, *rows: int) -> dict[str, Any]:
    """How often the best rule errs between two normal classes so far apart, and always naming the more frequent one."""
    from ..theory import Gaussian, bayes_error

    shares = [n / sum(rows) for n in rows]
    best = bayes_error([Gaussian(0, 1), Gaussian(distance, 1)], priors=shares).error
    return {"shares": shares, "error": min(best, *shares), "always_one": min(shares)}


def _separability(labelled: Labelled) -> dict[str, Any]:
    """Whether a hyperplane tells two classes apart without error, for each two."""
    from ..inference.linear_separability import linear_separability
    from ..margins.convex_hulls import Hyperplane

    (n, p), n_classes = labelled.rows.shape, len(labelled.class_rows)
    n_pairs = n_classes * (n_classes - 1) // 2
    if labelled.by_passes or n * p > _MOST_VALUES or n_pairs > _MOST_PAIRS:
        return {"skipped": f"{n:,} rows, {p:,} columns and {n_pairs:,} pairs would take long"}
    try:
        found = linear_separability(labelled.rows, labelled.training.y).pairs
    except DiscriminantError as error:
        return {"skipped": told(error).removesuffix(".")}
    margins = {pair: one.margin if isinstance(one, Hyperplane) else None for pair, one in found.items()}
    return {"pairs": [{"classes": pair, "separable": m is not None, "margin": m} for pair, m in margins.items()]}


def _page(found: dict[str, Any]) -> Page:
    left_out = f", {found['rows_left_out']:,} left out" if found["rows_left_out"] else ""
    skipped = f", {found['lines_skipped']:,} ragged lines skipped" if found["lines_skipped"] else ""
    head = f"{found['data']}: {found['rows']:,} rows{left_out}{skipped}, {found['columns']:,} columns once coded"
    classes = [[row["class"], f"{row['rows']:,}", percent(row["share"])] for row in found["classes"]]
    columns = []
    for row in found["table_columns"]:
        kind = "left out" if row["dropped"] else row["kind"]
        columns.append([row["name"], kind, _values(row), f"{row['missing']:,}" if row["missing"] else ""])
    warned = [text for _, text in notes(Finding(**finding) for finding in found["findings"])]
    return [
        f"{head}\nRead as: {found['read_as']}",
        *shortened(f"Classes of {found['target'] or 'the labels'}", ["class", "rows", "share"], classes),
        *(shortened("Columns", ["column", "kind", "mean, or levels", "missing"], columns, 3) if columns else []),
        "\n".join(["What to beware of", *(f"- {message}" for message in warned or ["Nothing was found."])]),
        *_distance_page(found["distances"]),
        *_separability_page(found["separability"]),
    ]


def _values(row: dict[str, Any]) -> str:
    if row["dropped"]:
        return row["dropped"]
    if row["kind"] != "category":
        return row["shown_mean"]
    levels = row["levels"][:_SHOWN_LEVELS]
    more = len(row["levels"]) - len(levels)
    rest = [f"{more} more"] * (more > 0) + [f"{row['pooled']} rare ones as (other)"] * (row["pooled"] > 0)
    return ", ".join(map(str, levels + rest))


def _distance_page(found: dict[str, Any]) -> Page:
    if "skipped" in found:
        return [f"Distances between classes were not measured: {found['skipped']}."]
    rows = [
        [" - ".join(map(str, pair["classes"])), number(pair["mahalanobis"]), number(pair["bhattacharyya"])]
        for pair in found["pairs"]
    ]
    table = shortened("Distances between class means", ["classes", "Mahalanobis", "Bhattacharyya"], rows)
    assumed = (
        "If the columns were normal, with one covariance in all classes, and classes as frequent as in this table:"
    )
    return [*table, "\n".join([assumed, *map(_closeness, found["pairs"][:3])])]


def _closeness(pair: dict[str, Any]) -> str:
    first, second = map(visible, pair["classes"])
    verdict = "are close" if pair["unbiased"] < _CLOSE else "are well apart"
    frequent = first if pair["shares"][0] >= pair["shares"][1] else second
    always, best = percent(pair["always_one"]), percent(pair["error"])
    rule = f"the best linear rule would err in {best} of their rows, always saying {frequent} in {always}"
    return f"- {first} and {second} {verdict}: {rule}."


def _separability_page(found: dict[str, Any]) -> Page:
    if "skipped" in found:
        return [f"Separability was not decided: {found['skipped']}."]
    lines = []
    for pair in found["pairs"]:
        margin = f" (margin {number(pair['margin'])})" if pair["separable"] else ""
        can = "can" if pair["separable"] else "cannot"
        first, second = map(visible, pair["classes"])
        lines.append(f"{first} and {second} {can} be told apart by a hyperplane without error{margin}.")
    return ["\n".join(["Separability", *lines])]
