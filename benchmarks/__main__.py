"""``python -m benchmarks``: run every case and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

from . import moments
from .measure import Case, Measured, measure

FAMILIES = {"moments": moments}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.add_argument("--only", default="", help="run only cases whose title contains this; writes no page")
    only = arguments.parse_args().only
    lines, missed = [], []
    for family in FAMILIES.values():
        lines += ["", *_header()]
        for case in family.cases():
            if only in case.title:
                rows, short = _rows(case, measure(case))
                missed += short
                lines += rows
                print("\n".join(rows), flush=True)
        if not only:
            lines += ["", *_memory(family.peak_memory())]
    if not only:
        PAGE.write_text("\n".join([*_preamble(), *lines]) + "\n")
    print("\n".join(["", *missed]) if missed else "\nEvery bar is met.")
    return 0


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
    return rows, missed


def _quality(case: Case, entry: Measured) -> str:
    return "" if entry.quality != entry.quality else f"{case.quality_name} {entry.quality:.4f}"


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
