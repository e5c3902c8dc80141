"""One module per rival: its estimators for each of our models, set up to solve the same problem."""
