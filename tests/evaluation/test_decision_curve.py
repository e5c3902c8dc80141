"""Decision curves and smooth calibration curves: their definitions, and laws."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit

from discriminant import LogisticRegression, calibration_curve, calibration_line, decision_curve, effects
from discriminant.errors import DegenerateDataError, InputError, ParameterError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    p = rng.beta(2, 4, size=900)
    return rng.random(900) < p, p


class TestDecisionCurve:
    def test_net_benefit_by_counting(self, rows):
        y, p = rows
        found = decision_curve(y, p, thresholds=[0.1, 0.3, 0.6])
        for i, t in enumerate([0.1, 0.3, 0.6]):
            true, false = ((p >= t) & y).sum(), ((p >= t) & ~y).sum()
            assert found.net_benefit["model"][i] == pytest.approx((true - false * t / (1 - t)) / len(y))
            assert found.net_benefit["treat all"][i] == pytest.approx(y.mean() - (1 - y.mean()) * t / (1 - t))
        assert (found.net_benefit["treat none"] == 0).all()

    def test_intervals_cover_the_true_benefit(self):
        rng, covered = np.random.default_rng(0), 0
        for _ in range(300):
            p = rng.beta(2, 4, size=300)
            found = decision_curve(rng.random(300) < p, p, thresholds=[0.3])
            many = rng.beta(2, 4, size=4000)  # the true benefit is known: its outcome is expected, not drawn
            true = np.where(many >= 0.3, many - (1 - many) * 3 / 7, 0).mean()
            covered += found.low["model"][0] <= true <= found.high["model"][0]
        assert 0.91 * 300 <= covered <= 0.985 * 300

    def test_costs_are_what_decisions_save(self, rows):
        y, p = rows
        found = decision_curve(y, {"own": p}, [0.2, 0.5], costs=[[1, 2], [9, 1]])
        assert found.cost_threshold == pytest.approx(1 / 9)
        treated, none = np.where(p >= 0.5, np.where(y, 1, 2), np.where(y, 9, 1)), np.where(y, 9, 1)
        assert found.net_benefit["own"][1] == pytest.approx((none - treated).mean())

    def test_weights_are_repeated_rows_and_groups_widen_the_band(self, rows):
        y, p = rows
        weight = 1 + np.arange(len(y)) % 3
        once = decision_curve(y, p, [0.3], sample_weight=weight)
        repeated = decision_curve(np.repeat(y, weight), np.repeat(p, weight), [0.3])
        assert once.net_benefit["model"][0] == pytest.approx(repeated.net_benefit["model"][0])
        copies = np.repeat(y, 4), np.repeat(p, 4)
        alone = decision_curve(*copies, [0.3])
        whole = decision_curve(*copies, [0.3], groups=np.repeat(np.arange(len(y)), 4))
        widths = [found.high["model"][0] - found.low["model"][0] for found in (alone, whole)]
        assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)

    @pytest.mark.parametrize(
        ("change", "error", "name"),
        [
            ({"thresholds": [0.0]}, ParameterError, "thresholds"),
            ({"thresholds": []}, ParameterError, "thresholds"),
            ({"costs": [[0, 1], [0, 1]]}, ParameterError, "costs"),
            ({"costs": [1, 2]}, ParameterError, "costs"),
            ({"probabilities": [0.5]}, InputError, "model"),
            ({"probabilities": np.full(900, 1.5)}, InputError, "1.5"),
        ],
    )
    def test_refusals(self, rows, change, error, name):
        y, p = rows
        with pytest.raises(error, match=name):
            decision_curve(**({"outcome": y, "probabilities": p} | change))


class TestCalibrationCurve:
    def test_it_is_a_logistic_regression_on_a_natural_spline(self, rows):
        y, p = rows
        x = np.log(p / (1 - p))
        knots = np.quantile(x, [0.25, 0.5, 0.75])
        frame = pd.DataFrame({"y": np.where(y, "yes", "no"), "x": x})
        inner = ", ".join(f"{knot!r}" for knot in knots.tolist())
        model = LogisticRegression.from_formula(f"y ~ ns(x, knots=[{inner}])", frame, tol=1e-14)
        found = calibration_curve(y, p)
        at = np.log(found.predicted / (1 - found.predicted))
        assert_allclose(found.observed, model.predict_proba(pd.DataFrame({"x": at}))[:, 1], rtol=1e-6)
        means = effects.predictions(model, pd.DataFrame({"x": at}), by=np.arange(len(at))).rows
        errors = np.array([row.std_error for row in means]) / (found.observed * (1 - found.observed))
        scores = np.log(found.high / (1 - found.high)) - np.log(found.low / (1 - found.low))
        assert_allclose(scores / (2 * 1.959963984540054), errors, rtol=1e-5)
        distance = np.abs(model.predict_proba(frame)[:, 1] - p)
        expected = [distance.mean(), distance.max()]
        assert_allclose([found.integrated_index, found.largest_error], expected, rtol=1e-6)

    def test_one_function_is_the_calibration_line(self, rows):
        y, p = rows
        line, found = calibration_line(y, p), calibration_curve(y, p, df=1)
        scores = line.intercept + line.slope * np.log(found.predicted / (1 - found.predicted))
        assert_allclose(found.observed, 1 / (1 + np.exp(-scores)), rtol=1e-8)

    def test_it_is_near_the_diagonal_where_probabilities_are_right(self):
        rng = np.random.default_rng(1)
        p = rng.uniform(0.05, 0.95, size=20_000)
        found = calibration_curve(rng.random(20_000) < p, p)
        assert found.integrated_index < 0.01
        assert ((found.low <= found.predicted) & (found.predicted <= found.high)).mean() > 0.8
        wrong = calibration_curve(rng.random(20_000) < p, p**2)
        assert wrong.integrated_index > 0.1

    def test_weights_are_repeated_rows(self, rows):
        y, p = rows
        same = calibration_curve(y, p, sample_weight=np.full(len(y), 2))
        assert_allclose(same.observed, calibration_curve(np.repeat(y, 2), np.repeat(p, 2)).observed, rtol=1e-8)
        widths = [logit(found.high) - logit(found.low) for found in (same, calibration_curve(y, p))]
        assert_allclose(widths[0] / widths[1], np.sqrt(0.5), rtol=1e-6)

    def test_refusals(self, rows):
        y, p = rows
        with pytest.raises(DegenerateDataError):
            calibration_curve(y, np.full(len(y), 0.3))
        with pytest.raises(DegenerateDataError):
            calibration_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], df=1)
        with pytest.raises(ParameterError, match="df"):
            calibration_curve(y, p, df=0)
