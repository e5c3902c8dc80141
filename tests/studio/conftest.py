"""A studio for the tests of a module, and a browser that records errors and remote requests of its pages."""

from contextlib import contextmanager

import pytest
from studios import PATIENCE, running

GRAVE = ("error", "warning")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running(tmp_path_factory.mktemp("studio"), "--upload-limit", "1") as found:
        yield found


@pytest.fixture(scope="module")
def visit(browser, studio):
    """A function that opens a page of the studio, which must go without error, dialog or request to anything else."""

    @contextmanager
    def opened(path="/", width=1280, dark=False, allowed=(), script=""):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        context.set_default_timeout(PATIENCE)
        problems = []
        base = studio.address.rstrip("/")
        own = (base, base.replace("http", "ws", 1), "data:", "blob:")

        def watched(page):
            page.on("console", lambda message: problems.append(message.text) if message.type in GRAVE else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda request: None if request.url.startswith(own) else problems.append(request.url))

        context.on("page", watched)
        context.add_init_script(script)
        page = context.new_page()
        page.goto(base + path)
        yield page
        context.close()
        assert not [one for one in problems if not any(word in one for word in allowed)]

    return opened
