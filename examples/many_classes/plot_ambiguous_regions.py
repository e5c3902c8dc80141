"""
Ambiguous regions of binary classifiers
=======================================

With one-vs-rest, in some regions no classifier or more than one is positive; with one-vs-one, votes may be tied. The
scores break both kinds of ties.

*Reproduces C1, C2 and C5: "Classificação linear", section 2.2; "Clasificadores discriminativos básicos",
regiones ambiguas.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import triangle, worked_example

example = worked_example("ambiguous-centre")
data = example.given["data"]
rest = d.OneVsRest(d.LeastSquaresClassifier()).fit(data.X, data.y)
found = rest.ambiguous(example.given["points"])
print("no class:", found.none, " several:", found.several)
figures.decision_regions(rest, data.X, data.y).show()

# %%
# One-vs-one, with perceptrons trained on four rows of each class:

few = triangle(12)
pairs = d.OneVsOne(d.Perceptron()).fit(few.X, few.y)
figures.decision_regions(pairs, few.X, few.y).show()
