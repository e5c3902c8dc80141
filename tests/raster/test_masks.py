"""Masks: pixels left out by values or bits of another raster."""

import numpy as np
import pytest
import rasterio
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, scene, write_image

from discriminant import LinearDiscriminantAnalysis
from discriminant.errors import InputError, ParameterError
from discriminant.raster import Mask, classify_image, draw_samples, open_image


@pytest.fixture
def masked(tmp_path):
    """An image, a model, and the values of a mask."""
    values, truth, (X, y) = scene(30, 40)
    marks = np.random.default_rng(0).integers(0, 12, (1, 30, 40)).astype("uint16")
    write_image(tmp_path / "mask.tif", marks)
    return write_image(tmp_path / "image.tif", values), LinearDiscriminantAnalysis().fit(X, y), marks[0], truth


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, lambda marks: marks != 0),
        ("3", lambda marks: marks == 3),
        ("0,2-4", lambda marks: np.isin(marks, (0, 2, 3, 4))),
        ("bits 1", lambda marks: marks & 2 > 0),
        ("bits 0,2-3", lambda marks: marks & 13 > 0),
        ("sentinel2-scl", lambda marks: np.isin(marks, (0, 1, 3, 8, 9, 10))),
        ("landsat-qa", lambda marks: marks & 31 > 0),
    ],
)
def test_masked_pixels_have_no_class_and_are_counted(tmp_path, masked, given, expected):
    image, model, marks, _ = masked
    with open_image(image, mask=Mask(tmp_path / "mask.tif", given)) as source:
        found = classify_image(model, source, tmp_path / "map.tif")
    left_out = expected(marks)
    assert_array_equal(read_raster(found.path)[0] == 0, left_out)
    assert found.n_masked == found.n_nodata == left_out.sum()


def test_masked_pixels_are_no_samples(tmp_path, masked):
    image, _, marks, truth = masked
    codes = 1 + np.unique(truth, return_inverse=True)[1]
    areas = write_image(tmp_path / "areas.tif", codes[None].astype("uint8"))
    with open_image(image, mask=Mask(tmp_path / "mask.tif", "5")) as source:
        samples = draw_samples(source, areas)
    assert samples.n_pixels == (marks != 5).sum()
    assert any(finding.kind == "nodata" for finding in samples.findings)


@pytest.mark.parametrize("given", ["", "cloud", "3;4", "bits", "bits -1", "3-"])
def test_masks_that_cannot_be_read_are_refused(tmp_path, given):
    with pytest.raises(ParameterError):
        Mask(tmp_path / "mask.tif", given)


def test_a_mask_must_fit_the_image(tmp_path, masked):
    image, *_ = masked
    write_image(tmp_path / "small.tif", np.ones((1, 30, 39), "uint8"))
    moved = GRID["transform"] @ rasterio.Affine.translation(1, 0)
    write_image(tmp_path / "moved.tif", np.ones((1, 30, 40), "uint8"), transform=moved)
    write_image(tmp_path / "float.tif", np.ones((1, 30, 40), "float32"))
    cases = [("small.tif", None), ("moved.tif", None), ("float.tif", "3"), ("mask.tif", "bits 16"), ("none.tif", None)]
    cases += [("mask.tif", "70000")]
    for name, values in cases:
        with pytest.raises(InputError):
            open_image(image, mask=Mask(tmp_path / name, values))
