"""What must not change a model.

Weights are repeated rows; the order of the rows, the names of the classes, the units and origins of the columns, the
chunks of a stream, the number of threads, the precision and the container of the data leave no trace, and neither does
fitting several models in one pass.
"""

import copy
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from discriminant import (
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    MinimumDistance,
    NaiveBayes,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
    SupportVectorClassifier,
    fit_all,
)
from discriminant.data import Block, labelled_rows
from discriminant.errors import DiscriminantWarning, InputError
from discriminant.moments.folds import MomentsSpec, merged
from discriminant.moments.statistic import ClassMoments, RowMoments
from helpers import (
    CROSS_VALIDATED,
    MANY_ROWS,
    MODELS,
    MOMENT_MODELS,
    UNIT_DEPENDENT,
    class_moments,
    collinearity_allowed,
    data_for,
    make_model,
    normal_classes,
    output,
)

every_model = pytest.mark.parametrize("name", MODELS)
without_folds = pytest.mark.parametrize("name", [n for n in MODELS if n not in CROSS_VALIDATED])

KINDS = [
    {"structure": "diagonal"},
    {"structure": "pooled"},
    {"structure": "class"},
    {"structure": "class", "fourth": True},
    {"structure": "pooled", "pools": 3},
    {"structure": "class", "fourth": True, "pools": 3},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
SUMS = ("counts", "weight", "mean", "scatter", "fourth_power", "cubed")


def assert_same_moments(first, second, rtol=1e-12):
    """Equal to ``rtol`` of the largest entry, sum by sum."""
    assert (first.structure, first.fourth, first.pools) == (second.structure, second.fourth, second.pools)
    for name in SUMS:
        if hasattr(first, name):
            one, other = getattr(first, name), getattr(second, name)
            if name == "mean":  # a class without rows has none
                one, other = one[first.present], other[second.present]
            assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(one).max(initial=0), err_msg=name)


def assert_same_model(first, second, X, rtol=1e-9):
    assert_array_equal(first.classes_, second.classes_)
    assert_allclose(output(first, X), output(second, X), rtol=rtol, atol=rtol)
    assert_array_equal(first.predict(X), second.predict(X))


# --- weights, order, names ------------------------------------------------------------------------------------------


@without_folds
@pytest.mark.parametrize("p", [4, 40])
def test_integer_weights_are_repeated_rows(name, p):
    X, y = data_for(name, n=20 * p, p=p)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = make_model(name).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_model(make_model(name).fit(X, y, weight), repeated, X)


@without_folds
def test_weighted_rows_fewer_than_columns_are_repeated_rows(name):
    X, y = data_for(name, n=25, p=30)
    if name in MANY_ROWS:
        X, y = data_for(name, n=25, p=2)
    weight = np.arange(25) % 3
    weight[:6] = 2
    with collinearity_allowed():
        repeated = make_model(name).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert_same_model(make_model(name).fit(X, y, weight), repeated, X, rtol=1e-7)


def test_a_level_in_rows_of_weight_zero_is_a_level_never_seen():
    X = pd.DataFrame({"colour": list("rrbrrbz"), "size": [1.0, 1.2, 3.0, 2.8, 1.4, 2.0, 2.5]})
    y, weight = list("aabaaba"), [1, 1, 1, 1, 1, 1, 0]
    weighted, dropped = NaiveBayes().fit(X, y, weight), NaiveBayes().fit(X[:6], y[:6])
    with pytest.warns(DiscriminantWarning, match="'z'"):
        found = [model.predict_proba(X) for model in (weighted, dropped)]
    assert_allclose(*found, rtol=1e-12)


@every_model
def test_weights_all_one_change_nothing(name):
    X, y = data_for(name)
    assert_array_equal(output(make_model(name).fit(X, y, np.ones(len(y))), X), output(make_model(name).fit(X, y), X))


@without_folds
def test_row_order_changes_nothing(name):
    X, y = data_for(name)
    order = np.random.default_rng(2).permutation(len(y))
    assert_same_model(make_model(name).fit(X[order], y[order]), make_model(name).fit(X, y), X)


@every_model
def test_new_names_of_the_classes_rename_the_answer(name):
    X, y = data_for(name)
    new = np.array(["dog", "cat", "ant"])[y]
    before, after = make_model(name).fit(X, y), make_model(name).fit(X, new)
    assert_array_equal(np.array(["dog", "cat", "ant"])[before.predict(X)], after.predict(X))
    old, now = output(before, X), output(after, X)
    # two classes trade places, three come in reverse order
    assert_allclose(now, -old if old.ndim == 1 else old[:, ::-1], rtol=1e-8, atol=1e-10)


# --- units and origins ----------------------------------------------------------------------------------------------


def shift_changes_nothing(name, X, y, test, shift, tolerance):
    """The model on shifted data is the model on the data as the shift rounded them."""
    shifted, unshifted = make_model(name).fit(X + shift, y), make_model(name).fit((X + shift) - shift, y)
    there, here = output(shifted, test + shift), output(unshifted, (test + shift) - shift)
    assert_allclose(there, here, rtol=tolerance, atol=tolerance)
    assert_array_equal(shifted.predict(test + shift), unshifted.predict((test + shift) - shift))


@every_model
def test_an_offset_of_1e8_changes_nothing(name):
    X, y = data_for(name, n=400)
    shift_changes_nothing(name, X[:200], y[:200], X, 1e8, tolerance=1e-6)


@pytest.mark.parametrize("shift", [1e3, 1e8])
@pytest.mark.parametrize("name", [n for n in MODELS if n not in MANY_ROWS])
def test_an_offset_changes_nothing_with_more_columns_than_rows(name, shift):
    X, y = data_for(name, n=160, p=90)
    shift_changes_nothing(name, X[:60], y[:60], X, shift, tolerance=1e-4)


@pytest.mark.parametrize("name", [n for n in MODELS if n not in UNIT_DEPENDENT])
def test_units_of_single_columns_change_nothing(name):
    X, y = data_for(name, p=5)
    scale = np.array([1e-8, 1e3, 1.0, 1e8, 1e-4])
    assert_same_model_in_units(name, X, y, scale)


@pytest.mark.parametrize("name", ["lda", "lda-rank", "fisher", "fisher-bayes", "least-squares"])
def test_units_change_nothing_with_more_columns_than_rows(name):
    X, y = data_for(name, n=30, p=50)
    assert_same_model_in_units(name, X, y, np.geomspace(1e-8, 1e8, 50))


@pytest.mark.parametrize("scale", [1e-60, 1e-8, 1e8, 1e60])
@pytest.mark.parametrize("name", sorted(UNIT_DEPENDENT - {"least-squares-ridge"}))
def test_a_common_unit_changes_no_shrinkage(name, scale):
    X, y = data_for(name, p=5)
    assert_same_model_in_units(name, X, y, scale)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("name", [n for n in MODELS if n != "least-squares-ridge"])
def test_an_extreme_common_unit_is_read_or_refused_but_never_misread(name, scale):
    X, y = data_for(name, p=5)
    try:
        model = make_model(name).fit(X * scale, y)
    except InputError:
        return
    assert_array_equal(model.predict(X * scale), make_model(name).fit(X, y).predict(X))


#: Beside the models above: what the README says of units.
IN_ANY_UNITS = {
    "logistic": LogisticRegression(),
    "firth": LogisticRegression(firth=True),
    "gaussian-nb": GaussianNB(),
    "ridge": LogisticRegression(alpha=0.1),
    "lasso": LogisticRegression(alpha=0.1, l1_ratio=1),
    "ridge, cross-validated": LogisticRegressionCV(random_state=0),
    "rda": RegularizedDiscriminantAnalysis(),
    "svm, standardised": SupportVectorClassifier(standardize=True),
    "least-squares": LeastSquaresClassifier(alpha=10),
}
IN_UNITS = {
    "raw ridge": LogisticRegression(alpha=0.1, standardize=False),
    "raw lasso": LogisticRegression(alpha=0.1, l1_ratio=1, standardize=False),
    "raw least squares": LeastSquaresClassifier(alpha=10, standardize=False),
    "lda": LinearDiscriminantAnalysis(shrinkage=0.5),
    "qda": QuadraticDiscriminantAnalysis(shrinkage=0.5),
    "svm": SupportVectorClassifier(),
    "perceptron": Perceptron(max_iter=20),
    "minimum-distance": MinimumDistance(),
}


@pytest.mark.filterwarnings("ignore:The perceptron did not converge")
@pytest.mark.parametrize("name", [*IN_ANY_UNITS, *IN_UNITS])
def test_units_matter_where_there_is_shrinkage_a_margin_or_a_distance_and_nowhere_else(name):
    X, y = normal_classes(p=3, K=2)
    scale = np.array([1e-3, 1.0, 1e3])
    model = IN_ANY_UNITS.get(name) or IN_UNITS[name]
    one, other = (output(clone(model).fit(rows, y), rows) for rows in (X, X * scale))
    if name in IN_UNITS:
        assert np.abs(one - other).max() > 1e-3
    else:
        assert_allclose(other, one, rtol=1e-6, atol=1e-8)


def assert_same_model_in_units(name, X, y, scale):
    one, other = make_model(name).fit(X, y), make_model(name).fit(X * scale, y)
    assert_allclose(output(other, X * scale), output(one, X), rtol=1e-7, atol=1e-9)
    assert_array_equal(other.predict(X * scale), one.predict(X))


def test_discriminant_coordinates_do_not_depend_on_units():
    X, y = normal_classes(p=5)
    scale = np.array([1e-8, 1e3, 1.0, 1e8, 1e-4])
    one, other = LinearDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(X * scale, y)
    assert_allclose(other.transform(X * scale), one.transform(X), rtol=1e-7, atol=1e-9)
    assert_allclose(other.svd_, one.svd_, rtol=1e-9)


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0, 1.0), (1e-6, 1.0, 1e6, 1e3)], ids=["same units", "mixed units"])
def test_sphered_rows_keep_every_direction_in_any_units(scale):
    X, y = normal_classes(n=300)
    X = X * scale
    Z = LinearDiscriminantAnalysis().fit(X, y).sphere(X)
    means = np.stack([Z[y == k].mean(axis=0) for k in range(3)])
    centred = Z - means[y]
    assert_allclose(centred.T @ centred / (len(y) - 3), np.eye(4), atol=1e-8)


# --- streams --------------------------------------------------------------------------------------------------------


def streamed(name, X, y, cuts, **parameters):
    model = make_model(name, **parameters)
    edges = [0, *sorted(cuts), len(y)]
    with collinearity_allowed():
        for start, stop in pairwise(edges):
            if stop > start:
                model.partial_fit(X[start:stop], y[start:stop], classes=np.unique(y))
    return model


STREAMED = [n for n in MODELS if n not in ("fisher-cv", "qda-cv")]
cut_places = st.lists(st.integers(1, 47), max_size=12)


@pytest.mark.parametrize("name", STREAMED)
@given(cuts=cut_places)
def test_any_chunks_give_the_model_of_one_fit(name, cuts):
    X, y = data_for(name, n=48, p=3)
    assert_same_model(streamed(name, X, y, cuts), make_model(name).fit(X, y), X)


@pytest.mark.parametrize("name", STREAMED)
def test_rows_one_by_one_give_the_model_of_one_fit(name):
    X, y = data_for(name, n=48, p=3)
    assert_same_model(streamed(name, X, y, range(1, 48)), make_model(name).fit(X, y), X)


@pytest.mark.parametrize("name", STREAMED)
def test_classes_one_after_the_other_give_the_model_of_one_fit(name):
    X, y = data_for(name, n=60, p=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    cuts = np.flatnonzero(np.diff(y)) + 1
    assert_same_model(streamed(name, X, y, cuts), make_model(name).fit(X, y), X)


@pytest.mark.parametrize("parameters", [{"rank": 2}, {"n_components": 2}], ids=str)
def test_a_rank_waits_for_the_classes_it_needs(parameters):
    X, y = normal_classes(n=60, p=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    cuts = np.flatnonzero(np.diff(y)) + 1
    whole = LinearDiscriminantAnalysis(**parameters).fit(X, y)
    assert_same_model(streamed("lda", X, y, cuts, **parameters), whole, X)


@pytest.mark.parametrize("name", [n for n in STREAMED if n not in (*MANY_ROWS, "naive-bayes")])
@pytest.mark.parametrize("n", [30, 60], ids=["always fewer rows than columns", "more rows than columns at last"])
def test_chunks_shorter_than_a_row_is_wide_give_the_model_of_one_fit(name, n):
    X, y = data_for(name, n=n, p=40)
    with collinearity_allowed():
        whole = make_model(name).fit(X, y)
    assert_same_model(streamed(name, X, y, [7, 8, 25]), whole, X, rtol=1e-7)


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_of_weighted_rows_gives_the_model_of_one_fit(name):
    X, y = data_for(name, n=60, p=3)
    weight = np.random.default_rng(3).uniform(0.2, 3, 60)
    model = make_model(name).partial_fit(X[:31], y[:31], np.unique(y), weight[:31])
    model.partial_fit(X[31:], y[31:], sample_weight=weight[31:])
    assert_same_model(model, make_model(name).fit(X, y, weight), X)


def test_a_stream_goes_on_after_fit():
    X, y = normal_classes()
    model = LinearDiscriminantAnalysis().fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert_same_model(model, LinearDiscriminantAnalysis().fit(X, y), X)


@every_kind
@given(cuts=cut_places)
def test_moments_of_any_blocks_are_those_of_one_block(kind, cuts):
    X, y, weight = weighted_rows(48)
    in_blocks, at_once = ClassMoments(3, 4, **kind), ClassMoments(3, 4, **kind)
    at_once.update(Block(X, y, weight))
    edges = [0, *sorted(set(cuts)), 48]
    for start, stop in pairwise(edges):
        in_blocks.update(Block(X[start:stop], y[start:stop], weight[start:stop], start))
    assert_same_moments(in_blocks, at_once)


@every_kind
@given(sizes=st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(1, 30)), offset=st.sampled_from([0.0, 1e4]))
def test_merging_is_associative_and_commutative(kind, sizes, offset):
    a, b, c = (part_of(size, seed, kind, offset) for seed, size in enumerate(sizes))
    left, right = sum_of(sum_of(a, b), c), sum_of(a, sum_of(b, c))
    assert_same_moments(left, right, rtol=1e-10 if offset else 1e-12)
    assert_same_moments(sum_of(a, b), sum_of(b, a), rtol=1e-10 if offset else 1e-12)


@pytest.mark.parametrize("structure", ["diagonal", "pooled", "class"])
@pytest.mark.parametrize("cut", [3, 30, 57])
def test_merged_parts_are_the_whole(structure, cut):
    """Also where a part has fewer rows than columns and is kept as rows."""
    X, y = normal_classes(n=60, p=8)
    X, y = X[np.argsort(-y, kind="stable")], np.sort(y)[::-1].copy()
    parts = []
    for rows in (slice(None, cut), slice(cut, None)):
        data = labelled_rows(X[rows], y[rows], classes=np.arange(3))
        parts.append(data.reduce(MomentsSpec(structure).statistic(data.n_rows, 3, 8)))
    before = copy.deepcopy(parts)
    assert_same_moments(merged(*parts), class_moments(X, y, structure=structure))
    for part, untouched in zip(parts, before, strict=True):
        assert_array_equal(part.mean, untouched.mean)
        assert part.n_rows == untouched.n_rows


@every_kind
def test_rows_kept_as_rows_have_the_moments_of_their_sums(kind):
    X, y, weight = weighted_rows(20)
    thin, dense = RowMoments(3, 4, **kind), ClassMoments(3, 4, **kind)
    thin.update(Block(X, y, weight))
    dense.update(Block(X, y, weight))
    assert_same_moments(thin.dense(), dense)


def weighted_rows(n, seed=0):
    X, y = normal_classes(n, 4, 3, seed)
    return X, y.astype(np.int32), np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n)


def part_of(size, seed, kind, offset):
    moments = ClassMoments(3, 4, **kind)
    if size:
        X, y, weight = weighted_rows(30, seed)
        moments.update(Block(X[:size] + offset, y[:size], weight[:size]))
    return moments


def sum_of(first, second):
    total = copy.deepcopy(first)
    total.merge(second)
    return total


# --- threads --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def several_blocks():
    """Rows for four blocks, and two classes so that every model can read them."""
    return normal_classes(n=60_000, p=12, K=2, seed=5)


@every_model
@pytest.mark.parametrize("n_jobs", [2, 3, 7, -1, None])
def test_threads_change_no_bit(name, n_jobs, several_blocks):
    X, y = several_blocks
    assert len(labelled_rows(X, y).partitions) > 1
    alone, many = (make_model(name, n_jobs=jobs).fit(X, y) for jobs in (1, n_jobs))
    assert_array_equal(output(alone, X), output(many, X))
    assert_array_equal(alone.predict(X), many.predict(X))
    assert_array_equal(alone.means_, many.means_)


@pytest.mark.parametrize("name", ["lda", "qda", "gaussian-nb", "naive-bayes"])
def test_threads_change_no_drawn_row(name, several_blocks):
    X, y = several_blocks
    drawn = [make_model(name, n_jobs=jobs).fit(X, y).sample(500, random_state=3) for jobs in (1, 3)]
    assert_array_equal(drawn[0][0], drawn[1][0])
    assert_array_equal(drawn[0][1], drawn[1][1])


@pytest.mark.parametrize("name", ["lda", "qda", "gaussian-nb", "naive-bayes", "fisher", "least-squares"])
def test_answers_stand_in_the_order_of_the_rows(name, several_blocks):
    X, y = several_blocks
    model = make_model(name, n_jobs=3).fit(X, y)
    some = np.random.default_rng(0).integers(0, len(y), 200)
    assert_allclose(output(model, X)[some], output(model, X[some]), rtol=1e-9, atol=1e-12)


def test_transform_stands_in_the_order_of_the_rows(several_blocks):
    X, y = several_blocks
    model = LinearDiscriminantAnalysis(n_jobs=3).fit(X, y)
    assert_allclose(model.transform(X), (X - model.xbar_) @ model.scalings_, rtol=1e-9, atol=1e-10)


# --- precision and containers ---------------------------------------------------------------------------------------


@every_model
def test_float32_is_read_as_the_numbers_it_holds(name):
    X, y = data_for(name)
    single, double = X.astype(np.float32), X.astype(np.float32).astype(np.float64)
    one, other = make_model(name).fit(single, y), make_model(name).fit(double, y)
    assert_array_equal(one.means_, other.means_)
    assert_allclose(output(one, single), output(other, double), rtol=1e-10, atol=1e-12)


NAMES = list("abcd")
SAME_BITS = {
    "list": np.ndarray.tolist,
    "fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed columns twice": lambda X: X[:, ::-1].copy()[:, ::-1],
    "read only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "big endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas with other index": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1]),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
SPARSE = {
    "csr array": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "entries in two parts": lambda X: halves(X),
    "csr of float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


def halves(X):
    """Every entry stored as two that add up to it."""
    whole = sp.coo_array(X)
    places = (np.tile(whole.row, 2), np.tile(whole.col, 2))
    return sp.coo_array((np.tile(whole.data / 2, 2), places), shape=X.shape)


def quantised(name):
    """Data with zeros, and few enough digits for float32."""
    X, y = data_for(name)
    X = np.round(X * 8) / 8
    X[np.abs(X) < 0.5] = 0
    return X, y


@every_model
@pytest.mark.parametrize("container", SAME_BITS)
def test_every_dense_container_gives_the_same_bits(name, container):
    X, y = quantised(name)
    wrapped = SAME_BITS[container](X)
    if name == "naive-bayes" and container == "objects":
        wrapped = wrapped.tolist()
    assert_array_equal(output(make_model(name).fit(wrapped, y), wrapped), output(make_model(name).fit(X, y), X))


@every_model
@pytest.mark.parametrize("container", SPARSE)
def test_every_sparse_container_gives_the_same_model(name, container):
    X, y = quantised(name)
    wrapped = SPARSE[container](X)
    plain, sparse = make_model(name).fit(X, y), make_model(name).fit(wrapped, y)
    assert_allclose(output(sparse, wrapped), output(plain, X), rtol=1e-8, atol=1e-10)
    assert_allclose(output(plain, wrapped), output(plain, X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("container", ["entries in two parts", "csr array"])
def test_a_sparse_matrix_is_left_as_it_came(container):
    X, y = quantised("lda")
    wrapped = SPARSE[container](X).tocsr()
    before = wrapped.copy()
    LinearDiscriminantAnalysis().fit(wrapped, y).predict(wrapped)
    assert_array_equal(wrapped.data, before.data)
    assert_array_equal(wrapped.indices, before.indices)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_integers_are_read_as_the_numbers_they_are(dtype):
    X, y = normal_classes(n=200)
    counts = (np.abs(X * 2).astype(int) > 1).astype(dtype) if dtype is bool else np.abs(X * 9).astype(dtype)
    one, other = (LinearDiscriminantAnalysis().fit(table, y) for table in (counts, counts.astype(float)))
    assert_array_equal(one.predict_proba(counts), other.predict_proba(counts.astype(float)))


# --- several models in one pass -------------------------------------------------------------------------------------


def shared_and_separate(names, X, y, sample_weight=None):
    shared = fit_all([make_model(n) for n in names], X, y, sample_weight)
    return zip(shared, [make_model(n).fit(X, y, sample_weight) for n in names], strict=True)


def test_one_pass_gives_every_model_its_own_fit():
    X, y = normal_classes(n=80, K=2)
    for together, alone in shared_and_separate(MOMENT_MODELS, X, y):
        assert_same_model(together, alone, X)
        assert vars(together).keys() == vars(alone).keys()


@pytest.mark.parametrize("name", [n for n in MOMENT_MODELS if n not in MANY_ROWS])
def test_one_pass_gives_a_model_its_own_fit_with_more_columns_than_rows(name):
    X, y = normal_classes(n=50, p=60, K=2)
    for together, alone in shared_and_separate([name, "qda-oas", "lda-cv"], X, y):
        assert_same_model(together, alone, X)


def test_one_pass_reads_weights_like_every_fit():
    X, y = normal_classes()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for together, alone in shared_and_separate(["lda", "qda", "gaussian-nb", "lda-ledoit-wolf"], X, y, weight):
        assert_same_model(together, alone, X)


@pytest.mark.parametrize(
    "names",
    [("lda", "qda"), ("lda-ledoit-wolf", "qda"), ("lda-ledoit-wolf", "lda-cv"), ("lda-cv", "qda-oas", "gaussian-nb")],
    ids=" + ".join,
)
def test_a_stream_goes_on_after_one_pass(names):
    X, y = normal_classes()
    for together, alone in shared_and_separate(names, X[:100], y[:100]):
        assert_same_model(together.partial_fit(X[100:], y[100:]), alone.partial_fit(X[100:], y[100:]), X)


def test_one_pass_notes_column_names_for_every_model():
    X, y = normal_classes()
    frame = pd.DataFrame(X, columns=NAMES)
    for model in fit_all({"a": make_model("lda"), "b": make_model("gaussian-nb")}, frame, y):
        assert_array_equal(model.feature_names_in_, NAMES)


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_threads_change_no_bit_of_one_pass(n_jobs, several_blocks):
    X, y = several_blocks
    once, again = (fit_all([make_model("lda"), make_model("qda")], X, y, n_jobs=jobs) for jobs in (None, n_jobs))
    for first, second in zip(once, again, strict=True):
        assert_array_equal(first.predict_proba(X), second.predict_proba(X))
