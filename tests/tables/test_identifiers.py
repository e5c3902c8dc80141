"""Row numbers, identifiers of groups and times that order the rows, in memory and by passes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discriminant import open_dataset
from discriminant.tables import TableEncoder, read_training
from discriminant.tables.identifiers import Numbering

KINDS = ("identifier", "group identifier", "time order")


def emails(n=400, seed=0):
    """Rows with two measurements and classes that drift along the rows."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < np.linspace(0.1, 0.9, n), "spam", "mail")
    return pd.DataFrame({"length": rng.lognormal(5, 1, n).round(2), "links": rng.poisson(3, n), "y": y})


def found(frame, **options):
    """Kinds of findings by column, which are the same by passes."""
    training = read_training(frame, "y", **options)
    return {(one.kind, one.column) for one in training.findings if one.kind in KINDS}


def by_passes(frame, tmp_path):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "t.parquet", row_group_size=37)
    encoder = TableEncoder().fit(open_dataset(tmp_path / "t.parquet", target="y"))
    return {(one.kind, one.column) for one in encoder.findings_ if one.kind in KINDS}


@pytest.mark.parametrize("share", [1.0, 0.7, 0.1])
@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "index", "X", "id", "obs number", "n"])
def test_row_numbers_of_a_sample_are_identifiers(tmp_path, name, share):
    frame = emails()
    frame.insert(0, name, np.arange(1, len(frame) + 1))
    sample = frame.sample(frac=share, random_state=1).sort_index()
    assert found(sample) == by_passes(sample, tmp_path) == {("identifier", name)}
    assert name not in read_training(sample, "y").schema.names
    assert name in read_training(sample, "y", types={name: "number"}).schema.names


@pytest.mark.parametrize("name", ["rownames", "X", "n"])
def test_row_numbers_of_shuffled_rows_are_identifiers(tmp_path, name):
    frame = emails().assign(**{name: np.arange(400)}).sample(frac=0.7, random_state=2)
    assert found(frame) == by_passes(frame, tmp_path) == {("identifier", name)}


@pytest.mark.parametrize("gaps", [(1, 3), (1, 1000), (10, 11)])
def test_numbers_in_row_order_are_identifiers_whatever_the_gaps(tmp_path, gaps):
    numbers = np.cumsum(np.random.default_rng(3).integers(*gaps, size=400)) + 10**6
    for values in (numbers, numbers[::-1]):
        frame = emails().assign(number=values)
        assert found(frame) == by_passes(frame, tmp_path) == {("identifier", "number")}


def measurements(n=400):
    rng = np.random.default_rng(4)
    return {
        "age, sorted": np.sort(rng.integers(18, 90, n)),
        "income, sorted": np.sort(rng.lognormal(10, 0.7, n).astype(int)),
        "days, sorted with ties": np.sort(rng.integers(0, 3000, n)),
        "price in tens, sorted": np.sort(rng.integers(100, 4000, n) * 10),
        "salary": rng.choice(10**6, n, replace=False),
        "pulse": rng.normal(70, 9, n).round(),
        "body_mass_index": rng.integers(15, 60, n),
        "x": rng.integers(0, 2000, n),
        "balance": np.arange(n) - 100 + rng.integers(0, 9, n),
    }


@pytest.mark.parametrize("name", measurements())
def test_measurements_are_no_identifiers(tmp_path, name):
    frame = emails().assign(**{name: measurements()[name]})
    assert found(frame) == by_passes(frame, tmp_path) == set()


def test_coordinates_are_no_row_numbers():
    rng = np.random.default_rng(5)
    frame = emails().assign(X=rng.choice(10**6, 400, False), Y=rng.choice(10**6, 400, False))
    assert found(frame) == set()
    assert found(frame.drop(columns="Y")) == {("identifier", "X")}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", ["id", "patient_id", "Subject"])
def test_repeated_identifiers_are_groups(tmp_path, name, text):
    numbers = np.random.default_rng(6).permutation(np.repeat(np.arange(200), 2) * 7 + 100)
    frame = emails().assign(**{name: [f"p{number}" for number in numbers] if text else numbers})
    assert found(frame) == by_passes(frame, tmp_path) == {("group identifier", name)}
    (finding,) = (one for one in read_training(frame, "y").findings if one.kind == "group identifier")
    assert finding.severity == "warning"
    assert f"groups={name!r}" in str(finding.message)
    assert found(frame, groups=name) == set()


def test_a_time_that_orders_the_rows_is_told(tmp_path):
    rng = np.random.default_rng(7)
    days = np.datetime64("2020-01-01") + np.sort(rng.integers(0, 200, 400))
    for values in (days, [str(day) for day in days]):
        frame = emails().assign(sent=values)
        assert found(frame) == by_passes(frame, tmp_path) == {("time order", "sent")}
        shuffled = frame.sample(frac=1.0, random_state=0)
        assert found(shuffled) == by_passes(shuffled, tmp_path) == set()
    years = emails().assign(year=np.sort(rng.integers(2010, 2015, 400)))
    assert found(years) == by_passes(years, tmp_path) == {("time order", "year")}


def test_the_roles_of_many_numbers():
    values = np.random.default_rng(8).permutation(100_000)
    assert Numbering.of(values).role("n", []) == "rows"
    assert Numbering.of(values // 2).role("n", []) is None
    assert Numbering.of(values // 2).role("id", []) == "groups"
