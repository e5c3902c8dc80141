"""
The rates of a confusion matrix
===============================

Rows are the truth, columns the prediction. Every rate is a ratio of counts, and every count has an
uncertainty.

*Replays E1 to E4: "Classificação linear", section 7.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

example = worked_example("rates")
given = example.given
matrix = d.ConfusionMatrix.from_counts([[given["TN"], given["FP"]], [given["FN"], given["TP"]]], ["healthy", "ill"])
print(matrix)

# %%
# F with m = 1 and m = 4, which weighs recall more:

print(f"F1 = {matrix.f(1)[1]:.4f}, F(m=4) = {matrix.f(4)[1]:.4f}")
figures.confusion(matrix).show()
