"""Mixins of classifiers: calibrated probabilities, metadata routing, partial_fit."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import metadata_routing as routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array, MatrixLike
from ..data import TrainingData, check_choice
from ..errors import DegenerateDataError, NotReadyError, ParameterError, Setting, WeightError
from ..results import shown
from .base import all_or_nothing, by_partition
from .calibration import Calibration
from .checks import computable

# Folds of the calibration, as in scikit-learn.
CALIBRATION_FOLDS: Final = 5
CALIBRATIONS = (None, "sigmoid", "isotonic")


def _calibrated(model: BaseEstimator) -> bool:
    if model.calibration is None:
        raise AttributeError(
            f"{type(model).__name__} has no predict_proba without calibration. Set calibration='sigmoid' or 'isotonic'."
        )
    return True


class CalibratedMixin:
    """Calibrated probabilities for a classifier whose scores are not log-odds.

    The classifier calls `_calibrate` at the end of its fit. Its predictions remain those of its scores.
    """

    calibration: Literal["sigmoid", "isotonic"] | None
    class_weight: Any
    classes_: Array
    _rows: Callable[[Any], Any]

    @available_if(_calibrated)
    @by_partition("probability")
    def predict_proba(self, X: MatrixLike) -> Array:
        """Calibrated probabilities of the classes, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._rows(X)
        if not hasattr(self, "calibrated_"):
            raise NotReadyError(Setting("calibration", self.calibration), " was set after the fit. Fit again.")
        return self.calibrated_.predict_proba(rows)

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        check_choice("calibration", self.calibration, CALIBRATIONS)

    @property
    def _reads_class_moments(self) -> bool:
        return self.calibration is None and self.class_weight is None

    def _calibrate(self, data: TrainingData) -> None:
        """Fit the calibration to the training rows of the classifier."""
        if self.calibration is None:
            return
        data = data.gather()
        if data.weight is not None and not data.weight.all():
            data = data.take(np.flatnonzero(data.weight))
        counts = np.bincount(data.codes)
        if counts.min() < 2:
            label = shown(self.classes_[int(np.argmin(counts))])
            reason = f"Calibration needs two rows of every class; class {label} has one. Leave the class out, or set "
            raise DegenerateDataError(reason, Setting("calibration", None), ".")
        # The weights of the rows include class_weight here.
        plain = copy(self)
        plain.calibration = plain.class_weight = None
        plain.__dict__.pop("calibrated_", None)
        self.calibrated_ = Calibration.learned(plain, self.calibration, min(CALIBRATION_FOLDS, int(counts.min())), data)


class MetaClassifierMixin(MetaEstimatorMixin):
    """A classifier that passes metadata on to the classifier it wraps, by scikit-learn's metadata routing."""

    # sample_weight is for the wrapped classifier
    __metadata_request__fit: ClassVar = {"sample_weight": routing.UNUSED}
    __metadata_request__partial_fit: ClassVar = {"sample_weight": routing.UNUSED}
    estimator: Any

    def get_metadata_routing(self) -> routing.MetadataRouter:
        """The metadata routing of this estimator, see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        methods = (
            routing.MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        )
        return routing.MetadataRouter(owner=self).add(estimator=self._routed_to(), method_mapping=methods)

    def _routed_to(self) -> Any:
        """The classifier that gets the metadata."""
        return self.estimator

    def _routed(self, method: str, sample_weight: ArrayLike | None, params: dict[str, Any]) -> dict[str, Any]:
        """The metadata for the wrapped classifier: what it requests, or the weights if routing is not enabled."""
        given = params if sample_weight is None else {**params, "sample_weight": sample_weight}
        if routing._routing_enabled():
            return dict(routing.process_routing(self, method, **given).estimator[method])
        routing._raise_for_params(params, self, method)
        if given and not has_fit_parameter(self.estimator, "sample_weight"):
            raise WeightError(f"{type(self.estimator).__name__} does not support sample_weight. Leave it out.")
        return given


def can_stream(model: BaseEstimator) -> bool:
    """True; an AttributeError if a parameter of the model needs all rows at once."""
    parameter, value, instead = model._needs_all_rows or ("", None, "")
    if parameter and getattr(model, parameter) == value:
        raise AttributeError(f"partial_fit does not support {parameter}={value!r}. Use {instead}, or fit.")
    return True


class StreamingMixin:
    """`partial_fit` of a classifier whose fit can be continued."""

    not_ready_: str
    class_weight: Any
    _check_parameters: Callable[[], None]
    _labelled: Callable[..., TrainingData]
    _stream_state: ClassVar[str]  #: the fitted attribute that partial_fit continues from
    #: A parameter, its value that needs all rows at once, and what to use instead.
    _needs_all_rows: ClassVar[tuple[str, str, str] | None] = None
    _learn_more: Callable[[TrainingData, bool], None]  #: learns from the first or from more rows

    @available_if(can_stream)
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue the fit with more rows.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            More rows with the same columns.
        y : array-like of shape (n_rows,)
            Their labels.
        classes : array-like, default=None
            All classes, in the first call. Default: those of the first ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies, as in `fit`.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._check_parameters()
            if isinstance(self.class_weight, str) and self.class_weight == "balanced":
                balanced = Setting("class_weight", "balanced")
                raise ParameterError(
                    balanced, " needs all rows at once. Use a dict mapping classes to weights, or fit."
                )
            first = not hasattr(self, self._stream_state)
            data = self._labelled(X, y, sample_weight, classes, first)
            with computable(data):
                self._learn_more(data, first)
        return self
