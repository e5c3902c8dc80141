"""How good models are on rows they have not seen: cross-validation, comparison, learning curves, sources of error."""
