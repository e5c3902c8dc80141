"""Curves and tables of evaluations: the numbers drawn are those of the evaluation."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pictures import legend, named, sound, subtitle, trees

from discriminant import LinearDiscriminantAnalysis
from discriminant.errors import InputError
from discriminant.evaluation import CalibrationBins, ConfusionMatrix, evaluate, roc, wilson_interval
from discriminant.evaluation.intervals import RANGE_MARK
from discriminant.figures import (
    calibration_curve,
    confusion,
    cost_curve,
    precision_recall_curve,
    risk_coverage,
    roc_curve,
)
from discriminant.figures.theme import thinned
from discriminant.results import percent


@pytest.fixture(params=[2, 3])
def evaluation(request):
    X, y = trees(request.param, n=200)
    return evaluate(LinearDiscriminantAnalysis().fit(X[::2], y[::2]), X[1::2], y[1::2])


def by_class(curves):
    return {curves.positive: curves} if hasattr(curves, "positive") else dict(curves)


def test_roc_curves_are_those_of_the_evaluation(evaluation):
    figure = sound(roc_curve(evaluation.roc))
    for label, curve in by_class(evaluation.roc).items():
        trace = named(figure, f"{label}: AUC")
        assert_array_equal(trace.x, curve.fpr)
        assert_array_equal(trace.y, curve.tpr)
        assert_array_equal(trace.customdata, curve.thresholds)
        found = curve.auc_interval()
        mark = RANGE_MARK if found.is_range else ""
        assert trace.name == f"{label}: AUC {curve.auc:.3f} ({found.low:.3f} to {found.high:.3f}){mark}"


def test_precision_recall_curves_are_those_of_the_evaluation(evaluation):
    figure = sound(precision_recall_curve(evaluation.roc, level=0.9))
    for label, curve in by_class(evaluation.roc).items():
        trace = named(figure, f"{label}: AP {curve.average_precision:.3f}")
        assert_array_equal(trace.x, curve.recall)
        assert_array_equal(trace.y, curve.precision)
        assert trace.line.shape == "vh"
        (share,) = [other.y[0] for other in figure.data if other.name == label]
        assert_allclose(share, curve.ranked.n_positive / 100)
        # The area below the steps is the average precision.
        assert_allclose(np.diff(trace.x) @ trace.y[1:], curve.average_precision)


def test_a_class_without_rows_has_no_curve_but_a_line_in_the_legend():
    X, y = trees(3)
    model = LinearDiscriminantAnalysis().fit(X, y)
    two = y != "cedar"
    found = evaluate(model, X[two], y[two])
    for figure in (roc_curve(found.roc), precision_recall_curve(found.roc)):
        assert any(name == "cedar: undefined, no row is of class 'cedar'" for name in legend(sound(figure)))
    one = y == "ash"
    nothing = roc(y[one], np.zeros(one.sum()), positive="ash", classes=["ash", "birch"])
    assert legend(sound(roc_curve(nothing)))[1:] == ["ash: undefined, every row is of class 'ash'"]
    figure = sound(cost_curve(nothing))
    assert not figure.data
    assert "every row is of class" in figure.layout.annotations[0].text.replace("<br>", " ")


def test_micro_averaged_curves_are_drawn_too():
    X, y = trees(3)
    found = evaluate(LinearDiscriminantAnalysis().fit(X, y), X, y)
    assert named(sound(roc_curve(found.roc.micro)), "all classes: AUC").y[-1] == 1


def test_long_curves_are_thinned_and_keep_their_course():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    curve = roc(y, y + rng.normal(size=len(y)))
    figure = sound(roc_curve(curve))
    trace = figure.data[1]
    assert len(trace.x) <= 1_001
    assert (trace.x[0], trace.y[0], trace.x[-1], trace.y[-1]) == (0, 0, 1, 1)
    assert_allclose(np.trapezoid(trace.y, trace.x), curve.auc, atol=1e-3)
    assert len(precision_recall_curve(curve).data[0].x) <= 1_001
    assert len(cost_curve(curve).data[0].x) <= 1_001


def test_thinning_keeps_short_lines_whole_and_flat_ones_ends():
    assert_array_equal(thinned(np.arange(5.0), np.arange(5.0), most=5), np.arange(5))
    assert_array_equal(thinned(np.zeros(9), np.zeros(9), most=5), [0, 8])
    assert len(thinned(np.arange(1e4), np.arange(1e4), most=50)) <= 50


@pytest.mark.parametrize("by", ["quantile", "width"])
def test_calibration_is_that_of_the_bins_with_wilsons_intervals(evaluation, by):
    figure = sound(calibration_curve(evaluation.calibration, n_bins=5, by=by))
    for label, bins in evaluation.calibration.items():
        coarse = bins.rebinned(5, by)
        trace = named(figure, str(label))
        assert_array_equal(trace.x, coarse.predicted)
        assert_array_equal(trace.y, coarse.observed)
        ends = [wilson_interval(share, n) for share, n in zip(coarse.observed, coarse.weight, strict=True)]
        assert_allclose(trace.y + trace.error_y.array, [end.high for end in ends])
        assert_allclose(trace.y - trace.error_y.arrayminus, [end.low for end in ends])
        (counts,) = [t for t in figure.data if t.name == trace.name and t.showlegend is False]
        assert_array_equal(counts.y, coarse.weight)


def test_calibration_of_one_outcome_and_of_empty_bins():
    figure = sound(calibration_curve(CalibrationBins.of([0, 1, 1], [0.2, 0.2, 0.9])))
    assert_allclose(named(figure, "outcome").x, [0.2, 0.9])
    assert len(named(sound(calibration_curve(CalibrationBins())), "outcome").x) == 0


def test_the_confusion_matrix_shows_counts_and_shares_of_the_truth(evaluation):
    matrix = evaluation.confusion
    figure = sound(confusion(matrix))
    (cells,) = figure.data
    assert_array_equal(cells.z, matrix.normalised("truth"))
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("Predicted class", "True class")
    assert list(figure.layout.yaxis.ticktext) == matrix.classes.tolist()
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    share = matrix.counts[0, 1] / matrix.counts[0].sum()
    assert cells.text[0][1] == f"{matrix.counts[0, 1]}<br>{100 * share:.1f} %"
    assert cells.customdata[0][1].startswith(f"true ash, predicted birch<br>{matrix.counts[0, 1]}<br>")


def test_a_confusion_matrix_with_abstaining_weights_and_a_class_without_rows():
    matrix = ConfusionMatrix(classes=["a", "b"]).update(["a", "a"], ["a", "abstain"], [1.5, 2])
    figure = sound(confusion(matrix))
    assert list(figure.layout.xaxis.ticktext) == ["a", "b", "abstain"]
    assert figure.data[0].text[0] == ["1.5<br>42.9 %", "0<br>0.0 %", "2<br>57.1 %"]
    assert figure.data[0].text[1] == ["0", "0", "0"]
    assert "true b" in figure.data[0].customdata[1][0]


def test_many_classes_leave_the_cells_without_numbers():
    labels = np.arange(40)
    (cells,) = sound(confusion(ConfusionMatrix.of(labels, labels))).data
    assert cells.texttemplate == ""


@pytest.mark.parametrize("costs", [{}, {"cost_fn": 7.0}, {"prior": 0.01}, {"costs": [[-1, 3], [10, -2]]}], ids=str)
def test_the_cost_curve_is_the_mean_cost_and_its_marker_the_best_threshold(costs):
    X, y = trees(2, n=80)
    scores = LinearDiscriminantAnalysis().fit(X, y).decision_function(X).round(1)
    curve = roc(y, scores)
    figure = sound(cost_curve(curve, **costs))
    line, marker = figure.data
    table = np.array(costs.get("costs", [[0, costs.get("cost_fp", 1.0)], [costs.get("cost_fn", 1.0), 0]]))
    share = costs.get("prior", np.mean(y == "birch"))

    def cost_at(threshold):
        called = scores >= threshold
        of = [np.mean(table[k, called[y == label].astype(int)]) for k, label in enumerate(("ash", "birch"))]
        return (1 - share) * of[0] + share * of[1]

    assert_allclose(line.y, [cost_at(threshold) for threshold in line.x])
    best = curve.best_threshold(**costs)
    assert_allclose(marker.y, [best.cost])
    assert_allclose(marker.y, line.y.min())
    assert marker.x[0] == (best.threshold if math.isfinite(best.threshold) else line.x[-1])
    (interval,) = figure.layout.shapes
    assert_allclose([interval.x0, interval.x1], np.clip(list(best.interval), line.x[0], line.x[-1]))
    assert str(best.interval) in subtitle(figure)


def test_calling_nobody_positive_can_be_the_best():
    curve = roc([0, 0, 1], [0.3, 0.9, 0.1])
    figure = sound(cost_curve(curve, cost_fp=100.0))
    assert figure.data[1].x[0] == figure.data[0].x[-1]
    assert math.isfinite(figure.data[1].x[0])


def test_scores_that_are_all_equal_can_be_drawn():
    curve = roc([0, 1], [0.5, 0.5])
    for draw in (roc_curve, cost_curve):
        sound(draw(curve))


def test_risk_and_coverage_are_those_of_the_evaluation(evaluation):
    figure = sound(risk_coverage(evaluation.risk_coverage))
    (line,) = figure.data
    assert_array_equal(line.x, evaluation.risk_coverage.coverage)
    assert_array_equal(line.y, evaluation.risk_coverage.risk)
    assert percent(evaluation["error_rate"].value) in subtitle(figure)


@pytest.mark.parametrize(
    "draw", [roc_curve, precision_recall_curve, calibration_curve, confusion, cost_curve, risk_coverage]
)
def test_other_things_are_refused_by_name(draw):
    X, y = trees(2)
    evaluation = evaluate(LinearDiscriminantAnalysis().fit(X, y), X, y)
    with pytest.raises(InputError, match=f"figures.{draw.__name__} .*Evaluation"):
        draw(evaluation)


def test_the_cost_curve_of_many_classes_asks_for_one():
    X, y = trees(3)
    found = evaluate(LinearDiscriminantAnalysis().fit(X, y), X, y)
    with pytest.raises(InputError, match="got ClassCurves"):
        cost_curve(found.roc)
    assert named(sound(cost_curve(found.roc["birch"])), "optimal threshold").y[0] >= 0


def test_bins_that_are_coarse_already_are_drawn_as_they_are():
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 2, 300)
    coarse = CalibrationBins.of(rng.random(300) < p, p).rebinned(10, by="width")
    trace = named(calibration_curve(coarse), "outcome")
    assert_array_equal(trace.x, coarse.predicted)
