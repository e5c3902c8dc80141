"""A table is coded the same way in training and in prediction, and what was decided is told."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.errors import ColumnError, InputError, LabelError, ParameterError, WeightError
from discriminant.tables import EncodingReport, Schema, open_table, read_training
from discriminant.tables.facts import Range


def passengers(n=200, seed=0):
    """A mixed table in the manner of a passenger list."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["male", "female"], n, p=[0.6, 0.4])
    return pd.DataFrame(
        {
            "passenger": np.arange(1, n + 1),
            "class": rng.integers(1, 4, n),
            "name": [f"Mx. {i} of the {rng.integers(9)}th" for i in range(n)],
            "sex": sex,
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(30, 12, n).round(1)),
            "fare": rng.exponential(30, n).round(2),
            "deck": rng.choice(["A", "B", "C", None], n, p=[0.1, 0.1, 0.1, 0.7]),
            "alone": rng.random(n) < 0.5,
            "ship": "Titanic",
            "survived": np.where(rng.random(n) < np.where(sex == "male", 0.2, 0.7), "yes", "no"),
        }
    )


def found(training, kind):
    return [finding.column for finding in training.findings if finding.kind == kind]


def said(training, kind):
    return next(finding for finding in training.findings if finding.kind == kind)


def labelled(n=60, seed=0, **columns):
    """A table with a column of numbers that tells nothing, the given ones, and a target."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=n), **columns, "y": rng.choice(["a", "b"], n)})


def test_a_mixed_table_is_coded_by_hand_alike():
    frame = passengers()
    training = read_training(frame, "survived")
    most_frequent = frame["deck"].value_counts().index[0]
    decks = [f"deck={level}" for level in "ABC" if level != most_frequent]
    names = ["class", "sex=female", "age", "age=(missing)", "fare", *decks, "deck=(missing)", "alone"]
    assert training.schema.names == tuple(names)
    by_name = dict(zip(training.schema.names, training.X.T, strict=True))
    assert_array_equal(by_name["class"], frame["class"])
    assert_array_equal(by_name["sex=female"], frame["sex"] == "female")
    assert_allclose(by_name["age"], frame["age"].fillna(frame["age"].mean()), rtol=1e-12)
    assert_array_equal(by_name["age=(missing)"], frame["age"].isna())
    assert_array_equal(by_name["deck=(missing)"], frame["deck"].isna())
    for name in decks:
        assert_array_equal(by_name[name], frame["deck"] == name[-1])
    assert_array_equal(by_name["alone"], frame["alone"])
    assert_array_equal(training.y, frame["survived"])
    assert training.X.flags.c_contiguous
    assert training.X.dtype == np.float64
    assert training.schema.sources[:4] == ("class", "sex", "age", "age")
    assert found(training, "identifier") == ["passenger", "name"]
    assert found(training, "constant") == ["ship"]
    assert found(training, "mostly missing") == ["deck"]
    assert found(training, "possible leakage") == []
    assert training.n_dropped == 0


def test_the_schema_is_told_in_words():
    frame = pd.DataFrame({"n": [1.0, None, 3.0, 5.0], "w": list("uvvv"), "b": [True, False, True, True], "k": 7})
    schema = read_training(frame.assign(y=list("abab")), "y").schema
    assert schema.describe().splitlines() == [
        "n: number; 1 missing value, imputed with the mean 3 and marked by an indicator",
        "w: category with 2 levels, reference level 'v'",
        "b: Boolean (0 or 1)",
        "k: dropped (its only value is 7)",
        "y: 2 classes, 'a' and 'b'",
    ]


@pytest.mark.parametrize("write", ["csv", "parquet", "polars", "pyarrow"])
def test_every_source_gives_the_same_rows(tmp_path, write):
    frame = passengers()
    expected = read_training(frame, "survived")
    if write == "csv":
        source = tmp_path / "t.csv"
        frame.to_csv(source, index=False)
    elif write == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(pa.Table.from_pandas(frame), source)
    else:
        source = pl.from_pandas(frame) if write == "polars" else pa.Table.from_pandas(frame)
    training = read_training(source, "survived")
    assert training.schema.names == expected.schema.names
    assert_allclose(training.X, expected.X, rtol=1e-12)
    assert_array_equal(training.y, expected.y)
    assert [finding.to_dict() for finding in training.findings] == [each.to_dict() for each in expected.findings]


def test_batches_are_coded_like_the_whole(tmp_path):
    frame = passengers(500)
    frame.to_csv(tmp_path / "t.csv", index=False)
    training = read_training(tmp_path / "t.csv", "survived")
    table = open_table(tmp_path / "t.csv", types=training.schema.types)
    total = EncodingReport()
    parts = []
    for batch in table.batches(70):
        X, report = training.schema.encode_batch(batch)
        parts.append(X)
        total = total + report
    assert_array_equal(np.vstack(parts), training.X)
    assert total.n_rows == 500
    assert total.filled == {"age": int(frame["age"].isna().sum()), "deck": int(frame["deck"].isna().sum())}
    assert not total.new_missing
    assert not total.unseen
    assert total == training.schema.encode_batch(table.read())[1]


@given(st.permutations(range(30)), st.integers(0, 100))
def test_the_order_of_rows_and_columns_does_not_matter(order, seed):
    frame = passengers(30, seed)
    schema = read_training(frame, "survived").schema
    X = schema.encode_batch(frame)[0]
    shuffled = frame.iloc[list(order), ::-1]
    assert_array_equal(schema.encode_batch(shuffled)[0], X[list(order)])
    again = read_training(shuffled[frame.columns], "survived").schema
    assert again.names == schema.names


def test_a_schema_survives_json():
    schema = read_training(passengers(), "survived").schema
    copy = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert copy == schema
    assert_array_equal(copy.encode_batch(passengers(seed=1))[0], schema.encode_batch(passengers(seed=1))[0])
    for wrong in ({}, {"version": 3}, {**schema.to_dict(), "columns": [{"title": 1}]}):
        with pytest.raises(InputError, match=r"Schema\.to_dict"):
            Schema.from_dict(wrong)
    with pytest.raises(InputError, match="version 9"):
        Schema.from_dict({**schema.to_dict(), "version": 9})


# ---- missing values


def test_missing_values_where_training_had_none():
    schema = read_training(labelled(w=list("uvw") * 20), "y").schema
    batch = pd.DataFrame({"x": [1.0, None], "w": [None, "v"]})
    X, report = schema.encode_batch(batch)
    assert_array_equal(X, [[1, 0, 0], [schema.columns[0].mean, 1, 0]])
    assert report.filled == report.new_missing == {"x": 1, "w": 1}
    assert schema.columns[1].reference == "u"


def test_rows_with_missing_values_can_be_left_out():
    frame = passengers()
    training = read_training(frame, "survived", missing="drop")
    whole = frame[["age", "deck"]].notna().all(axis=1).to_numpy()
    assert_array_equal(training.row_numbers, np.flatnonzero(whole))
    assert training.n_dropped == np.count_nonzero(~whole)
    assert "deck=(missing)" not in training.schema.names
    assert str(np.count_nonzero(~whole)) in said(training, "incomplete rows").message
    X, report = training.schema.encode_batch(frame)
    assert_array_equal(report.kept, whole)
    assert report.n_dropped == training.n_dropped
    assert_array_equal(X, training.X)


def test_missing_values_can_be_refused():
    frame = labelled(u=[1.0, None, 2.0] * 20)
    with pytest.raises(InputError, match=r"'u' .* 20 .* row 1"):
        read_training(frame, "y", missing="refuse")
    schema = read_training(frame.dropna(), "y", missing="refuse", drop=["u"]).schema
    with pytest.raises(InputError, match=r"'x' .* 1 "):
        schema.encode_batch(pd.DataFrame({"x": [1.0, None]}))
    with pytest.raises(InputError, match="<frame>"):
        read_training(labelled(u=[1.0, None, 2.0, None] * 15, v=[None, 2.0, None, 3.0] * 15), "y", missing="drop")


def test_columns_missing_together_have_one_mark():
    frame = labelled(u=[1.0, None, 3.0] * 20, v=[5.0, None, 2.5] * 20, w=["p", None, "q"] * 20)
    training = read_training(frame, "y")
    assert training.schema.names == ("x", "u", "u=(missing)", "v", "w=q")
    assert found(training, "missing values") == ["u", "v", "w"]


def test_codes_for_missing_values_in_text_files():
    text = "n,w,y\n1,?,a\nNA,u,b\n3,v,a\n-,u,b\n5,,a\n6,v,b\n"
    training = read_training(io.BytesIO(text.encode()), "y")
    assert training.schema.names == ("n", "n=(missing)", "w=v", "w=(missing)")
    assert_array_equal(training.X[:, 3], [1, 0, 0, 0, 1, 0])
    assert training.schema.columns[0].mean == 3.75


def test_signs_are_levels_beside_other_signs():
    text = "rh,n,y\n" + "+,1,-\n-,2,+\n+,3,+\n-,5,-\n"
    training = read_training(io.BytesIO(text.encode()), "y")
    assert training.schema.names == ("rh=-", "n")
    assert training.y.tolist() == ["-", "+", "+", "-"]


def test_spaces_around_levels_of_text_files_do_not_count():
    text = "w, n, y\nu, 1, a\nv , 2, b\n u, 3, a\nv, 4, b\n"
    training = read_training(io.BytesIO(text.encode()), "y")
    assert training.schema.columns[0].levels == ("u", "v")
    assert training.schema.target.classes == ("a", "b")


# ---- levels


def test_unseen_levels():
    rare = ["common"] * 50 + [f"rare{i // 2}" for i in range(10)]
    frame = labelled(plain=list("uvw") * 20, gaps=["p", "q", None] * 20, many=rare)
    schema = read_training(frame, "y", max_levels=3, rare=1).schema
    new = pd.DataFrame({"x": [0.0, 0.0], "plain": ["new", "u"], "gaps": ["new", "q"], "many": ["new", "rare4"]})
    X, report = schema.encode_batch(new)
    by_name = dict(zip(schema.names, X.T, strict=True))
    assert [by_name[name][0] for name in ("plain=v", "plain=w", "gaps=q", "gaps=(missing)")] == [1 / 3, 1 / 3, 1 / 2, 0]
    assert_array_equal(by_name["many=(other)"], [6 / 60, 1])
    assert report.unseen == {"plain": {"new": 1}, "gaps": {"new": 1}, "many": {"new": 1}}


def test_rare_levels_are_pooled():
    many = [f"level{i:03}" for i in range(80)] * 3 + ["common"] * 60
    training = read_training(labelled(n=300, many=many), "y", rare=1)
    column = training.schema.columns[1]
    assert len(column.levels) == 50
    assert column.pooled == 31
    assert column.reference == "common"
    assert said(training, "many levels").column == "many"
    assert training.X[:, training.schema.names.index("many=(other)")].sum() == 93


def test_numbers_declared_categories_and_back():
    frame = labelled(zip=[1, 2, 3] * 20, text=["1", "2", "30"] * 20, flag=["yes", "no"] * 30)
    types = {"zip": "category", "text": "number", "flag": "boolean"}
    training = read_training(frame, "y", types=types)
    assert training.schema.names == ("x", "zip=2", "zip=3", "text", "flag")
    assert_array_equal(training.X[:3, 1:], [[0, 0, 1, 1], [1, 0, 2, 0], [0, 1, 30, 1]])
    assert training.schema.types == {"x": "number", **types, "zip": "number"}  # codes are read as numbers
    again = training.schema.encode_batch(pd.DataFrame({"x": [0.0], "zip": ["3"], "text": [30.0], "flag": [True]}))[0]
    assert_array_equal(again, [[0, 0, 1, 30, 1]])


def test_postcodes_keep_their_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("zip,n,y\n" + "01234,1,a\n98765,2,b\n01234,4,b\n" * 5)
    assert read_training(tmp_path / "t.csv", "y").schema.names[0] == "zip=98765"


def test_wide_and_thin_tables_are_coded_sparse():
    rng = np.random.default_rng(0)
    columns = {f"w{j}": rng.choice([f"l{i:02}" for i in range(45)], 600) for j in range(30)}
    frame = labelled(n=600, **columns)
    training = read_training(frame, "y")
    assert sp.issparse(training.X)
    assert training.X.format == "csr"
    assert training.X.shape == (600, len(training.schema.names))
    dense = pd.get_dummies(frame.drop(columns="y")).rename(columns=lambda name: name.replace("_", "="))
    assert_array_equal(training.X.toarray(), dense[list(training.schema.names)].astype(float))
    parts = [training.schema.encode_batch(frame[i : i + 100])[0] for i in range(0, 600, 100)]
    assert (sp.vstack(parts) != training.X).nnz == 0


# ---- prediction on other tables


def test_columns_that_are_not_there_or_too_many():
    schema = read_training(labelled(u=[1.0, 2.0, 4.0] * 20), "y").schema
    with pytest.raises(ColumnError, match=r"'u'.* 'U'"):
        schema.encode_batch(pd.DataFrame({"x": [1.0], "U": [2.0]}))
    X, report = schema.encode_batch(pd.DataFrame({"x": [1.0], "z": [2.0], "y": ["a"]}), missing_columns="missing")
    assert_array_equal(X, [[1, schema.columns[1].mean]])
    assert report.missing_columns == ("u",)
    assert report.extra == ("z",)
    with pytest.raises(ParameterError, match="missing_columns"):
        schema.encode_batch(pd.DataFrame({"x": [1.0]}), missing_columns="ignore")


@pytest.mark.parametrize(
    ("values", "message"),
    [(pd.to_datetime(["2020-01-01", "2021-01-01"]), "'x' .*timestamp"), ([1.0, np.inf], "'x' .* row 11")],
)
def test_a_number_that_is_none_any_more(values, message):
    schema = read_training(labelled(), "y").schema
    with pytest.raises(InputError, match=message):
        schema.encode_batch(pd.DataFrame({"x": values}), first_row=10)


def test_numbers_that_came_as_text_are_read():
    schema = read_training(labelled(b=[True, False] * 30), "y").schema
    X, report = schema.encode_batch(pd.DataFrame({"x": ["1.5", " 2", "NA"], "b": ["Yes", "false", "1"]}))
    assert_array_equal(X, [[1.5, 1], [2, 0], [schema.columns[0].mean, 1]])
    assert report.filled == {"x": 1}
    with pytest.raises(ColumnError, match=r"'b' .* 2\.0"):
        schema.encode_batch(pd.DataFrame({"x": [1.0], "b": [2]}))


def test_what_is_no_table():
    schema = read_training(labelled(), "y").schema
    with pytest.raises(InputError, match="list"):
        schema.encode_batch([[1.0]])


def test_labels_of_new_rows():
    schema = read_training(labelled(), "y").schema
    labels, present = schema.labels(pd.DataFrame({"y": ["b", None, "a"]}))
    assert labels.tolist() == ["b", "a"]
    assert present.tolist() == [True, False, True]
    with pytest.raises(LabelError, match="'c'"):
        schema.labels(pd.DataFrame({"y": ["c"]}))


# ---- findings


def test_constant_empty_and_duplicate_columns():
    rng = np.random.default_rng(1)
    sex = rng.choice(["male", "female"], 60)
    numbers = rng.integers(0, 5, 60)
    frame = labelled(
        one=[1] * 60,
        word=["w"] * 60,
        gaps=[2.0, None] * 30,
        nothing=[None] * 60,
        empty=[np.nan] * 60,
        numbers=numbers,
        floats=numbers.astype(float),
        sex=sex,
        code=np.where(sex == "male", "M", "F"),
    )
    training = read_training(frame, "y")
    assert found(training, "constant") == ["one", "word", "gaps"]
    assert found(training, "empty") == ["nothing", "empty"]
    assert found(training, "duplicate column") == ["floats", "code"]
    dropped = {column.name: column.dropped for column in training.schema.columns}
    assert "'numbers'" in dropped["floats"]
    assert training.schema.names == ("x", "numbers", training.schema.names[2])


def test_columns_that_differ_in_one_row_are_no_duplicates():
    rng = np.random.default_rng(1)
    first = rng.normal(size=5000)
    second = first.copy()
    second[1234] += 1
    assert found(read_training(labelled(n=5000, first=first, second=second), "y"), "duplicate column") == []


def test_identifiers():
    rng = np.random.default_rng(2)
    frame = labelled(
        row=rng.permutation(60) + 100,
        patient_id=rng.choice(10**9, 60, replace=False),
        income=rng.choice(10**6, 60, replace=False),
        code=[f"#{i}" for i in range(60)],
        remark=[f"she said {i} times that it was not so bad at all" for i in range(60)],
    )
    training = read_training(frame, "y")
    assert found(training, "identifier") == ["row", "patient_id", "code", "remark"]
    assert training.schema.names == ("x", "income")
    assert "free text" in training.schema.columns[5].dropped
    assert "code=#1" in read_training(frame, "y", types={"code": "category"}, max_levels=60, rare=1).schema.names


def test_leaks():
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b", "c"], 90)
    rank = np.unique(y, return_inverse=True)[1]
    frame = pd.DataFrame(
        {
            "honest": rng.normal(size=90) + rank,
            "threshold": rank + rng.uniform(0, 0.9, 90),
            "each": np.array([3, 1, 2])[rank] * 10 + 5 * (rng.random(90) < 0.5),
            "level": np.where(rng.random(90) < 0.5, "u", "v") + y.astype(object),
            "gap": np.where(y == "a", np.nan, 10 * rank + rng.uniform(0, 9, 90)),
            "noise": rng.choice(list("uvw"), 90),
            "y": y,
        }
    )
    assert found(read_training(frame, "y"), "possible leakage") == ["threshold", "each", "level", "gap"]
    almost = frame.assign(threshold=frame["threshold"].where(np.arange(90) != 40, 1.5 - frame["threshold"]))
    assert "threshold" not in found(read_training(almost, "y"), "possible leakage")


def test_a_leak_is_not_seen_where_files_are_sorted():
    """Levels that hardly repeat go with one class each in a file sorted by class; that proves nothing."""
    frame = labelled(w=[f"l{i // 2}" for i in range(60)]).sort_values("y")
    assert found(read_training(frame, "y"), "possible leakage") == []


def test_nested_columns_are_refused():
    data = pa.table({"x": [1.0, 2.0], "list": [[1], [2]], "y": ["a", "b"]})
    with pytest.raises(ColumnError, match=r"'list' .* list"):
        read_training(data, "y")
    assert read_training(data, "y", drop=["list"]).schema.names == ("x",)


# ---- the target


def test_rows_without_a_label_are_left_out_and_counted():
    frame = labelled()
    frame.loc[[3, 7], "y"] = None
    training = read_training(frame, "y")
    assert training.n_dropped == 2
    assert_array_equal(training.row_numbers, np.setdiff1d(np.arange(60), [3, 7]))
    assert training.X.shape == (58, 1)
    assert found(training, "missing target") == ["y"]


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        ([0, 1] * 30, (0, 1), "integer"),
        ([2.0, 1.0] * 30, (1, 2), "integer"),
        ([True, False] * 30, (False, True), "boolean"),
        (pd.Categorical(["u", "v"] * 30), ("u", "v"), "text"),
    ],
)
def test_kinds_of_target(labels, classes, kind):
    target = read_training(labelled().assign(y=labels), "y").schema.target
    assert target.classes == classes
    assert [type(c) for c in target.classes] == [type(c) for c in classes]
    assert target.kind == kind


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (np.linspace(0, 1, 60), InputError, "'y' .* 60 .* 60 rows"),
        (np.arange(60), InputError, "'y'"),
        ([f"p{i}" for i in range(60)], InputError, "'p0'"),
        (["a"] * 60, LabelError, "'a'"),
        ([None] * 60, InputError, "'y' of <frame>"),
        ([np.inf, 1.0] * 30, InputError, "'y'"),
        ([*np.linspace(0, 1, 15)] * 4, InputError, "'y'"),
        ([1.0, 2.5] * 30, InputError, r"\(2 distinct\).* types={'y': 'category'}"),
        (pd.date_range("2020-01-01", periods=60), ColumnError, "'y' .* timestamp"),
    ],
)
def test_targets_that_are_none(labels, error, message):
    with pytest.raises(error, match=message):
        read_training(labelled().assign(y=labels), "y")


@pytest.mark.parametrize("values", [["u", None, "v"], [1.5, None, 2.5], [1.5, np.nan, 2.5]], ids=str)
def test_nothing_in_a_dictionary_is_a_missing_value(values):
    numbers = np.arange(60) % 3
    coded = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(values, from_pandas=False))
    table = pa.table({"c": coded, "y": pa.array(["a", "b"] * 30)})
    plain = pa.table({"c": pa.array([[str(values[0]), None, str(values[2])][i] for i in numbers]), "y": table["y"]})
    found, expected = (read_training(each, "y", types={"c": "category"}) for each in (table, plain))
    assert found.schema.names == expected.schema.names
    assert_array_equal(found.X, expected.X)
    assert found.schema.columns[0].missing == 20


def test_numbers_that_are_not_whole_may_be_declared_classes():
    training = read_training(labelled().assign(y=[1.0, 2.5] * 30), "y", types={"y": "category"})
    assert training.schema.target.classes == ("1.0", "2.5")


@pytest.mark.parametrize(
    ("classes", "others", "meant"),
    [
        (["1.0", "2.50"], [1.0, 2.5], ["1.0", "2.50"]),
        (["01", "02", "x"], [2, 1], ["02", "01"]),
        (["true", "false", "maybe"], [True, False], ["true", "false"]),
        (["Yes", "No"], [False, True], ["No", "Yes"]),
        ([3, 4], ["4", "3.0"], [4, 3]),
        ([False, True], ["yes", "f"], [True, False]),
        ([False, True], [0, 1], [False, True]),
        ([0, 1], [True, False], [1, 0]),
    ],
    ids=str,
)
def test_labels_read_as_another_type_are_the_classes_that_mean_the_same(classes, others, meant):
    frame = labelled(40 * len(classes)).assign(y=classes * 40)
    schema = read_training(frame, "y", types={"y": "category"} if isinstance(classes[0], str) else None).schema
    labels, _ = schema.labels(pd.DataFrame({"x": [0.0] * len(others), "y": others}))
    assert labels.tolist() == meant
    assert [type(label) for label in labels.tolist()] == [type(label) for label in meant]


def test_labels_of_another_type_that_mean_no_class_are_refused():
    schema = read_training(labelled().assign(y=["1.0", "2.50"] * 30), "y", types={"y": "category"}).schema
    with pytest.raises(LabelError, match=r"'3\.5'"):
        schema.labels(pd.DataFrame({"x": [0.0, 1.0], "y": [3.5, 1.0]}))


def test_a_table_of_classes_alone_is_refused_with_its_reason():
    with pytest.raises(InputError):
        read_training(labelled()[["y"]], "y")


def test_a_class_of_one_row_is_told():
    frame = labelled()
    frame.loc[5, "y"] = "lonely"
    assert found(read_training(frame, "y"), "single-row class") == ["y"]


def test_weights_and_groups():
    frame = labelled(w=[1.0, 2.0, 0.5] * 20, g=["s", "t"] * 30)
    training = read_training(frame, "y", weights="w", groups="g")
    assert training.schema.names == ("x",)
    assert_array_equal(training.weights, frame["w"])
    assert_array_equal(training.groups, frame["g"])
    with pytest.raises(WeightError, match=r"'w'.*row 3 .* -1"):
        read_training(frame.assign(w=[1.0, 1.0, 1.0, -1.0] * 15), "y", weights="w")
    with pytest.raises(ColumnError, match=r"'g' .* 30 .* row 1"):
        read_training(frame.assign(g=["s", None] * 30), "y", groups="g")


def test_names_that_are_wrong():
    frame = labelled()
    with pytest.raises(ColumnError, match=r"target 'Y'.* 'y'"):
        read_training(frame, "Y")
    with pytest.raises(ColumnError, match="target"):
        read_training(frame)
    with pytest.raises(ColumnError, match="column 'z'"):
        read_training(frame, "y", drop=["z"])
    with pytest.raises(ParameterError, match="'y'"):
        read_training(frame, "y", weights="y")
    with pytest.raises(ParameterError, match="drop"):
        read_training(frame, "y", drop="x")
    with pytest.raises(ParameterError, match=r"^missing "):
        read_training(frame, "y", missing="mean")
    with pytest.raises(ParameterError, match="max_levels"):
        read_training(frame, "y", max_levels=1)
    with pytest.raises(InputError):
        read_training(frame, "y", drop=["x"])
    with pytest.raises(ColumnError, match="'a=v'"):
        read_training(labelled(**{"a": ["u", "u", "v"] * 20, "a=v": [1.0, 2.0, 3.5] * 20}), "y")


def test_a_table_opened_with_its_target():
    assert read_training(open_table(labelled(), "y")).schema.target.name == "y"


# ---- sparse tables


def test_svmlight_rows_keep_their_width(tmp_path):
    (tmp_path / "t.svm").write_text("+1 1:2 4:1.5\n-1 2:1\n+1 3:7\n")
    training = read_training(tmp_path / "t.svm")
    assert_array_equal(training.X.toarray(), [[2, 0, 0, 1.5], [0, 1, 0, 0], [0, 0, 7, 0]])
    assert training.schema.names == ("1", "2", "3", "4")
    assert training.y.tolist() == [1, -1, 1]
    schema = Schema.from_dict(json.loads(json.dumps(training.schema.to_dict())))
    (tmp_path / "new.svm").write_text("-1 1:3 9:1\n+1 2:1\n")
    X, report = schema.encode_batch(open_table(tmp_path / "new.svm").read())
    assert_array_equal(X.toarray(), [[3, 0, 0, 0], [0, 1, 0, 0]])
    assert report.extra == ("9",)
    assert schema.labels(open_table(tmp_path / "new.svm").read())[0].tolist() == [-1, 1]
    with pytest.raises(InputError, match="SVMlight"):
        schema.encode_batch(pd.DataFrame({"x": [1.0]}))
    with pytest.raises(ColumnError, match=r"t\.svm"):
        read_training(open_table(tmp_path / "t.svm"), "y")


def test_svmlight_columns_that_count_from_nought(tmp_path):
    (tmp_path / "t.svm").write_text("1 0:2\n0 1:3\n")
    training = read_training(tmp_path / "t.svm")
    assert_array_equal(training.X.toarray(), [[2, 0], [0, 3]])
    assert training.schema.names == ("0", "1")
    (tmp_path / "t.svm").write_text("1 1:nan\n0 1:3\n")
    with pytest.raises(InputError, match="SVMlight"):
        read_training(tmp_path / "t.svm")


def test_sums_that_overflow_are_no_warning():
    """Values near the largest number there is have a mean, and are no infinity."""
    frame = labelled(huge=[1e308, 1e308, -1e308] * 20)
    with np.errstate(all="raise"):
        training = read_training(frame, "y")
    assert training.schema.columns[1].mean == pytest.approx(1e308 / 3)
    assert_array_equal(training.X[:, 1], frame["huge"])


def test_a_schema_with_one_column_twice_is_refused():
    described = read_training(pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "y": ["u", "v"] * 2}), "y").schema.to_dict()
    described["columns"] = [*described["columns"], *described["columns"]]
    with pytest.raises(InputError, match="'a'"):
        Schema.from_dict(described)


@given(st.lists(st.sampled_from([-0.0, 0.0, 1.5, 2.0, -7.0, 1e300, np.nan]), min_size=25, max_size=25))
def test_the_range_of_a_column_leaves_missing_values_out(values):
    column, present = np.array(values), np.array(values)[~np.isnan(values)]
    found = Range.of("x", column)
    assert found.missing == column.size - present.size
    if present.size:
        assert (found.low, found.high) == (present.min(), present.max())
        assert found.mean == pytest.approx(present.mean())
