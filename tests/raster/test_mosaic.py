"""Mosaics of tiles are read like the whole image, with legend and nodata; unequal tiles are refused."""

import json

import numpy as np
import pytest
import rasterio
from landsat import write_shapes
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, scene, write_image
from rasterio.transform import Affine
from test_raster_cli import PLACES, refused, run, square

from discriminant.errors import InputError
from discriminant.raster import legend_of_file, mosaic_tiles, open_image


def at(column, row):
    return GRID["transform"] @ Affine.translation(column, row)


@pytest.fixture
def tiles(tmp_path):
    """Four tiles of different size, and the values of the whole image."""
    values = scene(60, 60, n_bands=3)[0]
    (tmp_path / "tiles").mkdir()
    parts = {"a": (0, 25, 0, 40), "b": (0, 25, 40, 60), "c": (25, 60, 0, 40), "d": (20, 60, 35, 60)}
    paths = []
    for name, (top, bottom, left, right) in parts.items():
        form = {"transform": at(left, top), "names": ["red", "green", "nir"], "nodata": 0}
        paths.append(write_image(tmp_path / "tiles" / f"{name}.tif", values[:, top:bottom, left:right], **form))
    return values, paths


def test_a_mosaic_is_the_whole_image(tmp_path, tiles):
    values, paths = tiles
    (tmp_path / "out").mkdir()
    made = mosaic_tiles(paths[::-1], tmp_path / "out" / "all.vrt")
    with open_image(made) as image:
        assert image.band_names == ("red", "green", "nir")
        assert (image.transform, str(image.crs)) == (GRID["transform"], GRID["crs"])
        read, valid = image.read()
    assert_array_equal(read, values)
    assert valid.all()
    assert "tiles/a.tif" in made.read_text()


def test_gaps_have_no_value_and_nodata_does_not_hide(tmp_path, tiles):
    values, paths = tiles
    hidden = values[:, 20:60, 35:60].copy()
    hidden[:, :8] = 0
    write_image(paths[3], hidden, transform=at(35, 20), names=["red", "green", "nir"], nodata=0)
    with open_image(mosaic_tiles([paths[0], *paths[2:]], tmp_path / "all.vrt")) as image:
        read, valid = image.read()
    assert not valid[:20, 40:].any()
    expected = np.ones((60, 60), dtype=bool)
    expected[:28, 40:] = False  # not covered, or nodata
    assert_array_equal(valid, expected)
    assert_array_equal(read[:, valid], values[:, valid])


def test_scale_factors_are_kept(tmp_path):
    paths = [write_image(tmp_path / f"{k}.tif", np.ones((1, 4, 4), "int16"), transform=at(4 * k, 0)) for k in (0, 1)]
    for path in paths:
        with rasterio.open(path, "r+") as file:
            file.scales, file.offsets = (0.5,), (-3.0,)
    with open_image(mosaic_tiles(paths, tmp_path / "all.vrt")) as image:
        assert [(band.scale, band.offset, band.dtype) for band in image.bands] == [(0.5, -3.0, "int16")]


@pytest.mark.parametrize(
    "change",
    [
        {"crs": "EPSG:32632"},
        {"transform": at(4.5, 0)},
        {"transform": at(4, 0) @ Affine.scale(2)},
        {"transform": at(4, 0) @ Affine.rotation(5)},
        {"transform": at(6, 0)},  # a gap without nodata
        {"nodata": 7},
        {"names": ["red"]},
        {"values": np.ones((2, 4, 4), "uint8")},
        {"values": np.ones((1, 4, 4), "uint16")},
    ],
    ids=str,
)
def test_unequal_tiles_are_refused(tmp_path, change):
    first = write_image(tmp_path / "a.tif", np.ones((1, 4, 4), "uint8"))
    form = {"values": np.ones((1, 4, 4), "uint8"), "transform": at(4, 0), **change}
    second = write_image(tmp_path / "b.tif", form.pop("values"), **form)
    with pytest.raises(InputError):
        mosaic_tiles([first, second], tmp_path / "all.vrt")
    for arguments in (([], "all.vrt"), ([first], "all.tif"), ([tmp_path / "none.tif"], "all.vrt")):
        with pytest.raises(InputError):
            mosaic_tiles(arguments[0], tmp_path / arguments[1])
    assert not list(tmp_path.glob("all.*"))


@pytest.fixture
def model(tmp_path, tiles):
    shapes = [square(row, column) for _, row, column in PLACES]
    write_shapes(tmp_path / "areas.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    run("mosaic", *tiles[1], "-o", tmp_path / "all.vrt")
    given = ["--areas", tmp_path / "areas.gpkg", "-c", "cover", "--model", "lda"]
    run("classify", tmp_path / "all.vrt", *given, "--save-model", tmp_path / "m.dsc", "-o", tmp_path / "whole.tif")
    return tmp_path / "m.dsc"


def test_maps_of_tiles_are_the_map_of_the_mosaic(tmp_path, tiles, model):
    each = ["classify", *tiles[1], "--each", "--model-file", model, "-o", tmp_path / "maps"]
    found = json.loads(run(*each, "--json").stdout)["maps"]
    assert len(found) == 4
    maps = sorted((tmp_path / "maps").glob("*.tif"))
    made = json.loads(run("mosaic", *maps, "-o", tmp_path / "map.vrt", "--json").stdout)
    assert made["tiles"] == 4
    assert_array_equal(read_raster(tmp_path / "map.vrt"), read_raster(tmp_path / "whole.tif"))
    assert legend_of_file(tmp_path / "map.vrt") == legend_of_file(tmp_path / "whole.tif")
    refused(*each)


@pytest.mark.parametrize("more", [["--probability", "p.tif"], ["--save-model", "n.dsc"], ["--report", "r.html"]])
def test_options_for_one_map_are_refused(tmp_path, tiles, model, more):
    refused("classify", *tiles[1], "--each", "--model-file", model, "-o", tmp_path / "maps", *more)
    assert not (tmp_path / "maps").exists()


def test_other_bands_are_refused_before_the_first_map(tmp_path, tiles, model):
    other = write_image(tmp_path / "other.tif", tiles[0][:2])
    refused("classify", *tiles[1], other, "--each", "--model-file", model, "-o", tmp_path / "maps")
    (tmp_path / "more").mkdir()
    same = write_image(tmp_path / "more" / "a.tif", tiles[0])
    refused("classify", *tiles[1], same, "--each", "--model-file", model, "-o", tmp_path / "maps")
    assert not (tmp_path / "maps").exists()
    for folder in (tmp_path / "none" / "maps", model):
        refused("classify", *tiles[1], "--each", "--model-file", model, "-o", folder)
