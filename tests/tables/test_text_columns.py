"""Text columns: words and word pairs as sparse columns, from the schema to the command line."""

import inspect
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer

from discriminant import AutoClassifier, LogisticRegressionCV, TableEncoder, open_dataset, read_training
from discriminant.data import as_rows
from discriminant.errors import InputError, ParameterError
from discriminant.estimators.dense_columns import dense_columns
from discriminant.estimators.explanations import contributions, word_effects
from discriminant.storage.export import export
from discriminant.tables import Schema
from discriminant.tables.words import LENGTH, MIN_WORD_ROWS
from discriminant.workflow.columns import distribution, table_columns
from discriminant.workflow.exploring import FittedInUse
from discriminant.workflow.fitting import fit
from discriminant.workflow.tables import Preparation, Roles, read_labelled

TEXT = {"comment": "text"}


def docstrings():
    """Paragraphs of the documentation of two packages, with a number and a level that hardly matter."""
    found = []
    for package, module in (("numpy", np), ("sklearn", sklearn.metrics)):
        for name in sorted(vars(module)):
            text = inspect.getdoc(getattr(module, name)) if callable(getattr(module, name)) else None
            parts = [" ".join(part.split()) for part in (text or "").split("\n\n")[:3]]
            found += [(package, part, name[0].lower(), len(name)) for part in parts if part.count(" ") > 5]
    table = pd.DataFrame(found, columns=["package", "comment", "letter", "length"]).drop_duplicates("comment")
    return table.groupby("package").head(120).reset_index(drop=True)


@pytest.fixture(scope="module")
def table():
    found = docstrings()
    found.loc[[3, 150], "comment"] = None
    found.loc[range(10, 20), "comment"] = " "
    return found


@pytest.fixture(scope="module")
def training(table):
    return read_training(table, "package", types=TEXT, coding="full")


@pytest.fixture(scope="module")
def model(training):
    return AutoClassifier(["ridge", "naive-bayes", "splines"]).fit(training.rows, training.y)


def test_words_have_the_weights_of_scikit_learn(table, training):
    texts = table["comment"].fillna("").str.strip()
    reference = TfidfVectorizer(
        token_pattern=r"\w+", ngram_range=(1, 2), sublinear_tf=True, vocabulary=training.schema.columns[0].levels
    ).fit(texts[texts != ""])
    n = len(training.schema.columns[0].levels)
    assert_allclose(training.X[:, :n].toarray(), LENGTH * reference.transform(texts).toarray(), atol=1e-12)
    in_rows = (training.X[:, :n] > 0).sum(axis=0)
    assert in_rows.min() >= MIN_WORD_ROWS


def test_missing_texts_have_no_words_and_an_indicator(table, training):
    names = np.array(training.schema.names)
    missing = training.X[:, np.flatnonzero(names == "comment=(missing)")[0]].toarray().ravel()
    assert_array_equal(np.flatnonzero(missing), np.flatnonzero(table["comment"].fillna("").str.strip() == ""))
    words = [name in training.schema.words for name in names]
    assert training.X[missing == 1][:, words].nnz == 0
    kept = read_training(table, "package", types=TEXT, missing="drop")
    assert kept.n_dropped == missing.sum()


def test_a_stored_schema_codes_new_rows_alike(table, training):
    values = json.loads(json.dumps(training.schema.to_dict()))
    stored = Schema.from_dict(values)
    for rows in (table, pl.from_pandas(table)):
        again = stored.encode_batch(rows)[0]
        assert abs(again - training.X).max() == 0
    pieces = [stored.encode_batch(table[start : start + 7])[0].toarray() for start in range(0, len(table), 7)]
    assert_array_equal(np.vstack(pieces), training.X.toarray())
    column = training.schema.columns[0]
    row = stored.encode_batch(pd.DataFrame({"comment": ["numpy array"], "letter": ["a"], "length": [3]}))[0]
    assert_allclose(column.code("numpy array"), row.toarray()[0, : len(column.outputs)])
    assert column.value(column.code("numpy")) == "numpy"
    for wrong in ([], [-1.0] * len(column.levels), [np.inf] * len(column.levels)):
        values["columns"][0]["word_weights"] = wrong
        with pytest.raises(InputError, match="weights"):
            Schema.from_dict(values)


def test_free_text_is_recognised_with_its_type(table):
    findings = read_training(table, "package").findings
    found = next(one for one in findings if one.column == "comment" and one.kind == "identifier")
    assert "types={'comment': 'text'}" in str(found.message)
    names = pd.DataFrame({"who": [f"Ann {k}" for k in range(50)], "x": np.arange(50) % 7, "y": np.arange(50) % 2})
    assert "'text'" not in str([str(one.message) for one in read_training(names, "y").findings])


@pytest.mark.parametrize("texts", [["..."] * 20, ["one word here"] + [f"w{k}" for k in range(19)]])
def test_texts_without_common_words_are_dropped(texts):
    frame = pd.DataFrame({"comment": texts, "x": np.random.default_rng(0).normal(size=20), "y": np.arange(20) % 2})
    found = read_training(frame, "y", types=TEXT)
    assert found.schema.columns[0].dropped is not None
    assert found.schema.names == ("x",)


def test_streamed_tables_have_the_same_words(table, training, tmp_path):
    table.to_parquet(tmp_path / "table.parquet")
    rows = open_dataset(tmp_path / "table.parquet", target="package")
    encoder = TableEncoder(types=TEXT, coding="full").fit(rows)
    assert encoder.schema_.names == training.schema.names
    streamed, whole = (
        LogisticRegressionCV(alphas=[1e-2], cv=2).fit(X, training.y)
        for X in (read_training(table, "package", types=TEXT, coding="full").rows, training.rows)
    )
    assert_array_equal(streamed.coef_, whole.coef_)


def test_the_words_improve_the_pool(training, model):
    """Families without sparse rows have the other columns and the effects of the words."""
    places = dense_columns(training.rows)
    assert not {training.schema.names[place] for place in places} & training.schema.words
    dense = training.X[:, places].toarray()
    marks = training.rows.is_indicator[places], training.rows.redundant[places]
    plain = AutoClassifier(["ridge", "naive-bayes", "splines"]).fit(as_rows(dense, None, *marks), training.y)
    assert model.loss_ < 0.6 * plain.loss_
    for own, other in zip(model.members_[:3], plain.members_[:3], strict=True):
        assert own.name == other.name
        assert own.loss < 0.8 * other.loss


def test_contributions_by_words_add_up(training):
    model = LogisticRegressionCV().fit(training.rows, training.y)
    means = training.seen()["means"]
    for place in (0, 3, len(training.y) - 1):
        found = contributions(model, training.X[place], means, training.schema)
        total = sum(row.contribution for row in found.rows)
        assert total == pytest.approx(found.lead - found.lead_at_means, abs=1e-8)
        words = {row.column for row in found.rows} & training.schema.words
        n_words = len(training.schema.columns[0].levels)
        assert len(words) == training.X[place, :n_words].nnz


def test_words_that_favour_a_class(training, model):
    found = word_effects(model, training.seen()["means"], training.schema)
    words = {label: [row.word for row in found.rows if row.label == label] for label in ("numpy", "sklearn")}
    assert "array" in words["numpy"]
    assert "score" in words["sklearn"]
    assert "array" in str(found)
    assert word_effects(model, [0.0], Schema(training.schema.columns[1:])) is None


def test_exports_of_texts_are_refused_by_name(training, model):
    with pytest.raises(ParameterError, match="comment"):
        export(model, "sql", schema=training.schema)


@pytest.fixture(scope="module")
def labelled(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "table.csv"
    table.to_csv(path, index=False)
    return read_labelled(str(path), Roles("package"), Preparation(types=["comment=text"]), "full")


def test_shares_of_words_by_class(labelled):
    column, where = next(found for found in table_columns(labelled) if found[0].kind == "text")
    found = distribution(labelled, column, where)
    place = found.bins.index("array")
    has_word = labelled.training.X[:, where][:, column.levels.index("array")].toarray().ravel() > 0
    expected = [has_word[labelled.training.codes == k].mean() for k in range(2)]
    assert_allclose(found.shares[:, place], expected)


def test_a_changed_text_changes_the_prediction(labelled):
    in_use = FittedInUse(fit(LogisticRegressionCV(), "ridge", labelled))
    base = in_use.coded_row(0)
    values = in_use.raw_values(base)
    same = in_use.decided(base, values)
    assert_array_equal(same.row, base)
    other = in_use.decided(base, values | {"comment": "score of the labels, their loss and the curve"})
    assert (same.label, other.label) == ("numpy", "sklearn")
    assert all(change.columns != ("comment",) for change in in_use.changes(base).single)
