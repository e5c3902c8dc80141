"""Previews: extents of the classes of a map, and the place whose class is least certain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discriminant.data import as_rows
from discriminant.datasets import scene
from discriminant.raster import classify_image, draw_samples, fit_image_model, image_model, open_image
from discriminant.raster.models import pixel_classifier
from discriminant.raster.preview import preview_extents, preview_of, uncertain_place


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """An image of 96 x 128 pixels of 0.01 ha, its samples and a model."""
    folder = tmp_path_factory.mktemp("preview")
    paths = scene().write(folder)
    samples = draw_samples(str(paths["image"]), str(paths["areas"]), "class")
    model = fit_image_model(image_model("maximum-likelihood", samples.classes.tolist()), samples)
    with open_image(str(paths["image"])) as image:
        yield image, samples, model, classify_image(model, image, folder / "map.tif")


def test_a_preview_of_all_pixels_has_the_extents_of_the_map(example):
    image, _, model, made = example
    pixels, hectares = preview_extents(preview_of(image), *pixel_classifier(model))
    assert pixels == made.pixels
    assert_allclose([hectares[name] for name in pixels], [made.hectares[name] for name in pixels], rtol=1e-9)


def test_a_coarse_preview_estimates_them(example):
    image, _, model, made = example
    coarse = preview_of(image, 48)
    assert coarse.valid.shape == (48, 48)
    assert coarse.weight == 96 * 128 / 48**2
    pixels, hectares = preview_extents(coarse, *pixel_classifier(model))
    assert_allclose(sum(pixels.values()), 96 * 128, atol=len(pixels))
    assert_allclose(sum(hectares.values()), sum(made.hectares.values()), rtol=1e-3)
    for name, n in made.pixels.items():
        share = n / (96 * 128)
        assert abs(pixels[name] - n) < 4 * 96 * 128 * np.sqrt(share * (1 - share) / 48**2)


def test_the_places_of_a_preview_have_its_values(example):
    image = example[0]
    values, _ = image.read()
    for found in (preview_of(image, 48), preview_of(image).every(40)):
        np.testing.assert_array_equal(found.values, values[:, found.rows][:, :, found.columns])


def test_the_uncertain_place_has_similar_classes_and_is_away_from_known_ones(example):
    image, samples, model, _ = example
    preview, known = preview_of(image), np.column_stack([samples.columns, samples.rows])
    places = []
    for _ in range(5):
        place = uncertain_place(preview, model, samples.band_names, known)
        assert np.hypot(*(known - place).T).min() > 0.04 * 127
        places.append(place)
        known = np.concatenate([known, [place]])
    values, _ = image.read()

    def margin(column, row):
        window = values[:, int(row) - 2 : int(row) + 3, int(column) - 2 : int(column) + 3]
        rows = as_rows(window.reshape(len(values), -1).T.astype(float), samples.band_names)
        p = np.sort(model.predict_proba(rows), axis=1)
        return np.mean(p[:, -1] - p[:, -2])

    rng = np.random.default_rng(0)
    others = [margin(*place) for place in zip(rng.uniform(3, 124, 200), rng.uniform(3, 92, 200), strict=True)]
    inside = [margin(*place) for place in places if 3 < place[0] < 124 and 3 < place[1] < 92]
    assert max(inside, default=0) < np.quantile(others, 0.2)


def test_no_place_is_proposed_where_all_are_known(example):
    image, samples, model, _ = example
    known = np.stack(np.meshgrid(np.arange(0, 128, 4), np.arange(0, 96, 4)), axis=-1).reshape(-1, 2)
    assert uncertain_place(preview_of(image), model, samples.band_names, known) is None
