"""Hyperplanes by their margins: support vector machines with soft and hard margin, convex hulls, the perceptron."""
