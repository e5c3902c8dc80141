"""
Sphering
========

After transformation to the principal axes of the within-class covariance and scaling to variance 1, LDA
predicts the nearest class mean, corrected by the priors.

*Reproduces G4: "Modelos de clasificación lineales", section I.D.*
"""

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals, worked_example

data = crossed_normals()
lda = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
figures.sphering(lda, data.X, data.y).show()

# %%
# The variances D along the principal axes of the covariance in the notes, and the sum of their logarithms:

example = worked_example("sphering")
variances = np.linalg.eigvalsh(example.given["covariance"])[::-1]
print("variances", variances.round(4), "log-determinant", np.log(variances).sum().round(4))
print("expected ", example.numbers["eigenvalues"], example.numbers["log determinant"])

# %%
# The nearest mean of the sphered rows is the prediction of LDA:

sphered, centres = lda.sphere(data.X), lda.sphere(lda.means_)
distances = ((sphered[:, None] - centres) ** 2).sum(axis=2)
nearest = lda.classes_[np.argmax(np.log(lda.priors_) - distances / 2, axis=1)]
print((nearest == lda.predict(data.X)).mean())
