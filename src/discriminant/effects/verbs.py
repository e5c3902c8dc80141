"""The three verbs of effects on the probability scale: predictions, comparisons and slopes.

Each is an average over rows: of predicted probabilities, of what changing a column does to them, or of their derivative
in a column. Columns can be set to values first (counterfactual averages), and groups of rows be averaged separately.
Standard errors come from the covariance of the coefficients by the delta method, or from bootstrap resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations, pairwise, product
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Label, MatrixLike
from ..data import check_choice
from ..decision.posteriors import innermost
from ..errors import ColumnError, DegenerateDataError, LabelError, ParameterError, Setting
from ..estimators.base import PosteriorClassifier
from ..estimators.coefficients import column_names
from ..estimators.given import LinearClassifier
from ..estimators.logistic_inference import LogisticInference
from ..estimators.ordinal_inference import OrdinalInference
from ..results import frame_of, number, plain, quoted, several
from .averages import Averages, LogisticModel, ParametricModel, ProbabilityModel, probability_model
from .options import EffectOptions
from .resampling import resampled
from .results import RATIOS, Effects, estimate_of
from .rows import By, Changes, FrameTable, Population, Shift

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


#: Half the step of a central difference, in standard deviations: its errors of truncation and rounding are near 1e-10.
HALF_STEP: Final = 1e-5
Kind = Literal["difference", "ratio", "odds_ratio"]
At = Mapping[str, Any] | None


@dataclass(frozen=True)
class _Term:
    """What a row of the table is about, and its average as a function of the model."""

    term: str
    contrast: str
    average: Callable[[ProbabilityModel], Averages]
    at: Changes


def predictions(
    model: PosteriorClassifier, data: MatrixLike, at: At = None, by: By = None, options: EffectOptions | None = None
) -> Effects:
    """Average predicted probabilities.

    Parameters
    ----------
    model : classifier
        A fitted model of this package with ``predict_proba``.
    data : array-like or frame of shape (n_rows, n_columns)
        The rows to average over, as the model takes them; often the training rows, or `typical_row` of them.
    at : dict, optional
        Columns set to a value, or to each of a list of values, in all rows before they are predicted.
    by : str, list of str or array-like of shape (n_rows,), optional
        Groups of rows that are averaged separately: columns of ``data``, or labels. Numbers with more than 12 values
        are grouped by ranges between quintiles.
    options : EffectOptions, optional
        Outcome, weights, covariance, resamples, confidence level.

    Returns
    -------
    Effects

    See Also
    --------
    comparisons : Differences and ratios between two values of a column.
    slopes : Derivatives in a column.

    References
    ----------
    Arel-Bundock, V., Greifer, N. & Heiss, A. (2024). How to interpret statistical models using marginaleffects for R
    and Python. Journal of Statistical Software 111(9).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, effects
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> print(effects.predictions(LogisticRegression().fit(X, y), X, at={"mean texture": [15, 20]}))
    outcome  contrast           prediction  std. error   [95 %  interval]
    1        mean texture = 15      0.7055     0.01616  0.6738     0.7372
    1        mean texture = 20      0.6192     0.01348  0.5928     0.6456
    note: standard errors: delta method
    note: covariance: inverse of the information matrix
    """
    population = Population(data, (options or EffectOptions()).weights, by)
    terms = [
        _Term("", _in_words(fixed), partial(_predicted, population, fixed), fixed)
        for fixed in _settings(model, population, at)
    ]
    return _effects("prediction", model, population, terms, options)


def comparisons(
    model: PosteriorClassifier, data: MatrixLike, column: str, kind: Kind = "difference", values: Any = None,
    at: At = None, by: By = None, options: EffectOptions | None = None,
) -> Effects:  # fmt: skip
    """Average differences or ratios of predicted probabilities between two values of a column.

    Parameters
    ----------
    model : classifier
        A fitted model of this package with ``predict_proba``.
    data : array-like or frame of shape (n_rows, n_columns)
        The rows to average over, as the model takes them; often the training rows, or `typical_row` of them.
    column : str
        The column that is changed in all rows; ``x0``, ``x1``, ... where columns have no names.
    kind : {"difference", "ratio", "odds_ratio"}, default="difference"
        The risk difference, the ratio of the average risks, or the ratio of their odds. Intervals of ratios are
        computed on the log scale.
    values : number, list or {"reference", "pairwise", "sequential"}, optional
        Of a numeric column: how much is added (default: 1), or the two values that are compared. Of a category: its
        levels, each compared with the first, or how all levels in ``data`` are compared, in alphabetical order: with
        the first (default), in all pairs, or each with the one before.
    at : dict, optional
        Columns set to a value, or to each of a list of values, in all rows before they are predicted.
    by : str, list of str or array-like of shape (n_rows,), optional
        Groups of rows that are averaged separately: columns of ``data``, or labels. Numbers with more than 12 values
        are grouped by ranges between quintiles.
    options : EffectOptions, optional
        Outcome, weights, covariance, resamples, confidence level.

    Returns
    -------
    Effects

    See Also
    --------
    predictions : The averages that are compared.
    slopes : Derivatives in a column.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, effects
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> print(effects.comparisons(LogisticRegression().fit(X, y), X, "mean radius", "ratio"))
    outcome  term         contrast   ratio  std. error      z         p   [95 %  interval]
    1        mean radius  +1        0.8543     0.01032  -15.3  < 0.0001  0.8371     0.8717
    note: standard errors: delta method
    note: covariance: inverse of the information matrix
    """
    check_choice("kind", kind, ("difference", *RATIOS))
    population = Population(data, (options or EffectOptions()).weights, by)
    settings = _settings(model, population, at)
    if any(column in fixed for fixed in settings):
        raise ParameterError(f"{column!r} is compared, so it cannot be fixed. Remove it from ", Setting("at"), ".")

    def compared(fixed: Changes, low: Any, high: Any, own: ProbabilityModel) -> Averages:
        rows = population.observed(column) if isinstance(low, Shift) else population
        before, after = (_scaled(own.predictions(rows, {**fixed, column: one}), kind) for one in (low, high))
        return after - before

    terms = [
        _Term(column, _in_words(fixed, text), partial(compared, fixed, low, high), fixed)
        for fixed, (text, low, high) in product(settings, _pairs(model, population, column, values))
    ]
    return _effects(kind, model, population, terms, options)


def slopes(
    model: PosteriorClassifier, data: MatrixLike, columns: str | Sequence[str] | None = None, at: At = None,
    by: By = None, options: EffectOptions | None = None,
) -> Effects:  # fmt: skip
    """Average slopes of predicted probabilities (average marginal effects).

    Parameters
    ----------
    model : classifier
        A fitted model of this package with ``predict_proba``.
    data : array-like or frame of shape (n_rows, n_columns)
        The rows to average over, as the model takes them; often the training rows, or `typical_row` of them.
    columns : str or list of str, optional
        Numeric columns in which probabilities are differentiated; by default all that the model has.
    at : dict, optional
        Columns set to a value, or to each of a list of values, in all rows before they are predicted.
    by : str, list of str or array-like of shape (n_rows,), optional
        Groups of rows that are averaged separately: columns of ``data``, or labels. Numbers with more than 12 values
        are grouped by ranges between quintiles.
    options : EffectOptions, optional
        Outcome, weights, covariance, resamples, confidence level.

    Returns
    -------
    Effects
        The change of the probability per unit of the column. A logistic regression of columns as they are has the
        derivative in closed form, other models central differences.

    See Also
    --------
    comparisons : Differences and ratios between two values of a column.

    References
    ----------
    Bartus, T. (2005). Estimation of marginal effects using margeff. Stata Journal 5(3).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, effects
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> print(effects.slopes(LogisticRegression().fit(X, y), X))
    outcome  term          contrast     slope  std. error      z         p     [95 %  interval]
    1        mean radius   dP/dx     -0.08288    0.003749  -22.1  < 0.0001  -0.09022   -0.07553
    1        mean texture  dP/dx      -0.0171    0.002493  -6.86  < 0.0001  -0.02199   -0.01221
    note: standard errors: delta method
    note: covariance: inverse of the information matrix
    """
    population = Population(data, (options or EffectOptions()).weights, by)
    chosen, settings = _numeric_columns(model, population, columns), _settings(model, population, at)
    is_plain = not (hasattr(model, "basis_") or hasattr(model, "encoder_") or at)

    @cache
    def half_step(name: str) -> float:
        return HALF_STEP * (population.observed(name).deviation(name) or 1.0)

    def slope(name: str, fixed: Changes, own: ProbabilityModel) -> Averages:
        if is_plain and isinstance(own, LogisticModel):
            return own.slope(population, column_names(own.model).index(name))
        rows = population if name in fixed else population.observed(name)
        low, high = (own.predictions(rows, _moved(fixed, name, sign * half_step(name))) for sign in (-1, 1))
        return (high - low) / (2 * half_step(name))

    terms = [
        _Term(name, _in_words(fixed, "dP/dx"), partial(slope, name, fixed), fixed)
        for fixed, name in product(settings, chosen)
    ]
    return _effects("slope", model, population, terms, options)


def typical_row(data: MatrixLike | None) -> Any:
    """One row with the means of numeric columns and the most frequent level of the others.

    Parameters
    ----------
    data : array-like or frame of shape (n_rows, n_columns)
        The rows that are summarised.

    Returns
    -------
    array or frame with one row
        Of the library of ``data``.

    See Also
    --------
    predictions : Takes such a row, for effects at means.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant import effects
    >>> effects.typical_row(pd.DataFrame({"age": [30, 40], "sex": ["f", "f"]})).to_dict("records")
    [{'age': 35.0, 'sex': 'f'}]
    """
    population = Population(data)
    if not isinstance(population.table, FrameTable):
        return np.array([[population.values(name).mean() for name in population.columns]])
    values = {
        name: [float(np.nanmean(column)) if population.is_numeric(name) else _most_frequent(column)]
        for name, column in ((name, population.values(name)) for name in population.columns)
    }
    return frame_of(values, population.table.frame.implementation)


def _most_frequent(values: Array) -> Any:
    return Counter(value for value in values.tolist() if value is not None and value == value).most_common(1)[0][0]


def _predicted(population: Population, fixed: Changes, own: ProbabilityModel) -> Averages:
    return own.predictions(population, fixed)


def _settings(model: BaseEstimator, population: Population, at: At) -> list[dict[str, Any]]:
    """Every combination of the values that columns are set to."""
    given = dict(at or {})
    lists = [list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] for value in given.values()]
    for name, values in zip(given, lists, strict=True):
        _refuse_text(population, name, values)
        _refuse_unseen(model, population, name, values)
    return [dict(zip(given, map(plain, one), strict=True)) for one in product(*lists)]


def _in_words(fixed: Changes, text: str = "") -> str:
    held = ", ".join(f"{name} = {_level(value)}" for name, value in fixed.items())
    return f"{text} at {held}" if text and held else text or held


def _moved(fixed: Changes, name: str, amount: float) -> Changes:
    """A column moved from where it is, or from the value that it is set to."""
    return {**fixed, name: float(fixed[name]) + amount if name in fixed else Shift(amount)}


def _scaled(averages: Averages, kind: Kind) -> Averages:
    """Averages on the scale on which they are compared."""
    return averages if kind == "difference" else averages.logarithm() if kind == "ratio" else averages.log_odds()


def _pairs(model: BaseEstimator, population: Population, column: str, values: Any) -> list[tuple[str, Any, Any]]:
    """The values of a column that are compared: a text for each pair, the first and the second value."""
    if population.is_numeric(column) and not isinstance(values, str):
        if values is None or np.ndim(values) == 0:
            step = 1.0 if values is None else float(values)
            return [(f"{step:+g}", Shift(0.0), Shift(step))]
        if len(values) != 2:
            raise ParameterError(Setting("values"), f" must be one number or two, got {len(values)}.")
        _refuse_text(population, column, values)
        low, high = map(plain, values)
        return [(f"{number(high)} - {number(low)}", low, high)]
    way = values if isinstance(values, str) else "reference"
    check_choice("values", way, ("reference", "pairwise", "sequential"))
    if values is None or isinstance(values, str):
        levels = _levels(model, population, column)
    else:
        levels = [plain(value) for value in values]
        _refuse_unseen(model, population, column, levels)
    if len(levels) < 2:
        raise ColumnError(
            f"Column {column!r} has only one level in data: {quoted(levels)}. Give the levels to compare."
        )
    if way == "reference":
        pairs = [(levels[0], level) for level in levels[1:]]
    else:
        pairs = list(combinations(levels, 2) if way == "pairwise" else pairwise(levels))
    return [(f"{_level(high)} - {_level(low)}", low, high) for low, high in pairs]


def _levels(model: BaseEstimator, population: Population, column: str) -> list[Any]:
    """The levels of a column that the rows have and the model has been fitted to, sorted."""
    known = _known_levels(model, column)
    present = {value for value in population.values(column).tolist() if value is not None and value == value}
    return sorted({value for value in present if str(value) in known} or present)


def _known_levels(model: BaseEstimator, column: str) -> Sequence[str]:
    """The levels that the training rows of a model had in a column; none if they are not known."""
    encoder = getattr(model, "encoder_", None)
    known = {one.name: one.levels for one in encoder.schema_.columns} if encoder is not None else {}
    return known.get(column) or ()


def _refuse_text(population: Population, column: str, values: Sequence[Any]) -> None:
    """Refuse values of a numeric column that are no numbers."""
    texts = [value for value in values if not isinstance(value, Real)]
    if population.is_numeric(column) and texts:
        raise ColumnError(f"Column {column!r} is numeric, got {texts[0]!r}. Give numbers.")


def _level(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _refuse_unseen(model: BaseEstimator, population: Population, name: str, values: Sequence[Label]) -> None:
    """Refuse levels that training rows did not have, which a model scores as an average level."""
    population.require(name)
    known = _known_levels(model, name)
    if not known:
        return
    present = set(population.values(name).tolist())
    unseen = [value for value in values if value not in present and str(value) not in known]
    if unseen:
        raise ColumnError(f"Column {name!r} has no level {quoted(unseen)}. Levels: {quoted(known, 20)}.")


def _numeric_columns(model: BaseEstimator, population: Population, columns: str | Sequence[str] | None) -> list[str]:
    encoder = getattr(model, "encoder_", None)
    known = encoder.feature_names_in_.tolist() if encoder is not None else column_names(model)
    names = [columns] if isinstance(columns, str) else list(columns or ())
    for name in names:
        if name not in known:
            raise ColumnError(f"The model has no column {name!r}. Columns: {quoted(known, 20)}.")
        if not population.is_numeric(name):
            raise ColumnError(f"Column {name!r} is not numeric and has no slope. Use comparisons.")
    names = names or [name for name in known if name in population.columns and population.is_numeric(name)]
    if not names:
        raise ColumnError("No column of the model is numeric, so there are no slopes. Use comparisons.")
    return names


def _effects(
    kind: str, model: BaseEstimator, population: Population, terms: list[_Term], options: EffectOptions | None
) -> Effects:
    """The table of all terms, groups and classes, with standard errors."""
    options = options or EffectOptions()
    check_is_fitted(model)
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{type(model).__name__} does not predict probabilities. Use a calibrated or probabilistic model."
        )
    inner = innermost(model)
    if getattr(inner, "separation_", None) is not None and not getattr(inner, "alpha", 0):
        advice = (Setting("firth", True),) if "firth" in inner.get_params() else (Setting("alpha"), " > 0")
        reason = "Some coefficients are infinite (separation), so effects are not defined. Use "
        raise DegenerateDataError(reason, *advice, ".")
    own = probability_model(model, options.covariance, options.clusters if not options.resamples else None)
    averages = [term.average(own) for term in terms]
    values = np.stack([one.values for one in averages])
    gaps = [f"rows without a value of {name!r} are left out of its effects" for name in population.gaps]
    notes, limits = [*population.notes, *gaps], None
    if options.resamples:

        def repeat(fitted: BaseEstimator) -> Array:
            refitted = probability_model(fitted, None, None)
            return np.stack([term.average(refitted).values for term in terms])

        repeated, failed = resampled(model, population, options, repeat)
        errors = repeated.std(axis=0, ddof=1)
        limits = np.quantile(repeated, [(1 - options.level) / 2, (1 + options.level) / 2], axis=0)
        notes.append(f"standard errors and percentile intervals: {several(len(repeated), 'bootstrap resample')}")
        if failed:
            notes.append(f"{several(failed, 'resample')} could not be fitted with all classes and were left out")
    elif isinstance(own, ParametricModel):
        variances = [np.einsum("gkq,qr,gkr->gk", one.jacobian, own.covariance, one.jacobian) for one in averages]
        errors = np.sqrt(np.maximum(np.stack(variances), 0.0))
        notes += ["standard errors: delta method", *own.notes]
        if own.untestable:
            errors = np.full_like(errors, np.nan)
            notes.append(own.untestable)
    else:
        errors = np.full_like(values, np.nan)
        notes.append(_no_errors(model))
    rows = []
    for (t, term), (g, group), (k, outcome) in product(
        enumerate(terms), enumerate(population.labels), _outcomes(model, options.outcome)
    ):
        labels = {"outcome": outcome, "term": term.term, "contrast": term.contrast, "group": group, "at": term.at}
        ends = None if limits is None else (limits[0][t, g, k], limits[1][t, g, k])
        rows.append(estimate_of(kind, values[t, g, k], errors[t, g, k], options.level, labels, ends))
    return Effects(kind, options.level, rows, notes)


def _no_errors(model: BaseEstimator) -> str:
    """Why there are no standard errors, and how to get them."""
    if isinstance(model, LogisticInference | OrdinalInference) and model.alpha * model.l1_ratio > 0:
        return "no standard errors after selection by an L1 penalty: they need bootstrap resamples"
    if isinstance(model, LogisticInference | OrdinalInference):
        return "no standard errors: the stored model has no training rows. Give EffectOptions(covariance=...)"
    if isinstance(model, LinearClassifier):
        return "no standard errors: the coefficients were given without a covariance"
    return f"{type(model).__name__} has no covariance: standard errors need bootstrap resamples"


def _outcomes(model: BaseEstimator, outcome: Hashable) -> list[tuple[int, Any]]:
    """The classes that are reported: their numbers and labels."""
    labels = [plain(label) for label in model.classes_]
    if outcome is None:
        return list(enumerate(labels))[1 if len(labels) == 2 else 0 :]
    if outcome not in labels:
        raise LabelError(f"The outcome {outcome!r} is not a class. Classes: {quoted(labels, 20)}.")
    return [(labels.index(outcome), outcome)]
