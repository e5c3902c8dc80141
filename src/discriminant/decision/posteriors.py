"""Posterior probabilities with class names and priors; temperature scaling of class densities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Classifier, MatrixLike, PerClass, ProbabilisticClassifier
from ..data import as_frame, as_rows, check_integer, label_array
from ..engine import map_rows
from ..errors import DegenerateDataError, InputError, LabelError, Model, ParameterError
from ..kernels import scores
from ..results import Result, percent, plain, shown

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def check_priors(priors: PerClass, classes: Array) -> Array:
    """Valid priors in class order, given in class order or by name.

    >>> check_priors({"b": 0.25, "a": 0.75}, np.array(["a", "b"]))
    array([0.75, 0.25])
    """
    values = one_for_each_class("priors", priors, classes)
    if not (values >= 0).all():
        k = int(np.argmin(values >= 0))
        raise ParameterError(
            f"priors must not be negative: class {shown(classes[k])} has {values[k]:g}. Use 0 or more."
        )
    if not abs(values.sum() - 1) <= 1e-6:
        raise ParameterError(f"priors must sum to 1, got {values.sum():.6g}. Divide them by their sum.")
    return values


def equal_priors(classes: Array) -> Array:
    """The same prior for every class."""
    return np.full(len(classes), 1 / len(classes))


def one_for_each_class(name: str, given: PerClass, classes: Array, default: float | None = None) -> Array:
    """One number per class in class order, given in class order or by name; omitted names get ``default``."""
    if isinstance(given, Mapping):
        known = [plain(label) for label in classes]
        unknown = [plain(label) for label in given if label not in known]
        if unknown:
            raise ParameterError(f"{name} contains {unknown[0]!r}, which is not a class. Classes: {known}.")
        missing = [label for label in known if label not in given]
        if missing and default is None:
            raise ParameterError(f"{name} has no value for class {missing[0]!r}. Classes: {known}.")
        filled = given if default is None else {**dict.fromkeys(known, default), **given}
        given = [filled[label] for label in known]
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be numbers, one per class, got {given!r}.") from error
    if values.shape != (len(classes),):
        found = f"{len(values)} values" if values.ndim == 1 else f"shape {values.shape}"
        names = [plain(label) for label in classes]
        raise ParameterError(f"{name} must have one number for each of the {len(names)} classes {names}, got {found}.")
    return values


#: Inverse temperatures in the grid: these factors times powers of 1/2 up to the 10th.
TEMPERATURE_FACTORS: Final = (1.0, 0.5**0.5)
TEMPERATURE_HALVINGS: Final = 10
#: Relative accuracy of the chosen temperature.
TEMPERATURE_TOLERANCE: Final = 1e-10


@dataclass(frozen=True)
class TemperedLosses:
    """The log-loss of posteriors proportional to ``prior_k density_k^t`` at each temperature t.

    Posteriors of a misspecified model are overconfident; a temperature t below 1 corrects them and keeps the priors
    (Guo, Pleiss, Sun & Weinberger 2017 scale logits).

    Parameters
    ----------
    log_densities : array of shape (n, ..., K)
        Minus infinity for impossible classes; NaN if there is no density.
    log_priors : array of shape (K,)
    codes, weight : arrays of shape (n,)
        Classes and weights of the rows.
    """

    log_densities: Array
    log_priors: Array
    codes: Array
    weight: Array

    def part(self, rows: Array | slice) -> TemperedLosses:
        """The losses of a subset of the rows."""
        return TemperedLosses(self.log_densities[rows], self.log_priors, self.codes[rows], self.weight[rows])

    def of_grid(self) -> Array:
        """The total losses at all temperatures of the grid, (..., temperatures).

        Halving a temperature takes a square root, so that only two exponentials per density are needed. Classes are the
        first axis because summing long rows is faster than summing short ones.
        """
        *shape, K = self.log_densities.shape
        logs, priors = np.moveaxis(self.log_densities, -1, 0), np.exp(self.log_priors)
        losses = np.zeros((prod(shape[1:]), len(TEMPERATURE_FACTORS), TEMPERATURE_HALVINGS + 1))
        logs = np.ascontiguousarray(logs).reshape(K, shape[0], len(losses))
        scores.tempered_losses(logs, self.codes, self.weight, priors, np.array(TEMPERATURE_FACTORS), losses)
        constant = self.weight @ self.log_priors[self.codes]
        return losses.reshape(*shape[1:], -1) - constant

    def at(self, temperature: float) -> tuple[Array, Array, Array]:
        """The total loss and its first and second derivative in the temperature; the loss is convex."""
        logs = self.log_densities - self.log_densities.max(axis=-1, keepdims=True)
        own, shares = self._own(logs), np.exp(temperature * logs + self.log_priors)
        sums = shares.sum(axis=-1)
        logs = np.where(shares > 0, logs, 0.0)
        mean = (shares * logs).sum(axis=-1) / sums
        variance = (shares * logs**2).sum(axis=-1) / sums - mean**2
        loss = np.log(sums) - temperature * own
        value, slope, curvature = map(self._weighted, (loss, mean - own, variance))
        return value - self.weight @ self.log_priors[self.codes], slope, curvature

    def best(self, nearest: int | None = None) -> float:
        """The temperature of minimum loss of densities (n, K), at most 1, by Newton's method in a grid interval.

        ``nearest`` is the index of the best temperature of the grid, if known.
        """
        found = TEMPERATURES[int(np.argmin(self.of_grid())) if nearest is None else nearest]
        low, high = found * TEMPERATURE_FACTORS[1], min(found / TEMPERATURE_FACTORS[1], 1.0)
        for _ in range(60):
            _, slope, curvature = self.at(found)
            low, high = (low, found) if slope > 0 else (found, high)
            step = found - float(slope / curvature) if curvature > 0 else np.inf
            # The last Newton step may leave the interval whose limit it has become.
            arrived = abs(step - found) <= TEMPERATURE_TOLERANCE * found
            following = step if arrived or low < step < high else (low + high) / 2
            if abs(following - found) <= TEMPERATURE_TOLERANCE * found:
                break
            found = following
        return float(high if following > high * (1 - TEMPERATURE_TOLERANCE) else following)

    def _weighted(self, values: Array) -> Array:
        """Weighted sums over the rows."""
        return (self.weight @ values.reshape(len(values), prod(values.shape[1:]))).reshape(values.shape[1:])

    def _own(self, logs: Array) -> Array:
        """The entry of each row's true class."""
        place = self.codes.reshape(-1, *[1] * (logs.ndim - 1))
        return np.take_along_axis(logs, place, axis=-1)[..., 0]


#: In the order of `TemperedLosses.of_grid`.
TEMPERATURES = np.multiply.outer(np.array(TEMPERATURE_FACTORS), 0.5 ** np.arange(TEMPERATURE_HALVINGS + 1)).ravel()

#: Maximum deviation of a row's sum of probabilities from 1: allows float32 and six printed digits.
SUM_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Posterior:
    """Class probabilities of rows, with the names and training priors of the classes.

    Parameters
    ----------
    probabilities : array-like or frame of shape (n_rows, K)
        Rows must sum to 1 within 1e-6; they are normalised exactly.
    classes : array-like of shape (K,), optional
        Class labels of the columns. Default: the column names of a frame, else 0, ..., K - 1. Columns of a frame are
        reordered.
    priors : array-like or dict, optional
        Class priors of the training data, required by `with_priors`.

    See Also
    --------
    posterior : The posterior of rows by a fitted model.
    Decision : Decisions from posteriors.

    Examples
    --------
    >>> found = Posterior([[0.9, 0.1], [0.4, 0.6]], classes=["healthy", "ill"], priors=[0.5, 0.5])
    >>> found.labels()
    array(['healthy', 'ill'], dtype='<U7')
    >>> found.with_priors({"healthy": 0.9, "ill": 0.1}).probabilities.round(3)
    array([[0.988, 0.012],
           [0.857, 0.143]])
    """

    probabilities: Array
    classes: Any = None
    priors: Any = None

    def __post_init__(self) -> None:
        values, classes = _named_columns(self.probabilities, self.classes)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "probabilities", _normalised(values, classes))
        if self.priors is not None:
            object.__setattr__(self, "priors", check_priors(self.priors, classes))

    def __len__(self) -> int:
        return len(self.probabilities)

    def __getitem__(self, rows: Array | slice | int) -> Posterior:
        """The posterior of a subset of rows, or of a single row."""
        return _sound(np.atleast_2d(self.probabilities[rows]), self.classes, self.priors)

    def labels(self) -> Array:
        """The most probable class of each row.

        Returns
        -------
        array of shape (n_rows,)
            The first class in case of ties.
        """
        return self.classes[self.probabilities.argmax(axis=1)]

    def with_priors(self, new: PerClass) -> Posterior:
        """The posterior under other class priors, proportional to ``p new / old``.

        Exact if the distribution of each class is unchanged (prior shift).

        Parameters
        ----------
        new : array-like or dict
            Class priors, in class order or by name.

        Returns
        -------
        Posterior
            Under the new priors.
        """
        priors = check_priors(new, self.classes)
        if self.priors is None:
            raise ParameterError(
                "New priors require the priors of the training data. Use Posterior(..., priors=...) or posterior("
                "model, X, priors=...)."
            )
        revived = np.flatnonzero((self.priors == 0) & (priors > 0))
        if revived.size:
            raise ParameterError(
                f"Class {shown(self.classes[revived[0]])} has prior 0 in training, so its posterior stays 0 under any "
                "new prior. Fit the model with rows of that class."
            )
        ratio = np.divide(priors, self.priors, out=np.zeros(len(priors)), where=self.priors > 0)
        weighted = self.probabilities * ratio
        total = weighted.sum(axis=1, keepdims=True)
        if not total.all():
            row = int(np.argmin(total[:, 0]))
            raise DegenerateDataError(
                f"Row {row} has probability 0 for every class with a positive new prior. Use a positive prior for its "
                "class."
            )
        return _sound(weighted / total, self.classes, priors)


def _sound(probabilities: Array, classes: Array, priors: Array | None) -> Posterior:
    """A posterior of valid values, without checks and normalisation."""
    made = object.__new__(Posterior)
    for name, value in (("probabilities", probabilities), ("classes", classes), ("priors", priors)):
        object.__setattr__(made, name, value)
    return made


@dataclass(frozen=True, eq=False, repr=False)
class TopClasses(Result):
    """The k most probable classes of each row, most probable first, with their probabilities."""

    labels: Array
    probabilities: Array

    @property
    def mass(self) -> Array:
        """The total probability of these classes, for each row."""
        return self.probabilities.sum(axis=1)

    @property
    def sets(self) -> list[frozenset[Any]]:
        """The classes of each row as a set."""
        return [frozenset(row) for row in self.labels.tolist()]

    def _columns(self) -> dict[str, list[Any]]:
        places = range(self.labels.shape[1])
        names = {f"class_{j + 1}": self.labels[:, j].tolist() for j in places}
        return names | {f"probability_{j + 1}": self.probabilities[:, j].tolist() for j in places}

    def __str__(self) -> str:
        rows, k = self.labels.shape
        mean = percent(float(self.mass.mean()))
        return f"The {k} most probable classes of {rows:,} rows; mean total probability: {mean}"


def top_k(posterior: Posterior | MatrixLike, k: int, classes: ArrayLike | None = None) -> TopClasses:
    """The k most probable classes of each row with their probabilities.

    Parameters
    ----------
    posterior : Posterior, or array or frame of shape (n_rows, K)
        Class probabilities.
    k : int
        Number of classes, from 1 to K.
    classes : array-like, optional
        Class labels of the columns of an array.

    Returns
    -------
    TopClasses
        Labels and probabilities, most probable first.

    See Also
    --------
    Posterior.labels : The most probable class.

    Examples
    --------
    >>> best = top_k([[0.2, 0.5, 0.3]], 2, classes=["a", "b", "c"])
    >>> best.labels, best.probabilities, best.mass
    (array([['b', 'c']], dtype='<U1'), array([[0.5, 0.3]]), array([0.8]))
    """
    found = as_posterior(posterior, classes)
    check_integer("k", k, 1)
    if k > len(found.classes):
        raise ParameterError(f"k must be at most the number of classes, {len(found.classes)}, got {k}.")
    order = np.argsort(-found.probabilities, axis=1, kind="stable")[:, :k]
    return TopClasses(found.classes[order], np.take_along_axis(found.probabilities, order, axis=1))


def posterior(model: Classifier, X: MatrixLike, priors: PerClass | None = None) -> Posterior:
    """The posterior of rows by any fitted classifier with ``predict_proba``.

    Parameters
    ----------
    model : fitted classifier
        One of this package, of scikit-learn, or a pipeline or search around one.
    X : array-like or frame of shape (n_rows, n_columns)
        Rows as the model takes them.
    priors : array-like or dict, optional
        Class priors of its training data. Default: the model's attribute ``priors_``, ``class_prior_`` or
        ``class_log_prior_``, if any.

    Returns
    -------
    Posterior
        With the classes and priors of the model.

    See Also
    --------
    Posterior : From given probabilities.
    Decision : Decisions from posteriors and costs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> found = posterior(GaussianNB().fit(X, y), X[:2])
    >>> found.labels(), found.priors.round(2)
    (array([0, 0]), array([0.33, 0.33, 0.33]))
    """
    if not has_probabilities(model):
        raise no_probabilities(model)
    return Posterior(model.predict_proba(X), model.classes_, kept_priors(model) if priors is None else priors)


def as_posterior(values: Posterior | MatrixLike, classes: ArrayLike | None = None) -> Posterior:
    """A `Posterior`, from one or from a table with columns ``classes``."""
    if not isinstance(values, Posterior):
        return Posterior(*_named_columns(values, classes))
    if classes is not None:
        _refuse_other_classes(values.classes, class_array(classes))
    return values


def kept_priors(model: BaseEstimator) -> Array | None:
    """The class priors stored by a fitted model, or the model in a pipeline or search, if any."""
    inner = innermost(model)
    for name in ("priors_", "class_prior_"):
        if getattr(inner, name, None) is not None:
            return np.array(getattr(inner, name), dtype=np.float64)
    return np.exp(inner.class_log_prior_) if hasattr(inner, "class_log_prior_") else None


def innermost(model: BaseEstimator) -> Any:
    """The final classifier of a pipeline or the best one of a search."""
    if hasattr(model, "best_estimator_"):
        return innermost(model.best_estimator_)
    return innermost(model.steps[-1][1]) if hasattr(model, "steps") else model


def costs_decide(model: Classifier) -> bool:
    """Whether costs can be applied to a model: it has probabilities and no decision rule of its own."""
    return has_probabilities(model) and not hasattr(innermost(model), "decision")


def refuse_margins(model: Classifier) -> None:
    """Raise an error for a model whose scores are not probabilities."""
    if not has_probabilities(model):
        raise no_probabilities(model)


def has_probabilities(model: Classifier) -> TypeGuard[ProbabilisticClassifier]:
    """Whether a fitted classifier predicts probabilities."""
    return hasattr(model, "predict_proba")


def no_probabilities(model: Classifier) -> ParameterError:
    """The error about a model whose scores are not probabilities."""
    margins = hasattr(model, "decision_function")
    predicts = "predicts margins, not probabilities" if margins else "does not predict probabilities"
    return ParameterError(
        f"{type(model).__name__} {predicts}; expected costs require probabilities. Use a model with probabilities, "
        "such as ", Model("LinearDiscriminantAnalysis"), " or ", Model("LogisticRegression"),
        ", or calibrate this one (in Python: DecisionClassifier(model, calibration='sigmoid')).",
    )  # fmt: skip


def class_array(classes: ArrayLike) -> Array:
    """Distinct class labels as an array."""
    if not isinstance(classes, Iterable) or np.ndim(classes) != 1:
        raise LabelError(f"classes must be a list of class labels, got {classes!r}.")
    listed = [plain(label) for label in classes]
    repeated = [label for i, label in enumerate(listed) if label in listed[:i]]
    if repeated:
        raise LabelError(f"classes contains {repeated[0]!r} more than once: {listed}. Name each class once.")
    return classes if isinstance(classes, np.ndarray) else label_array(listed)


def _named_columns(given: MatrixLike, classes: ArrayLike | None) -> tuple[Array, Array]:
    """The probabilities as an array, and the class of each column."""
    frame = as_frame(given)
    if frame is not None:
        names = list(frame.columns)
        chosen = label_array(names) if classes is None else class_array(classes)
        wanted = [plain(label) for label in chosen]
        # Frames with text column names call class 1 '1'.
        if not set(wanted) <= set(names) and set(map(str, wanted)) == set(names):
            wanted = list(map(str, wanted))
        _refuse_other_classes(label_array(names), label_array(wanted))
        return as_rows(given).block(0, len(frame))[:, [names.index(label) for label in wanted]], chosen
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Probabilities must be a table of numbers: {error}. Give one row per case.") from error
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            f"Probabilities must have shape (n_rows, n_classes), got {values.shape}. For two classes use "
            "np.column_stack([1 - p, p])."
        )
    chosen = np.arange(values.shape[1]) if classes is None else class_array(classes)
    if values.shape[1] != len(chosen):
        raise InputError(
            f"Probabilities have {values.shape[1]} columns, expected {len(chosen)}, one for each of the classes "
            f"{[plain(label) for label in chosen]} in this order."
        )
    return values, chosen


def _refuse_other_classes(found: Array, wanted: Array) -> None:
    found_names, wanted_names = [plain(v) for v in found], [plain(v) for v in wanted]
    missing = [label for label in wanted_names if label not in found_names]
    unknown = [label for label in found_names if label not in wanted_names]
    if missing or unknown:
        wrong = f"lack the class {missing[0]!r}" if missing else f"have the unexpected class {unknown[0]!r}"
        raise LabelError(f"The probabilities {wrong}. Their classes: {found_names}; expected: {wanted_names}.")


def _normalised(values: Array, classes: Array) -> Array:
    """Each row divided by its sum; raises an error for values that are not probabilities."""
    out, ones = np.empty(values.shape), np.ones(values.shape[1])
    unsound = []

    def write(block: Array, where: slice) -> None:
        total = block @ ones
        if not (np.abs(total - 1) <= SUM_TOLERANCE).all() or not block.min() >= 0:
            unsound.append(where)
            return
        np.divide(block, total[:, None], out=out[where])

    map_rows(as_rows(values), write)
    if unsound:
        first = min(unsound, key=lambda where: where.start)
        _refuse_first_unsound_row(values[first], first.start, classes)
    return out


def _refuse_first_unsound_row(values: Array, start: int, classes: Array) -> None:
    sums = values.sum(axis=1)
    sound = (np.abs(sums - 1) <= SUM_TOLERANCE) & (values >= 0).all(axis=1)
    row = int(np.argmin(sound))
    for k, value in enumerate(values[row]):
        if not 0 <= value < np.inf:
            raise InputError(
                f"Row {start + row} has the probability {value:g} for class {shown(classes[k])}; expected a number "
                "from 0 to 1."
            )
    raise InputError(
        f"The probabilities of row {start + row} sum to {sums[row]:.8g}, expected 1 (within {SUM_TOLERANCE:g}). If "
        "they are proportional to probabilities, divide each row by its sum."
    )
