"""Collinear columns: equations of aliased columns, variance inflation factors, condition index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, MatrixLike
from ..data import Rows, as_rows
from ..results import Finding, listed, number, quoted, shown
from .covariance import factorised
from .statistic import column_moments

#: Larger variance inflation factors are reported; 10 is the usual limit.
MAX_VARIANCE_INFLATION: Final = 10.0
#: With more columns the decomposition of the correlations takes longer than a fit, and nothing is reported.
MAX_CHECKED_COLUMNS: Final = 1000
#: Longer equations are shown as a list of this many columns.
MAX_TERMS: Final = 4
MAX_EQUATIONS: Final = 5
#: Standardised coefficients below this are rounding.
COEFFICIENT_ROUNDING: Final = 1e-7


@dataclass(frozen=True)
class Collinearity:
    """Exact and near collinearity of columns.

    Attributes
    ----------
    equations : dict of int to str
        Aliased columns (linear functions of earlier columns) and their equations.
    inflation : array of shape (n_columns,)
        Variance inflation factors of the other columns; NaN for aliased columns.
    condition : float
        Condition index of the other columns.
    """

    equations: dict[int, str]
    inflation: Array
    condition: float


def collinearity(rows: Rows, names: Sequence[str], weight: Array | None = None) -> Collinearity:
    """Equations of aliased columns, and variance inflation factors and condition index of the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        means, covariance = column_moments(rows, weight, "pooled")
    if not np.isfinite(covariance).all():  # squares overflow
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
        pairs = zip(before, part, strict=True)
        own = {i: float(b * scale[j] / scale[i]) for i, b in pairs if abs(b) > COEFFICIENT_ROUNDING}
        rest = float(means[j]) - sum(b * float(means[i]) for i, b in own.items())
        is_rounding = abs(rest) <= COEFFICIENT_ROUNDING * max(abs(means[j]), scale[j])
        equations[j] = _equation(names, j, own, 0.0 if is_rounding else rest)
    values, axes = np.linalg.eigh(correlation[np.ix_(kept, kept)])
    inflation = np.full(len(names), np.nan)
    inflation[kept] = (axes**2 / np.maximum(values, np.finfo(float).tiny)).sum(axis=1)
    return Collinearity(equations, inflation, float(np.sqrt(values[-1] / values[0])) if kept else 1.0)


def _equation(names: Sequence[str], j: int, own: dict[int, float], constant: float) -> str:
    """``'total' = 'age' + 2 'height' - 3``; beyond `MAX_TERMS` terms only the columns."""
    if len(own) > MAX_TERMS:
        largest = sorted(own, key=lambda i: -abs(own[i]))
        return f"{shown(names[j])} from {listed([shown(names[i]) for i in largest], MAX_TERMS)}"
    terms = [(value, f" {shown(names[i])}") for i, value in own.items()] + [(constant, "")]
    written = ""
    for value, name in terms:
        if value == 0 and (name or written):
            continue
        size = "" if name and number(abs(value)) == "1" else number(abs(value))
        sign = ("-" if value < 0 else "") if not written else (" - " if value < 0 else " + ")
        written += f"{sign}{f'{size}{name}'.strip()}"
    return f"{shown(names[j])} = {written}"


def collinearity_findings(X: MatrixLike, names: Sequence[str], weight: Array | None = None) -> list[Finding]:
    """Findings about collinear columns of a dense table."""
    if sp.issparse(X):
        return []
    rows = as_rows(X)
    if rows.n_rows <= len(names):
        text = (
            f"Rows: {rows.n_rows:,}, columns: {len(names):,}. With no more rows than columns, every column is a linear "
            "function of others: do not interpret individual coefficients."
        )
        return [Finding("warning", "collinear", None, text)]
    if len(names) > MAX_CHECKED_COLUMNS:
        return []
    found = collinearity(rows, names, weight)
    largest_first = np.argsort(-np.nan_to_num(found.inflation))
    inflated = [int(j) for j in largest_first if found.inflation[j] > MAX_VARIANCE_INFLATION]
    findings = []
    if found.equations:
        equations = list(found.equations.values())
        more = [f"and {len(equations) - MAX_EQUATIONS} more"] if len(equations) > MAX_EQUATIONS else []
        text = f"Collinear columns: {'; '.join(equations[:MAX_EQUATIONS] + more)}. Drop them to interpret individual "
        findings.append(Finding("warning", "collinear", None, f"{text}coefficients."))
    if inflated:
        text = (
            f"Nearly collinear columns: {quoted([names[j] for j in inflated])} (largest variance inflation factor: "
            f"{found.inflation[inflated[0]]:,.0f}, condition index: {found.condition:,.0f}). Their coefficients are "
            "imprecise; predictions are not affected."
        )
        findings.append(Finding("note", "collinear", None, text))
    return findings
