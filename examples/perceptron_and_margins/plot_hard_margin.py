"""
Maximum-margin classifier
=========================

Of all lines that separate the classes, the one with the largest margin is determined by a few rows, the support
vectors.

*Reproduces L5: "Classificazione discriminativa", separazione a massimo margine.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import far_rows, worked_example

example = worked_example("or-perceptron")
gate = example.given["data"]
model = d.SupportVectorClassifier(margin="hard").fit(gate.X, gate.y)
print(f"OR: margin {model.margin_:.4f}, expected {example.numbers['widest margin']:.4f}")

# %%
data = far_rows()
model = d.SupportVectorClassifier(margin="hard").fit(data.X, data.y)
print("support vectors:", model.support_)
figures.boundary(model, data.X, data.y).show()
