"""Sample sizes against published examples, and by simulation of what the formulae promise."""

import numpy as np
import pytest

from discriminant import LogisticRegression, sample_size
from discriminant.errors import ParameterError
from discriminant.validation.sample_size import cox_snell, max_cox_snell


def rows(found):
    return [one.n_rows for one in found.rows]


def test_the_example_of_pmsampsize():
    """Chagas disease: 24 parameters, 17.4 % events, Cox-Snell R2 0.288."""
    found = sample_size(24, 0.174, r2=0.288)
    assert rows(found) == [623, 662, 221]
    assert found.n_rows == 662
    assert found.events_per_parameter == pytest.approx(4.8, abs=0.01)


def test_the_example_of_riley_et_al_2020():
    """Pre-eclampsia: 30 parameters, 5 % events, R2 0.05."""
    assert sample_size(30, 0.05, r2=0.05).n_rows == 5249
    assert max_cox_snell(np.array([0.95, 0.05])) == pytest.approx(0.33, abs=0.005)


def test_r2_of_an_auc_is_that_of_a_large_sample():
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.1
    x = rng.normal(size=len(y)) + 1.19 * y  # AUC 0.8
    summary = LogisticRegression().fit(x[:, None], y).summary()
    observed = 1 - np.exp(2 * (summary.null_log_likelihood - summary.log_likelihood) / len(y))
    assert cox_snell(0.8, 0.1) == pytest.approx(observed, rel=0.02)


def test_two_classes_are_a_special_case_of_several():
    two = sample_size(8, [0.7, 0.3], auc=0.75)
    assert rows(two) == rows(sample_size(8, 0.3, auc=[0.75]))
    assert rows(sample_size(8, 0.7, auc=0.75)) == pytest.approx(rows(two), rel=1e-6)


def test_several_classes_need_rows_for_their_weakest_pair():
    """Criterion 1 of Pate et al. 2023: rows of a pair over the share of its classes."""
    shares, aucs = np.array([0.5, 0.3, 0.2]), [0.8, 0.75, 0.7]
    found = sample_size(10, shares, r2=0.2, auc=aucs)
    needed = []
    for (k, other), auc in zip([(0, 1), (0, 2), (1, 2)], aucs, strict=True):
        both = shares[k] + shares[other]
        r2 = cox_snell(auc, shares[other] / both)
        needed.append(10 / (-0.1 * np.log(1 - r2 / 0.9)) / both)
    assert found.rows[0].n_rows == int(np.ceil(max(needed)))
    assert found.rows[2].n_rows == int(np.ceil(2.3939797998185104**2 * 0.25 / 0.05**2))


def test_the_promised_shrinkage_is_that_of_fitted_models():
    rng = np.random.default_rng(1)
    n = sample_size(10, 0.4, auc=0.75).rows[0].n_rows
    direction, slopes = np.full(10, 0.954 / np.sqrt(10)), []
    new = rng.random(50_000) < 0.4
    X_new = rng.normal(size=(50_000, 10)) + new[:, None] * direction
    for _ in range(60):
        y = rng.random(n) < 0.4
        model = LogisticRegression().fit(rng.normal(size=(n, 10)) + y[:, None] * direction, y)
        line = LogisticRegression().fit(model.decision_function(X_new)[:, None], new)
        slopes.append(line.coef_[0, 0])
    assert np.mean(slopes) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, 0.3), "n_parameters"),
        ((5, 1.3), "shares"),
        ((5, [0.5, 0.2]), "shares"),
        ((5, 0.3, 0.9), "r2"),
        ((5, 0.3, None, 0.4), "auc"),
        ((5, [0.4, 0.3, 0.3], None, [0.7]), "auc"),
        ((5, 0.3, None, None, 1.0), "shrinkage"),
        ((5, 0.3, None, None, 0.9, 0), "margin"),
    ],
)
def test_what_is_wrong_is_named(arguments, name):
    with pytest.raises(ParameterError, match=name):
        sample_size(*arguments)
