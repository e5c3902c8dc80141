"""Estimators of other packages that correspond to each of our models, with parameters for the same problem."""
