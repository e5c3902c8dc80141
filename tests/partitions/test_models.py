"""Models by passes that are not read from moments alone: margins, distributions of columns, stochastic steps."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from discriminant import LogisticRegression, NaiveBayes, SupportVectorClassifier, evaluate, open_dataset
from discriminant.errors import InputError, NotReadyError

P = 5


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24_000, P)) * [1, 2, 1, 5, 1] + 2
    k = np.argmax(X[:, :3] + rng.gumbel(size=(len(X), 3)), axis=1)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(k == 1, "in", "out"), k=k)
    frame["w"] = rng.uniform(0, 2, len(frame)) * (rng.random(len(frame)) < 0.9)  # some rows have no weight
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=3_000)
    return frame, path


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """Larger than what is held at hand, as files larger than memory are."""
    monkeypatch.setattr("discriminant.partitions.training.SAMPLE_BYTES", 8 * P * 3_000)


MACHINES = [
    SupportVectorClassifier(loss="squared_hinge", C=0.1, tol=1e-20),
    SupportVectorClassifier(loss="squared_hinge", C=3.0, tol=1e-20, class_weight="balanced"),
    SupportVectorClassifier(C=0.1),
    SupportVectorClassifier(C=10.0, standardize=True),
    SupportVectorClassifier(C=1.0, fit_intercept=False),
]


@pytest.mark.filterwarnings("ignore")  # of a tolerance that rounding does not reach
@pytest.mark.parametrize("target", ["y", "k"])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_margins_by_passes_are_those_of_rows_in_memory(machine, target, rows):
    frame, path = rows
    machine = clone(machine).set_params(multiclass="one-vs-one" if machine.C == 10 else "one-vs-rest")
    other = {"y": "k", "k": "y"}[target]
    dataset = open_dataset(path, target=target, weight="w", drop=[other])
    found = clone(machine).fit(dataset)
    expected = clone(machine).fit(frame[list("abcde")], frame[target], frame["w"])
    assert_allclose(found.coef_, expected.coef_, rtol=1e-7, atol=1e-7)
    assert_allclose(found.intercept_, expected.intercept_, rtol=1e-7, atol=1e-7)
    assert_allclose(found.margin_, expected.margin_, rtol=1e-7)
    for mine, theirs in zip(np.ravel(found.solution_), np.ravel(expected.solution_), strict=True):
        assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
        assert machine.loss == "squared_hinge" or (mine.converged and mine.duality_gap <= 1e-6 * mine.objective)
    assert_array_equal(found.predict(dataset), expected.predict(frame[list("abcde")]))


def test_machines_of_passes_keep_no_rows(rows):
    machine = SupportVectorClassifier(C=0.1).fit(open_dataset(rows[1], target="y", drop=["k", "w"]))
    for name in ("support_", "dual_coef_", "slacks_", "n_support_"):
        with pytest.raises(NotReadyError, match="streamed"):
            getattr(machine, name)


def test_too_many_rows_near_the_margin_are_refused_by_name(rows, monkeypatch):
    monkeypatch.setattr("discriminant.margins.soft_margin.MAX_GATHERED_BYTES", 8 * P * 20)
    with pytest.raises(InputError, match=r"rows are near the margin.* squared hinge"):
        SupportVectorClassifier(C=1e-7).fit(open_dataset(rows[1], target="y", drop=["k", "w"]))


def test_one_pass_of_stochastic_steps_comes_close(rows):
    for target, other in (("y", "k"), ("k", "y")):
        dataset = open_dataset(rows[1], target=target, drop=[other, "w"])
        exact = LogisticRegression(alpha=1e-3).fit(dataset)
        fits = [LogisticRegression(alpha=1e-3, solver="sgd", random_state=0, n_jobs=n).fit(dataset) for n in (1, 3)]
        assert_array_equal(fits[0].coef_, fits[1].coef_)
        assert fits[0].solution_.passes <= 1.5
        assert fits[0].solution_.reason == "one pass"
        losses = [evaluate(model, dataset)["log_loss"].value for model in (fits[0], exact)]
        assert losses[0] < 1.002 * losses[1]


KINDS = {"b": "bernoulli", "c": "counts", "d": "categorical", "e": "multinomial"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 3_000)
    columns = {
        "a": rng.normal(size=len(y)) + y,
        "b": rng.random(len(y)) < 0.2 + 0.2 * y,
        "c": rng.poisson(1 + y),
        "d": rng.integers(0, 4, len(y)) + (y == 2),
        "e": rng.poisson(2, len(y)),
    }
    frame = pd.DataFrame({name: own.astype(float) for name, own in columns.items()}).assign(y=y)
    path = tmp_path_factory.mktemp("mixed") / "mixed.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=700)
    return frame, path


def test_naive_bayes_reads_and_answers_datasets(mixed):
    frame, path = mixed
    X, dataset = frame.drop(columns="y"), open_dataset(path, target="y")
    found, expected = NaiveBayes(KINDS).fit(dataset), NaiveBayes(KINDS).fit(X, frame["y"])
    assert found.distributions_ == expected.distributions_
    assert_allclose(found.predict_proba(dataset), expected.predict_proba(X), rtol=1e-10)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-10)
    assert evaluate(found, dataset)["accuracy"].value == pytest.approx(expected.score(X, frame["y"]), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"c": -1.0}, "Row 0 has -1 in column 'c'; the distribution 'counts'"),
        ({"d": np.nan}, "Input X contains NaN: column 'd', row 0"),
        ({"a": np.nan}, "Input X contains NaN: column 'a', row 0"),
        ({"b": np.nan}, "column 'b'"),
    ],
)
def test_naive_bayes_refuses_values_of_datasets_by_their_place(change, words, mixed, tmp_path):
    pq.write_table(pa.Table.from_pandas(mixed[0].assign(**change)), tmp_path / "wrong.parquet")
    with pytest.raises(InputError) as told:
        NaiveBayes(KINDS).fit(open_dataset(tmp_path / "wrong.parquet", target="y"))
    assert words in str(told.value)


def test_levels_of_a_dataset_that_were_not_seen_are_told(mixed, tmp_path):
    model = NaiveBayes(KINDS).fit(open_dataset(mixed[1], target="y"))
    pq.write_table(pa.Table.from_pandas(mixed[0].assign(d=9.0)), tmp_path / "new.parquet")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.predict(open_dataset(tmp_path / "new.parquet", drop=["y"]))
    assert "column 'd': 9.0 (rows: 3,000)" in str(told[0].message)


def test_more_columns_than_rows_are_fitted_from_files(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 120)), np.arange(40) % 2
    pq.write_table(pa.table({**{f"x{j}": column for j, column in enumerate(X.T)}, "y": y}), tmp_path / "wide.parquet")
    found = LogisticRegression(alpha=0.1).fit(open_dataset(tmp_path / "wide.parquet", target="y"))
    assert_allclose(found.coef_, LogisticRegression(alpha=0.1).fit(X, y).coef_, atol=1e-6)
