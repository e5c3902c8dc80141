"""Time and memory of reading hostile model files of one megabyte."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .measure import Case

#: Targets for reading any file of one megabyte: seconds, and megabytes in addition to the imports.
SECONDS, MEGABYTES = 1.0, 100.0
_TESTS = Path(__file__).resolve().parents[1] / "tests" / "storage"


def cases() -> Iterator[Case]:
    """None, because other packages do not read these files."""
    yield from ()


def facts() -> tuple[list[str], list[str]]:
    """The results, and the missed targets."""
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
        f"- slowest: {slowest['seconds']:.2f} s ({slowest['name']}); target: at most {SECONDS:.0f} s",
        f"- largest: {largest['megabytes']:.0f} MB in addition to the imports ({largest['name']}); target: at most "
        f"{MEGABYTES:.0f} MB",
    ]
    missed = [f"{one['name']}: {one['seconds']:.2f} s" for one in found if one["seconds"] > SECONDS]
    missed += [f"{one['name']}: {one['megabytes']:.0f} MB" for one in found if one["megabytes"] > MEGABYTES]
    return lines, missed
