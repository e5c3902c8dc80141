"""Tables of every format, dialect and degree of damage are read, or refused in plain words."""

import bz2
import csv
import gzip
import hashlib
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from discriminant.errors import ColumnError, InputError, ParameterError
from discriminant.tables import open_table
from discriminant.tables.dialect import find_dialect


def table_of(text, **asked):
    return open_table(io.BytesIO(text.encode() if isinstance(text, str) else text), **asked)


def columns_of(table):
    return {name: column.to_pylist() for name, column in zip(table.columns, table.read().columns, strict=True)}


def both_ways(text, **asked):
    """The columns, read whole; read in batches they have to be the same."""
    whole = columns_of(table_of(text, **asked))
    batches = list(table_of(text, **asked).batches(2))
    assert all(batch.num_rows <= 2 for batch in batches)
    assert {name: [v for b in batches for v in b[name].to_pylist()] for name in whole} == whole
    return whole


# words that are no numbers, no dates, no codes for missing and no booleans
WORDS = st.text("abcdefghij éüñ,;|\t\n'", min_size=1, max_size=8).map(lambda text: f"w{text}w")
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: round(value, 4) + 0.00001)


@st.composite
def written_tables(draw):
    """Named columns of numbers and words, with missing numbers, and the bytes of a file that holds them."""
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = draw(st.sampled_from([".", ","]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    n_rows = draw(st.integers(3, 12))
    columns = {"first number": draw(st.lists(NUMBERS, min_size=n_rows, max_size=n_rows))}
    for j in range(draw(st.integers(0, 2))):
        columns[f"n{j}"] = draw(st.lists(NUMBERS | st.none(), min_size=n_rows, max_size=n_rows))
    for j in range(draw(st.integers(1, 3))):
        columns[f"word {j}"] = draw(st.lists(WORDS, min_size=n_rows, max_size=n_rows))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow(columns)
    missing = draw(st.sampled_from(["NA", "", "?", "n/a"]))
    for row in zip(*columns.values(), strict=True):
        writer.writerow([written(value, decimal, missing) for value in row])
    return columns, out.getvalue().encode(encoding)


def written(value, decimal, missing):
    if value is None:
        return missing
    return repr(value).replace(".", decimal) if isinstance(value, float) else value


@settings(max_examples=150)
@given(written_tables())
def test_any_table_in_any_dialect_is_read_as_it_was_written(written_table):
    columns, text = written_table
    found = both_ways(text)
    assert list(found) == list(columns)
    for name, values in columns.items():
        if all(value is None for value in values):
            assert all(value is None for value in found[name])
        else:
            assert found[name] == values


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a;b\n1,5;2,25\n-3,5;1e3\n", {"a": [1.5, -3.5], "b": [2.25, 1000.0]}),
        ('a,b\n"1,5",x\n"2,75",y\n', {"a": [1.5, 2.75], "b": ["x", "y"]}),
        ('a,b\n"1,500",x\n"2,750",y\n', {"a": ["1,500", "2,750"], "b": ["x", "y"]}),
        ("a|b\n1|x\n", {"a": [1], "b": ["x"]}),
        ("a b\n1 2\n3 4\n", {"a": [1, 3], "b": [2, 4]}),
        ("a   b\n 1.5  2\n 10     4  \n", {"a": [1.5, 10.0], "b": [2, 4]}),
        ("city,n\nNew York,1\nLos Angeles,2\n", {"city": ["New York", "Los Angeles"], "n": [1, 2]}),
        ("'a','b'\n'1','x,y'\n'2','z'\n", {"a": [1, 2], "b": ["x,y", "z"]}),
        ('a,b\n1,"x\ny"\n2,"z ""q"""\n', {"a": [1, 2], "b": ["x\ny", 'z "q"']}),
        ('"a\nb",c\n1,2\n', {"a\nb": [1], "c": [2]}),
        ("\n\na,b\n\n1,2\n\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        ("1,2\n3,4\n", {"column_1": [1, 3], "column_2": [2, 4]}),
        ("0,1,2\n5.5,4,3\n", {"0": [5.5], "1": [4], "2": [3]}),
        (",a\n0,5\n1,6\n", {"column_1": [0, 1], "a": [5, 6]}),
        ("p,x\ne,x\np,y\ne,x\n", {"column_1": ["p", "e", "p", "e"], "column_2": ["x", "x", "y", "x"]}),
        ("zip,n\n01234,1\n98765,2\n", {"zip": ["01234", "98765"], "n": [1, 2]}),
        ("a, b\r\n1, ?\r\n2, 3\r\n", {"a": [1, 2], "b": [None, 3]}),
        ("a,b\r1,2\r3,4\r", {"a": [1, 3], "b": [2, 4]}),
        ("n\n1\n\n2\n", {"n": [1, 2]}),
        ("# made by hand\n# in spring, 2020\na,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        ("\n#a remark\r\n\r\na,b\r\n1,2\r\n", {"a": [1], "b": [2]}),
        ("# a remark\n#a,b\n1,2\n3,4\n", {"#a": [1, 3], "b": [2, 4]}),
        ("# a remark\n1,2\n3,4\n", {"column_1": [1, 3], "column_2": [2, 4]}),
        ("sep=;\r\na;b\r\n1,5;2\r\n3,5;4\r\n", {"a": [1.5, 3.5], "b": [2, 4]}),
        ("a,b\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4], "column_3": [None, None]}),
        ('a b\n"1" 1 2\n"2" 3 4\n', {"column_1": [1, 2], "a": [1, 3], "b": [2, 4]}),
        ("a\tb\nu 1\t1\t2\nv\t3\t4\n", {"column_1": ["u 1", "v"], "a": [1, 3], "b": [2, 4]}),
    ],
)
def test_dialects(text, columns):
    assert both_ways(text) == columns


def test_a_target_that_is_in_the_first_line_makes_it_a_header():
    assert table_of("1,2\n3,4\n", target="2").columns == ("1", "2")
    assert table_of("1,2\n3,4\n", types={"1": "number"}).columns == ("1", "2")


def test_what_is_given_is_not_found_out():
    assert both_ways("a;b,c\n1;5,x\n", delimiter=";") == {"a": [1], "b,c": ["5,x"]}
    assert both_ways("x;1\ny;2\n", header=True) == {"x": ["y"], "1": [2]}
    assert both_ways("x;1\ny;2\n", header=False) == {"column_1": ["x", "y"], "column_2": [1, 2]}
    assert both_ways("a;b\n1,5;2\n", decimal=".") == {"a": ["1,5"], "b": [2]}
    assert both_ways("a,b\n1,'x\n2,y'\n", quote="") == {"a": [1, 2], "b": ["'x", "y'"]}
    assert both_ways("a,b\n-9,1\n2,3\n", missing_codes=["-9"]) == {"a": [None, 2], "b": [1, 3]}
    assert both_ways("a,b\né,1\n".encode("latin-1"), encoding="cp437") == {"a": ["Θ"], "b": [1]}
    assert both_ways("a,b,c\n1,2,3\n", columns=["c"], target="a") == {"a": [1], "c": [3]}
    assert both_ways("a,b\n1,2\n", types={"a": "category", "b": "number"}) == {"a": ["1"], "b": [2.0]}


def test_the_dialect_is_told_in_words():
    said = find_dialect('n;w\n1,5;"x"\nNA;"y"\n'.encode("utf-8-sig")).describe()
    assert all(part in said for part in ("2 columns", "semicolons", "UTF-8", '"', "comma", "'NA'"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_encodings_are_found(encoding):
    text = "größe,wert\n" + "".join(f"é{i},{i}\n" for i in range(50))
    assert both_ways(text.encode(encoding))["größe"][7] == "é7"


@pytest.fixture
def small_blocks(monkeypatch):
    """The dialect is found in, and the types come from, a small part of the text."""
    monkeypatch.setattr("discriminant.tables.files.SAMPLE_BYTES", 2000)
    monkeypatch.setattr("discriminant.tables.delimited.PART_BYTES", 4000)
    monkeypatch.setattr("discriminant.tables.delimited.MIN_PART_ROWS", 1)


def long_text(last, rows=5000):
    """A table whose blocks are numbers but for the last line."""
    return ("a,b\n" + "1,2\n" * rows + last + "\n").encode("cp1252")


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ("5,word", "word"),
        ("5,2.5", 2.5),
        ("5,n/a", None),
        ("5,é", "é"),
        ("5,€", "€"),
        ('5,"x\ny"', "x\ny"),
        ("5,", None),
    ],
)
def test_a_late_block_may_contradict_the_first(small_blocks, last, value):
    whole = table_of(long_text(last)).read()
    assert whole.num_rows == 5001
    assert whole["b"][-1].as_py() == value
    table = table_of(long_text(last))
    batches = list(table.batches(300))
    assert table.n_rows == 5001
    assert batches[-1]["b"][-1].as_py() == value
    assert {batch["a"].type for batch in batches} | {batches[0]["b"].type} == {pa.int64()}
    numbers = [float(v) for b in batches for v in b["b"].to_pylist()[: b.num_rows - (b is batches[-1])]]
    assert numbers == [2.0] * 5000


@pytest.mark.parametrize("shift", range(0, 60, 3))
def test_a_block_never_ends_within_quotes(small_blocks, shift):
    """Wherever the blocks are cut, a quoted line break after which a line looks like a row is no end of a row."""
    rows = [f'{i},"one,\n{i},two"' for i in range(300)]
    text = "a,b\n" + "1,2\n" * (600 + shift) + "\n".join(rows) + "\n"
    values = table_of(text).read()["b"].to_pylist()[-300:]
    assert values == [f"one,\n{i},two" for i in range(300)]
    values = [value for batch in table_of(text).batches() for value in batch["b"].to_pylist()][-300:]
    assert values == [f"one,\n{i},two" for i in range(300)]


def test_reading_in_batches_first_changes_nothing(small_blocks):
    table = table_of(long_text("5,word") + b"7,8.5\n")
    before = list(table.batches(300))
    assert table.read() == table_of(long_text("5,word") + b"7,8.5\n").read()
    assert list(table.batches(300)) == before


def test_a_row_without_end(monkeypatch):
    monkeypatch.setattr("discriminant.tables.delimited.MAX_ROW_BYTES", 1 << 21)
    text = b"a,b\n" + b"1,2\n" * 300_000 + b'3,"' + b"x\n" * 5_000_000
    with pytest.raises(InputError, match="2 megabytes"):
        table_of(text).read()


def test_many_contradictions_end_in_text(small_blocks):
    names = [f"c{j}" for j in range(40)]
    first = ",".join(["1"] * 40)
    lines = [",".join("w" if i == j else "1" for i in range(40)) for j in range(40)]
    text = ",".join(names) + "\n" + f"{first}\n" * 300 + "\n".join(lines) + "\n"
    batches = list(table_of(text).batches(50))
    assert sum(batch.num_rows for batch in batches) == 340
    assert [batches[-1][name].to_pylist()[-40 + j] for j, name in enumerate(names)] == ["w"] * 40


def test_a_line_longer_than_a_block():
    text = "a,b\n1,2\n3," + "x" * 3_000_000 + "\n4,5\n"
    assert [len(value) for value in table_of(text).read()["b"].to_pylist()] == [1, 3_000_000, 1]
    batches = [value for batch in table_of(text).batches() for value in batch["b"].to_pylist()]
    assert [len(str(value)) for value in batches] == [1, 3_000_000, 1]


def test_ten_thousand_columns():
    names = [f"c{j}" for j in range(10_000)]
    text = ",".join(names) + "\n" + (",".join(["1.5"] * 10_000) + "\n") * 20
    data = table_of(text).read()
    assert data.shape == (20, 10_000)
    assert data.column_names == names
    assert data.schema.types == [pa.float64()] * 10_000


def test_ragged_lines_are_named():
    text = 'a,b,c\n1,"x\ny",3\n\n4,5\n6,7,8\n9,10,11,12\n'
    with pytest.raises(InputError, match=r"Line 5 of <stream> .* 2 .* 3: '4,5'"):
        table_of(text).read()
    with pytest.raises(InputError, match=r"Line 5 of <stream> .* 2 "):
        list(table_of(text).batches())


def test_lines_with_a_value_more_are_not_taken_for_named_rows():
    """A delimiter within the last text of every line would move all others by one column."""
    with pytest.raises(InputError, match=r"Line 2 of <stream> .* 3 .* 2: '1,Main Street, Bath'"):
        table_of("n,address\n1,Main Street, Bath\n5,High Street, York\n").read()
    with pytest.raises(InputError, match=r"Line 3 of <stream> .* 4 .* 3"):
        table_of("# a remark\na,b,c\n1,1,2,3\n1,2,3\n2,4,5,6\n").read()


def test_a_late_ragged_line_is_named(small_blocks):
    with pytest.raises(InputError, match=r"Line 5,002 of <stream> .* 1 .* 2"):
        table_of(long_text("5")).read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "0 bytes"),
        (b"\n \n\n", "<stream>"),
        (b"a,b\n", "header"),
        (b"a,b,a\n1,2,3\n", "'a'"),
        (b"a,b\n1,2\n3,\0\n", "line 3"),
        (b"\x07\x01\x02\x03\x05\x06" * 50, "<stream>"),
        (b"PK\x03\x04 and so on", "ZIP"),
        (b"%PDF-1.4", "PDF"),
        (b"PAR1\x15 but no more", "Parquet"),
        (b"ARROW1\0\0 but no more", "Arrow"),
        (b"\xff\xff\xff\xff\x10", "Arrow"),
        (b"\x1f\x8b but no gzip", "<stream>"),
        (gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-30], "<stream>"),
        (b'a,b\n"' + b"x" * 200_000, "quote"),
        (b"," * 200_000, "200,001 .* 100,000"),
    ],
)
def test_what_is_no_table_is_refused_in_plain_words(text, message):
    with pytest.raises(InputError, match=message):
        table_of(text).read()
    with pytest.raises(InputError, match=message):
        list(table_of(text).batches())


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "patients.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"patient\.csv .* 'patients\.csv'"):
        open_table(tmp_path / "patient.csv")
    with pytest.raises(InputError, match=str(tmp_path)):
        open_table(tmp_path)
    with pytest.raises(InputError):
        open_table("x" * 5000)
    with pytest.raises(InputError, match="list"):
        open_table([1, 2])


def test_files_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_text("a,b\n1,2\n")

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("discriminant.tables.files.open", denied, raising=False)
    with pytest.raises(InputError, match=r"secret\.csv"):
        open_table(path)


@pytest.mark.parametrize(
    "asked",
    [
        {"delimiter": ",,"},
        {"delimiter": "\n"},
        {"delimiter": ",", "decimal": ","},
        {"header": "yes"},
        {"quote": "ab"},
        {"decimal": ";"},
        {"missing_codes": [1]},
        {"encoding": "klingon"},
        {"types": {"a": "colour"}},
        {"types": ["a"]},
        {"columns": "a"},
    ],
    ids=str,
)
def test_bad_parameters(asked):
    with pytest.raises(ParameterError, match=next(iter(asked))):
        table_of("a,b\n1,2\n", **asked)


@pytest.mark.parametrize("asked", [{"target": "Agee"}, {"columns": ["Agee"]}, {"types": {"Agee": "number"}}], ids=str)
def test_columns_that_are_not_there_get_a_hint(asked):
    what = "target" if "target" in asked else "column"
    with pytest.raises(ColumnError, match=rf"{what} 'Agee'.* 'age'"):
        table_of("age,b\n1,2\n", **asked)


def test_a_first_line_that_was_taken_as_a_row_is_told():
    with pytest.raises(ColumnError, match="header=True"):
        table_of("1,x\n2,y\n", target="y?")


def test_a_declared_number_that_is_none_is_read_as_text():
    """What is made of it is for those who know how the column is written."""
    assert table_of("a,b\n1,2\n1,x\n", types={"b": "number"}).read()["b"].to_pylist() == ["2", "x"]
    parts = table_of("a,b\n1,2\n1,x\n", types={"b": "number"}).batches()
    assert [value for batch in parts for value in batch["b"].to_pylist()] == ["2", "x"]


def test_a_given_encoding_is_kept_to(small_blocks):
    with pytest.raises(InputError, match="utf-8"):
        table_of("a,b\n1,é\n2,x\n".encode("latin-1"), encoding="utf-8")
    with pytest.raises(InputError, match="utf-8"):
        table_of(long_text("5,é"), encoding="utf-8").read()


COLUMNS = {"n": [1.5, None, 3.0], "i": [1, 2, 3], "w": ["u", "v", None], "b": [True, False, True]}


def test_formats_hold_the_same_table(tmp_path):
    data = pa.table(COLUMNS)
    pq.write_table(data, tmp_path / "t.parquet")
    with pa.ipc.new_file(str(tmp_path / "t.feather"), data.schema) as writer:
        writer.write_table(data)
    with pa.ipc.new_stream(str(tmp_path / "t.arrows"), data.schema) as writer:
        writer.write_table(data)
    for name in ("t.parquet", "t.feather", "t.arrows"):
        table = open_table(tmp_path / name, "b")
        assert columns_of(table) == COLUMNS
        assert [batch.num_rows for batch in table.batches(2)] == [2, 1]
        assert table.n_rows == 3
        assert table.fingerprint == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert columns_of(open_table(tmp_path / name, columns=["w"])) == {"w": COLUMNS["w"]}
    with pytest.raises(ParameterError, match=r"delimiter .* Parquet"):
        open_table(tmp_path / "t.parquet", delimiter=",")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_hold_the_same_table(frame):
    table = open_table(frame(COLUMNS), "b")
    assert columns_of(table) == COLUMNS
    assert table.n_rows == 3
    assert table.fingerprint == open_table(frame(COLUMNS), "b").fingerprint
    assert table.fingerprint != open_table(frame(COLUMNS | {"i": [1, 2, 4]}), "b").fingerprint


def test_pandas_index_and_names_that_are_numbers():
    frame = pd.DataFrame({1: [1, 2], 2: ["x", "y"]}, index=["r", "s"])
    assert columns_of(open_table(frame)) == {"1": [1, 2], "2": ["x", "y"]}


def test_frames_that_mix_types_or_have_no_rows():
    with pytest.raises(ColumnError, match="column a"):
        open_table(pd.DataFrame({"a": [1, "x"]}))
    with pytest.raises(InputError, match="<frame>"):
        open_table(pl.DataFrame({"a": []})).read()


@pytest.mark.parametrize(
    ("ending", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", lambda text: pa.compress(text, "zstd", asbytes=True))],
)
def test_compressed_text(tmp_path, ending, compress):
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(compress(b"a;b\n1,5;x\n2;y\n"))
    assert columns_of(open_table(path)) == {"a": [1.5, 2.0], "b": ["x", "y"]}


def test_standard_input(monkeypatch):
    class Standard:
        buffer = io.BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr("sys.stdin", Standard())
    table = open_table("-")
    path = table.source.path
    assert columns_of(table) == {"a": [1], "b": [2]}
    assert [batch.num_rows for batch in table.batches()] == [1]
    assert table.fingerprint == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    del table
    assert not path.exists()


def test_a_stream_of_text_is_refused():
    with pytest.raises(InputError, match="<stream>"):
        open_table(io.StringIO("a,b\n1,2\n"))


@pytest.mark.parametrize("name", ["t.svm", "t.txt"])
def test_svmlight(tmp_path, name):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 9)) < 0.4, rng.normal(size=(40, 9)), 0)
    X[0] = 1
    y = rng.choice([-1, 1], 40)
    dump_svmlight_file(X, y, str(tmp_path / name), zero_based=False)
    table = open_table(tmp_path / name)
    rows = table.read()
    np.testing.assert_allclose(rows.X.toarray()[:, 1:], X, rtol=1e-12)
    np.testing.assert_array_equal(rows.y, y)
    assert [batch.num_rows for batch in table.batches(30)] == [30, 10]


def test_svmlight_in_several_parts(monkeypatch):
    monkeypatch.setattr("discriminant.tables.svmlight.PART_BYTES", 16)
    text = "".join(f"{i % 2} {i + 1}:{i}.5\n" for i in range(30)).encode()
    whole = table_of(text).read()
    assert whole.X.shape == (30, 31)
    assert [whole.X[i, i + 1] for i in range(30)] == [i + 0.5 for i in range(30)]
    with pytest.raises(InputError, match=r"Line 31 of <stream> .* '1 x:2'"):
        table_of(text + b"1 x:2\n").read()


@pytest.mark.parametrize("line", ["1 3:1 2:1", "1 5000000000:1", "x 1:2", "1 2:y"])
def test_damaged_svmlight(line):
    with pytest.raises(InputError, match="Line 3 of <stream>"):
        table_of(f"1 1:2\n0 2:1\n{line}\n").read()


def test_a_column_number_beyond_reason():
    with pytest.raises(InputError, match="999,999,999"):
        table_of("1 999999999:1\n0 1:1\n").read()


def test_columns_with_points_between_thousands_stay_text():
    dialect = find_dialect(b"thousands,whole,plus,number\n1.234,5,+1.5,-1.5e3\n5.678,6,2.5,NA\n7,8,3.5,2\n8,9,4.5,3\n")
    assert dialect.codes == ("thousands",)
