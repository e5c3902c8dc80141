"""Calibration has the folds and the curves of scikit-learn's."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from discriminant import LeastSquaresClassifier, SupportVectorClassifier
from discriminant.estimators.calibration import sigmoid_curve

RNG = np.random.default_rng(0)


def rows(n_classes, n=120):
    y = RNG.integers(0, n_classes, n)
    X = RNG.normal(size=(n, 3)) + np.eye(max(n_classes, 3))[y][:, :3]
    return X, np.array(["c", "a", "b", "d"])[y]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", [LeastSquaresClassifier, SupportVectorClassifier])
def test_probabilities_are_those_of_scikit_learn(kind, method, n_classes, weighted):
    X, y = rows(n_classes)
    weight = RNG.integers(1, 4, len(y)).astype(float) if weighted else None
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = CalibratedClassifierCV(kind(), method=method, cv=folds, ensemble=False).fit(X, y, sample_weight=weight)
    model = kind(calibration=method).fit(X, y, sample_weight=weight)
    assert_array_equal(model.classes_, expected.classes_)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("unit", [1e-150, 1e-8, 1.0, 1e8, 1e150])
def test_units_of_scores_do_not_matter_to_a_sigmoid(unit):
    scores = RNG.normal(size=200)
    positive = RNG.random(200) < 1 / (1 + np.exp(-2 * scores))
    slope, intercept = sigmoid_curve(scores, positive, None)
    assert_allclose(sigmoid_curve(unit * scores, positive, None), [slope / unit, intercept], rtol=1e-5)


def test_separated_and_constant_scores_have_finite_sigmoids():
    scores = np.linspace(-1, 1, 50)
    for own in (scores, np.zeros(50), np.full(50, 3.0)):
        assert np.isfinite(sigmoid_curve(own, scores > 0, None)).all()
