"""Measures of ordered classes: definitions, agreement with other packages, weights, and coverage of the intervals."""

import numpy as np
import pytest
from scipy.stats import somersd
from sklearn.metrics import cohen_kappa_score

from discriminant import (
    EvaluationOptions,
    Evaluator,
    LabelledPredictions,
    OrdinalLogisticRegression,
    evaluate,
    evaluation_of,
    open_dataset,
)
from discriminant.errors import LabelError, ParameterError
from discriminant.evaluation.ordinal import ordinal_measures

ORDER = ["low", "medium", "high"]
MEASURES = ["rps", "mean_absolute_error", "kappa_linear", "kappa_quadratic", "somers_d"]


def predictions(n=200, seed=0):
    """Codes by rank, and posteriors with columns by rank."""
    rng = np.random.default_rng(seed)
    eta = rng.normal(size=n)
    below = 1 / (1 + np.exp(-(np.array([-0.7, 0.8]) - eta[:, None])))
    posterior = np.diff(np.column_stack((np.zeros(n), below, np.ones(n))), axis=1)
    truth = (rng.random(n)[:, None] > np.cumsum(posterior, axis=1)[:, :-1]).sum(axis=1)
    return truth, posterior


def evaluated(truth, posterior, order=ORDER, **given):
    labels = np.array(ORDER)
    options = EvaluationOptions(classes_order=order)
    return evaluation_of(LabelledPredictions(labels[truth], posterior=posterior, classes=ORDER, **given), options)


def test_measures_agree_with_definitions_and_other_packages():
    truth, posterior = predictions()
    found, guess = evaluated(truth, posterior), posterior.argmax(axis=1)
    below = np.cumsum(posterior, axis=1)[:, :2]
    assert found["rps"].value == pytest.approx(np.mean((below - (truth[:, None] <= [0, 1])) ** 2))
    assert found["mean_absolute_error"].value == pytest.approx(np.abs(truth - guess).mean())
    for weights in ("linear", "quadratic"):
        expected = cohen_kappa_score(truth, guess, weights=weights)
        assert found[f"kappa_{weights}"].value == pytest.approx(expected)
    assert found["somers_d"].value == pytest.approx(somersd(truth, posterior @ [0, 1, 2]).statistic)


def test_intervals_contain_their_values():
    found = evaluated(*predictions())
    for name in MEASURES:
        assert found[name].low < found[name].value < found[name].high
    assert "ranked probability score" in str(found)


def test_reversed_order_changes_nothing():
    truth, posterior = predictions()
    found, other = evaluated(truth, posterior), evaluated(truth, posterior, ORDER[::-1])
    assert [found[name].value for name in MEASURES] == pytest.approx([other[name].value for name in MEASURES])


def test_whole_weights_are_repeated_rows():
    truth, posterior = predictions()
    weight = np.arange(200) % 3 + 1
    repeated = np.repeat(np.arange(200), weight)
    weighted = evaluated(truth, posterior, sample_weight=weight)
    expected = evaluated(truth[repeated], posterior[repeated])
    for name in MEASURES:
        one, other = weighted[name], expected[name]
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), rel=1e-9)


def test_clusters_of_equal_rows_have_wider_intervals():
    truth, posterior = predictions()
    twice = np.repeat(np.arange(200), 2)
    plain, by_groups = evaluated(truth, posterior), evaluated(truth[twice], posterior[twice], groups=twice)
    for name in MEASURES:
        ratio = (by_groups[name].high - by_groups[name].low) / (plain[name].high - plain[name].low)
        assert ratio == pytest.approx(1, abs=0.05)


def test_order_of_an_ordinal_model_is_used():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(ORDER)[np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1])]
    found = evaluate(OrdinalLogisticRegression(classes_order=ORDER).fit(X, y), X, y)
    assert found["kappa_quadratic"].value > found["kappa"].value


@pytest.mark.parametrize(("order", "error"), [(ORDER[:2], LabelError), ([*ORDER, "low"], ParameterError)])
def test_wrong_orders(order, error):
    with pytest.raises(error):
        evaluated(*predictions(), order=order)


def test_rejected_rows_have_no_distance():
    truth, posterior = predictions()
    options = EvaluationOptions(classes_order=ORDER, actions=["abstain"])
    guess = np.where(posterior.max(axis=1) > 0.5, np.array(ORDER)[posterior.argmax(axis=1)], "abstain")
    labels = np.array(ORDER)[truth]
    found = evaluation_of(LabelledPredictions(labels, guess, posterior, classes=ORDER), options)
    assert "rps" in found
    assert "kappa_quadratic" not in found


@pytest.mark.slow
def test_intervals_cover():
    """95 % intervals of 2,000 samples of 150 rows, against 2,000,000 rows; simulation error is 0.5 %."""
    expected = measured(*predictions(2_000_000, 1))
    covered = dict.fromkeys(MEASURES, 0)
    for seed in range(2_000):
        for name, (_, interval) in measured(*predictions(150, seed + 10)).items():
            covered[name] += interval.low <= expected[name][0] <= interval.high
    assert all(0.935 <= count / 2_000 <= 0.965 for count in covered.values()), covered


def measured(truth, posterior):
    """The measures alone, without the other measures of an evaluation."""
    labels = np.array(ORDER)
    given = LabelledPredictions(labels[truth], labels[posterior.argmax(axis=1)], posterior, classes=ORDER)
    return ordinal_measures(given.checked([]), ORDER, 0.95)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [30, 3_000])
def test_streamed_measures_are_those_of_rows_in_memory(n, weighted):
    truth, posterior = predictions(n)
    labels, weight = np.array(ORDER)[truth], np.arange(n) % 4 if weighted else None
    expected = evaluated(truth, posterior, sample_weight=weight)
    order = np.argsort(ORDER)
    parts = [Evaluator(ORDER, classes_order=ORDER) for _ in range(3)]
    for k, part in enumerate(parts):
        own = slice(k, None, 3)
        part.update(labels[own], posterior[own][:, order], sample_weight=None if weight is None else weight[own])
    stream = parts[0].merge(parts[1]).merge(parts[2])
    found = stream.result()
    for name in MEASURES:
        # Somers' D has ties within the bins of the expected ranks.
        error = stream.ordinal.somers_d_error if name == "somers_d" else 1e-12
        assert found[name].value == pytest.approx(expected[name].value, abs=error)
        wider = 1e-9 + 2 * (error if name == "somers_d" else 0)
        ends = expected[name].low, expected[name].high
        assert (found[name].low, found[name].high) == pytest.approx(ends, abs=wider)
    assert stream.ordinal.somers_d_error < 2e-4


def test_streamed_labels_without_probabilities_and_with_abstentions():
    truth, posterior = predictions()
    labels, guess = np.array(ORDER)[truth], np.array(ORDER)[posterior.argmax(axis=1)]
    found = Evaluator(ORDER, classes_order=ORDER).update(labels, predicted=guess).result()
    expected = evaluated(truth, posterior)
    for name in ("mean_absolute_error", "kappa_linear", "kappa_quadratic"):
        assert found[name].value == pytest.approx(expected[name].value)
    assert "rps" not in [row.metric for row in found.estimates]
    guess = np.where(np.arange(len(guess)) == 5, "abstain", guess)
    partial = Evaluator(ORDER, classes_order=ORDER).update(labels, predicted=guess).result()
    assert "kappa_linear" not in [row.metric for row in partial.estimates]


def test_evaluators_of_different_orders_are_not_merged():
    with pytest.raises(ParameterError):
        Evaluator(ORDER, classes_order=ORDER).merge(Evaluator(ORDER))
    with pytest.raises(LabelError):
        Evaluator(ORDER, classes_order=ORDER[:2])


def test_evaluation_of_a_dataset_has_measures_of_ordered_classes(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    y = np.array(ORDER)[np.digitize(X[:, 0] + rng.logistic(size=2_000), [-1, 1])]
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    dataset = open_dataset(tmp_path / "rows.parquet", target="y")
    model = OrdinalLogisticRegression(classes_order=ORDER).fit(dataset)
    found, expected = evaluate(model, dataset), evaluate(model, pd.DataFrame(X, columns=["a", "b"]), y)
    for name in MEASURES:
        assert found[name].value == pytest.approx(expected[name].value, abs=1e-4 if name == "somers_d" else 1e-9)
