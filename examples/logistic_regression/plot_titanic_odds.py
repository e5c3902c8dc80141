"""
Odds ratios
===========

An odds ratio is the factor by which the odds change per unit of a column, with the other columns held fixed.
On the Titanic, the odds of survival of women were ten times those of men; adjusted for class and age, eleven times.

*Reproduces L8: "Clasificadores discriminativos básicos", interpretación (vía modelo lineal).*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

example = worked_example("titanic")
frame = example.given["data"].to_frame("pandas")
alone = d.LogisticRegression.from_formula("outcome ~ C(sex, Treatment('male'))", frame)
print("odds ratio of women:", round(float(d.coefficient_table(alone).to_frame("pandas")["odds_ratio"].iloc[-1]), 3))
print("from the counts:    ", round(example.numbers["odds ratio"], 3))

# %%
# Adjusted for class and age:

formula = "outcome ~ C(sex, Treatment('male')) + C(age, Treatment('adult')) + C(class, Treatment('crew'))"
model = d.LogisticRegression.from_formula(formula, frame)
print(model.summary())

# %%
figures.coefficients(model, odds_ratios=True).show()
