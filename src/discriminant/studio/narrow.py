"""Controls that fold on narrow screens, and the colours of classes in pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nicegui import ui

_FOLD: Final = """event => {
  const button = event.currentTarget, folded = button.closest(".rail").classList.toggle("folded");
  button.setAttribute("aria-expanded", String(!folded));
}"""


@contextmanager
def settings_bar() -> Iterator[None]:
    """A bar of narrow screens that folds the controls; what it contains is shown while they are folded."""
    with ui.element("div").classes("settings"):
        button = ui.button("Settings", icon="tune").props("outline dense aria-expanded=true")
        button.on("click", js_handler=_FOLD)
        with ui.element("div").classes("whenfolded"):
            yield


def fold(rail: ui.element, folded: bool = True) -> None:
    """Fold the controls of narrow screens when there are results to show, or show them again."""
    place = f"getHtmlElement({rail.id})"
    rail.client.run_javascript(
        f'{place}?.classList.toggle("folded", {str(folded).lower()}); '
        f'{place}?.querySelector(".settings button")?.setAttribute("aria-expanded", "{str(not folded).lower()}")'
    )


def shade(k: int) -> str:
    """The colour of a class in a page; the first one is lighter on dark paper."""
    from ..figures.theme import COLOURS

    return "var(--accent)" if k % len(COLOURS) == 0 else COLOURS[k % len(COLOURS)]
