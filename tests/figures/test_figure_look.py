"""The look of the theme: colours that can be told apart, a light import, pages that open by themselves."""

import ast
import inspect
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from discriminant import figures
from discriminant.errors import ParameterError
from discriminant.evaluation import roc
from discriminant.figures import theme

ROOT = Path(__file__).resolve().parents[2]


def grey(shade):
    """Relative luminance as a printer without colours sees it."""
    parts = np.array([int(shade[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16)


def test_the_first_classes_differ_in_grey_and_all_in_symbol_or_colour():
    assert all(abs(grey(a) - grey(b)) > 10 for a, b in combinations(theme.COLOURS[:3], 2))
    looks = {(theme.marker(k)["color"], theme.marker(k)["symbol"]) for k in range(56)}
    assert len(looks) == 56
    assert len({theme.marker(k)["symbol"] for k in range(7)}) == 7
    assert len({(theme.line(k)["color"], theme.line(k)["dash"]) for k in range(40)}) == 40


def test_tints_go_from_white_to_the_colour():
    assert theme.tint("#0072B2", 0) == "#ffffff"
    assert theme.tint("#0072B2", 1).upper() == "#0072B2"


@pytest.mark.parametrize("name", figures.__all__)
def test_every_figure_is_described_with_an_example(name):
    text = inspect.getdoc(getattr(figures, name))
    assert "Parameters" in text
    assert ">>>" in text


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"sklearn", "scipy", "pandas", "polars", "plotly"}
    code = f"import sys, discriminant.figures; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module", sorted((ROOT / "src" / "discriminant" / "figures").glob("*.py")), ids=lambda p: p.stem
)
def test_plotly_is_imported_inside_functions_only(module):
    statements = ast.parse(module.read_text(encoding="utf-8")).body
    imported = [name for node in statements if isinstance(node, ast.Import) for name in node.names]
    modules = [name.name for name in imported]
    modules += [node.module or "" for node in statements if isinstance(node, ast.ImportFrom)]
    assert not [name for name in modules if name.startswith("plotly")]


def test_everything_public_is_shown_and_others_are_not():
    assert dir(figures) == sorted(figures.__all__)
    with pytest.raises(AttributeError, match="pie_chart"):
        _ = figures.pie_chart


@pytest.mark.parametrize("whole", [True, False])
def test_a_page_holds_the_figure_and_the_program_if_asked(tmp_path, whole):
    figure = figures.roc_curve(roc(["näh", "ja"], [0.2, 0.8], positive="näh"))
    path = figures.write_html(figure, tmp_path / "roc.html", self_contained=whole)
    page = path.read_text(encoding="utf-8")
    assert "n\\u00e4h: AUC" in page or "näh: AUC" in page
    assert (len(page) > 1_000_000) == whole
    assert ('src="https://cdn.plot.ly' in page) != whole


def test_only_figures_are_written(tmp_path):
    with pytest.raises(ParameterError, match="got dict"):
        figures.write_html({}, tmp_path / "nothing.html")


def test_the_page_on_figures_lists_them_all():
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    assert all(f"`{name}(" in text for name in figures.__all__)
