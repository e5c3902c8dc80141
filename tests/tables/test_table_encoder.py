"""The coding of tables as a scikit-learn transformer."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from discriminant.errors import ColumnError, DiscriminantWarning, DtypeError, InputError, ParameterError
from discriminant.tables import TableEncoder, read_training

FRAME = pd.DataFrame(
    {
        "dose": [1.0, None, 3.0, 5.0, 2.0, 4.5],
        "arm": ["a", "b", "a", "c", "b", "a"],
        "smokes": [True, False, True, True, False, True],
    }
)
LABELS = np.array(["y", "n", "y", "n", "n", "y"])


def every_check():
    """scikit-learn's checks without the one it would skip."""
    mark = parametrize_with_checks([TableEncoder()]).mark
    names, cases = mark.args
    kept = [case for case in cases if "array_api" not in repr(case[1])]
    return pytest.mark.parametrize(names, kept, **mark.kwargs)


@every_check()
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_it_codes_as_training_does():
    training = read_training(FRAME.assign(y=LABELS), "y")
    encoder = TableEncoder().fit(FRAME, LABELS)
    assert_array_equal(encoder.transform(FRAME), training.X)
    assert_array_equal(TableEncoder().fit_transform(pl.from_pandas(FRAME)), training.X)
    assert encoder.get_feature_names_out().tolist() == list(training.schema.names)
    assert encoder.findings_ == training.findings


def test_it_works_in_a_pipeline_and_names_its_columns():
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(FRAME, LABELS)
    assert model.predict(FRAME).shape == (6,)
    out = clone(TableEncoder()).set_output(transform="pandas").fit_transform(FRAME)
    assert list(out.columns) == ["dose", "dose=(missing)", "arm=b", "arm=c", "smokes"]


def test_what_training_had_not_is_warned_of():
    encoder = TableEncoder().fit(FRAME)
    with pytest.warns(DiscriminantWarning, match=r"'arm': 6 rows .* \('z'\)"):
        encoder.transform(FRAME.assign(arm="z"))
    with pytest.warns(DiscriminantWarning, match="'arm'"):
        encoder.transform(FRAME.assign(arm=["a", None, "a", "c", "b", "a"]))


def test_arrays_of_objects():
    X = np.array([[1.0, "u"], [2.0, "v"], [None, "u"], [4.0, "u"]], dtype=object)
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x0=(missing)", "x1=v"]


def test_a_failed_fit_leaves_the_encoder_as_it_was():
    encoder = TableEncoder().fit(FRAME)
    before = dict(vars(encoder))
    with pytest.raises(ColumnError, match=r"'parts' .* list"):
        encoder.fit(FRAME.assign(parts=[[1]] * 6))
    assert vars(encoder) == before


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"missing": "drop"}, ParameterError, "missing .* 'indicator' or 'refuse'"),
        ({"max_levels": 0}, ParameterError, "max_levels"),
        ({"types": {"arm": "colour"}}, ParameterError, "'arm'"),
        ({"types": {"army": "number"}}, ColumnError, "'army'.* 'arm'"),
        ({"drop": ["army"]}, ColumnError, "'army'.* 'arm'"),
        ({"missing": "refuse"}, InputError, "'dose' .* 1 "),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        TableEncoder(**parameters).fit(FRAME)


def test_bad_input():
    with pytest.raises(DtypeError):
        TableEncoder().fit(sp.csr_matrix(np.eye(3)))
    encoder = TableEncoder().fit(FRAME)
    with pytest.raises(ColumnError, match="Feature names unseen at fit time"):
        encoder.transform(FRAME.rename(columns={"arm": "leg"}))
    with pytest.raises(ColumnError, match="input_features"):
        encoder.get_feature_names_out(["a", "b", "c"])
