"""Effects of ordinal regression: averages, and standard errors by the delta method."""

import numpy as np
import pandas as pd
import pytest

from discriminant import LogisticRegression, OrdinalLogisticRegression
from discriminant.effects import EffectOptions, comparisons, predictions, slopes


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(2, 3, n)})
    return frame, np.digitize(frame.a - 0.2 * frame.b + rng.logistic(size=n), [-1, 0.5])


def by_outcome(found):
    return {(row.outcome, row.group): (row.estimate, row.std_error) for row in found.rows}


def test_two_classes_have_the_effects_of_binary_logistic_regression():
    X, y = table()
    ours, theirs = (kind().fit(X, y > 0) for kind in (OrdinalLogisticRegression, LogisticRegression))
    for verb in (predictions, lambda model, X: slopes(model, X, "a"), lambda model, X: comparisons(model, X, "b")):
        found, expected = verb(ours, X), verb(theirs, X)
        for one, other in zip(found.rows, expected.rows, strict=True):
            assert one.estimate == pytest.approx(other.estimate, rel=1e-4)
            assert one.std_error == pytest.approx(other.std_error, rel=1e-4)


@pytest.mark.parametrize("parameters", [{}, {"nonparallel": ["b"]}, {"form": "continuation", "link": "cloglog"}])
def test_standard_errors_are_the_delta_method_in_the_parameters(parameters):
    X, y = table()
    model = OrdinalLogisticRegression(**parameters).fit(X, y)
    found = predictions(model, X)
    assert [row.estimate for row in found.rows] == pytest.approx(model.predict_proba(X).mean(axis=0).tolist())
    theta = model._estimated[1]
    rule, jacobian = model.rule_, []
    for step in 1e-5 * np.eye(theta.size):
        ends = []
        for sign in (1, -1):
            coef, cuts = model._training.coefficients(theta + sign * step)
            moved = type(rule)(rule.centre, coef, cuts, rule.order, rule.n_classes, rule.form, rule.link)
            ends.append(np.exp(moved.scores(X.to_numpy())).mean(axis=0))
        jacobian.append((ends[0] - ends[1]) / 2e-5)
    covariance = model._model_covariance()
    errors = np.sqrt(np.einsum("pk,pq,qk->k", jacobian, covariance, jacobian))
    assert [row.std_error for row in found.rows] == pytest.approx(errors.tolist(), rel=1e-5)


def test_standard_errors_are_near_those_of_the_bootstrap():
    X, y = table(300)
    model = OrdinalLogisticRegression(classes_order=[0, 1, 2]).fit(X, y)
    delta, resampled = (slopes(model, X, "a"), slopes(model, X, "a", options=EffectOptions(resamples=200, y=y)))
    for one, other in zip(delta.rows, resampled.rows, strict=True):
        assert one.std_error == pytest.approx(other.std_error, rel=0.25)
