"""Naive Bayes on mixed tables, in streams, and on sparse counts."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from scipy.stats import bernoulli, norm

from discriminant import GaussianNB, NaiveBayes
from discriminant.data import labelled_rows
from discriminant.estimators import naive_bayes
from discriminant.estimators.moment_classifier import collected
from discriminant.estimators.naive_bayes import naive_bayes_rule
from discriminant.folds import HeldOut
from discriminant.moments.statistic import ClassMoments
from helpers import normal_classes

PLAN = {"visits": "counts", "smokes": "bernoulli", "word": "multinomial", "other": "multinomial"}


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns = {
        "colour": [["red", "blue", "green"][(k + int(r < 0.4)) % 3] for k, r in zip(y, rng.random(n), strict=True)],
        "size": rng.normal(y),
        "visits": rng.poisson(1 + y).astype(float),
        "smokes": (rng.random(n) < 0.2 + 0.3 * y).astype(float),
        "word": rng.poisson(1 + y).astype(float),
        "other": rng.poisson(3.0, n).astype(float),
    }
    return pd.DataFrame(columns), y


def test_every_frame_gives_the_same_model():
    X, y = table()
    expected = NaiveBayes(distributions=PLAN).fit(X, y).predict_proba(X)
    for frame in (
        pl.from_pandas(X),
        pa.Table.from_pandas(X, preserve_index=False),
        X.assign(colour=X["colour"].astype("category")),
    ):
        assert_array_equal(NaiveBayes(distributions=PLAN).fit(frame, y).predict_proba(frame), expected)


def test_an_object_array_gives_the_same_model():
    X, y = table()
    kinds = NaiveBayes(distributions=PLAN).fit(X, y).distributions_
    values = X.astype(object).to_numpy()
    model = NaiveBayes(distributions=list(kinds)).fit(values, y)
    expected = NaiveBayes(distributions=PLAN).fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(values), expected, rtol=1e-12)


@pytest.mark.parametrize("cuts", [[1], [200], [3, 4, 399], list(range(10, 400, 10))], ids=len)
def test_a_stream_gives_the_model_of_one_fit(cuts):
    X, y = table()
    model = NaiveBayes(distributions=PLAN)
    for part in np.split(np.arange(400), cuts):
        model.partial_fit(X.iloc[part], y[part], classes=[0, 1, 2])
    expected = NaiveBayes(distributions=PLAN).fit(X, y)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_a_level_may_come_late_in_a_stream():
    X, y = table()
    order = np.argsort(X["colour"].to_numpy(), kind="stable")
    X, y = X.iloc[order], y[order]
    model = NaiveBayes().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    model.partial_fit(X[100:], y[100:])
    assert_allclose(model.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("distribution", ["multinomial", "counts", "bernoulli", "gaussian"])
def test_sparse_rows_give_the_model_of_dense_ones(distribution):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.minimum(rng.poisson(0.3 + 0.3 * y[:, None], (300, 8)), 1.0 if distribution == "bernoulli" else 9.0)
    dense = NaiveBayes(distributions=distribution).fit(X, y)
    sparse = NaiveBayes(distributions=distribution).fit(sp.csr_array(X), y)
    for rows in (X, sp.csr_array(X)):
        assert_allclose(sparse.predict_proba(rows), dense.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_sparse_columns_may_have_several_distributions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.poisson(0.5 + y[:, None], (300, 4)).astype(float)
    X[:, 1] = np.minimum(X[:, 1], 1)
    plan = ["counts", "bernoulli", "multinomial", "multinomial"]
    dense, sparse = (NaiveBayes(distributions=plan).fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), rtol=1e-10)


def test_a_count_column_without_a_single_count_speaks_for_no_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = np.column_stack([rng.poisson(1 + y), np.zeros(60)]).astype(float)
    model = NaiveBayes(distributions="counts").fit(X, y)
    new = X + np.array([0, 1])
    assert_allclose(model.predict_proba(new), model.predict_proba(X), rtol=1e-12)


def test_booleans_of_a_frame_are_yes_or_no():
    X, y = table()
    boolean = X.assign(smokes=X["smokes"].astype(bool))
    model = NaiveBayes().fit(boolean, y)
    assert model.distributions_[3] == "bernoulli"
    expected = NaiveBayes(distributions={"smokes": "bernoulli"}).fit(X, y)
    assert_allclose(model.predict_proba(boolean), expected.predict_proba(X), rtol=1e-12)


def test_gaussian_columns_are_gaussian_naive_bayes():
    X, y = table()
    numbers = X.drop(columns="colour")
    mixed, plain = NaiveBayes().fit(numbers, y), GaussianNB().fit(numbers, y)
    assert_allclose(mixed.predict_proba(numbers), plain.predict_proba(numbers), rtol=1e-10)


def test_levels_of_several_types():
    X = np.array([["u", 1], ["v", "one"], ["u", "one"], ["v", 1]], dtype=object)
    model = NaiveBayes(distributions="categorical").fit(X, [0, 1, 0, 1])
    assert_array_equal(model.predict(X), [0, 1, 0, 1])


def test_a_column_of_many_levels_in_several_blocks():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40_000)
    X = pd.DataFrame({"code": (rng.integers(0, 500, 40_000) + 200 * y).astype(str), "x": rng.normal(size=40_000)})
    one, many = (NaiveBayes(n_jobs=jobs).fit(X, y).predict_proba(X) for jobs in (1, 3))
    assert_array_equal(one, many)
    assert np.mean((one[:, 1] > 0.5) == y) > 0.6


# --- on coded rows, with splits -------------------------------------------------------------------------------------


def written_out(X, y, rows, pooling, whole):
    """Log-densities of the rows from SciPy's distributions, drawn towards all rows by two of them."""
    found = np.zeros((len(rows), y.max() + 1))
    for k, own in enumerate(X[y == k] for k in range(y.max() + 1)):
        for j in range(X.shape[1]):
            if set(whole[:, j]) <= {0.0, 1.0}:
                share = (own[:, j].sum() + 2 * whole[:, j].mean()) / (len(own) + 2)
                found[:, k] += bernoulli(share).logpmf(rows[:, j])
                continue
            scatter = [((X[y == c, j] - X[y == c, j].mean()) ** 2).sum() for c in range(y.max() + 1)]
            total = (1 - pooling) * scatter[k] + pooling * sum(scatter) + 2 * whole[:, j].var()
            sd = np.sqrt(total / ((1 - pooling) * len(own) + pooling * len(X) + 2))
            found[:, k] += norm(own[:, j].mean(), sd).logpdf(rows[:, j])
    return found


def test_held_out_posteriors_of_coded_rows_are_those_of_the_definition():
    X, y = normal_classes(n=120)
    X[:, 2] = X[:, 2] > 0.5
    held, shares = HeldOut.repeated(y, 4), np.bincount(y) / len(y)
    tuned = naive_bayes_rule(labelled_rows(X, y), held)
    temperature = tuned.settings["temperature"]
    losses = {}
    for pooling in (1.0, 0.5, 0.1, 0.0):
        logs = np.empty((len(held.rows), 3))
        for split in range(held.n_splits):
            train, pairs = held.seen[:, split], held.fits == split
            logs[pairs] = written_out(X[train], y[train], X[held.rows[pairs]], pooling, X)
        logs = log_softmax(temperature * logs + np.log(shares), axis=1)
        losses[pooling] = -logs[np.arange(len(logs)), y[held.rows]].mean()
        if pooling == tuned.settings["pooling"]:
            assert_allclose(tuned.log_posteriors, logs, rtol=1e-9)
    assert_allclose(tuned.loss, min(losses.values()), rtol=1e-9)
    assert losses[tuned.settings["pooling"]] == min(losses.values())
    expected = temperature * written_out(X, y, X, tuned.settings["pooling"], X) + np.log(shares)
    assert_allclose(log_softmax(tuned.rule.scores(X), axis=1), log_softmax(expected, axis=1), rtol=1e-9, atol=1e-12)


def test_coded_rows_may_be_constant_rare_and_in_any_units():
    X, y = normal_classes(n=100)
    X = np.column_stack((X, np.full(100, 3.0), np.arange(100) == 7))
    y[:2] = 3
    held = HeldOut.repeated(y)
    tuned, other = (naive_bayes_rule(labelled_rows(rows, y), held) for rows in (X, X * [1e9, 1, 1e-3, 5, 2, -4] + 7))
    assert np.isfinite(tuned.loss)
    assert np.isfinite(tuned.rule.scores(X)).all()
    assert_allclose(other.log_posteriors, tuned.log_posteriors, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_scores_at_all_poolings_are_those_of_the_rules(kind, monkeypatch):
    """Also of a class without weight, and where the rows are looked at in parts."""
    monkeypatch.setattr(naive_bayes, "CACHED_VALUES", 30)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 5)), np.arange(50) % 4
    X[:, 2] = X[:, 2] > 0
    data = labelled_rows(kind(X), y, np.where(y == 2, 0.0, rng.uniform(0.5, 2, 50)))
    moments = collected(data, ClassMoments(4, 5, "diagonal"), 1)
    columns = naive_bayes._Columns.of_rows(data.rows, moments)
    found = columns.scores(data.rows.block(0, 50), moments)
    for own, pooling in zip(found.swapaxes(0, 1), naive_bayes.POOLINGS, strict=True):
        assert_allclose(own, columns.rule(moments, pooling).scores(X), rtol=1e-12)
