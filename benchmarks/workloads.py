"""Simulated data with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

Array = np.ndarray[Any, Any]


def gaussian_classes(n: int, p: int, n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Overlapping normal classes with correlated columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    means = 0.5 * rng.normal(size=(n_classes, p))
    mixing = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p)
    return means[y] + rng.normal(size=(n, p)) @ mixing, y


def iris() -> tuple[Array, Array]:
    X, y = load_iris(return_X_y=True)
    return X, y


def digits() -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    return X, y


def gene_expression(n: int, p: int, seed: int = 0) -> tuple[Array, Array]:
    """Few rows of many columns that depend on a few factors, one in twenty of them on the class (1 : 2)."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 10)) @ rng.normal(size=(10, p)) / 2
    told = rng.random(p) < 0.05
    X[:, told] += np.outer(y, rng.normal(size=np.count_nonzero(told)))
    return X, y


def coded_sequences(n: int = 106, length: int = 57, seed: int = 0) -> tuple[Array, Array]:
    """Sequences of four letters, coded by indicators of the letter at each place; a third of them have effects."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    letters, usual = rng.integers(0, 4, (n, length)), rng.integers(0, 4, length)
    told = (rng.random(length) < 0.3) & (rng.random((n, length)) < 0.5) & (y[:, None] == 1)
    letters = np.where(told, usual, letters)
    return (letters[:, :, None] == np.arange(4)).reshape(n, -1).astype(float), y


def logistic_rows(n: int, p: int, seed: int = 0) -> tuple[Array, Array]:
    """Two classes whose log-odds are linear in correlated columns of different scales."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p)
    X = rng.normal(size=(n, p)) @ mixing
    coef = rng.normal(size=p) / np.sqrt(p)
    y = (rng.random(n) < 1 / (1 + np.exp(0.3 - X @ coef))).astype(int)
    return X * np.geomspace(0.3, 3, p), y


def softmax_rows(n: int, p: int, n_classes: int, seed: int = 0, correlated: bool = True) -> tuple[Array, Array]:
    """Many classes whose log-odds are linear in the columns, correlated ones or independent ones."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p) if correlated else np.eye(p)
    X = rng.normal(size=(n, p)) @ mixing
    coef = 2 * rng.normal(size=(n_classes, p)) / np.sqrt(p)
    return X, (X @ coef.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


def embeddings(n: int, p: int, n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Rows of unit length in float32: class means plus correlated noise with a decaying spectrum, around a mean."""
    rng = np.random.default_rng(seed)
    spectrum, y = (1 + np.arange(p)) ** -0.5, rng.integers(0, n_classes, n)
    X = (0.6 * rng.normal(size=(n_classes, p))[y] + rng.normal(size=(n, p)) + 0.5) * spectrum
    X = (X @ np.linalg.qr(rng.normal(size=(p, p)))[0]).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def periodic_rows(n: int, p: int, shuffled: bool) -> tuple[Array, Array]:
    """Rows of which every eighth belongs to the second class, or the same rows in random order."""
    X, y = logistic_rows(n, p)
    runs = min(np.count_nonzero(y == 0) // 7, np.count_nonzero(y))
    first, second = np.flatnonzero(y == 0)[: 7 * runs].reshape(-1, 7), np.flatnonzero(y)[:runs]
    rows = np.column_stack((second, first)).ravel()
    rows = np.random.default_rng(0).permutation(rows) if shuffled else rows
    return X[rows], y[rows]


def text_like(n: int = 100_000, p: int = 50_000, words: int = 70, seed: int = 0) -> tuple[Any, Array]:
    """Sparse rows of log word counts with Zipf's frequencies, and two classes."""
    rng = np.random.default_rng(seed)
    X = _word_counts(rng, n, p, words)
    scores = X @ (rng.normal(size=p) * (rng.random(p) < 0.05))
    return X, (rng.random(n) < 1 / (1 + np.exp(scores.mean() - scores))).astype(int)


def text_of_topics(n: int = 20_000, p: int = 30_000, words: int = 80, n_classes: int = 20) -> tuple[Any, Array]:
    """Sparse rows of log word counts with Zipf's frequencies, and many classes."""
    rng = np.random.default_rng(0)
    X = _word_counts(rng, n, p, words)
    scores = X @ (rng.normal(size=(p, n_classes)) * (rng.random((p, 1)) < 0.3))
    return X, (2 * (scores - scores.mean(axis=0)) / scores.std() + rng.gumbel(size=scores.shape)).argmax(axis=1)


def _word_counts(rng: np.random.Generator, n: int, p: int, words: int) -> Any:
    frequency = 1 / np.arange(1, p + 1) ** 0.9
    columns = rng.choice(p, size=(n, words), p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * words), columns.ravel(), np.arange(0, n * words + 1, words)), shape=(n, p))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    return X


def tf_idf_text() -> tuple[Any, Array]:
    """Log counts times inverse document frequencies, with rows of unit length."""
    X, y = text_like()
    X.data *= np.log(X.shape[0] / np.maximum(np.bincount(X.indices, minlength=X.shape[1]), 1))[X.indices]
    return _of_unit_length(X), y


def _of_unit_length(X: Any) -> Any:
    return sp.csr_matrix(sp.diags_array(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)


def unit_length_text() -> tuple[Any, Array]:
    """Sparse rows of log word counts, with rows of unit length."""
    X, y = text_like()
    return _of_unit_length(X), y
