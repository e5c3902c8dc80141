"""
The parameter C of the soft margin
==================================

C is the cost of slack. For small C the margin is wide and contains many rows; for large C the solution
approaches the hard margin. (The notes minimise \\|w\\|² instead of \\|w\\|²/2, so their C is twice that of
this package.)

*Reproduces L6: "Classificazione discriminativa", compromesso tra margine e slack.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals

data = crossed_normals(120)
for C in (0.01, 1, 100):
    model = d.SupportVectorClassifier(C=C).fit(data.X, data.y)
    print(f"C = {C:6g}: margin {model.margin_:.3f}, {len(model.support_)} support vectors")

# %%
# Small C:

figures.boundary(d.SupportVectorClassifier(C=0.01).fit(data.X, data.y), data.X, data.y).show()

# %%
# Large C:

figures.boundary(d.SupportVectorClassifier(C=100).fit(data.X, data.y), data.X, data.y).show()
