"""Fit a model to a labelled table; its coefficients and other learned values; its model file."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DiscriminantError, ParameterError
from ..results import jsonable
from .models import ModelSpec
from .tables import AnyLabelled, LabelledTable, Preparation, Roles, Streaming, read_labelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sklearn.base import BaseEstimator

    from ..inference.terms import TermTests
    from ..tables.schema import Schema

#: Coefficients up to which a model file has their covariance: 320 KB of numbers.
MAX_STORED_COVARIANCE: Final = 200
#: Types of parameters that results show.
_PLAIN: Final = (type(None), str, int, float, list, dict)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model, its short name, and the table it was fitted to."""

    model: BaseEstimator
    name: str
    labelled: AnyLabelled

    @property
    def table(self) -> LabelledTable:
        """The labelled table in memory."""
        assert isinstance(self.labelled, LabelledTable)
        return self.labelled

    @cached_property
    def training_metrics(self) -> dict[str, float]:
        """Training accuracy, plain and balanced, and the accuracy of the majority class."""
        found = self.labelled.confusion(self.model)
        return {
            "accuracy": found.overall("accuracy"),
            "balanced_accuracy": found.overall("balanced_accuracy"),
            "baseline_accuracy": found.most_frequent[1],
        }

    @property
    def schema(self) -> Schema:
        """The schema that is stored with the model."""
        from ..estimators.decision import DecisionClassifier

        scored = self.model.estimator_ if isinstance(self.model, DecisionClassifier) else self.model
        own = self.labelled.schema
        return own if _is_linear(scored) else own.with_unseen_as_reference

    def save(self, path: str | Path, learned: Mapping[str, Any] | None = None) -> None:
        """Write the model file, with the schema and the learned values that `explain` shows."""
        from ..storage.model_file import save

        found = learned_values(self.model, self.labelled.schema) if learned is None else learned
        save(
            self.model,
            path,
            schema=self.schema,
            metrics=self.training_metrics,
            training={**self.labelled.source, **self.labelled.seen(), **self._covariance()},
            learned=jsonable(found),
            name=self.name,
        )

    def _covariance(self) -> dict[str, Any]:
        """The covariance of few coefficients of a logistic or ordinal regression, for effects of the stored model."""
        model = self.model
        if not hasattr(model, "coefficient_covariance") or self.labelled.is_streamed:
            return {}
        if model.coef_.size > MAX_STORED_COVARIANCE or model.separation_ is not None:
            return {}
        try:
            return {"covariance": model.coefficient_covariance().tolist()}
        except DiscriminantError:  # of a penalty that has none
            return {}


def training_table(
    files: str | list[str],
    roles: Roles,
    preparation: Preparation,
    streaming: Streaming,
    spec: ModelSpec,
    formula: str | None = None,
) -> AnyLabelled:
    """The labelled table that a model is fitted to, coded as the model needs it."""
    if not streaming.is_needed(files):
        return read_labelled(files, roles, preparation, spec.coding, formula)
    if formula is not None or roles.groups is not None:
        raise ParameterError(
            "--formula and --groups need all rows in memory, but this table is streamed. Leave them out, or use a "
            "sample of the rows."
        )
    from ..partitions.fragments import decoded_bytes
    from ..partitions.training import refuse_gathering

    if not getattr(ModelSpec(spec.name, spec.settings).new(), "_takes_passes", False):
        refuse_gathering(decoded_bytes([files] if isinstance(files, str) else files), spec.name)
    return streaming.labelled(files, roles, preparation, spec.coding)


def fit(model: BaseEstimator, name: str, labelled: AnyLabelled) -> FittedModel:
    """Fit a model to a table; groups are held out together if the model tunes itself."""
    if labelled.formula is not None and isinstance(labelled, LabelledTable):
        from ..estimators.formula_fit import fit_formula

        fit_formula(model, labelled.formula, labelled.training)
    else:
        groups = labelled.groups if "groups" in inspect.signature(model.fit).parameters else {}
        model.fit(labelled.rows, labelled.labels, **labelled.weights, **groups)
    return FittedModel(model, name, labelled)


def requested_tests(fitted: FittedModel, terms: str | None, hypotheses: Sequence[str] | None) -> dict[str, Any]:
    """The tests of terms and of linear hypotheses that were requested."""
    from ..inference.terms import TERM_TEST_KINDS

    if not terms and not hypotheses:
        return {}
    if not hasattr(fitted.model, "term_tests"):
        raise ParameterError(f"{fitted.name} has no tests of terms and hypotheses. Use --model logistic.")
    if terms and terms not in TERM_TEST_KINDS:
        raise ParameterError(f"--term-tests must be one of {', '.join(TERM_TEST_KINDS)}; got {terms!r}.")
    found = {"terms": fitted.model.term_tests(terms)} if terms else {}
    return found | ({"hypotheses": fitted.model.hypothesis(list(hypotheses))} if hypotheses else {})


def _is_linear(model: BaseEstimator) -> bool:
    """Whether the score of average columns is the average of scores: see `Schema.with_unseen_as_reference`.

    Naive Bayes that reads categories itself handles unseen levels.
    """
    from ..rules import MixedRule

    reads_levels = isinstance(getattr(model, "rule_", None), MixedRule)
    return reads_levels or (hasattr(model, "coef_") and not hasattr(model, "basis_"))


def learned_values(model: BaseEstimator, schema: Schema) -> dict[str, Any]:
    """The tuned settings, priors, coefficients, means, axes and families of a model, by column names."""
    from ..estimators.base import found_settings
    from ..estimators.coefficients import coefficient_table, column_names, member_coefficients

    names: Sequence[str] = schema.names
    values: dict[str, Any] = {
        "model": type(model).__name__,
        "parameters": {name: value for name, value in model.get_params().items() if isinstance(value, _PLAIN)},
        "classes": model.classes_.tolist(),
    }
    if found := found_settings(model):
        values["found"] = found
    if hasattr(model, "formula_"):
        names = column_names(model)
        values |= {"formula": model.formula_.formula, "terms": _term_tests(model)}
    if hasattr(model, "priors_"):
        values["priors"] = model.priors_.tolist()
    if hasattr(model, "coef_"):
        table = coefficient_table(model, names, schema=schema).without(schema.words)
        values["coefficients"] = {**table.to_dict(), "reason": table.reason}
    if hasattr(model, "means_") and len(names):
        values["means"] = {name: column.tolist() for name, column in zip(names, model.means_.T, strict=True)}
    if hasattr(model, "scalings_"):
        values["scalings"] = {name: row.tolist() for name, row in zip(names, model.scalings_, strict=True)}
        values["explained_variance_ratio"] = model.explained_variance_ratio_.tolist()
    if hasattr(model, "members_"):
        values["families"] = model.describe().to_dict()
        tables = member_coefficients(model, names).items()
        values["member_coefficients"] = {family: table.without(schema.words) for family, table in tables}
    return values


def _term_tests(model: BaseEstimator) -> TermTests | None:
    """The tests of terms; None if the model has none."""
    try:
        return model.term_tests()
    except (AttributeError, DiscriminantError):
        return None
