"""Files of about a megabyte, made to take much time or memory or to end the process that reads them."""

import json
import struct
from collections.abc import Iterator
from typing import Any

from safetensors.numpy import load

from discriminant.storage.archive import DOCUMENT, digest

SIZE = 1_000_000
_PRIME = 2**61 - 1  #: Python's hash of a whole number is its remainder


def raw(header: bytes, values: bytes = b"") -> bytes:
    """A safetensors file with this header, whatever it says."""
    return struct.pack("<Q", len(header)) + header + values


def packed(text: str, tensors: dict[str, Any] | None = None, values: bytes = b"", checksum: str | None = None) -> bytes:
    """The file of a document's text and of tensors as the header describes them, with its checksum where it has one."""
    header = json.dumps({"__metadata__": {DOCUMENT: "0" * 64 + text}, **(tensors or {})}).encode()
    try:
        arrays = load(raw(header, values))
        checksum = checksum or digest(text, arrays)
    except Exception:  # no checksum is read of a file that no parser takes
        return raw(header, values)
    header = json.dumps({"__metadata__": {DOCUMENT: checksum + text}, **(tensors or {})}).encode()
    return raw(header, values)


def tensor(kind: str, shape: Any, start: int, stop: int) -> dict[str, Any]:
    """What a header says of a tensor."""
    return {"dtype": kind, "shape": shape, "data_offsets": [start, stop]}


def opened(content: bytes) -> tuple[Any, dict[str, tuple[str, list[int], bytes]]]:
    """The document of a file, and the type, shape and bytes of its tensors."""
    (n,) = struct.unpack("<Q", content[:8])
    header, values = json.loads(content[8 : 8 + n]), content[8 + n :]
    text = header.pop("__metadata__")[DOCUMENT][64:]
    tensors = {}
    for name, one in header.items():
        start, stop = one["data_offsets"]
        tensors[name] = (one["dtype"], one["shape"], values[start:stop])
    return json.loads(text), tensors


def sealed(document: Any, tensors: dict[str, tuple[str, Any, bytes]]) -> bytes:
    """The file of a document and tensors, with a checksum that matches."""
    described, start = {}, 0
    for name, (kind, shape, values) in tensors.items():
        described[name] = tensor(kind, shape, start, start + len(values))
        start += len(values)
    return packed(json.dumps(document), described, b"".join(values for _, _, values in tensors.values()))


def document(
    model: str, tensors: dict[str, Any] | None = None, values: bytes = b"", meta: str = "{}", **more: Any
) -> bytes:
    """The file of a model, and of what goes with it, that are written in JSON."""
    head = {
        "format": "discriminant model file", "version": 1, "package": "1.0", "saved": "2026-01-01T00:00:00+00:00",
        "class": "LinearDiscriminantAnalysis", "metrics": None, "training": None, "schema": None, **more,
    }  # fmt: skip
    return packed(json.dumps(head)[:-1] + f', "meta": {meta}, "model": {model}}}', tensors, values)


def lda(priors: str) -> str:
    """A model with these priors, whatever they are."""
    return f'{{"object": ["LinearDiscriminantAnalysis", {{"priors": {priors}}}]}}'


def repeated(one: str, count: int | None = None) -> str:
    """A list of the same, up to the size of a file."""
    return "[" + ", ".join([one] * (count or SIZE // (len(one) + 2))) + "]"


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
    yield from _tensors()
    yield from _values()
    yield from _headers()


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
        yield name, packed(text)
        yield f"{name} in a model", document(lda(text))
        yield f"{name} beside a model", document(lda("null"), meta=f'{{"note": {text}}}')
    yield "a kind with a long name", document(lda(json.dumps({"a" * SIZE: 1})))
    yield "a class with a long name", document(json.dumps({"object": ["a" * SIZE, {}]}))
    yield "an array with a long name", document(lda(json.dumps({"array": "a" * SIZE})))
    yield "a long announcement", document(lda("null"), **{"class": "a" * SIZE})
    yield "many keys", document(lda(json.dumps({str(k): 0 for k in range(SIZE // 14)})))


def _tensors() -> Iterator[tuple[str, bytes]]:
    for name, (one, values) in {
        "more than there is": (tensor("F64", [10**12], 0, 64), bytes(64)),
        "a product that overflows": (tensor("F64", [2**32, 2**32], 0, 0), b""),
        "no values, long axes": (tensor("F64", [0, 2**60, 2**60], 0, 0), b""),
        "no values, one long axis": (tensor("F64", [0, 2**40], 0, 0), b""),
        "many axes": (tensor("F64", [1] * 3000, 0, 8), bytes(8)),
        "negative": (tensor("F64", [-1, -8], 0, 64), bytes(64)),
        "text": (tensor("<U1", [3], 0, 12), bytes(12)),
        "objects": (tensor("O", [1], 0, 8), bytes(8)),
        "complex": (tensor("C64", [1], 0, 8), bytes(8)),
        "brain floats": (tensor("BF16", [4], 0, 8), bytes(8)),
        "a byte of eight bits": (tensor("F8_E4M3", [8], 0, 8), bytes(8)),
        "half a byte": (tensor("F4", [16], 0, 8), bytes(8)),
        "not truth values": (tensor("BOOL", [8], 0, 8), b"\xff" * 8),
        "a gap": (tensor("F64", [1], 8, 16), bytes(16)),
        "bytes behind": (tensor("F64", [1], 0, 8), bytes(SIZE)),
        "backwards": (tensor("F64", [1], 8, 0), bytes(8)),
        "offsets that overflow": (tensor("F64", [1], 2**64 - 8, 2**64 - 1), bytes(8)),
        "no number": (tensor("F64", ["a"], 0, 8), bytes(8)),
        "no shape": ({"dtype": "F64"}, bytes(8)),
    }.items():
        yield f"tensor: {name}", document(lda('{"array": "0"}'), {"0": one}, values)
    yield "overlapping tensors", document(lda("null"), {str(k): tensor("F64", [1], 0, 8) for k in range(100)}, bytes(8))
    one = tensor("F64", [0, 1048576], 0, 0)
    count = SIZE // 70
    named = ", ".join(f'{{"array": "{k}"}}' for k in range(count))
    yield "many wide tensors", document(lda(f"[{named}]"), dict.fromkeys(map(str, range(count)), one))
    yield "many tensors that nothing asks for", document(lda("null"), dict.fromkeys(map(str, range(count)), one))


def _values() -> Iterator[tuple[str, bytes]]:
    numbers, pairs = colliding_numbers(), colliding_pairs(SIZE // 62)
    tuples = [{"tuple": list(pair)} for pair in pairs]
    priors = {
        "set of equal hashes": {"set": numbers},
        "dict of equal hashes": {"dict": [[number, 0] for number in numbers]},
        "dict of pairs of equal hashes": {"dict": [[pair, 0] for pair in tuples]},
        "objects of equal hashes": {"values": ["O", [len(numbers)], numbers]},
        "objects of pairs of equal hashes": {"values": ["O", [len(tuples)], tuples]},
        "long shape": {"values": ["O", [2**60] * (SIZE // 22), []]},
        "a long text among many": {"values": ["U", [SIZE // 10], ["a" * (SIZE // 2), *[""] * (SIZE // 10 - 1)]]},
        "many axes": {"turned": ["0", list(range(SIZE // 8))]},
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
        "empty arrays": '{"values": ["O", [0], []]}',
        "empty arrays of text": '{"values": ["U", [0], []]}',
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
    size = 8 * len(levels) + 8
    rule = {"object": ["LevelRule", {"levels": levels, "table": {"array": "0"}}]}
    return document(lda(json.dumps(rule)), {"0": tensor("F64", [len(levels) + 1, 1], 0, size)}, bytes(size))


def calibrated(labels: list[Any]) -> str:
    """A calibrated classifier whose member has as many classes, in an array of objects."""
    classes = {"values": ["O", [len(labels)], labels]}
    member = {"object": ["LinearDiscriminantAnalysis", {"classes_": classes, "n_features_in_": 1}]}
    parts = {"classes": classes, "members": [member], "curves": [[]], "method": "sigmoid"}
    settings = dict.fromkeys(("estimator", "cv", "n_jobs", "ensemble"))
    return json.dumps({"object": ["CalibratedClassifier", {**settings, **parts}]})


def _headers() -> Iterator[tuple[str, bytes]]:
    whole = document(lda("null"))
    yield "only a length", struct.pack("<Q", 2**64 - 1)
    yield "a length of the whole file", struct.pack("<Q", SIZE) + b" " * SIZE
    yield "a header that is longer than the file", struct.pack("<Q", 2 * SIZE) + b"{" * SIZE
    yield "a deep header", raw(b'{"a":' * (SIZE // 5))
    yield "deep lists in a header", raw(b'{"0":' + b"[" * SIZE)
    yield "a header of spaces", raw(b"{}" + b" " * SIZE)
    yield "a long number in a header", raw(b'{"0":{"dtype":"F64","shape":[' + b"1" * SIZE + b'],"data_offsets":[0,8]}}')
    yield "no metadata", raw(b"{}")
    yield "metadata that are no text", raw(b'{"__metadata__":{"document":[1]}}')
    yield "many metadata", raw(json.dumps({"__metadata__": {str(k): "" for k in range(SIZE // 12)}}).encode())
    yield "half a character in the metadata", raw(b'{"__metadata__":{"document":"\\ud800"}}')
    yield "not UTF-8", raw(b'{"__metadata__":{"document":"\xff\xfe"}}')
    yield "something before", b"PK" + whole
    yield "something behind", whole + bytes(SIZE)
    yield "another checksum", packed("{}", checksum="f" * 64)
