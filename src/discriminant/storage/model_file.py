"""Models in files: written whole or not at all, read without running anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .. import __version__
from ..errors import InputError, ModelFileError
from ..files import write_whole
from ..results import shortened
from .archive import pack, unpack
from .encoding import Decoder, Encoder
from .stored_rule import rule_of

FORMAT, VERSION = "discriminant model file", 1
_UNREADABLE: dict[type[OSError], str] = {
    FileNotFoundError: "there is no such file. Check its name and folder.",
    IsADirectoryError: "it is a folder. Give the name of a model file in it.",
    PermissionError: "it may not be read. Check its permissions.",
}
#: What a file holds can be long, what is said of it not.
_MOST_LETTERS = 300
_DESCRIPTION = ("version", "package", "saved", "class", "metrics", "training")


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds.

    Attributes
    ----------
    model : the fitted estimator
    schema : dict or None
        How raw columns become the columns of the model, as it was given to `save`.
    metadata : dict
        ``version`` of the format, ``package`` version and ``saved`` date (UTC), ``class`` of the model, ``metrics`` and
        ``training`` as they were given to `save`, and everything else that was.
    """

    model: Any
    schema: dict[str, Any] | None
    metadata: dict[str, Any]


def save(
    model: Any, path: str | os.PathLike[str], schema: Any = None, metrics: Any = None, training: Any = None, **meta: Any
) -> None:
    """Write a fitted model to a file (``.dsc``) that can be read anywhere without trust in who wrote it.

    The file is a zip of ``model.json`` and arrays, with checksums. It holds the parameters and what was learned,
    exactly: the model read from it predicts the same to the last bit, and ``partial_fit`` goes on where it stopped.
    Training rows are not in it, so what needs them again (such as `LogisticRegression.summary`) asks for a new fit, and
    so does ``partial_fit`` of a model that was fitted to fewer rows than columns, whose statistic is the rows.

    The file appears whole or not at all: a crash or a full disk leaves an older file of that name as it was.

    Parameters
    ----------
    model : fitted estimator of this package
        Estimators inside it have to be of this package, too.
    path : str or path
        Where to; ``.dsc`` by custom.
    schema : dict, or an object with ``to_dict``, optional
        How raw columns become the columns of the model. Like the next three, anything JSON can hold.
    metrics : optional
        How well the model did.
    training : optional
        What it was fitted to, for example the checksum of the data.
    **meta
        Anything else to keep with the model.

    See Also
    --------
    load : The model of such a file.
    export : In another language: Python, SQL, JSON, ONNX.

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
        raise InputError(f"save stores fitted models, got a {type(model).__name__}.")
    from sklearn.utils.validation import check_is_fitted  # slow to load, and loaded where there is a model

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
    """The value as JSON has it: tuples become lists, NumPy's numbers plain ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{where} must have text as its keys to be stored, got {key!r}.")
        return {str(key): _json(f"{where}[{key!r}]", item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(f"{where}[{i}]", item) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        return _json(where, value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        raise InputError(f"{where} is {value}, which JSON cannot hold. Use None, or leave it out.")
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InputError(
        f"{where} is a {type(value).__name__}, which JSON cannot hold. Use text, numbers, lists and dicts."
    )


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote to a file.

    Nothing in the file is run, and no more memory is used than its size explains. Anything but a whole, unaltered file
    of a format this version knows is a `ModelFileError`.

    Parameters
    ----------
    path : str or path
        A file of `save`, or of ``discriminant fit -o``.

    Returns
    -------
    estimator
        Fitted, as it was saved. If the file has the schema of a table, it takes rows as they are in that table, and
        codes them by ``encoder_``.

    See Also
    --------
    read_model_file : The model without its coding, the schema, and what else was kept.

    Examples
    --------
    See `save`.
    """
    file = read_model_file(path)
    return file.model if file.schema is None else _coding(file.model, file.schema)


def _coding(model: Any, document: dict[str, Any]) -> Any:
    """The model with what codes raw rows for it, if its columns are those that the schema makes."""
    from ..estimators.base import RuleClassifier, input_names  # slow to load, as tables are
    from ..tables import Schema, TableEncoder

    try:
        schema = Schema.from_dict(document)
    except InputError:  # of another kind than ours
        return model
    codes = isinstance(model, RuleClassifier) and not hasattr(model, "encoder_") and schema.width is None
    if codes and input_names(model) == list(schema.names):
        model.encoder_ = TableEncoder.of_schema(schema)
    return model


def read_model_file(path: str | os.PathLike[str]) -> ModelFile:
    """The model that `save` wrote to a file, with its schema and what else was kept with it.

    Parameters
    ----------
    path : str or path
        Likewise.

    Returns
    -------
    ModelFile
        Model, schema and metadata.

    See Also
    --------
    load : The model alone.

    Examples
    --------
    See `save`.
    """
    return _read(path, _decoded)


def read_to_predict(path: str | os.PathLike[str]) -> ModelFile:
    """What predicts, of the model that `save` wrote to a file, with its schema and what else was kept with it.

    Where a rule and its classes say all (`StoredRule`), the model is no estimator: scikit-learn is not loaded.
    """
    return _read(path, _decoded_to_predict)


def _read(path: str | os.PathLike[str], decoded: Callable[[dict[str, Any], dict[str, bytes]], ModelFile]) -> ModelFile:
    try:
        with open(path, "rb") as file:
            document, arrays = unpack(file, _check_version)
        return decoded(document, arrays)
    except tuple(_UNREADABLE) as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {_UNREADABLE[type(error)]}") from error
    except InputError as error:
        parts = (shortened(part, _MOST_LETTERS) if isinstance(part, str) else part for part in error.parts)
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded. ", *parts) from error
    except Exception as error:
        # Whatever a damaged or made-up file runs into while it is read: zip, JSON, array headers, constructors.
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be loaded: it is damaged, or no model file ({type(error).__name__}: "
            f"{shortened(error, _MOST_LETTERS)}). Copy it again from where it was saved, or save the model again."
        ) from error


def _check_version(document: dict[str, Any]) -> None:
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ModelFileError("It is not a model file of this package. Give a file written by discriminant.save (.dsc).")
    if version > VERSION:
        raise ModelFileError(
            f"It has format {version}, written by discriminant {document.get('package')}; this version "
            f"({__version__}) reads formats up to {VERSION}. Upgrade discriminant."
        )


def _decoded(document: dict[str, Any], arrays: dict[str, bytes]) -> ModelFile:
    decoder = Decoder(arrays)
    model = decoder.decode(document["model"])
    decoder.finish()
    if type(model).__name__ != document["class"] or not hasattr(model, "get_params"):
        raise ModelFileError(f"It announces a {document['class']!r} and holds a {type(model).__name__}.")
    return _with_metadata(model, document)


def _decoded_to_predict(document: dict[str, Any], arrays: dict[str, bytes]) -> ModelFile:
    rule = rule_of(document, arrays)
    return _decoded(document, arrays) if rule is None else _with_metadata(rule, document)


def _with_metadata(model: Any, document: dict[str, Any]) -> ModelFile:
    metadata = {**document["meta"], **{name: document[name] for name in _DESCRIPTION}}
    return ModelFile(model, document["schema"], metadata)
