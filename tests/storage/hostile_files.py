"""Files of about a megabyte, made to take much time or memory or to end the process that reads them."""

import io
import json
import math
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

from discriminant.storage.archive import CHECKSUM, DOCUMENT, digest

SIZE = 1_000_000
_PRIME = 2**61 - 1  #: Python's hash of a whole number is its remainder


def packed(parts: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of these entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


def with_checksum(text: bytes, arrays: dict[str, bytes] | None = None) -> bytes:
    """The file of a document's text, with its checksum."""
    return packed({DOCUMENT: text, CHECKSUM: digest(text).encode(), **(arrays or {})})


def document(model: str, arrays: dict[str, bytes] | None = None, meta: str = "{}", **more: Any) -> bytes:
    """The file of a model, and of what goes with it, that are written in JSON."""
    listed = {name: digest(content) for name, content in (arrays or {}).items()}
    head = {
        "format": "discriminant model file", "version": 1, "package": "1.0", "saved": "2026-01-01T00:00:00+00:00",
        "class": "LinearDiscriminantAnalysis", "metrics": None, "training": None, "schema": None,
        "arrays": listed, **more,
    }  # fmt: skip
    text = json.dumps(head)[:-1] + f', "meta": {meta}, "model": {model}}}'
    return with_checksum(text.encode(), arrays)


def lda(priors: str) -> str:
    """A model with these priors, whatever they are."""
    return f'{{"object": ["LinearDiscriminantAnalysis", {{"priors": {priors}}}]}}'


def repeated(one: str, count: int | None = None) -> str:
    """A list of the same, up to the size of a file."""
    return "[" + ", ".join([one] * (count or SIZE // (len(one) + 2))) + "]"


def array(descr: str, shape: str, values: bytes = b"", order: str = "False") -> bytes:
    """A ``.npy`` file with this header."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + values


def colliding_numbers() -> list[int]:
    """Whole numbers that Python hashes to 1."""
    return [1 + k * _PRIME for k in range(SIZE // 28)]


def colliding_pairs(count: int) -> list[tuple[int, int]]:
    """Pairs of whole numbers whose tuples Python hashes to the same, by solving its hash for the second."""
    word, found, first = 2**64, [], 1
    p1, p2, p5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
    after_second = 12345 * pow(p1, -1, word) % word
    wanted = ((after_second >> 31) | (after_second << 33)) % word
    while len(found) < count:
        sum_first = (p5 + first * p2) % word
        after_first = ((sum_first << 31) | (sum_first >> 33)) % word * p1 % word
        second = (wanted - after_first) * pow(p2, -1, word) % word
        if 0 <= second < _PRIME:
            found.append((first, second))
        first += 1
    return found


def hostile_files() -> Iterator[tuple[str, bytes]]:
    """The files by name."""
    yield from _documents()
    yield from _headers()
    yield from _values()
    yield from _archives()


def _documents() -> Iterator[tuple[str, bytes]]:
    for name, text in {
        "deep lists": "[" * SIZE,
        "deep lists that end": "[" * (SIZE // 2) + "]" * (SIZE // 2),
        "deep objects": '{"tuple":' * (SIZE // 9),
        "a long whole number": "1" * SIZE,
        "a long float": "0." + "1" * SIZE,
        "many digits and an exponent": "1" * (SIZE - 10) + "e-999999",
        "many long numbers": repeated("1" * 4000),
        "quotes": '"' * SIZE,
        "escapes": '"' + "\\u0001" * (SIZE // 6) + '"',
        "half letters": repeated('"\\ud800"'),
        "backslashes": "\\" * SIZE,
    }.items():
        yield name, with_checksum(text.encode())
        yield f"{name} in a model", document(lda(text))
        yield f"{name} beside a model", document(lda("null"), meta=f'{{"note": {text}}}')
    yield "a kind with a long name", document(lda(json.dumps({"a" * SIZE: 1})))
    yield "a class with a long name", document(json.dumps({"object": ["a" * SIZE, {}]}))
    yield "an array with a long name", document(lda(json.dumps({"array": "a" * SIZE})))
    yield "a long announcement", document(lda("null"), **{"class": "a" * SIZE})
    yield "many keys", document(lda(json.dumps({str(k): 0 for k in range(SIZE // 14)})))


def _headers() -> Iterator[tuple[str, bytes]]:
    zero_sized = array("'<U1'", "(0,)")
    for name, content in {
        "date by zero": array("'<M8[s/0]'", "(3,)", bytes(24)),
        "difference by zero": array("'<m8[s/0]'", "(3,)", bytes(24)),
        "text without letters": array("'<U0'", "(300000000,)"),
        "bytes without letters": array("'|S0'", "(300000000,)"),
        "nothing": array("'|V0'", "(300000000,)"),
        "nothing in a structure": array("[('a', '<U0')]", "(300000000,)"),
        "structure": array("[('a', '<f8'), ('b', '<f8')]", "(2,)", bytes(32)),
        "structure of many": array(str([(f"f{k}", "<f8") for k in range(3000)]), "(0,)"),
        "structure in structures": array("[('a', " * 2000 + "'<f8'" + ")]" * 2000, "(0,)"),
        "objects": array("'|O'", "(1,)", b"cos\nsystem\n(S'true'\ntR."),
        "repeated type": array("'(1000000,1000000)f8'", "(0,)"),
        "long text": array("'<U500000000'", "(0,)"),
        "more than there is": array("'<f8'", "(1000000000000,)", bytes(64)),
        "a product that overflows": array("'<f8'", "(4294967296, 4294967296)"),
        "no values, long axes": array("'<f8'", "(0, 9999999999, 9999999999)"),
        "many axes": array("'<f8'", "(" + "1, " * 3000 + ")", bytes(8)),
        "negative": array("'<f8'", "(-1, -8)", bytes(64)),
        "truth": array("True", "(1,)", bytes(8)),
        "Fortran": array("'<f8'", "(1, 8)", bytes(64), order="True"),
        "arithmetic": array("'<f8'", "(9**9**9,)", bytes(64)),
        "deep header": array("'<f8'", "(" * 20000 + ")" * 20000, bytes(64)),
        "spaces": array("'<f8'", "(8,)", bytes(64)).replace(b"}", b"}" + b" " * 9000),
        "another order of keys": array("'<f8'", "(8,)", bytes(64)).replace(b"'descr'", b"'shape'"),
        "not letters": array("'<U1'", "(3,)", b"\xff" * 12),
        "not truth values": array("'|b1'", "(8,)", b"\xff" * 8),
    }.items():
        yield f"array: {name}", document(lda('{"array": "arrays/0.npy"}'), {"arrays/0.npy": content})
    many = {f"arrays/{k}.npy": zero_sized for k in range(SIZE // 420)}
    named = ", ".join(f'{{"array": "{name}"}}' for name in many)
    yield "many arrays", document(lda(f"[{named}]"), many)
    longest = {name: array("'<U10000'", "(0,)") for name in many}
    yield "many arrays of long text", document(lda(f"[{named}]"), longest)
    wide = {name: array("'<f8'", "(0, 1048576)") for name in many}
    yield "many wide arrays", document(lda(f"[{named}]"), wide)


def _values() -> Iterator[tuple[str, bytes]]:
    numbers, pairs = colliding_numbers(), colliding_pairs(SIZE // 62)
    tuples = [{"tuple": list(pair)} for pair in pairs]
    priors = {
        "set of equal hashes": {"set": numbers},
        "dict of equal hashes": {"dict": [[number, 0] for number in numbers]},
        "dict of pairs of equal hashes": {"dict": [[pair, 0] for pair in tuples]},
        "objects of equal hashes": {"objects": [[len(numbers)], numbers]},
        "objects of pairs of equal hashes": {"objects": [[len(tuples)], tuples]},
        "long shape": {"objects": [[2**60] * (SIZE // 22), []]},
        "many axes": {"turned": ["arrays/0.npy", list(range(SIZE // 8))]},
    }
    for name, value in priors.items():
        yield name, document(lda(json.dumps(value)))
    yield "levels of equal hashes", with_levels(numbers)
    yield "levels that are pairs of equal hashes", with_levels(tuples)
    for name, one in {
        "empty lists": "[]",
        "empty objects": "{}",
        "empty sets": '{"set": []}',
        "empty tuples": '{"tuple": []}',
        "empty dicts": '{"dict": []}',
        "empty arrays": '{"objects": [[0], []]}',
        "numbers": "1",
        "floats": "0.5",
        "texts": '""',
        "bytes": '{"bytes": ""}',
        "NumPy's numbers": '{"scalar": ["<f8", 1]}',
        "NumPy's structures": '{"scalar": ["' + "f8," * 1000 + '", 1]}',
        "NumPy's dates": '{"scalar": ["<M8[s/0]", 1]}',
        "models": '{"object": ["SupportVectorClassifier", {}]}',
        "losses": '{"object": ["Logistic", {}]}',
        "frames": '{"object": ["FrameBackend", {"name": "pandas"}]}',
        "moments": '{"object": ["ClassMoments", {}]}',
    }.items():
        yield f"many {name}", document(lda(repeated(one)))
    attributes = ", ".join(f'"a{k}_": 0' for k in range(SIZE // 13))
    yield "many attributes", document(f'{{"object": ["LinearDiscriminantAnalysis", {{{attributes}}}]}}')
    strange = ", ".join(f'"a{k}": 0' for k in range(SIZE // 13))
    yield "many strange attributes", document(f'{{"object": ["LinearDiscriminantAnalysis", {{{strange}}}]}}')
    yield "many classes", document(calibrated(list(range(SIZE // 16))))


def with_levels(levels: list[Any]) -> bytes:
    """A file with the rule of a categorical column that has these levels."""
    table = array("'<f8'", f"({len(levels) + 1}, 1)", bytes(8 * len(levels) + 8))
    rule = {"object": ["LevelRule", {"levels": levels, "table": {"array": "arrays/0.npy"}}]}
    return document(lda(json.dumps(rule)), {"arrays/0.npy": table})


def calibrated(labels: list[Any]) -> str:
    """A calibrated classifier whose member has as many classes, in an array of objects."""
    classes = {"objects": [[len(labels)], labels]}
    member = {"object": ["LinearDiscriminantAnalysis", {"classes_": classes, "n_features_in_": 1}]}
    parts = {"classes": classes, "members": [member], "curves": [[]], "method": "sigmoid"}
    settings = dict.fromkeys(("estimator", "cv", "n_jobs", "ensemble"))
    return json.dumps({"object": ["CalibratedClassifier", {**settings, **parts}]})


def _archives() -> Iterator[tuple[str, bytes]]:
    plain = document(lda("null"))
    yield "compressed", packed({DOCUMENT: b" " * (500 * SIZE)}, zipfile.ZIP_DEFLATED)
    yield "many entries", packed({f"{k}": b"" for k in range(SIZE // 90)})
    yield "many arrays that are not listed", packed({f"arrays/{k}.npy": b"" for k in range(SIZE // 110)})
    yield "entries that overlap", overlapping(SIZE // 80)
    yield "a long comment", plain[:-2] + struct.pack("<H", 60_000) + bytes(60_000)
    yield "something before", b"PK" + bytes(SIZE) + plain
    yield "something behind", plain + bytes(SIZE)
    yield "only ends", plain[-22:] * (SIZE // 22)
    yield "encrypted", plain.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")


def overlapping(count: int) -> bytes:
    """One entry of half the file that the list names again and again."""
    inner = packed({DOCUMENT: bytes(SIZE // 2)})
    start = struct.unpack("<I", inner[-6:-2])[0]
    one = inner[start:-22]
    many = one * min(count, (SIZE // 2) // len(one))
    entries = math.floor(len(many) / len(one))
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, entries, entries, len(many), start, 0)
    return inner[:start] + many + end
