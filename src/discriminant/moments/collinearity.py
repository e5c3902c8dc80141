"""Columns that are linear functions of others: exactly, with the equation, or nearly, with their variance inflation.

The variance inflation of a column is ``1 / (1 - R^2)`` of its regression on the others, the diagonal of the inverse
correlations: how much it multiplies the variance of the column's coefficient. The condition index is the root of the
largest over the smallest eigenvalue of the correlations (Belsley, Kuh & Welsch 1980). One pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import LabelledRows, Rows, as_rows
from ..engine import reduce
from ..results import Finding, listed, number, quoted, shown
from .covariance import factorised
from .statistic import ClassMoments

Array = np.ndarray[Any, Any]

#: The usual reading: above it a coefficient says little by itself.
_INFLATED = 10.0
#: Of more columns than this the correlations take longer to look through than to learn from.
_MOST_COLUMNS = 1000
#: Longer equations are told by the columns on their right side, of which so many are named.
_MOST_TERMS = 4
_MOST_EQUATIONS = 5
#: Standardised coefficients below this are rounding.
_NO_PART = 1e-7


@dataclass(frozen=True)
class Collinearity:
    """What is collinear among columns.

    Attributes
    ----------
    equations : dict of int to str
        Columns that are linear functions of columns before them, and which.
    inflation : array of shape (n_columns,)
        Variance inflation of the other columns; NaN for these.
    condition : float
        Condition index of the other columns.
    """

    equations: dict[int, str]
    inflation: Array
    condition: float


def column_moments(rows: Rows, weight: Array | None = None, grain: Any = "diagonal") -> tuple[Array, Array]:
    """The means of the columns, and their variances, or covariances with the ``grain`` "pooled"."""
    together = LabelledRows(rows, np.array([0]), np.zeros(rows.n_rows, dtype=np.int32), weight)
    found = reduce(together, ClassMoments(1, rows.n_columns, grain=grain))
    return found.mean[0], found.scatter[0] / found.weight[0]


def collinearity(rows: Rows, names: Sequence[str], weight: Array | None = None) -> Collinearity:
    """Which columns are linear functions of others, and how nearly the rest is."""
    with np.errstate(over="ignore", invalid="ignore"):
        means, covariance = column_moments(rows, weight, "pooled")
    if not np.isfinite(covariance).all():  # squares of numbers this large are none: nothing can be said
        return Collinearity({}, np.full(len(names), np.nan), np.nan)
    scale = np.sqrt(np.diagonal(covariance))
    constant = scale <= 0
    scale = np.where(constant, 1.0, scale)
    correlation = covariance / scale / scale[:, None]
    aliased = {*factorised(covariance).aliased, *np.flatnonzero(constant).tolist()}
    kept = [j for j in range(len(names)) if j not in aliased]
    equations = {}
    for j in sorted(aliased):
        before = [i for i in kept if i < j]
        part = np.linalg.lstsq(correlation[np.ix_(before, before)], correlation[before, j], rcond=None)[0]
        own = {i: float(b * scale[j] / scale[i]) for i, b in zip(before, part, strict=True) if abs(b) > _NO_PART}
        rest = float(means[j]) - sum(b * float(means[i]) for i, b in own.items())
        equations[j] = _equation(names, j, own, rest if abs(rest) > _NO_PART * max(abs(means[j]), scale[j]) else 0.0)
    values, axes = np.linalg.eigh(correlation[np.ix_(kept, kept)])
    inflation = np.full(len(names), np.nan)
    inflation[kept] = (axes**2 / np.maximum(values, np.finfo(float).tiny)).sum(axis=1)
    return Collinearity(equations, inflation, float(np.sqrt(values[-1] / values[0])) if kept else 1.0)


def _equation(names: Sequence[str], j: int, own: dict[int, float], constant: float) -> str:
    """``'total' = 'age' + 2 'height' - 3``; of many terms the columns alone."""
    if len(own) > _MOST_TERMS:
        largest = sorted(own, key=lambda i: -abs(own[i]))
        return f"{shown(names[j])} from {listed([shown(names[i]) for i in largest], _MOST_TERMS)}"
    terms = [(value, f" {shown(names[i])}") for i, value in own.items()] + [(constant, "")]
    written = ""
    for value, name in terms:
        if value == 0 and (name or written):
            continue
        size = "" if name and number(abs(value)) == "1" else number(abs(value))
        sign = ("-" if value < 0 else "") if not written else (" - " if value < 0 else " + ")
        written += f"{sign}{f'{size}{name}'.strip()}"
    return f"{shown(names[j])} = {written}"


def collinearity_findings(X: Any, names: Sequence[str], weight: Array | None = None) -> list[Finding]:
    """What to beware of among the columns of a table, in words; nothing of sparse ones."""
    if sp.issparse(X):
        return []
    rows = as_rows(X)
    if rows.n_rows <= len(names):
        said = f"There are no more rows ({rows.n_rows:,}) than columns ({len(names):,}): every column is a linear "
        said += "function of others, and single coefficients cannot be read."
        return [Finding("warning", "collinear", None, said)]
    if len(names) > _MOST_COLUMNS:
        return []
    found = collinearity(rows, names, weight)
    inflated = [int(j) for j in np.argsort(-np.nan_to_num(found.inflation)) if found.inflation[j] > _INFLATED]
    findings = []
    if found.equations:
        told = list(found.equations.values())
        more = [f"and {len(told) - _MOST_EQUATIONS} more"] if len(told) > _MOST_EQUATIONS else []
        said = f"Linear functions of other columns, which add nothing: {'; '.join(told[:_MOST_EQUATIONS] + more)}."
        findings.append(Finding("warning", "collinear", None, f"{said} Leave them out to read single coefficients."))
    if inflated:
        said = (
            f"Nearly linear functions of other columns: {quoted([names[j] for j in inflated])} (variance inflation up "
            f"to {found.inflation[inflated[0]]:,.0f}, condition index {found.condition:,.0f}). Their single "
            "coefficients are uncertain, even where predictions are good."
        )
        findings.append(Finding("note", "collinear", None, said))
    return findings
