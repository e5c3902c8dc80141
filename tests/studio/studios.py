"""A studio that runs, for tests that talk to it."""

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: Busy machines need time, and kernels are compiled when a page first asks for them, beside the tests of other workers;
#: what takes longer than this many milliseconds hangs.
PATIENCE = 240_000


@dataclass
class Studio:
    """A server, where it is and what it was given."""

    address: str
    state: Path
    folder: Path
    process: subprocess.Popen
    told: list

    def log(self):
        return "".join(self.told)


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
    told, address = [], None
    try:
        for line in process.stderr:
            told.append(line)
            if found := re.search(r"http://\S+", line):
                address = found[0]
                break
        assert address, "".join(told)
        reader = threading.Thread(target=lambda: told.extend(process.stderr))
        reader.start()
        yield Studio(address, state, folder, process, told)
        assert not survives or process.poll() is None, "the server went down\n" + "".join(told)
    finally:
        process.terminate()
        process.wait(20)
        if address:
            reader.join()
        process.stderr.close()
    assert "Traceback" not in "".join(told), "".join(told)
