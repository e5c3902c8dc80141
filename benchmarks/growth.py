"""Growth of the time of our fits with the numbers of rows, columns and classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import discriminant as ours

from .measure import Case, seconds_of
from .workloads import softmax_rows

Curves = dict[str, dict[str, list[tuple[float, float]]]]
MODELS: dict[str, Callable[[], Any]] = {
    "LDA": ours.LinearDiscriminantAnalysis,
    "QDA": ours.QuadraticDiscriminantAnalysis,
    "logistic regression": lambda: ours.LogisticRegression(alpha=1e-4),
    "support vector machine": ours.SupportVectorClassifier,
}
#: The dimension that grows, and the shapes (rows, columns, classes).
PANELS: dict[str, list[tuple[int, int, int]]] = {
    "rows (20 columns, 2 classes)": [(n, 20, 2) for n in (1_000, 4_000, 16_000, 64_000, 256_000, 1_024_000)],
    "columns (20,000 rows, 2 classes)": [(20_000, p, 2) for p in (8, 16, 32, 64, 128, 256)],
    "classes (20,000 rows, 20 columns)": [(20_000, 20, k) for k in (2, 4, 8, 16, 32)],
}


def cases() -> Iterator[Case]:
    """None, because only our own fits are measured."""
    yield from ()


def curves() -> Curves:
    """Pairs of size and seconds, by panel and model."""
    found: Curves = {panel: {model: [] for model in MODELS} for panel in PANELS}
    for panel, shapes in PANELS.items():
        grows = next(axis for axis in range(3) if len({shape[axis] for shape in shapes}) > 1)
        for shape in shapes:
            X, y = softmax_rows(*shape)
            for name, make in MODELS.items():
                found[panel][name].append((float(shape[grows]), _fit_seconds(make, X, y)))
    return found


def _fit_seconds(make: Callable[[], Any], X: Any, y: Any) -> float:
    return seconds_of(lambda: make().fit(X, y), rounds=3)


def facts() -> tuple[list[str], list[str]]:
    """A description of the figure."""
    lines = [
        "Time of a fit to normal columns by number of rows, columns or classes, on logarithmic axes. The slope of a",
        "line over the larger half of the sizes is the exponent of the growth: 1 means proportional growth.",
    ]
    return lines, []
