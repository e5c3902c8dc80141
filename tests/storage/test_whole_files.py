"""A file appears whole or not at all, whatever happens while it is written."""

import errno
import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from stored_models import fitted, training

from discriminant import files
from discriminant.errors import InputError
from discriminant.files import check_target, whole_file, whole_files, write_whole
from discriminant.storage.export import export
from discriminant.storage.model_file import load, save


def no_space(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_file_has_the_content_and_nothing_else_appears(tmp_path):
    for content in (b"first", b"", os.urandom(100_000)):
        write_whole(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
        assert os.listdir(tmp_path) == ["file"]


def test_permissions_are_those_of_any_new_file_and_of_the_old_one(tmp_path):
    (tmp_path / "other").write_bytes(b"")
    write_whole(tmp_path / "file", b"content")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("other", "file")}
    assert len(modes) == 1
    (tmp_path / "file").chmod(0o600)
    write_whole(tmp_path / "file", b"still private")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_link_is_followed(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "inner" / "file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "inner" / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path / "inner") == ["file"]


def a_pipe(folder):
    os.mkfifo(folder / "target")


def a_socket(folder):
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.getcwd()
        os.chdir(folder)  # the names of sockets are short
        opened.bind("target")
        os.chdir(here)


def a_device(folder):
    (folder / "target").symlink_to(os.devnull)


def a_circle(folder):
    (folder / "target").symlink_to(folder / "target")


def a_folder(folder):
    (folder / "target").mkdir()


def a_link_to_a_folder(folder):
    (folder / "real").mkdir()
    (folder / "target").symlink_to(folder / "real")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (a_pipe, "a device, a pipe or a socket"),
        (a_socket, "a device, a pipe or a socket"),
        (a_device, "a device, a pipe or a socket"),
        (a_circle, "symbolic links"),
        (a_folder, "it is a folder"),
        (a_link_to_a_folder, "it is a folder"),
    ],
)
def test_what_is_no_regular_file_is_refused_and_left_alone(make, reason, tmp_path):
    make(tmp_path)
    before = os.lstat(tmp_path / "target")
    for act in (check_target, lambda path: write_whole(path, b"content"), lambda path: save(fitted("lda"), path)):
        with pytest.raises(InputError, match=reason):
            act(tmp_path / "target")
    assert os.path.samestat(os.lstat(tmp_path / "target"), before)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["no folder/file", "file/inner", "x" * 300, "a\0b"])
def test_names_that_cannot_be_written_are_refused(name, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="Cannot write"):
        check_target(tmp_path / name)


def test_the_file_that_output_goes_to_is_refused(tmp_path):
    code = "from discriminant.files import check_target; check_target('out')"
    with open(tmp_path / "out", "wb") as out:
        ran = subprocess.run(
            [sys.executable, "-c", code], stdout=out, stderr=subprocess.PIPE, cwd=tmp_path, check=False
        )
    assert b"standard output of this program" in ran.stderr


def test_one_name_for_two_files_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(InputError, match=r"link|file"), whole_files([tmp_path / "file", tmp_path / "link"]):
        pass


def test_what_a_library_writes_beside_the_file_goes_with_it(tmp_path):
    with whole_file(tmp_path / "map.tif") as part:
        part.write_bytes(b"map")
        part.with_name(part.name + ".aux.xml").write_bytes(b"statistics")
    assert os.listdir(tmp_path) == ["map.tif"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_model_whole(step, tmp_path, monkeypatch):
    X, _ = training("lda")
    before = fitted("lda")
    save(before, tmp_path / "model.dsc")
    monkeypatch.setattr(os, step, no_space)
    with pytest.raises(OSError, match="No space left"):
        save(fitted("qda"), tmp_path / "model.dsc")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model.dsc"]
    np.testing.assert_array_equal(load(tmp_path / "model.dsc").predict_proba(X), before.predict_proba(X))


def killed_while_writing(path):
    """A process that is killed with the content written and the name not yet given."""
    code = f"""
        import os, signal
        from discriminant import files

        os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
        files.write_whole({str(path)!r}, bytes(1_000_000))
        """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr


def test_what_a_killed_process_left_behind_is_removed_by_the_next(tmp_path):
    write_whole(tmp_path / "model.dsc", b"old")
    killed_while_writing(tmp_path / "model.dsc")
    assert (tmp_path / "model.dsc").read_bytes() == b"old"
    assert len(list(tmp_path.glob(".discriminant-*.part"))) == 1
    write_whole(tmp_path / "other", b"new")
    assert sorted(os.listdir(tmp_path)) == ["model.dsc", "other"]


def test_what_another_process_is_writing_stays(tmp_path):
    with whole_file(tmp_path / "first") as part:
        part.write_bytes(b"first")
        code = f"from discriminant.files import write_whole; write_whole({str(tmp_path / 'second')!r}, b'second')"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"first", b"second"]


def test_a_folder_that_another_process_takes_for_one_left_behind_is_not_used(tmp_path, monkeypatch):
    """Between making a folder and locking it, another process may lock it, to remove it a moment later."""
    taken, make = [], Path.mkdir

    def make_and_lose(folder, **options):
        make(folder, **options)
        if not taken:
            taken.append(folder)
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            locks.callback(os.close, lock)

    monkeypatch.setattr(Path, "mkdir", make_and_lose)
    with ExitStack() as locks, whole_file(tmp_path / "file") as part:
        shutil.rmtree(taken[0])  # as the other process does
        part.write_text("whole")
    assert (tmp_path / "file").read_text() == "whole"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_what_is_under_way_can_be_abandoned(tmp_path):
    with suppress(FileNotFoundError), whole_files([tmp_path / "one", tmp_path / "two"]) as parts:
        parts[0].write_bytes(b"one")
        files.abandon()
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_exports_are_written_the_same_way(tmp_path):
    text = export(fitted("lda"), "sql", tmp_path / "model.sql", dialect="sqlite")
    assert Path(tmp_path / "model.sql").read_text(encoding="utf-8") == text
    assert os.listdir(tmp_path) == ["model.sql"]
