"""The decision, the notes of a prediction and a second file, on the Table page in a real browser."""

import csv
import re
import subprocess
import sys

import numpy as np
import pytest
from playwright.sync_api import expect
from studios import PATIENCE, choose

from discriminant import Decision, DecisionClassifier, load, open_table, read_model_file
from discriminant.decision import Posterior
from discriminant.studio.predict_panel import decision_of_file
from discriminant.tables import Schema
from discriminant.workflow.exploring import ClassDecision
from discriminant.workflow.stored import open_model

pytestmark = pytest.mark.xdist_group("table_decision")


@pytest.fixture(scope="module")
def files(studio):
    """A table to fit models to, and tables to predict: complete, with an unseen level, and without a column."""
    rng = np.random.default_rng(8)
    n = 200
    dose, kind = rng.normal(5, 2, n).round(3), rng.choice(["a", "b"], n)
    ill = np.where(dose + 2 * (kind == "b") + 2 * rng.normal(size=n) > 7, "ill", "well")
    rows = [["dose", "kind", "state"], *zip(dose, kind, ill, strict=True)]
    odd = [["dose", "kind", "colour"], ["4.5", "c", "red"], ["", "a", "red"], *([d, k, "red"] for d, k, _ in rows[1:9])]
    tables = {"learn.csv": rows, "new.csv": [row[:2] for row in rows], "odd.csv": odd, "short.csv": [[1], [2]]}
    tables["other.csv"] = [["width", "species"], *((w, "y" if w > 5 else "x") for w in dose)]
    for name, found in tables.items():
        with (studio.folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(found)
    return studio.folder


@pytest.fixture(scope="module")
def compared(visit, files):
    """The page after a comparison of two models."""
    with visit() as page:
        page.set_input_files("input[type=file]", files / "learn.csv")
        page.get_by_role("heading", name="Classification of “state”").wait_for()
        choose(page, "Models to compare", "Ridge logistic", "Regularised", "Naive Bayes", "Support vector")
        choose(page, "Models to compare", "maximum likelihood")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name="Model comparison").wait_for()
        yield page


def decide(page, presses):
    """Move the slider of the cost ratio, and wait for the decision."""
    page.get_by_role("tab", name="Costs and thresholds").click()
    page.get_by_role("slider", name="Cost ratio").focus()
    for _ in range(presses):
        page.keyboard.press("ArrowRight")


def counts(page):
    cells = page.get_by_role("region", name="Predictions").get_by_role("row").all()[1:]
    return {row.get_by_role("rowheader").inner_text(): int(row.get_by_role("cell").inner_text()) for row in cells}


def predict(page, path):
    page.get_by_role("tab", name="Predict").click()
    page.locator(".narrow input[type=file]").set_input_files(path)
    with page.expect_download() as answered:
        page.get_by_role("button", name="Download predictions").click()
    with answered.value.path().open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_summary_leads_to_the_places_of_costs_and_threshold(compared):
    for width in (400, 1280):
        compared.set_viewport_size({"width": width, "height": 900})
        compared.get_by_role("tab", name="Comparison").click()
        compared.get_by_role("button", name="Costs of errors (step 3)").click()
        expect(compared.get_by_label("Cost of a false negative")).to_be_focused(timeout=PATIENCE)
        expect(compared.get_by_label("Cost of a false negative")).to_be_in_viewport(timeout=PATIENCE)
    compared.get_by_role("button", name="Threshold (tab Costs and thresholds)").click()
    compared.get_by_role("slider", name="Threshold").wait_for()


def test_results_of_other_settings_are_marked_until_they_are_compared_again(compared):
    compared.get_by_role("tab", name="Comparison").click()
    compared.get_by_role("button", name="Costs of errors (step 3)").click()
    mark = compared.get_by_role("status").filter(has_text="Settings changed: press Compare")
    expect(mark).to_be_hidden(timeout=PATIENCE)
    compared.get_by_label("Cost of a false negative").fill("5")
    expect(mark).to_be_visible(timeout=PATIENCE)
    compared.get_by_label("Cost of a false negative").fill("")
    expect(mark).to_be_hidden(timeout=PATIENCE)


def test_a_decision_is_explained_for_one_row_of_explain_and_of_what_if(compared, files):
    compared.get_by_role("tab", name="Explain").click()
    panel = compared.get_by_role("tabpanel")
    rows = panel.get_by_role("region", name="Contributions of columns").get_by_role("row")
    panel.get_by_label("Row of the table").fill("7")
    expect(rows.first).to_be_visible(timeout=PATIENCE)
    compared.get_by_role("button", name="Change its values in What if").click()
    dose = panel.get_by_label("dose", exact=True)
    expect(panel.get_by_label("Row of the table")).to_have_value("7", timeout=PATIENCE)
    dose.fill("9.75")
    compared.get_by_role("region", name="Contributions").get_by_text("9.75", exact=True).wait_for()
    compared.get_by_role("tab", name="Explain").click()
    panel.get_by_text("With the values of What if: dose = 9.75.").wait_for()
    names = rows.get_by_role("rowheader").all_inner_texts()
    values = [float(row.get_by_role("cell").last.inner_text()) for row in rows.all()[1:]]
    assert [names[0], names[-1]] == ["Average row (column means)", "This row"]
    assert values[-1] == pytest.approx(sum(values[:-1]), abs=0.02)
    panel.get_by_label("Row of the table").fill("100000")
    panel.get_by_role("alert").filter(has_text="Row 100000 is not in the training data").wait_for()
    expect(panel.locator(".verdict")).to_have_count(0, timeout=PATIENCE)
    panel.get_by_label("Row of the table (first row: 0)").fill("0")
    with (files / "learn.csv").open(encoding="utf-8") as file:
        panel.get_by_text(f"Class of row 0 in the table: {next(csv.DictReader(file))['state']}.").wait_for()
    panel.get_by_text("With the values of What if").wait_for(state="detached")


def test_explain_has_one_measure_of_calibration(compared):
    compared.get_by_role("tab", name="Explain").click()
    panel = compared.get_by_role("tabpanel")
    panel.get_by_text("integrated calibration index 0").wait_for()
    panel.get_by_text("Calibration slope").wait_for()
    assert panel.get_by_text("Smooth calibration curve.", exact=True).count() == 1
    expect(panel.locator(".js-plotly-plot .legendtext").first).to_be_visible(timeout=PATIENCE)
    assert panel.get_by_text(re.compile("calibration error", re.IGNORECASE)).count() == 0


def test_predict_states_the_default_decision(compared):
    compared.get_by_role("tab", name="Predict").click()
    decision = compared.get_by_role("region", name="Decision in effect")
    decision.get_by_role("row", name="Predicted class the most probable one (threshold 0.5)").wait_for()
    decision.get_by_role("row", name="Set in default").wait_for()


def test_the_notes_of_a_prediction_are_shown_and_an_error_clears_its_results(compared, files):
    rows = predict(compared, files / "odd.csv")
    notes = compared.get_by_role("list", name="Notes").get_by_role("listitem").all_inner_texts()
    assert len(rows) == 10
    assert {row["colour"] for row in rows} == {"red"}
    assert sum(counts(compared).values()) == 10
    for word in ("dose", "kind", "colour"):  # a filled value, an unseen level, an ignored column
        assert any(f"'{word}'" in note for note in notes), notes
    compared.locator(".narrow input[type=file]").set_input_files(files / "short.csv")
    compared.locator(".narrow").get_by_role("alert").filter(has_text="dose").wait_for()
    assert compared.get_by_role("region", name="Predictions").count() == 0
    assert compared.get_by_role("list", name="Notes").count() == 0


def test_a_decision_reaches_predictions_model_file_report_and_code(compared, files, tmp_path):
    plain = predict(compared, files / "new.csv")
    assert list(plain[0]) == ["dose", "kind", "prediction", "probability_ill", "probability_well"]
    compared.get_by_text("Predictions for new.csv").wait_for()
    decide(compared, 4)  # from 1 : 1 to 5 : 1
    used = compared.get_by_text(re.compile("^Decision: ill is predicted")).first
    used.filter(has_text="5 : 1").wait_for()
    decided = predict(compared, files / "new.csv")
    in_effect = compared.get_by_role("region", name="Decision in effect")
    for words in ("Threshold ill is predicted", "Costs 5 for a missed ill", "Set in the tab Costs and thresholds"):
        in_effect.get_by_role("row", name=words).wait_for()
    for before, row in zip(plain, decided, strict=True):
        assert float(row["probability_ill"]) == pytest.approx(float(before["probability_ill"]))
        assert (row["prediction"] == "ill") == (float(row["probability_ill"]) >= 1 / 6)
    assert [row["prediction"] for row in decided] != [row["prediction"] for row in plain]

    with compared.expect_download() as kept:
        compared.get_by_role("button", name="Download model file").click()
    kept.value.save_as(tmp_path / "model.dsc")
    model, schema = load(tmp_path / "model.dsc"), Schema.from_dict(read_model_file(tmp_path / "model.dsc").schema)
    X, _ = schema.encode_batch(open_table(files / "new.csv", types=schema.types).read())
    assert isinstance(model, DecisionClassifier)
    in_file = dict(decision_of_file(open_model(str(tmp_path / "model.dsc"))))
    assert in_file["Costs"] == "5 for a true ill predicted as well; 1 for a true well predicted as ill"
    assert model.predict(schema.rows(X)).tolist() == [row["prediction"] for row in decided]

    with compared.expect_download() as written:
        compared.get_by_role("button", name="Report").click()
    assert "Decision: ill is predicted" in written.value.path().read_text(encoding="utf-8")

    compared.get_by_text("Copy as code").click()
    python = compared.get_by_role("region", name="Python").inner_text()
    command = compared.get_by_role("region", name="Command").inner_text()
    for name in ("learn.csv", "new.csv"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, check=True)
    assert (load(tmp_path / "model.dsc").predict(schema.rows(X)) == model.predict(schema.rows(X))).all()
    (tmp_path / "model.dsc").unlink()
    script = "".join(f"{line}\n" for line in command.splitlines() if " compare " not in line).replace(
        "discriminant ", f"{sys.executable} -m discriminant "
    )
    subprocess.run(["bash", "-ec", script], cwd=tmp_path, capture_output=True, check=True)
    with (tmp_path / "predictions.csv").open(encoding="utf-8") as file:
        assert [row["prediction"] for row in csv.DictReader(file)] == [row["prediction"] for row in decided]


def test_what_if_uses_the_decision_and_another_model_keeps_it(compared):
    for model in ("lda", "logistic"):
        choose(compared, "Model", model)
        compared.locator(".copies pre", has_text=f"models['{model}']").first.wait_for()  # its panels are in place
        compared.get_by_role("tab", name="Costs and thresholds").click()
        compared.get_by_text(re.compile("^Decision: ill is predicted.*5 : 1")).first.wait_for()
        compared.get_by_role("tab", name="What if").click()
        compared.get_by_text(re.compile("^Decision: ill is predicted.*5 : 1")).first.wait_for()
        reason = compared.locator(".verdict + p").inner_text()
        p = float(re.search(r"ill ([0-9.e-]+[0-9])", reason[reason.index("Probabilities") :])[1])
        assert compared.locator(".verdict").inner_text() == f"Prediction: {'ill' if p >= 1 / 6 else 'well'}"


def test_another_model_predicts_the_last_file_again(compared, files):
    for model in ("lda", "logistic"):
        compared.get_by_role("tab", name="Predict").click()
        choose(compared, "Model", model)
        compared.get_by_role("region", name="Decision in effect").get_by_role("row", name=f"Model {model}").wait_for()
        compared.get_by_text("Predictions for new.csv").wait_for()
        assert sum(counts(compared).values()) == 200


def test_figures_that_are_reweighted_to_a_prevalence_name_it(compared):
    compared.get_by_role("tab", name="Costs and thresholds").click()
    compared.get_by_role("button", name="Reset").click()
    reweighted = compared.locator(".key", has_text="Precision at prevalence")
    expect(reweighted).to_have_count(0, timeout=PATIENCE)
    compared.get_by_role("slider", name="Prevalence").focus()
    compared.keyboard.press("ArrowRight")
    expect(reweighted).to_have_count(1, timeout=PATIENCE)
    compared.get_by_text(re.compile("^Counts: held-out rows, prevalence")).wait_for()


def test_another_model_keeps_the_tabs(compared):
    tab = compared.get_by_role("tab", name="Explain").element_handle()
    for model in ("lda", "logistic"):
        choose(compared, "Model", model)
        tab.click()  # nothing waits for the new model: the click is on its way while the panels are replaced
        compared.get_by_role("tabpanel").get_by_role("heading", name="Coefficients").wait_for()
        compared.locator(".copies pre", has_text=f"models['{model}']").first.wait_for()
        assert tab.evaluate("tab => tab.isConnected")


def test_the_class_of_interest_can_be_chosen(compared):
    compared.get_by_role("tab", name="Costs and thresholds").click()
    for label in ("well", "ill"):
        choose(compared, "Positive class", label)
        compared.get_by_role("columnheader", name=f"predicted {label}").wait_for()
        compared.get_by_text("Default decision").wait_for()
        decide(compared, 2)
        compared.get_by_text(re.compile(f"^Decision: {label} is predicted")).first.wait_for()


def test_a_new_file_clears_the_results_of_the_previous_one(compared, files):
    compared.get_by_role("tab", name="Predict").click()
    choose(compared, "Rank the models by", "expected cost")
    expect(compared.get_by_label("Cost of a false negative")).to_have_value("1", timeout=PATIENCE)
    compared.set_input_files(".rail input[type=file]", files / "other.csv")
    compared.get_by_role("heading", name="Classification of “species”").wait_for()
    expect(compared.get_by_label("Cost of a false negative")).to_have_value("", timeout=PATIENCE)
    expect(compared.get_by_label("Rank the models by")).to_have_value("automatic (log-loss)", timeout=PATIENCE)
    assert compared.get_by_role("tab").all_inner_texts() == ["Data", "Columns"]
    assert compared.get_by_role("button", name="Download model file").is_disabled()
    compared.reload()
    compared.get_by_role("heading", name="Classification of “species”").wait_for()
    choose(
        compared, "Target column", "width"
    )  # too many classes: the table of "species" is not shown under this target
    compared.locator(".step", has_text="Target").get_by_role("alert").filter(has_text="width").wait_for()
    assert compared.get_by_role("tab").count() == 0
    assert compared.get_by_role("button", name="Compare").is_disabled()


SHARES = {"a": 0.2, "b": 0.8}


@pytest.mark.parametrize(
    ("ratio", "share", "threshold"), [(1.0, None, None), (5.0, None, None), (5.0, 0.05, None), (2.0, 0.6, 0.3)]
)
def test_costs_of_either_scale_stand_for_the_threshold(ratio, share, threshold):
    decision = ClassDecision("a", SHARES, ratio, share, threshold)
    t = decision.applied_threshold
    p = np.concatenate([np.linspace(0.001, 0.999, 998), [t - 1e-9, t + 1e-9]])
    given = np.column_stack([p, 1 - p])
    posterior = Posterior(given, np.array(["a", "b"]), np.array([0.2, 0.8]))
    expected = np.where(p >= t, "a", "b").tolist()
    assert decision.rule.decide(posterior).tolist() == expected
    assert Decision(decision.costs(adjusted=False)).decide(posterior).tolist() == expected


def test_a_threshold_of_one_of_three_classes_decides_for_it():
    shares = {"a": 0.2, "b": 0.5, "c": 0.3}
    p = np.random.default_rng(3).dirichlet([1, 1, 1], 500)
    posterior = Posterior(p, np.array(list(shares)), np.array(list(shares.values())))
    for decision in (ClassDecision("a", shares, 3.0), ClassDecision("a", shares, 1.0, None, 0.1)):
        others = np.where(p[:, 1] > p[:, 2], "b", "c")
        expected = np.where(p[:, 0] >= decision.applied_threshold, "a", others).tolist()
        assert decision.rule.decide(posterior).tolist() == expected
