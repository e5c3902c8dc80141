"""Commands that are killed, terminated or interrupted while they write, or whose disk is full.

Whatever happens, a file is the earlier one or the whole new one, and nothing else is left behind (`SIGKILL` may leave a
folder, which the next command removes).
"""

import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pytest
import rasterio

from discriminant import LinearDiscriminantAnalysis, load, save
from discriminant.raster import Band

PROGRAM = [sys.executable, "-m", "discriminant"]
EARLIER = b"what was there before"
ENDINGS = {"SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130, "SIGKILL": -9, "full disk": 1}


@dataclass
class Job:
    """A command and the folder that it writes to."""

    words: list[str]
    folder: Path
    names: list[str] = field(default_factory=list)  #: of the files that it writes
    span: float = 0.0  #: seconds from the moment its output is opened to its end
    sizes: dict[str, int] = field(default_factory=dict)

    def started(self, most_bytes=None):
        """The process, with earlier files in the place of those it writes."""
        for name in self.names:
            (self.folder / name).write_bytes(EARLIER)

        def before():  # the limit is set before anything else is started; under nohup SIGHUP would be ignored
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            if most_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes,) * 2)

        environment = {**os.environ, "TMPDIR": str(self.folder)}
        return subprocess.Popen(
            [*PROGRAM, *self.words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, preexec_fn=before
        )

    def measured(self):
        """The job, once it was seen to succeed."""
        with self.started() as process:
            self.until_opened(process)
            start = time.perf_counter()
            _, err = process.communicate()
        assert process.returncode == 0, err
        self.span = time.perf_counter() - start
        self.names = self.names or sorted(os.listdir(self.folder))
        self.sizes = {name: (self.folder / name).stat().st_size for name in self.names}
        assert not self.earlier()
        return self

    def until_opened(self, process):
        """Wait until the output has been opened."""
        while process.poll() is None and not self.working_folders():
            time.sleep(0.0005)

    def working_folders(self):
        return list(self.folder.glob(".discriminant-*.part"))

    def earlier(self):
        """The files that are the earlier ones; all others have to be whole."""
        found = []
        for name in self.names:
            if (self.folder / name).read_bytes() == EARLIER:
                found.append(name)
            else:
                assert is_whole(self.folder / name, self.sizes[name]), name
        return found

    def ended(self, ending, moment):
        """The process ended so, at a moment between 0 (the output was just opened) and 1."""
        if ending == "full disk":
            with self.started(most_bytes=int(moment * max(self.sizes.values()))) as process:
                _, err = process.communicate()
            return process.returncode, err.decode()
        with self.started() as process:
            self.until_opened(process)
            time.sleep(moment * self.span)
            process.send_signal(getattr(signal, ending))
            _, err = process.communicate()
        return process.returncode, err.decode()


def is_whole(path, size):
    content = path.read_bytes()
    if path.suffix == ".dsc":
        return hasattr(load(path), "coef_")
    if path.suffix == ".html":
        return content.rstrip().endswith(b"</html>") and abs(len(content) - size) < 1000
    if path.suffix == ".tif":
        with rasterio.open(path) as file:
            return len(content) == size and file.read().any()
    return len(content) == size


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A table, an image, and models for both."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 6))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, "yes", "no")
    lines = [",".join([f"{value:.4f}" for value in row] + [label]) for row, label in zip(X, y, strict=True)]
    head = ",".join([f"x{j}" for j in range(6)] + ["y"])
    (folder / "table.csv").write_text("\n".join([head, *lines]) + "\n")
    (folder / "small.csv").write_text("\n".join([head, *lines[:500]]) + "\n")
    save_models(folder)
    bands = rng.integers(0, 255, (3, 1200, 1200), dtype=np.uint8)
    form = {"driver": "GTiff", "count": 3, "height": 1200, "width": 1200, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(folder / "image.tif", "w", **form, transform=rasterio.Affine(10, 0, 0, 0, -10, 0)) as file:
        file.write(bands)
    return folder


def save_models(folder):
    words = ["fit", folder / "small.csv", "-t", "y", "--model", "lda", "-o", folder / "model.dsc"]
    subprocess.run([*PROGRAM, *map(str, words)], check=True, capture_output=True)
    rng = np.random.default_rng(1)
    model = LinearDiscriminantAnalysis().fit(rng.uniform(0, 255, (300, 3)), np.repeat(["sand", "water", "wood"], 100))
    bands = [asdict(Band(f"band {k}", "uint8", number=k, of=3)) for k in (1, 2, 3)]
    save(model, folder / "bands.dsc", bands=bands, name="lda")


def job(name, inputs, folder):
    """The command of this name, which writes to a folder of its own."""
    table, model, small = inputs / "table.csv", inputs / "model.dsc", inputs / "small.csv"
    words = {
        "fit": ["fit", table, "-t", "y", "--model", "logistic", "-o", folder / "new.dsc"],
        "predict": ["predict", model, table, "--proba", "--keep-all", "-o", folder / "new.csv"],
        "compare": ["compare", small, "-t", "y", "--models", "lda,qda", "--report", folder / "new.html"],
        "classify": ["raster", "classify", inputs / "image.tif", "--model-file", inputs / "bands.dsc"],
    }[name]
    if name == "classify":
        words += ["-o", folder / "map.tif", "--probability", folder / "probability.tif"]
    return Job([*map(str, words), "--overwrite"], folder).measured()


def assert_nothing_is_half_written(running, ending, moments):
    codes = set()
    for moment in moments:
        code, err = running.ended(ending, moment)
        codes.add(code)
        where = f"{ending} at {moment:.3f}: {code} {err}"
        assert code in (ENDINGS[ending], 0), where
        assert "should not happen" not in err, where
        assert "Traceback" not in err, where
        earlier = running.earlier()
        if ending == "SIGKILL":
            continue
        assert earlier in ([], running.names), where
        assert code != 0 or not earlier, where  # a signal may also come when all is written
        assert sorted(os.listdir(running.folder)) == running.names, where
    if ending == "SIGKILL":  # the next command removes what was left
        assert sorted(os.listdir(running.measured().folder)) == running.names
    return codes


@pytest.fixture(scope="module")
def predicting(inputs, tmp_path_factory):
    return job("predict", inputs, tmp_path_factory.mktemp("predicting"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_leaves_whole_files(predicting, ending):
    moment = 0.3 if ending == "full disk" else 0.0  # a third of the bytes, or as soon as the output is opened
    assert assert_nothing_is_half_written(predicting, ending, [moment]) == {ENDINGS[ending]}


BUSY = """
import hashlib, sys
from pathlib import Path
from discriminant.cli.signals import handle_signals
from discriminant.files import whole_file

handle_signals()
with whole_file(sys.argv[1]) as part:
    part.write_bytes(b"half")
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # a library at work, which no exception interrupts
"""


def test_a_library_at_work_does_not_hold_up_the_end(tmp_path):
    with subprocess.Popen([sys.executable, "-c", BUSY, tmp_path / "file"]) as process:
        while process.poll() is None and not list(tmp_path.glob(".discriminant-*.part/file")):
            time.sleep(0.01)
        process.terminate()
        assert process.wait(60) == ENDINGS["SIGTERM"]
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_was_ignored_stays_so(tmp_path):
    code = "import os, signal; from discriminant.cli.signals import handle_signals; handle_signals(); " + (
        "os.kill(os.getpid(), signal.SIGHUP); print('still here')"
    )
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, preexec_fn=ignoring, check=True)
    assert ran.stdout == b"still here\n"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["fit", "predict", "compare", "classify"])
def test_endings_at_any_moment_leave_whole_files(inputs, tmp_path, name, ending):
    moments = np.random.default_rng(2).uniform(size=20) ** 2  # early ones: a run may be faster than the one measured
    assert_nothing_is_half_written(job(name, inputs, tmp_path), ending, moments)
