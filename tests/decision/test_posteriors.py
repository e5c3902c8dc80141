"""Posteriors: what they accept, what they refuse, and how they move to other priors."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.decision import Posterior, posterior, top_k
from discriminant.errors import DegenerateDataError, InputError, LabelError, ParameterError
from helpers import normal_classes

P = np.array([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]])


def test_rows_sum_to_one_and_labels_are_the_most_probable():
    found = Posterior(P, classes=["a", "b", "c"])
    assert_allclose(found.probabilities, P, rtol=1e-15)
    assert_array_equal(found.labels(), ["b", "a"])
    assert len(found) == 2


@pytest.mark.parametrize("make", [np.asarray, np.float32, lambda p: p.tolist(), np.asfortranarray])
def test_any_array_of_probabilities_will_do(make):
    found = Posterior(make(P))
    assert_allclose(found.probabilities, P, atol=1e-7)
    assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-15)
    assert_array_equal(found.classes, [0, 1, 2])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_brings_its_class_names_in_any_order(frame):
    table = frame({"c": P[:, 2], "a": P[:, 0], "b": P[:, 1]})
    assert_array_equal(Posterior(table).classes, ["c", "a", "b"])
    assert_allclose(Posterior(table, classes=["a", "b", "c"]).probabilities, P, rtol=1e-15)


def test_a_frame_that_only_knows_text_names_numbers_by_their_digits():
    table = pl.DataFrame({"1": [0.3], "0": [0.7]})
    assert_allclose(Posterior(table, classes=[0, 1]).probabilities, [[0.7, 0.3]])


def test_rows_can_be_taken_out_bit_for_bit():
    rng = np.random.default_rng(0)
    found = Posterior(rng.dirichlet(np.ones(4), 20))
    assert_array_equal(found[3].probabilities, found.probabilities[3:4])
    chosen = found.probabilities[:, 0] > 0.2
    assert_array_equal(found[chosen].probabilities, found.probabilities[chosen])


def test_pickles():
    found = pickle.loads(pickle.dumps(Posterior(P, priors=[0.2, 0.3, 0.5])))
    assert_array_equal(found.probabilities, Posterior(P).probabilities)


@given(st.integers(2, 5), st.integers(0, 10_000))
def test_new_priors_there_and_back(K, seed):
    rng = np.random.default_rng(seed)
    old, new = rng.dirichlet(np.ones(K) * 3, 2)
    found = Posterior(rng.dirichlet(np.ones(K), 10), priors=old)
    moved = found.with_priors(new)
    assert_allclose(moved.probabilities.sum(axis=1), 1, rtol=1e-14)
    assert_allclose(moved.with_priors(old).probabilities, found.probabilities, rtol=1e-11)
    assert_array_equal(moved.priors, new)


@given(st.integers(0, 10_000))
def test_new_priors_are_bayes_rule_with_the_likelihoods(seed):
    rng = np.random.default_rng(seed)
    likelihood = rng.exponential(size=(6, 3))
    old, new = rng.dirichlet(np.ones(3), 2)

    def by_bayes(priors):
        return likelihood * priors / (likelihood * priors).sum(axis=1, keepdims=True)

    assert_allclose(Posterior(by_bayes(old), priors=old).with_priors(new).probabilities, by_bayes(new), rtol=1e-11)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_new_priors_equal_a_model_refitted_with_them(model):
    X, y = normal_classes()
    new = np.array([0.1, 0.6, 0.3])
    shifted = posterior(model().fit(X, y), X).with_priors(new)
    assert_allclose(shifted.probabilities, model(priors=new).fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-13)


def test_new_priors_by_name_and_a_class_that_vanishes():
    found = Posterior(P, classes=list("abc"), priors=[0.3, 0.3, 0.4]).with_priors({"c": 0, "b": 0.5, "a": 0.5})
    assert_allclose(found.probabilities, [[2 / 7, 5 / 7, 0], [0.9, 0.1, 0]])


def test_training_priors_are_found_in_any_model():
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]
    shares = np.bincount(y) / len(y)
    scaled = make_pipeline(StandardScaler(), SklearnGaussianNB())
    search = GridSearchCV(LinearDiscriminantAnalysis(), {"shrinkage": [0.1]}, cv=2)
    for model in (LinearDiscriminantAnalysis(), SklearnGaussianNB(), MultinomialNB(), scaled, search):
        assert_allclose(posterior(model.fit(X, y), X).priors, shares, rtol=1e-12)
    logistic = SklearnLogisticRegression(max_iter=1000).fit(X, y)
    assert posterior(logistic, X).priors is None
    assert_allclose(posterior(logistic, X, priors=shares).priors, shares)


def test_top_k_against_sorting():
    rng = np.random.default_rng(1)
    found = Posterior(rng.dirichlet(np.ones(5), 30), classes=list("abcde"))
    best = top_k(found, 3)
    for row, labels, values in zip(found.probabilities, best.labels, best.probabilities, strict=True):
        order = sorted(range(5), key=lambda k: -row[k])[:3]
        assert_array_equal(labels, [list("abcde")[k] for k in order])
        assert_array_equal(values, row[order])
    assert best.sets[0] == frozenset(best.labels[0])
    assert_allclose(best.mass, best.probabilities.sum(axis=1))
    assert_allclose(top_k(found, 5).mass, 1)
    assert_array_equal(top_k(found, 1).labels[:, 0], found.labels())


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([[0.5, 0.5], [0.5, 0.6]], InputError, "row 1 sum to 1.1"),
        ([[0.5, 0.5], [1.5, -0.5]], InputError, r"Row 1 .*-0.5.*class 'b'"),
        ([[0.5, np.nan]], InputError, r"Row 0 .*nan.*class 'b'"),
        ([[np.inf, 0.0]], InputError, "Row 0 .*inf.*class 'a'"),
        ([[0.0, 0.0]], InputError, "row 0 sum to 0"),
        ([[0.2, 0.3, 0.5]], InputError, "3 columns, expected 2"),
        ([0.2, 0.8], InputError, r"np.column_stack\(\[1 - p, p\]\)"),
        ([["a", "b"]], InputError, "'a'"),
        (np.empty((0, 2)), InputError, "shape"),
        (pd.DataFrame({"a": [0.5], "z": [0.5]}), LabelError, "class 'b'"),
        (pd.DataFrame({"a": [0.5], "b": [0.5], "z": [0.0]}), LabelError, "class 'z'"),
    ],
)
def test_what_are_not_probabilities_is_refused_by_row_and_class(values, error, words):
    with pytest.raises(error, match=words):
        Posterior(values, classes=["a", "b"])


def test_the_bad_row_is_found_in_a_large_table():
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(3), 60_000)
    values[54_321, 2] = np.nan
    with pytest.raises(InputError, match=r"Row 54321 .*nan.*class 2"):
        Posterior(values)


def test_other_refusals():
    with pytest.raises(LabelError, match="'a'"):
        Posterior([[0.5, 0.5]], classes=["a", "a"])
    with pytest.raises(LabelError, match="got 'ab'"):
        Posterior([[0.5, 0.5]], classes="ab")
    with pytest.raises(ParameterError, match="priors"):
        Posterior(P).with_priors([0.2, 0.3, 0.5])
    with pytest.raises(ParameterError, match=r"sum to 1, got 0\.6"):
        Posterior(P, priors=[0.2, 0.2, 0.2])
    with pytest.raises(ParameterError, match="Class 2 "):
        Posterior(P, priors=[0.5, 0.5, 0.0]).with_priors([0.2, 0.3, 0.5])
    with pytest.raises(DegenerateDataError, match="Row 1 "):
        Posterior(P, priors=[0.4, 0.3, 0.3]).with_priors([0.0, 0.0, 1.0])
    with pytest.raises(ParameterError, match=r"priors.*'d'"):
        Posterior(P, classes=list("abc"), priors={"a": 0.5, "d": 0.5})
    with pytest.raises(ParameterError, match=r"priors.*'b'"):
        Posterior(P, classes=list("abc"), priors={"a": 0.5, "c": 0.5})
    with pytest.raises(ParameterError, match="got 4"):
        top_k(P, 4)
    with pytest.raises(ParameterError, match="k must"):
        top_k(P, 0)


def test_margins_are_not_probabilities():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="RidgeClassifier"):
        posterior(RidgeClassifier().fit(X, y), X)
