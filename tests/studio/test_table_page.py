"""The Table page in a real browser: from a file to decisions, by mouse and keyboard, with what was written to disk."""

import csv
import pickle
import re
import shlex
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from studios import PATIENCE, choose, delayed

from discriminant import load, open_table, read_model_file, read_training
from discriminant.errors import InputError
from discriminant.studio.table_work import TableFile
from discriminant.tables import Schema

# One page after the other, in the order of the tests: they go on from what was drawn and opened.
pytestmark = pytest.mark.xdist_group("table_page")
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def files(studio):
    """A table to learn from, and one to be answered; names are as hostile as they come."""
    rng = np.random.default_rng(5)
    n = 160
    dose, kind = rng.normal(5, 2, n).round(3), rng.choice(["a", "b", HOSTILE], n)
    ill = np.where(dose + 2 * (kind == "b") + rng.normal(size=n) > 6, "<b>ill</b>", "well")
    rows = [["dose", HOSTILE, "ill"], *([f"{d}", k, i] for d, k, i in zip(dose, kind, ill, strict=True))]
    for name, part in (("learn.csv", rows), ("new.csv", [row[:2] for row in rows[:41]])):
        with (studio.folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(part)
    (studio.folder / "bad.csv").write_bytes(b"\x00\xff\x00" * 50)
    return studio.folder


@pytest.fixture(scope="module")
def compared(visit, files):
    """The page after a comparison of two models."""
    with visit() as page:
        page.set_input_files("input[type=file]", files / "learn.csv")
        page.get_by_role("heading", name="Classification of “ill”").wait_for()
        choose(page, "Models to compare", "Ridge logistic", "Regularised", "Naive Bayes", "Support vector")
        choose(page, "Models to compare", "maximum likelihood")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name="Model comparison").wait_for()
        yield page


def test_names_of_a_file_are_shown_as_text(compared):
    compared.get_by_role("tab", name="Data").click()
    compared.get_by_role("rowheader", name=HOSTILE).wait_for()
    assert compared.get_by_text("<b>ill</b>", exact=True).count() >= 1
    assert compared.locator("img[src=x]").count() == 0


def test_models_are_ranked_with_intervals(compared):
    compared.get_by_role("tab", name="Comparison").click()
    rows = compared.get_by_role("region", name="Table of models").get_by_role("row")
    rows.nth(3).wait_for()
    names = [row.get_by_role("rowheader").inner_text() for row in rows.all()[1:]]
    assert sorted(names) == ["baseline", "lda", "logistic"]
    assert re.search(r"0\.\d+ to 0\.\d+", rows.nth(1).inner_text())


def counts(page):
    cells = page.get_by_role("region", name="Counts at the threshold").get_by_role("cell").all_inner_texts()
    return [int(cell.split()[0]) for cell in cells]


def test_one_slider_moves_counts_curve_and_cost(compared):
    compared.get_by_role("tab", name="Costs and thresholds").click()
    slider = compared.get_by_role("slider", name="Threshold")
    slider.focus()
    before, cost = counts(compared), compared.locator(".key", has_text="Cost").inner_text()
    point = "document.querySelectorAll('.js-plotly-plot')[0]?.data?.at(-1).y[0]"
    compared.wait_for_function(f"{point} !== undefined")
    first = compared.evaluate(point)
    for _ in range(18):  # after 30 the cost is the initial one again
        compared.keyboard.press("ArrowRight")
    compared.wait_for_function("cost => document.querySelectorAll('.key')[3].innerText !== cost", arg=cost)
    compared.wait_for_function(f"first => {point} < first", arg=first)
    after = counts(compared)
    assert sum(before) == sum(after) == 160
    assert after[0] < before[0]  # fewer hits, and fewer false positives, at a higher threshold
    assert after[2] <= before[2]
    compared.get_by_role("button", name="Minimum cost").click()


def test_precision_is_that_of_the_comparison(compared):
    compared.get_by_role("tab", name="Comparison").click()
    summary = compared.locator("li", has_text="; precision").first.inner_text(timeout=20_000)
    compared.get_by_role("tab", name="Costs and thresholds").click()
    compared.get_by_role("button", name="Reset").click()
    precision = re.search(r"precision ([\d.]+)", summary)[1]
    compared.locator(".key", has_text=re.compile(rf"Precision\s*{precision}")).wait_for(timeout=20_000)


def test_another_positive_class_is_shown_at_once(compared):
    compared.get_by_role("tab", name="Costs and thresholds").click()
    region = compared.get_by_role("region", name="Counts at the threshold")
    for label in ("<b>ill</b>", "well", "<b>ill</b>"):
        choose(compared, "Positive class", label)
        region.get_by_text(f"Predicted {label}", exact=True).wait_for(timeout=20_000)


def test_a_prediction_can_be_changed_by_the_nearest_change(compared):
    compared.get_by_role("tab", name="What if").click()
    decided = compared.locator(".verdict")
    decided.wait_for()
    now = decided.inner_text()
    region = compared.get_by_role("region", name="Smallest changes")
    row = region.get_by_role("row", name=re.compile("^dose")).inner_text().split("\t")
    past = float(row[2]) + np.sign(float(row[2]) - float(row[1])) * 0.05
    compared.get_by_label("dose", exact=True).fill(f"{past:.3f}")
    compared.wait_for_function("now => document.querySelector('.verdict').innerText !== now", arg=now)
    assert row[4] in decided.inner_text()


def test_contributions_add_up_and_extrapolation_and_empty_numbers_are_named(compared):
    compared.get_by_role("tab", name="What if").click()
    dose = compared.get_by_label("dose", exact=True)
    before = dose.input_value()
    dose.fill("1000")
    compared.get_by_text("dose is outside the range of the training data").wait_for()
    rows = compared.get_by_role("region", name="Contributions of columns").get_by_role("row").all()[1:]
    values = [float(row.get_by_role("cell").last.inner_text()) for row in rows]
    assert [rows[0].inner_text().split("\t")[0], rows[-1].inner_text().split("\t")[0]] == [
        "Average row (column means)",
        "This row",
    ]
    assert values[-1] == pytest.approx(sum(values[:-1]), rel=0.01)
    assert values[-1] > 0  # the predicted class leads
    dose.fill("")
    compared.get_by_text("No prediction: give a value for dose.").wait_for()
    assert compared.locator(".verdict").count() == 0
    dose.fill(before)
    compared.locator(".verdict").wait_for()


@pytest.mark.slow
def test_nothing_is_closed_to_assistive_technology(compared, violations):
    for name in ("Data", "Columns", "Comparison", "Costs and thresholds", "Explain", "What if", "Predict"):
        compared.get_by_role("tab", name=name).click()
        compared.locator(".q-tab-panel > *").first.wait_for()
        assert violations(compared) == [], name


def test_every_control_is_reached_by_the_keyboard(visit, files):
    """From the file to the comparison without a mouse."""
    with visit() as page:
        page.get_by_label("or type a path on this machine").focus()
        page.keyboard.type(str(files / "learn.csv"))
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Classification of “ill”").wait_for()
        reached = set()
        for _ in range(30):
            page.keyboard.press("Tab")
            label_of = "e => e.getAttribute('aria-label') || e.innerText || e.closest('label')?.innerText || ''"
            reached.add(page.evaluate(f"({label_of})(document.activeElement)").split("\n")[0].strip())
        wanted = ["Target column", "Excluded columns", "Models to compare", "Compare", "Data"]
        assert [name for name in wanted if name not in reached] == []


def test_model_report_and_predictions_are_those_of_the_library(compared, files, tmp_path):
    with compared.expect_download() as kept:
        compared.get_by_role("button", name="Download model file").click()
    kept.value.save_as(tmp_path / "model.dsc")
    with compared.expect_download() as written:
        compared.get_by_role("button", name="Report").click()
    assert "Classification of “ill”" in written.value.path().read_text(encoding="utf-8")
    compared.get_by_role("tab", name="Predict").click()
    compared.locator(".narrow input[type=file]").set_input_files(files / "new.csv")
    with compared.expect_download() as answered:
        compared.get_by_role("button", name="Download predictions").click()
    with answered.value.path().open(encoding="utf-8") as file:
        answers = [row["prediction"] for row in csv.DictReader(file)]
    model, schema = load(tmp_path / "model.dsc"), Schema.from_dict(read_model_file(tmp_path / "model.dsc").schema)
    X, _ = schema.encode_batch(open_table(files / "new.csv", types=schema.types).read())
    assert answers == model.predict(schema.rows(X)).tolist()


def test_a_model_file_answers_a_table(visit, compared, files, tmp_path):
    with compared.expect_download() as kept:
        compared.get_by_role("button", name="Download model file").click()
    kept.value.save_as(tmp_path / "model.dsc")
    with visit() as page:
        page.set_input_files("input[type=file]", tmp_path / "model.dsc")
        page.get_by_role("heading", name="Model model.dsc").wait_for()
        page.get_by_role("region", name="Model summary").get_by_role("row", name="Target ill").wait_for()
        assert page.locator("img[src=x]").count() == 0
        page.get_by_role("tab", name="Predict").click()
        page.get_by_role("region", name="Decision in effect").get_by_role(
            "row", name="Set in the model file"
        ).wait_for()
        page.locator(".narrow input[type=file]").set_input_files(files / "new.csv")
        with page.expect_download() as answered:
            page.get_by_role("button", name="Download predictions").click()
        with answered.value.path().open(encoding="utf-8") as file:
            answers = [row["prediction"] for row in csv.DictReader(file)]
        schema = Schema.from_dict(read_model_file(tmp_path / "model.dsc").schema)
        X, _ = schema.encode_batch(open_table(files / "new.csv", types=schema.types).read())
        assert answers == load(tmp_path / "model.dsc").predict(schema.rows(X)).tolist()
        page.reload()
        page.get_by_role("heading", name="Model model.dsc").wait_for()


def test_no_file_runs_code(visit, tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    (tmp_path / "evil.dsc").write_bytes(pickle.dumps(Evil()))
    with zipfile.ZipFile(tmp_path / "packed.dsc", "w") as packed:
        packed.writestr("model.json", "{}")
        packed.writestr("../../escaped.pkl", pickle.dumps(Evil()))
    with visit() as page:
        error = page.locator(".step", has_text="Data").get_by_role("alert")
        for name in ("evil.dsc", "packed.dsc"):
            page.set_input_files("input[type=file]", tmp_path / name)
            error.filter(has_text=name).wait_for()
        assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_other_kinds_of_tables_are_opened(visit, files, tmp_path, ending):
    table = pd.read_csv(files / "learn.csv")
    getattr(table, {"xlsx": "to_excel"}.get(ending, f"to_{ending}"))(tmp_path / f"learn.{ending}", index=False)
    with visit() as page:
        page.set_input_files("input[type=file]", tmp_path / f"learn.{ending}")
        page.get_by_role("heading", name="Classification of “ill”").wait_for()


def test_what_is_copied_does_the_same(compared, files, tmp_path):
    compared.get_by_text("Copy as code").click()
    python = compared.get_by_role("region", name="Python").inner_text()
    command = compared.get_by_role("region", name="Command").inner_text()
    (tmp_path / "learn.csv").write_bytes((files / "learn.csv").read_bytes())
    ran = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "logistic" in ran.stdout
    model = load(tmp_path / "model.dsc")
    words = shlex.split(command.splitlines()[1])
    assert words[:3] == ["discriminant", "fit", "learn.csv"]
    (tmp_path / "model.dsc").unlink()
    subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, check=True)
    training = read_training(tmp_path / "learn.csv", "ill")
    assert (load(tmp_path / "model.dsc").predict(training.rows) == model.predict(training.rows)).all()


def test_a_reload_loses_nothing_and_another_tab_starts_empty(compared):
    compared.reload()
    compared.get_by_role("tab", name="What if").wait_for()
    assert compared.get_by_label("Model", exact=True).input_value() in ("lda", "logistic")
    other = compared.context.new_page()
    other.goto(compared.url)
    other.get_by_role("heading", name="Classify the rows of a table").wait_for()
    assert other.get_by_role("tab").count() == 0
    other.close()


def test_a_comparison_goes_on_while_the_page_is_reloaded(visit, files):
    with visit() as page:
        page.set_input_files("input[type=file]", files / "learn.csv")
        page.get_by_role("tab", name="Data").wait_for()
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("button", name="Cancel").wait_for()
        page.reload()
        page.get_by_role("tab", name="Data").wait_for()
        page.get_by_role("tab", name="Comparison").wait_for()
        assert page.get_by_label("Model", exact=True).input_value()


def test_results_scroll_into_view_on_a_narrow_screen(visit, files):
    with visit(width=400) as page:
        page.set_input_files("input[type=file]", files / "learn.csv")
        for tab, button in (("Data", "Compare"), ("Comparison", "")):
            page.get_by_role("tab", name=tab).wait_for()
            heading = page.get_by_role("heading", name="Classification of")
            page.wait_for_function(
                "place => { const y = place.getBoundingClientRect().top; return 0 < y && y < 300 }",
                arg=heading.element_handle(),
            )
            if button:
                page.get_by_role("button", name=button).click()
                page.get_by_role("button", name="Cancel").wait_for()  # also while the controls are folded
        target = page.get_by_label("Target column", exact=True)
        assert target.is_hidden()
        page.get_by_role("button", name="Settings", expanded=False).click()
        target.wait_for()
        page.get_by_role("button", name="Settings", expanded=True).click()
        target.wait_for(state="hidden")


def test_errors_stand_beside_their_control(visit, files, studio):
    with visit(allowed=["status of 413"]) as page:
        page.set_input_files("input[type=file]", files / "bad.csv")
        error = page.locator(".step", has_text="Data").get_by_role("alert")
        error.filter(has_text="bad.csv").wait_for()
        (files / "large.csv").write_bytes(b"a,b\n" + b"1,2\n" * 400_000)
        page.set_input_files("input[type=file]", files / "large.csv")
        error.filter(has_text="1 MB").wait_for()
        page.get_by_label("or type a path on this machine").fill("/etc/passwd")
        page.keyboard.press("Enter")
        error.filter(has_text="can be opened by path").wait_for()
        page.get_by_label("or type a path on this machine").fill(str(files / "learn.csv"))
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Classification of “ill”").wait_for()
        choose(page, "Target column", "dose")
        page.locator(".step", has_text="Target").get_by_role("alert").filter(has_text="dose").wait_for()
        assert not error.is_visible()


def test_what_is_typed_before_the_page_is_connected_is_opened(visit, files):
    slow = "const Plain = WebSocket; window.WebSocket = class extends Plain {"
    slow += " send(words) { setTimeout(() => super.send(words), 1000); } }"
    for _ in range(3):  # what was typed used to arrive after the key in two of three tries
        with visit(script=slow) as page:
            page.get_by_label("or type a path on this machine").fill(str(files / "learn.csv"))
            page.keyboard.press("Enter")
            page.get_by_role("heading", name="Classification of “ill”").wait_for()


def test_work_can_be_cancelled(visit, files):
    with visit() as page:
        page.get_by_label("or type a path on this machine").fill(str(files / "learn.csv"))
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Classification of “ill”").wait_for()
        choose(page, "Models to compare", "Auto")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("button", name="Cancel").wait_for()
        other = page.context.new_page()  # others are answered meanwhile
        other.goto(page.url)
        other.get_by_role("heading", name="Classify the rows of a table").wait_for()
        other.close()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("alert").filter(has_text="Cancelled.").wait_for()
        assert page.get_by_role("tab", name="Comparison").count() == 0


def test_rows_without_named_columns_are_refused_in_words(tmp_path):
    (tmp_path / "rows.svm").write_text("".join(f"{i % 2} 1:{i} 3:2\n" for i in range(40)))
    with pytest.raises(InputError, match=r"rows\.svm has labels but no named columns"):
        TableFile.opened(tmp_path / "rows.svm", "rows.svm")


def test_a_model_is_validated_and_its_effects_are_shown(compared):
    compared.get_by_role("tab", name="Validate").click()
    compared.get_by_role("heading", name="Stability of predictions").wait_for()
    compared.get_by_role("tab", name="Effects", exact=True).click()
    compared.get_by_role("heading", name="Effects").wait_for()


def test_quick_choices_are_all_kept_at_a_slow_server(browser, studio, files):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    with delayed(studio.address, 0.5) as address:
        page = context.new_page()
        page.goto(address)
        page.set_input_files("input[type=file]", files / "learn.csv")
        page.get_by_role("heading", name="Classification of “ill”").wait_for()
        choose(page, "Models to compare", "Ridge logistic", "Regularised", "Naive Bayes", "Support vector")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name="Model comparison").wait_for()
        names = page.get_by_role("region", name="Table of models").get_by_role("rowheader").all_inner_texts()
        assert sorted(names) == ["baseline", "lda"]
        context.close()
