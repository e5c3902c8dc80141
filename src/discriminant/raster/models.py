"""Classifiers of images: models by name, the codes they give to pixels, and their accuracy on held-out areas.

Neighbouring pixels resemble each other, so a model is validated on whole held-out areas, not on single pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..arrays import Array, Classifier, MatrixLike, RandomState
from ..data import as_rows, check_number, encode_labels, label_array
from ..decision.posteriors import posterior
from ..decision.rules import ABSTAIN, Decision
from ..engine import in_order
from ..errors import LabelError, ParameterError, Setting
from ..estimators.base import PosteriorClassifier, RuleClassifier, fit_in_groups
from ..estimators.registry import known_name, new_model
from ..estimators.regularised import RegularizedDiscriminantAnalysis
from ..kernels import pixels as kernels
from ..results import plain, shown
from ..rules import DiagonalRule, LinearRule, QuadraticRule
from ..theory.distributions import class_gaussians, distance_limits
from ..validation.cross_validation import CrossValidation, cross_validate
from ..validation.labelled_table import labelled_table
from ..validation.splits import Split, plan_rounds
from .accuracy import MapAccuracy, map_accuracy
from .class_map import Legend, make_legend
from .groups import AreaGroups, area_groups, class_counts
from .macro import MacroClasses
from .samples import Samples
from .smoothing import WHOLE, Smoothing

#: Computes codes (n,) from pixels (bands, n) and where they are valid (n,).
Scorer = Callable[[Array, Array], Array]

#: Names of models for images: regularised discriminant analysis, maximum likelihood, and models of the registry.
NAMES: Final = (
    "auto", "maximum-likelihood", "qda", "lda", "minimum-distance", "spectral-angle", "logistic", "gaussian-nb", "svm",
)  # fmt: skip
_WITH_PRIORS: Final = ("auto", "maximum-likelihood", "qda", "lda", "gaussian-nb")
#: Models with equal priors, by their name in the registry.
_REGISTERED: Final = {"auto": "rda", "maximum-likelihood": "qda"}
#: Pixels of each class for each band required for separate covariances if no areas can be held out.
PIXELS_PER_BAND: Final = 10
#: Models without a kernel predict this many pixels at a time, as rows of float64.
PREDICTED_PIXELS: Final = 1 << 16
#: Default number of folds of areas.
N_FOLDS: Final = 5


def image_model(name: str, classes: Sequence[Hashable], priors: Mapping[Any, float] | None = None) -> BaseEstimator:
    """Create a classifier by name, not yet fitted.

    Parameters
    ----------
    name : str
        ``auto``: regularised discriminant analysis, between ``lda`` and ``maximum-likelihood``, with settings that
        `fit_image_model` selects on held-out areas, and equal priors. ``maximum-likelihood``: normal classes with a
        covariance each and equal priors; with ``priors``, maximum a posteriori (MAP). ``qda``: the same with the shares
        of the samples as priors. ``lda``: one covariance for all classes. ``minimum-distance``: the nearest class mean.
        ``spectral-angle``: the class mean with the smallest angle, whatever the illumination.
        ``gaussian-nb``: naive Bayes, bands independent within classes. ``logistic``: logistic regression. ``svm``:
        support vector machine.
    classes : list
        The classes.
    priors : dict, optional
        Class priors on the ground, by class.

    Returns
    -------
    classifier
        A classifier of this package.

    See Also
    --------
    classify_image : Writes the map of a fitted model.
    held_out_accuracy : Accuracy on held-out areas.

    Examples
    --------
    >>> image_model("maximum-likelihood", ["forest", "water"])
    QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])
    """
    model = new_model(_REGISTERED.get(known_name(name, NAMES), name))
    if priors is not None:
        if name not in _WITH_PRIORS:
            raise ParameterError(
                f"The model {name} does not use ", Setting("priors"), f". Omit them, or use {', '.join(_WITH_PRIORS)}."
            )
        return model.set_params(priors={plain(label): share for label, share in priors.items()})
    if name in _REGISTERED:
        return model.set_params(priors=[1 / len(classes)] * len(classes))
    return model


def fit_image_model(model: BaseEstimator, samples: Samples, groups: AreaGroups | None = None) -> BaseEstimator:
    """Fit a classifier to samples; settings that it chooses itself are selected on held-out areas.

    If fewer than two classes have areas in two groups, none can be held out. Regularised discriminant analysis is then
    fitted with separate covariances if each class has 10 pixels for every band, else with one covariance for all
    classes, shrunk by 0.1 if there are fewer than 10 pixels in all for every band.

    Parameters
    ----------
    model : classifier
        Created by `image_model`, or another classifier.
    samples : Samples
        The training data.
    groups : AreaGroups, optional
        Areas that are held out together. Default: `area_groups`.

    Returns
    -------
    classifier
        The fitted model itself.

    See Also
    --------
    image_model : Creates classifiers by name.
    held_out_accuracy : Accuracy on held-out areas.

    Examples
    --------
    >>> from discriminant.raster import Band, Samples
    >>> y, area = np.repeat(["sand", "water"], 60), np.arange(120) // 10
    >>> X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 2))
    >>> samples = Samples(X, y, area, area, area, (Band("red", "float64"), Band("blue", "float64")))
    >>> model = fit_image_model(image_model("auto", ["sand", "water"]), samples)
    >>> model.pooling_, model.shrinkage_
    (0.0, 1.0)
    """
    found = groups or area_groups(samples)
    return fit_in_area_groups(model, as_rows(samples.X, samples.band_names), samples.y, found.groups)


def fit_in_area_groups(model: BaseEstimator, X: MatrixLike, y: Array, groups: Array) -> BaseEstimator:
    """The fitted model, with settings selected on held-out groups if two classes have several."""
    _, codes = encode_labels(y, len(y))
    pairs = np.unique(np.column_stack((codes, groups)), axis=0)
    if np.count_nonzero(np.bincount(pairs[:, 0]) > 1) > 1:
        return fit_in_groups(model, X, y, groups)
    if isinstance(model, RegularizedDiscriminantAnalysis):
        counts, wanted = np.bincount(codes), PIXELS_PER_BAND * as_rows(X).n_columns
        by_size = {"pooling": float(counts.min() < wanted), "shrinkage": 0.1 * (len(y) < wanted), "temperature": 1.0}
        model.set_params(**{name: value for name, value in by_size.items() if getattr(model, name) == "cv"})
    return model.fit(X, y)


@dataclass(frozen=True)
class MapRule:
    """The decision rule of a map. Default: the predictions of the model.

    Parameters
    ----------
    decision : Decision, optional
        Decide by costs; pixels for which it abstains are rejected.
    reject : float, optional
        For models with normal classes: reject pixels outside the region that contains this share of the pixels of their
        class, such as 0.99, by Mahalanobis distance, see `discriminant.theory.distance_limits`.
    smoothing : Smoothing, optional
        Smooth the probabilities before deciding.
    min_pixels : int, default=1
        The minimum mapping unit: smaller patches are replaced by those around them, see `sieved`.
    macro : MacroClasses, optional
        Merge classes before patches are replaced.

    See Also
    --------
    classify_image : Writes a map with this rule.
    choose_smoothing : The accuracy of a smoothed map, and the best smoothing.
    held_out_accuracy : The accuracy of such a map, without smoothing and minimum mapping unit.

    Examples
    --------
    >>> from discriminant.raster import MapRule
    >>> MapRule(reject=0.99).reject
    0.99
    """

    decision: Decision | None = None
    reject: float | None = None
    smoothing: Smoothing | None = None
    min_pixels: int = 1
    macro: MacroClasses | None = None


def pixel_classifier(
    model: Classifier, rule: MapRule | None = None, colours: Mapping[Any, str] | None = None
) -> tuple[Legend, Scorer]:
    """The legend of a map, and the function that computes codes by a fitted model and a decision rule."""
    decision, reject = (None, None) if rule is None else (rule.decision, rule.reject)
    actions = getattr(model, "actions_", None) if decision is None else decision.actions_for(model.classes_)
    labels = [plain(label) for label in (model.classes_ if actions is None else actions)]
    abstains = actions is not None and ABSTAIN in labels
    classes = [label for label in labels if label != ABSTAIN] if abstains else labels
    if rule is not None and rule.macro is not None:
        rule.macro.check(classes)
        known = {str(label) for label in classes}
        colours = {label: colour for label, colour in (colours or {}).items() if str(label) in known}
    legend = make_legend(classes, abstains or reject is not None, colours)
    score = _scorer(model, legend, decision)
    return legend, score if reject is None else with_rejection(score, model, legend, reject)


def _scorer(model: Classifier, legend: Legend, decision: Decision | None) -> Scorer:
    """Computes codes by a kernel if the model predicts by a linear or quadratic rule, else by its predictions."""
    is_rule = isinstance(model, RuleClassifier) and type(model).predict is RuleClassifier.predict
    form, arrays = _rule_arrays(model) if decision is None and is_rule else ("", ())
    if arrays:
        kernel = kernels.linear_codes if form == "linear" else kernels.quadratic_codes
        codes, nodata = legend.codes, np.dtype(legend.dtype).type(legend.nodata)

        def score(pixels: Array, valid: Array) -> Array:
            out = np.empty(len(valid), dtype=legend.dtype)
            kernel(pixels, valid, *arrays, codes, nodata, out)
            return out

        return score
    if decision is None:
        return _by_prediction(model.predict, legend)
    return _by_prediction(lambda rows: decision.decide(posterior(model, rows)), legend)


def _rule_arrays(model: Classifier) -> tuple[str, tuple[Array, ...]]:
    """The form of a model's rule, linear or quadratic, and the arrays of its kernel; no arrays for other rules."""
    rule: Any = getattr(model, "rule_", None)
    parts: tuple[Array, ...]
    if isinstance(rule, DiagonalRule):
        spheres = np.stack([np.diag(1 / np.sqrt(variances)) for variances in rule.variances])
        rule = QuadraticRule(np.zeros(rule.means.shape[1]), rule.means, spheres, rule.constants)
    if isinstance(rule, LinearRule):
        form, parts = "linear", (rule.centre, rule.coef, rule.constants)
    elif isinstance(rule, QuadraticRule):
        offsets = np.einsum("kj,kjr->kr", rule.offsets, rule.spheres)
        form, parts = "quadratic", (rule.centre, offsets, rule.spheres, rule.constants)
    else:
        return "", ()
    return form, tuple(np.ascontiguousarray(part, dtype=np.float64) for part in parts)


def share_scorer(model: Classifier) -> Scorer:
    """Computes the probability of each class times 65,535, shape (K, n); 0 for pixels without a value."""
    is_softmax = (
        isinstance(model, PosteriorClassifier) and type(model).predict_proba is PosteriorClassifier.predict_proba
    )
    form, arrays = _rule_arrays(model) if is_softmax else ("", ())
    kernel = kernels.linear_shares if form == "linear" else kernels.quadratic_shares

    def score(pixels: Array, valid: Array) -> Array:
        shares = np.zeros((len(model.classes_), len(valid)), dtype=np.uint16)
        if arrays:
            kernel(pixels, valid, *arrays, shares)
            return shares
        for rows, where in valued_rows(pixels, valid):
            found = np.asarray(model.predict_proba(rows))  # type: ignore[attr-defined]
            shares[:, where] = np.rint(WHOLE * found.T)
        return shares

    return score


def _by_prediction(predict: Callable[[Array], Array], legend: Legend) -> Scorer:
    codes = {entry.label: entry.code for entry in legend.classes}
    if legend.rejected is not None:
        codes.setdefault(ABSTAIN, legend.rejected.code)

    def score(pixels: Array, valid: Array) -> Array:
        out = np.full(len(valid), legend.nodata, dtype=legend.dtype)
        for rows, where in valued_rows(pixels, valid):
            out[where] = [codes[label] for label in np.asarray(predict(rows)).tolist()]
        return out

    return score


def valued_rows(pixels: Array, valid: Array) -> Iterator[tuple[Array, Array]]:
    """Blocks of valid pixels as rows of numbers, and their indexes."""
    places = np.flatnonzero(valid)
    for start in range(0, len(places), PREDICTED_PIXELS):
        where = places[start : start + PREDICTED_PIXELS]
        yield np.ascontiguousarray(pixels[:, where].T, dtype=np.float64), where


def with_rejection(score: Scorer, model: Classifier, legend: Legend, share: float) -> Scorer:
    """Rejects pixels that are atypical of their class, of which this share remains.

    Pixels are rejected by their Mahalanobis distance from the mean of their class (Campbell 1984; Foody et al. 1992),
    with the limits of `distance_limits`.
    """
    check_number("reject", share, 0, 1, open_below=True)
    if share == 1:
        wrong = " must be between 0 and 1, exclusive, such as 0.99; got 1, which rejects no pixel."
        raise ParameterError(Setting("reject"), wrong)
    gaussians = class_gaussians(model)
    assert legend.rejected is not None
    code_of_label, rejected = {entry.label: entry.code for entry in legend.classes}, legend.rejected.code
    limits = dict(zip(gaussians, distance_limits(model, share), strict=True))

    def score_or_reject(pixels: Array, valid: Array) -> Array:
        codes = score(pixels, valid)
        for label, gaussian in gaussians.items():
            own = np.flatnonzero(codes == code_of_label.get(label, rejected))
            z = gaussian.inverse_root @ (pixels[:, own] - gaussian.mean[:, None])
            codes[own[(z**2).sum(axis=0) > limits[label]]] = rejected
        return codes

    return score_or_reject


def split_by_area(
    samples: Samples, test_share: float = 0.3, groups: AreaGroups | None = None, random_state: RandomState = 0
) -> tuple[Samples, Samples]:
    """Split samples into training and test data without a common area.

    Areas are drawn at random until about ``test_share`` of the pixels of every class are test data, as far as whole
    areas allow; each class keeps at least one area (or group of areas) on either side.

    Parameters
    ----------
    samples : Samples
        Samples with at least two areas of each class.
    test_share : float, default=0.3
        Above 0 and below 1.
    groups : AreaGroups, optional
        Areas that stay together. Default: `area_groups`.
    random_state : int or Generator, default=0
        Seed of the random choice of areas.

    Returns
    -------
    training : Samples
        Training data.
    test : Samples
        Test data.

    See Also
    --------
    held_out_accuracy : Holds every area out once.
    cross_validate_areas : Compares models and measures on held-out areas.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from discriminant.raster import Band, Samples
    >>> iris, place = load_iris(), np.arange(150)
    >>> bands = tuple(Band(name, "float64") for name in iris.feature_names)
    >>> samples = Samples(iris.data, iris.target_names[iris.target], place // 10, place, place, bands)
    >>> training, test = split_by_area(samples)
    >>> training.n_pixels, test.n_pixels, set(training.areas) & set(test.areas)
    (90, 60, set())
    """
    if not 0 < test_share < 1:
        raise ParameterError(Setting("test_share"), f" must be above 0 and below 1, got {test_share!r}.")
    found = groups or area_groups(samples)
    counts = class_counts(samples, found)
    held = _held_out(counts, test_share, np.random.default_rng(random_state))
    untested = np.flatnonzero(counts[:, held].sum(axis=1) == 0)
    if untested.size:
        raise LabelError(
            f"No pixel of class {shown(samples.classes[untested[0]])} is left for the test data: each of "
            "its groups also has the last training areas of another class. Use another ", Setting("random_state"), ".",
        )  # fmt: skip
    test = held[found.groups]
    return samples.take(~test), samples.take(test)


def cross_validate_areas(
    models: BaseEstimator | Sequence[BaseEstimator] | Mapping[str, BaseEstimator],
    samples: Samples,
    folds: int = N_FOLDS,
    groups: AreaGroups | None = None,
    **more: Any,
) -> CrossValidation:
    """Compute scores of models on held-out areas (spatial cross-validation).

    Parameters
    ----------
    models : classifier, list or dict
        One or several classifiers, or classifiers by name.
    samples : Samples
        Samples whose areas are held out in turn.
    folds : int, default=5
        Number of folds.
    groups : AreaGroups, optional
        Areas that stay in one fold. Default: `area_groups`.
    **more : object
        Further parameters of `discriminant.cross_validate`.

    Returns
    -------
    CrossValidation

    See Also
    --------
    held_out_accuracy : The accuracy of a map, with its decision rule.

    References
    ----------
    Roberts, D. R. et al. (2017). Cross-validation strategies for data with temporal, spatial, hierarchical, or
    phylogenetic structure. Ecography 40, 913-929.

    Examples
    --------
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> from discriminant.raster import Band, Samples
    >>> classes, area = np.tile(["sand", "water"], 60), np.arange(120) % 12
    >>> X = np.random.default_rng(1).normal(2.0 * (classes == "sand")[:, None], 1.0, (120, 1))
    >>> samples = Samples(X, classes, area, area, area, (Band("red", "float64"),))
    >>> found = cross_validate_areas([LinearDiscriminantAnalysis(), GaussianNB()], samples, folds=3)
    >>> len(found.models)
    2
    """
    found = groups or area_groups(samples)
    class_counts(samples, found)
    return cross_validate(models, samples.X, samples.y, cv=folds, groups=found.groups, **more)


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutAccuracy(MapAccuracy):
    """The accuracy of a map on held-out training areas.

    Attributes
    ----------
    confusion : ConfusionMatrix
        Rows are the classes of the areas, columns those of the map.
    groups : AreaGroups
        Areas that were held out together.

    See Also
    --------
    held_out_accuracy : Computes it.
    """

    groups: AreaGroups

    def to_dict(self) -> dict[str, Any]:
        """Counts, measures and groups as plain values.

        Returns
        -------
        dict
            Rows are the training areas, columns the map.
        """
        described = {"n_groups": self.groups.n_groups, "group_distance": self.groups.distance, "unit": self.groups.unit}
        return {**super().to_dict(), "groups": {**described, "squares": self.groups.squares}}

    def __str__(self) -> str:
        return "\n".join(filter(None, [super().__str__(), self.groups.sentence]))


def held_out_accuracy(
    model: BaseEstimator,
    samples: Samples,
    folds: int | None = None,
    groups: AreaGroups | None = None,
    rule: MapRule | None = None,
    random_state: RandomState = 0,
) -> HeldOutAccuracy:
    """Compute the accuracy of a map on held-out areas, with the decision rule of `classify_image`.

    Areas are held out in turn and classified by a copy of the model that is fitted to the others. Rejected pixels have
    a column of their own and count as errors. Points close to each other are held out together, and a model that
    chooses its own settings by cross-validation uses the same groups.

    Parameters
    ----------
    model : classifier
        It need not be fitted.
    samples : Samples
        Samples with several areas of each class.
    folds : int, optional
        Number of folds. Default: 5, or the number of groups if there are fewer.
    groups : AreaGroups, optional
        Areas that are held out together. Default: `area_groups`.
    rule : MapRule, optional
        The decision rule of the map.
    random_state : int or Generator, default=0
        Seed of the random folds.

    Returns
    -------
    HeldOutAccuracy

    See Also
    --------
    cross_validate_areas : Compares models on held-out areas.

    Examples
    --------
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> from discriminant.raster import Band, Samples
    >>> y, area = np.repeat(["sand", "water"], 60), np.arange(120) // 20
    >>> X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 2))
    >>> samples = Samples(X, y, area, area, area, (Band("red", "float64"), Band("blue", "float64")))
    >>> found = held_out_accuracy(QuadraticDiscriminantAnalysis(), samples, folds=3, rule=MapRule(reject=0.9))
    >>> found.confusion.predictions.tolist()
    ['sand', 'water', 'rejected']
    """
    found = groups or area_groups(samples)
    counts = class_counts(samples, found)
    folds = min(N_FOLDS, counts.shape[1]) if folds is None else folds
    [plan] = plan_rounds(labelled_table(samples.X, samples.y, groups=found.groups), folds, 1, True, random_state)
    mapped = np.empty(samples.n_pixels, dtype=object)
    others: dict[Any, None] = {}

    def classified(split: Split) -> tuple[Array, dict[int, Any], Array]:
        train = split.train
        fitted = fit_in_area_groups(clone(model), samples.X[train], samples.y[train], found.groups[train])
        legend, score = pixel_classifier(fitted, rule)
        pixels = np.ascontiguousarray(samples.X[split.test].T)
        return split.test, legend.names, score(pixels, np.ones(len(split.test), bool))

    for test, names, codes in in_order(classified, plan.splits, None):
        mapped[test] = [names[code] for code in codes.tolist()]
        others |= dict.fromkeys(names.values())
    confusion = agreement(samples, mapped, list(others), rule).confusion
    return HeldOutAccuracy(confusion, found)


def agreement(samples: Samples, mapped: Array, outcomes: Sequence[Hashable], rule: MapRule | None) -> MapAccuracy:
    """The agreement of mapped labels with the classes of samples, by macro-class if the rule has any.

    ``outcomes`` are all labels of the map; those that are not classes are columns of their own.
    """
    truth, labels = samples.y, label_array(mapped.tolist())
    if rule is not None and rule.macro is not None:
        outcomes = rule.macro.labels(outcomes).tolist()
        truth, labels = rule.macro.labels(truth.tolist()), rule.macro.labels(labels.tolist())
    classes = np.unique(truth)
    actions = [label for label in dict.fromkeys(outcomes) if label not in classes.tolist()]
    return map_accuracy(truth, labels, classes, actions)


def _held_out(counts: Array, share: float, rng: np.random.Generator) -> Array:
    """Which groups are test data: in random order, while a class needs more and keeps one for training."""
    held = np.zeros(counts.shape[1], dtype=bool)
    wanted = share * counts.sum(axis=1)
    for first_group in (True, False):
        for group in rng.permutation(counts.shape[1]):
            own = counts[:, group] > 0
            tested = counts[:, held].sum(axis=1)
            needs = tested == 0 if first_group else tested + counts[:, group] / 2 <= wanted
            keeps = np.count_nonzero(counts[:, ~held], axis=1) > 1
            if not held[group] and (own & needs).any() and (keeps | ~own).all():
                held[group] = True
    return held
