"""Splits in time, and comparisons of models on them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.commands import run_command

from discriminant import GaussianNB, LinearDiscriminantAnalysis, compare, cross_validate, forward_chaining
from discriminant.errors import ColumnError, InputError, ParameterError
from discriminant.tables import read_training


@given(st.lists(st.integers(0, 12), min_size=24, max_size=80), st.integers(1, 6), st.randoms())
def test_parts_are_held_out_by_earlier_rows_alone(times, n_splits, random):
    y = [random.choice("ab") for _ in times]
    try:
        splits = forward_chaining(times, y, n_splits)
    except InputError:
        return
    times, held = np.array(times), np.zeros(len(times), dtype=int)
    assert 1 <= len(splits) <= n_splits
    for train, test in splits:
        assert times[train].max() < times[test].min()
        np.testing.assert_array_equal(train, np.flatnonzero(times < times[test].min()))
        assert min(np.unique(np.array(y)[train], return_counts=True)[1]) >= 2
        held[test] += 1
    assert held.max() == 1


def test_parts_without_ties_are_equal():
    order = np.random.default_rng(0).permutation(120)
    splits = forward_chaining(order, order % 2, 5)
    assert [len(test) for _, test in splits] == [20] * 5
    assert [len(train) for train, _ in splits] == [20, 40, 60, 80, 100]


@pytest.mark.parametrize("kind", [str, "datetime64[D]", float])
def test_times_are_what_can_be_sorted(kind):
    times = np.arange(10, 70).astype(kind)
    for (train, test), (first, second) in zip(
        forward_chaining(times, np.arange(60) % 3), forward_chaining(np.arange(60), np.arange(60) % 3), strict=True
    ):
        np.testing.assert_array_equal(train, first)
        np.testing.assert_array_equal(test, second)


def test_what_cannot_be_split_in_time_is_refused():
    with pytest.raises(InputError):
        forward_chaining(np.arange(20), np.arange(20) >= 19)
    with pytest.raises(InputError):
        forward_chaining(np.arange(20), np.zeros(19))
    with pytest.raises(ParameterError, match="n_splits"):
        forward_chaining(np.arange(20), np.arange(20) % 2, 0)


def drifting(n=300):
    """A class that becomes frequent, which later rows know and earlier ones do not."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < np.linspace(0.05, 0.9, n), "spam", "mail")
    sent = np.datetime64("2020-01-01") + np.arange(n) // 2
    return pd.DataFrame({"sent": sent.astype(str), "links": rng.poisson(2 + (y == "spam")), "y": y})


def test_comparisons_and_validations_take_them():
    frame = drifting()
    X, y = frame[["links"]].assign(day=np.arange(300)), frame["y"]
    cv = forward_chaining(np.arange(300), y)
    models = {"lda": LinearDiscriminantAnalysis(), "nb": GaussianNB()}
    found = compare(models, X, y, cv=cv).cross_validation
    assert found.n_splits == 5
    alone = cross_validate({"nb": models["nb"]}, X, y, cv=cv)
    assert found.mean("nb", "accuracy") == alone.mean("nb", "accuracy")
    by_folds = compare(models, X, y, cv=5).cross_validation
    assert found.mean("baseline", "log_loss") > by_folds.mean("baseline", "log_loss")


def test_a_column_of_the_table_is_the_time(tmp_path):
    path = tmp_path / "email.csv"
    drifting().sample(frac=1.0, random_state=1).to_csv(path, index=False)
    asked = ("compare", path, "-t", "y", "--time", "sent", "--models", "lda,gaussian-nb", "--folds", 5)
    found = run_command(*asked, "--json").json
    assert found["time"] == "sent"
    assert found["cross_validation"]["splits"] == 5
    assert "'sent'" in run_command(*asked).out
    assert run_command(*asked, "--groups", "links").code == 1
    training = read_training(path, "y", time="sent", drop=["sent"])
    assert training.schema.names == ("links",)
    assert sorted(np.unique(training.times, return_counts=True)[1]) == [2] * 150


def test_a_time_has_numbers_or_dates_in_every_row():
    frame = drifting().assign(town=list("uvw") * 100)
    with pytest.raises(ColumnError):
        read_training(frame, "y", time="town")
    frame.loc[3, "sent"] = None
    with pytest.raises(ColumnError):
        read_training(frame, "y", time="sent")


def test_frames_with_text_and_gaps_are_compared_by_default_models():
    """As the reference of `compare` says of ``models=None``."""
    rng = np.random.default_rng(2)
    frame = drifting(120).assign(town=rng.choice(["u", "v", None], 120), size=rng.normal(size=120))
    frame.loc[:9, "size"] = np.nan
    found = compare(None, frame.drop(columns="y"), frame["y"], cv=3, holdout=0.25)
    assert {"ridge", "lda", "baseline"} <= set(found.ranking)
    assert all(pair.holdout is not None for pair in found.differences)
