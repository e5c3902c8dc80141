"""Every worked example of the notes comes out of our functions with the numbers that it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import discriminant as d
from discriminant import theory
from discriminant.datasets import worked_example, worked_examples
from discriminant.errors import ParameterError
from discriminant.figures.geometry import SeparatingLine
from discriminant.multiclass import exhaustive_code


def errors_of(model, data):
    return int(np.sum(model.fit(data.X, data.y).predict(data.X) != data.y))


def avocado(given, numbers):
    model = d.BayesClassifier(given["likelihood"], given["priors"])
    equal = d.BayesClassifier(given["likelihood"])
    found = dict(zip(model.classes_, model.predict_proba([given["value"]])[0], strict=True))
    return {
        **{f"posterior of {label}": found[label] for label in found},
        "a priori": max(given["priors"], key=given["priors"].get),
        "maximum likelihood": equal.predict([given["value"]])[0],
        "maximum a posteriori": model.predict([given["value"]])[0],
    }


def avocado_costs(given, numbers):
    model = d.BayesClassifier(given["likelihood"], given["priors"])
    said = d.posterior(model, [given["value"]])
    decision = d.Decision(given["costs"])
    risks = dict(zip(decision.actions_for(said.classes), decision.risk(said)[0], strict=True))
    return {**{f"risk of {label}": risks[label] for label in risks}, "decision": decision.decide(said)[0]}


def bayes_error(given, numbers):
    model = d.BayesClassifier(given["distributions"], given["priors"])
    below, above = model.predict([[numbers["threshold"] - 1e-9], [numbers["threshold"] + 1e-9]])
    assert below != above
    return {**numbers, "error": d.bayes_error(given["distributions"], given["priors"]).error}


def divergences(given, numbers):
    return {"KL": theory.kl_divergence(given["p"], given["q"]), "JS": theory.js_divergence(given["p"], given["q"])}


def masking(given, numbers):
    data = given["data"]
    models = {"least squares": d.LeastSquaresClassifier(), "LDA": d.LinearDiscriminantAnalysis()}
    return {name: np.sum(model.fit(data.X, data.y).predict(data.X) == "middle") for name, model in models.items()}


def far_rows(given, numbers):
    data = given["data"]
    models = {"least squares": d.LeastSquaresClassifier(), "logistic regression": d.LogisticRegression(alpha=1e-3)}
    return {name: errors_of(model, data) for name, model in models.items()}


def sphering(given, numbers):
    law = d.Gaussian([0.0, 0.0], given["covariance"])
    values = np.linalg.eigvalsh(law.covariance)[::-1]
    return {"eigenvalues": values, "log determinant": np.sum(np.log(values))}


def hyperplane(given, numbers):
    line = SeparatingLine(np.array(given["coef"]), given["intercept"])
    distance = line.distances(np.array([[0.0, 0.0], given["point"]]))
    return {"distance of the origin": abs(distance[0]), "distance of the point": distance[1]}


def gate(given, numbers):
    data = given["data"]
    found = {}
    for rule in ("sign", "nonpositive"):
        model = d.Perceptron(rule=rule).fit(data.X, data.y)
        found |= {f"{rule}: updates": model.updates_, f"{rule}: w": model.coef_[0], f"{rule}: b": model.intercept_[0]}
    hard = d.SupportVectorClassifier(margin="hard").fit(data.X, data.y)
    return {**found, "bound": model.certificate().bound, "widest margin": hard.margin_}


def xor(given, numbers):
    found = d.linear_separability(given["data"].X, given["data"].y)
    return {"separable": found.separable, "common point": found.witness.point}


def newton_steps(given, numbers):
    data = given["data"]
    X, beta, iterates = np.column_stack((np.ones(6), data.X)), np.zeros(2), []
    for _ in range(2):
        p = 1 / (1 + np.exp(-X @ beta))
        beta = beta + np.linalg.solve(X.T @ (X * (p * (1 - p))[:, None]), X.T @ (data.y - p))
        iterates.append(beta)
    model = d.LogisticRegression().fit(data.X, data.y)
    return {
        "first iterate": iterates[0],
        "second iterate": iterates[1],
        "maximum": [model.intercept_[0], model.coef_[0, 0]],
        "log-likelihood": model.summary().log_likelihood,
    }


def squared_error(given, numbers):
    model = d.LossClassifier("squared_sigmoid", tol=1e-14).fit(given["X"], given["y"])
    better = d.LinearClassifier(given["coef"]).losses(given["X"], given["y"], "squared_sigmoid")
    return {"reached": len(given["y"]) * model.solution_.objective, "better": better.sum()}


def bayesian_lda(given, numbers):
    kinds = {"LDA": d.LinearDiscriminantAnalysis, "Bayesian": d.BayesianLinearDiscriminantAnalysis}
    fitted = {name: kind().fit(given["X"], given["y"]) for name, kind in kinds.items()}
    return {name: model.predict_proba(given["point"])[0, 0] for name, model in fitted.items()}


def titanic(given, numbers):
    frame = given["data"].to_frame("pandas")
    model = d.LogisticRegression.from_formula("outcome ~ C(sex, Treatment('male'))", frame)
    return {"odds ratio": float(np.exp(model.coef_[0, 0]))}


def softmax(given, numbers):
    # Rows of each class at -1 and 1, with weights of these odds: the column tells nothing, and the shares remain.
    X, y = np.tile([[-1.0], [1.0]], (3, 1)), np.repeat([0, 1, 2], 2)
    model = d.LogisticRegression(reference=2).fit(X, y, sample_weight=np.exp([*given["log-odds"], 0.0])[y])
    return {"posterior": model.predict_proba([[0.0]])[0]}


def ambiguous_centre(given, numbers):
    data = given["data"]
    found = d.OneVsRest(d.LeastSquaresClassifier()).fit(data.X, data.y).ambiguous(given["points"])
    words = np.where(found.none, "none", np.where(found.several, "several", "one"))
    return {"one-versus-rest": words.tolist()}


def output_code(given, numbers):
    code = exhaustive_code(given["n_classes"])
    return {"columns": code.matrix.shape[1], "row distance": code.row_distance}


def rates(given, numbers):
    matrix = d.ConfusionMatrix.from_counts([[given["TN"], given["FP"]], [given["FN"], given["TP"]]], ["no", "yes"])
    return {
        "error rate": matrix.error_rate,
        "accuracy": matrix.accuracy,
        "false negative rate": matrix.fnr[1],
        "false positive rate": matrix.fpr[1],
        "precision": matrix.precision[1],
        "recall": matrix.recall[1],
        "specificity": matrix.specificity[1],
        "F, m = 1": matrix.f(1)[1],
        "F, m = 4": matrix.f(4)[1],
    }


def two_roc_curves(given, numbers):
    return {f"AUC of {name}": d.roc(given["y"], given[name]).auc for name in "AB"}


REPLAYS = {
    "avocado": avocado,
    "avocado-costs": avocado_costs,
    "bayes-error": bayes_error,
    "divergences": divergences,
    "masking": masking,
    "far-rows": far_rows,
    "sphering": sphering,
    "hyperplane": hyperplane,
    "and-perceptron": gate,
    "or-perceptron": gate,
    "xor": xor,
    "newton-steps": newton_steps,
    "squared-error": squared_error,
    "bayesian-lda": bayesian_lda,
    "titanic": titanic,
    "softmax": softmax,
    "ambiguous-centre": ambiguous_centre,
    "output-code": output_code,
    "rates": rates,
    "two-roc-curves": two_roc_curves,
}


@pytest.mark.parametrize("name", list(worked_examples()))
def test_the_numbers_of_a_worked_example_come_out_of_our_functions(name):
    example = worked_example(name)
    found = REPLAYS[name](example.given, example.numbers)
    assert set(found) == set(example.numbers)
    for what, number in example.numbers.items():
        if isinstance(number, str) or (isinstance(number, list) and isinstance(number[0], str)):
            assert found[what] == number, what
        else:
            assert_allclose(found[what], number, rtol=1e-7, err_msg=what)


def test_examples_name_their_notes_and_say_what_is_asked():
    for example in worked_examples().values():
        assert example.question.endswith("?")
        assert example.rows
        assert example.note in str(example)


def test_an_unknown_example_is_refused_with_a_hint():
    with pytest.raises(ParameterError, match="'avocado'"):
        worked_example("avocados")
