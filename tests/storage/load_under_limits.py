"""Load every model file of a folder, one after the other, within limits of time and memory.

``python load_under_limits.py FOLDER SECONDS MEGABYTES`` writes a line of JSON for each: its name, seconds of work,
megabytes above what was used before it, and what came of it. A file that takes longer, or ends the process, is the one
after the last line.
"""

import json
import resource
import signal
import sys
import time
from pathlib import Path

from discriminant.errors import ModelFileError
from discriminant.storage.model_file import read_model_file
from discriminant.storage.registry import FORMS


def status(name: str) -> float:
    """A figure of this process in megabytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024


def limit(megabytes: float) -> None:
    """Allow so many megabytes above what is used now."""
    most = int((status("VmSize") + megabytes) * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def loaded(path: Path, seconds: int) -> dict[str, object]:
    """What comes of a file."""
    Path("/proc/self/clear_refs").write_text("5")  # the most memory is counted from here
    before, start = status("VmRSS"), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process
    try:
        read_model_file(path)
        outcome = "loaded"
    except ModelFileError as error:
        outcome = str(error)
    signal.setitimer(signal.ITIMER_PROF, 0)
    took, most = time.process_time() - start, status("VmHWM") - before
    return {"name": path.stem, "seconds": took, "megabytes": most, "outcome": outcome}


def main() -> None:
    folder, seconds, megabytes = sys.argv[1:]
    for form in FORMS.values():
        _ = form.kind  # what is imported is not the file's
    limit(float(megabytes))
    for path in sorted(Path(folder).iterdir()):
        print(json.dumps(loaded(path, int(seconds))), flush=True)


if __name__ == "__main__":
    main()
