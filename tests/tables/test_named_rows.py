"""Rows of a table carry the names of their columns: models know them, and messages call columns by name."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import StandardScaler

from discriminant import (
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NaiveBayes,
    OneVsRest,
    SupportVectorClassifier,
    cross_validate,
    read_training,
)
from discriminant.data import DenseRows, SparseRows, as_rows
from discriminant.errors import CollinearityWarning, ColumnError, DegenerateDataError, InputError

NAMES = ("dose", "dose=(missing)", "arm=b", "age")


@pytest.fixture(name="training")
def _training(tmp_path):
    rng = np.random.default_rng(5)
    lines = ["dose,arm,age,ill"]
    for i in range(120):
        dose = "" if i % 9 == 0 else f"{rng.normal(i % 2):.4f}"
        lines.append(f"{dose},{'aab'[rng.integers(3)]},{rng.integers(20, 80)},{'yn'[i % 2]}")
    path = tmp_path / "trial.csv"
    path.write_text("\n".join(lines))
    return read_training(path, "ill")


MODELS = [
    LinearDiscriminantAnalysis(),
    LogisticRegression(),
    SupportVectorClassifier(calibration="sigmoid"),
    NaiveBayes(),
    OneVsRest(LinearDiscriminantAnalysis()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_know_the_columns_of_a_table_by_name(training, model):
    named = model.fit(training.rows, training.y)
    assert_array_equal(named.feature_names_in_, NAMES)
    assert named.n_features_in_ == 4
    predicted = named.decision_function(training.rows)
    assert not hasattr(model.fit(training.X, training.y), "feature_names_in_")
    assert_array_equal(predicted, model.decision_function(training.X))


def test_no_value_is_copied(training):
    assert np.shares_memory(training.rows.values, training.X)
    assert np.shares_memory(np.asarray(training.rows), training.X)


def test_messages_call_columns_by_name(training):
    broken = training.X.copy()
    broken[17, 3] = np.nan
    with pytest.raises(InputError, match="'age', row 17"):
        LogisticRegression().fit(training.schema.rows(broken), training.y)
    constant = training.X.copy()
    constant[:, 3] = 7.0
    with pytest.raises(DegenerateDataError, match="'age'"):
        NaiveBayes(var_smoothing=0).fit(training.schema.rows(constant), training.y)
    double = training.X.copy()
    double[:, 3] = 2 * double[:, 0]
    with pytest.warns(CollinearityWarning, match="'(age|dose)'"):
        LinearDiscriminantAnalysis().fit(training.schema.rows(double), training.y)


def test_new_rows_are_compared_by_name(training):
    model = LinearDiscriminantAnalysis().fit(training.rows, training.y)
    with pytest.raises(ColumnError, match=r"(?s)feature names should match.*same order"):
        model.predict(as_rows(training.X, ("age", *NAMES[:3])))
    with pytest.raises(ColumnError, match=r"(?s)unseen at fit time.*- weight"):
        model.predict(as_rows(training.X, ("weight", *NAMES[1:])))
    with pytest.raises(ColumnError, match=r"(?s)yet now missing.*- age"):
        model.predict(as_rows(training.X[:, :3], NAMES[:3]))


@pytest.mark.parametrize("index", [slice(3, 30, 2), np.array([5, 1, 1]), np.arange(120) % 3 == 0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_some_rows_keep_the_names(training, index, kind):
    X = kind(training.X)
    some = training.schema.rows(X)[index]
    assert isinstance(some, SparseRows if sp.issparse(X) else DenseRows)
    assert some.names == NAMES
    assert len(some) == some.shape[0] == X[index].shape[0]
    assert_array_equal(sp.csr_matrix(some.values).toarray(), training.X[index])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_cross_validation_of_named_rows(training, kind):
    X = kind(training.X)
    named = cross_validate(LogisticRegression(), training.schema.rows(X), training.y)
    plain = cross_validate(LogisticRegression(), X, training.y)
    assert str(named) == str(plain)


def test_estimators_of_scikit_learn_take_named_rows(training):
    assert DummyClassifier().fit(training.rows, training.y).predict(training.rows[:5]).shape == (5,)
    assert_allclose(StandardScaler().fit_transform(training.rows), StandardScaler().fit_transform(training.X))
