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


@dataclass(frozen=True)
class Contender:
    """One way to do a job. ``run`` does it; ``quality`` reads a figure from what it returns (larger is better)."""

    name: str
    run: Callable[[], Any]
    quality: Callable[[Any], float] = lambda _: float("nan")
    ours: bool = False


@dataclass(frozen=True)
class Case:
    """A job and who does it; ``bars`` says how many times faster than a named rival ours has to be."""

    title: str
    contenders: list[Contender]
    bars: dict[str, float] = field(default_factory=dict)
    quality_name: str = "accuracy"
    #: How many times faster than the fastest rival ours has to be.
    fastest_bar: float | None = None
    #: A rival counts only if ours reaches its quality to within this much.
    tolerance: float = 1e-3
    rounds: int = 5
    #: Fast jobs are run this many times in a row.
    repeat: int = 1


@dataclass(frozen=True)
class Measured:
    """The best time of a contender and the quality it reached."""

    contender: Contender
    seconds: float
    quality: float


def measure(case: Case) -> list[Measured]:
    """Every contender's best time, after one run to warm up caches and compilers."""
    qualities = [contender.quality(contender.run()) for contender in case.contenders]
    best = [float("inf")] * len(case.contenders)
    for _ in range(case.rounds):
        for i, contender in enumerate(case.contenders):
            best[i] = min(best[i], _seconds(contender.run, case.repeat))
    return [Measured(*entry) for entry in zip(case.contenders, best, qualities, strict=True)]


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
