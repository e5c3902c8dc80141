"""Classifiers with scikit-learn's interface: thin shells that check, reduce, read and keep what was fitted."""
