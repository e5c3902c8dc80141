"""Tables that are mostly valid, written in odd ways: described and fitted with all their rows, or refused in our words.

A mutation keeps the shape of a table: dialect, quoting, encoding, and how values are written. A column of plain numbers
stands beside the mutated ones as a witness: whatever is made of the others, its values have to come out row by row.
"""

import csv
import io
import random
import warnings

import numpy as np
import pytest
from commands import run_command

from discriminant.errors import DiscriminantError
from discriminant.estimators.registry import new_model
from discriminant.tables import EncodingReport, Schema, open_table
from discriminant.workflow.describing import describe
from discriminant.workflow.tables import Roles, read_labelled

MODELS = ("lda", "naive-bayes", "least-squares", "logistic", "qda", "perceptron", "svm")
WORDS = (
    "low",
    "Mid",
    "HIGH",
    "süß",
    "naïve",
    "o'neill",
    'the "best"',
    "a,b",
    "c;d",
    "x\ny",
    "tab\there",
    "日本",
    "null",
)
CODES = ("", "NA", "n/a", "?", "-", "NaN", "null", "#N/A", "None", ".", "unknown", "missing", "-999", "9999", "99")


def number(rng):
    return rng.choice(
        [
            lambda: rng.gauss(0, 1),
            lambda: rng.randint(0, 5),
            lambda: rng.randint(-1000, 100_000),
            lambda: 10.0 ** rng.randint(-320, 308),
            lambda: rng.randint(-(2**70), 2**70),
            lambda: rng.choice([0.0, -0.0, 1e308, 5e-324, 2**53 + 1, -1]),
        ]
    )()


def column(rng, n):
    """The texts of a column of some kind."""
    kind = rng.randrange(10)
    if kind == 0:
        small = rng.random() < 0.9
        return [f"{rng.gauss(50, 9):.3f}" if small else repr(number(rng)) for _ in range(n)]
    if kind == 1:
        return [str(rng.randint(0, rng.choice([1, 3, 1000, 10**9]))) for _ in range(n)]
    if kind == 2:
        levels = rng.sample(WORDS, rng.randint(1, 6))
        return [rng.choice(levels) for _ in range(n)]
    if kind == 3:
        levels = rng.choice(
            [("yes", "no"), ("true", "false"), ("Y", "n", "yes"), ("0", "1"), ("ja", "nein"), ("t", "F")]
        )
        return [rng.choice(levels) for _ in range(n)]
    if kind == 4:
        form = rng.choice(
            ["{y}-{m:02}-{d:02}", "{d}.{m}.{y}", "{m}/{d}/{y}", "{y}{m:02}{d:02}", "{y}-{m:02}-{d:02} 10:{d:02}"]
        )
        return [form.format(y=rng.randint(1990, 2030), m=rng.randint(1, 12), d=rng.randint(1, 28)) for _ in range(n)]
    if kind == 5:
        form = rng.choice(["${:,.2f}", "{:,.0f} €", "{:.1f}%", "{:.2f} kg", "({:.2f})", "{:,.2f}-", "\u2212{:.1f}"])
        return [form.format(rng.uniform(0, 1e6)) for _ in range(n)]
    if kind == 6:
        return [
            f"{rng.uniform(0, 99999):,.2f}".translate(str.maketrans(",.", rng.choice([".,", " ,", "'."])))
            for _ in range(n)
        ]
    if kind == 7:
        return [f"{rng.choice('ABC')}{rng.randint(0, 50):03}" for _ in range(n)]
    if kind == 8:
        return [f"{rng.randint(0, 99999):05}" for _ in range(n)]
    return [rng.choice(["", "7", "x"])] * n


def mutated(rng, texts):
    """The column with some values written otherwise."""
    share = rng.choice([0, 0, 0.05, 0.3])
    other = rng.choice(
        [
            lambda text: rng.choice(CODES),
            str.upper,
            str.title,
            lambda text: f" {text} ",
            lambda text: f"{text}\u00a0",
            lambda text: f"-{text}",
            lambda text: f"+{text}",
            lambda text: f"({text})",
            lambda text: f"{text} kg",
            lambda text: f"${text}",
            lambda text: f"{text}%",
            lambda text: text.replace(".", ","),
            lambda text: text.replace(",", ""),
            lambda text: f"{text}e3",
            lambda text: f'"{text}"',
            lambda text: text[::-1],
            lambda text: rng.choice(WORDS),
            lambda text: repr(number(rng)),
            lambda text: rng.choice(
                ["inf", "-Infinity", "nan", "1e999", "0x1F", "1_000", "½", "١٢", "TRUE", "2020-02-30"]
            ),
        ]
    )
    return [other(text) if rng.random() < share else text for text in texts]


def names(rng, n):
    known = [
        "age",
        "ID",
        "price",
        "when",
        "race",
        "count",
        "Zip Code",
        "naïve",
        "x,y",
        'q"t',
        "class",
        "prediction",
        "id",
    ]
    return rng.sample(known, n)


def table(rng):
    """The bytes of a table with the target ``y``, the values of its column ``witness``, and its number of rows."""
    n, p = rng.randint(8, 40), rng.randint(1, 4)
    witness = [rng.gauss(0, 1) for _ in range(n)]
    delimiter = rng.choice([",", ",", ";", "\t", "|"])
    comma = delimiter != "," and rng.random() < 0.3
    written = [repr(value).replace(".", ",") if comma else repr(value) for value in witness]
    classes = rng.choice(
        [("a", "b"), ("yes", "no"), ("NO", "yes", "no"), ("0", "1"), ("1", "2", "3"), ("true", "false")]
    )
    y = [rng.choice(classes) for _ in range(n)]
    if rng.random() < 0.2:
        y = mutated(rng, y)
    columns = [mutated(rng, column(rng, n)) for _ in range(p)]
    head = [*names(rng, p), "witness", "y"]
    order = rng.sample(range(p + 2), p + 2)
    rows = [[row[j] for j in order] for row in [head, *zip(*columns, written, y, strict=True)]]
    out = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    ends = rng.choice(["\n", "\r\n"])
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ends).writerows(rows)
    text = out.getvalue() + rng.choice(["", "", ends, ends + ends])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
    return text.encode(encoding, errors="replace"), np.array(witness), n


def hold_one(rng, path, by_command):
    """Whether a table gave results; where it did not, it was refused in our words."""
    text, witness, n = table(rng)
    path.write_bytes(text)
    if by_command:
        ran = [run_command("describe", path, "-t", "y"), run_command("fit", path, "-t", "y", "--model", "lda")]
        assert all(each.code in (0, 1) for each in ran), (text, ran)
        assert ran[0].code or f"{n:,} rows" in ran[0].out or "left out" in ran[0].out, (text, ran)
        return not any(each.code for each in ran)
    try:
        labelled = read_labelled(str(path), Roles("y"))
        training = labelled.training
        assert len(training.y) + training.n_dropped == n, text
        if "witness" in training.schema.names:
            found = training.X[:, training.schema.names.index("witness")]
            np.testing.assert_array_equal(np.asarray(found), witness[training.row_numbers], err_msg=repr(text))
        if rng.random() < 0.3:
            read_again(training, path, text)
        describe(labelled)
        new_model(rng.choice(MODELS), training.schema).fit(labelled.rows, training.y)
    except DiscriminantError:
        return False
    return True


def read_again(training, path, text):
    """The stored schema codes the same table to the same rows, also in small batches."""
    schema = Schema.from_dict(training.schema.to_dict())
    report, parts = EncodingReport(), []
    for batch in open_table(path, types=schema.types).batches(7):
        X, own = schema.encode_batch(batch)
        report, parts = report + own, [*parts, X]
    X = np.vstack(parts)[training.row_numbers]
    np.testing.assert_array_equal(X, training.X, err_msg=repr(text))
    assert training.n_dropped or not report.unseen, (text, report)


def hold(seed, times, path):
    rng = random.Random(seed)
    results = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ours; any other is an error
        for i in range(times):
            results += hold_one(rng, path, by_command=i % 50 == 49)
    return results


def test_mutated_tables(tmp_path):
    assert hold(0, 150, tmp_path / "table.csv") > 75


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_many_mutated_tables(tmp_path, seed):
    assert hold(seed, 1000, tmp_path / "table.csv") > 500
