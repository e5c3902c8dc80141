"""Separability: what estimates from few pixels add, and names that were given at random."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from patches import Fields

from discriminant.raster import Samples, class_separability
from discriminant.theory import Gaussian, class_distances, unbiased_bhattacharyya


@pytest.mark.parametrize(("p", "n", "step"), [(8, (30, 30), 0.0), (8, (30, 60), 1.5), (64, (180, 180), 2.0)])
def test_the_corrected_distance_has_no_bias(p, n, step):
    rng, raw, corrected = np.random.default_rng(0), [], []
    for _ in range(40):
        rows = [rng.normal(size=(size, p)) + step * k * np.eye(p)[0] for k, size in enumerate(n)]
        gaussians = [Gaussian(own.mean(axis=0), np.cov(own.T)) for own in rows]
        raw.append(class_distances(gaussians).bhattacharyya[0, 1])
        corrected.append(unbiased_bhattacharyya(gaussians, n)[0, 1])
    assert np.mean(raw) > step**2 / 8 + 0.3
    assert abs(np.mean(corrected) - step**2 / 8) < 0.07


def test_many_rows_need_no_correction():
    gaussians = [Gaussian([0, 0], np.eye(2)), Gaussian([1, 2], 3 * np.eye(2)), Gaussian([4, 0], np.eye(2))]
    assert_allclose(unbiased_bhattacharyya(gaussians, [10**6] * 3), class_distances(gaussians).bhattacharyya, atol=1e-4)


@pytest.mark.parametrize("between", [0.0, 1.5])
def test_two_names_of_one_class_are_hardly_told_apart(between):
    """64 bands: fields of one class that differ, named at random; the distance as it is says 2.000."""
    drawn = Fields(12, n_classes=1, n_bands=64, between=between).samples(40, points=False)
    names = np.where(drawn.areas % 2 == 0, "oak", "beech")
    samples = Samples(drawn.X, names, drawn.areas, drawn.rows, drawn.columns, drawn.bands, drawn.origin)
    (pair,) = class_separability(samples).pairs
    assert pair.jeffries_matusita > 1.8
    if not between:
        assert pair.corrected < 0.2
    else:
        assert pair.by_chance > 1
        assert abs(pair.corrected - pair.by_chance) < 0.2


def test_classes_that_differ_are_further_apart_than_by_chance():
    samples = Fields(24, n_classes=2, between=0.3).samples(40, points=False)
    (pair,) = class_separability(samples).pairs
    assert pair.corrected > 1.9 > pair.by_chance
    assert pair.reading == "good"
