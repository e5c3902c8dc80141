"""
The odds of surviving
=====================

An odds ratio says by which factor the odds change, whatever the other columns are. Women had ten times the
odds of men on the Titanic; in the same class and age still eleven times.

*Replays L8: "Clasificadores discriminativos básicos", interpretación (vía modelo lineal).*
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
# Class, sex and age together:

formula = "outcome ~ C(sex, Treatment('male')) + C(age, Treatment('adult')) + C(class, Treatment('crew'))"
model = d.LogisticRegression.from_formula(formula, frame)
print(model.summary())

# %%
figures.coefficients(model, odds_ratios=True).show()
