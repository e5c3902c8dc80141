"""Files of visitors: which may be opened, what is kept, and for how long."""

import asyncio
import os
import time

import pytest

from discriminant.errors import InputError
from discriminant.studio.visitors import Visitors, safe_name


@pytest.fixture
def visitors(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.csv").write_text("x\n")
    (tmp_path / "secret.csv").write_text("x\n")
    return Visitors(tmp_path / "state", [tmp_path / "open"])


def test_paths_are_opened_under_the_folders_given_alone(visitors, tmp_path):
    inside = tmp_path / "open"
    assert visitors.typed(str(inside / "a.csv")) == inside / "a.csv"
    (inside / "link.csv").symlink_to(tmp_path / "secret.csv")
    (inside / "folder").symlink_to(tmp_path)
    for path in (
        "link.csv",
        "../secret.csv",
        "folder/secret.csv",
        str(tmp_path / "secret.csv"),
        "/etc/passwd",
        "\0",
        "a" * 9999,
    ):
        with pytest.raises(InputError):
            visitors.typed(str(inside / path))
    with pytest.raises(InputError, match="no file"):
        visitors.typed(str(inside / "b.csv"))


def test_a_sibling_whose_name_begins_alike_is_another_folder(visitors, tmp_path):
    (tmp_path / "open-not").mkdir()
    (tmp_path / "open-not" / "a.csv").write_text("x\n")
    with pytest.raises(InputError):
        visitors.typed(str(tmp_path / "open-not" / "a.csv"))


def test_without_folders_the_file_of_the_command_alone(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x\n")
    (tmp_path / "b.csv").write_text("x\n")
    visitors = Visitors(tmp_path / "state", files=[file])
    assert visitors.typed(str(file)) == file
    with pytest.raises(InputError, match="--folder"):
        visitors.typed(str(tmp_path / "b.csv"))


async def _chunks(*parts):
    for part in parts:
        yield part


def received(visitors, visitor, name, *parts):
    return asyncio.run(visitors.received(visitor, name, _chunks(*parts)))


def test_visitors_do_not_reach_each_other(visitors):
    mine = received(visitors, "me", "a.csv", b"1", b"2")
    assert mine.read_bytes() == b"12"
    reply = f"{mine.parent.name}/{mine.name}"
    assert visitors.uploaded("me", reply) == mine
    for name in (reply, f"../{mine.parent.parent.name}/{reply}", "/etc/passwd", "."):
        with pytest.raises(InputError):
            visitors.uploaded("you", name)


def test_what_is_too_large_leaves_nothing(tmp_path):
    visitors = Visitors(tmp_path / "state", max_upload_bytes=3)
    with pytest.raises(InputError, match="--upload-limit"):
        received(visitors, "me", "a.csv", b"12", b"34")
    assert not [path for path in visitors.folder("me").rglob("*") if path.is_file()]


def test_folders_are_deleted_a_day_after_their_last_use(visitors):
    old, new = visitors.folder("old"), visitors.folder("new")
    visitors.delete_old(time.time() + 24 * 3600 - 60)
    assert old.exists()
    os.utime(old, (time.time() - 25 * 3600,) * 2)
    visitors.delete_old()
    assert (old.exists(), new.exists()) == (False, True)


def test_cookies_stay_valid_and_their_secret_is_the_users_own(visitors):
    assert visitors.secret() == visitors.secret()
    assert len(visitors.secret()) == 64
    assert (visitors.root / "secret").stat().st_mode & 0o077 == 0
    assert "me" not in str(visitors.folder("me").relative_to(visitors.root)).split("/")


@pytest.mark.parametrize(
    "name", ["../a.csv", "a\\..\\b.csv", "a\0b.csv", "<script>.csv", "", "....", "a" * 999 + ".csv"]
)
def test_names_are_names(name):
    safe = safe_name(name)
    assert safe == os.path.basename(safe)
    assert 0 < len(safe) <= 140
    assert not set(safe) & set('<>\0/\\"')
