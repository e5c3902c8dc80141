"""
Five losses of one margin
=========================

The 0-1 loss is what counts and cannot be followed downhill. The others can; they differ in what they think of
rows that are on the right side, and how far.

*Replays L1, L6 and L7: "Classificazione discriminativa", una funzione di costo per il percettrone.*
"""

from discriminant import LinearClassifier, figures
from discriminant.datasets import worked_example

figures.loss_curves().show()

# %%
# The same numbers for a given line and a row:

given = worked_example("hyperplane").given
line = LinearClassifier(given["coef"], given["intercept"])
for loss in ("zero-one", "perceptron", "hinge", "squared", "logistic"):
    print(f"{loss:10s} {line.losses([[2.0, 1.1]], [1], loss)[0]:.4f}")

# %%
# The squared error of a sigmoid is not convex: far on the wrong side its slope vanishes.

figures.loss_curves(["logistic", "squared_sigmoid"]).show()
