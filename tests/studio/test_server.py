"""The server as a command starts it: the modules that it loads, and when."""

import subprocess
import sys

import pytest

#: Serves its first page, and prints which modules are loaded when the address is announced and after the answer.
PROGRAM = """
import os, sys, threading, urllib.request
from pathlib import Path
from discriminant.studio import serve

threading.Timer = lambda *_: threading.Thread()  # no timer loads libraries

def announce(words):
    print("announced:", *sorted({"nicegui", "fastapi", "pydantic"} & set(sys.modules)))
    threading.Thread(target=ask, args=(words.split()[1],)).start()

def ask(address):
    page = urllib.request.urlopen(address + sys.argv[2]).read().decode()
    heavy = {"scipy", "sklearn", "pandas", "pyarrow", "plotly"}
    print("answered:", *sorted(heavy & set(sys.modules)))
    print("title:", "discriminant studio</title>" in page, flush=True)
    os._exit(0)

serve(port=0, state=Path(sys.argv[1]), open_browser=False, announce=announce)
"""


@pytest.mark.parametrize("path", ["", "learn", "image"])
def test_the_address_is_announced_before_anything_is_loaded_and_a_page_needs_no_numbers(tmp_path, path):
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), path]
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["announced:", "answered:", "title: True"]
