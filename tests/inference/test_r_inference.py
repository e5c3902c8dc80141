"""Inference of logistic regression against R, whose output `tests/reference/inference.R` stored."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from discriminant import LogisticRegression
from discriminant.errors import CollinearityWarning
from helpers import REFERENCE

R = json.loads((REFERENCE / "inference.json").read_text())


@pytest.fixture(scope="module")
def clinics():
    return pd.read_csv(REFERENCE / "clinics.csv")


def from_formula(formula, frame, **parameters):
    return LogisticRegression.from_formula(formula, frame, tol=1e-14, **parameters)


def name_in_r(term):
    """How R calls a term."""
    return {"intercept": "(Intercept)"}.get(term, term.replace("=", ""))


@pytest.fixture(scope="module")
def nested(clinics):
    with pytest.warns(CollinearityWarning, match="clinic=c3"):
        return from_formula("ill ~ x + region + clinic", clinics)


class TestAliasedColumns:
    """Inference is that of the columns that are estimable."""

    expected = R["aliased"]

    @pytest.mark.parametrize("kind", ["model", "robust"])
    def test_standard_errors(self, nested, kind):
        expected, found = self.expected[kind], nested.summary(covariance=kind).rows
        for row in found:
            value = expected.get(name_in_r(row.term))
            assert row.std_error == pytest.approx(np.nan if value is None else value, rel=1e-6, nan_ok=True)
        assert [row.term for row in found if np.isnan(row.std_error)] == ["clinic=c3", "clinic=c5"]

    def test_profile_intervals(self, nested):
        for _, term, *ends in nested.conf_int(method="profile"):
            expected = [np.nan if end is None else end for end in self.expected["profile"][name_in_r(term)].values()]
            assert_allclose(ends, expected, rtol=2e-3)  # R interpolates between points of the profile

    def test_terms_have_the_degrees_of_freedom_that_are_theirs(self, nested):
        found = nested.term_tests()
        for term in ("x", "region", "clinic"):
            assert found[term].df == self.expected["df"][term]
            assert found[term].statistic == pytest.approx(self.expected["statistic"][term], rel=1e-6)
        assert np.isnan(found["region"].p_value)

    def test_nested_models_differ_by_their_estimable_columns(self, nested, clinics):
        smaller = from_formula("ill ~ x + region", clinics)
        found = nested.likelihood_ratio_test(smaller)
        assert (found.df, found.statistic) == (3, pytest.approx(self.expected["statistic"]["clinic"], rel=1e-6))

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_clusters_and_more_classes_are_those_of_the_columns_that_are_left(self, clinics, n_classes):
        """A column that follows from others changes nothing, wherever it stands."""
        marks = pd.get_dummies(clinics["region"]).to_numpy(float)
        y = clinics["ill"] + (clinics["count"] == 3) * (n_classes - 2)
        X = np.column_stack((marks, clinics[["age", "x"]]))
        with pytest.warns(CollinearityWarning):
            whole = LogisticRegression(tol=1e-14).fit(X, y)
        plain = LogisticRegression(tol=1e-14).fit(np.delete(X, 2, axis=1), y)

        def errors(model, **given):
            return [row.std_error for row in model.summary(**given).rows if np.isfinite(row.std_error)]

        for given in ({}, {"covariance": "robust"}, {"covariance": "clustered", "clusters": clinics["ward"]}):
            assert_allclose(errors(whole, **given), errors(plain, **given), rtol=1e-6)
        ends = [[row[2:] for row in model.conf_int(method="profile")] for model in (whole, plain)]
        kept = np.isfinite(ends[0]).all(axis=1)
        assert_allclose(np.array(ends[0])[kept], ends[1], rtol=1e-6)
        own, other = whole.term_tests(), plain.term_tests()
        assert (own["x0"].df, own["x3"].df) == (0, n_classes - 1)
        assert own["x3"].statistic == pytest.approx(other["x2"].statistic, rel=1e-6)

    @pytest.mark.parametrize("noise", [1e-7, 1e-8, 1e-9])
    def test_a_column_that_nearly_follows_is_left_out_and_the_others_fitted_again(self, clinics, noise):
        X, y = clinics[["x", "age"]].to_numpy(float), clinics["ill"]
        wide = np.column_stack((X, X[:, 0] + noise * np.random.default_rng(0).normal(size=len(X))))
        with pytest.warns(CollinearityWarning):
            model = LogisticRegression(tol=1e-14).fit(wide, y)
        plain, found = LogisticRegression(tol=1e-14).fit(X, y), model.summary()
        assert model.aliased_ == (2,)
        assert not found.unfinished
        assert_allclose(model.predict_proba(wide), plain.predict_proba(X), atol=1e-8)
        assert_allclose([row.std_error for row in found.rows[:3]], [row.std_error for row in plain.summary().rows],
                        rtol=1e-6)  # fmt: skip
