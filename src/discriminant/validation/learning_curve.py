"""Learning curves, and where a model's error comes from.

The error as the number of training rows grows, its limit by extrapolation (a power law with a limit), and the error
taken apart: too few rows, too simple a model, or a solver that stopped early.
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
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..data import check_number
from ..engine import ProgressOption
from ..errors import ParameterError
from ..estimators.base import MomentClassifier
from ..evaluation.intervals import Estimate
from ..results import Result, aligned, columns_of, jsonable, records_of
from .cross_validation import (
    ValidationTask,
    corrected_mean,
    named_models,
    refuse_weightless_models,
    split_results,
    wanted_scoring,
)
from .held_out import (
    LabelledTable,
    Round,
    ShareOfRows,
    Split,
    held_out_rows,
    labelled_table,
    place_in_class,
    plan_rounds,
    shuffled_by_class,
)

#: Powers of n at which the error can approach its limit: 1/2 is the slowest rate that bounds on finite classes of
#: rules allow, 1 the rate of a regular model with a fixed number of parameters.
_SLOWEST, _FASTEST = 0.5, 1.0
_DEFAULT_STEPS = 8


@dataclass(frozen=True)
class PowerLaw:
    """``limit + scale * n**-power``, fitted to errors by least squares."""

    limit: float
    scale: float
    power: float

    def at(self, n: Any) -> Any:
        """The error at n training rows."""
        return self.limit + self.scale * np.asarray(n, dtype=np.float64) ** -self.power


def fit_power_law(sizes: Array, errors: Array) -> PowerLaw:
    """The power law of least squares with a limit and a scale of at least 0 and a power from 1/2 to 1.

    >>> law = fit_power_law(np.array([50, 100, 200, 400]), 0.1 + 3 / np.array([50, 100, 200, 400]))
    >>> round(law.limit, 4), round(law.scale, 3), round(law.power, 3)
    (0.1, 3.0, 1.0)
    """

    def coefficients(power: float) -> tuple[Array, float]:
        # Rows are counted in units of the smallest size: the two columns then are of like size.
        found, distance = nnls(np.column_stack((np.ones(len(sizes)), (sizes / sizes[0]) ** -power)), errors)
        return found, float(distance)

    inner = minimize_scalar(lambda power: coefficients(power)[1], bounds=(_SLOWEST, _FASTEST), method="bounded").x
    power = min((_SLOWEST, float(inner), _FASTEST), key=lambda power: coefficients(power)[1])
    limit, scale = coefficients(power)[0]
    return PowerLaw(float(limit), float(scale * sizes[0] ** power), power)


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """Errors on training rows and on held-out rows for a growing number of training rows.

    Attributes
    ----------
    model : str
        Its name.
    sizes : array of shape (S,)
        Training rows.
    validation_errors, train_errors : arrays of shape (splits, S)
        Shares of rows that were given another class than their own.
    ratio : float
        Held-out rows of a split over all its training rows, on average. It corrects the standard errors for the rows
        the splits share; smaller sizes share fewer, so that theirs are cautious.
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
        """The error on held-out rows at one of the sizes, with Wilson's interval of all of them."""
        found = self.held_out[step]
        return Estimate.by_interval("", "overall", found.value, found.interval(0.95))

    def train(self, step: int = -1) -> Estimate:
        """The error on the training rows at one of the sizes, with its standard error."""
        return corrected_mean(self.train_errors[:, step], self.ratio)

    @cached_property
    def power_law(self) -> PowerLaw:
        """``limit + scale * n**-power`` fitted to the mean error on held-out rows."""
        return fit_power_law(self.sizes, self.validation_errors.mean(axis=0))

    @cached_property
    def limit(self) -> Estimate:
        """The error that endless rows would lead to, by extrapolation.

        The standard error comes from leaving out one split at a time (jackknife), with the correction for the rows the
        splits share. That the curve is a power law is an assumption it does not cover.
        """
        return corrected_mean(self._limits, self.ratio).around(self.power_law.limit)

    @cached_property
    def estimation(self) -> Estimate:
        """What more rows could remove: the error on held-out rows at the largest size minus the limit."""
        found = corrected_mean(self.validation_errors[:, -1] - self._limits, self.ratio)
        return found.around(self.validation().value - self.power_law.limit)

    @cached_property
    def _limits(self) -> Array:
        """The jackknife's pseudo-values of the limit, which behave like scores of the splits."""
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
        """Everything in plain numbers and text."""
        law = self.power_law
        limit = {"value": law.limit, "scale": law.scale, "power": law.power}
        return jsonable({"model": self.model, "sizes": records_of(self._columns()), "limit": limit})

    def __str__(self) -> str:
        rows = [["training rows", "error in training", "error on held-out rows"]]
        found = [self.validation(i) for i in range(len(self.sizes))]
        cells = [f"{one.value:.4f} ({one.low:.4f} to {one.high:.4f})" for one in found]
        rows += [[str(n), str(self.train(i)), cells[i]] for i, n in enumerate(self.sizes.tolist())]
        law = self.power_law
        formula = f"{law.limit:.4f} + {law.scale:.4g} n^-{law.power:.2f}"
        return "\n".join([*aligned(rows), f"{self.model}: limit {self.limit} by extrapolation ({formula})"])


def learning_curve(
    model: Any, X: Any, y: Any, sizes: Any = None, cv: Any = 5, repeats: int = 1, groups: Any = None,
    sample_weight: Any = None, stratify: bool = True, random_state: Any = 0, progress: ProgressOption = None,
    n_jobs: int | None = None,
) -> LearningCurve:  # fmt: skip
    """The error of a model for a growing number of training rows, each set of rows holding the one before.

    Models that are read from class moments read each split's rows once, whatever the number of sizes.

    Parameters
    ----------
    model : classifier
        One model; it may come with a name, as ``{name: model}``.
    X : array-like, sparse matrix or frame of shape (n_rows, n_columns)
        All rows there are.
    y : array-like of shape (n_rows,)
        The label of every row.
    sizes : list of int or float, optional
        Numbers of training rows, or shares of them. By default eight sizes, each larger by the same factor.
    cv : int, float, splitter or iterable of (train, test), default=5
        As in `cross_validate`. Each split's training rows are brought into a random order in which every beginning
        has about the same share of each class.
    repeats : int, default=1
        Deals of the folds.
    groups : array-like of shape (n_rows,), optional
        Groups that are held out as a whole.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies of the rows.
    stratify : bool, default=True
        Whether each fold has its share of each class.
    random_state : int or Generator, default=0
        For the folds and for the order in which rows are added.
    progress : bool or callable, optional
        True for a bar, False for none; by default one that appears when it takes long. A function is told the fits
        done and their number.
    n_jobs : int, optional
        Threads to use; by default those of BLAS.

    Returns
    -------
    LearningCurve
        Errors in training and on held-out rows at each size, and the power law through them.

    See Also
    --------
    error_sources : What the limit of the curve says about the model.
    discriminant.figures.learning_curve : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> print(learning_curve(LinearDiscriminantAnalysis(), X, y, sizes=[15, 30, 60, 120]))
    training rows  error in training     error on held-out rows
    15               0.0000 ± 0.0000  0.0733 (0.0414 to 0.1265)
    30               0.0200 ± 0.0555  0.0400 (0.0185 to 0.0845)
    60               0.0167 ± 0.0219  0.0267 (0.0104 to 0.0666)
    120              0.0200 ± 0.0085  0.0200 (0.0068 to 0.0571)
    LinearDiscriminantAnalysis: limit 0.0113 ± 0.0341 by extrapolation (0.0113 + 0.9183 n^-1.00)
    """
    named, table = named_models(model), labelled_table(X, y, sample_weight, groups)
    if len(named) > 1:
        raise ParameterError(f"A learning curve is that of one model, got {len(named)}. Make one for each.")
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
    """Splits that learn from the first rows of a random order of the training rows, a few more each time."""
    order = split.train[evenly_mixed(table.codes[split.train], rng)]
    step = np.full(table.n_rows, len(steps), dtype=np.int32)
    step[order[: steps[-1]]] = np.repeat(np.arange(len(steps)), np.diff([0, *steps]))
    nested = [Split(table.n_rows, split.test, np.sort(order[:size])) for size in steps]
    return Round(nested, step=step)


def evenly_mixed(codes: Array, rng: np.random.Generator) -> Array:
    """A random order of rows every beginning of which has about the same share of each class."""
    order, sizes = shuffled_by_class(codes, rng), np.bincount(codes)
    return order[np.argsort((place_in_class(sizes) + 0.5) / np.repeat(sizes, sizes), kind="stable")]


def _checked_sizes(sizes: Any, table: LabelledTable, available: int) -> list[int]:
    if sizes is None:
        # From where the rarest class has more rows than there are columns, if there are that many, up to all.
        rarest = table.class_counts.min() / table.n_rows
        wanted = max((table.n_columns + 2) / rarest, 10 * len(table.classes), available / 50)
        first = int(min(math.ceil(wanted), max(available // 2, len(table.classes))))
        return sorted(set(np.rint(np.geomspace(first, available, _DEFAULT_STEPS)).astype(int).tolist()))
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise ParameterError(f"sizes must be a list of numbers of training rows, got {sizes!r}.")
    steps = []
    for size in sizes:
        if not isinstance(size, Real) or isinstance(size, bool) or not float(size) > 0:
            raise ParameterError(f"sizes must be numbers of rows, or shares of them up to 1, got {size!r}.")
        share = not isinstance(size, Integral) and float(size) <= 1
        steps.append(round(float(size) * available) if share else int(float(size)))
    steps = sorted(set(steps))
    if len(steps) < 2 or steps[0] < len(table.classes) or steps[-1] > available:
        raise ParameterError(
            f"sizes must be at least two different numbers from {len(table.classes)} (one row of each class) to "
            f"{available} (the smallest training part), got {list(sizes)}."
        )
    return steps


#: The solver's answer is compared with one that is this much closer to the optimum.
_TIGHTER, _TIGHTEST = 1e-3, 1e-14


@dataclass(frozen=True, repr=False)
class Optimisation(Result):
    """How far the solver stayed from the optimum, and what that changes.

    Attributes
    ----------
    excess : float or None
        Estimated distance of the objective from its minimum, relative to the objective. None: unknown.
    duality_gap : float or None
        A proven bound on the distance, where the problem has a dual.
    changed : float or None
        Share of training rows (of their weight) whose predicted class changes if the solver goes on.
    error : float or None
        Error on the training rows minus that after the solver has gone on.
    words : str
        All this as a sentence.
    """

    excess: float | None
    duality_gap: float | None
    changed: float | None
    error: float | None
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSources(Result):
    """The error of a model on new rows, taken apart.

    ``total = bayes_error + approximation + estimation``; what the solver adds is part of the latter two and stands
    beside them.

    Attributes
    ----------
    model : str
        The name of the model.
    total : Estimate
        Error on held-out rows at the largest size of the learning curve.
    estimation : Estimate
        What more rows could remove: the total minus the learning curve's limit.
    approximation : Estimate or None
        What a model of this kind cannot learn from any number of rows: the limit minus the Bayes error. None where the
        Bayes error is not known.
    bayes_error : float or None
        The error of the best rule there is.
    optimisation : Optimisation
        What the solver left undone.
    curve : LearningCurve
        Where total and estimation come from.
    """

    model: str
    total: Estimate
    estimation: Estimate
    approximation: Estimate | None
    bayes_error: float | None
    optimisation: Optimisation
    curve: LearningCurve

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text."""
        values = super().to_dict() | {name: _ends(getattr(self, name)) for name in _ESTIMATED}
        return jsonable(values | {"rows": int(self.curve.sizes[-1]), "learning_curve": values.pop("curve")})

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each source: its size and 95 % interval."""
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
    model: Any, X: Any, y: Any, bayes_error: Any = None, sizes: Any = None, cv: Any = 5, repeats: int = 1,
    groups: Any = None, sample_weight: Any = None, random_state: Any = 0, progress: ProgressOption = None,
    n_jobs: int | None = None,
) -> ErrorSources:  # fmt: skip
    """The error of a model split into estimation, approximation and optimisation, side by side.

    Estimation is the distance of the error on held-out rows from the limit of the learning curve, approximation the
    distance of that limit from the Bayes error, optimisation what the solver left undone on the training rows.

    Parameters
    ----------
    model : classifier
        Whose error is taken apart.
    X : array-like, sparse matrix or frame of shape (n_rows, n_columns)
        Rows for the learning curve and for the solver.
    y : array-like of shape (n_rows,)
        What is to be predicted.
    bayes_error : float or an object with an ``error``, optional
        The error of the best possible rule, where it is known: that of `discriminant.theory.bayes_error`, say.
    sizes : list of int or float, optional
        Sizes of the learning curve, as `learning_curve` takes them.
    cv : int, float, splitter or iterable of (train, test), default=5
        Splits at which the curve is measured.
    repeats : int, default=1
        Number of times that they are drawn.
    groups : array-like of shape (n_rows,), optional
        Held out one by one, if there are any.
    sample_weight : array-like of shape (n_rows,), optional
        Of the fits and of the errors.
    random_state : int or Generator, default=0
        Makes the curve reproducible.
    progress : bool or callable, optional
        Whether to show how far the curve is.
    n_jobs : int, optional
        Threads for the curve.

    Returns
    -------
    ErrorSources
        The parts of the error, each with its interval, beside the learning curve they come from.

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
    'closed form: nothing is left to the solver'
    """
    named = named_models(model)
    best = getattr(bayes_error, "error", bayes_error)
    if best is not None:
        check_number("bayes_error", best, 0, 1)
    known = None if best is None else float(best)
    curve = learning_curve(
        named, X, y, sizes, cv, repeats, groups, sample_weight,
        random_state=random_state, progress=progress, n_jobs=n_jobs,
    )  # fmt: skip
    approximation = None if known is None else curve.limit.around(curve.limit.value - known)
    (name, estimator), table = next(iter(named.items())), labelled_table(X, y, sample_weight)
    return ErrorSources(
        name, curve.validation(), curve.estimation, approximation, known, _optimisation(estimator, table), curve
    )


def _optimisation(model: Any, table: LabelledTable) -> Optimisation:
    if isinstance(model, MomentClassifier):
        return Optimisation(0.0, 0.0, 0.0, 0.0, "closed form: nothing is left to the solver")
    fitted = table.fitted(model)
    solution = getattr(fitted, "solution_", None)
    if solution is None:
        return Optimisation(None, None, None, None, "unknown: the model does not say how far its solver came")
    gap = getattr(solution, "duality_gap", None)
    words = f"objective {solution.excess:.1e} above its minimum (relative)"
    words += "" if gap is None else f", by {gap:.1e} at most"
    if "tol" not in model.get_params():
        return Optimisation(float(solution.excess), gap, None, None, words)
    changed, error = _left_undone(model, fitted, table)
    words += f"; going on changes the class of {100 * changed:.2g} % of the training rows"
    return Optimisation(float(solution.excess), gap, changed, error, words)


def _left_undone(model: Any, fitted: Any, table: LabelledTable) -> tuple[float, float]:
    """Share of the training rows whose class changes if the solver goes on, and the error this takes away."""
    given = model.get_params()
    closer = {"tol": max(_TIGHTER * given["tol"], _TIGHTEST)}
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


#: Sources of error that are estimated with an interval.
_ESTIMATED = ("total", "estimation", "approximation")


def _ends(estimate: Estimate | None) -> dict[str, float] | None:
    """An estimate and its interval."""
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _optional(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
