"""The public names of the package and the options of its commands, a line each: ``python tests/public_names.py``.

The lines stand in public_names.txt; test_package.py compares. A change of the file shows in review what users have to
change, and belongs into CHANGELOG.md.
"""

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

import discriminant
from discriminant import datasets, effects, figures, raster, solvers, theory
from discriminant.cli import app

LIST = Path(__file__).with_name("public_names.txt")


def parameters(thing: Any) -> str:
    """Names of the parameters of a function or of a class's constructor."""
    try:
        return f"({', '.join(name for name in inspect.signature(thing).parameters if name != 'self')})"
    except ValueError:
        return ""


def members(kind: type) -> Iterator[str]:
    """Public methods with their parameters, properties and fields of a class of ours."""
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for name in sorted(fields | set(dir(kind))):
        member = inspect.getattr_static(kind, name, None)
        function = getattr(member, "__func__", member)
        if name.startswith("_"):
            continue
        if inspect.isfunction(function) and function.__module__.startswith("discriminant"):
            yield f".{name}{parameters(function)}"
        elif name in fields or isinstance(member, property):
            yield f".{name}"


def names() -> Iterator[str]:
    """Everything that can be imported by users."""
    for module in (discriminant, datasets, effects, figures, raster, solvers, theory):
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            address = f"{module.__name__}.{name}"
            yield address + (parameters(thing) if callable(thing) else "")
            if inspect.isclass(thing):
                yield from (address + member for member in members(thing))


def commands(command: Any, path: str) -> Iterator[str]:
    """A command of the command line with its arguments and options, and its subcommands."""
    for parameter in command.params:
        kind = " ".join(sorted(parameter.opts)) if parameter.param_type_name == "option" else parameter.name.upper()
        yield f"{path} {kind}"
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from commands(inner, f"{path} {name}")


def listed() -> str:
    """All lines."""
    return "\n".join([*names(), *commands(typer.main.get_command(app), "$ discriminant")]) + "\n"


if __name__ == "__main__":
    LIST.write_text(listed(), encoding="utf-8")
