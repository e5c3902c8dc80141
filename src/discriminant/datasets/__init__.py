"""Small data to learn on, each made by a seeded rule or free to use, and the worked examples of the lecture notes.

A data set is a `Dataset`: rows, labels, what they mean and where they come from. A `WorkedExample` is what a set of
notes gives and the numbers that must come out of it: tests, lessons and the gallery read the same ones.
"""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
