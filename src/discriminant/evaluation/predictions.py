"""Labelled rows with predictions, as given and validated, and the options of an evaluation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, MatrixLike
from ..data import codes_among, encoded, label_array, label_column, ordered, same_length, sorted_classes
from ..decision.costs import read_costs
from ..decision.posteriors import Posterior
from ..errors import InputError, ParameterError
from ..results import plain
from .confusion import ConfusionMatrix
from .inputs import class_scores, positive_code, read_posterior
from .sampling import SamplingDesign


@dataclass(frozen=True, eq=False)
class EvaluationOptions:
    """Options of an evaluation.

    Parameters
    ----------
    costs : array, dict, frame, "absolute" or "squared", optional
        Cost matrix, rows are true classes and columns actions, as for `Decision`, or distances of ordered classes;
        adds the mean cost. The evaluated
        predictions of a model with probabilities are then the actions of minimum expected cost, except for models with
        their own decisions such as `DecisionClassifier`.
    actions : list, optional
        Actions other than the classes that can be predicted; "abstain", named columns of ``costs`` and ``actions_`` of
        a model are always allowed. For a cost array they name all columns in order, or those after the classes.
    positive : label, optional
        The positive class of curves, average precision, calibration error and thresholds, against all others. Default:
        the rarer of two classes (the second, if both are equally frequent); each class, if there are more.
    level : float, default=0.95
        Of the intervals.
    random_state : int or Generator, default=0
        Seed of the bootstrap.
    classes_order : sequence of labels, optional
        All classes from the lowest to the highest, for the measures of ordered classes: ranked probability score, mean
        absolute error, weighted kappas and Somers' D. Default: that of an ordinal model.

    See Also
    --------
    evaluate : Takes them.

    Examples
    --------
    >>> EvaluationOptions(positive="ill", level=0.9).level
    0.9
    """

    costs: Any = None
    actions: Any = None
    positive: Any = None
    level: float = 0.95
    random_state: Any = 0
    classes_order: Any = None

    def cost_table(self, classes: Array) -> tuple[Array, list[Any]]:
        """The costs with the true classes in this order, and the actions of the columns.

        Parameters
        ----------
        classes : array of shape (K,)
            All classes.

        Returns
        -------
        tuple
            Array with a column for each action, and the actions.
        """
        table = read_costs(self.costs, classes=self._order_of_costs)
        if table.actions is not None or self.actions is None:
            return table.aligned(classes)
        named, known = [plain(action) for action in self.actions], classes.tolist()
        others = [action for action in named if action not in known]
        columns = named if len(named) == table.values.shape[-1] else [*known, *others]
        # Without other actions the columns are the classes, in their order.
        fits = others and len(columns) == table.values.shape[-1]
        return read_costs(self.costs, columns if fits else None).aligned(classes)

    @property
    def _order_of_costs(self) -> Any:
        """The order of the classes for costs that are given by name."""
        return self.classes_order if isinstance(self.costs, str) else None

    @property
    def named_actions(self) -> list[Any]:
        """The actions in ``actions`` or in the columns of the costs."""
        named = [] if self.actions is None else [plain(action) for action in self.actions]
        named += [] if self.costs is None else read_costs(self.costs, classes=self._order_of_costs).actions or []
        return list(dict.fromkeys(named))


@dataclass(frozen=True, eq=False)
class LabelledPredictions:
    """Labelled rows with their predictions, from any source.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    predicted : array-like of shape (n_rows,), optional
        Predicted labels, or actions such as "abstain". Default: the most probable class of ``posterior``, or with costs
        the action of minimum expected cost.
    posterior : Posterior, or array or frame of shape (n_rows, K), optional
        Class probabilities; for two classes also a single column, that of the second.
    scores : array-like of shape (n_rows,) or (n_rows, K), optional
        Scores for the curves, if there are no probabilities. A single score per row increases with the probability of
        the second of two classes, or of the positive one of more.
    classes : array-like, optional
        All classes, in the order of the columns of ``posterior`` and ``scores``. Default: the sorted labels.
    sample_weight : array-like of shape (n_rows,), optional
        Whole numbers are frequencies: weight 3 means three independent rows. Others are importances, such as survey
        weights; intervals then allow for their variation.
    groups : array-like of shape (n_rows,), optional
        Rows of one group (patient, site, day) are not independent; intervals are then based on the variation between
        groups.

    See Also
    --------
    evaluation_of : How good they are.

    Examples
    --------
    >>> LabelledPredictions(["b", "a"], posterior=[0.8, 0.3]).predicted is None
    True
    """

    y: Any
    predicted: Any = None
    posterior: Any = None
    scores: Any = None
    classes: Any = None
    sample_weight: Any = None
    groups: Any = None

    def checked(self, actions: Sequence[Hashable]) -> CheckedPredictions:
        """The rows with classes sorted.

        Parameters
        ----------
        actions : list
            What may be predicted besides the classes.

        Returns
        -------
        CheckedPredictions
            Validated arrays of equal length.
        """
        if self.predicted is None and self.posterior is None and self.scores is None:
            raise ParameterError("Predictions are missing. Give predicted, posterior or scores.")
        labels = label_column("y", self.y)
        given = self._class_names(labels, actions)
        names, probabilities = (given, None) if self.posterior is None else _posterior(self.posterior, given)
        order = [names.tolist().index(label) for label in ordered(names.tolist())]
        scores = None if self.scores is None else class_scores("scores", self.scores, names)
        guess = None if self.predicted is None else label_column("predicted", self.predicted)
        same_length(y=labels, predicted=guess, posterior=probabilities, scores=scores)
        codes = codes_among("y", labels, names[order])
        if probabilities is not None and order != list(range(len(order))):
            probabilities = np.ascontiguousarray(probabilities[:, order])
        if scores is not None and scores.ndim == 2:
            scores = np.ascontiguousarray(scores[:, order])
        extra = [action for action in actions if action not in names.tolist()]
        design = SamplingDesign.read(self.sample_weight, self.groups, len(labels))
        return CheckedPredictions(names[order], codes, extra, guess, probabilities, scores, design)

    def _class_names(self, labels: Array, actions: Sequence[Hashable]) -> Array:
        """The classes in the order of the columns: those given, the column names, or the sorted labels."""
        if self.classes is not None:
            sorted_classes(self.classes)  # refuses other types than lists of classes
            return label_array(list(self.classes))
        if isinstance(self.posterior, Posterior):
            return self.posterior.classes
        found = [encoded(labels)[0]]
        if hasattr(self.posterior, "columns") and set(found[0]) <= set(self.posterior.columns):
            return label_array(list(self.posterior.columns))
        if self.posterior is None and self.scores is None:
            counted = ConfusionMatrix.of(labels, self.predicted, actions=set(actions) - set(found[0]))
            found.append(counted.classes.tolist())
        return label_array(ordered(*found))


@dataclass(frozen=True, eq=False)
class CheckedPredictions:
    """Rows with classes sorted, and the columns of posterior and scores in their order."""

    classes: Array
    codes: Array
    actions: list[Any]  #: actions other than the classes
    predicted: Array | None
    posterior: Array | None
    scores: Array | None
    design: SamplingDesign

    @property
    def likeliest(self) -> Array | None:
        """The most probable class of each row."""
        return None if self.posterior is None else self.classes[self.posterior.argmax(axis=1)]

    @property
    def own_probability(self) -> Array | None:
        """The probability of the true class of each row."""
        return None if self.posterior is None else self.posterior[np.arange(len(self.codes)), self.codes]

    def positive_code(self, positive: Hashable | None) -> int | None:
        """The code of the positive class, if there is one."""
        weights = np.bincount(self.codes, self.design.weight, len(self.classes))
        return positive_code(positive, self.classes, weights)


def _posterior(posterior: Posterior | MatrixLike, classes: Array) -> tuple[Array, Array]:
    """The classes in the order of the columns, and the probabilities."""
    if isinstance(posterior, Posterior) or hasattr(posterior, "columns"):
        return read_posterior(posterior, classes)
    values = np.asarray(posterior)
    if values.ndim == 1:
        if len(classes) != 2:
            raise InputError(f"posterior has one column, expected one for each class: {classes.tolist()}.")
        values = np.column_stack((1 - values, values))
    return read_posterior(values, classes)
