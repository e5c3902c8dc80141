"""Damaged tables give a result or one of our errors, never anything else."""

import io
import random
import resource
import warnings

import pytest

from discriminant.errors import DiscriminantError
from discriminant.tables import open_table, read_training

TABLES = [
    b"a,b,y\n1,2.5,x\n3,NA,z\n4,5,x\n",
    'na;wert;y\n"Müller";1,5;ja\n"x\ny";2,5;nein\n'.encode(),
    "a\tb\tklasse\n1\t€\tq\n2\tz\tr\n".encode("utf-16"),
    b"1 2 3\n4 5 6\n7 8 9\n",
    b"'a','b'\n'1','x'\n'2','y'\n",
    b"1 1:2 3:4\n-1 2:1\n",
    "d,y\n2020-01-01,a\n2021-02-03,é\n".encode("cp1252"),
]
PIECES = [
    *(bytes([code]) for code in b",;|'\" \t\n\r\0\\-?"),
    *(b"\xff", b"\xfe", b"\xef\xbb\xbf", b"\xff\xff\xff\xff"),
    *(b"NA", b"1e999", b"inf", b"nan", b"true", b"2020-01-01", b"9" * 400, b"a" * 5000, b'""', b"," * 300),
    *(b"PAR1", b"ARROW1", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"),
]


def damaged(rng):
    """A table after a few random cuts, insertions and repetitions."""
    text = bytearray(rng.choice(TABLES))
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(len(text) + 1)
        deed = rng.randrange(5)
        if deed == 0:
            text[place:place] = rng.choice(PIECES)
        elif deed == 1:
            del text[place : place + rng.randint(1, 6)]
        elif deed == 2 and text:
            text[rng.randrange(len(text))] = rng.randrange(256)
        elif deed == 3:
            text[place:place] = text[: rng.randint(0, len(text))]
        else:
            text += text[place:] * rng.randint(1, 3)
    return bytes(text[:200_000])


def read_and_code(text):
    """How many rows the table has, read whole, in batches and for training; 0 where it is refused."""
    counts = []
    for use in (read_rows, count_batches, code_rows):
        try:
            counts.append(use(open_table(io.BytesIO(text))))
        except DiscriminantError:
            counts.append(0)
    return counts


def read_rows(table):
    return table.read().num_rows


def count_batches(table):
    return sum(batch.num_rows for batch in table.batches(2))


def code_rows(table):
    return read_training(table, table.columns[-1] if table.columns else None).X.shape[0]


def hold_against(seed, times):
    rng = random.Random(seed)
    used = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(times):
            text = damaged(rng)
            whole, in_batches, coded = read_and_code(text)
            assert whole == in_batches, text
            assert coded <= whole, text
            used += whole > 0
    return used


def test_damaged_tables():
    assert hold_against(1, 300) > 30


@pytest.mark.slow
def test_many_damaged_tables():
    assert hold_against(2, 10_000) > 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_000_000
