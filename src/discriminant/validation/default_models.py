"""The default models and metric of a comparison."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import encode_labels, is_streamed
from ..decision.costs import CostsLike
from ..errors import Message, Setting
from ..estimators.registry import new_model
from ..results import listed, percent, shown


class ClassShares(ClassifierMixin, BaseEstimator):
    """The baseline: class frequencies of the training rows as the posterior of every row.

    scikit-learn's ``DummyClassifier`` is the same, but its fit imports libraries, which takes as long as all folds.
    """

    def fit(self, X: Array, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        if is_streamed(X):
            data = X.labelled()
            self.classes_, self.shares_ = data.classes, data.class_weights / data.total_weight
            return self
        self.classes_, codes = encode_labels(y, X.shape[0])
        weight = np.bincount(codes, sample_weight, len(self.classes_))
        self.shares_ = weight / weight.sum()
        return self

    def predict(self, X: Array) -> Any:
        return np.full(X.shape[0], self.classes_[np.argmax(self.shares_)])

    def predict_proba(self, X: Array) -> Any:
        return np.tile(self.shares_, (X.shape[0], 1))


#: The share of the rows to hold out, or held-out rows with their labels.
Holdout: TypeAlias = "float | tuple[MatrixLike, ArrayLike] | None"
#: With a class of more than this share of the rows, accuracy is not the default metric (see `default_metric`).
_MAX_ACCURACY_SHARE: Final = 0.8


#: Limits for default models. For models that invert a covariance: columns or rows;
_MAX_COVARIANCE_COLUMNS: Final = 1_000


#: for support vector machines: values of X times machines;
_MAX_SVM_VALUES: Final = 3_000_000


#: for a lasso: the work of its second derivatives, values (of at most as many columns as rows) times scores squared;
_MAX_LASSO_WORK: Final = 1_000_000


#: for the pool of families: the work of its second derivatives, values of its sample times columns times scores
#: squared. The nested fits then add 1 to 30 s of CPU on real tables of up to 3,000 rows (26 classes of 4,800 rows would
#: take 150 s).
_MAX_AUTO_WORK: Final = 5e8


def with_table_encoded(X: MatrixLike, y: ArrayLike | None, holdout: Holdout) -> tuple[Any, Any]:
    """A frame with text or missing values, and the hold-out, encoded as numbers; other inputs unchanged."""
    from ..estimators.auto import needs_coding  # not needed where models are named
    from ..tables.encoder import TableEncoder

    if not needs_coding(X):
        return X, holdout
    encoder = TableEncoder(coding="full").fit(X, y)
    return encoder.rows(X), (encoder.rows(holdout[0]), holdout[1]) if isinstance(holdout, tuple) else holdout


#: Default models of a dataset, which is streamed.
STREAMED_MODELS = ("logistic", "lda", "qda", "gaussian-nb")


def default_metric(
    costs: CostsLike | None, shares: dict[Hashable, float], models: dict[str, BaseEstimator]
) -> tuple[str, str]:
    """The metric of a comparison, and the reason if it is not the usual one.

    The cost if there are costs, else the log-loss, which is sensitive to probabilities and to rare classes. If a model
    does not predict probabilities: accuracy, or AUC if one class has more than four fifths of the rows, because the
    accuracy then hardly depends on the other classes.
    """
    if costs is not None:
        return "cost", ""
    without = [name for name, model in models.items() if not hasattr(model, "predict_proba")]
    if not without:
        return "log_loss", ""
    does = "does" if len(without) == 1 else "do"
    why_not = f"because {listed(without, most=3)} {does} not predict probabilities"
    reason = f"Models are compared by {{}}, not by log-loss, {why_not}"
    label = max(shares, key=lambda name: shares[name])
    if shares[label] <= _MAX_ACCURACY_SHARE:
        return "accuracy", f"{reason.format('accuracy')}."
    why = f"{shown(label)} is {percent(shares[label])} of the rows: accuracy hardly depends on the other classes."
    if all(hasattr(models[name], "decision_function") for name in without):
        return "auc", f"{reason.format('AUC')}, and {why}"
    return "accuracy", f"{reason.format('accuracy')} (nor scores, which an AUC requires); {why}"


def default_models(X: Array, n_classes: int, has_order: bool = False) -> tuple[dict[str, Any], dict[str, Message]]:
    """The default models for a table of this size by their short names, and the reasons why others are left out.

    Each tunes itself by cross-validation within its training rows, and predicts probabilities. Pooling and temperature
    of naive Bayes are tuned as well, because it is overconfident if columns depend on each other. Classes with an order
    add the ordinal model (maximum likelihood).
    """
    from ..estimators.auto import MAX_TUNING_ROWS  # which loads all families

    (n, p), scores = X.shape, 1 if n_classes == 2 else n_classes
    dense, sample = not sp.issparse(X), min(n, MAX_TUNING_ROWS)
    size = f"{n:,} rows, {p:,} columns and {n_classes} classes"
    is_sparse = "it needs dense rows"
    many_columns = is_sparse if not dense else f"a covariance of {p:,} columns would have to be inverted"
    long = f"with {size} it would take longer than all other models together"
    invertible = dense and min(n, p) <= _MAX_COVARIANCE_COLUMNS  # the rank is at most the number of rows
    suits = {
        "ridge": (True, ""),
        "lasso": (n * min(n, p) * scores**2 <= _MAX_LASSO_WORK, long),
        "lda": (invertible, many_columns),
        "rda": (invertible, many_columns),
        "naive-bayes-calibrated": (dense, is_sparse),
        "svm-calibrated": (n * p * scores <= _MAX_SVM_VALUES, long),
        "least-squares-calibrated": (invertible, many_columns),
        "auto": (dense and sample * p * min(sample, p) * scores**2 <= _MAX_AUTO_WORK, long if dense else is_sparse),
    }
    if has_order:
        suits["ordinal"] = (True, "")
    models = {name: new_model(name) for name, (fits, _) in suits.items() if fits}
    remedy = ("; to include it, name it in ", Setting("models"), ".")
    return models, {name: Message(why, *remedy) for name, (fits, why) in suits.items() if not fits}
