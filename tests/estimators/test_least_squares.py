"""What least squares is known for: it masks classes in the middle, and rows far on the right side mislead it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from discriminant import (
    FisherDiscriminant,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    cross_validate,
)
from discriminant.errors import NotReadyError
from helpers import normal_classes


def three_in_a_row(n=300, seed=0):
    """Two classes, and half as many rows of a third between them."""
    rng = np.random.default_rng(seed)
    y = np.array([0, 0, 1, 2, 2])[np.arange(n) % 5]
    return 4.0 * y[:, None] + rng.normal(size=(n, 2)), np.array(["left", "middle", "right"])[y]


def test_the_middle_of_three_classes_in_a_row_is_masked():
    X, y = three_in_a_row()
    model = LeastSquaresClassifier().fit(X, y)
    assert_array_equal(model.masked_classes_, ["middle"])
    assert "middle" not in model.predict(X)
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y) > 0.98


@pytest.mark.parametrize("coding", ["one-hot", "fisher"])
def test_two_classes_mask_nothing(coding):
    X, y = normal_classes(K=2)
    assert LeastSquaresClassifier(coding=coding).fit(X, y).masked_classes_.size == 0


def test_classes_in_a_triangle_mask_nothing():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = np.array([[0.0, 4.0], [-4.0, -2.0], [4.0, -2.0]])[y] + rng.normal(size=(300, 2))
    assert LeastSquaresClassifier().fit(X, y).masked_classes_.size == 0


def with_outliers(n=200, seed=0):
    """Two classes well apart; then the same with rows of the second far beyond its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = np.array([[-2.0, 0.0], [2.0, 0.0]])[y] + 0.5 * rng.normal(size=(n, 2))
    far = np.array([40.0, 0.0]) + 0.5 * rng.normal(size=(20, 2))
    return (X, y), (np.concatenate([X, far]), np.concatenate([y, np.ones(20, dtype=int)]))


def test_rows_far_on_the_right_side_mislead_least_squares():
    clean, outlying = with_outliers()
    assert LeastSquaresClassifier().fit(*clean).score(*clean) == 1
    assert LeastSquaresClassifier().fit(*outlying).score(*clean) < 0.92


def test_they_mislead_lda_as_far_but_not_a_model_of_each_class():
    """For two classes, LDA's direction is that of least squares, whatever the data."""
    clean, outlying = with_outliers()
    squares, lda = (kind().fit(*outlying) for kind in (LeastSquaresClassifier, LinearDiscriminantAnalysis))
    assert_allclose(*(w / np.linalg.norm(w) for w in (squares.coef_, lda.coef_)), rtol=1e-8)
    assert lda.score(*clean) < 0.92
    assert QuadraticDiscriminantAnalysis().fit(*outlying).score(*clean) > 0.98
    assert FisherDiscriminant(threshold="cv").fit(*outlying).score(*clean) > squares.score(*clean)


def test_ridge_shrinks_the_coefficients():
    X, y = normal_classes()
    lengths = [np.linalg.norm(LeastSquaresClassifier(alpha=a).fit(X, y).coef_) for a in (0.0, 1.0, 100.0)]
    assert lengths[0] > lengths[1] > lengths[2] > 0


def test_ridge_reads_constant_and_collinear_columns():
    X, y = normal_classes()
    odd = np.column_stack([X, np.ones(len(y)), X[:, 0] + X[:, 1]])
    model = LeastSquaresClassifier(alpha=1e-6).fit(odd, y)
    assert_array_equal(model.predict(odd), LeastSquaresClassifier().fit(X, y).predict(X))
    assert_allclose(model.coef_[:, 4], 0, atol=1e-12)


def test_calibrated_fitted_values_are_probabilities_learned_from_held_out_rows():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 2)) + 1.5 * np.column_stack([y == 1, y == 2])
    plain, model = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier(calibration="sigmoid").fit(X, y)
    assert not hasattr(plain, "predict_proba")
    assert_array_equal(model.predict(X), plain.predict(X))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = CalibratedClassifierCV(LeastSquaresClassifier(), cv=folds, ensemble=False).fit(X, y)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)  # which stops at 1e-6
    crossed = cross_validate({"LS": LeastSquaresClassifier(calibration="sigmoid")}, X, y, cv=3)
    assert crossed.mean("LS", "log_loss") < np.log(3)
    model.partial_fit(X, y)
    with pytest.raises(NotReadyError, match="calibration"):
        model.predict_proba(X)
