"""
The Bayes error
===============

Two normal classes with equal priors, N(0, 1) and N(2, 1): the optimal threshold is the midpoint of the means,
and the Bayes error is Phi(-1) = 15.9 %.

*Reproduces D1: "Clasificadores discriminativos básicos", error y clasificador de Bayes.*
"""

from discriminant import bayes_error, figures
from discriminant.datasets import worked_example
from discriminant.theory import density_curves

example = worked_example("bayes-error")
print(bayes_error(example.given["distributions"], example.given["priors"]))

# %%
# The shaded areas under the curves, where the other class is predicted, are the Bayes error.

figures.class_densities(density_curves(example.given["distributions"], example.given["priors"])).show()

# %%
# A rarer class is predicted less often: the threshold moves towards its mean.

figures.class_densities(density_curves(example.given["distributions"], {"first": 0.8, "second": 0.2})).show()
