"""Ordinal regression against R: ordinal::clm, MASS::polr and VGAM::vglm (tests/reference/ordinal.R)."""

import json
from pathlib import Path

import numpy as np
import pytest

from discriminant import OrdinalLogisticRegression
from discriminant.data import as_rows

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "ordinal.json").read_text())
TABLES = list(REFERENCE)
PARTIAL = [name for name in TABLES if "partial" in REFERENCE[name]]


def fitted(name, **parameters):
    table = REFERENCE[name]
    X, names = np.column_stack([np.asarray(v, float) for v in table["X"].values()]), list(table["X"])
    model = OrdinalLogisticRegression(classes_order=table["order"], **parameters)
    return model.fit(as_rows(X, names), table["y"], sample_weight=np.asarray(table["w"], float))


def terms(model):
    return {row.term: row for row in model.summary().rows}


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("name", TABLES)
def test_links_agree_with_clm(name, link):
    expected = REFERENCE[name]["fits"][link]
    model = fitted(name, link=link)
    rows = terms(model)
    assert set(rows) == set(expected["coef"])
    for term, value in expected["coef"].items():
        assert rows[term].estimate == pytest.approx(value, rel=1e-6, abs=1e-7)
        assert rows[term].std_error == pytest.approx(expected["se"][term], rel=1e-6)
    assert model.summary().log_likelihood == pytest.approx(expected["loglik"], rel=1e-10)


@pytest.mark.parametrize("name", TABLES)
def test_proportional_odds_agree_with_polr(name):
    expected, model = REFERENCE[name]["polr"], fitted(name)
    assert model.coef_[0] == pytest.approx(list(expected["coef"].values()), rel=1e-4, abs=1e-6)
    assert model.summary().log_likelihood == pytest.approx(expected["loglik"], rel=1e-9)


@pytest.mark.parametrize("form", ["continuation", "adjacent"])
@pytest.mark.parametrize("name", TABLES)
def test_other_forms_agree_with_vglm(name, form):
    expected, model = REFERENCE[name][form], fitted(name, form=form)
    m = len(model.thresholds_)
    # VGAM adds the linear predictor to the thresholds, which come first.
    coef, errors = (np.array(list(expected[part].values())) for part in ("coef", "se"))
    found = model.summary()
    assert model.thresholds_ == pytest.approx(coef[:m], rel=1e-6)
    assert -model.coef_[0] == pytest.approx(coef[m:], rel=1e-6, abs=1e-7)
    if form == "adjacent":  # for the continuation form VGAM has the expected instead of the observed information
        assert [row.std_error for row in found.rows] == pytest.approx([*errors[m:], *errors[:m]], rel=1e-5)
    assert found.log_likelihood == pytest.approx(expected["loglik"], rel=1e-9)


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_proportional_odds_agree_with_clm_and_vglm(name):
    table = REFERENCE[name]
    own = table["nonparallel"]
    model = fitted(name, nonparallel=[own])
    rows, expected = terms(model), table["partial"]
    for term, value in expected["coef"].items():
        cut, _, column = term.partition(".")
        key = cut if column == "(Intercept)" else f"{cut}:{column}" if column else cut
        sign = -1 if column == own else 1  # clm adds nominal effects to the thresholds
        assert sign * rows[key].estimate == pytest.approx(value, rel=2e-6, abs=1e-7)
        assert rows[key].std_error == pytest.approx(expected["se"][term], rel=1e-6)
    found = model.summary()
    assert found.log_likelihood == pytest.approx(expected["loglik"], rel=1e-10)
    assert found.log_likelihood == pytest.approx(table["vglm_partial"]["loglik"], rel=1e-9)
    by_cut = [row.estimate for row in found.rows if row.term.endswith(f":{own}")]
    from_vgam = [v for key, v in table["vglm_partial"]["coef"].items() if key.startswith(f"{own}:")]
    assert -np.array(by_cut) == pytest.approx(from_vgam, rel=1e-5)


@pytest.mark.parametrize("name", TABLES)
def test_tests_of_parallel_lines_agree_with_clm(name):
    found = fitted(name).parallel_lines_test("likelihood-ratio")
    for term, statistic in REFERENCE[name]["nominal"].items():
        assert found[term].statistic == pytest.approx(statistic, rel=1e-6, abs=1e-8)
        assert found[term].df == len(REFERENCE[name]["order"]) - 2


@pytest.mark.parametrize("name", TABLES)
def test_profile_intervals_agree_with_clm(name):
    expected = {row["_row"]: (row["2.5 %"], row["97.5 %"]) for row in REFERENCE[name]["profile"]}
    found = {term: (low, high) for _, term, low, high in fitted(name).conf_int(method="profile")}
    for term, limits in expected.items():
        assert found[term] == pytest.approx(limits, rel=5e-4, abs=5e-5)  # clm interpolates the profile


@pytest.mark.parametrize("name", [name for name in TABLES if "HC0" in REFERENCE[name]])
def test_sandwich_errors_agree_with_sandwich(name):
    model, table = fitted(name), REFERENCE[name]
    clusters = np.arange(len(table["y"])) % 40
    for kind, options in (("HC0", {"covariance": "HC0"}), ("CR1", {"clusters": clusters})):
        found = [row.std_error for row in model.summary(**options).rows]
        assert found == pytest.approx(table[kind], rel=5e-3)  # polr's Hessian is numerical
