"""Levels that training had not score as the levels do on average, and values of other types find their level."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cli.commands import run_command

from discriminant import AutoClassifier, LogisticRegression, column_effects, contributions, read_model_file
from discriminant.errors import ColumnError, DiscriminantWarning, InputError
from discriminant.tables import Schema, TableEncoder, read_training


def frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    town = np.array(["a", "b", "c", "d"])[np.minimum(rng.poisson(0.6 + y), 3)].astype(object)
    town[rng.random(n) < 0.15] = None
    return pd.DataFrame({"town": town, "x": rng.normal(size=n) + y, "w": rng.integers(0, 4, size=n), "y": y})


@pytest.mark.parametrize("weights", [None, "w"])
def test_an_unseen_level_scores_as_the_levels_do_on_average(weights):
    """Also where missing values have a column of their own: what is not known is not missing."""
    data = frame()
    training = read_training(data if weights else data.drop(columns="w"), "y", weights=weights)
    model = LogisticRegression(alpha=0.01).fit(training.X, training.y, sample_weight=training.weights)
    new = pd.DataFrame({"town": ["a", "b", "c", "d", "elsewhere"], "x": 0.3})
    X, report = training.schema.encode_batch(new)
    scores = model.decision_function(X)
    shares = data.groupby("town")["w"].sum() if weights else data["town"].value_counts().sort_index()
    assert_allclose(scores[4], scores[:4] @ shares / shares.sum(), rtol=1e-12)
    assert X[4, training.schema.names.index("town=(missing)")] == 0
    assert report.unseen == {"town": {"elsewhere": 1}}


def test_weights_are_repeated_rows():
    data = frame()
    repeated = data.loc[data.index.repeat(data["w"])].drop(columns="w")
    training = read_training(data, "y", weights="w"), read_training(repeated, "y")
    weighted, counted = (dict(zip(t.schema.names, t.schema.columns[0].shares, strict=False)) for t in training)
    for level in weighted.keys() & counted.keys():
        assert_allclose(weighted[level], counted[level], rtol=1e-12)
    huge = read_training(data.assign(w=data["w"] * 5e307), "y", weights="w").schema.columns[0].shares
    assert_allclose(huge, list(weighted.values()), rtol=1e-12)


def test_shares_are_kept_and_checked():
    schema = read_training(frame().drop(columns="w"), "y").schema
    assert Schema.from_dict(schema.to_dict()) == schema
    for wrong in ([0.5], [0.1, 0.2, 1.5], [0.1, 0.2, "a"], [0.1, 0.2, float("nan")]):
        values = schema.to_dict()
        values["columns"] = [{**values["columns"][0], "shares": wrong}, *values["columns"][1:]]
        with pytest.raises(InputError, match=r"shares|level proportions"):
            Schema.from_dict(values)


def test_sparse_rows_hold_the_same_shares():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({"many": [f"l{i:04}" for i in np.arange(3300) % 1100], "y": rng.integers(2, size=3300)})
    schema = read_training(wide, "y", max_levels=2000, rare=1).schema
    assert schema.sparse
    X, _ = schema.encode_batch(pd.DataFrame({"many": ["l0005", "new"]}))
    assert X[0].sum() == 1
    assert_allclose(X[1].toarray(), 1 / 1100)


def typed(levels):
    """The schema of a column of these levels, the first of which is the reference."""
    values = [level for level in levels for _ in range(20)] + [levels[0]]
    return read_training(
        pd.DataFrame({"v": values, "y": np.arange(len(values)) % 2}), "y", types={"v": "category"}
    ).schema


def coded(schema, values):
    X, report = schema.encode_batch(pa.table({"v": values}))
    return [schema.names[row.argmax()].removeprefix("v=") if row.any() else "first" for row in X], report.unseen


@pytest.mark.parametrize(
    ("levels", "values", "expected"),
    [
        (["first", "Yes", "No"], pa.array([True, False, None]), ["Yes", "No", "first"]),
        (["first", "t", "f"], pa.array([True, False]), ["t", "f"]),
        (["first", "on", "OFF"], pa.array([True, False]), ["on", "OFF"]),
        (["first", "1", "0"], pa.array([True, False]), ["1", "0"]),
        (["first", "01", "2"], pa.array([1, 2]), ["01", "2"]),
        (["first", "1.0", "+5", "1e3"], pa.array([1.0, 5.0, 1000.0, np.nan]), ["1.0", "+5", "1e3", "first"]),
        (["first", "0.1", "2.50"], pa.array([0.1, 2.5], pa.float32()), ["0.1", "2.50"]),
        (["first", "2.5"], pa.array([decimal.Decimal("2.50")]), ["2.5"]),
        (["first", "0x10", "1_000"], pa.array([16, 1000]), ["0x10", "1_000"]),
        (["first", "1", "0.5"], pa.array(["1.0", " 01", ".5"]), ["1", "1", "0.5"]),
        (["first", "9007199254740993"], pa.array([9007199254740993]), ["9007199254740993"]),
        (["first", "2020-01-05"], pa.array([datetime.date(2020, 1, 5)]), ["2020-01-05"]),
        (["first", "Yes"], pa.array([" Yes ", "Yes"]), ["Yes", "Yes"]),
        (["no", "Yes"], pa.array(["TRUE", "y", "1"]), ["Yes"] * 3),
        (["first", "Yes"], pa.array(["Yes", "first"]).dictionary_encode(), ["Yes", "first"]),
    ],
)  # fmt: skip
def test_values_of_another_type_are_the_levels_that_mean_the_same(levels, values, expected):
    found, unseen = coded(typed(levels), values)
    assert found == expected
    assert not unseen


def test_words_for_true_and_false_are_also_one_and_zero():
    schema = typed(["Yes", "No"])
    assert_array_equal(schema.encode_batch(pl.DataFrame({"v": [1, 0]}))[0][:, 0], [0, 1])


@pytest.mark.parametrize(
    ("levels", "values", "new"),
    [
        (["1", "2"], pa.array([3]), "3"),
        (["No", "maybe"], pa.array([True]), "true"),
        (["2020-01-05", "2020-01-06"], pa.array([datetime.date(2020, 1, 7)]), "2020-01-07"),
        (["Yes", "No", "maybe"], pa.array(["true"]), "true"),
        (["9007199254740993", "1"], pa.array([9007199254740992]), "9007199254740992"),
    ],
)
def test_values_that_no_level_means_are_unseen(levels, values, new):
    assert coded(typed(levels), values)[1] == {"v": {new: 1}}


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        (["Yes", "true", "No"], pa.array([True]), "true"),
        (["blau", "rot"], pa.array([None, True]), "true.* 'rot' and 'blau'"),
        (["1", "01"], pa.array([2, 1]), " 1"),
        (["f", "m"], pa.array([0]), " 0"),
        (["Yes", "No"], pa.array([1, 2]), " 2"),
        (["05.01.2020", "06.01.2020"], pa.array([datetime.date(2020, 1, 5)]), "dates"),
    ],
)
def test_values_whose_level_cannot_be_told_are_refused(levels, values, message):
    with pytest.raises(ColumnError, match=message):
        coded(typed(levels), values)
    assert coded(typed(levels), pa.array([None], values.type))[1] == {}


def test_the_encoder_of_frames_scores_them_alike():
    data = frame().drop(columns="w")
    encoder = TableEncoder().fit(data[["town", "x"]], data["y"])
    assert encoder.schema_.columns == read_training(data, "y").schema.columns


def test_pooled_levels_count_in_the_average_like_the_others():
    many = ["p"] * 50 + ["q"] * 30 + [f"l{i}" for i in range(20)]
    training = read_training(pd.DataFrame({"many": many, "y": np.arange(100) % 3 == 0}), "y")
    assert training.schema.names == ("many=q", "many=(other)")
    X, report = training.schema.encode_batch(pd.DataFrame({"many": ["new", "l7", "p"]}))
    assert_allclose(X, [[0.3, 0.2], [0, 1], [0, 0]], rtol=1e-12)
    (note,) = report.unseen_notes()
    assert note.startswith("'many': 1 row ")
    assert "'new'" in note


def interacting(n=300, seed=3):
    """Two classes of which a product of columns tells more than the columns do."""
    rng = np.random.default_rng(seed)
    sex, town = rng.choice(["male", "female"], n, p=[0.65, 0.35]), rng.choice(["a", "b", "c"], n)
    age = rng.normal(40, 12, n)
    score = (sex == "male") * (age - 40) / 4 - (sex == "female") * (age - 40) / 6 + (town == "b")
    return pd.DataFrame(
        {"sex": sex, "town": town, "age": age, "ill": np.where(score + rng.logistic(size=n) > 0, "y", "n")}
    )


@pytest.mark.parametrize("families", [None, ["products"], ["rda"], ["naive-bayes"], "linear"])
def test_an_unseen_level_is_answered_within_the_range_of_the_levels(families):
    data = interacting()
    model = AutoClassifier(families).fit(data.drop(columns="ill"), data["ill"])
    new = pd.DataFrame(
        [(sex, town, age) for age in (10.0, 40.0, 75.0) for town in "abc" for sex in ("male", "female", "other")],
        columns=["sex", "town", "age"],
    )
    with pytest.warns(DiscriminantWarning, match="'male'"):
        found = model.predict_proba(new)[:, 1].reshape(-1, 3)
    assert np.all(found[:, 2] >= found[:, :2].min(axis=1) - 1e-12)
    assert np.all(found[:, 2] <= found[:, :2].max(axis=1) + 1e-12)


def test_effects_of_levels_are_compared_with_their_average():
    """Of two levels one lies above their average and one below, also where scores are not linear."""
    data = interacting()
    model = AutoClassifier(["products"]).fit(data.drop(columns="ill"), data["ill"])
    schema, X = model.encoder_.schema_, model.encoder_.transform(data.drop(columns="ill"))
    means = X.mean(axis=0)
    effect = column_effects(model, means, X.min(axis=0), X.max(axis=0))["sex"]
    changes = {point.value: point.estimate for point in effect.points}
    shares = data["sex"].value_counts(normalize=True)
    assert_allclose(sum(shares[level] * changes[level] for level in shares.index), 0, atol=1e-10)
    rows = pd.DataFrame({"sex": ["male", "female"], "town": "a", "age": 70.0})
    signs = []
    for row in model.encoder_.transform(rows):
        found = contributions(model, row, means, schema)
        (own,) = (one.contribution for one in found.rows if one.column == "sex")
        signs.append(own if found.label == "y" else -own)
    assert_allclose(shares[["male", "female"]] @ signs, 0, atol=1e-10)


@pytest.mark.parametrize(("name", "is_linear"), [("auto", False), ("qda", False), ("lda", True)])
def test_the_model_file_says_how_unseen_levels_are_coded(tmp_path, name, is_linear):
    data = interacting()
    data.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.dsc"
    assert run_command("fit", tmp_path / "t.csv", "-t", "ill", "--model", name, "-o", model).code == 0
    schema = Schema.from_dict(read_model_file(model).schema)
    columns = [column for column in schema.used if column.kind == "category"]
    assert ["average" in column.unseen_as for column in columns] == [is_linear] * 2
