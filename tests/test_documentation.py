"""The pages say what is true: every example in them runs, in a folder of its own, and answers what the page shows.

Blocks marked ``pycon`` are sessions of Python whose answers are compared; blocks marked ``python`` are run; lines with
commands must succeed, on the tables that pages speak of, which stand in the folder. A page is read from its top: later
blocks know what earlier ones made.
"""

import doctest
import gzip
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest

from discriminant import datasets

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)])
BLOCK = re.compile(r"^( *)```([a-z]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?((?:.*\| )?discriminant (?!studio)(?:.*\\\n)*.*)", re.MULTILINE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: Needs a cluster with a name of its own; tests/partitions runs the same calls on clusters they start.
NOT_RUN = ("docs/scale.md",)


def blocks(page):
    """Kind, text and first line of each block that can be run."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        kind, content = found[2], dedent(found[3])
        if kind in ("", "console"):
            content = "\n".join(COMMAND.findall(content))
            kind = "commands" if content else ""
        if kind in ("pycon", "python", "commands"):
            yield kind, content, text[: found.start()].count("\n") + 1


def run_session(text, names, page, line):
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    said = []
    failures, _ = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(
        test, out=said.append, clear_globs=False
    )
    names.update(test.globs)
    assert not failures, "".join(said)


def run_commands(text):
    program = 'discriminant() { "$PYTHON" -m discriminant "$@"; }\n'
    words = ["bash", "-euo", "pipefail", "-c", program + text]
    ran = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHON": sys.executable}
    )
    assert ran.returncode == 0, f"{text}\n{ran.stderr}"


def patients(n=240, seed=0):
    """A table like those that pages speak of."""
    rng = np.random.default_rng(seed)
    age, dose, bmi = rng.normal(50, 15, n).round(), rng.gamma(2, 1, n).round(1), rng.normal(26, 4, n).round(1)
    smoker = rng.choice(["yes", "no"], n)
    score = 0.05 * (age - 50) + (smoker == "yes") + 0.1 * (bmi - 26) + rng.logistic(size=n)
    sex, race = rng.choice(["f", "m"], n), rng.choice(["black", "other", "white"], n)
    ill, grown = np.where(score > 0.5, "yes", "no"), np.where(score + rng.logistic(size=n) > 0.5, "malignant", "benign")
    named = {"id": np.arange(n), "age": age, "sex": sex, "race": race, "smoker": smoker, "dose": dose, "bmi": bmi}
    return pd.DataFrame({**named, "ill": ill, "outcome": grown})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that commands of the pages name."""
    monkeypatch.chdir(tmp_path)
    table = patients()
    table.to_csv("patients.csv", index=False)
    patients(60, 1).to_csv("test.csv", index=False)
    patients(60, 2).to_csv("new.csv", index=False)
    for name, seed in (("survey.csv", 3), ("survey-test.csv", 4), ("survey-calibration.csv", 5)):
        asked = patients(150, seed)
        satisfaction = pd.cut(asked.age + 5 * asked.dose, [-np.inf, 50, 65, np.inf], labels=["low", "medium", "high"])
        asked[["bmi", "age", "sex"]].assign(satisfaction=satisfaction).to_csv(name, index=False)
    Path("costs.csv").write_text("truth,benign,malignant\nbenign,0,1\nmalignant,20,0\n", encoding="utf-8")
    return table


def more_files(table, commands):
    """Those that take longer: a workbook, a database, packed lines, an image with areas, and a model to begin with."""
    table.to_excel("trial.xlsx", sheet_name="Visit 1", index=False)
    with sqlite3.connect("clinic.db") as base:
        table.to_sql("patients", base, index=False)
    base.close()
    with gzip.open("log.jsonl.gz", "wt", encoding="utf-8") as lines:
        table.to_json(lines, orient="records", lines=True)
    paths = datasets.scene().write(".")
    areas = Path(paths["areas"]).read_text(encoding="utf-8").replace('"class"', '"cover"')
    Path("areas.gpkg").write_text(areas, encoding="utf-8")  # what a file is, its content tells
    if "-o model.dsc" not in commands:
        run_commands("discriminant fit patients.csv --target outcome --drop ill --model logistic -o model.dsc")


def cases():
    """Pages with something to run; those with commands, each of which starts a process, are among the slow tests."""
    for page in PAGES:
        kinds, name = {kind for kind, _, _ in blocks(page)}, page.relative_to(ROOT).as_posix()
        if kinds and name not in NOT_RUN:
            yield pytest.param(page, marks=[pytest.mark.slow] if "commands" in kinds else [], id=name)


@pytest.mark.parametrize("page", list(cases()))
def test_what_a_page_shows_runs(page, folder):
    names, found = {"__name__": "__main__", "frame": folder, "new_frame": folder.head()}, list(blocks(page))
    commands = "\n".join(text for kind, text, _ in found if kind == "commands")
    if commands:
        more_files(folder, commands)
    for kind, text, line in found:
        if kind == "pycon":
            run_session(text, names, page, line)
        elif kind == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            run_commands(text)
