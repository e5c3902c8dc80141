"""The base of all classifiers: checked input, fits that succeed or change nothing, predictions from scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from ..arrays import Array, MatrixLike
from ..data import (
    AnyRows,
    TrainingData,
    as_frame,
    as_rows,
    check_weights,
    declared_order,
    is_collection,
    is_rows,
    is_streamed,
    sorted_classes,
    training_data,
)
from ..decision.costs import class_written
from ..decision.posteriors import one_for_each_class
from ..engine import one_blas_thread, quiet_numbers
from ..errors import (
    ColumnError,
    DiscriminantWarning,
    DtypeError,
    InputError,
    LabelError,
    Model,
    NotReadyError,
    ParameterError,
    Setting,
    WeightError,
    warn,
)
from ..partitions import streamed_rows
from ..results import finding_lines, frame_of, plain, shown
from ..rules import ArrayPosteriors, ArrayScorer, LinearRule, MixedRule, Scorer
from .checks import computable
from .formula_fit import fit_formula


@dataclass(frozen=True)
class _Prediction:
    """A prediction method of a fitted model, which is sent to the workers that hold the rows."""

    model: Any
    method: str

    def __call__(self, rows: MatrixLike) -> Array:
        return np.asarray(getattr(self.model, self.method)(rows))


def by_partition(answer: str) -> Callable[[Callable[..., Array]], Callable[..., Any]]:
    """A prediction method that also accepts Dask and Spark collections.

    The result is then a lazy collection of the same kind. In frames its columns are called ``answer``, with the class
    if there is one for each class.
    """

    def decorated(method: Callable[..., Array]) -> Callable[..., Any]:
        @wraps(method)
        def predicted(self: Any, X: MatrixLike) -> Any:
            if not is_collection(X):
                return method(self, X)
            from ..partitions.frames import CollectionPredictor

            check_is_fitted(self)
            labels = getattr(self, "actions_", self.classes_) if answer == "prediction" else self.classes_
            one = answer == "prediction" or (answer == "score" and len(labels) == 2)
            names = (answer,) if one else tuple(f"{answer}_{label}" for label in labels)
            dtype = np.asarray(labels).dtype if answer == "prediction" else np.dtype(np.float64)
            alone = copy(self)
            if hasattr(alone, "n_jobs"):
                alone.n_jobs = 1
            columns = getattr(getattr(self, "encoder_", self), "feature_names_in_", None)
            known = None if columns is None else tuple(map(str, columns))
            return CollectionPredictor(_Prediction(alone, method.__name__), known, names, dtype).predictions(X)

        return predicted

    return decorated


class RuleClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that scores rows by ``rule_``."""

    classes_: Array
    rule_: Any
    class_weight: Any = None
    n_jobs: int | None
    #: the input tags of scikit-learn
    _reads: tuple[str, ...] = ("sparse",)
    #: private attributes of a fit, which are not pickled or stored
    _own_state: tuple[str, ...] = ()
    _array_scorer: type[ArrayScorer] = ArrayScorer
    _learn: Callable[..., None]  #: sets ``rule_`` and the other fitted attributes from `TrainingData`

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in self._reads:
            setattr(tags.input_tags, kind, True)
        return tags

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model; an earlier fit is discarded.

        Parameters
        ----------
        X : array-like, frame, CSR matrix of shape (n_rows, n_columns), rows of `open_dataset`, Dask or Spark collection
            Numbers; float32, float64 and CSR are not copied. See `open_dataset` for rows in files.
        y : array-like of shape (n_rows,), default=None
            Class labels: strings, integers or booleans; for Dask and Spark frames also the name of a column. Datasets
            have their own.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies: weight 3 counts like three such rows.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group (patient, site) are held out together in tuning and calibration.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups=groups)

    def _fit(
        self,
        X: MatrixLike | AnyRows,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *more: Any,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit from scratch, or change nothing on an error; ``more`` is for `_learn`."""
        with all_or_nothing(self):
            data = self._rows_to_fit(X, y, sample_weight)
            if groups is not None:
                data = data.in_clusters(groups, "groups")
            with computable(data):
                self._learn(data, *more)
        return self

    @classmethod
    def from_formula(
        cls,
        formula: str,
        frame: Any,
        *,
        sample_weight: ArrayLike | None = None,
        missing: Literal["drop", "indicator", "refuse"] = "drop",
        **parameters: Any,
    ) -> Self:
        """Fit a model by a formula, such as ``"ill ~ age + sex * dose + bs(bmi, df=4)"``.

        The model predicts for frames like this one: it keeps the levels, knots and products.

        Parameters
        ----------
        formula : str
            The column of classes, ``~``, and terms as R writes them: columns, ``a:b``, ``a * b``, ``(a + b)**2``,
            ``- 1``, ``.``, `` `odd names` ``, ``C(a)``, ``C(a, Treatment("level"))``, ``C(a, Sum)``, ``bs``, ``ns``,
            ``cr``, ``poly``, ``I(a**2)``, ``log``, ``exp``, ``sqrt``, ``center``, ``scale``, ``offset(a)``. Needs the
            package formulaic.
        frame : frame, or what `open_table` opens
            The training table, with columns by name.
        sample_weight : str or array-like of shape (n_rows,), default=None
            Frequencies of the rows, or the name of their column.
        missing : {"drop", "indicator", "refuse"}, default="drop"
            Drop rows with missing values, as R does; or impute the mean and add an indicator; or raise an error. Only
            with "indicator" can rows with missing values be predicted.
        **parameters
            Parameters of the model.

        Returns
        -------
        The fitted model
            With the columns of the terms, ``encoder_`` (the coding of frames), ``basis_`` (splines and products) and
            ``formula_`` (the terms).

        See Also
        --------
        coefficient_table : The coefficients by term.

        References
        ----------
        Chambers, J. M. & Hastie, T. J., eds. (1992). Statistical Models in S.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from discriminant import LogisticRegression
        >>> frame = load_breast_cancer(as_frame=True).frame
        >>> model = LogisticRegression.from_formula("target ~ ns(`mean radius`, df=3) + `mean texture`", frame)
        >>> model.feature_names_in_.tolist()
        ['ns(mean radius, df=3)[1]', 'ns(mean radius, df=3)[2]', 'ns(mean radius, df=3)[3]', 'mean texture']
        >>> print(model.term_tests())
        Likelihood-ratio tests of terms, type II
        term                   chi-square  df         p
        ns(mean radius, df=3)       356.2   3  < 0.0001
        mean texture                38.55   1  < 0.0001
        """
        from ..formula import Formula, level_orders  # slow to load
        from ..tables import TableEncoder, open_table

        table, weights = open_table(frame), sample_weight if isinstance(sample_weight, str) else None
        read = Formula.parse(formula, table.columns, [weights])
        options: Any = {"missing": missing, "weights": weights, "rare": 1, "max_levels": np.iinfo(np.int32).max}
        training = read.training(table, **options)
        if sample_weight is not None and weights is None:
            whole = check_weights(sample_weight, len(training.y) + training.n_dropped)
            training = replace(training, weights=None if whole is None else whole[training.row_numbers])
        found = [finding for finding in training.findings if finding.kind != "duplicate rows"]  # no rows are held out
        warnings = [text for severity, text in finding_lines(found) if severity == "warning"]
        if warnings:
            warn(" ".join(warnings), DiscriminantWarning)
        if "classes_order" in cls._get_param_names() and parameters.get("classes_order") is None:
            parameters["classes_order"] = _order_of_target(frame, read.target, training.schema.target)
        model = fit_formula(cls(**parameters), read, training, level_orders(frame))
        model.encoder_ = TableEncoder.of_training(training)
        return model

    def _rows_to_fit(
        self, X: MatrixLike | AnyRows, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> TrainingData:
        """The training data of a new fit."""
        self._forget()
        self._check_parameters()
        rows = streamed_rows(X, y, sample_weight)
        if rows is None:
            return self._labelled(X, y, sample_weight)
        if self._takes_passes:
            return self._labelled(rows, None, None)
        whole = rows.gathered(Model(type(self).__name__))
        data = self._labelled(whole.rows, whole.classes[whole.codes], whole.weight).gather()
        return replace(data, offset=whole.offset, cluster=whole.cluster)

    @by_partition("score")
    def decision_function(self, X: MatrixLike) -> Array:
        """The score of each class; for two classes, the second's minus the first's.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows with the columns of the training data.

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) for two classes
        """
        rows = self._rows(X)
        out = self._scorer.scores(rows)
        if out.shape[1] != 2:
            return out
        with quiet_numbers():
            found = out[:, 1] - out[:, 0]
        if not np.isfinite(found).all() and np.isfinite(out[~np.isfinite(found)]).all(axis=1).any():
            raise InputError("Values of X are too large: differences of scores overflow. Rescale the columns.")
        return found

    @by_partition("prediction")
    def predict(self, X: MatrixLike) -> Array:
        """The class of the highest score of each row.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows to classify.

        Returns
        -------
        array of labels, of shape (n_rows,)
        """
        rows = self._rows(X)
        if self._last_wins:
            return self.classes_[(self.decision_function(X) >= 0).astype(np.intp)]
        return self._scorer.labels(rows)

    def scorer(self) -> ArrayScorer:
        """The predictions of the fitted model for deployment: arrays in, arrays out, nothing is checked.

        A row takes a few microseconds. Its methods are ``predict`` and ``decision_function``, and ``predict_proba`` for
        models with posterior probabilities; later fits of the model do not change it.

        Returns
        -------
        ArrayScorer
            For C-contiguous float arrays with the columns of the training data. Predictions for rows with NaN or
            infinity have no meaning.
        """
        self._ready()
        if hasattr(self, "encoder_") or hasattr(self, "basis_") or isinstance(self.rule_, MixedRule):
            raise NotReadyError(
                "scorer() needs a model of numeric columns; this one codes the columns of a table. Use predict() and "
                "predict_proba()."
            )
        return self._array_scorer(self.rule_, self.classes_, self._last_wins)

    @property
    def _scorer(self) -> Scorer:
        return Scorer(self.rule_, self.classes_, self.n_jobs)

    @property
    def _last_wins(self) -> bool:
        """Whether rows with equal scores get the second of two classes instead of the first."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in self._own_state:  # training rows
            state.pop(name, None)
        return state

    def _ready(self) -> None:
        """Raise an error unless the model can be used."""
        if "rule_" in vars(self):  # the rest takes longer than the scores of a row
            return
        check_is_fitted(self)
        if not hasattr(self, "rule_"):
            raise NotReadyError(f"{type(self).__name__} cannot predict yet: {self.not_ready_}")

    def _rows(self, X: MatrixLike | AnyRows) -> AnyRows:
        self._ready()
        return self._readable(self._as_fitted(X), first=False)

    def _readable(self, X: MatrixLike | AnyRows, first: bool) -> AnyRows:
        """``X`` as rows; the first fit records its columns, later calls compare them."""
        rows = X if is_streamed(X) else as_rows(X)
        self._check_columns(X, reset=first)
        return rows

    def _as_fitted(self, X: MatrixLike | AnyRows) -> Any:
        """Rows with the columns of the rule: ``encoder_`` codes raw columns, ``basis_`` expands coded ones."""
        encoder, basis = getattr(self, "encoder_", None), getattr(self, "basis_", None)
        if encoder is not None and not is_rows(X):
            frame, names = as_frame(X), encoder.feature_names_in_.tolist()
            if frame is not None and set(names) <= set(frame.columns):
                X = frame.select(names).to_native()
            X = encoder.rows(X)
        if basis is None or (is_rows(X) and X.names == tuple(self.feature_names_in_)):
            return X
        return self.formula_.expanded(basis, as_rows(X), self.feature_names_in_.tolist())

    def _check_columns(self, X: MatrixLike | AnyRows, reset: bool) -> None:
        names = X.names if is_rows(X) else None
        if names is not None and not reset and names == tuple(getattr(self, "feature_names_in_", ())):
            return
        if reset and (is_rows(X) or (type(X) is np.ndarray and X.ndim == 2)):
            # the same as validate_data, whose search for names takes as long as a small fit
            self.n_features_in_ = X.shape[1]
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        nameless = not reset and not hasattr(self, "feature_names_in_")
        if type(X) is np.ndarray and nameless and X.shape[1:] == (self.n_features_in_,):
            return  # validate_data takes longer than the scores of a row
        try:
            named = X if names is None else frame_of({name: [] for name in names})
            validate_data(self, named, "no_validation", reset=reset, skip_check_array=True)
        except TypeError as error:
            raise DtypeError(str(error)) from error
        except ValueError as error:
            known = "X[model.feature_names_in_]" if hasattr(self, "feature_names_in_") else "the training columns"
            raise ColumnError(f"{error}\nUse {known}, in this order.") from error

    def _check_parameters(self) -> None:
        """Raise a `ParameterError` for an invalid parameter."""

    def _labelled(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
        first: bool = True,
    ) -> TrainingData:
        declared = None if classes is None else sorted_classes(classes)
        if not first:
            if declared is not None and not np.array_equal(declared, self.classes_):
                raise LabelError(
                    f"classes changed between calls of partial_fit: from {self.classes_.tolist()} to "
                    f"{declared.tolist()}. Declare all classes in the first call."
                )
            declared = self.classes_
        data = training_data(self._readable(X if first else self._as_fitted(X), first), y, sample_weight, declared)
        self._accept(data.classes)
        return data if self.class_weight is None else _with_class_weights(data, self.class_weight)

    @property
    def _takes_passes(self) -> bool:
        """Whether the fit needs only statistics and a sample of the rows; otherwise rows must be in memory."""
        return False

    def _accept(self, classes: Array) -> None:
        """Set the classes of the training rows."""
        self._check_classes(classes)
        self.classes_ = classes

    def _check_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise LabelError(f"At least two classes are needed, got {classes.tolist()!r}.")

    def _forget(self) -> None:
        """Drop all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") or name in self._own_state]:
            delattr(self, name)

    def _columns(self, chosen: Sequence[int] | Array) -> str:
        """Names of columns for messages."""
        names = getattr(self, "feature_names_in_", None)
        listed = ", ".join(f"column {j if names is None else repr(names[j])}" for j in chosen[:5])
        return listed + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")


def _order_of_target(frame: Any, target: str, coded: Any) -> list[Any] | None:
    """The classes in the order that the column of a frame declares; None without any."""
    declared = declared_order(frame[target]) if as_frame(frame) is not None else None
    found = [class_written(label, coded.classes) for label in declared or ()]
    return [label for label in found if label in coded.classes] or None


def in_declared_order(model: BaseEstimator, order: Sequence[Any] | None, labels: Array, classes: Array) -> Any:
    """A copy of a model for rows with these ``labels``, some of the ``classes`` of a table, that may have an order.

    It has the declared order if it takes one and has none, without the classes of the table that these rows miss.
    """
    own = clone(model)
    given = getattr(own, "classes_order", None)
    order = order if given is None else given
    if not hasattr(own, "classes_order") or order is None or isinstance(order, str) or np.ndim(order) != 1:
        return own
    missing = set(classes.tolist()) - set(labels.tolist())
    if given is None:
        missing |= set(order) - set(classes.tolist())
    return own.set_params(classes_order=[label for label in map(plain, order) if label not in missing])


def with_names(model: BaseEstimator, values: MatrixLike, names: Sequence[str] | None = None) -> Any:
    """Numbers as rows with column names, by default those of the model."""
    if not isinstance(model, RuleClassifier) or not hasattr(model, "feature_names_in_"):
        return values
    return as_rows(values, model.feature_names_in_.tolist() if names is None else names)


class PosteriorClassifier(RuleClassifier):
    """A classifier whose scores are log-posteriors, up to a constant for each row."""

    _array_scorer = ArrayPosteriors

    @by_partition("probability")
    def predict_proba(self, X: MatrixLike) -> Array:
        """The posterior probability of each class, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._rows(X)
        return self._scorer.posterior(rows)

    @by_partition("log_probability")
    def predict_log_proba(self, X: MatrixLike) -> Array:
        """The logarithm of the posterior probability, also where the probability underflows to 0.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._rows(X)
        return self._scorer.posterior(rows, log=True)


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the estimator if an error is raised inside, with BLAS on one thread for reproducible results."""
    before = dict(vars(estimator))
    try:
        with one_blas_thread():
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _with_class_weights(data: TrainingData, given: Mapping[Any, float] | str | None) -> TrainingData:
    """The rows with their weights multiplied by those of their classes: "balanced", or by label."""
    if isinstance(given, str) and given == "balanced":
        weight = data.class_weights
        factors = weight.sum() / len(weight) / np.maximum(weight, np.finfo(float).tiny)
    elif isinstance(given, Mapping):
        factors = one_for_each_class("class_weight", given, data.classes, default=1.0)
        if not (np.isfinite(factors).all() and (factors > 0).all()):
            k = int(np.argmin(np.isfinite(factors) & (factors > 0)))
            wrong = f" must be positive, got {factors[k]:g} for class {shown(data.classes[k])}."
            raise ParameterError(Setting("class_weight"), wrong)
    else:
        wrong = f" must be None, 'balanced' or a dict mapping classes to weights, got {given!r}."
        raise ParameterError(Setting("class_weight"), wrong)
    return data.times(factors)


def refuse_many_classes(model: BaseEstimator, classes: Array, instead: str) -> None:
    """Refuse more than two classes, with the name of a model that supports them."""
    if len(classes) > 2:
        raise LabelError(
            f"Only binary classification is supported by {type(model).__name__}, got {len(classes)} classes. Use ",
            Model(instead), ".",
        )  # fmt: skip


def refuse_weightless(weight: Array, classes: Array) -> None:
    """Refuse classes with total weight 0."""
    if not weight.all():
        label = shown(classes[int(np.argmin(weight))])
        raise WeightError(f"The total weight of class {label} is zero. Leave the class out, or set its weights.")


def found_settings(model: BaseEstimator) -> dict[str, float]:
    """The tuned settings of a fit, one number each, and their held-out log-loss."""
    given, found = model.get_params(), dict[str, float]()
    for name in ("alpha", "pooling", "shrinkage", "temperature"):
        values = set(np.ravel(getattr(model, f"{name}_", [])).tolist())
        if len(values) == 1 and isinstance(given.get(name, "found"), str):
            found[name] = values.pop()
    return found | ({"tuning log-loss": model.loss_} if found and hasattr(model, "loss_") else {})


def by_class_or_difference(rule: LinearRule) -> tuple[Array, Array]:
    """Coefficients and intercepts in the form of scikit-learn: one row for two classes, the second minus the first."""
    if len(rule.coef) > 2:
        return rule.coef, rule.intercept
    return np.diff(rule.coef, axis=0), np.diff(rule.intercept)


def fit_in_groups(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike, groups: ArrayLike | None, sample_weight: ArrayLike | None = None
) -> Any:
    """Fit a model; rows of a group are held out together if it tunes itself.

    Models whose ``fit`` has no ``groups``, such as those of other packages, are fitted without them.

    Parameters
    ----------
    model : classifier
        Model to fit.
    X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
        Training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    groups : array-like of shape (n_rows,)
        Group of each row, such as the patient.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies of the rows.

    Returns
    -------
    classifier
        The model.
    """
    given: dict[str, ArrayLike | None] = {} if sample_weight is None else {"sample_weight": sample_weight}
    if has_fit_parameter(model, "groups"):
        given["groups"] = groups
    return model.fit(X, y, **given)
