"""How far from its class a row may lie: Hotelling's law, against its definition and by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, f
from tests.studies import rejection

from discriminant import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
)
from discriminant.errors import DegenerateDataError
from discriminant.theory import class_gaussians, distance_limits


def rows(n, p, K=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    roots = np.eye(p) + 0.4 * rng.normal(size=(K, p, p))
    return np.einsum("ij,ijk->ik", rng.normal(size=(n, p)), roots[y]) + 3.0 * y[:, None], y


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_limits_are_quantiles_of_f(share):
    X, y = rows(90, 5)
    weight = np.where(y == 2, 3, 1)
    for model, own in ((LinearDiscriminantAnalysis(), False), (QuadraticDiscriminantAnalysis(), True)):
        n = np.array([30, 30, 90])
        df = n - 1 if own else np.full(3, 150 - 3)
        expected = (1 + 1 / n) * 5 * df / (df - 4) * f.ppf(share, 5, df - 4)
        assert_allclose(distance_limits(model.fit(X, y, weight), share), expected, rtol=1e-9)
        assert_allclose(distance_limits(model.fit(np.repeat(X, weight, 0), np.repeat(y, weight)), share), expected)


def test_regularised_models_lie_between():
    X, y = rows(300, 4)
    qda = QuadraticDiscriminantAnalysis().fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    for pooling, same in ((0.0, qda), (1.0, lda)):
        model = RegularizedDiscriminantAnalysis(pooling=pooling, shrinkage=0.0).fit(X, y)
        assert_allclose(distance_limits(model, 0.9), distance_limits(same, 0.9), rtol=1e-9)
        n = 300 if pooling else 100
        own, theirs = class_gaussians(model), class_gaussians(same)
        for k in range(3):
            assert_allclose(own[k].mean, theirs[k].mean)
            assert_allclose(own[k].covariance * n / (n - (3 if pooling else 1)), theirs[k].covariance, rtol=1e-8)
    between = distance_limits(RegularizedDiscriminantAnalysis(pooling=0.5, shrinkage=0.0).fit(X, y), 0.9)
    assert (between < distance_limits(qda, 0.9)).all()
    assert (between > distance_limits(lda, 0.9)).all()


def test_many_rows_have_the_chi_square_distribution():
    X, y = rows(60, 3)
    many = np.full(60, 10_000)
    for model in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB()):
        assert_allclose(distance_limits(model.fit(X, y, many), 0.95), chi2.ppf(0.95, 3), rtol=1e-3)


def test_a_covariance_of_too_few_rows_is_refused():
    X, y = rows(24, 10)
    model = QuadraticDiscriminantAnalysis(shrinkage=0.1).fit(X, y)
    with pytest.raises(DegenerateDataError, match="8 rows for 10 columns"):
        distance_limits(model, 0.99)


def test_own_rows_are_rejected_as_often_as_stated():
    tasks = [("rejection", "qda", 6, 60, 0.99), ("rejection", "lda", 12, 40, 0.95), ("rejection", "qda", 64, 190, 0.99)]
    found = {task: rejection.run(task, 6) for task in tasks}
    assert rejection.check(found, 6) == []
    assert found[tasks[0]]["chi_square"] > 0.02
    assert found[tasks[2]]["chi_square"] > 0.4


def test_naive_bayes_rejects_about_the_stated_share():
    rng, shares = np.random.default_rng(0), []
    for _ in range(60):
        y = np.arange(90) % 3
        model = GaussianNB().fit(rng.normal(size=(90, 6)), y)
        new = rng.normal(size=(300, 6))
        for gaussian, limit in zip(class_gaussians(model).values(), distance_limits(model, 0.99), strict=True):
            shares.append(np.mean(np.square((new - gaussian.mean) @ gaussian.inverse_root.T).sum(axis=1) > limit))
    assert 0.005 < np.mean(shares) < 0.015
