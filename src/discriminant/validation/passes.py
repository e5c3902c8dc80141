"""Cross-validation of streamed rows: folds by row number, predictions for all rows.

The fold of a row is a function of its number, which every worker knows. Moment models of all folds are estimated from
one pass; other models are fitted once per fold, with weight 0 for its rows. One more pass predicts the held-out rows of
all folds. Predictions are kept in memory, rows are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import clone

from ..arrays import Array, MatrixLike
from ..data import StreamedRows, as_rows, fold_of_rows
from ..engine import ProgressOption, progress_bar
from ..errors import DegenerateDataError, InputError, ParameterError, Setting
from ..estimators.moment_classifier import MomentClassifier, collected
from ..moments.folds import MomentsSpec, projected
from ..moments.statistic import ClassMoments
from .labelled_table import LabelledTable
from .scoring import Predictions
from .splits import Round, SplitsLike, default_folds, round_of

if TYPE_CHECKING:
    from .fold_fits import ValidationTask

#: Maximum memory of the predictions of all models for all rows.
_MAX_PREDICTION_BYTES: Final = 1 << 30


def table_of(source: StreamedRows) -> LabelledTable:
    """The classes and weights of the rows of a dataset; the rows are not read into memory."""
    data = source.labelled()
    if data.n_rows != data.rows.n_rows:
        left_out = data.rows.n_rows - data.n_rows
        raise InputError(
            f"{left_out:,} rows would be dropped, which changes the row numbers that define the folds. Use a coding "
            "that keeps all rows."
        )
    codes, weight = data.codes_and_weights()
    plain = bool((weight == 1).all())
    return LabelledTable(source, source, data.classes, codes, None if plain else weight, streamed=data)


def folds_by_number(table: LabelledTable, cv: SplitsLike, repeats: int) -> list[Round]:
    """The folds of a dataset."""
    n_folds = default_folds(table.n_rows, int(table.class_counts.min())) if cv is None else cv
    if isinstance(n_folds, bool) or not isinstance(n_folds, int) or not 2 <= n_folds <= table.n_rows or repeats != 1:
        wanted = " of a dataset is a number of folds without repeats, which are assigned by row number, got "
        raise ParameterError(Setting("cv"), f"{wanted}{cv!r} and {repeats} repeats.")
    return [round_of(fold_of_rows(0, table.n_rows, n_folds), n_folds)]


def answers_by_passes(
    task: ValidationTask,
    from_moments: dict[str, MomentClassifier],
    needs: MomentsSpec | None,
    ask: Callable[..., Predictions],
    progress: ProgressOption,
    n_jobs: int | None,
) -> Iterator[tuple[str, int, Any]]:
    """For every model and split the predictions of the test rows, or the error of the fit."""
    table, n_folds = task.table, len(task.splits)
    n_bytes = len(task.models) * table.n_rows * (8 * len(table.classes) + 4)
    if n_bytes > _MAX_PREDICTION_BYTES:
        raise InputError(
            f"The predictions of {len(task.models)} models for {table.n_rows:,} rows need {n_bytes / 1e9:.1f} GB. "
            "Compare fewer models, or evaluate them on a separate file."
        )
    fitted: dict[tuple[str, int], Any] = {}
    with progress_bar("validation", n_folds * len(task.models) + 1, progress) as advance:
        if needs is not None:
            moments = _moments(table, needs, n_folds, task.rounds[0].fewest_rows, n_jobs)
        for name, model in task.models.items():
            for number in range(n_folds):
                if name in from_moments:
                    fit: Any = partial(estimated_model, model, moments[number], table.classes, table.X)
                else:
                    fit = partial(clone(model).fit, table.X.without_fold(number, n_folds))
                fitted[name, number] = task.attempted(name, number, fit)
                advance()
        sound = {key: one for key, one in fitted.items() if not isinstance(one, DegenerateDataError)}
        asking = _Asking(sound, table.classes, table.X.names, n_folds, task.needs_scores, ask, table.X.blocks)
        found = list(table.X.executor.in_order(asking, table.X.partitions, n_jobs))
        advance()
    for key, one in fitted.items():
        parts = [part[key] for spans in found for part in spans if key in part]
        yield *key, _joined(parts) if key in sound else one


def _moments(table: LabelledTable, needs: MomentsSpec, n_folds: int, fewest: int, n_jobs: int | None) -> list[Any]:
    """The moments of the training rows of each split."""
    data = table.labelled
    statistic = replace(needs, folds=n_folds).statistic(fewest, len(data.classes), data.rows.n_columns)
    return [train for train, _ in collected(data, statistic, n_jobs).splits()]


def estimated_model(model: MomentClassifier, moments: ClassMoments, classes: Array, X: MatrixLike) -> MomentClassifier:
    """A copy of a model, estimated from moments of rows, perhaps without some of the classes."""
    fitted = clone(model)
    fitted._check_columns(X, reset=True)
    fitted._accept(classes[moments.present])
    fitted._set_estimates(projected(moments.only_present(), fitted._moments_spec()))
    return fitted


def _joined(parts: list[Any]) -> Any:
    """The predictions for all rows of a fold, in their order."""
    whole = {name: [vars(part)[name] for part in parts] for name in vars(parts[0])}
    return replace(parts[0], **{name: None if own[0] is None else np.concatenate(own) for name, own in whole.items()})


@dataclass(frozen=True)
class _Asking:
    """From a span to the predictions of the models of all folds for their test rows, block by block."""

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
