"""Files of maps: whole or not at all, with their classes, colours, tiles and overviews."""

import json
import subprocess
import sys
import textwrap
from collections import namedtuple
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from numpy.testing import assert_array_equal
from painted import GRID, read_raster, scene, write_image

import discriminant
from discriminant import Decision, LinearDiscriminantAnalysis
from discriminant.errors import InputError
from discriminant.raster import MapOptions, MapRule, legend_of_file, output
from discriminant.raster.class_map import make_legend, qgis_style, read_class_map
from discriminant.raster.classify import classify_image
from discriminant.raster.colours import rgb
from discriminant.raster.output import RasterFile, check_raster_target, check_space, new_rasters, tile_of


def plan(path, height=300, width=500, **more):
    settings = {"dtype": "uint8", "nodata": 0, "bands": ("class",), **more}
    return RasterFile(path, {**GRID, "height": height, "width": width}, **settings)


def some_map(folder, rule=None, **options):
    values, _, (X, y) = scene(300, 400, n_bands=2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    image = write_image(folder / "image.tif", values)
    return classify_image(model, image, folder / "map.tif", rule, MapOptions(**options))


def test_what_is_written_is_read(tmp_path):
    values = np.random.default_rng(0).integers(0, 9, (1, 300, 500)).astype("uint8")
    with new_rasters([plan(tmp_path / "map.tif")], {tmp_path / "notes.txt": "déjà vu"}) as (file,):
        file.write(values)
        assert not (tmp_path / "map.tif").exists()
    assert_array_equal(read_raster(tmp_path / "map.tif"), values)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.tif", "notes.txt"]
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "déjà vu"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_on_the_way_leaves_everything_as_it_was(tmp_path, error):
    old = tmp_path / "map.tif"
    old.write_bytes(b"the old map")

    def write_half():
        with new_rasters([plan(old)], {tmp_path / "map.qml": "style"}) as (file,):
            file.write(np.ones((1, 300, 500), dtype="uint8"))
            raise error

    with pytest.raises(error):
        write_half()
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_bytes() == b"the old map"


def test_a_map_that_cannot_be_scored_leaves_nothing(tmp_path):
    values, _, (X, y) = scene(60, 70, n_bands=2)

    class Fragile(LinearDiscriminantAnalysis):
        def predict(self, X):
            raise MemoryError

    image = write_image(tmp_path / "image.tif", values)
    with pytest.raises(MemoryError):
        classify_image(Fragile().fit(X, y), image, tmp_path / "map.tif")
    assert list(tmp_path.iterdir()) == [image]


def test_room_on_the_disk_is_looked_at_first(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(output.shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 290_000, 290_000))
    check_space([plan(tmp_path / "a.tif")])
    with pytest.raises(InputError, match=r"0\.3 MB.*0\.3 MB"):
        check_space([plan(tmp_path / "a.tif"), plan(tmp_path / "b.tif")])
    with pytest.raises(InputError, match="MB"):
        some_map(tmp_path, probability=tmp_path / "p.tif", probability_type="float32")
    assert [path.name for path in tmp_path.iterdir()] == ["image.tif"]


@pytest.mark.parametrize("limit", [60_000, 140_000])
def test_a_disk_that_fills_up_leaves_no_half_of_a_map(tmp_path, limit):
    """A limit on the size of files does to the process what a full disk does: writing fails on the way."""
    code = f"""
        import resource, signal, sys
        import numpy as np
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from test_output import plan
        from discriminant.errors import InputError
        from discriminant.raster.output import new_rasters

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        values = np.random.default_rng(0).integers(0, 255, (1, 300, 500)).astype("uint8")
        try:
            with new_rasters([plan(Path({str(tmp_path / "map.tif")!r}))], {{}}) as (file,):
                file.write(values)
        except InputError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert "failed" in run.stdout
    assert "map.tif" in run.stdout
    assert list(tmp_path.iterdir()) == []


def test_names_of_files(tmp_path):
    assert check_raster_target(tmp_path / "Map.TIFF", False).name == "Map.TIFF"
    (tmp_path / "folder.tif").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        check_raster_target(tmp_path / "folder.tif", True)
    (tmp_path / "old.tif").touch()
    with pytest.raises(InputError, match="exists"):
        check_raster_target(tmp_path / "old.tif", False)
    assert check_raster_target(tmp_path / "old.tif", True) == tmp_path / "old.tif"


def test_a_style_that_was_changed_by_hand_is_kept(tmp_path):
    (tmp_path / "map.qml").write_text("mine")
    with pytest.raises(InputError, match=r"map\.qml'"):
        some_map(tmp_path)
    assert (tmp_path / "map.qml").read_text() == "mine"
    assert not (tmp_path / "map.tif").exists()


def test_maps_are_compressed_and_tiled(tmp_path):
    found = some_map(tmp_path)
    with rasterio.open(found.path) as file:
        assert file.compression.name == "deflate"
        assert file.block_shapes == [(256, 256)]
        assert file.overviews(1) == []


def test_overviews_on_request(tmp_path):
    found = some_map(tmp_path, overviews=True, probability=tmp_path / "p.tif")
    whole = read_raster(found.path)[0]
    with rasterio.open(found.path) as file:
        assert file.overviews(1) == [2]
        half = file.read(1, out_shape=(150, 200))
    assert set(np.unique(half)) <= set(np.unique(whole))
    with rasterio.open(tmp_path / "p.tif") as file:
        assert file.overviews(1) == [2]


def test_the_map_says_what_its_codes_are(tmp_path):
    found = some_map(tmp_path, colours={"water": "#0000FF"})
    with rasterio.open(found.path) as file:
        assert file.nodata == 0
        assert file.descriptions == ("class",)
        assert file.tags()["CLASSES"] == '{"1": "forest", "2": "sand", "3": "water"}'
        assert file.tags()["MODEL"] == "LinearDiscriminantAnalysis"
        assert file.tags()["IMAGE"] == "image.tif"
        table = file.colormap(1)
    assert table[3] == (0, 0, 255, 255)
    assert table[1] == (*rgb(found.legend.classes[0].colour), 255)
    codes, legend, transform = read_class_map(found.path)
    assert legend.tags() == found.legend.tags()
    assert [entry.colour.lower() for entry in legend.classes] == [e.colour.lower() for e in found.legend.classes]
    assert transform == GRID["transform"]
    assert codes.shape == (300, 400)


def test_the_map_says_how_it_was_made(tmp_path):
    costs = {"forest": {"sand": 2, "water": 1}, "sand": {"forest": 1, "water": 1}, "water": {"forest": 7, "sand": 7}}
    rule = MapRule(Decision(costs, reject_cost=0.4), 0.99)
    found = some_map(tmp_path, rule, training={"areas": "a.gpkg", "pixels": 3})
    with rasterio.open(found.path) as file:
        tags = file.tags()
    assert tags["RULE"].startswith("least expected cost")
    assert (tags["REJECT_COST"], tags["REJECT"]) == ("0.4", "0.99")
    assert json.loads(tags["COSTS"])["water"] == {"forest": 7, "sand": 7, "water": 0, "abstain": 0.4}
    priors = json.loads(tags["PRIORS"])
    assert list(priors) == ["forest", "sand", "water"]
    assert sum(priors.values()) == pytest.approx(1)
    assert json.loads(tags["BANDS"]) == {"1": "band 1", "2": "band 2"}
    assert json.loads(tags["TRAINING"]) == {"areas": "a.gpkg", "pixels": 3}
    assert tags["MODEL_SETTINGS"] == "LinearDiscriminantAnalysis()"
    assert tags["TIFFTAG_SOFTWARE"] == f"discriminant {discriminant.__version__}"


@pytest.mark.parametrize("labels", [("forest", "sand & <ice>", "wa\x01ter"), (3, 7, 300)])
def test_gdal_knows_the_classes(tmp_path, labels):
    """GDAL writes what it knows of a raster into a virtual copy: categories and colours."""
    values, _, (X, y) = scene(40, 50, n_bands=2, labels=labels)
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = classify_image(
        model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif", rule=MapRule(reject=0.9)
    )
    rasterio.shutil.copy(found.path, tmp_path / "map.vrt", driver="VRT")
    band = ElementTree.parse(tmp_path / "map.vrt").find("VRTRasterBand")
    categories = [one.text or "" for one in band.findall("CategoryNames/Category")]
    colours = [tuple(int(one.get(f"c{i}")) for i in (1, 2, 3)) for one in band.findall("ColorTable/Entry")]
    for entry in found.legend.entries:
        assert categories[entry.code] == entry.name.replace("\x01", "?")
        assert colours[entry.code] == rgb(entry.colour)
    assert sum(map(bool, categories)) == 4
    table = ElementTree.parse(tmp_path / "map.tif.aux.xml").find("PAMRasterBand/GDALRasterAttributeTable")
    assert [field.findtext("Name") for field in table.findall("FieldDefn")] == [
        "Value",
        "Class",
        "Red",
        "Green",
        "Blue",
    ]
    rows = [[cell.text for cell in row.findall("F")] for row in table.findall("Row")]
    assert [int(row[0]) for row in rows] == [entry.code for entry in found.legend.entries]


def test_integer_classes_come_back_as_integers(tmp_path):
    values, _, (X, y) = scene(40, 50, n_bands=2, labels=(11, 21, 31))
    image = write_image(tmp_path / "image.tif", values)
    classify_image(LinearDiscriminantAnalysis().fit(X, y), image, tmp_path / "map.tif", rule=MapRule(reject=0.9))
    codes, legend, _ = read_class_map(tmp_path / "map.tif")
    assert [entry.label for entry in legend.classes] == [11, 21, 31]
    assert legend.rejected.code == 32
    assert set(np.unique(codes)) <= {11, 21, 31, 32}


def test_a_raster_without_classes_is_no_class_map(tmp_path):
    write_image(tmp_path / "image.tif", np.ones((1, 5, 5), dtype="uint8"))
    with pytest.raises(InputError, match="tif"):
        read_class_map(tmp_path / "image.tif")
    with pytest.raises(InputError, match="tif"):
        read_class_map(tmp_path / "nothing.tif")


def test_the_style_has_every_class_with_its_name_and_colour(tmp_path):
    found = some_map(tmp_path, MapRule(reject=0.5))
    tree = ElementTree.parse(found.path.with_suffix(".qml"))
    assert tree.getroot().tag == "qgis"
    assert tree.find("pipe/rasterrenderer").attrib["type"] == "paletted"
    entries = tree.findall("pipe/rasterrenderer/colorPalette/paletteEntry")
    expected = [(str(entry.code), entry.name, entry.colour) for entry in found.legend.entries]
    assert [(one.attrib["value"], one.attrib["label"], one.attrib["color"]) for one in entries] == expected
    assert found.path.with_suffix(".qml") in found.files


def test_names_that_look_like_markup_stay_names():
    legend = make_legend(['<water> & "ice"', "Wald, naß"])
    tree = ElementTree.fromstring(qgis_style(legend).partition("\n")[2])
    assert [one.attrib["label"] for one in tree.iter("paletteEntry")] == ['<water> & "ice"', "Wald, naß"]


@pytest.mark.parametrize("ending", [".aux.xml", ".ovr", ".msk"])
def test_what_was_told_about_the_map_before_goes_with_it(tmp_path, ending):
    """Overviews, masks and statistics of the old map would be shown with the new one."""
    old = tmp_path / f"map.tif{ending}"
    some_map(tmp_path)
    old.write_text("<PAMDataset><Metadata><MDI key='STALE'>1</MDI></Metadata></PAMDataset>")
    some_map(tmp_path, overwrite=True)
    assert not old.exists() or "STALE" not in old.read_text()


def test_a_class_called_rejected_and_rejected_pixels_are_read_apart(tmp_path):
    values, _, (X, y) = scene(labels=("kept", "rejected"))
    model = LinearDiscriminantAnalysis().fit(X, y)
    made = classify_image(
        model, write_image(tmp_path / "image.tif", values), tmp_path / "map.tif", rule=MapRule(reject=0.5)
    )
    assert made.legend.names == {1: "kept", 2: "rejected", 3: "rejected (no class)"}
    assert read_class_map(made.path)[1].names == made.legend.names


@pytest.mark.parametrize("height", [16, 64, 256, 258, 512])
def test_tiles_lie_in_one_window_of_lines(height):
    down, across = tile_of(height)
    assert down * across == 256 * 256
    assert down % 16 == across % 16 == 0
    assert height % down == 0 or height % 16


def test_a_cloud_optimised_map_has_the_same_pixels(tmp_path):
    plain = some_map(tmp_path, overviews=True)
    expected, legend = read_raster(plain.path), legend_of_file(plain.path)
    cog = some_map(tmp_path, cog=True, overwrite=True, probability=tmp_path / "p.tif")
    assert_array_equal(read_raster(cog.path), expected)
    assert legend_of_file(cog.path) == legend
    for path in (cog.path, tmp_path / "p.tif"):
        with rasterio.open(path) as file:
            assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
    assert not list(tmp_path.glob("*cog*"))
