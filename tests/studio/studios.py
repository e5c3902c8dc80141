"""A running studio for tests."""

import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

#: Milliseconds after which a test fails; other tests run at the same time.
PATIENCE = 120_000


@dataclass
class Studio:
    """A server with its address and folders."""

    address: str
    state: Path
    folder: Path
    process: subprocess.Popen
    lines: list

    def log(self):
        return "".join(self.lines)


@contextmanager
def running(root, *arguments, survives=True):
    """A studio on a free port; it must still run at the end, unless the test kills it."""
    state, folder = root / "state", root / "folder"
    folder.mkdir(exist_ok=True)
    options = ["--port", "0", "--no-browser", "--state", str(state), "--folder", str(folder), *map(str, arguments)]
    # NiceGUI does some things otherwise where it takes itself to be tested.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    plain["PYTHONUNBUFFERED"] = "1"
    process = subprocess.Popen(
        [sys.executable, "-m", "discriminant", "studio", *options],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=plain,
    )  # fmt: skip
    lines, address = [], None
    try:
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"http://\S+", line):
                address = found[0]
                break
        assert address, "".join(lines)
        reader = threading.Thread(target=lambda: lines.extend(process.stderr))
        reader.start()
        yield Studio(address, state, folder, process, lines)
        assert not survives or process.poll() is None, "the server went down\n" + "".join(lines)
    finally:
        process.terminate()
        process.wait(20)
        if address:
            reader.join()
        process.stderr.close()
    assert "Traceback" not in "".join(lines), "".join(lines)


def _passed_on(source, target, seconds):
    """Pass on what arrives, each part after a delay."""
    parts = queue.Queue()

    def send():
        with suppress(OSError):
            while (part := parts.get())[1]:
                time.sleep(max(part[0] - time.monotonic(), 0))
                target.sendall(part[1])
            target.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    received = b" "
    while received:
        try:
            received = source.recv(1 << 16)
        except OSError:
            received = b""
        parts.put((time.monotonic() + seconds, received))
    sender.join()


def _joined(browser, where, seconds):
    """Connect a browser with a server until both have ended."""
    with browser, socket.create_connection((where.hostname, where.port)) as server:
        back = threading.Thread(target=_passed_on, args=(server, browser, seconds))
        back.start()
        _passed_on(browser, server, seconds)
        back.join()


@contextmanager
def delayed(address, seconds):
    """The address of the same studio, whose answers take this much longer; pages must be closed before it ends."""
    where, connections = urlsplit(address), []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept():
            with suppress(OSError):
                while True:
                    connection = threading.Thread(target=_joined, args=(listening.accept()[0], where, seconds / 2))
                    connections.append(connection)
                    connection.start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()
    for connection in connections:
        connection.join()


def choose(page, label, *options):
    """Choose options of a list, and wait until it is closed."""
    page.get_by_label(label, exact=True).click()
    for option in options:
        page.get_by_role("option", name=option).click()
    page.keyboard.press("Escape")
    page.get_by_role("listbox").first.wait_for(state="hidden")  # closing the list moves the focus
