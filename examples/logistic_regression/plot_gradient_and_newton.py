"""
Gradient ascent and Newton's method
===================================

Three solvers start at zero on six rows: gradient ascent moves slowly along the ridge of the log-likelihood, stochastic
gradient ascent fluctuates, and the Newton-Raphson method (IRLS) converges in five iterations. Its second iterate is
(-3.884, 1.110).

*Reproduces L7: "Clasificadores discriminativos básicos", entrenamiento vía gradiente; "Unidad 4: Clasificación
supervisada", algoritmo en pseudo código.*
"""

import warnings

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example
from discriminant.solvers import IRLS, GradientDescent, StochasticGradient

warnings.simplefilter("ignore")  # gradient ascent is stopped before convergence
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
