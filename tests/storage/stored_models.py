"""Every kind of model that can be stored, fitted, and what it answers."""

from functools import partial

import numpy as np

from discriminant import (
    AutoClassifier,
    LogisticRegression,
    LogisticRegressionCV,
    LossClassifier,
    NaiveBayes,
    OrdinalLogisticRegression,
    RegularizedDiscriminantAnalysis,
)
from discriminant.decision.rules import Decision
from discriminant.estimators.decision import DecisionClassifier
from discriminant.estimators.multiclass import OneVsOne, OneVsRest, OutputCode
from discriminant.estimators.perceptron import Perceptron
from discriminant.estimators.svm import SupportVectorClassifier
from discriminant.solvers import GradientDescent, StochasticGradient
from helpers import MODELS, normal_classes

LDA, QDA, GNB = MODELS["lda"], MODELS["qda"], MODELS["gaussian-nb"]

COSTS = {(0, 1): 2.0, (1, 2): 1.0, (2, 0): 5, (0, 2): 1, (1, 0): 1, (2, 1): 1}

#: Settings of models beyond those that all tests share.
MORE = {
    "naive-bayes-counts": partial(NaiveBayes, distributions="gaussian", priors=(0.2, 0.3, 0.5)),
    "logistic": LogisticRegression,
    "logistic-two": LogisticRegression,
    "logistic-ridge": partial(LogisticRegression, alpha=0.1, reference=1),
    "logistic-lasso": partial(LogisticRegression, alpha=0.05, l1_ratio=1.0, trace=True),
    "logistic-firth": partial(LogisticRegression, firth=True),
    "logistic-descent": partial(LogisticRegression, alpha=0.1, solver=GradientDescent(), tol=0.1, max_iter=5_000),
    "logistic-sgd": partial(
        LogisticRegression, solver=StochasticGradient(batch=16), random_state=3, tol=0.2, trace=True
    ),
    "logistic-cv": partial(LogisticRegressionCV, n_alphas=4, cv=3, random_state=np.int64(1)),
    "perceptron-two": partial(Perceptron, average=True, max_iter=5),
    "perceptron-traced": partial(Perceptron, average=True, max_iter=2, trace=True),
    "perceptron-pairs": partial(Perceptron, average=True, max_iter=5, multiclass="one-vs-one"),
    "svm": partial(SupportVectorClassifier, C=0.1),
    "svm-two": partial(SupportVectorClassifier, loss="squared_hinge", fit_intercept=False),
    "svm-pairs": partial(SupportVectorClassifier, solver="dual", multiclass="one-vs-one"),
    "svm-sigmoid": partial(SupportVectorClassifier, C=0.1, calibration="sigmoid"),
    "svm-isotonic-two": partial(SupportVectorClassifier, C=0.1, calibration="isotonic"),
    "ordinal": partial(OrdinalLogisticRegression, classes_order=[2, 0, 1], alpha=0.01),
    "ordinal-two": partial(OrdinalLogisticRegression, link="probit", alpha=0.01),
    "ordinal-partial": partial(OrdinalLogisticRegression, nonparallel=[0], link="cloglog", alpha=10),
    "ordinal-continuation": partial(OrdinalLogisticRegression, form="continuation", alpha=0.01),
    "auto": AutoClassifier,
    "auto-linear-two": partial(AutoClassifier, "linear", choose="best"),
    "lms-two": partial(LossClassifier, trace=True),
    "rda": RegularizedDiscriminantAnalysis,
    "rda-linear-two": partial(RegularizedDiscriminantAnalysis, pooling=1.0),
    "one-vs-rest": partial(OneVsRest, LDA()),
    "one-vs-one": partial(OneVsOne, QDA(shrinkage=0.1)),
    "one-vs-one-linear": partial(OneVsOne, LogisticRegression(alpha=0.1)),
    "output-code": partial(OutputCode, GNB(), code="exhaustive", decoding="loss"),
    "decided": partial(DecisionClassifier, LDA(), Decision(reject_cost=0.2)),
    "decided-costs": partial(DecisionClassifier, GNB(), COSTS),
    "decided-isotonic": partial(
        DecisionClassifier, SupportVectorClassifier(C=0.1), COSTS, calibration="isotonic", cv=3
    ),
    "decided-sigmoid-two": partial(DecisionClassifier, LDA(), calibration="sigmoid"),
}
STORED = {**MODELS, **MORE}


def training(name, n=120, p=4, seed=0):
    """Rows and labels that the model of this name takes."""
    two = name.startswith("fisher") or name.endswith("-two")
    X, y = normal_classes(n, p, 2 if two else 3, seed)
    y[::9] = (y[::9] + 1) % (2 if two else 3)  # no line separates these classes
    return X, y


def fitted(name, X=None, y=None):
    if X is None:
        X, y = training(name)
    return STORED[name]().fit(X, y)


def answers(model, X):
    """What the model makes of the rows, by the name of the method."""
    wanted = ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform", "risk")
    return {name: getattr(model, name)(X) for name in wanted if hasattr(model, name)}


def assert_same_answers(model, other, X):
    """The same to the last bit."""
    mine, theirs = answers(model, X), answers(other, X)
    assert mine.keys() == theirs.keys()
    assert "predict" in mine
    for name, values in mine.items():
        assert values.dtype == theirs[name].dtype
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)
