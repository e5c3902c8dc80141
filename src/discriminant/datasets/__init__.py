"""Small datasets for teaching, created by seeded generators or free to use, and worked examples of lecture notes.

A dataset is a `Dataset`: rows, labels, their meaning and origin. A `WorkedExample` has the data and the expected
numbers of an example in lecture notes; tests, lessons and the gallery share them.
"""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
