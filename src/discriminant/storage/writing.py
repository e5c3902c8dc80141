"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ..errors import InputError


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that its name always stands for a whole one: the old content or the new.

    The content goes to a file beside it, reaches the disk, and then takes the name. Where the system can, that file has
    no name while it is written: a process that is killed leaves nothing behind.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {str(path)!r}: there is no folder {str(target.parent)!r}. Make it first.")
    if target.is_dir():
        raise InputError(f"Cannot write {str(path)!r}: it is a folder. Give the name of a file in it.")
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        _write_part(part, content)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _settle(target.parent)


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


def _settle(folder: Path) -> None:
    """Bring the new name itself to the disk, where folders can be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some disks cannot; the content is safe already
    finally:
        os.close(descriptor)
