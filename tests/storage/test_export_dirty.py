"""Dirty but recognised values get the same answers from every export as from the model, or stop it by their column.

Every column is learned from text, as a file has it, and every value is asked of the model and of each export as text.
What the model itself cannot read (and takes for missing, with a warning) may stop an export, too.
"""

import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from databases import PostgreSQL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_export import as_onnx, as_python

from discriminant import LogisticRegression
from discriminant.storage.export import export
from discriminant.tables import open_table, read_training

rng = np.random.default_rng(8)
DAYS = [f"20{y:02d}-{m:02d}-{d:02d}" for y, m, d in rng.integers([10, 1, 1], [24, 13, 29], (40, 3))]
CLOCKS = [f"{h:02d}:{m:02d}:{s:02d}" for h, m, s in rng.integers(0, [24, 60, 60], (40, 3))]
MOMENTS = list(zip(DAYS, CLOCKS, strict=True))
NUMBERS = rng.normal(50, 9, 40)
ZONES = ("", "Z", " UTC", "GMT", "+02", "-0330", "+05:30", " -11:00", "+00:00")


@dataclass
class Case:
    """Values of a column in training, what it is declared to be, and other values that it may get."""

    learned: list
    others: list
    types: dict = field(default_factory=dict)


BOOLEAN, CATEGORY = {"v": "boolean"}, {"v": "category"}
COLUMNS = {
    "days": Case(DAYS, ["2012-01-01", " 2013-02-28\t", "2012/02/29", "2012-1-5", "NA", "", "2011-02-29", "9999-99-99"]),
    "iso": Case(
        [f"{day}T{clock}Z" for day, clock in MOMENTS],
        [f"2012-01-01{t}16:00:32{part}{zone}" for t in "T " for part in ("", ".25", ",5") for zone in ZONES]
        + ["2012-01-01T16:00Z", "2012-01-01", "2012-01-01Z", "2012-01-01-03", "2012-01-01T16:00:32+2"]
        + ["2012-01-01T9:00Z", "2012-02-30T09:00Z", "2012-01-01T24:00Z", "2012-01-01T16:00:32+ab", "-03:00", "Z"],
    ),
    "local": Case(
        [f"{day[8:]}.{day[5:7]}.{day[:4]} {clock[:5]}" for day, clock in MOMENTS],
        [f"05.02.2012 16:00{zone}" for zone in ZONES]
        + ["05.02.2012", "5.2.2012", "05.02.12", "05/02/2012 4:00 pm", "31.04.2012"],
    ),
    "clock": Case(CLOCKS, [f"16:00:32{zone}" for zone in ZONES] + ["9:05", "23:59", "4:00 PM", "25:00", "12"]),
    "digits": Case(
        [day.replace("-", "") for day in DAYS], ["20120101", " 20120229 ", "20120230", "2012"], {"v": "date"}
    ),
    "number": Case(
        [f"{x:.2f}" for x in NUMBERS],
        [
            "12",
            " 12.5\t",
            "-3",
            "+4",
            "1e2",
            "1E-3",
            "1e-400",
            "1e400",
            ".5",
            "7.",
            "0x1F",
            "1,5",
            "1_000",
            "NA",
            "",
            " ",
            "(5)",
            "5-",
            "inf",
            "12\xa0",
            "\u200312",
            "\u221212",
            "twelve",
        ],
    ),
    "thousands": Case(
        [f"{round(100 * x):,}" for x in NUMBERS],
        ["1,234", "12", " 7,000,000 ", "(1,200)", "-1,200", "1,200-", "1,234.5", "12,34", "n/a"],
    ),
    "percent": Case([f"{x:.1f} %" for x in NUMBERS], ["12 %", "12%", "12", "-3.5 %", "+3 %", " 4 % ", "-"]),
    "euro": Case(
        [f"{x:.2f} €".replace(".", ",") for x in NUMBERS],
        ["12,50 €", "€ 12,50", "12", "12,5", "-3 €", "1.234,50 €", "12,50 EUR", "NULL"],
    ),
    "truth": Case(
        ["Yes", "No"] * 20, ["yes", " NO ", "1", "0", "TRUE", "f", "ja", "NÃO", "SÍ", "maybe", "NA", ""], BOOLEAN
    ),
    "words": Case(
        ["Yes", "No"] * 20, ["yes", "YES", " No\t", "1", "0", "true", "Não", "NÃO", "sí", "2", "?", "maybe"], CATEGORY
    ),
    "levels": Case(
        ["red", "dark blue", "a.b*c", "it's"] * 10,
        [
            "red",
            " red",
            "red\xa0",
            "\u2003red\t\n",
            "Red",
            "RED",
            "dark  blue",
            "dark blue ",
            "aXbbc",
            "a.b*c ",
            "it's",
            "green",
            "",
            " ",
            "NA",
            " NA ",
            "?",
            "(other)",
            "red|dark blue",
        ],
    ),
    "codes": Case(
        ["1", "2", "10", "x"] * 10,
        ["1", "01", "1.0", " 2 ", "2.", "1e1", "+10", "10.00\t", "-1", "1,0", "X", "x ", "0x1", "1e400", "inf", "nan"],
        CATEGORY,
    ),
    "spellings": Case(
        ["Male", "male", "MALE", "Female", "female", " Female"] * 7,
        ["Male", "mAle", "male ", "FEMALE\t", " Female", "\u00a0female", "f", "M", "?"],
    ),
    "padded": Case(
        ["01", "1", "002"] * 14, ["01", "1", "002", "2", "2.0", " 002", "001", "1.0", "0", "1e-400"], CATEGORY
    ),
}


def learned(name, folder):
    """A model of a column as a file has it, and a column of numbers beside it."""
    case = COLUMNS[name]
    column = np.random.default_rng(1).permutation(np.array(case.learned * 3, dtype=object))
    codes = pd.factorize(column)[0]
    y = np.where((codes * 7 + np.arange(len(codes))) % 5 < 2, "b", "a")
    path = folder / f"{name}.csv"
    pd.DataFrame({"v": column, "size": np.arange(len(codes)) % 7, "y": y}).to_csv(path, index=False)
    training = read_training(open_table(path, "y", types=case.types or None), "y", rare=1)
    return LogisticRegression(alpha=0.01).fit(training.X, training.y), training.schema


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dirty")
    return {name: learned(name, folder) for name in COLUMNS}


def of_model(model, schema, value):
    """The probabilities of a text, and whether the model could read it."""
    X, report = schema.encode_batch(pa.table({"v": pa.array([value], pa.large_string()), "size": [1.0]}))
    return model.predict_proba(X)[0], not report.unread


def assert_same_or_refused(answer, errors, model, schema, value):
    """The answer to a text is the model's, or an error that names the column; whether there was an answer."""
    wanted, is_read = of_model(model, schema, value)
    found, refused = None, ""
    try:
        found = answer()
    except errors as error:
        refused = str(error)
    if found is None:
        assert re.search(r"[Cc]olumn '+v'+", refused), (value, refused)
        return False
    np.testing.assert_allclose(np.array(found, dtype=float), wanted, rtol=0, atol=1e-9, err_msg=repr(value))
    assert is_read, f"{value!r} is answered, and the model cannot read it"
    return True


def of_database(database, model, schema, value):
    query = export(model, "sql", schema=schema, dialect=database.dialect)
    frame = pd.DataFrame({"v": pd.Series([value], dtype=object), "size": [1.0]})
    return database.answers(query, frame, types={"v": "VARCHAR"})[0][1:]


def python_answers(model, schema, value):
    return as_python(model, [{"v": value, "size": 1.0}], schema=schema)[0][0]


#: Columns whose text Python and SQL may refuse: numbers of unusual form, amounts, and dates other than ISO 8601.
NOT_READ = ["days", "iso", "local", "clock", "digits", "number", "thousands", "percent", "euro"]


@pytest.mark.parametrize("name", COLUMNS)
def test_python_reads_dirty_values_as_the_model_does(name, models):
    model, schema = models[name]
    for value in COLUMNS[name].others:
        answered = assert_same_or_refused(
            lambda v=value: python_answers(model, schema, v), ValueError, model, schema, value
        )
        assert answered or not of_model(model, schema, value)[1] or name in NOT_READ, value


@pytest.mark.parametrize("name", COLUMNS)
def test_sql_reads_dirty_values_as_the_model_does_or_stops(name, models, database):
    model, schema = models[name]
    for value in COLUMNS[name].others:
        answer = lambda v=value: of_database(database, model, schema, v)  # noqa: E731
        answered = assert_same_or_refused(answer, database.errors, model, schema, value)
        assert answered or name not in ("levels", "spellings") or not of_model(model, schema, value)[1], value


CATEGORIES = ["words", "levels", "codes", "spellings", "padded"]


@pytest.mark.parametrize("name", CATEGORIES)
def test_onnx_reads_dirty_levels_as_the_model_does(name, models):
    model, schema = models[name]
    values = COLUMNS[name].others
    given = {"v": np.array(values, dtype=object)[:, None], "size": np.ones((len(values), 1))}
    found, _ = as_onnx(model, given, schema=schema)
    wanted = [of_model(model, schema, value)[0] for value in values]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


spaces = st.text(st.sampled_from(" \t\n\u00a0\u2003\u3000\x1c"), max_size=3)
spelled = st.sampled_from(
    [value for name in CATEGORIES for value in [*COLUMNS[name].learned[:4], *COLUMNS[name].others]]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(CATEGORIES), before=spaces, text=spelled, after=spaces)
def test_levels_in_any_spaces(name, before, text, after, models, postgres):
    model, schema = models[name]
    value = before + text + after
    wanted, _ = of_model(model, schema, value)
    np.testing.assert_allclose(python_answers(model, schema, value), wanted, rtol=0, atol=1e-9)
    database = PostgreSQL(postgres)
    assert_same_or_refused(lambda: of_database(database, model, schema, value), database.errors, model, schema, value)
    if text not in COLUMNS[name].learned and not set(before) <= set(" \t\n"):
        return  # a number in another spelling, which ONNX reads behind spaces of ASCII alone
    given = {"v": np.array([[value]], dtype=object), "size": np.ones((1, 1))}
    np.testing.assert_allclose(as_onnx(model, given, schema=schema)[0][0], wanted, rtol=0, atol=1e-9)
