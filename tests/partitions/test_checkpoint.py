"""Fits that were broken off go on where they were, to the same bits; passes are told on a terminal."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, engine, evaluate, open_dataset
from discriminant.engine import Threads
from discriminant.errors import InputError
from discriminant.partitions import checkpoint
from helpers import normal_classes

MODELS = [LinearDiscriminantAnalysis(), LogisticRegression(alpha=0.01), LogisticRegression(alpha=0.02, l1_ratio=1.0)]


@pytest.fixture
def files(tmp_path):
    X, y = normal_classes(n=4_000, p=4, K=3, seed=1)
    table = pa.table({f"x{j}": X[:, j] for j in range(4)} | {"y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=500)
    return tmp_path / "rows.parquet"


class Breaking:
    """Threads that are interrupted after some parts, and count those that were read."""

    def __init__(self, after=None):
        self.after, self.read = after, 0

    def in_order(self, task, parts, n_jobs=None):
        for part in parts:
            if self.after is not None and self.read >= self.after:
                raise KeyboardInterrupt
            self.read += 1
            yield task(part)


@pytest.mark.parametrize("model", MODELS, ids=["lda", "ridge", "lasso"])
@pytest.mark.parametrize("every", [0.0, 1e9], ids=["within a pass", "after a pass"])
def test_a_fit_that_was_broken_off_goes_on_to_the_same_bits(model, every, files, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL_SECONDS", every)
    dataset, path = open_dataset(files, target="y"), tmp_path / "fit.checkpoint"
    counting = Breaking()
    expected = clone(model).fit(dataset.on(counting))
    in_all, read = counting.read, 0
    for _ in range(100):
        breaking = Breaking(after=11)
        try:
            found = clone(model).fit(open_dataset(files, target="y").on(breaking).checkpointed(path))
        except KeyboardInterrupt:
            read += breaking.read
            continue
        read += breaking.read
        break
    assert np.array_equal(found.coef_, expected.coef_)
    assert np.array_equal(found.intercept_, expected.intercept_)
    assert read == in_all if every == 0 else read >= in_all
    again = Breaking()
    assert np.array_equal(clone(model).fit(dataset.on(again).checkpointed(path)).coef_, expected.coef_)
    assert again.read == 0
    assert evaluate(found, dataset.on(again).checkpointed(path))["log_loss"].value > 0


def test_what_does_not_match_is_computed(files, tmp_path):
    dataset, path = open_dataset(files, target="y"), tmp_path / "fit.checkpoint"
    LogisticRegression(alpha=0.01).fit(dataset.checkpointed(path))
    found = LogisticRegression(alpha=0.5).fit(dataset.checkpointed(path))
    assert np.array_equal(found.coef_, LogisticRegression(alpha=0.5).fit(dataset).coef_)
    table = pq.read_table(files)
    pq.write_table(table.set_column(0, "x0", pa.array(table["x0"].to_numpy() * 2 + 1)), files, row_group_size=500)
    changed = open_dataset(files, target="y")
    found = LogisticRegression(alpha=0.5).fit(changed.checkpointed(path))
    assert np.array_equal(found.coef_, LogisticRegression(alpha=0.5).fit(changed).coef_)


def test_texts_that_are_decoded_anew_are_known_again(tmp_path):
    X, y = normal_classes(n=500, p=2, K=2, seed=1)
    lines = ["a,b,y", *(f"{a},{b},{c}" for (a, b), c in zip(X, y, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    path, counting = tmp_path / "fit.checkpoint", Breaking()
    LinearDiscriminantAnalysis().fit(open_dataset(tmp_path / "rows.csv", target="y").checkpointed(path))
    LinearDiscriminantAnalysis().fit(open_dataset(tmp_path / "rows.csv", target="y").on(counting).checkpointed(path))
    assert counting.read == 0


def test_other_files_are_left_as_they_are_and_nothing_is_run(files, tmp_path):
    with pytest.raises(InputError):
        open_dataset(files, target="y").checkpointed(files)

    class Evil:
        def __reduce__(self):
            return exec, ("raise SystemExit('run')",)

    body = pickle.dumps(("key", -1, [Evil()]))
    path = tmp_path / "evil"
    head = len(body).to_bytes(8, "little") + checkpoint.zlib.crc32(body).to_bytes(4, "little")
    path.write_bytes(checkpoint.MAGIC + head + body)
    LinearDiscriminantAnalysis().fit(open_dataset(files, target="y").checkpointed(path))


def test_passes_are_told_on_a_terminal_alone(files, monkeypatch, capsys):
    monkeypatch.setattr(engine, "PROGRESS_DELAY", -1.0)
    dataset = open_dataset(files, target="y").on(Threads())
    LinearDiscriminantAnalysis().fit(dataset)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    LinearDiscriminantAnalysis().fit(dataset)
    told = capsys.readouterr().err
    assert "of 4,000 rows" in told
    assert "rows/s" in told
