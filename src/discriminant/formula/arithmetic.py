"""Arithmetic of several columns, such as ``(nir - red) / (nir + red)``: parsed without evaluation of code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..errors import DiscriminantError, ParameterError
from ..results import shortened
from .reading import MAX_CALL_LENGTH, with_placeholders

_OPERATORS: Final[dict[type, Callable[..., Any]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.UAdd: np.positive,
    ast.USub: np.negative,
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "max": lambda *values: reduce(np.maximum, values),
    "min": lambda *values: reduce(np.minimum, values),
}
_PLACEHOLDER: Final = re.compile(r"\b_\d+_\b")


@dataclass(frozen=True)
class Arithmetic:
    """A parsed expression.

    Attributes
    ----------
    columns : dict
        The columns of the expression, by the names of variables in the tree.
    tree : ast.expr
        Its syntax tree.
    """

    columns: dict[str, str]
    tree: ast.expr

    @classmethod
    def parse(cls, text: str, column: Callable[[str, bool], str]) -> Arithmetic:
        """The expression of a text.

        ``column`` returns the column of a name, given whether the name is quoted by backticks.

        >>> ratio = Arithmetic.parse("(nir - `deep red`) / 2", lambda name, is_quoted: name)
        >>> sorted(ratio.columns.values()), float(ratio.evaluate({"nir": np.ones(1), "deep red": np.zeros(1)})[0])
        (['deep red', 'nir'], 0.5)
        """
        names: dict[str, str] = {}
        try:
            if len(text) > MAX_CALL_LENGTH:
                raise ValueError(f"it has more than {MAX_CALL_LENGTH:,} characters")
            made = cls(names, ast.parse(with_placeholders(text.strip(), names, column), mode="eval").body)
            made.evaluate(dict.fromkeys(names.values(), np.ones(1)))
        except (SyntaxError, ValueError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
            if isinstance(error, DiscriminantError):
                raise
            reason = _PLACEHOLDER.sub(lambda found: names.get(found[0], found[0]), getattr(error, "msg", str(error)))
            raise ParameterError(
                f"Invalid expression {shortened(text, 80)!r}: {shortened(reason, 200)}. Expected arithmetic such as "
                f"(nir - red) / (nir + red), with the functions {', '.join(_FUNCTIONS)}."
            ) from error
        return made

    def __str__(self) -> str:
        return _PLACEHOLDER.sub(lambda found: self.columns[found[0]], ast.unparse(self.tree))

    def evaluate(self, values: Mapping[str, Array]) -> Array:
        """The values of the expression for those of the columns; not finite where it is undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self._value(self.tree, {key: values[column] for key, column in self.columns.items()}))

    def _value(self, node: ast.expr, values: Mapping[str, Array]) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self._value(node.operand, values))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self._value(node.left, values), self._value(node.right, values))
        if isinstance(node, ast.Call) and not node.keywords and ast.unparse(node.func) in _FUNCTIONS:
            return _FUNCTIONS[ast.unparse(node.func)](*(self._value(each, values) for each in node.args))
        raise ValueError(f"{shortened(ast.unparse(node), 40)!r} is not supported")
