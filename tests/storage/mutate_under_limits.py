"""Change model files at random, load and use what loads, within limits of time and memory.

``python mutate_under_limits.py FOLDER COUNT SEED`` takes the files ``NAME.dsc`` of a folder: those of `stored_models`,
and those that the command line wrote, which have a schema. Checksums are made to match, so that changes reach what
lies behind them. It writes how many files loaded, how many answered, and how many failed: led to anything but a model,
an answer or an error of this package.
"""

import copy
import io
import json
import re
import signal
import sys
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
from hostile_files import packed
from load_under_limits import limit
from stored_models import STORED, answers, training
from typer.testing import CliRunner

from discriminant.cli import app
from discriminant.errors import DiscriminantError, ModelFileError
from discriminant.storage.archive import CHECKSUM, DOCUMENT, digest
from discriminant.storage.model_file import read_model_file

#: Of one file: seconds of work, and megabytes above the imports.
SECONDS, MEGABYTES = 10, 1000


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def sealed(parts, document):
    """The file with this document, all checksums made to match."""
    arrays = {name: content for name, content in parts.items() if name not in (DOCUMENT, CHECKSUM)}
    if isinstance(document, dict) and isinstance(document.get("arrays"), dict):
        document = {**document, "arrays": {name: digest(content) for name, content in arrays.items()}}
    text = json.dumps(document).encode()
    return packed({DOCUMENT: text, CHECKSUM: digest(text).encode(), **arrays})


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
    [], {}, [1, 2], [[]], {"array": "arrays/0.npy"}, {"float": "nan"}, {"float": "-inf"}, {"tuple": [1, 2]},
    {"dict": [[1, 2]]}, {"scalar": ["<f8", 1.5]}, {"scalar": ["<U", "a"]},
    {"objects": [[2], ["a", 1]]}, {"bytes": "00"},
]  # fmt: skip


def change_document(rng, content, where=None):
    """Some values of the document exchanged, removed, renamed or doubled."""
    parts = entries(content)
    document = json.loads(parts[DOCUMENT])
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
    return sealed(parts, document)


def change_model(rng, content):
    return change_document(rng, content, "model")


def change_schema(rng, content):
    return change_document(rng, content, ["schema", "training", "meta"][rng.integers(3)])


def change_array(rng, content):
    """An array of other bytes, header included, or in the place of another."""
    parts = entries(content)
    one, other = chosen(rng, parts), chosen(rng, parts)
    parts[one] = parts[other] if rng.integers(2) else flip_bytes(rng, parts[one])
    return sealed(parts, json.loads(parts[DOCUMENT]))


TYPES = [
    b"|b1", b"|i1", b"|u1", b"<i2", b"<i4", b"<i8", b"<u8", b"<f2", b"<f4", b"<f8", b"<f16", b">f8", b"=f8", b"<c16",
    b"|O", b"|O8", b"<U0", b"<U1", b"<U2", b"<U99999999", b"|S0", b"|S8", b"|V0", b"|V8", b"<M8[s/0]", b"<M8[ns]",
    b"<m8[7D]", b"f8,f8", b"(2,)f8", b"", b"T",
]  # fmt: skip
LENGTHS = [b"0", b"1", b"2", b"3", b"4", b"7", b"8", b"12", b"-1", b"300000000", b"4294967296", b"99999999999999999999"]


def change_header(rng, content):
    """Another type, another shape of as many values or of others, another order, in the header of an array."""
    parts = entries(content)
    name = chosen(rng, parts)
    head, values = parts[name].split(b"\n", 1)
    how = rng.integers(5)
    if how == 0:
        head = re.sub(rb"'descr': '[^']*'", lambda _: b"'descr': '" + TYPES[rng.integers(len(TYPES))] + b"'", head)
    elif how == 1:
        head = head.replace(b"False", b"True")
    elif how == 2:
        kind, size = [(b"<i8", 8), (b"<u8", 8), (b"<f4", 4), (b"|i1", 1), (b"|b1", 1), (b"<U2", 8)][rng.integers(6)]
        shape = f"({len(values) // size},)".encode()
        head = re.sub(rb"'descr': '[^']*'", lambda _: b"'descr': '" + kind + b"'", head)
        head = re.sub(rb"\([\d, ]*\)", lambda _: shape, head)
    elif how == 3:  # the axes the other way round
        found = re.search(rb"\(([\d, ]*)\)", head)[1].replace(b",", b" ").split()
        head = re.sub(rb"\([\d, ]*\)", lambda _: b"(" + b", ".join(found[::-1]) + b",)"[len(found) > 1 :], head)
    else:
        lengths = [LENGTHS[k] for k in rng.integers(len(LENGTHS), size=rng.integers(5))]
        head = re.sub(rb"\([\d, ]*\)", lambda _: b"(" + b", ".join(lengths) + b",)"[len(lengths) != 1 :], head)
    text = head[10:].rstrip(b" ")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    parts[name] = head[:8] + len(text).to_bytes(2, "little") + text + values
    return sealed(parts, json.loads(parts[DOCUMENT]))


def change_values(rng, content):
    """Other numbers in an array, among them those that are none."""
    parts = entries(content)
    name = chosen(rng, parts)
    head, values = parts[name].split(b"\n", 1)
    numbers = np.frombuffer(values, dtype="<f8").copy() if len(values) % 8 == 0 and values else None
    if numbers is not None:
        odd = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, -1e308]
        numbers[rng.integers(len(numbers), size=rng.integers(1, 4))] = odd[rng.integers(len(odd))]
        if b"<i8" in head:
            numbers.view("<i8")[rng.integers(len(numbers))] = [-1, 2**62, 0, 5, -(2**63)][rng.integers(5)]
        parts[name] = head + b"\n" + numbers.tobytes()
    return sealed(parts, json.loads(parts[DOCUMENT]))


def chosen(rng, parts):
    names = [name for name in parts if name.endswith(".npy")]
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


def change_entries(rng, content):
    """Entries left out, renamed or exchanged."""
    parts = list(entries(content).items())
    i, j = rng.integers(len(parts), size=2)
    if rng.integers(2):
        parts[i], parts[j] = (parts[i][0], parts[j][1]), (parts[j][0], parts[i][1])
    else:
        del parts[i]
    return packed(dict(parts))


MUTATIONS = [
    flip_bytes, cut, move_bytes, change_entries, change_document, change_model, change_model, change_model,
    change_schema, change_schema, change_array, change_header, change_header, change_header,
    change_values, change_values,
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
