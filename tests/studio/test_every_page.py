"""Accessibility of every page of the studio when it is opened."""

import pytest

PAGES = {
    "/": "Classify the rows of a table",
    "/learn": "Learn linear classification",
    "/learn?view=perceptron": "Perceptron updates",
    "/image": "Classify the pixels of an image",
}


@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_closed_to_assistive_technology(visit, violations, address):
    with visit(address) as page:
        page.get_by_role("heading", level=1, name=PAGES[address]).wait_for()
        assert page.locator("html").get_attribute("lang") == "en-US"
        assert violations(page) == []


@pytest.mark.parametrize("address", PAGES)
def test_the_first_tab_skips_to_the_page(visit, address):
    with visit(address) as page:
        page.get_by_role("heading", level=1, name=PAGES[address]).wait_for()
        page.keyboard.press("Tab")
        assert "Skip to the main content" in page.evaluate("document.activeElement.innerText")
