"""Cross-validation of several models on the same folds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..errors import ParameterError
from .answers import wanted_scoring
from .crossed import CrossValidation
from .models import named_models, refuse_weightless_models
from .scoring import Judge, Outcome, scored_models
from .splits import Round, Split, plan_rounds
from .table import Table, labelled_table

Array = np.ndarray[Any, Any]


def cross_validate(
    models: Any,
    X: Any,
    y: Any,
    folds: Any = 10,
    repeats: int = 1,
    groups: Any = None,
    costs: Any = None,
    metrics: Any = None,
    sample_weight: Any = None,
    stratify: bool = True,
    random_state: Any = 0,
    train_scores: bool = False,
    keep: Literal["predictions", "posteriors"] | None = None,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Scores of models on rows they have not seen, all models on the same splits.

    Models that are read from class moments (`LinearDiscriminantAnalysis`, `QuadraticDiscriminantAnalysis`,
    `GaussianNB`, `LeastSquaresClassifier`, `FisherDiscriminant`) share one pass over the rows for all folds; the result
    is that of fitting each to each training part. Models that choose a parameter by folds of their own, and all
    others, are fitted part by part.

    Parameters
    ----------
    models : a classifier, a list of them, or a dict from names to classifiers
    X, y, sample_weight
        As in ``fit``. Weights count in fitting and in scoring: weight 3 means three such rows.
    folds : int, float, splitter or iterable of (train, test)
        A number of folds: rows are shuffled and dealt to the folds in turn, class after class, so that each class is
        spread evenly. A share such as 0.25: a hold-out, that share of each class. Anything of scikit-learn's that
        splits, or row numbers, are taken as they are. The order of rows in time is not guessed: give
        ``TimeSeriesSplit()`` where it matters.
    repeats : int
        How often rows are dealt anew.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are held out together.
    costs : array-like of shape (K, K), dict or frame, optional
        Cost of predicting class j (column) where k (row) is true; adds the metric "cost". Classes are in sorted order
        or by name, ``{true: {predicted: cost}}``.
    metrics : str or list of str, optional
        Of "accuracy", "error", "log_loss", "brier", "auc" and "cost". By default accuracy, log-loss and Brier score,
        and the cost if there are costs; "auc" has to sort, and is computed when asked for. Log-loss and Brier score
        (halved for two classes) need posteriors.
    stratify : bool
        Whether classes are spread evenly over the folds.
    random_state : int or Generator
        Decides the shuffling.
    train_scores : bool
        Also score the training rows, for `CrossValidation.notes` on over- and underfitting.
    keep : {"predictions", "posteriors"}, optional
        What to keep of each row's answers while it was held out.
    progress : bool, optional
        A progress bar on stderr: True, False, or None for one on a terminal if it takes longer than a second.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> print(cross_validate({"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}, X, y))
    model               accuracy         log_loss            brier
    LDA          0.9800 ± 0.0335  0.0615 ± 0.0697  0.0381 ± 0.0498
    naive Bayes  0.9533 ± 0.0657  0.1365 ± 0.1599  0.0781 ± 0.0954
    mean of 10 splits, 95 % intervals; the most frequent class alone reaches 0.3333
    """
    named, table = named_models(models), labelled_table(X, y, sample_weight)
    if table.weight is not None:
        refuse_weightless_models(named)
    scoring = wanted_scoring(metrics, costs, table.classes, posteriors=_checked_keep(keep) == "posteriors")
    rounds = plan_rounds(table, folds, repeats, groups, stratify, random_state)
    if keep is not None and any(part.fold is None for part in rounds):
        raise ParameterError(f"keep={keep!r} needs splits that hold out every row exactly once; these do not.")
    judge = Judge(table, scoring, train_scores, keep)
    return _gathered(named, rounds, judge, scored_models(named, rounds, judge, progress, n_jobs))


def _checked_keep(keep: Any) -> Any:
    if keep not in (None, "predictions", "posteriors"):
        raise ParameterError(f"keep must be None, 'predictions' or 'posteriors', got {keep!r}.")
    return keep


def _gathered(
    models: dict[str, Any], rounds: list[Round], judge: Judge, outcomes: list[list[Outcome]]
) -> CrossValidation:
    table, splits = judge.table, [split for part in rounds for split in part.splits]
    weights = [_class_weights(table, split) for split in splits]
    learned, held = (np.array(part) for part in zip(*weights, strict=True))
    return CrossValidation(
        models=tuple(models),
        metrics=judge.scoring.metrics,
        classes=table.classes,
        values=np.array([[outcome.held_out.values for outcome in own] for own in outcomes]),
        errors=np.array([[outcome.held_out.errors for outcome in own] for own in outcomes]),
        train_values=_train_values(outcomes),
        baseline=held[np.arange(len(splits)), learned.argmax(axis=1)] / held.sum(axis=1),
        counts=np.array([sum(outcome.counts for outcome in own) for own in outcomes]),
        ratio=float(held.sum() / learned.sum()),
        kept_codes=_kept(models, outcomes, rounds, "codes"),
        kept_posteriors=_kept(models, outcomes, rounds, "posterior"),
    )


def _train_values(outcomes: list[list[Outcome]]) -> Array | None:
    values = [[None if outcome.train is None else outcome.train.values for outcome in own] for own in outcomes]
    return None if values[0][0] is None else np.array(values)


def _class_weights(table: Table, split: Split) -> tuple[Array, Array]:
    """The weight of each class among the training rows and among the test rows of a split."""
    test = table.class_weights(split.test)
    if split.given is None:
        return table.all_class_weights - test, test
    return table.class_weights(split.given), test


def _kept(models: dict[str, Any], outcomes: list[list[Outcome]], rounds: list[Round], what: str) -> dict[str, Array]:
    """What was kept of each row's answers, by model: arrays (rounds, rows, ...) in row order."""
    kept = {}
    for name, own in zip(models, outcomes, strict=True):
        parts = iter(getattr(outcome, what) for outcome in own)
        if getattr(own[0], what) is not None:
            kept[name] = np.stack([_in_row_order([next(parts) for _ in part.splits], part) for part in rounds])
    return kept


def _in_row_order(parts: list[Array], part: Round) -> Array:
    rows = np.concatenate([split.test for split in part.splits])
    values = np.concatenate(parts)
    ordered = np.empty_like(values)
    ordered[rows] = values
    return ordered
