"""Images: what is read, where it holds values, and what is refused."""

import importlib
import re
import shutil
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from landsat import BANDS, FOLDER, square, write_shapes
from numpy.testing import assert_array_equal
from painted import GRID, write_image
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.rpc import RPC
from rasterio.windows import Window

from discriminant import LinearDiscriminantAnalysis
from discriminant.errors import ColumnError, DiscriminantError, DtypeError, InputError, ParameterError
from discriminant.raster import Band, classify_image, draw_samples, open_image, refuse_other_bands
from discriminant.raster.bands import stored_bands
from discriminant.raster.files import no_georeference_warning


def numbers(*shape, dtype="uint8", start=1):
    return (np.arange(np.prod(shape)) % 200 + start).reshape(shape).astype(dtype)


def write_plain(path, values, driver="PNG"):
    """An image that is not georeferenced."""
    count, height, width = values.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(path, "w", driver=driver, count=count, height=height, width=width, dtype="uint8") as file:
            file.write(values)
    return path


def test_a_stack_of_files_holds_their_bands_in_order():
    with open_image(BANDS) as image:
        values, valid = image.read()
        assert image.band_names == tuple(path.stem for path in BANDS)
        assert image.n_bands == 6
        assert image.dtypes == ("float32",) * 5 + ("int16",)
        assert image.shape == values.shape[1:] == valid.shape
        crs = image.crs
    masks = []
    for band, path in zip(values, BANDS, strict=True):
        with rasterio.open(path) as file:
            assert file.crs == crs
            assert_array_equal(band, file.read(1).astype("float32"))
            masks.append(file.read_masks(1) > 0)
    assert_array_equal(valid, np.all(masks, axis=0))
    assert 0 < valid.sum() < valid.size


def test_a_file_of_many_bands_is_the_stack_of_its_bands():
    with open_image(FOLDER / "landsat_multiband.tif") as image, open_image(BANDS[:5]) as stack:
        assert image.band_names == tuple(f"band {i}" for i in range(1, 6))
        assert_array_equal(image.read()[1], stack.read()[1])
        assert image.read()[0].shape == stack.read()[0].shape


@given(
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    tile=st.sampled_from([(16, 16), (32, 16), None]),
    block=st.integers(1, 100),
)
def test_windows_cover_every_pixel_once_and_no_tile_twice(tmp_path_factory, height, width, tile, block):
    path = tmp_path_factory.mktemp("tiles") / "image.tif"
    form = {} if tile is None else {"tiled": True, "blockysize": tile[0], "blockxsize": tile[1]}
    values = numbers(2, height, width, dtype="uint16")
    write_image(path, values, **form)
    seen, out = np.zeros((height, width), int), np.zeros_like(values)
    with open_image(path) as image, rasterio.open(path) as file:
        down, across = file.block_shapes[0]
        for window in image.windows(block):
            assert window.row_off % down == 0
            assert window.col_off % across == 0
            rows, columns = window.toslices()
            seen[rows, columns] += 1
            out[:, rows, columns], valid = image.read(window)
            assert valid.all()
    assert (seen == 1).all()
    assert_array_equal(out, values)


def test_threads_read_with_handles_of_their_own(tmp_path):
    values = numbers(3, 64, 64, dtype="uint16")
    write_image(tmp_path / "image.tif", values, tiled=True, blockxsize=16, blockysize=16)
    gate = threading.Barrier(4)
    with open_image(tmp_path / "image.tif") as image:
        windows = list(image.windows(16))

        def read(part):
            gate.wait(timeout=20)
            return [image.read(window)[0] for window in windows[part::4]]

        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(read, range(4)))
        handles = list(image._files.handles)
        assert len(handles) == 5
    for i, window in enumerate(windows):
        rows, columns = window.toslices()
        assert_array_equal(parts[i % 4][i // 4], values[:, rows, columns])
    assert all(handle.closed for handle in handles)


def test_values_that_are_not_finite_are_no_values(tmp_path):
    values = numbers(2, 3, 4, dtype="float32")
    values[0, 0, 0], values[1, 1, 1], values[1, 2, 3] = np.nan, np.inf, -np.inf
    with open_image(write_image(tmp_path / "image.tif", values)) as image:
        valid = image.read()[1]
    assert_array_equal(np.argwhere(~valid), [[0, 0], [1, 1], [2, 3]])


@pytest.mark.parametrize("nodata", [np.nan, -3.4028234663852886e38, 7.0])
def test_nodata_of_floats(tmp_path, nodata):
    values = numbers(1, 3, 4, dtype="float32", start=20)
    values[0, 1, 2] = nodata
    with open_image(write_image(tmp_path / "image.tif", values, nodata=nodata)) as image:
        assert_array_equal(np.argwhere(~image.read()[1]), [[1, 2]])


def test_each_band_has_a_nodata_value_of_its_own(tmp_path):
    first, second = numbers(1, 3, 4), numbers(1, 3, 4)
    write_image(tmp_path / "a.tif", first, nodata=3)
    write_image(tmp_path / "b.tif", second, nodata=7)
    with open_image([tmp_path / "a.tif", tmp_path / "b.tif"]) as image:
        assert image.nodata == (3.0, 7.0)
        assert_array_equal(image.read()[1], (first[0] != 3) & (second[0] != 7))


def test_an_alpha_band_hides_pixels_and_is_no_band(tmp_path):
    values = numbers(4, 5, 6)
    values[3] = 255
    values[3, 2, 1:4] = 0
    path = write_image(tmp_path / "image.tif", values, nodata=9, photometric="RGB", alpha="YES")
    with open_image(path) as image:
        assert image.band_names == ("red", "green", "blue")
        read, valid = image.read()
        (note,) = image.findings
        assert note.kind == "alpha"
        assert "bands='1-4'." in str(note.message)
    assert_array_equal(read, values[:3])
    assert_array_equal(valid, (values[3] > 0) & (values[:3] != 9).all(axis=0))


def test_a_band_with_a_name_is_a_band_whatever_it_is_marked_as(tmp_path):
    path = write_image(
        tmp_path / "image.tif", numbers(4, 5, 6), names=["r", "g", "b", "infrared"], photometric="RGB", alpha="YES"
    )
    with rasterio.open(path) as file:
        assert file.colorinterp[3] == ColorInterp.alpha
    with open_image(path) as image:
        assert image.band_names == ("r", "g", "b", "infrared")
        assert image.read()[1].all()


def test_a_mask_beside_the_bands_hides_pixels(tmp_path):
    path, mask = tmp_path / "image.tif", np.full((5, 6), 255, "uint8")
    mask[1:3, 4] = 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        write_image(path, numbers(2, 5, 6))
        with rasterio.open(path, "r+") as file:
            file.write_mask(mask)
    with rasterio.open(path) as file:
        assert MaskFlags.per_dataset in file.mask_flag_enums[0]
    with open_image(path) as image:
        assert_array_equal(image.read()[1], mask > 0)
        assert image.masked


def test_a_photograph_has_pixel_coordinates_and_named_colours(tmp_path):
    with open_image(write_plain(tmp_path / "photo.png", numbers(3, 4, 5))) as image:
        assert image.band_names == ("red", "green", "blue")
        assert not image.georeferenced
        assert not image.masked
        assert_array_equal(image.read(Window(1, 2, 3, 2))[0], numbers(3, 4, 5)[:, 2:4, 1:4])


def test_bands_of_the_same_name_are_told_apart(tmp_path):
    write_image(tmp_path / "image.tif", numbers(3, 4, 5), names=["b", "a", "b"])
    with open_image(tmp_path / "image.tif") as image:
        assert image.band_names == ("b (1)", "a", "b (3)")


def test_a_truncated_file_is_refused_by_name_and_rows(tmp_path):
    path = write_image(tmp_path / "scene.tif", numbers(2, 200, 300, dtype="uint16"))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with open_image(path) as image:
        image.read(Window(0, 0, 10, 1))
        with pytest.raises(InputError, match=r"scene\.tif.*rows 190 to 199"):
            image.read(Window(0, 190, 10, 10))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("notes.tif", b"not an image at all", "notes.tif"), ("empty.tif", b"", "empty.tif"), (None, None, "absent.tif")],
)
def test_what_is_no_image_is_refused(tmp_path, name, content, words):
    if name:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        open_image(tmp_path / (name or "absent.tif"))


def test_a_folder_and_an_empty_list_are_refused(tmp_path):
    with pytest.raises(InputError, match="folder"):
        open_image(tmp_path)
    with pytest.raises(InputError, match="empty list"):
        open_image([])


@pytest.mark.parametrize(
    ("size", "grid", "words"),
    [
        ((4, 6), {}, "grid.*5 x 4.*6 x 4"),
        ((4, 5), {"transform": rasterio.Affine(10, 0, 500_005, 0, -10, 5_000_000)}, "grid.*500005"),
        ((4, 5), {"crs": "EPSG:32632"}, "EPSG:32633.*EPSG:32632"),
    ],
)
def test_files_of_different_grids_are_no_image(tmp_path, size, grid, words):
    write_image(tmp_path / "a.tif", numbers(1, 4, 5))
    write_image(tmp_path / "b.tif", numbers(1, *size), **{**GRID, **grid})
    with pytest.raises(InputError, match=words):
        open_image([tmp_path / "a.tif", tmp_path / "b.tif"])


def test_a_coordinate_system_is_given_or_put_right(tmp_path):
    silent = write_image(tmp_path / "silent.tif", numbers(1, 4, 5), crs=None)
    with open_image(silent, crs="EPSG:32632") as image:
        assert image.crs == "EPSG:32632"
        assert image.findings == ()
    wrong = write_image(tmp_path / "wrong.tif", numbers(1, 4, 5))
    with open_image(wrong, crs="EPSG:32632") as image:
        (note,) = image.findings
        assert (note.severity, note.kind) == ("note", "crs")
    with open_image(wrong, crs="EPSG:32633") as image:
        assert image.findings == ()
    with open_image(write_image(tmp_path / "degrees.tif", numbers(1, 4, 5), crs="EPSG:4326")) as image:
        (warning,) = image.findings
        assert "5,000,000" in str(warning.message)
    with pytest.raises(InputError, match="'EPSG:0'"):
        open_image(wrong, crs="EPSG:0")
    with pytest.raises(InputError, match=r"crs .*photo\.png'"):
        open_image(write_plain(tmp_path / "photo.png", numbers(3, 4, 5)), crs="EPSG:32632")


def control_points():
    return [
        GroundControlPoint(row, column, 500_000 + 10 * column, 5_000_000 - 10 * row, 0)
        for row, column in ((0, 0), (0, 29), (19, 0), (19, 29))
    ]


@pytest.fixture
def scan(tmp_path):
    """An image that is placed by ground control points only."""
    form = {"driver": "GTiff", "height": 20, "width": 30, "count": 2, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(tmp_path / "scan.tif", "w", gcps=control_points(), **form) as file:
        file.write(numbers(2, 20, 30))
    return tmp_path / "scan.tif"


def test_an_image_placed_by_control_points_says_so(tmp_path, scan):
    words = r"scan\.tif'.*4 ground control points"
    with open_image(scan) as image:
        assert not image.georeferenced
        (note,) = image.findings
        assert re.search(words, note.message)
    shapes = write_shapes(tmp_path / "areas.gpkg", [square(2, 2), square(12, 2)], ["a", "b"])
    with pytest.raises(InputError, match=r"'areas\.gpkg'.*4 ground control points.*gdalwarp"):
        draw_samples(scan, shapes)
    with pytest.raises(InputError, match=r"crs.*4 ground control points"):
        open_image(scan, crs="EPSG:32633")
    model = LinearDiscriminantAnalysis().fit([[1, 3], [2, 4], [90, 95], [91, 92], [3, 1], [99, 90]], list("aabbab"))
    with rasterio.open(classify_image(model, scan, tmp_path / "map.tif").path) as file:
        points, crs = file.gcps
    assert crs == "EPSG:32633"
    assert [(point.row, point.x) for point in points] == [(point.row, point.x) for point in control_points()]


def test_an_image_placed_by_a_camera_model_says_so(tmp_path):
    path = tmp_path / "raw.tif"
    line = {"line_num_coeff": [1.0] * 20, "line_den_coeff": [1.0] * 20}
    sample = {"samp_num_coeff": [1.0] * 20, "samp_den_coeff": [1.0] * 20}
    middle = {f"{name}_{kind}": 1.0 for name in ("line", "samp", "lat", "long", "height") for kind in ("off", "scale")}
    with no_georeference_warning(), rasterio.open(path, "w", "GTiff", 30, 20, 1, dtype="uint8") as file:
        file.write(numbers(1, 20, 30))
        file.rpcs = RPC(**line, **sample, **middle)
    shapes = write_shapes(tmp_path / "areas.gpkg", [square(2, 2)], ["a"])
    with pytest.raises(InputError, match=r"RPC.*gdalwarp"):
        draw_samples(path, shapes)


def test_a_cut_off_file_with_alpha_is_refused_by_name(tmp_path):
    path = write_image(tmp_path / "cut.tif", numbers(4, 200, 300), photometric="RGB", alpha="YES")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"cut\.tif"):
        open_image(path)


def test_transparency_is_looked_for_all_over_a_large_image(tmp_path):
    """Blocks that hold the whole image, and near-infrared in a corner of it only."""
    values = numbers(4, 1200, 1300)
    values[3] = 0
    values[3, -200:, -300:] = numbers(200, 300)
    path = write_image(tmp_path / "large.tif", values, photometric="RGB", alpha="YES", blockysize=1200)
    with open_image(path) as image:
        assert image.n_bands == 4


@pytest.mark.parametrize("bands", [None, [], {}, [3], [{"name": "red"}], [{**vars(Band("red", "uint8")), "of": "4"}]])
def test_bands_of_damaged_files_are_refused(bands):
    with pytest.raises(InputError, match=r"m\.dsc"):
        stored_bands(bands, "m.dsc")


def test_pixels_without_a_size_are_refused(tmp_path):
    path = write_image(tmp_path / "flat.tif", numbers(1, 4, 5), transform=rasterio.Affine(0, 0, 1, 0, 0, 1))
    with pytest.raises(InputError, match=r"flat\.tif"):
        open_image(path)


def test_complex_values_are_refused(tmp_path):
    with pytest.raises(DtypeError, match=r"Band 1.*complex64"):
        open_image(write_image(tmp_path / "radar.tif", np.ones((1, 3, 3), "complex64")))


def test_a_closed_image_says_so():
    with open_image(BANDS[0]) as image:
        pass
    with pytest.raises(InputError, match="closed"):
        image.read()


def test_a_block_is_a_positive_number():
    with open_image(BANDS[0]) as image, pytest.raises(ParameterError, match="block"):
        list(image.windows(0))


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DiscriminantError, match=r"rasterio.*pip install 'discriminant\[raster\]'"):
        open_image("scene.tif")


TRAINED = [Band("red", "uint8", True), Band("infrared", "uint8", True)]


@pytest.mark.parametrize(
    ("names", "dtype", "words"),
    [
        (["red"], "uint8", " 2 bands .*got 1.*red and infrared"),
        (["infrared", "red"], "uint8", "Band 1 .*'red'.*'infrared'"),
        (["red", "blue"], "uint8", "Band 2 .*'infrared'.*'blue'"),
        (["red", "infrared"], "uint16", "'red' has type uint16.*uint8"),
    ],
)
def test_other_bands_than_those_trained_on_are_refused_by_name(tmp_path, names, dtype, words):
    path = write_image(tmp_path / "image.tif", numbers(len(names), 3, 4, dtype=dtype), names=names)
    with open_image(path) as image, pytest.raises(ColumnError, match=words):
        refuse_other_bands(TRAINED, image)


def test_bands_called_after_files_may_be_of_another_scene_but_not_in_another_order(tmp_path):
    for scene in ("may", "june"):
        for band in ("b3", "b4"):
            shutil.copy(BANDS[0], tmp_path / f"{scene}_{band}.tif")
    with open_image([tmp_path / "may_b3.tif", tmp_path / "may_b4.tif"]) as image:
        trained = image.bands
    with open_image([tmp_path / "june_b3.tif", tmp_path / "june_b4.tif"]) as image:
        refuse_other_bands(trained, image)
    turned = open_image([tmp_path / "may_b4.tif", tmp_path / "may_b3.tif"])
    with turned as image, pytest.raises(ColumnError, match="'may_b3'"):
        refuse_other_bands(trained, image)
