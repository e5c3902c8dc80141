"""Colours of classes: those their names stand for, different ones, and those that were chosen."""

import colorsys

import numpy as np
import pytest

from discriminant.raster import make_legend
from discriminant.raster.colours import class_colours, named_colour, rgb

#: Hue in degrees of what people expect.
BLUE, GREEN, YELLOW, RED, BROWN = (190, 250), (75, 165), (40, 60), (0, 15), (15, 40)


@pytest.mark.parametrize(
    ("names", "hues"),
    [
        (["water", "Water bodies", "OPEN_WATER", "Waterbody", "rivers"], BLUE),
        (["forest", "trees", "mixed forest", "Rainforest"], GREEN),
        (["grass", "Grassland", "meadows"], GREEN),
        (["crop", "Agriculture (irrigated)", "wheat"], YELLOW),
        (["urban", "Built-up", "BuiltUp area", "developed, low intensity"], RED),
        (["soil", "BareSoil", "bare ground"], BROWN),
    ],
)
def test_known_words_have_the_colours_people_expect(names, hues):
    for name in names:
        (entry, _) = make_legend([name, "x"]).classes
        hue, _, strength = colorsys.rgb_to_hls(*(part / 255 for part in rgb(entry.colour)))
        assert hues[0] <= 360 * hue <= hues[1], name
        assert strength > 0.3


def test_snow_is_white_clouds_and_roads_are_grey():
    for name, low, high in (("snow", 235, 255), ("snow/ice", 235, 255), ("clouds", 200, 230), ("road", 50, 110)):
        assert all(low <= part <= high for part in rgb(named_colour(name))), name


@pytest.mark.parametrize(
    "name", ["non-forest", "stable nonforest", "no water", "Wald", "class 3", "7", "merchant", "水", ""]
)
def test_other_words_have_none_of_them(name):
    assert named_colour(name) is None


def test_the_last_of_several_words_counts():
    assert named_colour("forest road") == named_colour("road")
    assert named_colour("cloud shadow") == named_colour("shadow")
    assert named_colour("herbaceous wetland") == named_colour("wetland")


@pytest.mark.parametrize("n", [2, 30, 300, 500])
@pytest.mark.parametrize("word", ["forest", "thing"])
def test_no_two_classes_have_one_colour(n, word):
    found = class_colours([f"{word} {k}" for k in range(n)])
    assert len(set(found)) == n
    if n <= 30:
        shades = np.array([rgb(colour) for colour in found])
        gaps = np.sqrt(np.square(shades[:, None] - shades[None]).sum(axis=2)) + 1e3 * np.eye(n)
        assert gaps.min() >= 24


def test_kinds_of_forest_are_shades_of_green():
    for colour in class_colours(["coniferous forest", "deciduous forest", "mixed forest"]):
        red, green, blue = rgb(colour)
        assert green > max(red, blue)


def test_chosen_colours_win_and_are_not_used_again():
    legend = make_legend(["water", "lake", "x"], colours={"x": named_colour("water"), "lake": "#123456"})
    colours = {entry.name: entry.colour for entry in legend.classes}
    assert (colours["x"], colours["lake"]) == (named_colour("water"), "#123456")
    assert colours["water"] != colours["x"]


def test_classes_without_known_words_keep_the_colours_of_all_figures():
    assert class_colours(["a", "b", "c"]) == ["#0072B2", "#E69F00", "#009E73"]
