"""Results: text, frames, JSON and notebooks from the same fields."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from discriminant import Decision, Posterior, bayes_error, estimate_priors, top_k
from discriminant.report.page import significant
from discriminant.results import (
    Result,
    aligned,
    columns_of,
    decimal,
    exponential,
    frame_of,
    jsonable,
    listed,
    p_value,
    percent,
    printed_columns,
)
from discriminant.theory import Gaussian, chernoff, class_distances, error_bounds

POSTERIOR = Posterior([[0.9, 0.1], [0.4, 0.6]], classes=["healthy", "ill"], priors=[0.5, 0.5])
GAUSSIANS = {"<a>": Gaussian(0, 1), "b": Gaussian(2, 1), "c": Gaussian(5, 2)}
RESULTS = [
    bayes_error([norm(0, 1), norm(2, 1)]),
    chernoff(Gaussian(0, 1), Gaussian(2, 1)),
    class_distances(GAUSSIANS),
    error_bounds(GAUSSIANS),
    estimate_priors(POSTERIOR),
    top_k(POSTERIOR, 1),
    Decision().explain(POSTERIOR),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_prints_and_goes_to_frames_json_and_notebooks(result):
    assert repr(result) == str(result)
    frame, page = result.to_frame(), result._repr_html_()
    assert len(frame) == page.count("<tr>") - 1 >= 1
    assert page.startswith("<p>")
    assert "<a>" not in page
    json.dumps(result.to_dict(), allow_nan=False)
    assert result.to_frame("polars").columns == list(frame.columns) == result.to_frame("pyarrow").column_names


def test_what_json_has_not_is_left_out_or_made_plain():
    @dataclass(frozen=True)
    class Inner:
        value: float
        _hidden: int = 0

    given = {1: np.float64(2.5), "b": [np.nan, np.inf, np.int64(3)], "c": Inner(1.0), "d": np.arange(2)}
    assert jsonable(given) == {"1": 2.5, "b": [None, None, 3], "c": {"value": 1.0}, "d": [0, 1]}


def test_long_tables_are_cut_and_say_so():
    columns = {"name": [f"row {i}" for i in range(100)], "value": np.arange(100) / 7}
    lines = printed_columns(columns)
    assert len(lines) == 32
    assert lines[-1] == "... and 70 more, see to_frame()"

    @dataclass(frozen=True, repr=False)
    class Long(Result):
        def _columns(self):
            return columns

        def __str__(self):
            return "a long one"

    assert "and 40 more rows" in Long()._repr_html_()
    assert len(Long().to_frame()) == 100


@pytest.mark.parametrize(
    ("names", "most", "text"),
    [([], None, ""), (["a"], None, "a"), (["a", "b"], None, "a and b"), (range(6), 3, "0, 1, 2 and 3 more")],
)
def test_names_are_listed_as_in_a_sentence(names, most, text):
    assert listed(names, most) == text


def test_names_stand_left_and_numbers_right():
    assert aligned([["name", "n"], ["a", "100"], ["long one", "7"]]) == [
        "name        n",
        "a         100",
        "long one    7",
    ]


def test_records_become_columns():
    assert columns_of([{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}
    assert columns_of([], ["a"]) == {"a": []}
    assert frame_of({"a": [1]}, backend="polars").shape == (1, 1)


def test_p_values_are_never_zero():
    assert p_value(0.0) == "< 0.0001"
    assert p_value(float("nan")) == "-"


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.0, "0.0 %"),
        (0.001, "0.1 %"),
        (0.0005, "0.05 %"),
        (2.5e-6, "0.0003 %"),
        (0.9995, "99.95 %"),
        (1 - 1e-6, "99.9999 %"),
        (1 - 1e-16, "100.0 %"),
    ],
)
def test_a_share_near_none_or_all_is_told_from_them(share, told):
    assert percent(share) == told


def test_what_rounds_to_zero_has_no_sign():
    assert decimal(-1e-9, 4) == "0.0000"


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (0.0, "1"),
        (1e-4, "1.0001"),
        (-1.5e-5, "0.999985"),
        (1.108e-4, "1.0001108"),
        (0.5, "1.649"),
        (-0.5, "0.6065"),
        (9471.0, "1.596e+4113"),
        (-9471.0, "6.266e-4114"),
        (float("inf"), "inf"),
        (float("-inf"), "0"),
        (float("nan"), "-"),
        (None, "-"),
    ],
)
def test_odds_ratios_are_written_from_their_logarithms(log, text):
    assert exponential(log) == text


def test_a_zero_is_written_as_0():
    assert [significant(value) for value in (0.0, -0.0, 1.5)] == ["0", "0", "1.500"]
