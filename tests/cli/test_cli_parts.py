"""The parts of the command line that decide something: warnings, costs, options."""

import hashlib
import io
from threading import Event

import pytest
from commands import write_rows
from hypothesis import given
from hypothesis import strategies as st

from discriminant.cli import reading
from discriminant.cli.costs import costs_in_words, read_cost_file, read_priors
from discriminant.cli.reading import Asked, pairs
from discriminant.cli.running import Run
from discriminant.cli.showing import visible
from discriminant.errors import InputError, ParameterError


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


@pytest.mark.parametrize("wrong", [{"target": "nobody"}, {"target": "survived", "missing": "refuse"}], ids=str)
def test_an_error_does_not_wait_for_what_is_loaded_beside(monkeypatch, titanic, wrong):
    """The error of the table comes out while the model is being loaded, and loading is told to stop."""
    released, told = Event(), []

    def load(model, unwanted):
        released.wait()
        told.append((model, unwanted.is_set()))

    monkeypatch.setattr(reading, "_load", load)
    monkeypatch.setattr(reading, "_file_hash", load)
    with pytest.raises(InputError):
        Asked(str(titanic), **wrong).training("lda")
    assert not told
    released.set()


def test_what_is_hashed_for_nobody_is_not_hashed(titanic):
    unwanted = Event()
    assert reading._file_hash(str(titanic), unwanted) == hashlib.sha256(titanic.read_bytes()).hexdigest()
    unwanted.set()
    assert reading._file_hash(str(titanic), unwanted) is None


def test_a_stream_is_no_reason_to_fail_for_rare_levels(monkeypatch, titanic):
    class Standard:
        buffer = io.BytesIO(titanic.read_bytes())

    monkeypatch.setattr("sys.stdin", Standard)
    labelled = Asked("-", "survived").training()
    assert len(labelled.training.y) == 400
