"""
Loss functions
==============

The 0-1 loss counts errors but has no useful gradient. The other losses are surrogates; they differ in how they
penalise correctly classified rows.

*Reproduces L1, L6 and L7: "Classificazione discriminativa", una funzione di costo per il percettrone.*
"""

from discriminant import LinearClassifier, figures
from discriminant.datasets import worked_example

figures.loss_curves().show()

# %%
# The losses of one row for a given line:

given = worked_example("hyperplane").given
line = LinearClassifier(given["coef"], given["intercept"])
for loss in ("zero-one", "perceptron", "hinge", "squared", "logistic"):
    print(f"{loss:10s} {line.losses([[2.0, 1.1]], [1], loss)[0]:.4f}")

# %%
# The squared error of a sigmoid is not convex: its gradient vanishes for badly misclassified rows.

figures.loss_curves(["logistic", "squared_sigmoid"]).show()
