"""
The error that no classifier avoids
===================================

Two normal classes of equal share, N(0, 1) and N(2, 1): the best threshold lies halfway, and what each class
has beyond it is lost, Phi(-1) = 15.9 % of the rows.

*Replays D1: "Clasificadores discriminativos básicos", error y clasificador de Bayes.*
"""

from discriminant import bayes_error, figures
from discriminant.datasets import worked_example
from discriminant.theory import density_curves

example = worked_example("bayes-error")
print(bayes_error(example.given["distributions"], example.given["priors"]))

# %%
# The shaded areas are the error: under each curve, where the other class is decided for.

figures.class_densities(density_curves(example.given["distributions"], example.given["priors"])).show()

# %%
# A rarer class is decided for less often: the threshold moves towards it.

figures.class_densities(density_curves(example.given["distributions"], {"first": 0.8, "second": 0.2})).show()
