"""Files of the studio: a folder for each visitor, and the other paths that may be opened.

A visitor is identified by a signed cookie. Uploads are streamed into the visitor's own folder, up to a limit of bytes;
a folder is deleted a day after its last use. A typed path is opened only if, with links resolved, it is in a folder of
the command line.
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
from typing import Final

from ..errors import InputError
from ..results import listed, visible

_DAY: Final = 24 * 3600.0
_MEGABYTE: Final = 1 << 20
#: Characters that are replaced in file names.
_UNSAFE: Final = re.compile(r"[^\w.\- '(),+&=@]+")
MAX_NAME_LENGTH: Final = 120


def state_folder() -> Path:
    """The default folder of the studio's files."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "discriminant" / "studio"


@dataclass(frozen=True)
class Visitors:
    """The folders of all visitors below ``root``, the ``folders`` and ``files`` that may be opened, and the limits."""

    root: Path
    folders: Sequence[Path] = ()
    files: Sequence[Path] = ()
    max_upload_bytes: int = 200 * _MEGABYTE
    allowed: tuple[Path, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        object.__setattr__(self, "allowed", tuple(folder.resolve() for folder in self.folders))

    def secret(self) -> str:
        """The key that signs cookies; it is stored, to keep cookies valid after a restart."""
        path = self.root / "secret"
        try:
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(secrets.token_hex(32))
        except FileExistsError:
            pass
        return path.read_text()

    def folder(self, visitor: str) -> Path:
        """The folder of a visitor, marked as used; its name does not reveal the cookie."""
        path = self.root / "visitors" / hashlib.sha256(visitor.encode()).hexdigest()[:32]
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.utime(path)
        return path

    def new_folder(self, visitor: str) -> Path:
        """A new folder of a visitor for one file."""
        path = self.folder(visitor) / secrets.token_hex(8)
        path.mkdir(mode=0o700)
        return path

    def delete_old(self, now: float | None = None) -> None:
        """Delete the folders that have not been used for a day."""
        oldest = (time.time() if now is None else now) - _DAY
        for path in (self.root / "visitors").glob("*"):
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)

    async def received(self, visitor: str, name: str, chunks: AsyncIterator[bytes]) -> Path:
        """Store an upload in a new folder of the visitor; a failed upload leaves nothing behind."""
        own = self.new_folder(visitor)
        path, size = own / safe_name(name), 0
        try:
            with path.open("wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.max_upload_bytes:
                        raise self.too_large()
                    file.write(chunk)
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise
        return path

    def too_large(self) -> InputError:
        """The error of an upload that exceeds the limit."""
        size = f"{self.max_upload_bytes / _MEGABYTE:,.3g} MB"
        return InputError(
            f"The file exceeds the upload limit of {size}. Open it by its path (--folder), or raise --upload-limit."
        )

    def uploaded(self, visitor: str, name: str) -> Path:
        """An uploaded file of this visitor, by the name in the answer to the upload."""
        folder = self.folder(visitor).resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            raise InputError("This file no longer exists. Upload it again.")
        return path

    def uploads(self, visitor: str, endings: Sequence[str]) -> list[Path]:
        """The uploads of this visitor whose names have these endings, the latest first."""
        found = [path for path in self.folder(visitor).glob("*/*") if path.name.lower().endswith(tuple(endings))]
        return sorted(found, key=lambda path: -path.stat().st_mtime)

    def typed(self, text: str) -> Path:
        """The file at a typed path, if it may be opened."""
        try:
            path = Path(text.strip()).expanduser().resolve()
            is_file = path.is_file()
        except (OSError, RuntimeError, ValueError):
            raise InputError("This is not a valid path. Type the path of a file, such as images/scene.tif.") from None
        if path not in [file.resolve() for file in self.files] and not any(map(path.is_relative_to, self.allowed)):
            raise InputError(
                f"Only files in {listed(self.allowed)} can be opened by path. Upload this one."
                if self.allowed
                else "Files cannot be opened by path. Upload the file, or start the studio with --folder."
            )
        if not is_file:
            raise InputError(f"There is no file {visible(path.name)} in this folder.")
        return path


def safe_name(name: str) -> str:
    """The name of a file without folders and unsafe characters; its ending is kept.

    >>> safe_name("../../etc/pass<wd>.csv"), safe_name("rows (1).csv"), safe_name("...")
    ('pass_wd_.csv', 'rows (1).csv', 'file')
    """
    last = _UNSAFE.sub("_", name.replace("\\\\", "/").rsplit("/", 1)[-1]).strip(". ")
    stem, dot, ending = last.rpartition(".")
    return f"{stem[:MAX_NAME_LENGTH]}{dot}{ending[:12]}" if last else "file"
