"""The table statisticians know: estimates, standard errors, tests, intervals, and how well the model fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.stats import norm

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Coefficient:
    """One row of the table: a term's effect on the log-odds of an outcome."""

    outcome: Any
    term: str
    estimate: float
    std_error: float
    z: float
    p_value: float
    ci_lower: float
    ci_upper: float
    odds_ratio: float

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def coefficient(outcome: Any, term: str, estimate: float, std_error: float, level: float) -> Coefficient:
    """The Wald test and interval of one estimate."""
    finite = bool(np.isfinite(estimate))
    z = estimate / std_error if finite and std_error > 0 else np.nan
    reach = float(norm.ppf(0.5 + level / 2)) * std_error
    lower, upper = (estimate - reach, estimate + reach) if finite else (-np.inf, np.inf)
    with np.errstate(over="ignore"):
        odds = float(np.exp(estimate))
    return Coefficient(outcome, term, estimate, std_error, z, float(2 * norm.sf(abs(z))), lower, upper, odds)


@dataclass(frozen=True)
class Summary:
    """Coefficients and fit of a logistic regression.

    Attributes
    ----------
    rows : list of Coefficient
    log_likelihood, deviance, null_deviance, aic, bic, pseudo_r2 : float
        ``pseudo_r2`` is McFadden's, 1 - log L / log L of the intercept alone.
    notes : list of str
        What to know when reading the table: kind of covariance, aliased columns, separation.
    """

    rows: list[Coefficient]
    n_rows: float
    n_parameters: int
    log_likelihood: float
    null_log_likelihood: float
    level: float
    title: str
    notes: list[str]

    @property
    def deviance(self) -> float:
        return -2 * self.log_likelihood

    @property
    def null_deviance(self) -> float:
        return -2 * self.null_log_likelihood

    @property
    def aic(self) -> float:
        return self.deviance + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        return self.deviance + float(np.log(self.n_rows)) * self.n_parameters

    @property
    def pseudo_r2(self) -> float:
        return 1 - self.log_likelihood / self.null_log_likelihood

    def to_frame(self, backend: Any = None) -> Any:
        """The rows as a pandas or polars frame, whichever is there (pandas first), or as ``backend`` says."""
        columns = {name: [getattr(row, name) for row in self.rows] for name in Coefficient.__dataclass_fields__}
        return nw.from_dict(columns, backend=backend if backend is not None else _frame_backend()).to_native()

    def __str__(self) -> str:
        lines = [self.title, "=" * max(len(self.title), 78), *self._fit_lines(), ""]
        outcomes = list(dict.fromkeys(row.outcome for row in self.rows))
        width = max([len(row.term) for row in self.rows] + [9])
        for outcome in outcomes:
            lines.append(f"log-odds of {outcome!r}")
            lines.append(_head(width, self.level))
            lines += [_line(row, width) for row in self.rows if row.outcome == outcome]
            lines.append("")
        return "\n".join(lines + [f"note: {note}" for note in self.notes]).rstrip()

    __repr__ = __str__

    def _fit_lines(self) -> list[str]:
        return [
            f"rows {self.n_rows:<12g} parameters {self.n_parameters:<8d} log-likelihood {self.log_likelihood:.4f}",
            f"deviance {self.deviance:.4f}   null deviance {self.null_deviance:.4f}   "
            f"AIC {self.aic:.4f}   BIC {self.bic:.4f}   pseudo R2 {self.pseudo_r2:.4f}",
        ]


def _head(width: int, level: float) -> str:
    percent = f"{100 * level:g} %"
    return (
        f"  {'term':<{width}} {'estimate':>11} {'std. error':>11} {'z':>8} {'p':>9} "
        f"{'[' + percent:>11} {'interval]':>11} {'odds ratio':>11}"
    )


def _line(row: Coefficient, width: int) -> str:
    p_value = "< 0.0001" if row.p_value < 1e-4 else f"{row.p_value:.4f}"
    return (
        f"  {row.term:<{width}} {row.estimate:>11.5g} {row.std_error:>11.5g} {row.z:>8.3f} {p_value:>9} "
        f"{row.ci_lower:>11.5g} {row.ci_upper:>11.5g} {row.odds_ratio:>11.5g}"
    )


def _frame_backend() -> Any:
    for name in ("pandas", "polars", "pyarrow"):
        try:
            __import__(name)
        except ImportError:
            continue
        return name
    raise ImportError("to_frame needs pandas, polars or pyarrow; .rows has the same records without them")
