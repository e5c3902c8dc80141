"""Performance on held-out data: cross-validation, model comparison, learning curves and sources of error."""
