"""Start-up: commands on small tables, each in a new process, relative to the import of scikit-learn's linear models."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sklearn.datasets import make_classification

from .measure import Case

ROWS, COLUMNS, ROUNDS = 1_000, 10, 7
_RIVAL = "import sklearn.linear_model"
_FIT = f"""
import numpy as np
import discriminant
X = np.random.default_rng(0).normal(size=({ROWS}, {COLUMNS}))
discriminant.LinearDiscriminantAnalysis().fit(X, X[:, 0] > 0)
"""
#: Largest acceptable times, relative to the import of scikit-learn's linear models.
BARS = {
    "predict": 0.4,
    "predict, by the pool of auto": 0.4,
    "fit --model lda": 1.2,
    "a first fit of LDA in Python": 1.2,
}


def cases() -> Iterator[Case]:
    """None, because every contender is a process."""
    yield from ()


def facts() -> tuple[list[str], list[str]]:
    """The results, and the missed targets."""
    with tempfile.TemporaryDirectory(prefix="discriminant-bench-") as folder:
        table, lda, auto, other = (Path(folder) / name for name in ("table.csv", "lda.dsc", "auto.dsc", "other.dsc"))
        _write_table(table)
        _run(_command("fit", table, "--target", "y", "--model", "lda", "-o", lda))
        _run(_command("fit", table, "--target", "y", "--model", "auto", "-o", auto))
        contenders = {
            _RIVAL: ["-c", _RIVAL],
            "predict": _command("predict", lda, table),
            "predict, by the pool of auto": _command("predict", auto, table),
            "fit --model lda": _command("fit", table, "--target", "y", "--model", "lda", "-o", other, "--overwrite"),
            "a first fit of LDA in Python": ["-c", _FIT],
        }
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(ROUNDS):
            for name, words in contenders.items():
                best[name] = min(best[name], _run(words))
    rival = best.pop(_RIVAL)
    lines = [
        f"Time of a new process on {ROWS:,} x {COLUMNS} with warm caches, best of {ROUNDS} rounds, relative to "
        f"`{_RIVAL}` ({rival:.2f} s):",
        "",
        *(
            f"- {name}: {seconds / rival:.2f} ({seconds:.2f} s); target: at most {BARS[name]}"
            for name, seconds in best.items()
        ),
    ]
    late = {name: seconds / rival for name, seconds in best.items() if seconds / rival > BARS[name]}
    return lines, [f"{name}: {share:.2f}, target at most {BARS[name]}" for name, share in late.items()]


def _write_table(path: Path) -> None:
    X, y = make_classification(ROWS, COLUMNS, flip_y=0.2, random_state=0)
    lines = [",".join([*(f"x{j}" for j in range(COLUMNS)), "y"])]
    lines += [",".join([*map(repr, row.tolist()), "no" if label else "yes"]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def _command(*words: object) -> list[str]:
    return ["-m", "discriminant", *map(str, words)]


def _run(words: Sequence[str]) -> float:
    """Seconds of a process of Python."""
    start = time.perf_counter()
    cached = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=cached)
    return time.perf_counter() - start
