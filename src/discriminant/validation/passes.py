"""Cross-validation of rows that are read anew in every pass: folds by the numbers of rows, answers to all of them.

A row's fold is known wherever it is read, so that nothing is dealt and nothing is sent. Models that are read from
moments have theirs of all folds from one pass; others are fitted to rows of which those of a fold have no weight. One
more pass asks every model about the rows it has not seen. Their answers are held, and no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..data import Source, as_rows, fold_of_rows
from ..engine import ProgressOption, progress_bar
from ..errors import DegenerateDataError, InputError, ParameterError, Setting
from ..estimators.base import collected
from ..moments.statistic import narrowed
from .held_out import LabelledTable, Round, default_folds, round_of

#: Answers of all models to all rows may take this many bytes.
_ANSWER_BYTES = 1 << 30


def table_of(source: Source) -> LabelledTable:
    """The classes and weights of the rows of a dataset, which themselves stay where they are."""
    data = source.labelled()
    if data.n_rows != source.n_rows:
        left_out = source.n_rows - data.n_rows
        raise InputError(f"{left_out:,} rows would be left out, and folds go by the numbers of rows. Leave none out.")
    codes, weight = data.codes_and_weights()
    plain = bool((weight == 1).all())
    table = LabelledTable(source, source, data.classes, codes, None if plain else weight)
    vars(table)["labelled"] = data
    return table


def folds_by_number(table: LabelledTable, cv: Any, repeats: int) -> list[Round]:
    """The folds of a dataset."""
    n_folds = default_folds(table.n_rows, int(table.class_counts.min())) if cv is None else cv
    if isinstance(n_folds, bool) or not isinstance(n_folds, int) or not 2 <= n_folds <= table.n_rows or repeats != 1:
        wanted = " of a dataset is a number of folds, dealt once by the numbers of rows, got "
        raise ParameterError(Setting("cv"), f"{wanted}{cv!r} and {repeats} repeats.")
    return [round_of(fold_of_rows(0, table.n_rows, n_folds), n_folds)]


def answers_by_passes(
    task: Any,
    from_moments: dict[str, Any],
    needs: Any,
    ask: Callable[..., Any],
    progress: ProgressOption,
    n_jobs: int | None,
) -> Iterator[tuple[str, int, Any]]:
    """For every model and split, what the model said of the rows it had not seen, or why it could not be fitted."""
    table, n_folds = task.table, len(task.splits)
    n_bytes = len(task.models) * table.n_rows * (8 * len(table.classes) + 4)
    if n_bytes > _ANSWER_BYTES:
        raise InputError(
            f"The answers of {len(task.models)} models to {table.n_rows:,} rows would take {n_bytes / 1e9:.1f} GB. "
            "Name fewer models, or evaluate them on files put aside."
        )
    fitted: dict[tuple[str, int], Any] = {}
    with progress_bar("validation", n_folds * len(task.models) + 1, progress) as advance:
        if from_moments:
            moments = _moments(table, needs, n_folds, task.rounds[0].fewest_rows, n_jobs)
        for name, model in task.models.items():
            for number in range(n_folds):
                if name in from_moments:
                    fit: Any = partial(_read, model, moments[number], table)
                else:
                    fit = partial(clone(model).fit, table.X.without_fold(number, n_folds))
                fitted[name, number] = task.attempted(name, number, fit)
                advance()
        sound = {key: one for key, one in fitted.items() if not isinstance(one, DegenerateDataError)}
        asking = _Asking(sound, table.classes, table.X.names, n_folds, task.needs_scores, ask, table.X.blocks)
        found = list(table.X.executor.in_order(asking, table.X.spans, n_jobs))
        advance()
    for key, one in fitted.items():
        parts = [part[key] for spans in found for part in spans if key in part]
        yield *key, _joined(parts) if key in sound else one


def _moments(table: LabelledTable, needs: Any, n_folds: int, fewest: int, n_jobs: int | None) -> list[Any]:
    """The moments of the rows that each split learns from."""
    data = table.labelled
    statistic = replace(needs, folds=n_folds).statistic(fewest, len(data.classes), data.rows.n_columns)
    return [train for train, _ in collected(data, statistic, n_jobs).splits()]


def _read(model: Any, moments: Any, table: LabelledTable) -> Any:
    """The model that is read from moments."""
    fitted, seen = clone(model), moments.present
    fitted._check_columns(table.X, reset=True)
    fitted._accept(replace(table.labelled, classes=table.classes[seen]))
    fitted._adopt(narrowed(moments.only_present(), fitted._needs()))
    return fitted


def _joined(parts: list[Any]) -> Any:
    """The answers to all rows of a fold, in their order."""
    whole = {name: [vars(part)[name] for part in parts] for name in vars(parts[0])}
    return replace(parts[0], **{name: None if own[0] is None else np.concatenate(own) for name, own in whole.items()})


@dataclass(frozen=True)
class _Asking:
    """From a span to what the models of all folds say of the rows they have not seen, block by block."""

    fitted: dict[tuple[str, int], Any]
    classes: Array
    names: Any
    n_folds: int
    with_scores: bool
    ask: Callable[..., Any]
    blocks: Callable[[Any], Any]

    def __call__(self, span: Any) -> list[dict[tuple[str, int], Any]]:
        return [self._of_block(block, where) for block, where in self.blocks(span)]

    def _of_block(self, block: Any, where: slice) -> dict[tuple[str, int], Any]:
        fold = fold_of_rows(where.start, where.stop - where.start, self.n_folds)
        found = {}
        for number in np.unique(fold).tolist():
            rows = as_rows(block[fold == number], self.names)
            table = LabelledTable(rows, rows, self.classes, np.zeros(rows.n_rows, np.int32))
            everything = np.arange(rows.n_rows)
            for (name, split), model in self.fitted.items():
                if split == number:
                    found[name, split] = self.ask(name, model, table, everything, self.with_scores)
        return found
