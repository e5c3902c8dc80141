"""Formulas such as ``ill ~ age + sex * dose + bs(bmi, df=4)``: from text to terms, and with training rows to a `Basis`.

No code in a formula is evaluated. Calls are parsed by their syntax tree, with a list of supported functions of one
column. Names and operators are expanded to terms by formulaic's parser, as in R and patsy. Levels, knots and
polynomials are estimated from the training rows and kept as data: a fitted model does not need formulaic.

References
----------
Wilkinson, G. N. & Rogers, C. E. (1973). Symbolic description of factorial models for analysis of variance. Applied
Statistics 22.
Chambers, J. M. & Hastie, T. J., eds. (1992). Statistical Models in S.
"""

from .design import level_orders
from .reading import Formula, known_function
from .terms import Contrast, FormulaTerms, quantiles, term_name

__all__ = ["Contrast", "Formula", "FormulaTerms", "known_function", "level_orders", "quantiles", "term_name"]
