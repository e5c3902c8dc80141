"""Text, levels and missing values of a dataset: coded in passes as a table in memory is."""

import os
import subprocess
import sys
from textwrap import dedent

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, open_dataset
from discriminant.errors import ColumnError, InputError, LabelError
from discriminant.partitions import coding
from discriminant.tables import TableEncoder, counting, read_training
from discriminant.tables.learning import LearningOptions

N = 3_000


def gaps(rng, values, share):
    """The values with None in some places."""
    return [None if missing else value for value, missing in zip(values, rng.random(len(values)) < share, strict=True)]


def people(n=N, seed=0):
    """A table with columns of every kind that is recognised, and labels that depend on some."""
    rng = np.random.default_rng(seed)
    towns = rng.choice(
        ["Ávila", "Bonn", "Cork", "Dover", "rare 1", "rare 2"], n, p=[0.4, 0.3, 0.2, 0.098, 0.001, 0.001]
    )
    age, income = rng.normal(40, 10, n).round(1), rng.lognormal(10, 1, n)
    dose = rng.choice([1, 2, 3, 4], n)
    days = np.array("2020-01-01", dtype="datetime64[D]") + rng.integers(0, 500, n)
    spoiled = np.where(rng.random(n) < 0.05, -999.0, rng.uniform(0, 1, n))
    score = (age - 40) / 10 + (towns == "Bonn") - (dose == 3) + rng.logistic(size=n)
    return pa.table(
        {
            "row": np.arange(n),
            "patient_id": rng.permutation(n) * 7,
            "age": pa.array(gaps(rng, age.tolist(), 0.1)),
            "town": pa.array(gaps(rng, towns.tolist(), 0.05)),
            "town again": pa.array(towns.tolist()),
            "coded town": pa.array([f"t{ord(town[0])}{town[-1]}" for town in towns]),
            "income": pa.array([f"{value:,.2f}" for value in income]),
            "euros": pa.array([f"€{value:.0f}" for value in income]),
            "income again": income,
            "income twice": income,
            "smoker": pa.array(gaps(rng, rng.choice(["yes", "no", "Yes"], n).tolist(), 0.02)),
            "member": rng.random(n) < 0.5,
            "dose": dose,
            "region_code": rng.choice([3, 7, 11], n),
            "day": pa.array(days),
            "day number": np.array([int(str(day).replace("-", "")) for day in days]),
            "written day": pa.array([str(day) for day in days]),
            "spoiled": spoiled,
            "few spoiled": np.where(rng.random(n) < 0.1, 99, rng.integers(0, 5, n)),
            "constant": np.ones(n),
            "hardly": (np.arange(n) < 3).astype(float),
            "comment": pa.array([f"it was the {k}-th time that I came here" for k in range(n)]),
            "nothing": pa.nulls(n),
            "leak": (score > 0) * 1.0 + rng.uniform(0, 0.5, n),
            "codes leak": pa.array(np.where(score > 0, rng.choice(["a", "b"], n), rng.choice(["c", "d"], n)).tolist()),
            "w": rng.uniform(0.5, 2, n),
            "ill": pa.array(gaps(rng, np.where(score > 0, "yes", "no").tolist(), 0.01)),
        }
    )  # fmt: skip


def written(folder, table, files=3, rows=400):
    edges = np.linspace(0, table.num_rows, files + 1).astype(int)
    for number in range(files):
        part = table.slice(edges[number], edges[number + 1] - edges[number])
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=rows)
    return str(folder / "*.parquet")


def plain(schema):
    """A schema without the last digits of means and shares."""
    found = schema.to_dict()
    for column in found["columns"]:
        column["mean"] = None if column["mean"] is None else f"{column['mean']:.11g}"
        column["shares"] = [f"{share:.11g}" for share in column["shares"]]
        column["notation"]["sentinels"] = list(column["notation"]["sentinels"])
    return found


def told(findings):
    return sorted((finding.kind, str(finding.column), str(finding.message)) for finding in findings)


OPTIONS = [
    {},
    {"coding": "full", "max_levels": 3},
    {"rare": 1},
    {"rare": 400},
    {"by_type": True},
    {"types": {"dose": "category", "written day": "category", "spoiled": "number"}},
    {"missing": "drop", "drop": ["town", "age"]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_coding_is_that_of_the_table_in_memory(options, weight, tmp_path):
    table = people()
    table = table if weight else table.drop_columns(["w"])
    expected = read_training(table, "ill", weights=weight, **{"rare": 5} | options)
    dataset = open_dataset(written(tmp_path, table), target="ill", weight=weight)
    found = dataset.learned(LearningOptions(**{"rare": 5} | options), labels=True)
    assert plain(found.schema) == plain(expected.schema)
    assert told(found.findings) == told(expected.findings)
    assert found.n_dropped == expected.n_dropped
    rows = dataset.coded(found.schema, found.complete).gathered()
    assert rows.rows.names == expected.schema.names
    assert_allclose(rows.rows.values, expected.X, rtol=1e-12)
    assert_array_equal(rows.classes[rows.codes], expected.y)


def test_a_sample_shows_what_columns_are_and_all_rows_are_counted(tmp_path, monkeypatch):
    """Of a tenth of the rows: levels, missing values, ranges and means are those of the table in memory."""
    monkeypatch.setattr(coding, "MAX_SAMPLE_ROWS", N // 5)
    table = people(2 * N).drop_columns(["w"])
    rare = ["rarest" if row < 7 else "usual" for row in range(2 * N)]
    table = table.append_column("rare", pa.array(rare)).append_column(
        "code", pa.array([0.0] * 9 + [1.5] * 2 * N)[: 2 * N]
    )
    expected = read_training(table, "ill")
    found = open_dataset(written(tmp_path, table), target="ill").learned(LearningOptions(rare=5), labels=True)
    assert plain(found.schema) == plain(expected.schema)
    assert {(one.kind, one.column) for one in found.findings} == {(one.kind, one.column) for one in expected.findings}


def test_a_sentinel_that_the_sample_has_not_is_found_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(coding, "MAX_SAMPLE_ROWS", 200)
    table = people().select(["age", "spoiled", "ill"])
    values = np.random.default_rng(0).uniform(0, 1, N)
    values[:2] = -999
    table = table.set_column(1, "spoiled", pa.array(values))
    found = open_dataset(written(tmp_path, table), target="ill").learned(LearningOptions(rare=5), labels=True)
    assert plain(found.schema) == plain(read_training(table, "ill").schema)


@pytest.mark.parametrize("most", [64, 256])
def test_of_very_many_texts_the_frequent_ones_are_counted_exactly(most, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    n = 20_000
    many = np.where(rng.random(n) < 0.5, rng.integers(0, 8, n), rng.integers(8, 3_000, n))
    table = pa.table(
        {
            "shop": [f"shop {number}" for number in many],
            "price": [f"${price:.2f}" for price in rng.uniform(1, 500, n)],
            "name": [f"customer {number}" for number in rng.permutation(n)],
            "x": rng.normal(size=n),
            "y": (many % 2).astype(str),
        }
    )
    expected = read_training(table, "y", max_levels=8)
    monkeypatch.setattr(counting, "MAX_COUNTED_TEXTS", most)
    dataset = open_dataset(written(tmp_path, table, rows=3_000), target="y")
    found = dataset.learned(LearningOptions(rare=5, max_levels=8), labels=True).schema
    shop, price, name = found.columns[:3]
    theirs = expected.schema.columns
    assert (shop.levels, shop.reference, shop.distinct_levels) == (
        theirs[0].levels,
        theirs[0].reference,
        theirs[0].distinct_levels,
    )
    assert_allclose(shop.shares, theirs[0].shares, rtol=1e-12)
    assert shop.pooled == pytest.approx(theirs[0].pooled, rel=0.15)
    assert price.kind == "number"
    assert price.notation == theirs[1].notation
    assert price.mean == pytest.approx(theirs[1].mean, rel=1e-12)
    assert (name.kind, name.outputs) == ("text", ())


@pytest.mark.parametrize(
    "model", [LinearDiscriminantAnalysis(), LogisticRegression(alpha=0.01, tol=1e-18)], ids=["lda", "logistic"]
)
def test_models_of_coded_rows_are_those_of_the_table_in_memory(model, tmp_path):
    table = people().select(["age", "town", "income", "smoker", "dose", "member", "day", "spoiled", "ill"])
    training = read_training(table, "ill")
    dataset = open_dataset(written(tmp_path, table), target="ill")
    learned = dataset.learned(LearningOptions(rare=5), labels=True)
    found = model.fit(dataset.coded(learned.schema))
    coef, names = found.coef_, found.feature_names_in_.tolist()
    expected = model.fit(training.rows, training.y)
    assert names == list(training.schema.names)
    assert_allclose(coef, expected.coef_, rtol=1e-9, atol=1e-9 * np.abs(expected.coef_).max())
    complete = table.filter(table["ill"].is_valid())
    other = open_dataset(written(tmp_path, complete), target="ill").coded(learned.schema)
    assert_array_equal(found.predict(other), expected.predict(training.rows))


def test_an_encoder_codes_datasets_as_a_step_before_a_model(tmp_path):
    table = people().select(["age", "town", "smoker", "ill"])
    table = table.filter(table["ill"].is_valid())
    dataset = open_dataset(written(tmp_path, table), target="ill")
    frame, labels = table.drop_columns(["ill"]), table["ill"].to_numpy()
    found = make_pipeline(TableEncoder(), LogisticRegression(tol=1e-18)).fit(dataset)
    expected = make_pipeline(TableEncoder(), LogisticRegression(tol=1e-18)).fit(frame, labels)
    assert found[-1].feature_names_in_.tolist() == expected[0].get_feature_names_out().tolist()
    assert_allclose(found[-1].coef_, expected[-1].coef_, rtol=1e-9)
    assert_array_equal(found.predict(dataset), expected.predict(frame))
    assert told(found[0].findings_) == told(expected[0].findings_)


def test_levels_that_training_had_not_count_as_they_do_in_memory(tmp_path):
    table = people().select(["age", "town", "ill"])
    training = read_training(table, "ill")
    other = pa.table({"town": ["Bonn", "Oslo", None, "?"], "age": [30.0, None, 50.0, 60.0], "ill": ["yes"] * 4})
    pq.write_table(other, tmp_path / "other.parquet")
    dataset = open_dataset(tmp_path / "other.parquet").coded(training.schema)
    (block, _), = dataset.blocks(dataset.partitions[0])  # fmt: skip
    assert_array_equal(block, training.schema.encode_batch(other)[0])


def test_wide_codings_are_sparse(tmp_path):
    rng = np.random.default_rng(0)
    towns, shops = rng.integers(0, 700, 6_000), rng.integers(0, 600, 6_000)
    y = (towns % 2 + shops % 2 + rng.normal(size=6_000) > 1).astype(int)
    table = pa.table({"town": [f"town {i}" for i in towns], "shop": [f"shop {i}" for i in shops], "y": y})
    options = {"rare": 1, "max_levels": 1_000, "coding": "full"}
    training = read_training(table, "y", **options)
    assert training.schema.sparse
    dataset = open_dataset(written(tmp_path, table), target="y")
    rows = dataset.coded(dataset.learned(LearningOptions(**options), labels=True).schema)
    model = LogisticRegression(alpha=0.01, tol=1e-14)
    found = model.fit(rows).coef_
    assert_allclose(found, model.fit(training.rows, training.y).coef_, rtol=1e-5, atol=1e-7)
    assert (rows.gathered().rows.values != training.X).nnz == 0


def test_one_file_lacks_a_class_and_another_a_level(tmp_path):
    table = people(900).select(["age", "town", "ill"])
    order = np.lexsort((table["town"].fill_null("").to_numpy(), table["ill"].fill_null("").to_numpy()))
    table = table.take(order)
    dataset = open_dataset(written(tmp_path, table, files=7, rows=30), target="ill")
    found = dataset.learned(LearningOptions(rare=5), labels=True)
    assert plain(found.schema) == plain(read_training(table, "ill").schema)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda table: table.set_column(2, "ill", pa.nulls(table.num_rows, pa.string())), InputError, "'ill'"),
        (lambda table: table.set_column(2, "ill", pa.array(["a"] * table.num_rows)), LabelError, "'a'"),
        (lambda table: table.set_column(0, "age", pa.array([[1.0]] * table.num_rows)), ColumnError, "'age' .* list"),
        (lambda table: table.slice(0, 0), InputError, "parquet"),
    ],
)
def test_what_cannot_be_coded_is_told(change, error, words, tmp_path):
    table = change(people(300).select(["age", "town", "ill"]))
    with pytest.raises(error, match=words):
        open_dataset(written(tmp_path, table), target="ill").learned(LearningOptions(), labels=True)


def test_text_is_refused_with_what_to_do_about_it(tmp_path):
    dataset = open_dataset(written(tmp_path, people(300).select(["age", "town", "ill"])), target="ill")
    with pytest.raises(ColumnError, match=r"'town' \(string\)"):
        LinearDiscriminantAnalysis().fit(dataset)


LITTLE = """
    import resource, sys
    import discriminant as d
    from discriminant.partitions import training as module
    from discriminant.tables.learning import LearningOptions
    def fit(pattern):
        dataset = d.open_dataset(pattern, target="y")
        rows = dataset.coded(dataset.learned(LearningOptions(), labels=True).schema)
        return d.evaluate(d.LogisticRegression(alpha=0.01).fit(rows), rows)["accuracy"].value
    fit(sys.argv[1] + "/few.parquet")  # loads libraries and kernels, starts threads
    held = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
    module.SAMPLE_BYTES = 4_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (held + 120_000_000, held + 120_000_000))
    print(fit(sys.argv[1] + "/many*.parquet"))
"""


def test_texts_need_not_fit_into_memory(tmp_path):
    rng = np.random.default_rng(0)
    n = 60_000
    levels = rng.integers(0, 30, n)
    texts = {f"t{j}": [f"level {(level + j) % 30} of column {j}" for level in levels] for j in range(4)}
    x = rng.normal(size=n)
    y = (x + (levels % 2) + rng.logistic(size=n) > 0.5).astype(int)
    gappy = pa.array(np.where(rng.random(n) < 0.1, np.nan, x), from_pandas=True)
    table = pa.table(texts | {"x": gappy, "town": [f"town {k}" for k in rng.integers(0, 9, n)], "y": y})
    pq.write_table(table.slice(0, 50_000), tmp_path / "few.parquet", row_group_size=17_000)
    pq.write_table(table, tmp_path / "many0.parquet", compression="none", use_dictionary=False)
    for number in range(1, 20):  # 1.2 million rows, 250 MB of text
        os.link(tmp_path / "many0.parquet", tmp_path / f"many{number}.parquet")
    command, pool = [sys.executable, "-c", dedent(LITTLE), str(tmp_path)], {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | pool)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0.6 < float(done.stdout) < 0.9
