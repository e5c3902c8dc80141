"""
Least squares hides the class in the middle
===========================================

Three classes in a row. The indicator of the middle one is 0, 1, 0 along the line, and the best plane through
it is flat: it is hardly ever the highest. LDA has no such trouble.

*Replays G1: "Modelos de clasificación lineales", clasificador de regresión lineal; "Classificação linear",
section 3.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

example = worked_example("masking")
data = example.given["data"]
squares = d.LeastSquaresClassifier().fit(data.X, data.y)
lda = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
for model in (squares, lda):
    print(type(model).__name__, "gives", (model.predict(data.X) == "middle").sum(), "of 300 rows to the middle class")

# %%
# The three fitted planes: that of the middle class lies below one of the others nearly everywhere.

figures.score_surface(squares, data.X, data.y).show()

# %%
# From above:

figures.decision_regions(squares, data.X, data.y).show()

# %%
# LDA on the same rows:

figures.decision_regions(lda, data.X, data.y).show()
