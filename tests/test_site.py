"""The site in a real browser: pages open without a network, wide and narrow, light and dark, without an error."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; warnings are errors. Return its folder."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "docs", folder]
    ran = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return folder


class Anchors(HTMLParser):
    """The links of a page, and the anchors that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])


@pytest.mark.slow
def test_every_internal_link_has_a_target(site):
    pages = {path.resolve(): Anchors(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            known = target in pages and (not place or place in pages[target].places)
            if not known and (target in pages or not target.is_file()):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def opened(browser, width, scheme):
    """A page of the browser, and the list of its errors and remote requests."""
    page, problems = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme), []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else problems.append(request.url),
    )
    return page, problems


def errors_of_pages(browser, site, width, scheme):
    """The errors of each page of the site, and by how much it is wider than its window."""
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    assert len(pages) > 100
    (window, problems), wrong = opened(browser, width, scheme), {}
    for path in pages:
        problems.clear()
        window.goto(path.as_uri())
        overflow = window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if problems or overflow > 1:
            wrong[str(path.relative_to(site))] = (problems[:3], overflow)
    window.close()
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark"), (1920, "light")])
def test_every_page_opens_without_a_network(site, browser, width, scheme):
    assert not errors_of_pages(browser, site, width, scheme)
