"""Describe a labelled table: classes, columns, findings, distances between classes and linear separability."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any, Final

from ..errors import DiscriminantError
from ..results import Finding
from .tables import AnyLabelled, StreamedTable, severest_first

# Linear separability is decided pair by pair up to this many values and pairs: some seconds.
MAX_SEPARABILITY_VALUES: Final = 5_000_000
MAX_SEPARABILITY_PAIRS: Final = 45
# Distances need the inverse of the pooled covariance: a second with this many columns.
MAX_DISTANCE_COLUMNS: Final = 1000


def describe(labelled: AnyLabelled) -> dict[str, Any]:
    """The description of a table, as plain values."""
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
        "findings": severest_first([*training.findings, *_collinearity(labelled), *_class_order(labelled)]),
        "distances": _distances(labelled),
        "separability": _separability(labelled),
    }


def _collinearity(labelled: AnyLabelled) -> list[Finding]:
    from ..moments.collinearity import collinearity_findings

    if labelled.schema.sparse or isinstance(labelled, StreamedTable):
        return []
    training = labelled.training
    return collinearity_findings(training.X, training.schema.names, training.weights)


def known_class_order(labelled: AnyLabelled) -> list[Any] | None:
    """The order of classes whose names are those of a known scale; None of others."""
    from ..tables.classes import proposed_order

    return proposed_order(list(labelled.class_rows))


def _class_order(labelled: AnyLabelled) -> list[Finding]:
    """A note on classes whose names have a known order."""
    order = known_class_order(labelled)
    if order is None:
        return []
    listed = " < ".join(map(str, order))
    option = shlex.quote(",".join(map(str, order)))
    message = f"The class names suggest an order: {listed}. For an ordinal model: discriminant fit --ordered {option}."
    return [Finding("note", "ordered classes", None, message)]


def _distances(labelled: AnyLabelled) -> dict[str, Any]:
    """Mahalanobis and Bhattacharyya distances between class means, with the pooled covariance."""
    import numpy as np

    from ..estimators.discriminant import LinearDiscriminantAnalysis

    n, p = labelled.rows.shape
    n_classes = len(labelled.class_rows)
    if p > MAX_DISTANCE_COLUMNS or n <= p + n_classes:
        needed = f"they need more rows than columns and classes, and at most {MAX_DISTANCE_COLUMNS:,} columns"
        return {"skipped": f"{needed} (rows: {n:,}, columns: {p:,}, classes: {n_classes:,})"}
    try:
        model = LinearDiscriminantAnalysis().fit(labelled.rows, labelled.labels)
        mahalanobis, unbiased = model.mean_distances(), model.mean_distances(unbiased=True)
    except DiscriminantError as error:
        return {"skipped": error}
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
    """The Bayes error of two normal classes at this distance, and the majority-class error."""
    from ..theory import Gaussian, bayes_error

    shares = [n / sum(rows) for n in rows]
    best = bayes_error([Gaussian(0, 1), Gaussian(distance, 1)], priors=shares).error
    return {"shares": shares, "error": min(best, *shares), "always_one": min(shares)}


def _separability(labelled: AnyLabelled) -> dict[str, Any]:
    """Whether a hyperplane separates each pair of classes, and the margin."""
    from ..inference.linear_separability import linear_separability
    from ..margins.convex_hulls import Hyperplane

    (n, p), n_classes = labelled.rows.shape, len(labelled.class_rows)
    n_pairs = n_classes * (n_classes - 1) // 2
    if isinstance(labelled, StreamedTable) or n * p > MAX_SEPARABILITY_VALUES or n_pairs > MAX_SEPARABILITY_PAIRS:
        return {"skipped": f"too large (rows: {n:,}, columns: {p:,}, pairs of classes: {n_pairs:,})"}
    try:
        found = linear_separability(labelled.rows, labelled.labels).pairs
    except DiscriminantError as error:
        return {"skipped": error}
    margins = {pair: one.margin if isinstance(one, Hyperplane) else None for pair, one in found.items()}
    return {"pairs": [{"classes": pair, "separable": m is not None, "margin": m} for pair, m in margins.items()]}
