"""Moment models of every training part, without fitting any of them to rows.

The moments of the folds are collected in one pass, those of each training part are merged from the folds before and
after, and every model is read from them as its own ``fit`` would read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data import LabelledRows
from ..errors import InputError
from ..estimators.base import MomentClassifier, collected
from ..moments import FoldMoments, Moments, Needs, merged, narrowed, together
from ..rules import Rule
from .splits import Round

Array = np.ndarray[Any, Any]

#: Moments of all folds together may take this many numbers (256 MB); beyond, training parts are passed over one by one.
_MOST_NUMBERS = 1 << 25


def read_from_moments(model: Any) -> bool:
    """Whether a model is known once the moments of its training rows are.

    Models that choose a parameter by folds of their own look at their rows again, or in other cells.
    """
    plain = isinstance(model, MomentClassifier) and model._reads_class_moments
    return plain and type(model).fit is MomentClassifier.fit and not model._needs().folds


def shared_needs(models: dict[str, Any]) -> Needs:
    """What has to be collected for all the models."""
    for model in models.values():
        model._check_parameters()
    return together(model._needs() for model in models.values())


def training_moments(data: LabelledRows, part: Round, needs: Needs, n_jobs: int | None) -> list[Callable[[], Moments]]:
    """For each split, what gives the moments of its training rows: merged from cells, or by a pass of their own."""
    count, fewest = len(part.splits), part.fewest_rows
    if _cell_numbers(data, needs, count + 1) > _MOST_NUMBERS:
        part = replace(part, fold=None, step=None)
    if part.fold is not None:
        cells = _moments_in_cells(data, needs, part.fold, count, fewest, n_jobs)
        return [partial(_itself, train) for train, _ in cells.splits()]
    if part.step is not None and fewest >= data.rows.n_columns:
        *steps, _ = _moments_in_cells(data, needs, part.step, count + 1, fewest, n_jobs).folds()
        return [partial(_itself, train) for train in accumulate(steps, merged)]
    return [partial(_moments_of, data, split.train, needs, n_jobs) for split in part.splits]


def _itself(moments: Moments) -> Moments:
    return moments


def _moments_in_cells(
    data: LabelledRows, needs: Needs, cell: Array, n_cells: int, fewest_rows: int, n_jobs: int | None
) -> FoldMoments:
    """The moments of the rows of each cell, in one pass over all rows, for models of no fewer rows than these."""
    n_classes = len(data.classes)
    empty = replace(needs, folds=n_cells).statistic(fewest_rows, n_classes, data.rows.n_columns)
    codes = cell.astype(np.int32) * np.int32(n_classes) + data.codes
    return FoldMoments(collected(replace(data, codes=codes), empty.cells, n_jobs), n_cells)


def _moments_of(data: LabelledRows, index: Array, needs: Needs, n_jobs: int | None) -> Moments:
    """The moments of some rows by themselves."""
    part = data.take(index)
    statistic = needs.statistic(part.n_rows, len(data.classes), data.rows.n_columns)
    try:
        moments: Moments = collected(part, statistic, n_jobs)
    except InputError:
        data.rows.refuse_nonfinite()  # whose message has the row's number among all
        raise
    return moments


def read_rule(model: Any, moments: Moments, data: LabelledRows, X: Any) -> Rule:
    """The rule of a model read from moments, over all classes; those without training rows cannot win."""
    fitted, seen = clone(model), moments.present
    fitted._check_columns(X, reset=True)
    fitted._accept(replace(data, classes=data.classes[seen]))
    fitted._adopt(narrowed(moments.only_present(), fitted._needs()))
    rule: Rule = fitted.rule_.spread_over(seen)
    return rule


def _cell_numbers(data: LabelledRows, needs: Needs, n_cells: int) -> int:
    p, per_class = data.rows.n_columns, needs.grain == "class" or needs.fourth
    wide = p if needs.grain == "diagonal" and not needs.fourth else p * p
    return n_cells * (len(data.classes) if per_class or wide == p else 1) * wide
