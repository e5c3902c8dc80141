"""Scores of held-out rows to probabilities: a curve for each class, as in scikit-learn's ``CalibratedClassifierCV``.

The same folds and curves: a sigmoid whose targets are a row away from 0 and 1 (Platt 2000), or an isotonic curve
(Zadrozny & Elkan 2002). Scikit-learn's takes half a second to load, and fits the classifier to all rows once more,
which has been done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..arrays import Array
from ..data import LabelledRows
from ..errors import InputError, Setting
from ..folds import grouped_folds

#: Newton's steps for two parameters of a convex function; few are needed.
_MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted classifier with scores, and the curves that turn them into probabilities of its classes.

    A curve is slope and intercept of a sigmoid, ``1 / (1 + exp(slope score + intercept))``, or the corners of an
    isotonic curve, scores above probabilities. Two classes have one, of the second.
    """

    estimator: Any
    method: Literal["sigmoid", "isotonic"]
    n_folds: int
    classes_: Array
    curves: list[Array]

    @classmethod
    def learned(
        cls, fitted: Any, method: Literal["sigmoid", "isotonic"], n_folds: int, data: LabelledRows
    ) -> Calibration:
        """From what copies of a classifier, each fitted to the other folds, say of the rows of a fold."""
        scores = np.empty((data.n_rows, len(fitted.classes_) if len(fitted.classes_) > 2 else 1))
        for train, held in _folds(data, n_folds):
            part = data.take(train)
            copy = clone(fitted).fit(part.rows, fitted.classes_[part.codes], part.weight)
            scores[held] = copy.decision_function(data.take(held).rows).reshape(len(held), -1)
        curve = sigmoid_curve if method == "sigmoid" else isotonic_curve
        of_interest = range(len(fitted.classes_)) if scores.shape[1] > 1 else (1,)
        curves = [curve(own, data.codes == k, data.weight) for k, own in zip(of_interest, scores.T, strict=True)]
        return cls(fitted, method, n_folds, fitted.classes_, curves)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes."""
        scores = self.estimator.decision_function(X)
        scores = scores.reshape(len(scores), -1)
        made = np.column_stack([_at(curve, own) for curve, own in zip(self.curves, scores.T, strict=True)])
        if made.shape[1] == 1:
            return np.column_stack((1 - made, made))
        total = made.sum(axis=1, keepdims=True)
        return np.where(total > 0, made / np.where(total > 0, total, 1.0), 1 / made.shape[1])


def _folds(data: LabelledRows, n_folds: int) -> Iterator[tuple[Array, Array]]:
    """Rows to train on and rows held out, those of a group together."""
    if data.cluster is None:
        return stratified_folds(data.codes, n_folds)
    fold = grouped_folds(data.codes, data.cluster, n_folds)
    if fold.min() < 0:
        raise InputError(
            "Calibration holds out every group, and some class would then not be learned. Leave ",
            Setting("groups"),
            " out, or set ",
            Setting("calibration", None),
            ".",
        )
    return ((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold))


def stratified_folds(codes: Array, n_folds: int) -> Iterator[tuple[Array, Array]]:
    """Rows to train on and rows held out, those of scikit-learn's ``StratifiedKFold(shuffle=True, random_state=0)``."""
    rng, folds = check_random_state(0), np.empty(len(codes), dtype=int)
    _, first, own = np.unique(codes, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[own]  # numbered as they appear
    order, n_classes = np.sort(codes), len(first)
    shares = np.array([np.bincount(order[fold::n_folds], minlength=n_classes) for fold in range(n_folds)])
    for k in range(n_classes):
        places = np.arange(n_folds).repeat(shares[:, k])
        rng.shuffle(places)
        folds[codes == k] = places
    for fold in range(n_folds):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


def sigmoid_curve(scores: Array, positive: Array, weight: Array | None) -> Array:
    """Slope and intercept of Platt's sigmoid."""
    weight = np.ones(len(scores)) if weight is None else weight
    of_positive, of_others = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (of_positive + 1) / (of_positive + 2), 1 / (of_others + 2))
    scale = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    columns = np.column_stack((scores / scale, np.ones_like(scores)))
    found = np.array([0.0, np.log((of_positive + 1) / (of_others + 1))])

    def loss(at: Array) -> float:
        margin = columns @ at
        return float(-weight @ (target * log_expit(margin) + (1 - target) * log_expit(-margin)))

    value = loss(found)
    for _ in range(_MOST_STEPS):
        share = expit(columns @ found)
        gradient = columns.T @ (weight * (share - target))
        hessian = (columns.T * (weight * share * (1 - share))) @ columns
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        decrement, length = float(gradient @ step), 1.0
        while length > 1e-8 and not (new := loss(found - length * step)) <= value - 1e-4 * length * decrement:
            length *= 0.5
        if not length > 1e-8:
            break
        found, gained, value = found - length * step, value - new, new
        if gained <= 1e-15 * abs(value):
            break
    return np.array([-found[0] / scale, -found[1]])


def isotonic_curve(scores: Array, positive: Array, weight: Array | None) -> Array:
    """The corners of the isotonic regression of the class on the scores."""
    from sklearn.isotonic import IsotonicRegression  # slow to load

    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weight)
    return np.array([fitted.X_thresholds_, fitted.y_thresholds_])


def _at(curve: Array, scores: Array) -> Array:
    if curve.ndim == 2:
        return np.interp(scores, *curve)
    return np.asarray(expit(-(curve[0] * scores + curve[1])))
