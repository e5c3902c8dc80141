"""The lowest versions that pyproject.toml allows as constraints for pip: ``name==version`` for each ``name>=version``.

Tools of the tests are left out: they check the package, they are no part of it.
"""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirements in (project["dependencies"], *project["optional-dependencies"].values()):
    for requirement in requirements:
        print(re.sub(r"\s*>=\s*([\w.]+).*", r"==\1", requirement))
