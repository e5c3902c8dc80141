"""Exports answer as the model does, in their own language."""

import json
import math
import sqlite3
import sys
from functools import partial

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from databases import SQLite
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from stored_models import fitted, training

from discriminant import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionPath,
    LossClassifier,
    NaiveBayes,
    OrdinalLogisticRegression,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
)
from discriminant.errors import DependencyError, DiscriminantWarning, InputError, NotReadyError, ParameterError
from discriminant.estimators.base import PosteriorClassifier
from discriminant.estimators.multiclass import OneVsOne, OneVsRest
from discriminant.estimators.perceptron import Perceptron
from discriminant.estimators.svm import SupportVectorClassifier
from discriminant.storage.export import export
from discriminant.tables.training import read_training
from helpers import MODELS

EXPORTED = {
    **{name: kind for name, kind in MODELS.items() if not name.startswith("bayesian")},
    "lms-two": LossClassifier,
    "rda": RegularizedDiscriminantAnalysis,
    "logistic": LogisticRegression,
    "logistic-two": LogisticRegression,
    "logistic-lasso": partial(LogisticRegression, alpha=0.05, l1_ratio=1.0),
    "perceptron": partial(Perceptron, average=True, max_iter=5),
    "perceptron-two": partial(Perceptron, average=True, max_iter=5),
    "ordinal": partial(OrdinalLogisticRegression, form="adjacent", classes_order=[2, 0, 1], alpha=0.01),
    "ordinal-two": partial(OrdinalLogisticRegression, form="adjacent", alpha=0.01),
    "ordinal-partial": partial(OrdinalLogisticRegression, form="adjacent", nonparallel=[1], alpha=0.01),
    "one-vs-rest": partial(OneVsRest, LinearDiscriminantAnalysis()),
    "one-vs-one-two": partial(OneVsOne, LogisticRegression(alpha=0.1)),
}


@pytest.fixture(params=EXPORTED)
def case(request):
    X, y = training(request.param, n=80)
    return EXPORTED[request.param]().fit(X, y), X


def expected(model, X):
    """Probabilities, or the scores of a model that has none, and labels."""
    values = (
        model.predict_proba(X) if isinstance(model, PosteriorClassifier) else model.rule_.scores(np.asarray(X, float))
    )
    return values, model.predict(X)


def assert_answers(found, labels, model, X, tolerance=1e-9):
    values, wanted = expected(model, X)
    np.testing.assert_allclose(np.array(found, dtype=float), values, rtol=tolerance, atol=tolerance)
    assert list(labels) == wanted.tolist()


def as_python(model, rows, **options):
    module = {}
    exec(export(model, "python", **options), module)
    values = module["predict_proba"] if isinstance(model, PosteriorClassifier) else module["scores"]
    return [values(row) for row in rows], [module["predict"](row) for row in rows]


def as_sql(model, frame, database=None, table="data", types=None, **options):
    database = database or SQLite()
    query = export(model, "sql", dialect=database.dialect, table=table, **options)
    return database.answers(query, frame, table, types)


def as_onnx(model, given, **options):
    session = onnxruntime.InferenceSession(export(model, "onnx", **options), providers=["CPUExecutionProvider"])
    labels, values = session.run(None, given)
    return values, labels.tolist()


def numbered(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def test_python(case):
    model, X = case
    assert_answers(*as_python(model, X.tolist()), model, X)
    rows = [dict(zip([f"x{j}" for j in range(X.shape[1])], row, strict=True)) for row in X.tolist()]
    assert_answers(*as_python(model, rows), model, X)


@pytest.mark.parametrize("form", ["cumulative", "continuation"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("nonparallel", [(), (0,)])
def test_ordered_classes_in_python_and_json(form, link, nonparallel):
    X, y = training("ordinal", n=80)
    options = {"classes_order": [2, 0, 1], "alpha": 10.0, "nonparallel": nonparallel}
    model = OrdinalLogisticRegression(form=form, link=link, **options).fit(X, y)
    probability, label = expected(model, X)
    module = {}
    exec(export(model, "python"), module)
    np.testing.assert_allclose([module["predict_proba"](row) for row in X.tolist()], probability, rtol=1e-9, atol=1e-14)
    assert [module["predict"](row) for row in X.tolist()] == label.tolist()
    found = json.loads(export(model, "json"))
    assert found["ordinal"] == {
        "form": form,
        "link": link,
        "order": [2, 0, 1],
        "sorted": form == "cumulative" and bool(nonparallel),
    }
    (part,) = found["members"][0]["parts"]
    scores = (X - part["centre"]) @ np.array(part["coef"]).T + found["members"][0]["constants"]
    np.testing.assert_allclose(np.sort(scores, axis=1), np.sort(model.rule_.ordered_scores(X), axis=1))
    for language in ("sql", "onnx"):
        with pytest.raises(ParameterError, match="adjacent"):
            export(model, language, dialect="duckdb")


def test_adjacent_categories_of_a_formula_are_linear():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    frame["y"] = np.array(["low", "mid", "top"])[np.digitize(frame.a + rng.logistic(size=200), [-1, 1])]
    model = OrdinalLogisticRegression.from_formula(
        "y ~ a * b", frame, form="adjacent", classes_order=["low", "mid", "top"]
    )
    module = {}
    exec(export(model, "python"), module)
    found = [module["predict_proba"](row) for row in frame[["a", "b"]].to_dict("records")]
    np.testing.assert_allclose(found, model.predict_proba(frame), rtol=1e-9)


def test_python_imports_nothing_but_math():
    text = export(fitted("qda"), "python")
    imports = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert imports == ["import math"]


def test_sql(case, database):
    model, X = case
    found = as_sql(model, numbered(X), database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


def test_onnx(case):
    model, X = case
    assert_answers(*as_onnx(model, {"X": X}), model, X)


def piecewise(x, part):
    """All outputs of functions of one column."""
    breaks, origins, coefficients = (np.array(part[name]) for name in ("breaks", "origins", "coefficients"))
    inner = {"identity": np.asarray, "log": np.log, "exp": np.exp, "sqrt": np.sqrt}[part["inner"]]
    x = inner(part["slope"] * x + part["offset"])
    piece = (x >= breaks).sum(axis=1)
    powers = (x[:, 0] - origins[piece])[:, None] ** np.arange(coefficients.shape[2])
    return np.einsum("nkd,nd->nk", coefficients[piece], powers)


def member_scores(member, X):
    """The scores by the formulas that the documentation of `export` gives."""
    for part in member["functions"]:
        X = np.column_stack((X, piecewise(X[:, part["places"]], part)))
    for places in member["products"]:
        X = np.column_stack((X, X[:, places].prod(axis=1)))
    scores = np.tile([-np.inf if c is None else c for c in member["constants"]], (len(X), 1))
    for part in member["parts"]:
        x = X[:, part["places"]]
        numbers = {name: np.array(values) for name, values in part.items() if name not in ("kind", "places")}
        if part["kind"] == "linear":
            scores += (x - numbers["centre"]) @ numbers["coef"].T
        elif part["kind"] == "diagonal":
            steps = x[:, None] - numbers["means"]
            scores -= (steps**2 / (2 * numbers["variances"])).sum(axis=2)
        elif part["kind"] == "piecewise":
            scores += piecewise(x, part)
        else:
            steps = x[:, None] - numbers["centre"] - numbers["offsets"]
            scores -= 0.5 * (np.einsum("nkj,kjr->nkr", steps, numbers["spheres"]) ** 2).sum(axis=2)
    return scores


def from_json(described, X):
    scores = [member_scores(member, X) for member in described["members"]]
    if described["answer"] == "score":
        return scores[0]
    return sum(member["share"] * softmax(own, axis=1) for member, own in zip(described["members"], scores, strict=True))


def test_json(case):
    model, X = case
    described = json.loads(export(model, "json"))
    assert described["classes"] == model.classes_.tolist()
    assert [column["name"] for column in described["columns"]] == [f"x{j}" for j in range(X.shape[1])]
    assert described["answer"] == ("probability" if isinstance(model, PosteriorClassifier) else "score")
    (member,) = described["members"]
    if member["intercept"] is not None:
        plain = member["intercept"] + X @ np.array(member["parts"][0]["coef"]).T
        np.testing.assert_allclose(plain, member_scores(member, X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(from_json(described, X), expected(model, X)[0], rtol=1e-9, atol=1e-9)
    for name in ("priors", "means"):
        kept = getattr(model, f"{name}_", None)
        assert described[name] == (None if kept is None else kept.tolist())


HOSTILE = ['quo"te', "new\nline", "'; DROP TABLE data; --", "percent %s {0} \\", "select", ""]
LABELS = ["it's", 'a "b"', "-- c\n", "\\"]


def hostile_case():
    X, y = training("lda", n=60, p=len(HOSTILE))
    y = (y + np.arange(len(y)) % 2) % 4
    frame = pd.DataFrame(X, columns=HOSTILE)
    return LinearDiscriminantAnalysis().fit(frame, np.array(LABELS, dtype=object)[y]), frame


def test_hostile_names_and_labels_are_data():
    model, frame = hostile_case()
    assert_answers(*as_python(model, frame.to_dict("records")), model, frame)
    assert_answers(*as_onnx(model, {"X": frame.to_numpy()}), model, frame)
    found = as_sql(model, frame, table='ta"ble; --', keep=['quo"te', "select"])
    assert_answers([row[3:] for row in found], [row[2] for row in found], model, frame)
    np.testing.assert_array_equal([row[:2] for row in found], frame[['quo"te', "select"]])
    assert [column["name"] for column in json.loads(export(model, "json"))["columns"]] == HOSTILE


def test_sql_names_its_columns():
    model, _ = hostile_case()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (" + ", ".join('"' + n.replace('"', '""') + '"' for n in HOSTILE) + ")")
    names = [
        column[0] for column in connection.execute(export(model, "sql", dialect="sqlite", keep=["select"])).description
    ]
    connection.close()
    assert names == ["select", "prediction", *(f"probability_{label}" for label in model.classes_)]
    with pytest.raises(ParameterError, match="prediction"):
        export(model, "sql", dialect="sqlite", keep=["prediction"])


def test_sql_of_a_qualified_table_and_of_a_missing_column():
    model, X = fitted("lda"), training("lda")[0]
    with duckdb.connect() as connection:
        connection.execute('CREATE SCHEMA "my schema"')
        connection.register("given", numbered(X))
        connection.execute('CREATE TABLE "my schema"."t" AS SELECT * FROM given')
        found = connection.execute(export(model, "sql", dialect="duckdb", table=("my schema", "t"))).fetchall()
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        as_sql(model, numbered(X)[["x0", "x1", "x2"]])


def test_far_away_rows_do_not_overflow(database):
    model = fitted("lda")
    X = np.array([[1e4, -1e4, 1e4, 1e4], [-1e6, 1e6, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    assert_answers(*as_python(model, X.tolist()), model, X)
    assert_answers(*as_onnx(model, {"X": X}), model, X)
    found = as_sql(model, numbered(X), database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


def test_a_common_offset_costs_no_digits():
    X, y = training("lda")
    model = LinearDiscriminantAnalysis().fit(X + 1e7, y)
    assert_answers(*as_python(model, (X + 1e7).tolist()), model, X + 1e7, 1e-8)
    found = as_sql(model, numbered(X + 1e7))
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X + 1e7, 1e-8)


def test_many_classes_and_columns():
    X, y = training("lda", n=300, p=12)
    y = np.arange(300) % 15
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = as_sql(model, numbered(X))
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


def test_more_columns_than_an_expression_may_be_deep():
    X = np.random.default_rng(0).normal(size=(40, 1100))
    model = LinearDiscriminantAnalysis(shrinkage=0.5).fit(X, X[:, 0] > 0)
    found = as_sql(model, numbered(X[:3]))
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X[:3])


@pytest.mark.parametrize(
    "model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB()], ids=repr
)
def test_a_class_not_seen_yet_cannot_win(model):
    X, y = training("lda")
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert_answers(*as_python(model, X.tolist()), model, X)
    assert_answers(*as_onnx(model, {"X": X}), model, X)
    found = as_sql(model, numbered(X))
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)
    assert json.loads(export(model, "json"))["members"][0]["constants"][2] is None


def test_equal_scores_are_decided_as_the_model_does():
    X, y = np.array([[1.0], [-1.0], [2.0], [-2.0]]), ["b", "a", "b", "a"]
    for model in (Perceptron().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)):
        at_zero = np.array([[float(np.ravel(-model.intercept_ / model.coef_)[0])]])
        assert as_python(model, at_zero.tolist())[1] == model.predict(at_zero).tolist()
        assert [row[0] for row in as_sql(model, numbered(at_zero))] == model.predict(at_zero).tolist()
        assert as_onnx(model, {"X": at_zero})[1] == model.predict(at_zero).tolist()


@pytest.mark.parametrize("labels", [[False, True], [2.0, 3.0], [-1, 10**12], ["a", "é"]], ids=str)
def test_labels_of_every_type(labels, database):
    X, y = training("logistic-two")
    model = LinearDiscriminantAnalysis().fit(X, np.array(labels)[y])
    assert_answers(*as_python(model, X.tolist()), model, X)
    assert_answers(*as_onnx(model, {"X": X}), model, X)
    found = as_sql(model, numbered(X), database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


def mixed_case():
    X, y = training("lda", n=90)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "size": X[:, 0],
        "colour": np.array(["red", "it's", "blue"])[(y + rng.integers(2, size=len(y))) % 3],
        "visits": rng.poisson(1.0 + y),
        "member": rng.integers(2, size=len(y)).astype(bool),
    })  # fmt: skip
    model = NaiveBayes(distributions={"visits": "counts"}).fit(frame, y)
    new = frame.head(20).copy()
    new.loc[3, "colour"] = "never seen"
    return model, new


def test_naive_bayes_of_mixed_columns(database):
    model, frame = mixed_case()
    given = {name: frame[[name]].to_numpy(dtype=object if name == "colour" else float) for name in frame}
    found = as_sql(model, frame, database)
    for answered in (
        as_python(model, frame.to_dict("records")),
        ([row[1:] for row in found], [row[0] for row in found]),
        as_onnx(model, given),
    ):
        with pytest.warns(DiscriminantWarning, match="'colour'"):
            assert_answers(*answered, model, frame)


def test_a_calibration_that_is_not_exported_is_said():
    X, y = training("svm-two")
    model = SupportVectorClassifier(C=0.1, calibration="sigmoid").fit(X, y)
    with pytest.warns(DiscriminantWarning, match="calibrat"):
        module = export(model, "python")
    assert "predict_proba" not in module
    with pytest.warns(DiscriminantWarning):
        assert_answers(*as_python(model, X.tolist()), model, X)


def tabular_case(missing="indicator", coding="reference"):
    """A table with gaps, levels, truth values and numbers, its schema, and new rows with levels never seen."""
    rng = np.random.default_rng(1)
    n = 200
    y, towns = rng.integers(3, size=n), np.array(["A", "B b", "it's", "D"])
    frame = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.2, np.nan, 40 + 5 * y + rng.normal(scale=5, size=n)),
        "income": 100.0 * y + rng.normal(scale=100, size=n),
        "town": np.where(rng.random(n) < 0.1, None, towns[(y + rng.integers(3, size=n)) % 4]),
        "member": rng.random(n) < 0.3 + 0.2 * y,
        "kind": np.array(["x", "y"])[rng.integers(2, size=n)],
        "answer": np.array(["no", "maybe", "yes"])[y],
    })  # fmt: skip
    table = read_training(frame, "answer", missing=missing, coding=coding)
    new = frame.drop(columns="answer").head(30).copy()
    if missing == "indicator":
        new.loc[0, "town"], new.loc[1, "kind"] = "elsewhere", "z"
        new.loc[2, "income"], new.loc[3, "kind"] = np.nan, None
    else:
        new = new.dropna()
    return LogisticRegression(alpha=0.01).fit(table.X, table.y), table.schema, new


@pytest.mark.parametrize("coding", ["reference", "full"])
def test_levels_too_rare_for_a_column_are_where_the_schema_puts_them(coding, database):
    """As the reference where they are few, as (other) where they are many, and as that where there is nothing else."""
    rng, n = np.random.default_rng(2), 240
    y, letters = rng.integers(2, size=n), np.array(["p", "q"])
    few = letters[(y + rng.integers(2, size=n)) % 2].astype(object)
    few[:3], few[3:30] = "lady", None
    many = letters[rng.integers(2, size=n)].astype(object)
    many[40:60] = [f"l{i // 2}" for i in range(20)]
    lone = np.where(rng.random(n) < 0.3 + 0.3 * y, None, [f"c{i // 2}" for i in range(n)])
    frame = pd.DataFrame({"few": few, "many": many, "lone": lone, "y": y})
    table = read_training(frame, "y", coding=coding)
    assert [column.reference for column in table.schema.columns] == ["p", "p", "(other)"]
    model = LogisticRegression(alpha=0.01).fit(table.X, table.y)
    raw = pd.DataFrame({
        "few": ["lady", "new", None, "q"], "many": ["l3", "new", None, "q"], "lone": ["c3", "new", None, "c3"],
    })  # fmt: skip
    X, _ = table.schema.encode_batch(raw)
    assert len(np.unique(X, axis=0)) == 4
    assert_answers(*as_python(model, raw.to_dict("records"), schema=table.schema), model, X)
    found = as_sql(model, raw, database, schema=table.schema)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)
    given = {name: raw[[name]].fillna("").to_numpy(dtype=object) for name in raw}
    assert_answers(*as_onnx(model, given, schema=table.schema), model, X)


@pytest.mark.parametrize(("missing", "coding"), [("indicator", "reference"), ("indicator", "full"), ("drop", "full")])
def test_with_a_schema_raw_values_are_taken(missing, coding, database):
    model, schema, raw = tabular_case(missing, coding)
    X, _ = schema.encode_batch(raw)
    for given in (schema, json.loads(json.dumps(schema.to_dict()))):
        assert_answers(*as_python(model, raw.to_dict("records"), schema=given), model, X)
    texts = raw.astype(object).where(raw.notna(), "").astype(str).to_dict("records")
    assert_answers(*as_python(model, texts, schema=schema), model, X)
    found = as_sql(model, raw, database, schema=schema)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)
    text = {"town", "kind"}
    columns = {
        name: raw[[name]].astype(object).fillna("") if name in text else raw[[name]].astype(float) for name in raw
    }
    given = {name: values.to_numpy() for name, values in columns.items()}
    assert_answers(*as_onnx(model, given, schema=schema), model, X)


def test_where_missing_values_are_refused_exports_refuse_them_too():
    model, schema, raw = tabular_case("drop")
    for column in raw:
        row = raw.iloc[[0]].astype(object)
        row[column] = None
        with pytest.raises(ValueError, match=f"'{column}'"):
            as_python(model, row.to_dict("records"), schema=schema)
        types = {name: "BOOLEAN" if name == "member" else "DOUBLE PRECISION" for name in ("age", "income", "member")}
        assert as_sql(model, row, types=types, schema=schema) == [(None,) * 4]


def test_a_schema_of_other_rows_is_refused():
    model, schema, _ = tabular_case()
    with pytest.raises(ParameterError, match=r"9.*4"):
        export(fitted("lda"), "python", schema=schema)
    with pytest.raises(InputError, match="schema"):
        export(model, "sql", schema={"no": "schema"}, dialect="sqlite")


def test_a_model_that_reads_categories_itself_takes_no_schema():
    with pytest.raises(ParameterError, match="schema"):
        export(mixed_case()[0], "sql", schema=tabular_case()[1])


def test_models_that_cannot_predict_yet_are_refused():
    with pytest.raises(NotFittedError):
        export(LinearDiscriminantAnalysis(), "sql")
    with pytest.raises(NotReadyError, match="LinearDiscriminantAnalysis"):
        export(LinearDiscriminantAnalysis().partial_fit([[1.0], [2.0]], ["a", "a"], classes=["a", "b"]), "sql")


def test_python_says_what_is_wrong_with_a_row():
    module = {}
    exec(export(fitted("lda"), "python"), module)
    for row, message in (
        ([1.0, 2.0, 3.0], "'x3'"),
        ({"x0": 1.0}, "'x1'"),
        ([1.0, None, 3.0, 4.0], "'x1'"),
        ([1.0, 2.0, math.nan, 4.0], "'x2'"),
        ([1.0, 2.0, 3.0, -math.inf], "'x3'"),
    ):
        with pytest.raises(ValueError, match=message):
            module["predict"](row)


def test_sql_gives_null_for_a_row_with_a_missing_value():
    model, X = fitted("lda"), training("lda")[0][:3]
    X[1, 2] = np.nan
    found = as_sql(model, numbered(X))
    assert found[1] == (None,) * 4
    assert None not in found[0] + found[2]


def test_what_cannot_be_exported_is_named():
    X, y = training("lda")
    with pytest.raises(ParameterError, match=r"BayesianLinear.*StudentRule"):
        export(fitted("bayesian-lda"), "python")
    with pytest.raises(ParameterError, match="LogisticRegressionPath"):
        export(LogisticRegressionPath(n_alphas=3).fit(X, y), "sql")
    with pytest.raises(ParameterError, match=r"Perceptron.*'votes\+confidence'"):
        export(fitted("perceptron-pairs"), "onnx")
    with pytest.raises(ParameterError, match=r"to.*'python'.*'pmml'"):
        export(fitted("lda"), "pmml")
    model = LinearDiscriminantAnalysis().fit(pd.DataFrame(X, columns=["a", "b", "c", "d\x00"]), y)
    with pytest.raises(ParameterError, match="NUL"):
        export(model, "sql", dialect="sqlite")
    with pytest.raises(ParameterError, match=r"dialect.*duckdb, postgresql, sqlite.*None"):
        export(fitted("lda"), "sql")


@pytest.mark.parametrize("name", ["label", "probability", "", "/value/0"])
def test_an_onnx_input_cannot_have_the_name_of_something_else(name):
    model = NaiveBayes().fit(pd.DataFrame({name: ["a", "b", "a", "b"], "x": [1.0, 2.0, 4.0, 8.0]}), [0, 0, 1, 1])
    with pytest.raises(ParameterError, match=repr(name)):
        export(model, "onnx")


def test_without_the_onnx_package_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(DependencyError, match=r"discriminant\[onnx\]"):
        export(fitted("lda"), "onnx")


def test_the_onnx_file_is_a_file_like_any_other(tmp_path):
    content = export(fitted("qda"), "onnx", tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert (tmp_path / "model.onnx").read_bytes() == content
    assert [output.name for output in model.graph.output] == ["label", "probability"]
    assert {operator.domain for operator in model.opset_import} == {""}


@pytest.mark.parametrize("scheme", [OneVsRest, OneVsOne])
def test_scores_of_zero_in_schemes_of_perceptrons(scheme):
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([1, 1, 0, 0])
    model = scheme(Perceptron(fit_intercept=False)).fit(X, y)
    (across, along), namespace = model.coef_[0], {}
    rows = [[-along, across], [0.0, 0.0], *X.tolist()]
    assert model.decision_function(rows)[:2].tolist() == [0, 0]
    exec(export(model, "python"), namespace)
    assert (
        [namespace["predict"](dict(zip(("x0", "x1"), row, strict=True))) for row in rows]
        == model.predict(rows).tolist()
        == [1, 1, 1, 1, 0, 0]
    )
