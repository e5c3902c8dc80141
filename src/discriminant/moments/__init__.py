"""Class moments, computed in one pass, and estimates from them."""
