"""The part of a stored model that predictions need: its rule, classes and column names.

Reading these needs neither the estimator nor scikit-learn, whose import takes 1.6 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arrays import Array
from ..data import DISTRIBUTIONS, MixedRows, Rows, require
from ..rules import MixedRule, Scorer
from .encoding import Decoder
from .registry import check_learned

# Models whose scores are log-posteriors, up to a constant for each row.
_POSTERIOR = (
    "AutoClassifier", "BayesianLinearDiscriminantAnalysis", "GaussianNB", "LinearDiscriminantAnalysis",
    "LogisticRegression", "LogisticRegressionCV", "NaiveBayes", "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
)  # fmt: skip
# Parts that predictions need, and parts that transform rows first.
_NEEDED = ("classes_", "feature_names_in_", "n_features_in_", "n_jobs", "rule_")
_KEPT = ("priors_", "distributions_")
_BEFORE = ("basis_", "encoder_", "formula_")


@dataclass(frozen=True)
class StoredRule:
    """The rule, classes and priors of a model, for rows with the names of its columns."""

    rule_: Any
    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    n_jobs: int | None = None
    priors_: Array | None = None
    distributions_: tuple[Any, ...] | None = None

    def _check_parts(self) -> None:
        kinds = self.distributions_
        known = isinstance(kinds, tuple) and all(kind in DISTRIBUTIONS for kind in kinds)
        require(kinds is None or (known and len(kinds) == self.n_features_in_), self, "distributions_")
        require((kinds is not None) == isinstance(self.rule_, MixedRule), self, "rule_ and distributions_")

    @property
    def _scorer(self) -> Scorer:
        return Scorer(self.rule_, self.classes_, self.n_jobs)

    def _read(self, rows: Any) -> Rows:
        own: Rows = rows if self.distributions_ is None else MixedRows(rows.values, self.distributions_, rows.names)
        return own

    def predict(self, rows: Rows) -> Array:
        """The class of the highest score of each row."""
        return self._scorer.labels(self._read(rows))

    def predict_proba(self, rows: Rows) -> Array:
        """The probability of each class for each row."""
        return self._scorer.posterior(self._read(rows))


def rule_of(document: dict[str, Any], arrays: dict[str, Array]) -> StoredRule | None:
    """The rule of a stored model of named numeric columns; None if predictions need more."""
    match document:
        case {"model": {"object": [str(name), dict(parts)]}, "class": announced} if name == announced:
            pass
        case _:  # the full decoder raises the error
            return None
    if name not in _POSTERIOR or any(part in parts for part in _BEFORE) or not all(part in parts for part in _NEEDED):
        return None
    decoder = Decoder(arrays)
    found = StoredRule(**{part: decoder.decode(parts[part]) for part in (*_NEEDED, *_KEPT) if part in parts})
    if found.distributions_ is not None and "categorical" in found.distributions_:
        return None
    check_learned(found)
    found._check_parts()
    return found
