"""Multiclass classifiers by binary problems over the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import multiclass as codebooks
from ..arrays import Array, MatrixLike
from ..data import TrainingData, check_choice
from ..errors import InputError, ParameterError, Setting
from ..multiclass import Ambiguity, Codebook, CodebookRule, Decoding, DecodingLoss
from ..results import shown
from ..rules import LinearRule
from .base import RuleClassifier
from .binary_classifiers import BinaryClassifiers

_SCHEMES: dict[str, tuple[Callable[[int], Codebook], Decoding]] = {
    "one-vs-rest": (codebooks.one_vs_rest, "confidence"),
    "one-vs-one": (codebooks.one_vs_one, "votes+confidence"),
}


class CodebookClassifier(RuleClassifier):
    """A multiclass classifier by binary problems, one for each column of a codebook."""

    codebook_: Codebook
    coef_: Array
    intercept_: Array
    #: whether a binary score of 0 predicts the second class
    _zero_is_second: Any = False
    #: how candidates are counted before ties are broken
    _counted_by: ClassVar[Literal["votes", "hamming"]] = "votes"

    _make_codebook: Callable[[int], Codebook]  #: the codebook for a number of classes
    _decoding: Callable[[], tuple[Decoding, DecodingLoss]]  #: how binary scores are combined

    @property
    def code_distance_(self) -> float:
        """The row distance of the code: the smallest Hamming distance of two classes, zeros counted 1/2."""
        return self.codebook_.row_distance

    def ambiguous(self, X: MatrixLike) -> Ambiguity:
        """Rows that no class or several classes claim, before ties are broken.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows to classify.

        Returns
        -------
        Ambiguity
            ``none`` and ``several`` (n_rows,) mark the ambiguous rows, ``candidates`` (n_rows, n_classes) the classes
            that claim each row.
        """
        rows = self._rows(X)
        read = self._column_rule()
        candidates = np.empty((rows.n_rows, len(self.classes_)), dtype=bool)
        try:
            rows.fill(candidates, partial(_write_candidates, read, self._counted_by), self.n_jobs)
        except InputError:
            rows.refuse_nonfinite()
            raise
        return Ambiguity(candidates)

    def _set_rule(self, columns: LinearRule | BinaryClassifiers) -> None:
        """Set the rule that combines these binary scores."""
        if isinstance(columns, LinearRule):
            self.coef_, self.intercept_ = columns.coef, columns.intercept
        rule = CodebookRule(columns, self.codebook_, *self._decoding()).simplified()
        self.rule_ = self._turned(rule) if isinstance(rule, CodebookRule) else rule

    def _turned(self, rule: CodebookRule) -> CodebookRule:
        return rule.turned() if self._zero_is_second and isinstance(rule.columns, LinearRule) else rule

    def _column_rule(self) -> CodebookRule:
        """The binary scores with their codebook, before they are combined."""
        rule = self.rule_
        if isinstance(rule, CodebookRule):
            return rule
        if len(self.classes_) == 2:
            rule = LinearRule(rule.centre, np.diff(rule.coef, axis=0), np.diff(rule.constants))
        return self._turned(CodebookRule(rule, self.codebook_, *self._decoding()))

    @property
    def _last_wins(self) -> bool:
        return bool(self._zero_is_second) and len(self.classes_) == 2 and bool(self.codebook_.matrix[1, 0] > 0)

    def _named(self, column: int) -> str:
        """A binary problem in messages."""
        first, second = (self.classes_[self.codebook_.matrix[:, column] == side] for side in (-1, 1))
        against = f"class {shown(first[0])}" if len(first) == 1 else "the rest"
        return f"class {shown(second[0])} against {against}"


def _write_candidates(read: CodebookRule, counted_by: Literal["votes", "hamming"], block: Array, out: Array) -> bool:
    out[...] = codebooks.ambiguous(read.columns.scores(block), read.codebook, counted_by).candidates
    return True


class BinaryLearner(CodebookClassifier):
    """A linear classifier that solves the binary problems of several classes over the same rows."""

    multiclass: Literal["one-vs-rest", "one-vs-one"]
    random_state: Any
    _own_state = ("_training",)
    _training: TrainingData

    _solutions: Callable[..., list[Any]]  #: `TrainingData` to the solutions of all binary problems
    _columns_of: Callable[[list[Any]], LinearRule]  #: the binary scores of solutions
    _keep: Callable[..., None]  #: sets the fitted attributes from solutions and class codes (None if streamed)
    _warn_unsolved: Callable[[list[Any]], None]  #: warns of solvers that did not converge

    def _learn(self, data: TrainingData) -> None:
        self._training = data
        self.codebook_ = self._make_codebook(len(self.classes_))
        solutions = self._solutions(data)
        self._set_rule(self._columns_of(solutions))
        self._keep(solutions, None if data.is_streamed else data.gather().codes)
        self._warn_unsolved(solutions)

    def _make_codebook(self, n_classes: int) -> Codebook:
        return _SCHEMES[self.multiclass][0](n_classes)

    def _decoding(self) -> tuple[Decoding, DecodingLoss]:
        return _SCHEMES[self.multiclass][1], "logistic"

    def _check_parameters(self) -> None:
        check_choice("multiclass", self.multiclass, tuple(_SCHEMES))

    def _seed(self) -> int:
        """An integer drawn from ``random_state``."""
        try:
            return int(np.random.default_rng(self.random_state).integers(1 << 32))
        except (TypeError, ValueError) as error:
            wrong = f" must be None, a non-negative integer or a NumPy generator, got {self.random_state!r}."
            raise ParameterError(Setting("random_state"), wrong) from error

    def _one_or_each(self, values: Sequence[ArrayLike | None]) -> Any:
        """The value of the only binary problem, or an array of all values."""
        return values[0] if len(self.classes_) == 2 else np.array(values)
