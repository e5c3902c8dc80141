"""
Three sources of error
======================

Too few rows (estimation), too simple a model (approximation), a solver that stopped early (optimisation); and
below them the Bayes error, which nothing removes.

*Replays D7: "Clasificadores discriminativos básicos", tipos de errores.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import two_normals

data = two_normals(200)
floor = d.bayes_error(data.distributions, data.priors)
found = d.error_sources(d.LinearDiscriminantAnalysis(), data.X, data.y, bayes_error=floor)
print(found)

# %%
# The first is seen in a learning curve: the error falls towards a limit as rows are added.

figures.learning_curve(d.learning_curve(d.LinearDiscriminantAnalysis(), data.X, data.y)).show()

# %%
# All of them side by side:

figures.error_sources(found).show()
