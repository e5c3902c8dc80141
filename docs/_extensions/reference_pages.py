"""The pages of the reference: all public names, collected from ``__all__``."""

from __future__ import annotations

import inspect
from pathlib import Path

import discriminant
from discriminant import datasets, effects, errors, figures, raster, solvers, theory

_MODULES = {
    "Figures": figures,
    "Theory": theory,
    "Effects": effects,
    "Data sets": datasets,
    "Images": raster,
    "Solvers": solvers,
}


def _section(title: str, module: str, names: list[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    head = f"{title}\n{'-' * len(title)}\n\n.. currentmodule:: {module}\n"
    return f"{head}\n.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n"


def write_reference(folder: Path) -> None:
    """Write the index of the reference; autosummary creates a page for each of its names."""
    top = [name for name in discriminant.__all__ if not inspect.ismodule(getattr(discriminant, name))]
    top.remove("__version__")
    classes = [name for name in top if inspect.isclass(getattr(discriminant, name))]
    raised = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)]
    sections = [
        _section("Models and results", "discriminant", classes),
        _section("Functions", "discriminant", [name for name in top if name not in classes]),
        *(
            _section(title, module.__name__, [name for name in module.__all__ if name not in top])
            for title, module in _MODULES.items()
        ),
        _section("Errors and warnings", "discriminant.errors", raised),
    ]
    words = "Reference\n=========\n\nAll public classes and functions, from their docstrings.\n\n"
    folder.mkdir(exist_ok=True)
    (folder / "index.rst").write_text(words + "\n".join(sections), encoding="utf-8")
