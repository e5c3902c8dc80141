"""Every model on every split: read from moments or fitted, then scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from ..engine import side_by_side
from ..moments import Moments
from .answers import Answers, Scored, Scoring, model_answers, rule_answers
from .progress import progress_bar
from .reading import read_from_moments, read_rule, shared_needs, training_moments
from .splits import Round, Split
from .table import Table

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model on one split: its scores on held-out rows and perhaps on training rows, and what it answered."""

    held_out: Scored
    train: Scored | None
    counts: Array
    codes: Array | None = None
    posterior: Array | None = None


@dataclass(frozen=True, eq=False)
class Judge:
    """Turns the answers of a model on a split into an outcome."""

    table: Table
    scoring: Scoring
    train_scores: bool
    keep: str | None

    def outcome(self, split: Split, answers: Answers, train_answers: Answers | None) -> Outcome:
        truth, weight = self.table.codes[split.test], self.table.weights_of(split.test)
        n_classes = len(self.table.classes)
        pairs = np.bincount(truth * n_classes + answers.codes, weights=weight, minlength=n_classes**2)
        train = None
        if train_answers is not None:
            rows = split.train
            train = self.scoring.score(self.table.codes[rows], self.table.weights_of(rows), train_answers)
        return Outcome(
            self.scoring.score(truth, weight, answers),
            train,
            pairs.reshape(n_classes, n_classes),
            answers.codes if self.keep else None,
            answers.posterior if self.keep == "posteriors" else None,
        )


#: Outcomes by model and number of the split, one of which a task finds.
Found = dict[tuple[str, int], Outcome]


def scored_models(
    models: dict[str, Any], rounds: list[Round], judge: Judge, progress: bool | None, n_jobs: int | None
) -> list[list[Outcome]]:
    """The outcome of every model on every split, in the order of both."""
    quick = {name: model for name, model in models.items() if read_from_moments(model)}
    splits = [split for part in rounds for split in part.splits]
    tasks: list[Callable[[], Found]] = []
    if quick:
        needs, data = shared_needs(quick), judge.table.labelled
        moments = [give for part in rounds for give in training_moments(data, part, needs, n_jobs)]
        tasks += [partial(_read_and_judged, judge, quick, moments[i], i, split) for i, split in enumerate(splits)]
    for name in [name for name in models if name not in quick]:
        tasks += [partial(_fitted_and_judged, judge, name, models[name], i, split) for i, split in enumerate(splits)]
    found: Found = {}
    for part in _done(tasks, progress, n_jobs):
        found |= part
    return [[found[name, number] for number in range(len(splits))] for name in models]


def _done(tasks: list[Callable[[], Found]], progress: bool | None, n_jobs: int | None) -> list[Found]:
    with progress_bar("validation", len(tasks), progress) as advance:

        def stepped(task: Callable[[], Found]) -> Found:
            result = task()
            advance()
            return result

        return side_by_side(stepped, tasks, n_jobs)


def _read_and_judged(
    judge: Judge, models: dict[str, Any], moments: Callable[[], Moments], number: int, split: Split
) -> Found:
    """The outcomes of moment models on a split."""
    data, train, rules = judge.table.labelled, moments(), {}
    for name, model in models.items():
        with blamed(name, number):
            rules[name] = read_rule(model, train, data, judge.table.X)
    wanted = judge.scoring.needs_posteriors
    held_out = rule_answers(rules, models, data, split.test, wanted)
    again = rule_answers(rules, models, data, split.train, wanted) if judge.train_scores else {}
    return {(name, number): judge.outcome(split, held_out[name], again.get(name)) for name in rules}


def _fitted_and_judged(judge: Judge, name: str, model: Any, number: int, split: Split) -> Found:
    """The outcome of any other model on a split."""
    table, train, wanted = judge.table, split.train, judge.scoring.needs_posteriors
    with blamed(name, number):
        fitted = clone(model).fit(table.rows(train), table.labels(train), **table.fitting(train))
        held_out = model_answers(name, fitted, table, split.test, wanted)
        again = model_answers(name, fitted, table, train, wanted) if judge.train_scores else None
    return {(name, number): judge.outcome(split, held_out, again)}


@contextmanager
def blamed(model: str, split: int) -> Iterator[None]:
    """Note in any error whose fit it comes from."""
    try:
        yield
    except Exception as error:
        error.add_note(f"(model {model!r}, split {split})")
        raise
