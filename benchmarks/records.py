"""Stored measurements: families and jobs can be run separately, and the page shows all."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from .measure import LeftOut, Measured, Record


@dataclass
class FamilyRecords:
    """The jobs of a family by title, other measurements of its section as text, and the targets that these miss."""

    records: dict[str, Record] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    missed_facts: list[str] = field(default_factory=list)
    #: Seconds of our own fits by size: panel -> line -> pairs of size and seconds.
    curves: dict[str, dict[str, list[tuple[float, float]]]] = field(default_factory=dict)
    machine: str = ""


def load(path: Path) -> dict[str, FamilyRecords]:
    """The families of a file; none where there is no file."""
    if not path.exists():
        return {}
    return {name: _family(kept) for name, kept in json.loads(path.read_text()).items()}


def save(path: Path, families: dict[str, FamilyRecords]) -> None:
    """Write the families to a file."""
    path.write_text(json.dumps({name: asdict(family) for name, family in families.items()}, indent=1) + "\n")


def this_machine() -> str:
    """Processor, threads, versions of the numerical packages, and load."""
    blas = next(library for library in threadpool_info() if library["user_api"] == "blas")
    names = ", ".join(f"{name} {version(name)}" for name in ("discriminant", "scikit-learn", "numpy"))
    return (
        f"{_processor()}, {blas['num_threads']} threads, {blas['internal_api']} {blas['version']}, "
        f"Python {platform.python_version()}; {names}; load of other work {_load()}"
    )


def _load() -> str:
    """The load average of the last 15 minutes; measurements on a busy machine are unreliable."""
    return f"{os.getloadavg()[2]:.0f}" if hasattr(os, "getloadavg") else "not known"


def _processor() -> str:
    """The name of the processor, from Linux or Python."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _family(kept: dict[str, Any]) -> FamilyRecords:
    records = {title: _record(record) for title, record in kept["records"].items()}
    return FamilyRecords(**{**kept, "records": records})


def _record(kept: dict[str, Any]) -> Record:
    measured, left_out = [Measured(**one) for one in kept["measured"]], [LeftOut(**one) for one in kept["left_out"]]
    return Record(**{**kept, "measured": measured, "left_out": left_out})
