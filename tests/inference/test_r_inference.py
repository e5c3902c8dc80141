"""Inference of logistic regression against R, whose output `tests/reference/inference.R` stored."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm
from scipy.optimize import minimize_scalar

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, coefficient_table
from discriminant.errors import CollinearityWarning, DegenerateDataError, ParameterError, SeparationWarning
from discriminant.estimators import logistic, logistic_estimates
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

    def test_columns_that_the_fit_did_not_check_are_checked_by_inference(self, clinics, monkeypatch):
        X, y = pd.get_dummies(clinics[["x", "region"]]).to_numpy(float), clinics["ill"]
        for module in (logistic, logistic_estimates):
            monkeypatch.setattr(module, "MAX_CHECKED_PARAMETERS", 1)
        model = LogisticRegression(tol=1e-14).fit(X, y)
        plain = LogisticRegression(tol=1e-14).fit(X[:, :3], y)
        assert model.aliased_ == ()
        found, expected = (one.summary(covariance="HC3").rows for one in (model, plain))
        assert np.isnan(found[4].estimate)
        for field in ("estimate", "std_error"):
            assert_allclose(
                [getattr(row, field) for row in found[:4]], [getattr(row, field) for row in expected], rtol=1e-6
            )
        assert model.term_tests()["x0"].statistic == pytest.approx(plain.term_tests()["x0"].statistic, rel=1e-6)

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


def errors_of(summary):
    return {name_in_r(row.term): row.std_error for row in summary.rows}


class TestSandwiches:
    """HC0 to HC3 are vcovHC's, CR0 and CR1 vcovCL's, CR2 is made up of matrices here."""

    @pytest.fixture
    def plain(self, clinics):
        return from_formula("ill ~ x + age + region", clinics)

    @pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "CR0", "CR1"])
    def test_they_are_those_of_r(self, plain, clinics, kind):
        clusters = clinics["ward"] if kind.startswith("CR") else None
        found = errors_of(plain.summary(covariance=kind, clusters=clusters))
        assert found == pytest.approx(R["sandwiches"][kind], rel=1e-6)

    def test_names_by_their_use(self, plain, clinics):
        own, by_ward = plain.summary(covariance="robust"), plain.summary(clusters=clinics["ward"])
        assert errors_of(own) == pytest.approx(R["sandwiches"]["HC0"], rel=1e-6)
        assert errors_of(by_ward) == pytest.approx(R["sandwiches"]["CR1"], rel=1e-6)

    @staticmethod
    def bell_mccaffrey(X, y, clusters, weight):
        """CR2 as clubSandwich defines it, with weights as `glm` takes them: V = v / w, W = w / v, D = V^(1/2)."""
        b = np.zeros(X.shape[1])
        for _ in range(30):
            p = 1 / (1 + np.exp(-X @ b))
            b += np.linalg.solve(X.T @ (X * (weight * p * (1 - p))[:, None]), X.T @ (weight * (y - p)))
        v, residual = p * (1 - p), y - p
        Z, V, W = X * v[:, None], np.diag(v / weight), np.diag(weight / v)
        bread = np.linalg.inv(Z.T @ W @ Z)
        H, meat = Z @ bread @ Z.T @ W, np.zeros_like(bread)
        for label in np.unique(clusters):
            own = clusters == label
            D = np.linalg.cholesky(V[np.ix_(own, own)])
            rest = (np.eye(len(y)) - H)[own]
            G = D @ (rest @ V @ rest.T) @ D.T
            values, vectors = np.linalg.eigh(G)
            A = D.T @ (vectors / np.sqrt(values)) @ vectors.T @ D
            score = Z[own].T @ W[np.ix_(own, own)] @ A @ residual[own]
            meat += np.outer(score, score)
        return np.sqrt(np.diag(bread @ meat @ bread))

    @pytest.mark.parametrize("weighting", ["none", "importance", "frequency"])
    def test_cr2_is_bell_and_mccaffreys(self, clinics, weighting):
        X, y, ward = clinics[["x", "age"]].to_numpy(float), clinics["ill"].to_numpy(), clinics["ward"].to_numpy()
        weight = {"none": None, "importance": clinics["survey"], "frequency": clinics["count"]}[weighting]
        model = LogisticRegression(tol=1e-14).fit(X, y, weight)
        found = [row.std_error for row in model.summary(covariance="CR2", clusters=ward).rows]
        if weighting == "frequency":  # the same as repeated rows
            X, y, ward = (np.repeat(part, weight, axis=0) for part in (X, y, ward))
        own = clinics["survey"].to_numpy() if weighting == "importance" else np.ones(len(y))
        expected = self.bell_mccaffrey(np.column_stack((np.ones(len(y)), X)), y, ward, own)
        assert_allclose(found, expected, rtol=1e-6)

    @pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"])
    def test_frequencies_are_repeated_rows(self, clinics, kind):
        """Rows and clusters of weight 0 do not count."""
        X, y, ward = clinics[["x", "age"]].to_numpy(float), clinics["ill"].to_numpy(), clinics["ward"].to_numpy()
        weight = np.where(ward < 3, 0, clinics["count"])
        again = np.repeat(np.arange(len(y)), weight)
        weighted = LogisticRegression(tol=1e-14).fit(X, y, weight)
        repeated = LogisticRegression(tol=1e-14).fit(X[again], y[again])
        found = [
            [row.std_error for row in model.summary(covariance=kind, clusters=own).rows]
            for model, own in (
                (weighted, ward if kind.startswith("CR") else None),
                (repeated, ward[again] if kind.startswith("CR") else None),
            )
        ]
        assert_allclose(*found, rtol=1e-7)

    @pytest.mark.parametrize("kind", ["HC0", "HC1", "CR0", "CR1"])
    def test_more_classes_by_hand(self, clinics, kind):
        X, codes = clinics[["x", "age"]].to_numpy(float), clinics["count"].to_numpy() % 3
        model = LogisticRegression(tol=1e-14).fit(X, codes)
        clusters = clinics["ward"].to_numpy() if kind.startswith("CR") else np.arange(len(X))
        design = np.column_stack((np.ones(len(X)), X))
        p = model.predict_proba(X)[:, :2]
        scores = ((codes[:, None] == [0, 1]) - p)[:, :, None] * design[:, None, :]
        rows = scores.reshape(len(X), -1)
        information = sum(
            np.kron(np.diag(own) - np.outer(own, own), np.outer(x, x)) for own, x in zip(p, design, strict=True)
        )
        sums = np.array([rows[clusters == label].sum(axis=0) for label in np.unique(clusters)])
        G, n, k = len(sums), len(X), rows.shape[1]
        factor = {"HC0": 1, "CR0": 1, "HC1": n / (n - k), "CR1": G / (G - 1)}[kind]
        bread = np.linalg.inv(information)
        expected = np.sqrt(np.diag(bread @ (sums.T @ sums) @ bread) * factor)
        given = {"clusters": clusters} if kind.startswith("CR") else {}
        assert_allclose([r.std_error for r in model.summary(covariance=kind, **given).rows], expected, rtol=1e-6)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"covariance": "bogus"}, "covariance must be one of"),
            ({"weights": "bogus"}, "weights must be one of"),
            ({"covariance": "CR1"}, "needs clusters"),
            ({"covariance": "HC3", "clusters": np.arange(300)}, "clusters"),
            ({"clusters": np.zeros(300)}, "one cluster"),
            ({"clusters": np.zeros(30)}, "one label for each"),
        ],
    )
    @pytest.mark.parametrize("kind", ["maximum", "firth", "separated"])
    def test_what_is_no_covariance_is_refused_by_every_model(self, clinics, kind, given, message):
        X, y = clinics[["x", "age"]].to_numpy(float), clinics["ill"].to_numpy()
        if kind == "separated":
            X = np.column_stack((X, (np.arange(300) < 30) & (y == 1)))
            with pytest.warns(SeparationWarning):
                model = LogisticRegression().fit(X, y)
        else:
            model = LogisticRegression(firth=kind == "firth").fit(X, y)
        with pytest.raises(ParameterError, match=None if kind == "firth" else message):
            model.summary(**given)

    def test_firths_estimates_have_no_sandwich(self, clinics):
        model = LogisticRegression(firth=True).fit(clinics[["x", "age"]], clinics["ill"])
        for given in ({"covariance": "HC0"}, {"clusters": clinics["ward"]}, {"weights": "importance"}):
            with pytest.raises(ParameterError, match="Firth"):
                model.summary(**given)

    def test_cr2_is_for_two_classes(self, clinics):
        model = LogisticRegression().fit(clinics[["x", "age"]], clinics["count"])
        with pytest.raises(ParameterError, match="two classes"):
            model.summary(covariance="CR2", clusters=clinics["ward"])

    @pytest.mark.parametrize("kind", ["HC2", "HC3"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_leverages_of_more_classes_by_hand(self, clinics, kind, weighted):
        """Residuals of the first two of three classes; any reference has the same covariance."""
        X, codes = clinics[["x", "age"]].to_numpy(float), clinics["count"].to_numpy() % 3
        weight = clinics["survey"].to_numpy() if weighted else np.ones(len(X))
        model = LogisticRegression(tol=1e-14).fit(X, codes, weight)
        design, p = np.column_stack((np.ones(len(X)), X)), model.predict_proba(X)
        basis = np.linalg.qr(np.column_stack((np.ones(3), np.eye(3)[:, :2])))[0][:, 1:]  # of the contrasts
        Z = np.array([np.kron(basis, x) for x in design])  # (rows, classes, parameters)
        V = np.array([np.diag(own) - np.outer(own, own) for own in p])
        information = np.einsum("n,nki,nkl,nlj->ij", weight, Z, V, Z)
        bread, meat = np.linalg.inv(information), 0.0
        for z, v, w, residual in zip(Z, V, weight, np.eye(3)[codes] - p, strict=True):
            own, spread = basis.T @ v @ basis, w * basis.T @ z @ bread @ z.T @ basis
            error = basis.T @ residual
            if kind == "HC3":
                error = np.linalg.solve(np.eye(2) - own @ spread, error)
            else:
                root = sqrtm(own)
                error = root @ np.linalg.solve(sqrtm(np.eye(2) - root @ spread @ root), np.linalg.solve(root, error))
            score = w * z.T @ basis @ error
            meat = meat + np.outer(score, score)
        covariance = bread @ meat @ bread
        contrast = np.kron((np.eye(3)[:2] - np.eye(3)[2]) @ basis, np.eye(3))
        expected = np.sqrt(np.diag(contrast @ covariance @ contrast.T))
        found = model.summary(covariance=kind, weights="importance" if weighted else None)
        assert_allclose([row.std_error for row in found.rows], expected, rtol=1e-6)
        one, other = (
            {(row.outcome, row.term): row.std_error for row in model.summary(reference=k, covariance=kind).rows}
            for k in (0, 1)
        )
        assert_allclose(one[1, "x0"], other[0, "x0"], rtol=1e-7)

    @pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"])
    def test_under_separation_they_are_those_of_the_rows_that_are_not_separated(self, clinics, kind):
        X, y = clinics[["x", "age"]].to_numpy(float), clinics["ill"].to_numpy()
        mark = (np.arange(300) < 40) & (y == 1)
        with pytest.warns(SeparationWarning):
            model = LogisticRegression(tol=1e-14).fit(np.column_stack((X, mark)), y)
        left = LogisticRegression(tol=1e-14).fit(X[~mark], y[~mark])
        ward = clinics["ward"].to_numpy() if kind.startswith("CR") else None
        found = model.summary(covariance=kind, clusters=ward).rows
        expected = left.summary(covariance=kind, clusters=None if ward is None else ward[~mark]).rows
        assert_allclose([row.std_error for row in found[:3]], [row.std_error for row in expected], rtol=1e-6)
        assert found[3].estimate == np.inf


class TestImportanceWeights:
    """Weights that are not whole numbers are importances, with a sandwich and without likelihoods."""

    @pytest.fixture
    def model(self, clinics):
        return from_formula("ill ~ x + age + region", clinics, sample_weight="survey")

    def test_estimates_and_covariances_are_those_of_r(self, model, clinics):
        expected, found = R["importance"], model.summary()
        assert {name_in_r(row.term): row.estimate for row in found.rows} == pytest.approx(expected["coef"], rel=1e-6)
        assert errors_of(found) == pytest.approx(expected["HC"]["HC3"], rel=1e-6)
        for kind, errors in expected["HC"].items():
            assert errors_of(model.summary(covariance=kind)) == pytest.approx(errors, rel=1e-6)
        plain = errors_of(model.summary(covariance="HC0"))  # survey corrects for the mean of the scores
        assert {term: error * np.sqrt(300 / 299) for term, error in plain.items()} == pytest.approx(expected["svyglm"])
        naive = errors_of(model.summary(weights="frequency"))
        assert naive == pytest.approx(expected["naive"], rel=1e-6)

    def test_they_do_not_depend_on_the_unit_of_weights(self, model, clinics):
        frame = clinics.assign(survey=460.5 * clinics["survey"])
        scaled = from_formula("ill ~ x + age + region", frame, sample_weight="survey")
        assert errors_of(scaled.summary()) == pytest.approx(errors_of(model.summary()), rel=1e-6)
        table = coefficient_table(scaled)
        assert [row.z for row in table.rows] == pytest.approx([row.z for row in model.summary().rows], rel=1e-6)
        assert scaled.summary().n_rows == 300

    def test_whole_numbers_count_rows_unless_they_are_called_importances(self, clinics):
        model = from_formula("ill ~ x + age", clinics, sample_weight="count")
        assert model.summary().n_rows == clinics["count"].sum()
        assert model.summary().likelihood == "maximum"
        assert model.summary(weights="importance").likelihood == "weighted"
        assert not np.isnan(model.summary().aic)

    def test_likelihood_inference_is_refused_with_the_remedy(self, model, clinics):
        balanced = LogisticRegression(class_weight="balanced").fit(clinics[["x", "age"]], clinics["ill"])
        smaller = LogisticRegression(class_weight="balanced").fit(clinics[["x"]], clinics["ill"])
        for ask in (
            model.term_tests,
            lambda: model.conf_int(method="profile"),
            balanced.term_tests,
            lambda: balanced.conf_int(method="profile"),
            lambda: balanced.likelihood_ratio_test(smaller),
        ):
            with pytest.raises(ParameterError, match="Wald"):
                ask()
        for one in (model, balanced):
            summary = one.summary()
            assert np.isnan([summary.aic, summary.bic]).all()
            assert "AIC" not in str(summary).split("note:")[0]
            wald = {term: ends for _, term, *ends in one.conf_int()}
            assert wald == {row.term: pytest.approx([row.low, row.high]) for row in summary.rows}
        for given in ({"covariance": "model"}, {"weights": "frequency"}):
            with pytest.raises(ParameterError):
                balanced.summary(**given)

    def test_effects_have_the_sandwich(self, model):
        effect, row = model.effect("x", values=[1.0], at=0.0), model.summary().rows[1]
        assert (effect.points[0].low, effect.points[0].high) == pytest.approx((row.low, row.high))

    def test_few_rows_have_no_tests(self, clinics):
        few = clinics[:40]
        model = LogisticRegression(class_weight="balanced").fit(few[["x", "age"]], few["ill"])
        rows = model.summary().rows
        assert np.isfinite([row.std_error for row in rows]).all()
        assert np.isnan([(row.z, row.p_value, row.low, row.high) for row in rows]).all()
        with pytest.raises(DegenerateDataError, match="Effective sample size"):
            model.conf_int()

    def test_separated_rows_are_weighted_once(self, clinics):
        """The fit to the rows that are not separated has the weights of classes already."""
        X, y = clinics[["x", "age"]].to_numpy(float), clinics["ill"].to_numpy()
        mark = (np.arange(300) < 40) & (y == 1)
        wide = np.column_stack((X, mark))
        factors = {0: 1.0, 1: 2.5}
        with pytest.warns(SeparationWarning):
            balanced = LogisticRegression(tol=1e-14, class_weight=factors).fit(wide, y)
        left = LogisticRegression(tol=1e-14, class_weight=factors).fit(X[~mark], y[~mark])
        for field in ("estimate", "std_error"):
            found, expected = ([getattr(row, field) for row in m.summary().rows[:3]] for m in (balanced, left))
            assert_allclose(found, expected, rtol=1e-5)


class TestSeparation:
    """Profiles rise from the limit of the deviance: an infinite coefficient has one finite end."""

    @pytest.fixture
    def endometrial(self):
        table = pd.read_csv(REFERENCE / "endometrial.csv")
        return table[["NV", "PI", "EH"]].astype(float), table["HG"]

    def test_ends_are_those_of_r(self, endometrial):
        with pytest.warns(SeparationWarning):
            model = LogisticRegression().fit(*endometrial)
        found = {term: ends for _, term, *ends in model.conf_int(method="profile")}
        for term, (low, high) in R["separated"].items():
            assert_allclose(found[term], [low, np.inf if high is None else high], rtol=1e-6)
        with pytest.warns(SeparationWarning):
            turned = LogisticRegression().fit(endometrial[0], 1 - endometrial[1])
        other = {term: ends for _, term, *ends in turned.conf_int(method="profile")}
        for term, ends in found.items():
            assert_allclose(other[term], [-ends[1], -ends[0]], rtol=1e-5)

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("seed", range(5))
    def test_every_coefficient_has_an_interval_with_its_estimate(self, n_classes, seed):
        rng = np.random.default_rng(seed)
        X = np.column_stack((rng.normal(size=(90, 2)), np.arange(90) % 3 == 0)).astype(float)
        y = np.digitize(X[:, 0] + rng.logistic(size=90), [-0.5, 0.8][: n_classes - 1])
        y[X[:, 2] == 1] = 0
        with pytest.warns(SeparationWarning):
            model = LogisticRegression().fit(X, y)
        finite = {(row.outcome, row.term): row.estimate for row in model.summary().rows}
        for outcome, term, low, high in model.conf_int(method="profile"):
            assert low < finite[outcome, term] or low == finite[outcome, term] == -np.inf
            assert high > finite[outcome, term] or high == finite[outcome, term] == np.inf
            assert np.isfinite([low, high]).sum() == (1 if np.isinf(finite[outcome, term]) else 2)

    def test_complete_separation_has_ends_that_the_likelihood_ratio_allows(self):
        X, y = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
        with pytest.warns(SeparationWarning):
            model = LogisticRegression().fit(X, y)
        low, high = next(ends for _, term, *ends in model.conf_int(method="profile") if term == "x0")
        assert high == np.inf
        signs = 2 * y - 1
        held = minimize_scalar(lambda b: 2 * np.logaddexp(0, -signs * (b + low * X[:, 0])).sum(), tol=1e-12)
        assert held.fun == pytest.approx(3.841458820694124, abs=1e-6)


class TestLikelihoodRatios:
    """Pairs of models that a likelihood-ratio test holds for, and those it is refused for."""

    def test_nested_models_are_those_of_r(self, clinics):
        larger, smaller = (from_formula(f, clinics) for f in ("ill ~ x + age + region", "ill ~ x"))
        found, expected = larger.likelihood_ratio_test(smaller), R["nested"]
        assert found.df == expected["df"]
        assert (found.statistic, found.p_value) == pytest.approx((expected["statistic"], expected["p_value"]), rel=1e-6)

    def test_nesting_is_a_matter_of_columns_not_of_names(self, clinics):
        X, y = clinics[["x", "age"]].to_numpy(float), clinics["ill"]
        larger = LogisticRegression(tol=1e-14).fit(X, y)
        turned = LogisticRegression(tol=1e-14).fit(X @ [[1.0], [-0.03]] * 1e4 + 7, y)
        held = LogisticRegression(tol=1e-14, fit_intercept=False).fit(X @ [[1.0], [-0.03]], y)
        assert larger.likelihood_ratio_test(turned).df == 1
        assert larger.likelihood_ratio_test(held).df == 2

    @pytest.mark.parametrize("firth", [False, True])
    def test_models_that_are_not_nested_are_refused(self, clinics, firth):
        y = clinics["ill"]
        larger, other = (
            LogisticRegression(firth=firth).fit(clinics[columns], y) for columns in (["x", "count"], ["age"])
        )
        with pytest.raises(ParameterError, match="not nested"):
            larger.likelihood_ratio_test(other)
        without = LogisticRegression(fit_intercept=False, firth=firth).fit(clinics[["x", "count"]], y)
        with pytest.raises(ParameterError, match="not nested"):
            without.likelihood_ratio_test(
                LogisticRegression(fit_intercept=False, firth=firth).fit(np.ones((300, 1)), y)
            )

    @pytest.mark.parametrize("where", ["larger", "smaller", "both"])
    @pytest.mark.parametrize(
        "given", [{"alpha": 0.01}, {"alpha": 0.01, "l1_ratio": 1.0}, {"class_weight": "balanced"}, {"firth": True}]
    )
    def test_other_likelihoods_are_refused(self, clinics, given, where):
        own, other = ({} if where == "smaller" else given), ({} if where == "larger" else given)
        larger = LogisticRegression(**own).fit(clinics[["x", "age"]], clinics["ill"])
        smaller = LogisticRegression(**other).fit(clinics[["x"]], clinics["ill"])
        if "firth" in given and where == "both":
            assert larger.likelihood_ratio_test(smaller).df == 1
            return
        with pytest.raises(ParameterError):
            larger.likelihood_ratio_test(smaller)

    def test_other_rows_are_refused(self, clinics):
        X, y = clinics[["x", "age"]], clinics["ill"].to_numpy()
        larger = LogisticRegression().fit(X, y)
        for smaller in (
            LogisticRegression().fit(X[["x"]], 1 - y),
            LogisticRegression().fit(X[["x"]], y, clinics["count"] + 1),
            LogisticRegression().fit(X[["x"]], y, offset=0.1 * X["x"]),
            LogisticRegression().fit(X[["x"]][1:], y[1:]),
        ):
            with pytest.raises(ParameterError, match="rows"):
                larger.likelihood_ratio_test(smaller)
        with pytest.raises(ParameterError, match="LinearDiscriminantAnalysis"):
            larger.likelihood_ratio_test(LinearDiscriminantAnalysis().fit(X, y))

    @pytest.mark.parametrize(("left_out", "name", "df"), [(["NV"], "NV", 1), (["PI", "EH"], "PI_and_EH", 2)])
    def test_of_firths_likelihood_it_is_the_penalised_one(self, left_out, name, df):
        table = pd.read_csv(REFERENCE / "endometrial.csv")
        X, y = table[["NV", "PI", "EH"]].astype(float), table["HG"]
        larger, smaller = (LogisticRegression(firth=True).fit(columns, y) for columns in (X, X.drop(columns=left_out)))
        found = larger.likelihood_ratio_test(smaller)
        assert (found.df, found.statistic) == (df, pytest.approx(R["firth"][name], rel=1e-6))
        if df == 1:
            row = next(row for row in larger.summary().rows if row.term in left_out)
            assert row.p_value == pytest.approx(found.p_value, rel=1e-6)
            assert row.z**2 == pytest.approx(found.statistic, rel=1e-6)


class TestFirthsTable:
    """Tests and intervals of the penalised likelihood ratio, and no criteria that assume a maximum."""

    @pytest.mark.parametrize("reference", ["a", "b", "c"])
    def test_any_reference(self, clinics, reference):
        y = np.array(["a", "b", "c"])[clinics["count"] % 3]
        model = LogisticRegression(firth=True).fit(clinics[["x", "age"]], y)
        summary = model.summary(reference=reference)
        ends = [row[2:] for row in model.conf_int(reference=reference)]
        assert_allclose([(row.low, row.high) for row in summary.rows], ends, rtol=1e-6)
        for row in summary.rows:
            assert (row.p_value < 0.05) == (not row.low < 0 < row.high)
        first, second = (
            {row.term: row for row in model.summary(reference=r).rows if row.outcome == o} for r, o in ("ab", "ba")
        )
        for term, row in first.items():
            assert (row.low, row.high) == pytest.approx((-second[term].high, -second[term].low), rel=1e-6)
            assert row.p_value == pytest.approx(second[term].p_value, rel=1e-5)

    def test_there_is_no_aic(self, clinics):
        summary = LogisticRegression(firth=True).fit(clinics[["x", "age"]], clinics["ill"]).summary()
        assert summary.likelihood == "penalised"
        assert np.isnan([summary.aic, summary.bic, summary.pseudo_r2]).all()
        assert not {"AIC", "BIC", "R2"} & set(str(summary).split())
