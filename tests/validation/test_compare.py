"""Comparisons: Holm's rule, McNemar's test, what is recommended, and its summary in words."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from tests.helpers import normal_classes

from discriminant import (
    DecisionClassifier,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from discriminant.errors import DegenerateDataError, InputError, LabelError, ParameterError
from discriminant.estimators.registry import new_model
from discriminant.evaluation import Estimate
from discriminant.evaluation.intervals import holm
from discriminant.evaluation.sampling import SamplingDesign
from discriminant.validation import comparison, selection
from discriminant.validation.comparison import compare
from discriminant.validation.cross_validation import corrected_mean, cross_validate
from discriminant.validation.default_models import default_models
from discriminant.validation.held_out import (
    AreaOfRows,
    HeldOutRows,
    MeanOfRows,
    MeasureOfTable,
    ShareOfRows,
    TableMeasure,
)
from discriminant.validation.paired import mcnemar
from discriminant.validation.selection import selection_bias

MODELS = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis(), "NB": GaussianNB()}


@pytest.fixture(scope="module")
def found():
    X, y = normal_classes(300)
    return compare(MODELS, X, y, cv=5, repeats=2, metric="accuracy")


def test_holms_rule_is_that_of_statsmodels(found):
    for with_baseline in (False, True):  # two questions: which is better, and does it know anything
        pairs = [pair for pair in found.differences if pair.involves("baseline") == with_baseline]
        assert len(pairs) == 3
        expected = multipletests([pair.p_value for pair in pairs], method="holm")[1]
        np.testing.assert_allclose([pair.p_adjusted for pair in pairs], expected, rtol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_for_any_p_values(p_values):
    np.testing.assert_allclose(holm(np.array(p_values)), multipletests(p_values, method="holm")[1], rtol=1e-12)


def test_the_same_folds_for_all_and_for_cross_validation(found):
    X, y = normal_classes(300)
    alone = cross_validate({"QDA": MODELS["QDA"]}, X, y, cv=5, repeats=2)
    np.testing.assert_array_equal(found.cross_validation.scores("QDA"), alone.scores("QDA"))
    dummy = cross_validate({"d": DummyClassifier(strategy="prior")}, X, y, cv=5, repeats=2)
    np.testing.assert_array_equal(found.cross_validation.scores("baseline"), dummy.scores("d"))


def test_statement_names_what_is_best_and_what_is_beaten(found):
    assert found.best == found.ranking[0]
    assert found.not_significantly_different[0] == found.best
    assert found.ranking[-1] == "baseline"
    assert "baseline" not in found.not_significantly_different
    assert "better than" in found.sentence
    assert "the baseline" in found.sentence
    assert found.sentence in str(found)


def masked_problem():
    """Three classes in a row, of which least squares never sees the one in the middle."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 150)
    return (rng.normal(size=(450, 2)) * 0.8 + 3 * y[:, None]), y


def test_a_true_difference_is_significant():
    X, y = masked_problem()
    found = compare({"LDA": LinearDiscriminantAnalysis(), "LS": LeastSquaresClassifier()}, X, y)
    assert found.not_significantly_different == ["LDA"]
    assert found.sentence.startswith("LDA has the best accuracy (")
    assert "It is better than LS (LDA by" in found.sentence
    assert found.is_real("LS", "LDA")


def test_equal_models_are_not_significantly_different():
    X, y = masked_problem()
    found = compare({"a": LinearDiscriminantAnalysis(), "b": LinearDiscriminantAnalysis()}, X, y, metric="accuracy")
    pair = found.difference("a", "b")
    assert (pair.difference, pair.p_value) == (0.0, 1.0)
    assert found.sentence.startswith("a and b are not significantly different (difference 0.0 points;")


def test_models_of_noise_are_not_recommended():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 60])
    found = compare({"NB": GaussianNB(), "LDA": LinearDiscriminantAnalysis()}, rng.normal(size=(150, 3)), y)
    assert "baseline" in found.not_significantly_different
    assert found.recommended is None
    assert found.to_dict()["recommended"] is None
    assert found.sentence.endswith("No model is significantly better than the baseline: none is recommended.")


def rare_class(shift=0.0):
    """1,000 rows, of which 60 are of the rare class; ``shift`` is the distance of the classes in one column."""
    rng = np.random.default_rng(3)
    y = np.where(np.arange(1000) < 60, "Yes", "No")
    return rng.normal(size=(1000, 3)) + shift * (y == "Yes")[:, None] * [1, 0, 0], y


def test_the_log_loss_sees_a_rare_class_that_accuracy_does_not():
    X, y = rare_class(shift=1.0)
    found = compare({"LDA": LinearDiscriminantAnalysis(), "NB": GaussianNB()}, X, y)
    assert found.metric == "log_loss"
    assert "because" not in found.sentence
    assert found.recommended == found.best != "baseline"
    assert found.rarely_found in str(found)
    assert "'Yes'" in found.rarely_found
    assert found.cross_validation.mean("baseline", "balanced_accuracy") == 0.5
    by_accuracy = compare({"LDA": LinearDiscriminantAnalysis()}, X, y, metric="accuracy")
    assert by_accuracy.recommended is None


def test_models_without_probabilities_are_compared_by_a_measure_that_sees_the_rare_class():
    X, y = rare_class(shift=1.0)
    models = {"LDA": LinearDiscriminantAnalysis(), "LS": LeastSquaresClassifier()}
    found = compare(models, X, y)
    assert found.metric == "auc"
    assert "because LS does not predict probabilities, and 'No' is 94.0 % of the rows" in found.sentence
    assert np.isnan(found.cross_validation.mean("LS", "log_loss"))
    even = compare(models, X[:120], y[:120])
    assert even.metric == "accuracy"
    assert even.sentence.endswith("compared by accuracy, not by log-loss, because LS does not predict probabilities.")


def test_models_without_scores_are_compared_by_accuracy_all_the_same():
    class Silent(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_, self.most_ = np.unique(y), "No"
            return self

        def predict(self, X):
            return np.full(len(X), self.most_)

    found = compare({"silent": Silent(), "LDA": LinearDiscriminantAnalysis()}, *rare_class(shift=1.0))
    assert found.metric == "accuracy"
    assert "silent does not predict probabilities (nor scores, which an AUC requires)" in found.sentence


@pytest.mark.parametrize("metric", ["balanced_accuracy", "f1"])
@pytest.mark.parametrize("grouped", [False, True])
def test_measures_of_the_table_are_those_of_an_evaluation(metric, grouped):
    X, y = normal_classes(240)
    groups = np.arange(240) // 4 if grouped else None
    found = compare(MODELS, X, y, cv=5, metric=metric, groups=groups)
    expected = {"balanced_accuracy": balanced_accuracy_score, "f1": partial(f1_score, average="macro")}[metric]
    for name in MODELS:
        predicted = found.cross_validation.predictions(name)
        assert found.cross_validation.mean(name, metric) == pytest.approx(expected(y, predicted), rel=1e-12)
        evaluated = found.cross_validation.evaluation(name)[metric, "macro" if metric == "f1" else "overall"]
        assert tuple(found.cross_validation.interval(name, metric)) == pytest.approx(
            (evaluated.low, evaluated.high), abs=0.01
        )
    assert list(found.ranking) == sorted(found.ranking, key=lambda name: -found.cross_validation.mean(name, metric))
    pair = found.difference("LDA", "baseline")
    assert pair.low < pair.difference < pair.high
    assert pair.p_value < 1e-6


def test_the_test_of_balanced_accuracies_holds_its_level():
    """Two rules that are equally good in each class are significantly different in one of twenty samples."""
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        y = (rng.random(200) < 0.2).astype(int)
        codes = [np.where(rng.random(200) < np.where(y == 1, 0.6, 0.8), y, 1 - y) for _ in range(2)]
        rows = HeldOutRows(np.zeros(200, int), np.arange(200), y, SamplingDesign(200), 1.0)
        one, other = (MeasureOfTable(rows, code, TableMeasure("balanced_accuracy", "overall"), 2) for code in codes)
        found.append(one.minus(other, 0.95).p_value)
    assert 0.03 <= np.mean(np.array(found) < 0.05) <= 0.075


def test_auc_is_reported_if_the_metric_is_insensitive_to_a_rare_class():
    models = {"LDA": LinearDiscriminantAnalysis(), "NB": GaussianNB()}
    found = compare(models, *rare_class(1.0), metric="accuracy")
    assert found.recommended is None
    auc = found.cross_validation.estimate("LDA", "auc")
    (sentence,) = found.better_by_auc()
    assert f"{auc.value:.3f}" in sentence
    assert sentence in found.sentence
    assert compare(models, *rare_class(), metric="accuracy").better_by_auc() == []


def test_nothing_is_recommended_where_nothing_is_learned():
    found = compare({"LDA": LinearDiscriminantAnalysis(), "NB": GaussianNB()}, *rare_class())
    assert found.recommended is None
    assert "none is recommended" in found.sentence


def test_a_model_better_than_the_baseline_is_recommended_without_differences_among_models(found):
    assert found.recommended == found.best
    assert "recommended" not in found.sentence


def test_p_values_are_never_printed_as_zero(found):
    assert "< 0.0001" in str(found)
    assert not any(line.endswith(" 0.0000") for line in str(found).splitlines())
    assert "p < 0.0001" in str(found.difference("LDA", "baseline"))


@pytest.mark.parametrize("metric", ["log_loss", "brier", "error_rate"])
def test_less_is_better_where_it_is(metric):
    X, y = masked_problem()
    found = compare(MODELS, X, y, metric=metric)
    means = {name: found.cross_validation.mean(name, metric) for name in found.cross_validation.models}
    assert found.best == min(means, key=means.get)
    assert list(found.ranking) == sorted(means, key=means.get)


def test_costs_are_what_is_compared_if_given():
    X, y = masked_problem()
    found = compare(MODELS, X, y, costs=np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    assert found.metric == "cost"


@pytest.mark.parametrize("pair", [False, True])
def test_hold_out_is_judged_by_mcnemar_after_fitting_to_all_others(pair):
    X, y = normal_classes(300)
    held = np.arange(300) >= 220
    holdout = (X[held], y[held]) if pair else 0.25
    rows = (X[~held], y[~held]) if pair else (X, y)
    found = compare(MODELS, *rows, holdout=holdout, random_state=4)
    test = found.difference("LDA", "NB").holdout
    if pair:
        first, second = (MODELS[name].fit(*rows).predict(X[held]) for name in ("LDA", "NB"))
        assert test == mcnemar(y[held], first, second)
    assert test.n_rows == (80 if pair else 75)
    assert "McNemar" in str(found)
    assert {"holdout_p_value"} <= set(found.to_frame().columns)


def test_out_of_fold_predictions_and_posteriors_are_kept(found):
    X, y = normal_classes(300)
    alone = cross_validate(MODELS, X, y, cv=5, repeats=2, keep="posteriors")
    for name in MODELS:
        np.testing.assert_array_equal(found.cross_validation.predictions(name), alone.predictions(name))
        np.testing.assert_array_equal(found.cross_validation.posteriors(name), alone.posteriors(name))


def test_beyond_the_bound_posteriors_of_the_best_model_alone_are_kept(found, monkeypatch):
    X, y = normal_classes(300)
    monkeypatch.setattr(comparison, "_MAX_KEPT_POSTERIORS", 2 * 300 * 3)
    few = compare(MODELS, X, y, cv=5, repeats=2).cross_validation
    np.testing.assert_array_equal(few.posteriors(found.best), found.cross_validation.posteriors(found.best))
    for name in found.ranking[1:]:
        np.testing.assert_array_equal(few.predictions(name), found.cross_validation.predictions(name))
        with pytest.raises(ParameterError, match="posteriors"):
            few.posteriors(name)
    monkeypatch.setattr(comparison, "_MAX_KEPT_POSTERIORS", 10)
    assert all(kept.posterior is None for kept in compare(MODELS, X, y).cross_validation.out_of_fold.values())


def test_splits_that_overlap_keep_nothing():
    X, y = normal_classes(90)
    assert not compare(MODELS, X, y, ShuffleSplit(4, random_state=0)).cross_validation.out_of_fold


def constant_in_a_class():
    X, y = normal_classes(120, K=2)
    X[y == 1, 0] = 5.0
    return X, y


def test_models_that_cannot_be_fitted_are_left_out_with_the_reason():
    X, y = constant_in_a_class()
    found = compare({**MODELS, "tree": DecisionTreeClassifier(random_state=0)}, X, y, on_failure="leave_out")
    with pytest.raises(DegenerateDataError) as refused:
        QuadraticDiscriminantAnalysis().fit(X, y)
    assert {name: str(reason) for name, reason in found.left_out.items()}["QDA"] == str(refused.value)
    assert set(found.ranking) == {*MODELS, "tree", "baseline"} - set(found.left_out)
    assert found.to_dict()["left_out"]["QDA"] == str(refused.value)
    alone = compare({name: model for name, model in MODELS.items() if name not in found.left_out}, X, y)
    np.testing.assert_array_equal(found.cross_validation.scores("LDA"), alone.cross_validation.scores("LDA"))


def test_models_that_cannot_be_fitted_are_errors_by_default():
    X, y = constant_in_a_class()
    with pytest.raises(DegenerateDataError):
        compare(MODELS, X, y)
    with pytest.raises(DegenerateDataError):
        compare({"QDA": QuadraticDiscriminantAnalysis()}, X, y, on_failure="leave_out")


def test_models_are_those_that_suit_the_table_if_none_are_given():
    X, y = normal_classes(120)
    assert set(compare(None, X, y).ranking) == {
        "ridge", "lasso", "lda", "rda", "naive-bayes-calibrated", "svm-calibrated",
        "least-squares-calibrated", "auto", "baseline",
    }  # fmt: skip
    suited, left_out = default_models(sparse.csr_array(X), 3)
    assert set(suited) == {"ridge", "lasso", "svm-calibrated"}
    assert left_out.keys() == {"lda", "rda", "naive-bayes-calibrated", "least-squares-calibrated", "auto"}
    suited, left_out = default_models(np.empty((6000, 16)), 26)
    assert {"lasso", "auto"} <= left_out.keys()
    assert "auto" in default_models(np.empty((53_940, 23)), 5)[0]
    assert not default_models(np.empty((62, 2000)), 2)[1]
    assert "2,000 columns" in str(default_models(np.empty((1500, 2000)), 2)[1]["rda"])


def test_models_by_name_are_those_of_fit_and_have_probabilities():
    for name, model in default_models(np.empty((100, 5)), 2)[0].items():
        assert repr(model) == repr(new_model(name))
        assert hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    "metric", ["log_loss", *(pytest.param(m, marks=pytest.mark.slow) for m in ("accuracy", "auc"))]
)
def test_the_corrected_figure_of_the_best_of_equal_models_is_nearly_unbiased(metric):
    """Of ten models that are equally good on 60 rows the best seems better than it is."""
    rng, plain, corrected, covered, truth = np.random.default_rng(0), [], [], [], {}
    for _ in range(150):
        y = np.arange(60) % 2
        rows = HeldOutRows(np.zeros(60, int), np.arange(60), y, SamplingDesign(60), 1.0)
        signal = rng.normal(size=(60, 10)) + 1.2 * y[:, None]
        score = 1.2 * signal - 0.72  # the log-odds of each model
        if metric == "accuracy":
            measures = [ShareOfRows(rows, (own > 0) == y) for own in score.T]
        elif metric == "log_loss":
            measures = [MeanOfRows(rows, np.logaddexp(0, np.where(y == 1, -own, own)), None) for own in score.T]
        else:
            measures = [AreaOfRows(rows, own[:, None], (1,)) for own in score.T]
        sign = -1.0 if metric == "log_loss" else 1.0
        best = max(measures, key=lambda one: sign * one.value)
        plain.append(best.value)
        interval = best.interval(0.95)
        shift = -sign * selection_bias(measures, sign > 0, (interval.high - interval.low) / 2 / 1.96)
        corrected.append(best.value + shift)
        covered.append((best.interval(0.95).low + shift, best.interval(0.95).high + shift))
    far = rng.normal(size=400_000)
    truth["accuracy"] = stats.norm.cdf(0.6)
    truth["log_loss"] = np.logaddexp(0, -(1.2 * (far + 1.2) - 0.72)).mean()
    truth["auc"] = stats.norm.cdf(1.2 / np.sqrt(2))
    bias, left = (abs(np.mean(found) - truth[metric]) for found in (plain, corrected))
    assert bias > 0.04
    assert left < 0.2 * bias
    low, high = np.array(covered).T
    assert np.mean((low <= truth[metric]) & (truth[metric] <= high)) > 0.93


def test_a_clear_winner_is_not_corrected_nor_a_single_model():
    X, y = masked_problem()
    weak = {f"flat {k}": LinearDiscriminantAnalysis(priors=[0.98, 0.01, 0.01]) for k in range(3)}
    found = compare({"LDA": LinearDiscriminantAnalysis(), **weak}, X, y).chosen
    assert found.value == found.plain
    alone = compare({"LDA": LinearDiscriminantAnalysis()}, X, y).chosen
    assert (alone.value, alone.n_models) == (alone.plain, 1)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_correction_is_reported(grouped):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    X[:, 0] += y
    guesses = {f"guess {k}": DummyClassifier(strategy="uniform", random_state=k) for k in range(6)}
    groups = np.arange(60) // 3 if grouped else None
    found = compare(guesses, X, y, metric="accuracy", cv=5, repeats=2, groups=groups)
    assert found.chosen.value < found.chosen.plain == found.cross_validation.mean(found.best_model)
    assert found.chosen.low < found.chosen.value < found.chosen.high
    assert "6 models" in str(found)
    assert found.to_dict()["chosen"]["sentence"] == str(found.chosen)
    assert found.chosen == compare(guesses, X, y, metric="accuracy", cv=5, repeats=2, groups=groups).chosen


def test_correction_of_many_rows_is_that_of_parts_of_them(monkeypatch):
    rng = np.random.default_rng(1)
    rows = HeldOutRows(np.zeros(3000, int), np.arange(3000), np.zeros(3000, int), SamplingDesign(3000), 1.0)
    measures = [MeanOfRows(rows, rng.normal(size=3000), None) for _ in range(8)]
    in_parts = selection_bias(measures, True, np.inf)
    monkeypatch.setattr(selection, "_MAX_RESAMPLED_UNITS", 3000)
    assert in_parts == pytest.approx(selection_bias(measures, True, np.inf), rel=0.25)


def heavy_tailed_losses():
    """The losses of two models in 87 rows: of one 0.07 throughout, of the other 0.02 and 52 in one row."""
    rows = HeldOutRows(np.zeros(87, int), np.arange(87), np.zeros(87, int), SamplingDesign(87), 1.0)
    steady = np.full(87, 0.07) + np.linspace(-0.02, 0.02, 87)
    return [MeanOfRows(rows, steady, None), MeanOfRows(rows, np.r_[52.0, np.full(86, 0.02)], None)]


def test_one_row_of_another_model_does_not_decide_on_the_correction():
    steady, other = heavy_tailed_losses()
    error = float(steady.values.std() / np.sqrt(87))
    assert 0 <= selection_bias([steady, other], False, error) <= 0.6 * error
    assert selection_bias([steady, other], False, np.inf) > 0.3  # what it is without a bound


@pytest.mark.parametrize("n", [20, 40, 87])
def test_corrected_figures_lie_within_reason_on_small_tables(n):
    """Between the figure before the correction and its upper limit, also with unpenalised models of many columns."""
    for seed in range(8):
        rng = np.random.default_rng([seed, n])
        X, y = rng.normal(size=(n, 6)) * rng.exponential(size=(n, 1)) ** 2, np.arange(n) % 2
        X[:, 0] += 2 * y
        models = {f"{a:g}": LogisticRegression(alpha=a) for a in (1e-4, 0.01, 1.0)}
        chosen = compare(models | {"NB": GaussianNB(), "LDA": LinearDiscriminantAnalysis()}, X, y).chosen
        assert chosen.low <= chosen.plain <= chosen.value <= chosen.high


def test_the_interval_contains_what_training_rows_change():
    """On noise, where losses hardly vary by row but fits do; with much signal there is little to add."""
    rng, y = np.random.default_rng(5), np.arange(200) % 2
    noise = rng.normal(size=(200, 20))
    models = {"LDA": LinearDiscriminantAnalysis(), "NB": GaussianNB()}
    on_noise, with_signal = (compare(models, X, y) for X in (noise, noise[:, :2] + 1.5 * y[:, None]))
    assert 1.15 < on_noise.inflation < 1.8
    assert 1.0 < with_signal.inflation < 1.15
    own = on_noise.cross_validation.interval(on_noise.best_model, "log_loss")
    assert on_noise.chosen.high - on_noise.chosen.low > 1.2 * (own.high - own.low)


def test_measures_that_are_no_means_of_rows_have_no_interval_of_the_chosen_model(found):
    X, y = normal_classes(300)
    chosen = compare(MODELS, X, y, cv=5, metric="auc").chosen
    assert np.isnan([chosen.low, chosen.high]).all()
    assert np.isfinite(chosen.value)
    assert not np.isnan([found.chosen.low, found.chosen.high]).any()


def test_models_within_the_margin_are_equivalent():
    X, y = normal_classes(300)
    near = {"LDA": LinearDiscriminantAnalysis(), "shrunken": LinearDiscriminantAnalysis(shrinkage=0.01)}
    found = compare(near, X, y, margin=0.05)
    other = next(name for name in near if name != found.best)
    assert found.equivalent == [other]
    pair = found.difference(found.best, other)
    assert max(abs(pair.low), abs(pair.high)) <= 0.05
    assert found.to_dict()["equivalent"] == [other]
    assert "equivalent" in found.sentence
    assert replace(found, margin=max(abs(pair.low), abs(pair.high)) * 0.99).equivalent == []
    assert replace(found, margin=None).equivalent == []
    with pytest.raises(ParameterError):
        compare(near, X, y, margin=-0.01)


def test_the_pool_takes_part_and_is_tuned_within_each_training_part():
    rng, y = np.random.default_rng(3), np.arange(90) % 2
    X = rng.normal(size=(90, 3))
    X[:, 0] = np.where(y == 1, np.sign(X[:, 0]) * 2 + X[:, 0], X[:, 0])  # a class on both sides of the other
    assert "auto" in default_models(X, 2)[0]
    found = compare({name: new_model(name) for name in ("lda", "ridge", "auto")}, X, y, cv=3)
    assert found.recommended == "auto"
    alone = cross_validate({"auto": new_model("auto")}, X, y, cv=3, metrics="log_loss")
    np.testing.assert_array_equal(found.cross_validation.scores("auto", "log_loss"), alone.scores("auto", "log_loss"))
    pool = compare(new_model("auto"), X, y, cv=3).chosen
    assert pool.low < pool.value < pool.high


def test_models_with_probabilities_decide_by_costs():
    X, y = masked_problem()
    X, y = X[y < 2], y[y < 2]
    costs = np.array([[0.0, 1.0], [8.0, 0.0]])
    lda = LinearDiscriminantAnalysis()
    models = {"LDA": lda, "logistic": LogisticRegression(alpha=0.01), "LS": LeastSquaresClassifier()}
    models |= {"itself": DecisionClassifier(lda, costs), "likeliest": DecisionClassifier(lda)}
    found = compare(models, X, y, costs=costs, holdout=0.2).cross_validation
    assert found.decided_by_costs == ("LDA", "logistic", "baseline")
    np.testing.assert_array_equal(found.predictions("LDA"), found.predictions("itself"))
    assert found.mean("LDA", "cost") < found.mean("likeliest", "cost")
    assert set(found.predictions("baseline")) == {1}  # the rarer error is the dearer one
    own = compare({"LS": models["LS"], "LDA": lda}, X, y, holdout=0.2).cross_validation
    np.testing.assert_array_equal(found.predictions("LS"), own.predictions("LS"))
    for crossed in (found, own):  # costs that come later decide as well
        evaluation = crossed.evaluation("LDA", costs)
        np.testing.assert_array_equal(evaluation.confusion.counts, found.confusion("LDA").counts)
        assert any("minimum expected cost" in note.lower() for note in evaluation.notes)


def test_exports(found):
    exported = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert exported["best"] == found.best
    assert exported["sentence"] == found.sentence
    assert len(exported["differences"]) == len(found.to_frame()) == 6


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"models": {"baseline": GaussianNB()}}, ParameterError, "'baseline'"),
        (
            {"models": LeastSquaresClassifier(), "metric": "log_loss"},
            ParameterError,
            "'LeastSquaresClassifier' is not available",
        ),
        ({"metric": "speed"}, ParameterError, "got 'speed'"),
        ({"holdout": 2}, ParameterError, "holdout must be a share"),
        ({"holdout": 0.001}, LabelError, "0.001"),
        ({"level": 95}, ParameterError, "level must be"),
        ({"keep": None}, ParameterError, "keep must be 'predictions' or 'posteriors', got None"),
        ({"on_failure": "ignore"}, ParameterError, "on_failure must be 'raise' or 'leave_out', got 'ignore'"),
        ({"groups": [1, 2]}, InputError, "groups must have one entry"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, error, words):
    X, y = normal_classes(90)
    with pytest.raises(error, match=words):
        compare(**{"models": MODELS, "X": X, "y": y, **given})


@given(first_only=st.integers(0, 30), second_only=st.integers(0, 30), both=st.integers(0, 20), none=st.integers(1, 20))
def test_mcnemar_is_the_binomial_test(first_only, second_only, both, none):
    truth = np.zeros(first_only + second_only + both + none, dtype=int)
    right = np.repeat([[0, 1], [1, 0], [0, 0], [1, 1]], [first_only, second_only, both, none], axis=0)
    exact = mcnemar(truth, right[:, 0], right[:, 1], method="exact")
    assert (exact.first_only, exact.second_only, exact.n_rows) == (first_only, second_only, len(truth))
    table = [[both, first_only], [second_only, none]]
    if first_only + second_only:
        binomial = stats.binomtest(first_only, first_only + second_only)
        assert exact.p_value == pytest.approx(binomial.pvalue, rel=1e-9)
        assert exact.p_value == pytest.approx(float(statsmodels_mcnemar(table, exact=True).pvalue), rel=1e-9)
    tosses, fewer = first_only + second_only, min(first_only, second_only)
    middle = mcnemar(truth, right[:, 0], right[:, 1])
    expected = 2 * stats.binom.cdf(fewer, tosses, 0.5) - stats.binom.pmf(fewer, tosses, 0.5)
    assert middle.p_value == pytest.approx(min(expected, 1.0), rel=1e-9)
    assert middle.p_value <= exact.p_value + 1e-12
    assert middle.low <= middle.difference * (middle.n_rows / (middle.n_rows + 2)) <= middle.high
    swapped = mcnemar(truth, right[:, 1], right[:, 0])
    assert swapped.p_value == pytest.approx(middle.p_value, rel=1e-12)
    assert (swapped.low, swapped.high) == pytest.approx((-middle.high, -middle.low), rel=1e-12)


def test_mcnemars_interval_covers_the_difference():
    rng = np.random.default_rng(0)
    cells = rng.multinomial(120, [0.5, 0.22, 0.12, 0.16], size=400)
    covered = 0
    for both, first_only, second_only, none in cells:
        right = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [both, first_only, second_only, none], axis=0)
        test = mcnemar(np.zeros(120), right[:, 0], right[:, 1])
        covered += test.low <= 0.10 <= test.high
    assert 0.92 <= covered / 400 <= 0.98


def test_mcnemar_in_words_and_what_it_refuses():
    test = mcnemar(["a", "b", "b"], ["a", "b", "a"], ["b", "b", "a"])
    assert (test.first_only, test.second_only, test.n_rows) == (1, 0, 3)
    assert all(part in str(test) for part in ("first: 1", "second: 0", "rows: 3"))
    with pytest.raises(InputError):
        mcnemar([0, 1], [0, 1], [0])
    with pytest.raises(ParameterError, match="method"):
        mcnemar([0, 1], [0, 1], [0, 0], method="chi2")


def test_corrected_mean_of_hand_figures():
    estimate = corrected_mean(np.array([0.8, 0.9, 1.0]), 0.5)
    assert estimate.value == pytest.approx(0.9)
    assert estimate.standard_error == pytest.approx(np.sqrt((1 / 3 + 1 / 2) * 0.01))
    assert estimate.degrees == 2
    partly = corrected_mean(np.array([0.8, np.nan, 1.0]), 0.5)
    assert (partly.value, partly.degrees) == (pytest.approx(0.9), 1)
    assert np.isnan(corrected_mean(np.array([0.8]), 0.5).interval().low)


def test_constant_scores_have_no_variance_and_no_doubt():
    certain = corrected_mean(np.full(7, 0.1), 0.2)
    assert (certain.standard_error, certain.p_value) == (0.0, 0.0)
    assert Estimate.by_standard_error(0.0, 0.0, 5).p_value == 1.0


def test_ordinary_t_where_nothing_is_shared():
    values = np.random.default_rng(0).normal(size=12)
    assert corrected_mean(values, 0.0).p_value == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("table", "exact", "mid_p"),
    [((1, 1, 7, 12), 0.070, 0.039), ((59, 6, 16, 80), 0.052, 0.035)],
    ids=["airways", "complications"],
)
def test_mcnemar_on_the_examples_of_fagerland_lydersen_and_laake(table, exact, mid_p):
    """BMC Medical Research Methodology 13:91 (2013), the two examples of paired proportions with their p-values."""
    first, second = np.repeat([0, 0, 1, 1], table), np.repeat([0, 1, 0, 1], table)
    y = np.zeros(len(first), dtype=int)
    assert mcnemar(y, first, second, method="exact").p_value == pytest.approx(exact, abs=6e-4)
    assert mcnemar(y, first, second).p_value == pytest.approx(mid_p, abs=6e-4)


def test_mcnemar_takes_labels_beside_abstentions():
    """A list of numbers and a word would become an array of text, in which no number is right."""
    found = mcnemar([0, 1, 1, 0], [0, 1, "abstain", 0], [0, 1, 1, 1])
    assert (found.first_only, found.second_only) == (1, 1)


def test_an_adjusted_p_value_is_shown_with_an_interval_that_excludes_zero(found):
    pair = found.differences[0]
    doubtful = replace(pair, low=0.01, high=0.2, difference=0.1, p_value=0.03, p_adjusted=0.09, is_range=False)
    assert found._words(doubtful).endswith("1.0 to 20.0; adjusted for 3 pairs: p = 0.0900")
    for p, adjusted in ((0.03, 0.04), (0.2, 0.6)):
        assert "adjusted" not in found._words(replace(doubtful, p_value=p, p_adjusted=adjusted))


def test_naive_bayes_of_a_comparison_is_not_overconfident_with_dependent_columns():
    X, y = normal_classes(120)
    repeated = np.hstack([X + 0.1 * np.random.default_rng(j).normal(size=X.shape) for j in range(40)])
    found = compare({name: new_model(name) for name in ("naive-bayes", "naive-bayes-calibrated")}, repeated, y)
    plain, calibrated, baseline = (
        found.cross_validation.mean(name, "log_loss") for name in ("naive-bayes", "naive-bayes-calibrated", "baseline")
    )
    assert calibrated < 0.5 * min(plain, baseline)
