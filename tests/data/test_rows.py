"""Rows are read where they stand: blocks are views where they can be, float32 stays float32, CSR stays CSR.

How rows are cut into blocks and partitions depends on their shape alone, and every row is in exactly one block.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from discriminant.data import as_rows, check_weights, labelled_rows
from discriminant.errors import InputError

TABLE = np.arange(24.0).reshape(8, 3) - 7


def every_block(rows):
    return [rows.block(start, stop) for partition in rows.partitions for start, stop in rows.edges(partition)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_an_array_are_views(dtype):
    values = TABLE.astype(dtype)
    block = as_rows(values).block(2, 5)
    assert np.shares_memory(block, values)
    assert block.dtype == dtype
    assert_array_equal(block, values[2:5])


def test_rows_that_begin_at_an_odd_byte_of_a_buffer_are_aligned():
    X = np.arange(6.0).reshape(3, 2)
    shifted = np.ndarray(X.shape, X.dtype, np.frombuffer(b"?" + X.tobytes(), np.uint8), offset=1)
    assert not shifted.flags.aligned
    block = as_rows(shifted).block(0, 3)
    assert block.flags.aligned
    np.testing.assert_array_equal(block, X)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, bool, np.float16, ">f8", object])
def test_other_numbers_are_converted_block_by_block(dtype):
    values = np.abs(TABLE).astype(dtype)
    block = as_rows(values).block(2, 5)
    assert block.dtype == np.float64
    assert_array_equal(block, values[2:5].astype(float))


def test_blocks_in_fortran_order_are_made_contiguous():
    block = as_rows(np.asfortranarray(TABLE)).block(2, 5)
    assert block.flags.c_contiguous
    assert_array_equal(block, TABLE[2:5])


FRAMES = {
    "pandas": lambda dtype: pd.DataFrame(TABLE.astype(dtype), columns=list("abc")),
    "polars": lambda dtype: pl.DataFrame(TABLE.astype(dtype), schema=list("abc")),
    "pyarrow": lambda dtype: pa.table(dict(zip("abc", TABLE.astype(dtype).T, strict=True))),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_keep_their_precision_and_names(frame, dtype):
    rows = as_rows(frame(dtype))
    assert_array_equal(rows.block(2, 5), TABLE[2:5])
    assert rows.block(2, 5).dtype == dtype
    assert rows.block(2, 5).flags.c_contiguous
    assert rows.names == ("a", "b", "c")
    assert rows.column_label(1) == "column 'b'"


def test_columns_of_several_types_become_float64():
    frame = pd.DataFrame({"a": [True, False], "b": [1, 2], "c": np.array([0.5, 1.5], dtype=np.float32)})
    block = as_rows(frame).block(0, 2)
    assert block.dtype == np.float64
    assert_array_equal(block, [[1, 1, 0.5], [0, 2, 1.5]])


def test_a_frame_of_number_objects_is_read():
    assert_array_equal(as_rows(pd.DataFrame({"a": [1, 2.5]}, dtype=object)).block(0, 2), [[1], [2.5]])


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array])
def test_sparse_rows_stay_sparse(convert):
    block = as_rows(convert(TABLE)).block(2, 5)
    assert sp.issparse(block)
    assert block.format == "csr"
    assert_array_equal(block.toarray(), TABLE[2:5])


def test_entries_stored_twice_are_added_up_without_touching_the_input():
    twice = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert_array_equal(as_rows(twice).block(0, 2).toarray(), [[3, 0], [0, 5]])
    assert twice.nnz == 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 50_000), (100_001, 2), (7, 4000), (50_000, 40), (33, 1)])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_every_row_is_in_exactly_one_block(shape, convert):
    values = np.zeros(shape, dtype=np.float32)
    values[:, 0] = np.arange(1, shape[0] + 1)
    rows = as_rows(convert(values))
    edges = [edge for partition in rows.partitions for edge in rows.edges(partition)]
    assert edges[0][0] == 0
    assert edges[-1][1] == shape[0]
    assert all(stop == start for (_, stop), (start, _) in pairwise(edges))
    assert all(stop > start for start, stop in edges)
    assert sum(block.shape[0] for block in every_block(rows)) == shape[0]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_rows_can_be_read_in_smaller_blocks(convert):
    rows = as_rows(convert(TABLE))
    assert rows.in_blocks(1_000_000) is rows
    smaller = rows.in_blocks(3)
    assert [len(range(*edge)) for partition in smaller.partitions for edge in smaller.edges(partition)] == [3, 3, 2]
    assert [len(range(*edge)) for partition in rows.partitions for edge in rows.edges(partition)] == [8]


def test_spans_depend_on_the_shape_alone():
    shape = (70_000, 9)
    tables = (np.zeros(shape), np.ones(shape, dtype=np.float32), np.asfortranarray(np.ones(shape)))
    partitions = [as_rows(table).partitions for table in tables]
    assert partitions[0] == partitions[1] == partitions[2]
    assert len(partitions[0]) > 1


def test_labelled_blocks_carry_codes_and_weights_of_their_rows():
    values = np.arange(100_000.0).reshape(-1, 2)
    weight = values[:, 0] + 1
    data = labelled_rows(values, np.arange(50_000) % 3, weight)
    blocks = [block for partition in data.partitions for block in data.blocks(partition)]
    assert len(blocks) > 1
    for block in blocks:
        numbers = np.arange(block.start, block.start + block.n_rows)
        assert_array_equal(block.X[:, 0], 2 * numbers)
        assert_array_equal(block.codes, numbers % 3)
        assert_array_equal(block.weight, 2 * numbers + 1)


def test_rows_without_weights_count_once():
    (block,) = labelled_rows(TABLE, [0, 1] * 4).blocks(range(0, 8, 8))
    assert_array_equal(block.weight, np.ones(8))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, lambda v: pd.DataFrame(v)])
def test_the_first_bad_value_is_named(container):
    bad = TABLE.copy()
    bad[5, 0], bad[3, 2] = np.nan, np.inf
    with pytest.raises(InputError, match=r"infinity: column '?2'?, row 3"):
        as_rows(container(bad)).refuse_nonfinite()


def test_finite_rows_are_let_through():
    for container in (np.asarray, sp.csr_array, pd.DataFrame):
        as_rows(container(TABLE)).refuse_nonfinite()


def test_rows_are_passed_on_as_they_are():
    rows = as_rows(TABLE)
    assert as_rows(rows) is rows


@pytest.mark.parametrize("weight", [2, 2.0, np.float32(2)])
def test_one_weight_for_all_rows(weight):
    assert_array_equal(check_weights(weight, 3), [2.0, 2.0, 2.0])


@pytest.mark.parametrize("weight", [[1, 0, 2], np.array([True, False, True]), np.array([0.5, 0, 1], dtype=np.float32)])
def test_weights_become_float64(weight):
    checked = check_weights(weight, 3)
    assert checked.dtype == np.float64
    assert_array_equal(checked, np.asarray(weight, dtype=float))


def test_weights_are_the_models_own():
    weight = np.array([1.0, 2.0])
    assert not np.shares_memory(check_weights(weight, 2), weight)
    assert check_weights(None, 2) is None
