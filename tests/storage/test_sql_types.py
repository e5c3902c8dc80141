"""Exported queries are right or stop, whatever type the database gave a column."""

import csv
import datetime
import io
import sqlite3
from importlib.resources import files
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discriminant import LogisticRegression, NaiveBayes
from discriminant.storage.export import export
from discriminant.tables import open_table, read_training

REFERENCE = Path(__file__).parent.parent / "reference"
TARGETS = {"endometrial": "HG", "iris": "Species", "lbw": "low", "ucla_admit": "admit", "vowel": "y"}


def survey(n=240):
    """A table whose columns a database takes for truth values, numbers and dates, with gaps and spaces."""
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=n)
    pair = (y + (rng.random(n) < 0.35)) % 2
    frame = {
        "smoker": np.array(["No", "Yes"])[pair],
        "member": np.array(["f", "t"])[rng.permutation(pair)],
        "flag": np.array(["false", "true"])[rng.permutation(pair)],
        "area": np.array(["1", "2", "10"])[(pair + rng.integers(2, size=n)) % 3],
        "size": [f"{value:.2f}" for value in y + rng.normal(size=n)],
        "age": np.where(rng.random(n) < 0.2, "NA", (40 + 8 * y + rng.integers(30, size=n)).astype(str)),
        "arm": np.where(rng.random(n) < 0.2, "", np.array(["a", "b", "it's"])[(y + rng.integers(2, size=n)) % 3]),
        "answer": np.array(["no", "yes"])[y],
    }
    return pd.DataFrame(frame).to_csv(index=False)


def fitted_to(path, target, **options):
    """A model of a text file, its schema, and what the model says of the rows of the file."""
    training = read_training(open_table(path, target), target, **options)
    model = LogisticRegression(alpha=0.01).fit(training.X, training.y)
    X, report = training.schema.encode_batch(open_table(path, types=training.schema.types).read())
    assert not report.unseen
    return model, training.schema, model.predict(X).tolist(), model.predict_proba(X)


def assert_same(rows, labels, probabilities):
    assert [row[0] for row in rows] == labels
    np.testing.assert_allclose(np.array([row[1:] for row in rows], dtype=float), probabilities, rtol=0, atol=1e-9)


@pytest.fixture(params=[*TARGETS, "survey"])
def table(request, tmp_path):
    if request.param == "survey":
        path = tmp_path / "survey.csv"
        path.write_text(survey())
        return path, *fitted_to(path, "answer", types={"area": "category"})
    path = (
        files("discriminant.datasets") / "vowel.csv" if request.param == "vowel" else REFERENCE / f"{request.param}.csv"
    )
    return path, *fitted_to(path, TARGETS[request.param])


def test_files_that_duckdb_reads(table):
    path, model, schema, labels, probabilities = table
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE data AS SELECT * FROM read_csv('{path}', header=true, nullstr=['', 'NA'])")
        found = connection.execute(export(model, "sql", schema=schema, dialect="duckdb")).fetchall()
    assert_same(found, labels, probabilities)


def test_numbers_as_text_stop_the_query(table):
    path, model, schema, *_ = table
    numbers = "|".join(column.name for column in schema.used if column.kind != "category")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE data AS SELECT * FROM read_csv('{path}', header=true, all_varchar=true)")
        with pytest.raises(duckdb.Error, match=f"Column '({numbers})'"):
            connection.execute(export(model, "sql", schema=schema, dialect="duckdb"))


def test_duckdb_takes_the_survey_for_truth_values_and_numbers(tmp_path):
    (tmp_path / "survey.csv").write_text(survey())
    types = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE '{tmp_path / 'survey.csv'}')").fetchall())
    assert [types[name] for name in ("smoker", "member", "flag")] == ["BOOLEAN"] * 3
    assert [types[name] for name in ("area", "size", "age")] == ["BIGINT", "DOUBLE", "VARCHAR"]


def names_and_rows(path):
    names, *rows = csv.reader(io.StringIO(path.read_text()))
    return names, [[None if value in ("", "NA") else value for value in row] for row in rows]


def test_files_in_sqlite(table):
    path, model, schema, labels, probabilities = table
    names, rows = names_and_rows(path)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (" + ", ".join(f'"{name}" NUMERIC' for name in names) + ")")
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(names))})", rows)
    found = connection.execute(export(model, "sql", schema=schema, dialect="sqlite")).fetchall()
    connection.close()
    assert_same(found, labels, probabilities)


def test_files_in_postgresql(table, postgres):
    path, model, schema, labels, probabilities = table
    source = f"read_csv('{path}', header=true, nullstr=['', 'NA'])"
    found = duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {source})")
    kinds = {"BOOLEAN": "boolean", "BIGINT": "smallint", "DOUBLE": "double precision"}
    columns = ", ".join(f'"{name}" {kinds.get(kind, "text")}' for name, kind in found.fetchall())
    postgres.execute(f"CREATE TEMPORARY TABLE data ({columns})")
    try:
        with postgres.cursor().copy("COPY data FROM STDIN") as copy:
            for row in names_and_rows(path)[1]:
                copy.write_row(row)
        found = postgres.execute(export(model, "sql", schema=schema, dialect="postgresql")).fetchall()
    finally:
        postgres.execute("DROP TABLE data")
    assert_same(found, labels, probabilities)


def one_column(levels):
    """A model of one category, and its schema."""
    rng = np.random.default_rng(0)
    values = [level for level in levels for _ in range(20)]
    frame = pd.DataFrame({"v": values, "y": rng.permutation(np.arange(len(values)) % 3 == 0)})
    training = read_training(frame, "y", types={"v": "category"})
    return LogisticRegression(alpha=0.01).fit(training.X, training.y), training.schema


def answers(database, model, schema, values, kind):
    """The rows of one column of a type, as the query answers them."""
    query = export(model, "sql", schema=schema, dialect=database.dialect)
    return database.answers(query, pd.DataFrame({"v": pd.Series(values, dtype=object)}), types={"v": kind})


RIGHT = [
    (["Yes", "No"], "BOOLEAN", [True, False, None], ["Yes", "No", None]),
    (["ja", "nein"], "BOOLEAN", [True, False], ["ja", "nein"]),
    (["Yes", "No"], "INTEGER", [1, 0], ["Yes", "No"]),
    (["01", "2", "x"], "INTEGER", [1, 2, 3], ["01", "2", "new"]),
    (["1.0", "+5", ".5", "1e3"], "DOUBLE PRECISION", [1.0, 5.0, 0.5, 1000.0], ["1.0", "+5", ".5", "1e3"]),
    (["0.1", "2.5"], "REAL", [0.1, 2.5], ["0.1", "2.5"]),
    (["2.5", "1"], "DECIMAL(8, 3)", [2.5, 1], ["2.5", "1"]),
    (["a", "b"], "VARCHAR", [" a\t", "b ", "", "NA", "c"], ["a", "b", None, None, "new"]),
    (["1", "01"], "VARCHAR", ["1", "01 "], ["1", "01"]),
    (["0x10", "1_000"], "INTEGER", [16, 1000], ["0x10", "1_000"]),
    (["Yes", "true", "1"], "VARCHAR", ["true", "1"], ["true", "1"]),
]
#: Levels in other spellings, which Python reads and SQL refuses.
OTHER_SPELLINGS = [
    (["Yes", "No"], "VARCHAR", ["TRUE", " n ", "1", "2"], ["Yes", "No", "Yes", "new"]),
    (["9007199254740993", "9007199254740992"], "BIGINT", [9007199254740993], ["9007199254740993"]),
    (["1", "01"], "VARCHAR", ["1.0"], ["new"]),
    (["1", "0.5"], "VARCHAR", ["1.0", ".5", "01 ", "1_0"], ["1", "0.5", "1", "new"]),
    (["Yes", "true", "1"], "VARCHAR", ["TRUE"], ["new"]),
]


@pytest.mark.parametrize(("levels", "kind", "values", "texts"), RIGHT, ids=[f"{c[0]} {c[1]}" for c in RIGHT])
def test_levels_are_found_by_what_they_mean(levels, kind, values, texts, database):
    model, schema = one_column(levels)
    X, _ = schema.encode_batch(pa.table({"v": pa.array(texts, pa.string())}))
    assert_same(answers(database, model, schema, values, kind), model.predict(X).tolist(), model.predict_proba(X))


WRONG = [
    (["Yes", "true", "No"], "BOOLEAN", True),
    (["Yes", "No", "maybe"], "INTEGER", 1),
    (["blau", "rot"], "BOOLEAN", True),
    (["1", "01"], "INTEGER", 1),
    (["f", "m"], "INTEGER", 0),
    (["Yes", "No"], "INTEGER", 2),
    (["05.01.2020", "06.01.2020"], "DATE", "2020-01-05"),
    (["2020-01-05", "2020-02-05"], "DATE", "2020-01-05"),
    (["2020-01-05", "2020-01-06"], "TIMESTAMP", "2020-01-05 00:00:00"),
    (["a", "b"], "BLOB", b"a"),
]


@pytest.mark.parametrize(("levels", "kind", "value"), WRONG, ids=[f"{c[0]} {c[1]}" for c in WRONG])
def test_what_cannot_be_told_stops_the_query(levels, kind, value, database):
    if kind in ("DATE", "TIMESTAMP") and database.dialect == "sqlite":
        return  # which keeps dates as text
    kind = "BYTEA" if (kind, database.dialect) == ("BLOB", "postgresql") else kind
    model, schema = one_column(levels)
    with pytest.raises(database.errors, match=r"[Cc]olumn '+v'+"):
        answers(database, model, schema, [value], kind)
    assert len(answers(database, model, schema, [None], kind)) == 1


@pytest.mark.parametrize(("levels", "kind", "values", "texts"), OTHER_SPELLINGS)
def test_levels_in_other_spellings_stop_the_query(levels, kind, values, texts, database):
    model, schema = one_column(levels)
    for value in values:
        with pytest.raises(database.errors, match=r"[Cc]olumn '+v'+"):
            answers(database, model, schema, [value], kind)


def test_truth_values_among_other_levels(database):
    model, schema = one_column(["Yes", "No", "maybe"])
    if database.dialect != "sqlite":  # which has true as 1, and that may be anything
        X, _ = schema.encode_batch(pa.table({"v": ["Yes", "No"]}))
        found = answers(database, model, schema, [True, False], "BOOLEAN")
        assert_same(found, model.predict(X).tolist(), model.predict_proba(X))


def test_floats_are_no_level_that_they_cannot_hold(database):
    model, schema = one_column(["9007199254740993", "1"])
    with pytest.raises(database.errors, match=r"[Cc]olumn '+v'+"):
        answers(database, model, schema, [9007199254740992.0], "DOUBLE PRECISION")


def test_numbers_and_truth_values_of_every_type(database):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "b": rng.random(60) < 0.5, "y": np.arange(60) % 2})
    training = read_training(frame, "y")
    model = LogisticRegression(alpha=0.01).fit(training.X, training.y)
    query = export(model, "sql", schema=training.schema, dialect=database.dialect)

    def asked(x, b, types):
        return database.answers(query, pd.DataFrame({"x": [x], "b": [b]}, dtype=object), types=types)

    for x, b, types, read in (
        (1.5, "YES", {"x": "DOUBLE PRECISION"}, (1.5, True)),
        (0.5, "f", {"x": "DOUBLE PRECISION"}, (0.5, False)),
        (None, None, {}, (None, None)),
        (2, 0, {"x": "SMALLINT", "b": "INTEGER"}, (2.0, False)),
        (1.25, 1.0, {"x": "DECIMAL(9, 4)", "b": "DOUBLE PRECISION"}, (1.25, True)),
        (True, True, {"x": "BOOLEAN", "b": "BOOLEAN"}, (1.0, True)),
        (float("nan"), None, {"x": "DOUBLE PRECISION"}, (None, None)),
    ):
        X, _ = training.schema.encode_batch(pd.DataFrame({"x": [read[0]], "b": [read[1]]}))
        assert_same(asked(x, b, types), model.predict(X).tolist(), model.predict_proba(X))
    for x, b, types in (
        ("1.5", True, {}),
        (float("inf"), True, {"x": "DOUBLE PRECISION"}),
        (1.0, "maybe", {"x": "DOUBLE PRECISION"}),
        (1.0, 2, {"x": "DOUBLE PRECISION", "b": "INTEGER"}),
    ):
        with pytest.raises(database.errors, match=r"(?i)column '+[xb]'+"):
            asked(x, b, types)


def test_naive_bayes_finds_its_levels_the_same_way(database):
    frame = pd.DataFrame({"v": ["Yes", "No", "No", "maybe"] * 5, "x": np.arange(20.0)})
    model = NaiveBayes().fit(frame, np.arange(20) // 10)
    new = frame.head(2)
    query = export(model, "sql", dialect=database.dialect)
    typed = new.assign(v=pd.Series([1, 0] if database.dialect == "sqlite" else [True, False], dtype=object))
    kind = "VARCHAR" if database.dialect == "sqlite" else "BOOLEAN"
    types = {"v": kind, "x": "DOUBLE PRECISION"}
    found = database.answers(query, new if database.dialect == "sqlite" else typed, types=types)
    assert_same(found, model.predict(new).tolist(), model.predict_proba(new))
    codes = NaiveBayes(distributions="categorical").fit(pd.DataFrame({"v": [1, 2, 1, 2, 3]}), [0, 0, 1, 1, 1])
    query = export(codes, "sql", dialect=database.dialect)
    given = pd.DataFrame({"v": [1, 3]})
    found = database.answers(query, given, types={"v": "DOUBLE PRECISION"})
    assert_same(found, codes.predict(given).tolist(), codes.predict_proba(given))
    for text in ("one", "1"):
        with pytest.raises(database.errors, match=r"[Cc]olumn '+v'+"):
            database.answers(query, pd.DataFrame({"v": [text]}))


@pytest.mark.parametrize(("levels", "kind", "values", "texts"), [*RIGHT, *OTHER_SPELLINGS])
def test_python_finds_levels_by_what_they_mean(levels, kind, values, texts):
    model, schema = one_column(levels)
    module = {}
    exec(export(model, "python", schema=schema), module)
    given = [np.float32(value) for value in values] if kind == "REAL" else values
    X, _ = schema.encode_batch(pa.table({"v": pa.array(texts, pa.string())}))
    assert_same(
        [(module["predict"]([value]), *module["predict_proba"]([value])) for value in given],
        model.predict(X).tolist(),
        model.predict_proba(X),
    )


@pytest.mark.parametrize(("levels", "kind", "value"), WRONG, ids=[f"{c[0]} {c[1]}" for c in WRONG])
def test_python_refuses_what_cannot_be_told(levels, kind, value):
    model, schema = one_column(levels)
    module = {}
    exec(export(model, "python", schema=schema), module)
    read = {"DATE": datetime.date.fromisoformat, "TIMESTAMP": datetime.datetime.fromisoformat}.get(kind, lambda v: v)
    with pytest.raises(ValueError, match="column 'v'"):
        module["predict"]([read(value)])
