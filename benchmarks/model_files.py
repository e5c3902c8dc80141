"""Model files of a megabyte that were made to be slow, large or deadly: what reading them takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .measure import Case

#: Whatever a file of a megabyte holds, reading it may take so long, and so many megabytes above the imports.
SECONDS, MEGABYTES = 1.0, 100.0
_TESTS = Path(__file__).resolve().parents[1] / "tests" / "storage"


def cases() -> Iterator[Case]:
    """None: nobody else reads these files."""
    yield from ()


def facts() -> tuple[list[str], list[str]]:
    """What was found, and which bars were missed."""
    sys.path.append(str(_TESTS))
    from hostile_files import hostile_files

    with tempfile.TemporaryDirectory(prefix="discriminant-bench-") as folder:
        for name, content in hostile_files():
            Path(folder, f"{name}.dsc").write_bytes(content)
        command = [sys.executable, str(_TESTS / "load_under_limits.py"), folder, "60", "10000"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    slowest, largest = (max(found, key=lambda one: one[what]) for what in ("seconds", "megabytes"))
    lines = [
        f"{len(found)} hostile files of about a megabyte, each refused or loaded:",
        "",
        f"- at most {slowest['seconds']:.2f} s ({slowest['name']}); the bar is {SECONDS:.0f} s",
        f"- at most {largest['megabytes']:.0f} MB above the imports ({largest['name']}); the bar is {MEGABYTES:.0f} MB",
    ]
    missed = [f"MISSED: {one['name']} takes {one['seconds']:.2f} s" for one in found if one["seconds"] > SECONDS]
    missed += [
        f"MISSED: {one['name']} takes {one['megabytes']:.0f} MB" for one in found if one["megabytes"] > MEGABYTES
    ]
    return lines, missed
