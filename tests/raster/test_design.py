"""Sample designs: published sizes, allocations that add up, and points drawn at random within classes."""

import numpy as np
import pyogrio
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from landsat import write_shapes
from numpy.testing import assert_allclose, assert_array_equal
from painted import write_image

from discriminant.errors import InputError, LabelError, ParameterError
from discriminant.raster import (
    DesignSize,
    allocate,
    assess_map,
    class_pixels,
    draw_design,
    open_areas,
    open_image,
    sample_size,
)

NAMES = {1: "forest", 2: "sand", 3: "water"}


@pytest.fixture
def class_map(tmp_path):
    """A map in which sand is rare and some pixels have no class."""
    rng = np.random.default_rng(0)
    codes = rng.choice([0, 1, 2, 3], size=(200, 300), p=[0.1, 0.59, 0.01, 0.3]).astype("uint8")
    path = write_image(tmp_path / "map.tif", codes[None], nodata=0, tiled=True, blockxsize=64, blockysize=32)
    return path, codes


def test_the_size_of_the_published_example():
    assert sample_size([0.02, 0.015, 0.32, 0.645], [0.7, 0.6, 0.9, 0.95], 0.01) == 641


def test_the_size_gives_the_standard_error_it_promises():
    shares, users = np.array([0.3, 0.7]), np.array([0.8, 0.9])
    n = sample_size(shares, users, 0.02)
    spread = np.sqrt(users * (1 - users))
    # With as many pixels in each class as its spread asks for, the standard error is (sum W S) / sqrt(n).
    assert (shares * spread).sum() / np.sqrt(n) <= 0.02 < (shares * spread).sum() / np.sqrt(n - 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.5, 0.5], 1.0, 0.01), "users_accuracy"),
        (([0.5, -0.5], 0.8, 0.01), "shares"),
        (([0.5, 0.5], 0.8, 0), "standard_error"),
    ],
)
def test_sizes_that_cannot_be_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        sample_size(*arguments)


@given(
    pixels=st.lists(st.integers(1, 10_000), min_size=1, max_size=8),
    at_least=st.integers(0, 60),
    more=st.integers(1, 3_000),
)
def test_allocations_add_up_and_leave_no_class_out(pixels, at_least, more):
    pixels = np.array(pixels)
    total = int(np.minimum(pixels, at_least).sum()) + more
    given_to = allocate(total, pixels, at_least)
    assert given_to.sum() == min(total, pixels.sum())
    assert (given_to <= pixels).all()
    assert (given_to >= np.minimum(pixels, at_least)).all()
    large = given_to > at_least
    if large.sum() > 1 and total < pixels.sum():
        share = given_to[large] / pixels[large]
        assert np.ptp(share) <= 2 / pixels[large].min()


def test_allocation_without_a_floor_is_proportional():
    assert_array_equal(allocate(100, [100, 300, 600], 0), [10, 30, 60])


def test_too_many_in_each_class_are_refused():
    with pytest.raises(ParameterError, match="150 > 100"):
        allocate(100, [1000, 1000, 1000], 50)


def test_points_lie_in_their_classes_each_pixel_once(class_map):
    path, codes = class_map
    design = draw_design(path, DesignSize(total=400, at_least=60), names=NAMES)
    assert design.strata == ["forest", "sand", "water"]
    assert_array_equal(design.pixels, [(codes == code).sum() for code in (1, 2, 3)])
    assert_array_equal(design.mapped, [NAMES[code] for code in codes[design.rows, design.columns]])
    assert len(set(zip(design.rows, design.columns, strict=True))) == 400 == design.allocation.sum()
    assert [(design.mapped == label).sum() for label in design.strata] == design.allocation.tolist()
    assert design.allocation[1] == 60
    assert_allclose(design.coordinates[:, 0], 500_000 + 10 * (design.columns + 0.5))
    assert_allclose(design.coordinates[:, 1], 5_000_000 - 10 * (design.rows + 0.5))


def test_every_pixel_of_a_class_is_drawn_equally_often(tmp_path):
    codes = np.repeat(np.arange(1, 3, dtype="uint8"), 20).reshape(1, 4, 10)
    path = write_image(tmp_path / "map.tif", codes, tiled=True, blockxsize=16, blockysize=16)
    drawn = np.zeros((4, 10), int)
    for seed in range(300):
        design = draw_design(path, DesignSize(total=10, at_least=5), random_state=seed)
        drawn[design.rows, design.columns] += 1
    # 300 draws of 5 among 20: 75 each, with a standard deviation of 7.5.
    assert drawn.sum() == 3000
    assert np.abs(drawn - 75).max() < 4.5 * 7.5


def test_all_pixels_of_a_small_class_are_taken(class_map):
    path, codes = class_map
    design = draw_design(path, DesignSize(total=5_000, at_least=2_000), names=NAMES)
    assert (design.mapped == "sand").sum() == (codes == 2).sum() < 2_000


def test_seeds_decide_and_threads_do_not(class_map):
    path, _ = class_map
    one, again, other = (
        draw_design(path, DesignSize(300), random_state=seed, n_jobs=n) for seed, n in ((1, 1), (1, 3), (2, 1))
    )
    assert_array_equal(one.rows, again.rows)
    assert_array_equal(one.columns, again.columns)
    assert not np.array_equal(one.rows, other.rows)


def test_the_order_of_points_does_not_tell_their_class(class_map):
    design = draw_design(class_map[0], DesignSize(600), names=NAMES)
    changes = np.count_nonzero(design.mapped[1:] != design.mapped[:-1])
    share = np.bincount(np.unique(design.mapped, return_inverse=True)[1]) / 600
    assert changes == pytest.approx(599 * (1 - (share**2).sum()), rel=0.15)


def test_the_number_follows_from_the_wanted_standard_error(class_map):
    path, codes = class_map
    shares = [(codes == code).sum() for code in (1, 2, 3)]
    users = {"forest": 0.9, "sand": 0.6, "water": 0.95}
    design = draw_design(path, DesignSize(at_least=0, users_accuracy=users, standard_error=0.02), names=NAMES)
    assert design.allocation.sum() == sample_size(shares, list(users.values()), 0.02)
    with pytest.raises(ParameterError, match="class 'water'"):
        draw_design(path, DesignSize(users_accuracy={"forest": 0.9, "sand": 0.6}), names=NAMES)


@pytest.mark.parametrize("ending", ["gpkg", "geojson"])
def test_points_go_out_blind_and_come_back_with_the_truth(tmp_path, class_map, ending):
    path, _ = class_map
    design = draw_design(path, DesignSize(total=200, at_least=20), names=NAMES)
    points = tmp_path / f"points.{ending}"
    design.save(points)
    meta, _, wkb, fields = pyogrio.raw.read(points)
    assert list(meta["fields"]) == ["id", "reference"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["map.tif", points.name]
    with pytest.raises(LabelError, match="200 of 200"):
        open_areas(points, "reference")
    truth = np.where(np.arange(200) % 10 == 0, "water", design.mapped).astype(object)
    pyogrio.raw.write(str(points), wkb, [fields[0], truth], ["id", "reference"], crs=meta["crs"], geometry_type="Point")
    found = assess_map(path, points, "reference", names=NAMES)
    assert_array_equal(found.accuracy.confusion.counts.sum(axis=0), design.allocation)
    assert found.accuracy.overall_accuracy == pytest.approx((truth == design.mapped).mean())
    assert found.map_pixels == dict(zip(design.strata, design.pixels.tolist(), strict=True))
    assert found.area_adjusted().total_area == pytest.approx(sum(found.hectares.values()))


def test_points_of_a_map_without_a_system_are_saved_too(tmp_path):
    path = write_image(tmp_path / "map.tif", np.ones((1, 20, 30), "uint8"), crs=None)
    draw_design(path, DesignSize(total=10, at_least=5)).save(tmp_path / "points.gpkg")
    assert len(pyogrio.raw.read(tmp_path / "points.gpkg")[2]) == 10


def test_files_that_cannot_be_written_are_refused(tmp_path, class_map):
    design = draw_design(class_map[0], DesignSize(300))
    with pytest.raises(InputError, match=r"\.gpkg or \.geojson or \.shp"):
        design.save(tmp_path / "points.pdf")
    with pytest.raises(InputError, match="folder"):
        design.save(tmp_path / "nowhere" / "points.gpkg")


def test_a_map_without_classes_is_refused(tmp_path):
    with pytest.raises(InputError, match="tif"):
        draw_design(write_image(tmp_path / "map.tif", np.zeros((1, 4, 5), "uint8"), nodata=0))


def test_codes_of_one_name_are_one_stratum(tmp_path):
    codes = np.repeat(np.array([1, 2, 3], dtype="uint8"), 12)[None].reshape(1, 6, 6)
    path, names = write_image(tmp_path / "map.tif", codes), {1: "forest", 2: "water", 3: "forest"}
    assert class_pixels(path, names) == {"forest": 24, "water": 12}
    design = draw_design(path, DesignSize(total=36, at_least=1), names=names)
    assert (design.strata, design.pixels.tolist()) == (["forest", "water"], [24, 12])
    assert_array_equal(design.mapped, [names[code] for code in codes[0, design.rows, design.columns]])
    assert len({*zip(design.rows.tolist(), design.columns.tolist(), strict=True)}) == 36


@pytest.mark.parametrize("ending", ["gpkg", "geojson", "shp", "kml", "csv"])
def test_points_are_read_back_from_every_format(tmp_path, ending):
    codes = np.random.default_rng(0).integers(1, 4, (1, 40, 50)).astype("uint8")
    path = write_image(tmp_path / "map.tif", codes, nodata=0)
    design = draw_design(path, DesignSize(60, at_least=10))
    target = tmp_path / f"points.{ending}"
    with pytest.raises(InputError):
        design.save(tmp_path / "points.txt")
    design.save(target)
    opening = {"X_POSSIBLE_NAMES": "x", "Y_POSSIBLE_NAMES": "y"} if ending == "csv" else {}
    meta, _, wkb, _ = pyogrio.raw.read(target, columns=["id"], **opening)
    system = {"gpkg": "EPSG:32633", "shp": "EPSG:32633", "csv": None}.get(ending, "EPSG:4326")
    assert meta["crs"] == system or ending == "geojson"
    crs = None if ending == "csv" else meta["crs"]
    names = np.where(np.arange(60) % 2, "wood", "field").astype(object)
    labelled = write_shapes(
        tmp_path / "l.gpkg", shapely.force_2d(shapely.from_wkb(wkb)), names, crs=crs or "EPSG:32633"
    )
    with open_image(path) as image:
        pixels = open_areas(labelled, "cover").pixels(image)
    assert_array_equal(np.sort(pixels.rows * 50 + pixels.columns), np.sort(design.rows * 50 + design.columns))
    if ending == "csv":
        text = target.read_text().splitlines()
        assert text[0] == "id,reference,x,y"
        rows = [line.split(",") for line in text[1:]]
        target.write_text("\n".join([text[0], *(",".join([row[0], "wood", *row[2:]]) for row in rows)]))
        own = open_areas(target, "reference", areas_crs="EPSG:32633")
        assert len(own.ids) == 60
