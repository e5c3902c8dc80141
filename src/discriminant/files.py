"""Files that appear whole or not at all: the content goes to another file in the folder, which then takes the name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import InputError, Setting


def check_target(path: str | os.PathLike[str], overwrite: bool = True) -> Path:
    """The place of a file that can be written; refuses one that cannot, or exists and may not be replaced."""
    given, name = Path(path).expanduser(), os.fspath(path)
    target, folder = Path(os.path.realpath(given)), str(given.parent)
    if target.is_dir():
        raise InputError(f"Cannot write {name!r}: it is a folder. Give the name of a file in it.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {name!r}: there is no folder {folder!r}. Make it first.")
    if target.exists() and not overwrite:
        raise InputError(f"{name!r} exists. Give another name, or ", Setting("overwrite", True), " to replace it.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"Cannot write {name!r}: no permission in folder {folder!r}.")
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write to; the file takes its own name when all went well, and vanishes when not."""
    with whole_files([path]) as (part,):
        yield part


@contextmanager
def whole_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Names to write to; when all went well the files take their own names, when not none does and all vanish."""
    targets = [check_target(path) for path in paths]
    parts = [target.with_name(f".{secrets.token_hex(8)}.part{target.suffix}") for target in targets]
    try:
        yield parts
        for part in parts:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        for part, target in zip(parts, targets, strict=True):
            os.replace(part, target)
    except BaseException:
        for part in parts:
            part.unlink(missing_ok=True)
        raise
    for folder in {target.parent for target in targets}:
        _sync_folder(folder)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that its name always stands for a whole one: the old content or the new.

    Where the system can, the file has no name while it is written: a process that is killed leaves nothing behind.
    """
    target = check_target(path)
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        _write_part(part, content)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _write_part(part: Path, content: bytes) -> None:
    unnamed = _open_unnamed(part.parent)
    named = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666) if unnamed is None else None
    with open(unnamed if named is None else named, "wb") as file:  # type: ignore[arg-type]
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        if named is None:
            _name(file.fileno(), part)


def _open_unnamed(folder: Path) -> int | None:
    """A file without a name in the folder, where the system and its disk know such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:
        return None


def _name(descriptor: int, name: Path) -> None:
    """Give a file without a name one (the folder's descriptor makes Python follow the link in /proc)."""
    folder = os.open(name.parent, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _sync_folder(folder: Path) -> None:
    """Bring the new name itself to the disk, where folders can be opened and the disk can do it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
