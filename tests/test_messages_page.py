"""The page of all messages (``messages.md``) is current."""

import pytest

import messages

pytestmark = pytest.mark.tools


def test_the_page_has_the_messages_of_the_sources():
    written = messages.PAGE.read_text(encoding="utf-8")
    assert written == messages.page(messages.kept(written)), "python tests/messages.py writes the page again"


def test_a_template_keeps_the_names_of_its_values():
    texts = [one.text for one in messages.templates()]
    assert any(text.startswith("k must be at most the number of classes, {") for text in texts)
