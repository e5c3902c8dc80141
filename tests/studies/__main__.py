"""``python -m tests.studies [name ...]``: run all studies, or these, and write docs/coverage.md and docs/coverage.json.

A study that is not run keeps its results in docs/coverage.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.studies import Found, names, seed, simulate, study

from discriminant.results import unbroken

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
WORKERS: Final = 2

HEAD: Final = """# Simulated coverage

This page reports the simulated coverage of 95 % confidence intervals and the type I error of tests at the 5 % level.
`make coverage` repeats all studies and writes this page. `docs/coverage.json` contains the results of every setting
with its seed, and those of the smaller studies that `make test-all` repeats: with the same seeds their results change
only if the library changes.

## Criteria

- A 95 % confidence interval must cover the true value in 93 % to 97 % of the samples of a setting, and a test at the
  5 % level must reject a true hypothesis in 3.5 % to 6.5 % of them. Conservative intervals and tests also violate these
  bounds.
- With 4,000 replications (standard error of the simulation at most 0.35 percentage points) the estimate is compared
  with the bounds directly. Studies with fewer replications have an allowance of two standard errors of the simulation.
- If a study is outside the bounds, the library is changed: the interval or test is corrected, refused for such data, or
  reported as a *range*, which has no stated coverage and is printed with the reason. Results refer to the samples with
  a confidence interval; a setting is evaluated if at least half of its samples have one.
- Proportions and other measures of a table of counts have few possible values. Coverage then oscillates with the true
  value, and no interval without randomisation is within both bounds everywhere (Brown, Cai and DasGupta 2001). The
  criterion is the mean coverage over a fine grid of true values; minimum and maximum are also reported.
- Results outside the bounds are listed below their table, with the reason in the text.
- Constants of the library are evaluated in other settings than those in which they were chosen.

Brown, L. D., Cai, T. T. and DasGupta, A. (2001). Interval estimation for a binomial proportion. *Statistical Science*
16, 101-133.
"""


def stored(found: Found, replications: int, sample: Found, sample_replications: int) -> dict[str, Any]:
    """The results of a study, and those of its sample, as they are stored in JSON."""
    settings = [
        {"setting": list(task), "seed": seed(task), "found": rounded(one), "sample": rounded(sample[task])}
        for task, one in found.items()
    ]
    return {"replications": replications, "sample": sample_replications, "settings": settings}


def rounded(one: Mapping[str, float]) -> dict[str, float]:
    """Results with five digits."""
    return {key: round(float(value), 5) for key, value in one.items()}


def as_json(parts: dict[str, Any]) -> str:
    """JSON with a line for each setting."""
    texts = []
    for name, part in parts.items():
        settings = ",\n".join(f"  {json.dumps(one)}" for one in part["settings"])
        counts = f'"replications": {part["replications"]}, "sample": {part["sample"]}'
        texts.append(f' {json.dumps(name)}: {{{counts}, "settings": [\n{settings}\n ]}}')
    return "{\n" + ",\n".join(texts) + "\n}\n"


def restored(part: dict[str, Any], which: str = "found") -> Found:
    """The results of a study from JSON, or those of its sample."""
    return {as_task(one["setting"]): one[which] for one in part["settings"]}


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
            outside = module.check(restored(parts[name]), replications)
            lines += ["", "Outside the bounds:", "", *(f"- {message}" for message in outside)] if outside else []
    return unbroken("\n".join(lines)) + "\n"


def write(name: str, part: dict[str, Any]) -> None:
    """Write the results of a study, with those of the other studies, and the page."""
    target = DOCS / "coverage.json"
    parts = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    parts = {one: part if one == name else parts[one] for one in names() if one == name or one in parts}
    target.write_text(as_json(parts), encoding="utf-8")
    (DOCS / "coverage.md").write_text(page(parts), encoding="utf-8")


def main(wanted: list[str]) -> int:
    """Run studies and write the page; 1 if a result is out of bounds."""
    outside: list[str] = []
    for name in wanted or names():
        started, module = time.monotonic(), study(name)
        found = simulate(name, module.REPLICATIONS, WORKERS)
        sample = simulate(name, module.SAMPLE, WORKERS)
        write(name, stored(found, module.REPLICATIONS, sample, module.SAMPLE))
        outside += [f"{name}: {message}" for message in module.check(found, module.REPLICATIONS)]
        print(f"{name}: {len(found)} settings, {time.monotonic() - started:.0f} s", flush=True)
    print("\n".join(outside) or "All results are within their bounds.")
    return bool(outside)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
