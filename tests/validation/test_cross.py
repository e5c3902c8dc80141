"""Cross-validation against plain fits to each training part, and the laws it keeps."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.helpers import MODELS, data_for, make_model, normal_classes

from discriminant import (
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from discriminant.decision import Decision
from discriminant.errors import DegenerateDataError, LabelError
from discriminant.estimators import moment_classifier
from discriminant.estimators.decision import DecisionClassifier
from discriminant.estimators.moment_classifier import collected
from discriminant.evaluation.confusion import ConfusionMatrix
from discriminant.validation import fold_fits
from discriminant.validation.cross_validation import cross_validate
from discriminant.validation.fold_fits import read_from_moments

MOMENTS = {
    "lda": LinearDiscriminantAnalysis(),
    "qda": QuadraticDiscriminantAnalysis(),
    "nb": GaussianNB(),
    "ls": LeastSquaresClassifier(),
}


def stratified(y, n_folds=5, seed=1):
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def plain_fits(model, X, y, splits, weight=None):
    """Predictions and posteriors of each split's test rows by a model fitted to its training rows."""
    for train, test in splits:
        extra = {} if weight is None else {"sample_weight": weight[train]}
        fitted = clone(model).fit(X[train], y[train], **extra)
        yield fitted.predict(X[test]), fitted.predict_proba(X[test]) if hasattr(fitted, "predict_proba") else None


@pytest.mark.parametrize("name", list(MODELS))
def test_equals_plain_fits_to_each_training_part(name):
    X, y = data_for(name, n=160)
    model, splits = make_model(name), stratified(y)
    kind = "posteriors" if hasattr(model, "predict_proba") else "predictions"
    result = cross_validate({"m": model}, X, y, splits, keep=kind)
    for (_, test), (predicted, posterior) in zip(splits, plain_fits(model, X, y, splits), strict=True):
        np.testing.assert_array_equal(result.predictions("m")[test], predicted)
        if posterior is not None:
            np.testing.assert_allclose(result.posteriors("m")[test], posterior, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["lda", "qda-shrunk", "gaussian-nb", "least-squares-ridge"])
def test_equals_plain_fits_where_columns_outnumber_the_training_rows(name):
    X, y = data_for(name, n=48, p=44)
    model, splits = make_model(name), stratified(y, 3)
    result = cross_validate({"m": model}, X, y, splits, keep="predictions")
    for (_, test), (predicted, _) in zip(splits, plain_fits(model, X, y, splits), strict=True):
        np.testing.assert_array_equal(result.predictions("m")[test], predicted)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(alpha=0.1),
        NaiveBayes(),
        RidgeClassifier(),
        make_pipeline(StandardScaler(), SklearnLogistic()),
        DecisionTreeClassifier(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_are_fitted_part_by_part(model):
    X, y = normal_classes(150)
    splits = stratified(y)
    result = cross_validate(model, X, y, splits, keep="predictions")
    (name,) = result.models
    for number, ((_, test), (predicted, posterior)) in enumerate(
        zip(splits, plain_fits(model, X, y, splits), strict=True)
    ):
        np.testing.assert_array_equal(result.predictions(name)[test], predicted)
        assert result.scores(name)[number] == np.mean(predicted == y[test])
        if posterior is not None:
            np.testing.assert_allclose(result.scores(name, "log_loss")[number], log_loss(y[test], posterior))


def test_which_models_are_read_from_moments():
    assert all(read_from_moments(model) for model in MOMENTS.values())
    assert read_from_moments(FisherDiscriminant(threshold="bayes"))
    for model in (
        FisherDiscriminant(threshold="cv"),
        LinearDiscriminantAnalysis(shrinkage="cv"),
        QuadraticDiscriminantAnalysis(shrinkage="cv"),
        NaiveBayes(),
        LogisticRegression(),
        RidgeClassifier(),
    ):
        assert not read_from_moments(model)


def test_moment_models_of_a_partition_share_one_pass(monkeypatch):
    passes = []
    monkeypatch.setattr(moment_classifier, "collected", lambda *given: passes.append(given) or collected(*given))
    X, y = normal_classes(120)
    cross_validate(MOMENTS, X, y, cv=5)
    assert len(passes) == 1
    cross_validate(MOMENTS, X, y, cv=5, repeats=3)
    assert len(passes) == 4


def test_moments_too_large_to_keep_for_all_folds_are_collected_part_by_part(monkeypatch):
    X, y = normal_classes(150)
    whole = cross_validate(MOMENTS, X, y, keep="predictions")
    monkeypatch.setattr(fold_fits, "MAX_FOLD_MOMENT_NUMBERS", 10)
    parts = cross_validate(MOMENTS, X, y, keep="predictions")
    for name in MOMENTS:
        np.testing.assert_array_equal(whole.predictions(name), parts.predictions(name))
    np.testing.assert_allclose(whole.values, parts.values, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_measures_agree_with_scikit_learn(n_classes, weighted):
    X, y = normal_classes(200, K=n_classes)
    weight = np.random.default_rng(5).integers(1, 4, len(y)).astype(float) if weighted else None
    splits, costs = stratified(y), np.arange(n_classes**2, dtype=float).reshape(n_classes, n_classes)
    metrics = ["accuracy", "error_rate", "log_loss", "brier", "auc", "cost"]
    result = cross_validate(MOMENTS, X, y, splits, costs=costs, metrics=metrics, sample_weight=weight)
    for name, model in MOMENTS.items():
        for number, (predicted, posterior) in enumerate(plain_fits(model, X, y, splits, weight)):
            if posterior is not None:
                predicted = (posterior @ costs).argmin(axis=1)
            truth = y[splits[number][1]]
            own = None if weight is None else weight[splits[number][1]]
            found = {metric: result.scores(name, metric)[number] for metric in metrics}
            np.testing.assert_allclose(found["accuracy"], np.average(predicted == truth, weights=own), rtol=1e-12)
            np.testing.assert_allclose(found["error_rate"], 1 - found["accuracy"], atol=1e-12)
            np.testing.assert_allclose(found["cost"], np.average(costs[truth, predicted], weights=own), rtol=1e-12)
            if posterior is None:
                assert np.isnan(found["log_loss"])
                assert np.isnan(found["brier"])
                continue
            np.testing.assert_allclose(found["log_loss"], log_loss(truth, posterior, sample_weight=own), rtol=1e-9)
            given = posterior[:, 1] if n_classes == 2 else posterior
            np.testing.assert_allclose(
                found["brier"], brier_score_loss(truth, given, sample_weight=own), rtol=1e-9, atol=1e-14
            )
            areas = [roc_auc_score(truth == k, posterior[:, k], sample_weight=own) for k in range(n_classes)]
            np.testing.assert_allclose(found["auc"], np.mean(areas), rtol=1e-12)


def test_auc_of_models_without_posteriors_comes_from_their_scores():
    X, y = normal_classes(200, K=2)
    splits = stratified(y)
    result = cross_validate([LeastSquaresClassifier(), RidgeClassifier()], X, y, splits, metrics="auc")
    for name, model in zip(result.models, (LeastSquaresClassifier(), RidgeClassifier()), strict=True):
        for number, (train, test) in enumerate(splits):
            scores = clone(model).fit(X[train], y[train]).decision_function(X[test])
            np.testing.assert_allclose(result.scores(name, "auc")[number], roc_auc_score(y[test], scores), rtol=1e-12)


@given(seed=st.integers(0, 10_000))
def test_weights_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = normal_classes(90, seed=seed)
    weight = rng.integers(1, 4, len(y))
    fold = np.empty(len(y), dtype=int)
    for f, (_, test) in enumerate(stratified(y, 3, seed)):
        fold[test] = f
    rows = np.repeat(np.arange(len(y)), weight)
    models = {**MOMENTS, "logistic": LogisticRegression(alpha=0.1)}
    metrics = ["accuracy", "log_loss", "brier", "auc"]
    given_folds = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    repeated_folds = [(np.flatnonzero(fold[rows] != f), np.flatnonzero(fold[rows] == f)) for f in range(3)]
    weighted = cross_validate(models, X, y, given_folds, sample_weight=weight, metrics=metrics, train_scores=True)
    repeated = cross_validate(models, X[rows], y[rows], repeated_folds, metrics=metrics, train_scores=True)
    for found, expected in ((weighted.values, repeated.values), (weighted.train_values, repeated.train_values)):
        np.testing.assert_allclose(found[: len(MOMENTS)], expected[: len(MOMENTS)], rtol=1e-9)
        np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-6)  # as close as its solver comes
    for metric in metrics:
        one, other = weighted.estimate("lda", metric), repeated.estimate("lda", metric)
        np.testing.assert_allclose((one.value, one.low, one.high), (other.value, other.low, other.high), rtol=1e-9)
        pairs = [found.difference("lda", "logistic", metric) for found in (weighted, repeated)]
        np.testing.assert_allclose(*(list(vars(pair).values()) for pair in pairs), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(weighted.counts, repeated.counts)
    assert weighted.ratio == pytest.approx(repeated.ratio, rel=1e-12)


def test_the_order_of_models_and_the_number_of_threads_do_not_matter():
    X, y = normal_classes(150)
    models = {**MOMENTS, "tree": DecisionTreeClassifier(random_state=0)}
    first = cross_validate(models, X, y, n_jobs=1)
    second = cross_validate(dict(reversed(models.items())), X, y, n_jobs=2)
    for name in models:
        np.testing.assert_array_equal(first.values[first.models.index(name)], second.values[second.models.index(name)])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, sp.csr_matrix, sp.coo_matrix, np.ndarray.tolist])
def test_any_table_gives_the_same_scores(kind):
    X, y = normal_classes(120)
    models = {**MOMENTS, "ridge": RidgeClassifier()}
    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    table = kind(columns) if kind in (pd.DataFrame, pl.DataFrame) else kind(X)
    np.testing.assert_allclose(
        cross_validate(models, table, y, metrics="accuracy").values,
        cross_validate(models, X, y, metrics="accuracy").values,
    )


def test_tables_with_text_and_lists_of_texts_are_for_models_that_read_them():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    table = pd.DataFrame({"level": np.where(rng.random(60) < 0.8, y, "c"), "x": rng.normal(size=60)})
    assert cross_validate(NaiveBayes(), table, y, cv=3).mean("NaiveBayes") > 0.8
    texts = [f"{label} word{i % 7}" + (" spam" if label == "b" else " ham") for i, label in enumerate(y)]
    pipeline = make_pipeline(CountVectorizer(), SklearnLogistic())
    assert cross_validate(pipeline, texts, y, cv=3).mean("Pipeline") == 1.0


def test_training_scores_are_those_of_the_training_rows():
    X, y = normal_classes(150)
    splits = stratified(y)
    models = {**MOMENTS, "tree": DecisionTreeClassifier(max_depth=3, random_state=0)}
    result = cross_validate(models, X, y, splits, train_scores=True)
    for name, model in models.items():
        expected = [clone(model).fit(X[train], y[train]).score(X[train], y[train]) for train, _ in splits]
        np.testing.assert_allclose(result.train_scores(name), expected, rtol=1e-12)


def test_notes_on_overfitting_and_underfitting():
    rng = np.random.default_rng(0)
    X, y = normal_classes(300)
    noise = rng.normal(size=(300, 4))
    models = {"tree": DecisionTreeClassifier(random_state=0), "lda": LinearDiscriminantAnalysis()}
    sound = cross_validate(models, X, y, train_scores=True)
    assert [note.split(":")[0] for note in sound.notes] == ["tree overfits"]
    assert sound.notes[0] in str(sound)
    flat = cross_validate({"lda": LinearDiscriminantAnalysis(shrinkage=0.5)}, noise, y, train_scores=True)
    assert [note.split(":")[0] for note in flat.notes] == ["lda underfits"]
    assert cross_validate(models, X, y).notes == []


def test_one_split_has_wilsons_interval():
    X, y = normal_classes(150)
    result = cross_validate(MOMENTS, X, y, cv=0.2, train_scores=True)
    assert result.n_splits == 1
    n = result.counts[0].sum()
    share = result.mean("lda")
    expected = stats.binomtest(round(share * n), round(n)).proportion_ci(method="wilson")
    np.testing.assert_allclose(list(result.interval("lda")), [expected.low, expected.high], rtol=1e-9)


def test_confusion_is_that_of_the_out_of_fold_predictions():
    X, codes = normal_classes(150)
    y = np.array(["oak", "ash", "elm"])[codes]
    result = cross_validate(MOMENTS, X, y, keep="predictions")
    expected = ConfusionMatrix.of(y, result.predictions("qda"))
    np.testing.assert_array_equal(result.confusion("qda").counts, expected.counts)
    assert result.confusion("qda").accuracy == pytest.approx(np.mean(result.predictions("qda") == y))


def test_repeats_keep_one_row_of_answers_for_each():
    X, y = normal_classes(100)
    result = cross_validate(MOMENTS, X, y, cv=4, repeats=2, keep="posteriors", random_state=3)
    assert result.predictions("lda").shape == (2, 100)
    assert result.posteriors("lda").shape == (2, 100, 3)
    assert not np.array_equal(result.posteriors("lda")[0], result.posteriors("lda")[1])
    np.testing.assert_array_equal(result.posteriors("lda").argmax(axis=2), result.predictions("lda"))


def test_a_repeated_splitter_is_recognised_as_rounds():
    X, y = normal_classes(100)
    splitter = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
    result = cross_validate(MOMENTS, X, y, splitter, keep="predictions")
    assert result.predictions("lda").shape == (2, 100)
    for number, (train, test) in enumerate(splitter.split(X, y)):
        predicted = LinearDiscriminantAnalysis().fit(X[train], y[train]).predict(X[test])
        np.testing.assert_array_equal(result.predictions("lda")[number // 4, test], predicted)


@pytest.mark.parametrize("splitter", [ShuffleSplit(4, test_size=0.3, random_state=0), TimeSeriesSplit(3)])
def test_splits_that_overlap_or_grow_are_scored_as_they_are(splitter):
    X, y = normal_classes(150)
    result = cross_validate(MOMENTS, X, y, splitter)
    for name, model in MOMENTS.items():
        expected = [clone(model).fit(X[a], y[a]).score(X[b], y[b]) for a, b in splitter.split(X, y)]
        np.testing.assert_allclose(result.scores(name), expected, rtol=1e-12)


def test_a_class_that_a_training_part_lacks_is_never_predicted_there():
    X, y = normal_classes(90)
    absent = np.flatnonzero(y == 2)
    others = np.flatnonzero(y != 2)
    splits = [
        (others[::2], np.concatenate((others[1::2], absent))),
        (np.concatenate((others[1::2], absent)), others[::2]),
    ]
    models = {**MOMENTS, "ridge": RidgeClassifier(), "logistic": SklearnLogistic()}
    result = cross_validate(models, X, y, splits, keep="predictions", metrics=("accuracy", "log_loss", "auc"))
    for name, model in models.items():
        for train, test in splits:
            predicted = clone(model).fit(X[train], y[train]).predict(X[test])
            np.testing.assert_array_equal(result.predictions(name)[test], predicted)
        assert np.isfinite(result.scores(name, "auc")[0])
        assert np.isnan(result.scores(name, "auc")[1])


def test_baseline_is_the_most_frequent_training_class():
    X, y = normal_classes(120)
    splits = stratified(y)
    result = cross_validate({"dummy": DummyClassifier(strategy="prior")}, X, y, splits)
    np.testing.assert_allclose(result.baseline, result.scores("dummy"), rtol=1e-12)


def test_prints_and_exports():
    X, y = normal_classes(120)
    result = cross_validate(MOMENTS, X, y, cv=4, train_scores=True)
    text = str(result)
    assert all(name in text for name in (*MOMENTS, "log_loss", "not available", "rows held out in 4 splits"))
    exported = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert exported["models"]["lda"]["accuracy"]["mean"] == pytest.approx(result.mean("lda"))
    assert exported["models"]["ls"]["log_loss"]["mean"] is None
    frame = result.to_frame()
    assert len(frame) == 16
    by_model = frame.groupby("model")["accuracy"].mean()
    assert by_model["qda"] == pytest.approx(result.mean("qda"))
    assert {"split", "train_accuracy", "brier"} <= set(frame.columns)


def test_the_error_of_a_fit_names_its_model_and_split():
    X, y = normal_classes(60, p=30)
    with pytest.raises(DegenerateDataError) as caught:
        cross_validate({"lda": LinearDiscriminantAnalysis(), "quadratic": QuadraticDiscriminantAnalysis()}, X, y, 3)
    assert "(model 'quadratic', split 0)" in caught.value.__notes__


class Shouting(ClassifierMixin, BaseEstimator):
    """A classifier that answers with something that is no class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), "what?")


def test_answers_that_are_no_class_are_refused():
    X, y = normal_classes(60, K=2)
    for labels in (y, np.array(["a", "b"])[y]):
        with pytest.raises(LabelError, match=r"'loud'.*'what"):
            cross_validate({"loud": Shouting()}, X, labels)


def test_progress_is_shown_only_when_asked_for(capsys):
    X, y = normal_classes(60)
    cross_validate(MOMENTS, X, y, cv=3)
    assert capsys.readouterr() == ("", "")
    cross_validate(MOMENTS, X, y, cv=3, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "validation" in err


def test_abstaining_among_classes_that_are_numbers_is_refused_by_name():
    X, y = normal_classes(60, K=2)
    careful = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(reject_cost=0.01))
    with pytest.raises(LabelError, match="'abstain'"):
        cross_validate(careful, X, y)
