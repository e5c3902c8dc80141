"""Columns, types, the measure of the ranking, importance, odds ratios and project files, in a real browser."""

import csv
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from studios import PATIENCE, choose

from discriminant import LogisticRegression
from discriminant.errors import InputError
from discriminant.studio.project import Project, open_project
from discriminant.studio.table_work import Ranking, Table, TableFile, compared
from discriminant.workflow.columns import distribution, level_odds, permutation_importance, table_columns
from discriminant.workflow.exploring import ClassDecision

pytestmark = pytest.mark.xdist_group("table_columns")


@pytest.fixture(scope="module")
def files(studio):
    """A table with codes that look like numbers, a number, a date, a missing value and a category."""
    rng = np.random.default_rng(4)
    n = 240
    code, dose, kind = rng.integers(1, 4, n), rng.normal(5, 2, n).round(2), rng.choice(["a", "b", "c"], n)
    days = (np.datetime64("2024-01-01") + rng.integers(0, 300, n)).astype(str)
    score = dose + 2 * (kind == "b") + 1.5 * (code == 2) + rng.logistic(size=n)
    state = np.where(score > 8, "bad", "good")
    frame = pd.DataFrame({"code": code, "dose": dose, "day": days, "kind": kind, "state": state})
    frame.loc[:19, "dose"] = np.nan
    frame.to_csv(studio.folder / "loans.csv", index=False)
    return studio.folder


@pytest.fixture(scope="module")
def opened(visit, files):
    """The page with the table, whose models are few."""
    with visit() as page:
        page.set_input_files("input[type=file]", files / "loans.csv")
        page.get_by_role("heading", name="Classification of “state”").wait_for()
        choose(page, "Models to compare", "Ridge logistic", "Regularised", "Support vector")
        choose(page, "Models to compare", "maximum likelihood")
        yield page


def card(page, name):
    return page.locator(".card").filter(has=page.get_by_role("heading", name=name, exact=True))


def test_the_cells_of_a_row_of_the_columns_are_aligned(opened):
    opened.get_by_role("tab", name="Data").click()
    row = opened.get_by_role("region", name="Table of columns").get_by_role("row").nth(1)
    row.wait_for()
    assert len({cell.bounding_box()["y"] for cell in row.locator("th, td").all()}) == 1


def test_columns_are_searched_and_shown_by_class(opened):
    opened.get_by_role("tab", name="Columns").click()
    opened.get_by_role("img", name="Histogram of dose by class, from").wait_for()
    opened.get_by_role("tab", name="Columns", selected=True).wait_for()
    assert opened.locator(".card").count() == 5
    assert card(opened, "dose").get_by_text("20 missing values").count() == 1
    assert card(opened, "day").locator(".ends").inner_text().startswith("2024-01-0")
    opened.get_by_label("Find a column").fill("KIN")
    opened.get_by_text("1 column.", exact=True).wait_for()
    assert card(opened, "kind").locator("dt").count() == 3
    opened.get_by_label("Find a column").fill("")
    opened.get_by_text("5 columns.", exact=True).wait_for()


def test_types_are_declared_and_reach_the_code(opened):
    opened.get_by_role("tab", name="Columns").click()
    choose(opened, "Type of code", re.compile("^category$"))
    choose(opened, "Type of day", "not used")
    opened.get_by_role("button", name="Apply types").click()
    card(opened, "code").locator(".levels").wait_for()
    card(opened, "day").get_by_text("Not used: as requested.").wait_for()
    opened.get_by_text("Copy as code").click()
    python = opened.get_by_role("region", name="Python")
    python.filter(has_text="types={'code': 'category'}").wait_for()
    assert "drop=['day']" in python.inner_text()
    assert "--types code=category" in opened.get_by_role("region", name="Command").inner_text()


def test_the_type_of_the_target_decides_between_numbers_and_text(visit, studio):
    rows = "".join(f"{i % 7},{'01' if i % 2 else '2'}\n" for i in range(60))
    (studio.folder / "codes.csv").write_text(f"x,grade\n{rows}")
    with visit() as page:
        page.set_input_files("input[type=file]", studio.folder / "codes.csv")
        page.get_by_role("tab", name="Columns").click()
        target = card(page, "grade (target)")
        target.get_by_text("01", exact=True).wait_for()
        choose(page, "Type of grade", re.compile("^number$"))
        page.get_by_role("button", name="Apply types").click()
        target.get_by_text("1", exact=True).wait_for()
        assert target.locator("dt").all_inner_texts() == ["1", "2"]


def test_a_cost_ranks_the_models_by_expected_cost_and_other_measures_need_none(opened):
    metric, cost = opened.get_by_label("Rank the models by"), opened.get_by_label("Cost of a false negative")
    opened.get_by_role("button", name="Costs of errors").click()
    assert opened.get_by_label("Positive class of the costs").input_value() == "bad"
    cost.fill("5")
    expect(metric).to_have_value("expected cost", timeout=PATIENCE)
    cost.fill("")
    expect(metric).to_have_value("automatic (log-loss)", timeout=PATIENCE)
    choose(opened, "Rank the models by", "expected cost")
    expect(cost).to_have_value("1", timeout=PATIENCE)
    choose(opened, "Rank the models by", "AUC")
    expect(cost).to_have_value("", timeout=PATIENCE)


def test_models_are_ranked_by_expected_cost_which_is_then_the_decision(opened, files, tmp_path):
    opened.get_by_label("Cost of a false negative").fill("5")
    expect(opened.get_by_label("Rank the models by")).to_have_value("expected cost", timeout=PATIENCE)
    opened.get_by_role("button", name="Compare").click()
    opened.get_by_role("heading", name="Model comparison").wait_for()
    opened.locator(".report li").first.filter(has_text="expected cost per row").wait_for()
    opened.get_by_role("region", name="Table of models").get_by_role("columnheader", name="Cost").first.wait_for()
    opened.get_by_role("tab", name="Costs and thresholds").click()
    opened.get_by_text(re.compile("^Decision: bad is predicted.*5 : 1")).first.wait_for()
    opened.get_by_role("tab", name="Predict").click()
    opened.locator(".narrow input[type=file]").set_input_files(files / "loans.csv")
    rows = opened.get_by_role("region", name="First rows").get_by_role("row")
    rows.nth(10).wait_for()
    for row in rows.all()[1:]:
        label = row.get_by_role("rowheader").inner_text()
        p_bad = float(row.get_by_role("cell").first.inner_text())
        assert label == ("bad" if p_bad >= 1 / 6 else "good")
    decision = opened.get_by_role("region", name="Decision in effect")
    for words in ("Threshold bad is predicted where", "Costs 5 for a missed bad", "Set in Costs of errors (step 3)"):
        decision.get_by_role("row", name=words).wait_for()
    python = opened.get_by_role("region", name="Python").inner_text()
    assert "metric='cost', costs={'bad': {'good': 5" in python
    (tmp_path / "loans.csv").write_bytes((files / "loans.csv").read_bytes())
    ran = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "cost" in ran.stdout


def test_every_model_has_importances_and_log_odds_have_reference_levels(opened):
    opened.get_by_role("tab", name="Explain").click()
    for model in ("naive-bayes", "logistic"):
        choose(opened, "Model", model)
        opened.locator(".copies pre", has_text=f"models['{model}']").first.wait_for()
        table = opened.get_by_role("region", name="Importance of columns")
        table.get_by_role("row").nth(3).wait_for()
        assert table.get_by_role("rowheader").first.inner_text() == "dose"
    choose(opened, "Column", re.compile("^kind$"))
    choose(opened, "Reference level", re.compile("^b$"))
    opened.get_by_role("rowheader", name="b (reference)").wait_for()
    odds = opened.get_by_role("region", name="Odds ratios of levels")
    assert re.search(r"[\d.]+ to [\d.]+", odds.inner_text())


def test_a_project_restores_table_choices_decision_and_changed_row(visit, opened, tmp_path):
    opened.get_by_role("tab", name="What if").click()
    opened.locator(".verdict").wait_for()
    opened.get_by_label("dose", exact=True).fill("1.25")
    opened.get_by_role("rowheader", name="This row").wait_for()
    opened.get_by_role("region", name="Contributions").get_by_text("1.25", exact=True).wait_for()
    with opened.expect_download() as written:
        opened.get_by_role("button", name="Save project").click()
    written.value.save_as(tmp_path / "loans.dproject")
    assert written.value.suggested_filename == "loans.dproject"
    with visit() as page:
        page.set_input_files("input[type=file]", tmp_path / "loans.dproject")
        page.get_by_role("heading", name="Model comparison").wait_for()
        assert page.get_by_label("Model", exact=True).input_value() == "logistic"
        assert page.get_by_label("Rank the models by").input_value() == "expected cost"
        page.get_by_role("tab", name="What if").click()
        page.get_by_text(re.compile("^Decision: bad is predicted.*5 : 1")).first.wait_for()
        assert page.get_by_label("dose", exact=True).input_value() == "1.25"
        page.get_by_role("tab", name="Columns").click()
        card(page, "code").locator(".levels").wait_for()
        card(page, "day").get_by_text("Not used: as requested.").wait_for()


def test_a_file_that_is_no_project_is_refused(tmp_path):
    wrong = tmp_path / "wrong.dproject"
    wrong.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"wrong\.dproject"):
        open_project(wrong, tmp_path, 1 << 20)
    choices = {"format": 1, "target": "y", "drop": [], "types": {}, "models": []}
    for name, changes, limit in (("../../out.csv", {}, 1 << 20), ("a.csv", {}, 1), ("a.csv", {"format": 9}, 1 << 20)):
        with zipfile.ZipFile(wrong, "w") as archive:
            archive.writestr("project.json", json.dumps(choices | changes))
            archive.writestr(f"data/{name}", "x,y\n1,a\n")
        if changes or limit == 1:
            with pytest.raises(InputError, match="format 1" if changes else "limit"):
                open_project(wrong, tmp_path, limit)
        else:
            path, project = open_project(wrong, tmp_path, limit)
            assert path == tmp_path / "out.csv"
            assert project.target == "y"


def test_a_project_restores_choices_of_its_table_only(table):
    found = compared(table[0], ["logistic", "lda"], None)
    found.decision = ClassDecision("yes", table[0].class_shares(), 5.0, 0.3, 0.2)
    project = Project.of(table[0], ["logistic", "lda"], Ranking("cost", "yes", 5.0), found, "lda")
    plain = Project(**json.loads(json.dumps(asdict(project))))
    again = compared(table[0], ["logistic", "lda"], None)
    assert plain.restored(again).decision == found.decision
    assert plain.ranking(table[0]) == Ranking("cost", "yes", 5.0)
    for wrong in (replace(plain, positive=7), replace(plain, decision={"label": -1})):
        with pytest.raises(InputError, match="2 classes"):
            wrong.restored(again)
    with pytest.raises(InputError, match="2 classes"):
        replace(plain, cost=[2, 5.0]).ranking(table[0])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of a category, a number and a date; the category decides."""
    rng, path = np.random.default_rng(2), tmp_path_factory.mktemp("columns") / "rows.csv"
    kind, size = rng.choice(["a", "b", "c"], 300), rng.normal(size=300).round(3)
    y = np.where((kind == "a") ^ (rng.random(300) < 0.15), "yes", "no")
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["kind", "size", "y"], *zip(kind, size, y, strict=True)])
    return Table.read(TableFile.opened(path, "rows.csv"), "y", (), ["logistic"]), kind, size, y


def test_distributions_are_those_of_the_columns(table):
    found, kind, size, y = table
    shares = {column.name: distribution(found.labelled, column, where) for column, where in
              table_columns(found.labelled)}  # fmt: skip
    for k, label in enumerate(found.classes):
        assert shares["size"].shares[k].sum() == pytest.approx(1)
        for level, share in zip(shares["kind"].bins, shares["kind"].shares[k], strict=True):
            assert share == pytest.approx(np.mean(kind[y == label] == level))
    assert shares["size"].ends == (f"{size.min():.4g}", f"{size.max():.4g}")


def test_odds_ratios_of_any_reference_are_those_of_a_fit_with_it(table):
    found, kind, _, y = table
    fitted = compared(found, ["logistic"], None).models.fit("logistic")
    rows = {row.level: row for row in level_odds(fitted, "kind", "c")}
    size = np.asarray(found.training.X)[:, [name == "size" for name in found.training.schema.names]]
    X = np.column_stack(((kind == "a").astype(float), (kind == "b").astype(float), size))
    known = LogisticRegression().fit(X, y).summary()
    for level, row in zip("ab", known.rows[1:3], strict=True):
        assert rows[level].odds_ratio == pytest.approx(row.odds_ratio, rel=1e-4)
        assert rows[level].low == pytest.approx(np.exp(row.low), rel=1e-4)
        assert rows[level].high == pytest.approx(np.exp(row.high), rel=1e-4)
    assert rows["c"].odds_ratio == 1


@pytest.mark.parametrize("model", ["logistic", "least-squares"])
def test_the_column_that_decides_is_the_most_important(table, model):
    fitted = compared(table[0], [model], None).models.fit(model)
    measure, rows = permutation_importance(fitted)
    assert measure == ("log-loss" if model == "logistic" else "error rate")
    assert [row.column for row in rows] == ["kind", "size"]
    assert rows[0].increase > 0.1 > abs(rows[1].increase)


def test_a_ranking_by_cost_sets_the_decision_and_others_keep_it(table):
    by_cost = compared(table[0], ["logistic", "lda"], None, Ranking("cost", "yes", 5.0))
    assert by_cost.comparison.metric == "cost"
    assert (by_cost.decision.label, by_cost.decision.cost_ratio) == ("yes", 5.0)
    by_cost.decision = None
    compare_line, predict_line = (by_cost.code("lda")[1].splitlines()[k] for k in (1, -1))
    assert "--costs ranking-costs.csv" in compare_line
    assert "--costs" not in predict_line
    by_cost = compared(table[0], ["logistic", "lda"], None, Ranking("cost", "yes", 5.0))
    later = compared(table[0], ["logistic", "lda"], by_cost, Ranking("auc"))
    assert later.comparison.metric == "auc"
    assert later.decision == by_cost.decision
    assert "--metric auc" in later.code("lda")[1]
