"""A file appears whole or not at all, whatever happens while it is written."""

import errno
import io
import os
import signal
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from stored_models import fitted, training

from discriminant import files
from discriminant.files import write_whole
from discriminant.storage import export, load, save

#: Ways to write: with a file that has no name until it is whole, where the system can, and without.
WAYS = {"unnamed": files._open_unnamed, "named": lambda folder: None}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setattr(files, "_open_unnamed", WAYS[request.param])
    return request.param


class FullDisk(io.BytesIO):
    """The file of a descriptor, on a disk that takes a little and then no more."""

    def __init__(self, descriptor, mode):
        super().__init__()
        self.descriptor = descriptor

    def write(self, content):
        os.write(self.descriptor, content[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self):
        if not self.closed:
            os.close(self.descriptor)
        super().close()


def no_space(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_file_has_the_content_and_nothing_else_appears(way, tmp_path):
    for content in (b"first", b"", os.urandom(100_000)):
        write_whole(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
        assert os.listdir(tmp_path) == ["file"]


def test_permissions_are_those_of_any_new_file(way, tmp_path):
    (tmp_path / "other").write_bytes(b"")
    write_whole(tmp_path / "file", b"content")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("other", "file")}
    assert len(modes) == 1


def test_a_link_is_followed(way, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "inner" / "file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "inner" / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path / "inner") == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_full_disk_leaves_the_old_model_whole(step, way, tmp_path, monkeypatch):
    X, _ = training("lda")
    before = fitted("lda")
    save(before, tmp_path / "model.dsc")

    if step == "write":
        monkeypatch.setattr(files, "open", FullDisk, raising=False)
    else:
        monkeypatch.setattr(os, step, no_space)
    with pytest.raises(OSError, match="No space left"):
        save(fitted("qda"), tmp_path / "model.dsc")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model.dsc"]
    np.testing.assert_array_equal(load(tmp_path / "model.dsc").predict_proba(X), before.predict_proba(X))


def test_a_killed_process_leaves_the_old_file_and_no_other(tmp_path):
    """Killed with half of the content written: before the file has a name."""
    write_whole(tmp_path / "model.dsc", b"old")
    code = f"""
        import os, signal
        from discriminant import files

        def killed(descriptor):
            assert os.fstat(descriptor).st_size > 0
            os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = killed
        files.write_whole({str(tmp_path / "model.dsc")!r}, bytes(1_000_000))
        """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert (tmp_path / "model.dsc").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.dsc"] or not hasattr(os, "O_TMPFILE")


def test_exports_are_written_the_same_way(way, tmp_path):
    text = export(fitted("lda"), "sql", tmp_path / "model.sql")
    assert (tmp_path / "model.sql").read_text(encoding="utf-8") == text
    assert os.listdir(tmp_path) == ["model.sql"]
