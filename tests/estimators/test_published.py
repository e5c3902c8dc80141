"""Published models: the linear predictor of a table of coefficients."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from discriminant import LogisticRegression, load, published_model, save
from discriminant.errors import DiscriminantWarning, ParameterError
from helpers import REFERENCE

TERMS = {
    "(Intercept)": -2.0, "age": 0.03, "sex=male": 0.5, "sex=female": 0.0, "log(dose)": 1.0, "I((age - 50)**2)": 0.01,
    "age:sex=male": -0.02, "`a b`": 0.1, "sqrt(dose):age": 0.002,
}  # fmt: skip


@pytest.fixture
def patients():
    return pd.DataFrame(
        {"age": [40, 60, 30.5], "sex": ["male", "female", "male"], "dose": [1.0, 2, 3], "a b": [1, 0, 2]}
    )


def by_hand(rows):
    male = rows.sex == "male"
    eta = -2 + 0.03 * rows.age + 0.5 * male + np.log(rows.dose) + 0.01 * (rows.age - 50) ** 2 - 0.02 * rows.age * male
    return expit(eta + 0.1 * rows["a b"] + 0.002 * np.sqrt(rows.dose) * rows.age)


def test_functions_levels_and_products(patients, tmp_path):
    model = published_model(TERMS, ("no", "yes"), "ill")
    assert_allclose(model.predict_proba(patients)[:, 1], by_hand(patients), rtol=1e-12)
    assert set(model.predict(patients)) <= {"no", "yes"}
    save(model, tmp_path / "model.dsc", schema=model.encoder_.schema_)
    assert_allclose(load(tmp_path / "model.dsc").predict_proba(patients)[:, 1], by_hand(patients), rtol=1e-12)


def test_the_coefficients_of_a_fit_give_its_probabilities():
    frame = pd.read_csv(REFERENCE / "lbw.csv")
    fitted = LogisticRegression.from_formula("low ~ age + log(lwt) + C(race) + smoke:age", frame)
    terms = {row.term.replace("(race)", "race"): row.estimate for row in fitted.summary().rows}
    model = published_model({**terms, "race=black": 0.0})
    assert_allclose(model.predict_proba(frame), fitted.predict_proba(frame), rtol=1e-10)


def test_a_level_without_coefficient_is_a_reference_level(patients):
    model = published_model({"intercept": 0, "sex=male": 1.0})
    with pytest.warns(DiscriminantWarning, match="coded as the reference level"):
        p = model.predict_proba(patients.assign(sex="other"))
    assert_allclose(p[:, 1], 0.5)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"a": 1.0, "a=b": 2.0}, "has levels, but is numeric"),
        ({"a=b": 1.0, "log(a)": 2.0}, "has levels, but is numeric"),
        ({"ns(x, df=3)": 1.0}, "computed from the rows of the fit"),
        ({"a:": 1.0}, "empty factor"),
        ({"intercept": 1.0}, "at least one term"),
        ({"age": 1.0}, "no intercept"),
        ({"log(x": 1.0}, "never closed"),
        ({"a": "x"}, "finite number"),
        ({"a": 1.0, " a": 2.0}, "two coefficients"),
        ({"intercept": 1.0, "(Intercept)": 2.0, "a": 1.0}, "two intercepts"),
    ],
)
def test_what_is_no_coefficient_is_refused(terms, message):
    with pytest.raises(ParameterError, match=message):
        published_model(terms)


def test_two_classes_are_needed():
    with pytest.raises(ParameterError, match="two different labels"):
        published_model({"a": 1.0}, ("x", "x"))
