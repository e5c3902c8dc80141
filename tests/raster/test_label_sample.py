"""Images in which nearly every pixel has a label: a random sample is drawn window by window."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from painted import scene, write_image

from discriminant.raster import area_groups, draw_samples, label_image


@pytest.fixture
def wall_to_wall(tmp_path, monkeypatch):
    monkeypatch.setattr(label_image, "MAX_PAINTED_PIXELS", 1_000)
    monkeypatch.setattr(label_image, "MAX_SAMPLED_PIXELS", 300)
    values, truth, _ = scene(70, 90)
    codes = 1 + np.unique(truth, return_inverse=True)[1]
    codes[:, :10] = 0
    codes[60:, 80:] = 9  # a rare class
    return values, codes


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_the_sample_has_labelled_pixels_of_each_class_once(tmp_path, wall_to_wall, dtype):
    values, codes = wall_to_wall
    tiled = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    image = write_image(tmp_path / "image.tif", values)
    areas = write_image(tmp_path / "labels.tif", codes[None].astype(dtype), nodata=0, **tiled)
    samples = draw_samples(image, areas)
    assert_array_equal(samples.y, codes[samples.rows, samples.columns])
    assert_array_equal(samples.X, values[:, samples.rows, samples.columns].T)
    assert dict(zip(*np.unique(samples.y, return_counts=True), strict=True)) == {1: 300, 2: 300, 3: 300, 9: 100}
    assert len(np.unique(samples.rows * 90 + samples.columns)) == samples.n_pixels == len(np.unique(samples.areas))
    assert [finding.kind for finding in samples.findings].count("label-sample") == 1
    assert area_groups(samples).n_groups > 1
    again = draw_samples(image, areas)
    assert_array_equal(again.rows, samples.rows)


def test_the_sample_is_spread_over_the_image(tmp_path, wall_to_wall):
    values, codes = wall_to_wall
    image = write_image(tmp_path / "image.tif", values)
    samples = draw_samples(image, write_image(tmp_path / "labels.tif", codes[None].astype("uint8"), nodata=0))
    own = samples.y == 1
    assert abs(samples.rows[own].mean() - np.nonzero(codes == 1)[0].mean()) < 5
    assert abs(samples.columns[own].mean() - np.nonzero(codes == 1)[1].mean()) < 6
