"""Commands take tables from pipes, workbooks, databases and JSON as they take them from text files."""

import json
import os
import sqlite3
import subprocess
import sys
import threading

import duckdb
import openpyxl
import pandas as pd
import pytest
from commands import run_command

PROGRAM = [sys.executable, "-m", "discriminant"]


def shell(folder, line):
    """A line for bash, in which ``discriminant`` is this program."""
    spool = folder / "spool"
    spool.mkdir(exist_ok=True)
    line = line.replace("discriminant", " ".join(PROGRAM))
    environment = {**os.environ, "TMPDIR": str(spool)}
    ran = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert list(spool.iterdir()) == []
    return ran


@pytest.fixture(scope="module")
def place(tmp_path_factory, iris, iris_model):
    """The iris table in several formats beside a model."""
    folder = tmp_path_factory.mktemp("sources")
    frame = pd.read_csv(iris)
    (folder / "iris.csv").write_bytes(iris.read_bytes())
    (folder / "iris.dsc").write_bytes(iris_model.read_bytes())
    frame.to_json(folder / "iris.json", orient="records")
    with pd.ExcelWriter(folder / "iris.xlsx") as book:
        frame.to_excel(book, sheet_name="flowers", index=False)
        frame[["species"]].to_excel(book, sheet_name="other", index=False)
    with sqlite3.connect(folder / "iris.db") as database:
        frame.to_sql("flowers", database, index=False)
        frame.to_sql("more flowers", database, index=False)
    database.close()
    return folder


@pytest.mark.parametrize("data", ["<(cat iris.csv)", "/dev/stdin < <(gzip -c iris.csv)"])
def test_describe_takes_a_pipe(place, data):
    ran = shell(place, f"discriminant describe {data} -t species --json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["rows"] == 150
    assert [row["rows"] for row in found["classes"]] == [50, 50, 50]


def test_every_command_takes_a_pipe(place, tmp_path):
    def piped(name):
        pipe = tmp_path / f"{len(list(tmp_path.iterdir()))} {name}"
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=((place / name).read_bytes(),), daemon=True).start()
        return pipe

    model, other, lda = tmp_path / "piped.dsc", tmp_path / "file.dsc", ("-t", "species", "--model", "lda", "-o")
    for arguments in (
        ("fit", piped("iris.csv"), *lda, model),
        ("fit", place / "iris.csv", *lda, other),
        ("compare", piped("iris.xlsx"), "-t", "species", "--models", "lda", "--folds", "3"),
        ("predict", model, piped("iris.json"), "--missing-columns", "missing", "-o", tmp_path / "out.csv"),
        ("evaluate", model, piped("iris.csv")),
        ("explain", model, piped("iris.json"), "--row", "3"),
    ):
        ran = run_command(*arguments)
        assert ran.code == 0, (arguments, ran.err)
    first, second = (run_command("explain", path, "--json").json for path in (model, other))
    assert first["coefficients"] == second["coefficients"]
    assert first["training"]["sha256"] == second["training"]["sha256"]


@pytest.mark.parametrize(
    "data",
    [
        ("iris.json",),
        ("iris.xlsx",),
        ("iris.xlsx", "--table", "flowers"),
        ("iris.db", "--table", "flowers"),
        ("iris.db", "--table", "SELECT * FROM flowers"),
    ],
    ids=" ".join,
)
def test_commands_take_every_format(place, data):
    path, *options = data
    expected = run_command("predict", place / "iris.dsc", place / "iris.csv", "--proba")
    ran = run_command("predict", place / "iris.dsc", place / path, "--proba", *options)
    assert ran.code == 0, ran.err
    assert ran.out == expected.out
    assert ("Sheet 'flowers' was read. To read 'other', give --table." in ran.err) == (data == ("iris.xlsx",))
    described = run_command("describe", place / path, "-t", "species", "--json", *options).json
    assert described["rows"] == 150
    evaluated = run_command("evaluate", place / "iris.dsc", place / path, *options)
    assert evaluated.code == 0
    assert run_command("explain", place / "iris.dsc", place / path, "--row", "7", *options).code == 0


def test_duckdb_ends_quietly(place):
    frame = pd.read_csv(place / "iris.csv")
    with duckdb.connect(str(place / "iris.duckdb")) as database:
        database.register("frame", frame)
        database.execute("CREATE TABLE flowers AS SELECT * FROM frame")
    ran = shell(place, "discriminant predict iris.dsc iris.duckdb | sort | uniq -c")
    assert ran.stderr == ""
    assert len(ran.stdout.splitlines()) == 4


def test_a_database_of_several_tables_asks_which(place):
    ran = run_command("describe", place / "iris.db", "-t", "species")
    assert ran.code == 1
    assert "'flowers' and 'more flowers'. Choose one with --table." in ran.err


def test_a_model_file_remembers_the_rows_of_a_workbook(place, tmp_path):
    arguments = (place / "iris.xlsx", "-t", "species", "--model", "lda", "-o", tmp_path / "m.dsc")
    assert run_command("fit", *arguments).code == 0
    ran = run_command("evaluate", tmp_path / "m.dsc", place / "iris.xlsx")
    assert "fitted to these data" in ran.err


def test_identifiers_above_2_to_the_53_are_passed_on_and_predicted_exactly(tmp_path):
    first = 2**63 + 5
    rows = [(first + i, i * 7 % 10, i % 3, 2**60 + i % 2) for i in range(40)]
    (tmp_path / "t.csv").write_text("id,a,b,y\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    book = openpyxl.Workbook()
    book.active.append(["id", "a", "b", "y"])
    for row in rows:
        book.active.append([str(row[0]), row[1], row[2], str(row[3])])
    book.save(tmp_path / "t.xlsx")
    assert run_command("fit", tmp_path / "t.csv", "-t", "y", "--model", "lda", "-o", tmp_path / "m.dsc").code == 0
    for name in ("t.csv", "t.xlsx"):
        ran = run_command("predict", tmp_path / "m.dsc", tmp_path / name, "--keep", "id")
        assert ran.code == 0, ran.err
        head, *lines = [line.split(",") for line in ran.out.replace('"', "").split()]
        assert head == ["id", "prediction"]
        assert [int(line[0]) for line in lines] == [row[0] for row in rows]
        assert {int(line[1]) for line in lines} == {2**60, 2**60 + 1}
    described = run_command("describe", tmp_path / "t.csv", "-t", "y", "--json").json
    assert [row["class"] for row in described["classes"]] == [2**60, 2**60 + 1]
    assert "id" in [column["name"] for column in described["table_columns"] if column["dropped"]]
