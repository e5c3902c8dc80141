"""Linear functions among columns: their equations, variance inflation and what is told of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from statsmodels.stats.outliers_influence import variance_inflation_factor

from discriminant import LogisticRegression
from discriminant.data import as_rows
from discriminant.errors import CollinearityWarning, DiscriminantWarning
from discriminant.estimators.coefficients import CoefficientTable, coefficient_table
from discriminant.moments.collinearity import collinearity, collinearity_findings


def columns(n=200):
    age, height, noise = np.random.default_rng(0).normal(size=(3, n)).round(3)
    return 50 + 10 * age, 170 + 8 * height, noise


def test_equations_of_aliased_columns():
    age, height, noise = columns()
    X = np.column_stack([age, height, age + height, noise, 0.5 * age - 3, noise - 2 * height, np.full(200, 7.0)])
    names = ["age", "height", "total", "noise", "half", "mix", "seven"]
    found = collinearity(as_rows(X), names)
    assert list(found.equations.values()) == [
        "'total' = 'age' + 'height'", "'half' = 0.5 'age' - 3", "'mix' = -2 'height' + 'noise'", "'seven' = 7",
    ]  # fmt: skip
    assert np.isnan(found.inflation[[2, 4, 5, 6]]).all()
    wide = np.column_stack([X[:, [0, 1, 3]], np.random.default_rng(1).normal(size=(200, 3))])
    total = collinearity(as_rows(np.column_stack([wide, wide @ np.arange(1, 7)])), list("abcdefg")).equations
    assert total == {6: "'g' from 'f', 'e', 'd', 'c' and 2 more"}


@pytest.mark.parametrize("weighted", [False, True])
def test_variance_inflation_is_that_of_the_regressions(weighted):
    age, height, noise = columns()
    X = np.column_stack([age, height, noise, noise + 0.1 * height + 0.3 * age])
    weight = np.random.default_rng(2).integers(1, 4, 200) if weighted else None
    X[:, 3] += np.random.default_rng(1).normal(size=200)
    found = collinearity(as_rows(X), list("abcd"), weight)
    design = np.column_stack(
        [np.repeat(X, 1 if weight is None else weight, axis=0), np.ones(200 if weight is None else weight.sum())]
    )
    expected = [variance_inflation_factor(design, j) for j in range(4)]
    np.testing.assert_allclose(found.inflation, expected, rtol=1e-9)


def test_findings_tell_what_is_collinear():
    age, height, noise = columns()
    near = noise + 0.01 * np.random.default_rng(1).normal(size=200)
    exact, nearly = collinearity_findings(np.column_stack([age, height, age + height, noise, near]), list("abcde"))
    assert exact.severity == "warning"
    assert "'c' = 'a' + 'b'" in str(exact.message)
    assert "'d' and 'e'" in str(nearly.message)
    assert not collinearity_findings(np.column_stack([age, height]), ["a", "b"])
    assert not collinearity_findings(sp.csr_array(np.eye(3)), list("abc"))
    (thin,) = collinearity_findings(np.random.default_rng(0).normal(size=(5, 8)), list("abcdefgh"))
    assert thin.kind == "collinear"


def test_a_summary_names_a_few_of_very_many_aliased_columns():
    rng = np.random.default_rng(0)
    with pytest.warns(DiscriminantWarning):
        model = LogisticRegression().fit(rng.normal(size=(20, 60)), np.arange(20) % 2)
    (aliased,) = [note for note in model.summary().notes if note.startswith("aliased")]
    assert aliased.endswith("; and 36 more")
    assert len(aliased) < 500


def test_a_summary_names_aliased_columns_and_gives_them_no_interval():
    age, height, noise = columns()
    X = np.column_stack([age, height, age + height])
    y = age + height + 10 * noise > 220
    with pytest.warns(CollinearityWarning, match="column 2"):
        model = LogisticRegression().fit(X, y)
    summary = model.summary()
    assert "aliased columns: 'x2' = 'x0' + 'x1'" in summary.notes
    table = coefficient_table(model)
    for row in (summary.rows[3], table.rows[3], CoefficientTable.from_dict(table.to_dict()).rows[3]):
        assert np.isnan([row.estimate, row.std_error, row.low, row.high, row.odds_ratio]).all()
