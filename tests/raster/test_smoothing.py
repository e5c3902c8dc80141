"""Smoothing of maps: kernels against SciPy and plain loops, windows that do not matter, and the choice by areas."""

import landsat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster, scene, write_image
from scipy.ndimage import label, uniform_filter

from discriminant import Decision, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.errors import InputError, ParameterError
from discriminant.estimators.linear import MinimumDistance
from discriminant.raster import (
    MapOptions,
    MapRule,
    Smoothing,
    choose_smoothing,
    classify,
    classify_image,
    draw_samples,
    fit_image_model,
    image_model,
    read_class_map,
    sieved,
)
from discriminant.raster.smoothing import POTTS_SWEEPS, WHOLE

LANDSAT = [str(path) for path in landsat.BANDS]


def shares_of(rng, K, height, width):
    values = rng.dirichlet(np.ones(K), (height, width)).transpose(2, 0, 1)
    return np.rint(WHOLE * values).astype(np.uint16)


def box_means(values, valid, window):
    """Means over the valid pixels of windows, by SciPy."""
    seen = uniform_filter(valid.astype(float), window, mode="constant")
    sums = [uniform_filter(np.where(valid, band, 0.0), window, mode="constant") for band in values]
    return np.stack(sums) / np.maximum(seen, 1e-12)


@pytest.mark.parametrize(("window", "strength"), [(3, 1.0), (3, 0.5), (7, 1.0), (9, 0.2)])
def test_bayesian_smoothing_is_its_formula(window, strength):
    rng = np.random.default_rng(window)
    shares, valid = shares_of(rng, 4, 23, 31), rng.random((23, 31)) > 0.2
    p = shares / WHOLE
    mean = box_means(p, valid, window)
    if strength == 1:
        expected = mean
    else:
        noise, variance = strength / (4 * (1 - strength)), box_means(p * p, valid, window) - mean**2
        expected = (variance * p + noise * mean) / (variance + noise)
    expected = expected / expected.sum(axis=0)
    found = Smoothing("bayes", window, strength).smoothed(shares, valid) / WHOLE
    assert_allclose(found[:, valid], expected[:, valid], atol=1.5e-5)


def plain_potts(p, valid, beta):
    """Iterated conditional modes, pixel by pixel; and the conditional probabilities at the end."""
    K, height, width = p.shape
    logs, labels = np.log(np.maximum(p, 0.5 / WHOLE)), np.where(valid, p.argmax(axis=0), -1)

    def energies(r, c):
        around = [labels[i, j] for i in range(max(r - 1, 0), min(r + 2, height))
                  for j in range(max(c - 1, 0), min(c + 2, width)) if (i, j) != (r, c)]  # fmt: skip
        return logs[:, r, c] + beta * np.array([around.count(k) for k in range(K)])

    for _ in range(POTTS_SWEEPS):
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            for r in range(a, height, 2):
                for c in range(b, width, 2):
                    if valid[r, c]:
                        labels[r, c] = energies(r, c).argmax()
    out = np.zeros(p.shape)
    for r, c in zip(*np.nonzero(valid), strict=True):
        found = np.exp(energies(r, c) - energies(r, c).max())
        out[:, r, c] = found / found.sum()
    return out


@pytest.mark.parametrize("beta", [0.3, 1.1])
def test_potts_modes_are_those_of_plain_loops(beta):
    rng = np.random.default_rng(1)
    shares, valid = shares_of(rng, 3, 14, 17), rng.random((14, 17)) > 0.1
    found = Smoothing("potts", strength=beta).smoothed(shares, valid) / WHOLE
    assert_allclose(found[:, valid], plain_potts(shares / WHOLE, valid, beta)[:, valid], atol=2e-5)


@given(seed=st.integers(0, 200), least=st.integers(1, 9), share=st.floats(0.0, 0.3))
def test_no_small_patch_is_left_beside_a_large_one(seed, least, share):
    rng = np.random.default_rng(seed)
    codes = rng.integers(1, 4, (15, 18)).astype(np.uint8)
    codes[:4] = 1  # a large patch
    codes[rng.random(codes.shape) < share] = 0
    found = sieved(codes, 0, least)
    assert_array_equal(found == 0, codes == 0)
    for code in np.unique(found[found > 0]):
        patches, n = label(found == code)
        for patch in range(1, n + 1):
            own = patches == patch
            if own.sum() < least:  # it is isolated by nodata, or further from large patches than these grow
                assert_array_equal(found[own], codes[own])


def test_a_large_patch_keeps_its_pixels():
    codes = np.ones((12, 12), dtype=np.uint8)
    codes[2:5, 2:5], codes[8, 8] = 2, 3
    found = sieved(codes, 0, 9)
    assert_array_equal(found == 2, codes == 2)
    assert not (found == 3).any()


RULES = [
    MapRule(smoothing=Smoothing("bayes", 5)),
    MapRule(smoothing=Smoothing("bayes", 7, 0.5)),
    MapRule(smoothing=Smoothing("potts", strength=0.8)),
    MapRule(smoothing=Smoothing("majority", 5)),
    MapRule(min_pixels=6),
    MapRule(smoothing=Smoothing("potts", strength=0.8), min_pixels=4, reject=0.95),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_map_does_not_depend_on_windows_and_threads(tmp_path, monkeypatch, rule):
    values, _, (X, y) = scene(150, 170)
    values[:, 40:60, 90:95] = 0
    tiled = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    image, model = write_image(tmp_path / "i.tif", values, nodata=0, **tiled), QuadraticDiscriminantAnalysis().fit(X, y)
    files = {"probability": tmp_path / "p.tif", "overwrite": True}
    if rule.smoothing is not None and not rule.smoothing.needs_probabilities:
        files.pop("probability")
    whole = classify_image(model, image, tmp_path / "w.tif", rule, MapOptions(**files, n_jobs=1))
    expected = read_raster(whole.path), [read_raster(path) for path in [*map(files.get, ("probability",))] if path]
    monkeypatch.setattr(classify, "WIDE_WINDOW_SIDES", ())
    monkeypatch.setattr(classify, "WINDOW_SIDES", (32, 16))
    monkeypatch.setattr(classify, "WIDE_WINDOW_BYTES", 1 << 30)
    parts = classify_image(model, image, tmp_path / "v.tif", rule, MapOptions(**files, n_jobs=3))
    assert_array_equal(read_raster(parts.path), expected[0])
    if "probability" in files:
        assert_array_equal(read_raster(files["probability"]), expected[1][0])
    assert parts.pixels == whole.pixels
    assert parts.n_nodata == 100
    codes, legend, _ = read_class_map(parts.path)
    assert parts.pixels == {entry.label: int((codes == entry.code).sum()) for entry in legend.entries}


def test_costs_decide_by_smoothed_probabilities(tmp_path):
    values, _, (X, y) = scene(40, 50, labels=("forest", "water"))
    model, image = LinearDiscriminantAnalysis().fit(X, y), write_image(tmp_path / "i.tif", values)
    costs = {"forest": {"forest": 0, "water": 1}, "water": {"forest": 9, "water": 0}}
    rule = MapRule(Decision(costs), smoothing=Smoothing("bayes", 5))
    probabilities = tmp_path / "p.tif"
    options = MapOptions(probabilities=probabilities, probability_type="float32")
    found = classify_image(model, image, tmp_path / "m.tif", rule, options)
    codes, legend, _ = read_class_map(found.path)
    forest = read_raster(probabilities)[0]
    clear = np.abs(forest - 0.9) > 1e-3  # expected costs are equal at 0.9
    assert_array_equal((codes == legend.classes[0].code)[clear], (forest > 0.9)[clear])


@pytest.fixture(scope="module")
def training():
    return draw_samples(LANDSAT, str(landsat.POLYGONS), "label")


@pytest.mark.parametrize("name", ["lda", "maximum-likelihood"])
def test_the_chosen_smoothing_raises_the_accuracy_at_independent_points(tmp_path, training, name):
    points = draw_samples(LANDSAT, str(landsat.POINTS), "label")
    trained = set(zip(training.rows.tolist(), training.columns.tolist(), strict=True))
    places = zip(points.rows.tolist(), points.columns.tolist(), strict=True)
    points = points.take([place not in trained for place in places])
    model = fit_image_model(image_model(name, training.classes.tolist()), training)
    chosen = choose_smoothing(model, LANDSAT, training)
    assert chosen.gain > 0.06
    accuracies = []
    for smoothing in (None, chosen.chosen):
        options = MapOptions(overwrite=True)
        made = classify_image(model, LANDSAT, tmp_path / "map.tif", MapRule(smoothing=smoothing), options)
        codes, legend, _ = read_class_map(made.path)
        mapped = [legend.names.get(code) for code in codes[points.rows, points.columns].tolist()]
        accuracies.append(np.mean([one == other for one, other in zip(mapped, points.y.tolist(), strict=True)]))
    assert accuracies[1] - accuracies[0] >= 0.06


@pytest.mark.parametrize("method", ["bayes", "potts", "majority"])
def test_no_smoothing_is_chosen_without_spatial_structure(tmp_path, method):
    values, truth, _ = scene(90, 90)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(truth.shape) < 0.1, 1 + np.unique(truth, return_inverse=True)[1], 0)
    areas = write_image(tmp_path / "areas.tif", labels[None].astype("uint8"), nodata=0)
    image = write_image(tmp_path / "image.tif", values)
    found = choose_smoothing(LinearDiscriminantAnalysis(), image, draw_samples(image, areas), method)
    assert found.chosen is None
    assert found.gain == 0


def test_smoothing_refuses_what_it_cannot_use(tmp_path, training):
    for arguments in (("mean",), ("bayes", 4), ("bayes", 1), ("bayes", 5, 1.5), ("potts", 7, 0.0)):
        with pytest.raises(ParameterError):
            Smoothing(*arguments)
    values, _, (X, y) = scene(20, 20)
    image = write_image(tmp_path / "image.tif", values)
    model = MinimumDistance().fit(X, y)
    with pytest.raises(ParameterError):
        classify_image(model, image, tmp_path / "map.tif", MapRule(smoothing=Smoothing()))
    assert not (tmp_path / "map.tif").exists()
    with pytest.raises(InputError):
        choose_smoothing(LinearDiscriminantAnalysis(), image, training)
