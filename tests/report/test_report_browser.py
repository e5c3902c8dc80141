"""A report in a real browser: it draws, answers the sliders with the right numbers, prints, and asks for nothing."""

import re

import numpy as np
import pytest
from report_cases import HOSTILE, KINDS, compared

from discriminant.evaluation import LabelledPredictions, evaluation_of
from discriminant.report import write_report
from discriminant.report.cost_thresholds import thresholds_of
from discriminant.report.table_report import SECTIONS, TableReport

# One process writes the reports, each once.
pytestmark = pytest.mark.xdist_group("reports")
SET = "(control, value) => { control.value = value; control.dispatchEvent(new Event('input')); }"


def move(page, control, value):
    page.locator(control).evaluate(SET, value)


def read(page, name):
    """A number of the page, without its unit."""
    return float(re.sub(r"[^\d.]", "", page.locator(f"#{name}").inner_text()))


def assert_fits(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    edges = page.evaluate(
        "Array.from(document.querySelectorAll('.plot svg.main-svg'), e => e.getBoundingClientRect())"
        ".map(box => [box.left, box.right])"
    )
    assert all(left >= 0 and right <= width + 1 for left, right in edges)


#: Whose figures are drawn in ordinary tests; those of the others are of the same kinds.
DRAWN = ("two_classes_with_costs", "three_classes", "margins", "many_classes", "hostile")


def slow(*kinds):
    """Kinds of reports that take part in slow tests alone."""
    return [pytest.param(kind, marks=pytest.mark.slow) for kind in kinds]


@pytest.mark.parametrize("kind", [*DRAWN, *slow(*(kind for kind in KINDS if kind not in DRAWN))])
def test_every_figure_is_drawn_and_nothing_goes_wrong(report, open_page, kind):
    with open_page(report(kind)) as page:
        named = page.evaluate("Object.keys(JSON.parse(document.getElementById('figures').textContent))")
        drawn = page.evaluate(
            "Array.from(document.querySelectorAll('.plot'))"
            ".map(e => [e.id, e.querySelector('svg.main-svg').getBoundingClientRect().height])"
        )
        assert sorted(name for name, _ in drawn) == sorted(named)
        assert all(height > 200 for _, height in drawn)
        assert_fits(page, 1280)


@pytest.mark.parametrize("kind", ["two_classes_with_costs", *slow("many_classes", "hostile")])
def test_the_page_fits_a_telephone_and_what_it_is_turned_into(report, open_page, kind):
    with open_page(report(kind), 400) as page:
        assert_fits(page, 400)
        for width in (768, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function("width => document.querySelector('svg.main-svg').clientWidth > width", arg=width / 2)
            assert_fits(page, width)


@pytest.mark.parametrize("kind", ["two_classes_with_costs", *slow("margins", "hostile")])
def test_nothing_is_closed_to_assistive_technology(report, open_page, violations, kind):
    with open_page(report(kind)) as page:
        assert violations(page) == []
        assert all(figure.get_attribute("aria-label") for figure in page.locator(".plot").all())


@pytest.mark.slow
def test_the_page_is_dark_where_the_system_is(report, open_page):
    with open_page(report("two_classes")) as page:
        paper = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(paper) != light == "rgb(255, 255, 255)"


@pytest.mark.slow
def test_columns_are_read_as_lines_on_a_telephone(report, open_page):
    """What is said about a column has the width of the screen, not one word a line."""
    with open_page(report("three_classes"), 400) as page:
        told = page.locator("table.columns td.values").first
        assert told.bounding_box()["width"] > 300
        page.set_viewport_size({"width": 1280, "height": 900})
        heads = page.locator("table.columns tbody th").all()
        assert len({round(head.bounding_box()["height"]) for head in heads if len(head.inner_text()) < 20}) == 1


def test_names_are_shown_as_they_are(report, open_page):
    with open_page(report("hostile")) as page:
        assert page.title() == HOSTILE
        assert page.locator("h1").inner_text() == HOSTILE
        assert page.locator("#threshold-class option").all_inner_texts() == sorted([HOSTILE, "<b>bold</b>", "a & b"])
        drawn = page.locator("#plot-confusion").inner_text()
        assert "<b>bold</b>" in drawn
        assert "a & b" in drawn
        assert page.locator("#plot-confusion b, #plot-confusion script").count() == 0


@pytest.fixture(scope="module")
def rows():
    """True classes and probabilities of the second class, with ties, and an exact rate at every threshold."""
    rng = np.random.default_rng(7)
    positive = rng.uniform(size=700) < 0.3
    p = np.round(1 / (1 + np.exp(-(3 * positive - 2 + rng.normal(size=700)))), 3)
    return positive, p


@pytest.fixture(scope="module")
def panel_page(rows, tmp_path_factory, open_page):
    positive, p = rows
    evaluation = evaluation_of(LabelledPredictions(np.where(positive, "yes", "no"), posterior=p))
    path = tmp_path_factory.mktemp("panel") / "panel.html"
    with open_page(write_report(path, TableReport(None, None, given_evaluation=evaluation))) as page:
        yield page


@pytest.fixture
def panel(panel_page):
    """The page with its sliders where they start."""
    panel_page.get_by_role("button", name="Reset").click()
    return panel_page


def share_of(page):
    return read(page, "share-shown") / 100


def test_the_sliders_show_what_python_counts(panel, rows):
    positive, p = rows
    for place in (0, 4, 13, 53, 80, 105, 108):
        move(panel, "#threshold-value", place)
        threshold = read(panel, "threshold-shown")
        called = p >= threshold
        assert read(panel, "count-hits") == np.count_nonzero(called & positive)
        assert read(panel, "count-misses") == np.count_nonzero(~called & positive)
        assert read(panel, "count-alarms") == np.count_nonzero(called & ~positive)
        assert read(panel, "count-rejections") == np.count_nonzero(~called & ~positive)
        assert read(panel, "rate-sensitivity") == pytest.approx(100 * np.mean(called[positive]), abs=0.051)
        assert read(panel, "rate-specificity") == pytest.approx(100 * np.mean(~called[~positive]), abs=0.051)
        cost = 100 * np.mean((called & ~positive) + 1.0 * (~called & positive))
        assert read(panel, "cost-now") == pytest.approx(cost, abs=0.0051)


def test_costs_and_shares_change_cost_and_precision_but_not_the_rates(panel, rows):
    positive, p = rows
    before = read(panel, "count-hits"), read(panel, "rate-sensitivity"), read(panel, "rate-specificity")
    move(panel, "#cost-ratio", 13)
    move(panel, "#class-share", 20)
    assert panel.locator("#ratio-shown").inner_text() == "10 : 1"
    share = share_of(panel)
    assert share < np.mean(positive) / 2
    called = p >= 0.5
    sensitivity, alarm = np.mean(called[positive]), np.mean(called[~positive])
    cost = 100 * (share * (1 - sensitivity) * 10 + (1 - share) * alarm)
    # The share is read to a tenth of a percent.
    assert read(panel, "cost-now") == pytest.approx(cost, abs=1.0)
    precision = share * sensitivity / (share * sensitivity + (1 - share) * alarm)
    assert read(panel, "rate-precision") == pytest.approx(100 * precision, abs=1.0)
    assert (read(panel, "count-hits"), read(panel, "rate-sensitivity"), read(panel, "rate-specificity")) == before
    panel.get_by_role("button", name="Reset").click()
    assert panel.locator("#ratio-shown").inner_text() == "1 : 1"
    assert share_of(panel) == pytest.approx(np.mean(positive), abs=0.00051)


def test_shares_go_up_with_the_slider(panel):
    shares = []
    for step in range(0, 101, 10):
        move(panel, "#class-share", step)
        shares.append(share_of(panel))
    assert shares == sorted(set(shares))
    assert shares[0] == pytest.approx(0.001)
    assert shares[-1] == pytest.approx(0.999)


def test_the_cheapest_threshold_is_that_of_python(panel, rows):
    positive, p = rows
    data = TableReport(None, None, evaluation_of(LabelledPredictions(np.where(positive, "yes", "no"), posterior=p)))
    (found,) = thresholds_of(data)
    for place, ratio in ((3, 0.1), (8, 1.0), (13, 10.0)):
        move(panel, "#cost-ratio", place)
        panel.get_by_role("button", name="minimum cost").click()
        assert read(panel, "threshold-shown") == pytest.approx(found.values[found.best(ratio)])
        assert read(panel, "cost-now") == pytest.approx(found.costs(ratio).min(), abs=0.0051)


def test_the_keyboard_moves_the_threshold_and_its_point_in_the_figure(panel):
    panel.locator("#threshold-value").focus()
    before = read(panel, "threshold-shown")
    panel.keyboard.press("ArrowRight")
    after = read(panel, "threshold-shown")
    assert 0 < after - before <= 0.0101
    assert panel.evaluate("document.getElementById('plot-thresholds').data[1].x[0]") == pytest.approx(after)
    assert panel.locator("#threshold-value").get_attribute("aria-valuetext") == str(after)


def test_each_of_several_classes_can_be_chosen(report, open_page):
    with open_page(report("three_classes")) as page:
        result, training, models = compared("three")
        data = TableReport(result, training, model=models["LDA"], model_name="LDA")
        for place, found in enumerate(thresholds_of(data)):
            page.locator("#threshold-class").select_option(str(place))
            half = int(np.argmin(np.abs(found.values - 0.5)))
            assert read(page, "count-hits") == found.hits[half]
            assert read(page, "count-alarms") == found.alarms[half]


def test_costs_that_were_given_are_where_the_sliders_start(report, open_page):
    with open_page(report("two_classes_with_costs")) as page:
        assert page.locator("#ratio-shown").inner_text() == "8 : 1"


@pytest.mark.slow
def test_margins_start_where_they_change_sides(report, open_page):
    with open_page(report("margins_of_two")) as page:
        result, _, _ = compared("two")
        assert page.locator("#threshold-shown").inner_text() == "0"
        assert read(page, "count-hits") + read(page, "count-misses") == 212
        assert result.cross_validation.classes[1] == "malignant"


@pytest.mark.slow
def test_words_are_explained_on_focus(report, open_page):
    with open_page(report("two_classes")) as page:
        term = page.locator("#answer .term").first
        assert term.evaluate("e => getComputedStyle(e, '::after').content") == "none"
        term.focus()
        assert "share of rows" in term.evaluate("e => getComputedStyle(e, '::after').content")


@pytest.mark.slow
def test_it_prints_without_controls_and_with_every_part(report, open_page):
    with open_page(report("two_classes_with_costs")) as page:
        page.emulate_media(media="print")
        assert not page.locator(".controls").is_visible()
        assert not page.locator(".readout").is_visible()
        for name, *_ in SECTIONS:
            assert page.locator(f"#{name}-heading").is_visible()
        figure = page.locator("figure").first
        assert figure.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
        printed = page.pdf()
        assert printed.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 3


@pytest.mark.slow
def test_figures_take_the_width_of_the_paper_and_go_back(report, open_page):
    with open_page(report("two_classes")) as page:
        wide = page.locator("#plot-roc svg.main-svg").first.bounding_box()["width"]
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#plot-roc svg.main-svg").first.bounding_box()["width"] == 660 < wide
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        page.wait_for_function(
            "width => document.querySelector('#plot-roc svg.main-svg').clientWidth === width", arg=round(wide)
        )
