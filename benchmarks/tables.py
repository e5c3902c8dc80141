"""The command line on a large CSV file: time of `fit` compared with pyarrow's reading, and memory of `predict`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Case, in_fresh_process

ROWS, COLUMNS, ROUNDS = 1_000_000, 30, 7
#: Targets: the time of `fit` in readings of the file by pyarrow, besides the fit itself, and the MB of `predict`.
READINGS, RESIDENT = 2, 400

_READ = """
import sys, time
import pyarrow.csv
start = time.perf_counter()
pyarrow.csv.read_csv(sys.argv[1])
print(time.perf_counter() - start)
"""
_FIT = """
import sys, time
import pyarrow.csv
import discriminant as ours
data = pyarrow.csv.read_csv(sys.argv[1]).to_pandas()
X, y, model = data.drop(columns="y").to_numpy(), data["y"].to_numpy(str), ours.LogisticRegression()
start = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - start)
"""
_RESIDENT = """
from discriminant.cli import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def cases() -> Iterator[Case]:
    """None, because the reference is a sum of two times."""
    yield from ()


def facts() -> tuple[list[str], list[str]]:
    """The results, and the missed targets."""
    with tempfile.TemporaryDirectory(prefix="discriminant-bench-") as folder:
        table, model, answers = (Path(folder) / name for name in ("table.csv", "model.dsc", "answers.parquet"))
        write_table(table)
        rounds = []
        for _ in range(ROUNDS):
            rounds.append(
                (
                    _command("fit", table, "--target", "y", "--model", "logistic", "-o", model, "--overwrite"),
                    float(in_fresh_process(_READ, arguments=[str(table)])),
                    float(in_fresh_process(_FIT, arguments=[str(table)])),
                )
            )
        seconds = _command("predict", model, table, "-o", answers, "--overwrite")
        words = ["predict", str(model), str(table), "-o", str(answers), "--overwrite"]
        resident = int(in_fresh_process(_RESIDENT, words).split()[-1]) / 1024
        of_pool = _command("fit", table, "--target", "y", "-o", model, "--overwrite")
        by_pool = _command("predict", model, table, "-o", answers, "--overwrite")
        size = table.stat().st_size / 1e6
    command, read, fit = (statistics.median(times) for times in zip(*rounds, strict=True))
    allowed = READINGS * read + fit
    lines = [
        f"CSV file of {ROWS:,} x {COLUMNS} ({size:.0f} MB), each command in a new process; medians of {ROUNDS} rounds:",
        "",
        f"- `discriminant fit --model logistic`: {command:.2f} s (best {min(times[0] for times in rounds):.2f} s); "
        f"target: at most {allowed:.2f} s, the time of {READINGS} readings by pyarrow and a fit",
        f"- one reading by pyarrow: {read:.2f} s (best {min(times[1] for times in rounds):.2f} s); the first fit of a "
        f"process: {fit:.2f} s",
        f"- `discriminant predict`: {seconds:.2f} s, peak resident memory {resident:.0f} MB",
        f"- the default model, an average of seven tuned families: fit {of_pool:.2f} s, predict {by_pool:.2f} s",
    ]
    missed = [f"fit: {command:.2f} s, target at most {allowed:.2f} s"] * (command > allowed)
    missed += [f"predict: {resident:.0f} MB, target at most {RESIDENT} MB"] * (resident > RESIDENT)
    return lines, missed


def write_table(path: Path) -> None:
    """Normal columns with 17 significant digits, and two classes."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((ROWS, COLUMNS)), rng.standard_normal(COLUMNS) / 3
    y = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-(X @ coef - 0.3))), "yes", "no")
    columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(COLUMNS)}
    arrow_csv.write_csv(pa.table({**columns, "y": pa.array(y)}), path)


def _command(*words: Any) -> float:
    """Seconds of a command."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "discriminant", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
