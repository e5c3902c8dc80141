"""Model files: written atomically, read without running code.

Predictions need the rule, classes and column names of a stored model only. Reading these needs neither the estimator
nor scikit-learn, whose import takes 1.6 s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import __version__
from ..arrays import Array
from ..data import DISTRIBUTIONS, MixedRows, Rows, require
from ..errors import InputError, ModelFileError
from ..files import write_whole
from ..results import shortened
from ..rules import MixedRule, Scorer
from .archive import Decoder, Encoder, pack, unpack
from .registry import check_learned

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


FORMAT, VERSION = "discriminant model file", 1
_UNREADABLE: dict[type[OSError], str] = {
    FileNotFoundError: "the file does not exist. Check its name and folder.",
    IsADirectoryError: "it is a folder. Use a model file in it.",
    PermissionError: "permission denied. Check its permissions.",
}
# Maximum length of a message about the content of a file.
MAX_MESSAGE_LENGTH: Final = 300
_DESCRIPTION = ("version", "package", "saved", "class", "metrics", "training")


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file.

    Attributes
    ----------
    model : the fitted estimator
    schema : dict or None
        Coding of raw columns, as given to `save`.
    metadata : dict
        ``version`` of the format, ``package`` version and ``saved`` date (UTC), ``class`` of the model, ``metrics`` and
        ``training`` and other values given to `save`.
    """

    model: Any
    schema: dict[str, Any] | None
    metadata: dict[str, Any]


def save(
    model: BaseEstimator,
    path: str | os.PathLike[str],
    schema: Any = None,
    metrics: Any = None,
    training: Any = None,
    **meta: Any,
) -> None:
    """Write a fitted model to a file (``.dsc``) that can be loaded safely without trust in its author.

    The file has the safetensors format: arrays, and a JSON document with a checksum as metadata. It holds the
    parameters and fitted attributes exactly: predictions are the same to the last bit, and ``partial_fit`` continues.
    It has no training rows, which some methods (such as `LogisticRegression.summary`) need, and ``partial_fit`` of a
    model with fewer training rows than columns.

    Writing is atomic: after a crash or with a full disk an older file is unchanged.

    Parameters
    ----------
    model : fitted estimator of this package
        Estimators inside it must be of this package, too.
    path : str or path
        Output file, with the extension ``.dsc`` by convention.
    schema : dict, or an object with ``to_dict``, optional
        Coding of raw columns. Like the next three, a JSON value.
    metrics : optional
        Performance of the model.
    training : optional
        Information on the training data, for example a checksum.
    **meta
        Other values to store.

    See Also
    --------
    load : Load the model.
    export : Export to Python, SQL, JSON or ONNX.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.dsc")
    ...     save(LinearDiscriminantAnalysis().fit(X, y), path, metrics={"accuracy": 0.98})
    ...     read_model_file(path).metadata["metrics"], load(path).score(X, y)
    ({'accuracy': 0.98}, 0.98)
    """
    if not hasattr(model, "get_params"):
        raise InputError(f"Expected a fitted model, got a {type(model).__name__}.")
    from sklearn.utils.validation import check_is_fitted  # slow to load

    encoder = Encoder()
    node = encoder.encode(model, type(model).__name__)
    check_is_fitted(model)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "package": __version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "class": type(model).__name__,
        "metrics": _json("metrics", metrics),
        "training": _json("training", training),
        "schema": _json("schema", schema.to_dict() if hasattr(schema, "to_dict") else schema),
        "meta": {name: _json(name, value) for name, value in meta.items()},
        "model": node,
    }
    write_whole(path, pack(document, encoder.arrays))


def _json(where: str, value: Any) -> Any:
    """The JSON value: tuples as lists, NumPy numbers as plain ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"Keys of {where} must be text, got {key!r}.")
        return {str(key): _json(f"{where}[{key!r}]", item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(f"{where}[{i}]", item) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        return _json(where, value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        raise InputError(f"{where} is {value}, which is not a JSON number. Use None.")
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InputError(f"{where} is a {type(value).__name__}, which JSON cannot hold. Use text, numbers, lists or dicts.")


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model file written by `save`.

    No code in the file is run, and memory is bounded by its size. Damaged, altered or newer files raise a
    `ModelFileError`.

    Parameters
    ----------
    path : str or path
        A file of `save` or ``discriminant fit -o``.

    Returns
    -------
    estimator
        The fitted model. If the file has the schema of a table, ``encoder_`` codes rows of such tables.

    See Also
    --------
    read_model_file : The model with schema and metadata.

    Examples
    --------
    See `save`.
    """
    file = read_model_file(path)
    return file.model if file.schema is None else _coding(file.model, file.schema)


def _coding(model: BaseEstimator, document: dict[str, Any]) -> Any:
    """The model with an encoder of raw rows, if the schema has its columns."""
    from ..estimators.base import RuleClassifier  # slow to load, as tables are
    from ..estimators.formula_fit import input_names
    from ..tables import Schema, TableEncoder

    try:
        schema = Schema.from_dict(document)
    except InputError:  # another kind of schema
        return model
    codes = isinstance(model, RuleClassifier) and not hasattr(model, "encoder_") and schema.width is None
    if codes and input_names(model) == list(schema.names):
        model.encoder_ = TableEncoder.of_schema(schema)
    return model


def read_model_file(path: str | os.PathLike[str]) -> ModelFile:
    """Load a model file with its schema and metadata.

    Parameters
    ----------
    path : str or path
        A file of `save` or ``discriminant fit -o``.

    Returns
    -------
    ModelFile
        Model, schema and metadata.

    See Also
    --------
    load : The model only.

    Examples
    --------
    See `save`.
    """
    return _read(path, _decoded)


def read_to_predict(path: str | os.PathLike[str]) -> ModelFile:
    """Load a model file for predictions: a `StoredRule` if possible, which does not need scikit-learn."""
    return _read(path, _decoded_to_predict)


def _read(path: str | os.PathLike[str], decoded: Callable[[dict[str, Any], dict[str, Array]], ModelFile]) -> ModelFile:
    try:
        document, arrays = unpack(path)
        _check_version(document)
        return decoded(document, arrays)
    except tuple(_UNREADABLE) as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {_UNREADABLE[type(error)]}") from error
    except InputError as error:
        parts = (shortened(part, MAX_MESSAGE_LENGTH) if isinstance(part, str) else part for part in error.parts)
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded. ", *parts) from error
    except Exception as error:
        # Errors of safetensors, JSON and constructors in damaged or malicious files.
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be loaded: it is damaged or not a model file ({type(error).__name__}: "
            f"{shortened(error, MAX_MESSAGE_LENGTH)}). Copy the file again, or save the model again."
        ) from error


def _check_version(document: dict[str, Any]) -> None:
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ModelFileError("It is not a model file. Use a file written by discriminant.save (.dsc).")
    if version > VERSION:
        raise ModelFileError(
            f"It has format version {version} (discriminant {document.get('package')}); discriminant {__version__} "
            f"reads versions up to {VERSION}. Upgrade discriminant."
        )


def _decoded(document: dict[str, Any], arrays: dict[str, Array]) -> ModelFile:
    decoder = Decoder(arrays)
    model = decoder.decode(document["model"])
    decoder.finish()
    if type(model).__name__ != document["class"] or not hasattr(model, "get_params"):
        raise ModelFileError(f"Its class is {type(model).__name__}, expected {document['class']!r}.")
    return _with_metadata(model, document)


def _decoded_to_predict(document: dict[str, Any], arrays: dict[str, Array]) -> ModelFile:
    rule = rule_of(document, arrays)
    return _decoded(document, arrays) if rule is None else _with_metadata(rule, document)


def _with_metadata(model: BaseEstimator, document: dict[str, Any]) -> ModelFile:
    metadata = {**document["meta"], **{name: document[name] for name in _DESCRIPTION}}
    return ModelFile(model, document["schema"], metadata)


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
