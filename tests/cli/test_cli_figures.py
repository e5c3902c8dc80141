"""Figures and data sets from the command line."""

import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from commands import run_command, write_rows

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


@pytest.mark.parametrize("kind", ["roc-curve", "precision-recall-curve", "calibration-curve", "cost-curve"])
def test_curves_are_of_the_positive_class(kind, table, tmp_path):
    path, target = table("triangle")
    words = ("figure", kind, path, "-t", target, "--model", "lda", "--rare", "1", "-o", tmp_path / "f.html")
    ran = run_command(*words, "--positive", "north", "--json")
    assert ran.code == 0, ran.err
    page = (tmp_path / "f.html").read_text("utf-8")
    assert "north" in page
    assert "south-east" not in page  # the others are the rest
    assert run_command(*words, "--overwrite", "--positive", "nobody").code == 1


def test_other_figures_have_no_positive_class(table, tmp_path):
    path, target = table("triangle")
    ran = run_command("figure", "scatter", path, "-t", target, "-o", tmp_path / "f.html", "--positive", "north")
    assert "--positive" in ran.err
    assert "roc-curve" in ran.err


@pytest.mark.parametrize(("loss", "paths"), [("squared", 3), ("squared_sigmoid", 2)])
def test_ways_over_other_losses_are_drawn(loss, paths, table, tmp_path):
    path, target = table("six_rows")
    words = (
        "-t",
        target,
        "--rare",
        "1",
        "--model",
        "lms",
        "--set",
        f"loss={loss}",
        "-o",
        tmp_path / "ways.html",
        "--json",
    )
    ran = run_command("figure", "likelihood-paths", path, *words)
    assert ran.code == 0, ran.err
    assert f"{paths} solvers" in ran.json["shows"]
    refused = run_command("figure", "likelihood-paths", path, "-t", target, "--rare", "1", "--model", "lda")
    assert refused.code == 1
    assert "--model logistic" in refused.err
    assert "--model lms" in refused.err


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png"])
@pytest.mark.parametrize("kind", [*DRAWN, "loss-curves"])
def test_a_figure_is_written_as_an_image(kind, ending, table, tmp_path):
    path = tmp_path / f"figure.{ending}"
    source = () if kind == "loss-curves" else table(DRAWN[kind])
    words = (source[0], "-t", source[1], "--rare", "1") if source else ()
    ran = run_command("figure", kind, *words, "-o", path)
    assert ran.code == 0, ran.err
    assert_is_image(path, ending)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_losses_are_written_as_an_image(ending, tmp_path):
    path = tmp_path / f"losses.{ending}"
    ran = run_command("figure", "loss-curves", "-o", path)
    assert ran.code == 0, ran.err
    assert_is_image(path, ending)


def test_without_a_browser_it_is_said_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no browser"))
    ran = run_command("figure", "loss-curves", "-o", tmp_path / "losses.png")
    assert ran.code == 1
    assert "BROWSER_PATH" in ran.err
    assert ".html" in ran.err
    assert not (tmp_path / "losses.png").exists()


def assert_is_image(path, ending):
    """A drawing of some size with curves in it."""
    if ending == "png":
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert min(struct.unpack(">II", content[16:24])) > 300
        assert len(content) > 10_000
        return
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    assert float(root.get("width")) > 300
    curves, pictures = (list(root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")) for tag in ("path", "image"))
    assert len(curves) > 3 or pictures  # what lies in space is drawn as a picture


def test_every_figure_has_a_kind():
    others = {"alt_text", "write_html", "write_image", "loss_curves"}
    kinds = {kind.replace("-", "_") for kind in KINDS} - {"odds_ratios"}
    assert kinds == set(figures.__all__) - others


def test_the_interaction_of_two_columns_is_a_heat_map(tmp_path):
    rng = np.random.default_rng(0)
    pairs = zip(rng.choice(["a", "b", "c"], 200), rng.choice(["s", "m", "l"], 200), strict=True)
    rows = [[town, size, "yes" if (town == "a") == (size == "s") else "no"] for town, size in pairs]
    path = write_rows(tmp_path / "pairs.csv", [["town", "size", "y"], *rows])
    words = ("figure", "pair-effect", path, "-t", "y", "-o", tmp_path / "f.html", "--overwrite", "--json")
    ran = run_command(*words, "--column", "size")
    assert ran.code == 0, ran.err
    assert "town and size" in ran.json["shows"]
    refused = run_command(*words, "--model", "lda")
    assert refused.code != 0
    assert "pairs" in refused.err
