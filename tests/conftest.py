"""Settings that all tests share."""

import gc
import re
import shutil
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, settings

#: What a browser may say that nobody should have to read.
GRAVE = ("error", "warning")

# The same examples on every run and machine: a failure can be reproduced by running the test again.
settings.register_profile(
    "suite", derandomize=True, deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
# New examples on every run, many more of them (make test-all); a failure prints how to run it again.
settings.register_profile(
    "random", deadline=None, max_examples=60, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_addoption(parser):
    parser.addoption("--messages", metavar="FILE", help="record the messages that tests make, for messages.py")


def pytest_configure(config):
    if config.getoption("--messages"):
        from tests.recorder import record

        record(config.getoption("--messages"))


def pytest_make_parametrize_id(val, argname):
    """Bytes are named by their parameter: packed ones hold the time of day, and each worker would name another test."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_finish():
    """What thousands of collected tests hold stays until the end: garbage need not be looked for there."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program, "These tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def open_page(browser):
    """A function that opens a file as a page that must go without error, dialog or request for anything else."""

    @contextmanager
    def visit(path, width=1280):
        page, troubles = browser.new_page(viewport={"width": width, "height": 900}), []
        page.on("console", lambda message: troubles.append(message.text) if message.type in GRAVE else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: None if request.url == path.as_uri() else troubles.append(request.url))
        page.route(re.compile("^(?!file:)"), lambda route: route.abort())
        page.goto(path.as_uri())
        yield page
        page.close()
        assert not troubles

    return visit


@pytest.fixture(scope="session")
def violations():
    """A function from a page to what axe-core finds serious in it, on light paper and on dark."""
    from axe_playwright_python.sync_playwright import Axe

    def found(page):
        told = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour is on its way to another
            page.wait_for_timeout(200)
            for one in Axe().run(page).response["violations"]:
                if one["impact"] in ("serious", "critical"):
                    told.append((scheme, one["id"], [node["html"][:200] for node in one["nodes"]]))
        page.emulate_media(color_scheme="light")
        return told

    return found
