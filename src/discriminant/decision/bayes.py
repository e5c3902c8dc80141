"""The best classifier there can be, where the distributions of the classes are known."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin

from ..data.labels import encode_labels
from ..data.naming import shown
from ..errors import InputError, LabelError
from .densities import ClassDensities, class_densities
from .priors import check_priors, equal_priors

Array = np.ndarray[Any, Any]


class BayesClassifier(ClassifierMixin, BaseEstimator):
    """The Bayes classifier of known class distributions: the class of highest prior times density.

    There is nothing to learn, so it predicts at once; `fit` checks the labels and returns the classifier itself.

    Parameters
    ----------
    distributions : list, dict by class, or table
        Of each class a frozen ``scipy.stats`` distribution of one or more columns, a `Gaussian`, or a table: an array
        (K, n_values) of probabilities of the values 0, 1, ..., or a dict of probabilities by value.
    priors : array-like or dict, optional
        Class probabilities, by class or in the order in which the distributions are given. Default: equal.
    classes : array-like, optional
        Names of the classes of a list or table. Default: 0, ..., K - 1.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,), in sorted order of the classes

    Examples
    --------
    >>> from scipy.stats import norm
    >>> model = BayesClassifier({"low": norm(0, 1), "high": norm(2, 1)}, priors={"low": 0.8, "high": 0.2})
    >>> model.predict([[1.2], [2.5]])
    array(['low', 'high'], dtype='<U4')
    >>> model.classes_, model.predict_proba([[1.2]]).round(3)
    (array(['high', 'low'], dtype='<U4'), array([[0.272, 0.728]]))
    """

    def __init__(self, distributions: Any, priors: Any = None, classes: Any = None) -> None:
        self.distributions = distributions
        self.priors = priors
        self.classes = classes

    @property
    def classes_(self) -> Array:
        """The classes in sorted order."""
        return self._known()[0].classes

    @property
    def priors_(self) -> Array:
        """The prior of each class."""
        return self._known()[1]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Self:
        """Check that the labels are among the classes; nothing is learned.

        Returns
        -------
        self
        """
        rows = self._known()[0].rows(X)
        found, _ = encode_labels(y, len(rows))
        for label in found:
            if label not in self.classes_.tolist():
                raise LabelError(f"Label {shown(label)} has no distribution. Classes: {self.classes_.tolist()}.")
        return self

    def log_joint(self, X: Any) -> Array:
        """The log-density of each row plus the log-prior, for each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns); one column may come flat
        """
        densities, priors = self._known()
        return densities.log_joint(densities.rows(X), priors)

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the posterior probability of each class."""
        joint = self.log_joint(X)
        total = logsumexp(joint, axis=1, keepdims=True)
        if not np.isfinite(total).all():
            row = int(np.argmin(np.isfinite(total[:, 0])))
            raise InputError(
                f"Row {row} cannot come from any class of positive prior: its density is 0 in all of them. Leave it "
                "out, or use distributions that can produce it."
            )
        return joint - total

    def predict_proba(self, X: Any) -> Array:
        """The posterior probability of each class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]

    def _known(self) -> tuple[ClassDensities, Array]:
        """Distributions and priors in sorted order of the classes."""
        given = class_densities(self.distributions, self.classes)
        order = np.argsort(given.classes)
        densities = [given.densities[k] for k in order]
        return ClassDensities(given.classes[order], densities, given.values), priors_of(self.priors, given)[order]


def priors_of(priors: Any, densities: ClassDensities) -> Array:
    """The priors given, or equal ones."""
    return equal_priors(densities.classes) if priors is None else check_priors(priors, densities.classes)
