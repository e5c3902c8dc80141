"""The page on decisions says what the code does, and its example runs."""

import doctest
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_block_of_the_page_runs():
    page = ROOT / "docs" / "decisions.md"
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 40


def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "decisions.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "missed" in shown
    assert max(map(len, shown.splitlines())) <= 110
