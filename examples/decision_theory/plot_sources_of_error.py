"""
Sources of error
================

The error rate of a classifier has four sources: too few rows (estimation error), too simple a model (approximation
error), a solver that stopped early (optimisation error), and the Bayes error, which no classifier can avoid.

*Reproduces D7: "Clasificadores discriminativos básicos", tipos de errores.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import two_normals

data = two_normals(200)
floor = d.bayes_error(data.distributions, data.priors)
found = d.error_sources(d.LinearDiscriminantAnalysis(), data.X, data.y, bayes_error=floor)
print(found)

# %%
# The learning curve shows the estimation error: the error rate decreases towards a limit as rows are added.

figures.learning_curve(d.learning_curve(d.LinearDiscriminantAnalysis(), data.X, data.y)).show()

# %%
# All sources of error:

figures.error_sources(found).show()
