"""A classifier with a decision rule for its probabilities."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, MatrixLike
from ..data import check_choice, check_weights, encode_labels
from ..decision.posteriors import Posterior, check_priors, innermost, kept_priors, refuse_margins
from ..decision.rules import Decision, Explanation
from ..errors import DiscriminantError, InputError, ParameterError, Setting
from .base import all_or_nothing, by_partition
from .binary_classifiers import TableRows
from .mixins import CALIBRATIONS, MetaClassifierMixin


@dataclass(eq=False, repr=False)
class DecisionClassifier(MetaClassifierMixin, ClassifierMixin, BaseEstimator):
    """A classifier that predicts the action with the smallest expected cost.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; with ``calibration`` also with ``decision_function`` only.
    decision : Decision, or costs as `Decision` takes them, default=None
        Default: the most probable class.
    calibration : None, "sigmoid" or "isotonic", default=None
        Calibration of the probabilities (``sklearn.calibration.CalibratedClassifierCV``).
    cv : int or splitter, default=None
        Folds of the calibration.
    priors : array-like or dict, default=None
        Class priors in the target population. Default: those of the training rows.

    Attributes
    ----------
    classes_ : array of shape (K,)
    actions_ : array of shape (A,)
    estimator_ : the fitted classifier
    decision_ : Decision
    training_priors_ : array of shape (K,)
        The priors of the classifier's posteriors: its ``priors_``, else the shares of the training rows times
        ``class_weight``.
    priors_ : array of shape (K,)
        The priors of `predict_proba`.

    See Also
    --------
    Decision : Costs, thresholds and rejection for any probabilities.

    References
    ----------
    Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.
    Saerens, M., Latinne, P. & Decaestecker, C. (2002). Adjusting the outputs of a classifier to new a priori
    probabilities. Neural Computation 14.

    Examples
    --------
    Missing a malignant tumour costs twenty times as much as a false positive:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y = np.where(y == 0, "malignant", "benign")
    >>> costs = {("malignant", "benign"): 20, ("benign", "malignant"): 1}
    >>> model = DecisionClassifier(LinearDiscriminantAnalysis(), costs).fit(X[:, :2], y)
    >>> np.unique(model.predict(X[:100, :2]), return_counts=True)
    (array(['benign', 'malignant'], dtype='<U9'), array([26, 74]))
    >>> print(model.explain(X[19, :2]))
    Decision: malignant, expected cost 0.946; next best: benign, 1.081.
    Probabilities: benign 0.946, malignant 0.05404.
    Same decision for P(benign) up to 0.9524 (current: 0.946); above: benign.
    """

    estimator: Any
    decision: Any = None
    _: KW_ONLY
    calibration: Literal["sigmoid", "isotonic"] | None = None
    cv: Any = None
    priors: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of columns of the training rows."""
        check_is_fitted(self)
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns, where the training rows had names."""
        check_is_fitted(self)
        return self.estimator_.feature_names_in_

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the classifier and match its classes with the decision.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Rows as the classifier accepts them.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Passed on to the classifier, which must accept it.
        **params : dict
            Other metadata for the classifier, with scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_choice("calibration", self.calibration, CALIBRATIONS)
            routed = self._routed("fit", sample_weight, params)
            classes, codes = encode_labels(y, TableRows(X).n_rows)
            decision = deepcopy(self._decision_for(classes))  # its tables are mutable
            self.estimator_ = self._routed_to().fit(X, classes[codes], **routed)
            refuse_margins(self.estimator_)
            self.classes_, self.decision_, self.actions_ = classes, decision, decision.actions_for(classes)
            self.training_priors_ = self._training_priors(codes, check_weights(routed.get("sample_weight"), len(codes)))
            anywhere = Posterior(self.training_priors_[None], classes, self.training_priors_)
            self.priors_ = decision.posterior_used(anywhere).priors
        return self

    def posterior(self, X: MatrixLike) -> Posterior:
        """The posterior probabilities of the classifier, with their priors.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows as the classifier accepts them.

        Returns
        -------
        Posterior
        """
        check_is_fitted(self)
        try:
            found = self.estimator_.predict_proba(X)
        except DiscriminantError:
            raise
        except ValueError as error:  # of another package
            raise InputError(f"predict_proba of {type(self.estimator_).__name__} failed: {error}") from error
        return Posterior(found, self.classes_, self.training_priors_)

    @by_partition("prediction")
    def predict(self, X: MatrixLike) -> Array:
        """The action for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows to classify.

        Returns
        -------
        array of actions, of shape (n_rows,)
        """
        found = self.posterior(X)
        return self.decision_.decide(found)

    @by_partition("probability")
    def predict_proba(self, X: MatrixLike) -> Array:
        """The probability of each class with the priors of the decision, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Rows as the classifier accepts them.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        found = self.posterior(X)
        return self.decision_.posterior_used(found).probabilities

    def risk(self, X: MatrixLike) -> Array:
        """The expected cost of every action for each row, columns in the order of ``actions_``.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, n_actions)
        """
        found = self.posterior(X)
        return self.decision_.risk(found)

    def explain(self, x: Any, row: int = 0) -> Explanation:
        """The decision on one row, and the probability at which it would change.

        Parameters
        ----------
        x : array-like
            A single row, or rows.
        row : int, default=0
            Index of the row.

        Returns
        -------
        Explanation
        """
        found = self.posterior(np.reshape(np.asarray(x), (1, -1)) if np.ndim(x) == 1 else x)
        return self.decision_.explain(found, row)

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Minus the mean cost of the actions; without costs the accuracy (abstentions count as errors).

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Held-out rows.
        y : array-like of shape (n_rows,)
            Their true classes.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies of the rows.

        Returns
        -------
        float
        """
        found = self.posterior(X)
        cost = self.decision_.total_risk(found, y, sample_weight)
        return 1 - cost if self.decision_.costs is None else -cost

    def _decision_for(self, classes: Array) -> Decision:
        """The decision, with the priors of this estimator."""
        decision = self.decision if isinstance(self.decision, Decision) else Decision(self.decision)
        if self.priors is None:
            return decision
        if decision.priors is not None:
            raise ParameterError("The decision and the classifier both have ", Setting("priors"), ". Use one of them.")
        shares = check_priors(self.priors, classes).tolist()
        return replace(decision, priors=dict(zip(classes.tolist(), shares, strict=True)))

    def _routed_to(self) -> Any:
        """The classifier to be fitted, with its calibration."""
        inner = clone(self.estimator)
        if self.calibration is None:
            return inner
        calibrated = CalibratedClassifierCV(inner, method=self.calibration, cv=self.cv)
        return calibrated.set_fit_request(sample_weight=True) if _routing_enabled() else calibrated

    def _training_priors(self, codes: Array, weight: Array | None) -> Array:
        """The priors of the probabilities of the fitted classifier."""
        share = np.bincount(codes, weights=weight, minlength=len(self.classes_)).astype(np.float64)
        if self.calibration is None:
            kept = kept_priors(self.estimator_)
            if kept is not None:
                return check_priors(kept, self.classes_)
            class_weight = getattr(innermost(self.estimator_), "class_weight", None)
            if isinstance(class_weight, str):  # balanced
                share = np.ones(len(share))
            elif class_weight is not None:
                share *= [class_weight.get(label, 1.0) for label in self.classes_.tolist()]
        return share / share.sum()
