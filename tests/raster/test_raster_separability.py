"""Separability: distances by their formulas, readings in words, and the bands that help."""

import json

import numpy as np
import pytest
from landsat import BANDS, POLYGONS
from numpy.testing import assert_allclose

from discriminant.errors import ColumnError, DegenerateDataError, InputError
from discriminant.raster import class_separability, draw_samples
from discriminant.raster.figures import separability_matrix
from discriminant.raster.samples import class_statistics
from discriminant.raster.separability import best_bands


@pytest.fixture(scope="module")
def landsat():
    return draw_samples(BANDS, POLYGONS, "label")


def bhattacharyya(first, second):
    """As printed in textbooks."""
    d = first.mean(axis=0) - second.mean(axis=0)
    one, two = np.atleast_2d(np.cov(first.T)), np.atleast_2d(np.cov(second.T))
    mean = (one + two) / 2
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (mean, one, two)]
    return d @ np.linalg.solve(mean, d) / 8 + (logs[0] - (logs[1] + logs[2]) / 2) / 2


def transformed_divergence(first, second):
    d = first.mean(axis=0) - second.mean(axis=0)
    one, two = np.cov(first.T), np.cov(second.T)
    inverse_one, inverse_two = np.linalg.inv(one), np.linalg.inv(two)
    divergence = np.trace((one - two) @ (inverse_two - inverse_one)) / 2
    divergence += np.trace((inverse_one + inverse_two) @ np.outer(d, d)) / 2
    return 2 * (1 - np.exp(-divergence / 8))


def pixels_of(samples, label, columns=slice(None)):
    return samples.X[samples.y == label].astype(np.float64)[:, columns]


def mean_distance(samples, columns):
    """The mean and the least Jeffries-Matusita distance of all pairs in some bands."""
    labels = samples.classes
    found = [
        2 * (1 - np.exp(-bhattacharyya(pixels_of(samples, a, columns), pixels_of(samples, b, columns))))
        for i, a in enumerate(labels)
        for b in labels[i + 1 :]
    ]
    return np.mean(found), np.min(found)


def test_every_pair_has_the_distances_of_the_formulas(landsat):
    found = class_separability(landsat)
    assert len(found.pairs) == 15
    for pair in found.pairs:
        first, second = pixels_of(landsat, pair.first), pixels_of(landsat, pair.second)
        expected = bhattacharyya(first, second)
        assert_allclose(pair.bhattacharyya, expected, rtol=1e-9)
        assert_allclose(pair.jeffries_matusita, 2 * (1 - np.exp(-expected)), rtol=1e-9)
        assert_allclose(pair.transformed_divergence, transformed_divergence(first, second), rtol=1e-9)
        assert 0 <= pair.jeffries_matusita <= 2
    distances = [pair.jeffries_matusita for pair in found.pairs]
    assert distances == sorted(distances)


def test_bands_come_in_the_order_in_which_they_help(landsat):
    found, names = class_separability(landsat), list(landsat.band_names)
    taken = []
    for gain in found.bands:
        j = names.index(gain.band)
        options = {i: mean_distance(landsat, [*taken, i])[0] for i in range(6) if i not in taken}
        assert_allclose(gain.mean, max(options.values()), rtol=1e-9)
        assert_allclose(gain.mean, options[j], rtol=1e-9)
        assert_allclose(gain.alone, mean_distance(landsat, [j])[0], rtol=1e-9)
        taken.append(j)
        assert_allclose(gain.least, mean_distance(landsat, taken)[1], rtol=1e-9)
    assert sorted(taken) == list(range(6))
    assert best_bands(landsat.statistics, 2) == tuple(names[j] for j in taken[:2])


def test_some_bands_only(landsat):
    chosen = [landsat.band_names[4], landsat.band_names[1]]
    found = class_separability(landsat, chosen)
    assert found.band_names == tuple(chosen)
    assert_allclose(found.bands[-1].mean, mean_distance(landsat, [1, 4])[0], rtol=1e-9)
    for wrong in (["b9"], [], chosen[:1] * 2):
        with pytest.raises(ColumnError, match=r"lsat7_2000_10|more than once"):
            class_separability(landsat, wrong)


def classes_at(*means, sd=1.0, n=400):
    """Statistics of one-band classes a, b, ... with exactly these means and this spread."""
    base = np.linspace(-1, 1, n)
    base = sd * base / base.std(ddof=1)
    X = np.concatenate([base + mean for mean in means])[:, None]
    y = np.repeat([chr(97 + k) for k in range(len(means))], n)
    return class_statistics(X, y, np.zeros(len(y)), ("red",))


@pytest.mark.parametrize(
    ("jm", "reading", "words"),
    [
        (0.5, "very poor", "Separability of a and b: very poor (Jeffries-Matusita distance 0.50 of 2"),
        (1.5, "poor", "Separability of a and b: poor (Jeffries-Matusita distance 1.50 of 2"),
        (1.8, "fair", "Separability of a and b: fair (Jeffries-Matusita distance 1.80 of 2"),
        (1.95, "good", "The separability of all pairs of classes is good."),
    ],
)
def test_readings_in_words(jm, reading, words):
    # With equal spread the distance of the means alone decides: B = d^2 / 8.
    found = class_separability(classes_at(0, np.sqrt(-8 * np.log(1 - jm / 2))))
    assert_allclose(found.pairs[0].jeffries_matusita, jm, rtol=1e-9)
    assert found.pairs[0].reading == reading
    assert found.readings[0].startswith(words)
    assert words in str(found)


def test_the_same_class_twice_has_distance_0():
    (pair,) = class_separability(classes_at(3, 3)).pairs
    assert pair.bhattacharyya == pytest.approx(0, abs=1e-12)
    assert pair.transformed_divergence == pytest.approx(0, abs=1e-12)


def test_bands_that_are_enough_are_named():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 300)
    X = rng.normal(size=(600, 3))
    X[:, 1] += 4 * (y == "b")
    found = class_separability(class_statistics(X, y, np.zeros(600), ("blue", "red", "green")))
    assert found.bands[0].band == "red"
    assert found.readings[-1].startswith("Mean Jeffries-Matusita distance: ")


def test_the_scale_is_stated_in_every_output(landsat):
    found = class_separability(landsat)
    assert "0 = identical, 2 = no overlap" in str(found)
    assert "0 = identical, 2 = no overlap" in json.loads(json.dumps(found.to_dict()))["scale"]
    assert "0 = identical, 2 = no overlap" in separability_matrix(found).layout.title.subtitle.text.replace("<br>", " ")
    assert found.to_frame()["separability"].tolist() == [pair.reading for pair in found.pairs]


def test_the_matrix_shows_every_pair_twice(landsat):
    found = class_separability(landsat)
    values = np.asarray(separability_matrix(found).data[0].z)
    names = landsat.classes.tolist()
    for pair in found.pairs:
        i, j = names.index(pair.first), names.index(pair.second)
        assert values[i, j] == values[j, i] == pair.jeffries_matusita


def test_classes_without_a_covariance_are_left_out_by_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(66, 3))
    y = np.repeat(["a", "b", "few", "flat", "plane"], [20, 20, 3, 10, 13])
    X[y == "flat", 1] = 7
    X[y == "plane", 2] = X[y == "plane", 0]
    found = class_separability(class_statistics(X, y, np.zeros(66), ("x", "y", "z")))
    assert [pair.first + pair.second for pair in found.pairs] == ["ab"]
    messages = [finding.message for finding in found.findings]
    assert messages[0].startswith("Class 'few' is left out: a covariance in 3 bands ")
    assert messages[1].startswith("Class 'flat' is left out: band 'y'")
    assert messages[2].startswith("Class 'plane' is left out: ")
    assert messages[0] in str(found)


def test_one_class_has_no_distances(landsat):
    with pytest.raises(DegenerateDataError, match="two classes"):
        class_separability(landsat.of_classes(["forest"]))
    with pytest.raises(InputError, match="got ndarray"):
        class_separability(landsat.X)


def test_of_many_pairs_only_the_closest_are_told_in_sentences():
    rng = np.random.default_rng(0)
    names = [f"class {k:02}" for k in range(12)]
    X, y = rng.normal(size=(12 * 30, 2)), np.repeat(names, 30)
    found = class_separability(class_statistics(X, y, np.arange(len(y)), ("red", "blue")))
    weak = [pair for pair in found.pairs if pair.reading != "good"]
    assert len(weak) == 66
    assert len(found.readings) == 12
    closest = found.pairs[0]
    assert found.readings[0].startswith(f"Separability of {closest.first} and {closest.second}: very poor (")
    assert found.readings[10].startswith("66 of 66 pairs")
