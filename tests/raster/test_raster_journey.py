"""The whole way on a Landsat-7 scene, from the command line, against scikit-learn, rasterio and SciPy by hand."""

import html
import json
import re

import numpy as np
import pyogrio
import pytest
import rasterio
import rasterio.features
import rasterio.warp
import shapely
from landsat import BANDS, POLYGONS
from numpy.testing import assert_allclose, assert_array_equal
from painted import read_raster
from rasterio.windows import Window
from scipy.stats import f
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from discriminant.cli.raster import app
from discriminant.raster import open_image
from discriminant.raster.coordinates import pixel_areas


def run(*arguments):
    """A command that has to succeed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result


class Scaled(BaseEstimator):
    """The covariance with divisor N, times a factor: scikit-learn divides by N where unbiased estimates by less."""

    def __init__(self, factor=None):
        self.factor = factor

    def fit(self, X):
        factor = len(X) / (len(X) - 1) if self.factor is None else self.factor
        self.covariance_ = factor * np.cov(X.T, ddof=0)
        return self


#: What the commands' models are in scikit-learn.
RIVALS = {
    "maximum-likelihood": lambda K, n: QuadraticDiscriminantAnalysis(
        solver="eigen", covariance_estimator=Scaled(), priors=np.full(K, 1 / K)
    ),
    "qda": lambda K, n: QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=Scaled()),
    "lda": lambda K, n: LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Scaled(n / (n - K))),
    "minimum-distance": lambda K, n: NearestCentroid(),
    "gaussian-nb": lambda K, n: GaussianNB(),
}


@pytest.fixture(scope="module")
def by_hand():
    """Values, where they are, and the labelled pixels: read, reprojected and burned with rasterio alone."""
    layers = [rasterio.open(path) for path in BANDS]
    values = np.stack([layer.read(1).astype(np.float64) for layer in layers])
    valid = np.all([layer.read_masks(1) > 0 for layer in layers], axis=0) & np.isfinite(values).all(axis=0)
    grid = layers[0]
    meta, _, geometry, (labels, _) = pyogrio.raw.read(POLYGONS)
    names = sorted(set(labels))
    codes = np.zeros(grid.shape, dtype=np.uint8)
    for shape, label in zip(shapely.from_wkb(geometry), labels, strict=True):
        moved = rasterio.warp.transform_geom(meta["crs"], grid.crs, shapely.geometry.mapping(shape))
        inside = rasterio.features.geometry_mask([moved], grid.shape, grid.transform, invert=True)
        assert not (codes[inside] > 0).any()  # no two areas of the scene claim the same pixel
        codes[inside] = names.index(label) + 1
    chosen = (codes > 0) & valid
    for layer in layers:
        layer.close()
    return values, valid, (values[:, chosen].T, np.array(names)[codes[chosen] - 1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("journey")


def classes_on(path):
    with rasterio.open(path) as file:
        return {int(code): label for code, label in json.loads(file.tags()["CLASSES"]).items()}


def test_samples_are_those_found_by_hand(by_hand):
    _, _, (X, y) = by_hand
    found = json.loads(run("samples", *BANDS, POLYGONS, "--class-field", "label", "--json").stdout)
    assert [one["class"] for one in found["classes"]] == sorted(set(y))
    for one in found["classes"]:
        own = X[y == one["class"]]
        assert one["pixels"] == len(own)
        assert_allclose(one["mean"], own.mean(axis=0), rtol=1e-12)
        assert_allclose(one["sd"], own.std(axis=0, ddof=1), rtol=1e-10)
        assert_allclose(one["covariance"], np.cov(own.T), rtol=1e-9)


@pytest.mark.parametrize("name", RIVALS)
def test_the_map_is_that_of_scikit_learn_pixel_for_pixel(by_hand, folder, name):
    values, valid, (X, y) = by_hand
    target = folder / f"{name}.tif"
    run("classify", *BANDS, "--areas", POLYGONS, "-c", "label", "--model", name, "-o", target, "--no-validate")
    rival = RIVALS[name](len(set(y)), len(y)).fit(X, y)
    expected = rival.predict(values[:, valid].T)
    found, names = read_raster(target)[0], classes_on(target)
    assert_array_equal(found > 0, valid)
    assert_array_equal([names[code] for code in found[valid].tolist()], expected)


def test_logistic_regression_agrees_where_it_is_sure(by_hand, folder):
    """Two solvers of one penalised likelihood: only pixels on a boundary may differ."""
    values, valid, (X, y) = by_hand
    target, every = folder / "logistic.tif", folder / "every.tif"
    options = ["--model", "logistic", "--probabilities", every, "--probability-type", "float32", "--no-validate"]
    options += ["--set", "alpha=1e-4"]
    run("classify", *BANDS, "--areas", POLYGONS, "-c", "label", "-o", target, *options)
    rival = make_pipeline(StandardScaler(), LogisticRegression(C=1 / (1e-4 * len(y)), tol=1e-10, max_iter=100_000))
    assert_allclose(read_raster(every)[:, valid].T, rival.fit(X, y).predict_proba(values[:, valid].T), atol=2e-4)


def test_probabilities_and_rejected_pixels(by_hand, folder):
    values, valid, (X, y) = by_hand
    target, best = folder / "rejecting.tif", folder / "best.tif"
    run(
        "classify", *BANDS, "--areas", POLYGONS, "-c", "label", "--reject", 0.99, "--probability", best,
        "-o", target, "--no-validate", "--model", "maximum-likelihood",
    )  # fmt: skip
    rows, names = values[:, valid].T, sorted(set(y))
    rival = RIVALS["maximum-likelihood"](len(names), len(y)).fit(X, y)
    posterior = rival.predict_proba(rows)
    assert_array_equal(read_raster(best)[0][valid], np.rint(100 * posterior.max(axis=1).astype("float32")))
    squared = np.empty((len(rows), len(names)))
    for k, name in enumerate(names):
        step = rows - X[y == name].mean(axis=0)
        squared[:, k] = np.einsum("ij,ij->i", step @ np.linalg.inv(np.cov(X[y == name].T)), step)
    winner = posterior.argmax(axis=1)
    n, p = np.array([np.sum(y == name) for name in names]), len(BANDS)
    limits = (1 + 1 / n) * p * (n - 1) / (n - p) * f.ppf(0.99, p, n - p)
    far = squared[np.arange(len(rows)), winner] > limits[winner]
    expected = np.where(far, len(names) + 1, winner + 1)
    assert 0.01 < far.mean() < 0.5
    assert_array_equal(read_raster(target)[0][valid], expected)


def test_a_kept_model_and_kept_samples_give_the_same_map(folder):
    samples, model = folder / "samples.parquet", folder / "lda.dsc"
    run("samples", *BANDS, POLYGONS, "-c", "label", "-o", samples)
    first, second, third = (folder / f"{name}.tif" for name in ("first", "second", "third"))
    run("classify", *BANDS, "--areas", POLYGONS, "-c", "label", "--model", "lda", "-o", first, "--save-model", model)
    run("classify", *BANDS, "--samples", samples, "--model", "lda", "-o", second)
    run("classify", *BANDS, "--model-file", model, "-o", third)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


def test_bands_in_another_order_are_refused_by_name(folder, tmp_path):
    model = tmp_path / "lda.dsc"
    run("classify", *BANDS, "--areas", POLYGONS, "-c", "label", "--model", "lda", "-o", tmp_path / "m.tif",
        "--save-model", model, "--no-validate")  # fmt: skip
    swapped = [str(path) for path in (BANDS[1], BANDS[0], *BANDS[2:])]
    result = CliRunner().invoke(app, ["classify", *swapped, "--model-file", str(model), "-o", str(tmp_path / "x.tif")])
    assert result.exit_code == 1
    assert "Band 1 of the image must be 'lsat7_2000_10'" in result.stderr
    assert not (tmp_path / "x.tif").exists()


def test_held_out_areas_and_the_report(folder, open_page):
    target, page = folder / "reported.tif", folder / "page.html"
    areas = ["--areas", POLYGONS, "-c", "label", "--model", "lda"]
    result = run("classify", *BANDS, *areas, "-o", target, "--report", page, "--json")
    judged = json.loads(result.stdout)["held_out_areas"]
    assert 0.4 < judged["overall_accuracy"] < 0.95
    text = page.read_text(encoding="utf-8")
    assert text.count('src="data:image/png;base64,') >= 2
    for words in ("Image and map", "shrubland", "Jeffries-Matusita", "reprojected", "Producer&#39;s accuracy"):
        assert words in text or words.replace("&#39;", "'") in text
    assert 'id="plot-signatures"' in text
    assert text.count("<figure>") >= 6
    with open_page(page, 760) as printed:  # the width of a sheet
        printed.emulate_media(media="print")
        widths = printed.evaluate(
            "[...document.querySelectorAll('table')].map(t => [t.scrollWidth, t.parentElement.clientWidth])"
        )
    assert widths
    assert all(own <= there for own, there in widths)


def test_accuracy_has_its_sides_the_right_way_round(by_hand, folder):
    """The map of one model held against the map of another: an asymmetric matrix."""
    first = folder / "judged.tif"
    values, valid, (X, y) = by_hand
    likelihood = ("--model", "maximum-likelihood", "--no-validate")
    run("classify", *BANDS, "--areas", POLYGONS, "-c", "label", "-o", first, *likelihood)
    rows = values[:, valid].T
    mapped, truth = (
        RIVALS[name](6, len(y)).fit(X, y).predict(rows) for name in ("maximum-likelihood", "minimum-distance")
    )
    names = sorted(set(y))
    expected = confusion_matrix(truth, mapped, labels=names)
    assert not (expected == expected.T).all()
    areas = folder / "truth.gpkg"
    points_of(truth, valid, areas, every=211)
    page = folder / "sides.html"
    found = json.loads(run("accuracy", first, areas, "-c", "cover", "--stratified", "--json").stdout)
    text = run("accuracy", first, areas, "-c", "cover", "--report", page).stdout
    some = np.arange(0, len(rows), 211)
    counts = confusion_matrix(truth[some], mapped[some], labels=names)
    assert_array_equal(found["counts"], counts)
    assert (found["rows"], found["columns"]) == ("reference", "map")
    right = np.diagonal(counts)
    assert_allclose(list(found["producers_accuracy"].values()), right / counts.sum(axis=1))
    assert_allclose(list(found["users_accuracy"].values()), right / counts.sum(axis=0))
    assert_sides_in_text(text, page.read_text(encoding="utf-8"), names, counts)
    adjusted = found["area_adjusted"]
    assert (adjusted["rows"], adjusted["columns"]) == ("map", "reference")
    assert_array_equal(adjusted["counts"], counts.T)
    with open_image(first) as image:
        by_pixel = pixel_areas(image).of_window(Window(0, 0, *image.shape[::-1]))[valid]
    areas_of_map = np.array([by_pixel[mapped == name].sum() for name in names])
    assert_allclose(list(adjusted["map_areas"].values()), areas_of_map, rtol=1e-9)
    assert_allclose(by_pixel, 28.5**2 / 10_000, rtol=3e-4)  # the scale of the projection
    shares = areas_of_map / areas_of_map.sum()
    assert_allclose(adjusted["overall_accuracy"], (shares * right / counts.sum(axis=0)).sum(), rtol=1e-12)


def assert_sides_in_text(text, page, names, counts):
    """A row for each class of the reference ends in its producer's accuracy; user's accuracies stand below."""
    right = np.diagonal(counts)
    producers, users = (100 * right / counts.sum(axis=axis) for axis in (1, 0))
    others = counts.sum() - counts.sum(axis=1)
    specificity = 100 * (1 - (counts.sum(axis=0) - right) / others)
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    cells = re.findall(r"<th scope=\"row\">(.*?)</th>(.*?)</tr>", html.unescape(page))
    rows = {name: re.findall(r"<td class=\"number\">(.*?)</td>", content) for name, content in cells}
    for k, name in enumerate(names):
        expected = [*map(str, counts[k]), str(counts[k].sum()), f"{producers[k]:.1f}", f"{specificity[k]:.1f}"]
        assert [cell.replace(",", "") for cell in lines[name][1:] if cell != "%"] == expected
        assert [cell.removesuffix(" %") for cell in rows[name]] == expected
    below = [f"{share:.1f}" for share in (*users, 100 * right.sum() / counts.sum())]
    assert [cell for cell in lines["user's"][1:] if cell != "%"] == below
    assert [cell.removesuffix(" %") for cell in rows["User's accuracy"]] == below


def points_of(truth, valid, path, every):
    """Some valid pixels as points with their class, in the coordinates of the image."""
    with rasterio.open(BANDS[0]) as file:
        transform, crs = file.transform, file.crs
    rows, columns = (place[::every] for place in np.nonzero(valid))
    x, y = transform @ (columns + 0.5, rows + 0.5)
    pyogrio.raw.write(
        path, shapely.to_wkb(shapely.points(x, y)), [truth[::every].astype(object)], ["cover"],
        geometry_type="Point", crs=crs.to_wkt(), driver="GPKG",
    )  # fmt: skip


def test_a_design_that_is_checked_without_errors_gives_an_accuracy_of_1(by_hand, folder):
    target, points = folder / "checked.tif", folder / "check.gpkg"
    run("classify", *BANDS, "--areas", POLYGONS, "-c", "label", "--model", "lda", "-o", target, "--no-validate")
    told = json.loads(run("sample-design", target, "-o", points, "--total", 400, "--json").stdout)
    assert sum(one["to_check"] for one in told["strata"]) == 400
    meta, _, geometry, _ = pyogrio.raw.read(points)
    names, codes = classes_on(target), read_raster(target)[0]
    with rasterio.open(target) as file:
        places = [file.index(point.x, point.y) for point in shapely.from_wkb(geometry)]
    truth = np.array([names[int(codes[place])] for place in places], dtype=object)
    checked = folder / "checked.gpkg"
    pyogrio.raw.write(checked, geometry, [truth], ["reference"], geometry_type="Point", crs=meta["crs"], driver="GPKG")
    page = folder / "accuracy.html"
    found = run("accuracy", target, checked, "-c", "reference", "--stratified", "--report", page, "--json")
    adjusted = json.loads(found.stdout)["area_adjusted"]
    assert adjusted["overall_accuracy"] == pytest.approx(1)
    assert adjusted["area"] == pytest.approx(adjusted["map_areas"])
    assert "Estimated areas" in page.read_text(encoding="utf-8")
