"""Files of the studio: a folder for each visitor, and which other paths may be opened.

A visitor is a signed cookie. What a visitor uploads is streamed into that visitor's own folder and nowhere else, up to
a limit of bytes; a folder is deleted a day after its last use. A path that is typed is opened only where it lies, with
links resolved, under a folder that the command line named.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError
from ..results import listed, visible

_DAY = 24 * 3600.0
_MEGABYTE = 1 << 20
#: Letters of a file's name that stay as they are; an ending says what a file is taken for.
_ODD = re.compile(r"[^\w.\- '(),+&=@]+")
_LONGEST_NAME = 120


def state_folder() -> Path:
    """Where the studio keeps its files by default."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "discriminant" / "studio"


@dataclass(frozen=True)
class Visitors:
    """The folders of all visitors below ``root``, the ``folders`` and ``files`` that may be opened, and the limits."""

    root: Path
    folders: Sequence[Path] = ()
    files: Sequence[Path] = ()
    most_bytes: int = 200 * _MEGABYTE
    allowed: tuple[Path, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        object.__setattr__(self, "allowed", tuple(folder.resolve() for folder in self.folders))

    def secret(self) -> str:
        """What cookies are signed with: kept, so that a visitor is known again after a restart."""
        path = self.root / "secret"
        try:
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(secrets.token_hex(32))
        except FileExistsError:
            pass
        return path.read_text()

    def folder(self, visitor: str) -> Path:
        """The folder of a visitor, used now; its name does not tell the cookie."""
        path = self.root / "visitors" / hashlib.sha256(visitor.encode()).hexdigest()[:32]
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.utime(path)
        return path

    def delete_old(self, now: float | None = None) -> None:
        """Delete the folders that nobody has used for a day."""
        oldest = (time.time() if now is None else now) - _DAY
        for path in (self.root / "visitors").glob("*"):
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)

    async def received(self, visitor: str, name: str, chunks: AsyncIterator[bytes]) -> Path:
        """The file of an upload, in a new folder of that visitor; one that is too large leaves nothing behind."""
        own = self.folder(visitor) / secrets.token_hex(8)
        own.mkdir(mode=0o700)
        path, size = own / safe_name(name), 0
        try:
            with path.open("wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.most_bytes:
                        raise self.too_large()
                    file.write(chunk)
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise
        return path

    def too_large(self) -> InputError:
        """What is said of an upload beyond the limit."""
        size = f"{self.most_bytes / _MEGABYTE:,.3g} MB"
        return InputError(f"Files of up to {size} can be uploaded; open larger ones by their path (--folder).")

    def uploaded(self, visitor: str, name: str) -> Path:
        """A file that this visitor has uploaded, by what the upload was answered with."""
        folder = self.folder(visitor).resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            raise InputError("This file is not there any more: upload it again.")
        return path

    def uploads(self, visitor: str, endings: Sequence[str]) -> list[Path]:
        """What this visitor has uploaded with names that end so, the latest first."""
        found = [path for path in self.folder(visitor).glob("*/*") if path.name.lower().endswith(tuple(endings))]
        return sorted(found, key=lambda path: -path.stat().st_mtime)

    def typed(self, text: str) -> Path:
        """The file that a typed path names, if it may be opened."""
        try:
            path = Path(text.strip()).expanduser().resolve()
            is_file = path.is_file()
        except (OSError, RuntimeError, ValueError):
            raise InputError("This is not the path of a file.") from None
        if path not in [file.resolve() for file in self.files] and not any(map(path.is_relative_to, self.allowed)):
            raise InputError(
                f"Files under {listed(self.allowed)} can be opened by their path; upload others."
                if self.allowed
                else "No folder was opened to this page: upload the file, or start the studio with --folder."
            )
        if not is_file:
            raise InputError(f"There is no file {visible(path.name)} there.")
        return path


def safe_name(name: str) -> str:
    """The name of a file without folders or odd characters; its ending stays.

    >>> safe_name("../../etc/pass<wd>.csv"), safe_name("rows (1).csv"), safe_name("...")
    ('pass_wd_.csv', 'rows (1).csv', 'file')
    """
    last = _ODD.sub("_", name.replace("\\\\", "/").rsplit("/", 1)[-1]).strip(". ")
    stem, dot, ending = last.rpartition(".")
    return f"{stem[:_LONGEST_NAME]}{dot}{ending[:12]}" if last else "file"
