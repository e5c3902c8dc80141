"""Seeded data to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

Array = np.ndarray[Any, Any]


def gaussian_classes(n: int, p: int, n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Classes that overlap, with correlated columns."""
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
    """Sequences of four letters, each place a column of 0 and 1 for each letter; a third of them tell the class."""
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


def softmax_rows(n: int, p: int, n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Many classes whose log-odds are linear in correlated columns."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p)
    X = rng.normal(size=(n, p)) @ mixing
    coef = 2 * rng.normal(size=(n_classes, p)) / np.sqrt(p)
    return X, (X @ coef.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


def text_like(n: int = 100_000, p: int = 50_000, words: int = 70, seed: int = 0) -> tuple[Any, Array]:
    """Sparse rows of log word counts with Zipf's frequencies, and two classes."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, p + 1) ** 0.9
    columns = rng.choice(p, size=(n, words), p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * words), columns.ravel(), np.arange(0, n * words + 1, words)), shape=(n, p))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    scores = X @ (rng.normal(size=p) * (rng.random(p) < 0.05))
    return X, (rng.random(n) < 1 / (1 + np.exp(scores.mean() - scores))).astype(int)


def unit_length_text() -> tuple[Any, Array]:
    """The same, each row divided by its length."""
    X, y = text_like()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags_array(1 / lengths) @ X), y
