"""``python -m tests.studies [name ...]``: run all studies, or these, and write docs/coverage.md and docs/coverage.json.

A study that is not run keeps the figures it has in docs/coverage.json.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from tests.studies import Found, Task, names, seed, simulate, study

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
WORKERS: Final = 2

HEAD: Final = """# Simulated coverage

How often 95 % confidence intervals cover the true value, and how often tests at the 5 % level reject a true
hypothesis, in simulated samples. `make coverage` repeats all studies and writes this page; `make test-all` repeats a
smaller sample of every study. `docs/coverage.json` has the figures of every setting with its seed.
"""


def stored(found: Found, replications: int) -> dict[str, Any]:
    """The figures of a study as JSON keeps them."""
    settings = [
        {
            "setting": list(task),
            "seed": seed(task),
            "found": {key: round(float(value), 5) for key, value in one.items()},
        }
        for task, one in found.items()
    ]
    return {"replications": replications, "settings": settings}


def as_json(parts: dict[str, Any]) -> str:
    """JSON with a line for each setting."""
    texts = []
    for name, part in parts.items():
        settings = ",\n".join(f"  {json.dumps(one)}" for one in part["settings"])
        head = f' {json.dumps(name)}: {{"replications": {part["replications"]}, "settings": ['
        texts.append(f"{head}\n{settings}\n ]}}")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def restored(part: dict[str, Any]) -> Found:
    """The figures of a study from JSON."""
    return {as_task(one["setting"]): one["found"] for one in part["settings"]}


def as_task(value: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    return tuple(map(as_task, value)) if isinstance(value, list) else value


def page(parts: dict[str, Any]) -> str:
    """All studies as one page of Markdown."""
    lines = [HEAD.rstrip()]
    for name in names():
        if name in parts:
            module, replications = study(name), parts[name]["replications"]
            lines += ["", f"## {module.TITLE}", "", module.TEXT.strip(), ""]
            lines += [f"{replications:,} replications per setting; module `tests/studies/{name}.py`.", ""]
            lines += module.table(restored(parts[name]))
    return "\n".join(lines) + "\n"


def main(wanted: list[str]) -> int:
    """Run studies and write the page; 1 if a figure is out of bounds."""
    target = DOCS / "coverage.json"
    parts = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    outside: list[str] = []
    for name in wanted or names():
        started, module = time.monotonic(), study(name)
        found: dict[Task, Any] = dict(simulate(name, module.REPLICATIONS, WORKERS))
        parts[name] = stored(found, module.REPLICATIONS)
        outside += [f"{name}: {message}" for message in module.check(found, module.REPLICATIONS)]
        print(f"{name}: {len(found)} settings, {time.monotonic() - started:.0f} s", flush=True)
    parts = {name: parts[name] for name in names() if name in parts}
    target.write_text(as_json(parts), encoding="utf-8")
    (DOCS / "coverage.md").write_text(page(parts), encoding="utf-8")
    print("\n".join(outside) or "All figures are within their bounds.")
    return bool(outside)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
