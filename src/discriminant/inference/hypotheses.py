"""Wald tests of linear hypotheses, written as equations such as ``"a = b"`` or ``"2 * a - b = 0.5, c = 0"``.

Names of coefficients may contain any characters (``sex=m:dose``, ``ns(bmi, df=4)[1]``): at each position the longest
matching name is used. Numbers, ``+ - * /`` and parentheses are parsed by recursive descent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..arrays import Array
from ..errors import ColumnError, ParameterError, Setting
from ..results import Result, aligned, decimal, number, p_value, percent, quoted, shortened
from .likelihood import coefficient

#: Total length of the hypotheses.
MAX_LETTERS: Final = 20_000
#: Hypotheses are linearly dependent if the reciprocal condition number of their covariance is smaller.
MIN_CONDITION: Final = 1e-12
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Hypothesis:
    """The hypothesis ``sum of weights * coefficients = value`` and its text."""

    text: str
    weights: Mapping[str, float]
    value: float


@dataclass(frozen=True)
class HypothesisRow:
    """The Wald test of one linear hypothesis.

    Attributes
    ----------
    hypothesis : str
        The equation; for several outcomes with the outcome.
    estimate, std_error : float
        Left side minus right side, and its standard error.
    z, p_value : float
        The test that the difference is 0.
    low, high : float
        Confidence limits of the difference.
    """

    hypothesis: str
    estimate: float
    std_error: float
    z: float
    p_value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class HypothesisTest(Result):
    """Wald tests of linear hypotheses about coefficients: single tests and the joint test.

    Attributes
    ----------
    rows : list of HypothesisRow
        Single tests.
    statistic : float
        Wald chi-square statistic of the joint test.
    df : int
        Number of hypotheses.
    p_value : float
        P-value of the joint test, from the chi-square distribution with `df` degrees of freedom.
    level : float
        Confidence level of the intervals.
    covariance : str
        Covariance estimator.

    See Also
    --------
    LogisticRegression : Its `hypothesis` computes it.
    TermTests : Likelihood-ratio tests of terms.

    References
    ----------
    Wald, A. (1943). Tests of statistical hypotheses concerning several parameters when the number of observations is
    large. Transactions of the American Mathematical Society 54.
    """

    rows: list[HypothesisRow]
    statistic: float
    df: int
    p_value: float
    level: float
    covariance: str

    def __str__(self) -> str:
        table = [["hypothesis", "difference", "std. error", "z", "p", f"[{percent(self.level, 0)}", "interval]"]]
        for row in self.rows:
            low, high = number(row.low), number(row.high)
            values = [number(row.estimate), number(row.std_error), decimal(row.z, 3), p_value(row.p_value)]
            table.append([row.hypothesis, *values, low, high])
        joint = f"Joint Wald test: chi-square {number(self.statistic)}, df {self.df}, p {p_value(self.p_value)}"
        return "\n".join(["Linear hypotheses", *aligned(table), joint, f"note: {self.covariance}"])


class LinearHypotheses(NamedTuple):
    """The hypotheses ``matrix @ coefficients == values``, with their texts."""

    texts: list[str]
    matrix: Array
    values: Array


def wald_test(
    hypotheses: LinearHypotheses, estimates: Array, covariance: Array, level: float, note: str
) -> HypothesisTest:
    """Wald's test of linear hypotheses."""
    texts, matrix, values = hypotheses
    differences, error_covariance = matrix @ estimates - values, matrix @ covariance @ matrix.T
    scale = np.sqrt(np.maximum(np.diagonal(error_covariance), 0.0))
    if not scale.all() or np.linalg.cond(error_covariance / np.outer(scale, scale)) * MIN_CONDITION > 1:
        raise ParameterError(
            f"The hypotheses {quoted(texts, 10)} are linearly dependent. Omit those implied by others."
        )
    statistic = float(differences @ np.linalg.solve(error_covariance, differences))
    rows = []
    for text, difference, error in zip(texts, differences.tolist(), scale.tolist(), strict=True):
        row = coefficient((None, text), difference, error, level)
        rows.append(HypothesisRow(text, difference, error, row.z, row.p_value, row.low, row.high))
    return HypothesisTest(rows, statistic, len(texts), float(chdtrc(len(texts), statistic)), level, note)


def linear_functions(given: str | Sequence[str], outcomes: Sequence[Any], terms: Sequence[str]) -> LinearHypotheses:
    """The hypotheses about the coefficients, ordered by outcome and term.

    With several outcomes, an equation is about the outcomes it names (``outcome:term``), or else about each outcome.
    """
    full = [] if len(outcomes) == 1 else [f"{outcome}:{term}" for outcome in outcomes for term in terms]
    texts, rows, values = [], [], []
    for found in parse_hypotheses(given, [*terms, *full]):
        of_each = found.weights.keys() <= set(terms)
        if not of_each and not found.weights.keys() <= set(full):
            raise ParameterError(
                Setting("hypothesis"),
                f": {found.text!r} mixes coefficients with and without outcomes. Write all of them as 'outcome:term'.",
            )
        names = list(terms) if of_each else full
        own = np.zeros(len(names))
        for name, weight in found.weights.items():
            own[names.index(name)] = weight
        starts = range(0, len(outcomes) * len(terms), len(names))
        rows += [np.pad(own, (start, len(outcomes) * len(terms) - len(names) - start)) for start in starts]
        texts += [f"{outcome}: {found.text}" for outcome in outcomes] if len(starts) > 1 else [found.text]
        values += [found.value] * len(starts)
    return LinearHypotheses(texts, np.array(rows), np.array(values))


def parse_hypotheses(given: str | Sequence[str], names: Sequence[str]) -> list[Hypothesis]:
    """The hypotheses in one or several texts, which may contain several equations separated by commas.

    >>> parse_hypotheses("sex=m = 2 * age, age", ["age", "sex=m"])[0].weights
    {'sex=m': 1.0, 'age': -2.0}
    """
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(text, str) for text in texts):
        raise ParameterError(Setting("hypothesis"), " must be an equation such as 'a = b', or a list of equations.")
    if sum(map(len, texts)) > MAX_LETTERS:
        raise ParameterError(Setting("hypothesis"), f" may have at most {MAX_LETTERS:,} characters.")
    known = _Names(names)
    return [found for text in texts for found in _equations(text, known)]


class _Names:
    """Names of coefficients and patterns that match them with any spacing."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        written = sorted((name for name in names if re.search(r"[^\W\d]", name)), key=len, reverse=True)
        self.patterns = [(re.compile(_spaced(name)), name) for name in written]

    def at(self, text: str, place: int) -> tuple[str, int] | None:
        """The longest name at this position, and its end."""
        for pattern, name in self.patterns:
            found = pattern.match(text, place)
            if found is not None:
                return name, found.end()
        return None


def _spaced(name: str) -> str:
    """A pattern of the name in which spaces around punctuation are optional."""
    parts = re.findall(r"\w+|[^\w\s]", name)
    pattern = re.escape(parts[0])
    for before, part in pairwise(parts):
        words = bool(re.match(r"\w", before)) and bool(re.match(r"\w", part))
        pattern += (r"\s+" if words else r"\s*") + re.escape(part)
    return pattern + (r"(?!\w)" if re.match(r"\w", parts[-1]) else "")


@dataclass(frozen=True)
class _Linear:
    """A linear function of coefficients."""

    weights: dict[str, float]
    constant: float

    def plus(self, other: _Linear, factor: float = 1.0) -> _Linear:
        weights = dict(self.weights)
        for name, weight in other.weights.items():
            weights[name] = weights.get(name, 0.0) + factor * weight
        return _Linear(weights, self.constant + factor * other.constant)

    def times(self, factor: float) -> _Linear:
        return _Linear({name: factor * weight for name, weight in self.weights.items()}, factor * self.constant)


@dataclass(frozen=True)
class _Token:
    """A coefficient, number or sign of a hypothesis, with its place in the text."""

    kind: str  #: the sign, or "operand"
    start: int
    stop: int
    value: _Linear


def _equations(text: str, known: _Names) -> Iterator[Hypothesis]:
    """The equations of a text, two for ``a = b = c``; without a right side it is 0."""
    for equation in _split(list(_tokens(text, known)), ","):
        sides = [_side(text, side) for side in _split(equation, "=")]
        for (left, first), (right, second) in pairwise(sides if len(sides) > 1 else [*sides, ("0", _Linear({}, 0.0))]):
            own = first.plus(second, -1.0)
            weights = {name: weight for name, weight in own.weights.items() if weight}
            if not weights:
                raise _invalid(text, "all coefficients cancel")
            yield Hypothesis(f"{left} = {right}", weights, -own.constant)


def _tokens(text: str, known: _Names) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        quotation, named, plain = _QUOTED.match(text, place), known.at(text, place), _NUMBER.match(text, place)
        start, kind, value = place, "operand", _Linear({}, 0.0)
        if quotation is not None:
            if quotation[1] not in known.names:
                raise _unknown(text, quotation[1], known)
            place, value = quotation.end(), _Linear({quotation[1]: 1.0}, 0.0)
        elif named is not None:
            place, value = named[1], _Linear({named[0]: 1.0}, 0.0)
        elif plain is not None:
            place, value = plain.end(), _Linear({}, float(plain[0]))
        elif text[place] in "+-*/()=,":
            place, kind = place + 1, text[place]
        elif not text[place].isspace():
            raise _unknown(text, str(re.match(r"[\w.]+|.", text[place:], re.DOTALL)[0]), known)  # type: ignore[index]
        else:
            place += 1
            continue
        yield _Token(kind, start, place, value)


def _split(tokens: list[_Token], sign: str) -> list[list[_Token]]:
    """The tokens between those of a sign."""
    places = [-1, *(i for i, token in enumerate(tokens) if token.kind == sign), len(tokens)]
    return [tokens[first + 1 : last] for first, last in pairwise(places)]


def _side(text: str, tokens: list[_Token]) -> tuple[str, _Linear]:
    """One side of an equation as it is written, and as a linear function; operands have numbers in the parsed code."""
    code = " ".join(f"x{i}" if token.kind == "operand" else token.kind for i, token in enumerate(tokens))
    try:
        value = _evaluated(ast.parse(code, mode="eval").body, tokens)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", str(error)) if tokens else "expected a coefficient or a number"
        raise _invalid(text, reason) from error
    return " ".join(text[tokens[0].start : tokens[-1].stop].split()), value


def _evaluated(node: ast.expr, tokens: list[_Token]) -> _Linear:
    if isinstance(node, ast.Name):
        return tokens[int(node.id[1:])].value
    if isinstance(node, ast.UnaryOp):
        return _evaluated(node.operand, tokens).times(-1.0 if isinstance(node.op, ast.USub) else 1.0)
    if isinstance(node, ast.BinOp):
        first, second = _evaluated(node.left, tokens), _evaluated(node.right, tokens)
        if isinstance(node.op, ast.Add | ast.Sub):
            return first.plus(second, -1.0 if isinstance(node.op, ast.Sub) else 1.0)
        if isinstance(node.op, ast.Mult) and not first.weights:
            first, second = second, first
        if not second.weights and isinstance(node.op, ast.Mult):
            return first.times(second.constant)
        if not second.weights and second.constant:
            return first.times(1 / second.constant)
    raise ValueError("it is not linear in the coefficients")


def _unknown(text: str, name: str, known: _Names) -> ColumnError:
    return ColumnError(
        f"The hypothesis {shortened(text, 80)!r} contains {shortened(name, 40)!r}, which is not a coefficient. "
        f"Coefficients: {quoted(known.names, 20)}."
    )


def _invalid(text: str, reason: str) -> ParameterError:
    return ParameterError(Setting("hypothesis"), f": {shortened(text, 80)!r} is not valid: {reason}.")
