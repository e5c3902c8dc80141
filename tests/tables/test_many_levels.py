"""Categories with many levels: a sparse column for each, with effects that are shrunken towards their mean."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discriminant import AutoClassifier, LogisticRegressionCV, TableEncoder, load, open_dataset, read_training, save
from discriminant.data import as_rows
from discriminant.errors import ParameterError
from discriminant.estimators.dense_columns import dense_columns
from discriminant.estimators.explanations import contributions
from discriminant.estimators.registry import common_coding
from discriminant.storage.export import export
from discriminant.tables import Schema

FAMILIES = ["ridge", "rda", "splines", "pairs"]


def sales(n, seed, effect=1.5, n_levels=150):
    """A number with a curved effect, and shops whose effects are normal."""
    rng = np.random.default_rng(seed)
    effects = np.random.default_rng(9).normal(0, effect, n_levels)
    shop, x = rng.integers(0, n_levels, n), rng.normal(size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-np.sin(2 * x) - effects[shop])), "yes", "no")
    return pd.DataFrame({"shop": [f"s{k}" for k in shop], "x": x, "y": y})


@pytest.fixture(scope="module")
def table():
    found = sales(900, 0)
    found.loc[range(0, 60, 3), "shop"] = None
    found.loc[[1, 2, 4], "shop"] = ["once", "twice", "twice"]
    return found


@pytest.fixture(scope="module")
def training(table):
    return read_training(table, "y", coding="sparse")


@pytest.fixture(scope="module")
def model(training):
    return AutoClassifier(FAMILIES).fit(training.rows, training.y)


def test_every_level_of_two_rows_has_a_sparse_column(table, training):
    counts = table["shop"].value_counts()
    levels = sorted(counts.index[counts >= 2])
    assert training.schema.names == (*(f"shop={level}" for level in levels), "shop=(missing)", "x")
    rows = training.X[:, :-1].tocsr()
    expected = table["shop"].map({level: place for place, level in enumerate(levels)})
    expected = expected.where(table["shop"].notna(), len(levels)).astype("Int64")
    has_column = expected.notna().to_numpy()
    assert_array_equal(rows[has_column].indices, expected[has_column].astype(int))
    assert rows[~has_column].nnz == 0  # a level of one row
    assert not training.rows.redundant.any()


def test_unseen_levels_have_no_column(training):
    stored = Schema.from_dict(json.loads(json.dumps(training.schema.to_dict())))
    for schema in (stored, stored.with_unseen_as_reference):
        X, report = schema.encode_batch(pd.DataFrame({"shop": ["elsewhere", "once"], "x": [1.0, 2.0]}))
        assert_array_equal(X.toarray()[:, :-1], 0)
        assert "the mean of the levels" in report.unseen_notes()[0]
        assert report.unseen["shop"].total() == 1


def test_few_levels_and_other_codings_are_unchanged(table):
    few = table.assign(shop=table["shop"].str[:2])
    for frame, coding, max_levels in ((few, "sparse", 50), (table, "sparse", 200), (table, "full", 50)):
        found = read_training(frame, "y", coding=coding, max_levels=max_levels)
        other = read_training(frame, "y", coding="full", max_levels=max_levels)
        assert_array_equal(found.X, other.X)
    assert common_coding(["ridge", "auto"]) == "sparse"
    assert common_coding(["ridge", "rda"]) == "full"


def test_streamed_tables_have_the_same_levels(table, training, tmp_path):
    table.to_parquet(tmp_path / "table.parquet")
    encoder = TableEncoder(coding="sparse", rare=5).fit(open_dataset(tmp_path / "table.parquet", target="y"))
    assert encoder.schema_.names == training.schema.names


def test_effects_of_rare_levels_are_shrunken_most():
    """A level's effect is zero without rows, and approaches its log-odds with many."""
    sizes = np.repeat([2, 20], 40)
    shop = np.repeat([f"s{k:02}" for k in range(80)], sizes)
    is_high = np.arange(80) % 2 == 0
    rng = np.random.default_rng(0)
    y = rng.random(len(shop)) < np.repeat(np.where(is_high, 0.9, 0.1), sizes)
    training = read_training(
        pd.DataFrame({"shop": shop, "x": rng.normal(size=len(shop)), "y": y}), "y", coding="sparse"
    )
    coef = LogisticRegressionCV().fit(training.rows, training.y).coef_[0, :-1] * np.where(is_high, 1, -1)
    assert 0 < coef[:40].mean() < 0.6 * coef[40:].mean()


def test_the_pool_gains_over_other_levels_in_one(table):
    """The dense families know the effects of levels; without such effects nothing is lost but noise."""
    for effect, least, most in ((1.5, 0.75, 0.93), (0.0, 0.97, 1.02)):
        new, losses = sales(1500, 1, effect), []
        train = sales(900, 0, effect)
        for coding in ("full", "sparse"):
            found = read_training(train, "y", coding=coding)
            model = AutoClassifier(FAMILIES).fit(found.rows, found.y)
            p = model.predict_proba(found.schema.rows(found.schema.encode_batch(new)[0]))
            losses.append(-np.log(p[np.arange(len(new)), (new["y"] == "yes").astype(int)]).mean())
        assert least < losses[1] / losses[0] < most


def test_dense_families_have_rules_for_all_columns(training, model, tmp_path):
    assert {member.name for member in model.members_ if member.weight > 0.05} & {"splines", "pairs"}
    X = training.X[:50]
    dense, sparse = (as_rows(values, training.schema.names) for values in (X.toarray(), X))
    assert_allclose(model.predict_proba(dense), model.predict_proba(sparse))
    save(model, tmp_path / "model.dsc", schema=training.schema)
    assert_array_equal(load(tmp_path / "model.dsc").predict_proba(sparse), model.predict_proba(sparse))
    found = contributions(model, training.X[5], training.seen()["means"], training.schema)
    assert {row.column for row in found.rows} == {"shop", "x"}
    places = dense_columns(training.rows)
    assert training.schema.names[places[-1]] == "x"
    assert len(places) < 60


def test_exports_score_as_the_model_or_are_refused(table, training, model):
    ridge = LogisticRegressionCV().fit(training.rows, training.y)
    exported = {}
    exec(export(ridge, "python", schema=training.schema), exported)
    values = [*table[["shop", "x"]].head(40).to_dict("records"), {"shop": "elsewhere", "x": 0.3}]
    X = training.schema.encode_batch(pd.DataFrame(values))[0]
    expected = ridge.predict_proba(training.schema.rows(X))
    assert_allclose([exported["predict_proba"](row) for row in values], expected)
    with pytest.raises(ParameterError, match="many levels"):
        export(model, "sql", schema=training.schema)
