"""Replays "Classificação Linear" (lecture notes in Portuguese), in the order of the notes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.datasets import load_iris

import discriminant as d
from discriminant.datasets import crossed_normals, far_rows, six_rows, triangle, worked_example
from discriminant.decision import Decision
from discriminant.solvers import IRLS, GradientDescent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
IRIS = load_iris()
X, Y = IRIS.data, IRIS.target
TWO = Y > 0
X2, Y2 = X[TWO], Y[TWO]


# 1.2. Funções discriminantes, (1)


def test_two_discriminant_functions_are_one():
    model = d.LinearDiscriminantAnalysis().fit(X2, Y2)
    g = model.delta(X2)
    assert_allclose(g[:, 1] - g[:, 0], model.decision_function(X2), rtol=1e-7, atol=1e-8)
    assert_array_equal(model.predict(X2), model.classes_[(g[:, 1] > g[:, 0]).astype(int)])


# 2.1. Classificação binária: the geometry of a hyperplane


def test_distances_from_a_hyperplane():
    example = worked_example("hyperplane")
    line = d.LinearClassifier(example.given["coef"], example.given["intercept"])
    assert line.origin_distance == pytest.approx(example.numbers["distance of the origin"])
    assert line.distance([example.given["point"]])[0] == pytest.approx(example.numbers["distance of the point"])
    one, other = line.project(np.random.default_rng(0).normal(size=(2, 2)))
    assert line.coef_[0] @ (one - other) == pytest.approx(0, abs=1e-12)


# 2.2.1. Um-contra-todos, 2.2.2. Um-contra-um, 2.2.3. múltiplos discriminantes


def test_ambiguities_and_their_resolution():
    data = triangle()
    rest = d.OneVsRest(d.LeastSquaresClassifier()).fit(data.X, data.y)
    pairs = d.OneVsOne(d.LinearDiscriminantAnalysis()).fit(data.X, data.y)
    middle = [[0.0, -0.05], [0.0, -4.0]]
    assert rest.ambiguous(middle).none[0]
    assert rest.ambiguous(middle).several[1]
    assert_array_equal(rest.predict(middle), rest.classes_[rest.decision_function(middle).argmax(axis=1)])
    assert len(pairs.estimators_) == 3
    joint = d.LeastSquaresClassifier().fit(data.X, data.y)
    assert_array_equal(joint.predict(data.X), joint.classes_[joint.decision_function(data.X).argmax(axis=1)])


# 3. Quadrados mínimos, (2) to (4)


def test_least_squares_and_rows_that_are_too_correct():
    Z = np.hstack((np.ones((150, 1)), X))
    W = np.linalg.lstsq(Z, np.eye(3)[Y], rcond=None)[0]
    assert_allclose(d.LeastSquaresClassifier().fit(X, Y).decision_function(X), Z @ W, atol=1e-9)
    data, numbers = far_rows(), worked_example("far-rows").numbers
    model = d.LeastSquaresClassifier().fit(data.X, data.y)
    assert np.sum(model.predict(data.X) != data.y) == numbers["least squares"]


# 4.1. MAP and 4.2. ML, (5) to (7)


def test_map_and_ml_agree_where_priors_are_equal():
    classes, x = [norm(0, 1), norm(2, 1)], np.linspace(-2, 4, 31)[:, None] + 0.01
    likely = d.BayesClassifier(classes).predict(x)
    assert_array_equal(likely, (norm(2, 1).pdf(x[:, 0]) > norm(0, 1).pdf(x[:, 0])).astype(int))
    assert_array_equal(d.BayesClassifier(classes, [0.5, 0.5]).predict(x), likely)
    assert (d.BayesClassifier(classes, [0.9, 0.1]).predict(x) != likely).any()


# 4.3. Mínimo risco, (8) to (12)


def test_minimum_risk_and_0_1_loss():
    model = d.LinearDiscriminantAnalysis().fit(X, Y)
    said = d.posterior(model, X)
    actions = {0: {"treat": 1.0, "wait": 0.0}, 1: {"treat": 0.5, "wait": 2.0}, 2: {"treat": 0.0, "wait": 5.0}}
    rule = Decision(actions)
    loss = np.array([[actions[k][a] for k in range(3)] for a in rule.actions_for(said.classes)])
    assert_allclose(rule.risk(said), model.predict_proba(X) @ loss.T)  # (8)
    zero_one = Decision()
    assert_allclose(zero_one.risk(said), 1 - model.predict_proba(X), atol=1e-12)  # (12)
    assert_array_equal(zero_one.decide(said), model.predict(X))


# 4.4. Naive Bayes, (13)


def test_naive_bayes_is_a_product_over_columns():
    model = d.GaussianNB().fit(X, Y)
    product = np.ones(150)
    for j in range(4):
        product *= norm(model.means_[1, j], np.sqrt(model.variances_[1, j])).pdf(X[:, j])
    assert_allclose(np.exp(model.log_density(X, 1)), product, rtol=1e-8)


# 5. Linear discriminant analysis, (14) to (42)


def test_fisher_maximises_his_criterion():
    model = d.FisherDiscriminant().fit(X2, Y2)
    means = np.array([X2[k == Y2].mean(axis=0) for k in (1, 2)])
    S = sum((X2[k == Y2] - m).T @ (X2[k == Y2] - m) for k, m in zip((1, 2), means, strict=True))
    assert_allclose(model.scatter_within_, S, rtol=1e-9)  # (22)
    w = np.linalg.solve(S, means[1] - means[0])  # (39)
    assert_allclose(model.coef_[0] / np.linalg.norm(model.coef_[0]), w / np.linalg.norm(w), rtol=1e-8)

    def criterion(w):  # (19)
        return (w @ (means[1] - means[0])) ** 2 / (w @ S @ w)

    for other in np.random.default_rng(0).normal(size=(100, 4)):
        assert criterion(other) <= criterion(w) + 1e-12
    assert criterion(means[1] - means[0]) < criterion(w)  # the first criterion, (16), does not see the spread


def test_the_direction_of_the_means_overlaps_where_fishers_does_not():
    data = crossed_normals()
    fisher = d.FisherDiscriminant().fit(data.X, data.y)
    means = d.MinimumDistance().fit(data.X, data.y)
    assert fisher.score(data.X, data.y) > means.score(data.X, data.y)


# 5.1. Etapa de decisão


@pytest.mark.parametrize("threshold", ["midpoint", "prior-weighted"])
def test_thresholds(threshold):
    model = d.FisherDiscriminant(threshold).fit(X2[:80], Y2[:80])
    means = model.projected_means_
    wanted = means.mean() if threshold == "midpoint" else model.priors_ @ means
    assert model.threshold_ == pytest.approx(wanted)
    # Erratum: w'x is compared with + threshold.
    above = X2 @ model.coef_[0] > model.threshold_
    assert_array_equal(model.predict(X2), model.classes_[above.astype(int)])


# 5.2. Relação com a solução de quadrados mínimos, (43) and (44)


def test_least_squares_with_fishers_targets():
    few = np.r_[0:50, 50:80]
    y, rows = Y2[few], X2[few]
    n1, n2 = np.sum(y == 1), np.sum(y == 2)
    target = np.where(y == 2, len(y) / n2, -len(y) / n1)
    Z = np.hstack((np.ones((len(y), 1)), rows))
    b, *w = np.linalg.lstsq(Z, target, rcond=None)[0]
    assert b == pytest.approx(-np.array(w) @ rows.mean(axis=0))
    fisher = d.FisherDiscriminant().fit(rows, y).coef_[0]
    assert_allclose(w / np.linalg.norm(w), fisher / np.linalg.norm(fisher), rtol=1e-7)


# 5.3. Extensão para múltiplas classes, (45) to (62)


def test_scatter_matrices_and_both_criteria():
    model = d.LinearDiscriminantAnalysis().fit(X, Y)
    total = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    assert_allclose(model.scatter_within_ + model.scatter_between_, total, rtol=1e-9)  # (54)
    values, vectors = eigh(model.scatter_between_, model.scatter_within_)
    A, top = vectors[:, ::-1][:, :2], values[::-1][:2]
    assert_allclose(values[:2], 0, atol=1e-9)  # rank at most Q - 1
    SB, SW = A.T @ model.scatter_between_ @ A, A.T @ model.scatter_within_ @ A
    assert model.trace_criterion_ == pytest.approx(np.trace(np.linalg.solve(SW, SB)))  # (61)
    assert model.determinant_criterion_ == pytest.approx(np.linalg.det(SB) / np.linalg.det(SW))  # (62)
    assert model.trace_criterion_ == pytest.approx(top.sum())


# 6.1.1. Critério de ajuste, (65) to (74)


def test_the_squared_error_of_a_sigmoid_is_not_convex():
    w = np.linspace(-8, 8, 161)
    squared = [d.LinearClassifier([v]).losses([[1.0]], [1], "squared_sigmoid")[0] for v in w]
    assert_allclose(squared, (1 - expit(w)) ** 2, rtol=1e-9, atol=1e-15)
    entropy = [d.LinearClassifier([v]).losses([[1.0]], [1])[0] for v in w]
    assert (np.diff(squared, 2) < -1e-9).any()
    assert (np.diff(entropy, 2) > -1e-12).all()


def test_gradient_descent_on_the_squared_error_ends_in_a_local_minimum():
    # (65): the surface has several minima; the one that is reached from 0 is worse than giving up one row.
    example = worked_example("squared-error")
    X, y = np.array(example.given["X"]), np.array(example.given["y"])
    model = d.LossClassifier("squared_sigmoid", tol=1e-12).fit(X, y)
    reached = np.sum((y - expit(X @ model.coef_[0] + model.intercept_)) ** 2)
    better = np.sum((y - expit(20 * X[:, 0])) ** 2)
    assert model.solution_.gradient_norm < 1e-5
    assert_allclose([reached, better], [example.numbers["reached"], example.numbers["better"]], rtol=1e-6)


def test_the_cost_is_infinite_where_the_wrong_class_is_certain():
    sure = d.LinearClassifier([1.0])
    assert_allclose(sure.losses([[50.0], [-50.0]], [1, 1]), [0, 50], atol=1e-12)


# 6.1.2. Processo de treinamento, (75) to (84), and IRLS


def test_the_gradient_of_the_cross_entropy():
    data = six_rows()
    Phi, y = np.hstack((np.ones((6, 1)), data.X)), np.asarray(data.y)
    w = np.zeros(2)
    for _ in range(10):
        e = y - expit(Phi @ w)
        w = w + 0.3 / 6 * Phi.T @ e  # (83): the mean over the rows, -e'Phi / N
    model = d.LogisticRegression(solver=GradientDescent(0.3 / 6), max_iter=10).fit(data.X, data.y)
    assert_allclose([model.intercept_[0], model.coef_[0, 0]], w, rtol=1e-9)


def test_irls_takes_newtons_steps():
    data = six_rows()
    Phi, y, w = np.hstack((np.ones((6, 1)), data.X)), np.asarray(data.y), np.zeros(2)
    trace = d.LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y).trace_
    for t in range(1, 5):
        p = expit(Phi @ w)
        w = w + np.linalg.solve(Phi.T @ np.diag(p * (1 - p)) @ Phi, Phi.T @ (y - p))
        assert_allclose([trace.intercept[t, 0], trace.coef[t, 0, 0]], w, rtol=1e-8)


def test_polynomial_terms_overfit_and_penalties_help():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 60)
    y = (rng.random(60) < expit(2 * x**2 - 3)).astype(int)
    powers = np.column_stack([x**j for j in range(1, 10)])
    lines, curves = (d.LogisticRegression().fit(powers[:, :degree], y) for degree in (1, 2))
    assert curves.solution_.objective < lines.solution_.objective - 0.05
    flexible = d.LogisticRegression().fit(powers, y)
    assert flexible.solution_.objective < curves.solution_.objective
    assert np.abs(d.LogisticRegression(0.01).fit(powers, y).coef_).max() < np.abs(flexible.coef_).max()


# 6.2. Cenário multi-classe, (85) to (88)


def test_softmax_and_its_gradient():
    model = d.LogisticRegression(0.05, standardize=False).fit(X, Y)
    p = model.predict_proba(X)
    assert_allclose(p, softmax(X @ model.coef_.T + model.intercept_, axis=1), rtol=1e-8, atol=1e-14)
    # Erratum: the gradient of a cost is (p - y) x; with the ridge it vanishes.
    gradient = (p - np.eye(3)[Y]).T @ X / 150 + 0.05 * model.coef_
    assert_allclose(gradient, 0, atol=1e-6)


# 7.1. to 7.6. Métricas de avaliação, (89) to (99)


def test_rates_of_a_confusion_matrix():
    example = worked_example("rates")
    TP, FN, FP, TN = (example.given[name] for name in ("TP", "FN", "FP", "TN"))
    y = np.repeat([1, 1, 0, 0], [TP, FN, FP, TN])
    predicted = np.repeat([1, 0, 1, 0], [TP, FN, FP, TN])
    found, numbers = d.ConfusionMatrix.of(y, predicted), example.numbers
    assert_array_equal(found.counts, [[TN, FP], [FN, TP]])  # rows are the truth
    assert found.overall("error_rate") == pytest.approx(numbers["error rate"])
    assert found.fnr[1] == pytest.approx(numbers["false negative rate"])
    assert found.fpr[1] == pytest.approx(numbers["false positive rate"])
    assert found.precision[1] == pytest.approx(numbers["precision"])
    assert found.recall[1] == pytest.approx(numbers["recall"])
    assert found.specificity[1] == pytest.approx(numbers["specificity"]) == pytest.approx(1 - found.fpr[1])
    assert found.f(1)[1] == pytest.approx(numbers["F, m = 1"])
    assert found.f(4)[1] == pytest.approx(numbers["F, m = 4"])


def test_each_class_once_against_all_others():
    predicted = d.LinearDiscriminantAnalysis().fit(X, Y).predict(X)
    found = d.ConfusionMatrix.of(Y, predicted)
    for k in range(3):
        two = d.ConfusionMatrix.of(k == Y, predicted == k)
        for name in ("recall", "precision", "specificity", "fnr", "fpr"):
            assert found.rate(name)[k] == pytest.approx(two.rate(name)[1])


# 7.7. Receiver operating curve


def test_the_area_under_the_curve_ranks_two_classifiers():
    example = worked_example("two-roc-curves")
    y = np.array(example.given["y"])
    for name in "AB":
        scores = np.array(example.given[name])
        curve = d.roc(y, scores)
        assert curve.auc == pytest.approx(example.numbers[f"AUC of {name}"])
        pairs = scores[y == 1][:, None] - scores[y == 0]
        assert curve.auc == pytest.approx(np.mean(pairs > 0) + np.mean(pairs == 0) / 2)
