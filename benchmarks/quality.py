"""``python -m benchmarks.quality FOLDER``: predictive performance of default models on the tables of a folder.

Every CSV file of the folder is a table whose last column, or column ``target``, is the class; without a folder the
tables are those of scikit-learn and statsmodels and the computed ones of ``benchmarks.rule_tables``. All contenders are
fitted to the same stratified folds, and tune on the training rows only. Results are
stored beside the page as JSON; a run computes only those that are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import studentized_range
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import discriminant as ours
from discriminant.estimators.registry import coding_for, new_model
from discriminant.results import percent, unbroken
from discriminant.validation.default_models import default_models

from . import rule_tables
from .charts import write_ranks

Array = np.ndarray[Any, Any]
#: The classes, and the probabilities of the new rows.
Answer = tuple[Array, Array]
#: One result: log_loss, accuracy, ece, least (smallest probability of a true class), seconds, and failures.
Found = dict[str, Any]

#: Tables of scikit-learn, and of statsmodels with the column of the class.
BUNDLED = ("iris", "wine", "breast_cancer")
STATSMODELS = {"spector": "GRADE", "anes96": "PID", "fair": "affairs"}
RULES = {f"{kind}{make.__name__}": (kind, make) for make in rule_tables.TABLES for kind in ("", "noisy_")}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "quality.md"
FOLDS = 5
#: Smaller losses are replaced by this one in ratios, because their ratios have no practical importance.
FLOOR = 0.02
#: Smaller relative differences of losses are ties.
TIE = 0.02
_BINS = 15
#: Bags of the explainable boosting machine: its default of 14 takes minutes for each fit.
EBM_BAGS = 4
REFERENCE, BOOSTING, LASSO = "scikit-learn ridge", "boosting", "lasso as glmnet"


def scikit_learn_columns() -> Any:
    """Standardised numbers with the median for missing ones, and a column for each level."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    levels = make_pipeline(SimpleImputer(strategy="constant", fill_value="(missing)"), levels)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include=("number", "bool"))),
        (levels, make_column_selector(dtype_exclude=("number", "bool"))),
    )


def scikit_learn_ridge(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    model = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=2000, n_jobs=_threads())
    return _by_pipeline(model, train, y, new)


def boosting(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    return _by_pipeline(HistGradientBoostingClassifier(random_state=0), train, y, new)


def random_forest(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    model = RandomForestClassifier(500, min_samples_leaf=2, random_state=0, n_jobs=_threads())
    return _by_pipeline(model, train, y, new)


def light_gbm(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    from lightgbm import LGBMClassifier  # an optional competitor

    return _by_pipeline(LGBMClassifier(n_jobs=_threads(), random_state=0, verbose=-1), train, y, new)


def cat_boost(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    from catboost import CatBoostClassifier  # an optional competitor

    model = CatBoostClassifier(thread_count=_threads(), random_seed=0, verbose=False, allow_writing_files=False)
    return _by_pipeline(model, train, y, new)


def ebm(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    """InterpretML's explainable boosting machine, which codes levels and missing values itself."""
    from interpret.glassbox import ExplainableBoostingClassifier  # an optional competitor

    model = ExplainableBoostingClassifier(outer_bags=EBM_BAGS, n_jobs=_threads(), random_state=0).fit(train, y)
    return model.classes_, model.predict_proba(new)


def _by_pipeline(model: Any, train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    fitted = make_pipeline(scikit_learn_columns(), model).fit(train, y)
    return fitted.classes_, fitted.predict_proba(new)


def lasso_as_glmnet(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    """glmnet's defaults by our solver: 100 strengths down to 1e-4 (1e-2 if p > n) of the largest, 10 folds, lambda.min.

    The objective is that of glmnet. Columns are those of the scikit-learn pipeline, all standardised.
    """
    columns = scikit_learn_columns()
    X = np.asarray(columns.fit_transform(train), dtype=float)
    varies = X.std(axis=0) > 0
    least = 1e-4 if len(X) > X.shape[1] else 1e-2
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    model = ours.LogisticRegressionCV(n_alphas=100, ratio=least, l1_ratio=1.0, cv=folds)
    model.fit(X[:, varies], y)
    return model.classes_, model.predict_proba(np.asarray(columns.transform(new), dtype=float)[:, varies])


def our_model(name: str, train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    """The predictions of a model by its name, as ``discriminant fit --model`` fits it."""
    training = ours.read_training(train.assign(target=y), "target", coding=coding_for(name, {}))
    model = new_model(name, training.schema).fit(training.rows, training.y)
    coded, _ = training.schema.encode_batch(new)
    return model.classes_, model.predict_proba(training.schema.rows(coded))


def our_auto(families: list[str] | None, train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    model = ours.AutoClassifier(families).fit(train, y)
    return model.classes_, model.predict_proba(new)


def our_comparison(train: pd.DataFrame, y: Array, new: pd.DataFrame) -> Answer:
    """The best model of ``discriminant compare``, fitted to all training rows."""
    training = ours.read_training(train.assign(target=y), "target", coding="full")
    models, _ = default_models(training.X, len(np.unique(training.codes)))
    found = ours.compare(models, training.rows, training.y, on_failure="leave_out")
    model = models[found.best_model].fit(training.rows, training.y)
    coded, _ = training.schema.encode_batch(new)
    return model.classes_, model.predict_proba(training.schema.rows(coded))


#: The default contenders; the first one is the reference.
CONTENDERS: dict[str, Callable[[pd.DataFrame, Array, pd.DataFrame], Answer]] = {
    REFERENCE: scikit_learn_ridge,
    BOOSTING: boosting,
    "random forest": random_forest,
    LASSO: lasso_as_glmnet,
    "auto": partial(our_auto, None),
    **{name: partial(our_model, name) for name in ("ridge", "lasso", "logistic", "lda", "rda", "naive-bayes")},
    "compare": our_comparison,
}

#: Competitors of packages that are not installed by default.
OPTIONAL: dict[str, Callable[[pd.DataFrame, Array, pd.DataFrame], Answer]] = {
    "LightGBM": light_gbm,
    "CatBoost": cat_boost,
    "EBM": ebm,
}


def contender_called(name: str) -> Callable[[pd.DataFrame, Array, pd.DataFrame], Answer]:
    """A default contender, any other model by its name, or a single family of auto as ``auto-FAMILY``."""
    if name in CONTENDERS | OPTIONAL:
        return (CONTENDERS | OPTIONAL)[name]
    return partial(our_auto, [name.removeprefix("auto-")]) if name.startswith("auto-") else partial(our_model, name)


@dataclass(frozen=True)
class Table:
    """A table in memory."""

    frame: pd.DataFrame
    y: Array


def read_table(folder: str | None, name: str) -> Table:
    if folder is not None:
        return _table_of(pd.read_csv(Path(folder) / f"{name}.csv"))
    if name in RULES:
        kind, make = RULES[name]
        frame = make().sample(frac=1, random_state=0)
        return _table_of(rule_tables.noisy(frame) if kind else frame)
    if name in STATSMODELS:
        from statsmodels import datasets as tables  # slow to import

        frame = getattr(tables, name).load_pandas().data
        target = frame.pop(STATSMODELS[name])
        # The hours of affairs are reduced to whether there were any; the vote follows the party.
        target = target > 0 if name == "fair" else target
        return _table_of(frame.drop(columns="vote", errors="ignore").assign(target=target))
    found = getattr(datasets, f"load_{name}")(as_frame=True)
    return Table(found.data, found.target_names[found.target].astype(str))


def _table_of(frame: pd.DataFrame) -> Table:
    target = "target" if "target" in frame else frame.columns[-1]
    return Table(frame.drop(columns=target), frame[target].astype(str).to_numpy())


def table_names(folder: str | None) -> list[str]:
    """The tables of a folder, small ones first."""
    if folder is None:
        return [*BUNDLED, *STATSMODELS, *RULES]
    return [path.stem for path in sorted(Path(folder).glob("*.csv"), key=lambda path: path.stat().st_size)]


def measured(folder: str | None, name: str, contender: str, repeat: int) -> Found:
    """The performance of a contender on the held-out rows of all folds, and the seconds of its fits and predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = _warmed_up(contender)
        table = read_table(folder, name)
        classes, codes = np.unique(table.y, return_inverse=True)
        posterior, failures = np.zeros((len(codes), len(classes))), set[str]()
        start = time.perf_counter()
        for train, held in StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(codes, codes):
            try:
                known, answer = answers(table.frame.iloc[train], table.y[train], table.frame.iloc[held])
            except Exception as error:  # any failure: the class proportions of the training rows are predicted
                failures.add(f"{type(error).__name__}: {error}")
                known, shares = np.unique(table.y[train], return_counts=True)
                answer = np.tile(shares / shares.sum(), (len(held), 1))
            posterior[np.ix_(held, np.searchsorted(classes, known))] = answer
    return {**_figures(posterior, codes), "seconds": time.perf_counter() - start, "failed": sorted(failures)}


@cache
def _warmed_up(contender: str) -> Callable[[pd.DataFrame, Array, pd.DataFrame], Answer]:
    """The contender after a first fit, so that imports are not timed."""
    table, answers = read_table(None, "iris"), contender_called(contender)
    answers(table.frame, table.y, table.frame)
    return answers


def _figures(posterior: Array, codes: Array) -> Found:
    """Mean log-loss, accuracy, AUC, expected calibration error, and smallest probability of a true class."""
    own, right = posterior[np.arange(len(codes)), codes], posterior.argmax(axis=1) == codes
    confidence = posterior.max(axis=1)
    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(bins, right - confidence, _BINS)
    return {
        "log_loss": float(-np.log(np.clip(own, 1e-15, 1)).mean()),
        "accuracy": float(right.mean()),
        "auc": _auc(posterior, codes),
        "ece": float(np.abs(gaps).sum() / len(codes)),
        "least": float(own.min()),
    }


def _auc(posterior: Array, codes: Array) -> float:
    """The mean AUC of each class against the others."""
    classes = range(1, 2) if posterior.shape[1] == 2 else range(posterior.shape[1])
    return float(np.mean([roc_auc_score(codes == k, posterior[:, k]) for k in classes]))


def critical_difference(n_contenders: int, n_tables: int) -> float:
    """The difference of mean ranks that is significant at 5 % by Nemenyi's test (Demšar 2006)."""
    quantile = studentized_range.ppf(0.95, n_contenders, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_contenders * (n_contenders + 1) / (6 * n_tables)))


@dataclass(frozen=True)
class Results:
    """Results by table, contender and repeat, stored in a file."""

    path: Path
    repeats: int  #: number of the stored repeats that are used
    found: dict[str, dict[str, dict[str, Found]]]

    @classmethod
    def kept(cls, path: Path, repeats: int) -> Results:
        return cls(path, repeats, json.loads(path.read_text()) if path.exists() else {})

    def of(self, name: str, contender: str) -> list[Found]:
        return [self.found[name][contender][str(repeat)] for repeat in range(self.repeats)]

    def has(self, name: str, contender: str, repeat: int) -> bool:
        return str(repeat) in self.found.get(name, {}).get(contender, {})

    def keep(self, name: str, contender: str, repeat: int, found: Found) -> None:
        self.found.setdefault(name, {}).setdefault(contender, {})[str(repeat)] = found
        written = self.path.with_suffix(".part")
        written.write_text(json.dumps(self.found, indent=1, sort_keys=True))
        written.replace(self.path)

    def mean(self, name: str, contender: str, figure: str) -> float:
        return float(np.mean([found[figure] for found in self.of(name, contender)]))

    def column(self, names: list[str], contender: str, figure: str) -> Array:
        return np.array([self.mean(name, contender, figure) for name in names])

    def mean_auc(self, names: list[str], contender: str) -> float:
        """The mean AUC; NaN if results of earlier versions have none."""
        return float(np.mean([found.get("auc", np.nan) for name in names for found in self.of(name, contender)]))

    def complete(self, names: list[str], contenders: list[str]) -> list[str]:
        """The tables on which all of these have been measured."""
        wanted = [(contender, repeat) for contender in contenders for repeat in range(self.repeats)]
        return [name for name in names if all(self.has(name, *each) for each in wanted)]


def run(results: Results, folder: str | None, wanted: list[tuple[str, str, int]], jobs: int) -> None:
    """Compute the given results in a number of processes; a single process uses as many threads as there are cores."""
    if jobs == 1:
        for each in wanted:
            _keep(results, each, measured(folder, *each))
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _single_thread) as workers:
        tasks = {workers.submit(measured, folder, *each): each for each in wanted}
        for task in as_completed(tasks):
            _keep(results, tasks[task], task.result())


def _keep(results: Results, each: tuple[str, str, int], found: Found) -> None:
    results.keep(*each, found)
    failed = f"  FAILED {found['failed'][0][:200]}" if found["failed"] else ""
    figures = f"{found['log_loss']:.4f}  {found['accuracy']:.3f}  {found['seconds']:.1f} s"
    print(f"{each[0]:20}  {each[1]:20}  {each[2]}  {figures}{failed}", flush=True)


def _single_thread() -> None:
    os.environ["DISCRIMINANT_BENCH_THREADS"] = "1"
    threadpool_limits(1)


def _threads() -> int:
    return int(os.environ.get("DISCRIMINANT_BENCH_THREADS", os.cpu_count() or 1))


def ratios(results: Results, names: list[str], contender: str, other: str) -> Array:
    """The log-loss of a contender over that of another, by table."""
    mine, theirs = (np.maximum(results.column(names, each, "log_loss"), FLOOR) for each in (contender, other))
    return mine / theirs


def ranks(results: Results, names: list[str], contenders: list[str]) -> Array:
    """The mean rank of the log-loss of each contender, 1 for the smallest."""
    losses = np.array([np.maximum(results.column(names, each, "log_loss"), FLOOR) for each in contenders])
    return np.asarray(pd.DataFrame(losses).rank().to_numpy().mean(axis=1))


def geometric_mean(values: Array) -> float:
    return float(np.exp(np.log(values).mean()))


def summary(results: Results, names: list[str], contenders: list[str]) -> Iterator[dict[str, Any]]:
    """The figures of each contender over all tables."""
    for contender, rank in zip(contenders, ranks(results, names, contenders), strict=True):
        own = ratios(results, names, contender, REFERENCE)
        gained = results.column(names, contender, "accuracy") - results.column(names, REFERENCE, "accuracy")
        yield {
            "contender": contender,
            "rank": float(rank),
            "log_loss": geometric_mean(own),
            "against_boosting": geometric_mean(ratios(results, names, contender, BOOSTING)),
            "accuracy": 100 * float(gained.mean()),
            "auc": results.mean_auc(names, contender),
            "wins": int(np.count_nonzero(own < 1 - TIE)),
            "losses": int(np.count_nonzero(own > 1 + TIE)),
            "ties": int(np.count_nonzero(np.abs(own - 1) <= TIE)),
            "ece": float(results.column(names, contender, "ece").mean()),
            "least": min(found["least"] for name in names for found in results.of(name, contender)),
            "seconds": float(results.column(names, contender, "seconds").sum()),
        }


_PREAMBLE = """\
# Quality of predictions

This page compares the predictions of default models with those of other packages, on {source}.
The evaluation is {repeats} of stratified {folds}-fold cross-validation, with the same splits for all models. No model
is tuned manually; all tuning uses the training rows only. The page is written by `python -m benchmarks.quality`.

{contenders}

The columns of the first table:

- **rank**: mean rank of the log-loss over the tables, 1 for the best.
- **log-loss** and **against boosting**: geometric mean of the ratios of the log-loss to that of the reference and to
  that of boosting; losses below {floor} are set to {floor}.
- **accuracy**: mean difference from the accuracy of the reference, in percentage points.
- **AUC**: mean over the tables of the area under the ROC curve, of each class against the others.
- **won / tied / lost**: number of tables with a log-loss lower than, equal to, or higher than that of the reference,
  where differences of at most {tie} are ties.
- **calibration error**: expected calibration error of the predicted class, in {bins} bins.
- **smallest probability of a true class**: over all held-out rows.
- **time (s)**: total elapsed seconds of all fits and predictions; other programs may have run at the same time.
"""

#: The competitors; the models of this package are described by their names.
DESCRIPTIONS = {
    REFERENCE: "the reference; `LogisticRegressionCV(Cs=10, cv=5)` with log-loss as the criterion, on standardised "
    "numeric columns with missing values imputed by the median, and indicators of all levels.",
    BOOSTING: "`HistGradientBoostingClassifier()`, untuned, on the same columns.",
    "random forest": "500 trees of scikit-learn with at least 2 rows in a leaf, on the same columns.",
    "LightGBM": "its defaults, on the same columns.",
    "CatBoost": "its defaults, on the same columns.",
    "EBM": f"InterpretML's explainable boosting machine with {EBM_BAGS} outer bags.",
    LASSO: "glmnet's grid, folds and `lambda.min` on the same columns, computed by the solver of this package.",
    "auto": "`AutoClassifier()` of this package.",
    "compare": "the best model of `discriminant compare`.",
}


def _described(contender: str) -> str:
    """A contender as an item of a list."""
    family = contender.removeprefix("auto-")
    own = f"the family `{family}` of `AutoClassifier` alone." if family != contender else f"`fit --model {contender}`."
    words = f"- **{contender}**: {DESCRIPTIONS.get(contender, own)}"
    return textwrap.fill(words, 118, subsequent_indent="  ", break_on_hyphens=False)


_RANKS = """\
![Mean ranks of the log-loss, with the critical difference](quality.svg)

Models joined by a bar do not differ significantly in their mean rank: their difference is below the critical difference
of Nemenyi's test at 5 % (Demšar 2006, Journal of Machine Learning Research 7)."""

_OWN_SOURCE = """\
tables of
scikit-learn (iris, wine, breast_cancer) and statsmodels (spector, anes96, fair), and on synthetic tables whose
classes are functions of combinations of levels (`benchmarks/rule_tables.py`), also with 5 % of their classes
replaced (noisy)"""


def page(results: Results, names: list[str], contenders: list[str], source: str) -> str:
    """The page: results over all tables, then by table."""
    known = {
        "folds": FOLDS,
        "repeats": "one run" if results.repeats == 1 else f"{results.repeats} repeats",
        "floor": FLOOR,
        "tie": percent(TIE, 0),
        "bins": _BINS,
        "contenders": "\n".join(map(_described, contenders)),
    }
    rows = [
        f"| {row['contender']} | {row['rank']:.1f} | {row['log_loss']:.3f} | {row['against_boosting']:.3f} "
        f"| {row['accuracy']:+.1f} | {row['auc']:.3f} "
        f"| {row['wins']} / {row['ties']} / {row['losses']} | {row['ece']:.3f} "
        f"| {row['least']:.0e} | {row['seconds']:.0f} |"
        for row in summary(results, names, contenders)
    ]
    single = [
        f"| {name} | " + " | ".join(f"{results.mean(name, each, 'log_loss'):.3f}" for each in contenders) + " |"
        for name in names
    ]
    failed = {
        f"- {each} on {name}: {found['failed'][0]}"
        for each in contenders
        for name in names
        for found in results.of(name, each)
        if found["failed"]
    }
    lines = [
        _PREAMBLE.format(source=source, **known),
        "| | rank | log-loss | against boosting | accuracy | AUC | won / tied / lost | calibration error "
        "| smallest probability of a true class | time (s) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
        _RANKS,
        "",
        "Log-loss by table:",
        "",
        f"| table | {' | '.join(contenders)} |",
        "|---|" + "---:|" * len(contenders),
        *single,
        *(
            ["", "Failed fits, replaced by predictions of the class proportions:", "", *sorted(failed)]
            if failed
            else []
        ),
    ]
    return unbroken("\n".join(lines)) + "\n"


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    arguments.add_argument("folder", nargs="?", help="a folder of CSV tables with a column 'target'")
    arguments.add_argument(
        "--models",
        help="contenders, separated by commas: also any model of the command line, or auto-FAMILY for a single family "
        "of auto; scikit-learn's ridge and boosting are always included",
    )
    arguments.add_argument("--tables", help="tables, separated by commas")
    arguments.add_argument("--repeats", type=int, default=2, help="repeats of the k-fold split")
    arguments.add_argument("--jobs", type=int, default=1, help="processes; times are comparable with one process only")
    arguments.add_argument("--again", action="store_true", help="compute the results of the named contenders again")
    arguments.add_argument("--output", type=Path, help="the page; results are stored beside it as JSON")
    given = arguments.parse_args()
    names = given.tables.split(",") if given.tables else table_names(given.folder)
    if not names or not set(names) <= set(table_names(given.folder)):
        arguments.error(f"unknown table; the tables are {', '.join(table_names(given.folder))}")
    asked = given.models.split(",") if given.models else list(CONTENDERS)
    contenders = list(dict.fromkeys([REFERENCE, BOOSTING, *asked]))
    output = given.output or (PAGE if given.folder is None else Path("quality.md"))
    results = Results.kept(output.with_suffix(".json"), given.repeats)
    wanted = [(name, each, repeat) for name in names for repeat in range(given.repeats) for each in contenders]
    again = set(asked) if given.again and given.models else set()
    run(results, given.folder, [each for each in wanted if each[1] in again or not results.has(*each)], given.jobs)
    source = _OWN_SOURCE if given.folder is None else f"{len(names)} tables"
    complete = results.complete(names, contenders)
    output.write_text(page(results, complete, contenders, source).replace("quality.svg", f"{output.stem}.svg"))
    own = dict(zip(contenders, ranks(results, complete, contenders).tolist(), strict=True))
    write_ranks(own, critical_difference(len(own), len(complete)), output.with_suffix(".svg"))
    print(output.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
