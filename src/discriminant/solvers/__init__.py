"""Solvers that ``solver=`` accepts, and their results.

======================================================  ============================================
problem                                                 ``"auto"``
======================================================  ============================================
an L1 penalty                                           coordinate
more columns than rows (up to 2,000 rows, in memory)    one of the next two, in the span of the rows
up to 600 parameters ((K - 1) (p + 1)), cheap Hessian   newton
more parameters, or many classes on few rows            newton-cg
early stopping                                          sgd
======================================================  ============================================

================  ====  ==  ==  ===========  ======================================================
solver            none  L2  L1  elastic net  an iteration costs
================  ====  ==  ==  ===========  ======================================================
newton            yes   yes no  no           a pass; a Hessian of a sample first
lbfgs             yes   yes no  no           a pass
newton-cg         yes   yes no  no           a pass (L-BFGS), later one for each product with the Hessian
coordinate        yes   yes yes yes          a pass; weighted products of the active columns
gradient          yes   yes no  no           a pass
sgd               yes   yes no  no           a pass, and two over the mini-batches
================  ====  ==  ==  ===========  ======================================================

These work in standardised columns, and on samples of the rows where that is faster. `GradientDescent`,
`StochasticGradient` and `IRLS` are textbook algorithms in the units of the data, for demonstration. Any object with a
``minimise(objective, theta, tol, max_iter, trace)`` that returns a `Solution` is a solver.
"""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
