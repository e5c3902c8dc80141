"""The data sets are what their descriptions say, the same each time, and reach files and frames whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from discriminant import datasets, raster
from discriminant.errors import ParameterError

ALL = datasets.names()


@pytest.mark.parametrize("name", ALL)
def test_a_data_set_is_the_same_each_time_and_describes_itself(name):
    first, second = datasets.load(name), datasets.load(name)
    assert_array_equal(first.X, second.X)
    assert_array_equal(first.y, second.y)
    assert first.name == name
    assert first.title in str(first)
    assert first.description.endswith(".")
    assert first.source
    assert first.X.shape == (len(first.y), len(first.columns))


@pytest.mark.parametrize("name", ALL)
def test_its_frame_has_every_column_and_the_classes(name):
    data = datasets.load(name)
    frame = data.to_frame("pandas")
    assert list(frame.columns) == [*data.columns, data.target]
    assert_array_equal(frame[data.target], data.y)


@pytest.mark.parametrize("name", [name for name in ALL if datasets.load(name).distributions])
def test_rows_come_from_the_densities_that_come_with_them(name):
    data = datasets.load(name)
    assert_allclose(sum(data.priors.values()), 1)
    for label, law in data.distributions.items():
        rows = data.X[data.y == label]
        assert np.mean(data.y == label) == pytest.approx(data.priors[label])
        for j in range(rows.shape[1]):
            drawn = stats.norm(law.mean[j], np.sqrt(law.covariance[j, j]))
            assert stats.kstest(rows[:, j], drawn.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "make", [datasets.avocados, datasets.two_normals, datasets.triangle, datasets.curved, datasets.characters]
)
def test_size_and_seed_can_be_chosen(make):
    small, other = make(30, random_state=1), make(30, random_state=2)
    assert len(small.y) == 30
    assert not np.array_equal(small.X, other.X)


def test_the_counts_of_the_titanic_are_the_published_ones():
    data = datasets.titanic()
    assert len(data.y) == 2201
    assert np.sum(data.y == "survived") == 711
    children = data.data["age"] == "child"
    assert np.sum(children) == 109
    assert np.sum(data.data["class"] == "crew") == 885


def test_letters_look_like_themselves():
    data = datasets.characters(200)
    images = data.X.reshape(-1, 20, 20)
    assert images.sum(axis=(1, 2)).min() > 25
    # Upright strokes of H and the bar of T, wherever they were moved.
    middle = {letter: images[data.y == letter].mean(axis=0) for letter in "HT"}
    assert middle["T"].sum(axis=0).argmax() in range(7, 13)
    assert middle["H"].sum(axis=0).max() < middle["T"].sum(axis=0).max()


def test_training_areas_lie_within_their_class():
    made = datasets.scene()
    X, y = made.samples()
    truth = np.array(made.classes)[made.truth]
    for label, corners in made.areas:
        (left, top), (right, bottom) = corners[0].astype(int), corners[2].astype(int)
        assert set(truth[top:bottom, left:right].ravel()) == {label}
    assert X.shape == (len(y), 4)
    assert set(y) == set(made.classes)


def test_a_written_scene_is_read_back_by_our_own_functions(tmp_path):
    made = datasets.scene()
    paths = made.write(tmp_path)
    with raster.open_image(paths["image"]) as image:
        samples = raster.draw_samples(image, raster.open_areas(paths["areas"], "class"))
    X, y = made.samples()
    assert len(samples.y) == len(y)
    for label in made.classes:
        assert_allclose(np.sort(samples.X[samples.y == label], axis=0), np.sort(X[y == label], axis=0))


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(ParameterError, match="'avocados'"):
        datasets.load("avocado")
    with pytest.raises(ParameterError, match="gate"):
        datasets.logic_gate("nand")
