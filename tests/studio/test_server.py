"""The server as a command starts it: what it has loaded when, and that nothing is lost by what it puts off."""

import subprocess
import sys

import pytest

#: Serves until its first page was answered, and prints what it had loaded when the address was told, when the page was
#: answered, and what can be loaded and made afterwards.
PROGRAM = """
import os, sys, threading, urllib.request
from pathlib import Path
from discriminant.studio import serve

threading.Timer = lambda *_: threading.Thread()  # nothing is loaded for a page that is never asked for

def tell(words):
    print("told:", *sorted({"nicegui", "fastapi", "pydantic"} & set(sys.modules)))
    threading.Thread(target=ask, args=(words.split()[4],)).start()

def ask(address):
    page = urllib.request.urlopen(address + sys.argv[2]).read().decode()
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "plotly", "aiohttp", "requests", "tornado"}
    print("answered:", *sorted(heavy & set(sys.modules)))
    import aiohttp
    from pydantic import BaseModel
    print("config:", BaseModel.model_config)
    print("title:", "discriminant studio</title>" in page, flush=True)
    os._exit(0)

serve(port=0, state=Path(sys.argv[1]), open_browser=False, tell=tell)
"""


@pytest.mark.parametrize("path", ["", "learn", "image"])
def test_the_address_is_told_before_anything_is_loaded_and_a_page_needs_no_numbers(tmp_path, path):
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), path]
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["told:", "answered:", "config: {}", "title: True"]
