"""The benchmark of what defaults predict: a page and figures of any folder of tables, computed once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.charts import write_ranks
from benchmarks.quality import critical_difference


@pytest.fixture(name="folder")
def _folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        y = rng.integers(2, size=60)
        levels = np.array(["a", "b", None], dtype=object)[rng.integers(3, size=60)]
        frame = pd.DataFrame({"x": rng.normal(size=60) + 2 * y, "level": levels, "target": np.array(["no", "yes"])[y]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def run(folder, *arguments):
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "benchmarks.quality", folder, "--output", folder / "page.md", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DISCRIMINANT_BENCH_THREADS": "1"}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, env=environment)
    return done.stdout, json.loads((folder / "page.json").read_text())


@pytest.mark.slow
def test_a_folder_of_tables_gives_a_page_and_what_is_known_is_not_computed_again(folder):
    options = ("--models", "lda", "--repeats", "1")
    out, found = run(folder, *options, "--tables", "one")
    assert set(found) == {"one"}
    assert set(found["one"]) == {"scikit-learn ridge", "boosting", "lda"}
    assert out.count(" s\n") == 3
    own = found["one"]["lda"]["0"]
    assert 0 < own["log_loss"] < 0.7
    assert own["failed"] == []
    again, both = run(folder, *options)
    assert again.count(" s\n") == 3
    assert both["one"] == found["one"]
    page = (folder / "page.md").read_text()
    assert "| 1.000 |" in page
    assert (folder / "page.svg").read_text().count("<circle") == 3
    assert all(f"\n| {name} | " in page for name in ("one", "two"))


@pytest.mark.parametrize(("n_contenders", "quantile"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_that_of_nemenyi(n_contenders, quantile):
    """The quantiles of Demšar (2006), table 5."""
    expected = quantile * np.sqrt(n_contenders * (n_contenders + 1) / (6 * 30))
    assert critical_difference(n_contenders, 30) == pytest.approx(expected, rel=1e-3)


def test_bars_join_ranks_that_do_not_differ(tmp_path):
    write_ranks({"a": 1.2, "b": 2.8, "c": 3.1, "d": 4.0}, 1.0, tmp_path / "ranks.svg")
    drawn = (tmp_path / "ranks.svg").read_text()
    assert drawn.count('stroke-width="4"') == 2  # b and c, c and d
    assert [drawn.index(f">{name} ") for name in "abcd"] == sorted(drawn.index(f">{name} ") for name in "abcd")
