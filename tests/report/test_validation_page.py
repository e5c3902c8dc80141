"""The report of a validated model: its sections in the order of TRIPOD+AI, and the checklist."""

import re

import pytest

from discriminant.report.validation_page import ITEMS, checklist
from discriminant.validation.optimism import ValidationOptions
from discriminant.workflow.fitting import fit
from discriminant.workflow.models import ModelSpec
from discriminant.workflow.reporting import write_validation_report
from discriminant.workflow.tables import Roles, read_labelled
from discriminant.workflow.validating import validate_model
from helpers import REFERENCE


def written(tmp_path, table, target, model="logistic", formula=None, by=None):
    spec = ModelSpec(model, {})
    labelled = read_labelled(str(table), Roles(target), coding=spec.coding, formula=formula)
    fitted = fit(spec.new(labelled), model, labelled)
    two = len(labelled.class_rows) == 2
    found = validate_model(fitted, ValidationOptions(resamples=10, inner_resamples=0, curve=two), by)
    return write_validation_report(fitted, found, tmp_path / "page.html", "discriminant validate").read_text("utf-8")


def headings(text):
    return re.findall(r'<h2 id="[^"]+"><span class="number">\d+</span> ([^<]+)</h2>', text)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return written(
        tmp_path_factory.mktemp("report"), REFERENCE / "lbw.csv", None, formula="low ~ age + smoke", by="race"
    )


def test_sections_are_in_the_order_of_tripod(page):
    assert headings(page) == [
        "Summary", "Data", "Sample size", "Model specification", "Diagnostics", "Effects", "Performance", "Calibration",
        "Decision curve", "Stability of predictions", "Performance by group", "TRIPOD+AI checklist",
        "Reproducing this report",
    ]  # fmt: skip


def test_every_figure_is_in_the_page(page):
    for place in (
        "coefficients",
        "residuals",
        "influence",
        "effects",
        "calibration",
        "decision",
        "instability",
        "groups",
    ):
        assert f'id="plot-{place}"' in page


def test_numbers_of_the_validation_are_in_the_page(page):
    assert "Calibration slope:" in page
    assert "discriminant validate" in page


def test_a_model_without_diagnostics_and_curves_has_the_other_sections(tmp_path):
    text = written(tmp_path, REFERENCE / "iris.csv", "Species", "lda")
    found = headings(text)
    assert "Performance" in found
    assert not {"Diagnostics", "Calibration", "Decision curve", "Performance by group"} & set(found)
    assert "Not in this report." in text


def test_the_checklist_names_sections_that_exist(page):
    known = {"data", "sample-size", "model", "diagnostics", "effects", "performance", "calibration", "decision",
             "stability", "groups", "reproduction"}  # fmt: skip
    assert {item["section"] for item in ITEMS if "section" in item} <= known
    rows = checklist({"data": "Data"})[1].content["rows"]
    assert [row[2] for row in rows if row[0] == "11"] == ["Data"]
    assert all(row[2] or row[3] for row in rows)
