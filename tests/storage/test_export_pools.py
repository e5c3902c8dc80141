"""Models of functions of columns, and pools of models, exported: the same answers, also far from the training rows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from databases import DuckDB, PostgreSQL, SQLite
from test_export import as_onnx, as_python, as_sql, assert_answers, from_json, numbered

from discriminant import AutoClassifier, GaussianNB, LogisticRegression, QuadraticDiscriminantAnalysis
from discriminant.basis import Basis, b_splines, clipped, powers
from discriminant.errors import DiscriminantWarning, InputError
from discriminant.estimators.base import PosteriorClassifier
from discriminant.rules import DiagonalRule, ExpandedRule, LinearRule, PoolRule, QuadraticRule
from discriminant.storage.export import export
from discriminant.tables.encoder import TableEncoder

TOLERANCE = 1e-9


class Pooled(PosteriorClassifier):
    """A model with a rule made by hand."""

    n_jobs = None

    def having(self, rule, classes, **learned):
        vars(self).update(rule_=rule, classes_=np.array(classes), n_features_in_=rule.sizes[1], **learned)
        return self


def splines_and_products(X, splined, multiplied):
    """All columns as they are, splines of some and the products of others, one of them clipped and one squared."""
    p = X.shape[1]
    functions = [b_splines(j, np.quantile(X[:, j], [0, 0.3, 0.6, 1])) for j in splined]
    functions += [clipped(multiplied[0], X[:, multiplied[0]].mean(), X[:, multiplied[0]].std(), 2.0)]
    functions += [powers(multiplied[-1], 2, X[:, multiplied[-1]].mean(), 2.0)]
    n_factors = p + sum(function.n_outputs for function in functions)
    factors = [n_factors - 3, *multiplied[1:], n_factors - 1]
    pairs = [(a, b, -1) for i, a in enumerate(factors) for b in factors[i:]]
    singles = [(j, -1, -1) for j in range(n_factors)]
    return Basis(p, np.arange(p), functions, np.array([*singles, *pairs, (0, p, n_factors - 1), (-1, -1, -1)]))


def scaled(rule, by):
    """The rule with its scores multiplied, as a temperature does."""
    return QuadraticRule(rule.centre, rule.offsets, rule.spheres * np.sqrt(by), rule.constants * by)


def members(X, y):
    """Rules of every kind, fitted to the rows."""
    n_classes = len(np.unique(y))
    basis = splines_and_products(X, [0, 2], [1, 2, 3])
    ridge = LogisticRegression(alpha=0.05).fit(basis.expand(X)[:, :-1], y).rule_
    ridge = LinearRule(np.r_[ridge.centre, 0], np.c_[ridge.coef, np.full(n_classes, 0.1)], ridge.constants)
    few = Basis(X.shape[1], np.array([3, 0]), basis.functions[:1], np.array([[2, -1], [0, -1], [1, 5], [3, 0]]))
    lasso = LogisticRegression(alpha=0.02, l1_ratio=1.0).fit(X, y).rule_
    quadratic = QuadraticDiscriminantAnalysis(shrinkage=0.3)
    return [
        ExpandedRule(basis, ridge),
        lasso,
        scaled(quadratic.fit(X, y).rule_, 0.4),
        GaussianNB().fit(X, y).rule_,
        ExpandedRule(few, quadratic.fit(few.expand(X), y).rule_),
        ExpandedRule(few, GaussianNB().fit(few.expand(X), y).rule_),
    ]


def rows(n_classes=3, n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 4)) + 0.8 * np.eye(max(n_classes, 4))[y][:, :4]
    return X * [1, 10, 0.1, 3] + [0, 50, 0, -3], y


def far(X):
    """Rows near and far: at the edges of pieces, and a million standard deviations away, column by column."""
    centre, spread = X.mean(axis=0), X.std(axis=0)
    away = np.vstack([centre + way * spread * np.eye(4) for way in (1e6, -1e6, 30, -30)])
    return np.vstack([X[:25], X.min(axis=0), X.max(axis=0), np.quantile(X, 0.3, axis=0), away])


def assert_exported(model, X, database=None, tolerance=TOLERANCE):
    """The answers of all languages for rows of numbers are those of the model."""
    assert_answers(*as_python(model, X.tolist()), model, X, tolerance)
    found = as_sql(model, numbered(X), database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X, tolerance)
    assert_answers(*as_onnx(model, {"X": X}), model, X, tolerance)
    np.testing.assert_allclose(from_json(json.loads(export(model, "json")), X), model.predict_proba(X), atol=tolerance)


KNOTS = [-1.0, 0.5, 1.0, 4.0]
KINDS = ("splines", "lasso", "quadratic", "diagonal", "quadratic of functions", "diagonal of functions")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rules_of_functions(kind, n_classes):
    X, y = rows(n_classes)
    model = Pooled().having(members(X, y)[KINDS.index(kind)], np.unique(y))
    assert_exported(model, far(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_pools(n_classes, database):
    X, y = rows(n_classes)
    rule = PoolRule(members(X, y), np.array([0.31, 0.17, 0.13, 1e-9, 0.28, 0.11]))
    labels = np.array(["a", "it's", "c"])[np.unique(y)]
    assert_exported(Pooled().having(rule, labels), far(X), database)


INNER = {"log": (0.5, 4.0), "sqrt": (2.0, 9.0), "exp": (3.0, -2.0)}


def of_inner(inner):
    """A linear rule on splines and squares of a function of the first column, and its product with the second."""
    slope, offset = INNER[inner]
    functions = [replace(own, inner=inner, slope=slope, offset=offset) for own in (b_splines(0, KNOTS), powers(0, 2))]
    outputs = np.r_[np.c_[np.arange(9), np.full(9, -1)], [[0, 7]]]
    rng = np.random.default_rng(0)
    rule = LinearRule(rng.normal(size=10), rng.normal(size=(2, 10)), np.zeros(2))
    return Pooled().having(ExpandedRule(Basis(2, np.array([1]), functions, outputs), rule), ["a", "b"])


@pytest.mark.parametrize("inner", INNER)
def test_functions_of_logarithms_roots_and_exponentials(inner, database):
    x = np.linspace(-4.4, 3, 20)
    assert_exported(of_inner(inner), np.column_stack((x, x[::-1] ** 2)), database)


@pytest.mark.parametrize(("inner", "value"), [("log", -8.0), ("sqrt", -5.0), ("exp", 300.0)])
def test_values_that_have_no_logarithm_root_or_exponential_are_told(inner, value, database):
    X = np.array([[value, 1.0]])
    with pytest.raises(ValueError, match=inner):
        as_python(of_inner(inner), X.tolist())
    with pytest.raises(database.errors, match=f"Column '+x0'+.*{inner}"):
        as_sql(of_inner(inner), numbered(X), database)


def test_scores_of_a_pool_are_logarithms():
    X, y = rows()
    model = Pooled().having(PoolRule(members(X, y)[:3], np.array([2.0, 0.0, 1.0])), np.unique(y))
    module = {}
    exec(export(model, "python"), module)
    found = np.array([module["scores"](row) for row in far(X).tolist()])
    np.testing.assert_allclose(found, model.rule_.scores(far(X)) - np.log(3), rtol=1e-9, atol=1e-9)
    assert len(module["MEMBERS"]) == 2


def raw_frame(n=200):
    """Numbers, gaps, levels and truth values, and the classes of the rows."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=n)
    towns = np.array(["A", "B b", "it's", "D"])
    frame = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.2, np.nan, 40 + 5 * y + rng.normal(scale=5, size=n)),
        "town": np.where(rng.random(n) < 0.1, None, towns[(y + rng.integers(3, size=n)) % 4]),
        "member": rng.random(n) < 0.3 + 0.2 * y,
        "income": 1e5 + 100.0 * y + rng.normal(scale=100, size=n),
    })  # fmt: skip
    return frame, np.array(["low", "middle", "high"])[y]


def strange_rows(frame):
    """Some of the rows, with levels never seen, gaps where there were none, and far values."""
    new = frame.head(24).copy()
    new.loc[0, "town"], new.loc[1, "income"], new.loc[2, "town"] = "elsewhere", np.nan, None
    new.loc[3, "age"], new.loc[4, "income"], new.loc[5, "age"] = 1e7, -1e9, np.nan
    return new


def frame_case():
    """A pool on coded columns, which knows how a frame is coded."""
    frame, y = raw_frame()
    encoder = TableEncoder().fit(frame, y)
    X, names = encoder.transform(frame), encoder.get_feature_names_out().tolist()
    age, income = names.index("age"), names.index("income")
    basis = splines_and_products(X, [age, income], [income, names.index("town=D"), names.index("member"), age])
    ridge = LogisticRegression(alpha=0.1).fit(basis.expand(X)[:, :-1], y)
    wide = ridge.rule_
    wide = LinearRule(np.r_[wide.centre, 0], np.c_[wide.coef, np.zeros(3)], wide.constants)
    rules = [
        ExpandedRule(basis, wide),
        QuadraticDiscriminantAnalysis(shrinkage=0.5).fit(X, y).rule_,
        LogisticRegression(alpha=0.05, l1_ratio=1.0).fit(X, y).rule_,
    ]
    return PoolRule(rules, np.array([0.47, 0.31, 0.22])), ridge.classes_, encoder, frame


def test_a_model_that_codes_frames_is_exported_with_its_coding(database):
    rule, classes, encoder, frame = frame_case()
    model, of_coded = Pooled().having(rule, classes, encoder_=encoder), Pooled().having(rule, classes)
    new = strange_rows(frame)
    X, _ = encoder.schema_.encode_batch(new)
    assert_answers(*as_python(model, new.to_dict("records")), of_coded, X)
    found = as_sql(model, new, database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], of_coded, X)
    given = {
        name: (new[[name]].astype(object).fillna("") if name == "town" else new[[name]].astype(float)).to_numpy()
        for name in new
    }
    assert_answers(*as_onnx(model, given), of_coded, X)
    assert [column["name"] for column in json.loads(export(model, "json"))["columns"]] == list(frame)


def test_a_model_of_expanded_columns_is_exported_with_its_basis():
    X, y = rows()
    basis = splines_and_products(X, [0, 2], [1, 2, 3])
    linear = LogisticRegression(alpha=0.1).fit(basis.expand(X)[:, :-1], y).rule_
    basis = Basis(basis.n_columns, basis.columns, basis.functions, basis.outputs[:-1])
    expanded = Pooled().having(ExpandedRule(basis, linear), np.unique(y))
    model = Pooled().having(linear, np.unique(y), basis_=basis)
    for to in ("python", "sql", "json"):
        assert export(model, to, dialect="sqlite") == export(expanded, to, dialect="sqlite")


def large_pool(p=100, n_classes=2):
    """Six members on many columns, two of them of splines or of products."""
    rng = np.random.default_rng(0)
    K, some = n_classes, range(40)
    X = rng.normal(size=(5, p))

    def linear(width):
        return LinearRule(rng.normal(size=width), rng.normal(size=(K, width)) / width, rng.normal(size=K))

    functions = [b_splines(j, np.linspace(-2, 2, 7)) for j in some]
    outputs = np.arange(p + sum(function.n_outputs for function in functions))[:, None]
    pairs = np.array([(a, b) for a in some for b in some if a <= b])
    square = rng.normal(size=(K, p, p))
    rules = [
        linear(p),
        linear(p),
        ExpandedRule(Basis(p, np.arange(p), functions, outputs), linear(len(outputs))),
        ExpandedRule(Basis(p, np.arange(p), [], pairs), linear(len(pairs))),
        QuadraticRule(np.zeros(p), rng.normal(size=(K, p)), square / p, rng.normal(size=K)),
        DiagonalRule(rng.normal(size=(K, p)), np.full((K, p), 2.0), rng.normal(size=K)),
    ]
    return Pooled().having(PoolRule(rules, np.arange(1.0, 7)), range(K)), X


def test_a_large_pool_is_a_file_of_moderate_size(postgres):
    model, X = large_pool()
    assert_exported(model, X, PostgreSQL(postgres))
    assert len(export(model, "sql", dialect="postgresql")) < 8e5
    assert len(export(model, "python")) < 5e5


@pytest.mark.slow
@pytest.mark.parametrize("database", [DuckDB(), SQLite()], ids=["duckdb", "sqlite"])
def test_a_large_pool_in_other_databases(database):
    model, X = large_pool()
    found = as_sql(model, numbered(X), database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


def test_many_classes_and_columns_need_no_more_columns_than_databases_have(database):
    """26 classes of 70 columns each have 1,820 steps from their means."""
    rng = np.random.default_rng(0)
    K, p = 26, 70
    spheres = np.triu(np.tril(rng.normal(size=(K, p, p)), 1)) / 10
    rule = QuadraticRule(np.zeros(p), rng.normal(size=(K, p)), spheres, np.zeros(K))
    model, X = Pooled().having(rule, range(K)), rng.normal(size=(4, p))
    found = as_sql(model, numbered(X), database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, X)


@pytest.mark.parametrize("missing", ["drop", "indicator"])
def test_models_by_formula(missing, database):
    frame, y = raw_frame()
    frame["answer"] = y
    formula = "answer ~ bs(age, df=5) * town + poly(income, 2) + log(income) + sqrt(age):member"
    if missing == "drop":
        frame = frame.dropna().reset_index(drop=True)
    model = LogisticRegression.from_formula(formula, frame, missing=missing, alpha=0.01)
    rows = frame.drop(columns="answer").head(30)
    assert_answers(*as_python(model, rows.to_dict("records")), model, rows)
    found = as_sql(model, rows, database)
    assert_answers([row[1:] for row in found], [row[0] for row in found], model, rows)
    given = {name: rows[[name]].to_numpy(dtype=float) for name in ("age", "income")}
    given["town"] = rows[["town"]].fillna("").to_numpy(dtype=object)
    given["member"] = rows[["member"]].astype(str).map(str.lower).to_numpy(dtype=object)  # as in R, truth has levels
    assert_answers(*as_onnx(model, given), model, rows)


def test_the_automatic_choice(database):
    """What nobody has chosen can be exported, too: its coding, splines, products and temperatures."""
    frame, y = raw_frame()
    model = AutoClassifier().fit(frame, y)
    assert {member.name for member in model.members_} > {"ridge", "rda", "naive-bayes", "splines", "products", "pairs"}
    rows = strange_rows(frame)
    found = as_sql(model, rows, database)
    for values, labels in (
        as_python(model, rows.to_dict("records")),
        ([row[1:] for row in found], [row[0] for row in found]),
    ):
        with pytest.warns(DiscriminantWarning, match="rows"):
            assert_answers(values, labels, model, rows)


def test_what_is_no_number_is_refused():
    X, y = rows()
    for rule in members(X, y)[:2]:
        inner = rule.rule if isinstance(rule, ExpandedRule) else rule
        broken = replace(inner, coef=np.where(np.arange(inner.coef.shape[1]) == 1, np.nan, inner.coef))
        model = Pooled().having(replace(rule, rule=broken) if inner is not rule else broken, np.unique(y))
        with pytest.raises(InputError, match="NaN"):
            export(model, "python")
