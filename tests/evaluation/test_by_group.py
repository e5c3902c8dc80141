"""Measures by group: those of the rows of each group, with differences by the intervals of both parts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, evaluate, evaluate_by_group
from discriminant.errors import InputError, ParameterError
from helpers import REFERENCE


@pytest.fixture(scope="module")
def births():
    frame = pd.read_csv(REFERENCE / "lbw.csv")
    return frame, LogisticRegression.from_formula("low ~ age + lwt + smoke", frame)


@pytest.fixture(scope="module")
def by_race(births):
    frame, model = births
    return evaluate_by_group(model, frame, frame.low, frame.race, name="race")


@pytest.mark.parametrize("measure", ["accuracy", "auc", "brier", "log_loss", "specificity"])
def test_measures_are_those_of_the_rows_of_the_group(births, by_race, measure):
    frame, model = births
    for row in by_race.of(measure):
        own = frame.race == row.group
        inside, outside = (evaluate(model, frame[part], frame.low[part])[measure, row.of] for part in (own, ~own))
        assert (row.value, row.low, row.high) == (inside.value, inside.low, inside.high)
        assert (row.rest, row.n_rows) == (outside.value, own.sum())
        assert row.difference == row.value - row.rest
        assert row.difference_low <= row.difference <= row.difference_high


def test_the_interval_of_a_difference_of_shares_is_newcombes(births):
    frame, model = births
    (row, _) = evaluate_by_group(model, frame, frame.low, frame.smoke).of("accuracy")
    right = model.predict(frame) == frame.low
    counts = [(int(right[part].sum()), int(part.sum())) for part in (frame.smoke == 0, frame.smoke == 1)]
    expected = confint_proportions_2indep(*counts[0], *counts[1], method="newcomb", compare="diff")
    assert_allclose([row.difference_low, row.difference_high], expected, rtol=1e-10)


def test_p_values_are_adjusted_for_the_groups_by_measure(by_race):
    rows = by_race.of("brier")
    expected = multipletests([row.p_value for row in rows], method="holm")[1]
    assert_allclose([row.p_adjusted for row in rows], expected)


def test_two_groups_are_one_comparison(births):
    frame, model = births
    for first, second in zip(*[iter(evaluate_by_group(model, frame, frame.low, frame.smoke).rows)] * 2, strict=True):
        assert_allclose(first.difference, -second.difference, equal_nan=True)
        assert_allclose(first.p_adjusted, first.p_value, equal_nan=True)


def test_weights_are_repeated_rows(births):
    frame, model = births
    weight = np.arange(len(frame)) % 3
    again = frame.loc[frame.index.repeat(weight)]
    found = evaluate_by_group(model, frame, frame.low, frame.race, sample_weight=weight)
    repeated = evaluate_by_group(model, again, again.low, again.race)
    for name in ("accuracy", "auc", "brier"):
        pairs = zip(found.of(name), repeated.of(name), strict=True)
        for one, other in pairs:
            assert_allclose([one.value, one.low, one.difference], [other.value, other.low, other.difference], rtol=1e-9)


def test_the_calibration_slope_is_the_same_measure_in_all_groups(by_race):
    assert [row.group for row in by_race.of("calibration_slope")] == ["black", "other", "white"]


def test_a_group_of_one_class_is_named(births):
    frame, model = births
    group = np.where(np.flatnonzero(frame.low == 0)[:20, None] == np.arange(len(frame)), 1, 0).any(axis=0)
    found = evaluate_by_group(model, frame, frame.low, group)
    assert any("class 0 only" in note for note in found.notes)
    aucs = {row.group: row.value for row in found.of("auc")}
    assert np.isnan(aucs[True])
    assert np.isfinite(aucs[False])
    assert "note: Group True" in str(found)


def test_several_classes(births):
    frame, _ = births
    X = frame[["age", "lwt", "smoke"]]
    model = LinearDiscriminantAnalysis().fit(X, frame.race)
    found = evaluate_by_group(model, X, frame.race, frame.smoke, name="smoke")
    assert {row.of for row in found.rows if row.measure == "recall"} >= {"black", "other", "white", "macro"}


@pytest.mark.parametrize("by", [np.zeros(189), np.arange(189)])
def test_groups_that_are_none_are_refused(births, by):
    frame, model = births
    with pytest.raises(InputError, match="by has"):
        evaluate_by_group(model, frame, frame.low, by)


def test_an_unknown_measure_is_refused(by_race):
    with pytest.raises(ParameterError, match="Unknown measure 'nix'"):
        by_race.of("nix")


def test_the_table_has_all_rows(by_race):
    assert len(by_race.to_frame()) == len(by_race.rows)
    assert by_race.to_dict()["by"] == "race"


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_groups_are_refused(births, missing):
    frame, model = births
    with pytest.raises(InputError, match="row 3"):
        evaluate_by_group(model, frame, frame.low, ["a", "b", "a", missing] + ["b"] * (len(frame) - 4))


def test_groups_of_numbers_and_text(births):
    frame, model = births
    by = [1.5, "b"] * (len(frame) // 2) + ["b"] * (len(frame) % 2)
    assert evaluate_by_group(model, frame, frame.low, by).groups == [1.5, "b"]
