"""Class moments in one pass, and the models that are read from them."""
