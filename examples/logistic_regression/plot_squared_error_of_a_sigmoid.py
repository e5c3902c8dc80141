"""
Squared error of a sigmoid
==========================

Least mean squares has the same update as logistic regression with another link. The squared error of a sigmoid
is not convex: it is flat for badly misclassified rows, and gradient descent may converge to a local minimum.

*Reproduces L7: "Classificazione discriminativa", SGD per la regressione logistica;
"Classificação linear", section 6.1.1.*
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import discriminant as d
from discriminant import figures
from discriminant.datasets import six_rows, worked_example
from discriminant.figures import theme
from discriminant.solvers import IRLS, GradientDescent, StochasticGradient

data = six_rows()
solvers = {"gradient descent": GradientDescent(), "LMS, row by row": StochasticGradient(0.002), "Newton": IRLS()}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # the figure shows solvers that are stopped early
    paths = {
        name: d.LossClassifier("squared", solver=solver, trace=True, max_iter=60, random_state=0).fit(data.X, data.y)
        for name, solver in solvers.items()
    }
figures.likelihood_paths(paths, data.X, data.y).show()

# %%
# The squared error of a sigmoid on seven rows, one of them badly misclassified. Gradient descent from 0 converges to a
# local minimum of 1.7 with four errors; a boundary at 0 has one error and a sum of 1.0.

example = worked_example("squared-error")
X, y = np.array(example.given["X"]), np.array(example.given["y"])
stuck = d.LossClassifier("squared_sigmoid", trace=True, tol=1e-9).fit(X, y)
print("local minimum:", round(7 * stuck.solution_.objective, 2), "with", (stuck.predict(X) != y).sum(), "errors")
print("smaller:      ", d.LinearClassifier(example.given["coef"]).losses(X, y, "squared_sigmoid").sum().round(2))
figures.likelihood_paths({"gradient descent": stuck}, X, y).show()

# %%
# On the line from the local minimum to ``w = 4, b = 0``, the sum increases before it decreases:

share = np.linspace(-0.05, 1, 300)
here, there = np.append(stuck.coef_, stuck.intercept_), np.array([4.0, 0.0])
points = here + share[:, None] * (there - here)
sums = [d.LinearClassifier([w], b).losses(X, y, "squared_sigmoid").sum() for w, b in points]
made = theme.figure(
    "Local minimum of the squared error of a sigmoid",
    "Sum over the rows on a line in the parameter space.",
    xaxis=theme.axis("Position between the local minimum and w = 4, b = 0"),
    yaxis=theme.axis("Sum of squared errors"),
    alt="a curve with a local minimum on the left, a maximum, and smaller values on the right.",
)
made.add_scatter(x=share, y=sums, mode="lines", line=theme.line(0), name="sum")
made.show()

# %%
# Losses of a row by its margin:

figures.loss_curves(["squared", "squared_sigmoid", "logistic"]).show()
