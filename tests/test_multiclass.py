"""Codebooks: which tables are refused, how far apart rows are, and how columns' scores become scores of classes."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.errors import InputError, ParameterError
from discriminant.multiclass import (
    DECODINGS,
    LOSSES,
    Codebook,
    CodebookRule,
    ambiguous,
    dense_code,
    exhaustive_code,
    one_vs_one,
    one_vs_rest,
    one_vs_rest_default,
    sparse_code,
)
from discriminant.rules import LinearRule

LOSS = {
    "hinge": lambda m: max(1.0 - m, 0.0),
    "logistic": lambda m: float(np.log1p(np.exp(-m))),
    "exponential": lambda m: float(np.exp(-m)),
}

codebooks = st.one_of(
    st.builds(one_vs_rest, st.integers(3, 7)),
    st.builds(one_vs_rest_default, st.integers(3, 7)),
    st.builds(one_vs_one, st.integers(3, 7)),
    st.builds(exhaustive_code, st.integers(3, 5)),
    st.builds(dense_code, st.integers(3, 9), st.integers(0, 5)),
    st.builds(sparse_code, st.integers(3, 9), st.integers(0, 5)),
)


def some_scores(codebook, n=12, seed=0):
    """Scores of the columns, with exact zeros and equal sizes among them."""
    return np.random.default_rng(seed).integers(-3, 4, size=(n, codebook.n_columns)) / 2.0


def alone_on_its_side(codebook, k, m):
    side = codebook.matrix[k, m]
    return side != 0 and np.count_nonzero(codebook.matrix[:, m] == side) == 1


class TestDecoding:
    """Against loops over rows, classes and columns that spell out the definitions."""

    @given(codebooks, st.integers(0, 100))
    def test_hamming(self, codebook, seed):
        scores = some_scores(codebook, seed=seed)
        expected = np.zeros((len(scores), codebook.n_classes))
        for i, k, m in np.ndindex(len(scores), codebook.n_classes, codebook.n_columns):
            bit, side = (1 if scores[i, m] > 0 else -1), codebook.matrix[k, m]
            expected[i, k] -= 0.5 if side == 0 else bit != side
        assert_array_equal(codebook.decode(scores, "hamming"), expected)

    @given(codebooks, st.integers(0, 100), st.sampled_from(LOSSES))
    def test_loss(self, codebook, seed, loss):
        scores = some_scores(codebook, seed=seed)
        expected = np.zeros((len(scores), codebook.n_classes))
        for i, k, m in np.ndindex(len(scores), codebook.n_classes, codebook.n_columns):
            expected[i, k] -= LOSS[loss](codebook.matrix[k, m] * scores[i, m])
        assert_allclose(codebook.decode(scores, "loss", loss), expected, rtol=1e-13)

    @pytest.mark.parametrize("scheme", [one_vs_rest, one_vs_rest_default, one_vs_one])
    @pytest.mark.parametrize("K", [3, 4, 7])
    def test_votes_and_confidence(self, scheme, K):
        codebook = scheme(K)
        scores = some_scores(codebook, n=40)
        votes, confidence = np.zeros((40, K)), np.zeros((40, K))
        for k in range(K):
            own = [m for m in range(codebook.n_columns) if alone_on_its_side(codebook, k, m)]
            for i in range(40):
                for m in own:
                    votes[i, k] += (scores[i, m] > 0) == (codebook.matrix[k, m] > 0)
                    confidence[i, k] += codebook.matrix[k, m] * scores[i, m]
            if not own:
                votes[:, k] = 0.5
        assert_array_equal(codebook.decode(scores, "votes"), votes)
        assert_array_equal(codebook.decode(scores, "confidence"), confidence)
        both = codebook.decode(scores, "votes+confidence")
        assert np.abs(both - votes).max() < 1 / 3
        for i in range(40):
            assert both[i].argmax() == max(range(K), key=lambda k, i=i: (votes[i, k], confidence[i, k]))

    def test_one_vs_rest_confidence_is_the_class_s_own_score(self):
        scores = np.random.default_rng(0).normal(size=(9, 5))
        assert_array_equal(one_vs_rest(5).decode(scores, "confidence"), scores)

    def test_the_default_class_is_for_rows_that_nobody_claims(self):
        scores = np.array([[-1.0, -5.0], [0.0, -0.1], [2.0, -1.0], [2.0, 3.0]])
        assert_array_equal(one_vs_rest_default(3).decode(scores, "votes").argmax(axis=1), [2, 2, 0, 0])
        assert_array_equal(one_vs_rest_default(3).decode(scores, "votes+confidence").argmax(axis=1), [2, 2, 0, 1])

    def test_one_vs_one_by_hand(self):
        """Columns 0:1, 0:2, 1:2; everybody beats the next one in the circle, and 2 does it most clearly."""
        circle = np.array([[-1.0, 4.0, -1.0]])
        assert_array_equal(one_vs_one(3).decode(circle, "votes"), [[1, 1, 1]])
        assert_array_equal(one_vs_one(3).decode(circle, "confidence"), [[-3, 0, 3]])
        assert_allclose(one_vs_one(3).decode(circle, "votes+confidence"), [[0.75, 1, 1.25]])

    @pytest.mark.parametrize("decoding", DECODINGS)
    @pytest.mark.parametrize("matrix", [[[-1], [1]], [[1], [-1]]])
    def test_two_classes_differ_by_the_score_of_their_column(self, decoding, matrix):
        scores = np.array([[0.3], [-2.0], [7.0]])
        first, second = Codebook(matrix).decode(scores, decoding).T
        assert_array_equal(second - first, matrix[1][0] * scores[:, 0])

    @pytest.mark.parametrize("decoding", DECODINGS)
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_score_that_is_not_finite_spoils_its_row_only(self, decoding, n_classes):
        codebook = one_vs_one(n_classes)
        scores = np.ones((4, codebook.n_columns))
        expected = codebook.decode(scores, decoding)
        scores[1, 0], scores[3, -1] = np.nan, np.inf
        decoded = codebook.decode(scores, decoding)
        assert np.isnan(decoded[[1, 3]]).all()
        assert_array_equal(decoded[[0, 2]], expected[[0, 2]])

    @pytest.mark.parametrize("decoding", DECODINGS)
    def test_many_rows_are_decoded_like_each_alone(self, decoding):
        codebook = one_vs_one(12)
        scores = some_scores(codebook, n=5000)
        one_by_one = np.concatenate([codebook.decode(scores[i : i + 1], decoding) for i in range(0, 5000, 250)])
        assert_allclose(codebook.decode(scores, decoding)[::250], one_by_one, rtol=1e-14)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_the_loss_of_huge_scores_is_finite(self, loss):
        decoded = exhaustive_code(3).decode(np.array([[1e4, -1e4, 1e4]]), "loss", loss)
        assert np.isfinite(decoded).all()
        assert decoded.argmax() == 1

    def test_scores_of_another_code(self):
        with pytest.raises(InputError, match=r"4 columns.* 3"):
            one_vs_rest(3).decode(np.zeros((2, 4)), "votes")

    @pytest.mark.parametrize(
        ("names", "wrong"), [({"decoding": "voting"}, "voting"), ({"decoding": "loss", "loss": "zero"}, "zero")]
    )
    def test_unknown_names(self, names, wrong):
        with pytest.raises(ParameterError, match=f"must be one of .* got '{wrong}'"):
            one_vs_rest(3).decode(np.zeros((1, 3)), **names)

    @pytest.mark.parametrize("decoding", ["votes", "confidence", "votes+confidence"])
    def test_votes_need_columns_of_a_class_s_own(self, decoding):
        code = Codebook([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        with pytest.raises(ParameterError, match="rows 0 and 1"):
            code.decode(np.zeros((1, 2)), decoding)


class TestTargets:
    @given(codebooks, st.integers(0, 100))
    def test_they_are_the_encoded_rows_without_those_left_out(self, codebook, seed):
        codes = np.random.default_rng(seed).integers(codebook.n_classes, size=30)
        encoded = codebook.encode(codes)
        assert_array_equal(encoded, [codebook.matrix[k] for k in codes])
        for m in range(codebook.n_columns):
            rows, side = codebook.targets(codes, m)
            assert side.dtype == np.float64
            assert_array_equal(side, encoded[:, m][encoded[:, m] != 0])
            if rows is None:
                assert (codebook.matrix[:, m] != 0).all()
            else:
                assert_array_equal(rows, np.flatnonzero(encoded[:, m]))

    def test_one_vs_one_columns_are_pairs_with_the_second_positive(self):
        for m, (first, second) in enumerate(combinations(range(5), 2)):
            rows, side = one_vs_one(5).targets(np.arange(5), m)
            assert_array_equal(rows, [first, second])
            assert_array_equal(side, [-1, 1])


class TestDistances:
    @given(codebooks)
    def test_of_rows_with_zeros_counted_half(self, codebook):
        def distance(a, b):
            return sum(0.5 if u * v == 0 else u != v for u, v in zip(*codebook.matrix[[a, b]].tolist(), strict=True))

        pairs = {pair: distance(*pair) for pair in combinations(range(codebook.n_classes), 2)}
        assert codebook.row_distance == min(pairs.values())
        assert pairs[codebook.closest_classes] == codebook.row_distance
        for (a, b), expected in pairs.items():
            assert codebook.distances[a, b] == codebook.distances[b, a] == expected

    @pytest.mark.parametrize("K", range(2, 10))
    def test_an_exhaustive_code_has_them_all_alike(self, K):
        code = exhaustive_code(K)
        assert code.n_columns == 2 ** (K - 1) - 1
        assert_array_equal(code.distances, 2.0 ** (K - 2) * (1 - np.eye(K)))

    @pytest.mark.parametrize("K", [3, 5, 26])
    def test_of_the_plain_schemes(self, K):
        assert one_vs_rest(K).row_distance == 2
        assert one_vs_rest_default(K).row_distance == 1
        assert one_vs_rest_default(K).closest_classes == (0, K - 1)
        assert one_vs_one(K).n_columns == comb(K, 2)
        assert one_vs_one(K).row_distance == (comb(K, 2) - 1) / 2 + 1

    @given(st.integers(4, 12), st.integers(0, 20), st.data())
    def test_fewer_wrong_columns_than_half_of_it_do_no_harm(self, K, seed, data):
        code = dense_code(K, seed)
        harmless = int(np.ceil(code.row_distance / 2)) - 1
        scores = code.matrix.astype(float)
        wrong = data.draw(st.lists(st.integers(0, code.n_columns - 1), max_size=harmless, unique=True))
        scores[:, wrong] *= -1
        assert_array_equal(code.decode(scores, "hamming").argmax(axis=1), np.arange(K))


class TestRandomCodes:
    @pytest.mark.parametrize(
        ("maker", "K", "length"),
        [
            (dense_code, 2, 1),
            (dense_code, 3, 3),
            (dense_code, 5, 15),
            (dense_code, 6, 26),
            (dense_code, 26, 48),
            (dense_code, 70, 62),
            (sparse_code, 2, 1),
            (sparse_code, 3, 6),
            (sparse_code, 4, 25),
            (sparse_code, 5, 35),
            (sparse_code, 26, 71),
        ],
    )
    def test_their_usual_length(self, maker, K, length):
        assert maker(K, 0).matrix.shape == (K, length)

    @pytest.mark.parametrize("maker", [dense_code, sparse_code])
    def test_the_seed_decides(self, maker):
        assert_array_equal(maker(7, 3).matrix, maker(7, 3).matrix)
        assert_array_equal(maker(7, 3).matrix, maker(7, np.random.default_rng(3)).matrix)
        assert not np.array_equal(maker(7, 3).matrix, maker(7, 4).matrix)

    @pytest.mark.parametrize("maker", [dense_code, sparse_code])
    def test_the_best_of_many_is_far_better_than_chance(self, maker):
        chosen = [maker(12, seed, length=30).row_distance for seed in range(5)]
        rng = np.random.default_rng(0)
        symbols = [-1, 1] if maker is dense_code else [-1, 0, 0, 1]
        by_chance = []
        for _ in range(50):
            code = rng.choice(symbols, size=(12, 30))
            distances = (30 - code @ code.T) / 2
            by_chance.append(distances[np.triu_indices(12, k=1)].min())
        assert min(chosen) >= np.quantile(by_chance, 0.95) > np.median(by_chance)

    def test_half_of_a_sparse_code_is_zero(self):
        matrix = sparse_code(60, 0).matrix
        assert 0.46 < np.mean(matrix == 0) < 0.54
        assert_allclose(np.mean(matrix > 0), np.mean(matrix < 0), atol=0.05)

    @pytest.mark.parametrize(
        ("maker", "K", "length", "message"),
        [
            (dense_code, 4, 8, "length=8.*4 classes"),
            (sparse_code, 3, 7, "length=7.*3 classes"),
            (dense_code, 9, 3, "length.* 4.* 3"),
            (sparse_code, 10, 2, "length.* 3.* 2"),
            (dense_code, 9, 5.0, "length"),
            (dense_code, 30, 5, "length 5 .*30 classes"),
        ],
    )
    def test_lengths_that_cannot_be(self, maker, K, length, message):
        with pytest.raises(ParameterError, match=message):
            maker(K, 0, length)

    def test_an_exhaustive_code_of_many_classes_is_refused_with_its_size(self):
        assert exhaustive_code(12).n_columns == 2047
        with pytest.raises(ParameterError, match=r"13 classes.*4,095.* 12"):
            exhaustive_code(13)

    @pytest.mark.parametrize(
        "maker", [one_vs_rest, one_vs_rest_default, one_vs_one, exhaustive_code, dense_code, sparse_code]
    )
    @pytest.mark.parametrize("K", [1, 0, 2.5, True])
    def test_there_are_at_least_two_classes(self, maker, K):
        with pytest.raises(ParameterError, match="n_classes"):
            maker(K)


class TestTablesThatCannotWork:
    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[1, -1], [-1, 1], [1, -1]], "Rows 0 and 2 of the code are equal"),
            ([[1, 1], [-1, -1], [0, 0]], "Row 2 of the code is all 0"),
            ([[1, 1], [-1, 0], [-1, 1]], "Column 1 of the code must have both -1 and \\+1"),
            ([[0, 1], [1, 0], [1, 1]], "codes of 0 and 1 with 2 \\* code - 1"),
            ([[1, 1, -1], [-1, 1, 1], [-1, -1, 1]], "Columns 0 and 2 of the code are complementary"),
            ([[1, -1, 1], [-1, 1, -1], [-1, -1, -1]], "Columns 0 and 2 of the code are equal"),
            ([[0, 0], [1, -1], [-1, 1]], "Row 0 of the code is all 0"),
            ([[1], [-2]], "row 1, column 0 is -2"),
            ([[1, 0.5], [-1, 1]], "row 0, column 1 is 0.5"),
            ([[1, np.nan], [-1, 1]], "row 0, column 1 is nan"),
            ([1, -1], "shape \\(2,\\)"),
            ([[1, -1]], "shape \\(1, 2\\)"),
            (np.empty((3, 0)), "shape \\(3, 0\\)"),
            ([["a"], ["b"]], "-1, 0 and \\+1"),
            ([[1, -1], [1]], "-1, 0 and \\+1"),
            (None, "-1, 0 and \\+1|shape"),
        ],
    )
    def test_they_are_refused(self, matrix, message):
        with pytest.raises(ParameterError, match=message):
            Codebook(matrix)

    @pytest.mark.parametrize(
        "matrix", [[[-1], [1]], [[1, 1], [-1, -1], [1, -1]], [[1, 1, 0], [-1, -1, 1], [1, -1, -1]]]
    )
    def test_opposite_rows_are_as_good_as_rows_can_be(self, matrix):
        code = Codebook(matrix)
        assert code.distances[0, 1] == code.distances.max()
        assert_array_equal(code.decode(code.matrix.astype(float), "hamming").argmax(axis=1), np.arange(len(matrix)))

    def test_a_table_is_copied_and_cannot_be_written(self):
        table = np.array([[-1.0], [1.0]])
        code = Codebook(table)
        table[:] = 0
        assert_array_equal(code.matrix, [[-1], [1]])
        with pytest.raises(ValueError, match="read-only"):
            code.matrix[0, 0] = 1


class TestAmbiguity:
    def test_one_vs_rest_by_hand(self):
        scores = np.array([[-1.0, -2.0, 0.0], [1.0, -1.0, -1.0], [1.0, 2.0, -1.0], [0.1, 0.2, 0.3]])
        found = ambiguous(scores, one_vs_rest(3))
        assert_array_equal(found.counts, [0, 1, 2, 3])
        assert_array_equal(found.candidates, scores > 0)
        assert_array_equal(found.none, [True, False, False, False])
        assert_array_equal(found.several, [False, False, True, True])

    def test_the_voting_form_falls_back_on_its_default(self):
        scores = np.array([[-1.0, -2.0], [1.0, -1.0], [1.0, 2.0]])
        found = ambiguous(scores, one_vs_rest_default(3))
        assert_array_equal(found.candidates, [[0, 0, 1], [1, 0, 0], [1, 1, 0]])
        assert not found.none.any()

    def test_one_vs_one_by_hand(self):
        """A circle of three, a clear winner, and four classes of which two win twice."""
        found = ambiguous(np.array([[-1.0, 4.0, -1.0], [1.0, -1.0, -1.0]]), one_vs_one(3))
        assert_array_equal(found.candidates, [[1, 1, 1], [0, 1, 0]])
        # 0 beats 1 and 2, 1 beats 2 and 3, 2 beats nobody but 3, 3 beats 0
        four = ambiguous(np.array([[-1.0, -1.0, 1.0, -1.0, -1.0, -1.0]]), one_vs_one(4))
        assert_array_equal(four.candidates, [[1, 1, 0, 0]])

    def test_codes_by_hand(self):
        code = Codebook([[-1, -1, 1], [-1, 1, -1], [1, -1, -1]])
        found = ambiguous(np.array([[-1.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [1.0, 1.0, -1.0]]), code, by="hamming")
        assert_array_equal(found.candidates, [[1, 1, 1], [0, 1, 0], [0, 1, 1]])

    @given(codebooks, st.integers(0, 100))
    def test_by_distance_they_are_all_classes_that_are_closest(self, codebook, seed):
        scores = some_scores(codebook, seed=seed)
        found = ambiguous(scores, codebook, by="hamming")
        distances = -codebook.decode(scores, "hamming")
        for i in range(len(scores)):
            assert_array_equal(np.flatnonzero(found.candidates[i]), np.flatnonzero(distances[i] == distances[i].min()))

    @given(st.sampled_from([one_vs_rest, one_vs_rest_default, one_vs_one]), st.integers(3, 6), st.integers(0, 100))
    def test_a_row_with_one_candidate_is_given_to_it(self, scheme, K, seed):
        codebook = scheme(K)
        scores = some_scores(codebook, n=60, seed=seed)
        found = ambiguous(scores, codebook)
        best = codebook.decode(scores, "votes+confidence").argmax(axis=1)
        assert_array_equal(found.candidates[np.arange(60), best], ~found.none)

    @pytest.mark.parametrize("by", ["votes", "hamming"])
    def test_two_classes_are_never_ambiguous(self, by):
        for codebook in (one_vs_rest(2), one_vs_rest_default(2), one_vs_one(2), dense_code(2)):
            assert_array_equal(ambiguous(np.array([[-2.0], [0.0], [1.0]]), codebook, by).counts, 1)

    def test_an_unknown_count(self):
        with pytest.raises(ParameterError, match=r"by .*'votes'.*'hamming'.*'loss'"):
            ambiguous(np.zeros((1, 3)), one_vs_rest(3), by="loss")

    def test_scores_must_be_finite(self):
        with pytest.raises(InputError, match="row 1 has"):
            ambiguous(np.array([[0.0, 1.0, 1.0], [np.nan, 1.0, 1.0]]), one_vs_rest(3))


class TestCodebookRule:
    rule = LinearRule(np.array([1.0, 2.0]), np.array([[1.0, 0.5], [-1.0, 2.0], [0.0, 1.0]]), np.array([0.1, 0.2, 0.3]))

    @pytest.mark.parametrize("decoding", DECODINGS)
    def test_linear_scores_are_decoded(self, decoding):
        X = np.random.default_rng(0).normal(size=(50, 2))
        coded = CodebookRule(self.rule, one_vs_one(3), decoding)
        expected = one_vs_one(3).decode(self.rule.scores(X), decoding)
        assert_array_equal(coded.scores(X), expected)
        assert_allclose(coded.scores(sp.csr_matrix(X)), expected, rtol=1e-12)

    def test_parts_of_a_large_block_are_put_together(self):
        rng = np.random.default_rng(0)
        codebook = one_vs_one(20)
        rule = LinearRule(np.zeros(3), rng.normal(size=(190, 3)), rng.normal(size=190))
        X = rng.normal(size=(3000, 3))
        expected = codebook.decode(rule.scores(X), "votes")
        assert_array_equal(CodebookRule(rule, codebook, "votes").scores(X), expected)
