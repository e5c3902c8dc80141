"""Published figures, met within the tolerance that stands beside them in ``tests/reference``.

Iris (MASS's linear discriminant analysis), the vowel data of The Elements of Statistical Learning, and the certified
regression of NIST's Longley data.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import confusion_matrix

from discriminant import LeastSquaresClassifier, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from helpers import REFERENCE, assert_reference, reference
from least_squares import linear_regression

IRIS, VOWEL, LONGLEY = reference("iris_lda"), reference("vowel"), reference("longley")


@pytest.fixture(scope="module")
def iris():
    table = pd.read_csv(REFERENCE / IRIS["data"])
    return table.drop(columns="Species"), table["Species"]


@pytest.fixture(scope="module")
def iris_lda(iris):
    return LinearDiscriminantAnalysis().fit(*iris)


@pytest.fixture(scope="module")
def vowel():
    """Training rows and labels, then those of the test."""
    table = pd.read_csv(REFERENCE / VOWEL["data"])
    parts = [table[table["split"] == split] for split in ("train", "test")]
    return [(part.filter(regex="^x").to_numpy(), part["y"].to_numpy()) for part in parts]


@pytest.fixture(scope="module")
def longley():
    table = pd.read_csv(REFERENCE / LONGLEY["data"])
    return linear_regression(table.drop(columns="TOTEMP"), table["TOTEMP"])


@pytest.mark.parametrize("direction", ["LD1", "LD2"])
def test_iris_scalings(iris_lda, iris, direction):
    column = iris_lda.scalings_[:, int(direction[-1]) - 1]
    expected = np.array([IRIS["expected"][direction][name] for name in iris[0].columns])
    assert_allclose(column * np.sign(column @ expected), expected, rtol=0, atol=IRIS["tolerance"][direction])


def test_iris_singular_values(iris_lda):
    assert_reference(iris_lda.svd_, IRIS, "svd")


def test_iris_proportion_of_trace(iris_lda):
    assert_reference(iris_lda.explained_variance_ratio_, IRIS, "proportion_of_trace")


def test_iris_resubstitution(iris_lda, iris):
    X, y = iris
    assert_reference(confusion_matrix(y, iris_lda.predict(X)), IRIS, "confusion_rows_true")
    assert_reference(np.sum(iris_lda.predict(X) != y), IRIS, "resubstitution_errors")


def errors(model, parts):
    """Misclassified rows of the training part, to which the model is fitted, and of the test part."""
    model.fit(*parts[0])
    return [int(np.sum(model.predict(X) != y)) for X, y in parts]


def published_counts(shares, parts):
    """Shares printed with seven digits as the whole numbers of rows they stand for."""
    counts = [share * len(y) for share, (_, y) in zip(shares, parts, strict=True)]
    assert_allclose(counts, np.round(counts), atol=1e-4)
    return [round(count) for count in counts]


@pytest.mark.parametrize(
    ("model", "figure"),
    [
        (LinearDiscriminantAnalysis, "lda_error"),
        (QuadraticDiscriminantAnalysis, "qda_error"),
        (LeastSquaresClassifier, "linear_regression_error"),
    ],
)
def test_vowel_error_counts(vowel, model, figure):
    assert errors(model(), vowel) == published_counts(VOWEL["expected"][figure], vowel)


@pytest.mark.parametrize("rank", range(1, 11))
def test_vowel_error_counts_of_reduced_rank(vowel, rank):
    figures = [VOWEL["expected"][f"reduced_rank_lda_{part}_error"][rank - 1] for part in ("train", "test")]
    assert errors(LinearDiscriminantAnalysis(rank=rank), vowel) == published_counts(figures, vowel)


def test_vowel_rounds_to_the_book(vowel):
    book = VOWEL["expected"]["esl_table_4_1"]
    models = {
        "lda": LinearDiscriminantAnalysis(),
        "qda": QuadraticDiscriminantAnalysis(),
        "linear_regression": LeastSquaresClassifier(),
    }
    for name, model in models.items():
        shares = np.array(errors(model, vowel)) / [len(y) for _, y in vowel]
        assert_allclose(shares, book[name], rtol=0, atol=VOWEL["tolerance"]["esl_table_4_1"], err_msg=name)


def test_longley_coefficients(longley):
    assert_reference([longley.intercept, *longley.coef], LONGLEY, "coef")


def test_longley_standard_errors(longley):
    assert_reference([longley.intercept_std_error, *longley.std_error], LONGLEY, "se")


@pytest.mark.parametrize(
    ("attribute", "figure"),
    [
        ("residual_sd", "residual_sd"),
        ("r_squared", "r_squared"),
        ("f_statistic", "f_statistic"),
        ("residual_sum_of_squares", "ssr"),
    ],
)
def test_longley_goodness_of_fit(longley, attribute, figure):
    assert_reference(getattr(longley, attribute), LONGLEY, figure)
