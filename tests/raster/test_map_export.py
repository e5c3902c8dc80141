"""Polygons and STAC items of maps: areas, classes and probabilities are those of the pixels."""

import json

import numpy as np
import pyogrio
import pytest
import rasterio
import shapely
from numpy.testing import assert_allclose, assert_array_equal
from painted import GRID, write_image
from rasterio.features import rasterize
from scipy.ndimage import label, uniform_filter
from test_raster_cli import refused, run

from discriminant.errors import InputError, ParameterError
from discriminant.raster import class_pixels, make_legend, map_item, map_polygons, polygons

LEGEND = make_legend(["forest", "old sand", "water"])
SHAPE = (60, 47)


@pytest.fixture
def maps(tmp_path):
    """A class map with patches across the image, and its probabilities in percent."""
    rng = np.random.default_rng(0)
    codes = np.digitize(uniform_filter(rng.normal(size=SHAPE), 5), [-0.08, 0.08]).astype("uint8") + 1
    codes[10:14, 5:20] = 0
    percent = rng.integers(30, 101, SHAPE).astype("uint8")
    percent[20, 20:40] = 255
    path = write_image(tmp_path / "map.tif", codes[None], nodata=0)
    with rasterio.open(path, "r+") as file:
        file.update_tags(**LEGEND.tags())
    return codes, path, percent, write_image(tmp_path / "p.tif", percent[None], nodata=255)


def read_polygons(path):
    meta, _, wkb, fields = pyogrio.raw.read(str(path))
    return meta, shapely.from_wkb(wkb), dict(zip(meta["fields"], fields, strict=True))


@pytest.mark.parametrize("rows", [1, 7, 60])
def test_polygons_are_the_patches(tmp_path, maps, monkeypatch, rows):
    codes, path, percent, probability = maps
    monkeypatch.setattr(polygons, "STRIP_PIXELS", rows * SHAPE[1])
    found = map_polygons(path, tmp_path / "map.gpkg", probability)
    meta, shapes, fields = read_polygons(tmp_path / "map.gpkg")
    assert meta["crs"] == GRID["crs"]
    assert shapely.is_valid(shapes).all()
    drawn = rasterize([(shape, i + 1) for i, shape in enumerate(shapes)], SHAPE, transform=GRID["transform"])
    assert_array_equal(drawn > 0, codes > 0)
    assert_array_equal(fields["code"][drawn[codes > 0] - 1], codes[codes > 0])
    assert found.polygons == {name: label(codes == code)[1] for code, name in LEGEND.names.items()}
    assert sum(found.polygons.values()) == len(shapes)
    assert_array_equal(fields["pixels"], np.bincount(drawn.ravel())[1:])
    assert_allclose(shapely.area(shapes), 100 * fields["pixels"])
    assert_allclose(fields["hectares"], fields["pixels"] / 100, rtol=2e-3)
    known = np.where(percent < 255, percent, 0) / 100
    with np.errstate(invalid="ignore"):
        means = np.bincount(drawn.ravel(), known.ravel()) / np.bincount(drawn.ravel(), (percent < 255).ravel())
    assert_allclose(fields["probability"], means[1:])
    assert set(fields["class"]) == set(LEGEND.names.values())


def test_geojson_has_longitudes_and_latitudes(tmp_path, maps):
    map_polygons(maps[1], tmp_path / "map.geojson")
    _, shapes, fields = read_polygons(tmp_path / "map.geojson")
    left, bottom, right, top = shapely.total_bounds(shapes)
    assert 14.9 < left < right < 15.1
    assert 45.1 < bottom < top < 45.2
    assert "probability" not in fields
    assert "crs" not in json.loads((tmp_path / "map.geojson").read_text())


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_a_map_without_georeference_has_pixels_only(tmp_path, maps):
    path = write_image(tmp_path / "plain.tif", maps[0][None], nodata=0, crs=None, transform=None)
    map_polygons(path, tmp_path / "plain.gpkg")
    _, shapes, fields = read_polygons(tmp_path / "plain.gpkg")
    assert list(fields) == ["class", "code", "pixels"]
    assert_allclose(shapely.area(shapes), fields["pixels"])
    with pytest.raises(InputError):
        map_item(path, tmp_path / "plain.json")


def test_wrong_polygons_leave_the_file_unchanged(tmp_path, maps):
    _, path, percent, probability = maps
    target = tmp_path / "map.gpkg"
    other = write_image(tmp_path / "other.tif", percent[None, 1:])
    for arguments in ((target, other), (tmp_path / "map.shp", None), (tmp_path / "none" / "map.gpkg", None)):
        with pytest.raises(InputError):
            map_polygons(path, *arguments)
    assert not target.exists()
    map_polygons(path, target)
    before = target.read_bytes()
    with pytest.raises(InputError):
        map_polygons(path, target)
    with open(probability, "r+b") as file:
        file.truncate(600)
    with pytest.raises(InputError):
        map_polygons(path, target, probability, overwrite=True)
    assert target.read_bytes() == before


def test_the_item_has_the_required_fields(tmp_path, maps):
    (tmp_path / "items").mkdir()
    written = map_item(maps[1], tmp_path / "items" / "map.json", "2024-06-01T10:30+02:00")
    item = json.loads((tmp_path / "items" / "map.json").read_text(encoding="utf-8"))
    assert item == written
    assert [item[key] for key in ("type", "stac_version", "id", "links")] == ["Feature", "1.0.0", "map", []]
    outline = shapely.Polygon(item["geometry"]["coordinates"][0])
    assert outline.exterior.is_ccw
    assert_allclose(item["bbox"], outline.bounds)
    with rasterio.open(maps[1]) as file:
        bounds = rasterio.warp.transform_bounds(file.crs, "EPSG:4326", *file.bounds)
        assert item["properties"]["proj:transform"] == list(file.transform)[:6]
    assert_allclose(item["bbox"], bounds, atol=1e-6)
    assert item["properties"]["datetime"] == "2024-06-01T08:30:00Z"
    assert (item["properties"]["proj:epsg"], item["properties"]["proj:shape"]) == (32633, list(SHAPE))
    asset = item["assets"]["map"]
    assert asset["href"] == "../map.tif"
    assert asset["raster:bands"] == [{"data_type": "uint8", "nodata": 0}]
    assert [one["value"] for one in asset["classification:classes"]] == sorted(class_pixels(maps[1]))
    assert [one["name"] for one in asset["classification:classes"]] == ["forest", "old_sand", "water"]
    spans = map_item(maps[1], tmp_path / "range.json", "2024-05-01/2024-06-01")["properties"]
    assert spans["datetime"] is None
    assert (spans["start_datetime"], spans["end_datetime"]) == ("2024-05-01T00:00:00Z", "2024-06-01T00:00:00Z")
    for date in ("June", "2024-06-01/2024-05-01"):
        with pytest.raises(ParameterError):
            map_item(maps[1], tmp_path / "no.json", date)
    assert not (tmp_path / "no.json").exists()


def test_the_command_exports_maps(tmp_path, maps):
    _, path, _, probability = maps
    found = json.loads(run("export", path, "-o", tmp_path / "m.gpkg", "--probability", probability, "--json").stdout)
    assert sum(found["polygons"].values()) == len(read_polygons(tmp_path / "m.gpkg")[1])
    assert "3 polygons" not in run("export", path, "-o", tmp_path / "m.geojson").stdout
    assert "Output" in run("export", path, "-o", tmp_path / "m.json", "--date", "2024-06-01").stdout
    refused("export", path, "-o", tmp_path / "no.json", "--probability", probability)
    refused("export", path, "-o", tmp_path / "no.gpkg", "--date", "2024-06-01")
    refused("export", path, "-o", tmp_path / "no.tif")
    assert not list(tmp_path.glob("no.*"))
