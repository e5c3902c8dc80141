"""Model updating on new rows: selection of a recalibration (Vergouwe et al. 2017).

The linear predictor of the model is kept as it is, given a new intercept (in the large), a new intercept and slope, or
new coefficients of all columns (refit). The models are nested, so likelihood-ratio tests decide; the closed testing
procedure selects the simplest update that is not significantly worse than the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, expit

from ..arrays import Array
from ..data import check_number, has_fractions
from ..errors import DegenerateDataError, ParameterError, Setting
from ..results import Result, aligned, decimal, number, p_value
from ..solvers.weightings import logistic_fits
from .inputs import predicted_outcomes, probability_column
from .recalibration import calibration_line_of, log_odds
from .sampling import SamplingDesign

NO_UPDATE: Final = "no update"
IN_THE_LARGE: Final = "recalibration in the large"
LOGISTIC: Final = "logistic recalibration"
REFIT: Final = "refit"
#: A standardised column with a smaller part that earlier columns do not explain is one of their linear functions.
MIN_INDEPENDENT: Final = 1e-8


@dataclass(frozen=True)
class Update:
    """One way to update the linear predictor: ``intercept + slope * log-odds``; NaN for a refit.

    ``statistic`` and ``p_value`` are those of the likelihood-ratio test that the largest update is better.
    """

    update: str
    intercept: float
    slope: float
    log_likelihood: float
    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Recalibration(Result):
    """The updates of a model, and the recommended one.

    Attributes
    ----------
    rows : list of Update
        No update, recalibration in the large, logistic recalibration, and with columns a refit.
    recommended : str
        The name of the update selected by the closed testing procedure.
    significance : float
        Of its tests.
    coefficients : array of shape (n_columns + 1,), or None
        Of the refit, the intercept first; NaN for columns that are constant in the rows, whose coefficients cannot be
        estimated.

    See Also
    --------
    recalibrate : Computes it.
    """

    rows: list[Update]
    recommended: str
    significance: float
    coefficients: Array | None = None

    @property
    def chosen(self) -> Update:
        """The recommended update."""
        return next(row for row in self.rows if row.update == self.recommended)

    def apply(self, probability: ArrayLike) -> Array:
        """Probabilities after the recommended update.

        Parameters
        ----------
        probability : array-like of shape (n_rows,)
            Predicted by the model.

        Returns
        -------
        array of shape (n_rows,)
        """
        if self.recommended == REFIT:
            raise ParameterError(
                "The recommended update is a refit, which is not a function of the predictions. Fit the model."
            )
        return np.asarray(expit(self.chosen.intercept + self.chosen.slope * log_odds(probability_column(probability))))

    def __str__(self) -> str:
        table = [["update", "intercept", "slope", "log-likelihood", "chi-square", "df", "p"]]
        for row in self.rows:
            tests = [number(row.statistic), str(row.df), p_value(row.p_value)] if row.df else ["", "", ""]
            numbers = [decimal(row.intercept), decimal(row.slope), decimal(row.log_likelihood, 2)]
            table.append([row.update, *numbers, *tests])
        note = f"tests: against {self.rows[-1].update}"
        return "\n".join([*aligned(table), note, f"recommended: {self.recommended}"])


def recalibrate(
    outcome: ArrayLike,
    probability: ArrayLike,
    sample_weight: ArrayLike | None = None,
    significance: float = 0.05,
    columns: ArrayLike | None = None,
) -> Recalibration:
    """Select a recalibration of a model from its predictions for new rows.

    Parameters
    ----------
    outcome : array-like of shape (n_rows,)
        True or False, 1 or 0.
    probability : array-like of shape (n_rows,)
        Predicted by the model, which was fitted to other rows.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies: whole numbers.
    significance : float, default=0.05
        Level of the likelihood-ratio tests.
    columns : array-like of shape (n_rows, n_columns), optional
        The columns of the linear predictor, to compare with a refit as well.

    Returns
    -------
    Recalibration

    See Also
    --------
    calibration_line : Intercept and slope with standard errors.

    References
    ----------
    Vergouwe, Y. et al. (2017). A closed testing procedure to select an appropriate method for updating prediction
    models. Statistics in Medicine 36.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.1, 0.9, size=500)
    >>> print(recalibrate(rng.uniform(size=500) < expit(0.8 + np.log(p / (1 - p))), p))
    update                      intercept   slope  log-likelihood  chi-square  df         p
    no update                      0.0000  1.0000         -279.99       67.16   2  < 0.0001
    recalibration in the large     0.8393  1.0000         -247.62       2.437   1    0.1185
    logistic recalibration         0.8846  1.1841         -246.40
    tests: against logistic recalibration
    recommended: recalibration in the large
    """
    check_number("significance", significance, 0.0, 1.0, open_below=True)
    truth, p, design = predicted_outcomes(outcome, probability, sample_weight)
    if has_fractions(design.weight):
        raise ParameterError(
            Setting("sample_weight"), " must be frequency weights (integers): likelihood-ratio tests count rows."
        )
    line = calibration_line_of(truth, p, design)
    if not np.isfinite(line.slope):
        raise DegenerateDataError(
            "The calibration line is not finite: outcomes or predictions are constant or separated. Give more rows of "
            "both classes."
        )
    x = log_odds(p)
    lines = {NO_UPDATE: (0.0, 1.0), IN_THE_LARGE: (line.in_the_large, 1.0), LOGISTIC: (line.intercept, line.slope)}
    fits = {name: _log_likelihood(intercept + slope * x, truth, design) for name, (intercept, slope) in lines.items()}
    coefficients, n_refitted = None, 0
    if columns is not None:
        coefficients, fits[REFIT], n_refitted = _refit(columns, truth, design)
        lines[REFIT] = (np.nan, np.nan)
    largest = REFIT if columns is not None else LOGISTIC
    rows = []
    for free, (name, (intercept, slope)) in zip((0, 1, 2, n_refitted), lines.items(), strict=False):
        df = 0 if name == largest else (n_refitted or 2) - free
        statistic = max(2 * (fits[largest] - fits[name]), 0.0) if df else np.nan
        p_of_test = float(chdtrc(df, statistic)) if df else np.nan
        rows.append(Update(name, intercept, slope, fits[name], statistic, df, p_of_test))
    recommended = next((row.update for row in rows if row.df and row.p_value >= significance), largest)
    return Recalibration(rows, recommended, significance, coefficients)


def _refit(columns: ArrayLike, truth: Array, design: SamplingDesign) -> tuple[Array, float, int]:
    """New coefficients of all columns, the intercept first, their log-likelihood, and how many are free.

    A column that is a linear function of those before it, such as a reference level, has the coefficient 0; that of a
    constant column, such as a level that no row has, is NaN.
    """
    X = np.asarray(columns, dtype=np.float64)
    if X.ndim != 2 or len(X) != len(truth):
        raise ParameterError(Setting("columns"), f" must have shape ({len(truth)}, n_columns), got {X.shape}.")
    mean, scale = X.mean(axis=0), X.std(axis=0)
    varies = scale > 0
    if not varies.any():
        raise DegenerateDataError(
            "All columns of the refit are constant. Recalibrate without ", Setting("columns"), "."
        )
    centred = (X - mean) / np.where(varies, scale, 1.0)
    kept = np.abs(np.diagonal(np.linalg.qr(centred, mode="r"))) > MIN_INDEPENDENT * np.sqrt(len(X))
    Z = np.column_stack((np.ones(len(X)), centred[:, kept]))
    fit = logistic_fits(Z, truth.astype(np.float64), design.weights[None])
    if not fit.converged[0]:
        wrong = "The refit has no finite estimate: the columns separate the classes. Recalibrate without "
        raise DegenerateDataError(wrong, Setting("columns"), ".")
    theta, slopes = fit.theta[0], np.zeros(X.shape[1])
    slopes[kept] = theta[1:] / scale[kept]
    intercept = theta[0] - slopes @ mean
    slopes[~varies] = np.nan
    return np.append(intercept, slopes), _log_likelihood(Z @ theta, truth, design), len(theta)


def _log_likelihood(scores: Array, truth: Array, design: SamplingDesign) -> float:
    return float(design.weights @ (truth * scores - np.logaddexp(0, scores)))
