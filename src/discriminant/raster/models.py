"""Classifiers of images: by their names in remote sensing, from bands to codes and probabilities, and held-out areas.

Pixels of one area are alike, so a model is judged on whole areas that were held out, never on single pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..data import as_rows, check_number, encode_labels, label_array
from ..decision.posteriors import posterior
from ..decision.rules import ABSTAIN, Decision
from ..engine import in_order
from ..errors import LabelError, ParameterError, Setting
from ..estimators.base import RuleClassifier, fit_in_groups
from ..estimators.registry import known_name, new_model
from ..estimators.regularised import RegularizedDiscriminantAnalysis
from ..kernels import pixels as kernels
from ..results import plain, shown
from ..rules import DiagonalRule, LinearRule, QuadraticRule
from ..theory.distributions import class_gaussians, distance_limits
from ..validation.cross_validation import CrossValidation, cross_validate
from ..validation.held_out import Split, labelled_table, plan_rounds
from .accuracy import MapAccuracy, map_accuracy
from .class_map import Legend, make_legend
from .groups import AreaGroups, area_groups, groups_and_counts
from .samples import Samples

#: From pixels (bands, n) and where they hold values (n,) to codes (n,).
Scorer = Callable[[Array, Array], Array]

#: What is chosen by held-out areas, maximum likelihood, and those models of the registry that are used for images.
NAMES = ("auto", "maximum-likelihood", "qda", "lda", "minimum-distance", "logistic", "gaussian-nb", "svm")
_WITH_PRIORS = ("auto", "maximum-likelihood", "qda", "lda", "gaussian-nb")
#: What models are called in the registry, if otherwise; their classes are equally likely beforehand.
_REGISTERED: Final = {"auto": "rda", "maximum-likelihood": "qda"}
#: Pixels for each band with which a class gets a covariance of its own where no areas can be held out.
PIXELS_PER_BAND: Final = 10
#: Models without a kernel of their own see this many pixels at a time, as rows of float64.
_CHUNK = 1 << 16


def image_model(name: str, classes: Sequence[Any], priors: Mapping[Any, float] | None = None) -> Any:
    """The classifier that goes by this name, not yet fitted.

    Parameters
    ----------
    name : str
        ``auto``: regularised discriminant analysis, between ``lda`` and ``maximum-likelihood``, with settings that
        `fit_image_model` chooses by held-out areas; all classes equally likely beforehand. ``maximum-likelihood``:
        normal classes with a covariance each, all equally likely beforehand; with ``priors`` the most probable class
        (MAP). ``qda``: the same with the shares of the samples as priors. ``lda``: one covariance for all classes.
        ``minimum-distance``: the nearest class mean. ``gaussian-nb``: bands independent within classes. ``logistic``:
        logistic regression with a weak penalty. ``svm``: support vector machine.
    classes : list
        The classes that are going to be told apart.
    priors : dict, optional
        How frequent each class is on the ground, by name.

    Returns
    -------
    classifier
        One of this package.

    See Also
    --------
    classify_image : The map of a fitted model.
    held_out_accuracy : How right it is on areas it has not seen.

    Examples
    --------
    >>> image_model("maximum-likelihood", ["forest", "water"])
    QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])
    """
    model = new_model(_REGISTERED.get(known_name(name, NAMES), name))
    if priors is not None:
        if name not in _WITH_PRIORS:
            raise ParameterError(f"{name} does not look at priors. Leave them out, or use {', '.join(_WITH_PRIORS)}.")
        return model.set_params(priors={plain(label): share for label, share in priors.items()})
    if name in _REGISTERED:
        return model.set_params(priors=[1 / len(classes)] * len(classes))
    # Areas that can be told apart without error would have infinite coefficients without any penalty.
    return model.set_params(alpha=1e-4) if name == "logistic" else model


def fit_image_model(model: Any, samples: Samples, group_distance: float | None = None) -> Any:
    """Fit a classifier to samples; settings that it chooses itself are chosen by areas that are held out.

    Where fewer than two classes have areas in two places, none can be held out. Regularised discriminant analysis then
    goes by the number of pixels: covariances of single classes if each has 10 for every band, else one covariance for
    all, shrunk by a tenth if there are not 10 pixels for every band in all.

    Parameters
    ----------
    model : classifier
        As `image_model` makes it, or another.
    samples : Samples
        What it learns from.
    group_distance : float, optional
        Areas closer than this are held out together, see `area_groups`.

    Returns
    -------
    classifier
        The model itself, fitted.

    See Also
    --------
    image_model : Classifiers by name.
    held_out_accuracy : How right the model is on areas that it has not seen.

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
    groups = area_groups(samples, group_distance=group_distance).groups
    return _fitted(model, as_rows(samples.X, samples.band_names), samples.y, groups)


def _fitted(model: Any, X: Any, y: Array, groups: Array) -> Any:
    """The model, fitted with its settings chosen by held-out groups, where two classes have several."""
    _, codes = encode_labels(y, len(y))
    pairs = np.unique(np.column_stack((codes, groups)), axis=0)
    if np.count_nonzero(np.bincount(pairs[:, 0]) > 1) > 1:
        return fit_in_groups(model, X, y, groups)
    if isinstance(model, RegularizedDiscriminantAnalysis):
        counts, wanted = np.bincount(codes), PIXELS_PER_BAND * as_rows(X).n_columns
        by_size = {"pooling": float(counts.min() < wanted), "shrinkage": 0.1 * (len(y) < wanted), "temperature": 1.0}
        model.set_params(**{name: value for name, value in by_size.items() if getattr(model, name) == "cv"})
    return model.fit(X, y)


def pixel_classifier(
    model: Any, decision: Decision | None = None, reject: float | None = None, colours: Mapping[Any, str] | None = None
) -> tuple[Legend, Scorer]:
    """The codes of a map, and how a fitted model gives them: by its own predictions or a decision's.

    See `classify_image`.
    """
    actions = getattr(model, "actions_", None) if decision is None else decision.actions_for(model.classes_)
    labels = [plain(label) for label in (model.classes_ if actions is None else actions)]
    abstains = actions is not None and ABSTAIN in labels
    classes = [label for label in labels if label != ABSTAIN] if abstains else labels
    legend = make_legend(classes, abstains or reject is not None, colours)
    score = _scorer(model, legend, decision)
    return legend, score if reject is None else _typical_only(score, model, legend, reject)


def _scorer(model: Any, legend: Legend, decision: Decision | None) -> Scorer:
    """How pixels get their codes: by a kernel where the model is a plain rule, else by the model's own predictions."""
    plainly = decision is None and isinstance(model, RuleClassifier) and type(model).predict is RuleClassifier.predict
    rule = model.rule_ if plainly else None
    if isinstance(rule, LinearRule):
        return _by_kernel(kernels.linear_codes, legend, rule.centre, rule.coef, rule.constants)
    if isinstance(rule, DiagonalRule):
        spheres = np.stack([np.diag(1 / np.sqrt(variances)) for variances in rule.variances])
        rule = QuadraticRule(np.zeros(rule.means.shape[1]), rule.means, spheres, rule.constants)
    if isinstance(rule, QuadraticRule):
        sphered = np.einsum("kj,kjr->kr", rule.offsets, rule.spheres)
        return _by_kernel(kernels.quadratic_codes, legend, rule.centre, sphered, rule.spheres, rule.constants)
    if decision is None:
        return _by_prediction(model.predict, legend)
    return _by_prediction(lambda rows: decision.decide(posterior(model, rows)), legend)


def _by_kernel(kernel: Any, legend: Legend, *rule: Array) -> Scorer:
    numbers = [np.ascontiguousarray(part, dtype=np.float64) for part in rule]
    labels, nodata = legend.codes, np.dtype(legend.dtype).type(legend.nodata)

    def score(pixels: Array, valid: Array) -> Array:
        out = np.empty(len(valid), dtype=legend.dtype)
        kernel(pixels, valid, *numbers, labels, nodata, out)
        return out

    return score


def _by_prediction(predict: Callable[[Array], Array], legend: Legend) -> Scorer:
    codes = {entry.label: entry.code for entry in legend.classes}
    if legend.rejected is not None:
        codes.setdefault(ABSTAIN, legend.rejected.code)

    def score(pixels: Array, valid: Array) -> Array:
        out = np.full(len(valid), legend.nodata, dtype=legend.dtype)
        for rows, where in valued_rows(pixels, valid):
            labels = np.asarray(predict(rows)).tolist()
            out[where] = np.fromiter(map(codes.__getitem__, labels), legend.dtype, len(labels))
        return out

    return score


def valued_rows(pixels: Array, valid: Array) -> Iterator[tuple[Array, Array]]:
    """The pixels that hold values as rows of numbers, and where they stand, some at a time."""
    places = np.flatnonzero(valid)
    for start in range(0, len(places), _CHUNK):
        where = places[start : start + _CHUNK]
        yield np.ascontiguousarray(pixels[:, where].T, dtype=np.float64), where


def _typical_only(score: Scorer, model: Any, legend: Legend, share: float) -> Scorer:
    """The scorer that takes the class from pixels that are not typical of it; a class keeps this share of its own.

    Pixels are rejected by their Mahalanobis distance from the mean of their class (Campbell 1984; Foody et al. 1992),
    within the limits of `distance_limits`.
    """
    check_number("reject", share, 0, 1, open_below=True)
    if share == 1:
        raise ParameterError(
            Setting("reject"), " must be a share below 1, such as 0.99: with 1 no pixel is too far, got 1."
        )
    gaussians = class_gaussians(model)
    assert legend.rejected is not None
    class_of_code = np.full(1 + int(np.iinfo(legend.dtype).max), -1, dtype=np.int64)
    place = {label: k for k, label in enumerate(gaussians)}
    for entry in legend.classes:
        class_of_code[entry.code] = place.get(entry.label, -1)
    means = np.stack([gaussian.mean for gaussian in gaussians.values()])
    spheres = np.stack([gaussian.inverse_root.T for gaussian in gaussians.values()])
    limits, rejected = distance_limits(model, share), np.dtype(legend.dtype).type(legend.rejected.code)

    def score_typical(pixels: Array, valid: Array) -> Array:
        codes = score(pixels, valid)
        kernels.reject_far(pixels, means, spheres, class_of_code, limits, rejected, codes)
        return codes

    return score_typical


def split_by_area(
    samples: Samples,
    test_share: float = 0.3,
    block: int | None = None,
    random_state: Any = 0,
    *,
    group_distance: float | None = None,
) -> tuple[Samples, Samples]:
    """Samples to learn from and samples to test with, that have no area in common.

    Areas are drawn at random until every class has about ``test_share`` of its pixels among the test samples, as far
    as whole areas allow; each class keeps at least one area (or block of areas) on either side.

    Parameters
    ----------
    samples : Samples
        At least two areas of each class.
    test_share : float, default=0.3
        Above 0 and below 1.
    block : int, optional
        Areas with their centres in one square of so many pixels stay together.
    random_state : int or Generator, default=0
        Which areas are drawn.
    group_distance : float, optional
        Areas closer than this stay together, see `area_groups`: by default points that are correlated.

    Returns
    -------
    training : Samples
        To learn from.
    test : Samples
        To test with.

    See Also
    --------
    held_out_accuracy : Every area is held out once.
    cross_validate_areas : The same for several models and measures.

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
        raise ParameterError(Setting("test_share"), f" must lie between 0 and 1, got {test_share!r}.")
    found, counts = groups_and_counts(samples, block, group_distance)
    held = _held_out(counts, test_share, np.random.default_rng(random_state))
    untested = np.flatnonzero(counts[:, held].sum(axis=1) == 0)
    if untested.size:
        raise LabelError(
            f"Class {shown(samples.classes[untested[0]])} shares its blocks with classes that need them for learning: "
            "no pixel of it is left to test with. Use smaller blocks, or another random_state."
        )
    test = held[found.groups]
    return samples.take(~test), samples.take(test)


def cross_validate_areas(
    models: Any,
    samples: Samples,
    folds: int = 5,
    block: int | None = None,
    *,
    group_distance: float | None = None,
    **more: Any,
) -> CrossValidation:
    """Scores of models on areas they have not seen: spatial cross-validation.

    Parameters
    ----------
    models : classifier, list or dict
        One or several, or classifiers by name.
    samples : Samples
        Their areas are held out in turn.
    folds : int, default=5
        So many parts, one of which is held out at a time.
    block : int, optional
        Side of squares, in pixels, whose areas stay in one part.
    group_distance : float, optional
        Areas closer than this stay together, see `area_groups`: by default points that are correlated.
    **more : object
        Further parameters of `discriminant.cross_validate`.

    Returns
    -------
    CrossValidation

    See Also
    --------
    held_out_accuracy : The accuracy of a map, with its costs and rejection.

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
    found, _ = groups_and_counts(samples, block, group_distance)
    return cross_validate(models, samples.X, samples.y, cv=folds, groups=found.groups, **more)


#: Parts of areas that take turns where there are enough.
_FOLDS = 5


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutAccuracy(MapAccuracy):
    """The agreement of a map with training areas that its model had not seen.

    Attributes
    ----------
    confusion : ConfusionMatrix
        Rows are the classes of the areas, columns those of the map.
    groups : AreaGroups
        Which areas were held out together.

    See Also
    --------
    held_out_accuracy : Makes it.
    """

    groups: AreaGroups

    def to_dict(self) -> dict[str, Any]:
        """Counts and measures as plain values, with the groups that were held out.

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
    model: Any,
    samples: Samples,
    folds: int | None = None,
    block: int | None = None,
    *,
    group_distance: float | None = None,
    decision: Decision | None = None,
    reject: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> HeldOutAccuracy:
    """How right a map would be on areas the model has not seen, made as `classify_image` makes it.

    Areas are held out in turn. Their pixels are given classes by a copy of the model that was fitted to the others,
    with the costs and the rejection of the map: rejected pixels have a column of their own, and count as not right.
    Points that are close to each other are held out together, and a model that chooses its own settings by held-out
    rows holds out the same groups.

    Parameters
    ----------
    model : classifier
        Need not be fitted.
    samples : Samples
        With areas of each class in several places.
    folds : int, optional
        How many parts of areas take turns; None for 5, or one for each group of areas where there are fewer.
    block : int, optional
        Areas with their centres in one square of so many pixels are held out together.
    group_distance : float, optional
        Areas closer than this are held out together, see `area_groups`. Default: points within the distance over which
        pixels of a class are correlated.
    decision : Decision, optional
        The costs of the map.
    reject : float, optional
        Its rejection, see `classify_image`.
    random_state : int or Generator, default=0
        Decides which areas are held out together.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    HeldOutAccuracy

    See Also
    --------
    cross_validate_areas : Compares several models so.

    Examples
    --------
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> from discriminant.raster import Band, Samples
    >>> y, area = np.repeat(["sand", "water"], 60), np.arange(120) // 20
    >>> X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 2))
    >>> samples = Samples(X, y, area, area, area, (Band("red", "float64"), Band("blue", "float64")))
    >>> held_out_accuracy(QuadraticDiscriminantAnalysis(), samples, folds=3, reject=0.9).confusion.predictions.tolist()
    ['sand', 'water', 'rejected']
    """
    found, counts = groups_and_counts(samples, block, group_distance)
    folds = min(_FOLDS, counts.shape[1]) if folds is None else folds
    [plan] = plan_rounds(labelled_table(samples.X, samples.y, groups=found.groups), folds, 1, True, random_state)
    mapped = np.empty(samples.n_pixels, dtype=object)
    others: dict[Any, None] = {}

    def classified(split: Split) -> tuple[Array, dict[int, Any], Array]:
        train = split.train
        fitted = _fitted(clone(model), samples.X[train], samples.y[train], found.groups[train])
        legend, score = pixel_classifier(fitted, decision, reject)
        pixels = np.ascontiguousarray(samples.X[split.test].T)
        return split.test, legend.names, score(pixels, np.ones(len(split.test), bool))

    for test, names, codes in in_order(classified, plan.splits, n_jobs):
        mapped[test] = [names[code] for code in codes.tolist()]
        others |= dict.fromkeys(names.values())
    actions = [label for label in others if label not in samples.classes.tolist()]
    confusion = map_accuracy(samples.y, label_array(mapped.tolist()), samples.classes, actions).confusion
    return HeldOutAccuracy(confusion, found)


def _held_out(counts: Array, share: float, rng: np.random.Generator) -> Array:
    """Which groups are held out: in random order, those that a class still lacks and no class needs for learning."""
    held = np.zeros(counts.shape[1], dtype=bool)
    wanted = share * counts.sum(axis=1)
    for fewest in (True, False):
        for group in rng.permutation(counts.shape[1]):
            own = counts[:, group] > 0
            tested = counts[:, held].sum(axis=1)
            lacks = tested == 0 if fewest else tested + counts[:, group] / 2 <= wanted
            keeps = np.count_nonzero(counts[:, ~held], axis=1) > 1
            if not held[group] and (own & lacks).any() and (keeps | ~own).all():
                held[group] = True
    return held
