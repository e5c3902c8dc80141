"""Wald tests of linear hypotheses, written as equations such as ``"a = b"`` or ``"2 * a - b = 0.5, c = 0"``.

Names of coefficients may contain any characters (``sex=m:dose``, ``ns(bmi, df=4)[1]``): at each position the longest
matching name is used. Numbers, ``+ - * /`` and parentheses are parsed by recursive descent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..arrays import Array
from ..errors import ColumnError, ParameterError, Setting
from ..results import Result, aligned, columns_of, decimal, number, p_value, percent, quoted, shortened
from .likelihood import coefficient

#: Total length of the hypotheses, and nesting depth of parentheses.
MAX_LETTERS: Final = 20_000
MAX_DEPTH: Final = 50
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

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.rows)

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
    return [found for text in texts for found in _Equations(text, known).read()]


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


class _Equations:
    """Parser of the equations in one text."""

    def __init__(self, text: str, known: _Names) -> None:
        self.text, self.known = text, known
        self.tokens = list(self._tokens())
        self.at = 0

    def read(self) -> list[Hypothesis]:
        """The equations; ``a = b = c`` is two equations, and an expression alone is set to 0."""
        found: list[Hypothesis] = []
        while True:
            sides = [self._side()]
            while self._take("="):
                sides.append(self._side())
            if len(sides) == 1:
                sides.append(("0", _Linear({}, 0.0)))
            for (left, first), (right, second) in pairwise(sides):
                own = first.plus(second, -1.0)
                weights = {name: weight for name, weight in own.weights.items() if weight}
                if not weights:
                    self._refuse("all coefficients cancel")
                found.append(Hypothesis(f"{left} = {right}", weights, -own.constant))
            if not self._take(","):
                break
        if self.at < len(self.tokens):
            self._refuse(f"unexpected {self.tokens[self.at][1]!r}")
        return found

    def _tokens(self) -> Any:
        place, text = 0, self.text
        while place < len(text):
            if text[place].isspace():
                place += 1
                continue
            quotation = _QUOTED.match(text, place)
            named = self.known.at(text, place)
            plain = _NUMBER.match(text, place)
            if quotation is not None:
                if quotation[1] not in self.known.names:
                    self._unknown(quotation[1])
                yield "name", quotation[1], place, quotation.end()
                place = quotation.end()
            elif named is not None:
                yield "name", named[0], place, named[1]
                place = named[1]
            elif plain is not None:
                yield "number", plain[0], place, plain.end()
                place = plain.end()
            elif text[place] in "+-*/()=,":
                yield text[place], text[place], place, place + 1
                place += 1
            else:
                self._unknown(re.match(r"[\w.]+|.", text[place:], re.DOTALL)[0])  # type: ignore[index]

    def _unknown(self, name: str) -> None:
        raise ColumnError(
            f"The hypothesis {shortened(self.text, 80)!r} contains {shortened(name, 40)!r}, which is not a "
            f"coefficient. Coefficients: {quoted(self.known.names, 20)}."
        )

    def _refuse(self, reason: str) -> None:
        raise ParameterError(Setting("hypothesis"), f": {shortened(self.text, 80)!r} is not valid: {reason}.")

    def _take(self, *kinds: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][0] in kinds:
            self.at += 1
            return str(self.tokens[self.at - 1][0])
        return None

    def _side(self) -> tuple[str, _Linear]:
        """One side of an equation and its text."""
        first = self.at
        value = self._sum(0)
        start, stop = self.tokens[first][2], self.tokens[self.at - 1][3]
        return " ".join(self.text[start:stop].split()), value

    def _sum(self, depth: int) -> _Linear:
        if depth > MAX_DEPTH:
            self._refuse(f"parentheses are nested more than {MAX_DEPTH} deep")
        sign = self._take("+", "-")
        value = self._product(depth).times(-1.0 if sign == "-" else 1.0)
        while sign := self._take("+", "-"):
            value = value.plus(self._product(depth), -1.0 if sign == "-" else 1.0)
        return value

    def _product(self, depth: int) -> _Linear:
        value = self._single(depth)
        while operator := self._take("*", "/"):
            other = self._single(depth)
            if operator == "*" and not value.weights:
                value, other = other, value
            if other.weights or (operator == "/" and not other.constant):
                self._refuse("it is not linear in the coefficients")
            value = value.times(1 / other.constant if operator == "/" else other.constant)
        return value

    def _single(self, depth: int) -> _Linear:
        sign = self._take("-")
        if self._take("("):
            value = self._sum(depth + 1)
            if not self._take(")"):
                self._refuse("a parenthesis is not closed")
        elif self._take("name"):
            value = _Linear({self.tokens[self.at - 1][1]: 1.0}, 0.0)
        elif self._take("number"):
            value = _Linear({}, float(self.tokens[self.at - 1][1]))
        else:
            after = f"{self.tokens[self.at][1]!r}" if self.at < len(self.tokens) else "the end"
            self._refuse(f"expected a coefficient or a number before {after}")
        return value.times(-1.0) if sign else value
