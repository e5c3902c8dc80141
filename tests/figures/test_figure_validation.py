"""Figures of validation, effects and diagnostics: what is drawn is what was computed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pictures import legend, named, sound, subtitle

import discriminant
from discriminant import LogisticRegression, ValidationOptions, diagnostics, evaluate_by_group, validate
from discriminant.effects import comparisons, predictions, slopes
from discriminant.errors import InputError, ParameterError
from discriminant.figures import (
    binned_residuals,
    decision_curve,
    effects,
    group_measures,
    influence,
    instability,
    smooth_calibration,
)
from helpers import REFERENCE


@pytest.fixture(scope="module")
def births():
    return pd.read_csv(REFERENCE / "lbw.csv")


@pytest.fixture(scope="module")
def model(births):
    return LogisticRegression.from_formula("low ~ ns(age, df=2) + lwt + smoke", births)


@pytest.fixture(scope="module")
def predicted(births, model):
    return births.low == 1, model.predict_proba(births)[:, 1]


def test_calibration_curves_with_their_bands(predicted):
    curve = discriminant.calibration_curve(*predicted)
    figure = sound(smooth_calibration({"old": curve, "new": curve}))
    assert len(legend(figure)) == 3
    trace = named(figure, "old: ICI")
    assert_array_equal(trace.x, curve.predicted)
    assert_array_equal(trace.y, curve.observed)
    assert_array_equal(figure.data[1].y[: len(curve.high)], curve.high)


def test_decision_curves_of_several_models(predicted):
    y, p = predicted
    found = discriminant.decision_curve(y, {"a": p, "b": 1 - p}, costs=[[0, 1], [4, 0]])
    figure = sound(decision_curve(found))
    assert legend(figure) == ["a", "b", "treat all", "treat none"]
    assert_array_equal(named(figure, "b").y, found.net_benefit["b"])
    assert figure.layout.shapes[0].x0 == 0.2


def test_instability_has_a_range_for_each_row(births):
    X = births[["age", "lwt"]]
    found = validate(LogisticRegression(), X, births.low, ValidationOptions(resamples=20, inner_resamples=0))
    figure = sound(instability(found.instability))
    low, high = found.instability.ranges
    order = np.argsort(found.instability.probability, kind="stable")
    assert_array_equal(figure.data[0].y[0::3], low[order])
    assert_array_equal(figure.data[0].y[1::3], high[order])
    assert "20 resampled models" in subtitle(figure)


def test_a_forest_of_ratios_is_logarithmic(births, model):
    found = comparisons(model, births, "smoke", "ratio", [0, 1], by="race")
    figure = sound(effects(found))
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.yaxis.ticktext == ("black", "other", "white")
    assert_array_equal(figure.data[0].x, [row.estimate for row in found.rows])
    assert figure.layout.shapes[0].x0 == 1


def test_predictions_at_values_of_a_number_are_curves(births, model):
    found = predictions(model, births, at={"age": [20, 25, 30, 35], "smoke": [0, 1]})
    figure = sound(effects(found))
    assert legend(figure) == ["smoke = 0", "smoke = 1"]
    assert named(figure, "smoke = 1").x == (20, 25, 30, 35)


def test_effects_without_standard_errors_are_points(births):
    model = discriminant.LinearDiscriminantAnalysis().fit(births[["age", "lwt"]], births.low)
    figure = sound(effects(slopes(model, births[["age", "lwt"]])))
    assert_array_equal(figure.data[0].error_x.array, [0, 0])


def test_groups_in_a_panel_for_each_measure(births, model):
    found = evaluate_by_group(model, births, births.low, births.race, name="race")
    figure = sound(group_measures(found, ["auc", "nix", "brier"]))
    assert len(figure.data) == 4
    assert_array_equal(figure.data[0].x, [row.value for row in found.of("auc")])
    assert_array_equal(figure.data[3].x, [row.rest for row in found.of("brier")])
    with pytest.raises(ParameterError, match="nix"):
        group_measures(found, ["nix"])


def test_residuals_and_influence(births, model):
    found = diagnostics(model)
    figure = sound(binned_residuals(found, bins=9))
    assert_array_equal(figure.data[0].y, found.binned_residuals(9)["residual"][0])
    figure = sound(influence(found))
    assert figure.data[1].text == tuple(str(row.row) for row in found.most_influential())
    assert len(figure.data[0].x) + 5 == len(births)


@pytest.mark.parametrize(
    "draw", [smooth_calibration, decision_curve, instability, effects, group_measures, binned_residuals, influence]
)
def test_other_things_are_refused(draw):
    with pytest.raises(InputError, match="requires a"):
        draw("nix")
