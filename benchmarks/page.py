"""docs/benchmarks.md, written from the stored measurements."""

from __future__ import annotations

from .measure import FASTEST, Measured, Record, Verdict
from .records import FamilyRecords

RATIOS, GROWTH = "benchmarks-ratios.svg", "benchmarks-growth.svg"
_PREAMBLE = """# Benchmarks

This page compares the speed of discriminant with that of other packages; `make bench` writes it. In each job all
packages run in one process on the same data with the same number of threads, in turn, and the best of several rounds
is reported. The speed-up is the time of the other package divided by that of discriminant, at equal quality. Iterative
solvers of other packages have the loosest tolerance, in steps of a factor of 10 from 1e-2, that reaches the stated
objective. Packages that can use two processes are run with one and with two. The target of a job is the smallest
acceptable speed-up. Jobs can be run separately (`python -m benchmarks --only Margins --job digits`), so the
measurements of some families may be older than those of others; the following lines state the machine and the versions
for each family.
"""


def page(families: dict[str, FamilyRecords]) -> str:
    """The page."""
    lines = [_PREAMBLE, *_machines(families), ""]
    lines += [f"![Speed-up of each job over the fastest other package, sorted]({RATIOS})", ""]
    missed = [f"- {line}" for family in families.values() for line in shortfalls(family)]
    lines += ["## Missed targets", "", *(missed or ["None."]), ""]
    for name, family in families.items():
        lines += [f"## {name}", "", *_section(family)]
    return "\n".join(lines).rstrip() + "\n"


def shortfalls(family: FamilyRecords) -> list[str]:
    """The missed targets, with the reason if it is known."""
    found = [
        f"{record.title}, compared with {verdict.name}: speed-up {_times(verdict.ratio)}, target {_times(verdict.bar)}"
        + (". " + record.limit if record.limit else "")
        for record in family.records.values()
        for verdict in record.verdicts
        if verdict.missed
    ]
    return found + family.missed_facts


def rows(record: Record) -> list[str]:
    """The lines of a job in the table."""
    verdicts = {verdict.name: verdict for verdict in record.verdicts}
    lines = [_row(record, entry, verdicts.get(entry.name)) for entry in record.measured]
    fastest = verdicts.get(FASTEST)
    if fastest is not None:
        lines.append(f"| {record.title} | {fastest.name} | | | {_times(fastest.ratio)} | {_bar(fastest)} |")
    return lines


def _machines(families: dict[str, FamilyRecords]) -> list[str]:
    """The machine, or the machine of each family if they differ."""
    machines = {family.machine for family in families.values()}
    if len(machines) == 1:
        return [f"{machines.pop()}."]
    return [f"- {name}: {family.machine}." for name, family in families.items()]


def _section(family: FamilyRecords) -> list[str]:
    lines = []
    if family.records:
        lines += ["| job | package | best time | quality | speed-up | target |", "|---|---|---:|---:|---:|---:|"]
        lines += [line for record in family.records.values() for line in rows(record)] + [""]
    left_out = [
        f"- {record.title}: {rival.name}: {rival.why}"
        for record in family.records.values()
        for rival in record.left_out
    ]
    if left_out:
        lines += ["Excluded packages, with the reason:", "", *left_out, ""]
    if family.curves:
        lines += [f"![Time of a fit by number of rows, columns and classes]({GROWTH})", ""]
    return lines + (["", *family.facts, ""] if family.facts else [])


def _row(record: Record, entry: Measured, verdict: Verdict | None) -> str:
    quality = "" if entry.quality != entry.quality else f"{record.quality_name} {entry.quality:.4g}"
    ratio = "" if verdict is None else _times(verdict.ratio) + (" (at lower quality)" if verdict.worse else "")
    bar = "" if verdict is None else _bar(verdict)
    return f"| {record.title} | {entry.name} | {_time(entry.seconds)} | {quality} | {ratio} | {bar} |"


def _bar(verdict: Verdict) -> str:
    if verdict.bar is None:
        return ""
    return f"{verdict.bar:.2g}x" + (" **missed**" if verdict.missed else "")


def _times(ratio: float | None) -> str:
    return f"{ratio:.2f}x"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
