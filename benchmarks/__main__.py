"""``python -m benchmarks``: run every case and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from . import evaluation, logistic, margins, model_files, moments, raster, starting, tables
from .measure import Case, Measured, measure

FAMILIES: dict[str, Any] = {
    "Moment models": moments,
    "Logistic regression": logistic,
    "Margins": margins,
    "Evaluation": evaluation,
    "Images": raster,
    "Tables": tables,
    "Model files": model_files,
    "Starting up": starting,
}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.add_argument("--only", choices=list(FAMILIES), help="run only this family; writes no page")
    only = arguments.parse_args().only
    lines, missed = [], []
    for name, family in FAMILIES.items() if only is None else [(only, FAMILIES[only])]:
        lines += ["", f"## {name}", ""]
        for place, case in enumerate(family.cases()):
            rows, short = _rows(case, measure(case))
            missed += short
            lines += [*(_header() if place == 0 else ()), *rows]
            print("\n".join(rows), flush=True)
        further, short = _further(family)
        missed += short
        lines += ["", *further]
    if only is None:
        PAGE.write_text("\n".join([*_preamble(), *lines]) + "\n")
    print("\n".join(["", *missed]) if missed else "\nEvery bar is met.")
    return int(bool(missed))


def _further(family: Any) -> tuple[list[str], list[str]]:
    """Memory, first fits and other facts, where a family measures them, and the bars they miss."""
    lines = _memory(family.peak_memory()) if hasattr(family, "peak_memory") else []
    if hasattr(family, "first_fit"):
        lines += ["", "From the start of a process to its first fit and prediction (1,000 x 5):", ""]
        lines += [f"- {when}: {seconds:.2f} s" for when, seconds in family.first_fit()]
    if hasattr(family, "resident_memory"):
        lines += ["Most resident memory of a process that makes the whole map:", ""]
        lines += [f"- {name}: {megabytes:.0f} MB" for name, megabytes in family.resident_memory()]
    facts, missed = family.facts() if hasattr(family, "facts") else ([], [])
    lines += facts
    print("\n".join(lines), flush=True)
    return lines, missed


def _header() -> list[str]:
    return ["| job | who | best time | quality | ours is faster by | bar |", "|---|---|---:|---:|---:|---:|"]


def _rows(case: Case, measured: list[Measured]) -> tuple[list[str], list[str]]:
    mine = next(entry for entry in measured if entry.contender.ours)
    rows, missed = [], []
    for entry in measured:
        name, bar = entry.contender.name, case.bars.get(entry.contender.name)
        ratio = entry.seconds / mine.seconds
        worse = mine.quality < entry.quality - case.tolerance
        verdict = "" if entry is mine else f"{ratio:.2f}x" + (" (at lower quality)" if worse else "")
        wanted = "" if bar is None else f"{bar:.2g}x"
        rows.append(
            f"| {case.title} | {name} | {_time(entry.seconds)} | {_quality(case, entry)} | {verdict} | {wanted} |"
        )
        if bar is not None and (ratio < bar or worse):
            missed.append(f"MISSED: {case.title} against {name}: {ratio:.2f}x, bar {bar:.2f}x")
    if case.fastest_bar is not None:
        ratio = min(entry.seconds for entry in measured if entry is not mine) / mine.seconds
        rows.append(f"| {case.title} | the fastest of them | | | {ratio:.2f}x | {case.fastest_bar:.2g}x |")
        if ratio < case.fastest_bar:
            missed.append(f"MISSED: {case.title} against the fastest: {ratio:.2f}x, bar {case.fastest_bar:.2f}x")
    return rows, missed


def _quality(case: Case, entry: Measured) -> str:
    return "" if entry.quality != entry.quality else f"{case.quality_name} {entry.quality:.4g}"


def _time(seconds: float) -> str:
    return (
        f"{seconds * 1e6:.0f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.1f} ms"
        if seconds < 1
        else f"{seconds:.2f} s"
    )


def _memory(peaks: Iterable[tuple[str, str, float]]) -> list[str]:
    lines = [
        "Peak memory of a fit above the input, 500,000 x 50, 10 classes:",
        "",
        "| model | input | MB |",
        "|---|---|---:|",
    ]
    return lines + [f"| {model} | {dtype} | {megabytes:.1f} |" for model, dtype, megabytes in peaks]


def _preamble() -> list[str]:
    blas = threadpool_info()[0]
    names = ", ".join(f"{name} {version(name)}" for name in ("discriminant", "scikit-learn", "numpy", "numba"))
    return [
        "# Benchmarks",
        "",
        "Written by `make bench`. All contenders run in one process on the same data with the same threads, taking",
        "turns; the best of several rounds counts. A ratio is another's time divided by ours, at equal quality.",
        "",
        f"{platform.processor() or platform.machine()}, {blas['num_threads']} threads, {blas['internal_api']} "
        f"{blas['version']}, Python {platform.python_version()}; {names}.",
    ]


if __name__ == "__main__":
    sys.exit(main())
