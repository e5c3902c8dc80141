"""Change between two maps: cross-tabulation, the change map, and the published change areas."""

import json

import numpy as np
import pytest
import rasterio
import shapely
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster, write_image
from test_raster_cli import refused, run

from discriminant.errors import InputError, LabelError, ParameterError
from discriminant.raster import (
    Areas,
    MacroClasses,
    assess_map,
    draw_design,
    legend_of_file,
    make_legend,
    map_change,
    read_class_map,
)


def write_map(path, codes, labels=("forest", "town", "water"), **more):
    write_image(path, np.asarray(codes, dtype="uint8")[None], nodata=0, **more)
    with rasterio.open(path, "r+") as file:
        file.update_tags(**make_legend(list(labels)).tags())
    return path


@pytest.fixture
def maps(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (2, 90, 70))
    return write_map(tmp_path / "a.tif", codes[0]), write_map(tmp_path / "b.tif", codes[1]), codes


def test_the_table_counts_pairs_of_classes(tmp_path, maps):
    before, after, codes = maps
    found = map_change(before, after, tmp_path / "change.tif")
    expected = np.array([[np.sum((codes[0] == i) & (codes[1] == j)) for j in (1, 2, 3)] for i in (1, 2, 3)])
    assert_array_equal(found.pixels, expected)
    assert_allclose(found.hectares, expected * found.hectares.sum() / expected.sum(), rtol=1e-4)
    made = found.change_map
    assert made.pixels["forest > water"] == expected[0, 2]
    assert made.pixels["town"] == expected[1, 1]
    assert made.n_nodata == np.sum((codes == 0).any(axis=0))
    mapped, legend, _ = read_class_map(made.path)
    names = np.array(["", "forest", "town", "water"])
    own = np.where(codes[0] == codes[1], names[codes[0]], names[codes[0]] + np.array(" > ", object) + names[codes[1]])
    own[(codes == 0).any(axis=0)] = ""
    assert_array_equal(np.array(["", *(entry.label for entry in legend.classes)], object)[mapped], own)
    assert draw_design(made.path, names=legend.names).pixels.sum() == expected.sum()


def test_strata_of_change_are_merged(tmp_path, maps):
    before, after, _ = maps
    found = map_change(
        before, after, tmp_path / "c.tif", MacroClasses({"forest > town": "loss", "forest > water": "loss"})
    )
    assert found.change_map.pixels["loss"] == found.pixels[0, 1:].sum()
    assert "forest > town" not in legend_of_file(tmp_path / "c.tif").names.values()
    with pytest.raises(ParameterError):
        map_change(before, after, tmp_path / "d.tif", MacroClasses({"forest > sea": "loss"}))
    assert not (tmp_path / "d.tif").exists()


def test_areas_of_change_are_the_published_ones(tmp_path):
    """Olofsson et al. (2014), section 5, at a thousandth of the number of pixels; 1 pixel stands for 90 ha."""
    strata = {"loss": (1, 2), "gain": (2, 1), "forest": (1, 1), "other": (2, 2)}
    sizes, sample = (200, 150, 3_200, 6_450), [[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]]
    codes = np.repeat(np.array(list(strata.values())), sizes, axis=0).T.reshape(2, 100, 100)
    plain = {"crs": None, "transform": rasterio.Affine(1, 0, 0, 0, -1, 100)}
    maps = [write_map(tmp_path / f"{i}.tif", codes[i], ("forest", "other"), **plain) for i in (0, 1)]
    merged = MacroClasses({"forest > other": "loss", "other > forest": "gain"})
    found = map_change(*maps, tmp_path / "change.tif", merged)
    assert [found.change_map.pixels[label] for label in strata] == list(sizes)
    starts, points, labels = np.cumsum((0, *sizes)), [], []
    for start, line in zip(starts, sample, strict=False):
        points += list(range(start, start + sum(line)))
        labels += np.repeat(list(strata), line).tolist()
    rows, columns = np.divmod(points, 100)
    reference = Areas(
        shapely.points(columns + 0.5, 99.5 - rows), np.array(labels), np.arange(len(points)), None, "points"
    )
    legend = legend_of_file(tmp_path / "change.tif")
    adjusted = assess_map(tmp_path / "change.tif", reference, names=legend.names).area_adjusted()
    place = [adjusted.classes.index(label) for label in strata]
    assert_allclose(90 * adjusted.area[place], [21_158, 11_686, 285_770, 581_386], atol=0.6)
    assert_allclose(1.96 * 90 * adjusted.area_se[place], [6_158, 3_756, 15_510, 16_282], rtol=3e-3)
    assert adjusted.overall_accuracy == pytest.approx(0.947, abs=5e-4)


def test_maps_that_do_not_fit_are_refused(tmp_path, maps):
    before, _, codes = maps
    with pytest.raises(InputError):
        map_change(before, write_map(tmp_path / "s.tif", codes[0][:, :60]), tmp_path / "c.tif")
    with pytest.raises(LabelError):
        map_change(before, write_map(tmp_path / "n.tif", np.where(codes[0] > 0, 0, 1)), tmp_path / "c.tif")
    with pytest.raises(InputError):
        map_change(before, write_image(tmp_path / "rgb.tif", np.ones((3, 90, 70), "uint8")), tmp_path / "c.tif")
    assert not (tmp_path / "c.tif").exists()


def test_the_command(tmp_path, maps):
    before, after, _ = maps
    target, page = tmp_path / "c.tif", tmp_path / "page.html"
    found = json.loads(run("change", before, after, "-o", target, "--report", page, "--json").stdout)
    assert sum(map(sum, found["pixels"])) == (read_raster(target) > 0).sum()
    assert "Table of changes" in page.read_text(encoding="utf-8")
    assert "forest > water" in run("change", before, after, "-o", target, "--overwrite").stdout
    refused("change", before, after, "-o", target)
