"""A text column on the command line: recognised, fitted, predicted, explained by words."""

import csv

import numpy as np
import pytest
from commands import run_command, write_rows


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """Made-up reviews, of which some words depend on the class."""
    rng, rows = np.random.default_rng(0), [["review", "visits", "verdict"]]
    shared = ["the", "food", "was", "table", "we", "had", "dinner", "with", "friends", "again", "late", "menu"]
    for _ in range(160):
        good = rng.random() < 0.5
        own = ["delicious", "friendly", "fresh"] if good else ["cold", "rude", "noisy"]
        words = [*rng.choice(shared, 8), *rng.choice(own, 2)]
        rows.append([" ".join(rng.permutation(words)), int(rng.integers(1, 40)), "good" if good else "bad"])
    return write_rows(tmp_path_factory.mktemp("reviews") / "reviews.csv", rows)


def test_from_the_table_to_the_explanation(run, reviews, tmp_path):
    assert "--types review=text" in run("describe", reviews, "--target", "verdict").out
    model, answers = tmp_path / "model.dsc", tmp_path / "answers.csv"
    run("fit", reviews, "--target", "verdict", "--types", "review=text", "--model", "auto", "-o", model)
    run("predict", model, reviews, "-o", answers)
    with open(reviews, newline="") as known, open(answers, newline="") as found:
        pairs = list(zip(csv.DictReader(known), csv.DictReader(found), strict=True))
    assert np.mean([own["verdict"] == other["prediction"] for own, other in pairs]) > 0.97
    words = run("explain", model, "--json").json["words"]["rows"]
    best = {label: {row["word"] for row in words if row["label"] == label} for label in ("good", "bad")}
    assert {"delicious", "friendly", "fresh"} <= best["good"]
    assert {"cold", "rude", "noisy"} <= best["bad"]
    found = run("explain", model, "--row", "review=the food was cold,visits=3", "--json").json
    assert found["prediction"] == "bad"
    assert next(row for row in found["contributions"]["rows"])["column"] == "review: cold"
    refused = run_command("export", model, "--to", "sql")
    assert refused.code != 0
    assert "'review'" in refused.err
