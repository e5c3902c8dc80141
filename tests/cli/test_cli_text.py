"""Text from files on its way out: to a terminal without control characters, to programs as it is."""

import csv
import io
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from commands import run_command, write_rows

from discriminant.results import aligned, listed

#: The bell, colours, the title of the window, a C1 sequence, writing from right to left, a forged line.
EVIL = "a\x7f\x07\x1b[31m\x1b]0;title\x07\x9b2J\u202eb\nError: c"
#: What a terminal may be sent: printable text and ends of lines, in colours of our own (SGR).
STYLES = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A table whose classes, levels and columns have names that act on terminals, and its folder has one, too."""
    folder = tmp_path_factory.mktemp("evil") / "x\x1b[31m\u202ey"
    folder.mkdir()
    columns = {
        f"target{EVIL}": [f"{EVIL}{i % 2}" for i in range(60)],
        "number": [i * 7 % 11 for i in range(60)],
        f"column{EVIL}": [f"{EVIL}level {i % 3}" for i in range(60)],
        "id": [f"id {EVIL}{i}" for i in range(60)],
    }
    parquet.write_table(pa.table(columns), folder / "table.parquet")
    return folder / "table.parquet"


@pytest.fixture(scope="module")
def evil_model(evil):
    path = evil.with_name("model.dsc")
    ran = run_command("fit", evil, "-t", f"target{EVIL}", "--model", "logistic", "-o", path)
    assert ran.code == 0, ran.err
    return path


def assert_harmless(text):
    for line in STYLES.sub("", text).replace("\r\n", "\n").split("\n"):
        assert line.isprintable(), ascii(line)


@pytest.mark.parametrize(
    "words",
    [
        ("describe", "TABLE", "-t", "TARGET"),
        ("describe", "TABLE", "-t", "TARGET", "--json"),
        ("describe", "TABLE", "-t", EVIL),
        ("describe", "MISSING", "-t", "TARGET"),
        ("describe", "TABLE", "-t", "TARGET", "--drop", EVIL, "--debug"),
        ("compare", "TABLE", "-t", "TARGET", "--models", "lda,naive-bayes"),
        ("fit", "TABLE", "-t", "TARGET", "--types", f"{EVIL}=number"),
        ("fit", "TABLE", "-t", "TARGET", "--model", "logistic", "--set", f"reference={EVIL}"),
        ("evaluate", "MODEL", "TABLE"),
        ("evaluate", "MODEL", "TABLE", "--json"),
        ("explain", "MODEL"),
        ("explain", "MODEL", "TABLE", "--row", "1"),
        ("explain", "MODEL", "--row", f"{EVIL}=1"),
        ("predict", "MODEL", "TABLE", "--keep", EVIL),
        ("predict", "MODEL", "TABLE", "--priors", f"{EVIL}=1"),
        ("describe", "TABLE", f"extra {EVIL}"),
        ("describe", "TABLE", f"--no-{EVIL}"),
        (EVIL,),
        ("raster", EVIL),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_control_character_is_written(words, evil, evil_model):
    places = {"TABLE": evil, "MODEL": evil_model, "TARGET": f"target{EVIL}", "MISSING": evil.with_name("no\x1b[1m.csv")}
    ran = run_command(*(places.get(word, word) for word in words))
    assert_harmless(ran.out)
    assert_harmless(ran.err)
    assert not re.search("^Error: c", ran.out + ran.err, re.MULTILINE)


def test_json_says_the_same_in_printable_letters(evil):
    ran = run_command("describe", evil, "-t", f"target{EVIL}", "--json")
    assert ran.json["target"] == f"target{EVIL}"
    assert {row["class"] for row in ran.json["classes"]} == {f"{EVIL}0", f"{EVIL}1"}


def on_a_terminal(*words):
    """What a command writes where its standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "discriminant", *map(str, words)], stdout=theirs) as process:
        os.close(theirs)
        found = b""
        try:
            while part := os.read(ours, 1 << 16):
                found += part
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return found.decode()


def test_rows_and_programs_are_harmless_on_a_terminal_and_exact_elsewhere(evil, evil_model):
    shown = on_a_terminal("predict", evil_model, evil, "--keep-all")
    assert_harmless(shown)
    assert "\\x1b[31m" in shown
    assert_harmless(on_a_terminal("export", evil_model, "--to", "sql", "--dialect", "sqlite"))
    ran = run_command("predict", evil_model, evil, "--keep-all")
    rows = list(csv.reader(io.StringIO(ran.out, newline="")))
    assert rows[1][0] == f"{EVIL}0"


def test_printed_results_show_what_they_cannot_do():
    assert_harmless(aligned([[EVIL, "1"]])[0])
    assert_harmless(listed([EVIL, "b"]))


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\uff1d1"]
PLAIN = ["-1.5", "+3", "-", "+", "-1e-5", "-1,234.5", "a=1", "", "-12,5", "+5 %"]


@pytest.fixture
def sheet(tmp_path):
    """Rows with cells that begin like formulas, and a model for them."""
    cells = [*FORMULAS, *PLAIN]
    rows = [["yes" if i % 3 else "-no", i * 7 % 11, cell] for i, cell in enumerate(cells)]
    table = write_rows(tmp_path / "table.csv", [["y", "size", "note"], *rows, *rows, *rows])
    assert (
        run_command("fit", table, "-t", "y", "--model", "logistic", "--drop", "note", "-o", tmp_path / "model.dsc").code
        == 0
    )
    return table, tmp_path / "model.dsc"


def notes(text):
    return [row["note"] for row in csv.DictReader(io.StringIO(text, newline=""))][: len(FORMULAS + PLAIN)]


def test_formulas_are_passed_on_by_choice_only(sheet, tmp_path):
    table, model = sheet
    ran = run_command("predict", model, table, "--keep", "note", "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "'=1+1'" in ran.err
    assert "--csv-formulas keep" in ran.err
    assert "--csv-formulas quote" in ran.err
    assert not (tmp_path / "out.csv").exists()


def test_formulas_are_kept_or_quoted(sheet):
    table, model = sheet
    kept = notes(run_command("predict", model, table, "--keep", "note", "--csv-formulas", "keep").out)
    quoted = notes(run_command("predict", model, table, "--keep", "note", "--csv-formulas", "quote").out)
    assert kept == FORMULAS + PLAIN
    assert quoted == [f"'{cell}" for cell in FORMULAS] + PLAIN


def test_classes_and_names_of_columns_count_too(sheet, tmp_path):
    table, model = sheet
    assert "'-no'" in run_command("predict", model, table).err
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(table.read_text().replace("note", "=note", 1))
    ran = run_command("predict", model, renamed, "--keep", "=note")
    assert "The name of a column has text that a spreadsheet would execute: '=note'" in ran.err


def test_parquet_holds_formulas_as_they_are(sheet, tmp_path):
    table, model = sheet
    assert run_command("predict", model, table, "--keep", "note", "-o", tmp_path / "out.parquet").code == 0
    assert parquet.read_table(tmp_path / "out.parquet")["note"][0].as_py() == "=1+1"


def test_a_name_of_standard_output_is_standard_output(iris_model, iris):
    plain = run_command("predict", iris_model, iris)
    for name in ("-", "/dev/stdout"):
        assert run_command("predict", iris_model, iris, "-o", name).out == plain.out
    assert run_command("export", iris_model, "--to", "json", "-o", "-").out.startswith("{")


def test_a_model_file_does_not_go_to_standard_output(iris):
    ran = run_command("fit", iris, "-t", "species", "--model", "logistic", "-o", "-")
    assert ran.code == 1
    assert "standard output (-)" in ran.err


@pytest.mark.parametrize("name", ["/dev/null", "/dev/stderr"])
def test_devices_are_refused(iris_model, iris, name):
    for words in (("predict", iris_model, iris), ("fit", iris, "-t", "species", "--model", "logistic")):
        ran = run_command(*words, "-o", name, "--overwrite")
        assert ran.code == 1
        assert "Cannot write" in ran.err


def test_a_report_is_no_pipe(iris, tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    ran = run_command("compare", iris, "-t", "species", "--report", tmp_path / "pipe.html", "--overwrite")
    assert "a device, a pipe or a socket" in ran.err


#: What makes a column remarkable, by the number of the row, its class and a random number.
ODD_COLUMNS = {
    "constant": lambda i, y, u: 7,
    "identifier": lambda i, y, u: f"id{i:04d}",
    "mostly_missing": lambda i, y, u: round(u, 3) if u < 0.2 else "",
    "missing": lambda i, y, u: round(u, 3) if u < 0.9 else "",
    "money": lambda i, y, u: f"${u * 1e4:,.2f}",
    "stray": lambda i, y, u: "unknown" if i % 50 == 3 else round(u, 3),
    "day": lambda i, y, u: f"2026-{1 + i % 12:02d}-{1 + i % 28:02d}",
    "either_day": lambda i, y, u: f"{1 + i % 12:02d}/{1 + i % 11:02d}/2026",
    "few": lambda i, y, u: 1 + int(3 * u),
    "levels": lambda i, y, u: f"level {int(180 * u)}",
    "spelled": lambda i, y, u: ("Berlin", "berlin", "Hamburg", "Hambrug")[int(4 * u * u)],
    "leak": lambda i, y, u: y,
    "truth": lambda i, y, u: ("yes", "no")[int(2 * u)],
}


@pytest.fixture(scope="module")
def odd_table(folder):
    """Eight columns of every odd kind, and as many copies of one."""
    rng = np.random.default_rng(0)
    classes = ["ill" if u < 0.04 else "well" for u in rng.random(240)]
    columns = {f"{kind}_{k}": make for kind, make in ODD_COLUMNS.items() for k in range(8)}
    rows = []
    for i, y in enumerate(classes):
        own = rng.normal() + 2 * (y == "ill")
        values = [make(i, y, u) for make, u in zip(columns.values(), rng.random(len(columns)), strict=True)]
        rows.append([*values, *[round(own, 4)] * 8, round(own + rng.normal(), 4), y])
    return write_rows(folder / "odd.csv", [[*columns, *(f"copy_{k}" for k in range(8)), "x", "target"], *rows])


@pytest.mark.parametrize("command", ["fit", "compare", "describe", "evaluate"])
def test_any_table_has_at_most_ten_lines_of_notes(run, odd_table, tmp_path, command):
    model = ("--model", "lda") if command == "fit" else ("--models", "lda,naive-bayes") if command == "compare" else ()
    if command == "evaluate":
        run("fit", odd_table, "-t", "target", "--model", "lda", "-o", tmp_path / "m.dsc")
        found = run(command, tmp_path / "m.dsc", odd_table)
    else:
        found = run(command, odd_table, "-t", "target", *model)
        every = run(command, odd_table, "-t", "target", *model, "--json").json["findings"]
        assert len({finding["kind"] for finding in every}) > 10
        assert len(every) > 60
    assert len(found.err.splitlines()) <= 10
    if command == "describe":
        told = found.out.partition("Data issues\n")[2].partition("\n\n")[0].splitlines()
        assert 1 < len(told) <= 10
        assert "more like this: " in "".join(told)
    elif command != "evaluate":
        assert "more like this: " in found.err
        assert found.err.count("(--json lists all.)") == 1


def test_many_columns_with_unseen_levels_are_told_together(run, tmp_path):
    names = [f"c{k}" for k in range(30)]
    rows = [[*("ab"[(i >> k % 5) % 2] for k in range(30)), "uv"[i % 2]] for i in range(64)]
    table, model = write_rows(tmp_path / "t.csv", [[*names, "y"], *rows]), tmp_path / "m.dsc"
    run("fit", table, "-t", "y", "--model", "naive-bayes", "-o", model)
    new = write_rows(tmp_path / "new.csv", [names, ["new"] * 30])
    err = run("predict", model, new).err
    assert 0 < len(err.splitlines()) <= 10
    assert "('new')" in err
