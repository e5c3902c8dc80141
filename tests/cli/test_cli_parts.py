"""The parts of the command line that decide something: warnings, costs, options."""

import inspect
import io
import warnings

import pytest
from commands import write_rows
from hypothesis import given
from hypothesis import strategies as st

from discriminant import errors
from discriminant.cli.console import Run, running
from discriminant.cli.fit import fit
from discriminant.cli.options import TrainingOptions, read_priors
from discriminant.decision.costs import class_written, costs_in_words, read_cost_file
from discriminant.errors import DiscriminantWarning, InputError, Model, ParameterError, Setting
from discriminant.results import visible
from discriminant.workflow.tables import LabelledTable, Roles, name_value_pairs, read_labelled


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
    assert run.rendered(InputError("Give ", part, ".")) == f"Give {spelled}."


@given(st.text())
def test_what_is_shown_is_printable(text):
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)


def test_costs_are_read_by_the_names_of_the_classes(tmp_path):
    path = write_rows(tmp_path / "costs.csv", [["", "True", "False", "ask"], ["False", 1, 0, 0.2], ["True", 0, 3, 0.2]])
    costs = read_cost_file(str(path), [False, True])
    assert costs == {False: {True: 1, False: 0, "ask": 0.2}, True: {True: 0, False: 3, "ask": 0.2}}
    assert "3 for False if the true class is True" in costs_in_words(costs)


def test_classes_are_recognised_but_for_capitals(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("truth,false,true\nfalse,0,1\nTRUE,3,0\n")
    assert read_cost_file(str(path), [False, True]) == {False: {False: 0, True: 1}, True: {False: 3, True: 0}}
    assert class_written("no", ["NO", "No"]) == "no"  # which of them is not known
    assert class_written("No", ["NO", "No"]) == "No"


def test_priors_and_pairs():
    assert read_priors("a=0.3, b b=0.7", ["a", "b b"]) == {"a": 0.3, "b b": 0.7}
    assert read_priors("1=0.5,2=0.5", [1, 2]) == {1: 0.5, 2: 0.5}
    assert name_value_pairs("--types", ["a=b=number"]) == {"a=b": "number"}
    with pytest.raises(ParameterError, match="--types"):
        name_value_pairs("--types", ["number"])


def test_a_table_can_be_asked_for_again_by_its_words():
    reading = TrainingOptions(drop=["a", "b"], types=["c=category"], rare=3, header=False)
    assert reading.words(LabelledTable("my data.csv", Roles("y", groups="g"), None, None)) == [
        *("my data.csv", "--target", "y", "--groups", "g", "--no-header"),
        *("--drop", "a", "--drop", "b", "--types", "c=category", "--rare", "3"),
    ]


def test_a_stream_is_no_reason_to_fail_for_rare_levels(monkeypatch, titanic):
    class Standard:
        buffer = io.BytesIO(titanic.read_bytes())

    monkeypatch.setattr("sys.stdin", Standard)
    labelled = read_labelled("-", Roles("survived"))
    assert len(labelled.training.y) == 400
