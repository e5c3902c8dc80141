"""
Gradient steps and Newton's
===========================

Six rows, from zero: gradient ascent creeps along the ridge of the log-likelihood, mini-batches wander,
Newton-Raphson (IRLS) is there after five steps. Its second iterate is (-3.884, 1.110).

*Replays L7: "Clasificadores discriminativos básicos", entrenamiento vía gradiente; "Unidad 4: Clasificación
supervisada", algoritmo en pseudo código.*
"""

import warnings

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example
from discriminant.solvers import IRLS, GradientDescent, StochasticGradient

warnings.simplefilter("ignore")  # gradients are stopped on their way, and say so
data = worked_example("newton-steps").given["data"]
solvers = {
    "gradient ascent": GradientDescent(),
    "mini-batches of two": StochasticGradient(batch=2, schedule="decaying"),
    "IRLS": IRLS(),
}
models = {
    name: d.LogisticRegression(solver=solver, trace=True, max_iter=60, random_state=0).fit(data.X, data.y)
    for name, solver in solvers.items()
}
print(models["IRLS"].trace_)

# %%
figures.likelihood_paths(models, data.X, data.y).show()
