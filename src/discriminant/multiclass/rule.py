"""From the scores of binary problems to the scores of classes, as a rule like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..rules import LinearRule
from .codebook import Codebook, Decoding, DecodingLoss, parts_in_cache

Array = np.ndarray[Any, Any]


class Columns(Protocol):
    """Anything that gives a block of rows one score for each binary problem: a `LinearRule`, or fitted classifiers."""

    def scores(self, block: Any) -> Array:
        """The scores of the columns (n, M), above 0 for the side +1."""


@dataclass(frozen=True)
class CodedRule:
    """The scores of binary problems, read by a codebook as scores of classes."""

    columns: Columns
    codebook: Codebook
    decoding: Decoding
    loss: DecodingLoss = "logistic"
    present: Array | None = None  #: (n_classes,) of bool: the codebook's classes among more; None: it has them all

    def scores(self, block: Any) -> Array:
        # Many columns make the scores of a block far larger than the block; parts of them stay in cache.
        linear = isinstance(self.columns, LinearRule)
        parts = [block[part] for part in parts_in_cache(block.shape[0], self.codebook.n_columns)] if linear else [block]
        decoded = np.concatenate([self._decoded(part) for part in parts])
        if self.present is None:
            return decoded
        out = np.full((len(decoded), len(self.present)), -np.inf)
        out[:, self.present] = decoded
        return out

    def _decoded(self, block: Any) -> Array:
        return self.codebook.decode(self.columns.scores(block), self.decoding, self.loss)

    def turned(self) -> CodedRule:
        """The same rule of linear scores with the two sides of every column exchanged.

        It differs where a score is exactly 0, which speaks for the side -1: that is now the other one.
        """
        linear: Any = self.columns
        linear = replace(linear, coef=-linear.coef, constants=-linear.constants)
        return replace(self, columns=linear, codebook=Codebook(-self.codebook.matrix))

    def spread_over(self, present: Array) -> CodedRule:
        return self if present.all() else replace(self, present=present)
