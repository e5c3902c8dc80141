"""
Error-correcting output codes
=============================

Each class has a code word, and a binary classifier predicts each bit. If code words differ in at least four bits, one
wrong bit is corrected.

*Reproduces C3: "Clasificadores discriminativos básicos", error correcting output codes.*
"""

from sklearn.datasets import load_digits

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example
from discriminant.multiclass import exhaustive_code

numbers = worked_example("output-code").numbers
code = exhaustive_code(4)
print(f"{code.n_columns} columns, row distance {code.row_distance:g}; expected {numbers}")
figures.code_matrix(code, ["sport", "politics", "science", "leisure"]).show()

# %%
X, y = load_digits(return_X_y=True)
model = d.OutputCode(d.LogisticRegression(alpha=0.01), random_state=0).fit(X[::2], y[::2])
print(f"digits: {model.codebook_.n_columns} binary problems, {model.score(X[1::2], y[1::2]):.1%} accuracy on test data")
