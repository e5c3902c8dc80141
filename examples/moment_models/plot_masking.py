"""
Masking in least-squares classification
=======================================

Three classes lie along a line. The indicator of the middle class is 0, 1, 0 along this line, so its fitted plane is
flat and almost nowhere the largest: the class is masked. LDA is not affected.

*Reproduces G1: "Modelos de clasificación lineales", clasificador de regresión lineal; "Classificação linear",
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
    n_middle = (model.predict(data.X) == "middle").sum()
    print(type(model).__name__, "predicts the middle class for", n_middle, "of 300 rows")

# %%
# The three fitted planes; that of the middle class is almost nowhere the largest:

figures.score_surface(squares, data.X, data.y).show()

# %%
# The decision regions:

figures.decision_regions(squares, data.X, data.y).show()

# %%
# LDA on the same rows:

figures.decision_regions(lda, data.X, data.y).show()
