"""Columns as people write them: amounts, dates, sentinels, codes and spellings are read alike everywhere, and told."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv as csv
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.errors import ColumnError, DiscriminantWarning
from discriminant.tables import Schema, TableEncoder, open_table, read_training

N = 80
SLIP = "y" + "es"[::-1]


def table(**columns):
    """Lists of texts as CSV in quotes, with a column of numbers and two classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({**columns, "x": rng.normal(size=N).round(3), "y": rng.choice(["a", "b"], N)})
    return frame.to_csv(index=False, quoting=1).encode()


def trained(text, **options):
    return read_training(io.BytesIO(text) if isinstance(text, bytes) else text, "y", **options)


def cycled(*values):
    return (list(values) * N)[:N]


def told(training, kind):
    return [str(finding.message) for finding in training.findings if finding.kind == kind]


def column_of(training, name):
    return training.X[:, training.schema.names.index(name)]


def days(*texts):
    return np.array(texts, dtype="M8[D]").astype(float)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1,234.50", "$12.00", "($7.25)", "-$3"], [1234.5, 12, -7.25, -3]),
        (["€ 12", "€ 1.250,75", "€ -3", "€ 4"], [12, 1250.75, -3, 4]),
        (["1 234,50 €", "12 €", "0,5 €", "7 €"], [1234.5, 12, 0.5, 7]),
        (["GBP 5", "GBP 1,000", "GBP 7.5", "gbp 2"], [5, 1000, 7.5, 2]),
        (["1,234", "5,678", "912", "1,000,000"], [1234, 5678, 912, 1e6]),
        (["12,34,567", "1,000", "5", "6"], [1234567, 1000, 5, 6]),
        (["1,234", "12,5", "0,1", "3"], [1.234, 12.5, 0.1, 3]),
        (["1.234,5", "12,25", "2.000.000", "3"], [1234.5, 12.25, 2e6, 3]),
        (["1 234", "5", "12 345 678", "77"], [1234, 5, 12345678, 77]),
        (["1\u202f234", "5", "12\u00a0345", "77"], [1234, 5, 12345, 77]),
        (["1'234.5", "5", "2\u2019000", "77"], [1234.5, 5, 2000, 77]),
        (["12 %", "5%", "0.5 %", "100%"], [12, 5, 0.5, 100]),
        (["12 kg", "70.5 kg", "80KG", "60", "55 kg"], [12, 70.5, 80, 60, 55]),
        (["\u22125", "3", "\u22121.5", "8"], [-5, 3, -1.5, 8]),
        (["5-", "3", "1.5-", "8"], [-5, 3, -1.5, 8]),
        (["1e3 m", "2.5E-1 m", "3 m", "4 m", "5 m"], [1000, 0.25, 3, 4, 5]),
        (["1e3 m", "1e-999 m", "3 m", "4 m", "5 m"], [1000, 0, 3, 4, 5]),
    ],
)
@pytest.mark.parametrize("source", ["csv", "pandas", "polars"])
def test_numbers_in_many_notations(texts, numbers, source):
    text = table(amount=cycled(*texts))
    frame = pd.read_csv(io.BytesIO(text), dtype={"amount": str})
    given = {"csv": text, "pandas": frame, "polars": pl.from_pandas(frame)}[source]
    training = trained(given)
    assert_allclose(column_of(training, "amount"), cycled(*numbers), rtol=1e-15)
    schema = Schema.from_dict(json.loads(json.dumps(training.schema.to_dict())))
    again = open_table(io.BytesIO(text), types=schema.types)
    for batch in again.batches(7):
        assert not schema.encode_batch(batch)[1].unread
    assert_array_equal(schema.encode_batch(again.read())[0], training.X)
    assert_array_equal(TableEncoder().fit_transform(frame.drop(columns="y")), training.X)


def test_how_numbers_are_read_is_told_with_the_option_that_changes_it():
    training = trained(table(price=cycled("$1,234.50", "$5", "$7", "$8")))
    (finding,) = told(training, "number format")
    assert "'$1,234.50' is 1234.5" in finding
    assert "types={'price': 'category'}" in finding
    levels = trained(table(price=cycled("$1,234.50", "$5", "$7", "$8")), types={"price": "category"}, rare=1)
    assert "price=$5" in levels.schema.names


def test_thousands_that_may_be_decimals_are_told():
    text = table(amount=cycled("1,234", "5,678", "9,125"))
    training = trained(text)
    (finding,) = told(training, "number format")
    assert "'1,234' is 1234" in finding
    assert "decimal=','" in finding
    other = read_training(open_table(io.BytesIO(text), decimal=","), "y")
    assert column_of(other, "amount")[:2].tolist() == [1.234, 5.678]
    (finding,) = told(trained(table(amount=cycled("1,234", "5,678.5", "9,125"))), "number format")
    assert "types={'amount': 'category'}" in finding


def test_points_between_thousands():
    """What is below a thousand has no point, and three digits follow each: these are no decimals."""
    texts = cycled("1.234", "912", "12.500", "77", "3.000")
    training = trained(table(amount=texts))
    assert column_of(training, "amount")[:5].tolist() == [1234, 912, 12500, 77, 3000]
    decimals = trained(table(amount=cycled("1.234", "0.912", "12.500", "77.125", "3.000")))
    assert column_of(decimals, "amount")[:5].tolist() == [1.234, 0.912, 12.5, 77.125, 3]


def test_commas_between_thousands_of_a_table_that_has_no_others():
    lines = [f"{i}.5;{i % 7 + 1},{i % 9}50;{'ab'[i % 2]}" for i in range(1, 60)]
    assert trained("\n".join(["x;m;y", *lines]).encode()).X[0].tolist() == [1.5, 2150]


def test_a_file_of_decimal_commas_decides_what_a_comma_is():
    lines = [f"{i},25;{i % 7 + 1}.{i % 9}50 €;{'ab'[i % 2]}" for i in range(1, 60)]
    training = trained("\n".join(["x;m;y", *lines]).encode())
    assert training.X[0].tolist() == [1.25, 2150]


@pytest.mark.parametrize(
    "texts",
    [
        ["$5", "€5", "$7", "€9"],  # two currencies
        ["5 kg", "5 lb", "7 kg", "9 lb"],
        ["1st", "2nd", "3rd", "1st"],
        ["01234", "98765", "00012", "12345"],  # postcodes
        ["007", "12", "0815", "4711"],
        ["40-49", "50-59", "60-69", "70-79"],
        ["area_415", "area_408", "area_510", "area_415"],
        ["192.168.1.10", "10.0.0.1", "192.168.1.20", "10.0.0.2"],
        ["<0", "0<=X<200", ">=200", "no checking"],
        ["1.2.3", "1.2.4", "2.0.0", "3.1.1"],
    ],
)
def test_texts_that_are_no_numbers_stay_levels(texts):
    training = trained(table(code=cycled(*texts)))
    assert set(training.schema.columns[0].levels) == set(texts)


@pytest.mark.parametrize(
    ("texts", "expected", "order"),
    [
        (["2020-01-31", "2021-02-01"], ["2020-01-31", "2021-02-01"], "ymd"),
        (["2020/1/31", "2021/2/1"], ["2020-01-31", "2021-02-01"], "ymd"),
        (["31.12.2020", "01.02.2021"], ["2020-12-31", "2021-02-01"], "dmy"),
        (["12/31/2020", "1/2/2021"], ["2020-12-31", "2021-01-02"], "mdy"),
        (["31/12/2020", "1/2/2021"], ["2020-12-31", "2021-02-01"], "dmy"),
        (["31-Dec-20", "1-Feb-98"], ["2020-12-31", "1998-02-01"], "dmy"),
        (["Dec 31, 2020", "March 1, 2021"], ["2020-12-31", "2021-03-01"], "mdy"),
        (["3. Mai 2020", "24. Dez. 2021"], ["2020-05-03", "2021-12-24"], "dmy"),
        (["2020-01", "2020-11"], ["2020-01-01", "2020-11-01"], "ymd"),
    ],
)
def test_dates_are_days(texts, expected, order):
    text = table(when=cycled(*texts))
    training = trained(text)
    column = training.schema.columns[0]
    assert (column.kind, column.notation.date) == ("date", order)
    assert_array_equal(column_of(training, "when"), cycled(*days(*expected)))
    again = open_table(io.BytesIO(text), types=training.schema.types)
    assert_array_equal(np.vstack([training.schema.encode_batch(part)[0] for part in again.batches(9)]), training.X)
    (said,) = told(training, "dates")
    assert "drop=['when']" in said
    assert trained(text, drop=["when"]).schema.names == ("x",)


def test_days_and_months_that_cannot_be_told_apart():
    text = table(when=cycled("1/2/2020", "3/4/2020"))
    assert_array_equal(column_of(trained(text), "when")[:2], days("2020-01-02", "2020-03-04"))
    assert "types={'when': 'date-dmy'}" in told(trained(text), "dates")[0]
    other = trained(text, types={"when": "date-dmy"})
    assert_array_equal(column_of(other, "when")[:2], days("2020-02-01", "2020-04-03"))
    points = trained(table(when=cycled("1.2.2020", "3.4.2020")))
    assert_array_equal(column_of(points, "when")[:2], days("2020-02-01", "2020-04-03"))


def test_days_written_as_whole_numbers():
    text = table(when=[f"2020{1 + i % 12:02}{1 + i % 28:02}" for i in range(N)])
    training = trained(text)
    assert_array_equal(column_of(training, "when")[:2], days("2020-01-01", "2020-02-02"))
    for source in (open_table(io.BytesIO(text), types=training.schema.types).read(), pd.read_csv(io.BytesIO(text))):
        assert_array_equal(training.schema.encode_batch(source)[0], training.X)
    for source in (text, pd.read_csv(io.BytesIO(text))):
        assert_array_equal(trained(source, types={"when": "date"}).X, training.X)
    years = trained(table(year=cycled("2019", "2020", "2021", "2022", "2025")))
    assert years.schema.columns[0].kind == "number"


def test_days_that_stand_for_missing_dates():
    training = trained(table(when=cycled("2020-01-01", "2020-03-05", "9999-12-31", "2021-05-06")))
    assert training.schema.columns[0].missing == N / 4
    (finding,) = told(training, "missing-value codes")
    assert all(day in finding for day in ("'when'", "9999-12-31", "2020-01-01", "2021-05-06"))


def test_times_of_day_and_of_dates():
    stamps = cycled("2020-01-01T12:00:00", "2020-01-02 06:00", "2020-01-01 13:00:00+01:00", "2020-01-02T00:00:00.5Z")
    clocks = cycled("10:30", "11:00 PM", "12:15 am", "00:45:36")
    training = trained(table(stamp=stamps, clock=clocks))
    first = days("2020-01-01")[0]
    expected = [first + 0.5, first + 1.25, first + 0.5, first + 1 + 0.5 / 86400]
    assert_allclose(column_of(training, "stamp")[:4], expected, rtol=0, atol=1e-11)
    assert_allclose(column_of(training, "clock")[:4], [10.5, 23, 0.25, 0.76], rtol=1e-15)


def test_dates_of_frames_and_files_are_the_same_numbers(tmp_path):
    stamps = pd.date_range("2019-12-30 08:15", periods=N, freq="29h")
    frame = pd.read_csv(io.BytesIO(table(when=stamps.astype(str))))
    text = trained(frame)
    native = trained(frame.assign(when=stamps))
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert_array_equal(native.X, text.X)
    assert_array_equal(trained((tmp_path / "t.csv").read_bytes()).X, text.X)
    assert_array_equal(native.schema.encode_batch(frame)[0], text.X)
    assert not native.schema.encode_batch(frame.assign(when=stamps))[1].filled
    zoned = frame.assign(when=stamps.tz_localize("Europe/Berlin"))
    assert_allclose(trained(zoned).X[0, 0], native.X[0, 0] - 1 / 24, rtol=1e-15)


def test_missing_dates_are_filled_with_a_day():
    training = trained(
        table(when=cycled("2020-01-01", "", "2020-01-03", "0000-00-00", "2020-01-02", "2020-01-04", "2020-01-06"))
    )
    column = training.schema.columns[0]
    assert column.missing > N / 4
    assert "2020-01-03" in column.describe()
    assert "'0000-00-00'" in told(training, "unparsed values")[0]


@pytest.mark.parametrize("word", ["unknown", "-", "n/a", "?", "see note", "#DIV/0!"])
def test_a_stray_word_does_not_make_numbers_a_category(word):
    numbers = [f"{i % 23}.5" for i in range(N)]
    numbers[7] = word
    text = table(n=numbers)
    training = trained(text, rare=1)
    assert training.schema.names == ("n", "n=(missing)", "x")
    assert np.flatnonzero(column_of(training, "n=(missing)")).tolist() == [7]
    stray = word in ("unknown", "see note")
    assert len(told(training, "unparsed values")) == stray
    if stray:
        (finding,) = told(training, "unparsed values")
        assert repr(word) in finding
        assert "types={'n': 'category'}" in finding


def test_words_and_numbers_that_are_levels_together_stay_levels():
    ranks = trained(table(rank=cycled("2", "3", "4", "5", "6", "J", "Q", "K")), rare=1)
    assert ranks.schema.columns[0].kind == "category"


def test_what_cannot_be_read_at_prediction_is_missing_and_counted():
    training = trained(table(price=cycled("$1,234.50", "$5", "$7", "$8"), n=cycled("1.5", "2.5", "3")))
    new = pd.DataFrame(
        {"price": ["$2", "ask", "€5", "1,0,0"], "n": ["1", "tall", "2", "?"], "x": ["1", "2", "3", "NA"]}
    )
    X, report = training.schema.encode_batch(new)
    mean = {column.name: column.mean for column in training.schema.columns}
    assert X.tolist() == [
        [2, 1, 1],
        [mean["price"], mean["n"], 2],
        [mean["price"], 2, 3],
        [mean["price"], mean["n"], mean["x"]],
    ]
    assert report.unread == {"price": {"ask": 1, "€5": 1, "1,0,0": 1}, "n": {"tall": 1}}
    assert report.filled == {"price": 3, "n": 2, "x": 1}
    both = report + report
    assert both.unread["n"] == {"tall": 2}
    assert "'ask', '€5' and '1,0,0' in 'price', 'tall' in 'n'" in both.describe()


@pytest.mark.parametrize(
    ("sentinel", "others"),
    [
        (-999, range(60, 180)),
        (-99, range(120)),
        (-9, range(1, 6)),
        (9999, range(500)),
        (99, range(1, 6)),
        (999.9, range(20, 80)),
        (-3.4028234663852886e38, range(-40, 40)),
        (2147483647, range(-5, 5000)),
    ],
)
@pytest.mark.parametrize("source", ["csv", "frame"])
def test_sentinels_are_missing(sentinel, others, source):
    values = [float(sentinel) if i % 10 == 3 else others[i * 7 % len(others)] for i in range(N)]
    frame = csv.read_csv(io.BytesIO(table(v=values))).to_pandas()  # pandas 2 would miss a bit of a number
    training = trained(frame if source == "frame" else table(v=values))
    assert_array_equal(column_of(training, "v=(missing)"), [i % 10 == 3 for i in range(N)])
    (finding,) = told(training, "missing-value codes")
    assert f"{sentinel:.12g} " in finding
    assert "8 values" in finding
    assert "types={'v': 'number'}" in finding
    kept = trained(frame, types={"v": "number"})
    assert_array_equal(column_of(kept, "v"), frame["v"])
    assert_array_equal(training.schema.encode_batch(frame)[0], training.X)


@pytest.mark.parametrize(
    "values",
    [
        [99, *range(60, 98)],  # the next one in line
        [-99, *range(-80, 80)],
        [999, *range(0, 1000, 9)],
        [0, 99],  # nothing else to stand apart from
        [9, 1, 2, 3],
        [-1, 1, 2, 3],
    ],
)
def test_numbers_of_nines_that_are_values(values):
    training = trained(table(v=[str(v) for v in cycled(*values)]))
    assert_array_equal(column_of(training, "v"), cycled(*values))


def test_several_sentinels_of_a_survey():
    training = trained(table(v=cycled("1", "2", "3", "4", "5", "97", "98", "99", "2", "3")))
    assert training.schema.columns[0].notation.sentinels == (97, 98, 99)


def test_sentinels_said_by_the_user_are_missing_in_every_table():
    text = table(v=cycled("1", "-1", "3", "4.5"))
    training = read_training(open_table(io.BytesIO(text), missing_codes=["-1"]), "y")
    frame = pd.read_csv(io.BytesIO(text))
    assert frame["v"].min() == -1
    assert_array_equal(training.schema.encode_batch(frame)[0], training.X)
    assert training.schema.columns[0].missing == N / 4


def test_identifiers_are_left_out_though_some_come_twice():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"ID": rng.choice(10**6, N), "x": rng.normal(size=N), "y": rng.choice(["a", "b"], N)})
    frame.loc[1:5, "ID"] = frame.loc[0, "ID"]
    training = trained(frame)
    assert training.schema.names == ("x",)
    (finding,) = told(training, "identifier")
    assert "types={'ID': 'number'}" in finding
    assert trained(frame, types={"ID": "number"}).schema.names == ("ID", "x")


def test_codes_are_a_category_where_the_name_says_so():
    text = table(race=cycled("1", "2", "3"), StoreID=cycled("1", "2", "7", "4"), children=cycled("0", "1", "2", "3"))
    training = trained(text)
    assert training.schema.names == ("race=2", "race=3", "StoreID=2", "StoreID=4", "StoreID=7", "children", "x")
    finding = told(training, "nominal codes")[0]
    assert "1, 2 and 3" in finding
    assert "types={'race': 'number'}" in finding
    (finding,) = told(training, "possible codes")
    assert "types={'children': 'category'}" in finding
    assert "race" in trained(text, types={"race": "number"}).schema.names


def test_spellings_of_a_level_are_one_level():
    text = table(
        sex=cycled("male", "Male", "female", "female ", " FEMALE", "male", "female"),
        flag=cycled("yes", "Y", "no", "N", "No"),
    )
    training = trained(text)
    assert training.schema.names == ("sex=male", "flag=yes", "x")
    assert column_of(training, "sex=male")[:5].tolist() == [1, 1, 0, 0, 0]
    assert column_of(training, "flag=yes")[:5].tolist() == [1, 1, 0, 0, 0]
    finding = next(text for text in told(training, "spellings") if "'sex'" in text)
    assert "'Male' into 'male' and 'FEMALE' into 'female'" in finding
    assert "types={'sex': 'category'}" in finding
    frame = pd.read_csv(io.BytesIO(text))
    assert_array_equal(trained(frame).X, training.X)
    schema = Schema.from_dict(json.loads(json.dumps(training.schema.to_dict())))
    assert_array_equal(schema.encode_batch(frame)[0], training.X)
    new = frame.head(2).assign(sex=["FEMALE", "MALE"], flag=["YES", "n"])
    assert schema.encode_batch(new)[0][:, :2].tolist() == [[0, 1], [1, 0]]
    assert not schema.encode_batch(new)[1].unseen
    apart = trained(text, types={"sex": "category"}, rare=1)
    assert "sex=FEMALE" in apart.schema.names


@pytest.mark.parametrize("levels", [["hid", "hId", "had", "hAd"], ["AA", "Aa", "aa", "Aa"], ["a", "A", "b", "c"]])
def test_case_that_means_something_is_kept(levels):
    text = table(v=cycled(*levels)).replace(b'"a"\n', b'"hid"\n').replace(b'"b"\n', b'"hId"\n')
    training = trained(text)
    assert set(training.schema.columns[0].levels) == set(levels)
    assert training.schema.target.classes == ("hId", "hid")


def test_classes_in_several_spellings():
    text = table(v=cycled("1.5", "2", "3")).decode()
    lines = text.splitlines()
    classes = cycled("no", "NO", "yes", "Yes ", "no")
    classes[3] = SLIP
    lines = [
        lines[0],
        *(",".join([*line.split(",")[:-1], label]) for line, label in zip(lines[1:], classes, strict=True)),
    ]
    training = trained("\n".join(lines).encode())
    assert training.schema.target.classes == ("no", "yes", SLIP)
    assert training.y[:3].tolist() == ["no", "no", "yes"]
    (finding,) = told(training, "spellings")
    assert "'NO' into 'no' and 'Yes' into 'yes'" in finding
    assert "types={'y': 'category'}" in finding
    schema = Schema.from_dict(json.loads(json.dumps(training.schema.to_dict())))
    assert schema.labels(pd.DataFrame({"y": ["NO", "YES", "No "]}))[0].tolist() == ["no", "yes", "no"]
    apart = trained("\n".join(lines).encode(), types={"y": "category"})
    assert apart.schema.target.classes == ("NO", "Yes", "no", "yes", SLIP)


def test_declared_columns_that_cannot_be_read():
    for kind in ("number", "date", "date-mdy", "boolean"):
        with pytest.raises(ColumnError, match=r"'w' .* 'u' and 'v'"):
            trained(table(w=cycled("u", "v")), types={"w": kind})


def test_the_transformer_tells_what_it_cannot_read():
    frame = pd.DataFrame({"price": cycled("$1", "$2", "$3")})
    encoder = TableEncoder().fit(frame)
    with pytest.warns(DiscriminantWarning, match="'ask' in 'price'"):
        encoder.transform(pd.DataFrame({"price": ["$1", "ask"]}))


def test_hexadecimal_numbers_are_read_alike_by_training_and_prediction(tmp_path):
    path = tmp_path / "hex.csv"
    path.write_text("a,y\n" + "".join(f"{hex(i) if i % 3 else i},{'uv'[i % 2]}\n" for i in range(40)))
    training = read_training(path, "y", types={"a": "number"})
    np.testing.assert_array_equal(training.X[:, 0], np.arange(40))
    batches = open_table(path, types=training.schema.types).batches(7)
    np.testing.assert_array_equal(np.vstack([training.schema.encode_batch(b)[0] for b in batches])[:, 0], np.arange(40))


@pytest.mark.parametrize("name", ["zip", "ZIP code", "postal_code", "plz"])
def test_postal_codes_are_categories(name):
    codes = np.random.default_rng(3).choice(np.arange(20_000, 20_030), N)
    frame = pd.DataFrame({name: codes, "x": np.random.default_rng(4).normal(size=N), "y": ["a", "b"] * (N // 2)})
    assert trained(frame).schema.columns[0].kind == "category"
    assert trained(frame, types={name: "number"}).schema.columns[0].kind == "number"


def test_free_text_is_cut_in_messages():
    frame = pd.DataFrame(
        {"note": [f"{i} " + "word " * 40 for i in range(N)], "x": np.arange(N) % 7, "y": ["a", "b"] * (N // 2)}
    )
    (finding,) = (one for one in trained(frame).findings if one.column == "note")
    assert len(str(finding.message)) < 260
