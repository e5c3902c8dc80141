"""Formulas: what they mean, that their columns are those of patsy and formulaic, and that nothing in them is run."""

import re

import formulaic
import numpy as np
import pandas as pd
import patsy
import pytest

from discriminant.errors import ColumnError, DiscriminantError, InputError, ParameterError
from discriminant.formula import Formula, level_orders, quantiles, term_name
from discriminant.tables import open_table

COLUMNS = ["ill", "age", "sex", "dose", "bmi", "race", "body mass", "a.b", "class", "log"]


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n),
            "dose": rng.gamma(2, 2, n),
            "bmi": rng.normal(25, 4, n),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice([1, 2, 10], n),
            "site": rng.choice(["a", "b", "c", "d"], n),
        }
    )
    odds = 0.03 * (frame.age - 50) + np.sin(frame.bmi / 3) / 2 + (frame.sex == "m") * (0.3 - 0.2 * frame.dose) - 0.5
    return frame.assign(ill=(rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int))


def made(text, frame, weight=None):
    """The columns that a formula makes of a frame, and their names."""
    table = open_table(frame)
    formula = Formula.parse(text, table.columns)
    training = formula.training(table, rare=1)
    basis, names, kept = formula.design(training.schema, training.X, weight)
    return basis.expand(training.X), names, kept


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("ill ~ age + sex * dose", ["age", "sex", "dose", "sex:dose"]),
        ("ill~bs( bmi,df = 4 )-age", ["bs(bmi, df=4)"]),
        ("ill ~ (age + sex + dose)^2", ["age", "sex", "dose", "age:sex", "age:dose", "sex:dose"]),
        ("ill ~ sex/age", ["sex", "sex:age"]),
        ("ill ~ age*sex - age:sex", ["age", "sex"]),
        ("ill ~ age:sex + age", ["age", "age:sex"]),
        ("ill ~ age + age + age:age", ["age"]),
        ("ill ~ age**2 + I(age^3)", ["age**2", "I(age**3)"]),
        ("ill ~ `body mass` + ns(`body mass`, 3)", ["body mass", "ns(body mass, 3)"]),
        ("ill ~ a.b + log(a.b + 1) + class + bs(class, 4)", ["a.b", "log(a.b + 1)", "class", "bs(class, 4)"]),
        ("ill ~ log + log(log) + np.log(age)", ["log", "log(log)", "np.log(age)"]),
        ("ill ~ C(race, Treatment('a)b^c'))", ["C(race, Treatment('a)b^c'))"]),
        ("ill ~ . - log - `a.b` - class", ["age", "sex", "dose", "bmi", "race", "body mass"]),
        ("ill ~ bs(bmi, knots=c(20, 30), degree=2)", ["bs(bmi, knots=c(20, 30), degree=2)"]),
    ],
)
def test_terms_are_those_of_wilkinson_and_rogers(text, terms):
    formula = Formula.parse(text, COLUMNS)
    assert [term_name(term) for term in formula.terms] == terms
    assert formula.intercept
    assert formula.target == "ill"


@pytest.mark.parametrize("text", ["ill ~ age - 1", "ill ~ 0 + age", "ill ~ -1 + age", "ill ~ age + 0"])
def test_the_intercept_can_be_left_out(text):
    assert not Formula.parse(text, COLUMNS).intercept


@pytest.mark.parametrize(
    "text",
    [
        'ill ~ __import__("os").system("touch /tmp/x")',
        'ill ~ I(__import__("os"))',
        'ill ~ bs(bmi, df=__import__("os").getpid())',
        "ill ~ age.__class__",
        "ill ~ I(age.__class__)",
        "ill ~ I((age).__class__)",
        "ill ~ age[0]",
        "ill ~ I(age[0])",
        "ill ~ I([age][0])",
        "ill ~ (lambda: 1)()",
        "ill ~ bs(bmi, df=lambda: 3)",
        "ill ~ exec('1')",
        "ill ~ {age}",
        "ill ~ I(f'{age}')",
        "ill ~ I(age := 3)",
        "ill ~ I(age if age else 1)",
        "ill ~ I([x for x in (1,)])",
        "ill ~ bs(*bmi)",
        "ill ~ bs(bmi, **dose)",
        "ill ~ age; dose",
        "ill ~ age | dose",
        "ill ~ age %in% sex",
        "ill ~ 'age'",
        "ill ~ `age",
        "ill ~ `nothing`",
        "ill ~ agee",
        "ill ~ foo(age)",
        "ill ~ cr(age)",
        "ill ~ cr(age, 3, constraints='none')",
        "ill ~ cr(age, 0, constraints='center')",
        "ill ~ offset(age):sex",
        "ill ~ offset(age)",
        "ill ~ sex + offset(bs(age, 4))",
        "ill ~ sex + offset(3)",
        "ill ~ log(age",
        "ill ~ age)",
        "ill ~ age +",
        "ill ~ age dose",
        "ill ~ 2 * age",
        "ill ~ 1",
        "ill ~ age - age",
        "ill ~ ill + age",
        "ill ~ age ~ dose",
        "ill",
        "~ age",
        "ill + sex ~ age",
        "log(ill) ~ age",
        "",
        "ill ~ age\0",
        "ill ~ age\n`",
        None,
        42,
        "ill ~ I(age * dose)",
        "ill ~ I(age / dose)",
        "ill ~ I(1 / age)",
        "ill ~ I(age / 0)",
        "ill ~ I(age**-1)",
        "ill ~ I(age**0.5)",
        "ill ~ log(log(age))",
        "ill ~ log(age + dose)",
        "ill ~ bs(age + 1, 4)",
        "ill ~ bs(age, 4, knots=[3])",
        "ill ~ bs(age, df=2)",
        "ill ~ bs(age, df=4.5)",
        "ill ~ bs(age, df='4')",
        "ill ~ bs()",
        "ill ~ poly(age, 0)",
        "ill ~ poly(age, 2, raw='no')",
        "ill ~ bs(age, 4, intercept=1)",
        "ill ~ C(race, Sum(log(age)))",
        "ill ~ C(race, Diff)",
        "ill ~ C(race, Poly('a'))",
        "ill ~ C(race, levels=[1])",
        "ill ~ Sum(race)",
        "ill ~ C(race) + offset(race)",
        "ill ~ C(log(race))",
        "ill ~ C(race) + log(race)",
        "ill ~ Treatment('a')",
        "ill ~ I(3)",
        "ill ~ c(1, 2)",
        # what would take long
        "ill ~ " + "(" * 400 + "age" + ")" * 400,
        "ill ~ " + "I(" * 200 + "age" + ")" * 200,
        "ill ~ " + "I(" * 5000 + "age" + ")" * 5000,
        "ill ~ (age + sex + dose + bmi + race + class)**10",
        "ill ~ ((age + sex + dose)**5 + bmi)**10",
        "ill ~ " + "*".join(f"I(age + {i})" for i in range(30)),
        "ill ~ I(age**99999999999)",
        "ill ~ age**99999999999",
        "ill ~ I(9**9**9**9 * age)",
        "ill ~ I((((age**10)**10)**10)**10)",
        "ill ~ I('a' * 10000000000)",
        "ill ~ bs(age, df=1e9)",
        "ill ~ poly(age, 1000000)",
        "ill ~ " + " + ".join(["age"] * 50_000),
    ],
    ids=lambda text: None,
)
def test_what_is_no_formula_is_refused_in_words(text):
    with pytest.raises(DiscriminantError) as refused:
        Formula.parse(text, COLUMNS)
    assert len(str(refused.value)) < 600


def test_errors_name_what_is_wrong():
    with pytest.raises(ColumnError, match="'agee'"):
        Formula.parse("ill ~ agee", COLUMNS)
    with pytest.raises(ParameterError, match="'spline'"):
        Formula.parse("ill ~ spline(age)", COLUMNS)
    with pytest.raises(ParameterError, match="formula"):
        Formula.parse("ill ~ I(age * dose)", COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "age + sex * dose",
        "bs(bmi, df=4) + bs(age, df=6, degree=2) + bs(dose, knots=[2.0, 5.0])",
        "bs(bmi, df=5, include_intercept=True) - 1",
        "C(race) * site",
        "C(race, Treatment(2)) + C(site, Treatment('c'))",
        "site - 1",
        "0 + site + sex",
        "sex:site",
        "sex:site - 1",
        "age:site",
        "age:site - 1",
        "age + age:site + site:sex",
        "(sex + site + C(race))**3",
        "sex:bs(bmi, df=4)",
        "sex/age",
        "I(age**2) + I((age - 50) / 10) + np.log(dose) + np.sqrt(dose) + np.log10(dose + 1)",
        "center(age) + standardize(bmi)",
        "cr(age, df=5) + cr(bmi, knots=[22, 27]) - 1",
        "cr(age, df=4, constraints='center') * sex",
        "cr(np.log(dose), df=3, constraints='center') + cr(age, df=4, lower_bound=0, upper_bound=120)",
        "C(site, Sum) * age + C(race, Helmert) * sex",
        "C(site, Sum('b')) * C(race, Helmert)",
        "C(site, Poly) + C(race, Poly([1, 2, 10]))",
        "C(site, Poly, levels=['d', 'b', 'a', 'c']) * age",
        "C(site, Treatment, levels=['d', 'b', 'a', 'c']) + C(race, levels=[10, 1, 2])",
    ],
)
def test_columns_are_those_of_patsy(text):
    frame = people()
    expected = patsy.dmatrix(text, frame)
    columns, names, _ = made(f"ill ~ {text}", frame)
    intercept = "Intercept" in expected.design_info.column_names
    ours = dict(zip(names, columns.T, strict=True))
    theirs = dict(zip(map(called, expected.design_info.column_names), np.asarray(expected).T, strict=True))
    assert len(ours) == len(names) == len(theirs) - intercept
    for name, column in ours.items():
        np.testing.assert_allclose(column, theirs[name], atol=1e-10 * max(1, np.abs(column).max()), err_msg=name)


def called(name):
    """What patsy calls a column, in our words."""
    parts = []
    for part in name.split(":"):
        contrast = re.fullmatch(r"C\((\w+), .*\)(\[[SH]\.\w+\]|\.\w+|\^\d+)", part)
        if contrast:
            parts.append("".join(contrast.groups()))
            continue
        if "[" not in part:
            parts.append(part.replace(" ** ", "**"))
            continue
        factor, level = part[:-1].rsplit("[", 1)
        if factor.startswith(("bs", "cr")):
            parts.append(f"{factor}[{int(level) + 1}]")
        else:
            parts.append(f"{factor.removeprefix('C(').split(')')[0].split(',')[0]}={level.removeprefix('T.')}")
    return ":".join(parts)


@pytest.mark.parametrize("text", ["poly(age, 4)", "poly(age, 3, raw=True)", "bs(bmi, df=6)", "scale(age) * sex"])
def test_columns_are_those_of_formulaic(text):
    frame = people()
    expected = np.asarray(formulaic.model_matrix(text, frame), dtype=np.float64)[:, 1:]
    columns = made(f"ill ~ {text}", frame)[0]
    np.testing.assert_allclose(columns, expected, rtol=1e-9, atol=1e-10)


def test_natural_splines_have_knots_at_quantiles_as_r_has_them():
    frame = people()
    columns, names, _ = made("ill ~ ns(age, df=4)", frame)
    assert names == [f"ns(age, df=4)[{i}]" for i in (1, 2, 3, 4)]
    x = frame.age.to_numpy()
    knots = np.quantile(x, [0, 0.25, 0.5, 0.75, 1])
    # another basis of the same space: truncated powers (Hastie, Tibshirani & Friedman 2009, equation 5.4)
    cubes = np.maximum(x[:, None] - knots, 0) ** 3
    d = (cubes - cubes[:, -1:])[:, :-1] / (knots[-1] - knots[:-1])
    other = np.column_stack([np.ones(len(x)), x, d[:, :-1] - d[:, -1:]])
    np.testing.assert_allclose(other @ np.linalg.lstsq(other, columns, rcond=None)[0], columns, atol=1e-9)
    assert np.linalg.matrix_rank(np.column_stack([np.ones(len(x)), columns])) == other.shape[1]


def test_levels_are_compared_with_the_first_in_order():
    frame = people()
    assert made("ill ~ C(race)", frame)[1] == ["race=2", "race=10"]  # 1 is the first number
    assert made("ill ~ C(race, Treatment('10'))", frame)[1] == ["race=1", "race=2"]
    with pytest.raises(ColumnError, match=r"'7'.*'race'.*'10'"):
        made("ill ~ C(race, Treatment(7))", frame)


@pytest.mark.parametrize("coding", ["Sum", "Helmert", "Poly", "contr.sum", "contr.helmert()", "Treatment('c')"])
@pytest.mark.parametrize("text", ["{} * sex", "{}:sex", "0 + {}", "age:{}", "({} + sex + C(race))**3 - {}"])
def test_contrasts_span_what_levels_span(coding, text):
    frame = people()
    plain, coded = (made(f"ill ~ {text.format(site, site)}", frame) for site in ("site", f"C(site, {coding})"))
    assert plain[0].shape == coded[0].shape
    ours, theirs = (np.column_stack((np.ones(len(frame)), own[0])) for own in (coded, plain))
    np.testing.assert_allclose(ours @ np.linalg.lstsq(ours, theirs)[0], theirs, atol=1e-9)


def test_contrasts_go_in_the_order_of_a_frames_own_categories():
    frame = people()
    order = ["d", "b", "a", "c"]
    frame["site"] = pd.Categorical(frame.site, categories=order)
    stated = made("ill ~ C(site, Poly, levels=['d', 'b', 'a', 'c'])", people())[0]
    table = open_table(frame)
    training = Formula.parse("ill ~ C(site, Poly)", table.columns).training(table, rare=1)
    formula = Formula.parse("ill ~ C(site, Poly)", table.columns)
    basis, *_ = formula.design(training.schema, training.X, orders=level_orders(frame))
    np.testing.assert_allclose(basis.expand(training.X), stated)
    with pytest.raises(ParameterError, match="'site'"):
        made("ill ~ C(site, Sum) + C(site, Poly):age", frame)
    with pytest.raises(ParameterError, match="levels"):
        made("ill ~ C(site, levels=['a', 'b'])", frame)


def test_words_of_contrasts_may_be_columns():
    frame = people().rename(columns={"site": "Sum", "dose": "Poly"})
    assert made("ill ~ C(Sum, Sum) + log(Poly)", frame)[1] == ["Sum[S.a]", "Sum[S.b]", "Sum[S.c]", "log(Poly)"]


def test_an_offset_is_no_term():
    formula = Formula.parse("ill ~ age + offset(log(dose)) + offset(bmi) - offset(bmi)", COLUMNS)
    assert [term_name(term) for term in formula.terms] == ["age"]
    assert [factor.text for factor in formula.offsets] == ["offset(log(dose))"]
    assert formula.columns == ["age", "dose"]
    with pytest.raises(ParameterError, match="'site'"):
        made("ill ~ age + offset(site)", people())


def test_long_calls_that_end_otherwise_are_different():
    knots = ", ".join(f"{20 + i / 100:.6f}" for i in range(40))
    names = made(f"ill ~ bs(bmi, knots=[{knots}, 29]) + bs(bmi, knots=[{knots}, 30])", people())[1]
    assert len(set(names)) == 2 * 44


def test_numbers_are_numbers_unless_the_formula_says_otherwise():
    frame = people().assign(id=np.arange(400), zip=np.arange(400) % 3)
    assert made("ill ~ id + zip", frame)[1] == ["id", "zip"]


@pytest.mark.parametrize("kind", ["text", "truth", "digits"])
def test_text_and_truth_values_are_categories_as_in_patsy(kind):
    frame = people()
    own = {"text": np.where(frame.sex == "m", "yes", "no"), "truth": frame.sex == "m", "digits": frame.race.astype(str)}
    frame = frame.assign(own=own[kind])
    expected = np.asarray(patsy.dmatrix("0 + own + age:own", frame))
    columns = made("ill ~ 0 + own + age:own", frame)[0]
    order = [0, 2, 1] if kind == "digits" else [0, 1]  # 2 comes before 10
    n = len(order)
    np.testing.assert_allclose(columns, expected[:, [*order, *(n + j for j in order)]])


def test_the_spelling_of_levels_is_not_put_right():
    frame = people()
    frame.loc[:30, "sex"] = "F"
    assert made("ill ~ sex", frame)[1] == ["sex=f", "sex=m"]


def test_weights_are_repeated_rows():
    frame, weight = people(), np.random.default_rng(1).integers(1, 4, 400)
    text = "ill ~ ns(age, 4) + bs(bmi, 5) + poly(dose, 3) + scale(age) + standardize(bmi) + "
    text += "cr(dose, 4, constraints='center')"
    weighted = made(text, frame, weight.astype(float))[0]
    repeated = made(text, frame.loc[frame.index.repeat(weight)])[0]
    np.testing.assert_allclose(np.repeat(weighted, weight, axis=0), repeated, rtol=1e-8, atol=1e-10)


def test_quantiles_are_numpys():
    rng = np.random.default_rng(2)
    x, at, weight = rng.normal(size=30), np.linspace(0, 1, 7), rng.integers(1, 5, 30)
    np.testing.assert_allclose(quantiles(x, at), np.quantile(x, at), rtol=1e-14)
    np.testing.assert_allclose(
        quantiles(x, at, weight.astype(float)), np.quantile(np.repeat(x, weight), at), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("ill ~ one + age", ColumnError, "'one'"),
        ("ill ~ bs(one, 4)", InputError, "'one'"),
        ("ill ~ ns(race, 4)", ParameterError, r"race.* 3"),
        ("ill ~ bs(mostly, 6)", ParameterError, r"mostly.*knots"),
        ("ill ~ ns(age, knots=[-5, 40])", ParameterError, "knots"),
        ("ill ~ log(age - 50)", InputError, r"log\(age - 50\)"),
        ("ill ~ bs(log(age - 50), 4)", InputError, "log"),
        ("ill ~ log(sex)", ParameterError, "'sex'"),
        ("ill ~ `log(age)` + log(age)", ColumnError, r"'log\(age\)'"),
        ("ill ~ " + ":".join("abcdefg"), ParameterError, "7"),
    ],
)
def test_what_these_rows_cannot_give_is_told(text, kind, said):
    frame = people()
    frame = frame.assign(one=1, mostly=np.where(frame.age > 55, frame.dose, 0.0), **{"log(age)": 1 / frame.dose})
    frame = frame.assign(**{letter: np.where(frame.index % (3 + i), "u", "v") for i, letter in enumerate("abcdefg")})
    with pytest.raises(kind, match=said):
        made(text, frame)
