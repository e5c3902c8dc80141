"""Signature libraries: models trained on statistics are those trained on the pixels; hostile files are refused."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster, rows_of, scene, write_image
from sklearn.utils.estimator_checks import check_estimator
from test_raster_cli import refused, run

from discriminant import (
    FisherDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    SpectralAngle,
)
from discriminant.errors import DegenerateDataError, InputError, LabelError, ParameterError
from discriminant.raster import Signatures, draw_samples, fit_signatures, image_model, load_signatures, save_signatures

NAMES = ("lda", "qda", "maximum-likelihood", "gaussian-nb", "minimum-distance", "spectral-angle")


@pytest.fixture
def drawn(tmp_path):
    values, truth, _ = scene(50, 60)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(truth.shape) < 0.2, 1 + np.unique(truth, return_inverse=True)[1], 0)
    labels = write_image(tmp_path / "labels.tif", labels[None].astype("uint8"), nodata=0)
    image = write_image(tmp_path / "image.tif", values)
    return image, labels, draw_samples(image, labels), rows_of(values)


@pytest.mark.parametrize("name", NAMES)
def test_models_are_those_of_the_pixels(tmp_path, drawn, name):
    _, _, samples, X = drawn
    save_signatures(samples, tmp_path / "s.json")
    found = fit_signatures(name, load_signatures(tmp_path / "s.json"))
    X = pd.DataFrame(X, columns=found.feature_names_in_)
    expected = image_model(name, samples.classes.tolist()).fit(pd.DataFrame(samples.X, columns=X.columns), samples.y)
    assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-9)
    assert_array_equal(found.predict(X), expected.predict(X))
    if hasattr(expected, "predict_proba"):
        assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "model", [LinearDiscriminantAnalysis(shrinkage="oas"), QuadraticDiscriminantAnalysis(shrinkage=0.2), GaussianNB()]
)
def test_settings_are_used(drawn, model):
    _, _, samples, X = drawn
    found, names = fit_signatures(type(model)(**model.get_params()), Signatures.of(samples)), samples.band_names
    expected = model.fit(samples.X, samples.y).decision_function(X)
    assert_allclose(found.decision_function(pd.DataFrame(X, columns=names)), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearDiscriminantAnalysis(shrinkage="cv"),
        LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
        QuadraticDiscriminantAnalysis(shrinkage="cv"),
        FisherDiscriminant(threshold="cv"),
    ],
    ids=str,
)
def test_models_that_need_pixels_are_refused(drawn, model):
    with pytest.raises(ParameterError):
        fit_signatures(model, Signatures.of(drawn[2]))
    assert not hasattr(model, "rule_")


def test_the_spectral_angle_is_the_smallest(drawn):
    _, _, samples, X = drawn
    model = SpectralAngle().fit(samples.X, samples.y)
    means = np.array([samples.X[samples.y == label].mean(axis=0) for label in samples.classes])
    angles = np.arccos(X @ means.T / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(means, axis=1)))
    assert_array_equal(model.predict(X), samples.classes[angles.argmin(axis=1)])
    assert_array_equal(model.predict(7.5 * X), model.predict(X))


def test_scikit_learn_contract():
    outcomes = check_estimator(SpectralAngle(), on_skip=None, on_fail=None)
    assert {one["check_name"]: one["exception"] for one in outcomes if one["status"] == "failed"} == {}


def test_classes_of_other_libraries_are_sorted_and_may_lack_covariances(tmp_path):
    bands = [{"name": "red", "dtype": "float64"}, {"name": "nir", "dtype": "float64"}]
    classes = [{"class": "water", "pixels": 5, "mean": [4, 1]}, {"class": "grass", "pixels": 1, "mean": [3, 9]}]
    content = {"format": "discriminant signatures", "version": 1, "bands": bands, "classes": classes}
    (tmp_path / "s.json").write_text(json.dumps(content))
    found = load_signatures(tmp_path / "s.json")
    assert found.classes.tolist() == ["grass", "water"]
    for name in ("minimum-distance", "spectral-angle"):
        model = fit_signatures(name, found)
        assert_allclose(model.means_, [[3, 9], [4, 1]])
    with pytest.raises(DegenerateDataError):
        fit_signatures("lda", found)
    assert "Signatures of 2 classes in 2 bands" in str(found)
    assert found.to_frame()["mean"].tolist() == [3, 9, 4, 1]


def damaged(content, case):
    first = content["classes"][0]
    if case in ("classes", "bands", "version"):
        del content[case]
    elif case == "double":
        content["classes"][1]["class"] = first["class"]
    elif case == "short":
        first["mean"] = first["mean"][1:]
    elif case == "asymmetric":
        first["covariance"][0][1] += 50
    elif case == "negative":
        first["covariance"][0][0] = -5
    elif case == "empty":
        first["pixels"] = 0
    else:
        first["mean"][0] = {"nan": float("nan"), "text": "dark", "none": None}[case]
    return content


CASES = ("classes", "bands", "version", "double", "short", "asymmetric", "negative", "empty", "nan", "text", "none")


@pytest.mark.parametrize("case", CASES)
def test_damaged_files_are_refused(tmp_path, drawn, case):
    content = Signatures.of(drawn[2]).to_dict()
    (tmp_path / "s.json").write_text(json.dumps(damaged(content, case)))
    with pytest.raises((InputError, LabelError)):
        load_signatures(tmp_path / "s.json")


def test_other_files_are_refused(tmp_path, drawn):
    for name, text in (("list.json", "[1, 2]"), ("broken.json", "{"), ("bytes.json", "\x00")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError):
            load_signatures(tmp_path / name)
    with pytest.raises(InputError):
        load_signatures(tmp_path / "missing.json")
    with pytest.raises(InputError):
        save_signatures(drawn[2], tmp_path / "s.txt")


@pytest.mark.parametrize("model", ["maximum-likelihood", "spectral-angle"])
def test_the_command_trains_on_signatures(tmp_path, drawn, model):
    image, labels, _, _ = drawn
    library, maps = tmp_path / "s.json", [tmp_path / "a.tif", tmp_path / "b.tif", tmp_path / "c.tif"]
    run("samples", image, labels, "-o", library)
    run("classify", image, "--areas", labels, "--model", model, "--no-validate", "-o", maps[0])
    run("classify", image, "--samples", library, "--model", model, "--save-model", tmp_path / "m.dsc", "-o", maps[1])
    run("classify", image, "--model-file", tmp_path / "m.dsc", "-o", maps[2])
    assert_array_equal(read_raster(maps[0]), read_raster(maps[1]))
    assert_array_equal(read_raster(maps[0]), read_raster(maps[2]))
    run("classify", image, "--samples", library, "-o", tmp_path / "auto.tif")
    other = write_image(tmp_path / "other.tif", read_raster(image)[:3])
    for arguments in (
        [other, "--samples", library],
        [image, "--samples", library, "--model", "logistic"],
        [image, "--samples", library, "--smoothing", "bayes"],
        [image, "--samples", library, "--applicability", tmp_path / "p.tif"],
    ):
        refused("classify", *arguments, "-o", tmp_path / "no.tif")
    assert not (tmp_path / "no.tif").exists()
