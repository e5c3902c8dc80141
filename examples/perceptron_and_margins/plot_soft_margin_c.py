"""
What C trades
=============

Slack is paid by C. For small C the margin is wide and many rows lie within it; for large C the machine tends
to the hard margin. (The notes write \\|w\\|² instead of \\|w\\|²/2: their C is twice ours.)

*Replays L6: "Classificazione discriminativa", compromesso tra margine e slack.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals

data = crossed_normals(120)
for C in (0.01, 1, 100):
    model = d.SupportVectorClassifier(C=C).fit(data.X, data.y)
    print(f"C = {C:6g}: margin {model.margin_:.3f}, {len(model.support_)} support vectors")

# %%
# A cheap slack:

figures.boundary(d.SupportVectorClassifier(C=0.01).fit(data.X, data.y), data.X, data.y).show()

# %%
# A dear one:

figures.boundary(d.SupportVectorClassifier(C=100).fit(data.X, data.y), data.X, data.y).show()
