"""Smoothing, masks and macro-classes on the command line, and in the report."""

import json

import numpy as np
import pytest
import rasterio
from landsat import write_shapes
from numpy.testing import assert_array_equal
from painted import read_raster, write_image
from test_raster_cli import PLACES, refused, run, square

from discriminant.raster import MapOptions, MapRule, Smoothing, classify_image, read_class_map
from discriminant.storage.model_file import load


@pytest.fixture
def image(tmp_path):
    """Blocks of 10 x 10 pixels of three classes that overlap."""
    classes = np.kron(np.random.default_rng(0).integers(0, 3, (6, 6)), np.ones((10, 10), dtype=int))
    for label, row, column in PLACES:
        classes[row : row + 10, column : column + 10] = ("forest", "sand", "water").index(label)
    means = np.array([(60, 90, 70), (90, 100, 60), (70, 60, 90)])
    values = means[classes].transpose(2, 0, 1) + np.random.default_rng(1).normal(0, 18, (3, 60, 60))
    return write_image(tmp_path / "image.tif", np.clip(values, 1, 255).astype("uint8"))


@pytest.fixture
def train(tmp_path, image):
    shapes = [square(row, column) for _, row, column in PLACES]
    write_shapes(tmp_path / "areas.gpkg", shapes, np.array([place[0] for place in PLACES], dtype=object))
    return ["classify", image, "--areas", tmp_path / "areas.gpkg", "-c", "cover", "--model", "lda", "--overwrite"]


def test_the_chosen_smoothing_is_printed_and_used(tmp_path, image, train):
    page, model, target = tmp_path / "page.html", tmp_path / "m.dsc", tmp_path / "map.tif"
    files = ["-o", target, "--save-model", model, "--report", page, "--json"]
    found = json.loads(run(*train, "--smoothing", "bayes", "--min-pixels", 8, *files).stdout)
    chosen = found["smoothing"]["chosen"]
    assert found["smoothing"]["gain"] > 0.1
    assert found["held_out_areas"]["overall_accuracy"] > 0.8
    assert "Table of smoothing" in page.read_text(encoding="utf-8")
    rule = MapRule(smoothing=Smoothing(**chosen), min_pixels=8)
    expected = classify_image(load(model), image, tmp_path / "e.tif", rule, MapOptions())
    assert_array_equal(read_raster(target), read_raster(expected.path))
    given = ["--smoothing-window", chosen["window"], "--smoothing-strength", chosen["strength"], "--min-pixels", 8]
    run("classify", image, "--model-file", model, "-o", target, "--overwrite", "--smoothing", "bayes", *given)
    assert_array_equal(read_raster(target), read_raster(expected.path))
    assert "accuracy on held-out areas" in run(*train, "-o", target, "--smoothing", "majority").stdout
    assert "choose" not in refused("classify", image, "--model-file", model, "-o", target, "--smoothing", "potts")


def test_masks_and_macro_classes(tmp_path, train):
    write_image(tmp_path / "scl.tif", (np.arange(3600).reshape(1, 60, 60) % 12).astype("uint8"))
    target, sub = tmp_path / "map.tif", tmp_path / "sub.tif"
    (tmp_path / "legend.csv").write_text("sand,land\n")
    masked = ["--mask", tmp_path / "scl.tif", "--mask-values", "sentinel2-scl"]
    merged = ["--macro", tmp_path / "legend.csv", "--macro", "forest=land", "--subclass-map", sub]
    result = run(*train, *masked, *merged, "-o", target)
    assert "Masked pixels: 1,800" in result.stdout
    codes, legend, _ = read_class_map(target)
    assert [entry.label for entry in legend.classes] == ["land", "water"]
    assert (codes == legend.nodata).sum() == 1800
    below, names, _ = read_class_map(sub)
    assert_array_equal(codes == legend.classes[1].code, below == names.classes[2].code)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--smoothing", "mean"],
        ["--smoothing-window", "5"],
        ["--smoothing", "bayes", "--smoothing-window", "6"],
        ["--macro", "barley=crop"],
        ["--macro", "missing.csv"],
        ["--subclass-map", "sub.tif"],
        ["--mask-values", "3"],
        ["--mask", "missing.tif"],
        ["--resample", "mean"],
    ],
)
def test_wrong_options_leave_no_file(tmp_path, train, arguments):
    target = tmp_path / "map.tif"
    refused(*train, *arguments, "-o", target)
    assert not target.exists()


@pytest.mark.parametrize(("side", "values"), [(59, None), (60, "bits 9"), (60, "300")])
def test_masks_that_do_not_fit_leave_no_file(tmp_path, train, side, values):
    """A mask on another grid, and bits and values that its type does not have."""
    mask = write_image(tmp_path / "mask.tif", np.zeros((1, side, 60), "uint8"))
    given = ["--mask", mask, *([] if values is None else ["--mask-values", values])]
    refused(*train, *given, "-o", tmp_path / "map.tif", "--save-model", tmp_path / "m.dsc")
    assert not (tmp_path / "map.tif").exists()
    assert not (tmp_path / "m.dsc").exists()


def test_accuracy_of_macro_classes(tmp_path, train):
    run(*train, "-o", tmp_path / "map.tif")
    areas, merged = tmp_path / "areas.gpkg", ["--macro", "sand=land", "--macro", "forest=land"]
    below = json.loads(run("accuracy", tmp_path / "map.tif", areas, "-c", "cover", "--json").stdout)
    above = json.loads(run("accuracy", tmp_path / "map.tif", areas, "-c", "cover", *merged, "--json").stdout)
    assert above["reference_classes"] == ["land", "water"]
    assert above["counts"][0][0] == sum(map(sum, (row[:2] for row in below["counts"][:2])))
    write_image(tmp_path / "labels.tif", np.ones((1, 60, 60), "uint8"))
    refused("accuracy", tmp_path / "map.tif", tmp_path / "labels.tif", *merged)


def test_cloud_optimised_output_and_resampling(tmp_path, train):
    target = tmp_path / "map.tif"
    run(*train, "--cog", "--resample", "auto", "--no-validate", "-o", target)
    with rasterio.open(target) as file:
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
