"""What a sentence claims holds for the quantities that it is made of, whatever they are."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import cancer

from discriminant import GaussianNB, LinearDiscriminantAnalysis, LogisticRegression, compare
from discriminant.evaluation import EvaluationOptions, LabelledPredictions, evaluation_of
from discriminant.evaluation.confusion import ConfusionMatrix
from discriminant.evaluation.intervals import Estimate
from discriminant.evaluation.recalibration import CalibrationLine
from discriminant.report.page import measured, quoted
from discriminant.report.raster_page import lowest_accuracy_sentence
from discriminant.report.sentences import (
    FEW_ROWS,
    Standing,
    above_chance,
    accuracy_sentence,
    calibration_sentences,
    class_sentence,
    confidence_sentence,
    cost_sentence,
    error_sentence,
    evaluated_recommendation,
    few_rows_sentence,
    prevalence_sentence,
)
from discriminant.report.table_report import TableReport, answer_section
from discriminant.results import percent
from discriminant.tables.classes import imbalance_findings

SHARES = st.floats(0, 1)
LABELS = list("abcd")


@st.composite
def matrices(draw):
    """Confusion matrices of two to four classes, some of them perhaps without rows."""
    k = draw(st.integers(2, 4))
    counts = draw(st.lists(st.lists(st.integers(0, 50), min_size=k, max_size=k), min_size=k, max_size=k))
    found = np.array(counts)
    found[0, 0] += 1
    return ConfusionMatrix.from_counts(found, LABELS[:k])


@st.composite
def labels_and_predictions(draw):
    n = draw(st.integers(2, 60))
    truth = draw(st.lists(st.sampled_from(LABELS), min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1))
    return truth, draw(st.lists(st.sampled_from(sorted(set(truth))), min_size=n, max_size=n))


def estimate(value, low=math.nan, high=math.nan):
    return Estimate(value, low, high, 0.95, "")


@given(matrices())
def test_the_majority_class_has_the_largest_share_and_is_beaten_only_by_a_higher_accuracy(confusion):
    label, share = confusion.most_frequent
    rows = confusion.counts.sum(axis=1)
    assert share == max(rows) / rows.sum() == rows[confusion.classes.tolist().index(label)] / rows.sum()
    right = np.trace(confusion.counts) / rows.sum()
    said = accuracy_sentence("Accuracy of m", estimate(float(right)), (label, share))
    assert f"majority-class baseline (“{label}”): {percent(share)}." in said
    assert f"Accuracy of m: {percent(right)}; " in said
    assert ("no better than" in said) == (np.trace(confusion.counts) <= max(rows))


@given(matrices())
def test_the_hidden_class_has_the_lowest_recall_and_less_than_the_accuracy(confusion):
    label = confusion.hidden_class
    recall = dict(zip(confusion.classes.tolist(), confusion.recall.tolist(), strict=True))
    if label is not None:
        assert recall[label] == min(value for value in recall.values() if not math.isnan(value))
        assert recall[label] < confusion.overall("accuracy")


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=6).filter(any))
def test_imbalance_names_the_rarest_and_the_most_frequent_class(counts):
    classes = list(range(len(counts)))
    findings, shares = imbalance_findings(classes, counts), np.array(counts) / sum(counts)
    assert bool(findings) == (shares.min() < 0.2 / len(counts))
    for finding in findings:
        rare, rare_share, most, most_share = re.search(
            r": (\d+) has ([\d.]+ %) of the rows, (\d+) ([\d.]+ %)", str(finding.message)
        ).groups()
        assert counts[int(rare)] == min(counts)
        assert counts[int(most)] == max(counts)
        assert (rare_share, most_share) == (percent(shares.min()), percent(shares.max()))


@given(labels_and_predictions())
def test_the_answer_of_an_evaluation_states_its_figures(rows):
    truth, predicted = map(np.array, rows)
    data = TableReport(None, None, evaluation_of(LabelledPredictions(truth, predicted)))
    content = answer_section(data)
    right = np.mean(truth == predicted)
    assert f": {percent(right)} (" in content["bullets"][0]
    classes, n = np.unique(truth, return_counts=True)
    label = data.rare_class
    assert content["bullets"][1].startswith(f"Recall of “{label}” ({percent(np.mean(truth == label))} of the rows)")
    assert percent(np.mean(predicted[truth == label] == label)) in content["bullets"][1]
    if data.confusion.hidden_class is None and data.has_rare_class:
        assert n[classes.tolist().index(label)] == n.min()
    assert ("0 errors" in content["bullets"][2]) == (right == 1)
    usable = content["recommendation"].startswith("model is significantly better than chance")
    assert usable == bool(above_chance(data.evaluation))


@given(labels_and_predictions(), st.data())
def test_the_cheapest_single_answer_costs_least(rows, data):
    truth, predicted = map(np.array, rows)
    classes = sorted(set(truth))
    costs = {t: {a: data.draw(st.integers(0, 20)) if a != t else 0 for a in classes} for t in classes}
    found = evaluation_of(LabelledPredictions(truth, predicted), EvaluationOptions(costs=costs))
    means = {a: np.mean([costs[t][a] for t in truth]) for a in classes}
    answer, least = found.cheapest
    assert means[answer] == pytest.approx(min(means.values())) == pytest.approx(least)
    said = cost_sentence("Mean cost per row", found["cost"], found.cheapest, found.is_decided_by_costs)
    assert f"always {quoted(answer)}" in said
    assert "expected cost" not in said


@given(st.integers(0, 10_000))
def test_decisions_are_said_to_be_of_least_expected_cost_only_where_costs_decided(seed):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 2, 30), rng.random(30)
    y[:2] = 0, 1
    costs = [[0, 1], [rng.integers(2, 9), 0]]
    assert evaluation_of(LabelledPredictions(y, posterior=p), EvaluationOptions(costs=costs)).is_decided_by_costs
    assert not evaluation_of(
        LabelledPredictions(y, p > 0.5, p, classes=[0, 1]), EvaluationOptions(costs=costs)
    ).is_decided_by_costs
    assert not evaluation_of(LabelledPredictions(y, posterior=p)).is_decided_by_costs


@given(
    st.lists(st.sampled_from("pqr"), unique=True), st.booleans(), st.sampled_from([None, "p"]), st.booleans(), SHARES
)
def test_what_is_recommended_is_what_the_tests_of_pairs_found(others, beats, recommended, by_auc, recall):
    better, alike = tuple(others[::2]), tuple(others[1::2])
    known = "Yet p ranks better." if by_auc else ""
    standing = Standing("m", "log_loss", 0.95, 4, better, alike, beats, "m" if beats else recommended, known)
    said = standing.recommendation(("rare", recall))
    assert said.startswith("Use m.") == (beats and not better)
    assert said.startswith("Do not use") == (not beats and recommended is None)
    assert ("none is significantly better" in said) == (not beats and recommended is None and not by_auc)
    if beats and better:
        assert said.startswith(f"Use {better[0]} instead of m")
    for name in better:
        assert name in re.search(r"Significantly better than m .*?: (.*?)\.", standing.sentence)[1]
    for name in alike:
        assert name in re.search(r"Not significantly different from m: (.*?)\.", standing.sentence)[1]
    assert ("All other models are significantly worse" in standing.sentence) == (not others)
    assert (standing.against_baseline(("a", 0.7)) == "") == beats


def test_the_standing_of_each_model_is_that_of_the_comparison():
    X, y, _ = cancer()
    models = {"one": LinearDiscriminantAnalysis(), "same": LinearDiscriminantAnalysis(), "ml": LogisticRegression()}
    found = compare(models, X, y, cv=3)
    for name in models:
        standing = Standing.of(found, name)
        assert set(standing.alike) == {o for o in models if o != name and not found.is_real(o, name)}
        for other in standing.better:
            assert found.difference(other, name).p_adjusted < 0.05
            assert found.cross_validation.mean(other, "log_loss") < found.cross_validation.mean(name, "log_loss")


@given(st.floats(-5, 5), st.floats(0.01, 3), st.floats(-5, 5), st.floats(0.01, 3))
def test_calibration_is_called_wrong_only_where_it_differs_significantly(slope, slope_error, large, large_error):
    line = CalibrationLine(0.0, slope, 1.0, slope_error, large, large_error)
    of_slope, of_mean = calibration_sentences(line, "ill", 0.95)
    z_slope, z_mean = (slope - 1) / slope_error, large / large_error
    assert ("overconfident" in of_slope) == (z_slope < -1.959964)
    assert ("underconfident" in of_slope) == (z_slope > 1.959964)
    assert ("too high" in of_mean) == (z_mean < -1.959964)
    assert ("too low" in of_mean) == (z_mean > 1.959964)


@given(st.floats(-5, 5), st.floats(0.01, 3))
def test_probabilities_are_called_overconfident_only_with_a_slope_significantly_below_one(slope, error):
    said = confidence_sentence(CalibrationLine(0.0, slope, 1.0, error), "m", 0.95)
    z = (slope - 1) / error
    assert ("overconfident" in said) == (z < -1.959964)
    assert ("underconfident" in said) == (z > 1.959964)
    assert (said == "") == (abs(z) <= 1.959964)


def test_the_summary_warns_of_overconfident_probabilities():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    log_odds = 2 * y - 1 + rng.normal(size=2000)
    for factor in (2.0, 8.0):  # the true log-odds are twice the score
        p = 1 / (1 + np.exp(-factor * log_odds))
        data = TableReport(None, None, evaluation_of(LabelledPredictions(y, posterior=p)))
        assert ("significantly overconfident" in answer_section(data)["recommendation"]) == (factor == 8)


def test_calibration_without_errors_is_not_judged():
    assert confidence_sentence(CalibrationLine(math.nan, math.nan, math.nan, math.nan), "m", 0.95) == ""
    assert calibration_sentences(CalibrationLine(math.nan, math.nan, math.nan, math.nan), "ill", 0.95) == []


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 50), st.integers(0, 50))
def test_the_precision_at_the_present_share_is_that_of_the_matrix(hits, misses, alarms, rejections):
    n, others = hits + misses, alarms + rejections
    if others:
        said = prevalence_sentence("a", n / (n + others), hits / n, rejections / others)
        shown = float(re.search(r": ([\d.]+) % at", said)[1])
        assert shown == pytest.approx(100 * hits / (hits + alarms), abs=0.051)
        rarer = float(re.search(r", ([\d.]+) % at", said)[1])
        assert rarer <= shown
    assert "never predicted" in prevalence_sentence("a", 0.3, 0.0, 1.0)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=5))
def test_classes_of_few_rows_are_those_with_fewer(rows):
    said = few_rows_sentence(LABELS[: len(rows)] + ["e"] * (len(rows) > 4), rows)
    for label, n in zip([*LABELS, "e"], rows, strict=False):
        assert (f"“{label}” ({n})" in said) == (n < FEW_ROWS)


@given(SHARES, st.integers(0, 3))
def test_errors_are_none_only_where_there_are_none(rate, n_errors):
    said = error_sentence("m", rate, n_errors, "“a” predicted as “b”" if n_errors else None)
    assert ("0 errors" in said) == (n_errors == 0)
    assert ("most frequent error" in said) == (n_errors > 0)
    assert "never predicted" in class_sentence("a", 0.1, estimate(0.0), estimate(math.nan))


def test_scores_that_rank_rows_are_not_called_worthless_where_no_class_is_found():
    """Of a rare class no row is predicted, but the AUC is far above one half."""
    rng = np.random.default_rng(0)
    y = (np.arange(600) < 60).astype(int)
    p = 0.1 + 0.2 * (y + rng.normal(size=600) > 1)
    found = evaluation_of(LabelledPredictions(y, posterior=p))
    assert found["balanced_accuracy"].value == 0.5
    assert [one.metric for one in above_chance(found)] == ["auc"]
    assert "rank rows better than chance" in evaluated_recommendation("m", found, None)


@pytest.mark.parametrize("repeats", [1, 3])
def test_one_measure_has_one_value_in_the_report(repeats):
    """Tiles and sentences have the figures of the table of models, also over repeats."""
    X, y, _ = cancer()
    found = compare({"lda": LinearDiscriminantAnalysis(), "ml": LogisticRegression()}, X, y, cv=3, repeats=repeats)
    data = TableReport(found, (X, y))
    for metric in found.cross_validation.metrics:
        assert data.measure(metric).value == found.cross_validation.mean(data.winner, metric)
    content = answer_section(data)
    accuracy = found.cross_validation.mean(data.winner, "accuracy")
    assert percent(accuracy) in content["bullets"][0]
    assert ("first of 3 repeats" in data.evaluated_on) == (repeats == 3)


@pytest.mark.parametrize("metric", ["cost", "log_loss"])
def test_the_measure_that_ranks_the_models_leads_the_summary(metric):
    X, y, _ = cancer()
    costs = {"malignant": {"benign": 5.0}, "benign": {"malignant": 1.0}}
    models = {"lda": LinearDiscriminantAnalysis(), "ml": LogisticRegression()}
    found = compare(models, X, y, cv=3, metric=metric, costs=costs)
    content = answer_section(TableReport(found, (X, y), given_costs=costs))
    lead = "cost" if metric == "cost" else "accuracy"
    assert lead in content["bullets"][0]
    assert content["keys"][0]["metric"] == lead
    assert sum("Best model: " in bullet for bullet in content["bullets"]) == 1


def test_a_chosen_model_that_is_not_the_best_is_reported_as_chosen_and_the_best_one_recommended():
    X, y, _ = cancer()
    models = {"lda": LinearDiscriminantAnalysis(), "nb": GaussianNB(), "ml": LogisticRegression()}
    found = compare(models, X, y, cv=3)
    best = found.best_model
    for name in models:
        content = answer_section(TableReport(found, (X, y), model_name=name))
        assert (f"Best model: {name}." in content["bullets"][0]) == (name == best)
        assert (f"Chosen model: {name} (best: {best})." in content["bullets"][0]) == (name != best)
        assert content["recommendation"].startswith(f"Use {best}")
        if name != best:
            mean = measured("log_loss", found.cross_validation.mean(name, "log_loss"))
            assert f"{name} {mean})." in content["recommendation"]
            assert ("not significantly different" in content["recommendation"]) == (not found.is_real(name, best))


@given(st.lists(st.tuples(SHARES | st.just(math.nan), SHARES), min_size=2, max_size=4))
def test_the_lowest_accuracy_of_a_map_is_that_of_the_class_that_is_named(accuracies):
    producers, users = map(np.array, zip(*accuracies, strict=True))
    known = producers[~np.isnan(producers)]
    if not known.size:
        return
    told = lowest_accuracy_sentence(LABELS[: len(producers)], producers, users)
    assert percent(known.min()) in told
    named = [k for k, label in enumerate(LABELS[: len(producers)]) if quoted(label) in told]
    if percent(known.min()) == percent(known.max()):
        assert not named
    else:
        assert [producers[k] for k in named] == [known.min()]
        assert percent(users[named[0]]) in told
