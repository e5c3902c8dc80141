"""Contrasts, splines, offsets, tests of terms and linear hypotheses: those of R (`tests/reference/terms.R`)."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from discriminant import LogisticRegression, export, load, save
from discriminant.basis import cubic_regression_splines
from discriminant.errors import CollinearityWarning, ColumnError, DegenerateDataError, ParameterError, SeparationWarning
from discriminant.formula import Contrast
from discriminant.inference.hypotheses import parse_hypotheses
from discriminant.inference.terms import TERM_TEST_KINDS
from helpers import REFERENCE, reference

R = reference("terms")


@pytest.fixture(scope="module")
def people():
    return pd.read_csv(REFERENCE / "terms.csv")


def fitted(formula, frame, **parameters):
    return LogisticRegression.from_formula(formula, frame, **parameters)


def assert_tests(found, expected):
    """Statistics and degrees of freedom of all terms, as R has them; R has no statistic where it has no df."""
    assert list(found.tests) == list(expected["df"])
    assert [test.df for test in found.tests.values()] == list(expected["df"].values())
    statistics = [0.0 if value is None else value for value in expected["statistic"].values()]
    assert_allclose([test.statistic for test in found.tests.values()], statistics, rtol=1e-6, atol=1e-7)


FACTORS = ("sex", "region", "severity", "clinic")


def coded(formula, coding):
    """The formula with this coding of its factors."""
    for factor in FACTORS:
        formula = formula.replace(factor, f"C({factor}{coding})")
    return formula


@pytest.mark.parametrize("kind", ["sum", "helmert", "poly"])
def test_contrasts_are_those_of_r(kind):
    levels = list("abcde")
    weights, names = Contrast(kind).columns(levels, 4)
    assert_allclose(weights, R["matrices"][kind], atol=1e-14)
    assert len(names) == 4


@pytest.mark.parametrize("kind", ["Sum", "Helmert", "Poly"])
def test_coefficients_of_contrasts_are_those_of_r(people, kind):
    expected = R["contrasts"][kind.lower()]
    summary = fitted(f"ill ~ C(severity, {kind}) * dose + age", people).summary()
    assert_allclose([row.estimate for row in summary.rows], list(expected["coef"].values()), rtol=1e-7)
    assert_allclose([row.std_error for row in summary.rows], list(expected["se"].values()), rtol=1e-6)
    assert_allclose(summary.deviance, expected["deviance"])


def test_regression_splines_are_those_of_mgcv(people):
    x, at = people.age.to_numpy(), np.array(R["splines"]["age"])
    knots = np.quantile(np.unique(x), [0, 1 / 3, 2 / 3, 1])
    plain = cubic_regression_splines(0, knots)
    assert_allclose(plain.evaluate(at), R["splines"]["plain"], atol=1e-10)
    model = fitted("ill ~ cr(age, df=3, constraints='center') + sex", people)
    assert_allclose(model.summary().deviance, R["splines"]["fit"])
    centred = model.basis_.functions[0].evaluate(at)
    ours, theirs = (np.column_stack((np.ones(len(at)), own)) for own in (centred, np.array(R["splines"]["centred"])))
    assert_allclose(ours @ np.linalg.lstsq(ours, theirs)[0], theirs, atol=1e-10)  # mgcv's rotation is its own
    assert_allclose(model.basis_.functions[0].evaluate(x).mean(axis=0), 0, atol=1e-12)


def test_offsets_are_those_of_r(people, tmp_path):
    expected = R["offsets"]
    model = fitted("ill ~ sex + dose + offset(age / 50) + offset(log(dose))", people)
    summary = model.summary()
    assert_allclose([row.estimate for row in summary.rows], list(expected["coef"].values()), rtol=1e-6)
    assert_allclose([row.std_error for row in summary.rows], list(expected["se"].values()), rtol=1e-6)
    assert_allclose([summary.deviance, summary.null_deviance], [expected["deviance"], expected["null_deviance"]])
    assert_allclose(model.predict_proba(people[:5])[:, 1], expected["probabilities"])
    profile = [list(ends.values()) for ends in expected["profile"].values()]
    assert_allclose([(low, high) for *_, low, high in model.conf_int(method="profile")], profile, rtol=1e-4)
    assert_tests(model.term_tests(), expected["type2"])
    save(model, tmp_path / "model.dsc")
    np.testing.assert_array_equal(load(tmp_path / "model.dsc").predict_proba(people), model.predict_proba(people))
    module = {}
    exec(export(model, "python"), module)
    written = [module["predict_proba"](row)[1] for row in people.to_dict("records")]
    assert_allclose(written, model.predict_proba(people)[:, 1], rtol=1e-12)


def test_offsets_move_effects_and_have_no_coefficient(people):
    model = fitted("ill ~ sex + offset(log(dose))", people)
    (point,) = model.effect("dose", values=[4], at=2).points
    assert_allclose([point.estimate, point.low, point.high], np.log(2))
    (turned,) = model.effect("dose", values=[4], at=2, reference=1).points
    assert_allclose(turned.estimate, -np.log(2))
    assert [row.term for row in model.summary().rows] == ["intercept", "sex=m"]
    with pytest.raises(ParameterError, match="two classes"):
        fitted("severity ~ age + offset(dose)", people)


def test_firth_takes_offsets(people):
    model = fitted("ill ~ sex + offset(dose)", people, firth=True)
    direct = LogisticRegression(firth=True).fit((people[["sex"]] == "m") * 1.0, people.ill, offset=people.dose)
    assert_allclose(model.coef_[:, :1], direct.coef_)
    assert_allclose([row.std_error for row in model.summary().rows], [row.std_error for row in direct.summary().rows])


@pytest.mark.filterwarnings("ignore::discriminant.errors.CollinearityWarning")
@pytest.mark.parametrize("formula", list(R["terms"]))
@pytest.mark.parametrize("kind", TERM_TEST_KINDS)
@pytest.mark.parametrize("coding", ["", ", Sum", ", Helmert", ", Poly", ", Treatment('z')"])
def test_tests_of_terms_are_those_of_r_whatever_the_coding(people, formula, kind, coding):
    expected = R["terms"][formula]
    key = {"II": "type2", "III": "type3"}.get(kind, kind)
    if key not in expected:  # type III of R is not defined where columns are aliased
        return
    if "Treatment" in coding:  # the last level is the reference
        text = formula
        for factor in FACTORS:
            text = text.replace(factor, f"C({factor}, Treatment({people[factor].max()!r}))")
    else:
        text = coded(formula, coding) if coding else formula
    found = fitted(text, people).term_tests(kind)
    assert [test.df for test in found.tests.values()] == list(expected[key]["df"].values())
    statistics = [0.0 if value is None else value for value in expected[key]["statistic"].values()]
    assert_allclose([test.statistic for test in found.tests.values()], statistics, rtol=1e-6, atol=1e-6)


def test_names_and_marginality_of_terms(people):
    model = fitted("ill ~ sex * dose + age", people)
    assert list(model.term_tests().tests) == ["sex", "dose", "age", "sex:dose"]
    assert list(model.term_tests("drop1").tests) == ["age", "sex:dose"]
    assert list(model.term_tests("III").tests) == ["sex", "dose", "age", "sex:dose"]
    with pytest.raises(ParameterError):
        model.term_tests("I")


def test_weights_of_terms_are_repeated_rows(people):
    assert_tests(fitted("ill ~ sex * region", people, sample_weight="times").term_tests(), R["weighted"])


@pytest.mark.parametrize(("kind", "key"), [("II", "type2"), ("III", "type3")])
def test_tests_of_terms_of_three_classes(people, kind, key):
    found = fitted("severity ~ sex * region + age", people).term_tests(kind)
    expected = R["multinomial"][key]
    assert [test.df for test in found.tests.values()] == list(expected["df"].values())
    # nnet stops some 1e-6 short of its optimum
    assert_allclose([test.statistic for test in found.tests.values()], list(expected["statistic"].values()), atol=1e-4)


@pytest.mark.parametrize("kind", TERM_TEST_KINDS)
def test_without_products_all_tests_are_the_same(people, kind):
    plain = LogisticRegression().fit(people[["dose", "age"]], people.ill)
    by_formula = fitted("ill ~ dose + age", people)
    for name in ("dose", "age"):
        assert_allclose(plain.term_tests(kind)[name].statistic, by_formula.term_tests()[name].statistic, rtol=1e-7)


def test_an_empty_cell_has_no_degree_of_freedom(people):
    frame = people[~((people.sex == "m") & (people.region == "south"))]
    with pytest.warns(CollinearityWarning):
        model = fitted("ill ~ sex * region", frame)
    for kind in TERM_TEST_KINDS:
        assert model.term_tests(kind)["sex:region"].df == 1


HYPOTHESES = {
    "equal": "region=north = region=south",
    "value": "dose = 0.1",
    "sum": "2*dose - 10*age + intercept = 0.5",
    "both": ["region=north = region=south", "dose = 10*age"],
}


@pytest.mark.parametrize("name", HYPOTHESES)
def test_linear_hypotheses_are_those_of_r(people, name):
    found, expected = fitted("ill ~ region + dose + age", people).hypothesis(HYPOTHESES[name]), R["hypotheses"][name]
    assert found.df == expected["df"]
    assert_allclose([found.statistic, found.p_value], [expected["statistic"], expected["p"]], rtol=1e-6)


def test_linear_hypotheses_take_the_covariance(people):
    model = fitted("ill ~ region + dose + age", people)
    robust = model.hypothesis(HYPOTHESES["both"], covariance="robust")
    assert_allclose(robust.statistic, R["hypotheses"]["robust"]["statistic"], rtol=1e-6)
    codes = pd.factorize(people.clinic)[0]
    clustered = model.hypothesis(HYPOTHESES["equal"], covariance="clustered", clusters=codes)
    assert_allclose(clustered.statistic, R["hypotheses"]["clustered"]["statistic"], rtol=1e-6)


def test_linear_hypotheses_about_outcomes(people):
    model = fitted("severity ~ region + age", people)
    one = model.hypothesis("moderate:age = severe:age", reference="mild")
    each = model.hypothesis("region=north = region=south", reference="mild")
    for found, key in ((one, "outcomes"), (each, "each")):
        assert found.df == R["hypotheses"][key]["df"]
        assert_allclose(found.statistic, R["hypotheses"][key]["statistic"], rtol=1e-4)
    texts = [f"{outcome}: region=north = region=south" for outcome in ("moderate", "severe")]
    assert [row.hypothesis for row in each.rows] == texts
    with pytest.raises(ParameterError):
        model.hypothesis("moderate:age = age")


def test_each_hypothesis_has_its_interval(people):
    model = fitted("ill ~ region + dose + age", people)
    (row,) = model.hypothesis("dose = 0").rows
    own = next(own for own in model.summary().rows if own.term == "dose")
    assert_allclose([row.estimate, row.std_error, row.low, row.high], [own.estimate, own.std_error, own.low, own.high])
    again = fitted("ill ~ C(region, Treatment('south')) + dose + age", people)
    np.testing.assert_allclose(
        again.hypothesis("region=north = 0").statistic,
        model.hypothesis("region=north - region=south").statistic,
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("text", "weights", "value"),
    [
        ("a = b", {"a": 1, "b": -1}, 0),
        ("a", {"a": 1}, 0),
        ("-a + 2*(b - 3) = 1/2", {"a": -1, "b": 2}, 6.5),
        ("2 * a / 4 = 1e-1", {"a": 0.5}, 0.1),
        ("x=2 = x=3", {"x=2": 1, "x=3": -1}, 0),
        ("x = 2", {"x=2": 1}, 0),
        ("ns(b,df=4)[1] = sex=m:a", {"ns(b, df=4)[1]": 1, "sex=m:a": -1}, 0),
        ("`body mass` = ab", {"body mass": 1, "ab": -1}, 0),
        ("body  mass - 3 = .5", {"body mass": 1}, 3.5),
    ],
)
def test_hypotheses_are_read_as_they_are_written(text, weights, value):
    names = ["a", "b", "ab", "x=2", "x=3", "ns(b, df=4)[1]", "sex=m:a", "body mass"]
    (found,) = parse_hypotheses(text, names)
    assert (dict(found.weights), found.value) == (weights, value)


def test_chains_and_lists_are_several_hypotheses():
    found = parse_hypotheses(["a = b = c", "a = 1, b = 2"], "abc")
    assert [own.text for own in found] == ["a = b", "b = c", "a = 1", "b = 2"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", ParameterError),
        ([], ParameterError),
        (3, ParameterError),
        ("a = ", ParameterError),
        ("1 = 1", ParameterError),
        ("a = a", ParameterError),
        ("a * b", ParameterError),
        ("1 / a", ParameterError),
        ("a / 0", ParameterError),
        ("(a = b", ParameterError),
        ("a b", ParameterError),
        ("a ^ 2", ColumnError),
        ("c = 0", ColumnError),
        ("`c` = 0", ColumnError),
        ("a (b)", ParameterError),
        ("a ** 2", ParameterError),
        ("()", ParameterError),
        ("a,", ParameterError),
        ("(" * 5000 + "a" + ")" * 5000, ParameterError),
        ("-" * 15000 + "a", ParameterError),
    ],
)
def test_what_is_no_hypothesis_is_refused(text, kind):
    with pytest.raises(kind):
        parse_hypotheses(text, ["a", "b"])


def test_hypotheses_that_cannot_be_tested_are_refused(people):
    model = fitted("ill ~ dose + age", people)
    with pytest.raises(ParameterError):
        model.hypothesis("dose = age, age = dose")
    with pytest.raises(ParameterError):
        fitted("ill ~ dose + age", people, alpha=0.1).hypothesis("dose = 0")
    with pytest.warns(CollinearityWarning):
        nested = fitted("ill ~ region + clinic", people)
    aliased = nested.feature_names_in_[nested.aliased_[0]]
    with pytest.raises(ParameterError, match="aliased"):
        nested.hypothesis(f"`{aliased}` = 0")
    kept = people[(people.ill == 1) | (people.sex == "f")]
    with pytest.warns(SeparationWarning):
        separated = fitted("ill ~ dose + sex", kept)
    with pytest.raises(DegenerateDataError):
        separated.hypothesis("sex=m = 0")
