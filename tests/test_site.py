"""The site in a real browser: pages open without a network, wide and narrow, light and dark, without an error."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built anew; warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "docs", folder]
    ran = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return folder


def visited(browser, path, width, scheme):
    """What went wrong on a page, and how far it is wider than its window."""
    page, troubles = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme), []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else troubles.append(request.url),
    )
    page.goto(path.as_uri())
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.close()
    return troubles, overflow


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark"), (1920, "light")])
def test_every_page_opens_without_a_network(site, browser, width, scheme):
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    assert len(pages) > 100
    wrong = {}
    for path in pages:
        troubles, overflow = visited(browser, path, width, scheme)
        if troubles or overflow > 1:
            wrong[str(path.relative_to(site))] = (troubles[:3], overflow)
    assert not wrong
