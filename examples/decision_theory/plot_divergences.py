"""
Divergences between distributions
=================================

The Kullback-Leibler divergence is asymmetric and may be infinite; the Jensen-Shannon divergence compares both
distributions with their mean and is at most log 2.

*Reproduces D6: "Clasificadores discriminativos básicos", divergencias clásicas.*
"""

from discriminant import Gaussian, figures
from discriminant.datasets import worked_example
from discriminant.theory import cross_entropy, density_curves, entropy, js_divergence, kl_divergence

given = worked_example("divergences").given
p, q = given["p"], given["q"]
print(f"KL(p||q) = {kl_divergence(p, q):.4f}, KL(q||p) = {kl_divergence(q, p):.4f}, JS = {js_divergence(p, q):.4f}")

# %%
# Minimising the cross-entropy also minimises the divergence, because they differ by the entropy of p, a constant.

print(f"cross-entropy {cross_entropy(p, q):.4f} = entropy {entropy(p):.4f} + KL {kl_divergence(p, q):.4f}")

# %%
# Normal classes with closer means have a smaller divergence and a larger Bayes error.

near = {"first": Gaussian([0.0], [[1.0]]), "second": Gaussian([1.0], [[1.0]])}
print(f"KL of N(0, 1) and N(1, 1): {kl_divergence(near['first'], near['second']):.4f}")
figures.class_densities(density_curves(near)).show()
