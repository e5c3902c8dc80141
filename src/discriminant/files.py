"""Atomic writing of files: they are written to a working folder next to their target, then renamed.

The folder (``.discriminant-....part``) also receives files that libraries write next to another one. It is deleted in
all cases, also on a signal (`abandon`); a folder left by a killed process is removed by the next one that writes there.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError, Setting

try:
    import fcntl
except ImportError:  # not Unix: folders of killed processes are not removed
    fcntl: Any = None  # type: ignore[no-redef]

_PREFIX, _SUFFIX = ".discriminant-", ".part"
#: Working folders in use.
_working: set[Path] = set()
#: Held while files that belong together are renamed.
_moving = threading.Lock()


def check_target(path: str | os.PathLike[str], overwrite: bool = True) -> Path:
    """The path of a file to write; an `InputError` if it cannot be written, or exists and must not be replaced."""
    given, name = Path(path).expanduser(), os.fspath(path)
    found = _status(given, name)
    target, folder = Path(os.path.realpath(given)), str(given.parent)
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise InputError(f"Cannot write {name!r}: it is a folder. Give a file in it.")
    if found is not None and (not stat.S_ISREG(found.st_mode) or _is_own_output(found)):
        what = "the standard output of this program" if stat.S_ISREG(found.st_mode) else "a device, a pipe or a socket"
        raise InputError(f"Cannot write {name!r}: it is {what}. Give a regular file.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {name!r}: the folder {folder!r} does not exist. Create it first.")
    if found is not None and not overwrite:
        raise InputError(
            f"{name!r} already exists. Give another name, or ", Setting("overwrite", True), " to replace it."
        )
    if found is not None and not os.access(target, os.W_OK):
        raise InputError(f"Cannot write {name!r}: the file is read-only. Give another name.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"Cannot write {name!r}: no permission for the folder {folder!r}. Give another folder.")
    return target


def _status(given: Path, name: str) -> os.stat_result | None:
    """The status of the target, following links; None if it does not exist."""
    try:
        return os.stat(given)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # for example a cycle of links
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"Cannot write {name!r}: {reason}. Give another name.") from error


def _is_own_output(found: os.stat_result) -> bool:
    """Whether standard output or standard error is redirected to this file."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return True
    return False


def paths_of(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files of a path, a pattern, a folder or a list of these, each sorted by name."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    found = list[str]()
    for one in (str(os.fspath(path)) for path in given):
        pattern = os.path.join(glob.escape(one), "*") if os.path.isdir(one) else one
        matches = [one] if os.path.isfile(one) else sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
        if os.path.isdir(one):  # markers and checksums of other programs
            matches = [path for path in matches if not os.path.basename(path).startswith(("_", "."))]
        if not matches and os.path.isdir(one):
            raise InputError(f"{one!r} is a folder without files. Give a folder with the files of the table.")
        if not matches:
            raise InputError(f"No file matches {one!r}. Check the path.")
        found += matches
    return found


def is_pattern(name: str) -> bool:
    """Whether a name refers to several files: a folder, or a pattern that is not itself a file."""
    return os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name to write to; the file is renamed on success and deleted on failure."""
    with whole_files([path]) as (part,):
        yield part


@contextmanager
def whole_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Temporary names to write to; all files are renamed on success, and all are deleted on failure."""
    targets = [check_target(path) for path in paths]
    for target in targets:
        if targets.count(target) > 1:
            raise InputError(f"{str(target)!r} would be written twice. Give different names.")
    with ExitStack() as stack:
        folders = {target.parent: stack.enter_context(working_folder(target.parent)) for target in targets}
        parts = [folders[target.parent] / target.name for target in targets]
        yield parts
        for part, target in zip(parts, targets, strict=True):
            _flush_to_disk(part, target)
        with _moving:
            for part, target in zip(parts, targets, strict=True):
                os.replace(part, target)
    for folder in folders:
        _sync_folder(folder)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically: its name refers to the old or the new content, never to a part."""
    with whole_file(path) as part:
        part.write_bytes(content)


def is_moving() -> bool:
    """Whether files are being renamed, which should not be interrupted."""
    return _moving.locked()


def abandon() -> None:
    """Delete all working folders, from any thread, before the process exits."""
    with _moving:
        for folder in list(_working):
            _remove(folder)


@contextmanager
def working_folder(parent: Path) -> Iterator[Path]:
    """A temporary folder in another, deleted on exit, as are the folders of killed processes."""
    for left in parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        with _locked(left) as is_ours:
            if is_ours:
                _remove(left)
    with ExitStack() as stack:
        while True:
            folder = parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
            stack.callback(_remove, folder)
            _working.add(folder)
            folder.mkdir(mode=0o700)
            is_ours = stack.enter_context(_locked(folder))
            # Before it was locked, another process may have taken it for that of a killed process and removed it.
            if is_ours is not False and folder.is_dir():
                break
        yield folder


def _remove(folder: Path) -> None:
    for _ in range(100):  # another thread may still write to it
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            _working.discard(folder)
            return


@contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Lock a folder unless another process holds the lock; the system releases it when the process exits.

    Yields whether the lock was acquired, None if there are no locks or no folder.
    """
    if fcntl is None:
        yield None
        return
    with ExitStack() as stack:
        try:
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            yield False if isinstance(error, BlockingIOError) else None
            return
        yield True


def _flush_to_disk(part: Path, target: Path) -> None:
    """Flush a file to disk; it gets the permissions of the file that it replaces."""
    with open(part, "rb+") as file:
        if target.exists():
            os.chmod(part, stat.S_IMODE(target.stat().st_mode))
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Flush the new names to disk, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
