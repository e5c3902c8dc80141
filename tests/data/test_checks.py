"""Labels of every kind become codes 0..K-1 in sorted order of the classes, as NumPy's unique would number them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from discriminant.data import encode_labels, sorted_classes
from discriminant.errors import InputError, LabelError

LABELS = {
    "small integers": np.array([2, 0, 1, 2, 0]),
    "integers with gaps": np.array([7, 3, 3, 90, 7]),
    "integers far from zero": np.array([10**12 + 2, 10**12, 10**12 + 2]),
    "a huge range": np.array([2**62, -(2**62), 5, 2**62]),
    "the whole range of int64": np.array([2**63 - 1, -(2**63), 0]),
    "negative integers": np.array([-1, 1, -1, -7]),
    "int8 over its whole range": np.array([-128, 127, 0, 127], dtype=np.int8),
    "int16 over its whole range": np.array([-(2**15), 2**15 - 1, 0], dtype=np.int16),
    "unsigned bytes": np.array([255, 0, 7], dtype=np.uint8),
    "unsigned 64 bits": np.array([9, 5, 9], dtype=np.uint64),
    "unsigned 64 bits, huge": np.array([2**64 - 1, 5, 2**64 - 1], dtype=np.uint64),
    "booleans": np.array([True, False, True]),
    "only true": np.array([True, True]),
    "text": np.array(["b", "a", "ccc", "b"]),
    "bytes": np.array([b"b", b"a"]),
    "text objects": np.array(["b", "a", "ccc", "b"], dtype=object),
    "integer objects": np.array([2, -1, 2], dtype=object),
    "whole numbers as floats": np.array([2.0, -1.0, 2.0, 0.0]),
    "every second entry": np.array([3, 0, 1, 0, 3, 0])[::2],
    "every second boolean": np.array([True, False, False, False])[::2],
    "read only": np.frombuffer(np.array([1, 0, 1]).tobytes(), dtype=np.int64),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_are_numbered_in_sorted_order(labels):
    classes, codes = encode_labels(labels, len(labels))
    expected, inverse = np.unique(labels, return_inverse=True)
    assert_array_equal(classes, expected)
    assert classes.dtype == labels.dtype
    assert_array_equal(codes, inverse)
    assert codes.dtype == np.int32


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_integers_are_numbered_in_sorted_order(values):
    labels = np.array(values)
    classes, codes = encode_labels(labels, len(labels))
    assert_array_equal(classes[codes], labels)
    assert_array_equal(classes, np.unique(labels))


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "pandas": pd.Series,
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "pandas category with an unused level": lambda v: pd.Categorical(v, categories=["z", "b", "a"]),
    "polars": pl.Series,
    "polars categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]]),
}


@pytest.mark.parametrize("wrap", CONTAINERS.values(), ids=CONTAINERS)
def test_text_is_read_from_every_container(wrap):
    classes, codes = encode_labels(wrap(["b", "a", "b"]), 3)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize("wrap", [list, pd.Series, pl.Series, pa.array, lambda v: pd.Series(v, dtype="Int64")])
def test_integers_are_read_from_every_container(wrap):
    classes, codes = encode_labels(wrap([4, -1, 4]), 3)
    assert classes.tolist() == [-1, 4]
    assert codes.tolist() == [1, 0, 1]


def test_a_column_of_labels_is_read_with_scikit_learns_warning():
    with pytest.warns(UserWarning, match="column-vector"):
        classes, codes = encode_labels(np.array([[1], [0]]), 2)
    assert classes.tolist() == [0, 1]
    assert codes.tolist() == [1, 0]


def test_codes_follow_the_declared_classes():
    classes, codes = encode_labels(["c", "a"], 2, classes=np.array(["a", "b", "c"]))
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [2, 0]


def test_a_label_that_was_not_declared_is_named():
    with pytest.raises(LabelError, match=r"'z'.*'a', 'b'"):
        encode_labels(["a", "z"], 2, classes=np.array(["a", "b"]))


def test_declared_classes_are_sorted_and_each_counted_once():
    assert sorted_classes(["b", "a", "b"]).tolist() == ["a", "b"]


def test_lengths_that_differ_are_told():
    with pytest.raises(InputError, match=r"\[3, 2\]"):
        encode_labels([0, 1], 3)


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.text(max_size=40), min_size=1, max_size=60), step=st.sampled_from([1, -1, 2]))
def test_text_is_coded_like_python_sorts_it(texts, step):
    labels = np.array(texts)[::step]
    classes, codes = encode_labels(labels, len(labels))
    assert classes.tolist() == sorted(set(labels.tolist()))
    assert classes[codes].tolist() == labels.tolist()


def test_text_labels_are_encoded_in_sorted_order():
    labels = np.array(["ab", "ba", "ab", "cc"])
    classes, codes = encode_labels(labels, 4)
    assert classes.tolist() == ["ab", "ba", "cc"]
    assert codes.tolist() == [0, 1, 0, 2]


def test_text_of_another_byte_order_and_of_many_classes():
    many = np.array([f"k{i:05}" for i in range(6000)] * 2)
    for labels in (many, many.astype(many.dtype.newbyteorder())):
        classes, codes = encode_labels(labels, len(labels))
        np.testing.assert_array_equal(classes[codes], many)
        assert classes.size == 6000
