"""The lowest versions that pyproject.toml allows as constraints for pip: ``name==version`` for each ``name>=version``.

Tools of the tests are left out: they check the package, they are no part of it. Frames are none of its dependencies,
but what people bring: pandas and polars are as old as the tests know them.
"""

import re
import tomllib
from pathlib import Path

settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
project = settings["project"]
frames = [tool for tool in settings["dependency-groups"]["test"] if tool.startswith(("pandas", "polars"))]
for requirements in (project["dependencies"], *project["optional-dependencies"].values(), frames):
    for requirement in requirements:
        print(re.sub(r"\s*>=\s*([\w.]+).*", r"==\1", requirement))
