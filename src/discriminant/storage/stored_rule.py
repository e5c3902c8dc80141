"""What predicts, of a stored model: its rule, its classes and the names of its columns.

Most models answer with the class of the highest score, and with probabilities whose logarithms the scores are. To
read that much of a file needs neither the estimator nor scikit-learn, which takes ten times as long to load as a small
table to predict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arrays import Array
from ..data import DISTRIBUTIONS, MixedRows, Rows, require
from ..rules import MixedRule, Scorer
from .encoding import Decoder
from .registry import check_learned

#: Models whose scores are the logarithms of their probabilities, up to a constant for each row.
_POSTERIOR = (
    "AutoClassifier", "BayesianLinearDiscriminantAnalysis", "GaussianNB", "LinearDiscriminantAnalysis",
    "LogisticRegression", "LogisticRegressionCV", "NaiveBayes", "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
)  # fmt: skip
#: What these predict with, and what they do to their rows before.
_NEEDED = ("classes_", "feature_names_in_", "n_features_in_", "n_jobs", "rule_")
_KEPT = ("priors_", "distributions_")
_BEFORE = ("basis_", "encoder_", "formula_")


@dataclass(frozen=True)
class StoredRule:
    """A rule that takes rows with the names of its columns, with the classes and priors of the model it is from."""

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


def rule_of(document: dict[str, Any], arrays: dict[str, bytes]) -> StoredRule | None:
    """The rule of a stored model that takes named columns of numbers; None where it takes more to predict."""
    match document:
        case {"model": {"object": [str(name), dict(parts)]}, "class": announced} if name == announced:
            pass
        case _:  # whoever reads the whole says what is wrong
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
