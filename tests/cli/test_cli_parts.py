"""The parts of the command line that decide something: rare levels, warnings, costs."""

import io

import numpy as np
import pandas as pd
import pytest
from commands import write_rows
from hypothesis import given
from hypothesis import strategies as st

from discriminant.cli.costs import costs_in_words, read_cost_file, read_priors
from discriminant.cli.rare import without_rare
from discriminant.cli.reading import Asked, pairs
from discriminant.cli.running import Run
from discriminant.cli.showing import visible
from discriminant.errors import ParameterError
from discriminant.tables import open_table, read_training


@st.composite
def tables_with_rare_levels(draw):
    """Frames of 120 rows: a category, a boolean and a number, each of which may hardly vary."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    shares = rng.dirichlet(np.full(6, draw(st.sampled_from([0.05, 0.3, 2.0]))))
    levels = rng.choice(list("abcdef"), 120, p=shares).astype(object)
    levels[rng.random(120) < draw(st.sampled_from([0.0, 0.02, 0.2]))] = None
    number = np.where(rng.random(120) < draw(st.sampled_from([0.02, 0.5])), rng.normal(size=120), 0.0)
    number[rng.random(120) < draw(st.sampled_from([0.0, 0.02, 0.2]))] = np.nan
    frame = {"level": levels, "number": number, "steady": rng.normal(size=120), "y": rng.choice(["u", "v"], 120)}
    return pd.DataFrame(frame)


@given(tables_with_rare_levels(), st.integers(2, 6))
def test_every_coded_column_varies_in_enough_rows(frame, least):
    table = open_table(frame)
    whole = read_training(table, "y")
    training = without_rare(whole, table, least)
    assert training.X.shape == (120, len(training.schema.names))
    np.testing.assert_array_equal(training.X, training.schema.encode_batch(frame)[0])
    np.testing.assert_array_equal(training.y, whole.y)
    for values in training.X.T:
        assert 120 - np.unique(values, return_counts=True)[1].max() >= least
    changed = {finding.column for finding in training.findings} - {finding.column for finding in whole.findings}
    for name in ("level", "number"):
        before, after = (next(c for c in t.schema.columns if c.name == name) for t in (whole, training))
        assert before == after or name in changed | {f.column for f in whole.findings}


def test_small_tables_keep_everything():
    frame = pd.DataFrame({"a": ["p", "q", "q", "q", "r"] * 3, "b": range(15), "y": ["u", "v", "u"] * 5})
    table = open_table(frame)
    training = read_training(table, "y")
    assert without_rare(training, table, 5) is training


def test_columns_that_hardly_vary_are_found_in_long_tables_too():
    n = 12_000
    rare = np.zeros(n)
    rare[[7000, 9000]] = 1
    frame = pd.DataFrame({"rare": rare, "other": np.arange(n) % 7, "y": np.where(np.arange(n) % 2, "u", "v")})
    training = without_rare(read_training(open_table(frame), "y"), open_table(frame), 5)
    assert training.schema.names == ("other",)
    frame["rare"] = np.where(np.arange(n) % 240 == 0, 1.0, 0.0)  # 50 rows
    for least, names in ((50, ("rare", "other")), (51, ("other",))):
        assert without_rare(read_training(open_table(frame), "y"), open_table(frame), least).schema.names == names
    assert any("all but 2 rows" in finding.message for finding in training.findings)


def test_warnings_that_differ_in_numbers_are_told_once(capsys):
    run = Run(["age", "sex=male"], ["stopped after 3 iterations", "stopped after 17 iterations", "Column 1 is odd"])
    run.tell_warnings()
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "Warning: stopped after 3 iterations (and 1 more like this)",
        "Warning: Column 'sex=male' is odd",
    ]


def test_columns_without_a_name_keep_their_number():
    assert Run(["age"]).named("column 0 and column 7") == "column 'age' and column 7"


@given(st.text())
def test_what_is_shown_is_printable(text):
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)


def test_costs_are_read_by_the_names_of_the_classes(tmp_path):
    path = write_rows(tmp_path / "costs.csv", [["", "True", "False", "ask"], ["False", 1, 0, 0.2], ["True", 0, 3, 0.2]])
    costs = read_cost_file(str(path), [False, True])
    assert costs == {False: {True: 1, False: 0, "ask": 0.2}, True: {True: 0, False: 3, "ask": 0.2}}
    assert "False when the truth is True costs 3" in costs_in_words(costs)


def test_priors_and_pairs():
    assert read_priors("a=0.3, b b=0.7", ["a", "b b"]) == {"a": 0.3, "b b": 0.7}
    assert read_priors("1=0.5,2=0.5", [1, 2]) == {1: 0.5, 2: 0.5}
    assert pairs("--types", ["a=b=number"]) == {"a=b": "number"}
    with pytest.raises(ParameterError, match="--types takes NAME=VALUE, got 'number'"):
        pairs("--types", ["number"])


def test_a_table_can_be_asked_for_again_by_its_words():
    asked = Asked("my data.csv", "y", drop=["a", "b"], types=["c=category"], rare=3, header=False, groups="g")
    assert asked.words() == [
        *("my data.csv", "--target", "y", "--drop", "a", "--drop", "b", "--types", "c=category"),
        *("--drop", "g", "--rare", "3", "--no-header"),
    ]


def test_a_stream_is_no_reason_to_fail_for_rare_levels(monkeypatch, titanic):
    class Standard:
        buffer = io.BytesIO(titanic.read_bytes())

    monkeypatch.setattr("sys.stdin", Standard)
    labelled = Asked("-", "survived").training()
    assert len(labelled.training.y) == 400
