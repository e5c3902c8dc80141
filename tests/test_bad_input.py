"""What cannot be used is refused in words, and nothing is half done.

Every refusal is an error of `discriminant.errors` whose message names the column, class or value and says what to do.
A model that was fitted before is left exactly as it was.
"""

import datetime
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from discriminant import (
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    fit_all,
)
from discriminant.errors import (
    CollinearityWarning,
    ColumnError,
    DegenerateDataError,
    DiscriminantError,
    DiscriminantWarning,
    DtypeError,
    InputError,
    LabelError,
    NotReadyError,
    ParameterError,
    WeightError,
)
from helpers import fitted_state, normal_classes

NUMERIC = {
    "lda": LinearDiscriminantAnalysis,
    "lda-oas": lambda: LinearDiscriminantAnalysis(shrinkage="oas"),
    "lda-cv": lambda: LinearDiscriminantAnalysis(shrinkage="cv", folds=3),
    "qda": QuadraticDiscriminantAnalysis,
    "gaussian-nb": GaussianNB,
    "fisher": FisherDiscriminant,
    "least-squares": LeastSquaresClassifier,
}
ALL = {**NUMERIC, "naive-bayes": NaiveBayes}
every_model = pytest.mark.parametrize("make", ALL.values(), ids=ALL)
every_numeric_model = pytest.mark.parametrize("make", NUMERIC.values(), ids=NUMERIC)

GENERATIVE = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB, NaiveBayes]
LINEAR = [LinearDiscriminantAnalysis, FisherDiscriminant, LeastSquaresClassifier]
#: Labels and weights are read by all in the same way, but for what comes before.
SOME = {name: ALL[name] for name in ("lda", "lda-cv", "fisher", "naive-bayes")}
some_models = pytest.mark.parametrize("make", SOME.values(), ids=SOME)

X, y = normal_classes(n=60, p=4, K=2)
NAMES = list("abcd")
FRAMES = {
    "pandas": lambda values: pd.DataFrame(values, columns=NAMES),
    "polars": lambda values: pl.DataFrame(values, schema=NAMES),
    "pyarrow": lambda values: pa.table(dict(zip(NAMES, values.T, strict=True))),
}


def with_value(value, row=7, column=2):
    changed = X.copy()
    changed[row, column] = value
    return changed


def refused(model, error, words, call):
    """``call`` raises this error, the message matches every one of the words, and the model is what it was."""
    before = fitted_state(model)
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, DiscriminantError)
    for word in words:
        assert re.search(word, str(caught.value)), f"{word!r} is not in: {caught.value}"
    assert fitted_state(model) == before


def fit_is_refused(model, error, words, bad_X, bad_y=y, sample_weight=None):
    """By an estimator without a past and by one with it, which goes on predicting what it did."""
    refused(model, error, words, lambda: model.fit(bad_X, bad_y, sample_weight))
    fitted = type(model)().fit(X, y)
    defaults, expected = fitted.get_params(), fitted.predict(X)
    fitted.set_params(**model.get_params())
    refused(fitted, error, words, lambda: fitted.fit(bad_X, bad_y, sample_weight))
    assert_array_equal(fitted.set_params(**defaults).predict(X), expected)


# --- rows -----------------------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_missing_and_infinite_values_are_named_by_place(make, value, word):
    fit_is_refused(make(), InputError, [word, "column 2", "row 7"], with_value(value))


@every_model
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_values_are_named_by_column_name(make, frame, value, word):
    bad = frame(with_value(value))
    refused(make(), InputError, [word, "column 'c'", "row 7"], lambda: make().fit(bad, y))


@every_model
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_values_of_sparse_rows_are_named_by_place(make, value, word):
    fit_is_refused(make(), InputError, [word, "column 2", "row 7"], sp.csr_array(with_value(value)))


@pytest.mark.parametrize(
    "column",
    [pd.Series([1, None] * 30, dtype="Int64"), pl.Series([1, None] * 30), pa.array([1, None] * 30)],
    ids=["pandas", "polars", "pyarrow"],
)
def test_missing_integers_are_named_by_column_name(column):
    frame = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)
    refused(
        GaussianNB(),
        InputError,
        ["column 'b'", "row 1"],
        lambda: GaussianNB().fit(frame({"a": X[:, 0], "b": column}), y),
    )


@every_model
@pytest.mark.parametrize(("value", "words"), [(np.nan, ["NaN"]), (np.inf, ["infinity"])])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_bad_value_in_a_later_block_is_named_by_its_row(make, value, words, n_jobs):
    long, labels = normal_classes(n=40_000, p=3, K=2)
    long[39_000, 1] = value
    model = make().set_params(n_jobs=n_jobs)
    refused(model, InputError, [*words, "column 1", "row 39000"], lambda: model.fit(long, labels))


@every_model
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_values_whose_squares_overflow_are_named_by_column(make, n_jobs):
    model = make().set_params(n_jobs=n_jobs)
    fit_is_refused(model, InputError, ["column 2", "too large", "Rescale"], with_value(1e200))
    long, labels = normal_classes(n=40_000, p=3, K=2)
    long[39_000, 1] = 1e200
    refused(model, InputError, ["column 1", "too large", "Rescale"], lambda: model.fit(long, labels))


@every_model
def test_no_rows_and_no_columns_are_refused(make):
    fit_is_refused(make(), InputError, ["0 sample|0 rows"], X[:0], y[:0])
    fit_is_refused(make(), InputError, ["0 feature|0 columns"], X[:, :0])


@every_model
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_frame_without_rows_is_refused(make, frame):
    refused(make(), InputError, ["0 sample|0 rows"], lambda: make().fit(frame(X[:0]), y[:0]))


@every_model
def test_lengths_that_differ_are_told(make):
    fit_is_refused(make(), InputError, ["60", "59", "one label per row"], X, y[:-1])
    fit_is_refused(make(), InputError, ["59", "60", "one label per row"], X[:-1], y)


@every_model
@pytest.mark.parametrize("shape", [(240,), (60, 2, 2)])
def test_rows_must_be_a_table(make, shape):
    fit_is_refused(make(), InputError, [re.escape(str(shape)), "[Rr]eshape"], X.reshape(shape))


@every_model
def test_rows_must_have_one_length(make):
    fit_is_refused(make(), InputError, ["same number of values"], [[1.0, 2.0], [3.0]], [0, 1])


def text_rows():
    return np.array([["a", "b"], ["c", "d"]] * 30)


NOT_NUMBERS = {
    "text": (text_rows(), DtypeError, ["not numbers", "Encode"]),
    "text among objects": (text_rows().astype(object), DtypeError, ["not numbers", "Encode"]),
    "a list with text": ([[1.0, "b"]] * 60, DtypeError, ["not numbers", "Encode"]),
    "dates": (np.array([["2020-01-01"]] * 60, dtype="M8[D]"), DtypeError, ["dates", "numbers"]),
    "durations": (np.ones((60, 1), dtype="m8[s]"), DtypeError, ["durations", "numbers"]),
    "date objects": (np.full((60, 2), datetime.date(2020, 1, 1)), DtypeError, ["not numbers"]),
    "complex numbers": (X + 1j, InputError, ["[Cc]omplex", "real and imaginary"]),
    "sparse complex numbers": (sp.csr_array(X + 1j), InputError, ["[Cc]omplex", "real and imaginary"]),
    "a masked array": (np.ma.masked_array(X, X > 1), InputError, ["mask"]),
    "a lazy frame": (FRAMES["polars"](X).lazy(), InputError, ["lazy", "collect"]),
    "pandas text": (pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 30}), ColumnError, ["'b'", "Encode", "NaiveBayes"]),
    "polars text": (pl.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 30}), ColumnError, ["'b'", "Encode", "NaiveBayes"]),
    "pandas categories": (pd.DataFrame({"a": pd.Categorical(["u", "v"] * 30)}), ColumnError, ["'a'", "Encode"]),
    "pandas dates": (pd.DataFrame({"d": pd.date_range("2020", periods=60)}), ColumnError, ["'d'", "Datetime"]),
    "columns of one name": (pd.DataFrame(X, columns=list("abac")), ColumnError, ["'a'"]),
    "names of two types": (pd.DataFrame(X, columns=["a", "b", 3, 4]), InputError, ["str", "int"]),
}


@every_numeric_model
@pytest.mark.parametrize(("bad", "error", "words"), NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_what_is_not_numbers_is_refused(make, bad, error, words):
    fit_is_refused(make(), error, words, bad)


@pytest.mark.parametrize(
    "name",
    ["dates", "complex numbers", "sparse complex numbers", "a masked array", "a lazy frame", "columns of one name"],
)
def test_naive_bayes_refuses_what_is_neither_number_nor_category(name):
    bad, error, words = NOT_NUMBERS[name]
    fit_is_refused(NaiveBayes(), error, words, bad)


def test_naive_bayes_refuses_columns_of_dates():
    bad, _, _ = NOT_NUMBERS["pandas dates"]
    fit_is_refused(NaiveBayes(), ColumnError, ["'d'", "dates", "numbers or categories"], bad)


# --- labels ---------------------------------------------------------------------------------------------------------


def labels(values):
    return np.array(values, dtype=object)


BAD_LABELS = {
    "none at all": (None, LabelError, ["y", "label per row"]),
    "one class": (np.full(60, "cat"), LabelError, ["'cat'"]),
    "continuous": (X[:, 0], LabelError, ["continuous"]),
    "a None": (labels(["a", "b", None] * 20), LabelError, ["None", "row 2", "Drop"]),
    "a None in a list": (["a", "b", None] * 20, LabelError, ["None", "row 2", "Drop"]),
    "a NaN": (np.array([0.0, 1.0, np.nan] * 20), LabelError, ["NaN", "row 2", "Drop"]),
    "a NaN among text": (["a", "b", float("nan")] * 20, LabelError, ["NaN", "row 2", "Drop"]),
    "a NaN among text objects": (labels(["a", "b", float("nan")] * 20), LabelError, ["NaN", "row 2", "Drop"]),
    "a missing pandas string": (pd.Series(["a", "b", None] * 20, dtype="string"), LabelError, ["row 2", "Drop"]),
    "a missing pandas integer": (pd.Series([0, 1, None] * 20, dtype="Int64"), LabelError, ["row 2", "Drop"]),
    "a missing category": (pd.Series(["a", "b", None] * 20, dtype="category"), LabelError, ["row 2", "Drop"]),
    "a missing polars string": (pl.Series(["a", "b", None] * 20), LabelError, ["row 2", "Drop"]),
    "numbers and text": (labels([0, "a"] * 30), LabelError, ["int", "str", "one type"]),
    "numbers and text in a list": ([0, "a"] * 30, LabelError, ["int", "str", "one type"]),
    "dates": (np.array(["2020-01-01", "2020-01-02"] * 30, dtype="M8[D]"), LabelError, ["datetime64"]),
    "complex numbers": (X[:, 0] + 1j, LabelError, ["complex"]),
    "two columns": (np.column_stack([y, y]), InputError, [r"\(60, 2\)"]),
}


@some_models
@pytest.mark.parametrize(("bad", "error", "words"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_labels_that_are_no_classes_are_refused(make, bad, error, words):
    fit_is_refused(make(), error, words, X, bad)


def test_fisher_refuses_more_than_two_classes():
    fit_is_refused(FisherDiscriminant(), LabelError, ["3", "LinearDiscriminantAnalysis"], X, np.arange(60) % 3)
    coded = LeastSquaresClassifier(coding="fisher")
    fit_is_refused(coded, LabelError, ["3", "one-hot"], X, np.arange(60) % 3)


# --- weights --------------------------------------------------------------------------------------------------------


def weights(place, value):
    changed = np.ones(60)
    changed[place] = value
    return changed


BAD_WEIGHTS = {
    "negative": (weights(5, -2.0), ["row 5", "-2", "Use 0"]),
    "not a number": (weights(5, np.nan), ["NaN", "row 5"]),
    "infinite": (weights(5, np.inf), ["infinity", "row 5"]),
    "all zero": (np.zeros(60), ["zero"]),
    "zero for a class": ((y == 0).astype(float), ["class 1", "zero"]),
    "too few": (np.ones(59), ["59", "60", "one weight per row"]),
    "a table": (np.ones((60, 2)), [r"\(60, 2\)"]),
    "text": (["one"] * 60, ["<U3"]),
}


@some_models
@pytest.mark.parametrize(("bad", "words"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_weights_that_are_no_frequencies_are_refused(make, bad, words):
    fit_is_refused(make(), WeightError, words, X, y, bad)


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, FisherDiscriminant], ids=["lda", "fisher"])
def test_weights_that_sum_to_less_than_the_classes_are_refused(make):
    fit_is_refused(make(), DegenerateDataError, ["1.5", "2 classes"], X, y, np.full(60, 1.5 / 60))


def test_a_class_with_the_weight_of_one_row_is_refused_by_qda():
    light = np.where(y == 1, 0.5 / np.sum(y == 1), 1.0)
    fit_is_refused(QuadraticDiscriminantAnalysis(), DegenerateDataError, ["[Cc]lass 1", "0.5"], X, y, light)


# --- priors and other parameters ------------------------------------------------------------------------------------

BAD_PRIORS = {
    "negative": ([1.2, -0.2], ["class 1", "-0.2"]),
    "not summing to 1": ([0.5, 0.6], ["sum to 1", "1.1", "Divide"]),
    "too few": ([1.0], ["2 classes", "1 value"]),
    "too many": ([0.3, 0.3, 0.4], ["2 classes", "3 value"]),
    "a class missing": ({0: 1.0}, ["class 1"]),
    "an unknown class": ({0: 0.3, 1: 0.3, 7: 0.4}, ["7", "not a class"]),
    "not a number": ([0.5, np.nan], ["class 1", "nan"]),
    "text": (["half", "half"], ["half"]),
}


@pytest.mark.parametrize(
    "make", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB, NaiveBayes, FisherDiscriminant]
)
@pytest.mark.parametrize(("bad", "words"), BAD_PRIORS.values(), ids=BAD_PRIORS)
def test_priors_that_are_no_probabilities_are_refused(make, bad, words):
    fit_is_refused(make(priors=bad), ParameterError, ["priors", *words], X, y)


BAD_PARAMETERS = [
    *[(LinearDiscriminantAnalysis, "shrinkage", v) for v in (-0.1, 1.5, np.nan, "auto", [0.1])],
    *[(LinearDiscriminantAnalysis, "rank", v) for v in (0, -1, 2, 1.5, "one")],
    *[(LinearDiscriminantAnalysis, "n_components", v) for v in (0, -1, 2, 1.5, "one")],
    *[(QuadraticDiscriminantAnalysis, "shrinkage", v) for v in (-0.1, 1.5, np.nan, "ledoit-wolf", [0.1])],
    *[(FisherDiscriminant, "threshold", v) for v in ("middle", 0.5, None)],
    *[(FisherDiscriminant, "folds", v) for v in (1, 0, "ten")],
    *[(LeastSquaresClassifier, "alpha", v) for v in (-1.0, np.nan, np.inf, "big", None)],
    *[(LeastSquaresClassifier, "coding", v) for v in ("onehot", None)],
    *[(GaussianNB, "var_smoothing", v) for v in (-1e-9, np.nan, np.inf, "small")],
    *[(NaiveBayes, "var_smoothing", v) for v in (-1e-9, np.nan)],
    *[(NaiveBayes, "alpha", v) for v in (0.0, -1.0, np.nan, "one")],
    *[(NaiveBayes, "distributions", v) for v in ("poisson", ["gaussian", "gaussian", "gaussian", "normal"], 3, None)],
    *[(make, "n_jobs", v) for make in (LinearDiscriminantAnalysis, GaussianNB) for v in (0, 1.5, "2", True)],
]


@pytest.mark.parametrize(("make", "name", "value"), BAD_PARAMETERS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_parameters_that_cannot_be_are_refused(make, name, value):
    shown = value[-1] if name == "distributions" and isinstance(value, list) else value
    words = ["distribution" if name == "distributions" else name, re.escape(str(shown))]
    fit_is_refused(make(**{name: value}), ParameterError, words, X, y)


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("folds", [1, 0, -3, 2.5, "ten"])
def test_folds_that_cannot_be_are_refused(make, folds):
    fit_is_refused(make(shrinkage="cv", folds=folds), ParameterError, ["folds", re.escape(str(folds))], X, y)


@pytest.mark.parametrize("name", ["rank", "n_components"])
def test_half_a_direction_is_refused(name):
    model = LinearDiscriminantAnalysis(**{name: 1.5})
    refused(model, ParameterError, [name, "1.5"], lambda: model.fit(X, np.arange(60) % 3))


def test_distributions_must_fit_the_columns():
    fit_is_refused(NaiveBayes(distributions=["gaussian"]), ParameterError, ["1 columns", "4"], X, y)
    fit_is_refused(NaiveBayes(distributions={"size": "counts"}), ColumnError, ["'size'", "not a column"], X, y)


def test_a_parameter_made_bad_after_fitting_is_refused_at_prediction():
    model = LinearDiscriminantAnalysis().fit(X, y).set_params(n_jobs=0)
    refused(model, ParameterError, ["n_jobs", "0"], lambda: model.predict(X))


@pytest.mark.parametrize("n_samples", [0, -1])
def test_drawing_needs_a_positive_number_of_rows(n_samples):
    model = LinearDiscriminantAnalysis().fit(X, y)
    refused(model, ParameterError, ["n_samples", str(n_samples)], lambda: model.sample(n_samples))


def test_drawing_an_unknown_class_is_refused():
    model = GaussianNB().fit(X, y)
    refused(model, LabelError, ["7", "0, 1"], lambda: model.sample(1, label=7))


@pytest.mark.parametrize("make", GENERATIVE)
def test_drawing_a_class_not_seen_yet_is_refused(make):
    model = make().partial_fit(X, y, classes=[0, 1, 2])
    refused(model, DiscriminantError, ["2"], lambda: model.sample(1, label=2))


# --- data from which a model cannot be estimated --------------------------------------------------------------------


def constant_column(value=0.1):
    changed = X.copy()
    changed[:, 1] = value
    return changed


@pytest.mark.parametrize("value", [0.0, 0.1, -1e8, 1e-12])
@every_model
def test_a_constant_column_is_named(make, value):
    if getattr(make(), "shrinkage", None) is not None:
        make().fit(constant_column(value), y)  # shrinkage gives it a variance
        return
    words = ["[Cc]onstant", "column 1", "[Rr]emove"]
    fit_is_refused(make(), DegenerateDataError, words, constant_column(value))
    fit_is_refused(make(), DegenerateDataError, ["column 'b'"], FRAMES["pandas"](constant_column(value)))


@pytest.mark.parametrize(
    "make", [LinearDiscriminantAnalysis, FisherDiscriminant, LeastSquaresClassifier, GaussianNB, NaiveBayes]
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_constant_column_is_named_however_many_rows_there_are(make, container):
    long, codes = normal_classes(n=30_000, p=3, K=2)
    long[:, 1] = 0.1
    refused(make(), DegenerateDataError, ["[Cc]onstant", "column 1"], lambda: make().fit(container(long), codes))


def leak(values, codes):
    """The label as a column among others: constant within each class."""
    return np.column_stack([values, np.where(codes == 1, 0.7, 0.1)])


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, FisherDiscriminant], ids=["lda", "fisher"])
@pytest.mark.parametrize("n", [60, 5000, 60_000])
def test_a_column_constant_within_each_class_is_left_out_and_named_once(make, n):
    values, codes = normal_classes(n=n, p=3, K=2)
    with pytest.warns(CollinearityWarning, match="column 3") as caught:
        model = make().fit(leak(values, codes), codes)
    assert len(caught) == 1
    assert_allclose(model.coef_[0, 3], 0)
    assert_allclose(model.coef_[0, :3], make().fit(values, codes).coef_[0], rtol=1e-6)


@pytest.mark.parametrize("n", [60, 5000, 60_000])
def test_a_column_constant_within_a_class_is_refused_by_qda(n):
    values, codes = normal_classes(n=n, p=3, K=2)
    changing = np.where(codes == 0, np.random.default_rng(0).normal(size=n), 0.7)
    bad = np.column_stack([values, changing])
    refused(
        QuadraticDiscriminantAnalysis(),
        DegenerateDataError,
        ["class 1", "column 3", "shrinkage"],
        lambda: QuadraticDiscriminantAnalysis().fit(bad, codes),
    )


def test_a_column_constant_within_a_class_is_refused_by_unsmoothed_naive_bayes():
    model = GaussianNB(var_smoothing=0)
    fit_is_refused(model, DegenerateDataError, ["within a class", "column 4", "var_smoothing"], leak(X, y))


def collinear():
    return np.column_stack([X, X[:, 0] - 2 * X[:, 2]])


@pytest.mark.parametrize("make", LINEAR)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_collinear_columns_are_named_and_change_no_prediction(make, scale):
    bad = collinear() * [1.0, 1.0, 1.0, 1.0, scale]
    with pytest.warns(CollinearityWarning, match="column 4") as caught:
        model = make().fit(bad, y)
    assert len(caught) == 1
    assert_array_equal(model.predict(bad), make().fit(X, y).predict(X))
    assert_allclose(model.decision_function(bad), make().fit(X, y).decision_function(X), rtol=1e-6, atol=1e-8)


def test_collinear_columns_are_named_by_their_names():
    with pytest.warns(CollinearityWarning, match="column 'e'"):
        LinearDiscriminantAnalysis().fit(pd.DataFrame(collinear(), columns=list("abcde")), y)


@pytest.mark.parametrize(
    ("make", "bad"),
    [*((make, collinear()) for make in LINEAR), *((make, leak(X, y)) for make in LINEAR[:2])],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_warnings_point_at_the_line_that_called(make, bad):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make().fit(bad, y)
    assert {warning.filename for warning in caught} == {__file__}


def test_columns_that_are_not_collinear_are_not_called_so():
    nearly = collinear()
    nearly[:, 4] += 1e-5 * np.random.default_rng(0).normal(size=60)
    for make in (LinearDiscriminantAnalysis, FisherDiscriminant, LeastSquaresClassifier, QuadraticDiscriminantAnalysis):
        make().fit(nearly, y)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("place", [0, 4])
def test_qda_calls_a_class_singular_in_any_units(scale, place):
    units = np.ones(5)
    units[place] = scale
    good = np.column_stack([X, np.random.default_rng(0).normal(size=60)])
    assert_array_equal(
        QuadraticDiscriminantAnalysis().fit(good * units, y).predict(good * units),
        QuadraticDiscriminantAnalysis().fit(good, y).predict(good),
    )
    deficient = good.copy()
    deficient[y == 1] = collinear()[y == 1]
    words = ["class 1", "column 4", "shrinkage"]
    fit_is_refused(QuadraticDiscriminantAnalysis(), DegenerateDataError, words, deficient * units)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_qda_calls_a_long_singular_class_singular_in_any_units(scale):
    values, codes = normal_classes(n=50_000, p=4, K=2)
    bad = np.column_stack([values, scale * (values[:, 0] - 2 * values[:, 2])])
    model = QuadraticDiscriminantAnalysis()
    refused(model, DegenerateDataError, ["class 0", "column 4", "shrinkage"], lambda: model.fit(bad, codes))


def test_qda_needs_two_rows_of_every_class():
    rows = np.concatenate([X[y == 0], X[y == 1][:1]])
    codes = np.array(["many"] * np.sum(y == 0) + ["single"])
    words = ["'single'", "has 1"]
    fit_is_refused(QuadraticDiscriminantAnalysis(), DegenerateDataError, words, rows, codes)


def test_qda_needs_more_rows_than_columns_in_every_class():
    rows = np.concatenate([X[y == 0], X[y == 1][:4]])
    codes = np.repeat([0, 1], [np.sum(y == 0), 4])
    words = ["class 1", "4 rows for 4 columns", "shrinkage"]
    fit_is_refused(QuadraticDiscriminantAnalysis(), DegenerateDataError, words, rows, codes)


def test_a_single_row_of_every_class_has_no_covariance():
    fit_is_refused(LinearDiscriminantAnalysis(), DegenerateDataError, ["weight 2", "2 classes"], X[:2], [0, 1])


def test_too_many_folds_for_a_class_are_refused():
    codes = np.array([1] + [0] * 59)
    fit_is_refused(FisherDiscriminant(threshold="cv"), DegenerateDataError, ["folds", "fewer"], X, codes)


# --- naive Bayes on mixed columns -----------------------------------------------------------------------------------


def people(**changes):
    columns = {
        "colour": ["red", "blue", "red", "blue"],
        "size": [1.0, 2.0, 3.0, 4.5],
        "visits": [0.0, 3.0, 1.0, 4.0],
        "smokes": [0.0, 1.0, 1.0, 0.0],
    }
    return pd.DataFrame({**columns, **changes})


WHO = ["a", "b", "a", "b"]
PLAN = {"visits": "counts", "smokes": "bernoulli"}
BAD_CELLS = {
    "bernoulli with a 2": ({"smokes": [0.0, 2.0, 1.0, 0.0]}, ["'smokes'", "Row 1", "2", "another distribution"]),
    "negative count": ({"visits": [0.0, 3.0, -1.0, 4.0]}, ["'visits'", "Row 2", "-1", "another distribution"]),
    "missing category": ({"colour": ["red", None, "red", "blue"]}, ["'colour'", "row 1"]),
    "missing pandas string": (
        {"colour": pd.Series(["red", None, "red", "blue"], dtype="string")},
        ["'colour'", "row 1"],
    ),
    "missing number": ({"size": [1.0, np.nan, 3.0, 4.0]}, ["'size'", "row 1", "NaN"]),
    "missing yes or no": ({"smokes": [0.0, np.nan, 1.0, 0.0]}, ["'smokes'", "row 1", "NaN"]),
    "number too large": ({"size": [1.0, 1e200, 3.0, 4.0]}, ["'size'", "too large", "Rescale"]),
}


@pytest.mark.parametrize(("changes", "words"), BAD_CELLS.values(), ids=BAD_CELLS)
def test_cells_that_a_distribution_cannot_produce_are_named(changes, words):
    model = NaiveBayes(distributions=PLAN)
    refused(model, InputError, words, lambda: model.fit(people(**changes), WHO))
    model.fit(people(), WHO)
    refused(model, InputError, words, lambda: model.fit(people(**changes), WHO))
    refused(model, InputError, words, lambda: model.partial_fit(people(**changes), WHO))


@pytest.mark.parametrize("name", [name for name in BAD_CELLS if name != "number too large"])
def test_cells_that_a_distribution_cannot_produce_are_named_at_prediction(name):
    changes, words = BAD_CELLS[name]
    model = NaiveBayes(distributions=PLAN).fit(people(), WHO)
    refused(model, InputError, words, lambda: model.predict(people(**changes)))


@pytest.mark.parametrize(("kind", "value"), [("bernoulli", 2.0), ("counts", -1.0), ("multinomial", -1.0)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_cells_of_arrays_are_named_by_place(kind, value, container):
    table = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, value]])
    model = NaiveBayes(distributions=kind)
    words = ["[Cc]olumn 1", "[Rr]ow 3", f"{value:g}"]
    refused(model, InputError, words, lambda: model.fit(container(table), WHO))


def test_a_missing_number_beside_categories_is_named_by_the_column_of_the_array():
    table = np.array([["red", 1.0], ["blue", 2.0], ["red", np.nan], ["blue", 3.0]], dtype=object)
    refused(NaiveBayes(), InputError, ["NaN", "column 1", "row 2"], lambda: NaiveBayes().fit(table, WHO))


def test_a_level_never_seen_says_nothing():
    table = people()
    model = NaiveBayes().fit(table, WHO)
    without = NaiveBayes().fit(table.drop(columns="colour"), WHO)
    new = table.assign(colour="green")
    with pytest.warns(DiscriminantWarning, match="green"):
        found = model.predict_proba(new)
    assert_allclose(found, without.predict_proba(new.drop(columns="colour")), rtol=1e-12)


# --- prediction -----------------------------------------------------------------------------------------------------

#: The sphere of one class, which it asks for.
OF_ONE_CLASS = ("qda", "sphere")
METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "sphere"]
SOURCES = [
    (make, method)
    for make in ALL
    for method in METHODS
    if hasattr(ALL[make](), method) and (make, method) != OF_ONE_CLASS
]
every_answer = pytest.mark.parametrize(("name", "method"), SOURCES, ids=map("-".join, SOURCES))


@every_answer
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_missing_and_infinite_values_are_named_at_prediction(name, method, value, word, container):
    model = ALL[name]().fit(X, y)
    bad = container(with_value(value))
    refused(model, InputError, [word, "column 2", "row 7"], lambda: getattr(model, method)(bad))


@every_answer
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_infinite_value_in_a_later_block_is_named_at_prediction(name, method, n_jobs):
    model = ALL[name]().fit(X, y).set_params(n_jobs=n_jobs)
    long = np.tile(X, (600, 1))
    long[30_000, 3] = np.inf
    refused(model, InputError, ["infinity", "column 3", "row 30000"], lambda: getattr(model, method)(long))


@pytest.mark.parametrize("name", ["qda", "gaussian-nb", "naive-bayes"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_values_too_large_to_score_are_told(name, method, n_jobs):
    model = ALL[name]().fit(X, y).set_params(n_jobs=n_jobs)
    long = np.tile(X, (600, 1))
    long[30_000, 3] = 1e200
    for bad in (with_value(1e200), long):
        refused(model, InputError, ["too large", "row", "units"], lambda bad=bad: getattr(model, method)(bad))


@every_answer
def test_prediction_before_fitting_is_refused(name, method):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(ALL[name](), method)(X)


@pytest.mark.parametrize("make", GENERATIVE)
def test_drawing_before_fitting_is_refused(make):
    with pytest.raises(NotFittedError, match="not fitted"):
        make().sample()


@pytest.mark.parametrize("attribute", ["covariance_", "trace_criterion_", "determinant_criterion_"])
def test_what_is_read_from_the_moments_is_not_there_before_fitting(attribute):
    assert not hasattr(LinearDiscriminantAnalysis(), attribute)


OTHER_COLUMNS = {
    "unseen": (lambda frame: frame.assign(e=1.0), ["e", "unseen"]),
    "missing": (lambda frame: frame.drop(columns="c"), ["c", "missing"]),
    "in another order": (lambda frame: frame[["b", "a", "c", "d"]], ["order"]),
    "of other names": (lambda frame: frame.rename(columns={"c": "z"}), ["z", "c"]),
}


@every_model
@pytest.mark.parametrize(("change", "words"), OTHER_COLUMNS.values(), ids=OTHER_COLUMNS)
@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_other_columns_at_prediction_are_named(make, change, words, method):
    frame = FRAMES["pandas"](X)
    model = make().fit(frame, y)
    words = [*words, re.escape("X[model.feature_names_in_]")]
    refused(model, ColumnError, words, lambda: getattr(model, method)(change(frame)))


@every_model
def test_another_number_of_columns_at_prediction_is_told(make):
    model = make().fit(X, y)
    refused(model, ColumnError, ["3 features", "4 features"], lambda: model.predict(X[:, :3]))


@every_model
def test_a_column_of_text_at_prediction_is_refused(make):
    frame = FRAMES["pandas"](X)
    model = make().fit(frame, y)
    refused(model, InputError, ["'c'"], lambda: model.predict(frame.assign(c="text")))


@every_model
def test_no_rows_at_prediction_are_refused(make):
    model = make().fit(X, y)
    refused(model, InputError, ["0 sample"], lambda: model.predict(X[:0]))


# --- streams --------------------------------------------------------------------------------------------------------

STREAMED = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB, NaiveBayes, LeastSquaresClassifier]
STREAMED += [FisherDiscriminant]
every_stream = pytest.mark.parametrize("make", STREAMED)


@every_stream
def test_labels_not_declared_are_refused_and_leave_the_stream_unharmed(make):
    model = make().partial_fit(X[:30], y[:30], classes=[0, 1])
    model.predict(X)
    words = ["7", "0, 1", re.escape("partial_fit(X, y, classes=[...])")]
    refused(model, LabelError, words, lambda: model.partial_fit(X[30:], np.full(30, 7)))
    model.partial_fit(X[30:], y[30:])
    assert_allclose(model.decision_function(X), make().fit(X, y).decision_function(X), rtol=1e-8, atol=1e-10)


@every_stream
def test_classes_that_change_are_refused(make):
    model = make().partial_fit(X, y, classes=[0, 1])
    words = [r"\[0, 1\]", r"\[0, 2\]", "first call"]
    refused(model, LabelError, words, lambda: model.partial_fit(X, y, classes=[0, 2]))


@every_stream
@pytest.mark.parametrize("classes", [[], [0], [[0, 1]], 5, [0, 1, None]], ids=str)
def test_classes_that_are_no_list_of_labels_are_refused(make, classes):
    refused(make(), LabelError, [], lambda: make().partial_fit(X, y, classes=classes))


@every_stream
def test_a_stream_without_declared_classes_must_begin_with_two(make):
    refused(make(), LabelError, ["0"], lambda: make().partial_fit(X[y == 0], y[y == 0]))


BAD_CHUNKS = {
    "missing value": (with_value(np.nan), y, None, InputError),
    "infinite value": (with_value(np.inf), y, None, InputError),
    "overflow": (with_value(1e200), y, None, InputError),
    "other width": (X[:, :3], y, None, ColumnError),
    "lengths that differ": (X, y[:-1], None, InputError),
    "missing label": (X, labels([0, None] * 30), None, LabelError),
    "negative weight": (X, y, weights(5, -1.0), WeightError),
    "no rows": (X[:0], y[:0], None, InputError),
}


@every_stream
@pytest.mark.parametrize(("rows", "codes", "weight", "error"), BAD_CHUNKS.values(), ids=BAD_CHUNKS)
def test_a_bad_chunk_leaves_no_trace(make, rows, codes, weight, error):
    model = make().partial_fit(X, y)
    model.predict(X)
    refused(model, error, [], lambda: model.partial_fit(rows, codes, sample_weight=weight))


@every_stream
@pytest.mark.parametrize("method", METHODS)
def test_a_stream_that_saw_one_class_is_not_ready_until_it_saw_two(make, method):
    if not hasattr(make(), method) or (make.__name__, method) == ("QuadraticDiscriminantAnalysis", "sphere"):
        method = "predict"
    one = y == 0
    model = make().partial_fit(X[one], y[one], classes=[0, 1])
    refused(model, NotReadyError, ["only class 0"], lambda: getattr(model, method)(X))
    model.partial_fit(X[~one], y[~one])
    assert_allclose(getattr(model, method)(X), getattr(make().fit(X, y), method)(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("make", GENERATIVE)
def test_a_stream_that_saw_one_class_is_not_ready_to_draw(make):
    model = make().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    refused(model, NotReadyError, ["only class 0"], model.sample)


def test_a_stream_is_not_ready_while_a_class_is_singular():
    model = QuadraticDiscriminantAnalysis()
    few = np.concatenate([np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:3]])
    model.partial_fit(X[few], y[few])
    refused(model, NotReadyError, ["class 0", "singular"], lambda: model.predict(X))
    rest = np.setdiff1d(np.arange(60), few)
    model.partial_fit(X[rest], y[rest])
    assert_allclose(model.predict_proba(X), QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X), rtol=1e-8)


def test_a_stream_that_was_ready_may_not_be_any_more():
    """A new class of one row makes QDA wait again, and the answer of before is not given out as the new one."""
    model = QuadraticDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1, 2])
    model.predict(X)
    model.partial_fit(X[:1], [2])
    refused(model, NotReadyError, ["class 2"], lambda: model.predict(X))


def test_fisher_by_cross_validation_has_no_stream():
    assert not hasattr(FisherDiscriminant(threshold="cv"), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        FisherDiscriminant(threshold="cv").partial_fit(X, y)
    assert "Use threshold='bayes'" in str(caught.value.__cause__)


# --- several models in one pass -------------------------------------------------------------------------------------


def test_one_bad_model_leaves_all_of_one_pass_as_they_were():
    good, bad = LinearDiscriminantAnalysis().fit(X, y), FisherDiscriminant().fit(X, y)
    before = fitted_state(good)
    three = np.arange(60) % 3
    refused(bad, LabelError, ["3", "LinearDiscriminantAnalysis"], lambda: fit_all([good, bad], X, three))
    assert fitted_state(good) == before


@pytest.mark.parametrize("rows", [with_value(np.nan), constant_column()], ids=["missing value", "constant column"])
def test_bad_rows_leave_all_of_one_pass_as_they_were(rows):
    models = [LeastSquaresClassifier().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)]
    before = [fitted_state(model) for model in models]
    with pytest.raises(DiscriminantError, match="column"):
        fit_all(models, rows, y)
    assert [fitted_state(model) for model in models] == before


@pytest.mark.parametrize("models", [[], [NaiveBayes()], [LinearDiscriminantAnalysis(), NaiveBayes()]], ids=str)
def test_one_pass_needs_models_read_from_moments(models):
    with pytest.raises(ParameterError, match="model"):
        fit_all(models, X, y)


def test_one_pass_needs_one_number_of_folds():
    models = [LinearDiscriminantAnalysis(shrinkage="cv", folds=k) for k in (3, 5)]
    with pytest.raises(ParameterError, match=r"folds.*\[3, 5\]"):
        fit_all(models, X, y)
