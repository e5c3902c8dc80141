"""Whole maps: every pixel has the class that the model gives its row, and no value stays no value."""

import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster, rows_of, scene, write_image
from scipy.stats import chi2, f
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discriminant import (
    Decision,
    DecisionClassifier,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
)
from discriminant.errors import ColumnError, InputError, LabelError, ParameterError
from discriminant.estimators.linear import MinimumDistance
from discriminant.raster import MapOptions, MapRule, classify
from discriminant.raster.bands import Band
from discriminant.raster.class_map import make_legend, read_class_map
from discriminant.raster.classify import classify_image
from discriminant.raster.colours import rgb
from discriminant.raster.image import Image, open_image
from discriminant.raster.models import NAMES, image_model
from discriminant.theory import distance_limits

GAUSSIAN = [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB()]


def labels_of(path):
    """The map as class labels; None where there is no class."""
    codes, legend, _ = read_class_map(path)
    names = {entry.code: entry.label for entry in legend.classes}
    return np.array([names.get(code) for code in codes.ravel().tolist()], dtype=object).reshape(codes.shape)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("labels", [("forest", "water"), ("forest", "sand", "town", "water")])
def test_the_map_is_the_models_own_prediction(tmp_path, name, labels):
    values, _, (X, y) = scene(labels=labels, dtype="uint8")
    model = image_model(name, labels).fit(X, y)
    found = classify_image(model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif")
    predicted = model.predict(rows_of(values))
    assert_array_equal(labels_of(found.path).ravel(), predicted)
    assert found.pixels == {label: int(np.sum(predicted == label)) for label in labels}
    assert found.n_nodata == 0


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32", "float64"])
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()], ids=repr)
def test_every_type_of_image_is_read_as_it_stands(tmp_path, dtype, model):
    values, _, (X, y) = scene(dtype=dtype, n_bands=3)
    model.fit(X, y)
    found = classify_image(model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif")
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))


@pytest.mark.parametrize("n_bands", [1, 2, 9])
@pytest.mark.parametrize("model", [*GAUSSIAN, MinimumDistance()], ids=repr)
def test_any_number_of_bands(tmp_path, n_bands, model):
    values, _, (X, y) = scene(n_bands=n_bands, seed=n_bands)
    model.fit(X, y)
    found = classify_image(model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif")
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression(alpha=1e-3)),
        LeastSquaresClassifier(),
        Perceptron(average=True),
        DecisionClassifier(LinearDiscriminantAnalysis()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_classifiers_answer_for_themselves(tmp_path, model):
    values, _, (X, y) = scene()
    model.fit(X, y)
    found = classify_image(model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif")
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))


@given(seed=st.integers(0, 1000), share=st.floats(0, 1), general=st.booleans())
def test_a_pixel_without_a_value_never_gets_a_class(tmp_path_factory, seed, share, general):
    folder = tmp_path_factory.mktemp("holes")
    values, _, (X, y) = scene(20, 30, seed=seed % 5)
    holes = np.random.default_rng(seed).random((4, 20, 30)) < share / 4
    values[holes] = 0
    model = (make_pipeline(StandardScaler(), GaussianNB()) if general else QuadraticDiscriminantAnalysis()).fit(X, y)
    image = write_image(folder / "image.tif", values, nodata=0)
    found = classify_image(
        model,
        image,
        folder / "map.tif",
        options=MapOptions(probability=folder / "best.tif", probabilities=folder / "all.tif"),
    )
    missing = holes.any(axis=0)
    assert_array_equal(read_raster(found.path)[0] == found.legend.nodata, missing)
    assert_array_equal(read_raster(folder / "best.tif")[0] == 255, missing)
    assert (read_raster(folder / "all.tif") == 255).all(axis=0)[missing].all()
    assert found.n_nodata == missing.sum()
    assert_array_equal(labels_of(found.path)[~missing], model.predict(rows_of(values))[~missing.ravel()])


def test_nan_alpha_and_per_band_nodata_hide_pixels(tmp_path):
    values, _, (X, y) = scene(dtype="float32")
    model = LinearDiscriminantAnalysis().fit(X, y)
    values[2, 3, 4] = np.nan
    values[1, 5, 6] = -99
    values[0, 7, 8] = np.inf
    found = classify_image(model, write_image(tmp_path / "image.tif", values, nodata=-99), tmp_path / "map.tif")
    assert sorted(zip(*np.nonzero(read_raster(found.path)[0] == 0), strict=True)) == [(3, 4), (5, 6), (7, 8)]


def test_an_alpha_band_hides_pixels_and_is_no_band(tmp_path):
    values, _, (X, y) = scene(n_bands=3, dtype="uint8")
    alpha = np.full((1, *values.shape[1:]), 255, dtype="uint8")
    alpha[0, 10:20, 30:] = 0
    image = write_image(tmp_path / "image.tif", np.concatenate((values, alpha)), photometric="RGB", alpha="YES")
    found = classify_image(LinearDiscriminantAnalysis().fit(X, y), image, tmp_path / "map.tif")
    assert_array_equal(read_raster(found.path)[0] == 0, alpha[0] == 0)


@pytest.mark.parametrize("form", [{}, {"tiled": True, "blockxsize": 128, "blockysize": 64, "interleave": "pixel"}])
def test_windows_and_threads_leave_no_trace(tmp_path, form):
    values, _, (X, y) = scene(1100, 700, n_bands=2)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    image = write_image(tmp_path / "image.tif", values, **form)
    alone = classify_image(model, image, tmp_path / "alone.tif", options=MapOptions(n_jobs=1))
    several = classify_image(model, image, tmp_path / "several.tif", options=MapOptions(n_jobs=3))
    assert alone.path.read_bytes() == several.path.read_bytes()
    assert_array_equal(labels_of(alone.path).ravel(), model.predict(rows_of(values)))


def test_bands_in_files_of_their_own_are_one_image(tmp_path):
    values, _, (X, y) = scene(n_bands=3)
    model = LinearDiscriminantAnalysis().fit(X, y)
    files = [write_image(tmp_path / f"b{j}.tif", values[j : j + 1]) for j in range(3)]
    found = classify_image(model, files, tmp_path / "map.tif")
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))


def squared_distances(model, X, y, rows, chosen):
    """By the definition: each row from the mean of the class it was given, in its covariance."""
    out = np.empty(len(rows))
    for k, label in enumerate(np.unique(y)):
        own = chosen == label
        step = rows[own] - X[y == label].mean(axis=0)
        within = np.concatenate([X[y == one] - X[y == one].mean(axis=0) for one in np.unique(y)])
        if isinstance(model, LinearDiscriminantAnalysis):
            covariance = within.T @ within / (len(X) - len(np.unique(y)))
        elif isinstance(model, GaussianNB):
            covariance = np.diag(X[y == label].var(axis=0))
        elif isinstance(model, QuadraticDiscriminantAnalysis):
            covariance = np.cov(X[y == label].T)
        else:
            covariance = model.covariance_[k]
        out[own] = np.einsum("ij,jk,ik->i", step, np.linalg.inv(covariance), step)
    return out


def limits(model, X, y, share):
    """Of each class, by the law of Hotelling's prediction region."""
    (n_rows, p), (labels, counts) = X.shape, np.unique(y, return_counts=True)
    if isinstance(model, SklearnQDA):
        return np.full(len(labels), chi2.ppf(share, p))
    if isinstance(model, GaussianNB):
        return distance_limits(model, share)
    df = np.full(len(labels), n_rows - len(labels)) if isinstance(model, LinearDiscriminantAnalysis) else counts - 1
    return (1 + 1 / counts) * p * df / (df - p + 1) * f.ppf(share, p, df - p + 1)


@pytest.mark.parametrize(
    "model", [*GAUSSIAN, LinearDiscriminantAnalysis(rank=1), SklearnQDA(store_covariance=True)], ids=repr
)
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_pixels_far_from_their_class_are_rejected(tmp_path, model, share):
    values, _, (X, y) = scene(seed=3)
    model.fit(X, y)
    found = classify_image(
        model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif", rule=MapRule(reject=share)
    )
    chosen = model.predict(rows_of(values))
    limit = dict(zip(model.classes_, limits(model, X, y, share), strict=True))
    far = squared_distances(model, X, y, rows_of(values), chosen) > [limit[label] for label in chosen]
    assert 0 < far.sum() < far.size
    assert_array_equal(read_raster(found.path).ravel() == found.legend.rejected.code, far)
    assert_array_equal(labels_of(found.path).ravel()[~far], chosen[~far])
    assert found.pixels["rejected"] == far.sum()


def test_rejected_and_missing_pixels_have_codes_of_their_own(tmp_path):
    values, _, (X, y) = scene(labels=(0, 1, 2))
    values[:, :3] = 0
    image = write_image(tmp_path / "image.tif", values, nodata=0)
    found = classify_image(
        QuadraticDiscriminantAnalysis().fit(X, y), image, tmp_path / "map.tif", rule=MapRule(reject=0.5)
    )
    codes = [entry.code for entry in found.legend.entries]
    assert codes == [0, 1, 2, 4]
    assert found.legend.nodata == 3
    assert (read_raster(found.path)[0, :3] == 3).all()
    assert found.n_nodata == 3 * 70


def test_costs_decide_and_reject(tmp_path):
    values, _, (X, y) = scene(seed=5)
    model = LinearDiscriminantAnalysis().fit(X, y)
    image, decision = write_image(tmp_path / "image.tif", values), Decision(reject_cost=0.3)
    found = classify_image(model, image, tmp_path / "map.tif", rule=MapRule(decision=decision))
    posterior = model.predict_proba(rows_of(values))
    unsure = posterior.max(axis=1) <= 0.7
    assert 0 < unsure.sum() < unsure.size
    assert_array_equal(read_raster(found.path).ravel() == found.legend.rejected.code, unsure)
    assert_array_equal(labels_of(found.path).ravel()[~unsure], model.predict(rows_of(values))[~unsure])


def test_named_costs_change_the_map(tmp_path):
    values, _, (X, y) = scene(seed=5, labels=("clean", "dirty"))
    model = LinearDiscriminantAnalysis().fit(X, y)
    costs = {("clean", "dirty"): 1, ("dirty", "clean"): 9}
    found = classify_image(
        model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif", rule=MapRule(decision=Decision(costs))
    )
    dirty = model.predict_proba(rows_of(values))[:, 1] > 0.1
    assert_array_equal(labels_of(found.path).ravel() == "dirty", dirty)


def test_a_decision_classifier_that_abstains_rejects(tmp_path):
    values, _, (X, y) = scene(seed=5)
    model = DecisionClassifier(LinearDiscriminantAnalysis(), Decision(reject_cost=0.3)).fit(X, y)
    found = classify_image(model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif")
    abstained = model.predict(rows_of(values)) == "abstain"
    assert_array_equal(read_raster(found.path).ravel() == found.legend.rejected.code, abstained)


@pytest.mark.parametrize("model", [QuadraticDiscriminantAnalysis(), RandomForestClassifier(7, random_state=0)])
def test_probabilities(tmp_path, model):
    values, _, (X, y) = scene()
    values[:, 2, 3] = 0
    model.fit(X, y)
    image, best, every = write_image(tmp_path / "i.tif", values, nodata=0), tmp_path / "b.tif", tmp_path / "e.tif"
    expected = model.predict_proba(rows_of(values)).T.reshape(3, *values.shape[1:])
    options = {"probability": best, "probabilities": every, "overwrite": True}
    classify_image(model, image, tmp_path / "map.tif", options=MapOptions(**options))
    valid = values[0] > 0
    assert_array_equal(read_raster(every)[:, valid], np.rint(100 * expected.astype("float32"))[:, valid])
    assert_array_equal(read_raster(best)[0, valid], np.rint(100 * expected.max(axis=0).astype("float32"))[valid])
    classify_image(model, image, tmp_path / "map.tif", options=MapOptions(probability_type="float32", **options))
    assert_allclose(read_raster(every)[:, valid], expected[:, valid], atol=1e-7)
    assert_array_equal(np.isnan(read_raster(every)).all(axis=0), ~valid)
    with rasterio.open(every) as file:
        assert file.descriptions == tuple(f"probability of {label}" for label in ("forest", "sand", "water"))


def test_another_number_of_bands_is_refused_by_name(tmp_path):
    values, _, (X, y) = scene()
    model = LinearDiscriminantAnalysis().fit(X, y)
    image = write_image(tmp_path / "image.tif", values[:3], names=["blue", "green", "red"])
    with pytest.raises(ColumnError, match=r" 4 bands.*3: blue, green and red"):
        classify_image(model, image, tmp_path / "map.tif")
    trained = [Band(name, "uint16", True) for name in ("blue", "green", "red", "infrared")]
    with pytest.raises(ColumnError, match=r" 4 bands .*infrared"):
        classify_image(model, image, tmp_path / "map.tif", trained_on=trained)
    assert list(tmp_path.iterdir()) == [image]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_bands_with_the_names_of_a_model_are_found_in_any_order(tmp_path, order):
    import pandas as pd

    values, _, (X, y) = scene(n_bands=3)
    names = ["red", "infrared", "swir"]
    model = LinearDiscriminantAnalysis().fit(pd.DataFrame(X[:, :2], columns=names[:2]), y)
    image = write_image(tmp_path / "image.tif", values[order], names=names[order])
    found = classify_image(model, image, tmp_path / "map.tif")
    rows = pd.DataFrame(rows_of(values)[:, :2], columns=names[:2])
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows))


def test_other_names_than_those_of_a_model_are_refused(tmp_path):
    import pandas as pd

    values, _, (X, y) = scene(n_bands=2)
    model = LinearDiscriminantAnalysis().fit(pd.DataFrame(X, columns=["red", "infrared"]), y)
    image = write_image(tmp_path / "image.tif", values, names=["red", "blue"])
    with pytest.raises(ColumnError, match=r"Band 2 .*'infrared'.*'blue'"):
        classify_image(model, image, tmp_path / "map.tif")


def test_a_named_model_behind_a_pipeline_is_not_warned_of(tmp_path):
    import pandas as pd

    values, _, (X, y) = scene(n_bands=2)
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(pd.DataFrame(X, columns=["red", "infrared"]), y)
    image = write_image(tmp_path / "image.tif", values, names=["red", "infrared"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classify_image(model, image, tmp_path / "map.tif")


def test_more_than_255_classes_make_a_map_of_uint16(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([f"species {k:03d}" for k in range(300)], 3)
    centres = rng.uniform(100, 9000, (300, 2)).repeat(3, axis=0)
    model = MinimumDistance().fit(centres + rng.normal(size=centres.shape), y)
    values = rng.integers(100, 9000, (2, 30, 40)).astype("uint16")
    image = write_image(tmp_path / "image.tif", values)
    found = classify_image(model, image, tmp_path / "map.tif")
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))
    with rasterio.open(found.path) as file:
        assert file.dtypes == ("uint16",)
        assert file.colormap(1)[300] == (*rgb(found.legend.classes[299].colour), 255)
    assert found.path.with_suffix(".qml").read_text().count("<paletteEntry") == 300


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"output": "map.png"}, InputError, r"ends in \.tif"),
        ({"output": "nowhere/map.tif"}, InputError, "folder"),
        ({"output": "image.tif"}, InputError, "exists"),
        ({"probability": "map.tif"}, InputError, "map.tif"),
        ({"reject": 1}, ParameterError, "reject"),
        ({"reject": 0}, ParameterError, "reject"),
        ({"probability_type": "uint8"}, ParameterError, "'percent' or 'float32'"),
        ({"colours": {"lava": "#ff0000"}}, ParameterError, "'lava'"),
        ({"colours": {"water": "blue"}}, ParameterError, "#RRGGBB"),
        ({"n_jobs": 0}, ParameterError, "n_jobs"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, options, error, words):
    options = dict(options)
    values, _, (X, y) = scene(8, 9)
    image = write_image(tmp_path / "image.tif", values)
    output, reject = tmp_path / options.pop("output", "map.tif"), options.pop("reject", None)
    if "probability" in options:
        options["probability"] = tmp_path / options["probability"]
    before = image.read_bytes()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    with pytest.raises(error, match=words):
        classify_image(model, image, output, MapRule(reject=reject), MapOptions(**options))
    assert list(tmp_path.iterdir()) == [image]
    assert image.read_bytes() == before


def test_models_that_cannot_do_what_is_asked(tmp_path):
    values, _, (X, y) = scene(8, 9)
    image, target = write_image(tmp_path / "image.tif", values), tmp_path / "map.tif"
    with pytest.raises(ParameterError, match="MinimumDistance"):
        classify_image(MinimumDistance().fit(X, y), image, target, options=MapOptions(probability=tmp_path / "p.tif"))
    with pytest.raises(ParameterError, match="LogisticRegression has no class means"):
        classify_image(LogisticRegression(alpha=0.1).fit(X, y), image, target, rule=MapRule(reject=0.99))
    with pytest.raises(ParameterError, match="expected costs"):
        classify_image(MinimumDistance().fit(X, y), image, target, rule=MapRule(decision=Decision(reject_cost=0.2)))
    with pytest.raises(NotFittedError):
        classify_image(LinearDiscriminantAnalysis(), image, target)
    assert list(tmp_path.iterdir()) == [image]


def test_a_truncated_image_leaves_no_map(tmp_path):
    values, _, (X, y) = scene(900, 300, n_bands=2)
    image = write_image(tmp_path / "image.tif", values)
    image.write_bytes(image.read_bytes()[: image.stat().st_size * 2 // 3])
    with pytest.raises(InputError, match="tif"):
        classify_image(LinearDiscriminantAnalysis().fit(X, y), image, tmp_path / "map.tif")
    assert list(tmp_path.iterdir()) == [image]


def test_a_photograph_without_coordinates(tmp_path):
    values, _, (X, y) = scene(n_bands=3, dtype="uint8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(tmp_path / "p.png", "w", driver="PNG", count=3, height=60, width=70, dtype="uint8") as file:
            file.write(values)
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = classify_image(model, tmp_path / "p.png", tmp_path / "map.tif")
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))
    assert found.hectares is None
    assert found.hectares is None


def test_the_map_lies_where_the_image_does(tmp_path):
    values, _, (X, y) = scene()
    image = write_image(tmp_path / "image.tif", values)
    with open_image(image) as opened:
        found = classify_image(LinearDiscriminantAnalysis().fit(X, y), opened, tmp_path / "map.tif")
        with rasterio.open(found.path) as file:
            assert (file.crs, file.transform, file.shape) == (opened.crs, opened.transform, opened.shape)
    assert_allclose(sum(found.hectares.values()), 0.01 * sum(found.pixels.values()), rtol=2e-3)


def test_a_map_does_not_replace_its_image(tmp_path):
    values, _, (X, y) = scene(8, 9)
    image = write_image(tmp_path / "image.tif", values)
    with pytest.raises(InputError, match=r"image\.tif"):
        classify_image(LinearDiscriminantAnalysis().fit(X, y), image, image, options=MapOptions(overwrite=True))
    assert_array_equal(read_raster(image), values)


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB])
def test_a_class_of_prior_0_never_wins(tmp_path, kind):
    values, _, (X, y) = scene()
    model = kind(priors=[0.5, 0, 0.5]).fit(X, y)
    found = classify_image(model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif")
    assert found.pixels["sand"] == 0
    assert_array_equal(labels_of(found.path).ravel(), model.predict(rows_of(values)))


def test_memory_does_not_grow_with_the_image(tmp_path):
    """A map of four times as many pixels (288 MB of image instead of 72) needs hardly more memory."""
    code = f"""
        import sys
        import numpy as np
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from painted import scene, write_image
        from discriminant import QuadraticDiscriminantAnalysis
        from discriminant.raster.classify import classify_image

        values, _, (X, y) = scene(500, 500)
        model = QuadraticDiscriminantAnalysis().fit(X, y)
        tiles = {{"tiled": True, "blockxsize": 256, "blockysize": 256}}
        for times in (6, 12):
            write_image(f"{tmp_path}/{{times}}.tif", np.tile(values, (1, times, times)), **tiles)
        del values, X, y
        with open("/proc/self/clear_refs", "w") as file:  # the highest mark so far is forgotten
            file.write("5")
        for times in (6, 12):
            classify_image(model, f"{tmp_path}/{{times}}.tif", f"{tmp_path}/map{{times}}.tif")
            with open("/proc/self/status") as status:
                print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    small, large = (int(line) / 1024 for line in run.stdout.split())
    assert large < 600
    assert large - small < 30


def test_named_models():
    assert image_model("maximum-likelihood", ["a", "b", "c"]).priors == [1 / 3] * 3
    assert image_model("qda", ["a", "b"]).priors is None
    assert image_model("lda", ["a", "b"], {"a": 0.9, "b": 0.1}).priors == {"a": 0.9, "b": 0.1}
    with pytest.raises(ParameterError, match=r"'mle'.*maximum-likelihood"):
        image_model("mle", ["a", "b"])
    with pytest.raises(ParameterError, match="priors"):
        image_model("minimum-distance", ["a", "b"], {"a": 0.9, "b": 0.1})


def test_codes_of_classes():
    assert [entry.code for entry in make_legend([3, 7, 11]).classes] == [3, 7, 11]
    assert [entry.code for entry in make_legend([-1, 7]).classes] == [1, 2]
    assert [entry.code for entry in make_legend([False, True]).classes] == [1, 2]
    full = make_legend(list(range(256)))
    assert (full.nodata, full.dtype) == (256, "uint16")
    assert make_legend(["rejected", "kept"], reject=True).rejected.name == "rejected (no class)"
    colours = [entry.colour.lower() for entry in make_legend(list(range(1, 100))).classes]
    assert len(set(colours)) == 99
    with pytest.raises((InputError, LabelError), match="65,000"):
        make_legend([f"c{k}" for k in range(65_001)])


def test_numbers_of_colours_are_not_classified(tmp_path):
    values, _, (X, y) = scene(n_bands=1, dtype="uint8")
    path = write_image(tmp_path / "palette.tif", values, photometric="palette")
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, {0: (0, 0, 0), 90: (9, 9, 9)})
    with pytest.raises(InputError, match="tif"):
        classify_image(LinearDiscriminantAnalysis().fit(X, y), path, tmp_path / "map.tif")


def test_windows_of_files_without_tiles_hold_what_is_made_of_them(tmp_path, monkeypatch):
    """A file of lines has windows as wide as itself: they are low where much is written, and so are the tiles."""
    values, _, (X, y) = scene(300, 700)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    image = write_image(tmp_path / "lines.tif", values, blockysize=1)
    options = {"probability_type": "float32", "overwrite": True}
    whole = classify_image(
        model, image, tmp_path / "map.tif", options=MapOptions(probabilities=tmp_path / "p.tif", **options)
    )
    expected = [read_raster(path) for path in whole.files[:2]]
    monkeypatch.setattr(classify, "WINDOW_BYTES", 700 * 32 * (8 + 1 + 12))
    windows, read = [], Image.read
    monkeypatch.setattr(Image, "read", lambda image, window: windows.append(window) or read(image, window))
    low = classify_image(
        model, image, tmp_path / "map.tif", options=MapOptions(probabilities=tmp_path / "p.tif", **options)
    )
    assert {(window.height, window.width) for window in windows if window.height > 1} == {(32, 700), (300 % 32, 700)}
    for path, values in zip(low.files, expected, strict=False):
        assert_array_equal(read_raster(path), values)
        with rasterio.open(path) as file:
            assert set(file.block_shapes) == {(32, 2048)}
