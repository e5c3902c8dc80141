"""
Confusion matrix and rates
==========================

Rows are true classes, columns predicted classes. Every rate is a ratio of counts and has a confidence interval.

*Reproduces E1 to E4: "Classificação linear", section 7.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

example = worked_example("rates")
given = example.given
matrix = d.ConfusionMatrix.from_counts([[given["TN"], given["FP"]], [given["FN"], given["TP"]]], ["healthy", "ill"])
print(matrix)

# %%
# F-measure with m = 1 and m = 4, which gives recall more weight:

print(f"F1 = {matrix.f(1)[1]:.4f}, F(m=4) = {matrix.f(4)[1]:.4f}")
figures.confusion(matrix).show()
