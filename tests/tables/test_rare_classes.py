"""Classes of few rows can be left out, in training and in every later evaluation."""

import json

import numpy as np
import pandas as pd
import pytest

from discriminant import LinearDiscriminantAnalysis, compare, read_training
from discriminant.errors import LabelError, ParameterError
from discriminant.tables import Schema

SIZES = {"a": 60, "b": 50, "c": 3, "d": 2, "e": 1}


def frame(names=tuple(SIZES)):
    """Five classes, three of them rare."""
    y = np.repeat(np.arange(5), list(SIZES.values()))
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    return pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": np.array(names)[y]})


def reread(schema):
    return Schema.from_dict(json.loads(json.dumps(schema.to_dict())))


def test_rare_classes_are_left_out_with_a_word():
    training = read_training(frame(), "y", drop_classes_below=3)
    assert training.schema.target.classes == ("a", "b", "c")
    assert training.schema.target.left_out == ("d", "e")
    assert (len(training.y), training.n_dropped, len(training.X)) == (113, 3, 113)
    assert training.row_numbers[-1] == 112
    (finding,) = [finding for finding in training.findings if finding.kind == "rare class"]
    assert "'d' and 'e'" in str(finding.message)


def test_labels_of_new_rows_leave_out_the_same_classes():
    training = read_training(frame(), "y", drop_classes_below=10)
    labels, present = reread(training.schema).labels(frame())
    np.testing.assert_array_equal(labels, training.y)
    np.testing.assert_array_equal(np.flatnonzero(present), training.row_numbers)


def test_whole_numbers_stay_whole_numbers_where_classes_are_left_out():
    training = read_training(frame((10, 20, 30, 40, 50)), "y", drop_classes_below=5)
    assert training.schema.target.classes == (10, 20)
    assert training.y.dtype.kind == "i"
    labels, present = reread(training.schema).labels(frame((10, 20, 30, 40, 50)))
    assert set(labels.tolist()) == {10, 20}
    assert present.sum() == 110


def test_a_class_that_training_never_saw_is_still_refused():
    training = read_training(frame(), "y", drop_classes_below=5)
    with pytest.raises(LabelError, match="'z'"):
        training.schema.labels(frame(("a", "b", "c", "d", "z")))


def test_sparse_rows_lose_rare_classes_too(tmp_path):
    rows = frame((1, 2, 3, 4, 5))
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{y} 1:{u:.3f} 2:{v:.3f}\n" for u, v, y in rows.to_numpy().tolist()))
    training = read_training(path, drop_classes_below=3)
    assert training.schema.target.classes == (1, 2, 3)
    assert (training.X.shape, training.n_dropped) == ((113, 2), 3)


def test_rows_with_gaps_are_left_out_before_classes_are_counted():
    rows = frame()
    rows.loc[110:111, "u"] = np.nan  # two of the three rows of c
    training = read_training(rows, "y", missing="drop", drop_classes_below=3)
    assert training.schema.target.classes == ("a", "b")
    assert set(training.schema.target.left_out) == {"c", "d", "e"}
    assert training.n_dropped == 6


def test_weights_and_groups_stay_with_their_rows():
    rows = frame()
    rows["w"], rows["g"] = np.arange(116) + 1, np.arange(116) % 7
    training = read_training(rows, "y", weights="w", groups="g", drop_classes_below=5)
    np.testing.assert_array_equal(training.weights, np.arange(110) + 1)
    np.testing.assert_array_equal(training.groups, np.arange(110) % 7)


def test_a_single_row_names_the_way_out():
    training = read_training(frame(), "y")
    (finding,) = [finding for finding in training.findings if finding.kind == "single-row class"]
    assert "drop_classes_below=2" in str(finding.message)
    with pytest.raises(LabelError, match=r"'e' .* drop_classes_below=2"):
        compare({"lda": LinearDiscriminantAnalysis()}, training.X, training.y)
    fewer = read_training(frame(), "y", drop_classes_below=2)
    assert compare({"lda": LinearDiscriminantAnalysis()}, fewer.X, fewer.y).ranking


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"drop_classes_below": 55}, LabelError, "'y' .* 55 "),
        ({"drop_classes_below": 0}, ParameterError, "^drop_classes_below "),
    ],
)
def test_what_cannot_be_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        read_training(frame(), "y", **options)
