"""
Prior and posterior probabilities
=================================

Two fifths of the avocados in a shop are organic. Of the organic ones 65 % have weight 1.4, of the ordinary ones
35 %. The class with the larger prior is *ordinary*; given the weight 1.4, the class with the larger posterior
probability is *organic*.

*Reproduces D1 and D2: "Clasificadores discriminativos básicos", decisión a-priori vs. decisión a-posteriori.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import avocados, worked_example
from discriminant.theory import density_curves

example = worked_example("avocado")
print(example.question)

# %%
# The posterior is the likelihood times the prior, divided by their sum over the classes.

model = d.BayesClassifier(example.given["likelihood"], example.given["priors"])
posterior = dict(zip(model.classes_, model.predict_proba([example.given["value"]])[0].round(4), strict=True))
print(posterior, "->", model.predict([example.given["value"]])[0])

# %%
# With equal priors the rule is the maximum-likelihood decision. Here it agrees with the posterior, although the prior
# alone favours *ordinary*.

likely = d.BayesClassifier(example.given["likelihood"]).predict([example.given["value"]])[0]
print("a priori:", max(example.given["priors"], key=example.given["priors"].get), "  maximum likelihood:", likely)

# %%
# Prices are continuous, and the same rule is a threshold between two densities. The misclassified part is the Bayes
# error, which no classifier can avoid.

data = avocados()
figures.class_densities(density_curves(data.distributions, data.priors)).show()
