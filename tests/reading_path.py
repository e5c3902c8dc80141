"""Run a command of ours under a profiler: which of our files have a function called, on any thread.

``python reading_path.py compare table.csv --target y``. What modules do while they are loaded does not count.
"""

import json
import sys
import threading
from pathlib import Path

import discriminant.__main__

FOLDER = str(Path(discriminant.__file__).parent)
called = set()


def profile(frame, event, _):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(FOLDER) or not code.co_filename.endswith(".py"):
        return
    is_body = not code.co_flags & 2  # of a module or a class: no locals of its own
    if code.co_filename not in called and not is_body and not is_loading(frame):
        called.add(code.co_filename)


def is_loading(frame):
    """Whether a module of ours is being loaded further up."""
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(FOLDER):
            return True
    return False


if __name__ == "__main__":
    sys.argv[0] = "discriminant"
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        discriminant.__main__.main()
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
    loaded = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "discriminant"}
    modules = [name for name, module in loaded.items() if hasattr(module, "__file__")]  # no parts of compiled ones
    print(json.dumps({"called": sorted(called), "modules": modules}), file=sys.stderr)
