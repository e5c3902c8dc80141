"""Diagnostics of logistic regression: against R (`tests/reference/diagnostics.R`), by refits, and by laws."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, diagnostics
from discriminant.errors import DegenerateDataError, ParameterError, SeparationWarning
from helpers import REFERENCE

R = json.loads((REFERENCE / "diagnostics.json").read_text())
FORMULA = "low ~ age + lwt + race + smoke + ptl"


@pytest.fixture(scope="module")
def births():
    frame = pd.read_csv(REFERENCE / "lbw.csv")
    return frame.assign(weight=pd.cut(frame.bwt, [0, 2500, 3200, 6000], labels=list("abc")).astype(str))


@pytest.fixture(scope="module")
def found(births):
    return diagnostics(LogisticRegression.from_formula(FORMULA, births, tol=1e-14))


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 2))
    return X, np.argmax(np.c_[np.zeros(120), X] + rng.gumbel(size=(120, 3)), axis=1)


class TestAgainstR:
    @pytest.mark.parametrize("name", ["pearson", "deviance", "leverage", "cooks", "dfbetas"])
    def test_rows(self, found, name):
        assert_allclose(getattr(found, name), R[name], rtol=1e-8, atol=1e-10)

    def test_variance_inflation(self, found):
        assert [one.term for one in found.inflation] == [one["term"] for one in R["vif"]]
        expected = [(one["GVIF"], one["Df"], one["GVIF..1..2.Df.."]) for one in R["vif"]]
        assert_allclose([(one.gvif, one.df, one.scaled) for one in found.inflation], expected, rtol=1e-8)

    def test_tests_of_the_fit(self, found):
        hosmer, cessie, link = found.tests
        assert_allclose([hosmer.statistic, hosmer.p_value], R["hosmer"], rtol=1e-8)
        assert_allclose([cessie.statistic, cessie.p_value], [R["le_cessie"]["Z"], R["le_cessie"]["P"]], rtol=1e-6)
        assert_allclose([link.statistic, link.p_value], R["link"][2:], rtol=1e-6)


class TestLaws:
    def test_leverages_add_up_to_the_number_of_coefficients(self, found, several):
        assert found.leverage.sum() == pytest.approx(len(found.coefficients))
        assert diagnostics(LogisticRegression().fit(*several)).leverage.sum() == pytest.approx(6)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_one_step_is_near_a_fit_without_the_row(self, several, classes):
        X, y = several[0], np.minimum(several[1], classes - 1)
        model = LogisticRegression(tol=1e-14).fit(X, y)
        found, table = diagnostics(model), model.summary().rows
        changes = []
        for i in range(0, 60, 3):
            other = LogisticRegression(tol=1e-14).fit(np.delete(X, i, axis=0), np.delete(y, i)).summary().rows
            pairs = zip(table, other, strict=True)
            changes.append([(one.estimate - two.estimate) / one.std_error for one, two in pairs])
        if classes == 2:  # R's dfbetas have deviance residuals: alike, not equal
            assert np.corrcoef(np.ravel(changes), np.ravel(found.dfbetas[0:60:3]))[0, 1] > 0.97
        else:
            assert_allclose(found.dfbetas[0:60:3], changes, atol=0.03)

    def test_frequencies_are_repeated_rows(self, several):
        X, y = several
        weight = 1 + np.arange(len(y)) % 3
        once = diagnostics(LogisticRegression(tol=1e-14).fit(X, y > 0, weight))
        repeated = diagnostics(
            LogisticRegression(tol=1e-14).fit(np.repeat(X, weight, axis=0), np.repeat(y > 0, weight))
        )
        first = np.cumsum(weight) - 1
        for name in ("pearson", "leverage", "cooks", "dfbetas"):
            assert_allclose(getattr(once, name), getattr(repeated, name)[first], rtol=1e-7, atol=1e-10)
        for one, two in zip(once.tests, repeated.tests, strict=True):
            assert_allclose(one.statistic, two.statistic, rtol=1e-7)

    def test_two_classes_are_a_special_case_of_several(self, several, monkeypatch):
        X, y = several
        monkeypatch.setattr("discriminant.inference.residuals.BLOCK_ROWS", 7)
        blocks = diagnostics(LogisticRegression().fit(X, y))
        monkeypatch.undo()
        whole = diagnostics(LogisticRegression().fit(X, y))
        assert_allclose(blocks.dfbetas, whole.dfbetas)
        assert_allclose(blocks.cooks, whole.cooks)

    def test_quantile_residuals_of_a_true_model_are_normal(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 2))
        y = np.argmax(np.c_[np.zeros(3000), X] + rng.gumbel(size=(3000, 3)), axis=1)
        for labels in (y, y > 0):
            if labels.dtype == bool:
                labels = rng.random(3000) < 1 / (1 + np.exp(-X[:, 0]))
            assert kstest(diagnostics(LogisticRegression().fit(X, labels)).quantile, "norm").pvalue > 0.01

    def test_tests_hold_their_level_and_find_a_wrong_link(self):
        rng = np.random.default_rng(2)
        rejected = np.zeros(3)
        for _ in range(200):
            X = rng.normal(size=(300, 1))
            y = rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))
            rejected += [one.p_value < 0.05 for one in diagnostics(LogisticRegression().fit(X, y)).tests]
        assert (rejected <= 22).all()  # 5 %: beyond 22 of 200 in less than one of 1,000 studies
        X = rng.uniform(-2, 2, size=(2000, 1))
        y = rng.random(2000) < 1 / (1 + np.exp(-(X[:, 0] + X[:, 0] ** 2 - 1)))
        hosmer, _, link = diagnostics(LogisticRegression().fit(X, y)).tests  # le Cessie's has little power here
        assert max(hosmer.p_value, link.p_value) < 1e-4

    def test_binned_residuals_average_to_nothing(self, found):
        bins = found.binned_residuals()
        assert bins["fitted"].shape == (1, 13)
        assert abs(bins["residual"].mean()) < 0.01
        assert (np.abs(bins["residual"]) <= bins["two_standard_errors"]).mean() > 0.7

    def test_the_most_influential_rows_come_first(self, found):
        rows = found.most_influential(3)
        assert [row.row for row in rows] == np.argsort(-found.cooks)[:3].tolist()
        assert rows[0].cooks == found.cooks.max()
        assert str(rows[0].row) in str(found)

    def test_aliased_columns_and_offsets(self, several):
        X, y = several
        plain = diagnostics(LogisticRegression(tol=1e-14).fit(X, y > 0))
        with pytest.warns(UserWarning, match="column 2"):
            aliased = LogisticRegression(tol=1e-14).fit(np.column_stack((X, X.sum(axis=1))), y > 0)
        assert_allclose(diagnostics(aliased).leverage, plain.leverage, rtol=1e-8)
        offset = 0.3 * X[:, 0]
        moved = LogisticRegression(tol=1e-14).fit(X, y > 0, offset=offset)
        assert_allclose(diagnostics(moved).pearson, plain.pearson, rtol=1e-6)


class TestRefusals:
    @pytest.mark.parametrize(
        "parameters", [{"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 1.0}, {"class_weight": "balanced"}]
    )
    def test_models_without_a_likelihood(self, several, parameters):
        X, y = several
        with pytest.raises(ParameterError):
            diagnostics(LogisticRegression(**parameters).fit(X, y > 0))

    def test_other_models_and_separation(self, several):
        X, y = several
        with pytest.raises(ParameterError, match="LinearDiscriminantAnalysis"):
            diagnostics(LinearDiscriminantAnalysis().fit(X, y))
        with pytest.warns(SeparationWarning):
            separated = LogisticRegression().fit(X, X[:, 0] > 0)
        with pytest.raises(DegenerateDataError, match="firth"):
            diagnostics(separated)
        assert np.isfinite(diagnostics(LogisticRegression(firth=True).fit(X, X[:, 0] > 0)).cooks).all()
