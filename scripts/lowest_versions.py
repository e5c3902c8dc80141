"""The lowest versions that pyproject.toml allows as constraints for pip: ``name==version`` for each ``name>=version``.

Tools of the tests are left out: they check the package, they are no part of it. Only polars is taken as old as the
tests know it: older releases of scikit-learn do not know newer frames of it.
"""

import re
import tomllib
from pathlib import Path

settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
project = settings["project"]
frames = [tool for tool in settings["dependency-groups"]["test"] if str(tool).startswith("polars")]
for requirements in (project["dependencies"], *project["optional-dependencies"].values(), frames):
    for requirement in requirements:
        print(re.sub(r"\s*>=\s*([\w.]+).*", r"==\1", requirement))
