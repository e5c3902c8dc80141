"""Calibration: probabilities from the scores of held-out rows, by a curve for each class.

The folds and curves are those of scikit-learn's ``CalibratedClassifierCV(ensemble=False)``: a sigmoid whose targets are
one row away from 0 and 1 (Platt 2000), or an isotonic curve (Zadrozny & Elkan 2002). The classifier itself is not
fitted again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, clone

from ..arrays import Array, MatrixLike
from ..data import LabelledRows
from ..errors import InputError, Setting
from ..folds import grouped_folds

# Gradient of the mean log-loss at which the fit of a sigmoid stops.
SIGMOID_TOL: Final = 1e-10


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted classifier with scores, and a calibration curve for each class.

    A curve is the slope and intercept of a sigmoid, ``1 / (1 + exp(slope score + intercept))``, or the corners of an
    isotonic curve, scores above probabilities. Two classes have one curve, that of the second.
    """

    estimator: Any
    method: Literal["sigmoid", "isotonic"]
    n_folds: int
    classes_: Array
    curves: list[Array]

    @classmethod
    def learned(
        cls, fitted: BaseEstimator, method: Literal["sigmoid", "isotonic"], n_folds: int, data: LabelledRows
    ) -> Calibration:
        """From the scores that clones of a classifier, fitted to the other folds, give to the rows of each fold."""
        scores = np.empty((data.n_rows, len(fitted.classes_) if len(fitted.classes_) > 2 else 1))
        for train, held in _folds(data, n_folds):
            part = data.take(train)
            copy = clone(fitted).fit(part.rows, fitted.classes_[part.codes], part.weight)
            scores[held] = copy.decision_function(data.take(held).rows).reshape(len(held), -1)
        curve = sigmoid_curve if method == "sigmoid" else isotonic_curve
        of_interest = range(len(fitted.classes_)) if scores.shape[1] > 1 else (1,)
        curves = [curve(own, data.codes == k, data.weight) for k, own in zip(of_interest, scores.T, strict=True)]
        return cls(fitted, method, n_folds, fitted.classes_, curves)

    def predict_proba(self, X: MatrixLike) -> Array:
        """Probabilities of the classes."""
        scores = self.estimator.decision_function(X)
        scores = scores.reshape(len(scores), -1)
        made = np.column_stack([_at(curve, own) for curve, own in zip(self.curves, scores.T, strict=True)])
        if made.shape[1] == 1:
            return np.column_stack((1 - made, made))
        total = made.sum(axis=1, keepdims=True)
        return np.where(total > 0, made / np.where(total > 0, total, 1.0), 1 / made.shape[1])


def _folds(data: LabelledRows, n_folds: int) -> Iterator[tuple[Array, Array]]:
    """Training and held-out rows of each fold; the rows of a group stay together."""
    if data.cluster is None:
        from sklearn.model_selection import StratifiedKFold  # slow to load

        folds: Iterator[tuple[Array, Array]] = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(
            data.codes, data.codes
        )
        return folds
    fold = grouped_folds(data.codes, data.cluster, n_folds)
    if fold.min() < 0:
        reason = "A class has rows in a single group, which calibration cannot hold out. Leave out "
        raise InputError(reason, Setting("groups"), ", or set ", Setting("calibration", None), ".")
    return ((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold))


def sigmoid_curve(scores: Array, positive: Array, weight: Array | None) -> Array:
    """Slope and intercept of Platt's sigmoid."""
    from scipy.optimize import minimize  # slow to load

    weight = np.ones(len(scores)) if weight is None else weight
    of_positive, of_others = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (of_positive + 1) / (of_positive + 2), 1 / (of_others + 2))
    scale = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    columns, share = np.column_stack((scores / scale, np.ones_like(scores))), weight / weight.sum()

    def mean_loss(at: Array) -> tuple[float, Array]:
        margin = columns @ at
        loss = -share @ (target * log_expit(margin) + (1 - target) * log_expit(-margin))
        return float(loss), columns.T @ (share * (expit(margin) - target))

    start = np.array([0.0, np.log((of_positive + 1) / (of_others + 1))])
    slope, intercept = minimize(mean_loss, start, jac=True, method="BFGS", options={"gtol": SIGMOID_TOL}).x
    return np.array([-slope / scale, -intercept])


def isotonic_curve(scores: Array, positive: Array, weight: Array | None) -> Array:
    """The corners of the isotonic regression of the class on the scores."""
    from sklearn.isotonic import IsotonicRegression  # slow to load

    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weight)
    return np.array([fitted.X_thresholds_, fitted.y_thresholds_])


def _at(curve: Array, scores: Array) -> Array:
    if curve.ndim == 2:
        return np.interp(scores, *curve)
    return np.asarray(expit(-(curve[0] * scores + curve[1])))
