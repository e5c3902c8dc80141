"""Whatever is given to a model, it fits and predicts, or one of our errors says what is wrong: no other exception."""

import datetime
import decimal
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from discriminant import (
    AutoClassifier,
    DecisionClassifier,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    LogisticRegressionPath,
    MinimumDistance,
    NaiveBayes,
    OneVsOne,
    OneVsRest,
    OutputCode,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
)
from discriminant.errors import DiscriminantError, InputError

ESTIMATORS = {
    "lda": LinearDiscriminantAnalysis,
    "lda, oas": lambda: LinearDiscriminantAnalysis(shrinkage="oas"),
    "lda, ledoit-wolf": lambda: LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
    "lda, cv": lambda: LinearDiscriminantAnalysis(shrinkage="cv", folds=3),
    "qda": QuadraticDiscriminantAnalysis,
    "qda, oas": lambda: QuadraticDiscriminantAnalysis(shrinkage="oas"),
    "gaussian nb": GaussianNB,
    "naive bayes": NaiveBayes,
    "fisher": FisherDiscriminant,
    "fisher, cv": lambda: FisherDiscriminant(threshold="cv", folds=3),
    "least squares": LeastSquaresClassifier,
    "minimum distance": MinimumDistance,
    "logistic": LogisticRegression,
    "ridge": lambda: LogisticRegression(alpha=0.1),
    "lasso": lambda: LogisticRegression(alpha=0.1, l1_ratio=1.0),
    "lbfgs": lambda: LogisticRegression(alpha=0.1, solver="lbfgs"),
    "newton-cg": lambda: LogisticRegression(alpha=0.1, solver="newton-cg"),
    "gradient": lambda: LogisticRegression(alpha=0.1, solver="gradient", max_iter=20),
    "sgd": lambda: LogisticRegression(alpha=0.1, solver="sgd", max_iter=3, random_state=0),
    "firth": lambda: LogisticRegression(firth=True),
    "path": lambda: LogisticRegressionPath(n_alphas=3),
    "logistic, cv": lambda: LogisticRegressionCV(n_alphas=3, cv=2),
    "perceptron": lambda: Perceptron(max_iter=5),
    "perceptron, dual": lambda: Perceptron(form="dual", max_iter=5),
    "perceptron, averaged": lambda: Perceptron(average=True, max_iter=5),
    "svm": SupportVectorClassifier,
    "svm, squared": lambda: SupportVectorClassifier(loss="squared_hinge"),
    "svm, dual": lambda: SupportVectorClassifier(solver="dual", max_iter=50),
    "svm, hard": lambda: SupportVectorClassifier(margin="hard"),
    "svm, calibrated": lambda: SupportVectorClassifier(calibration="sigmoid"),
    "one-vs-rest": lambda: OneVsRest(LinearDiscriminantAnalysis()),
    "one-vs-one": lambda: OneVsOne(LogisticRegression(alpha=0.1)),
    "output code": lambda: OutputCode(GaussianNB(), random_state=0),
    "decision": lambda: DecisionClassifier(GaussianNB()),
}
N = 24
rng = np.random.default_rng(0)
y = np.arange(N) % 2
X = rng.normal(size=(N, 3)) + y[:, None]
X.flags.writeable = y.flags.writeable = False


def with_one(value, dtype=np.float64):
    changed = X.astype(dtype)
    changed[5, 1] = value
    return changed


def as_objects(value):
    return with_one(value, object)


def labels(value):
    """Labels of two kinds, one of them odd."""
    out = np.empty(N, dtype=object)
    out[:] = [value if code else "a" for code in y]
    return out


def of_one_value(value):
    out = np.empty(N, dtype=object)
    out[:] = [value] * N
    return out


def sparse(**changes):
    matrix = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    for part, change in changes.items():
        setattr(matrix, part, change(getattr(matrix, part)))
    return matrix


def as_matrix(values):
    """A matrix, of which NumPy warns that it may be removed one day."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(values)


ROWS = {
    "tiny": X * 1e-308,
    "denormal": X * 5e-324,
    "squares that vanish": X * 1e-170,
    "squares that overflow": X * 1e160,
    "large": X * 1e75,
    "huge": X * 1e200,
    "largest": X * (np.finfo(float).max / 10),
    "scales apart": X * np.array([1e-300, 1.0, 1e300]),
    "scales some way apart": X * np.array([1e-100, 1.0, 1e100]),
    "one huge value": with_one(1e308),
    "one tiny value": with_one(1e-308),
    "far from 0": X + 1e15,
    "all 0": np.zeros((N, 3)),
    "all alike": np.ones((N, 3)),
    "rows alike in each class": np.repeat(y[:, None], 3, axis=1).astype(float),
    "infinity": with_one(np.inf),
    "minus infinity": with_one(-np.inf),
    "NaN": with_one(np.nan),
    "single, huge": (X * 1e38).astype(np.float32),
    "half": X.astype(np.float16),
    "long double": X.astype(np.longdouble),
    "long double, beyond double": X.astype(np.longdouble) * np.longdouble("1e400"),
    "big-endian": X.astype(">f8"),
    "int8": (X * 10).astype(np.int8),
    "uint64": np.full((N, 3), 2**64 - 1, np.uint64) - rng.integers(0, 99, (N, 3)).astype(np.uint64),
    "truth values": X > 0,
    "complex": X + 1j,
    "text": X.astype(str),
    "text of words": np.full((N, 3), "word"),
    "bytes": X.astype("S"),
    "dates": np.full((N, 3), "2020-01-01", dtype="M8[D]"),
    "durations": (X * 1000).astype("m8[s]"),
    "structured": np.zeros(N, dtype=[("a", float), ("b", float)]),
    "structured table": np.zeros((N, 3), dtype=[("a", float), ("b", float)]),
    "raw bytes": np.zeros((N, 3), dtype="V8"),
    "masked": np.ma.masked_array(X, X > 1),
    "masked, none": np.ma.masked_array(X),
    "matrix": as_matrix(X),
    "read from a buffer": memoryview(X.copy()),
    "columns first": np.asfortranarray(X),
    "backwards": X[::-1, ::-1],
    "every second": np.repeat(X, 2, axis=0)[::2],
    "broadcast": np.broadcast_to(X[0], (N, 3)),
    "one column": X[:, :1],
    "no columns": X[:, :0],
    "no rows": X[:0],
    "a list": X.tolist(),
    "a ragged list": [[1.0, 2.0], [3.0]] * 12,
    "a list of arrays": list(X),
    "one number": 3.0,
    "a word": "table",
    "nothing": None,
    "a dictionary": {"a": X[:, 0]},
    "a set": {1, 2},
    "a generator": (row for row in X),
    "a function": len,
    "three dimensions": X[:, :, None],
    "an integer beyond double": as_objects(10**400),
    "a large integer": as_objects(10**300),
    "a fraction": as_objects(decimal.Decimal("0.1")),
    "a word among numbers": as_objects("word"),
    "None among numbers": as_objects(None),
    "a list among numbers": as_objects([1.0]),
    "a dictionary among numbers": as_objects({}),
    "an array among numbers": as_objects(np.ones(2)),
    "a complex number among numbers": as_objects(1j),
    "a date among numbers": as_objects(datetime.date(2020, 1, 1)),
    "NaT among numbers": as_objects(np.datetime64("NaT", "s")),
    "an object among numbers": as_objects(object()),
    "NA among numbers": as_objects(pd.NA),
    "pandas": pd.DataFrame(X, columns=list("abc")),
    "pandas, names alike": pd.DataFrame(X, columns=list("aab")),
    "pandas, names of numbers": pd.DataFrame(X),
    "pandas, names of two types": pd.DataFrame(X, columns=["a", 1, 2]),
    "pandas, two levels of names": pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])),
    "pandas, nullable": pd.DataFrame(X, columns=list("abc")).convert_dtypes(),
    "pandas, missing": pd.DataFrame(with_one(np.nan), columns=list("abc")).convert_dtypes(),
    "pandas, arrow": pd.DataFrame(X, columns=list("abc")).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, sparse": pd.DataFrame.sparse.from_spmatrix(sparse(), columns=list("abc")),
    "pandas, categories": pd.DataFrame({"a": pd.Categorical(list("uvw") * 8)}),
    "pandas, periods": pd.DataFrame({"a": pd.period_range("2020", periods=N, freq="D")}),
    "pandas, intervals": pd.DataFrame({"a": pd.interval_range(0, N)}),
    "pandas, time zones": pd.DataFrame({"a": pd.date_range("2020", periods=N, tz="UTC")}),
    "pandas, lists": pd.DataFrame({"a": [[1.0]] * N, "b": X[:, 0]}),
    "pandas, dictionaries": pd.DataFrame({"a": [{}] * N, "b": X[:, 0]}),
    "pandas, large integers": pd.DataFrame({"a": pd.Series([10**400] * N, dtype=object), "b": X[:, 0]}),
    "pandas, decimals": pd.DataFrame({"a": [decimal.Decimal("0.1")] * N, "b": X[:, 0]}),
    "pandas, complex": pd.DataFrame({"a": X[:, 0] + 1j, "b": X[:, 0]}),
    "pandas, no rows": pd.DataFrame(X[:0], columns=list("abc")),
    "pandas, no columns": pd.DataFrame(index=range(N)),
    "a pandas column": pd.Series(X[:, 0]),
    "polars": pl.DataFrame(X, schema=list("abc")),
    "polars, lists": pl.DataFrame({"a": [[1.0, 2.0]] * N, "b": X[:, 0]}),
    "polars, arrays": pl.DataFrame({"a": [[1.0, 2.0]] * N}, schema={"a": pl.Array(pl.Float64, 2)}),
    "polars, structures": pl.DataFrame({"a": [{"u": 1.0}] * N, "b": X[:, 0]}),
    "polars, objects": pl.DataFrame({"a": pl.Series([object()] * N, dtype=pl.Object), "b": X[:, 0]}),
    "polars, bytes": pl.DataFrame({"a": [b"x"] * N, "b": X[:, 0]}),
    "polars, decimals": pl.DataFrame({"a": [decimal.Decimal("0.1"), decimal.Decimal("0.3")] * 12, "b": X[:, 0]}),
    "polars, nothing": pl.DataFrame({"a": [None] * N, "b": X[:, 0]}),
    "polars, times": pl.DataFrame({"a": [datetime.time(1)] * N, "b": X[:, 0]}),
    "polars, lazy": pl.DataFrame(X, schema=list("abc")).lazy(),
    "a polars column": pl.Series(X[:, 0]),
    "pyarrow": pa.table({"a": X[:, 0], "b": X[:, 1]}),
    "pyarrow, lists": pa.table({"a": [[1.0]] * N, "b": X[:, 0]}),
    "pyarrow, structures": pa.table({"a": [{"u": 1}] * N, "b": X[:, 0]}),
    "pyarrow, dictionaries": pa.table({"a": pa.array(["u", "v"] * 12).dictionary_encode(), "b": X[:, 0]}),
    "pyarrow, nothing": pa.table({"a": pa.nulls(N), "b": X[:, 0]}),
    "pyarrow, names alike": pa.table([X[:, 0], X[:, 1]], names=["a", "a"]),
    "sparse": sparse(),
    "sparse columns": sparse().tocsc(),
    "sparse, single": sparse().astype(np.float32),
    "sparse, huge": sparse() * 1e200,
    "sparse, tiny": sparse() * 1e-308,
    "sparse, complex": sparse() * 1j,
    "sparse, empty": sp.csr_array((N, 3)),
    "sparse, no rows": sp.csr_array((0, 3)),
    "sparse, NaN": sparse(data=lambda data: np.where(data > 1, np.nan, data)),
}
LABELS = {
    "dictionaries": labels({}),
    "lists": labels([1]),
    "sets": labels({1}),
    "arrays": labels(np.ones(2)),
    "tuples": labels((1, 2)),
    "objects": labels(object()),
    "only dictionaries": of_one_value({}),
    "only lists": of_one_value([1]),
    "lists of lists": [[0], [1]] * 12,
    "ragged lists": [[0], [1, 2]] * 12,
    "numbers and words": labels(1),
    "words and bytes": labels(b"b"),
    "None": labels(None),
    "NaN": labels(float("nan")),
    "NA": labels(pd.NA),
    "NaT": labels(pd.NaT),
    "complex": y + 1j,
    "continuous": X[:, 0],
    "infinite": np.where(y, np.inf, 0.0),
    "large integers": [10**400, 0] * 12,
    "integers apart": np.where(y, 2**62, -(2**62)),
    "unsigned": np.where(y, np.uint64(2**64 - 1), np.uint64(0)),
    "half": y.astype(np.float16),
    "long double": y.astype(np.longdouble),
    "dates": np.where(y, "2020-01-01", "2020-01-02").astype("M8[D]"),
    "date objects": labels(datetime.date(2020, 1, 1)),
    "structured": np.zeros(N, dtype=[("a", int)]),
    "raw": np.zeros(N, dtype="V4"),
    "empty words": np.where(y, "", "a"),
    "zero bytes": np.where(y, "a\0b", "a"),
    "byte words": np.where(y, b"a", b"b"),
    "text dtype": np.where(y, "a", "b").astype(np.dtypes.StringDType()),
    "two columns": np.column_stack([y, y]),
    "one column": y[:, None],
    "one row": y[None],
    "one label": 1,
    "a word": "labels",
    "no labels": y[:0],
    "too few": y[:-1],
    "one class": np.zeros(N, int),
    "a class in each row": np.arange(N),
    "masked": np.ma.masked_array(y, y == 1),
    "a dictionary": {"a": 1},
    "a set": {0, 1},
    "a generator": (label for label in y),
    "pandas lists": pd.Series([[0], [1]] * 12),
    "pandas categories": pd.Series(pd.Categorical(np.where(y, "a", "b"))),
    "pandas intervals": pd.Series(pd.interval_range(0, N)),
    "a pandas frame": pd.DataFrame({"a": y, "b": y}),
    "polars lists": pl.Series([[0], [1]] * 12),
    "polars structures": pl.Series([{"a": 0}, {"a": 1}] * 12),
    "polars categories": pl.Series(np.where(y, "a", "b").tolist(), dtype=pl.Categorical),
    "a polars frame": pl.DataFrame({"a": y}),
    "pyarrow": pa.array(y),
    "pyarrow lists": pa.array([[0], [1]] * 12),
    "sparse": sp.csr_array(y[:, None]),
}
WEIGHTS = {
    "huge": np.full(N, 1e308),
    "large": np.full(N, 1e200),
    "one huge": np.where(np.arange(N) == 3, 1e308, 1.0),
    "tiny": np.full(N, 1e-308),
    "denormal": np.full(N, 5e-324),
    "one denormal": np.where(np.arange(N) == 3, 5e-324, 1.0),
    "apart": np.where(y, 1e-300, 1e300),
    "all 0": np.zeros(N),
    "one row": np.where(np.arange(N) == 3, 1.0, 0.0),
    "two rows": np.where(np.arange(N) < 2, 1.0, 0.0),
    "one class": y.astype(float),
    "negative": -np.ones(N),
    "infinite": np.full(N, np.inf),
    "NaN": np.full(N, np.nan),
    "a number": 2.0,
    "infinity": np.inf,
    "words": ["a"] * N,
    "objects": [{}] * N,
    "a large integer": [10**400] * N,
    "a table": np.ones((N, 2)),
    "ragged": [[1.0], [1.0, 2.0]] * 12,
    "too few": np.ones(N - 1),
    "truth values": np.ones(N, bool),
    "long double": np.full(N, np.longdouble("1e400")),
    "complex": np.ones(N, complex),
    "dates": np.full(N, "2020", "M8[D]"),
    "masked": np.ma.masked_array(np.ones(N), y == 1),
    "a dictionary": {"a": 1.0},
    "missing": pd.Series([1, None] * 12, dtype="Int64"),
    "polars lists": pl.Series([[1.0]] * N),
    "sparse": sp.csr_array(np.ones((N, 1))),
}

every_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)


def used(model, rows):
    """Everything that a fitted model says of rows, each in its right form; our errors are answers too."""
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if not hasattr(model, name):
            continue
        try:
            found = getattr(model, name)(rows)
        except DiscriminantError:
            continue
        if name == "predict":
            assert set(found.tolist()) <= set(model.classes_.tolist())
        else:
            assert not np.isnan(found).any(), name
        if name == "predict_proba":
            assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)


def tried(make, rows, labels=y, weight=None):
    """Fit and use a model, in one go and as a stream. All arithmetic may warn, none may fail but by our errors."""
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("fit", "partial_fit"):
            if not hasattr(model, method):
                continue
            model = make()
            try:
                if weight is None:
                    getattr(model, method)(rows, labels)
                else:
                    getattr(model, method)(rows, labels, sample_weight=weight)
            except DiscriminantError:
                continue
            used(model, rows)


def failures(cases, call):
    """The cases that end in anything but an answer or one of our errors."""
    found = {}
    for name, case in cases.items():
        try:
            call(case)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {str(error)[:200]}"
    return found


@every_estimator
def test_any_rows_are_fitted_or_refused_in_our_words(make):
    assert failures(ROWS, lambda rows: tried(make, rows)) == {}


@every_estimator
def test_any_rows_are_predicted_or_refused_in_our_words(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X + 9.0 * y[:, None], y)  # far enough apart for a hard margin
        assert failures(ROWS, lambda rows: used(model, rows)) == {}


@every_estimator
def test_any_labels_are_learned_or_refused_in_our_words(make):
    assert failures(LABELS, lambda labels: tried(make, X, labels)) == {}


@every_estimator
def test_any_weights_are_used_or_refused_in_our_words(make):
    if has_fit_parameter(make(), "sample_weight"):  # all but the perceptron
        assert failures(WEIGHTS, lambda weight: tried(make, X, y, weight)) == {}


SPARSE = "sparse matrix"
UNSOUND = {
    "column beyond the last": ("indices", lambda part: part + 1_000_000),
    "column before the first": ("indices", lambda part: part - 100),
    "rows that end before they begin": ("indptr", lambda part: np.sort(part)[::-1].copy()),
    "a row that ends beyond all": ("indptr", lambda part: np.where(np.arange(len(part)) == 2, 10**9, part)),
    "too few rows": ("indptr", lambda part: part[:-1]),
    "too few values": ("data", lambda part: part[:-1]),
}


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("part", "change"), UNSOUND.values(), ids=UNSOUND)
def test_a_sparse_matrix_whose_indices_lead_nowhere_is_refused(kind, part, change):
    matrix = sparse().asformat(kind)
    model = GaussianNB().fit(X, y)
    setattr(matrix, part, change(getattr(matrix, part)))
    for call in (lambda: GaussianNB().fit(matrix, y), lambda: model.predict(matrix)):
        with pytest.raises(InputError, match=SPARSE):
            call()
    with pytest.raises(InputError, match=SPARSE):
        OneVsRest(GaussianNB()).fit(matrix, y)


def test_coordinates_beyond_the_shape_are_refused():
    matrix = sparse().tocoo()
    matrix.coords = (matrix.coords[0] + 100, matrix.coords[1])
    with pytest.raises(InputError, match=SPARSE):
        LinearDiscriminantAnalysis().fit(matrix, y)


def test_a_matrix_that_is_no_longer_sorted_as_it_says_is_read_rightly():
    sorted_rows, matrix = sparse(), sparse()
    assert matrix.has_canonical_format  # remembered from here on
    for start, stop in pairwise(matrix.indptr):
        for part in (matrix.indices, matrix.data):
            part[start:stop] = part[start:stop][::-1].copy()
    expected = LogisticRegression(alpha=0.1).fit(sorted_rows, y)
    assert_array_equal(LogisticRegression(alpha=0.1).fit(matrix, y).coef_, expected.coef_)


@pytest.mark.parametrize(
    ("rows", "weight", "words"),
    [
        (X * 1e-308, None, "column 0 are too small.*Rescale"),
        (X * [1.0, 1e-200, 1.0], None, "column 1 are too small.*Rescale"),
        (X * 1e200, None, "too large.*Rescale"),
        (X, np.full(N, 1e308), "1e[+]308.*sum to the number of rows"),
    ],
)
def test_what_is_too_large_or_too_small_to_compute_with_is_named(rows, weight, words):
    for make in (LinearDiscriminantAnalysis, GaussianNB):
        with pytest.raises(InputError, match=words):
            make().fit(rows, y, weight)


@pytest.mark.parametrize("alone", [False, True], ids=["all", "one row"])
@pytest.mark.parametrize("size", [1e160, 1e200, 1e300])
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), LogisticRegression(alpha=0.01), LogisticRegression(alpha=0.01, l1_ratio=1.0),
     LogisticRegressionCV(), SupportVectorClassifier(), AutoClassifier()],
    ids=["likelihood", "ridge", "lasso", "path", "svm", "auto"],
)  # fmt: skip
def test_values_that_overflow_are_refused_without_warnings_of_numpy(model, size, alone):
    rows = X.astype(float).copy()
    rows[: 1 if alone else N, 1] *= size
    with pytest.raises(InputError, match=r"too large.*Rescale"):
        clone(model).fit(rows, y)


def test_scores_whose_difference_overflows_are_refused():
    model = LinearDiscriminantAnalysis().fit([[0.0], [1.0], [2.0], [1.5], [2.5], [3.0]], [0, 0, 0, 1, 1, 1])
    assert np.isfinite(model.decision_function([[1e307]])).all()
    with pytest.raises(InputError, match="too large"):
        model.decision_function([[1.7e308]])


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.sampled_from(list(ESTIMATORS)),
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.float16]),
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
    ),
    st.data(),
)
def test_random_rows_labels_and_weights_are_answered_or_refused(name, rows, data):
    labels = data.draw(hnp.arrays(np.int8, len(rows), elements=st.integers(0, 2)))
    weight = None
    if has_fit_parameter(ESTIMATORS[name](), "sample_weight"):
        weight = data.draw(st.none() | hnp.arrays(np.float64, len(rows)))
    tried(ESTIMATORS[name], rows, labels, weight)
