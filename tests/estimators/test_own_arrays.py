"""What was fitted is the model's own: changing what was given changes nothing. And solvers say what they did."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discriminant import (
    Decision,
    DecisionClassifier,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionPath,
    MinimumDistance,
    NaiveBayes,
    OneVsOne,
    OneVsRest,
    OutputCode,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
)
from discriminant.errors import NotReadyError
from helpers import normal_classes, output

PRIORS = np.array([0.3, 0.7])
COSTS = np.array([[0.0, 1.0], [5.0, 0.0]])
CODE = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
ALPHAS = np.array([1.0, 0.1])
MODELS = {
    "lda": lambda given: LinearDiscriminantAnalysis(priors=given(PRIORS)),
    "qda": lambda given: QuadraticDiscriminantAnalysis(priors=given(PRIORS)),
    "gaussian nb": lambda given: GaussianNB(priors=given(PRIORS)),
    "naive bayes": lambda given: NaiveBayes(priors=given(PRIORS)),
    "fisher": lambda given: FisherDiscriminant(priors=given(PRIORS), threshold="prior-weighted"),
    "least squares": lambda given: LeastSquaresClassifier(),
    "minimum distance": lambda given: MinimumDistance(),
    "logistic": lambda given: LogisticRegression(alpha=0.1),
    "firth": lambda given: LogisticRegression(firth=True),
    "path": lambda given: LogisticRegressionPath(alphas=given(ALPHAS)),
    "perceptron": lambda given: Perceptron(average=True),
    "svm": lambda given: SupportVectorClassifier(),
    "svm, calibrated": lambda given: SupportVectorClassifier(calibration="sigmoid"),
    "decision": lambda given: DecisionClassifier(GaussianNB(), Decision(costs=given(COSTS), priors=given(PRIORS))),
    "one-vs-rest": lambda given: OneVsRest(LogisticRegression(alpha=0.1)),
    "one-vs-one": lambda given: OneVsOne(GaussianNB()),
    "output code": lambda given: OutputCode(GaussianNB(), code=given(CODE)),
}


def arrays_in(value, seen):
    """All arrays that can be reached from a value."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from arrays_in(entry, seen)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from arrays_in(entry, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        own = getattr(value, "_own_state", ())  # the rows, which are kept where they stand for inference
        yield from arrays_in({name: part for name, part in vars(value).items() if name not in own}, seen)


def fitted_parts(model):
    """What fitting left behind; parameters are the caller's."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_changing_what_was_given_changes_no_model(name):
    X, y = normal_classes(n=80, p=3, K=3 if name == "output code" else 2)
    rows, labels, weight = X.copy(), y.astype(np.int32), np.linspace(0.5, 1.5, len(X))
    given = [rows, labels, weight]

    def kept(array):
        given.append(array.copy())
        return given[-1]

    model = MODELS[name](kept)
    model.fit(rows, labels, **({} if name == "perceptron" else {"sample_weight": weight}))
    for array in arrays_in(fitted_parts(model), {}):
        assert not any(np.shares_memory(array, one) for one in given)
    training = getattr(model, "_training", None)
    for array in arrays_in(
        [getattr(getattr(training, "data", training), part, None) for part in ("codes", "weight")], {}
    ):
        assert not np.shares_memory(array, weight)
        assert not np.shares_memory(array, labels)
    said = {"path": lambda: model.coefs_, "decision": lambda: model.predict(X)}.get(name, lambda: output(model, X))
    before = np.array(said())
    for array in given:
        array[...] = array[::-1].copy() if array.ndim == 1 else 0
    assert_array_equal(said(), before)


def test_inference_from_rows_that_were_changed_is_refused():
    X, y = normal_classes(n=80, p=3, K=2)
    X[:, 0] += np.random.default_rng(0).normal(scale=5.0, size=80)
    rows = X.copy()
    model = LogisticRegression().fit(rows, y)
    model.summary()
    rows[:, 1] *= 1.5
    with pytest.raises(NotReadyError, match="rows"):
        model.summary()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("n", "p"), [(200, 3), (60_000, 12)], ids=["in cache", "large"])
def test_steps_of_newtons_method_are_counted(n, p, loss):
    X, y = normal_classes(n=n, p=p, K=2)
    X[:, 0] += np.random.default_rng(0).normal(scale=5.0, size=n)
    model = SupportVectorClassifier(loss=loss).fit(X, y)
    assert model.solution_.solver == "newton"
    assert 3 < model.solution_.iterations < 200
    assert model.solution_.passes > 0
    assert model.n_iter_ == model.solution_.iterations


def test_a_harder_problem_takes_more_steps():
    X, y = normal_classes(n=400, p=4, K=2)
    steps = [LogisticRegression(alpha=alpha).fit(X, y).solution_.iterations for alpha in (10.0, 1e-6)]
    assert 1 < steps[0] < steps[1]
