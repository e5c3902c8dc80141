"""Figures and data sets from the command line."""

import pytest
from commands import run_command

from discriminant import datasets, figures
from discriminant.cli.figure import KINDS

#: Figures that are drawn of data sets that come with the package; the others are drawn in tests/figures.
DRAWN = {
    "decision-regions": "triangle",
    "scatter": "triangle",
    "boundary": "crossed_normals",
    "boundaries": "triangle",
    "boundary-paths": "crossed_normals",
    "coefficient-growth": "crossed_normals",
    "dual-trace": "crossed_normals",
    "score-surface": "crossed_normals",
    "sphering": "crossed_normals",
    "sphering-movement": "crossed_normals",
    "projected-histograms": "crossed_normals",
    "projections": "crossed_normals",
    "class-densities": "two_normals",
    "coefficients": "crossed_normals",
    "odds-ratios": "crossed_normals",
    "code-matrix": "triangle",
    "descent-trace": "six_rows",
}


@pytest.fixture
def table(tmp_path):
    """Writes a data set and gives its path and target."""

    def write(name):
        path = tmp_path / f"{name}.csv"
        assert run_command("dataset", name, "-o", path).code == 0
        return path, datasets.load(name).target

    return write


@pytest.mark.parametrize("kind", DRAWN)
def test_a_table_is_drawn(kind, table, tmp_path):
    path, target = table(DRAWN[kind])
    page = tmp_path / "figure.html"
    ran = run_command("figure", kind, path, "-t", target, "-o", page, "--rare", "1", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["figure"] == kind
    assert f'aria-label="{ran.json["shows"][:20]}' in page.read_text(encoding="utf-8")


def test_every_figure_has_a_kind():
    others = {"alt_text", "write_html", "write_image", "loss_curves"}
    kinds = {kind.replace("-", "_") for kind in KINDS} - {"odds_ratios"}
    assert kinds == set(figures.__all__) - others
