"""The command line on a large CSV: what `fit` takes beside pyarrow's bare reading, and what `predict` needs."""

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
#: `fit` may take this many times as long as pyarrow reads the file, plus the fit itself; `predict` so many megabytes.
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
    """None: the rival here is a sum of two times."""
    yield from ()


def facts() -> tuple[list[str], list[str]]:
    """What was found, and which bars were missed."""
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
        f"A CSV of {ROWS:,} x {COLUMNS} ({size:.0f} MB), each command in a fresh process; medians of {ROUNDS} rounds:",
        "",
        f"- `discriminant fit --model logistic`: {command:.2f} s (best {min(times[0] for times in rounds):.2f} s)",
        f"- pyarrow reads the file in {read:.2f} s (best {min(times[1] for times in rounds):.2f} s), the first fit of "
        f"a process takes {fit:.2f} s: {READINGS} readings and a fit are {allowed:.2f} s",
        f"- `discriminant predict`: {seconds:.2f} s, {resident:.0f} MB resident at most",
        f"- with the default model, a pool of seven tuned families: fit {of_pool:.2f} s, predict {by_pool:.2f} s",
    ]
    missed = [f"MISSED: fit takes {command:.2f} s, the bar is {allowed:.2f} s"] * (command > allowed)
    missed += [f"MISSED: predict takes {resident:.0f} MB, the bar is {RESIDENT} MB"] * (resident > RESIDENT)
    return lines, missed


def write_table(path: Path) -> None:
    """Normal numbers with all their digits, and two classes."""
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
