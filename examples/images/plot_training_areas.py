"""
From training areas to a class map
==================================

The pixels of the training areas are the training data, and the fitted model classifies every pixel of the image. In
this simulated scene the true classes are known, so the accuracy of the map can be computed.

*Reproduces I1 to I5: "Unidad 4: Clasificación supervisada", 4.1 to 4.4.*
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
# The decision regions, by the first two discriminant directions, show the separability of the classes:

figures.decision_regions(model, X, y).show()

# %%
# The predicted classes of all pixels compared with the true classes:

pixels = made.bands.reshape(len(made.bands), -1).T.astype(float)
truth = np.array(made.classes)[made.truth.ravel()]
found = d.evaluate(model, pixels, truth)
figures.confusion(found.confusion).show()

# %%
# The scene as georeferenced files, the input of ``discriminant raster``:

with tempfile.TemporaryDirectory() as folder:
    for what, path in made.write(folder).items():
        print(what, path.name, f"{path.stat().st_size:,} bytes")
