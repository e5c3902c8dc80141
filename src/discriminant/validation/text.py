"""Results as aligned text and plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def aligned(rows: Sequence[Sequence[str]], names: int = 1) -> list[str]:
    """Lines of a table: the first columns, which hold names, flush left, the others flush right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = zip(row, widths, strict=True)
        cells = [cell.ljust(w) if j < names else cell.rjust(w) for j, (cell, w) in enumerate(padded)]
        lines.append("  ".join(cells).rstrip())
    return lines


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def jsonable(value: Any) -> Any:
    """The same in types that JSON has; what is not a finite number becomes None."""
    if isinstance(value, dict):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(entry) for entry in value]
    if isinstance(value, np.generic):
        return jsonable(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
