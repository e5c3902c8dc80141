"""Models by formula: those of statsmodels with patsy, that take frames, go to files and explain their terms."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import patsy
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.stats import chi2, norm

from discriminant import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    NaiveBayes,
    OneVsRest,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
    coefficient_table,
    contributions,
    export,
    load,
    nomogram,
    save,
)
from discriminant.errors import (
    ColumnError,
    DegenerateDataError,
    DependencyError,
    DiscriminantWarning,
    InputError,
    ParameterError,
    SeparationWarning,
)


def people(n=500, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n),
            "dose": rng.gamma(2, 2, n),
            "bmi": rng.normal(25, 4, n),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice([1, 2, 3], n),
            "note": "of no use",
        }
    )
    odds = 0.04 * (frame.age - 50) + np.sin(frame.bmi / 3) / 2 + (frame.sex == "m") * (0.5 - 0.2 * frame.dose) - 0.3
    return frame.assign(ill=(rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int))


def by_glm(formula, frame):
    return smf.glm(formula, frame, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=100)


@pytest.mark.parametrize(
    "formula",
    [
        "ill ~ age + sex * dose + bs(bmi, df=4)",
        "ill ~ C(race, Treatment(2)) * sex + np.log(dose) + I((age / 10)**2)",
        "ill ~ 0 + sex + age:C(race)",
        "ill ~ bs(age, df=5, degree=2):sex",
    ],
)
def test_coefficients_and_intervals_are_those_of_statsmodels(formula):
    frame = people()
    expected, summary = by_glm(formula, frame), LogisticRegression.from_formula(formula, frame).summary()
    assert len(summary.rows) == len(expected.params)
    theirs = {named(name): j for j, name in enumerate(expected.params.index)}
    for row in summary.rows:
        j = theirs[row.term]
        limits = np.asarray(expected.conf_int())[j]
        found = [row.estimate, row.std_error, row.low, row.high]
        np.testing.assert_allclose(found, [expected.params.iloc[j], expected.bse.iloc[j], *limits], atol=1e-6)
    assert abs(summary.log_likelihood - expected.llf) < 1e-8


def named(name):
    """What statsmodels calls a coefficient, in our words."""
    parts = []
    for part in name.replace("Intercept", "intercept").replace(" ** ", "**").split(":"):
        factor, bracket, level = part.removesuffix("]").rpartition("[")
        if factor.startswith("bs"):
            part = f"{factor}[{int(level) + 1}]"
        elif bracket:
            part = f"{factor.removeprefix('C(').split(')')[0].split(',')[0]}={level.removeprefix('T.')}"
        parts.append(part)
    return ":".join(parts)


def test_natural_splines_fit_as_any_basis_of_their_space():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ sex + ns(bmi, df=4)", frame)
    x, knots = frame.bmi.to_numpy(), np.quantile(frame.bmi, [0, 0.25, 0.5, 0.75, 1])
    cubes = np.maximum((x[:, None] - knots) / 10, 0) ** 3
    d = (cubes - cubes[:, -1:])[:, :-1] / (knots[-1] - knots[:-1])
    design = np.column_stack([np.ones(len(x)), frame.sex == "m", x, d[:, :-1] - d[:, -1:]]).astype(float)
    expected = sm.GLM(frame.ill, design, family=sm.families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(model.predict_proba(frame)[:, 1], expected.fittedvalues, atol=1e-8)
    summary = model.summary()
    assert abs(summary.deviance - expected.deviance) < 1e-8
    np.testing.assert_allclose(summary.rows[1].std_error, expected.bse.iloc[1], rtol=1e-6)


def test_a_term_is_tested_as_a_whole():
    frame = people()
    tests = LogisticRegression.from_formula("ill ~ age + bs(bmi, df=4) + C(race)", frame).term_tests()
    whole = by_glm("ill ~ age + bs(bmi, df=4) + C(race)", frame).llf
    for term, smaller, df in (
        ("age", "ill ~ bs(bmi, df=4) + C(race)", 1),
        ("bs(bmi, df=4)", "ill ~ age + C(race)", 4),
        ("C(race)", "ill ~ age + bs(bmi, df=4)", 2),
    ):
        statistic = 2 * (whole - by_glm(smaller, frame).llf)
        assert tests[term].df == df
        assert abs(tests[term].statistic - statistic) < 1e-6
        assert abs(tests[term].p_value - chi2.sf(statistic, df)) < 1e-8
    assert list(tests.tests) == ["age", "bs(bmi, df=4)", "C(race)"]


def test_many_classes_have_terms_too():
    frame = people()
    frame["ill"] = np.random.default_rng(1).choice(["a", "b", "c"], len(frame))
    model = LogisticRegression.from_formula("ill ~ sex + ns(age, 3)", frame)
    assert model.term_tests()["ns(age, 3)"].df == 6
    design = patsy.dmatrix("sex", frame)
    full = np.column_stack([design, model.basis_.expand(model.encoder_.transform(coded(model, frame)))[:, 1:]])
    expected = sm.MNLogit(pd.Categorical(frame.ill, categories=["c", "a", "b"]).codes, full).fit(disp=0, tol=1e-12)
    estimates = np.array([row.estimate for row in model.summary().rows])
    np.testing.assert_allclose(estimates, np.asarray(expected.params).T.ravel(), atol=1e-6)


def coded(model, frame):
    return frame[model.encoder_.feature_names_in_.tolist()]


FORMULA = "ill ~ ns(age, 3) * sex + log(dose) + C(race)"


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).to_arrow()])
def test_frames_of_any_kind_with_columns_in_any_order(make):
    frame = people()
    expected = LogisticRegression.from_formula(FORMULA, frame).predict_proba(frame)
    model = LogisticRegression.from_formula(FORMULA, make(frame))
    turned = frame[["race", "bmi", "dose", "sex", "age"]]
    np.testing.assert_allclose(model.predict_proba(make(turned)), expected, rtol=1e-12)


def test_a_file_is_a_table_too(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    model = LogisticRegression.from_formula(FORMULA, tmp_path / "people.csv")
    np.testing.assert_allclose(model.coef_, LogisticRegression.from_formula(FORMULA, frame).coef_, rtol=1e-8)


def test_what_training_had_not_is_treated_as_the_schema_says():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ sex + ns(age, 3)", frame)
    rows = frame[:4].assign(sex=["f", "m", "new", "f"], age=50.0)
    with pytest.warns(DiscriminantWarning, match=r"'sex'.*'new'"):
        scores = model.decision_function(rows)
    share = (frame.sex == "m").mean()
    np.testing.assert_allclose(scores[2], (1 - share) * scores[0] + share * scores[1], rtol=1e-10)
    beyond = model.decision_function(rows[:3].assign(sex="f", age=frame.age.max() + np.array([0.0, 10.0, 20.0])))
    np.testing.assert_allclose(beyond[2] - beyond[1], beyond[1] - beyond[0], rtol=1e-9)  # straight on
    with pytest.raises(ColumnError, match="sex"):
        model.predict(frame[["age"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an array has no names
        with pytest.raises(ColumnError, match="training table"):
            model.predict(np.zeros((3, 5)))


def test_rows_with_gaps_are_left_out_or_marked():
    frame = people()
    frame.loc[:19, "age"] = np.nan
    with pytest.warns(DiscriminantWarning, match="20 rows with missing values"):
        model = LogisticRegression.from_formula("ill ~ ns(age, 3) + sex", frame)
    complete = LogisticRegression.from_formula("ill ~ ns(age, 3) + sex", frame[20:])
    np.testing.assert_array_equal(model.coef_, complete.coef_)
    with pytest.raises(InputError, match=r"'age'.*20"):
        model.predict(frame)
    with pytest.raises(InputError, match="missing"):
        LogisticRegression.from_formula("ill ~ age", frame, missing="refuse")
    marked = LogisticRegression.from_formula("ill ~ ns(age, 3) + sex", frame, missing="indicator")
    assert marked.feature_names_in_[-1] == "age=(missing)"
    functions, others = (model_.basis_.functions[0] for model_ in (marked, complete))
    np.testing.assert_allclose(functions.breaks, others.breaks)  # the mean that fills gaps makes no knots
    assert np.isfinite(marked.predict_proba(frame)).all()


def test_logarithms_of_what_has_none_name_the_row():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ log(dose)", frame)
    with pytest.raises(InputError, match=r"log.*row 2.*'dose'.*-1"):
        model.predict(frame[:5].assign(dose=[1.0, 2.0, -1.0, 0.0, 1.0]))


def test_only_models_with_offsets_take_them():
    frame = people()
    for kind in (LinearDiscriminantAnalysis, SupportVectorClassifier):
        with pytest.raises(ParameterError, match="offset"):
            kind.from_formula("ill ~ age + offset(dose)", frame)


def test_effects_of_contrasts_are_those_of_levels():
    frame = people()
    by_levels, by_sums = (LogisticRegression.from_formula(f"ill ~ C(race{c}) + age", frame) for c in ("", ", Sum"))
    for ours, theirs in zip(by_sums.effect("race", at=2).points, by_levels.effect("race", at=2).points, strict=True):
        np.testing.assert_allclose([ours.estimate, ours.low, ours.high], [theirs.estimate, theirs.low, theirs.high])
    sums = {row.term: row.estimate for row in by_sums.summary().rows}
    assert set(sums) == {"intercept", "race[S.1]", "race[S.2]", "age"}


def test_offsets_count_under_separation():
    """The finite limits are those of the fit to the other rows, offsets and all."""
    frame = people().query("ill == 1 or sex == 'f'")
    formula = "ill ~ age + sex + offset(dose)"
    with pytest.warns(SeparationWarning):
        rows = {row.term: row for row in LogisticRegression.from_formula(formula, frame).summary().rows}
    women = frame[frame.sex == "f"]
    limit = LogisticRegression().fit(women[["age"]], women.ill, offset=women.dose).summary().rows
    assert rows["sex=m"].estimate == np.inf
    np.testing.assert_allclose(rows["age"].estimate, limit[1].estimate, rtol=1e-5)


def test_files_keep_all_that_answers_need(tmp_path, monkeypatch):
    frame = people()
    model = LogisticRegression.from_formula(FORMULA, frame)
    save(model, tmp_path / "model.dsc")
    expected = model.predict_proba(frame)
    monkeypatch.setitem(sys.modules, "formulaic", None)
    monkeypatch.setitem(sys.modules, "formulaic.parser", None)
    again = load(tmp_path / "model.dsc")
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    assert again.formula_.formula == FORMULA
    with pytest.raises(DependencyError, match="formulaic"):
        LogisticRegression.from_formula(FORMULA, frame)


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        (LogisticRegression, FORMULA),
        (LogisticRegression, "ill ~ C(race, Sum) * sex + cr(age, df=4, constraints='center') + offset(log(dose))"),
        (LinearDiscriminantAnalysis, "ill ~ C(race, Poly) * bs(age, 4)"),
        (QuadraticDiscriminantAnalysis, "ill ~ C(race, Helmert) * dose + age"),
        (GaussianNB, "ill ~ C(race, Sum) * dose + age"),
    ],
)
def test_exports_take_raw_rows(kind, formula):
    frame = people(80 if formula == FORMULA else 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind.from_formula(formula, frame)
    module = {}
    exec(export(model, "python"), module)
    rows = frame.to_dict("records")
    np.testing.assert_allclose([module["predict_proba"](row) for row in rows], model.predict_proba(frame), atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        LinearDiscriminantAnalysis.from_formula,
        LogisticRegressionCV.from_formula,
        SupportVectorClassifier.from_formula,
        NaiveBayes.from_formula,
        lambda *given: OneVsRest.from_formula(*given, estimator=LinearDiscriminantAnalysis()),
    ],
)
def test_every_classifier_has_formulas(make):
    frame = people()
    model = make("ill ~ ns(age, 3) + C(race)", frame)
    assert model.score(frame.drop(columns="ill"), frame.ill) > 0.5
    assert model.feature_names_in_.tolist() == [*(f"ns(age, 3)[{i}]" for i in (1, 2, 3)), "race=2", "race=3"]


def test_a_stream_goes_on_with_frames():
    frame = people()
    model = LinearDiscriminantAnalysis.from_formula("ill ~ age + sex:dose", frame)
    twice = model.partial_fit(frame, frame.ill).predict_proba(frame)
    np.testing.assert_allclose(twice, LinearDiscriminantAnalysis.from_formula(
        "ill ~ age + sex:dose", frame, sample_weight=np.full(500, 2.0)).predict_proba(frame), rtol=1e-9)  # fmt: skip


def test_weights_are_repeated_rows_and_may_be_a_column():
    frame = people().assign(times=np.random.default_rng(3).integers(1, 4, 500))
    weighted = LogisticRegression.from_formula(FORMULA, frame, sample_weight=frame.times)
    by_name = LogisticRegression.from_formula(FORMULA, frame, sample_weight="times")
    repeated = LogisticRegression.from_formula(FORMULA, frame.loc[frame.index.repeat(frame.times)])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    np.testing.assert_array_equal(weighted.coef_, by_name.coef_)
    dot = LogisticRegression.from_formula("ill ~ . - note", frame, sample_weight="times")
    assert "times" not in dot.feature_names_in_


def test_the_intercept_is_the_formulas():
    frame = people()
    assert not LogisticRegression.from_formula("ill ~ age - 1", frame).fit_intercept
    without = LogisticRegression.from_formula("ill ~ sex", frame, fit_intercept=False)
    assert without.feature_names_in_.tolist() == ["sex=f", "sex=m"]
    with pytest.raises(ParameterError, match="formula"):
        LinearDiscriminantAnalysis.from_formula("ill ~ age - 1", frame)


def test_a_frames_own_order_of_categories_gives_the_reference():
    frame = people()
    frame["sex"] = pd.Categorical(frame.sex, categories=["m", "x", "f"])
    assert LogisticRegression.from_formula("ill ~ sex", frame).feature_names_in_.tolist() == ["sex=f"]


def test_tables_of_coefficients_and_contributions_speak_of_terms_and_columns():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ ns(age, 3) + sex", frame)
    terms = [row.term for row in coefficient_table(model).rows]
    assert terms == ["intercept", *(f"ns(age, 3)[{i}]" for i in (1, 2, 3)), "sex=m"]
    row = model.encoder_.transform(coded(model, frame[:1]))
    found = contributions(model, row, model.formula_.middle, model.encoder_.schema_.sources)
    assert {part.column for part in found.rows} == {"age", "sex"}
    np.testing.assert_allclose(found.lead, abs(model.decision_function(frame[:1])[0]))
    with pytest.raises(ParameterError, match="formula"):
        nomogram(model, model.formula_.lowest, model.formula_.highest)


def test_a_fit_to_other_rows_forgets_the_formula():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ ns(age, 3) + sex", frame)
    model.fit(frame[["age"]], frame.ill)
    assert not hasattr(model, "formula_")
    assert model.predict(frame[["age"]]).shape == (500,)


def test_an_effect_has_the_interval_of_the_delta_method():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ sex + bs(bmi, df=4)", frame)
    expected = by_glm("ill ~ sex + bs(bmi, df=4)", frame)
    grid = np.linspace(15, 33, 7)
    found = model.effect("bmi", values=grid, at=25, level=0.9)
    rows = pd.DataFrame({"bmi": [*grid, 25.0], "sex": "f"})
    known = patsy.dmatrix("sex + bs(bmi, df=4)", frame).design_info
    design = np.asarray(patsy.build_design_matrices([known], rows)[0])
    change = design[:-1] - design[-1]
    mean, cov = change @ expected.params.to_numpy(), change @ expected.cov_params().to_numpy() @ change.T
    np.testing.assert_allclose([point.estimate for point in found.points], mean, atol=1e-6)
    width = norm.ppf(0.95) * np.sqrt(np.diag(cov))
    np.testing.assert_allclose([point.high for point in found.points], mean + width, atol=1e-6)
    np.testing.assert_allclose([point.low for point in found.points], mean - width, atol=1e-6)
    assert len(found.to_frame()) == 7
    assert "compared with bmi = 25" in str(found)


def test_an_effect_of_a_category_is_that_of_its_levels():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ C(race, Treatment(3)) + age", frame)
    found = model.effect("race")
    assert (found.at, [point.value for point in found.points]) == ("3", ["3", "1", "2"])
    rows = {row.term: row for row in model.summary().rows}
    for point in found.points[1:]:
        row = rows[f"race={point.value}"]
        np.testing.assert_allclose([point.estimate, point.low, point.high], [row.estimate, row.low, row.high])


def test_an_effect_among_products_is_the_average_one():
    frame = people()
    model = LogisticRegression.from_formula("ill ~ sex * dose", frame)
    rows = {row.term: row.estimate for row in model.summary().rows}
    slope = rows["dose"] + (frame.sex == "m").mean() * rows["sex=m:dose"]
    (point,) = model.effect("dose", values=[3], at=2).points
    np.testing.assert_allclose(point.estimate, slope)


def test_effects_without_a_formula_and_effects_that_are_none():
    frame = people()
    plain = LogisticRegression().fit(frame[["age", "dose"]], frame.ill)
    first, *_, last = plain.effect("age").points
    np.testing.assert_allclose(last.estimate - first.estimate, plain.coef_[0, 0] * np.ptp(frame.age))
    with pytest.raises(ColumnError, match="'agee'"):
        plain.effect("agee")
    with pytest.raises(ParameterError, match="values"):
        plain.effect("age", at="old")
    with pytest.raises(ParameterError, match="alpha"):
        LogisticRegression.from_formula("ill ~ age", frame, alpha=0.1, l1_ratio=1.0).effect("age")
    with pytest.raises(ColumnError, match=r"'9'.*'race'"):
        LogisticRegression.from_formula("ill ~ C(race)", frame).effect("race", at=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        separated = LogisticRegression.from_formula(
            "ill ~ age + copy", frame.assign(copy=2 * frame.ill + frame.age / 99)
        )
    with pytest.raises(DegenerateDataError, match="firth"):
        separated.effect("age")


REFERENCE = Path(__file__).parent.parent / "reference"


@pytest.mark.parametrize(
    ("name", "formula", "prefix"),
    [
        ("lbw", "low ~ age + lwt + C(race, Treatment('white')) + smoke + ptl + ht + ui", "race="),
        ("ucla_admit", "admit ~ gre + gpa + C(rank)", ""),
    ],
)
def test_published_fits_with_factors(name, formula, prefix):
    """Low birth weight (Hosmer & Lemeshow) and graduate admission (UCLA), as R has them."""
    expected = json.loads((REFERENCE / f"{name}.json").read_text())["expected"]
    summary = LogisticRegression.from_formula(formula, pd.read_csv(REFERENCE / f"{name}.csv")).summary()
    found = {row.term.removeprefix(prefix).replace("rank=", "rank"): row for row in summary.rows}
    assert found.keys() == expected["coef"].keys()
    for term, row in found.items():
        errors = expected.get("se_exact_optimum", expected["se"])
        np.testing.assert_allclose([row.estimate, row.std_error], [expected["coef"][term], errors[term]], atol=1e-6)
