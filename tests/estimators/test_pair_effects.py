"""Interactions of pairs in a pool: surfaces without the effects of single columns, and their heat map."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from discriminant import AutoClassifier, LogisticRegression, figures, pair_effects, read_training


def attributes(n=400, seed=0):
    """Two levels and a number that have interactions, and two columns without."""
    rng = np.random.default_rng(seed)
    town, size = rng.choice(["a", "b", "c"], n), rng.choice(["s", "m", "l"], n, p=[0.5, 0.3, 0.2])
    age = rng.normal(40, 10, n)
    y = (town == "a") == (size == "s")
    noise = rng.random(n) < 0.02
    return pd.DataFrame({"age": age, "town": town, "size": size, "x": rng.normal(size=n), "y": y ^ noise})


@pytest.fixture(scope="module")
def fitted():
    training = read_training(attributes(), "y", coding="sparse")
    seen = training.seen()
    model = AutoClassifier(["ridge", "pairs"]).fit(training.rows, training.y)
    return model, pair_effects(model, seen["means"], seen["lowest"], seen["highest"], training.schema)


def test_the_pair_of_the_rule_is_first(fitted):
    found = fitted[1].rows[0]
    assert found.columns == ("town", "size")
    surface = pd.DataFrame(found.effects, found.values[0], found.values[1])
    assert surface.loc["a", "s"] > 0.5 > -0.5 > surface.loc["a", "m"]
    assert surface.loc["b", "m"] > 0 > surface.loc["b", "s"]
    assert "town x size" in str(fitted[1])


def test_interactions_have_no_effects_of_single_columns(fitted):
    for found in fitted[1].rows:
        assert found.effects.shape == tuple(map(len, found.values))
        assert_allclose(found.effects.mean(axis=0), 0, atol=1e-9)
        assert_allclose(found.effects.mean(axis=1), 0, atol=1e-9)
    assert len({found.columns for found in fitted[1].rows}) == len(fitted[1].rows)


def test_models_without_pairs_have_none():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    bounds = X.mean(axis=0), X.min(axis=0), X.max(axis=0)
    assert pair_effects(AutoClassifier(["ridge", "rda"]).fit(X, y), *bounds).rows == []
    assert pair_effects(LogisticRegression().fit(X, y), *bounds).rows == []


def test_the_heat_map_has_the_effects(fitted):
    found = fitted[1].rows[0]
    drawn = figures.pair_effect(found).data[0]
    assert_allclose(drawn.z, found.effects.T)
    assert (list(drawn.x), list(drawn.y)) == found.values
    assert drawn.zmax == -drawn.zmin == np.abs(found.effects).max()
