"""The parts of the command line that decide something: warnings, costs, options."""

import hashlib
import inspect
import io
import warnings
from threading import Event

import pytest
from commands import write_rows
from hypothesis import given
from hypothesis import strategies as st

from discriminant import errors
from discriminant.cli import options
from discriminant.cli.console import Run, running, visible
from discriminant.cli.fit import fit
from discriminant.cli.options import Labelled, TrainingOptions, pairs, read_priors
from discriminant.decision.costs import class_written, costs_in_words, read_cost_file
from discriminant.errors import DiscriminantWarning, InputError, Model, ParameterError, Setting


def test_warnings_of_one_origin_are_told_once(capsys):
    with running(debug=False):
        for iterations in (3, 17):
            errors.warn(f"stopped after {iterations} iterations", DiscriminantWarning)
        errors.warn("something else", DiscriminantWarning)
        for value in "ab":
            warnings.warn(f"not our own: {value}", UserWarning, stacklevel=1)
    assert capsys.readouterr().err.splitlines() == [
        "Warning: stopped after 3 iterations (and 1 more like this)",
        "Warning: something else",
        "Warning: not our own: a (and 1 more like this)",
    ]


@pytest.mark.parametrize(
    ("part", "spelled"),
    [
        (Setting("on_ragged", "skip"), "--ragged skip"),
        (Setting("max_levels"), "--max-levels"),
        (Setting("header", False), "--no-header"),
        (Setting("overwrite", True), "--overwrite"),
        (Setting("firth", True), "--set firth=true"),
        (Setting("alpha", 0.5), "--set alpha=0.5"),
        (Setting("quote", ""), "another --delimiter"),
        (Model("LinearDiscriminantAnalysis"), "lda"),
        (Model("OneVsRest"), "OneVsRest"),
    ],
    ids=str,
)
def test_settings_and_models_are_spelled_as_options(part, spelled):
    run = Run(options=frozenset(inspect.signature(fit).parameters))
    assert run.told(InputError("Give ", part, ".")) == f"Give {spelled}."


@given(st.text())
def test_what_is_shown_is_printable(text):
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)


def test_costs_are_read_by_the_names_of_the_classes(tmp_path):
    path = write_rows(tmp_path / "costs.csv", [["", "True", "False", "ask"], ["False", 1, 0, 0.2], ["True", 0, 3, 0.2]])
    costs = read_cost_file(str(path), [False, True])
    assert costs == {False: {True: 1, False: 0, "ask": 0.2}, True: {True: 0, False: 3, "ask": 0.2}}
    assert "False when the truth is True costs 3" in costs_in_words(costs)


def test_classes_are_recognised_but_for_capitals(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("truth,false,true\nfalse,0,1\nTRUE,3,0\n")
    assert read_cost_file(str(path), [False, True]) == {False: {False: 0, True: 1}, True: {False: 3, True: 0}}
    assert class_written("no", ["NO", "No"]) == "no"  # which of them is not known
    assert class_written("No", ["NO", "No"]) == "No"


def test_priors_and_pairs():
    assert read_priors("a=0.3, b b=0.7", ["a", "b b"]) == {"a": 0.3, "b b": 0.7}
    assert read_priors("1=0.5,2=0.5", [1, 2]) == {1: 0.5, 2: 0.5}
    assert pairs("--types", ["a=b=number"]) == {"a=b": "number"}
    with pytest.raises(ParameterError, match="--types takes NAME=VALUE, got 'number'"):
        pairs("--types", ["number"])


def test_a_table_can_be_asked_for_again_by_its_words():
    reading = TrainingOptions(drop=["a", "b"], types=["c=category"], rare=3, header=False)
    assert Labelled("my data.csv", {"target": "y", "groups": "g"}, reading, None, None, "").words() == [
        *("my data.csv", "--target", "y", "--groups", "g", "--no-header"),
        *("--drop", "a", "--drop", "b", "--types", "c=category", "--rare", "3"),
    ]


@pytest.mark.parametrize("wrong", [("nobody", "indicator"), ("survived", "refuse")], ids=str)
def test_an_error_does_not_wait_for_what_is_done_beside(monkeypatch, titanic, wrong):
    """The error of the table comes out while the file is being hashed, and hashing is told to stop."""
    released, told = Event(), []

    def hashing(data, unwanted):
        released.wait()
        told.append((data, unwanted.is_set()))

    monkeypatch.setattr(options, "_file_hash", hashing)
    with pytest.raises(InputError):
        TrainingOptions(missing=wrong[1]).training(str(titanic), wrong[0], model="lda")
    assert not told
    released.set()


def test_what_is_hashed_for_nobody_is_not_hashed(titanic):
    unwanted = Event()
    assert options._file_hash(str(titanic), unwanted) == hashlib.sha256(titanic.read_bytes()).hexdigest()
    unwanted.set()
    assert options._file_hash(str(titanic), unwanted) is None


def test_a_stream_is_no_reason_to_fail_for_rare_levels(monkeypatch, titanic):
    class Standard:
        buffer = io.BytesIO(titanic.read_bytes())

    monkeypatch.setattr("sys.stdin", Standard)
    labelled = TrainingOptions().training("-", "survived")
    assert len(labelled.training.y) == 400
