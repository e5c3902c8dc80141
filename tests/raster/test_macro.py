"""Macro-classes: both levels of a map agree, and accuracies are those of the merged classes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from painted import scene, write_image

from discriminant import LinearDiscriminantAnalysis
from discriminant.errors import InputError, ParameterError
from discriminant.raster import (
    MacroClasses,
    MapOptions,
    MapRule,
    classify_image,
    draw_samples,
    held_out_accuracy,
    read_class_map,
    read_macro_classes,
)

LABELS = ("forest", "maize", "water", "wheat")
MERGED = MacroClasses({"maize": "crop", "wheat": "crop"})


@pytest.mark.parametrize("reject", [None, 0.9])
def test_both_levels_agree(tmp_path, reject):
    values, _, (X, y) = scene(labels=LABELS)
    image, model = write_image(tmp_path / "image.tif", values), LinearDiscriminantAnalysis().fit(X, y)
    options = MapOptions(subclass_map=tmp_path / "sub.tif", colours={"crop": "#ff0000", "wheat": "#00ff00"})
    found = classify_image(model, image, tmp_path / "map.tif", MapRule(reject=reject, macro=MERGED), options)
    plain = classify_image(model, image, tmp_path / "plain.tif", MapRule(reject=reject))
    sub, names, _ = read_class_map(tmp_path / "sub.tif")
    assert_array_equal(sub, read_class_map(plain.path)[0])
    codes, legend, _ = read_class_map(found.path)
    merged = MERGED.labels([names.names[code] for code in sub.ravel().tolist()])
    assert_array_equal([legend.names[code] for code in codes.ravel().tolist()], merged)
    assert [entry.label for entry in legend.classes] == ["crop", "forest", "water"]
    assert {entry.label: entry.colour for entry in legend.classes}["crop"] == "#ff0000"
    assert {entry.label: entry.colour for entry in names.classes}["wheat"] == "#00ff00"
    assert found.pixels["crop"] == plain.pixels["maize"] + plain.pixels["wheat"]
    assert found.hectares["crop"] == pytest.approx(plain.hectares["maize"] + plain.hectares["wheat"])


def test_held_out_accuracy_is_that_of_macro_classes(tmp_path):
    values, truth, _ = scene(labels=LABELS)
    image = write_image(tmp_path / "image.tif", values)
    codes = (1 + np.unique(truth, return_inverse=True)[1])[None].astype("uint8")
    codes[:, ::7] = 0
    areas = write_image(tmp_path / "areas.tif", codes, nodata=0)
    samples = draw_samples(image, areas)
    below = held_out_accuracy(LinearDiscriminantAnalysis(), samples)
    merged = held_out_accuracy(LinearDiscriminantAnalysis(), samples, rule=MapRule(macro=MacroClasses({2: 9, 4: 9})))
    assert merged.classes.tolist() == [1, 3, 9]
    counts, own = below.confusion.counts, [1, 3]
    assert merged.confusion.counts[2, 2] == counts[np.ix_(own, own)].sum()
    assert merged.overall_accuracy > below.overall_accuracy


def test_files_of_macro_classes(tmp_path):
    path = tmp_path / "legend.csv"
    path.write_text("class;macro\nmaize;crop\nwheat; crop\n")
    assert read_macro_classes(path).of == {"maize": "crop", "wheat": "crop"}
    for text in ("", "maize\n", "maize,crop,3\n", "maize,crop\nmaize,other\n", "maize,\n"):
        path.write_text(text)
        with pytest.raises(InputError):
            read_macro_classes(path)


def test_unknown_classes_are_refused(tmp_path):
    values, _, (X, y) = scene(labels=LABELS)
    image, model = write_image(tmp_path / "image.tif", values), LinearDiscriminantAnalysis().fit(X, y)
    with pytest.raises(ParameterError):
        classify_image(model, image, tmp_path / "map.tif", MapRule(macro=MacroClasses({"barley": "crop"})))
    with pytest.raises(ParameterError):
        classify_image(model, image, tmp_path / "map.tif", options=MapOptions(subclass_map=tmp_path / "s.tif"))
    assert not (tmp_path / "map.tif").exists()
