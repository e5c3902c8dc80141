"""How results are printed: plain text, aligned, at most 100 characters wide."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

WIDTH = 100
_LONGEST_NAME = 20


def number(value: float) -> str:
    """A count as it is, a measure with four decimals, NaN as a dash."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def name(label: Any, most: int = _LONGEST_NAME) -> str:
    """A label cut to what fits."""
    text = str(label)
    return text if len(text) <= most else text[: most - 1] + "…"


def aligned(rows: list[list[str]], left: int = 1, gap: int = 2) -> list[str]:
    """Lines with the cells of a column under each other; the first ``left`` columns to the left, the others right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return [
        (" " * gap)
        .join(cell.ljust(w) if j < left else cell.rjust(w) for j, (cell, w) in enumerate(zip(row, widths, strict=True)))
        .rstrip()
        for row in rows
    ]


def confusion_lines(counts: Array, classes: list[Any], predictions: list[Any]) -> list[str]:
    """The table with named axes and margins; where it is too wide, its largest off-diagonal cells."""
    head = "confusion matrix: rows = truth, columns = prediction"
    cells = [["truth".ljust(11), *map(name, predictions), "total"]]
    cells += [[name(label), *map(number, row), number(row.sum())] for label, row in zip(classes, counts, strict=True)]
    cells.append(["total", *map(number, counts.sum(axis=0)), number(counts.sum())])
    lines = aligned(cells)
    first = len(cells[0][0])
    if max(map(len, lines)) <= WIDTH:
        return [head, " " * (max(first, *(len(row[0]) for row in cells)) + 2) + "prediction", *lines]
    return [head, *_largest_confusions(counts, classes, predictions)]


def _largest_confusions(counts: Array, classes: list[Any], predictions: list[Any], most: int = 10) -> list[str]:
    off = counts.astype(np.float64)
    off[np.arange(len(classes)), np.arange(len(classes))] = 0
    order = np.argsort(-off, axis=None, kind="stable")[:most]
    rows = [["truth", "prediction", "rows"]]
    for i, j in zip(*np.unravel_index(order, off.shape), strict=True):
        if off[i, j] > 0:
            rows.append([name(classes[i]), name(predictions[j]), number(off[i, j])])
    table = f"{len(classes)} classes by {len(predictions)} predictions, too wide to print; the largest confusions:"
    return [table, *aligned(rows, left=2)]
