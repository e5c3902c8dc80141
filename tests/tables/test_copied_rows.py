"""Rows that are copies of others are told, and rows that are equal because there are few values are not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from discriminant.tables import read_training

RNG = np.random.default_rng(0)


def table(n_rows):
    outcome = RNG.integers(0, 2, n_rows)
    return pd.DataFrame(
        {
            "a": RNG.normal(size=n_rows) + outcome,
            "b": RNG.normal(size=n_rows),
            "c": RNG.choice(list("xyz"), n_rows),
            "y": outcome,
        }
    )


def kinds(frame, **options):
    return {finding.kind: str(finding.message) for finding in read_training(frame, "y", **options).findings}


def test_copied_rows_are_told_and_their_numbers_do_not_tell_the_classes_apart():
    found = kinds(pd.concat([table(30)] * 10))
    assert found["duplicate rows"].startswith("270 rows (90.0 %) ")
    assert "possible leakage" not in found


def test_a_column_that_tells_the_classes_apart_is_told_of_copied_rows_too():
    frame = table(30).assign(a=lambda own: own.a + 20 * own.y)
    assert {"duplicate rows", "possible leakage"} <= set(kinds(pd.concat([frame] * 10)))


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_a_table_is_told_from_the_same_table_twice(load):
    X, y = load(return_X_y=True, as_frame=True)
    frame = X.assign(y=y)
    assert "duplicate rows" not in kinds(frame)
    assert "duplicate rows" in kinds(pd.concat([frame, frame]))


def test_a_class_whose_rows_were_drawn_again_is_told():
    frame = table(300)
    again = frame[frame.y == 1].head(10).sample(300, replace=True, random_state=0)
    assert "duplicate rows" in kinds(pd.concat([frame, again]))


@pytest.mark.parametrize("n_rows", [300, 3000])
def test_rows_of_few_values_are_alike_without_being_copies(n_rows):
    age, hidden = RNG.integers(18, 80, n_rows), RNG.integers(0, 5, n_rows)
    answers = {f"q{j}": np.where(RNG.random(n_rows) < 0.7, hidden, RNG.integers(0, 5, n_rows)) for j in range(6)}
    related = pd.DataFrame(answers).assign(y=hidden > 2)
    assert "duplicate rows" not in kinds(related)
    assert "duplicate rows" not in kinds(related.drop(columns="y").astype(str).assign(y=related.y))
    people = pd.DataFrame({"age": age, "decade": age // 10, "sex": RNG.choice(["f", "m"], n_rows)})
    assert "duplicate rows" not in kinds(people.assign(y=RNG.random(n_rows) < 0.3))


def test_a_table_of_one_or_two_columns_repeats_without_being_copied():
    sex, age = RNG.choice(["f", "m"], 500), RNG.integers(18, 80, 500)
    y = RNG.random(500) < np.where(sex == "f", 0.7, 0.1)
    assert "duplicate rows" not in kinds(pd.DataFrame({"sex": sex, "y": y}), coding="full")
    assert "duplicate rows" not in kinds(pd.DataFrame({"sex": sex, "age": age, "y": y}).head(100), coding="full")
    assert "duplicate rows" not in kinds(pd.DataFrame({"age": age, "decade": age // 10, "y": y}))


def test_copies_of_one_group_are_held_out_together():
    frame = table(30).assign(who=[f"p{i:02d}" for i in range(30)])
    assert "duplicate rows" not in kinds(pd.concat([frame] * 10), groups="who")
