"""docs/benchmarks.md, from what has been measured."""

from __future__ import annotations

from .measure import Measured, Record, Verdict
from .records import FamilyRecords

RATIOS, GROWTH = "benchmarks-ratios.svg", "benchmarks-growth.svg"
_PREAMBLE = """# Benchmarks

Written by `make bench`. All contenders run in one process on the same data with the same threads, taking turns; the
best of several rounds counts. A ratio is another's time divided by ours, at equal quality. Rivals that solve to a
tolerance have the loosest one, in steps of 10 from 1e-2, that reaches the stated objective; rivals that can use two
processes are run with one and with two. Families and jobs can be run one by one (`python -m benchmarks --only Margins
--job digits`); the page shows the last measurement of each, some of
them of an earlier state of the package, as their machine's line says.
"""


def page(families: dict[str, FamilyRecords]) -> str:
    """The page."""
    lines = [_PREAMBLE, *_machines(families), ""]
    lines += [f"![Each job's time of the fastest rival over ours, sorted]({RATIOS})", ""]
    missed = [f"- {line}" for family in families.values() for line in shortfalls(family)]
    lines += ["## Bars that are missed", "", *(missed or ["None."]), ""]
    for name, family in families.items():
        lines += [f"## {name}", "", *_section(family)]
    return "\n".join(lines).rstrip() + "\n"


def shortfalls(family: FamilyRecords) -> list[str]:
    """The bars that are missed, and why they cannot be reached where that is known."""
    found = [
        f"{record.title}, against {verdict.name}: {_times(verdict.ratio)}, bar {_times(verdict.bar)}"
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
    fastest = verdicts.get("the fastest of them")
    if fastest is not None:
        lines.append(f"| {record.title} | {fastest.name} | | | {_times(fastest.ratio)} | {_bar(fastest)} |")
    return lines


def _machines(families: dict[str, FamilyRecords]) -> list[str]:
    """The machine, or those of each family where they differ."""
    machines = {family.machine for family in families.values()}
    if len(machines) == 1:
        return [f"{machines.pop()}."]
    return [f"- {name}: {family.machine}." for name, family in families.items()]


def _section(family: FamilyRecords) -> list[str]:
    lines = []
    if family.records:
        lines += ["| job | who | best time | quality | ours is faster by | bar |", "|---|---|---:|---:|---:|---:|"]
        lines += [line for record in family.records.values() for line in rows(record)] + [""]
    left_out = [
        f"- {record.title}: {rival.name}: {rival.why}"
        for record in family.records.values()
        for rival in record.left_out
    ]
    if left_out:
        lines += ["Left out:", "", *left_out, ""]
    if family.curves:
        lines += [f"![Seconds of our fits against rows, columns and classes]({GROWTH})", ""]
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
