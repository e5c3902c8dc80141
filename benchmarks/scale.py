"""Files larger than memory: speed of passes, memory of fits, and comparisons with dask-ml and MLlib.

    python -m benchmarks.scale make FOLDER [--rows 14000000]       Parquet files from a fixed seed, 4.5 GB when decoded
    python -m benchmarks.scale pass FOLDER                         passes and decoding to rows, on the same threads
    python -m benchmarks.scale limit FOLDER [--limit 1000000000]   fits under an enforced memory limit
    python -m benchmarks.scale dask FOLDER                         comparison with dask-ml on the same cluster
    python -m benchmarks.scale spark FOLDER [--who mllib]          comparison with MLlib in the same session

Each command prints a line of JSON for each result. Times are the best of several alternating rounds if that is
affordable; CPU seconds are those of this process and its children. The data have two classes, and four in column ``k``.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS, FILE_ROWS, GROUP_ROWS = 40, 500_000, 125_000
NAMES = [f"x{j}" for j in range(COLUMNS)]


def make(folder: Path, rows: int) -> None:
    """Write the files: correlated normal columns, labels by a logistic model and by a softmax."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    folder.mkdir(parents=True, exist_ok=True)
    of_data = np.random.default_rng(0)
    mixing = np.eye(COLUMNS) + 0.1 * of_data.normal(size=(COLUMNS, COLUMNS))
    coef = of_data.normal(size=(4, COLUMNS)) / 4
    for number in range(-(-rows // FILE_ROWS)):
        rng, n = np.random.default_rng([1, number]), min(FILE_ROWS, rows - number * FILE_ROWS)
        X = rng.normal(size=(n, COLUMNS)) @ mixing
        y = X @ coef[0] + rng.logistic(size=n) > 0
        k = np.argmax(X @ coef.T + rng.gumbel(size=(n, 4)), axis=1)
        table = pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"y": y.astype(np.int32), "k": k})
        path = folder / f"{number:04}.parquet"
        parquet.write_table(table, path, row_group_size=GROUP_ROWS, use_dictionary=False, compression="none")


def told(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, CPU seconds of this process and its finished children, and the result."""
    started, cpu = time.perf_counter(), os.times()
    result = work()
    spent = [after - before for before, after in zip(cpu[:4], os.times()[:4], strict=True)]
    return time.perf_counter() - started, sum(spent), result


def passes(folder: Path) -> None:
    """Passes of each kind, and decoding of the same files to row-major blocks, on the same threads."""
    from discriminant import open_dataset
    from discriminant.losses import Logistic
    from discriminant.moments.statistic import ClassMoments
    from discriminant.objective import ElasticNet, Objective

    dataset = open_dataset(folder, target="y", drop=["k"])
    data = dataset.labelled()
    objective = Objective(data, Logistic(), ElasticNet(1e-3))
    theta = np.zeros(objective.shape)
    works: dict[str, Callable[[], Any]] = {
        "decoding to rows": lambda: data.reduce(_Nothing()),
        "moments": lambda: data.reduce(ClassMoments(2, COLUMNS)),
        "gradient": lambda: objective.value_and_gradient(theta),
        "hessian": lambda: objective.value_gradient_hessian(theta),
    }
    for work in works.values():
        work()
    best = dict.fromkeys(works, np.inf)
    for _ in range(3):
        for name, work in works.items():
            best[name] = min(best[name], timed(work)[0])
    size = 8e-9 * dataset.n_rows * COLUMNS
    for name, seconds in best.items():
        told(what=name, seconds=seconds, GB_per_second=size / seconds, share=best["decoding to rows"] / seconds)


class _Nothing:
    """A statistic that ignores the rows."""

    def fresh(self) -> _Nothing:
        return self

    def update(self, block: Any) -> None:
        """Leave the block as it is."""

    def merge(self, other: Any) -> None:
        """Nothing to add."""


def limit(folder: Path, most: int) -> None:
    """Fits and an evaluation under an enforced limit of anonymous memory, with the peak of resident memory."""
    from discriminant import LinearDiscriminantAnalysis, LogisticRegression, evaluate, open_dataset

    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            status = Path("/proc/self/status").read_text()
            peak[0] = max(peak[0], int(status.split("RssAnon:")[1].split()[0]) * 1024)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    binary, many = (open_dataset(folder, target=target, drop=[other]) for target, other in (("y", "k"), ("k", "y")))
    told(what="data", rows=binary.n_rows, decoded_GB=8e-9 * binary.n_rows * COLUMNS, limit=most)
    lasso = LogisticRegression(alpha=0.01, l1_ratio=1.0)
    fits = {
        "lda": (LinearDiscriminantAnalysis(), binary),
        "logistic": (LogisticRegression(alpha=1e-3), binary),
        "multinomial": (LogisticRegression(alpha=1e-3), many),
        "lasso": (lasso, binary),
    }
    for name, (model, dataset) in fits.items():
        peak[0] = 0
        seconds, cpu, _ = timed(lambda model=model, dataset=dataset: model.fit(dataset))
        solution = getattr(model, "solution_", None)
        told(what=name, seconds=seconds, cpu=cpu, peak=peak[0], passes=None if solution is None else solution.passes)
    peak[0] = 0
    seconds, cpu, found = timed(lambda: evaluate(fits["logistic"][0], binary))
    told(what="evaluate", seconds=seconds, cpu=cpu, peak=peak[0], accuracy=found["accuracy"].value)
    done.set()


def against_dask(folder: Path) -> None:
    """Ridge logistic regression on a cluster of two processes, including loading, with the objectives reached."""
    import dask
    import dask.array as da
    import pandas as pd
    from dask_ml.linear_model import LogisticRegression as Rival
    from distributed import Client, LocalCluster

    from discriminant import LogisticRegression, open_dataset

    alpha, files = 1e-3, sorted(glob.glob(str(folder / "*.parquet")))
    ours = open_dataset(folder, target="y", drop=["k"])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:

        def cpu_of_workers() -> float:
            return sum(client.run(lambda: sum(os.times()[:2])).values()) + sum(os.times()[:2])

        def fit_ours() -> Any:
            model = LogisticRegression(alpha=alpha, standardize=False).fit(ours.on(client))
            return model.coef_[0], model.intercept_[0]

        def fit_rival() -> Any:
            read = dask.delayed(pd.read_parquet)
            frames = [read(file, columns=[*NAMES, "y"]) for file in files]
            X = da.concatenate([da.from_delayed(f[NAMES].to_numpy(), (FILE_ROWS, COLUMNS), float) for f in frames])
            y = da.concatenate([da.from_delayed(f["y"].to_numpy(), (FILE_ROWS,), np.int32) for f in frames])
            # Its penalty is lamduh |w|^2 / 2 of the sum of losses, the intercept included.
            rival = Rival(solver="lbfgs", penalty="l2", C=1 / (alpha * ours.n_rows), tol=1e-6, max_iter=100)
            rival.fit(X, y)
            return rival.coef_, rival.intercept_

        for name, work in (("discriminant", fit_ours), ("dask-ml", fit_rival)):
            before = cpu_of_workers()
            seconds, _, (coef, intercept) = timed(work)
            cpu = cpu_of_workers() - before
            told(
                what=name, seconds=seconds, cpu=cpu, objective=_objective(ours, np.ravel(coef), float(intercept), alpha)
            )


def against_spark(folder: Path, targets: str = "yk", who: str = "both") -> None:
    """Ridge logistic regression with two and four classes, in one session of two executors, after a warm-up fit."""
    from pyspark.ml.classification import LogisticRegression as Rival
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    from discriminant import LogisticRegression, open_dataset

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local-cluster[2,1,2048]")
        .config("spark.executor.memory", "2g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    alpha, files = 1e-3, sorted(glob.glob(str(folder / "*.parquet")))

    def fit_rival(target: str, files: list[str]) -> Any:
        frame = VectorAssembler(inputCols=NAMES, outputCol="features").transform(session.read.parquet(*files))
        return Rival(featuresCol="features", labelCol=target, regParam=alpha, tol=1e-8).fit(frame)

    def fit_ours(target: str, files: list[str]) -> Any:
        other = "k" if target == "y" else "y"
        return LogisticRegression(alpha=alpha).fit(open_dataset(files, target=target, drop=[other], executor=session))

    works = {"discriminant": fit_ours, "mllib": fit_rival}
    for target in targets:
        for name, work in works.items():
            if who not in ("both", name):
                continue
            work(target, files[:1])
            before = _cpu_of_tree()
            seconds, _, _ = timed(lambda work=work, target=target: work(target, files))
            told(what=name, target=target, seconds=seconds, cpu=_cpu_of_tree() - before)
    session.stop()


def _cpu_of_tree() -> float:
    """CPU seconds of this process and of all its descendants."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = Path(path).read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.split("/")[2])
        children.setdefault(int(fields[1]), []).append(number)
        used[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        one = waiting.pop()
        total += used.get(one, 0.0)
        waiting += children.get(one, [])
    return total


def _objective(dataset: Any, coef: Any, intercept: float, alpha: float) -> float:
    """The mean loss plus the penalty of the original coefficients, at a point."""
    from discriminant.losses import Logistic
    from discriminant.objective import ElasticNet, Objective, Standardisation

    standard = Standardisation(np.zeros(len(coef)), np.ones(len(coef)))
    objective = Objective(dataset.labelled(), Logistic(), ElasticNet(alpha), standard=standard)
    return objective.value_and_gradient(np.append(coef, intercept)[None])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "pass", "limit", "dask", "spark"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=14_000_000)
    parser.add_argument("--limit", type=int, default=1_000_000_000)
    parser.add_argument("--targets", default="yk", help="y: two classes, k: four (spark)")
    parser.add_argument("--who", choices=["both", "discriminant", "mllib"], default="both", help="(spark)")
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.rows)
    elif given.what == "limit":
        limit(given.folder, given.limit)
    elif given.what == "spark":
        against_spark(given.folder, given.targets, given.who)
    else:
        {"pass": passes, "dask": against_dask}[given.what](given.folder)


if __name__ == "__main__":
    main()
