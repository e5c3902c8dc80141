"""``python -m benchmarks``: run all or some jobs, and write docs/benchmarks.md from all stored measurements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from . import (
    charts,
    evaluation,
    growth,
    live_map,
    logistic,
    margins,
    model_files,
    moments,
    page,
    paths,
    probes,
    raster,
    records,
    risk_models,
    starting,
    studio,
    tables,
)
from .measure import measure
from .records import FamilyRecords

FAMILIES: dict[str, Any] = {
    "Moment models": moments,
    "Logistic regression": logistic,
    "Linear probes": probes,
    "Paths and cross-validation": paths,
    "Margins": margins,
    "Evaluation": evaluation,
    "Risk models": risk_models,
    "Images": raster,
    "Live map of the studio": live_map,
    "Tables": tables,
    "Model files": model_files,
    "Starting up": starting,
    "Studio": studio,
    "Growth": growth,
}
DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, KEPT = DOCS / "benchmarks.md", DOCS / "benchmarks.json"
#: The name by which --job requests measurements other than cases: memory, first fits, growth.
FACTS = "facts"


def main() -> int:
    asked = _asked()
    kept = records.load(KEPT)
    for name in asked.only or FAMILIES:
        _run(name, kept, asked.job, asked.resume)
    families = {name: kept[name] for name in FAMILIES if name in kept}
    PAGE.write_text(page.page(families))
    charts.write_ratios(families, DOCS / page.RATIOS)
    charts.write_growth(families, DOCS / page.GROWTH)
    missed = [line for family in families.values() for line in page.shortfalls(family)]
    print("\n".join(["", *(f"MISSED: {line}" for line in missed)]) if missed else "\nAll targets are met.")
    return int(bool(missed))


def _asked() -> Any:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.add_argument("--only", action="append", choices=list(FAMILIES), help="only this family; repeatable")
    arguments.add_argument("--job", help=f"only jobs whose title contains this text; '{FACTS}': other measurements")
    arguments.add_argument("--resume", action="store_true", help="only jobs that have not been measured")
    return arguments.parse_args()


def _run(name: str, kept: dict[str, FamilyRecords], wanted: str | None, resume: bool) -> None:
    """Measure a family, or some of its jobs; every result is stored at once."""
    family, module = kept.setdefault(name, FamilyRecords()), FAMILIES[name]
    titles = []
    for case in module.cases():
        titles.append(case.title)
        if (wanted and wanted not in case.title) or (resume and case.title in family.records):
            continue
        family.records[case.title] = record = measure(case)
        print("\n".join([*page.rows(record), *(f"  left out: {one.name}: {one.why}" for one in record.left_out)]))
        _keep(kept, family)
    family.records = {title: family.records[title] for title in titles if title in family.records}
    if wanted in (None, FACTS) and not (resume and (family.facts or family.curves)):
        family.curves = module.curves() if hasattr(module, "curves") else {}
        family.facts, family.missed_facts = module.facts() if hasattr(module, "facts") else ([], [])
        print("\n".join(family.facts), flush=True)
        _keep(kept, family)
    records.save(KEPT, kept)


def _keep(kept: dict[str, FamilyRecords], family: FamilyRecords) -> None:
    family.machine = records.this_machine()
    records.save(KEPT, kept)


if __name__ == "__main__":
    sys.exit(main())
