"""Fitting takes little memory beside the data: blocks of a few megabytes, and never a p x p matrix for few rows."""

import tracemalloc

import numpy as np
import pytest

from discriminant import (
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    fit_all,
)
from helpers import normal_classes

MEGABYTE = 1_000_000


def peak_of(call):
    """Most memory that was asked for at once, beside what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def long_data():
    """32 MB of single precision."""
    X, y = normal_classes(n=400_000, p=20, K=3)
    return X.astype(np.float32), y


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fitting_long_data_takes_less_than_twice_their_size(make, n_jobs, long_data):
    X, y = long_data
    make().fit(X[:1000], y[:1000])  # compiles the kernels
    assert peak_of(lambda: make(n_jobs=n_jobs).fit(X, y)) < 64 * MEGABYTE


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB])
def test_predicting_long_data_takes_less_than_twice_their_size(make, long_data):
    X, y = long_data
    model = make(n_jobs=2).fit(X[:1000], y[:1000])
    model.predict(X[:1000])
    assert peak_of(lambda: model.predict(X)) < 64 * MEGABYTE


def test_one_pass_for_several_models_takes_no_more(long_data):
    X, y = long_data

    def fit():
        fit_all([LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB()], X, y, n_jobs=2)

    assert peak_of(fit) < 64 * MEGABYTE


N_WIDE, P_WIDE = 60, 20_000
MATRIX = 8 * P_WIDE * P_WIDE


@pytest.fixture(scope="module")
def wide_data():
    """60 rows of 20,000 columns: 9.6 MB, where a square matrix would take 3,200."""
    rng = np.random.default_rng(0)
    y = np.arange(N_WIDE) % 2
    return rng.normal(size=(N_WIDE, P_WIDE)) + 0.2 * y[:, None], y


WIDE = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(shrinkage=0.1),
    LinearDiscriminantAnalysis(shrinkage="oas"),
    LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    LinearDiscriminantAnalysis(shrinkage="cv", folds=3),
    FisherDiscriminant(),
    FisherDiscriminant(threshold="bayes"),
    LeastSquaresClassifier(),
    LeastSquaresClassifier(alpha=1.0),
    GaussianNB(),
]


@pytest.mark.parametrize("model", WIDE, ids=repr)
def test_few_rows_of_many_columns_need_no_square_matrix(model, wide_data):
    X, y = wide_data

    def use():
        model.fit(X, y).predict(X)

    assert peak_of(use) < MATRIX / 8
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(shrinkage=0.1), LeastSquaresClassifier()], ids=repr)
def test_a_stream_of_few_rows_of_many_columns_needs_no_square_matrix(model, wide_data):
    X, y = wide_data

    def use():
        for start in range(0, N_WIDE, 20):
            model.partial_fit(X[start : start + 20], y[start : start + 20], classes=[0, 1])

    assert peak_of(use) < MATRIX / 8


def test_drawing_and_sphering_wide_rows_needs_no_square_matrix(wide_data):
    X, y = wide_data
    model = LinearDiscriminantAnalysis(shrinkage=0.2).fit(X, y)
    assert peak_of(lambda: (model.sample(10, random_state=0), model.transform(X), model.sphere(X))) < MATRIX / 8
