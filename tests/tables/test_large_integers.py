"""Whole numbers above 2**53 keep every digit as classes and as columns that are passed on, wherever they come from."""

import io
import json
import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discriminant import LinearDiscriminantAnalysis, evaluate, export, load, save
from discriminant.data import encode_labels, label_array
from discriminant.errors import ColumnError, InputError, LabelError, ModelFileError, ParameterError
from discriminant.tables import open_table, read_training

#: Neighbours that are one number as floats.
CLASSES = {
    "int64": (2**53 + 1, 2**53 + 2),
    "negative": (-(2**53) - 2, -(2**53) - 1),
    "largest int64": (2**63 - 2, 2**63 - 1),
    "uint64": (2**63 + 1, 2**63 + 2),
    "both sides": (0, 2**64 - 1),
}
N = 40
X = np.column_stack([np.sin(np.arange(N)) + np.arange(N) % 2, np.cos(np.arange(N))])


def labels_of(pair):
    return [pair[i % 2] for i in range(N)]


def sources(y):
    """The same table in many forms."""
    kind = np.uint64 if max(y) >= 2**63 else np.int64
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "y": y}
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    text = "a,b,y\n" + "".join(f"{a!r},{b!r},{label}\n" for a, b, label in zip(*columns.values(), strict=True))
    typed = columns | {"y": np.array(y, dtype=kind)}
    yield "text", lambda: io.BytesIO(text.encode())
    yield "text with a gap", lambda: io.BytesIO(f"{text}0,0,\n".encode())
    yield "JSON", lambda: io.BytesIO(json.dumps(records).encode())
    yield "pandas", lambda: pd.DataFrame(typed)
    yield "pandas with a gap", lambda: pd.DataFrame(typed).astype({"y": f"{'U' * (kind == np.uint64)}Int64"})
    yield "polars", lambda: pl.DataFrame(typed)
    yield "pyarrow", lambda: pa.table(typed)
    yield "decimals", lambda: pa.table(columns | {"y": pa.array(y, pa.decimal128(38, 0))})


@pytest.mark.parametrize("pair", CLASSES.values(), ids=CLASSES)
def test_tables_keep_the_digits_of_classes(pair):
    for name, source in sources(labels_of(pair)):
        training = read_training(source(), "y")
        assert training.y.tolist() == labels_of(pair), name
        assert training.y.dtype.kind in "iu", name
        assert training.schema.target.classes == pair, name
        again, present = training.schema.labels(open_table(source()).read())
        assert again.tolist() == labels_of(pair)[: present.sum()], name


@pytest.mark.parametrize("pair", CLASSES.values(), ids=CLASSES)
def test_models_and_files_keep_the_digits_of_classes(pair, tmp_path):
    y = labels_of(pair)
    kind = pl.UInt64 if max(y) >= 2**63 else pl.Int64
    for given in (y, np.array(y, dtype=object), pd.Series(y), pl.Series(y, dtype=kind)):
        model = LinearDiscriminantAnalysis().fit(X, given)
        assert set(model.predict(X).tolist()) == set(pair)
        assert evaluate(model, X, given).classes.tolist() == list(pair)
    save(model, tmp_path / "m.dsc")
    stored = load(tmp_path / "m.dsc")
    assert stored.classes_.tolist() == list(pair)
    assert stored.classes_.dtype.kind in "iu"
    expected = model.predict(X).tolist()
    names: dict = {}
    exec(export(model, "python"), names)
    rows = [{"x0": a, "x1": b} for a, b in X.tolist()]
    assert [names["predict"](row) for row in rows] == expected
    assert json.loads(export(model, "json"))["classes"] == list(pair)
    session = onnxruntime.InferenceSession(export(model, "onnx"))
    assert session.run(["label"], {"X": X})[0].tolist() == expected


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("pair", CLASSES.values(), ids=CLASSES)
def test_sql_keeps_the_digits_of_classes(pair, engine):
    model = LinearDiscriminantAnalysis().fit(X, labels_of(pair))
    with sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect() as database:
        if engine == "sqlite":
            database.create_function("EXP", 1, np.exp)
        database.execute("CREATE TABLE data (x0 DOUBLE PRECISION, x1 DOUBLE PRECISION)")
        database.executemany("INSERT INTO data VALUES (?, ?)", X.tolist())
        found = [int(row[0]) for row in database.execute(export(model, "sql", dialect=engine)).fetchall()]
    database.close()
    assert found == model.predict(X).tolist()


def test_what_no_integer_type_holds_is_text_in_tables(tmp_path):
    pair = (2**64, 10**30)
    text = "a,y\n" + "".join(f"{i % 7},{label}\n" for i, label in enumerate(labels_of(pair)))
    training = read_training(io.BytesIO(text.encode()), "y")
    assert training.schema.target.kind == "text"
    assert set(training.y.tolist()) == {str(label) for label in pair}
    mixed = "a,y\n" + "".join(f"{i % 7},{label}\n" for i, label in enumerate(labels_of((-1, 2**63))))
    assert set(read_training(io.BytesIO(mixed.encode()), "y").y.tolist()) == {"-1", str(2**63)}
    model = LinearDiscriminantAnalysis().fit(X, labels_of(pair))
    assert set(model.predict(X).tolist()) == set(pair)
    with pytest.raises(ModelFileError, match="more than 64 bits"):
        save(model, tmp_path / "m.dsc")
    with pytest.raises(ParameterError, match="18446744073709551616"):
        export(model, "onnx")
    with pytest.raises(ColumnError, match="64 bits"):
        open_table(pd.DataFrame({"a": X[:, 0], "y": labels_of(pair)}))
    with pytest.raises(LabelError, match="i128"):
        LinearDiscriminantAnalysis().fit(X, pl.Series(labels_of(pair), dtype=pl.Int128))


def test_floats_that_may_have_lost_digits_are_refused_as_classes():
    floats = pd.DataFrame({"a": X[:, 0], "y": np.array(labels_of((2**53, 2**54)), dtype=np.float64)})
    with pytest.raises(InputError, match="18014398509481984"):
        read_training(floats, "y")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "9223372036854775808"], [1, 2**63]),
        (["18446744073709551615", "18446744073709551614"], [2**64 - 1, 2**64 - 2]),
        (["-1", "123456789012345678901234567890"], [-1, 123456789012345678901234567890]),
        (["1e300", "2"], [1e300, 2.0]),
        (["1.5", "92233720368547758080"], [1.5, 92233720368547758080.0]),
        (["", "9223372036854775809"], [None, 2**63 + 1]),
        (["1" * 40, "2"], ["1" * 40, "2"]),
    ],
    ids=str,
)
def test_columns_of_text_keep_their_digits(texts, expected):
    text = "id,y\n" + "".join(f"{value},{label}\n" for value, label in zip(texts, "uv", strict=True))
    assert open_table(io.BytesIO(text.encode())).read()["id"].to_pylist() == expected
    parts = open_table(io.BytesIO(text.encode())).batches(1)
    assert [value for part in parts for value in part["id"].to_pylist()] == expected


@pytest.mark.parametrize("first", ["", "9007199254740993"])
@pytest.mark.parametrize("value", [2**53 + 1, 2**63, 2**64 - 1, -(10**30), 10**50])
def test_a_late_large_number_keeps_its_digits(first, value, monkeypatch):
    monkeypatch.setattr("discriminant.tables.delimited.PART_BYTES", 200)
    monkeypatch.setattr("discriminant.tables.delimited.MIN_PART_ROWS", 1)
    text = "id,y\n" + f"{first},u\n" * 200 + f"{value},v\n"
    for tables in (lambda table: [table.read()], lambda table: table.batches(100)):
        found = [number for each in tables(open_table(io.BytesIO(text.encode()))) for number in each["id"].to_pylist()]
        assert str(found[-1]) == str(value)
        assert {str(number or "") for number in found[:200]} == {first}


def test_large_numbers_are_still_numbers_to_learn_from():
    text = "wei,y\n" + "".join(f"{10**19 + 10**18 * (i * 7 % 11)},{'uv'[i % 2]}\n" for i in range(40))
    (column,) = read_training(io.BytesIO(text.encode()), "y").schema.used
    assert column.kind == "number"


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_integers_of_every_type_are_coded(kind):
    ends = np.iinfo(kind)
    for values in ([ends.min, ends.max], [ends.max - 3, ends.max], [ends.min, ends.min + 2], [0, 1]):
        y = np.array(values * 3, dtype=kind)
        classes, codes = encode_labels(y, len(y))
        assert classes.tolist() == values
        assert classes.dtype == kind
        assert codes.tolist() == [0, 1] * 3
        assert label_array(values).tolist() == values
