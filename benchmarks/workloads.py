"""Seeded data to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_iris

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
