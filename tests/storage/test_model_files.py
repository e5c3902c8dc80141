"""What is stored comes back: every model, every parameter, to the last bit."""

import datetime
import importlib
import pickle
import pkgutil
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as OtherLogisticRegression
from stored_models import STORED, assert_same_answers, fitted, training

import discriminant
from discriminant import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionPath,
    NaiveBayes,
    estimators,
    open_table,
)
from discriminant.errors import ColumnError, InputError, ModelFileError, NotReadyError, SeparationWarning
from discriminant.estimators.decision import DecisionClassifier
from discriminant.estimators.multiclass import OneVsRest
from discriminant.estimators.perceptron import Perceptron
from discriminant.estimators.registry import new_model
from discriminant.estimators.svm import SupportVectorClassifier
from discriminant.storage import archive
from discriminant.storage.archive import NUMBERS, Decoder, Encoder
from discriminant.storage.model_file import load, read_model_file, save
from discriminant.storage.registry import FORMS
from discriminant.tables import read_training
from helpers import collinearity_allowed, fitted_state

#: Differ from the original by design: what refers to training rows is left out or replaced, and scikit-learn's
#: interpolating functions (f_) are made anew from their corners.
LEFT_OUT = {"_training", "_remaining", "_held_out", "stream_", "f_"}


def through_a_file(model, tmp_path, **kept):
    save(model, tmp_path / "model.dsc", **kept)
    return load(tmp_path / "model.dsc")


def without_rows(state):
    if isinstance(state, dict):
        return {name: without_rows(value) for name, value in state.items() if name not in LEFT_OUT}
    return [without_rows(value) for value in state] if isinstance(state, list) else state


def remembered(model):
    return without_rows(fitted_state(model))


@pytest.mark.parametrize("name", STORED)
def test_a_model_comes_back_as_it_was(name, tmp_path):
    X, y = training(name)
    model = fitted(name, X, y)
    again = through_a_file(model, tmp_path)
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert_same_answers(model, again, X)
    assert_same_answers(model, again, X.astype(np.float32))
    assert repr(remembered(again)) == repr(remembered(model))


@pytest.mark.parametrize("name", STORED)
def test_storing_again_gives_the_same_file_but_for_the_date(name, tmp_path):
    model = fitted(name)
    save(model, tmp_path / "first.dsc")
    save(load(tmp_path / "first.dsc"), tmp_path / "second.dsc")
    first, second = (Encoder() for _ in range(2))
    assert first.encode(model, "") == second.encode(load(tmp_path / "second.dsc"), "")
    assert first.arrays.keys() == second.arrays.keys()
    for name, values in first.arrays.items():
        np.testing.assert_array_equal(values, second.arrays[name])
        assert values.dtype == second.arrays[name].dtype


@pytest.mark.parametrize("name", [name for name in STORED if hasattr(STORED[name](), "partial_fit")])
def test_partial_fit_goes_on_after_loading(name, tmp_path):
    X, y = training(name)
    model = STORED[name]()
    model.set_params(**{name: 0 for name in model.get_params() if name.endswith("random_state")})
    with collinearity_allowed():
        model.partial_fit(X[:70], y[:70], classes=np.unique(y))
        again = through_a_file(model, tmp_path)
        for each in (model, again):
            each.partial_fit(X[70:], y[70:])
    assert_same_answers(model, again, X)


def test_a_stream_that_waits_for_a_class_comes_back_waiting(tmp_path):
    X, y = training("lda")
    some = y < 2
    model = LinearDiscriminantAnalysis().partial_fit(X[some], y[some], classes=[0, 1, 2])
    assert_same_answers(model, through_a_file(model, tmp_path), X)
    early = LinearDiscriminantAnalysis().partial_fit(X[y == 0], y[y == 0], classes=[0, 1, 2])
    with pytest.raises(NotReadyError, match="a"):
        through_a_file(early, tmp_path).predict(X)


def test_a_path_comes_back_whole(tmp_path):
    X, y = training("logistic")
    model = LogisticRegressionPath(n_alphas=4).fit(pd.DataFrame(X, columns=list("abcd")), y)
    again = through_a_file(model, tmp_path)
    assert repr(remembered(again)) == repr(remembered(model))


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "c"], [10, -3, 7], [1.0, 2.0, 3.0], np.array(["x", "y", "zz"], dtype=object), [b"k", b"l", b"m"]],
    ids=["text", "integers", "floats", "objects", "bytes"],
)
def test_labels_keep_their_type(labels, tmp_path):
    X, y = training("lda")
    model = LinearDiscriminantAnalysis().fit(X, np.asarray(labels)[y])
    again = through_a_file(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert_same_answers(model, again, X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_mixed_tables_with_hostile_names_and_levels(frame, tmp_path):
    X, y = training("lda")
    names = ['quo"te', "new\nline", "nul\x00", "snow ☃"]
    table = dict(zip(names, X.T, strict=True)) | {"level": np.array(["", "é", '"'])[np.arange(len(y)) % 3]}
    model = NaiveBayes().fit(frame(table), np.array(["n", "j", "ü"])[y])
    again = through_a_file(model, tmp_path)
    assert_same_answers(model, again, frame(table))
    assert type(again.sample(5, random_state=0)[0]) is frame
    for each in (model, again):
        each.partial_fit(frame(table), model.classes_[y])
    assert_same_answers(model, again, frame(table))


def test_training_rows_are_never_stored(tmp_path):
    X, y = training("logistic-two")
    X[0], X[-1] = 123456.789, -98765.4321
    for model in (
        LogisticRegression(alpha=0.1).fit(X, y),
        LogisticRegression(random_state=0).partial_fit(X, y),
        Perceptron(average=True, max_iter=3).fit(X, y),
        SupportVectorClassifier(calibration="isotonic").fit(X, y),
        DecisionClassifier(LinearDiscriminantAnalysis(), calibration="sigmoid").fit(X, y),
        LinearDiscriminantAnalysis(shrinkage=0.5).fit(np.tile(X[:5], 8), y[:5]),
        LinearDiscriminantAnalysis(shrinkage="cv", folds=2).fit(np.tile(X[:12], 8), y[:12]),
    ):
        save(model, tmp_path / "model.dsc")
        content = (tmp_path / "model.dsc").read_bytes()
        rows = np.tile(X, 8)[:, : model.n_features_in_]
        assert not [row for row in rows if row.tobytes() in content]


def test_a_model_of_few_wide_rows_predicts_and_says_what_it_cannot_do(tmp_path):
    X, y = training("lda", n=12, p=40)
    model = LinearDiscriminantAnalysis(shrinkage=0.3).fit(X, y)
    again = through_a_file(model, tmp_path)
    assert_same_answers(model, again, X)
    assert_same_answers(again, through_a_file(again, tmp_path), X)
    assert_same_answers(again, pickle.loads(pickle.dumps(again)), X)
    for use in (lambda m: m.partial_fit(X, y), lambda m: m.covariance_, lambda m: m.sample(3)):
        with pytest.raises(NotReadyError, match="rows"):
            use(again)
    assert_same_answers(model, again.fit(X, y), X)


def test_what_needs_the_training_rows_asks_for_a_new_fit(tmp_path):
    model = fitted("logistic-two")
    with pytest.raises(NotReadyError, match="training rows"):
        through_a_file(model, tmp_path).summary()


def test_a_separated_fit_comes_back_with_what_was_found(tmp_path):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        model = LogisticRegression().fit(X, [0, 0, 1, 1])
    again = through_a_file(model, tmp_path)
    assert again.separation_.kind == "complete"
    assert_same_answers(model, again, X)


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(
            st.text() | st.integers() | st.booleans() | st.tuples(st.integers(), st.text()), inner, max_size=4
        )
    ),
    max_leaves=12,
)


def coded(value):
    encoder = Encoder()
    node = encoder.encode(value, "value")
    decoder = Decoder(encoder.arrays)
    again = decoder.decode(node)
    decoder.finish()
    return again


@given(plain_values)
def test_plain_values_come_back_equal_and_of_the_same_type(value):
    assert repr(coded(value)) == repr(value) or coded(value) == value
    assert type(coded(value)) is type(value)


texts = hnp.unicode_string_dtypes(endianness="<") | hnp.byte_string_dtypes()


@given(hnp.arrays(texts, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)))
def test_arrays_of_text_keep_kind_shape_and_values(values):
    again = coded(values)
    assert (again.dtype.kind, again.shape, again.tolist()) == (values.dtype.kind, values.shape, values.tolist())


@given(
    hnp.arrays(st.sampled_from(list(NUMBERS.values())), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)),
    st.permutations(range(4)),
)
def test_arrays_keep_every_bit_type_and_order_in_memory(values, order):
    turned = values.transpose([axis for axis in order if axis < values.ndim])
    again = coded(turned)
    assert (again.dtype, again.shape) == (turned.dtype, turned.shape)
    assert np.array(again, order="C").tobytes() == np.array(turned, order="C").tobytes()
    if turned.size > 1:
        longer = [axis for axis in range(turned.ndim) if turned.shape[axis] > 1]
        assert np.argsort([again.strides[a] for a in longer]).tolist() == np.argsort(
            [turned.strides[a] for a in longer]
        ).tolist()  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [np.float32(0.1), np.float64("nan"), np.int8(-3), np.bool_(True), np.str_("ü"), np.str_(""), np.uint64(2**64 - 1)],
    ids=repr,
)
def test_numpy_scalars_keep_their_type(value):
    again = coded(value)
    assert type(again) is type(value)
    assert again.tobytes() == value.tobytes()


def test_object_arrays_keep_shape_and_values():
    values = np.empty((2, 2), dtype=object)
    values[:] = [["a", None], [1, b"b"]]
    again = coded(values)
    assert again.dtype == object
    assert again.tolist() == values.tolist()


def test_arrays_of_the_other_byte_order_are_turned_round():
    again = coded(np.arange(3, dtype=">i4"))
    assert again.dtype.str == "<i4"
    assert again.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(2, complex),
        np.zeros(2, "M8[s]"),
        np.zeros(2, np.longdouble),
        np.zeros(1, [("a", "<f8")]),
        np.array([[1, 2], "a"], dtype=object),
    ],
    ids=lambda values: str(values.dtype),
)
def test_arrays_that_no_file_holds_are_refused_by_name(values):
    with pytest.raises(ModelFileError, match=r"model\.part"):
        Encoder().encode(values, "model.part")


@pytest.mark.parametrize(
    ("given", "words"), [({"metrics": {"n": 2**64}}, "64"), ({"training": {"name": "half \ud800"}}, "surrogate")]
)
def test_what_could_not_be_read_is_not_written(given, words, tmp_path):
    with pytest.raises(ModelFileError, match=words):
        save(fitted("lda"), tmp_path / "model.dsc", **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "culprit"),
    [
        (OtherLogisticRegression(), r"sklearn\.linear_model"),
        (OneVsRest(OtherLogisticRegression()), r"OneVsRest\.estimator.*sklearn"),
        (
            DecisionClassifier(OtherLogisticRegression(), calibration="sigmoid"),
            r"DecisionClassifier\.estimator.*sklearn",
        ),
    ],
)
def test_other_estimators_are_refused_by_name(model, culprit, tmp_path):
    X, y = training("lda")
    with pytest.raises(ModelFileError, match=culprit):
        save(model.fit(X, y), tmp_path / "model.dsc")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"random_state": np.random.default_rng(0)}, r"LogisticRegression\.random_state.*Generator"),
        ({"reference": np.datetime64("2020-01-01")}, r"LogisticRegression\.reference.*datetime64"),
        ({"reference": np.longdouble(1)}, r"longdouble|float128"),
        ({"n_jobs": datetime.date(2020, 1, 1)}, r"LogisticRegression\.n_jobs.*datetime\.date"),
    ],
)
def test_parameters_that_cannot_be_stored_are_named(parameters, culprit, tmp_path):
    model = fitted("logistic-two").set_params(**parameters)
    with pytest.raises(ModelFileError, match=culprit):
        save(model, tmp_path / "model.dsc")


def test_models_that_are_not_fitted_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(GaussianNB(), tmp_path / "model.dsc")
    with pytest.raises(InputError, match="dict"):
        save({}, tmp_path / "model.dsc")


def own_estimators():
    """Every estimator of the package that can be made."""
    for module in pkgutil.iter_modules(estimators.__path__, f"{estimators.__name__}."):
        for name, kind in vars(importlib.import_module(module.name)).items():
            own = isinstance(kind, type) and issubclass(kind, BaseEstimator) and kind.__module__ == module.name
            if own and "__init__" in vars(kind):
                yield name, kind


def test_every_estimator_can_be_stored():
    unknown = [name for name, kind in own_estimators() if name not in FORMS or FORMS[name].kind is not kind]
    assert not unknown


def test_what_is_too_large_for_a_file_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_DOCUMENT_BYTES", 100)
    with pytest.raises(ModelFileError, match="100"):
        save(fitted("lda"), tmp_path / "model.dsc")
    assert not list(tmp_path.iterdir())


def test_what_is_kept_with_a_model(tmp_path):
    schema = {"version": 1, "columns": [{"name": "a", "levels": ("x", "y")}]}
    kept = {"metrics": {"auc": np.float64(0.9), "folds": [1, 2]}, "training": {"sha256": "00"}, "author": "é"}
    save(fitted("lda"), tmp_path / "model.dsc", schema=schema, **kept)
    file = read_model_file(tmp_path / "model.dsc")
    assert file.schema == {"version": 1, "columns": [{"name": "a", "levels": ["x", "y"]}]}
    assert file.metadata["metrics"] == {"auc": 0.9, "folds": [1, 2]}
    assert file.metadata["training"] == {"sha256": "00"}
    assert file.metadata["author"] == "é"
    assert file.metadata["class"] == "LinearDiscriminantAnalysis"
    assert file.metadata["package"] == discriminant.__version__
    assert file.metadata["version"] == 1
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(file.metadata["saved"])
    assert datetime.timedelta(0) <= age < datetime.timedelta(minutes=1)


def survey(n=120):
    """Numbers, levels, a truth value and gaps, and what they tell."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.normal(50, 10, n).round(1), "sex": random.choice(["m", "f"], n)})
    frame["smokes"] = random.choice([True, False], n)
    answer = np.where(frame["age"] + 9 * (frame["sex"] == "m") + random.normal(0, 8, n) > 54, "ill", "well")
    frame.loc[::9, "age"] = np.nan
    return frame, answer


@pytest.mark.parametrize("name", ["lda", "ridge", "svm", "naive-bayes", "auto"])
def test_a_model_with_the_schema_of_a_table_takes_its_rows(name, tmp_path):
    frame, answer = survey()
    training = read_training(open_table(frame.assign(answer=answer)), "answer")
    model = new_model(name, training.schema).fit(training.schema.rows(training.X), training.y)
    expected = model.predict(training.schema.rows(training.X))
    again = through_a_file(model, tmp_path, schema=training.schema)
    for rows in (frame, pl.from_pandas(frame), frame[["smokes", "sex", "age"]], frame.assign(more=1)):
        np.testing.assert_array_equal(again.predict(rows), expected)
    np.testing.assert_array_equal(through_a_file(again, tmp_path).predict(frame), expected)
    with pytest.raises(ColumnError, match="sex"):
        again.predict(frame.drop(columns="sex"))


def test_a_schema_that_makes_other_columns_changes_nothing(tmp_path):
    frame, answer = survey()
    schema = read_training(open_table(frame.assign(answer=answer)), "answer").schema
    for kept in (schema, {"columns": 3}, {"version": 1, "columns": []}):
        again = through_a_file(fitted("lda"), tmp_path, schema=kept)
        assert not hasattr(again, "encoder_")
        np.testing.assert_array_equal(again.predict(training("lda")[0]), fitted("lda").predict(training("lda")[0]))


@pytest.mark.parametrize(
    ("kept", "culprit"),
    [
        ({"metrics": {"auc": float("nan")}}, r"metrics\['auc'\].*nan"),
        ({"schema": {1: 2}}, "schema"),
        ({"training": object()}, r"training.*object"),
        ({"note": [1, {2}]}, r"note\[1\].*set"),
    ],
)
def test_what_json_cannot_hold_is_named(kept, culprit, tmp_path):
    with pytest.raises(InputError, match=culprit):
        save(fitted("lda"), tmp_path / "model.dsc", **kept)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"nothing\.dsc"):
        load(tmp_path / "nothing.dsc")
    with pytest.raises(ModelFileError, match="folder"):
        load(tmp_path)
    with pytest.raises(InputError, match="folder"):
        save(fitted("lda"), tmp_path / "no" / "model.dsc")
    with pytest.raises(InputError, match="folder"):
        save(fitted("lda"), tmp_path)
