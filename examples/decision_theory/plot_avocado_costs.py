"""
Costs turn the decision
=======================

The avocado that weighs 1.4 is more probably organic. But calling an ordinary one organic costs 2, the reverse
only 1: the cheaper answer is *ordinary*.

*Replays D3 and D4: "Clasificadores discriminativos básicos", cost-sensitive classification.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals, worked_example

example = worked_example("avocado-costs")
model = d.BayesClassifier(example.given["likelihood"], example.given["priors"])
said = d.posterior(model, [example.given["value"]])
decision = d.Decision(example.given["costs"])
print(dict(zip(decision.actions_for(said.classes).tolist(), decision.risk(said)[0].round(4).tolist(), strict=True)))
print("decision:", decision.decide(said)[0])

# %%
# The explanation says how far the posterior is from the threshold at which the decision would change.

print(decision.explain(said))

# %%
# In a plane, costs move the boundary of a model; nothing is fitted again.

data = crossed_normals()
lda = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
decisions = {
    "equal costs": d.Decision(),
    "missing a second costs 10": d.Decision({"second": {"first": 10.0}, "first": {"second": 1.0}}),
}
figures.moving_boundary(lda, data.X, data.y, decisions).show()
