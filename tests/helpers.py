"""Makers of data and models that many tests use."""

import dataclasses
import json
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from discriminant import (
    BayesianLinearDiscriminantAnalysis,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from discriminant.data import labelled_rows
from discriminant.errors import CollinearityWarning
from discriminant.moments.statistic import ClassMoments

REFERENCE = Path(__file__).parent / "reference"

#: Every kind of model, by a short name. Names that start with "fisher" are for two classes.
MODELS = {
    "lda": LinearDiscriminantAnalysis,
    "lda-shrunk": partial(LinearDiscriminantAnalysis, shrinkage=0.2),
    "lda-oas": partial(LinearDiscriminantAnalysis, shrinkage="oas"),
    "lda-ledoit-wolf": partial(LinearDiscriminantAnalysis, shrinkage="ledoit-wolf"),
    "lda-cv": partial(LinearDiscriminantAnalysis, shrinkage="cv", folds=4),
    "lda-rank": partial(LinearDiscriminantAnalysis, rank=1),
    "qda": QuadraticDiscriminantAnalysis,
    "qda-shrunk": partial(QuadraticDiscriminantAnalysis, shrinkage=0.2),
    "qda-oas": partial(QuadraticDiscriminantAnalysis, shrinkage="oas"),
    "qda-cv": partial(QuadraticDiscriminantAnalysis, shrinkage="cv", folds=4),
    "bayesian-lda": BayesianLinearDiscriminantAnalysis,
    "bayesian-lda-prior": partial(BayesianLinearDiscriminantAnalysis, kappa=1.5, nu=30.0),
    "gaussian-nb": GaussianNB,
    "naive-bayes": NaiveBayes,
    "fisher": FisherDiscriminant,
    "fisher-prior": partial(FisherDiscriminant, threshold="prior-weighted"),
    "fisher-bayes": partial(FisherDiscriminant, threshold="bayes"),
    "fisher-cv": partial(FisherDiscriminant, threshold="cv", folds=4),
    "least-squares": LeastSquaresClassifier,
    "least-squares-ridge": partial(LeastSquaresClassifier, alpha=3.0),
}
#: Their folds are made of rows in their order.
CROSS_VALIDATED = {"lda-cv", "qda-cv", "fisher-cv"}
#: They move the covariance towards a multiple of the identity, so they depend on the units of the columns.
UNIT_DEPENDENT = {name for name in MODELS if name.startswith(("lda-", "qda-")) and name != "lda-rank"} | {
    "least-squares-ridge"
}
#: They need more rows than columns: in each class, or beyond the classes.
MANY_ROWS = ("qda", "bayesian-lda")
#: Those that several can be fitted of in one pass.
MOMENT_MODELS = [name for name in MODELS if name not in ("naive-bayes", "qda-cv")]


def make_model(name, **parameters):
    return MODELS[name](**parameters)


def normal_classes(n=150, p=4, K=3, seed=0):
    """Rows of K overlapping normal classes of unequal size, each with its own covariance, in mixed order."""
    rng = np.random.default_rng(seed)
    y = rng.choice(K, size=n, p=np.arange(2, K + 2) / np.arange(2, K + 2).sum())
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    means = 1.2 * rng.normal(size=(K, p))
    mixing = np.eye(p) + 0.4 * rng.normal(size=(K, p, p)) / np.sqrt(p)
    X = means[y] + np.einsum("ij,ijk->ik", rng.normal(size=(n, p)), mixing[y])
    order = rng.permutation(n)
    return X[order], y[order]


def data_for(name, n=150, p=4, seed=0):
    """Data that the model of this name can be fitted to."""
    return normal_classes(n, p, 2 if name.startswith("fisher") else 3, seed)


def output(model, X):
    """Posteriors where the model has them, else its scores."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)


def class_moments(X, y, sample_weight=None, **kind):
    """The `ClassMoments` of these rows in one pass."""
    data = labelled_rows(X, y, sample_weight)
    return data.reduce(ClassMoments(len(data.classes), data.rows.n_columns, **kind))


def fitted_state(model):
    """What a model remembers, as plain comparable values."""
    return {name: _plain(value) for name, value in vars(model).items()}


def _plain(value):
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if dataclasses.is_dataclass(value):  # its fields; what it computed from them on the way may differ
        return [_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if hasattr(value, "__dict__") and not callable(value):
        return {key: _plain(v) for key, v in vars(value).items()}
    return value


@contextmanager
def collinearity_allowed():
    """A stream's first rows are too few for their columns; that they are called collinear is right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollinearityWarning)
        yield


def reference(name):
    """The published figures of a data set, and how closely each has to be met."""
    return json.loads((REFERENCE / f"{name}.json").read_text())


def assert_reference(actual, figures, key):
    """``actual`` meets the published figure of this name within its tolerance."""
    expected, tolerance = figures["expected"][key], figures["tolerance"][key]
    if isinstance(expected, dict):
        expected = list(expected.values())
    relative = tolerance["rel"] if isinstance(tolerance, dict) else 0.0
    absolute = 0.0 if isinstance(tolerance, dict) else tolerance
    np.testing.assert_allclose(actual, expected, rtol=relative, atol=absolute)
