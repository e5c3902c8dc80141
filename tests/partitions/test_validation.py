"""Cross-validation and comparison by passes: what the same folds say of rows in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discriminant import (
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
    compare,
    cross_validate,
    open_dataset,
)
from discriminant.data import fold_of_rows
from discriminant.errors import InputError, ParameterError

NAMES = list("abcd")
MODELS = {
    "lda": LinearDiscriminantAnalysis(),
    "qda": QuadraticDiscriminantAnalysis(),
    "least squares": LeastSquaresClassifier(),
    "logistic": LogisticRegression(alpha=0.01, tol=1e-16),
    "svm": SupportVectorClassifier(C=0.1),
    "naive bayes": NaiveBayes(),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_400, len(NAMES)))
    y = np.array(["low", "high", "middle"])[np.argmax(X[:, :3] + rng.gumbel(size=(len(X), 3)), axis=1)]
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, w=rng.uniform(0.5, 2, len(y)))
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=500)
    return frame, path


def same_folds(n_rows, n_folds):
    fold = fold_of_rows(0, n_rows, n_folds)
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(n_folds)]


@pytest.mark.parametrize("weight", [None, "w"])
def test_folds_by_number_say_what_they_say_of_rows_in_memory(weight, rows):
    frame, path = rows
    dataset = open_dataset(path, target="y", weight=weight, drop=[] if weight else ["w"])
    found = cross_validate(MODELS, dataset, cv=4, keep="posteriors")
    weights = frame["w"] if weight else None
    expected = cross_validate(
        MODELS, frame[NAMES], frame["y"], cv=same_folds(len(frame), 4), sample_weight=weights, keep="posteriors"
    )
    assert_allclose(found.values, expected.values, rtol=1e-9)
    assert_allclose(found.counts, expected.counts, rtol=1e-9)
    for name in MODELS:
        assert_array_equal(found.out_of_fold[name].codes, expected.out_of_fold[name].codes)


class Counting:
    """Threads that count what is asked of the rows."""

    def __init__(self):
        self.tasks = []

    def in_order(self, task, parts, n_jobs=None):
        self.tasks.append(type(task).__name__)
        return map(task, parts)


def test_moment_models_of_all_folds_take_one_pass(rows):
    counting = Counting()
    dataset = open_dataset(rows[1], target="y", drop=["w"], executor=counting)
    cross_validate({name: MODELS[name] for name in ("lda", "qda", "least squares")}, dataset, cv=5)
    assert counting.tasks == ["Surveying", "ReadingCodes", "Reduction", "_Asking"]


def test_models_are_compared_by_passes(rows):
    frame, path = rows
    dataset = open_dataset(path, target="y", drop=["w"])
    chosen = {name: MODELS[name] for name in ("lda", "logistic")}
    found = compare(chosen, dataset, cv=4)
    expected = compare(chosen, frame[NAMES], frame["y"], cv=same_folds(len(frame), 4))
    assert found.ranking == expected.ranking
    for mine, theirs in zip(found.differences, expected.differences, strict=True):
        assert mine.difference == pytest.approx(theirs.difference, rel=1e-9)
    assert set(compare(None, dataset, cv=2).ranking) == {"logistic", "lda", "qda", "gaussian-nb", "baseline"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"cv": 0.2}, ParameterError),
        ({"repeats": 2}, ParameterError),
        ({"groups": [1]}, ParameterError),
        ({"y": [1]}, InputError),
    ],
)
def test_what_needs_rows_at_hand_is_refused(options, error, rows):
    with pytest.raises(error):
        cross_validate(MODELS["lda"], open_dataset(rows[1], target="y", drop=["w"]), **options)


def test_answers_that_would_not_fit_are_refused_before_a_fit(rows, monkeypatch):
    monkeypatch.setattr("discriminant.validation.passes._MAX_PREDICTION_BYTES", 1_000)
    monkeypatch.setattr(LinearDiscriminantAnalysis, "fit", lambda *_: pytest.fail("fitted"))
    with pytest.raises(InputError, match="Compare fewer models"):
        cross_validate(MODELS["lda"], open_dataset(rows[1], target="y", drop=["w"]))
