"""``discriminant fit``: a model from a labelled table, into a file."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ParameterError
from ..results import jsonable, listed, number, percent, several
from . import options
from .console import Page, check_output, show, tell_findings
from .options import Labelled, TrainingOptions, command, files_of, option
from .passes import ScaleOptions, refuse_at_hand, refuse_formula

Settings = Annotated[
    list[str] | None, option("NAME=VALUE", "A parameter of the model, such as alpha=0.1; may be repeated.", "--set")
]


#: Parameters whose dictionaries go by the names of columns, not of classes.
_BY_COLUMN = ("distributions",)
#: How values are written in ``--set``.
_TRUE, _FALSE, _NONE = ("true", "yes", "on"), ("false", "no", "off"), ("none", "null")


@command
def fit(
    data: options.Files,
    target: options.Target = None,
    model: Annotated[
        str | None,
        option(
            "NAME",
            "auto (if none is named), logistic (with --formula), ridge, lasso, lda, qda, rda, naive-bayes, "
            "naive-bayes-calibrated, gaussian-nb, svm, svm-calibrated, perceptron, least-squares, "
            "least-squares-calibrated or fisher.",
        ),
    ] = None,
    settings: Settings = None,
    multiclass: Annotated[
        str | None,
        option("SCHEME", "Make classes of binary models: one-vs-rest, one-vs-one or output-code, around any model."),
    ] = None,
    formula: options.FormulaText = None,
    output: Annotated[str | None, option("FILE", "The model file (.dsc).", "--output", "-o")] = None,
    weights: options.Weights = None,
    term_tests: Annotated[
        str | None, option("KIND", "Likelihood-ratio tests of terms: II, III or drop1. [default with --formula: II]")
    ] = None,
    hypotheses: Annotated[
        list[str] | None,
        option("EQUATION", "A linear hypothesis about coefficients (Wald); may be repeated.", "--hypothesis"),
    ] = None,
    groups: options.Groups = None,
    scale: ScaleOptions = ScaleOptions(),
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Fit a model and write it to a file.

    By default (auto) several families of models are tuned on held-out parts of the table and pooled: what predicts
    best. --model logistic is maximum likelihood, with standard errors and tests.

    \b
    Examples:
      discriminant fit data.csv --target y -o model.dsc
      discriminant fit data.csv -t y --set choose=best -o model.dsc
      discriminant fit data.csv -t y --model lda --set shrinkage=oas -o model.dsc
      discriminant fit data.csv -t y --model logistic --set alpha=0.01 --set l1_ratio=1 --drop id --types zip=category
      discriminant fit data.csv -t y --model logistic --set firth=true
      discriminant fit data.csv -t y --model perceptron --multiclass one-vs-one
      discriminant fit visits.csv -t ill --groups patient -o model.dsc
      discriminant fit "data/*.parquet" -t y --model lda -o model.dsc
      discriminant fit data.csv --formula "y ~ age + C(race) * dose + ns(bmi, df=4)"
      discriminant fit data.csv --formula "y ~ race + dose" --hypothesis "race=b = race=c" --term-tests III
    """
    from ..estimators.registry import coding_for, new_model

    check_output(output, overwrite, *data)
    given = read_settings(settings or [])
    name = model or ("auto" if formula is None else "logistic")
    files, coding = files_of(data), coding_for(name, given)
    labelled: Any
    if scale.by_passes(files):
        refuse_formula(formula)
        if groups is not None:
            raise ParameterError("--groups needs all rows in memory, and these files are read by passes. Use --drop.")
        refuse_at_hand(files, with_settings(new_model(name), name, given, ()), name)
        labelled = scale.training(files, reading, target, weights, coding)
    else:
        labelled = reading.training(files, target, weights, groups, name, coding, formula)
    if not json:
        tell_findings(labelled.training.findings)
    tests = {"terms": term_tests, "hypotheses": hypotheses}
    show(fitted(labelled, name, given, output, multiclass, tests), _page, json)
    scale.done()


def read_settings(given: list[str]) -> dict[str, str]:
    """Parameters of a model, written NAME=VALUE."""
    for text in given:
        if "=" not in text:
            raise ParameterError(f"--set takes NAME=VALUE, such as alpha=0.1; got {text!r}.")
    return {text.partition("=")[0].strip(): text.partition("=")[2] for text in given}


def fitted(
    labelled: Labelled,
    name: str,
    settings: dict[str, str],
    output: str | None,
    multiclass: str | None = None,
    tests: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit a model and write it, if it has a file to go to; gives what is shown of it.

    ``tests`` has the kind of the tests of ``terms``, and ``hypotheses``.
    """
    from ..estimators.base import fit_formula
    from ..storage.model_file import save
    from .explain import learned

    training = labelled.training
    model = _around(made_model(name, labelled, settings), multiclass)
    if labelled.formula is None:
        model.fit(labelled.rows, labelled.labels, **labelled.weights, **_groups(model, labelled))
    else:
        fit_formula(model, labelled.formula, training)
    values = learned(model, training.schema) | _tested(model, name, tests or {})
    values["shows"] = _shows(model, labelled)
    metrics = _training_metrics(model, labelled)
    if output is not None:
        save(
            model,
            output,
            schema=training.schema if _is_linear(model) else training.schema.with_unseen_as_reference,
            metrics=metrics,
            training={**labelled.source, **labelled.seen()},
            learned=jsonable(values),
            name=name,
        )
    source = {**labelled.source, "columns": model.n_features_in_}
    return {**source, **values, "training_metrics": metrics, "findings": labelled.findings, "file": output}


def _tested(model: Any, name: str, tests: Mapping[str, Any]) -> dict[str, Any]:
    """The tests of terms and hypotheses that were asked for."""
    from ..inference.terms import TERM_TEST_KINDS

    wanted = {option: given for option, given in tests.items() if given}
    if wanted and not hasattr(model, "term_tests"):
        raise ParameterError(
            f"Tests of terms and hypotheses are of logistic regression, not of {name}: --model logistic."
        )
    if "terms" in wanted and wanted["terms"] not in TERM_TEST_KINDS:
        raise ParameterError(f"--term-tests takes II, III or drop1, got {wanted['terms']!r}.")
    found = {"terms": model.term_tests(wanted["terms"])} if "terms" in wanted else {}
    return found | ({"hypotheses": model.hypothesis(wanted["hypotheses"])} if "hypotheses" in wanted else {})


def _groups(model: Any, labelled: Labelled) -> dict[str, Any]:
    """The groups of the rows, for a model that may hold rows out while it is fitted."""
    takes_groups = "groups" in inspect.signature(model.fit).parameters
    return labelled.groups if takes_groups and not labelled.by_passes else {}


def _is_linear(model: Any) -> bool:
    """Whether the score of average columns is the average of scores: see `Schema.with_unseen_as_reference`.

    Naive Bayes that reads categories itself knows unseen levels.
    """
    from ..rules import MixedRule

    own_levels = isinstance(getattr(model, "rule_", None), MixedRule)
    return own_levels or (hasattr(model, "coef_") and not hasattr(model, "basis_"))


def _around(model: Any, multiclass: str | None) -> Any:
    """The model, or a scheme that makes classes of copies of it."""
    from ..data import check_choice
    from ..estimators.multiclass import OneVsOne, OneVsRest, OutputCode

    schemes: dict[str, Any] = {"one-vs-rest": OneVsRest, "one-vs-one": OneVsOne, "output-code": OutputCode}
    check_choice("multiclass", multiclass, (None, *schemes))
    return model if multiclass is None else schemes[multiclass](model)


def _shows(model: Any, labelled: Labelled) -> list[str]:
    """What a model shows of its own kind: hidden classes, margins, updates, rows that no class claims alone."""
    import numpy as np

    said, n = [], labelled.n_rows
    if len(hidden := list(getattr(model, "masked_classes_", ()))):
        said.append(f"Masked, so that other classes have higher values at their mean: {listed(hidden)}.")
    if hasattr(model, "support_"):
        widths = ", ".join(number(width) for width in np.ravel(model.margin_))
        said.append(f"{several(len(model.support_), 'support vector')} of {n:,}; margin {widths}.")
    if hasattr(model, "updates_"):
        made = ", ".join(map(str, np.ravel(model.updates_)))
        said.append(f"Updates: {made}; discriminant trace shows them, and the bound on their number.")
    if len(model.classes_) > 2 and hasattr(model, "ambiguous") and not labelled.by_passes:
        found = model.ambiguous(labelled.rows)
        none, several_ = int(found.none.sum()), int(found.several.sum())
        said.append(
            f"Ambiguous before ties are broken: {none + several_:,} of {n:,} rows ({none:,} that no class claims, "
            f"{several_:,} that several do); discriminant predict --ambiguous lists them."
        )
    return said


def _training_metrics(model: Any, labelled: Labelled) -> dict[str, float]:
    """Accuracy on the rows the model learned from, plain and balanced, and that of always saying one class."""
    found = labelled.confusion(model)
    return {
        "accuracy": found.overall("accuracy"),
        "balanced_accuracy": found.overall("balanced_accuracy"),
        "baseline_accuracy": found.most_frequent[1],
    }


#: What the accuracy on the rows of the training is worth.
_SEEN = (
    "It flatters the model, which has seen them: discriminant compare and discriminant evaluate measure it on rows it "
    "has not."
)
_NO_BETTER = (
    "Always naming the most frequent class would be right no less often, even on these rows, which the model has seen: "
    "discriminant compare tells whether its probabilities are better than the shares of the classes."
)


def _page(found: dict[str, Any]) -> Page:
    from .explain import learned_page

    metrics = found["training_metrics"]
    better = metrics["accuracy"] > metrics["baseline_accuracy"]
    written = [f"Written to {found['file']}."] if found["file"] else ["Not kept: give -o model.dsc to use it later."]
    return [
        f"{found['model']} of {found['target'] or 'the labels'}, fitted to {found['rows']:,} rows and "
        f"{found['columns']:,} columns of {found['data']}",
        *learned_page(found),
        *found["shows"],
        f"Accuracy on these rows: {percent(metrics['accuracy'])} (the most frequent class alone: "
        f"{percent(metrics['baseline_accuracy'])}; all classes counting alike: "
        f"{percent(metrics['balanced_accuracy'])}). {_SEEN if better else _NO_BETTER}",
        *written,
    ]


def made_model(name: str, labelled: Labelled, settings: dict[str, str] | None = None) -> Any:
    """A model by its name on the command line, with parameters as they were written there."""
    from ..estimators.registry import new_model

    schema = labelled.training.schema if labelled.formula is None else None  # it names other columns than the model
    return with_settings(new_model(name, schema), name, settings or {}, list(labelled.class_rows))


def with_settings(model: Any, name: str, settings: dict[str, str], classes: Sequence[Any]) -> Any:
    """The model with parameters as they were written on the command line."""
    from ..estimators.registry import known_name

    parameters = list(model.get_params(deep=False))
    for parameter, text in settings.items():
        known_name(parameter, parameters, f"parameter of {name}")
        named = () if parameter in _BY_COLUMN else classes
        model.set_params(**{parameter: _typed(type(model), parameter, text, named)})
    return model


def _typed(kind: type, name: str, text: str, classes: Sequence[Any]) -> Any:
    """The value that the text stands for, by the parameter's type."""
    hint = get_type_hints(kind.__init__)[name]  # type: ignore[misc]
    choices = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for choice in choices:
        found, value = _as_option(choice, text, classes)
        if found:
            return value
    raise ParameterError(f"--set {name}={text}: expected {' or '.join(map(_in_words, choices))}.")


def _as_option(option: Any, text: str, classes: Sequence[Any]) -> tuple[bool, Any]:
    """Whether the text can be read as this type, and its value."""
    word = text.strip().lower()
    if option is Any:
        return True, _guessed(text, classes)
    if get_origin(option) is Literal:
        return text in get_args(option) or (word in _NONE and None in get_args(option)), None if word in _NONE else text
    if option is type(None):
        return word in _NONE, None
    if option is bool:
        return word in (*_TRUE, *_FALSE), word in _TRUE
    try:
        return True, option(text)
    except (TypeError, ValueError):
        return False, None


def _guessed(text: str, classes: Sequence[Any]) -> Any:
    """JSON where it is JSON, else text; class names in it stand for the classes."""
    import json

    from ..decision.costs import class_written

    word = text.strip().lower()
    if word in _NONE:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict) and classes:
        return {class_written(key, classes): entry for key, entry in value.items()}
    return value if isinstance(value, (list, dict)) or not classes else class_written(value, classes)


def _in_words(option: Any) -> str:
    if get_origin(option) is Literal:
        return ", ".join(map(repr, get_args(option)))
    return {bool: "true or false", int: "a whole number", float: "a number", type(None): "none"}.get(option, "a value")
