"""
From training areas to a class map
==================================

Areas are drawn on an image, class by class; their pixels are the training rows, and the model then answers
for every pixel. Here the truth is known, so the map can be judged.

*Replays I1 to I5: "Unidad 4: Clasificación supervisada", 4.1 to 4.4.*
"""

import tempfile

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import scene

made = scene()
X, y = made.samples()
print(made)
model = d.QuadraticDiscriminantAnalysis().fit(X, y)

# %%
# How well can the classes be told apart before anything is classified?

figures.decision_regions(model, X, y).show()

# %%
# Every pixel of the image, against the truth:

pixels = made.bands.reshape(len(made.bands), -1).T.astype(float)
truth = np.array(made.classes)[made.truth.ravel()]
found = d.evaluate(model, pixels, truth)
figures.confusion(found.confusion).show()

# %%
# The same from files, with coordinates, as an image of your own would come:

with tempfile.TemporaryDirectory() as folder:
    for what, path in made.write(folder).items():
        print(what, path.name, f"{path.stat().st_size:,} bytes")
