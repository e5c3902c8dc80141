"""Learning curves and sources of error.

The limit of a learning curve is extrapolated by a power law. The error of a model is the sum of Bayes error,
approximation error, estimation error and optimisation error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar, nnls
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, ArrayLike, MatrixLike, RandomState
from ..data import check_number
from ..engine import ProgressOption
from ..errors import ParameterError
from ..estimators.moment_classifier import MomentClassifier
from ..evaluation.intervals import Estimate
from ..results import Result, aligned, columns_of, jsonable, records_of
from ..theory.bayes import BayesError
from .cross_validation import corrected_mean
from .fold_fits import ModelsLike, ValidationTask, named_models, refuse_weightless_models, split_results
from .held_out import ShareOfRows, held_out_rows
from .labelled_table import LabelledTable, labelled_table
from .scoring import wanted_scoring
from .splits import Round, Split, SplitsLike, place_in_class, plan_rounds, shuffled_by_class

#: Powers of n at which the error can approach its limit: 1/2 is the slowest rate that bounds on finite classes of
#: rules allow, 1 the rate of a regular model with a fixed number of parameters.
_SLOWEST, _FASTEST = 0.5, 1.0
_DEFAULT_STEPS = 8


@dataclass(frozen=True)
class PowerLaw:
    """The power law ``limit + scale * n**-power``, fitted to errors by least squares."""

    limit: float
    scale: float
    power: float

    def at(self, n: ArrayLike) -> Array:
        """The error at n training rows."""
        return self.limit + self.scale * np.asarray(n, dtype=np.float64) ** -self.power


def fit_power_law(sizes: Array, errors: Array) -> PowerLaw:
    """The least-squares fit with non-negative limit and scale, and a power from 1/2 to 1.

    >>> law = fit_power_law(np.array([50, 100, 200, 400]), 0.1 + 3 / np.array([50, 100, 200, 400]))
    >>> round(law.limit, 4), round(law.scale, 3), round(law.power, 3)
    (0.1, 3.0, 1.0)
    """

    def coefficients(power: float) -> tuple[Array, float]:
        # Rows are counted in units of the smallest size, so that the two columns have similar scales.
        found, distance = nnls(np.column_stack((np.ones(len(sizes)), (sizes / sizes[0]) ** -power)), errors)
        return found, float(distance)

    inner = minimize_scalar(lambda power: coefficients(power)[1], bounds=(_SLOWEST, _FASTEST), method="bounded").x
    power = min((_SLOWEST, float(inner), _FASTEST), key=lambda power: coefficients(power)[1])
    limit, scale = coefficients(power)[0]
    return PowerLaw(float(limit), float(scale * sizes[0] ** power), power)


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """Training and held-out errors by the number of training rows.

    Attributes
    ----------
    model : str
        Its name.
    sizes : array of shape (S,)
        Training rows.
    validation_errors, train_errors : arrays of shape (splits, S)
        Error rates.
    ratio : float
        Mean ratio of held-out to training rows of a split. It corrects the standard errors for the training rows that
        splits have in common; smaller sizes have fewer in common, so their standard errors are conservative.
    held_out : tuple of ShareOfRows
        The errors on the held-out rows of all splits, for each size.
    """

    model: str
    sizes: Array
    validation_errors: Array
    train_errors: Array
    ratio: float
    held_out: tuple[ShareOfRows, ...]

    def validation(self, step: int = -1) -> Estimate:
        """The held-out error at one of the sizes, with Wilson's interval."""
        found = self.held_out[step]
        return Estimate.by_interval("", "overall", found.value, found.interval(0.95))

    def train(self, step: int = -1) -> Estimate:
        """The error on the training rows at one of the sizes, with its standard error."""
        return corrected_mean(self.train_errors[:, step], self.ratio)

    @cached_property
    def power_law(self) -> PowerLaw:
        """``limit + scale * n**-power`` fitted to the mean held-out error."""
        return fit_power_law(self.sizes, self.validation_errors.mean(axis=0))

    @cached_property
    def limit(self) -> Estimate:
        """The extrapolated error for an infinite number of training rows.

        The standard error is a jackknife over splits, corrected for their common training rows. It does not include the
        uncertainty of the power law as a model of the curve.
        """
        return corrected_mean(self._limits, self.ratio).around(self.power_law.limit)

    @cached_property
    def estimation(self) -> Estimate:
        """The estimation error: the held-out error at the largest size minus the limit."""
        found = corrected_mean(self.validation_errors[:, -1] - self._limits, self.ratio)
        return found.around(self.validation().value - self.power_law.limit)

    @cached_property
    def _limits(self) -> Array:
        """The jackknife pseudo-values of the limit, one for each split."""
        splits = len(self.validation_errors)
        if splits == 1:
            return np.array([self.power_law.limit])
        others = (self.validation_errors.sum(axis=0) - self.validation_errors) / (splits - 1)
        without = np.array([fit_power_law(self.sizes, errors).limit for errors in others])
        return splits * self.power_law.limit - (splits - 1) * without

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each size: mean errors and their 95 % intervals."""
        columns: dict[str, list[Any]] = {"size": self.sizes.tolist()}
        for name, at in (("train", self.train), ("validation", self.validation)):
            found = [at(step) for step in range(len(self.sizes))]
            columns[f"{name}_error"] = [estimate.value for estimate in found]
            columns[f"{name}_low"] = [max(estimate.low, 0.0) for estimate in found]
            columns[f"{name}_high"] = [min(estimate.high, 1.0) for estimate in found]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """All values as plain numbers and text."""
        law = self.power_law
        limit = {"value": law.limit, "scale": law.scale, "power": law.power}
        return jsonable({"model": self.model, "sizes": records_of(self._columns()), "limit": limit})

    def __str__(self) -> str:
        rows = [["training rows", "training error", "held-out error"]]
        found = [self.validation(i) for i in range(len(self.sizes))]
        cells = [f"{one.value:.4f} ({one.low:.4f} to {one.high:.4f})" for one in found]
        rows += [[str(n), str(self.train(i)), cells[i]] for i, n in enumerate(self.sizes.tolist())]
        law = self.power_law
        formula = f"{law.limit:.4f} + {law.scale:.4g} n^-{law.power:.2f}"
        return "\n".join([*aligned(rows), f"{self.model}: limit {self.limit} by extrapolation ({formula})"])


def learning_curve(
    model: ModelsLike, X: MatrixLike, y: ArrayLike, sizes: Iterable[float] | None = None, cv: SplitsLike = 5,
    repeats: int = 1, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None, stratify: bool = True,
    random_state: RandomState = 0, progress: ProgressOption = None, n_jobs: int | None = None,
) -> LearningCurve:  # fmt: skip
    """The error of a model by the number of training rows, for nested sets of training rows.

    Moment models read the rows of each split once for all sizes.

    Parameters
    ----------
    model : classifier
        One model, or ``{name: model}``.
    X : array-like, sparse matrix or frame of shape (n_rows, n_columns)
        All rows.
    y : array-like of shape (n_rows,)
        The labels.
    sizes : list of int or float, optional
        Training-set sizes, or fractions up to 1. Default: eight sizes in geometric progression.
    cv : int, float, splitter or iterable of (train, test), default=5
        As in `cross_validate`. The training rows of each split are ordered at random so that the first n have about the
        same class proportions for every n.
    repeats : int, default=1
        Number of repeats of the k-fold split.
    groups : array-like of shape (n_rows,), optional
        Groups whose rows are held out together.
    sample_weight : array-like of shape (n_rows,), optional
        Frequency weights.
    stratify : bool, default=True
        Whether folds are stratified by class.
    random_state : int or Generator, default=0
        Seed of the folds and of the order of the training rows.
    progress : bool or callable, optional
        Whether a progress bar is shown; default: only if the computation takes long. A function is called
        with the number of fits done and the total.
    n_jobs : int, optional
        Number of threads; default: as BLAS.

    Returns
    -------
    LearningCurve
        Training and held-out errors at each size, and the fitted power law.

    See Also
    --------
    error_sources : Sources of error, from the limit of the curve.
    discriminant.figures.learning_curve : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> print(learning_curve(LinearDiscriminantAnalysis(), X, y, sizes=[15, 30, 60, 120]))
    training rows  training error     held-out error
    15               0.0000 ± 0.0000  0.0733 (0.0414 to 0.1265)
    30               0.0200 ± 0.0555  0.0400 (0.0185 to 0.0845)
    60               0.0167 ± 0.0219  0.0267 (0.0104 to 0.0666)
    120              0.0200 ± 0.0085  0.0200 (0.0041 to 0.0571)
    LinearDiscriminantAnalysis: limit 0.0113 ± 0.0341 by extrapolation (0.0113 + 0.9183 n^-1.00)
    """
    named, table = named_models(model), labelled_table(X, y, sample_weight, groups)
    if len(named) > 1:
        raise ParameterError(f"learning_curve takes one model, got {len(named)}. Call it once for each model.")
    if table.weight is not None:
        refuse_weightless_models(named)
    rng = np.random.default_rng(random_state)
    splits = [split for part in plan_rounds(table, cv, repeats, stratify, rng) for split in part.splits]
    steps = _checked_sizes(sizes, table, min(split.n_train for split in splits))
    nested = [_nested_splits(table, split, steps, rng) for split in splits]
    task = ValidationTask(named, table, nested, wanted_scoring("error_rate", None, table.classes), train_scores=True)
    ((name, results),) = split_results(task, progress, n_jobs)[0].items()
    held_out = np.array([one.held_out[0] for one in results]).reshape(len(splits), -1)
    train = np.array([one.train[0] for one in results if one.train is not None]).reshape(len(splits), -1)
    ratio = sum(len(split.test) for split in splits) / sum(split.n_train for split in splits)
    rows = held_out_rows(table, splits)
    by_size = [
        np.concatenate([one.rows["error_rate"].values for one in results[i :: len(steps)]]) for i in range(len(steps))
    ]
    errors = tuple(ShareOfRows(rows, values) for values in by_size)
    return LearningCurve(name, np.array(steps), held_out, train, ratio, errors)


def _nested_splits(table: LabelledTable, split: Split, steps: list[int], rng: np.random.Generator) -> Round:
    """Splits with nested training rows: the first rows of a random order."""
    order = split.train[evenly_mixed(table.codes[split.train], rng)]
    step = np.full(table.n_rows, len(steps), dtype=np.int32)
    step[order[: steps[-1]]] = np.repeat(np.arange(len(steps)), np.diff([0, *steps]))
    nested = [Split(table.n_rows, split.test, np.sort(order[:size])) for size in steps]
    return Round(nested, step=step)


def evenly_mixed(codes: Array, rng: np.random.Generator) -> Array:
    """A random order of rows whose first n have about the same class proportions for every n."""
    order, sizes = shuffled_by_class(codes, rng), np.bincount(codes)
    return order[np.argsort((place_in_class(sizes) + 0.5) / np.repeat(sizes, sizes), kind="stable")]


def _checked_sizes(sizes: Iterable[float] | None, table: LabelledTable, available: int) -> list[int]:
    if sizes is None:
        # From the size at which the rarest class has more rows than columns, if available, to all rows.
        rarest = table.class_counts.min() / table.n_rows
        wanted = max((table.n_columns + 2) / rarest, 10 * len(table.classes), available / 50)
        first = int(min(math.ceil(wanted), max(available // 2, len(table.classes))))
        return sorted(set(np.rint(np.geomspace(first, available, _DEFAULT_STEPS)).astype(int).tolist()))
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise ParameterError(f"sizes must be a list of training-set sizes, got {sizes!r}.")
    steps: list[int] = []
    for size in sizes:
        if not isinstance(size, Real) or isinstance(size, bool) or not float(size) > 0:
            raise ParameterError(f"sizes must be training-set sizes, or fractions up to 1, got {size!r}.")
        share = not isinstance(size, Integral) and float(size) <= 1
        steps.append(round(float(size) * available) if share else int(float(size)))
    steps = sorted(set(steps))
    if len(steps) < 2 or steps[0] < len(table.classes) or steps[-1] > available:
        raise ParameterError(
            f"sizes must be at least two different numbers from {len(table.classes)} (one row of each class) to "
            f"{available} (the smallest training set), got {list(sizes)}."
        )
    return steps


#: Factor of the tighter tolerance with which the solution is compared.
_TIGHTER, _TIGHTEST = 1e-3, 1e-14


@dataclass(frozen=True, repr=False)
class Optimisation(Result):
    """The distance of the solver from the optimum, and its effect.

    Attributes
    ----------
    suboptimality : float or None
        Estimated distance of the objective from its minimum, relative to the objective. None: unknown.
    duality_gap : float or None
        A proven bound on the suboptimality, if the problem has a dual.
    changed : float or None
        Share of training rows (by weight) whose predicted class changes with a tighter tolerance.
    error : float or None
        Error on the training rows minus that with a tighter tolerance.
    words : str
        Summary as a sentence.
    """

    suboptimality: float | None
    duality_gap: float | None
    changed: float | None
    error: float | None
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSources(Result):
    """The error of a model on new rows, decomposed into its sources.

    ``total = bayes_error + approximation + estimation``; the error of the solver is part of the latter two and is also
    reported separately.

    Attributes
    ----------
    model : str
        The name of the model.
    total : Estimate
        Error on held-out rows at the largest size of the learning curve.
    estimation : Estimate
        Estimation error: the total minus the limit of the learning curve.
    approximation : Estimate or None
        Approximation error: the limit minus the Bayes error. None if the Bayes error is unknown.
    bayes_error : float or None
        The error rate of the Bayes classifier.
    optimisation : Optimisation
        The suboptimality of the solution.
    curve : LearningCurve
        The curve from which total and estimation error are computed.
    """

    model: str
    total: Estimate
    estimation: Estimate
    approximation: Estimate | None
    bayes_error: float | None
    optimisation: Optimisation
    curve: LearningCurve

    def to_dict(self) -> dict[str, Any]:
        """All values as plain numbers and text."""
        values = super().to_dict() | {name: _ends(getattr(self, name)) for name in _ESTIMATED}
        return jsonable(values | {"rows": int(self.curve.sizes[-1]), "learning_curve": values.pop("curve")})

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each source, with its estimate and 95 % interval."""
        rows = [{"source": name, **(_ends(getattr(self, name)) or {})} for name in _ESTIMATED]
        others = {"bayes_error": self.bayes_error, "optimisation": self.optimisation.error}
        rows += [{"source": name, "value": value} for name, value in others.items()]
        return columns_of(rows, ("source", "value", "low", "high"))

    def __str__(self) -> str:
        n = int(self.curve.sizes[-1])
        limits = "no rule of this kind can avoid it: the limit minus the Bayes error"
        if self.approximation is None:
            limits = "the Bayes error is not known (give bayes_error)"
        rows = [
            [f"error of {self.model}", "size", "what it is"],
            ["total", str(self.total), f"on held-out rows, learned from {n} rows"],
            ["estimation", str(self.estimation), "more rows could remove it: distance from the curve's limit"],
            ["approximation", _optional(self.approximation), limits],
            ["Bayes error", _optional(self.bayes_error), "no rule at all can avoid it"],
            ["optimisation", _optional(self.optimisation.error), self.optimisation.words],
        ]
        return "\n".join(aligned(rows, left=3))


def error_sources(
    model: ModelsLike, X: MatrixLike, y: ArrayLike, bayes_error: float | BayesError | None = None,
    sizes: Iterable[float] | None = None, cv: SplitsLike = 5, repeats: int = 1, groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, random_state: RandomState = 0, progress: ProgressOption = None,
    n_jobs: int | None = None,
) -> ErrorSources:  # fmt: skip
    """Decompose the error of a model into estimation, approximation and optimisation error.

    Estimation is the distance of the held-out error from the limit of the learning curve, approximation the
    distance of that limit from the Bayes error, optimisation the suboptimality of the solution on the training rows.

    Parameters
    ----------
    model : classifier
        The model.
    X : array-like, sparse matrix or frame of shape (n_rows, n_columns)
        Features.
    y : array-like of shape (n_rows,)
        Class labels.
    bayes_error : float or an object with an ``error``, optional
        The Bayes error, if known: for example from `discriminant.theory.bayes_error`.
    sizes : list of int or float, optional
        Sizes of the learning curve, as for `learning_curve`.
    cv : int, float, splitter or iterable of (train, test), default=5
        Splits of the learning curve, as for `cross_validate`.
    repeats : int, default=1
        Number of repeats of the k-fold split.
    groups : array-like of shape (n_rows,), optional
        Groups whose rows are held out together.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of fits and errors.
    random_state : int or Generator, default=0
        Seed of the learning curve.
    progress : bool or callable, optional
        Whether progress is shown.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ErrorSources
        The sources of error with intervals, and the learning curve.

    See Also
    --------
    learning_curve : The curve alone.
    discriminant.figures.error_sources : Draws the parts.

    References
    ----------
    Bottou, L. & Bousquet, O. (2008). The tradeoffs of large scale learning. Advances in Neural Information Processing
    Systems 20, 161-168.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)
    >>> X = rng.normal(size=(1000, 3)) + 1.0 * y[:, None]
    >>> found = error_sources(LinearDiscriminantAnalysis(), X, y, bayes_error=0.1932)
    >>> found.optimisation.words
    'closed form: no optimisation error'
    """
    named = named_models(model)
    known = None
    if bayes_error is not None:
        best: Any = getattr(bayes_error, "error", bayes_error)
        check_number("bayes_error", best, 0, 1)
        known = float(best)
    curve = learning_curve(
        named, X, y, sizes, cv, repeats, groups, sample_weight,
        random_state=random_state, progress=progress, n_jobs=n_jobs,
    )  # fmt: skip
    approximation = None if known is None else curve.limit.around(curve.limit.value - known)
    (name, estimator), table = next(iter(named.items())), labelled_table(X, y, sample_weight)
    return ErrorSources(
        name, curve.validation(), curve.estimation, approximation, known, _optimisation(estimator, table), curve
    )


def _optimisation(model: BaseEstimator, table: LabelledTable) -> Optimisation:
    if isinstance(model, MomentClassifier):
        return Optimisation(0.0, 0.0, 0.0, 0.0, "closed form: no optimisation error")
    fitted = table.fitted(model)
    solution = getattr(fitted, "solution_", None)
    if solution is None:
        return Optimisation(None, None, None, None, "unknown: the model has no record of its solver")
    gap = getattr(solution, "duality_gap", None)
    words = f"objective {solution.suboptimality:.1e} above its minimum (relative)"
    words += "" if gap is None else f", by {gap:.1e} at most"
    if "tol" not in model.get_params():
        return Optimisation(float(solution.suboptimality), gap, None, None, words)
    changed, error = _effect_of_tolerance(model, fitted, table)
    words += f"; a tighter tolerance changes the class of {100 * changed:.2g} % of the training rows"
    return Optimisation(float(solution.suboptimality), gap, changed, error, words)


def _effect_of_tolerance(model: BaseEstimator, fitted: Any, table: LabelledTable) -> tuple[float, float]:
    """Share of the training rows whose class changes with a tighter tolerance, and the reduction of the error."""
    given = model.get_params()
    tol = given["tol"] or fitted.solution_.suboptimality
    closer = {"tol": max(_TIGHTER * tol, _TIGHTEST)}
    if "max_iter" in given:
        closer["max_iter"] = 10 * given["max_iter"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = table.fitted(clone(model).set_params(**closer))
    everything = np.arange(table.n_rows)
    truth, weight = table.labels(everything), table.weights_of(everything)
    before, after = fitted.predict(table.X), best.predict(table.X)
    changed, error = before != after, (before != truth) * 1.0 - (after != truth)
    return float(np.average(changed, weights=weight)), float(np.average(error, weights=weight))


#: Sources of error with an interval.
_ESTIMATED = ("total", "estimation", "approximation")


def _ends(estimate: Estimate | None) -> dict[str, float] | None:
    """An estimate and its interval."""
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _optional(value: Estimate | float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
