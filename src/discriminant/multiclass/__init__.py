"""Many classes from two: one table says what each binary classifier learns, and how their scores are read.

A codebook has a row for each class and a column for each binary classifier. +1 and -1 are the sides a class is put on
in that column, 0 leaves its rows out. One-versus-rest, one-versus-one and output codes are different tables, no more.
"""

from .codebook import DECODINGS, LOSSES, Ambiguity, Codebook, Decoding, DecodingLoss, ambiguous
from .codes import dense_code, exhaustive_code, one_vs_one, one_vs_rest, one_vs_rest_default, sparse_code
from .rule import CodedRule, Columns

__all__ = [
    "DECODINGS",
    "LOSSES",
    "Ambiguity",
    "Codebook",
    "CodedRule",
    "Columns",
    "Decoding",
    "DecodingLoss",
    "ambiguous",
    "dense_code",
    "exhaustive_code",
    "one_vs_one",
    "one_vs_rest",
    "one_vs_rest_default",
    "sparse_code",
]
