"""The studio's pages at several screen widths; some of the pictures are in docs/studio.md.

``make pictures`` updates those. Otherwise all pictures go to a temporary folder, and those of the documentation must
exist.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import rasterio

from discriminant.studio.learn_views import VIEWS

# One page after the other, in the order of the tests: they go on from what was drawn and opened.
pytestmark = pytest.mark.xdist_group("pictures")
DOCS = Path(__file__).parents[2] / "docs" / "_static"
DOCUMENTED = ("studio-table", "studio-decide", "studio-learn", "studio-image")
MEANS = np.array([[40, 60, 50, 20, 15, 10], [50, 80, 45, 150, 90, 60], [140, 130, 110, 160, 170, 150]])
SHADES = [pytest.param(False, id="light"), pytest.param(True, id="dark", marks=pytest.mark.slow)]
AREAS = {
    "Water": ["20,20,120,120", "30,400,120,550"],
    "Wood": ["300,40,420,140", "450,50,560,120"],
    "Fields": ["350,450,450,550", "500,420,590,500"],
}


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    """A function that takes the picture of a page, which must fit its width."""
    folder, to_docs = tmp_path_factory.mktemp("pictures"), os.environ.get("STUDIO_PICTURES") == "update"

    def taken(page, name, widths):
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            page.mouse.move(0, 0)
            page.wait_for_timeout(300)  # figures follow the width
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            documented = name in DOCUMENTED and width == 1280
            path = (DOCS if documented and to_docs else folder) / f"{name}{'' if width == 1280 else f'-{width}'}.png"
            page.screenshot(path=path)
            assert path.stat().st_size > 10_000
            assert not documented or (DOCS / f"{name}.png").exists(), "make pictures takes it"

    return taken


@pytest.fixture(scope="module")
def coast(studio):
    """Water, wood and fields in six bands."""
    y, x = np.mgrid[0:600, 0:600] / 600
    water = x + 0.15 * np.sin(6 * y) < 0.3
    classes = np.where(water, 0, np.where(y + 0.1 * np.sin(9 * x) < 0.5, 1, 2))
    noise = np.random.default_rng(0).normal(0, 9, (600, 600, 6))
    values = (MEANS[classes] + noise).clip(0, 255).astype("uint8").transpose(2, 0, 1)
    path = studio.folder / "coast.tif"
    form = {"driver": "GTiff", "count": 6, "width": 600, "height": 600, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(path, "w", **form, transform=rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)) as file:
        file.write(values)
    return path


@pytest.mark.parametrize("dark", SHADES)
def test_the_table_page_fits_every_screen(visit, take, dark):
    shade = "-dark" if dark else ""
    with visit(dark=dark) as page:
        page.get_by_label("or open an example table").click()
        page.get_by_role("option", name="Tumours").click()
        page.get_by_role("heading", name="Classification of “diagnosis”").wait_for()
        page.get_by_label("Models to compare").click()
        for name in ("Regularised", "Naive Bayes", "Support vector"):
            page.get_by_role("option", name=name).click()
        page.keyboard.press("Escape")
        page.get_by_role("tab", name="Columns").click()
        page.locator(".card .histogram").nth(11).wait_for()
        take(page, f"studio-columns{shade}", (400, 820, 1280))
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name="Model comparison").wait_for()
        page.locator(".js-plotly-plot .xaxislayer-above").first.wait_for()
        take(page, f"studio-table{shade}", (400, 820, 1920, 1280))
        page.get_by_role("tab", name="Costs and thresholds").click()
        page.get_by_role("slider", name="Threshold").wait_for()
        page.locator(".js-plotly-plot .xaxislayer-above").nth(1).wait_for()
        take(page, f"studio-decide{shade}", (400, 820, 1280))
        page.get_by_role("tab", name="What if").click()
        page.locator(".verdict").wait_for()
        take(page, f"studio-what-if{shade}", (400, 820, 1280))


@pytest.mark.parametrize("dark", SHADES)
def test_the_image_page_fits_every_screen(visit, take, coast, dark):
    shade = "-dark" if dark else ""
    with visit("/image", dark=dark) as page:
        page.get_by_label("or type a path on this machine").fill(str(coast))
        page.keyboard.press("Enter")
        page.locator(".plane[data-image]").wait_for()
        drawn = coast.with_name("coast.areas.geojson").exists()  # they are kept
        for name, boxes in [] if drawn else AREAS.items():
            page.get_by_label("New class").fill(name)
            page.keyboard.press("Enter")
            for number, box in enumerate(boxes, 1):
                page.get_by_role("radio", name=name, checked=True).wait_for()
                page.get_by_label("Add a training area by coordinates").fill(box)
                page.keyboard.press("Enter")
                page.get_by_role("radio", name=f"{name} {number} area").wait_for()
        page.locator(".plane[data-classes]").wait_for()
        slider = page.get_by_role("slider", name="Swipe position")
        slider.evaluate("e => { e.value = 55; e.dispatchEvent(new Event('input')); }")
        page.get_by_role("tab", name="Signatures").click()
        page.get_by_role("region", name="Table of samples").wait_for()
        page.locator(".js-plotly-plot .xaxislayer-above").nth(1).wait_for()
        take(page, f"studio-image{shade}", (820, 1920, 1280))


@pytest.mark.parametrize("dark", SHADES)
def test_the_learn_page_fits_every_screen(visit, take, dark):
    with visit("/learn", dark=dark) as page:
        page.locator(".lesson-card svg").nth(len(VIEWS) - 1).wait_for()
        take(page, f"studio-lessons{'-dark' if dark else ''}", (400, 820, 1280))
    with visit("/learn?view=many", dark=dark) as page:
        page.wait_for_function("document.querySelectorAll('.plot')[1]?._fullLayout?.xaxis?._length > 0")
        take(page, f"studio-learn{'-dark' if dark else ''}", (400, 820, 1280, 1920))
