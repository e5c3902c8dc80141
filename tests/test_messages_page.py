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


def test_an_example_belongs_to_a_template_that_it_matches():
    one = next(one for one in messages.templates() if one.text.startswith("k must be at most the number of classes, {"))
    right, wrong = "k must be at most the number of classes, 3, got 4.", "k must be an integer of at least 1, got 0."
    assert right in messages.page({one.key: right})
    assert wrong not in messages.page({one.key: wrong})
    assert right not in messages.page({("other.py", one.key[1]): right})
