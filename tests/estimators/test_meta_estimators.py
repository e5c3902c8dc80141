"""Many classes from binary classifiers: against scikit-learn, against loops, and in everything an estimator must do."""

import pickle
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, RidgeClassifier, SGDClassifier
from sklearn.linear_model import Perceptron as LinearPerceptron
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from discriminant import (
    DecisionClassifier,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    SupportVectorClassifier,
)
from discriminant.errors import (
    ColumnError,
    DegenerateDataError,
    InputError,
    LabelError,
    NotReadyError,
    ParameterError,
    WeightError,
)
from discriminant.estimators.multiclass import OneVsOne, OneVsRest, OutputCode
from discriminant.multiclass import Codebook, exhaustive_code
from discriminant.rules import LinearRule
from helpers import fitted_state, normal_classes

ridge = LogisticRegression(alpha=0.05)

#: Every scheme with every way to read it.
SCHEMES = {
    "rest": lambda binary, **kw: OneVsRest(binary, **kw),
    "rest-vote": lambda binary, **kw: OneVsRest(binary, vote=True, **kw),
    "one": lambda binary, **kw: OneVsOne(binary, **kw),
    "one-confidence": lambda binary, **kw: OneVsOne(binary, decision="confidence", **kw),
    "dense": lambda binary, **kw: OutputCode(binary, random_state=0, **kw),
    "dense-loss": lambda binary, **kw: OutputCode(binary, decoding="loss", random_state=0, **kw),
    "sparse": lambda binary, **kw: OutputCode(binary, code="sparse", length=6, random_state=0, **kw),
    "given": lambda binary, **kw: OutputCode(binary, code=exhaustive_code(4).matrix[:, :5], **kw),
}
#: Those that decisions without scores are enough for.
VOTING = ("rest-vote", "one", "dense", "sparse", "given")

every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
#: All classes in each column, two of them, or a random choice.
each_kind = pytest.mark.parametrize("scheme", ["rest", "one", "sparse"])


def four_classes(n=160, seed=0):
    return normal_classes(n=n, p=5, K=4, seed=seed)


class Decisions(ClassifierMixin, BaseEstimator):
    """Logistic regression that keeps its scores to itself."""

    def fit(self, X, y):
        self.model_ = LogisticRegression(alpha=0.05).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


class HardScores(Decisions):
    """The same with -1 and +1 as scores."""

    def decision_function(self, X):
        return np.where(self.predict(X) == self.classes_[1], 1.0, -1.0)


class TestAgainstScikitLearn:
    @pytest.mark.parametrize(
        "binary", [LinearSVC(C=0.5), ridge, SVC(), RidgeClassifier(), GaussianNB()], ids=lambda m: type(m).__name__
    )
    def test_one_vs_rest(self, binary):
        X, y = four_classes()
        ours, theirs = OneVsRest(binary).fit(X, y), OneVsRestClassifier(binary).fit(X, y)
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-10, atol=1e-10)
        assert_array_equal(ours.predict(X), theirs.predict(X))

    @pytest.mark.parametrize("binary", [LinearSVC(C=0.5), ridge, SVC()], ids=lambda m: type(m).__name__)
    def test_one_vs_one(self, binary):
        X, y = four_classes()
        ours, theirs = OneVsOne(binary).fit(X, y), OneVsOneClassifier(binary).fit(X, y)
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-10, atol=1e-10)
        assert_array_equal(ours.predict(X), theirs.predict(X))

    def test_one_vs_rest_probabilities(self):
        X, y = four_classes()
        for binary in (ridge, DecisionTreeClassifier(max_depth=2, random_state=0)):
            ours, theirs = OneVsRest(binary).fit(X, y), OneVsRestClassifier(binary).fit(X, y)
            assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)

    def test_output_code_of_hard_scores(self):
        """Their Euclidean distance is the Hamming distance when scores are -1 and +1."""
        X, y = four_classes()
        theirs = OutputCodeClassifier(HardScores(), code_size=1.3, random_state=29).fit(X, y)
        ours = OutputCode(HardScores(), code=theirs.code_book_).fit(X, y)
        assert_array_equal(ours.predict(X), theirs.predict(X))


class TestAgainstLoops:
    def test_the_voting_form(self):
        X, y = four_classes()
        claims = np.column_stack([ridge_fit(X, y == k).decision_function(X) for k in range(3)])
        expected = np.where((claims > 0).any(axis=1), claims.argmax(axis=1), 3)
        model = OneVsRest(ridge, vote=True).fit(X, y)
        assert len(model.estimators_) == 3
        assert_array_equal(model.predict(X), expected)
        several = np.column_stack((claims > 0, ~(claims > 0).any(axis=1)))
        assert_array_equal(model.ambiguous(X).candidates, several)

    def test_one_vs_one_learns_real_labels_from_the_rows_of_two_classes(self):
        X, y = four_classes()
        y = np.array(["ant", "bee", "cow", "dog"])[y]
        model = OneVsOne(ridge).fit(X, y)
        for binary, pair in zip(model.estimators_, combinations(["ant", "bee", "cow", "dog"], 2), strict=True):
            assert_array_equal(binary.classes_, pair)
            assert_array_equal(binary.coef_, clone(ridge).fit(X[np.isin(y, pair)], y[np.isin(y, pair)]).coef_)
        assert_array_equal(model.sides_, list(combinations(["ant", "bee", "cow", "dog"], 2)))

    def test_confidence_adds_up_the_pairings(self):
        X, y = four_classes()
        expected = np.zeros((len(y), 4))
        for a, b in combinations(range(4), 2):
            score = ridge_fit(X[(y == a) | (y == b)], y[(y == a) | (y == b)] == b).decision_function(X)
            expected[:, a] -= score
            expected[:, b] += score
        model = OneVsOne(ridge, decision="confidence").fit(X, y)
        assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("loss", ["hinge", "logistic", "exponential"])
    def test_codes_by_loss(self, loss):
        X, y = four_classes()
        value = {
            "hinge": lambda m: np.maximum(1 - m, 0),
            "logistic": lambda m: np.logaddexp(0, -m),
            "exponential": lambda m: np.exp(-m),
        }[loss]
        model = OutputCode(ridge, code="sparse", decoding="loss", loss=loss, random_state=1).fit(X, y)
        matrix = model.codebook_.matrix
        expected = np.zeros((len(y), 4))
        for m in range(matrix.shape[1]):
            side = matrix[y, m]
            score = ridge_fit(X[side != 0], side[side != 0]).decision_function(X)
            expected -= value(matrix[:, m] * score[:, None])
        assert_allclose(model.decision_function(X), expected, rtol=1e-9)

    @each_kind
    def test_linear_classifiers_are_scored_in_one_product(self, scheme):
        X, y = four_classes()
        for binary in (ridge, LinearDiscriminantAnalysis(), LeastSquaresClassifier(), LinearSVC()):
            fast = SCHEMES[scheme](binary).fit(X, y)
            slow = SCHEMES[scheme](make_pipeline(binary)).fit(X, y)
            assert isinstance(fast.rule_ if scheme == "rest" else fast.rule_.columns, LinearRule)
            assert not isinstance(slow.rule_.columns, LinearRule)
            assert_allclose(fast.decision_function(X), slow.decision_function(X), rtol=1e-9, atol=1e-9)
            assert_array_equal(fast.predict(X), slow.predict(X))
            assert_array_equal(fast.ambiguous(X).candidates, slow.ambiguous(X).candidates)
            scores = np.column_stack([one.decision_function(X) for one in fast.estimators_])
            assert_allclose(X @ fast.coef_.T + fast.intercept_, scores, rtol=1e-9, atol=1e-9)

    def test_a_large_common_offset_costs_no_digits(self):
        X, y = four_classes()
        near, far = (OneVsOne(LinearDiscriminantAnalysis()).fit(X + offset, y) for offset in (0.0, 1e6))
        assert_allclose(far.decision_function(X + 1e6), near.decision_function(X), rtol=1e-6, atol=1e-6)


def ridge_fit(X, y):
    return LogisticRegression(alpha=0.05).fit(X, y)


class TestAmbiguity:
    def triangle(self):
        """Three classes around the origin, each told from the rest by its own side of a triangle."""
        rng = np.random.default_rng(0)
        y = np.arange(300) % 3
        angle = 2 * np.pi * y / 3
        return 5 * np.column_stack((np.cos(angle), np.sin(angle))) + 0.3 * rng.normal(size=(300, 2)), y

    def test_nobody_claims_the_middle_and_two_claim_the_outside(self):
        X, y = self.triangle()
        model = OneVsRest(LogisticRegression(alpha=0.001)).fit(X, y)
        corners = 5 * np.array([[np.cos(t), np.sin(t)] for t in 2 * np.pi * np.arange(3) / 3])
        between = -20 * corners  # far behind the third class: the other two reach there
        found = model.ambiguous(np.concatenate(([[0.0, 0.0]], corners, between)))
        assert_array_equal(found.none, [True] + 6 * [False])
        assert_array_equal(found.several, 4 * [False] + 3 * [True])
        assert_array_equal(found.candidates[4:], 1 - np.eye(3))

    def test_the_voting_form_gives_the_middle_to_its_default(self):
        X, y = self.triangle()
        model = OneVsRest(LogisticRegression(alpha=0.001), vote=True).fit(X, y)
        assert_array_equal(model.predict([[0.0, 0.0]]), [2])
        assert not model.ambiguous([[0.0, 0.0]]).none.any()

    def test_a_circle_of_three_is_a_tie(self):
        """Each pairing is decided by one column: 0 beats 1, 1 beats 2, 2 beats 0 wherever all three are positive."""
        X = np.array([[1, -1, 0], [-1, 1, 0], [0, 1, -1], [0, -1, 1], [1, 0, -1], [-1, 0, 1]], dtype=float)
        model = OneVsOne(ByOneColumn()).fit(np.tile(X, (2, 1)), np.arange(12) % 3)
        found = model.ambiguous([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
        assert_array_equal(found.candidates, [[1, 1, 1], [0, 0, 1]])
        assert_array_equal(model.predict([[1.0, 3.0, 1.0]]), [1])

    @pytest.mark.parametrize("scheme", VOTING)
    def test_a_row_that_is_not_ambiguous_is_predicted_as_its_candidate(self, scheme):
        X, y = four_classes()
        model = SCHEMES[scheme](ridge).fit(X, y)
        anywhere = 10 * np.random.default_rng(0).normal(size=(2000, 5))
        found = model.ambiguous(anywhere)
        clear = found.counts == 1
        assert 0.3 < clear.mean() < 1
        assert_array_equal(found.candidates[clear].argmax(axis=1), model.predict(anywhere[clear]))

    def test_it_reads_blocks_and_says_where_values_are_missing(self):
        X, y = four_classes()
        model = OneVsRest(ridge).fit(X, y)
        many = np.tile(X, (300, 1))
        assert_array_equal(model.ambiguous(many).counts, np.tile(model.ambiguous(X).counts, 300))
        X[7, 2] = np.nan
        with pytest.raises(InputError, match="column 2, row 7"):
            model.ambiguous(X)


class ByOneColumn(ClassifierMixin, BaseEstimator):
    """Of classes i and i + 1 in a circle of three, the first wins by the value of column i."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        first, second = self.classes_
        self.column_, self.sign_ = (first, -1.0) if second == first + 1 else (second, 1.0)
        return self

    def decision_function(self, X):
        return self.sign_ * np.asarray(X)[:, self.column_]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class TestAnyClassifier:
    @every_scheme
    @pytest.mark.parametrize(
        "binary",
        [
            LinearDiscriminantAnalysis(),
            QuadraticDiscriminantAnalysis(),
            FisherDiscriminant(),
            SGDClassifier(alpha=0.1, random_state=0),
            DecisionTreeClassifier(max_depth=3, random_state=0),
            KNeighborsClassifier(9),
            make_pipeline(StandardScaler(), LinearSVC()),
        ],
        ids=lambda m: type(m).__name__,
    )
    def test_it_learns(self, scheme, binary):
        X, y = four_classes()
        labels = np.array(["north", "east", "south", "west"])[y]
        model = SCHEMES[scheme](binary).fit(X, labels)
        assert_array_equal(model.classes_, ["east", "north", "south", "west"])
        assert model.predict(X).dtype == labels.dtype
        assert model.score(X, labels) > 0.6
        assert model.decision_function(X).shape == (len(y), 4)
        assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
        assert len(model.estimators_) == model.codebook_.n_columns
        assert model.code_distance_ == model.codebook_.row_distance

    @every_scheme
    @pytest.mark.parametrize("binary", [ridge, DecisionTreeClassifier(random_state=0, max_depth=2)])
    def test_two_classes_are_one_column_and_the_classifier_itself(self, scheme, binary):
        X, y = normal_classes(K=2)
        labels = np.array(["no", "yes"])[y]
        model = OutputCode(binary, code=[[1], [-1]]) if scheme in ("sparse", "given") else SCHEMES[scheme](binary)
        model.fit(X, labels)
        alone = clone(binary).fit(X, labels)
        assert len(model.estimators_) == 1
        assert model.decision_function(X).shape == (len(y),)
        assert_array_equal(model.predict(X), alone.predict(X))
        assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)
        if binary is ridge:
            assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-7, atol=1e-7)

    def test_probabilities_count_as_log_odds(self):
        X, y = four_classes()
        tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
        model = OneVsRest(tree).fit(X, y)
        p = np.column_stack([clone(tree).fit(X, y == k).predict_proba(X)[:, 1] for k in range(4)])
        inside = (p > 0) & (p < 1)
        assert 0.2 < inside.mean() < 1
        assert_allclose(model.decision_function(X)[inside], np.log(p[inside] / (1 - p[inside])), rtol=1e-12)
        assert_array_equal(model.decision_function(X) > 36, p == 1)
        assert_array_equal(model.decision_function(X) < -36, p == 0)

    @pytest.mark.parametrize("scheme", VOTING)
    def test_decisions_are_enough_to_vote(self, scheme):
        X, y = four_classes()
        assert_array_equal(
            SCHEMES[scheme](Decisions()).fit(X, y).predict(X), SCHEMES[scheme](HardScores()).fit(X, y).predict(X)
        )

    @pytest.mark.parametrize("scheme", [name for name in SCHEMES if name not in VOTING])
    def test_decisions_are_not_enough_to_compare(self, scheme):
        X, y = four_classes()
        with pytest.raises(ParameterError, match="Decisions"):
            SCHEMES[scheme](Decisions()).fit(X, y)

    def test_probabilities_are_there_when_the_classifier_has_them(self):
        X, y = four_classes()
        P = OneVsRest(ridge).fit(X, y).predict_proba(X)
        assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
        assert not hasattr(OneVsRest(LinearSVC()), "predict_proba")
        assert not hasattr(OneVsRest(ridge, vote=True), "predict_proba")
        assert not hasattr(OneVsOne(ridge), "predict_proba")
        assert hasattr(OneVsRest(ridge), "predict_proba")

    def test_a_row_that_has_no_probability_at_all_is_shared_equally(self):
        X = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [1, 1], [1, 1]])
        y = np.array([0, 1, 2, 0, 1, 2])
        always = OneVsRest(Never()).fit(X, y).predict_proba(X)
        assert_allclose(always, 1 / 3)

    def test_two_classes_have_the_classifier_s_own_probabilities(self):
        X, y = normal_classes(K=2)
        assert_allclose(OneVsRest(ridge).fit(X, y).predict_proba(X), clone(ridge).fit(X, y).predict_proba(X), rtol=1e-9)


class TestScoresOfZero:
    """They belong to whom the binary classifier gives them: a perceptron to its second class, most to the first."""

    BINARY: ClassVar = {
        "perceptron": Perceptron(max_iter=2),
        "perceptron in a pipeline": make_pipeline(FunctionTransformer(), Perceptron(max_iter=2)),
        "least squares": LeastSquaresClassifier(),
        "scikit-learn's perceptron": LinearPerceptron(max_iter=2, tol=None, shuffle=False),
    }

    def rows(self, K):
        """Small whole numbers, on which scores of exactly 0 are common, and the origin itself."""
        rng = np.random.default_rng(K)
        X = np.concatenate((rng.integers(-2, 3, size=(40, 2)), [[0, 0]])).astype(float)
        return X, np.arange(len(X)) % K

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("binary", BINARY)
    def test_votes_are_the_classifiers_own_decisions(self, binary):
        X, y = self.rows(4)
        model = OneVsOne(self.BINARY[binary]).fit(X, y)
        votes = np.zeros((len(X), 4))
        for one in model.estimators_:
            votes[np.arange(len(X)), one.predict(X)] += 1
        candidates = votes == votes.max(axis=1, keepdims=True)
        assert_array_equal(model.ambiguous(X).candidates, candidates)
        assert candidates[np.arange(len(X)), model.predict(X)].all()

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("binary", BINARY)
    def test_claims_are_the_classifiers_own_decisions(self, binary):
        X, y = self.rows(3)
        model = OneVsRest(self.BINARY[binary]).fit(X, y)
        claims = np.column_stack([one.predict(X) == 1 for one in model.estimators_])
        assert_array_equal(model.ambiguous(X).candidates, claims)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("scheme", ["rest", "one", "one-confidence", "dense", "dense-loss"])
    @pytest.mark.parametrize("binary", BINARY)
    def test_two_classes_are_the_classifier_itself(self, scheme, binary):
        X, y = self.rows(2)
        alone = clone(self.BINARY[binary]).fit(X, y)
        model = SCHEMES[scheme](self.BINARY[binary]).fit(X, y)
        assert_array_equal(model.predict(X), alone.predict(X))
        assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-12, atol=1e-300)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("binary", BINARY)
    def test_the_voting_form_of_two_classes_learns_the_first_of_them(self, binary):
        X, y = self.rows(2)
        alone = clone(self.BINARY[binary]).fit(X, 1 - y)
        assert_array_equal(OneVsRest(self.BINARY[binary], vote=True).fit(X, y).predict(X), 1 - alone.predict(X))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_perceptrons_do_meet_them(self):
        X, y = self.rows(4)
        model = OneVsOne(self.BINARY["perceptron"]).fit(X, y)
        assert (X @ model.coef_.T + model.intercept_ == 0).any()


class Never(ClassifierMixin, BaseEstimator):
    """Nobody is of the second class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class TestInvariances:
    @every_scheme
    def test_weights_are_repeated_rows(self, scheme):
        X, y = four_classes()
        weight = np.random.default_rng(0).integers(0, 4, size=len(y))
        weighted = SCHEMES[scheme](LinearDiscriminantAnalysis()).fit(X, y, weight)
        repeated = SCHEMES[scheme](LinearDiscriminantAnalysis()).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)

    @every_scheme
    def test_the_order_of_rows_does_not_matter(self, scheme):
        X, y = four_classes()
        order = np.random.default_rng(1).permutation(len(y))
        shuffled = SCHEMES[scheme](LinearDiscriminantAnalysis()).fit(X[order], y[order])
        plain = SCHEMES[scheme](LinearDiscriminantAnalysis()).fit(X, y)
        assert_allclose(shuffled.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize(
        "model",
        [
            OneVsRest(LinearDiscriminantAnalysis()),
            OneVsOne(LinearDiscriminantAnalysis()),
            OneVsOne(LinearDiscriminantAnalysis(), decision="confidence"),
            OutputCode(LinearDiscriminantAnalysis(), code="exhaustive", decoding="loss"),
        ],
        ids=repr,
    )
    def test_the_order_of_classes_does_not_matter(self, model):
        X, y = four_classes()
        renamed = np.array([2, 0, 3, 1])
        plain, other = clone(model).fit(X, y), clone(model).fit(X, renamed[y])
        assert_allclose(other.decision_function(X)[:, renamed], plain.decision_function(X), rtol=1e-9, atol=1e-9)

    @each_kind
    @pytest.mark.parametrize("binary", [ridge, DecisionTreeClassifier(random_state=0)])
    def test_threads_leave_no_trace(self, scheme, binary):
        X, y = four_classes()
        one, three = (SCHEMES[scheme](binary, n_jobs=n).fit(X, y) for n in (1, 3))
        assert_array_equal(one.decision_function(X), three.decision_function(X))

    @each_kind
    @pytest.mark.parametrize("binary", [ridge, make_pipeline(ridge)], ids=["linear", "pipeline"])
    def test_whatever_the_rows_came_in(self, scheme, binary):
        X, y = four_classes()
        X[np.abs(X) < 0.3] = 0.0
        expected = SCHEMES[scheme](binary).fit(X, y).decision_function(X)
        names = [f"x{j}" for j in range(5)]
        for table in (
            X.tolist(),
            np.asfortranarray(X),
            pd.DataFrame(X, columns=names),
            pl.DataFrame(X, schema=names),
            sp.csr_matrix(X),
            sp.csc_array(X),
            sp.coo_matrix(X),
        ):
            scores = SCHEMES[scheme](binary).fit(table, y.tolist()).decision_function(table)
            assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)

    def test_nothing_is_written_to_the_data(self):
        X, y = four_classes()
        weight = np.ones(len(y))
        for values in (X, y, weight):
            values.flags.writeable = False
        for make in SCHEMES.values():
            make(ridge).fit(X, y, weight).predict(X)


class TestStreams:
    @pytest.mark.parametrize("scheme", ["rest", "rest-vote", "one", "sparse", "dense"])
    def test_chunks_are_the_whole(self, scheme):
        X, y = four_classes()
        whole = SCHEMES[scheme](LinearDiscriminantAnalysis()).fit(X, y)
        stream = SCHEMES[scheme](LinearDiscriminantAnalysis())
        for part in np.array_split(np.arange(len(y)), 4):
            stream.partial_fit(X[part], y[part], classes=[0, 1, 2, 3])
        assert_allclose(stream.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-8)
        assert_array_equal(stream.class_count_, np.bincount(y))

    def test_a_class_that_has_not_come_yet_is_named(self):
        X, y = four_classes()
        stream = OneVsOne(LinearDiscriminantAnalysis())
        stream.partial_fit(X[y < 3], y[y < 3], classes=[0, 1, 2, 3])
        with pytest.raises(NotReadyError, match="class 3"):
            stream.predict(X)
        stream.partial_fit(X[y == 3], y[y == 3])
        whole = OneVsOne(LinearDiscriminantAnalysis()).fit(X, y)
        assert_allclose(stream.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-8)

    def test_a_fit_can_go_on_as_a_stream(self):
        X, y = four_classes()
        model = OneVsRest(LinearDiscriminantAnalysis()).fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
        whole = OneVsRest(LinearDiscriminantAnalysis()).fit(X, y)
        assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-8)

    def test_scikit_learn_streams(self):
        X, y = four_classes()
        ours, theirs = (make(SGDClassifier(random_state=0)) for make in (OneVsOne, OneVsOneClassifier))
        for part in (slice(0, 80), slice(80, 160)):
            ours.partial_fit(X[part], y[part], classes=np.arange(4))
            theirs.partial_fit(X[part], y[part], classes=np.arange(4))
        assert_array_equal(ours.predict(X), theirs.predict(X))

    def test_what_cannot_stream_does_not_pretend_to(self):
        assert not hasattr(OneVsRest(LinearSVC()), "partial_fit")

    def test_other_classes_later(self):
        X, y = four_classes()
        stream = OneVsRest(LinearDiscriminantAnalysis()).partial_fit(X, y)
        before = fitted_state(stream)
        with pytest.raises(LabelError, match="classes"):
            stream.partial_fit(X, y, classes=[0, 1, 2, 3, 4])
        with pytest.raises(LabelError, match="7"):
            stream.partial_fit(X, np.where(y == 1, 7, y))
        assert fitted_state(stream) == before

    def test_a_chunk_that_fails_leaves_the_classifiers_as_they_were(self):
        X, y = four_classes()
        stream = OneVsOne(SGDClassifier(random_state=0)).partial_fit(X, y)
        before = stream.decision_function(X)
        bad = X.copy()
        bad[np.flatnonzero(y == 3)[-1], 0] = np.nan  # found by the pairings of class 3, after others have learned
        with pytest.raises(ValueError, match="NaN"):
            stream.partial_fit(bad, y)
        assert_array_equal(stream.decision_function(X), before)


class TestUse:
    @each_kind
    @pytest.mark.parametrize("binary", [ridge, make_pipeline(ridge)], ids=["linear", "pipeline"])
    def test_a_pickled_model_predicts_the_same_bits(self, scheme, binary):
        X, y = four_classes()
        model = SCHEMES[scheme](binary).fit(X, y)
        loaded = pickle.loads(pickle.dumps(model))
        assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        assert_array_equal(loaded.ambiguous(X).candidates, model.ambiguous(X).candidates)

    def test_only_rows_of_the_caller_are_remembered(self):
        """A model keeps its training rows for inference; copies of parts of them would add up to many tables."""
        X, y = four_classes()
        assert "class 0" in str(OneVsRest(ridge).fit(X, y).estimators_[0].summary())
        with pytest.raises(NotReadyError, match="rows"):
            OneVsOne(ridge).fit(X, y).estimators_[0].summary()

    @every_scheme
    def test_parameters_are_nested(self, scheme):
        model = SCHEMES[scheme](LogisticRegression(alpha=1.0))
        copy = clone(model.set_params(estimator__alpha=3.0))
        assert copy.get_params()["estimator__alpha"] == 3.0
        assert copy.estimator is not model.estimator

    def test_a_search_over_the_classifier_and_the_scheme(self):
        X, y = four_classes()
        grid = {"estimator__alpha": [0.01, 10.0], "decision": ["votes", "confidence"]}
        search = GridSearchCV(OneVsOne(LogisticRegression()), grid, cv=3, error_score="raise").fit(X, y)
        assert search.best_params_["estimator__alpha"] == 0.01

    def test_text_goes_through_a_pipeline(self):
        texts = ["a b c", "c d a", "x y z", "z y w", "m n o", "o n p"] * 5
        y = ["abc", "abc", "xyz", "xyz", "mno", "mno"] * 5
        for make in (OneVsRest, OneVsOne, OutputCode):
            model = make(make_pipeline(CountVectorizer(token_pattern="."), MultinomialNB())).fit(texts, y)
            assert_array_equal(model.predict(["c a b", "w x", "n p"]), ["abc", "xyz", "mno"])

    def test_names_of_columns_are_remembered(self):
        X, y = four_classes()
        frame = pd.DataFrame(X, columns=list("abcde"))
        for binary in (ridge, make_pipeline(ridge)):
            model = OneVsOne(binary).fit(frame, y)
            assert_array_equal(model.feature_names_in_, list("abcde"))
            assert model.n_features_in_ == 5
            with pytest.raises(ColumnError, match="order"):
                model.predict(frame[list("abced")])

    def test_scikit_learn_s_settings_reach_the_threads(self):
        X, y = four_classes()
        with sklearn.config_context(transform_output="pandas"):
            model = OneVsRest(make_pipeline(StandardScaler(), NeedsNames()), n_jobs=2).fit(pd.DataFrame(X), y)
            assert model.score(pd.DataFrame(X), y) > 0.6

    def test_what_can_be_read_is_what_the_classifier_reads(self):
        assert OneVsRest(ridge).__sklearn_tags__().input_tags.sparse
        assert not OneVsRest(QuadraticNoSparse()).__sklearn_tags__().input_tags.sparse
        assert OneVsOne(DecisionTreeClassifier()).__sklearn_tags__().input_tags.allow_nan
        X, y = four_classes()
        X[0, 0] = np.nan
        assert OneVsOne(DecisionTreeClassifier(random_state=0)).fit(X, y).score(X, y) > 0.9


class NeedsNames(Decisions):
    """Refuses rows that are not a frame."""

    def fit(self, X, y):
        assert isinstance(X, pd.DataFrame)
        return super().fit(X.to_numpy(), y)

    def decision_function(self, X):
        assert isinstance(X, pd.DataFrame)
        return self.model_.decision_function(X.to_numpy())

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class QuadraticNoSparse(Decisions):
    """A classifier that reads dense rows only."""


class TestBadInput:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (OneVsRest(LinearRegression()), "LinearRegression"),
            (OneVsRest(LogisticRegression), "estimator"),
            (OneVsRest("logistic"), r"estimator.*'logistic'"),
            (OneVsRest(StandardScaler()), "estimator"),
            (OneVsOne(SVC(kernel="precomputed")), r"estimator.*SVC"),
            (OneVsRest(ridge, vote="yes"), r"vote.*'yes'"),
            (OneVsOne(ridge, decision="vote"), r"decision.*'vote'"),
            (OutputCode(ridge, code="thick"), r"code.*'thick'"),
            (OutputCode(ridge, decoding="euclid"), r"decoding.*'euclid'"),
            (OutputCode(ridge, decoding="loss", loss="zero"), r"loss.*'zero'"),
            (OutputCode(ridge, code="exhaustive", length=3), "length"),
            (OutputCode(ridge, code=np.eye(4)[:, :3], length=3), "length"),
            (OutputCode(ridge, length=8), "7"),
            (OutputCode(ridge, code=exhaustive_code(3).matrix), r"code.*3.*\[0, 1, 2, 3\]"),
            (OutputCode(ridge, code=[[1, 1], [-1, 1], [1, -1], [1, 1]]), r"0.*3"),
            (OneVsRest(ridge, n_jobs=0), "n_jobs"),
        ],
        ids=lambda v: None if isinstance(v, str) else repr(v)[:60],
    )
    def test_parameters(self, model, message):
        X, y = four_classes()
        with pytest.raises(ParameterError, match=message):
            model.fit(X, y)

    def test_a_codebook_is_a_code_too(self):
        X, y = four_classes()
        model = OutputCode(ridge, code=Codebook(exhaustive_code(4).matrix)).fit(X, y)
        assert_array_equal(model.predict(X), OutputCode(ridge, code="exhaustive").fit(X, y).predict(X))

    @each_kind
    @pytest.mark.parametrize(
        ("spoil", "error", "message"),
        [
            (lambda X, y: (X, np.zeros(len(y), int)), LabelError, "0"),
            (lambda X, y: (X, y[:-1]), InputError, r"\[160, 159\]"),
            (lambda X, y: (X, None), LabelError, "y"),
            (lambda X, y: (X, y + 0.5), LabelError, "y|label|continuous"),
            (lambda X, y: (X[:0], y[:0]), InputError, "0 sample"),
            (lambda X, y: (X[:, 0], y), InputError, "1D"),
            (lambda X, y: (np.ma.masked_less(X, 0), y), InputError, "masked"),
            (lambda X, y: (X * 1j, y), InputError, "X"),
            (lambda X, y: (np.where(X[5, 1] == X, np.nan, X), y), InputError, "column 1"),
            (lambda X, y: (3.0, y), InputError, "X"),
            (lambda X, y: (pl.DataFrame(X).lazy(), y), InputError, "lazy"),
        ],
    )
    def test_rows_and_labels(self, scheme, spoil, error, message):
        X, y = four_classes()
        model = SCHEMES[scheme](ridge).fit(X, y)
        before = fitted_state(model)
        with pytest.raises(error, match=message):
            model.fit(*spoil(X, y))
        assert fitted_state(model) == before

    @each_kind
    @pytest.mark.parametrize("binary", [ridge, make_pipeline(ridge)], ids=["linear", "pipeline"])
    def test_rows_to_predict(self, scheme, binary):
        X, y = four_classes()
        model = SCHEMES[scheme](binary).fit(X, y)
        for method in (model.predict, model.decision_function, model.ambiguous):
            with pytest.raises(InputError, match="1D"):
                method(X[0])
            with pytest.raises(ColumnError, match="5"):
                method(X[:, :4])
            with pytest.raises(InputError, match="column 3, row 9"):
                method(np.where(X[9, 3] == X, np.inf, X))
            with pytest.raises(InputError):
                method(X[:0])

    def test_weights_for_a_classifier_that_takes_none(self):
        X, y = four_classes()
        with pytest.raises(WeightError, match=r"KNeighborsClassifier.*sample_weight"):
            OneVsRest(KNeighborsClassifier()).fit(X, y, np.ones(len(y)))

    @every_scheme
    def test_a_class_without_weight_is_named(self, scheme):
        X, y = four_classes()
        labels = np.array(["ant", "bee", "cow", "dog"])[y]
        with pytest.raises(WeightError, match="'cow'"):
            SCHEMES[scheme](ridge).fit(X, labels, sample_weight=labels != "cow")

    @pytest.mark.parametrize(
        ("scheme", "note"),
        [
            ("rest", "class 'ant' against the rest"),
            ("one", "class 'bee' against class 'ant'"),
            ("dense", "column 0 of the code"),
        ],
    )
    def test_an_error_says_in_which_binary_problem(self, scheme, note):
        X, y = four_classes()
        X[:, 2] = 1.0
        with pytest.raises(DegenerateDataError, match="column 2") as caught:
            SCHEMES[scheme](LinearDiscriminantAnalysis()).fit(X, np.array(["ant", "bee", "cow", "dog"])[y])
        assert note in caught.value.__notes__[0]


class TestMetadata:
    """What `fit` is given reaches the wrapped classifier, by scikit-learn's routing where that is enabled."""

    WRAPPED: ClassVar = {**SCHEMES, "decision": lambda binary, **kw: DecisionClassifier(binary, **kw)}

    def weighted(self):
        X, y = four_classes()
        return X, y, np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)

    @pytest.mark.parametrize("scheme", WRAPPED)
    def test_weights_are_routed_as_they_are_handed_on_without(self, scheme):
        X, y, weight = self.weighted()
        plain = self.WRAPPED[scheme](ridge).fit(X, y, weight)
        with sklearn.config_context(enable_metadata_routing=True):
            binary = clone(ridge).set_fit_request(sample_weight=True)
            routed = self.WRAPPED[scheme](binary).fit(X, y, sample_weight=weight)
        score = "predict_proba" if scheme == "decision" else "decision_function"
        assert_array_equal(getattr(routed, score)(X), getattr(plain, score)(X))

    @pytest.mark.parametrize("scheme", WRAPPED)
    def test_only_what_is_requested_is_handed_on(self, scheme):
        X, y, weight = self.weighted()
        with sklearn.config_context(enable_metadata_routing=True):
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                self.WRAPPED[scheme](ridge).fit(X, y, sample_weight=weight)
            refusing = clone(ridge).set_fit_request(sample_weight=False)
            with pytest.raises(TypeError, match="sample_weight"):
                self.WRAPPED[scheme](refusing).fit(X, y, sample_weight=weight)
            with pytest.raises(TypeError, match="colour"):
                self.WRAPPED[scheme](ridge).fit(X, y, colour=weight)
        with pytest.raises(ValueError, match="enable_metadata_routing"):
            self.WRAPPED[scheme](ridge).fit(X, y, colour=weight)

    def test_other_metadata_is_cut_to_the_rows_of_each_column(self):
        X, y = four_classes()
        offset = np.random.default_rng(1).normal(size=len(y))
        with sklearn.config_context(enable_metadata_routing=True):
            model = OneVsOne(clone(ridge).set_fit_request(offset=True)).fit(X, y, offset=offset)
        pair = y < 2
        alone = clone(ridge).fit(X[pair], y[pair], offset=offset[pair])
        assert_array_equal(model.estimators_[0].coef_, alone.coef_)

    def test_streams_are_routed_too(self):
        X, y, weight = self.weighted()
        plain = OneVsRest(LinearDiscriminantAnalysis()).partial_fit(X, y, sample_weight=weight)
        with sklearn.config_context(enable_metadata_routing=True):
            binary = LinearDiscriminantAnalysis().set_partial_fit_request(sample_weight=True)
            routed = OneVsRest(binary).partial_fit(X, y, sample_weight=weight)
        assert_array_equal(routed.decision_function(X), plain.decision_function(X))

    def test_calibration_takes_part(self):
        X, y, weight = self.weighted()
        with sklearn.config_context(enable_metadata_routing=True):
            binary = LinearDiscriminantAnalysis().set_fit_request(sample_weight=True)
            routed = DecisionClassifier(binary, calibration="sigmoid", cv=3).fit(X, y, sample_weight=weight)
        plain = DecisionClassifier(LinearDiscriminantAnalysis(), calibration="sigmoid", cv=3).fit(X, y, weight)
        assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))

    def test_cross_validation_hands_weights_through(self):
        X, y, weight = self.weighted()
        with sklearn.config_context(enable_metadata_routing=True):
            binary = clone(ridge).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
            scores = cross_validate(OneVsRest(binary), X, y, params={"sample_weight": weight}, cv=3)["test_score"]
        assert scores.min() > 0.6


class TestLearnersOfAllProblems:
    """The support vector machine and the perceptron solve all binary problems of a scheme by themselves."""

    LEARNERS: ClassVar = {
        "soft margin": SupportVectorClassifier(C=0.3),
        "dual": SupportVectorClassifier(solver="dual", random_state=0),
        "squared hinge": SupportVectorClassifier(loss="squared_hinge"),
        "perceptron": Perceptron(max_iter=3, average=True),
        "dual perceptron": Perceptron("dual", max_iter=3, average=True),
    }
    each_learner = pytest.mark.parametrize("learner", LEARNERS)

    @each_learner
    @pytest.mark.parametrize(("scheme", "name"), [(OneVsOne, "one-vs-one"), (OneVsRest, "one-vs-rest")])
    def test_a_scheme_of_it_is_its_own_scheme(self, learner, scheme, name):
        X, y = four_classes()
        labels = np.array(["ant", "bee", "cow", "dog"])[y]
        model = scheme(self.LEARNERS[learner]).fit(X, labels)
        own = clone(self.LEARNERS[learner]).set_params(multiclass=name).fit(X, labels)
        assert_allclose(model.coef_, own.coef_, rtol=1e-9, atol=1e-12)
        assert_allclose(model.decision_function(X), own.decision_function(X), rtol=1e-9, atol=1e-12)
        assert_array_equal(model.ambiguous(X).candidates, own.ambiguous(X).candidates)
        assert_array_equal(model.predict(X), own.predict(X))

    @each_learner
    @each_kind
    def test_its_models_are_those_of_separate_fits(self, learner, scheme):
        X, y = four_classes()
        model = SCHEMES[scheme](self.LEARNERS[learner]).fit(X, y)
        for column, binary in enumerate(model.estimators_):
            rows, side = model.codebook_.targets(y, column)
            rows = slice(None) if rows is None else rows
            alone = clone(self.LEARNERS[learner]).fit(X[rows], model.sides_[column][(side > 0).astype(int)])
            assert vars(alone).keys() - vars(binary).keys() <= {"_training"}
            assert_allclose(binary.decision_function(X), alone.decision_function(X), rtol=1e-9, atol=1e-9)
            assert_array_equal(binary.predict(X), alone.predict(X))
            assert_array_equal(binary.n_iter_, alone.n_iter_)

    @each_learner
    @each_kind
    def test_in_a_pipeline_it_gives_the_same(self, learner, scheme):
        X, y = four_classes()
        model = SCHEMES[scheme](self.LEARNERS[learner]).fit(X, y)
        apart = SCHEMES[scheme](make_pipeline(self.LEARNERS[learner])).fit(X, y)
        assert_allclose(model.decision_function(X), apart.decision_function(X), rtol=1e-9, atol=1e-9)

    def test_weights_and_calibration(self):
        X, y = four_classes()
        weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
        machine = SupportVectorClassifier(multiclass="one-vs-one").fit(X, y, weight)
        assert_allclose(OneVsOne(SupportVectorClassifier()).fit(X, y, weight).coef_, machine.coef_, rtol=1e-9)
        calibrated = OneVsRest(SupportVectorClassifier(calibration="sigmoid")).fit(X, y)
        assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)

    def test_a_bad_value_is_named_by_its_row_in_the_table(self):
        X, y = four_classes()
        X[-1, 1] = np.nan
        with pytest.raises(InputError, match=f"column 1, row {len(y) - 1}"):
            OneVsOne(SupportVectorClassifier()).fit(X, y)

    def test_streams_go_on_from_a_fit(self):
        X, y = four_classes()
        model = OneVsOne(Perceptron(max_iter=2, average=True)).fit(X, y).partial_fit(X, y)
        own = Perceptron(max_iter=2, average=True, multiclass="one-vs-one").fit(X, y).partial_fit(X, y)
        assert_allclose(model.coef_, own.coef_)
