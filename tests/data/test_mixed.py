"""Every column gets a distribution: the one asked for, or the one of its type."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from discriminant.data import MixedRows, as_table, column_distributions
from discriminant.errors import ColumnError, ParameterError

COLUMNS = {"colour": ["red", "blue"], "size": [1.5, 2.5], "visits": [3, 4], "smokes": [True, False]}
BY_TYPE = ("categorical", "gaussian", "gaussian", "bernoulli")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_types_of_a_frame_choose_the_distributions(frame):
    assert column_distributions(as_table(frame(COLUMNS)), "auto") == BY_TYPE


@pytest.mark.parametrize(
    "column",
    [pd.Categorical(["u", "v"]), pd.array(["u", "v"], dtype="string"), np.array(["u", "v"], dtype=object)],
    ids=["category", "string", "object"],
)
def test_text_and_categories_are_categorical(column):
    assert column_distributions(as_table(pd.DataFrame({"a": column})), "auto") == ("categorical",)


def test_columns_of_an_object_array_are_told_apart_by_their_values():
    table = np.array([["red", 1.5, 2], ["blue", 2.5, 3]], dtype=object)
    assert column_distributions(as_table(table), "auto") == ("categorical", "gaussian", "gaussian")


def test_numbers_are_gaussian():
    assert column_distributions(as_table(np.ones((2, 2))), "auto") == ("gaussian",) * 2
    assert column_distributions(as_table(sp.csr_array(np.ones((2, 2)))), "auto") == ("gaussian",) * 2


def test_a_name_holds_for_all_columns():
    assert column_distributions(as_table(np.ones((2, 3))), "counts") == ("counts",) * 3


def test_a_list_holds_for_each_column_in_turn():
    asked = ["auto", "gaussian", "counts", "categorical"]
    table = as_table(pd.DataFrame(COLUMNS))
    assert column_distributions(table, asked) == ("categorical", "gaussian", "counts", "categorical")


def test_a_dict_leaves_the_other_columns_to_their_types():
    table = as_table(pd.DataFrame(COLUMNS))
    assert column_distributions(table, {"visits": "counts"}) == ("categorical", "gaussian", "counts", "bernoulli")
    assert column_distributions(as_table(np.ones((2, 3))), {1: "counts"}) == ("gaussian", "counts", "gaussian")


@pytest.mark.parametrize("asked", ["poisson", {"size": "normal"}, ["x", "auto", "auto", "auto"]], ids=str)
def test_an_unknown_distribution_is_named(asked):
    with pytest.raises(ParameterError, match=r"poisson|normal|'x'"):
        column_distributions(as_table(pd.DataFrame(COLUMNS)), asked)


def test_an_unknown_column_is_named():
    with pytest.raises(ColumnError, match="'weight'"):
        column_distributions(as_table(pd.DataFrame(COLUMNS)), {"weight": "counts"})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_blocks_part_numbers_from_levels(frame):
    rows = MixedRows(as_table(frame(COLUMNS)), BY_TYPE)
    block = rows.block(1, 2)
    assert_array_equal(block.numbers, [[2.5, 4, 0]])
    assert block.levels == [["blue"]]
    assert rows.column_label(0) == "column 'colour'"


def test_rows_of_categories_only_have_no_numbers():
    block = MixedRows(as_table(np.array([["u", "v"], ["w", "v"]])), ("categorical", "categorical")).block(0, 2)
    assert block.numbers.shape == (2, 0)
    assert block.levels == [["u", "w"], ["v", "v"]]
