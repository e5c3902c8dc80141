"""Words of text columns: their vocabulary and their weights in a text.

A text is coded by its words and pairs of neighbouring words: one plus the logarithm of the number of occurrences, times
the inverse document frequency, scaled to a common length (Salton & Buckley 1988). The words of most rows are coded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from .column import Column

#: Words and pairs of a column, the most frequent ones: rarer ones hardly change predictions, and a model file has to
#: hold all of them.
MAX_WORDS: Final = 10_000
#: A word of a single row has no effect on other rows.
MIN_WORD_ROWS: Final = 2
#: The length of the weights of a text: a number of variance 1 would have length 1, but a ridge that shrinks words like
#: numbers has 3 % more log-loss on docstrings.
LENGTH: Final = 3.0
_WORD: Final = r"\w+"


def vocabulary(texts: Sequence[str], rows: Sequence[int]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The words and word pairs of texts in alphabetical order, and their inverse document frequencies.

    ``rows`` are the numbers of rows of each text.
    """
    counter = _counter()
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no text has a word
        return (), ()
    in_rows = np.asarray(rows, dtype=np.float64) @ (counts > 0)
    frequent = np.argsort(-in_rows, kind="stable")[:MAX_WORDS]
    kept = np.sort(frequent[in_rows[frequent] >= MIN_WORD_ROWS])
    weights = 1 + np.log((1 + sum(rows)) / (1 + in_rows[kept]))
    return tuple(counter.get_feature_names_out()[kept].tolist()), tuple(weights.tolist())


def word_weights(texts: Sequence[str], column: Column) -> csr_matrix:
    """The weights of the words of a column in each text; words that are not in the vocabulary are left out."""
    from sklearn.preprocessing import normalize  # slow to load

    found = _counter({word: place for place, word in enumerate(column.levels)}).transform(texts)
    found.data = (1 + np.log(found.data)) * np.asarray(column.word_weights)[found.indices]
    return normalize(found, copy=False) * LENGTH


def _counter(known: dict[str, int] | None = None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer  # slow to load

    return CountVectorizer(token_pattern=_WORD, ngram_range=(1, 2), vocabulary=known, dtype=np.float64)
