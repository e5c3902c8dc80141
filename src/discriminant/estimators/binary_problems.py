"""What classifiers share that learn many classes as several problems of two."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import ParameterError
from ..multiclass import Codebook, CodedRule, one_vs_one, one_vs_rest
from ..results import shown
from ..rules import LinearRule
from .base import RuleClassifier

Array = np.ndarray[Any, Any]

#: Kept, because checking a code takes as long as a small fit.
_SCHEMES = {"one-vs-rest": lru_cache(one_vs_rest), "one-vs-one": lru_cache(one_vs_one)}


class BinaryProblems(RuleClassifier):
    """A linear classifier of two classes that takes more of them through a codebook."""

    multiclass: Literal["one-vs-rest", "one-vs-one"]
    random_state: Any
    codebook_: Codebook
    coef_: Array
    intercept_: Array
    #: whether a score of exactly 0 is the second class's
    _zero_is_second: ClassVar[bool] = False

    def _check_parameters(self) -> None:
        self._check_option("multiclass", tuple(_SCHEMES))

    def _check_option(self, name: str, allowed: tuple[str | None, ...]) -> None:
        value = getattr(self, name)
        if not (value is None or isinstance(value, str)) or value not in allowed:
            options = " or ".join(map(repr, allowed))
            raise ParameterError(f"{name} must be {options}, got {value!r}.")

    def _seed(self) -> int:
        """A whole number drawn from ``random_state``."""
        try:
            return int(np.random.default_rng(self.random_state).integers(1 << 32))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                "random_state must be None, a whole number of at least 0 or a NumPy generator, got "
                f"{self.random_state!r}."
            ) from error

    def _codebook(self) -> Codebook:
        return _SCHEMES[self.multiclass](len(self.classes_))

    def _set_binary_rule(self, centre: Array, coef: Array, constants: Array) -> None:
        """Classify by the scores of the binary problems, one row each of ``coef``."""
        linear = LinearRule(centre, coef, constants)
        self.coef_, self.intercept_ = linear.coef, linear.intercept
        if len(self.classes_) == 2:
            self.rule_ = LinearRule(centre, np.concatenate((0 * coef, coef)), np.append(0.0, constants))
        elif self.codebook_.matrix.all():  # nobody is left out: each class against the rest
            self.rule_ = linear
        else:
            rule = CodedRule(linear, self.codebook_, "votes+confidence")
            self.rule_ = rule.turned() if self._zero_is_second else rule

    @property
    def _last_wins(self) -> bool:
        return self._zero_is_second and len(self.classes_) == 2

    def _one_or_each(self, values: list[Any]) -> Any:
        """The value of the only binary problem, or an array with one for each."""
        return values[0] if len(self.classes_) == 2 else np.array(values)

    def _named(self, column: int) -> str:
        """How a message calls a binary problem."""
        first, second = (np.flatnonzero(self.codebook_.matrix[:, column] == side) for side in (-1, 1))
        against = f"class {shown(self.classes_[first[0]])}" if len(first) == 1 else "the rest"
        return f"class {shown(self.classes_[second[0]])} against {against}"
