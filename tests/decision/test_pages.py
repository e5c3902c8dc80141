"""The page on decisions says what the code does."""

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_block_of_the_page_runs():
    page = ROOT / "docs" / "decisions.md"
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 40
