"""The pages say what is true: every example in them runs, in a folder of its own, and answers what the page shows.

Blocks marked ``pycon`` are sessions of Python whose answers are compared; blocks marked ``console`` are commands, which
must succeed. A page is read from its top: later blocks know what earlier ones made.
"""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^( *)```(pycon|console)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page):
    """Kind, text and first line of each block that can be run."""
    text = page.read_text()
    return [(found[2], dedent(found[3]), text[: found.start()].count("\n") + 1) for found in BLOCK.finditer(text)]


def run_session(text, names, page, line):
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    said = []
    failures, _ = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(
        test, out=said.append, clear_globs=False
    )
    names.update(test.globs)
    assert not failures, "".join(said)


def run_commands(text):
    for command in re.findall(r"^\$ ((?:.*\\\n)*.*)", text, re.MULTILINE):
        words = shlex.split(command.replace("\\\n", " "))
        program, *arguments = words
        start = {"discriminant": [sys.executable, "-m", "discriminant"], "python": [sys.executable]}[program]
        ran = subprocess.run([*start, *arguments], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"


def cases():
    """Pages with something to run; those with commands, each of which starts a process, are among the slow tests."""
    for page in PAGES:
        kinds = {kind for kind, _, _ in blocks(page)}
        if kinds:
            marks = [pytest.mark.slow] if "console" in kinds else []
            yield pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", list(cases()))
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for kind, text, line in blocks(page):
        if kind == "pycon":
            run_session(text, names, page, line)
        else:
            run_commands(text)
