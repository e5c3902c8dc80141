"""Validation of scores, outcomes, probabilities and the positive class."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import is_missing, same_length
from ..decision.posteriors import Posterior, as_posterior
from ..errors import DtypeError, InputError, LabelError, Setting
from ..results import plain, quoted, shown
from .sampling import SamplingDesign

#: Sums of weights with a smaller relative difference are equal up to rounding.
_EQUAL_WEIGHTS: Final = 1e-9


def class_scores(name: str, score: ArrayLike, classes: Array) -> Array:
    """Scores as a float array, one column or one for each class; refuses NaN and infinity."""
    values = np.asarray(score)
    if values.dtype.kind not in "fiub":
        raise DtypeError(f"{name} must be numbers, got dtype {values.dtype}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise InputError(f"{name} must have one number for each row, got shape {values.shape}.")
    finite = np.isfinite(values)
    if not finite.all():
        place = tuple(np.argwhere(~finite)[0].tolist())
        what = "NaN" if np.isnan(values[place]) else "infinity"
        where = ", column ".join(map(str, place))
        raise InputError(
            f"{name} contains {what}: row {where}. Scores must be finite, because rows are ranked by them."
        )
    if values.ndim == 2 and values.shape[1] != len(classes):
        raise InputError(
            f"{name} has {values.shape[1]} columns, expected {len(classes)}: one for each of the classes "
            f"{classes.tolist()}, in this order."
        )
    return values


def score_column(name: str, score: ArrayLike) -> Array:
    """One score for each row."""
    shape = np.shape(score)
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(f"{name} must have one number for each row, got shape {shape}.")
    return class_scores(name, score, np.empty(0))


def number_column(name: str, numbers: ArrayLike) -> Array:
    """One number for each row as float64."""
    values = np.asarray(numbers)
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise InputError(f"{name} must be one number for each row, got shape {values.shape}, dtype {values.dtype}.")
    return values.astype(np.float64, copy=False)


def probability_column(probability: ArrayLike) -> Array:
    """One probability for each row as float64."""
    p = number_column("probability", probability)
    sound = (p >= 0) & (p <= 1)
    if not sound.all():
        row = int(np.argmin(sound))
        raise InputError(f"probability must be from 0 to 1, row {row} has {p[row]:g}.")
    return p


def outcome_column(outcome: ArrayLike) -> Array:
    """Whether the outcome occurred in each row; refuses other values, such as -1 and 1 or class labels."""
    values = np.asarray(outcome)
    if values.ndim != 1:
        raise InputError(f"outcome must be True or False for each row, got shape {values.shape}.")
    if values.dtype.kind in "biuf":
        sound = (values == 0) | (values == 1)
    else:
        sound = np.array([not is_missing(value) and value in (False, True) for value in values.tolist()], dtype=bool)
    if not sound.all():
        row = int(np.argmin(sound))
        raise InputError(
            f"outcome must be True or False (or 1 and 0) for each row: row {row} has {shown(values[row])}. For "
            "labels, give y == label."
        )
    return values.astype(bool)


def predicted_outcomes(
    outcome: ArrayLike, probability: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
) -> tuple[Array, Array, SamplingDesign]:
    """Whether an event happened in each row, its predicted probability, and how the rows were drawn."""
    is_event, p = outcome_column(outcome), probability_column(probability)
    same_length(outcome=is_event, probability=p)
    return is_event, p, SamplingDesign.read(sample_weight, groups, len(p))


def read_posterior(posterior: Posterior | MatrixLike, classes: ArrayLike | None) -> tuple[Array, Array]:
    """The classes and the probabilities of the rows, checked.

    Probabilities in an array are not normalised: dividing a row by its sum would break ties between rows in the last
    digit.
    """
    found = as_posterior(posterior, classes)
    if isinstance(posterior, np.ndarray) and posterior.dtype.kind == "f":
        return found.classes, np.ascontiguousarray(posterior, dtype=np.float64)
    return found.classes, found.probabilities


def positive_code(positive: Hashable | None, classes: Array, class_weights: Array) -> int | None:
    """The code of the positive class: the given one, or the rarer of two (the second, if both have equal weight). None
    for more than two classes without a given one.
    """
    if positive is not None:
        return _code_of(positive, classes)
    if len(classes) != 2:
        return None
    first, second = class_weights
    return 0 if first < second * (1 - _EQUAL_WEIGHTS) else 1


def code_of_large_scores(positive: Hashable | None, classes: Array) -> int:
    """The code of the class with the larger values of a single score: the given one, or the second of two."""
    if positive is None and len(classes) == 2:
        return 1
    if positive is None:
        raise LabelError(
            f"y has {len(classes)} class(es), {quoted(classes.tolist(), 8)}, but one score per row. Give a score for "
            "each class, or name the class with the larger scores with ",
            Setting("positive"),
            ".",
        )
    return _code_of(positive, classes)


def _code_of(positive: Hashable | None, classes: Array) -> int:
    names = classes.tolist()
    if plain(positive) not in names:
        raise LabelError(Setting("positive", plain(positive)), f" is not among the classes {names[:8]}.")
    return names.index(plain(positive))
