"""Internal validation: the definitions of R's rms (`tests/reference/validate.R`), and laws."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from benchmarks.risk_models import by_refits, risk_rows, scikit_learn_fit, statsmodels_fit
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discriminant import (
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    OrdinalLogisticRegression,
    Perceptron,
    ValidationOptions,
    calibration_curve,
    evaluate,
    validate,
)
from discriminant.errors import AliasWarning, InputError, ParameterError, SeparationWarning, WeightError
from discriminant.evaluation.ranking import auc, aucs, rank
from discriminant.evaluation.recalibration import fitted_lines
from discriminant.solvers.weightings import logistic_fits
from discriminant.validation.performance import performance, performances
from discriminant.validation.resampling import Units
from helpers import REFERENCE

R = json.loads((REFERENCE / "validate.json").read_text())
COLUMNS = ("apparent", "training", "test", "optimism", "corrected")


@pytest.fixture(scope="module")
def births():
    frame = pd.read_csv(REFERENCE / "lbw.csv")
    X = pd.get_dummies(frame[["age", "lwt", "race", "smoke"]], drop_first=True).astype(float)
    return X, frame.low.to_numpy(), frame.race.to_numpy()


class Plain(LogisticRegression):
    """A logistic regression that takes the way of all models."""


def numbers(found, name):
    return np.array([getattr(found[name], column) for column in COLUMNS])


class TestAgainstR:
    @pytest.mark.parametrize("model", [LogisticRegression(tol=1e-14), Plain(tol=1e-14)])
    def test_optimism_bootstrap_of_the_same_resamples(self, births, model):
        X, y, _ = births
        found = validate(model, X, y, ValidationOptions(resamples=np.array(R["rows"])))
        theirs = dict(zip(R["measures"], np.array(R["values"])[:, :5], strict=True))
        dxy = 2 * numbers(found, "auc") - [1, 1, 1, 0, 1]
        assert_allclose(dxy, theirs["Dxy"], atol=1e-8)
        assert_allclose(numbers(found, "r2"), theirs["R2"], atol=1e-8)
        assert_allclose(numbers(found, "brier"), theirs["B"], atol=1e-8)
        assert_allclose(numbers(found, "calibration_intercept"), theirs["Intercept"], atol=1e-7)  # lrm stops early
        assert_allclose(numbers(found, "calibration_slope"), theirs["Slope"], atol=1e-7)
        assert_allclose([found[f"calibration_{name}"].test for name in ("intercept", "slope")], R["lines"], atol=1e-8)


@pytest.mark.parametrize("fit", [statsmodels_fit, scikit_learn_fit])
def test_refits_of_other_packages_have_the_same_corrected_measures(fit):
    X, y = risk_rows(250, 3)
    rows = np.random.default_rng(0).integers(250, size=(10, 250))
    found = validate(LogisticRegression(tol=1e-12), X, y, ValidationOptions(resamples=rows, inner_resamples=0))
    expected = by_refits(fit, X, y, rows)
    assert set(expected) == {row.measure for row in found.rows}
    assert_allclose([row.corrected for row in found.rows], [expected[row.measure] for row in found.rows], atol=1e-7)


class TestLaws:
    def test_fits_of_all_weightings_are_single_fits(self, births):
        X, y, _ = births
        rng = np.random.default_rng(0)
        Z = np.column_stack(((X - X.mean()) / X.std(), np.ones(len(X))))
        weights = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), size=5)
        found = logistic_fits(Z, y.astype(float), weights)
        assert found.converged.all()
        for theta, own in zip(found.theta, weights, strict=True):
            model = LogisticRegression(tol=1e-14).fit(Z[:, :-1], y, own)
            assert_allclose(theta, np.append(model.coef_[0], model.intercept_), rtol=1e-7, atol=1e-9)

    def test_separated_weightings_do_not_converge(self):
        Z, y = np.column_stack((np.arange(6.0), np.ones(6))), np.array([0.0, 1, 0, 1, 0, 1])
        found = logistic_fits(Z, y, np.array([np.ones(6), [1, 0, 1, 1, 0, 1]]))
        assert found.converged.tolist() == [True, False]

    @pytest.mark.parametrize("classes", [2, 3])
    def test_weights_are_repeated_rows(self, births, classes):
        X, low, race = births
        X = X[["age", "lwt"]]
        y = low if classes == 2 else race
        model = LinearDiscriminantAnalysis().fit(X, y)
        codes, weight = np.searchsorted(model.classes_, y), 1.0 + np.arange(len(y)) % 3
        posterior = model.predict_proba(X)
        whole = performance(posterior, codes, weight)
        again = np.repeat(np.arange(len(y)), weight.astype(int))
        repeated = performance(posterior[again], codes[again], np.ones(len(again)))
        assert set(whole) == set(repeated)
        for name, value in whole.items():
            assert value == pytest.approx(repeated[name], rel=1e-9), name

    @pytest.mark.parametrize("classes", [2, 3])
    def test_models_measured_together_are_models_measured_alone(self, classes):
        rng = np.random.default_rng(classes)
        posterior = np.round(rng.dirichlet(np.ones(classes), size=(70, 40)), 1)  # with ties, zeros and ones
        codes, weights = rng.integers(classes, size=40), rng.poisson(1.0, size=(70, 2, 40)) * rng.random(40)
        weights[0, 0] = codes == 0
        together = performances(posterior, codes, weights)
        for m, s in [(0, 0), (0, 1), (1, 0), (69, 1)]:
            kept = weights[m, s] > 0
            alone = performance(posterior[m][kept], codes[kept], weights[m, s][kept])
            assert_allclose([values[m, s] for values in together.values()], list(alone.values()), rtol=1e-9)
            for k in range(classes):
                ranked = auc(rank(codes[kept] == k, posterior[m][kept][:, k], weights[m, s][kept]))
                assert_allclose(aucs(codes == k, posterior[[m], :, k], weights[[m]])[0, s], ranked, rtol=1e-12)

    def test_lines_fitted_together_are_those_of_statsmodels(self):
        rng = np.random.default_rng(7)
        x = 3 * rng.normal(size=(20, 60)) * np.linspace(0.01, 4, 20)[:, None]
        y, weights = rng.random(60) < expit(x[10]), rng.poisson(1.0, size=(20, 60)).astype(float)
        x[0] = np.where(y, 1.0, -1.0) * np.arange(1, 61)  # separated
        x[1] = 2.0  # no slope
        found = fitted_lines(x, y, weights)
        assert np.isnan(found[:2]).all()
        for own, weight, line in zip(x[2:], weights[2:], found[2:], strict=True):
            theirs = sm.GLM(y.astype(float), sm.add_constant(own), sm.families.Binomial(), freq_weights=weight)
            assert_allclose(line, theirs.fit(tol=1e-14).params, rtol=1e-6, atol=1e-9)

    def test_a_model_of_maximum_likelihood_is_calibrated_on_its_rows(self, births):
        X, y, _ = births
        found = validate(LogisticRegression(tol=1e-14), X, y, ValidationOptions(resamples=10))
        assert_allclose([found["calibration_slope"].apparent, found["calibration_slope"].training], 1, rtol=1e-6)
        assert abs(found["calibration_intercept"].apparent) < 1e-6

    def test_noise_has_no_discrimination_after_correction(self):
        rng = np.random.default_rng(4)
        X, y = rng.normal(size=(150, 8)), np.arange(150) % 2
        found = validate(LogisticRegression(), X, y, ValidationOptions(resamples=200))
        assert found["auc"].apparent > 0.6
        assert abs(found["auc"].corrected - 0.5) < 0.06
        assert found["calibration_slope"].corrected < 0.5
        assert found["auc"].low < found["auc"].corrected < found["auc"].high

    def test_several_classes_have_measures_of_each_and_their_mean(self, births):
        X, _, race = births
        X = X[["age", "lwt"]]
        found = validate(LinearDiscriminantAnalysis(), X, race, ValidationOptions(resamples=10))
        of_classes = [found[f"auc[{label}]"].apparent for label in ("black", "other", "white")]
        assert found["auc"].apparent == pytest.approx(np.mean(of_classes))
        assert len(found.rows) == 8 + 9

    def test_tuning_is_repeated_in_every_resample(self, births):
        X, y, _ = births
        found = validate(LogisticRegressionCV(), X, y, ValidationOptions(resamples=5))
        assert found.n_resamples == 5
        assert found["log_loss"].test > found["log_loss"].training

    def test_groups_are_drawn_together(self, births):
        X, y, _ = births
        X, y, groups = np.repeat(X.to_numpy(), 5, axis=0), np.repeat(y, 5), np.repeat(np.arange(len(y)), 5)
        rows = validate(LogisticRegression(), X, y, ValidationOptions(resamples=60))["brier"]
        whole = validate(LogisticRegression(), X, y, ValidationOptions(resamples=60, groups=groups))["brier"]
        assert whole.high - whole.low > 1.5 * (rows.high - rows.low)
        assert abs(whole.optimism) > 2 * abs(rows.optimism)

    def test_cross_validation_by_the_same_call(self, births):
        X, y, _ = births
        found = validate(LogisticRegression(), X, y, ValidationOptions(method="cv", folds=5, repeats=2))
        assert (found.method, found.n_resamples, found.instability) == ("cv", 2, None)
        for row in found.rows:
            assert row.corrected == row.test
        assert found["auc"].low < found["auc"].corrected < found["auc"].high

    def test_threads_change_nothing(self, births):
        X, y, _ = births
        texts = {str(validate(Plain(), X, y, ValidationOptions(resamples=8, n_jobs=n))) for n in (1, 2)}
        assert len(texts) == 1


class TestInstability:
    def test_it_is_that_of_the_resampled_models(self, births):
        X, y, _ = births
        found = validate(
            LogisticRegression(tol=1e-14), X, y, ValidationOptions(resamples=np.array(R["rows"]))
        ).instability
        models = [LogisticRegression(tol=1e-14).fit(X.iloc[rows], y[rows]) for rows in np.array(R["rows"])]
        resampled = np.array([model.predict_proba(X)[:, 1] for model in models])
        assert_allclose(found.resampled, resampled, atol=1e-6)
        predicted = LogisticRegression(tol=1e-14).fit(X, y).predict(X)
        assert_allclose(found.changed, np.mean([model.predict(X) != predicted for model in models], axis=0))
        widths = np.diff(np.quantile(found.resampled, [0.025, 0.975], axis=0), axis=0)[0]
        assert found.least_stable(1)[0].row == widths.argmax()

    def test_the_text_has_every_measure_and_the_instability(self, births):
        X, y, _ = births
        text = str(validate(LogisticRegression(), X, y, ValidationOptions(resamples=10)))
        for word in ("AUC", "Brier score", "calibration slope", "instability", "10 resamples"):
            assert word in text


class TestRefusals:
    def test_resamples_that_fail_are_counted(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(30, 1))
        y = (np.arange(30) < 3).astype(int)
        found = validate(LogisticRegression(), X, y, ValidationOptions(resamples=60))
        assert found.n_resamples + sum(found.failed.values()) == 60
        assert sum(found.failed.values()) > 0
        assert "left out" in str(found)

    def test_when_nearly_all_fail(self):
        X, y = np.arange(12.0)[:, None], (np.arange(12) > 5).astype(int)
        with pytest.warns(SeparationWarning), pytest.raises(InputError, match="5 of 5"):
            validate(LogisticRegression(), X, y, ValidationOptions(resamples=5))

    @pytest.mark.parametrize(
        ("options", "name"),
        [
            ({"method": "jackknife"}, "method"),
            ({"resamples": 1}, "resamples"),
            ({"level": 0}, "level"),
            ({"method": "cv", "folds": 1}, "folds"),
            ({"method": "cv", "repeats": 0}, "repeats"),
        ],
    )
    def test_options(self, options, name):
        with pytest.raises(ParameterError, match=name):
            ValidationOptions(**options)

    @pytest.mark.parametrize(
        "options", [{"method": "cv", "resamples": 100}, {"method": "cv", "by": [1, 2]}, {"folds": 5}, {"repeats": 2}]
    )
    def test_options_of_the_other_method(self, options):
        with pytest.raises(ParameterError, match="not used with method="):
            ValidationOptions(**options)

    def test_rows_of_resamples_that_are_not_there(self, births):
        X, y, _ = births
        with pytest.raises(ParameterError, match="resamples"):
            validate(LogisticRegression(), X, y, ValidationOptions(resamples=[[0, 1, 500]]))

    def test_a_model_without_probabilities(self, births):
        X, y, _ = births
        with pytest.raises(ParameterError, match="Perceptron"):
            validate(Perceptron(), X, y)


class TestIntervals:
    def test_a_range_has_the_deviation_of_the_optimism_of_logarithms(self, births):
        X, y, _ = births
        rows = np.random.default_rng(5).integers(len(y), size=(30, len(y)))
        found = validate(LogisticRegression(), X, y, ValidationOptions(resamples=rows, inner_resamples=0))["brier"]
        weights = np.stack([np.bincount(own, minlength=len(y)) for own in rows])
        Z = np.column_stack((np.ones(len(y)), (X - X.mean()) / X.std()))
        pairs = []
        for theta, own in zip(logistic_fits(Z, y.astype(float), weights).theta, weights, strict=True):
            p = 1 / (1 + np.exp(-Z @ theta))
            posterior = np.column_stack((1 - p, p))
            pairs.append([performance(posterior, y, weight)["brier"] for weight in (own, np.ones(len(y)))])
        training, test = np.array(pairs).T
        errors = np.log(training - np.mean(training - test)) - np.log(test)
        assert found.is_range
        half_width = 1.959964 * np.std(errors, ddof=1)
        assert_allclose(np.log([found.low, found.high]) - np.log(found.corrected), [-half_width, half_width], rtol=1e-5)

    def test_ordered_classes_have_their_measures(self, births):
        X, _, race = births
        model = OrdinalLogisticRegression(classes_order=["white", "other", "black"])
        X, weight = X[["age", "lwt"]].to_numpy(), 1.0 + np.arange(len(race)) % 2
        rows = np.random.default_rng(0).integers(len(race), size=(10, len(race)))
        found = validate(model, X, race, ValidationOptions(resamples=rows, sample_weight=weight, by=X[:, 0] > 22))
        expected = evaluate(model.fit(X, race, sample_weight=weight), X, race, sample_weight=weight)
        for name in ("rps", "somers_d"):
            assert found[name].apparent == pytest.approx(expected[name, "overall"].value, rel=1e-12)
            assert -1 < found[name].low < found[name].corrected < found[name].high < 1
            assert len(found.by_group.of(name)) == 2
        assert "ranked probability score" in str(found.by_group)
        drawn = [
            evaluate(model.fit(X[own], race[own], sample_weight=weight[own]), X, race, sample_weight=weight)
            for own in rows
        ]
        test = np.mean([one["somers_d", "overall"].value for one in drawn])
        assert found["somers_d"].test == pytest.approx(test, rel=1e-6)
        folds = validate(model, X, race, ValidationOptions(method="cv", folds=3, repeats=1))
        assert folds["rps"].test > folds["rps"].apparent

    def test_perfect_resamples_do_not_lead_out_of_the_range(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(30, 1))
        found = validate(LogisticRegression(alpha=0.01), X, X[:, 0] > 0, ValidationOptions(resamples=30))
        assert found["accuracy"].high == 1
        assert found["accuracy"].low < found["accuracy"].corrected

    @pytest.mark.parametrize("inner", [0, 3])
    def test_no_end_is_out_of_the_range_of_its_measure(self, inner):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(60, 2))
        y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
        model = LogisticRegression(alpha=1e-3)
        found = validate(model, X, y, ValidationOptions(resamples=30, inner_resamples=inner, level=0.9999))
        for row in found.rows:
            if row.measure in ("auc", "accuracy", "balanced_accuracy"):
                assert 0 < row.low < row.corrected < row.high < 1
            if row.measure in ("brier", "log_loss"):
                assert 0 < row.low < row.corrected < row.high
        assert found["r2"].low < found["r2"].corrected < found["r2"].high < 1

    def test_inner_resamples_make_a_confidence_interval_of_enough_rows(self, births):
        X, y, _ = births
        found = validate(LogisticRegression(), X, y, ValidationOptions(resamples=40))
        assert not any(found[name].is_range for name in ("auc", "brier", "calibration_slope"))
        assert found["r2"].is_range
        assert found["auc"].low < found["auc"].corrected < found["auc"].high
        few = validate(
            LogisticRegression(), X.iloc[:90], y[:90] | (np.arange(90) < 15), ValidationOptions(resamples=40)
        )
        assert all(row.is_range for row in few.rows)

    @pytest.mark.parametrize(("n", "is_range"), [(98, True), (100, False)])
    def test_the_brier_score_needs_fifty_rows_of_the_rarer_class_for_a_confidence_interval(self, n, is_range):
        X = np.random.default_rng(3).normal(size=(n, 2))
        found = validate(LogisticRegression(), X, np.arange(n) % 2, ValidationOptions(resamples=10))
        assert found["brier"].is_range == is_range
        assert not found["auc"].is_range

    def test_other_models_have_inner_resamples_on_request(self, births):
        X, y, _ = births
        options = {"resamples": 10, "random_state": 1}
        without = validate(LinearDiscriminantAnalysis(), X, y, ValidationOptions(**options))
        found = validate(LinearDiscriminantAnalysis(), X, y, ValidationOptions(inner_resamples=4, **options))
        assert found["auc"].corrected == without["auc"].corrected
        assert found["auc"].low != without["auc"].low
        assert found["auc"].is_range

    def test_frequencies_are_copies_in_inner_resamples_too(self):
        units = Units(np.array([2.0, 0.0, 1.0]), None, np.ones(3))
        drawn = units.drawn(np.array([3.0, 0.0, 0.0]), 5, np.random.default_rng(0))
        assert drawn.tolist() == [[3.0, 0.0, 0.0]] * 5
        clusters = Units(np.ones(2), np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0]))
        assert clusters.weights(np.array([[2.0, 0.0]])).tolist() == [[2.0, 4.0, 0.0]]


class TestCurve:
    def test_the_corrected_curve_is_flatter_than_the_apparent_one(self, births):
        X, y, _ = births
        noise = pd.DataFrame(np.random.default_rng(0).normal(size=(len(y), 8)), index=X.index).add_prefix("x")
        wide = X.join(noise)
        found = validate(LogisticRegression(), wide, y, ValidationOptions(resamples=60, curve=True, inner_resamples=0))
        apparent = calibration_curve(y, LogisticRegression().fit(wide, y).predict_proba(wide)[:, 1])
        assert_allclose(found.curve.predicted, apparent.predicted, rtol=1e-6)
        change = found.curve.observed - apparent.observed
        assert change[25] > 0 > change[75]
        assert found.curve.integrated_index > apparent.integrated_index
        assert "corrected calibration curve" in str(found)

    def test_it_is_of_two_classes_and_of_the_bootstrap(self, births):
        X, _, race = births
        with pytest.raises(ParameterError, match="two classes"):
            validate(LinearDiscriminantAnalysis(), X[["age"]], race, ValidationOptions(resamples=5, curve=True))
        with pytest.raises(ParameterError, match="bootstrap"):
            ValidationOptions(method="cv", curve=True)


class TestGroups:
    def test_corrected_measures_are_apparent_less_the_optimism_of_the_group(self, births):
        X, y, race = births
        rows = np.random.default_rng(5).integers(len(y), size=(20, len(y)))
        model = LinearDiscriminantAnalysis()
        found = validate(model, X[["age", "lwt"]], y, ValidationOptions(resamples=rows, by=race, by_name="race"))
        own = race == "white"
        fitted = LinearDiscriminantAnalysis().fit(X[["age", "lwt"]], y)
        optimism = []
        for one in rows:
            weight = np.bincount(one, minlength=len(y)).astype(float)
            there = weight > 0
            again = LinearDiscriminantAnalysis().fit(X[["age", "lwt"]][there], y[there], weight[there])
            p = again.predict_proba(X[["age", "lwt"]])
            optimism.append(
                performance(p[own], y[own], weight[own])["brier"]
                - performance(p[own], y[own], np.ones(own.sum()))["brier"]
            )
        apparent = performance(fitted.predict_proba(X[["age", "lwt"]])[own], y[own], np.ones(own.sum()))["brier"]
        (row,) = [row for row in found.by_group.of("brier") if row.group == "white"]
        assert row.value == pytest.approx(apparent - np.mean(optimism), rel=1e-8)
        assert row.difference == pytest.approx(row.value - row.rest)
        assert row.is_range

    def test_a_group_of_one_class_is_named(self, births):
        X, y, _ = births
        only = np.where((np.arange(len(y)) < 40) & (y == 0), "a", "b")
        found = validate(LogisticRegression(), X, y, ValidationOptions(resamples=10, by=only, inner_resamples=0))
        assert "class 0 only" in found.by_group.notes[0]
        assert np.isnan(found.by_group.of("auc")[0].value)


def test_aliased_columns_do_not_change_the_validation(births):
    X, y, _ = births
    more = X.assign(race_black=1 - X.race_other - X.race_white, one=3.0)
    options = ValidationOptions(resamples=20, inner_resamples=0)
    with pytest.warns(AliasWarning):
        found = validate(LogisticRegression(), more, y, options)
    expected = validate(LogisticRegression(), X, y, options)
    assert_allclose(numbers(found, "brier"), numbers(expected, "brier"), rtol=1e-8)
    assert found.failed == expected.failed


def test_predictions_that_separate_the_outcomes_have_no_curve_but_a_validation():
    x = np.r_[np.arange(40), np.arange(36, 76)].astype(float)[:, None]
    y = np.repeat([0, 1], 40)
    apart = np.where(y[:, None] == 1, x + 100, x)
    options = ValidationOptions(resamples=10, inner_resamples=0, curve=True)
    found = validate(LinearDiscriminantAnalysis(), apart, y, options)
    assert found.curve is None
    assert found.notes[0].startswith("no calibration curve")
    assert "note: no calibration curve" in str(found)
    assert found["brier"].corrected == pytest.approx(0, abs=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["bootstrap", "cv"])
def test_ordinal_models_get_the_order_of_the_categories(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    codes, order = np.digitize(X[:, 0] + rng.logistic(size=200), [-1, 1]), ["low", "medium", "high"]
    labels = pd.Series(pd.Categorical.from_codes(codes, order, ordered=True))
    own = {"resamples": 5} if method == "bootstrap" else {"folds": 3, "repeats": 2}
    options = ValidationOptions(method=method, **own)
    found = validate(OrdinalLogisticRegression(), X, labels, options)
    expected = validate(OrdinalLogisticRegression(), X, codes, options)
    for own, other in zip(found.rows, expected.rows, strict=True):
        if "[" not in own.measure:
            assert_allclose([own.apparent], [other.apparent], rtol=1e-7)
    # Folds and resamples depend on the sorted classes.
    assert found["log_loss"].corrected == pytest.approx(expected["log_loss"].corrected, abs=0.05)


def test_the_number_of_resamples_may_be_a_numpy_integer(births):
    X, y, _ = births
    found = validate(LogisticRegression(), X, y, ValidationOptions(resamples=np.int64(5), inner_resamples=0))
    assert found.n_resamples == 5


def test_weights_need_a_model_that_supports_them(births):
    X, y, _ = births
    with pytest.raises(WeightError):
        validate(make_pipeline(LogisticRegression()), X, y, ValidationOptions(sample_weight=np.full(len(y), 0.5)))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        OrdinalLogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), OrdinalLogisticRegression()),
    ],
)
def test_separated_resamples_of_several_classes_are_left_out(model):
    """Their probabilities are 0 or 1, so that a single row makes the log-loss arbitrarily large."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    y, X = np.digitize(x + 0.15 * rng.logistic(size=30), [-0.6, 0.6]), x[:, None]
    found = validate(model, X, y, ValidationOptions(resamples=40))
    (reason,) = found.failed
    assert "separation" in reason
    assert found.n_resamples + found.failed[reason] == 40
    assert found["log_loss"].test < 5


def test_inner_resamples_are_those_of_a_bootstrap():
    with pytest.raises(ParameterError, match="bootstrap"):
        ValidationOptions(method="cv", inner_resamples=5)
