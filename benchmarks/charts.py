"""The figures of docs/benchmarks.md and docs/quality.md as SVG: speed-ups as bars, growth as lines, and mean ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import numpy as np

from .measure import Record
from .records import FamilyRecords

Points = list[tuple[float, float]]
_MET, _SHORT, _INK, _FAINT = "#2f6f9f", "#c8553d", "#333333", "#dddddd"
_LINES = ("#2f6f9f", "#c8553d", "#5b8c5a", "#8a6fae", "#b08a2e")
#: Height of the row of a bar, width of the titles at the left, width of the bars.
_ROW, _TITLES, _WIDTH = 18, 560, 420
_PANEL, _GAP = 300, 90


def write_ratios(families: dict[str, FamilyRecords], path: Path) -> None:
    """One bar for each job: the speed-up over the fastest competitor, the largest first, and a tick at the target."""
    jobs = [record for family in families.values() for record in family.records.values() if record.verdicts]
    jobs.sort(key=_least_ratio, reverse=True)
    ratios = [_least_ratio(job) for job in jobs]
    low, high = min([0.5, *ratios]) / 1.2, max([2.0, *ratios]) * 1.2

    def across(value: float) -> float:
        return _TITLES + _WIDTH * math.log(value / low) / math.log(high / low)

    height = _ROW * len(jobs) + 50
    parts = [_text(_TITLES, 16, "speed-up over the fastest other package (logarithmic scale); tick: target", size=12)]
    for value in _round_numbers(low, high):
        parts += [_line(across(value), 24, across(value), height - 22, _INK if value == 1 else _FAINT)]
        parts += [_text(across(value), height - 8, f"{value:g}", anchor="middle")]
    for place, job in enumerate(jobs):
        parts += _bar_of(job, 28 + _ROW * place, across)
    _write(path, _TITLES + _WIDTH + 70, height, parts)


def write_growth(families: dict[str, FamilyRecords], path: Path) -> None:
    """A panel for each dimension that grows, with a line for each model and its slope."""
    panels = {title: lines for family in families.values() for title, lines in family.curves.items()}
    parts: list[str] = []
    for place, (title, lines) in enumerate(panels.items()):
        parts += _panel(60 + place * (_PANEL + _GAP), title, lines)
    if panels:
        _write(path, 30 + len(panels) * (_PANEL + _GAP), _PANEL + 170, parts)


def write_ranks(ranks: dict[str, float], difference: float, path: Path) -> None:
    """The mean ranks on an axis; bars join those that differ by less than the critical difference (Demšar 2006)."""
    order = sorted(ranks, key=lambda name: ranks[name])
    first, last = math.floor(ranks[order[0]]), math.ceil(ranks[order[-1]] + 1e-9)

    def across(rank: float) -> float:
        return 30 + _WIDTH * (rank - first) / max(last - first, 1)

    groups: list[tuple[float, float]] = []
    for name in order:
        joined = [ranks[other] for other in order if 0 < ranks[other] - ranks[name] < difference]
        if joined and max(joined) > max((end for _, end in groups), default=0.0):
            groups.append((ranks[name], max(joined)))
    down = 60 + 12 * len(groups)
    height = down + _ROW * len(order) + 10
    parts = [_text(30, 16, f"mean rank of the log-loss; critical difference {difference:.2f}", size=12)]
    parts += [_line(across(first), 42, across(last), 42, _INK)]
    for rank in range(first, last + 1):
        parts += [_line(across(rank), 38, across(rank), 46, _INK), _text(across(rank), 33, str(rank), "middle")]
    for place, (low, high) in enumerate(groups):
        parts.append(_line(across(low) - 3, 54 + 12 * place, across(high) + 3, 54 + 12 * place, _SHORT, 4))
    for place, name in enumerate(order):
        end = down + _ROW * place
        parts += [_line(across(ranks[name]), 42, across(ranks[name]), end, _FAINT)]
        parts += [f'<circle cx="{across(ranks[name]):.1f}" cy="{end}" r="3" fill="{_MET}"/>']
        parts += [_text(across(ranks[name]) + 7, end + 4, f"{name} {ranks[name]:.1f}")]
    _write(path, _WIDTH + 200, height, parts)


def slope(points: Points) -> float:
    """The exponent of the power law by which the second number grows with the first, over the larger half."""
    x, y = np.log(np.array(points[len(points) // 2 :])).T
    return float(np.polyfit(x, y, 1)[0])


def _least_ratio(record: Record) -> float:
    """The speed-up over the fastest competitor that has a target, or over the fastest of all."""
    held = [verdict.ratio for verdict in record.verdicts if verdict.bar is not None]
    return min(held or [verdict.ratio for verdict in record.verdicts])


def _bar_of(job: Record, top: float, across: Callable[[float], float]) -> Iterator[str]:
    missed, ratio = any(verdict.missed for verdict in job.verdicts), _least_ratio(job)
    ends = sorted((across(1.0), across(ratio)))
    title = job.title if len(job.title) <= 92 else job.title[:89] + "..."
    yield _text(_TITLES - 8, top + 11, title, anchor="end")
    colour = _SHORT if missed else _MET
    yield f'<rect x="{ends[0]:.1f}" y="{top}" width="{max(ends[1] - ends[0], 1):.1f}" height="12" fill="{colour}"/>'
    marks = [across(verdict.bar) for verdict in job.verdicts if verdict.bar is not None and verdict.ratio == ratio]
    yield from (_line(at, top - 2, at, top + 14, _INK, 2) for at in marks)
    yield _text(max([ends[1], *marks]) + 5, top + 11, f"{ratio:.2f}")


def _panel(left: float, title: str, lines: dict[str, Points]) -> Iterator[str]:
    """The lines of one dimension that grows, in logarithmic axes."""
    x, y = np.array([point for line in lines.values() for point in line]).T
    bounds = [(values.min() / 1.3, values.max() * 1.3) for values in (x, y)]

    def at(point: tuple[float, float]) -> tuple[float, float]:
        share = [math.log(value / low) / math.log(high / low) for value, (low, high) in zip(point, bounds, strict=True)]
        return left + _PANEL * share[0], 40 + _PANEL * (1 - share[1])

    yield _text(left, 20, title, size=12)
    for value in _round_numbers(*bounds[0]):
        across = at((value, bounds[1][0]))[0]
        yield from (
            _line(across, 40, across, 40 + _PANEL, _FAINT),
            _text(across, 56 + _PANEL, f"{value:,.0f}", "middle"),
        )
    for value in _round_numbers(*bounds[1]):
        down = at((bounds[0][0], value))[1]
        yield from (_line(left, down, left + _PANEL, down, _FAINT), _text(left - 6, down + 4, _seconds(value), "end"))
    for place, (name, points) in enumerate(lines.items()):
        colour, places = _LINES[place % len(_LINES)], [at(point) for point in points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places)
        yield _text(left, 80 + _PANEL + 18 * place, f"{name}: slope {slope(points):.2f}", colour=colour)


def _seconds(value: float) -> str:
    return f"{value:g} s" if value >= 1 else f"{1000 * value:g} ms"


def _round_numbers(low: float, high: float) -> list[float]:
    """Powers of ten within bounds, with 2 and 5 times these if they are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 300 else (1,)
    return [factor * 10.0**k for k in exponents for factor in factors if low <= factor * 10.0**k <= high]


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 11, colour: str = _INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
    )


def _line(x: float, y: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _write(path: Path, width: float, height: float, parts: list[str]) -> None:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    path.write_text("\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n")
