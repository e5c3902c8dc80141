"""
Why not the squared error?
==========================

Least mean squares takes the steps of logistic regression with another h. The squared error of a sigmoid is not convex:
where a row is far on the wrong side it is flat, and gradient descent comes to rest in a minimum that is not the least.

*Replays L7: "Classificazione discriminativa", SGD per la regressione logistica; "Classificação linear", section 6.1.1.*
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
    warnings.simplefilter("ignore", ConvergenceWarning)  # they are shown on their way
    ways = {
        name: d.LossClassifier("squared", solver=solver, trace=True, max_iter=60, random_state=0).fit(data.X, data.y)
        for name, solver in solvers.items()
    }
figures.likelihood_paths(ways, data.X, data.y).show()

# %%
# The squared error of a sigmoid on seven rows, one of them far on the wrong side. The way from 0 ends where four rows
# are wrong, with a sum of 1.7; with the boundary at 0 one row is wrong, and the sum is 1.0.

example = worked_example("squared-error")
X, y = np.array(example.given["X"]), np.array(example.given["y"])
stuck = d.LossClassifier("squared_sigmoid", trace=True, tol=1e-9).fit(X, y)
print("reached:", round(7 * stuck.solution_.objective, 2), "with", (stuck.predict(X) != y).sum(), "rows wrong")
print("better: ", d.LinearClassifier(example.given["coef"]).losses(X, y, "squared_sigmoid").sum().round(2))
figures.likelihood_paths({"gradient descent": stuck}, X, y).show()

# %%
# On the straight line from the point reached to ``w = 4, b = 0`` the sum rises before it falls:

share = np.linspace(-0.05, 1, 300)
here, there = np.append(stuck.coef_, stuck.intercept_), np.array([4.0, 0.0])
points = here + share[:, None] * (there - here)
sums = [d.LinearClassifier([w], b).losses(X, y, "squared_sigmoid").sum() for w, b in points]
made = theme.figure(
    "A hill in the squared error of a sigmoid",
    "Its sum over the rows on a line through the weights.",
    xaxis=theme.axis("share of the way to w = 4, b = 0"),
    yaxis=theme.axis("sum of squared errors"),
    alt="a curve with a low at its left end, a hump, and a lower end to the right.",
)
made.add_scatter(x=share, y=sums, mode="lines", line=theme.line(0), name="sum")
made.show()

# %%
# Losses of a row by its margin:

figures.loss_curves(["squared", "squared_sigmoid", "logistic"]).show()
