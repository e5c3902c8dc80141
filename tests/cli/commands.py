"""Commands run in this process, and tables for them."""

import csv
import json
from dataclasses import dataclass

import numpy as np
from typer.testing import CliRunner

from discriminant.cli import app


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def run_command(*arguments):
    """A command in this process; whatever it meant to tell, it must not have been a traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    unexpected = result.exception is not None and not isinstance(result.exception, SystemExit)
    assert not unexpected, result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def write_rows(path, rows, **options):
    with open(path, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        csv.writer(file, **options).writerows(rows)
    return path


def passengers(n=400, seed=0):
    """Rows like those of the Titanic: mixed types, missing values, identifiers, rare levels."""
    rng = np.random.default_rng(seed)
    rows = [["id", "survived", "class", "name", "sex", "age", "fare", "deck", "port"]]
    for i in range(n):
        sex, third = rng.choice(["male", "female"], p=[0.65, 0.35]), int(rng.integers(1, 4))
        survived = rng.random() < (0.72 if sex == "female" else 0.2) + 0.05 * (3 - third)
        age = "" if rng.random() < 0.2 else int(rng.integers(1, 80))
        deck = "" if rng.random() < 0.7 else rng.choice(list("ABCDEF"), p=[0.3, 0.3, 0.3, 0.06, 0.03, 0.01])
        port = rng.choice(["S", "C", "Q", "?"], p=[0.7, 0.2, 0.09, 0.01])
        fare = round(float(rng.exponential(30)), 2)
        rows.append([i + 1, int(survived), third, f"Person {i}, Mr.", sex, age, fare, deck, port])
    return rows
