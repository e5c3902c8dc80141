"""Stacks of files with pixels of different size: resampled while they are read, the same in every window."""

import numpy as np
import pytest
import rasterio
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, write_image
from rasterio.warp import Resampling, reproject

from discriminant import LinearDiscriminantAnalysis
from discriminant.errors import InputError, ParameterError
from discriminant.raster import Mask, classify, classify_image, open_image


@pytest.fixture
def files(tmp_path):
    """Bands of 20 m and 10 m, and a class band of 20 m with a colour table."""
    rng, coarse = np.random.default_rng(0), GRID["transform"] @ rasterio.Affine.scale(2)
    values = rng.integers(50, 200, (3, 30, 40)).astype("uint8")
    tiled = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    write_image(tmp_path / "b1.tif", values[:1], transform=coarse, **tiled)
    write_image(tmp_path / "b2.tif", rng.integers(50, 200, (1, 60, 80)).astype("uint8"), **tiled)
    write_image(tmp_path / "scl.tif", values[1:2] % 4, transform=coarse, **tiled)
    with rasterio.open(tmp_path / "scl.tif", "r+") as file:
        file.write_colormap(1, {i: (i, i, i, 255) for i in range(4)})
    return tmp_path, values


@pytest.mark.parametrize("method", ["auto", "nearest", "cubic"])
def test_files_are_resampled_to_the_smallest_pixels(files, method):
    folder, values = files
    with open_image([folder / "b1.tif", folder / "b2.tif", folder / "scl.tif"], resample=method) as image:
        read, valid = image.read()
        assert image.band_names == ("b1", "b2", "scl")
    assert read.shape == (3, 60, 80)
    assert valid.all()
    assert_array_equal(read[1], read_raster(folder / "b2.tif")[0])
    if method != "cubic":
        assert_array_equal(read[2], (values[1] % 4).repeat(2, axis=0).repeat(2, axis=1))
    expected = np.empty((60, 80), "uint8")
    own = Resampling["bilinear" if method == "auto" else method]
    systems = {"src_crs": GRID["crs"], "dst_crs": GRID["crs"], "dst_transform": GRID["transform"]}
    coarse = GRID["transform"] @ rasterio.Affine.scale(2)
    reproject(values[0], expected, src_transform=coarse, resampling=own, **systems)
    assert_array_equal(read[0], expected)


def test_the_map_does_not_depend_on_windows(tmp_path, files, monkeypatch):
    folder, _ = files
    (tmp_path / "maps").mkdir()
    rng = np.random.default_rng(1)
    model = LinearDiscriminantAnalysis().fit(rng.uniform(50, 200, (60, 2)), rng.integers(0, 3, 60) + 1)
    (folder / "scl.tif").unlink()
    maps = []
    for side in (512, 16):
        monkeypatch.setattr(classify, "WINDOW_SIDES", (side,))
        with open_image(folder, resample="auto") as image:
            maps.append(read_raster(classify_image(model, image, tmp_path / "maps" / f"{side}.tif").path))
    assert_array_equal(*maps)


def test_a_mask_of_larger_pixels_has_its_nearest_value(files):
    folder, values = files
    with open_image(folder / "b2.tif", mask=Mask(folder / "scl.tif", "3"), resample="auto") as image:
        _, valid = image.read()
    assert_array_equal(~valid, (values[1] % 4 == 3).repeat(2, axis=0).repeat(2, axis=1))


def test_what_cannot_be_resampled_is_refused(files):
    folder, values = files
    both = [folder / "b2.tif", folder / "other.tif"]
    with pytest.raises(InputError):
        open_image([folder / "b1.tif", folder / "b2.tif"])
    with pytest.raises(ParameterError):
        open_image([folder / "b1.tif", folder / "b2.tif"], resample="mean")
    for more in ({"transform": GRID["transform"] @ rasterio.Affine.translation(30, 0)}, {"crs": None}):
        write_image(folder / "other.tif", values[2:], **more)
        with pytest.raises(InputError):
            open_image(both, resample="auto")
    (folder / "empty").mkdir()
    with pytest.raises(InputError):
        open_image(folder / "empty")
