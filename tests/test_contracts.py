"""scikit-learn's own checks, for every estimator and every setting that changes how it is fitted.

A check that cannot hold stands in `expected_failed_checks` with the reason in words; the test then demands that it
fails, so that no entry outlives its reason.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discriminant import (
    AutoClassifier,
    BayesianLinearDiscriminantAnalysis,
    DecisionClassifier,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    LogisticRegressionPath,
    LossClassifier,
    MinimumDistance,
    NaiveBayes,
    OneVsOne,
    OneVsRest,
    OrdinalLogisticRegression,
    OutputCode,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
    SupportVectorClassifier,
)
from discriminant.errors import DegenerateDataError

# Some of scikit-learn's data have a column that is constant within every class, or classes that are separated. Saying
# so is right, and so is not converging within one iteration.
pytestmark = [
    pytest.mark.filterwarnings("ignore::discriminant.errors.DiscriminantWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

ESTIMATORS = [
    LinearDiscriminantAnalysis(),
    AutoClassifier(),
    AutoClassifier("linear", choose="best"),
    LinearDiscriminantAnalysis(shrinkage=0.3),
    LinearDiscriminantAnalysis(shrinkage="oas"),
    LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    LinearDiscriminantAnalysis(shrinkage="cv", folds=5),
    LinearDiscriminantAnalysis(rank=1, n_components=1),
    LinearDiscriminantAnalysis(n_jobs=2),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(shrinkage=0.3),
    QuadraticDiscriminantAnalysis(shrinkage="oas"),
    QuadraticDiscriminantAnalysis(shrinkage="cv", folds=5),
    BayesianLinearDiscriminantAnalysis(),
    BayesianLinearDiscriminantAnalysis(kappa=1, nu=10),
    LossClassifier(),
    LossClassifier("squared_sigmoid", max_iter=200),  # it goes on for long where scores are large
    RegularizedDiscriminantAnalysis(),
    RegularizedDiscriminantAnalysis(pooling=0.5, shrinkage=0.3, temperature=0.5),
    FisherDiscriminant(),
    FisherDiscriminant(threshold="prior-weighted"),
    FisherDiscriminant(threshold="bayes"),
    FisherDiscriminant(threshold="cv", folds=5),
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=1.0),
    GaussianNB(),
    NaiveBayes(),
    NaiveBayes(distributions="gaussian"),
    LogisticRegression(),
    LogisticRegression(alpha=0.1),
    LogisticRegression(alpha=0.1, solver="newton-cg", tol=1e-18),
    LogisticRegression(alpha=0.1, l1_ratio=0.5, tol=1e-17),
    OrdinalLogisticRegression(alpha=0.1),
    OrdinalLogisticRegression(alpha=0.1, form="continuation", link="probit"),
    LogisticRegressionPath(n_alphas=5),
    LogisticRegressionCV(l1_ratio=1.0, n_alphas=5, cv=2),
    Perceptron(),
    Perceptron(form="dual", rule="nonpositive"),
    Perceptron(average=True),
    Perceptron(shuffle=True, multiclass="one-vs-one", random_state=0),
    SupportVectorClassifier(),
    SupportVectorClassifier(loss="squared_hinge"),
    SupportVectorClassifier(solver="dual", tol=1e-10, max_iter=100_000),
    SupportVectorClassifier(multiclass="one-vs-one"),
    SupportVectorClassifier(standardize=True, class_weight="balanced"),
    SupportVectorClassifier(calibration="sigmoid"),
    OneVsRest(LogisticRegression(alpha=0.1)),
    OneVsRest(LinearDiscriminantAnalysis(), vote=True),
    OneVsOne(LogisticRegression(alpha=0.1)),
    OneVsOne(LinearDiscriminantAnalysis(), decision="confidence"),
    OutputCode(LogisticRegression(alpha=0.1), random_state=0),
    OutputCode(LinearDiscriminantAnalysis(), code="sparse", decoding="loss", random_state=0),
    DecisionClassifier(LinearDiscriminantAnalysis()),
    MinimumDistance(),
]

#: Settings that share what they do with others of their class: their checks are slow tests.
VARIANTS = set(map(repr, [
    LinearDiscriminantAnalysis(shrinkage="oas"),
    LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    LinearDiscriminantAnalysis(n_jobs=2),
    QuadraticDiscriminantAnalysis(shrinkage="oas"),
    BayesianLinearDiscriminantAnalysis(kappa=1, nu=10),
    LossClassifier("squared_sigmoid", max_iter=200),
    RegularizedDiscriminantAnalysis(pooling=0.5, shrinkage=0.3, temperature=0.5),
    FisherDiscriminant(threshold="prior-weighted"),
    FisherDiscriminant(threshold="bayes"),
    LeastSquaresClassifier(alpha=1.0),
    NaiveBayes(distributions="gaussian"),
    LogisticRegression(alpha=0.1, solver="newton-cg", tol=1e-18),
    Perceptron(average=True),
    Perceptron(shuffle=True, multiclass="one-vs-one", random_state=0),
    SupportVectorClassifier(solver="dual", tol=1e-10, max_iter=100_000),
    OneVsRest(LinearDiscriminantAnalysis(), vote=True),
    OneVsOne(LinearDiscriminantAnalysis(), decision="confidence"),
    OutputCode(LinearDiscriminantAnalysis(), code="sparse", decoding="loss", random_state=0),
]))  # fmt: skip

#: scikit-learn leaves it out by itself unless SCIPY_ARRAY_API is set before SciPy is imported.
LEFT_OUT = {"check_array_api_input"}

EQUIVALENCE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
SINGULAR = "a column of this data is constant within a class, and QDA refuses a singular class covariance"
ROWS_ALIKE = "a class of this data is one row over and over: there is no covariance to shrink"
FEW_ROWS = "this data has more columns than rows, for which Jeffreys' prior has no posterior"
FOLDS = "folds are made of rows: a row of weight 2 is in one fold, two rows are in two"
ONE_DIRECTION = "the check wants three blobs told apart, and rank=1 may use one of their two directions"

UNORDERED = "the check wants three blobs told apart, which have no order along one direction"
CALIBRATED = "margins classify; the probabilities scikit-learn makes of three margins can favour another class"


def expected_failed_checks(estimator):
    """The checks that this estimator fails, and why it is right to."""
    if isinstance(estimator, QuadraticDiscriminantAnalysis):
        if estimator.shrinkage is not None:
            return dict.fromkeys(EQUIVALENCE, ROWS_ALIKE)
        weights = ("check_sample_weights_shape", "check_sample_weights_not_overwritten")
        return dict.fromkeys((*weights, *EQUIVALENCE), SINGULAR)
    if isinstance(estimator, BayesianLinearDiscriminantAnalysis) and estimator.nu == 0:
        return dict.fromkeys(EQUIVALENCE, FEW_ROWS)
    if isinstance(estimator, (AutoClassifier, LogisticRegressionCV)):
        return dict.fromkeys(EQUIVALENCE, FOLDS)
    if getattr(estimator, "calibration", None) is not None:
        return dict.fromkeys(EQUIVALENCE, FOLDS) | {"check_classifiers_train": CALIBRATED}
    if "cv" in (getattr(estimator, "shrinkage", None), getattr(estimator, "threshold", None)):
        return dict.fromkeys(EQUIVALENCE, FOLDS)
    if isinstance(estimator, OrdinalLogisticRegression):
        return {"check_classifiers_train": UNORDERED}
    if getattr(estimator, "rank", None) == 1:
        return {"check_classifiers_train": ONE_DIRECTION}
    return {}


def name_of(check):
    while hasattr(check, "func"):
        check = check.func
    return check.__name__


def every_check():
    """The parameters of scikit-learn's own decorator without the checks it would skip."""
    mark = parametrize_with_checks(ESTIMATORS).mark
    names, cases = mark.args
    kept = [
        pytest.param(estimator, check, marks=[pytest.mark.slow] if repr(estimator) in VARIANTS else [])
        for estimator, check in cases
        if name_of(check) not in LEFT_OUT
    ]
    return pytest.mark.parametrize(names, kept, **mark.kwargs)


@every_check()
def test_scikit_learn_contract(estimator, check):
    if name_of(check) not in expected_failed_checks(estimator):
        check(estimator)
        return
    with pytest.raises((AssertionError, DegenerateDataError)):
        check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_expected_failure_is_a_check_that_runs(estimator):
    names = {name_of(check) for _, check in parametrize_with_checks([estimator]).mark.args[1]}
    assert set(expected_failed_checks(estimator)) <= names
