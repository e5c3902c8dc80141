"""Prediction sets: definitions, agreement with MAPIE, coverage, and bad input."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discriminant import (
    AutoClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    OrdinalLogisticRegression,
    PredictionSets,
    SupportVectorClassifier,
    compare,
    cross_validate,
    figures,
)
from discriminant.errors import (
    DegenerateDataError,
    InputError,
    LabelError,
    NotReadyError,
    ParameterError,
    Setting,
    WeightError,
)
from discriminant.estimators.class_sets import CalibrationScores, ScoreOptions, is_contained

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "prediction_sets.json").read_text())
SCORES = ["lac", "aps", "raps"]


def rows(n, n_classes=3, seed=0, imbalance=1.0):
    """Rows of overlapping normal classes with means on a circle; shares fall by the factor ``imbalance``."""
    rng = np.random.default_rng(seed)
    shares = imbalance ** np.arange(n_classes)
    y = rng.choice(n_classes, n, p=shares / shares.sum())
    angle = 2 * np.pi * y / n_classes
    return 1.5 * np.column_stack((np.cos(angle), np.sin(angle))) + rng.normal(size=(n, 2)), y


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: f"{case['score']} {case['coverage']}")
def test_sets_agree_with_mapie(case):
    """MAPIE adds the most probable class to empty sets."""
    posterior, scores = np.array(REFERENCE["test"]), np.array(case["scores"])
    known = CalibrationScores.of(scores, np.ones(len(scores)))
    found = is_contained(
        known.below(ScoreOptions(case["score"]).scores(posterior) - 1e-12), known.total, case["coverage"]
    )
    empty = ~found.any(axis=1)
    found[empty] = posterior[empty] == posterior[empty].max(axis=1, keepdims=True)
    assert (found == np.array(case["sets"])).all()


def test_scores_are_their_definitions():
    posterior = np.array([[0.2, 0.5, 0.3]])
    assert ScoreOptions("lac").scores(posterior) == pytest.approx(np.array([[0.8, 0.5, 0.7]]))
    assert ScoreOptions("aps").scores(posterior) == pytest.approx(np.array([[1.0, 0.5, 0.8]]))
    assert ScoreOptions("raps", 0.1, 1).scores(posterior) == pytest.approx(np.array([[1.2, 0.5, 0.9]]))
    randomised = ScoreOptions("aps").scores(posterior, np.array([0.5]))
    assert randomised == pytest.approx(np.array([[0.9, 0.25, 0.65]]))


@pytest.mark.parametrize("score", SCORES)
def test_split_sets_are_classes_with_scores_up_to_the_quantile(score):
    X, y = rows(400)
    model = PredictionSets(LinearDiscriminantAnalysis(), score=score).fit(X, y)
    (fitted,), ((calibration,),) = model.estimators_, model.calibration_
    threshold = np.sort(calibration.values)[int(np.ceil(0.9 * (100 + 1))) - 1]
    expected = model._options.scores(fitted.predict_proba(X)) <= threshold
    assert (model.predict(X).contains == expected).all()
    assert len(calibration.values) == 100


@pytest.mark.parametrize("method", ["split", "cross", "prefit"])
@pytest.mark.parametrize("score", SCORES)
def test_coverage_is_near_the_nominal_one(method, score):
    X, y = rows(2_000, seed=1)
    estimator = LinearDiscriminantAnalysis()
    if method == "prefit":
        estimator.fit(X[:1_000], y[:1_000])
        X, y = X[1_000:], y[1_000:]
    found = PredictionSets(estimator, 0.8, score=score, method=method).fit(X, y).evaluate(*rows(20_000, seed=2))
    assert 0.76 < found["all"].coverage < (0.85 if score == "lac" else 0.95)
    assert found["all"].coverage_low < found["all"].coverage < found["all"].coverage_high


def test_randomised_sets_are_smaller_and_cover_exactly():
    X, y = rows(4_000, seed=1)
    whole, randomised = (
        PredictionSets(LinearDiscriminantAnalysis(), 0.8, randomized=own)
        .fit(X, y)
        .evaluate(*rows(20_000, seed=2))["all"]
        for own in (False, True)
    )
    assert randomised.mean_size < whole.mean_size
    assert randomised.coverage == pytest.approx(0.8, abs=0.03)


def test_each_class_is_covered_where_asked():
    X, y = rows(6_000, imbalance=0.3)
    marginal, by_class = (
        PredictionSets(LinearDiscriminantAnalysis(), 0.9, score="lac", by_class=own)
        .fit(X, y)
        .evaluate(*rows(20_000, 3, 2, 0.3))
        for own in (False, True)
    )
    assert marginal[2].coverage < 0.85
    assert all(by_class[k].coverage == pytest.approx(0.9, abs=0.04) for k in range(3))


def test_whole_weights_are_repeated_calibration_rows():
    X, y = rows(300)
    weight = np.arange(300) % 3
    fitted, repeated = LinearDiscriminantAnalysis().fit(*rows(300, seed=5)), np.repeat(np.arange(300), weight)
    weighted = PredictionSets(fitted, method="prefit").fit(X, y, sample_weight=weight)
    expected = PredictionSets(fitted, method="prefit").fit(X[repeated], y[repeated])
    new = rows(500, seed=3)[0]
    assert (weighted.predict(new).contains == expected.predict(new).contains).all()


def test_rows_of_a_group_are_not_divided():
    X, y = rows(300)
    groups = np.arange(300) // 10
    model = PredictionSets(LinearDiscriminantAnalysis(), 0.8)
    for method in ("split", "cross"):
        model.set_params(method=method)
        for train, held in model._splits(y, groups):
            assert not set(groups[train]) & set(groups[held])
    found = model.fit(X, y, groups=groups).evaluate(X, y, groups=groups)
    assert len(found.rows) == 1 + 3 + 30


def test_sets_with_one_class_are_answers():
    X, y = rows(600)
    model = PredictionSets(LinearDiscriminantAnalysis(), score="lac").fit(X, np.array(["a", "b", "c"])[y])
    new, truth = rows(500, seed=4)
    sets = model.predict(new)
    decided = sets.decide()
    one = sets.sizes == 1
    assert (decided[~one] == "abstain").all()
    assert decided[one].tolist() == [own[0] for own, single in zip(sets, one, strict=True) if single]
    found = model.evaluate(new, np.array(["a", "b", "c"])[truth])["all"]
    assert found.answered == pytest.approx(one.mean())
    assert found.error == pytest.approx((decided[one] != np.array(["a", "b", "c"])[truth][one]).mean())


def test_empty_sets_can_have_the_most_probable_class():
    X, y = rows(400)
    new = rows(2_000, seed=3)[0]
    model = PredictionSets(LinearDiscriminantAnalysis(), 0.5, score="lac").fit(X, y)
    full = PredictionSets(LinearDiscriminantAnalysis(), 0.5, score="lac", allow_empty=False).fit(X, y).predict(new)
    empty = model.predict(new).sizes == 0
    assert empty.any()
    assert (full.sizes >= 1).all()
    best = model.estimators_[0].predict(new)
    assert full.decide()[empty].tolist() == best[empty].tolist()


def test_frames_and_scikit_learn_classifiers():
    from sklearn.linear_model import LogisticRegression as Theirs

    X, y = rows(300)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = PredictionSets(Theirs(), method="cross").fit(frame, y)
    assert len(model.estimators_) == 5
    assert len(model.predict(frame)) == 300
    assert model.predict(frame).to_frame().columns.tolist() == ["set", "size"]
    assert "nominal coverage 90 %" in str(model.evaluate(frame, y))


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"coverage": 1.0}, ParameterError),
        ({"coverage": 0}, ParameterError),
        ({"score": "other"}, ParameterError),
        ({"method": "jackknife"}, ParameterError),
        ({"calibration_share": 1.0}, ParameterError),
        ({"cv": 1}, ParameterError),
        ({"coverage": 0.999}, DegenerateDataError),
        ({"coverage": 0.95, "by_class": True}, DegenerateDataError),
        ({"estimator": SupportVectorClassifier()}, ParameterError),
    ],
)
def test_bad_parameters(parameters, error):
    X, y = rows(100)
    with pytest.raises(error):
        PredictionSets(LogisticRegression(alpha=0.1)).set_params(**parameters).fit(X, y)


def test_bad_rows():
    X, y = rows(100)
    model = PredictionSets(LinearDiscriminantAnalysis(), 0.8)
    with pytest.raises(InputError):
        model.fit(X, y, groups=np.arange(7))
    with pytest.raises(DegenerateDataError):
        model.set_params(method="cross").fit(X[:3], y[:3])
    fitted = LinearDiscriminantAnalysis().fit(X, y)
    with pytest.raises(LabelError):
        PredictionSets(fitted, method="prefit").fit(X, y + 5)
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(WeightError):
        PredictionSets(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(100))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 5, 20])
@pytest.mark.parametrize("n", [100, 1_000, 10_000])
@pytest.mark.parametrize("score", SCORES)
def test_simulated_coverage(n, n_classes, score):
    """The mean coverage of randomised sets (lac: as they are) over samples with imbalanced classes, on 2,000 new rows.

    With n rows it lies between the nominal coverage and that plus 1 / (n / 4 + 1); tolerance: 4 standard errors.
    """
    found = []
    for seed in range(100 if n < 10_000 else 10):
        X, y = rows(n, n_classes, seed, imbalance=0.8)
        model = PredictionSets(
            LinearDiscriminantAnalysis(shrinkage=0.1), 0.8, score=score, randomized=True, random_state=seed
        )
        new, truth = rows(2_000, n_classes, 10_000 + seed, imbalance=0.8)
        sets = model.fit(X, y).predict(new)
        contains = np.zeros((len(new), n_classes), dtype=bool)
        contains[:, sets.classes] = sets.contains  # classes without rows are in no set
        found.append(contains[np.arange(len(new)), truth].mean())
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert 0.8 - 4 * error <= np.mean(found) <= 0.8 + 1 / (n / 4 + 1) + 4 * error


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["split", "cross"])
def test_ordinal_models_get_the_order_of_the_categories(method):
    X, y = rows(200)
    order = ["low", "medium", "high"]
    labels = pd.Series(pd.Categorical.from_codes(y, order, ordered=True))
    model = PredictionSets(OrdinalLogisticRegression(alpha=0.1), method=method).fit(X, labels)
    assert all(one.classes_order_.tolist() == order for one in model.estimators_)


def test_rows_and_labels_of_different_lengths_are_refused():
    X, y = rows(200)
    model = PredictionSets(LogisticRegression())
    with pytest.raises(InputError, match="100 rows"):
        model.fit(X[:100], y)
    with pytest.raises(InputError):
        model.fit(X, y).evaluate(X, y[:5])


def test_random_state_is_a_number():
    X, y = rows(200)
    with pytest.raises(ParameterError, match="random_state"):
        PredictionSets(LogisticRegression(), randomized=True, random_state=None).fit(X, y)


def test_too_few_rows_of_all_folds_advise_a_lower_coverage_only():
    X, y = rows(60)
    with pytest.raises(DegenerateDataError) as refused:
        PredictionSets(LogisticRegression(), 0.999, method="cross").fit(X, y)
    assert [part.parameter for part in refused.value.parts if isinstance(part, Setting)] == ["coverage"]


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("score", SCORES)
def test_the_risk_coverage_curve_is_that_of_sets_with_one_class(score, method, by_class):
    X, y = rows(600)
    new, truth = rows(1_000, seed=4)
    model = PredictionSets(
        LinearDiscriminantAnalysis(), 0.9, score=score, method=method, by_class=by_class, allow_empty=False
    ).fit(X, y)
    curve = model.evaluate(new, truth).risk_coverage
    assert curve.coverage[-1] == 1
    for coverage in (0.3, 0.5, 0.7, 0.9, 0.95):
        sets = model.set_params(coverage=coverage).predict(new)
        one = sets.sizes == 1
        accepted = np.count_nonzero(curve.thresholds >= coverage - 1e-9)
        assert (curve.coverage[accepted - 1] if accepted else 0) == pytest.approx(one.mean(), abs=1e-9)
        if accepted:
            error = (sets.contains[one].argmax(axis=1) != truth[one]).mean()
            assert curve.risk[accepted - 1] == pytest.approx(error, abs=1e-9)
    figure = figures.risk_coverage(curve)
    assert figure.data[0].x[-1] == 1
    assert "confidence" in figure.data[0].hovertemplate


def test_risk_coverage_of_the_smallest_sets_is_that_of_a_monotone_function_of_the_margin():
    """With two classes the confidence is a function of the largest probability: the curve is that of rejection."""
    X, y = rows(800, 2)
    new, truth = rows(1_000, 2, seed=4)
    fitted = LogisticRegression().fit(X[:400], y[:400])
    found = PredictionSets(fitted, score="lac", method="prefit").fit(X[400:], y[400:]).evaluate(new, truth)
    from discriminant import risk_coverage

    expected = risk_coverage(truth, fitted.predict_proba(new))
    for share in (0.5, 0.8, 1.0):
        assert found.risk_coverage.risk_at(share) == pytest.approx(expected.risk_at(share), abs=0.02)
    assert "sets with one class: risk at coverage" in str(found)
    assert found.to_dict()["risk_coverage"]["area"] == pytest.approx(found.risk_coverage.area)


def test_out_of_fold_probabilities_calibrate_without_another_fit():
    X, y = rows(600)
    new, truth = rows(20_000, seed=4)
    kept = cross_validate({"lda": LinearDiscriminantAnalysis()}, X, y, keep="posteriors")
    fitted = LinearDiscriminantAnalysis().fit(X, y)
    model = PredictionSets(fitted, 0.8, method="prefit", score="lac").fit(X, y, posterior=kept.posteriors("lda"))
    assert model.estimators_ == [fitted]
    scores = 1 - kept.posteriors("lda")[np.arange(600), y]
    assert model.calibration_[0][0].values == pytest.approx(np.sort(scores))
    assert model.evaluate(new, truth)["all"].coverage == pytest.approx(0.8, abs=0.03)
    cross = PredictionSets(LinearDiscriminantAnalysis(), 0.8, method="cross", score="lac").fit(X, y).predict(new)
    assert (model.predict(new).contains == cross.contains).mean() > 0.95


def test_repeated_out_of_fold_probabilities_share_the_weight_of_a_row():
    X, y = rows(300)
    fitted = LinearDiscriminantAnalysis().fit(X, y)
    found = compare({"lda": LinearDiscriminantAnalysis()}, X, y).cross_validation.posteriors("lda")
    one = PredictionSets(fitted, method="prefit").fit(X, y, posterior=found)
    two = PredictionSets(fitted, method="prefit").fit(X, y, posterior=np.stack((found, found)))
    assert two.calibration_[0][0].total == pytest.approx(one.calibration_[0][0].total)
    assert (one.predict(X).contains == two.predict(X).contains).all()


def test_wrong_out_of_fold_probabilities():
    X, y = rows(300)
    fitted = LinearDiscriminantAnalysis().fit(X, y)
    found = fitted.predict_proba(X)
    for posterior in (found[:10], found[:, :2], 2 * found):
        with pytest.raises(InputError):
            PredictionSets(fitted, method="prefit").fit(X, y, posterior=posterior)
    with pytest.raises(ParameterError):
        PredictionSets(fitted, method="split").fit(X, y, posterior=found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["split", "cross"])
def test_a_class_that_a_fold_misses_leaves_the_order(method):
    X, y = rows(200)
    labels = np.array(["low", "medium", "high"])[np.minimum(y, 1)]
    labels[7] = "high"  # a single row, which is held out once
    order = ["low", "medium", "high"]
    model = PredictionSets(OrdinalLogisticRegression(alpha=0.1, classes_order=order), 0.8, method=method)
    orders = set()
    for seed in range(5):
        fits = model.set_params(random_state=seed).fit(X, labels).estimators_
        orders |= {tuple(one.classes_order_.tolist()) for one in fits}
    assert tuple(order) in orders
    assert ("low", "medium") in orders
    with pytest.raises(LabelError):
        model.set_params(estimator__classes_order=[*order, "other"]).fit(X, labels)
    with pytest.raises(LabelError):
        model.set_params(estimator__classes_order=order[:2]).fit(X, labels)


def test_labels_of_classes_and_groups_may_be_equal():
    X, y = rows(400)
    labels, groups = np.array(["all", "b", "c"])[y], np.array(["b", "north"])[np.arange(400) % 2]
    model = PredictionSets(LinearDiscriminantAnalysis(), 0.8).fit(X, labels)
    found = model.evaluate(X, labels, groups=groups)
    assert found["all"].n_rows == 400
    assert found["class", "all"].n_rows == np.count_nonzero(y == 0)
    assert found["class", "b"].n_rows == np.count_nonzero(y == 1)
    assert found["group", "b"].n_rows == found["north"].n_rows == 200
    for label in ("b", "other"):
        with pytest.raises(LabelError):
            found[label]
    assert found.to_frame()["kind"].tolist() == ["all", *["class"] * 3, *["group"] * 2]


def test_out_of_fold_probabilities_of_a_pool():
    X, y = rows(400)
    model = AutoClassifier(["ridge", "rda"]).fit(X, y)
    kept = model.out_of_fold_posteriors()
    assert kept.shape == (5, 400, 3)
    assert kept.sum(axis=2) == pytest.approx(1)
    losses = -np.log(kept[:, np.arange(400), y])
    assert losses.mean() == pytest.approx(model.loss_)
    found = PredictionSets(model, 0.8, method="prefit", score="lac").fit(X, y, posterior=kept)
    assert found.calibration_[0][0].total == pytest.approx(400)
    kept[:, 7] = np.nan
    assert found.fit(X, y, posterior=kept).calibration_[0][0].total == pytest.approx(399)
    with pytest.raises(NotReadyError):
        pickle.loads(pickle.dumps(model)).out_of_fold_posteriors()


def test_sets_of_a_pool_cover_on_average():
    """Settings and weights were chosen by the same probabilities. Tolerance: 3 standard errors of 6 samples."""
    found = []
    for seed in range(6):
        X, y = rows(400, seed=100 + seed)
        model = AutoClassifier(["ridge", "rda"]).fit(X, y)
        sets = PredictionSets(model, 0.8, method="prefit", score="lac")
        sets.fit(X, y, posterior=model.out_of_fold_posteriors())
        found.append(sets.evaluate(*rows(5_000, seed=500 + seed))["all"].coverage)
    assert np.mean(found) == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / 2_400))
