"""Simulation studies of the coverage of intervals and the type I error of tests.

Every module of this package is one study. It has

- ``TITLE`` and ``TEXT``: heading and paragraph of docs/coverage.md;
- ``REPLICATIONS`` of the full study (``make coverage``), ``SAMPLE`` of the one that ``make test-all`` repeats;
- ``tasks() -> list[tuple]``: the settings, each a tuple that begins with the name of the study;
- ``run(task, replications) -> dict[str, float]``: the results of one setting;
- ``table(found) -> list[str]``: the results of all settings as lines of Markdown;
- ``check(found, replications) -> list[str]``: the results out of bounds; the page lists them below the table.

The seed of a setting is a function of the setting alone (`seed`): a sample of the same size has the same results until
the library changes. The bounds and criteria are those of docs/coverage.md; they were fixed before the simulations.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType
from typing import Any, Final

import numpy as np

Task = tuple[Any, ...]
Found = Mapping[Task, Mapping[str, float]]

COVERAGE: Final = (0.93, 0.97)
TYPE_I_ERROR: Final = (0.035, 0.065)
#: With at least this number of replications (simulation error of a coverage of 95 %: 0.35 percentage points) the
#: estimate is judged without an allowance.
FULL_REPLICATIONS: Final = 4_000
#: A setting is judged where at least this share of its samples has the interval or the test.
MIN_OFFERED: Final = 0.5


def names() -> list[str]:
    """The studies: all modules of the package that are not private."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def study(name: str) -> ModuleType:
    """The module of a study."""
    return importlib.import_module(f"{__name__}.{name}")


def seed(task: Task) -> int:
    """The seed of a setting, a function of the setting alone."""
    return zlib.crc32(repr(task).encode())


def generator(task: Task) -> np.random.Generator:
    """The random numbers of a setting."""
    return np.random.default_rng(seed(task))


def simulate(name: str, replications: int, workers: int = 1) -> Found:
    """The results of a study in all its settings."""
    module = study(name)
    tasks = module.tasks()
    if workers == 1:
        return {task: module.run(task, replications) for task in tasks}
    with ProcessPoolExecutor(workers) as pool:
        found = pool.map(module.run, tasks, [replications] * len(tasks))
        return dict(zip(tasks, found, strict=True))


def is_within(share: float, bounds: tuple[float, float], replications: int) -> bool:
    """Whether a simulated share is within bounds, widened by two standard errors with fewer than full replications."""
    widened = 0.0 if replications >= FULL_REPLICATIONS else 2.0
    low, high = (
        bound + sign * widened * math.sqrt(bound * (1 - bound) / replications)
        for bound, sign in zip(bounds, (-1, 1), strict=True)
    )
    return low <= share <= high


def header(titles: Iterable[str], n_names: int) -> list[str]:
    """The head of a Markdown table whose first columns are text and whose others are numbers."""
    cells = list(titles)
    return [line(*cells), "|" + "---|" * n_names + "---:|" * (len(cells) - n_names)]


def line(*cells: str | float) -> str:
    """A line of a Markdown table; shares have three digits."""
    return "| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.3f}" for cell in cells) + " |"
