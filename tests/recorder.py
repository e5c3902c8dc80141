"""Records the messages that tests make (``--messages FILE``): module, line and text, for messages.py."""

import json
import os
import sys
from pathlib import Path

import discriminant
from discriminant import errors, results

SOURCE = str(Path(discriminant.__file__).parent)


def record(path: str) -> None:
    """Append every place that makes a message, once, to FILE and the name of this process."""
    seen: set[tuple[str, int]] = set()
    target = Path(f"{path}.{os.getpid()}").resolve()  # tests change the folder

    def keep(text: str) -> None:
        frame = sys._getframe(2)
        while frame.f_back and frame.f_code.co_filename in (errors.__file__, results.__file__, "<string>"):
            frame = frame.f_back
        name = frame.f_code.co_filename
        place = (name, frame.f_lineno)
        if name.startswith(SOURCE) and place not in seen:
            seen.add(place)
            with target.open("a", encoding="utf-8") as file:
                file.write(json.dumps([os.path.relpath(name, SOURCE), frame.f_lineno, text]) + "\n")

    def recording(make):
        def made(self, *arguments, **named):
            make(self, *arguments, **named)
            keep(str(getattr(self, "message", self)))

        return made

    errors.Message.__init__ = recording(errors.Message.__init__)
    results.Finding.__init__ = recording(results.Finding.__init__)
