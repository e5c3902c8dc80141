"""Calibration bins, score histograms and risk against coverage: laws, merging, agreement with direct computation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

from discriminant import LogisticRegression
from discriminant.errors import InputError, ParameterError
from discriminant.evaluation import CalibrationBins, ScoreHistogram, calibration_line, risk_coverage
from discriminant.evaluation.sampling import Mean


def outcomes(n=2000, seed=0, sharper=1.0):
    """Outcomes, and predictions whose log-odds are ``sharper`` times the true ones; weights are whole numbers."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n)
    return rng.random(n) < p, expit(sharper * logit(p)), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("n_bins", [5, 10, 20])
def test_bins_of_equal_width_are_scikit_learns(n_bins):
    y, p, _ = outcomes()
    p = np.floor(p * 1000) / 1000 + 5e-4  # away from the ends of fine bins, where rounding decides
    found = CalibrationBins.of(y, p).rebinned(n_bins, by="width")
    observed, predicted = calibration_curve(y, p, n_bins=n_bins)
    np.testing.assert_allclose(found.observed, observed, rtol=1e-12)
    np.testing.assert_allclose(found.predicted, predicted, rtol=1e-12)


def test_errors_are_those_of_the_bins():
    y, p, weight = outcomes(sharper=2)
    fine = CalibrationBins.of(y, p, weight)
    coarse = fine.rebinned(10)
    distance = np.abs(coarse.predicted - coarse.observed)
    np.testing.assert_allclose(fine.ece(10), np.average(distance, weights=coarse.weight), rtol=1e-12)
    np.testing.assert_allclose(fine.mce(10), distance.max(), rtol=1e-12)
    assert CalibrationBins.of(*outcomes(50_000)[:2]).ece() < 0.015 < fine.ece()


def test_quantile_bins_hold_about_equally_many_rows():
    y, p, _ = outcomes(20_000)
    found = CalibrationBins.of(y, p).rebinned(10)
    assert found.weight.sum() == 20_000
    np.testing.assert_allclose(found.weight, 2000, atol=120)
    assert (np.diff(found.edges) > 0).all()


@pytest.mark.parametrize("n_bins", [None, 7])
def test_the_parts_of_the_brier_score_add_up(n_bins):
    y, p, weight = outcomes()
    found = CalibrationBins.of(y, p, weight).brier(n_bins)
    np.testing.assert_allclose(found.score, brier_score_loss(y, p, sample_weight=weight), rtol=1e-12)
    total = found.reliability - found.resolution + found.uncertainty + found.within
    np.testing.assert_allclose(total, found.score, rtol=1e-12)
    share = np.average(y, weights=weight)
    np.testing.assert_allclose(found.uncertainty, share * (1 - share), rtol=1e-12)


def test_constant_predictions_resolve_nothing():
    y, _, _ = outcomes()
    found = CalibrationBins.of(y, np.full(len(y), y.mean())).brier()
    np.testing.assert_allclose([found.reliability, found.resolution, found.within], 0, atol=1e-12)


def test_parts_of_bins_merge_to_the_whole():
    y, p, weight = outcomes()
    whole = CalibrationBins.of(y, p, weight)
    parts = [CalibrationBins.of(y[i::3], p[i::3], weight[i::3]) for i in range(3)]
    np.testing.assert_allclose((parts[0] + parts[1] + parts[2]).sums, whole.sums, rtol=1e-12)
    np.testing.assert_allclose(parts[0].merge(parts[1]).merge(parts[2]).sums, whole.sums, rtol=1e-12)
    repeated = CalibrationBins.of(np.repeat(y, weight.astype(int)), np.repeat(p, weight.astype(int)))
    np.testing.assert_allclose(repeated.sums, whole.sums, rtol=1e-12)


def test_bins_are_shown():
    found = CalibrationBins.of([0, 1, 1], [0.0, 0.5, 1.0])
    assert "predicted" in str(found)
    assert found.to_frame()["rows"].sum() == 3
    assert found.to_dict()["observed"] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: CalibrationBins.of([0, 1], [0.5, 1.2]), InputError, "row 1 has 1.2"),
        (lambda: CalibrationBins.of([0, 1], [np.nan, 0.5]), InputError, "row 0 has nan"),
        (lambda: CalibrationBins.of([0, 1], [0.5]), InputError, "outcome has 2, probability has 1"),
        (lambda: CalibrationBins.of([0, 1], [[0.5, 0.5]]), InputError, "one number for each row"),
        (lambda: CalibrationBins.of([0, 1], [0.5, 0.5]).rebinned(0), ParameterError, "n_bins"),
        (lambda: CalibrationBins.of([0, 1], [0.5, 0.5]).rebinned(2, "rows"), ParameterError, "'rows'"),
        (lambda: CalibrationBins.of([0], [0.5]).rebinned(2).update([0], [0.5]), ParameterError, "fine bins"),
        (lambda: CalibrationBins() + CalibrationBins().rebinned(2), ParameterError, "different limits"),
        (lambda: ScoreHistogram().update([0, 1], [0.5, 1.5]), InputError, "row 1 has 1.5"),
        (lambda: ScoreHistogram() + ScoreHistogram(n_bins=3), ParameterError, "different bins"),
        (lambda: ScoreHistogram(low=2, high=1), ParameterError, "high"),
        (lambda: ScoreHistogram(scale="cubic"), ParameterError, "'cubic'"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_line_is_a_logistic_regression(weighted):
    y, p, weight = outcomes(sharper=2)
    weight = weight if weighted else None
    found = calibration_line(y, p, weight)
    model = LogisticRegression().fit(logit(p)[:, None], y, weight)
    rows = {row.term: row for row in model.summary().rows}
    np.testing.assert_allclose(found.slope, model.coef_[0, 0], rtol=1e-6)
    errors = [row.std_error for row in rows.values()]
    np.testing.assert_allclose(sorted([found.slope_error, found.intercept_error]), sorted(errors), rtol=1e-5)
    assert 0.4 < found.slope < 0.6


@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_in_the_large_is_the_intercept_at_slope_1(weighted):
    """A logistic regression of the intercept alone, with the predicted log-odds as an offset (rms::val.prob)."""
    y, p, weight = outcomes(sharper=2)
    weight = weight if weighted else np.ones(len(p))
    found = calibration_line(y, p, weight)
    shifted = expit(logit(p) + found.in_the_large)
    np.testing.assert_allclose(weight @ shifted, weight @ y, rtol=1e-9)
    np.testing.assert_allclose(found.in_the_large_error, (weight @ (shifted * (1 - shifted))) ** -0.5, rtol=1e-9)
    assert calibration_line([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]).in_the_large == pytest.approx(0, abs=1e-9)
    assert np.isnan(calibration_line([1, 1], [0.5, 0.7]).in_the_large)
    assert "in the large" in str(found)


def test_errors_of_the_calibration_line_are_those_of_a_sandwich_for_groups_and_importances():
    y, p, _ = outcomes(sharper=2)
    rng = np.random.default_rng(3)
    groups, weight = rng.integers(0, len(y) // 5, len(y)), rng.lognormal(5, 1, len(y))
    model = LogisticRegression().fit(logit(p)[:, None], y)
    rows = model.summary(covariance="CR1", clusters=groups).rows
    found = calibration_line(y, p, groups=groups)
    np.testing.assert_allclose([found.intercept_error, found.slope_error], [r.std_error for r in rows], rtol=1e-5)
    rows = LogisticRegression().fit(logit(p)[:, None], y, weight).summary(covariance="HC0").rows
    expected = np.array([row.std_error for row in rows]) * np.sqrt(len(y) / (len(y) - 1))
    found, scaled = calibration_line(y, p, weight), calibration_line(y, p, weight / 100)
    np.testing.assert_allclose([found.intercept_error, found.slope_error], expected, rtol=1e-5)
    assert (scaled.slope_error, scaled.in_the_large_error) == pytest.approx(
        (found.slope_error, found.in_the_large_error), rel=1e-6
    )


def test_there_is_no_calibration_line_of_separated_or_constant_probabilities():
    assert np.isnan(calibration_line([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]).slope)
    assert np.isnan(calibration_line([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5]).slope)
    assert np.isnan(calibration_line([1, 1], [0.5, 0.7]).slope)
    assert np.isfinite(calibration_line([0, 1, 0, 1, 1], [0.0, 1.0, 1.0, 0.0, 0.5]).slope)


@pytest.mark.parametrize("n_bins", [10, 300, 16_384])
def test_the_auc_of_a_histogram_is_within_its_error(n_bins):
    y, p, _ = outcomes(sharper=3)
    found = ScoreHistogram(n_bins=n_bins).update(y, p)
    assert abs(found.auc - roc_auc_score(y, p)) <= found.auc_error + 1e-12
    assert found.auc_error < 6 / n_bins


def test_the_curve_of_a_histogram_is_exact_at_the_ends_of_bins():
    y, p, _ = outcomes()
    curve = ScoreHistogram(n_bins=50).update(y, p).roc
    for threshold, fpr, tpr in zip(curve.thresholds, curve.fpr, curve.tpr, strict=True):
        np.testing.assert_allclose([fpr, tpr], [(p[~y] >= threshold).mean(), (p[y] >= threshold).mean()], rtol=1e-12)


def test_linear_histograms_take_any_scores():
    y, p, weight = outcomes()
    scores = 100 * p
    found = ScoreHistogram(20, 80, 4000, "linear").update(y, scores, weight)
    clipped = np.clip(scores, 20, 80)
    np.testing.assert_allclose(found.auc, roc_auc_score(y, clipped, sample_weight=weight), atol=found.auc_error)


def test_parts_of_histograms_merge_to_the_whole():
    y, p, weight = outcomes()
    whole = ScoreHistogram().update(y, p, weight)
    parts = [ScoreHistogram().update(y[i::2], p[i::2], weight[i::2]) for i in range(2)]
    np.testing.assert_array_equal((parts[0] + parts[1]).counts, whole.counts)
    assert "AUC" in repr(whole)


def test_risk_against_coverage_by_definition():
    rng = np.random.default_rng(0)
    P = rng.multinomial(8, np.ones(3) / 3, 200) / 8
    y, weight = rng.integers(0, 3, 200), rng.integers(1, 4, 200).astype(float)
    curve = risk_coverage(y, P, sample_weight=weight)
    certainty, wrong = P.max(axis=1), P.argmax(axis=1) != y
    for threshold, coverage, risk in zip(curve.thresholds, curve.coverage, curve.risk, strict=True):
        decided = certainty >= threshold
        np.testing.assert_allclose(coverage, weight[decided].sum() / weight.sum(), rtol=1e-12)
        np.testing.assert_allclose(risk, np.average(wrong[decided], weights=weight[decided]), rtol=1e-12)
    assert curve.risk_at(1.0) == curve.risk[-1]
    assert curve.risk_at(float(curve.coverage[2])) == curve.risk[2]
    assert curve.coverage_at(1.0) == 1.0
    assert curve.coverage_at(0.0) == pytest.approx(max([0.0, *curve.coverage[curve.risk == 0]]))
    assert 0 < curve.area < 1
    assert list(curve.to_frame().columns) == ["threshold", "coverage", "risk"]


def test_certain_rows_that_are_right_lower_the_risk():
    rng = np.random.default_rng(0)
    p = rng.random(5000)
    y = (rng.random(5000) < p).astype(int)
    curve = risk_coverage(y, np.column_stack((1 - p, p)))
    assert curve.risk_at(0.2) < curve.risk_at(0.6) < curve.risk_at(1.0)
    with pytest.raises(ParameterError, match="coverage"):
        curve.risk_at(0)


NO_OUTCOMES = {
    "signs": ([-1, 1, -1, 1], "row 0 has -1"),
    "codes": ([1, 2, 1, 2], "row 1 has 2"),
    "words": (["no", "yes", "no", "yes"], "row 0 has 'no'"),
    "missing": ([1.0, np.nan, 0.0, 1.0], "row 1 has nan"),
    "none": ([True, False, None, True], "row 2 has None"),
    "table": ([[1], [0], [0], [1]], "shape"),
}


@pytest.mark.parametrize("case", NO_OUTCOMES)
@pytest.mark.parametrize(
    "use",
    [CalibrationBins.of, calibration_line, lambda *given: ScoreHistogram().update(*given)],
    ids=["bins", "line", "histogram"],
)
def test_invalid_outcomes_are_refused(use, case):
    """-1, 2 and 'no' are all true to Python: calibration would be that of an outcome that always occurs."""
    outcome, words = NO_OUTCOMES[case]
    with pytest.raises(InputError, match=words):
        use(outcome, [0.1, 0.9, 0.2, 0.8])


@pytest.mark.parametrize("kind", [bool, int, float, np.uint8, object])
def test_outcomes_may_be_ones_and_zeros_of_any_type(kind):
    y, p, _ = outcomes(200)
    np.testing.assert_array_equal(CalibrationBins.of(y.astype(kind), p).sums, CalibrationBins.of(y, p).sums)


def test_rows_without_weight_do_not_make_outcomes_overlap():
    """Separated outcomes have no line, whatever stands in rows that do not count."""
    found = calibration_line([0, 0, 1, 1, 0], [0.1, 0.3, 0.6, 0.8, 0.9], sample_weight=[1, 1, 1, 1, 0])
    assert np.isnan(found.slope)


def test_coarse_bins_end_where_they_end():
    found = CalibrationBins.of([0, 1], [0.05, 0.95]).rebinned(10, by="width")
    np.testing.assert_allclose(found.low, [0, 0.9], atol=1e-12)
    np.testing.assert_allclose(found.high, [0.1, 1], atol=1e-12)
    assert found.to_dict()["high"] == pytest.approx([0.1, 1.0])
    y, p, _ = outcomes()
    for by in ("width", "quantile"):
        coarse = CalibrationBins.of(y, p).rebinned(7, by)
        assert (coarse.low <= coarse.predicted).all()
        assert (coarse.predicted <= coarse.high).all()
        assert (coarse.high[:-1] <= coarse.low[1:]).all()
    assert CalibrationBins().rebinned(3).low.size == 0


def test_bins_may_have_any_ends():
    y, p, weight = outcomes()
    edges = [0, 0.05, 0.3, 0.35, 1]
    found = CalibrationBins(edges).update(y, p, weight)
    for i, (low, high) in enumerate(pairwise(edges)):
        inside = (low <= p) & (p < high)
        np.testing.assert_allclose(found.weight[i], weight[inside].sum(), rtol=1e-12)
        np.testing.assert_allclose(found.predicted[i], np.average(p[inside], weights=weight[inside]), rtol=1e-12)
        np.testing.assert_allclose(found.observed[i], np.average(y[inside], weights=weight[inside]), rtol=1e-12)
    np.testing.assert_allclose(found.brier().score, brier_score_loss(y, p, sample_weight=weight), rtol=1e-12)
    distance = np.abs(found.predicted - found.observed)
    np.testing.assert_allclose(found.ece(None), np.average(distance, weights=found.weight), rtol=1e-12)
    np.testing.assert_allclose(found.mce(None), distance.max(), rtol=1e-12)
    halves = [CalibrationBins(edges).update(y[i::2], p[i::2], weight[i::2]) for i in range(2)]
    np.testing.assert_allclose((halves[0] + halves[1]).sums, found.sums, rtol=1e-12)
    uneven = np.sort(np.r_[0, np.random.default_rng(0).random(999), 1])  # as many as the fine ones, but others
    np.testing.assert_allclose(CalibrationBins(uneven).update(y, p).weight, np.histogram(p, uneven)[0])


def test_printed_errors_are_those_of_the_printed_bins():
    found = CalibrationBins([0, 0.1, 0.2, 1]).update([0, 1, 1, 0, 1], [0.05, 0.15, 0.6, 0.8, 0.9])
    assert f"error {found.ece(None):.4f} on average" in str(found)
    assert "these bins" in str(found)


@pytest.mark.parametrize("edges", [[0, 0.5], [0.1, 1], [0, 0.6, 0.5, 1], [0], [[0, 1]]])
def test_ends_that_are_none_are_refused(edges):
    with pytest.raises(ParameterError, match="edges"):
        CalibrationBins(edges)


def test_histograms_take_one_score_for_each_row():
    with pytest.raises(InputError):
        ScoreHistogram().update([0, 1], [[0.1, 0.9], [0.2, 0.8]])


@pytest.mark.parametrize("n_rows", [40, 200, 300, 1000])
def test_losses_that_are_all_alike_have_no_interval_but_themselves(n_rows):
    """What is expected of them cancels but for rounding, which was an interval of 0.66 to 0.69 for 200 rows."""
    losses = np.full(n_rows, np.log(2.0))
    expected = np.array([[np.sum(losses**power) for power in (1, 2, 3)]] * 2)
    np.testing.assert_allclose([*Mean.of(losses, expected=expected).interval(0.95)], np.log(2.0), rtol=1e-12)
