"""Timing on a noisy machine: contenders run in turn, and the best of several rounds counts."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Seconds from which a run needs no warm-up, and total seconds after which runs are not repeated.
_SLOW, _MAX_SECONDS = 4.0, 20.0
#: Name of the fastest of the competitors.
FASTEST = "the fastest of them"


@dataclass(frozen=True)
class Contender:
    """One way to do a job: ``run`` does it, and ``quality`` computes a measure of its result (larger is better)."""

    name: str
    run: Callable[[], Any]
    quality: Callable[[Any], float] = lambda _: float("nan")
    ours: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A competitor that cannot do the job, or not in the allowed time."""

    name: str
    why: str


@dataclass(frozen=True)
class Case:
    """A job and its contenders; ``bars`` are the smallest acceptable speed-ups over named competitors."""

    title: str
    #: Contenders, or a function that creates them with their data.
    contenders: Sequence[Contender | LeftOut] | Callable[[], Sequence[Contender | LeftOut]]
    bars: dict[str, float] = field(default_factory=dict)
    quality_name: str = "accuracy"
    #: Smallest acceptable speed-up over the fastest competitor.
    fastest_bar: float | None = None
    #: The quality of ours may be lower than that of a competitor by this much.
    tolerance: float = 1e-3
    rounds: int = 5
    #: Number of consecutive runs of a fast job.
    repeat: int = 1
    #: Reason for a missed target, if it is known.
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
    """The speed-up over one competitor, or over the fastest of them."""

    name: str
    ratio: float
    bar: float | None
    worse: bool

    @property
    def missed(self) -> bool:
        return self.bar is not None and (self.ratio < self.bar or self.worse)


@dataclass(frozen=True)
class Record:
    """The measurements of a case, as they are stored in a file."""

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
        """One for each competitor, and one for the fastest if it has a target."""
        mine, rivals = self.mine, [entry for entry in self.measured if not entry.ours]
        found = [
            Verdict(
                entry.name, entry.seconds / mine.seconds, self.bars.get(entry.name),
                mine.quality < entry.quality - self.tolerance,
            )
            for entry in rivals
        ]  # fmt: skip
        if self.fastest_bar is not None and found:
            found.append(Verdict(FASTEST, min(one.ratio for one in found), self.fastest_bar, False))
        return found


def measure(case: Case) -> Record:
    """The best time of every contender, after one run that warms up caches."""
    entered = case.contenders() if callable(case.contenders) else case.contenders
    contenders = [entry for entry in entered if isinstance(entry, Contender)]
    best, qualities, spent = list[float](), list[float](), [0.0] * len(contenders)
    for contender in contenders:
        start = time.perf_counter()
        found = contender.run()
        seconds = time.perf_counter() - start
        best.append(seconds if seconds > _SLOW else float("inf"))  # the warm-up is a small part of a slow run
        qualities.append(contender.quality(found))
    for _ in range(case.rounds):
        for i, contender in enumerate(contenders):
            if best[i] == float("inf") or spent[i] + best[i] < _MAX_SECONDS:
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
    """The output of a Python program in a new process: for peak memory and for the first fit."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    return done.stdout.strip()
