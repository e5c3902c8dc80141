"""Which rows are held out, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from tests.helpers import normal_classes

from discriminant import GaussianNB, LinearDiscriminantAnalysis
from discriminant.errors import InputError, LabelError, ParameterError, WeightError
from discriminant.validation.cross_validation import cross_validate
from discriminant.validation.labelled_table import labelled_table
from discriminant.validation.splits import plan_rounds

LDA = LinearDiscriminantAnalysis


def rounds_of(y, cv, repeats=1, groups=None, stratify=True, random_state=0):
    return plan_rounds(labelled_table(np.zeros((len(y), 1)), y, groups=groups), cv, repeats, stratify, random_state)


@given(
    counts=st.lists(st.integers(5, 40), min_size=2, max_size=5),
    n_folds=st.integers(2, 5),
    seed=st.integers(0, 1000),
    stratify=st.booleans(),
)
def test_folds_hold_out_every_row_once_and_every_class_evenly(counts, n_folds, seed, stratify):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    (part,) = rounds_of(y, n_folds, stratify=stratify, random_state=seed)
    tests = [split.test for split in part.splits]
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(y)))
    assert np.ptp([len(test) for test in tests]) <= 1
    for split in part.splits:
        np.testing.assert_array_equal(np.union1d(split.train, split.test), np.arange(len(y)))
        assert len(split.train) == split.n_train == len(y) - len(split.test)
    if stratify:
        by_fold = np.array([np.bincount(y[test], minlength=len(counts)) for test in tests])
        assert np.ptp(by_fold, axis=0).max() <= 1


def test_folds_are_shuffled_by_the_seed_alone():
    y = np.repeat([0, 1], 40)
    first, second, other = (rounds_of(y, 4, random_state=seed)[0].fold for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    one, two = rounds_of(y, 4, repeats=2)
    assert not np.array_equal(one.fold, two.fold)


@pytest.mark.parametrize("stratify", [True, False])
def test_groups_are_held_out_together(stratify):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 25, 200).astype(str)
    y = rng.integers(0, 2, 200)
    (part,) = rounds_of(y, 5, groups=groups, stratify=stratify)
    for split in part.splits:
        assert not set(groups[split.test]) & set(groups[split.train])
    (hold_out,) = rounds_of(y, 0.3, groups=groups)
    (split,) = hold_out.splits
    assert not set(groups[split.test]) & set(groups[split.train])
    assert len(split.test) + len(split.train) == 200


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_share_is_held_out_of_each_class(share):
    y = np.repeat([0, 1, 2], [20, 40, 100])
    first, second = rounds_of(y, share, repeats=2)[0].splits
    for split in (first, second):
        np.testing.assert_array_equal(np.bincount(y[split.test]), np.rint(share * np.array([20, 40, 100])))
        np.testing.assert_array_equal(np.union1d(split.test, split.train), np.arange(160))
    assert not np.array_equal(first.test, second.test)


def test_given_splits_that_hold_out_every_row_once_are_one_round():
    y = np.repeat([0, 1], 30)
    splits = list(KFold(3, shuffle=True, random_state=0).split(y))
    (part,) = rounds_of(y, splits)
    for f, (_, test) in enumerate(splits):
        assert (part.fold[test] == f).all()
    masks = [(np.isin(np.arange(60), a), np.isin(np.arange(60), b)) for a, b in splits]
    np.testing.assert_array_equal(rounds_of(y, masks)[0].fold, part.fold)
    (partial,) = rounds_of(y, splits[:2])
    assert partial.fold is None
    (thinned,) = rounds_of(y, [(a[1:], b) for a, b in splits])
    assert thinned.fold is None


X, y = normal_classes(60)
NAMES = np.array(["oak", "ash", "elm"])[y]


def validate(**given):
    return cross_validate(**{"models": LDA(), "X": X, "y": NAMES, **given})


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"cv": 61}, ParameterError, "cv=61, but X has only 60 rows"),
        ({"cv": 1}, ParameterError, "cv must be an integer of at least 2, got 1"),
        ({"cv": True}, ParameterError, "cv must be a number of folds"),
        ({"cv": "ten"}, ParameterError, "got 'ten'"),
        ({"cv": 1.5}, ParameterError, "between 0 and 1, got 1.5"),
        ({"cv": 0.01}, LabelError, "20 rows.*0.01"),
        ({"cv": []}, ParameterError, "cv is empty"),
        ({"cv": [3]}, ParameterError, "Split 0 of cv must be a pair"),
        ({"cv": [([0, 1], [1, 2])]}, InputError, "Split 0 of cv has row 1 among both"),
        ({"cv": [([0, 1], [99])]}, InputError, "names row 99; rows are numbered 0 to 59"),
        ({"cv": [([0.5, 1.0], [2])]}, InputError, "must hold row numbers"),
        ({"cv": [([], [2])]}, InputError, "must hold row numbers"),
        ({"cv": StratifiedKFold(50)}, InputError, "cannot split these rows"),
        ({"repeats": 0}, ParameterError, "repeats must be an integer of at least 1"),
        ({"repeats": 2, "cv": KFold(3)}, ParameterError, "repeats=2"),
        ({"groups": np.arange(5)}, InputError, r"groups must have one entry for each of the 60 rows, got shape \(5,\)"),
        ({"groups": np.where(np.arange(60) == 7, np.nan, 1.0)}, InputError, "groups contains NaN: row 7"),
        ({"groups": np.arange(60) % 4, "cv": 10}, ParameterError, "cv=10, but there are only 4 groups"),
        ({"groups": np.array([*"abc"])[y], "cv": 3}, LabelError, "Class 'ash'"),
        ({"metrics": "f2"}, ParameterError, "metrics must be among log_loss, .*; got 'f2'"),
        ({"metrics": ()}, ParameterError, "metrics must be among"),
        ({"metrics": "cost"}, ParameterError, "needs costs"),
        ({"costs": np.ones((2, 2))}, ParameterError, r"costs has shape \(2, 2\)"),
        ({"costs": {"oak": {"ash": 1}}}, ParameterError, "costs"),
        ({"keep": "all"}, ParameterError, "keep must be one of None, 'predictions', 'posteriors', got 'all'"),
        ({"keep": "predictions", "cv": 0.3}, ParameterError, "hold out every row exactly once"),
        ({"models": LinearRegression()}, ParameterError, "'LinearRegression' is not a classifier"),
        ({"models": [KMeans()]}, ParameterError, "'KMeans' is not a classifier"),
        ({"models": LDA}, ParameterError, r"is a class, not a model: write LinearDiscriminantAnalysis\(\)"),
        ({"models": []}, ParameterError, "models is empty"),
        ({"models": "lda"}, ParameterError, "models must be a classifier"),
        ({"models": {"a": "lda"}}, ParameterError, "Model 'a' cannot be fitted"),
        ({"models": {1: LDA()}}, ParameterError, "Names of models must be text, got 1"),
        ({"models": [("a", LDA()), ("a", GaussianNB())]}, ParameterError, "2 models have the name 'a'"),
        ({"models": KNeighborsClassifier(), "sample_weight": np.ones(60)}, ParameterError, "KNeighborsClassifier"),
        ({"models": LDA(shrinkage=2.0)}, ParameterError, "shrinkage must be"),
        ({"y": NAMES[:-1]}, InputError, "X and y differ in length"),
        ({"y": np.full(60, "oak")}, LabelError, "only one class, 'oak'"),
        ({"sample_weight": -np.ones(60)}, WeightError, "Weights must not be negative"),
        ({"sample_weight": (NAMES != "elm").astype(float)}, WeightError, "All rows of class 'elm' have weight zero"),
        ({"n_jobs": 0}, ParameterError, "n_jobs must be"),
        ({"X": np.zeros((0, 3)), "y": []}, InputError, "0 sample"),
        ({"X": X[:, 0]}, InputError, "Expected 2D array"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given, error, words):
    with pytest.raises(error, match=words):
        validate(**given)


def test_a_class_with_fewer_rows_than_folds_is_named_with_its_count():
    few = np.array(["rare"] * 4 + ["common"] * 56)
    with pytest.raises(LabelError, match=r"'rare'.*4 rows.*10 folds"):
        validate(y=few, cv=10)
    assert validate(y=few).n_splits == 4
    assert validate(y=few, cv=10, stratify=False, models=GaussianNB()).n_splits == 10


@pytest.mark.parametrize("cv", [5, 0.3])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_found(cv, value):
    broken = X.copy()
    broken[17, 2] = value
    with pytest.raises(InputError, match="column 2, row 17"):
        validate(X=broken, cv=cv)


def test_what_was_not_measured_or_kept_is_not_there():
    result = validate()
    with pytest.raises(ParameterError, match="'qda'"):
        result.mean("qda")
    with pytest.raises(ParameterError, match="'auc'"):
        result.mean("LinearDiscriminantAnalysis", "auc")
    with pytest.raises(ParameterError, match="keep='predictions'"):
        result.predictions("LinearDiscriminantAnalysis")
    with pytest.raises(ParameterError, match="train_scores=True"):
        result.train_scores("LinearDiscriminantAnalysis")


def test_names_come_from_classes_and_are_numbered_where_they_repeat():
    result = validate(models=[LDA(), GaussianNB(), LDA(shrinkage=0.1)])
    assert result.models == ("LinearDiscriminantAnalysis 1", "GaussianNB", "LinearDiscriminantAnalysis 2")


def test_costs_by_name_are_those_in_class_order():
    classes = ["ash", "elm", "oak"]
    table = np.array([[0, 1, 5], [2, 0, 3], [4, 1, 0]])
    by_name = {true: dict(zip(classes, row, strict=True)) for true, row in zip(classes, table.tolist(), strict=True)}
    shuffled = {true: by_name[true] for true in ("oak", "ash", "elm")}
    first, second = validate(costs=table), validate(costs=shuffled)
    np.testing.assert_array_equal(first.scores(*first.models, "cost"), second.scores(*second.models, "cost"))
