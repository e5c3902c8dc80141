"""
Sphering: LDA is the nearest mean
=================================

Turned to the principal axes of the covariance within the classes and scaled to variance 1, classes become round.
There the nearest class mean, corrected by the prior, is LDA.

*Replays G4: "Modelos de clasificación lineales", section I.D.*
"""

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals, worked_example

data = crossed_normals()
lda = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
figures.sphering(lda, data.X, data.y).show()

# %%
# The covariance of the notes' figure, by its axes: their variances D, and the sum of the logarithms of D.

example = worked_example("sphering")
variances = np.linalg.eigvalsh(example.given["covariance"])[::-1]
print("variances", variances.round(4), "log-determinant", np.log(variances).sum().round(4))
print("expected ", example.numbers["eigenvalues"], example.numbers["log determinant"])

# %%
# The nearest mean on the sphere answers as LDA does:

sphered, centres = lda.sphere(data.X), lda.sphere(lda.means_)
distances = ((sphered[:, None] - centres) ** 2).sum(axis=2)
nearest = lda.classes_[np.argmax(np.log(lda.priors_) - distances / 2, axis=1)]
print((nearest == lda.predict(data.X)).mean())
