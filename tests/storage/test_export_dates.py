"""Dates, times and amounts in exports are read as the model reads them, or stop the answer."""

import datetime

import numpy as np
import pandas as pd
import pytest
from test_export import as_onnx, as_python, as_sql, assert_answers

from discriminant import LogisticRegression
from discriminant.tables.training import read_training

FORMATS = {
    "ymd": "%Y-%m-%d", "slashes": "%Y/%m/%d", "dmy": "%d.%m.%Y", "mdy": "%m/%d/%Y", "digits": "%Y%m%d",
    "clock": "%Y-%m-%d %H:%M:%S", "minutes": "%d/%m/%Y %H:%M", "fraction": "%Y-%m-%dT%H:%M:%S.%f", "time": "%H:%M:%S",
}  # fmt: skip


def moments(n=120):
    """Times over sixty years with their classes."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=n)
    days = rng.uniform(-4000, 18000, size=n) + 1500 * y
    return pd.Series(pd.to_datetime("1970-01-01") + pd.to_timedelta((days * 86400e6).round(), unit="us")), y


def dated_case(texts, y, **options):
    """A model of one column, and what the model answers to rows."""
    frame = pd.DataFrame({"when": texts, "size": np.arange(len(texts)) % 7.0, "y": y})
    table = read_training(frame, "y", **options)
    return LogisticRegression(alpha=0.01).fit(table.X, table.y), table.schema, frame[["when", "size"]].head(20)


def assert_read(model, schema, rows):
    X, report = schema.encode_batch(rows)
    assert not report.unread
    assert_answers(*as_python(model, rows.to_dict("records"), schema=schema), model, X)


ISO_STYLES = ["ymd", "clock", "fraction", "time"]


@pytest.mark.parametrize("style", FORMATS)
def test_dates_in_text(style):
    times, y = moments()
    texts = times.dt.strftime(FORMATS[style])
    model, schema, rows = dated_case(texts, y, types={"when": "date"})
    column = schema.used[0]
    assert column.kind == "date"
    rows.loc[3, "when"] = None
    if style in ISO_STYLES:
        assert_read(model, schema, rows)
    else:
        with pytest.raises(ValueError, match="'when'"):
            as_python(model, rows.to_dict("records"), schema=schema)


@pytest.mark.parametrize("style", ["slashes", "dmy", "mdy", "digits", "minutes"])
def test_dates_in_text_stop_a_query(style, database):
    times, y = moments()
    model, schema, rows = dated_case(times.dt.strftime(FORMATS[style]), y, types={"when": "date"})
    with pytest.raises(database.errors, match="when"):
        as_sql(model, rows, database, schema=schema)


@pytest.mark.parametrize("style", ["ymd", "dmy", "mdy", "digits", "clock"])
def test_dates_that_the_database_has_as_such(style, database):
    times, y = moments()
    model, schema, rows = dated_case(times.dt.strftime(FORMATS[style]), y, types={"when": "date"})
    many = {"ymd": ["DATE", "TIMESTAMP"], "clock": ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]}
    kinds = many.get(style, ["DATE"])
    iso = rows.assign(when=times.dt.strftime(FORMATS["clock" if style == "clock" else "ymd"]).head(20))
    X, _ = schema.encode_batch(rows)
    for kind in kinds if database.dialect != "sqlite" else ["TEXT"]:
        given = iso.assign(when=iso["when"] + "+00") if kind.endswith("ZONE") else iso
        found = as_sql(model, given, database, types={"when": kind}, schema=schema)
        assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


def test_times_of_every_type_in_python():
    times, y = moments()
    model, schema, rows = dated_case(times.dt.strftime("%d.%m.%Y %H:%M:%S"), y)
    X, _ = schema.encode_batch(rows)
    whole = times.dt.floor("s").head(20)
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    for given in (whole, whole.dt.to_pydatetime(), whole.to_numpy(), whole.dt.tz_localize("UTC").dt.tz_convert(zone)):
        answered = as_python(
            model, rows.assign(when=pd.Series(list(given), dtype=object)).to_dict("records"), schema=schema
        )
        assert_answers(*answered, model, X)


def test_numbers_that_are_dates(database):
    times, y = moments()
    whole = times.dt.strftime("%Y%m%d").astype(int)
    model, schema, rows = dated_case(whole, y, types={"when": "date"})
    for given in (rows, rows.assign(when=rows["when"].astype(str))):
        with pytest.raises(ValueError, match="'when'"):
            as_python(model, given.to_dict("records"), schema=schema)
    with pytest.raises(database.errors, match="when"):
        as_sql(model, rows, database, schema=schema)
    dates = times.dt.date.head(20)
    assert_answers(
        *as_python(model, rows.assign(when=dates).to_dict("records"), schema=schema),
        model,
        schema.encode_batch(rows)[0],
    )


def test_native_dates_and_times():
    times, y = moments()
    model, schema, rows = dated_case(times, y)
    assert_read(model, schema, rows)
    model, schema, rows = dated_case(times.dt.time, y)
    assert_read(model, schema, rows)


def test_what_is_no_date_stops_the_answer(database):
    times, y = moments()
    model, schema, rows = dated_case(times.dt.strftime("%Y-%m-%d"), y)
    for wrong in ("2020-02-30", "yesterday", "2020-12-31x"):
        with pytest.raises(ValueError, match="'when'"):
            as_python(model, [{"when": wrong, "size": 1.0}], schema=schema)
        with pytest.raises(database.errors, match=r"when|2020-02-30"):
            as_sql(model, rows.head(1).assign(when=wrong), database, schema=schema)
    with pytest.raises(database.errors, match="when"):
        as_sql(model, rows.head(1).assign(when=3.5), database, schema=schema)


def test_dates_that_stand_for_missing_ones(database):
    times, y = moments()
    texts = times.dt.strftime("%Y-%m-%d").mask(times.index < 15, "9999-12-31")
    model, schema, rows = dated_case(texts, y)
    assert schema.used[0].notation.sentinels
    assert_read(model, schema, rows)
    kind = "TEXT" if database.dialect == "sqlite" else "DATE"
    found = as_sql(model, rows, database, types={"when": kind}, schema=schema)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, schema.encode_batch(rows)[0])


def test_amounts_in_text_stop_the_answer():
    rng = np.random.default_rng(0)
    texts = np.array(["1.234,50 €", "-20,00 €", "3.000,25 €", "7 €"], dtype=object)[rng.integers(4, size=120)]
    table = read_training(pd.DataFrame({"price": texts, "y": rng.integers(2, size=120)}), "y")
    model = LogisticRegression(alpha=0.01).fit(table.X, table.y)
    X, _ = table.schema.encode_batch(pd.DataFrame({"price": ["1.234,50 €"]}))
    assert_answers(*as_python(model, [{"price": 1234.5}], schema=table.schema), model, X)
    for text in ("1.234,50 €", "1.234"):
        with pytest.raises(ValueError, match="'price'"):
            as_python(model, [{"price": text}], schema=table.schema)


def test_amounts_in_databases_are_numbers(database):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    numbers = rng.integers(900, 5000, size=120) + 10 * y
    frame = pd.DataFrame({"price": [f"{n:,}" for n in numbers], "size": rng.normal(size=120), "y": y})
    table = read_training(frame, "y")
    model = LogisticRegression(alpha=0.01).fit(table.X, table.y)
    rows = frame[["price", "size"]].head(20)
    X, _ = table.schema.encode_batch(rows)
    found = as_sql(model, rows.assign(price=numbers[:20]), database, schema=table.schema)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)
    with pytest.raises(database.errors, match="price"):
        as_sql(model, rows, database, schema=table.schema)
    given = {"price": numbers[:20, None].astype(float), "size": rows[["size"]].to_numpy()}
    assert_answers(*as_onnx(model, given, schema=table.schema), model, X)
