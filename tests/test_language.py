"""Words that the texts, names and messages of the project do not use, because the field has standard terms for them.

The list is that of the reviews in which they were found, with what to write instead. Prose is read from comments,
docstrings and other strings of Python, and from whole pages; identifiers are compared word by word.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools
ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src/discriminant/**/*.py*", "src/native/*.[ch]pp", "examples/**/*.py")
PAGES = ("README.md", "DESIGN.md", "CONTRIBUTING.md", "docs/**/*.md", "tests/messages.md")
ASSETS = (
    "src/discriminant/**/*.html",
    "src/discriminant/**/*.css",
    "src/discriminant/**/*.js",
    "src/discriminant/**/*.toml",
)
BUILT = ("docs/_build", "docs/api", "docs/gallery")


@dataclass(frozen=True)
class Term:
    """A pattern of words to avoid, and the standard term; ``where`` limits it to paths that contain one of these."""

    pattern: str
    instead: str
    where: tuple[str, ...] = ("",)


#: Phrases in prose. A person may say something; programs, tables and models report, show or have it.
PHRASES = (
    Term(r"\b(told|tells?|telling)\b", "report, warn, show; distinguish"),
    Term(r"\b(says?|said|saying|speaks?|spoke)\b", "report, state, favour"),
    Term(r"\b(dealt|deals?|dealing)\b", "(repeated) k-fold split"),
    Term(r"\b(anew|afresh)\b", "again"),
    Term(r"\bso[ -]many\b", "the number; stratified subsample"),
    Term(r"\bstands? (apart|out)\b", "looks like a missing-value code, is visible"),
    Term(r"\b(comes?|came|coming) true\b", "calibration; observed outcome"),
    Term(r"\bbeware\b", "warnings, data issues"),
    Term(r"\bflatter\w*\b", "optimistic"),
    Term(r"\b(rightly|wrongly)\b", "correctly, incorrectly"),
    Term(r"\bwhom\b", "rewrite the sentence"),
    Term(r"\bat hand\b", "in memory, available"),
    Term(r"\bby passes\b", "out-of-core, streamed"),
    Term(r"\bbe(nd|nds|nt)\b", "curvature"),
    Term(r"\bpull(s|ed|ing)?\b(?! request)", "gradient contribution, shrink"),
    Term(r"\b(misjudg\w+|errs?|erred)\b(?!\})", "misclassify, error rate"),
    Term(r"\b(timid|too sure|how sure)\b", "underconfident, overconfident"),
    Term(r"\b(what|more than) chance (adds|gives)\b", "bias-corrected"),
    Term(r"\bnothing to (learn|report|evaluate)\b", "state what is required"),
    Term(r"\b(model|fit|it|they|has|have|had|was|were|been|not|never) seen\b", "training data, held-out data"),
    Term(r"\b(that|than|which) training (had|has)\b", "unseen levels"),
    Term(r"\bnaming ['\"“]|\balways saying\b", "majority-class baseline"),
    Term(r"\bcounting alike\b", "balanced accuracy"),
    Term(r"\bof the rows it (calls|finds)\b", "precision, recall"),
    Term(r"\b(gives?|gave|gets?|got) (it |them )?(its|their) (own|right) class\b", "correctly classified"),
    Term(r"\bmarks? (of|for) missing\b|\bfor a mark\b", "missing-value indicator"),
    Term(r"\bwhere the rows come from\b", "class priors in the target population"),
    Term(r"\bmemory that is there\b|\bfound out\b", "available memory, detected"),
    Term(r"\bwhere to, by\b|\bshow .{1,30} and end\b", "output file; and exit"),
    Term(r"\bother way (a)?round\b", "ambiguous, transposed"),
    Term(r"\bhold (a|the) map against\b", "assess map accuracy"),
    Term(r"\b(goes?|going) ahead\b|\banchor points?\b", "extrapolated warm start, dual reference points"),
    Term(r"\b(make|enough|no|is) room\b|\broom (for|in|to)\b", "space, capacity"),
    Term(
        r"\b(kinks?|lying|slabs?|sphere of)\b",
        "hinge point, transpose, block, covariance",
        ("discriminant/margins", "discriminant/solvers"),
    ),
    Term(r"\bmasked, so that\b", "masked class"),
    Term(r"\bsingle coefficients?\b", "individual coefficients"),
    Term(r"\bmarked pixels\b", "labelled pixels"),
    Term(r"\bclaimed by\b", "ambiguous; predicted"),
    Term(r"\bweights that count rows\b", "frequency weights", ("src/",)),
    Term(r"\b(class of interest|false alarms?)\b", "positive class, false positives", ("src/",)),
    Term(r"\b(?<!training )data sets?\b", "dataset", ("src/",)),
    Term(r"\bmust be a whole number\b", "must be an integer of at least"),
    Term(r"\banother \w+ than\b", "a different ... from"),
)

#: Words of identifiers. Other words of the reviews are left out because they also have standard meanings: image, part,
#: run, reading, degrees, metric, short, shares, drawn, image, batch and span (of rows).
NAMES = (
    Term(r"told|tells|telling|says?|said", "report, message"),
    Term(r"deal|deals|dealt|anew|whom|beware", "split, repeat"),
    Term(r"bends?|pulls?", "curvature, gradient contribution"),
    Term(r"misjudged|hopeless|lacking|telling", "misclassified, has_diverged, missing, min_sample_size"),
    Term(r"spreads?", "column_std, scatter, expand"),
    Term(r"slabs?|grain|narrowed|surroundings", "block, covariance structure, projected"),
    Term(r"jump|creep|aim|kink", "Newton step, coordinate descent, trial point, hinge point"),
    Term(r"room|towards|going|adopt|looked(?=into)", "slack, p, active, estimate"),
    Term(r"absent", "missing_columns", ("cli", "workflow", "partitions")),
    Term(
        r"far",
        "needs_centering",
        ("discriminant/solvers", "discriminant/margins", "objective", "passes", "discriminant/data/", "evaluation"),
    ),
    Term(
        r"excess",
        "suboptimality",
        ("discriminant/solvers", "discriminant/margins", "objective", "estimators", "validation/learning"),
    ),
    Term(
        r"sphered|beside|lying|standing|metric", "z, off-diagonal, transpose, preconditioner", ("discriminant/solvers",)
    ),
    Term(r"drawn", "stratified subsample", ("discriminant/solvers", "discriminant/margins", "discriminant/data/")),
    Term(r"pieces?", "block, partition", ("partitions", "discriminant/margins", "discriminant/solvers")),
)

#: Whole identifiers of the reviews.
IDENTIFIERS = {
    "n_functions": "n_linear_predictors",
    "is_hopeless": "has_diverged",
    "side_by_side": "parallel_map",
    "_looked_into": "check identifiability",
    "_adopt": "estimate from sufficient statistics",
    "_MOST": "MAX_ and the quantity",
    "_TELLING": "MIN_SAMPLE_ROWS",
    "_AS_GOOD_AS_OPTIMAL": "ROUNDING_SUBOPTIMALITY",
}

#: Lines that keep a phrase: quotations and standard uses, by a part of the path and of the line.
EXCEPTIONS = ()


def _files(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.suffix != ".pyc" and not any(part in path.as_posix() for part in BUILT):
                yield path


def _tokens(path: Path) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that a person reads, with their numbers."""
    if path.suffix in (".py", ".pyi"):
        for token in _tokens(path):
            if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                yield from enumerate(token.string.splitlines(), token.start[0])
    elif path.suffix in (".cpp", ".hpp"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield number, " ".join(re.findall(r'//.*|"[^"]*"', line))
    else:
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def _words(identifier: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", identifier)]


def phrases_in(path: str, number: int, line: str) -> list[str]:
    """The phrases of a line that have standard terms."""
    if any(place in path and kept in line for place, kept in EXCEPTIONS):
        return []
    return [
        f"{path}:{number}: '{found[0]}', write: {term.instead}"
        for term in PHRASES
        if any(place in path for place in term.where) and (found := re.search(term.pattern, line, re.IGNORECASE))
    ]


def names_in(path: str, identifier: str) -> list[str]:
    """What to call an identifier instead."""
    found = [IDENTIFIERS[identifier]] if identifier in IDENTIFIERS else []
    return found + [
        term.instead
        for term in NAMES
        if any(place in path for place in term.where)
        and any(re.fullmatch(term.pattern, word) for word in _words(identifier))
    ]


def test_texts_use_the_standard_terms():
    found = [
        problem
        for path in _files((*SOURCES, *PAGES, *ASSETS))
        for number, line in _prose(path)
        for problem in phrases_in(path.relative_to(ROOT).as_posix(), number, line)
    ]
    assert not found, "\n" + "\n".join(found)


def test_identifiers_use_the_standard_terms():
    found = set()
    for path in _files(SOURCES):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".cpp", ".hpp"):
            identifiers = re.findall(r"[A-Za-z_]\w*", re.sub(r'//.*|"[^"]*"', "", path.read_text(encoding="utf-8")))
        else:
            identifiers = [token.string for token in _tokens(path) if token.type == tokenize.NAME]
        found |= {
            f"{name}: {one}, write: {', '.join(names)}" for one in set(identifiers) if (names := names_in(name, one))
        }
    assert not found, "\n" + "\n".join(sorted(found))


@pytest.mark.parametrize(
    "line",
    ["The table tells the classes apart.", "rows the model has seen", "Folds are dealt anew.", "Whom it flatters"],
)
def test_a_phrase_that_comes_back_is_found(line):
    assert phrases_in("src/discriminant/any.py", 1, line)


@pytest.mark.parametrize(
    ("path", "name"), [("src/discriminant/solvers/newton.py", "is_far"), ("a.py", "room"), ("a.py", "pull")]
)
def test_an_identifier_that_comes_back_is_found(path, name):
    assert names_in(path, name)


def test_exceptions_are_still_needed():
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in _files((*SOURCES, *PAGES, *ASSETS))
    }
    for place, kept in EXCEPTIONS:
        assert any(place in path and kept in text for path, text in texts.items()), (place, kept)
