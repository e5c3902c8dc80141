"""Dates as groups of bands: matched in chronological order, whatever the order of the files, or refused."""

import numpy as np
import pytest
from landsat import write_shapes
from numpy.testing import assert_array_equal
from painted import read_raster, scene, write_image
from test_raster_cli import PLACES, refused, run, square

from discriminant.errors import ColumnError
from discriminant.raster import Band, add_indices, bands_like, open_image, refuse_other_bands
from discriminant.raster.dates import band_date, band_dates, ranks

NAMES = ["T33_20230501_B04", "T33_20230501_B08", "T33_20230715_B04", "T33_20230715_B08"]
#: Another tile in another year.
OTHERS = ["T34_20240710_B04", "T34_20240710_B08", "T34_20240510_B04", "T34_20240510_B08"]


def stack(folder, names, values):
    """A file for each band."""
    folder.mkdir()
    return [write_image(folder / f"{name}.tif", band[None]) for name, band in zip(names, values, strict=True)]


@pytest.fixture
def values():
    return scene(60, 60)[0]


@pytest.mark.parametrize("name", ["2024-05-01 red", "B4_20240501", "LC08_L2SP_016035_20240501_20240509_02_T1_B4"])
def test_dates_are_found_in_names(name):
    assert str(band_date(name)[0]) == "2024-05-01"


@pytest.mark.parametrize("name", ["red", "band 20241301", "120240501", "2024050112", "1850-01-01", "20240431"])
def test_other_numbers_are_no_dates(name):
    assert band_date(name) is None


def test_one_date_is_no_group():
    assert band_dates([Band("20240501 red", "uint8"), Band("20240501 nir", "uint8")]) == []
    assert ranks([Band("20240501 red", "uint8"), Band("20230501 red", "uint8")]) == [2, 1]


@pytest.mark.parametrize("names", [OTHERS, ["T33_20230715_B08", *NAMES[:3]]])
def test_bands_are_reordered_by_date(tmp_path, values, names):
    order = [2, 3, 0, 1] if names is OTHERS else [1, 2, 3, 0]
    files = stack(tmp_path / "new", names, values)
    with open_image(stack(tmp_path / "old", NAMES, values)) as old, open_image(files) as new:
        found = bands_like(old.bands, new)
        refuse_other_bands(old.bands, found)
        assert [finding.kind for finding in found.findings] == ["bands"]
        assert_array_equal(found.read()[0], values[order])
        with pytest.raises(ColumnError):
            refuse_other_bands(old.bands, new)
        with open_image(files, bands="1-4") as chosen, pytest.raises(ColumnError):
            refuse_other_bands(old.bands, bands_like(old.bands, chosen))


def test_dates_in_descriptions_are_matched(tmp_path, values):
    first = write_image(
        tmp_path / "a.tif", values, names=["2023-05-01 red", "2023-05-01 nir", "2023-07-15 red", "2023-07-15 nir"]
    )
    second = write_image(
        tmp_path / "b.tif", values, names=["2024-07-15 nir", "2024-05-01 nir", "2024-05-01 red", "2024-07-15 red"]
    )
    with open_image(first) as old, open_image(second) as new:
        found = bands_like(old.bands, new)
        refuse_other_bands(old.bands, found)
        assert_array_equal(found.read()[0], values[[2, 1, 3, 0]])


def test_computed_bands_follow_the_dates(tmp_path, values):
    old, new = stack(tmp_path / "old", NAMES, values), stack(tmp_path / "new", OTHERS, values[[2, 3, 0, 1]])
    with open_image(old) as first, open_image(new) as second, open_image(old, bands="1-2") as part:
        trained = add_indices(first, "NDVI", {"nir": 2, "red": 1})
        assert_array_equal(bands_like(trained.bands, second).read()[0], trained.read()[0])
        with pytest.raises(ColumnError):  # the date of a band that is only a source is not known
            bands_like(add_indices(part, "NDVI", {"nir": 4, "red": 3}).bands, second)


@pytest.mark.parametrize(
    "names",
    [
        ["T34_20240510_B04", "T34_20240601_B04", "T34_20240710_B04", "T34_20240710_B08"],  # three dates
        ["T34_20240510_B04", "T34_20240710_B04", "T34_20240710_B05", "T34_20240710_B08"],  # three bands of a date
    ],
)
def test_other_groups_are_refused(tmp_path, values, names):
    with (
        open_image(stack(tmp_path / "old", NAMES, values)) as old,
        open_image(stack(tmp_path / "new", names, values)) as new,
        pytest.raises(ColumnError),
    ):
        refuse_other_bands(old.bands, bands_like(old.bands, new))


def test_the_command_maps_files_in_any_order(tmp_path, values):
    old, new = stack(tmp_path / "old", NAMES, values), stack(tmp_path / "new", OTHERS, values[[2, 3, 0, 1]])
    shapes = [square(row, column) for _, row, column in PLACES]
    write_shapes(tmp_path / "areas.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    given = ["--areas", tmp_path / "areas.gpkg", "-c", "cover", "--model", "lda", "--save-model", tmp_path / "m.dsc"]
    run("classify", *old, *given, "-o", tmp_path / "old.tif")
    result = run("classify", *new, "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "new.tif")
    assert "2024-05-10 for 2023-05-01" in result.stderr
    assert_array_equal(read_raster(tmp_path / "old.tif"), read_raster(tmp_path / "new.tif"))
    given = ["--bands", "1-4", "--model-file", tmp_path / "m.dsc", "-o", tmp_path / "no.tif"]
    refused("classify", *new, *given)
    assert not (tmp_path / "no.tif").exists()
