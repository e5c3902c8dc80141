"""The gallery: every example runs, shows a figure and says what it replays."""

import ast
import re
import runpy
from pathlib import Path

import plotly.io as pio
import pytest
from plotly.io.base_renderers import ExternalRenderer

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))


class Kept(ExternalRenderer):
    """A renderer that keeps what an example shows."""

    def __init__(self):
        self.shown = []

    def render(self, figure):
        self.shown.append(figure)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_shows_a_figure(path, monkeypatch, tmp_path):
    kept = Kept()
    monkeypatch.setitem(pio.renderers._renderers, "kept", kept)
    monkeypatch.setattr(pio.renderers, "default", "kept")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert kept.shown


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_names_its_subject_in_the_notes(path):
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert words.splitlines()[1].startswith("===")
    assert re.search(r"\*(Reproduces (?:[DGLCEI]\d+|geometry)\b|Not in the notes)", words), words


def test_every_section_of_the_gallery_has_a_heading():
    assert {path.parent for path in EXAMPLES} == {
        path.parent for path in (ROOT / "examples").rglob("GALLERY_HEADER.rst")
    } - {ROOT / "examples"}
