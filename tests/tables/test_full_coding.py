"""A column for each level of a category: for penalties, to which no level is the one that others are compared with."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discriminant import LogisticRegression, NaiveBayes, TableEncoder, read_training
from discriminant.errors import ParameterError
from discriminant.estimators.registry import coding_for, new_model
from discriminant.tables import Schema


def frame(n=240, seed=0):
    """A number with gaps, a category with gaps and rare levels, one without, one whose gaps are rare."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    town = np.array(["a", "b", "c"])[np.minimum(rng.poisson(0.6 + y), 2)].astype(object)
    town[rng.random(n) < 0.15] = None
    town[:8] = ["p", "p", "q", "q", "r", "r", "s", "s"]
    sex = np.array(["f", "m"])[rng.integers(2, size=n)].astype(object)
    sex[30:32] = None
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(40 + y, 5))
    return pd.DataFrame({"age": age, "town": town, "sex": sex, "member": rng.random(n) < 0.5, "y": y})


NAMES = (
    *("age", "age=(missing)"),
    *("town=a", "town=b", "town=c", "town=(other)", "town=(missing)"),
    *("sex=f", "sex=m", "member"),
)


def test_every_level_has_its_column():
    """The missing level and (other) among them; a row has one level of a category, and its reference is redundant."""
    training = read_training(frame(), "y", coding="full")
    town, sex = (training.schema.columns[j] for j in (1, 2))
    assert training.schema.names == NAMES
    assert_array_equal(training.X[:, 2:7].sum(axis=1), 1)
    assert_array_equal(training.X[:, 7:9].sum(axis=1), 1)
    assert_array_equal(training.X[30:32, 7 + "fm".index(sex.reference)], 1)
    rows = training.rows[::3]
    assert [name for name, mark in zip(NAMES, rows.is_indicator, strict=True) if not mark] == ["age", "member"]
    references = [f"town={town.reference}", f"sex={sex.reference}"]
    assert [name for name, mark in zip(NAMES, rows.redundant, strict=True) if mark] == references
    assert "one column per level" in town.treatment
    assert sum(town.shares) == sum(sex.shares) == pytest.approx(1)


def test_without_a_penalty_the_codings_say_the_same():
    data = frame().drop(columns="age")
    plain, full = (read_training(data, "y", coding=coding) for coding in ("reference", "full"))
    kept = ~full.rows.redundant
    assert_array_equal(full.X[:, kept], plain.X)
    assert not plain.rows.redundant.any()
    assert [name for name, mark in zip(full.schema.names, kept, strict=True) if mark] == list(plain.schema.names)


def test_which_level_is_the_most_frequent_does_not_matter_to_a_penalty():
    """Rows without weight make another level the most frequent, and change nothing else."""
    data = frame().drop(columns="age").assign(w=1.0, sex=lambda data: data["sex"].fillna("f"))
    answers = []
    for sex in "fm":
        training = read_training(pd.concat([data, data.assign(w=0.0, sex=sex)]), "y", weights="w", coding="full")
        model = LogisticRegression(alpha=0.1).fit(training.rows, training.y, sample_weight=training.weights)
        assert training.schema.columns[1].reference == sex
        answers.append(model.predict_proba(training.rows[: len(data)]))
    assert_allclose(*answers, atol=1e-8)


def test_an_unseen_level_is_the_average_of_the_levels():
    training = read_training(frame(), "y", coding="full")
    X, report = training.schema.encode_batch(pd.DataFrame({"age": [40.0], "town": ["z"], "sex": ["f"], "member": [1]}))
    assert_allclose(X[0, 2:6], training.schema.columns[1].shares)
    assert X[0, 6] == 0
    assert report.unseen == {"town": {"z": 1}}


def test_a_level_called_other_takes_the_rare_ones_in():
    """Somebody has pooled levels before, under the name that pooled levels have."""
    levels = ["(other)"] * 60 + ["a"] * 30 + ["b", "c", "d", "e", "f", "g"]
    data = pd.DataFrame({"v": levels, "x": np.arange(96.0) ** 2, "y": np.arange(96) % 2})
    for coding, names in (("full", ("v=(other)", "v=a", "x")), ("reference", ("v=a", "x"))):
        training = read_training(data, "y", coding=coding)
        assert training.schema.names == names
        assert_array_equal(training.X[90:, names.index("v=a")], 0)
        assert training.schema.columns[0].shares == pytest.approx([66 / 96, 30 / 96][-len(names) + 1 :])


def test_a_category_of_one_level_is_left_out():
    data = frame()
    data["town"] = ["a"] * 238 + ["b", None]
    schema = read_training(data, "y", coding="full").schema
    assert "'a'" in schema.columns[1].dropped
    assert not any(name.startswith("town") for name in schema.names)


def test_the_coding_is_kept_and_checked():
    schema = read_training(frame(), "y", coding="full").schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    for ask in (lambda: read_training(frame(), "y", coding="onehot"), lambda: TableEncoder(coding="x").fit(frame())):
        with pytest.raises(ParameterError, match="coding"):
            ask()


@pytest.mark.parametrize("to", [lambda data: data, pl.from_pandas, lambda data: pl.from_pandas(data).to_arrow()])
def test_the_encoder_gives_named_rows_of_any_frame(to):
    data = frame().drop(columns="y")
    rows = TableEncoder(coding="full").fit(to(data)).rows(to(data))
    assert rows.names == NAMES
    assert rows.redundant.sum() == 2
    assert_array_equal(rows.values, read_training(frame(), "y", coding="full").X)


@pytest.mark.parametrize(
    ("name", "settings", "coding"),
    [
        ("logistic", {}, "reference"),
        ("logistic", {"alpha": "0.0", "firth": "true"}, "reference"),
        ("logistic", {"alpha": 1e-3}, "full"),
        ("lda", {"shrinkage": "none"}, "reference"),
        ("lda", {"shrinkage": "oas"}, "full"),
        ("perceptron", {}, "reference"),
        ("svm", {}, "sparse"),
        ("naive-bayes", {}, "full"),
    ],
)
def test_the_coding_is_that_of_the_model(name, settings, coding):
    assert coding_for(name, settings) == coding


def test_naive_bayes_takes_all_levels_for_one_category():
    """The levels of full coding share out one row, which is what a categorical column is."""
    data = frame().drop(columns=["age", "member"]).assign(town=lambda data: data["town"].fillna("gap"))
    data["sex"] = data["sex"].fillna("f")
    training = read_training(data, "y", coding="full", rare=1)
    model = new_model("naive-bayes", training.schema).fit(training.X, training.y)
    whole = NaiveBayes().fit(data[["town", "sex"]], data["y"])
    assert_allclose(model.predict_proba(training.X), whole.predict_proba(data[["town", "sex"]]), atol=0.01)
