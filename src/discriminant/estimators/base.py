"""What every classifier shares, and what moment classifiers do: one pass to fit, exact streaming, scores to labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import metadata_routing as routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from ..arrays import Array
from ..data import (
    LabelledRows,
    Rows,
    Source,
    as_frame,
    as_rows,
    check_choice,
    check_weights,
    dense_rows,
    is_collection,
    labelled_rows,
    sorted_classes,
)
from ..decision.posteriors import check_priors, one_for_each_class
from ..engine import one_blas_thread, quiet_numbers, reduce
from ..errors import (
    AliasWarning,
    CollinearityWarning,
    ColumnError,
    DegenerateDataError,
    DiscriminantError,
    DiscriminantWarning,
    DtypeError,
    InputError,
    LabelError,
    Model,
    NotReadyError,
    ParameterError,
    Part,
    Setting,
    WeightError,
    warn,
)
from ..folds import group_folds
from ..moments.covariance import Covariance
from ..moments.statistic import ClassMoments, FoldMoments, Needs, combined_needs, merged, narrowed
from ..results import frame_of, notes, shown
from ..rules import LinearRule, Scorer
from .calibration import Calibration

if TYPE_CHECKING:
    from ..formula import Formula
    from ..tables import TrainingTable

#: The squares of squares of larger values, and of the inverses of smaller ones, are no numbers any more.
_LARGE = 1e75
#: A standard deviation below this share of the values' own size is their rounding, not variation.
_CONSTANT = 8 * float(np.finfo(np.float64).eps)
#: Folds of the cross-validation that calibrates.
_CALIBRATION_FOLDS = 5
CALIBRATIONS = (None, "sigmoid", "isotonic")


@dataclass(frozen=True)
class _Asked:
    """A method of a fitted model, as it is sent to whoever holds rows."""

    model: Any
    method: str

    def __call__(self, rows: Any) -> Array:
        return np.asarray(getattr(self.model, self.method)(rows))


def by_partition(answer: str) -> Callable[[Callable[..., Array]], Callable[..., Any]]:
    """A method that says something of each row, also of rows in Dask and Spark collections.

    Of these it is asked where they lie, and its answers are a collection of the same kind, computed when needed; in
    frames they are called ``answer``, with the class where there is one for each.
    """

    def decorated(method: Callable[..., Array]) -> Callable[..., Any]:
        @wraps(method)
        def asked(self: Any, X: Any) -> Any:
            if not is_collection(X):
                return method(self, X)
            from ..partitions.frames import Asking

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
            return Asking(_Asked(alone, method.__name__), known, names, dtype).answers_to(X)

        return asked

    return decorated


class RuleClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that scores rows by ``rule_``."""

    classes_: Array
    rule_: Any  #: a `Rule`
    class_weight: Any = None
    n_jobs: int | None
    #: what scikit-learn is told of its input
    _reads: tuple[str, ...] = ("sparse",)
    #: private attributes that belong to a fit
    _own_state: tuple[str, ...] = ()
    _learn: Callable[..., None]  #: sets ``rule_`` and the other fitted attributes, from `LabelledRows`

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in self._reads:
            setattr(tags.input_tags, kind, True)
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the model, from nothing; what was fitted before is forgotten.

        Parameters
        ----------
        X : array-like, frame, CSR matrix of shape (n_rows, n_columns), rows of `open_dataset`, Dask or Spark collection
            Numbers; float32, float64 and CSR are read where they stand. See `open_dataset` for rows in files.
        y : array-like of shape (n_rows,), default=None
            Class labels: strings, integers or booleans. A dataset has its own; those of Dask and Spark frames may be
            the name of a column.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies: weight 3 counts like three such rows.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group (patient, site) are held out together where the model tunes or calibrates itself.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups=groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *more: Any, groups: Any = None) -> Self:
        """Learn from nothing, or stay as before; ``more`` is for `_learn`."""
        with all_or_nothing(self):
            data = self._rows_to_fit(X, y, sample_weight)
            if groups is not None:
                if not isinstance(data, LabelledRows):
                    raise ParameterError(Setting("groups"), " is for rows in memory: leave it out, or read the rows.")
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
        sample_weight: Any = None,
        missing: Literal["drop", "indicator", "refuse"] = "drop",
        **parameters: Any,
    ) -> Self:
        """Fit a model to a table by a formula, such as ``"ill ~ age + sex * dose + bs(bmi, df=4)"``.

        The model then takes frames like this one, with text and all: it keeps levels, knots and products.

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
            Frequencies of the rows, or the column that has them.
        missing : {"drop", "indicator", "refuse"}, default="drop"
            Leave out rows with missing values, as R does; or mark them, and put the mean in their place; or refuse
            them. Rows to be classified must not have any, unless they are marked.
        **parameters
            Of the model.

        Returns
        -------
        The fitted model
            Its columns are those of the terms. It keeps ``encoder_``, which codes frames, ``basis_``, which makes
            splines and products of coded columns, and ``formula_``, the names of the terms.

        See Also
        --------
        coefficient_table : The coefficients by the names of the terms.

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
        from ..formula import Formula, level_orders  # tables take as long to load as all models
        from ..tables import TableEncoder, open_table

        table, weights = open_table(frame), sample_weight if isinstance(sample_weight, str) else None
        read = Formula.parse(formula, table.columns, [weights])
        options: Any = {"missing": missing, "weights": weights, "rare": 1, "max_levels": np.iinfo(np.int32).max}
        training = read.training(table, **options)
        if sample_weight is not None and weights is None:
            whole = check_weights(sample_weight, len(training.y) + training.n_dropped)
            training = replace(training, weights=None if whole is None else whole[training.row_numbers])
        found = [finding for finding in training.findings if finding.kind != "copies"]  # no row is held out here
        told = [text for severity, text in notes(found) if severity == "warning"]
        if told:
            warn(" ".join(told), DiscriminantWarning)
        model = fit_formula(cls(**parameters), read, training, level_orders(frame))
        model.encoder_ = TableEncoder.of_training(training)
        return model

    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
        """The rows of a fit that begins anew."""
        self._forget()
        self._check_parameters()
        if is_collection(X):
            from ..partitions.frames import as_source

            X, y, sample_weight = as_source(X, y, sample_weight), None, None
        if not isinstance(X, Source) or self._takes_passes:
            return self._labelled(X, y, sample_weight)
        whole = X.gathered(Model(type(self).__name__))
        data = self._labelled(whole.rows, whole.classes[whole.codes], whole.weight)
        return replace(data, offset=whole.offset, cluster=whole.cluster)

    @by_partition("score")
    def decision_function(self, X: Any) -> Array:
        """The score of each class; for two classes, the second's minus the first's.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows to score, with the columns of the training rows.

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
            raise InputError("X has values too large to score: differences of scores overflow. Use larger units.")
        return found

    @by_partition("prediction")
    def predict(self, X: Any) -> Array:
        """The class of the highest score of each row.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows as `fit` takes them.

        Returns
        -------
        array of labels, of shape (n_rows,)
        """
        rows = self._rows(X)
        if self._last_wins:
            return self.classes_[(self.decision_function(X) >= 0).astype(np.intp)]
        return self._scorer.labels(rows)

    @property
    def _scorer(self) -> Scorer:
        return Scorer(self.rule_, self.classes_, self.n_jobs)

    @property
    def _last_wins(self) -> bool:
        """Whether the second of two classes has the rows with equal scores; otherwise the first has."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in self._own_state:  # the rows are the caller's; a stored model does not carry them
            state.pop(name, None)
        return state

    def _ready(self) -> None:
        """Raise an error unless the model can be used."""
        check_is_fitted(self)
        if not hasattr(self, "rule_"):
            raise NotReadyError(f"{type(self).__name__} cannot predict yet: {self.not_ready_}")

    def _rows(self, X: Any) -> Rows:
        self._ready()
        return self._readable(self._as_fitted(X), first=False)

    def _readable(self, X: Any, first: bool) -> Rows:
        """``X`` as rows; the first time its columns are noted, later they are compared."""
        rows = as_rows(X)
        self._check_columns(X, reset=first)
        return rows

    def _as_fitted(self, X: Any) -> Any:
        """Rows of the columns that the rule takes: ``encoder_`` codes what is raw, ``basis_`` expands what is coded."""
        encoder, basis = getattr(self, "encoder_", None), getattr(self, "basis_", None)
        if encoder is not None and not isinstance(X, Rows):
            frame, names = as_frame(X), encoder.feature_names_in_.tolist()
            if frame is not None and set(names) <= set(frame.columns):
                X = frame.select(names).to_native()
            X = encoder.rows(X)
        if basis is None or (isinstance(X, Rows) and X.names == tuple(self.feature_names_in_)):
            return X
        return self.formula_.expanded(basis, as_rows(X), self.feature_names_in_.tolist())

    def _check_columns(self, X: Any, reset: bool) -> None:
        names = X.names if isinstance(X, Rows) else None
        if names is not None and not reset and names == tuple(getattr(self, "feature_names_in_", ())):
            return
        if reset and (isinstance(X, Rows) or (type(X) is np.ndarray and X.ndim == 2)):
            # what scikit-learn would do, but looking for names takes it as long as a small fit
            self.n_features_in_ = X.shape[1]
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        try:
            named = X if names is None else frame_of({name: [] for name in names})
            validate_data(self, named, "no_validation", reset=reset, skip_check_array=True)
        except TypeError as error:
            raise DtypeError(str(error)) from error
        except ValueError as error:
            raise ColumnError(
                f"{error}\nGive the columns this model was fitted with, in their order"
                + (": X[model.feature_names_in_]." if hasattr(self, "feature_names_in_") else ".")
            ) from error

    def _check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that cannot be."""

    def _labelled(self, X: Any, y: Any, sample_weight: Any, classes: Any = None, first: bool = True) -> LabelledRows:
        declared = None if classes is None else sorted_classes(classes)
        if not first:
            if declared is not None and not np.array_equal(declared, self.classes_):
                raise LabelError(
                    f"classes= changed between calls of partial_fit: {self.classes_.tolist()} at first, "
                    f"{declared.tolist()} now. Declare every class in the first call, or start anew with fit."
                )
            declared = self.classes_
        data = labelled_rows(self._readable(X if first else self._as_fitted(X), first), y, sample_weight, declared)
        self._accept(data)
        return data if self.class_weight is None else _with_class_weights(data, self.class_weight)

    @property
    def _takes_passes(self) -> bool:
        """Whether a fit asks for statistics of all rows and a sample of them alone; otherwise they must be at hand."""
        return False

    def _accept(self, data: LabelledRows) -> None:
        """Take over the classes of rows that are about to be learned from."""
        self._check_classes(data.classes)
        self.classes_ = data.classes

    def _check_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise LabelError(f"A classifier needs at least two classes, got only {classes.tolist()!r}.")

    def _forget(self) -> None:
        """Drop all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") or name in self._own_state]:
            delattr(self, name)

    def _columns(self, chosen: Any) -> str:
        """How a message calls these columns."""
        names = getattr(self, "feature_names_in_", None)
        listed = ", ".join(f"column {j if names is None else repr(names[j])}" for j in chosen[:5])
        return listed + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")


def fit_formula(
    model: Any, formula: Formula, training: TrainingTable, orders: Mapping[str, Sequence[str]] | None = None
) -> Any:
    """The model, fitted to a training table by a formula; ``orders`` has the levels of columns with an own order."""
    if not formula.intercept:
        if "fit_intercept" not in model.get_params(deep=False):
            without = f"{type(model).__name__} always has an intercept: leave - 1 and + 0 out."
            raise ParameterError(Setting("formula"), ": ", without)
        model.set_params(fit_intercept=False)
    formula = replace(formula, intercept=getattr(model, "fit_intercept", True))
    basis, names, terms = formula.design(training.schema, training.X, training.weights, orders)
    rows = terms.expanded(basis, training.rows, names)
    weights = {} if training.weights is None else {"sample_weight": training.weights}
    if formula.offsets:
        _fit_with_offsets(model, rows, len(formula.offsets), training.y, weights)
    else:
        model.fit(rows, training.y, **weights)
    model.basis_, model.formula_ = basis, terms
    if "_design" in getattr(model, "_own_state", ()):
        known = {"schema": training.schema, "X": training.X, "weight": training.weights, "orders": orders}
        model._design = partial(formula.design, **known)
    return model


def _fit_with_offsets(model: Any, rows: Rows, n_offsets: int, y: Any, weights: dict[str, Any]) -> None:
    """Fit a model to all columns but the last, which are known parts of the score; its rule then adds them up."""
    if "offset" not in inspect.signature(model.fit).parameters:
        without = f"{type(model).__name__} takes no offset: leave offset() out, or use "
        raise ParameterError(Setting("formula"), ": ", without, Model("LogisticRegression"), ".")
    values, names = dense_rows(rows.block(0, rows.n_rows)), list(rows.names or ())
    if len(np.unique(y)) > 2:
        no_effect = ": offset() is for two classes: added to the scores of all classes, it changes nothing."
        raise ParameterError(Setting("formula"), no_effect)
    own = as_rows(np.ascontiguousarray(values[:, :-n_offsets]), names[:-n_offsets])
    model.fit(own, y, offset=values[:, -n_offsets:].sum(axis=1), **weights)
    rule = model.rule_
    known = np.repeat([[0.0], [1.0]], n_offsets, axis=1)
    model.rule_ = replace(
        rule, centre=np.pad(rule.centre, (0, n_offsets)), coef=np.ascontiguousarray(np.hstack((rule.coef, known)))
    )
    model.coef_ = np.hstack((model.coef_, known[1:]))
    model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)


def n_offset_columns(model: Any) -> int:
    """How many of the last columns of a model are offsets of its formula, whose coefficient is 1."""
    return len(model.formula_.offsets) if hasattr(model, "formula_") else 0


def input_names(model: Any) -> list[str] | None:
    """The names of the coded columns that a classifier of this package takes, if it knows them."""
    if hasattr(model, "formula_"):
        return list(model.formula_.inputs)
    return model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None


def with_names(model: Any, values: Any, names: Sequence[str] | None = None) -> Any:
    """Numbers as rows with names, by default of the columns that a classifier of this package has coefficients of."""
    if not isinstance(model, RuleClassifier) or not hasattr(model, "feature_names_in_"):
        return values
    return as_rows(values, model.feature_names_in_.tolist() if names is None else names)


class PosteriorClassifier(RuleClassifier):
    """A classifier whose scores are log-densities plus log-priors, up to a constant for each row."""

    @by_partition("probability")
    def predict_proba(self, X: Any) -> Array:
        """The posterior probability of each class, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, n_classes), whose rows add up to 1
        """
        rows = self._rows(X)
        return self._scorer.posterior(rows)

    @by_partition("log_probability")
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the posterior probability, exact where the probability itself would round to 0.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows, as in `predict_proba`.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._rows(X)
        return self._scorer.posterior(rows, log=True)


def _calibrated(model: Any) -> bool:
    if model.calibration is None:
        raise AttributeError(
            f"{type(model).__name__} gives margins, not probabilities. Set calibration='sigmoid' (or 'isotonic') to "
            "have them turned into probabilities by cross-validation."
        )
    return True


class CalibratedMixin:
    """Probabilities for a classifier whose scores are none: learned from held-out rows, if ``calibration`` says so.

    The classifier calls `_calibrate` at the end of its fit. Its predictions stay those of its scores.
    """

    calibration: Literal["sigmoid", "isotonic"] | None
    class_weight: Any
    classes_: Array
    _rows: Callable[[Any], Any]

    @available_if(_calibrated)
    @by_partition("probability")
    def predict_proba(self, X: Any) -> Array:
        """Calibrated probabilities of the classes, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows, as many columns as in fit.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._rows(X)
        if not hasattr(self, "calibrated_"):
            raise NotReadyError(
                Setting("calibration", self.calibration), " was set after the fit, which learned none. Fit again."
            )
        return self.calibrated_.predict_proba(rows)

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        check_choice("calibration", self.calibration, CALIBRATIONS)

    @property
    def _reads_class_moments(self) -> bool:
        return self.calibration is None and self.class_weight is None

    def _calibrate(self, data: LabelledRows) -> None:
        """Learn the probabilities from these rows, those that the classifier was fitted to."""
        if self.calibration is None:
            return
        if data.weight is not None and not data.weight.all():  # a row of weight 0 is no row
            data = data.take(np.flatnonzero(data.weight))
        counts = np.bincount(data.codes)
        if counts.min() < 2:
            label = shown(self.classes_[int(np.argmin(counts))])
            raise DegenerateDataError(
                f"Calibration holds out rows of every class in turn, and class {label} has only one. Leave the class "
                "out, or set ",
                Setting("calibration", None),
                ".",
            )
        # The weights of the classes are in those of the rows by now.
        plain = copy(self)
        plain.calibration = plain.class_weight = None
        plain.__dict__.pop("calibrated_", None)
        self.calibrated_ = Calibration.learned(
            plain, self.calibration, min(_CALIBRATION_FOLDS, int(counts.min())), data
        )


class MetaClassifierMixin(MetaEstimatorMixin):
    """A classifier that hands what its ``fit`` is given on to the classifier it wraps, by scikit-learn's routing."""

    __metadata_request__fit: ClassVar = {
        "sample_weight": routing.UNUSED
    }  # not for itself: the wrapped classifier requests it
    __metadata_request__partial_fit: ClassVar = {"sample_weight": routing.UNUSED}
    estimator: Any

    def get_metadata_routing(self) -> routing.MetadataRouter:
        """What is handed on to which method, see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        methods = (
            routing.MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        )
        return routing.MetadataRouter(owner=self).add(estimator=self._routed_to(), method_mapping=methods)

    def _routed_to(self) -> Any:
        """The classifier that is given the metadata."""
        return self.estimator

    def _routed(self, method: str, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """What the wrapped classifier is given: what it requests, or the weights where routing is not enabled."""
        given = params if sample_weight is None else {**params, "sample_weight": sample_weight}
        if routing._routing_enabled():
            return dict(routing.process_routing(self, method, **given).estimator[method])
        routing._raise_for_params(params, self, method)
        if given and not has_fit_parameter(self.estimator, "sample_weight"):
            raise WeightError(f"{type(self.estimator).__name__} does not take sample_weight: leave the weights out.")
        return given


def can_stream(model: Any) -> bool:
    """Whether a model can go on from where it stands; an error where a parameter needs all rows at once."""
    parameter, value, does, instead = model._needs_all_rows or ("", None, "", "")
    if parameter and getattr(model, parameter) == value:
        reason = f"{parameter}={value!r} {does}, and partial_fit keeps none of them."
        raise AttributeError(f"{reason} Use {instead}, or fit.")
    return True


class StreamingMixin:
    """`partial_fit` for a classifier that can go on learning from where it stands."""

    not_ready_: str
    class_weight: Any
    _check_parameters: Callable[[], None]
    _labelled: Callable[..., LabelledRows]
    _stream_state: ClassVar[str]  #: the fitted attribute that learning goes on from
    #: A parameter and the value of it that needs all rows, what it does with them, and what to use instead.
    _needs_all_rows: ClassVar[tuple[str, str, str, str] | None] = None
    _learn_more: Callable[[LabelledRows, bool], None]  #: learns from these rows after those before, or the first ones

    @available_if(can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from more rows, as the description of the class says.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            More rows, with the same columns every time.
        y : array-like of shape (n_rows,)
            Their labels.
        classes : array-like, default=None
            All classes that will ever come, in the first call. Without it they are those of the first ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies, as in `fit`.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._check_parameters()
            if isinstance(self.class_weight, str) and self.class_weight == "balanced":
                balanced = Setting("class_weight", "balanced")
                raise ParameterError(balanced, " needs all rows at once. Give a dict from class to weight, or use fit.")
            first = not hasattr(self, self._stream_state)
            data = self._labelled(X, y, sample_weight, classes, first)
            with computable(data):
                self._learn_more(data, first)
        return self


class MomentClassifier(StreamingMixin, RuleClassifier):
    """A classifier that is read from class moments, in one pass over the rows.

    A subclass says what it needs (`_needs`) and how it is read (`_read`); fitting, streaming and merging follow: after
    `partial_fit`, the model is that of one `fit` on all rows so far.
    """

    moments_: Any
    _stream_state = "moments_"
    _needs: Callable[[], Needs]  #: what has to be summed up to read this model
    _read: Callable[[Reading], None]  #: sets ``rule_`` and the other fitted attributes from the moments
    _lasting: tuple[str, ...] = (
        "classes_", "n_features_in_", "feature_names_in_", "moments_", "encoder_", "basis_", "formula_"
    )  # fmt: skip

    @property
    def _reads_class_moments(self) -> bool:
        """Whether a fit is read from class moments alone: not, where columns need statistics of their own."""
        return True

    @property
    def _takes_passes(self) -> bool:
        return True

    def _learn(self, data: LabelledRows) -> None:
        self._adopt(self._pass_over(data))
        self._refine(data)

    def _learn_more(self, data: LabelledRows, first: bool) -> None:
        moments = self._pass_over(data, 0 if first else self.moments_.n_rows)
        if not first:
            moments = merged(self.moments_, moments)
        self._forget_rule()
        self.moments_ = moments
        try:
            self._read_present(whole_of(moments))
        except DegenerateDataError as error:  # more rows are needed to read the model
            self._forget_rule()
            self.not_ready_ = str(error)

    def _refine(self, data: LabelledRows) -> None:
        """Look at the rows once more, for what moments do not tell."""

    def _pass_over(self, data: LabelledRows, first_row: int = 0) -> Any:
        n_folds = self._needs().folds
        if n_folds and isinstance(data, LabelledRows) and data.cluster is not None:
            fold = group_folds(data.codes, data.cluster, n_folds)
            return moments_in_folds(data, self._needs(), fold, n_folds, data.n_rows, self.n_jobs)
        return collected(data, self._statistic(data, first_row), self.n_jobs)

    def _statistic(self, data: LabelledRows, first_row: int) -> Any:
        return self._needs().statistic(data.n_rows, len(data.classes), data.rows.n_columns, first_row)

    def _adopt(self, moments: Any) -> None:
        """Keep the moments and read the model from them."""
        whole = whole_of(moments)
        refuse_weightless(whole.weight, self.classes_)
        self.moments_ = moments
        self._read_present(whole)

    def _read_present(self, whole: ClassMoments) -> None:
        """Read the model of the classes seen so far; the others cannot win yet."""
        present = whole.present
        if np.count_nonzero(present) < 2:
            seen = self.classes_[present].tolist()
            raise DegenerateDataError(f"only the class {seen} has been seen so far; at least two are needed.")
        given = getattr(self, "priors", None)
        shares = whole.weight / whole.weight.sum()
        self.priors_ = shares if given is None else check_priors(given, self.classes_)
        self.means_ = np.where(present[:, None], whole.mean, np.nan)
        classes, priors = self.classes_[present], self.priors_[present]
        self._read(Reading(whole.only_present(), self.moments_, present, classes, priors))
        self.rule_ = self.rule_.spread_over(present)
        if isinstance(self.rule_, LinearRule):
            self.coef_, self.intercept_ = by_class_or_difference(self.rule_)

    def _forget_rule(self) -> None:
        """Drop what was read from the moments, keep what goes on with them."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in self._lasting]:
            delattr(self, name)

    def _refuse_constant(self, constant: Array, where: str, *remedy: Part) -> None:
        if constant.size:
            raise DegenerateDataError(f"Constant {where}: {self._columns(constant)}. ", *remedy)

    def _invertible(self, reading: Reading, divisor: float) -> Covariance:
        """The covariance within classes for a model that has to invert it.

        A column that does not vary at all is refused. One that varies between classes only is left out, with a
        warning: it has no spread within classes to be measured against.
        """
        moments, within = reading.moments, reading.moments.within()
        constant = constant_columns(within.diagonal() / divisor, moments.mean)
        if constant.size:
            means = moments.mean[:, constant]
            everywhere = np.ptp(means, axis=0) <= _CONSTANT * np.abs(means).max(axis=0)
            self._refuse_constant(constant[everywhere], "over all rows", "It tells the classes nothing: remove it.")
            warn(
                f"Constant within every class, and left out: {self._columns(constant)}. It tells classes apart by "
                "itself, but cannot be weighed against the others. Check whether it leaks the label; shrinkage makes "
                "use of it.",
                CollinearityWarning,
            )
            within = within.without(constant)
        covariance = within.covariance(divisor)
        if covariance.rank == 0:
            raise DegenerateDataError("No column varies within the classes: there is no covariance to estimate.")
        self._warn_if_aliased([j for j in covariance.aliased if j not in constant])
        return covariance

    def _warn_if_aliased(self, aliased: Sequence[int]) -> None:
        """Name the columns that add nothing, because they are linear functions of others within the classes."""
        if aliased:
            warn(
                f"Within the classes, {self._columns(aliased)} can be computed from the columns before: the model "
                "uses only what they have in common. Remove them to read single coefficients.",
                AliasWarning,
            )


@dataclass(frozen=True)
class Reading:
    """What a model is read from: the classes seen so far, with their moments and priors."""

    moments: ClassMoments
    collected: Any  #: the same in folds, where the model asked for them
    present: Array
    classes: Array
    priors: Array

    @property
    def log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.priors)

    def spread(self, values: Array) -> Array:
        """One value for each class of the model, NaN for those not seen yet."""
        out = np.full((len(self.present), *values.shape[1:]), np.nan)
        out[self.present] = values
        return out


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if anything goes wrong inside; nothing depends on the threads of BLAS there."""
    before = dict(vars(estimator))
    try:
        with one_blas_thread():
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _with_class_weights(data: LabelledRows, given: Any) -> LabelledRows:
    """The rows with their weights multiplied by those of their classes: "balanced", or by label."""
    if isinstance(given, str) and given == "balanced":
        weight = data.class_weights
        factors = weight.sum() / len(weight) / np.maximum(weight, np.finfo(float).tiny)
    elif isinstance(given, Mapping):
        factors = one_for_each_class("class_weight", given, data.classes, default=1.0)
        if not (np.isfinite(factors).all() and (factors > 0).all()):
            k = int(np.argmin(np.isfinite(factors) & (factors > 0)))
            raise ParameterError(
                Setting("class_weight"), f" must be positive: class {shown(data.classes[k])} has {factors[k]:g}."
            )
    else:
        raise ParameterError(
            Setting("class_weight"), f" must be None, 'balanced' or a dict from class to weight, got {given!r}."
        )
    return data.times(factors)


def refuse_many_classes(model: Any, classes: Array, instead: str) -> None:
    """Refuse more than two classes for a model of two, with the name of one that takes them."""
    if len(classes) > 2:
        raise LabelError(
            f"Only binary classification is supported. {type(model).__name__} separates two classes, got "
            f"{len(classes)}: {classes[:5].tolist()}. Use ", Model(instead), " for more.",
        )  # fmt: skip


def refuse_weightless(weight: Array, classes: Array) -> None:
    """Refuse classes all of whose rows have weight 0."""
    if not weight.all():
        label = shown(classes[int(np.argmin(weight))])
        raise WeightError(f"All rows of class {label} have weight zero. Leave them out, or give them weight.")


@contextmanager
def computable(data: LabelledRows) -> Iterator[None]:
    """Blame what is wrong with the rows and their weights, if anything is, for what fails inside.

    What overflows fails, and is told by its column: NumPy's warnings on the way there say nothing more.
    """
    try:
        with quiet_numbers():
            yield
    except (ValueError, ArithmeticError) as error:
        data.rows.refuse_nonfinite()
        if isinstance(error, DiscriminantError):
            raise
        told = extreme_values(data)
        if told is not None:
            raise told from error
        if isinstance(error, (np.linalg.LinAlgError, ArithmeticError)):
            raise DegenerateDataError(
                f"This model cannot be computed from these rows ({error}). Bring the columns to like units, and remove "
                "columns that say nearly the same."
            ) from error
        raise


def extreme_values(data: LabelledRows) -> InputError | None:
    """The error that names values or weights too large or too small to be multiplied, if there are any."""
    largest, least, most = data.rows.largest_values(), data.least_weight, data.largest_weight
    j, faint = int(np.argmax(largest)), np.flatnonzero((largest > 0) & (largest < 1 / _LARGE))
    if largest[j] > _LARGE:
        label = data.rows.number_label(j)
        return InputError(
            f"Values of {label} are too large, up to {largest[j]:.1g}: they overflow when multiplied. Use larger units "
            "(divide it)."
        )
    if most > _LARGE or least < 1 / _LARGE:
        return WeightError(
            f"Weights from {least:.1g} to {most:.1g} are too far from 1 to be multiplied. "
            "They are read as row counts: scale them so that they sum to the number of rows."
        )
    if faint.size:
        label = data.rows.number_label(int(faint[0]))
        return InputError(
            f"Values of {label} are too small, at most {largest[faint[0]]:.1g}: they vanish when multiplied. Use "
            "smaller units (multiply it)."
        )
    return None


def check_finite(result: Any, data: LabelledRows) -> None:
    """Blame the rows for a result that is not finite: NaN and infinity in them, or values that are too large."""
    if not np.isfinite(result).all():
        data.rows.refuse_nonfinite()
        raise InputError("X has values too large to score: they overflow when multiplied. Use larger units.")


def whole_of(moments: Any) -> ClassMoments:
    """The moments of all rows, whether they were collected in folds or not."""
    return moments.whole() if isinstance(moments, FoldMoments) else moments


def collected(data: LabelledRows, statistic: Any, n_jobs: int | None) -> Any:
    """The statistic of all rows; refuses NaN, infinity, and values whose squares overflow."""
    total = reduce(data, statistic, n_jobs)
    with np.errstate(invalid="ignore", over="ignore"):
        moments = whole_of(total)
        if moments.finite():
            if (moments.column_scatter() == 0).any() and (told := extreme_values(data)) is not None:
                raise told  # what does not vary may only seem not to
            return total
    data.rows.refuse_nonfinite()
    raise extreme_values(data) or InputError("X has values too large: sums of their powers overflow. Use larger units.")


#: Moments of all folds together may take this many numbers (256 MB); beyond, training parts are passed over one by one.
MOST_NUMBERS_OF_FOLDS = 1 << 25


def moments_in_folds(
    data: LabelledRows, needs: Needs, fold: Array, n_folds: int, fewest_rows: int, n_jobs: int | None
) -> FoldMoments:
    """The moments of the rows of each fold, in one pass over all rows, for models of no fewer rows than these."""
    n_classes = len(data.classes)
    empty = replace(needs, folds=n_folds).statistic(fewest_rows, n_classes, data.rows.n_columns)
    codes = fold.astype(np.int32) * np.int32(n_classes) + data.codes
    return FoldMoments(collected(replace(data, codes=codes), empty.cells, n_jobs), n_folds)


def constant_columns(variance: Array, means: Array) -> Array:
    """Columns whose variance is 0 or nothing but the rounding of their values."""
    return np.flatnonzero(np.sqrt(variance) <= _CONSTANT * np.abs(means).max(axis=0))


def found_settings(model: Any) -> dict[str, float]:
    """The settings that a fit found itself, one number each, and the log-loss of the held-out rows that chose them."""
    given, found = model.get_params(), dict[str, float]()
    for name in ("alpha", "pooling", "shrinkage", "temperature"):
        values = set(np.ravel(getattr(model, f"{name}_", [])).tolist())
        if len(values) == 1 and isinstance(given.get(name, "found"), str):
            found[name] = values.pop()
    return found | ({"tuning log-loss": model.loss_} if found and hasattr(model, "loss_") else {})


def by_class_or_difference(rule: LinearRule) -> tuple[Array, Array]:
    """Coefficients and intercepts as scikit-learn has them: one row for two classes, the second minus the first."""
    if len(rule.coef) > 2:
        return rule.coef, rule.intercept
    return np.diff(rule.coef, axis=0), np.diff(rule.intercept)


def fit_in_groups(model: Any, X: Any, y: Any, groups: Any, sample_weight: Any = None) -> Any:
    """Fit a model; where it holds rows out to choose its own settings, the rows of a group are held out together.

    Models whose ``fit`` does not take groups, such as those of other packages, are fitted without them.

    Parameters
    ----------
    model : classifier
        What was fitted before is forgotten.
    X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
        Training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    groups : array-like of shape (n_rows,)
        The group of each row, such as the patient or the training area.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.

    Returns
    -------
    classifier
        The model itself.
    """
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    if has_fit_parameter(model, "groups"):
        given["groups"] = groups
    return model.fit(X, y, **given)


def fit_all(models: Iterable[M], X: Any, y: Any, sample_weight: Any = None, n_jobs: int | None = None) -> list[M]:
    """Fit several moment models in one pass over the rows; each ends as its own ``fit`` would leave it.

    Parameters
    ----------
    models : iterable or dict of estimators
        Discriminant analyses, naive Bayes and others that are read from class moments.
    X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
        Training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    n_jobs : int, optional
        Threads of the pass: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    list of the same estimators, fitted

    See Also
    --------
    compare : Cross-validates such models, also with one pass over the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> [model.score(X, y) for model in fit_all([LinearDiscriminantAnalysis(), GaussianNB()], X, y)]
    [0.98, 0.96]
    """
    chosen = list(models.values()) if isinstance(models, Mapping) else list(models)
    if not chosen:
        raise ParameterError("fit_all needs at least one model.")
    for model in chosen:
        if not isinstance(model, MomentClassifier) or not model._reads_class_moments:
            raise ParameterError(
                f"{type(model).__name__} is not read from class moments and cannot share a pass. Fit it on its own."
            )
    with ExitStack() as stack:
        for model in chosen:
            stack.enter_context(all_or_nothing(model))
            model._forget()
            model._check_parameters()
        data = chosen[0]._labelled(X, y, sample_weight)
        for model in chosen[1:]:
            model._check_columns(X, reset=True)
            model._accept(data)
        needs = combined_needs(model._needs() for model in chosen)
        moments = collected(data, needs.statistic(data.n_rows, len(data.classes), data.rows.n_columns), n_jobs)
        with computable(data):
            for model in chosen:
                model._adopt(narrowed(moments, model._needs()))
                model._refine(data)
    return chosen


M = TypeVar("M", bound=MomentClassifier)
