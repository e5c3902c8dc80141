"""Files that appear whole or not at all: they are written in a folder beside their names, and then take these.

The folder (``.discriminant-....part``) also takes what libraries write beside a file. It vanishes whatever happens,
also at a signal (`abandon`); one that a killed process left behind is removed by the next that writes there.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError, Setting

try:
    import fcntl
except ImportError:  # not a Unix: folders left behind stay
    fcntl: Any = None  # type: ignore[no-redef]

_BEGINNING, _ENDING = ".discriminant-", ".part"
#: Folders in which something is being written.
_under_way: set[Path] = set()
#: Held while files take their names: all that belong together, or none.
_moving = threading.Lock()


def check_target(path: str | os.PathLike[str], overwrite: bool = True) -> Path:
    """The place of a file that can be written; refuses one that cannot, or exists and may not be replaced."""
    given, name = Path(path).expanduser(), os.fspath(path)
    found = _status(given, name)
    target, folder = Path(os.path.realpath(given)), str(given.parent)
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise InputError(f"Cannot write {name!r}: it is a folder. Give the name of a file in it.")
    if found is not None and (not stat.S_ISREG(found.st_mode) or _is_own_output(found)):
        what = "where this program's output goes" if stat.S_ISREG(found.st_mode) else "a device, a pipe or a socket"
        raise InputError(f"Cannot write {name!r}: it is {what}. Give the name of a file.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {name!r}: there is no folder {folder!r}. Make it first.")
    if found is not None and not overwrite:
        raise InputError(f"{name!r} exists. Give another name, or ", Setting("overwrite", True), " to replace it.")
    if found is not None and not os.access(target, os.W_OK):
        raise InputError(f"Cannot write {name!r}: it is read-only. Give another name.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"Cannot write {name!r}: no permission in folder {folder!r}.")
    return target


def _status(given: Path, name: str) -> os.stat_result | None:
    """What is there, links followed; None where nothing is."""
    try:
        return os.stat(given)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # a name too long, links in a circle
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"Cannot write {name!r}: {reason}. Give another name.") from error


def _is_own_output(found: os.stat_result) -> bool:
    """Whether standard output or standard error go to this file."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return True
    return False


def paths_of(source: Any) -> list[str]:
    """The files of a path, a pattern, a folder or a list of these, each in the order of their names."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    found = list[str]()
    for one in (str(os.fspath(path)) for path in given):
        pattern = os.path.join(glob.escape(one), "*") if os.path.isdir(one) else one
        matches = [one] if os.path.isfile(one) else sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
        if os.path.isdir(one):  # others leave marks and checksums among their files
            matches = [path for path in matches if not os.path.basename(path).startswith(("_", "."))]
        if not matches and os.path.isdir(one):
            raise InputError(f"{one!r} is a directory without files. Give one that holds those of the table.")
        if not matches:
            raise InputError(f"No file matches {one!r}. Check the path and its letters.")
        found += matches
    return found


def is_pattern(name: str) -> bool:
    """Whether a name stands for several files: a folder, or a pattern that is not itself a file."""
    return os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write to; the file takes its own name when all went well, and vanishes when not."""
    with whole_files([path]) as (part,):
        yield part


@contextmanager
def whole_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Names to write to; when all went well the files take their own names, when not none does and all vanish."""
    targets = [check_target(path) for path in paths]
    for target in targets:
        if targets.count(target) > 1:
            raise InputError(f"{str(target)!r} would be written twice. Give every file a name of its own.")
    with ExitStack() as stack:
        folders = {target.parent: stack.enter_context(working_folder(target.parent)) for target in targets}
        parts = [folders[target.parent] / target.name for target in targets]
        yield parts
        for part, target in zip(parts, targets, strict=True):
            _bring_to_disk(part, target)
        with _moving:
            for part, target in zip(parts, targets, strict=True):
                os.replace(part, target)
    for folder in folders:
        _sync_folder(folder)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that its name always stands for a whole one: the old content or the new."""
    with whole_file(path) as part:
        part.write_bytes(content)


def is_moving() -> bool:
    """Whether files are just taking their names, which should not be interrupted."""
    return _moving.locked()


def abandon() -> None:
    """Remove all that is being written, from any thread: the process is about to end."""
    with _moving:
        for folder in list(_under_way):
            _remove(folder)


@contextmanager
def working_folder(parent: Path) -> Iterator[Path]:
    """A folder of our own in another; what is in it, and what earlier processes left behind, vanishes."""
    for left in parent.glob(f"{_BEGINNING}*{_ENDING}"):
        with _locked(left) as is_ours:
            if is_ours:
                _remove(left)
    with ExitStack() as stack:
        while True:
            folder = parent / f"{_BEGINNING}{secrets.token_hex(8)}{_ENDING}"
            stack.callback(_remove, folder)
            _under_way.add(folder)
            folder.mkdir(mode=0o700)
            is_ours = stack.enter_context(_locked(folder))
            # Another process may have taken it for one left behind before it was locked, and be about to remove it.
            if is_ours is not False and folder.is_dir():
                break
        yield folder


def _remove(folder: Path) -> None:
    for _ in range(100):  # as long as another thread goes on writing to it
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            _under_way.discard(folder)
            return


@contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Hold the lock of a folder, if nobody else does; the system frees it at any end.

    Gives whether it was to be had, None where there are no locks, or no folder.
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


def _bring_to_disk(part: Path, target: Path) -> None:
    """Have the content of a file reach the disk; one that takes the place of another keeps its permissions."""
    with open(part, "rb+") as file:
        if target.exists():
            os.chmod(part, stat.S_IMODE(target.stat().st_mode))
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Bring the new name itself to the disk, where folders can be opened and the disk can do it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
