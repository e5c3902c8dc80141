"""A classifier and what is done with its probabilities, in one estimator."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import check_choice, check_weights, encode_labels
from ..decision.posteriors import Posterior, check_priors, innermost, kept_priors, refuse_margins
from ..decision.rules import Decision, Explanation
from ..errors import DiscriminantError, InputError, ParameterError
from .base import CALIBRATIONS, MetaClassifierMixin, all_or_nothing, by_partition
from .multiclass import TableRows


@dataclass(eq=False, repr=False)
class DecisionClassifier(MetaClassifierMixin, ClassifierMixin, BaseEstimator):
    """A classifier that predicts the action of least expected cost.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, or any with ``decision_function`` if ``calibration`` is asked for. Margins are not
        probabilities, and are refused without.
    decision : Decision, or costs as `Decision` takes them, default=None
        Default: the most probable class.
    calibration : None, "sigmoid" or "isotonic", default=None
        Learn the probabilities from held-out rows (``sklearn.calibration.CalibratedClassifierCV``).
    cv : int or splitter, default=None
        Folds of the calibration; without one it has no effect.
    priors : array-like or dict, default=None
        Shares of the classes where decisions are made, if they are not those of the training rows.

    Attributes
    ----------
    classes_ : array of shape (K,)
    actions_ : array of shape (A,)
    estimator_ : the fitted classifier
    decision_ : Decision
    training_priors_ : array of shape (K,)
        The priors the classifier's posteriors rest on: its own where it keeps some, else the shares of the training
        rows, multiplied by its ``class_weight`` where it has one.
    priors_ : array of shape (K,)
        The priors that `predict_proba` rests on.

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
    Missing a malignant tumour costs twenty times as much as a false alarm:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y = np.where(y == 0, "malignant", "benign")
    >>> costs = {("malignant", "benign"): 20, ("benign", "malignant"): 1}
    >>> model = DecisionClassifier(LinearDiscriminantAnalysis(), costs).fit(X[:, :2], y)
    >>> np.unique(model.predict(X[:100, :2]), return_counts=True)
    (array(['benign', 'malignant'], dtype='<U9'), array([26, 74]))
    >>> print(model.explain(X[19, :2]))
    Decision: malignant, with expected cost 0.946; next best: benign, 1.081.
    Probabilities: benign 0.946, malignant 0.05404.
    It holds for P(benign) up to 0.9524 (now 0.946); above: benign.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier and match its classes with the decision.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Rows as the classifier takes them.
        y : array-like of shape (n_rows,)
            The classes of the rows, by name.
        sample_weight : array-like of shape (n_rows,), default=None
            Handed on to the classifier, which must take it.
        **params : dict
            Other metadata, handed on as the classifier requests it, where scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_choice("calibration", self.calibration, CALIBRATIONS)
            routed = self._routed("fit", sample_weight, params)
            classes, codes = encode_labels(y, TableRows(X).n_rows)
            decision = deepcopy(self._decision_for(classes))  # the caller may go on to change its tables
            self.estimator_ = self._routed_to().fit(X, classes[codes], **routed)
            refuse_margins(self.estimator_)
            self.classes_, self.decision_, self.actions_ = classes, decision, decision.actions_for(classes)
            self.training_priors_ = self._training_priors(codes, check_weights(routed.get("sample_weight"), len(codes)))
            anywhere = Posterior(self.training_priors_[None], classes, self.training_priors_)
            self.priors_ = decision.posterior_used(anywhere).priors
        return self

    def posterior(self, X: Any) -> Posterior:
        """The classifier's posterior of each row, with the priors it rests on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows as the classifier takes them.

        Returns
        -------
        Posterior
        """
        check_is_fitted(self)
        try:
            found = self.estimator_.predict_proba(X)
        except DiscriminantError:
            raise
        except ValueError as error:  # in the words of another package
            raise InputError(
                f"{type(self.estimator_).__name__} has no probabilities for these rows: {error}"
            ) from error
        return Posterior(found, self.classes_, self.training_priors_)

    @by_partition("prediction")
    def predict(self, X: Any) -> Array:
        """The action for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows to decide about.

        Returns
        -------
        array of actions, of shape (n_rows,)
        """
        found = self.posterior(X)
        return self.decision_.decide(found)

    @by_partition("probability")
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class under the priors of the decision, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Rows as the wrapped model takes them.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        found = self.posterior(X)
        return self.decision_.posterior_used(found).probabilities

    def risk(self, X: Any) -> Array:
        """The expected cost of every action for each row, columns in the order of ``actions_``.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows to decide about, as in `predict`.

        Returns
        -------
        array of shape (n_rows, n_actions)
        """
        found = self.posterior(X)
        return self.decision_.risk(found)

    def explain(self, x: Any, row: int = 0) -> Explanation:
        """Why the action of one row was chosen, and at which probability it would change.

        Parameters
        ----------
        x : array-like
            A single row, or rows.
        row : int, default=0
            Which of several rows.

        Returns
        -------
        Explanation
        """
        found = self.posterior(np.reshape(np.asarray(x), (1, -1)) if np.ndim(x) == 1 else x)
        return self.decision_.explain(found, row)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean cost of the actions; without costs 1 minus it, which is the accuracy (less abstentions).

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Held-out rows.
        y : array-like of shape (n_rows,)
            Their true classes.
        sample_weight : array-like of shape (n_rows,), default=None
            How often each counts.

        Returns
        -------
        float
        """
        found = self.posterior(X)
        cost = self.decision_.total_risk(found, y, sample_weight)
        return 1 - cost if self.decision_.costs is None else -cost

    def _decision_for(self, classes: Array) -> Decision:
        """The decision, with the priors of this estimator if it has some."""
        decision = self.decision if isinstance(self.decision, Decision) else Decision(self.decision)
        if self.priors is None:
            return decision
        if decision.priors is not None:
            raise ParameterError("Both the decision and DecisionClassifier have priors: give them in one place.")
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
        """The priors that the probabilities of the fitted classifier rest on."""
        share = np.bincount(codes, weights=weight, minlength=len(self.classes_)).astype(np.float64)
        if self.calibration is None:
            kept = kept_priors(self.estimator_)
            if kept is not None:
                return check_priors(kept, self.classes_)
            class_weight = getattr(innermost(self.estimator_), "class_weight", None)
            if isinstance(class_weight, str):  # by name they are all balanced
                share = np.ones(len(share))
            elif class_weight is not None:
                share *= [class_weight.get(label, 1.0) for label in self.classes_.tolist()]
        return share / share.sum()
