"""LDA and QDA beyond their formulas: directions, ranks, and classes that are yet to come."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from discriminant import GaussianNB, LinearDiscriminantAnalysis, NaiveBayes, QuadraticDiscriminantAnalysis
from discriminant.errors import CollinearityWarning, DegenerateDataError, DiscriminantWarning, LabelError
from helpers import normal_classes

POSTERIOR = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB, NaiveBayes]
every_posterior = pytest.mark.parametrize("make", POSTERIOR)


@every_posterior
@pytest.mark.parametrize("K", [2, 5])
def test_posteriors_are_probabilities(make, K):
    X, y = normal_classes(n=300, K=K)
    model = make().fit(X, y)
    chances = model.predict_proba(50 * X)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-9, atol=1e-300)


@every_posterior
def test_a_class_not_seen_yet_cannot_win(make):
    X, y = normal_classes(K=2)
    waiting = make().partial_fit(X, 2 * y, classes=[0, 1, 2])
    alone = make().fit(X, 2 * y)
    assert_array_equal(waiting.predict(X), alone.predict(X))
    assert_allclose(waiting.predict_proba(X)[:, [0, 2]], alone.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(waiting.predict_proba(X)[:, 1], 0)
    assert_array_equal(waiting.predict_log_proba(X)[:, 1], -np.inf)
    assert_array_equal(np.isnan(waiting.means_).all(axis=1), [False, True, False])


@every_posterior
def test_given_priors_are_shared_among_the_classes_seen(make):
    X, y = normal_classes(K=2)
    waiting = make(priors=[0.2, 0.2, 0.6]).partial_fit(X, y, classes=[0, 1, 2])
    even = make(priors=[0.5, 0.5]).fit(X, y)
    assert_allclose(waiting.predict_proba(X)[:, :2], even.predict_proba(X), rtol=1e-8, atol=1e-12)


@every_posterior
def test_a_class_of_prior_zero_cannot_win(make):
    X, y = normal_classes()
    model = make(priors=[0.5, 0.0, 0.5]).fit(X, y)
    assert 1 not in model.predict(X)
    assert_array_equal(model.predict_proba(X)[:, 1], 0)


@every_posterior
def test_priors_by_name_are_priors_in_order(make):
    X, y = normal_classes()
    names = np.array(["b", "c", "a"])[y]
    by_name = make(priors={"a": 0.2, "b": 0.3, "c": 0.5}).fit(X, names)
    in_order = make(priors=[0.2, 0.3, 0.5]).fit(X, names)
    assert_array_equal(by_name.predict_proba(X), in_order.predict_proba(X))


def test_full_rank_is_lda():
    X, y = normal_classes(p=5, K=4)
    full, plain = LinearDiscriminantAnalysis(rank=3).fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert_array_equal(full.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("rank", [1, 2])
def test_reduced_rank_is_the_nearest_centroid_in_the_first_directions(rank):
    X, y = normal_classes(p=5, K=4)
    model = LinearDiscriminantAnalysis(rank=rank).fit(X, y)
    Z, centroids = model.transform(X)[:, :rank], model.transform(model.means_)[:, :rank]
    distance = ((Z[:, None] - centroids) ** 2).sum(axis=2) - 2 * np.log(model.priors_)
    assert_array_equal(model.predict(X), distance.argmin(axis=1))


@pytest.mark.parametrize(("p", "K", "available"), [(5, 3, 2), (5, 2, 1), (2, 6, 2), (1, 4, 1)])
def test_there_are_as_many_directions_as_classes_and_columns_allow(p, K, available):
    X, y = normal_classes(n=200, p=p, K=K)
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert model.scalings_.shape == (p, available)
    assert model.transform(X).shape == (200, available)
    assert_allclose(model.explained_variance_ratio_.sum(), 1)
    assert (np.diff(model.svd_) <= 0).all()


def test_components_limit_the_transform_and_not_the_rule():
    X, y = normal_classes()
    one, all_of_them = LinearDiscriminantAnalysis(n_components=1).fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(one.transform(X), all_of_them.transform(X)[:, :1], rtol=1e-12)
    assert_array_equal(one.predict_proba(X), all_of_them.predict_proba(X))


def test_discriminant_coordinates_are_measured_from_the_prior_weighted_mean():
    X, y = normal_classes()
    priors = np.array([0.7, 0.2, 0.1])
    model = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    assert_allclose(model.xbar_, priors @ model.means_, rtol=1e-10)
    assert_allclose(priors @ model.transform(model.means_), 0, atol=1e-10)


def test_the_class_farthest_out_lies_on_the_positive_side():
    """A direction has no sign of its own, so it is given one: results do not flip from machine to machine."""
    X, y = normal_classes()
    model = LinearDiscriminantAnalysis().fit(X, y)
    mirrored = LinearDiscriminantAnalysis().fit(-X, y)
    assert_allclose(mirrored.transform(-X), model.transform(X), rtol=1e-9, atol=1e-10)


def test_shrinkage_reports_the_amount():
    X, y = normal_classes()
    assert LinearDiscriminantAnalysis().fit(X, y).shrinkage_ == 0
    assert LinearDiscriminantAnalysis(shrinkage=0.25).fit(X, y).shrinkage_ == 0.25
    assert_array_equal(QuadraticDiscriminantAnalysis(shrinkage=0.25).fit(X, y).shrinkage_, [0.25] * 3)


@pytest.mark.parametrize("shrinkage", ["oas", "ledoit-wolf", 0.3])
def test_shrinkage_makes_use_of_a_column_constant_within_classes(shrinkage):
    X, y = normal_classes()
    leaked = np.column_stack([X, 3.0 * y])
    assert LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(leaked, y).score(leaked, y) > 0.97


def test_refitting_forgets_what_was_before():
    X, y = normal_classes()
    model = LinearDiscriminantAnalysis(shrinkage="cv", folds=3).fit(X, y)
    model.set_params(shrinkage=None).fit(X[:, :2], y)
    fresh = LinearDiscriminantAnalysis(folds=3).fit(X[:, :2], y)
    assert vars(model).keys() == vars(fresh).keys()
    assert_array_equal(model.coef_, fresh.coef_)


def test_unbiased_distances_are_right_on_average():
    rng, truth = np.random.default_rng(0), 4.0
    sizes, squares = np.array([15, 25]), []
    for _ in range(400):
        X = rng.normal(size=(40, 12))
        X[:15, 0] += np.sqrt(truth)
        model = LinearDiscriminantAnalysis().fit(X, np.repeat([0, 1], sizes))
        squares.append([model.mean_distances(unbiased=unbiased)[0, 1] ** 2 for unbiased in (False, True)])
    plain, unbiased = np.mean(squares, axis=0)
    assert abs(unbiased - truth) < 4 * np.std(squares, axis=0)[1] / 20
    assert plain > 1.5 * truth


def test_class_covariances_chosen_by_cross_validation_are_there_for_every_table():
    rng = np.random.default_rng(0)
    X, y = normal_classes(n=120, p=3)
    X[y == 2, 1] = 4.0  # constant in a class
    model = QuadraticDiscriminantAnalysis(shrinkage="cv").fit(X, y)
    assert model.shrinkage_[0] > 0
    X, y = np.concatenate((X, [[9.0, 9.0, 9.0]], rng.normal(size=(1, 3)))), np.append(y, [3, 4])
    with pytest.warns(DiscriminantWarning, match="class (3|4)"):
        model = QuadraticDiscriminantAnalysis(shrinkage="cv").fit(X, y)
    assert model.predict([[9.0, 9.0, 9.0]]) == 3
    assert_allclose(model.covariances_[3], model.covariances_[4])
    assert np.isfinite(model.sample(200, 0)[0]).all()


def test_class_covariances_chosen_by_cross_validation_are_not_too_sure():
    """Two thirds of the columns are noise with long tails: the densities are wrong, the posteriors need not be."""
    rng = np.random.default_rng(1)
    y = np.arange(200) % 2
    X = rng.standard_t(2, size=(400, 30))
    X[:, :10] += np.tile(y, 2)[:, None] * 0.5
    model = QuadraticDiscriminantAnalysis(shrinkage="cv").fit(X[:200], y)
    plain = QuadraticDiscriminantAnalysis(shrinkage=float(model.shrinkage_[0])).fit(X[:200], y)
    losses = [-np.log(own.predict_proba(X[200:])[np.arange(200), y]).mean() for own in (model, plain)]
    assert losses[0] < np.log(2) + 0.02
    assert losses[1] > 1.0
    assert not hasattr(model, "partial_fit")


class TestAsTextbooksWriteIt:
    """Discriminant functions, sphering and densities in the form of the literature."""

    X, y = normal_classes(90, 3, 3, 5)

    @pytest.mark.parametrize("shrinkage", [None, 0.3])
    def test_delta_of_lda_is_measured_from_zero(self, shrinkage):
        model = LinearDiscriminantAnalysis([0.2, 0.3, 0.5], shrinkage=shrinkage).fit(self.X, self.y)
        pull = np.linalg.solve(model.covariance_, model.means_.T)
        wanted = np.log(model.priors_) - 0.5 * np.sum(model.means_.T * pull, axis=0) + self.X @ pull
        assert_allclose(model.delta(self.X), wanted, rtol=1e-8, atol=1e-9)
        assert_array_equal(model.classes_[model.delta(self.X).argmax(axis=1)], model.predict(self.X))

    def test_delta_of_qda_is_that_of_its_sphere(self):
        model = QuadraticDiscriminantAnalysis().fit(self.X, self.y)
        for k in range(3):
            sphered = model.sphere(self.X, k)
            assert_allclose(np.cov(sphered[self.y == k].T), np.eye(3), atol=1e-9)
            half = 0.5 * np.log(np.linalg.eigvalsh(model.covariances_[k])).sum()
            wanted = np.log(model.priors_[k]) - half - 0.5 * (sphered**2).sum(axis=1)
            assert_allclose(model.delta(self.X)[:, k], wanted, rtol=1e-8, atol=1e-9)
        with pytest.raises(LabelError, match="none"):
            model.sphere(self.X, "none")

    @pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB])
    def test_the_marginal_density_is_the_mixture_of_the_classes(self, kind):
        model = kind().fit(self.X, self.y)
        own = {
            LinearDiscriminantAnalysis: lambda k: model.covariance_,
            QuadraticDiscriminantAnalysis: lambda k: model.covariances_[k],
            GaussianNB: lambda k: np.diag(model.variances_[k]),
        }[kind]
        densities = [multivariate_normal(model.means_[k], own(k)).pdf(self.X) for k in range(3)]
        assert_allclose(np.exp(model.log_density(self.X)), model.priors_ @ densities, rtol=1e-9)
        assert_allclose(np.exp(model.log_density(self.X, 1)), densities[1], rtol=1e-9)

    def test_rows_of_a_singular_covariance_have_no_density(self):
        X = np.column_stack((self.X, self.X.sum(axis=1)))
        with pytest.warns(CollinearityWarning):
            model = LinearDiscriminantAnalysis().fit(X, self.y)
        with pytest.raises(DegenerateDataError, match="rank 3 of 4"):
            model.log_density(X)
