"""Published tables of logistic regression, to their printed digits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from discriminant import LogisticRegression
from discriminant.errors import SeparationWarning
from helpers import REFERENCE, assert_reference, reference

UCLA, LBW, ENDOMETRIAL, VOWEL = (reference(name) for name in ("ucla_admit", "lbw", "endometrial", "vowel"))


def assert_published(figures, key, actual):
    """Terms by name, in any order, or plain figures."""
    expected = figures["expected"][key]
    if isinstance(expected, dict):
        assert set(actual) == set(expected)
        actual = [actual[name] for name in expected]
    assert_reference(actual, figures, key)


def by_term(summary, field):
    return {row.term: getattr(row, field) for row in summary.rows}


@pytest.fixture(scope="module")
def ucla():
    table = pd.read_csv(REFERENCE / UCLA["data"])
    X = table[["gre", "gpa"]].copy()
    for rank in (2, 3, 4):
        X[f"rank{rank}"] = (table["rank"] == rank).astype(float)
    return X, table["admit"]


@pytest.fixture(scope="module")
def lbw():
    table = pd.read_csv(REFERENCE / LBW["data"])
    X = table[["age", "lwt"]].astype(float).copy()
    for race in ("black", "other"):
        X[race] = (table["race"] == race).astype(float)
    for column in ("smoke", "ptl", "ht", "ui"):
        X[column] = table[column].astype(float)
    return X, table["low"]


@pytest.fixture(scope="module")
def endometrial():
    table = pd.read_csv(REFERENCE / ENDOMETRIAL["data"])
    return table[["NV", "PI", "EH"]].astype(float), table["HG"]


def test_admissions(ucla):
    summary = LogisticRegression().fit(*ucla).summary()
    assert_published(UCLA, "coef", by_term(summary, "estimate"))
    assert_published(UCLA, "se", by_term(summary, "std_error"))
    for name in ("null_deviance", "deviance", "aic"):
        assert_published(UCLA, name, getattr(summary, name))


def test_admissions_profile_intervals_are_those_r_prints(ucla):
    intervals = {term: (low, high) for _, term, low, high in LogisticRegression().fit(*ucla).conf_int(method="profile")}
    printed = {
        "intercept": (-6.2716202334, -1.792547080),
        "gre": (0.0001375921, 0.004435874),
        "gpa": (0.1602959439, 1.464142727),
        "rank2": (-1.3008888002, -0.056745722),
        "rank3": (-2.0276713127, -0.670372346),
        "rank4": (-2.4000265384, -0.753542605),
    }
    for term, limits in printed.items():
        assert_allclose(intervals[term], limits, rtol=2e-4)  # R interpolates between points of the profile


def test_birth_weight(lbw):
    model = LogisticRegression().fit(*lbw)
    summary = model.summary()
    assert_published(LBW, "coef", by_term(summary, "estimate"))
    assert_published(LBW, "se_exact_optimum", by_term(summary, "std_error"))
    for name, value in (("loglik", summary.log_likelihood), ("aic", summary.aic), ("deviance", summary.deviance)):
        assert_published(LBW, name, value)
    assert_published(LBW, "null_deviance", summary.null_deviance)
    fitted = model.predict_proba(lbw[0])[:, 1]
    assert_published(LBW, "fitted_first5", fitted[:5])
    pearson = ((lbw[1] - fitted) ** 2 / (fitted * (1 - fitted))).sum()
    assert_published(LBW, "pearson_chi2", pearson)


def test_endometrial_is_separated_and_the_finite_limits_are_found(endometrial):
    with pytest.warns(SeparationWarning, match="'NV'"):
        model = LogisticRegression().fit(*endometrial)
    summary = model.summary()
    estimates = by_term(summary, "estimate")
    assert estimates["NV"] == np.inf
    assert_published(ENDOMETRIAL, "ml_finite_limit", {k: v for k, v in estimates.items() if k != "NV"})
    assert_published(ENDOMETRIAL, "ml_deviance_limit", summary.deviance)
    assert model.score(*endometrial) > 0.8


def test_endometrial_with_firths_likelihood(endometrial):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(firth=True).fit(*endometrial)
    summary = model.summary()
    assert_published(ENDOMETRIAL, "firth_coef", by_term(summary, "estimate"))
    assert_published(ENDOMETRIAL, "firth_se", by_term(summary, "std_error"))
    profile = {term: [low, high] for _, term, low, high in model.conf_int(method="profile")}
    assert_published(ENDOMETRIAL, "firth_ci_profile_95", profile)


def test_vowel_softmax_error_counts_and_deviance():
    table = pd.read_csv(REFERENCE / VOWEL["data"])
    train, test = (table[table["split"] == split] for split in ("train", "test"))
    columns = [f"x{j}" for j in range(1, 11)]
    model = LogisticRegression().fit(train[columns], train["y"])
    errors = [float(np.mean(model.predict(part[columns]) != part["y"])) for part in (train, test)]
    assert_published(VOWEL, "logistic_error", errors)
    assert_published(VOWEL, "logistic_deviance", model.summary().deviance)
