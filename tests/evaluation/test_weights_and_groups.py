"""Fractional weights are importances, and groups are clusters: in Python and on the command line."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cli.commands import run_command

from discriminant import (
    AutoClassifier,
    LabelledPredictions,
    LogisticRegression,
    LogisticRegressionCV,
    compare,
    evaluate,
    evaluation_of,
    open_dataset,
)
from discriminant.errors import InputError, WeightError
from discriminant.evaluation import Evaluator
from discriminant.folds import grouped_folds, repeated_folds


def answers(n=400, seed=0):
    """Labels, probabilities of the second class, and weights as surveys have them."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, n)
    return rng.random(n) < p, p, rng.lognormal(5, 1, n)


def width(found, *of):
    return found[of].high - found[of].low


def test_fractional_weights_are_importances():
    """Units of weights do not matter, and rows are worth their effective sample size."""
    y, p, w = answers()
    found, scaled = (
        evaluation_of(LabelledPredictions(y, posterior=p, sample_weight=factor * w)) for factor in (1.0, 1e-3)
    )
    for one, other in zip(found.estimates, scaled.estimates, strict=True):
        assert_allclose((one.value, one.low, one.high), (other.value, other.low, other.high), rtol=1e-9, atol=1e-12)
    right = (p > 0.5) == y
    share = np.average(right, weights=w)
    error = np.sqrt(np.sum(w**2 * (right - share) ** 2)) / w.sum()
    assert width(found, "accuracy", "overall") / (2 * 1.966 * error) == pytest.approx(1, abs=0.02)
    assert any(f"{w.sum() ** 2 / (w @ w):,.6g}" in note for note in found.notes)
    whole = evaluation_of(LabelledPredictions(y, posterior=p, sample_weight=np.rint(w)))
    assert width(whole, "accuracy", "overall") < 0.3 * width(found, "accuracy", "overall")


def test_streams_refuse_importances_and_take_frequencies_as_in_memory():
    """An answer that would differ from that of the same rows in memory is refused, from an evaluator and a dataset."""
    y, p, w = answers()
    stream = Evaluator([False, True])
    with pytest.raises(WeightError):
        stream.update(y, np.column_stack((1 - p, p)), sample_weight=w)
    assert stream.n_rows == 0
    frame = pd.DataFrame({"x": p, "y": np.where(y, "yes", "no"), "w": w, "n": np.ceil(w)})
    model = LogisticRegression().fit(frame[["x"]], frame["y"])
    with pytest.raises(WeightError):
        evaluate(model, open_dataset(frame, target="y", weight="w", drop=["n"]))
    streamed = evaluate(model, open_dataset(frame, target="y", weight="n", drop=["w"]))
    whole = evaluate(model, frame[["x"]], frame["y"], sample_weight=frame["n"])
    for one, other in zip(streamed.of("overall"), whole.of("overall"), strict=True):
        assert_allclose((one.value, one.low, one.high), (other.value, other.low, other.high), rtol=1e-9)


def test_rows_of_weight_zero_change_nothing():
    y, p, w = answers()
    more = (np.concatenate([own, own[:50]]) for own in (y, p))
    found = evaluation_of(LabelledPredictions(y, posterior=p, sample_weight=w))
    with_zeros = evaluation_of(
        LabelledPredictions(next(more), posterior=next(more), sample_weight=np.append(w, np.zeros(50)))
    )
    for one, other in zip(found.estimates, with_zeros.estimates, strict=True):
        assert_allclose((one.value, one.low, one.high), (other.value, other.low, other.high), rtol=1e-8, atol=1e-10)


def test_intervals_of_weighted_rows_cover():
    covered = []
    for seed in range(200):
        y, p, w = answers(200, seed)
        found = evaluation_of(LabelledPredictions(y, posterior=p, sample_weight=w))
        covered.append(0.75 in found["accuracy"].interval())
    assert 0.90 <= np.mean(covered) <= 0.99


def test_comparisons_of_weighted_rows_are_as_sure_as_these_are_many():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y, w = (X[:, 0] + rng.logistic(size=300) > 0).astype(int), rng.lognormal(0, 1, 300)
    models = {"strong": LogisticRegression(alpha=1.0), "weak": LogisticRegression(alpha=0.01)}
    found, scaled = (compare(models, X, y, cv=5, sample_weight=factor * w) for factor in (1.0, 1000.5))
    for one, other in zip(found.differences, scaled.differences, strict=True):
        assert_allclose((one.low, one.high, one.p_value), (other.low, other.high, other.p_value), rtol=1e-6)
    one, other = (each.cross_validation.interval("weak", "accuracy", 0.95) for each in (found, scaled))
    assert_allclose(tuple(one), tuple(other), rtol=1e-6)


def visits(n=300, seed=2):
    """Two rows for each patient, of one class and with columns that tell the patient."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n // 2), 2)
    own = rng.normal(size=(n // 2, 2))[patient]
    y = np.where(rng.random(n // 2) < 0.4, "ill", "well")[patient]
    frame = pd.DataFrame(own + 0.01 * rng.normal(size=(n, 2)), columns=["a", "b"])
    return frame.assign(patient=patient + 1000, y=y)


def test_intervals_by_groups_are_no_narrower_without_a_note():
    y, p, _ = answers()
    rng = np.random.default_rng(3)
    opposite = np.empty(400, dtype=int)
    opposite[np.argsort((p > 0.5) == y, kind="stable")] = np.arange(400) % 100  # each group has right and wrong answers
    for groups, narrower in ((rng.permutation(400) // 2, None), (np.arange(400) % 4, None), (opposite, True)):
        found, rows = (
            evaluation_of(LabelledPredictions(y, posterior=p, groups=groups)),
            evaluation_of(LabelledPredictions(y, posterior=p)),
        )
        less = [
            one.metric
            for one, other in zip(found.estimates, rows.estimates, strict=True)
            if one.high - one.low < (1 - 1e-6) * (other.high - other.low)
        ]
        assert bool(less) == any("narrower" in note for note in found.notes)
        assert narrower is None or less


def test_the_two_rows_of_a_patient_are_worth_one():
    frame = visits()
    p = np.where(frame["y"] == "ill", 0.4, 0.7)
    found = evaluation_of(LabelledPredictions(frame["y"], posterior=p, groups=frame["patient"]))
    rows = evaluation_of(LabelledPredictions(frame["y"], posterior=p))
    assert width(found, "log_loss", "overall") > 1.3 * width(rows, "log_loss", "overall")


@pytest.mark.parametrize("n_folds", [2, 5])
def test_groups_are_held_out_together(n_folds):
    frame = visits()
    splits = repeated_folds(frame["y"].to_numpy(), n_folds, groups=frame["patient"].to_numpy())
    held = np.zeros(len(frame), dtype=int)
    for train, test in splits:
        assert not set(frame["patient"][train]) & set(frame["patient"][test])
        assert set(frame["y"][train]) == {"ill", "well"}
        held[test] += 1
    assert set(held) == {len(splits) // n_folds}


def test_every_class_is_learned_whichever_groups_are_held_out():
    codes, groups = np.array([0, 0, 1, 1, 2, 2, 0, 1]), np.array([0, 1, 2, 3, 4, 4, 5, 6])
    fold = grouped_folds(codes, groups, 3)
    assert_array_equal(fold[4:6], [-1, -1])
    for k in range(3):
        assert set(codes[fold != k]) == {0, 1, 2}
    with pytest.raises(InputError):
        grouped_folds(np.array([0, 1]), np.array([0, 0]), 2)


@pytest.mark.parametrize("model", [AutoClassifier(["ridge", "splines"]), LogisticRegressionCV()])
def test_tuning_by_groups_learns_nothing_from_noise(model):
    """What only tells patients apart predicts the class of held-out rows if the other row of the patient is known."""
    frame = visits()
    X, y = frame[["a", "b"]], frame["y"]
    by_rows, by_groups = model.fit(X, y), None
    loss = np.min(getattr(by_rows, "loss_", getattr(by_rows, "losses_", np.nan)))
    by_groups = type(model)(**model.get_params(deep=False)).fit(X, y, groups=frame["patient"])
    assert np.min(getattr(by_groups, "loss_", getattr(by_groups, "losses_", np.nan))) >= loss - 1e-3


def test_commands_take_weights_and_groups(tmp_path):
    frame = visits().assign(w=np.random.default_rng(4).lognormal(4, 1, 300))
    train, test, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.dsc"
    frame[:200].to_csv(train, index=False)
    frame[200:].to_csv(test, index=False)
    roles = ("--weights", "w", "--groups", "patient")
    assert run_command("fit", train, "-t", "y", "--model", "ridge", *roles, "-o", model).code == 0
    plain, weighted, grouped = (
        run_command("evaluate", model, test, *own, "--json").json for own in ((), roles[:2], roles)
    )
    assert plain["total_weight"] == 100
    assert weighted["total_weight"] == grouped["total_weight"] == pytest.approx(frame["w"][200:].sum())
    widths = [
        next(row["high"] - row["low"] for row in found["estimates"] if row["metric"] == "log_loss")
        for found in (plain, weighted, grouped)
    ]
    assert widths[0] < widths[1] < widths[2]
    again = run_command("compare", train, "-t", "y", *roles, "--models", "ridge,lda", "--folds", "3").out
    assert "--groups patient" in again or "fit" not in again
