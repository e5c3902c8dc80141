"""What too few rows have is not learned from: rare levels, columns that hardly vary, few missing values."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from discriminant.errors import ParameterError
from discriminant.tables import EncodingReport, Schema, TableEncoder, learning, read_training


@st.composite
def tables_with_rare_levels(draw):
    """Frames of 120 rows: a category, a boolean and a number, each of which may hardly vary."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    shares = rng.dirichlet(np.full(6, draw(st.sampled_from([0.05, 0.3, 2.0]))))
    levels = rng.choice(list("abcdef"), 120, p=shares).astype(object)
    levels[rng.random(120) < draw(st.sampled_from([0.0, 0.02, 0.2, 0.97]))] = None
    number = np.where(rng.random(120) < draw(st.sampled_from([0.02, 0.5])), rng.normal(size=120), 0.0)
    number[rng.random(120) < draw(st.sampled_from([0.0, 0.02, 0.2]))] = np.nan
    frame = {"level": levels, "number": number, "steady": rng.normal(size=120), "y": rng.choice(["u", "v"], 120)}
    return pd.DataFrame(frame)


@given(tables_with_rare_levels(), st.integers(2, 6))
def test_every_coded_column_varies_in_enough_rows(frame, least):
    whole = read_training(frame, "y", rare=1)
    training = read_training(frame, "y", rare=least)
    assert training.X.shape == (120, len(training.schema.names))
    X, report = training.schema.encode_batch(frame)
    assert_array_equal(training.X, X)
    assert not report.unseen
    assert_array_equal(training.y, whole.y)
    for values in training.X.T:
        assert 120 - np.unique(values, return_counts=True)[1].max() >= least
    told = {finding.column for finding in training.findings}
    for name in ("level", "number"):
        before, after = (next(c for c in t.schema.columns if c.name == name) for t in (whole, training))
        assert before == after or name in told
    assert Schema.from_dict(training.schema.to_dict()) == training.schema


def test_small_tables_keep_everything():
    frame = pd.DataFrame({"a": ["p", "q", "q", "q", "r"] * 3, "b": range(15), "y": ["u", "v", "u"] * 5})
    assert read_training(frame, "y").schema == read_training(frame, "y", rare=1).schema


def test_columns_that_hardly_vary_are_found_in_long_tables_too():
    n = 12_000
    rare = np.zeros(n)
    rare[[7000, 9000]] = 1
    frame = pd.DataFrame({"rare": rare, "other": np.arange(n) % 7, "y": np.where(np.arange(n) % 2, "u", "v")})
    training = read_training(frame, "y")
    assert training.schema.names == ("other",)
    assert [finding.kind for finding in training.findings if finding.column == "rare"] == ["near-constant"]
    frame["rare"] = np.where(np.arange(n) % 240 == 0, 1.0, 0.0)  # 50 rows
    for least, names in ((50, ("rare", "other")), (51, ("other",))):
        assert read_training(frame, "y", rare=least).schema.names == names


def cabins(n=200, seed=0, **more):
    """Rows of which most have no cabin, and the others nearly each its own."""
    rng = np.random.default_rng(seed)
    cabin = [f"C{i // 2}" if i < 60 else None for i in range(n)]
    return pd.DataFrame({"x": rng.normal(size=n), "cabin": cabin, **more, "y": rng.choice(["u", "v"], n)})


def test_no_rare_level_is_what_others_are_compared_with():
    """Thirty cabins of two rows each are one group: a coefficient against one of them would tell of two rows."""
    training = read_training(cabins(), "y")
    column = training.schema.columns[1]
    assert (column.reference, column.levels, column.pooled) == ("(other)", (), 30)
    assert training.schema.names == ("x", "cabin=(missing)")
    assert_array_equal(training.X[:, 1], [0] * 60 + [1] * 140)
    kinds = {finding.kind for finding in training.findings if finding.column == "cabin"}
    assert kinds == {"mostly missing", "rare levels"}
    X, report = training.schema.encode_batch(pd.DataFrame({"x": [0.0] * 3, "cabin": ["C3", "new", None]}))
    assert X[:, 1].tolist() == [0, 0, 1]
    assert report.unseen == {"cabin": {"new": 1}}


def test_a_column_of_rare_levels_alone_is_left_out():
    frame = cabins().assign(cabin=[f"C{i // 3}" for i in range(200)])
    training = read_training(frame, "y")
    assert training.schema.names == ("x",)
    assert [finding.kind for finding in training.findings] == ["near-constant"]
    assert read_training(frame, "y", rare=1, max_levels=100).X.shape == (200, 67)


def test_a_few_rare_rows_count_as_the_reference_and_not_as_missing():
    level = ["p"] * 100 + ["q"] * 77 + ["lady"] * 2 + ["col"] + [None] * 20
    training = read_training(cabins(level=level).drop(columns="cabin"), "y")
    assert training.schema.names == ("x", "level=q", "level=(missing)")
    assert training.X[177:180, 1:].tolist() == [[0, 0]] * 3
    assert training.schema.columns[1].rare_levels == ("lady", "col")
    assert ("rare levels", "level") in {(finding.kind, finding.column) for finding in training.findings}
    X, report = training.schema.encode_batch(pd.DataFrame({"x": [0.0] * 2, "level": ["lady", "new"]}))
    assert X[:, 1:].tolist() == [[0, 0], [77 / 180, 0]]
    assert report.unseen == {"level": {"new": 1}}


def test_few_missing_values_are_filled_without_a_mark():
    frame = cabins(n=200).drop(columns="cabin").assign(level=["p", "q"] * 99 + [None] * 2)
    frame.loc[3, "x"] = np.nan
    training = read_training(frame, "y")
    assert training.schema.names == ("x", "level=q")
    found = [finding.column for finding in training.findings if finding.kind == "missing values"]
    assert found == ["x", "level"]
    assert not any(column.missing_column for column in training.schema.columns)


def test_levels_called_other_are_pooled_with_the_rest():
    """A table whose rare levels somebody pooled before, under the same name."""
    level = ["p"] * 120 + ["(other)"] * 40 + [f"l{i // 2}" for i in range(40)]
    training = read_training(cabins().assign(cabin=level), "y")
    assert training.schema.names == ("x", "cabin=(other)")
    assert training.X[:, 1].sum() == 80
    turned = ["(other)"] * 120 + ["p"] * 40 + [f"l{i // 2}" for i in range(40)]
    training = read_training(cabins().assign(cabin=turned), "y")
    assert training.schema.names == ("x", "cabin=p")
    assert training.X[:, 1].sum() == 40


def test_rare_things_are_better_than_nothing():
    frame = pd.DataFrame({"flag": [1.0] * 3 + [0.0] * 97, "y": ["u", "v"] * 50})
    training = read_training(frame, "y")
    assert training.schema.names == ("flag",)
    assert not training.findings


def test_levels_of_training_are_not_called_unseen(monkeypatch):
    monkeypatch.setattr(learning, "MAX_RARE_LEVELS", 3)
    frame = cabins(many=["p"] * 100 + [f"l{i // 2:02}" for i in range(100)])
    schema = read_training(frame, "y").schema
    new = pd.DataFrame({"x": [0.0] * 3, "cabin": ["C29"] * 3, "many": ["l01", "l40", "new"]})
    X, report = schema.encode_batch(new)
    assert X[:, schema.names.index("many=(other)")].tolist() == [1, 1, 1]
    assert report.unseen == {"cabin": {"C29": 3}, "many": {"l40": 1, "new": 1}}
    assert report.unsure == ("cabin", "many")  # of which only three rare levels are known by name
    assert [note.split(":")[0] for note in report.unseen_notes()] == ["'cabin'", "'many'"]
    assert (EncodingReport() + report).unsure == report.unsure


def test_the_transformer_pools_too_and_knows_its_levels():
    frame = cabins().drop(columns="y")
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["x", "cabin=(missing)"]
    assert_array_equal(encoder.transform(frame)[:, 1], [0] * 60 + [1] * 140)  # a warning would be an error here
    assert len(TableEncoder(rare=1).fit(frame).get_feature_names_out()) == 31
    with pytest.raises(ParameterError, match=r"^rare .* 0"):
        TableEncoder(rare=0).fit(frame)


def test_a_sign_that_may_mean_missing_stays_a_level_where_it_is_rare():
    lines = [f"{i % 9},{'-' if i < 3 else '+'},{'abc'[i % 3]},{'uv'[i % 2]}" for i in range(200)]
    training = read_training(io.BytesIO("\n".join(["x,sign,z,y", *lines]).encode()), "y")
    column = training.schema.columns[1]
    assert column.dropped is not None
    assert column.missing == 0


@pytest.mark.parametrize("rare", [0, 1.5, True, "5"])
def test_rare_is_a_number_of_rows(rare):
    with pytest.raises(ParameterError, match=r"^rare "):
        read_training(cabins(), "y", rare=rare)
