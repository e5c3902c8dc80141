"""Change model files at random, load and use what loads, within limits of time and memory.

``python mutate_under_limits.py FOLDER COUNT SEED`` takes the files ``NAME.dsc`` of a folder: those of `stored_models`,
and those that the command line wrote, which have a schema. The checksum is made to match, so that changes reach what
lies behind it. It writes how many files loaded, how many answered, and how many failed: led to anything but a model,
an answer or an error of this package.
"""

import copy
import json
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
from hostile_files import opened, sealed
from load_under_limits import limit
from stored_models import STORED, answers, training
from typer.testing import CliRunner

from discriminant.cli import app
from discriminant.errors import DiscriminantError, ModelFileError
from discriminant.storage.model_file import read_model_file

#: Of one file: seconds of work, and megabytes above the imports.
SECONDS, MEGABYTES = 10, 1000


def nodes(document):
    """Every list and dict in the document."""
    found, waiting = [], [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (list, dict)) and node:
            found.append(node)
            waiting.extend(node.values() if isinstance(node, dict) else node)
    return found


VALUES = [
    None, True, 0, -1, 1, 3, 2**31, 2**63, -(2**63), 1.5, 1e308, -0.0, "", "nan", "LinearRule", "\x1b[2J", "a" * 5000,
    [], {}, [1, 2], [[]], {"array": "0"}, {"float": "nan"}, {"float": "-inf"}, {"tuple": [1, 2]},
    {"dict": [[1, 2]]}, {"scalar": ["<f8", 1.5]}, {"scalar": ["<U", "a"]},
    {"values": ["O", [2], ["a", 1]]}, {"values": ["U", [1], ["a"]]}, {"bytes": "00"},
]  # fmt: skip


def change_document(rng, content, where=None):
    """Some values of the document exchanged, removed, renamed or doubled."""
    document, tensors = opened(content)
    inside = document if where is None else document.get(where)
    for _ in range(rng.integers(1, 4)):
        found = nodes(inside) or [document]
        node = found[rng.integers(len(found))]
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key, how = keys[rng.integers(len(keys))], rng.integers(6)
        if how == 0:
            del node[key]
        elif how in (1, 2):
            node[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        elif how == 3:
            node[key] = copy.deepcopy(found[rng.integers(len(found))])
        elif isinstance(node, dict):
            node[["predict", "rule_", "object", "coef_"][rng.integers(4)]] = node.pop(key)
        else:
            node.append(copy.deepcopy(node[key]))
    return sealed(document, tensors)


def change_model(rng, content):
    return change_document(rng, content, "model")


def change_schema(rng, content):
    return change_document(rng, content, ["schema", "training", "meta"][rng.integers(3)])


def change_tensor(rng, content):
    """A tensor of other bytes, in the place of another, or without a name that the document knows."""
    document, tensors = opened(content)
    one, other = chosen(rng, tensors), chosen(rng, tensors)
    how, (kind, shape, values) = rng.integers(4), tensors[one]
    if how == 0:
        tensors[one] = tensors[other]
    elif how == 1:
        del tensors[one]
    elif how == 2:
        tensors[str(rng.integers(30))] = tensors.pop(one)
    else:
        tensors[one] = (kind, shape, flip_bytes(rng, values) if values else values)
    return sealed(document, tensors)


TYPES = ["BOOL", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "F16", "F32", "F64", "BF16", "F8_E5M2", "C64"]
LENGTHS = [0, 1, 2, 3, 4, 7, 8, 12, -1, 300_000_000, 2**32, 2**64 - 1]


def change_shape(rng, content):
    """Another type, another shape of as many bytes or of others, in the header of a tensor."""
    document, tensors = opened(content)
    name = chosen(rng, tensors)
    kind, shape, values = tensors[name]
    how = rng.integers(4)
    if how == 0:
        kind = TYPES[rng.integers(len(TYPES))]
    elif how == 1:
        kind, size = [("I64", 8), ("U64", 8), ("F32", 4), ("I8", 1), ("BOOL", 1), ("F16", 2)][rng.integers(6)]
        shape = [len(values) // size]
    elif how == 2:
        shape = shape[::-1]
    else:
        shape = [LENGTHS[k] for k in rng.integers(len(LENGTHS), size=rng.integers(5))]
    return sealed(document, {**tensors, name: (kind, shape, values)})


def change_values(rng, content):
    """Other numbers in a tensor, among them those that are none."""
    document, tensors = opened(content)
    name = chosen(rng, tensors)
    kind, shape, values = tensors[name]
    numbers = np.frombuffer(values, dtype="<f8").copy() if len(values) % 8 == 0 and values else None
    if numbers is not None:
        odd = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, -1e308]
        numbers[rng.integers(len(numbers), size=rng.integers(1, 4))] = odd[rng.integers(len(odd))]
        if kind == "I64":
            numbers.view("<i8")[rng.integers(len(numbers))] = [-1, 2**62, 0, 5, -(2**63)][rng.integers(5)]
        tensors[name] = (kind, shape, numbers.tobytes())
    return sealed(document, tensors)


def chosen(rng, tensors):
    names = sorted(tensors)
    return names[rng.integers(len(names))]


def flip_bytes(rng, content):
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        changed[place] = rng.integers(256)
    return bytes(changed)


def cut(rng, content):
    return content[: rng.integers(len(content))]


def move_bytes(rng, content):
    """A piece removed, doubled or put somewhere else."""
    (start, stop), to = sorted(rng.integers(len(content), size=2)), int(rng.integers(len(content)))
    rest = content[:start] + content[stop:] if rng.integers(2) else content
    return rest[:to] + content[start:stop] + rest[to:]


def change_header(rng, content):
    """Other bytes in the header, whose length they are made to match."""
    n = int.from_bytes(content[:8], "little")
    header = flip_bytes(rng, content[8 : 8 + n]) if rng.integers(2) else move_bytes(rng, content[8 : 8 + n])
    return len(header).to_bytes(8, "little") + header + content[8 + n :]


MUTATIONS = [
    flip_bytes, cut, move_bytes, change_header, change_document, change_model, change_model, change_model,
    change_schema, change_schema, change_tensor, change_tensor, change_shape, change_shape, change_values,
    change_values,
]  # fmt: skip


def mutated(files, count, seed):
    """Changed files, each with the name of the one it was made of and the way it was changed."""
    names = sorted(files)
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        name, change = names[rng.integers(len(names))], MUTATIONS[rng.integers(len(MUTATIONS))]
        yield number, name, change.__name__, change(rng, files[name])


def used(path, name, folder):
    """Whether a file loads, and whether the model in it answers."""
    try:
        model = read_model_file(path).model
    except ModelFileError:
        return False, False
    if name not in STORED:
        return True, commands_answer(path, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers(model, training(name)[0])
    except DiscriminantError:
        return True, False
    return True, True


def commands_answer(path, folder):
    """Whether commands can use the file; whether or not, they end as they should."""
    table, codes = folder / "table.csv", []
    for words in (
        ("predict", path, table),
        ("predict", path, table, "--proba", "--keep-all"),
        ("evaluate", path, table, "--report", folder / "report.html", "--overwrite"),
        ("explain", path),
        ("explain", path, table, "--row", "1"),
        ("export", path, "--to", "python"),
        ("export", path, "--to", "sql", "--dialect", "duckdb"),
    ):
        ran = CliRunner().invoke(app, [str(word) for word in words])
        if ran.exit_code not in (0, 1):
            raise AssertionError(f"{words[0]} ended with {ran.exit_code}: {ran.stderr} {ran.exception!r}")
        codes.append(ran.exit_code)
    return 0 in codes


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    files = {path.stem: path.read_bytes() for path in folder.glob("*.dsc")}
    path, loaded, answered, failed, slowest = folder / f"mutated-{seed}", 0, 0, 0, 0.0
    for name in files:  # everything is imported and compiled before the limits
        path.write_bytes(files[name])
        assert used(path, name, folder) == (True, True), name
    limit(MEGABYTES)
    for number, name, way, content in mutated(files, count, seed):
        path.write_bytes(content)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        start = time.process_time()
        try:
            loads, answers_ = used(path, name, folder)
        except Exception:
            failed += 1
            print(f"File {number} of seed {seed}, made of {name} by {way}:\n{traceback.format_exc()}", file=sys.stderr)
            continue
        signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, time.process_time() - start)
        loaded, answered = loaded + loads, answered + answers_
    print(json.dumps({"loaded": loaded, "answered": answered, "failed": failed, "seconds": slowest}))


if __name__ == "__main__":
    main()
