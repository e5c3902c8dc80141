"""
Decisions with unequal costs
============================

An avocado of weight 1.4 is more likely to be organic than ordinary. However, predicting organic for an ordinary one
costs 2, the reverse error only 1, so the decision with the smaller expected cost is *ordinary*.

*Reproduces D3 and D4: "Clasificadores discriminativos básicos", cost-sensitive classification.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals, worked_example

example = worked_example("avocado-costs")
model = d.BayesClassifier(example.given["likelihood"], example.given["priors"])
posterior = d.posterior(model, [example.given["value"]])
decision = d.Decision(example.given["costs"])
actions, risks = decision.actions_for(posterior.classes).tolist(), decision.risk(posterior)[0].round(4).tolist()
print(dict(zip(actions, risks, strict=True)))
print("decision:", decision.decide(posterior)[0])

# %%
# The explanation reports the distance of the posterior from the threshold at which the decision changes.

print(decision.explain(posterior))

# %%
# Costs shift the boundary of a fitted model.

data = crossed_normals()
lda = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
decisions = {
    "equal costs": d.Decision(),
    "missing a second costs 10": d.Decision({"second": {"first": 10.0}, "first": {"second": 1.0}}),
}
figures.moving_boundary(lda, data.X, data.y, decisions).show()
