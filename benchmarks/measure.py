"""Timing that survives a noisy machine: contenders take turns, and the best of several rounds counts."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: A run that takes so long need not be warmed up, and is not repeated beyond this many seconds.
_SLOW, _MOST_SECONDS = 4.0, 20.0


@dataclass(frozen=True)
class Contender:
    """One way to do a job. ``run`` does it; ``quality`` reads a figure from what it returns (larger is better)."""

    name: str
    run: Callable[[], Any]
    quality: Callable[[Any], float] = lambda _: float("nan")
    ours: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A rival that cannot do the job, or not in time."""

    name: str
    why: str


@dataclass(frozen=True)
class Case:
    """A job and who does it; ``bars`` says how many times faster than a named rival ours has to be."""

    title: str
    #: Or a function that makes them, and their data, when their turn comes.
    contenders: Sequence[Contender | LeftOut] | Callable[[], Sequence[Contender | LeftOut]]
    bars: dict[str, float] = field(default_factory=dict)
    quality_name: str = "accuracy"
    #: How many times faster than the fastest rival ours has to be.
    fastest_bar: float | None = None
    #: A rival counts only if ours reaches its quality to within this much.
    tolerance: float = 1e-3
    rounds: int = 5
    #: Fast jobs are run this many times in a row.
    repeat: int = 1
    #: Why a bar that is missed cannot be reached, if it is known.
    limit: str = ""


@dataclass(frozen=True)
class Measured:
    """The best time of a contender and the quality it reached."""

    name: str
    seconds: float
    quality: float
    ours: bool


@dataclass(frozen=True)
class Verdict:
    """How ours did against one rival, or against the fastest of them."""

    name: str
    ratio: float
    bar: float | None
    worse: bool

    @property
    def missed(self) -> bool:
        return self.bar is not None and (self.ratio < self.bar or self.worse)


@dataclass(frozen=True)
class Record:
    """What was measured of a case, as it is kept in a file."""

    title: str
    measured: list[Measured]
    left_out: list[LeftOut]
    bars: dict[str, float]
    fastest_bar: float | None
    quality_name: str
    tolerance: float
    limit: str

    @property
    def mine(self) -> Measured:
        return next(entry for entry in self.measured if entry.ours)

    @property
    def verdicts(self) -> list[Verdict]:
        """One for each rival, and one for the fastest where it has a bar."""
        mine, rivals = self.mine, [entry for entry in self.measured if not entry.ours]
        found = [
            Verdict(
                entry.name, entry.seconds / mine.seconds, self.bars.get(entry.name),
                mine.quality < entry.quality - self.tolerance,
            )
            for entry in rivals
        ]  # fmt: skip
        if self.fastest_bar is not None and found:
            found.append(Verdict("the fastest of them", min(one.ratio for one in found), self.fastest_bar, False))
        return found


def measure(case: Case) -> Record:
    """Every contender's best time, after one run to warm up caches and compilers."""
    entered = case.contenders() if callable(case.contenders) else case.contenders
    contenders = [entry for entry in entered if isinstance(entry, Contender)]
    best, qualities, spent = list[float](), list[float](), [0.0] * len(contenders)
    for contender in contenders:
        start = time.perf_counter()
        found = contender.run()
        seconds = time.perf_counter() - start
        best.append(seconds if seconds > _SLOW else float("inf"))  # where warming up is little of it
        qualities.append(contender.quality(found))
    for _ in range(case.rounds):
        for i, contender in enumerate(contenders):
            if best[i] == float("inf") or spent[i] + best[i] < _MOST_SECONDS:
                seconds = _seconds(contender.run, case.repeat)
                best[i], spent[i] = min(best[i], seconds), spent[i] + seconds
    measured = [
        Measured(contender.name, seconds, quality, contender.ours)
        for contender, seconds, quality in zip(contenders, best, qualities, strict=True)
    ]
    left_out = [entry for entry in entered if isinstance(entry, LeftOut)]
    return Record(
        case.title, measured, left_out, case.bars, case.fastest_bar, case.quality_name, case.tolerance, case.limit
    )


def seconds_of(run: Callable[[], Any], rounds: int = 1) -> float:
    """The best of some runs, after one to warm up."""
    run()
    return min(_seconds(run, 1) for _ in range(rounds))


def _seconds(run: Callable[[], Any], repeat: int) -> float:
    gc.collect()
    time.sleep(0.1)  # BLAS threads of the contender before spin for a while, and would slow this one down
    start = time.perf_counter()
    for _ in range(repeat):
        run()
    return (time.perf_counter() - start) / repeat


def in_fresh_process(code: str, arguments: Sequence[str] = (), **environment: str) -> str:
    """What a Python program prints, run by itself: for peak memory and for the very first fit."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    return done.stdout.strip()
