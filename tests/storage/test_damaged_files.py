"""Files that were cut, altered or made up: a model or a `ModelFileError`, never anything else."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile_files import hostile_files, opened, packed, sealed
from stored_models import STORED, fitted, training
from typer.testing import CliRunner

import discriminant
from discriminant import LogisticRegression
from discriminant.cli import app
from discriminant.errors import ModelFileError
from discriminant.storage.model_file import load, save

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The content of a file of every kind of model, small."""
    folder, found = tmp_path_factory.mktemp("files"), {}
    for name in STORED:
        save(fitted(name), folder / f"{name}.dsc", metrics={"auc": 0.5}, schema={"columns": []})
        found[name] = (folder / f"{name}.dsc").read_bytes()
    return found


def altered(content, change):
    """The file whose document was changed, with a checksum that matches."""
    document, tensors = opened(content)
    change(document)
    return sealed(document, tensors)


def refused(tmp_path, content, match):
    (tmp_path / "bad.dsc").write_bytes(content)
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "bad.dsc")


def test_a_made_up_file_with_right_checksums_loads(files, tmp_path):
    (tmp_path / "same.dsc").write_bytes(altered(files["lda"], lambda document: None))
    X, _ = training("lda")
    np.testing.assert_array_equal(load(tmp_path / "same.dsc").predict(X), fitted("lda").predict(X))


@pytest.mark.parametrize("content", [b"", b"P", b"PK", b"PK\x05\x06", b"text", b"\x80\x04pickle", bytes(100)])
def test_what_is_no_model_file(content, tmp_path):
    refused(tmp_path, content, r"bad\.dsc")


def test_a_file_cut_anywhere_is_refused(files, tmp_path):
    whole = files["gaussian-nb"]
    for length in range(0, len(whole), 97):
        refused(tmp_path, whole[:length], r"bad\.dsc")


def test_every_altered_byte_is_found(files, tmp_path):
    whole = files["lda"]
    for place in range(0, len(whole), 61):
        refused(tmp_path, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], r"bad\.dsc")
    (_, _, values), *_ = opened(whole)[1].values()
    altered_values = values[:-1] + bytes([values[-1] ^ 1])
    refused(tmp_path, whole.replace(values, altered_values), "checksum")


def test_a_newer_format_asks_for_an_upgrade(files, tmp_path):
    newer = altered(files["lda"], lambda document: document.update(version=2, package="9.9"))
    refused(tmp_path, newer, rf"version 2.*9\.9.*{discriminant.__version__}")
    for version in (0, -1, "1", 1.0, None, True):
        change = altered(files["lda"], lambda document, version=version: document.update(version=version))
        refused(tmp_path, change, "not a model file")


def test_an_unknown_class_is_refused(files, tmp_path):
    for name in ("Popen", "os.system", "builtins.eval", "LinearRule.__init__", "", None, 3, ["LinearRule"]):
        change = altered(files["lda"], lambda document, name=name: document["model"]["object"].__setitem__(0, name))
        refused(tmp_path, change, r"bad\.dsc")


@pytest.mark.parametrize("name", ["predict", "__class__", "__dict__", "_rows", "covariance_", "fit", "no name", "x"])
def test_an_attribute_cannot_hide_a_method(name, files, tmp_path):
    change = altered(files["lda"], lambda document: document["model"]["object"][1].update({name: 1}))
    refused(tmp_path, change, "attribute")


def test_tensors_that_belong_to_no_model_are_refused(files, tmp_path):
    document, tensors = opened(files["lda"])
    for name in ("../evil", "__class__", "99", ""):
        refused(tmp_path, sealed(document, {**tensors, name: ("U8", [1], b"x")}), "unused")


def test_a_missing_tensor_is_refused(files, tmp_path):
    document, tensors = opened(files["lda"])
    for name in tensors:
        refused(tmp_path, sealed(document, {key: one for key, one in tensors.items() if key != name}), "missing")


def test_a_document_that_is_too_long_is_refused_before_it_is_parsed(tmp_path):
    refused(tmp_path, packed('"' + "a" * 40_000_000 + '"'), "too long")


@pytest.mark.parametrize(
    ("kind", "shape", "values"),
    [
        ("F64", [10**12], bytes(64)),
        ("F64", [2**63 - 1, 2], bytes(64)),
        ("F64", [-8, -1], bytes(64)),
        ("F64", [0, 10**20], b""),
        ("F64", [0, 2**40], b""),
        ("<U1", [3], b"\xff" * 12),
        ("O", [1], b"cos\nsystem\n(S'true'\ntR."),
        ("C64", [1], bytes(8)),
        ("BOOL", [8], b"\xff" * 8),
    ],
    ids=str,
)
def test_hostile_tensors_are_refused_without_memory(kind, shape, values, files, tmp_path):
    document, tensors = opened(files["lda"])
    content = sealed(document, {**tensors, "0": (kind, shape, values)})
    tracemalloc.start()
    refused(tmp_path, content, r"bad\.dsc")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize(
    "node",
    [
        {"scalar": ["<U900000000", "a"]},
        {"scalar": ["O", "a"]},
        {"scalar": ["<f8", ["a"]]},
        {"values": ["O", [10**12], []]},
        {"values": ["O", [[]], []]},
        {"values": ["U", [2], ["a", 1]]},
        {"values": ["S", [1], ["a"]]},
        {"values": ["V", [1], ["a"]]},
        {"array": "1"},
        {"turned": ["0", [5, 6]]},
        {"set": [[1]]},
        {"dict": [[[1], 2]]},
        {"float": "1e5"},
        {"bytes": "zz"},
        {"eval": "1"},
        {"tuple": [], "set": []},
        {},
    ],
    ids=str,
)
def test_values_that_are_none_are_refused(node, files, tmp_path):
    change = altered(files["lda"], lambda document: document["model"]["object"][1].update(priors=node))
    refused(tmp_path, change, r"bad\.dsc")


def test_json_that_is_deep_or_not_json(files, tmp_path):
    for text in ("[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a": NaN}', "[]", "1" * 5000, ""):
        refused(tmp_path, packed(text), r"bad\.dsc")


def with_array(content, part, attribute, values):
    """The file with another array in place of an attribute of a part of its model."""
    document, tensors = opened(content)
    attributes = document["model"]["object"][1][part]["object"][1]
    name = attributes[attribute].get("array") or attributes[attribute]["turned"][0]
    attributes[attribute], tensors[name] = {"array": name}, tensor_of(values)
    return sealed(document, tensors)


def tensor_of(values):
    """Type, shape and bytes of an array."""
    kinds = {"f8": "F64", "f4": "F32", "i8": "I64"}
    return kinds[values.dtype.str[1:]], list(values.shape), values.tobytes()


@pytest.mark.parametrize(
    ("name", "part", "attribute"),
    [
        ("lda", "rule_", "coef"),
        ("lda", "rule_", "centre"),
        ("qda", "rule_", "spheres"),
        ("qda", "rule_", "constants"),
        ("gaussian-nb", "rule_", "variances"),
        ("gaussian-nb", "moments_", "scatter"),
        ("lda", "moments_", "counts"),
        ("lda", "moments_", "mean"),
        ("naive-bayes", "rule_", "normal_columns"),
    ],
)
def test_parts_of_the_wrong_shape_are_refused(name, part, attribute, files, tmp_path):
    """Compiled code would read past their end."""
    for values in (np.zeros(1), np.zeros((9, 9)), np.zeros((3, 4), dtype=np.float32), np.zeros((0, 0))):
        refused(tmp_path, with_array(files[name], part, attribute, values), r"bad\.dsc")


def calibration_of(document):
    """The parts of the calibrated classifier in the document of a support vector machine."""
    return document["model"]["object"][1]["calibrated_"]["object"][1]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[0.0, 1.0], [0.0, 1.2]], "probabilities of a curve"),
        ([[1.0, 0.0], [0.0, 0.5]], "corners of a curve"),
        ([[0.0, 1.0], [0.5, 0.4]], "corners of a curve"),
        ([[0.0, np.nan], [0.5, 0.6]], "curve"),
        ([0.0, 1.0], "curve"),
        ([[], []], "curve"),
        ([[0, 1], [0, 1]], "curve"),
    ],
    ids=["above one", "backwards", "falling", "nan", "flat", "empty", "whole numbers"],
)
def test_curves_that_are_none_are_refused(values, reason, files, tmp_path):
    document, tensors = opened(files["svm-isotonic-two"])
    tensors[calibration_of(document)["curves"][0][0]["array"]] = tensor_of(np.array(values))
    refused(tmp_path, sealed(document, tensors), reason)


def test_a_calibration_of_another_shape_is_refused(files, tmp_path):
    def another_method(document):
        calibration_of(document)["method"] = "temperature"

    def no_members(document):
        calibration_of(document)["members"] = []

    def another_part(document):
        document["model"]["object"][1]["calibrated_"] = {"object": ["Logistic", {}]}

    refused(tmp_path, altered(files["svm-sigmoid"], another_method), "method")
    refused(tmp_path, altered(files["svm-sigmoid"], no_members), "members")
    refused(tmp_path, altered(files["svm-sigmoid"], another_part), "calibrated_ does not predict probabilities")


def test_hostile_files_take_little_time_and_memory(tmp_path):
    """Ten times what the benchmark shows; a file that ends the process leaves the others without a line."""
    names = []
    for number, (name, content) in enumerate(hostile_files()):
        names.append(name)
        (tmp_path / f"{number:03}.dsc").write_bytes(content)
    program = Path(__file__).parent / "load_under_limits.py"
    ran = subprocess.run([sys.executable, program, tmp_path, "10", "1000"], capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(names), f"{names[len(found)]} ends the process: {ran.returncode} {ran.stderr}"
    assert {names[k]: one for k, one in enumerate(found) if one["megabytes"] > 1000} == {}
    assert max(len(one["outcome"]) for one in found) < 1000


@pytest.fixture(scope="module")
def originals(files, tmp_path_factory):
    """A folder with a file of every kind of model, with files of the command line and with rows for these."""
    folder = tmp_path_factory.mktemp("originals")
    for name, content in files.items():
        (folder / f"{name}.dsc").write_bytes(content)
    rng, classes = np.random.default_rng(0), ["no", "yes"]
    lines = ["y,size,colour,member,weight"]
    for _ in range(200):
        code = int(rng.integers(2))
        size = "" if rng.random() < 0.1 else f"{code + rng.normal():.3f}"
        lines.append(
            f"{classes[code]},{size},{rng.choice(['red', 'blue'])},{rng.random() < 0.5},{rng.exponential():.2f}"
        )
    for name, rows in {"table": lines[:40], "training": lines}.items():
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    model = LogisticRegression.from_formula(
        "y ~ bs(size, df=4) * colour + log(weight + 0.5) + member", pd.read_csv(folder / "training.csv"),
        missing="indicator", alpha=0.01,
    )  # fmt: skip
    save(model, folder / "command-formula.dsc", schema=model.encoder_.schema_.to_dict())
    for name in ("logistic", "lda", "naive-bayes", "svm", "auto"):
        words = [
            "fit",
            str(folder / "training.csv"),
            "-t",
            "y",
            "--model",
            name,
            "-o",
            str(folder / f"command-{name}.dsc"),
        ]
        assert CliRunner().invoke(app, words).exit_code == 0
    return folder


def assert_mutated_files_load_or_are_refused(folder, count, seed):
    here = Path(__file__).parent
    command = [sys.executable, here / "mutate_under_limits.py", folder, str(count), str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent), *sys.path])}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["failed"] == 0, ran.stderr
    assert 0 < found["answered"] <= found["loaded"] < count


def test_mutated_files_load_or_are_refused(originals):
    assert_mutated_files_load_or_are_refused(originals, 150, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_mutated_files_load_or_are_refused(originals, seed):
    assert_mutated_files_load_or_are_refused(originals, 5_000, seed)


def test_training_metadata_of_another_type_are_refused(originals, tmp_path):
    document, tensors = opened((originals / "command-lda.dsc").read_bytes())
    document["training"] = ["sha256"]
    (tmp_path / "model.dsc").write_bytes(sealed(document, tensors))
    ran = CliRunner().invoke(app, ["evaluate", str(tmp_path / "model.dsc"), str(originals / "table.csv")])
    assert ran.exit_code == 1
    assert "metadata" in ran.stderr
