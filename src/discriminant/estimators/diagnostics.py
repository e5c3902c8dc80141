"""Diagnostics of a logistic regression: residuals, influence, collinearity of terms and tests of the fit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, RandomState
from ..data import dense_rows
from ..errors import DegenerateDataError, ParameterError, Setting
from ..inference.residuals import (
    FittedRows,
    FitTest,
    VarianceInflation,
    deviance_residuals,
    hosmer_lemeshow,
    influence,
    le_cessie,
    pearson_residuals,
    quantile_residuals,
    variance_inflation,
)
from ..results import Result, aligned, number, p_value, plain, visible
from .logistic import LogisticRegression
from .logistic_inference import LogisticInference


@dataclass(frozen=True)
class RowDiagnostics:
    """One training row: its number, class, the probability of this class, residuals, leverage and Cook's distance."""

    row: int
    label: Any
    probability: float
    pearson: float
    deviance: float
    leverage: float
    cooks: float


@dataclass(frozen=True, eq=False, repr=False)
class Diagnostics(Result):
    """Diagnostics of a logistic regression on its training rows.

    Attributes
    ----------
    labels : array of shape (n_rows,)
        The classes of the rows.
    probabilities : array of shape (n_rows, n_classes)
        Fitted probabilities.
    pearson, deviance, quantile : arrays of shape (n_rows,)
        Residuals: Pearson's, of the deviance, and randomised quantile residuals, which are standard normal if the model
        holds.
    leverage, cooks : arrays of shape (n_rows,)
        Diagonal of the hat matrix, and Cook's distance by one Newton step.
    dfbetas : array of shape (n_rows, n_coefficients)
        Change of each coefficient, in standard errors, when the row is left out, by one Newton step.
    coefficients : list of str
        The coefficients by name.
    inflation : list of VarianceInflation
        Generalised variance inflation factors of the terms.
    tests : list of FitTest
        Hosmer and Lemeshow; for two classes also le Cessie and van Houwelingen, and the link test.
    codes : array of int of shape (n_rows,)
        The classes of the rows as numbers.

    See Also
    --------
    diagnostics : Computes them.
    """

    labels: Array
    probabilities: Array
    pearson: Array
    deviance: Array
    quantile: Array
    leverage: Array
    cooks: Array
    dfbetas: Array
    coefficients: list[str]
    inflation: list[VarianceInflation]
    tests: list[FitTest]
    codes: Array

    def most_influential(self, count: int = 5) -> list[RowDiagnostics]:
        """The rows with the largest Cook's distances.

        Parameters
        ----------
        count : int, default=5
            How many.

        Returns
        -------
        list of RowDiagnostics
            The largest first.
        """
        order = np.argsort(-self.cooks, kind="stable")[:count]
        observed = self.probabilities[np.arange(len(self.codes)), self.codes]
        columns = (self.pearson, self.deviance, self.leverage, self.cooks)
        return [
            RowDiagnostics(int(i), plain(self.labels[i]), float(observed[i]), *(float(column[i]) for column in columns))
            for i in order
        ]

    def binned_residuals(self, bins: int | None = None) -> dict[str, Array]:
        """Mean residual ``y - p`` of each class but the first in bins of rows by fitted probability.

        Parameters
        ----------
        bins : int, optional
            Number of bins of equal size; default: the root of the number of rows.

        Returns
        -------
        dict of arrays of shape (n_classes - 1, bins)
            "fitted", "residual" and "two_standard_errors" (Gelman & Hill 2007, section 5.6).
        """
        n = len(self.codes)
        count = max(1, min(n, int(np.sqrt(n)) if bins is None else bins))
        found: dict[str, list[Array]] = {"fitted": [], "residual": [], "two_standard_errors": []}
        for k in range(1, self.probabilities.shape[1]):
            p = self.probabilities[:, k]
            parts = np.array_split(np.argsort(p, kind="stable"), count)
            rest = (self.codes == k) - p
            found["fitted"].append(np.array([p[part].mean() for part in parts]))
            found["residual"].append(np.array([rest[part].mean() for part in parts]))
            errors = [rest[part].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else np.nan for part in parts]
            found["two_standard_errors"].append(2 * np.array(errors))
        return {name: np.stack(values) for name, values in found.items()}

    def _columns(self) -> Mapping[str, Any]:
        names = ("pearson", "deviance", "quantile", "leverage", "cooks")
        return {"label": [plain(label) for label in self.labels]} | {name: getattr(self, name) for name in names}

    def tables(self) -> str:
        """The tests of the fit, and the inflation factors of the terms, as text.

        Returns
        -------
        str
            Two tables.
        """
        tests = [["goodness-of-fit test", "statistic", "df", "p"]]
        tests += [
            [t.name, number(t.statistic), "" if t.df is None else str(t.df), p_value(t.p_value)] for t in self.tests
        ]
        terms = [["term", "GVIF", "df", "GVIF^(1/(2 df))"]]
        terms += [[visible(t.term), number(t.gvif), str(t.df), number(t.scaled)] for t in self.inflation]
        return "\n\n".join("\n".join(aligned(table)) for table in (tests, terms) if len(table) > 1)

    def __str__(self) -> str:
        rows = [["row", "class", "probability", "Pearson", "deviance", "leverage", "Cook's distance"]]
        for one in self.most_influential():
            numbers = (one.probability, one.pearson, one.deviance, one.leverage, one.cooks)
            rows.append([str(one.row), visible(one.label), *map(number, numbers)])
        return "\n".join([self.tables(), "", "Most influential rows", *aligned(rows)])


def diagnostics(model: LogisticRegression, groups: int = 10, random_state: RandomState = 0) -> Diagnostics:
    """Residuals, influence, collinearity of terms and tests of the fit of a logistic regression.

    Parameters
    ----------
    model : LogisticRegression
        Fitted by maximum likelihood or Firth's penalised likelihood, with its training rows.
    groups : int, default=10
        Groups of the Hosmer-Lemeshow test.
    random_state : int or Generator, default=0
        Of the randomised quantile residuals.

    Returns
    -------
    Diagnostics

    See Also
    --------
    LogisticRegression.summary : The coefficients with their standard errors.

    References
    ----------
    Fox, J. & Monette, G. (1992). Generalized collinearity diagnostics. JASA 87.
    Pregibon, D. (1980). Goodness of link tests for generalized linear models. Applied Statistics 29.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, diagnostics
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = diagnostics(LogisticRegression().fit(X[["mean radius", "mean texture"]], y))
    >>> [row.row for row in found.most_influential(3)]
    [491, 379, 41]
    """
    rows, names, terms = _fitted_rows(model)
    found, labels = influence(rows), model.classes_[rows.codes]
    slopes = np.array([name != "intercept" for _, name in names])
    inflation = variance_inflation(rows.covariance[np.ix_(slopes, slopes)], terms) if slopes.any() else []
    tests = [hosmer_lemeshow(rows, groups)]
    if len(rows.outcomes) == 1:
        tests += [le_cessie(rows), _link_test(rows)]
    outcomes = [f"{plain(label)}: " if len(rows.outcomes) > 1 else "" for label, _ in names]
    return Diagnostics(
        labels=labels,
        probabilities=rows.P,
        pearson=pearson_residuals(rows),
        deviance=deviance_residuals(rows),
        quantile=quantile_residuals(rows, np.random.default_rng(random_state)),
        leverage=found.leverage,
        cooks=found.cooks,
        dfbetas=found.dfbetas,
        coefficients=[outcome + name for outcome, (_, name) in zip(outcomes, names, strict=True)],
        inflation=inflation,
        tests=tests,
        codes=rows.codes,
    )


def _fitted_rows(model: LogisticRegression) -> tuple[FittedRows, list[tuple[Any, str]], list[str]]:
    """The training rows with probabilities and covariance, the coefficients by outcome and name, and their terms."""
    if not isinstance(model, LogisticInference):
        raise ParameterError(f"Diagnostics are for logistic regression, got {type(model).__name__}.")
    reported = model._reported(None)
    if model.separation_ is not None and not model.firth:
        infinite = "Some coefficients are infinite (separation), so residuals are not defined. Use "
        raise DegenerateDataError(infinite, Setting("firth", True), ".")
    model._require_likelihood("Diagnostics", with_firth=True)
    estimates = model._estimates(reported, model._covariance_choice("model", None, None))
    data = reported.objective.data.gather()
    Z = dense_rows(data.rows.block(0, data.n_rows)).astype(np.float64)
    Z = np.hstack((np.ones((len(Z), 1)), Z)) if model.fit_intercept else Z
    scores = np.zeros((len(Z), len(model.classes_)))
    scores[:, reported.outcomes] = Z @ estimates.values.reshape(len(reported.outcomes), -1).T
    if data.offset is not None:
        scores[:, 1] += data.offset if reported.outcomes == [1] else 0.0
    weight = np.ones(len(Z)) if data.weight is None else data.weight
    n_parameters = model._n_estimable
    fitted = FittedRows(Z, scores, data.codes, weight, reported.outcomes, estimates.covariance, n_parameters)
    columns = model.formula_.terms[: model._n_estimated] if hasattr(model, "formula_") else model._column_names()
    return fitted, model._terms(reported), columns * len(reported.outcomes)


def _link_test(rows: FittedRows) -> FitTest:
    """Wald's test of the square of the linear predictor as a further column (Pregibon 1980)."""
    predictor = rows.scores[:, rows.outcomes[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(tol=1e-12).fit(
            np.column_stack((predictor, predictor**2)), rows.codes == rows.outcomes[0], rows.weight
        )
    square = model.summary().rows[2]
    return FitTest("link test (squared linear predictor)", square.z, None, square.p_value)
