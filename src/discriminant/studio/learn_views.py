"""The parts of a lesson of the Learn page: controls, formulas, figures and code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..report.page import Drawing
    from .learn_points import Points


#: Grid points along each axis: enough for a few hundred pixels, few enough to send to a whole class.
RESOLUTION: Final = 84
#: Steps of an algorithm that are sent to the browser.
FRAMES: Final = 120


@dataclass(frozen=True)
class Choice:
    """A control with a few values and their labels; by default the first is chosen."""

    name: str
    label: str
    options: Mapping[Any, str]
    start: Any = None
    is_scale: bool = False  #: a slider over ordered values

    @property
    def default(self) -> Any:
        return next(iter(self.options)) if self.start is None else self.start

    def read(self, text: str) -> Any:
        """The value with this text; the default if there is none."""
        return next((value for value in self.options if str(value) == text), self.default)


@dataclass(frozen=True)
class Shown:
    """The result of a lesson: figures, the first of them to paint on, numbers, and code."""

    drawings: Sequence[Drawing]
    facts: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)  #: values for the template of the Python code
    settings: Mapping[str, Any] = field(default_factory=dict)  #: the model and its parameters, for the command
    python: str = ""
    command: str = ""
    result: str = ""  #: the main result in a sentence, shown above the figures


@dataclass(frozen=True)
class View:
    """A lesson: its name in addresses, its texts, its formulas (caption and TeX) and its controls."""

    name: str
    title: str
    lead: str
    formulas: Sequence[tuple[str, str]]
    controls: Sequence[Choice]
    points: str  #: the dataset that it starts with
    figure: str  #: the same figure of `discriminant figure`
    python: str  #: a template of the Python code
    prompts: Sequence[tuple[str, str]] = ()  #: questions to try, and their answers
    from_start: bool = False  #: whether it starts at the first step, not at the last

    def settings(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The value of each control, from an address or by default."""
        return {one.name: one.read(given.get(one.name, "")) for one in self.controls}

    def shown(self, points: Points, settings: Mapping[str, str | float]) -> Shown:
        """Draw it."""
        from ..figures.theme import sketches
        from .learn_lessons import LESSONS

        if len(points.present) < 2:
            return bare(points)
        with sketches(points.present):
            found = LESSONS[self.name](points, settings)
        python = Template(self.python).substitute(found.names, points=points.python(), frames=FRAMES)
        return replace(found, python=python, command=self._command(points, dict(found.settings)))

    def _command(self, points: Points, settings: dict[str, Any]) -> str:
        model = settings.pop("model", None)
        words = ["discriminant figure", self.figure, "points.csv", "-t", points.target]
        words += [] if model is None else ["--model", str(model)]
        words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        return f"{points.commands()}{' '.join(words)} --rare 1 -o figure.html"


def bare(points: Points) -> Shown:
    """The points alone, if they have fewer than two classes."""
    from ..figures import scatter
    from ..figures.theme import sketches
    from ..report.page import drawing

    with sketches(points.present):
        made = drawing("plane", scatter, points.values, points.y, points.limits, points.columns)
    needed = "Paint points of at least two classes."
    return Shown([made if len(points.present) > 1 else replace(made, explanation=needed)])


_FOUND = tomllib.loads(Path(__file__).with_name("lessons.toml").read_text(encoding="utf-8"))


def _control(given: Mapping[str, Any]) -> Choice:
    """A slider, a choice of models, or another choice."""
    name, label = given["name"], given["label"]
    if "scale" in given:
        form = given.get("form", "{:g}")
        return Choice(name, label, {value: form.format(value) for value in given["scale"]}, given["start"], True)
    models = {model: _FOUND["models"][model] for model in given.get("models", ())}
    return Choice(name, label, given.get("options", models))


def _view(given: Mapping[str, Any]) -> View:
    formulas = [(caption, tex) for caption, tex in given["formulas"]]
    controls = [_control(control) for control in given.get("controls", ())]
    return View(**{**given, "formulas": formulas, "controls": controls})


#: The datasets to start with, by name, and their titles.
PRESETS: Mapping[str, str] = _FOUND["presets"]
VIEWS = {given["name"]: _view(given) for given in _FOUND["views"]}
#: Worked examples of the notes: the lesson that shows each, its points, and settings that are not the defaults.
EXAMPLES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    name: (view, points, settings) for name, (view, points, settings) in _FOUND["examples"].items()
}
