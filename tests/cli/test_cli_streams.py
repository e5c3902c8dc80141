"""The command line as a process: standard streams, exit codes, closed pipes and interruptions."""

import os
import signal
import subprocess
import sys
import time
from importlib import import_module

import pytest
from commands import run_command

import discriminant
from discriminant import kernels

PROGRAM = [sys.executable, "-m", "discriminant"]


def process(*arguments, **options):
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, check=False, timeout=120, **options)


def test_the_version():
    ran = process("--version")
    assert ran.stdout.decode() == f"discriminant {discriminant.__version__} (kernels: {kernels.BUILD})\n"
    assert ran.returncode == 0


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom discriminant.cli import app\n"
        "try:\n    app(['compare', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'pandas', 'plotly', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"


@pytest.mark.parametrize("name", ["lda", "qda", "auto", "naive-bayes"])
def test_a_small_table_is_predicted_without_what_takes_long_to_load(name, titanic, tmp_path):
    model = tmp_path / "model.dsc"
    run_command("fit", titanic, "-t", "survived", "--model", name, "-o", model)
    code = (
        "import sys\nfrom discriminant.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'sklearn', 'scipy', 'polars', 'plotly', 'pyarrow.parquet'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    words = ["predict", str(model), str(titanic), "--proba"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert ran.stderr.strip().splitlines()[-1] == "[]"
    assert ran.stdout == run_command(*words).out


def test_a_comparison_loads_only_what_it_uses(titanic):
    code = (
        "import sys\nfrom discriminant.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "late = {'sklearn.calibration', 'plotly'}\n"
        "print(sorted(late & set(sys.modules)), file=sys.stderr)"
    )
    words = ["compare", str(titanic), "-t", "survived", "--models", "lda,svm-calibrated,ridge", "--folds", "2"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert ran.stderr.strip().splitlines()[-1] == "[]"


def test_rows_through_a_pipe(titanic_model, new_passengers):
    ran = process("predict", titanic_model, "-", input=new_passengers.read_bytes())
    expected = run_command("predict", titanic_model, new_passengers)
    assert ran.stdout.decode() == expected.out
    assert ran.returncode == 0


def test_errors_go_to_standard_error_with_their_exit_code(titanic):
    ran = process("fit", titanic, "-t", "survivd")
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode().startswith("Error: ")


@pytest.mark.parametrize(
    "arguments", [("predict", "MODEL", "TABLE", "--keep-all"), ("describe", "TABLE", "-t", "survived")]
)
def test_a_reader_that_has_seen_enough_is_no_error(titanic_model, titanic, arguments):
    words = [{"MODEL": titanic_model, "TABLE": titanic}.get(word, word) for word in arguments]
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([*PROGRAM, *map(str, words)], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120)
    os.close(writing)
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stderr
    assert b"Broken" not in ran.stderr
    assert b"Exception" not in ran.stderr


def test_a_terminal_without_the_letters_shows_substitutes(tmp_path):
    rows = [f"{i * 7 % 11},{'é' if i % 2 else 'ü'}" for i in range(40)]
    (tmp_path / "table.csv").write_text("größe,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    ran = process(
        "describe",
        tmp_path / "table.csv",
        "-t",
        "y",
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert ran.returncode == 0, ran.stderr
    assert b"gr??e" in ran.stdout


def test_an_interruption_has_its_exit_code_and_leaves_nothing_behind(titanic_model, tmp_path):
    arguments = [*PROGRAM, "predict", str(titanic_model), "-", "-o", str(tmp_path / "out.csv")]
    spool = tmp_path / "spool"
    spool.mkdir()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(arguments, env={**os.environ, "TMPDIR": str(spool)}, **streams) as running:
        until_something_is_in(spool)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == b""
    assert err.decode().strip() == "Interrupted. No partial output file was left."
    assert list(tmp_path.iterdir()) == [spool]
    assert list(spool.iterdir()) == []


def until_something_is_in(spool):
    """Wait until the process reads its standard input, which goes through a temporary file."""
    for _ in range(600):
        if any(spool.iterdir()):
            return
        time.sleep(0.05)
    raise AssertionError("the process never came to read its standard input")


@pytest.mark.parametrize(("problem", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 1)])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_file_is_whole_or_as_it_was(titanic_model, new_passengers, tmp_path, monkeypatch, ending, problem, code):
    module = import_module("discriminant.workflow.stored")
    answered, calls = module.Predictions.predicted, []

    def failing(self, batch, first):
        calls.append(first)
        if len(calls) == 3:
            raise problem
        return answered(self, batch, first)

    monkeypatch.setattr(module, "BATCH_ROWS", 16)
    monkeypatch.setattr(module.Predictions, "predicted", failing)
    path = tmp_path / f"out.{ending}"
    path.write_text("as it was")
    ran = run_command("predict", titanic_model, new_passengers, "-o", path, "--overwrite")
    assert ran.code == code
    assert path.read_text() == "as it was"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
