"""Workbooks, JSON, SQLite and DuckDB hold the same table as text does; what a file is shows in its content."""

import datetime as dt
import gzip
import io
import json
import os
import sqlite3
import sys
import threading
import zipfile
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discriminant import LinearDiscriminantAnalysis
from discriminant.decision.costs import read_cost_file
from discriminant.errors import ColumnError, DiscriminantError, InputError, ParameterError
from discriminant.tables import open_table, read_training

IRIS = Path(__file__).parent.parent / "reference" / "iris.csv"


def columns_of(source, **asked):
    """The columns, read whole; read in batches they have to be the same. Text that is nothing is missing."""
    table = open_table(source, **asked)
    whole = table.read()
    parts = list(open_table(source, **asked).batches(2))
    assert {name: [v for part in parts for v in part[name].to_pylist()] for name in table.columns} == whole.to_pydict()
    return {name: [None if v == "" else v for v in values] for name, values in whole.to_pydict().items()}


def said(table):
    return " ".join(str(finding.message) for finding in table.findings)


def kinds(table):
    return {finding.kind for finding in table.findings}


def workbook(path, *rows, sheet="Sheet1"):
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def sqlite_file(path, **tables):
    with sqlite3.connect(path) as database:
        for name, (columns, rows) in tables.items():
            database.execute(f'CREATE TABLE "{name}" ({columns})')
            database.executemany(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(rows[0]))})', rows)
    database.close()
    return path


def write_iris(folder):
    """The iris table in every format."""
    frame = pd.read_csv(IRIS)
    frame.to_parquet(folder / "iris.parquet")
    frame.to_feather(folder / "iris.feather")
    frame.to_excel(folder / "iris.xlsx", index=False)
    frame.to_json(folder / "records.json", orient="records")
    frame.to_json(folder / "lines.jsonl", orient="records", lines=True)
    frame.to_json(folder / "columns.json")
    frame.to_json(folder / "wrapped.json", orient="table", index=False)
    (folder / "lists.json").write_text(json.dumps(frame.to_dict("list")))
    with sqlite3.connect(folder / "iris.sqlite") as database:
        frame.to_sql("iris", database, index=False)
    database.close()
    with duckdb.connect(str(folder / "iris.duckdb")) as database:
        database.execute("CREATE TABLE iris AS SELECT * FROM frame")
    for path in list(folder.iterdir()):
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        (folder / f"{path.stem} of {path.suffix[1:]}.csv").write_bytes(path.read_bytes())
    for ending in ("xlsx", "json", "parquet", "csv.gz"):
        (folder / f"text.{ending}").write_bytes(IRIS.read_bytes())


def test_every_format_gives_the_same_model(tmp_path):
    write_iris(tmp_path)

    def fitted(source):
        training = read_training(open_table(source), "Species")
        return LinearDiscriminantAnalysis().fit(training.rows, training.y).coef_.tobytes()

    expected = fitted(IRIS)
    paths = sorted(tmp_path.iterdir())
    assert len(paths) > 30
    for path in paths:
        assert fitted(path) == expected, path.name
        assert fitted(io.BytesIO(path.read_bytes())) == expected, path.name
        misnamed = path.name.endswith(".csv") or path.name.startswith("text")
        assert ("file extension" in kinds(open_table(path))) == misnamed
    with pytest.raises(ColumnError, match=r"json\.csv \(JSON\) .* 'species'.* 'Species'"):
        open_table(tmp_path / "records of json.csv", "species")


def test_a_fingerprint_is_that_of_the_file_itself(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a", "y"], [1, "u"], [2, "v"])
    packed = tmp_path / "t.xlsx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for each in (path, packed):
        assert open_table(each).fingerprint == open_table(io.BytesIO(each.read_bytes())).fingerprint
    assert open_table(path).fingerprint != open_table(packed).fingerprint


def test_cells_of_a_workbook_keep_what_they_are(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["n", "whole", "code", "stored as text", "flag", "day", "time", "hours", "share", "broken", "blank"])
    day, moment, hours = dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 30), dt.timedelta(hours=36)
    sheet.append([0.1, 3, "007", "12.5", True, day, moment, hours, 0.05, "#DIV/0!", " "])
    sheet.append([1e-300, -4, "042", "7", False, day, moment, hours, 0.5, "#N/A", None])
    for row in (2, 3):
        sheet.cell(row, 9).number_format = "0%"
        sheet.cell(row, 10).data_type = "e"
    book.save(tmp_path / "t.xlsx")
    assert columns_of(tmp_path / "t.xlsx") == {
        "n": [0.1, 1e-300],
        "whole": [3, -4],
        "code": ["007", "042"],
        "stored as text": ["12.5", "7"],
        "flag": [True, False],
        "day": [day, day],
        "time": [moment, moment],
        "hours": [hours, hours],
        "share": [0.05, 0.5],
        "broken": [None, None],
        "blank": [None, None],
    }


def test_numbers_stored_as_text_are_told(tmp_path):
    rows = [[str(i * 7 % 10), i % 3, "uv"[i % 2]] for i in range(30)]
    training = read_training(open_table(workbook(tmp_path / "t.xlsx", ["a", "b", "y"], *rows)), "y")
    assert [finding.column for finding in training.findings if finding.kind == "number format"] == ["a"]
    assert [column.kind for column in training.schema.used] == ["number", "number"]


def test_a_sheet_is_a_page_before_it_is_a_table(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Cover"
    sheet = book.create_sheet("Results")
    cells = {
        "C2": "Table 1. Trees",
        "C3": "by plot",
        **dict(zip(("C5", "D5", "F5"), ("plot", "height", "kind"), strict=True)),
        **dict(zip(("C6", "D6", "F6"), ("A", 12.5, "oak"), strict=True)),
        **dict(zip(("D7", "F7"), (3, "elm"), strict=True)),
        **dict(zip(("C9", "D9", "F9"), ("B", 8, "oak"), strict=True)),
        "C10": "C",
        "C12": "Source: own survey",
    }
    for place, value in cells.items():
        sheet[place] = value
    sheet.merge_cells("C2:F2")
    sheet.merge_cells("C6:C7")
    book.create_sheet("Notes").append(["to do"])
    hidden = book.create_sheet("Secret")
    hidden.append(["a"])
    hidden.sheet_state = "hidden"
    book.create_chartsheet("Chart")
    book.save(tmp_path / "trees.xlsx")
    table = open_table(tmp_path / "trees.xlsx")
    assert columns_of(tmp_path / "trees.xlsx") == {
        "plot": ["A", "A", "B", "C"],
        "height": [12.5, 3.0, 8.0, None],
        "kind": ["oak", "elm", "oak", None],
    }
    assert table.read_as == "sheet 'Results' of a workbook, 3 columns"
    assert "'Cover' and 'Notes'" in said(table)
    assert "'Table 1. Trees', 'by plot' and 'Source: own survey'" in said(table)
    assert kinds(table) == {"sheet", "text around table", "empty rows"}
    assert columns_of(tmp_path / "trees.xlsx", table="Secret", header=False) == {"column_1": ["a"]}
    with pytest.raises(InputError, match=r"'Result'.* 'Results'"):
        open_table(tmp_path / "trees.xlsx", table="Result")
    with pytest.raises(InputError, match="'Cover'"):
        open_table(tmp_path / "trees.xlsx", table="Cover")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Two columns"], ["a", "y"], [1, "u"], [2, "v"]], {"a": [1, 2], "y": ["u", "v"]}),
        ([[None, "y"], [0, "u"], [1, "v"]], {"column_1": [0, 1], "y": ["u", "v"]}),
        ([[1, "u"], [2, "v"]], {"column_1": [1, 2], "column_2": ["u", "v"]}),
        ([["a"], [1], [2]], {"a": [1, 2]}),
        ([["a", "b,c", 'say "x"'], [1, "u\nv", "w, x"]], {"a": [1], "b,c": ["u\nv"], 'say "x"': ["w, x"]}),
    ],
    ids=str,
)
def test_headers_and_titles_of_sheets(tmp_path, rows, expected):
    assert columns_of(workbook(tmp_path / "t.xlsx", *rows)) == expected


def test_workbooks_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"\.xlsx"):
        open_table(workbook(tmp_path / "empty.xlsx"))
    path = workbook(tmp_path / "t.xlsx", ["a", "y"], [1, "u"])
    (tmp_path / "cut.xlsx").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError):
        open_table(tmp_path / "cut.xlsx")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    with pytest.raises(InputError):
        open_table(tmp_path / "old.xls")
    with pytest.raises(ParameterError, match=r"delimiter .* a workbook"):
        open_table(path, delimiter=";")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DiscriminantError, match=r"discriminant\[excel\]"):
        open_table(path)


JSON = {
    "late columns": '[{"a": 1}, {"a": 2, "b": "x"}, {"c": true, "a": null}]',
    "lines": '{"a": 1}\n{"a": 2, "b": "x"}\n\n{"c": true}\n',
    "one after the other": '{"a": 1} {"a": 2,\n "b": "x"}{"c": true}',
    "columns": '{"a": [1, 2, null], "b": [null, "x", null], "c": [null, null, true]}',
    "in something": '{"status": "ok", "rows": [{"a": 1}, {"a": 2, "b": "x"}, {"c": true}], "n": 3}',
}


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_of_every_form(tmp_path, text, encoding):
    path = tmp_path / "t.json"
    path.write_text(text, encoding=encoding)
    assert columns_of(path) == {"a": [1, 2, None], "b": [None, "x", None], "c": [None, None, True]}


def test_one_object_is_one_record():
    assert open_table(io.BytesIO(b'{"a": 1.5, "b": "x"}')).read().to_pylist() == [{"a": 1.5, "b": "x"}]


def test_json_numbers_keep_their_digits(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"f": 0.1, "i": 9007199254740993}\n{"f": NaN, "i": -9007199254740993}\n{"f": 1e-320, "i": 0}\n')
    assert columns_of(path) == {"f": [0.1, None, 1e-320], "i": [9007199254740993, -9007199254740993, 0]}
    path.write_text('[{"a": 1, "y": "u"}, {"a": Infinity, "y": "v"}]')
    with pytest.raises(InputError, match=r"'a' .* row 1"):
        read_training(path, "y")


def test_long_json_is_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("discriminant.tables.records.BATCH_ROWS", 7)
    rows = [{"text": 'a "quoted" {word} [é]\n' * (i % 3), "n": i * 1000.5, "e": -1e-5} for i in range(50)]
    for text in (json.dumps(rows), json.dumps(rows, indent=1), "\n".join(map(json.dumps, rows))):
        (tmp_path / "t.json").write_text(text)
        assert columns_of(tmp_path / "t.json")["n"] == [row["n"] for row in rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}, {"a": 2}', "line 1"),
        ('[{"a": 1},\n {"a": nul}]', "line 2, at 'nul}]'"),
        ('{"a": 1}\n{"a": "2', "line 2"),
        ('[{"a": 1, "a": 2}]', "'a'"),
        ("[[1, 2], [3, 4]]", "Record 0"),
        ('[{"a": 1}, 5]', "Record 1"),
        ("[]", "JSON"),
        ("{}", "JSON"),
        ('{"a": [1, 2], "b": [1]}', "'a' and 'b'"),
        ('{"a": {"0": 1, "1": 2}, "b": {"1": 1, "0": 2}}', "'a' and 'b'"),
        ('[{"a": ' + "[" * 100_000, "JSON"),
        ('[{"a": ' + "1" * 5000 + "}]", "JSON"),
    ],
    ids=lambda text: text[:30],
)
def test_json_that_is_no_table(text, message):
    with pytest.raises(InputError, match=message):
        open_table(io.BytesIO(text.encode()))


def test_nested_values_and_binary_data_are_refused_by_name(tmp_path):
    records = [{"x": i * 7 % 11, "tags": ["a"] * (i % 2), "y": "uv"[i % 2]} for i in range(30)]
    source = json.dumps(records).encode()
    with pytest.raises(ColumnError, match=r"'tags' .* list.* drop"):
        read_training(io.BytesIO(source), "y")
    assert read_training(io.BytesIO(source), "y", drop=["tags"]).schema.names == ("x",)
    path = sqlite_file(tmp_path / "t.db", t=("x, picture, y", [(i * 7 % 11, b"\x89", "uv"[i % 2]) for i in range(30)]))
    with pytest.raises(ColumnError, match=r"'picture' .* binary"):
        read_training(path, "y")


def test_sqlite_columns_may_hold_anything(tmp_path):
    rows = [(1, "1.5", 2.0, "u", None), (9007199254740993, "2", "x", "v", 5)]
    path = sqlite_file(tmp_path / "t.db", t=("i INTEGER, s TEXT, mixed, y TEXT, gap", rows))
    found = {"i": [1, 9007199254740993], "s": ["1.5", "2"], "mixed": ["2", "x"], "y": ["u", "v"], "gap": [None, 5]}
    assert columns_of(path) == found
    assert columns_of(path, table="SELECT y, i AS number FROM t WHERE i = 1") == {"y": ["u"], "number": [1]}


def test_reading_sqlite_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "odd ?#%name.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=wal")
    database.execute("CREATE TABLE t AS SELECT 1 AS a, 'u' AS y")
    database.commit()
    assert columns_of(path) == {"a": [1], "y": ["u"]}
    database.close()
    assert columns_of(path) == {"a": [1], "y": ["u"]}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_databases_of_several_tables(tmp_path, kind):
    path = tmp_path / "t.db"
    connect = sqlite3.connect if kind == "sqlite" else duckdb.connect
    database = connect(str(path))
    database.execute("CREATE TABLE trees (height REAL, kind TEXT)")
    database.execute('CREATE TABLE "odd ""name" AS SELECT 1 AS a')
    database.execute("CREATE VIEW tall AS SELECT * FROM trees WHERE height > 10")
    database.execute("INSERT INTO trees VALUES (12.5, 'oak'), (3.5, 'elm')")
    database.commit()
    database.close()
    assert columns_of(path, table="trees") == {"height": [12.5, 3.5], "kind": ["oak", "elm"]}
    assert columns_of(path, table="tall") == {"height": [12.5], "kind": ["oak"]}
    assert columns_of(path, table='odd "name') == {"a": [1]}
    assert columns_of(path, table="select kind from trees order by height") == {"kind": ["elm", "oak"]}
    with pytest.raises(InputError, match=r" 3 tables: .*'tall' and 'trees'.* table"):
        open_table(path)
    with pytest.raises(InputError, match=r"'tree'.* 'trees'"):
        open_table(path, table="tree")
    for query in ("SELECT nothing FROM trees", "WITH x AS (SELECT 1", "SELECT 1; DROP TABLE trees"):
        with pytest.raises(InputError, match="query"):
            open_table(path, table=query).read()
    assert columns_of(path, table="trees")["kind"] == ["oak", "elm"]


def test_databases_that_cannot_be_read(tmp_path, monkeypatch):
    sqlite_file(tmp_path / "none.db")
    sqlite3.connect(tmp_path / "none.db").execute("VACUUM").connection.close()
    with pytest.raises(InputError, match=r"none\.db .* SQLite"):
        open_table(tmp_path / "none.db")
    (tmp_path / "damaged.db").write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    with pytest.raises(InputError, match="SQLite"):
        open_table(tmp_path / "damaged.db")
    (tmp_path / "damaged.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\1" * 5000)
    with pytest.raises(InputError, match="DuckDB"):
        open_table(tmp_path / "damaged.duckdb")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DiscriminantError, match=r"discriminant\[duckdb\]"):
        open_table(tmp_path / "damaged.duckdb")
    with pytest.raises(ParameterError, match=r"^table "):
        open_table(IRIS, table="iris")


def test_a_duckdb_view_reads_nothing_outside(tmp_path):
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    with pytest.raises(InputError, match="DuckDB"):
        open_table(tmp_path / "t.duckdb").read()


def zip_of(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html>\n<html><table>", "HTML"),
        (b"\xef\xbb\xbf \n<table border=1><tr>", "HTML"),
        (b'<?xml version="1.0"?><Workbook>', "HTML"),
        (b"%PDF-1.7\n%\xe2\xe3", "PDF"),
        (zip_of(a_csv="x,y\n1,2\n", b_txt=""), "ZIP archive .*'a.csv' and 'b.txt'"),
        (b"\xb0+" + bytes(6) + b'{"__metadata__":{"document":"{}"}}', "model file"),
        (gzip.compress(b"x" * 257 + b"ustar\0" + b"\0" * 300), "tar archive"),
        (b"\xfd7zXZ\0\0", "xz archive"),
        (b"RDX3\nX\n\0\0\0\3", "R data"),
        (b"\x89PNG\r\n\x1a\n\0", "image"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.xls"])
def test_what_is_no_table_is_called_by_its_name(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_table(tmp_path / name)


def test_a_name_that_promises_what_is_damaged(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"\0\0\0\0" * 100)
    with pytest.raises(InputError, match="Parquet"):
        open_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("first", ["PAR1", "ARROW1", "BZh", "ORC", "RDX", "a,b,c,d,DUCK", "[a]", "{a}", "<a>"])
def test_columns_may_be_called_like_other_formats(first):
    header = f"{first},y"
    table = open_table(io.BytesIO(f"{header}\n{'1,' * header.count(',')}u\n{'2,' * header.count(',')}v\n".encode()))
    assert table.columns == tuple(header.split(","))
    assert table.read().num_rows == 2


def test_a_json_file_of_another_kind_is_json(tmp_path):
    (tmp_path / "t.json").write_text("[1, 2]")
    with pytest.raises(InputError, match="Record 0"):
        open_table(tmp_path / "t.json")


def test_costs_may_be_in_any_format(tmp_path):
    costs = pd.DataFrame({"truth": ["u", "v"], "u": [0.0, 5.0], "v": [1.0, 0.0]})
    costs.to_json(tmp_path / "c.json", orient="records")
    costs.to_excel(tmp_path / "c.xlsx", index=False)
    costs.to_parquet(tmp_path / "c.parquet")
    for name in ("c.json", "c.xlsx", "c.parquet"):
        assert read_cost_file(tmp_path / name, ["u", "v"]) == {"u": {"u": 0, "v": 1}, "v": {"u": 5, "v": 0}}


def test_weights_may_be_decimals():
    table = pa.table({"a": [i * 7 % 11 for i in range(30)], "y": list("uv" * 15)})
    weighted = table.append_column("w", pa.array([2] * 30, pa.decimal128(38, 0)))
    assert read_training(weighted, "y", weights="w").weights.tolist() == [2.0] * 30


@pytest.mark.parametrize("form", ["json", "xlsx", "db"])
def test_what_stands_for_missing_can_be_said_of_every_format(tmp_path, form):
    path, frame = tmp_path / f"t.{form}", pd.DataFrame({"a": [1, 2, None], "b": ["x", "none", "?"]})
    if form == "db":
        sqlite_file(path, t=("a, b", [(1, "x"), (2, "none"), (None, "?")]))
    elif form == "json":
        frame.to_json(path, orient="records")
    else:
        frame.to_excel(path, index=False)
    assert open_table(path, missing_codes=["none"]).missing_codes == ("", "none")


def test_text_that_looks_like_json_can_be_read_as_text():
    table = open_table(io.BytesIO(b'{"k": 1};y\n{"k": 2};5\n{"k": 3};6\n'), delimiter=";", quote="")
    assert table.columns == ('{"k": 1}', "y")


def piped(path, content):
    """A named pipe into which another thread writes."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return path


@pytest.mark.parametrize("form", ["text", "text.gz", "parquet", "workbook", "sqlite"])
def test_a_pipe_is_read_like_a_file(tmp_path, monkeypatch, form):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "spool").mkdir()
    data = {"a": [1.5, 2.5], "y": ["u", "v"]}
    buffer = io.BytesIO()
    if form == "parquet":
        pq.write_table(pa.table(data), buffer)
    elif form == "workbook":
        pd.DataFrame(data).to_excel(buffer, index=False)
    elif form == "sqlite":
        buffer.write(sqlite_file(tmp_path / "t.db", t=("a, y", [(1.5, "u"), (2.5, "v")])).read_bytes())
    else:
        text = b"a,y\n1.5,u\n2.5,v\n"
        buffer.write(gzip.compress(text) if form == "text.gz" else text)
    table = open_table(piped(tmp_path / "pipe", buffer.getvalue()))
    assert table.read().to_pydict() == data
    assert table.read().to_pydict() == data
    assert table.label == str(tmp_path / "pipe")
    del table
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_is_no_file_is_refused(tmp_path):
    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(InputError, match=device):
            open_table(device)
    with pytest.raises(InputError, match="0 bytes"):
        open_table(piped(tmp_path / "pipe", b""))
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"link\.csv .*gone\.csv"):
        open_table(tmp_path / "link.csv")
    with pytest.raises(InputError, match=r"file\.csv"):
        open_table(tmp_path / "no" / "such" / "file.csv")


def test_a_full_disk_is_told_with_the_folder(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(InputError, match=r"<stream> .*TMPDIR"):
        open_table(io.BytesIO(b"a,b\n1,2\n"))


def test_an_opendocument_sheet(tmp_path):
    def cell(value):
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    rows = [["a", "y"], [1.5, "u"], [2, "v"]]
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    spaces = "".join(f' xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
    body = f'<office:body><office:spreadsheet><table:table table:name="S">{lines}</table:table></office:spreadsheet>'
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr(
            "content.xml", f"<office:document-content{spaces}>{body}</office:body></office:document-content>"
        )
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    assert columns_of(tmp_path / "t.ods") == {"a": [1.5, 2.0], "y": ["u", "v"]}


@pytest.mark.parametrize("coded", [False, True], ids=["texts", "codes"])
@pytest.mark.parametrize("form", ["frame", "file"])
def test_texts_in_arrows_newer_layout(tmp_path, form, coded):
    texts = {"kind": ["x", "y", "z", None] * 20, "size": ["1.5", "2", "3", ""] * 20, "answer": ["yes", "no"] * 40}

    def laid_out(values, kind):
        levels = [level for level in dict.fromkeys(values) if level is not None]
        codes = pa.array([None if value is None else levels.index(value) for value in values], pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(levels, kind)) if coded else pa.array(values, kind)

    plain, views = (
        pa.table({name: laid_out(values, kind) for name, values in texts.items()})
        for kind in (pa.string(), pa.string_view())
    )
    given = views
    if form == "file":
        with pa.OSFile(str(given := tmp_path / "views.arrow"), "wb") as file, pa.ipc.new_file(file, views.schema) as to:
            to.write_table(views)
    expected, found = read_training(plain, "answer"), read_training(given, "answer")
    assert found.schema.names == expected.schema.names
    assert found.y.tolist() == expected.y.tolist()
    assert found.X.tolist() == expected.X.tolist() == expected.schema.encode_batch(views)[0].tolist()
