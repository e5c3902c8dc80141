"""What a view of the Learn page is made of: controls, formulas, figures, and the same as code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..report.page import Drawing
    from .learn_points import Points

#: Points of the grid along each axis: what a plane of a few hundred pixels needs, and what a class room can be sent.
RESOLUTION = 84
#: Steps of an algorithm that are sent.
FRAMES = 120


@dataclass(frozen=True)
class Choice:
    """A control with a few values, by what they are called; the first is the default, unless one is named."""

    name: str
    label: str
    options: Mapping[Any, str]
    start: Any = None

    @property
    def default(self) -> Any:
        return next(iter(self.options)) if self.start is None else self.start

    def read(self, text: str) -> Any:
        """The value that an address names, the default where it names none."""
        return next((value for value in self.options if str(value) == text), self.default)


@dataclass(frozen=True)
class Scale(Choice):
    """A control whose values are in order: a slider."""


def scale(name: str, label: str, values: Sequence[float], start: float, form: str = "{:g}") -> Scale:
    """A slider over numbers."""
    return Scale(name, label, {value: form.format(value) for value in values}, start)


@dataclass(frozen=True)
class Shown:
    """What a view came to: figures, the first of which is painted on; figures in words; and the same as code."""

    drawings: Sequence[Drawing]
    facts: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    command: str = ""


@dataclass(frozen=True)
class View:
    """A view: its name in addresses, what it shows, its formulas (a caption and TeX each) and its controls."""

    name: str
    title: str
    lead: str
    formulas: Sequence[tuple[str, str]]
    controls: Sequence[Choice]
    points: str  #: the preset that it begins with
    from_start: bool = False  #: whether its steps are shown from the first on, else as they ended

    def settings(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A value of each control: that of an address, or the default."""
        return {one.name: one.read(given.get(one.name, "")) for one in self.controls}

    def shown(self, points: Points, settings: Mapping[str, Any]) -> Shown:
        """Draw it."""
        from ..figures.theme import sketches
        from .learn_lessons import LESSONS

        if len(points.present) < 2:
            return bare(points)
        with sketches(points.present):
            return LESSONS[self.name](points, settings)


def bare(points: Points) -> Shown:
    """The points alone, where there is nothing yet to learn from them."""
    from ..figures import scatter
    from ..figures.theme import sketches
    from ..report.page import drawing

    with sketches(points.present):
        made = drawing("plane", scatter, points.values, points.y, points.limits, points.columns)
    needed = "Paint points of two classes at least: a model tells classes apart."
    return Shown([made if len(points.present) > 1 else replace(made, explanation=needed)])
