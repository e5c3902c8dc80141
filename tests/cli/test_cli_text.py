"""Text from files on its way out: to a terminal without control characters, to programs as it is."""

import csv
import io
import os
import pty
import re
import subprocess
import sys

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
    ran = run_command("fit", evil, "-t", f"target{EVIL}", "-o", path)
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
        ("fit", "TABLE", "-t", "TARGET", "--set", f"reference={EVIL}"),
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
    assert run_command("fit", table, "-t", "y", "--drop", "note", "-o", tmp_path / "model.dsc").code == 0
    return table, tmp_path / "model.dsc"


def notes(text):
    return [row["note"] for row in csv.DictReader(io.StringIO(text, newline=""))][: len(FORMULAS + PLAIN)]


def test_formulas_are_passed_on_by_choice_only(sheet, tmp_path):
    table, model = sheet
    ran = run_command("predict", model, table, "--keep", "note", "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "run as a formula: '=1+1'" in ran.err
    assert "--formulas keep" in ran.err
    assert "--formulas quote" in ran.err
    assert not (tmp_path / "out.csv").exists()


def test_formulas_are_kept_or_quoted(sheet):
    table, model = sheet
    kept = notes(run_command("predict", model, table, "--keep", "note", "--formulas", "keep").out)
    quoted = notes(run_command("predict", model, table, "--keep", "note", "--formulas", "quote").out)
    assert kept == FORMULAS + PLAIN
    assert quoted == [f"'{cell}" for cell in FORMULAS] + PLAIN


def test_classes_and_names_of_columns_count_too(sheet, tmp_path):
    table, model = sheet
    assert "'-no'" in run_command("predict", model, table).err
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(table.read_text().replace("note", "=note", 1))
    ran = run_command("predict", model, renamed, "--keep", "=note")
    assert "The name of a column has text that a spreadsheet would run as a formula: '=note'" in ran.err


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
    ran = run_command("fit", iris, "-t", "species", "-o", "-")
    assert ran.code == 1
    assert "- is standard output, where this file cannot go" in ran.err


@pytest.mark.parametrize("name", ["/dev/null", "/dev/stderr"])
def test_devices_are_refused(iris_model, iris, name):
    for words in (("predict", iris_model, iris), ("fit", iris, "-t", "species")):
        ran = run_command(*words, "-o", name, "--overwrite")
        assert ran.code == 1
        assert "Cannot write" in ran.err


def test_a_report_is_no_pipe(iris, tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    ran = run_command("compare", iris, "-t", "species", "--report", tmp_path / "pipe.html", "--overwrite")
    assert "a device, a pipe or a socket" in ran.err
