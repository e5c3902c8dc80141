"""Files of the repository that are also pages of the site, with their links adapted."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

_ROOT = Path(__file__).parents[2]
_PAGES = {"about/design": "DESIGN.md", "about/changelog": "CHANGELOG.md", "about/contributing": "CONTRIBUTING.md"}
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)((?:#[^)]*)?)\)")


def _linked(found: re.Match[str]) -> str:
    """A link relative to the root of the repository, made relative to the folder ``about``."""
    target, anchor = found[1], found[2]
    known = {file: page.removeprefix("about/") + ".md" for page, file in _PAGES.items()}
    return f"]({known.get(target, '../' + target.removeprefix('docs/'))}{anchor})"


def _read(app: Sphinx, docname: str, source: list[str]) -> None:  # noqa: ARG001
    if docname in _PAGES:
        source[0] = _LINK.sub(_linked, (_ROOT / _PAGES[docname]).read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the handler."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
