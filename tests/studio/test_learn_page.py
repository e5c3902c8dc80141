"""The Learn page in a real browser: painting, watching and handing out, by mouse and keyboard."""

import csv
import re
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

from discriminant import LinearDiscriminantAnalysis, Perceptron
from discriminant.datasets import load, worked_example
from discriminant.studio.learn_views import VIEWS

# One page after the other, in the order of the tests: they go on from what was drawn and opened.
pytestmark = pytest.mark.xdist_group("learn_page")
COUNT = re.compile(r"\((\d+)\)")


def opened(page):
    """Wait until the first figure is drawn."""
    page.wait_for_function("document.querySelector('.plot')?._fullLayout?.xaxis?._length > 0")
    return page


def counts(page):
    """The points of each class, as its button says."""
    buttons = page.get_by_role("radiogroup", name="Class to paint").get_by_role("radio").all_inner_texts()
    return [int(COUNT.search(text)[1]) for text in buttons]


def fact(page, name):
    return page.locator(".key", has_text=name).locator("dd")


def place(page, x, y):
    """Where a point of the plane is on the screen."""
    return page.evaluate(
        """([x, y]) => {
          const plot = document.querySelector('.plot'), box = plot.getBoundingClientRect();
          const {xaxis, yaxis} = plot._fullLayout;
          return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)];
        }""",
        [x, y],
    )


@pytest.fixture
def plane(visit):
    """An empty plane to paint on."""
    with visit("/learn?view=model&points=blank") as page:
        opened(page).get_by_role("application").scroll_into_view_if_needed()
        yield page


def test_painted_points_are_learned_from(plane):
    plane.mouse.click(*place(plane, 2, 2))
    plane.get_by_text("Paint points of at least two classes").wait_for()
    for x, y in [(2, 3), (3, 2)]:
        plane.mouse.click(*place(plane, x, y))
    plane.get_by_role("radio", name="B").click()
    plane.mouse.move(*place(plane, 6, 8))
    plane.mouse.down()
    plane.mouse.move(*place(plane, 9, 7), steps=20)
    plane.mouse.up()
    first, second, *_ = counts(plane)
    assert first == 3
    assert second > 5
    fact(plane, "Misclassified").filter(has_text=f"0 of {first + second}").wait_for()
    with plane.expect_download() as written:
        plane.get_by_role("button", name="points.csv").click()
    with written.value.path().open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    assert sorted(row[2] for row in rows) == ["A"] * first + ["B"] * second
    near = np.array([row[:2] for row in rows if row[2] == "A"], dtype=float)
    assert np.abs(near - [[2, 2], [2, 3], [3, 2]]).max() < 0.1


def test_a_point_is_moved_erased_and_brought_back(plane):
    for x in (2, 5, 8):
        plane.mouse.click(*place(plane, x, 2))
    plane.get_by_role("radio", name="Move").click()
    plane.mouse.move(*place(plane, 8, 2))
    plane.mouse.down()
    plane.mouse.move(*place(plane, 8, 8), steps=8)
    plane.mouse.up()
    plane.get_by_role("radio", name="Erase").click()
    plane.mouse.click(*place(plane, 8, 2))
    assert counts(plane)[0] == 3
    plane.mouse.click(*place(plane, 8, 8))
    assert counts(plane)[0] == 2
    plane.get_by_role("button", name="Undo").click()
    assert counts(plane)[0] == 3
    plane.get_by_role("button", name="Clear").click()
    assert counts(plane)[0] == 0


def test_everything_on_the_plane_is_done_by_keys(plane):
    plane.get_by_role("application").focus()
    press = plane.keyboard.press
    press("Enter")
    for _ in range(4):
        press("ArrowRight")
    press("2")
    press("Enter")
    assert counts(plane)[:2] == [1, 1]
    press("m")
    press("Enter")
    for _ in range(3):
        press("Shift+ArrowUp")
    press("Enter")
    press("e")
    press("Enter")
    assert counts(plane)[:2] == [1, 0]
    press("Control+z")
    assert counts(plane)[:2] == [1, 1]
    assert "points" in plane.locator(".announced").inner_text()
    fact(plane, "Misclassified").wait_for(state="detached")


def is_painted(page, x, y):
    """Whether the canvas over the plane has a mark at a point of it."""
    left, top = place(page, x, y)
    return page.evaluate(
        """([left, top]) => {
          const canvas = document.querySelector('.board canvas'), box = canvas.getBoundingClientRect();
          const scale = canvas.width / box.width, at = [(left - box.left) * scale, (top - box.top) * scale];
          return canvas.getContext('2d').getImageData(...at, 1, 1).data[3] > 0;
        }""",
        [left, top],
    )


def test_points_stay_where_they_are_in_a_window_of_another_width(plane):
    plane.mouse.click(*place(plane, 8, 8))
    before = plane.locator(".plot").first.bounding_box()["width"]
    plane.set_viewport_size({"width": 700, "height": 900})
    plane.wait_for_function(
        "before => { const plot = document.querySelector('.plot');"
        " return plot.offsetWidth < before - 50 && Math.abs(plot._fullLayout.width - plot.offsetWidth) < 2 }",
        arg=before,
    )
    plane.wait_for_timeout(500)
    assert is_painted(plane, 8, 8)


def test_jitter_and_dabs_spread_points(plane):
    for name, presses in (("Points per stroke", 4), ("Jitter", 40)):
        plane.get_by_role("slider", name=name).focus()
        for _ in range(presses):
            plane.keyboard.press("ArrowRight")
    plane.mouse.click(*place(plane, 5, 5))
    assert counts(plane)[0] == 5


def test_the_perceptron_is_watched_update_by_update(visit):
    known = worked_example("and-perceptron").numbers
    with visit("/learn?view=perceptron&points=and&rule=nonpositive") as page:
        opened(page)
        fact(page, "Updates").filter(has_text=str(known["nonpositive: updates"])).wait_for()
        assert fact(page, re.compile("^Bound")).inner_text() == f"{known['bound']:g}"
        total = known["nonpositive: updates"]
        step = page.get_by_role("button", name="Step", exact=True)
        step.focus()
        for _ in range(3):
            page.keyboard.press("Enter")
        page.get_by_text(f"3 of {total}", exact=True).wait_for()
        page.get_by_text("Update 3 of 18").wait_for()
        page.get_by_role("button", name="Back").click()
        page.get_by_text(f"2 of {total}", exact=True).wait_for()
        page.get_by_label("Speed").select_option("8")
        page.get_by_role("button", name="Play").click()
        page.get_by_text(f"{total} of {total}", exact=True).wait_for()
        data = load("and")
        model = Perceptron("dual", rule="nonpositive", trace=True).fit(data.X, data.y)
        bars = page.evaluate("[...document.querySelectorAll('.plot')[1].data].flatMap(t => [...t.y])")
        assert sorted(bars) == sorted(model.alpha_.tolist())
        drawn = page.evaluate(
            "(({x, y}) => [[...x], [...y]])(document.querySelector('.plot').data.find(t => t.name === 'boundary'))"
        )
        assert np.abs(np.column_stack(drawn) @ model.coef_[0] + model.intercept_[0]).max() < 1e-9


def test_an_address_holds_what_was_painted(plane):
    for x, y in [(1, 1), (2, 2), (8, 8)]:
        plane.mouse.click(*place(plane, x, y))
    plane.keyboard.press("2")
    plane.mouse.click(*place(plane, 9, 1))
    plane.wait_for_timeout(300)
    plane.get_by_role("button", name="Copy the link").click()
    plane.wait_for_url(re.compile("drawn="))
    address = urlsplit(plane.url)
    other = plane.context.new_page()
    other.goto(plane.url)
    opened(other)
    other.wait_for_function("document.querySelector('.count')?.innerText === '(3)'")
    assert counts(other) == counts(plane) == [3, 1, 0, 0, 0]
    other.goto(f"{address.scheme}://{address.netloc}/learn?view=model&points=blank&drawn=nonsense!")
    other.get_by_role("alert").filter(has_text="Copy the whole address").wait_for()


def test_two_tabs_do_not_mix_and_a_reload_loses_nothing(plane):
    plane.mouse.click(*place(plane, 2, 2))
    other = plane.context.new_page()
    other.goto(plane.url.split("?")[0] + "?view=model&points=blank")
    opened(other)
    assert sum(counts(other)) == 0
    plane.goto(plane.url.split("?")[0])
    opened(plane)
    plane.wait_for_function("document.querySelector('.count')?.innerText === '(1)'")


def test_what_is_copied_does_the_same(visit, tmp_path):
    with visit("/learn?view=model&points=crossed_normals&model=lda") as page:
        fact(opened(page), "Misclassified").wait_for()
        page.get_by_text("Copy as code").click()
        python = page.get_by_role("region", name="Python").inner_text()
        command = page.get_by_role("region", name="Command").inner_text()
        wrong = fact(page, "Misclassified").inner_text()
    names = {}
    exec(compile(python.replace(".show()", ""), "copied", "exec"), names)
    data = load("crossed_normals")
    assert (names["model"].predict(data.X) == LinearDiscriminantAnalysis().fit(data.X, data.y).predict(data.X)).all()
    assert wrong == f"{(names['model'].predict(data.X) != data.y).sum()} of {len(data.y)}"
    for line in command.splitlines():
        subprocess.run([sys.executable, "-m", *line.split()], cwd=tmp_path, check=True, capture_output=True)
    assert "LinearDiscriminantAnalysis" in (tmp_path / "figure.html").read_text(encoding="utf-8")


def test_a_worked_example_is_shown_with_its_numbers(visit):
    example = worked_example("or-perceptron")
    with visit("/learn?example=or-perceptron") as page:
        opened(page)
        fact(page, "Updates").filter(has_text=str(example.numbers["sign: updates"])).wait_for()
        table = page.get_by_role("region", name="Numbers of the worked example")
        assert f"{example.numbers['bound']:g}" in table.inner_text()
        page.get_by_text(example.question).wait_for()
        page.get_by_role("application").scroll_into_view_if_needed()
        page.mouse.click(*place(page, 0.5, 0.5))
        table.wait_for(state="detached")  # its numbers are not those of other points


def test_two_columns_of_a_table_are_points(visit, studio):
    rng = np.random.default_rng(3)
    kind = rng.choice(["<i>low</i>", "high"], 60)
    rows = [[f"{v:.3f}", "text", f"{w:.3f}", k] for v, w, k in zip(*rng.normal(size=(2, 60)), kind, strict=True)]
    path = studio.folder / "points.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["first", "word", "second", "kind"], *rows])
    with visit("/learn?view=model") as page:
        opened(page)
        page.get_by_label("or type a path on this machine").fill(str(path))
        page.keyboard.press("Enter")
        page.get_by_role("radio", name="<i>low</i>").wait_for()
        assert counts(page) == [(kind == label).sum() for label in ("<i>low</i>", "high")]
        assert page.get_by_label("Horizontal axis").input_value() == "first"
        assert page.get_by_label("Vertical axis").input_value() == "second"
        page.get_by_role("button", name="Copy the link").click()
        page.get_by_role("alert").filter(has_text="cannot contain the points").wait_for()
        (studio.folder / "words.csv").write_text("a,b\nx,y\nz,y\nx,q\nz,q\n")
        page.get_by_label("or type a path on this machine").fill(str(studio.folder / "words.csv"))
        page.keyboard.press("Enter")
        page.locator(".step", has_text="Dataset").get_by_role("alert").filter(has_text="numeric column").wait_for()


def test_controls_are_moved_by_keys_and_the_figure_follows(visit):
    with visit("/learn?view=line") as page:
        opened(page)
        margin = fact(page, "Margin")
        before = margin.inner_text()
        page.get_by_role("slider", name="Soft margin: C").focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "before => [...document.querySelectorAll('.key')].find(k => k.innerText.includes('Margin'))"
            ".querySelector('dd').innerText !== before",
            arg=before,
        )
        assert float(margin.inner_text()) > float(before)


def test_a_view_that_cannot_be_drawn_says_why_beside_its_control(visit):
    with visit("/learn?view=roc&points=triangle") as page:
        page.locator(".step", has_text="worked example").get_by_role("alert").filter(has_text="two classes").wait_for()
        opened(page)  # and the points are still there
        assert counts(page) == [50, 50, 50]


def test_an_unknown_lesson_of_an_address_is_named(visit):
    with visit("/learn?view=nonsense") as page:
        opened(page)
        page.get_by_role("alert").filter(has_text="nonsense").wait_for()
        page.get_by_role("heading", name="Decision regions of a model").wait_for()


def test_the_gallery_leads_to_every_lesson_and_back(visit):
    with visit("/learn") as page:
        page.get_by_role("heading", level=1, name="Learn linear classification").wait_for()
        page.locator(".lesson-card svg").nth(len(VIEWS) - 1).wait_for()
        page.get_by_role("link", name="Perceptron for AND").wait_for()
        page.get_by_role("link", name="Perceptron updates").click()
        opened(page).get_by_role("heading", name="Perceptron updates").wait_for()
        page.get_by_role("link", name="All lessons").click()
        page.get_by_role("heading", name="Learn linear classification").wait_for()
        assert page.locator(".rail").is_hidden()


def test_board_and_steps_are_on_the_first_screen(visit):
    with visit("/learn?view=perceptron") as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        opened(page)
        bottom = "(place => place.getBoundingClientRect().bottom)(document.querySelector('{}'))"
        page.wait_for_function(f"{bottom.format('.plot')} <= 720")
        assert page.evaluate(bottom.format(".transport")) < page.evaluate(bottom.format(".plot"))
        assert page.evaluate("document.querySelector('.plot').offsetHeight") >= 300


def test_the_end_of_training_is_on_the_first_screen(visit):
    for points, words in (
        ("xor", re.compile("^Stopped after .* not linearly separable. Misclassified: [1-4] of 4")),
        ("and", "Converged in epoch"),
    ):
        with visit(f"/learn?view=perceptron&points={points}") as page:
            page.set_viewport_size({"width": 1280, "height": 720})
            opened(page)
            result = page.locator(".result").filter(has_text=words)
            result.wait_for()
            assert result.bounding_box()["y"] < page.locator(".transport").bounding_box()["y"] < 720


def test_formulas_and_answers_are_folded(visit):
    with visit("/learn?view=perceptron") as page:
        opened(page)
        question, answer = VIEWS["perceptron"].prompts[0]
        assert not page.get_by_text(question).is_visible()
        page.get_by_text("Questions").click()
        page.get_by_text(question).wait_for()
        assert not page.get_by_text(answer).is_visible()
        page.get_by_text("Answer", exact=True).first.click()
        page.get_by_text(answer).wait_for()
        page.get_by_text("Formulas").click()
        page.locator("math").first.wait_for()


def test_a_presentation_hides_the_controls_until_escape(visit):
    with visit("/learn?view=perceptron") as page:
        opened(page)
        present = page.get_by_role("button", name="Present")
        present.click()
        page.locator(".rail").wait_for(state="hidden")
        page.get_by_role("button", name="Play").wait_for()
        assert present.get_attribute("aria-pressed") == "true"
        page.keyboard.press("Escape")
        page.locator(".rail").wait_for()


def test_the_address_follows_and_opens_the_same(visit):
    with visit("/learn?view=roc&points=crossed_normals") as page:
        opened(page)
        page.get_by_role("slider", name="Threshold t").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_url(re.compile("threshold=0.55"))
        rate = fact(page, "True positive rate").inner_text()
        other = page.context.new_page()
        other.goto(page.url)
        opened(other)
        assert fact(other, "True positive rate").inner_text() == rate


def test_one_vs_one_has_an_ambiguous_region_on_the_pinwheel(visit):
    with visit("/learn?view=many") as page:
        opened(page)
        share = fact(page, "OneVsOne: ambiguous area")
        share.wait_for()
        assert float(share.inner_text().removesuffix(" %")) > 0.5
        page.get_by_text("ambiguous: several classes").nth(1).wait_for()


def test_the_sides_of_the_perceptron_are_those_of_its_predictions(visit):
    with visit("/learn?view=perceptron&points=or") as page:
        opened(page)
        page.get_by_role("button", name="To the end").click()
        page.wait_for_function(
            "document.querySelector('.plot').data.some(t => t.name === 'side of 1' && t.x.length > 2)"
        )
        inside = page.evaluate(
            """() => {
              const {x, y} = document.querySelector('.plot').data.find(t => t.name === 'side of 1');
              const box = new Path2D(x.map((v, i) => `${i ? 'L' : 'M'}${v} ${y[i]}`).join('') + 'Z');
              const context = document.createElement('canvas').getContext('2d');
              return [[0, 0], [0, 1], [1, 0], [1, 1]].map(([u, v]) => context.isPointInPath(box, u, v));
            }"""
        )
        assert inside == [False, True, True, True]


@pytest.mark.parametrize(("dark", "colour"), [(False, "rgb(0, 114, 178)"), (True, "rgb(98, 184, 236)")])
def test_curves_are_lighter_on_dark_paper(visit, dark, colour):
    with visit("/learn?view=roc", dark=dark) as page:
        opened(page)
        page.wait_for_function("document.querySelectorAll('.plot')[1]?._fullLayout?.xaxis?._length > 0")
        curve = page.locator(".plot").nth(1).locator("path.js-line[style*='rgb(0, 114, 178)']").first
        assert curve.evaluate("line => getComputedStyle(line).stroke") == colour
