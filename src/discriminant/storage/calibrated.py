"""Classifiers whose probabilities scikit-learn has calibrated: the classifiers themselves, and a curve for each class.

A file holds the curves as plain arrays. What scikit-learn keeps them in is made anew, so that its classes may change
without a change of the format.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelFileError
from .forms import Form, Parts

Array = np.ndarray[Any, Any]

_PARAMETERS = ("estimator", "method", "cv", "n_jobs", "ensemble")
METHODS = ("sigmoid", "isotonic")


def calibrated() -> Form:
    """Scikit-learn's ``CalibratedClassifierCV`` of classifiers of this package."""
    return Form("sklearn.calibration", "CalibratedClassifierCV", _apart, _together)


def _apart(model: Any) -> Parts:
    if model.method not in METHODS:
        raise ModelFileError(f"A calibration by {model.method!r} is not stored. Use one of {METHODS}.")
    names = getattr(model, "feature_names_in_", None)
    return {
        **{name: getattr(model, name) for name in _PARAMETERS},
        "classes": model.classes_,
        **({} if names is None else {"names": names}),
        "members": [member.estimator for member in model.calibrated_classifiers_],
        "curves": [[_curve(curve) for curve in member.calibrators] for member in model.calibrated_classifiers_],
    }


def _curve(fitted: Any) -> Array:
    """Slope and intercept of a sigmoid, or the corners of an isotonic curve, margins above probabilities."""
    if hasattr(fitted, "a_"):
        return np.array([fitted.a_, fitted.b_], dtype=np.float64)
    corners = np.array([fitted.X_thresholds_, fitted.y_thresholds_])
    if not fitted.increasing_ or (fitted.X_min_, fitted.X_max_) != (corners[0, 0], corners[0, -1]):
        raise ModelFileError("An isotonic curve that falls, or does not span its corners, is not stored.")
    return corners


def _together(kind: Any, parts: Parts) -> Any:
    from sklearn.calibration import _CalibratedClassifier

    classes, members, curves, method = (parts[name] for name in ("classes", "members", "curves", "method"))
    _check(classes, members, curves, method)
    made = _sigmoid if method == "sigmoid" else _isotonic
    model = kind(**{name: parts[name] for name in _PARAMETERS})
    model.calibrated_classifiers_ = [
        _CalibratedClassifier(member, [made(curve) for curve in own], classes=classes, method=method)
        for member, own in zip(members, curves, strict=True)
    ]
    model.classes_ = classes
    model.n_features_in_ = members[0].n_features_in_
    if "names" in parts:
        model.feature_names_in_ = parts["names"]
    return model


def _sigmoid(curve: Array) -> Any:
    from sklearn.calibration import _SigmoidCalibration

    made = _SigmoidCalibration()
    made.a_, made.b_ = curve
    return made


def _isotonic(corners: Array) -> Any:
    from sklearn.isotonic import IsotonicRegression

    margins, probabilities = corners
    made = IsotonicRegression(out_of_bounds="clip")
    state = {
        "increasing_": True, "X_min_": margins[0], "X_max_": margins[-1],
        "X_thresholds_": margins, "y_thresholds_": probabilities,
    }  # fmt: skip
    made.__setstate__({**made.__getstate__(), **state})  # which makes its interpolating function
    return made


def _check(classes: Any, members: Any, curves: Any, method: Any) -> None:
    """Refuse parts that do not fit each other; those of the members have been checked before."""
    _require(method in METHODS, "method")
    _require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "classes")
    _require(isinstance(members, list) and len(members) > 0, "members")
    _require(
        all(hasattr(member, "decision_function") or hasattr(member, "predict_proba") for member in members), "kind"
    )
    _require(len({member.n_features_in_ for member in members}) == 1, "numbers of columns")
    _require(all(np.isin(member.classes_, classes).all() for member in members), "classes of members")
    _require(isinstance(curves, list) and len(curves) == len(members), "number of curves")
    for member, own in zip(members, curves, strict=True):
        _require(isinstance(own, list) and len(own) == (1 if len(classes) == 2 else len(member.classes_)), "curves")
        for curve in own:
            _check_curve(curve, method)


def _check_curve(curve: Any, method: str) -> None:
    _require(isinstance(curve, np.ndarray) and curve.dtype == np.float64 and bool(np.isfinite(curve).all()), "curve")
    if method == "sigmoid":
        _require(curve.shape == (2,), "curve")
        return
    _require(curve.ndim == 2 and len(curve) == 2 and curve.shape[1] > 0, "curve")
    steps = np.diff(curve)
    _require(bool((steps[0] > 0).all() and (steps[1] >= 0).all()), "corners of a curve")
    _require(bool(curve[1].min() >= 0 and curve[1].max() <= 1), "probabilities of a curve")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise ModelFileError(f"The parts of a calibrated classifier do not fit each other: {reason}.")
