"""Inference for logistic regression: whether the maximum exists, and what to estimate where it does not."""
